"""The words of a GPU, as LLVM text: which thread this is, memory that a block shares, barriers, shuffles, atomics.

A kernel is written through a `Simt` and a `Writer` and says nothing else about the machine. The class here prints NVPTX
intrinsics (LLVM, *User Guide for NVPTX Back-end*). A subclass prints other words with the same meaning, so that the same
kernel runs elsewhere (`catad/testing/emulator/`).

A block has `threads` threads, a multiple of 32; 32 threads that follow each other are a warp. All threads of a warp must meet at
a shuffle, and all threads of a block at a barrier.
"""

from __future__ import annotations

from collections.abc import Sequence

from catad.scalar.printing.llvm_writer import Writer

WARP = 32
DEVICE = 'syncscope("device")'
ALL = "-1"  # the mask of a whole warp
_BITS = {"float": 32, "double": 64} | {f"i{n}": n for n in (1, 8, 16, 32, 64)}


class Simt:
    """The words of a thread, written where its writer is."""

    def __init__(self, w: Writer, threads: int) -> None:
        assert threads % WARP == 0
        self.w, self.threads = w, threads
        self._rooms = 0

    # -- the whole kernel

    def kernel(self, numbers: int, pointers: Sequence[str]) -> str:
        """The function of what the writer has: it is given `numbers` integers of 64 bits at %t, and pointers, each with its
        attributes and its name."""
        given = ", ".join([f"ptr noalias readonly byval([{numbers} x i64]) align 8 %t", *pointers])
        body = "\n".join(["entry:", *self.w.slots, *self.w.lines, "  ret void"])
        return f"define ptx_kernel void @kernel({given}) convergent nounwind {{\n{body}\n}}\n"

    def module(self, numbers: int, pointers: Sequence[str]) -> str:
        """The module of the kernel that the writer has."""
        return self.w.module([self.kernel(numbers, pointers)]) + self.metadata()

    def metadata(self) -> str:
        """What ends the module."""
        return f'!0 = !{{}}\n!nvvm.annotations = !{{!9}}\n!9 = !{{ptr @kernel, !"maxntidx", i32 {self.threads}}}\n'

    # -- which thread this is, all i64

    def thread(self) -> str:
        """The number of the thread in its block."""
        return self._special("tid.x")

    def block(self) -> str:
        """The number of the block."""
        return self._special("ctaid.x")

    def blocks(self) -> str:
        """The number of blocks."""
        return self._special("nctaid.x")

    def _special(self, name: str) -> str:
        return self.w.set(f"zext i32 {self.w.intrinsic(f'llvm.nvvm.read.ptx.sreg.{name}', 'i32')} to i64")

    def everywhere(self) -> tuple[str, str]:
        """The number of the thread among those of all blocks, and how many these are."""
        w = self.w
        first = w.set(f"mul nuw nsw i64 {self.block()}, {self.threads}")
        mine = w.set(f"add nuw nsw i64 {first}, {self.thread()}")
        return mine, w.set(f"mul nuw nsw i64 {self.blocks()}, {self.threads}")

    def lane(self) -> str:
        """The number of the thread in its warp."""
        return self.w.set(f"and i64 {self.thread()}, {WARP - 1}")

    def warp(self) -> str:
        """The number of the warp in its block."""
        return self.w.set(f"lshr i64 {self.thread()}, 5")

    # -- memory of a block

    def shared(self, kind: str, count: int) -> str:
        """The address of memory that the threads of a block share, whose numbers are not set yet."""
        name = f"shared{self._rooms}"
        self._rooms += 1
        self.w.support[name] = f"@{name} = internal addrspace(3) global [{count} x {kind}] undef, align 16"
        return self.w.set(f"addrspacecast ptr addrspace(3) @{name} to ptr")

    def room(self) -> str:
        """The address of memory that the threads of a block share, as many bytes as the launch says, not set yet; a kernel has
        this or `shared`, and not both."""
        self.w.support["room"] = "@room = external addrspace(3) global [0 x i8], align 16"
        return self.w.set("addrspacecast ptr addrspace(3) @room to ptr")

    def barrier(self) -> None:
        """Wait until all threads of the block are here; what they have written before is seen after it."""
        self._call("llvm.nvvm.barrier0")

    # -- within a warp

    def shuffle(self, value: str, kind: str, lane: str) -> str:
        """The value that the thread with the number `lane` (an i64 below 32) of the warp gives here."""
        w = self.w
        at = w.set(f"trunc i64 {lane} to i32")
        pieces = [self._from_lane(piece, at) for piece in self._pieces(value, kind)]
        return self._joined(pieces, kind)

    def _from_lane(self, piece: str, at: str) -> str:
        return self.w.intrinsic("llvm.nvvm.shfl.sync.idx.i32", "i32", f"i32 {ALL}", f"i32 {piece}", f"i32 {at}", "i32 31")

    def _pieces(self, value: str, kind: str) -> list[str]:
        """A number as integers of 32 bits."""
        w, bits = self.w, _BITS[kind]
        if kind in ("float", "double"):
            value = w.set(f"bitcast {kind} {value} to i{bits}")
        if bits == 32:
            return [value]
        if bits < 32:
            return [w.set(f"zext i{bits} {value} to i32")]
        return [w.set(f"trunc i64 {one} to i32") for one in (value, w.set(f"lshr i64 {value}, 32"))]

    def _joined(self, pieces: Sequence[str], kind: str) -> str:
        w, bits = self.w, _BITS[kind]
        if bits < 32:
            return w.set(f"trunc i32 {pieces[0]} to i{bits}")
        whole = pieces[0]
        if bits == 64:
            low, high = (w.set(f"zext i32 {piece} to i64") for piece in pieces)
            whole = w.set(f"or i64 {low}, {w.set(f'shl i64 {high}, 32')}")
        return w.set(f"bitcast i{bits} {whole} to {kind}") if kind in ("float", "double") else whole

    # -- memory of all blocks

    def atomic(self, what: str, pointer: str, kind: str, value: str) -> str:
        """The number that was there before `what` ("add", "min", "umax", "xchg", ... of LLVM's atomicrmw) changed it."""
        return self.w.set(f"atomicrmw {what} ptr {pointer}, {kind} {value} {DEVICE} monotonic")

    def load_word(self, pointer: str, kind: str = "i64") -> str:
        """A word that another block may write: what that block had written before it is seen from here on."""
        return self.w.set(f"load atomic {kind}, ptr {pointer} {DEVICE} acquire, align {_BITS[kind] // 8}")

    def store_word(self, pointer: str, value: str, kind: str = "i64") -> None:
        """Write a word that other blocks wait for, after all that this thread has written."""
        self.w.do(f"store atomic {kind} {value}, ptr {pointer} {DEVICE} release, align {_BITS[kind] // 8}")

    def _call(self, name: str) -> None:
        self.w.support.setdefault(name, f"declare void @{name}()")
        self.w.do(f"call void @{name}()")

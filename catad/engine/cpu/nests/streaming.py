"""LLVM text of streaming stores, which write to memory and bypass the caches.

A store that goes through the caches first reads the line that it overwrites, which is a third of what a pass over memory moves.
LLVM does not vectorise loops with such stores. So results are computed into a buffer that a cache holds, and then
written from there in whole aligned vectors; what stands before the first and after the last of these goes through the caches.
"""

from __future__ import annotations

from catad.scalar.printing.llvm_writer import Writer

BLOCK = 128  # indices whose results are held in a cache before they are written: work on the next block hides short bursts only
VECTOR = 64  # bytes of one streaming store


def _past(w: Writer) -> str:
    """The function that writes so many bytes past the caches."""
    w.support["memcpy"] = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"

    def both(at: str) -> list[str]:
        return [w.set(f"getelementptr i8, ptr {base}, i64 {at}") for base in ("%to", "%from")]

    def ragged(begin: str, size: str) -> None:
        with w.where(w.set(f"icmp ne i64 {size}, 0")):
            to, source = both(begin)
            w.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {source}, i64 {size}, i1 false)")

    negative = w.set(f"sub i64 0, {w.set('ptrtoint ptr %to to i64')}")
    before = w.intrinsic("llvm.umin.i64", "i64", f"i64 {w.set(f'and i64 {negative}, {VECTOR - 1}')}", "i64 %size")
    ragged("0", before)
    left = w.set(f"sub i64 %size, {before}")
    end = w.set(f"add i64 {before}, {w.set(f'and i64 {left}, {-VECTOR}')}")
    with w.each(before, end, VECTOR) as i:
        to, source = both(i)
        vector = w.set(f"load <{VECTOR // 4} x i32>, ptr {source}, align 1")
        w.do(f"store <{VECTOR // 4} x i32> {vector}, ptr {to}, align {VECTOR}, !nontemporal !1")
    ragged(end, w.set(f"sub i64 %size, {end}"))
    return w.text("past", "ptr noalias %to, ptr noalias %from, i64 %size", "internal", "noinline")


def stream(w: Writer, to: str, buffer: str, size: str) -> None:
    """Write so many bytes of a buffer; the module must end with `nest.METADATA`, the function with `settle`."""
    if "past" not in w.support:
        w.support["past"] = _past(w.beside())
    w.do(f"call void @past(ptr {to}, ptr {buffer}, i64 {size})")


def settle(w: Writer) -> None:
    """Make streaming stores visible to other threads."""
    w.do("fence seq_cst")

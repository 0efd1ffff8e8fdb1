"""The words of a GPU as LLVM coroutines: where a thread waits for others it notes why, and suspends itself.

A thread is known by its *record*, a row of integers of 64 bits, in the order of `FIELDS`. The module has two functions that the
scheduler calls with the addresses of records: `begin` starts threads, `resume` lets them go on. The memory of a coroutine lies
where its record says; where that is nowhere, `begin` only notes how many bytes it takes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from llvmlite import binding

from catad.engine.cuda.intrinsics import WARP, Simt
from catad.scalar.printing.llvm_writer import Writer

FIELDS = (
    *("status", "site", "thread", "block", "blocks", "row", "turn", "handle", "room", "bytes"),
    *("shared", "shared_low", "shared_high"),  # what the block shares, as `Ends`
    *("outside", "ends"),  # the address of the first access that leaves what the kernel was given, and where its ends are noted
)
AT = {name: 8 * k for k, name in enumerate(FIELDS)}
RUNS, BARRIER, AT_WARP, FREE, LOOKS, DONE = range(6)  # why a thread has suspended itself; free: it need not wait
ROW = 8 * WARP  # bytes of what the threads of a warp give each other; a warp has two such rows, used in turn
SHARED = 48 * 1024  # bytes of a block's shared memory


class Ends(NamedTuple):
    """A pointer that a kernel is given, and the addresses between which it may read and write."""

    pointer: int
    low: int
    high: int


_COROUTINE = """declare token @llvm.coro.id(i32, ptr, ptr, ptr)
declare i64 @llvm.coro.size.i64()
declare ptr @llvm.coro.begin(token, ptr)
declare i8 @llvm.coro.suspend(token, i1)
declare void @llvm.coro.resume(ptr)
declare {end} @llvm.coro.end(ptr, i1, token)
define internal i1 @outside(ptr %at, ptr %behind, ptr %ends, ptr %noted) noinline {{
  %low = load ptr, ptr %ends
  %next = getelementptr ptr, ptr %ends, i64 1
  %high = load ptr, ptr %next
  %before = icmp ult ptr %at, %low
  %beyond = icmp ugt ptr %at, %high
  %over = icmp ugt ptr %behind, %high
  %either = or i1 %before, %beyond
  %left = or i1 %either, %over
  br i1 %left, label %note, label %done
note:
  store ptr %at, ptr %noted
  %beside = getelementptr ptr, ptr %noted, i64 1
  store ptr %ends, ptr %beside
  br label %done
done:
  ret i1 %left
}}
@everywhere = internal constant [2 x i64] [i64 0, i64 -1]"""

_START = """  %coroutine = call token @llvm.coro.id(i32 16, ptr null, ptr null, ptr null)
  %frame = call i64 @llvm.coro.size.i64()
  store i64 %frame, ptr %self.bytes
  %place = load ptr, ptr %self.room
  %nowhere = icmp eq ptr %place, null
  br i1 %nowhere, label %refused, label %begun
refused:
  ret ptr null
begun:
  %handle = call ptr @llvm.coro.begin(token %coroutine, ptr %place)
  br label %start
start:"""

_STOP = """  br label %ended
ended:
  store i64 {done}, ptr %self.status
  %last = call i8 @llvm.coro.suspend(token none, i1 true)
  switch i8 %last, label %suspended [i8 0, label %never i8 1, label %suspended]
never:
  unreachable
suspended:
  {end}call {kind} @llvm.coro.end(ptr %handle, i1 false, token none)
  ret ptr %handle
}}"""

_EACH = """define void @{called}(ptr %records, i64 %n{more}) {{
{first}
  br label %head
head:
  %i = phi i64 [ 0, %0 ], [ %next, %body ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %body, label %out
body:
  %at = getelementptr ptr, ptr %records, i64 %i
  %self = load ptr, ptr %at
  %kept = getelementptr i8, ptr %self, i64 {kept}
{does}
  %next = add i64 %i, 1
  br label %head
out:
  ret void
}}
"""
_BEGIN = "  %handle = call ptr @kernel({arguments})\n  store ptr %handle, ptr %kept"
_RESUME = "  %handle = load ptr, ptr %kept\n  call void @llvm.coro.resume(ptr %handle)"


_KIND, _AT = r"(?P<kind><[^>]+>|\w+)", r"ptr (?P<at>[%@][\w.]+)"
_ACCESS = [
    re.compile(text)
    for text in (
        rf"  %\w+ = load (?:atomic )?{_KIND}, {_AT}",
        rf"  store (?:atomic )?{_KIND} .*, {_AT}",
        rf"  %\w+ = (?:atomicrmw \w+|cmpxchg) {_AT}, {_KIND} ",
    )
]
_COMPUTED = re.compile(rf"  (%\w+) = getelementptr (?:inbounds )?(?:<[^>]+>|\[[^]]+\]|\w+), {_AT},")
_SLOT_ENDS = """  store ptr {0}, ptr {0}.ends
  {0}.high = getelementptr {1}, ptr {0}, i64 1
  {0}.next = getelementptr ptr, ptr {0}.ends, i64 1
  store ptr {0}.high, ptr {0}.next"""
_FIXED = re.compile(r" \d+$")
_CHOSEN = re.compile(r"  (%\w+) = select i1 (\S+), ptr (\S+), ptr (\S+)$")


class Coroutines(Simt):
    """See the module."""

    def __init__(self, w: Writer, threads: int) -> None:
        super().__init__(w, threads)
        w.block = "start"
        self._sites = self._used = 0
        self._ends = dict.fromkeys(["@zero", *[f"%self.{name}" for name in FIELDS]], "")
        """The ends that each pointer must not leave; "" for what no index reaches."""
        self._reached: dict[str, str] = {}  # slots that an index reaches, and their types

    # -- the whole kernel

    def kernel(self, numbers: int, pointers: Sequence[str]) -> str:
        """The coroutine, and what starts and resumes it: `begin(records, n, given)`, `resume(records, n)`; what is
        given are the `Ends` of the table, then of the arrays."""
        old = binding.llvm_version_info[0] < 22  # the end of a coroutine is written in another way
        self.w.support["coroutine"] = _COROUTINE.format(end="i1" if old else "void")
        given = ", ".join(["ptr noalias readonly %t", *pointers, "ptr %self", "ptr %given"])
        fields = [f"  %self.{name} = getelementptr i8, ptr %self, i64 {at}" for name, at in AT.items()]
        stop = _STOP.format(done=DONE, end="%over = " if old else "", kind="i1" if old else "void")
        names = ["%t", *[pointer.split()[-1] for pointer in pointers]]
        ends = [f"  {one}.ends = getelementptr i64, ptr %given, i64 {3 * k + 1}" for k, one in enumerate(names)]
        lines = list(self._looked_at(names))  # which says what slots an index reaches
        slots = [*self.w.slots, *[f"  {slot}.ends = alloca [2 x ptr]" for slot in self._reached]]
        noted = [_SLOT_ENDS.format(slot, kind) for slot, kind in self._reached.items()]
        body = "\n".join(["entry:", *fields, *ends, *slots, _START, *noted, *lines, stop])
        given_at = "  {0}.at = getelementptr [3 x i64], ptr %given, i64 {1}\n  {0} = load ptr, ptr {0}.at"
        loaded = "\n".join([given_at.format(one, k) for k, one in enumerate(names)])
        arguments = ", ".join([f"ptr {one}" for one in (*names, "%self", "%given")])
        begin = _EACH.format(
            called="begin", more=", ptr %given", first=loaded, kept=AT["handle"], does=_BEGIN.format(arguments=arguments)
        )
        resume = _EACH.format(called="resume", more="", first="", kept=AT["handle"], does=_RESUME)
        return f"define ptr @kernel({given}) presplitcoroutine noinline {{\n{body}\n{begin}{resume}"

    def _looked_at(self, names: Sequence[str]) -> Iterator[str]:
        """The lines, with a look before each access to what the kernel was given."""
        kinds = {slot.split()[0]: slot.split("alloca ")[1].split(",")[0] for slot in self.w.slots}
        ends = self._ends | {one: f"{one}.ends" for one in names} | dict.fromkeys(kinds, "")
        for k, line in enumerate(self.w.lines):
            access = next((found for pattern in _ACCESS if (found := pattern.match(line))), None)
            if found := _COMPUTED.match(line):
                slot = found["at"]
                if slot in kinds and not _FIXED.search(line):
                    self._reached[slot], ends[found[1]] = kinds[slot], f"{slot}.ends"
                ends.setdefault(found[1], ends[slot])
            elif found := _CHOSEN.match(line):
                ends[found[1]] = f"{found[1]}.ends"
                one, other = [ends[side] or "@everywhere" for side in found.groups()[2:]]
                yield f"  {ends[found[1]]} = select i1 {found[2]}, ptr {one}, ptr {other}"
            elif access and ends[access["at"]]:
                at = access["at"]
                yield f"  %behind{k} = getelementptr {access['kind']}, ptr {at}, i64 1"
                yield f"  %left{k} = call i1 @outside(ptr {at}, ptr %behind{k}, ptr {ends[at]}, ptr %self.outside)"
                yield f"  br i1 %left{k}, label %ended, label %within{k}\nwithin{k}:"
            else:  # nothing else takes an address
                assert access or not any(ends[at] for at in re.findall(_AT, line)), line
            yield line

    def metadata(self) -> str:
        """What ends the module."""
        return "!0 = !{}\n"

    def suspend(self, why: int) -> None:
        """Stop here until the scheduler resumes the thread."""
        w = self.w
        self._sites += 1
        w.do(f"store i64 {why}, ptr %self.status")
        w.do(f"store i64 {self._sites}, ptr %self.site")
        again, name = w.set("call i8 @llvm.coro.suspend(token none, i1 false)"), w.name("again")
        w.do(f"switch i8 {again}, label %suspended [i8 0, label %{name} i8 1, label %suspended]")
        w.label(name)

    # -- which thread this is

    def _field(self, name: str, kind: str = "i64", ends: str = "") -> str:
        found = self.w.set(f"load {kind}, ptr %self.{name}")
        self._ends[found] = ends
        return found

    def thread(self) -> str:
        return self._field("thread")

    def block(self) -> str:
        return self._field("block")

    def blocks(self) -> str:
        return self._field("blocks")

    # -- waiting for others

    def shared(self, kind: str, count: int) -> str:
        w, size = self.w, count * {"i1": 1, "i8": 1, "i16": 2, "i32": 4, "float": 4}.get(kind, 8)
        first, self._used = self._used, self._used + (size + 15) // 16 * 16
        assert self._used <= SHARED
        found, ends = w.set(f"getelementptr i8, ptr {self.room()}, i64 {first}"), w.slot("ptr", 2)
        for k, far in enumerate((0, size)):
            end = w.set(f"getelementptr i8, ptr {found}, i64 {far}")
            w.do(f"store ptr {end}, ptr {w.set(f'getelementptr ptr, ptr {ends}, i64 {k}')}")
        self._ends[found] = ends
        return found

    def room(self) -> str:
        return self._field("shared", "ptr", "%self.shared_low")

    def barrier(self) -> None:
        self.suspend(BARRIER)

    def _row(self) -> str:
        """The address of the row of this turn; the next turn takes the other one, which all have read by then."""
        w, turn = self.w, self._field("turn")
        w.do(f"store i64 {w.set(f'xor i64 {turn}, {ROW}')}, ptr %self.turn")
        return w.set(f"getelementptr i8, ptr {self._field('row', 'ptr')}, i64 {turn}")

    def _met(self, value: str) -> str:
        """Give an i64 to the warp, and wait for all of it; the address of what all have given."""
        w, row = self.w, self._row()
        mine = w.set(f"getelementptr i64, ptr {row}, i64 {self.lane()}")
        w.do(f"store i64 {value}, ptr {mine}")
        self.suspend(AT_WARP)
        return row

    def _from_lane(self, piece: str, at: str) -> str:
        w = self.w
        row = self._met(w.set(f"zext i32 {piece} to i64"))
        lane = w.set(f"zext i32 {w.set(f'and i32 {at}, {WARP - 1}')} to i64")
        there = w.set(f"getelementptr i64, ptr {row}, i64 {lane}")
        return w.set(f"trunc i64 {w.set(f'load i64, ptr {there}')} to i32")

    def atomic(self, what: str, pointer: str, kind: str, value: str) -> str:
        self.suspend(FREE)
        return super().atomic(what, pointer, kind, value)

    def load_word(self, pointer: str, kind: str = "i64") -> str:
        self.suspend(LOOKS)
        return super().load_word(pointer, kind)

    def store_word(self, pointer: str, value: str, kind: str = "i64") -> None:
        self.suspend(FREE)
        super().store_word(pointer, value, kind)

"""Pullbacks of loops in bounded memory, within a whole program: steps forward and back in one compiled loop."""

from __future__ import annotations

from catad.category.spaces import Tensor
from catad.engine.cpu.whole.nested import PIECE, Loop, call
from catad.engine.cpu.whole.program import WRITERS
from catad.engine.cpu.whole.text import Arrays, Buffer, Text
from catad.engine.text.numbers import load
from catad.scalar.printing.llvm import stopped
from catad.scalar.printing.llvm_writer import Writer
from catad.vector.loops.revolve import BoundedLoop, BoundedPullback


class Pullback:
    """A `BoundedPullback` being written: `running` of the box, with the states that are kept in a stack.

    The state stands at step `at`; the steps from `end` on are done. Kept are the states at `places`, the last one at `top`; the
    first of them is the argument.
    """

    def __init__(self, text: Text, box: BoundedPullback, read: Arrays, made: Arrays) -> None:
        self.text, self.w, self.most = text, text.w, box.memory
        self.starts, self.given, inputs, self.counts, w, sums, ws = box.parted(read)
        self.rooms = [(text.buffer(space), space) for _, space in self.starts]
        self.ahead = Loop(text, box.ahead, [*self.starts, *self.given, *inputs], self.rooms)
        self.given = [*self.given, *sums]
        self.back = Loop(text, box.back, [*w, *self.starts, *self.given, *inputs, *ws], made)
        self.kept = [text.buffer(Tensor((self.most - 1, *space.shape), space.dtype)) for _, space in self.starts]
        self.places = text.buffer(Tensor((self.most,), "int64"))
        self.at, self.end, self.top = [self.w.slot("i64") for _ in range(3)]
        self.steps, self.reverse = box.steps, box.loop.sweep.reverse

    def write(self) -> None:
        """Write all of it."""
        w, text, outer = self.w, self.text, self.text.times
        text.times *= self.steps
        self.n = self._most() if self.counts else text.length(self.steps)
        for slot, value in ((self.at, "0"), (self.top, "0"), (self.end, self.n), (self.places.pointer, "0")):
            w.do(f"store i64 {value}, ptr {slot}")

        def going() -> str:
            more = w.set(f"icmp sgt i64 {self._load(self.end)}, 0")
            return w.set(f"and i1 {more}, {w.set(f'xor i1 {stopped(w)}, true')}")

        with w.repeated(going):
            self._turn()
        text.times = outer
        for one in self.back.carried:
            one.finish()
        for buffer in (*[one.other for one in self.ahead.carried], *[room for room, _ in self.rooms], *self.kept, self.places):
            text.free(buffer)

    def _most(self) -> str:
        """The most steps that a lane has taken."""
        w, ((counts, space),) = self.w, self.counts
        most = w.slot("i64", start="0")
        with self.text.each([space.size]) as index:
            more, known = load(w, self.text.at(counts.pointer, index, [8]), space.dtype), self._load(most)
            larger = w.set(f"icmp sgt i64 {more}, {known}")
            w.do(f"store i64 {w.set(f'select i1 {larger}, i64 {more}, i64 {known}')}, ptr {most}")
        return self._load(most)

    def _index(self, step: str) -> str:
        """Where the inputs of a step stand."""
        return self.w.set(f"sub i64 {self.w.set(f'sub i64 {self.n}, 1')}, {step}") if self.reverse else step

    def _load(self, slot: str) -> str:
        return self.w.set(f"load i64, ptr {slot}")

    def _turn(self) -> None:
        """Some steps forward; where they have reached their goal, the state there is kept, or one step back is taken from it."""
        w = self.w
        top, end = self._load(self.top), self._load(self.end)
        place = self._load(self.text.at(self.places.pointer, [top], [8]))
        count = w.set(f"sub i64 {end}, {place}")
        single, full = w.set(f"icmp eq i64 {count}, 1"), w.set(f"icmp eq i64 {top}, {self.most - 1}")
        back, goal = w.set(f"or i1 {single}, {full}"), w.slot("i64")
        w.do(f"store i64 {w.set(f'sub i64 {end}, 1')}, ptr {goal}")
        free = w.set(f"sub i64 {self.most}, {top}")
        w.when(self._not(back), lambda: w.do(f"store i64 {w.set(f'add i64 {place}, {_split(w, count, free)}')}, ptr {goal}"))
        goal = self._load(goal)
        at = self._load(self.at)
        outside = w.set(f"or i1 {w.set(f'icmp slt i64 {at}, {place}')}, {w.set(f'icmp sgt i64 {at}, {goal}')}")
        w.when(outside, lambda: self._restore(top, place))
        at = self._load(self.at)
        stop = w.least(goal, w.set(f"add i64 {at}, {PIECE}"))
        w.loop(at, stop, lambda i: self.ahead.step(self._index(i)))
        w.do(f"store i64 {stop}, ptr {self.at}")
        there = w.set(f"icmp eq i64 {stop}, {goal}")
        w.when(w.set(f"and i1 {there}, {self._not(back)}"), lambda: self._keep(top, goal))
        w.when(w.set(f"and i1 {there}, {back}"), lambda: self._back(top, goal, single))

    def _not(self, flag: str) -> str:
        return self.w.set(f"xor i1 {flag}, true")

    def _restore(self, top: str, place: str) -> None:
        """Go back to the last state that is kept."""
        first = self.w.set(f"icmp eq i64 {top}, 0")
        below = self.w.set(f"sub i64 {top}, 1")
        for one, (start, space), kept in zip(self.ahead.carried, self.starts, self.kept, strict=True):
            one.begin()
            inside = self.text.at(kept.pointer, [below], [space.nbytes])
            source = self.w.set(f"select i1 {first}, ptr {start.pointer}, ptr {inside}")
            self.text.copy(source, one.now.pointer, space.nbytes)
        self.w.do(f"store i64 {place}, ptr {self.at}")

    def _keep(self, top: str, goal: str) -> None:
        """Keep the state as one more."""
        for one, (_, space), kept in zip(self.ahead.carried, self.starts, self.kept, strict=True):
            one.begin()
            self.text.copy(one.now.pointer, self.text.at(kept.pointer, [top], [space.nbytes]), space.nbytes)
        above = self.w.set(f"add i64 {top}, 1")
        self.w.do(f"store i64 {above}, ptr {self.top}")
        self.w.do(f"store i64 {goal}, ptr {self.text.at(self.places.pointer, [above], [8])}")

    def _back(self, top: str, goal: str, single: str) -> None:
        """Take one step back; the last state that is kept is no longer needed where it was the one before this step."""
        for one in self.ahead.carried:
            one.begin()
        given = [Buffer(one.now.pointer, space.nbytes) for one, (_, space) in zip(self.ahead.carried, self.starts, strict=True)]
        now = [(buffer, space) for buffer, (_, space) in zip(given, self.starts, strict=True)]
        self.back.given = [*now, *self.given]
        self.back.step(self._index(goal))
        self.w.do(f"store i64 {goal}, ptr {self.end}")
        gone = self.w.set(f"zext i1 {single} to i64")
        self.w.do(f"store i64 {self.w.set(f'sub i64 {top}, {gone}')}, ptr {self.top}")


def _split(w: Writer, n: str, kept: str) -> str:
    """The first split of `revolve`, for more than one state."""
    r, reach = w.slot("i64", start="1"), w.slot("i64", start=w.set(f"add i64 {kept}, 1"))

    def short() -> str:
        found = w.set(f"load i64, ptr {reach}")
        return w.set(f"icmp slt i64 {found}, {n}")

    with w.repeated(short):
        times = w.set(f"add i64 {w.set(f'load i64, ptr {r}')}, 1")
        found = w.set(f"load i64, ptr {reach}")
        w.do(f"store i64 {times}, ptr {r}")
        w.do(f"store i64 {_scaled(w, found, w.set(f'add i64 {kept}, {times}'), times)}, ptr {reach}")
    times, found = w.set(f"load i64, ptr {r}"), w.set(f"load i64, ptr {reach}")
    both = w.set(f"add i64 {kept}, {times}")
    before = _scaled(w, found, times, both)
    after = _scaled(w, before, kept, w.set(f"sub i64 {both}, 1"))
    return w.least(before, w.set(f"sub i64 {n}, {after}"))


def _scaled(w: Writer, number: str, times: str, parts: str) -> str:
    return w.set(f"sdiv i64 {w.set(f'mul i64 {number}, {times}')}, {parts}")


def pullback(text: Text, box: BoundedPullback, read: Arrays, made: Arrays) -> None:
    """Write a `BoundedPullback`."""
    Pullback(text, box, read, made).write()


WRITERS |= {BoundedPullback: pullback, BoundedLoop: call}

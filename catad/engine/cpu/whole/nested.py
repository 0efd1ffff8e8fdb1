"""Boxes that run programs, within a whole program: loops with a state, choices, and programs that are called."""

from __future__ import annotations

from collections.abc import Sequence

from catad.engine.cpu.whole.program import WRITERS, changes, write_program
from catad.engine.cpu.whole.rewrite import adding_up
from catad.engine.cpu.whole.text import SMALL, Buffer, Text
from catad.errors import CannotPrint
from catad.late import late
from catad.linear.either import Choose
from catad.linear.sweep import Sweep
from catad.spaces import Space, Tensor
from catad.terms import D
from catad.vector.checkpoint import Call
from catad.wiring import Wiring

Arrays = Sequence[tuple[Buffer, Tensor]]


def _wiring(term: D, dom: Space) -> Wiring:
    return late().program_of(term, dom)[0].wiring


class _Carried:
    """What a loop carries from step to step: where it is now, and, of a large value, the place of the next one."""

    def __init__(self, text: Text, space: Tensor, now: Buffer) -> None:
        self.text, self.space, self.first = text, space, now
        self.other = text.buffer(space)
        self.turns = space.nbytes > SMALL
        if self.turns:  # two places in turn
            self.slots = text.w.slot("ptr"), text.w.slot("ptr")
            for slot, buffer in zip(self.slots, (now, self.other), strict=True):
                text.w.do(f"store ptr {buffer.pointer}, ptr {slot}")

    def begin(self) -> None:
        """At the beginning of a step."""
        n = self.space.nbytes
        if self.turns:
            here, there = [self.text.w.set(f"load ptr, ptr {slot}") for slot in self.slots]
            self.now, self.next = Buffer(here, n, owned=True), Buffer(there, n, owned=True)
        else:
            self.now, self.next = self.first, self.other

    def end(self, made: Buffer) -> None:
        """At the end of a step, which has left the value somewhere."""
        w = self.text.w
        if made.pointer == self.now.pointer:
            return
        if self.turns and made.pointer == self.next.pointer:
            w.do(f"store ptr {self.next.pointer}, ptr {self.slots[0]}")
            w.do(f"store ptr {self.now.pointer}, ptr {self.slots[1]}")
        else:
            self.text.copy(made.pointer, self.now.pointer, self.space.nbytes)

    def finish(self) -> None:
        """Leave the value where the first one was."""
        w = self.text.w
        if self.turns:
            here = w.set(f"load ptr, ptr {self.slots[0]}")
            moved = w.set(f"icmp ne ptr {here}, {self.first.pointer}")
            w.when(moved, lambda: self.text.copy(here, self.first.pointer, self.space.nbytes))
        self.text.free(self.other)


class Loop:
    """A sweep being written: its state and its sums go from step to step, and results are written into their stacks."""

    def __init__(self, text: Text, box: Sweep, read: Arrays, made: Arrays) -> None:
        self.text, self.box = text, box
        self.states, self.given, self.inputs = box.parted(read)
        wiring = _wiring(box.body, box.dom)
        k, sums = len(self.states), len(box.sums.leaves)
        self.wiring = adding_up(wiring, k, sums)
        self.carried = []
        for (old, space), (goal, _) in zip(self.states, made, strict=False):
            text.copy(old.pointer, goal.pointer, space.nbytes)
            self.carried.append(_Carried(text, space, Buffer(goal.pointer, space.nbytes, owned=True)))
        for goal, space in made[k : k + sums]:
            text.clear(goal.pointer, space.nbytes)
            self.carried.append(_Carried(text, space, Buffer(goal.pointer, space.nbytes, owned=True)))
        self.outputs = [(goal, leaf) for (goal, _), leaf in zip(made[k + sums :], box.output.leaves, strict=True)]

    def write(self, count: str) -> None:
        """Write the loop of so many steps."""
        w, reverse = self.text.w, self.box.reverse
        last = w.set(f"sub i64 {count}, 1") if reverse else ""
        w.loop("0", count, lambda i: self.step(w.set(f"sub i64 {last}, {i}") if reverse else i))
        for one in self.carried:
            one.finish()

    def step(self, i: str) -> None:
        """Write one step."""
        text, k = self.text, len(self.states)
        for one in self.carried:
            one.begin()
        given = [Buffer(buffer.pointer, buffer.nbytes) for buffer, _ in self.given]
        inputs = [self._at(buffer, leaf, i) for (buffer, _), leaf in zip(self.inputs, self.box.input.leaves, strict=True)]
        states, sums = self.carried[:k], self.carried[k:]
        goals = [*[one.next for one in self.carried], *[self._at(buffer, leaf, i) for buffer, leaf in self.outputs]]
        read = [*[one.now for one in states], *given, *inputs, *[one.now for one in sums]]
        made = write_program(text, self.wiring, read, goals, len(self.carried))
        places = {one.now.pointer for one in self.carried}
        for j, one in enumerate(self.carried):  # what lies where another value belongs is moved out of its way
            if made[j].pointer in places - {one.now.pointer}:
                beside = text.buffer(one.space)
                text.copy(made[j].pointer, beside.pointer, one.space.nbytes)
                made[j] = beside
        for one, buffer in zip(self.carried, made, strict=False):
            one.end(buffer)

    def _at(self, buffer: Buffer, leaf: Tensor, i: str) -> Buffer:
        return Buffer(self.text.at(buffer.pointer, [i], [leaf.nbytes]), leaf.nbytes)


def sweep(text: Text, box: Sweep, read: Arrays, made: Arrays) -> None:
    """Write a `Sweep`."""
    Loop(text, box, read, made).write(text.length(box.n))


def choose(text: Text, box: Choose, read: Arrays, made: Arrays) -> None:
    """Write a `Choose`: one side runs."""
    if box.lanes:
        raise CannotPrint("a choice for each lane", "it runs both sides")
    w = text.w
    holds = w.set(f"icmp ne i8 {w.set(f'load i8, ptr {read[0][0].pointer}')}, 0")
    given = [Buffer(buffer.pointer, buffer.nbytes) for buffer, _ in read[1:]]
    goals = [buffer for buffer, _ in made]

    def side(term: D) -> None:
        write_program(text, _wiring(term, box.dom), given, goals)

    w.when(holds, lambda: side(box.f))
    w.when(w.set(f"xor i1 {holds}, true"), lambda: side(box.g))


def call(text: Text, box: Call, read: Arrays, made: Arrays) -> None:
    """Write a `Call`."""
    given = [Buffer(buffer.pointer, buffer.nbytes) for buffer, _ in read]
    write_program(text, _wiring(box.f, box.dom), given, [buffer for buffer, _ in made])


WRITERS |= {Sweep: sweep, Choose: choose, Call: call}
changes(Sweep, lambda box: {k: k for k in range(len(box.state.leaves))})

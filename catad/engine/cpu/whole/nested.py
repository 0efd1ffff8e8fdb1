"""Boxes that run programs, within a whole program: loops with a state, sums of entries, choices, and programs that are called."""

from __future__ import annotations

import math

from catad.category.cartesian import fork, it, proj
from catad.category.spaces import Product, Space, Tensor, Unit
from catad.category.terms import D
from catad.category.wiring import Box, Wiring
from catad.engine.cpu.whole.counters import count, counters
from catad.engine.cpu.whole.program import CHANGED, WRITERS, write_program
from catad.engine.cpu.whole.rewrite import accumulated, adding_up, columns_as_rows, rows_first
from catad.engine.cpu.whole.text import SMALL, Arrays, Buffer, Text
from catad.engine.program import program_of
from catad.engine.text.numbers import load, store
from catad.errors import CannotPrint
from catad.scalar.printing.llvm import LONG, stopped
from catad.vector.folds.entry_sum import COUNT, GUESS, Summed
from catad.vector.loops.checkpoint import Call
from catad.vector.loops.either import Choose
from catad.vector.loops.loop import After, Counted
from catad.vector.loops.sweep_map import Sweep

ROWS = 1 << 11  # of a state that is laid out anew, after each other
PIECE = 1 << 12  # steps of a long loop after each other, without a look at whether it should end


def _wiring(term: D, dom: Space) -> Wiring:
    return program_of(term, dom)[0].wiring


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
        self.text, self.w, self.box = text, text.w, box
        self.states, self.given, self.inputs = box.parted(read)
        k, sums = len(self.states), len(box.sums.leaves)
        self.wiring = adding_up(self.body(), k, sums)
        self.counters = counters(text, self.wiring, [buffer for buffer, _ in self.inputs], box.n)
        self.carried: list[_Carried] = []
        for (old, space), (goal, _) in zip(self.states, made, strict=False):
            self.begin(space, goal, old)
        for goal, space in made[k : k + sums]:
            self.begin(space, goal, None)
        self.outputs = [(goal, leaf) for (goal, _), leaf in zip(made[k + sums :], box.output.leaves, strict=True)]

    def body(self) -> Wiring:
        """The wiring of a step."""
        return _wiring(self.box.body, self.box.dom)

    def begin(self, space: Tensor, goal: Buffer, old: Buffer | None) -> None:
        """Write the beginning of a state, or of a sum, where its end belongs."""
        if old is None:
            self.text.clear(goal.pointer, space.nbytes)
        else:
            self.text.copy(old.pointer, goal.pointer, space.nbytes)
        self.carried.append(_Carried(self.text, space, Buffer(goal.pointer, space.nbytes, owned=True)))

    def write(self, steps: str) -> None:
        """Write the loop of so many steps; one that takes long ends where somebody wants it to."""
        w, text, reverse, outer = self.w, self.text, self.box.reverse, self.text.times
        last = w.set(f"sub i64 {steps}, 1") if reverse else ""
        whole = bool(self.counters) and self.box.n <= PIECE  # one piece, so that LLVM knows where the index begins
        text.times *= max(self.box.n, 1)

        def some(begin: str, end: str) -> None:
            w.loop(begin, end, lambda i: self.step(w.set(f"sub i64 {last}, {i}") if reverse else i))

        def unless_stopped(i: str) -> None:
            end = w.least(w.set(f"add i64 {i}, {PIECE}"), steps)
            w.when(w.set(f"xor i1 {stopped(w)}, true"), lambda: some(i, end))

        if text.times > LONG and whole:
            w.when(w.set(f"xor i1 {stopped(w)}, true"), lambda: some("0", steps))
        elif text.times > LONG:
            w.loop("0", steps, unless_stopped, PIECE)
        else:
            some("0", steps)
        text.times = outer
        for one in self.carried:
            one.finish()

    def step(self, i: str) -> None:
        """Write one step."""
        text, k = self.text, len(self.states)
        for one in self.carried:
            one.begin()
        given = [self.at(buffer, leaf, "0") for (buffer, _), leaf in zip(self.given, self.box.given.leaves, strict=True)]
        inputs = [self.input(k, i) for k in range(len(self.inputs))]
        states, sums = self.carried[:k], self.carried[k:]
        goals = [*[one.next for one in self.carried], *[self.at(buffer, leaf, i) for buffer, leaf in self.outputs]]
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

    def input(self, k: int, i: str) -> Buffer:
        """What one step reads of an input: numbers in memory of their own, which LLVM keeps in registers.

        No write of the step changes it, as LLVM cannot know of the stack.
        """
        if k in self.counters:
            return count(self.text, i, self.counters[k], self.box.n)
        leaf = self.box.input.leaves[k]
        here = self.at(self.inputs[k][0], leaf, i)
        if leaf.shape:
            return here
        own = self.text.buffer(leaf)
        self.text.copy(here.pointer, own.pointer, leaf.nbytes)
        return Buffer(own.pointer, leaf.nbytes)

    def at(self, buffer: Buffer, leaf: Tensor, i: str) -> Buffer:
        """What one step reads or writes of a stack."""
        return Buffer(self.text.at(buffer.pointer, [i], [leaf.nbytes]), leaf.nbytes)


class _SweepLoop(Loop):
    """A `Sweep`, some of whose states lie with their last axis first until it ends."""

    def __init__(self, text: Text, box: Sweep, read: Arrays, made: Arrays) -> None:
        self.turned: set[int] = set()
        self.ends: list[tuple[Tensor, Buffer, Buffer]] = []
        super().__init__(text, box, read, made)

    def body(self) -> Wiring:
        wiring, self.turned = columns_as_rows(super().body(), len(self.states), self.box.n)
        return wiring

    def begin(self, space: Tensor, goal: Buffer, old: Buffer | None) -> None:
        if old is None or len(self.carried) not in self.turned:
            super().begin(space, goal, old)
            return
        here = self.text.buffer(rows_first(space))
        self._move(space, old, here, inwards=True)
        self.ends.append((space, here, goal))
        self.carried.append(_Carried(self.text, rows_first(space), Buffer(here.pointer, here.nbytes, owned=True)))

    def write(self, steps: str) -> None:
        super().write(steps)
        for space, here, goal in self.ends:
            self._move(space, here, goal, inwards=False)
            self.text.free(here)

    def _move(self, space: Tensor, source: Buffer, goal: Buffer, inwards: bool) -> None:
        """Lay a state out with its last axis first, or as it was; some rows at a time, which a cache holds."""
        text, w, size, columns = self.text, self.w, space.dtype.itemsize, space.shape[-1]
        rows = space.size // columns
        with (
            w.each("0", str(rows), ROWS) as start, w.each("0", str(columns)) as k,
            w.each(start, w.least(w.set(f"add i64 {start}, {ROWS}"), str(rows))) as j,
        ):  # fmt: skip
            both = (columns * size, size), (size, rows * size)
            first, second = both if inwards else both[::-1]
            value = load(w, text.at(source.pointer, [j, k], first), space.dtype)
            store(w, value, text.at(goal.pointer, [j, k], second), space.dtype)


def sweep(text: Text, box: Sweep, read: Arrays, made: Arrays) -> None:
    """Write a `Sweep`."""
    loop = _SweepLoop(text, box, read, made)
    loop.write(str(box.n) if loop.counters else text.length(box.n))


class WhileLoop(Loop):
    """A `Counted` being written: it counts the steps of each lane while it takes them.

    Results of more steps than there is room for are written over each other, since another program runs then instead.
    """

    box: Counted

    def __init__(self, text: Text, box: Counted, read: Arrays, made: Arrays) -> None:
        super().__init__(text, box, read, made[:-1])
        self.counters = {}  # how many steps there are is not known
        self.count, self.live = made[-1], (text.buffer(Tensor(box.lanes, "bool")), Tensor(box.lanes, "bool"))
        text.clear(self.count[0].pointer, self.count[1].nbytes)

    def run(self) -> None:
        """Write the loop."""
        w, text, box = self.w, self.text, self.box
        if not box.n and (box.output.leaves or box.sums.leaves):
            raise CannotPrint("a while loop of no steps with results", "there is no room for them")
        taken, counted, going = (w.slot(kind, start=start) for kind, start in (("i64", "0"), ("i64", "0"), ("i1", "true")))
        n, now = text.length(box.n), list[str]()  # now: the steps so far

        def goes_on() -> str:
            for one in self.carried:
                one.begin()
            w.when(w.set(f"load i1, ptr {going}"), lambda: self._test(going))
            now.append(w.set(f"load i64, ptr {taken}"))
            more = w.set(f"load i1, ptr {going}")
            if box.exactness in ("lanes", "bound", "near") and (box.output.leaves or box.sums.leaves):  # they change no state
                more = w.set(f"or i1 {more}, {w.set(f'icmp slt i64 {now[0]}, {n}')}")
            most = w.set(f"icmp eq i64 {now[0]}, {box.loop[0].max_steps}")
            endless = w.set(f"and i1 {most}, {w.set(f'load i1, ptr {going}')}")  # only steps that change a state are counted
            leaves = w.set(f"or i1 {endless}, {stopped(w)}")
            return w.set(f"and i1 {more}, {w.set(f'xor i1 {leaves}, true')}")

        with w.repeated(goes_on):
            self.step(w.least(now[0], w.set(f"sub i64 {n}, 1")))
            if text.outsiders:  # a condition of what has failed may hold for ever
                text.fail("false")
                holds = w.set(f"load i1, ptr {going}")
                well = w.set(f"xor i1 {w.set(f'load i1, ptr {text.failed}')}, true")
                w.do(f"store i1 {w.set(f'and i1 {holds}, {well}')}, ptr {going}")
            following = w.set(f"add i64 {now[0]}, 1")
            w.do(f"store i64 {following}, ptr {taken}")
            w.when(w.set(f"load i1, ptr {going}"), lambda: w.do(f"store i64 {following}, ptr {counted}"))
        for one in self.carried:
            one.finish()
        self._check(w.set(f"load i64, ptr {counted}"), w.set(f"load i1, ptr {going}"), n)

    def _test(self, going: str) -> None:
        """Find which lanes go on, and count their steps."""
        w, (live, space), k = self.w, self.live, len(self.states)
        dom = Product((self.box.state, self.box.given))
        now = [Buffer(one.now.pointer, one.space.nbytes) for one in self.carried[:k]]
        given = [Buffer(buffer.pointer, buffer.nbytes) for buffer, _ in self.given]
        write_program(self.text, _wiring(self.box.test, dom), [*now, *given], [live])
        w.do(f"store i1 false, ptr {going}")

        with self.text.each([space.size]) as index:
            holds = load(w, self.text.at(live.pointer, index, [1]), space.dtype)
            place = self.text.at(self.count[0].pointer, index, [8])
            old, one = w.set(f"load i64, ptr {place}"), w.set(f"zext i1 {holds} to i64")
            w.do(f"store i64 {w.set(f'add i64 {old}, {one}')}, ptr {place}")
            others = w.set(f"load i1, ptr {going}")
            w.do(f"store i1 {w.set(f'or i1 {others}, {holds}')}, ptr {going}")

    def _check(self, taken: str, going: str, n: str) -> None:
        """An endless loop is an error; another number of steps than there is room for makes another program run."""
        w, box = self.w, self.box
        w.when(going, lambda: self.text.raises(box.endless, taken))
        if not box.unchecked:
            differs = w.set(f"icmp {'sgt' if box.exactness in ('bound', 'near') else 'ne'} i64 {taken}, {n}")
            if box.exactness == "near":
                few = w.set(f"icmp slt i64 {taken}, {w.set(f'sdiv i64 {n}, 2')}")
                differs = w.set(f"or i1 {differs}, {few}")
            ended = w.set(f"xor i1 {going}, true")
            w.when(w.set(f"and i1 {differs}, {ended}"), lambda: self.text.raises(box.ended, taken))


def counted(text: Text, box: Counted, read: Arrays, made: Arrays) -> None:
    """Write a `Counted`."""
    WhileLoop(text, box, read, made).run()


def after(text: Text, box: After, read: Arrays, made: Arrays) -> None:
    """Write an `After`: its arguments but the count, where they are."""
    for (source, space), (goal, _) in zip(read[1:], made, strict=True):
        text.copy(source.pointer, goal.pointer, space.nbytes)


def choose(text: Text, box: Choose, read: Arrays, made: Arrays) -> None:
    """Write a `Choose`: in each lane one side runs."""
    w = text.w
    if not box.lanes:
        condition = load(w, read[0][0].pointer, read[0][1].dtype)
        sides = _Sides(text, box, read[1:], made)
        w.either(condition, lambda: sides.write(box.f), lambda: sides.write(box.g))
        sides.free()
        return
    if 0 in box.lanes:
        return
    leaves = [leaf.nbytes for leaf in box.dom.leaves]
    results = [space.nbytes // max(math.prod(box.lanes), 1) for _, space in made]
    strides = [math.prod(box.lanes[k + 1 :]) for k in range(len(box.lanes))]

    with text.each(box.lanes) as index:

        def own(buffer: Buffer, nbytes: int, shared: bool = False) -> Buffer:
            steps = [0 if shared else stride * nbytes for stride in strides]
            return Buffer(text.at(buffer.pointer, index, steps), nbytes)

        holds = load(w, own(read[0][0], 1).pointer, read[0][1].dtype)
        given = [own(buffer, n, k in box.shared) for k, ((buffer, _), n) in enumerate(zip(read[1:], leaves, strict=True))]
        goals = [own(buffer, n) for (buffer, _), n in zip(made, results, strict=True)]

        def side(term: D) -> None:
            write_program(text, _wiring(term, box.dom), given, goals)

        w.either(holds, lambda: side(box.f), lambda: side(box.g))


class _Sides:
    """The sides of a choice: results that lie where an argument does are changed in place, in the side that is taken."""

    def __init__(self, text: Text, box: Choose, given: Arrays, made: Arrays) -> None:
        self.text, self.box, self.made = text, box, made
        places = [buffer.pointer for buffer, _ in given]
        self.same = {r: places.index(goal.pointer) for r, (goal, _) in enumerate(made) if goal.pointer in places}
        self.given = [Buffer(buffer.pointer, buffer.nbytes, k in self.same.values()) for k, (buffer, _) in enumerate(given)]
        self.beside = {r: text.buffer(made[r][1]) for r in self.same}  # where such a result is made otherwise

    def write(self, term: D) -> None:
        """Write one side."""
        wiring = _wiring(term, self.box.dom)
        goals: list[Buffer | None] = [self.beside.get(r, goal) for r, (goal, _) in enumerate(self.made)]
        for r, k in self.same.items():
            if wiring.outputs[r] == wiring.inputs[k]:
                goals[r] = None  # it is there
        found = write_program(self.text, wiring, self.given, goals, len(goals))
        places = {self.given[k].pointer for k in self.same.values()}
        for r, own in enumerate(found):  # what lies where another result belongs is moved out of its way
            goal = self.made[r][0]
            if own.pointer in places - {goal.pointer}:
                out = self.beside.get(r, goal)
                self.text.copy(own.pointer, out.pointer, goal.nbytes)
                found[r] = out
        for own, (goal, _) in zip(found, self.made, strict=True):
            if own.pointer != goal.pointer:
                self.text.copy(own.pointer, goal.pointer, goal.nbytes)

    def free(self) -> None:
        """The room beside is not needed any more."""
        for buffer in self.beside.values():
            self.text.free(buffer)


def call(text: Text, box: Call, read: Arrays, made: Arrays) -> None:
    """Write a `Call`."""
    given = [Buffer(buffer.pointer, buffer.nbytes) for buffer, _ in read]
    write_program(text, _wiring(box.f, box.dom), given, [buffer for buffer, _ in made])


class _SumLoop(Loop):
    """A `Summed`: a sweep without states, of as many steps as a number says, whose input is the number of the step."""

    def __init__(self, text: Text, box: Summed, read: Arrays, made: Arrays) -> None:
        n = len(box.dom.leaves)
        self.starts = [buffer for buffer, _ in read[n:]]
        body = fork(it, fork(proj(2), proj(1)) >> box.f, it)
        sums = Product(tuple([space for _, space in made]))
        sweep = Sweep(body, GUESS, Unit, COUNT, Unit, False, box.x, sums)
        super().__init__(text, sweep, [*read[1:n], read[0]], made)
        self.counters = {}

    def begin(self, space: Tensor, goal: Buffer, old: Buffer | None) -> None:
        super().begin(space, goal, self.starts.pop(0) if self.starts else None)

    def input(self, k: int, i: str) -> Buffer:
        own = self.text.buffer(COUNT)
        self.w.do(f"store i64 {i}, ptr {own.pointer}")
        return own


def summed(text: Text, box: Summed, read: Arrays, made: Arrays) -> None:
    """Write a `Summed`."""
    _SumLoop(text, box, read, made).write(text.w.set(f"load i64, ptr {read[0][0].pointer}"))


WRITERS |= {Sweep: sweep, Counted: counted, After: after, Choose: choose, Call: call, Summed: summed}


def _states(box: Box) -> dict[int, int]:
    assert isinstance(box.primitive, Sweep)
    return {k: k for k in range(len(box.primitive.state.leaves))}


def _chosen(box: Box) -> dict[int, int]:
    """The results that both sides make of one argument, by changing it or not."""
    choice = box.primitive
    assert isinstance(choice, Choose)
    if choice.lanes:
        return {}
    first, second = [_changed(accumulated(_wiring(side, choice.dom))) for side in (choice.f, choice.g)]
    return {r: 1 + k for r, k in first.items() if second.get(r) == k}


def _changed(wiring: Wiring) -> dict[int, int]:
    """The results that boxes make of an argument in its place, if it may be changed; those that are arguments, too."""
    source: dict[int, int] = {k: k for k in wiring.inputs}
    for box in wiring.boxes:
        which = CHANGED.get(type(box.primitive))
        if which is not None and any(k in source for k in box.ins):
            source.update({box.outs[r]: source[box.ins[a]] for r, a in which(box).items() if box.ins[a] in source})
    return {r: wiring.inputs.index(source[k]) for r, k in enumerate(wiring.outputs) if k in source}


def _summed_onto(box: Box) -> dict[int, int]:
    """Where the results of a sum may lie: in the place of what it adds to."""
    assert isinstance(box.primitive, Summed)
    first = len(box.primitive.dom.leaves)
    return {r: first + r for r in range(len(box.outs))} if box.primitive.onto else {}


CHANGED |= {
    Summed: _summed_onto,
    Choose: _chosen,
    Sweep: _states,
    Counted: _states,
    After: lambda box: {k: k + 1 for k in range(len(box.outs))},
}

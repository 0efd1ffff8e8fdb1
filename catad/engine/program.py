"""Programs: wirings made ready to run on arrays, and the places where they are kept.

A program has a run for each engine that it met (`run.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from catad.category.boxes import Nesting
from catad.category.cache import cache_of, cached
from catad.category.points import point_of
from catad.category.spaces import Product, Space, Tensor, Value, flatten, rebuild
from catad.category.terms import D
from catad.category.trip_counts import Loops, TripCountChanged, assuming, with_trip_counts
from catad.category.trip_counts import own as own_trip_counts
from catad.category.wiring import Box, Builder, Wiring, at_point, wire
from catad.engine import background, profile
from catad.engine.backend import Engine, Step
from catad.engine.choice import engine_of
from catad.engine.counting import counting, not_counting
from catad.engine.reference import REFERENCE
from catad.engine.rewrites.fuse import fuse
from catad.engine.run import Run
from catad.linear.apply import applying
from catad.linear.products import MapProduct, cost_of_wiring
from catad.linear.structure import Structure
from catad.scalar import operations
from catad.support.current_engine import AUTO, chosen, every_call
from catad.support.lru import remembered
from catad.support.progress import watched
from catad.values import buffers
from catad.values.arrays import Array, apart, common_module, in_blocks
from catad.vector.derivative_carriers import erased
from catad.vector.pointwise.map import Map


class Program:
    """A wiring ready to run. `program(xp, leaves)` gives the leaves of the result, which callers may keep and write into.

    `program.inside(xp, leaves)` is for a kernel of another program: its results may be views of arguments and constants.
    """

    __slots__ = ("_calls", "_cost", "_job", "_runs", "_settled", "boxes", "checked", "wiring")

    def __init__(self, wiring: Wiring) -> None:
        wiring = fuse(erased(wiring), horizontal=True)
        self.wiring = wiring
        self.boxes = tuple([box for box in wiring.boxes if box.ins])
        self.checked = False
        self._calls = 0  # that array code has served
        self._cost: Cost | None = None
        self._job: background.Job[tuple[_Key, Run]] | None = None
        self._settled: _Settled | None = None  # what "auto" runs from now on
        self._runs: dict[_Key, Run] = {}

    def on(self, engine: Engine) -> Run:
        """The run of the program on an engine, made once."""
        key = engine, every_call(), profile.active()
        found = self._runs.get(key)
        if found is None:
            found = self._runs[key] = self._made(engine)
        return found

    def _made(self, engine: Engine) -> Run:
        with watched("preparing a program"):
            return self._run(engine.steps(self.wiring), self.wiring.outputs)

    def _run(self, steps: Sequence[Step], outputs: Sequence[int]) -> Run:
        return Run(self.wiring.inputs, outputs, steps, self.wiring.boxes)

    @property
    def reference(self) -> Run:
        """The boxes one after the other, by their array code."""
        return self.on(REFERENCE)

    @property
    def operations(self) -> int:
        """The scalar operations of one run, dimensionless."""
        return cost_of_wiring(self.wiring)

    @property
    def cost(self) -> Cost:
        """About what a call of the array code costs, and what compiling costs."""
        if self._cost is None:
            boxes = _cost(self, DEEP)
            self._cost = Cost(boxes.call + NUMBER * self.operations, boxes.compiling + COMPILED)
        return self._cost

    def __call__(self, xp: Any, leaves: Sequence[Array]) -> list[Array]:
        settled = self._settled
        if settled is not None and settled.at_once is not None and xp is np and self._goes_on(settled) and counting() is None:
            try:
                made = settled.at_once(leaves)
            except MemoryError:
                made = None
            if made is not None:
                for k in settled.numbers:
                    made[k] = made[k][()]
                return made
        if own_trip_counts() is None:  # while loops of programs within are counted here, as in a call
            return apart(with_trip_counts(lambda: self.inside(xp, leaves)), leaves)
        return apart(self.inside(xp, leaves), leaves)

    def _goes_on(self, settled: _Settled) -> bool:
        """Whether "auto" runs what it has settled on."""
        return chosen.get() == AUTO and settled.looks == every_call() and not profile.active()

    def inside(self, xp: Any, leaves: Sequence[Array]) -> list[Array]:
        """The same, without copies where views will do."""
        tally = counting()
        if tally is not None:
            tally.add(self.operations)
            with not_counting():
                return self.inside(xp, leaves)
        run = self.ready(xp, leaves)
        if self._settled is None and xp is np and chosen.get() == AUTO and run is self.reference:
            with background.serving():
                return run(xp, leaves)
        return run(xp, leaves)

    def ready(self, xp: Any, leaves: Sequence[Array]) -> Run:
        """The run for these arrays."""
        if not self.checked and not in_blocks(xp):  # tasks check their own
            self.check(xp, leaves)
        settled = self._settled
        if settled is not None and xp is np and self._goes_on(settled):
            return settled.run
        engine = engine_of(xp)
        if not engine.serves or chosen.get() != AUTO or profile.active():
            return self.on(engine)
        return self._served(engine)

    def is_compiled(self, xp: Any) -> bool:
        """Whether the next call runs compiled code of the CPU."""
        engine = engine_of(xp)
        return engine.serves and (chosen.get() != AUTO or self._settled is not None)

    def _served(self, engine: Engine) -> Run:
        """Array code for the first calls, then compiled code: which call is the first to run it does not depend on time."""
        if (engine, every_call(), False) in self._runs:
            return self._compiled(engine)
        mode, (call, compiling) = background.mode(), self.cost
        self._calls += 1
        spent, served = self._calls * call, background.is_served()
        limit = compiling * (WITHIN if served else 1)
        if mode == background.NEVER or (served and spent < limit):
            return self.reference
        if spent >= limit or (mode == background.BACKGROUND and self._calls > LAST):
            return self._compiled(engine)
        if self._job is not None and not self._job.lost:
            self._job.cost = spent
        elif mode == background.BACKGROUND and self._calls >= CALLS:
            self._job = background.submit(lambda: self._prepared(engine, spent), spent)
        return self.reference

    def _compiled(self, engine: Engine) -> Run:
        """Compiled code from now on."""
        job = self._job
        if job is not None and not job.lost:
            try:
                self._runs.setdefault(*job.result())
            finally:
                self._job = None
            buffers.release()  # what array code used
        run = self.on(engine)
        at_once = getattr(run.alone, "made_of", None) if getattr(run.alone, "may_repeat", False) else None
        numbers = [k for k, wire in enumerate(self.wiring.outputs) if not self.wiring.wires[wire].shape]
        self._settled = _Settled(every_call(), run, at_once, numbers)
        return run

    def _prepared(self, engine: Engine, cost: float) -> tuple[_Key, Run]:
        """The run on an engine. A large program has quick code first, and full code after others that have cost more."""
        large = self.cost.compiling > AT_ONCE
        if not large:
            chosen.set(engine.name)  # in the context of the job: code is compiled in full where the engine is named
        key, run = (engine, every_call(), False), self._made(engine)
        run.compile(not large)
        if large:
            background.submit(run.compile, cost)
        return key, run

    def check(self, xp: Any, leaves: Sequence[Array]) -> None:
        """Checks primitives on the values of the first call: neutral elements, associativity.

        Only what they are given is computed for it.
        """
        checks = [box.primitive.checks(self.wiring.spaces(box.ins)) for box in self.boxes]
        needed: set[int] = set()
        runs = [False] * len(self.boxes)
        for i in reversed(range(len(self.boxes))):
            box = self.boxes[i]
            runs[i] = not needed.isdisjoint(box.outs)
            if runs[i] or checks[i]:
                needed.update(box.ins)
        if any(checks):
            asked = [one for one in zip(self.boxes, checks, runs, strict=True) if any(one[1:])]
            self._run([self._checking(*one) for one in asked], ())(xp, leaves)
        self.checked = True

    def _checking(self, box: Box, checks: bool, runs: bool) -> Step:
        """A box that checks what it is given, and runs where somebody needs what it makes."""
        kernel = box.primitive.kernel(self.wiring.spaces(box.ins)) if runs else None

        def run(xp: Any, *arrays: Array) -> Any:
            if checks:
                box.primitive.check(xp, *arrays)
            return () if kernel is None else kernel(xp, *arrays)

        return run, box.ins, box.outs if runs else ()


_Key = tuple[Engine, bool, bool]
"""The engine, whether each call looks for races, and whether it is timed."""


class _Settled(NamedTuple):
    """What "auto" runs from now on, made while each call looks for races, or none does.

    `at_once` gives the results where the run is one compiled function, and `numbers` are the places of those without axes.
    """

    looks: bool
    run: Run
    at_once: Callable[[Sequence[Array]], list[Array] | None] | None
    numbers: list[int]


class Cost(NamedTuple):
    """About the seconds of a call of the array code of a program, and of compiling it."""

    call: float
    compiling: float


CALLS = 2  # of a program, from which on it is worth compiling in the background
LAST = 10  # calls that array code serves at most, where a thread compiles
AT_ONCE = 0.1  # seconds of compiling, as estimated, up to which a thread makes no quick code
WITHIN = 4  # times what compiling costs, before a program within one that array code serves is compiled for itself
DEEP = 8  # levels of programs within programs that are counted
BOX, NUMBER = 5e-6, 1e-9  # seconds that array code takes for a box, and for an operation on a number
COMPILED, EACH = 1e-2, 1.5e-3  # seconds that compiling takes, and those for each box (all four on a machine of two cores)


def _cost(program: Program, deep: int) -> Cost:
    """An estimate: array code runs the boxes of an inner program each time, a compiler reads them once."""
    call, compiling = 0.0, 0.0
    for box in program.boxes:
        compiling += EACH
        call += BOX * (operations(box.primitive.function) if isinstance(box.primitive, Map) else 1)
        if isinstance(box.primitive, Nesting) and deep:
            for times, term, dom in box.primitive.programs():
                inner = _cost(program_of(term, dom)[0], deep - 1)
                call, compiling = call + times * inner.call, compiling + inner.compiling
    return Cost(call, compiling)


def program_of(term: D, dom: Space) -> tuple[Program, Space]:
    """The program of a term at a space, kept with the term."""

    def made() -> tuple[Program, Space]:
        with watched("laying out a program"):
            wiring = wire(term, dom)
            return Program(wiring), wiring.cod

    return cached(term, ("program", dom), made)


def cost_of(term: D, dom: Space) -> int:
    """The scalar operations of a term at a space, dimensionless; kept with the term."""
    return cached(term, ("cost", dom), lambda: cost_of_wiring(wire(term, dom)))


def run(term: D, x: Value) -> Value:
    """The value of a term at a point."""
    key: Any = None
    if type(x) is np.ndarray:
        leaves, key = [x], (x.shape, x.dtype)
    elif type(x) is tuple:
        leaves = list(x)
        key = tuple([(a.shape, a.dtype) if type(a) is np.ndarray else None for a in leaves])
        if None in key:
            key = None
    found: TripCountChanged | None = None
    if key is not None:  # plain arrays: the way to their program is short
        entry = cache_of(term).for_call(key)
        if entry is not None:
            program, cod = entry.value
            try:
                out = run_assuming(entry.loops, program, leaves)
            except TripCountChanged as error:
                found = error
            else:
                return out[0] if len(out) == 1 and isinstance(cod, Tensor) else rebuild(cod, out)
    return _run(term, x, key, found)


def run_assuming(loops: Loops, program: Program, leaves: Sequence[Array]) -> list[Array]:
    """The results of a program on arrays of NumPy, with the numbers of steps for which it was laid out."""
    if not loops:
        return program(np, leaves)
    with assuming(dict(loops)):
        return program(np, leaves)


def _run(term: D, x: Value, key: Any, found: TripCountChanged | None) -> Value:
    """The value of a term at a point; where `key` is given, its program is found again by that."""
    leaves, dom = point_of(term, x)
    xp = common_module(leaves)
    if key is not None and any(a is not b for a, b in zip(leaves, flatten(x), strict=True)):
        key = None  # arrays are converted first

    def call() -> tuple[list[Array], Space]:
        with at_point(dom, lambda: (xp, leaves)):
            program, cod = program_of(term, dom) if key is None else cached(term, key, lambda: program_of(term, dom))
        return program(xp, leaves), cod

    out, cod = with_trip_counts(call, found)
    return out[0] if isinstance(cod, Tensor) else rebuild(cod, out)


@remembered
def _program_of_structure(structure: Structure) -> tuple[Program, tuple[bool, ...]]:
    wiring, made = applying(structure)
    return Program(wiring), made


def run_structure(structure: Structure, xp: Any, slots: Sequence[Array], leaves: Sequence[Array]) -> list[Array]:
    """Apply a structure with the given slots to the leaves of an argument."""
    program, made = _program_of_structure(structure)
    return with_zeros(program(xp, [*slots, *leaves]), made, structure.cod, xp)


def with_zeros(found: Sequence[Array], made: Sequence[bool], spaces: Sequence[Tensor], xp: Any) -> list[Array]:
    """The results in some spaces, with zeros for those that were not made since they are zero by structure."""
    out = iter(found)
    return [next(out) if there else _zeros(xp, space) for there, space in zip(made, spaces, strict=True)]


def _zeros(xp: Any, space: Tensor) -> Any:
    made = xp.zeros(space.shape, dtype=space.dtype)
    return made if space.shape or xp is not np else made[()]


@remembered
def _program_of_product(product: MapProduct, first: Structure, second: Structure) -> Program:
    b = Builder()
    ls, rs = [b.wire(s) for s in first.slots], [b.wire(s) for s in second.slots]
    outs = product.combine(b, ls, rs)
    dom = Product((*first.slots, *second.slots))
    return Program(b.finish(dom, (*ls, *rs), tuple(outs)))


def run_product(product: MapProduct, first: Any, second: Any) -> list[Array]:
    """The slots of the product of two linear maps."""
    program = _program_of_product(product, first.structure, second.structure)
    return program.inside(common_module([*first.slots, *second.slots]), [*first.slots, *second.slots])

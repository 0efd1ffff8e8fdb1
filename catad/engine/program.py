"""Programs: wirings made ready to run on arrays, and the places where they are kept.

A program has a run for each engine that it met (`run.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from catad.arrays import Array, apart, common_module
from catad.boxes import Nesting, Primitive
from catad.engine.backend import Engine, Step
from catad.engine.choice import engine_of
from catad.engine.counting import counting, not_counting
from catad.engine.cpu.engine import OFTEN, WHOLE
from catad.engine.fuse import fuse
from catad.engine.in_force import AUTO, chosen, every_call
from catad.engine.reference import REFERENCE
from catad.engine.run import Run
from catad.linear.apply import applying
from catad.linear.products import MapProduct, cost_of_wiring
from catad.linear.structure import Structure
from catad.points import point_of
from catad.recent import remembered
from catad.scalar import operations
from catad.spaces import Product, Space, Tensor, Value, flatten, rebuild
from catad.term_cache import cache_of, cached
from catad.terms import D
from catad.trip_counts import Loops, TripCountChanged, assuming, with_trip_counts
from catad.vector.by_hand import erased
from catad.vector.map import Map
from catad.wiring import Box, Builder, Wiring, at_point, wire


class Program:
    """A wiring ready to run. `program(xp, leaves)` gives the leaves of the result, which callers may keep and write into.

    `program.inside(xp, leaves)` is for a kernel of another program: its results may be views of arguments and constants.
    A program of many boxes counts as small up to `small` numbers in its largest array: its first call compiles nothing, and when
    it runs often it is compiled as one function.
    """

    __slots__ = ("_runs", "_settled", "_weight", "boxes", "checked", "largest", "ran", "small", "wiring")

    def __init__(self, wiring: Wiring, small: int = 0) -> None:
        wiring = fuse(erased(wiring), horizontal=True)
        self.wiring = wiring
        self.boxes = tuple([box for box in wiring.boxes if box.ins])
        self.checked, self.small = False, small
        self.ran, self._weight = 0, -1
        self._settled: tuple[bool, Run] | None = None  # what "auto" runs from now on, and whether each call looks for races
        self._runs: dict[tuple[Engine, bool], Run] = {}  # by engine, and whether each call looks for races
        own = [box for box in self.boxes if not isinstance(box.primitive, Nesting)]  # programs inside choose by themselves
        sizes = [wiring.wires[k].size for box in own for k in (*box.ins, *box.outs)]
        inner = [box.primitive for box in self.boxes if isinstance(box.primitive, Nesting)]
        if not own:  # loops alone: what a step reads
            sizes = [leaf.size for primitive in inner for _, _, dom in primitive.programs() for leaf in dom.leaves]
        self.largest = max(sizes, default=0)  # numbers

    def on(self, engine: Engine) -> Run:
        """The run of the program on an engine, made once."""
        key = engine, every_call()
        found = self._runs.get(key)
        if found is None:
            found = self._runs[key] = self._run(engine.steps(self.wiring), self.wiring.outputs)
        return found

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
    def weight(self) -> int:
        """About the operations on arrays that a call runs, those of programs within it each time that they run."""
        if self._weight < 0:
            self._weight = _weight(self, DEEP)
        return self._weight

    def __call__(self, xp: Any, leaves: Sequence[Array]) -> list[Array]:
        return apart(self.inside(xp, leaves), leaves)

    def inside(self, xp: Any, leaves: Sequence[Array]) -> list[Array]:
        """The same, without copies where views will do."""
        tally = counting()
        if tally is not None:
            tally.add(self.operations)
            with not_counting():
                return self.inside(xp, leaves)
        return self.ready(xp, leaves)(xp, leaves)

    def engine(self, xp: Any, first: bool = False) -> Engine:
        """The engine that runs the program on arrays of a library now; `first` says that it has not run yet."""
        largest = 0 if (first or self.ran >= OFTEN) and self.largest <= self.small else self.largest
        return engine_of(xp, largest, self.weight, self.ran)

    def ready(self, xp: Any, leaves: Sequence[Array]) -> Run:
        """The run for these arrays."""
        if not self.checked:
            self._check(xp, leaves)
        settled = self._settled
        if settled is not None and xp is np and chosen.get() == AUTO and settled[0] == every_call():
            return settled[1]
        first, self.ran = not self.ran, self.ran + self.weight
        engine = self.engine(xp, first)
        found = self.on(engine)
        if engine is WHOLE and self.ran >= OFTEN and chosen.get() == AUTO:  # it is asked first, and says yes for ever
            self._settled = every_call(), found
        return found

    def _check(self, xp: Any, leaves: Sequence[Array]) -> None:
        """Checks primitives on the values of the first call: neutral elements, associativity.

        Only what they are given is computed for it.
        """
        checks = [type(box.primitive).check is not Primitive.check for box in self.boxes]
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


DEEP = 8  # levels of programs within programs that are counted
BOX = 5  # operations of NumPy that running a box takes as long as, itself


def _weight(program: Program, deep: int) -> int:
    total = 0
    for box in program.boxes:
        total += BOX + (operations(box.primitive.function) if isinstance(box.primitive, Map) else 0)
        if isinstance(box.primitive, Nesting) and deep:
            total += sum([times * _weight(program_of(term, dom)[0], deep - 1) for times, term, dom in box.primitive.programs()])
    return total


def program_of(term: D, dom: Space) -> tuple[Program, Space]:
    """The program of a term at a space, kept with the term."""

    def made() -> tuple[Program, Space]:
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

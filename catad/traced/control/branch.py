"""`if` on data: both sides are recorded as programs, and `ct.choose` runs one of them.

A side sees the names and arrays as they were before the branch. What the sides leave in a name, or write into an array, and what
differs, comes out of the choice. What cannot be merged is `Undecided`, and explored where it is used.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from catad import errors
from catad.category.cartesian import exl, exr
from catad.category.spaces import Product
from catad.errors.places import Place, called
from catad.traced.arrays.naming import named
from catad.traced.arrays.stand_in import Buffer, computed, fresh, is_condition, var_of
from catad.traced.control.decisions import decide, decided
from catad.traced.control.join_branches import Build, CannotMerge, Pairs, is_numeric, zeros_like
from catad.traced.recorder import Region, Trace, Var
from catad.traced.rewriting.unbound_locals import UNBOUND, Undecided
from catad.values.trees import tree_map
from catad.vector.loops.choose import choose
from catad.vector.pointwise.operators import astype
from catad.vector.shapes.shape import reshape

if TYPE_CHECKING:
    from catad.traced.trace import Driver


SIDES = ("if_true", "if_false")  # the names of their programs


class Bound(NamedTuple):
    """The names that a branch binds: all, those that are read behind it, and those that are read only where they were bound, as a
    flag says. On the other side these hold zeros."""

    names: tuple[str, ...]
    kept: tuple[str, ...]
    filled: tuple[str, ...]


class Branch:
    """An `if` statement. `taken` says which side runs now, `again` that names are put back, `merged` that names have values."""

    def __init__(self, driver: Driver, test: Any, bound: Bound, site: Any) -> None:
        self.trace, self.site = driver.trace, site
        self.names, self.kept, self.filled = bound
        self.test, self.place = test, called()
        self.again = self.merged = False
        self.sides: list[Region] = []
        self.left: list[dict[str, Any]] = []
        self.done = False
        explored = is_condition(test) and (site in self.trace.findings.explored or decided(self.trace, test.var_) is not None)
        self.follows_data = is_condition(test) and not explored
        self.taken = True if self.follows_data else bool(test)

    def side(self) -> bool:
        """Whether another side is to run."""
        if not self.follows_data:
            self.done, done = True, self.done
            return not done
        if len(self.left) == 2:
            self.merge()
            return False
        if not self.left:
            self.start = names_of(sys._getframe(1), self.names)
        else:
            self.taken, self.again = False, True
        side = Region(self.trace, self.trace.region, SIDES[len(self.left)])
        side.branch = self.site
        check_depth(side)
        self.sides.append(side)
        self.trace.region = side
        return True

    def leave(self) -> None:
        """The side has run."""
        if self.follows_data:
            self.left.append(names_of(sys._getframe(1), self.names))
            parent = self.sides[-1].parent
            assert parent is not None
            self.trace.region = parent

    def before(self, name: str) -> Any:
        """What a name held before the branch."""
        return self.start[name]

    def after(self, name: str) -> Any:
        """What a name holds after the branch."""
        return self.values[name]

    def merge(self) -> None:
        """Lay the choice out."""
        first, second = self.left
        sides = Sides(self.trace, self.test, self.sides[0], self.sides[1], self.site, self.place)
        built: dict[str, Build] = {}
        for name in self.kept:
            a, b = first[name], second[name]
            if name in self.filled and (a is UNBOUND) != (b is UNBOUND):
                a, b = _filled(sides, a, b)
            try:
                built[name] = sides.pairs.add(a, b)
            except CannotMerge:
                built[name] = lambda outs: Undecided(self.trace, self.site)
        outs = sides.recorded()
        self.values = {name: named(name, build(outs)) for name, build in built.items()}
        sides.pairs.link()
        self.merged = True


def check_depth(region: Region) -> None:
    """An error for a branch in too many others: a function that calls itself until data say otherwise."""
    if sum([at.branch is not None for at in region.outward]) > _DEEP + 1:
        raise errors.TraceError(errors.too_many_branches([f"{region.branch[0]}:{region.branch[1]}"]))


_DEEP = 24


class Sides:
    """Two recorded sides, with what both write into arrays."""

    def __init__(self, trace: Trace, test: Any, first: Region, second: Region, site: Any, place: Place | None) -> None:
        self.trace, self.test, self.first, self.second, self.place = trace, test, first, second, place
        self.pairs = Pairs(trace, first, second, site)
        self.written: list[tuple[Buffer, int]] = []

    def recorded(self) -> list[Var]:
        """The variables of the merged values. Arrays that a side has written into hold theirs."""
        for buffer in dict.fromkeys((*self.first.holds, *self.second.holds)):
            self.written.append((buffer, len(self.pairs.pairs)))
            self.pairs.vars(buffer.read(self.first), buffer.read(self.second))
        trace, pairs = self.trace, self.pairs.pairs
        if not pairs:
            return []
        outs = chosen(trace.region, var_of(trace, self.test), (self.first, self.second), pairs, self.place)
        for buffer, k in self.written:
            buffer.write(trace.region, outs[k])
        return list(outs)


def chosen(region: Region, test: Var, sides: tuple[Region, Region], pairs: Sequence[tuple[Var, Var]], place: Any) -> Any:
    """A choice between two regions, each closed over what both read: for each pair the variable of the side that runs."""
    given = list(dict.fromkeys([var for side in sides for var in side.outer.values()]))
    dom = Product(tuple([var.space for var in given]))
    programs = [
        side.close(tuple([pair[k] for pair in pairs]), [side.own(var) for var in given], dom) for k, side in enumerate(sides)
    ]
    term = choose(exl, exr >> programs[0], exr >> programs[1])
    return computed(region, term, (condition(region, test), tuple(given)), place)


def choose_values(driver: Driver, test: Any, first: Callable[[], Any], second: Callable[[], Any]) -> Any:
    """`first() if test else second()` for a condition on data."""
    trace = driver.trace
    frame = sys._getframe(2)
    site = (frame.f_code.co_filename, frame.f_lineno, frame.f_lasti)
    if site in trace.findings.explored or decided(trace, test.var_) is not None:
        return first() if decide(trace, test.var_) else second()
    regions, values = [], []
    for side, title in zip((first, second), SIDES, strict=True):
        region = Region(trace, trace.region, title)
        region.branch = site
        regions.append(region)
        try:
            with trace.inside(region):
                values.append(side())
        except errors.TraceError:
            raise
        except Exception:  # Python raises it where this side is taken
            return first() if decide(trace, test.var_) else second()
    sides = Sides(trace, test, regions[0], regions[1], site, called())
    sides.pairs.as_conditions = True
    try:
        build = sides.pairs.add(*values)
    except CannotMerge:
        return first() if decide(trace, test.var_) else second()
    made = build(sides.recorded())
    sides.pairs.link()
    return made


def condition(region: Region, var: Var) -> Var:
    """A condition as a truth value without axes."""
    if var.space.dtype != np.dtype(bool):
        var = computed(region, astype(np.dtype(bool)), var)
    return computed(region, reshape(()), var) if var.space.shape else var


def names_of(frame: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """What names hold in a frame."""
    found = frame.f_locals
    return {name: found.get(name, UNBOUND) for name in names}


def _filled(sides: Sides, a: Any, b: Any) -> tuple[Any, Any]:
    """A result that one side has: the other one holds zeros that nobody reads."""
    trace, value = sides.trace, a if b is UNBOUND else b
    has, lacks = (sides.first, sides.second) if b is UNBOUND else (sides.second, sides.first)

    def zeros(leaf: Any) -> Any:
        if not is_numeric(leaf):
            return leaf
        with trace.inside(has):
            space = var_of(trace, leaf).space
        with trace.inside(lacks):
            return fresh(trace, zeros_like(lacks, space))

    made = tree_map(zeros, value)
    return (a, made) if b is UNBOUND else (made, b)

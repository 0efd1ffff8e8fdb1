"""The recorder of a trace: variables, and the regions in which lines are written.

A region is a program in the making. The whole function is one region; each side of a branch and each body of a loop is another
one, inside it. A region that reads a variable of an outer one gets an input for it, so that a finished region is a closed
program (closure conversion). Lines with equal terms and arguments are one line. The boxes of a region are laid out in a
`Builder` while it is recorded: so every operation is checked, and every space is known, at the line of the user's program.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from operator import attrgetter
from typing import Any, NamedTuple
from weakref import WeakSet

import numpy as np

from catad import errors
from catad.category.constant import const
from catad.category.spaces import Product, Space, Tensor, flatten, mapped
from catad.category.terms import D
from catad.category.wiring import Builder, Wire
from catad.errors import notices
from catad.errors.places import Place, called, shown
from catad.traced.programs.program import Calls, Line, Notes, Program, in_normal_form
from catad.vector.shapes.shape import broadcast_to


class Var:
    """A value of a program: one array that a line or an input gives.

    `weak` is the type of a Python number, which takes its dtype from what it meets; `constant` the number or array of a
    value that does not depend on the arguments; `place` says of which other variable it is a row.
    """

    __slots__ = ("constant", "place", "region", "weak", "wire")

    def __init__(self, region: Region, wire: Wire, weak: type | None = None, constant: Any = None) -> None:
        self.region, self.wire, self.weak, self.constant = region, wire, weak, constant
        self.place: Place | None = None

    @property
    def name(self) -> str | None:
        """The name in the user's program; the first one stays."""
        return self.region.names.get(self.wire.number)

    @name.setter
    def name(self, name: str | None) -> None:
        if name is not None and name.strip("_"):  # texts say `_` for what is not used
            self.region.names.setdefault(self.wire.number, name)

    @property
    def space(self) -> Tensor:
        return self.wire.space


class Row(NamedTuple):
    """What a variable is of another one: its row `k`; `weak` is the type of Python number that it is."""

    of: Var
    k: int
    weak: type | None


class Region:
    """A program in the making; see the module."""

    def __init__(self, trace: Trace, parent: Region | None, title: str = "program") -> None:
        self.trace, self.parent, self.title = trace, parent, title
        self.builder = Builder()
        self.inputs: list[Var] = []
        self.lifted: dict[Var, Var] = {}  # what stands here for variables of outer regions
        self.lines: list[tuple[D, Any, Any, Place | None, Calls]] = []
        self.depth = len(trace.calls)
        self.names: dict[int, str] = {}  # by the number of a wire
        self.made: dict[Any, Any] = {}
        self.holds: dict[Any, Var] = {}  # what arrays of outer regions hold here, where they were written into
        self.written: set[Any] = set()  # arrays that were written into here
        self.writer: dict[int, Sequence[Var]] = {}  # by the number of a wire: the arguments of the line that gives it
        self.rows: dict[int, Row] = {}  # by the number of a wire: of what it is a row
        self.known: dict[int, Any] = {}  # by the number of a wire: the loop whose unrolling makes it a known number
        self.widened: dict[int, Any] = {}  # by the number of a wire: a narrower dtype that it may have (`arrays/promotion.py`)
        self.outer: dict[int, Var] = {}  # by the number of an input: the variable that it stands for
        self.forms: dict[int, Any] = {}  # by the number of a wire: the normal form of a whole number (`arrays/affine.py`)
        self.bounds: dict[int, Any] = {}  # by the number of a wire: between what the number lies
        self.things: dict[int, Any] = {}  # lists and objects that were made here, by their identity
        self.dropped = False  # it has been recorded again
        self.loop: Any = None  # of the body of a loop: its driver
        self.branch: Any = None  # of a side of a branch: where that stands

    @property
    def is_dropped(self) -> bool:
        """True where this region, or one around it, has been recorded again."""
        return any(at.dropped for at in self.outward)

    @property
    def outward(self) -> Iterator[Region]:
        """This region and those in which it lies, of the same trace."""
        at: Region | None = self
        while at is not None:
            yield at
            at = at.parent

    def input(self, space: Tensor, weak: type | None = None, name: str | None = None) -> Var:
        """A new argument of the region."""
        var = Var(self, self.builder.wire(space), weak)
        var.name, var.place = name, called()
        self.inputs.append(var)
        return var

    @property
    def around(self) -> Region | None:
        """The region in which this one lies; of a whole function that another one calls the region of the call."""
        if self.parent is not None:
            return self.parent
        return None if self.trace.outer is None else self.trace.outer.region

    def own(self, var: Var) -> Var:
        """What stands in this region for a variable of this or an outer region."""
        if var.region is self:
            return var
        found = self.lifted.get(var)
        if found is not None:
            return found
        if var.constant is not None:
            made = self.constant(var.constant, var.weak)
        else:
            around = self.around
            if around is None:
                raise errors.TraceError(errors.used_elsewhere(var))
            outer = around.own(var)
            if self.parent is None:
                return self.trace.read_outside(outer)
            known = self.lifted.get(outer)
            made = self.input(outer.space, outer.weak, outer.name) if known is None else known
            self.lifted[outer] = made
            self.outer[made.wire.number] = outer
        self.lifted[var] = made
        return made

    def constant(self, value: Any, weak: type | None = None) -> Var:
        """A variable for a number or an array that depends on no argument."""
        name = self.trace.captured.get(id(value))
        value = in_one_form(value)
        made = self.record(_uniform(value) if isinstance(value, Uniform) else const(value[()]), (), None)
        made.name = name
        return made if made.weak is weak and made.constant is not None else Var(self, made.wire, weak, value)

    def record(self, term: D, args: Any, place: Place | None = None) -> Any:
        """The variables of the result of a term; the arguments, nested as its domain, may lie in outer regions."""
        if type(args) is Var:
            own = args if args.region is self else self.own(args)
            wires, numbers = own.wire, own.wire.number
        else:
            own = mapped(args, self.own)
            wires = mapped(own, _wire)
            numbers = mapped(wires, _number_of)
        key = (term, numbers)
        found = self.made.get(key)
        if found is None:
            where = called() if place is None else place
            made = self.builder.apply(term, wires)
            leaves = (own,) if type(own) is Var else flatten(own)
            found = mapped(made, lambda wire: self._written(wire, where, leaves))
            self.lines.append((term, own, found, where, self.trace.calls[self.depth :]))
            self.trace.recorded += 1
            self.made[key] = found
        return found

    def _written(self, wire: Wire, place: Place | None, args: Sequence[Var]) -> Var:
        """A variable that a line gives."""
        var = Var(self, wire)
        var.place = place
        self.writer.setdefault(wire.number, args)
        return var

    def close(self, results: Any, order: list[Var] | None = None, dom: Space | None = None, notes: Any = None) -> Program:
        """The finished program. `order` are the inputs in the order of its domain, `dom` is the domain, nested as it shall be."""
        results = mapped(results, self.own)
        inputs = self.inputs if order is None else order
        number = {id(var): k for k, var in enumerate(inputs)}
        variables = list(inputs)
        by_wire: dict[int, int] = {var.wire.number: k for k, var in enumerate(inputs)}

        def numbered(var: Var) -> int:
            known = number.get(id(var), by_wire.get(var.wire.number))
            assert known is not None, "a variable without a line"
            return known

        lines = []
        for term, args, outs, *_ in self.lines:
            numbers = mapped(args, numbered)
            for var in flatten(outs):
                number[id(var)] = len(variables)
                by_wire.setdefault(var.wire.number, len(variables))
                variables.append(var)
            lines.append(Line(term, numbers, mapped(outs, lambda var: number[id(var)])))
        result = mapped(results, numbered)
        kept, result, renumbered, positions = in_normal_form(lines, len(inputs), result)
        self._tell_unread(positions)
        names = {
            renumbered[k]: self.names[number] for number, k in by_wire.items() if number in self.names and k in renumbered
        }
        places, calls = tuple([self.lines[k][3] for k in positions]), tuple([self.lines[k][4] for k in positions])
        space = Product(tuple([var.space for var in inputs])) if dom is None else dom
        said = Notes(title=self.title) if notes is None else notes
        return Program(space, kept, result, said._replace(names=names, places=places, calls=calls))


    def _tell_unread(self, read: Collection[int]) -> None:
        """A notice for each term that says something where nobody reads its result, as a launch of a kernel does."""
        used = [self.lines[k][:2] for k in read]
        for k, (term, args, _, place, _) in enumerate(self.lines):
            say = getattr(term, "when_unread", None)
            if say is not None and k not in read and (term, args) not in used:
                said = say(shown(place))
                notices.notice(said, said)


class Uniform:
    """An array of one repeated number: kept as the number and the shape until somebody writes into it."""

    __slots__ = ("number", "shape")

    def __init__(self, number: np.generic, shape: tuple[int, ...]) -> None:
        self.number, self.shape = number, shape

    def array(self) -> Any:
        return np.full(self.shape, self.number)


def array_of(constant: Any) -> Any:
    """The array of a constant."""
    return constant.array() if isinstance(constant, Uniform) else constant


def in_one_form(value: Any) -> Any:
    """A constant in the one form that it has in programs: many entries that are all the same are `Uniform`, others an array."""
    if isinstance(value, Uniform):
        return value if math.prod(value.shape) > _FEW else value.array()
    if value.size <= _FEW:
        return value
    bits = np.ascontiguousarray(value).reshape(-1).view(f"u{value.itemsize}")
    return Uniform(value[(0,) * value.ndim], value.shape) if bits[0] == bits[-1] and (bits == bits[0]).all() else value


_FEW = 16  # entries of an array that is written out


def _uniform(value: Uniform) -> D:
    return const(value.number) >> broadcast_to(value.shape)


_wire, _number_of = attrgetter("wire"), attrgetter("number")


TRACES: WeakSet[Trace] = WeakSet()  # those that somebody refers to still


class Trace:
    """One run of a function on stand-ins: its regions, and what earlier attempts have found out about its control flow."""

    def __init__(self, findings: Findings, unroll: int, outer: Trace | None) -> None:
        self.findings, self.unroll, self.outer = findings, unroll, outer
        TRACES.add(self)
        self.short: list[tuple[Any, int]] = []  # the short loops that run in Python here, and their steps
        self.calls: Calls = ()  # of the user's functions that run now
        self.call_count = self.recorded = 0  # the second counts lines
        self.root = Region(self, None)
        self.region = self.root
        self.decisions: list[Any] = []
        self.asked = 0  # times that answers were asked for which had been given
        self.iterators: dict[int, tuple[Any, Region]] = {}  # by their identity, with the region in which they were made
        self.suspects: dict[int, tuple[Any, Any]] = {}  # containers that may be others, and what to do when one is changed
        self.captured: dict[int, str] = {}  # by the identity of an array outside of the function: its name there
        self.followed: set[Any] = set()  # the functions that are run
        self.inner: set[Any] = set()  # what functions read that are called as morphisms inside
        self.open = True
        self.reads_outside = False  # stand-ins of traces around it
        self.has_widened = False  # variables whose dtype depends on data
        self.outside: dict[Var, Var] = {}  # the inputs that stand for variables of the trace around
        self.wanted: list[Var] = []  # these variables, as found by this attempt and earlier ones

    def is_inside(self, other: Trace) -> bool:
        """Whether it is the trace of a function inside the one of another trace, from which it reads."""
        chain: list[Trace] = []
        at: Trace | None = self
        while at is not None and at is not other:
            chain.append(at)
            at = at.outer
        if at is None:
            return False
        for trace in chain:
            trace.reads_outside = True
        return True

    def read_outside(self, var: Var) -> Var:
        """The input that stands for a variable of the trace around."""
        found = self.outside.get(var)
        if found is None:
            self.wanted.append(var)
            found = self.outside[var] = self.root.input(var.space, var.weak, var.name)
        return found

    @contextmanager
    def inside(self, region: Region) -> Iterator[Region]:
        """Records into a region."""
        before, self.region = self.region, region
        try:
            yield region
        finally:
            self.region = before

    @contextmanager
    def calling(self, name: str) -> Iterator[None]:
        """What is recorded comes from a call of a function of the user."""
        before, self.call_count = self.calls, self.call_count + 1
        self.calls = (*before, (name, self.call_count))
        try:
            yield
        finally:
            self.calls = before


class Findings:
    """What attempts at a trace have found out: loops that must be unrolled, short loops within each other that are many steps
    together, branches that must be explored, and which answers the paths through the explored branches give."""

    def __init__(self) -> None:
        self.unrolled: set[Any] = set()
        self.rolled: set[Any] = set()
        self.explored: set[Any] = set()
        self.answers: list[bool] = []
        self.paths = 0  # that have been run


class Restart(BaseException):
    """The trace has to be made again: its findings have changed. No Python code of the user can catch it by `Exception`."""


_current: ContextVar[Trace | None] = ContextVar("catad_trace", default=None)


def current_trace() -> Trace | None:
    """The trace that runs here; None where none runs."""
    return _current.get()


def the_trace() -> Trace:
    """The trace that runs here; an error where none runs."""
    found = _current.get()
    if found is None:
        raise errors.TraceError(errors.no_trace_runs())
    return found


@contextmanager
def tracing(findings: Findings, unroll: int) -> Iterator[Trace]:
    """Runs a trace."""
    trace = Trace(findings, unroll, _current.get())
    token = _current.set(trace)
    try:
        yield trace
    finally:
        trace.open = False
        _current.reset(token)

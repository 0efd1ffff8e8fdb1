"""A kernel that has been read, as boxes: threads are axes.

A load is a view or a gather, a store makes the next version of its array, everything between is `Map`. A site whose index is
affine in the coordinates of the threads is a view in both directions. The number that a store or an atomic writes is
`select(path, v, 0)` in the `Map` that computes v: so neither NaN nor infinity of a thread whose path does not hold reaches
anybody, forward or reverse. No rule for derivatives is here: the boxes have theirs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from catad import errors, scalar
from catad.category.constant import Constant
from catad.linear.families.contract import contract
from catad.linear.families.gather import Gathered, ScatterAdded, rows_of
from catad.linear.families.reindex import axis, moved, reshaped, whole
from catad.scalar import Function, Node, Type, apply, const, param
from catad.scalar.simplify import FALSE, TRUE, replace
from catad.simt.affine import Box, Form, Forms, both, boxed, conjuncts, injective
from catad.simt.arrays import Array, Atomic, Barrier, Bounded, Declare, Load, Repeat, Site, Step, Store, has_barriers
from catad.simt.barriers import reached
from catad.simt.phases import Phase
from catad.simt.python_numbers import adapted
from catad.simt.stores import store
from catad.simt.thread_axes import Lanes, places
from catad.simt.versions import Versions
from catad.simt.views import unwindow, viewable, window
from catad.vector.bins.fold_by_bin import FoldByBin
from catad.vector.bins.prefixes_by_bin import PrefixByBin
from catad.vector.folds.monoid import Monoid, monoid_of
from catad.vector.folds.reduce import extremum
from catad.vector.indexing.gather import Ended, InRange
from catad.vector.indexing.static_indices import gathered
from catad.vector.pointwise.generate import Iota
from catad.vector.pointwise.map import mapped

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire


class Found(NamedTuple):
    """What became of a site: the kind of statement, how it runs, how its reverse runs, and whether that needs no atomics.

    `place` are the index and the conditions of its path, where data decide the index and no loop repeats it; `sizes` are those of
    the axes of the forms.
    """

    site: Site
    kind: str
    forward: str
    reverse: str
    free: bool
    reason: str
    forms: tuple[Form, ...] | None = None
    place: tuple[tuple[Node, ...], frozenset[Node]] | None = None
    sizes: tuple[int, ...] = ()


Loops = Callable[["Lowering", Repeat], None]  # what adds the boxes of a loop (`loops.py`, which lowers bodies in turn)


class Lowering:
    """Adds the boxes of statements to a builder; `wires` are the values of its parameters, the coordinates first."""

    def __init__(self, b: Builder, lanes: Lanes, repeated: Loops, found: list[Found] | None = None) -> None:
        self.b, self.lanes, self.sizes, self.repeated = b, lanes, lanes.sizes, repeated
        self.forms = Forms(self.sizes)
        self.counters: dict[int, int] = {}  # parameters that count trips, with the most trips
        self.weak = set(range(len(self.sizes)))  # parameters that hold Python's numbers
        self.wires: list[Wire] = []
        self.wires += [coordinate(b, self.sizes, k) for k in range(len(self.sizes))]
        self.map: dict[Node, Node] = dict(lanes.coordinates)
        self.versions = Versions(b)
        self.found, self.phase = found, Phase(self)
        self.views: dict[int, tuple[Wire, Sequence[Form]]] = {}  # wires that are arrays read at affine indices

    # -- expressions

    def bind(self, k: int, wire: Wire) -> int:
        """Give a parameter of the kernel the value on a wire; the number of the wire here."""
        at = self.argument(wire)
        self.map[param(k)] = param(at)
        return at

    def argument(self, wire: Wire) -> int:
        """The number that a wire has here."""
        at = next((j for j, one in enumerate(self.wires) if one.number == wire.number), len(self.wires))
        if at == len(self.wires):  # what is read twice is one argument, so that its partials are one, too
            self.wires.append(wire)
        return at

    def normal(self, node: Node) -> Node:
        """An expression of the kernel over the wires, with what is the same for all threads decided."""
        return self.forms.decided(replace([node], self.map)[0])

    def computed(self, *nodes: Node) -> list[Wire]:
        """The wires of some expressions over the wires."""
        return self._mapped(nodes, lambda j: self.wires[j])

    def in_box(self, box: Box, nodes: Sequence[Node], more: Sequence[Wire] = ()) -> list[Wire]:
        """The same for the threads of a box, with what is the same for all of them decided; `more` are further arguments."""
        if box.sizes == self.sizes:
            return self._mapped(nodes, lambda j: [*self.wires, *more][j], more)
        places = {param(k): apply("add", param(k), a) if n > 1 else const(a) for k, (a, n) in enumerate(zip(*box, strict=True))}
        forms = Forms(box.sizes)
        nodes = [forms.decided(node) for node in replace(nodes, places)]

        def wire(j: int) -> Wire:
            if j >= len(self.wires):
                return more[j - len(self.wires)]
            if j in self.views:
                x, found = self.views[j]
                found = [box.form(form) for form in found]
                if viewable(found, x.shape, box.sizes):
                    return window(self.b, x, found, box.sizes)
            return coordinate(self.b, box.sizes, j) if j < len(self.sizes) else self.cut(self.wires[j], box)

        return self._mapped(nodes, wire, more)

    def _mapped(self, nodes: Sequence[Node], wire: Callable[[int], Wire], more: Sequence[Wire] = ()) -> list[Wire]:
        dtypes = self.dtypes(more)
        nodes = [adapted(node, dtypes, self.weak)[0] for node in nodes]
        used = sorted({j for node in nodes for j in scalar.parameters([node])[0]})
        if not used:
            return [self.constant(node) for node in nodes]
        small = replace(nodes, {param(j): param(i) for i, j in enumerate(used)})
        plain = [k for k, node in enumerate(small) if scalar.parameters([node])[0]]
        made = iter(mapped(self.b, [small[k] for k in plain], [wire(j) for j in used]))
        return [next(made) if k in plain else self.constant(small[k]) for k in range(len(nodes))]

    def constant(self, node: Node) -> Wire:
        """An expression without parameters."""
        value = node.value if node.op == "const" else scalar.array_function(Function.make(0, [node]))(np)[0]
        return self.b.add(Constant(np.asarray(value)))[0]

    def dtype(self, node: Node) -> np.dtype[Any]:
        """The dtype of an expression over the wires."""
        dtypes = self.dtypes()
        return scalar.dtypes_alone([adapted(node, dtypes, self.weak)[0]], dtypes)[0]

    def type(self, node: Node) -> Type:
        """The type that an expression has in Python."""
        return adapted(node, self.dtypes(), self.weak)[1]

    def dtypes(self, more: Sequence[Wire] = ()) -> list[np.dtype[Any]]:
        """The dtypes of the parameters."""
        return [wire.dtype for wire in (*self.wires, *more)] or [np.dtype(np.float64)]

    def full(self, wire: Wire) -> Wire:
        """A wire that has a number for each thread."""
        return self.spread(wire, self.sizes)

    def spread(self, wire: Wire, shape: Sequence[int]) -> Wire:
        """A wire of size 1 along some axes, repeated along them."""
        if wire.shape == tuple(shape):
            return wire
        padded = (1,) * (len(shape) - wire.ndim) + wire.shape
        kept = tuple([k for k, n in enumerate(padded) if n == shape[k]])
        wire = reshaped(self.b, wire, [shape[k] for k in kept])
        return contract(self.b, [kept], [wire], tuple(range(len(shape))), list(shape))

    def varying(self, node: Node) -> bool:
        """Whether threads of one block may differ in an expression over the wires."""
        same = self.lanes.of_block
        for j in scalar.parameters([node])[0]:
            if j < len(self.sizes):
                if j not in same:
                    return True
            elif self.wires[j].ndim and any(n > 1 and k not in same for k, n in enumerate(self.wires[j].shape)):
                return True
        return False

    # -- statements

    def run(self, steps: Sequence[Step]) -> None:
        """Add the boxes of statements, in their order."""
        for step in steps:
            match step:
                case Declare(array=array):
                    self.versions[array] = self.poisoned(self.lanes.whole(array), array.dtype)
                case Load(site=site, out=out):
                    self.load(site, out)
                case Store(site=site, value=value):
                    store(self, site, value)
                case Atomic():
                    self.atomic(step)
                case Barrier():
                    reached(self, step)
                case Bounded(count=count, path=path):
                    trips = apply("select", self.normal(path), scalar.cast(np.int64, self.normal(count)), const(0))
                    self.bind(step.out, self.b.add(Ended(step.most, step.where), self.computed(trips)[0])[0])
                case Repeat():
                    if has_barriers(step.body):
                        self.phase.end()
                    self.repeated(self, step)

    def poisoned(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Wire:
        """An array that nobody has written: NaN, and 0 for integers."""
        value = np.asarray(np.nan if dtype.kind == "f" else 0, dtype=dtype)
        return self.spread(self.b.add(Constant(value))[0], shape)

    def note(
        self, site: Site, kind: str, forward: str, reverse: str, free: bool, reason: str, forms: Sequence[Form] | None = None
    ) -> None:
        """Say what became of a site."""
        if self.found is None:
            return
        place = None
        if forms is None and not self.counters and not self.lanes.trips:
            index, path = tuple([self.normal(node) for node in site.index]), self.normal(site.path)
            place = index, frozenset(conjuncts(path))
        made = None if forms is None else tuple(forms)
        self.found.append(Found(site, kind, forward, reverse, free, reason, made, place, self.sizes))

    # -- where a site is

    def place(self, site: Site) -> tuple[list[Node], Node]:
        """The indices of a site in its array, those of its block or thread first, and its path."""
        index = [self.normal(node) for node in site.index]
        for node in index:
            dtype = self.dtype(node)
            if dtype.kind not in "iu":
                raise errors.ScalarError(errors.float_index(site.array.name, dtype, site.where))
        own = [param(k) for k in self.lanes.prefix(site.array)]
        return [*own, *index], self.normal(site.path)

    def view_of(self, site: Site, index: Sequence[Node], path: Node) -> list[Form] | None:
        """The forms of the indices, where all are affine and surely in range on the path; None otherwise.

        Raises IndexRangeError where a thread is out of range, whatever the data.
        """
        forms = [self.forms.form(node) for node in index]
        shape = self.lanes.whole(site.array)
        if None in forms or not viewable([f for f in forms if f is not None], shape, self.sizes):
            return None
        made = [form for form in forms if form is not None]
        if all(low >= 0 and high < n for (low, high), n in zip([f.bounds(self.sizes) for f in made], shape, strict=True)):
            return made
        known, unknown = self.conditions(path)
        bad = self.out_of_range(made, shape, known)
        if bad is None:
            return made
        if not unknown:
            numbers = [self.value(form, bad) for form in made[len(self.lanes.prefix(site.array)) :]]
            thread = self.lanes.named(bad)
            message = errors.index_of_thread(site.array.name, numbers, site.array.shape, thread, site.where)
            raise errors.IndexRangeError(message)
        return None

    @staticmethod
    def value(form: Form, at: Sequence[int]) -> int:
        return form.c + sum([s * at[v] for v, s in form.terms])

    def conditions(self, path: Node) -> tuple[list[Node], list[Node]]:
        """The parts of a path that the coordinates decide, and the others."""
        known, unknown = list[Node](), list[Node]()
        for part in conjuncts(path):
            alone = all(j < len(self.sizes) for j in scalar.parameters([part])[0])
            (known if alone else unknown).append(part)
        return known, unknown

    def out_of_range(self, forms: Sequence[Form], shape: Sequence[int], known: Sequence[Node]) -> tuple[int, ...] | None:
        """The coordinates of the first thread on a path that is out of range."""
        used = {v for form in forms for v, _ in form.terms}.union(*[scalar.parameters([part])[0] for part in known])
        sizes = [n if k in used else min(n, 1) for k, n in enumerate(self.sizes)]
        axes = places(sizes)
        outside = np.zeros((1,) * len(self.sizes), dtype=bool)
        for form, n in zip(forms, shape, strict=True):
            at = form.c + sum([s * axes[v] for v, s in form.terms], np.zeros((1,) * len(self.sizes), dtype=np.int64))
            outside = outside | (at < 0) | (at >= n)
        for part in known:
            (holds,) = scalar.array_function(Function.make(len(axes), [part]))(np, *axes)
            outside = outside & holds
        outside = np.broadcast_to(outside, sizes)
        first = int(np.argmax(outside)) if outside.any() else -1
        return None if first < 0 else tuple([int(k) for k in np.unravel_index(first, sizes)]) if sizes else ()

    def flat(self, index: Sequence[Node], shape: Sequence[int], path: Node) -> Node:
        """The position in the flattened array, -1 where the path does not hold or an index is out of range.

        An index alone stays as it is: what reads and writes there leaves out those that are out of range.
        """
        index = [node if self.dtype(node) == np.int64 else scalar.cast(np.int64, node) for node in index]
        if len(index) == 1 and path is TRUE:
            return index[0]
        flat: Node = const(0)
        inside = [path]
        for node, n in zip(index, shape, strict=True):
            inside += [apply("ge", node, 0), apply("lt", node, n)]
            flat = apply("add", apply("mul", flat, n), node)
        return self.forms.decided(apply("select", both(inside), flat, const(-1)))

    def checked(self, site: Site, index: Sequence[Node], path: Node) -> list[Node]:
        """The indices, with a box for each that raises at run time where it is out of range on the path."""
        shape = self.lanes.whole(site.array)
        made = []
        for node, n in zip(index, shape, strict=True):
            form = self.forms.form(node)
            low, high = form.bounds(self.sizes) if form is not None else (-1, n)
            if low >= 0 and high < n:
                made.append(node)
                continue
            (own,) = self.computed(apply("select", path, scalar.cast(np.int64, node), const(0)))
            (safe,) = self.b.add(InRange(n), own)
            self.wires.append(safe)
            made.append(param(len(self.wires) - 1))
        return made

    # -- loads

    def load(self, site: Site, out: int) -> None:
        """What stands in the cells of a site."""
        index, path = self.place(site)
        if path is FALSE:
            self.bind(out, self.b.add(Constant(np.zeros((), dtype=self.versions.space(site.array)[1])))[0])
            return
        self.phase.note("read", site, index, path)
        forms = self.view_of(site, index, path)
        if forms is not None:
            self.note_view(site, forms, path)
            x, inside = self.part(site.array, forms, path)
            self.views[self.bind(out, window(self.b, x, inside, self.sizes))] = x, inside
            return
        self.note_gather(site, index, path)
        x = self.versions[site.array]
        index = self.checked(site, index, path)
        (at,) = self.computed(self.flat(index, x.shape, path))
        line = reshaped(self.b, x, (math.prod(x.shape),))
        self.bind(out, gathered(self.b, rows_of(line.shape, at.shape), at, line))

    def part(self, array: Array, forms: Sequence[Form], path: Node) -> tuple[Wire, Sequence[Form]]:
        """What has all cells at affine indices that threads on a path come to, and the indices in it."""
        box, _ = boxed(self.forms, path, self.sizes)
        shape, _ = self.versions.space(array)
        ends = [box.form(form).bounds(box.sizes) for form in forms]
        starts = [min(max(low, 0), n) for (low, _), n in zip(ends, shape, strict=True)]
        stops = [max(min(high + 1, n), a) for (_, high), n, a in zip(ends, shape, starts, strict=True)]
        part = self.versions.part(array, starts, stops)
        shifted = [form.plus(Form(-a)) for form, a in zip(forms, part.starts, strict=True)]
        return (part.wire, shifted) if viewable(shifted, part.wire.shape, self.sizes) else (self.versions[array], forms)

    def alone(self, forms: Sequence[Form], path: Node) -> bool:
        """Whether no two threads on a path come to one cell, in whatever trips."""
        box, _ = boxed(self.forms, path, self.sizes)
        sizes = {**Forms(self.sizes, self.counters).sizes, **dict(enumerate(box.sizes))}
        return injective([box.form(form) for form in forms], sizes, self.lanes.of_threads)

    def note_view(self, site: Site, forms: Sequence[Form], path: Node) -> None:
        alone, said = self.alone(forms, path), ", ".join(map(self.lanes.said, forms))
        if alone:
            self.note(site, "read", self.kind_of(forms), "view", True, f"index {said}, one thread a cell", forms)
        elif not any(form.terms for form in forms):
            self.note(site, "read", "broadcast", "fold", False, "")
        else:
            self.note(site, "read", self.kind_of(forms), "fold", False, f"index {said}, several threads a cell")

    def kind_of(self, forms: Sequence[Form]) -> str:
        """A view whose last index is shifted is called so."""
        shifted = any(form.terms and form.c for form in forms)
        return "shifted view" if shifted else "view"

    def note_gather(self, site: Site, index: Sequence[Node], path: Node) -> None:
        """A read by an index array; of indices that count trips it is known all the same whether threads meet."""
        counted = Forms(self.sizes, self.counters)
        forms = [counted.form(node) for node in index]
        known = [form for form in forms if form is not None]
        free = len(known) == len(forms) and self.alone(known, path)
        self.note(site, "read", "gather", "by bin", free, "one thread a cell" if free else "")

    # -- what is written

    def written(self, path: Node, value: Node, dtype: np.dtype[Any]) -> Node:
        """The number that a site writes, 0 where its path does not hold; one expression, so that no partial is multiplied."""
        made = apply("select", path, value, const(0.0) if dtype.kind == "f" else const(0))
        if dtype.kind == "b":
            return apply("select", path, scalar.truth(value), FALSE)
        return made if self.dtype(made) == dtype else scalar.cast(dtype, made)

    def cut(self, wire: Wire, box: Box) -> Wire:
        """The numbers of the threads of a box."""
        if not wire.ndim:
            return wire
        ends = zip(wire.shape, *box, strict=True)
        return moved(self.b, wire, [axis(n, size, a, 1, 0, 1, size) if n > 1 else whole(n) for n, a, size in ends])

    def put(self, v: Wire, forms: Sequence[Form], shape: Sequence[int], sizes: Sequence[int]) -> Wire:
        """The numbers of threads at their cells."""
        v = self.spread(v, sizes)
        kept = tuple([k for k in range(len(sizes)) if any(k == u for form in forms for u, _ in form.terms)])
        v = contract(self.b, [tuple(range(len(sizes)))], [v], kept, list(sizes)) if len(kept) < len(sizes) else v
        renamed = [Form(form.c, tuple([(kept.index(u), s) for u, s in form.terms])) for form in forms]
        return unwindow(self.b, v, renamed, shape, [sizes[k] for k in kept])

    @staticmethod
    def covers(forms: Sequence[Form], shape: Sequence[int], sizes: Sequence[int]) -> bool:
        """Whether the cells are all cells of the array; they differ."""
        inside = all(low >= 0 and high < n for (low, high), n in zip([f.bounds(sizes) for f in forms], shape, strict=True))
        return inside and math.prod(sizes) == math.prod(shape)

    def in_order(self, wire: Wire) -> Wire:
        """The numbers of all threads on one axis, in their linear order."""
        return self.lanes.in_order(self.b, self.full(wire))

    # -- atomics

    def atomic(self, step: Atomic) -> None:
        """The next version of an array, with numbers added, or the smallest or largest ones; and the number before."""
        site = step.site
        index, path = self.place(site)
        if path is FALSE:
            if step.out is not None:
                self.bind(step.out, self.b.add(Constant(np.zeros((), dtype=site.array.dtype)))[0])
            return
        self.phase.note("atomic", site, index, path)
        old = self.versions[site.array]
        v = self.written(path, self.normal(step.value), old.dtype)
        forms = self.view_of(site, index, path)
        needed = step.out is not None and step.out in self.lanes.asked
        if step.op == "add" and forms is not None and not needed:
            alone = injective(forms, self.sizes, range(len(self.sizes)))
            self.note(site, "atomic add", "view" if alone else "fold", "view", True, "")
            box, _ = boxed(self.forms, path, self.sizes)
            total = self.put(self.in_box(box, [v])[0], [box.form(form) for form in forms], old.shape, box.sizes)
            self.versions[site.array] = mapped(self.b, [added_to(param(0), param(1), old.dtype)], [old, total])[0]
            return
        self.note(site, f"atomic {step.op}", "by bin", "gather", True, "")
        size = math.prod(old.shape)
        at, added = self.computed(self.flat(index, old.shape, path), v)
        at, added = self.in_order(at), self.in_order(added)
        line = reshaped(self.b, old, (size,))
        if needed:
            assert step.out is not None
            self.bind(step.out, self.before(step.op, line, at, added))
        if step.op == "add":
            (total,) = self.b.add(ScatterAdded(rows_of((size,), at.shape)), at, added)
        else:
            (total,) = self.b.add(FoldByBin(self.monoid(step.op, old.dtype), size), at, added)
        node = added_to(param(0), param(1), old.dtype) if step.op == "add" else _OPERATORS[step.op](param(0), param(1))
        made = mapped(self.b, [node], [line, total])[0]
        self.versions[site.array] = reshaped(self.b, made, old.shape)

    def before(self, op: str, line: Wire, at: Wire, added: Wire) -> Wire:
        """The number that each thread finds in its cell."""
        (there,) = self.b.add(Gathered(rows_of(line.shape, at.shape)), at, line)
        found, earlier, *_ = self.b.add(PrefixByBin(self.monoid(op, line.dtype), line.shape[0]), at, added)
        node = apply("select", scalar.truth(param(0)), _OPERATORS[op](param(2), param(1)), param(2))
        (made,) = mapped(self.b, [node], [found, earlier, there])
        return self.lanes.out_of_order(self.b, made)

    @staticmethod
    def monoid(op: str, dtype: np.dtype[Any]) -> Monoid:
        """The operator of an atomic with its neutral element."""
        if op == "add":
            return monoid_of(lambda a, b: a + b, 0.0 if dtype.kind == "f" else 0)
        return extremum("maximum" if op == "max" else "minimum", dtype)


def added_to(old: Node, total: Node, dtype: np.dtype[Any]) -> Node:
    """old + total, where a total of 0 leaves the sign of a zero: nobody may have added to the cell."""
    made = apply("add", old, total)
    if dtype.kind != "f":
        return made
    return apply("select", apply("eq", total, 0), apply("neg", apply("sub", apply("neg", old), total)), made)


def coordinate(b: Builder, sizes: Sequence[int], k: int) -> Wire:
    """The places of the threads along an axis, with size 1 along all others."""
    (own,) = b.add(Iota(sizes[k]))
    return reshaped(b, own, [n if j == k else 1 for j, n in enumerate(sizes)])


_OPERATORS = {
    "add": lambda a, b: apply("add", a, b),
    "max": lambda a, b: apply("maximum", a, b),
    "min": lambda a, b: apply("minimum", a, b),
}

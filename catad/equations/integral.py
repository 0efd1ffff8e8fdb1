"""`Quadrature`: the integral over intervals that are given, and `Integrated`, its derivative by Leibniz's rule.

    I(a, b, p) = integral of f(x, p) over [a, b]        dI = f(b, p) db - f(a, p) da + integral of (df/dp dp) over [a, b]

The last integral takes the intervals of the first: where they are cut is not differentiated. It is a `Quadrature` again, in
forward mode of D[f] and in reverse mode of R[f], so every order has the same form, and nothing of a point is kept. By a and b
the derivative is exact, also where f has a kink or a jump inside, which the derivative of moved points would miss.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from catad.category.boxes import box, of_fields
from catad.category.cartesian import Proj, compose
from catad.category.constant import const
from catad.category.spaces import Product, Space, Tensor, flatten, rebuild, some_tangents
from catad.category.terms import D, Fork
from catad.derivative.functors import Differential, ReverseDifferential
from catad.equations.kronrod import edges_of, sampled, summed
from catad.front.vmap import Vmapped
from catad.linear.dead_results import Flags, at_flags
from catad.linear.families.contract import zeros
from catad.linear.families.gather import spread_beside
from catad.linear.families.matrix_free import MatrixFree, carried
from catad.linear.structure import Rule, cast
from catad.traced.function import function
from catad.values.trees import Tree
from catad.vector.derivative_carriers import PassedOn
from catad.vector.loops.batching import BatchedMap
from catad.vector.loops.checkpoint import Checkpoint
from catad.vector.pointwise.logic import where
from catad.vector.pointwise.map import map as ct_map
from catad.vector.shapes.shape import sum as sum_of
from catad.vector.stop_gradient import StoppedAt

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire, Wires

Points = tuple[float, ...]
_EACH = Tree("axis", 0)
CUTS = 4  # leaves: the piece, the left end and the width of each interval, and how many there are
_FINITE = ct_map(lambda x: np.isfinite(x))


def at_points(f: D) -> D:
    """A morphism of a pair (x, args) at many x: the arguments are the same for all."""
    return Vmapped(f, Tree(tuple, (0, 1), (_EACH, Tree("axis", None))), _EACH)


@of_fields
class Quadrature(D):
    """`((a, b), args, cuts)` to the integral of f, a morphism of (x, args), over the intervals of the cuts.

    `points` are where the domain is cut into pieces.
    """

    f: D
    points: Points

    def lay_out(self, b: Builder, x: Wires) -> Any:
        space = b.space(x)
        stopped = b.apply(StoppedAt((True,) * len(space.leaves)), x)
        made = yield _over_intervals(self.f, self.points, _codomain(self.f, space)), stopped
        return derived(b, self.f, self.points, x, stopped[2], made)


def _codomain(f: D, dom: Space) -> Space:
    """The space of the values of f, of the domain of the quadrature."""
    (ends, args, _) = dom.factors  # type: ignore[attr-defined]
    return f.spaces(Product((ends.factors[0], args)))


def _over_intervals(f: D, points: Points, cod: Space) -> D:
    values = at_points(f)

    def integral(ends: Any, args: Any, cuts: Any) -> Any:
        piece, left, width, count = cuts
        edges = edges_of(ends, points, left.dtype)
        total = [np.zeros(leaf.shape, leaf.dtype) for leaf in cod.leaves]
        for k in range(count):
            one = [row[k].reshape(1) for row in (piece, left, width)]
            parts = [summed(leaf)[0] for leaf in sampled(values, edges, one, args)]
            total = [a + part for a, part in zip(total, parts, strict=True)]
        return rebuild(cod, [signed(ends, leaf) for leaf in total])

    made: D = function(integral)
    return made


def signed(ends: Any, value: Any) -> Any:
    """The integral from a to b, of that from the lesser to the greater one."""
    return np.where(ends[0] <= ends[1], value, -value)


def derived(b: Builder, f: D, points: Points, point: Any, cuts: Any, value: Any) -> Any:
    """The value, which somebody has computed on intervals, with its derivative by the point ((a, b), args)."""
    ends, args = point[:2]
    dom = b.space((ends, args, cuts))
    made = b.add(Integrated(f, dom, points), *flatten((ends, args, cuts)), *flatten(value))
    return rebuild(b.space(value), made)


@box
class Integrated(PassedOn):
    """(leaves of ((a, b), args, cuts), leaves of the integral) to the latter.

    `lanes` are the sizes of axes in front of all leaves.
    """

    f: D
    dom: Space
    points: Points
    lanes: tuple[int, ...] = ()

    @property
    def xs(self) -> int:  # type: ignore[override]
        return len(self.dom.leaves)

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return ins[self.xs :]

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        return self.rule_within(ins, outs, (True,) * sum(space.is_float for space in ins), (True,) * len(outs))

    def rule_within(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...], by: Flags, of: Flags) -> Rule | None:
        floats = [k for k, space in enumerate(ins) if space.is_float]
        given = [k for k, flag in zip(floats, by, strict=True) if flag and k < self.xs - CUTS]
        if not given or not any(of):
            return None
        cod = _codomain(self.f, self.dom)
        leaves = tuple(given), at_flags(cod, of) or tuple(range(len(cod.leaves)))
        pushed, pulled = [kind(self.f, self.dom, self.points, *leaves) for kind in (Pushed, Pulled)]
        tangents, cotangents, dom = some_tangents(self.dom, leaves[0]), some_tangents(cod, leaves[1]), self.dom
        forward: D = Checkpoint(pushed)  # its loop over the intervals runs as a program of its own, also in a batch
        backward: D = Checkpoint(pulled)
        for size in reversed(self.lanes):
            forward, backward = BatchedMap(forward), BatchedMap(backward)
            tangents, cotangents, dom = [_wide(space, size) for space in (tangents, cotangents, dom)]
        structure = MatrixFree(forward, backward, tangents, cotangents, dom)
        return Rule(structure, lambda wires, _: wires[: self.xs], tuple([k in given for k in floats]), of)

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        wider = Integrated(self.f, self.dom, self.points, (size, *self.lanes))
        return b.add(wider, *spread_beside(b, ins, flags, size))


def _wide(space: Space, size: int) -> Space:
    made: Space = rebuild(space, [carried(leaf, size) for leaf in space.leaves], Product)
    return made


@of_fields
class _OfPoint(D):
    """Base of the two directions of Leibniz's rule: by some leaves of the point ((a, b), args, cuts), of some of the integral."""

    f: D
    dom: Space
    points: Points
    by: tuple[int, ...]
    of: tuple[int, ...]

    @property
    def by_args(self) -> tuple[int, ...]:
        """The leaves of (x, args) that are of args."""
        return tuple([k - 1 for k in self.by if k > 1])

    def inner(self, functor: type[Differential | ReverseDifferential]) -> D:
        """The derivative of f as a morphism of (x, (args, v))."""
        point = Fork((Proj(0), compose(Proj(1), Proj(0))))
        return compose(Fork((point, compose(Proj(1), Proj(1)))), functor(self.f, self.by_args, self.of))

    def at_end(self, b: Builder, point: Any, k: int) -> tuple[Wire, list[Wire]]:
        """Whether an end is finite, and the values of f there; at some other number, where it is not."""
        end = point[0][k]
        finite = b.apply(_FINITE, end)
        found = flatten(b.apply(self.f, (b.apply(where, (finite, end, zeros(b, end.space))), point[1])))
        return finite, [found[i] if k else -found[i] for i in self.of]


class Pushed(_OfPoint):
    """`(point, v)` to the tangent of the integral."""

    def lay_out(self, b: Builder, x: Wires) -> Any:
        point, v = x
        moved = dict(zip(self.by, v, strict=True))
        cod = _codomain(self.f, self.dom).leaves
        total: list[Wire] = []
        if self.by_args:
            ends, args, cuts = point
            along = tuple([moved[k] for k in self.by if k > 1])
            made = yield Quadrature(self.inner(Differential), self.points), (ends, (args, along), cuts)
            total = flatten(made)
        for k in (0, 1):
            if k in moved:
                finite, values = self.at_end(b, point, k)
                scaled = [cast(leaf * moved[k], cod[i].dtype) for i, leaf in zip(self.of, values, strict=True)]
                parts = [_only_if(b, finite, leaf) for leaf in scaled]
                total = parts if not total else [a + part for a, part in zip(total, parts, strict=True)]
        return tuple(total)


class Pulled(_OfPoint):
    """`(point, w)` to the cotangents of the leaves."""

    def lay_out(self, b: Builder, x: Wires) -> Any:
        point, w = x
        ends, args, cuts = point
        found: dict[int, Wire] = {}
        if self.by_args:
            made = yield Quadrature(self.inner(ReverseDifferential), self.points), (ends, (args, w), cuts)
            found = dict(zip([k for k in self.by if k > 1], flatten(made), strict=True))
        for k in (0, 1):
            if k in self.by:
                finite, values = self.at_end(b, point, k)
                parts = [b.apply(sum_of(), leaf * one) for leaf, one in zip(values, w, strict=True)]
                total = parts[0]
                for part in parts[1:]:
                    total = total + part
                found[k] = _only_if(b, finite, cast(total, self.dom.leaves[k].dtype))
        return tuple([found[k] for k in self.by])


def _only_if(b: Builder, finite: Wire, leaf: Wire) -> Wire:
    """A leaf where an end is finite, and 0 where it is not: it does not move."""
    made: Wire = b.apply(where, (finite, leaf, b.apply(const(np.zeros(leaf.shape, leaf.dtype)), ())))
    return made



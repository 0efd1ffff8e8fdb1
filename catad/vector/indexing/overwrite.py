"""Boxes that write into a copy of an array: over a region, or at indices, over what stands there or added to it.

    y = x with y[region] = v        dy = (dx, zero in the region) + (dv, moved into the region)

So the Jacobian is a row of a projection (`Clear`, `ClearAt`) and a move (`Reindex`, `ScatterAdd`); it keeps no number but the
index array.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from catad.category.boxes import Primitive, box
from catad.category.spaces import Tensor
from catad.linear.families.block import assemble, row
from catad.linear.families.clear import Clear, ClearAt, Region, run, written_at
from catad.linear.families.delta import identity
from catad.linear.families.gather import Indexing, ScatterAdd, positions, spread_beside
from catad.linear.families.gather import add_up as sums_at
from catad.linear.families.reindex import Axis, Reindex, places, whole
from catad.linear.structure import Rule

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire


def region_of(axes: tuple[Axis, ...]) -> Region:
    """The positions to which entries are moved."""
    return tuple([run(ax.n_out, ax.c, ax.t, ax.m) for ax in axes])


@box
class Overwritten(Primitive):
    """(x, v) to x with all entries of v moved into it, along each axis from one arithmetic progression to another."""

    axes: tuple[Axis, ...]
    arity = 2

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        assert ins[0].shape == tuple(ax.n_out for ax in self.axes) and ins[0].dtype == ins[1].dtype
        assert ins[1].shape == tuple(ax.n_in for ax in self.axes) == tuple(ax.m for ax in self.axes)
        return ins[:1]

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        x, values = arrays
        out = x.copy()
        out[tuple(places(ax.c, ax.t, ax.m) for ax in self.axes)] = values[tuple(places(ax.a, ax.s, ax.m) for ax in self.axes)]
        return out

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        return Rule(row([Clear(region_of(self.axes), outs[0].dtype), Reindex(self.axes, outs[0].dtype)]))

    def carried(self, size: int) -> Overwritten:
        return Overwritten((whole(size), *self.axes))


@box
class Added(Primitive):
    """(x, v) to x with all entries of v added in it, along each axis from one arithmetic progression to another.

    What nothing is added to stays as it is, a negative zero too.
    """

    axes: tuple[Axis, ...]
    arity = 2

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        assert ins[0].shape == tuple(ax.n_out for ax in self.axes) and ins[0].dtype == ins[1].dtype
        assert ins[1].shape == tuple(ax.n_in for ax in self.axes)
        return ins[:1]

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        x, values = arrays
        out = x.copy()
        out[tuple(places(ax.c, ax.t, ax.m) for ax in self.axes)] += values[tuple(places(ax.a, ax.s, ax.m) for ax in self.axes)]
        return out

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        return Rule(row([identity(outs[0]), Reindex(self.axes, outs[0].dtype)]))

    def carried(self, size: int) -> Added:
        return Added((whole(size), *self.axes))


class _At(Primitive):
    """(index, x, v) to an array of the space of x; the labels `dst` are those of v."""

    how: Indexing
    arity = 3

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        index, x, values = ins
        assert index.shape == self.how.shape(self.how.by) and x.shape == self.how.shape(self.how.src)
        assert values.shape == self.how.shape(self.how.dst) and values.dtype == x.dtype
        return (x,)

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        carried = spread_beside(b, ins[1:], flags[1:], size)
        return b.add(type(self)(self.how.carried(flags[0], size)), ins[0], *carried)


@box
class OverwrittenAt(_At):
    """x with v written at indices that differ; indices out of range are left out."""

    how: Indexing

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        return written_at(xp, self.how, *arrays)

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        index, x, _ = ins
        keeps = ClearAt(self.how, index.dtype, x.dtype)
        writes = ScatterAdd(self.how, None, index.dtype, x.dtype, x.dtype, None)
        return Rule(assemble([[(keeps, (0,)), (writes, (0,))]], ins[1:], outs, keeps.slots), lambda wires, _: wires[:1])


_FEW = 4  # times as many places as values, from which on single places are added to


def _added_up(x: Any, flat: Any, values: Any) -> Any:
    """A copy of x with doubles added at single places, one after the other; those at the place behind the last are left out."""
    out = x.copy()
    inside = flat < x.size
    np.add.at(out.reshape(-1), flat[inside], values[inside])
    return out


@box
class AddedAt(_At):
    """x with v added at indices, all of those that are equal; indices out of range are left out.

    What nothing is added to stays as it is, a negative zero too.
    """

    how: Indexing

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        index, x, values = arrays
        if index.ndim == 0:
            at = xp.minimum(xp.maximum(index, 0), self.how.bins - 1).astype(np.int64)
            old = xp.take(x, at, axis=self.how.axis)
            laid = xp.transpose(old, [self.how.rest.index(label) for label in self.how.dst])
            return written_at(xp, self.how, index, x, laid + values)
        flat = positions(xp, self.how, index, values.shape).reshape(-1)
        size = x.size
        if xp is np and values.dtype == np.float64 and values.size * _FEW < size:
            return _added_up(x, flat, values.reshape(-1))
        sums = sums_at(xp, flat, values.reshape(-1), size).reshape(x.shape)
        touched = xp.zeros(size + 1, dtype=bool)
        touched[flat] = True
        return xp.where(touched[:size].reshape(x.shape), x + sums, x)

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        index, x, _ = ins
        adds = ScatterAdd(self.how, None, index.dtype, x.dtype, x.dtype, None)
        return Rule(assemble([[(identity(x), ()), (adds, (0,))]], ins[1:], outs, adds.slots), lambda wires, _: wires[:1])

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return ins[2].size


@box
class LastOnly(Primitive):
    """Indices below `size`, of which each that stands again later, in C order of the last `axes` axes, becomes -1."""

    axes: int
    size: int
    arity = 1

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return ins

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        (index,) = arrays
        rows = int(np.prod(index.shape[: index.ndim - self.axes], dtype=np.int64))
        if not index.size:
            return index
        flat = index.reshape(rows, -1)
        out = xp.full(flat.shape, -1, dtype=index.dtype)
        for i in range(rows):
            last = self._last(xp, flat[i])
            out[i, last] = flat[i][last]
        return out.reshape(index.shape)

    def _last(self, xp: Any, index: Any) -> Any:
        """The positions of indices that do not stand again; NumPy writes in order, other libraries in any."""
        if xp is np:
            count = np.arange(len(index))
            writer = np.empty(self.size, dtype=np.int64)
            writer[index] = count
            return np.flatnonzero(writer[index] == count)
        order = xp.argsort(index, kind="stable")
        ordered = index[order]
        return order[xp.concatenate([ordered[1:] != ordered[:-1], xp.ones(1, dtype=bool)])]

    def carried(self, size: int) -> LastOnly:
        return self

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return ins[0].size

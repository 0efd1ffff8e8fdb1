"""What the threads of a launch touch between two barriers, where a store at indices from data is among it.

No other thread may touch a cell that one of them stores into. The last writers of the store say who that is, and every other
access of the array is compared with them, unless it is at the same index on the same path. Accesses in loops, other than those
that are written out, and those of other blocks behind a barrier, are not among it: the first call compares them (`races.py`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from catad.category.boxes import Primitive, box
from catad.category.spaces import Tensor
from catad.linear.families.gather import spread_over
from catad.scalar import Node
from catad.scalar.simplify import FALSE
from catad.simt.affine import conjuncts
from catad.simt.arrays import Array, Site
from catad.simt.one_writer import Stored
from catad.support.current_engine import every_call
from catad.vector.loops.loop import After

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire
    from catad.simt.lower import Lowering


class Touch(NamedTuple):
    """An access of all threads: its index and path, and for a store at indices from data the last writer of each cell."""

    kind: str
    site: Site
    cell: Sequence[Node]
    path: Node
    writer: Wire | None

    def is_of(self, store: Touch) -> bool:
        """Whether threads touch only cells that they store into themselves."""
        return list(self.cell) == list(store.cell) and {*conjuncts(store.path)} <= {*conjuncts(self.path)}


class Phase:
    """The accesses since the last barrier."""

    def __init__(self, low: Lowering) -> None:
        self.low, self.touched = low, dict[Array, list[Touch]]()

    def note(self, kind: str, site: Site, index: Sequence[Node], path: Node, writer: Wire | None = None) -> None:
        """An access: "read", "store" or "atomic"."""
        if site.array.place in ("global", "shared") and path is not FALSE:
            self.touched.setdefault(site.array, []).append(Touch(kind, site, index, path, writer))

    def end(self) -> None:
        """Add the boxes that compare the accesses; what is behind them waits for these."""
        for array, found in self.touched.items():
            stores = [(k, one) for k, one in enumerate(found) if one.writer is not None]
            for k, store in stores:
                for j, other in enumerate(found):
                    if j != k and (j > k or other.writer is None) and not other.is_of(store):
                        self._compare(array, store, other)
        self.touched = {}

    def _compare(self, array: Array, store: Touch, other: Touch) -> None:
        low, shape = self.low, self.low.versions.space(array)[0]
        (at,) = low.computed(low.flat(other.cell, shape, other.path))
        about = Stored(low.lanes, array.name, shape, len(array.shape), other.site.where, other.kind, store.site.where)
        assert store.writer is not None
        (ran,) = low.b.add(Apart(about), low.in_order(at), store.writer)
        (low.versions[array],) = low.b.add(After(), ran, low.versions[array])


@box
class Apart(Primitive):
    """Cells that threads touch, and the last writer of each cell, to 0; raises where they are of different threads."""

    about: Stored
    arity = 2

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (Tensor(ins[0].shape[:-1], np.int64),)

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        at, writer = arrays
        out = xp.zeros(at.shape[:-1], dtype=np.int64)
        if every_call():
            size = writer.shape[-1]
            inside = (at >= 0) & (at < size)
            for own, holds, last in zip(*[a.reshape(math.prod(out.shape), -1) for a in (at, inside, writer)], strict=True):
                other = last[xp.where(holds, own, 0)] if size else own
                (bad,) = xp.nonzero(holds & (other >= 0) & (other != xp.arange(len(own))))
                if len(bad):
                    raise self.about.error(int(own[bad[0]]), int(bad[0]), int(other[bad[0]]))
        return out if out.ndim or xp is not np else out[()]

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        return b.add(self, *[wire if flag else spread_over(b, wire, size) for wire, flag in zip(ins, flags, strict=True)])

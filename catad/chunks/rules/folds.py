"""Folds: those of blocks, folded in a tree."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from catad.category.spaces import Tensor
from catad.chunks.plan import Plan
from catad.chunks.rules.table import rule
from catad.chunks.wires import Chunked
from catad.vector.folds.fold import Fold
from catad.vector.folds.monoid import Monoid

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire


def fold_first(monoid: Monoid, b: Builder, wires: Sequence[Wire]) -> Sequence[Wire]:
    """The folds along axis 0."""
    return b.add(Fold(monoid, 0), *wires)


@rule(Fold, cut="along its axis: folds of blocks; along others: local", exchanged="folds of blocks, in a tree")
def _fold(plan: Plan, primitive: Fold, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    labels = tuple(range(ins[0].ndim))
    rest = (*labels[: primitive.axis], *labels[primitive.axis + 1 :])
    found, axes = plan.labelled(
        "fold", [(x, labels) for x in ins], [(space, rest) for space in outs], lambda b, wires, sizes: b.add(primitive, *wires)
    )
    return plan.combined("fold of folds", found, partial(fold_first, primitive.monoid), axes)

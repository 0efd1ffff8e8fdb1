"""Boxes that have no kernel of their own on a GPU: which of them need none, and the notice of all others."""

from __future__ import annotations

from catad import errors
from catad.boxes import Nesting, Primitive
from catad.engine.notices import notice
from catad.linear.clear import Cleared
from catad.linear.contract import Contract
from catad.linear.dot_within import DotWithin
from catad.linear.reindex import Reshaped, StridedCopy
from catad.linear.windows import Windowed
from catad.spaces import Tensor
from catad.vector.array_operator import Lawful
from catad.vector.bins import SortByBin
from catad.vector.by_hand import Opaque
from catad.vector.decomposed import Decomposed
from catad.vector.loop import After, Waiting
from catad.vector.overwrite import Added, Overwritten
from catad.vector.passed_on import PassedOn
from catad.vector.positions import SortedPositions
from catad.vector.segmented import Numbered
from catad.vector.shape import Concatenate
from catad.vector.sort import StableOrder

ENOUGH: dict[type[Primitive], str] = {
    Reshaped: "a view, or a copy by CuPy",
    StridedCopy: "a view, or a copy by CuPy",
    Windowed: "a view",
    Concatenate: "copies by CuPy",
    Overwritten: "copies by CuPy",
    Cleared: "copies by CuPy",
    Added: "a copy and a sum by CuPy",
    Contract: "cuBLAS",
    DotWithin: "cuBLAS",
    StableOrder: "the sort of CuPy",
    SortByBin: "the sort of CuPy",
    SortedPositions: "the search of CuPy",
    Numbered: "the cumulative sum and the search of CuPy",
    Decomposed: "a program of boxes that have kernels",
    Nesting: "programs that have kernels",
    After: "nothing to do",
    Waiting: "nothing to do",
    Lawful: "nothing to do",
    PassedOn: "nothing to do",
    Opaque: "array code of a user",
}
"""What runs in the place of a kernel, by class: as fast as one would be, or not of catad."""
_OURS = ("catad.linear.", "catad.vector.", "catad.simt.")  # the boxes of the layers above run what a user says


def why_enough(primitive: Primitive) -> str | None:
    """What runs in the place of a kernel of a box; None where a kernel would be better."""
    if not type(primitive).__module__.startswith(_OURS):
        return ENOUGH[Opaque]
    return next((ENOUGH[kind] for kind in type(primitive).__mro__ if kind in ENOUGH), None)


def tell(primitive: Primitive, ins: tuple[Tensor, ...]) -> None:
    """Give the notice that a box runs on its array code, once for its class, unless that is enough or there is no number."""
    name = type(primitive).__name__
    if why_enough(primitive) is None and all(space.size for space in ins):
        notice(("no kernel", name), errors.array_code_runs("a box, on a GPU", errors.NO_KERNEL, name), 3)

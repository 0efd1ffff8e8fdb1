"""Boxes that no stage contains on a GPU: what makes their kernels, which of them need none, and the notice of all others."""

from __future__ import annotations

from collections.abc import Callable

from catad import errors
from catad.category.boxes import Nesting, Primitive
from catad.category.spaces import Tensor
from catad.engine.cuda.argextrema import positions_by_bin
from catad.engine.cuda.by_bin import added, fold_by_bin, scatter
from catad.engine.cuda.checks import EndedCheck, NumberedCheck, in_range
from catad.engine.cuda.flat_index import FlatIndexed
from catad.engine.cuda.indexed_writes import MAKERS as WRITTEN
from catad.engine.cuda.kernel import Compiled, Device
from catad.engine.cuda.sweeps import sweep
from catad.engine.stages.bins import Before
from catad.errors.notices import notice
from catad.linalg.cholesky import Cholesky, CholeskyPulled
from catad.linalg.circulant import Regular
from catad.linalg.determinant import OfFactors
from catad.linalg.parts import Decomposition
from catad.linalg.solve import Inverted
from catad.linear.families.clear import Cleared
from catad.linear.families.contract import Contract
from catad.linear.families.dot_within import DotWithin
from catad.linear.families.fourier import Transform
from catad.linear.families.gather import ScatterAdded
from catad.linear.families.inverse import Factor, Solved
from catad.linear.families.reindex import Reshaped, StridedCopy
from catad.linear.families.windows import Windowed
from catad.vector.bins.fold_by_bin import FoldByBin
from catad.vector.bins.searchsorted import SortedPositions
from catad.vector.bins.sort import StableOrder
from catad.vector.bins.sorted_bins import SortByBin
from catad.vector.custom_derivative import Opaque
from catad.vector.decomposed import Decomposed
from catad.vector.derivative_carriers import PassedOn
from catad.vector.folds.arg_extremum import ArgExtremumByBin
from catad.vector.folds.array_operator import Lawful
from catad.vector.indexing.flat_index import FlatIndex
from catad.vector.indexing.gather import Ended, InRange
from catad.vector.indexing.overwrite import Added, AddedAt, Overwritten
from catad.vector.loops.converged import Converged
from catad.vector.loops.loop import After, Waiting
from catad.vector.loops.progress import Ticked
from catad.vector.loops.sweep_map import Sweep
from catad.vector.pointwise.same_value import Fits
from catad.vector.resummed import Resummed
from catad.vector.scans.segmented import Numbered, NumberedByFlags, NumberedByLengths
from catad.vector.shapes.shape import Concatenate

MAKERS: dict[type, Callable[..., Compiled | None]] = {
    FoldByBin: fold_by_bin,
    ScatterAdded: scatter,
    AddedAt: added,
    ArgExtremumByBin: positions_by_bin,
    InRange: in_range,
    Fits: in_range,
    Ended: EndedCheck,
    FlatIndex: FlatIndexed,
    NumberedByFlags: NumberedCheck,
    NumberedByLengths: NumberedCheck,
    Sweep: sweep,
    **WRITTEN,
}
"""What makes the kernels of a box, by its class: functions of a device, the box, and the spaces of its arguments."""

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
    Converged: "a comparison by CuPy",
    Ticked: "a copy by CuPy, and a count on the host",
    Lawful: "nothing to do",
    PassedOn: "nothing to do",
    Factor: "CuPy, or steps of CuPy on all matrices of a stack",
    Solved: "CuPy, or steps of CuPy on all matrices of a stack",
    Cholesky: "CuPy, or steps of CuPy on all matrices of a stack",
    CholeskyPulled: "CuPy, or steps of CuPy on all matrices of a stack",
    Inverted: "CuPy",
    OfFactors: "functions of CuPy",
    Decomposition: "functions of CuPy",
    Transform: "cuFFT",
    Regular: "a look at the eigenvalues",
    Resummed: "a look at the sums",
    Opaque: "array code of a user",
}
"""What runs in the place of a kernel, by class: as fast as one would be, or not of catad."""
_OURS = tuple([f"catad.{room}." for room in ("category", "linear", "vector", "fft", "linalg", "simt")])  # the others are of users


def why_enough(primitive: Primitive) -> str | None:
    """What runs in the place of a kernel of a box; None where a kernel would be better."""
    if not type(primitive).__module__.startswith(_OURS):
        return ENOUGH[Opaque]
    return next((ENOUGH[kind] for kind in type(primitive).__mro__ if kind in ENOUGH), None)


def kernels_of(
    device: Device, primitive: Primitive, ins: tuple[Tensor, ...], before: Before | None = None
) -> Compiled | None:
    """Compiled code for a box, which computes its values first as `before` says; None where its array code runs.

    That gives a notice, once for its class, unless it is enough or there is no number.
    """
    maker = MAKERS.get(type(primitive))
    made = None if maker is None else maker(device, primitive, ins, *([] if before is None else [before]))
    if made is None and why_enough(primitive) is None and all(space.size for space in ins):
        name = type(primitive).__name__
        notice(("no kernel", name), errors.array_code_runs("a box, on a GPU", errors.NO_KERNEL, name))
    return made

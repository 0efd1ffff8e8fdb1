"""`Masked`: what reading by a mask gives, `x[mask]`, whose size depends on data.

It can be computed with pointwise, summed, and stored under the same mask: `x[m] = g(x[m])`. The entries that the mask leaves out
read as 1, so that what is computed of them is a number and their derivatives are zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from catad import errors

if TYPE_CHECKING:
    from catad.traced.arrays.stand_in import Traced
    from catad.traced.recorder import Trace, Var


class Part:
    """Some entries of the array `full`; how many is not known."""

    __slots__ = ("full",)
    __array_priority__ = 1000.0
    __hash__ = None  # type: ignore[assignment]
    full: Traced
    if TYPE_CHECKING:  # `protocols.py` sets it

        def __getattr__(self, name: str) -> Any: ...

    @property
    def trace_(self) -> Trace:
        return self.full.trace_

    @property
    def dtype(self) -> Any:
        return self.full.dtype


class Masked(Part):
    """The entries of an array of the full shape that a mask selects."""

    __slots__ = ("mask",)

    def __init__(self, mask: Traced, full: Traced) -> None:
        self.mask, self.full = mask, full

    @property
    def ndim(self) -> int:
        return 1 + self.full.ndim - self.mask.ndim

    def __len__(self) -> int:
        raise errors.TraceError(errors.shape_depends_on_data("len(x[mask])"))

    def __getitem__(self, key: Any) -> Any:
        raise errors.TraceError(errors.shape_depends_on_data("x[mask][...]"))

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise errors.TraceError(errors.shape_depends_on_data("x[mask]"))

    def __repr__(self) -> str:
        return f"<entries of {self.full!r} under a mask>"


def common_mask(args: Sequence[Any]) -> Traced | None:
    """The mask of the masked operands, which must be one; the others are numbers."""
    masked = [arg for arg in args if isinstance(arg, Masked)]
    if not masked:
        return None
    first = masked[0].mask
    for arg in args:
        if isinstance(arg, Masked):
            if not same_mask(arg.mask, first):
                raise errors.TraceError(errors.shape_depends_on_data("x[mask] beside another mask"))
        elif getattr(arg, "ndim", 0) or isinstance(arg, (list, tuple)):
            raise errors.TraceError(errors.shape_depends_on_data("x[mask] beside an array"))
    return first


def same_mask(a: Traced, b: Traced) -> bool:
    """True where two masks are one variable."""
    first: Var = a.var_
    second: Var = b.var_
    return first is second or (first.region is second.region and first.wire is second.wire)

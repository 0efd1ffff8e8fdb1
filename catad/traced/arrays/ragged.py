"""`Ragged`: a slice whose length is not a number while a function is traced, `x[:i]` in a loop over i.

It is an array of full size, of which some axes count only from a start on, for a length: variables of the program. What the other
entries hold is never read. Slices of equal length, by the normal forms of their bounds (`affine.py`), can be computed with
pointwise; sums and products leave the other entries out, and so do writes. Whatever needs the length as a number unrolls the
loops on which it depends, or is an error where it depends on data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from catad.traced.arrays.affine import Affine
from catad.traced.arrays.masked import Part
from catad.traced.table import load

if TYPE_CHECKING:
    from catad.traced.arrays.stand_in import Traced
    from catad.traced.recorder import Trace


class Extent(NamedTuple):
    """The entries `start + step * k`, `0 <= k < length`, of an axis. All of them lie within the axis."""

    start: Affine
    step: int
    length: Affine

    @property
    def low(self) -> Affine:
        """The least position."""
        return self.start if self.step > 0 else self.start + (self.length - 1) * self.step

    @property
    def high(self) -> Affine:
        """The position after the greatest."""
        return (self.start + 1 if self.step < 0 else self.start + (self.length - 1) * self.step + 1)


class Ragged(Part):
    """Of the array `full` the entries that are within the extents of some of its axes.

    `entry_` computes one of them by its number along the one axis with an extent, where `full` is more than a copy of another
    array: sums over few entries then leave `full` out.
    """

    __slots__ = ("axes", "entry_")

    def __init__(self, full: Traced, axes: Mapping[int, Extent], entry: Callable[[Any], Any] | None = None) -> None:
        load("ragged", "entries")
        self.full, self.axes, self.entry_ = full, dict(axes), entry

    if TYPE_CHECKING:  # `operators.py`, `slicing.py` and others set these

        def __getitem__(self, key: Any) -> Any: ...
        def __setitem__(self, key: Any, value: Any) -> None: ...
        def __sub__(self, other: Any) -> Any: ...
        def __mul__(self, other: Any) -> Any: ...
        def pointwise_(self, trace: Trace, ufunc: Any, args: Any, dtype: Any) -> Any: ...
        def matmul_(self, trace: Trace, a: Any, b: Any) -> Any: ...
        def assign_(self, value: Any, casting: Any = "unsafe") -> None: ...
        def length_(self, axis: int) -> Any: ...

    @property
    def ndim(self) -> int:
        return self.full.ndim

    @property
    def itemsize(self) -> int:
        return self.full.itemsize

    @property
    def shape(self) -> tuple[Any, ...]:
        """The shape, with a number of the program for the length of a slice."""
        return tuple([self.length_(k) if k in self.axes else n for k, n in enumerate(self.full.shape)])

    @property
    def size(self) -> Any:
        made: Any = 1
        for n in self.shape:
            made = made * n
        return made

    def unknown_(self, what: str) -> NoReturn:
        """Unroll the loops on which the lengths depend; an error where they depend on data."""
        for axis in self.axes:
            self.length_(axis)._number(what)
        raise AssertionError("a length that is a number")

    def __len__(self) -> int:
        if 0 in self.axes:
            self.unknown_("the length of a slice")
        return int(self.full.shape[0])

    def __iter__(self) -> Any:
        if 0 in self.axes:
            self.unknown_("a loop over a slice")
        return (self[k] for k in range(len(self)))

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        self.unknown_("the length of a slice")

    def __bool__(self) -> bool:
        self.unknown_("the truth of a slice")

    def __reduce__(self) -> Any:
        self.unknown_("pickle")

    def __repr__(self) -> str:
        return f"<a slice of {self.full!r}>" if self.full.owner_.open else "<stand-in of a trace that is over>"

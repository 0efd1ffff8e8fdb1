"""`Fourier`: discrete Fourier, cosine and sine transforms, which have no slots and are applied in O(n log n).

Complex arrays are pairs (re, im) of real leaves. A transform is linear in them, and its transpose is the one in the other
direction with the other scale:

    c2c    y_k = sum_j exp(-2 pi i j k / n) x_j, or of exp(+...)        its transpose: the other sign, without weights
    r2c    the first n // 2 + 1 of these, of real x                     its transpose: c2r of the weighted argument
    c2r    the real x of which y is that half                           its transpose: r2c, weighted
    dct, dst    of the types 1 to 4, as SciPy defines them              its transpose: the inverse type, weighted

Both halves of a spectrum go into a real array, so what stands for two entries counts twice: the weights are 2, and 1 at the ends.
Those of cosines and sines are likewise 2 where SciPy's definitions have an entry half. Scales are named as NumPy names them.

Sources: J. Cooley & J. Tukey, *An algorithm for the machine calculation of complex Fourier series*, 1965; J. Makhoul, *A fast
cosine transform in one and two dimensions*, 1980. Arrays are transformed by `scipy.fft`, and by `cupy.fft` on a GPU.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from catad.category.boxes import Primitive, box
from catad.category.spaces import Tensor
from catad.linear.families.block import diagonal_block
from catad.linear.families.contract import zeros
from catad.linear.families.cosines import of_type_1_or_4
from catad.linear.families.delta import pointwise
from catad.linear.matrix.columns import images
from catad.linear.products import MapProduct, Shared, rule
from catad.linear.solving.solver import Solver
from catad.linear.solving.spectral import by_spectrum
from catad.linear.structure import Rule, Structure, family
from catad.values.complex_numbers import complex_of

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire
    from catad.linear.families.block import Chain

OTHER = {"backward": "forward", "ortho": "ortho", "forward": "backward"}  # by a scale: that of the other direction
INVERSE = {1: 1, 2: 3, 3: 2, 4: 4}  # by a type of cosine or sine transforms: that of their inverses
_REAL = ("dct", "dst")


class How(NamedTuple):
    """Which transform it is. `kind` is c2c, r2c, c2r, dct or dst.

    The last of `axes` is that along which r2c and c2r are real, with `n` entries. `turned` is the transpose of the transform that
    the others say, where it is not such a one itself.
    """

    kind: str
    axes: tuple[int, ...]
    norm: str = "backward"
    inverse: bool = False
    type: int = 0
    n: int = 0
    turned: bool = False

    @property
    def T(self) -> How:
        if self.kind == "c2c":
            return self._replace(inverse=not self.inverse, norm=OTHER[self.norm])
        if self.kind in _REAL and (self.norm == "ortho" or self.type == 4 or (self.kind, self.type) == ("dst", 1)):
            return self._replace(type=INVERSE[self.type])
        return self._replace(turned=not self.turned)

    @property
    def undone(self) -> How | None:
        """The inverse of a transform that keeps the number of entries."""
        if self.kind == "c2c":
            return self._replace(inverse=not self.inverse)
        return self._replace(type=INVERSE[self.type], norm=OTHER[self.norm]) if self.kind in _REAL else None

    @property
    def halves(self) -> bool:
        """True where a real array becomes half a spectrum."""
        return (self.kind == "r2c") != self.turned and self.kind in ("r2c", "c2r")

    def leaves(self, space: Tensor) -> tuple[int, tuple[Tensor, ...]]:
        """The number of leaves of the argument, each in `space`, and the leaves of the result."""
        if self.kind == "c2c":
            return 2, (space, space)
        if self.kind in _REAL:
            return 1, (space,)
        n = self.n // 2 + 1 if self.halves else self.n
        made = Tensor([n if k == self.axes[-1] else size for k, size in enumerate(space.shape)], space.dtype)
        return (1, (made, made)) if self.halves else (2, (made,))


# -- on arrays


def _library(xp: Any, real: bool) -> Any:
    if xp is np:
        import scipy.fft as found
    elif real:
        import cupyx.scipy.fft as found  # type: ignore[import-not-found, unused-ignore]
    else:
        found = xp.fft
    return found


def _real(xp: Any, how: How, type: int, x: Any) -> Any:
    """A cosine or sine transform of a type; CuPy has the types 2 and 3."""
    if xp is not np and type in (1, 4):
        return of_type_1_or_4(xp, how.kind, type, x, how.axes, how.norm)
    fft = _library(xp, True)
    if len(how.axes) == 1:
        return getattr(fft, how.kind)(x, type, None, how.axes[0], how.norm)
    return getattr(fft, f"{how.kind}n")(x, type, None, how.axes, how.norm)


def _whole(re: Any, im: Any) -> Any:
    """The array of complex numbers whose parts are given, where both are views of one; else None."""
    z: Any = re.base if type(re) is np.ndarray else None
    if type(z) is not np.ndarray or z is not im.base or z.dtype.kind != "c" or z.shape != re.shape:
        return None
    parts = [(a.ctypes.data, a.strides, a.shape, a.dtype) for a in (z.real, z.imag, re, im)]
    return z if parts[:2] == parts[2:] else None


def _weighted(z: Any, axis: int, middle: slice, factor: float) -> None:
    """Multiply entries along an axis in place."""
    z[(slice(None),) * axis + (middle,)] *= factor


def _real_transform(xp: Any, how: How, x: Any) -> Any:
    if not how.turned:
        return _real(xp, how, how.type, x)
    ends = {1: (slice(0, 1), slice(-1, None)), 2: (slice(0, 1),), 3: (slice(0, 1),)}[how.type]
    if how.kind == "dst":
        ends = (slice(-1, None),)
    before, after = how.type in (1, 2), how.type in (1, 3)
    y = x.copy() if before else x
    for axis in how.axes if before else ():
        for end in ends:
            _weighted(y, axis, end, 2.0)
    y = _real(xp, how, INVERSE[how.type], y)
    for axis in how.axes if after else ():
        for end in ends:
            _weighted(y, axis, end, 0.5)
    return y


def transformed(xp: Any, how: How, arrays: Sequence[Any]) -> Any:
    """The results of a transform: one array, or the pair of the parts of one."""
    if how.kind in _REAL:
        return _real_transform(xp, how, arrays[0])
    fft, axis = _library(xp, False), how.axes[-1]
    if how.kind == "c2c":
        z = _whole(*arrays)
        given = complex_of(xp, *arrays) if z is None else z
        own = {"overwrite_x": True} if z is None and xp is np else {}
        if len(how.axes) == 1 and xp is np:  # the same numbers, and SciPy asks less of its arguments
            y = (fft.ifft if how.inverse else fft.fft)(given, axis=axis, norm=how.norm, **own)
        else:
            y = (fft.ifftn if how.inverse else fft.fftn)(given, axes=how.axes, norm=how.norm, **own)
        return y.real, y.imag
    norm = OTHER[how.norm] if how.turned else how.norm
    middle = slice(1, (how.n + 1) // 2)  # each stands for two
    if how.halves:
        y = fft.rfftn(arrays[0], axes=how.axes, norm=norm)
        if how.turned:
            _weighted(y, axis, middle, 2.0)
        return y.real, y.imag
    z = _whole(*arrays)
    if z is None or how.turned:
        z = complex_of(xp, *arrays)
    if how.turned:
        _weighted(z, axis, middle, 0.5)
    sizes = [how.n if k == axis else z.shape[k] for k in how.axes]
    return fft.irfftn(z, sizes, axes=how.axes, norm=norm)


# -- on spaces


@box
class Transform(Primitive):
    """The box that applies a `Fourier`."""

    drawn_as = "linear"
    borrows = True
    how: How

    @property
    def arity(self) -> int:
        return 2 if self.how.kind == "c2c" or (self.how.kind in ("r2c", "c2r") and not self.how.halves) else 1

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        assert all(space == ins[0] for space in ins)
        return self.how.leaves(ins[0])[1]

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        return transformed(xp, self.how, arrays)

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule:
        return Rule(Fourier(self.how, ins[0]))

    def carried(self, size: int) -> Transform:
        return Transform(self.how._replace(axes=tuple([k + 1 for k in self.how.axes])))

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        """About 5 n log2 n for n complex numbers, half of it for real ones."""
        space = max(ins[0], outs[0], key=lambda one: one.size)
        n = math.prod([space.shape[k] for k in self.how.axes])
        return int((5.0 if self.how.kind == "c2c" else 2.5) * space.size * math.log2(max(2, n)))


@family
class Fourier(Structure):
    """A transform of leaves of a space; see the module."""

    how: How
    space: Tensor

    @cached_property
    def dom(self) -> tuple[Tensor, ...]:
        return (self.space,) * self.how.leaves(self.space)[0]

    @cached_property
    def cod(self) -> tuple[Tensor, ...]:
        return self.how.leaves(self.space)[1]

    slots = ()

    @property
    def T(self) -> Fourier:
        return Fourier(self.how.T, self.cod[0])

    @property
    def kind(self) -> str:
        how = self.how
        if how.kind in _REAL:
            return f"{'cosine' if how.kind == 'dct' else 'sine'} transform"
        return "inverse fourier" if how.inverse or (how.kind in ("r2c", "c2r") and not how.halves) else "fourier"

    @cached_property
    def nnz(self) -> int:
        """Every entry of the result depends on every one along the axes of the transform."""
        batch = math.prod([n for k, n in enumerate(self.space.shape) if k not in self.how.axes])
        return self.rows * self.columns // max(1, batch)

    def apply(self, b: Builder, slots: Sequence[Wire], xs: Sequence[Wire | None]) -> list[Wire | None]:
        if all(x is None for x in xs):
            return [None] * len(self.cod)
        given = [zeros(b, self.space) if x is None else x for x in xs]
        return list(b.add(Transform(self.how), *given))

    def solver(self, xp: Any, slots: Sequence[Any], rtol: float | None = None) -> Solver:
        back = self.how.undone
        if back is None:
            return super().solver(xp, slots, rtol)
        inverse = Fourier(back, self.space)
        return Solver("fourier", "O(n log n)", lambda ys: images(inverse, xp, (), ys, len(ys[0])))

    def solver_of_chain(self, chain: Chain, xp: Any, slots: Sequence[Any]) -> Solver | None:
        """By the spectrum, where the product is a circulant."""
        last = chain.parts[-1][0]
        return by_spectrum(self, last, chain, xp, slots) if isinstance(last, Fourier) else None


def _points(first: Fourier) -> int:
    """By what an unscaled transform and the unscaled one back multiply: the points, of cosines and sines those of a period."""
    how, shape = first.how, first.space.shape
    sizes = [how.n if how.kind in ("r2c", "c2r") and k == how.axes[-1] else shape[k] for k in how.axes]
    if how.kind in _REAL:
        more = 0 if how.type != 1 else (-1 if how.kind == "dct" else 1)
        sizes = [2 * (n + more) for n in sizes]
    return math.prod(sizes)


def _meets(first: How, second: How) -> bool:
    """True where the second undoes the first, up to a scale."""
    if sorted(first.axes) != sorted(second.axes) or first.turned != second.turned:
        return False
    if first.kind == second.kind == "c2c":
        return first.inverse != second.inverse
    if first.kind in _REAL:
        return second.kind == first.kind and second.type == INVERSE[first.type]
    known = ("c2r", "r2c") if first.turned else ("r2c", "c2r")
    return (first.kind, second.kind) == known and first.axes == second.axes and first.n == second.n


@rule(Fourier, Fourier)
def _back_again(first: Fourier, second: Fourier, shared: Shared) -> MapProduct | None:
    """A transform and then its inverse are the identity, times what their scales leave."""
    if not _meets(first.how, second.how):
        return None
    norms, n = (first.how.norm, second.how.norm), float(_points(first))
    if first.how.kind in _REAL:
        norms = (norms[0], OTHER[norms[1]])  # the inverse of an unscaled one is scaled
    away, back = [{"backward": 0.0, "ortho": 0.5, "forward": 1.0}[norm] for norm in norms]
    if (first.how.kind == "c2c" and first.how.inverse) or (first.how.turned and first.how.kind in ("r2c", "c2r")):
        away, back = back, away
    if first.how.kind in _REAL and away != back and 0.5 in (away, back):
        return None  # orthonormal ones have other weights
    factor = n ** (back - away)
    return MapProduct(diagonal_block([pointwise(leaf, leaf, None, factor) for leaf in first.dom]), ())

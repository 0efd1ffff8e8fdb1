"""`Resummed`: a convolution that transforms have computed, by sums where its numbers are not finite."""

from __future__ import annotations

from typing import Any

import numpy as np

from catad.category.boxes import Primitive, box
from catad.category.spaces import Tensor
from catad.linear.families.delta import identity
from catad.linear.structure import Rule
from catad.values.stream_capture import check_not_captured


@box
class Resummed(Primitive):
    """(a, v, y) to y, entries from `first` of the convolution of a and v; by sums where numbers are not finite.

    Transforms make NaN of all entries then.
    """

    first: int
    arity = 3

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (ins[2],)

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        a, v, y = arrays
        check_not_captured(xp, "whether the numbers of a convolution are finite")
        if bool(xp.isfinite(y).all()):
            return y
        if a.ndim == 1:
            return _by_sums(xp, a, v)[self.first : self.first + y.size]
        return xp.stack([self.evaluate(xp, *one) for one in zip(a, v, y, strict=True)])

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule:
        return Rule(identity(ins[2]), by=(False, False, True))

    def carried(self, size: int) -> Resummed:
        return self


def _by_sums(xp: Any, a: Any, v: Any) -> Any:
    """The whole convolution; CuPy's `convolve` goes by transforms, too, and pads with zeros, which NaN makes NaN."""
    if xp is np:
        return np.convolve(a, v)
    y, (short, long) = xp.zeros(a.size + v.size - 1, dtype=a.dtype), sorted((a, v), key=len)
    for k in range(len(short)):
        y[k : k + len(long)] += short[k] * long
    return y

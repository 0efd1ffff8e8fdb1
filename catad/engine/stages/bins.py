"""Folds by bin as data: what is computed for each element, and what is known about the operator."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from catad import scalar
from catad.category.spaces import Tensor
from catad.scalar import Function
from catad.scalar.printing.llvm_writer import literal
from catad.vector.folds.monoid import Monoid


class Before(NamedTuple):
    """The computation that comes first: the dtypes of the numbers that are read, and the function that gives the values."""

    dtypes: tuple[str, ...]
    function: Function


class Bins(NamedTuple):
    """A compiled fold by bin: the operator on states of these dtypes, the dtypes of what is read (`by`: indices) and written.

    A value with the dtype "" is the position of the element. With `before`, the values are computed of what is read. `starts`
    are the neutral elements as text. `outs` are the dtypes of the results, "" for a number of the state that nobody asked for.
    With `own` each number of a row has its own index.
    """

    op: Function
    by: str
    values: tuple[str, ...]
    states: tuple[str, ...]
    starts: tuple[str, ...]
    outs: tuple[str, ...]
    before: Before | None = None
    own: bool = False

    @property
    def reads(self) -> tuple[str, ...]:
        """The dtypes of the arrays beside the indices."""
        return self.values if self.before is None else self.before.dtypes

    @property
    def rounds(self) -> bool:
        """True where it loses digits: not integers, minima and maxima, and sums in double precision of what is in single."""
        wider = all(np.dtype(s).itemsize > np.dtype(o or s).itemsize for s, o in zip(self.states, self.outs, strict=True))
        exact = wider or scalar.recognise(self.op) in ("min", "max")
        return not exact and any(np.dtype(s).kind == "f" for s in self.states)


def bins_of(
    monoid: Monoid, ins: tuple[Tensor, ...], values: tuple[str, ...], outs: tuple[str, ...], before: Before | None = None
) -> Bins:
    """The `Bins` that are compiled for an operator at these spaces of (indices, values...)."""
    states = tuple([name or np.dtype(np.int64).str for name in values])
    starts = tuple([literal(e, np.dtype(s)) for e, s in zip(monoid.neutral, states, strict=True)])
    return Bins(monoid.op, ins[0].dtype.str, values, states, starts, outs, before)

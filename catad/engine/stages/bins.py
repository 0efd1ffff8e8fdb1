"""Folds by bin as data: what is computed for each element, how many bins there are, and how a box finds its arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from catad import scalar
from catad.scalar import Function


class Before(NamedTuple):
    """The computation that comes first: the dtypes of the numbers that are read, and the function that gives the values."""

    dtypes: tuple[str, ...]
    function: Function


class Bins(NamedTuple):
    """A compiled fold by bin: the operator on states of these dtypes, the dtypes of what is read (`by`: indices) and written.

    A value with the dtype "" is the position of the element. With `before`, the values are computed of what is read. `starts`
    are the neutral elements as text, "" where nobody reads the state before an element has set it. With `flagged` a bin knows
    whether anything is in it yet: needed unless op(neutral, x) is x to the last bit. `outs` are the dtypes of the results, "" for
    a number of the state that nobody asked for. `rows` is whether an element is a row of numbers. With `own` each number of a row
    has its own index.
    """

    op: Function
    by: str
    values: tuple[str, ...]
    states: tuple[str, ...]
    starts: tuple[str, ...]
    flagged: bool
    outs: tuple[str, ...]
    rows: bool
    before: Before | None = None
    own: bool = False

    @property
    def reads(self) -> tuple[str, ...]:
        """The dtypes of the arrays beside the indices."""
        return self.values if self.before is None else self.before.dtypes


class Fold(NamedTuple):
    """A fold by bin: what is compiled, and the number of bins."""

    what: Bins
    bins: int

    @property
    def bytes(self) -> int:
        """The bytes of the state of one number."""
        return sum(np.dtype(s).itemsize for s in self.what.states) + self.what.flagged

    @property
    def rounds(self) -> bool:
        """True where it loses digits: not integers, minima and maxima, and sums in double precision of what is in single."""
        what = self.what
        wider = all(np.dtype(s).itemsize > np.dtype(o or s).itemsize for s, o in zip(what.states, what.outs, strict=True))
        exact = wider or scalar.recognise(what.op) in ("min", "max")
        return not exact and any(np.dtype(s).kind == "f" for s in what.states)


class Given(NamedTuple):
    """The arguments of a fold: indices (m,) and values (m, *rest), C-contiguous."""

    index: Any
    values: Sequence[Any]
    rest: tuple[int, ...]


class Member(NamedTuple):
    """A box as a fold by bin: `given` lays out its arrays, `result` is what it gives of the results (bins, *rest).

    `shape` are the number of elements, and the shape of each.
    """

    fold: Fold
    shape: tuple[int, tuple[int, ...]]
    given: Callable[..., Given]
    result: Callable[[list[Any]], Any]

    @property
    def held(self) -> int:
        """The bytes of its states, all bins of one piece."""
        return self.fold.bytes * self.fold.bins * math.prod(self.shape[1])

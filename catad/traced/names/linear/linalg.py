"""`numpy.linalg`: systems, determinants and decompositions."""

from __future__ import annotations

from typing import Any

import numpy as np

from catad import linalg as words
from catad.traced.arrays.stand_in import computed, fresh
from catad.traced.names.sums import one_line, strong
from catad.traced.recorder import Trace
from catad.traced.table import meaning


def stack(trace: Trace, a: Any, square: bool = True) -> Any:
    """An argument as a stack of matrices; raises NumPy's error."""
    x = strong(trace, a)
    if x.ndim < 2:
        raise np.linalg.LinAlgError(f"{x.ndim}-dimensional array given. Array must be at least two-dimensional")
    if square and x.shape[-1] != x.shape[-2]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    return x


def several(trace: Trace, term: Any, *xs: Any) -> list[Any]:
    """The results of a term with several, applied to stand-ins."""
    given = tuple([x.var_ for x in xs])
    return [fresh(trace, var) for var in computed(trace.region, term, given if len(given) > 1 else given[0])]


@meaning(np.linalg.solve)
def solve(trace: Trace, a: Any, b: Any) -> Any:
    return one_line(trace, words.solve(), stack(trace, a), strong(trace, b))


@meaning(np.linalg.inv)
def inv(trace: Trace, a: Any) -> Any:
    return one_line(trace, words.inv, stack(trace, a))


@meaning(np.linalg.det)
def det(trace: Trace, a: Any) -> Any:
    return one_line(trace, words.det, stack(trace, a))


@meaning(np.linalg.slogdet)
def slogdet(trace: Trace, a: Any) -> Any:
    return type(np.linalg.slogdet(np.eye(1)))(*several(trace, words.slogdet, stack(trace, a)))


@meaning(np.linalg.cholesky)
def cholesky(trace: Trace, a: Any, /, *, upper: bool = False) -> Any:
    return one_line(trace, words.cholesky(bool(upper)), stack(trace, a))

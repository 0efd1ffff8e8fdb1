"""`numpy.linalg`: systems, determinants and Cholesky factors. Words take complex stand-ins as pairs, and give pairs for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from catad import linalg as words
from catad.traced.arrays.layout import parts_in
from catad.traced.arrays.stand_in import computed, fresh
from catad.traced.names.sums import strong
from catad.traced.pairs.stand_in import Complex, as_pair
from catad.traced.recorder import Trace
from catad.traced.table import COMPLEX_TOO, meaning
from catad.values.complex_numbers import is_complex


def stack(trace: Trace, a: Any, square: bool = True) -> Any:
    """An argument as a stack of matrices; raises NumPy's error."""
    x = numbers(trace, a)
    if x.ndim < 2:
        raise np.linalg.LinAlgError(f"{x.ndim}-dimensional array given. Array must be at least two-dimensional")
    if square and x.shape[-1] != x.shape[-2]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    return x


def numbers(trace: Trace, a: Any) -> Any:
    """A stand-in, real or complex, with the dtype of its array, also for a Python number."""
    if not is_complex(a) and not any(map(is_complex, parts_in(a))):
        return strong(trace, a)
    z = as_pair(trace, a)
    return Complex(strong(trace, z.re), strong(trace, z.im))


def variables(x: Any) -> Any:
    """The variable of a stand-in; those of both parts of a complex one."""
    return (x.re.var_, x.im.var_) if isinstance(x, Complex) else x.var_


def applied(trace: Trace, term: Any, *xs: Any) -> Any:
    """The variables of a term's results, applied to stand-ins."""
    given = tuple(map(variables, xs))
    return computed(trace.region, term, given if len(given) > 1 else given[0])


def result(trace: Trace, made: Any) -> Any:
    """The stand-in of one result."""
    return Complex(*[fresh(trace, var) for var in made]) if isinstance(made, tuple) else fresh(trace, made)


def one_line(trace: Trace, term: Any, *xs: Any) -> Any:
    """The result of a term with one, applied to stand-ins."""
    return result(trace, applied(trace, term, *xs))


def several(trace: Trace, term: Any, *xs: Any) -> list[Any]:
    """The results of a term with several, applied to stand-ins."""
    return [result(trace, made) for made in applied(trace, term, *xs)]


def adjoint(x: Any) -> Any:
    """The transposes, conjugate of complex matrices."""
    turned = np.swapaxes(x, -1, -2)
    return np.conjugate(turned) if is_complex(x) else turned


@meaning(np.linalg.solve)
def solve(trace: Trace, a: Any, b: Any) -> Any:
    return one_line(trace, words.solve(), stack(trace, a), numbers(trace, b))


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


COMPLEX_TOO.update((solve, inv, det, slogdet, cholesky))

"""NumPy's universal functions of complex stand-ins: one line of the program, with NumPy's dtypes.

`universal` is the one way in. NumPy says in which dtype it computes; the operands become pairs in this dtype, and the formula of
`formulas.py` is mapped over the parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from catad import errors, scalar
from catad.category.terms import D
from catad.scalar.pairs.tables import COMPLEX, REAL
from catad.support.lru import remembered
from catad.traced.arrays.masked import Masked, common_mask
from catad.traced.arrays.operators import cast, weakened
from catad.traced.arrays.ragged import Ragged
from catad.traced.arrays.stand_in import Traced, computed, fresh
from catad.traced.pairs.stand_in import Complex, as_pair
from catad.traced.recorder import Trace, Var
from catad.values.arrays import is_weak
from catad.values.complex_numbers import is_complex_dtype, real_dtype
from catad.vector.pointwise.map import MapOf

_WHOLE = 100  # NumPy multiplies for whole exponents below this one


@remembered
def _term(ufunc: np.ufunc) -> D:
    formula = COMPLEX.get(ufunc) or REAL[ufunc]
    return MapOf(scalar.read(formula))


def universal(trace: Trace, ufunc: np.ufunc, args: Sequence[Any], dtype: Any = None, casting: Any = "same_kind") -> Any:
    """A universal function of stand-ins, arrays and numbers, of which one is complex, or which is computed in complex numbers."""
    for arg in args:
        if isinstance(arg, Ragged):
            arg.unknown_("the length of a slice")
    dtypes = _dtypes(ufunc, tuple([_type_of(trace, arg) for arg in args]), None if dtype is None else np.dtype(dtype), casting)
    if ufunc not in COMPLEX and ufunc not in REAL:
        raise errors.TraceError(errors.not_for_complex(f"np.{ufunc.__name__}"))
    if ufunc is np.power:
        made = _whole_power(trace, args[0], args[1], dtypes)
        if made is not None:
            return made
    mask = common_mask([arg.re if isinstance(arg, Complex) else arg for arg in args])
    pairs = [_unmasked(as_pair(trace, arg)) for arg in args]
    weak = all(one.python_type for one in pairs)
    real = real_dtype(dtypes[0])
    vars_ = [cast(trace, part.var_, real) for one in pairs for part in (one.re, one.im)]
    made = computed(trace.region, _term(ufunc), tuple(vars_))
    if ufunc in REAL:
        return _masked(mask, _result(trace, made, weak))
    return Complex(*[_masked(mask, _result(trace, cast(trace, part, real_dtype(dtypes[-1])), weak)) for part in made])


def _unmasked(z: Complex) -> Complex:
    return Complex(z.re.full, z.im.full) if isinstance(z.re, Masked) else z


def _masked(mask: Traced | None, made: Traced) -> Any:
    return made if mask is None else Masked(mask, made)


def _result(trace: Trace, var: Var, weak: bool) -> Traced:
    return fresh(trace, weakened(trace, var) if weak else var)


def _type_of(trace: Trace, arg: Any) -> Any:
    """The dtype of an operand, or the type of the Python number that it stands for."""
    if is_weak(arg) or type(arg) is complex:
        found: Any = type(arg)
    else:
        found = getattr(arg, "python_type", None) or getattr(arg, "dtype", None)
        found = np.asarray(arg).dtype if found is None else found
    return np.dtype(bool) if found is bool else found


@lru_cache(1024)
def _dtypes(ufunc: np.ufunc, types: tuple[Any, ...], asked: Any, casting: Any) -> tuple[np.dtype[Any], ...]:
    if all(isinstance(one, type) for one in types):
        types = tuple([np.dtype(one) for one in types])
    asks: Any = {} if asked is None else {"signature": (None,) * ufunc.nin + (asked,) * ufunc.nout}
    try:
        found = ufunc.resolve_dtypes((*types, *(None,) * ufunc.nout), casting=casting, **asks)
    except TypeError as error:
        raise errors.SpaceError(errors.numpy_refuses(ufunc, error)) from None
    if found[0].kind == "b":  # NumPy asks each operand for its truth value first
        found = (np.result_type(*[one if isinstance(one, np.dtype) else np.dtype(one) for one in types]), *found[1:])
    if not is_complex_dtype(found[0]) or found[0].itemsize > 16:
        raise errors.TraceError(errors.unsupported_dtype(found[0]))
    return tuple(found)


def _whole_power(trace: Trace, z: Any, n: Any, dtypes: tuple[np.dtype[Any], ...]) -> Any:
    """The power by a whole number that is known: products, as NumPy has them; None for others."""
    known = n.constant if isinstance(n, (Complex, Traced)) else np.asarray(n)
    if known is None or known.ndim or known.imag or known.real != np.rint(known.real) or abs(known.real) >= _WHOLE:
        return None
    k = int(known.real)
    base = as_pair(trace, z)
    if k == 0 or isinstance(base.re, Masked):
        return None
    base = base if base.python_type else base.astype(dtypes[-1], copy=False)
    made, factor, rest = None, base, abs(k)
    while rest:
        if rest % 2:
            made = factor if made is None else universal(trace, np.multiply, (made, factor))
        rest //= 2
        factor = universal(trace, np.multiply, (factor, factor)) if rest else factor
    assert made is not None
    if k > 0:
        return universal(trace, np.positive, (made,)) if made is base else made
    return universal(trace, np.divide, (1.0, made))

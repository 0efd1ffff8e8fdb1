"""Functions of the user on parts of arrays; functions of other libraries by NumPy's names; names without a meaning."""

import numpy as np
import pytest

import catad as ct
from catad.traced.names.array_api import enter_namespace

from ..strict_arrays import strict
from .harness import check

A = np.arange(12.0).reshape(3, 4) / 7 - 0.6
L = np.arange(60.0).reshape(3, 20) / 7 - 0.6
W = np.array([1.0, 2.0, 3.0])


def piece(a):
    return a * a if a > 0 else -a


def test_apply_along_axis():
    check(lambda x: np.apply_along_axis(lambda r: r * r.sum(), 1, x), A)
    check(lambda x: np.apply_along_axis(lambda r: np.sort(r)[:2], 0, x), L)
    check(lambda x, c: np.apply_along_axis(lambda r: (r * c).sum(), 0, x), L, W)
    check(lambda x, c: np.apply_along_axis(lambda r, k: np.outer(r, k), 0, x, c), L, W)
    check(lambda x: np.apply_along_axis(np.sum, 2, x), A)


def test_vectorize():
    check(lambda x: np.vectorize(piece)(x), A)
    check(lambda x: np.vectorize(lambda a, b: max(a, b) + 1.0)(x, 0.25), A)
    check(lambda x: np.vectorize(piece, otypes=[np.float64])(x), A)
    scale = 3.0
    check(lambda x: np.vectorize(lambda a: scale * a if a > 0 else x.sum())(x), A)
    check(lambda x: np.vectorize(lambda a: (a + 1, 2 * a))(x), A)
    with pytest.raises(ct.TraceError, match="signature"):
        ct.function(lambda x: np.vectorize(np.sum, signature="(n)->()")(x))(A)


def test_functions_of_a_library_with_numpys_names():
    """The strict array library stands in for CuPy."""
    enter_namespace(strict)

    def fn(x):
        z = strict.zeros(4)
        z[1] = x[0, 0]
        return strict.exp(x).sum() + strict.sum(strict.where(x > 0, x, z))

    got = ct.function(fn)(strict.asarray(A))
    z = np.zeros(4)
    z[1] = A[0, 0]
    np.testing.assert_allclose(got.get(), np.exp(A).sum() + np.where(A > 0, A, z).sum(), rtol=1e-14)


_NO_ARRAYS = {"printoptions", "savez", "savez_compressed"}


def _unknown():
    """Functions of NumPy's main modules that take an array and are in no table."""
    from catad.traced.table import FUNCTIONS, PYTHON

    for prefix, module in (("np", np), ("np.linalg", np.linalg), ("np.fft", np.fft)):
        for name in dir(module):
            function = getattr(module, name)
            known = isinstance(function, type) or not callable(function) or name.startswith("_") or name in _NO_ARRAYS
            if not known and hasattr(function, "__wrapped__") and function not in FUNCTIONS and function not in PYTHON:
                yield pytest.param(function, f"{prefix}.{name}", id=f"{prefix}.{name}")


@pytest.mark.parametrize(("function", "name"), list(_unknown()))
def test_a_function_without_a_meaning_says_what_to_do(function, name):
    import inspect

    needed = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty and p.kind in (0, 1)]
    with pytest.raises(ct.CatadError) as caught:
        ct.function(lambda x: function(*[x] * max(len(needed), 1)))(np.eye(2))
    assert "do:" in str(caught.value), name


def test_methods_without_a_meaning_say_what_to_do():
    for method in sorted(set(dir(np.ndarray)) - set(dir(object))):
        if method.startswith("__"):
            continue

        def fn(x, method=method):
            getattr(x, method)
            return x

        try:
            ct.function(fn)(A)
        except ct.TraceError as error:
            assert "do:" in str(error), method
    with pytest.raises(AttributeError, match="no attribute 'summ'"):
        ct.function(lambda x: x.summ())(A)

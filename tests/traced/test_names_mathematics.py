"""`math`, scipy.special and the names of the array API on traced arrays."""

import numpy as np
import pytest

import catad as ct

from .cases_mathematics import CASES, NAMESPACE, SPECIAL, A, P, Q
from .harness import check, check_case, in_other_kinds

special = pytest.importorskip("scipy.special")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_values_and_gradients(case):
    check_case(case, *case[2:])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_other_dtypes(case):
    for _, args in in_other_kinds(case[2:], "f"):
        check_case(case, *args)


@pytest.mark.parametrize("case", SPECIAL, ids=lambda case: case[0])
def test_special(case):
    smooth = case[0] != "edges"
    for kind, args in [("d", case[2:]), *in_other_kinds(case[2:], "fi" if smooth else "f")]:
        check(
            lambda *at: case[1](special, *at),
            *args,
            rtol=1e-13 if kind != "f" else 2e-6,
            grad=None if smooth else False,
        )


def test_special_functions_have_their_names():
    from scipy.special import expit

    f = ct.function(lambda x: expit(x) + special.erf(x))
    assert "ct.sigmoid" in repr(f.at(P)) and "ct.erf" in repr(f.at(P))


@pytest.mark.parametrize("case", NAMESPACE, ids=lambda case: case[0])
def test_array_namespace(case):
    def fn(x):
        return case[1](x.__array_namespace__(), x)

    check(fn, *case[2:])


def test_names_of_the_array_api():
    """Each function of the standard that NumPy has is there, by NumPy's meaning or as an error."""

    def fn(x):
        xp = x.__array_namespace__()
        z = xp.zeros(3)
        z[0] = x[0]
        assert xp.pi == np.pi and xp.float64 is np.float64 and xp.newaxis is None
        return z + xp.arange(3) * x, xp.linalg.matmul(x, x)

    check(fn, Q)


def test_unknown_functions_say_what_to_do():
    for fn, said in (
        (lambda x: np.unique(x), "shape"),
        (lambda x: np.i0(x), "series"),
        (lambda x: np.bincount(x[0].astype(int)), "minlength"),
        (lambda x: x[True], "x.None."),
        (lambda x: np.ravel(x, order="K"), "memory"),
        (lambda x: x.astype(np.float16), "float64"),
        (lambda x: np.polyfit(x[0], x[1], 1), "linear"),
    ):
        with pytest.raises(ct.TraceError, match=said):
            ct.function(fn)(A)

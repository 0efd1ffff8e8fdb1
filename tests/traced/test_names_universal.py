"""All universal functions of NumPy on traced arrays, in all dtypes, beside Python numbers, with out=, where= and dtype=."""

import numpy as np
import pytest

import catad as ct

from .harness import check, in_other_kinds

A = np.array([0.3, -1.5, 2.0, 0.0, np.nan, np.inf, -np.inf, -0.7, -0.0])
B = np.array([1.5, -0.5, 2.0, 0.0, 1.0, 2.0, -1.0, 3.0, 0.5])
UNKNOWN = {"bitwise_count", "gcd", "isnat", "lcm", "nextafter", "spacing"}
UFUNCS = {f.__name__: f for f in vars(np).values() if isinstance(f, np.ufunc) and f.signature is None}


@pytest.mark.parametrize("name", sorted(set(UFUNCS) - UNKNOWN))
def test_dtypes(name):
    ufunc = UFUNCS[name]
    signed_powers = name == "power"
    for kind, args in [("d", (A, B)), *in_other_kinds((A, B), "fisbB?")]:
        refuses = signed_powers and kind in "isb"
        check(lambda *x: ufunc(*x), *args[: ufunc.nin], grad=False, refuses=refuses)
    if ufunc.nin == 1:
        return
    mixed = [
        (A.astype(np.float32), np.nan_to_num(B).astype(np.int32)), (A.astype(np.float32), B > 0),
        (B.astype(np.int8), np.abs(B * 3).astype(np.uint8)), (np.abs(B * 3).astype(np.int64), B > 0),
    ]  # fmt: skip
    for x, y in mixed:
        check(lambda *at: ufunc(*at), x, y, grad=False)
        for number in (2, -1, 0.5, True):
            check(lambda a, number=number: ufunc(a, number), x, grad=False)
            check(lambda a, number=number: ufunc(number, a), y, grad=False, refuses=signed_powers)


@pytest.mark.parametrize("name", sorted(UNKNOWN))
def test_unknown_ones_are_named(name):
    with pytest.raises(ct.TraceError, match=rf"np\.{name} has no meaning[\s\S]*do:"):
        ct.function(lambda x: UFUNCS[name](*[x] * UFUNCS[name].nin))(np.array([1, 2]))


def test_out_where_and_dtype():
    def fn(x, y):
        out = np.zeros_like(x)
        np.add(x, y, out=out)
        np.multiply(out, 2, out)
        np.exp(x, where=x > 0, out=out)
        parts = np.zeros(3), np.zeros(3)
        np.modf(x, out=parts)
        return out, parts, np.add(x, y, dtype=np.float32), np.negative(out, out=out), out

    check(fn, np.array([0.5, -1.0, 2.5]), np.array([1.0, 2.0, 3.0]), grad=False)


def test_arrays_made_inside_are_written_into():
    """Functions that write into arguments write into arrays of constants, too."""

    def fn(x):
        z, o = np.zeros(4), np.zeros(4)
        np.add.at(z, [0, 0, 1], 2.0)
        np.put(z, 3, 5)
        np.copyto(o, z)
        np.multiply(o, 3, out=o)
        np.fill_diagonal(m := np.zeros((2, 2)), 1)
        np.putmask(o, o > 10, 1)
        np.cumsum(z, out=z)
        np.clip(o, 0, 5, out=o)
        v = np.reshape(o, (2, 2))
        v[0, 0] = 9
        w = np.ravel(z)
        w[1] = 8
        return z * x, o, m, v, w

    check(fn, np.array(2.0), grad=False)


def test_exponents_are_powers_and_roots_as_numpys():
    x = np.array([-np.inf, -0.0, 0.0, 2.0, 9.0])
    check(
        lambda a: (a**0.5, a**2, a**-1, a**3, np.power(a, 0.5), a ** np.float64(0.5), 2.0**a, a**0, a**1.0),
        x,
        grad=False,
    )
    check(
        lambda n: (n**2, n**0, 2 ** n.astype(np.uint8), n ** np.array([0, 1, 2, 3]), n**True), np.array([3, -2, 5, 7])
    )
    check(lambda n: n**-1, np.array([3, -2]))
    check(lambda n: n ** np.array([1, -2]), np.array([3, -2]))
    check(lambda n: (n ** n.astype(np.uint64), n**n), np.array([3, 2, 250, 0], np.uint8))
    check(lambda a: a**0.5, 2.0)

"""Wrong and odd arguments of linear algebra: whole messages, and NumPy's results for what is only odd."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg as sl
from numpy import linalg as la

import catad as ct

EYE, S, ONE = np.eye(3), np.ones((3, 3)), np.ones(3)
STACK = np.stack([EYE, S, EYE])
A = np.random.default_rng(2).normal(size=(3, 3)) + 4 * EYE
P = A @ A.T

SINGULAR = """a {} matrix is singular
  given:    a matrix of 3 rows, pivot {} of its factorisation is 0
  expected: an invertible matrix
{}  do:       for a solution of least norm, np.linalg.pinv(A) @ b"""
INDEFINITE = """a matrix is not positive definite
  given:    a matrix of {} rows, pivot {} of its Cholesky factorisation is not positive
  expected: a symmetric matrix with positive eigenvalues, of which one half is read
{}  do:       add a multiple of the identity, A + e * np.eye(n), or take another factorisation"""
SIDES = """matrices and right-hand sides do not fit
  given:    {} and {}
  expected: a (..., n, n), b (n,) or (..., n, k) whose leading axes broadcast with those of a
  where:    ct.linalg.solve()"""
DTYPE = """a space holds float32, float64, bool or integers
  given:    {}
  do:       convert the array, e.g. x.astype(np.float64)"""

SOLVE: dict[str, tuple[Any, Any, str]] = {  # what is a `SolveError`, which NumPy's `LinAlgError` catches
    "general": (lambda a: la.solve(a, ONE), S, SINGULAR.format("general", 1, "")),
    "in a stack": (lambda a: la.inv(a), STACK, SINGULAR.format("general", 1, "  where:    matrix [1] of (3,)\n")),
    "in a stack of two axes": (
        lambda a: la.inv(a),
        STACK.reshape(3, 1, 3, 3),
        SINGULAR.format("general", 1, "  where:    matrix [1, 0] of (3, 1)\n"),
    ),
    "in a large stack": (
        lambda a: la.inv(a),
        np.where(np.arange(90)[:, None, None] == 77, S, EYE),
        SINGULAR.format("general", 1, "  where:    matrix [77] of (90,)\n"),
    ),
    "symmetric": (lambda a: sl.solve(a, ONE, assume_a="sym"), 0 * S, SINGULAR.format("symmetric", 2, "")),
    "triangular": (
        lambda a: sl.solve_triangular(a, ONE, lower=True),
        np.diag([1.0, 0.0, 2.0]),
        SINGULAR.format("triangular", 1, ""),
    ),
    "banded": (lambda a: sl.solve_banded((0, 0), a, ONE), np.array([[1.0, 0.0, 2.0]]), SINGULAR.format("banded", 1, "")),
    "indefinite": (lambda a: la.cholesky(a), np.diag([1.0, -2.0, 3.0]), INDEFINITE.format(3, 1, "")),
    "indefinite in a stack": (
        lambda a: la.cholesky(a),
        np.stack([EYE, -EYE]),
        INDEFINITE.format(3, 0, "  where:    matrix [1] of (2,)\n"),
    ),
    "indefinite, solved": (lambda a: sl.solve(a, ONE, assume_a="pos"), -EYE, INDEFINITE.format(3, 0, "")),
    "indefinite, banded": (lambda a: sl.solveh_banded(a, ONE), np.array([[1.0, -1.0, 2.0]]), INDEFINITE.format(3, 1, "")),
    "Toeplitz": (
        lambda a: sl.solve_toeplitz(a, ONE),
        np.zeros(3),
        """Levinson's recursion meets a singular part of a Toeplitz matrix
  given:    a matrix of 3 rows
  expected: a matrix whose leading parts are invertible
  do:       take ct.linalg.solve()(scipy.linalg.toeplitz(c, r), b), which interchanges rows""",
    ),
}
SPACE: dict[str, tuple[Any, tuple[Any, ...], str]] = {  # what is a `SpaceError`
    "rows": (ct.linalg.solve(), (EYE, np.ones(2)), SIDES.format("ct.f64[3, 3]", "ct.f64[2]")),
    "rows, traced": (ct.function(lambda a, b: la.solve(a, b)), (EYE, np.ones(2)), SIDES.format("ct.f64[3, 3]", "ct.f64[2]")),
    "stacks": (ct.linalg.solve(), (np.stack([EYE] * 4), np.ones((2, 3, 1))), SIDES.format("ct.f64[4, 3, 3]", "ct.f64[2, 3, 1]")),
    "a number": (ct.linalg.solve(), (EYE, 2.0), SIDES.format("ct.f64[3, 3]", "ct.f64[()]")),
    "not square": (
        ct.linalg.inv,
        (np.ones((2, 3)),),
        "square matrices are expected\n  given:    ct.f64[2, 3]\n  expected: an array (..., n, n)\n  where:    ct.linalg.inv",
    ),
    "a vector": (
        ct.linalg.det,
        (ONE,),
        "matrices are expected\n  given:    ct.f64[3]\n  expected: an array (..., m, n)\n  where:    ct.linalg.det",
    ),
    "one argument": (
        ct.linalg.solve(),
        (EYE,),
        """the argument does not have the right nesting
  given:    ct.f64[3, 3]
  expected: a value (a, b)
  where:    ct.linalg.solve()""",
    ),
    "a stack of least squares": (
        ct.linalg.lstsq(),
        (np.ones((2, 3, 3)), EYE),
        """a matrix and the right-hand side of its least squares problem do not fit
  given:    ct.f64[2, 3, 3] and ct.f64[3, 3]
  expected: a (m, n), b (m,) or (m, k)
  where:    ct.linalg.lstsq()""",
    ),
    "objects": (ct.linalg.det, (EYE.astype(object),), DTYPE.format("object")),
    "half": (ct.function(lambda a: la.det(a)), (EYE.astype(np.float16),), DTYPE.format("float16")),
    "long": (ct.function(lambda a: la.det(a)), (EYE.astype(np.longdouble),), DTYPE.format(np.dtype(np.longdouble))),
    "a list": (
        ct.linalg.det,
        ([[1.0, 2.0], [3.0, 4.0]],),
        """a value is an array, a number or a tuple of values
  given:    [[1.0, 2.0], [3.0, 4.0]] of type list
  expected: a plain array of NumPy or CuPy
  do:       np.asarray(x) for one array, tuple(x) for a product of several""",
    ),
    "a masked array": (
        ct.linalg.det,
        (np.ma.array([[1.0]], mask=[[True]]),),
        """a value is an array, a number or a tuple of values
  given:    masked_array(data=[[--]], mask=[[ True]], fill_value=1e+20, dtype=float64) of type MaskedArray
  expected: a plain array of NumPy or CuPy
  do:       a mask has no meaning here: x.filled(value), or x.compressed()""",
    ),
}


def without_places(error: BaseException) -> str:
    """A message without the lines that show where the test called."""
    return str(error).partition("\n  made: ")[0].partition("\n  called: ")[0]


@pytest.mark.numpy_only  # on other libraries symmetric matrices are factorised as general ones
@pytest.mark.parametrize("name", SOLVE)
def test_singular_and_indefinite_matrices(name: str) -> None:
    f, x, message = SOLVE[name]
    for engine in ("reference", "cpu"):
        with ct.use_engine(engine), pytest.raises(ct.SolveError) as caught:
            ct.function(f)(x)
        assert isinstance(caught.value, la.LinAlgError) and without_places(caught.value) == message
        with ct.use_engine(engine), pytest.raises(ct.SolveError) as caught:
            ct.vjp(ct.function(f), x)
        assert without_places(caught.value) == message


@pytest.mark.parametrize("name", SPACE)
def test_arguments_that_do_not_fit(name: str) -> None:
    f, args, message = SPACE[name]
    with pytest.raises(ct.SpaceError) as caught:
        f(*args)
    assert without_places(caught.value) == message


@pytest.mark.parametrize(("f", "given"), [("inv", np.ones((2, 3))), ("det", ONE), ("slogdet", np.array(2.0)), ("eigh", ONE)])
def test_numpys_errors_in_functions(f: str, given: Any) -> None:
    with pytest.raises(la.LinAlgError) as own:
        getattr(la, f)(given)
    with pytest.raises(la.LinAlgError) as caught:
        ct.function(lambda a: getattr(la, f)(a))(given)
    assert str(caught.value) == str(own.value)


# -- odd arguments


def read_only(a: Any) -> Any:
    a = a.copy()
    a.setflags(write=False)
    return a


ODD = {
    "Fortran": np.asfortranarray(P), "backwards": np.ascontiguousarray(P[::-1, ::-1])[::-1, ::-1], "turned": P.copy().T,
    "strided": np.repeat(np.repeat(P, 2, 0), 3, 1)[::2, ::3], "read-only": read_only(P), "integers": np.round(9 * P).astype(int),
    "narrow": np.diag([3, 4, 5]).astype(np.int8), "unsigned": np.diag([3, 4, 5]).astype(np.uint16), "bool": np.eye(3, dtype=bool),
    "single": P.astype(np.float32), "one": P[:1, :1], "nothing": np.zeros((0, 0)), "no stack": np.zeros((0, 3, 3)),
    "nothing, stacked": np.zeros((2, 0, 0)), "spread": np.broadcast_to(P, (2, 3, 3)), "far": P * 1e200, "near": P * 1e-200,
    "big-endian": P.astype(">f8"), "list": P.tolist(),
}  # fmt: skip
FUNCTIONS = {
    "solve": lambda a: la.solve(a, a), "inv": lambda a: la.inv(a), "det": lambda a: la.det(a), "slogdet": lambda a: la.slogdet(a),
    "cholesky": lambda a: la.cholesky(a), "eigh": lambda a: la.eigh(a).eigenvalues, "svd": lambda a: la.svd(a).S,
    "qr": lambda a: abs(la.qr(a).R), "pinv": lambda a: la.pinv(a), "matrix_rank": lambda a: la.matrix_rank(a),
    "norm": lambda a: la.matrix_norm(a, ord="nuc"), "power": lambda a: la.matrix_power(a, -2),
    "power 0": lambda a: la.matrix_power(a, 0), "matmul": lambda a: la.matmul(a, a),
    "fft": lambda a: np.fft.fft(a, 4).real, "kron": lambda a: np.kron(a, a),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_odd_arrays_have_numpys_results(name: str) -> None:
    f = FUNCTIONS[name]
    traced = ct.function(f)
    for odd, a in ODD.items():
        try:
            own = f(a)
        except (ValueError, la.LinAlgError) as error:
            with pytest.raises((ValueError, TypeError, la.LinAlgError)):
                traced(a)
            assert odd.startswith(("no", "far", "near")), error
            continue
        found = traced(a)
        for one, want in zip(*[x if isinstance(x, tuple) else (x,) for x in (found, own)], strict=True):
            want = np.asarray(want)
            assert one.shape == want.shape and one.dtype == want.dtype.newbyteorder("="), odd
            tolerance = 1e-3 if want.dtype == np.float32 else 1e-9
            size = np.abs(want[np.isfinite(want)]).max(initial=0)
            np.testing.assert_allclose(one, want, rtol=tolerance, atol=tolerance * size, err_msg=odd)


@pytest.mark.parametrize("f", [ct.function(lambda a: la.det(a)), ct.linalg.det])
def test_data_frames_say_how_they_become_arrays(f: Any) -> None:
    frame = type("DataFrame", (), {"__module__": "pandas.core.frame", "__array__": lambda self, *args, **kwargs: P})()
    with pytest.raises(ct.SpaceError, match=r"x\.to_numpy\(\); labels are then not aligned"):
        f(frame)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("many", [3, 200])
def test_numbers_that_are_not_finite_stay_in_their_matrix(bad: float, many: int) -> None:
    """Values and pullbacks of the others do not differ by a bit from those of a stack without such a number."""
    stack = np.stack([P + k * EYE for k in range(many)])
    strange = stack.copy()
    strange[1, 0, 0] = bad
    others = np.arange(many) != 1
    for name in ("solve", "inv", "det", "slogdet", "cholesky", "eigh", "svd", "qr", "pinv", "power"):
        f = ct.function(FUNCTIONS[name])
        for engine in ("reference", "cpu"):
            with ct.use_engine(engine):
                (want, back), (found, pulled) = ct.vjp(f, stack), ct.vjp(f, strange)
                wants, founds = [tuple(x) if isinstance(x, tuple) else (x,) for x in (want, found)]
                assert all(np.array_equal(one[others], two[others]) for one, two in zip(wants, founds, strict=True)), name
                assert np.isinf(bad) or np.isnan(founds[-1][1]).any(), name
                weights = tuple([np.ones_like(x) for x in wants])
                given = type(want)(*weights) if isinstance(want, tuple) else weights[0]
                assert np.array_equal(back(given)[0][others], pulled(given)[0][others]), name

"""Slices whose bounds depend on the index of a loop that is recorded once, or on data: NumPy's meaning, and its derivatives."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import catad as ct
from tests.traced.programs import compare, leaves, module, outcome

N = 19  # above the number of steps that are unrolled


def lower_solve(L, b):
    x = np.zeros_like(b)
    for i in range(len(b)):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]
    return x


def upper_solve(L, b):
    n = len(b)
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - np.dot(L[i, i + 1 :], x[i + 1 :])) / L[i, i]
    return x


def lu(A):
    A = A.copy()
    n = A.shape[0]
    for k in range(n):
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k], A[k, k + 1 :])
    return A


def lu_by_rows(A):
    A = A.copy()
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[:j, j]
            A[i, j] /= A[j, j]
        for j in range(i, A.shape[0]):
            A[i, j] -= A[i, :i] @ A[:i, j]
    return A


def cholesky(A):
    A = A @ A.T + 4.0 * np.eye(len(A))
    for j in range(A.shape[0]):
        A[j, j] = np.sqrt(A[j, j] - np.dot(A[j, :j], A[j, :j]))
        A[j + 1 :, j] = (A[j + 1 :, j] - A[j + 1 :, :j] @ A[j, :j]) / A[j, j]
        A[j, j + 1 :] = 0.0
    return A


def durbin(r):
    r = r / 20.0
    y = np.empty_like(r)
    y[0] = alpha = -r[0]
    beta = 1.0
    for k in range(1, len(r)):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * y[:k][::-1]
        y[k] = alpha
    return y


def levinson(r):
    r = r / 20.0
    a = np.zeros_like(r)
    for k in range(1, len(r)):
        gain = (r[k] - r[k - 1 :: -1] @ a[:k]) / (1.0 + r[0])
        before = a[:k].copy()
        a[:k] = before - gain * before[::-1]
        a[k] = gain
    return a


def covariance(X):
    n, m = X.shape
    X = X - X.mean(axis=0)
    C = np.zeros((m, m))
    for i in range(m):
        C[i:m, i] = C[i, i:m] = X[:, i] @ X[:, i:m] / (n - 1.0)
    return C


def prefixes(x):
    y = np.zeros((7, len(x)))
    for i in range(len(x)):
        y[0, i] = np.sum(x[: i + 1])
        y[1, i] = x[i:].mean() + len(x[i:]) + x[:i].size
        y[2, i] = np.max(x[: i + 1]) * x[i:].min()
        y[3, i] = np.prod(x[: i + 1]) + np.linalg.norm(x[i:])
        y[4, i] = x[i:].std() + np.var(x[i:])
        y[5, i] = x[i:][0] + x[i:][-1] + x[np.argmax(x[i:])] + x[np.argmin(x[: i + 1][::-1])]
        y[6, i] = np.sum(np.cumsum(x[i:])) + np.any(x[i:] > 0.5) + np.all(x[:i] > 0.5) + np.count_nonzero(x[:i] > 0.4)
    return y


def windows(x):
    y = np.zeros_like(x)
    for i in range(len(x)):
        part = x[max(0, i - 3) : i + 4]
        y[i] = part.mean() + np.sum(np.where(part > 0.5, part, np.clip(part, 0.1, 0.3)))
    return y


def blocks(x, A):
    y, B = x.copy(), A.copy()
    for i in range(len(x) - 2):
        y[i : i + 2] += x[i : i + 2] ** 2 * x[i + 1 : i + 3]
        B[i : i + 2, i + 1 : i + 3] *= A[i : i + 2, :2] + A[:, i][:2]
    return y, B


def shifted(x):
    y = np.zeros_like(x)
    for i in range(1, len(x)):
        y[i:] += x[i:] - x[i - 1 : -1]
        y[:i] -= 0.1 * y[1 : i + 1]
        np.multiply(x[:i], 2.0, out=y[:i])
        part = y[1:i]
        part += 1.0
        part[...] = part * x[i]
    return y


def matrices(A, b):
    out = np.zeros((len(A), len(A)))
    for i in range(len(A)):
        out[i, : i + 1] = A[: i + 1] @ b
        out[i, i:] += b @ A[:, i:] + A.T[i:, 0]
        out[i, 0] += np.sum(A[i:, i:] @ A[i:, :i]) + np.sum(A[:i].T @ b[:i]) + A[i:, :i].T.sum()
        out[i, 1] += np.sum(A[:i, None, i:].mean(axis=-1)) + np.sum(np.sum(A[i:, :i], axis=0, keepdims=True))
    return out


def triangular_loops(x):
    y = np.zeros_like(x)
    for i in range(len(x)):
        for j in range(i):
            y[i] += x[j + 1] * np.sum(x[j : j + 2]) * x[j - i]
        for j in range(i - 1, -1, -2):
            y[j] += x[i] * np.sum(x[j:i])
    return y


rng = np.random.default_rng(3)
MATRIX = rng.random((N, N)) + 3.0 * np.eye(N)
VECTOR = rng.random(N) + 0.1
PROGRAMS: dict[Any, tuple[Any, ...]] = {
    lower_solve: (MATRIX, VECTOR), upper_solve: (MATRIX, VECTOR), lu: (MATRIX,), lu_by_rows: (MATRIX,), cholesky: (MATRIX / 4,),
    durbin: (VECTOR,), levinson: (VECTOR,), covariance: (rng.random((5, N)),), prefixes: (VECTOR,), windows: (VECTOR,),
    blocks: (VECTOR, MATRIX), shifted: (VECTOR,), matrices: (MATRIX, VECTOR), triangular_loops: (VECTOR,),
}  # fmt: skip


@pytest.mark.quick(7)
@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_programs_by_slices_are_one_loop_and_have_numpys_values_and_derivatives(fn: Any) -> None:
    args = PROGRAMS[fn]
    f = ct.function(fn)
    loops = [line.term for line in f.at(*args).lines if type(line.term).__name__ == "Swept"]
    assert loops and len(f.at(*args).lines) < 12, "it was unrolled"
    ct.testing.check_function(fn, *args, order=1, only=["value", "text", "trace", "control flow", "derivatives", "stand-ins"])


@pytest.mark.parametrize("fn", [lower_solve, durbin, windows, blocks, triangular_loops], ids=lambda fn: fn.__name__)
def test_programs_by_slices_map_over_lanes(fn: Any) -> None:
    ct.testing.check_function(fn, *PROGRAMS[fn], only=["lanes"])


def test_programs_by_slices_have_second_derivatives() -> None:
    args = MATRIX[:5, :5], VECTOR[:5]
    rolled, plain = ct.function(lower_solve, unroll=2), ct.function(lower_solve)
    cotangent = rng.random(5)

    def gradient(f: Any) -> Any:
        return lambda L, b: np.sum(np.square(ct.vjp(f, L, b)[1](cotangent)[0]))

    first, second = (ct.grad(gradient(f), argnums=(0, 1))(*args) for f in (rolled, plain))
    for one, other in zip(first, second, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


# -- drawn programs

BOUNDS = (
    "", "i", "-i", "i+1", "i-1", "2*i", "n-i", "i-4", "3-i", "-i-1", "2-i", "i//2", "min(i, 3)", "7", "-3", "20", "-20", "2",
    "i*i", "i+20", "-i-20", "i%4", "k", "k-i", "-k",
)  # fmt: skip
STEPS = ("", "", "", "", "1", "-1", "2", "-2", "3")
STATEMENTS = (
    "out[i] = np.sum(x[{s}])", "out[i] = x[{s}] @ y[{t}]", "z[{s}] += y[{t}]", "z[{s}] = 2.0 * x[{t}] + z[i] * 0.1",
    "out[i] = np.sum(A[i, {s}] * y[{t}])", "B[{s}, i] += x[{t}]", "B[{s}, {t}] *= 1.5", "out[i] = (A[{s}] @ y).sum()",
    "out[i] = np.sum(x[{s}][::-1] * y[{t}])", "z[{s}] = x[i]", "out[i] = np.sum(A[{s}, {t}].T @ x[{s}])",
    "out[i] = x[{s}][{t}].sum()", "out[i] = np.mean(x[{s}][1:] - x[{s}][:-1])",
    "out[i] = len(x[{s}]) + np.max(x[{t}], initial=0.1)",
    "z[{s}] = z[{s}][::-1] / 2", "out[i] = np.sum(np.sqrt(np.abs(x[{s}] - y[i])) / y[{t}])",
)  # fmt: skip


def drawn(seed: int, by_data: bool) -> str:
    rng = np.random.default_rng(seed)
    bounds = BOUNDS if by_data else BOUNDS[:-3]

    def part() -> str:
        step = rng.choice(STEPS)
        return f"{rng.choice(bounds)}:{rng.choice(bounds)}" + (f":{step}" if step else "")

    lines = []
    for _ in range(rng.integers(1, 3)):
        s = part()
        lines.append(rng.choice(STATEMENTS).format(s=s, t=s if rng.random() < 0.7 else part()))
    body = "".join([f"        {line}\n" for line in lines])
    start = "    n = len(x)\n    out = np.zeros(n)\n    z = x.copy()\n    B = A.copy()\n    for i in range(n):\n"
    return f"def f(x, y, A, k):\n{start}{body}    return out, z, B\n"


def of_nine(seed: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    return rng.random(9) + 0.2, rng.random(9) + 0.2, rng.random((9, 9)), int(rng.integers(-10, 11))


@pytest.mark.parametrize("seed", range(60))
def test_drawn_programs_with_slices_are_numpys(seed: int) -> None:
    """Bounds of all signs, beyond the ends, empty slices, steps. Lengths that depend on data may be refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert compare(module(drawn(seed, False)).f, *of_nine(seed), unroll=3) in ("equal", "both raise")
        compare(module(drawn(seed, True)).f, *of_nine(seed), unroll=3)


@pytest.mark.parametrize("seed", range(60))
def test_derivatives_of_drawn_programs_are_those_of_unrolled_ones(seed: int) -> None:
    f, args = module(drawn(seed, False)).f, of_nine(seed)

    def pulled_back(unroll: int) -> list[Any]:
        result, back = ct.vjp(ct.function(f, unroll=unroll), *args)
        rng = np.random.default_rng(1)
        return leaves(back(tuple([rng.standard_normal(part.shape) for part in result]))[:3])

    try:
        expected = pulled_back(10**9)
    except Exception:  # NumPy's error, or one of catad's
        return
    for one, other in zip(pulled_back(3), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)


RANGES = (
    "n", "i", "i + 1", "n - i", "i, n", "i + 1, n", "i - 2", "n - i, i, -1", "i - 1, -1, -1", "1, i, 2", "n, i", "3", "-i, 3",
)  # fmt: skip
NESTED_BOUNDS = ("", "i", "j", "j+1", "i-j", "-j", "i+j", "j-i", "n-j", "2", "-1", "j*2")
NESTED = (
    "y[j] += x[i] * np.sum(x[{s}])", "z[{s}] *= 0.9", "y[j % n] += A[i, {s}] @ x[{s}]", "B[{s}, i] -= 0.1 * x[{s}]",
    "q = q * 0.5 + x[j - 1] * A[i, j]", "y[{s}] += x[{s}] * q", "q = q + np.max(x[{s}], initial=0.0)",
    "B[{s}, {t}] += 0.5 * A[{s}, {t}] * x[j]", "y[{s}] += 1.0 * x[i] if x[j] > 0.5 else x[j]",
)  # fmt: skip


def drawn_nested(seed: int) -> str:
    rng = np.random.default_rng(seed)

    def part() -> str:
        return f"{rng.choice(NESTED_BOUNDS)}:{rng.choice(NESTED_BOUNDS)}{rng.choice(['', '', '', ':-1', ':2'])}"

    lines = [f"            {rng.choice(NESTED).format(s=part(), t=part())}\n" for _ in range(rng.integers(1, 3))]
    start = "    n, y, z, B, q = len(x), x.copy(), x.copy(), A.copy(), 0.0\n"
    loops = f"    for i in range(n):\n        for j in range({rng.choice(RANGES)}):\n"
    return f"def f(x, A):\n{start}{loops}{''.join(lines)}    return y, z, B, q\n"


@pytest.mark.parametrize("seed", range(30))
def test_drawn_loops_over_ranges_up_to_an_index_are_numpys(seed: int) -> None:
    f, (x, _, A, _) = module(drawn_nested(seed)).f, of_nine(seed)
    x, A = x[:6], A[:6, :6]
    if outcome(f, (x, A))[0] == "error":
        return
    assert compare(f, x, A, unroll=2) == "equal"

    def pulled_back(unroll: int) -> list[Any]:
        result, back = ct.vjp(ct.function(f, unroll=unroll), x, A)
        rng = np.random.default_rng(1)
        return leaves(back(tuple([rng.standard_normal(np.shape(part))[()] for part in result])))

    for one, other in zip(pulled_back(2), pulled_back(10**9), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)


# -- what is outside of a slice


def sums_of_outside(x, A):
    y = np.zeros(len(x))
    for i in range(len(x) // 2):
        y[i] = np.log(x[:i]).sum() + np.sum(1.0 / (A[i, :i] - 2.0)) + A[:i, 0] @ x[:i] + np.sum(A[: i + 1, 1:i] @ x[1:i])
        y[i] += np.sum(x[0] * np.arctanh(x[:i] / 4.0)) + np.sum(np.arccosh(2.0 + x[:i])) + (A[:i, :3] @ x[:3]).sum()
        y[i : 2 * i] = np.sqrt(x[:i]) + x[:i] ** -1.5
    return y


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 0.0, 1.0, 2.0, -1.0, 1e308])
def test_entries_outside_a_slice_change_neither_values_nor_derivatives(bad: float) -> None:
    half = N // 2
    x, A = VECTOR.copy(), MATRIX.copy() / 8.0
    assert len(x) == N
    x[half:] = bad
    A[half:] = bad
    A[:, half:] = bad
    f, clean = ct.function(sums_of_outside, unroll=2), (VECTOR.copy(), MATRIX / 8.0)
    found, expected = ([ct.vjp(f, *args), args] for args in ((x, A), clean))
    np.testing.assert_array_equal(found[0][0], expected[0][0])
    cotangent = rng.random(N)
    for one, other in zip(found[0][1](cotangent), expected[0][1](cotangent), strict=True):
        np.testing.assert_array_equal(one, other)


def test_entries_of_a_matrix_in_a_slice_that_are_not_finite_are_numpys() -> None:
    X = rng.random((4, N))
    X[2, 7], X[1, 9] = np.nan, np.inf
    assert compare(covariance_of_columns, X) == "equal"
    cotangent = np.where(np.isfinite(covariance_of_columns(X)), rng.random((N, N)), 0.0)
    found, expected = (ct.vjp(ct.function(covariance_of_columns, unroll=k), X)[1](cotangent) for k in (2, 10**9))
    np.testing.assert_allclose(found, expected, rtol=1e-12, equal_nan=True)


def covariance_of_columns(X):
    C = np.zeros((X.shape[1], X.shape[1]))
    for i in range(X.shape[1]):
        C[i, i:] = X[:, i] @ X[:, i:]
    return C


# -- views, aliases, names


VIEWS = {
    "a slice is a view": "v = y[:i]; y[0] = 5.0; s = s + v.sum()",
    "writes through a slice": "v = y[i:]; v[:] = x[i]; s = s + y.sum()",
    "in place": "v = y[i:]; v *= 2.0; s = s + y.sum()",
    "slice of a row": "v = B[i]; v[:i] += x[:i]; s = s + B.sum()",
    "slice of a transpose": "v = B.T[i:, 0]; v -= 1.0; s = s + B.sum()",
    "copy": "v = y[:i].copy(); v += 1.0; s = s + y.sum() + v.sum()",
    "slice of a slice": "v = y[1:][:i]; v[1:] = 2.0; s = s + y.sum() + v[::-1][: 2 * i].sum()",
    "swap": "y[:i], y[i:] = y[:i] * 2, y[i:] * 3; s = s + y.sum()",
    "overlap": "y[1 : i + 1] = y[:i]; s = s + y[1:].sum()",
    "two names": "v = w = y[:i]; w += 1.0; s = s + v.sum() + y[:i].sum()",
    "helper": "s = s + helper(y[:i], y[i:])",
    "under an if": "v = y[:i]\n        if x[i] > 0.5:\n            v += 1.0\n        s = s + v.sum()",
    "a list": "parts = [y[:i], y[i:]]; s = s + sum([p.sum() for p in parts])",
    "fill": "y[:i].fill(2.0); s = s + y.sum()",
    "copyto": "np.copyto(y[i:], x[i:]); s = s + y.sum()",
    "like": "s = s + np.sum(np.ones_like(y[:i]) + np.zeros_like(x[:i]) * 2) + np.array(y[i:]).sum() + np.asarray(y[i:]).sum()",
    "dtype": "s = s + (y[:i] > 0.5).sum() + y[:i].astype(np.float32).sum() + np.sum(y[:i] // 0.3)",
    "after the loop": "v = y[:i]",
    "a shape": "s = s + np.zeros(y[:i].shape).sum() + y[i:].shape[0] + y[:i].ndim + np.size(y[:i])",
    "iteration": "s = s + sum([v * 2 for v in y[:i]])",
    "reshape": "s = s + y[:i].reshape(-1, 1).sum()",
    "sort": "s = s + np.sum(np.sort(y[:i]) * np.arange(i))",
    "concatenate": "y = np.concatenate([y[i:], y[:i]]); s = s + y[0]",
    "stretched": "s = s + np.sum(B[:, :i] + y[:i]) + np.sum(y[:i] + B[:, :1]) + np.sum(y[:i, None] * y[None, i:])",
    "length one beside an array": "s = s + np.sum(y[i : 2 * i - i + 1] + y)",
    "wrong lengths": "s = s + np.sum(y[:i] + y[i:])",
    "empty maximum": "s = s + np.max(y[:i])",
    "past the end": "s = s + y[:i][i]",
    "too many": "s = s + y[:i, :i]",
    "integers to floats": "q = np.arange(n); q[:i] += 1.5",
    "integers": "q = np.arange(n); q[:i] += 2; s = s + q.sum() + q[i:].max(initial=0) - q[:i] @ q[:i]",
    "truth": "s = s + (1.0 if y[:i].size else 2.0)",
    "indices": "s = s + y[i:][[0]].sum() + y[np.arange(n)[i:]].sum()",
    "captured": "s = s + TABLE[: i + 1].sum()",
    "min of a matrix": "s = s + B[i:].min() + B[:, i:].max(axis=0).sum() + B[i:, :].max(axis=1).sum()",
}


@pytest.mark.parametrize("unroll", [4, 10**9])
@pytest.mark.parametrize("text", VIEWS.values(), ids=VIEWS)
def test_slices_in_loops_are_numpys(text: str, unroll: int) -> None:
    lines = f"""
TABLE = np.arange(10.0)

def helper(a, b):
    a *= 0.5
    return a.sum() - b.sum()

def f(x, A):
    n = len(x)
    y, B, s = x.copy(), A.copy(), 0.0
    for i in range(n):
        {text}
    return y, B, s{" + v.sum()" if text == "v = y[:i]" else ""}
"""
    assert compare(module(lines).f, VECTOR[:7], MATRIX[:7, :7], unroll=unroll) in ("equal", "both raise")


# -- bounds that data give


def test_slices_by_data_are_summed_and_written() -> None:
    def f(x, k):
        y = x.copy()
        y[k:] *= 2.0
        return x[:k].sum() + np.dot(x[:k], x[:k][::-1]), y, np.max(x[k:], initial=-1.0)

    for k in (-20, -3, 0, 2, 7, 30):
        assert compare(f, VECTOR[:7], k) == "equal"
    g = ct.grad(lambda x, k: np.sum(np.log(x[:k])))(np.array([1.0, 2.0, 0.0, np.nan]), 2)
    np.testing.assert_array_equal(g, [1.0, 0.5, 0.0, 0.0])


@pytest.mark.parametrize("text", ["x[:k]", "np.max(x[:k])", "x[:k] + x", "np.sort(x[:k])", "x[:k].reshape(-1)", "x[:k] + x[k:]"])
def test_what_needs_a_length_that_data_give_is_an_error(text: str) -> None:
    f = module(f"def f(x, k):\n    return {text}\n").f
    with pytest.raises(ct.TraceError, match="needs a number") as found:
        ct.function(f)(VECTOR, 3)
    assert "given:" in str(found.value) and "do:" in str(found.value)


def test_slices_in_while_loops() -> None:
    def halves(x):
        y, k = x.copy(), len(x)
        while k > 1 and y[0] < 100.0:
            k = k // 2
            y[:k] *= y[:k][::-1]
            y[0] += 1.0
        return y, k

    def steps(x):
        y, total, k = x.copy(), 0.0, 0
        while total < 3.0:
            total = total + x[k : k + 2].sum()
            y[k:] *= 0.5
            k += 1
        return y, total, k

    assert compare(halves, VECTOR[:16]) == "equal"
    assert compare(steps, VECTOR) == "equal"
    ct.testing.check_function(steps, VECTOR, order=1, only=["value", "derivatives", "text"])


def test_a_loop_over_a_range_by_data_stays_a_loop() -> None:
    def f(x, k):
        y = x.copy()
        for i in range(k):
            for j in range(i):
                y[i] += x[j] * np.sum(y[:j])
        return y

    for k in (0, 1, 5, 18):
        assert compare(f, VECTOR, k) == "equal"


def test_ranges_in_an_unrolled_block_are_unrolled() -> None:
    def f(x):
        y = x.copy()
        for i in range(len(x)):
            with ct.unrolled():
                for j in range(i):
                    y[i] += x[j] * y[j]
        return y

    assert compare(f, VECTOR) == "equal"
    assert not [line for line in ct.function(f).at(VECTOR).lines if type(line.term).__name__ == "Swept"]


def test_float32_stays_and_weak_numbers_are_weak() -> None:
    def f(x, c):
        y = np.zeros_like(x)
        for i in range(len(x)):
            y[i] = np.sum(c * x[:i] + 0.5) + x[i:].mean()
            y[:i] /= 2.0
        return y, (x[:3] * c)

    assert compare(f, VECTOR.astype(np.float32), 1.5) == "equal"


@pytest.mark.parametrize("text", ["x[i::-1][1]", "x[: i + 1][::-1][1]", "x[i - 1 :][::-1][1]", "x[i:][-2]"])
def test_an_entry_of_a_slice_with_a_step(text: str) -> None:
    f = module(f"def f(x):\n    y = x.copy()\n    for i in range(1, 6):\n        y[i] = {text} * x[i]\n    return y\n").f
    assert compare(f, VECTOR[:7], unroll=0) == "equal"

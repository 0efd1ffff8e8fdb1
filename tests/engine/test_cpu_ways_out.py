"""The ways out of fast paths: programs that need them, drawn, give what the reference gives."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import catad as ct
from catad.engine.cpu import blocked
from catad.engine.cpu.run import target
from catad.engine.cpu.whole import program, shared_kernels
from catad.engine.text import numbers
from catad.errors import CannotPrint
from catad.testing import points, terms

from .cpu_support import assert_near, on, printed_anew, small_blocks, small_thresholds

pytestmark = pytest.mark.skipif(not target.available(), reason="there is no LLVM here")

N = 6
TIMES = ct.map(lambda a, b: a * b)


def indices(draw: Any, count: int, bins: int) -> ct.D:
    """Some bins, some of them empty, some out of range."""
    return ct.const(np.array(draw(st.lists(st.integers(-1, bins), min_size=count, max_size=count)), np.int64))


def beside(of_all: ct.D) -> ct.D:
    """Every number, and what is made of all of them, one map on both."""
    return ct.fork(ct.id, of_all) >> ct.map(lambda x, s: 0.5 * x + s)


def by_bin(op: Any, neutral: float) -> Any:
    def made(draw: Any) -> ct.D:
        bins = draw(st.integers(1, 3))
        back = indices(draw, N, bins)
        folded = ct.fork(indices(draw, N, bins), ct.id) >> ct.histogram(op, neutral, bins)
        return ct.fork(folded >> ct.pad(1, 1, 1.0), back >> ct.map(lambda k: k + 1)) >> ct.gather

    return made


def onto(op: Any, neutral: float) -> Any:
    return lambda draw: ct.fork(ct.flip(), indices(draw, N, N), ct.id) >> ct.reduce_by_index(op, neutral)


def log_add(a: float, b: float) -> float:
    return a + b + a * b


STEPS: dict[str, Any] = {
    "fold *": lambda draw: beside(ct.fold(ct.mul, 1.0)),
    "fold max": lambda draw: beside(ct.fold(ct.maximum, -np.inf)),
    "fold min of rows": lambda draw: (
        ct.reshape((2, 3)) >> ct.fork(ct.id, ct.fold(lambda a, b: a if a <= b else b, np.inf)) >> ct.sub >> ct.reshape((N,))
    ),
    "fold * of rows": lambda draw: (
        ct.reshape((3, 2)) >> ct.fork(ct.fold(ct.mul, 1.0), ct.id) >> TIMES >> ct.reshape((N,))
    ),
    "scan *": lambda draw: ct.scan(ct.mul, 1.0, exclusive=draw(st.booleans()), reverse=draw(st.booleans())),
    "scan max": lambda draw: ct.scan(ct.maximum, -np.inf, reverse=draw(st.booleans())),
    "scan of a + b + a b": lambda draw: ct.map(lambda x: 0.25 * x) >> ct.scan(log_add, 0.0),
    "histogram *": by_bin(ct.mul, 1.0),
    "histogram max": by_bin(ct.maximum, -np.inf),
    "histogram of a + b + a b": by_bin(log_add, 0.0),
    "reduce by index *": onto(ct.mul, 1.0),
    "reduce by index min": onto(ct.minimum, np.inf),
    "map": lambda draw: ct.map(lambda x: x * x),
    "map of two": lambda draw: ct.map(lambda x: (x, x * x)) >> ct.map(lambda x, y: x - 0.5 * y),
    "flip": lambda draw: ct.flip(),
    "neg": lambda draw: ct.neg,
    "by itself": lambda draw: ct.fork(ct.id, ct.flip()) >> TIMES,
    "columns": lambda draw: ct.replicate(2) >> ct.map(lambda x: x * x) >> ct.sum(axis=0),
    "adding up": lambda draw: ct.fork(ct.flip(), indices(draw, N, N), ct.map(lambda x: x * x)) >> ct.scatter_add,
}  # fmt: skip


@st.composite
def programs(draw: Any) -> ct.D:
    """Boxes with fast paths after each other, with maps between them that stages take in."""
    names = draw(st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=4))
    return ct.compose(*[STEPS[name](draw) for name in names])


def modes(f: ct.D, x: Any, v: Any, w: Any) -> list[tuple[ct.D, Any]]:
    """Value, tangent, and value with the pullback."""
    return [(f, x), (ct.tangent(f), (x, v)), (ct.fork(ct.exl >> f, ct.reverse_differential(f)), (x, w))]


def compared(f: ct.D, x: Any) -> None:
    v, w = np.linspace(-1.0, 1.0, N).astype(x.dtype), np.linspace(0.5, 1.5, N).astype(x.dtype)
    for g, at in modes(f, x, v, w):
        want = on("reference", g, at)
        with ct.num_threads(1):
            got = on("cpu", g, at)
        assert_near(got, want, eps=1024.0, note=(g, at))
        with ct.num_threads(2):
            for a, b in zip(on("cpu", g, at), got, strict=True):
                assert np.array_equal(a, b, equal_nan=True)


NUMBERS = st.lists(st.sampled_from([0.0, -0.0, 1.0, 1.0, -1.0, 0.5, 2.0, -3.0]), min_size=N, max_size=N)
QUICK = settings(max_examples=1, suppress_health_check=list(HealthCheck))
LONG = settings(QUICK, max_examples=150)
both = pytest.mark.parametrize("effort", [QUICK, pytest.param(LONG, marks=pytest.mark.slow)], ids=["quick", "long"])
TWICE = (
    ct.fork(ct.const(np.zeros(N, np.int64)), ct.id) >> ct.histogram(ct.mul, 1.0, 1) >> ct.replicate(2) >> ct.square
    >> ct.fork(ct.const(np.zeros(2, np.int64)), ct.id) >> ct.histogram(ct.mul, 1.0, 1) >> ct.broadcast_to((N, 1))
    >> ct.reshape((N,))
)  # fmt: skip


@pytest.fixture
def forced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that a fast path needs ever holds."""
    small_blocks(monkeypatch)
    small_thresholds(monkeypatch)
    monkeypatch.setattr(blocked, "LONG", 2)
    monkeypatch.setattr(shared_kernels, "doubtful", lambda *_: "true")
    monkeypatch.setattr(program, "tested", lambda *_: "false")


@both
def test_programs_that_take_every_way_out(forced: None, effort: settings) -> None:
    @effort
    @given(programs(), NUMBERS, st.sampled_from([np.float32, np.float64]))
    @example(TWICE, [1.0] * N, np.float64)
    def holds(f: ct.D, x: list[float], dtype: Any) -> None:
        compared(f, np.array(x, dtype))

    holds()


@both
def test_programs_on_zeros_and_ties(effort: settings) -> None:
    @effort
    @given(programs(), NUMBERS)
    @example(TWICE, [0.0] * N)
    @example(ct.square >> ct.fork(ct.flip(), ct.const(np.arange(N)), ct.map(lambda x: 0.0 * x)) >> ct.scatter_add, [1.0] * N)
    def holds(f: ct.D, x: list[float]) -> None:
        compared(f, np.array(x))

    holds()


@both
def test_all_kinds_of_programs_that_take_every_way_out(forced: None, effort: settings) -> None:
    @effort
    @given(st.data())
    def holds(data: Any) -> None:
        dom = data.draw(st.sampled_from([ct.f64[3], ct.f64[2, 3], ct.f64[3] * ct.f64[3]]))
        f = data.draw(terms(dom, polynomial=True, boxes=6))
        x, w = (data.draw(points(space, small_integers=True)) for space in (dom, f.spaces(dom)))
        for g, at in ((f, x), (ct.fork(ct.exl >> f, ct.reverse_differential(f)), (x, w))):
            assert_near(on("cpu", g, at), on("reference", g, at), note=(g, at))

    holds()


@pytest.mark.filterwarnings("ignore:no machine code")
@both
def test_programs_of_which_nothing_can_be_printed(monkeypatch: pytest.MonkeyPatch, effort: settings) -> None:
    def refused(*_: Any) -> Any:
        raise CannotPrint("nothing", "this test forbids it")

    @effort
    @given(programs(), NUMBERS)
    @example(TWICE, [0.0] * N)
    def holds(f: ct.D, x: list[float]) -> None:
        compared(f, np.array(x))

    printed_anew(monkeypatch)
    monkeypatch.setattr(numbers, "llvm_function", refused)
    holds()


# -- products of the others, exactly


def products_of_others(x: list[float], dtype: Any) -> Any:
    """By fractions, so that nothing over- or underflows before the end."""
    return np.array([product(x[:i] + x[i + 1 :]) for i in range(len(x))], np.float64).astype(dtype)


def product(x: list[float]) -> float:
    sign = math.prod(math.copysign(1.0, v) for v in x)
    if any(map(math.isnan, x)) or (0.0 in x and any(map(math.isinf, x))):
        return math.nan
    if any(map(math.isinf, x)):
        return sign * math.inf
    exact = math.prod(Fraction(v) for v in x)
    return math.copysign(float(exact) if abs(exact) < 10**308 else math.inf, sign)


WILD = [0.0, -0.0, 1.0, -1.0, 3.0, -0.3, 1e30, -1e-30, 1e-40, np.nan, np.inf, -np.inf]
FEW = 10
FAR = [*WILD, 1e200, -1e-200, 1e300, 1e-310, 5e-324]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("engine", ["reference", "cpu"])
@pytest.mark.parametrize("draws", [FEW, pytest.param(200, marks=pytest.mark.slow)])
def test_products_of_the_others_of_any_numbers(draws: int, engine: str, dtype: Any) -> None:
    rng = np.random.default_rng(3)
    whole, by_bin = ct.grad(ct.fold(ct.mul, 1.0)), ct.grad(ct.histogram(ct.mul, 1.0, 2) >> ct.sum(), argnums=1)
    rows, wide = (
        ct.grad(ct.fold(ct.mul, 1.0, axis=1) >> ct.sum()),
        ct.grad(ct.histogram(ct.mul, 1.0, 2) >> ct.sum(), argnums=1),
    )
    eps = 16 * np.finfo(dtype).eps
    for _ in range(draws):
        x = rng.choice(WILD if dtype == np.float32 else FAR, 5).astype(dtype)
        index = rng.integers(-1, 3, 5)
        with np.errstate(all="ignore"):
            want = products_of_others([float(v) for v in x], dtype)
            binned = np.zeros(5, dtype)
            for bin_ in (0, 1):
                own = np.flatnonzero(index == bin_)
                binned[own] = products_of_others([float(v) for v in x[own]], dtype)
            assert_close(on(engine, whole, x)[0], want, eps, x)
            assert_close(on(engine, by_bin, index, x)[0], binned, eps, (index, x))
            if dtype == np.float32 and draws == FEW:
                continue  # rows differ by their loops alone
            assert_close(on(engine, rows, np.stack([x, x[::-1]]))[0], np.stack([want, want[::-1]]), eps, x)
            assert_close(on(engine, wide, index, np.stack([x, x], 1))[0], np.stack([binned, binned], 1), eps, (index, x))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 19])
@pytest.mark.parametrize("odd", [0.0, 0.01])
def test_rows_by_bin_of_any_numbers_among_usual_ones(odd: float, width: int, dtype: Any) -> None:
    rng = np.random.default_rng(width)
    m, bins = 120, 2
    away = np.where(np.arange(m) < m / 2, 40.0, -40.0)[:, None]  # the products leave the range of doubles, and come back
    x = (2.0 ** (away + rng.uniform(-10, 10, (m, width)))).astype(dtype)
    some = rng.random(x.shape) < odd
    x[some] = rng.choice(WILD if dtype == np.float32 else FAR, int(some.sum()))
    index = rng.integers(-1, bins + 1, m)
    want = np.zeros_like(x)
    for bin_ in range(bins):
        for c in range(width):
            own = np.flatnonzero(index == bin_)
            with np.errstate(all="ignore"):
                want[own, c] = products_of_others([float(v) for v in x[own, c]], dtype)
    at = (index, x if width > 1 else x[:, 0])
    (found,) = on("cpu", ct.grad(ct.histogram(ct.mul, 1.0, bins) >> ct.sum(), argnums=1), *at)
    assert_close(found, want.reshape(found.shape), 16 * m * float(np.finfo(dtype).eps), at)


@pytest.mark.quick(8)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("odd", [[], [0.0], [-np.inf, 0.0], [np.inf, np.inf, np.nan]])
def test_products_of_the_others_along_axes_of_many(odd: list[float], axis: int, dtype: Any) -> None:
    rng = np.random.default_rng(5)
    x = (2.0 ** rng.uniform(-10, 10, (45, 37))).astype(dtype)
    for at, value in enumerate(odd):
        x[3 * at, 3 * at if axis == 0 else 5] = value  # in several lines, or in one
        x[7, 3 + at] = value
    lines = x if axis == 1 else x.T
    with np.errstate(all="ignore"):
        want = np.stack([products_of_others([float(v) for v in line], dtype) for line in lines])
    for engine in ("reference", "cpu"):
        (found,) = on(engine, ct.grad(ct.fold(ct.mul, 1.0, axis=axis) >> ct.sum()), x)
        assert_close(found, want if axis == 1 else want.T, 1000 * float(np.finfo(dtype).eps), x)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1023, 1024, 1027])
def test_long_products_of_the_others_of_powers_of_two(n: int, dtype: Any) -> None:
    rng = np.random.default_rng(n)
    up = rng.integers(0, 101, n // 2)
    power = np.concatenate([up, -up, np.zeros(n % 2, np.int64)])  # the products leave the range of doubles, and come back
    quarters = 5 + n // 4 * np.arange(4)  # places whose factors are multiplied first
    kinds = ([], [0.0], [-np.inf], [np.nan], [0.0, -0.0], [-np.inf, 0.0], [np.inf, np.nan])
    for odd, places in [(odd, places) for odd in kinds for places in combinations(quarters, 2)]:
        x = np.ldexp(rng.choice([-1.0, 1.0], n), power).astype(dtype)
        x[list(places)[: len(odd)]] = odd
        sign, exponents = np.copysign(1.0, x), np.where(np.isfinite(x) & (x != 0), power, 0)
        zeros, infinite, unknown = ((kind.sum() - kind).astype(bool) for kind in (x == 0, np.isinf(x), np.isnan(x)))
        size = np.where(zeros, 0.0, np.where(infinite, np.inf, np.ldexp(1.0, exponents.sum() - exponents)))
        want = np.where(unknown | (zeros & infinite), np.nan, np.copysign(size, np.prod(sign) * sign))
        with np.errstate(all="ignore"):
            want = want.astype(dtype)
        (found,) = on("cpu", ct.grad(ct.fold(ct.mul, 1.0)), x)
        assert np.array_equal(found, want, equal_nan=True), odd
        (found,) = on("cpu", ct.grad(ct.fold(ct.mul, 1.0, axis=0) >> ct.sum()), np.stack([x, x[::-1]], 1))
        assert np.array_equal(found, np.stack([want, want[::-1]], 1), equal_nan=True), odd


def assert_close(got: Any, want: Any, eps: float, note: Any) -> None:
    least = 4.0 * float(np.finfo(want.dtype).smallest_subnormal)
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=eps, atol=least, err_msg=str(note))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_products_that_leave_the_range(dtype: Any) -> None:
    rng = np.random.default_rng(4)
    x = rng.uniform(0.5, 1.5, 100_003).astype(dtype)
    x[50_000:] = (1.0 / x[:50_003][::-1]).astype(dtype)  # up again, so that the products of the others are numbers
    logs = np.log(x.astype(np.float64))
    want = np.exp(math.fsum(logs) - logs)
    index = np.zeros(len(x), np.int64)
    by_bin = ct.grad(ct.histogram(ct.mul, 1.0, 1) >> ct.sum(), argnums=1)
    found = []
    for count in (1, 2, 3):
        with ct.num_threads(count):
            found.append((*on("cpu", ct.grad(ct.fold(ct.mul, 1.0)), x), *on("cpu", by_bin, index, x)))
    for got in found[0]:
        np.testing.assert_allclose(got, want, rtol=len(x) ** 0.5 * 8 * float(np.finfo(dtype).eps))
    for other in found[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(other, found[0], strict=True))

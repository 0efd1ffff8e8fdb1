"""Scans, recurrences, segments, positions of extrema and products of others on arrays in blocks."""

import numpy as np
import pytest

import catad as ct
from catad.category.spaces import Product, Tensor
from catad.category.wiring import Builder
from catad.chunks.here import blocked
from catad.chunks.libraries import HERE
from catad.engine.program import Program
from catad.linear.families.recurrence import ONE, ZERO, Recurred, links_of
from catad.testing import check_chunks
from catad.testing.chunks import random_parts
from catad.testing.chunks import whole as leaves
from catad.vector.pointwise.generate import Iota
from catad.vector.scans.scan import Scan
from catad.vector.scans.segmented import NumberedByFlags, NumberedByLengths
from tests.chunks.plans import plans, ran_whole

RNG = np.random.default_rng(7)
X = np.linspace(0.1, 2.0, 23)
M = np.outer(X[:6], X[:9])
F = X % 0.3 < 0.1
TIES = np.floor(5 * X) % 4
HUGE = 1e30 ** (np.arange(23) % 3 - 1.0)
SEQUENCES = {"Scan", "Recurred", "NumberedByFlags", "NumberedByLengths", "Origin", "PreviousState"}
OWN = {*SEQUENCES, "Fold", "ArgExtremum", "LeaveOneOutProduct"}


def times(a, b):
    return a * b


def composed(f, g):
    return f[0] * g[0], f[1] * g[0] + g[1]


def soft(a, b, t):
    return t * np.logaddexp(a / t, b / t)


def with_zeros(*at):
    x = X.copy()
    x[list(at)] = 0
    return x


def segmented(op, neutral, **options):
    return lambda flags, x: ct.segmented_scan(op, neutral, **options)(flags, x)


SCANS = {
    "sums": (ct.scan(lambda a, b: a + b, 0.0), [X]),
    "sums of integers": (np.cumsum, [np.arange(9)]),
    "sums of rows": (lambda x: np.cumsum(x, axis=1), [M]),
    "products": (ct.scan(times, 1.0), [X]),
    "products in single precision": (ct.scan(times, 1.0) >> ct.sum(), [X.astype(np.float32)]),
    "products down columns": (ct.scan(times, 1.0, axis=1), [M]),
    "products with zeros": (ct.scan(times, 1.0), [with_zeros(3, 11)]),
    "numpy products": (np.cumprod, [X]),
    "maxima": (ct.scan(np.maximum, -np.inf), [np.sin(7 * X)]),
    "maxima of integers": (ct.scan(np.maximum, -9), [np.arange(9) * 7 % 5]),
    "maxima with NaN": (ct.scan(np.maximum, -np.inf), [np.where(np.arange(23) == 9, np.nan, X)]),
    "affine maps": (ct.scan(composed, (1.0, 0.0)), [X, X - 1]),
    "free numbers": (ct.scan(soft, -np.inf, params=1), [X, 1.5]),
    "free numbers of columns": (ct.scan(soft, -np.inf, params=1), [M, X[:9]]),
    "logarithms": (ct.scan(np.logaddexp, -np.inf), [X]),
    "after all others": (ct.scan(times, 1.0, exclusive=True, reverse=True), [X]),
    "sums after": (ct.scan(lambda a, b: a + b, 0.0, exclusive=True, reverse=True), [X]),
    "suffixes": (ct.scan(lambda a, b: a + b, 0.0, reverse=True), [X]),
    "suffixes of rows": (ct.scan(times, 1.0, reverse=True, axis=1), [M]),
    "affine maps from the end": (ct.scan(composed, (1.0, 0.0), reverse=True, exclusive=True), [X, X - 1]),
    "free numbers from the end": (ct.scan(soft, -np.inf, reverse=True, params=1), [X, 1.5]),
    "cumulative sums from both ends": (lambda x: np.cumsum(x[::-1])[::-1] * np.cumprod(x[::-1]), [X]),
    "sums before": (ct.scan(lambda a, b: a + b, 0.0, exclusive=True), [X]),
    "largest drawdown": (lambda x: np.max(ct.scan(np.maximum, -np.inf)(x) - x), [np.sin(9 * X)]),
    "extrema before and after": (
        ct.fork(ct.scan(np.maximum, -np.inf, exclusive=True), ct.scan(np.minimum, np.inf, exclusive=True, reverse=True)),
        [np.where(np.arange(23) == 17, np.nan, X)],
    ),
    "maxima of zeros": (lambda x: 1 / ct.scan(np.maximum, -np.inf)(x), [np.where(np.arange(23) % 3, 0.0, -0.0)]),
    "maxima so far and before": (
        lambda x: ct.scan(np.maximum, -np.inf, exclusive=True)(x - np.max(ct.scan(np.maximum, -np.inf)(x))), [np.sin(9 * X)]
    ),
    "maxima that skip NaN": (ct.scan(max, -np.inf), [np.where(np.arange(23) == 9, np.nan, np.sin(7 * X))]),
    "products of integers": (ct.scan(times, 1, exclusive=True), [np.arange(11) % 3 + 1]),
    "sums of infinities": (np.cumsum, [np.where(np.arange(23) == 9, np.inf, np.where(np.arange(23) == 15, -np.inf, X))]),
    "infinities": (ct.scan(np.maximum, -np.inf), [np.where(np.arange(23) > 5, -np.inf, np.inf)]),
}
RECURRENCES = {
    "recurrence": (ct.recurrence, [X, X - 1]),
    "its squares": (lambda a, b: np.sum(ct.recurrence(a, b) ** 2), [X.astype(np.float32), (X - 1).astype(np.float32)]),
    "recurrences": (ct.recurrence, [RNG.normal(size=(17, 3)), RNG.normal(size=(17, 3))]),
    "by matrices": (ct.recurrence, [RNG.normal(size=(17, 2, 2)), RNG.normal(size=(17, 2))]),
}
SEGMENTS = {
    "products of segments": (segmented(times, 1.0), [F, X]),
    "sums of segments": (segmented(ct.add, 0.0), [F.astype(np.int8), X]),
    "backwards": (segmented(times, 1.0, reverse=True, exclusive=True), [F, X]),
    "by lengths": (segmented(times, 1.0, by="lengths"), [np.array([3, 0, 9, 11]), X]),
    "NaN in a segment": (segmented(ct.add, 0.0), [F, np.where(np.arange(23) == 9, np.nan, X)]),
    "maxima of segments": (segmented(np.maximum, -9), [F[:9], np.arange(9) * 7 % 5]),
}
FOLDS = {
    "product": (ct.fold(times, 1.0), [X]),
    "product of columns": (ct.fold(times, 1.0, axis=1), [M]),
    "product with a zero": (ct.fold(times, 1.0), [with_zeros(7)]),
    "product with two zeros": (ct.fold(times, 1.0), [with_zeros(7, 11).astype(np.float32)]),
    "product of huge numbers": (ct.fold(times, 1.0), [HUGE * 1e-3]),
    "maximum": (ct.fold(np.maximum, -np.inf), [TIES]),
    "minimum of rows": (ct.fold(np.minimum, np.inf, axis=1), [np.outer(np.arange(5), np.arange(6)) % 3.0]),
    "nothing but infinity": (ct.fold(np.maximum, -np.inf), [np.full(7, -np.inf)]),
    "logarithm of a sum": (ct.fold(np.logaddexp, -np.inf), [X]),
    "affine map": (ct.fold(composed, (1.0, 0.0)), [X, X - 1]),
    "position": (np.argmin, [TIES]),
    "positions": (lambda x: np.argmax(x, axis=1), [np.outer(np.arange(5), np.arange(6)) % 3.0]),
}
ALL = {**SCANS, **RECURRENCES, **SEGMENTS, **FOLDS}


@pytest.mark.parametrize("name", ALL)
def test_programs(name):
    f, args = ALL[name]
    with ct.use_engine("reference"), plans() as found:
        for seed in range(3):
            check_chunks(f, *args, seed=seed)
    assert not ran_whole(found) & OWN


@pytest.mark.parametrize("name", ["products", "affine maps", "recurrence", "sums of segments", "product with a zero", "maximum"])
def test_compiled_programs(name):
    f, args = ALL[name]
    check_chunks(f, *args, seed=3)


def program(term, *spaces):
    b = Builder()
    wires = [b.wire(space) for space in spaces]
    made = b.add(term, *wires)
    return Program(b.finish(Product(spaces), tuple(wires), tuple(made)))


def same(term, arrays, rng, most=4):
    """A box on arrays in blocks is what it is on whole arrays; returns what it is."""
    run = program(term, *[Tensor(a.shape, a.dtype) for a in arrays])
    with ct.use_engine("reference"), plans() as found:
        whole = run(np, list(arrays))
        made = run(HERE, [blocked(a, random_parts(a.shape, rng, most)) for a in arrays])
    assert not ran_whole(found)
    for a, b in zip(made, whole, strict=True):
        np.testing.assert_allclose(a.numpy() if hasattr(a, "numpy") else a, b, rtol=1e-10, atol=1e-12)
    return whole


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("copies", [1, 2])
def test_grids_of_links(copies, reverse, reset):
    """Every grid of links: slots, shared slots, zeros and ones; with resets NaN does not pass."""
    rng = np.random.default_rng(copies + 2 * reverse + 4 * reset)
    for d in (1, 2, 3):
        for _ in range(4):
            grid = tuple([tuple([int(rng.choice([ZERO, ONE, 0, 1])) for _ in range(d)]) for _ in range(d)])
            links = links_of(grid)
            shape = (13, 3) if rng.random() < 0.5 else (19,)
            arrays = [rng.normal(size=shape) for _ in range(links)]
            resets = [rng.random(shape) < 0.2] if reset else []
            for link in arrays if reset else ():
                link[resets[0]] = np.nan
            arrays += [*resets, *[rng.normal(size=shape) for _ in range(d * copies)]]
            same(Recurred(grid, int(len(shape) > 1 and rng.random() < 0.5), reverse, copies, reset), arrays, rng)


def test_many_blocks():
    """Totals are scanned in two levels."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=120) / 9 + 1
    flags = rng.random(120) < 0.1
    parts = (1,) * 50 + (0,) * 3 + (2,) * 35
    cases = {
        "products": (ct.scan(times, 1.0, reverse=True), [x]),
        "affine maps": (ct.scan(composed, (1.0, 0.0)), [x, x]),
        "free numbers": (ct.scan(soft, -np.inf, params=1), [x, 0.5]),
        "recurrence": (ct.recurrence, [x, x]),
        "segments": (segmented(times, 1.0), [flags, x]),
    }
    for f, args in cases.values():
        with ct.use_engine("reference"):
            whole, pulled = ct.vjp(f, *args)
            made, pulled_in_blocks = ct.vjp(f, *[blocked(a, (parts,)) if np.ndim(a) else a for a in args])
            w = whole  # as a cotangent
            for a, b in zip(leaves((made, pulled_in_blocks(w))), leaves((whole, pulled(w))), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["sums", "suffixes", "maxima", "extrema before and after", "largest drawdown"])
def test_no_step_is_told_from_others(name):
    """Blocks of sums and extrema are joined with what stands before them without a choice by positions."""
    f, args = SCANS[name]
    with ct.use_engine("reference"), plans() as found:
        (f if isinstance(f, ct.D) else ct.function(f))(*[blocked(a, ((7, 9, 7),)) for a in args])
    boxes = [box.primitive for one in found for program in one.programs.values() for box in program.wiring.boxes]
    assert any(isinstance(box, (Scan, Recurred)) for box in boxes)
    assert not any(isinstance(box, Iota) for box in boxes)


def test_numbers_of_segments():
    rng = np.random.default_rng(2)
    flags = rng.random((12, 5)) < 0.3
    for axis in (0, 1):
        same(NumberedByFlags(-1, axis), [flags], rng)
    one = flags[:, 0]
    count = same(NumberedByFlags(-1), [one], rng)[0].max() + 1
    same(NumberedByFlags(int(count)), [one], rng)
    same(NumberedByLengths(9), [np.array([2, 0, 3, 0, 4])], rng)
    same(NumberedByLengths(4, 1), [np.array([[2, 0, 2], [1, 3, 0]])], rng)
    for parts in ((4, 0, 8), (0, 6, 6)):
        for given, run in (
            (one * 2, NumberedByFlags(-1)),
            (one, NumberedByFlags(int(count) + 1)),
        ):
            with pytest.raises(ct.errors.ArgumentError) as whole:
                program(run, Tensor(given.shape, given.dtype))(np, [given])
            with pytest.raises(ct.errors.ArgumentError, match=r"segment|flags"):
                program(run, Tensor(given.shape, given.dtype))(HERE, [blocked(given, (parts,))])
            assert "segment" in str(whole.value) or "flags" in str(whole.value)
    with pytest.raises(ct.errors.ArgumentError, match="lengths"):
        program(NumberedByLengths(8), Tensor((2,), np.int64))(HERE, [blocked(np.array([3, 4]), ((1, 1),))])


def test_laws_are_checked_in_the_first_block():
    x = blocked(X, ((9, 0, 14),))
    for f in (ct.scan(lambda a, b: a - b, 0.0), ct.fold(times, 2.0), ct.scan(np.maximum, 0.5)):
        with pytest.raises(ct.errors.MonoidError) as whole:
            f(X)
        with pytest.raises(ct.errors.MonoidError) as found:
            f(x)
        assert str(found.value).split("\n")[0] == str(whole.value).split("\n")[0]
    with pytest.raises(ct.errors.MonoidError, match="associative"):
        ct.scan(ct.matmul >> ct.map(lambda a: a + 1), np.eye(2))(blocked(RNG.normal(size=(9, 2, 2)), ((4, 5), (2,), (2,))))


def test_winners():
    """Ties give the first, also across blocks; NaN wins where it does on the whole array."""
    for x in (TIES, np.full(23, -np.inf), np.where(np.arange(23) % 9 == 4, np.nan, TIES), np.zeros(23)):
        for f in (ct.fold(np.maximum, -np.inf), ct.fold(np.minimum, np.inf)):
            with ct.use_engine("reference"):
                expected = ct.grad(f)(x)
                for seed in range(6):
                    parts = random_parts(x.shape, np.random.default_rng(seed))
                    np.testing.assert_array_equal(ct.grad(f)(blocked(x, parts)).numpy(), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_products_of_links_leave_the_range_of_floats(engine, dtype):
    """States are right where they are finite, although links of a block multiplied are not."""
    parts = ((1000, 1500, 0, 1500),)
    n = 4000
    small, tail = np.arange(n) < 100, np.arange(n) > n - 9
    start = np.eye(1, n)[0].astype(dtype)
    twice = np.where(small, 0.5, np.where(np.arange(n) % 1000 < 200, 2.0, 1.0)).astype(dtype)  # 2**-100 to 2**500 and so on
    zeros = np.where(np.arange(n) == 5, 0.0, 3.0).astype(dtype)
    last = np.where(tail, 1.0, 0.0).astype(dtype)
    with ct.use_engine(engine), np.errstate(all="ignore"):
        for a, b in ((np.full(n, 3.0, dtype), last), (zeros, start), (twice, start)):
            expected = ct.recurrence(a, b)
            np.testing.assert_allclose(ct.recurrence(blocked(a, parts), blocked(b, parts)).numpy(), expected, rtol=1e-5)
        np.testing.assert_array_equal(ct.scan(times, 1.0)(blocked(zeros, parts)).numpy(), ct.scan(times, 1.0)(zeros))
        np.testing.assert_array_equal(ct.scan(times, 1.0)(blocked(twice, parts)).numpy(), ct.scan(times, 1.0)(twice))
        rows = (*parts, (2,))
        a = np.zeros((n, 2, 2), dtype)
        a[:, 0, 0], a[:, 1, 1], a[:, 1, 0] = 2, 0.5, 0.1
        b = np.stack([np.zeros(n), np.ones(n)], axis=1).astype(dtype)
        found = ct.recurrence(blocked(a, (*parts, (2,), (2,))), blocked(b, rows)).numpy()
        np.testing.assert_allclose(found, ct.recurrence(a, b), rtol=1e-5)

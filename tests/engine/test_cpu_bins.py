"""Folds by bin on the CPU engine against the reference: values, gradients, second derivatives, any number of threads."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.category.spaces import flatten
from catad.category.wiring import wire
from catad.engine.cpu.run import kernel, target
from catad.engine.cpu.whole import by_bin
from catad.engine.program import Program
from catad.engine.text import binned
from catad.values import buffers
from catad.vector.bins.prefixes_by_bin import PrefixByBin
from catad.vector.folds.monoid import monoid_of

from . import cpu_support
from .cpu_support import printed_anew

pytestmark = [
    pytest.mark.numpy_only,
    pytest.mark.skipif(not target.available(), reason="there is no LLVM here"),
    pytest.mark.full_code,
]

INF, PIECE = np.inf, 1 << 14
CAPPED = (lambda a, b: min(a + b, 3.0)), 0.0
FIRST = (lambda a, b: a if a != 0 else b), 0.0
AFFINE = (lambda f, g: (f[0] * g[0], f[1] * g[0] + g[1])), (1.0, 0.0)
ARGMAX = (lambda a, b: (a[0], a[1]) if a[0] >= b[0] else (b[0], b[1])), (-INF, -1)
OPERATORS: dict[str, Any] = {
    "+": (operator.add, 0.0),
    "*": (operator.mul, 1.0),
    "max": (max, -INF),
    "min": (min, INF),
    "capped": CAPPED,
    "first": FIRST,
    "affine": AFFINE,
    "argmax": ARGMAX,
}


@pytest.fixture(autouse=True)
def _threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Threads as before afterwards; and memory for results that is never zero, so that nothing can be left out unseen."""
    empty = buffers.empty

    def dirty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        out = empty(shape, dtype)
        out.fill(np.frombuffer(bytes([0x55] * dtype.itemsize), dtype)[0])
        return out

    monkeypatch.setattr(buffers, "empty", dirty)
    with ct.num_threads(ct.get_num_threads()):
        yield


def elements(name: str, shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> Any:
    """Elements of an operator: eighths near 1, so that there are ties, and sums are exact: no rounding decides at a kink."""

    def one() -> Any:
        return (rng.integers(4, 13, shape) / 8).astype(dtype)

    if name == "affine":
        return one(), one()
    return (one(), rng.integers(0, 9, shape)) if name == "argmax" else one()


def leaves(value: Any) -> list[Any]:
    return [np.asarray(leaf) for leaf in flatten(value) if not isinstance(leaf, tuple)]


def ones(y: Any) -> Any:
    if isinstance(y, tuple):
        return tuple([ones(part) for part in y])
    return np.ones_like(y) if y.dtype.kind == "f" else ()


def value_and_pullback(f: ct.D, *x: Any) -> list[Any]:
    y, pullback = ct.vjp(f, *x)
    return leaves((y, pullback(ones(y))))


def on(engine: str, run: Callable[[], list[Any]]) -> list[Any]:
    with ct.use_engine(engine):
        return run()


def agree(run: Callable[[], list[Any]], dtype: str) -> None:
    """The engine against the reference, within rounding, and bit for bit for any number of threads."""
    want = on("reference", run)
    found = []
    for count in (1, 2, 3):
        ct.set_num_threads(count)
        found.append(on("cpu", run))
    for one, two, three in zip(*found, strict=True):
        assert np.array_equal(one, two, equal_nan=True) and np.array_equal(one, three, equal_nan=True)
    tolerance = 3e-4 if dtype == "float32" else 1e-11
    for a, b in zip(want, found[0], strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(b, a, rtol=tolerance, atol=tolerance)


@pytest.mark.quick(3)
@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_histograms_and_their_gradients(name: str, dtype: str) -> None:
    rng = np.random.default_rng(1)
    for m, bins, rest in product((0, 1, 2, 9, 300), (0, 1, 4, 700), ((), (3,))):
        index = rng.integers(-1, bins + 1, m)
        f = ct.histogram(*OPERATORS[name], bins=bins)
        x = elements(name, (m, *rest), dtype, rng)
        agree(lambda f=f, index=index, x=x: value_and_pullback(f, index, x), dtype)  # type: ignore[misc]


@pytest.mark.quick(4)
@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("bins", [3, 300, 40_000])
def test_many_values_in_pieces(name: str, bins: int) -> None:
    """Enough of them for units of units where bins are few."""
    rng, m = np.random.default_rng(2), 5 * PIECE + 17
    if name in ("*", "affine"):
        x = elements(name, (m,), "float64", rng)
        x = tuple([1 + 1e-5 * (leaf - 1) for leaf in x]) if isinstance(x, tuple) else 1 + 1e-5 * (x - 1)
    else:
        x = elements(name, (m,), "float64", rng)
    f = ct.histogram(*OPERATORS[name], bins=bins)
    index = rng.integers(-1, bins + 1, m)
    agree(lambda: value_and_pullback(f, index, x), "float32")
    constant = np.full(m, bins - 1)
    agree(lambda: leaves(f(constant, x)), "float32")


@pytest.mark.quick(3)
@pytest.mark.parametrize("name", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_indices_of_any_integer_dtype(name: str) -> None:
    """Out of range ones are dropped: negative ones, and such as are negative when read as signed numbers."""
    index = np.array([0, 3, 1, 3, 100, 2, 0], name)
    index[4] = np.iinfo(name).max
    index[5] = np.iinfo(name).min if name[0] == "i" else np.iinfo(name).max
    x = np.arange(1.0, 8.0) / 4
    for op in ("+", "*", "max", "capped"):
        f = ct.histogram(*OPERATORS[op], bins=4)
        agree(lambda f=f: value_and_pullback(f, index, x), "float64")  # type: ignore[misc]


def test_integers_and_booleans() -> None:
    index = np.array([2, 0, 0, 5, 2, 2])
    for op, e, x in (
        (operator.add, 0, np.array([5, -7, 2, 1, 3, 4], np.int32)),
        (operator.mul, 1, np.array([5, -7, 2, 1, 3, 4])),
        (lambda a, b: a or b, False, np.array([True, False, False, True, False, False])),
    ):
        agree(lambda op=op, e=e, x=x: leaves(ct.histogram(op, e, bins=4)(index, x)), "float64")  # type: ignore[misc]


def test_nan_zero_and_infinity_stay_in_their_bins() -> None:
    index = np.array([0, 1, 1, 2, 2, 3, 3, 9, 4, 4])
    x = np.array([1.0, np.nan, 2.0, 0.0, -3.0, INF, 1.0, np.nan, -0.0, 0.0])
    for name in ("+", "*", "max", "min", "capped", "first"):
        f = ct.histogram(*OPERATORS[name], bins=6)
        agree(lambda f=f: value_and_pullback(f, index, x), "float64")  # type: ignore[misc]
        assert ct.vjp(f, index, x)[1](np.ones(6))[1][7] == 0.0  # what is dropped


def test_products_where_the_whole_leaves_the_range() -> None:
    """The quotient of the product of a bin by the value would be wrong there."""
    index = np.array([0, 0, 1, 1, 1, 2, 2, 2])
    x = np.array([1e200, 1e200, 0.0, 3.0, 5.0, 1e-200, 1e-200, 7.0])
    f = ct.histogram(operator.mul, 1.0, bins=3)
    with ct.use_engine("cpu"):
        got = ct.vjp(f, index, x)[1](np.ones(3))[1]
    np.testing.assert_allclose(got, [1e200, 1e200, 15, 0, 0, 7e-200, 7e-200, 0.0], rtol=1e-14)


@pytest.mark.parametrize("name", ["*", "max", "capped", "affine"])
def test_second_derivatives(name: str) -> None:
    rng = np.random.default_rng(3)
    index, x = rng.integers(-1, 4, 12), elements(name, (12,), "float64", rng)
    f = ct.histogram(*OPERATORS[name], bins=3)
    squared = f >> (ct.exl if isinstance(x, tuple) else ct.id) >> ct.map(lambda a: a * a) >> ct.sum()
    gradient = ct.grad(squared, argnums=1)
    agree(lambda: leaves(ct.jvp(gradient, (index, x), ((), x))), "float64")


def test_reduce_by_index_and_segments() -> None:
    rng = np.random.default_rng(4)
    x, index = rng.uniform(0.5, 1.5, 50), rng.integers(-1, 6, 50)
    lengths = np.array([3, 0, 40, 7])
    for name in ("+", "*", "max", "capped"):
        op, e = OPERATORS[name]
        agree(lambda op=op, e=e: value_and_pullback(ct.reduce_by_index(op, e), np.ones(5), index, x), "float64")  # type: ignore[misc]
        fold = ct.segmented_fold(op, e, by="lengths")
        agree(lambda fold=fold: value_and_pullback(fold, lengths, x), "float64")  # type: ignore[misc]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_adding_few_numbers_to_many_places(dtype: str) -> None:
    """With an index twice, negative zeros, and indices out of range; the zeros may be memory that was used before."""
    for n in (1000, 3_000_000):  # the larger shared among threads
        for index in (np.array([7]), np.array([5, 5, 6, -1, n, 6]), np.arange(0, n, 5)):
            v = np.linspace(-1.0, 1.0, len(index)).astype(dtype)
            v[0] = -0.0
            with ct.use_engine("cpu"):
                got = ct.histogram(operator.add, 0.0, bins=n)(index, v)
            want = np.zeros(n, dtype)
            inside = (index >= 0) & (index < n)
            np.add.at(want, index[inside], v[inside])
            assert np.array_equal(got, want) and np.array_equal(np.signbit(got), np.signbit(want))


def test_sums_of_float32_are_taken_in_double_precision() -> None:
    x = np.full(1 << 18, 0.1, np.float32)
    with ct.use_engine("cpu"):
        (dense,) = ct.histogram(operator.add, 0.0, bins=1)(np.zeros(len(x), np.int64), x)
        sparse = ct.scatter_add(np.zeros(1 << 21, np.float32), np.zeros(len(x), np.int64), x)[0]
    assert dense == sparse == np.float32(np.sum(x, dtype=np.float64))


def test_arrays_that_are_not_contiguous() -> None:
    rng = np.random.default_rng(5)
    x, index = rng.uniform(0.5, 1.5, (4, 80))[:, ::2].T, rng.integers(0, 5, 120)[::3]
    for name in ("+", "*", "max", "capped"):
        f = ct.histogram(*OPERATORS[name], bins=5)
        agree(lambda f=f: value_and_pullback(f, index, x), "float64")  # type: ignore[misc]


def test_nothing_is_sorted() -> None:
    """Of a histogram and its gradient, for any operator without free numbers."""
    for name, pair in OPERATORS.items():
        at = ct.i64[9] * (
            ct.f64[9] * ct.f64[9] if name == "affine" else ct.f64[9] * ct.i64[9] if name == "argmax" else ct.f64[9]
        )
        f = ct.histogram(*pair, bins=4)
        back = ct.reverse_differential(f)
        for term, space in ((f, at), (back, at * ct.tangent_space(f.spaces(at)))):
            names = {type(box.primitive).__name__ for box in Program(wire(term, space)).boxes}
            assert not names & {"SortByBin", "StableOrder", "Scan", "Recurred"}, (name, names)


@pytest.mark.parametrize("bins", [1, 7, 300])
def test_sums_lose_few_digits(bins: int) -> None:
    """Each sum of tenths is as good as if tens were added one after the other, whatever the number of elements."""
    rng = np.random.default_rng(3)
    index = rng.integers(0, bins, 300_000)
    want = np.array([math.fsum([0.1] * int(n)) for n in np.bincount(index, minlength=bins)])
    x, capped = np.full(len(index), 0.1), ct.histogram(lambda a, b: min(a + b, 1e9), 0.0, bins=bins)
    with ct.use_engine("cpu"):
        for f in (ct.histogram(ct.add, 0.0, bins=bins), capped):
            assert np.all(np.abs(f(index, x) - want) <= 64 * np.finfo(float).eps * want), f


# -- planted faults: each must be seen


def wrong(kind: Any, name: str, made: Any) -> bool:
    """Whether comparisons as above see a fault in a printer."""
    patch = pytest.MonkeyPatch()
    patch.setattr(kind, name, made)
    printed_anew(patch)
    rng, m = np.random.default_rng(6), 3 * PIECE
    index = rng.integers(-1, 6, m)
    try:
        for name_ in ("capped", "first", "max", "argmax"):
            f = ct.histogram(*OPERATORS[name_], bins=5)
            x = elements(name_, (m,), "float64", rng)
            agree(lambda f=f, x=x: value_and_pullback(f, index, x), "float64")  # type: ignore[misc]
        prefixes = PrefixByBin(monoid_of(*OPERATORS["first"]), 2)
        agree(lambda: leaves(prefixes(np.array([0, 5, 0, 1]), np.arange(4.0))), "float64")
        alone = np.array([np.nan, 1.0, 2.0])  # op(neutral, nan) is not nan
        agree(lambda: leaves(ct.histogram(*OPERATORS["max"], bins=3)(np.array([0, 1, 1]), alone)), "float64")
    except AssertionError:
        return True
    finally:
        patch.undo()
        kernel._codes.clear()
    return False


def test_planted_faults_are_seen() -> None:
    joined, chosen, cast = binned.joined, binned.chosen, by_bin.cast

    def swapped(w: Any, what: Any, a: Any, b: Any) -> Any:
        return joined(w, what, b, a)

    def always(w: Any, what: Any, condition: Any, a: Any, b: Any) -> Any:
        return chosen(w, what, "true", a, b)

    def shifted(w: Any, value: str, kind: Any, goal: Any) -> str:
        return cast(w, w.set(f"add i64 {value}, 1") if kind == goal == np.int64 else value, kind, goal)

    assert not wrong(binned, "joined", joined)
    assert wrong(binned, "joined", swapped), "operands exchanged"
    assert wrong(binned, "chosen", always), "the neutral element folded in"
    assert wrong(by_bin._Bins, "join", lambda self, later: None), "units left out"
    assert wrong(by_bin, "cast", shifted), "the next position, and the next bin"


@pytest.mark.parametrize("bins", [2, 5, 1000])
@pytest.mark.parametrize("rest", [(3,), (2, 3)])
@pytest.mark.parametrize("op", [(ct.maximum, -np.inf), (lambda a, b: a if a <= b else b, np.inf)], ids=["max", "min"])
def test_extremes_of_rows_and_their_gradients(op: Any, rest: tuple[int, ...], bins: int) -> None:
    rng = np.random.default_rng(5)
    f = ct.histogram(*op, bins=bins)
    x = rng.integers(-1, min(bins, 6) + 1, 40), rng.integers(0, 4, (40, *rest)).astype(np.float32)
    w = rng.uniform(0.5, 1.5, (bins, *rest)).astype(np.float32)
    back = ct.fork(ct.exl >> f, ct.reverse_differential(f))
    cpu_support.assert_same(cpu_support.on("cpu", back, (x, w)), cpu_support.on("reference", back, (x, w)))

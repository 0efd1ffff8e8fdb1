"""Rows of a sparse matrix: slices whose bounds are read from arrays in a loop cost as much as they have entries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.category.wiring import Wiring
from catad.vector.folds.entry_sum import Summed

ROWS = 30
RNG = np.random.default_rng(4)
LENGTHS = RNG.integers(0, 6, ROWS) * (np.arange(ROWS) % 7 != 3)  # some rows are empty
START = np.concatenate([[0], np.cumsum(LENGTHS)])
MANY = int(START[-1])
COLS = RNG.integers(0, ROWS, MANY)
DATA, X = RNG.normal(size=MANY), RNG.normal(size=ROWS)


def product(start: Any, cols: Any, data: Any, x: Any) -> Any:
    y = np.zeros(ROWS)
    for i in range(ROWS):
        y[i] = data[start[i] : start[i + 1]] @ x[cols[start[i] : start[i + 1]]]
    return y


def computed_with(start: Any, cols: Any, data: Any, x: Any) -> Any:
    y = np.zeros(ROWS)
    for i in range(ROWS):
        row = slice(start[i], start[i + 1])
        y[i] = np.dot(data[row], np.sin(x[cols[row]]) * 2.0 + x[i]) + np.sum(np.where(data[row] > 0, data[row], 0.5)[::-1])
    return y


def whole_rows(start: Any, cols: Any, data: Any, x: Any) -> Any:
    y, z = np.zeros((ROWS, 3)), np.outer(x, np.array([1.0, 2.0, -0.5]))
    for i in range(ROWS):
        a, b = start[i], start[i + 1]
        y[i] = data[a:b] @ z[cols[a:b]] + z[cols[a:b]].sum(axis=0) + (z[cols[a:b], 1] * 2.0).sum()
    return y


def columns(start: Any, cols: Any, data: Any, x: Any) -> Any:
    y, z = np.zeros((ROWS, 2)), np.outer(np.array([1.0, -2.0]), data)
    for i in range(ROWS):
        y[i] = z[:, start[i] : start[i + 1]] @ x[cols[start[i] : start[i + 1]]]
    return y


def relaxed(start: Any, cols: Any, data: Any, x: Any) -> Any:
    x = x.copy()
    for _ in range(2):
        for i in range(ROWS):
            x[i] = 0.5 * x[i] - 0.1 * (data[start[i] : start[i + 1]] @ x[cols[start[i] : start[i + 1]]])
    return x


def in_one_side(start: Any, cols: Any, data: Any, x: Any) -> Any:
    y = np.zeros(ROWS)
    for i in range(ROWS):
        if x[i] > 0:
            y[i] = data[start[i] : start[i + 1]] @ x[cols[start[i] : start[i + 1]]]
        else:
            y[i] = -data[start[i] : start[i + 1]].sum()
    return y


def comprehended(start: Any, cols: Any, data: Any, x: Any) -> Any:
    return np.array([data[a:b] @ x[cols[a:b]] for a, b in zip(start[:-1], start[1:], strict=True)])  # noqa: RUF007


def with_a_pointer(start: Any, cols: Any, data: Any, x: Any) -> Any:
    y, at = np.zeros(ROWS), 0
    for i in range(ROWS):
        n = start[i + 1] - start[i]
        y[i] = data[at : at + n] @ x[cols[at : at + n]]
        at = at + n
    return y


def copies_stay_and_views_do_not(start: Any, cols: Any, data: Any, x: Any) -> Any:
    y, b = np.zeros(ROWS), data.copy()
    for i in range(ROWS):
        copy, view = b[start[i] : start[i + 1]] * 2.0, b[start[i] : start[i + 1]]
        b *= 0.9
        y[i] = copy.sum() + view.sum()
    return y


PROGRAMS = [product, computed_with, whole_rows, columns, relaxed, in_one_side, comprehended, with_a_pointer,
            copies_stay_and_views_do_not]  # fmt: skip
STARTS = {
    "in order": (START, COLS),
    "32 bits, negative columns": (START.astype(np.int32), (COLS - ROWS * (COLS % 2)).astype(np.int32)),
    "out of order": (RNG.permutation(START), COLS),
    "from behind": (START - MANY, COLS),
    "beyond": (START * 2 - 5, COLS),
}


def weighed(y: Any) -> Any:
    return (y * np.cos(np.arange(y.size)).reshape(y.shape)).sum()


def cases() -> list[Any]:
    """Each program with one of the starts, and the others where there is time."""
    names = [*STARTS]
    return [
        pytest.param(fn, which, id=f"{fn.__name__}-{which}", marks=[] if k % len(names) == j else pytest.mark.slow)
        for k, fn in enumerate(PROGRAMS)
        for j, which in enumerate(names)
    ]


@pytest.mark.parametrize(("fn", "which"), cases())
def test_values_and_gradients(fn: Callable[..., Any], which: str) -> None:
    start, cols = STARTS[which]
    if fn is with_a_pointer and which != "in order":
        start = START
    want = fn(start, cols, DATA, X)
    da, dx, h = RNG.normal(size=MANY), RNG.normal(size=ROWS), 1e-6
    ends = [weighed(fn(start, cols, DATA + s * h * da, X + s * h * dx)) for s in (1, -1)]
    for engine in ("reference", "cpu") if fn is product else ("cpu",):
        with ct.use_engine(engine):  # type: ignore[arg-type]
            np.testing.assert_allclose(ct.function(fn)(start, cols, DATA, X), want, rtol=1e-12, atol=1e-13)
            if which == "in order":  # captured
                slopes = ct.grad(lambda a, x: weighed(fn(start, cols, a, x)), argnums=(0, 1))(DATA, X)
            else:
                slopes = ct.grad(lambda s, c, a, x: weighed(fn(s, c, a, x)), argnums=(2, 3))(start, cols, DATA, X)
        np.testing.assert_allclose((slopes[0] * da).sum() + (slopes[1] * dx).sum(), (ends[0] - ends[1]) / (2 * h), rtol=1e-6)


def sums(wiring: Wiring) -> list[Summed]:
    """The sums of entries among the boxes, and in the programs that they run."""
    found = []
    for box in wiring.boxes:
        if isinstance(box.primitive, Summed):
            found.append(box.primitive)
        for _, term, dom in getattr(box.primitive, "programs", list)():
            found += sums(ct.wire(term, dom))
    return found


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_no_array_of_the_size_of_all_entries_is_computed_in_a_step(fn: Callable[..., Any]) -> None:
    dom = ct.space_of((START, COLS, DATA, X))
    program = ct.function(fn).at(dom)
    assert len(program.lines) < 12 and sums(ct.wire(program, dom))
    boxes = [box for summed in sums(ct.wire(program, dom)) for box in ct.wire(summed.f, summed.dom).boxes]
    assert all(space.size < ROWS for summed in sums(ct.wire(program, dom)) for space in summed.typed(summed.dom.leaves))
    assert boxes


def test_a_derivative_keeps_nothing_of_single_entries_whatever_the_longest_row_is() -> None:
    kept = ct.vjp(ct.function(product), START, COLS, DATA, X)[1].arrays
    assert sum(a.size for a in kept) <= 2 * MANY + 4 * ROWS
    long = np.minimum(np.arange(ROWS + 1) * 2, MANY)
    long[1:] += MANY - long[-1]  # the first row has nearly all of them
    more = ct.vjp(ct.function(product), long, COLS, DATA, X)[1].arrays
    assert sorted(a.size for a in more) == sorted(a.size for a in kept)


@pytest.mark.numpy_only
def test_compiled_loops_add_to_gradients_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else each row would clear, and add, as much as there are entries in all rows."""
    from catad.engine.cpu.whole.text import Text

    cleared: list[tuple[int, int]] = []
    clear = Text.clear
    monkeypatch.setattr(Text, "clear", lambda self, goal, n: (cleared.append((self.depth, n)), clear(self, goal, n))[1])
    with ct.use_engine("cpu"):
        ct.grad(lambda s, c, a, x: weighed(product(s, c, a, x)) * 1.25, argnums=(2, 3))(START, COLS, DATA, X)
    assert max(depth for depth, n in cleared if n == DATA.nbytes) <= 1


def test_second_derivatives_and_vmap() -> None:
    def loss(a: Any, x: Any) -> Any:
        return weighed(computed_with(START, COLS, a, x) ** 2)

    h, dx = 1e-5, RNG.normal(size=ROWS)
    slopes = ct.grad(loss, argnums=1)
    for engine in ("reference", "cpu"):
        with ct.use_engine(engine):  # type: ignore[arg-type]
            got = ct.hvp(lambda x: loss(DATA, x), X, dx)
            batch = ct.vmap(lambda s, x: product(s, COLS, DATA, x))(np.stack([START, START[::-1]]), np.stack([X, 2 * X]))
        want = (slopes(DATA, X + h * dx) - slopes(DATA, X - h * dx)) / (2 * h)
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(batch, [product(START, COLS, DATA, X), product(START[::-1], COLS, DATA, 2 * X)], rtol=1e-12)


@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_an_index_out_of_range_is_an_error_where_it_is_read_alone(engine: Any) -> None:
    cols = COLS.copy()
    cols[START[5]] = ROWS
    with ct.use_engine(engine), pytest.raises(ct.IndexRangeError):
        ct.function(product)(START, cols, DATA, X)
    skipping = START.copy()
    skipping[:6] = START[5] + 1  # no row reads that entry
    with ct.use_engine(engine):
        got = ct.function(product)(skipping, cols, DATA, X)
    np.testing.assert_allclose(got, product(skipping, cols, DATA, X), rtol=1e-14)


def test_a_slice_with_the_index_of_a_loop_is_an_index() -> None:
    def prefixes(cols: Any, data: Any, x: Any) -> Any:
        y = np.zeros(20)
        for i in range(20):
            y[i] = data[:i] @ x[cols[:i]] + x[cols[i:20]].sum()
        return y

    for engine in ("reference", "cpu"):
        with ct.use_engine(engine):  # type: ignore[arg-type]
            np.testing.assert_allclose(ct.function(prefixes)(COLS, DATA, X), prefixes(COLS, DATA, X), rtol=1e-12)
            got = ct.grad(lambda x: weighed(prefixes(COLS, DATA, x)))(X)
        want = [weighed(prefixes(COLS, DATA, row)) for row in np.eye(ROWS)]  # it is linear
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13)


def test_zip_of_equal_lengths_is_a_loop_and_of_others_the_error_of_python() -> None:
    def total(a: Any, b: Any) -> Any:
        s = 0.0
        for x, y in zip(a, b, strict=True):
            s = s + x * y
        return s

    assert len(ct.function(total).at(X, X).lines) < 5 and np.isclose(ct.function(total)(X, X), X @ X)
    with pytest.raises(ValueError, match="zip"):
        ct.function(total)(X, X[:-1])

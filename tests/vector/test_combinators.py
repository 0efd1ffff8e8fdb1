"""The vector combinators against plain loops, on the inputs that are easy to get wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import catad as ct

Op = Callable[[Any, Any], Any]


def matrix_product(a: Any, b: Any) -> Any:
    return (
        (a[0][0] * b[0][0] + a[0][1] * b[1][0], a[0][0] * b[0][1] + a[0][1] * b[1][1]),
        (a[1][0] * b[0][0] + a[1][1] * b[1][0], a[1][0] * b[0][1] + a[1][1] * b[1][1]),
    )


OPERATORS: dict[str, tuple[Op, Any]] = {
    "+": (lambda a, b: a + b, 0.0),
    "*": (lambda a, b: a * b, 1.0),
    "max": (lambda a, b: a if a >= b else b, -np.inf),
    "min": (lambda a, b: min(a, b), np.inf),
    "affine": (lambda f, g: (f[0] * g[0], f[1] * g[0] + g[1]), (1.0, 0.0)),
    "matrix": (matrix_product, ((1.0, 0.0), (0.0, 1.0))),
    "last": (lambda a, b: (max(a[0], b[0]), b[1] if b[0] >= a[0] else a[1]), (-np.inf, 0.0)),
    "saturating": (lambda a, b: min(a + b, 10.0), -0.0),
}


def leaves(tree: Any) -> list[Any]:
    return [leaf for part in tree for leaf in leaves(part)] if isinstance(tree, tuple) else [tree]


def nested(tree: Any, flat: list[Any]) -> Any:
    return tuple(nested(part, flat) for part in tree) if isinstance(tree, tuple) else flat.pop(0)


def loop(op: Op, neutral: Any, rows: list[Any]) -> list[Any]:
    """All prefixes, the empty one first, by a plain loop on plain numbers."""
    out = [neutral]
    for row in rows:
        out.append(op(out[-1], row))
    return out


def elements(rng: np.random.Generator, neutral: Any, shape: tuple[int, ...]) -> Any:
    return nested(neutral, [rng.integers(0, 3, shape).astype(float) for _ in leaves(neutral)])


def row(x: Any, at: Any) -> Any:
    return tuple(row(part, at) for part in x) if isinstance(x, tuple) else x[at].item()


def columns(rows: list[Any], neutral: Any) -> Any:
    flat = [leaves(r) for r in rows]
    return nested(neutral, [np.array([f[k] for f in flat], dtype=float) for k in range(len(leaves(neutral)))])


def same(a: Any, b: Any) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(leaves(a), leaves(b), strict=True))


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("n", [0, 1, 2, 3, 17, 40])
def test_fold_and_scan_against_a_loop(name: str, n: int) -> None:
    op, neutral = OPERATORS[name]
    x = elements(np.random.default_rng(n), neutral, (n,))
    rows = [row(x, i) for i in range(n)]
    prefixes = loop(op, neutral, rows)
    suffixes = [prefixes[-1:][0]] if n == 0 else [loop(op, neutral, rows[i:])[-1] for i in range(n + 1)]
    cases = {
        ct.fold(op, neutral): prefixes[-1],
        ct.scan(op, neutral): columns(prefixes[1:], neutral),
        ct.scan(op, neutral, exclusive=True): columns(prefixes[:-1], neutral),
        ct.scan(op, neutral, reverse=True): columns(suffixes[:-1] if n else [], neutral),
        ct.scan(op, neutral, exclusive=True, reverse=True): columns(suffixes[1:], neutral) if n else columns([], neutral),
    }
    for f, want in cases.items():
        assert same(f(x), want), f


@pytest.mark.parametrize("name", OPERATORS)
def test_other_axes_are_carried_along(name: str) -> None:
    op, neutral = OPERATORS[name]
    x = elements(np.random.default_rng(1), neutral, (3, 4, 2))
    for make in (ct.fold, ct.scan):
        whole = make(op, neutral, axis=1)(x)
        for i in range(3):
            for j in range(2):
                column = nested(neutral, [leaf[i, :, j] for leaf in leaves(x)])
                alone = make(op, neutral)(column)
                for got, want in zip(leaves(whole), leaves(alone), strict=True):
                    assert np.array_equal(got[i, j] if make is ct.fold else got[i, :, j], want)
        assert same(make(op, neutral, axis=-2)(x), whole)


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("index_dtype", [np.int32, np.int64])
def test_histogram_against_a_loop(name: str, index_dtype: Any) -> None:
    op, neutral = OPERATORS[name]
    rng = np.random.default_rng(3)
    for n, bins in [(0, 3), (1, 1), (20, 4), (20, 1), (5, 30), (6, 0)]:
        index = rng.integers(-2, bins + 2, n).astype(index_dtype)
        x = elements(rng, neutral, (n,))
        dst = elements(rng, neutral, (bins,))
        kept = index.copy()
        want = [loop(op, neutral, [row(x, i) for i in range(n) if index[i] == k])[-1] for k in range(bins)]
        onto = [op(row(dst, k), w) for k, w in enumerate(want)]
        assert same(ct.histogram(op, neutral, bins)(index, x), columns(want, neutral))
        before = [leaf.copy() for leaf in leaves(dst)]
        got = ct.reduce_by_index(op, neutral)(dst, index, x)
        assert same(got, columns(onto, neutral))
        assert same(tuple(before), tuple(leaves(dst))) and np.array_equal(index, kept)  # inputs are never modified


def test_histogram_of_rows() -> None:
    index = np.array([0, 2, 2, 9])
    x = np.arange(8.0).reshape(4, 2) + 1
    assert np.array_equal(ct.histogram(lambda a, b: a * b, 1.0, 3)(index, x), [[1, 2], [1, 1], [15, 24]])
    assert np.array_equal(ct.histogram(ct.add, 0.0, 3)(index, x), [[1, 2], [0, 0], [8, 10]])


def test_a_non_commutative_histogram_keeps_the_order() -> None:
    """On integers, digits are strung together: each value comes with its power of ten."""
    string = ct.histogram(lambda a, b: (a[0] * b[1] + b[0], a[1] * b[1]), (0, 1), 2)
    index, digit = np.array([1, 0, 1, 1, 0]), np.array([3, 1, 4, 1, 5])
    assert np.array_equal(string(index, (digit, np.full(5, 10)))[0], [15, 341])


def test_integer_elements() -> None:
    x = np.array([3, 1, 2], dtype=np.int32)
    assert ct.scan(lambda a, b: a + b, 0)(x).dtype == np.int32
    assert np.array_equal(ct.scan(lambda a, b: max(a, b), -(2**31))(x), [3, 3, 3])


# -- indices


@given(st.data())
def test_gather_scatter_and_scatter_add_against_loops(data: st.DataObject) -> None:
    n, m = data.draw(st.integers(1, 6)), data.draw(st.integers(0, 8))
    rest = data.draw(st.sampled_from([(), (2,), (2, 3), (0,)]))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    dst, values = rng.integers(0, 9, (n, *rest)).astype(float), rng.integers(0, 9, (m, *rest)).astype(float)
    index = rng.integers(-2, n + 2, m)
    written, added = dst.copy(), dst.copy()
    for i in range(m):
        if 0 <= index[i] < n:
            written[index[i]] = values[i]
            added[index[i]] += values[i]
    assert np.array_equal(ct.scatter(dst, index, values), written)
    assert np.array_equal(ct.scatter_add(dst, index, values), added)
    inside = index[(index >= 0) & (index < n)]
    assert np.array_equal(ct.gather(dst, inside), dst[inside])
    grid = inside[: len(inside) // 2 * 2].reshape(-1, 2)
    assert np.array_equal(ct.gather(dst, grid), dst[grid])


# -- shapes: NumPy is the oracle

ARRAYS = hnp.arrays(
    np.float64, hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=4), elements=st.integers(-9, 9)
)


@given(ARRAYS, st.data())
def test_shape_operations_are_numpys(x: Any, data: st.DataObject) -> None:
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    order = data.draw(st.permutations(range(x.ndim)))
    start, stop = (data.draw(st.none() | st.integers(-6, 6)) for _ in range(2))
    step = data.draw(st.none() | st.sampled_from([-3, -2, -1, 1, 2, 3]))
    where = tuple(slice(start, stop, step) if k == axis % x.ndim else slice(None) for k in range(x.ndim))
    before, after = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 3))
    widths = [(before, after) if k == axis % x.ndim else (0, 0) for k in range(x.ndim)]
    noncontiguous = np.asfortranarray(x)[::-1]
    for y in (x, noncontiguous):
        for f, want in [
            (ct.transpose(order), np.transpose(y, order)),
            (ct.transpose(), y.T),
            (ct.flip(axis), np.flip(y, axis)),
            (ct.flip(), np.flip(y)),
            (ct.sum(axis), np.sum(y, axis)),
            (ct.sum(axis, keepdims=True), np.sum(y, axis, keepdims=True)),
            (ct.sum(), np.sum(y)),
            (ct.reshape(-1) if y.size else ct.reshape((0,)), y.reshape(-1)),
            (ct.slice(start, stop, step, axis=axis), y[where]),
            (ct.pad(before, after, 2.5, axis=axis), np.pad(y, widths, constant_values=2.5)),
            (ct.replicate(3), np.broadcast_to(y, (3, *y.shape))),
            (ct.broadcast_to((2, *y.shape)), np.broadcast_to(y, (2, *y.shape))),
            (ct.dup >> ct.concatenate(axis), np.concatenate([y, y], axis)),
            (ct.fork(ct.id, ct.id, ct.id) >> ct.stack(axis), np.stack([y, y, y], axis)),
        ]:
            got = f(y)
            assert np.array_equal(got, want) and got.shape == want.shape, f


@pytest.mark.parametrize(
    ("a", "b"),
    [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)),
     ((5, 1, 2, 3), (7, 3, 4)), ((5, 2, 3), (3,)), ((0, 3), (3, 2)), ((2, 0), (0, 3)), ((3,), (5, 3, 2))],
)  # fmt: skip
def test_matmul_is_numpys(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    x = np.arange(np.prod(a), dtype=float).reshape(a)
    y = np.arange(np.prod(b), dtype=float).reshape(b)
    got = ct.matmul(x, y)
    assert np.array_equal(got, np.matmul(x, y)) and np.shape(got) == np.matmul(x, y).shape


@pytest.mark.parametrize(
    ("spec", "shapes"),
    [("ij,jk->ik", [(2, 3), (3, 4)]), ("ii->i", [(3, 3)]), ("ii", [(3, 3)]), ("ij->ji", [(2, 3)]), ("i,j", [(2,), (3,)]),
     ("ij,ij->", [(2, 3), (2, 3)]), ("bij,bjk->bik", [(5, 2, 3), (5, 3, 4)]), ("...i,i->...", [(4, 2, 3), (3,)]),
     ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 5)]), ("i,i,i->i", [(3,), (3,), (3,)]), ("ij->", [(2, 3)]), ("iij->j", [(2, 2, 3)]),
     (",i->i", [(), (3,)]), ("ji,jk", [(3, 2), (3, 4)]), ("ab,cd->abcd", [(2, 1), (0, 3)]), ("ij,kj->j", [(2, 3), (4, 3)])],
)  # fmt: skip
def test_einsum_is_numpys(spec: str, shapes: list[tuple[int, ...]]) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.integers(-3, 4, shape).astype(float) for shape in shapes]
    got = ct.einsum(spec)(*arrays)
    want = np.einsum(spec, *arrays)
    assert np.array_equal(got, want) and np.shape(got) == np.shape(want)


# -- maps


def test_a_map_of_several_arguments_and_results() -> None:
    f = ct.map(lambda a, b, c: (a * b, (b + c, a > c)))
    a, b, c = np.arange(3.0), np.ones((2, 1)), 2.0
    for x in ((a, b, c), ((a, b), c)):
        p, (q, r) = f(x)
        assert np.array_equal(p, np.broadcast_to(a * b, (2, 3))) and q.shape == (2, 3) and r.dtype == bool
    assert np.array_equal(ct.map(lambda p: p[0] * p[1])(a, a), a * a)
    assert np.array_equal(ct.map(lambda p, q: p[0] * q)((a, a), a), a * a)
    assert np.array_equal(ct.map(lambda x: 2.0)(a), np.full(3, 2.0))
    assert ct.map(lambda x: 2.0)(a.astype(np.float32)).dtype == np.float32


def test_broadcast_arguments_are_summed_back() -> None:
    a, b = np.arange(3.0), np.arange(2.0).reshape(2, 1)
    da, db = ct.vjp(ct.mul, a, b)[1](np.ones((2, 3)))
    assert np.array_equal(da, np.full(3, 1.0)) and np.array_equal(db, [[3.0], [3.0]])
    J = ct.jacobian(ct.add)(a, b)
    assert J.stored == 0


@pytest.mark.parametrize("axes", [0, 1, 2, 3])
def test_batching_is_a_loop(axes: int) -> None:
    """Nested maps of a morphism against calling it for each index."""
    shape = (2, 3, 2)[:axes]
    rng = np.random.default_rng(axes)
    x, y = rng.standard_normal((*shape, 4)), rng.standard_normal((*shape, 4))
    inner = {
        "scan": ct.mul >> ct.scan(lambda a, b: a * b, 1.0, reverse=True),
        "fold": ct.mul >> ct.fold(lambda a, b: a if a >= b else b, -np.inf),
        "constants": ct.cross(ct.id, ct.sin) >> ct.add >> ct.fork(ct.id, ct.const(np.arange(4.0))) >> ct.einsum("i,i->"),
        "gather": ct.cross(ct.id, ct.const(np.array([3, 0]))) >> ct.gather,
        "histogram": ct.fork(ct.const(np.array([1, 0, 1, 5])), ct.mul) >> ct.histogram(lambda a, b: a * b, 1.0, 2),
        "scatter": ct.fork(ct.exl, ct.const(np.array([1, 1, 7])), ct.exr >> ct.slice(0, 3)) >> ct.scatter,
        "shapes": ct.concatenate() >> ct.reshape((2, 4)) >> ct.transpose() >> ct.pad(1, 0, 3.0, axis=1) >> ct.sum(axis=0),
        "broadcast": ct.cross(ct.reshape((4, 1)), ct.id) >> ct.mul >> ct.slice(None, None, -1),
        "recurrence": ct.recurrence,
        "gradient": ct.grad(ct.mul >> ct.sin >> ct.sum()),
    }
    for name, f in inner.items():
        batched = f
        for _ in range(axes):
            batched = ct.map(batched)
        got = batched(x, y)
        _, pullback = ct.vjp(batched, x, y)
        for at in np.ndindex(shape):
            alone = f(x[at], y[at])
            for g, w in zip(leaves(got), leaves(alone), strict=True):
                assert np.allclose(g[at], w, rtol=1e-13), name
        ones = nested(got, [np.ones_like(leaf) for leaf in leaves(got)])
        dx = pullback(ones)[0]
        for at in np.ndindex(shape):
            alone = ct.vjp(f, x[at], y[at])[1](nested(got, [leaf[at] for leaf in leaves(ones)]))[0]
            assert np.allclose(dx[at], alone, rtol=1e-12, atol=1e-13), name


# -- robustness of scans


def test_partial_products_that_overflow_do_not_spoil_the_rest() -> None:
    x = np.concatenate([np.full(40, 1e-20), np.full(40, 1e20)])
    want = np.multiply.accumulate(x)
    assert np.allclose(ct.scan(lambda a, b: a * b, 1.0)(x), want, rtol=1e-12)
    links, b = np.full(2000, 2.0), np.zeros(2000)
    b[-1] = 1.0
    assert np.array_equal(ct.recurrence(links, b), b)
    links[1000] = 0.0
    assert ct.recurrence(np.full(2000, 3.0), np.zeros(2000)).max() == 0.0


def test_nan_and_infinity_go_only_forward() -> None:
    x = np.ones(50)
    x[30] = np.nan
    s = ct.scan(lambda a, b: a + b, 0.0)(x)
    assert np.array_equal(s[:30], np.arange(1.0, 31)) and np.isnan(s[30:]).all()
    y = ct.scan(lambda a, b: a * b, 1.0)(x)
    assert np.array_equal(y[:30], np.ones(30)) and np.isnan(y[30:]).all()


def test_results_are_the_same_on_every_run() -> None:
    rng = np.random.default_rng(0)
    x, index = rng.standard_normal(5000), rng.integers(0, 7, 5000)
    for engine in ("reference", "cpu"):
        with ct.use_engine(engine):
            for f in (ct.scan(lambda a, b: a * b, 1.0), ct.fold(lambda a, b: a * b, 1.0)):
                assert f(x).tobytes() == f(x).tobytes()
            h = ct.histogram(ct.add, 0.0, 7)
            assert h(index, x).tobytes() == h(index, x).tobytes()


def test_derivatives_at_empty_and_single_arrays() -> None:
    for name, (op, neutral) in OPERATORS.items():
        for n in (0, 1):
            x = elements(np.random.default_rng(0), neutral, (n,))
            for f in (ct.fold(op, neutral), ct.scan(op, neutral), ct.scan(op, neutral, exclusive=True)):
                y, pullback = ct.vjp(f, x)
                ones = nested(neutral, [np.ones(np.shape(leaf)) for leaf in leaves(y)])
                (dx,) = pullback(ones)
                want = 0.0 if f == ct.scan(op, neutral, exclusive=True) else 1.0
                for leaf in leaves(dx):
                    assert leaf.shape == (n,), name
                    assert n == 0 or name in ("last", "max", "min") or np.array_equal(leaf, [want]), (name, f)

"""Forward mode of scans: one scan of pairs of tangent and value, or the recurrence, whichever takes fewer operations."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import catad as ct
from catad.category import cache
from catad.category.wiring import Wiring, wire
from catad.engine.program import Program
from catad.vector.scans.scan import Scan

from . import operators as o

N = 40  # more than are ever stepped through one by one


def product(d: int) -> tuple[Any, Any]:
    """The product of d x d matrices, nested by rows, and its neutral element."""

    def entry(r: int, c: int) -> str:
        return " + ".join(f"a[{r}][{k}] * b[{k}][{c}]" for k in range(d))

    rows = ", ".join("(" + ", ".join(entry(r, c) for c in range(d)) + ")" for r in range(d))
    return eval(f"lambda a, b: ({rows})"), tuple(tuple(float(r == c) for c in range(d)) for r in range(d))


def rotations(rng: np.random.Generator, d: int, n: int, dtype: Any = float) -> Any:
    q = np.linalg.qr(rng.standard_normal((n, d, d)))[0].astype(dtype)
    return tuple(tuple(np.ascontiguousarray(q[:, r, c]) for c in range(d)) for r in range(d))


def forward(f: ct.D, x: Any) -> Wiring:
    """The wiring of value and tangent at the space of a point."""
    space = ct.space_of(x)
    return wire(ct.tangent(f), space * ct.tangent_space(space))


def kinds(wiring: Wiring) -> list[str]:
    return [type(box.primitive).__name__ for box in wiring.boxes]


def by_pairs(f: ct.D, x: Any) -> bool:
    """Whether forward mode is one scan and nothing else."""
    return kinds(forward(f, x)) == ["Scan"]


def both_ways(f: ct.D, x: Any, v: Any) -> tuple[Any, Any]:
    """The derivative in a direction by forward mode, and by the recurrence of `linearize`."""
    y, dy = ct.jvp(f, (x,), (v,))
    z, linear = ct.linearize(f, x)
    agree(y, z)
    return dy, linear(v)


def agree(got: Any, want: Any) -> None:
    """Equal to rounding, by the size of the terms; `()` for the tangents of integers."""
    for g, w in zip(o.leaves(got), o.leaves(want), strict=True):
        if isinstance(w, tuple):
            assert g == w
            continue
        assert (g.dtype, g.shape) == (w.dtype, w.shape)
        if w.dtype.kind == "f":
            size = np.max(np.abs(w), initial=1.0, where=np.isfinite(w))
            np.testing.assert_allclose(g, w, rtol=0, atol=2e3 * np.finfo(w.dtype).eps * size)
        else:
            assert np.array_equal(g, w)


def directions(rng: np.random.Generator, x: Any) -> Any:
    return o.tangent(x, rng.standard_normal(o.stacked(x).size))


# -- both ways are one map


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("d", [2, 3, 4, 5])
def test_products_of_matrices_go_by_pairs(d: int, dtype: Any) -> None:
    rng = np.random.default_rng(d)
    f, x = ct.scan(*product(d)), rotations(rng, d, N, dtype)
    assert by_pairs(f, x)
    agree(*both_ways(f, x, directions(rng, x)))


OPERATORS = [["affine"], ["affine, outer first"], ["complex"], ["jet"], ["triangular"], ["matrix"], ["*"], ["or", "affine"],
             ["matrix", "+", "complex"], ["max-plus"], ["two shifts"], ["last"], ["argmax", "complex"]]  # fmt: skip


@pytest.mark.quick(18)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("names", OPERATORS)
def test_forward_mode_is_the_map_of_linearize(names: list[str], exclusive: bool, reverse: bool) -> None:
    rng = np.random.default_rng(3)
    op = o.operator(names)
    x = o.spread(rng, op, (N, 2))
    agree(*both_ways(ct.scan(*op.pair, exclusive=exclusive, reverse=reverse), x, directions(rng, x)))
    x = o.spread(rng, op, (3, N))
    agree(*both_ways(ct.scan(*op.pair, exclusive=exclusive, reverse=reverse, axis=1), x, directions(rng, x)))


@given(o.operators(smooth=True), st.integers(1, 40))
def test_forward_mode_of_drawn_operators(op: o.Operator, n: int) -> None:
    x = o.spread(np.random.default_rng(n), op, (n,))
    agree(*both_ways(ct.scan(*op.pair), x, directions(np.random.default_rng(0), x)))


def curved(a: Any, b: Any, p: Any) -> Any:
    """Associative for every p: two numbers that add up by `a + b + p a b`, the second weighted by the first."""
    return a[0] + b[0] + p * a[0] * b[0], a[1] * (1 + p * b[0]) + b[1]


def test_free_numbers_move_too() -> None:
    """T[op] has the tangents of the free numbers as further free numbers."""
    rng = np.random.default_rng(5)
    f = ct.scan(curved, (0.0, 0.0), params=1)
    for shape, p in (((N,), np.float64(0.3)), ((N, 3), 0.3 * rng.random(3)), ((N, 3), 0.3 * rng.random((1, 1)))):
        x = ((rng.random(shape) / N, rng.standard_normal(shape)), p)
        assert by_pairs(f, x)
        agree(*both_ways(f, x, directions(rng, x)))
    axis = ct.scan(curved, (0.0, 0.0), params=1, axis=1)
    x = ((rng.random((3, N)) / N, rng.standard_normal((3, N))), 0.3 * rng.random((3, 1)))
    agree(*both_ways(axis, x, directions(rng, x)))


def test_only_what_moves_has_a_tangent() -> None:
    """Affine maps with constant slopes: the pairs are (db, a, b); with constant offsets both results move."""
    op = o.operator(["affine"])
    fixed = ct.const(np.full(N, 0.9))
    rng = np.random.default_rng(1)
    x, v = rng.standard_normal(N), rng.standard_normal(N)
    for f, width in ((ct.fork(fixed, ct.id), 3), (ct.fork(ct.id, fixed), 4)):
        f = f >> ct.scan(*op.pair)
        (scan,) = [box.primitive for box in forward(f, x).boxes if isinstance(box.primitive, Scan)]
        assert scan.monoid.width == width
        agree(*both_ways(f, x, v))


# -- which way


def _plain(value: Any) -> Any:
    return value.view(np.ndarray) if isinstance(value, Counting) else value


class Counting(np.ndarray):
    """An array whose ufuncs count the numbers that they make."""

    made = 0

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        kwargs = {key: tuple(map(_plain, value)) if key == "out" else _plain(value) for key, value in kwargs.items()}
        out = getattr(ufunc, method)(*map(_plain, inputs), **kwargs)
        if ufunc is not np.isfinite:
            Counting.made += np.size(out)
        return out.view(Counting) if isinstance(out, np.ndarray) else out


def counted(wiring: Wiring, arrays: list[Any]) -> int:
    """The scalar operations that NumPy does for a wiring, counted as they are done."""
    program = Program(wiring)
    with ct.use_engine("reference"):
        program(np, arrays)
        Counting.made = 0
        program(np, [a.view(Counting) for a in arrays])
    return Counting.made


def wirings(f: ct.D, x: Any, monkeypatch: pytest.MonkeyPatch) -> list[Wiring]:
    """Forward mode as it is, and with the recurrence alone."""
    chosen = forward(f, x)
    with monkeypatch.context() as patch:
        patch.setattr(Scan, "pushed", lambda *args: None)
        cache.forget()
        return [chosen, forward(pickle.loads(pickle.dumps(f)), x)]


@pytest.mark.numpy_only
@pytest.mark.parametrize(
    "names", [["complex"], ["triangular"], ["jet"], ["matrix"], ["affine"], ["or", "affine, outer first"]]
)
def test_what_goes_by_pairs_takes_no_more_operations(names: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted as NumPy does them, at a size where the ends do not matter."""
    op, n = o.operator(names), 2048
    rng = np.random.default_rng(0)
    x = o.nested(op.neutral, [e + 1e-4 * rng.standard_normal(n) for e in o.leaves(op.neutral)])  # no prefix grows
    pairs, recurrence = wirings(ct.scan(*op.pair), x, monkeypatch)
    assert len(kinds(pairs)) < len(kinds(recurrence)) and "Recurred" in kinds(recurrence)
    arrays = [*o.leaves(x), *o.leaves(x)]
    moves = 2 * len(o.leaves(x)) * n  # results shifted by a step, copies of states laid side by side
    assert counted(pairs, arrays) <= counted(recurrence, arrays) + moves


def costly(a: Any, b: Any) -> Any:
    """Sums that are kept by their exponentials: the partials cost more than the operator."""
    return np.tanh(np.arctanh(a[0]) + np.arctanh(b[0])), a[1] + b[1] + np.log1p(a[0] * b[0])


@pytest.mark.numpy_only
def test_what_has_costly_partials_goes_by_the_recurrence(monkeypatch: pytest.MonkeyPatch) -> None:
    """The recurrence makes them once for each step, the pairs twice: there it takes fewer operations, by the same count."""
    rng = np.random.default_rng(0)
    x = (rng.random(2048) * 1e-3, rng.standard_normal(2048))
    f = ct.scan(costly, (0.0, 0.0))
    assert "Recurred" in kinds(forward(f, x))
    chosen = counted(forward(f, x), [*x, *x])
    monkeypatch.setattr("catad.vector.scans.tangent_pairs.linear_work", lambda *args: 10**12)
    cache.forget()
    pairs = forward(pickle.loads(pickle.dumps(f)), x)  # a copy, of which nothing is remembered
    assert kinds(pairs) == ["Scan"]
    assert chosen < counted(pairs, [*x, *x])


def test_numbers_and_kinks_go_by_the_recurrence() -> None:
    """A number's links compose by one multiplication; at a kink what is chosen may depend on the bracketing."""
    for names in (["*"], ["max"], ["max-plus"], ["two shifts"], ["last"]):
        op = o.operator(names)
        x = o.spread(np.random.default_rng(0), op, (N,))
        assert "Recurred" in kinds(forward(ct.scan(*op.pair), x)), names


def largest_sum(a: Any, b: Any) -> Any:
    """The largest sum of neighbours in all, from the start, up to the end; and the sum."""
    return max(a[0], b[0], a[2] + b[1]), max(a[1], a[3] + b[1]), max(b[2], b[3] + a[2]), a[3] + b[3]


def test_at_ties_forward_and_reverse_are_one_map() -> None:
    """Adjointness bit for bit where 1 + 1 ties with 2, and which of them wins depends on the bracketing."""
    f = ct.scan(largest_sum, (-1e6, -1e6, -1e6, 0.0))
    rng = np.random.default_rng(0)
    values = np.full(N, -9.0)
    values[[3, 4, 6]] = 1, 1, 2
    x = (values, values, values, values)
    v, w = (tuple(rng.integers(-2, 3, N).astype(float) for _ in range(4)) for _ in range(2))
    _, dy = ct.jvp(f, (x,), (v,))
    (dx,) = ct.vjp(f, x)[1](w)
    assert sum(np.sum(a * b) for a, b in zip(dy, w, strict=True)) == sum(np.sum(a * b) for a, b in zip(dx, v, strict=True))


def test_linearize_and_reverse_mode_keep_the_recurrence() -> None:
    """Links are made once for many applications; neither way pays for the other."""
    f, x = ct.scan(*product(2)), rotations(np.random.default_rng(0), 2, N)
    assert ct.linearize(f, x)[1].kind == "chain of block 4x4 >> recurrence"
    assert ct.jacobian(f)(x).structure.dom == ct.linearize(f, x)[1].structure.dom
    space = ct.space_of(x)
    boxes = wire(ct.reverse_differential(f), space * ct.tangent_space(space)).boxes
    scans = [box.primitive for box in boxes if isinstance(box.primitive, Scan)]
    assert [scan.monoid.width for scan in scans] == [4]


# -- the rest of the language


@pytest.mark.parametrize("names", [["affine"], ["complex"], ["matrix"], ["jet", "+"]])
def test_derivatives_of_derivatives(names: list[str]) -> None:
    """D[f] has right forward, reverse and explicit derivatives itself; hessians agree in all modes."""
    op = o.operator(names)
    x = o.spread(np.random.default_rng(2), op, (19,))
    v = directions(np.random.default_rng(4), x)
    f = ct.scan(*op.pair)
    o.agree(ct.differential(f), (x, v))
    o.agree_twice(f, x)
    d2 = ct.jvp(ct.differential(f), ((x, v),), ((v, v),))[1]
    gradient = ct.grad(ct.differential(f) >> o.squares(f(x)))((x, v))
    assert np.isfinite(o.stacked(gradient)).all() and np.isfinite(o.stacked(d2)).all()


@pytest.mark.parametrize("d", [2, 3])
def test_carried_by_map(d: int) -> None:
    """T[map f] and map T[f] are the loop over T[f]."""
    rng = np.random.default_rng(0)
    f = ct.scan(*product(d))
    rows = [rotations(rng, d, N) for _ in range(3)]
    moves = [directions(rng, x) for x in rows]
    x, v = (o.nested(rows[0], [np.stack(part) for part in zip(*map(o.leaves, each), strict=True)]) for each in (rows, moves))
    each = [o.leaves(ct.jvp(f, (a,), (b,))[1]) for a, b in zip(rows, moves, strict=True)]
    want = o.nested(x, [np.stack(part) for part in zip(*each, strict=True)])
    agree(ct.jvp(ct.map(f), (x,), (v,))[1], want)
    agree(ct.map(ct.tangent(f))((x, v))[1], want)


@pytest.mark.parametrize("shape", [(), (3,), (1, 3)])
def test_free_numbers_are_carried_by_map(shape: tuple[int, ...]) -> None:
    """One number for each of the mapped scans, as many as they have columns; and one for all of them."""
    rng = np.random.default_rng(6)
    f = ct.scan(curved, (0.0, 0.0), params=1)
    x, v = (((rng.random((3, 3, 3)), rng.standard_normal((3, 3, 3))), 0.3 * rng.random((3, *shape))) for _ in "xv")

    def at(z: Any, i: int) -> Any:
        return (z[0][0][i], z[0][1][i]), z[1][i]

    each = [ct.jvp(f, (at(x, i),), (at(v, i),)) for i in range(3)]
    want = [(np.stack([e[0] for e in part]), np.stack([e[1] for e in part])) for part in zip(*each, strict=True)]
    agree(ct.jvp(ct.map(f), (x,), (v,)), tuple(want))
    agree(ct.map(ct.tangent(f))((x, v)), tuple(want))
    o.agree(ct.map(f), x)
    same = ct.fork(ct.id, ct.const(x[1][0])) >> f
    agree(
        ct.map(same)(x[0]), tuple(np.stack(part) for part in zip(*[f(at(x, i)[0], x[1][0]) for i in range(3)], strict=True))
    )


def test_prints_and_pickles() -> None:
    f, x = ct.scan(*product(2)), rotations(np.random.default_rng(0), 2, N)
    g = pickle.loads(pickle.dumps(ct.tangent(f)))
    assert g == ct.tangent(f)
    with ct.use_engine("reference"):
        assert all(o.same(a, b) for a, b in zip(g((x, x)), ct.tangent(f)((x, x)), strict=True))
    box = forward(f, x).boxes[0].primitive
    assert pickle.loads(pickle.dumps(box)) == box and "ct.primitive.Scan(" in repr(box)


@pytest.mark.parametrize("by", ["flags", "lengths"])
def test_segments(by: str) -> None:
    """T of the operator lifted to segments is the lifted T[op]: neither value nor tangent of an earlier segment is read."""
    rng = np.random.default_rng(0)
    op = o.operator(["matrix"])
    x = o.spread(rng, op, (N,))
    v = directions(rng, x)
    f = ct.segmented_scan(*op.pair, by=by)
    given_ = np.isin(np.arange(N), (0, 7, 8, 30)) if by == "flags" else np.array([7, 1, 0, 22, 10])
    assert "Recurred" not in kinds(forward(f, (given_, x)))
    agree(*both_ways(f, (given_, x), ((), v)))
    before = ct.jvp(f, ((given_, x),), (((), v),))[1]
    o.agree(ct.differential(f), ((given_, before), ((), v)))
    x[0][3] = v[1][4] = np.nan
    after = ct.jvp(f, ((given_, x),), (((), v),))[1]
    for a, b in zip(before, after, strict=True):
        assert np.isnan(b[4]) and np.array_equal(a[7:], b[7:])


def test_partial_products_that_overflow_do_no_harm() -> None:
    """Slopes that grow after having shrunk: no prefix overflows, products of neighbours do."""
    op = o.operator(["affine"])
    slopes = np.full(64, 1.0)
    slopes[:8], slopes[8:20] = 1e-30, 1e40
    x = (slopes, np.linspace(1.0, 2.0, 64))
    v = (slopes * 0.5, np.ones(64))
    slopes[20:32] = 1e-40
    f = ct.scan(*op.pair)
    assert by_pairs(f, x)
    s, t = (0.0, 0.0), (0.0, 0.0)
    dy = ct.jvp(f, (x,), (v,))[1]
    with np.errstate(all="ignore"):
        for i in range(64):
            a, b, da, db = slopes[i], x[1][i], v[0][i], v[1][i]
            if i:
                t = (t[0] * a + s[0] * da, t[1] * a + s[1] * da + db)
                s = (s[0] * a, s[1] * a + b)
            else:
                s, t = (a, b), (da, db)
            for k in (0, 1):
                assert np.isclose(dy[k][i], t[k], rtol=1e-12) or (not np.isfinite(t[k]) and not np.isfinite(dy[k][i]))


def test_a_wrong_neutral_element_is_an_error_in_forward_mode_too() -> None:
    op, _ = product(2)
    f, x = ct.scan(op, ((1.0, 0.0), (1.0, 1.0))), rotations(np.random.default_rng(0), 2, N)
    assert by_pairs(f, x)
    with pytest.raises(ct.MonoidError):
        ct.jvp(f, (x,), (x,))


def test_no_steps_and_one() -> None:
    f = ct.scan(*product(2))
    for n in (0, 1, 2):
        x = rotations(np.random.default_rng(0), 2, n)
        agree(*both_ways(f, x, x))

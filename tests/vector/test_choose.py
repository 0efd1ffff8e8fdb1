"""`ct.choose`: one of two morphisms runs, at every order of derivative, and nothing of the other one is seen."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.engine.program import program_of
from catad.testing import check_grads, check_laws
from catad.vector.loops.batching import Lanes
from catad.vector.loops.either import Choose, Either

RNG = np.random.default_rng(3)
POSITIVE = ct.sum() >> ct.map(lambda s: s > 0.0)
FIRST = ct.exl >> POSITIVE
A, B = np.abs(RNG.standard_normal((2, 3))), RNG.standard_normal((3, 2))
PRODUCT = ct.matmul >> ct.tanh
OTHER = ct.fork(ct.matmul >> ct.sin, ct.exl >> ct.sum()) >> ct.mul
NEVER = ct.while_loop(ct.map(lambda v: v > -1.0), ct.map(lambda v: v), max_steps=100)  # on numbers above -1

# p, f, g
SIDES: dict[str, tuple[ct.D, ct.D, ct.D, Any]] = {
    "matrices": (FIRST, PRODUCT, OTHER, (A, B)),
    "equal sides": (FIRST, PRODUCT, PRODUCT, (A, B)),
    "a constant side": (FIRST, PRODUCT, ct.const(np.ones((2, 2))), (A, B)),
    "sides of one argument each": (FIRST, ct.exl >> ct.sum(axis=1), ct.exr >> ct.sum(axis=0), (A, B)),
    "numbers": (ct.exl >> ct.map(lambda s: s > 0.0), ct.mul, ct.atan2, (2.0, 0.5)),
    "tuples": (FIRST, ct.id, ct.fork(ct.exl >> ct.sin, ct.exr >> ct.square), (A, B)),
    "scans and folds": (
        POSITIVE,
        ct.scan(ct.mul, 1.0) >> ct.fold(ct.add, 0.0),
        ct.sort() >> ct.fold(ct.maximum, -np.inf),
        np.array([0.5, 2.0, 1.0]),
    ),
    "integers beside": (
        ct.exr >> ct.map(lambda k: k > 0),
        ct.fork(ct.map(lambda x, k: x * k), ct.exr),
        ct.fork(ct.exl >> ct.sin, ct.exr >> ct.map(lambda k: 2 * k)),
        (np.array([0.5, 2.0]), np.int64(3)),
    ),
    "a choice within": (
        FIRST,
        ct.choose(ct.exr >> POSITIVE, PRODUCT, OTHER),
        ct.choose(ct.exr >> POSITIVE, OTHER, PRODUCT),
        (A, B),
    ),
    "a loop within": (
        POSITIVE,
        ct.while_loop(ct.square >> ct.sum() >> ct.map(lambda s: s > 1.0), 0.5 * ct.sin) >> ct.sum(),
        ct.iterate(ct.sin, 3) >> ct.sum(),
        np.array([3.0, 1.0]),
    ),
    "a checkpoint within": (FIRST, ct.checkpoint(PRODUCT), OTHER, (A, B)),
}


def negated(x: Any) -> Any:
    if isinstance(x, tuple):
        return tuple([negated(part) for part in x])
    return -x


def leaves(value: Any) -> list[Any]:
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, tuple) else [value]


def equal(a: Any, b: Any, rtol: float = 1e-12) -> None:
    for one, other in zip(leaves(a), leaves(b), strict=True):
        np.testing.assert_allclose(one, other, rtol=rtol, atol=1e-14)


def number(f: ct.D, x: Any) -> ct.D:
    """A number of the first floating result."""
    space = f.spaces(ct.space_of(x))
    while not isinstance(space, ct.Tensor):
        f, space = f >> ct.proj(0), space.factors[0]  # type: ignore[attr-defined]
    return f >> ct.map(lambda v: np.sin(1.0 + v)) >> ct.sum()


@pytest.mark.parametrize("engine", ["reference", "cpu"])
@pytest.mark.parametrize("name", SIDES)
def test_a_choice_is_the_side_that_is_taken(name: str, engine: Any) -> None:
    p, f, g, x = SIDES[name]
    h = ct.choose(p, f, g)
    with ct.use_engine(engine):
        for point, side in ((x, f), (negated(x), g)):
            assert bool(p(point)) == (point is x)
            equal(h(point), side(point))
            one, other = number(h, point), number(side, point)
            equal(ct.grad(one)(point), ct.grad(other)(point))
            v = ct.grad(other)(point)
            equal(ct.jvp(h, (point,), (v,)), ct.jvp(side, (point,), (v,)))
            equal(ct.hvp(one, (point,), (v,)), ct.hvp(other, (point,), (v,)), 1e-10)


@pytest.mark.parametrize("name", ["matrices", "tuples", "scans and folds", "integers beside", "a choice within"])
def test_laws_and_differences(name: str) -> None:
    p, f, g, x = SIDES[name]
    for point in (x, negated(x)):
        check_laws(ct.choose(p, f, g), point)
        check_grads(ct.choose(p, f, g), point, order=2)


# -- lanes


def stacked(*points: Any) -> Any:
    if isinstance(points[0], tuple):
        return tuple([stacked(*parts) for parts in zip(*points, strict=True)])
    return np.stack(points)


@pytest.mark.parametrize("engine", ["reference", "cpu"])
@pytest.mark.parametrize("name", SIDES)
def test_each_lane_chooses_for_itself(name: str, engine: Any) -> None:
    p, f, g, x = SIDES[name]
    h = ct.choose(p, f, g)
    with ct.use_engine(engine):
        for points in ([x, negated(x), x], [x, x], [negated(x)]):
            m, many = ct.map(h), stacked(*points)
            equal(m(many), stacked(*[h(point) for point in points]))
            one = number(h, x)
            equal(ct.map(ct.grad(one))(many), stacked(*[ct.grad(one)(point) for point in points]))
            total = ct.map(one) >> ct.sum()
            equal(ct.grad(total)(many), stacked(*[ct.grad(one)(point) for point in points]))
            v = ct.grad(total)(many)
            second = [ct.hvp(one, (point,), (ct.grad(one)(point),)) for point in points]
            equal(ct.hvp(total, (many,), (v,)), stacked(*second), 1e-10)
        twice = stacked(stacked(x, negated(x)), stacked(negated(x), x))
        equal(ct.map(ct.map(h))(twice), stacked(stacked(h(x), h(negated(x))), stacked(h(negated(x)), h(x))))


@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_what_all_lanes_share_is_not_spread_over_them(engine: Any) -> None:
    """Weights beside samples: their gradients add up, also in lanes of lanes."""
    h = number(ct.choose(FIRST, PRODUCT, OTHER), (A, B))
    points = np.stack([A, -A, 0.5 * A, -A[::-1]])
    once = Lanes(h, (True, False), 4)
    twice = Lanes(Lanes(h, (True, False), 2), (True, False), 2)
    boxes = [box.primitive for box in ct.wire(once, ct.f64[4, 2, 3] * ct.f64[3, 2]).boxes]
    assert [each.shared for each in boxes if isinstance(each, Choose)] == [(1,)]
    with ct.use_engine(engine):
        want = [h(a, B) for a in points]
        slopes = [ct.grad(h)(a, B) for a in points]
        da, db = np.stack([da for da, _ in slopes]), sum(db for _, db in slopes)
        second = [ct.hvp(h, (a, B), (a, B)) for a in points]
        for lanes, shape in ((once, (4,)), (twice, (2, 2))):
            x = points.reshape(*shape, 2, 3)
            np.testing.assert_allclose(lanes(x, B), np.reshape(want, shape), rtol=1e-14)
            total = lanes >> ct.sum()
            equal(ct.grad(total)(x, B), (da.reshape(x.shape), db))
            equal(ct.jvp(lanes, (x, B), (x, B))[1], np.reshape([ct.jvp(h, (a, B), (a, B))[1] for a in points], shape))
            got = ct.hvp(total, (x, B), (x, B))
            equal(got, (np.stack([s[0] for s in second]).reshape(x.shape), sum(s[1] for s in second)), 1e-10)


def test_no_lanes() -> None:
    h = ct.map(ct.choose(POSITIVE, ct.scan(ct.add, 0.0), ct.sin))
    assert h(np.zeros((0, 3))).shape == (0, 3)
    ((dx,), y) = ct.vjp(h, np.zeros((0, 3)))[1](np.zeros((0, 3))), h(np.zeros((0, 3)))
    assert dx.shape == y.shape == (0, 3)


# -- what the other side would be


ROOT = ct.sqrt >> ct.scan(ct.add, 0.0)  # not a number, with infinite slopes, where g is taken


@pytest.mark.parametrize("engine", ["reference", "cpu"])
@pytest.mark.parametrize("value", [-1.0, 0.0, -np.inf, np.nan])
def test_what_the_other_side_makes_of_it_does_no_harm(value: float, engine: Any) -> None:
    h = ct.choose(ct.slice(0, 1) >> ct.sum() >> ct.map(lambda s: s > 0.0), ROOT, ct.map(lambda v: 3.0 * v))
    x = np.array([value, 2.0, 4.0])
    good = np.array([4.0, 1.0, 9.0])
    with ct.use_engine(engine):
        np.testing.assert_array_equal(h(x), 3.0 * x)
        total = h >> ct.sum()
        np.testing.assert_array_equal(ct.grad(total)(x), np.full(3, 3.0))
        np.testing.assert_array_equal(ct.hessian(total)(x).todense(), np.zeros((3, 3)))
        both = np.stack([x, good, x])
        np.testing.assert_array_equal(ct.map(h)(both)[[0, 2]], 3.0 * both[[0, 2]])
        summed = ct.map(total) >> ct.sum()
        want = np.stack([np.full(3, 3.0), ct.grad(total)(good), np.full(3, 3.0)])
        np.testing.assert_array_equal(ct.grad(summed)(both), want)
        tangent = ct.jvp(ct.map(h), (both,), (np.ones((3, 3)),))[1]
        np.testing.assert_allclose(tangent[1], ct.jvp(h, (good,), (np.ones(3),))[1], rtol=1e-15)
        np.testing.assert_array_equal(tangent[[0, 2]], np.full((2, 3), 3.0))
        second = ct.hvp(summed, (both,), (np.ones((3, 3)),))
        np.testing.assert_array_equal(second[[0, 2]], np.zeros((2, 3)))
        assert np.all(np.isfinite(second))


def test_an_infinite_slope_of_a_side_that_is_taken_stays() -> None:
    h = ct.choose(ct.slice(0, 1) >> ct.sum() >> ct.map(lambda s: s >= 0.0), ROOT, ct.scan(ct.add, 0.0))
    xs = np.array([[-1.0, 1.0], [0.0, 1.0], [-2.0, 3.0]])
    got = ct.grad(ct.map(h >> ct.sum()) >> ct.sum())(xs)
    np.testing.assert_array_equal(got, [[2.0, 1.0], [np.inf, 0.5], [2.0, 1.0]])


@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_a_loop_that_would_not_end_is_not_run(engine: Any) -> None:
    """Alone, in lanes that all take the other side, in lanes of both, and in the derivatives. It ends from no sum up to zero."""
    ends = ct.while_loop(ct.sum() >> ct.map(lambda s: s < 4.0), ct.map(lambda v: 2.0 * v), max_steps=50)
    h = ct.choose(POSITIVE, ends, ct.map(lambda v: 3.0 * v)) >> ct.sum()
    low, zero, one, two = np.array([-1.0, 0.5]), np.zeros(2), np.array([0.5, 0.25]), np.array([0.25, 0.0])
    with ct.use_engine(engine):
        assert h(low) == -1.5 and h(zero) == 0.0 and h(one) == 6.0 and h(two) == 4.0
        m = ct.map(h)
        np.testing.assert_array_equal(m(np.stack([low, zero])), [-1.5, 0.0])
        many = np.stack([low, one, zero, two])
        np.testing.assert_array_equal(m(many), [-1.5, 6.0, 0.0, 4.0])
        want = np.array([[3.0, 3.0], [8.0, 8.0], [3.0, 3.0], [16.0, 16.0]])
        np.testing.assert_array_equal(ct.grad(m >> ct.sum())(many), want)
        np.testing.assert_array_equal(ct.map(ct.grad(h))(many), want)


def test_lanes_of_a_loop_that_are_done_run_no_loop_that_would_not_end() -> None:
    """The step of the outer loop would not end at zero, nor where the loop has ended."""
    grow = ct.while_loop(ct.map(lambda v: v < 3.0), ct.map(lambda v: 2.0 * v), max_steps=50)
    outer = ct.while_loop(ct.map(lambda v: v > 0.125), ct.map(lambda v: v / 16.0) >> grow >> ct.map(lambda v: v - 4.0))
    x = np.array([100.0, 20.0, 0.0, -3.0])
    np.testing.assert_array_equal(ct.map(outer)(x), [outer(v) for v in x])
    np.testing.assert_array_equal(ct.map(ct.grad(outer))(x), [ct.grad(outer)(v) for v in x])


@pytest.mark.numpy_only
def test_one_side_runs() -> None:
    taken: list[str] = []

    def counted(name: str) -> ct.D:
        def fn(x: Any) -> Any:
            taken.append(name)
            return np.sin(np.asarray(x)), ct.scale(np.cos(np.asarray(x)))

        return ct.D(fn, spaces=lambda space: (space, ct.scale(np.ones(space.shape))))

    f, g = counted("f"), counted("g")
    h = ct.choose(POSITIVE, f, g)
    for x, name in ((np.ones(3), "f"), (-np.ones(3), "g")):
        for call in (lambda x=x: h(x), lambda x=x: ct.grad(h >> ct.sum())(x)):
            call()
            taken.clear()
            call()
            assert set(taken) == {name}


# -- with loops


def test_in_the_step_of_a_sweep_and_around_one() -> None:
    step = ct.choose(
        ct.proj(2) >> ct.map(lambda u: u > 0.0),
        ct.fork(ct.fork(ct.proj(0), ct.proj(1)) >> ct.matmul >> ct.tanh, ct.proj(0) >> ct.sum()),
        ct.fork(ct.fork(ct.proj(0), ct.proj(2)) >> ct.mul, ct.proj(1) >> ct.sum()),
    )
    w, s = 0.5 * RNG.standard_normal((3, 3)), RNG.standard_normal(3)
    u = np.array([0.5, -0.75, 2.0, -1.0, -0.5])

    def plain(s: Any, w: Any, u: Any) -> Any:
        total = 0.0
        for v in u:
            total += np.sum(s) if v > 0.0 else np.sum(w)
            s = np.tanh(s @ w) if v > 0.0 else s * v
        return np.sum(s) + total

    loop = ct.sweep(step, 5) >> ct.cross(ct.sum(), ct.sum()) >> ct.add
    np.testing.assert_allclose(loop(s, w, u), plain(s, w, u), rtol=1e-14)
    check_grads(loop, (s, w, u), order=2)
    around = ct.choose(ct.proj(0) >> POSITIVE, loop, ct.proj(1) >> ct.sum())
    for sign in (1.0, -1.0):
        point = (sign * np.abs(s), w, u)
        np.testing.assert_allclose(around(point), plain(*point) if sign > 0.0 else np.sum(w), rtol=1e-14)
        check_grads(around, point, order=2)
    many = tuple([np.stack([part, -part]) for part in (s, w, u)])
    equal(ct.map(ct.grad(loop))(many), stacked(ct.grad(loop)(s, w, u), ct.grad(loop)(-s, -w, -u)))


# -- beside JAX


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_beside_jax(sign: float) -> None:
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    jnp = jax.numpy

    def theirs(a: Any, b: Any) -> Any:
        return jax.lax.cond(a.sum() > 0, lambda: jnp.sum(jnp.tanh(a @ b)), lambda: jnp.sum(jnp.sin(a @ b) * a.sum()))

    ours = ct.choose(FIRST, PRODUCT, OTHER) >> ct.sum()
    x = (sign * A, B)
    np.testing.assert_allclose(ours(*x), theirs(*x), rtol=1e-14)
    equal(ct.grad(ours)(*x), tuple(map(np.asarray, jax.grad(theirs, argnums=(0, 1))(*x))), 1e-12)
    v = tuple([np.cos(part) for part in x])
    want = jax.jvp(jax.grad(theirs, argnums=(0, 1)), x, v)[1]
    equal(ct.hvp(ours, (x,), (v,)), tuple(map(np.asarray, want)), 1e-11)


# -- what it is


def test_it_is_a_box_with_an_explicit_jacobian() -> None:
    p, f, g, x = SIDES["matrices"]
    h = ct.choose(p, f, g)
    assert eval(repr(h), {"ct": ct, **h.names}) == h and pickle.loads(pickle.dumps(h)) == h
    _, L = ct.linearize(h, x)
    assert isinstance(L.structure, Either) and L.kind.startswith("either ")
    assert "choose(" in h.draw(ct.space_of(x))
    parts = [part for part, _ in L.structure.parts]
    assert L.structure.nnz == max(part.nnz for part in parts) and L.structure == L.structure.T.T
    for point, side in ((x, f), (negated(x), g)):
        want = ct.linearize(side, point)[1].todense()
        np.testing.assert_allclose(ct.linearize(h, point)[1].todense(), want, rtol=1e-13)
        np.testing.assert_allclose(ct.jacobian(h)(*point).todense(), want, rtol=1e-13)
        planned = ct.plan(h >> ct.square, point).multiply(ct.linearize(h >> ct.square, point)[1])
        np.testing.assert_allclose(planned.todense(), ct.jacobian(side >> ct.square)(*point).todense(), rtol=1e-13)
    again = pickle.loads(pickle.dumps(L))
    np.testing.assert_array_equal(again.todense(), L.todense())


def test_arguments_that_a_side_reads_are_not_copied_into_slots() -> None:
    """Of a product, the slots are its factors: those are there, and zeros stand for nothing but what is made."""
    h = ct.choose(FIRST, ct.matmul, ct.matmul >> ct.neg)
    _, L = ct.linearize(h, (A, B))
    assert L.stored == 1 + A.size + B.size


def test_a_value_and_its_derivative_are_one_choice() -> None:
    p, f, g, x = SIDES["matrices"]
    both = ct.value_and_grad(ct.choose(p, f, g) >> ct.sum())
    boxes = [box.primitive for box in program_of(both, ct.space_of(x))[0].boxes]
    assert sum(isinstance(each, Choose) for each in boxes) == 2  # forward and backward


def test_numbers_are_selected() -> None:
    h = ct.choose(ct.map(lambda v: v > 0.0), ct.sqrt, ct.const(2.0))
    assert not any(isinstance(box.primitive, Choose) for box in ct.wire(h, ct.f64[()]).boxes)
    x = np.array([4.0, 0.0, -1.0, np.nan])
    np.testing.assert_array_equal(ct.map(h)(x), [2.0, 2.0, 2.0, 2.0])
    np.testing.assert_array_equal(ct.map(ct.grad(h))(x), [0.25, 0.0, 0.0, 0.0])
    for dtype in ("float32", "int8", "bool"):
        same = ct.choose(ct.map(lambda v: v > 0), ct.id, ct.map(lambda v: v))
        assert same(np.ones((), dtype)).dtype == dtype


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ct.choose(ct.sin, ct.id, ct.id)(1.0), "a condition gives one boolean"),
        (lambda: ct.choose(ct.map(lambda v: v > 0.0), ct.id, ct.id)(np.ones(2)), "a condition gives one boolean"),
        (lambda: ct.choose(POSITIVE, ct.id, ct.sum())(np.ones(2)), "ct.f64[2] by ct.id, ct.f64[()] by ct.sum()"),
        (lambda: ct.choose(POSITIVE, ct.id, ct.astype("float32"))(np.ones(2)), "ct.f32[2]"),
        (lambda: ct.choose(POSITIVE, ct.dup, ct.id)(np.ones(2)), "both sides of a choice"),
    ],
)
def test_what_does_not_fit(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(ct.SpaceError) as found:
        make()
    assert words in str(found.value) and str(found.value).count(__file__) == 1

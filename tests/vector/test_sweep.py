"""`ct.sweep`: loops of a state, of what every step reads, of inputs and outputs, beside the chains of their steps."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.engine.program import program_of
from catad.linear.families.contract import Contract
from catad.testing import check_grads, check_laws
from catad.vector.loops.sweep_map import Sweep, SweepMap

RNG = np.random.default_rng(7)


def random(*shape: int) -> Any:
    return 0.5 * RNG.standard_normal(shape)


def paired(f: Callable[..., Any], *parts: ct.D) -> ct.D:
    return ct.fork(*parts) >> ct.map(f)


def product(a: ct.D, b: ct.D) -> ct.D:
    return ct.fork(a, b) >> ct.matmul


def unrolled(f: ct.D, shapes: Any, n: int, reverse: bool) -> ct.D:
    """The same as `ct.sweep(f, n)`, step after step; the inputs are one array, a pair of them, or none."""
    state: ct.D = ct.proj(0)
    outputs: dict[int, ct.D] = {}
    for i in reversed(range(n)) if reverse else range(n):

        def row(which: ct.D, shape: tuple[int, ...], i: int = i) -> ct.D:
            return ct.proj(2) >> which >> ct.slice(i, i + 1) >> ct.reshape(shape)

        if shapes is None:
            inputs: ct.D = ct.it
        elif isinstance(shapes, list):
            inputs = ct.fork(*[row(ct.proj(k), shape) for k, shape in enumerate(shapes)])
        else:
            inputs = row(ct.id, shapes)
        step = ct.fork(state, ct.proj(1), inputs) >> f
        state, outputs[i] = step >> ct.exl, step >> ct.exr
    return ct.fork(state, ct.fork(*[outputs[i] for i in range(n)]))


STATE, GIVEN, INPUT = ct.proj(0), ct.proj(1), ct.proj(2)

# the body, the point, the shapes of the inputs of one step
CASES: dict[str, tuple[ct.D, Any, Any]] = {
    "a layer": (
        ct.fork(paired(lambda z, b: np.tanh(z + b), product(STATE, GIVEN >> ct.exl), GIVEN >> ct.exr), STATE),
        (random(2, 3), (random(3, 3), random(3)), ()),
        None,
    ),
    "a layer with inputs": (
        ct.fork(ct.fork(product(STATE, GIVEN) >> ct.tanh, INPUT) >> ct.add, product(STATE, GIVEN) >> ct.sum(axis=1)),
        (random(2, 3), random(3, 3), random(4, 2, 3)),
        (2, 3),
    ),
    "weights that are made at each step": (
        ct.fork(paired(lambda s, z: np.sin(s + z), STATE, product(INPUT, product(GIVEN, GIVEN) >> ct.exp)), ct.it),
        (random(3), random(3, 3), random(4, 3)),
        (3,),
    ),
    "a step that is linear": (
        ct.fork(ct.fork(product(STATE, GIVEN), INPUT) >> ct.add, INPUT),
        (random(3), random(3, 3), random(4, 3)),
        (3,),
    ),
    "elementwise weights, two inputs": (
        ct.fork(
            paired(lambda s, w, u: s * w + np.tanh(u), STATE, GIVEN, INPUT >> ct.exl),
            ct.fork(paired(lambda w, k: w * k, GIVEN, INPUT >> ct.exr), GIVEN, INPUT >> ct.exl, STATE),
        ),
        (random(3), random(3), (random(4, 3), random(4))),
        [(3,), ()],
    ),
    "parts of weights": (
        ct.fork(
            ct.fork(
                product(STATE, GIVEN >> ct.slice(0, 3) >> ct.transpose()) >> ct.sin,
                product(STATE, GIVEN >> ct.slice(1, 4)) >> ct.cos,
            )
            >> ct.mul,
            product(STATE, GIVEN >> ct.slice(1, 4)),
        ),
        (random(3), random(4, 3), ()),
        None,
    ),
    "a state that stays": (
        ct.fork(ct.fork(paired(lambda s, k: np.sin(s * k), STATE >> ct.exl, STATE >> ct.exr), STATE >> ct.exr), ct.it),
        ((random(3), random(3)), (), ()),
        None,
    ),
    "states that change places": (
        ct.fork(ct.fork(STATE >> ct.exr >> ct.sin, STATE >> ct.exl), STATE >> ct.exl),
        ((random(3), random(3)), (), ()),
        None,
    ),
    "a state of inputs": (ct.fork(INPUT, STATE), (random(3), (), random(4, 3)), (3,)),
    "a state that is given": (ct.fork(GIVEN, STATE), (random(3), random(3), ()), None),
    "no state": (
        ct.fork(ct.it, paired(lambda z, u: np.sin(z) * u, product(INPUT, GIVEN), INPUT)),
        ((), random(3, 3), random(4, 3)),
        (3,),
    ),
    "a loop within": (
        ct.fork(ct.fork(STATE, GIVEN, ct.it) >> ct.sweep(ct.fork(product(STATE, GIVEN) >> ct.tanh, ct.it), 2) >> ct.exl, STATE),
        (random(3), random(3, 3), ()),
        None,
    ),
    "integers beside": (
        ct.fork(
            ct.fork(paired(lambda s, k: s * k, STATE >> ct.exl, STATE >> ct.exr), STATE >> ct.exr >> ct.map(lambda k: k + 1)),
            paired(lambda k, g: k * g, STATE >> ct.exr, GIVEN),
        ),
        ((random(3), np.int64(1)), np.int64(2), ()),
        None,
    ),
    "gathers": (
        ct.fork(ct.fork(STATE, ct.fork(GIVEN, INPUT) >> ct.gather) >> ct.add >> ct.tanh, ct.fork(GIVEN, INPUT) >> ct.gather),
        (random(2), random(5, 2), np.array([4, 0, 4, 1])),
        (),
    ),
}


def equal(a: Any, b: Any, rtol: float = 1e-11) -> None:
    a, b = [np.concatenate([np.ravel(leaf) for leaf in leaves(v)]) if leaves(v) else np.zeros(0) for v in (a, b)]
    assert a.shape == b.shape and np.allclose(a, b, rtol=rtol, atol=1e-12, equal_nan=True)


def leaves(value: Any) -> list[Any]:
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, tuple) else [value]


def squared(f: ct.D, x: Any) -> ct.D:
    """A number of all floating results."""
    space = f.spaces(ct.space_of(x))
    names = [k for k, leaf in enumerate(space.leaves) if leaf.is_float]
    flat = f >> Flat()
    parts = [flat >> ct.proj(k) >> ct.map(lambda v: np.sin(1.0 + v)) >> ct.sum() for k in names]
    return ct.fork(*parts) >> ct.stack() >> ct.sum()


class Flat(ct.D):
    """The leaves of a value, in one tuple."""

    __slots__ = ()

    def lay_out(self, b: Any, x: Any) -> Any:
        return tuple(leaves(x))


@pytest.mark.quick(10)
@pytest.mark.parametrize("engine", ["reference", "cpu"])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_a_sweep_is_the_chain_of_its_steps(name: str, reverse: bool, engine: Any) -> None:
    f, x, shapes = CASES[name]
    n = 4
    loop, chain = ct.sweep(f, n, reverse=reverse), unrolled(f, shapes, n, reverse)
    with ct.use_engine(engine):
        end, outputs = loop(*x)
        other, rows = chain(*x)
        equal(end, other)
        kinds = len(leaves(outputs))
        for k in range(kinds):
            equal(leaves(outputs)[k], tuple([leaves(row)[k] for row in rows]))
        a, c = squared(loop, x), squared(chain, x)
        equal(ct.grad(a)(*x), ct.grad(c)(*x))
        v = ct.grad(c)(*x)
        equal(ct.jvp(a, x, v)[1], ct.jvp(c, x, v)[1])
        equal(ct.hvp(a, x, v), ct.hvp(c, x, v), 1e-9)


@pytest.mark.parametrize("name", ["a layer", "elementwise weights, two inputs", "integers beside", "no state", "gathers"])
def test_laws_and_differences(name: str) -> None:
    f, x, _ = CASES[name]
    loop = ct.sweep(f, 4)
    check_laws(loop, x)
    check_grads(loop, x, order=2)


def stacked(*points: Any) -> Any:
    if isinstance(points[0], tuple):
        return tuple([stacked(*parts) for parts in zip(*points, strict=True)])
    return np.stack(points)


def scaled(x: Any, by: float) -> Any:
    if isinstance(x, tuple):
        return tuple([scaled(part, by) for part in x])
    return x * by if np.asarray(x).dtype.kind == "f" else np.asarray(x)


@pytest.mark.quick(10)
@pytest.mark.parametrize("engine", ["reference", "cpu"])
@pytest.mark.parametrize("name", CASES)
def test_sweeps_side_by_side(name: str, engine: Any) -> None:
    f, x, _ = CASES[name]
    loop = ct.sweep(f, 4)
    points = [x, scaled(x, 0.5), scaled(x, -1.5)]
    many, one = stacked(*points), squared(loop, x)
    with ct.use_engine(engine):
        equal(ct.map(loop)(*many), stacked(*[loop(*point) for point in points]))
        equal(ct.map(ct.grad(one))(*many), stacked(*[ct.grad(one)(*point) for point in points]))
        equal(ct.grad(ct.map(one) >> ct.sum())(*many), stacked(*[ct.grad(one)(*point) for point in points]))


def test_side_by_side_with_the_same_weights() -> None:
    """What is the same for all lanes is not spread over them, and its cotangents add up."""
    w, s = random(3, 3), random(5, 3)
    layer = ct.sweep(ct.fork(product(STATE, GIVEN) >> ct.tanh, STATE), 4)
    lanes = ct.map(ct.fork(ct.id, ct.const(w), ct.it) >> layer >> ct.exl)
    sweeps = [box for box in ct.wire(lanes, ct.f64[5, 3]).boxes if isinstance(box.primitive, Sweep)]
    assert [box.primitive.given.leaves for box in sweeps] == [(ct.f64[3, 3],)]
    equal(lanes(s), np.stack([layer(row, w, ())[0] for row in s]))


# -- steps: none, one


@pytest.mark.parametrize("reverse", [False, True])
def test_no_steps(reverse: bool) -> None:
    f = ct.fork(ct.fork(STATE, GIVEN) >> ct.mul, ct.fork(STATE, ct.fork(INPUT, GIVEN) >> ct.mul))
    loop = ct.sweep(f, 0, reverse=reverse)
    s, g = random(3), random(3)
    end, (before, products) = loop(s, g, np.zeros((0, 3)))
    np.testing.assert_array_equal(end, s)
    assert before.shape == products.shape == (0, 3)
    ds, dg, du = ct.grad(loop >> ct.exl >> ct.square >> ct.sum())(s, g, np.zeros((0, 3)))
    np.testing.assert_array_equal(ds, 2.0 * s)
    np.testing.assert_array_equal(dg, np.zeros(3))
    assert du.shape == (0, 3)
    check_laws(loop, (s, g, np.zeros((0, 3))))


def test_no_steps_and_no_state() -> None:
    end, outputs = ct.sweep(ct.fork(STATE, ct.const(1.0)), 0)((), (), ())
    assert end == () and outputs.shape == (0,)


def test_outputs_stay_beside_their_inputs() -> None:
    f = ct.map(lambda s, k, u: (k * s + u, s))
    u = np.array([1.0, 2.0, 3.0])
    assert ct.sweep(f, 3)(1.0, 0.5, u)[1].tolist() == [1.0, 1.5, 2.75]
    assert ct.sweep(f, 3, reverse=True)(1.0, 0.5, u)[1].tolist() == [3.75, 3.5, 1.0]
    assert ct.sweep(f, 3, reverse=True)(1.0, 0.5, u[::-1])[0] == ct.sweep(f, 3)(1.0, 0.5, u)[0]


def test_dtypes_stay() -> None:
    f = ct.map(lambda s, k, u: (k * s + u, s > 0, s))
    f = f >> ct.fork(ct.proj(0), ct.fork(ct.proj(1), ct.proj(2)))
    end, (flags, rows) = ct.sweep(f, 2)(np.float32(1.0), np.float32(0.5), np.zeros(2, np.float32))
    assert (end.dtype, flags.dtype, rows.dtype) == (np.float32, bool, np.float32)
    ds, dk, du = ct.grad(ct.sweep(f, 2) >> ct.exl)(np.float32(1.0), np.float32(0.5), np.zeros(2, np.float32))
    assert (ds.dtype, dk.dtype, du.dtype) == (np.float32,) * 3


# -- what is kept, and what runs at each step


WEIGHTS = (random(4), random(4, 4), ())
LAYER = ct.fork(product(STATE, GIVEN) >> ct.tanh, STATE)


def boxes_of(f: ct.D, x: Any) -> list[Any]:
    return [box.primitive for box in program_of(f, ct.space_of(x))[0].boxes]


def test_weights_are_kept_once_and_their_gradient_is_one_product() -> None:
    n = 5
    loss = ct.sweep(LAYER, n) >> ct.exl >> ct.square >> ct.sum()
    structure = ct.linearize(ct.sweep(LAYER, n), WEIGHTS)[1].structure
    (loop,) = [part for part, _ in structure.series if isinstance(part, SweepMap)] or [structure]
    assert isinstance(loop, SweepMap) and (loop.states, loop.reads, loop.sums) == (1, 1, 0)
    assert structure.stored == 2 * n * 4 + 4 * 4 and loop == loop.T.T
    boxes = boxes_of(ct.grad(loss), WEIGHTS)
    sweeps = [each for each in boxes if isinstance(each, Sweep)]
    assert len(sweeps) == 2 and all(len(each.state.leaves) == 1 and not each.sums.leaves for each in sweeps)
    products = [each for each in boxes if isinstance(each, Contract) and len(each.operands) == 2]
    assert len(products) == 1 and products[0].sizes[products[0].operands[0][0]] == n


def test_a_sum_that_is_no_product_is_added_up_in_place() -> None:
    """The gradient by what is read at places that the state says."""

    def step(s, g, u):
        return (np.sin(s[0] + g[s[1]] + u), (2 * s[1] + 1) % 3), ()

    read = ct.sweep(ct.function(step), 4) >> ct.exl >> ct.exl
    x = ((0.5, np.array(0)), random(3), random(4))
    sweeps = [each for each in boxes_of(ct.grad(read), x) if isinstance(each, Sweep)]
    assert [each.sums.leaves for each in sweeps] == [(), (ct.f64[3],)]
    check_grads(read, x, order=2)


def test_what_is_read_at_places_from_the_inputs_is_read_before_the_loop() -> None:
    """So its derivative is one scatter after the loop; where that is much more than the array, each step reads."""

    def read(n: int) -> ct.D:
        return ct.sweep(ct.fork(ct.fork(STATE, ct.fork(GIVEN, INPUT) >> ct.gather) >> ct.add >> ct.sin, ct.it), n) >> ct.exl

    for n, sums in ((4, [(), ()]), (20, [(), (ct.f64[3],)])):
        x = (0.5, random(3), np.arange(n) % 3)
        sweeps = [each for each in boxes_of(ct.grad(read(n)), x) if isinstance(each, Sweep)]
        assert [each.sums.leaves for each in sweeps] == sums
        check_grads(read(n), x, order=2)
        out_of_range = (0.5, random(3), np.full(n, 3))
        with pytest.raises(ct.IndexRangeError):
            read(n)(*out_of_range)


def test_what_is_read_at_the_same_places_is_given() -> None:
    def f(x, A):
        B = A.copy()
        for i in range(3):
            for j in range(3):
                B[j + 1 : j + 2, i] -= x[j + 1 : j + 2] * A[i, j]
        return B

    x, A = random(4), random(4, 4)
    np.testing.assert_allclose(ct.function(f, unroll=2)(x, A), f(x, A), rtol=1e-14)
    check_grads(ct.function(f, unroll=2), (x, A), order=2)


def test_what_no_step_changes_runs_once() -> None:
    f = ct.fork(product(STATE, product(GIVEN, GIVEN)) >> ct.tanh, ct.it)
    boxes = boxes_of(ct.sweep(f, 5), WEIGHTS)
    (loop,) = [each for each in boxes if isinstance(each, Sweep)]
    assert sum(isinstance(each, Contract) for each in boxes) == 1
    assert sum(isinstance(box.primitive, Contract) for box in ct.wire(loop.body, loop.dom).boxes) == 1


def test_weights_in_a_state_are_given() -> None:
    """So a loop that hands them on takes the steps of one that is given them; also while a condition holds."""
    handed = ct.fork(product(ct.exl, ct.exr) >> ct.tanh, ct.exr)
    x = np.ones(4), 0.2 * np.eye(4) + 0.02 * WEIGHTS[1]
    short = ct.while_loop(ct.exl >> ct.square >> ct.sum() >> ct.map(lambda s: s > 0.01), handed)
    for loop in (ct.iterate(handed, 3), short):
        loss = loop >> ct.exl >> ct.sum()
        sweeps = [each for each in boxes_of(ct.grad(loss), x) if isinstance(each, Sweep)]
        assert sweeps and all(len(each.state.leaves) == 1 for each in sweeps)
        check_grads(loss, x, order=2)
    with ct.use_engine("reference"):
        np.testing.assert_array_equal(ct.iterate(handed, 3)(x)[0], ct.sweep(LAYER, 3)(*x, ())[0])


def test_outputs_that_nothing_reads_are_not_made() -> None:
    end = ct.sweep(LAYER, 5) >> ct.exl
    (loop,) = [each for each in boxes_of(end, WEIGHTS) if isinstance(each, Sweep)]
    assert not loop.output.leaves
    both = [each for each in boxes_of(ct.value_and_grad(end >> ct.sum(), argnums=1), WEIGHTS) if isinstance(each, Sweep)]
    assert len(both) == 2 and len(both[0].output.leaves) == 2


def test_steps_that_do_not_depend_on_each_other_run_at_once() -> None:
    f, x, _ = CASES["no state"]
    assert not any(isinstance(each, Sweep) for each in boxes_of(ct.grad(squared(ct.sweep(f, 4), x)), x))


def test_they_do_not_where_that_would_take_much_memory() -> None:
    wide = ct.fork(ct.it, product(INPUT, GIVEN) >> ct.tanh >> ct.sum())
    x = ((), np.ones((2, 1000)), np.ones((3000, 2)))
    (loop,) = [each for each in boxes_of(ct.sweep(wide, 3000), x) if isinstance(each, Sweep)]
    assert loop.n == 3000
    assert not any(isinstance(each, Sweep) for each in boxes_of(ct.sweep(wide, 30), ((), x[1], x[2][:30])))
    np.testing.assert_allclose(ct.sweep(wide, 3000)(*x)[1], np.full(3000, 1000 * np.tanh(2.0)), rtol=1e-12)


# -- branches of a step


@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_a_branch_of_what_is_given_does_no_harm(engine: Any) -> None:
    """The logarithm is that of what is given, and selected at each step."""
    f = ct.fork(ct.map(lambda s, g, u: s + (np.log(g) * u if g > 0.0 else u)), ct.it)
    loss = ct.sweep(f, 3) >> ct.exl
    u = np.array([1.0, 2.0, 3.0])
    with ct.use_engine(engine):
        for g, slope in ((2.0, 3.0), (0.0, 0.0), (-1.0, 0.0)):
            ds, dg, du = ct.grad(loss)(1.0, g, u)
            assert (ds, dg) == (1.0, slope) and np.allclose(du, np.log(2.0) if g > 0.0 else 1.0)


# -- what it is


def test_text_and_pickle() -> None:
    loop = ct.sweep(LAYER, 3, reverse=True)
    assert eval(repr(loop), {"ct": ct, **loop.names}) == loop and pickle.loads(pickle.dumps(loop)) == loop
    assert loop != ct.sweep(LAYER, 3) and "sweep(" in loop.draw(ct.space_of(WEIGHTS))
    L = ct.linearize(loop, WEIGHTS)[1]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(L)).todense(), L.todense())
    gradient = ct.grad(loop >> ct.exl >> ct.sum())
    assert eval(repr(gradient), {"ct": ct, **gradient.names}) == gradient


def test_as_a_matrix() -> None:
    loop, chain = ct.sweep(LAYER, 3), unrolled(LAYER, None, 3, False)
    want = ct.linearize(chain, WEIGHTS)[1].todense()
    for L in (ct.linearize(loop, WEIGHTS)[1], ct.jacobian(loop)(*WEIGHTS)):
        np.testing.assert_allclose(L.todense(), want, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(L.T.todense(), want.T, rtol=1e-12, atol=1e-14)


PLAIN = ct.map(lambda s, k, u: (k * s + u, s))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ct.sweep(PLAIN, 3)(1.0, 2.0), "a value (state, given, inputs)"),
        (lambda: ct.sweep(PLAIN, 3)(1.0, 0.5, np.zeros(4)), "one leading axis of length 3"),
        (lambda: ct.sweep(PLAIN, 3)(1.0, 0.5, 1.0), "one leading axis of length 3"),
        (lambda: ct.sweep(ct.proj(0), 3)(1.0, 0.5, np.zeros(3)), "a step of a loop gives a pair"),
        (lambda: ct.sweep(ct.id, 3)(1.0, 0.5, np.zeros(3)), "a step of a loop gives a pair"),
        (lambda: ct.sweep(ct.fork(GIVEN, ct.it), 3)(1.0, np.zeros(2), ()), "a loop keeps the space of its state"),
        (lambda: ct.sweep(ct.fork(STATE >> ct.astype("float32"), ct.it), 0)(1.0, (), ()), "a loop keeps the space of its state"),
        (lambda: ct.sweep(ct.fork(ct.fork(STATE, STATE), ct.it), 3)(1.0, (), ()), "a loop keeps the space of its state"),
    ],
)
def test_what_does_not_fit(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(ct.SpaceError) as found:
        make()
    assert words in str(found.value) and __file__ in str(found.value)


@pytest.mark.parametrize("n", [-1, 1.5, True, None])
def test_a_number_of_steps(n: Any) -> None:
    with pytest.raises(ct.ArgumentError, match="a number of steps"):
        ct.sweep(PLAIN, n)


# -- beside JAX


@pytest.mark.parametrize("reverse", [False, True])
def test_beside_jax(reverse: bool) -> None:
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    jnp = jax.numpy
    n, rows, d, h = 7, 2, 3, 4
    gates = [ct.fork(STATE >> ct.exl, INPUT) >> ct.concatenate(axis=1)]
    gates = [paired(lambda z, b: z + b, product(gates[0], GIVEN >> ct.exl), GIVEN >> ct.exr)] * 4
    i, f, o, g = [gate >> ct.slice(k * h, (k + 1) * h, axis=1) for k, gate in enumerate(gates)]
    cell = paired(
        lambda i, f, g, c: c / (1.0 + np.exp(-f)) + np.tanh(g) / (1.0 + np.exp(-i)), i, f, g, STATE >> ct.exr
    )
    out = paired(lambda o, c: np.tanh(c) / (1.0 + np.exp(-o)), o, cell)
    lstm = ct.sweep(ct.fork(ct.fork(out, cell), out), n, reverse=reverse)
    ours = lstm >> ct.exr >> ct.square >> ct.sum()

    def theirs(state: Any, given: Any, inputs: Any) -> Any:
        w, b = given

        def step(state: Any, u: Any) -> Any:
            z = jnp.concatenate([state[0], u], axis=1) @ w + b
            i, f, o, g = [z[:, k * h : (k + 1) * h] for k in range(4)]
            c = state[1] * jax.nn.sigmoid(f) + jnp.tanh(g) * jax.nn.sigmoid(i)
            out = jnp.tanh(c) * jax.nn.sigmoid(o)
            return (out, c), out

        return jnp.sum(jax.lax.scan(step, state, inputs, reverse=reverse)[1] ** 2)

    x = ((random(rows, h), random(rows, h)), (random(h + d, 4 * h), random(4 * h)), random(n, rows, d))
    np.testing.assert_allclose(ours(*x), theirs(*x), rtol=1e-13)
    want = jax.grad(theirs, argnums=(0, 1, 2))(*x)
    equal(ct.grad(ours)(*x), jax.tree.map(np.asarray, want))
    equal(ct.hvp(ours, x, x), jax.tree.map(np.asarray, jax.jvp(jax.grad(theirs, argnums=(0, 1, 2)), x, x)[1]), 1e-10)

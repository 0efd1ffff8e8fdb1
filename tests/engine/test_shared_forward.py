"""`fork(f, grad(f))` computes f once: products of arrays are counted in the programs of ten architectures."""

from __future__ import annotations

import numpy as np
import pytest

import catad as ct
from catad.engine.program import program_of
from catad.linear.families.contract import Contract
from catad.vector.loops.sweep_map import Sweep

B, N = 5, 4
W = ct.f64[N, N]
affine = ct.fork(ct.fork(ct.exl, ct.exr >> ct.exl) >> ct.matmul, ct.exr >> ct.exr) >> ct.add
loss = ct.square >> ct.sum()
swish = ct.map(lambda x: x / (1.0 + np.exp(-x)))
gelu = ct.map(lambda x: 0.5 * x * (1.0 + np.tanh(0.8 * (x + 0.04 * x * x * x))))
WEIGHTS = ct.product(*[W * ct.f64[N]] * 4)


def chain(n, *after):
    """n affine layers on (rows, weights), each followed by a morphism."""
    out = ct.exl
    for k in range(n):
        out = ct.fork(out, ct.exr >> ct.proj(k)) >> affine >> after[k % len(after)]
    return out


def weight(k):
    return ct.exr >> ct.proj(k) >> ct.exl


def times(f, g):
    return ct.fork(f, g) >> ct.matmul


query, key, value = (times(ct.exl, weight(k)) for k in range(3))
scores = times(query, key >> ct.transpose()) >> ct.map(lambda s: np.exp(0.1 * s))
attention = times(scores, value)
highway = ct.fork(chain(1, ct.sigmoid), chain(2, ct.tanh), ct.exl) >> ct.map(lambda t, h, x: t * h + (1.0 - t) * x)
residual = ct.fork(ct.exl, chain(2, ct.relu)) >> ct.add
factored = times(times(ct.exl, weight(0)), weight(1))
gated = ct.fork(times(ct.exl, weight(0)) >> swish, times(ct.exl, weight(1))) >> ct.mul

# products of matrices: of the value, and of its gradient by the weights
ARCHITECTURES = {
    "one layer": (chain(1, ct.tanh), 1, 1),
    "four layers": (chain(4, ct.tanh), 4, 7),
    "four layers of other kinds": (chain(4, gelu, ct.relu, swish, ct.sigmoid), 4, 7),
    "several maps between layers": (chain(3, ct.tanh >> ct.exp >> ct.sin, ct.square >> ct.cos), 3, 5),
    "a residual block": (residual, 2, 3),
    "a highway layer": (highway, 2, 3),
    "attention": (attention, 5, 7),
    "gated units": (times(gated, weight(2)), 3, 4),
    "two factors": (factored, 2, 3),
    "a sum of exponentials at the end": (chain(2, gelu) >> ct.exp >> ct.sum(axis=1) >> ct.log, 2, 3),
}


def products(term: ct.D, dom: ct.Space) -> int:
    """The products of matrices in one run of a program, those of each step of its loops included."""
    return sum(products_in(box.primitive) for box in program_of(term, dom)[0].boxes)


def products_in(box: object) -> int:
    if isinstance(box, Sweep):
        return box.n * products(box.body, box.dom)
    return is_product(box)


def is_product(box: object) -> bool:
    """Whether a box multiplies matrices: it sums over an axis of two arrays, each of which has another one."""
    if not isinstance(box, Contract) or len(box.operands) != 2:
        return False
    one, other = map(set, box.operands)
    return bool((one & other) - set(box.out) and one - other and other - one)


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_value_and_gradient_compute_the_value_once(name: str) -> None:
    body, forward, backward = ARCHITECTURES[name]
    f, dom = body >> loss, ct.f64[B, N] * WEIGHTS
    assert products(f, dom) == forward
    for both in (ct.value_and_grad(f, argnums=1), ct.fork(ct.grad(f, argnums=1), f)):
        assert products(both, dom) == forward + backward


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_value_and_tangent_compute_the_value_once(name: str) -> None:
    body, _, _ = ARCHITECTURES[name]
    f, dom = body >> loss, ct.f64[B, N] * WEIGHTS
    pair = dom * dom
    alone = products(ct.tangent(f), pair)
    assert products(ct.fork(ct.exl >> f, ct.differential(f), ct.tangent(f)), pair) == alone


# loops: of (a state, matrices), with inputs for each step
T = 3
STATE, INPUTS = ct.f64[B, N] * (W * W), ct.f64[T, B, N]
recurrent = ct.exl >> times(ct.exl, ct.exr >> ct.exl)
cell = ct.fork(ct.fork(recurrent, ct.exr) >> ct.add >> ct.tanh, ct.exl >> ct.exr)
minimal_gated = (
    ct.fork(ct.fork(recurrent, ct.exr) >> ct.add >> ct.sigmoid, ct.exl >> times(ct.exl, ct.exr >> ct.exr), ct.exl >> ct.exl)
    >> ct.map(lambda gate, new, old: gate * new + (1.0 - gate) * old)
)
gated_cell = ct.fork(minimal_gated, ct.exl >> ct.exr)
simple = ct.fork(ct.exl >> ct.tanh, ct.exr) >> ct.fork(times(ct.exl, ct.exr >> ct.exl), ct.exr)
within = ct.iterate(simple, 2) >> simple


# the products of a run forward, and of the gradient by state and inputs
LOOPS = {
    "a recurrent layer": (ct.iterate(cell, T, inputs=True) >> ct.exl, STATE * INPUTS, T, 2 * T),
    "gated units": (ct.iterate(gated_cell, T, inputs=True) >> ct.exl, STATE * INPUTS, 2 * T, 4 * T),
    "two loops": (ct.iterate(simple, T) >> simple >> ct.iterate(simple, 2) >> ct.exl, STATE, T + 3, 2 * (T + 3)),
    "a loop within a loop": (ct.iterate(within, T) >> ct.exl, STATE, 3 * T, 6 * T),
    "a scan of matrices": (ct.scan(ct.matmul, np.eye(N)) >> ct.tanh, ct.f64[T, N, N], T, 2 * T),
    "a fold of matrices": (ct.fold(ct.matmul, np.eye(N)) >> ct.tanh, ct.f64[T, N, N], T, 2 * T),
}


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_runs_forward_once(name: str) -> None:
    body, dom, forward, backward = LOOPS[name]
    f = body >> loss
    assert products(f, dom) == forward
    alone = products(ct.grad(f), dom)
    assert alone == forward + backward
    for both in (ct.value_and_grad(f), ct.fork(ct.grad(f), f)):
        assert products(both, dom) == alone


@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_a_side_that_is_not_taken_poisons_no_gradient(engine: str) -> None:
    """Layers are shared as they were composed; derivatives are those of the fused function all the same."""
    safe = ct.fork(ct.map(lambda x: x > 0), ct.map(lambda x: 1.0 / x), ct.id) >> ct.where
    with ct.use_engine(engine):
        x = np.array([0.0, 2.0])
        y, slope = ct.value_and_grad(safe >> ct.exp >> ct.sum())(x)
        assert y == 1.0 + np.exp(0.5) and np.allclose(slope, [1.0, -0.25 * np.exp(0.5)])
        assert np.allclose(ct.jvp(safe, (x,), (np.ones(2),))[1], [1.0, -0.25])

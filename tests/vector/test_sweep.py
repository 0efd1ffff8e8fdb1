"""`ct.sweep`: loops of a state, of what every step reads, of inputs and outputs, beside the chains of their steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.linear.sweep import Sweep
from catad.testing import check_grads, check_laws

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
NAN = ct.map(lambda s, w: np.log(s) if w > 0.0 else s)

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

"""What loops keep of their steps: as little as a minimum cut says, and derivatives that do not change by it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct
from catad import upward
from catad.category.cache import forget
from catad.vector.loops import sweep_map
from catad.vector.loops.sweep_map import SweepMap

from ..engine.whole_support import leaves, like

RNG = np.random.default_rng(7)


def random(*shape: int) -> Any:
    return RNG.normal(size=shape)


def seidel(A: Any) -> Any:
    for i in range(1, A.shape[0] - 1):
        for j in range(1, A.shape[1] - 1):
            A[i, j] = 0.2 * (A[i, j] + A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1])
    return A


def filtered(x: Any, k: Any) -> Any:
    y = np.zeros_like(x)
    for i in range(2, len(x)):
        y[i] = k * x[i] + 0.5 * y[i - 1] - 0.25 * np.sin(y[i - 2])
    return y


def triangular(A: Any, b: Any) -> Any:
    x = np.zeros_like(b)
    for i in range(len(b)):
        x[i] = (b[i] - A[i, :i] @ x[:i]) / A[i, i]
    return x


def masked(x: Any, on: Any) -> Any:
    s = np.zeros(x.shape[1])
    for i in range(x.shape[0]):
        s = np.where(on[i], np.tanh(s * x[i]), s) * np.exp(-0.1 * np.abs(s))
    return s


def nested(x: Any, W: Any) -> Any:
    total = 0.0
    for i in range(x.shape[0]):
        h = x[i]
        for j in range(20):
            h = np.tanh(h @ W + x[i] * (1.0 - 0.02 * np.cos(x[i]) * j))
        total = total + np.sum(h * h)
    return total


def newton(a: Any) -> Any:
    y = a + 1.0
    while np.abs(y * y - a) > 1e-12:
        y = 0.5 * (y + a / y)
    return y * np.sin(a)


def power(A: Any, k: Any) -> Any:
    s = A[0]
    for i in k:
        s = s * A[i] + np.sin(A[i - 1])
    return s


CASES = {
    "seidel": (seidel, lambda: (random(12, 11),)),
    "filtered": (filtered, lambda: (random(40), 0.7)),
    "triangular": (triangular, lambda: (random(20, 20) + 9.0 * np.eye(20), random(20))),
    "masked": (masked, lambda: (random(30, 5), RNG.random(30) < 0.7)),
    "nested": (nested, lambda: (random(18, 4), 0.2 * random(4, 4))),
    "newton": (newton, lambda: (2.3,)),
    "power": (power, lambda: (random(9, 3), RNG.integers(0, 9, 25))),
}


def all_slots(wiring: Any, structure: Any, *_: Any) -> tuple[int, ...]:
    return tuple(wiring.outputs[len(wiring.outputs) - len(structure.slots) :])


def derivatives(f: Any, x: Any) -> list[Any]:
    """The value, a tangent, cotangents at once and later, and a derivative of second order."""
    rng = np.random.default_rng(3)
    dom = ct.space_of(x[0] if len(x) == 1 else x)
    v, w = like(rng, dom), like(rng, f.spaces(dom))
    y, back = ct.vjp(f, *x)
    _, linear = ct.linearize(f, *x)
    made = [y, back(w), linear(v), linear.T(w), ct.reverse_differential(f)(x[0] if len(x) == 1 else x, w)]
    twice = ct.tangent(ct.reverse_differential(f))
    point = (x[0] if len(x) == 1 else x, w)
    made.append(twice(point, (v, like(rng, f.spaces(dom)))))
    return leaves(tuple([made_ if made_ is not None else () for made_ in made]))


@pytest.mark.quick(7)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_derivatives_do_not_depend_on_what_is_kept(name: str, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fn, point = CASES[name]
    x = point()
    with ct.use_engine(engine):
        forget()
        f = ct.function(fn).at(ct.space_of(x[0] if len(x) == 1 else x))
        least = derivatives(f, x)
        monkeypatch.setattr(upward, "kept_of_step", all_slots)
        forget()
        f = ct.function(fn).at(ct.space_of(x[0] if len(x) == 1 else x))
        slots = derivatives(f, x)
    forget()
    for one, other in zip(least, slots, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13, err_msg=name)


@pytest.mark.parametrize("name", [name for name in CASES if name not in ("masked", "power")])
def test_gradients_are_slopes(name: str) -> None:
    fn, point = CASES[name]
    ct.testing.check_grads(ct.function(fn), *point(), order=1)


# -- how much is kept


def kept(fn: Any, *x: Any) -> int:
    return sum([a.nbytes for a in ct.vjp(ct.function(fn), *x)[1].arrays])


def read_only(a: Any) -> Any:
    a.flags.writeable = False
    return a


def test_a_linear_loop_keeps_nothing_but_counters() -> None:
    for n in (20, 40):
        assert kept(seidel, random(n, n)) <= 2 * 8 * n  # the counters of both loops, and nothing for each of n * n updates


def test_indices_that_follow_from_counters_are_not_kept() -> None:
    """Of each step a slope of the sine and the number that is read; once, positions of all that is read, and a counter."""
    few, more = [kept(filtered, read_only(random(n)), 0.7) for n in (50, 150)]
    assert more - few <= 100 * 4 * 8


def test_masks_are_not_kept() -> None:
    n = 60
    assert kept(triangular, read_only(random(n, n) + 9.0 * np.eye(n)), read_only(random(n))) <= (2 * n * n + 8 * n) * 8


def test_pointwise_partials_are_computed_again() -> None:
    """Three partials of a step follow from its state: of long stacks the state is kept."""

    def step(s: Any, k: Any) -> Any:
        return s + k * s * (1.0 - s) * (2.0 - s) / (1.0 + s * s)

    def fn(s: Any, k: Any) -> Any:
        for _ in range(200):
            s = step(s, k)
        return s

    m = 2000
    assert kept(fn, random(m), 0.01) <= 200 * m * 8 + 4 * m * 8


# -- planted bugs


def check(name: str) -> None:
    fn, point = CASES[name]
    forget()
    try:
        ct.testing.check_grads(ct.function(fn), *point(), order=1)
    finally:
        forget()


@pytest.mark.parametrize("name", ["filtered", "triangular", "nested"])
def test_slots_in_the_wrong_order_are_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def turned(self: SweepMap) -> SweepMap:
        return SweepMap(self.step.T, self.n, self.states, self.sums, self.reads, self.reverse, self.fixed, self.again)

    monkeypatch.setattr(SweepMap, "T", property(turned))
    with pytest.raises(AssertionError):
        check(name)


def test_a_slot_from_a_state_that_was_overwritten_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept of the state before a step is the state after it."""

    def fn(s: Any, k: Any) -> Any:
        for _ in range(30):
            s = s - k * s * (1.0 - s) * (2.0 - s) / (1.0 + s * s)
        return s

    original, planted = sweep_map.cut, []

    def later(term: Any, dom: Any, ins: Any, outs: Any) -> Any:
        wiring = ct.wire(term, dom)
        if tuple(ins) == wiring.inputs and wiring.inputs[0] in outs:
            planted.append(outs)
            outs = tuple([wiring.outputs[0] if k == wiring.inputs[0] else k for k in outs])
        return original(term, dom, ins, outs)

    x = RNG.random(3000), 0.05 + 0.01 * RNG.random(3000)
    ct.testing.check_grads(ct.function(fn), *x, order=1)
    monkeypatch.setattr(sweep_map, "cut", later)
    forget()
    with pytest.raises(AssertionError):
        ct.testing.check_grads(ct.function(fn), *x, order=1)
    assert planted
    forget()

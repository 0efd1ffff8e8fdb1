"""Products of a matrix that is the same at each step: taken for all steps at once, before the loop or after it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct
from catad import upward
from catad.category.boxes import Nesting
from catad.category.wiring import Wiring, wire
from catad.linear.families.contract import Contract
from catad.vector.loops.sweep_map import Sweep


def recurrent(w: Any, u: Any, xs: Any) -> Any:
    """The product of the input comes before the loop."""
    h = np.zeros(4)
    for x in xs:
        h = np.tanh(np.sin(x) @ w + h @ u)
    return h


def observed(m: Any, h: Any, n: Any) -> Any:
    """The product of the outputs comes after the loop."""
    out = []
    for i in range(20):
        h = np.tanh(h * 1.1 + 0.01 * i)
        out.append(np.cos(m @ h) + h[0])
    return np.stack(out) * n


def chosen(w: Any, u: Any, xs: Any) -> Any:
    """A choice between what is multiplied."""
    h = np.zeros(4)
    for x in xs:
        y = x if x[0] > 0 else -2.0 * x
        h = np.tanh(y @ w + h @ u)
    return h


RNG = np.random.default_rng(7)
W, U, XS = 0.1 * RNG.normal(size=(40, 4)), RNG.normal(size=(4, 4)), RNG.normal(size=(20, 40))
CASES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "before": (recurrent, (0.1 * RNG.normal(size=(400, 4)), U, RNG.normal(size=(20, 400)))),
    "after": (observed, (0.1 * RNG.normal(size=(30, 20)), RNG.normal(size=20), 0.5)),
    "a choice before": (chosen, (0.1 * RNG.normal(size=(400, 4)), U, RNG.normal(size=(20, 400)))),
    "small": (recurrent, (W, U, XS)),
}


def products_within(wiring: Wiring) -> list[int]:
    """The sizes of the largest operands of products in the loops of a wiring."""
    found = []
    for box in wiring.boxes:
        for _, term, dom in box.primitive.programs() if isinstance(box.primitive, Nesting) else ():
            inner = upward.program_of(term, dom)[0].wiring
            found += products_within(inner)
            if isinstance(box.primitive, Sweep):
                two = [one for one in inner.boxes if isinstance(one.primitive, Contract) and len(one.ins) == 2]
                found += [max([inner.wires[k].size for k in one.ins]) for one in two]
    return found


def wide(w: Any, u: Any, xs: Any) -> Any:
    """A wide matrix: 5 numbers of a step, 40 of its product."""
    h = np.zeros(40)
    for x in xs:
        h = np.tanh(np.sin(x) @ w + h * u)
    return h


WIDE = RNG.normal(size=(30, 40)), 0.5, RNG.normal(size=(20, 30))


@pytest.mark.parametrize("fn,x", [(wide, WIDE), (observed, CASES["after"][1])])
def test_no_step_reads_the_matrix(fn: Any, x: tuple[Any, ...]) -> None:
    f = ct.function(fn)
    dom = ct.space_of(x)
    largest = max([np.size(a) for a in x if np.ndim(a) == 2])
    assert largest not in products_within(wire(f.at(*x), dom))
    y = f(*x)
    back = ct.reverse_differential(f.at(*x))
    assert largest not in products_within(wire(back, dom * ct.space_of(y)))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_values_and_gradients_are_those_of_the_steps(name: str, engine: str) -> None:
    fn, x = CASES[name]
    f = ct.function(fn)
    with ct.use_engine(engine):
        y, back = ct.vjp(f, *x)
        w = RNG.normal(size=np.shape(y))
        bars = back(w)
    assert np.allclose(y, fn(*x), rtol=1e-12, atol=1e-14)
    v = [RNG.normal(size=np.shape(a)) for a in x]
    slope = sum(float(np.vdot(a, b)) for a, b in zip(bars, v, strict=True))
    h = 1e-6
    ends = [fn(*[a + s * h * d for a, d in zip(x, v, strict=True)]) for s in (1, -1)]
    assert np.isclose(slope, np.vdot(w, ends[0] - ends[1]) / (2 * h), rtol=1e-6)

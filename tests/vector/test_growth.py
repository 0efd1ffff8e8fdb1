"""Work, memory and passes of the combinators' derivatives, counted: nothing here reads a clock."""

from __future__ import annotations

import re
import tracemalloc
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.category.wiring import wire
from catad.engine.program import Program
from catad.linear.products import cost_of_wiring
from catad.values import buffers

from . import operators as o

N = 1000  # elements, many more than anything else here
SIZES = (10_000, 100_000, 1_000_000)
TIMES = (lambda a, b: a * b), 1.0
LARGEST = (lambda a, b: a if a >= b else b), -np.inf
AFFINE = (lambda f, g: (f[0] * g[0], f[1] * g[0] + g[1])), (1.0, 0.0)
INVERTIBLE = ct.monoid(*TIMES, inverse=lambda total, x: total / x)


def spaces(n: int) -> tuple[ct.Space, ct.Space, ct.Space]:
    return ct.f64[n], ct.i64[n], ct.f64[8]


def term(name: str, n: int) -> tuple[ct.D, ct.Space]:
    """A term by name, at a space with n elements."""
    v, i, bins = spaces(n)
    pairs = {"+": ((ct.add, 0.0), v), "*": (TIMES, v), "max": (LARGEST, v), "affine": (AFFINE, v * v)}
    pairs["matrix"] = o.operator(["matrix"]).pair, ct.product(v, v, v, v)
    pairs["inverse"] = (INVERTIBLE,), v
    pairs["logaddexp"] = (ct.logaddexp, -np.inf), v
    pairs["soft"] = (lambda a, b: a + b - a * b, 0.0), v
    pairs["free"] = (o.damped, 0.0), v * ct.f64[()]
    kind, op = name.split()
    more: dict[str, Any] = {"params": 1} if op == "free" else {}
    pair, at = pairs[op]
    if kind == "fold":
        return ct.fold(*pair, **more), at
    if kind == "scan":
        return ct.scan(*pair, **more), at
    if kind == "histogram":
        return ct.histogram(*pair, bins=8), i * at
    if kind == "reduce_by_index":
        dst = bins if isinstance(at, ct.Tensor) else ct.product(*[bins for _ in at.leaves])
        return ct.reduce_by_index(*pair), ct.product(dst, i, at)
    if kind == "segmented_scan":
        return ct.segmented_scan(*pair), i * at
    return ct.segmented_fold(*pair, by="lengths"), ct.i64[4] * at


NAMES = [f"{kind} {op}" for kind in ("fold", "scan", "histogram", "reduce_by_index", "segmented_scan", "segmented_fold")
         for op in ("+", "*", "max", "affine", "matrix")]  # fmt: skip
NAMES += ["fold inverse", "histogram inverse", "reduce_by_index inverse", "fold free", "scan free"]


def derivatives(f: ct.D, at: ct.Space) -> list[tuple[ct.D, ct.Space]]:
    forward, reverse = at * ct.tangent_space(at), at * ct.tangent_space(f.spaces(at))
    return [(f, at), (ct.tangent(f), forward), (ct.reverse_differential(f), reverse)]


@pytest.mark.parametrize("name", NAMES)
def test_derivatives_cost_a_constant_times_the_value(name: str) -> None:
    """Scalar operations are linear in n, boxes do not depend on it, and either mode costs a few values."""
    costs, boxes = [], []
    for n in (1000, 100_000):
        wirings = [wire(*pair) for pair in derivatives(*term(name, n))]
        costs.append([cost_of_wiring(w) for w in wirings])
        boxes.append([len(w.boxes) for w in wirings])
    assert boxes[0] == boxes[1]
    for small, large in zip(*costs, strict=True):
        assert 90 * small <= large <= 101 * small + 100
    value, forward, reverse = costs[0]
    assert forward <= 6 * value and reverse <= 6 * value


@pytest.mark.parametrize("name", ["scan matrix", "scan affine"])
def test_the_work_of_further_axes_is_linear_too(name: str) -> None:
    """Twice as many columns cost twice as much: no Jacobian is as wide as the rows."""
    op = o.operator([name.split()[1]])
    costs = []
    for m in (4, 8):
        at = ct.product(*[ct.f64[N, m] for _ in op.integer])
        costs.append([cost_of_wiring(wire(*pair)) for pair in derivatives(ct.scan(*op.pair), at)])
    assert [2 * c for c in costs[0]] == costs[1]


def values(space: Any, rng: np.random.Generator) -> Any:
    if isinstance(space, ct.Tensor):
        if space.is_float:
            return 1.0 + rng.uniform(-1.0, 1.0, space.shape) / max(space.size, 1)
        return rng.integers(0, 2, space.shape)
    return tuple([values(part, rng) for part in space.factors])


def peak(name: str, n: int) -> int:
    """The most bytes that live at a time within one gradient."""
    f, at = term(name, n)
    x = values(at, np.random.default_rng(n))
    if name.startswith("segmented_fold"):
        x = (np.full(4, n // 4), x[1])
    if name.endswith("free"):
        x = (x[0] - 1.0, x[1])  # near the neutral element
    y = f(x)
    ones = o.nested(y, [np.ones_like(leaf) for leaf in o.leaves(y)])
    ct.vjp(f, x)[1](ones)
    buffers.release()  # memory that is used again is not seen below
    tracemalloc.start()
    ct.vjp(f, x)[1](ones)
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found


@pytest.mark.quick(12)
@pytest.mark.numpy_only
@pytest.mark.parametrize("name", [n for n in NAMES if n.split()[1] not in ("matrix",)])
def test_peak_memory_is_linear(name: str) -> None:
    with ct.use_engine("cpu"):
        peaks = [peak(name, n) for n in SIZES]
    for small, large in pairwise(peaks):
        assert np.log10(large / small) <= 1.1, peaks
    leaves = len(term(name, 1)[1].leaves)
    assert peaks[-1] <= 10 * (leaves + 1) * 8 * SIZES[-1], "more than a few arrays of the inputs' size"


# -- what the docstrings say


def passes(f: ct.D, at: ct.Space) -> int:
    """Boxes of the program that read or write an array with as many numbers as there are elements."""
    wiring = Program(wire(f, at)).wiring
    return sum(any(wiring.wires[k].size >= N for k in (*box.ins, *box.outs)) for box in wiring.boxes)


def stated(f: Any) -> str:
    return re.sub(r"\s+", " ", f.__doc__)


@pytest.mark.parametrize(
    ("function", "phrase", "name"),
    [
        (ct.fold, "`+` {} and {}", "fold +"),
        (ct.fold, "a minimum or maximum {} and {}", "fold max"),
        (ct.fold, "a declared inverse {} and {}", "fold inverse"),
        (ct.fold, "`*` {} and {}", "fold *"),
        (ct.fold, "`logaddexp` {} and {}", "fold logaddexp"),
        (ct.fold, "any other operator on numbers {} and {}", "fold soft"),
        (ct.scan, "`+` {} and {}", "scan +"),
        (ct.scan, "`*` {} and {}", "scan *"),
        (ct.scan, "a minimum or maximum {} and {}", "scan max"),
        (ct.scan, "affine maps {} and {}", "scan affine"),
        (ct.histogram, "`+` {} and {}", "histogram +"),
        (ct.histogram, "a minimum or maximum {} and {}", "histogram max"),
        (ct.histogram, "`*` {} and {}", "histogram *"),
        (ct.histogram, "any other operator on numbers {} and {}", "histogram soft"),
        (ct.reduce_by_index, "`*` {} and {}", "reduce_by_index *"),
        (ct.segmented_scan, "an operator on numbers {} and {}", "segmented_scan *"),
        (ct.segmented_fold, "`*` {} and {}", "segmented_fold *"),
        (ct.segmented_fold, "any other operator on numbers {} and {}", "segmented_fold soft"),
    ],
)
def test_docstrings_state_the_passes_over_the_elements(function: Any, phrase: str, name: str) -> None:
    (f, at), _, (reverse, space) = derivatives(*term(name, N))
    said = phrase.format(passes(f, at), passes(reverse, space))
    assert said in stated(function), said


def test_an_inverse_of_a_histogram_takes_six_passes_beside_the_value() -> None:
    (f, at), _, (reverse, space) = derivatives(*term("histogram inverse", N))
    assert passes(reverse, space) - passes(f, at) == 6 and "a declared inverse 6 beside the value's" in stated(ct.histogram)


@pytest.mark.parametrize(
    "function",
    [ct.fold, ct.scan, ct.histogram, ct.reduce_by_index, ct.segmented_scan, ct.segmented_fold, ct.sort, ct.stencil],
)
def test_docstrings_state_work_and_depth(function: Any) -> None:
    assert re.search(r"work O\(.*?n\b.*?\), depth O\(", stated(function), re.IGNORECASE)

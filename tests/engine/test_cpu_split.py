"""Long chains and long scalar functions: work grows with their length, and pieces compute what the whole does."""

from __future__ import annotations

import functools
import operator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import catad as ct
from catad.category.wiring import Wiring, wire
from catad.engine.cpu.engine import CPU
from catad.engine.cpu.run import target
from catad.engine.program import Program, program_of
from catad.engine.rewrites.fuse import fuse
from catad.engine.stages import split
from catad.vector.pointwise.map import Map

from .cpu_support import SPECIAL, define, functions

X = np.array([0.5, -1.5, 3.0, -0.0, 0.0, 7.25, np.nan, np.inf, -np.inf, 1e30])


def chain(*boxes):
    return functools.reduce(operator.rshift, boxes)


@pytest.mark.parametrize("of", [lambda f: f, lambda f: ct.grad(f >> ct.sum())], ids=["value", "gradient"])
def test_a_chain_of_maps_is_stages_of_bounded_length_and_few_kernels(of):
    counts = []
    for n in (500, 1000, 2000):
        program, _ = program_of(of(chain(*[ct.map(lambda x: x * 0.75 + 0.125)] * n)), ct.f64[8])
        ((made, _, _),) = CPU.steps(program.wiring)
        maps = [box.primitive for box in split.split(program.wiring).boxes if isinstance(box.primitive, Map)]
        assert all(split.length(one.function) <= split.MOST for one in maps)
        counts.append((len(made.passes), made.printed.count("define internal void @stage")))  # type: ignore[attr-defined]
    (a, same), (b, _), (c, last) = counts
    assert b <= 2 * a + 1 and c <= 2 * b + 1 and last <= same + 2 <= 6


def test_a_chain_of_five_thousand_cosines_compiles_a_few_kernels(monkeypatch):
    made = []
    compiled = target.compiled
    monkeypatch.setattr(target, "compiled", lambda *given: (made.append(given), compiled(*given))[1])
    x = np.linspace(0.1, 1.0, 8)
    f = chain(*[ct.cos] * 5000)
    with ct.use_engine("cpu"):
        y = f(x)
    for _ in range(5000):
        x = np.cos(x)
    assert len(made) <= 2
    np.testing.assert_allclose(y, x, rtol=1e-12)


class Counted(tuple):
    """Boxes that count how often somebody goes through them."""

    passes = 0

    def __iter__(self):
        Counted.passes += 1
        return super().__iter__()


def test_laying_out_stages_goes_through_the_boxes_a_fixed_number_of_times():
    passes = []
    for n in (50, 200):
        wiring = fuse(wire(chain(*[ct.tanh, ct.flip()] * n), ct.f64[8]), horizontal=True)
        boxes = Counted(wiring.boxes)
        wiring = Wiring(wiring.dom, wiring.cod, wiring.wires, wiring.inputs, boxes, wiring.outputs)
        Counted.passes = 0
        ((made, _, _),) = CPU.steps(wiring)
        assert len(made.passes) >= n // 2  # type: ignore[attr-defined]
        passes.append(Counted.passes)
    assert passes[0] == passes[1] < 25


def long(line, times, params="x", result="x"):
    """A function that does a line many times, written out; `K` is how often it was done."""
    lines = [line.replace("K", str(k)) for k in range(times)]
    return ct.map(define("\n    ".join([f"def f({params}):", *lines, f"return {result}"]) + "\n"))


def same_in_pieces(f, dom, arrays, most, monkeypatch):
    """Whether `f` is cut into pieces of so many operations, which give the bits of the whole."""
    with ct.use_engine("cpu"), monkeypatch.context() as patched:
        patched.setattr(split, "MOST", 10**9)
        expected = Program(wire(f, dom))(np, list(arrays))
        patched.setattr(split, "MOST", most)
        program = Program(wire(f, dom))
        made = program(np, list(arrays))
        cut = len(split.split(program.wiring).boxes) > len(program.wiring.boxes)
    for a, b in zip(made, expected, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_array_equal(a, b)
        assert np.array_equal(np.signbit(a), np.signbit(b)) or np.isnan(a).any()
    return cut


TWO = long("x, y = x * y + K, y - x / (K + 1)", 30, "x, y", "x, y, x, 1.5")
WHOLE = long("x = (x ^ (x << 3)) + (x >> 5) // (K + 1)", 20)
GROW = long("x = x * 0.5 + np.sqrt(abs(x)) * (K + 0.25) if x > K - 15 else x - 1", 20)
FLAGS = long("c, x = (x > K) ^ c, x * 0.5 + c", 20, "x, c", "x, c")
HALVES = long("y = x\n    while y > 1.0 + K:\n        y = y / 2\n    x = y * 3 + K", 20)
SIDES = long("if x > 0.5:\n        while x > 1.0:\n            x = x / 2\n    x = x + 0.25", 4)
COUNT = long("n = n + (x > K * 0.5 - 9)", 30, "x, n", "n * x")
WEAK = ct.map(define("def f(x):\n    n = 0\n" + "    n = n + (x > 0.5)\n    x = x + 1\n" * 20 + "    return n * x\n"))
FLOORS = long("x = int(np.floor(x)) * 1.5 + x", 25)
BOOLS = X > 0
CUT = {
    "branches": (GROW, X),
    "single precision": (GROW, X.astype(np.float32)),
    "integers": (WHOLE, np.arange(-5, 5)),
    "small integers": (WHOLE, np.arange(-5, 5, dtype=np.int16)),
    "truth values": (FLAGS, X, BOOLS),
    "counts": (COUNT, X, np.arange(10)),
    "several results, one of them constant": (TWO, X, X[::-1].copy()),
    "a stretched argument": (TWO, X, np.array(0.5)),
    "arguments stretched against each other": (TWO, X[:, None], X),
    "whole numbers of floats": (FLOORS, X),
    "loops": (HALVES, X[:6]),
    "a gradient": (ct.tangent(GROW), X, X),
}
WHOLE_STAYS = {
    "a weak count": (WEAK, X),
    "loops on one side of a branch": (SIDES, X[:6]),
}


@pytest.mark.quick(16)
@pytest.mark.parametrize("most", [7, 40])
@pytest.mark.parametrize("name", [*CUT, *WHOLE_STAYS])
def test_pieces_compute_what_the_whole_computes(name, most, monkeypatch):
    f, *arrays = {**CUT, **WHOLE_STAYS}[name]
    spaces = [ct.space_of(a) for a in arrays]
    cut = same_in_pieces(f, ct.product(*spaces) if len(spaces) > 1 else spaces[0], arrays, most, monkeypatch)
    assert cut == (name in CUT)


@settings(max_examples=10)
@given(functions(depth=12), st.sampled_from([np.float32, np.float64]), st.integers(2, 30))
def test_pieces_of_drawn_functions_compute_what_the_whole_computes(text, dtype, most):
    f = ct.map(define(text))
    with np.errstate(all="ignore"):
        arrays = [np.array(SPECIAL, dtype), np.array(SPECIAL[::-1], dtype)]
    space = ct.space_of(arrays[0])
    with pytest.MonkeyPatch.context() as patch:
        same_in_pieces(f, space * space, arrays, most, patch)
        same_in_pieces(ct.tangent(f), (space * space) * (space * space), arrays * 2, most, patch)

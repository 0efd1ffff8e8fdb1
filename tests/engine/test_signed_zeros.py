"""Programs that differ in the sign of a zero alone: 0.0 and -0.0 are equal as Python numbers, so what is found by equality must
tell them apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.category.spaces import Product
from catad.category.wiring import Builder
from catad.engine.program import Program
from catad.linear.families.reindex import Axis, StridedCopy

from .cpu_support import assert_same, on

X = np.array([-0.0, 0.0, -0.0, -1.0, 2.0, -0.0])
CONSTANTS = {
    "a sum": lambda zero: ct.map(lambda x: x + zero),
    "a choice": lambda zero: ct.map(lambda x: x if x > 1.0 else zero),
    "a constant array": lambda zero: ct.const(np.full(6, zero)),
    "a fold": lambda zero: ct.fold(lambda a, x: a + x, zero),
    "a scan": lambda zero: ct.scan(lambda a, x: a + x, zero),
}


def padded(fill: float) -> Program:
    """`x + (fill, ..., fill, v)`."""
    b = Builder()
    x, v = b.wire(ct.f64[6]), b.wire(ct.f64[1])
    (moved,) = b.add(StridedCopy((Axis(n_in=1, n_out=6, a=0, s=1, c=5, t=1, m=1),), fill), v)
    return Program(b.finish(Product((ct.f64[6], ct.f64[1])), (x, v), (x + moved,)))


@pytest.mark.parametrize("fills", [(0.0, -0.0), (-0.0, 0.0)])
def test_fills(fills: tuple[float, float]) -> None:
    programs = [padded(fill) for fill in fills]  # both are held: a kernel is known for as long as somebody holds it
    for fill, program in zip(fills, programs, strict=True):
        with ct.use_engine("cpu"):
            (got,) = program(np, [X, np.array([-0.0])])
        assert_same([got], [X + np.array([fill] * 5 + [-0.0])])


@pytest.mark.parametrize("engine", ["cpu", "auto"])
@pytest.mark.parametrize("zeros", [(0.0, -0.0), (-0.0, 0.0)])
@pytest.mark.parametrize("name", CONSTANTS)
def test_constants(name: str, zeros: tuple[float, float], engine: str) -> None:
    made: Any = CONSTANTS[name]
    functions = [made(zero) for zero in zeros]
    for zero, f in zip(zeros, functions, strict=True):
        assert_same(on(engine, f, X), on("reference", f, X), zero)


def test_a_scatter_and_a_part_that_are_added_to_one_array() -> None:
    """The scatter is added by index to the sum of the others, of which the part is one."""
    index, x = np.array([0, 2, 2, 5]), np.arange(1.0, 7.0)
    f = ct.function(lambda x: np.sum(x[index] ** 2) + np.sum(x[1:2] ** 3) + np.sum(np.sin(x)))
    want = np.cos(x)
    np.add.at(want, index, 2.0 * x[index])
    want[1] += 3.0 * x[1] ** 2
    (got,) = on("cpu", ct.grad(f), x)
    np.testing.assert_allclose(got, want, rtol=1e-14)

"""Drawn arithmetic of mixed dtypes: each intermediate result has NumPy's dtype, so results have NumPy's bits on every engine.

Sums, differences, products, quotients and roots are rounded correctly. A number that an engine kept wider, or joined with the
next operation, would differ in its last digits.
"""

from __future__ import annotations

import linecache
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import catad as ct

SHAPES: list[tuple[int, ...]] = [(), (3,), (7,), (300,)]
KINDS = ["float32", "float32", "float32", "float64", "int32", "int64"]


def single(x: Any) -> Any:
    return x.astype(np.float32)


def double(x: Any) -> Any:
    return x.astype(np.float64)


def expression(rng: random.Random, depth: int, names: list[str]) -> str:
    def part() -> str:
        return expression(rng, depth - 1, names)

    if depth == 0 or rng.random() < 0.15:
        return rng.choice([*names, *(["2.5", "0.3", "3"] if rng.random() < 0.3 else [])])
    kind = rng.random()
    if kind < 0.62:
        return f"({part()} {rng.choice('+-*/')} {part()})"
    if kind < 0.72:
        return f"np.{rng.choice(['maximum', 'minimum'])}({part()}, {part()})"
    if kind < 0.86:
        return f"np.{rng.choice(['abs', 'sqrt', 'square', 'reciprocal', 'negative'])}({part()})"
    if kind < 0.94:
        return f"{rng.choice(['single', 'double'])}({rng.choice(names)} * {part()})"
    return f"np.where({part()} > {part()}, {part()}, {part()})"


@pytest.fixture
def written() -> Iterator[Callable[[str], Any]]:
    """Makes a function `f` of its text."""
    files: list[str] = []

    def made(text: str) -> Any:
        name = f"<drawn dtypes {len(files)}>"
        files.append(name)
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        scope: dict[str, Any] = {"np": np, "single": single, "double": double}
        exec(compile(text, name, "exec"), scope)
        return scope["f"]

    yield made
    for name in files:
        linecache.cache.pop(name, None)


@pytest.mark.parametrize("seed", range(0, 240, 6))
@np.errstate(all="ignore")
def test_each_intermediate_result_has_its_dtype(seed: int, written: Callable[[str], Any]) -> None:
    draw, rng = random.Random(seed), np.random.default_rng(seed)
    shape, names = draw.choice(SHAPES), ["a", "b", "c"]
    args = [np.asarray(3.0 * rng.standard_normal(shape)).astype(draw.choice(KINDS))[()] for _ in names]
    x, y = expression(draw, 3, names), expression(draw, 3, [*names, "x"])
    f = written(f"def f(a, b, c):\n    x = {x}\n    y = {y}\n    return x + a * 0, y + b * 0, x * y + c\n")
    wanted = [np.asarray(one) for one in f(*args)]
    for engine in ("reference", "cpu"):
        with ct.use_engine(engine):
            for got, want in zip(ct.function(f)(*args), wanted, strict=True):
                assert got.dtype == want.dtype
                np.testing.assert_array_equal(got, want)


def test_a_double_result_of_single_numbers_has_their_precision() -> None:
    """Functions such as `exp` may differ by two units of the dtype in which NumPy computes them, and stay so in a wider one."""
    x = np.linspace(-4.0, 4.0, 1000, dtype=np.float32)
    exact = np.exp(x.astype(np.float64)) * np.pi
    unit = np.spacing(np.exp(x)).astype(np.float64) * np.pi
    for engine in ("reference", "cpu"):
        with ct.use_engine(engine):
            got = ct.function(lambda x: np.exp(x).astype(np.float64) * np.pi)(x)
        assert got.dtype == np.float64 and (abs(got - exact) <= 2.0 * unit).all()
        assert (abs(got - exact) > 1e-9 * exact).any()  # not in double precision


def test_numbers_of_a_mapped_function_are_weak() -> None:
    x = np.ones(3, np.float32)
    assert ct.map(lambda x: x * np.sqrt(2.0))(x).dtype == np.float32
    assert ct.function(lambda x: x * np.sqrt(2.0))(x).dtype == (x * np.sqrt(2.0)).dtype == np.float64

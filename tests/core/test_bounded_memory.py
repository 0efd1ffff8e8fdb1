"""A process that makes new functions, sizes and terms for ever stays as large as it is once what is kept is full."""

from __future__ import annotations

import functools
import gc
import sys
import threading
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.category import cache
from catad.support import lru
from catad.support.lru import Recent, remembered
from catad.traced import function as traced
from catad.traced.arrays import operators

X = np.linspace(0.5, 1.5, 8)
MADE = 6  # new functions in a measurement


def by_function(c: float) -> None:
    ct.function(lambda x: x * c + np.sin(x))(X)


def by_map(c: float) -> None:
    ct.map(lambda x: x * c + 1.0)(X)


def by_gradient(c: float) -> None:
    ct.grad(lambda x: (x * c).sum())(X)


def by_loop(c: float) -> None:
    def summed(x: Any) -> Any:
        total = 0.0
        for _ in range(20):
            total = total * c + x.sum()
        return total

    ct.grad(summed)(X)


def by_while(c: float) -> None:
    def grown(x: Any) -> Any:
        while x.sum() < 50.0:
            x = x * 1.5 + c
        return x.sum()

    ct.grad(grown)(X)


def by_hand(c: float) -> None:
    ct.D(lambda t: (t * c, ct.scale(np.full(8, c))))(X)


def by_scan(c: float) -> None:
    ct.scan(lambda a, b: a * b * c, 1.0 / c)(X)


def by_fold(c: float) -> None:
    ct.fold(lambda a, b: a + b + a * b * c, 0.0)(X)


def by_bins(c: float) -> None:
    ct.histogram(lambda a, b: a + b + a * b * c, 0.0, 3)(np.arange(8) % 3, X)


def by_kernel(c: float) -> None:
    @ct.kernel
    def scaled(x: Any, y: Any) -> None:
        i = ct.simt.grid(1)
        if i < len(x):
            y[i] = x[i] * c

    scaled[1, 8](X, np.zeros(8))


def by_pullback(c: float) -> None:
    ct.vjp(ct.map(lambda x: x * x * c) >> ct.sum(), X)[1](1.0)


def by_size(c: float) -> None:
    ct.grad(ct.map(lambda x: x * x * 1.25) >> ct.sum())(np.ones(round(c * 1000)))


def by_jacobian_size(c: float) -> None:
    ct.jacobian(ct.function(lambda x: x[1:] * x[:-1]))(np.ones(round(c * 1000))).tocsr()


def by_plan(c: float) -> None:
    ct.plan(ct.map(lambda x: x * x * c) >> ct.cumsum(), ct.f64[round(c * 1000)])


def by_composing(c: float) -> None:
    parts = [ct.cos if digit == "1" else ct.exp for digit in bin(round(c * 1000))[2:]]
    functools.reduce(lambda f, g: f >> g, parts)(0.3)


def by_generated_code(c: float) -> None:
    scope: dict[str, Any] = {}
    exec(compile(f"def f(x):\n    return x * {c} + 1.0\n", f"<generated {c}>", "exec"), scope)
    ct.map(scope["f"])(X)
    ct.function(scope["f"])(X)


def in_a_thread(c: float) -> None:
    thread = threading.Thread(target=by_gradient, args=(c,))
    thread.start()
    thread.join(timeout=60)


WAYS = [by_function, by_map, by_gradient, by_loop, by_while, by_hand, by_scan, by_fold, by_bins, by_kernel, by_pullback, by_size,
        by_jacobian_size, by_plan, by_composing, by_generated_code, in_a_thread]  # fmt: skip
COMPILED = [by_map, by_gradient, by_loop, by_scan, by_bins]


def forget() -> None:
    """Let go of all that is kept; so what is still there was never bounded."""
    lru.forget()
    cache.forget()
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] == "catad" and module is not None:
            for thing in list(vars(module).values()):
                if isinstance(thing, Recent):
                    thing.clear()
            if name == "catad.engine.cpu.run.target":
                module.forget()
    gc.collect()


@pytest.fixture
def memory() -> Iterator[Callable[[], int]]:
    """The bytes of Python's memory that are in use."""
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()


def made(way: Callable[[float], None], first: int, count: int) -> None:
    for k in range(first, first + count):
        way(0.25 + k / 1000)


def live() -> Counter[str]:
    """The objects of catad that are there, by type."""
    kinds = map(type, gc.get_objects())
    return Counter([kind.__qualname__ for kind in kinds if str(vars(kind).get("__module__")).startswith("catad.")])


@pytest.mark.numpy_only
@pytest.mark.parametrize(("way", "engine"), [*[(way, "reference") for way in WAYS], (by_map, "cpu"), (by_gradient, "cpu")])
def test_nothing_is_kept_without_bounds(way: Callable[[float], None], engine: str, memory: Callable[[], int]) -> None:
    with ct.use_engine(engine):
        made(way, 0, 3)
        forget()
        made(way, 3, 3)  # what is made once is there, and tables have the sizes to which they grow
        forget()
        objects, before = live(), memory()
        made(way, 6, MADE)
        gc.collect()
        kept = memory() - before
        forget()
        assert not live() - objects
        assert memory() - before < kept / 3


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Bounds that a few functions reach."""
    forget()
    monkeypatch.setattr(lru, "RESULTS", 64)
    for each in (cache._equal, traced._dates, traced._plain, operators._plain):
        monkeypatch.setattr(each, "size", 8)
    yield
    forget()


@pytest.mark.numpy_only
@pytest.mark.parametrize("way", [by_function, by_map])
def test_what_is_kept_has_bounds(way: Callable[[float], None], small: None) -> None:
    most = []
    with ct.use_engine("reference"):
        for window in range(3):
            found = []
            for k in range(window * 40, window * 40 + 40, 5):
                made(way, k, 5)
                gc.collect()
                found.append(live().total())
            most.append(max(found))
    assert most[2] - most[1] < 40  # fewer objects than functions


@pytest.mark.numpy_only
def test_functions_that_nobody_has_hold_few_arrays(memory: Callable[[], int], monkeypatch: pytest.MonkeyPatch) -> None:
    forget()
    monkeypatch.setattr(lru, "HELD", 1 << 20)
    most = 0
    for k in range(40):
        wide = np.full(1 << 14, float(k))  # an eighth of that
        ct.function(lambda x, wide=wide: x + wide.sum())(X)
        ct.grad(lambda x, wide=wide: (x * wide[:8]).sum())(X)
        if k % 4 == 3:
            gc.collect()  # cycles are no part of what is held
            most = max(most, memory())
    assert most < 6 << 20  # of 20 MB
    forget()


def test_results_are_forgotten_together(monkeypatch: pytest.MonkeyPatch) -> None:
    lru.forget()
    monkeypatch.setattr(lru, "RESULTS", 10)
    calls = []

    @remembered
    def light(n: int) -> int:
        calls.append(n)
        return n

    @remembered(weight=lambda n: n)
    def heavy(n: int) -> int:
        return n

    for _ in range(2):
        assert [light(k) for k in range(4)] == [0, 1, 2, 3] and light.cache_info().currsize == 4
    assert calls == [0, 1, 2, 3]
    assert heavy(8) == 8 and light.cache_info().currsize == 0
    for k in range(1000):
        assert light(k) == k and light.cache_info().currsize <= 10
    lru._remembered[:] = [each for each in lru._remembered if each not in (light, heavy)]


def test_a_forgotten_function_is_no_earlier_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function whose values have changed is never taken for what it was, whether that is known still or not."""
    factor = 2.0

    def scaled(x: Any) -> Any:
        return x * factor

    assert ct.function(scaled)(3.0) == 6.0
    traced._dates.clear()
    factor = 5.0
    assert ct.function(scaled)(3.0) == 15.0


@pytest.fixture
def collecting() -> Iterator[None]:
    """Garbage is collected as often as in any process of Python."""
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


@pytest.mark.slow
@pytest.mark.numpy_only
@pytest.mark.parametrize("way", [by_function, by_map, by_gradient, by_fold])
def test_twenty_thousand_functions(way: Callable[[float], None], collecting: None) -> None:
    forget()
    most = []
    for start in range(0, 30_000, 10_000):  # full after the first
        for k in range(start, start + 10_000, 1000):
            made(way, k, 1000)
            with open("/proc/self/statm") as file:
                most.append(int(file.read().split()[1]) * 4096)
    assert max(most[10:]) <= 1.02 * max(most[:10])
    forget()

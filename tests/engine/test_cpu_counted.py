"""Counted work: stages and passes, operations at one index, bytes kept, memory after thousands of programs."""

from __future__ import annotations

import gc
import tracemalloc

import numpy as np
import pytest

import catad as ct
from catad.category import cache
from catad.engine.cpu.engine import CPU
from catad.engine.cpu.nests.nest import Nest
from catad.engine.cpu.run import kernel
from catad.engine.cpu.whole.run import Whole
from catad.engine.program import program_of
from catad.engine.stages.stage import Stage
from catad.values import buffers

from .cpu_support import items, steps
from .whole_support import anew


def stages(f, *spaces):
    return [item for item in items(f, *spaces) if isinstance(item, Stage)]


def square(x):
    return x * x


def matmul2(a, b):
    (p, q), (r, s) = a
    (t, u), (v, w) = b
    return (p * t + q * v, p * u + q * w), (r * t + s * v, r * u + s * w)


TEN = ct.compose(*[ct.map(lambda x, c=float(k): np.sin(x) + c) for k in range(10)])
V = ct.f64[5000]
ONE_STAGE = {
    "ten maps": (TEN, V),
    "ten maps into a sum": (TEN >> ct.sum(), V),
    "a map into a fold": (ct.map(square) >> ct.fold(ct.maximum, -np.inf), V),
    "a map into a scan": (ct.map(square) >> ct.scan(ct.add, 0.0), V),
    "a map into a scan into a map": (ct.map(square) >> ct.scan(ct.add, 0.0) >> ct.map(square), V),
    "maps side by side": (ct.fork(ct.map(square), ct.map(lambda x: x + 1.0), ct.neg), V),
    "sums of three maps of one array": (ct.fork(ct.sum(), ct.map(square) >> ct.sum(), ct.abs >> ct.sum()), V),
    "scans of one array": (ct.fork(ct.scan(ct.add, 0.0), ct.scan(lambda a, b: a * b, 1.0)), V),
    "an exclusive scan": (ct.scan(ct.add, 0.0, exclusive=True) >> ct.map(square), V),
    "a reversed scan": (ct.scan(ct.add, 0.0, reverse=True), V),
    "an exclusive reversed scan": (ct.map(square) >> ct.scan(ct.add, 0.0, exclusive=True, reverse=True), V),
    "a reversal is read backwards": (ct.flip() >> ct.map(square), V),
    "a shift is read beside": (ct.fork(ct.id, ct.pad(1, 0, 0.0) >> ct.slice(0, -1)) >> ct.sub, V),
    "a broadcast is no pass": (ct.fork(ct.id, ct.const(2.0)) >> ct.mul >> ct.sum(), V),
    "a transposition is no pass": (ct.transpose() >> ct.map(square) >> ct.sum(axis=0), ct.f64[70, 80]),
    "the gradient of ten maps": (ct.grad(TEN >> ct.sum()), V),
    "its value and gradient": (ct.value_and_grad(TEN >> ct.sum()), V),
    "the ends of a map replaced": (
        ct.map(square) >> ct.fork(ct.id, ct.slice(1, -2) >> ct.pad(1, 2, 7.0)) >> ct.mul >> ct.sum(),
        V,
    ),
    "a scan of a maximum and its tangent": (ct.tangent(ct.scan(ct.maximum, -np.inf)), V * V),
    "a map and its tangent": (ct.tangent(TEN), V * V),
    "the affine scan": (ct.scan(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (1.0, 0.0)), V * V),
    "a scan of matrices": (ct.scan(matmul2, ((1.0, 0.0), (0.0, 1.0))), (V * V) * (V * V)),
}


@pytest.mark.parametrize("name", ONE_STAGE)
def test_known_programs_are_one_stage(name):
    f, dom = ONE_STAGE[name]
    found = steps(f, dom)
    assert len(found) == 1 and found[0].endswith("compiled"), found


def test_a_gather_is_read_inside_the_loop_that_needs_it_after_the_check_of_its_indices():
    found = steps(ct.gather >> ct.map(square) >> ct.sum(), V * ct.i64[600])
    assert found == ["0: InRange, compiled", "1: Gathered Map Contract, compiled"]


def test_the_pullback_of_a_sum_of_prefixes_is_one_pass_forwards_and_one_backwards():
    f = ct.map(square) >> ct.scan(ct.add, 0.0)
    both = ct.fork(ct.exl >> f, ct.reverse_differential(f))
    found = stages(both, V, V)
    assert [stage.direction for stage in found] == [1, -1]
    assert sum(len(stage.inputs) for stage in found) == 3, "x twice, the cotangent once"


def test_a_partial_that_is_cheap_is_computed_again_and_a_dear_one_is_kept():
    def kept(fn):
        f = ct.map(fn) >> ct.scan(ct.add, 0.0)
        both = ct.fork(ct.exl >> f, ct.reverse_differential(f))
        return whole(both, V * V).room

    assert kept(square) == 0
    assert 0 <= kept(lambda x: np.exp(np.sin(x) * np.cos(x))) - V.nbytes < 4096  # one array, and where it begins in a page


def test_what_nobody_asks_for_is_neither_computed_nor_read():
    f = ct.fork(ct.exl >> ct.map(square), ct.exr >> ct.map(square)) >> ct.exl
    (stage,) = stages(f, V, V)
    assert [load.wire for _, load in stage.inputs] == [program_of(f, V * V)[0].wiring.inputs[0]]


def test_one_kernel_serves_all_sizes_and_equal_stages(monkeypatch):
    anew(monkeypatch)
    f = ct.map(lambda x: x * 3.25 - 1.5)
    with ct.use_engine("cpu"):
        for n in (600, 5000, 50_000):
            f(np.ones(n)), f(np.ones((n, 2))), (f >> ct.id)(np.ones(n))
    assert len([what for printer, what in kernel._codes if printer is Nest]) == 1


def whole(f, dom):
    """The compiled function of a program."""
    ((made, _, _),) = CPU.steps(program_of(f, dom)[0].wiring)
    return made


def peak(call):
    """Bytes in use at the most while a call runs, and the bytes of its result."""
    gc.collect()
    buffers.release()
    tracemalloc.start()
    try:
        out = call()
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    return most, out


@pytest.mark.parametrize("n", [10**6, 4 * 10**6])
def test_a_gradient_through_ten_maps_needs_its_result_and_nothing_else(n):
    g = ct.compile(ct.grad(TEN >> ct.sum()), ct.f64[n])
    x = np.linspace(0.0, 1.0, n)
    with ct.use_engine("cpu"):
        g(x)
        most, out = peak(lambda: g(x))
    assert most + x.nbytes <= 1.1 * (x.nbytes + out.nbytes)


def test_a_gradient_through_a_scan_keeps_what_it_says(n=10**6):
    f = ct.map(lambda x: np.exp(np.sin(x) * np.cos(x))) >> ct.scan(ct.add, 0.0) >> ct.map(square) >> ct.sum()
    g = ct.compile(ct.grad(f), ct.f64[n])
    kept = whole(g, ct.f64[n]).room
    x = np.linspace(0.0, 1.0, n)
    with ct.use_engine("cpu"):
        g(x)
        most, out = peak(lambda: g(x))
    assert kept and most + x.nbytes <= 1.1 * (x.nbytes + out.nbytes + kept)


def test_idle_memory_is_bounded_and_given_back():
    f, used = ct.map(lambda x: x + 1.0), buffers._used
    with ct.use_engine("cpu"):
        for n in range(1 << 18, 1 << 19, 1 << 14):
            f(np.zeros(n))
    assert buffers._waiting <= buffers.KEPT and buffers._used == used
    buffers.release()
    assert buffers._waiting == 0 and not buffers._idle


def some_programs(start, count):
    """Call and drop different functions; the resident bytes and the kernels that are left."""
    x = np.linspace(0.1, 1.0, 8)
    for k in range(start, start + count):
        f = ct.map(lambda x, a=float(k), b=1.0 / (k + 1): a * x + b) >> (ct.sum() if k % 2 else ct.scan(ct.add, 0.0))
        with ct.use_engine("cpu"):
            got = np.asarray(f(x))
        want = (k * x + 1.0 / (k + 1)).sum() if k % 2 else np.cumsum(k * x + 1.0 / (k + 1))
        assert np.allclose(got, want)
    gc.collect()
    return resident(), sum(isinstance(thing, Whole) for thing in gc.get_objects())


def test_programs_that_are_dropped_leave_few_kernels_behind():
    """The last ones are kept, since an equal morphism may come; they go when they are forgotten."""
    cache.forget()
    gc.collect()
    before = sum(isinstance(thing, Whole) for thing in gc.get_objects())
    _, kernels = some_programs(10_000, 15)
    assert 0 < kernels - before <= 2 * cache.TERMS
    cache.forget()
    gc.collect()
    assert sum(isinstance(thing, Whole) for thing in gc.get_objects()) <= before + 20


@pytest.mark.slow
def test_two_thousand_programs_leave_bounded_memory_behind():
    """What later ones leave behind is small beside what they took: 50 kB each at the most."""
    some_programs(0, 600)
    before, kernels = some_programs(600, 200)
    after, more = some_programs(800, 1200)
    assert more <= kernels + 50
    assert after - before <= 1200 * 50_000


def resident():
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096
    except OSError:
        pytest.skip("the memory of a process is read on Linux only")

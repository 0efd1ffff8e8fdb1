"""Loops in bounded memory: the schedule, values and derivatives of every order, what is kept, and that they are compiled."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad import upward
from catad.engine.cpu.whole import bounded
from catad.engine.cpu.whole.run import Whole
from catad.planner.memory.liveness import peak_of
from catad.testing import check_laws
from catad.vector.loops import revolve as module
from catad.vector.loops.revolve import BoundedLoop, BoundedPullback, revolve
from catad.vector.loops.segments import Segments, segments
from catad.vector.loops.snapshots import loops_of

from ..engine import whole_support

STEP = ct.map(lambda s: s + 0.1 * np.sin(3.0 * s))
DRIVEN = ct.map(lambda s, u: np.tanh(s * u + 0.1))
PAIR = ct.map(lambda a, b, k: (b * 0.5, np.sin(a) + b * (k % 2 + 1) * 0.25, k + 1))
X = np.array([0.3, 0.5])
DRIVES = (X, np.linspace(0.5, 1.5, 100).reshape(50, 2))
ENGINES = ["reference", "cpu"]


@cache
def fewest(n: int, kept: int) -> int:
    """Steps taken again, by trying each first split."""
    if n <= 1:
        return 0
    if kept == 1:
        return n * (n - 1) // 2
    return min(k + fewest(n - k, kept - 1) + fewest(k, kept) for k in range(1, n))


def test_no_split_is_better() -> None:
    for kept in range(1, 9):
        for n in range(1, 60):
            steps, k = revolve(n, kept)
            assert steps == fewest(n, kept)
            if n > 1:
                assert 1 <= k < n
                assert kept == 1 or steps == k + fewest(n - k, kept - 1) + fewest(k, kept)


def test_long_loops_are_split_at_once() -> None:
    steps, k = revolve(10**12, 3)
    assert 0 < k < 10**12 and steps > 10**12


# -- segments


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0, 3.0])
def test_segments_take_fewer_steps_in_the_same_room(share: float) -> None:
    for n in (30, 100, 1000, 12_345):
        for memory in (1, 4, 9, 40, 300):
            found = segments(n, memory, share)
            if found is None:
                continue
            count, length, head, kept = found
            assert count * length + head == n and 0 <= head < count and count + kept <= memory - 3
            taken = [0 if m * share <= kept else fewest_of(m, kept + 1) for m in (length, head)]
            assert count * taken[0] + taken[1] < revolve(n, memory)[0]
    assert segments(1000, 5, 1.0) is None
    assert segments(1000, 70, 1.0) == Segments(22, 45, 10, 45)  # no step is taken again


def fewest_of(n: int, kept: int) -> int:
    return fewest(n, kept) if n <= 60 else revolve(n, kept)[0]


@pytest.mark.parametrize("n", [40, 100, 1000])
def test_the_peak_is_what_was_asked_for(n: int) -> None:
    """At every size of memory, whichever way is taken: a few states more, of what runs."""
    size = 1000
    for memory in (1, 4, 8, 12, 25, 50, n // 2):
        peak = peak_of(ct.value_and_grad(ct.iterate(STEP, n, memory=memory) >> ct.sum()), ct.f64[size])
        assert peak <= (memory + 7) * 8 * (size + 1)


@pytest.mark.numpy_only
@pytest.mark.parametrize("memory", [40, 60, 100])
def test_no_step_is_taken_again_but_once(memory: int) -> None:
    """Once for the value, and once where the coefficients are computed: with room for about twice the root of the steps."""
    taken, n = [0], 200

    def counted(x: Any) -> Any:
        taken[0] += 1
        x = np.asarray(x)
        return np.sin(x), ct.scale(np.cos(x))

    gradient = ct.value_and_grad(ct.iterate(ct.D(counted), n, memory=memory) >> ct.sum())
    with ct.use_engine("reference"):
        gradient(X)
        taken[0] = 0
        gradient(X)
    assert taken[0] <= 2 * n


# -- results


CASES: dict[str, tuple[Any, Any]] = {
    "a state": (lambda memory: ct.iterate(STEP, 21, memory=memory), X),
    "inputs": (lambda memory: ct.iterate(DRIVEN, 13, inputs=True, memory=memory), (X, np.linspace(0.5, 1.5, 26).reshape(13, 2))),
    "parts and a counter": (lambda memory: ct.iterate(PAIR, 9, memory=memory), (0.7, -0.4, np.int64(0))),
    "segments": (lambda memory: ct.iterate(STEP, 61, memory=memory and memory + 15), X),
    "segments with inputs": (lambda memory: ct.iterate(DRIVEN, 50, inputs=True, memory=memory and memory + 9), DRIVES),
    "large": (lambda memory: ct.iterate(STEP, 8, memory=memory), np.linspace(0.1, 2.0, 300)),
    "single": (lambda memory: ct.iterate(STEP, 8, memory=memory), np.array([0.3, 0.5], np.float32)),
}


def leaves(value: Any) -> list[np.ndarray]:
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, tuple | list) else [np.asarray(value)]


def same(got: Any, want: Any, rtol: float) -> None:
    for a, b in zip(leaves(got), leaves(want), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)


@pytest.mark.quick(8)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("memory", [1, 3, 7])
@pytest.mark.parametrize("case", CASES)
def test_the_derivatives_are_those_of_the_loop_without_a_limit(case: str, memory: int, engine: Any) -> None:
    made, x = CASES[case]
    loop, plain = made(memory), made(None)
    rtol = 2e-5 if case == "single" else 1e-11
    with ct.use_engine("reference"):
        y, pullback = ct.vjp(plain, x)
    w = tangent(y)
    v = tangent(x)
    with ct.use_engine(engine):
        got, pulled = ct.vjp(loop, x)
        same(got, y, 0.0 if engine == "reference" else rtol)
        same(pulled(w), pullback(w), rtol)
        same(ct.jvp(loop, (x,), (v,)), ct.jvp(plain, (x,), (v,)), rtol)
        bent, flat = (ct.reverse_differential(f) for f in (loop, plain))
        same(ct.jvp(bent, ((x, w),), ((v, w),)), ct.jvp(flat, ((x, w),), ((v, w),)), 10 * rtol)
        same(ct.vjp(bent, (x, w))[1](v), ct.vjp(flat, (x, w))[1](v), 10 * rtol)


def tangent(value: Any) -> Any:
    """A tangent of a value."""
    if isinstance(value, tuple):
        return tuple([tangent(part) for part in value])
    array = np.asarray(value)
    return np.cos(np.arange(array.size)).reshape(array.shape).astype(array.dtype) if array.dtype.kind == "f" else ()


@pytest.mark.parametrize("inputs", [False, True])
def test_mapped(inputs: bool) -> None:
    step, n = (DRIVEN, 5) if inputs else (STEP, 5)
    loop = ct.iterate(step, n, inputs=inputs, memory=2)
    s, u = np.stack([X, -X, 2 * X]), np.linspace(0.1, 1.0, 3 * n * 2).reshape(3, n, 2)
    x: Any = (s, u) if inputs else s
    each = [(a, b) if inputs else a for a, b in zip(s, u, strict=True)]
    total = ct.grad(loop >> ct.square >> ct.sum())
    for mapped, alone in ((ct.map(loop)(x), [loop(one) for one in each]), (ct.map(total)(x), [total(one) for one in each])):
        for k, one in enumerate(alone):
            same([leaf[k] for leaf in leaves(mapped)], one, 1e-12)


def test_the_laws() -> None:
    check_laws(ct.iterate(STEP, 5, memory=2), X)
    check_laws(ct.iterate(DRIVEN, 4, inputs=True, memory=2), (X, np.linspace(0.5, 1.5, 8).reshape(4, 2)))


# -- what is kept, what runs


def boxes(term: ct.D, dom: Any) -> list[Any]:
    return [box.primitive for box in upward.program_of(term, dom)[0].wiring.boxes]


def test_a_gradient_is_as_long_for_any_number_of_steps() -> None:
    lengths = [len(boxes(ct.value_and_grad(ct.iterate(STEP, n, memory=4) >> ct.sum()), ct.f64[3])) for n in (20, 1003, 10**6)]
    assert max(lengths) <= 10


def test_memory_is_counted() -> None:
    n = 1000
    sizes = [peak_of(ct.grad(ct.iterate(STEP, 200, memory=memory) >> ct.sum()), ct.f64[n]) for memory in (1, 5, 20)]
    assert [b - a for a, b in pairwise(sizes)] == [4 * 8 * (n + 1), 15 * 8 * n + 8]  # states, and their places; then segments
    assert sizes[0] <= 8 * 8 * (n + 1)


def compiled(n: int, memory: int, space: Any) -> Whole:
    """The pullback of a loop through an array by Revolve's schedule, as one function."""
    ((sweep, _),) = loops_of(ct.iterate(STEP, n), space)
    box = BoundedPullback(BoundedLoop(sweep, ct.Product((space,)), memory, (True,)))
    return whole_support.compiled(box, (space, space))


@pytest.mark.parametrize("memory", [1, 3, 10])
def test_a_compiled_pullback_has_room_for_the_states_alone(memory: int) -> None:
    """Kept states, the present one in two places, and no more for a longer loop, whose text is the same."""
    size = 500
    short, long = [compiled(n, memory, ct.f64[size]) for n in (50, 5000)]
    assert short.room == long.room <= (memory + 4) * 8 * size + 1024
    assert short.printed == long.printed


LONG = pytest.param(20_000, 2, marks=pytest.mark.numpy_only)  # takes minutes where each step is a launch


@pytest.mark.parametrize(("n", "memory"), [(12, 1), (30, 2), (30, 5), (100, 4), (100, 30), LONG, (20_000, 300)])
def test_each_step_is_pulled_back_at_its_own_state(n: int, memory: int) -> None:
    """The state counts its steps: were one left out or taken twice, or a state kept in another's place, these would differ."""
    loop, x = ct.iterate(ct.map(lambda s, k: (s * (1.0 + 0.1 / (k + 1.0)), k + 1.0)), n, memory=memory), (1.5, 0.0)
    counts = 1.0 + np.arange(n)
    scales = 1.0 + 0.1 / counts
    by_scale = np.prod(scales)
    by_count = 1.5 * by_scale * np.sum(-0.1 / counts**2 / scales)
    for engine in ENGINES if n <= 100 else ENGINES[1:]:
        with ct.use_engine(engine):  # type: ignore[arg-type]
            (pulled,) = ct.vjp(loop, x)[1]((1.0, 0.0))
            np.testing.assert_allclose(pulled, (by_scale, by_count), rtol=1e-9)


def test_a_wrong_schedule_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the state is not gone back to; no state is kept."""
    x = np.linspace(0.1, 1.0, 3)
    expected = ct.vjp(ct.iterate(STEP, 40), x)[1](np.ones(3))[0]

    def pulled() -> Any:
        return compiled(40, 4, ct.f64[3])(np, x, np.ones(3))

    np.testing.assert_allclose(pulled(), expected, rtol=1e-13)
    for name, fault in (("_restore", lambda *_: None), ("_keep", lambda self, top, goal: None)):
        with monkeypatch.context() as patch:
            patch.setattr(bounded.Pullback, name, fault)
            patch.setattr(bounded, "stopped", _bounded_turns(bounded.stopped))
            assert not np.allclose(pulled(), expected, rtol=1e-6, atol=0.0)


def _bounded_turns(stopped: Any) -> Any:
    """Loops end after some turns, so that a planted fault ends them, too."""

    def ends(w: Any) -> str:
        turns = w.slot("i64")
        w.slots.append(f"  store i64 0, ptr {turns}")
        more = w.set(f"add i64 {w.set(f'load i64, ptr {turns}')}, 1")
        w.do(f"store i64 {more}, ptr {turns}")
        return str(w.set(f"icmp sgt i64 {more}, 1000"))

    return ends


@pytest.mark.parametrize("first", [1, -1])
def test_any_split_is_right(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where states are kept decides what is taken again, and no result."""
    loop, x = ct.iterate(STEP, 20, memory=3), X
    expected = ct.vjp(ct.iterate(STEP, 20), x)[1](np.ones(2))[0]
    monkeypatch.setattr(module, "revolve", lambda n, kept: (0, first % n or 1))
    with ct.use_engine("reference"):
        np.testing.assert_allclose(ct.vjp(loop, x)[1](np.ones(2))[0], expected, rtol=1e-13)

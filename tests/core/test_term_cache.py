"""What is kept with terms: found by equal terms, by their own loops, bounded, and right when threads run at once."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.category import cache as term_cache
from catad.category import trip_counts
from catad.category.cache import Entry, TermCache, cache_of
from catad.category.trip_counts import TripCount, assuming
from catad.category.wiring import Wiring
from catad.engine import program
from catad.support.lru import Recent

ENGINES = ("reference", "cpu")
HALVE = ct.while_loop(ct.map(lambda x: x > 1.0), ct.map(lambda x: x / 2.0))
X = np.linspace(0.1, 2.0, 7)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The programs that are made from here on."""
    found: list[object] = []
    original = program.Program.__init__

    def counted(self: program.Program, wiring: Wiring, **options: Any) -> None:
        found.append(wiring)
        original(self, wiring, **options)

    monkeypatch.setattr(program.Program, "__init__", counted)
    return found


def test_an_entry_is_that_of_the_numbers_of_steps_that_are_assumed() -> None:
    cache, loops = TermCache(0), [(("loop", TripCount(n, "exact")),) for n in (3, 5)]
    for own in loops:
        cache.put("key", Entry(own[0][1].steps, own))
    for own in loops:
        with assuming(dict(own)):
            found = cache.get("key")
            assert found is not None and found.value == own[0][1].steps
    with assuming({"loop": TripCount(4, "exact")}):
        assert cache.get("key") is None


# -- equal terms


def square(x):
    return x * x + 1.0


F = ct.sin >> ct.exp >> ct.sum()
BIG = ct.const(np.ones(50_000))
HEAVY = ct.fork(ct.id, BIG) >> ct.mul >> ct.sum()
BY_HAND = ct.D(lambda x: (x * x, ct.scale(2 * x)))

ANEW = {
    "grad": lambda: ct.grad(F)(X),
    "value_and_grad": lambda: ct.value_and_grad(F)(X),
    "of a new chain": lambda: ct.value_and_grad(ct.sin >> ct.cos >> ct.sum())(X),
    "jacobian": lambda: ct.jacobian(ct.sin >> ct.exp)(X).todense(),
    "hessian": lambda: ct.hessian(F)(X).todense(),
    "jvp": lambda: ct.jvp(F, (X,), (X,))[1],
    "hvp": lambda: ct.hvp(F, (X,), (X,)),
    "vjp": lambda: ct.vjp(ct.sin >> ct.cos, X)[1](X),
    "map": lambda: ct.map(square)(X),
    "fold": lambda: ct.grad(ct.fold(lambda a, b: a * b, 1.0))(X),
    "batched": lambda: ct.map(ct.grad(F))(np.ones((2, 3))),
    "heavy": lambda: ct.grad(HEAVY)(np.ones(50_000)),
    "heavy value_and_grad": lambda: ct.value_and_grad(HEAVY)(np.ones(50_000)),
    "of one written by hand": lambda: ct.grad(BY_HAND)(3.0),
}


@pytest.mark.quick(10)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ANEW)
def test_a_morphism_built_anew_finds_the_program_of_an_equal_one(made: list, name: str, engine: str) -> None:
    with ct.use_engine(engine):
        first = ANEW[name]()
        made.clear()
        second = ANEW[name]()
    assert made == []
    assert str(first) == str(second)


def test_terms_that_look_alike_and_differ_do_not_share() -> None:
    zeros = ct.scale(0.0), ct.scale(-0.0)
    assert [str(ct.lift(zero)(1.0)) for zero in zeros] == ["0.0", "-0.0"]
    assert [str(ct.const(v)(())) for v in (0.0, -0.0, 0)] == ["0.0", "-0.0", "0"]
    assert [ct.fold(ct.maximum, v)(np.ones(0, np.float32)) for v in (1.0, 2.0)] == [1.0, 2.0]
    assert [ct.map(f)(2.0) for f in (lambda x: x + 1.0, lambda x: x - 1.0)] == [3.0, 1.0]
    for k in range(3):
        assert ct.map(lambda x, k=k: x + k)(2.0) == 2.0 + k


@pytest.mark.parametrize("heavy", [False, True])
def test_what_a_function_reads_when_it_is_made_is_not_mixed_up(heavy: bool) -> None:
    n = 50_000 if heavy else 3
    found = []
    w = np.ones(n)

    def fn(x):
        return x * w, ct.scale(w)

    for k in (2.0, 3.0):
        w = np.full(n, k)
        f = ct.D(fn)
        found.append([ct.grad(f >> ct.sum())(np.ones(n))[0], f(np.ones(n))[0], ct.vjp(f, np.ones(n))[1](np.ones(n))[0][0]])
    assert found == [[2.0] * 3, [3.0] * 3]


def test_functions_known_by_their_identity_are_not_found_by_equal_ones() -> None:
    """Identities are given again to other things, when the first ones are gone."""

    def fn(x):
        return x * 2.0, ct.scale(2.0)

    def swapped(p):
        return p[1], p[0]

    for make in (lambda: ct.D(fn), lambda: ct.sin >> ct.D(fn), lambda: ct.map(swapped)):
        one, other = make(), make()
        assert cache_of(one) is not cache_of(other)
        assert cache_of(ct.grad(one)) is cache_of(ct.grad(one)) is not cache_of(ct.grad(other))
    assert cache_of(ct.map(square)) is cache_of(ct.map(square))


def test_what_holds_large_arrays_dies_with_the_last_reference() -> None:
    f = ct.const(np.ones(100_000)) >> ct.sum()
    array = weakref.ref(f.factors[0].children[0].array)
    ct.value_and_grad(f >> ct.sin)(1.0)
    f(())
    del f
    gc.collect()
    assert array() is None


# -- bounds


def test_recent_keeps_what_was_used_last() -> None:
    recent: Recent[int, int] = Recent(3)
    for k in range(100):
        recent[k] = k
        assert len(recent) <= 6 and all(recent.get(i) == i for i in range(max(0, k - 2), k + 1))
    for k in range(100, 200):
        recent[k] = k
        assert recent.get(99) == 99
    assert recent.get(150) is None
    recent.clear()
    assert len(recent) == 0


def test_ever_new_spaces_and_terms_leave_a_bounded_number_of_programs() -> None:
    term_cache.forget()
    f = ct.map(lambda x: x * 1.25) >> ct.sum()
    for n in range(term_cache.KEYS + 200):
        assert f(np.ones(n)) == 1.25 * n
    assert len(cache_of(f)) <= 2 * term_cache.KEYS
    assert all(f(np.ones(n)) == 1.25 * n for n in range(5))
    for k in range(2 * term_cache.TERMS + 10):
        assert (ct.scale(float(k)) @ ct.scale(2.0))(1.0) == 2.0 * k and ct.const(float(k))(()) == k
    assert len(term_cache._equal) <= 2 * term_cache.TERMS


def test_ever_new_numbers_of_steps_leave_a_bounded_number_of_programs() -> None:
    loop = ct.while_loop(ct.map(lambda i, n: i < n), ct.cross(ct.map(lambda i: i + 1), ct.id))
    for n in (*range(2 * term_cache.COUNTS), 3, 1):
        assert loop(0, n) == (n, n)
    entries = [one for key in list(cache_of(loop)._entries._young) for one in cache_of(loop)._entries.get(key)]
    assert 0 < len(entries) <= 2 * term_cache.COUNTS + 10


# -- loops


def test_a_search_with_ever_more_steps_in_it_is_laid_out_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    laid_out, correct = list[object](), trip_counts._correct

    def counted(*given: Any) -> None:
        laid_out.append(given)
        correct(*given)

    monkeypatch.setattr(trip_counts, "_correct", counted)
    slope = ct.grad(ct.while_loop(ct.map(lambda x: x > 1.0), ct.map(lambda x: x / 2.0)))
    search = ct.while_loop(ct.map(lambda x: x < 1e60), ct.function(lambda x: 1.5 * x + 0.0 * slope(x)))
    with ct.use_engine("reference"):
        assert search(1.5) > 1e60  # slopes of loops of 1 to 200 steps
    assert len(laid_out) <= 10


@pytest.mark.parametrize("engine", ENGINES)
def test_a_loop_leaves_other_programs_alone(made: list, engine: str) -> None:
    f, other = ct.grad(F), ct.grad(ct.map(lambda x: x * 3.0) >> HALVE)
    with ct.use_engine(engine):
        f(X), HALVE(1.0)
        for start in (8.0, 100.0, 5.0):
            HALVE(start), other(start)
            made.clear()
            f(X)
            assert made == []
        for start in (8.0, 100.0, 5.0):  # numbers of steps that were met before
            value, slope = HALVE(start), other(start)
            made.clear()
            assert (HALVE(start), other(start)) == (value, slope)
            assert made == []


WITHIN = {
    "a chain": lambda loop: ct.square >> loop >> ct.sin,
    "two loops": lambda loop: ct.fork(loop, ct.map(lambda x: 3.0 * x) >> loop) >> ct.add,
    "a checkpoint": lambda loop: ct.checkpoint(ct.square >> loop),
    "an iteration": lambda loop: ct.iterate(ct.map(lambda x: 3.0 * x) >> loop, 3),
    "a remembering iteration": lambda loop: ct.iterate(ct.map(lambda x: 3.0 * x) >> loop, 5, memory=2),
    "a loop": lambda loop: ct.while_loop(ct.map(lambda x: x > 0.1), loop >> ct.map(lambda x: 0.9 * x * x)),
    "a gradient": lambda loop: ct.grad(ct.square >> loop),
}


def halved(x):
    while x > 1.0:
        x = x / 2.0
    return x


@pytest.mark.quick(5)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("within", WITHIN)
def test_loops_within_follow_the_data_from_call_to_call(within: str, engine: str) -> None:
    f, plain = WITHIN[within](HALVE), WITHIN[within](ct.map(halved))
    with ct.use_engine(engine):
        for x in (0.7, 9.0, 1.5, 9.0):
            assert np.allclose(f(x), plain(x))
            assert np.allclose(ct.value_and_grad(f)(x), ct.value_and_grad(plain)(x))
            assert np.allclose(ct.jvp(f, (x,), (1.0,)), ct.jvp(plain, (x,), (1.0,)))
            assert np.allclose(ct.vjp(f, x)[1](1.0), ct.vjp(plain, x)[1](1.0))
        for xs in (np.array([0.7, 9.0]), np.array([70.0, 2.5])):
            assert np.allclose(ct.map(f)(xs), ct.map(plain)(xs))
            assert np.allclose(ct.grad(ct.map(f) >> ct.sum())(xs), ct.grad(ct.map(plain) >> ct.sum())(xs))


@pytest.mark.parametrize("engine", ENGINES)
def test_threads_that_count_other_steps_at_once_do_not_disturb_each_other(engine: str) -> None:
    f = ct.value_and_grad(ct.square >> HALVE >> ct.sin)
    starts = [[1.5 ** (5 * k % 7 + t) for k in range(14)] for t in range(2)]
    wrong: list[object] = []

    def work(own: list[float]) -> None:
        with ct.use_engine(engine):
            try:
                for x in own:
                    y = halved(x * x)
                    value, slope = f(x)
                    if not (np.isclose(value, np.sin(y)) and np.isclose(slope, np.cos(y) * 2 * y / x)):
                        wrong.append((x, value, slope))
            except BaseException as error:
                wrong.append(error)

    threads = [threading.Thread(target=work, args=(own,), daemon=True) for own in starts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong and not any(thread.is_alive() for thread in threads)

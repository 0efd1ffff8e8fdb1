"""Maps that are written out call after call are made with their arrays: the same numbers, and nothing else changes."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.jacobians import jacobian_programs
from catad.planner.plan import forget
from tests.planner.forks import random_program

RNG = np.random.default_rng(0)
W = RNG.standard_normal((6, 5))
MANY = jacobian_programs.TURNS + 2


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """The programs of arrays that were made for maps that are written out."""
    found: list[Any] = []
    plain = jacobian_programs.written

    def noted(*given: Any) -> Any:
        found.append(plain(*given))
        return found[-1]

    monkeypatch.setattr(jacobian_programs, "written", noted)
    yield found
    forget()


def written_out(jacobian: Any, *point: Any, times: int = MANY) -> list[Any]:
    return [jacobian(*point).todense() for _ in range(times)]


CASES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "dense": (ct.function(lambda x: np.tanh(W @ x)), (RNG.standard_normal(5),)),
    "sum of maps": (ct.function(lambda x: np.concatenate([x * x, [x[0] * x[1]], np.cumsum(x)])), (RNG.standard_normal(5),)),
    "arguments": (ct.fork(ct.mul, ct.exl >> ct.sum()), (RNG.standard_normal(3), RNG.standard_normal(3))),
    "matrices": (ct.function(lambda x: x @ x.T), (RNG.standard_normal((3, 2)),)),
    "gather": (ct.gather, (RNG.standard_normal(4), np.array([1, 3, 0, 1]))),
    "scan": (ct.scan(lambda a, b: a * b, 1.0), (np.linspace(1.0, 2.0, 7),)),
    "no slots": (ct.function(lambda x: x[1:] - x[:-1]), (RNG.standard_normal(4),)),
    "empty": (ct.exp, (np.zeros(0),)),
    "zero": (ct.fork(ct.const(np.ones(3)), ct.id) >> ct.exl, (np.ones(2),)),
    "not finite": (ct.function(lambda x: np.sqrt(x) * x[0]), (np.array([0.0, -1.0, np.inf, np.nan]),)),
}


@pytest.mark.parametrize("engine", ["reference", "auto", "cpu"])
@pytest.mark.parametrize("name", CASES)
def test_all_calls_have_the_same_bits(name: str, engine: str, made: list[Any]) -> None:
    f, point = CASES[name]
    with ct.use_engine(engine):
        first, *others = written_out(ct.jacobian(f), *point)
        assert len(made) == 1
        for other in others:
            assert other.dtype == first.dtype and other.shape == first.shape and other.flags.writeable
            assert other.tobytes() == first.tobytes()
        if np.isfinite(first).all():  # zero times infinity is elsewhere where columns are pushed
            np.testing.assert_allclose(first, ct.linearize(f, *point)[1].todense(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_drawn_programs(seed: int, made: list[Any]) -> None:
    f, point = random_program(seed, 6)
    jacobian = ct.jacobian(f)
    plain = jacobian(*point)
    expected = plain.todense()
    for found in written_out(jacobian, *point):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    late = jacobian(*point)
    for own, other in zip(plain.slots, late.slots, strict=True):
        assert np.array_equal(own, other, equal_nan=True) and not getattr(other, "flags", other).writeable


def test_a_map_is_of_the_numbers_that_its_point_had(made: list[Any]) -> None:
    jacobian = ct.jacobian(ct.function(lambda x: np.tanh(W @ (x * x))))
    x = RNG.standard_normal(5)
    written_out(jacobian, x)
    kept, expected = jacobian(x), ct.linearize(jacobian.f, x.copy())[1].todense()
    x[:] = 0.0
    first = kept.todense()
    first[:] = -1.0  # whoever has an array may write into it
    assert made and np.allclose(kept.todense(), expected) and np.allclose(kept.T.todense(), expected.T)
    assert np.allclose(kept(np.ones(5)), expected @ np.ones(5)) and np.allclose(kept.tocsr().toarray(), expected)


def test_captured_arrays_that_change(made: list[Any]) -> None:
    weights = np.ones(4)
    jacobian = ct.jacobian(ct.function(lambda x: weights * x * x))
    x = np.arange(1.0, 5.0)
    written_out(jacobian, x)
    before = jacobian(x)
    weights[:] = 2.0
    with pytest.raises(ct.errors.TraceError):
        jacobian(x)
    assert np.array_equal(before.T.todense(), np.diag(2.0 * x)) and np.array_equal(before.todense(), np.diag(2.0 * x))


def test_another_use_ends_it(made: list[Any]) -> None:
    jacobian = ct.jacobian(CASES["sum of maps"][0])
    x = CASES["sum of maps"][1][0]
    written_out(jacobian, x)
    assert type(jacobian(x)._slots) is not tuple  # the one that is made in vain
    assert [type(jacobian(x)._slots) for _ in range(3)] == [tuple] * 3
    maps = [jacobian(x) for _ in range(3)]
    for linear in (*maps, *maps):
        linear.todense()
    assert type(jacobian(x)._slots) is tuple  # they were not written out in turn


def test_other_dtypes_and_sizes_have_programs_of_their_own(made: list[Any]) -> None:
    jacobian = ct.jacobian(ct.iterate(ct.fork(ct.tanh, ct.flip()) >> ct.add, 3))
    for dtype in (np.float64, np.float32, np.float64):
        for n in (3, 5):
            x = np.linspace(0.5, 1.5, n, dtype=dtype)
            for found in written_out(jacobian, x):
                assert found.dtype == dtype and found.shape == (n, n)
            basis = [ct.jvp(jacobian.f, (x,), (e,))[1] for e in np.eye(n, dtype=dtype)]
            np.testing.assert_allclose(found, np.stack(basis, axis=-1), rtol=1e-5)


def test_an_index_out_of_range_is_an_error_of_the_call(made: list[Any]) -> None:
    jacobian = ct.jacobian(ct.gather, argnums=0)
    x = RNG.standard_normal(4)
    written_out(jacobian, x, np.array([1, 3]))
    with pytest.raises(ct.errors.IndexRangeError):
        jacobian(x, np.array([1, 4]))
    assert made and np.array_equal(jacobian(x, np.array([3, 0])).todense(), np.eye(4)[[3, 0]])


def test_counts_are_those_of_the_map(made: list[Any]) -> None:
    jacobian = ct.jacobian(CASES["dense"][0])
    x = CASES["dense"][1][0]

    def counted() -> int:
        with ct.count() as spent:
            jacobian(x)
        return spent.operations

    before = counted()
    written_out(jacobian, x)
    assert counted() == before


def test_copies_and_pickles(made: list[Any]) -> None:
    jacobian = ct.jacobian(CASES["sum of maps"][0])
    x = CASES["sum of maps"][1][0]
    expected = written_out(jacobian, x)[0]
    for remake in (copy.copy, copy.deepcopy, lambda linear: pickle.loads(pickle.dumps(linear))):
        linear = jacobian(x)
        other = remake(linear)
        assert other.todense() is not linear.todense()
        assert np.array_equal(other.todense(), expected) and np.array_equal(linear.todense(), expected)
        written_out(jacobian, x)


def test_threads_get_arrays_of_their_own(made: list[Any]) -> None:
    jacobian = ct.jacobian(CASES["sum of maps"][0])
    x = CASES["sum of maps"][1][0]
    expected = written_out(jacobian, x)[0]
    waiting = jacobian(x).expected
    assert np.array_equal(waiting.taken(), expected) and waiting.taken() is None  # whoever comes second makes one
    for _ in range(20):
        linear, found = jacobian(x), list[Any]()
        threads = [threading.Thread(target=lambda: found.append(linear.todense())) for _ in range(4)]  # noqa: B023
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert len({id(array) for array in found}) == 4 and all(np.array_equal(array, expected) for array in found)


def test_a_loop_whose_steps_data_decide(made: list[Any]) -> None:
    condition = ct.slice(0, 1) >> ct.reshape(()) >> ct.map(lambda x: x > 1.0)
    halved = ct.while_loop(condition, ct.map(lambda x: 0.5 * x))
    jacobian = ct.jacobian(halved)
    for start in (1.5, 9.0, 1.5, 30.0):
        for found in written_out(jacobian, np.array([start, 1.0]), times=6):
            steps = int(np.ceil(np.log2(start)))
            np.testing.assert_array_equal(found, np.eye(2) * 0.5**steps)
    assert not made

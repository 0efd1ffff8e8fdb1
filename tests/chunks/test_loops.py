"""Loops, checkpoints and choices on arrays in blocks: which are local, what others exchange, and what is held."""

import pickle

import dask.array as da
import numpy as np
import pytest
from dask.callbacks import Callback

import catad as ct
from catad.category.spaces import Tensor
from catad.category.trip_counts import TripCountChanged
from catad.chunks.here import blocked
from catad.testing import check_chunks
from catad.testing.chunks import random_parts, whole
from tests.chunks.plans import plans, ran_whole

RNG = np.random.default_rng(5)
X = RNG.normal(size=12)
ROWS = RNG.normal(size=(7, 3))
WEIGHTS = RNG.normal(size=(3, 3)) * 0.4
INPUTS = RNG.normal(size=(4, 7, 3))


def heat(x):
    y = np.pad(x, 1)
    return np.sin(x + 0.1 * (y[2:] - 2 * x + y[:-2]))


def heat_2d(x):
    y = np.pad(x, 1)
    return x + 0.1 * (y[2:, 1:-1] + y[:-2, 1:-1] + y[1:-1, 2:] + y[1:-1, :-2] - 4 * x)


def lstm(h, c, w, inputs):
    def step(state, u):
        h, c, w = state
        c = np.tanh(h @ w + u) * 0.5 + c * 0.9
        return np.tanh(c) * h, c, w

    return np.sum(ct.iterate(step, 4, inputs=True)((h, c, w), inputs)[0] ** 2)


def descent(w, rows, y):
    def step(state):
        w, rows, y = state
        return w - 0.1 * (rows.T @ (np.tanh(rows @ w) - y)) / len(y), rows, y

    return np.sum(ct.iterate(step, 5)((w, rows, y))[0] ** 2)


def adam(w, rows, y):
    def step(state):
        w, m, v, t, rows, y = state
        g = rows.T @ (rows @ w - y)
        m, v, t = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g, t + 1
        return w - 0.1 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.99**t)) + 1e-3), m, v, t, rows, y

    return ct.iterate(step, 4)((w, 0.1 * w, w * w + 1.0, 0.0, rows, y))[0]


def power(a, v):
    def step(state):
        a, v = state
        v = a @ v
        return a, v / np.sqrt(np.sum(v * v))

    v = ct.iterate(step, 4)((a, v))[1]
    return v @ (a @ v)


def python_loop(x, u):
    for k in range(3):
        x = np.sin(x) + k * u
    return x


def means(x):
    return x - 0.5 * np.mean(x) + np.sin(x)


def segment():
    return ct.iterate(heat, 8)


positive = ct.sum() >> ct.map(lambda s: s > 0)
halved = ct.while_loop(ct.map(lambda x: x > 1.0), ct.map(lambda x: x / 2.0))

LOCAL = {  # arrays are cut along axes of length 7 and 12 only
    "pointwise": (ct.iterate(lambda x: np.sin(x) * 1.1, 5), [X]),
    "pointwise in float32": (ct.iterate(ct.sin >> ct.square, 5) >> ct.sum(), [X.astype(np.float32)]),
    "integers": (ct.iterate(lambda x: 3 * x + 1, 5), [np.arange(12)]),
    "LSTM": (lstm, [ROWS, 2 * ROWS, WEIGHTS, INPUTS]),
    "Python loop": (python_loop, [X, X[::-1].copy()]),
    "no step": (ct.iterate(ct.sin, 0), [X]),
    "checkpoint": (ct.iterate(ct.checkpoint(ct.sin >> ct.exp), 3) >> ct.sum(), [X]),
    "memory": (ct.iterate(ct.sin, 9, memory=3) >> ct.square >> ct.sum(), [X]),
    "choice": (ct.choose(positive, ct.sin, ct.exp) >> ct.sum(), [X]),
    "other side": (ct.choose(positive, ct.sin, ct.exp) >> ct.sum(), [-np.abs(X)]),
    "choice by lanes": (ct.map(ct.choose(positive, ct.sin, ct.exp)), [ROWS]),
    "while by lanes": (ct.map(halved) >> ct.sum(), [9 * np.abs(X)]),
}
EXCHANGING = {
    "heat": (ct.iterate(heat, 4) >> ct.square >> ct.sum(), [X]),
    "heat in 2-D": (ct.iterate(heat_2d, 3), [np.outer(X, X[:5])]),
    "means": (ct.iterate(means, 4), [X]),
    "loops within": (ct.iterate(ct.iterate(ct.sin, 2) >> ct.iterate(means, 2), 3) >> ct.square >> ct.sum(), [X]),
    "gradient descent": (descent, [np.zeros(3), ROWS, ROWS[:, 0]]),
    "Adam": (adam, [WEIGHTS[0], ROWS, ROWS[:, 0]]),
    "power iteration": (power, [WEIGHTS @ WEIGHTS.T, np.ones(3)]),
    "LSTM cut everywhere": (lstm, [ROWS, 2 * ROWS, WEIGHTS, INPUTS]),
    "heat in bounded memory": (ct.iterate(heat, 7, memory=2) >> ct.square >> ct.sum(), [X]),
    "choice of sums": (ct.choose(positive, means, ct.exp) >> ct.square >> ct.sum(), [X]),
    "checkpoint of heat": (ct.iterate(ct.checkpoint(ct.iterate(heat, 2)), 2) >> ct.sum(), [X]),
    "products of matrices": (ct.fold(ct.matmul, np.eye(3)), [RNG.normal(size=(5, 3, 3))]),
}


def rows_cut(seed):
    """Cuts axes of length 7 and 12, each in one way."""
    rng = np.random.default_rng(seed)
    own = {n: random_parts((n,), rng)[0] for n in (7, 12)}
    return lambda array: blocked(array, tuple([own.get(n, (n,)) for n in array.shape]))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", LOCAL)
def test_loops_that_exchange_nothing_run_block_by_block(name, seed):
    f, args = LOCAL[name]
    with ct.use_engine("reference"), plans() as made:
        check_chunks(f, *args, cut=rows_cut(seed))
    assert not ran_whole(made)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", EXCHANGING)
def test_loops_that_exchange_blocks(name, seed):
    f, args = EXCHANGING[name]
    with ct.use_engine("reference"), plans() as made:
        check_chunks(f, *args, seed=seed)
    assert not ran_whole(made)


@pytest.mark.parametrize("reverse", [False, True])
def test_loops_whose_inputs_are_cut_along_the_steps(reverse):
    def step(state, w, u):
        state = np.tanh(state @ w + u)
        return state, (np.sum(state, axis=0), np.sum(state * u))

    cells = ct.sweep(step, 4, reverse=reverse)

    def cut(array):
        return blocked(array, tuple([{7: (3, 4), 4: (1, 0, 2, 1)}.get(n, (n,)) for n in array.shape]))

    with ct.use_engine("reference"), plans() as made:
        check_chunks(cells, ROWS, WEIGHTS, INPUTS, cut=cut)
    assert not ran_whole(made) and not any(one.plan.unrolled for one in made)


@pytest.mark.parametrize("f, args", [LOCAL["LSTM"], EXCHANGING["heat"], EXCHANGING["gradient descent"]])
def test_loops_on_the_default_engine(f, args):
    cut, both = [rows_cut(1)(x) for x in args], ct.value_and_grad(f)
    for found, expected in zip(whole(both(*cut)), whole(both(*args)), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("f", [ct.iterate(ct.sin >> ct.square, 3), ct.iterate(heat, 3), ct.iterate(means, 2)])
def test_numbers_that_are_not_finite(f):
    x = X.copy()
    x[2], x[7] = np.nan, np.inf
    with ct.use_engine("reference"), np.errstate(all="ignore"):
        check_chunks(f, x, seed=3)


def test_a_side_that_is_not_chosen_raises_nothing():
    f = ct.choose(positive, lambda x: x - np.mean(x), lambda x: x[np.array([40]) + np.argmax(x * 0.0)] + x)
    with ct.use_engine("reference"), plans() as made:
        check_chunks(f, np.abs(X), seed=1)
    assert ran_whole(made) <= {"Choose"}


def test_while_loops_on_whole_arrays_say_so():
    f = ct.while_loop(ct.sum() >> ct.map(lambda s: s > 1.0), ct.map(lambda x: x * 0.7))
    with ct.use_engine("reference"), plans() as made:
        check_chunks(f, 9 * np.abs(X), seed=1)
    assert ran_whole(made) == {"Counted"}


def planned(f, x, parts):
    """The last plan that a call makes."""
    with ct.use_engine("reference"), plans() as made:
        f(blocked(x, parts))
    return made[-1]


def tasks(plan):
    return sum([one.region.tasks for one in plan.regions])


def test_one_task_a_chunk_where_steps_exchange_nothing():
    f = ct.iterate(ct.sin, 50)
    assert tasks(planned(f, np.ones(40), ((10,) * 4,))) == 4
    assert tasks(planned(ct.grad(f >> ct.sum()), np.ones(40), ((10,) * 4,))) <= 8


def test_one_task_a_chunk_and_step_where_steps_exchange_halos():
    for steps in (8, 16):
        f = ct.iterate(heat, steps)
        plan, other = planned(f, np.ones(40), ((10,) * 4,)), planned(ct.grad(f >> ct.sum()), np.ones(40), ((10,) * 4,))
        assert tasks(plan) == 4 * steps
        assert tasks(other) <= 8 * steps + 4
        assert plan.plan.unrolled[0][0] == steps
    said = str(f.plan_chunks(blocked(np.ones(40), ((10,) * 4,))))
    assert f"step by step, since its steps exchange blocks: {steps} steps" in said


def test_programs_do_not_grow_with_steps_or_chunks():
    def programs(f, chunks):
        return len(planned(ct.grad(f >> ct.square >> ct.sum()), np.ones(6 * chunks), ((6,) * chunks,)).programs)

    for step in (heat, means):
        few = programs(ct.iterate(step, 8), 5)
        assert programs(ct.iterate(step, 32), 5) == few
        assert programs(ct.iterate(step, 8), 15) == few


def test_too_many_steps_are_refused():
    with pytest.raises(ct.EngineError, match="60000 steps"):
        planned(ct.iterate(means, 60_000), X, ((6, 6),))


class _Held(Callback):
    """The most bytes of results that are held at once."""

    def __init__(self):
        super().__init__()
        self.most = 0

    def _posttask(self, key, value, dsk, state, worker):
        held = 0
        for made in state["cache"].values():
            held += sum([a.nbytes for a in (made if isinstance(made, tuple) else (made,)) if isinstance(a, np.ndarray)])
        self.most = max(self.most, held)


def held(f, x):
    with ct.use_engine("reference"), _Held() as counting:
        found = ct.grad(f)(da.from_array(x, chunks=len(x) // 4)).compute(scheduler="sync")
        np.testing.assert_allclose(found, ct.grad(f)(x), atol=1e-12)
    return counting.most / x.nbytes


def test_less_is_held_with_checkpoints():
    x = RNG.normal(size=400)
    plain = held(ct.iterate(heat, 64) >> ct.square >> ct.sum(), x)
    assert 60 < plain < 70
    assert held(ct.iterate(ct.checkpoint(segment()), 8) >> ct.square >> ct.sum(), x) < 0.4 * plain
    assert held(ct.iterate(heat, 64, memory=8) >> ct.square >> ct.sum(), x) < 0.6 * plain


shrunk = ct.while_loop(ct.sum() >> ct.map(lambda s: s > 1.0), ct.map(lambda x: x * 0.7)) >> ct.square >> ct.sum()


def test_calls_wait_for_numbers_of_steps_that_derivatives_need():
    x = 9 * np.abs(X)
    cut = da.from_array(x, chunks=5)
    with ct.no_waiting(), ct.use_engine("reference"):
        np.testing.assert_allclose(shrunk(cut).compute(scheduler="sync"), shrunk(x))
        with pytest.raises(ct.EngineError, match="no_waiting"):
            ct.grad(shrunk)(cut)


@pytest.mark.parametrize("f", [shrunk, ct.map(halved) >> ct.square >> ct.sum()])
@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_derivatives_of_while_loops_on_dask(engine, f):
    with ct.use_engine(engine):
        for x in (9 * np.abs(X), 30 * np.abs(X), np.abs(X) / 100):
            cut = da.from_array(x, chunks=5)
            np.testing.assert_allclose(ct.grad(f)(cut).compute(scheduler="sync"), ct.grad(f)(x), rtol=1e-12)


def test_while_loops_inside_other_loops_on_dask():
    """Their numbers of steps are found at the call, for which it waits."""
    halving = ct.while_loop(ct.map(lambda x: x > 1.25), ct.map(lambda x: x / 2.0))  # which no other test has run
    f = ct.iterate(ct.map(lambda x: x + 0.3) >> ct.map(halving), 3)
    x = 9 * np.abs(X)
    cut = da.from_array(x, chunks=5)
    with ct.use_engine("reference"):
        with ct.no_waiting(), pytest.raises(ct.EngineError, match="no_waiting"):
            f(cut)
        made, (by_x,) = f(cut), ct.vjp(f, cut)[1](x)
        np.testing.assert_allclose(made.compute(scheduler="sync"), f(x))
        np.testing.assert_allclose(by_x.compute(scheduler="sync"), ct.vjp(f, x)[1](x)[0])


def test_found_numbers_of_steps_come_from_workers():
    loop = (halved, Tensor((), np.float64))
    found = pickle.loads(pickle.dumps(TripCountChanged(loop, 3)))
    assert (found.loop, found.steps) == (loop, 3)

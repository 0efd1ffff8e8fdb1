"""How often programs pass over their arguments, and what they hold in between."""

import numpy as np
import pytest

import catad as ct
from catad.chunks.report import plan_chunks
from catad.testing import check_chunks, in_chunks

X = np.random.default_rng(0).normal(size=24)


def stages(f, *args):
    """What a program on arrays in four blocks does: stages that run on each block, and the bytes that these keep."""
    cut = [in_chunks(arg, -(-len(arg) // 4)) for arg in args]
    plan = plan_chunks(ct.function(f) if not isinstance(f, ct.D) else f, tuple(cut), {})
    assert not plan.whole
    return [stage.kept for stage in plan.stages if stage.tasks == 4]


STEPS = {
    "differences of sums": (lambda x: np.diff(np.cumsum(x)), [X]),
    "sums two steps before": (lambda x: np.cumsum(x)[2:] * np.cumsum(x)[:-2], [X]),
    "products before": (lambda x: np.cumprod(x)[1:] - 2 * np.cumprod(x)[:-1], [X]),
    "greatest so far": (lambda x: np.maximum.accumulate(x), [X]),
    "along the second axis": (lambda x: np.diff(np.cumsum(x, axis=1), axis=1), [X.reshape(4, 6)]),
    "integers": (lambda x: np.cumsum((x > 0).astype(np.int64))[:-1] * x[1:], [X]),
    "recurrence": (lambda a, b: ct.recurrence(a, b), [X[::-1], X]),
}


@pytest.mark.parametrize("name", STEPS)
def test_steps_before_a_block_follow_from_what_is_carried(name):
    f, args = STEPS[name]
    with ct.use_engine("reference"):
        for seed in range(2):
            check_chunks(f, *args, seed=seed)


def test_a_shift_of_a_scan_is_no_further_pass():
    assert len(stages(lambda x: np.diff(np.cumsum(x)), X)) == 2
    assert len(stages(ct.reverse_differential(ct.function(lambda x: np.cumprod(x))), X, X)) == 2


def test_exact_integers_before_blocks():
    x = np.arange(40, dtype=np.int64) * 10**15
    f = ct.function(lambda x: np.cumsum(x)[:-1] ^ np.cumsum(x)[1:])
    for sizes in ((7, 0, 1, 32), (1,) * 40, (40,), (0, 40), (39, 1)):
        np.testing.assert_array_equal(np.asarray(f(in_chunks(x, sizes)).numpy()), f(x))


def test_maps_of_arguments_are_computed_again_and_not_kept():
    """What each pass needs of the arguments costs less to compute than to keep."""
    kept = stages(lambda x, i: np.bincount(i, weights=x * x, minlength=3)[i] * x, X, np.arange(24) % 3)
    assert kept[0] < 8 * 24 and len(kept) == 2  # tables alone, no checked indices
    kept = stages(lambda x: np.exp(x) - np.mean(np.exp(x)), X)
    assert kept == [4 * 8, 24 * 8]


def test_parts_of_blocks_are_taken_by_the_task_that_makes_them():
    assert len(stages(lambda x: np.cumsum(x)[1:] * 2, X)) == 2
    assert len(stages(lambda x: np.sum(np.diff(np.sin(np.cumsum(x))) ** 2), X)) == 2


def test_no_more_programs_for_more_chunks():
    """Parts that differ from block to block would need a program each."""

    def programs(f, chunks):
        plan = plan_chunks(ct.function(f), (in_chunks(np.arange(7.0 * chunks), 7),), {})
        return max([stage.programs for stage in plan.stages])

    for f in (lambda x: np.cumsum(x)[::3] * 2, lambda x: np.diff(np.cumsum(x)), lambda x: np.cumsum(x)[::-1]):
        assert programs(f, 90) == programs(f, 30)


def test_small_results_beside_large_ones_leave_a_task_together():
    """A pass that gives many totals hands them over in one task a chunk, and its tasks are those that a plan says."""
    da = pytest.importorskip("dask.array")
    from dask._task_spec import Alias, DataNode

    def drawdown(x):
        logs = np.cumsum(x)
        return np.max(np.maximum.accumulate(logs) - logs)

    x = np.random.default_rng(1).normal(size=40_000)
    f = ct.value_and_grad(drawdown)
    value, gradient = f(x)
    in_blocks = f(in_chunks(x, 10_000))
    np.testing.assert_allclose(in_blocks[0].numpy(), value)
    np.testing.assert_array_equal(in_blocks[1].numpy(), gradient)
    lazy = da.from_array(x, chunks=10_000)
    results = f(lazy)
    graph = {key: node for one in results for key, node in dict(one.__dask_graph__()).items()}
    made = [key for key, node in graph.items() if key[0] != lazy.name and not isinstance(node, (Alias, DataNode))]
    assert len([key for key in made if not key[0].startswith("array-")]) == plan_chunks(f, (lazy,), {}).tasks < 60
    np.testing.assert_array_equal(results[1].compute(scheduler="sync"), gradient)

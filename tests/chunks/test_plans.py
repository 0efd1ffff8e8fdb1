"""What a plan says is what the graph has: tasks, programs, bytes."""

import numpy as np
import pytest

import catad as ct
from catad.testing import in_chunks

da = pytest.importorskip("dask.array")


def logistic(w, rows, labels):
    z = rows @ w
    return np.mean(np.logaddexp(0, z) - labels * z) + 0.1 * np.sum(w * w)


def softmax(x):
    e = np.exp(x - np.max(x))
    return e / np.sum(e)


def tasks_of(*results, without):
    """The tasks that results add to the graphs of arguments, values in the graph aside."""
    found = {}
    for result in results:
        found.update(dict(result.__dask_graph__()))
    known = {key for array in without for key in dict(array.__dask_graph__())}
    return [key for key, node in found.items() if key not in known and type(node).__name__ != "DataNode"]


X = np.linspace(-1, 1, 60)
ROWS = np.outer(X, np.arange(1.0, 5.0))
CASES = {
    "map": (lambda x: np.sin(x) * 2, [X], 1),
    "sum": (lambda x: np.sum(x * x), [X], 2),
    "matrix": (lambda a: np.tanh(a @ a.T), [ROWS], 1),
    "logistic regression": (ct.value_and_grad(logistic), [np.ones(4), ROWS, (X > 0) * 1.0], 1),
    "softmax": (softmax, [X], 3),
    "running sum": (np.cumsum, [X], 2),
    "differences": (lambda x: x[1:] - x[:-1], [X], 1),
}


@pytest.mark.parametrize("name", CASES)
def test_a_plan_has_the_tasks_of_the_graph(name):
    f, args, _ = CASES[name]
    f = f if isinstance(f, ct.D) else ct.function(f)
    cut = [da.from_array(a, chunks=(10, *a.shape[1:])) if a.shape[0] == 60 else a for a in args]
    plan = f.plan_chunks(*cut)
    made = f(*cut)
    results = made if isinstance(made, tuple) else (made,)
    leaves = [leaf for one in results for leaf in (one if isinstance(one, tuple) else (one,))]
    found = tasks_of(*leaves, without=[a for a in cut if hasattr(a, "dask")])
    again = [key for key in found if key[0].startswith("array-")]  # arguments that are loaded once more
    assert plan.tasks == len(found) - len(again), (str(plan), sorted({k[0] for k in found}))


def test_programs_do_not_grow_with_the_number_of_chunks():
    f = ct.function(lambda x: np.sum(np.cumsum(x)[2:] * x[:-2]))
    for n in (40, 200, 1000):
        assert all(stage.programs <= 6 for stage in f.plan_chunks(in_chunks(np.ones(n * 7 + 3), 7)).stages)


def test_a_plan_says_what_it_is_without_running():
    f = ct.value_and_grad(logistic)
    ran = []
    rows = da.from_array(ROWS, chunks=(20, 4))
    rows = rows.map_blocks(lambda block: ran.append(1) or block, dtype=float, meta=np.zeros((0, 0)))
    plan = f.plan_chunks(np.ones(4), rows, da.from_array((X > 0) * 1.0, chunks=20))
    assert not ran and "3 tasks, 1 program" in str(plan) and not plan.whole
    assert plan.draw().startswith("<svg") and "tasks" in repr(plan)


def test_arrays_that_are_not_in_chunks_have_no_plan():
    with pytest.raises(ct.errors.SpaceError, match="an array of Dask among them"):
        ct.sin.plan_chunks(X)

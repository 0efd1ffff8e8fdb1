"""Programs on arrays of Dask: beside catad's CPU engine on the whole array, and beside Dask with derivatives by hand.

Data lie in memory in chunks of 64 MiB, everything runs on one thread of one core, by Dask's synchronous scheduler. Maps, sums,
histograms, scans and recurrences with their pullbacks stand over the same program on whole arrays, and over plain `dask.array`
where that can say the value. Six plain programs stand over Dask with their gradients and Hessian-vector products by hand: in
time, which counts the making of the graph, and in tasks. Results are compared. Then the numbers of tasks and of compiled
programs, and how long a graph of 10^4 chunks takes to make. Prints ratios of medians of processor time beside what they should
be at most:

    python examples/experiments/chunks.py [--small] [--only WORD ...] [--rounds N] [--json FILE]
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import chunked_programs  # noqa: E402  after the threads are set
import dask  # noqa: E402
import dask.array as da  # noqa: E402
import measuring  # noqa: E402
import numpy as np  # noqa: E402
from dask._task_spec import DataNode, Task  # noqa: E402

import catad as ct  # noqa: E402
from catad.chunks.report import ChunkPlan, plan_chunks  # noqa: E402

Call = Callable[[], Any]


class Row(NamedTuple):
    """A call of catad on arrays of Dask, what it stands beside, a bound of the times, and the tasks of both if those count."""

    work: str
    against: str
    bound: float
    own: Call
    other: Call
    tasks: tuple[int, int] | None = None


def ran(results: Any) -> Any:
    """Lazy results, computed, each chunk apart."""
    return dask.persist(*results, scheduler="sync") if isinstance(results, tuple) else results.persist(scheduler="sync")


def in_chunks(array: Any, chunks: Any) -> Any:
    """An array of Dask over an array in memory; chunks None: the array."""
    return array if chunks is None else da.from_array(array, chunks=chunks, name=None)


def number_of_tasks(results: Any) -> int:
    """The tasks that a scheduler gets for some results, without data in memory."""
    lazy = dask.optimize(*results) if isinstance(results, tuple) else dask.optimize(results)
    graph = {key: node for one in lazy for key, node in dict(one.__dask_graph__()).items()}
    return sum([isinstance(node, Task) and not isinstance(node, DataNode) for node in graph.values()])


def agree(results: Any, others: Any) -> bool:
    """Whether results that are computed are equal but for rounding."""
    if isinstance(results, tuple):
        return all(agree(a, b) for a, b in zip(results, others, strict=True))
    a, b = (np.asarray(dask.compute(one, scheduler="sync")[0]) for one in (results, others))
    return a.shape == b.shape and np.allclose(a, b, rtol=1e-7, atol=1e-9 * (np.abs(b).max() if b.size else 0))


# -- over the CPU engine


def simple(chunks: int, entries: int) -> Iterator[tuple[str, float, Any, list[Any], list[Any], Callable[..., Any] | None]]:
    """Work, bound, function, arguments, their chunks, and the value by dask.array."""
    rng, n = np.random.default_rng(4), chunks * entries
    x, w = rng.normal(size=(2, n))
    index = rng.integers(0, 1000, n)
    a = 1 - 1 / (2 + np.arange(n) % 7)
    one, two = [entries], [entries, entries]

    def wave(x: Any) -> Any:
        return np.sin(x) * x + 1

    def energy(x: Any, index: Any) -> Any:
        table = np.bincount(index, weights=x, minlength=1000)
        return np.sum(table * table)

    def total(x: Any) -> Any:
        return np.sum(x)

    def sums(x: Any) -> Any:
        return np.cumsum(x)

    yield "map", 1.3, ct.function(wave), [x], one, wave
    yield "sum", 1.3, ct.function(total), [x], one, total
    yield "histogram, value and vjp", 1.3, ct.value_and_grad(energy), [x, index], two, None
    rows, _, cut = chunked_programs.labelled_rows(chunks, entries)
    yield "logistic regression, value and gradient", 1.3, ct.value_and_grad(chunked_programs.logistic), rows, cut, None
    yield "cumsum", 2.2, ct.function(sums), [x], one, da.cumsum
    yield "cumsum, vjp", 2.2, ct.reverse_differential(ct.function(sums)), [x, w], two, None
    yield "scan *", 2.2, ct.scan(lambda a, b: a * b, 1.0), [a], one, None
    yield "scan *, value and vjp", 2.2, measuring.value_and_pullback(ct.scan(lambda a, b: a * b, 1.0)), [a, w], two, None
    yield "recurrence", 2.2, ct.recurrence, [a, x], two, None
    yield "recurrence, value and vjp", 2.2, measuring.value_and_pullback(ct.recurrence), [(a, x), w], [tuple(two), entries], None


def over_the_engine(chunks: int, entries: int) -> Iterator[Row]:
    """Programs over themselves on whole arrays, and over plain dask.array where that can say them."""
    for work, bound, f, args, cut, by_dask in simple(chunks, entries):
        lazy = [
            tuple(map(in_chunks, own, sizes)) if isinstance(own, tuple) else in_chunks(own, sizes)
            for own, sizes in zip(args, cut, strict=True)
        ]
        own = lambda f=f, lazy=lazy: ran(f(*lazy))  # noqa: E731
        yield Row(work, "CPU engine", bound, own, lambda f=f, args=args: f(*args))
        if by_dask is not None:
            yield Row(work, "dask.array", 1.1, own, lambda g=by_dask, lazy=lazy: ran(g(*lazy)))


# -- over Dask by hand


def by_hand(program: chunked_programs.Program, chunks: int, entries: int) -> Iterator[tuple[str, Call, Call]]:
    """A program and its derivatives, and these by hand: value, value with gradient, Hessian times a vector."""
    args, v, cut = program.data(chunks, entries)
    first, *rest = map(in_chunks, args, cut)
    v = in_chunks(v, cut[0])
    value, both, gradient = ct.function(program.fn), ct.value_and_grad(program.fn), ct.grad(program.fn)
    along = ct.grad(lambda x, v, *rest: np.sum(gradient(x, *rest) * v))
    yield "value", lambda: value(first, *rest), lambda: program.value(first, *rest)
    yield "gradient", lambda: both(first, *rest), lambda: program.gradient(first, *rest)
    yield "hvp", lambda: along(first, v, *rest), lambda: program.hvp(first, v, *rest)


def over_dask(chunks: int, entries: int, only: Sequence[str]) -> Iterator[Row]:
    """Programs over their derivatives by hand; raises `AssertionError` where results differ."""
    for program in chunked_programs.PROGRAMS:
        if not chosen(program.name, only):
            continue
        for kind, own, other in by_hand(program, chunks, entries):
            work, tasks = f"{program.name}, {kind}", (number_of_tasks(own()), number_of_tasks(other()))
            if not agree(ran(own()), ran(other())):
                raise AssertionError(f"{work}: results differ from those by hand")
            yield Row(work, "Dask by hand", 1.0, lambda f=own: ran(f()), lambda f=other: ran(f()), tasks)


# -- graphs


class Counts(NamedTuple):
    """Of a program: chunks, tasks for a chunk beyond its regions, compiled programs of a region at most."""

    work: str
    chunks: int
    beyond: float
    programs: int


def plans(entries: int) -> Iterator[tuple[str, Callable[[int], ChunkPlan]]]:
    """Plans for numbers of chunks; nothing runs."""

    def lazily(*shape: Any, chunks: Any) -> Any:
        return da.zeros(shape, chunks=chunks)

    pullback = ct.reverse_differential(ct.recurrence)

    def recurred(n: int) -> ChunkPlan:
        x = lazily(n * entries, chunks=entries)
        return plan_chunks(pullback, ((x, x), x), {})

    yield "recurrence, vjp", recurred
    for program in chunked_programs.PROGRAMS:
        both = ct.value_and_grad(program.fn)

        def planned(n: int, program: Any = program, both: Any = both) -> ChunkPlan:
            args, _, cut = program.data(2, 64)
            lazy = []
            for arg, sizes in zip(args, cut, strict=True):
                own = (sizes,) if isinstance(sizes, int) else sizes
                wide = arg if own is None else lazily(*(arg.shape[0] // 2 * n, *arg.shape[1:]), chunks=own)
                lazy.append(wide)
            return plan_chunks(both, tuple(lazy), {})

        yield f"{program.name}, gradient", planned


def counted(entries: int) -> Iterator[Counts]:
    """Tasks and programs of some programs, on few and on many chunks."""
    for work, plan in plans(entries):
        for n in (8, 64):
            made = plan(n)
            most = max([stage.tasks for stage in made.stages])
            regions = sum([stage.tasks == most for stage in made.stages])
            yield Counts(work, most, made.tasks / most - regions, max([stage.programs for stage in made.stages]))


def building(chunks: int) -> float:
    """Seconds for the graph of the vjp of a recurrence, of a program that is not planned yet."""
    x, ct_vjp = da.zeros(chunks * 4, chunks=4), ct.reverse_differential(ct.recurrence)
    ct_vjp((x[:8], x[:8]), x[:8])
    return measuring.first_call(lambda: ct_vjp((x, x), x))


def graphs(small: bool) -> Iterator[measuring.Bound]:
    chunks = 100 if small else 10**4
    yield measuring.Bound(f"graph of {chunks} chunks, vjp of a recurrence", "seconds", building(chunks), 3.0, unit="seconds")
    for one in counted(4):
        print(f"{one.work}, {one.chunks} chunks: {one.beyond:.2f} tasks a chunk beyond regions, {one.programs} programs a region")
        yield measuring.Bound(f"{one.work}, {one.chunks} chunks", "tasks beyond regions", one.beyond, 1.0, unit="tasks")
        yield measuring.Bound(f"{one.work}, {one.chunks} chunks", "programs a region", one.programs, 6, unit="programs")


# -- running


def raced(row: Row, rounds: int) -> tuple[float, float]:
    start = time.process_time()
    row.own()
    first = time.process_time() - start
    taken = measuring.side_by_side({"own": row.own, "other": row.other}, rounds, clock=time.process_time)
    print(
        f"{row.work}: {1e3 * taken['own']:.1f} ms, {row.against} {1e3 * taken['other']:.1f} ms, "
        f"ratio {taken['own'] / taken['other']:.2f}; first call {1e3 * first:.0f} ms",
        flush=True,
    )
    return taken["own"], taken["other"]


def chosen(work: str, only: Sequence[str]) -> bool:
    return any(word in work for word in only)


def main() -> None:
    flag = {"action": "store_true"}
    found = measuring.options(__doc__, small=flag, only={"nargs": "+", "default": [""]}, chunks={"type": int, "default": 4})
    measuring.one_core()
    ct.set_default_num_threads(1)
    chunks, entries = found.chunks, 64 if found.small else 2**23
    bounds = list[measuring.Bound]()
    for row in over_the_engine(chunks, entries):
        if chosen(row.work, found.only):
            own, other = raced(row, found.rounds)
            bounds.append(measuring.Bound(row.work, row.against, own / other, row.bound))
    for row in over_dask(chunks, entries, found.only):
        own, other = raced(row, found.rounds)
        bounds.append(measuring.Bound(row.work, row.against, own / other, row.bound))
        assert row.tasks is not None
        ours, theirs = row.tasks
        why = f"{ours} tasks beside {theirs} that are fused, on {chunks} chunks; one a chunk and a tree are the least"
        bounds.append(measuring.Bound(f"{row.work}, tasks", row.against, ours / theirs, 1 / 3, why=why, unit="tasks"))
    if chosen("graph", found.only):
        bounds += graphs(found.small)
    at = list(range(1, len(bounds) + 1))
    series = {"measured": (at, [one.measured for one in bounds]), "at most": (at, [one.bound for one in bounds])}
    measuring.chart(found.out, "chunks", [measuring.Panel("programs on chunks", "row", "ratio", series)])
    measuring.report(found, [], bounds)


if __name__ == "__main__":
    main()

"""Stencils: a step is one region that reads edges of neighbours, also in its pullback; programs do not grow with the chunks."""

import numpy as np
import pytest

import catad as ct
from catad.chunks import leaves
from catad.chunks.exchanges import exchange
from catad.chunks.here import Here
from catad.testing import check_chunks, in_chunks
from tests.chunks.plans import plans, ran_whole

WEIGHTS = np.array([0.25, 0.5, 0.25])


def slices(u):
    return u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])


def boundary(u):
    v = u.copy()
    v[1:-1] = slices(u)
    return v


def rolled(u):
    return u + 0.1 * (np.roll(u, 1) - 2 * u + np.roll(u, -1))


def padded(u):
    p = np.pad(u, 1)
    return u + 0.1 * (p[2:] - 2 * u + p[:-2])


def convolved(u):
    return np.convolve(u, WEIGHTS, "same")


def exponential(u):
    return np.exp(u[1:-1]) * (u[2:] - u[:-2])


def five_points(u):
    return u[1:-1, 1:-1] + 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])


def nine_points(u):
    return sum(u[1 + i : 19 + i, 1 + j : 15 + j] * (1 + i + 2 * j) for i in (-1, 0, 1) for j in (-1, 0, 1))


def rolled_axes(u):
    return u + 0.1 * (np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u)


LINES = [slices, boundary, rolled, padded, convolved, exponential, ct.stencil(lambda a, b, c: a * b - c, (-1, 0, 1))]
PLANES = [five_points, nine_points, rolled_axes]
CASES = [(f, 1) for f in LINES] + [(f, 2) for f in PLANES]


def term(f):
    return f if isinstance(f, ct.D) else ct.function(f)


def reads_edges_alone(planned):
    kinds = [exchange(read.read).kind for one in planned.regions for read in one.reads if read.read.array.is_cut]
    return not planned.plan.whole and not planned.plan.gathered and set(kinds) <= {"block", "edges"}


def tasks_by_chunk(planned):
    """The tasks of regions with chunks, for each chunk."""
    return sum(one.region.tasks for one in planned.regions if one.region.counts)


@pytest.mark.parametrize(("f", "axes"), CASES)
def test_a_step_and_its_pullback_are_one_region(f, axes):
    u = np.random.default_rng(0).normal(size=(20, 16)) if axes == 2 else np.linspace(0, 2, 320) ** 2
    x = in_chunks(u, *((5, 8) if axes == 2 else (16,)))
    chunks = len(x.blocks)
    with plans() as found, ct.use_engine("reference"):
        y, pull = ct.vjp(term(f), x)
        np.testing.assert_array_equal(y.numpy(), term(f)(u))
        assert tasks_by_chunk(found[0]) == chunks
        del found[:]
        pulled = pull(y)
        pulled = pulled[0] if isinstance(pulled, tuple) else pulled
        assert tasks_by_chunk(found[0]) == chunks
        np.testing.assert_allclose(pulled.numpy(), np.squeeze(ct.vjp(term(f), u)[1](y.numpy())), rtol=1e-12, atol=1e-12)
    assert pulled.parts == x.parts
    assert axes == 2 or reads_edges_alone(found[0])


@pytest.mark.parametrize("f", [slices, boundary, rolled, padded])
def test_each_of_many_steps_is_one_region(f):
    x = in_chunks(np.linspace(0, 2, 320) ** 2, 32)
    most = []
    for count in (5, 9):

        def steps(u, count=count):
            for _ in range(count):
                u = f(u)
            return u

        with plans() as found, ct.use_engine("reference"):
            y, pull = ct.vjp(ct.function(steps), x)
            pull(y)
        for planned in found:
            assert [one.region.tasks for one in planned.regions][1:] in ([10] * (count - 1), [10] * count)
            assert reads_edges_alone(planned)
        most.append([max(len(one.region.nodes) for one in planned.regions) for planned in found])
    assert most[0] == most[1] and max(most[0]) <= 24  # a step computes no steps before it again


@pytest.mark.parametrize("f", [*LINES, lambda u: np.sum(np.diff(u) ** 2), lambda u: u[::-1][2:] * 2, lambda u: np.tile(u, 2)])
def test_programs_do_not_grow_with_the_chunks(f):
    counts = []
    for chunks in (20, 200):
        x = in_chunks(np.linspace(0, 1, chunks * 8), 8)
        with plans() as found, ct.use_engine("reference"):
            y, pull = ct.vjp(term(f), x)
            pull(y)
        counts.append([len(planned.programs) for planned in found])
    assert all(many <= few for few, many in zip(*counts, strict=True))
    assert max(counts[0]) <= 2 * 3 + 2


@pytest.mark.parametrize(("f", "axes"), CASES)
@pytest.mark.parametrize("large", [False, True])
def test_blocks_of_any_sizes(f, axes, large, monkeypatch):
    monkeypatch.setattr(leaves, "LARGE", 0 if large else leaves.LARGE)
    monkeypatch.setattr(leaves, "EDGE", 1 if large else leaves.EDGE)
    u = np.random.default_rng(0).normal(size=(20, 16)) if axes == 2 else np.random.default_rng(0).normal(size=37)
    with plans() as found, ct.use_engine("reference"):
        for seed in range(2):
            check_chunks(term(f), u, seed=seed)
    assert not ran_whole(found)


@pytest.mark.parametrize("f", [rolled, five_points])
def test_compiled(f, monkeypatch):
    monkeypatch.setattr(leaves, "LARGE", 0)
    u = np.random.default_rng(0).normal(size=(40, 16) if f is five_points else 90).astype(np.float32)
    check_chunks(f, u, seed=1)


def test_tasks_receive_edges_of_large_blocks_and_not_the_blocks(monkeypatch):
    received = []
    task = Here.task

    def noted(self, name, number, run, args):
        received.append((name, [a.size for a in args if isinstance(a, np.ndarray)]))
        return task(self, name, number, run, args)

    monkeypatch.setattr(leaves, "LARGE", 8 * 64)
    monkeypatch.setattr(Here, "task", noted)
    x = in_chunks(np.linspace(0, 1, 640), 64)
    two = LINES[-1] >> LINES[-1]
    with ct.use_engine("reference"):
        two(x)
    steps = [sizes for name, sizes in received if name == "map"]
    edges = [sizes for name, sizes in received if name == "edges"]
    assert steps == [[64]] * 20
    assert edges == [[64]] * 20
    assert two.plan_chunks(x).tasks == len(received)


def test_small_chunks_of_a_large_one_are_no_edges(monkeypatch):
    monkeypatch.setattr(leaves, "LARGE", 8)
    x, y = in_chunks(np.arange(640.0), 320), in_chunks(np.arange(640.0) + 1, 4)
    f = ct.function(lambda a, b: np.sum(np.sin(a)[::-1] * np.cumsum(b)))
    with ct.use_engine("reference"):
        np.testing.assert_allclose(f(x, y).numpy(), f(x.numpy(), y.numpy()))
    with plans() as found, ct.use_engine("reference"):
        ct.function(lambda a, b: a[8:] * b[4:-4])(y, y)
        ct.function(lambda a, b: a * b[::-1])(y, x)
    for planned in found:
        for one in planned.regions:
            assert not leaves.edges_of(one.reads, one.region.counts)


def test_joined_edges_are_not_copied():
    x = in_chunks(np.linspace(0, 1, 640), 64)
    with plans() as found:
        ct.function(rolled)(x)
    (one,) = found[0].regions
    assert all(read.split or read.simple for read in one.reads)
    assert not [program for program in found[0].programs.values() if "StridedCopy" in str(program.wiring.boxes[-1])]

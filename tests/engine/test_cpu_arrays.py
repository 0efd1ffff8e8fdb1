"""Arrays as they lie in memory: strides, broadcasts, alignment, byte order, sizes; the compiled code reads them all alike."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import catad as ct
from catad.engine.cpu.whole import callbacks, program

from .cpu_support import assert_near, assert_same, items, on, small_blocks, small_thresholds

F = ct.map(lambda x, y: (x * y + x, x - y))
SCANS = ct.fork(ct.scan(ct.add, 0.0), ct.scan(ct.add, 0.0, axis=-1, reverse=True), ct.sum(axis=0), ct.sum(axis=-1), ct.sum())


def whole(rng, shape, dtype=np.float64):
    return rng.integers(-4, 5, shape).astype(dtype)


@st.composite
def laid_out(draw, shape, dtype=np.float64):
    """An array of a shape that lies in memory in some way: a view of a larger one, turned, with steps, unaligned."""
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    order = draw(st.permutations(range(len(shape))))
    steps = [draw(st.sampled_from([1, 1, -1, 2, -3])) for _ in shape]
    inner = [shape[k] for k in order]
    base = whole(rng, [n * abs(steps[k]) for n, k in zip(inner, order, strict=True)], dtype)
    x = base[tuple([np.s_[:: steps[k]] for k in order])].transpose(np.argsort(order)) if shape else base
    kind = draw(st.sampled_from(["plain", "plain", "repeated", "unaligned", "read only", "fortran"]))
    if kind == "repeated" and shape:
        k = draw(st.integers(0, len(shape) - 1))
        x = np.broadcast_to(x.take([0], axis=k), shape) if shape[k] else x
    elif kind == "unaligned":
        room = np.zeros(x.nbytes + 1, np.uint8)[1:].view(x.dtype)[: x.size]
        room = np.ndarray(x.shape, x.dtype, room.data) if x.size else x
        room[...] = x
        x = room
    elif kind == "read only":
        x = x.copy()
        x.flags.writeable = False
    elif kind == "fortran" and shape:
        x = np.asfortranarray(x)
    assert x.shape == tuple(shape)
    return x


SHAPES = [(), (1,), (7,), (0,), (3, 0, 2), (4, 5), (1, 6), (5, 1), (2, 3, 4), (2, 1, 3, 2, 4)]


@given(st.data())
def test_pointwise_over_arrays_of_any_layout(data):
    shape = data.draw(st.sampled_from(SHAPES))
    lead = data.draw(st.integers(0, len(shape)))
    other = [data.draw(st.sampled_from([n, n, 1])) for n in shape[lead:]]
    x, y = data.draw(laid_out(shape)), data.draw(laid_out(tuple(other)))
    want = [np.asarray(x, float) * y + x, np.asarray(x, float) - y]
    with ct.use_engine("cpu"):
        got = [np.asarray(leaf) for leaf in F(x, y)]
    assert_same(got, [np.asarray(leaf, np.float64) for leaf in want])


@given(st.data())
def test_scans_and_sums_over_arrays_of_any_layout(data):
    shape = data.draw(st.sampled_from([shape for shape in SHAPES if shape]))
    x = data.draw(laid_out(shape))
    plain = np.asarray(x, np.float64)
    back = np.flip(np.cumsum(np.flip(plain, -1), axis=-1), -1)
    want = [np.cumsum(plain, axis=0), back, plain.sum(axis=0), plain.sum(axis=-1), plain.sum()]
    # Small integers are exact; 0.0 + -0.0 depends on where a sum starts.
    assert_same([a + 0.0 for a in on("cpu", SCANS, x)], [np.asarray(a) + 0.0 for a in want])


def nothing_by_array_code(monkeypatch):
    def called(*_):
        raise AssertionError("array code runs")

    monkeypatch.setattr(callbacks, "call_array_code", called)
    monkeypatch.setattr(program, "call_array_code", called)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_sums_over_any_axes_of_arrays_of_any_layout_are_compiled(monkeypatch, data):
    shape = data.draw(st.sampled_from([shape for shape in SHAPES if shape]))
    x = data.draw(laid_out(shape))
    axis = tuple(data.draw(st.lists(st.integers(0, len(shape) - 1), unique=True, min_size=1)))
    f = ct.fork(ct.map(lambda v: v * 2.0) >> ct.fork(ct.sum(axis), ct.id), ct.sum(axis))
    plain = np.asarray(x, np.float64)
    with monkeypatch.context() as patch:
        nothing_by_array_code(patch)
        found = on("cpu", f, x)
    assert_same([a + 0.0 for a in found], [np.asarray(a) + 0.0 for a in (2 * plain.sum(axis), 2 * plain, plain.sum(axis))])


def test_sums_for_each_channel_are_sums_of_sums(monkeypatch):
    """Axes that do not merge, by tiles and threads; with sums of shifted rows, which are guarded."""
    nothing_by_array_code(monkeypatch)
    rng = np.random.default_rng(0)
    x = rng.integers(-9, 9, (3, 4, 70, 90)).astype(float)
    f = ct.map(lambda v: v * v) >> ct.sum((0, 2, 3))
    (found,) = on("cpu", f, x)
    assert np.array_equal(found, (x * x).sum((0, 2, 3)))
    shifted = ct.pad(1, -1, axis=1) >> ct.map(lambda v: v + 1.0) >> ct.sum((0, 2))
    (found,) = on("cpu", shifted, x[0])
    want = np.concatenate([np.zeros((4, 1, 90)), x[0][:, :-1]], axis=1) + 1.0
    assert np.array_equal(found, want.sum((0, 2)))


@given(st.data())
def test_cotangents_of_broadcast_arguments_are_summed(data):
    shape = data.draw(st.sampled_from([(4, 5), (2, 3, 4), (7,), (2, 1, 3, 2, 4)]))
    other = tuple([data.draw(st.sampled_from([n, 1])) for n in shape[data.draw(st.integers(0, len(shape))) :]])
    x, y = data.draw(laid_out(shape)), data.draw(laid_out(other))
    w = (whole(np.random.default_rng(0), shape), whole(np.random.default_rng(1), shape))
    back = ct.reverse_differential(F)
    assert_same(on("cpu", back, ((x, y), w)), on("reference", back, ((np.array(x, float), np.array(y, float)), w)))


@pytest.mark.quick(8)
@pytest.mark.parametrize("before", [0, 1, 3])
@pytest.mark.parametrize("after", [0, 1, 2])
@pytest.mark.parametrize("axis", [0, 1])
def test_ends_that_are_replaced_where_they_were_made(before, after, axis):
    """A value of the stage, read where it stands but at the ends; also backwards, and of truth values."""
    rng = np.random.default_rng(0)
    x = whole(rng, (6, 7))
    stop = -after or None
    for made, fill in ((ct.map(lambda x: x * x), 7.0), (ct.map(lambda x: x > 0.0) >> ct.map(lambda c: not c), True)):
        ends = ct.slice(before, stop, axis=axis) >> ct.pad(before, after, fill, axis=axis)
        for turned in (ct.id, ct.flip(axis)):
            f = made >> ct.fork(ct.id, ends >> turned, turned >> ends)
            assert_same(on("cpu", f, x), on("reference", f, x))
    f = ct.map(lambda x: x * x) >> ends >> ct.scan(ct.add, 0.0, axis=axis, reverse=True)
    assert_same(on("cpu", f, x), on("reference", f, x))


def test_numbers_of_numpy_and_python_are_arguments():
    for x, y in (
        (np.float32(2.0), np.float32(3.0)),
        (np.float64(2.0), 3.0),
        (np.arange(3.0), np.float64(2)),
        (np.ones(4), 2),
    ):
        assert_same(on("cpu", F, x, y), on("reference", F, x, y))
    with ct.use_engine("cpu"):
        assert type(ct.sin(np.float32(1.0))) is np.float32


def test_numbers_in_foreign_byte_order_are_taken_in_that_of_the_machine():
    x = np.arange(5000.0)
    for engine in ("cpu", "reference"):
        assert_same(on(engine, ct.sin, x.astype(">f8")), on(engine, ct.sin, x))


def test_the_same_array_twice_and_overlapping_views():
    x = np.arange(40.0)
    assert_same(on("cpu", F, x, x), [x * x + x, x - x])
    assert_same(on("cpu", F, x[:-1], x[1:]), [x[:-1] * x[1:] + x[:-1], x[:-1] - x[1:]])


@pytest.mark.parametrize("f", [ct.id, ct.dup, ct.swap, ct.map(lambda x, y: (y, x + y, x)), ct.flip() * ct.id])
def test_results_that_are_arguments_hold_their_numbers_and_the_arguments_stay(f):
    x, y = np.arange(12.0), np.arange(12.0)[::-1]
    before = x.copy(), y.copy()
    assert_same(on("cpu", f, (x, y)), on("reference", f, (x, y)))
    assert np.array_equal(x, before[0]) and np.array_equal(y, before[1])


def test_results_may_be_written_to_and_share_nothing_among_each_other():
    x = np.arange(5.0)
    f = ct.fork(ct.broadcast_to((3, 5)), ct.map(lambda x: (x + 1.0, x + 1.0)))
    with ct.use_engine("cpu"):
        a, (b, c) = f(x)
    for leaf in (a, b):
        leaf[...] = 7.0
    assert np.array_equal(x, np.arange(5.0)) and np.array_equal(c, x + 1.0)


LARGE_SHAPES = [(9001,), (3, 9001), (9001, 3), (70, 513), (513, 70), (2, 600, 9), (4, 8200)]


@pytest.mark.quick(2)
@pytest.mark.parametrize("past", [False, True])
@pytest.mark.parametrize("n", [1, 3])
def test_sizes_around_tiles_chunks_and_blocks(monkeypatch, past, n):
    """Tiles of 64, chunks of 16, blocks of 64: sizes about their multiples; with threads, with and without caches."""
    small_blocks(monkeypatch)
    if past:
        small_thresholds(monkeypatch)
    rng = np.random.default_rng(0)
    op = ct.fold(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (1.0, 0.0))
    with ct.num_threads(n):
        for size in (1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129, 4096, 5000):
            for shape in ((size,), (3, size), (size, 3), (size, 17)):
                x = whole(rng, shape)
                f = ct.map(lambda x: (x * 2.0 + 1.0, x - 0.5, x < 0.0)) & SCANS
                assert_same([a + 0 for a in on("cpu", f, x)], [a + 0 for a in on("reference", f, x)], shape)
                sign = np.where(x < 0.0, -1.0, 1.0)
                assert_same(on("cpu", op, (sign, x)), on("reference", op, (sign, x)), shape)


@pytest.mark.parametrize("shape", LARGE_SHAPES)
def test_large_arrays_at_the_real_thresholds(shape):
    x = whole(np.random.default_rng(0), shape)
    assert_same([a + 0.0 for a in on("cpu", SCANS, x)], [a + 0.0 for a in on("reference", SCANS, x)])
    g = ct.grad(ct.map(lambda x: x * x * 0.5) >> ct.scan(ct.add, 0.0) >> ct.map(lambda x: x * 0.25) >> ct.sum())
    assert_same(on("cpu", g, x), on("reference", g, x))


def test_results_of_sixteen_megabytes_go_past_the_caches():
    """Rows of 2^21 numbers and a rest, the condition of each row shared by the row; results at the end of whole vectors, too."""
    for shape in ((3, 1 << 20), ((1 << 21) + 5,), (1031, 2048)):
        x = np.arange(np.prod(shape), dtype=np.float64).reshape(shape)
        z = (np.arange(shape[0]) % 2 == 0).astype(float)[:, None] if len(shape) == 2 else np.float64(1.0)
        f = ct.map(lambda x, z: (x * 2.0 if z == 1.0 else x + 1.0, x - z))
        with ct.use_engine("cpu"):
            got = f(x, z)
        assert_same(list(got), [np.where(z == 1.0, x * 2.0, x + 1.0), x - z])


def test_many_results_below_the_size_that_is_aligned(monkeypatch):
    """Results that are small one by one come from NumPy, wherever it puts them: none may be written in aligned vectors."""
    monkeypatch.setattr("catad.engine.cpu.whole.shared_kernels.STREAMED", 1 << 12)
    f = ct.compile(ct.map(lambda x: (x + 1.0, x + 2.0, x + 3.0, x + 4.0)), ct.f64[640])
    x = np.arange(640.0)
    keep = []
    for k in range(60):
        keep.append(np.empty(8 * k + 1))  # so that the addresses move
        assert_same(on("cpu", f, x), [x + 1.0, x + 2.0, x + 3.0, x + 4.0])


def test_float32_and_float64_side_by_side_in_one_pass():
    x, y = np.linspace(0.1, 2, 300, dtype=np.float32), np.linspace(0.1, 2, 300)
    f = ct.map(lambda x, y: (x * x, x * y, y > x)) >> ct.cross(ct.scan(ct.add, 0.0), ct.id, ct.id)
    assert len(items(f, ct.f32[300], ct.f64[300])) == 1
    assert_near(on("cpu", f, x, y), on("reference", f, x, y))

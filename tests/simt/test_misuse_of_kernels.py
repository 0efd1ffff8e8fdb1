"""Every mistake in a kernel or a launch is one clear error; bugs that are planted are found by the named check."""

from __future__ import annotations

import math

import numpy as np
import pytest

import catad as ct
from catad.simt import atomic, grid, local, shared, syncthreads, threadIdx


def of(body, *args, launch=(2, 4), error=ct.ScalarError):
    """The message of the error that a kernel gives."""
    with pytest.raises(error) as caught:
        ct.kernel(body)[launch](*args)
    return str(caught.value)


x8 = np.arange(8.0)


def test_a_kernel_that_returns_a_value():
    def bad(x):
        return x[0]

    assert "returns a value" in of(bad, x8) and "test_misuse_of_kernels.py" in of(bad, x8)


def test_launches():
    @ct.kernel
    def k(x):
        x[0] = 1.0

    for launch in [(0, 4), (2, -1), (2, 1.5), (2, True), ((1, 1, 1, 1), 4), ("a", 1)]:
        with pytest.raises(ct.ArgumentError, match="no launch of the kernel k"):
            k[launch]
    with pytest.raises(ct.ArgumentError, match="no launch"):
        k[4]
    with pytest.raises(ct.ArgumentError, match="1024"):
        k[1, (32, 64)]
    with pytest.raises(ct.ArgumentError, match=r"k\[blocks, threads\]"):
        k(x8)
    with pytest.raises(ct.ArgumentError, match="no such parameter"):
        k[1, 1].returning("y", like="x")
    for wrong in (3, "f", len, lambda: None):
        with pytest.raises(ct.ArgumentError, match="not a kernel"):
            ct.kernel(wrong)


def test_arguments():
    @ct.kernel
    def k(x, y):
        y[0] = x[0]

    with pytest.raises(ct.SpaceError, match="2 arguments: x, y"):
        k[1, 1](x8)
    with pytest.raises(ct.ScalarError, match="used as a number"):
        k[1, 1](np.ones((2, 2)), x8)
    with pytest.raises(ct.ScalarError, match="number of indices"):
        k[1, 1](x8, np.ones((2, 2)))


def test_a_store_to_a_number():
    def bad(x, n):
        n[0] = 1.0

    assert "n is a number" in of(bad, x8, 2.0)


def test_an_index_that_is_a_float():
    def bad(x):
        i = grid(1)
        x[i * 1.0] = 2.0

    assert "no integer" in of(bad, x8) and "x[i * 1.0] = 2.0" in of(bad, x8)


def test_an_index_out_of_range_names_the_thread():
    def bad(x, y):
        i = grid(1)
        y[i] = x[i - 1]

    said = of(bad, x8, x8, error=ct.IndexRangeError)
    assert "(-1,)" in said and "(0, 0, 0) of block (0, 0, 0)" in said and "y[i] = x[i - 1]" in said


def test_an_index_from_data_out_of_range():
    def bad(p, x, y):
        i = grid(1)
        y[i] = x[p[i]]

    of(bad, np.full(8, 8), x8, x8, error=ct.IndexRangeError)

    @ct.kernel
    def dropped(p, x, y):
        i = grid(1)
        if i < 8:
            y[p[i]] = x[i]

    out = dropped[2, 4](np.array([-1, 8, 2, 3, 4, 5, 6, 7]), x8 + 1, np.zeros(8))
    np.testing.assert_array_equal(out, [0, 0, 3, 4, 5, 6, 7, 8])


def test_shared_arrays_of_unknown_size():
    def bad(x, n):
        s = shared.array(n, np.float64)
        s[0] = x[0]
        x[0] = s[0]

    assert "size that is not known" in of(bad, x8, 3)


def test_a_barrier_that_not_all_threads_reach():
    def bad(x):
        t = threadIdx.x
        if t < 2:
            syncthreads()
        x[grid(1)] = 1.0

    assert "not all threads" in of(bad, x8) and "syncthreads()" in of(bad, x8)

    def early(x):
        i = grid(1)
        if i >= 6:
            return
        syncthreads()
        x[i] = 1.0

    assert "instead of returning early" in of(early, x8)

    @ct.kernel
    def nobody_leaves(x):
        i = grid(1)
        if i >= 8:
            return
        syncthreads()
        x[i] = 1.0

    np.testing.assert_array_equal(nobody_leaves[2, 4](x8), np.ones(8))


def test_words_that_are_not_there_say_what_to_write_instead():
    def bad(x):
        atomic.cas(x, 0, 1.0)

    assert "atomic.add" in of(bad, x8)

    def fence(x):
        ct.simt.threadfence()
        x[0] = 1.0

    assert "leave it out" in of(fence, x8)


def test_words_outside_a_kernel():
    for call in (lambda: grid(1), lambda: threadIdx.x, syncthreads, lambda: int(ct.simt.laneid), lambda: shared.array(3, "f8")):
        with pytest.raises(ct.ScalarError, match="only in a kernel"):
            call()


def test_recursion_and_a_loop_that_does_not_end():
    def deeper(x, n):
        return deeper(x, n + 1)

    def bad(x):
        x[0] = deeper(x, 0)

    assert "nested" in of(bad, x8)


def test_print_is_skipped_with_a_notice():
    @ct.kernel
    def loud(x):
        i = grid(1)
        print(i)
        x[i] = 2.0

    with pytest.warns(ct.CatadNotice, match="print in a kernel"):
        np.testing.assert_array_equal(loud[2, 4](x8), np.full(8, 2.0))


# -- planted bugs


def test_a_missing_barrier_is_a_race():
    def bad(x):
        s = shared.array(4, np.float64)
        t = threadIdx.x
        s[t] = x[grid(1)]
        x[grid(1)] = s[3 - t]

    said = of(bad, x8)
    assert "a race at cell" in said and "put syncthreads() between" in said
    assert "s[t] = x[grid(1)]" in said and "x[grid(1)] = s[3 - t]" in said


def test_a_wrong_halo_reads_what_nobody_wrote():
    def bad(x):
        s = shared.array(6, np.float64)
        t = threadIdx.x
        s[t + 1] = x[grid(1)]
        syncthreads()
        x[grid(1)] = s[t] + s[t + 2]

    assert "read before any thread has written it" in of(bad, x8)


def test_overlapping_stores_are_a_race():
    def bad(x):
        x[grid(1) // 2] = 1.0

    assert "a race at cell (0,)" in of(bad, x8)

    def across_blocks(x):
        x[threadIdx.x] = 1.0

    assert "let each cell be written by one thread" in of(across_blocks, x8)


def test_races_that_the_data_make():
    @ct.kernel
    def scattered(p, x, y):
        i = grid(1)
        y[p[i]] = x[i]

    ct.testing.check_races(scattered[2, 4], np.arange(8), x8, x8)
    ct.grad(scattered[2, 4] >> ct.sum())(np.arange(8), x8, x8)
    again = np.array([0, 1, 2, 3, 3, 5, 6, 7])
    for f in (scattered[2, 4], ct.grad(scattered[2, 4] >> ct.square >> ct.sum())):
        with pytest.raises(ct.ScalarError, match=r"a race at cell \(3,\) of y"):
            f(again, x8, x8)
    with pytest.raises(ct.ScalarError, match="a race at cell \\(3,\\) of y"):
        ct.testing.check_races(scattered[2, 4], np.array([0, 1, 2, 3, 3, 5, 6, 7]), x8, x8)


def test_atomics_among_themselves_do_not_race_and_with_reads_they_do():
    @ct.kernel
    def fine(x, o):
        atomic.add(o, 0, x[grid(1)])

    ct.testing.check_races(fine[2, 4], x8, np.zeros(1))

    def bad(x, o):
        atomic.add(o, 0, x[grid(1)])
        x[grid(1)] = o[0]

    assert "atomic by thread" in of(bad, x8, np.zeros(1))


def test_threads_that_wait_for_ever_are_found_by_the_oracle():
    @ct.kernel
    def bad(x):
        if threadIdx.x < 2:
            syncthreads()
        x[grid(1)] = 1.0

    with pytest.raises(ct.ScalarError, match="wait at barriers"):
        ct.testing.threads(bad[2, 4], x8)


def test_local_memory_that_nobody_wrote():
    def bad(x):
        v = local.array(2, np.float64)
        v[0] = 1.0
        x[grid(1)] = v[1]

    assert "read before any thread has written it" in of(bad, x8)


def test_infinities_of_paths_that_do_not_hold_reach_nobody():
    @ct.kernel
    def logs(x, w, o):
        i = grid(1)
        if x[i] > 0.0:
            atomic.add(o, 0, math.log(x[i]) * w[0])

    x = np.array([0.0, 1.0, 2.0, -1.0, 0.0, 4.0, np.nan, 8.0])
    value, pull = ct.vjp(logs[2, 4], x, np.ones(1), np.zeros(1))
    dx, dw, do = pull(np.ones(1))
    np.testing.assert_allclose(value, np.log(64.0))
    np.testing.assert_allclose(dx, [0, 1, 0.5, 0, 0, 0.25, 0, 0.125])
    np.testing.assert_allclose(dw, np.log(64.0))
    np.testing.assert_array_equal(do, [1.0])


def test_arrays_where_numbers_are_needed():
    def compared(x):
        if x:
            x[0] = 1.0

    def added(x):
        x[grid(1)] = (x + 1.0)[0]

    def chosen(x, o):
        i = grid(1)
        one = x if i < 4 else o
        o[i] = one[i]

    def sliced(x):
        x[0:4] = 1.0

    for body, args in ((compared, (x8,)), (added, (x8,)), (chosen, (x8, x8)), (sliced, (x8,))):
        said = of(body, *args)
        assert "x" in said and "Handle" not in said and "test_misuse_of_kernels.py" in said


def test_every_word_that_is_not_there_says_what_is():
    def exchanged(x):
        atomic.exch(x, 0, 1.0)

    def ballot(x):
        ct.simt.ballot_sync(-1, x[0] > 0.0)

    def nonsense(x):
        ct.simt.foo()

    for body, what in ((exchanged, "exch"), (ballot, "shfl_sync"), (nonsense, "atomic.add")):
        said = of(body, x8)
        assert "is not supported in kernels" in said and what in said and "test_misuse_of_kernels.py" in said


def test_sizes_and_parameters_that_cannot_be():
    def negative(x):
        s = shared.array(-3, np.float64)
        s[0] = x[0]
        x[0] = s[0]

    assert "not negative" in of(negative, x8)

    def number(x, n):
        atomic.add(n, 0, 1.0)

    assert "n is a number" in of(number, x8, 3.0)

    def starred(*x):
        x[0][0] = 1.0

    def keyword(x, *, n):
        x[0] = n

    for body in (starred, keyword):
        with pytest.raises(ct.ArgumentError, match="without \\* and"):
            ct.kernel(body)


def test_places_have_a_column():
    def bad(x, y):
        y[0] = x[8]

    column = 16
    assert f":{column}: y[0] = x[8]" in of(bad, x8, x8, launch=(1, 1), error=ct.IndexRangeError)


def test_a_long_loop_is_checked_as_far_as_is_quick_and_runs():
    @ct.kernel
    def counted(n, o):
        i, k = grid(1), 0
        while k < n[i]:
            o[i] += 1.0
            k += 1

    n = np.array([3, 5000])
    np.testing.assert_array_equal(counted[1, 2](n, np.zeros(2)), n)


@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_a_while_loop_that_does_not_end(engine):
    def endless(x, o):
        i = grid(1)
        while x[i] > 0.0:
            o[i] += x[i]

    k = ct.kernel(max_steps=50)(endless)
    assert k[1, 2] != ct.kernel(endless)[1, 2]
    with ct.use_engine(engine):
        for f in (k[1, 2], ct.grad(k[1, 2] >> ct.sum())):
            with pytest.raises(ct.ArgumentError, match="max_steps"):
                f(np.array([0.0, 1.0]), np.zeros(2))
        np.testing.assert_array_equal(k[1, 2](np.zeros(2), np.ones(2)), np.ones(2))
    with pytest.raises(ct.ArgumentError):
        ct.kernel(max_steps=0)(endless)

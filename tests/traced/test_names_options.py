"""Unusual options and positional arguments of NumPy's functions and methods: values, dtypes, shapes and errors are NumPy's."""

import numpy as np
import pytest

import catad as ct

from .harness import OLD, check
from .programs import module

CALLS = """
np.sum(x, (0, 1), None, None, True)
np.sum(x, axis=(-1, 0), initial=3)
np.sum(B, axis=(0, 2), where=np.array([True, False, True])[None, :, None])
np.sum(x, axis=1, out=np.zeros(3, dtype=np.float32))
np.sum(x, axis=0, out=np.zeros((2, 4)))
np.cumsum(x, 0, None, np.zeros((3, 4)))
np.prod(B, axis=(1, -1), keepdims=True, where=B > 0)
np.amax(x, -1, None, True)
np.max(B, axis=(0, -1), where=B > 0, initial=-1)
np.mean(x, 0, None, np.zeros((1, 4)), True)
np.std(x, 0, None, None, 1, True)
x.std(0, None, None, 1, True)
x.sum(-1, np.float32, None, True)
x.max(-1, None, True)
np.average(x, None, y * y + 1)
np.median(x, 0, None, False, True)
np.quantile(x, 0.4, axis=0, method="inverted_cdf")
np.quantile(x, 0.5, axis=(0, 1), method="midpoint")
np.nanquantile(x, [0.1, 0.9], axis=-1, keepdims=True, method="lower")
np.percentile(x, (25, 75), axis=-1, method="higher")
np.sort(x, kind="bogus")
np.sort(x, order="f")
np.clip(x, np.float32(-1), np.float64(1.5), dtype=np.float32)
np.clip(x, -1, 1, None)
np.select([x > 1, x < 0], [x, y], default=7)
np.take(x, [0, 1], 0, None, "clip")
np.take(x, 1, axis=1, out=np.zeros(3))
x.take([9], 0, None, "wrap")
np.choose(i[:4] % 2, [x[0], x[1]], None, "clip")
np.concatenate((x, y), dtype=int)
np.concatenate([x, y[:1]], axis=-2, dtype=np.float32, casting="unsafe")
np.concatenate((x, y), 0, np.zeros((6, 4)))
np.ravel(x, order="F")
x.T.reshape(2, -1, order="F")
np.tile(v, ())
np.dot(x, y.T, np.zeros((3, 3)))
np.dot(B, x.T, out=np.zeros((2, 3, 3)))
np.matmul(x.T, y, dtype=np.float32)
np.einsum("ij,kj->ik", x, y, dtype=np.float32, casting="unsafe")
np.einsum("ij->i", x, out=np.zeros(3))
np.add(x, y, casting="no")
np.add(x, i[:4], casting="equiv")
np.add(x, y, out=np.zeros((3, 4), np.float32), casting="no")
np.add(x, y, out=np.zeros((3, 4), int), casting="unsafe")
np.add(x, y, dtype=int, casting="unsafe")
np.add.reduce(x, out=np.zeros((2, 4)))
np.add.reduce(x, axis=1, dtype=np.float32, where=m)
np.multiply.accumulate(x, axis=0, out=np.zeros((3, 4)))
np.add.reduceat(v, [0, 2, 1])
np.add.reduceat(x, [0, 3], axis=1)
np.maximum.reduceat(v, [0, 2])
np.multiply.reduceat(x, [0, 2, 1], axis=-2)
np.subtract.reduceat(v, [0, 2])
np.logical_or.reduceat(x, [0, 1], axis=1)
np.minimum.reduceat(x, [3, 0, 0], axis=1, out=np.zeros((3, 3)))
np.add.reduceat(v, [0, 2], dtype=np.float32)
np.add.reduceat(v, [])
np.add.reduceat(v, [0, 5])
np.add.reduceat(v, [-1])
np.partition(v, 2)[2]
np.sort(np.partition(x, (0, 2), axis=0)[1:], axis=0)
np.partition(v, 9)
np.partition(v, 1.5)
v[np.argpartition(v, 3)[3]]
np.bincount(i, None, 9)
np.bincount(i, v, minlength=7)
np.bincount(i - 1, minlength=7)
np.lib.stride_tricks.sliding_window_view(x, (2, 2))
np.lib.stride_tricks.sliding_window_view(v, 3)
np.lib.stride_tricks.sliding_window_view(x, 2, axis=-1)
np.lib.stride_tricks.sliding_window_view(x, (2, 2), axis=(1, 1))
np.lib.stride_tricks.sliding_window_view(v, 9)
x ** 2
np.pad(x, (2, 1), mode="reflect", reflect_type="odd")
np.pad(x, 3, mode="symmetric", reflect_type="odd")
np.pad(x, 1, mode="empty")[1:-1, 1:-1]
np.pad(x, 1, mode="none")
np.pad(x, 1, constant_values=300)
np.pad(x, (1, 2), mode="linear_ramp", end_values=(5, -4))
np.logspace(0, x[0, 0], 3)
np.logspace(x[0], 1, 4, endpoint=False, base=2, axis=-1, dtype=np.float32)
np.geomspace(v[0], v[2], 4)
np.geomspace(-v[2:] - 0.5, -2, 3, axis=1)
np.geomspace(x[2, 2], 1.0)
np.unwrap(3 * x)
np.unwrap(x, axis=0, period=3, discont=2)
np.unwrap(v, period=4)
sum(k * value for (k, _), value in np.ndenumerate(x))
np.modf(x, np.zeros((3, 4)), np.zeros((3, 4)))
np.add.at(x, (slice(None), [0, 0]), 1)
x[[0, i[1]], i[2]]
"""  # the places of NumPy's parameters, options that change the dtype or the shape, and errors
M = np.array([[True, False, True, True], [False, True, True, False], [True, True, False, True]])
CASES = [line for line in CALLS.splitlines() if line]
_PROGRAMS = module("".join(f"def case_{k}(x, y, B, v, i, m):\n    return {line}\n" for k, line in enumerate(CASES)))


def _arrays(kind):
    rng = np.random.default_rng(3)
    made = [np.round(rng.normal(size=shape) * 2, 2) for shape in [(3, 4), (3, 4), (2, 3, 4)]]
    made.append(np.array([0.5, -1.25, 3.0, 0.75, 2.25]))
    return [np.rint(a * 2).astype(kind) if np.dtype(kind).kind == "i" else a.astype(kind) for a in made]


@pytest.mark.parametrize("k", range(len(CASES)), ids=CASES)
def test_options(k):
    if OLD and "clip" in CASES[k]:
        return
    fn = getattr(_PROGRAMS, f"case_{k}")
    for kind in (np.float64, np.float32, np.int8, np.bool_):
        check(fn, *_arrays(kind), np.array([2, 0, 1, 3, 1]), M, grad=False, refuses=kind is not np.float64, rtol=1e-5)


def test_interpolating_methods_leave_infinities_alone():
    x = np.array([np.inf, 1.0, -np.inf, 0.5, 2.0])
    for how in ("lower", "higher", "nearest", "inverted_cdf", "closest_observation", "averaged_inverted_cdf"):
        for q in (0.0, 0.2, 0.3, 0.8, 1.0):
            check(lambda x, q=q, how=how: np.quantile(x, q, method=how), x, grad=False)
            if how in ("lower", "higher", "nearest"):
                check(lambda x, q=q, how=how: np.nanquantile(x, [q], method=how), x, grad=False)


def test_a_window_shows_later_writes():
    def fn(x):
        y = x.copy()
        windows = np.lib.stride_tricks.sliding_window_view(y, 3)
        before = windows.sum(axis=1)
        y[2] = 10.0
        return before, windows * np.arange(3), np.median(windows, axis=-1)

    check(fn, np.array([0.5, -1.25, 3.0, 0.75, 2.25]))


def test_lists_of_traced_indices_swap_rows():
    def fn(x):
        y = x.copy()
        k = np.argmax(y[:, 0])
        y[[k, 0]] = y[[0, k]]
        return y, y[[k, 1], [0, k]]

    check(fn, np.array([[0.5, -1.25, 3.0], [2.5, 0.125, -0.5], [-2.0, 4.0, 1.0]]))


def test_the_length_of_counts_may_be_given():
    def fn(i, w):
        return np.bincount(i, w, minlength=4), np.bincount(i, minlength=4)

    check(fn, np.array([0, 3, 1, 3]), np.array([0.5, 1.0, 2.0, 4.0]))
    for wrong in (4, -1):
        with pytest.raises((ct.IndexRangeError, ValueError)):
            ct.function(fn)(np.array([0, wrong]), np.ones(2))

"""Kernels against their own Python run by real threads, central differences of that, and the laws of derivatives."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import catad as ct
from tests.simt.against_threads import ENGINES, assert_gradients, assert_values, floats
from tests.simt.kernels import CASES, drawn


@pytest.mark.parametrize("name", CASES)
def test_values_are_those_of_threads_with_equal_bits_twice(name):
    assert_values(*CASES[name], twice=True)


@pytest.mark.parametrize("name", [name for name in CASES if name != "root"])
def test_gradients_are_those_of_differences_of_threads(name):
    assert_gradients(*CASES[name])


@pytest.mark.quick(5)
@pytest.mark.parametrize("name", ["guarded", "blur", "tree", "slots", "product", "tiled", "heat", "digits", "permuted"])
def test_laws_of_derivatives(name):
    launch, args = CASES[name]
    ct.testing.check_laws(launch, args)


@pytest.mark.parametrize("name", ["guarded", "blur", "tree", "product", "product_of", "heat"])
def test_second_order(name):
    launch, args = CASES[name]
    ends = ct.square >> ct.sum()
    loss = launch >> ends
    k = floats(args)[0]
    rng = np.random.default_rng(3)
    v = rng.normal(size=np.shape(args[k]))

    def gradient(x: Any) -> Any:
        return ct.grad(loss)(*[x if j == k else a for j, a in enumerate(args)])[k]

    h = 1e-5
    expected = (gradient(args[k] + h * v) - gradient(args[k] - h * v)) / (2 * h)
    direction = tuple([v if j == k else () if j not in floats(args) else np.zeros(np.shape(a)) for j, a in enumerate(args)])
    got = ct.hvp(loss, args, direction)[k]
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)


def test_a_thread_whose_path_does_not_hold_gives_no_nan_to_anybody():
    launch, _ = CASES["root"]
    x = np.array([1.0, 2.0, 0.0, 4.25, -np.inf, np.nan])
    for engine in ENGINES:
        with ct.use_engine(engine):
            value, pull = ct.vjp(launch, x, np.zeros(6))
            dx, do = pull(np.ones(6))
        np.testing.assert_array_equal(dx, [0, 0.5, 0, 0.5 / np.sqrt(3.25), 0, 0])
        np.testing.assert_array_equal(do, [1, 0, 1, 0, 1, 1])
        np.testing.assert_array_equal(value, [0, 1, 0, np.sqrt(3.25), 0, 0])


def test_a_stencil_has_views_and_maps_only_forward_and_reverse():
    @ct.kernel
    def stencil(x, o):
        i = ct.simt.grid(1)
        if 0 < i < len(x) - 1:
            o[i] = x[i - 1] - 2.0 * x[i] * x[i] + x[i + 1]

    args = (np.linspace(0, 1, 40), np.zeros(40))
    wiring = ct.wire(ct.grad(stencil[5, 8] >> ct.sum()), ct.space_of(args))
    kinds = {type(box.primitive).__name__ for box in wiring.boxes}
    assert kinds <= {"Iota", "Map", "StridedCopy", "Reshaped", "Contract", "Constant"}


@ct.kernel
def edges(x, o):
    i = ct.simt.grid(1)
    if i < len(x):
        left = x[i - 1] if i > 0 else 0.0
        right = x[i + 1] if i + 1 < len(x) else 0.0
        o[i] = left * right


@ct.kernel
def halo(x, o):
    s = ct.simt.shared.array(10, x.dtype)
    i, t = ct.simt.grid(1), ct.simt.threadIdx.x
    s[t + 1] = x[i] if i < len(x) else 0.0
    if t == 0:
        s[0] = x[i - 1] if i > 0 else 0.0
    if t == 7:
        s[9] = x[i + 1] if i + 1 < len(x) else 0.0
    ct.simt.syncthreads()
    if i < len(x):
        o[i] = s[t] * s[t + 1] + s[t + 2]


@ct.kernel
def in_blocks(x, o):
    b, t = ct.simt.blockIdx.x, ct.simt.threadIdx.x
    total = 0.0
    for k in range(4):
        j = b * 32 + k * 8 + t
        if j < len(x):
            total += x[j] * x[j]
    o[b * 8 + t] = total


@ct.kernel
def windows(x, o):
    i, j = ct.simt.grid(2)
    if i < o.shape[0] and j < o.shape[1]:
        total = 0.0
        for a in range(3):
            for b in range(2):
                total += x[i + a, j + b] ** 2
        o[i, j] = total


AFFINE = {
    "a window at the edges": (edges[4, 8], (np.linspace(-1, 1, 29), np.zeros(29))),
    "shared memory with a halo": (halo[4, 8], (np.linspace(-1, 1, 29), np.zeros(29))),
    "blocks of threads and trips": (in_blocks[3, 8], (np.linspace(-1, 1, 90), np.zeros(24))),
    "windows of a matrix": (windows[(2, 2), (4, 4)], (np.arange(72.0).reshape(9, 8), np.zeros((7, 7)))),
}


@pytest.mark.parametrize("name", AFFINE)
def test_guarded_indices_of_several_coordinates_need_no_index_array(name):
    launch, args = AFFINE[name]
    for term in (launch, ct.grad(launch >> ct.sum())):
        wiring = ct.wire(term, ct.space_of(args))
        for box in wiring.boxes:
            assert type(box.primitive).__name__ not in ("Gathered", "ScatterAdded", "FlatIndex", "LastWriter", "FoldByBin")
            for space in wiring.spaces(box.outs):  # coordinates, which are computed where they are read
                assert space.dtype.kind not in "iu" or space.size <= 1 or type(box.primitive).__name__ in ("Iota", "Reshaped")
    got = launch(*args)
    np.testing.assert_allclose(got, ct.testing.threads(launch, *args), rtol=1e-14)


def test_launches_of_equal_kernels_are_equal_terms():
    def made():
        @ct.kernel
        def twice(x, y):
            i = ct.simt.grid(1)
            if i < len(x):
                y[i] = 2.0 * x[i]

        return twice

    one, other = made(), made()
    assert one[2, 4] == other[2, 4] and one[2, 4] != one[4, 2] and hash(one[2, 4]) == hash(other[2, 4])
    assert one.forall(9, block=4) == one[3, 4]
    assert one[(2, 1), (4,)] == one[2, 4]


def test_a_launch_is_pickled_by_the_name_of_its_kernel():
    launch, args = CASES["blur"]
    again = pickle.loads(pickle.dumps(launch.returning("o", like="x")))
    assert again == launch.returning("o", like="x")
    np.testing.assert_array_equal(again(*args[:2]), launch(*args))


def test_returning_makes_the_output():
    launch, (x, w, o) = CASES["blur"]
    f = launch.returning("o", like="x")
    np.testing.assert_array_equal(f(x, w), launch(x, w, o))
    again = ct.fork(f, ct.exr) >> f
    np.testing.assert_array_equal(again(x, w), launch(launch(x, w, o), w, o))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtypes_are_kept(dtype):
    launch, args = CASES["blur"]
    out = launch(*[np.asarray(a, dtype=dtype) for a in args])
    assert out.dtype == dtype


@ct.kernel
def at_short_indices(p, x, o, h):
    i = ct.simt.grid(1)
    if i < len(p):
        o[p[i], 2] = x[p[i], 1] * 2.0
        ct.simt.atomic.add(h, (p[i], 1), x[1, p[i]])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint32, np.int64])
@pytest.mark.parametrize("n", [100, 300])
def test_short_integers_are_indices_of_large_arrays(dtype, n):
    """Their positions in an array of many entries do not wrap around."""
    args = (np.array([1, 5, 40, 3], dtype=dtype), drawn(50, n), np.zeros((50, n)), np.zeros((50, n)))
    launch = at_short_indices[2, 3]
    for ours, theirs in zip(launch(*args), ct.testing.threads(launch, *args), strict=True):
        np.testing.assert_array_equal(ours, theirs)

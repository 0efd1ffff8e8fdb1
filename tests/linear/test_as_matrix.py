"""Linear maps as matrices: coefficients with axes that neither argument nor result has, which are summed over."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

import catad as ct
from catad.category.spaces import Tensor
from catad.linear.families.clear import ClearWhere
from catad.linear.families.delta import delta
from catad.linear.matrix.as_matrix import _written_out
from catad.support.lru import forget
from catad.testing import check_linear_map

F32 = np.dtype(np.float32)


@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize(
    ("out", "ins", "slot"),
    [((0,), (0,), (1,)), ((0,), (0,), (1, 0)), ((0,), (1,), (0, 2, 1)), ((), (0,), (1,)), ((0, 0), (0,), (1,))],
)
def test_axes_of_the_coefficients_alone_are_summed_over(out: tuple, ins: tuple, slot: tuple, n: int) -> None:
    sizes = [n if label not in (*out, *ins) else 2 for label in range(1 + max(*out, *ins, *slot))]
    structure = delta(out, ins, slot, sizes, F32, F32, F32)
    shape = [sizes[label] for label in slot]
    values = np.arange(1, 1 + np.prod(shape), dtype=F32).reshape(shape)
    linear = ct.LinearMap(structure.dom[0], structure.cod[0], structure, [values])
    check_linear_map(linear, exact=True)
    if len(set(out)) == len(out):
        x = np.arange(1.0, 3.0, dtype=F32)
        assert np.array_equal(linear(x), np.einsum(values, slot, x, ins, out))


@pytest.mark.parametrize("shape", [(3,), (2, 4)])
def test_a_map_is_written_out_by_one_program(shape: tuple[int, ...]) -> None:
    """The program is kept with the structure: other numbers, the same program; arrays are new at each call."""
    forget()  # all results kept have one bound, which may be reached at any time
    size = int(np.prod(shape))
    f = ct.reshape((size,)) >> ct.scan(lambda a, b: a * b, 1.0) >> ct.fork(ct.id, ct.flip(0)) >> ct.add >> ct.reshape(shape)
    for k in range(3):
        x = np.random.default_rng(k).standard_normal(shape)
        L = ct.linearize(f, x)[1]
        first, second = L.todense(), L.todense()
        assert first.shape == (*shape, *shape) and np.array_equal(first, second)
        columns = [L(np.eye(size)[j].reshape(shape)).reshape(-1) for j in range(size)]
        assert np.allclose(first.reshape(size, size), np.array(columns).T, rtol=1e-13, atol=1e-15)
        first[...] = 7.0
        assert np.array_equal(L.todense(), second)
    assert _written_out.cache_info().misses == 1


def test_the_entries_of_large_single_maps_are_numbered_in_doubles() -> None:
    """A float32 counts to 2**24 only: beyond that, entries of a map by a mask would have their neighbours' places."""
    mask = np.zeros((1 << 24) + 2, bool)
    mask[-3:] = True
    kept = ClearWhere(mask.shape, Tensor(mask.shape, np.dtype(np.float32)))
    with ct.use_engine("cpu"):
        found = kept.entries(np, [mask])
    assert np.array_equal(found.rows, np.flatnonzero(mask)) and np.array_equal(found.columns, found.rows)


@pytest.mark.parametrize("array", [np.eye(3), np.float64(2.0), sparse.eye_array(3)], ids=["array", "number", "sparse"])
def test_a_map_and_an_array_have_no_sum(array: Any) -> None:
    L = ct.scale(np.array([1.0, 2.0, 3.0]))
    sums = (lambda: L + array, lambda: array + L, lambda: L - array, lambda: array - L)
    for made in sums:
        with pytest.raises(ct.SpaceError, match="a linear map cannot be added to an array"):
            made()


def test_a_map_has_no_index_and_is_no_list() -> None:
    L: Any = ct.scale(np.array([1.0, 2.0]))
    for key in (0, (0, 0), slice(None)):
        with pytest.raises(ct.SpaceError, match="a linear map has no index"):
            L[key]
    with pytest.raises(TypeError, match="not iterable"):
        list(L)
    assert np.array([L, L]).shape == (2, 2, 2) and not np.iterable(L)

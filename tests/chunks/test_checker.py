"""`ct.testing.in_chunks` and `ct.testing.check_chunks`: what they take, and that the check can fail."""

from __future__ import annotations

import numpy as np
import pytest

import catad as ct
from catad.testing import check_chunks, in_chunks

X = np.arange(5.0)


@pytest.mark.parametrize(
    ("chunks", "parts"),
    [
        ((), ((5,), (3,))),
        ((2,), ((2, 2, 1), (3,))),
        ((np.int64(7),), ((5,), (3,))),
        (([2, 0, 3], 1), ((2, 0, 3), (1, 1, 1))),
    ],
)
def test_sizes_of_chunks(chunks, parts):
    array = np.arange(15).reshape(5, 3)
    found = in_chunks(array, *chunks)
    assert found.parts == parts
    np.testing.assert_array_equal(found.numpy(), array)


@pytest.mark.parametrize("chunks", [(0,), (-1,), ([2, 2],), ([6, -1],), ([],), (2.5,), (None,), ("2",), (2, 2)])
def test_sizes_that_do_not_fit(chunks):
    with pytest.raises(ct.ArgumentError, match="the chunks do not fit the array"):
        in_chunks(X, *chunks)


def test_what_is_no_array():
    for thing in ([1.0, 2.0], 3.0, None, in_chunks(X, 2)):
        with pytest.raises(ct.SpaceError):
            in_chunks(thing, 1)


def test_arrays_in_trees_are_cut():
    seen = []

    def cut(array):
        seen.append(array.shape)
        return in_chunks(array, 2)

    f = ct.function(lambda d: {"product": np.cumsum(d["a"] * d["b"][0]), "count": d["count"]})
    check_chunks(f, {"a": X, "b": (X + 1,), "count": np.arange(3)}, cut=cut)
    assert seen[:3] == [(5,), (5,), (3,)]


def test_other_results_are_named():
    with pytest.raises(ct.LawError, match="on arrays in chunks the value is another"):
        check_chunks(ct.sin, X, cut=lambda array: in_chunks(array[::-1], 2))
    with pytest.raises(ct.ArgumentError, match="a seed"):
        check_chunks(ct.sin, X, seed=-1)

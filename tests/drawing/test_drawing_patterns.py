"""Sparsity patterns: against the dense matrix where that is small, by their shape where it is large."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

import catad as ct
from catad.drawing.pattern import CELLS, cells_of, pattern
from catad.drawing.sparsity import mask, samples

SVG = "{http://www.w3.org/2000/svg}"
rng = np.random.default_rng(7)


def values(*shape: int) -> np.ndarray:
    return rng.uniform(1.0, 2.0, shape)


MAPS = {
    "zero": ct.linear.zero(ct.f64[4], ct.f64[3]),
    "diagonal": ct.scale(values(4, 3)),
    "dense": ct.linear.dense(values(4, 6)),
    "outer": ct.linear.outer(values(4), values(3)),
    "matmul": ct.jacobian(ct.matmul)((values(3, 4), values(4, 2))),
    "row": ct.jacobian(ct.square >> ct.sum(axis=1))(values(3, 4)),
    "transpose": ct.jacobian(ct.transpose((1, 0)))(values(3, 4)),
    "reshape": ct.jacobian(ct.reshape((4, 3)))(values(3, 4)),
    "flip": ct.jacobian(ct.flip(0))(values(5, 2)),
    "slice": ct.jacobian(ct.slice(1, 8, 3))(values(9)),
    "overwritten": ct.jacobian(ct.at[1:, ::2].set)(values(3, 5), values(2, 3)),
    "gather": ct.linear.gather(np.array([2, 0, 7, -1, 2]), ct.f64[5, 2]),
    "scatter": ct.linear.scatter_add(np.array([2, 0, 7, 2]), ct.f64[5]),
    "recurrence": ct.linear.recurrence(values(5)),
    "recurrence, carried, reversed": ct.linear.recurrence(values(4, 3), reverse=True),
    "cross": ct.linear.cross(ct.scale(values(3)), ct.linear.dense(values(2, 4)), ct.linear.cumulative_sum(ct.f64[3])),
    "sum": ct.scale(values(4)) + ct.linear.cumulative_sum(ct.f64[4]),
    "chain": ct.linear.gather(np.array([2, 0]), ct.f64[4]) @ ct.linear.recurrence(values(4)),
}


@pytest.mark.parametrize("name", MAPS)
def test_the_pattern_is_that_of_the_dense_matrix(name: str) -> None:
    linear = MAPS[name]
    rows, columns = linear.shape
    dense = np.asarray(linear.todense()).reshape(rows, columns) != 0
    assert np.array_equal(cells_of(linear.structure, linear.slots, cells=10**6), dense)
    transposed = cells_of(linear.T.structure, linear.slots, cells=10**6)
    assert np.array_equal(transposed, dense.T)


@pytest.mark.parametrize("name", MAPS)
def test_samples_are_entries(name: str) -> None:
    linear = MAPS[name]
    i, j = samples(linear.structure, linear.slots, 1000)
    assert np.diag(mask(linear.structure, linear.slots)(i, j)).all()
    if name in ("diagonal", "dense", "matmul", "gather", "scatter", "reshape", "flip", "transpose"):
        dense = np.asarray(linear.todense()).reshape(linear.shape) != 0
        assert len(set(zip(i.tolist(), j.tolist(), strict=True))) == dense.sum()


def test_without_its_indices_a_gather_may_read_anything_along_its_axis() -> None:
    structure = MAPS["gather"].structure
    assert np.array_equal(cells_of(structure), np.kron(np.ones((5, 5), bool), np.eye(2, dtype=bool)))


def test_tuples_of_states_are_coupled_where_the_links_are() -> None:
    affine = ct.scan(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (1.0, 0.0))
    linear = ct.jacobian(affine)((values(4), values(4)))
    dense = np.asarray(linear.todense()).reshape(linear.shape) != 0
    found = cells_of(linear.structure, linear.slots)
    assert (found >= dense).all()
    assert not found[:4, 4:].any()  # the first component does not depend on the second


@pytest.mark.parametrize("size", [1_000, 10**6])
def test_large_maps_are_sampled(size: int) -> None:
    found = cells_of(ct.linear.identity(ct.f64[size]).structure)
    assert np.array_equal(found, np.eye(CELLS, dtype=bool))
    triangle = cells_of(ct.linear.cumulative_sum(ct.f64[size]).structure)
    assert np.array_equal(triangle, np.tri(CELLS, dtype=bool))


def test_a_large_permutation_is_seen_and_does_not_look_dense() -> None:
    index = rng.permutation(100_000)
    linear = ct.linear.gather(index, ct.f64[100_000])
    found = cells_of(linear.structure, linear.slots)
    assert CELLS < found.sum() < found.size / 4


def test_a_thumbnail_is_xml_of_the_size_asked_for() -> None:
    for linear in MAPS.values():
        root = ElementTree.fromstring(pattern(linear, size=64))
        assert max(int(root.get("width")), int(root.get("height"))) == 64
        assert min(int(root.get("width")), int(root.get("height"))) >= 8
        wide, high = (int(v) for v in root.get("viewBox").split()[2:])
        area = 0
        for rect in root.find(SVG + "g"):
            x, y, w, h = (int(rect.get(k)) for k in ("x", "y", "width", "height"))
            assert min(x, y) >= 0 and x + w <= wide and y + h <= high
            area += w * h
        assert area == cells_of(linear.structure, linear.slots).sum()
        assert pattern(linear, size=64) == pattern(linear, size=64)


def test_notebooks_show_the_pattern_with_the_repr_below() -> None:
    linear = MAPS["chain"]
    root = ElementTree.fromstring(linear._repr_svg_())
    assert root.find(SVG + "text").text == repr(linear)
    assert root.find(SVG + "title").text == f"{linear.kind}, 2 x 4"


def test_an_empty_map_has_a_picture() -> None:
    ElementTree.fromstring(pattern(ct.linear.zero(ct.f64[0], ct.f64[3])))

"""`stencil` against plain loops, its derivatives, and the bands that its Jacobian is made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import catad as ct
from catad.linear.families.block import Chain, Sum
from catad.linear.families.delta import Delta
from catad.linear.families.reindex import Reindex
from catad.testing import check_grads, check_laws

from .explicit import check_derivatives

BOUNDARIES = ("zero", "wrap", "reflect")


def at(x: Any, index: tuple[int, ...], boundary: str) -> float:
    """One entry of an array extended beyond its ends, by the words of the definition."""
    place = []
    for i, n in zip(index, x.shape, strict=True):
        if boundary == "zero" and not 0 <= i < n:
            return 0.0
        if boundary == "wrap":
            i %= n
        if boundary == "reflect":
            i = -i if i < 0 else 2 * (n - 1) - i if i >= n else i
        place.append(i)
    return float(x[tuple(place)])


def loop(fn: Any, x: Any, offsets: list[tuple[int, ...]], boundary: str) -> Any:
    """A stencil over all axes by a loop on plain numbers."""
    out = np.zeros(x.shape)
    for i in np.ndindex(x.shape):
        out[i] = fn(*[at(x, tuple(a + b for a, b in zip(i, o, strict=True)), boundary) for o in offsets])
    return out


def one(a: float) -> float:
    return a * a - a


def two(a: float, b: float) -> float:
    return a * b * b


def three(a: float, b: float, c: float) -> float:
    return a - 2.0 * b * c if b > a else c * c


def four(a: float, b: float, c: float, d: float) -> float:
    return a * b - c * d


FUNCTIONS = [one, two, three, four]


@given(st.data(), st.sampled_from(BOUNDARIES))
def test_along_one_axis_against_a_loop(data: st.DataObject, boundary: str) -> None:
    n = data.draw(st.integers(0, 7))
    most = max(n - 1, 0) if boundary == "reflect" else 9
    offsets = data.draw(st.lists(st.integers(-most, most), min_size=1, max_size=4))
    fn = FUNCTIONS[len(offsets) - 1]
    x = np.random.default_rng(n).integers(-5, 6, n).astype(float)
    f = ct.stencil(fn, offsets, boundary=boundary)
    assert np.array_equal(f(x), loop(fn, x, [(o,) for o in offsets], boundary)), (f, x)


@given(st.data(), st.sampled_from(BOUNDARIES))
def test_along_two_axes_against_a_loop(data: st.DataObject, boundary: str) -> None:
    shape = data.draw(st.tuples(st.integers(0, 4), st.integers(0, 4)))
    most = [max(n - 1, 0) if boundary == "reflect" else 5 for n in shape]
    offset = st.tuples(*[st.integers(-m, m) for m in most])
    offsets = data.draw(st.lists(offset, min_size=1, max_size=4))
    fn = FUNCTIONS[len(offsets) - 1]
    x = np.random.default_rng(sum(shape)).integers(-5, 6, shape).astype(float)
    f = ct.stencil(fn, offsets, boundary=boundary)
    assert np.array_equal(f(x), loop(fn, x, offsets, boundary)), (f, x)


@pytest.mark.parametrize(("boundary", "mode"), [("zero", "constant"), ("wrap", "wrap"), ("reflect", "reflect")])
def test_boundaries_are_those_of_pad(boundary: str, mode: Any) -> None:
    x = np.arange(1.0, 6.0)
    padded = np.pad(x, 4, mode=mode)
    for o in range(-4, 5):
        shift = ct.stencil(lambda a: a, (o,), boundary=boundary)
        assert np.array_equal(shift(x), padded[4 + o : 9 + o])


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_other_axes_are_carried_along(boundary: str) -> None:
    x = np.random.default_rng(0).standard_normal((3, 4, 5))
    for axis in (0, 1, 2, -1, -2):
        got = ct.stencil(three, (-1, 0, 2), boundary=boundary, axis=axis)(x)
        columns, results = np.moveaxis(x, axis, -1), np.moveaxis(got, axis, -1)
        for i in np.ndindex(columns.shape[:-1]):
            assert np.array_equal(results[i], loop(three, columns[i], [(-1,), (0,), (2,)], boundary))
    offsets = [(0, 1), (1, -1)]
    got = ct.stencil(two, offsets, boundary=boundary, axis=-2)(x)
    for i in range(3):
        assert np.array_equal(got[i], loop(two, x[i], offsets, boundary))
    got = ct.stencil(two, offsets, boundary=boundary)(x)
    for k in range(5):
        assert np.array_equal(got[..., k], loop(two, x[..., k], offsets, boundary))


@pytest.mark.quick(6)
@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("offsets", [(0,), (-1,), (-1, 2), (1, 1), (-2, 0, 1), (0, -1, 1, 3)])
def test_derivatives(boundary: str, offsets: tuple[int, ...]) -> None:
    smooth = [
        lambda a: a * a * a,
        lambda a, b: np.sin(a) * b,
        lambda a, b, c: a * b * c + 2.0 * a,
        lambda a, b, c, d: a * b - np.exp(c * d),
    ]
    f = ct.stencil(smooth[len(offsets) - 1], offsets, boundary=boundary)
    x = np.random.default_rng(len(offsets)).uniform(0.5, 1.5, 5)
    check_derivatives(f, x)
    check_grads(f, x, order=3)


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_derivatives_along_two_axes(boundary: str) -> None:
    f = ct.stencil(lambda a, b: np.sin(a) * b, [(-1, 0), (1, -2)], boundary=boundary)
    check_derivatives(f, np.random.default_rng(5).uniform(0.5, 1.5, (3, 4)))


def test_derivatives_of_four_neighbours() -> None:
    f = ct.stencil(lambda a, b, c, d: a * b + np.sin(c * d), [(-1, 0), (0, 0), (1, 1), (0, -2)])
    check_derivatives(f, np.random.default_rng(5).uniform(0.5, 1.5, (3, 4)))


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_derivatives_of_one_after_another(boundary: str) -> None:
    f = ct.stencil(lambda a, b: np.sin(a) * b, (-1, 1), boundary=boundary)
    check_derivatives(f >> f, np.random.default_rng(6).uniform(0.5, 1.5, 5), order=1)


# -- the Jacobian is banded


def bands(structure: Any) -> list[Any]:
    """The parts of a sum of shifted diagonals: a move, a diagonal, or one after the other."""
    parts = structure.parts if isinstance(structure, Sum) else ((structure, ()),)
    out = []
    for part, _ in parts:
        inner = [p for p, _ in part.parts] if isinstance(part, Chain) else [part]
        assert all(isinstance(p, Reindex) or (isinstance(p, Delta) and p.is_diagonal) for p in inner), part
        assert sum(isinstance(p, Reindex) for p in inner) <= 1
        out.append(inner)
    return out


def factors(structure: Any) -> list[Any]:
    """The maps that sums and chains are made of, however deep."""
    if not isinstance(structure, (Sum, Chain)):
        return [structure]
    return [inner for part, _ in structure.parts for inner in factors(part)]


@pytest.mark.parametrize("mode", ["auto", "forward", "reverse"])
def test_the_jacobian_is_a_sum_of_shifted_diagonals(mode: str) -> None:
    n, offsets = 40, (-3, 0, 1)
    f = ct.stencil(lambda a, b, c: (a + 1.0) * (b + 1.0) * (c + 1.0), offsets)
    x = np.random.default_rng(6).uniform(0.5, 1.5, n)
    J = ct.jacobian(f, mode)(x)
    assert len(bands(J.structure)) == len(offsets) and J.stored == len(offsets) * n
    want = np.zeros((n, n))
    for i in range(n):
        values = [1.0 + at(x, (i + o,), "zero") for o in offsets]
        for k, o in enumerate(offsets):
            if 0 <= i + o < n:
                want[i, i + o] += np.prod(values[:k] + values[k + 1 :])
    assert np.allclose(J.todense(), want, rtol=1e-14)
    matrix = J.tocsr()
    assert matrix.nnz == n * len(offsets) - 3 - 1 and np.allclose(matrix.toarray(), want, rtol=1e-14)


@pytest.mark.parametrize("boundary", ["wrap", "reflect"])
def test_the_jacobian_with_other_boundaries(boundary: str) -> None:
    n, offsets = 40, (-3, 0, 1)
    f = ct.stencil(lambda a, b, c: a * b * c, offsets, boundary=boundary)
    x = np.random.default_rng(7).uniform(0.5, 1.5, n)
    J = ct.jacobian(f)(x)
    assert len(bands(J.structure)) == 5 and J.stored == 3 * n  # in the middle and beyond an end; offset 0 has no end
    assert J.tocsr().nnz <= 3 * n and np.array_equal(J.tocsr().toarray(), J.todense())


def test_the_hessian_is_banded() -> None:
    """Of a sum over triples of neighbours: nothing beyond the widest distance, and that many diagonals."""
    n = 30
    f = ct.stencil(lambda a, b, c: a * b * c, (-1, 0, 1)) >> ct.sum()
    x = np.random.default_rng(8).uniform(0.5, 1.5, n)
    H = ct.hessian(f)(x)
    i, j = np.nonzero(H.todense())
    assert np.abs(i - j).max() == 2
    assert all(isinstance(p, Reindex) or (isinstance(p, Delta) and p.is_diagonal) for p in factors(H.structure))
    assert H.tocsr().nnz <= 5 * n and H.stored <= 6 * n


def test_a_large_jacobian_stays_structured() -> None:
    n = 300_000
    x = np.linspace(0.5, 1.5, n)
    J = ct.jacobian(ct.stencil(lambda a, b: (a + 1.0) * (b + 1.0), (0, 1)))(x)
    assert J.stored == 2 * n and J.tocsr().nnz == 2 * n - 1
    assert np.array_equal(J(np.ones(n))[:-1], (x[1:] + 1.0) + (x[:-1] + 1.0))


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_a_convolution_stores_nothing(boundary: str) -> None:
    weights = (1.0, -2.5, 1.0)
    f = ct.stencil(lambda a, b, c: 1.0 * a - 2.5 * b + c, (-1, 0, 1), boundary=boundary)
    x = np.random.default_rng(9).standard_normal(20)
    y, L = ct.linearize(f, x)
    J = ct.jacobian(f)(x)
    assert L.stored == 0 and J.stored == 0 and J.tocsr().nnz <= 60
    bands(J.structure)
    assert np.allclose(L(x), y, rtol=1e-14) and np.allclose(J(x), y, rtol=1e-14)
    if boundary == "zero":
        assert np.allclose(y, np.convolve(x, weights[::-1], mode="same"), rtol=1e-13)
    assert np.array_equal(ct.hessian(f >> ct.sum())(x).todense(), np.zeros((20, 20)))


# -- at the edges


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_empty_and_single(boundary: str) -> None:
    f = ct.stencil(two, (0, 1), boundary=boundary)
    for shape in ((0,), (0, 3)):
        empty = np.zeros(shape)
        assert f(empty).shape == shape
        assert ct.vjp(f, empty)[1](empty)[0].shape == shape
        assert ct.jacobian(f)(empty).todense().shape == (*shape, *shape)
    x = np.array([3.0])
    if boundary == "reflect":
        with pytest.raises(ct.SpaceError, match="reaches beyond the reflection"):
            f(x)
        f = ct.stencil(two, (0, 0), boundary=boundary)
        assert np.array_equal(f(x), [27.0])
    else:
        assert np.array_equal(f(x), [27.0 if boundary == "wrap" else 0.0])
    assert np.array_equal(ct.grad(f >> ct.sum())(x), [0.0 if boundary == "zero" else 27.0])


def test_entries_beyond_the_boundary_do_no_harm() -> None:
    """What lies far outside is 0 at every offset, and an infinity inside reaches only its neighbours."""
    x = np.array([1.0, np.inf, 3.0, 4.0])
    assert np.array_equal(ct.stencil(lambda a, b: a + b, (0, 9))(x), x)
    f = ct.stencil(lambda a, b: a if a < 2.0 else b, (0, 1))
    assert np.array_equal(f(x), [1, 3, 4, 0])
    assert np.array_equal(ct.vjp(f, x)[1](np.ones(4))[0], [1, 0, 1, 1])


def test_dtypes() -> None:
    x = np.array([3, 1, 2], np.int32)
    assert ct.stencil(lambda a, b: a + b, (-1, 0))(x).dtype == np.int32
    assert np.array_equal(ct.stencil(lambda a, b: a > b, (-1, 0))(x), [False, True, False])
    y = x.astype(np.float32)
    for boundary in BOUNDARIES:
        f = ct.stencil(two, (-1, 1), boundary=boundary)
        assert f(y).dtype == ct.jvp(f, (y,), (y,))[1].dtype == ct.vjp(f, y)[1](y)[0].dtype == np.float32
        check_laws(f, y, order=1)


def test_several_results_and_one_function_of_the_vocabulary() -> None:
    x = np.array([1.0, 4.0, 9.0])
    p, q = ct.stencil(lambda a, b: (a * b, a - b), (0, 1), boundary="wrap")(x)
    assert np.array_equal(p, [4, 36, 9]) and np.array_equal(q, [-3, -5, 8])
    assert np.array_equal(ct.stencil(ct.maximum, (-1, 0))(x), [1, 4, 9])
    assert np.array_equal(ct.stencil(ct.add, np.array([0, 1]))(x), [5, 13, 9])


def test_terms_are_compared_by_what_they_do() -> None:
    f = ct.stencil(two, [0, 1])
    assert f == ct.stencil(two, (0, 1)) == ct.stencil(lambda p, q: p * q * q, np.array([0, 1]))
    others = [
        ((1, 0), {}),
        ((0, 1), {"boundary": "wrap"}),
        ((0, 1), {"axis": 1}),
        ([(0, 0), (1, 0)], {}),
        ([(0,), (1,)], {}),
    ]
    assert all(f != ct.stencil(two, o, **options) for o, options in others)


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_batching(boundary: str) -> None:
    x = np.random.default_rng(10).uniform(0.5, 1.5, (2, 3, 4))
    f = ct.stencil(two, (-1, 1), boundary=boundary)
    assert np.array_equal(ct.map(f)(x), ct.stencil(two, (-1, 1), boundary=boundary, axis=1)(x))
    assert np.array_equal(ct.map(ct.map(f))(x), ct.stencil(two, (-1, 1), boundary=boundary, axis=2)(x))
    check_derivatives(ct.map(f) >> ct.sin, x)


@pytest.mark.quick(1)
@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_laws(boundary: str) -> None:
    x = np.array([1.0, -2.0, 3.0, 2.0])
    check_laws(ct.stencil(lambda a, b, c: a * b - c, (-1, 0, 2), boundary=boundary), x, exact=True)
    check_laws(ct.stencil(two, [(0, 1), (-1, 0)], boundary=boundary), x.reshape(2, 2), exact=True)


def test_the_heat_equation() -> None:
    """Steps of a linear stencil: a mode of the ring decays by its eigenvalue, and so does its tangent."""
    n, steps, c = 16, 10, 0.2
    step = ct.stencil(lambda a, b, d: b + 0.2 * (a - 2.0 * b + d), (-1, 0, 1), boundary="wrap")
    f = ct.iterate(step, steps)
    wave = np.cos(2 * np.pi * 3 * np.arange(n) / n)
    factor = 1 - 2 * c * (1 - np.cos(2 * np.pi * 3 / n))
    assert np.allclose(f(wave), factor**steps * wave, rtol=0, atol=1e-14)
    assert np.allclose(ct.jvp(f, (0 * wave,), (wave,))[1], factor**steps * wave, rtol=0, atol=1e-14)
    assert np.allclose(ct.vjp(f, 0 * wave)[1](wave)[0], factor**steps * wave, rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: ct.stencil(two, ()), ct.ArgumentError, ["offsets are integers", "(-1, 0, 1)"]),
        (lambda: ct.stencil(two, 1), ct.ArgumentError, ["offsets are integers", "given:    1"]),
        (lambda: ct.stencil(two, (0, 1.0)), ct.ArgumentError, ["(0, 1.0)"]),
        (lambda: ct.stencil(two, (0, True)), ct.ArgumentError, ["(0, True)"]),
        (lambda: ct.stencil(two, [(0, 1), (1,)]), ct.ArgumentError, ["tuples of integers of one length"]),
        (lambda: ct.stencil(two, [0, (1,)]), ct.ArgumentError, ["[0, (1,)]"]),
        (lambda: ct.stencil(two, [(), ()]), ct.ArgumentError, ["at least one"]),
        (lambda: ct.stencil(two, "01"), ct.ArgumentError, ["'01'"]),
        (lambda: ct.stencil(two, (0, 1), boundary="mirror"), ct.ArgumentError, ["'mirror'", "zero", "wrap", "reflect"]),
        (lambda: ct.stencil(two, (0, 1), axis=None), ct.ArgumentError, ["an axis is one integer"]),
        (lambda: ct.stencil(two, (0, 1, 2)), ct.SpaceError, ["takes 2 parameters", "3 offsets"]),
        (lambda: ct.stencil(two, (0, 1))(np.ones(3), np.ones(3)), ct.SpaceError, ["one array is expected"]),
        (lambda: ct.stencil(two, (0, 1))(2.0), ct.SpaceError, ["no such axis: 0"]),
        (lambda: ct.stencil(two, (0, 1), axis=1)(np.ones(3)), ct.SpaceError, ["no such axis: 1"]),
        (lambda: ct.stencil(two, [(0, 1), (1, 0)])(np.ones(3)), ct.SpaceError, ["along 2 axes from axis 0 on", "ct.f64[3]"]),
        (lambda: ct.stencil(two, [(0, 1), (1, 0)], axis=1)(np.ones((3, 3))), ct.SpaceError, ["along 2 axes from axis 1 on"]),
        (
            lambda: ct.stencil(two, (0, -3), boundary="reflect")(np.ones(3)),
            ct.SpaceError,
            ["offset -3 reaches beyond the reflection along axis 0", "less than the size", 'boundary="wrap"'],
        ),
        (
            lambda: ct.stencil(two, [(0, 0), (0, 2)], boundary="reflect")(np.ones((3, 2))),
            ct.SpaceError,
            ["offset 2 reaches beyond the reflection along axis 1", "ct.f64[3, 2]"],
        ),
        (lambda: ct.stencil(lambda a: sum(a for _ in range(3)), (0,)), ct.ScalarError, ["test_stencil.py:"]),
    ],
)  # fmt: skip
def test_mistakes(call: Any, kind: type[Exception], words: list[str]) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert all(word in str(caught.value) for word in words), str(caught.value)

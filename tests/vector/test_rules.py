"""The rules of fold, scan, histogram and reduce_by_index, one by one: special cases, ties, zeros, inverses, bad input."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad import scalar
from catad.category import cache
from catad.category.spaces import Tensor
from catad.category.wiring import wire
from catad.vector.folds.monoid import check_laws, monoid_of

from . import operators as o

INF = math.inf
RNG = np.random.default_rng(11)


def sum_with_locals(a: Any, b: Any) -> Any:
    left, right = b, a
    return right + left


def product_with_branches(a: Any, b: Any) -> Any:
    t = b
    for _ in range(1):
        t = t * a
    return t


def least_with_locals(a: Any, b: Any) -> Any:
    if b < a:
        return b
    return a


SPELLINGS: dict[str, tuple[Any, ...]] = {
    "add": (operator.add, np.add, ct.add, lambda a, b: b + a, lambda a, b: a + b, sum_with_locals),
    "mul": (operator.mul, np.multiply, ct.mul, lambda a, b: b * a, lambda x, y: x * y, product_with_branches),
    "max": (
        np.maximum,
        max,
        ct.maximum,
        lambda a, b: max(a, b),
        lambda a, b: a if a >= b else b,
        lambda a, b: b if a < b else a,
    ),
    "min": (np.minimum, min, ct.minimum, lambda a, b: min(a, b), lambda a, b: b if b < a else a, least_with_locals),
}
NEUTRAL = {"add": 0.0, "mul": 1.0, "max": -INF, "min": INF}
NAMED = [(name, k) for name, ops in SPELLINGS.items() for k in range(len(ops))]


@pytest.mark.parametrize(("name", "k"), NAMED)
def test_operators_are_recognised_however_written(name: str, k: int) -> None:
    op, neutral = SPELLINGS[name][k], NEUTRAL[name]
    assert scalar.recognise(monoid_of(op, neutral).op) == name
    first = ct.fold(SPELLINGS[name][0], neutral)
    f, at = ct.fold(op, neutral), ct.f64[7]
    assert o.kinds(f, at) == o.kinds(first, at)
    x = RNG.uniform(0.5, 1.5, 7)
    assert f(x) == first(x) and np.array_equal(ct.grad(f)(x), ct.grad(first)(x))
    kind = {"add": "sum", "mul": "row", "max": "gather", "min": "gather"}[name]
    assert ct.linearize(f, x)[1].kind == kind


# -- fold


def test_a_sum_has_no_coefficients() -> None:
    x = RNG.standard_normal((4, 3))
    for axis in (0, 1):
        f = ct.fold(lambda a, b: a + b, 0.0, axis=axis)
        assert np.array_equal(f(x), x.sum(axis)) and ct.linearize(f, x)[1].stored == 0
        assert np.array_equal(ct.grad(f >> ct.sum())(x), np.ones_like(x))
        assert ct.jacobian(ct.grad(f >> ct.sum()))(x).structure.is_zero


def others(x: Any, *left_out: int) -> float:
    """The exact product of the others, rounded once."""
    return float(math.prod(Fraction(v) for k, v in enumerate(x) if k not in left_out))


@pytest.mark.parametrize(
    "x",
    [
        [2.0, 3.0, -4.0, 5.0],
        [2.0, 0.0, -4.0, 5.0],
        [0.0, 3.0, 0.0, 5.0],
        [0.0, 0.0, 0.0, 7.0, 11.0],
        [0.0],
        [-0.0, 2.0],
        [1e200, 1e200],  # the product overflows, its derivatives do not
        [1e-200, 1e-200, 3.0],
        [1e200, 1e-200, 2.0, 1e-100, 1e100],
        [5e-324, 1.0, 2.0],
    ],
)
def test_derivatives_of_a_product_are_products_of_the_others(x: list[float]) -> None:
    """To third order, at zeros and where the whole over- or underflows: not a case on how many zeros there are."""
    a, n = np.array(x), len(x)
    e = np.eye(n)
    on_tuples = ct.fork(ct.id) >> ct.fold(lambda a, b: (a[0] * b[0],), (1.0,)) >> ct.proj(0)
    for f in (ct.fold(lambda a, b: a * b, 1.0), on_tuples):
        gradient = ct.grad(f)
        np.testing.assert_allclose(gradient(a), [others(x, i) for i in range(n)], rtol=1e-14)
        hessian = ct.jacobian(gradient)(a).todense()
        want = [[0.0 if i == j else others(x, i, j) for j in range(n)] for i in range(n)]
        np.testing.assert_allclose(hessian, want, rtol=1e-14)
        second = ct.differential(gradient)
        for i, j in combinations(range(n), 2):
            third = ct.differential(second)((a, e[i]), (e[j], 0 * e[i]))
            np.testing.assert_allclose(third, [0.0 if k in (i, j) else others(x, i, j, k) for k in range(n)], rtol=1e-14)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_product_along_an_axis(axis: int) -> None:
    x = RNG.integers(-1, 3, (3, 4, 2)).astype(float)
    f = ct.fold(lambda a, b: a * b, 1.0, axis=axis)
    gradient = ct.grad(f >> ct.sum())(x)
    for at in np.ndindex(*x.shape):
        column = x[tuple(slice(None) if k == axis else i for k, i in enumerate(at))]
        assert gradient[at] == others(column, at[axis])
    o.agree_twice(f, x)


@pytest.mark.parametrize(("name", "k"), [(name, k) for name, k in NAMED if name in ("max", "min")])
def test_of_ties_the_least_index_wins(name: str, k: int) -> None:
    f = ct.fold(SPELLINGS[name][k], NEUTRAL[name])
    pick = np.argmax if name == "max" else np.argmin
    for x in product([0.0, 1.0, -2.0], repeat=4):
        a = np.array(x)
        assert np.array_equal(ct.grad(f)(a), np.eye(4)[pick(a)])
    rows = RNG.integers(0, 3, (5, 6)).astype(float)
    g = ct.fold(SPELLINGS[name][k], NEUTRAL[name], axis=1)
    assert np.array_equal(ct.grad(g >> ct.sum())(rows), np.eye(6)[pick(rows, axis=1)])
    assert ct.linearize(g, rows)[1].stored == 5


# -- special rules against the generic ones, where ties, zeros, empty bins and indices out of range are


class Unrecognising:
    """The scalar language for one module, which knows no operator; engines go on with the language itself."""

    recognise = staticmethod(lambda function: None)

    def __getattr__(self, name: str) -> Any:
        return getattr(ct.scalar, name)


@pytest.fixture
def unrecognised(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """Calling it makes every operator a stranger."""

    def forget() -> None:
        cache.forget()
        for module in ("folds.fold", "scans.scan", "bins.histogram", "bins.fold_by_bin", "folds.monoid"):
            monkeypatch.setattr(f"catad.vector.{module}.scalar", Unrecognising())

    yield forget
    cache.forget()


BINNED = [
    (np.array([0, 2, 2, 0, 9, -1, 2, 2]), 4),
    (np.array([0, 0, 0, 0, 0, 0, 0, 0]), 1),
    (np.array([5, -3, 7, 8, 9, -1, 100, -2]), 3),  # nothing arrives
    (np.array([3, 1, 2, 0, 4, 7, 6, 5]), 20),  # more bins than values
]
VALUES = [
    np.array([1.0, 2.0, 2.0, 1.0, 3.0, 0.0, 2.0, 1.0]),
    np.array([0.0, 0.0, -1.0, 2.0, 5.0, 1.0, 0.0, 4.0]),
    np.array([[1.0, 0.0], [1.0, 1.0], [2.0, 0.0], [0.0, 0.0], [1.0, 3.0], [1.0, 0.0], [2.0, 0.0], [0.0, 1.0]]),
]


def boxes(f: ct.D, at: ct.Space) -> list[str]:
    """The names of the boxes of a morphism and of its reverse derivative."""
    return [*[type(p).__name__ for p in o.primitives(wire(f, at))], *o.kinds(f, at)]


@pytest.mark.parametrize("name", NEUTRAL)
def test_special_and_generic_rules_agree(name: str, unrecognised: Callable[[], None]) -> None:
    """Values, and Jacobians with respect to dst and values, at ties and zeros."""

    def terms() -> list[tuple[ct.D, Any]]:
        op, out = SPELLINGS[name][4], []
        for (index, width), x in product(BINNED, VALUES):
            dst = np.resize(np.array([0.0, 2.0, 1.0]), (width, *x.shape[1:]))
            out.append((ct.histogram(op, NEUTRAL[name], width), (index, x)))
            out.append((ct.reduce_by_index(op, NEUTRAL[name]), (dst, index, x)))
        for x in VALUES:
            out += [(ct.fold(op, NEUTRAL[name]), x), (ct.scan(op, NEUTRAL[name], exclusive=True, reverse=True), x)]
        return out

    special = [(f(x), o.matrix(f, x)) for f, x in terms()]
    names = boxes(terms()[0][0], ct.i64[8] * ct.f64[8])
    unrecognised()
    assert names != boxes(terms()[0][0], ct.i64[8] * ct.f64[8]), "the generic rule was not taken"
    for (y, jacobian), (f, x) in zip(special, terms(), strict=True):
        assert np.array_equal(f(x), y), f
        assert np.array_equal(o.matrix(f, x), jacobian), (f, x)


def test_strange_spellings_of_maximum_agree_with_the_known_one() -> None:
    known, strange = SPELLINGS["max"][0], lambda a, b: a + (b - a) * (b > a)
    assert scalar.recognise(monoid_of(strange, -9.0).op) is None
    for (index, width), x in product(BINNED, VALUES):
        a, b = (ct.histogram(op, -9.0, width) for op in (known, strange))
        assert np.array_equal(o.matrix(a, (index, x)), o.matrix(b, (index, x)))
        dst = np.full((width, *x.shape[1:]), 2.0)
        a, b = (ct.reduce_by_index(op, -9.0) for op in (known, strange))
        jacobian = o.matrix(a, (dst, index, x))
        assert np.array_equal(jacobian, o.matrix(b, (dst, index, x)))
        assert np.array_equal(np.sum(jacobian != 0, axis=1), np.ones(dst.size))  # one winner each, dst first
        wins = np.diagonal(jacobian) == 1
        assert np.array_equal(wins, a(dst, index, x).reshape(-1) == 2.0)


# -- histogram and reduce_by_index


@pytest.mark.parametrize("name", ["*", "max", "affine", "string", "matrix"])
def test_dst_is_the_left_operand_and_order_is_kept(name: str) -> None:
    op = o.operator([name])
    index = np.array([2, 0, 2, 5, 2, -1, 0])
    dst, x = o.small(RNG, op, (3,)), o.small(RNG, op, (7,))
    want = o.item(dst, 2)
    for i in (0, 2, 4):
        want = op.function(want, o.item(x, i))
    got = ct.reduce_by_index(*op.pair)(dst, index, x)
    assert o.item(got, 2) == want
    assert o.item(got, 1) == o.item(dst, 1)  # nothing arrives there


@pytest.mark.parametrize("name", ["+", "*", "max", "affine"])
def test_out_of_range_indices_get_zero_cotangents(name: str) -> None:
    op = o.operator([name])
    index = np.array([-1, -3, 3, 1, 99, 1, np.iinfo(np.int64).min, np.iinfo(np.int64).max])
    x, dst = o.spread(RNG, op, (8,)), o.spread(RNG, op, (3,))
    alone = ct.reduce_by_index(*op.pair)(dst, index[[3, 5]], o.nested(x, [leaf[[3, 5]] for leaf in o.leaves(x)]))
    f = ct.reduce_by_index(*op.pair)
    y, pullback = ct.vjp(f, dst, index, x)
    assert o.same(y, alone)
    ones = o.nested(y, [np.ones_like(leaf) for leaf in o.leaves(y)])
    _, none, dx = pullback(ones)
    assert none == ()
    for leaf in o.leaves(dx):
        assert not leaf[[0, 1, 2, 4, 6, 7]].any()
    assert o.leaves(dx)[-1][5] != 0 if name != "max" else True
    o.agree(f, (dst, index, x), lambda p: o.binned(op, p[0], p[1], p[2], 3))


@pytest.mark.parametrize("name", ["+", "*", "max", "affine", "argmax", "string"])
@pytest.mark.parametrize(("n", "width"), [(0, 3), (0, 0), (5, 0), (4, 1), (3, 30)])
def test_empty_inputs_and_empty_bins(name: str, n: int, width: int) -> None:
    op = o.operator([name])
    index, x, dst = np.arange(n) % 2, o.small(RNG, op, (n,)), o.small(RNG, op, (width,))
    histogram, onto = ct.histogram(*op.pair, width), ct.reduce_by_index(*op.pair)
    assert o.same(histogram(index, x), o.binned(op, None, index, x, width))
    assert o.same(onto(dst, index, x), o.binned(op, dst, index, x, width))
    if not all(op.integer) and n * width:
        x, dst = o.spread(RNG, op, (n,)), o.spread(RNG, op, (width,))
        o.agree(histogram, (index, x), lambda p: o.binned(op, None, p[0], p[1], width))
        o.agree(onto, (dst, index, x), lambda p: o.binned(op, p[0], p[1], p[2], width))


# -- declared inverses


def plus_and_count(a: Any, b: Any) -> Any:
    return a[0] + b[0], a[1] * b[1], a[2] * b[1] + a[1] * b[2]


def without(t: Any, x: Any) -> Any:
    p = t[1] / x[1]
    return t[0] - x[0], p, (t[2] - p * x[2]) / x[1]


INVERTIBLE: dict[str, tuple[Any, Any, Any]] = {
    "product": (lambda a, b: a * b, 1.0, lambda t, x: t / x),
    "or": (lambda a, b: a + b - a * b, 0.0, lambda t, x: (t - x) / (1 - x)),
    "complex": (
        lambda a, b: (a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]),
        (1.0, 0.0),
        lambda t, x: (
            (t[0] * x[0] + t[1] * x[1]) / (x[0] * x[0] + x[1] * x[1]),
            (t[1] * x[0] - t[0] * x[1]) / (x[0] * x[0] + x[1] * x[1]),
        ),
    ),
    "sum and dual product": (plus_and_count, (0.0, 1.0, 0.0), without),
    "log": (np.logaddexp, -INF, lambda t, x: t + np.log(-np.expm1(x - t))),
}


@pytest.mark.quick(4)
@pytest.mark.parametrize("name", INVERTIBLE)
@pytest.mark.parametrize(("shape", "axis"), [((5,), 0), ((2, 4), 1), ((4, 2), 0)])
def test_a_declared_inverse_saves_the_scans(name: str, shape: tuple[int, ...], axis: int) -> None:
    op, neutral, inverse = INVERTIBLE[name]
    x = o.nested(neutral, [RNG.uniform(0.2, 0.8, shape) for _ in o.leaves(neutral)])
    fast, slow = ct.fold(ct.monoid(op, neutral, inverse=inverse), axis=axis), ct.fold(op, neutral, axis=axis)
    names = o.kinds(fast, ct.space_of(x))
    assert not {"Scan", "Recurred"} & set(names)
    np.testing.assert_allclose(o.agree(fast, x), o.agree(slow, x), rtol=1e-9, atol=1e-9)
    if len(shape) > 1:  # what the axes are makes no difference to the second order
        return
    np.testing.assert_allclose(o.agree_twice(fast, x), o.agree_twice(slow, x), rtol=1e-7, atol=1e-7)
    index, dst = np.array([1, 0, 1, 0, 7]), o.nested(neutral, [leaf[:3] for leaf in o.leaves(x)])
    fast, slow = (ct.reduce_by_index(*pair) for pair in ((ct.monoid(op, neutral, inverse=inverse),), (op, neutral)))
    p = (dst, index, x)
    assert not {"Scan", "Recurred"} & set(o.kinds(fast, ct.space_of(p)))
    np.testing.assert_allclose(o.agree(fast, p), o.agree(slow, p), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(o.agree_twice(fast, p), o.agree_twice(slow, p), rtol=1e-7, atol=1e-7)


def test_what_is_dropped_is_not_divided_by() -> None:
    op, neutral, inverse = INVERTIBLE["product"]
    index, x = np.array([0, 5, 0]), np.array([2.0, 0.0, 3.0])
    f = ct.histogram(ct.monoid(op, neutral, inverse=inverse), bins=2)
    assert np.array_equal(ct.grad(f >> ct.sum(), argnums=1)(index, x), [3.0, 0.0, 2.0])


def test_scans_of_an_operator_with_an_inverse_are_scans() -> None:
    op, neutral, inverse = INVERTIBLE["product"]
    x = RNG.uniform(0.5, 1.5, 9)
    for how in ({}, {"reverse": True}, {"exclusive": True}):
        a, b = ct.scan(ct.monoid(op, neutral, inverse=inverse), **how), ct.scan(op, neutral, **how)
        np.testing.assert_array_equal(o.matrix(a, x), o.matrix(b, x))


# -- bad input


def raises(error: type[Exception], *parts: str) -> Any:
    return pytest.raises(error, match="(?s)" + ".*".join(parts))


def test_an_operator_that_is_not_associative_is_named_with_a_triple() -> None:
    x = np.array([1.0, 2.0, 4.0])
    mean = lambda a, b: 0.5 * (a + b) if a != 0 and b != 0 else a + b  # noqa: E731
    with raises(ct.MonoidError, "not associative", "a = ", "b = ", "c = ", r"op\(op\(a, b\), c\)"):
        ct.fold(mean, 0.0)(x)
    with raises(ct.MonoidError, "not associative", "a = "):
        ct.scan(mean, 0.0)(x)
    with raises(ct.MonoidError, "not associative"):
        ct.histogram(mean, 0.0, 2)(np.array([0, 1, 0]), x)
    with raises(ct.MonoidError, "not associative"):  # also where no two values meet
        ct.histogram(mean, 0.0, 3)(np.array([0, 1, 2]), x)
    with raises(ct.MonoidError, "not associative"):
        ct.grad(ct.fold(mean, 0.0))(x)
    with raises(ct.MonoidError, "not associative", "a = ", "b = ", "c = "):
        ct.monoid(mean, 0.0, domain=x)
    try:
        ct.monoid(mean, 0.0, domain=x)
    except ct.MonoidError as error:
        shown = {name: float(value) for name, value in _named(str(error))}
        left = mean(mean(shown["a"], shown["b"]), shown["c"])
        assert left != mean(shown["a"], mean(shown["b"], shown["c"])) and f"= {left}" in str(error)


def _named(text: str) -> list[tuple[str, str]]:
    return re.findall(r"\b([abc]) = ([-\d.e]+)", text)


@pytest.mark.parametrize(
    ("op", "neutral"), [(lambda a, b: a * b, 0.0), (lambda a, b: a + b, 1.0), (max, 0.0), (lambda a, b: a + b - a * b, 1.0)]
)
def test_a_wrong_neutral_element(op: Any, neutral: float) -> None:
    x = np.array([-1.0, 2.0, 3.0])
    for make in (
        lambda: ct.fold(op, neutral)(x),
        lambda: ct.scan(op, neutral)(x),
        lambda: ct.histogram(op, neutral, 2)(np.array([0, 1, 1]), x),
        lambda: ct.reduce_by_index(op, neutral)(np.ones(2), np.array([0, 1, 1]), x),
        lambda: ct.monoid(op, neutral, domain=x),
    ):
        with raises(ct.MonoidError, "neutral element is wrong", "expected"):
            make()


KNOWN = {
    "a sum": (lambda a, b: b + a, 0, ("float64", "float32", "int8", "uint64")),
    "a product": (lambda a, b: a * b, 1, ("float64", "int64")),
    "a maximum": (max, -INF, ("float64", "float32")),
    "a minimum": (min, INF, ("float64",)),
    "a maximum of integers": (max, -128, ("int8",)),
    "a minimum of naturals": (min, 255, ("uint8",)),
    "a sum of exponentials": (np.logaddexp, -INF, ("float64",)),
}


@pytest.mark.parametrize("name", KNOWN)
def test_operators_whose_numbers_are_not_looked_at_have_their_laws(name: str) -> None:
    op, neutral, dtypes = KNOWN[name]
    for dtype in map(np.dtype, dtypes):
        ends = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
        values = np.array([ends.min, ends.max, 0, 1, 2, 3, *RNG.integers(0, 100, 20)], dtype)
        own = monoid_of(op, neutral)
        assert own.is_lawful([dtype])
        check_laws(own, [values])
        boxes = wire(ct.fold(op, neutral), Tensor((3,), dtype)).boxes
        assert not any(box.primitive.checks((Tensor((3,), dtype),)) for box in boxes if box.ins)


@pytest.mark.parametrize(
    ("op", "neutral", "dtype"),
    [(max, 0, "float64"), (max, -127, "int8"), (min, 0, "uint8"), (lambda a, b: a + b - a * b, 0, "float64")],
)
def test_other_operators_are_looked_at_on_the_numbers_of_the_first_call(op: Any, neutral: float, dtype: str) -> None:
    own = np.dtype(dtype)
    assert not monoid_of(op, neutral).is_lawful([own])
    boxes = wire(ct.fold(op, neutral), Tensor((3,), own)).boxes
    assert any(box.primitive.checks((Tensor((3,), own),)) for box in boxes if box.ins)


def test_a_wrong_inverse_or_one_of_an_operator_that_does_not_commute() -> None:
    x = np.array([1.5, 2.0, 4.0])
    wrong = ct.monoid(lambda a, b: a * b, 1.0, inverse=lambda t, x: t - x)
    for make in (
        lambda: ct.fold(wrong)(x),
        lambda: ct.grad(ct.fold(wrong))(x),
        lambda: ct.histogram(wrong, bins=2)(np.array([0, 1, 1]), x),
        lambda: ct.monoid(lambda a, b: a * b, 1.0, inverse=lambda t, x: t - x, domain=x),
    ):
        with raises(ct.MonoidError, "declared inverse is not one", r"inverse\(", "expected"):
            make()
    affine = lambda f, g: (f[0] * g[0], f[1] * g[0] + g[1])  # noqa: E731
    undo = lambda t, g: (t[0] / g[0], (t[1] - g[1]) / g[0])  # noqa: E731
    with raises(ct.MonoidError, "commutes", "leave the inverse out"):
        ct.fold(ct.monoid(affine, (1.0, 0.0), inverse=undo))(x, x[::-1].copy())
    with raises(ct.MonoidError, "closed"):
        ct.monoid(affine, (1.0, 0.0), inverse=lambda t, g: t[0])


def test_bad_indices_free_numbers_and_domains() -> None:
    x = np.ones(3)
    for f, p in (
        (ct.histogram(ct.add, 0.0, 2), (x, x)),
        (ct.histogram(lambda a, b: a * b, 1.0, 2), (x, x)),
        (ct.reduce_by_index(ct.add, 0.0), (np.ones(2), x, x)),
        (ct.histogram(ct.add, 0.0, 2), (x > 0, x)),
    ):
        with raises(ct.SpaceError, "indices are integers"):
            f(*p)
    with raises(ct.SpaceError, "one index for each value"):
        ct.histogram(ct.add, 0.0, 2)(np.zeros(2, int), x)
    for bad in (-1, 2.0, True, None):
        with raises(ct.ArgumentError, "number of bins"):
            ct.histogram(ct.add, 0.0, bad)
    with raises(ct.SpaceError, "free number"):
        ct.fold(o.damped, 0.0, params=1)(x)
    with raises(ct.SpaceError, "same at every step"):
        ct.fold(o.damped, 0.0, params=1)(x, np.ones(3))
    with raises(ct.SpaceError, "same at every step"):
        ct.scan(o.damped, 0.0, params=1, axis=1)(np.ones((2, 3)), np.ones((2, 3)))
    with raises(ct.MonoidError, "already has its neutral element and its free numbers"):
        ct.fold(ct.monoid(o.damped, 0.0, params=1), 0.0)
    with raises(ct.MonoidError, "not be checked on a domain|cannot be checked"):
        ct.monoid(o.damped, 0.0, params=1, domain=x)
    with raises(ct.MonoidError, "closed"):
        ct.monoid(lambda a, b: a + b, 0.0, domain=(x, x))


def test_first_calls_are_checked_also_when_the_first_is_a_derivative() -> None:
    f = ct.fold(lambda a, b: a * b, 0.0)
    with raises(ct.MonoidError, "neutral"):
        ct.vjp(f, np.array([1.0, 2.0]))
    assert len(wire(f, ct.f64[2]).boxes) == 1


def test_the_fold_of_one_element_is_that_element() -> None:
    """Also with an inverse that is singular where nothing is left."""
    log_sum = ct.monoid(np.logaddexp, -np.inf, inverse=lambda t, x: t + np.log1p(-np.exp(x - t)))
    affine = ct.monoid(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (1.0, 0.0))
    for op, x in (
        (log_sum, np.array([0.5])),
        (log_sum, np.array([[0.5, -1.0]])),
        (ct.monoid(max, -np.inf), np.array([2.0])),
    ):
        f = ct.fold(op)
        assert np.array_equal(f(x), x[0])
        assert np.array_equal(ct.jacobian(f)(x).todense(force=True).reshape(x.size, x.size), np.eye(x.size))
        square = f >> ct.square >> ct.sum(axis=None)
        assert np.array_equal(ct.hessian(square)(x).todense(force=True).reshape(x.size, x.size), 2.0 * np.eye(x.size))
    a, b = np.array([2.0]), np.array([3.0])
    rows = ct.jacobian(ct.fold(affine))((a, b))
    assert np.array_equal(np.asarray(rows.todense(force=True)).reshape(2, 2), np.eye(2))

"""`check_laws`: the laws of the category, its products, derivatives, reverse derivatives and the tangent functor, for
one morphism.

A law is an equality of terms, checked by running both at a point. Where a law speaks of several morphisms, partners of
matching spaces are made from the one that is given: `before : A -> A` fixes the point, so that no domain is left, and
`after : B -> B` is a polynomial; both have first and second derivatives that are neither 0 nor 1. Terms are in
diagrammatic order, the point first: D[f] : A * T(A) -> T(B), R[f] : A * T(B) -> T(A), T[f] : A * T(A) -> B * T(B).
Sources: R. Blute, R. Cockett, R. Seely, Cartesian differential categories, 2009 (CD.1-7); R. Cockett et al., Reverse
derivative categories, 2020 (RD.1-7); R. Cockett, G. Cruttwell, Differential structure, tangent structure, and SDG, 2014
(T).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from catad import errors
from catad.category.cartesian import assoc_l, assoc_r, compose, cross, dup, exl, exr, fork, it, proj, swap
from catad.category.constant import const
from catad.category.spaces import Product, Space, Tensor, Value, flatten, rebuild, space_of
from catad.category.terms import D, identity, morphism
from catad.category.wiring import wire
from catad.derivative.functors import differential, reverse_differential, tangent
from catad.support.help import documented
from catad.testing.values import (
    ROUNDING,
    as_point,
    broken,
    direction,
    inner,
    norm,
    nothing,
    of_parts,
    require,
    stacked,
    unit_roundoff,
)
from catad.vector.pointwise.map import map as pointwise
from catad.vector.pointwise.operators import add

Check = Callable[[Any], None]


@dataclass(frozen=True)
class Law:
    """A law by name, the equation that it states, and how it is checked on a case.

    `order` is that of the highest derivative in it. `ct.testing.LAWS` has all of them; a law is not made by users.

    >>> import catad as ct
    >>> law = ct.testing.LAWS["adjointness"]
    >>> isinstance(law, ct.testing.Law), law.name, law.order
    (True, 'adjointness', 1)
    """

    name: str
    equation: str
    check: Check
    order: int = 1


class Laws(dict[str, Law]):
    """The laws of derivatives by their names, as `ct.testing.LAWS`."""


LAWS = documented(
    Laws(),
    """`ct.testing.LAWS` has the laws that `ct.testing.check_laws` checks, by their names: `only=` takes these names.

The values are of class `ct.testing.Law`. Looking up another name is a `KeyError`. Sources: R. Blute, R. Cockett and R. Seely,
Cartesian Differential Categories, 2009, for CD.1-7; R. Cockett and others, Reverse Derivative Categories, 2020, for RD.1-7.

>>> import catad as ct
>>> ct.testing.LAWS["adjointness"].equation
'<D[f](x, u), w> == <u, R[f](x, w)>'
""",
)


Register = Callable[..., Callable[[Check], Check]]


def into(laws: dict[str, Law]) -> Register:
    """A decorator that registers the check of a law, by its name and equation, with the order of the highest derivative in it."""

    def law(name: str, equation: str, order: int = 1) -> Callable[[Check], Check]:
        def register(check: Check) -> Check:
            assert name not in laws
            laws[name] = Law(name, equation, check, order)
            return check

        return register

    return law


law = into(LAWS)


class Case:
    """A morphism at a point, with the partners and directions that the laws need."""

    def __init__(self, f: D, primals: tuple[Value, ...], seed: int, exact: bool) -> None:
        self.f, self.exact = f, exact
        self.x, self.dom = as_point(primals)
        self.y = f(self.x)
        self.cod = space_of(self.y)
        self.rng = np.random.default_rng(seed)
        self.before = _leafwise(self.dom, [_bent(leaf) for leaf in flatten(self.x)])
        self.after = _leafwise(self.cod, [_CURVE if leaf.dtype.kind == "f" else identity for leaf in flatten(self.y)])
        self.g = f >> self.after
        self.law: Law | None = None

    def u(self) -> Value:
        """A tangent at the point."""
        return direction(self.rng, self.dom, self.exact)

    def w(self) -> Value:
        """A cotangent of the value."""
        return direction(self.rng, self.cod, self.exact)

    @property
    def no_u(self) -> D:
        """The constant zero tangent of the domain."""
        return const(nothing(self.dom))

    @property
    def no_w(self) -> D:
        """The constant zero tangent of the codomain."""
        return const(nothing(self.cod))

    @property
    def adds(self) -> bool:
        """True where results can be added."""
        return all(leaf.dtype.kind != "b" for leaf in self.cod.leaves)

    def equal(self, left: D, right: D, point: Value, wirings: bool = False) -> None:
        """The two sides agree at a point; with `wirings`, they also lay out as equally many boxes."""
        assert self.law is not None
        name, equation = self.law.name, self.law.equation
        got, expected = left(point), right(point)
        narrowest = unit_roundoff(self.x, self.y, point, got, expected)
        require(name, equation, self.f, point, got, expected, self.exact, tolerance=ROUNDING * narrowest)
        if wirings:
            dom = space_of(point)
            boxes = [len(wire(side, dom).boxes) for side in (left, right)]
            if boxes[0] != boxes[1]:
                raise broken(f"{name} (of wirings)", equation, self.f, point, f"{boxes[0]} boxes", f"{boxes[1]} boxes")


def check_laws(
    f: D, *primals: Value, exact: bool = False, order: int = 2, seed: int = 0, only: Iterable[str] | None = None
) -> None:
    """Check every law that can be said of one morphism, at a point.

    They are those of the category, of products, left additivity, CD.1-7, RD.1-7, adjointness, tangent functor, batching,
    that `jvp`, `vjp`, `linearize` and `jacobian` agree, and that D[f] is the derivative. With `exact`, both sides of every
    law agree bit for bit: for polynomial terms at points of small integers. Otherwise they agree within rounding of the
    largest number met. `order=1` leaves out the laws on second derivatives; `only` selects laws by name (the keys of
    `catad.testing.LAWS`). The laws alone hold for many a wrong derivative (of x * x, say, x dx), so one more compares with
    central differences, where they converge: entries with a kink are passed over. Raises `LawError`, `SpaceError`
    for a point that is no value and what is no morphism, and `ArgumentError` for a name that is none of a law.

    >>> import catad as ct
    >>> from catad.testing import check_laws
    >>> square = ct.D(lambda x: (x * x, ct.scale(2 * x)))
    >>> check_laws(square, 3.0)
    """
    only = None if only is None else list(only)
    unknown = [name for name in only or () if name not in LAWS]
    if unknown:
        raise errors.ArgumentError(errors.unknown_law("check_laws", unknown, LAWS))
    case = Case(*of_parts(morphism(f, "check_laws"), primals), seed, exact)
    chosen = (
        [LAWS[name] for name in only] if only is not None else [found for found in LAWS.values() if found.order <= order]
    )
    for found in chosen:
        case.law = found
        try:
            found.check(case)
        except errors.LawError:
            raise
        except Exception as error:  # a law whose two sides do not even run does not hold, whatever NumPy says about it
            raise errors.LawError(errors.law_raised(found.name, found.equation, f, case.x, error)) from error


_CURVE = pointwise(lambda y: y * y + 2.0 * y)
_TOWARDS = pointwise(lambda x, c: c + 2.0 * (x - c) + (x - c) * (x - c))


def _bent(leaf: Any) -> D:
    """A map of one leaf that fixes its value, with derivatives 2 and 2."""
    return fork(identity, const(leaf)) >> _TOWARDS if leaf.dtype.kind == "f" else identity


def _leafwise(space: Space, maps: list[D]) -> D:
    """One map for each leaf of a space."""
    it = iter(maps)

    def build(part: Space) -> D:
        if isinstance(part, Tensor):
            return next(it)
        assert isinstance(part, Product)
        return cross(*[build(factor) for factor in part.factors])

    return build(space)


dD, R, T = differential, reverse_differential, tangent


# -- category and products


@law("category", "(f >> g) >> h == f >> (g >> h), id >> f == f == f >> id", order=0)
def _(c: Case) -> None:
    e, f, g = c.before, c.f, c.after
    c.equal((e >> f) >> g, e >> (f >> g), c.x, wirings=True)
    c.equal(compose(e, f, g), e >> f >> g, c.x, wirings=True)
    c.equal(identity >> f, f, c.x, wirings=True)
    c.equal(f >> identity, f, c.x, wirings=True)


@law("products", "fork(f, g) >> exl == f, fork(f, g) >> exr == g, fork(h >> exl, h >> exr) == h", order=0)
def _(c: Case) -> None:
    h = fork(c.f, c.g)
    c.equal(h >> exl, c.f, c.x, wirings=True)
    c.equal(h >> exr, c.g, c.x, wirings=True)
    c.equal(fork(h >> exl, h >> exr), h, c.x, wirings=True)
    c.equal(fork(c.f, c.g, c.f) >> proj(1), c.g, c.x, wirings=True)


@law("fusion", "h >> fork(f, g) == fork(h >> f, h >> g)", order=0)
def _(c: Case) -> None:
    c.equal(c.before >> fork(c.f, c.g), fork(c.before >> c.f, c.before >> c.g), c.x, wirings=True)


@law("cross", "cross(e, f) >> cross(f, g) == cross(e >> f, f >> g), cross(f, g) == fork(exl >> f, exr >> g)", order=0)
def _(c: Case) -> None:
    e, f, g, point = c.before, c.f, c.after, (c.x, c.x)
    c.equal(cross(e, f) >> cross(f, g), cross(e >> f, f >> g), point, wirings=True)
    c.equal(cross(e, f), fork(exl >> e, exr >> f), point, wirings=True)
    c.equal(fork(e, e) >> cross(f, f >> g), fork(e >> f, e >> f >> g), c.x, wirings=True)
    c.equal(cross(identity, identity), identity, point, wirings=True)


@law("rearrangements", "dup == fork(id, id), fork(f, g) >> swap == fork(g, f), assoc_l >> assoc_r == id, it == ()", order=0)
def _(c: Case) -> None:
    f, g = c.f, c.g
    c.equal(dup, fork(identity, identity), c.x, wirings=True)
    c.equal(fork(f, g) >> swap, fork(g, f), c.x, wirings=True)
    c.equal(fork(f, fork(g, f)) >> assoc_l, fork(fork(f, g), f), c.x, wirings=True)
    c.equal(fork(fork(f, g), f) >> assoc_r, fork(f, fork(g, f)), c.x, wirings=True)
    c.equal(f >> it, const(()), c.x, wirings=True)


@law("left additivity", "e >> (f + g) == (e >> f) + (e >> g), e >> 0 == 0", order=0)
def _(c: Case) -> None:
    if c.adds:
        c.equal(c.before >> (c.f + c.g), (c.before >> c.f) + (c.before >> c.g), c.x, wirings=True)
    c.equal(c.f >> c.no_w, c.no_w, c.x, wirings=True)


@law("batching", "map(f) == f at each index, D[map(f)] == map(D[f])")
def _(c: Case) -> None:
    rows = [c.x, _turned(c.x), c.x]
    whole = stacked(rows)
    if not c.dom.leaves:
        return
    f = pointwise(c.f)
    got = f(whole)
    require("batching", "map(f) == f at each index", c.f, whole, got, stacked([c.f(row) for row in rows]), c.exact)
    v = direction(c.rng, space_of(whole), c.exact)
    c.equal(dD(f), pointwise(dD(c.f)), (whole, v))
    c.equal(R(f), pointwise(R(c.f)), (whole, direction(c.rng, space_of(got), c.exact)))


def _turned(x: Value) -> Value:
    """The entries of each leaf in reverse order: another point of most domains."""
    return rebuild(space_of(x), [np.flip(leaf) if leaf.dtype.kind == "f" else leaf for leaf in flatten(x)])


# -- Cartesian differential categories


@law("CD.1", "D[f + g] == D[f] + D[g], D[0] == 0")
def _(c: Case) -> None:
    point = (c.x, c.u())
    if c.adds:
        c.equal(dD(c.f + c.g), dD(c.f) + dD(c.g), point)
    c.equal(dD(c.no_w), c.no_w, point)


@law("CD.2", "(x, u + v) >> D[f] == (x, u) >> D[f] + (x, v) >> D[f], (x, 0) >> D[f] == 0")
def _(c: Case) -> None:
    _additive(c, dD(c.f), c.u(), c.u(), c.no_u, c.no_w)


def _additive(c: Case, term: D, u: Value, v: Value, zero: D, image: D) -> None:
    """Additivity of a term in the second factor."""
    first, second = cross(identity, exl) >> term, cross(identity, exr) >> term
    c.equal(cross(identity, add) >> term, first + second, (c.x, (u, v)))
    c.equal(fork(identity, zero) >> term, image, c.x)


@law("CD.3", "D[id] == exr, D[exl] == exr >> exl, D[exr] == exr >> exr")
def _(c: Case) -> None:
    c.equal(dD(identity), exr, (c.x, c.u()))
    point = ((c.x, c.y), (c.u(), c.w()))
    c.equal(dD(exl), exr >> exl, point)
    c.equal(dD(exr), exr >> exr, point)


@law("CD.4", "D[fork(f, g)] == fork(D[f], D[g])")
def _(c: Case) -> None:
    c.equal(dD(fork(c.f, c.g)), fork(dD(c.f), dD(c.g)), (c.x, c.u()))


@law("CD.5", "D[f >> g] == fork(exl >> f, D[f]) >> D[g]")
def _(c: Case) -> None:
    for f, g in ((c.f, c.after), (c.before, c.f)):
        c.equal(dD(f >> g), fork(exl >> f, dD(f)) >> dD(g), (c.x, c.u()))


@law("CD.6", "((a, b), (0, c)) >> D[D[f]] == (a, c) >> D[f]", order=2)
def _(c: Case) -> None:
    _linear_twice(c, dD(c.f), dD(dD(c.f)))


@law("CD.7", "((a, b), (c, d)) >> D[D[f]] == ((a, c), (b, d)) >> D[D[f]]", order=2)
def _(c: Case) -> None:
    c.equal(dD(dD(c.f)), _flip() >> dD(dD(c.f)), ((c.x, c.u()), (c.u(), c.u())))


def _linear_twice(c: Case, first: D, second: D) -> None:
    b, v = c.u(), c.u()
    start = fork(fork(identity, const(b)), const((nothing(c.dom), v)))
    c.equal(start >> second, fork(identity, const(v)) >> first, c.x)


def _flip() -> D:
    """((a, b), (c, d)) to ((a, c), (b, d))."""
    return fork(fork(exl >> exl, exr >> exl), fork(exl >> exr, exr >> exr))


# -- reverse differential categories


@law("RD.1", "R[f + g] == R[f] + R[g], R[0] == 0")
def _(c: Case) -> None:
    point = (c.x, c.w())
    if c.adds:
        c.equal(R(c.f + c.g), R(c.f) + R(c.g), point)
    c.equal(R(c.no_w), c.no_u, (c.x, c.w()))


@law("RD.2", "(x, v + w) >> R[f] == (x, v) >> R[f] + (x, w) >> R[f], (x, 0) >> R[f] == 0")
def _(c: Case) -> None:
    _additive(c, R(c.f), c.w(), c.w(), c.no_w, c.no_u)


@law("RD.3", "R[id] == exr, R[exl] == exr >> inl, R[exr] == exr >> inr")
def _(c: Case) -> None:
    c.equal(R(identity), exr, (c.x, c.u()))
    c.equal(R(exl), exr >> fork(identity, c.no_w), ((c.x, c.y), c.u()))
    c.equal(R(exr), exr >> fork(c.no_u, identity), ((c.x, c.y), c.w()))


@law("RD.4", "R[fork(f, g)] == cross(id, exl) >> R[f] + cross(id, exr) >> R[g]")
def _(c: Case) -> None:
    right = (cross(identity, exl) >> R(c.f)) + (cross(identity, exr) >> R(c.g))
    c.equal(R(fork(c.f, c.g)), right, (c.x, (c.w(), c.w())))


@law("RD.5", "R[f >> g] == fork(exl, fork(exl >> f, exr) >> R[g]) >> R[f]")
def _(c: Case) -> None:
    for f, g in ((c.f, c.after), (c.before, c.f)):
        c.equal(R(f >> g), fork(exl, fork(exl >> f, exr) >> R(g)) >> R(f), (c.x, c.w()))


def bridge(f: D, cotangent: D) -> D:
    """D[f] said with R: `cross(inl, id) >> R[R[f]] >> exr`, where `cotangent` is the constant zero of T(B)."""
    return cross(fork(identity, cotangent), identity) >> R(R(f)) >> exr


@law("bridge", "cross(inl, id) >> R[R[f]] >> exr == D[f]", order=2)
def _(c: Case) -> None:
    c.equal(bridge(c.f, c.no_w), dD(c.f), (c.x, c.u()))


@law("RD.6", "((a, b), (0, c)) >> D'[D'[f]] == (a, c) >> D'[f] with D' the bridge", order=2)
def _(c: Case) -> None:
    once = bridge(c.f, c.no_w)
    _linear_twice(c, once, bridge(once, c.no_w))


@law("RD.7", "((a, b), (c, d)) >> D'[D'[f]] == ((a, c), (b, d)) >> D'[D'[f]] with D' the bridge", order=2)
def _(c: Case) -> None:
    twice = bridge(bridge(c.f, c.no_w), c.no_w)
    c.equal(twice, _flip() >> twice, ((c.x, c.u()), (c.u(), c.u())))
    c.equal(twice, dD(dD(c.f)), ((c.x, c.u()), (c.u(), c.u())))


@law("adjointness", "<D[f](x, u), w> == <u, R[f](x, w)>")
def _(c: Case) -> None:
    adjoint("adjointness", c.f, c.x, c.u(), c.w(), c.exact)


@law("adjointness of the second derivative", "<D[D[f]](x, u), w> == <u, R[D[f]](x, w)>", order=2)
def _(c: Case) -> None:
    adjoint("adjointness of the second derivative", dD(c.f), (c.x, c.u()), (c.u(), c.u()), c.w(), c.exact)


def adjoint(name: str, f: D, x: Value, u: Value, w: Value, exact: bool) -> None:
    """Adjointness of D[f] and R[f] at a point, within rounding of the two sides' factors."""
    pushed, pulled = dD(f)(x, u), R(f)(x, w)
    left, right = inner(pushed, w), inner(u, pulled)
    size = max(norm(pushed) * norm(w), norm(u) * norm(pulled))
    bound = 0.0 if exact else 64 * unit_roundoff(pushed, pulled, u, w) * size + 1e-300
    if not abs(left - right) <= bound and np.isfinite(size):
        equation = LAWS[name].equation if name in LAWS else LAWS["adjointness"].equation
        raise broken(name, equation, f, (x, u, w), left, right, abs(left - right))


# -- the tangent functor


@law("T functor", "T[f >> g] == T[f] >> T[g], T[id] == id")
def _(c: Case) -> None:
    point = (c.x, c.u())
    for f, g in ((c.f, c.after), (c.before, c.f)):
        c.equal(T(f >> g), T(f) >> T(g), point)
    c.equal(T(identity), identity, point)


@law("T is value and derivative", "T[f] == fork(exl >> f, D[f])")
def _(c: Case) -> None:
    c.equal(T(c.f), fork(exl >> c.f, dD(c.f)), (c.x, c.u()))


@law("T projection", "T[f] >> exl == exl >> f")
def _(c: Case) -> None:
    c.equal(T(c.f) >> exl, exl >> c.f, (c.x, c.u()))


@law("T zero", "zero >> T[f] == f >> zero with zero = a -> (a, 0)")
def _(c: Case) -> None:
    c.equal(fork(identity, c.no_u) >> T(c.f), c.f >> fork(identity, c.no_w), c.x)


@law("T lift", "lift >> T[T[f]] == T[f] >> lift with lift = (a, v) -> ((a, 0), (0, v))", order=2)
def _(c: Case) -> None:
    def lift(zero: D) -> D:
        return fork(fork(exl, zero), fork(zero, exr))

    c.equal(lift(c.no_u) >> T(T(c.f)), T(c.f) >> lift(c.no_w), (c.x, c.u()))


@law("T flip", "flip >> T[T[f]] == T[T[f]] >> flip with flip = ((a, b), (c, d)) -> ((a, c), (b, d))", order=2)
def _(c: Case) -> None:
    c.equal(_flip() >> T(T(c.f)), T(T(c.f)) >> _flip(), ((c.x, c.u()), (c.u(), c.u())))

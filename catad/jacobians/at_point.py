"""Derivatives at a point, by JAX's names: `linearize`, `jvp`, `vjp`, `hvp`.

They run the functors of `catad.derivative.functors` on arrays. A point is given as one value, or as a tuple of primals. On
stand-ins, inside a traced function, they are terms of its program.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal, NamedTuple, overload

from catad import errors
from catad.category.cache import cached
from catad.category.cartesian import exl, fork
from catad.category.points import point_of
from catad.category.spaces import Product, Result, Space, Value, flatten, rebuild, space_like, space_of, tangent_space
from catad.category.terms import D, MorphismLike, morphism
from catad.category.trip_counts import with_trip_counts
from catad.category.wiring import Builder, Wiring, at_point
from catad.derivative.functors import Tangent, as_chain, fused, linear_graph
from catad.derivative.grad import Gradient, aux, main
from catad.engine.choice import engine_of
from catad.engine.program import Program, program_of
from catad.engine.reference import REFERENCE
from catad.errors.traceback_filtering import boundary
from catad.front.calling import Point, applied, leaves_of, point, restored, stripped
from catad.front.complex_arrays import speaking
from catad.front.specialise import front_of
from catad.jacobians.pullback import Pullback, TracedPullback, Trees
from catad.jacobians.residuals import Residuals, residuals
from catad.jacobians.tangents import tangent_leaves
from catad.linear.map import LinearMap, linear_map
from catad.linear.structure import Structure
from catad.traced.signature import Form, tangent_tree, tree_of_space
from catad.values.arrays import common_module, in_blocks, is_frozen, sealed

LARGE = 4096  # numbers: the size from which on arrays are worth computing again what follows from them


def taken_point(f: D, primals: Sequence[Value], named: dict[str, Any] | None = None) -> Point:
    """A point, with the programs in place of functions of Python in f."""
    f = speaking(f, primals)
    if front_of(f) is not None:
        return point(f, primals, named or {})
    if named:
        raise errors.SpaceError(errors.no_keywords(f, named))
    if not primals:
        raise errors.SpaceError(errors.no_arguments(f))
    x = primals[0] if len(primals) == 1 else tuple(primals)
    if any(hasattr(type(leaf), "builder") for leaf in flatten(x)):
        leaves, dom = leaves_of(x)
    else:
        leaves, dom = point_of(f, x)
    tree = tree_of_space(dom)
    return Point(f, Form(tree.parts if len(primals) > 1 else (tree,)), leaves, dom, None, False)


class Linearized:
    """A term at a space with its coefficients: the wiring to value, auxiliary value and slots, and the structure of the map.

    `cod` and `beside` are the spaces of value and auxiliary value. A pullback of large arrays keeps `residuals`.
    """

    def __init__(self, whole: Wiring, cod: Space, beside: Space, structure: Structure) -> None:
        self.whole, self.cod, self.beside, self.structure = whole, cod, beside, structure
        self.count = len(cod.leaves) + len(beside.leaves)
        self.largest = max([whole.wires[k].size for k in whole.outputs], default=0)
        self._residuals: dict[tuple[bool, ...], Residuals | None] = {}

    @cached_property
    def program(self) -> Program:
        """The program of value, auxiliary value and slots."""
        return Program(self.whole)

    def residuals(self, xp: Any, leaves: Sequence[Any]) -> Residuals | None:
        """What a pullback at a point keeps instead of the slots; None where these are the best.

        A pullback of small arrays, or one that runs box by box, gains nothing by computing again.
        """
        if self.largest < LARGE or engine_of(xp) is REFERENCE:
            return None
        key = tuple([is_frozen(leaf) for leaf in leaves])
        if key not in self._residuals:
            self._residuals[key] = residuals(self.whole, self.count, self.structure.T, key)
        return self._residuals[key]


def _linearized(f: D, dom: Space, aux: D | None, by: tuple[int, ...] | None) -> Linearized:
    """A term with its coefficients at a space, kept with f.

    `by` are the leaves of the domain by which it is differentiated, None for all.
    """

    def made() -> Linearized:
        wiring = fused(f, dom)
        b = Builder()
        xs = [b.wire(space) for space in dom.leaves]
        ys, network, slots = linear_graph(b, wiring, xs, by)
        beside = () if aux is None else b.apply(aux, rebuild(dom, xs))
        whole = b.finish(dom, tuple(xs), (*ys, *flatten(beside), *slots))
        return Linearized(whole, wiring.cod, b.space(beside), as_chain(network))

    return cached(f, ("linearize", dom, aux, by), made)


class Coefficients(NamedTuple):
    """Value and coefficients at a point, and the structure that the coefficients fill.

    Where there are `residuals`, `slots` are what these keep.
    """

    values: list[Any]
    beside: list[Any]
    slots: list[Any]
    cod: Space
    beside_space: Space
    structure: Structure
    residuals: Residuals | None


def coefficients_at(
    f: D, at: Point, aux: D | None = None, by: tuple[int, ...] | None = None, least: bool = False
) -> Coefficients:
    """Value and coefficients at a point; with `least`, what a pullback keeps for them.

    Coefficients that show an argument or the value are copies, so that no later write into these changes the derivative.
    """
    xp = common_module(at.leaves)

    def call() -> Coefficients:
        with at_point(at.dom, lambda: (xp, at.leaves)):
            found = _linearized(f, at.dom, aux, by)
        kept = found.residuals(xp, at.leaves) if least else None
        out = (found.program if kept is None else kept.forward)(xp, at.leaves)
        n, m = len(found.cod.leaves), found.count
        own = out[m:] if kept is None else [*out[m:], *[at.leaves[i] for i in kept.held]]
        return Coefficients(out[:n], out[n:m], own, found.cod, found.beside, found.structure, kept)

    return with_trip_counts(call)


@boundary
def linearize(f: MorphismLike, *primals: Value, **named: Value) -> tuple[Result, LinearMap]:
    """The value at a point, and the derivative there as a linear map from tangents to tangents.

    A Python function takes keyword arguments, too: `named`. The map is a product of structured maps that is not multiplied out;
    `L(dx)` is forward mode, `L.T(w)` reverse mode.
    Tangents have the shapes and dtypes of their points, with `()` for integers; dicts and other trees of arguments and results
    are nested tuples to the map. Raises `SpaceError` for an argument that is no morphism, `DerivativeError` where there is
    nothing to differentiate.

    >>> import catad as ct, numpy as np
    >>> y, L = ct.linearize(ct.sin >> ct.sum(), np.zeros(3))
    >>> L(np.ones(3)), L.T(1.0)
    (np.float64(3.0), array([1., 1., 1.]))
    """
    at = taken_point(morphism(f, "ct.linearize"), primals, named)
    if at.is_symbolic:
        raise errors.TraceError(errors.no_linear_map("ct.linearize", "ct.jvp and ct.vjp"))
    found = coefficients_at(at.term, at)
    linear = linear_map(tangent_space(at.dom), tangent_space(found.cod), found.structure, found.slots)
    return restored(at.tree, rebuild(found.cod, found.values)), linear


@overload
def jvp(
    f: MorphismLike, primals: Sequence[Value], tangents: Sequence[Value], has_aux: Literal[False] = False
) -> tuple[Result, Result]: ...
@overload
def jvp(
    f: MorphismLike, primals: Sequence[Value], tangents: Sequence[Value], has_aux: Literal[True]
) -> tuple[Result, Result, Any]: ...
@boundary
def jvp(f: MorphismLike, primals: Sequence[Value], tangents: Sequence[Value], has_aux: bool = False) -> tuple[Any, ...]:
    """The value at a point and the derivative in a direction, in one program (forward mode).

    `primals` and `tangents` are tuples with one element for each factor, or with one for the whole domain; a tangent has the
    tree, shape and dtype of its primal, and `()` or None for integers. With `has_aux=True` f returns a pair `(y, aux)`, of
    which y is differentiated, and the result is `(y, dy, aux)`. Raises `SpaceError` where a tangent does not fit, and for an
    argument that is no morphism, `DerivativeError` where there is nothing to differentiate.

    >>> import catad as ct
    >>> ct.jvp(ct.mul, (2.0, 3.0), (1.0, 0.0))
    (np.float64(6.0), np.float64(3.0))
    """
    primals = primals if type(primals) in (tuple, list) else (primals,)
    tangents = tangents if type(tangents) in (tuple, list) else (tangents,)
    at = taken_point(morphism(f, "ct.jvp"), primals)
    v = _tangents(at, tangents)
    term: D = Tangent(main(at.term) if has_aux else at.term)
    if has_aux:
        term = fork(term, exl >> aux(at.term))
    if at.is_symbolic or any(hasattr(type(leaf), "builder") for leaf in flatten(v)):
        out = applied(term, (at.value, v))
        return _moved(at, out, has_aux)
    xp = common_module(at.leaves)
    own = tangent_leaves(v, at.dom, xp, "tangent")
    xp = common_module([*at.leaves, *own])
    space = Product((at.dom, tangent_space(at.dom)))

    def call() -> Any:
        with at_point(space, lambda: (xp, [*at.leaves, *own])):
            program, cod = program_of(term, space)
        return rebuild(cod, program(xp, [*at.leaves, *own]))

    return _moved(at, with_trip_counts(call), has_aux)


def _tangents(at: Point, tangents: Sequence[Value]) -> Any:
    """Tangents in the trees of the arguments as a value of the tangent space, as far as it is known."""
    form = at.form
    if not at.speaks or len(tangents) != len(form.trees):
        whole = tangents[0] if len(tangents) == 1 else tuple(tangents)
        return stripped(form.tree, whole, "tangent") if at.speaks else whole
    parts = [stripped(form.trees[k], tangents[k], "tangent") for k in form.dynamic]
    return parts[0] if len(parts) == 1 else tuple(parts)


def _moved(at: Point, out: Any, has_aux: bool) -> tuple[Any, ...]:
    """Value and tangent, and what else the function returned, each in its tree."""
    tree, beside, extra = at.tree, None, ()
    if has_aux:
        out, extra = out
        tree, beside = (at.tree.parts[0], at.tree.parts[1]) if at.tree is not None and len(at.tree.parts) == 2 else (None, None)
    y, dy = out
    moved = restored(tree, y), dy if tree is None else tangent_tree(tree, _space(y)).restore(dy)
    return (*moved, restored(beside, extra)) if has_aux else moved


def _space(value: Any) -> Space:
    """The space of a result, or of what stands for it in a trace."""
    return space_like(value, [leaf.space if hasattr(type(leaf), "builder") else space_of(leaf) for leaf in flatten(value)])


@overload
def vjp(f: MorphismLike, *primals: Value, has_aux: Literal[False] = False) -> tuple[Result, Pullback]: ...
@overload
def vjp(f: MorphismLike, *primals: Value, has_aux: Literal[True]) -> tuple[Result, Pullback, Any]: ...
@boundary
def vjp(f: MorphismLike, *primals: Value, has_aux: bool = False) -> tuple[Any, ...]:
    """The value at a point, and the pullback: cotangent of the result to a tuple of cotangents, one for each primal.

    A cotangent has the tree, shapes and dtypes of the result, with `()` or None for integers; so have the results of the
    pullback and the primals. With `has_aux=True` f returns a pair `(y, aux)`, of which y is differentiated, and the result is
    `(y, pullback, aux)`. Raises `SpaceError` where a cotangent does not fit, and for an argument that is no morphism,
    `DerivativeError` where there is nothing to differentiate.

    >>> import catad as ct
    >>> y, pullback = ct.vjp(ct.mul, 2.0, 3.0)
    >>> pullback(1.0)
    (np.float64(3.0), np.float64(2.0))
    """
    at = taken_point(morphism(f, "ct.vjp"), primals)
    tree, beside = at.tree, None
    if has_aux and tree is not None:
        tree, beside = tree.parts if len(tree.parts) == 2 else (None, None)
    term = main(at.term) if has_aux else at.term
    trees = Trees(at.form, tree) if at.speaks else None
    if at.is_symbolic:
        out = applied(fork(term, aux(at.term)) if has_aux else term, at.value)
        y, extra = out if has_aux else (out, None)
        made: Any = TracedPullback(term, at, trees, len(primals) > 1)
    else:
        found = coefficients_at(term, at, aux(at.term) if has_aux else None, least=True)
        y, extra = rebuild(found.cod, found.values), rebuild(found.beside_space, found.beside) if has_aux else None
        xp = common_module(at.leaves)
        own = tuple(sealed(found.slots))
        parts = tuple([xp.parts(x) for x, s in zip(at.leaves, at.dom.leaves, strict=True) if s.is_float]) if in_blocks(xp) else ()
        made = Pullback(found.structure.T, own, at.dom, found.cod, xp, len(primals) > 1, trees, found.residuals, parts)
    return (restored(tree, y), made, restored(beside, extra)) if has_aux else (restored(tree, y), made)


@boundary
def hvp(f: MorphismLike, primals: Sequence[Value], tangents: Sequence[Value]) -> Result:
    """The product of the Hessian of a scalar function and a vector, the tangents, forward over reverse: no Hessian is made.

    `primals` and `tangents` are as for `ct.jvp`; the result has the trees and shapes of the primals, with `()` for integers. It
    is by all arguments, of Python functions, too. Raises `DerivativeError` where f has no floating scalar result, `SpaceError`
    where tangents do not fit, and for an argument that is no morphism.

    >>> import catad as ct, numpy as np
    >>> ct.hvp(ct.map(lambda x: x**3) >> ct.sum(), (np.array([1.0, 2.0]),), (np.array([1.0, 1.0]),))
    array([ 6., 12.])
    """
    return jvp(Gradient(morphism(f, "ct.hvp"), None), primals, tangents)[1]

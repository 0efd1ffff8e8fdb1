"""Derivatives at a point, by JAX's names: `linearize`, `jvp`, `vjp`, `grad`, `jacobian`, `hessian`, `hvp`.

They run the functors of `catad.functors` on arrays. A point is given as one value, or as a tuple of primals.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from catad import errors
from catad.arrays import as_array, as_number, common_module, is_weak, sealed
from catad.calls import constructor
from catad.engine.program import Program, program_of, run_structure
from catad.functors import Gradient, Tangent, as_chain, fused, linear_graph
from catad.linear.map import LinearMap, linear_map
from catad.linear.structure import Structure
from catad.planner.ends import pulled_back
from catad.planner.plan import Plan, plan_structure
from catad.planner.request import MODES, Mode, checked
from catad.spaces import (
    Product,
    Result,
    Space,
    Tensor,
    Value,
    flatten,
    rebuild,
    space_of,
    tangent_space,
)
from catad.term_cache import cached
from catad.terms import D, morphism
from catad.trip_counts import with_trip_counts
from catad.wiring import Builder, at_point, point_of


def _point(primals: Sequence[Value], f: D, who: str) -> Value:
    morphism(f, who)
    if not primals:
        raise errors.SpaceError(errors.no_arguments(f))
    return primals[0] if len(primals) == 1 else tuple(primals)


def _tangent_leaves(value: Value, space: Space, xp: Any, what: str) -> list[Any]:
    """The floating leaves of a tangent or cotangent; for an integer leaf `()`, None or zeros may stand, and nothing else."""
    out: list[Any] = []
    stack: list[tuple[Any, Space]] = [(value, space)]
    while stack:
        v, s = stack.pop()
        if isinstance(s, Product):
            fits = isinstance(v, tuple) and len(v) == len(s.factors)
            if fits:
                stack.extend(zip(reversed(v), reversed(s.factors), strict=True))
        elif isinstance(s, Tensor) and s.is_float:
            if not isinstance(v, tuple) and v is not None:
                v = as_number(xp, v, s.dtype) if is_weak(v) else as_array(v)
            fits = getattr(v, "shape", None) == s.shape and v.dtype == s.dtype
            out.append(v)
        else:
            fits = _is_zero(v, s)
        if not fits:
            raise errors.SpaceError(errors.wrong_tangent(what, tangent_space(space), _described(value), None))
    return out


def _is_zero(value: Value, space: Space) -> bool:
    """Whether a value may stand for the tangent of integers: `()`, None, 0, or zeros of their shape."""
    if value is None or isinstance(value, tuple):
        return not value
    if is_weak(value):
        return bool(value == 0)
    array = as_array(value)
    return isinstance(space, Tensor) and array.shape == space.shape and array.dtype.kind in "biuf" and not array.any()


def _described(value: Value) -> Any:
    """The space of a value for a message, or the value where it has none."""
    try:
        return space_of(value)
    except errors.CatadError:
        return errors.abbreviated(value)


Linearized = tuple[Program, Space, Structure]


def _linearized(f: D, dom: Space) -> Linearized:
    """The program of value and coefficients at a space, with the structure that the coefficients fill; kept with `f`."""

    def made() -> Linearized:
        wiring = fused(f, dom)
        b = Builder()
        xs = [b.wire(space) for space in dom.leaves]
        ys, network, slots = linear_graph(b, wiring, xs)
        whole = b.finish(dom, tuple(xs), (*ys, *slots))
        return Program(whole), wiring.cod, as_chain(network)

    return cached(f, ("linearize", dom), made)


def _at(f: D, dom: Space, xp: Any, leaves: Sequence[Any]) -> tuple[list[Any], Space, Structure]:
    """Value and coefficients at a point, the codomain, and the structure.

    Coefficients that show an argument or the value are copies, so that no later write into these changes the derivative.
    """

    def call() -> tuple[list[Any], Space, Structure]:
        with at_point(dom, lambda: (xp, leaves)):
            program, cod, structure = _linearized(f, dom)
        return program(xp, leaves), cod, structure

    return with_trip_counts(call)


def linearize(f: D, *primals: Value) -> tuple[Result, LinearMap]:
    """The value at a point, and the derivative there as a linear map from tangents to tangents.

    The map is a product of structured maps that is not multiplied out; `L(dx)` is forward mode, `L.T(w)` reverse mode.
    Tangents have the shapes and dtypes of their points, with `()` for integers. Raises `SpaceError` for an argument that is
    no morphism, `DerivativeError` where there is nothing to differentiate.

    >>> import catad as ct, numpy as np
    >>> y, L = ct.linearize(ct.sin >> ct.sum(), np.zeros(3))
    >>> L(np.ones(3)), L.T(1.0)
    (np.float64(3.0), array([1., 1., 1.]))
    """
    leaves, dom = point_of(f, _point(primals, f, "ct.linearize"))
    out, cod, structure = _at(f, dom, common_module(leaves), leaves)
    n = len(cod.leaves)
    linear = linear_map(tangent_space(dom), tangent_space(cod), structure, out[n:])
    return rebuild(cod, out[:n]), linear


def jvp(f: D, primals: Sequence[Value], tangents: Sequence[Value]) -> tuple[Result, Result]:
    """The value at a point and the derivative in a direction, in one program (forward mode).

    `primals` and `tangents` are tuples with one element for each factor, or with one for the whole domain; a tangent has the
    shape and dtype of its primal, and `()` or None for integers. Raises `SpaceError` where a tangent does not fit, and for
    an argument that is no morphism, `DerivativeError` where there is nothing to differentiate.

    >>> import catad as ct
    >>> ct.jvp(ct.mul, (2.0, 3.0), (1.0, 0.0))
    (np.float64(6.0), np.float64(3.0))
    """
    primals = primals if isinstance(primals, tuple) else (primals,)
    tangents = tangents if isinstance(tangents, tuple) else (tangents,)
    x = _point(primals, f, "ct.jvp")
    v = tangents[0] if len(primals) == 1 and len(tangents) == 1 else tuple(tangents)
    leaves, dom = point_of(f, x)
    xp = common_module(leaves)
    own = _tangent_leaves(v, dom, xp, "tangent")
    xp = common_module([*leaves, *own])
    term, space = Tangent(f), Product((dom, tangent_space(dom)))

    def call() -> tuple[Result, Result]:
        with at_point(space, lambda: (xp, [*leaves, *own])):
            program, cod = program_of(term, space)
        pair: tuple[Result, Result] = rebuild(cod, program(xp, [*leaves, *own]))
        return pair

    return with_trip_counts(call)


def vjp(f: D, *primals: Value) -> tuple[Result, Pullback]:
    """The value at a point, and the pullback: cotangent of the result to a tuple of cotangents, one for each primal.

    A cotangent has the shapes and dtypes of the result, with `()` or None for integers; so have the results of the pullback
    and the primals. Raises `SpaceError` where a cotangent does not fit, and for an argument that is no morphism,
    `DerivativeError` where there is nothing to differentiate.

    >>> import catad as ct
    >>> y, pullback = ct.vjp(ct.mul, 2.0, 3.0)
    >>> pullback(1.0)
    (np.float64(3.0), np.float64(2.0))
    """
    leaves, dom = point_of(f, _point(primals, f, "ct.vjp"))
    xp = common_module(leaves)
    out, cod, structure = _at(f, dom, xp, leaves)
    n = len(cod.leaves)
    return rebuild(cod, out[:n]), Pullback(structure.T, tuple(sealed(out[n:])), dom, cod, xp, len(primals) > 1)


class Pullback:
    """A pullback at a point: a cotangent of the result to the cotangents of the primals, as a tuple."""

    __slots__ = ("cod", "dom", "many_primals", "slots", "structure", "xp")

    def __init__(self, structure: Structure, slots: tuple[Any, ...], dom: Space, cod: Space, xp: Any, many: bool) -> None:
        self.structure, self.slots, self.dom, self.cod, self.xp = structure, slots, dom, cod, xp
        self.many_primals = many

    def __call__(self, cotangent: Value) -> tuple[Result, ...]:
        leaves = _tangent_leaves(cotangent, self.cod, self.xp, "cotangent")
        common_module([*self.slots, *leaves])
        out = iter(run_structure(self.structure, self.xp, self.slots, leaves))
        whole = rebuild(self.dom, [next(out) if leaf.is_float else () for leaf in self.dom.leaves])
        return whole if self.many_primals else (whole,)

    def many(self, cotangents: Value) -> tuple[Result, ...]:
        """Many cotangents at once: each leaf has one more axis, the first, and so have the results.

        They are pulled back together, or factors are multiplied first, as the plan for so many cotangents says.

        >>> import catad as ct, numpy as np
        >>> y, pullback = ct.vjp(ct.square, np.array([1.0, 2.0]))
        >>> pullback.many(np.eye(2))
        (array([[2., 0.],
               [0., 4.]]),)
        """
        first = next((leaf for leaf in flatten(cotangents) if getattr(leaf, "ndim", 0)), None)
        count = -1 if first is None else first.shape[0]
        wide = rebuild(self.cod, [Tensor((max(count, 0), *s.shape), s.dtype) for s in self.cod.leaves], Product)
        leaves = _tangent_leaves(cotangents, wide, self.xp, "cotangents, one for each index of a first axis")
        common_module([*self.slots, *leaves])
        out = iter(pulled_back(self.structure.T, self.xp, self.slots, leaves, count))
        whole = rebuild(self.dom, [next(out) if leaf.is_float else () for leaf in self.dom.leaves])
        return whole if self.many_primals else (whole,)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self.structure, self.slots, self.dom, self.cod, self.xp.__name__, self.many_primals)

    def __repr__(self) -> str:
        return f"<pullback {tangent_space(self.cod)} -> {tangent_space(self.dom)}: {self.structure.kind}>"


def _unpickled(structure: Structure, slots: tuple[Any, ...], dom: Space, cod: Space, module: str, many: bool) -> Pullback:
    return Pullback(structure, slots, dom, cod, importlib.import_module(module), many)


def hvp(f: D, primals: Sequence[Value], tangents: Sequence[Value]) -> Result:
    """The Hessian of a scalar function times a tangent, forward over reverse: no Hessian is made.

    `primals` and `tangents` are as for `ct.jvp`; the result has the shapes and dtypes of the primals, with `()` for
    integers. Raises `DerivativeError` where f has no floating scalar result, `SpaceError` where tangents do not fit, and for
    an argument that is no morphism.

    >>> import catad as ct, numpy as np
    >>> ct.hvp(ct.map(lambda x: x**3) >> ct.sum(), (np.array([1.0, 2.0]),), (np.array([1.0, 1.0]),))
    array([ 6., 12.])
    """
    return jvp(Gradient(morphism(f, "ct.hvp"), None), primals, tangents)[1]


class Jacobian:
    """`jacobian(f)`: at a point, the derivative as a linear map, multiplied out in the order that the plan says."""

    __slots__ = ("f", "mode")

    def __init__(self, f: D, mode: Mode | Plan = "auto") -> None:
        if not isinstance(mode, Plan) and mode not in MODES:
            raise errors.PlanError(errors.unknown_mode(mode))
        self.f, self.mode = f, mode

    def __call__(self, *primals: Value) -> LinearMap:
        if isinstance(self.mode, Plan) and self.mode.recomputes:
            return self.mode.run_as(self.f, *primals)
        _, L = linearize(self.f, *primals)
        if not L.structure.dom or not L.structure.cod:
            dom = point_of(self.f, _point(primals, self.f, "ct.jacobian"))[1]
            raise errors.DerivativeError(errors.integers_alone(dom, self.f))
        if isinstance(self.mode, Plan):
            return self.mode.multiply(L)
        request = checked(self.mode, "time", xp=common_module(L.slots))
        return plan_structure(L.structure, request=request).multiply(L)

    def __repr__(self) -> str:
        return f"<jacobian of {errors.abbreviated(self.f)}, mode {self.mode!r}>"


@constructor(morphisms="f")
def jacobian(f: D, mode: Mode | Plan = "auto") -> Jacobian:
    """A function from points to the Jacobian there, a structured `LinearMap`.

    `mode` is "auto" (the planner's choice), "forward", "reverse", "elimination", or a plan, such as an edited one. The map
    goes from the tangents of the argument to those of the result, integers left out, in their dtypes. Raises
    `DerivativeError` where there is nothing to differentiate, `PlanError` for another mode, `SpaceError` for an argument
    that is no morphism.

    >>> import catad as ct, numpy as np
    >>> ct.jacobian(ct.sin)(np.zeros(1000))
    diagonal f64[1000] -> f64[1000], stored 1000, dense 1e6
    """
    return Jacobian(morphism(f, "ct.jacobian"), mode)


@constructor(morphisms="f")
def hessian(f: D, mode: Mode | Plan = "auto") -> Jacobian:
    """A function from points to the Hessian of a scalar function there: the Jacobian of its gradient.

    The result is a `LinearMap` from the space of the point to itself, in its dtype. `mode` is as for `ct.jacobian`. Raises
    `DerivativeError` where f has no floating scalar result, `PlanError` for another mode, `SpaceError` for an argument that
    is no morphism.

    >>> import catad as ct, numpy as np
    >>> ct.hessian(ct.map(lambda x: x**3) >> ct.sum())(np.array([1.0, 2.0]))
    diagonal f64[2] -> f64[2], stored 2, dense 4
    """
    return Jacobian(Gradient(morphism(f, "ct.hessian"), None), mode)

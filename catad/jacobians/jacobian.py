"""Jacobians and Hessians at a point: structured linear maps (`jacobian`, `hessian`), and dense arrays (`jacfwd`, `jacrev`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors
from catad.category.boxes import of_fields
from catad.category.cache import cache_of
from catad.category.constructors import constructor
from catad.category.spaces import Product, Space, Tensor, Value, flatten, rebuild, tangent_space
from catad.category.terms import D, MorphismLike
from catad.category.text import call
from catad.category.trip_counts import TripCountChanged
from catad.category.wiring import Builder, share
from catad.derivative.functors import fused, linear_graph
from catad.derivative.grad import Argnums, Factors, Gradient, by_argument, differentiated, leaves_of_factors
from catad.engine.choice import running
from catad.errors.traceback_filtering import boundary
from catad.front.calling import Point, are_read, call_key
from catad.front.specialise import (
    argument_numbers,
    at_space,
    factor_numbers,
    form_at,
    front_of,
    function_of,
    specialised,
    tuple_tree,
)
from catad.jacobians.at_point import coefficients_at, taken_point
from catad.jacobians.jacobian_programs import Called, JacobianProgram, jacobian_at
from catad.linear.families.contract import zeros
from catad.linear.map import LinearMap, linear_map
from catad.linear.matrix.materialise import by_columns, by_rows
from catad.planner.plan import Plan
from catad.planner.request import MODES, RESULTS, Mode, Result, checked
from catad.traced.debug import watches
from catad.traced.signature import Form, tangent_tree, tree_of_space
from catad.values.arrays import common_module
from catad.values.trees import Tree
from catad.vector.pointwise.operators import astype

if TYPE_CHECKING:
    from catad.category.wiring import Wires


Part = tuple[Space, "tuple[int, ...]", "Tree | None"]


def part_of(f: D, argnums: Factors, form: Form, dom: Space) -> Part:
    """What some arguments are in a domain: their space, the positions of their leaves, and their tree."""
    tree = None if front_of(f) is None and not form.tree.has_complex else form.tree
    if argnums is None:
        return dom, tuple(range(len(dom.leaves))), tree
    chosen: Any = argnums
    if function_of(f) is not None:
        places = argument_numbers(argnums, form, f)
        chosen = factor_numbers(argnums, places, form)
        trees = [form.trees[k] for k in places]
        tree = trees[0] if isinstance(argnums, int) else tuple_tree(trees)
    factors = differentiated(dom, chosen, f)
    if len(set(factors)) < len(factors):
        raise errors.ArgumentError(errors.argument_twice(argnums))
    spaces = [dom.factors[k] if k is not None and isinstance(dom, Product) else dom for k in factors]
    space = spaces[0] if isinstance(argnums, int) else Product(tuple(spaces))
    return space, leaves_of_factors(dom, factors), tree


class Jacobian:
    """`jacobian(f)`: at a point, the derivative as a linear map, multiplied out in the order that the plan says."""

    __slots__ = ("_kind", "argnums", "f", "mode", "result")

    def __init__(self, f: D, mode: Mode | Plan = "auto", argnums: Argnums = None, result: Result = "structured") -> None:
        if not isinstance(mode, Plan) and mode not in MODES:
            raise errors.PlanError(errors.unknown_mode(mode))
        if result not in RESULTS:
            raise errors.PlanError(errors.unknown_result(result, RESULTS))
        self.f, self.mode, self.argnums, self.result = f, mode, argnums, result
        self._kind = "" if isinstance(mode, Plan) else f"jacobian by {argnums}, {mode}, {result}"  # its hash is kept

    @boundary
    def __call__(self, *primals: Value, **named: Value) -> Any:
        if isinstance(self.mode, Plan):
            linear = self._as_planned(self.mode, primals, named)
            return linear.todense() if self.result == "array" else linear.tocsr() if self.result == "sparse" else linear
        key, read = (None, []) if named or watches() else self._key(primals)
        entry = None if key is None else cache_of(self.f).get(key)
        if entry is not None:
            if (front := front_of(self.f)) is not None:
                front.check()
            found = entry.value
            try:
                return found.run(np, read, entry.loops)
            except TripCountChanged:  # the program is laid out again
                pass
        at = self._point(primals, named)
        dom, by, tree = part_of(self.f, self.argnums, at.form, at.dom)
        request = checked(self.mode, "time", xp=common_module(at.leaves), result=self.result)

        def called(made: JacobianProgram) -> Called:
            trees = self._trees(at, tree, dom, made.cod)
            return Called(made, tangent_space(dom), tangent_space(made.cod), trees, self.result)

        lasts = key is not None and are_read(read, at.leaves)
        return jacobian_at(at, None if self.argnums is None else by, dom, request, called, self.f, key if lasts else None)

    def _key(self, primals: Sequence[Value]) -> tuple[Any, list[Any]]:
        """What is equal for calls that run one program, None where that is not known; and the leaves of the point."""
        key, read = call_key(self.f, primals)
        return None if key is None else (self._kind, running(np), key), read

    def _as_planned(self, plan: Plan, primals: Sequence[Value], named: dict[str, Value]) -> LinearMap:
        """The map by a plan that was given."""
        if plan.runs_alone:
            return plan.run_as(self.f, *primals)
        at = self._point(primals, named)
        dom, by, tree = part_of(self.f, self.argnums, at.form, at.dom)
        found = coefficients_at(at.term, at, None, None if self.argnums is None else by)
        if not found.structure.dom or not found.structure.cod:
            raise errors.DerivativeError(errors.integers_alone(at.dom, self.f))
        made = plan.multiply(linear_map(tangent_space(dom), tangent_space(found.cod), found.structure, found.slots))
        made.trees = self._trees(at, tree, dom, found.cod)
        return made

    def _point(self, primals: Sequence[Value], named: dict[str, Value]) -> Point:
        at = taken_point(self.f, primals, named)
        if at.is_symbolic:
            raise errors.TraceError(errors.no_linear_map("ct.jacobian", "ct.jacfwd or ct.jacrev, whose results are arrays"))
        return at

    def _trees(self, at: Point, tree: Tree | None, dom: Space, cod: Space) -> tuple[Tree, Tree] | None:
        """The trees of tangents of argument and result; None where they are arrays in tuples."""
        if not at.speaks:
            return None
        ends = tree or tree_of_space(dom), at.tree or tree_of_space(cod)
        return tangent_tree(ends[0], dom), tangent_tree(ends[1], cod)

    def __repr__(self) -> str:
        by = "" if self.argnums is None else f" by {self.argnums}"
        return f"<jacobian of {errors.abbreviated(self.f)}{by}, mode {self.mode!r}>"


@constructor(morphisms="f")
def jacobian(
    f: MorphismLike,
    mode: Mode | Plan = "auto",
    argnums: int | str | Sequence[int | str] | None = None,
    result: Result = "structured",
) -> Jacobian:
    """A function from points to the Jacobian there, a structured `LinearMap`.

    `result` is the form that is asked for, and making it is part of the plan: "structured", a `LinearMap`; "array", what its
    `todense` gives, of the shape of result and argument; "sparse", what its `tocsr` gives. `mode` is "auto" (the planner's
    choice), "forward", "reverse", "elimination", or a plan, such as an edited one. `argnums` is as for `ct.grad`. The map goes
    from the tangents of the argument to those of the result, integers left out, in their dtypes; its `blocks()` are a tree like
    the result, of trees like the argument. Raises `DerivativeError` where there is nothing to
    differentiate, `PlanError` for another mode or form, `DenseLimitError` for an array of more than 10^7 numbers, `SpaceError`
    for an argument that is no morphism.

    >>> import catad as ct, numpy as np
    >>> ct.jacobian(ct.sin)(np.zeros(1000))
    diagonal f64[1000] -> f64[1000], stored 1000, dense 1e6
    >>> ct.jacobian(ct.square, result="array")(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    >>> J = ct.jacobian(lambda p, x: {"y": p["a"] * x})({"a": 2.0, "b": np.zeros(2)}, np.ones(2))
    >>> J.blocks()["y"]["a"].todense()
    array([1., 1.])
    """
    term, numbers = by_argument(f, argnums, "ct.jacobian")
    return Jacobian(term, mode, numbers, result)


@constructor(morphisms="f")
def hessian(
    f: MorphismLike,
    mode: Mode | Plan = "auto",
    argnums: int | str | Sequence[int | str] | None = None,
    result: Result = "structured",
) -> Jacobian:
    """A function from points to the Hessian of a scalar function there: the Jacobian of its gradient.

    The result is a `LinearMap` from the space of the point to itself, in its dtype. `mode`, `argnums` and `result` are as for
    `ct.jacobian`. Raises `DerivativeError` where f has no floating scalar result, `PlanError` for another mode, `SpaceError`
    for an argument that is no morphism.

    >>> import catad as ct, numpy as np
    >>> ct.hessian(ct.map(lambda x: x**3) >> ct.sum())(np.array([1.0, 2.0]))
    diagonal f64[2] -> f64[2], stored 2, dense 4
    """
    term, numbers = by_argument(f, argnums, "ct.hessian")
    return Jacobian(Gradient(term, numbers), mode, numbers, result)


# -- dense


@share
@of_fields
class DenseJacobian(D):
    """`ct.jacfwd(f)`, `ct.jacrev(f)`: for each result leaf and each argument leaf an array of the shape of both."""

    drawn_as = "functor"
    f: D
    reverse: bool
    argnums: Factors

    def lay_out(self, b: Builder, x: Wires) -> Any:
        dom, f = b.space(x), self.f
        settled = at_space(self, dom)
        if settled is not self:
            return (yield settled, x)
        space, by, _ = part_of(f, self.argnums, form_at(f, dom), dom)
        with b.at(x):
            wiring = fused(f, dom)
        if not any(leaf.is_float for leaf in space.leaves) or not any(leaf.is_float for leaf in wiring.cod.leaves):
            raise errors.DerivativeError(errors.integers_alone(dom, f))
        _, network, slots = linear_graph(b, wiring, flatten(x), by)
        blocks = (by_rows if self.reverse else by_columns)(b, network, slots)
        of_dom = [[blocks.get((r, c)) for c in range(len(network.dom))] for r in range(len(network.cod))]
        ends = [leaf for leaf in wiring.cod.leaves if leaf.is_float], [leaf for leaf in space.leaves if leaf.is_float]
        lines = iter([_line(b, row, r, *ends, space) for r, row in enumerate(of_dom)])
        return rebuild(wiring.cod, [next(lines) if leaf.is_float else () for leaf in wiring.cod.leaves])

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return call(jacrev if self.reverse else jacfwd, name, part(self.f), argnums=self.argnums)


def _line(b: Builder, row: Sequence[Any], r: int, outs: Sequence[Tensor], ins: Sequence[Tensor], space: Space) -> Any:
    """The derivatives of one result leaf, nested as the argument: arrays (*result, *argument), zeros where there are none."""
    made = []
    for wire, leaf in zip(row, ins, strict=True):
        full = Tensor((*outs[r].shape, *leaf.shape), outs[r].dtype)
        made.append(zeros(b, full) if wire is None else b.apply(astype(full.dtype), wire))
    it = iter(made)
    return rebuild(space, [next(it) if leaf.is_float else () for leaf in space.leaves])


@specialised.register
def _(term: DenseJacobian, form: Form, dom: Space) -> tuple[D, Tree | None]:
    f = term.f
    inner, result = specialised(f, form, dom)
    space, _, tree = part_of(f, term.argnums, form, dom)
    argnums: Any = term.argnums
    if argnums is not None and function_of(f) is not None:
        argnums = factor_numbers(argnums, argument_numbers(argnums, form, f), form)
    made = DenseJacobian(inner, term.reverse, argnums)
    if result is None or tree is None:
        return made, None
    cod = inner.spaces(dom)
    return made, _nested(tangent_tree(result, cod), tangent_tree(tree, space))


def _nested(outer: Tree, inner: Tree) -> Tree:
    """A tree with another one in the place of each leaf."""
    if outer.kind in ("leaf", "number"):
        return inner
    return outer._replace(parts=tuple([_nested(part, inner) for part in outer.parts]))


@constructor(morphisms="f")
def jacfwd(f: MorphismLike, argnums: int | str | Sequence[int | str] | None = None) -> D:
    """The Jacobian as dense arrays, in forward mode, as a morphism.

    The result has the tree of f's result; in the place of each array stands a tree like the argument, of arrays with the shape
    of the result followed by that of the argument, as JAX lays them out. Integers have `()`. `argnums` is as for `ct.grad`. It
    has derivatives of any order itself; `ct.jacobian` keeps the structure, and is cheaper where there is one. Raises
    `DerivativeError` where there is nothing to differentiate, `SpaceError` for an argument that is no morphism.

    >>> import catad as ct, numpy as np
    >>> ct.jacfwd(lambda x: np.stack([x[0] * x[1], x[1] ** 2]))(np.array([3.0, 2.0]))
    array([[2., 3.],
           [0., 4.]])
    """
    term, numbers = by_argument(f, argnums, "ct.jacfwd")
    return DenseJacobian(term, False, numbers)


@constructor(morphisms="f")
def jacrev(f: MorphismLike, argnums: int | str | Sequence[int | str] | None = None) -> D:
    """The Jacobian as dense arrays, in reverse mode, as a morphism: as `ct.jacfwd`, cheaper where the result is smaller.

    Shapes are those of the result followed by those of the argument. Raises `DerivativeError` where there is nothing to
    differentiate, `SpaceError` for an argument that is no morphism.

    >>> import catad as ct, numpy as np
    >>> ct.jacrev(lambda p: p["a"] * p["x"])({"a": 2.0, "x": np.ones(2)})["a"]
    array([1., 1.])
    """
    term, numbers = by_argument(f, argnums, "ct.jacrev")
    return DenseJacobian(term, True, numbers)

"""What a morphism of arrays becomes where a complex array, a pair of two real ones, is in its argument.

A scalar function is read again, with complex numbers (`ct.map`, and the words of the vocabulary). What moves or adds entries acts
on both parts alike. What has a name of NumPy is the program of NumPy's function on complex stand-ins. Others are an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from catad import errors, scalar
from catad.category.cartesian import compose, cross
from catad.category.constant import Const
from catad.category.spaces import Product, Space, Tensor, rebuild
from catad.category.terms import D, Id
from catad.scalar.ir import COMPLEX, of_reals
from catad.traced.function import function_term
from catad.traced.signature import Form, tree_of_space
from catad.values.arrays import weak_dtypes
from catad.values.complex_numbers import ComplexPair
from catad.values.trees import LEAF, PAIR, Tree
from catad.vector.deferred import Named, OfOperator, Shaped
from catad.vector.folds.fold import fold
from catad.vector.indexing.subscript import Subscript
from catad.vector.pointwise.map import MapOf, spine
from catad.vector.pointwise.operators import Leafwise, Times, astype
from catad.vector.scans.scan import scan

_ALIKE = """broadcast_to cumsum diff expand_dims flip mean moveaxis repeat reshape roll slice squeeze sum tile transpose replicate
    fftshift ifftshift stop_gradient"""
_NUMPY: dict[str, Callable[..., Any]] = {
    "prod": np.prod, "cumprod": np.cumprod, "max": np.max, "min": np.min, "argmax": np.argmax, "argmin": np.argmin,
    "sort": np.sort, "argsort": np.argsort, "norm": np.linalg.norm, "std": np.std, "var": np.var, "all": np.all, "any": np.any,
    "matmul": np.matmul, "dot": np.dot, "outer": np.outer,
    "einsum": lambda *xs, spec: np.einsum(spec, *xs), "concatenate": lambda *xs, axis: np.concatenate(xs, axis),
    "stack": lambda *xs, axis: np.stack(xs, axis),
}  # fmt: skip
_TO_COMPLEX, _TO_REAL = ["fft", "ifft", "fft2", "ifft2", "fftn", "ifftn"], ["irfft", "irfft2", "irfftn", "hfft"]


# -- scalar functions


class _Leaf:
    """A leaf of a tree, where a tuple would be taken apart."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree


def _nested(tree: Tree) -> Any:
    return tuple(map(_nested, tree.parts)) if tree.kind is tuple else _Leaf(tree)


def _scalar_tree(nested: Any) -> Any:
    if isinstance(nested, tuple):
        return tuple(map(_scalar_tree, nested))
    return COMPLEX if nested.tree.kind is ComplexPair else None


def tree_of_result(made: Any) -> Tree:
    """The tree of arrays whose elements have a tree of the scalar language."""
    if made == COMPLEX:
        return PAIR
    return LEAF if made is None else Tree(tuple, tuple(range(len(made))), tuple(map(tree_of_result, made)))


def mapped(fn: Any, parameters: Sequence[Any], dom: Space) -> tuple[D, Tree]:
    """A scalar function read at these trees of its parameters, and the tree of its result."""
    function = scalar.read(fn, tuple(parameters))
    nodes = _of_one_dtype(function, tuple([leaf.dtype for leaf in dom.leaves]))
    plain = [of_reals(tree) for tree in function.param_trees]
    of_parts = scalar.Function.make(function.arity, nodes, of_reals(function.tree), plain, function.name)
    return MapOf(of_parts), tree_of_result(function.tree)


def _of_one_dtype(function: scalar.Function, dtypes: tuple[Any, ...]) -> Sequence[scalar.Node]:
    """The results of the function, with both parts of each complex one in one dtype of floats."""
    if len(dtypes) != function.arity:
        return function.outputs
    types = iter(scalar.result_types(function, dtypes))
    outputs = iter(function.outputs)

    def made(tree: Any) -> list[Any]:
        if tree == COMPLEX:
            both, kinds = [next(outputs), next(outputs)], [next(types), next(types)]
            wanted = np.result_type(*kinds, np.float32)
            return [node if kind == wanted else scalar.cast(wanted, node) for node, kind in zip(both, kinds, strict=True)]
        if tree is None:
            next(types)
            return [next(outputs)]
        return [node for part in tree for node in made(part)]

    return made(function.tree)


def map_at(term: MapOf, form: Form, dom: Space) -> tuple[D, Tree]:
    """`ct.map` of a Python function, and the pointwise words, at complex numbers."""
    nested = _nested(form.tree.of_arrays())
    return mapped(term.fn, [_scalar_tree(part) for part in spine(nested, term._count(nested), term.frozen.given)], dom)


def leafwise_at(term: Leafwise, form: Form, dom: Space) -> tuple[D, Tree]:
    """`ct.add`, `ct.id + 2.0` and their like: on values of one form, leaf by leaf."""
    tree = form.tree.of_arrays()
    n = term.function.arity
    parts = (tree,) if n == 1 else tree.parts
    if len(parts) == n and all(part.kind in ("leaf", ComplexPair) for part in parts):
        return mapped(term.function, [_scalar_tree(_nested(part)) for part in parts], dom)
    if isinstance(term, Times) or (term.name in ("ct.neg", "ct.add", "ct.sub") and len(set(parts)) == 1):
        return term, parts[0]  # linear, so the same on both parts
    raise errors.SpaceError(errors.complex_for_reals(term))


# -- others


def at_complex(term: D, form: Form, dom: Space) -> tuple[D, Tree | None]:
    """A morphism of arrays at complex arrays, and the tree of its result. Python's numbers take the dtypes of the arrays."""
    given = [tree.said(0) if tree.kind == "number" else None for tree in form.tree.leaves]
    numbers = [number for number in given if number is not None]
    if not numbers or len(numbers) == len(given) or len(given) != len(dom.leaves):
        return _at(term, form, dom)
    pairs = list(zip(given, dom.leaves, strict=True))
    dtypes = iter(weak_dtypes(numbers, [space.dtype for number, space in pairs if number is None]))
    leaves = [space if number is None else Tensor((), next(dtypes)) for number, space in pairs]
    casts = [Id() if old == new else astype(new.dtype) for old, new in zip(dom.leaves, leaves, strict=True)]
    made, tree = _at(term, form, rebuild(dom, leaves, Product))
    return compose(rebuild(dom, casts, lambda parts: cross(*parts)), made), tree


def _at(term: D, form: Form, dom: Space) -> tuple[D, Tree | None]:
    if isinstance(term, MapOf):
        return map_at(term, form, dom)
    if isinstance(term, Leafwise):
        return leafwise_at(term, form, dom)
    if isinstance(term, Const):
        return term, tree_of_space(term.space)
    tree = form.tree.of_arrays()
    if isinstance(term, OfOperator) and term.make in (fold, scan):
        found = tree_of_result(term.monoid.op.tree)
        if found == tree:
            return term, found
    name = term.make.__name__ if isinstance(term, Shaped) else term.name if isinstance(term, Named) else ""
    options = getattr(term, "parameters", {})
    alike = name in _ALIKE.split() or isinstance(term, Subscript) or (name == "pad" and options["value"] == 0)
    if tree == PAIR and alike:
        return cross(term, term), PAIR
    if tree == PAIR and name in _TO_COMPLEX:
        return term, PAIR
    if tree == PAIR and name in _TO_REAL:
        return term, LEAF
    if name in _NUMPY:
        return _by_numpy(name, options, tree, dom)
    raise errors.SpaceError(errors.complex_for_reals(term))


def _by_numpy(name: str, options: Mapping[str, Any], tree: Tree, dom: Space) -> tuple[D, Tree | None]:
    parts = tree.parts if tree.kind is tuple else (tree,)
    function = function_term(_call_of(name, len(parts), options))
    made: Any = function.traced(dom, Form(parts))  # type: ignore[attr-defined]
    return made, made.notes.result_tree


def _call_of(name: str, count: int, options: Mapping[str, Any]) -> Callable[..., Any]:
    """A Python function of so many arguments that calls NumPy's."""
    function = _NUMPY[name]
    if count == 1:
        return lambda x: function(x, **options)
    return lambda *xs: function(*xs, **options)


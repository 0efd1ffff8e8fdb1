"""Forms of calls: how arguments stand for a value of a domain.

A `Form` has the trees of the arguments by position and by name, as `inspect.Signature.bind` sorts them. The arguments that have
arrays or numbers are the factors of the domain; one of them alone is the domain. The others are static.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from catad.category.spaces import ComplexTensor, Product, Space, Tensor
from catad.values.complex_numbers import ComplexPair, complex_dtype
from catad.values.trees import LEAF, PAIR, Static, Tree


class Form(NamedTuple):
    """How a call gives the arguments: the trees of those by position, and of those by name.

    `inner` is the form of the point, where that is one argument of several: those of a tangent functor.
    """

    args: tuple[Tree, ...]
    kwargs: tuple[tuple[str, Tree], ...] = ()
    inner: Form | None = None

    @property
    def trees(self) -> tuple[Tree, ...]:
        return (*self.args, *[tree for _, tree in self.kwargs])

    @property
    def dynamic(self) -> list[int]:
        """Which arguments have arrays or numbers: they are the factors of the domain."""
        return [k for k, tree in enumerate(self.trees) if not tree.is_static]

    @property
    def tree(self) -> Tree:
        """The tree of the value of the domain."""
        trees = self.trees
        found = tuple([trees[k] for k in self.dynamic])
        return found[0] if len(found) == 1 else Tree(tuple, tuple(range(len(found))), found)

    def values(self, x: Any) -> tuple[list[Any], dict[str, Any]]:
        """The arguments as the function takes them, from a value of the domain."""
        where = self.dynamic
        parts = dict(zip(where, (x,) if len(where) == 1 else x, strict=True))
        made = [tree.restore(parts.get(k, ())) for k, tree in enumerate(self.trees)]
        n = len(self.args)
        return made[:n], {name: made[n + k] for k, (name, _) in enumerate(self.kwargs)}


def space_in_tree(tree: Tree | None, space: Space) -> Space:
    """The space of values in a tree: that of complex arrays where pairs of real ones stand for these."""
    if tree is None or isinstance(space, Tensor):
        return space
    assert isinstance(space, Product)
    if tree.kind is ComplexPair:
        part = space.factors[0]
        return ComplexTensor(part.shape, complex_dtype(part.dtype)) if isinstance(part, Tensor) else space
    if len(tree.parts) != len(space.factors):
        return space
    return Product([space_in_tree(part, factor) for part, factor in zip(tree.parts, space.factors, strict=True)])


def tree_of_space(space: Space) -> Tree:
    """The form of a value of a space: arrays in tuples."""
    if isinstance(space, ComplexTensor):
        return PAIR
    if isinstance(space, Product):
        parts = tuple([tree_of_space(factor) for factor in space.factors])
        return Tree(tuple, tuple(range(len(parts))), parts)
    return LEAF


def tangent_tree(tree: Tree, space: Space) -> Tree:
    """The form of a tangent of a value: `()` stands for integers, and static values are what they are."""
    if isinstance(space, Tensor):
        return LEAF if space.is_float else Tree("static", Static(()))
    if tree.kind == "static":
        return tree
    assert isinstance(space, Product)
    parts = tuple([tangent_tree(part, factor) for part, factor in zip(tree.parts, space.factors, strict=True)])
    return tree._replace(parts=parts)


# -- signatures


def visible_signature(fn: Any, bound: Mapping[str, Any], free: Sequence[str]) -> inspect.Signature:
    """The signature of a function with some parameters fixed, and with names from outside as its first parameters."""
    found = inspect.signature(fn)
    own = [p for p in found.parameters.values() if p.name not in bound]
    by_position = any(p.kind is p.POSITIONAL_ONLY for p in own)
    kind = inspect.Parameter.POSITIONAL_ONLY if by_position else inspect.Parameter.POSITIONAL_OR_KEYWORD
    return found.replace(parameters=[*[inspect.Parameter(name, kind) for name in free if name not in bound], *own])


def name_of(signature: inspect.Signature, k: int) -> str:
    """The name of the parameter that takes an argument by its position."""
    for i, p in enumerate(signature.parameters.values()):
        if i == k or p.kind is p.VAR_POSITIONAL:
            return p.name
    raise IndexError(k)


def _spread(signature: inspect.Signature, static: Sequence[str]) -> tuple[list[inspect.Parameter], bool]:
    """The parameters that take factors of a domain, and whether there is one for any number of them."""
    parameters = [p for p in signature.parameters.values() if p.name not in static]
    variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    return [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)], variadic


def takes_the_whole(signature: inspect.Signature, static: Sequence[str]) -> bool:
    """True for a function of one parameter: that takes a value of the domain as it is."""
    parameters, variadic = _spread(signature, static)
    return len(parameters) == 1 and not variadic


def form_of_factors(signature: inspect.Signature, static: Sequence[str], trees: Sequence[Tree]) -> Form | None:
    """The form of a call with these factors of a domain; None where the function does not take so many."""
    parameters, variadic = _spread(signature, static)
    required = [p for p in parameters if p.default is p.empty]
    missing = [p for p in signature.parameters.values() if p.name in static and p.default is p.empty]
    if missing or len(trees) < len(required) or (len(trees) > len(parameters) and not variadic):
        return None
    rest = list(trees)
    args: list[Tree] = []
    kwargs: list[tuple[str, Tree]] = []
    by_name = False
    for p in signature.parameters.values():
        if p.kind is p.VAR_POSITIONAL:
            later = [q for q in parameters if q.kind is q.KEYWORD_ONLY and q.default is q.empty]
            count = len(rest) - len(later)
            args, rest = [*args, *rest[:count]], rest[count:]
        elif p.name in static or p.kind is p.VAR_KEYWORD or not rest:
            by_name = True
        elif by_name or p.kind is p.KEYWORD_ONLY:
            kwargs.append((p.name, rest.pop(0)))
        else:
            args.append(rest.pop(0))
    return None if rest else Form(tuple(args), tuple(kwargs))

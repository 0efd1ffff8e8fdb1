"""The domain at which a morphism is looked at: spaces, or example values, of which only the spaces and the trees are used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from catad import errors
from catad.category.points import with_integers
from catad.category.spaces import Product, Space, Tensor, flatten, of_parts, space_like
from catad.category.terms import D
from catad.category.wiring import codomain
from catad.front.calling import taken
from catad.front.complex_arrays import speaking
from catad.front.specialise import form_at, front_of, specialised
from catad.traced.function import Function
from catad.traced.programs.program import Program
from catad.traced.signature import space_in_tree
from catad.values.arrays import as_array, is_weak, weak_dtype, weak_dtypes
from catad.values.trees import Tree


def at_domain(term: D, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[D, Space]:
    """A term and its domain, from the space of its argument, the spaces of its arguments, or values as in a call.

    In a value, a space stands for an array or a part of a tree. Of trees, programs stand in the places of the functions that take
    them. Raises `SpaceError` where nothing is given, or what is no value.
    """
    return _at(term, args, kwargs)[:2]


def codomain_at(term: D, args: Sequence[Any], kwargs: dict[str, Any]) -> Space:
    """The codomain of a term at a domain, with spaces of complex arrays where it has such results."""
    made, dom, tree = _at(term, args, kwargs)
    return space_in_tree(tree, codomain(made, dom))


def _at(term: D, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[D, Space, Tree | None]:
    """The term, its domain, and the tree of its result where it is known."""
    if args and not kwargs and all(isinstance(arg, Space) for arg in args):
        dom = args[0] if len(args) == 1 else Product(args)
        if not dom.has_complex:
            return term, dom, None
        parts = of_parts(dom)
        made, tree = specialised(term, form_at(term, dom), parts)
        return made, parts, tree
    term = speaking(term, args)
    front = front_of(term)
    if front is None:
        if kwargs:
            raise errors.SpaceError(errors.no_keywords(term, kwargs))
        if not args:
            raise errors.SpaceError(errors.no_domain(term))
        x = args[0] if len(args) == 1 else tuple(args)
        return term, with_integers(term, _space_of(x, weak_alone=False), flatten(x))[0], None
    front.check()
    form, value = taken(term, args, kwargs)
    dom = _space_of(value, weak_alone=True)
    made, tree = specialised(term, form, dom)
    return made, dom, tree


def program_at(f: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Program:
    """The program of a function at a domain."""
    made, dom = at_domain(f, args, kwargs)
    return made if isinstance(made, Program) else f.program(dom)


def _space_of(value: Any, weak_alone: bool) -> Space:
    """The space of a value with spaces in it. Python numbers are arrays of their own, or take dtypes from what is beside them."""
    leaves = flatten(value)
    known: dict[int, Space] = {}
    for k, leaf in enumerate(leaves):
        if isinstance(leaf, Space):
            known[k] = leaf
        elif hasattr(type(leaf), "builder"):
            known[k] = leaf.space
        elif not is_weak(leaf):
            array = as_array(leaf)
            known[k] = Tensor(array.shape, array.dtype)
    weak = [leaf for leaf in leaves if is_weak(leaf)]
    beside = [each.dtype for space in known.values() for each in space.leaves]
    dtypes = iter([weak_dtype(leaf, ()) for leaf in weak] if weak_alone else weak_dtypes(weak, beside))
    return space_like(value, [known[k] if k in known else Tensor((), next(dtypes)) for k in range(len(leaves))])

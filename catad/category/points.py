"""The point at which a term is called, as arrays and as a space, with Python's integers where only integers will do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from catad import errors
from catad.category.cache import cached
from catad.category.spaces import Product, Space, Tensor, as_leaves, flatten, rebuild, space_like
from catad.category.terms import D
from catad.category.wiring import wire
from catad.values.arrays import as_number, common_module


def point_of(term: D, x: Any) -> tuple[list[Any], Space]:
    """The leaves of a point as arrays, and its space; a Python integer that must be one stays an integer beside floats."""
    leaves, given = as_leaves(x), flatten(x)
    dom, integers = with_integers(term, space_like(x, [Tensor(leaf.shape, leaf.dtype) for leaf in leaves]), given)
    for k in integers:
        leaves[k] = as_number(common_module(leaves), given[k], np.dtype(np.int64))
    return leaves, dom


def with_integers(term: D, dom: Space, given: Sequence[Any]) -> tuple[Space, Sequence[int]]:
    """A domain, and which of its leaves are Python integers that are beside floats, but which the term takes as integers only."""
    leaves: list[Space] = list(dom.leaves)
    asked = [k for k, leaf in enumerate(given) if type(leaf) is int and dom.leaves[k].dtype.kind == "f"]
    if not asked:
        return dom, ()
    found: Sequence[int] = cached(term, ("integers", dom, *asked), lambda: _integers(term, dom, asked))
    for k in found:
        leaves[k] = Tensor((), np.int64)
    return rebuild(dom, leaves, Product), found


def _integers(term: D, dom: Space, asked: Sequence[int]) -> Sequence[int]:
    """Which of some floating leaves of a domain have to be integers for the term to be laid out."""
    found: list[int] = []
    leaves: list[Space] = list(dom.leaves)
    while True:
        try:
            wire(term, rebuild(dom, leaves, Product))
        except (errors.NotAnIndex, errors.NotAnInteger) as error:
            wanted = [error.wire] if isinstance(error, errors.NotAnIndex) else [k for k in asked if k not in found]
            if not wanted or not {*wanted} <= {*asked} - {*found}:
                return ()  # the error is met again, where it is reported
            found += wanted
            leaves = [Tensor((), np.int64) if k in found else leaf for k, leaf in enumerate(leaves)]
        except errors.CatadError:
            return tuple(found)
        else:
            return tuple(found)

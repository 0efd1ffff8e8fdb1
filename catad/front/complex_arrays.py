"""Where complex arrays are among the arguments of a morphism; `complex_terms.py` says what the morphism becomes then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from catad.category.constant import Const
from catad.category.spaces import flatten
from catad.category.terms import D
from catad.scalar.ir import COMPLEX
from catad.values.complex_numbers import is_complex
from catad.vector.pointwise.map import MapOf


def speaking(term: D, args: Sequence[Any]) -> D:
    """A term that takes these arguments: a copy that speaks trees, where a complex array is among those of a term of arrays."""
    from catad.front.specialise import Front, front_of

    if front_of(term) is not None or not any(map(is_complex, flatten(tuple(args)))):
        return term
    from catad.front.calling import call_term

    made: D = object.__new__(type(term))  # equal terms may be one object, which keeps its way
    for kind in type(term).__mro__:
        for name in vars(kind).get("__slots__", ()):
            if name not in ("__dict__", "__weakref__", "_front") and hasattr(term, name):
                object.__setattr__(made, name, getattr(term, name))
    if hasattr(term, "__dict__"):
        made.__dict__.update(vars(term))
    made._front = Front(None, call=call_term)
    return made


def has_complex_result(term: D) -> bool:
    """True for a map that gives complex numbers also of real ones, and for a complex constant."""
    if isinstance(term, Const):
        return term.space.has_complex
    return isinstance(term, MapOf) and term.function is not None and _has_pair(term.function.tree)


def _has_pair(tree: Any) -> bool:
    return tree == COMPLEX or (tree is not None and any(map(_has_pair, tree)))

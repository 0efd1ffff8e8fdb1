"""Whether two terms are the same text: of the same kinds, with the same data, in the same places."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from catad.category.terms import D


def same(f: D, g: D) -> bool:
    """Syntactic equality, walking both terms side by side; shared parts are compared once."""
    stack, seen = [(f, g)], set()
    while stack:
        a, b = stack.pop()
        if a is b or (id(a), id(b)) in seen:
            continue
        if type(a) is not type(b) or hash(a) != hash(b) or a.data() != b.data():
            return False
        if len(a.children) != len(b.children):
            return False
        seen.add((id(a), id(b)))
        stack.extend(zip(a.children, b.children, strict=True))
    return True

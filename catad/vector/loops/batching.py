"""`ct.map` of a morphism runs one program for each index of a leading axis (batching, a functor on wirings)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from catad import errors
from catad.category.spaces import Product, Space, Tensor, flatten, rebuild
from catad.category.terms import D
from catad.category.trip_counts import with_trip_counts
from catad.category.wiring import at_point, share, wire
from catad.linear.batch import batch

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wires


@share
class BatchedMap(D):
    """`f` mapped over the leading axis of every leaf."""

    __slots__ = ("children",)
    children: tuple[D, ...]

    def __init__(self, f: D) -> None:
        self.children = (f,)

    def lay_out(self, b: Builder, x: Wires) -> Any:
        leaves = flatten(x)
        sizes = {wire.shape[0] if wire.ndim else None for wire in leaves}
        if len(sizes) != 1 or None in sizes:
            raise errors.SpaceError(errors.no_common_axis(b.space(x), self))
        (size,) = sizes
        element = element_of(b.space(x))

        def laid_out() -> Any:
            with at_point(element, lambda: first_of(b, leaves)):
                wiring = wire(self.children[0], element)
            return rebuild(wiring.cod, batch(b, wiring, leaves, [True] * len(leaves), size or 0))

        return with_trip_counts(laid_out)  # a while loop within is laid out in another way when it is mapped

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return f"ct.map({part(self.children[0])})"


@share
class Lanes(D):
    """`f` mapped over `size` lanes, the leading axis of those leaves of its argument that are flagged; all results have it."""

    __slots__ = ("children", "flags", "size")
    children: tuple[D, ...]

    def __init__(self, f: D, flags: tuple[bool, ...], size: int) -> None:
        self.children, self.flags, self.size = (f,), flags, size

    def data(self) -> Any:
        return (self.flags, self.size)

    def lay_out(self, b: Builder, x: Wires) -> Any:
        leaves, space = flatten(x), b.space(x)
        each = [Tensor(s.shape[1:], s.dtype) if flag else s for s, flag in zip(space.leaves, self.flags, strict=True)]
        element: Space = rebuild(space, each, Product)

        def laid_out() -> Any:
            wiring = wire(self.children[0], element)
            return rebuild(wiring.cod, batch(b, wiring, leaves, self.flags, self.size))

        return with_trip_counts(laid_out)

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return f"{name(Lanes, 'Lanes')}({part(self.children[0])}, {self.flags!r}, {self.size})"


def first_of(b: Builder, leaves: list[Any]) -> Any:
    """The first entries of what lies on some wires, where that is known and there are any."""
    found = b.values(leaves)
    return None if found is None or not all(len(a) for a in found[1]) else (found[0], [a[0] for a in found[1]])


def element_of(space: Space) -> Space:
    """The space of one entry along the leading axis that all leaves have."""
    leaves = [Tensor(leaf.shape[1:], leaf.dtype) for leaf in space.leaves]
    element: Space = rebuild(space, leaves, Product)
    return element

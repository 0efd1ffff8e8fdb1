"""`ct.map` of a morphism runs one program for each index of a leading axis (batching, a functor on wirings)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from catad import errors
from catad.category.boxes import of_fields
from catad.category.cartesian import in_pattern
from catad.category.spaces import Product, Space, Tensor, flatten, rebuild
from catad.category.terms import D
from catad.category.trip_counts import with_trip_counts
from catad.category.wiring import at_point, share, wire
from catad.linear.batch import batch

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wires


@share
@of_fields
class BatchedMap(D):
    """`f` mapped over the leading axis of every leaf."""

    drawn_as = "functor"
    f: D

    def lay_out(self, b: Builder, x: Wires) -> Any:
        leaves = flatten(x)
        sizes = {wire.shape[0] if wire.ndim else None for wire in leaves}
        if len(sizes) != 1 or None in sizes:
            raise errors.SpaceError(errors.no_common_axis(b.space(x), self))
        (size,) = sizes
        element = element_of(b.space(x))

        def laid_out() -> Any:
            with at_point(element, lambda: first_of(b, leaves)):
                wiring = wire(self.f, element)
            return rebuild(wiring.cod, batch(b, wiring, leaves, [True] * len(leaves), size or 0))

        return with_trip_counts(laid_out)  # a while loop within is laid out in another way when it is mapped

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return f"ct.map({part(self.f)})"


@share
@of_fields
class Lanes(D):
    """`f` mapped over `size` lanes, the leading axis of those leaves of its argument that are flagged; all results have it."""

    drawn_as = "functor"
    f: D
    flags: tuple[bool, ...]
    size: int

    def lay_out(self, b: Builder, x: Wires) -> Any:
        leaves, space = flatten(x), b.space(x)
        each = [Tensor(s.shape[1:], s.dtype) if flag else s for s, flag in zip(space.leaves, self.flags, strict=True)]
        element: Space = rebuild(space, each, Product)

        def laid_out() -> Any:
            wiring = wire(self.f, element)
            return rebuild(wiring.cod, batch(b, wiring, leaves, self.flags, self.size))

        return with_trip_counts(laid_out)


def first_of(b: Builder, leaves: list[Any]) -> Any:
    """The first entries of what lies on some wires, where that is known and there are any."""
    found = b.values(leaves)
    return None if found is None or not all(len(a) for a in found[1]) else (found[0], [a[0] for a in found[1]])


def first_step(b: Builder, held: list[Any], inputs: list[Any]) -> Any:
    """The values that the first step of a loop reads, of its state and of what it is given: where they are known."""
    start, own = b.values(held), first_of(b, inputs)
    return None if start is None or own is None else (start[0], [*start[1], *own[1]])


def with_inputs(b: Builder, x: Any, pattern: str, n: int, term: D) -> tuple[Any, ...]:
    """The factors of an argument of a loop of n steps, whose last are the inputs, checked."""
    parts = in_pattern(b, x, pattern, 3, term)
    if any(w.ndim == 0 or w.shape[0] != n for w in flatten(parts[-1])):
        raise errors.SpaceError(errors.inputs_per_step(n, b.space(parts[-1]), term))
    return parts


def element_of(space: Space) -> Space:
    """The space of one entry along the leading axis that all leaves have."""
    leaves = [Tensor(leaf.shape[1:], leaf.dtype) for leaf in space.leaves]
    element: Space = rebuild(space, leaves, Product)
    return element

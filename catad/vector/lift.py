"""`ct.lift(L)`: a linear map as a morphism; it is its own derivative."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

from catad import errors
from catad.category.constant import Constant
from catad.category.spaces import Space, flatten, rebuild
from catad.category.terms import D
from catad.linear.constructors import as_map
from catad.linear.families.contract import zeros
from catad.linear.map import LinearMap, linear_map
from catad.values.arrays import Array

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wires


class Lift(D):
    """See the module. The arrays of the map are constants of the term."""

    __slots__ = ("children", "cod", "dom", "structure")
    drawn_as = "linear"
    children: tuple[Constant, ...]

    def __init__(self, linear: LinearMap) -> None:
        self.dom, self.cod, self.structure = linear.dom, linear.cod, linear.structure
        self.children = tuple([Constant(slot) for slot in linear.slots])

    def data(self) -> Hashable:
        return (self.dom, self.cod, self.structure)

    @property
    def known_dom(self) -> Space:
        return self.dom

    @property
    def known_cod(self) -> Space:
        return self.cod

    def lay_out(self, b: Builder, x: Wires) -> Any:
        if b.space(x) != self.dom:
            raise errors.SpaceError(errors.not_in_domain(b.space(x), self.dom, self))
        slots = [b.add(child)[0] for child in self.children]
        outs = self.structure.apply(b, slots, flatten(x))
        return rebuild(self.cod, [zeros(b, s) if y is None else y for y, s in zip(outs, self.cod.leaves, strict=True)])

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        slots = [child.array for child in self.children]
        return f"ct.lift({name(linear_map(self.dom, self.cod, self.structure, slots), 'linear_map')})"


def lift(linear: LinearMap | Array) -> D:
    """The linear map as a morphism, its own derivative at every point; a 2-D array or a sparse matrix stands for its map.

    Raises `SpaceError` for anything else.

    >>> import catad as ct, numpy as np
    >>> ct.jvp(ct.lift(ct.scale(np.array([2.0, 3.0]))), (np.ones(2),), (np.ones(2),))
    (array([2., 3.]), array([2., 3.]))
    >>> ct.lift(np.array([[1.0, 2.0]]))(np.ones(2))
    array([3.])
    """
    return Lift(as_map(linear))

"""`choose`: one of two morphisms, as a condition on the argument says; one of them runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from catad import errors
from catad.calls import constructor
from catad.linear.either import Choose
from catad.spaces import Tensor, flatten, rebuild
from catad.terms import D, MorphismLike, morphism
from catad.wiring import share

if TYPE_CHECKING:
    from catad.wiring import Builder, Wires


@share
class Chosen(D):
    """`ct.choose(...)`."""

    __slots__ = ("children",)
    children: tuple[D, ...]

    def __init__(self, p: D, f: D, g: D) -> None:
        self.children = (p, f, g)

    def lay_out(self, b: Builder, x: Wires) -> Any:
        p, f, g = self.children
        dom = b.space(x)
        with b.at(x):
            test, first, second = [part.spaces(dom) for part in (p, f, g)]
        if not isinstance(test, Tensor) or test.shape != () or test.dtype != bool:
            raise errors.SpaceError(errors.not_a_condition(test, p))
        if first != second:
            raise errors.SpaceError(errors.sides_differ(first, second, f, g))
        return rebuild(first, b.add(Choose(f, g, dom), b.apply(p, x), *flatten(x)))

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return f"ct.choose({', '.join(map(part, self.children))})"


@constructor(morphisms="p f g")
def choose(p: MorphismLike, f: MorphismLike, g: MorphismLike) -> D:
    """f of the argument where p holds of it, else g of it: `x -> f(x) if p(x) else g(x)`.

    p is a morphism from the argument to a boolean scalar. f and g take the argument to one space, of any shapes and dtypes.
    Only one of them runs, in derivatives of any order, too: the derivative is that of the side that is taken, and nothing of
    the other side is read. Mapped by `ct.map`, each lane chooses for itself: then both sides run on all lanes, unless all
    lanes take one. For a choice between numbers, an `if` in a scalar function, or `ct.where`, is faster. Raises `SpaceError`
    where p gives something else, and where the results of f and g do not lie in one space.

    >>> import catad as ct, numpy as np
    >>> f = ct.choose(ct.sum() >> ct.map(lambda s: s > 0), ct.sqrt >> ct.sum(), ct.const(0.0))
    >>> f(np.array([4.0, 9.0])), f(np.array([4.0, -9.0]))
    (np.float64(5.0), np.float64(0.0))
    >>> ct.grad(f)(np.array([4.0, 9.0])), ct.grad(f)(np.array([4.0, -9.0]))
    (array([0.25      , 0.16666667]), array([0., 0.]))
    """
    return Chosen(*[morphism(part, "ct.choose") for part in (p, f, g)])

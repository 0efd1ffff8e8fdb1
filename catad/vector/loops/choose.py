"""`choose`: one of two morphisms, as a condition on the argument says; one of them runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from catad import errors, scalar
from catad.category.boxes import of_fields
from catad.category.constant import Constant
from catad.category.constructors import constructor
from catad.category.spaces import Tensor, flatten, rebuild
from catad.category.terms import D, MorphismLike, morphism
from catad.category.wiring import share, wire
from catad.scalar import Function
from catad.vector.loops.either import Choose
from catad.vector.pointwise.map import Map, mapped

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire, Wires, Wiring
    from catad.scalar import Node

SHORT = 64  # scalar operations of both sides that cost less than running one of them by itself


@share
@of_fields
class Chosen(D):
    """`ct.choose(...)`."""

    p: D
    f: D
    g: D

    def lay_out(self, b: Builder, x: Wires) -> Any:
        p, f, g = self.children
        dom = b.space(x)
        with b.at(x):
            test, first, second = [part.spaces(dom) for part in (p, f, g)]
        if not isinstance(test, Tensor) or test.shape != () or test.dtype != bool:
            raise errors.SpaceError(errors.not_a_condition(test, p))
        if first != second:
            raise errors.SpaceError(errors.sides_differ(first, second, f, g))
        with b.at(x):
            sides = [wire(side, dom) for side in (f, g)]
        wires = [b.apply(p, x), *flatten(x)]
        return rebuild(first, _selected(b, sides, wires) or b.add(Choose(f, g, dom), *wires))

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return f"ct.choose({', '.join(map(part, self.children))})"


def _selected(b: Builder, sides: Sequence[Wiring], wires: list[Wire]) -> list[Wire] | None:
    """A selection between the results of two short scalar functions of (condition, argument leaves): one pointwise box.

    In one box, what selects reads nothing of the other side, nor does its derivative. None where a side is something else.
    """
    if any(space.shape for side in sides for space in side.wires):
        return None
    wires = wires.copy()
    results: list[list[Node]] = []
    for side in sides:
        nodes = {k: scalar.param(1 + i) for i, k in enumerate(side.inputs)}
        for box in side.boxes:
            if isinstance(box.primitive, Map):
                nodes.update(zip(box.outs, scalar.substitute(box.primitive.function, [nodes[k] for k in box.ins]), strict=True))
            elif isinstance(box.primitive, Constant):
                nodes[box.outs[0]] = scalar.param(len(wires))
                wires += b.add(box.primitive)
            else:
                return None
        if not _typed(nodes, side, wires):
            return None
        results.append([nodes[k] for k in side.outputs])
    chosen = [scalar.apply("select", scalar.param(0), *pair) for pair in zip(*results, strict=True)]
    function = Function.make(len(wires), chosen)
    if scalar.operations(function) > SHORT or not _typed(dict(zip(sides[0].outputs, chosen, strict=True)), sides[0], wires):
        return None
    return mapped(b, chosen, wires)


def _typed(nodes: dict[int, Node], side: Wiring, wires: Sequence[Wire]) -> bool:
    """Whether expressions of some wires have the dtypes of the wires that they stand for."""
    types = scalar.result_types(Function.make(len(wires), tuple(nodes.values())), [w.dtype for w in wires])
    return all(side.wires[k].dtype == dtype for k, dtype in zip(nodes, types, strict=True))


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

"""`map`: a scalar function applied pointwise, to any number of arrays that NumPy's rules broadcast together.

    y_k[i] = f_k(x_1[i], ..., x_n[i])        dy_k[i] = sum_j (d f_k / d x_j)(x[i]) dx_j[i]

So the Jacobian with respect to each argument is a diagonal, with broadcast labels where the argument was stretched; its
coefficients are the partials, taken by dual numbers in the scalar language. A partial that is zero or constant is not stored.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors, scalar
from catad.category.boxes import Primitive, box
from catad.category.constructors import constructor
from catad.category.spaces import Tensor, flatten, rebuild, space_like
from catad.category.terms import D
from catad.linear.families.block import grid
from catad.linear.families.delta import pointwise
from catad.linear.families.reindex import Reshaped
from catad.linear.structure import Rule, Structure
from catad.scalar import Function
from catad.values.arrays import asarray
from catad.values.frozen_functions import Frozen
from catad.vector.loops.batching import BatchedMap

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire, Wires
    from catad.scalar import Node


def broadcast(spaces: Sequence[Tensor]) -> tuple[int, ...]:
    """The shape to which NumPy's rules stretch arrays in these spaces."""
    shapes = {space.shape for space in spaces}
    return shapes.pop() if len(shapes) == 1 else np.broadcast_shapes(*shapes)


@box
class Map(Primitive):
    """One pointwise box: a scalar function of the leaves with one result leaf for each of its outputs."""

    drawn_as = "pointwise"
    function: Function

    @property
    def arity(self) -> int:
        return self.function.arity

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        try:
            shape = broadcast(ins)
        except ValueError:
            raise errors.SpaceError(errors.cannot_broadcast(ins, MapOf(self.function))) from None
        types = scalar.result_types(self.function, tuple([space.dtype for space in ins]))
        return tuple([Tensor(shape, dtype) for dtype in types])

    def kernel(self, ins: tuple[Tensor, ...]) -> Callable[..., Any]:
        run = scalar.array_function(self.function)
        outs = self.typed(ins)
        shape = outs[0].shape
        uses = scalar.parameters(self.function.outputs)
        if all(used and broadcast([ins[j] for j in used]) == shape for used in uses):  # array code gives full arrays
            return run if len(outs) > 1 else lambda xp, *arrays: run(xp, *arrays)[0]

        def kernel(xp: Any, *arrays: Any) -> Any:
            full = [
                r
                if r.shape == shape and (xp is np or not isinstance(r, np.generic))  # a number of NumPy is on the host
                else xp.broadcast_to(asarray(xp, r, s.dtype), shape)
                for r, s in zip(run(xp, *arrays), outs, strict=True)
            ]
            return full[0] if len(full) == 1 else tuple(full)

        return kernel

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        columns = [j for j, space in enumerate(ins) if space.is_float]
        lines = [k for k, space in enumerate(outs) if space.is_float]
        partials = scalar.partials(self.function, columns)
        there = {(k, j): node for k in lines for j, node in zip(columns, partials[k], strict=True) if node is not None}
        numbers = {at: _number(node) for at, node in there.items()}
        slots, spaces = _slots({at: node for at, node in there.items() if numbers[at] is None}, ins, outs)

        def part(k: int, j: int) -> Structure | None:
            number = numbers.get((k, j), 0.0)
            if number == 0:
                return None
            return pointwise(ins[j], outs[k], spaces.get((k, j)), 1.0 if number is None else number)

        def coefficients(wires: tuple[Wire, ...], results: tuple[Wire, ...]) -> list[Wire]:
            return mapped(wires[0].builder, slots, wires)

        rows = [[part(k, j) for j in columns] for k in lines]
        return Rule(grid(rows, [ins[j] for j in columns], [outs[k] for k in lines]), coefficients)

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        return b.add(self, *lined_up(b, ins, flags, size))

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return outs[0].size * scalar.operations(self.function)

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        public = _PUBLIC.get(self.function)
        return f"{name(Map, 'Map')}(ct.scalar.read(ct.{public}))" if public else super().code(part, name)


def lined_up(b: Builder, ins: Sequence[Wire], flags: Sequence[bool], size: int) -> list[Wire]:
    """The arguments of a pointwise box with a new leading axis on the flagged ones, so that they broadcast as before."""
    rank = max(wire.ndim - flag for wire, flag in zip(ins, flags, strict=True))
    made = []
    for wire, flag in zip(ins, flags, strict=True):
        if flag and wire.ndim - 1 < rank:  # the new axis goes before all others
            shape = (size, *[1] * (rank - wire.ndim + 1), *wire.shape[1:])
            (wire,) = b.add(Reshaped(shape), wire)
        made.append(wire)
    return made


def _number(node: Node) -> float | None:
    """The finite number that a partial is everywhere, None for others."""
    number = scalar.constant(node)
    return float(number) if number is not None and np.isfinite(number) else None


def _slots(
    partials: Mapping[tuple[int, int], Node], ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]
) -> tuple[list[Node], dict[tuple[int, int], Tensor]]:
    """The expressions of partials by output and argument, no wider than the maps that they fill need, and their spaces.

    One of Python numbers alone, as of a choice between floats, would be a double.
    """
    nodes = list(partials.values())
    dtypes = scalar.dtypes_alone(nodes, [space.dtype for space in ins])
    slots, spaces = [], {}
    for (k, j), node, dtype, used in zip(partials, nodes, dtypes, scalar.parameters(nodes), strict=True):
        wanted = np.result_type(ins[j].dtype, outs[k].dtype)
        if np.result_type(dtype, wanted) != wanted:
            node, dtype = scalar.cast(wanted, node), wanted
        slots.append(node)
        spaces[k, j] = Tensor(broadcast([ins[i] for i in used] or ins), dtype)
    return slots, spaces


def _alone(nodes: Sequence[Node], arity: int) -> tuple[Function, list[int]]:
    """The function with these outputs of only those parameters that it uses, and which these are."""
    used = sorted(set().union(*scalar.parameters(nodes))) or list(range(arity))
    at = {j: scalar.param(i) for i, j in enumerate(used)}
    args = [at.get(j, scalar.param(0)) for j in range(arity)]
    outputs = scalar.substitute(Function.make(arity, tuple(nodes)), args)
    return Function.make(len(used), outputs), used


def mapped(b: Builder, nodes: Sequence[Node], wires: Sequence[Wire]) -> list[Wire]:
    """The wires of some scalar expressions of wires: one box for each shape that they have; equal ones are one wire.

    A parameter is the wire that it stands for.
    """
    first = {node: i for i, node in reversed(list(enumerate(nodes))) if node.op != "param"}
    groups: dict[tuple[int, ...], list[int]] = {}
    for i, used in enumerate(scalar.parameters(nodes)):
        if first.get(nodes[i]) == i:
            groups.setdefault(broadcast([wires[j].space for j in used] or [wire.space for wire in wires]), []).append(i)
    out: dict[int, Wire] = {}
    for members in groups.values():
        function, used_ = _alone([nodes[i] for i in members], len(wires))
        out.update(zip(members, b.add(Map(function), *[wires[j] for j in used_]), strict=True))
    return [wires[node.value] if node.op == "param" else out[first[node]] for node in nodes]


class MapOf(D):
    """`ct.map(fn)`: reads the function at the nesting of its argument and adds one `Map` box."""

    __slots__ = ("_box", "frozen", "function")
    drawn_as = "pointwise"

    def __init__(self, fn: Any) -> None:
        self._box: Map | None = None
        self.frozen = Frozen(fn)  # it may be read again, at another nesting
        try:
            self.function: Function | None = scalar.read(self.fn)
        except scalar.NeedsTree:
            self.function = None  # its parameters are tuples: it is read when their nesting is known

    @property
    def fn(self) -> Any:
        """The function, as it was when the morphism was made."""
        return self.frozen.ready()

    def data(self) -> Hashable:
        return self.frozen.key if self.function is None else self.function

    @property
    def lasting(self) -> bool:
        return self.function is not None

    def lay_out(self, b: Builder, x: Wires) -> Any:
        trees = _trees(x, self._count(x), self.frozen.given)
        function = self.function
        if function is None or any(tree is not None for tree in trees):
            function = scalar.read(self.fn, trees)

        leaves = flatten(x)
        if len(leaves) != function.arity:
            raise errors.SpaceError(errors.wrong_leaf_count(function.arity, b.space(x), self))
        if self._box is None or self._box.function is not function:
            self._box = Map(function)
        outs = b.add(self._box, *leaves)
        return outs[0] if function.tree is None else rebuild(space_like(function.tree, [w.space for w in outs]), outs)

    def recipe(self) -> tuple[Callable[..., D], tuple[Any, ...]]:
        return MapOf, (self.frozen.given if self.function is None else self.function,)  # the function itself may be a lambda

    def _count(self, x: Any) -> int:
        if self.function is not None:
            return len(self.function.param_trees)
        count = scalar.arity_of(self.fn)
        assert count is not None  # it has been read once
        return count

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        label = self.function.name if self.function is not None else None
        public = _PUBLIC.get(self.function) if self.function is not None else None
        if public is not None and public not in LEAFWISE:
            return f"ct.{public}"
        value = self.fn if self.function is None else self.function
        wish = label or str(getattr(self.fn, "__name__", "fn"))
        return f"ct.map({name(value, wish)})"

    @property
    def __scalar_function__(self) -> Function | None:
        return self.function


_PUBLIC: dict[Function, str] = {}  # functions that the vocabulary has a name for
LEAFWISE = (
    "add",
    "sub",
    "neg",
    "div",
    "pow",
)  # whose public name also acts on products, leaf by leaf, and so is another term


def function_code(function: Function, name: Callable[[Any, str], str]) -> str:
    """Python that is read as a scalar function: its public name, or what `name` gives for it."""
    public = _PUBLIC.get(function)
    return f"ct.{public}" if public else name(function, function.name)


def _trees(x: Any, count: int, fn: Any) -> tuple[Any, ...]:
    """The nesting of each of `count` parameters, from wires: a product has a factor for each, nested to the left or flat."""
    return tuple([scalar.tree_of(part) for part in spine(x, count, fn)])


def spine(x: Any, count: int, fn: Any) -> tuple[Any, ...]:
    """What each of `count` parameters takes of a nested tuple."""
    if count == 1:
        return (x,)
    parts: list[Any] = []
    while isinstance(x, tuple) and len(x) == 2 and len(parts) < count - 2:
        parts.insert(0, x[1])
        x = x[0]
    flat = (x, *parts) if not isinstance(x, tuple) else (*x, *parts)
    if len(flat) != count:
        space = getattr(x, "space", None)
        raise errors.SpaceError(errors.wrong_parameter_count(count, len(flat), space, fn))
    return flat


@constructor(morphisms="fn")
def map(fn: Callable[..., Any]) -> D:
    """Apply a scalar function pointwise; or map a morphism over a leading axis (batching).

    `fn` is a plain Python function of scalars (or of tuples of scalars), read by its source; its parameters take the factors
    of the domain, arrays that broadcast together. A function that returns a tuple gives a product.

    Shapes follow NumPy's broadcasting, dtypes NEP 50. Derivatives of any order are those of the expressions of the function, so
    the Jacobian by an array is a diagonal. Raises `ScalarError` (file, line and column) where the function cannot be read,
    `SpaceError` where the arrays do not broadcast.

    >>> import catad as ct, numpy as np
    >>> relu = ct.map(lambda x: x if x > 0 else 0.0)
    >>> ct.value_and_grad(relu >> ct.sum())(np.array([-1.0, 2.0]))
    (np.float64(2.0), array([0., 1.]))
    """
    if isinstance(fn, D):
        return BatchedMap(fn)
    return MapOf(fn)


def named(name: str, function: Function) -> MapOf:
    """A morphism of the vocabulary: prints as `ct.<name>`."""
    _PUBLIC.setdefault(function, name)
    return MapOf(function)

"""Derivatives: one functor, used in different ways.

Linearising a wiring at a point turns every box into its linear map, by the one rule of the box. The result is a `Network` of
structured maps with a slot for each coefficient. Pushing a tangent through it is forward mode, pulling a cotangent back is
reverse mode, and multiplying it out is the Jacobian. `differential`, `reverse_differential` and `tangent` do the same on
terms: they are morphisms again, so they compose, fuse, draw and differentiate as any other. Notation: D[f], R[f], T[f] of R.
Cockett et al., Reverse derivative categories, 2020.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from catad import errors
from catad.calls import constructor
from catad.engine.fuse import fuse, parts
from catad.linear.block import Zero, chain, reached_by
from catad.linear.network import Network, Node
from catad.linear.recurrence import zeros
from catad.linear.structure import Rule, Structure
from catad.spaces import Space, Tensor, flatten, rebuild, tangent_space
from catad.term_cache import cached
from catad.terms import D, MorphismLike, morphism
from catad.wiring import Box, Builder, Wiring, share, wire

if TYPE_CHECKING:
    from catad.wiring import Wire, Wires


def fused(term: D, dom: Space) -> Wiring:
    """The wiring of a term with its maps fused, as it is linearised; kept with the wiring."""
    wiring = wire(term, dom)
    found: Wiring | None = wiring.__dict__.get("fused")
    if found is None:
        found = wiring.__dict__["fused"] = fuse(wiring)
    return found


def linear_graph(
    b: Builder, wiring: Wiring, xs: Sequence[Wire], by: Sequence[int] | None = None
) -> tuple[list[Wire], Network, list[Wire]]:
    """Lay out a fused wiring together with its coefficients: the results, the network of linear maps, the wires of its slots.

    `by` are the inputs by which it is differentiated, by their positions; None for all. The others are constant.
    """
    at: dict[int, Wire] = dict(zip(wiring.inputs, xs, strict=True))
    for box in wiring.boxes:
        _lay(b, wiring, box, at)
    chosen = wiring.inputs if by is None else [wiring.inputs[i] for i in by]
    starts = [k for k in chosen if wiring.wires[k].is_float]
    rules = _needed_rules(wiring, starts)
    number: dict[int, int] = {}  # a wire of the wiring -> its tangent wire
    spaces: list[Tensor] = []
    slots: dict[int, int] = {}  # a wire of the builder -> its slot
    slot_wires: list[Wire] = []
    nodes: list[Node] = []

    def tangent(k: int) -> int:
        if k not in number:
            number[k] = len(spaces)
            spaces.append(wiring.wires[k])
        return number[k]

    inputs = tuple([tangent(k) for k in starts])
    for box, rule in zip(wiring.boxes, rules, strict=True):
        if rule is None:
            continue
        own = rule.coefficients(tuple([at[k] for k in box.ins]), tuple([at[k] for k in box.outs]))
        numbers = []
        for slot in own:
            if slot.number not in slots:
                slots[slot.number] = len(slot_wires)
                slot_wires.append(slot)
            numbers.append(slots[slot.number])
        ins = tuple([tangent(k) for k in box.ins if wiring.wires[k].is_float])
        outs = tuple([tangent(k) for k in box.outs if wiring.wires[k].is_float])
        nodes += _nodes(rule.structure, tuple(numbers), ins, outs, spaces)
    results = [at[k] for k in wiring.outputs]
    floats = [k for k in wiring.outputs if wiring.wires[k].is_float]
    known = {*inputs, *[k for node in nodes for k in node.outs]}
    outputs = tuple([number[k] if number.get(k, -1) in known else -1 for k in floats])
    ends = tuple([wiring.wires[k] for k in floats])
    kept = _reached(nodes, inputs)
    network = Network(tuple(spaces), inputs, tuple(kept), outputs, ends, tuple([w.space for w in slot_wires]))
    return results, network, slot_wires


def _lay(b: Builder, wiring: Wiring, box: Box, at: dict[int, Wire]) -> None:
    """Lay out a box of a fused wiring as the boxes that it stands for, so that others that compute the same share them.

    The fused box has the derivative; what it computes is fused again, with all around it, before it runs.
    """
    for part in parts(wiring, box):
        at.update(zip(part.outs, b.add(part.primitive, *[at[k] for k in part.ins]), strict=True))


def _needed_rules(wiring: Wiring, starts: Sequence[int]) -> list[Rule | None]:
    """The rule of each box on a path from some inputs to an output that no map on it makes zero; None for the others."""
    active = set(starts)
    for box in wiring.boxes:
        if not active.isdisjoint(box.ins):
            active.update(k for k in box.outs if wiring.wires[k].is_float)
    needed = {k for k in wiring.outputs if k in active}
    rules: list[Rule | None] = []
    for box in reversed(wiring.boxes):
        rule = None
        if not needed.isdisjoint(box.outs) and not active.isdisjoint(box.ins):
            rule = box.primitive.rule(wiring.spaces(box.ins), wiring.spaces(box.outs))
            if rule is not None:
                floats = [k for k in box.ins if wiring.wires[k].is_float]
                needed.update(k for k, there in zip(floats, _columns(rule.structure), strict=True) if there)
        rules.append(rule)
    return _reaching(wiring, rules[::-1], starts)


def _reaching(wiring: Wiring, rules: list[Rule | None], starts: Sequence[int]) -> list[Rule | None]:
    """The rules without those of boxes that no tangent reaches: what comes before them is zero by structure."""
    live = set(starts)
    kept: list[Rule | None] = []
    for box, rule in zip(wiring.boxes, rules, strict=True):
        if rule is not None:
            flags = [k in live for k in box.ins if wiring.wires[k].is_float]
            reached = reached_by(rule.structure, flags)
            floats = [k for k in box.outs if wiring.wires[k].is_float]
            live.update(k for k, there in zip(floats, reached, strict=True) if there)
            rule = rule if any(reached) else None
        kept.append(rule)
    return kept


def _columns(structure: Structure) -> list[bool]:
    """Which argument leaves a structure depends on."""
    first = structure.series[0][0]
    while first is not structure:
        structure, first = first, first.series[0][0]
    grid, widths, _ = structure.blocks
    there = [any(line[c] is not None for line in grid) for c in range(len(widths))]
    return [flag for flag, width in zip(there, widths, strict=True) for _ in range(width)]


def _nodes(
    structure: Structure, numbers: tuple[int, ...], ins: tuple[int, ...], outs: tuple[int, ...], spaces: list[Tensor]
) -> list[Node]:
    """The nodes of one rule: a chain becomes one for each of its parts."""
    made, reads = [], ins
    for i, (part, own) in enumerate(structure.series):
        if i == len(structure.series) - 1:
            writes = outs
        else:
            writes = tuple(range(len(spaces), len(spaces) + len(part.cod)))
            spaces.extend(part.cod)
        made.append(Node((part, tuple([numbers[k] for k in own])), reads, writes))
        reads = writes
    return made


def _reached(nodes: Sequence[Node], inputs: tuple[int, ...]) -> list[Node]:
    """The nodes that some input reaches, with unreached arguments taken as they are: zero."""
    live = set(inputs)
    kept = []
    for node in nodes:
        if not live.isdisjoint(node.ins):
            live.update(node.outs)
            kept.append(node)
    return kept


def as_chain(network: Network) -> Structure:
    """A network without forks as the chain it is, one that nothing goes through as zero."""
    if not network.slots and all(k < 0 for k in network.outputs):
        return Zero(network.dom, network.cod)
    live = network.inputs
    for node in network.nodes:
        if node.ins != live:
            return network
        live = node.outs
    if network.outputs != live or not network.nodes:
        return network
    used = {k for node in network.nodes for k in node.part[1]}
    if used != set(range(len(network.slots))):
        return network
    found = chain([node.part for node in network.nodes])
    return found if found.slots == network.slots else network


def linearised(f: D, dom: Space) -> tuple[D, Structure]:
    """The morphism from a point to (value, slots), and the structure of the derivative that the slots fill."""

    def made() -> Structure:
        b = Builder()
        xs = [b.wire(space) for space in dom.leaves]
        return as_chain(linear_graph(b, fused(f, dom), xs)[1])

    return Linearised(f), cached(f, ("structure", dom), made)


@share
class Linearised(D):
    """See `linearised`."""

    __slots__ = ("children",)
    children: tuple[D, ...]

    def __init__(self, f: D) -> None:
        self.children = (f,)

    def lay_out(self, b: Builder, x: Wires) -> Any:
        wiring = fused(self.children[0], b.space(x))
        ys, _, slots = linear_graph(b, wiring, flatten(x))
        return rebuild(wiring.cod, ys), tuple(slots)

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return f"{name(Linearised, 'Linearised')}({part(self.children[0])})"


# -- functors on terms


def _parts(b: Builder, x: Any, term: D) -> tuple[Any, Any]:
    if not isinstance(x, tuple) or len(x) != 2:
        raise errors.SpaceError(errors.not_a_pattern("(point, tangent or cotangent)", b.space(x), term))
    return x[0], x[1]


def _tangents(b: Builder, v: Any, space: Space, what: str, term: D) -> list[Wire]:
    """The wires of a tangent or cotangent, which must lie in the tangent space of `space`."""
    if b.space(v) != tangent_space(space):
        raise errors.SpaceError(errors.wrong_tangent(what, tangent_space(space), b.space(v), term))
    return flatten(v)


def filled(b: Builder, space: Space, terms: Sequence[Wire | None]) -> Any:
    """A value of the tangent space: zeros where the tangent is zero by structure, `()` for integers."""
    it = iter(terms)
    leaves: list[Any] = []
    for leaf in space.leaves:
        if leaf.is_float:
            term = next(it)
            leaves.append(zeros(b, leaf) if term is None else term)
        else:
            leaves.append(())
    return rebuild(space, leaves)


class _Derived(D):
    """Base of the lazily expanded derivatives of a term."""

    __slots__ = ("children",)
    children: tuple[D, ...]
    name = ""

    def __init__(self, f: D) -> None:
        self.children = (f,)

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return f"ct.{self.name}({part(self.children[0])})"


@share
class Differential(_Derived):
    """D[f] : A * T(A) -> T(B)."""

    __slots__ = ()
    name = "differential"

    def lay_out(self, b: Builder, x: Wires) -> Any:
        point, v = _parts(b, x, self)
        return _pushed(self, b, point, v)[1]


@share
class Tangent(_Derived):
    """T[f] : A * T(A) -> B * T(B)."""

    __slots__ = ()
    name = "tangent"

    def lay_out(self, b: Builder, x: Wires) -> Any:
        point, v = _parts(b, x, self)
        return _pushed(self, b, point, v)


def _pushed(term: D, b: Builder, point: Any, v: Any) -> tuple[Any, Any]:
    """Forward mode: box by box the results and their tangents, by the box's rule or by its cheaper way to both."""
    dom = b.space(point)
    tangents = _tangents(b, v, dom, "tangent", term)
    with b.at(point):
        wiring = fused(term.children[0], dom)
    floats = [k for k in wiring.inputs if wiring.wires[k].is_float]
    at: dict[int, Wire] = dict(zip(wiring.inputs, flatten(point), strict=True))
    moved: dict[int, Wire | None] = dict(zip(floats, tangents, strict=True))
    for box, rule in zip(wiring.boxes, _needed_rules(wiring, floats), strict=True):
        own = [moved.get(k) for k in box.ins if wiring.wires[k].is_float]
        if rule is None or all(t is None for t in own):
            _lay(b, wiring, box, at)
            continue
        ins = tuple([at[k] for k in box.ins])
        found = box.primitive.pushed(b, ins, own)
        if found is not None:
            outs, made = found
            at.update(zip(box.outs, outs, strict=True))
        else:
            _lay(b, wiring, box, at)
            made = rule.structure.apply(b, rule.coefficients(ins, tuple([at[k] for k in box.outs])), own)
        moved.update(zip([k for k in box.outs if wiring.wires[k].is_float], made, strict=True))
    dys = [moved.get(k) for k in wiring.outputs if wiring.wires[k].is_float]
    return rebuild(wiring.cod, [at[k] for k in wiring.outputs]), filled(b, wiring.cod, dys)


@share
class ReverseDifferential(_Derived):
    """R[f] : A * T(B) -> T(A)."""

    __slots__ = ()
    name = "reverse_differential"

    def lay_out(self, b: Builder, x: Wires) -> Any:
        point, w = _parts(b, x, self)
        dom = b.space(point)
        with b.at(point):
            wiring = fused(self.children[0], dom)
        cotangents = _tangents(b, w, wiring.cod, "cotangent", self)
        _, network, slots = linear_graph(b, wiring, flatten(point))
        return filled(b, dom, network.T.apply(b, slots, cotangents))


@constructor(morphisms="f")
def differential(f: MorphismLike) -> D:
    """D[f] : A * T(A) -> T(B), the derivative at a point in a direction, as a morphism.

    It is linear in the tangent, which has the shapes and dtypes of the argument, with `()` for integers. Raises `SpaceError`
    for an argument that is no morphism, `DerivativeError` where a derivative does not exist. Source: R. Blute, R. Cockett
    and R. Seely, Cartesian Differential Categories, 2009.

    >>> import catad as ct
    >>> ct.differential(ct.sin)(0.0, 2.0)
    np.float64(2.0)
    """
    return Differential(morphism(f, "ct.differential"))


@constructor(morphisms="f")
def reverse_differential(f: MorphismLike) -> D:
    """R[f] : A * T(B) -> T(A), the transposed derivative at a point on a cotangent, as a morphism.

    It is linear in the cotangent, which has the shapes and dtypes of the result, with `()` for integers. Raises `SpaceError`
    for an argument that is no morphism, `DerivativeError` where a derivative does not exist. Source: R. Cockett and others,
    Reverse Derivative Categories, 2020.

    >>> import catad as ct
    >>> ct.reverse_differential(ct.mul)((2.0, 3.0), 1.0)
    (np.float64(3.0), np.float64(2.0))
    """
    return ReverseDifferential(morphism(f, "ct.reverse_differential"))


@constructor(morphisms="f")
def tangent(f: MorphismLike) -> D:
    """T[f] : A * T(A) -> B * T(B), the tangent functor: value and derivative together.

    Tangents have the shapes and dtypes of their points, with `()` for integers. Raises `SpaceError` for an argument that is
    no morphism, `DerivativeError` where a derivative does not exist. Source: R. Cockett and G. Cruttwell, Differential
    Structure, Tangent Structure, and SDG, 2014.

    >>> import catad as ct
    >>> ct.tangent(ct.exp)(0.0, 2.0)
    (np.float64(1.0), np.float64(2.0))
    """
    return Tangent(morphism(f, "ct.tangent"))

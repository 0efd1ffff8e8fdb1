"""Derivatives: one functor, used in different ways.

Linearising a wiring at a point turns every box into its linear map, by the one rule of the box. The result is a `Network` of
structured maps with a slot for each coefficient. Pushing a tangent through it is forward mode, pulling a cotangent back is
reverse mode, and multiplying it out is the Jacobian. `differential`, `reverse_differential` and `tangent` do the same on
terms: they are morphisms again, so they compose, fuse, draw and differentiate as any other. Notation: D[f], R[f], T[f] of R.
Cockett et al., Reverse derivative categories, 2020.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from catad import errors
from catad.category.boxes import of_fields
from catad.category.cache import cached
from catad.category.cartesian import in_pattern
from catad.category.constructors import constructor
from catad.category.spaces import Space, Tensor, flatten, rebuild, some_tangents
from catad.category.terms import D, MorphismLike, morphism
from catad.category.text import called
from catad.category.wiring import Box, Builder, Wiring, share, wire
from catad.engine.rewrites.fuse import fuse, parts
from catad.linear.families.block import Zero, chain, reached_by
from catad.linear.families.contract import zeros
from catad.linear.network import Network, Node
from catad.linear.structure import Rule, Structure

if TYPE_CHECKING:
    from catad.category.wiring import Wire, Wires
    from catad.linear.dead_results import Leaves


def fused(term: D, dom: Space) -> Wiring:
    """The wiring of a term with its maps fused, as it is linearised; kept with the wiring."""
    wiring = wire(term, dom)
    found: Wiring | None = wiring.__dict__.get("fused")
    if found is None:
        found = wiring.__dict__["fused"] = fuse(wiring)
    return found


def linear_graph(
    b: Builder, wiring: Wiring, xs: Sequence[Wire], by: Sequence[int] | None = None, of: Sequence[int] | None = None
) -> tuple[list[Wire], Network, list[Wire]]:
    """Lay out a fused wiring together with its coefficients: the results, the network of linear maps, the wires of its slots.

    `by` are the inputs by which it is differentiated, and `of` the results whose derivatives there are, by their positions; None
    for all. The others are constant.
    """
    at: dict[int, Wire] = dict(zip(wiring.inputs, xs, strict=True))
    for box in wiring.boxes:
        _lay(b, wiring, box, at)
    starts = _chosen(wiring, wiring.inputs, by)
    floats = _chosen(wiring, wiring.outputs, of)
    rules = _needed_rules(wiring, starts, floats)
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
        ins, outs = [tuple([tangent(k) for k in own]) for own in _ends(wiring, box, rule)]
        nodes += _nodes(rule.structure, tuple(numbers), ins, outs, spaces)
    results = [at[k] for k in wiring.outputs]
    known = {*inputs, *[k for node in nodes for k in node.outs]}
    outputs = tuple([number[k] if number.get(k, -1) in known else -1 for k in floats])
    ends = tuple([wiring.wires[k] for k in floats])
    network = Network(tuple(spaces), inputs, tuple(nodes), outputs, ends, tuple([w.space for w in slot_wires]))
    return results, network, slot_wires


def network_at(f: D, dom: Space, by: Leaves = None, of: Leaves = None) -> Network:
    """The derivative of a term at a space as a graph of structured maps; `by` and `of` are as for `linear_graph`."""
    b = Builder()
    return linear_graph(b, fused(f, dom), [b.wire(space) for space in dom.leaves], by, of)[1]


def _lay(b: Builder, wiring: Wiring, box: Box, at: dict[int, Wire]) -> None:
    """Lay out a box of a fused wiring as the boxes that it stands for, so that others that compute the same share them.

    The fused box has the derivative; what it computes is fused again, with all around it, before it runs.
    """
    for part in parts(wiring, box):
        at.update(zip(part.outs, b.add(part.primitive, *[at[k] for k in part.ins]), strict=True))


def _floats(wiring: Wiring, wires: Sequence[int], flags: Sequence[bool] | None = None) -> list[int]:
    """The floating ones of some wires, or those of them that are flagged."""
    floats = [k for k in wires if wiring.wires[k].is_float]
    return floats if flags is None else [k for k, flag in zip(floats, flags, strict=True) if flag]


def _chosen(wiring: Wiring, wires: Sequence[int], leaves: Sequence[int] | None) -> list[int]:
    """The floating ones of some wires, or of those at these positions."""
    return _floats(wiring, wires if leaves is None else [wires[i] for i in leaves])


def _ends(wiring: Wiring, box: Box, rule: Rule) -> tuple[list[int], list[int]]:
    """The wires of a box between whose tangents its rule is."""
    return _floats(wiring, box.ins, rule.by), _floats(wiring, box.outs, rule.of)


def _needed_rules(wiring: Wiring, starts: Sequence[int], ends: Sequence[int]) -> list[Rule | None]:
    """The rule of each box on a path from some inputs to some outputs that no map on it makes zero; None for the others."""
    active = set(starts)
    for box in wiring.boxes:
        if not active.isdisjoint(box.ins):
            active.update(_floats(wiring, box.outs))
    needed = {k for k in ends if k in active}
    rules: list[Rule | None] = []
    for box in reversed(wiring.boxes):
        rule = None
        if not needed.isdisjoint(box.outs) and not active.isdisjoint(box.ins):
            rule = _rule(wiring, box, active, [k in needed for k in _floats(wiring, box.outs)])
            if rule is not None:
                floats, _ = _ends(wiring, box, rule)
                needed.update(k for k, there in zip(floats, _columns(rule.structure), strict=True) if there)
        rules.append(rule)
    return _reaching(wiring, rules[::-1], starts)


def _rule(wiring: Wiring, box: Box, active: set[int], of: Sequence[bool]) -> Rule | None:
    """The rule of a box, by what is active, of some of its floating results."""
    by = [k in active for k in _floats(wiring, box.ins)]
    if not any(by) or not any(of):
        return None
    found: Rule | None = box.primitive.rule_within(wiring.spaces(box.ins), wiring.spaces(box.outs), tuple(by), tuple(of))
    return found


def _reaching(wiring: Wiring, rules: list[Rule | None], starts: Sequence[int]) -> list[Rule | None]:
    """The rules without those of boxes that no tangent reaches: what comes before them is zero by structure."""
    live = set(starts)
    kept: list[Rule | None] = []
    for box, rule in zip(wiring.boxes, rules, strict=True):
        if rule is not None and rule.by is not None and not live.issuperset(_ends(wiring, box, rule)[0]):
            rule = _rule(wiring, box, live, rule.of or [True] * len(_floats(wiring, box.outs)))
        if rule is not None:
            ins, outs = _ends(wiring, box, rule)
            reached = reached_by(rule.structure, [k in live for k in ins])
            live.update(k for k, there in zip(outs, reached, strict=True) if there)
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


def linearised(f: D, dom: Space, by: Leaves = None, of: Leaves = None) -> tuple[D, Structure]:
    """The morphism from a point to (value, slots), and the structure of the derivative that the slots fill.

    `by` and `of` are the leaves of the point by which, and those of the value of which, there is a derivative; None for all.
    """

    return Linearised(f, by, of), cached(f, ("structure", dom, by, of), lambda: as_chain(network_at(f, dom, by, of)))


@share
@of_fields
class Linearised(D):
    """See `linearised`."""

    drawn_as = "functor"
    f: D
    by: Leaves = None
    of: Leaves = None

    def lay_out(self, b: Builder, x: Wires) -> Any:
        wiring = fused(self.f, b.space(x))
        ys, _, slots = linear_graph(b, wiring, flatten(x), self.by, self.of)
        return rebuild(wiring.cod, ys), tuple(slots)


# -- functors on terms


def _parts(b: Builder, x: Any, term: D) -> tuple[Any, ...]:
    return in_pattern(b, x, "(point, tangent or cotangent)", 2, term)


def _tangents(b: Builder, v: Any, space: Space, what: str, term: D, leaves: Leaves) -> list[Wire]:
    """The wires of a tangent or cotangent, which must lie in the tangent space of `space`."""
    expected = some_tangents(space, leaves)
    if b.space(v) != expected:
        raise errors.SpaceError(errors.wrong_tangent(what, expected, b.space(v), term))
    return flatten(v)


def filled(b: Builder, space: Space, terms: Sequence[Wire | None], chosen: Leaves = None) -> Any:
    """A value of the tangent space: zeros where the tangent is zero by structure, `()` for integers."""
    expected = some_tangents(space, chosen)
    return rebuild(expected, [zeros(b, s) if t is None else t for t, s in zip(terms, expected.leaves, strict=True)])


@of_fields
class _Derived(D):
    """Base of the lazily expanded derivatives of a term.

    With `by` and `of` there are tangents only of these floating leaves of the argument, and of these of the result.
    """

    drawn_as = "functor"
    f: D
    by: Leaves = None
    of: Leaves = None
    name: ClassVar[str] = ""

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        everywhere = self.by is None and self.of is None
        return f"ct.{self.name}({part(self.f)})" if everywhere else called(self, name)


@share
class Differential(_Derived):
    """D[f] : A * T(A) -> T(B)."""

    name = "differential"

    def lay_out(self, b: Builder, x: Wires) -> Any:
        point, v = _parts(b, x, self)
        return _pushed(self, b, point, v)[1]


@share
class Tangent(_Derived):
    """T[f] : A * T(A) -> B * T(B)."""

    name = "tangent"

    def lay_out(self, b: Builder, x: Wires) -> Any:
        point, v = _parts(b, x, self)
        return _pushed(self, b, point, v)


def _pushed(term: _Derived, b: Builder, point: Any, v: Any) -> tuple[Any, Any]:
    """Forward mode: box by box the results and their tangents, by the box's rule or by its cheaper way to both."""
    dom = b.space(point)
    tangents = _tangents(b, v, dom, "tangent", term, term.by)
    with b.at(point):
        wiring = fused(term.f, dom)
    floats, ends = _chosen(wiring, wiring.inputs, term.by), _chosen(wiring, wiring.outputs, term.of)
    at: dict[int, Wire] = dict(zip(wiring.inputs, flatten(point), strict=True))
    moved: dict[int, Wire | None] = dict(zip(floats, tangents, strict=True))
    for box, rule in zip(wiring.boxes, _needed_rules(wiring, floats, ends), strict=True):
        own = [moved.get(k) for k in _floats(wiring, box.ins)]
        if rule is None or all(t is None for t in own):
            _lay(b, wiring, box, at)
            continue
        ins = tuple([at[k] for k in box.ins])
        found = box.primitive.pushed(b, ins, own)
        if found is not None:
            outs, made = found
            at.update(zip(box.outs, outs, strict=True))
            moved.update(zip(_floats(wiring, box.outs), made, strict=True))
        else:
            _lay(b, wiring, box, at)
            reads, writes = _ends(wiring, box, rule)
            slots = rule.coefficients(ins, tuple([at[k] for k in box.outs]))
            moved.update(zip(writes, rule.structure.apply(b, slots, [moved.get(k) for k in reads]), strict=True))
    made = filled(b, wiring.cod, [moved.get(k) for k in ends], term.of)
    return rebuild(wiring.cod, [at[k] for k in wiring.outputs]), made


@share
class ReverseDifferential(_Derived):
    """R[f] : A * T(B) -> T(A)."""

    name = "reverse_differential"

    def lay_out(self, b: Builder, x: Wires) -> Any:
        point, w = _parts(b, x, self)
        dom = b.space(point)
        with b.at(point):
            wiring = fused(self.f, dom)
        cotangents = _tangents(b, w, wiring.cod, "cotangent", self, self.of)
        _, network, slots = linear_graph(b, wiring, flatten(point), self.by, self.of)
        return filled(b, dom, network.T.apply(b, slots, cotangents), self.by)


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

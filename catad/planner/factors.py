"""What is planned: a chain of structured maps, its factors, and how two neighbouring products are joined to one.

A partial product is a tuple of `Part`s, the first applied first; it has one part unless a product has no rule, which
leaves it as a chain. A part names its slot arrays: k >= 0 is slot k of the whole chain, a negative number an array that
some product has computed. So the same array met twice is known to be the same, and the memory that is alive is known to
the byte.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from catad.linear.block import Chain
from catad.linear.block import chain as unmultiplied
from catad.linear.network import Network
from catad.linear.products import Product, multiply
from catad.linear.structure import Placed, Structure
from catad.spaces import Product as Spaces
from catad.spaces import Tensor
from catad.wiring import Builder


class Part(NamedTuple):
    """A structure with the numbers of the arrays in its slots."""

    structure: Structure
    ids: tuple[int, ...]


State = tuple[Part, ...]  # a partial product


class Factors(NamedTuple):
    """A chain to be planned: its parts, the first applied first, and the spaces of all slots that they use."""

    parts: tuple[Part, ...]
    slots: tuple[Tensor, ...]

    @property
    def nbytes(self) -> int:
        """The size of all slots of the factors in bytes."""
        return sum(slot.nbytes for slot in self.slots)


@lru_cache(maxsize=1024)
def factors_of(structure: Structure) -> Factors:
    """The factors of a structure: the parts of a chain, the stages of a network, or the structure itself."""
    flat: list[Part] = []
    stack = [Part(structure, tuple(range(len(structure.slots))))]
    while stack:
        top, ids = stack.pop()
        if isinstance(top, Network):
            stages = top.stages
            stack.append(Part(stages, ids[: len(stages.slots)]))
        elif isinstance(top, Chain):
            stack += [Part(s, tuple([ids[k] for k in own])) for s, own in reversed(top.parts)]
        else:
            flat.append(Part(top, ids[: len(top.slots)]))
    return Factors(tuple(flat), structure.slots)


class Multiplied(NamedTuple):
    """A product of two parts: slot s of the result is operand array `results[s]` or, below zero, a computed array."""

    product: Product
    results: tuple[int, ...]
    operations: int
    computed: tuple[int, ...]  # the sizes of the computed arrays in bytes
    read: int  # the size of the arrays of both operands in bytes, each once


@lru_cache(maxsize=65536)
def multiplied(first: Structure, second: Structure, ls: tuple[int, ...], rs: tuple[int, ...]) -> Multiplied | None:
    """The product of two structures whose slots are the arrays `ls` and `rs`, numbered by first use; None without a rule.

    The operations are counted on the boxes that compute the product, equal ones once.
    """
    shared = frozenset((i, j) for i, a in enumerate(ls) for j, c in enumerate(rs) if a == c)
    product = multiply(first, second, shared)
    if product is None:
        return None
    b = Builder()
    spaces = dict(zip((*ls, *rs), (*first.slots, *second.slots), strict=True))
    wires = [b.wire(spaces[k]) for k in range(len(spaces))]
    outs = product.combine(b, [wires[k] for k in ls], [wires[k] for k in rs])
    number = {wire.number: k for k, wire in enumerate(wires)}
    computed: list[int] = []
    for wire in outs:
        if wire.number not in number:
            computed.append(wire.space.nbytes)
            number[wire.number] = -len(computed)
    boxes = b.finish(Spaces(tuple(spaces.values())), tuple(wires), tuple(outs)).boxes if computed else ()
    operations = sum(
        p.cost(tuple([b.spaces[k] for k in ins]), tuple([b.spaces[k] for k in written])) for p, ins, written in boxes
    )
    read = sum(space.nbytes for space in spaces.values())
    return Multiplied(product, tuple([number[w.number] for w in outs]), operations, tuple(computed), read)


class Action(NamedTuple):
    """One product of two parts within a join, with the numbers of the arrays it reads and makes."""

    left: Part
    right: Part
    result: Part
    found: Multiplied


class Joined(NamedTuple):
    """The product of two partial products, with the products of parts that make it."""

    state: State
    actions: tuple[Action, ...]
    peak: int  # the most bytes of computed arrays alive meanwhile, those of both operands included


def _meet(left: Part, right: Part, fresh: Iterator[int]) -> Action | None:
    names: dict[int, int] = {}
    ls = tuple([names.setdefault(k, len(names)) for k in left.ids])
    rs = tuple([names.setdefault(k, len(names)) for k in right.ids])
    found = multiplied(left.structure, right.structure, ls, rs)
    if found is None:
        return None
    back = tuple(names)
    new = [next(fresh) for _ in found.computed]
    ids = tuple([back[r] if r >= 0 else new[-1 - r] for r in found.results])
    return Action(left, right, Part(found.product.structure, ids), found)


def join(first: State, second: State, fresh: Iterator[int]) -> Joined:
    """The product of two neighbouring partial products; `fresh` gives numbers below zero for the arrays it computes.

    The parts that meet are multiplied where there is a rule, and what comes of it with its neighbours in turn: a product
    that has a rule is always carried out, so that what stays a chain is only what has none.
    """
    action = _meet(first[-1], second[0], fresh)
    if action is None:
        return Joined(first + second, (), held(first) + held(second))
    before, after = list(first[:-1]), list(second[1:])
    middle = _parts(action.result)
    actions = [action]
    alive = held(first) + held(second)
    peak = alive + sum(action.found.computed)
    for _ in range(4 * (len(first) + len(second))):  # a bound; each rule that fits shortens the chain or moves a diagonal on
        action = _meet(before[-1], middle[0], fresh) if before else None
        if action is not None:
            alive = held((*before, *middle, *after))
            before.pop()
            middle = _parts(action.result) + middle[1:]
        else:
            action = _meet(middle[-1], after[0], fresh) if after else None
            if action is None:
                break
            alive = held((*before, *middle, *after))
            after.pop(0)
            middle = middle[:-1] + _parts(action.result)
        actions.append(action)
        peak = max(peak, alive + sum(action.found.computed))
    return Joined((*before, *middle, *after), tuple(actions), peak)


def leaf(part: Part) -> State:
    """A single factor as a partial product: the parts of a chain one by one."""
    return tuple(_parts(part))


def _parts(part: Part) -> list[Part]:
    if not isinstance(part.structure, Chain):
        return [part]
    return [Part(s, tuple([part.ids[k] for k in own])) for s, own in part.structure.parts]


def held(state: Sequence[Part]) -> int:
    """The bytes of the computed arrays that a partial product keeps, each array once."""
    sizes = {k: space.nbytes for s, ids in state for k, space in zip(ids, s.slots, strict=True) if k < 0}
    return sum(sizes.values())


def canonical(state: State) -> State:
    """The same with the computed arrays numbered -1, -2, ... by first use, so that equal states are equal."""
    names: dict[int, int] = {}
    return tuple(
        [
            Part(s, tuple([k if k >= 0 else names.setdefault(k, -1 - len(names)) for k in ids]) if ids else ids)
            for s, ids in state
        ]
    )


def shifted(state: State, by: int) -> State:
    """The same with other numbers for the computed arrays, `by` further below zero."""
    return tuple([Part(s, tuple([k if k >= 0 else k - by for k in ids])) for s, ids in state]) if by else state


def computed_count(state: State) -> int:
    """How many computed arrays a canonical state has."""
    return max((-k for _, ids in state for k in ids if k < 0), default=0)


def structure_of(state: State) -> tuple[Structure, tuple[int, ...]]:
    """The structure of a partial product and the numbers of the arrays in its slots."""
    if len(state) == 1:
        return state[0]
    names: dict[int, int] = {}
    placed: list[Placed] = [(s, tuple([names.setdefault(k, len(names)) for k in ids])) for s, ids in state]
    structure = unmultiplied(placed)
    return structure, () if structure.is_zero else tuple(names)


def kind_of(state: State) -> str:
    """What people call the map, briefly: a long chain by its length."""
    return state[0].structure.kind if len(state) == 1 else f"chain of {len(state)}"


__all__ = [
    "Action", "Factors", "Joined", "Multiplied", "Part", "State", "canonical", "computed_count", "factors_of", "held",
    "join", "kind_of", "leaf", "multiplied", "shifted", "structure_of",
]  # fmt: skip

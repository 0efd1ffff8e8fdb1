"""The subject of a bracketing: a chain of structured maps, its factors, and how two neighbouring products are joined to one.

A partial product is a tuple of `Part`s, the first applied first; it has one part unless a product has no rule, which
leaves it as a chain. A part names its slot arrays: k >= 0 is slot k of the whole chain, a negative number an array that
some product has computed. So the same array met twice is known to be the same, and the memory that is alive is known to
the byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from catad.category.boxes import Nesting, Primitive
from catad.category.spaces import Product, Tensor
from catad.category.wiring import Builder, Wiring, wire
from catad.linear.families.block import Zero
from catad.linear.families.block import chain as unmultiplied
from catad.linear.families.contract import Contract
from catad.linear.products import MapProduct, cost_of_wiring, multiply
from catad.linear.structure import Placed, Structure
from catad.planner.chains.pushes import accumulated, pulled, pushed
from catad.support.lru import remembered


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


@remembered(weight=lambda factors: len(factors.parts))
def factors_of(structure: Structure) -> Factors:
    """The factors of a structure: the parts of a chain, the stages of a network, or the structure itself."""
    parts = parts_of(Part(structure, tuple(range(len(structure.slots)))))
    return Factors(tuple(parts), structure.slots)


Work = tuple[str, int, int, int]  # of the boxes of one kernel: its name, how many, bytes read and written, operations


class Multiplied(NamedTuple):
    """A product of two parts: slot s of the result is operand array `results[s]` or, below zero, a computed array."""

    product: MapProduct
    results: tuple[int, ...]
    operations: int
    computed: tuple[int, ...]  # the sizes of the computed arrays in bytes
    read: int  # the size of the arrays of both operands in bytes, each once
    work: tuple[Work, ...]
    wiring: Wiring | None = None  # from the arrays of the operands to those of the result, where it is kept


@remembered
def multiplied(first: Structure, second: Structure, ls: tuple[int, ...], rs: tuple[int, ...]) -> Multiplied | None:
    """The product of two structures whose slots are the arrays `ls` and `rs`, numbered by first use; None without a rule.

    Two maps without a rule are multiplied by pushing or pulling, where one of them is written out. The operations are
    counted on the boxes that compute the product, equal ones once.
    """
    shared = frozenset((i, j) for i, a in enumerate(ls) for j, c in enumerate(rs) if a == c)
    product = multiply(first, second, shared)
    if product is not None:
        if first.is_full and second.is_full and not shared:
            return _of_dense(product, first, second)
        return measured(product, first, second, ls, rs)
    if not (first.is_lazy or second.is_lazy):
        return None
    found = [measured(p, first, second, ls, rs) for p in (pushed(first, second), pulled(first, second)) if p is not None]
    return min(found, key=lambda m: m.operations) if found else None


def _of_dense(product: MapProduct, first: Structure, second: Structure) -> Multiplied:
    """The result of `measured` for two dense arrays: one matrix product, whose cost is known without laying it out."""
    (a,), (c,), (made,) = first.slots, second.slots, product.structure.slots
    operations = first.columns * first.rows * second.rows
    read = a.nbytes + c.nbytes
    work = (("matmul", 1, read + made.nbytes, operations),)
    return Multiplied(product, (-1,), operations, (made.nbytes,), read, work)


@remembered
def written_out(structure: Structure, ids: tuple[int, ...], backwards: bool) -> Multiplied:
    """A map written out by applying it, or its transpose, to a basis."""
    return measured(accumulated(structure, backwards), structure, NOTHING, ids, (), True)


NOTHING = Zero((), ())  # stands for the factor that is not there


def measured(
    product: MapProduct, first: Structure, second: Structure, ls: tuple[int, ...], rs: tuple[int, ...], keep: bool = False
) -> Multiplied:
    """A product with what it costs, and with its wiring where that is to be kept."""
    b = Builder()
    spaces = dict(zip((*ls, *rs), (*first.slots, *second.slots), strict=True))
    wires = [b.wire(spaces[k]) for k in range(len(spaces))]
    outs = product.combine(b, [wires[k] for k in ls], [wires[k] for k in rs])
    number = {wire.number: k for k, wire in enumerate(wires)}
    computed: list[int] = []
    for out in outs:
        if out.number not in number:
            computed.append(out.space.nbytes)
            number[out.number] = -len(computed)
    wiring = b.finish(Product(tuple(spaces.values())), tuple(wires), tuple(outs)) if computed or keep else None
    boxes = () if wiring is None else wiring.boxes
    work = work_of(
        [(p, tuple([b.spaces[k] for k in ins]), tuple([b.spaces[k] for k in ends])) for p, ins, ends in boxes if ins]
    )
    read = sum(space.nbytes for space in spaces.values())
    results = tuple([number[w.number] for w in outs])
    total = sum(line[3] for line in work)
    return Multiplied(product, results, total, tuple(computed), read, work, wiring if keep else None)


Spaced = tuple[Primitive, tuple[Tensor, ...], tuple[Tensor, ...]]  # a box with the spaces that it reads and writes


def work_of(boxes: Iterable[Spaced]) -> tuple[Work, ...]:
    """The work of some boxes, kernel by kernel; a box that runs programs takes what these take."""
    done: dict[str, list[int]] = {}

    def add(times: int, name: str, *amounts: int) -> None:
        line = done.setdefault(name, [0, 0, 0])
        line[:] = [total + times * amount for total, amount in zip(line, amounts, strict=True)]

    for primitive, ins, outs in boxes:
        inner = (
            [(times, wire(term, dom)) for times, term, dom in primitive.programs()] if isinstance(primitive, Nesting) else []
        )
        for times, wiring in inner:
            for line in work_of([(p, wiring.spaces(a), wiring.spaces(z)) for p, a, z in wiring.boxes if a]):
                add(times, *line)
        own = primitive.cost(ins, outs) - sum([times * cost_of_wiring(wiring) for times, wiring in inner])
        if own or not inner:
            add(1, kernel_of(primitive), 1, sum(space.nbytes for space in (*ins, *outs)), own)
    return tuple([(name, line[0], line[1], line[2]) for name, line in sorted(done.items())])


def kernel_of(primitive: Primitive) -> str:
    """The kernel that runs a box, as far as its speed goes: the name of its class; contractions that sum are matrix products."""
    name = type(primitive).__name__
    if isinstance(primitive, Contract) and len(primitive.operands) == 2:
        inner = set(primitive.operands[0]) & set(primitive.operands[1])
        return "Contract" if inner <= set(primitive.out) else "matmul"
    return name


class Action(NamedTuple):
    """One product of two parts, a part written out, or a sum of two, with the numbers of the arrays it reads and makes."""

    left: Part
    right: Part  # NOTHING where a part is written out
    result: Part
    found: Multiplied
    backwards: bool = False
    adds: bool = False  # a sum of both instead

    @property
    def is_product(self) -> bool:
        return self.right.structure is not NOTHING


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
    return None if found is None else made(left, right, found, tuple(names), fresh)


def made(
    left: Part, right: Part, found: Multiplied, back: tuple[int, ...], fresh: Iterator[int], backwards: bool = False
) -> Action:
    """An action whose result names its arrays; `back` gives the operands' arrays by their numbers in `found`."""
    new = [next(fresh) for _ in found.computed]
    ids = tuple([back[r] if r >= 0 else new[-1 - r] for r in found.results])
    return Action(left, right, Part(found.product.structure, ids), found, backwards)


def write_out(state: State, backwards: bool, fresh: Iterator[int]) -> Joined:
    """A partial product of which some part is known by its application only, written out."""
    structure, numbers = structure_of(state)
    names: dict[int, int] = {}
    ids = tuple([names.setdefault(k, len(names)) for k in numbers])
    found = written_out(structure, ids, backwards)
    action = made(Part(structure, numbers), Part(NOTHING, ()), found, tuple(names), fresh, backwards)
    return Joined(tuple(parts_of(action.result)), (action,), held(state) + sum(found.computed))


def lazy(state: State) -> bool:
    """True where some part of a partial product is known only by how it is applied."""
    return any(part.structure.is_lazy for part in state)


def join(first: State, second: State, fresh: Iterator[int]) -> Joined:
    """The product of two neighbouring partial products; `fresh` gives numbers below zero for the arrays it computes.

    The parts that meet are multiplied where there is a rule, and what comes of it with its neighbours in turn: a product
    that has a rule is always carried out, so that what stays a chain is only what has none.
    """
    action = _meet(first[-1], second[0], fresh)
    if action is None:
        return Joined(first + second, (), held(first) + held(second))
    before, after = list(first[:-1]), list(second[1:])
    middle = parts_of(action.result)
    actions = [action]
    alive = held(first) + held(second)
    peak = alive + sum(action.found.computed)
    for _ in range(4 * (len(first) + len(second))):  # a bound; each rule that fits shortens the chain or moves a diagonal on
        action = _meet(before[-1], middle[0], fresh) if before else None
        if action is not None:
            alive = held((*before, *middle, *after))
            before.pop()
            middle = parts_of(action.result) + middle[1:]
        else:
            action = _meet(middle[-1], after[0], fresh) if after else None
            if action is None:
                break
            alive = held((*before, *middle, *after))
            after.pop(0)
            middle = middle[:-1] + parts_of(action.result)
        actions.append(action)
        peak = max(peak, alive + sum(action.found.computed))
    return Joined((*before, *middle, *after), tuple(actions), peak)


def weight(state: State) -> int:
    """The number of plain maps of which the parts of a state are made."""
    return sum(terms(part.structure) for part in state)


@remembered
def terms(structure: Structure) -> int:
    """The number of plain maps of which a structure is made."""
    return 1 if structure.pieces is None else sum(terms(piece) for piece in structure.pieces)


@remembered
def meeting(first: Structure, second: Structure) -> int:
    """The pairs of plain maps that meet in a product: of two grids, those that have a place of the space between in common."""
    a, c = first.blocks, second.blocks
    if a.rows != c.columns:
        return terms(first) * terms(second)
    into = [sum([terms(part[0]) for part in line if part is not None]) for line in a.grid]
    out = [sum([terms(part[0]) for part in line if part is not None]) for line in zip(*c.grid, strict=True)]
    return sum([n * m for n, m in zip(into, out, strict=True)])


def leaf(part: Part) -> State:
    """A single factor as a partial product: the parts of a chain, and the stages of a network, one by one."""
    return tuple(parts_of(part))


def parts_of(part: Part) -> list[Part]:
    """The parts of a chain and the stages of a network, one by one; anything else as it is."""
    flat: list[Part] = []
    stack = [part]
    while stack:
        top, ids = stack.pop()
        top = top.stages
        series = top.series
        if series[0][0] is top:
            flat.append(Part(top, ids[: len(top.slots)]))
        else:
            stack += [Part(s, tuple([ids[k] for k in own])) for s, own in reversed(series)]
    return flat


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
    """The number of computed arrays of a canonical state."""
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
    """A short name of the map: a long chain by its length."""
    return state[0].structure.kind if len(state) == 1 else f"chain of {len(state)}"


def kind_text(structure: Structure, most: int = 80) -> str:
    """A name of a map, cut where it is long."""
    return structure.kind if len(structure.kind) <= most else structure.kind[: most - 3] + "..."


def spaces_text(leaves: Sequence[Tensor]) -> str:
    """The spaces of some leaves, briefly."""
    text = " * ".join([repr(leaf).replace("ct.", "") for leaf in leaves])
    return text if len(text) <= 60 else f"{len(leaves)} arrays, {sum(leaf.size for leaf in leaves)} numbers"


def difference(planned: Factors, found: Factors) -> str:
    """The place where two chains differ, for a message."""
    if len(planned.parts) != len(found.parts):
        return f"it has {len(found.parts)} factor{'s' * (len(found.parts) != 1)}, the plan {len(planned.parts)}"
    for k, (a, c) in enumerate(zip(planned.parts, found.parts, strict=True)):
        if a.structure != c.structure:
            return f"factor {k} is {_described(c.structure)}, in the plan {_described(a.structure)}"
    return "its factors share arrays in another way"


def _described(structure: Structure) -> str:
    return f"{kind_text(structure, 60)} {spaces_text(structure.dom)} -> {spaces_text(structure.cod)}"

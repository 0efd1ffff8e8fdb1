"""The execution of a bracketing: its steps, the structure it gives, the program that carries it out, and the cost."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, pairwise
from typing import Any, NamedTuple

from catad.category.spaces import Product, Tensor
from catad.category.wiring import Builder, Wire, Wiring
from catad.engine.program import Program
from catad.linear.structure import Structure
from catad.planner.chains.brackets import ALL, PULL, Tree, is_plain, ranges
from catad.planner.chains.factors import (
    Action,
    Factors,
    Joined,
    State,
    held,
    join,
    kind_of,
    leaf,
    meeting,
    structure_of,
    write_out,
)
from catad.planner.costs.cost import Cost, Model, moved, value_of
from catad.planner.heuristics import OutOfWork
from catad.support.lru import remembered


class Multiplication(NamedTuple):
    """One product of a bracketing, or one map written out by pushing or pulling a basis.

    `left` and `right` are (first, last) factor numbers, the left applied first; where a map is written out, `right` is that map
    again and `how` "push" or "pull". `operations` and `bytes` are what the step adds to the program; `lazy` says that no rule
    fits, so that the product stays a chain.
    """

    left: tuple[int, int]
    right: tuple[int, int]
    kinds: tuple[str, str, str]  # of left, right and result
    shape: tuple[int, int]  # rows and columns of the result
    operations: int
    bytes: int
    lazy: bool
    how: str = "multiply"

    @property
    def line(self) -> str:
        """`factors 0-1 with 2: dense >> dense = dense 2x100, 16,000 operations, 66,000 bytes`."""
        first, second, result = [kind if len(kind) <= 40 else kind[:37] + "..." for kind in self.kinds]
        left, right = [str(a) if a == z else f"{a}-{z}" for a, z in (self.left, self.right)]
        made = f"{result} {self.shape[0]}x{self.shape[1]}"
        spent = "kept as it is" if self.lazy else f"{self.operations:,} operations, {self.bytes:,} bytes"
        if self.how == "multiply":
            return f"{left} with {right}: {first} >> {second} = {made}, {spent}"
        return f"{left} written out, {WRITTEN[self.how]}: {first} = {made}, {spent}"


WRITTEN = {"push": "columns pushed", "pull": "rows pulled"}


@dataclass(frozen=True)
class Execution:
    """A strategy carried out on wires."""

    steps: tuple[Any, ...]
    cost: Cost
    result: Structure
    wiring: Wiring = field(compare=False)  # from the slots of the chain to those of the result; it follows from the strategy
    additive: bool  # whether no two steps share work, so that the operations of the steps add up
    made: dict[str, Program] = field(default_factory=dict, compare=False, repr=False)  # its program, when it first runs

    @property
    def program(self) -> Program:
        """The program that runs the wiring."""
        found = self.made.get("program")
        if found is None:
            found = self.made["program"] = Program(self.wiring)
        return found

    def __getstate__(self) -> dict[str, Any]:
        """The state for pickle: all but the program, which is made again."""
        return {**vars(self), "made": {}}


def fresh_numbers() -> Iterator[int]:
    """Numbers below zero for computed arrays."""
    return count(-1, -1)


class Traced(NamedTuple):
    """A bracketing without its program: the joins in order, the peak in bytes, and what is to be made small."""

    tree: Tree
    joins: tuple[Joined, ...]
    peak: int
    value: float


class TooDear(OutOfWork):
    """One bracketing would cost more than it may."""


def as_they_stand(factors: Factors) -> State:
    """All factors, none multiplied."""
    return tuple([part for factor in factors.parts for part in leaf(factor)])


def trace(factors: Factors, tree: Tree, model: Model = None, budget: float = math.inf, most: float = math.inf) -> Traced:
    """Follow a bracketing over structures, its steps put in the order that needs least memory.

    Raises `OutOfWork` where that would look at more products of terms than the budget, for each product that is none of two
    plain maps, and `TooDear` where it would cost more than `most`.
    """
    n = len(factors.parts)
    nodes: list[State] = [leaf(part) for part in factors.parts]
    peaks = [0] * n
    kept = [0] * n
    joins: list[Joined] = []
    fresh = fresh_numbers()
    order: list[bool] = []
    value: float = 0
    for left, right in tree:
        if left == ALL:
            joined = write_out(as_they_stand(factors), right == PULL, fresh)
            peak, left_first = joined.peak, True
        elif right < 0:
            joined = write_out(nodes[left], right == PULL, fresh)
            peak, left_first = max(peaks[left], joined.peak), True
        else:
            pairs = meeting(nodes[left][-1].structure, nodes[right][0].structure)
            budget -= pairs if pairs > 1 else 0
            if budget < 0:
                raise OutOfWork
            joined = join(nodes[left], nodes[right], fresh)
            peak, left_first = meeting_peak(peaks[left], kept[left], peaks[right], kept[right], joined.peak)
        value += value_of(joined.actions, model)
        if value > most:
            raise TooDear
        joins.append(joined)
        nodes.append(joined.state)
        peaks.append(peak)
        kept.append(held(joined.state) if joined.actions else kept[left] + kept[right])
        order.append(left_first)
    if not is_plain(n, tree):
        tree, joins = _ordered(n, tree, joins, order)
    return Traced(tree, tuple(joins), peaks[-1] + factors.nbytes, value)


def meeting_peak(left: int, left_kept: int, right: int, right_kept: int, joining: int) -> tuple[int, bool]:
    """The peak of a product from those of its halves, and whether the left half is better done first."""
    one, two = max(left, left_kept + right), max(right, right_kept + left)
    return max(min(one, two), joining), one <= two


def _ordered(n: int, tree: Tree, joins: list[Joined], left_first: list[bool]) -> tuple[Tree, list[Joined]]:
    """The steps of a tree in another order: below each, first the half that is better done first."""
    order: list[int] = []
    stack = [len(tree) - 1]
    while stack:  # each step after its halves, built backwards
        s = stack.pop()
        order.append(s)
        left, right = tree[s]
        halves = (left, right) if left_first[s] else (right, left)
        stack += [node - n for node in halves if node >= n]
    order.reverse()
    place = {n + s: n + at for at, s in enumerate(order)}
    moved_tree = tuple([(place.get(tree[s][0], tree[s][0]), place.get(tree[s][1], tree[s][1])) for s in order])
    return moved_tree, [joins[s] for s in order]


def execute(factors: Factors, traced: Traced) -> Execution:
    """Lay a traced bracketing out as one wiring, and count on it what it costs."""
    n = len(factors.parts)
    last: State = traced.joins[-1].state if traced.joins else leaf(factors.parts[0])
    result, ids = structure_of(last)
    wiring, spent, additive = on_wires(factors.slots, [joined.actions for joined in traced.joins], ids)
    states: list[State] = [leaf(part) for part in factors.parts]
    where = ranges(n, traced.tree)
    steps = []
    for s, (joined, operations) in enumerate(zip(traced.joins, spent, strict=True)):
        states.append(joined.state)
        left, right = traced.tree[s]
        ends_of = (as_they_stand(factors) if left == ALL else states[left], None if right < 0 else states[right])
        spans = ((0, n - 1) if left == ALL else where[left], None if right < 0 else where[right])
        steps.append(_step(ends_of, spans, right, joined, operations))
    cost = Cost(sum(spent), sum(step.bytes for step in steps), traced.peak, traced.value)
    return Execution(tuple(steps), cost, result, wiring, additive, _made(factors, traced.tree))


@remembered
def _made(factors: Factors, tree: Tree) -> dict[str, Program]:
    """The programs of executions, which all plans that do the same share."""
    return {}


def on_wires(
    slots: tuple[Tensor, ...], steps: Sequence[Sequence[Action]], results: Sequence[int]
) -> tuple[Wiring, list[int], bool]:
    """The actions of some steps as one wiring from slots to the arrays `results`, and the operations that each step adds.

    These are those of the boxes that the result needs. Beside them whether no two steps share work.
    """
    b = Builder()
    wires = [b.wire(space) for space in slots]
    at: dict[int, Wire] = dict(enumerate(wires))
    ends = [0]
    for actions in steps:
        for action in actions:
            _carry_out(b, action, at)
        ends.append(len(b.boxes))
    wiring = b.finish(Product(slots), tuple(wires), tuple([at[k] for k in results]))
    needed = {box.outs for box in wiring.boxes}
    spent = [
        sum([p.cost(wiring.spaces(ins), wiring.spaces(outs)) for p, ins, outs in b.boxes[start:end] if outs in needed])
        for start, end in pairwise(ends)
    ]
    return wiring, spent, sum(spent) == sum([action.found.operations for actions in steps for action in actions])


def _carry_out(b: Builder, action: Action, at: dict[int, Wire]) -> None:
    """Add the boxes of a product or sum; `at` has the wires of arrays by their numbers."""
    wiring = action.found.wiring
    if wiring is not None:
        outs = b.inline(wiring, [at[k] for k in dict.fromkeys((*action.left.ids, *action.right.ids))])
    else:
        outs = action.found.product.combine(b, [at[k] for k in action.left.ids], [at[k] for k in action.right.ids])
    at.update(zip(action.result.ids, outs, strict=True))


def _step(
    operands: tuple[State, State | None],
    spans: tuple[tuple[int, int], tuple[int, int] | None],
    right: int,
    joined: Joined,
    operations: int,
) -> Multiplication:
    made = joined.state
    rows, columns = made[-1].structure.rows, made[0].structure.columns
    how = "multiply" if right >= 0 else "pull" if right == PULL else "push"
    first, second = operands
    kinds = (kind_of(first), kind_of(first if second is None else second), kind_of(made))
    spent = moved(joined.actions)
    left_span, right_span = spans
    lazy = not joined.actions
    return Multiplication(left_span, right_span or left_span, kinds, (rows, columns), operations, spent, lazy, how)

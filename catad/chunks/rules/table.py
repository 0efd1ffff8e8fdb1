"""The table of rules: for each class of boxes what it does on arrays in blocks, in code and in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from catad.category.boxes import Primitive
from catad.category.spaces import Product, Tensor
from catad.category.wiring import Builder, Wire, Wiring
from catad.chunks.plan import Labels, LayLabelled, Plan
from catad.chunks.wires import Chunked

Apply = Callable[[Plan, Any, Sequence[Chunked], Sequence[Tensor]], Sequence[Chunked]]


class Entry(NamedTuple):
    """A row of the table: what happens where the box's own axes are cut, and what is exchanged."""

    apply: Apply
    cut: str
    exchanged: str


RULES: dict[type[Primitive], Entry] = {}
WHOLE: dict[type[Primitive], str] = {}
"""Boxes that run on whole arrays, with the reason."""


def rule(*boxes: type[Primitive], cut: str, exchanged: str = "nothing") -> Callable[[Apply], Apply]:
    """Decorator: the rule of some classes of boxes, with its words for the table."""

    def enter(apply: Apply) -> Apply:
        for box in boxes:
            assert box not in RULES, f"{box.__name__} has two rules"
            RULES[box] = Entry(apply, cut, exchanged)
        return apply

    return enter


def rule_of(primitive: Primitive) -> Apply:
    """The rule of the class of a box, or of the nearest class from which it inherits; whole arrays where there is none.

    A class that says `chunks` itself has the rule of boxes from outside.
    """
    for cls in type(primitive).__mro__:
        if cls in RULES:
            return RULES[cls].apply
        if cls in WHOLE:
            break
        if vars(cls).get("chunks") is not None:
            return RULES[Primitive].apply
    return _whole


def because(primitive: Primitive) -> str:
    """Why a box runs on whole arrays."""
    for cls in type(primitive).__mro__:
        if cls in WHOLE:
            return WHOLE[cls]
    return "it has no rule for chunks"


def local(
    plan: Plan,
    primitive: Primitive,
    ins: Sequence[tuple[Chunked, Labels]],
    outs: Sequence[tuple[Tensor, Labels]],
    because: str,
    lay: LayLabelled | None = None,
) -> Sequence[Chunked]:
    """A box that is local along the labels of its results, on whole arrays where nothing is cut along these."""
    ours = {label for _, labels in outs for label in labels} - {None}
    along = [len(sizes) > 1 and label in ours for x, labels in ins for sizes, label in zip(x.parts, labels, strict=True)]
    if not any(along) and any(x.is_cut for x, _ in ins):
        return plan.on_whole(primitive, [x for x, _ in ins], [space for space, _ in outs], because)
    return plan.labelled(words(primitive), ins, outs, lay or itself(primitive))[0]


def itself(primitive: Primitive) -> LayLabelled:
    """Lays out, on each block, the box that it is on whole arrays."""
    return lambda b, wires, sizes: b.add(primitive, *wires)


def words(primitive: Primitive) -> str:
    """The name of the class of a box in words, as tasks have it."""
    name = type(primitive).__name__
    return "".join([f" {c.lower()}" if c.isupper() and k else c.lower() for k, c in enumerate(name)])


def _whole(plan: Plan, primitive: Primitive, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    return plan.on_whole(primitive, ins, outs, because(primitive))


def plan_of(plan: Plan, wiring: Wiring, arguments: Sequence[Chunked]) -> list[Chunked]:
    """The results of a wiring on arrays in blocks: each box by its rule."""
    at: dict[int, Chunked] = dict(zip(wiring.inputs, arguments, strict=True))
    sole = _sole(wiring)
    for box in wiring.boxes:
        primitive, ins, outs = box
        own = [at[k] for k in ins]
        made = rule_of(primitive)(plan, primitive, own, wiring.spaces(outs))
        for k, x in zip(outs, made, strict=True):
            x.sole = k in sole and x not in own
            at[k] = x
    return [at[k] for k in wiring.outputs]


def _sole(wiring: Wiring) -> set[int]:
    """The wires that are read once, by a box whose results are read once or by nobody, or as a result of the program."""
    readers = dict(Counter(wiring.outputs))
    found = {k for k, n in readers.items() if n == 1}
    for _, ins, outs in reversed(wiring.boxes):
        alone = all(readers.get(k, 0) == 0 or k in found for k in outs)
        for k in ins:
            readers[k] = readers.get(k, 0) + 1
            if readers[k] == 1 and alone:
                found.add(k)
            else:
                found.discard(k)
    return found


def by_boxes(plan: Plan, ins: Sequence[Chunked], lay: Callable[[Builder, Sequence[Wire]], Sequence[Wire]]) -> list[Chunked]:
    """What a box does that means some others: each by its rule."""
    b = Builder()
    wires = tuple([b.wire(x.space) for x in ins])
    return plan_of(plan, b.finish(Product(tuple([x.space for x in ins])), wires, tuple(lay(b, wires))), ins)

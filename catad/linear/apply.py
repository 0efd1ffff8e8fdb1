"""Structures as wirings: the program that applies one, and the basis on which it becomes dense."""

from __future__ import annotations

from catad.category.spaces import Product
from catad.category.wiring import Builder, Wiring
from catad.linear.structure import Structure
from catad.support.lru import remembered


@remembered(weight=lambda made: len(made[0].boxes) // 4)
def applying(structure: Structure, present: tuple[bool, ...] | None = None) -> tuple[Wiring, tuple[bool, ...]]:
    """The wiring from (slots..., argument leaves...) to the result leaves, and which results there are.

    `present` says which argument leaves there are, the others being symbolic zeros; a result that is zero by structure is
    left out of the wiring and flagged False.
    """
    b = Builder()
    slots = [b.wire(space) for space in structure.slots]
    there = present or (True,) * len(structure.dom)
    xs = [b.wire(space) if flag else None for space, flag in zip(structure.dom, there, strict=True)]
    outs = structure.apply(b, slots, xs)
    made = [wire for wire in outs if wire is not None]
    ins = (*slots, *[x for x in xs if x is not None])
    dom = Product(tuple([wire.space for wire in ins]))
    return b.finish(dom, ins, tuple(made)), tuple([wire is not None for wire in outs])

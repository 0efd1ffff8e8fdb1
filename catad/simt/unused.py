"""Numbers that a loop carries and nobody asks for, such as its own variable, are left out of a kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from catad import scalar
from catad.scalar import Node
from catad.simt.arrays import Repeat, Step, every, nodes_of


def without_unused(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The statements, in which loops carry only what a statement, a condition or another such number depends on."""
    asked = _parameters(_effects(steps))
    left = [state for step in every(steps) if isinstance(step, Repeat) for state in step.states]
    while True:
        found = [one for one in left if one.inside in asked or one.after in asked]
        if not found:
            return _kept(steps, asked)
        left = [one for one in left if one not in found]
        asked |= _parameters([node for one in found for node in (one.init, one.step)])


def _parameters(nodes: Sequence[Node]) -> set[int]:
    return {k for one in scalar.parameters(nodes) for k in one}


def _effects(steps: Sequence[Step]) -> list[Node]:
    """The expressions that count whatever is carried."""
    found = list[Node]()
    for step in every(steps):
        if not isinstance(step, Repeat):
            found += nodes_of(step)
            continue
        found += [] if step.trips is None else [step.trips]
        found += [] if step.alive is None else [scalar.param(step.alive)]
    return found


def _kept(steps: Sequence[Step], asked: set[int]) -> tuple[Step, ...]:
    made = list[Step]()
    for step in steps:
        if isinstance(step, Repeat):
            states = tuple([one for one in step.states if one.inside in asked or one.after in asked])
            step = replace(step, body=_kept(step.body, asked), states=states)
        made.append(step)
    return tuple(made)

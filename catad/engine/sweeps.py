"""Sweeps over the same states become one: each step is taken once, and gives what all of them give.

A value, the coefficients of its derivative and those of its second derivative are sweeps whose bodies differ in what they give
at each step, and agree in the next state. Whether two bodies agree is seen in their common wiring, where equal boxes are one.
So a loop that is met with its derivatives runs once, in whatever order they were composed.
"""

from __future__ import annotations

from typing import Any

from catad.linear.sweep import Sweep
from catad.rearrange import it, proj
from catad.spaces import Product, Unit
from catad.terms import fork
from catad.wiring import Box, Wiring, wire


def merge_sweeps(wiring: Wiring) -> Wiring:
    """The wiring with the sweeps merged that go through the same states, each at the place of the first."""
    if sum([isinstance(box.primitive, Sweep) for box in wiring.boxes]) < 2:
        return wiring
    same: dict[int, int] = {}  # a wire, and the equal one that stays
    alike: dict[Any, list[list[Box]]] = {}  # the sweeps from equal wires, those together that merge
    boxes: list[Box | list[Box]] = []
    for box in wiring.boxes:
        box = Box(box.primitive, tuple([same.get(k, k) for k in box.ins]), box.outs)
        if not isinstance(box.primitive, Sweep):
            boxes.append(box)
            continue
        found = _known(alike, box)
        if len(found) == 1:
            boxes.append(found)
        else:
            same.update(zip(_shared(box), _shared(found[0]), strict=True))
    parts: dict[Box, list[Box]] = {}
    made = tuple([box if isinstance(box, Box) else _merged(box, parts) for box in boxes])
    outputs = tuple([same.get(k, k) for k in wiring.outputs])
    merged = Wiring(wiring.dom, wiring.cod, wiring.wires, wiring.inputs, made, outputs)
    merged.__dict__["parts"] = parts
    return merged


def _known(alike: dict[Any, list[list[Box]]], box: Box) -> list[Box]:
    """The sweeps met so far that go through the same states as this one, which is now the last of them."""
    p: Any = box.primitive
    classes = alike.setdefault((box.ins, p.giving(it, Unit, Unit)), [])
    for found in classes:
        if _agree(found[0].primitive, p):
            found.append(box)
            return found
    classes.append([box])
    return classes[-1]


def _agree(one: Any, other: Any) -> bool:
    """Whether the next states of two bodies are the same wires where both are laid out together."""
    outputs = wire(fork(one.body >> proj(0), other.body >> proj(0)), one.dom).outputs
    k = len(one.state.leaves)
    return outputs[:k] == outputs[k:]


def _shared(box: Box) -> list[int]:
    """What a sweep gives beside the results of its steps."""
    assert isinstance(box.primitive, Sweep)
    sums, outputs = box.primitive.results(box.outs)
    return [k for k in box.outs if k not in sums and k not in outputs]


def _merged(alike: list[Box], parts: dict[Box, list[Box]]) -> Box:
    """One sweep that gives the states and the results of all; `parts` tells what it stands for."""
    if len(alike) == 1:
        return alike[0]
    sweeps: list[Any] = [box.primitive for box in alike]
    first = sweeps[0]
    kinds = [fork(*[proj(i) >> proj(j) for i in range(len(alike))]) for j in (1, 2)]
    body = fork(*[sweep.body for sweep in sweeps]) >> fork(proj(0) >> proj(0), *kinds)
    sums, output = Product([sweep.sums for sweep in sweeps]), Product([sweep.output for sweep in sweeps])
    shared, states = _shared(alike[0]), len(first.state.leaves)
    results = [sweep.results(box.outs) for sweep, box in zip(sweeps, alike, strict=True)]
    own = [k for j in (0, 1) for each in results for k in each[j]]
    one = Box(first.giving(body, sums, output), alike[0].ins, (*shared[:states], *own, *shared[states:]))
    parts[one] = alike
    return one

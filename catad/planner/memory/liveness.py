"""The most bytes that are alive while a program runs: arguments, what is kept for later boxes, and the box that runs.

Counted on its boxes in the order of their array code. Constants belong to the program and are not counted. A compiled program
joins boxes, so it keeps less, and never more than a small part more.
"""

from __future__ import annotations

from collections.abc import Sequence

from catad.category.boxes import Nesting
from catad.category.spaces import Space
from catad.category.terms import D
from catad.category.wiring import Wiring
from catad.engine.program import program_of
from catad.vector.loops.checkpoint import Call


def peak_of(term: D, dom: Space) -> int:
    """The most bytes alive while a term runs at a space; its arguments stay, since the caller holds them.

    >>> import catad as ct
    >>> peak_of(ct.sin >> ct.exp >> ct.tanh, ct.f64[1000])
    16000
    """
    return _peak(program_of(term, dom)[0].wiring, frozenset(range(len(dom.leaves))))


def peak_of_wiring(wiring: Wiring, held: Sequence[int] | None = None) -> int:
    """The same of a wiring; the arguments at the positions `held` stay (None: all), the others go when they have been read."""
    return _peak(wiring, frozenset(range(len(wiring.inputs)) if held is None else held))


def _peak(wiring: Wiring, held: frozenset[int]) -> int:
    """The peak where the inputs at some positions stay alive to the end."""
    last = {k: i for i, box in enumerate(wiring.boxes) for k in (*box.outs, *box.ins)}
    stay = {*wiring.outputs, *[wiring.inputs[i] for i in held]}
    sizes = {k: wiring.wires[k].nbytes for k in wiring.inputs}
    now = peak = sum(sizes.values())
    for i, (primitive, ins, outs) in enumerate(wiring.boxes):
        if not ins:
            continue
        dead = [k for k in {*ins, *outs} if last[k] == i and k not in stay]
        made = {k: wiring.wires[k].nbytes for k in outs}
        if isinstance(primitive, Nesting):
            peak = max(peak, now + _inside(primitive, wiring, ins, dead))
        sizes.update(made)
        now += sum(made.values())
        peak = max(peak, now)
        now -= sum([sizes.pop(k, 0) for k in dead])
    return peak


def _inside(primitive: Nesting, wiring: Wiring, ins: tuple[int, ...], dead: list[int]) -> int:
    """The bytes that the programs of a box take beside what is alive; a call frees arguments that nobody else reads."""
    call = isinstance(primitive, Call)
    shared = sum([wiring.wires[k].nbytes for k in set(ins)]) if call else 0
    most = 0
    for _, term, dom in primitive.programs():
        held = frozenset([i for i, k in enumerate(ins) if k not in dead]) if call else frozenset(range(len(dom.leaves)))
        most = max(most, _peak(program_of(term, dom)[0].wiring, held) - shared)
    return most + primitive.held()

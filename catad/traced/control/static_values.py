"""Which values that a rolled loop leaves do not depend on data: they would be known numbers if the loop was unrolled.

A counter is one, and so is what is computed of the numbers of a range. They are noted, so that a program that needs such a number
(a size, a slice, a static mask) unrolls the loop, and one that does not need it keeps the loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from catad.traced.recorder import Region, Var


def known_after(region: Region, known: Sequence[Var], state: Mapping[Var, Var]) -> set[int]:
    """The wires of a loop's body that depend on no data, a superset of those of some inputs.

    `known` are the inputs that hold known numbers at each step, `state` those that do at the first, with what the body leaves.
    """
    inputs = dict(state)
    while True:
        wires = {var.wire.number for var in (*known, *inputs)}
        depending = [var for var, left in inputs.items() if not is_of(region, left, wires)]
        if not depending:
            return wires
        for var in depending:
            del inputs[var]


def is_of(region: Region, var: Var, wires: set[int]) -> bool:
    """Whether a variable is computed of constants and of inputs with these wires alone."""
    stack, seen = [var], set()
    while stack:
        top = stack.pop()
        number = top.wire.number
        if number in seen or top.constant is not None or (top.region is region and number in wires):
            continue
        seen.add(number)
        args = region.writer.get(number) if top.region is region else None
        if args is None:
            return False
        stack.extend(args)
    return True

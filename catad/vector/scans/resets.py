"""Resets, where an operator forgets its left operand: the conditions under which all partials by it are zero by structure.

An operator with a branch that only its right operand enters, as the operator lifted to segments has, resets the recurrence of its
derivative: there no tangent is multiplied by a link of zero, it is not used. So NaN and infinity stop there too, as they
do in the value.
"""

from __future__ import annotations

from collections.abc import Sequence

from catad import scalar
from catad.scalar import Node

Links = Sequence[Sequence[Node | None]]


def reset_of(links: Links) -> tuple[Node | None, Links]:
    """The condition of the resets, None where there are none; and the links where it does not hold.

    All links that are not zero must be branches on one condition, with zero on the same side; such branches may be nested.
    """
    reset: Node | None = None
    while True:
        there = [node for row in links for node in row if not _is_zero(node)]
        condition = there[0].args[0] if there and there[0] is not None and there[0].op == "select" else None
        for side in (1, 2):
            if condition is not None and all(_forgets(node, condition, side) for node in there):
                found = condition if side == 1 else scalar.apply("not", condition)
                reset = found if reset is None else scalar.apply("or", reset, found)
                links = [[None if node is None or _is_zero(node) else node.args[3 - side] for node in row] for row in links]
                break
        else:
            return reset, links


def _forgets(node: Node | None, condition: Node, side: int) -> bool:
    return node is not None and node.op == "select" and node.args[0] is condition and _is_zero(node.args[side])


def _is_zero(node: Node | None) -> bool:
    return node is None or scalar.constant(node) == 0

"""Under which condition the loops of a scalar function are needed.

A branch is a `select` whose sides are demanded lazily. Straight-line arithmetic on the side that is not taken does no harm,
but a loop there may never end. The demand of a node is the disjunction, over its users, of their demands and the conditions
under which they look at it: `select(c, a, b)` looks at a where c holds and at b elsewhere; `and` looks at its right
side where the left one holds, `or` where it does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from catad.scalar.ir import Node, postorder
from catad.scalar.simplify import FALSE, TRUE, apply


def demands(outputs: Sequence[Node]) -> dict[Node, Node]:
    """The condition under which each loop behind the outputs is needed, as a node; TRUE where it always is.

    A condition that itself needs the loop is left out: the loop is needed for the condition already.
    """
    order = postorder(outputs)
    loops = [node for node in order if node.op == "loop"]
    if not loops:
        return {}
    reach: dict[Node, int] = {}
    for node in order:
        found = 1 << loops.index(node) if node.op == "loop" else 0
        for arg in node.args:
            found |= reach[arg]
        reach[node] = found
    lazy = [node for node in order if node.op in ("select", "and", "or") and any(reach[arg] for arg in node.args[1:])]
    if not lazy:
        return dict.fromkeys(loops, TRUE)
    return {loop: _demand(loop, 1 << bit, outputs, order, reach) for bit, loop in enumerate(loops)}


def _demand(loop: Node, bit: int, outputs: Sequence[Node], order: Sequence[Node], reach: Mapping[Node, int]) -> Node:
    demand = {output: TRUE for output in outputs if reach[output] & bit}
    for node in reversed(order):
        if node is loop:
            break
        if node not in demand:
            continue
        for place, arg in enumerate(node.args):
            if reach[arg] & bit:
                wanted = apply("and", demand[node], _looks_at(node, place, bit, reach))
                demand[arg] = _either(demand.get(arg, FALSE), wanted)
    return demand[loop]


def _looks_at(node: Node, place: int, bit: int, reach: Mapping[Node, int]) -> Node:
    """The condition under which a node looks at its operand number `place`."""
    condition = node.args[0]
    if place == 0 or node.op not in ("select", "and", "or") or reach[condition] & bit:
        return TRUE
    return apply("not", condition) if (node.op, place) in (("select", 2), ("or", 1)) else condition


def _either(a: Node, b: Node) -> Node:
    """a or b, where one that holds only together with the other says nothing new."""
    if a.op == "and" and b in a.args:
        return b
    return a if b.op == "and" and a in b.args else apply("or", a, b)


def schedule(outputs: Sequence[Node]) -> tuple[list[Node], dict[Node, Node]]:
    """The nodes in an order to compute them, each loop after its demand, and the demands.

    Where the demands of two loops need each other, one of them is computed always.
    """
    guards = demands(outputs)
    while True:
        order, cyclic = _ordered(outputs, guards)
        if cyclic is None:
            return order, guards
        guards[cyclic] = TRUE


def _ordered(outputs: Sequence[Node], guards: Mapping[Node, Node]) -> tuple[list[Node], Node | None]:
    """`postorder`, with the demands of loops as further operands; or a loop whose demand leads back to it."""
    order: list[Node] = []
    seen: set[Node] = set()
    done: set[Node] = set()
    for root in outputs:
        if root in seen:
            continue
        seen.add(root)
        stack = [(root, iter(_needs(root, guards)))]
        while stack:
            node, rest = stack[-1]
            for arg in rest:
                if arg not in seen:
                    seen.add(arg)
                    stack.append((arg, iter(_needs(arg, guards))))
                    break
                if arg not in done:
                    between = [one for one, _ in stack[[one for one, _ in stack].index(arg) :]]
                    return [], next(one for one in between if guards.get(one, TRUE) is not TRUE)
            else:
                order.append(node)
                done.add(node)
                stack.pop()
    return order, None


def _needs(node: Node, guards: Mapping[Node, Node]) -> tuple[Node, ...]:
    guard = guards.get(node, TRUE)
    return node.args if guard is TRUE else (*node.args, guard)

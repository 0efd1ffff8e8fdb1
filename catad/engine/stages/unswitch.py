"""Conditions that all indices of a row share: each side becomes a separate loop, which does only what it needs.

This is what a GPU gets from branches that a warp takes together (J. Revels et al., Dynamic automatic differentiation of GPU
broadcast kernels, 2018, section 4): where a condition depends only on arguments that are spread over the innermost loop, no
index pays for the branch that its row does not take.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from catad import scalar
from catad.engine.stages.body import Body
from catad.scalar import Function, Node
from catad.scalar.ir import depends, postorder
from catad.scalar.simplify import replace

MOST = 3  # conditions: at most eight loops
FAR = 2  # times as much work


class Choice(NamedTuple):
    """A condition over some values of a body, and the bodies where it holds and where it does not."""

    condition: Function
    args: tuple[int, ...]
    yes: Body
    no: Body


def choice(body: Body, still: Collection[int]) -> Choice | None:
    """The first condition that depends only on the values that stand still along the innermost loop."""
    for k, op in enumerate(body.ops):
        if op.kind != "map":
            continue
        moving = [scalar.param(i) for i, a in enumerate(op.args) if a not in still]
        found = _condition(op.data, moving)
        if found is None:
            continue
        read = sorted({node.value for node in postorder([found]) if node.op == "param"})
        places = {scalar.param(i): scalar.param(new) for new, i in enumerate(read)}
        condition = Function.make(len(read), replace([found], places))
        sides = [_with(body, k, replace(op.data.outputs, {found: scalar.const(value)})) for value in (True, False)]
        return Choice(condition, tuple([op.args[i] for i in read]), *sides)
    return None


def _condition(function: Function, moving: list[Node]) -> Node | None:
    """The condition of the outermost choice that no moving argument decides."""
    tainted = depends(function.outputs, moving)
    for node in reversed(postorder(function.outputs)):
        if node.op == "select" and node.args[0] not in tainted and scalar.constant(node.args[0]) is None:
            return node.args[0]
    return None


def _with(body: Body, k: int, outputs: tuple[Node, ...] | list[Node]) -> Body:
    function = body.ops[k].data
    made = Function.make(function.arity, tuple(outputs))
    ops = (*body.ops[:k], body.ops[k]._replace(data=made), *body.ops[k + 1 :])
    return body._replace(ops=ops)


class Usual(NamedTuple):
    """A condition over the arguments of an operator, and the operator where it holds."""

    condition: Function
    op: Function


def usual(op: Function) -> Usual | None:
    """A condition under which an operator is far less work than elsewhere, where it says so: it is worth a branch."""
    if any(node.op != "select" or node.args[0] is not op.outputs[0].args[0] for node in op.outputs):
        return None
    condition, then, other = (Function.make(op.arity, [node.args[k] for node in op.outputs]) for k in range(3))
    if scalar.operations(other) < FAR * (scalar.operations(condition) + scalar.operations(then)):
        return None
    return Usual(Function.make(op.arity, condition.outputs[:1]), then)

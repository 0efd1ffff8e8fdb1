"""Conditions that all indices of a row share: each side becomes a separate loop, which does only what it needs.

This is what a GPU gets from branches that a warp takes together (J. Revels et al., Dynamic automatic differentiation of GPU
broadcast kernels, 2018, section 4): where a condition depends only on arguments that are spread over the innermost loop, no
index pays for the branch that its row does not take.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from catad import scalar
from catad.engine.stages.body import Body, value_dtypes
from catad.engine.stages.stage import Op
from catad.scalar import Function, Node
from catad.scalar.ir import depends, postorder
from catad.scalar.simplify import replace

MOST = 3  # conditions: at most eight loops


class Choice(NamedTuple):
    """A condition over some values of a body, and the bodies where it holds and where it does not."""

    condition: Function
    args: tuple[int, ...]
    yes: Body
    no: Body


def choice(body: Body, still: Collection[int]) -> Choice | None:
    """The first condition that depends only on the values that stand still along the innermost loop."""
    made: dict[int, tuple[Op, int]] = {}  # truth values of what stands still, by the work that makes them
    dtypes = value_dtypes(body)
    for k, whole in enumerate(body.ops):
        if whole.kind != "map":
            continue
        if all(a in still for a in whole.args):
            made |= {whole.first + j: (whole, j) for j in range(whole.results) if dtypes[whole.first + j].kind == "b"}
        op = _closed(whole, made)
        moving = [scalar.param(i) for i, a in enumerate(op.args) if a not in still]
        found = outermost(op.data.outputs, moving)
        if found is None:
            continue
        read = sorted({node.value for node in postorder([found]) if node.op == "param"})
        places = {scalar.param(i): scalar.param(new) for new, i in enumerate(read)}
        condition = Function.make(len(read), replace([found], places))
        sides = [_with(body, k, op, replace(op.data.outputs, {found: scalar.const(value)})) for value in (True, False)]
        return Choice(condition, tuple([op.args[i] for i in read]), *sides)
    return None


def unread(body: Body) -> set[int]:
    """The sinks of a body whose values nobody reads, so that they need not be written."""
    values = {op.first + j for op in body.ops if op.kind == "map" for j, out in enumerate(op.data.outputs) if out.op == "unread"}
    return {j for j, sink in enumerate(body.sinks) if sink.value in values}


def outermost(outputs: Sequence[Node], moving: Collection[Node]) -> Node | None:
    """The condition of the outermost choice that no moving argument decides."""
    tainted = depends(outputs, moving)
    for node in reversed(postorder(outputs)):
        if node.op == "select" and node.args[0] not in tainted and scalar.constant(node.args[0]) is None:
            return node.args[0]
    return None


def _closed(op: Op, made: Mapping[int, tuple[Op, int]]) -> Op:
    """An operation that computes some of its arguments itself, from what these are made of."""
    args, places = [*op.args], dict[Node, Node]()
    for i, a in enumerate(op.args):
        if a in made:
            maker, j = made[a]
            own = {scalar.param(old): scalar.param(len(args) + old) for old in range(len(maker.args))}
            places[scalar.param(i)] = replace([maker.data.outputs[j]], own)[0]
            args += maker.args
    if not places:
        return op
    function = Function.make(len(args), tuple(replace(op.data.outputs, places)))
    return op._replace(data=function, args=tuple(args))


def _with(body: Body, k: int, op: Op, outputs: tuple[Node, ...] | list[Node]) -> Body:
    made = Function.make(op.data.arity, tuple(outputs))
    ops = (*body.ops[:k], op._replace(data=made), *body.ops[k + 1 :])
    return body._replace(ops=ops)

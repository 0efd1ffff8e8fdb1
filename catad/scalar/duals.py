"""Partial derivatives of scalar functions, as scalar functions: multidimensional duals, or one reverse sweep.

Forward: every node carries its tangents in all directions at once, over the shared graph. A tangent that is zero
because of the structure is `None` and is never multiplied. The tangent of a branch is the same branch of tangents: a
side not taken contributes nothing, not even NaN. A loop carries the tangents of its states as further states.

Reverse: for functions without branches and loops that have fewer outputs than directions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from catad.scalar.derivative_rules import CHOICES, PARTIALS
from catad.scalar.dtypes import typed
from catad.scalar.ir import Function, Loop, Node, const, param, postorder
from catad.scalar.ops import OPS, result_kind
from catad.scalar.simplify import apply, loop_node, projection, rebuild, replace
from catad.support.lru import remembered

Tangents = tuple["Node | None", ...]
"""One tangent a direction; None is a structural zero."""


def times(slope: Node, tangent: Node | None) -> Node | None:
    """slope * tangent, where a tangent 1 and a slope 1 cost nothing; the result is a float."""
    if tangent is None:
        return None
    if tangent.op == "const" and tangent.value in (1.0, -1.0):
        real = apply("float", slope)
        return real if tangent.value == 1.0 else apply("neg", real)
    return apply("mul", slope, tangent)


def plus(a: Node | None, b: Node | None) -> Node | None:
    """The sum of two tangents."""
    return b if a is None else a if b is None else apply("add", a, b)


def choose(condition: Node, a: Tangents, b: Tangents) -> Tangents:
    """The tangents of a branch; a structural zero on one side only becomes the number 0."""
    return tuple(
        [
            None if x is None and y is None else apply("select", condition, _number(x), _number(y))
            for x, y in zip(a, b, strict=True)
        ]
    )


def _number(tangent: Node | None) -> Node:
    return const(0.0) if tangent is None else tangent


class Forward:
    """One forward sweep: values (rebuilt, since loops grow) and tangents of all nodes."""

    def __init__(self, directions: int, seeds: Mapping[Node, Tangents], values: Mapping[Node, Node]) -> None:
        self.zero: Tangents = (None,) * directions
        self.values = dict(values)
        self.tangents = dict(seeds)
        self.loops: dict[Node, list[tuple[Node, Tangents]]] = {}

    def run(self, outputs: Sequence[Node]) -> None:
        for node in postorder(outputs):
            if node not in self.values:
                args = [self.values.get(arg, arg) for arg in node.args]
                if node.op == "loop":
                    self.loops[node] = self.loop(node, args)
                    self.values[node] = node
                elif node.op == "proj":
                    self.values[node], self.tangents[node] = self.loops[node.args[0]][node.value]
                else:
                    self.values[node] = rebuild(node, args)
            if node not in self.tangents:
                self.tangents[node] = self.tangent(node)

    def tangent(self, node: Node) -> Tangents:
        """The tangents of one operation from those of its operands."""
        incoming = [self.tangents[arg] for arg in node.args]
        if node.op == "loop" or node.kind in "bi" or all(one == self.zero for one in incoming):
            return self.zero
        args = [self.values[arg] for arg in node.args]
        if node.op == "select":
            return choose(args[0], incoming[1], incoming[2])
        if node.op in CHOICES:
            return choose(CHOICES[node.op](*args), *incoming)
        total = self.zero
        for rule, one in zip(PARTIALS[node.op], incoming, strict=True):
            slope = None if rule is None or one == self.zero else rule(self.values[node], *args)
            if slope is not None:
                total = tuple([plus(t, times(slope, d)) for t, d in zip(total, one, strict=True)])
        return total

    def loop(self, node: Node, args: Sequence[Node]) -> list[tuple[Node, Tangents]]:
        """A loop whose states carry their tangents: (value, tangents) of each final state."""
        body: Loop = node.value
        incoming = [self.tangents[arg] for arg in node.args]
        if all(one == self.zero for one in incoming):
            loop = loop_node(args, body)
            return [(projection(loop, k), self.zero) for k in range(body.states)]
        extended = _LoopDuals(body, incoming, self.zero)
        inits, rest = list(args[: body.states]), list(args[body.states :])
        started = [_number(incoming[k][d]) for k, d in extended.active]
        given = [incoming[body.states + j][d] for j, d in extended.given]
        loop = loop_node([*inits, *started, *rest, *(_number(one) for one in given)], extended.body())
        finals: list[tuple[Node, Tangents]] = []
        for k in range(body.states):
            tangents = [
                projection(loop, body.states + extended.active.index((k, d))) if (k, d) in extended.active else None
                for d in range(len(self.zero))
            ]
            finals.append((projection(loop, k), tuple(tangents)))
        return finals


class _LoopDuals:
    """The states of a loop that have tangents (a fixed point), and the body that carries them.

    Params of the new body: states, tangents of states, invariants, tangents of invariants. A tangent of an invariant
    that is a constant goes into the body.
    """

    def __init__(self, loop: Loop, incoming: Sequence[Tangents], zero: Tangents) -> None:
        self.loop, self.zero, self.incoming = loop, zero, incoming
        rest = incoming[loop.states :]
        self.given = [(j, d) for j, one in enumerate(rest) for d, t in enumerate(one) if t is not None and t.op != "const"]
        self.active = [(k, d) for k in range(loop.states) for d, t in enumerate(incoming[k]) if t is not None]
        while True:
            outputs = self.step()
            found = [(k, d) for k, one in enumerate(outputs[1]) for d, t in enumerate(one) if t is not None]
            if set(found) <= set(self.active):
                return
            self.active = sorted(set(found) | set(self.active))

    def params(self) -> tuple[dict[Node, Node], dict[Node, Tangents]]:
        """The places of the params of the old body in the new one, and their tangents."""
        loop, states = self.loop, self.loop.states
        first = states + len(self.active)
        rest = loop.step.arity - states
        place = {param(k): param(k) for k in range(states)}
        place |= {param(states + j): param(first + j) for j in range(rest)}
        seeds: dict[Node, list[Node | None]] = {param(i): list(self.zero) for i in range(loop.step.arity)}
        for n, (k, d) in enumerate(self.active):
            seeds[param(k)][d] = param(states + n)
        for j, one in enumerate(self.incoming[states:]):
            for d, t in enumerate(one):
                seeds[param(states + j)][d] = t if t is not None and t.op == "const" else None
        for n, (j, d) in enumerate(self.given):
            seeds[param(states + j)][d] = param(first + rest + n)
        return place, {node: tuple(one) for node, one in seeds.items()}

    def step(self) -> tuple[list[Node], list[Tangents]]:
        """The new states and their tangents."""
        place, seeds = self.params()
        sweep = Forward(len(self.zero), seeds, place)
        sweep.run(self.loop.step.outputs)
        outputs = self.loop.step.outputs
        return [sweep.values[out] for out in outputs], [sweep.tangents[out] for out in outputs]

    def body(self) -> Loop:
        values, tangents = self.step()
        place, _ = self.params()
        condition = replace(self.loop.condition.outputs, place)
        arity = self.loop.step.arity + len(self.active) + len(self.given)
        moved = [_number(tangents[k][d]) for k, d in self.active]
        step = Function.make(arity, [*values, *moved])
        return Loop(len(values) + len(moved), Function.make(arity, condition), step)


# -- reverse


def _reverse(function: Function, wrt: Sequence[int]) -> list[Tangents]:
    order = postorder(function.outputs)
    rows = []
    for output in function.outputs:
        pulled: dict[Node, Node | None] = {output: const(1.0)}
        for node in reversed(order):
            back = pulled.get(node)
            if back is None or node.kind in "bi" or not node.args:
                continue
            for arg, rule in zip(node.args, PARTIALS[node.op], strict=True):
                slope = None if rule is None or arg.op == "const" else rule(node, *node.args)
                if slope is not None:
                    pulled[arg] = plus(pulled.get(arg), times(slope, back))
        rows.append(tuple([pulled.get(param(i)) for i in wrt]))
    return rows


def _forward(function: Function, wrt: Sequence[int]) -> tuple[list[Node], list[Tangents]]:
    seeds: dict[Node, Tangents] = {param(i): (None,) * len(wrt) for i in range(function.arity)}
    for d, i in enumerate(wrt):
        seeds[param(i)] = tuple([const(1.0) if e == d else None for e in range(len(wrt))])
    sweep = Forward(len(wrt), seeds, {param(i): param(i) for i in range(function.arity)})
    sweep.run(function.outputs)
    return [sweep.values[out] for out in function.outputs], [sweep.tangents[out] for out in function.outputs]


@remembered
def _both(function: Function, wrt: tuple[int, ...]) -> tuple[tuple[Node, ...], tuple[Tangents, ...]]:
    branching = any(node.op in ("select", "loop") or node.op in CHOICES for node in postorder(function.outputs))
    if not branching and len(function.outputs) < len(wrt):
        values, rows = list(function.outputs), _reverse(function, wrt)
    else:
        values, rows = _forward(function, wrt)
    kept = [
        (None,) * len(wrt) if output.kind in "bi" else tuple([_structural(one) for one in row])
        for output, row in zip(function.outputs, rows, strict=True)
    ]
    flat = [*values, *[t for row in kept for t in row if t is not None]]
    plain = iter(_without_conversions(flat, wrt))
    outputs = tuple([next(plain) for _ in values])
    return outputs, tuple([tuple([None if t is None else next(plain) for t in row]) for row in kept])


def _without_conversions(nodes: Sequence[Node], wrt: Sequence[int]) -> tuple[Node, ...]:
    """The nodes without `float(...)` of what is a float anyway, since the params `wrt` are floats."""
    kinds: dict[Node, str] = {param(i): "f" for i in wrt}
    done: dict[Node, Node] = {}
    for node in postorder(nodes):
        if node not in kinds:
            known = node.op in OPS and node.args
            kinds[node] = result_kind(node.op, tuple([kinds[a] for a in node.args]), node.value) if known else node.kind
        args = [done[arg] for arg in node.args]
        real = node.op == "float" and kinds[node.args[0]] == "f"
        done[node] = args[0] if real else rebuild(node, args) if args else node
    return tuple([done[node] for node in nodes])


def _structural(tangent: Node | None) -> Node | None:
    """A tangent that simplified to the constant 0 is a structural zero as well."""
    return None if tangent is not None and tangent.op == "const" and tangent.value == 0 else tangent


def partials(
    function: Function, wrt: Sequence[int], dtypes: Sequence[object] | None = None
) -> tuple[tuple[Node | None, ...], ...]:
    """The partial derivatives of each output with respect to the params `wrt`, over the same params.

    None is a derivative that is zero by structure: the output does not depend on the param, or one of them is no float
    (known from the operations; of params, only where `dtypes` are given). A partial that is exactly 1 or -1 is a
    constant node (see `constant`). Without dtypes the params `wrt` are taken to be floats; partials are floats even
    where they are params that may be integers (`d(x*n)/dx` is `float(n)`).

    >>> f = Function.make(2, [apply("mul", param(0), apply("sin", param(1)))])
    >>> partials(f, [0, 1])
    ((sin(x1), mul(cos(x1), x0)),)
    """
    return value_and_partials(function, wrt, dtypes)[1]


def value_and_partials(
    function: Function, wrt: Sequence[int], dtypes: Sequence[object] | None = None
) -> tuple[tuple[Node, ...], tuple[tuple[Node | None, ...], ...]]:
    """The outputs and their partials, made to be evaluated together: a loop that computes both runs once.

    >>> f = Function.make(1, [apply("exp", param(0))])
    >>> value_and_partials(f, [0])
    ((exp(x0),), ((exp(x0),),))
    """
    if dtypes is None:
        return _both(function, tuple(wrt))
    types, _ = typed(function, dtypes)
    floats = [i for i in wrt if np.dtype(dtypes[i]).kind == "f"]  # type: ignore[call-overload]
    values, rows = _both(function, tuple(floats))
    found: list[Tangents] = []
    for output, row in zip(function.outputs, rows, strict=True):
        known = dict(zip(floats, row, strict=True)) if types[output].dtype.kind == "f" else {}
        found.append(tuple([known.get(i) for i in wrt]))
    return values, tuple(found)

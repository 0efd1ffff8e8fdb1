"""Making loops: from a body read with stand-ins for its states to a `loop` node over the surrounding graph."""

from __future__ import annotations

from collections.abc import Sequence

from catad.scalar.ir import Function, Loop, Node, depends, param, postorder
from catad.scalar.simplify import loop_node, projection, rebuild, replace

STOP_FLAG = "catad_stop"
"""A variable of compiled code: while it is not 0, loops that might run for long end at once, whatever their condition says."""


def make_loop(locals_: Sequence[Node], inits: Sequence[Node], condition: Node, steps: Sequence[Node]) -> tuple[Node, ...]:
    """The final states of `while condition: states = steps`, the states standing in the body as `locals_`.

    Values that the body needs from outside become invariants, hoisted as far as possible; constants stay in the body. A
    state that never changes is its initial value.
    """
    unchanged = {k for k, one in enumerate(locals_) if steps[k] in (one, inits[k])}
    if not unchanged:
        return _close(locals_, inits, condition, steps)
    kept = [k for k in range(len(locals_)) if k not in unchanged]
    body = replace([condition, *[steps[k] for k in kept]], {locals_[k]: inits[k] for k in unchanged})
    finals = iter(make_loop([locals_[k] for k in kept], [inits[k] for k in kept], body[0], body[1:]))
    return tuple([inits[k] if k in unchanged else next(finals) for k in range(len(locals_))])


def _close(locals_: Sequence[Node], inits: Sequence[Node], condition: Node, steps: Sequence[Node]) -> tuple[Node, ...]:
    body = [condition, *steps]
    inside = depends(body, locals_)
    free: dict[Node, None] = {}
    for node in postorder(body):
        if node in inside:
            free.update((arg, None) for arg in node.args if arg not in inside and arg.op != "const")
    free.update((out, None) for out in body if out not in inside and out.op != "const")
    states = len(locals_)
    mapping = {one: param(k) for k, one in enumerate(locals_)}
    mapping |= {node: param(states + j) for j, node in enumerate(free)}
    closed = replace(body, mapping)
    arity = states + len(free)
    loop = Loop(states, Function.make(arity, closed[:1]), Function.make(arity, closed[1:]))
    node = loop_node([*inits, *free], loop)
    return tuple([projection(node, k) for k in range(states)])


def constant_trips(loop: Loop, inits: Sequence[Node]) -> int:
    """The number of trips of a loop over a constant range, as `for i in range(20)` without `break`; -1 for any other loop."""
    (condition,) = loop.condition.outputs
    if condition.op not in ("lt", "gt") or condition.args[0].op != "param" or condition.args[1].op != "const":
        return -1
    k = condition.args[0].value
    step = loop.step.outputs[k] if k < loop.states else condition
    if step.op != "add" or step.args[0] is not condition.args[0] or step.args[1].op != "const" or inits[k].op != "const":
        return -1
    numbers = [inits[k].value, condition.args[1].value, step.args[1].value]
    if not all(type(number) is int for number in numbers) or numbers[2] * (1 if condition.op == "lt" else -1) <= 0:
        return -1
    return len(range(*numbers))


# -- dropping states that nothing needs


def pruned(outputs: Sequence[Node]) -> tuple[Node, ...]:
    """The same outputs, with loops that carry only the states that the outputs or their conditions need."""
    order = postorder(outputs)
    wanted: dict[Node, set[int]] = {}
    for node in order:
        if node.op == "proj":
            wanted.setdefault(node.args[0], set()).add(node.value)
    if not wanted:
        return tuple(outputs)
    done: dict[Node, Node] = {}
    finals: dict[Node, dict[int, Node]] = {}
    for node in order:
        args = [done.get(arg, arg) for arg in node.args]
        if node.op == "loop":
            finals[node] = _pruned_loop(node.value, args, wanted.get(node, set()))
        elif node.op == "proj":
            done[node] = finals[node.args[0]][node.value]
        else:
            done[node] = rebuild(node, args) if node.args else node
    return tuple([done[output] for output in outputs])


def _pruned_loop(loop: Loop, args: Sequence[Node], wanted: set[int]) -> dict[int, Node]:
    states = loop.states
    reads = [_states_read([step], states) for step in loop.step.outputs]
    needed = wanted | _states_read(loop.condition.outputs, states)
    while True:
        more = needed.union(*[reads[k] for k in needed])
        if more == needed:
            break
        needed = more
    kept = sorted(needed)
    body = pruned([*loop.condition.outputs, *[loop.step.outputs[k] for k in kept]])
    present = {node.value for node in postorder(body) if node.op == "param"}
    rest = [j for j in range(states, loop.step.arity) if j in present]
    place = {param(old): param(new) for new, old in enumerate([*kept, *rest])}
    body = replace(body, place)
    arity = len(kept) + len(rest)
    small = Loop(len(kept), Function.make(arity, body[:1]), Function.make(arity, body[1:]))
    node = loop_node([args[k] for k in [*kept, *rest]], small)
    return {k: projection(node, new) for new, k in enumerate(kept)}


def _states_read(outputs: Sequence[Node], states: int) -> set[int]:
    return {node.value for node in postorder(outputs) if node.op == "param" and node.value < states}

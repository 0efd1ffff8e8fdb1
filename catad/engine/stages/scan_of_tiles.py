"""The operators that join the totals of consecutive parts of a line, for scans and recurrences that run in blocks.

A scan is folded by its operator. A recurrence `s = a s + b` is folded as a scan of affine maps,

    (a, b) then (a', b')        is  (a' a, a' b + b')
    (c, a, b) then (c', a', b') is  (c or c', a' a, c' ? b' : a' b + b')      where c says that it begins anew

and one that is the tangent of a scan of the same stage together with it, by the operator on pairs of tangent and value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from catad import scalar
from catad.engine.stages.body import Body, needed_first, state_dtypes, value_dtypes
from catad.engine.stages.layout import TOTALS, Kernel, Layout
from catad.engine.stages.stage import Op
from catad.linear.families.recurrence import ONE, ZERO
from catad.scalar import Function, Node

MOST = 10  # operations of all joins: to fold more costs what a second thread saves (measured on 2-core x86-64 machines)


class Join(NamedTuple):
    """The totals of two parts to that of both: a function of numbers of these dtypes, which of one element are these values.

    `states` are the states that a total from the first element on gives: operation, number, which number of the total.
    """

    function: Function
    args: tuple[int, ...]
    dtypes: tuple[np.dtype, ...]
    states: tuple[tuple[int, int, int], ...]


def joins(body: Body, most: int = MOST) -> list[Join] | None:
    """The operators that join all states of a body; None where there are none, or where they have more than `most` operations."""
    found: list[Join] = []
    dtypes, carried = value_dtypes(body), _carried(body)
    for k, op in enumerate(body.ops):
        if op.kind in ("map", "before"):
            continue
        if op.kind == "fold":
            return None
        join = _scan(body, k, op) if op.kind == "scan" else _recurrence(body, k, op)
        if join is not None and op.kind == "recurrence" and not carried.isdisjoint(join.args):
            join = _tangent(body, k, op, found)
        if join is None or not carried.isdisjoint(join.args) or tuple([dtypes[a] for a in join.args]) != join.dtypes:
            return None
        found.append(join)
    return found if found and sum(scalar.operations(join.function) for join in found) <= most else None


def _scan(body: Body, k: int, op: Op) -> Join | None:
    states = tuple(state_dtypes(body, op))
    numbers = tuple([(k, i, i) for i in range(len(states))])
    return Join(op.data, op.args, states, numbers) if len(op.args) == len(states) else None


def _recurrence(body: Body, k: int, op: Op) -> Join | None:
    grid, copies, reset = op.data
    if len(grid) != 1 or grid[0][0] == ZERO:
        return None
    dtype, links = state_dtypes(body, op)[0], grid[0][0] != ONE
    flags, slopes = op.args[len(op.args) - copies - reset : len(op.args) - copies], op.args[:1] if links else ()
    args = (*flags, *slopes, *op.args[len(op.args) - copies :])
    dtypes = (*[np.dtype(np.bool_)] * reset, *[dtype] * (links + copies))
    first = reset + links
    return Join(affine(copies, links, reset), args, dtypes, tuple([(k, i, first + i) for i in range(copies)]))


def affine(copies: int, links: bool, reset: bool) -> Function:
    """The join of recurrences: of (c, a, b...) and (c', a', b'...), without c where nothing is reset, without a where it is 1."""
    d = reset + links + copies
    one, two = ([scalar.param(side * d + k) for k in range(d)] for side in (0, 1))
    made = [scalar.apply("or", one[0], two[0])] if reset else []
    if links:
        made.append(scalar.apply("mul", two[reset], one[reset]))
    for b, more in zip(one[reset + links :], two[reset + links :], strict=True):
        whole = scalar.apply("add", scalar.apply("mul", two[reset], b) if links else b, more)
        made.append(scalar.apply("select", two[0], more, whole) if reset else whole)
    return Function.make(2 * d, made)


def _tangent(body: Body, k: int, op: Op, found: list[Join]) -> Join | None:
    """The recurrence `t = (df / dp) t + (df / dx) u` and the scan of f of one number, whose join it replaces."""
    grid, copies, reset = op.data
    if copies > 1 or reset or grid[0][0] == ONE:
        return None
    nodes = _nodes(body)
    for at, join in enumerate(found):
        scan = body.ops[join.states[0][0]]
        state = next((one.first for one in body.ops if one.kind == "before" and one.args == (scan.first,)), None)
        if scan.kind != "scan" or len(join.states) > 1 or state is None:
            continue
        slopes = scalar.put(scalar.partials(join.function, (0, 1)), [nodes[state], nodes[join.args[0]]])[0]
        moved = _factor(nodes, nodes[op.args[-1]], slopes[1])
        if nodes[op.args[0]] is slopes[0] and moved is not None:
            del found[at]
            dtypes = (join.dtypes[0], state_dtypes(body, op)[0])
            states = ((join.states[0][0], 0, 0), (k, 0, 1))
            return Join(_dual(join.function), (join.args[0], moved), dtypes, states)
    return None


def _nodes(body: Body) -> list[Node]:
    """Every value as an expression of sources and states."""
    found = [scalar.param(k) for k in range(len(body.sources))]
    for op in body.ops:
        if op.kind == "map":
            found += scalar.substitute(op.data, [found[a] for a in op.args])
        else:
            found += [scalar.param(op.first + i) for i in range(op.results)]
    return found


def _factor(nodes: Sequence[Node], product: Node, one: Node | None) -> int | None:
    """The value whose product with one number is the other."""
    if product.op == "mul" and one in product.args:
        other = product.args[product.args[0] is one]
        return next((k for k, node in enumerate(nodes) if node is other), None)
    return None


def _dual(function: Function) -> Function:
    """f on pairs of value and tangent, (p, t) and (x, u)."""
    p, t, x, u = (scalar.param(k) for k in range(4))
    slopes = scalar.put(scalar.partials(function, (0, 1)), [p, x])[0]
    terms = [scalar.apply("mul", slope, v) for slope, v in zip(slopes, (t, u), strict=True) if slope is not None]
    return Function.make(4, [*scalar.substitute(function, [p, x]), scalar.apply("add", *terms)])


def _carried(body: Body) -> set[int]:
    """The values that depend on states."""
    found: set[int] = set()
    for op in body.ops:
        if op.kind != "map" or not found.isdisjoint(op.args):
            found.update(range(op.first, op.first + op.results))
    return found


def totals(body: Body, found: Sequence[Join]) -> Body:
    """The body that folds what the states of another take in."""
    carried = _carried(body)
    at = {k: k for k in range(len(body.sources))}
    ops, count = [], len(body.sources)
    for op in body.ops:
        if op.kind == "map" and carried.isdisjoint(range(op.first, op.first + op.results)):
            at.update({op.first + k: count + k for k in range(op.results)})
            ops.append(op._replace(args=tuple([at[a] for a in op.args]), first=count))
            count += op.results
    for join in found:
        ops.append(Op("fold", join.function, tuple([at[a] for a in join.args]), count, 0))
    sources, late = list(body.sources), unread(body)
    for k, j in enumerate(late):
        sources[j] = sources[j]._replace(guard=body.guards + k, fill=0.0 if (fill := sources[j].fill) is None else fill)
    return Body(tuple(sources), tuple(ops), ())


def unread(body: Body) -> list[int]:
    """The sources that are not read at the first index, where there may be nothing."""
    needed = needed_first(body)
    return [j for j, source in enumerate(body.sources) if j not in needed and not source.is_index]


def of_totals(how: Layout, found: Sequence[Join]) -> Layout:
    """The loops of a layout, folding what its states take in, without results."""
    body = totals(how.kernel.body, found)
    sources, late = len(body.sources), unread(how.kernel.body)
    guards, own = [how.kernel.body.sources[j].guard for j in late], how.kernel.tests
    again = [(how.kernel.body.guards + k, t) for k, guard in enumerate(guards) for t, (g, _) in enumerate(own) if g == guard]
    n = next(loop.size for loop in how.loops if loop.carried)
    along = "".join(["c" if loop.carried else "z" for loop in how.loops])
    numbers = [*[(k, own[t][1]) for k, t in again], *[(how.kernel.body.guards + k, along) for k in range(len(late))]]
    tests = [*how.tests, *[how.tests[t] for _, t in again], *[(1, n) for _ in late]]
    loops = []
    for loop in how.loops:
        more = [*[loop.tests[t] for _, t in again], *[int(loop.carried) for _ in late]]
        loops.append(loop._replace(strides=loop.strides[:sources], tests=(*loop.tests, *more)))
    kernel = Kernel(body, TOTALS, how.kernel.outer, how.kernel.classes[:sources], tests=(*own, *numbers))
    return Layout(kernel, how.offsets[:sources], tuple(loops), how.indexed, tuple(tests))

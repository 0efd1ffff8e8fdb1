"""Loops that carry a sum, a product, a maximum or a minimum of what their trips give: each is a fold over the trips.

A number s is such a fold where each trip makes `s + e`, `s - e`, `s * e`, `np.maximum(s, e)` or `max(s, e)` of it, or leaves it,
and nothing else of the loop depends on s. Then a trip from the neutral element on gives what the trip contributes.
A sum of products of two arrays, each of which has its own axes, is a contraction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from catad import scalar
from catad.linear.families.contract import contract
from catad.linear.families.reindex import axis as move
from catad.linear.families.reindex import moved, reshaped
from catad.scalar import Node, apply, const, param
from catad.scalar.simplify import FALSE
from catad.simt.affine import both, boxed, conjuncts
from catad.simt.arrays import Repeat, Step, every, nodes_of
from catad.vector.folds.extended_range import TIMES
from catad.vector.folds.fold import folded_along
from catad.vector.folds.monoid import Monoid
from catad.vector.folds.reduce import extremum

if TYPE_CHECKING:
    from catad.category.wiring import Wire
    from catad.simt.lower import Lowering

_STEPS = {"add": "add", "sub": "add", "mul": "mul", "maximum": "maximum", "minimum": "minimum"}
_CHOICES = {("gt", 0): "greatest", ("lt", 1): "greatest", ("lt", 0): "least", ("gt", 1): "least"}


def recognised(step: Repeat) -> dict[int, str] | None:
    """The operator of each number that a loop carries, by its parameter inside; None where one is no fold."""
    states = [state for state in step.states if state.step is not FALSE]
    finder = _Finder(step.body, {state.inside for state in states})
    found = {state.inside: finder.operator(state.step, state.inside) for state in states}
    if None in found.values() or not finder.alone(step.body):
        return None
    return {k: op or "add" for k, op in found.items()}


class _Finder:
    """Looks for the operator of numbers in a body; `tainted` are the parameters that depend on them."""

    def __init__(self, body: Sequence[Step], carried: set[int]) -> None:
        loops = [step for step in every(body) if isinstance(step, Repeat)]
        self.inner = {state.after: state for step in loops for state in step.states}
        self.tainted = set(carried)
        size = 0
        while size != len(self.tainted):
            size = len(self.tainted)
            for state in self.inner.values():
                if state.inside in self.tainted or not self.free(state.init) or not self.free(state.step):
                    self.tainted |= {state.inside, state.after}
        self.seen: set[int] = set()  # the states inside that belong to a fold

    def free(self, node: Node) -> bool:
        """Whether an expression depends on none of the numbers."""
        return self.tainted.isdisjoint(scalar.parameters([node])[0])

    def operator(self, node: Node, inside: int) -> str | None:
        """The operator by which an expression follows from the number; "" where it is the number itself, None for no fold."""
        if node.op == "param":
            if node.value == inside:
                return ""
            state = self.inner.get(node.value)
            if state is None or state.step is FALSE:
                return None
            self.seen.add(state.inside)
            return _same(self.operator(state.init, inside), self.operator(state.step, state.inside))
        if node.op == "select":
            condition, a, b = node.args
            if self.free(condition):
                return _same(self.operator(a, inside), self.operator(b, inside))
            return self.choice(condition, a, b, inside)
        if node.op not in _STEPS:
            return None
        a, b = node.args
        if node.op in ("add", "mul") and self.free(a):
            a, b = b, a
        return _same(self.operator(a, inside), _STEPS[node.op]) if self.free(b) else None

    def choice(self, condition: Node, a: Node, b: Node, inside: int) -> str | None:
        """Python's `max` and `min`: a later number wins only if it compares as better."""
        if b is not param(inside) or not self.free(a) or condition.op not in ("gt", "lt"):
            return None
        if a not in condition.args or b not in condition.args:
            return None
        return _CHOICES[condition.op, condition.args.index(a)]

    def alone(self, body: Sequence[Step]) -> bool:
        """Whether nothing but the folds depends on the numbers."""
        for step in body:
            if not isinstance(step, Repeat):
                if not all(map(self.free, nodes_of(step))):
                    return False
                continue
            others = [state for state in step.states if state.inside not in self.seen]
            nodes = [node for state in others for node in (state.init, state.step)]
            if not all(map(self.free, nodes if step.trips is None else [*nodes, step.trips])) or not self.alone(step.body):
                return False
        return True


def _same(a: str | None, b: str | None) -> str | None:
    """The one operator of two parts."""
    return None if a is None or b is None or (a and b and a != b) else a or b


def neutral(op: str, dtype: np.dtype[Any]) -> Node:
    """The neutral element of an operator."""
    if op in ("add", "mul"):
        return const(dtype.type(op == "mul"))
    return const(dtype.type(_extremum(op, dtype).neutral[0]))


def _extremum(op: str, dtype: np.dtype[Any]) -> Monoid:
    return extremum("maximum" if op in ("maximum", "greatest") else "minimum", dtype)


def folded(inner: Lowering, axis: int, op: str, node: Node, dtype: np.dtype[Any]) -> Wire:
    """The fold along the axis of the trips of what each trip gives, for the threads on their axes."""
    node = inner.normal(node)
    if op == "add" and dtype.kind == "f":
        found = contracted(inner, axis, node, dtype)
        if found is not None:
            return found
    if inner.dtype(node) != dtype:
        node = scalar.cast(dtype, node)
    (wire,) = inner.computed(node)
    shape = [1] * len(inner.sizes) if not wire.ndim else list(wire.shape)
    shape[axis] = inner.sizes[axis]
    wire = inner.spread(wire, shape)
    if op == "add":
        labels = tuple(range(len(shape)))
        return contract(inner.b, [labels], [wire], (*labels[:axis], *labels[axis + 1 :]), shape)
    monoid = TIMES if op == "mul" else _extremum(op, dtype)
    return folded_along(inner.b, monoid, [wire], [axis])[0]


def joined(op: str, first: Node, total: Node) -> Node:
    """A number before a loop with the fold of the loop."""
    if op in ("greatest", "least"):
        return apply("select", apply("gt" if op == "greatest" else "lt", total, first), total, first)
    return apply(op, first, total)


# -- contractions


class _Group(NamedTuple):
    """Factors, and the axes on which they depend."""

    axes: frozenset[int]
    node: Node


def contracted(inner: Lowering, axis: int, node: Node, dtype: np.dtype[Any]) -> Wire | None:
    """A sum of products of two arrays as a contraction, where each of them has an axis that the other one does not have.

    Bounds of threads and of trips cut the axes. Any other condition must be one of both factors: then nothing is multiplied by
    a number that nobody reads, forward or reverse. A select of the sum alone would multiply such a number by the cotangent 0.
    """
    masks, node = peeled(node)
    groups = _groups([_Group(axes_of(inner, factor), factor) for factor in factors_of(node)])
    if len(groups) != 2 or not all(axis in group.axes for group in groups):
        return None
    if any(inner.dtype(group.node) != dtype for group in groups):
        return None
    box, rest = boxed(inner.forms, both(masks), inner.sizes)
    one, other = [group.axes for group in groups]
    cut = {k for k, (n, m) in enumerate(zip(box.sizes, inner.sizes, strict=True)) if n != m}
    if 0 in box.sizes or not cut <= one | other or not all(axes_of(inner, mask) <= one & other for mask in rest):
        return None
    nodes = [apply("select", both(rest), group.node, const(dtype.type(0))) if rest else group.node for group in groups]
    labels = [tuple(sorted(group.axes)) for group in groups]
    wires = [
        reshaped(inner.b, wire, [box.sizes[k] for k in own]) for wire, own in zip(inner.in_box(box, nodes), labels, strict=True)
    ]
    out = tuple(sorted((one | other) - {axis}))
    made = contract(inner.b, labels, wires, out, box.sizes)
    made = moved(inner.b, made, [move(box.sizes[k], inner.sizes[k], 0, 1, box.starts[k], 1, box.sizes[k]) for k in out])
    return reshaped(inner.b, made, [n if k in out else 1 for k, n in enumerate(inner.sizes) if k != axis])


def peeled(node: Node) -> tuple[list[Node], Node]:
    """The conditions under which a number is not zero, and the number then."""
    masks = list[Node]()
    while True:
        if node.op == "select" and _zero(node.args[2]):
            masks += conjuncts(node.args[0])
            node = node.args[1]
        elif node.op == "select" and _zero(node.args[1]):
            masks += conjuncts(apply("not", node.args[0]))
            node = node.args[2]
        elif node.op == "add" and _zero(node.args[0]):
            node = node.args[1]
        elif node.op == "add" and _zero(node.args[1]):
            node = node.args[0]
        else:
            return masks, node


def _zero(node: Node) -> bool:
    return node.op == "const" and node.kind != "b" and node.value == 0


def factors_of(node: Node) -> list[Node]:
    """The factors of a product."""
    if node.op == "mul":
        return [factor for arg in node.args for factor in factors_of(arg)]
    if node.op == "neg":
        return [const(-1.0), *factors_of(node.args[0])]
    return [node]


def axes_of(inner: Lowering, node: Node) -> frozenset[int]:
    """The axes along which an expression differs."""
    found = set[int]()
    for j in scalar.parameters([node])[0]:
        if j < len(inner.sizes):
            found.add(j)
        else:
            found.update([k for k, n in enumerate(inner.wires[j].shape) if n > 1])
    return frozenset(found)


def _groups(factors: Sequence[_Group]) -> list[_Group]:
    """Factors that depend on no more axes than another one are joined with it."""
    made = list[_Group]()
    for one in sorted(factors, key=lambda factor: -len(factor.axes)):
        k = next((k for k, group in enumerate(made) if one.axes <= group.axes), None)
        if k is None:
            made.append(one)
        else:
            made[k] = _Group(made[k].axes, apply("mul", made[k].node, one.node))
    return made

"""`fold`: reduction by an associative operator.

For any operator the Jacobian is a row, `d(l_i op x_i op r_i) / d x_i` with `l_i` and `r_i` the folds of what stands before and
after x_i: two exclusive scans, from both sides (Bruun and Larsen 2022, section 5.1). For `+` the fold is `sum`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

from catad import errors, scalar
from catad.linear.block import grid
from catad.linear.delta import delta
from catad.linear.structure import Rule, Structure
from catad.primitive import Primitive, box
from catad.scalar import Function
from catad.spaces import Tensor, rebuild
from catad.terms import D
from catad.vector.map import mapped
from catad.vector.monoid import Monoid, check_laws, elements, monoid_of, sampled
from catad.vector.scan import along, operator_code, scanned
from catad.vector.shape import sum as sum_
from catad.wiring import share

if TYPE_CHECKING:
    from catad.scalar import Node
    from catad.wiring import Builder, Wire, Wires


@box
class Fold(Primitive):
    """The fold of one operator along one axis; one array for each number of an element. Work O(n), depth O(log n)."""

    monoid: Monoid
    axis: int = 0

    @property
    def arity(self) -> int:
        return self.monoid.width

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tuple([Tensor((*s.shape[: self.axis], *s.shape[self.axis + 1 :]), s.dtype) for s in ins])

    def check(self, xp: Any, *arrays: Any) -> None:
        check_laws(self.monoid, sampled(xp, arrays, self.axis))

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        x = [xp.moveaxis(a, self.axis, 0) for a in arrays]
        run = scalar.array_function(self.monoid.op)
        if len(x[0]) == 0:
            x = [xp.full((1, *a.shape[1:]), e, dtype=a.dtype) for a, e in zip(x, self.monoid.neutral, strict=True)]
        while len(x[0]) > 1:  # neighbours are joined, so the order of operands is kept
            m = len(x[0]) // 2
            joined = run(xp, *[a[0 : 2 * m : 2] for a in x], *[a[1 : 2 * m : 2] for a in x])
            x = [xp.concatenate([j, a[2 * m :]]) for j, a in zip(joined, x, strict=True)]
        out = [a[0] for a in x]
        return out[0] if len(out) == 1 else tuple(out)

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        d = self.monoid.width
        floats = [k for k in range(d) if ins[k].is_float]
        if not floats:
            return None
        three = _three(self.monoid)
        partials = scalar.partials(three, [d + k for k in floats])
        labels = tuple(range(ins[0].ndim))
        rest = (*labels[: self.axis], *labels[self.axis + 1 :])
        nodes: list[Node] = []
        rows: list[list[Structure | None]] = []
        for k in floats:
            row: list[Structure | None] = []
            for j, node in zip(floats, partials[k], strict=True):
                number = None if node is None else scalar.constant(node)
                if node is None or number == 0:
                    row.append(None)
                    continue
                slot = number is None
                (dtype,) = scalar.result_types(Function.make(3 * d, [node]), tuple([s.dtype for s in ins]) * 3)
                row.append(
                    delta(rest, labels, labels if slot else None, ins[0].shape, ins[j].dtype, outs[k].dtype,
                          dtype if slot else None, 1.0 if number is None else float(number))
                )  # fmt: skip
                nodes += [node] if slot else []
            rows.append(row)

        def coefficients(wires: tuple[Wire, ...], results: tuple[Wire, ...]) -> list[Wire]:
            b = wires[0].builder
            before = scanned(b, self.monoid, wires, self.axis, True, False)
            after = scanned(b, self.monoid, wires, self.axis, True, True)
            full = [*before, *wires, *after]
            return mapped(b, nodes, full)

        return Rule(grid(rows, [ins[k] for k in floats], [outs[k] for k in floats]), coefficients)

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        from catad.linear.gather import spread_over

        carried = [w if flag else spread_over(b, w, size) for w, flag in zip(ins, flags, strict=True)]
        return b.add(Fold(self.monoid, self.axis + 1), *carried)

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return ins[0].size * scalar.operations(self.monoid.op)

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return f"ct.vector.Fold({name(self.monoid, 'monoid')}, {self.axis})"


def _three(monoid: Monoid) -> Function:
    """`op(op(l, x), r)` as one scalar function."""
    d = monoid.width
    first = scalar.substitute(monoid.op, [scalar.param(k) for k in range(2 * d)])
    outputs = scalar.substitute(monoid.op, [*first, *[scalar.param(2 * d + k) for k in range(d)]])
    return Function.make(3 * d, outputs)


@share
class FoldOf(D):
    """`ct.fold(...)`."""

    __slots__ = ("axis", "monoid")

    def __init__(self, monoid: Monoid, axis: int) -> None:
        self.monoid, self.axis = monoid, axis

    def data(self) -> Hashable:
        return (self.monoid, self.axis)

    def wired(self, b: Builder, x: Wires) -> Any:
        wires: Sequence[Wire] = elements(b, x, self.monoid, self)
        axis = along(wires[0], self.axis, self)
        return rebuild(b.space(x), list(b.add(Fold(self.monoid, axis), *wires)))

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        more = f", axis={self.axis}" if self.axis else ""
        return f"ct.fold({operator_code(self.monoid, name)}{more})"


def fold(op: Any, neutral: Any, axis: int = 0) -> D:
    """The reduction by an associative operator along an axis, the others carried along; of nothing, the neutral element.

    `op` takes two elements, numbers or tuples nested as `neutral`; an array of elements is a tuple of arrays of one shape.
    Operands keep their order. Errors as `scan`.

    >>> import catad as ct, numpy as np
    >>> product = ct.fold(lambda a, b: a * b, 1.0)
    >>> ct.value_and_grad(product)(np.array([2.0, 3.0, 0.0]))
    (np.float64(0.0), array([0., 0., 6.]))
    """
    monoid = monoid_of(op, neutral)
    if scalar.recognise(monoid.op) == "add":
        if monoid.neutral[0] != 0:
            raise errors.MonoidError(errors.wrong_neutral(op, neutral, 1.0, 1.0 + monoid.neutral[0], "left"))
        return sum_(axis=axis)
    return FoldOf(monoid, axis)

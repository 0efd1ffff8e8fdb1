"""`scan` and `fold` whose operator is a morphism on arrays: matrix products, composition of affine maps, ...

Both are sweeps: `s_i = op(s_{i-1}, x_i)`. The derivative of a step is the operator's own structured Jacobian (of a matrix
product I⊗M and M⊗I), so no matrix of d^2 by d^2 numbers is made for elements of d by d, and the work is that of a few primal
sweeps. Elements lie along axis 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors, upward
from catad.category.boxes import Primitive, box, of_fields
from catad.category.cartesian import fork, it, proj, swap
from catad.category.constant import Const, const
from catad.category.spaces import Product, Space, Tensor, Unit, as_leaves, flatten, rebuild, space_like
from catad.category.terms import D
from catad.category.wiring import share
from catad.linear.families.block import diagonal_block
from catad.linear.families.delta import identity
from catad.linear.structure import Rule
from catad.values.stream_capture import check_not_captured
from catad.vector.loops.hoisting import looped

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire, Wires


@box
class Lawful(Primitive):
    """Elements, passed on; at the first call the operator is checked on them to be associative with its neutral element."""

    op: D
    neutral: D
    element: Space

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return ins

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        return arrays[0] if len(arrays) == 1 else arrays

    def check(self, xp: Any, *arrays: Any) -> None:
        n = len(arrays[0])
        if n == 0:
            return
        check_not_captured(xp, "numbers for which a first call checks the laws of an operator")
        pair = Product((self.element, self.element))

        def op(a: Any, b: Any) -> list[Any]:
            return upward.program_of(self.op, pair)[0].inside(xp, [*a, *b])

        e = upward.program_of(self.neutral, Unit)[0].inside(xp, [])
        a, b, c = ([leaf[k % n] for leaf in arrays] for k in (0, 1, 2))
        scale = 1.0 + max(float(xp.max(xp.abs(leaf))) if leaf.size else 0.0 for leaf in (*a, *b, *c)) ** 3
        if _far(xp, op(op(a, b), c), op(a, op(b, c)), scale):
            raise errors.MonoidError(errors.not_associative(self.op))
        for side, got in (("left", op(e, a)), ("right", op(a, e))):
            if _far(xp, got, a, scale):
                raise errors.MonoidError(errors.wrong_neutral(self.op, "neutral", None, None, side))

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        floats = [s for s in ins if s.is_float]
        return Rule(diagonal_block([identity(s) for s in floats]))

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        return ins


def _far(xp: Any, got: Any, want: Any, scale: float) -> bool:
    """True where two elements differ by more than rounding explains; what is not finite explains everything."""
    for g, w in zip(got, want, strict=True):
        if w.dtype.kind != "f":
            if bool(xp.any(g != w)):
                return True
            continue
        if not bool(xp.all(xp.isfinite(g))) or not bool(xp.all(xp.isfinite(w))):
            return False
        size = g.size**0.5 + 1.0
        if bool(xp.any(xp.abs(g - w) > 256 * float(np.finfo(w.dtype).eps) * scale * size)):
            return True
    return False


@of_fields
class _ArrayOperator(D):
    """The common part of both: the operator, and its neutral element as a constant."""

    op: D
    neutral: D

    def _elements(self, b: Builder, x: Any) -> tuple[Space, int, list[Wire], Any]:
        """The space of an element, their number, the checked wires, and the wires of the neutral element."""
        op, wires = self.op, flatten(x)
        sizes = {w.shape[0] if w.ndim else None for w in wires}
        if len(sizes) != 1 or None in sizes:
            raise errors.SpaceError(errors.no_common_axis(b.space(x), self))
        element: Space = rebuild(b.space(x), [Tensor(w.shape[1:], w.dtype) for w in wires], Product)
        made = op.spaces(Product((element, element)))
        if made != element:
            raise errors.MonoidError(errors.not_closed(op, element, made, "return a value of the elements' space"))
        neutral = _neutral_at(self.value, element, self)
        checked = b.add(Lawful(op, neutral, element), *wires)
        return element, wires[0].shape[0], list(checked), b.apply(neutral, ())

    @property
    def value(self) -> Any:
        """The neutral element."""
        assert isinstance(self.neutral, Const)
        return self.neutral.value


def _neutral_at(value: Any, element: Space, term: D) -> D:
    """The neutral element as a constant in the space of elements; a number stands for an array of it."""
    leaves = as_leaves(value)
    if len(leaves) == 1 and leaves[0].ndim == 0:
        leaves = leaves * len(element.leaves)
        value = rebuild(element, leaves)
    given = space_like(value, [Tensor(leaf.shape, leaf.dtype) for leaf in leaves])
    fits = len(leaves) == len(element.leaves) and all(
        leaf.shape in ((), s.shape) for leaf, s in zip(leaves, element.leaves, strict=True)
    )
    if not fits:
        raise errors.SpaceError(errors.wrong_elements(element, given, term))
    full = [
        np.broadcast_to(np.asarray(leaf).astype(s.dtype), s.shape) for leaf, s in zip(leaves, element.leaves, strict=True)
    ]
    return const(rebuild(element, full))


@share
@of_fields
class ArrayScan(_ArrayOperator):
    """`ct.scan` of a morphism."""

    exclusive: bool
    reverse: bool

    def lay_out(self, b: Builder, x: Wires) -> Any:
        element, n, wires, start = self._elements(b, x)
        op = swap >> self.op if self.reverse else self.op
        step = fork(proj(0), proj(2)) >> op
        body = fork(step, it, proj(0) if self.exclusive else step)
        _, _, outs = looped(b, body, n, (flatten(start), (), wires), self.reverse, Product((element, Unit, element)))
        return rebuild(b.space(x), outs)

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        more = "".join(f", {k}=True" for k, v in [("exclusive", self.exclusive), ("reverse", self.reverse)] if v)
        return f"ct.scan({part(self.op)}, {name(self.value, 'neutral')}{more})"


@share
@of_fields
class ArrayFold(_ArrayOperator):
    """`ct.fold` of a morphism."""

    def lay_out(self, b: Builder, x: Wires) -> Any:
        element, n, wires, start = self._elements(b, x)
        body = fork(fork(proj(0), proj(2)) >> self.op, it, it)
        end, _, _ = looped(b, body, n, (flatten(start), (), wires), False, Product((element, Unit, element)))
        return rebuild(element, end)

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return f"ct.fold({part(self.op)}, {name(self.value, 'neutral')})"


def neutral_of(op: D, neutral: Any, axis: int) -> D:
    """The neutral element of a morphism on arrays along an axis, which must be the first."""
    if axis != 0:
        raise errors.ArgumentError(errors.array_operator_axis(axis, op))
    if neutral is None:
        raise errors.MonoidError(errors.not_a_neutral(op, neutral))
    return const(neutral)

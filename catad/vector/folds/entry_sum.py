"""`EntrySum`: a sum of as many terms as data say, each of them a morphism of its number and of values that all of them read.

    (n, x) -> f(0, x) + ... + f(n - 1, x)

The derivative of a sum is the sum of the derivatives, so forward and reverse mode are such sums again, of D[f] and of R[f]. They
need n and x, and nothing of the single terms: a row of a sparse matrix costs as much as it has entries, in every mode.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from catad import upward
from catad.category.boxes import Nesting, Running, box, of_fields
from catad.category.cartesian import exl, exr, fork, it
from catad.category.spaces import Product, Space, Tensor, Unit, flatten, rebuild, tangent_space
from catad.category.terms import D
from catad.category.wiring import share
from catad.linear.families.matrix_free import MatrixFree
from catad.linear.structure import Rule
from catad.values.stream_capture import check_not_captured
from catad.vector.loops.sweep_map import Sweep

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire

COUNT = Tensor((), "int64")
GUESS = 10  # terms of a sum of which nothing is known


@box
class Summed(Nesting):
    """(n, leaves of x) to the leaves of the sum of `f(k, x)` over `0 <= k < n`; with `onto`, leaves follow that it adds to."""

    f: D
    x: Space
    onto: bool = False

    @property
    def dom(self) -> Product:
        """The argument of a term."""
        return Product((COUNT, self.x))

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        made: tuple[Tensor, ...] = self.f.spaces(self.dom).leaves
        assert ins == (*self.dom.leaves, *(made if self.onto else ()))
        return made

    def running(self, xp: Any, *arrays: Any) -> Running:
        program, _ = upward.program_of(self.f, self.dom)
        n = len(self.dom.leaves)
        count, given, start = arrays[0], arrays[1:n], arrays[n:]
        spaces = self.typed(tuple([Tensor(a.shape, a.dtype) for a in arrays]))
        totals = [a.copy() for a in start] or [xp.zeros(space.shape, dtype=space.dtype) for space in spaces]
        check_not_captured(xp, "the number of terms of a sum, which the host reads")
        for k in range(int(count)):
            made = yield program, [xp.asarray(k, dtype=np.int64), *given]
            for j, part in enumerate(made):
                totals[j] += part
        return totals[0] if len(totals) == 1 else tuple(totals)

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        tangents, cotangents = tangent_space(self.x), tangent_space(self.f.spaces(self.dom))
        if not tangents.leaves or not cotangents.leaves:
            return None
        point, moved = fork(exl, exr >> exl), exr >> exr  # of (k, (x, dx))
        forward = fork(point, fork(it, moved)) >> upward.Differential(self.f)
        backward = fork(point, moved) >> upward.ReverseDifferential(self.f) >> exr
        pair = fork(exl >> exl, fork(exl >> exr, exr))  # of ((n, x), dx)
        maps = [pair >> EntrySum(one) for one in (forward, backward)]
        return Rule(MatrixFree(maps[0], maps[1], tangents, cotangents, self.dom), lambda wires, _: wires)

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        """One lane after the other, each with its own number of terms."""
        spaces = [Tensor(w.shape[flag:], w.dtype) for w, flag in zip(ins, flags, strict=True)]
        held, each = ([k for k, flag in enumerate(flags) if flag is wanted] for wanted in (False, True))
        parts = [Product(tuple([spaces[k] for k in group])) for group in (held, each)]
        outs = Product(self.typed(tuple(spaces)))
        sweep = Sweep(_Lane(self, flags), size, Unit, parts[1], outs, False, parts[0], Unit)
        return b.add(sweep, *[ins[k] for k in (*held, *each)])

    def programs(self) -> list[tuple[int, D, Space]]:
        return [(GUESS, self.f, self.dom)]


@of_fields
class _Lane(D):
    """The box of one lane, as a step of a sweep: what all lanes read is given, and what each has of its own is its input."""

    summed: Summed
    flags: tuple[bool, ...]

    def lay_out(self, b: Builder, x: Any) -> Any:
        held, each = (iter(flatten(part)) for part in x[1:])
        return (), (), b.add(self.summed, *[next(each if flag else held) for flag in self.flags])


@share
@of_fields
class EntrySum(D):
    """The term of the module."""

    f: D

    def lay_out(self, b: Builder, x: Any) -> Any:
        f, given = self.f, b.space(x[1])
        return rebuild(f.spaces(Product((COUNT, given))), b.add(Summed(f, given), *flatten(x)))

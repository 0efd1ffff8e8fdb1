"""`ct.checkpoint(f)` is f as one box, which keeps its argument and computes the rest again when its derivative is applied.

Its derivative is matrix-free: D[f] and R[f] at the kept argument, each again such a box, so memory stays bounded at every
order. Forward mode takes value and tangent from one box, T[f], so nested checkpoints run once, at every order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import compress
from typing import TYPE_CHECKING, Any

from catad import upward
from catad.category.boxes import Nesting, Running, box, of_fields
from catad.category.constructors import constructor
from catad.category.spaces import Product, Space, Tensor, flatten, rebuild, some_tangents, tangent_space
from catad.category.terms import D, MorphismLike, morphism
from catad.category.wiring import share
from catad.linear.apply import applying
from catad.linear.dead_results import Flags, Leaves, at_flags, at_places, narrow, narrow_spaces, reads
from catad.linear.families.matrix_free import MatrixFree, carried
from catad.linear.structure import Rule
from catad.vector.pointwise.map import map as ct_map

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire, Wires


@box
class Call(Nesting):
    """A morphism at one space as a single box, which a separate program runs."""

    drawn_as = "functor"
    f: D
    dom: Space

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return self.f.spaces(self.dom).leaves

    def running(self, xp: Any, *arrays: Any) -> Running:
        program, _ = upward.program_of(self.f, self.dom)
        given = [arrays]
        del arrays  # the program that runs may free them
        results = yield program, given.pop()
        return results[0] if len(results) == 1 else tuple(results)

    def needs(self, read: Sequence[bool]) -> Sequence[bool] | None:
        return reads(self.f, self.dom, read)

    def narrowed(self, b: Builder, ins: Sequence[Wire], read: Sequence[bool]) -> Sequence[Wire | None]:
        live = reads(self.f, self.dom, read)
        (dom,) = narrow_spaces((self.dom,), (live,))
        return at_places(read, b.add(Call(narrow(self.f, self.dom, live, (read,)), dom), *compress(ins, live)))

    def rule_within(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...], by: Flags, of: Flags) -> Rule | None:
        by, of = self.differentiated(by, of)
        if not any(by) or not any(of):
            return None
        leaves = at_flags(self.dom, by), at_flags(self.f.spaces(self.dom), of)
        tangents, cotangents = self.tangents(*leaves)
        forward, backward = [Checkpoint(d(self.f, *leaves)) for d in (upward.Differential, upward.ReverseDifferential)]
        return Rule(MatrixFree(forward, backward, tangents, cotangents, self.dom), lambda wires, _: wires, by, of)

    def tangents(self, by: Leaves, of: Leaves) -> tuple[Space, Space]:
        """The spaces of the tangents of some leaves of the argument and of the result."""
        return some_tangents(self.dom, by), some_tangents(self.f.spaces(self.dom), of)

    def differentiated(self, by: Flags, of: Flags) -> tuple[Flags, Flags]:
        """The floating leaves between which the derivative is not zero, of those that are differentiated and asked for."""
        if len(by) == len(of) == 1 or not any(by) or not any(of):
            return by, of
        _, part = upward.linearised(self.f, self.dom, at_flags(self.dom, by), at_flags(self.f.spaces(self.dom), of))
        starts, ends = iter(applying(part.T)[1]), iter(applying(part)[1])
        return tuple([flag and next(starts) for flag in by]), tuple([flag and next(ends) for flag in of])

    def pushed(
        self, b: Builder, ins: tuple[Wire, ...], tangents: Sequence[Wire | None]
    ) -> tuple[tuple[Wire, ...], list[Wire | None]] | None:
        """T[f] in one box: D[f] computes f again, and so does each level of checkpoints within."""
        cod = self.f.spaces(self.dom)
        by, of = self.differentiated(tuple([t is not None for t in tangents]), (True,) * len(tangent_space(cod).leaves))
        leaves = at_flags(self.dom, by), at_flags(cod, of)
        v = rebuild(self.tangents(*leaves)[0], list(compress(tangents, by)))
        y, dy = b.apply(Checkpoint(upward.Tangent(self.f, *leaves)), (rebuild(self.dom, ins), v))
        return tuple(flatten(y)), at_places(of, flatten(dy))

    def carried(self, size: int) -> Call:
        return Call(ct_map(self.f), rebuild(self.dom, [carried(leaf, size) for leaf in self.dom.leaves], Product))

    def programs(self) -> list[tuple[int, D, Space]]:
        return [(1, self.f, self.dom)]


@share
@of_fields
class Checkpoint(D):
    """`ct.checkpoint(f)`."""

    drawn_as = "functor"
    f: D

    def lay_out(self, b: Builder, x: Wires) -> Any:
        f, dom = self.f, b.space(x)
        with b.at(x):
            return rebuild(f.spaces(dom), b.add(Call(f, dom), *flatten(x)))

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return f"ct.checkpoint({part(self.f)})"


@constructor(morphisms="f")
def checkpoint(f: MorphismLike) -> D:
    """The same function; for derivatives it keeps only its argument and computes everything within f again.

    Linearising stores the argument instead of the coefficients of f's boxes; applying the derivative costs f once more. (A.
    Griewank and A. Walther, Evaluating Derivatives, 2008, chapter 12.) Spaces are those of f, to any order of derivative.
    Raises `SpaceError` for an argument that is no morphism.

    >>> import catad as ct
    >>> ct.grad(ct.checkpoint(ct.sin >> ct.exp))(0.0)
    np.float64(1.0)
    """
    return Checkpoint(morphism(f, "ct.checkpoint"))

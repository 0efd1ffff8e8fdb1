"""`Choose` and `Either`: one of two morphisms, as a condition says, and one of two linear maps.

    value        y = f(x) where c, else g(x)
    derivative   dy = J_f(x) dx where c, else J_g(x) dx

`Choose` is a box that runs the program of one side. The derivative is the family `Either`, whose slots are the condition, the
slots of one side and those of the other. A `Choose` fills them: the side that is taken gives its own, and zeros in place of the
other's. A `Choose` applies the map, too: its sides apply the structures of the two. So derivatives of any order are such boxes.

Mapped over lanes, each with a condition of its own, both sides run on all lanes, unless all lanes take the same side. Where a
side is not taken, it is run at the point of a lane that takes it, and what it gives there is not read. So neither a NaN nor a
loop that would not end there does any harm.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import upward
from catad.category.boxes import Nesting, Running, box, of_fields
from catad.category.spaces import Product, Space, Tensor, flatten
from catad.category.terms import D
from catad.category.wiring import Builder, wire
from catad.linear.apply import applying
from catad.linear.batch_by_loop import rule_of_lanes
from catad.linear.dead_results import Flags, at_flags, at_places, narrow, narrow_spaces, reads
from catad.linear.families.block import Parallel, chain, diagonal_block
from catad.linear.families.contract import contract, zeros
from catad.linear.families.delta import delta, identity
from catad.linear.families.gather import spread_over
from catad.linear.matrix.entries import Entries
from catad.linear.solving.solver import Solver
from catad.linear.structure import Placed, Rule, Structure, family
from catad.values.stream_capture import check_not_captured
from catad.vector.loops.batching import Lanes
from catad.vector.loops.sweep_map import wider

if TYPE_CHECKING:
    from catad.category.wiring import Wire


@box
class Choose(Nesting):
    """(condition, leaves of the argument...) to the leaves of f there where the condition holds, of g where it does not.

    `f` and `g` take values of `dom` to one space. `lanes` are the sizes of the leading axes over which the box is mapped; the
    condition, the results and all leaves have them, but for those leaves that are `shared`, by number.
    """

    merges = True
    f: D
    g: D
    dom: Space
    lanes: tuple[int, ...] = ()
    shared: tuple[int, ...] = ()

    @property
    def arity(self) -> int:
        return 1 + len(self.dom.leaves)

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        outs: tuple[Tensor, ...] = self.f.spaces(self.dom).leaves
        return tuple([Tensor((*self.lanes, *leaf.shape), leaf.dtype) for leaf in outs])

    def running(self, xp: Any, *arrays: Any) -> Running:
        condition, leaves = arrays[0], arrays[1:]
        check_not_captured(xp, "the condition of ct.choose, which the host reads")
        if self.lanes:
            results = yield from self._by_lane(xp, condition, leaves)
        else:
            program, _ = upward.program_of(self.f if bool(condition) else self.g, self.dom)
            results = yield program, leaves
        return results[0] if len(results) == 1 else tuple(results)

    def _by_lane(self, xp: Any, condition: Any, leaves: Sequence[Any]) -> Running:
        made: list[Any] | None = None
        for side, live in ((self.f, condition), (self.g, xp.logical_not(condition))):
            if not bool(xp.any(live)):
                continue
            program, _ = upward.program_of(*self._mapped(side))
            results = yield program, leaves if bool(xp.all(live)) else self._elsewhere_as_there(xp, live, leaves)
            made = results if made is None else [_where(xp, live, *pair) for pair in zip(results, made, strict=True)]
        if made is None:  # no lanes at all
            made = [xp.zeros(space.shape, dtype=space.dtype) for space in self.typed(())]
        return made

    def _elsewhere_as_there(self, xp: Any, live: Any, leaves: Sequence[Any]) -> list[Any]:
        """The leaves, in lanes that are not live those of the first one that is."""
        first = np.unravel_index(int(xp.argmax(xp.reshape(live, (-1,)).astype(np.int8))), live.shape)
        return [leaf if i in self.shared else _where(xp, live, leaf, leaf[first]) for i, leaf in enumerate(leaves)]

    def needs(self, read: Sequence[bool]) -> Sequence[bool]:
        sides = [reads(side, self.dom, read) for side in (self.f, self.g)]
        return (True, *[any(pair) for pair in zip(*sides, strict=True)])

    def narrowed(self, b: Builder, ins: Sequence[Wire], read: Sequence[bool]) -> Sequence[Wire | None]:
        live = self.needs(read)
        f, g = [narrow(side, self.dom, live[1:], (read,)) for side in (self.f, self.g)]
        shared = [i in self.shared for i in compress(range(len(ins) - 1), live[1:])]
        (dom,) = narrow_spaces((self.dom,), (live[1:],))
        narrower = Choose(f, g, dom, self.lanes, tuple(compress(range(len(shared)), shared)))
        return at_places(read, b.add(narrower, *compress(ins, live)))

    def rule_within(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...], by: Flags, of: Flags) -> Rule | None:
        if self.lanes:
            return self._rule_of_lanes(ins, outs)
        if not any(by) or not any(of):
            return None
        part = at_flags(self.dom, by), at_flags(self.f.spaces(self.dom), of)
        sides = [upward.linearised(side, self.dom, *part) for side in (self.f, self.g)]
        if all(structure.is_zero for _, structure in sides):
            return None
        found = [_shown(valued, self.dom, structure) for valued, structure in sides]
        shown = sorted({at for own in found for at in own if at is not None})
        made = [tuple([j for j, at in enumerate(own) if at is None]) for own in found]
        spaces = [tuple([structure.slots[j] for j in own]) for (_, structure), own in zip(sides, made, strict=True)]
        parts: list[Placed] = []
        start = 1 + len(shown)
        for (_, structure), own in zip(sides, found, strict=True):
            fresh = iter(range(start, start + len(structure.slots)))
            parts.append((structure, tuple([next(fresh) if at is None else 1 + shown.index(at) for at in own])))
            start += own.count(None)
        slots = (ins[0], *[self.dom.leaves[at] for at in shown], *spaces[0], *spaces[1])
        first, second = Filled(sides[0][0], made[0], (), spaces[1]), Filled(sides[1][0], made[1], spaces[0], ())
        along = Choose(first, second, self.dom)

        def coefficients(wires: tuple[Wire, ...], results: tuple[Wire, ...]) -> Sequence[Wire]:
            own = wires[0].builder.add(along, *wires) if any(made) else ()
            return [wires[0], *[wires[1 + at] for at in shown], *own]

        return Rule(Either((parts[0], parts[1]), slots), coefficients, by, of)

    def _rule_of_lanes(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        """That of one lane, for each of them; what lanes share is spread first."""
        one, size = Choose(self.f, self.g, self.dom, self.lanes[1:], self.shared), self.lanes[0]
        flags = (True, *[i not in self.shared for i in range(len(ins) - 1)], *[True] * len(outs))
        rule = rule_of_lanes(one, ins, outs, flags, size)
        if rule is None or not self.shared:
            return rule
        spread = diagonal_block([_over_lanes(s, size, flag) for s, flag in zip(ins, flags, strict=False) if s.is_float])
        return Rule(chain([(spread, ()), rule.structure.whole]), rule.coefficients)

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        if not flags[0] and not self.lanes:  # all lanes choose the same side
            f, g = [Lanes(side, flags[1:], size) for side in (self.f, self.g)]
            return b.add(Choose(f, g, wider(self.dom, size, flags[1:])), *ins)
        shared = tuple([i for i, flag in enumerate(flags[1:]) if not flag and (not self.lanes or i in self.shared)])
        wide = [w if i - 1 in shared else self._widened(b, i, w, flags[i], size) for i, w in enumerate(ins)]
        return b.add(Choose(self.f, self.g, self.dom, (size, *self.lanes), shared), *wide)

    def _widened(self, b: Builder, i: int, wire: Wire, flag: bool, size: int) -> Wire:
        """An argument with the new axis, and with those of the other lanes."""
        if not flag:
            return spread_over(b, wire, size)
        if i - 1 not in self.shared:
            return wire
        own, lanes = tuple(range(1, wire.ndim)), tuple(range(wire.ndim, wire.ndim + len(self.lanes)))
        return contract(b, [(0, *own)], [wire], (0, *lanes, *own), (*wire.shape, *self.lanes))

    @property
    def must_run(self) -> bool:
        return any(wire(side, self.dom).must_run for side in (self.f, self.g))

    def programs(self) -> list[tuple[int, D, Space]]:
        sides: list[tuple[int, D, Space]] = [(1, *self._mapped(side)) for side in (self.f, self.g)]
        return sides if self.lanes else [max(sides, key=lambda side: upward.cost_of(*side[1:]))]

    def _mapped(self, side: D) -> tuple[D, Space]:
        """A side in all lanes, and the space of its argument."""
        dom, flags = self.dom, tuple([i not in self.shared for i in range(len(self.dom.leaves))])
        for size in reversed(self.lanes):
            side, dom = Lanes(side, flags, size), wider(dom, size, flags)
        return side, dom


def _over_lanes(space: Tensor, size: int, flag: bool) -> Structure:
    """The tangents of a leaf in each lane: those that are there, or the same for all."""
    if flag:
        return identity(space)
    axes = tuple(range(space.ndim))
    return delta((space.ndim, *axes), axes, None, (*space.shape, size), space.dtype, space.dtype)


def _where(xp: Any, live: Any, there: Any, elsewhere: Any) -> Any:
    return xp.where(xp.reshape(live, (*live.shape, *(1,) * (there.ndim - live.ndim))), there, elsewhere)


def _shown(valued: D, dom: Space, structure: Structure) -> list[int | None]:
    """The leaf of the argument that each slot shows; None where the slot is made."""
    wiring = wire(valued, dom)
    at = {k: i for i, k in enumerate(wiring.inputs)}
    return [at.get(k) for k in wiring.outputs[len(wiring.outputs) - len(structure.slots) :]]


@of_fields
class Filled(D):
    """Some of the slots of a morphism `x -> (value, slots)`, with zeros in the given spaces before and after them."""

    valued: D
    kept: tuple[int, ...]
    before: tuple[Tensor, ...]
    after: tuple[Tensor, ...]

    def lay_out(self, b: Builder, x: Any) -> Any:
        slots = b.apply(self.valued, x)[1]
        return (*[zeros(b, s) for s in self.before], *[slots[j] for j in self.kept], *[zeros(b, s) for s in self.after])


@of_fields
class Applied(D):
    """A structure as a morphism: (slots..., argument leaves that are there...) to the result leaves that are kept.

    The slots are `given` ones, among which those of the part have its numbers.
    """

    part: Placed
    given: int
    present: tuple[bool, ...]
    kept: tuple[bool, ...]

    def lay_out(self, b: Builder, x: Any) -> Any:
        leaves, (structure, numbers) = flatten(x), self.part
        xs = at_places(self.present, leaves[self.given :])
        outs = zip(structure.apply(b, [leaves[k] for k in numbers], xs), structure.cod, self.kept, strict=True)
        return tuple([zeros(b, space) if y is None else y for y, space, kept in outs if kept])


@family
class Either(Parallel):
    """See the module: slot 0 is the condition, `parts` are the map where it holds and the map where it does not."""

    parts: tuple[Placed, Placed]
    slots: tuple[Tensor, ...]
    is_lazy = True

    @property
    def T(self) -> Either:
        (f, of_f), (g, of_g) = self.parts
        return Either(((f.T, of_f), (g.T, of_g)), self.slots)

    def apply(self, b: Builder, slots: Sequence[Wire], xs: Sequence[Wire | None]) -> list[Wire | None]:
        present = tuple([x is not None for x in xs])
        if not any(present):
            return [None] * len(self.cod)
        made = [applying(structure, present)[1] for structure, _ in self.parts]
        kept = tuple([any(pair) for pair in zip(*made, strict=True)])
        if not any(kept):
            return [None] * len(self.cod)
        given = [*slots[1:], *[x for x in xs if x is not None]]
        f, g = [Applied((s, tuple([k - 1 for k in own])), len(slots) - 1, present, kept) for s, own in self.parts]
        return at_places(kept, b.add(Choose(f, g, Product(tuple([w.space for w in given]))), slots[0], *given))

    @property
    def kind(self) -> str:
        return f"either {self.parts[0][0].kind} or {self.parts[1][0].kind}"

    @cached_property
    def nnz(self) -> int:
        """That of the side that has more."""
        return max(part.nnz for part, _ in self.parts)

    @property
    def is_monomial(self) -> bool:
        return all(part.is_monomial for part, _ in self.parts)

    @cached_property
    def entry_count(self) -> int | None:
        counts = [part.entry_count for part, _ in self.parts]
        return None if None in counts else max(c for c in counts if c is not None)

    def taken(self, slots: Sequence[Any]) -> tuple[Structure, list[Any]]:
        """The map of the side that is taken, with its numbers."""
        part, own = self.parts[0 if bool(slots[0]) else 1]
        return part, [slots[k] for k in own]

    def entries(self, xp: Any, slots: Sequence[Any]) -> Entries:
        part, own = self.taken(slots)
        return part.entries(xp, own)

    def diagonal(self, xp: Any, slots: Sequence[Any], k: int = 0) -> Any:
        part, own = self.taken(slots)
        return part.diagonal(xp, own, k)

    def solver(self, xp: Any, slots: Sequence[Any], rtol: float | None = None) -> Solver:
        part, own = self.taken(slots)
        return part.solver(xp, own, rtol)

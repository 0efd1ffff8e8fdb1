"""Loops in bounded memory: of n steps at most k states are kept, and the steps between are taken again.

    value      (s_{i+1}, a_i, o_i) = f(s_i, g, u_i)  for i = 0 .. n - 1,    one box, which keeps its argument alone
    pullback   for i = n - 1 .. 0:  s_i again, from the nearest state that is kept;
               (w_i, h_i, v_i) = R[f]((s_i, g, u_i), (w_{i+1}, b, c_i)),    h the sum of all h_i

The pullback is one box with a loop inside: which states are kept is decided while it runs, by the schedule that takes the
fewest steps again (A. Griewank and A. Walther, Algorithm 799: revolve, 2000). So its number of steps may be found while it runs,
too: a while loop tells it. Its derivatives are loops of the same kind over the step T[f], so memory stays bounded at every order:

    D[loop] = T[loop] >> exr,       T[loop] = the loop over T[f],
    D[pullback] (x, w), (dx, dw) = the first half of the pullback of T[loop] at (x, dx) of (dw, w).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING, Any

from catad import upward
from catad.category.boxes import Nesting, Running, box, of_fields
from catad.category.cartesian import Flagged, exl, exr, fork, it, proj
from catad.category.spaces import Product, Space, Tensor, Unit, flatten, rebuild, some_tangents, tangent_space
from catad.category.terms import D
from catad.category.wiring import share
from catad.linear.apply import applying
from catad.linear.dead_results import Flags, Leaves, at_flags, at_places
from catad.linear.families.contract import zeros
from catad.linear.families.gather import spread_beside
from catad.linear.families.matrix_free import MatrixFree
from catad.linear.structure import Rule
from catad.values.stream_capture import check_not_captured
from catad.vector.folds.merge_axes import exchanged
from catad.vector.loops.checkpoint import Call
from catad.vector.loops.sweep_map import Sweep, differentiated, present
from catad.vector.stop_gradient import StoppedAt

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire, Wires


def revolve(n: int, kept: int) -> tuple[int, int]:
    """(steps taken again, first split) of the cheapest way to reverse n steps with `kept` states in memory.

    `t(n, c) = min over k of k + t(n - k, c - 1) + t(k, c)`, `t(1, c) = 0`. With the binomials b(c, r) = (c + r)! / (c! r!) and
    the least r with b(c, r) >= n it is `r n - b(c + 1, r - 1)` (Griewank and Walther, proposition 1).

    >>> revolve(10, 3)
    (15, 4)
    """
    if n <= 1:
        return 0, 0
    if kept == 1:
        return n * (n - 1) // 2, n - 1
    r, reach = 1, kept + 1  # so many steps can be reversed where each is taken again at most r times
    while reach < n:
        r += 1
        reach = reach * (kept + r) // r
    before = reach * r // (kept + r)  # b(c, r - 1)
    after = before * kept // (kept + r - 1)  # b(c - 1, r - 1)
    return r * n - before * (kept + r) // (kept + 1), min(before, n - after)


@box
class BoundedLoop(Call):
    """A sweep `f` as one box that keeps its argument only, and whose pullback keeps at most `memory` states.

    `wanted` tells of each leaf of the argument whether the pullback gives its cotangent; states have one.
    """

    memory: int
    wanted: tuple[bool, ...]

    @property
    def sweep(self) -> Sweep:
        """The loop without a limit."""
        assert isinstance(self.f, Sweep)
        return self.f

    @property
    def tangent(self) -> BoundedLoop:
        """T of it."""
        floats = [leaf.is_float for leaf in self.dom.leaves]
        wanted = self.paired(self.wanted, [flag for flag, there in zip(self.wanted, floats, strict=True) if there])
        leaves = self.paired(self.dom.leaves, tangent_space(self.dom).leaves)
        return BoundedLoop(self.sweep.tangent, Product(leaves), self.memory, tuple(wanted))

    def paired(self, xs: Sequence[Any], dxs: Sequence[Any]) -> list[Any]:
        """The leaves of the argument of T[loop], from those of the argument and of its tangent."""
        return _paired((self.sweep.state, self.sweep.given, self.sweep.input), xs, dxs)

    def only_wanted(self, cotangent: Sequence[Any]) -> list[Any]:
        """Those leaves of a cotangent of the argument that the pullback gives."""
        wanted = [flag for leaf, flag in zip(self.dom.leaves, self.wanted, strict=True) if leaf.is_float]
        return [w for w, flag in zip(cotangent, wanted, strict=True) if flag]

    def filled(self, b: Builder, cotangent: Sequence[Wire]) -> tuple[Wire, ...]:
        """A cotangent of the argument from those leaves."""
        own = iter(cotangent)
        floats = [(leaf, flag) for leaf, flag in zip(self.dom.leaves, self.wanted, strict=True) if leaf.is_float]
        return tuple([next(own) if flag else zeros(b, leaf) for leaf, flag in floats])

    def needs(self, read: Sequence[bool]) -> Sequence[bool] | None:
        return self.sweep.needs(read)

    def narrowed(self, b: Builder, ins: Sequence[Wire], read: Sequence[bool]) -> Sequence[Wire | None]:
        there, live = self.sweep.live(read)
        dom, wanted = Product(tuple(compress(self.dom.leaves, live))), tuple(compress(self.wanted, live))
        loop = BoundedLoop(self.sweep.narrower(there, live), dom, self.memory, wanted)
        return at_places(there, b.add(loop, *compress(ins, live)))

    def rule_within(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...], by: Flags, of: Flags) -> Rule | None:
        loop, by, of = self.within(by, of)
        if not any(by) or not any(of):
            return None
        dom, cod = [Product([leaf for leaf in leaves if leaf.is_float]) for leaves in (ins, outs)]
        leaves = at_flags(dom, by), at_flags(cod, of)
        forward: D = Pushed(loop)
        backward: D = Pulled(loop)
        if not all((*by, *of)):
            forward, backward = Among(forward, dom, cod, *leaves), Among(backward, cod, dom, *leaves[::-1])
        counts = self.sweep.counts
        tangents = some_tangents(dom, leaves[0]), some_tangents(cod, leaves[1])
        structure = MatrixFree(forward, backward, *tangents, Product((*ins, *counts)))
        return Rule(structure, lambda wires, results: (*wires, *results[len(results) - len(counts) :]), by, of)

    def within(self, by: Flags, of: Flags) -> tuple[BoundedLoop, Flags, Flags]:
        """The loop with derivatives between some floating leaves alone, and between which of these they are not zero."""
        if not any(by) or not any(of):
            return self, by, of
        sweep, states = self.sweep, sum([leaf.is_float for leaf in self.sweep.state.leaves])
        by, of, asked = differentiated(sweep.body, sweep.dom, states, by, of)
        if all((*by, *asked)):
            return self, by, of
        before, after = [
            tuple([leaf.is_float and not next(rest) for leaf in space.leaves])
            for space, rest in ((sweep.dom, iter(by)), (sweep.body.spaces(sweep.dom), iter(asked)))
        ]
        stopped = sweep.over_steps(lambda f, reads, gives: StoppedAt(before[:reads]) >> f >> StoppedAt(after[:gives]))
        return BoundedLoop(stopped, self.dom, self.memory, self.wanted), by, of

    def pushed(
        self, b: Builder, ins: tuple[Wire, ...], tangents: Sequence[Wire | None]
    ) -> tuple[tuple[Wire, ...], list[Wire | None]] | None:
        results = sum([leaf.is_float for leaf in self.sweep.body.spaces(self.sweep.dom).leaves])
        loop, _, of = self.within(tuple([t is not None for t in tangents]), (True,) * results)
        ys, dys = loop.along(b, ins, _filled(b, tangent_space(self.dom), tangents))
        return tuple(ys), [dy if flag else None for dy, flag in zip(dys, of, strict=True)]

    def along(self, b: Builder, xs: Sequence[Wire], dxs: Sequence[Wire]) -> tuple[list[Wire], list[Wire]]:
        """The results and their tangents."""
        sweep, outs = self.sweep, b.add(self.tangent, *self.paired(xs, dxs))
        end = len(outs) - len(sweep.counts)
        ys, dys = _halves((sweep.state, sweep.sums, sweep.output), outs[:end], False)
        return [*ys, *outs[end:]], dys

    def pulled_pair(
        self, b: Builder, xs: Sequence[Wire], dxs: Sequence[Wire], first: Sequence[Wire], second: Sequence[Wire]
    ) -> tuple[list[Wire], list[Wire]]:
        """The pullback of T[loop] at (x, dx): of a cotangent of y, and of one of dy, to one of x, and to one of dx.

        The second one is pulled back to dx; the first one, and the second one by the second derivative, to x.
        """
        sweep, m = self.sweep, len(self.dom.leaves)
        ws = _paired([tangent_space(space) for space in (sweep.state, sweep.sums, sweep.output)], first, second)
        made = b.apply(Pulled(self.tangent), ((*self.paired(xs[:m], dxs), *xs[m:]), tuple(ws)))
        return _halves((sweep.state, sweep.given, sweep.input), made, True)

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        return self.sweep.over_lanes(b, ins, flags, size, self.over)

    def over(self, sweep: Sweep, spaces: Sequence[Tensor]) -> BoundedLoop:
        """The same for another sweep, which takes values of these spaces."""
        return BoundedLoop(sweep, Product(spaces), self.memory, self.wanted)


def _paired(parts: Sequence[Space], xs: Sequence[Any], dxs: Sequence[Any]) -> list[Any]:
    """The leaves of ((a, da), (b, db), ...) from those of (a, b, ...) and of (da, db, ...)."""
    one, other, found = iter(xs), iter(dxs), list[Any]()
    for space in parts:
        found += [next(one) for _ in space.leaves]
        found += [next(other) for _ in tangent_space(space).leaves]
    return found


def _halves(parts: Sequence[Space], leaves: Sequence[Any], floats: bool) -> tuple[list[Any], list[Any]]:
    """The leaves of (a, b, ...) and of (da, db, ...) from those of ((a, da), (b, db), ...), of which all are `floats`, or not."""
    rest, halves = iter(leaves), (list[Any](), list[Any]())
    for space in parts:
        moving = tangent_space(space).leaves
        for half, own in zip(halves, (moving if floats else space.leaves, moving), strict=True):
            half += [next(rest) for _ in own]
    return halves


@of_fields
class _OfLoop(D):
    """Base of the terms that apply derivatives of a loop."""

    of: D

    @property
    def loop(self) -> BoundedLoop:
        """The loop."""
        assert isinstance(self.of, BoundedLoop)
        return self.of


@share
class Pushed(_OfLoop):
    """D[loop] : (x, dx) to dy."""

    def lay_out(self, b: Builder, x: Any) -> Any:
        xs, dxs = x
        return tuple(self.loop.along(b, xs[: len(self.loop.dom.leaves)], dxs)[1])


@share
class Pulled(_OfLoop):
    """R[loop] : (x, w) to the cotangent of x, by the schedule."""

    def lay_out(self, b: Builder, x: Any) -> Any:
        xs, ws = x
        return self.loop.filled(b, b.add(BoundedPullback(self.loop), *xs, *ws))


@of_fields
class Among(D):
    """A derivative, from a point and the tangents of some leaves of a space to the tangents of some leaves of another one."""

    whole: D
    dom: Product
    cod: Product
    by: Leaves
    of: Leaves

    def lay_out(self, b: Builder, x: Wires) -> Any:
        point, some = x
        given = range(len(self.dom.leaves)) if self.by is None else self.by
        at = dict(zip(given, flatten(some), strict=True))
        v = _filled(b, self.dom, [at.get(i) for i in range(len(self.dom.leaves))])
        made = flatten(b.apply(self.whole, (point, tuple(v))))
        return tuple(made) if self.of is None else rebuild(some_tangents(self.cod, self.of), [made[i] for i in self.of])


@box
class BoundedPullback(Nesting):
    """(leaves of the point, number of steps where the loop counts them, cotangent of the results) to that of the point."""

    loop: BoundedLoop

    @property
    def memory(self) -> int:
        """How many states are kept, the argument among them."""
        return self.loop.memory

    @cached_property
    def ahead(self) -> Sweep:
        """Steps forward: what runs between two states that are kept."""
        sweep = self.loop.sweep
        return Sweep(fork(sweep.body >> proj(0), it, it), sweep.n, sweep.state, sweep.input, Unit, sweep.reverse, sweep.given)

    @cached_property
    def back(self) -> Sweep:
        """The pullbacks of the steps, to which the state before each step is given."""
        sweep = self.loop.sweep
        _, held, each = sweep.parted(self.loop.wanted)
        given, more = [
            Product([leaf for leaf, flag in zip(space.leaves, flags, strict=True) if flag and leaf.is_float])
            for space, flags in ((sweep.given, held), (sweep.input, each))
        ]
        state, sums, output = map(tangent_space, (sweep.state, sweep.sums, sweep.output))
        point = fork(proj(1) >> proj(0), proj(1) >> proj(1), proj(2) >> exl)
        pulled = fork(point, fork(proj(0), proj(1) >> proj(2), proj(2) >> exr)) >> upward.ReverseDifferential(sweep.body)
        picked = [Flagged(_of_floats(space, flags)) for space, flags in ((sweep.given, held), (sweep.input, each))]
        body = pulled >> fork(proj(0), proj(1) >> picked[0], proj(2) >> picked[1])
        fixed = Product((sweep.state, sweep.given, sums))
        return Sweep(body, sweep.n, state, Product((sweep.input, output)), more, not sweep.reverse, fixed, given)

    @property
    def steps(self) -> int:
        """The number of steps, or a guess where the loop counts them."""
        return self.loop.sweep.programs()[0][0]

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tuple(self.loop.only_wanted(tangent_space(self.loop.dom).leaves))

    def programs(self) -> list[tuple[int, D, Space]]:
        taken = revolve(self.steps, self.memory)[0]
        return [(taken, self.ahead.body, self.ahead.dom), (self.steps, self.back.body, self.back.dom)]

    def held(self) -> int:
        place = 8  # bytes that say at which step a state stands
        return self.memory * (place + sum([leaf.nbytes for leaf in self.loop.sweep.state.leaves])) + self.back.held()

    def parted(self, read: Sequence[Any]) -> tuple[Sequence[Any], ...]:
        """What belongs to the argument: state, given, inputs, the number of steps, and cotangents of state, sums and outputs."""
        sweep, m = self.loop.sweep, len(self.loop.dom.leaves)
        ws, end = read[m + len(sweep.counts) :], len(self.back.state.leaves)
        sums = end + len(tangent_space(sweep.sums).leaves)
        return (*sweep.parted(read[:m]), read[m : m + len(sweep.counts)], ws[:end], ws[end:sums], ws[sums:])

    def running(self, xp: Any, *arrays: Any) -> Running:
        ahead, back = [upward.program_of(sweep.body, sweep.dom)[0] for sweep in (self.ahead, self.back)]
        now, given, inputs, counts, w, sums, ws = self.parted(arrays)
        del arrays
        n = _largest(xp, *counts) if counts else self.loop.sweep.n
        made, last = self.back.kept(xp), n - 1 if self.loop.sweep.reverse else 0
        kept, places, at, end = [now], [0], 0, n  # states, and where they and the present one stand
        while end:
            count = end - places[-1]
            turn = count == 1 or len(kept) == self.memory  # else another state is kept further on
            goal = end - 1 if turn else places[-1] + revolve(count, self.memory - len(kept) + 1)[1]
            if at != places[-1]:
                now, at = kept[-1], places[-1]
            while at < goal:
                now = yield ahead, [*now, *given, *[u[abs(last - at)] for u in inputs]]
                at += 1
            if not turn:
                kept.append(now)
                places.append(at)
                continue
            if count == 1:
                kept.pop()
                places.pop()
            i = abs(last - at)
            out = yield back, [*w, *now, *given, *sums, *[u[i] for u in inputs], *[u[i] for u in ws]]
            w, end = out[: len(w)], at
            made.take(i, out[len(w) :])
        results = (*w, *made.sums, *made.outputs)
        return results[0] if len(results) == 1 else results

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        domain, codomain, by = Product([s for s in ins if s.is_float]), Product(outs), self.read
        if not codomain.leaves or not any(by):
            return None
        leaves = at_flags(domain, by)
        forward: D = Bent(self.loop)
        backward: D = Bending(self.loop)
        if leaves is not None:
            forward, backward = Among(forward, domain, codomain, leaves, None), Among(backward, codomain, domain, None, leaves)
        structure = MatrixFree(forward, backward, some_tangents(domain, leaves), codomain, Product(ins))
        return Rule(structure, lambda wires, _: wires, by)

    @cached_property
    def read(self) -> Flags:
        """The floating leaves of the point and of the cotangent on which the pullback depends."""
        sweep, back = self.loop.sweep, self.back
        _, step = upward.linearised(sweep.body, sweep.dom)
        _, pull = upward.linearised(back.body, back.dom)
        columns = iter(applying(pull.T)[1])
        parts = back.state, sweep.state, sweep.given, tangent_space(sweep.sums), sweep.input, tangent_space(sweep.output)
        cotangents, states, given, sums, inputs, outputs = [
            [next(columns) for leaf in space.leaves if leaf.is_float] for space in parts
        ]
        rest = [False] * (len(step.cod) - len(states))
        made = present(step.T, len(states), (*states, *rest))
        before = applying(step.T, made)[1] if any(made) else [False] * len(step.dom)
        more = [a or c for a, c in zip((*given, *inputs), before[len(states) :], strict=True)]
        return (*made[: len(states)], *more, *cotangents, *sums, *outputs)

    def pushed(
        self, b: Builder, ins: tuple[Wire, ...], tangents: Sequence[Wire | None]
    ) -> tuple[tuple[Wire, ...], list[Wire | None]] | None:
        moving = _filled(b, tangent_space(Product([wire.space for wire in ins])), tangents)
        moved, made = [self.loop.only_wanted(half) for half in _bent(b, self.loop, ins, moving)]
        return tuple(made), [*moved]

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        wide = spread_beside(b, ins, flags, size)
        parts = list(self.parted(wide))
        for k in (2, 6):  # the axis follows that of the steps
            parts[k] = [exchanged(b, w) for w in parts[k]]
        sweep = self.loop.sweep.mapped(size, (True,) * len(self.loop.sweep.dom.leaves))
        loop = self.loop.over(sweep, [w.space for part in parts[:3] for w in part])
        made = b.add(BoundedPullback(loop), *[w for part in parts for w in part])
        start = len(self.back.state.leaves) + len(self.back.sums.leaves)
        return (*made[:start], *[exchanged(b, wire) for wire in made[start:]])


def _largest(xp: Any, count: Any) -> int:
    """The most steps that a lane has taken: the host waits for its GPU, if it has one."""
    check_not_captured(xp, "the number of steps of a while loop, which the host reads")
    return int(count.max()) if count.size else 0


def _of_floats(space: Space, flags: Sequence[bool]) -> tuple[bool, ...]:
    """The flags of those leaves that have a cotangent."""
    return tuple([flag for leaf, flag in zip(space.leaves, flags, strict=True) if leaf.is_float])


def _bent(b: Builder, loop: BoundedLoop, ins: Sequence[Wire], moving: Sequence[Wire]) -> tuple[list[Wire], list[Wire]]:
    """The tangent of the pullback of a loop at (x, w), and the pullback, by the tangents of x and of w."""
    m, k = len(loop.dom.leaves) + len(loop.sweep.counts), len(tangent_space(loop.dom).leaves)
    return loop.pulled_pair(b, ins[:m], moving[:k], moving[k:], ins[m:])


@share
class Bent(_OfLoop):
    """((x, w), (dx, dw)) to the tangent of the pullback of a loop at x of w."""

    def lay_out(self, b: Builder, x: Any) -> Any:
        return tuple(self.loop.only_wanted(_bent(b, self.loop, *x)[0]))


@share
class Bending(_OfLoop):
    """The transpose of `Bent`: ((x, w), v) to the derivatives of <w, D[loop](x, v)> by x and by w."""

    def lay_out(self, b: Builder, x: Any) -> Any:
        ins, v = x
        m = len(self.loop.dom.leaves)
        moving, ws = self.loop.filled(b, v), ins[m + len(self.loop.sweep.counts) :]
        none = [zeros(b, w.space) for w in ws]
        by_point = self.loop.pulled_pair(b, ins[: len(ins) - len(ws)], moving, none, ws)[0]
        return (*by_point, *self.loop.along(b, ins[:m], moving)[1])


def _filled(b: Builder, space: Space, terms: Sequence[Wire | None]) -> list[Wire]:
    """A tangent; None is zero."""
    return [zeros(b, leaf) if t is None else t for t, leaf in zip(terms, space.leaves, strict=True)]

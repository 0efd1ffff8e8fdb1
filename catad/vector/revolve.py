"""Loops in bounded memory: of n steps at most k states are kept, and the steps between are taken again.

    value      s_n = f(... f(s_0)),    one box, which keeps its argument alone
    pullback   for i = n - 1 .. 0:  s_i again, from the nearest state that is kept;  w_i = R[f](s_i, w_{i+1})

The pullback is one box with a loop inside: which states are kept is decided while it runs, by the schedule that takes the
fewest steps again (A. Griewank and A. Walther, Algorithm 799: revolve, 2000). Its derivatives are loops of the same kind over
the step T[f], so memory stays bounded at every order:

    D[loop] = T[loop] >> exr,       T[loop] = the loop over T[f],
    D[pullback] (s, w), (ds, dw) = the first half of the pullback of T[loop] at (s, ds) of (dw, w).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING, Any

from catad.boxes import Nesting, Running, box
from catad.late import late
from catad.linear.apply import applying
from catad.linear.gather import spread_over
from catad.linear.matrix_free import MatrixFree, carried
from catad.linear.narrow import Flags, Leaves, at_flags, loop_reads, narrow
from catad.linear.recurrence import zeros
from catad.linear.structure import Rule
from catad.linear.sweep import Sweep, differentiated, exchanged, present
from catad.rearrange import exl, exr, it, proj
from catad.spaces import Product, Space, Tensor, Unit, flatten, rebuild, some_tangents, tangent_space
from catad.terms import D, fork
from catad.vector.batching import element_of
from catad.vector.checkpoint import Call
from catad.vector.stop_gradient import StoppedAt
from catad.wiring import share

if TYPE_CHECKING:
    from catad.vector.loop import Iterate
    from catad.wiring import Builder, Wire, Wires


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


def tangent_loop(loop: Iterate) -> D:
    """T[loop] : (x, dx) to (y, dy), a loop again: each step takes the state and its tangent."""
    step = late().tangent(loop.children[0])
    return PAIRED >> _over(loop, PAIRED >> step) if loop.inputs else _over(loop, step)


PAIRED = fork(fork(exl >> exl, exr >> exl), fork(exl >> exr, exr >> exr))
"""((a, b), (c, d)) to ((a, c), (b, d))."""


@box
class BoundedLoop(Call):
    """A loop as one box that keeps its argument only; `loop` says how many states its pullback may keep, `f` is without limit."""

    loop: Iterate

    def live(self, read: Sequence[bool]) -> tuple[Flags, Flags]:
        """Which states there are where some are read after the loop, and which leaves a step reads."""
        return loop_reads(self.loop.children[0], self.loop.of_step(self.dom), len(read), tuple(read))

    def needs(self, read: Sequence[bool]) -> Sequence[bool] | None:
        there, live = self.live(read)
        return None if all(there) else live

    def narrowed(self, b: Builder, ins: Sequence[Wire], read: Sequence[bool]) -> Sequence[Wire | None]:
        there, live = self.live(read)
        step = narrow(self.loop.children[0], self.loop.of_step(self.dom), live, (there,)) >> proj(0)
        wires, k = list(compress(ins, live)), sum(there)
        loop = self.loop.of(step, self.loop.n, self.loop.memory)
        made = iter(flatten(b.apply(loop, (tuple(wires[:k]), tuple(wires[k:])) if loop.inputs else tuple(wires))))
        return [next(made) if flag else None for flag in there]

    def rule_within(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...], by: Flags, of: Flags) -> Rule | None:
        if not any(by) or not any(of):
            return None
        step, cod = self.loop.children[0], self.f.spaces(self.dom)
        by, of, asked = differentiated(step, self.loop.of_step(self.dom), len(of), by, of)
        if not any(by) or not any(of):
            return None
        constant = iter(asked)  # states on which nothing depends whose derivative is asked for
        passed = StoppedAt(tuple([leaf.is_float and not next(constant) for leaf in cod.leaves]))
        loop = self.loop.of(step >> passed, self.loop.n, self.loop.memory) if any(passed.flags) else self.loop
        leaves = at_flags(self.dom, by), at_flags(cod, of)
        forward: D = tangent_loop(loop) >> exr
        backward: D = Pulled(loop)
        if not all((*by, *of)):
            forward, backward = Among(forward, self.dom, cod, *leaves), Among(backward, cod, self.dom, *leaves[::-1])
        return Rule(MatrixFree(forward, backward, *self.tangents(*leaves), self.dom), lambda wires, _: wires, by, of)

    def pushed(
        self, b: Builder, ins: tuple[Wire, ...], tangents: Sequence[Wire | None]
    ) -> tuple[tuple[Wire, ...], list[Wire | None]] | None:
        y, dy = b.apply(tangent_loop(self.loop), (rebuild(self.dom, ins), _filled(b, tangent_space(self.dom), tangents)))
        return tuple(flatten(y)), list(flatten(dy))

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        return tuple(flatten(b.apply(_wide(self.loop), _spread(b, self.loop, self.dom, ins, flags, size))))


@share
class Revolved(D):
    """A loop in bounded memory, reversed by the schedule."""

    __slots__ = ("children",)
    children: tuple[D, ...]

    def __init__(self, loop: D) -> None:
        self.children = (loop,)

    def lay_out(self, b: Builder, x: Wires) -> Any:
        loop: Any = self.children[0]
        plain, dom = loop.of(loop.children[0], loop.n, None), b.space(x)
        return rebuild(plain.spaces(dom), b.add(BoundedLoop(plain, dom, loop), *flatten(x)))

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return f"{name(Revolved, 'Revolved')}({part(self.children[0])})"


@share
class Pulled(D):
    """R[loop] : (x, w) to the cotangent of x, by the schedule."""

    __slots__ = ("children",)
    children: tuple[D, ...]

    def __init__(self, loop: D) -> None:
        self.children = (loop,)

    def lay_out(self, b: Builder, x: Wires) -> Any:
        point, w = x
        dom = b.space(point)
        made = b.add(BoundedPullback(self.children[0], dom), *flatten(point), *flatten(w))  # type: ignore[arg-type]
        return rebuild(tangent_space(dom), made)

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return f"ct.reverse_differential({part(self.children[0])})"


class Among(D):
    """A derivative, from a point and the tangents of some leaves of a space to the tangents of some leaves of another one."""

    __slots__ = ("by", "children", "cod", "dom", "of")
    children: tuple[D, ...]

    def __init__(self, whole: D, dom: Space, cod: Space, by: Leaves, of: Leaves) -> None:
        self.children, self.dom, self.cod, self.by, self.of = (whole,), dom, cod, by, of

    def data(self) -> Hashable:
        return (self.dom, self.cod, self.by, self.of)

    def lay_out(self, b: Builder, x: Wires) -> Any:
        point, some = x
        floats = [[i for i, leaf in enumerate(space.leaves) if leaf.is_float] for space in (self.dom, self.cod)]
        at = dict(zip(floats[0] if self.by is None else self.by, flatten(some), strict=True))
        v = _filled(b, tangent_space(self.dom), [at.get(i) for i in floats[0]])
        made = dict(zip(floats[1], flatten(b.apply(self.children[0], (point, v))), strict=True))
        return rebuild(some_tangents(self.cod, self.of), [made[i] for i in (floats[1] if self.of is None else self.of)])

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        data = part(self.children[0]), *map(repr, (self.dom, self.cod, self.by, self.of))
        return f"{name(Among, 'Among')}({', '.join(data)})"


@box
class BoundedPullback(Nesting):
    """(leaves of the point, cotangent of the state after the last step) to the cotangent of the point."""

    loop: Iterate
    dom: Space

    @property
    def memory(self) -> int:
        """How many states are kept, the argument among them."""
        assert self.loop.memory is not None
        return self.loop.memory

    @property
    def state(self) -> Space:
        """The space of the state."""
        return self.dom.factors[0] if self.loop.inputs else self.dom  # type: ignore[attr-defined]

    @property
    def input(self) -> Space:
        """The space of the input of a step."""
        return element_of(self.dom.factors[1]) if self.loop.inputs else Unit  # type: ignore[attr-defined]

    @property
    def step(self) -> D:
        """A step, from a state and an input."""
        f = self.loop.children[0]
        return f if self.loop.inputs else exl >> f

    @cached_property
    def ahead(self) -> Sweep:
        """Steps forward, as a sweep: what runs between two states that are kept."""
        return Sweep(fork(fork(proj(0), proj(2)) >> self.step, it, it), self.loop.n, self.state, self.input, Unit)

    @cached_property
    def back(self) -> Sweep:
        """The pullbacks of the steps, as a sweep backwards, to which the state before each step is given."""
        pulled = fork(fork(proj(1), proj(2)), proj(0)) >> late().reverse_differential(self.step)
        cotangent, more = tangent_space(self.state), tangent_space(self.input)
        body = fork(pulled >> exl, it, pulled >> exr)
        return Sweep(body, self.loop.n, cotangent, self.input, more, True, self.state)

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tangent_space(self.dom).leaves

    def programs(self) -> list[tuple[int, D, Space]]:
        steps = revolve(self.loop.n, self.memory)[0]
        return [(steps, self.ahead.body, self.ahead.dom), (self.loop.n, self.back.body, self.back.dom)]

    def held(self) -> int:
        return self.memory * sum([leaf.nbytes for leaf in self.state.leaves])

    def running(self, xp: Any, *arrays: Any) -> Running:
        ahead, back = [late().program_of(sweep.body, sweep.dom)[0] for sweep in (self.ahead, self.back)]
        k, m = len(self.state.leaves), len(self.dom.leaves)
        now, inputs, w = list(arrays[:k]), arrays[k:m], list(arrays[m:])
        del arrays
        made = self.back.kept(xp)
        kept, places, at, end = [now], [0], 0, self.loop.n  # states, and where they and the present one stand
        while end:
            count = end - places[-1]
            turn = count == 1 or len(kept) == self.memory  # else another state is kept further on
            goal = end - 1 if turn else places[-1] + revolve(count, self.memory - len(kept) + 1)[1]
            if at != places[-1]:
                now, at = kept[-1], places[-1]
            while at < goal:
                now = yield ahead, [*now, *[u[at] for u in inputs]]
                at += 1
            if not turn:
                kept.append(now)
                places.append(at)
                continue
            if count == 1:
                kept.pop()
                places.pop()
            out = yield back, [*w, *now, *[u[at] for u in inputs]]
            w, end = out[: len(w)], at
            made.take(at, out[len(w) :])
        results = (*w, *made.outputs)
        return results[0] if len(results) == 1 else results

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        cotangent, codomain = tangent_space(self.state), tangent_space(self.dom)
        point, by = Product((self.dom, cotangent)), self.read
        leaves = at_flags(point, by)
        forward: D = Bent(self.loop)
        backward: D = Bending(self.loop)
        if leaves is not None:
            forward, backward = Among(forward, point, self.dom, leaves, None), Among(backward, self.dom, point, None, leaves)
        return Rule(MatrixFree(forward, backward, some_tangents(point, leaves), codomain, point), lambda wires, _: wires, by)

    @cached_property
    def read(self) -> Flags:
        """The floating leaves of the point and of the cotangent on which the pullback depends."""
        _, step = late().linearised(self.step, Product((self.state, self.input)))
        _, pull = late().linearised(self.back.body, self.back.dom)
        k, columns = len(tangent_space(self.state).leaves), applying(pull.T)[1]
        states = present(step.T, k, columns[k : 2 * k])
        inputs = zip(columns[2 * k :], applying(step.T, states)[1][k:], strict=True)
        return (*states, *[a or c for a, c in inputs], *columns[:k])

    def pushed(
        self, b: Builder, ins: tuple[Wire, ...], tangents: Sequence[Wire | None]
    ) -> tuple[tuple[Wire, ...], list[Wire | None]] | None:
        m, float_leaves = len(self.dom.leaves), len(tangent_space(self.dom).leaves)
        dx = _filled(b, tangent_space(self.dom), tangents[:float_leaves])
        dw = _filled(b, tangent_space(self.state), tangents[float_leaves:])
        w = rebuild(tangent_space(self.state), ins[m:])
        moved, made = _pulled_pair(b, self.loop, (rebuild(self.dom, ins[:m]), dx), (dw, w))
        return tuple(flatten(made)), list(flatten(moved))

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        m = len(self.dom.leaves)
        x = _spread(b, self.loop, self.dom, ins[:m], flags[:m], size)
        w = [wire if flag else spread_over(b, wire, size) for wire, flag in zip(ins[m:], flags[m:], strict=True)]
        cotangent = tangent_space(self.state)
        wide = rebuild(cotangent, [carried(leaf, size) for leaf in cotangent.leaves], Product)
        made = flatten(b.apply(Pulled(_wide(self.loop)), (x, rebuild(wide, w))))
        k = len(cotangent.leaves)
        return (*made[:k], *[exchanged(b, wire) for wire in made[k:]])


@share
class Bent(D):
    """((x, w), (dx, dw)) to the tangent of the pullback of a loop at x of w."""

    __slots__ = ("children",)
    children: tuple[D, ...]

    def __init__(self, loop: D) -> None:
        self.children = (loop,)

    def lay_out(self, b: Builder, x: Wires) -> Any:
        (point, w), (dx, dw) = x
        return _pulled_pair(b, self.children[0], (point, dx), (dw, w))[0]

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return f"{name(Bent, 'Bent')}({part(self.children[0])})"


@share
class Bending(D):
    """The transpose of `Bent`: ((x, w), v) to the derivatives of <w, D[loop](x, v)> by x and by w."""

    __slots__ = ("children",)
    children: tuple[D, ...]

    def __init__(self, loop: D) -> None:
        self.children = (loop,)

    def lay_out(self, b: Builder, x: Wires) -> Any:
        (point, w), v = x
        loop = self.children[0]
        none = rebuild(b.space(w), [zeros(b, leaf) for leaf in b.space(w).leaves])
        by_point = _pulled_pair(b, loop, (point, v), (none, w))[0]
        return by_point, b.apply(tangent_loop(loop) >> exr, (point, v))  # type: ignore[arg-type]

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return f"{name(Bending, 'Bending')}({part(self.children[0])})"


def _pulled_pair(b: Builder, loop: Any, point: Any, cotangent: Any) -> tuple[Any, Any]:
    """The pullback of T[loop] at (x, dx) of (a, c): c is pulled back to dx, and a, and c by the second derivative, to x."""
    step = late().tangent(loop.children[0])
    if not loop.inputs:
        first, second = b.apply(Pulled(_over(loop, step)), (point, cotangent))
        return first, second
    (s, u), (ds, du) = point
    made = b.apply(Pulled(_over(loop, PAIRED >> step)), (((s, ds), (u, du)), cotangent))
    (first, second), (third, fourth) = made
    return (first, third), (second, fourth)


def _over(loop: Iterate, step: D) -> D:
    """As many steps of another kind, in as little memory."""
    return loop.of(step, loop.n, loop.memory)


def _filled(b: Builder, space: Space, terms: Sequence[Wire | None]) -> Any:
    """A tangent; None is zero."""
    return rebuild(space, [zeros(b, leaf) if t is None else t for t, leaf in zip(terms, space.leaves, strict=True)])


def _wide(loop: Iterate) -> D:
    """The loop over states with one more leading axis."""
    return _over(loop, late().map(loop.children[0]))


def _spread(
    b: Builder, loop: Iterate, dom: Space, ins: Sequence[Wire], flags: Sequence[bool], size: int
) -> Any:
    """The argument of such a loop: all leaves with the axis, which follows that of the steps in the inputs."""
    wide = [w if flag else spread_over(b, w, size) for w, flag in zip(ins, flags, strict=True)]
    if not loop.inputs:
        return rebuild(dom, wide)
    k = len(dom.factors[0].leaves)  # type: ignore[attr-defined]
    return rebuild(dom, [*wide[:k], *[exchanged(b, w) for w in wide[k:]]])

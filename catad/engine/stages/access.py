"""The positions at which a stage reads an array: they are affine in the indices of its loops.

A slice, a flip, a shift, a transposition, a broadcast, a diagonal, windows and most reshapes cost no work: a reader of such a
view reads the array behind it at other positions. A position may depend on several loops: that of `x[b * B + t]` does, and so
does that in a window, `x[i + k]`. A shift and a pad have a guard: outside an interval of positions, the value is their fill
value.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from catad.category.boxes import Primitive
from catad.linear.families.contract import Contract
from catad.linear.families.reindex import Axis, Reshaped, StridedCopy
from catad.linear.families.windows import Windowed


class Affine(NamedTuple):
    """The position `a + s * index + ...` along one array axis: a term (label, s) for each loop that moves it, by their labels."""

    a: int
    terms: tuple[tuple[int, int], ...] = ()

    @property
    def one(self) -> tuple[int, int]:
        """The label and the step of a position that one loop moves."""
        ((label, s),) = self.terms
        return label, s


FIXED = Affine(0)  # the first position, which no loop moves


def affine(a: int, terms: Iterable[tuple[int, int]]) -> Affine:
    """An `Affine` in normal form, so that equal positions are equal objects."""
    steps: dict[int, int] = {}
    for label, s in terms:
        steps[label] = steps.get(label, 0) + s
    return Affine(a, tuple(sorted([(label, s) for label, s in steps.items() if s])))


def along(label: int, a: int = 0, s: int = 1) -> Affine:
    """A position that one loop moves."""
    return Affine(a, ((label, s),))


def composed(outer: Affine, at: Sequence[Affine]) -> Affine:
    """A position with each index replaced by an affine one."""
    a = outer.a + sum([s * at[label].a for label, s in outer.terms])
    return affine(a, [(new, s * t) for label, s in outer.terms for new, t in at[label].terms])


def extent(position: Affine, loops: Sequence[int]) -> tuple[int, int]:
    """The least and the greatest value of a position; of empty loops, that of their first index."""
    ends = [s * max(loops[label] - 1, 0) for label, s in position.terms]
    return position.a + sum([min(end, 0) for end in ends]), position.a + sum([max(end, 0) for end in ends])


class Guard(NamedTuple):
    """Only for `lo <= s * index + ... < hi` the array is read: a term (label, s) for each loop, by their labels."""

    terms: tuple[tuple[int, int], ...]
    lo: int
    hi: int


def guard(position: Affine, lo: int, hi: int) -> Guard:
    """A `Guard` in normal form, so that equal ones are equal objects: steps without a common factor, the first one positive."""
    lo, hi, factor = lo - position.a, hi - position.a, math.gcd(*[s for _, s in position.terms]) or 1
    lo, hi = -(-lo // factor), -(-hi // factor)
    if position.terms and position.terms[0][1] < 0:
        lo, hi, factor = 1 - hi, 1 - lo, -factor
    return Guard(tuple([(label, s // factor) for label, s in position.terms]), lo, max(lo, hi))


NEVER = Guard((), 0, 0)  # which holds nowhere


class Access(NamedTuple):
    """The position along each axis of an array, and the guards; outside them the value is `fill`."""

    axes: tuple[Affine, ...]
    guards: tuple[Guard, ...] = ()
    fill: float | None = None


def straight(rank: int) -> Access:
    """The access of an array that has the loops as its axes."""
    return Access(tuple([along(k) for k in range(rank)]))


def spread(shape: Sequence[int], over: Sequence[int]) -> Access:
    """The access of an array that NumPy's rules stretch over the loops."""
    lead = len(over) - len(shape)
    own = enumerate(shape)
    return Access(tuple([FIXED if n == 1 and over[lead + k] != 1 else along(lead + k) for k, n in own]))


def moved(access: Access, at: Sequence[Affine]) -> Access:
    """The access with each loop index replaced by an affine function of others."""
    axes = [composed(axis, at) for axis in access.axes]
    guards = [guard(composed(Affine(0, terms), at), lo, hi) for terms, lo, hi in access.guards]
    return Access(tuple(axes), tuple(guards), access.fill)


def behind(view: Primitive, access: Access, before: Sequence[int], loops: Sequence[int]) -> Access | None:
    """The access of the array of shape `before` behind a view, from that of the view; None where it has not this form."""
    if isinstance(view, StridedCopy):
        return _through_move(view, access, loops)
    if isinstance(view, Contract):
        return _through_contract(view, access)
    if isinstance(view, Reshaped):
        return _through_reshape(view, access, before, loops)
    if isinstance(view, Windowed):
        return access._replace(axes=tuple([composed(affine(a, terms), access.axes) for a, terms in view.axes]))
    return None


def _through_reshape(view: Reshaped, access: Access, before: Sequence[int], loops: Sequence[int]) -> Access | None:
    """The access to the argument of a reshape: the position in C order, which is split into positions along its axes."""
    if 0 in before:
        return None
    axes: list[Affine] = []
    for own, sizes in groups(view.shape, before):
        flat = composed(Affine(0, tuple(_units([view.shape[k] for k in own]))), [access.axes[k] for k in own])
        found = _digits(flat, sizes, loops)
        if found is None:
            return None
        axes += found
    return access._replace(axes=tuple(axes))


def _units(shape: Sequence[int]) -> list[tuple[int, int]]:
    """The axes of a shape with the distances of their positions in C order."""
    return [(k, math.prod(shape[k + 1 :])) for k in range(len(shape))]


def groups(after: Sequence[int], before: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """The axes of two shapes of one size in the smallest groups of one size: the axes of the first, the sizes in the second."""
    found = []
    i = j = 0
    while i < len(after) or j < len(before):
        own, sizes = [i] if i < len(after) else [], [before[j]] if j < len(before) else []
        i, j = i + len(own), j + len(sizes)
        while (n := math.prod([after[k] for k in own])) != (m := math.prod(sizes)):
            if n < m:
                own.append(i)
                i += 1
            else:
                sizes.append(before[j])
                j += 1
        found.append((own, sizes))
    return found


def _digits(flat: Affine, sizes: Sequence[int], loops: Sequence[int]) -> list[Affine] | None:
    """A position in C order as positions along axes of these sizes; None where these are not affine, since a digit is carried."""
    made = []
    for k in range(len(sizes) - 1):
        unit = math.prod(sizes[k + 1 :])
        if unit == 1:
            made.append(flat)
            flat = FIXED
            continue
        steps = [(label, int(math.copysign(abs(s) // unit, s))) for label, s in flat.terms]
        rest = affine(flat.a, [(label, s - q * unit) for (label, s), (_, q) in zip(flat.terms, steps, strict=True)])
        low, high = extent(rest, loops)
        carried = low // unit
        if high - carried * unit >= unit:
            return None
        first = affine(carried, steps)
        made.append(first)
        flat = rest._replace(a=rest.a - carried * unit)
    return [*made, flat] if sizes else []


def _through_contract(view: Contract, access: Access) -> Access | None:
    """The access to the one operand of a contraction without sums: transposition, broadcast, diagonal."""
    if len(view.operands) != 1 or not without_sums(view):
        return None
    return across(view.operands[0], view.out, access)


def without_sums(c: Contract) -> bool:
    """True where each index of the result is that of one index of each operand; a sum over one index is none."""
    unit = {label for label, size in enumerate(c.sizes) if size == 1}
    return len(set(c.out)) == len(c.out) and set().union(*c.operands) <= unit | set(c.out)


def across(labels: Sequence[int], out: Sequence[int], access: Access) -> Access:
    """The access of an operand from that of the result of a contraction without sums."""
    return access._replace(axes=tuple([access.axes[out.index(n)] if n in out else FIXED for n in labels]))


def _through_move(view: StridedCopy, access: Access, loops: Sequence[int]) -> Access | None:
    axes, guards = [], list[Guard]()
    for ax, position in zip(view.axes, access.axes, strict=True):
        counted = _counted(ax, position, loops)
        if counted is None:
            return None
        found, own = counted
        guards += own
        low, high = extent(found, loops)
        if ax.m == 0 or (not found.terms and not 0 <= low < ax.m):
            axes.append(FIXED)
            guards.append(NEVER)
            continue
        axes.append(affine(ax.a + ax.s * found.a, [(label, ax.s * s) for label, s in found.terms]))
        if low >= 0 and high < ax.m:
            continue
        guards.append(guard(found, max(low, 0), min(high + 1, ax.m)))
    new = [one for one in guards if not any(_within(known, one) for known in access.guards)]
    if not new:
        return access._replace(axes=tuple(axes))
    if not loops or (access.guards and repr(access.fill) != repr(view.fill)):
        return None
    return Access(tuple(axes), tuple(joined([*access.guards, *new])), view.fill)


def _counted(ax: Axis, position: Affine, loops: Sequence[int]) -> tuple[Affine, list[Guard]] | None:
    """Which entry is moved to a position, counted from the first, and where it is one; None where this is not affine.

    The entries lie `t` apart. Loops that go on by less come to at most one of them, and only there is anything read.
    """
    a, t = position.a - ax.c, ax.t
    if ax.m <= 1 or t == 1:
        return position._replace(a=a), []
    near = Affine(a % t, tuple([(label, s) for label, s in position.terms if s % t]))
    far = [(label, s // t) for label, s in position.terms if s % t == 0]
    low, high = extent(near, loops)
    first = -(-low // t)
    if first * t > high:
        return FIXED, [NEVER]
    if (first + 1) * t <= high:
        return None
    return Affine(a // t + first, tuple(far)), [guard(near, first * t, first * t + 1)] if near.terms else []


def _within(inner: Guard, outer: Guard) -> bool:
    return inner.terms == outer.terms and outer.lo <= inner.lo and inner.hi <= outer.hi


def not_everywhere(guards: Sequence[Guard], loops: Sequence[int]) -> list[Guard]:
    """The guards that do not hold in all of the loops."""
    made = [(one, extent(Affine(0, one.terms), loops)) for one in guards]
    return [one for one, (low, high) in made if low < one.lo or high >= one.hi]


def nowhere(one: Guard, loops: Sequence[int]) -> bool:
    """True where a guard holds at no index of the loops."""
    low, high = extent(Affine(0, one.terms), loops)
    return high < one.lo or low >= one.hi


def joined(guards: Sequence[Guard]) -> list[Guard]:
    """Joins guards, so that there is one for each sum of indices."""
    found: dict[tuple[tuple[int, int], ...], Guard] = {}
    for one in guards:
        old = found.get(one.terms, one)
        lo = max(old.lo, one.lo)
        found[one.terms] = Guard(one.terms, lo, max(min(old.hi, one.hi), lo))
    return list(found.values())

"""The positions at which a stage reads an array: they are affine in the indices of its loops.

A slice, a flip, a shift, a transposition, a broadcast and a diagonal cost no work: a reader of such a view reads the array
behind it at other positions. A shift and a pad have a guard: outside an interval of one loop index, the value is their fill
value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from catad.boxes import Primitive
from catad.linear.contract import Contract
from catad.linear.reindex import Reshaped, StridedCopy

FIXED = -1  # the label of a position that no loop moves


class Affine(NamedTuple):
    """The position `a + s * index` along one array axis, where `index` is that of the loop `label`."""

    label: int
    a: int
    s: int


class Guard(NamedTuple):
    """Only for `lo <= index < hi` of the loop `label` the array is read."""

    label: int
    lo: int
    hi: int


class Access(NamedTuple):
    """The position along each axis of an array, and the guards; outside them the value is `fill`."""

    axes: tuple[Affine, ...]
    guards: tuple[Guard, ...] = ()
    fill: float | None = None


def straight(rank: int) -> Access:
    """The access of an array that has the loops as its axes."""
    return Access(tuple([Affine(k, 0, 1) for k in range(rank)]))


def spread(shape: Sequence[int], over: Sequence[int]) -> Access:
    """The access of an array that NumPy's rules stretch over the loops."""
    lead = len(over) - len(shape)
    own = enumerate(shape)
    return Access(tuple([Affine(FIXED, 0, 0) if n == 1 and over[lead + k] != 1 else Affine(lead + k, 0, 1) for k, n in own]))


def moved(access: Access, at: Sequence[Affine]) -> Access:
    """The access with each loop index replaced by an affine function of another one."""
    axes = []
    for label, a, s in access.axes:
        if label == FIXED:
            axes.append(Affine(FIXED, a, 0))
        else:
            new = at[label]
            axes.append(Affine(new.label, a + s * new.a, s * new.s))
    guards = []
    for label, lo, hi in access.guards:
        new = at[label]
        guards.append(
            Guard(new.label, lo - new.a, hi - new.a) if new.s > 0 else Guard(new.label, new.a - hi + 1, new.a - lo + 1)
        )
    return Access(tuple(axes), tuple(guards), access.fill)


def behind(view: Primitive, access: Access, before: Sequence[int], loops: Sequence[int]) -> Access | None:
    """The access of the array of shape `before` behind a view, from that of the view; None where it has not this form."""
    if isinstance(view, StridedCopy):
        return _through_move(view, access, loops)
    if isinstance(view, Contract):
        return _through_contract(view, access)
    if isinstance(view, Reshaped):
        return _through_unit_axes(view, access, before)
    return None


def _through_unit_axes(view: Reshaped, access: Access, before: Sequence[int]) -> Access | None:
    """The access to the argument of a reshape that only adds and takes away axes of size 1."""
    if [n for n in before if n != 1] != [n for n in view.shape if n != 1]:
        return None
    rest = iter([at for at, n in zip(access.axes, view.shape, strict=True) if n != 1])
    return access._replace(axes=tuple([next(rest) if n != 1 else Affine(FIXED, 0, 0) for n in before]))


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
    return access._replace(axes=tuple([access.axes[out.index(n)] if n in out else Affine(FIXED, 0, 0) for n in labels]))


def _through_move(view: StridedCopy, access: Access, loops: Sequence[int]) -> Access | None:
    axes, guards = [], list[Guard]()
    for ax, (label, a, s) in zip(view.axes, access.axes, strict=True):
        if ax.m == 0:
            axes.append(Affine(FIXED, 0, 0))
            guards.append(Guard(0, 0, 0))
            continue
        if ax.t != 1:
            return None
        axes.append(Affine(label, ax.a + ax.s * (a - ax.c), ax.s * s))
        if label == FIXED:
            if not ax.c <= a < ax.c + ax.m:
                guards.append(Guard(0, 0, 0))
            continue
        lo, hi = _inside(a - ax.c, s, ax.m)
        lo, hi = max(lo, 0), min(hi, loops[label])
        if lo > 0 or hi < loops[label]:
            guards.append(Guard(label, lo, max(lo, hi)))
    new = [guard for guard in guards if not any(_within(known, guard) for known in access.guards)]
    if not new:
        return access._replace(axes=tuple(axes))
    if not loops or (access.guards and repr(access.fill) != repr(view.fill)):
        return None
    return Access(tuple(axes), tuple(_joined([*access.guards, *new])), view.fill)


def _within(inner: Guard, outer: Guard) -> bool:
    return inner.label == outer.label and outer.lo <= inner.lo and inner.hi <= outer.hi


def _inside(a: int, s: int, m: int) -> tuple[int, int]:
    """The indices i with `0 <= a + s i < m`."""
    if s > 0:
        return -(a // s), (m - 1 - a) // s + 1
    return -((m - 1 - a) // -s), a // -s + 1


def _joined(guards: Sequence[Guard]) -> list[Guard]:
    """Joins guards, so that each loop has one."""
    found: dict[int, Guard] = {}
    for label, lo, hi in guards:
        old = found.get(label)
        found[label] = (
            Guard(label, lo, hi) if old is None else Guard(label, max(old.lo, lo), max(min(old.hi, hi), max(old.lo, lo)))
        )
    return list(found.values())

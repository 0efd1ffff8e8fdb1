"""All states that a sequence of elements takes a state through, in O(log n) array operations: what scans and recurrences run on.

Elements act on states: `step(s, x)` is the state after x, and `join(x, y)` the element that does what x and then y do. Neighbours
are joined, every other state is found from the joined ones, the states between by one step each: work O(n), depth O(log n)
(R. Ladner and M. Fischer, Parallel prefix computation, 1980; G. Blelloch, Prefix sums and their applications, 1990).

A joined element may overflow although no state does. So where states are not all finite, each is held against one step from
the one before it, all at once. If they agree they are right, by induction. Otherwise the rest is computed again: elements
whose product stays finite are joined, and the others are taken one step after the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

State = list[Any]  # arrays (n, ...), axis 0 counting the steps
Elements = list[Any]  # arrays (n, ...), or an `int` or `float` that is the same at each step
Step = Callable[[State, Elements], State]
Join = Callable[[Elements, Elements], Elements]

SEQUENTIAL = 16  # below this many steps one after the other beats pairing
CROWDED = 0.875  # joining again pays while it leaves less than this part of the elements


def prefixes(xp: Any, x: Elements, width: int, step: Step, join: Join, stepping: bool = False) -> State:
    """The state after each element. The last `width` arrays of an element are the state that it makes, standing first.

    With `stepping` one element follows the other, without joining.
    """
    n = len(x[-1])
    if stepping or n <= SEQUENTIAL:
        return _stepped(xp, x, width, step)
    states = _in_pairs(xp, x, width, step, join)
    for again in (_sparing, _one_by_one):
        if _finite(xp, states):
            break
        at = _first_wrong(xp, states, x, step)
        if at == n:
            break
        rest = _from(xp, _each(x, slice(at - 1, None)), [a[at - 1 : at] for a in states])
        mended = again(xp, rest, width, step, join)
        states = [xp.concatenate([a[:at], m[1:]]) for a, m in zip(states, mended, strict=True)]
    return states


def _each(x: Sequence[Any], at: Any) -> list[Any]:
    return [a if _constant(a) else a[at] for a in x]


def _constant(a: Any) -> bool:
    return type(a) in (int, float)


def _from(xp: Any, x: Elements, state: State) -> Elements:
    """The elements with a given state after the first."""
    cut = len(x) - len(state)
    return [*x[:cut], *[xp.concatenate([s, a[1:]]) for s, a in zip(state, x[cut:], strict=True)]]


def _stepped(xp: Any, x: Elements, width: int, step: Step) -> State:
    out = [xp.array(a, copy=True) for a in x[-width:]]
    for i in range(1, len(out[0])):
        for a, value in zip(out, step([a[i - 1] for a in out], _each(x, i)), strict=True):
            a[i] = value
    return out


def _one_by_one(xp: Any, x: Elements, width: int, step: Step, join: Join) -> State:
    return _stepped(xp, x, width, step)


def _in_pairs(xp: Any, x: Elements, width: int, step: Step, join: Join) -> State:
    n = len(x[-1])
    if n <= SEQUENTIAL:
        return _stepped(xp, x, width, step)
    m = n // 2
    half = _in_pairs(xp, join(_each(x, slice(0, 2 * m, 2)), _each(x, slice(1, 2 * m, 2))), width, step, join)
    return _filled_in(xp, x, half, step)


def _filled_in(xp: Any, x: Elements, odd: State, step: Step) -> State:
    """All states from every other one."""
    rest = slice(2, None, 2)
    own, m = x[len(x) - len(odd) :], len(odd[0])
    between = step([a[: len(own[0][rest])] for a in odd], _each(x, rest))
    out = [xp.empty_like(a) for a in own]
    for a, first, second, made in zip(out, own, odd, between, strict=True):
        a[:1] = first[:1]
        a[1 : 2 * m : 2] = second
        a[rest] = made
    return out


def _finite(xp: Any, arrays: Sequence[Any]) -> bool:
    return all(a.dtype.kind != "f" or bool(xp.isfinite(a).all()) for a in arrays)


def _first_wrong(xp: Any, states: State, x: Elements, step: Step) -> int:
    """The first step whose state is not what a step from the one before it makes, as to NaN and infinity; n if there is none."""
    n = len(states[0])
    after = step([a[:-1] for a in states], _each(x, slice(1, None)))
    wrong = xp.zeros(n - 1, dtype=bool)
    for a, made in zip(states, after, strict=True):
        if a.dtype.kind == "f":
            a = a[1:]
            same = (xp.isfinite(a) & xp.isfinite(made)) | (a == made) | (xp.isnan(a) & xp.isnan(made))
            wrong |= ~same.reshape(n - 1, -1).all(axis=1)
    found = xp.flatnonzero(wrong)
    return int(found[0]) + 1 if len(found) else n


def _sparing(xp: Any, x: Elements, width: int, step: Step, join: Join) -> State:
    """Joins as `_in_pairs`, but no two finite elements whose join is not finite, until hardly any can be joined."""
    n = len(x[-1])
    if n <= SEQUENTIAL:
        return _stepped(xp, x, width, step)
    m = n // 2
    first, second = _each(x, slice(0, 2 * m, 2)), _each(x, slice(1, 2 * m, 2))
    joined = join(first, second)
    lost = _sound(xp, first) & _sound(xp, second) & ~_sound(xp, joined)
    apart = lost.reshape(m, -1).any(axis=1)
    left = n - m + int(apart.sum())
    if left > CROWDED * n:
        return _stepped(xp, x, width, step)
    ends = xp.arange(m) + xp.cumsum(apart)  # where a pair, or the second of two that are not joined, comes to stand
    fewer = [_merged(xp, a, j, x[-1], apart, ends, left) for a, j in zip(x, joined, strict=True)]
    reached = _sparing(xp, fewer, width, step, join)
    return _filled_in(xp, x, [a[ends] for a in reached], step)


def _sound(xp: Any, x: Elements) -> Any:
    """Flags of the elements that are finite, broadcast over what they carry along."""
    sound: Any = True
    for a in x:
        if _constant(a):
            sound = sound & math.isfinite(a)
        elif a.dtype.kind == "f":
            sound = sound & xp.isfinite(a)
    return xp.ones(x[-1].shape, dtype=bool) & sound


def _merged(xp: Any, whole: Any, joined: Any, state: Any, apart: Any, ends: Any, left: int) -> Any:
    """One array of the shorter sequence: joined pairs, both of those that are not joined, and the last of an odd number."""
    if _constant(whole) and _constant(joined) and whole == joined:
        return whole
    like = next((a for a in (joined, whole) if not _constant(a)), state)
    out = xp.empty((left, *like.shape[1:]), dtype=like.dtype)
    n, m = len(state), len(ends)
    out[ends] = joined
    for at, cut in ((ends - 1, slice(0, 2 * m, 2)), (ends, slice(1, 2 * m, 2))):
        out[at[apart]] = whole if _constant(whole) else whole[cut][apart]
    out[left - (n - 2 * m) :] = whole if _constant(whole) else whole[2 * m :]
    return out

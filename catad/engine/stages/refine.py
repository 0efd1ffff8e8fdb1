"""Stages and work over loops that are split, so that they meet in one pass though a reshape is between them.

A map over (N,) and one over (B, T) with N = B T are both work over (B, T): where the first has the index n, it is T b + t. Loops
that no array keeps apart are one again when the kernel is laid out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from catad.engine.stages.access import affine, along, composed, groups, moved
from catad.engine.stages.stage import Coordinates, Stage, Work, identity


def common(first: Sequence[int], second: Sequence[int]) -> tuple[int, ...] | None:
    """The loops that both are when some of their loops are split; None where there are none."""
    if math.prod(first) != math.prod(second) or 0 in first or 0 in second:
        return None
    found: list[int] = []
    for own, sizes in groups(first, second):
        mine = [first[k] for k in own]
        parts = _between(mine, sizes) if len(mine) > 1 and len(sizes) > 1 else mine if len(mine) > 1 else sizes or [1]
        if parts is None:
            return None
        found += parts
    return tuple(found)


def _between(first: Sequence[int], second: Sequence[int]) -> list[int] | None:
    """The sizes into which two groups of axes are both split; None where blocks of one cut those of the other."""
    units = sorted({math.prod(sizes[k:]) for sizes in (first, second) for k in range(len(sizes) + 1)}, reverse=True)
    pairs = list(pairwise(units))
    return None if any(large % small for large, small in pairs) else [large // small for large, small in pairs]


def split_stage(stage: Stage, fine: Sequence[int]) -> Stage | None:
    """A copy of a stage over finer loops; None where the axis of a state is one of several loops then."""
    at = _splitting(stage.shape, fine)
    ordered = stage.direction != 0 or any(op.kind not in ("map", "fold") for op in stage.ops)
    axis = None if at is None else _axis(at, stage.axis, ordered)
    if at is None or axis is None:
        return None
    inputs = [(value, load._replace(access=moved(load.access, at))) for value, load in stage.inputs]
    loads = {load.key: value for value, load in inputs}
    made = {k: (value, _through(own, at)) for k, (value, own) in stage.made.items()}
    folded = {k: (value, _through(own, at)) for k, (value, own) in stage.folded.items()}
    new = replace(stage, shape=tuple(fine), axis=axis, loads=loads, inputs=inputs, made=made, folded=folded)
    new.ops, new.members, new.needs, new.wires = [*stage.ops], [*stage.members], {*stage.needs}, {*stage.wires}
    return new


def split_work(work: Work, fine: Sequence[int]) -> Work | None:
    """Work over finer loops; None where it cannot be split."""
    if work.shape == tuple(fine):
        return work
    at = _splitting(work.shape, fine)
    axis = None if at is None else _axis(at, work.axis, work.kind != "fold" or work.direction != 0)
    if at is None or axis is None:
        return None
    reads = tuple([(k, moved(access, at)) for k, access in work.reads])
    stores = tuple([_through(own, at) for own in work.stores])
    places = _through(identity(len(work.shape)) if work.places is None else work.places, at)
    return work._replace(shape=tuple(fine), reads=reads, stores=stores, axis=axis, places=places)


def _splitting(shape: Sequence[int], fine: Sequence[int]) -> Coordinates | None:
    """The index of each loop in the indices of finer ones; None where these are not finer."""
    at = []
    k = 0
    for own, sizes in groups(shape, fine):
        if len(own) > 1:
            return None
        labels = range(k, k + len(sizes))
        k += len(sizes)
        if own:
            units = [(n, math.prod(fine[n + 1 : k])) for n in labels if fine[n] > 1]
            at.append(along(labels[0]) if len(labels) == 1 else affine(0, units))
    return tuple(at)


def _through(own: Coordinates, at: Coordinates) -> Coordinates:
    return tuple([composed(one, at) for one in own])


def _axis(at: Coordinates, axis: Sequence[int], ordered: bool) -> tuple[int, ...] | None:
    """The loops along which states are carried; None where one with an order is split."""
    found = [[label for label, _ in at[k].terms] for k in axis]
    if any(not own or (ordered and len(own) > 1) for own in found):
        return None
    return tuple([label for own in found for label in own])

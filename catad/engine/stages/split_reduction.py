"""Folds over several axes along which arrays do not lie as along one: first over the last of them, then over the others.

The sums over all images and pixels, one for each channel, say, are sums of the sums over the pixels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from catad.category.spaces import Tensor
from catad.engine.stages.access import Access, affine, along, straight
from catad.engine.stages.body import Body, Sink, Source, state_dtypes
from catad.engine.stages.layout import Place, Ready, layout, strides_of
from catad.engine.stages.stage import FoldResult, Op


class Rest(NamedTuple):
    """The second stage of one fold: which results of the first it reads, and which results of the whole it gives."""

    stage: Ready
    reads: tuple[int, ...]
    outs: tuple[int, ...]


class SplitReduction(NamedTuple):
    """A stage in two: the first, whose results are some of the whole (`outs`) and others (`between`), and the second ones."""

    first: Ready
    outs: tuple[int, ...]
    between: tuple[tuple[tuple[int, ...], np.dtype], ...]
    rest: tuple[Rest, ...]


def split_reduction(stage: Ready, last: int) -> SplitReduction:
    """The stage with folds over the `last` axes that states are carried along, and stages that fold over the others.

    With 0 it stores what is folded, and folds nothing.
    """
    kept = len(stage.axis) - last
    axis, dropped = stage.axis[kept:], stage.axis[:kept]
    plain = [k for k in range(len(stage.shape)) if k not in stage.axis]
    loops = [*plain, *dropped]
    shape = tuple([stage.shape[k] for k in loops])
    outs = tuple([j for j, sink in enumerate(stage.body.sinks) if not isinstance(sink.value, FoldResult)])
    sinks, writes = [stage.body.sinks[j] for j in outs], [stage.writes[j] for j in outs]
    between: list[tuple[tuple[int, ...], np.dtype]] = []
    rest = []
    for k, op in enumerate(stage.body.ops):
        if op.kind == "fold":
            dtypes = state_dtypes(stage.body, op)
            reads = tuple(range(len(sinks), len(sinks) + len(dtypes)))
            sinks += [Sink(FoldResult(k, i) if axis else op.args[i], dtype.str) for i, dtype in enumerate(dtypes)]
            writes += [Place(-1, Access(tuple([along(label) for label in loops])))] * len(dtypes)
            between += [(shape, dtype) for dtype in dtypes]
            rest.append(_rest(stage, k, [dtype.str for dtype in dtypes], plain, shape, reads))
    ops = stage.body.ops if axis else tuple([op for op in stage.body.ops if op.kind != "fold"])
    first = stage._replace(axis=axis, body=stage.body._replace(ops=ops, sinks=tuple(sinks)), writes=tuple(writes))
    return SplitReduction(first, outs, tuple(between), tuple(rest))


def in_two(
    stage: Ready, strides: Sequence[Sequence[int]], results: Sequence[Sequence[int]], first: Sequence[int] = ()
) -> SplitReduction:
    """The stage split so that its first part can be laid out over arrays and results with these strides; numbers of `last` axes
    that are tried before others."""
    for last in (*first, *reversed(range(1, len(stage.axis)))):
        found = split_reduction(stage, last)
        between = [strides_of(Tensor(shape, dtype)) for shape, dtype in found.between]
        if layout(found.first, [*strides, *[results[k] for k in found.outs], *between]) is not None:
            break
    return found


def _rest(
    stage: Ready, fold: int, dtypes: Sequence[str], plain: Sequence[int], shape: tuple[int, ...], reads: tuple[int, ...]
) -> Rest:
    """The fold of what the first stage leaves, whose loops are the plain ones and the others after them."""
    sinks = stage.body.sinks
    outs = tuple([j for j, s in enumerate(sinks) if isinstance(s.value, FoldResult) and s.value.op == fold])
    d = len(dtypes)
    sources = tuple([Source(i, dtype, False, -1, None) for i, dtype in enumerate(dtypes)])
    own = []
    for j in outs:
        value = sinks[j].value
        assert isinstance(value, FoldResult)
        own.append(Sink(FoldResult(0, value.part), sinks[j].dtype))
    body = Body(sources, (Op("fold", stage.body.ops[fold].data, tuple(range(d)), d, 0),), tuple(own))
    writes = []
    for j in outs:
        places_of = stage.writes[j].access.axes
        axes = [affine(at.a, [(plain.index(label), s) for label, s in at.terms]) for at in places_of]
        writes.append(Place(stage.writes[j].wire, Access(tuple(axes))))
    places = tuple([Place(i, straight(len(shape))) for i in range(d)])
    axis = tuple(range(len(plain), len(shape)))
    return Rest(Ready(shape, axis, stage.direction, body, places, tuple(writes), ()), reads, outs)

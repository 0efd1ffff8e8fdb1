"""Boxes that act entry by entry, and arrays made from nothing: local along every axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors
from catad.category.constant import Constant
from catad.category.spaces import Tensor
from catad.chunks.options import REPLICATED
from catad.chunks.parts import Ranges, uncut
from catad.chunks.plan import Labels, Plan
from catad.chunks.rules.table import rule
from catad.chunks.wires import FREE, MOVED, STORED, Argument, At, Chunked, Local
from catad.scalar.ir import postorder
from catad.scalar.vocabulary import FREE as COSTLESS
from catad.vector.derivative_carriers import PassedOn
from catad.vector.pointwise.generate import Iota
from catad.vector.pointwise.map import Map
from catad.vector.shapes.shape import broadcast_to

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire

CHEAP = 4  # operations on a number that cost little more than to read it
_ARITHMETIC = frozenset(["add", "sub", "mul", "neg", "abs", "minimum", "maximum", "lt", "le", "gt", "ge", "eq", "ne", "select"])
INLINE = 64  # entries of a constant that stays in the program


def aligned(x: Chunked, shape: Sequence[int]) -> tuple[Chunked, Labels]:
    """An array with the labels of the axes of a result with which NumPy's rules line its axes up."""
    first = len(shape) - x.ndim
    return x, [first + k if n == shape[first + k] else None for k, n in enumerate(x.shape)]


@rule(Map, cut="along any axis: local")
def _map(plan: Plan, primitive: Map, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    shape = outs[0].shape
    labels = range(len(shape))

    def lay(b: Builder, wires: list[Wire], sizes: Mapping[int, int]) -> Sequence[Wire]:
        return spread(b, b.add(primitive, *wires), [sizes[k] for k in labels])

    arguments, results = [aligned(x, shape) for x in ins], [(space, labels) for space in outs]
    return plan.labelled("map", arguments, results, lay, light=True, cheap=_cheap(primitive))[0]


def _cheap(primitive: Map) -> int:
    """What it is cheap to make entries again of."""
    nodes = postorder(primitive.function.outputs)
    counted = [node.op for node in nodes if node.op not in COSTLESS]
    each = len(counted) / len(primitive.function.outputs)
    if not set(counted) <= _ARITHMETIC or each > CHEAP:
        return FREE
    return STORED if each > 1 else MOVED


def spread(b: Builder, wires: Sequence[Wire], shape: Sequence[int]) -> Sequence[Wire]:
    """Results of a box all of whose arguments have size 1 along an axis, as large as the block is."""
    return [w if w.shape == tuple(shape) else b.apply(broadcast_to(tuple(shape)), w) for w in wires]


@rule(Constant, cut="read as an argument that is not cut; up to 64 entries are in programs", exchanged="to all that read it")
def _constant(plan: Plan, primitive: Constant, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    (space,) = outs
    if space.size <= INLINE:
        box = Local("constant", (), (), lambda b, wires, at: b.add(primitive), light=True, salt=plan.salt)
        return [box.result(space, (None,) * space.ndim, uncut(space.shape))]
    if space.nbytes > REPLICATED:
        raise errors.EngineError(errors.large_constant(space.nbytes, REPLICATED))
    return [Chunked(space, uncut(space.shape), Argument(-1, primitive.array))]


@rule(Iota, cut="local, from an offset that is an argument of the program")
def _iota(plan: Plan, primitive: Iota, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    return [counted(plan, primitive.n, None)]


def counted(plan: Plan, n: int, ranges: Ranges | None) -> Chunked:
    """The integers from 0 on, or ranges of them."""
    if ranges is None:
        whole = Local("positions", (), (), lambda b, wires, at: b.add(Iota(n)), light=True, salt=plan.salt)
        return whole.result(Tensor((n,), np.int64), (None,), None, lambda asked: counted(plan, n, *asked))

    def lay(b: Builder, wires: list[Wire], at: At) -> Sequence[Wire]:
        return [b.add(Iota(at.sizes[0]))[0] + at.offsets[0]]

    sizes = ranges.sizes
    box = Local("positions", (sizes,), (), lay, offsets=[(0, ranges.starts)], light=True, salt=plan.salt)
    return box.result(Tensor((sum(sizes),), np.int64), (0,), (sizes,), lambda asked: counted(plan, n, *asked))


@rule(PassedOn, cut="left out before running")
def _passed_on(plan: Plan, primitive: Any, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    return list(ins[len(ins) - len(outs) :])

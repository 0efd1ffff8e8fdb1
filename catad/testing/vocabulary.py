"""The parts of which `terms` draws: tables of steps, each with the spaces that it applies to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from catad.category.cartesian import assoc_l, assoc_r, compose, cross, dup, exl, exr, fork, proj, swap
from catad.category.constant import const
from catad.category.spaces import Product, Space, Tensor
from catad.category.terms import D, identity
from catad.linalg.cholesky import cholesky
from catad.linalg.determinant import slogdet
from catad.linalg.solve import inv, solve
from catad.linear.constructors import dense, scale
from catad.testing.strategies import array, hypothesis
from catad.vector.bins.histogram import histogram
from catad.vector.folds.contract import einsum, matmul
from catad.vector.folds.fold import fold
from catad.vector.indexing.gather import gather, scatter, scatter_add
from catad.vector.lift import lift
from catad.vector.pointwise.map import map as pointwise
from catad.vector.pointwise.operators import WORDS, add, neg, sub
from catad.vector.scans.scan import recurrence, scan
from catad.vector.shapes.shape import broadcast_to, concatenate, flip, pad, replicate, reshape, stack, transpose
from catad.vector.shapes.shape import slice as slice_
from catad.vector.shapes.shape import sum as sum_

Draw = Any  # the function of Hypothesis that draws from a strategy
LARGEST = 32  # entries of a drawn term's results


@dataclass(frozen=True)
class Style:
    """The steps that may be drawn."""

    polynomial: bool
    smooth: bool


def times(a: float, b: float) -> float:
    return a * b


def _greater(a: float, b: float) -> float:
    return a if a >= b else b


def affine(f: tuple[float, float], g: tuple[float, float]) -> tuple[float, float]:
    return f[0] * g[0], f[1] * g[0] + g[1]


_CUBIC = pointwise(lambda x: 2.0 * x * x - x)
_BILINEAR = pointwise(lambda x, y: x * y - 2.0 * y)
_TWO = pointwise(lambda x, y: (x + 2.0 * y, x * y))

_SQUARED = fork(fork(exl, exl) >> einsum("...ij,...kj->...ik"), exr) >> add
_TWO_OF_ONE = fork(identity, 2.0 * identity) >> _BILINEAR

Make = Callable[[Any, Tensor, Style], D]

ON_TENSORS: list[Make] = [  # on any floating tensor
    lambda draw, t, style: neg,
    lambda draw, t, style: 2.0 * identity,
    lambda draw, t, style: _CUBIC,
    lambda draw, t, style: WORDS["square"],
    lambda draw, t, style: dup,
    lambda draw, t, style: fork(identity, neg),
    lambda draw, t, style: fork(const(array(draw, t.shape, t.dtype, True)), identity),
    lambda draw, t, style: replicate(2),
    lambda draw, t, style: reshape((-1,)),
    lambda draw, t, style: broadcast_to((2, *t.shape)),
    lambda draw, t, style: lift(scale(array(draw, t.shape, t.dtype, style.polynomial))),
]
ON_ARRAYS: list[Make] = [  # on tensors with an axis
    lambda draw, t, style: sum_(),
    lambda draw, t, style: sum_(axis=-1, keepdims=True),
    lambda draw, t, style: flip(axis=0),
    lambda draw, t, style: transpose(),
    lambda draw, t, style: slice_(None, None, -2),
    lambda draw, t, style: slice_(1, None),
    lambda draw, t, style: pad(1, 2, 1.0),
    lambda draw, t, style: scan(add, 0.0),
    lambda draw, t, style: scan(add, 0.0, exclusive=True, reverse=True),
    lambda draw, t, style: scan(times, 1.0),
    lambda draw, t, style: scan(times, 1.0, exclusive=True, axis=-1),
    lambda draw, t, style: fold(times, 1.0),
    lambda draw, t, style: fork(identity, identity) >> scan(affine, (1.0, 0.0)),
    lambda draw, t, style: fork(identity, identity) >> recurrence,
    lambda draw, t, style: fork(identity, _index(draw, t)) >> gather,
    lambda draw, t, style: fork(_index(draw, t, t.shape[0]), identity) >> histogram(add, 0.0, t.shape[0]),
    lambda draw, t, style: fork(_index(draw, t, t.shape[0]), identity) >> histogram(times, 1.0, t.shape[0]),
    lambda draw, t, style: fork(identity, _index(draw, t, t.shape[0]), neg) >> scatter_add,
    lambda draw, t, style: fork(identity, _index(draw, t, t.shape[0]), neg) >> scatter,
    lambda draw, t, style: pointwise(_TWO_OF_ONE),
    lambda draw, t, style: fork(identity, identity) >> pointwise(_TWO),
    lambda draw, t, style: lift(dense(array(draw, (2, *t.shape), t.dtype, style.polynomial), t)),
]
ROUNDED: list[Make] = [lambda draw, t, style, word=word: WORDS[word] for word in ("sin", "cos", "tanh", "sigmoid", "atan")]  # type: ignore[misc]
SQUARE: list[Make] = [  # on stacks of square matrices
    lambda draw, t, style: _positive(t) >> inv,
    lambda draw, t, style: fork(_positive(t), identity) >> solve("pos"),
    lambda draw, t, style: fork(_positive(t), identity) >> solve(),
    lambda draw, t, style: _positive(t) >> cholesky(),
    lambda draw, t, style: _positive(t) >> slogdet >> exr,
]
KINKED: list[Make] = [
    lambda draw, t, style: WORDS["abs"],
    lambda draw, t, style: WORDS["relu"],
]
KINKED_ARRAYS: list[Make] = [
    lambda draw, t, style: fold(_greater, -np.inf),
    lambda draw, t, style: scan(_greater, -np.inf),
]


def _index(draw: Any, t: Tensor, count: int = 2) -> D:
    """A constant array of `count` indices into axis 0."""
    st = hypothesis("terms")
    return const(np.array(draw(st.lists(st.integers(0, t.shape[0] - 1), min_size=count, max_size=count)), np.int64))


def _positive(t: Tensor) -> D:
    """A positive definite matrix x x' + 1 for each matrix x."""
    return fork(identity, const(np.eye(t.shape[-1], dtype=t.dtype))) >> _SQUARED


def _on_tensor(t: Tensor, style: Style) -> list[Make]:
    if not t.is_float:
        return [lambda draw, t, style: identity, lambda draw, t, style: dup]
    made = list(ON_TENSORS)
    if t.ndim and 0 not in t.shape:
        made += ON_ARRAYS
        if not style.smooth:
            made += KINKED_ARRAYS
    if not style.polynomial:
        made += ROUNDED
        if t.ndim > 1 and t.shape[-1] == t.shape[-2] and t.size:
            made += SQUARE
    if not style.smooth:
        made += KINKED
    return made


def _on_product(space: Product) -> list[D]:
    """The steps that need no drawing."""
    parts = space.factors
    made: list[D] = [proj(i) for i in range(len(parts))]
    if len(parts) == 2:
        a, b = parts
        made += [exl, exr, swap]
        if isinstance(a, Product) and len(a.factors) == 2:
            made.append(assoc_r)
        if isinstance(b, Product) and len(b.factors) == 2:
            made.append(assoc_l)
        if a == b and all(leaf.is_float for leaf in space.leaves):
            made += [add, sub]
        if isinstance(a, Tensor) and isinstance(b, Tensor) and a.is_float and b.is_float:
            made += _on_pair(a, b)
    if len(set(space.leaves)) == 1 and space.leaves[0].is_float:
        made.append(stack(axis=-1))
        if space.leaves[0].ndim:
            made.append(concatenate())
    return made


def _on_pair(a: Tensor, b: Tensor) -> list[D]:
    made: list[D] = []
    try:
        np.broadcast_shapes(a.shape, b.shape)
        made += [WORDS["mul"], _BILINEAR, _TWO]
    except ValueError:
        pass
    if a.ndim and a.shape == b.shape:
        made += [recurrence, scan(affine, (1.0, 0.0)), einsum("i...,i...->..."), einsum("i...,j...->ij...")]
    if a.ndim and b.ndim and a.shape[-1] == b.shape[-2 if b.ndim > 1 else 0]:
        made.append(matmul)
    return made


def _step(draw: Any, space: Space, style: Style) -> D:
    """One step from a space."""
    st = hypothesis("terms")
    if isinstance(space, Tensor):
        return draw(st.sampled_from(_on_tensor(space, style)))(draw, space, style)  # type: ignore[no-any-return]
    assert isinstance(space, Product)
    if not space.factors:
        return identity
    steps = _on_product(space)
    k = draw(st.integers(0, len(steps) + 1))
    if k < len(steps):
        chosen: D = steps[k]
        return chosen
    if k == len(steps):
        return fork(identity, _step(draw, space, style))
    return cross(*[_step(draw, factor, style) for factor in space.factors])


def term(draw: Draw, dom: Space, style: Style, boxes: int) -> D:
    """A chain of steps; one whose result would be large, or that multiplies too often for exactness, is left out."""
    st = hypothesis("terms")
    parts: list[D] = []
    space = dom
    for _ in range(draw(st.integers(1, boxes))):
        step = _step(draw, space, style)
        cod = step.spaces(space)
        if cod.size <= LARGEST:
            parts.append(step)
            space = cod
    return compose(*parts)

"""The law of chunks: a program on arrays in blocks, its derivatives, and its linear maps are what they are on whole arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import index
from typing import Any

import numpy as np

from catad import errors
from catad.category.terms import MorphismLike, morphism
from catad.chunks.here import BlockArray, blocked
from catad.chunks.parts import Parts, Sizes, uncut
from catad.derivative.grad import Gradient
from catad.jacobians.at_point import hvp, jvp, linearize, vjp
from catad.values.arrays import array_module, as_array, in_blocks
from catad.values.trees import tree_leaves, tree_map

Cut = Callable[[Any], Any]


def random_parts(shape: Sequence[int], rng: np.random.Generator, most: int = 4) -> Parts:
    """Sizes of blocks along each axis: up to `most` of them, some of size 0 or 1, some axes in one block.

    >>> random_parts((5,), np.random.default_rng(1))
    ((3, 2),)
    """
    parts = []
    for n in shape:
        count = int(rng.integers(1, most + 1))
        edges = np.sort(rng.integers(0, n + 1, count - 1)).tolist()
        parts.append(tuple(np.diff([0, *edges, n]).tolist()))
    return tuple(parts)


def in_chunks(array: Any, *chunks: int | Sequence[int]) -> BlockArray:
    """An array of NumPy in chunks in memory, whose programs run at once, task by task: what Dask's arrays are compared with.

    The array has any shape and a dtype of catad. `chunks` are for each axis the size of a chunk, of which the last one may be
    shorter, or the sizes of all chunks; axes without one are not cut. Derivatives on the array are those on the whole one,
    in chunks. `numpy()` gives an array in chunks as one of NumPy.

    Raises `SpaceError` for what is no array, or one in chunks already; `ArgumentError` for more axes than the array has, sizes
    that are no integers, or that do not fit the axis.

    >>> import catad as ct, numpy as np
    >>> x = ct.testing.in_chunks(np.arange(5.0), 2)
    >>> x.parts, ct.cumsum()(x).numpy()
    (((2, 2, 1),), array([ 0.,  1.,  3.,  6., 10.]))
    >>> ct.testing.in_chunks(np.ones((4, 6)), (1, 0, 3), 3)
    <float64 [4, 6] in (3, 2) blocks>
    """
    array = as_array(array)
    if in_blocks(array_module(array)):
        raise errors.SpaceError(errors.in_chunks_already(array))
    if len(chunks) > array.ndim:
        raise errors.ArgumentError(errors.wrong_chunks(chunks, array.shape))
    own = [_sizes(each, n) for each, n in zip(chunks, array.shape, strict=False)]
    if None in own:
        raise errors.ArgumentError(errors.wrong_chunks(chunks, array.shape))
    return blocked(array, (*[sizes for sizes in own if sizes is not None], *uncut(array.shape[len(own) :])))


def _sizes(chunks: Any, n: int) -> Sizes | None:
    """The sizes along an axis of n entries; None where they do not fit it."""
    try:
        size = [index(each) for each in chunks] if isinstance(chunks, Iterable) else index(chunks)
    except TypeError:
        return None
    if isinstance(size, list):
        return tuple(size) if size and min(size) >= 0 and sum(size) == n else None
    return (tuple([min(size, n - at) for at in range(0, n, size)]) or (0,)) if size > 0 else None


def whole(value: Any) -> Any:
    """The leaves of a result, as arrays of NumPy."""
    found = []
    for leaf in tree_leaves(value):
        leaf = leaf.numpy() if isinstance(leaf, BlockArray) else leaf
        found.append(np.asarray(leaf.compute() if hasattr(leaf, "compute") else leaf))
    return found


def check_chunks(f: MorphismLike, *args: Any, seed: int = 0, cut: Cut | None = None, many: bool = True) -> None:
    """Check that f and its derivatives are the same on arrays in chunks as on whole arrays.

    f is a morphism or a plain function, at arguments of any shapes and dtypes, also in dicts and other trees. Value, jvp, vjp,
    `pullback.many` (unless `many` is false), `linearize` with L and L.T and, where the result is one floating number, gradient
    and Hessian product are compared: in shape and dtype, integers exactly, floats but for rounding. `seed` chooses where axes
    are cut, some into chunks of size 0 and 1, and the tangents; `cut` makes an array in chunks of one of NumPy, instead, such
    as `lambda x: ct.testing.in_chunks(x, 2)`.

    Raises `LawError` where results differ, with both; `SpaceError` for what is no morphism or no argument of it, `ArgumentError`
    for a seed that is no integer of at least 0, and what f raises.

    >>> import catad as ct, numpy as np
    >>> ct.testing.check_chunks(lambda x: np.cumsum(np.sin(x)), np.arange(5.0))
    >>> ct.testing.check_chunks(ct.square >> ct.sum(), np.arange(5.0), cut=lambda x: ct.testing.in_chunks(x, 2))
    """
    f = morphism(f, "check_chunks")
    if not isinstance(seed, (int, np.integer)) or seed < 0:
        raise errors.ArgumentError(errors.not_a_seed(seed))
    rng = np.random.default_rng(seed)
    cutting = cut or (lambda array: blocked(array, random_parts(array.shape, rng)))
    x = [tree_map(lambda leaf: np.asarray(leaf) if np.ndim(leaf) else leaf, arg) for arg in args]
    cut_x = _cut(x, cutting)
    y = f(*x)
    _same("value", f(*cut_x), y, x)
    floats = [np.asarray(leaf).dtype.kind == "f" for leaf in tree_leaves(x)]
    leaves = tree_leaves(y)
    if not any(floats) or not any(np.asarray(leaf).dtype.kind == "f" for leaf in leaves):
        return
    dx = [_like(arg, rng, ()) for arg in x]
    _same("jvp", jvp(f, cut_x, _cut(dx, cutting)), jvp(f, x, dx), x)
    pulled, cut_pulled = vjp(f, *x)[1], vjp(f, *cut_x)[1]
    w = _like(y, rng, ())
    _same("vjp", cut_pulled(w), pulled(w), x)
    if many:
        w = _like(y, rng, (3,))
        _same("pullback.many", cut_pulled.many(w), pulled.many(w), x)
    _, linear = linearize(f, *x)
    _, cut_linear = linearize(f, *cut_x)
    v = _flat([rng.normal(size=s.shape).astype(s.dtype) for s in linear.dom.leaves])
    _same("linearize, L(x)", cut_linear(v), linear(v), x)
    u = _flat([rng.normal(size=s.shape).astype(s.dtype) for s in linear.cod.leaves])
    _same("linearize, L.T(w)", cut_linear.T(u), linear.T(u), x)
    if len(leaves) == 1 and not np.ndim(leaves[0]):
        gradient = Gradient(f, None)
        _same("gradient", gradient(*cut_x), gradient(*x), x)
        _same("hvp", hvp(f, cut_x, _cut(dx, cutting)), hvp(f, x, dx), x)


def _cut(values: Sequence[Any], cutting: Cut) -> list[Any]:
    return [tree_map(lambda v: cutting(v) if isinstance(v, np.ndarray) and v.ndim else v, value) for value in values]


def _flat(leaves: list[Any]) -> Any:
    return leaves[0] if len(leaves) == 1 else tuple(leaves)


def _like(y: Any, rng: np.random.Generator, lead: tuple[int, ...]) -> Any:
    """A cotangent of a value, in its tree."""

    def leaf(y: Any) -> Any:
        y = np.asarray(y)
        return rng.normal(size=(*lead, *y.shape)).astype(y.dtype) if y.dtype.kind == "f" else ()

    return tree_map(leaf, y)


def _same(what: str, found: Any, expected: Any, x: Sequence[Any]) -> None:
    longest = max([np.size(leaf) for leaf in tree_leaves(x)], default=1)
    for k, (a, b) in enumerate(zip(whole(found), whole(expected), strict=True)):
        if a.shape != b.shape or a.dtype != b.dtype or not _close(a, b, longest):
            raise errors.LawError(errors.differs_in_chunks(what, k, a, b))


def _close(a: Any, b: Any, longest: int) -> bool:
    """Equal but for rounding: the entries of one array are about as exact as its largest one is."""
    if b.dtype.kind != "f" or not b.size:
        return bool(np.array_equal(a, b))
    finite = np.isfinite(b)
    if not np.array_equal(np.isfinite(a), finite) or not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return False
    scale = np.abs(b[finite]).max(initial=1.0)
    bound = 32 * np.finfo(b.dtype).eps * (longest + 8) * scale
    return bool(np.all(np.abs(a[finite] - b[finite]) <= bound))

"""The law of chunks: a program on arrays in blocks, its derivatives, and its linear maps are what they are on whole arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from catad import errors
from catad.category.terms import MorphismLike, morphism
from catad.chunks.here import BlockArray, blocked
from catad.chunks.parts import Parts
from catad.derivative.grad import Gradient
from catad.jacobians.at_point import hvp, jvp, linearize, vjp
from catad.values.trees import tree_leaves

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

    `chunks` are for each axis the size of a chunk or the sizes of all; axes without one are not cut.

    >>> x = in_chunks(np.arange(5.0), 2)
    >>> x.parts, x.numpy()
    (((2, 2, 1),), array([0., 1., 2., 3., 4.]))
    """
    parts = []
    for k, n in enumerate(array.shape):
        given = chunks[k] if k < len(chunks) else n
        if isinstance(given, int):
            parts.append(tuple([min(given, n - at) for at in range(0, n, max(given, 1))]) or (0,))
        else:
            parts.append(tuple(given))
    return blocked(array, tuple(parts))


def whole(value: Any) -> Any:
    """The leaves of a result, as arrays of NumPy."""
    found = []
    for leaf in tree_leaves(value):
        leaf = leaf.numpy() if isinstance(leaf, BlockArray) else leaf
        found.append(np.asarray(leaf.compute() if hasattr(leaf, "compute") else leaf))
    return found


def check_chunks(f: MorphismLike, *args: Any, seed: int = 0, cut: Cut | None = None, many: bool = True) -> None:
    """Check that f and its derivatives are the same on arrays in blocks, which `seed` cuts, as on the whole arrays.

    Value, jvp, vjp, `pullback.many`, `linearize` with L and L.T and, where the result is one floating number, gradient and
    Hessian product. Integers must be equal, floats equal but for rounding. `cut` makes an array in blocks of one of NumPy, by
    default `catad.chunks.here.blocked` at random edges. Raises `LawError` where they differ.

    >>> import catad as ct
    >>> check_chunks(ct.square >> ct.sum(), np.arange(5.0))
    """
    f = morphism(f, "check_chunks")
    rng = np.random.default_rng(seed)
    cutting = cut or (lambda array: blocked(array, random_parts(array.shape, rng)))
    x = [np.asarray(arg) if np.ndim(arg) else arg for arg in args]
    cut_x = [cutting(arg) if isinstance(arg, np.ndarray) and arg.ndim else arg for arg in x]
    y = f(*x)
    _same("value", f(*cut_x), y, x)
    floats = [np.asarray(arg).dtype.kind == "f" for arg in x]
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
    return [cutting(v) if isinstance(v, np.ndarray) and v.ndim else v for v in values]


def _flat(leaves: list[Any]) -> Any:
    return leaves[0] if len(leaves) == 1 else tuple(leaves)


def _like(y: Any, rng: np.random.Generator, lead: tuple[int, ...]) -> Any:
    """A cotangent of a value that is an array or nested tuples of arrays."""
    if isinstance(y, (tuple, list)):
        return type(y)([_like(part, rng, lead) for part in y])
    if isinstance(y, dict):
        return {key: _like(part, rng, lead) for key, part in y.items()}
    y = np.asarray(y)
    return rng.normal(size=(*lead, *y.shape)).astype(y.dtype) if y.dtype.kind == "f" else ()


def _same(what: str, found: Any, expected: Any, x: Sequence[Any]) -> None:
    longest = max([np.size(arg) for arg in x], default=1)
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

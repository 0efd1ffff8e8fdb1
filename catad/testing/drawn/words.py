"""Steps of reductions, scans and rearrangements by NumPy's names, and of keys, beside the meaning that NumPy gives them."""

from __future__ import annotations

from typing import Any

import numpy as np

import catad as ct
from catad.testing.drawn.steps import Generator, Maker, Step, suits
from catad.testing.drawn.structure import SMALL, axis_of, of


def _axes(rng: Generator, x: Any) -> Any:
    """All axes, or some."""
    if rng.integers(3) == 0:
        return None
    count = int(rng.integers(1, x.ndim + 1)) if x.ndim else 0
    chosen = tuple([int(k) for k in rng.permutation(x.ndim)[:count]])
    return chosen[0] if len(chosen) == 1 else chosen


@suits(lambda x: x.size > 0)
def reductions(rng: Generator, x: Any) -> Step | None:
    """A reduction that has a derivative, at the size of an entry."""
    name = str(rng.choice(["max", "min", "mean", "var", "std", "prod", "norm", "logsumexp"]))
    axis, keep = _axes(rng, x), bool(rng.integers(2))
    count = x.size if axis is None else int(np.prod([x.shape[k] for k in np.atleast_1d(axis)]))
    if name == "norm" and np.ndim(axis) == 1:
        axis = None
    if name in ("std", "norm") and count < 2:
        name = "mean"
    word = getattr(ct, name)(axis=axis, keepdims=keep)
    bent = ct.map(lambda x: 1.0 + 0.1 * np.tanh(x)) if name == "prod" else ct.map(lambda x: np.tanh(x))
    smooth = name not in ("max", "min", "std")

    def meaning(xp: Any, x: Any) -> Any:
        y = 1.0 + 0.1 * xp.tanh(x) if name == "prod" else xp.tanh(x)
        if name == "norm":
            return xp.sqrt(xp.sum(y * y, axis=axis, keepdims=keep))
        if name == "logsumexp":
            return xp.log(xp.sum(xp.exp(y), axis=axis, keepdims=keep))
        return getattr(xp, name)(y, axis=axis, keepdims=keep)

    if name == "prod" and count > 100:
        return None
    return of(name, bent >> word, meaning, smooth=smooth)


@suits(lambda x: x.size > 0)
def decisions(rng: Generator, x: Any) -> Step:
    """Plus what has no derivative: whether an entry is large, and where the first one is."""
    name = str(rng.choice(["any", "all", "argmax", "argmin"]))
    scale = 1.0 / x.size
    term = ct.map(lambda x: x > 0.37) >> getattr(ct, name)() >> ct.astype(np.float64) >> scale * ct.id

    def meaning(xp: Any, x: Any) -> Any:
        return x + scale * getattr(xp, name)(x > 0.37)

    return of(name, ct.fork(ct.id, term) >> ct.add, meaning, smooth=False, traced=False)


@suits(lambda x: x.ndim > 0 and x.size > 0)
def along_lines(rng: Generator, x: Any) -> Step:
    """A scan along an axis, or a softmax."""
    name = str(rng.choice(["cumsum", "cumprod", "softmax"]))
    axis = axis_of(rng, x)
    n = x.shape[axis]
    if name == "softmax":
        soft = lambda xp, x: xp.exp(xp.tanh(x)) / xp.sum(xp.exp(xp.tanh(x)), axis=axis, keepdims=True)  # noqa: E731
        return of(name, ct.tanh >> ct.softmax(axis=axis), soft)
    if name == "cumsum":
        return of(name, (1.0 / n) * ct.id >> ct.cumsum(axis=axis), lambda xp, x: xp.cumsum(x / n, axis=axis))
    near = ct.map(lambda x: 1.0 + np.tanh(x) / n)
    return of(name, near >> ct.cumprod(axis=axis), lambda xp, x: xp.cumprod(1.0 + xp.tanh(x) / n, axis=axis))


@suits(lambda x: x.ndim > 0 and x.shape[0] > 0)
def read_by_key(rng: Generator, x: Any) -> Step:
    """A part of an array, by a key that has an array of indices in it or none."""
    keys: list[Any] = [slice(1, None), slice(None, None, -2), (None, slice(0, 1)), (Ellipsis, slice(None, -1)), -1]
    choice = int(rng.integers(len(keys) + 2))
    if choice < len(keys):
        key = keys[choice]
        return of("index", ct.index[key], lambda xp, x: x[key])
    index = rng.integers(-x.shape[0], x.shape[0], int(rng.integers(0, 4)))
    return of("index arg const", ct.fork(ct.id, ct.const(index)) >> ct.index[ct.arg], lambda xp, x: x[index])


def _updated(xp: Any, x: Any, key: Any, v: Any, word: str) -> Any:
    """NumPy's assignment, or JAX's update."""
    if hasattr(x, "at"):
        return getattr(x.at[key], word)(v)
    out = np.array(x)
    if word == "set":
        out[key] = v
    else:
        getattr(np, {"add": "add", "multiply": "multiply"}[word]).at(out, key, v)
    return out


@suits(lambda x, y: x.shape == y.shape and x.ndim > 0 and x.shape[0] > 0)
def written_by_key(rng: Generator, x: Any, y: Any) -> Step:
    """A part of one array written into another of its shape."""
    word = str(rng.choice(["set", "add"]))
    if rng.integers(2):
        key: Any = [slice(1, None), slice(None, None, -2), 0][int(rng.integers(3))]
        term = ct.fork(ct.exl, ct.exr >> ct.index[key]) >> getattr(ct.at[key], word)
        return Step(("at", "index"), term, lambda xp, ys: (_updated(xp, ys[0], key, ys[1][key], word),))
    index = rng.permutation(x.shape[0])[: int(rng.integers(1, 3))]
    given = ct.const(index)
    term = ct.fork(ct.exl, given, ct.fork(ct.exr, given) >> ct.index[ct.arg]) >> getattr(ct.at[ct.arg], word)
    return Step(("at", "arg", "const"), term, lambda xp, ys: (_updated(xp, ys[0], index, ys[1][index], word),))


@suits(lambda x: x.ndim > 0 and 0 < x.size <= SMALL)
def moves(rng: Generator, x: Any) -> Step | None:
    """The same entries in other places, or some of them again."""
    name = str(rng.choice(["roll", "squeeze", "expand_dims", "moveaxis", "diff", "tile", "repeat"]))
    axis = axis_of(rng, x)
    if name == "squeeze":
        return of("squeeze", ct.squeeze(), lambda xp, x: xp.squeeze(x))
    if name == "expand_dims" and x.ndim > 2:
        return None
    args: dict[str, tuple[Any, ...]] = {
        "roll": (int(rng.integers(-3, 4)), axis), "expand_dims": (axis,), "moveaxis": (axis, axis_of(rng, x)), "diff": (1, axis),
        "tile": (2,), "repeat": (2, axis),
    }  # fmt: skip
    given = args[name]
    return of(name, getattr(ct, name)(*given), lambda xp, x: getattr(xp, name)(x, *given))


@suits(lambda x: x.ndim > 0 and 2 <= x.shape[0] <= 8)
def pieces(rng: Generator, x: Any) -> Step:
    """Slices of an axis, put together again in another order."""
    if rng.integers(2):
        return of("unstack stack", ct.unstack() >> ct.stack(axis=-1), lambda xp, x: xp.moveaxis(x, 0, -1))
    return of("split concatenate", ct.split((1,)) >> ct.swap >> ct.concatenate(), lambda xp, x: xp.concatenate([x[1:], x[:1]]))


@suits(lambda x: x.ndim > 0 and x.size > 0)
def taken(rng: Generator, x: Any) -> Step:
    """Entries along an axis at constant positions."""
    axis = axis_of(rng, x)
    index = rng.integers(-x.shape[axis], x.shape[axis], int(rng.integers(1, 4)))
    term = ct.fork(ct.id, ct.const(index)) >> ct.take(axis)
    return of("take const", term, lambda xp, x: xp.take(x, index % x.shape[axis], axis=axis))


def stopped(rng: Generator, x: Any) -> Step:
    """Plus a constant of derivatives, which is 0."""
    none = ct.map(lambda x: 0.0 * (x > 0.0)) >> ct.stop_gradient
    return of("stop_gradient", ct.fork(ct.id, none) >> ct.add, lambda xp, x: x + 0.0)


@suits(lambda x, y: x.size * y.size <= SMALL)
def products(rng: Generator, x: Any, y: Any) -> Step | None:
    """NumPy's `dot` and `outer`."""
    if rng.integers(2):
        return Step(("outer",), ct.outer, lambda xp, ys: (xp.outer(*ys),))
    if (x.ndim and y.ndim and x.shape[-1] != y.shape[-2 if y.ndim > 1 else 0]) or x.ndim + y.ndim > 4:
        return None
    scale = 1.0 / max(1, x.shape[-1] if x.ndim else 1)
    return Step(("dot",), ct.dot >> scale * ct.id, lambda xp, ys: (scale * xp.dot(*ys),))


ONE: list[Maker] = [reductions, reductions, decisions, along_lines, read_by_key, moves, moves, pieces, taken, stopped]
TWO: list[Maker] = [written_by_key, products]

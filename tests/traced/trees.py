"""Values as trees for tests: comparing them, differences along them, and JAX's answer where JAX is installed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from catad.values.trees import entries_of, tree_leaves, tree_map

try:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
except ImportError:
    jax = jnp = None  # type: ignore[assignment]


@dataclass
class Layer:
    w: Any
    b: Any
    name: str = "dense"


class Pair(NamedTuple):
    first: Any
    second: Any


def alike(got: Any, want: Any, rtol: float = 1e-9, atol: float = 1e-11) -> bool:
    """Whether two trees have the same containers and keys, and nearly equal numbers of the same shapes."""
    one, other = entries_of(got), entries_of(want)
    if one is None or other is None:
        if one is not None or other is not None:
            return False
        if not hasattr(got, "dtype") or not (hasattr(want, "dtype") or isinstance(want, (int, float))):
            return bool(got == want) if not hasattr(got, "dtype") and not hasattr(want, "dtype") else False
        return np.shape(got) == np.shape(want) and bool(np.allclose(got, want, rtol=rtol, atol=atol, equal_nan=True))
    same_kind = type(got) is type(want) and one[0] == other[0]
    return same_kind and all(alike(a, b, rtol, atol) for a, b in zip(one[1], other[1], strict=True))


def inner(a: Any, b: Any) -> float:
    """The inner product of two trees, of their floating arrays."""
    pairs = zip(tree_leaves(a), tree_leaves(b), strict=True)
    return float(sum(np.sum(np.asarray(x) * np.asarray(y)) for x, y in pairs if getattr(x, "dtype", np.dtype(int)).kind == "f"))


def direction(value: Any, seed: int = 0) -> Any:
    """A random tangent; integers have `()`."""
    rng = np.random.default_rng(seed)

    def moved(leaf: Any) -> Any:
        floating = isinstance(leaf, float) or getattr(leaf, "dtype", np.dtype(int)).kind == "f"
        return rng.normal(size=np.shape(leaf)) if floating else ()

    return tree_map(moved, value)


def shifted(value: Any, v: Any, h: float) -> Any:
    """`value + h v`."""
    if entries_of(value) is None:
        return value + h * v if hasattr(v, "dtype") and np.asarray(value).dtype.kind == "f" else value
    there = iter(entries_of(v)[1])  # type: ignore[index]

    def moved(part: Any) -> Any:
        return shifted(part, next(there), h)

    keys, parts = entries_of(value)  # type: ignore[misc]
    made = [moved(part) for part in parts]
    if isinstance(value, tuple):
        return type(value)(*made) if hasattr(value, "_fields") else tuple(made)
    if isinstance(value, list):
        return made
    return type(value)(**dict(zip(keys, made, strict=True)))


def slope(fn: Callable[..., Any], args: tuple[Any, ...], v: tuple[Any, ...], h: float = 1e-6) -> Any:
    """Central differences of a scalar function along a direction."""
    ahead = fn(*[shifted(x, t, h) for x, t in zip(args, v, strict=True)])
    behind = fn(*[shifted(x, t, -h) for x, t in zip(args, v, strict=True)])
    return (ahead - behind) / (2 * h)

"""The corpus beside JAX: values, gradients and second derivatives in two ways, at the points of the corpus."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct
from tests.corpus.points import PROGRAMS

jax = pytest.importorskip("jax")

from tests.corpus.by_jax import THEIRS  # noqa: E402

Tree = Any
QUICKLY = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}  # each runs once


@pytest.mark.numpy_only
@pytest.mark.quick(6)
@pytest.mark.parametrize("name", THEIRS)
def test_value_gradient_and_second_order_are_those_of_jax(name: str) -> None:
    fn, args = PROGRAMS[name][:2]
    rng = np.random.default_rng(3)
    by = tuple([k for k, arg in enumerate(args) if _floats(arg)])
    results = jax.tree.leaves(fn(*jax.tree.map(np.copy, args)))
    weights = [rng.standard_normal(np.shape(y)) for y in results if np.asarray(y).dtype.kind == "f"]
    along = [rng.standard_normal(np.shape(x)) for x in _floats(args)]
    values, slopes, bends = _theirs(THEIRS[name], args, weights, along)

    f: Any = ct.function(fn)
    for ours, theirs in zip(jax.tree.leaves(f(*args)), values, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6 if theirs.dtype == np.float32 else 1e-10, atol=1e-12)

    def loss(*args: Tree) -> Any:
        return sum([np.sum(w * y) for w, y in zip(weights, _floats(fn(*args)), strict=True)])

    def slope(*args: Tree) -> Any:
        return sum([np.sum(v * g) for v, g in zip(along, _floats(ct.grad(loss, argnums=by)(*args)), strict=True)])

    _same(ct.grad(loss, argnums=by)(*args), slopes)
    _same(ct.hvp(loss, args, _placed(args, along)), bends)
    _same(ct.grad(slope, argnums=by)(*args), bends)


def _theirs(fn: Callable[..., Any], args: Tree, weights: list[Any], along: list[Any]) -> tuple[Any, Any, Any]:
    """By JAX: all results, the gradient of their weighted sum, and its derivative in a direction."""
    point = _floats(args)

    def results(point: list[Any]) -> list[Any]:
        return list(jax.tree.leaves(fn(*_placed(args, point, fill=False))))

    def loss(point: list[Any]) -> Any:
        floats = [y for y in results(point) if jax.numpy.result_type(y).kind == "f"]
        return sum([jax.numpy.sum(w * y) for w, y in zip(weights, floats, strict=True)])

    def all_of(point: list[Any]) -> Any:
        return results(point), *jax.jvp(jax.grad(loss), (point,), (along,))

    return jax.jit(all_of, compiler_options=QUICKLY)([np.asarray(x) for x in point])  # type: ignore[no-any-return]


def _is_float(leaf: Any) -> bool:
    return np.dtype(leaf.dtype if hasattr(leaf, "dtype") else type(leaf)).kind == "f"


def _floats(tree: Tree) -> list[Any]:
    """The leaves that are floats, in an order that all agree on."""
    if isinstance(tree, dict):
        return [leaf for name in sorted(tree) for leaf in _floats(tree[name])]
    if isinstance(tree, tuple | list):
        return [leaf for part in tree for leaf in _floats(part)]
    return [tree] if _is_float(tree) else []


def _placed(tree: Tree, floats: list[Any], fill: bool = True) -> Tree:
    """The tree with other floats; with `fill`, what is no float becomes ()."""
    rest = iter(floats)
    leaves, form = jax.tree.flatten(tree)
    return form.unflatten([next(rest) if _is_float(x) else () if fill else x for x in leaves])


def _same(ours: Tree, theirs: list[Any]) -> None:
    found = _floats(ours)
    size = max([np.abs(x).max() for x in theirs if np.size(x)])
    for a, b in zip(found, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11 * size)

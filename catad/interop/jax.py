"""Morphisms as functions of JAX, whose gradients `jax.grad` asks of catad.

JAX is imported when `as_function` is called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from catad import errors
from catad.category.spaces import Tensor, rebuild
from catad.category.terms import D, MorphismLike, morphism
from catad.engine.program import program_of
from catad.front.calling import restored
from catad.interop.trees import Apart, gradients, is_array, library, real_result
from catad.jacobians.at_point import taken_point, vjp


def as_function(f: MorphismLike) -> Callable[..., Any]:
    """A function of JAX arrays that runs a morphism, or a Python function that `ct.function` can read.

    It works inside of `jax.jit`, `jax.grad`, `jax.vjp` and `jax.vmap`. Arguments and results have the trees of f, with JAX arrays
    for arrays. JAX calls catad on the host (`jax.pure_callback`): arrays of the CPU are read where they are, those of a GPU are
    copied to the host and back. The reverse derivative runs f again, and the pullback of it; `jax.vmap` calls f once for each
    element. Forward mode (`jax.jvp`) is not defined, as for every `jax.custom_vjp`, nor are second derivatives: JAX raises, and
    `as_function(ct.grad(f))` is the first derivative as a function. Integers have no gradient.

    Raises `EngineError` where JAX is missing, and `SpaceError` for an argument that is no morphism, where a result of f is
    complex, and where it has 64 bits while JAX is set to 32.

    >>> import catad as ct, catad.jax
    >>> g = catad.jax.as_function(ct.square >> ct.sum())  # doctest: +SKIP
    >>> jax.grad(g)(jax.numpy.array([1.0, 2.0]))  # doctest: +SKIP
    Array([2., 4.], dtype=float32)
    """
    jax = library("jax", "catad.jax.as_function", "jax")
    term = morphism(f, "catad.jax.as_function")

    def call(*args: Any) -> Any:
        given = Apart(args)
        arrays = [jax.numpy.asarray(leaf) for leaf in given.leaves if is_array(leaf)]
        one = _Call(jax, term, given, [_space(a) for a in arrays])
        return one.result.filled(one.function()(*arrays))[0]

    return call


def _space(array: Any) -> Tensor:
    try:
        return Tensor(array.shape, np.dtype(array.dtype))
    except TypeError as error:  # keys of random numbers
        raise errors.SpaceError(errors.no_plain_array(array, error)) from None


class _Call:
    """A call for arrays in some spaces: what runs on the host, and what JAX is told of it."""

    def __init__(self, jax: Any, term: D, given: Apart, spaces: Sequence[Tensor]) -> None:
        self.jax, self.term, self.given, self.spaces = jax, term, given, spaces
        at = taken_point(term, self.args([np.broadcast_to(np.zeros((), s.dtype), s.shape) for s in spaces]))
        _, cod = program_of(at.term, at.dom)
        self.results = cod.leaves
        for space in self.results:
            if jax.dtypes.canonicalize_dtype(space.dtype) != space.dtype:
                raise errors.SpaceError(errors.jax_has_32_bits(space))
        numbers = [np.broadcast_to(np.zeros((), s.dtype), s.shape) for s in cod.leaves]
        self.result = real_result(restored(at.tree, rebuild(cod, numbers)))

    def args(self, arrays: Sequence[Any]) -> list[Any]:
        """The arguments with these arrays."""
        given = iter(arrays)
        return self.given.filled([next(given) if is_array(leaf) else leaf for leaf in self.given.leaves])

    def value(self, *arrays: Any) -> tuple[Any, ...]:
        """The results, on the host."""
        y = self.term(*self.args([np.asarray(a) for a in arrays]))
        return tuple([np.asarray(leaf) for leaf in Apart([y]).leaves])

    def back(self, *arrays: Any) -> tuple[Any, ...]:
        """The cotangents of the floating arrays, on the host; given are the arrays, and the cotangents of floating results."""
        count = len(self.spaces)
        cotangents = iter([np.asarray(v) for v in arrays[count:]])
        _, pullback = vjp(self.term, *self.args([np.asarray(a) for a in arrays[:count]]))
        found = pullback(self.result.filled([next(cotangents) if s.is_float else () for s in self.results])[0])
        leaves = self.given.leaves
        floats = [isinstance(leaf, float) or (is_array(leaf) and np.dtype(leaf.dtype).kind == "f") for leaf in leaves]
        by_leaf = gradients(leaves, floats, found)
        pairs = zip(leaves, by_leaf, strict=True)
        return tuple([np.asarray(v) for leaf, v in pairs if is_array(leaf) and v is not None])

    def function(self) -> Any:
        """The function of JAX, of the arrays alone."""
        jax = self.jax

        def there(run: Any, spaces: Sequence[Tensor], *arrays: Any) -> Any:
            shapes = tuple([jax.ShapeDtypeStruct(s.shape, s.dtype) for s in spaces])
            return jax.pure_callback(run, shapes, *arrays, vmap_method="sequential")

        def backward(arrays: Any, cotangents: Any) -> tuple[Any, ...]:
            given = [v for v, s in zip(cotangents, self.results, strict=True) if s.is_float]
            found = iter(there(self.back, [s for s in self.spaces if s.is_float], *arrays, *given))
            none = jax.dtypes.float0
            return tuple([next(found) if s.is_float else np.zeros(s.shape, none) for s in self.spaces])

        called = jax.custom_vjp(lambda *arrays: there(self.value, self.results, *arrays))
        called.defvjp(lambda *arrays: (there(self.value, self.results, *arrays), arrays), backward)
        return called

"""Morphisms as functions of JAX: the public name of `catad.interop.jax`."""

from catad.interop.jax import as_function as as_function

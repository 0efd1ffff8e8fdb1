"""Morphisms as functions of PyTorch: the public name of `catad.interop.torch`."""

from catad.interop.torch import as_function as as_function

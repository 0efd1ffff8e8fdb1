"""Gradients by other libraries, where they are installed: JAX differentiates the meaning of a program."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import numpy as np

import catad as ct
from catad.testing.drawn.checks import Rounding, directions, leaves, running, value_at
from catad.testing.drawn.programs import Program

SMALL = 300  # entries up to which a meaning, which loops in Python, is traced


def there() -> bool:
    """True where JAX is installed."""
    return importlib.util.find_spec("jax") is not None


def check_peer(program: Program) -> None:
    """The cotangent of the point is that of `jax.vjp` of the meaning, in double precision."""
    if not (program.smooth and program.traced) or program.single or sum(a.size for a in program.point.ordinary) > SMALL:
        return
    jax: Any = importlib.import_module("jax")
    jax.config.update("jax_enable_x64", True)
    f, x = program.term, value_at(program.point.arrays)
    _, w = directions(program, f, x)
    _, back = jax.vjp(lambda *xs: program.meaning(jax.numpy, xs), *map(jax.numpy.asarray, program.point.ordinary))
    want: list[Any] = [np.asarray(a) for a in back(tuple(map(jax.numpy.asarray, leaves(w))))]

    def pulled(x: Any) -> Any:
        return ct.vjp(f, x)[1](w)

    rounding = Rounding(pulled, x, program.single, program.number)
    with running("auto", 2):
        rounding.require("vjp against JAX", leaves(pulled(x)), want)

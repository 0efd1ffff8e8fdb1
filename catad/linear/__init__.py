"""Structured linear maps by name, and the `LinearMap` that they make.

The families and their product rules live in the modules of this package; a rule is found by its family's name.
"""

from catad.linear.constructors import (
    block,
    cross,
    cumulative_sum,
    dense,
    einsum,
    fork,
    gather,
    identity,
    join,
    matrix_free,
    outer,
    recurrence,
    scale,
    scatter_add,
    sparse,
    zero,
)
from catad.linear.map import LinearMap

__all__ = [
    "LinearMap",
    "block",
    "cross",
    "cumulative_sum",
    "dense",
    "einsum",
    "fork",
    "gather",
    "identity",
    "join",
    "matrix_free",
    "outer",
    "recurrence",
    "scale",
    "scatter_add",
    "sparse",
    "zero",
]

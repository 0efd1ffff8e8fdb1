"""Structured linear maps by name, and the `LinearMap` that they make.

The constructors make maps of the package's own families. A family of one's own derives from `Structure`, is decorated with
`family` and registers its products with `product_rule`; docs/extending.md writes one.
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
from catad.linear.products import left, product_rule, right
from catad.linear.solver import Solver
from catad.linear.structure import Structure, family

__all__ = [
    "LinearMap",
    "Solver",
    "Structure",
    "block",
    "cross",
    "cumulative_sum",
    "dense",
    "einsum",
    "family",
    "fork",
    "gather",
    "identity",
    "join",
    "left",
    "matrix_free",
    "outer",
    "product_rule",
    "recurrence",
    "right",
    "scale",
    "scatter_add",
    "sparse",
    "zero",
]

"""Structured linear maps by name, and the `LinearMap` that they make.

The constructors make maps of the package's families. A new family derives from `Structure`, has the decorator `family` and
registers its products with `product_rule`; docs/extending.md writes one.

>>> import catad as ct, numpy as np
>>> L = ct.linear.identity(ct.f64[3]) + ct.linear.outer(np.ones(3), np.ones(3))
>>> L(np.array([1.0, 2.0, 3.0])), L.stored
(array([7., 8., 9.]), 6)
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


def __dir__() -> list[str]:
    """The public names only."""
    return list(__all__)

"""Structured linear maps by name, and the `LinearMap` that they make.

The constructors make maps of the package's families. A new family derives from `Structure`, has the decorator `family` and
registers its products with `product_rule`; docs/extending.md writes one.

>>> import catad as ct, numpy as np
>>> L = ct.linear.identity(ct.f64[3]) + ct.linear.outer(np.ones(3), np.ones(3))
>>> L(np.array([1.0, 2.0, 3.0])), L.stored
(array([7., 8., 9.]), 6)
"""

from typing import TYPE_CHECKING

from catad.support.lazy_names import first_use

if TYPE_CHECKING:
    from catad.linear.constructors import block as block
    from catad.linear.constructors import cross as cross
    from catad.linear.constructors import cumulative_sum as cumulative_sum
    from catad.linear.constructors import dense as dense
    from catad.linear.constructors import einsum as einsum
    from catad.linear.constructors import fork as fork
    from catad.linear.constructors import gather as gather
    from catad.linear.constructors import identity as identity
    from catad.linear.constructors import join as join
    from catad.linear.constructors import matrix_free as matrix_free
    from catad.linear.constructors import outer as outer
    from catad.linear.constructors import recurrence as recurrence
    from catad.linear.constructors import scale as scale
    from catad.linear.constructors import scatter_add as scatter_add
    from catad.linear.constructors import sparse as sparse
    from catad.linear.constructors import zero as zero
    from catad.linear.map import LinearMap as LinearMap
    from catad.linear.products import left as left
    from catad.linear.products import product_rule as product_rule
    from catad.linear.products import right as right
    from catad.linear.solving.before_numbers import inverse as inverse
    from catad.linear.solving.solver import Solver as Solver
    from catad.linear.structure import Structure as Structure
    from catad.linear.structure import family as family

first_use(__name__)

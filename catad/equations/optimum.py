"""What the searches for optima share: exact Newton steps on the gradient at their end, and whether the end is a minimum.

The Hessian keeps its structure: it is inverted by its factors where it has few numbers beside its unknowns, or few unknowns.
Else Newton's system is solved by conjugate gradients, and no matrix is made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from catad.category.spaces import Space, flatten
from catad.category.terms import D
from catad.derivative.functors import as_chain, network_at
from catad.equations.corrections import Correction, JacobianProduct
from catad.equations.implicit import multiplied_out
from catad.equations.krylov import conjugate_gradients
from catad.equations.newton import newton
from catad.equations.tolerance import Tolerance, apart, flat, joined, parted

IS_TRACED = True  # finders call these functions
FEW, STORED = 128, 32  # unknowns, and numbers of a Hessian for each of them, up to which it is inverted
PRODUCTS = 200  # with a Hessian, for one step
ACCURATE = 1e-5  # what is left of a gradient by conjugate gradients
PROBES = 30  # products that look for negative curvature
LAST = 60  # steps on the gradient


class Steps(NamedTuple):
    """The gradient at leaves of the unknowns, Newton's steps there, and products of the Hessian with one vector."""

    gradient: Callable[[Any], Any]
    correction: Callable[[Any], Any]
    product: Callable[[Any, Any], Any]


def steps_of(equation: D, dom: Space, args: Any) -> Steps:
    """Those of a gradient that is given as an equation of (x, args), which is in `dom`."""
    unknown: Space = dom.factors[0]  # type: ignore[attr-defined]
    times, solved = JacobianProduct(equation), Correction(equation)
    n = sum([leaf.size for leaf in unknown.leaves])
    direct = n <= FEW or _is_thin(equation, dom, len(unknown.leaves), n)

    def gradient(leaves: Any) -> Any:
        return flat(equation(apart(unknown, np.concatenate(leaves)), args))

    def product(leaves: Any, v: Any) -> Any:
        point = apart(unknown, np.concatenate(leaves)), args
        return joined(times(point, tuple(flatten(apart(unknown, v)))))

    def correction(leaves: Any) -> Any:
        if direct:
            return flat(solved(apart(unknown, np.concatenate(leaves)), args))
        right = np.concatenate(gradient(leaves))
        found, _, _ = conjugate_gradients(lambda v: product(leaves, v), right, min(2 * n, PRODUCTS), ACCURATE)
        return parted(unknown, found)

    return Steps(gradient, correction, product)


def _is_thin(equation: D, dom: Space, leaves: int, n: int) -> bool:
    """Whether the Hessian has few numbers beside its unknowns, so that it is inverted by factors."""
    hessian = multiplied_out(as_chain(network_at(equation, dom, tuple(range(leaves))))).result
    return hessian.stored <= STORED * n


class Finished(NamedTuple):
    """The end of a search: whether the gradient is zero, and a minimum there; the leaves, and numbers for a message."""

    found: Any
    is_minimum: Any
    leaves: tuple[Any, ...]
    gradient: Any
    size: Any


def finished(steps: Steps, unknown: Space, vector: Any, tol: Tolerance) -> Finished:
    """Newton's steps on the gradient from where a search ended, and the curvature along some directions there."""
    ended = newton(steps.gradient, steps.correction, parted(unknown, vector), tol, LAST)
    n = len(vector)
    probe = np.cos(1.0 + 2.0 * np.arange(n) ** 1.5).astype(vector.dtype)
    _, least, greatest = conjugate_gradients(lambda v: steps.product(ended.leaves, v), probe, min(n, PROBES), tol.eps)
    return Finished(ended.found, least >= -(tol.eps**0.5) * greatest, ended.leaves, ended.numbers[0], ended.numbers[1])

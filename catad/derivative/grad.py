"""Gradients: R[f] of a scalar function at the cotangent 1, by some or all of its arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors, upward
from catad.category.boxes import of_fields
from catad.category.cartesian import Structural, fork
from catad.category.constant import const
from catad.category.constructors import constructor, integer
from catad.category.spaces import Product, Space, Tensor, flatten
from catad.category.terms import D, MorphismLike, morphism
from catad.category.text import call
from catad.category.wiring import share
from catad.derivative.functors import filled, fused, linear_graph

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wires

Argnums = int | tuple[int, ...] | None  # by which arguments
Factors = int | tuple[int | None, ...] | None  # by which factors of the domain; in a tuple None is the whole


@share
@of_fields
class Gradient(D):
    """The gradient of a scalar function: R[f] at the cotangent 1, of some or all factors of the domain.

    `argnums` counts the arguments of a Python function, else the factors of the domain. In a tuple None stands for the whole
    domain.
    """

    drawn_as = "functor"
    f: D
    argnums: Factors

    def lay_out(self, b: Builder, x: Wires) -> Any:
        dom = b.space(x)
        settled = upward.at_space(self, dom) if self.argnums is not None else self
        if settled is not self:
            return (yield settled, x)
        with b.at(x):
            wiring = fused(self.f, dom)
        factors = differentiated(dom, self.argnums, self)
        if not isinstance(wiring.cod, Tensor) or wiring.cod.shape != () or not wiring.cod.is_float:
            raise errors.DerivativeError(errors.grad_of_non_scalar(wiring.cod, self.f))
        one = b.apply(const(np.ones((), wiring.cod.dtype)), ())
        by = leaves_of_factors(dom, factors)
        _, network, slots = linear_graph(b, wiring, flatten(x), by)
        moved = dict(zip([k for k in by if dom.leaves[k].is_float], network.T.apply(b, slots, [one]), strict=True))
        whole = filled(b, dom, [moved.get(k) for k, leaf in enumerate(dom.leaves) if leaf.is_float])
        found = [whole[i] if i is not None and isinstance(dom, Product) else whole for i in factors]
        return tuple(found) if isinstance(self.argnums, tuple) else found[0]

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return call(grad, name, part(self.f), argnums=self.argnums)


def differentiated(dom: Space, argnums: Factors, term: D) -> list[int | None]:
    """The factors of a domain that numbers, also negative ones, mean; None for the whole domain.

    A domain that is no product is its own factor 0. Each must have something to differentiate.
    """
    if not any(leaf.is_float for leaf in dom.leaves):
        raise errors.DerivativeError(errors.integers_alone(dom, term))
    factors = dom.factors if isinstance(dom, Product) else (dom,)
    found: list[int | None] = []
    for i in argnums if isinstance(argnums, tuple) else (argnums,):
        k = None if i is None else i + len(factors) if i < 0 else i
        if k is not None and not 0 <= k < len(factors):
            raise errors.DerivativeError(errors.no_such_argnum(i, dom, term))
        if k is not None and not any(leaf.is_float for leaf in factors[k].leaves):
            raise errors.DerivativeError(errors.integers_alone(factors[k], term))
        found.append(k)
    return found


def leaves_of_factors(dom: Space, factors: Sequence[int | None]) -> tuple[int, ...]:
    """The positions of the leaves of some factors of a domain, each once; None is the whole of it."""
    if not factors:
        return ()
    if None in factors or not isinstance(dom, Product):
        return tuple(range(len(dom.leaves)))
    ends = list(accumulate([len(factor.leaves) for factor in dom.factors]))
    chosen = dict.fromkeys([k for k in factors if k is not None])
    return tuple([i for k in chosen for i in range(ends[k] - len(dom.factors[k].leaves), ends[k])])


def checked_argnums(argnums: Any, term: D) -> Argnums:
    """The number of an argument of a term, several, or None; a name is that of a parameter of its Python function."""
    if isinstance(argnums, (tuple, list)):
        return tuple([_number(each, term) for each in argnums])
    return None if argnums is None else _number(argnums, term)


def _number(argnum: Any, term: D) -> int:
    if not isinstance(argnum, str):
        return integer(argnum, "argnums")
    names = upward.argument_names(term)
    if argnum not in names:
        raise errors.ArgumentError(errors.no_such_argument_name(argnum, names, term))
    return names.index(argnum)


def by_argument(f: Any, argnums: Any, who: str) -> tuple[D, Argnums]:
    """A morphism and the arguments by which it is differentiated.

    Where none are named they are all; of a plain Python function, and of what is made of one, it is the first.
    """
    term = morphism(f, who)
    given = checked_argnums(argnums, term)
    return term, 0 if given is None and upward.is_of_plain_function(term) else given


@constructor(morphisms="f")
def grad(f: MorphismLike, argnums: int | str | Sequence[int | str] | None = None, has_aux: bool = False) -> D:
    """The gradient of a scalar-valued morphism or Python function, as a morphism, by the whole input or by some of its arguments.

    `argnums` is the position of an argument, from the end where negative, or the name of a parameter of the Python function; a
    tuple gives a tuple of gradients. None means all of a morphism, and the first argument of a plain Python function. A gradient
    has the tree and the shapes of its argument, with `()` for integers; what is static in a tree stays. With `has_aux=True` the
    function returns a pair `(y, aux)`, of which y is differentiated, and the result is `(gradient, aux)`. Raises
    `DerivativeError` where the result is not a floating scalar or where there is nothing to differentiate, `ArgumentError` for a
    name that is not there, `SpaceError` for an argument that is no morphism.

    >>> import catad as ct, numpy as np
    >>> ct.grad(ct.square >> ct.sum())(np.array([1.0, 2.0]))
    array([2., 4.])
    >>> ct.grad(ct.mul, argnums=1)(2.0, 3.0)
    np.float64(2.0)
    >>> ct.grad(lambda p, x: p["a"] * x + p["b"])({"a": 2.0, "b": 1.0}, 5.0)
    {'a': np.float64(5.0), 'b': np.float64(1.0)}
    >>> ct.grad(lambda x, rate: x * rate, argnums="rate")(3.0, rate=2.0)
    np.float64(3.0)
    """
    term, numbers = by_argument(f, argnums, "ct.grad")
    return fork(Gradient(main(term), numbers), aux(term)) if has_aux else Gradient(term, numbers)


@constructor(morphisms="f")
def value_and_grad(f: MorphismLike, argnums: int | str | Sequence[int | str] | None = None, has_aux: bool = False) -> D:
    """The value and the gradient as one program, `fork(f, grad(f, argnums))`, which computes the value once.

    The value is a floating scalar, the gradient has the shapes and dtypes of the argument. With `has_aux=True` it is
    `((y, aux), gradient)`. Parameters and errors as `ct.grad`.

    >>> import catad as ct
    >>> ct.value_and_grad(ct.sin)(0.0)
    (np.float64(0.0), np.float64(1.0))
    >>> ct.value_and_grad(lambda x: (x * x, {"double": x + x}), has_aux=True)(3.0)
    ((np.float64(9.0), {'double': np.float64(6.0)}), np.float64(6.0))
    """
    term, numbers = by_argument(f, argnums, "ct.value_and_grad")
    return fork(term, Gradient(main(term) if has_aux else term, numbers))


def main(f: D) -> D:
    """The first of the pair `(y, aux)` that a function returns: what is differentiated."""
    return f >> _projection("exl")


def aux(f: D) -> D:
    """The second of the pair `(y, aux)` that a function returns."""
    return f >> _projection("exr")


def _projection(name: str) -> D:
    """A projection whose error says what a pair is needed for."""
    made = Structural(name)
    made.pattern = "(y, aux): a function with has_aux=True returns a pair"
    return made

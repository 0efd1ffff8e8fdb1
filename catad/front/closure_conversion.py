"""Closing terms: a term with open programs in it, `x -> y`, as a term `(values, x) -> y` of what they read from outside.

This is the strength of the functors and combinators: `ct.grad(f)` of an f that reads k is the gradient of `(k, x) -> f(x)` by x.
Values that every step of a loop reads ride in its state, or are what a sweep is given. `closed` is open: a rule for another class
of terms is a function registered with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import singledispatch
from typing import Any

import numpy as np

from catad import errors
from catad.category.cartesian import compose, exl, exr, it, proj
from catad.category.constant import const
from catad.category.spaces import Product, Space
from catad.category.terms import Compose, Cross, D, Fork
from catad.derivative.functors import Differential, ReverseDifferential, Tangent
from catad.derivative.grad import Gradient
from catad.traced.arrays.stand_in import apply_term, fresh
from catad.traced.open_terms import Open, measuring, open_parts
from catad.traced.recorder import Var
from catad.vector.loops.batching import element_of
from catad.vector.loops.checkpoint import Checkpoint
from catad.vector.loops.choose import Chosen
from catad.vector.loops.loop import Iterate, WhileLoop
from catad.vector.loops.sweep import Swept

Given = Mapping[Var, int]  # the positions of variables among the values


def apply_closed(term: D, value: Any, dom: Space, opens: list[Open]) -> Any:
    """The result of a term with open programs, on stand-ins and arrays: a line of the trace around."""
    trace = opens[0].trace
    given = {var: k for k, var in enumerate(dict.fromkeys(var for one in opens for var in one.values))}
    with measuring():
        whole = of_both(term, dom, given)
    return apply_term(trace, whole, (tuple([fresh(trace, var) for var in given]), value))


def of_both(term: D, dom: Space, given: Given) -> D:
    """The term of the values and of its own argument."""
    return closed(term, dom, given) if open_parts(term) else compose(exr, term)


@singledispatch
def closed(term: D, dom: Space, given: Given) -> D:
    """A term with open programs, of the values and of its own argument."""
    raise errors.TraceError(errors.reads_outside(term))


@closed.register
def _(term: Open, dom: Space, given: Given) -> D:
    values = Fork(tuple([compose(exl, proj(given[var])) for var in term.values]))
    return compose(Fork((values, exr)), term.children[0])


@closed.register
def _(term: Compose, dom: Space, given: Given) -> D:
    made: D = exr
    for k, factor in enumerate(term.factors):
        made = compose(Fork((exl, made)), closed(factor, dom, given)) if open_parts(factor) else compose(made, factor)
        if k + 1 < len(term.factors):
            dom = factor.spaces(dom)
    return made


@closed.register
def _(term: Fork, dom: Space, given: Given) -> D:
    return Fork(tuple([of_both(part, dom, given) for part in term.children]))


@closed.register
def _(term: Cross, dom: Space, given: Given) -> D:
    factors = dom.factors if isinstance(dom, Product) else ()
    parts = []
    for k, (part, space) in enumerate(zip(term.children, factors, strict=True)):
        parts.append(compose(Fork((exl, compose(exr, proj(k)))), of_both(part, space, given)))
    return Fork(tuple(parts))


@closed.register
def _(term: Checkpoint, dom: Space, given: Given) -> D:
    return Checkpoint(of_both(term.children[0], dom, given))


@closed.register
def _(term: Chosen, dom: Space, given: Given) -> D:
    return Chosen(*[of_both(part, dom, given) for part in term.children])


# -- derivatives by the argument alone


@closed.register
def _(term: Gradient, dom: Space, given: Given) -> D:
    whole = Gradient(of_both(term.children[0], dom, given), 1)

    def picked(k: int | None) -> D:
        return whole if k is None or not isinstance(dom, Product) else compose(whole, proj(k % len(dom.factors)))

    if isinstance(term.argnums, tuple):
        return Fork(tuple(map(picked, term.argnums)))
    return picked(term.argnums)


def _factor(dom: Space, k: int) -> Space:
    assert isinstance(dom, Product)
    return dom.factors[k]


@closed.register
def _(term: Tangent | Differential, dom: Space, given: Given) -> D:
    """`(values, (x, v))` is the point `(values, x)` with the tangent `(0, v)`."""
    zeros = [const(np.zeros(var.space.shape, var.space.dtype)) if var.space.is_float else it for var in given]
    tangent = Fork((Fork(tuple([compose(it, zero) for zero in zeros])), compose(exr, exr)))
    return compose(Fork((_WITH_FIRST, tangent)), type(term)(of_both(term.children[0], _factor(dom, 0), given)))


@closed.register
def _(term: ReverseDifferential, dom: Space, given: Given) -> D:
    return compose(_REGROUPED, ReverseDifferential(of_both(term.children[0], _factor(dom, 0), given)), exr)


_WITH_FIRST = Fork((exl, compose(exr, exl)))  # `(values, (x, v))` to `(values, x)`
_REGROUPED = Fork((_WITH_FIRST, compose(exr, exr)))  # and to `((values, x), v)`


# -- loops


@closed.register
def _(term: Iterate, dom: Space, given: Given) -> D:
    f = term.children[0]
    if term.inputs:  # the values ride in the state
        state = Product((_factor(dom, 0), element_of(_factor(dom, 1))))
        own = compose(proj(0), exl)
        step = Fork((own, compose(Fork((own, Fork((compose(exl, exr), exr)))), of_both(f, state, given))))
        return compose(_REGROUPED, replace(term, f=step), exr)
    step = Fork((exl, of_both(f, dom, given)))
    return compose(replace(term, f=step), exr)


@closed.register
def _(term: WhileLoop, dom: Space, given: Given) -> D:
    condition, f = term.children
    step = Fork((exl, of_both(f, dom, given)))
    return compose(replace(term, condition=of_both(condition, dom, given), f=step), exr)


@closed.register
def _(term: Swept, dom: Space, given: Given) -> D:
    state, own, inputs = (_factor(dom, k) for k in range(3))
    values, rest = compose(proj(1), exl), compose(proj(1), exr)
    body = compose(
        Fork((values, Fork((proj(0), rest, proj(2))))),
        of_both(term.children[0], Product((state, own, element_of(inputs))), given),
    )
    start = Fork((compose(exr, proj(0)), Fork((exl, compose(exr, proj(1)))), compose(exr, proj(2))))
    return compose(start, replace(term, f=body))

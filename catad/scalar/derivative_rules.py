"""The derivative rules of scalar operations: one table, each partial a small expression in nodes.

`PARTIALS[op]` has one entry for each operand: a function of (result, operands...) that returns the partial derivative,
or None for a partial that is zero everywhere it exists. They are built of the same operations, so they differentiate
again, and are written to keep their accuracy up to the ends of the domain.

Conventions where the derivative does not exist:

    ==========================================  ==================================================
    min, max (and relu = max(0, x)) at a tie    the left operand
    abs at 0; hypot, atan2 at (0, 0)            0
    sign, floor, ceil, trunc, round, a // b     0 everywhere
    sqrt, cbrt at 0                             infinity
    x ** 0                                      0, also at x = 0
    0 ** y with respect to y                    0 for y >= 0
    copysign(x, y), with respect to x           sign(x) sign(y), so 0 at x = 0; with respect to y: 0
    a % b, fmod, remainder                      1 and -(the whole number of times b goes into a)
    a branch                                    that of the branch taken
    ==========================================  ==================================================
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial as bind

from catad.scalar.ir import Node
from catad.scalar.simplify import apply

Partial = Callable[..., "Node | None"]

add, sub, mul, div = (bind(apply, op) for op in ("add", "sub", "mul", "div"))
neg, exp, log, sqrt = (bind(apply, op) for op in ("neg", "exp", "log", "sqrt"))
hypot, select, pow_ = bind(apply, "hypot"), bind(apply, "select"), bind(apply, "pow")


def one(y: Node, *args: Node) -> Node:
    return apply("float", 1)


def _reciprocal(x: Node) -> Node:
    return div(1.0, x)


def _square(x: Node) -> Node:
    return mul(x, x)


def _times(y: Node, x: Node, by: Node) -> Node:
    """-(how often `by` went into x), from the exact rest y."""
    return neg(apply("rint", div(sub(x, y), by)))


def _pow_base(y: Node, x: Node, exponent: Node) -> Node | None:
    """d(x**n)/dx = n x**(n-1), and 0 where n = 0, whatever x is.

    Only where x**(n-1) is not finite is the 0 a case of its own: elsewhere the slope itself is 0, and has a derivative by n.
    """
    if exponent.op == "const" and exponent.value == 0:
        return None
    power = pow_(x, sub(exponent, 1))
    slope = mul(exponent, power)
    if exponent.op == "const":
        return slope
    undefined = apply("and", apply("eq", exponent, 0), apply("not", apply("isfinite", power)))
    return select(undefined, 0.0, slope)


def _pow_exponent(y: Node, x: Node, exponent: Node) -> Node:
    """d(x**n)/dn = x**n log x, and 0 where x = 0 and n >= 0."""
    return mul(y, log(x if x.op == "const" and x.value != 0 else select(apply("eq", x, 0), 1.0, x)))


def _nonzero_hypot(x: Node, y: Node) -> Node:
    length = hypot(x, y)
    return select(apply("eq", length, 0), 1.0, length)


def _atan2(sign: int, over: int) -> Partial:
    """x/(x^2+y^2) and -y/(x^2+y^2), divided twice by the length so that no square over- or underflows."""

    def rule(result: Node, y: Node, x: Node) -> Node:
        length = _nonzero_hypot(y, x)
        slope = div(div((y, x)[over], length), length)
        return slope if sign > 0 else neg(slope)

    return rule


def _polygamma(y: Node, x: Node) -> Node:
    return apply("polygamma", x, value=y.value + 1)


def _inside(x: Node) -> Node:
    """sqrt(1 - x^2) without cancellation."""
    return mul(sqrt(sub(1.0, x)), sqrt(add(1.0, x)))


def _gaussian(x: Node) -> Node:
    return mul(2.0 / math.sqrt(math.pi), exp(neg(_square(x))))


def _gap(a: Node, b: Node) -> Node:
    """`a - b`, and 0 where both are the same infinity: equal summands share the derivative."""
    return apply("select", apply("eq", a, b), 0.0, sub(a, b))


PARTIALS: Mapping[str, tuple[Partial | None, ...]] = {
    "add": (one, one),
    "sub": (one, lambda y, a, b: neg(one(y))),
    "mul": (lambda y, a, b: b, lambda y, a, b: a),
    "div": (lambda y, a, b: _reciprocal(b), lambda y, a, b: neg(div(y, b))),
    "floordiv": (None, None),
    "mod": (one, _times),
    "fmod": (one, _times),
    "remainder": (one, _times),
    "pow": (_pow_base, _pow_exponent),
    "neg": (lambda y, x: neg(one(y)),),
    "pos": (one,),
    "float": (one,),
    "cast": (one,),
    "abs": (lambda y, x: apply("sign", x),),
    "sign": (None,),
    **dict.fromkeys(("floor", "ceil", "trunc", "rint", "exponent", "index", "int", "bits", "of_bits"), (None,)),
    "fraction": (one,),
    "mantissa": (lambda y, x: apply("ldexp", 1.0, neg(apply("exponent", x))),),
    "ldexp": (lambda y, x, n: apply("ldexp", 1.0, n), None),
    "copysign": (lambda y, a, b: mul(apply("sign", a), apply("copysign", 1.0, b)), None),
    "exp": (lambda y, x: y,),
    "exp2": (lambda y, x: mul(y, math.log(2.0)),),
    "expm1": (lambda y, x: exp(x),),
    "log": (lambda y, x: _reciprocal(x),),
    "log2": (lambda y, x: div(1.0 / math.log(2.0), x),),
    "log10": (lambda y, x: div(1.0 / math.log(10.0), x),),
    "log1p": (lambda y, x: _reciprocal(add(1.0, x)),),
    "sqrt": (lambda y, x: div(0.5, y),),
    "cbrt": (lambda y, x: div(1.0, mul(3.0, _square(y))),),
    "sin": (lambda y, x: apply("cos", x),),
    "cos": (lambda y, x: neg(apply("sin", x)),),
    "tan": (lambda y, x: add(1.0, _square(y)),),
    "asin": (lambda y, x: _reciprocal(_inside(x)),),
    "acos": (lambda y, x: neg(_reciprocal(_inside(x))),),
    "atan": (lambda y, x: _reciprocal(add(1.0, _square(x))),),
    "atan2": (_atan2(1, 1), _atan2(-1, 0)),
    "sinh": (lambda y, x: apply("cosh", x),),
    "cosh": (lambda y, x: apply("sinh", x),),
    "tanh": (lambda y, x: _square(apply("sech", x)),),
    "sech": (lambda y, x: neg(mul(y, apply("tanh", x))),),
    "asinh": (lambda y, x: _reciprocal(hypot(1.0, x)),),
    "acosh": (lambda y, x: _reciprocal(mul(sqrt(sub(x, 1.0)), sqrt(add(x, 1.0)))),),
    "atanh": (lambda y, x: _reciprocal(mul(sub(1.0, x), add(1.0, x))),),
    "hypot": (
        lambda y, a, b: div(a, _nonzero_hypot(a, b)),
        lambda y, a, b: div(b, _nonzero_hypot(a, b)),
    ),
    "logaddexp": (
        lambda y, a, b: apply("sigmoid", _gap(a, b)),
        lambda y, a, b: apply("sigmoid", _gap(b, a)),
    ),
    "sigmoid": (lambda y, x: mul(y, apply("sigmoid", neg(x))),),
    "erf": (lambda y, x: _gaussian(x),),
    "erfc": (lambda y, x: neg(_gaussian(x)),),
    "gamma": (lambda y, x: mul(y, apply("digamma", x)),),
    "lgamma": (lambda y, x: apply("digamma", x),),
    "digamma": (lambda y, x: apply("polygamma", x, value=1),),
    "polygamma": (_polygamma,),
    "fma": (lambda y, a, b, c: b, lambda y, a, b, c: a, one),
}
"""Partial derivatives by operation."""

CHOICES: Mapping[str, Callable[..., Node]] = {
    "minimum": lambda a, b: apply("or", apply("le", a, b), apply("isnan", a)),
    "maximum": lambda a, b: apply("or", apply("ge", a, b), apply("isnan", a)),
    "fmin": lambda a, b: apply("or", apply("le", a, b), apply("isnan", b)),
    "fmax": lambda a, b: apply("or", apply("ge", a, b), apply("isnan", b)),
}
"""Operations that return one of their two operands: the condition under which it is the left one.

Their tangent is chosen, never multiplied by 0 or 1: an infinite tangent that is not chosen does no harm.
"""

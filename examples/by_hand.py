"""Morphisms written by hand with `ct.D`: a function from x to (value, linear map), so that both share their work.

    python examples/by_hand.py

`square`, `exp` and `withDerivative` are the first examples of "automatic differentiation for accelerate" (Google Summer
of Code 2018), where a differentiable function is `newtype D a b = D (a -> (a, a -+> b))`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import catad as ct

Value = Any  # a number or an array


def _exp(x: Value) -> tuple[Value, ct.LinearMap]:
    y = ct.exp(x)
    return y, ct.scale(y)  # the derivative of exp is the value, which is there already


square = ct.D(lambda x: (x * x, ct.scale(2 * x)))
exp = ct.D(_exp)


def withDerivative(f: ct.D, x: Value) -> tuple[Value, Value]:
    """The value of a scalar function and its derivative: its linear map at 1."""
    y, df = ct.linearize(f, x)
    return y, df(1.0)


def counted(function: Callable[[float], float]) -> tuple[ct.D, list[float]]:
    """The exponential by a function that catad cannot see into, and the list of the points where it was called."""
    calls: list[float] = []

    def fn(x: Value) -> tuple[Value, ct.LinearMap]:
        y = function(x)
        calls.append(float(x))
        return y, ct.scale(y)

    return ct.D(fn), calls


def main() -> None:
    """Print values, derivatives and the count."""
    for name, f, x in [("square", square, 3.0), ("exp", exp, 1.0), ("square >> exp", square >> exp, 0.5)]:
        y, dy = withDerivative(f, x)
        print(f"{name + ' at ' + str(x):<22} value {y:.6f}   derivative {dy:.6f}")

    f, calls = counted(math.exp)
    withDerivative(f, 1.0)  # the first call also finds out the space of the result
    calls.clear()
    print(f"\nwithDerivative with math.exp at 2: {withDerivative(f, 2.0)}, exponentials computed: {len(calls)}")

    x = np.array([-1.0, 0.0, 2.0])
    print(f"\non a vector the Jacobian of exp is\n  {ct.jacobian(exp)(x)}")
    print(f"its second derivative along ones: {ct.differential(ct.differential(exp))((x, x**0), (x**0, 0 * x))}")
    total = ct.fork(exp, square) >> ct.mul >> ct.sum()
    print(f"the gradient of sum(exp(x) x^2): {ct.grad(total)(x)}")
    print(f"by calculus, exp(x) (x^2 + 2x):  {np.exp(x) * (x * x + 2 * x)}")


if __name__ == "__main__":
    main()

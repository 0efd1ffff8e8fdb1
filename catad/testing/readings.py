"""Two laws: all ways to differentiate agree, and they give the derivative.

`linearize`, `jvp`, `vjp` and `jacobian` at a point agree with D[f] and R[f], and D[f] and D[D[f]] with central
differences.
"""

from __future__ import annotations

import numpy as np

from catad.category.spaces import Value
from catad.category.terms import D
from catad.derivative.functors import differential, reverse_differential
from catad.jacobians.at_point import jvp, linearize, vjp
from catad.jacobians.jacobian import jacobian
from catad.testing.differences import slope
from catad.testing.laws import Case, law
from catad.testing.values import flat, floats, require


@law("one derivative", "linearize, jvp, vjp and jacobian agree with D[f] and R[f]")
def _(c: Case) -> None:
    u, w = c.u(), c.w()
    pushed, pulled = differential(c.f)(c.x, u), reverse_differential(c.f)(c.x, w)

    def same(what: str, point: object, got: object, expected: object) -> None:
        require("one derivative", what, c.f, point, got, expected, c.exact)

    y, L = linearize(c.f, c.x)
    same("linearize gives the value", c.x, y, c.y)
    same("L(u) == D[f](x, u)", (c.x, u), L(u), pushed)
    same("L.T(w) == R[f](x, w)", (c.x, w), L.T(w), pulled)
    y, dy = jvp(c.f, (c.x,), (u,))
    same("jvp gives the value", c.x, y, c.y)
    same("jvp == D[f](x, u)", (c.x, u), dy, pushed)
    y, pullback = vjp(c.f, c.x)
    same("vjp gives the value", c.x, y, c.y)
    same("vjp == R[f](x, w)", (c.x, w), pullback(w)[0], pulled)
    if not floats(u) or not floats(pushed):
        return
    direction, image = flat(u).astype(np.float64), flat(pushed).astype(np.float64)
    narrow = max(float(np.finfo(leaf.dtype).eps) for leaf in (*floats(u), *floats(pushed)))
    for mode in ("auto", "forward", "reverse"):
        J = jacobian(c.f, mode)(c.x)
        matrix = np.asarray(J.todense()).reshape(J.shape).astype(np.float64)
        size = float((np.abs(matrix) @ np.abs(direction)).max(initial=0.0))
        require("one derivative", f"jacobian(f, {mode!r})(x) @ u == D[f](x, u)", c.f, (c.x, u), matrix @ direction, image,
                c.exact, size, None if c.exact else 256 * narrow)  # fmt: skip


@law("derivative", "D[f](x, v) == (f(x + h v) - f(x - h v)) / 2 h")
def _(c: Case) -> None:
    _by_differences(c, c.f, c.x, c.u())


@law("second derivative", "D[D[f]](x, v) == (D[f](x + h v) - D[f](x - h v)) / 2 h", order=2)
def _(c: Case) -> None:
    _by_differences(c, differential(c.f), (c.x, c.u()), (c.u(), c.u()))


def _by_differences(c: Case, f: D, x: Value, v: Value) -> None:
    assert c.law is not None
    found, got = slope(f, x, v), differential(f)(x, v)
    expected = found.at_kinks(got)
    require(c.law.name, c.law.equation, c.f, (x, v), got, expected, size=found.size, tolerance=found.allowed())

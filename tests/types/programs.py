"""Programs for a type checker: each line that ends in `# wrong` is a mistake that it must find, and no other line is one."""

from __future__ import annotations

import numpy as np

import catad as ct


def right() -> None:
    x = np.ones(3)
    f = ct.sin >> ct.map(lambda a: a * 2.0) >> ct.sum()
    y, linear = ct.linearize(f, x)
    square = ct.D(lambda a: (a * a, ct.scale(2 * a)))
    total: float = float(y) + linear.todense().sum()
    g = ct.grad(square >> f)(x) + total
    lines, columns = linear.shape
    image = (linear @ x).reshape(-1) if lines * columns else g
    both = linear @ linear.T
    structured: ct.LinearMap = ct.jacobian(f, mode="forward")(x)
    pair = ct.fork(ct.sin, ct.cos) >> ct.cross(2.0 * ct.id, ct.id + 1)
    first, second = pair(x)
    last, pullback = ct.vjp(pair, x)
    (back,) = pullback((first, second))
    ct.scan(lambda a, b: a * b, 1.0, reverse=True)(back)
    ct.fold(lambda a, b: (a[0] * b[0], a[1] + b[1]), (1.0, 0.0))
    ct.fold(ct.monoid(lambda a, b: a + b, 0.0))(image)
    ct.stencil(lambda a, b: a - b, (-1, 1), boundary="wrap")
    ct.segmented_fold(ct.add, 0.0, by="lengths")
    ct.plan([(3, 4), (4, 5)], mode=[0, 1]).explain()
    ct.plan(f, ct.f64[3], want="hessian", mode="reverse", cost="operations")
    ct.hessian(f)(last, both, structured)
    ct.sin >> np.cos
    ct.grad(np.sin)
    ct.grad(lambda p, x: p["a"] * x, argnums=(0, 1))({"a": 1.0}, 2.0)


def wrong() -> None:
    f, x = ct.sin >> ct.sum(), np.ones(3)
    ct.jacobian(f, mode="foward")  # wrong
    ct.plan(f, ct.f64[3], want="jacobain")  # wrong
    ct.map(3.0)  # wrong
    ct.fold("add", 0.0)  # wrong
    ct.scan(ct.add, "0")  # wrong
    ct.stencil(lambda a, b: a - b, (-1, 1), boundary="wraps")  # wrong
    ct.segmented_scan(ct.add, 0.0, by="length")  # wrong
    f(x).todense()  # wrong
    ct.linearize(f, x)[1].todense().tocsr()  # wrong
    f + "1"  # wrong
    ct.sum(axis="0")  # wrong
    print(ct.vjp(f, x)[1](1.0).shape)  # wrong

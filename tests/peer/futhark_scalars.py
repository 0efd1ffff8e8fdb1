"""Scalar functions, conversions, comparisons and branches."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import catad as ct

from .derivatives import Derivative
from .programs import Data, Program, Rng, also, by, entry, gradient, normal, tangent


def branch(b, x):
    y = x * x if b else x
    return y + x


def first_or_second(a, b, c):
    return (a if a < 0 else b) * c


def ramp(x):
    return x if x > 0 else 0.0


def plane(x, y, z):
    return 2.0 + x


def sphere(x, y, z):
    dx, dy, dz = x + 1.0, y + 1.2, z - 0.2
    return ramp(math.sqrt(dx * dx + dy * dy + dz * dz) - 0.8)


def rotated_box(x, y, z):
    c, s = math.cos(-0.5), math.sin(-0.5)
    px, py, pz = x - 1.0, y + 1.6, z - 1.2
    qx, qz = c * px - s * pz, s * px + c * pz
    ex, ey, ez = ramp(abs(qx) - 0.6), ramp(abs(py) - 0.8), ramp(abs(qz) - 0.6)
    return math.sqrt(ex * ex + ey * ey + ez * ez)


def distance(what, x, y, z):
    if what == 0:
        return plane(x, y, z)
    if what == 1:
        return sphere(x, y, z)
    return rotated_box(x, y, z)


def scene(rng: Rng) -> Data:
    return {"object": rng.integers(0, 3), "x": rng.normal(), "y": 1.0 + abs(rng.normal()), "z": rng.normal()}


def no_tangents(m: Derivative, d: Data) -> list[Any]:
    """A tangent of the boolean result for each unit tangent."""
    return [m.push(1.0, None), m.push(None, 1.0)]


def no_cotangents(m: Derivative, d: Data) -> list[Any]:
    return list(m.pull(*[None if y.dtype == bool else 1.0 for y in m.ys]))


def gradient_of_x(m: Derivative, d: Data) -> list[Any]:
    return [m.pull(1.0)[1]]


def of_x_and_b(m: Derivative, d: Data) -> list[Any]:
    return list(m.pull(1.0))


compared = {"0": no_tangents, "1": no_cotangents}
branched = {"0": by(1), "1": of_x_and_b}

PROGRAMS = {
    "fadd": Program(lambda d: ct.add, "x y", gradient, normal(x=(), y=())),
    "fmul": Program(lambda d: ct.mul, "x y", gradient, normal(x=(), y=())),
    "conv0": Program(
        lambda d: ct.astype(np.float32), "x", {"0": tangent, "1": gradient}, normal(x=()), step=1.0, tolerance=1e-5
    ),
    "cmp0": (
        # a boolean has no tangents, so there is no Jacobian to plan; as a number its derivative is zero
        Program(lambda d: ct.eq, "x y", compared, normal(x=(), y=()), modes=("forward", "reverse")),
        Program(lambda d: ct.map(lambda x, y: 1.0 if x == y else 0.0), "x y", compared, normal(x=(), y=())),
    ),
    "if1": Program(lambda d: ct.map(branch), "b x", branched, also(normal(x=()), b=lambda rng: rng.random() < 0.5)),
    "if2": (
        Program(lambda d: ct.fork(entry(0), entry(1), entry(2)) >> ct.map(first_or_second), "x", gradient, normal(x=(3,))),
        Program(
            lambda d: ct.fork(ct.fork(entry(0), entry(1)) >> ct.map(lambda a, b: a if a < 0 else b), entry(2)) >> ct.mul,
            "x", gradient, normal(x=(3,)),
        ),
    ),
    "sdf": Program(
        lambda d: ct.map(distance), "object x y z", lambda m, d: list(m.pull(1.0)[1:]), scene, whole="object", rounded=5e-7
    ),
}  # fmt: skip

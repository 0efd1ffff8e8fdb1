"""A vector optimisation problem in reverse mode: the gradient is a row that is pulled back through the Jacobians.

    python examples/optimise.py

A curve of 200 points is fitted to noisy measurements: steepest descent seeks the least |x - data|^2 + weight |second
differences of x|^2. The gradient is taken three ways that do the same: by a train of `compReverse`, by a pullback, and as
a morphism. A vector optimisation problem in reverse mode is the demo of "automatic differentiation for accelerate" (Google
Summer of Code 2018).
"""

from __future__ import annotations

import numpy as np

import catad as ct

POINTS, WEIGHT, STEPS = 200, 20.0, 3000

square = ct.D(lambda x: (x * x, ct.scale(2 * x)))  # by hand; ct.square is the same
bends = ct.fork(ct.slice(0, -2), ct.slice(1, -1), ct.slice(2, None)) >> ct.map(lambda a, b, c: a - 2.0 * b + c)


def measurements() -> tuple[np.ndarray, np.ndarray]:
    """A smooth curve, and the same with noise."""
    t = np.linspace(0.0, 1.0, POINTS)
    curve = np.sin(7.0 * t) + t
    return curve, curve + 0.3 * np.random.default_rng(0).normal(size=POINTS)


def objective(data: np.ndarray) -> ct.D:
    """x to what is to be small, a chain of three: residuals, squares, sum."""
    residuals = ct.fork(ct.id - ct.const(data), np.sqrt(WEIGHT) * bends) >> ct.concatenate()
    return ct.compose(residuals, square, ct.sum())


def gradient_by_train(links: list[ct.D], x: np.ndarray) -> np.ndarray:
    """Reverse mode by hand: the last Jacobian is a row, and the train multiplies it by the others from the right."""
    jacobians = []
    for link in links:
        jacobians.append(ct.jacobian(link)(x))
        x = link(x)
    train = ct.id
    for J in jacobians[:-1]:
        train = ct.compReverse(J)(train)
    return train(jacobians[-1]).T(1.0)


def gradient_by_pullback(f: ct.D, x: np.ndarray) -> np.ndarray:
    """The cotangent 1 of the result, pulled back."""
    _, pullback = ct.vjp(f, x)
    return pullback(1.0)[0]


def descend(f: ct.D, x: np.ndarray, step: float) -> np.ndarray:
    """Steepest descent, with a line now and then."""
    value_and_grad = ct.value_and_grad(f)
    for k in range(STEPS + 1):
        value, slope = value_and_grad(x)
        if k in (0, 1, 10, 100, 1000, STEPS):
            print(f"  step {k:>4}: objective {value:12.6f}, |gradient| {np.linalg.norm(slope):.1e}")
        x = x - step * slope
    return x


def main() -> None:
    """Compare the three gradients, descend, and compare with Newton's step."""
    curve, data = measurements()
    f = objective(data)
    residuals = f[:-2]
    x = np.zeros(POINTS)
    by_train = gradient_by_train([residuals, square, ct.sum()], x)
    by_pullback, as_morphism = gradient_by_pullback(f, x), ct.grad(f)(x)
    J = ct.jacobian(residuals)(x)
    print(f"residuals: {J.dom} -> {J.cod}, their Jacobian keeps {J.stored} numbers for {J.cod.size}x{J.dom.size}")
    print(f"largest difference of the three gradients: "
          f"{max(abs(by_train - by_pullback).max(), abs(by_train - as_morphism).max()):.1e}\n")  # fmt: skip

    print("steepest descent:")
    steepest = 2.0 + 2.0 * 16.0 * WEIGHT  # the largest curvature: second differences have norm at most 4
    fitted = descend(f, x, 1.0 / steepest)
    H = ct.hessian(f)(x)
    newton = x - np.linalg.solve(H.todense(), as_morphism)
    print(f"\nNewton's step (the Hessian keeps {H.stored} numbers for {H.cod.size}x{H.dom.size}):")
    print(f"  objective {f(newton):.6f}, largest difference of the fits {abs(newton - fitted).max():.1e}")
    print(f"rms distance from the true curve: data {np.std(data - curve):.3f}, fit {np.std(fitted - curve):.3f}")


if __name__ == "__main__":
    main()

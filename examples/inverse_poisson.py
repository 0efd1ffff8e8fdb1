"""An inverse problem: the coefficient field of u'' = a exp(u) from measurements of u, by the gradient of the implicit function.

    python examples/inverse_poisson.py [--quick] [--out DIR]

`ct.root` finds u at 50,000 points. The Jacobian of its equation is tridiagonal, so a Newton step and the derivative of u by a
take linear time. log a is a smooth random field, (1 - l^2 d^2/dx^2) log a = white noise (Lindgren, Rue & Lindstrom, J. Royal
Statistical Society B 73, 2011), whose most probable value SciPy's L-BFGS-B finds. The deviation of a is that of the linearised
problem: the posterior covariance is 1 - K' (K K' + 1)^-1 K, K the derivative of the scaled measurements by the white noise.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import matplotlib
import numpy as np
from scipy.linalg import solveh_banded
from scipy.optimize import minimize

import catad as ct

matplotlib.use("svg")  # pictures go to files
import matplotlib.pyplot as plt

plt.rcParams["svg.fonttype"] = "none"

MEAN, SPREAD, REACH = np.log(15.0), 1.0, 0.1  # of log a: its mean and deviation, and the length l
SENSORS, ERROR = 40, 2e-3  # of the measurements: their number and deviation


def points(n):
    """Those inside [0, 1] at which u and a are given."""
    return np.linspace(0.0, 1.0, n + 2)[1:-1]


def residual(u, a):
    """u'' - a exp(u) by differences at inner points of [0, 1]; u is 0 at both ends."""
    wide = np.concatenate([np.zeros(1), u, np.zeros(1)])
    return (wide[2:] - 2.0 * wide[1:-1] + wide[:-2]) * (len(u) + 1) ** 2 - a * np.exp(u)


solution = ct.root(residual)


def log_field(noise):
    """The logarithm of a from independent normal numbers; its slope is 0 at both ends."""
    n = len(noise)
    s = (REACH * (n + 1)) ** 2
    ab = np.zeros((2, n))  # the diagonal and the one below it
    ab[0] = 1.0 + 2.0 * s
    ab[0, 0] = ab[0, -1] = 1.0 + s
    ab[1, :-1] = -s
    return MEAN + solveh_banded(ab, 2.0 * SPREAD * np.sqrt(REACH * (n + 1)) * noise, lower=True)


def measured(noise, places):
    """u at the sensors, in units of the deviation of a measurement."""
    u = solution(np.zeros(len(noise)), np.exp(log_field(noise)))
    return u[places] / ERROR


def surprise(noise, places, data):
    """-log p(noise | data), but for a constant."""
    return 0.5 * np.sum((measured(noise, places) - data / ERROR) ** 2) + 0.5 * noise @ noise


def truth(x):
    """The field that is sought: a ridge, and a step."""
    return 15.0 * np.exp(1.5 * np.exp(-(((x - 0.3) / 0.07) ** 2)) - 0.8 * np.tanh((x - 0.65) / 0.05))


def deviation(noise, places):
    """The deviation of log a, to first order at `noise`; one pullback for each sensor."""
    K = ct.jacrev(measured)(noise, places)
    known = np.linalg.solve(np.linalg.cholesky(K @ K.T + np.eye(len(K))), K)
    x = points(len(noise))
    apart = np.abs(np.stack([y + 2 * k for y in (0.0 * x, 2.0 * x) for k in range(-3, 4)])) / REACH  # from mirror images
    before = SPREAD**2 * np.sum((1.0 + apart) * np.exp(-apart), axis=0)
    return np.sqrt(before - sum((log_field(row) - MEAN) ** 2 for row in known))


def draw(path: Path, u: np.ndarray, at: np.ndarray, data: np.ndarray, log_a: np.ndarray, spread: np.ndarray) -> None:
    """Above the solution and its measurements, below the field and the band of two deviations."""
    every = max(1, len(u) // 250)
    x, u, log_a, spread = points(len(u))[::every], u[::every], log_a[::every], spread[::every]
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(7, 5), sharex=True)
    top.plot(at, data, "k.", markersize=4, label="measured")
    top.plot(x, u, label="by the field that was found")
    top.set(ylabel="u", title="u'' = a exp(u)")
    top.legend(fontsize="small")
    bottom.fill_between(x, np.exp(log_a - 2.0 * spread), np.exp(log_a + 2.0 * spread), alpha=0.25, label="two deviations")
    bottom.plot(x, np.exp(log_a), label="found")
    bottom.plot(x, truth(x), "k--", linewidth=1, label="true")
    bottom.set(xlabel="x", ylabel="a", yscale="log")
    bottom.legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> np.ndarray:
    """Measure, find the field, print a table, draw; returns the logarithm of the field, its deviation and the points."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "out", help="where the picture goes")
    parser.add_argument("--quick", action="store_true", help="2,000 points in place of 50,000")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    n = 2_000 if options.quick else 50_000
    x = points(n)
    places = np.linspace(0, n - 1, SENSORS + 2).astype(int)[1:-1]
    u = solution(np.zeros(n), truth(x))
    data = u[places] + ERROR * np.random.default_rng(3).normal(size=SENSORS)
    print(f"the Jacobian of the equation: {ct.jacobian(residual)(u, truth(x))}")
    print(f"the derivative of u by a:     {ct.linearize(lambda a: solution(np.zeros(n), a), truth(x))[1]}")
    slope_of = ct.value_and_grad(surprise)
    found = minimize(slope_of, np.zeros(n), args=(places, data), jac=True, method="L-BFGS-B", options={"maxiter": 100})
    start = time.perf_counter()
    slope_of(found.x, places, data)
    print(f"{n:,} points, value and gradient in {1e3 * (time.perf_counter() - start):.1f} ms; {found.nit} steps of L-BFGS-B")
    misfit = np.sqrt(np.mean((measured(found.x, places) - data / ERROR) ** 2))
    print(f"-log p = {found.fun:.3f}, distance from the data {misfit:.2f} deviations of a measurement")
    log_a, spread = log_field(found.x), deviation(found.x, places)
    off = np.abs(log_a - np.log(truth(x)))
    print(f"mean error of log a {off.mean():.3f}, mean deviation {spread.mean():.3f}; {np.mean(off < 2 * spread):.0%} within two")
    for at in np.arange(0.1, 1.0, 0.2):
        k = int(at * n)
        print(f"x = {at:.1f}: a = {np.exp(log_a[k]):6.2f}   true {truth(x[k]):6.2f}   deviation of log a {spread[k]:.3f}")
    u = solution(np.zeros(n), np.exp(log_a))
    draw(options.out / "inverse_poisson.svg", u, x[places], data, log_a, spread)
    print(f"picture: {options.out / 'inverse_poisson.svg'}")
    return np.stack([x, log_a, spread])


if __name__ == "__main__":
    main()

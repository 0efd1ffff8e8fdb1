"""A Gaussian process: its likelihood in NumPy, its hyperparameters by SciPy's L-BFGS-B, their error bars by a Hessian.

    python examples/gaussian_process.py [--quick] [--out DIR]

The likelihood is written with a Cholesky factor, as in Rasmussen & Williams, Gaussian Processes for Machine Learning, 2006,
algorithm 2.1. catad differentiates it twice; value and gradient share one factorisation. The data are drawn from a process whose
hyperparameters are known, so the table shows how well they are found again.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib
import numpy as np
from scipy.linalg import cho_solve, solve_triangular
from scipy.optimize import minimize

import catad as ct

matplotlib.use("svg")  # pictures go to files
import matplotlib.pyplot as plt

plt.rcParams["svg.fonttype"] = "none"

NAMES, TRUTH = ("amplitude", "length", "noise"), np.array([1.5, 0.8, 0.3])


def covariance(log_scales, a, b):
    """The squared exponential between two sets of places."""
    amplitude, length = np.exp(log_scales[0]), np.exp(log_scales[1])
    return amplitude**2 * np.exp(-0.5 * ((a[:, None] - b) / length) ** 2)


def minus_log_likelihood(log_scales, x, y):
    """-log p(y | x), by the logarithms of amplitude, length and noise."""
    K = covariance(log_scales, x, x) + np.exp(2.0 * log_scales[2]) * np.eye(len(x))
    L = np.linalg.cholesky(K)
    white = solve_triangular(L, y, lower=True)
    return 0.5 * white @ white + np.sum(np.log(np.diag(L))) + 0.5 * len(x) * np.log(2.0 * np.pi)


def posterior(log_scales, x, y, places):
    """Mean and standard deviation of the process at some places."""
    K = covariance(log_scales, x, x) + np.exp(2.0 * log_scales[2]) * np.eye(len(x))
    L = np.linalg.cholesky(K)
    between = covariance(log_scales, x, places)
    variance = np.exp(2.0 * log_scales[0]) - np.sum(solve_triangular(L, between, lower=True) ** 2, axis=0)
    return between.T @ cho_solve((L, True), y), np.sqrt(variance)


def data(count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Places on [0, 10] with a gap, and noisy values of a process of the true hyperparameters."""
    x = np.sort(np.concatenate([rng.uniform(0.0, 5.0, count // 2), rng.uniform(6.5, 10.0, count - count // 2)]))
    K = covariance(np.log(TRUTH), x, x) + TRUTH[2] ** 2 * np.eye(count)
    return x, np.linalg.cholesky(K) @ rng.normal(size=count)


def fitted(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """The logarithms of the best hyperparameters, their standard deviations, and the least value."""
    best = minimize(ct.value_and_grad(minus_log_likelihood), np.zeros(3), args=(x, y), jac=True, method="L-BFGS-B")
    curvature = ct.hessian(minus_log_likelihood, argnums=0)(best.x, x, y).todense()
    return best.x, np.sqrt(np.diag(np.linalg.inv(curvature))), best.fun


def draw(path: Path, x: np.ndarray, y: np.ndarray, log_scales: np.ndarray) -> None:
    """The data, the posterior mean, and two standard deviations around it."""
    places = np.linspace(0.0, 10.0, 100)
    mean, deviation = posterior(log_scales, x, y, places)
    figure, axes = plt.subplots(figsize=(6, 3))
    axes.fill_between(places, mean - 2 * deviation, mean + 2 * deviation, color="C0", alpha=0.2, label="two deviations")
    axes.plot(places, mean, label="posterior mean")
    axes.plot(x, y, "k.", markersize=4, label="data")
    axes.set(xlabel="x", ylabel="y", title="Gaussian process with fitted hyperparameters")
    axes.legend(loc="lower left", fontsize="small")
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> np.ndarray:
    """Fit, print a table, draw; returns the hyperparameters."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "out", help="where the picture goes")
    parser.add_argument("--quick", action="store_true", help="40 data in place of 200")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    x, y = data(40 if options.quick else 200, np.random.default_rng(3))
    log_scales, deviations, least = fitted(x, y)
    print(f"{len(x)} data, -log p = {least:.3f} (with the true hyperparameters {minus_log_likelihood(np.log(TRUTH), x, y):.3f})")
    print(f"{'':<10} {'true':>7} {'found':>7}   within one deviation")
    for name, true, middle, deviation in zip(NAMES, TRUTH, log_scales, deviations, strict=True):
        low, high = np.exp(middle - deviation), np.exp(middle + deviation)
        print(f"{name:<10} {true:7.3f} {np.exp(middle):7.3f}   {low:.3f} to {high:.3f}")
    draw(options.out / "gaussian_process.svg", x, y, log_scales)
    print(f"picture: {options.out / 'gaussian_process.svg'}")
    return np.exp(log_scales)


if __name__ == "__main__":
    main()

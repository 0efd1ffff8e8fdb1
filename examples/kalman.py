"""A moving object: Kalman filter, the noises by the gradient of the likelihood, and the smoothed path with its uncertainty.

    python examples/kalman.py [--quick] [--out DIR]

The state is a position and a velocity in the plane. A sensor measures the position, and its errors in the two directions are
correlated, so the covariance S of an innovation is a full matrix. Filter and smoother are plain loops with `np.linalg`; catad
records one step of each. The smoother is that of Rauch, Tung & Striebel, AIAA Journal 3, 1965.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib
import numpy as np
from scipy.optimize import minimize

import catad as ct

matplotlib.use("svg")  # pictures go to files
import matplotlib.pyplot as plt

plt.rcParams["svg.fonttype"] = "none"

F = np.eye(4) + np.eye(4, k=2)  # a position moves by the velocity
H = np.eye(2, 4)  # the sensor sees the position
PUSH = np.concatenate([0.5 * np.eye(2), np.eye(2)])  # what an acceleration during one step does
NAMES, TRUTH = ("acceleration", "sensor, x", "sensor, y", "correlation"), np.array([0.3, 4.0, 10.0, 0.7])


def noises(parameters):
    """The covariances of a step and of the sensor, by the logarithms of three deviations and the artanh of a correlation."""
    push, a, b = np.exp(parameters[0]), np.exp(parameters[1]), np.exp(parameters[2])
    c = np.tanh(parameters[3]) * a * b
    return push**2 * PUSH @ PUSH.T, np.array([[a**2, c], [c, b**2]])


def kalman_filter(parameters, measured):
    """-log p(measured), and the means and covariances of the states before and after each measurement."""
    Q, R = noises(parameters)
    n = len(measured)
    before, spread_before, after, spread_after = np.zeros((n, 4)), np.zeros((n, 4, 4)), np.zeros((n, 4)), np.zeros((n, 4, 4))
    mean, spread, surprise = np.zeros(4), 100.0 * np.eye(4), 0.0
    for t in range(n):
        before[t], spread_before[t] = mean, spread
        innovation, S = measured[t] - H @ mean, H @ spread @ H.T + R
        gain = np.linalg.solve(S, H @ spread).T
        surprise += 0.5 * (innovation @ np.linalg.solve(S, innovation) + np.linalg.slogdet(2.0 * np.pi * S)[1])
        mean, spread = mean + gain @ innovation, spread - gain @ S @ gain.T
        after[t], spread_after[t] = mean, spread
        mean, spread = F @ mean, F @ spread @ F.T + Q
    return surprise, (before, spread_before, after, spread_after)


def surprise(parameters, measured):
    """-log p(measured)."""
    return kalman_filter(parameters, measured)[0]


def smoother(parameters, measured):
    """Means and covariances of the states, given all measurements."""
    _, (before, spread_before, mean, spread) = kalman_filter(parameters, measured)
    for t in range(len(measured) - 2, -1, -1):
        gain = np.linalg.solve(spread_before[t + 1], F @ spread[t]).T
        mean[t] += gain @ (mean[t + 1] - before[t + 1])
        spread[t] += gain @ (spread[t + 1] - spread_before[t + 1]) @ gain.T
    return mean, spread


def moved(count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """True positions and measured ones."""
    (push, a, b, c), state, path = TRUTH, np.array([0.0, 0.0, 1.0, 0.5]), []
    for _ in range(count):
        path.append(state[:2])
        state = F @ state + PUSH @ (push * rng.normal(size=2))
    error = np.linalg.cholesky([[a**2, c * a * b], [c * a * b, b**2]])
    return np.array(path), np.array(path) + rng.normal(size=(count, 2)) @ error.T


def draw(path: Path, truth: np.ndarray, measured: np.ndarray, mean: np.ndarray, spread: np.ndarray) -> None:
    """The three paths, and an ellipse of two deviations at some of the smoothed positions."""
    figure, axes = plt.subplots(figsize=(6, 4))
    axes.plot(*measured.T, ".", color="0.7", markersize=3, label="measured")
    axes.plot(*truth.T, "k", linewidth=1, label="true")
    axes.plot(*mean[:, :2].T, "C0", linewidth=1, label="smoothed")
    circle = np.stack([f(np.linspace(0.0, 2.0 * np.pi, 20)) for f in (np.cos, np.sin)])
    for k in range(0, len(mean), max(1, len(mean) // 40)):
        axes.fill(*(mean[k, :2, None] + 2.0 * np.linalg.cholesky(spread[k, :2, :2]) @ circle), "C0", alpha=0.2)
    axes.set(xlabel="x", ylabel="y", title="smoothed path, two deviations")
    axes.legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> np.ndarray:
    """Fit the noises, smooth, print a table, draw; returns the fitted parameters."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "out", help="where the picture goes")
    parser.add_argument("--quick", action="store_true", help="60 measurements in place of 200")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    truth, measured = moved(60 if options.quick else 200, np.random.default_rng(8))
    found = minimize(ct.value_and_grad(surprise), np.zeros(4), args=(measured,), jac=True, method="L-BFGS-B")
    true = np.append(np.log(TRUTH[:3]), np.arctanh(TRUTH[3]))
    print(f"{len(measured)} measurements, -log p = {found.fun:.3f} (with the true noises {surprise(true, measured):.3f})")
    for name, expected, value in zip(NAMES, TRUTH, [*np.exp(found.x[:3]), np.tanh(found.x[3])], strict=True):
        print(f"{name:<13} true {expected:6.3f}   found {value:6.3f}")
    mean, spread = smoother(found.x, measured)
    for name, path in (("measured", measured), ("smoothed", mean[:, :2])):
        print(f"distance from the true path, {name}: {np.sqrt(np.mean(np.sum((path - truth) ** 2, axis=1))):.3f}")
    draw(options.out / "kalman.svg", truth, measured, mean, spread)
    print(f"picture: {options.out / 'kalman.svg'}")
    return found.x


if __name__ == "__main__":
    main()

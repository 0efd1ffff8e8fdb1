"""Principal components with a derivative by the units of the data, and ridge regression with penalties by gradient.

    python examples/pca_and_ridge.py [--quick] [--out DIR]

The data are those of 442 patients with diabetes (Efron et al., Annals of Statistics 32, 2004), in the units of the doctors. The
first component explains some share of the variance. The derivative of this share by the logarithms of the units says which
features make it: the component is an artefact of the units where the slopes are large. The regression has one penalty for each
feature. L-BFGS-B finds them by the gradient of the leave-one-out error, through `np.linalg.qr` and `np.linalg.lstsq`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib
import numpy as np
from scipy.optimize import minimize
from sklearn.datasets import load_diabetes

import catad as ct

matplotlib.use("svg")  # pictures go to files
import matplotlib.pyplot as plt

plt.rcParams["svg.fonttype"] = "none"


def explained(log_units, X):
    """The share of the variance on the first principal component, where feature j is multiplied by exp(log_units[j])."""
    scaled = X * np.exp(log_units)
    s = np.linalg.svd(scaled - scaled.mean(axis=0), compute_uv=False)
    return s[0] ** 2 / np.sum(s**2)


def ridge(log_penalties, X, y):
    """The coefficients w with the least |y - X w|^2 + sum_j exp(log_penalties[j]) w[j]^2, as least squares with more rows."""
    rows = np.concatenate([X, np.diag(np.exp(0.5 * log_penalties))])
    return np.linalg.lstsq(rows, np.concatenate([y, np.zeros(X.shape[1])]), rcond=None)[0]


def left_out(log_penalties, X, y):
    """The mean squared error at each row when the others are fitted, by the leverages of the rows."""
    rows = np.concatenate([X, np.diag(np.exp(0.5 * log_penalties))])
    leverages = np.sum(np.linalg.qr(rows)[0][: len(X)] ** 2, axis=1)
    return np.mean(((y - X @ ridge(log_penalties, X, y)) / (1.0 - leverages)) ** 2)


def with_one_penalty(X: np.ndarray, y: np.ndarray) -> float:
    """The least error that one penalty for all features reaches."""
    return min(float(left_out(np.full(X.shape[1], t), X, y)) for t in np.linspace(-5.0, 10.0, 61))


def patients(noisy: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Features, the progress of the disease, and names; some features of pure noise stand beside those of the patients."""
    found = load_diabetes(scaled=False)
    X = np.concatenate([found.data, rng.normal(size=(len(found.data), noisy))], axis=1)
    return X, found.target - found.target.mean(), [*found.feature_names, *(f"n{k}" for k in range(noisy))]


def draw(path: Path, names: list[str], slopes: np.ndarray, weights: dict[str, np.ndarray]) -> None:
    """Bars: the slopes of the explained share, and the coefficients of the regressions."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3))
    left.bar(names[: len(slopes)], slopes)
    left.set(title="explained share, by log of a unit")
    for k, (label, w) in enumerate(weights.items()):
        right.bar(np.arange(len(w)) + 0.4 * k, w, 0.4, label=label)
    right.set_xticks(np.arange(len(names)) + 0.2, names, rotation=90, fontsize="small")
    right.set(title="coefficients of standardised features")
    right.legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> np.ndarray:
    """Differentiate, fit, print tables, draw; returns the logarithms of the penalties."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "out", help="where the picture goes")
    parser.add_argument("--quick", action="store_true", help="100 patients in place of 442")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    X, y, names = patients(10, np.random.default_rng(2))
    if options.quick:
        X, y = X[:100], y[:100]
    real = X[:, :10]
    slopes = {}
    for what, units in (("doctors' units", np.zeros(10)), ("standardised", -np.log(real.std(axis=0)))):
        share, slopes[what] = ct.value_and_grad(explained)(units, real)
        largest = ", ".join(f"{names[j]} {slopes[what][j]:+.3f}" for j in np.argsort(-abs(slopes[what]))[:3])
        print(f"first component, {what}: {share:.1%} of the variance; by log of a unit: {largest}")
    standard = (X - X.mean(axis=0)) / X.std(axis=0)
    start = np.full(len(names), np.log(1e-2 * len(X)))
    found = minimize(
        ct.value_and_grad(left_out), start, args=(standard, y), jac=True, method="L-BFGS-B", bounds=[(-5.0, 14.0)] * len(start)
    )
    none = np.full(len(names), -20.0)
    print(f"mean squared error of a row that is left out, {len(names)} features:")
    print(f"  no penalty                 {left_out(none, standard, y):8.1f}")
    print(f"  one penalty for all        {with_one_penalty(standard, y):8.1f}")
    print(f"  a penalty for each feature {found.fun:8.1f}, after {found.nit} steps of L-BFGS-B with {found.nfev} gradients")
    weights = {"no penalty": ridge(none, standard, y), "penalties by gradient": ridge(found.x, standard, y)}
    draw(options.out / "pca_and_ridge.svg", names, slopes["doctors' units"], weights)
    print(f"picture: {options.out / 'pca_and_ridge.svg'}")
    return found.x


if __name__ == "__main__":
    main()

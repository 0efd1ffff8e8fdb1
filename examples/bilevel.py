"""Penalties of a logistic regression by the gradient of the validation loss, through the optimum of the training loss.

    python examples/bilevel.py [--quick] [--out DIR]

Two thirds of the features say nothing about the label. Each feature has a penalty of its own. The coefficients are where the
penalised training loss is least, which `ct.minimize` finds; the gradient of the validation loss by all penalties follows from the
equation that the coefficients solve, one linear system more (Y. Bengio, Gradient-based optimization of hyperparameters, Neural
Computation 12, 2000). SciPy's L-BFGS-B lowers the validation loss, and fresh data judge the result.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import matplotlib
import numpy as np
from scipy.optimize import minimize

import catad as ct

matplotlib.use("svg")  # pictures go to files
import matplotlib.pyplot as plt

plt.rcParams["svg.fonttype"] = "none"

FEATURES, TELLING = 30, 10


def loss(w, X, y):
    """The mean logistic loss; labels are -1 or 1."""
    return np.mean(np.logaddexp(0.0, -y * (X @ w)))


def penalised(w, log_penalties, X, y):
    """The training loss."""
    return loss(w, X, y) + 0.5 * np.sum(np.exp(log_penalties) * w**2)


fitted = ct.minimize(penalised)


def validation_loss(log_penalties, training, validation):
    """The loss on other data, with the coefficients that training finds."""
    return loss(fitted(np.zeros(FEATURES), log_penalties, *training), *validation)


def drawn(count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Features and labels."""
    X = rng.normal(size=(count, FEATURES))
    return X, np.where(rng.uniform(size=count) < 1.0 / (1.0 + np.exp(-X @ truth())), 1.0, -1.0)


def truth() -> np.ndarray:
    """Coefficients that fall, and zeros."""
    return np.where(np.arange(FEATURES) < TELLING, 1.5 * 0.85 ** np.arange(FEATURES) * (-1.0) ** np.arange(FEATURES), 0.0)


def draw(path: Path, common: np.ndarray, losses: np.ndarray, best: float, own: tuple[float, float], table: np.ndarray) -> None:
    """Losses by one common penalty and with own ones; coefficients with both."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5))
    for k, name in enumerate(("validation", "fresh data")):
        left.plot(common, losses[:, k], f"C{k}", label=f"{name}, one penalty for all")
        left.axhline(own[k], color=f"C{k}", linestyle="--", linewidth=1, label=f"{name}, own penalties")
    left.axvline(best, color="0.7", linewidth=1)
    left.set(xlabel="log of the common penalty", ylabel="loss", title="validation loss, and what fresh data say")
    left.legend(fontsize="small")
    at = np.arange(FEATURES)
    right.bar(at, table[0], color="0.85", label="true")
    right.plot(at, table[1], "C0.", label="one penalty for all")
    right.plot(at, table[2], "C1.", label="own penalties")
    right.set(xlabel="feature", title="coefficients")
    right.legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Find penalties, print a table, draw; returns their logarithms, and rows of validation loss and loss on fresh data."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "out", help="where the picture goes")
    parser.add_argument("--quick", action="store_true", help="10 steps in place of 60")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(5)
    training, validation, fresh = drawn(100, rng), drawn(200, rng), drawn(20_000, rng)
    slope_of = ct.value_and_grad(validation_loss)

    def judged(log_penalties: np.ndarray) -> tuple[np.ndarray, float, float]:
        w = fitted(np.zeros(FEATURES), log_penalties, *training)
        return w, loss(w, *validation), loss(w, *fresh)

    same = ct.value_and_grad(lambda one: validation_loss(np.full(FEATURES, one[0]), training, validation))
    first = minimize(same, np.array([-3.0]), jac=True, method="L-BFGS-B").x
    steps = {"maxiter": 10 if options.quick else 60}
    bounds, start = [(-9.0, 5.0)] * FEATURES, np.full(FEATURES, first[0])
    found = minimize(slope_of, start, (training, validation), "L-BFGS-B", True, bounds=bounds, options=steps)
    clock = time.perf_counter()
    slope_of(found.x, training, validation)
    print(f"value and gradient by {FEATURES} penalties in {1e3 * (time.perf_counter() - clock):.2f} ms, {found.nit} steps")
    rows, results = [], {"almost no penalty": np.full(FEATURES, -9.0), "one for all": start, "own penalties": found.x}
    for name, log_penalties in results.items():
        w, *losses = judged(log_penalties)
        rows.append((w, losses))
        off = np.linalg.norm(w - truth())
        print(f"{name:<18} validation loss {losses[0]:.4f}   fresh data {losses[1]:.4f}   |w - true| {off:.3f}")
    print(f"mean log penalty of features that tell: {found.x[:TELLING].mean():.2f}, of others: {found.x[TELLING:].mean():.2f}")
    common = np.linspace(-7.0, 0.0, 29)
    losses = np.array([judged(np.full(FEATURES, one))[1:] for one in common])
    draw(options.out / "bilevel.svg", common, losses, first[0], tuple(rows[2][1]), np.array([truth(), rows[1][0], rows[2][0]]))
    print(f"picture: {options.out / 'bilevel.svg'}")
    return found.x, np.array([losses for _, losses in rows])


if __name__ == "__main__":
    main()

"""Hares and lynxes: parameters of a differential equation from data, their deviations, and what each datum does to them.

    python examples/fit_ode.py [--quick] [--out DIR]

The equations of Lotka and Volterra, u' = (a - b v) u and v' = (d u - c) v, are fitted to pelts of the Hudson's Bay Company, in
thousands a year (C. Hewitt, The Conservation of the Wild Life of Canada, 1921). SciPy's least_squares finds the four parameters
and the two numbers of the first year by the Jacobian J of the residuals, which goes through `ct.odeint`. The Hessian of Gauss
and Newton, J' J, gives the covariance s^2 (J' J)^-1 and what a datum does to the estimate, (J' J)^-1 J'. B. Carpenter,
Predator-Prey Population Dynamics, 2018, has found (0.55, 0.028, 0.80, 0.024) by sampling a like model with prior distributions.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib
import numpy as np
from scipy.optimize import least_squares

import catad as ct

matplotlib.use("svg")  # pictures go to files
import matplotlib.pyplot as plt

plt.rcParams["svg.fonttype"] = "none"

HARE = "30 47.2 70.2 77.4 36.3 20.6 18.1 21.4 22 25.4 27.1 40.3 57 76.6 52.3 19.5 11.2 7.6 14.6 16.2 24.7"
LYNX = "4 6.1 9.8 35.2 59.4 41.7 19 13 8.3 9.1 7.4 8 12.3 19.5 45.7 51.1 29.7 15.8 9.7 10.1 8.6"
YEARS, PELTS = np.arange(1900.0, 1921.0), np.array([HARE.split(), LYNX.split()], float).T
NAMES, START = ("a", "b", "c", "d", "hares of 1900", "lynxes of 1900"), np.log([0.5, 0.02, 0.5, 0.02, 30.0, 4.0])


def growth(t, y, p):
    """The slopes of hares and lynxes."""
    hares, lynxes = y
    return np.stack([(p[0] - p[1] * lynxes) * hares, (p[3] * hares - p[2]) * lynxes])


populations = ct.odeint(growth, rtol=1e-8)


def log_populations(log_p, years):
    """Logarithms of both numbers in each year, from those of the parameters."""
    p = np.exp(log_p)
    return np.log(populations(p[4:], years, p[:4]))


def residuals(log_p, log_pelts):
    """How far the equations are from the data; errors multiply, so logarithms are compared."""
    return log_populations(log_p, YEARS) - log_pelts


jacobian = ct.jacrev(residuals)


def fitted(log_pelts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """The logarithms of the parameters, their covariance, their derivative by the data, and the deviation of a datum."""
    found = least_squares(
        lambda log_p: residuals(log_p, log_pelts).ravel(),
        START,
        jac=lambda log_p: jacobian(log_p, log_pelts).reshape(log_pelts.size, -1),
        xtol=1e-10,
    )
    s = np.sqrt(2.0 * found.cost / (log_pelts.size - len(START)))
    inverse = np.linalg.inv(found.jac.T @ found.jac)
    return found.x, s**2 * inverse, (inverse @ found.jac.T).reshape(len(START), *log_pelts.shape), s


def draw(path: Path, log_p: np.ndarray, spread: np.ndarray, influence: np.ndarray) -> None:
    """The data and the curves with bands of two deviations, and what each datum does to two parameters."""
    times = np.linspace(1900.0, 1920.0, 161)
    curves, by_p = log_populations(log_p, times), ct.jacfwd(log_populations)(log_p, times)
    width = 2.0 * np.sqrt(np.einsum("tki,ij,tkj->tk", by_p, spread, by_p))
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(7, 5.5), sharex=True)
    for k, name in enumerate(("hares", "lynxes")):
        top.plot(YEARS, PELTS[:, k], f"C{k}o", markersize=3)
        top.plot(times, np.exp(curves[:, k]), f"C{k}", label=name)
        top.fill_between(times, np.exp(curves[:, k] - width[:, k]), np.exp(curves[:, k] + width[:, k]), color=f"C{k}", alpha=0.2)
        bottom.plot(YEARS, influence[0, :, k], f"C{k}o-", markersize=3, linewidth=1, label=f"a by {name}")
        bottom.plot(YEARS, influence[2, :, k], f"C{k}s--", markersize=3, linewidth=1, label=f"c by {name}")
    top.set(ylabel="pelts (thousands)", title="equations of Lotka and Volterra, bands of two deviations")
    bottom.set(xlabel="year", ylabel="d log parameter / d log datum", title="influence of each datum on the estimate")
    bottom.set(ylim=(-0.15, 0.21), xticks=YEARS[::5])
    for axes in (top, bottom):
        axes.legend(fontsize="small", loc="upper right", ncols=4)
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Fit, print a table, draw; returns the parameters' logarithms, their covariance and the influence of the data."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "out", help="where the picture goes")
    parser.add_argument("--quick", action="store_true", help="without the check of the influence by a second fit")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    log_pelts = np.log(PELTS)
    log_p, spread, influence, s = fitted(log_pelts)
    print(f"{PELTS.size} data, deviation of their logarithms {s:.3f}")
    for name, value, deviation in zip(NAMES, np.exp(log_p), np.sqrt(np.diag(spread)), strict=True):
        print(f"{name:<15} {value:8.4f}   deviation {value * deviation:.4f}")
    print(f"period of small oscillations: {2 * np.pi / np.exp(0.5 * (log_p[0] + log_p[2])):.2f} years")
    year, kind = np.unravel_index(np.argmax(np.abs(influence[0])), PELTS.shape)
    most = f"the {('hares', 'lynxes')[kind]} of {YEARS[year]:.0f}"
    print(f"a follows most {most}: 1 % more give {influence[0, year, kind]:+.3f} % of a")
    if not options.quick:
        more = log_pelts.copy()
        more[year, kind] += 0.01
        print(f"another fit says: {100 * (fitted(more)[0][0] - log_p[0]):+.3f} %")
    draw(options.out / "fit_ode.svg", log_p, spread, influence)
    print(f"picture: {options.out / 'fit_ode.svg'}")
    return log_p, spread, influence


if __name__ == "__main__":
    main()

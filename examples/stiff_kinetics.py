"""Stiff equations: Robertson's reactions with their sensitivities, and a reaction-diffusion equation with a gradient field.

    python examples/stiff_kinetics.py [--quick] [--out DIR]

Robertson's three reactions run over sixteen powers of ten in time (H. Robertson, The solution of a set of reaction rate
equations, 1966). The Brusselator on a line has two concentrations at each of 500 points (E. Hairer & G. Wanner, Solving Ordinary
Differential Equations II, 1996, section IV.10). `ct.odeint` with "rodas5p" factorises 1 - h g J in each step; catad finds the
bands of J in the functions below. Derivatives are those of the computed numbers: by three rate constants forward, by a whole
field of starting values backward.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import matplotlib
import numpy as np

import catad as ct

matplotlib.use("svg")  # pictures go to files
import matplotlib.pyplot as plt

plt.rcParams["svg.fonttype"] = "none"

RATES = np.array([0.04, 3e7, 1e4])  # of Robertson's reactions: A to B, 2 B to B + C, B + C to A + C
SUPPLY, DRAIN, SPREAD = 1.0, 3.0, 0.02  # of the Brusselator: its constants A and B, and the diffusion


def robertson(t, y, rates):
    """The slopes of three concentrations."""
    a, b, c = y
    first, second, third = rates[0] * a, rates[1] * b**2, rates[2] * b * c
    return np.stack([third - first, first - second - third, second])


def diffusion(w, end):
    """Second differences of a concentration that is given at both ends of [0, 1]."""
    wide = np.concatenate([np.full(1, end), w, np.full(1, end)])
    return (wide[2:] - 2.0 * wide[1:-1] + wide[:-2]) * (len(w) + 1) ** 2


def brusselator(t, y, p):
    """The slopes of two concentrations on a line; p is (A, B, diffusion)."""
    u, v = y
    made = u * u * v
    return p[0] - (p[1] + 1.0) * u + made + p[2] * diffusion(u, 1.0), p[1] * u - made + p[2] * diffusion(v, 3.0)


reactions = ct.odeint(robertson, method="rodas5p", rtol=1e-8, atol=1e-14)
patterns = ct.odeint(brusselator, method="rodas5p", rtol=1e-6, atol=1e-8)


def largest(start, times, p):
    """A smooth maximum of u at the last time."""
    u = patterns(start, times, p)[0][-1]
    return np.log(np.mean(np.exp(20.0 * u))) / 20.0


def draw(path: Path, times: np.ndarray, y: np.ndarray, by_rates: np.ndarray, u: np.ndarray, field: np.ndarray) -> None:
    """Concentrations and sensitivities of Robertson's reactions; u over time and space, and the gradient field."""
    figure, ((one, two), (three, four)) = plt.subplots(2, 2, figsize=(9, 6))
    for k, (name, factor) in enumerate((("A", 1.0), ("10^4 B", 1e4), ("C", 1.0))):
        one.plot(times[1:], factor * y[1:, k], label=name)
        two.plot(times[1:], by_rates[1:, 0, k] * RATES[k], label=f"of A by log k{k + 1}")
    one.set(xscale="log", xlabel="t", title="Robertson's reactions")
    two.set(xscale="log", xlabel="t", title="sensitivities")
    three.imshow(u.T, aspect="auto", origin="lower", extent=(0.0, 10.0, 0.0, 1.0), cmap="viridis")
    three.set(xlabel="t", ylabel="x", title="Brusselator: u")
    for k, name in enumerate("uv"):
        four.plot(np.linspace(0.0, 1.0, u.shape[1] + 2)[1:-1], u.shape[1] * field[k], label=f"by the start of {name}")
    four.set(xlabel="x", title="derivative of the maximum of u at t = 10")
    for axes in (one, two, four):
        axes.legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Integrate both, print a table, draw; returns Robertson's last concentrations, their sensitivities, and the gradient."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "out", help="where the picture goes")
    parser.add_argument("--quick", action="store_true", help="50 points in place of 500")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    times, start = np.append(0.0, np.logspace(-5, 11, 97)), np.array([1.0, 0.0, 0.0])
    y, by_rates = reactions(start, times, RATES), ct.jacfwd(lambda rates: reactions(start, times, rates))(RATES)
    for k in (1, 37, 67, 97):
        print(f"t = {times[k]:7.0e}: A = {y[k, 0]:.6e}   B = {y[k, 1]:.6e}   dA/dlog k = {by_rates[k, 0] * RATES}")
    n = 50 if options.quick else 500
    x, moments, p = np.linspace(0.0, 1.0, n + 2)[1:-1], np.linspace(0.0, 10.0, 101), np.array([SUPPLY, DRAIN, SPREAD])
    first = (1.0 + np.sin(2.0 * np.pi * x), 3.0 + 0.0 * x)
    print(f"the Jacobian of the Brusselator: {ct.jacobian(brusselator, argnums=1)(0.0, first, p)}")
    slopes_of = ct.value_and_grad(largest, argnums=(0, 2))
    for _ in range(2):  # the program is made, then compiled
        slopes_of(first, moments, p)
    clock = time.perf_counter()
    top, (field, by_p) = slopes_of(first, moments, p)
    print(f"{n} points, value and gradient in {1e3 * (time.perf_counter() - clock):.1f} ms")
    print(f"maximum of u at t = 10: {top:.5f}, by A {by_p[0]:+.4f}, by B {by_p[1]:+.4f}, by the diffusion {by_p[2]:+.3f}")
    draw(options.out / "stiff_kinetics.svg", times, y, by_rates, patterns(first, moments, p)[0], np.stack(field))
    print(f"picture: {options.out / 'stiff_kinetics.svg'}")
    return y[-1], by_rates[-1], np.stack(field)


if __name__ == "__main__":
    main()

"""A hanging chain: its shape as the least energy, and how the shape follows its length and a load, by the implicit function.

    python examples/catenary.py [--quick] [--out DIR]

A chain of elastic links hangs between two hooks; a lamp may hang on it. Its shape is where the energy is least, which
`ct.minimize` finds from a parabola. The Hessian at the shape is a band, so the derivative of the shape by the length and by
the weight of the lamp is one more solve, in linear time. Without a lamp the shape is known (H. Irvine, Cable Structures, 1981,
section 2.2).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib
import numpy as np

import catad as ct

matplotlib.use("svg")  # pictures go to files
import matplotlib.pyplot as plt

plt.rcParams["svg.fonttype"] = "none"

SPAN, WEIGHT, STIFF = 10.0, 20.0, 1e5  # m between the hooks, N/m of the chain, N of its cross section times Young's modulus
LAMP, LAMPS = 0.3, (0.0, 100.0, 200.0, 400.0)  # where a lamp hangs, as a part of the length, and N


def energy(points, length, lamp):
    """Elastic energy and potential energy of a chain whose inner points are given as rows (x, y)."""
    n = len(points) + 1
    whole = np.concatenate([np.zeros((1, 2)), points, np.array([[SPAN, 0.0]])])
    links = whole[1:] - whole[:-1]
    rest = length / n
    strain = np.sqrt(np.sum(links**2, axis=1)) / rest - 1.0
    hanging = points[:, 1] @ np.full(n - 1, WEIGHT * rest) + lamp * points[round(LAMP * n) - 1, 1]
    return 0.5 * STIFF * rest * np.sum(strain**2) + hanging


shape = ct.minimize(energy, method="newton-cg")


def between(n):
    """Where n links meet, as parts of the way from -1 to 1."""
    return np.linspace(-1.0, 1.0, n + 1)[1:-1]


def hung(length, lamp, along):
    """The inner points of a chain, found from a parabola of about its length."""
    depth = SPAN * np.sqrt(0.375 * (length / SPAN - 1.0))
    return shape(np.stack([0.5 * SPAN * (1.0 + along), depth * (along**2 - 1.0)], axis=1), length, lamp)


def moved(length, lamp, change, n):
    """The inner points of n links, and their derivative along a change of (length, lamp)."""
    along = between(n)
    return ct.jvp(hung, (length, lamp, along), (*change, np.zeros(n - 1)))


def forces(points, length):
    """The forces of the links, as tensions."""
    whole = np.concatenate([np.zeros((1, 2)), points, np.array([[SPAN, 0.0]])])
    return STIFF * (np.sqrt(np.sum((whole[1:] - whole[:-1]) ** 2, axis=1)) * (len(points) + 1) / length - 1.0)


def draw(path: Path, lengths: np.ndarray, n: int) -> None:
    """Chains of several lengths, and with lamps of several weights, with the derivatives of their points."""
    figure, both = plt.subplots(1, 2, figsize=(9, 4), sharey=True)
    every = slice(n // 20 - 1, None, n // 20)
    rows = [("length", "m", [(v, 0.0) for v in lengths], (0.3, 0.0)), ("lamp", "N", [(11.0, v) for v in LAMPS], (0.0, 100.0))]
    for k, (axes, (name, unit, places, change)) in enumerate(zip(both, rows, strict=True)):
        for j, place in enumerate(places):
            points, moves = moved(*place, change, n)
            axes.plot([0.0, *points[:, 0], SPAN], [0.0, *points[:, 1], 0.0], f"C{j}", linewidth=1, label=f"{place[k]:.4g} {unit}")
            axes.quiver(*points[every].T, *moves[every].T, color=f"C{j}", width=0.003, angles="xy", scale_units="xy", scale=1)
        axes.legend(fontsize="small", loc="lower left")
        axes.set(xlabel="x (m)", title=f"{name}; arrows: {change[k]:g} {unit} more, by the derivative")
    both[0].set(ylabel="y (m)")
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> np.ndarray:
    """Hang chains, print a table, draw; returns rows of length, depth and the derivative of the depth by the length."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "out", help="where the picture goes")
    parser.add_argument("--quick", action="store_true", help="40 links in place of 400")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    n = 40 if options.quick else 400
    lengths = np.array([10.2, 11.0, 12.5, 15.0])
    print(f"{n} links; the Hessian: {ct.hessian(lambda points: energy(points, 11.0, 0.0))(hung(11.0, 0.0, between(n)))}")
    rows = []
    for length in lengths:
        (points, by_length), (_, by_lamp) = (moved(length, 0.0, change, n) for change in ((1.0, 0.0), (0.0, 1.0)))
        low = np.argmin(points[:, 1])
        depth, by_length, by_lamp = -points[low, 1], -by_length[low, 1], -by_lamp[low, 1]
        print(
            f"length {length:5.1f} m: depth {depth:.4f} m, {by_length:+.3f} m for a metre of chain, "
            f"{100 * by_lamp:+.4f} m for 100 N of lamp; tension {forces(points, length).max():6.1f} N"
        )
        rows.append((length, depth, by_length))
    draw(options.out / "catenary.svg", lengths, n)
    print(f"picture: {options.out / 'catenary.svg'}")
    return np.array(rows)


if __name__ == "__main__":
    main()

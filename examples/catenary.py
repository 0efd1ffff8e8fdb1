"""A hanging chain: its shape as the least energy, and how the shape follows its length and a load, by the implicit function.

    python examples/catenary.py [--quick] [--out DIR]

A chain of elastic links hangs between two hooks; a lamp may hang on it. Its shape is where the energy is least, which
`ct.minimize` finds from a straight line. The Hessian at the shape is a band, so the derivative of the shape by the length and by
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
LAMP = 0.3  # where the lamp hangs, as a part of the length


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


def straight(n: int) -> np.ndarray:
    """The inner points of n links on the line between the hooks."""
    return np.stack([np.linspace(0.0, SPAN, n + 1)[1:-1], np.zeros(n - 1)], axis=1)


def forces(points, length):
    """The forces of the links, as tensions."""
    whole = np.concatenate([np.zeros((1, 2)), points, np.array([[SPAN, 0.0]])])
    return STIFF * (np.sqrt(np.sum((whole[1:] - whole[:-1]) ** 2, axis=1)) * (len(points) + 1) / length - 1.0)


def draw(path: Path, lengths: np.ndarray, n: int) -> None:
    """Chains of several lengths with what a metre more would do to their points; the same for a lamp."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), sharey=True)
    every = slice(n // 20 - 1, None, n // 20)
    lamps = np.linspace(0.0, 400.0, len(lengths))
    for axes, values, by, unit in ((left, lengths, 1, "m"), (right, lamps, 2, "N")):
        for k, value in enumerate(values):
            args = (value, 0.0) if by == 1 else (11.0, value)
            points, change = ct.jvp(lambda v, args=args, by=by: shape(straight(n), *args[: by - 1], v, *args[by:]), (value,), (1.0,))
            axes.plot([0.0, *points[:, 0], SPAN], [0.0, *points[:, 1], 0.0], f"C{k}", linewidth=1, label=f"{value:.4g} {unit}")
            factor = 0.3 if by == 1 else 40.0
            axes.quiver(*points[every].T, *(factor * change[every]).T, color=f"C{k}", width=0.003, angles="xy", scale_units="xy", scale=1)
        axes.legend(fontsize="small", loc="lower center", ncols=2)
        axes.set(xlabel="x (m)")
    left.set(ylabel="y (m)", title="length; arrows: 0.3 x derivative by it")
    right.set(title="lamp; arrows: 40 x derivative by its weight")
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
    depth = ct.function(lambda length, lamp: -np.min(shape(straight(n), length, lamp)[:, 1]))
    print(f"{n} links; the Hessian: {ct.hessian(lambda p: energy(p, 11.0, 0.0))(shape(straight(n), 11.0, 0.0))}")
    rows = []
    for length in lengths:
        value, (by_length, by_lamp) = ct.value_and_grad(depth, argnums=(0, 1))(length, 0.0)
        most = forces(shape(straight(n), length, 0.0), length).max()
        print(
            f"length {length:5.1f} m: depth {value:.4f} m, {by_length:+.3f} m a metre of chain, "
            f"{100 * by_lamp:+.3f} m for 100 N of lamp; tension {most:6.1f} N"
        )
        rows.append((length, value, by_length))
    draw(options.out / "catenary.svg", lengths, n)
    print(f"picture: {options.out / 'catenary.svg'}")
    return np.array(rows)


if __name__ == "__main__":
    main()

"""An atom is carried by optical tweezers: split-step Fourier with complex numbers, and a path of the tweezers by its gradient.

    python examples/schroedinger.py [--quick] [--out DIR]

i psi' = (-1/2 d^2/dx^2 + V(x - c(t))) psi, with the well V of a laser beam whose centre c moves by 6 in a short time. The
steps are those of Feit, Fleck & Steiger, Journal of Computational Physics 47, 1982: half a step of V in space, a step of the
motion in Fourier space, half a step of V. A straight path shakes the atom out of the ground state. The gradient of the fidelity
|<target|psi>|^2 through all steps finds a path that leaves it there.
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

WIDTH, POINTS, DISTANCE, DURATION, DEPTH, WAVES = 24.0, 256, 6.0, 8.0, 8.0, 8
x = (np.arange(POINTS) - POINTS // 2) * (WIDTH / POINTS)
k = 2.0 * np.pi * np.fft.fftfreq(POINTS, WIDTH / POINTS)


def well(centre):
    """The potential of the tweezers."""
    return -DEPTH * np.exp(-((x - centre) ** 2) / 4.0)


def evolved(psi, potentials, dt):
    """The state after the steps, and its density before each: one row of `potentials` a step."""
    density = np.zeros(potentials.shape)
    motion = np.exp(-0.5j * dt * k**2)
    for n in range(len(potentials)):
        density[n] = psi.real**2 + psi.imag**2
        half = np.exp(-0.5j * dt * potentials[n])
        psi = half * np.fft.ifft(motion * np.fft.fft(half * psi))
    return psi, density


def path(waves, times):
    """The centre: a straight line and some sines, which vanish at the ends."""
    share = times / DURATION
    return DISTANCE * (share - 0.5) + np.sin(np.pi * share[:, None] * np.arange(1, len(waves) + 1)) @ waves


def lost(waves, start, target, times):
    """1 - |<target|psi>|^2 at the end of the path."""
    psi, _ = evolved(start, well(path(waves, times)[:, None]), times[1] - times[0])
    return 1.0 - np.abs(np.vdot(target, psi)) ** 2


def ground_state(centre: float) -> np.ndarray:
    """The state of least energy in the tweezers at rest."""
    motion = np.fft.ifft(0.5 * k[:, None] ** 2 * np.fft.fft(np.eye(POINTS), axis=0), axis=0).real
    return np.linalg.eigh(motion + np.diag(well(centre)))[1][:, 0].astype(complex)


def draw(file: Path, pictures: dict[str, np.ndarray], times: np.ndarray) -> None:
    """The density over space and time, and the centre of the tweezers, for each path."""
    figure, all_axes = plt.subplots(1, len(pictures), figsize=(8, 3), sharey=True)
    for axes, (title, waves) in zip(all_axes, pictures.items(), strict=True):
        centre = path(waves, times)
        _, density = evolved(ground_state(-0.5 * DISTANCE), well(centre[:, None]), times[1] - times[0])
        seen = density[:: max(1, len(times) // 100)][:, np.abs(x) < 6.0].T
        axes.imshow(seen, origin="lower", aspect="auto", extent=(0.0, DURATION, -6.0, 6.0), cmap="magma", interpolation="none")
        axes.plot(times, centre, "w--", linewidth=1)
        axes.set(xlabel="time", title=title)
    all_axes[0].set(ylabel="space")
    figure.tight_layout()
    figure.savefig(file)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> np.ndarray:
    """Find the path, print a table, draw; returns the coefficients of the path."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "out", help="where the picture goes")
    parser.add_argument("--quick", action="store_true", help="100 steps of time in place of 400")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    steps = 100 if options.quick else 400
    times = (np.arange(steps) + 0.5) * (DURATION / steps)  # the middle of each step
    start, target = ground_state(-0.5 * DISTANCE), ground_state(0.5 * DISTANCE)
    straight = np.zeros(WAVES)
    found = minimize(
        ct.value_and_grad(lost), straight, args=(start, target, times), jac=True, method="L-BFGS-B", options={"maxiter": 60}
    )
    print(f"{steps} steps on {POINTS} points, {found.nit} steps of L-BFGS-B with {found.nfev} gradients")
    for title, waves in (("straight path", straight), ("path by gradient", found.x)):
        print(f"{title:<17} fidelity {1.0 - lost(waves, start, target, times):.6f}")
    print("coefficients of the sines:", found.x.round(3))
    psi, _ = evolved(start, well(path(found.x, times)[:, None]), DURATION / steps)
    print(f"norm at the end: 1 {np.sum(np.abs(psi) ** 2) - 1.0:+.1e}")
    draw(options.out / "schroedinger.svg", {"straight path": straight, "path by gradient": found.x}, times)
    print(f"picture: {options.out / 'schroedinger.svg'}")
    return found.x


if __name__ == "__main__":
    main()

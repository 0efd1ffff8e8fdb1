"""Convolutions by sums and by spectra: from which length of the shorter array Fourier transforms are quicker.

For arrays of n and m entries the seconds of `np.convolve` itself, and in terms of these those of the value, and of the value with
its gradient, by sums over windows and by transforms. Then the circular convolution of two arrays by `rfft` and `irfft`, its value
and its value with a pullback, over NumPy's value. All runs of a row take turns, on one core.

    python examples/experiments/convolutions.py [--sizes N ...] [--filters M ...] [--circular N] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import measuring
import numpy as np

import catad as ct
from catad.traced.names import differences

MOST = 2 * 10**7  # numbers of windows


def loss_of(w: Any, n: int, m: int, long: float) -> ct.D:
    """A loss of the convolution of n and m numbers, by spectra from a length of the shorter array on; traced here."""

    def loss(a: Any, v: Any) -> Any:
        return np.sum(np.convolve(a, v) * w)

    before, differences.LONG = differences.LONG, long  # type: ignore[assignment]
    try:
        f = ct.function(loss)
        f.spaces(ct.product(ct.f64[n], ct.f64[m]))
        return f
    finally:
        differences.LONG = before


def row(n: int, m: int, rounds: int) -> dict[str, Any]:
    """The times of one pair of lengths."""
    rng = np.random.default_rng(n + m)
    a, v, w = rng.normal(size=n), rng.normal(size=m), rng.normal(size=n + m - 1)
    sums, spectra = loss_of(w, n, m, np.inf), loss_of(w, n, m, 0)
    of_sums, of_spectra = ct.value_and_grad(sums), ct.value_and_grad(spectra)
    taken = measuring.side_by_side(
        {
            "numpy": lambda: np.convolve(a, v),
            "sums": lambda: sums(a, v),
            "spectra": lambda: spectra(a, v),
            "sums, gradient": lambda: of_sums(a, v),
            "spectra, gradient": lambda: of_spectra(a, v),
        },
        rounds,
    )
    own = taken.pop("numpy")
    return {"n": n, "m": m, "numpy": own, **{name: seconds / own for name, seconds in taken.items()}}


def circular(n: int, rounds: int) -> dict[str, Any]:
    """A circular convolution and its pullback over NumPy's value."""
    rng = np.random.default_rng(n)
    a, v, w = rng.normal(size=n), rng.normal(size=n), rng.normal(size=n)

    def multiplied(x: Any, y: Any) -> Any:
        return x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0]

    f = ct.cross(ct.fft.rfft(), ct.fft.rfft()) >> ct.function(multiplied) >> ct.fft.irfft(n)

    def pulled() -> Any:
        _, pullback = ct.vjp(f, (a, v))
        return pullback(w)

    taken = measuring.side_by_side(
        {
            "numpy": lambda: np.fft.irfft(np.fft.rfft(a) * np.fft.rfft(v), n),
            "value": lambda: f(a, v),
            "value and pullback": pulled,
        },
        rounds,
    )
    own = taken.pop("numpy")
    return {"n": n, "numpy": own, **{name: seconds / own for name, seconds in taken.items()}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[300, 1000, 10**4, 10**5])
    parser.add_argument("--filters", type=int, nargs="+", default=[16, 32, 48, 64, 96, 128, 256, 1024])
    parser.add_argument("--circular", type=int, default=10**6)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    measuring.one_core()
    pairs = [(n, m) for n in given.sizes for m in given.filters if m <= n and n * m <= MOST]
    rows = []
    print(f"{'n':>7} {'m':>5} {'numpy us':>9} {'sums':>7} {'spectra':>8} {'with gradient: sums':>20} {'spectra':>8}")
    for n, m in pairs:
        rows.append(one := row(n, m, given.rounds))
        ratios = f"{one['sums']:>7.2f} {one['spectra']:>8.2f} {one['sums, gradient']:>20.2f} {one['spectra, gradient']:>8.2f}"
        print(f"{n:>7} {m:>5} {1e6 * one['numpy']:>9.0f} {ratios}", flush=True)
    last = circular(given.circular, given.rounds)
    print(f"circular, n = {last['n']}: value {last['value']:.2f}, pulled back {last['value and pullback']:.2f} of NumPy")
    if given.json:
        given.json.write_text(json.dumps({"rows": rows, "circular": last}, indent=1))


if __name__ == "__main__":
    main()

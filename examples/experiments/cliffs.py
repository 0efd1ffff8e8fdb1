"""What derivatives cost where a fast path does not hold: products that underflow, zeros, NaN, beside the same programs without.

A fast path needs something of the numbers that it meets: that a product is a normal number, say. Where that fails something
else runs, and this prints what it costs: value and pullback over the primal, on the same numbers. Rows with `jax` compare with
the same function of JAX, compiled, in this process, where it is installed.

    python examples/experiments/cliffs.py [--n N] [--rows NAME ...] [--json FILE] [--out DIR] [--rounds N]
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import measuring
import numpy as np

import catad as ct

SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
WIDE = 6.0  # what a way out may cost at most: value and pullback over the primal

times = (lambda a, b: a * b), 1.0
largest = (lambda a, b: a if a >= b else b), -math.inf
soft = (lambda a, b, t: t * np.logaddexp(a / t, b / t)), -math.inf


class Row(NamedTuple):
    """A program and its argument for n numbers; what is asked of (value and pullback) / primal."""

    name: str
    term: ct.D
    argument: Callable[[int], Any]
    limit: float | None = WIDE
    jax: str = ""  # what the same is in JAX, for a comparison with it


def uniform(low: float, high: float, dtype: np.dtype, *put: float) -> Callable[[int], np.ndarray]:
    """Numbers of an interval, and some others at fixed places among them."""

    def made(n: int) -> np.ndarray:
        x = np.random.default_rng(0).uniform(low, high, n).astype(dtype)
        for k, value in enumerate(put, 1):
            x[k * n // (len(put) + 1)] = value
        return x

    return made


def binned(values: Callable[[int], np.ndarray], bins: int, width: int = 1, *more: Any) -> Callable[[int], Any]:
    """Indices and values, in rows of some numbers; then free numbers."""

    def made(n: int) -> Any:
        x = values(n)
        x = x if width == 1 else x.reshape(-1, width)
        return (np.random.default_rng(1).integers(0, bins, len(x)), x, *[x.dtype.type(m) for m in more])

    return made


def products() -> list[Row]:
    """Products that are a normal number, and such as are not."""
    kinds: dict[str, Callable[[np.dtype], Callable[[int], np.ndarray]]] = {
        "near 1": lambda dtype: lambda n: (1.0 + uniform(-1.0, 1.0, DOUBLE)(n) / n).astype(dtype),
        "around 1": lambda dtype: uniform(0.5, 1.5, dtype),
        "a zero": lambda dtype: uniform(0.5, 1.5, dtype, 0.0),
        "two zeros": lambda dtype: uniform(0.5, 1.5, dtype, 0.0, 0.0),
        "too large": lambda dtype: uniform(1.0, 3.0, dtype),
        "a NaN": lambda dtype: uniform(0.5, 1.5, dtype, math.nan),
        "an infinity": lambda dtype: uniform(0.5, 1.5, dtype, math.inf),
    }
    rows = []
    for dtype in (SINGLE, DOUBLE):
        for kind, values in kinds.items():
            rows.append(Row(f"fold *, {kind}, {dtype}", ct.fold(*times), values(dtype)))
        for bins in (31, 1023):
            for kind, values in kinds.items():
                if bins == 31 or kind in ("near 1", "around 1"):
                    made = binned(values(dtype), bins)
                    rows.append(Row(f"histogram *, {bins} bins, {kind}, {dtype}", ct.histogram(*times, bins=bins), made))
    made = binned(uniform(0.5, 1.5, SINGLE), 31, 100)
    rows.append(Row("histogram *, rows, around 1, float32", ct.histogram(*times, bins=31), made))
    for low, high in ((0.5, 1.5), (0.0, 1.0)):
        rows.append(Row(f"scan *, {low} to {high}, float32", ct.scan(*times), uniform(low, high, SINGLE), 3.5))
    rows.append(Row("scan *, a NaN, float32", ct.scan(*times), uniform(0.5, 1.5, SINGLE, math.nan)))
    return rows


def others() -> list[Row]:
    """Maxima, `logaddexp`, operators with free numbers."""
    many = 1_000_000
    numbers, with_nan, about_0 = uniform(0.0, 1.0, SINGLE), uniform(0.0, 1.0, SINGLE, math.nan), uniform(-5.0, 5.0, SINGLE)
    of_31, of_many = ct.histogram(*largest, bins=31), ct.histogram(*largest, bins=many)
    rows = [
        Row("fold max, uniform, float32", ct.fold(*largest), numbers, 2.5),
        Row("fold max, uniform, float64", ct.fold(*largest), uniform(0.0, 1.0, DOUBLE), 2.5),
        Row("fold max, a NaN, float32", ct.fold(*largest), with_nan),
        Row("histogram max, 31 bins, float32", of_31, binned(numbers, 31), 3.0),
        Row("histogram max, 31 bins, a NaN, float32", of_31, binned(with_nan, 31)),
        Row("histogram max of rows, 10^6 bins, float32", of_many, binned(numbers, many, 100)),
        Row("histogram max of rows, 10^6 bins, a NaN, float32", of_many, binned(with_nan, many, 100)),
        Row("histogram of a free number, float32", ct.histogram(*soft, bins=31, params=1), binned(numbers, 31, 1, 0.5)),
        Row("histogram logaddexp, 31 bins, float32", ct.histogram(ct.logaddexp, -math.inf, bins=31), binned(about_0, 31)),
    ]
    for dtype in (SINGLE, DOUBLE):
        made = uniform(-5.0, 5.0, dtype)
        rows.append(Row(f"fold logaddexp, {dtype}", ct.fold(ct.logaddexp, -math.inf), made, None, "logsumexp"))
    return rows


def measure(row: Row, n: int, rounds: int) -> dict[str, Any]:
    """Seconds of the primal, and of value and pullback, side by side; of JAX the value, and value and gradient."""
    x = row.argument(n)
    y = row.term(x)
    w = measuring.like(y, lambda leaf: np.ones_like(leaf))
    pullback = measuring.value_and_pullback(row.term)
    runs: dict[str, Callable[[], Any]] = {"primal": lambda: row.term(x), "vjp": lambda: pullback(x, w)}
    if row.jax:
        runs |= in_jax(row.jax, x)
    taken = measuring.side_by_side(runs, rounds)
    return {"name": row.name, "seconds": taken, "vjp": taken["vjp"] / taken["primal"]}


def in_jax(name: str, x: np.ndarray) -> dict[str, Callable[[], Any]]:
    """The same in JAX, where it is installed."""
    try:
        import jax
    except ImportError:
        return {}
    jax.config.update("jax_enable_x64", True)
    f = {"logsumexp": jax.scipy.special.logsumexp}[name]
    value, gradient, given = jax.jit(f), jax.jit(jax.value_and_grad(f)), jax.numpy.asarray(x)
    return {
        "jax": lambda: value(given).block_until_ready(),
        "jax vjp": lambda: jax.block_until_ready(gradient(given)),
    }


def bounds(row: Row, found: dict[str, Any]) -> list[measuring.Bound]:
    """What is asked of a row."""
    out = []
    if row.limit is not None:
        why = f"primal {1e3 * found['seconds']['primal']:.1f} ms"
        out.append(measuring.Bound(row.name, "own primal", found["vjp"], row.limit, False, why))
    for own, theirs in (("primal", "jax"), ("vjp", "jax vjp")):
        if theirs in found["seconds"]:
            out.append(measuring.Bound(f"{row.name}: {own}", "JAX", found["seconds"][own] / found["seconds"][theirs], 2.0))
    return out


def main() -> None:
    found = measuring.options(
        __doc__,
        n={"type": int, "default": 10_000_000, "help": "numbers"},
        rows={"nargs": "+", "default": None, "help": "only rows whose names begin so"},
    )
    chosen = [row for row in (*products(), *others()) if not found.rows or row.name.startswith(tuple(found.rows))]
    measured = [(row, measure(row, found.n, found.rounds)) for row in chosen]
    lines = []
    for _, m in measured:
        taken = [f"{1e3 * m['seconds'][k]:.2f}" if k in m["seconds"] else "-" for k in ("primal", "vjp", "jax", "jax vjp")]
        lines.append((m["name"], *taken, f"{m['vjp']:.2f}"))
    print(measuring.table(("program", "primal ms", "vjp ms", "jax ms", "jax vjp ms", "vjp/primal"), lines))
    numbers = list(range(1, len(measured) + 1))
    series = {"vjp / primal": (numbers, [m["vjp"] for _, m in measured])}
    measuring.chart(found.out, "cliffs", [measuring.Panel("ways out", "row of the table", "time / primal", series)])
    measuring.report(found, [m for _, m in measured], [bound for row, m in measured for bound in bounds(row, m)])


if __name__ == "__main__":
    main()

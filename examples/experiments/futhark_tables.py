"""Derivative time over primal time of scans, folds and histograms, beside what was published for Futhark.

Published are J. Bruun and U. Larsen, Reverse automatic differentiation in Futhark, 2022 (tables 9.1, 9.5-9.7, 9.9; RTX 2080Ti)
and the IFL 2023 paper on the same system (A100); here float32 on this processor. As there, the same count of scalars is dealt
into the elements of each operator, and histograms of vectors have rows of 100. The thesis has 31, 1023 and 1.5M bins, IFL 31, 401
and 500k. vjp is the value and the pullback of a random cotangent in one term, so the primal is always part of it; the thesis'
figures for the operator + leave the primal out, since the derivative does not use it ("*" in the table), and its elementwise
scans win by interchanging map and scan ("+"). jvp is the value and one tangent. Rows with a bound have n elements, not n
scalars. Prints a table, draws it, and writes it as JSON too:

    python examples/experiments/futhark_tables.py [--n N] [--bins B ...] [--only scan fold histogram] [--rows NAME ...]
                                                  [--json FILE] [--out DIR] [--rounds N]
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import measuring
import numpy as np

import catad as ct

SINGLE = np.float32
INNER = 100  # numbers in a row where the operator works on rows
BINS = (31, 1023, 1_000_000)

# -- operators


def matrices(d: int) -> tuple[Callable[..., Any], Any]:
    """The product of d x d matrices, each a tuple of its numbers by rows, and the identity."""

    def product(a: Any, b: Any) -> Any:
        out = ()
        for i in range(d):
            for j in range(d):
                total = a[d * i] * b[j]
                for k in range(1, d):
                    total = total + a[d * i + k] * b[d * k + j]
                out += (total,)
        return out

    return product, tuple(np.eye(d).reshape(-1).tolist())


def affine_2d(f: Any, g: Any) -> Any:
    """x to c + M x, first f and then g: c, then M by rows."""
    c0, c1, m00, m01, m10, m11 = f
    d0, d1, n00, n01, n10, n11 = g
    moved = (d0 + n00 * c0 + n01 * c1, d1 + n10 * c0 + n11 * c1)
    return (
        *moved, n00 * m00 + n01 * m10, n00 * m01 + n01 * m11, n10 * m00 + n11 * m10, n10 * m01 + n11 * m11,
    )  # fmt: skip


def saturating(a: Any, b: Any) -> Any:
    return a + b if a + b < 4.0 else 4.0


def greater(a: Any, b: Any) -> Any:
    """Of (value, position) the one with the greater value, then the smaller position."""
    if a[0] > b[0]:
        return a
    if b[0] > a[0]:
        return b
    return (a[0], a[1] if a[1] < b[1] else b[1])


def sums_of_products(a: Any, b: Any) -> Any:
    """(p', p): how the derivative of a product and the product itself join."""
    return (a[1] * b[0] + b[1] * a[0], a[1] * b[1])


def without(total: Any, x: Any) -> Any:
    """The other operand of `sums_of_products`."""
    rest = total[1] / x[1]
    return ((total[0] - rest * x[0]) / x[1], rest)


add = (lambda a, b: a + b), 0.0
times = (lambda a, b: a * b), 1.0
least = (lambda a, b: a if a <= b else b), math.inf
largest = (lambda a, b: a if a >= b else b), -math.inf
affine = (lambda f, g: (g[0] + g[1] * f[0], f[1] * g[1])), (0.0, 1.0)

# -- the rows of the tables


class Row(NamedTuple):
    """A program, its argument for so many scalars, and what was published: text for vjp (thesis; IFL) and for jvp (thesis).

    `limits` are what is asked of vjp / primal and jvp / primal, for `elements` of them, not scalars.
    """

    kind: str
    name: str
    term: ct.D
    argument: Callable[[int], Any]
    published: tuple[str, str, str]
    limits: tuple[float | None, float | None] = (None, None)


def numbers(n: int, middle: float = 1.0, seed: int = 0) -> np.ndarray:
    """n numbers so near the middle that products of all of them stay in range."""
    return (middle + np.random.default_rng(seed).uniform(-1.0, 1.0, n) / n).astype(SINGLE)


def matrix(d: int) -> Callable[[int], Any]:
    """Matrices near the identity."""

    def made(n: int) -> Any:
        return tuple([numbers(n, float(k % (d + 1) == 0), k) for k in range(d * d)])

    return made


def scans() -> list[Row]:
    def rows(n: int) -> np.ndarray:
        return 1.0 + (numbers(n) - 1.0).reshape(-1, INNER)

    def pair(n: int) -> Any:
        return numbers(n, 0.0), numbers(n)

    def six(n: int) -> Any:
        return (numbers(n, 0.0, 7), numbers(n, 0.0, 8), *matrix(2)(n))

    made = [
        Row("scan", "+", ct.scan(*add), numbers, ("1.96*", "1.8", "1.95"), (2.2, 1.9)),
        Row("scan", "*", ct.scan(*times), numbers, ("4.35", "3.8", "1.97"), (3.5, 1.9)),
        Row("scan", "affine", ct.scan(*affine), pair, ("4.0", "3.7", "2.0"), (3.5, 2.0)),
        Row("scan", "elementwise +", ct.scan(ct.add, 0.0), rows, ("0.03*+", "", "1.54")),
        Row("scan", "elementwise *", ct.scan(*times), rows, ("0.05+", "0.6", "1.53")),
        Row("scan", "affine in 2-D", ct.scan(affine_2d, (0.0, 0.0, 1.0, 0.0, 0.0, 1.0)), six, ("137.8", "", "4.3")),
    ]  # fmt: skip
    known = {2: ("8.9", "4.6", "2.4"), 3: ("11.3", "7.9", "5.9"), 4: ("11.3", "", "6.7"), 5: ("", "4.1", "")}
    for d, published in known.items():
        limits = (None, 2.4) if d == 2 else (None, None)
        made.append(Row("scan", f"{d}x{d} matrices", ct.scan(*matrices(d)), matrix(d), published, limits))
    return made


def folds() -> list[Row]:
    made = [
        Row("fold", "+", ct.fold(*add), numbers, ("", "1.5", "")),
        Row("fold", "min", ct.fold(*least), numbers, ("", "2.6", "")),
        Row("fold", "max", ct.fold(*largest), numbers, ("", "", ""), (2.5, None)),
        Row("fold", "*", ct.fold(*times), numbers, ("", "2.9", ""), (4.0, None)),
    ]
    for d, published in {2: "6.4", 3: "7.8", 5: "6.7"}.items():
        limits = (6.0, None) if d == 2 else (None, None)
        made.append(Row("fold", f"{d}x{d} matrices", ct.fold(*matrices(d)), matrix(d), ("", published, ""), limits))
    return made


def histograms(bins: int) -> list[Row]:
    """The rows for one number of bins. Published were 31, 1023 and 1.5M (thesis), 31, 401 and 500k (IFL)."""
    which = 0 if bins < 100 else 1 if bins < 100_000 else 2

    def of(values: Callable[[int], Any], width: int = 1) -> Callable[[int], Any]:
        return lambda n: (np.random.default_rng(1).integers(0, bins, n // width), values(n))

    def rows(n: int) -> np.ndarray:
        return numbers(n).reshape(-1, INNER)

    def shuffled(n: int) -> np.ndarray:
        return np.random.default_rng(2).permutation(n).astype(SINGLE)

    def row(
        name: str, op: tuple[Any, ...], values: Any, *published: tuple[str, ...], limit: float | None = None, width: int = 1
    ) -> Row:
        said = tuple([those[which] if those else "" for those in published])
        assert len(said) == 3
        return Row("histogram", f"{name}, {bins} bins", ct.histogram(*op, bins=bins), of(values, width), said, (limit, None))

    divisible = (ct.monoid(sums_of_products, (0.0, 1.0), inverse=without),)
    argmax = greater, (-math.inf, np.iinfo(np.int64).max)
    none: tuple[str, ...] = ()
    return [
        row("+", add, numbers, ("1.0*", "0.9*", "0.8*"), ("1.9", "1.9", "1.6"), ("1.3", "1.4", "2.4"), limit=2.0),
        row("*", times, numbers, ("2.6", "2.8", "12.9"), ("2.4", "2.5", "2.0"), ("2.3", "3.3", "4.5"), limit=3.0),
        row("max", largest, shuffled, ("2.5", "3.1", "5.1"), ("2.1", "2.1", "3.9"), ("2.1", "2.9", "4.9"), limit=3.0),
        row("saturating +", (saturating, 0.0), numbers, ("52.4", "96.7", "33.7"), ("50.6", "81.2", "19.0"),
            ("2.4", "3.5", "4.8"), limit=12.0),
        row("argmax", argmax, lambda n: (shuffled(n), np.arange(n)), ("30.3", "38.7", "9.8"), none, ("5.0", "4.9", "3.4")),
        row("sums of products, inverse", divisible, lambda n: (numbers(n, 0.0), numbers(n)), none, ("1.8", "1.8", "1.1"), none),
        row("elementwise +", add, rows, ("1.6*", "0.5*", "0.3*"), none, ("1.8", "1.7", "2.1"), width=INNER),
        row("elementwise *", times, rows, ("12.9", "9.4", "3.2"), none, ("7.5", "3.2", "2.0"), width=INNER),
        row("elementwise max", largest, rows, ("fails", "6.3", "2.4"), none, ("9.6", "2.8", "2.0"), width=INNER),
    ]  # fmt: skip


def all_rows(kinds: list[str], bins: list[int]) -> list[Row]:
    made = {"scan": scans, "fold": folds, "histogram": lambda: list(itertools.chain(*[histograms(b) for b in bins]))}
    return [row for kind in kinds for row in made[kind]()]


# -- measuring


def scalars(row: Row, n: int) -> int:
    """How many elements n scalars make: rows of a bound take n elements, as the bound says."""
    count = len(measuring.leaves(row.argument(INNER))) - (row.kind == "histogram")
    return n if row.limits != (None, None) else n // count


def measure(row: Row, n: int, rounds: int) -> dict[str, Any]:
    """Seconds of the primal, of value and pullback, and of value and tangent, side by side.

    `floor` is how many times the primal's bytes a derivative reads and writes at least: value, argument and their tangents.
    """
    x = row.argument(scalars(row, n))
    rng = np.random.default_rng(3)
    pullback, push = measuring.value_and_pullback(row.term), ct.tangent(row.term)
    y = row.term(x)

    def random(leaf: np.ndarray) -> Any:
        return rng.uniform(0.5, 1.5, leaf.shape).astype(leaf.dtype)

    w, v = measuring.like(y, random), measuring.like(x, random)
    steps = {"vjp": profiled(lambda: pullback(x, w)), "jvp": profiled(lambda: push(x, v))}
    taken = measuring.side_by_side(
        {"primal": lambda: row.term(x), "vjp": lambda: pullback(x, w), "jvp": lambda: push(x, v)}, rounds
    )
    return {
        "kind": row.kind, "name": row.name, "elements": scalars(row, n), "seconds": taken,
        "vjp": taken["vjp"] / taken["primal"], "jvp": taken["jvp"] / taken["primal"],
        "published vjp (thesis)": row.published[0], "published vjp (IFL)": row.published[1], "published jvp": row.published[2],
        "stages": steps, "floor": moved((x, y, w, v)) / moved((x, y)),
    }  # fmt: skip


def moved(value: Any) -> int:
    """Bytes of all arrays in a value."""
    return sum(a.nbytes for a in measuring.leaves(value))


def profiled(run: Callable[[], Any]) -> list[dict[str, Any]]:
    """What the compiled stages of a second call took; what is not compiled is the rest."""
    run()
    with ct.profile() as p:
        total = measuring.first_call(run)
    stages = [{"stage": s.name, "ms": 1e3 * s.run_seconds, "MB": s.bytes / 1e6, "GB/s": s.bandwidth / 1e9} for s in p.stages]
    rest = 1e3 * total - sum(float(s["ms"]) for s in stages)  # type: ignore[arg-type]
    return [*stages, {"stage": "array code and the rest", "ms": rest}]


def bounds(measured: list[tuple[Row, dict[str, Any]]]) -> list[measuring.Bound]:
    """The rows that have a limit."""
    out = []
    for row, found in measured:
        for what, limit in zip(("vjp", "jvp"), row.limits, strict=True):
            if limit is not None:
                work = f"{row.kind} {row.name}: {what} / primal"
                parts = ", ".join(f"{s['stage']} {s['ms']:.1f} ms" for s in found["stages"][what])
                floor = f"the least that must be moved is {found['floor']:.1f} times the primal's bytes"
                why = f"primal {1e3 * found['seconds']['primal']:.1f} ms; {what}: {parts}; {floor}"
                out.append(measuring.Bound(work, "own primal", found[what], limit, False, why))
    return out


def main() -> None:
    kinds = ["scan", "fold", "histogram"]
    found = measuring.options(
        __doc__,
        n={"type": int, "default": 10_000_000, "help": "scalars, dealt into elements"},
        bins={"type": int, "nargs": "+", "default": list(BINS), "help": "numbers of bins"},
        only={"nargs": "+", "default": kinds, "choices": kinds, "help": "which tables"},
        rows={"nargs": "+", "default": None, "help": "only rows whose names begin so"},
    )
    chosen = [row for row in all_rows(found.only, found.bins) if not found.rows or row.name.startswith(tuple(found.rows))]
    measured = [(row, measure(row, found.n, found.rounds)) for row in chosen]
    lines = [
        (
            f"{m['kind']} {m['name']}", f"{m['elements']}", f"{1e3 * m['seconds']['primal']:.2f}", f"{m['vjp']:.2f}",
            row.published[0] or "-", row.published[1] or "-", f"{m['jvp']:.2f}", row.published[2] or "-",
        )
        for row, m in measured
    ]  # fmt: skip
    head = ("operator", "elements", "primal ms", "vjp/primal", "thesis", "IFL", "jvp/primal", "thesis")
    print(measuring.table(head, lines))
    print("*: leaves out the primal, which the derivative of + does not use; here it is in. +: map and scan interchanged.")
    panels = []
    for kind in found.only:
        own = [m for _, m in measured if m["kind"] == kind]
        at = list(range(1, len(own) + 1))
        series = {mode: (at, [m[mode] for m in own]) for mode in ("vjp", "jvp")}
        theirs = [(k, float(m[f"published vjp ({who})"].split()[0].strip("*+"))) for who in ("thesis", "IFL")
                  for k, m in zip(at, own, strict=True) if m[f"published vjp ({who})"][:1].isdigit()]  # fmt: skip
        series["published vjp"] = ([k for k, _ in sorted(theirs)], [v for _, v in sorted(theirs)])
        panels.append(measuring.Panel(f"{kind}s", "row of the table", "time / primal", series))
    measuring.chart(found.out, "futhark_tables", panels)
    measuring.report(found, [m for _, m in measured], bounds(measured))


if __name__ == "__main__":
    main()

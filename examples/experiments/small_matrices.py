"""Chains of small matrices: every product of their structured maps has more terms than its factors.

All prefix products of n rotations, and a hand: bones that turn against the bone before, and points that follow them, with 26
parameters. For each the seconds of the first and of a later Jacobian by `ct.jacobian`, and those of linearizing and writing the
map out by a basis, cold and warm; and how many numbers the Jacobian stores. Prints a table, and writes it as JSON too:

    python examples/experiments/small_matrices.py [--sizes N ...] [--points N ...] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

import catad as ct


def entry(i: int) -> ct.D:
    """Entry i of a vector, as an array of one."""
    return ct.slice(i, i + 1)


def rotation(angle: ct.D) -> ct.D:
    """The 2x2 matrix of an angle in an array of one."""
    entries = [ct.cos, ct.sin >> ct.neg, ct.sin, ct.cos]
    return angle >> ct.fork(*entries) >> ct.concatenate() >> ct.reshape((2, 2))


def prefixes(n: int) -> tuple[ct.D, Any]:
    """All prefix products of n rotations: f64[n] -> f64[n, 2, 2]."""
    one = ct.reshape((1, 2, 2))
    products = [rotation(entry(0))]
    for i in range(1, n):
        products.append(ct.fork(products[-1], rotation(entry(i))) >> ct.matmul)
    stack = [product >> one for product in products]
    f = ct.fork(*stack) >> ct.concatenate() if n > 1 else stack[0]
    return f, np.linspace(0.1, 1.0, n)


def stacked(parts: list[ct.D], shape: tuple[int, ...]) -> ct.D:
    """Some arrays of a shape along a new first axis."""
    whole = [part >> ct.reshape((1, *shape)) for part in parts]
    return ct.fork(*whole) >> ct.concatenate() if len(whole) > 1 else whole[0]


def turned(axis: int, angle: ct.D) -> ct.D:
    """The 3x3 rotation about an axis by an angle in an array of one."""
    zero, one = ct.const(np.zeros(1)), ct.const(np.ones(1))
    sin, cos, back = angle >> ct.sin, angle >> ct.cos, angle >> ct.sin >> ct.neg
    rows = {
        0: [one, zero, zero, zero, cos, back, zero, sin, cos],
        1: [cos, zero, sin, zero, one, zero, back, zero, cos],
        2: [cos, back, zero, sin, cos, zero, zero, zero, one],
    }
    return ct.fork(*rows[axis]) >> ct.concatenate() >> ct.reshape((3, 3))


def moved(matrix: ct.D, vector: ct.D) -> ct.D:
    return ct.fork(matrix, vector) >> ct.einsum("ij,j->i")


def hand(points: int, fingers: int = 5, joints: int = 4, seed: int = 0) -> tuple[ct.D, Any]:
    """Points of a hand from the turn and the place of the wrist, six numbers, and one angle for each joint.

    A bone turns against the one before it, the first of each finger against the wrist; a point follows all bones by its weights.
    What comes out is how far the points are from where they were seen: f64[6 + fingers * joints] -> f64[points, 3].
    """
    rng = np.random.default_rng(seed)
    wrist = reduce(lambda a, b: ct.fork(a, b) >> ct.matmul, [turned(k, entry(k)) for k in range(3)])
    turns, places = [wrist], [ct.slice(3, 6)]
    for finger in range(fingers):
        turn, place = turns[0], places[0]
        for joint in range(joints):
            place = ct.fork(place, moved(turn, ct.const(rng.standard_normal(3)))) >> ct.add
            turn = ct.fork(turn, turned(finger % 3, entry(6 + finger * joints + joint))) >> ct.matmul
            turns.append(turn)
            places.append(place)
    bones = len(turns)
    weights = rng.uniform(size=(points, bones)) ** 4
    weights /= weights.sum(axis=1, keepdims=True)
    rest = weights[:, :, None] * rng.standard_normal((points, bones, 3))
    by_turn = ct.fork(stacked(turns, (3, 3)), ct.const(rest)) >> ct.einsum("bij,pbj->pi")
    by_place = ct.fork(ct.const(weights), stacked(places, (3,))) >> ct.matmul
    seen = ct.const(rng.standard_normal((points, 3)))
    f = ct.fork(ct.fork(by_turn, by_place) >> ct.add, seen) >> ct.sub
    return f, rng.uniform(-0.5, 0.5, 6 + fingers * joints)


# -- measured


def seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    made = call()
    return time.perf_counter() - start, made


def measured(name: str, f: ct.D, x: Any) -> dict[str, Any]:
    """The seconds of the first call and the least of ten more, of the Jacobian and of a basis through the program."""
    row: dict[str, Any] = {"program": name}
    jacobian = ct.jacobian(f)
    for what, call in (("jacobian", lambda: jacobian(x)), ("basis", lambda: ct.linearize(f, x)[1].todense())):
        row[f"{what} cold"], made = seconds(call)
        row[f"{what} warm"] = min([seconds(call)[0] for _ in range(10)])
        if what == "jacobian":
            row["stored"], row["dense"], found = made.stored, made.shape[0] * made.shape[1], made.todense()
        else:
            row["difference"] = float(np.abs(found - made).max())
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description="Jacobians of chains of small matrices")
    parser.add_argument("--sizes", type=int, nargs="*", default=[2, 8, 12])
    parser.add_argument("--points", type=int, nargs="*", default=[100])
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    ct.plan(ct.sin >> ct.exp, ct.f64[3])  # the profile of the engine is measured once
    cases = [(f"{n} rotations", *prefixes(n)) for n in args.sizes] + [(f"hand, {n} points", *hand(n)) for n in args.points]
    rows = [measured(*case) for case in cases]
    for row in rows:
        times = ", ".join([f"{key} {value * 1e3:.2f} ms" for key, value in row.items() if key.endswith(("cold", "warm"))])
        print(
            f"{row['program']:>16}: {times}, stored {row['stored']}, dense {row['dense']}, difference {row['difference']:.0e}"
        )
    if args.json is not None:
        args.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()

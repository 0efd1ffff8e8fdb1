"""Jacobians of seven programs: catad beside JAX's three ways, on one core.

The programs: four residual blocks, the same with weights that nobody can write to, four residual blocks with three units in the
middle, attention, a recurrent network, four steps of a heat equation, bundle adjustment and a hand that is tracked. JAX compiles
`jacfwd`, `jacrev`, and forward mode compressed by colours: columns without a common row are pushed as one, as in A. Gebremedhin,
F. Manne, A. Pothen, What color is your Jacobian? (2005), with the pattern of the entries known. catad takes `ct.jacobian` in the
form that is asked for: an array, or a map with its structure, as JAX's compressed columns have it. All get the same numbers; how
far they differ is printed. Times are the least of several calls made in turn, after as many as it takes until small programs are
compiled. Without JAX only catad runs. Prints a table, and writes it as JSON too:

    python examples/experiments/jacobians.py [--json FILE] [--rounds N] [--only NAME ...]
"""

from __future__ import annotations

import os

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple

import measuring
import numpy as np
from small_matrices import hand

import catad as ct

try:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)  # type: ignore[no-untyped-call]
except ImportError:
    jax = None  # type: ignore[assignment]


Form = Literal["array", "structured"]
CALLS, WARM = 1500, 0.5  # calls before any is measured, at most so many seconds of them


class Case(NamedTuple):
    """A program for catad and for JAX, its point, and the form of the Jacobian that is asked for."""

    f: Any
    of: Callable[[Any], Any]  # the same for arrays of JAX
    x: Any
    result: Form


def both(make: Callable[[Any], Callable[[Any], Any]], x: Any, result: Form = "array") -> Case:
    """A program that is written once, for NumPy's functions or JAX's."""
    return Case(ct.function(make(np)), make(np if jax is None else jnp), x, result)


def residual(n: int, inner: int, blocks: int, last: int | None, result: Form, frozen: bool = False) -> Case:
    """With `frozen` weights: catad compares those that can be written to at each call, and JAX copies them at the first."""
    rng = np.random.default_rng(0)
    pairs = [(rng.standard_normal((inner, n)) / n, rng.standard_normal((n, inner)) / n) for _ in range(blocks)]
    end = None if last is None else rng.standard_normal((last, n))
    for weights in [*pairs, (end,)] if frozen else []:
        for one in weights:
            if one is not None:
                one.flags.writeable = False

    def make(xp: Any) -> Callable[[Any], Any]:
        def f(x: Any) -> Any:
            for v, u in pairs:
                x = x + u @ xp.tanh(v @ x)
            return x if end is None else end @ x

        return f

    return both(make, rng.standard_normal(n), result)


def attention(length: int = 12, size: int = 8) -> Case:
    rng = np.random.default_rng(0)
    queries, keys, values = [rng.standard_normal((size, size)) / size for _ in range(3)]

    def make(xp: Any) -> Callable[[Any], Any]:
        def f(x: Any) -> Any:
            scores = (x @ queries) @ (x @ keys).T / np.sqrt(size)
            weights = xp.exp(scores)
            return (weights / xp.sum(weights, axis=1, keepdims=True)) @ (x @ values)

        return f

    return both(make, rng.standard_normal((length, size)))


def recurrent(steps: int = 4, n: int = 64, last: int = 3) -> Case:
    rng = np.random.default_rng(0)
    weights, end = rng.standard_normal((n, n)) / n, rng.standard_normal((last, n))

    def make(xp: Any) -> Callable[[Any], Any]:
        def f(h: Any) -> Any:
            for _ in range(steps):
                h = xp.tanh(weights @ h)
            return end @ h

        return f

    return both(make, rng.standard_normal(n))


def heat(n: int = 2000, steps: int = 4) -> Case:
    def step(u: Any) -> Any:
        left, right = jnp.pad(u[:-1], (1, 0)), jnp.pad(u[1:], (0, 1))
        return u + 0.1 * (left - 2.0 * u + right) * u

    def of(u: Any) -> Any:
        for _ in range(steps):
            u = step(u)
        return u

    f = ct.iterate(ct.stencil(lambda a, b, c: b + 0.1 * (a - 2.0 * b + c) * b, (-1, 0, 1)), steps)
    return Case(f, of, np.random.default_rng(0).uniform(1.0, 2.0, n), "structured")


def bundle(cameras: int = 10, seen: int = 300) -> Case:
    """Every point is seen by one camera: turn (small angles), place, focal length and two of distortion."""
    rng = np.random.default_rng(0)
    by = rng.integers(0, cameras, seen)
    pixels = rng.standard_normal((seen, 2))

    def make(xp: Any) -> Callable[[Any], Any]:
        def f(p: Any) -> Any:
            own = p[: 9 * cameras].reshape((cameras, 9))[by]
            points = p[9 * cameras :].reshape((seen, 3))
            a, b, c, x, y, z = own[:, 0], own[:, 1], own[:, 2], points[:, 0], points[:, 1], points[:, 2]
            u, v, w = x - c * y + b * z + own[:, 3], y + c * x - a * z + own[:, 4], z - b * x + a * y + own[:, 5]
            u, v = u / w, v / w
            r = u * u + v * v
            scale = own[:, 6] * (1.0 + r * (own[:, 7] + own[:, 8] * r))
            return xp.stack([scale * u - pixels[:, 0], scale * v - pixels[:, 1]])

        return f

    points = rng.standard_normal((seen, 3)) + np.array([0, 0, 5])
    point = np.concatenate([rng.standard_normal(9 * cameras) / 10, points.ravel()])
    return both(make, point, "structured")


def tracked(points: int) -> Case:
    """The hand of `small_matrices.py`, with the same numbers."""
    f, x = hand(points)
    fingers, joints = 5, 4
    rng = np.random.default_rng(0)
    offsets = [[rng.standard_normal(3) for _ in range(joints)] for _ in range(fingers)]
    bones = 1 + fingers * joints
    weights = rng.uniform(size=(points, bones)) ** 4
    weights /= weights.sum(axis=1, keepdims=True)
    rest = weights[:, :, None] * rng.standard_normal((points, bones, 3))
    seen = rng.standard_normal((points, 3))

    def turned(axis: int, angle: Any) -> Any:
        s, c = jnp.sin(angle), jnp.cos(angle)
        rows: dict[int, list[list[Any]]] = {
            0: [[1, 0, 0], [0, c, -s], [0, s, c]],
            1: [[c, 0, s], [0, 1, 0], [-s, 0, c]],
            2: [[c, -s, 0], [s, c, 0], [0, 0, 1]],
        }
        return jnp.stack([jnp.stack([jnp.asarray(v, jnp.float64) for v in row]) for row in rows[axis]])

    def of(p: Any) -> Any:
        turns, places = [turned(0, p[0]) @ turned(1, p[1]) @ turned(2, p[2])], [p[3:6]]
        for finger in range(fingers):
            turn, place = turns[0], places[0]
            for joint in range(joints):
                place = place + turn @ offsets[finger][joint]
                turn = turn @ turned(finger % 3, p[6 + finger * joints + joint])
                turns.append(turn)
                places.append(place)
        return jnp.einsum("bij,pbj->pi", jnp.stack(turns), rest) + weights @ jnp.stack(places) - seen

    return Case(f, of, x, "array")


CASES: dict[str, Callable[[], Case]] = {
    "ResNet 128 -> 10": lambda: residual(128, 128, 4, 10, "array"),
    "ResNet, read-only weights": lambda: residual(128, 128, 4, 10, "array", frozen=True),
    "four low-rank blocks, 400": lambda: residual(400, 3, 4, None, "structured"),
    "attention 12x8": attention,
    "RNN 4 steps, 64 -> 3": recurrent,
    "heat 4 steps, 2000": heat,
    "bundle adjustment, 300": bundle,
    "hand, 100 points": lambda: tracked(100),
    "hand, 1600 points": lambda: tracked(1600),
}

# -- the ways


def colours_of(pattern: Any) -> Any:
    """A colour for each column, none with two columns that have an entry in one row: greedy, in the order of the columns."""
    rows = [np.flatnonzero(column) for column in pattern.T]
    taken: list[set[int]] = [set() for _ in range(pattern.shape[0])]
    colours = np.zeros(len(rows), int)
    for k, own in enumerate(rows):
        forbidden = set().union(*[taken[r] for r in own]) if len(own) else set()
        colours[k] = next(c for c in range(len(rows)) if c not in forbidden)
        for r in own:
            taken[r].add(int(colours[k]))
    return colours


def ways(case: Case, dense: Any) -> dict[str, tuple[Callable[[], Any], int]]:
    """What is run, by name, with the number of vectors that are pushed or pulled."""
    jacobian = ct.jacobian(case.f, result=case.result)
    found: dict[str, tuple[Callable[[], Any], int]] = {"catad": (lambda: jacobian(case.x), 0)}
    if jax is None:
        return found
    x = jnp.asarray(case.x)
    n, m = x.size, dense.size // x.size
    colours = colours_of(dense.reshape(m, n) != 0)
    count = int(colours.max()) + 1
    seeds = jnp.asarray((colours == np.arange(count)[:, None]).astype(float)).reshape(count, *x.shape)
    compressed = jax.jit(lambda x: jax.vmap(lambda s: jax.jvp(case.of, (x,), (s,))[1])(seeds))
    forward, reverse = jax.jit(jax.jacfwd(case.of)), jax.jit(jax.jacrev(case.of))
    found["coloured"] = (lambda: compressed(x).block_until_ready(), count)
    found["jacfwd"] = (lambda: forward(x).block_until_ready(), n)
    found["jacrev"] = (lambda: reverse(x).block_until_ready(), m)
    return found


def least(runs: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """The least seconds of each, called in turn; calls that take less than a millisecond are repeated."""
    best = dict.fromkeys(runs, np.inf)
    for name, run in runs.items():
        start = time.perf_counter()
        for _ in range(CALLS):
            run()
            if time.perf_counter() - start > WARM:
                break
        start = time.perf_counter()
        run()
        best[name] = time.perf_counter() - start
    for _ in range(rounds):
        for name, run in runs.items():
            for _ in range(max(1, min(10, int(1e-2 / best[name])))):
                start = time.perf_counter()
                run()
                best[name] = min(best[name], time.perf_counter() - start)
    return best


def raced(name: str, rounds: int) -> dict[str, Any]:
    """One program: the seconds of each way, of the first Jacobian too, and the largest difference."""
    case = CASES[name]()
    start = time.perf_counter()
    made = ct.jacobian(case.f, result=case.result)(case.x)
    first = time.perf_counter() - start
    dense = np.asarray(ct.jacobian(case.f, result="array")(case.x))
    runs = ways(case, dense)
    row: dict[str, Any] = {"program": name, "result": case.result, "first": first}
    row["stored"] = int(made.stored if isinstance(made, ct.LinearMap) else np.asarray(made).size)
    if jax is not None:
        other = np.asarray(jax.jit(jax.jacfwd(case.of))(jnp.asarray(case.x))).reshape(dense.shape)
        row["difference"] = float(np.abs(other - dense).max() / np.abs(dense).max())
    few = {key: run for key, (run, _) in runs.items()}
    row["seconds"] = least(few, rounds)
    row["vectors"] = {key: count for key, (_, count) in runs.items()}
    others = [value for key, value in row["seconds"].items() if key != "catad"]
    row["over the best"] = row["seconds"]["catad"] / min(others) if others else None
    return row


def races(rows: list[dict[str, Any]]) -> list[measuring.Race]:
    """Each program beside the fastest of the other ways, which the note names."""
    found = []
    for row in rows:
        others = {key: seconds for key, seconds in row["seconds"].items() if key != "catad"}
        if others:
            best = min(others, key=lambda key: others[key])
            found.append(measuring.Race(f"Jacobian of {row['program']}", f"JAX, {best}", row["over the best"]))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the table as JSON too")
    parser.add_argument("--rounds", type=int, default=20, help="times that each is run in turn")
    parser.add_argument("--only", nargs="*", default=list(CASES), choices=list(CASES), help="programs")
    options = parser.parse_args()
    ct.set_num_threads(1)
    ct.plan(ct.sin >> ct.exp, ct.f64[3])  # the profile of the engine is measured once
    rows = [raced(name, options.rounds) for name in options.only]
    names = list(rows[0]["seconds"])
    lines = [
        (
            row["program"],
            row["result"],
            *[f"{row['seconds'][key] * 1e3:.3f}" + (f" ({row['vectors'][key]})" if key == "coloured" else "") for key in names],
            "" if row["over the best"] is None else f"{row['over the best']:.2f}",
            f"{row['first']:.2f}",
            f"{row['stored']}",
            f"{row.get('difference', 0.0):.0e}",
        )
        for row in rows
    ]
    head = ("milliseconds", "result", *names, "over the best", "first, s", "stored", "difference")
    print(measuring.table(head, lines))
    if options.json is not None:
        measuring.written(options.json, races(rows), {"rows": rows})


if __name__ == "__main__":
    main()

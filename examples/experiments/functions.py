"""What a plain Python function costs that `ct.function` traces: beside JAX's trace, beside the same program composed by hand, and
beside NumPy's own run of the function. Ratios of medians, measured side by side in one run:

    python examples/experiments/functions.py [--rounds N] [--steps N]
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from types import ModuleType
from typing import Any

import numpy as np

import catad as ct
from catad.term_cache import forget

LSTM = """
def cell(z, c):
    i, f, o, g = np.split(z, 4)
    c = c / (1 + np.exp(-f)) + np.tanh(g) / (1 + np.exp(-i))
    return np.tanh(c) / (1 + np.exp(-o)), c

def lstm(W, U, b, xs):
    h = np.zeros(b.shape[0] // 4)
    c = np.zeros_like(h)
    for x in xs:
        h, c = cell(x @ W + h @ U + b, c)
    return np.sum(h * h)

def pendulum(y):
    return np.stack([y[1], -np.sin(y[0]) - 0.1 * y[1]])

def rk4(y, n):
    for _ in range(n):
        a = pendulum(y)
        b = pendulum(y + 0.005 * a)
        c = pendulum(y + 0.005 * b)
        d = pendulum(y + 0.01 * c)
        y = y + 0.01 / 6 * (a + 2 * b + 2 * c + d)
    return np.sum(y)

def layer(w, b, x):
    return np.tanh(x @ w + b)

def tree(p):
    return sum(np.sum(leaf) for leaf in p)
"""


def straight(lines: int) -> str:
    """A function of four operations a line, each of which reads what came shortly before."""
    body = [f"    v{i + 3} = np.sin(v{i} * v{i + 1}) + v{i + 2} * 0.5 - v{i}" for i in range(lines)]
    return "\n".join(["def fifty(v0, v1, v2):", *body, f"    return v{lines + 2}.sum()", ""])


def module(text: str, numpy: str) -> ModuleType:
    """The text as a module, with a file, so that its functions have source."""
    path = Path(tempfile.mkdtemp()) / "programs.py"
    path.write_text(f"import {numpy} as np\n\n{text}")
    spec = importlib.util.spec_from_file_location(f"programs_{numpy.partition('.')[0]}", path)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = made
    spec.loader.exec_module(made)
    return made


def seconds(rounds: int, *calls: Callable[[], Any]) -> list[float]:
    """The median times of some calls, taken in turns, after one call of each."""
    for call in calls:
        call()
    taken: list[list[float]] = [[] for _ in calls]
    for _ in range(rounds):
        for call, times in zip(calls, taken, strict=True):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
    return [median(times) for times in taken]


def once(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def tracing(programs: ModuleType, rounds: int) -> list[tuple[str, float, str]]:
    """The trace of two hundred operations, over JAX's and over the layout of the finished program."""
    dom = ct.product(*[ct.f64[10]] * 3)
    program = ct.function(programs.fifty).at(dom)

    def laid_out() -> None:
        forget()
        b = ct.primitive.Builder()
        b.apply(program, b.inputs(dom))

    def traced() -> None:
        ct.function(programs.fifty).at(dom)

    rows = []
    try:
        import jax

        jax.config.update("jax_enable_x64", True)
        theirs = module(straight(50), "jax.numpy")
        x = np.ones(10)
        ours, jaxpr = seconds(rounds, traced, lambda: jax.make_jaxpr(lambda *a: theirs.fifty(*a))(x, x, x))
        rows.append(("trace of 50 lines over jax.make_jaxpr", ours / jaxpr, "<= 0.7"))
    except ImportError:
        print("JAX is not installed: its rows are left out")
    ours, wired = seconds(rounds, traced, laid_out)
    return [*rows, ("trace of 50 lines over laying the program out", ours / wired, "<= 3")]


def calls(programs: ModuleType, rounds: int) -> list[tuple[str, float, str]]:
    """Warm calls, over the same program composed by hand, and of a tree over its leaves."""
    w, b, x = np.ones((3, 3)), np.ones(3), np.ones((1, 3))
    f = ct.function(programs.layer)
    by_hand = ct.fork(ct.fork(ct.proj(2), ct.proj(0)) >> ct.matmul, ct.proj(1)) >> ct.add >> ct.tanh
    one, other = seconds(50 * rounds, lambda: f(w, b, x), lambda: by_hand(w, b, x))
    leaves = [np.ones(3) for _ in range(20)]
    g, h = ct.function(programs.tree), ct.function(lambda *p: programs.tree(p))
    tree, flat = seconds(50 * rounds, lambda: g(leaves), lambda: h(*leaves))
    dom = ct.product(ct.f64[3, 3], ct.f64[3], ct.f64[1, 3])
    boxes = len(ct.wire(f, dom).boxes) / len(ct.wire(by_hand, dom).boxes)
    return [
        ("warm call over the same term composed by hand", one / other, "<= 1.1"),
        ("warm call of a list of 20 leaves over 20 arguments", tree / flat, "<= 1.5"),
        ("boxes over those of the term composed by hand", boxes, "<= 1"),
    ]


def loops(programs: ModuleType, rounds: int, steps: int) -> list[tuple[str, float, str]]:
    """Rolled loops: the cost of the first gradient, and of warm calls over NumPy's own loop."""
    y = np.array([1.0, 0.0])

    def first(n: int, unroll: int = 16) -> float:
        forget()
        g = ct.grad(ct.function(programs.rk4, static="n", unroll=unroll), argnums=0)
        whole = once(lambda: g(y, n))
        return whole - once(lambda: g(y, n))

    short, long = median([first(200) for _ in range(3)]), first(steps)
    rows = [("first gradient of RK4, less the run: many steps over 200", long / short, "<= 1.3")]
    rows.append(("first gradient of RK4, 200 steps: rolled over unrolled", short / first(200, 10**9), "<= 0.1"))
    rng = np.random.default_rng(0)
    args = (rng.standard_normal((14, 56)) / 9, rng.standard_normal((14, 56)) / 9, np.zeros(56), rng.standard_normal((40, 14)))
    for name, fn, at, options in (("RK4", programs.rk4, (y, 200), {"static": "n"}), ("LSTM", programs.lstm, args, {})):
        f: Any = ct.function(fn, **options)
        g = ct.grad(f, argnums=0) if options else ct.grad(f)
        plain, value, gradient = seconds(rounds, lambda: fn(*at), lambda: f(*at), lambda: g(*at))  # noqa: B023
        rows += [(f"{name}: value over NumPy's own loop", value / plain, "<= 1.5")]
        rows += [(f"{name}: gradient over value", gradient / value, "<= 5")]
    return rows


def branches(rounds: int) -> list[tuple[str, float, str]]:
    """One side of a branch over that side by itself."""
    a = np.random.default_rng(0).standard_normal((500, 500))
    side = ct.dup >> ct.matmul
    f = ct.choose(ct.sum() >> ct.isfinite, side, side >> side)
    both, one = seconds(rounds, lambda: f(a), lambda: side(a))
    return [("one side of a branch over that side (matmul of 500)", both / one, "<= 1.1")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9, help="calls of each kind (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=20_000, help="steps of the long loop (default: %(default)s)")
    options = parser.parse_args()
    ct.set_num_threads(1)
    programs = module(straight(50) + LSTM, "numpy")
    rows = [
        *tracing(programs, options.rounds),
        *calls(programs, options.rounds),
        *loops(programs, options.rounds, options.steps),
        *branches(options.rounds),
    ]
    for name, ratio, asked in rows:
        print(f"{name:<62}{ratio:>8.2f}  {asked}")


if __name__ == "__main__":
    main()

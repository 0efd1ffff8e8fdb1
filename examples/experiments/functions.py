"""What a plain Python function costs that `ct.function` traces: beside JAX, where it is installed, beside the same program
composed by hand, and beside NumPy's own run of the function.

    python examples/experiments/functions.py [--n N] [--steps N] [--no-peers] [--json FILE] [--out DIR] [--rounds N]

catad and JAX have one thread. A figure is the ratio of the least times of two calls that take turns: processor time, so that the
work of others on the machine matters little, but time on the clock where several threads work or wait. What a first call costs is
its time less that of a second one.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import measuring
import numpy as np
from measuring import Bound

import catad as ct
from catad.category.cache import forget

GMM = """
import math

def logsumexp(x, axis):
    top = np.max(x, axis=axis, keepdims=True)
    return np.sum(np.squeeze(top, axis) + np.log(np.sum(np.exp(x - top), axis=axis)))

def gmm(alphas, means, icf, x, gamma=1.0, m=0):
    n, d = x.shape
    k = len(alphas)
    logs, low = icf[:, :d], icf[:, d:]
    scales, sums = np.exp(logs), np.sum(logs, axis=1)
    columns, at = [], 0
    for col in range(d):
        size = d - 1 - col
        columns.append(np.concatenate([np.zeros((k, col + 1)), low[:, at:at + size]], axis=1))
        at += size
    lower = np.stack(columns, axis=2)
    centered = x[:, None] - means
    turned = scales * centered + np.einsum("kij,nkj->nki", lower, centered)
    inside = alphas + sums - 0.5 * np.sum(turned ** 2, axis=2)
    prior = 0.5 * gamma ** 2 * (np.sum(scales ** 2) + np.sum(low ** 2)) - m * np.sum(sums)
    return logsumexp(inside, 1) - n * logsumexp(alphas, 0) - 0.5 * n * d * math.log(2 * math.pi) + prior
"""

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


def ratio(rounds: int, one: Callable[[], Any], other: Callable[[], Any], threads: bool = False) -> float:
    """The least time of a call over that of another; they take turns, after some calls of each, which compile small programs."""
    best = [np.inf, np.inf]
    for k in range(-16, rounds):
        for j, call in enumerate((one, other)):
            taken = seconds(call, time.perf_counter if threads else time.process_time)
            if k >= 0:
                best[j] = min(best[j], taken)
    return best[0] / best[1]


def seconds(call: Callable[[], Any], clock: Callable[[], float] = time.process_time) -> float:
    """What a call takes."""
    start = clock()
    call()
    return clock() - start


def has_jax() -> bool:
    return importlib.util.find_spec("jax") is not None


def tracing(programs: ModuleType, rounds: int, peers: bool) -> list[Bound]:
    """The trace of two hundred operations, over JAX's and over the layout of the finished program."""
    dom = ct.product(*[ct.f64[10]] * 3)
    program = ct.function(programs.fifty).at(dom)

    def laid_out() -> None:
        forget()
        b = ct.primitive.Builder()
        b.apply(program, b.inputs(dom))

    def traced() -> None:
        ct.function(programs.fifty).at(dom)

    rows = [Bound("trace of 200 operations", "laying the program out", ratio(rounds, traced, laid_out), 3.0)]
    if peers:
        import jax

        theirs, x = module(straight(50), "jax.numpy"), np.ones(10)
        figure = ratio(rounds, traced, lambda: jax.make_jaxpr(lambda *a: theirs.fifty(*a))(x, x, x))
        rows.append(Bound("trace of 200 operations", "jax.make_jaxpr", figure, 0.7))
    return rows


def calls(programs: ModuleType, rounds: int) -> list[Bound]:
    """Warm calls, over the same program composed by hand, and of a tree over its leaves."""
    w, b, x = np.ones((3, 3)), np.ones(3), np.ones((1, 3))
    f = ct.function(programs.layer)
    by_hand = ct.fork(ct.fork(ct.proj(2), ct.proj(0)) >> ct.matmul, ct.proj(1)) >> ct.add >> ct.tanh
    leaves = [np.ones(3) for _ in range(20)]
    g, h = ct.function(programs.tree), ct.function(lambda *p: programs.tree(p))
    dom = ct.product(ct.f64[3, 3], ct.f64[3], ct.f64[1, 3])
    boxes = len(ct.wire(f, dom).boxes) / len(ct.wire(by_hand, dom).boxes)
    many = 100 * rounds
    return [
        Bound("warm call", "the term composed by hand", ratio(many, lambda: f(w, b, x), lambda: by_hand(w, b, x)), 1.1),
        Bound("warm call of a list of 20 leaves", "20 arguments", ratio(many, lambda: g(leaves), lambda: h(*leaves)), 1.5),
        Bound("boxes", "the term composed by hand", boxes, 1.0),
    ]


def first_gradients(programs: ModuleType, steps: int) -> list[Bound]:
    """What has to be done before a gradient of a loop runs for the first time: tracing, laying out, compiling."""
    y = np.array([1.0, 0.0])

    def first(n: int, unroll: int = 16) -> float:
        forget()
        g = ct.grad(ct.function(programs.rk4, static="n", unroll=unroll).bind(n=n))
        return seconds(lambda: g(y)) - min([seconds(lambda: g(y)) for _ in range(3)])

    first(20)
    n = min(200, steps)
    few, many = (min([first(count) for _ in range(5)]) for count in (n, steps))
    return [
        Bound(f"first gradient of RK4, {steps} steps, without the run", f"{n} steps", many / few, 1.3),
        Bound(f"first gradient of RK4, {n} steps, without the run", "unrolled", few / first(n, 10**9), 0.1),
    ]


def loops(programs: ModuleType, rounds: int, peers: bool) -> list[Bound]:
    """Warm calls of rolled loops, over NumPy's own loops, and their gradients over JAX's."""
    rng = np.random.default_rng(0)
    weights = (rng.standard_normal((14, 56)) / 9, rng.standard_normal((14, 56)) / 9, np.zeros(56))
    sequence, y = rng.standard_normal((40, 14)), np.array([1.0, 0.0])
    rows = []
    for name, fn, args, static in (
        ("RK4, 200 steps", programs.rk4, (y, 200), "n"),
        ("LSTM, 40 steps", programs.lstm, (*weights, sequence), ()),
    ):
        f: Any = ct.function(fn, static=static)
        g = ct.grad(f, argnums=0 if static else (0, 1, 2))
        rows += [
            Bound(f"{name}: value", "NumPy's own loop", ratio(rounds, lambda: f(*args), lambda: fn(*args)), 1.5),  # noqa: B023
            Bound(f"{name}: gradient", "value", ratio(rounds, lambda: g(*args), lambda: f(*args)), 5.0),  # noqa: B023
        ]
        if peers:
            theirs = rk4_in_jax(y, 200) if static else lstm_in_jax(weights, sequence)
            rows.append(Bound(f"{name}: gradient", "JAX, jit", ratio(rounds, lambda: g(*args), theirs, True), 5.0))  # noqa: B023
    return rows


def rk4_in_jax(y: np.ndarray, n: int) -> Callable[[], Any]:
    import jax
    import jax.numpy as jnp

    def slope(y: Any) -> Any:
        return jnp.stack([y[1], -jnp.sin(y[0]) - 0.1 * y[1]])

    def step(y: Any, _: Any) -> Any:
        a = slope(y)
        b = slope(y + 0.005 * a)
        c = slope(y + 0.005 * b)
        d = slope(y + 0.01 * c)
        return y + 0.01 / 6 * (a + 2 * b + 2 * c + d), None

    g, at = jax.jit(jax.grad(lambda y: jnp.sum(jax.lax.scan(step, y, None, n)[0]))), jnp.asarray(y)
    return lambda: jax.block_until_ready(g(at))


def lstm_in_jax(weights: tuple[np.ndarray, ...], sequence: np.ndarray) -> Callable[[], Any]:
    import jax
    import jax.numpy as jnp

    theirs = module(LSTM, "jax.numpy")

    def lstm(W: Any, U: Any, b: Any, xs: Any) -> Any:
        start = jnp.zeros(b.shape[0] // 4)
        (h, _), _ = jax.lax.scan(lambda s, x: (theirs.cell(x @ W + s[0] @ U + b, s[1]), None), (start, start), xs)
        return jnp.sum(h * h)

    g = jax.jit(jax.grad(lstm, argnums=(0, 1, 2)))
    args = [jnp.asarray(a) for a in (*weights, sequence)]
    return lambda: jax.block_until_ready(g(*args))


def mixture(programs: ModuleType, n: int, rounds: int, peers: bool) -> list[Bound]:
    """The mixture of Gaussians of ADBench, n points of 8 numbers and 5 components: value and gradient."""
    rng, d, k = np.random.default_rng(0), 8, 5
    args = (rng.standard_normal(k), rng.standard_normal((k, d)), rng.standard_normal((k, d * (d + 1) // 2)) / 4)
    x = rng.standard_normal((n, d))
    f = ct.function(programs.gmm)
    g = ct.value_and_grad(f, argnums=(0, 1, 2))
    rows = [
        Bound(f"gmm, n = {n}: value", "NumPy", ratio(rounds, lambda: f(*args, x), lambda: programs.gmm(*args, x)), 1.5),
        Bound(f"gmm, n = {n}: value and gradient", "value", ratio(rounds, lambda: g(*args, x), lambda: f(*args, x)), 5.0),
    ]
    if peers:
        import jax

        theirs = jax.jit(jax.value_and_grad(module(GMM, "jax.numpy").gmm, argnums=(0, 1, 2)))
        given = [jax.numpy.asarray(a) for a in (*args, x)]
        figure = ratio(rounds, lambda: g(*args, x), lambda: jax.block_until_ready(theirs(*given)), True)
        rows.append(Bound(f"gmm, n = {n}: value and gradient", "JAX, jit", figure, 5.0))
    return rows


def branches(rounds: int, n: int) -> list[Bound]:
    """One side of a branch over that side by itself."""
    a = np.random.default_rng(0).standard_normal((n, n))
    side = ct.dup >> ct.matmul
    f = ct.choose(ct.sum() >> ct.isfinite, side, side >> side)
    return [Bound("a branch", f"the side taken, a matmul of {n}", ratio(rounds, lambda: f(a), lambda: side(a), True), 1.1)]


def with_one_thread() -> None:
    """One thread for catad, and for JAX, which is not imported yet."""
    ct.set_num_threads(1)
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")


def main() -> None:
    found = measuring.options(
        __doc__,
        n={"type": int, "default": 1000, "help": "points of the mixture"},
        steps={"type": int, "default": 20_000, "help": "steps of the long loop"},
        side={"type": int, "default": 500, "help": "rows of the matrix in the branch"},
        no_peers={"action": "store_true", "help": "without JAX"},
    )
    peers = has_jax() and not found.no_peers
    with_one_thread()
    if peers:
        import jax

        jax.config.update("jax_enable_x64", True)
    programs = module(straight(50) + LSTM + GMM, "numpy")
    rows = [
        *tracing(programs, found.rounds, peers),
        *calls(programs, found.rounds),
        *first_gradients(programs, found.steps),
        *loops(programs, found.rounds, peers),
        *mixture(programs, found.n, found.rounds, peers),
        *branches(found.rounds, found.side),
    ]
    at = list(range(1, len(rows) + 1))
    series = {"measured / asked": (at, [row.measured / row.bound for row in rows]), "1": (at, [1.0] * len(at))}
    measuring.chart(found.out, "functions", [measuring.Panel("ct.function", "row of the table", "measured / asked", series)])
    measuring.report(found, [], rows)


if __name__ == "__main__":
    main()

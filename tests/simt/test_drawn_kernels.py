"""Kernels drawn from a grammar, as text, against their Python run by threads and central differences of that.

A body loads, computes, branches, loops, synchronises and stores; each thread stores into cells of its own, so none has a race.
"""

from __future__ import annotations

import linecache
import math
import os
import random
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.category.spaces import flatten

N, BLOCK = 10, 4
COUNT = int(os.environ.get("CATAD_DRAWN_KERNELS", "24"))
PROLOGUE = ["i, t, b = ct.simt.grid(1), ct.simt.threadIdx.x, ct.simt.blockIdx.x", "s = ct.simt.shared.array(4, np.float64)"]


class Grammar:
    """Draws the lines of one body; `depth` bounds how they nest."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.locals = ["0.5"]
        self.count = 0

    def index(self) -> str:
        """An index of x that is in range for every thread."""
        affine = ["i % 10", "(i + 3) % 10", "9 - i % 10", "t", "2 * t", "b", "i // 2", "0"]
        return self.draw.choice([*affine, "p[i % 10]", "(i * i) % 10"])

    def number(self, depth: int = 2) -> str:
        ends, inner = ["load", "local", "a"], ["load", "local", "op", "op", "sin", "choose"]
        kind = self.draw.choice([*ends, *inner] if depth else ends)
        if kind == "load":
            return f"x[{self.index()}]"
        if kind == "local":
            return self.draw.choice(self.locals)
        if kind == "op":
            return f"({self.number(depth - 1)} {self.draw.choice(['+', '-', '*'])} {self.number(depth - 1)})"
        if kind == "sin":
            return f"math.sin({self.number(depth - 1)})"
        if kind == "choose":
            return f"({self.number(depth - 1)} if {self.condition()} else {self.number(depth - 1)})"
        return "a"

    def condition(self) -> str:
        return self.draw.choice(["i % 3 == 0", "t > 1", "b == 1", "p[i % 10] > 4", "i < 6", "x[t] > 1.1 and i > 2", "not t == 2"])

    def statements(self, depth: int, top: bool) -> list[str]:
        return [line for _ in range(self.draw.randint(1, 3)) for line in self.statement(depth, top)]

    def statement(self, depth: int, top: bool) -> list[str]:
        loops = ["if", "for", "while", "sum", "stride"]
        kinds = ["let", "let", "change", "store", "atomic"] + loops * (depth > 0) + ["shared"] * 2 * top
        match self.draw.choice(kinds):
            case "let":
                value, self.count = self.number(), self.count + 1
                if not top:
                    return [f"v0 = {value}"]
                self.locals.append(f"v{self.count}")
                return [f"v{self.count} = {value}"]
            case "change":
                return [f"v0 {self.draw.choice(['+=', '-=', '*='])} {self.number(1)}"]
            case "store":
                if not top:
                    return ["if i < 10: z[i] += v0"]
                return [f"if i < 10: y[{self.draw.choice(['i', '9 - i'])}] = {self.number()}"]
            case "atomic":
                return [f"ct.simt.atomic.add(h, {self.draw.choice(['p[i % 10] % 3', '0', 'i % 3'])}, {self.number(1)})"]
            case "if":
                return [f"if {self.condition()}:", *self.inner(depth), "else:", *self.inner(depth)]
            case "for":
                bound = self.draw.choice(["3", "12", "t + 1", "p[i % 10] % 4", "(i + 1) % 3"])
                return [f"for k{depth} in range({bound}):", *self.inner(depth), f"    v0 = 0.5 * v0 + x[k{depth} % 10]"]
            case "sum":
                return self.sums(f"m{depth}")
            case "stride":
                step = self.draw.choice([f"u[m{depth}] = ", f"u[m{depth}] += ", f"u[m{depth}] = 0.5 * u[m{depth}] + "])
                inner = [f"    {step}{self.number(1)} * x[m{depth} % 10]"]
                if self.draw.random() < 0.3:
                    inner = [f"    if {self.condition()}:", f"    {inner[0]}"]
                return [f"for m{depth} in range(i, {self.draw.choice([36, 31])}, 12):", *inner]
            case "while":
                return [f"w{depth} = p[i % 10] % 4", f"while w{depth} > 0:", *self.inner(depth), f"    w{depth} -= 1"]
        other = self.draw.choice(["3 - t", "(t + 1) % 4", "t", "0"])
        value, self.count = self.number(1), self.count + 1
        self.locals.append(f"v{self.count}")
        return ["ct.simt.syncthreads()", f"s[t] = {value}", "ct.simt.syncthreads()", f"v{self.count} = s[{other}]"]

    def sums(self, m: str) -> list[str]:
        """A loop that carries a sum, a product or an extreme, and nothing else."""
        bound = self.draw.choice(["18", "12 + t", "2 * i", "20, i, -1", "i, 36, 2"])
        other = self.draw.choice([f"x[{m} % 10]", f"x[(i + {m}) % 10]", f"x[p[{m} % 10]]", f"(x[{m} % 10] * x[(i + {m}) % 10])"])
        step = self.draw.choice(
            [
                f"v0 += 0.1 * {self.number(1)} * {other}",
                f"v0 -= 0.1 * {other}",
                f"v0 = v0 + 0.1 * math.cos({self.number(1)} + {other})",
                f"v0 *= 0.8 + 0.2 * {other}",
                f"v0 = np.maximum(v0, {other})",
                f"v0 = min(v0, {other})",
            ]
        )
        chosen = [f"    if {self.condition()} or {m} % 3 == 1:", f"        {step}"]
        return [f"for {m} in range({bound}):", *(chosen if self.draw.random() < 0.4 else [f"    {step}"])]

    def inner(self, depth: int) -> list[str]:
        return [f"    {line}" for line in self.statements(depth - 1, False)]


def drawn(seed: int) -> str:
    """The text of a kernel; all stores into y go by one permutation of the threads, so that no two meet."""
    grammar = Grammar(seed)
    body = [line for _ in range(4) for line in grammar.statement(2, True)]
    mirrored = "y[9 - i]" in "".join(body)
    body = [line.replace("y[i] =", "y[9 - i] =") if mirrored else line for line in body]
    lines = [*PROLOGUE, "v0 = 1.0", *body, "if i < 10: z[i] += v0"]
    return "\n".join(["def body(x, a, p, y, z, h, u):", *[f"    {line}" for line in lines]]) + "\n"


def made(seed: int) -> Any:
    """The kernel of a text, which linecache knows."""
    text, file = drawn(seed), f"<drawn kernel {seed}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope: dict[str, Any] = {"ct": ct, "np": np, "math": math}
    exec(compile(text, file, "exec"), scope)
    return ct.kernel(scope["body"])[3, BLOCK]


@pytest.mark.quick(5)
@pytest.mark.parametrize("seed", range(COUNT))
def test_a_drawn_kernel_is_its_python(seed):
    rng = np.random.default_rng(seed)
    launch = made(seed)
    args = (rng.uniform(0.5, 1.5, N), 0.7, rng.permutation(N), rng.normal(size=N), rng.normal(size=N), rng.normal(size=3))
    args = (*args, rng.normal(size=36))
    ct.testing.check_races(launch, *args)
    expected = flatten(ct.testing.threads(launch, *args))
    written = launch.written(*args)
    for engine in ("reference", "cpu"):
        with ct.use_engine(engine):
            value, pull = ct.vjp(launch, *args)
            for ours, theirs in zip(flatten(value), expected, strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-12, err_msg=drawn(seed))
            back = tuple([rng.normal(size=np.shape(one)) for one in flatten(value)])
            got = pull(back if len(written) > 1 else back[0])
        direction = [rng.normal(size=np.shape(a)) if k != 2 else None for k, a in enumerate(args)]
        ends = []
        for h in (1e-6, -1e-6):
            moved = [a if d is None else a + h * d for a, d in zip(args, direction, strict=True)]
            out = flatten(ct.testing.threads(launch, *moved))
            ends.append(sum(float(np.vdot(c, o)) for c, o in zip(back, out, strict=True)))
        slope = (ends[0] - ends[1]) / 2e-6
        mine = sum(float(np.vdot(g, d)) for g, d in zip(got, direction, strict=True) if d is not None)
        np.testing.assert_allclose(mine, slope, rtol=2e-5, atol=2e-5, err_msg=drawn(seed))

"""What the tests of the CPU engine share: both engines side by side, random scalar functions, lowered thresholds."""

from __future__ import annotations

import itertools
import linecache
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import catad as ct
from catad.category import cache
from catad.category.spaces import flatten
from catad.engine import cache_keys
from catad.engine.cpu import blocked, call
from catad.engine.cpu.nests import blocks as blocks_of_lines
from catad.engine.cpu.nests import folds, nest
from catad.engine.cpu.run import kernel
from catad.engine.cpu.whole import shared_kernels
from catad.engine.program import program_of
from catad.engine.stages import partition
from catad.engine.stages.split import split
from catad.engine.stages.stage import Stage

_numbers = itertools.count()
SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.0,
    3.0,
    -2.5,
    7.0,
    1e10,
    1e30,
    -1e30,
    1e-30,
    np.inf,
    -np.inf,
    np.nan,
    1e-310,
    5e-324,
    1e-40,
]


def define(source: str, **scope: Any) -> Callable[..., Any]:
    """The function `f` of a source text, which the reader of scalar functions can find."""
    file = f"<engine test {next(_numbers)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    scope = {"np": np, "math": math, **scope}
    exec(compile(source, file, "exec"), scope)
    made: Callable[..., Any] = scope["f"]
    return made


def on(engine: str, f: Callable[..., Any], *x: Any) -> list[Any]:
    """The leaves of `f(*x)` on an engine."""
    with ct.use_engine(engine):
        return [np.asarray(leaf) for leaf in flatten(f(*x))]


def bits(a: Any, b: Any) -> bool:
    """The same dtype, shape and numbers, zeros with their sign; NaN equals NaN."""
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind != "f":
        return bool(np.array_equal(a, b))
    signs = (np.signbit(a) == np.signbit(b)) | np.isnan(a)
    return bool(np.array_equal(a, b, equal_nan=True) and signs.all())


def difference(a: Any, b: Any) -> str:
    """Some places where two arrays differ."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return f"got {a.dtype}{list(a.shape)}, want {b.dtype}{list(b.shape)}"
    places = [at for at in np.ndindex(a.shape) if not bits(a[at], b[at])]
    return f"{len(places)} of {a.size} differ: " + "; ".join(f"at {at} got {a[at]!r}, want {b[at]!r}" for at in places[:5])


def assert_same(got: list[Any], want: list[Any], note: Any = "") -> None:
    assert len(got) == len(want), note
    for a, b in zip(got, want, strict=True):
        assert bits(a, b), f"{note}\n{difference(a, b)}"


def assert_near(got: list[Any], want: list[Any], eps: float = 256.0, note: Any = "") -> None:
    """Equal up to `eps` roundings of the largest finite number of the leaf (sums may be bracketed in another way)."""
    assert len(got) == len(want), note
    for a, b in zip(got, want, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape, f"{note}\n{a.dtype}{a.shape} {b.dtype}{b.shape}"
        if a.dtype.kind != "f":
            assert np.array_equal(a, b), f"{note}\n{difference(a, b)}"
            continue
        finite = np.isfinite(a) & np.isfinite(b)
        assert np.array_equal(a[~finite], b[~finite], equal_nan=True), f"{note}\n{difference(a, b)}"
        size = max([1.0, *np.abs(b[finite]).ravel().astype(float)])
        assert np.all(np.abs(a[finite] - b[finite]) <= eps * np.finfo(a.dtype).eps * size), f"{note}\n{difference(a, b)}"


def items(f: ct.D, *spaces: ct.Space) -> list[Stage | Any]:
    """Stages and boxes that the CPU engine runs for `f`."""
    program, _ = program_of(f, spaces[0] if len(spaces) == 1 else ct.product(*spaces))
    return partition.Partition(split(program.wiring)).items


def steps(f: ct.D, *spaces: ct.Space) -> list[str]:
    """What the CPU engine runs for `f`, one line a step."""
    return f.source("steps", *spaces).splitlines()


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads share the work of arrays of any size, and results of any size go past the caches where their layout allows."""
    small_thresholds(monkeypatch)


def small_thresholds(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `shared`, for code that makes its own programs; programs made before keep their layouts."""
    for module in (call, shared_kernels):
        monkeypatch.setattr(module, "GRAIN", 1)
    for name in ("STREAMED", "FROM"):
        monkeypatch.setattr(shared_kernels, name, 1)


def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles of folds, chunks of lanes and blocks past the caches so small that short arrays have many; code is made anew."""
    printed_anew(monkeypatch)
    for module in (folds, call, blocks_of_lines, blocked):
        monkeypatch.setattr(module, "TILE", 64)
    for module in (nest, blocks_of_lines):
        monkeypatch.setattr(module, "BLOCK", 64)
    for module, name, value in ((nest, "WIDTH", 16), (blocked, "LONG", 100), (blocked, "COUNT", 3)):
        monkeypatch.setattr(module, name, value)


def printed_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels are found by their text alone, and none is kept: for tests that change what is printed. No program is found by
    an equal term that was made before, or will be."""
    monkeypatch.setattr(cache, "_equal", type(cache._equal)(cache.TERMS))
    monkeypatch.setattr(kernel, "_codes", type(kernel._codes)())
    monkeypatch.setattr(cache_keys, "sources", lambda _: None)


# -- random scalar functions: text, so that plain Python runs them as well

# The parameters p and q are never assigned: what is divided by and what NumPy is called with has the dtype of the arrays,
# where a number of Python would be a double, and raise when it is divided by zero.
ARITHMETIC = ["({a} + {b})", "({a} - {b})", "({a} * {b})", "({a} / (q * {b}))", "(-{a})", "np.sqrt(p * {a})", "abs({a})"]
CHOOSING = ["min({a}, {b})", "max({a}, {b})", "({a} if {c} else {b})"]


@st.composite
def expressions(draw: Any, names: list[str], depth: int) -> str:
    """An expression with at most `depth` operations inside each other."""
    if depth <= 0 or draw(st.integers(0, 9)) == 0:
        return draw(st.sampled_from([*names, *names, "1.0", "0.5", "-3.0", "0.0"]))
    a = draw(expressions(names, depth - 1))
    b = draw(expressions(names, min(depth - 1, 2)))  # one long branch: as deep as asked, and not of exponential size
    shape = draw(st.sampled_from([*ARITHMETIC, *CHOOSING]))
    return shape.format(a=a, b=b, c=draw(conditions(names))) if "{c}" in shape else shape.format(a=a, b=b)


@st.composite
def conditions(draw: Any, names: list[str]) -> str:
    a, b = draw(st.sampled_from(names)), draw(st.sampled_from([*names, "0.5", "0.0"]))
    one = f"{a} {draw(st.sampled_from(['<', '<=', '>', '>=', '==', '!=']))} {b}"
    return draw(st.sampled_from([one, one, f"not ({one})", f"({one}) and {a} < 3.0", f"({one}) or {b} == {a}"]))


@st.composite
def blocks(draw: Any, names: list[str], depth: int, nesting: int, level: int = 0) -> list[str]:
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        kinds = ["assign", "assign", "swap"] + (["if", "for", "while", "return"] if nesting else [])
        kind = draw(st.sampled_from(kinds))
        if kind == "assign":
            lines.append(f"{draw(st.sampled_from(names))} = {draw(expressions(names, depth))}")
        elif kind == "swap":
            lines.append("x, z = z, x")
        elif kind == "return":
            lines += [f"if {draw(conditions(names))}:", f"    return x, {draw(expressions(names, 2))}"]
        else:
            body = draw(blocks(names, min(depth, 3), nesting - 1, level + 1))
            if kind == "if":
                lines += [f"if {draw(conditions(names))}:", *["    " + line for line in body]]
                other = draw(blocks(names, min(depth, 3), nesting - 1, level + 1)) if draw(st.booleans()) else []
                lines += ["else:", *["    " + line for line in other]] if other else []
            elif kind == "for":
                trips = draw(st.sampled_from(["3", "1, 4", "4, 0, -2"]))
                lines += [f"for k{level} in range({trips}):", *["    " + line for line in body]]
            else:
                head = [f"n{level} = 0", f"while {draw(conditions(names))}:"]
                lines += [*head, f"    n{level} += 1", f"    if n{level} > 3:", "        break", *["    " + t for t in body]]
    return lines


@st.composite
def functions(draw: Any, depth: int = 12, nesting: int = 2) -> str:
    """The text of a function `f(x, y)` that returns two numbers."""
    names = ["x", "y", "z"]
    body = draw(blocks(names, draw(st.integers(1, depth)), nesting))
    last = f"return {draw(expressions(names, 3))}, z"
    return (
        "\n".join(["def f(p, q):", "    x, y, z = p, q, p * 0.5", *["    " + line for line in body], f"    {last}"]) + "\n"
    )

"""What the tests of whole programs share: a program and its derivatives, compiled as one function and on the array code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.category import cache, trip_counts
from catad.category.boxes import Primitive
from catad.category.spaces import Product, Tensor, flatten, rebuild
from catad.category.wiring import Box, Wiring
from catad.engine import program
from catad.engine.cpu.run import kernel
from catad.engine.cpu.whole.run import Whole
from catad.support import lru

from .cpu_support import assert_near, bits

Parts = dict[str, Callable[[], Any]]


class Ran:
    """How often whole programs ran compiled, and how often the array code ran instead."""

    def __init__(self) -> None:
        self.compiled = self.instead = 0
        self.programs: list[Whole] = []


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> Ran:
    """Counts the calls of whole programs from here on."""
    found, made_of, begin = Ran(), Whole.made_of, Whole.__init__

    def counted(self: Whole, arrays: Any) -> Any:
        made = made_of(self, arrays)
        found.compiled += made is not None
        return made

    def noting(self: Whole, wiring: Any, plain: Any) -> None:
        def instead(*arrays: Any) -> Any:
            found.instead += 1
            return plain(*arrays)

        begin(self, wiring, instead)
        found.programs.append(self)

    monkeypatch.setattr(Whole, "made_of", counted)
    monkeypatch.setattr(Whole, "__init__", noting)
    monkeypatch.setattr(trip_counts, "_last", type(trip_counts._last)(1024))  # no loop has run before
    cache.forget()
    return found


def anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """No program and no code is found that was made before, and the bound of all results that are kept is far."""
    cache.forget()
    lru.forget()
    monkeypatch.setattr(kernel, "_codes", type(kernel._codes)())


def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine "auto" compiles each program at its first call, while the caller waits."""
    monkeypatch.setenv("CATAD_COMPILE", "now")
    monkeypatch.setattr(program, "COMPILED", 0.0)
    monkeypatch.setattr(program, "EACH", 0.0)


def like(rng: np.random.Generator, space: Any) -> Any:
    """Random tangents of a space, () for integers."""
    made = [rng.normal(size=s.shape).astype(s.dtype) if s.is_float else () for s in space.leaves]
    return rebuild(space, made)


def total(f: ct.D, x: Any) -> ct.D:
    """A number of all floating results."""
    space = f.spaces(_space(x))
    flat = f >> Flat()
    floats = [k for k, leaf in enumerate(space.leaves) if leaf.is_float]
    parts = [flat >> ct.proj(k) >> ct.map(lambda v: v * v * 0.5 + v) >> ct.sum() for k in floats]
    return ct.fork(*parts) >> ct.stack() >> ct.sum() if len(parts) > 1 else parts[0]


class Flat(ct.D):
    """The leaves of a value, in one tuple, also where it is only one."""

    __slots__ = ()

    def lay_out(self, b: Any, x: Any) -> Any:
        return tuple(flatten(x))


def _space(x: Any) -> Any:
    return ct.space_of(x[0] if len(x) == 1 else x)


def parts(f: ct.D, x: Any, second: bool = True) -> Parts:
    """A program at a point and its derivatives: forward, reverse, stored, and of second order."""
    rng = np.random.default_rng(3)
    dom = _space(x)
    tangent = like(rng, dom)
    v = (tangent,) if len(x) == 1 else tangent
    w = like(rng, f.spaces(dom))

    def stored() -> Any:
        y, linear = ct.linearize(f, *x)
        return y, linear(*v) if len(x) == 1 else linear(v), linear.T(w)

    def reverse() -> Any:
        y, pullback = ct.vjp(f, *x)
        return y, pullback(w)

    found: Parts = {
        "value": lambda: f(*x),
        "forward": lambda: ct.jvp(f, x, v),
        "reverse": reverse,
        "stored": stored,
    }
    if second:
        found["second"] = lambda: ct.hvp(total(f, x), x, v)
    return found


def compiled(primitive: Primitive, ins: tuple[Tensor, ...]) -> Whole:
    """One box at these spaces, compiled as a program of its own."""
    outs, n = primitive.typed(ins), len(ins)
    given, made = tuple(range(n)), tuple(range(n, n + len(outs)))
    wiring = Wiring(Product(ins), Product(outs), (*ins, *outs), given, (Box(primitive, given, made),), made)
    return Whole(wiring, primitive.evaluate)


def leaves(value: Any) -> list[Any]:
    """The arrays of a value."""
    if isinstance(value, (tuple, list)):
        return [leaf for part in value for leaf in leaves(part)]
    return [np.asarray(value)]


def compare(f: ct.D, x: Any, ran: Ran, second: bool = True, eps: float = 4096.0, exact: bool = False) -> None:
    """Every part is the same on both, twice, runs compiled, and leaves its arguments as they are."""
    before = [np.array(leaf) for leaf in leaves(x)]
    for name, part in parts(f, x, second).items():
        with np.errstate(all="ignore"):
            with ct.use_engine("reference"):
                want = leaves(part())
            start = ran.compiled
            with ct.use_engine("cpu"):
                found = [leaves(part()), leaves(part())]  # the array code runs the first time where boxes check values
        for got in found:
            assert_near(got, want, eps, name)
            assert not exact or all(bits(a, b) for a, b in zip(got, want, strict=True)), name
        assert ran.compiled > start, f"{name}: nothing ran compiled"
        for a, b in zip(before, leaves(x), strict=True):
            assert bits(a, b), f"{name}: an argument was written into"

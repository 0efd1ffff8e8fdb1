"""The checks of every drawn program, each by a different oracle.

How much two ways to compute may differ follows from the program: its point is moved by a few units in the last place, and what
that does to a result is what rounding may do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import catad as ct
from catad import errors
from catad.category.spaces import flatten, rebuild
from catad.testing.differences import slope
from catad.testing.drawn.meaning import Leaves
from catad.testing.drawn.programs import Program
from catad.testing.values import direction

SMALL = 70  # entries up to which Jacobians are written out
STEPS = 5000  # entries up to which differences are taken
MOVES = 4


class Disagreement(AssertionError):
    """Two ways to compute a result of a drawn program differ: which, where, and by how much."""


Function = Callable[[Any], Any]


@contextmanager
def running(engine: str, threads: int) -> Iterator[None]:
    """An engine and a number of threads."""
    with ct.num_threads(threads), ct.use_engine(engine), np.errstate(all="ignore"):
        yield


ENGINES = (("reference", 1), ("cpu", 1), ("cpu", 2))
COMPILED = ENGINES[1:]


def value_at(xs: Leaves) -> Any:
    """The arrays as one argument."""
    return xs[0] if len(xs) == 1 else xs


def leaves(value: Any) -> list[Any]:
    """The arrays of a value; nothing where there is `()`."""
    return [np.asarray(leaf) for leaf in flatten(value)]


def roundoff(single: bool) -> float:
    """The machine epsilon of single or double precision."""
    return float(np.finfo(np.float32 if single else np.float64).eps)


def moved(rng: np.random.Generator, x: Any, single: bool) -> Any:
    """A point a few units in the last place away; zeros and whole numbers move as well."""
    eps = roundoff(single)
    space = ct.space_of(x)

    def one(leaf: Any) -> Any:
        if leaf.dtype.kind != "f":
            return leaf
        step = eps * rng.integers(-2, 3, leaf.shape) * np.maximum(np.abs(leaf), 1e-3)
        return (leaf + step).astype(leaf.dtype)

    return rebuild(space, [one(np.asarray(leaf)) for leaf in flatten(x)])


class Rounding:
    """The change that rounding may make in the results of a function at a point, found by moving the point."""

    def __init__(self, g: Function, x: Any, single: bool, seed: int) -> None:
        rng = np.random.default_rng(seed)
        eps = roundoff(single)
        with running("reference", 1):
            here = leaves(g(x))
            spread = [np.zeros(leaf.shape) for leaf in here]
            for _ in range(MOVES):
                for k, leaf in enumerate(leaves(g(moved(rng, x, single)))):
                    gap = np.abs(leaf.astype(np.float64) - here[k].astype(np.float64))
                    spread[k] = np.maximum(spread[k], np.where(np.isfinite(gap), gap, np.inf))
        pairs = zip(spread, here, strict=True)
        units = 1024.0 * eps * (1.0 + sum(leaf.size for leaf in leaves(x)) ** 0.5 / 32.0)  # sums grow like random walks
        self.allowed = [128.0 * s.max(initial=0.0) + units * _largest(y) + 4.0 * eps for s, y in pairs]

    def require(self, what: str, got: list[Any], want: list[Any], dtypes: bool = True) -> None:
        """Raise `Disagreement` unless both are as near as rounding explains."""
        if len(got) != len(want):
            raise Disagreement(f"{what}: {len(got)} arrays instead of {len(want)}")
        for k, (a, b, allowed) in enumerate(zip(got, want, self.allowed, strict=True)):
            _require(f"{what}, array {k}", a, b, allowed, dtypes)


def _largest(y: Any) -> float:
    finite = np.abs(y[np.isfinite(y)]) if y.dtype.kind == "f" else np.abs(y.astype(np.float64))
    return float(finite.max(initial=0.0))


def _require(what: str, a: Any, b: Any, allowed: float, dtypes: bool) -> None:
    if a.shape != b.shape:
        raise Disagreement(f"{what}: shape {a.shape} instead of {b.shape}")
    if dtypes and a.dtype != b.dtype:
        raise Disagreement(f"{what}: dtype {a.dtype} instead of {b.dtype}")
    if np.isinf(allowed):
        return
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    with np.errstate(all="ignore"):
        off = np.abs(wide_a - wide_b)
        wrong = ~((off <= allowed) | (wide_a == wide_b) | (np.isnan(wide_a) & np.isnan(wide_b)))
    if wrong.any():
        at = tuple(int(k) for k in np.argwhere(wrong)[0])
        raise Disagreement(
            f"{what}: {int(wrong.sum())} of {a.size} entries differ; at {at} got {a[at]!r} instead of {b[at]!r}, "
            f"where {allowed:.3g} is allowed"
        )


def directions(program: Program, f: ct.D, x: Any) -> tuple[Any, Any]:
    """A tangent at the point and a cotangent at its value, seeded by the program."""
    rng, dom = np.random.default_rng([program.seed, program.number, 1]), ct.space_of(x)
    return direction(rng, dom), direction(rng, f.spaces(dom))


def check_value(program: Program) -> None:
    """The value is the meaning's, on every engine, for every layout, and the arguments stay as they were."""
    f, x = program.term, value_at(program.point.arrays)
    rounding = Rounding(f, x, program.single, program.number)
    with np.errstate(all="ignore"):
        meant = program.meaning(np, tuple(np.asarray(a, np.float64) for a in program.point.ordinary))
    want = [np.asarray(y) for y in meant]
    cod = f.spaces(ct.space_of(x)).leaves
    found: dict[tuple[str, int], list[Any]] = {}
    for engine, threads in ENGINES:
        before = [np.array(a) for a in leaves(x)]
        with running(engine, threads):
            got = found[engine, threads] = leaves(f(x))
        rounding.require(f"value on {engine}, {threads} threads, against its meaning", got, want, dtypes=False)
        if [leaf.dtype for leaf in got] != [s.dtype for s in cod]:
            raise Disagreement(f"dtypes {[leaf.dtype for leaf in got]} where spaces() says {cod}")
        if not all(np.array_equal(a, b) for a, b in zip(before, leaves(x), strict=True)):
            raise Disagreement(f"an argument was changed by a call on {engine}")
    for a, b in zip(found["cpu", 1], found["cpu", 2], strict=True):
        if not np.array_equal(a, b, equal_nan=True):
            raise Disagreement("the value depends on the number of threads")


def check_derivatives(program: Program) -> None:
    """Forward and reverse mode agree with each other on every engine, and with central differences."""
    f, x = program.term, value_at(program.point.arrays)
    v, w = directions(program, f, x)
    forward: Function = lambda x: ct.jvp(f, (x,), (v,))  # noqa: E731
    reverse: Function = lambda x: ct.vjp(f, x)[1](w)  # noqa: E731
    for what, g in (("jvp", forward), ("vjp", reverse)):
        rounding = Rounding(g, x, program.single, program.number)
        results = {}
        for engine, threads in ENGINES:
            with running(engine, threads):
                results[engine, threads] = leaves(g(x))
        rounding.require(f"{what}, compiled against reference", results["cpu", 1], results["reference", 1])
        for a, b in zip(results["cpu", 1], results["cpu", 2], strict=True):
            if not np.array_equal(a, b, equal_nan=True):
                raise Disagreement(f"the {what} depends on the number of threads")
    with running("auto", 2):
        pushed, pulled = leaves(forward(x)[1]), leaves(reverse(x)[0])
    _require_adjoint(program, pushed, leaves(w), leaves(v), pulled)
    if program.smooth and sum(a.size for a in leaves(x)) <= STEPS and not program.single:
        _require_slope(f, x, v, pushed)


def _require_adjoint(program: Program, pushed: list[Any], w: list[Any], v: list[Any], pulled: list[Any]) -> None:
    """`<w, J v> == <J^T w, v>`."""

    def inner(a: list[Any], b: list[Any]) -> tuple[float, float]:
        products = [p.astype(np.float64) * q.astype(np.float64) for p, q in zip(a, b, strict=True)]
        return sum(float(p.sum()) for p in products), sum(float(np.abs(p).sum()) for p in products)

    (left, size), (right, other) = inner(pushed, w), inner(pulled, v)
    eps = roundoff(program.single)
    if np.isfinite(left) and np.isfinite(right) and abs(left - right) > 4096 * eps * (size + other + 1e-30):
        raise Disagreement(f"<w, J v> = {left!r} but <J^T w, v> = {right!r}")


def _require_slope(f: ct.D, x: Any, v: Any, pushed: list[Any]) -> None:
    """The tangent is the central difference, where both steps of it agree."""
    with running("reference", 1):
        found = slope(f, x, v)
        wanted = leaves(found.value)
    for k, (a, b, kinked, error) in enumerate(zip(pushed, wanted, found.kinked, found.error, strict=True)):
        allowed = 1e-5 * max(1.0, found.size, _largest(a))
        odd = kinked | (np.abs(a - b) <= error)
        _require(f"jvp against central differences, array {k}", np.where(odd, b, a), b, allowed, True)


def check_jacobians(program: Program) -> None:
    """The Jacobian in every mode is the matrix of pushed basis vectors, and the Hessian that of a gradient's."""
    f, x = program.term, value_at(program.point.arrays)
    size, many = sum(a.size for a in leaves(x)), f.spaces(ct.space_of(x)).size
    if not 0 < size <= SMALL or many > 40 * SMALL:
        return
    with running("reference", 1):
        _, L = ct.linearize(f, x)
        columns = [np.concatenate([leaf.ravel() for leaf in leaves(L(e))] or [np.zeros(0)]) for e in basis(x)]
    want = np.stack(columns, axis=1)
    dense: Function = lambda x: ct.jacobian(f, "forward")(x).todense()  # noqa: E731
    rounding = Rounding(dense, x, program.single, program.number)
    engine = ENGINES[program.number % 2][0]  # planning and compiling take longest
    for mode in ("auto", "forward", "reverse"):
        with running(engine, 1):
            got = np.asarray(ct.jacobian(f, mode)(x).todense())
        rounding.require(f"jacobian {mode} on {engine}", [got], [want.reshape(got.shape).astype(got.dtype)])


def basis(x: Any) -> Iterator[Any]:
    """The unit tangents at a point."""
    parts = [np.zeros(np.shape(leaf), leaf.dtype) for leaf in flatten(x)]
    for part in parts:
        flat = part.reshape(-1)
        for k in range(flat.size):
            flat[k] = 1.0
            yield rebuild(ct.space_of(x), [p.copy() for p in parts])
            flat[k] = 0.0


def total(f: ct.D, x: Any) -> ct.D:
    """A number from all results: half the sum of their squares."""
    parts = len(f.spaces(ct.space_of(x)).leaves)
    half = ct.square >> ct.sum() >> 0.5 * ct.id
    if parts == 1:
        return f >> half
    summed: Any = ct.proj(0) >> half
    for k in range(1, parts):
        summed = summed + (ct.proj(k) >> half)
    whole: ct.D = f >> summed
    return whole


def check_second(program: Program) -> None:
    """The product with the Hessian is the tangent of the gradient, on every engine."""
    x = value_at(program.point.arrays)
    if sum(a.size for a in leaves(x)) > STEPS:
        return
    f = total(program.term, x)
    v, _ = directions(program, f, x)
    product: Function = lambda x: ct.hvp(f, (x,), (v,))  # noqa: E731
    rounding = Rounding(product, x, program.single, program.number)
    with running("reference", 1):
        want = leaves(product(x))
    for engine, threads in COMPILED:
        with running(engine, threads):
            rounding.require(f"hvp, {engine} against reference", leaves(product(x)), want)
    if program.smooth and not program.single:
        gradient = ct.grad(f)
        _require_slope(gradient, x, v, want)


def check_special(program: Program) -> None:
    """NaN, infinities, signed zeros and subnormals give the same on every engine."""
    rng = np.random.default_rng([program.seed, program.number, 2])
    f, x = program.term, value_at(program.point.special(rng))
    try:
        with running("reference", 1):
            want = leaves(f(x))
    except errors.CatadError:
        want = None
    for engine, threads in COMPILED:
        with running(engine, threads):
            try:
                got = leaves(f(x))
            except errors.CatadError as error:
                if want is not None:
                    raise Disagreement(f"special values: an error on {engine} alone: {error}") from error
                continue
        if want is None:
            raise Disagreement(f"special values: an error on the reference engine, none on {engine}")
        for k, (a, b) in enumerate(zip(got, want, strict=True)):
            eps = roundoff(program.single)
            _require(f"special values, array {k}, {engine}", a, b, 4096 * eps * max(1.0, _largest(b)), True)


CHECKS: dict[str, Callable[[Program], None]] = {
    "value": check_value,
    "derivatives": check_derivatives,
    "jacobians": check_jacobians,
    "second derivatives": check_second,
    "special values": check_special,
}

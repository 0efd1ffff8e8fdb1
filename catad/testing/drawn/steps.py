"""The steps of drawn programs: a term beside its meaning, for arrays that are given. Pointwise ones are here."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import catad as ct
from catad.testing.drawn import meaning as plain
from catad.testing.drawn.meaning import Leaves, Meaning

Generator = np.random.Generator


@dataclass(frozen=True)
class Step:
    """A term on one array or on a pair of arrays, with its meaning.

    `words` are the public names in it. `smooth`: it has no kinks and no jumps. `traced`: JAX can differentiate its meaning.
    `outputs`: how many arrays it gives. `single`: it rounds to single precision on its way.
    """

    words: tuple[str, ...]
    term: ct.D
    meaning: Meaning
    smooth: bool = True
    traced: bool = True
    outputs: int = 1
    single: bool = False


Maker = Callable[..., Step | None]  # of a generator and one or two arrays; None where these do not suit


def suits(test: Callable[..., bool]) -> Callable[[Maker], Maker]:
    """Decorator of a maker: it makes a step of arrays that pass a test."""

    def decorated(maker: Maker) -> Maker:
        @functools.wraps(maker)
        def made(rng: Generator, *xs: Any) -> Step | None:
            return maker(rng, *xs) if test(*xs) else None

        return made

    return decorated


with_axis = suits(lambda x, *others: x.ndim > 0)


# -- words of one number: the function of NumPy, or a name of `math`; where they are smooth

BY_NUMPY = """sin cos tanh sinh cosh arcsinh asinh arctan atan exp exp2 expm1 square negative neg cbrt log log2 log10 log1p sqrt
reciprocal arcsin asin arccos acos arctanh atanh arccosh acosh tan degrees radians""".split()  # noqa: SIM905
NUMPY_NAMES = {
    "neg": "negative", "sub": "subtract", "mul": "multiply", "div": "divide", "pow": "power", "atan2": "arctan2",
    "floordiv": "floor_divide", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal",
    "ne": "not_equal",
}  # fmt: skip
NOT_SMOOTH = ["abs", "absolute", "sign", "floor", "ceil", "trunc", "rint", "round"]
BY_FORMULA: dict[str, Callable[[Any, Any], Any]] = {
    "relu": lambda xp, x: xp.maximum(x, 0.0),
    "sigmoid": lambda xp, x: 1.0 / (1.0 + xp.exp(-x)),
    "softplus": lambda xp, x: xp.logaddexp(x, 0.0),
    "sech": lambda xp, x: 1.0 / xp.cosh(x),
    "erf": plain.erf,
    "erfc": lambda xp, x: 1.0 - plain.erf(xp, x),
}
BY_MATH: dict[str, Callable[[float], float]] = {
    "gamma": math.gamma,
    "lgamma": math.lgamma,
    "digamma": plain.digamma,
    "trigamma": plain.trigamma,
}
RANGES: dict[str, tuple[float, float]] = {  # where the values of a word and of its derivatives are ordinary numbers
    **dict.fromkeys(["log", "log2", "log10", "sqrt", "reciprocal", "cbrt"], (0.4, 3.0)),
    **dict.fromkeys(["gamma", "lgamma", "digamma", "trigamma"], (0.6, 4.0)),
    **dict.fromkeys(["asin", "acos", "atanh", "arcsin", "arccos", "arctanh"], (-0.8, 0.8)),
    **dict.fromkeys(["acosh", "arccosh"], (1.3, 3.0)),
    **dict.fromkeys(["exp", "exp2", "expm1", "sinh", "cosh"], (-3.0, 3.0)),
    "log1p": (-0.6, 3.0),
    "tan": (-1.1, 1.1),
    "erfc": (-2.0, 2.0),
}
PAIRS = """add sub subtract mul multiply div divide pow power atan2 arctan2 hypot logaddexp maximum minimum fmax fmin copysign
fmod mod floordiv remainder""".split()  # noqa: SIM905
SMOOTH_PAIRS = PAIRS[:13]
BOUNDED_SECOND = ("div", "divide", "fmod", "mod", "floordiv", "remainder", "atan2", "arctan2", "hypot")
BOUNDED_FIRST = ("pow", "power")
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")


def squash(low: float, high: float) -> tuple[ct.D, Meaning]:
    """A smooth map of all numbers into an interval."""
    middle, half = (low + high) / 2.0, (high - low) / 2.0
    term = ct.map(lambda x: middle + half * math.tanh(x))
    return term, lambda xp, xs: (middle + half * xp.tanh(xs[0]),)


def within(x: Any, low: float, high: float) -> bool:
    """True where all numbers of an array lie in an interval."""
    return bool(x.size == 0 or (x.min() >= low and x.max() <= high))


def broadcast(*xs: Any) -> bool:
    """True where the shapes of arrays broadcast to one of at most the size of the largest, or to a small one."""
    try:
        shape = np.broadcast_shapes(*(x.shape for x in xs))
    except ValueError:
        return False
    most: int = max(1000, *(x.size for x in xs))
    return math.prod(shape) <= most


that_broadcast = suits(broadcast)


def one_word(name: str) -> Maker:
    """A word of one number, behind a squash where an array leaves its range."""
    if name in BY_FORMULA:
        formula = BY_FORMULA[name]
        meaning: Meaning = lambda xp, xs: (formula(xp, xs[0]),)  # noqa: E731
    elif name in BY_MATH:
        meaning = plain.one_by_one(BY_MATH[name])
    else:
        called = NUMPY_NAMES.get(name, name)
        meaning = lambda xp, xs: (getattr(xp, called)(xs[0]),)  # noqa: E731

    def make(rng: Generator, x: Any) -> Step:
        term, whole = getattr(ct, name), meaning
        low, high = RANGES.get(name, (-math.inf, math.inf))
        if not within(x, low, high):
            before, meant = squash(low, high)
            term, whole = before >> term, lambda xp, ys: meaning(xp, meant(xp, ys))
        return Step((name,), term, whole, name not in NOT_SMOOTH and name != "relu", name not in BY_MATH)

    return make


def pair_word(name: str) -> Maker:
    """A word of two numbers, on arrays that broadcast."""
    smooth = name in SMOOTH_PAIRS
    side = 1 if name in BOUNDED_SECOND else 0 if name in BOUNDED_FIRST else None

    def formula(xp: Any, x: Any, y: Any) -> Any:
        if name == "remainder":  # that of IEEE 754
            return x - xp.rint(x / y) * y
        return getattr(xp, NUMPY_NAMES.get(name, name))(x, y)

    @that_broadcast
    def make(rng: Generator, *xs: Any) -> Step:
        if side is None:
            return Step((name,), getattr(ct, name), lambda xp, ys: (formula(xp, *ys),), smooth)
        before, meant = squash(0.5, 2.5)
        term = (ct.cross(ct.id, before) if side else ct.cross(before, ct.id)) >> getattr(ct, name)

        def meaning(xp: Any, ys: Leaves) -> Leaves:
            x, y = ys
            return (formula(xp, x, meant(xp, (y,))[0]),) if side else (formula(xp, meant(xp, (x,))[0], y),)

        return Step((name,), term, meaning, smooth)

    return make


def comparison(name: str) -> Maker:
    """A choice between two arrays by comparing them."""

    @that_broadcast
    def make(rng: Generator, *xs: Any) -> Step:
        term = ct.fork(getattr(ct, name), ct.exl, ct.exr) >> ct.where
        called = NUMPY_NAMES[name]
        return Step((name, "where"), term, lambda xp, ys: (xp.where(getattr(xp, called)(*ys), *ys),), False)

    return make


# -- plain Python functions, as users write them; each is its own meaning


def _branch(x: float) -> float:
    return x * x if x > 0.25 else 1.0 - 0.5 * x


def _early(x: float) -> float:
    if x < -0.5:
        return -x
    y = x
    for _ in range(3):
        y = 0.5 * y + 0.25 * x * y
    return y


def _turns(x: float) -> float:
    y, count = x, 0
    while y > 0.5 and count < 6:
        y, count = 0.5 * y, count + 1
    return y + 0.125 * count


def _long_loop(x: float) -> float:
    total = 0.0
    for i in range(20):
        total = 0.5 * total + x / (i + 1)
    return total


def _pair(x: float, y: float) -> float:
    return x * y + 0.5 * y if x < y else math.sin(x) - y


def _nested(x: float, y: float) -> float:
    z = max(x, y)
    if z > 1.0:
        z = 1.0 / z
    elif z < -1.0:
        z = z / (1.0 + z * z)
    return z + 0.5 * abs(x - y)


def _smooth(x: float) -> float:
    return math.exp(-x * x) * math.cos(x) + 0.5 * x


FUNCTIONS_OF_ONE = (_branch, _early, _turns, _long_loop, _smooth)
FUNCTIONS_OF_TWO = (_pair, _nested)


def function_of(fn: Callable[..., float], count: int) -> Maker:
    """A map of a Python function, called number by number for its meaning."""

    @that_broadcast
    def make(rng: Generator, *xs: Any) -> Step:
        return Step(("map",), ct.map(fn), plain.one_by_one(fn), fn is _smooth, False)

    return make


# -- words of three, and words whose results are integers or booleans


def clip(rng: Generator, x: Any) -> Step:
    """Limits by two numbers."""
    term = ct.fork(ct.id, ct.const(-0.75), ct.const(0.5)) >> ct.clip
    return Step(("clip", "const"), term, lambda xp, ys: (xp.clip(ys[0], -0.75, 0.5),), False)


@that_broadcast
def fma(rng: Generator, x: Any, y: Any) -> Step:
    """A product and a sum at once."""
    term = ct.fork(ct.exl, ct.exr, ct.exl) >> ct.fma
    return Step(("fma",), term, lambda xp, ys: (ys[0] * ys[1] + ys[0],))


def scaled(rng: Generator, x: Any) -> Step:
    """A number times a morphism, and a sum of morphisms."""
    number = float(np.round(rng.uniform(-2.0, 2.0), 2))
    term = number * ct.id + ct.sin - ct.square
    return Step(("times", "add", "sub"), term, lambda xp, ys: (number * ys[0] + xp.sin(ys[0]) - ys[0] ** 2,))


def ldexp(rng: Generator, x: Any) -> Step:
    """Times a power of two."""
    power = int(rng.integers(-3, 3))
    term = ct.fork(ct.id, ct.const(np.int64(power))) >> ct.ldexp
    return Step(("ldexp",), term, lambda xp, ys: (ys[0] * 2.0**power,))


def tested(rng: Generator, x: Any) -> Step:
    """A choice by tests of what a number is, joined by logic."""
    finite, low = ct.isfinite, ct.signbit
    odd = ct.fork(ct.isnan, ct.isinf) >> ct.logical_or >> ct.logical_not
    condition = ct.fork(ct.fork(finite, odd) >> ct.logical_and, low) >> ct.logical_and
    term = ct.fork(condition, ct.square, ct.id) >> ct.where
    words = ("isfinite", "isnan", "isinf", "signbit", "logical_or", "logical_and", "logical_not", "where")
    return Step(words, term, lambda xp, ys: (xp.where(xp.signbit(ys[0]), ys[0] ** 2, ys[0]),), False)


def chained(rng: Generator, x: Any) -> Step:
    """Several words at once, which an engine makes one loop of."""
    names = [str(n) for n in rng.choice(["sin", "tanh", "sigmoid", "atan", "square"], 3)]
    steps = [one_word(n)(rng, np.zeros(1)) for n in names]
    assert all(step is not None for step in steps)

    def meaning(xp: Any, ys: Leaves) -> Leaves:
        for step in steps:
            assert step is not None
            ys = step.meaning(xp, ys)
        return ys

    return Step(tuple(names), ct.compose(*[s.term for s in steps if s]), meaning)


ONE: list[Maker] = [
    *[one_word(name) for name in (*BY_NUMPY, *NOT_SMOOTH, *BY_FORMULA, *BY_MATH)],
    *[function_of(fn, 1) for fn in FUNCTIONS_OF_ONE],
    clip, scaled, ldexp, tested, chained,
]  # fmt: skip
TWO: list[Maker] = [
    *[pair_word(name) for name in PAIRS],
    *[comparison(name) for name in COMPARISONS],
    *[function_of(fn, 2) for fn in FUNCTIONS_OF_TWO],
    fma,
]

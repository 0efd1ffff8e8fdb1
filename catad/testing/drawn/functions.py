"""Drawn Python functions: on every engine what `ct.function` makes of each has NumPy's values and the slopes of differences, it
obeys the other laws of `check_function`, or a `TraceError` refuses it."""

from __future__ import annotations

import itertools
import linecache
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

import catad as ct
from catad import errors
from catad.testing.drawn.checks import Disagreement
from catad.testing.drawn.running import Failure, Tally, TimeIsUp, failures, repeated, within
from catad.testing.drawn.shorter import shortened
from catad.testing.drawn.slopes import slopes, weighed
from catad.testing.drawn.sources import Statements
from catad.testing.functions import LAWS_OF_FUNCTIONS, check_function
from catad.testing.values import direction
from catad.traced.function import function

ENGINES = ("reference", "cpu", "auto")
LIMIT = 120.0  # seconds that all checks of one function may take
AGAIN = 10.0  # and those of a shorter text
REDUCING = 120.0  # seconds for making a failure short
UNROLL = (16, 16, 2, 0)  # options of ct.function
DTYPES = ("float64",) * 9 + ("float32",) * 3 + ("int64",)
OTHER_LAWS = tuple([law for law in LAWS_OF_FUNCTIONS if law not in ("value", "derivatives")])
COMPARED = "slopes compared"  # with those of differences; the others are at kinks, or rounding hides them
SLOPES = "slopes"
_MOVES = 4  # points some units in the last place away, which say what rounding may do


@dataclass(frozen=True)
class DrawnFunction:
    """The text of a module with a function `f`, its arguments, and how it is traced; drawn again by the seed and the number."""

    kind: ClassVar[str] = "function"
    seed: int
    number: int
    text: str
    dtype: str
    unroll: int
    arrays: bool = False  # whether the numbers are arrays of no axes
    said: frozenset[str] = field(default=frozenset(), compare=False)  # what the text is made of

    def arguments(self, moved: int = 0) -> tuple[Any, ...]:
        """Two numbers, two vectors of 3, a matrix of 3 x 3, and an integer; or a point some units in the last place away."""
        rng = np.random.default_rng([self.seed, self.number, 1])
        numbers = [np.round(rng.normal(size=shape) * 0.6, 3) for shape in ((), (), 3, 3, (3, 3))]
        if self.dtype == "int64":
            numbers = [np.rint(3 * x) for x in numbers]
        elif moved:
            ways, eps = np.random.default_rng(moved), float(np.finfo(self.dtype).eps)
            numbers = [x * (1.0 + eps * ways.integers(-2, 3, np.shape(x))) for x in numbers]
        given = [np.asarray(x).astype(self.dtype) if np.ndim(x) or self.arrays else _plain(x, self.dtype) for x in numbers]
        return *given, int(rng.integers(4))

    def load(self) -> Callable[..., Any]:
        """The function; its source is found as that of any other one."""
        name = f"<drawn {self.seed}, {self.number}, {next(_loaded)}>"
        text = f"import math\nimport numpy as np\n\n\n{self.text}"
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        scope: dict[str, Any] = {"__name__": "drawn"}
        exec(compile(text, name, "exec", dont_inherit=True), scope)
        made: Callable[..., Any] = scope["f"]
        return made

    def shown(self, check: str) -> list[str]:
        """The lines of the script for a check."""
        return self.script(check).splitlines()

    def script(self, check: str = "") -> str:
        """The text of a module that prints what NumPy and catad make of the function, and its gradient, or checks a law."""
        engine = next((name for name in ENGINES if check.endswith(f" on {name}")), "auto")
        traced = f"ct.function(f, unroll={self.unroll})"
        lines = [
            'print("NumPy:   ", f(*copy.deepcopy(args)))',
            f"value, pullback = ct.vjp({traced}, *args)",
            'print("catad:   ", value)',
            'print("gradient:", pullback(tuple(np.ones_like(y) if y.dtype.kind == "f" else () for y in value)))',
        ]
        if check in OTHER_LAWS:
            lines = [f'ct.testing.check_function({traced}, *args, only=["{check}"])']
        shown = "\n".join(["    " + line for line in lines])
        return f"""\
# python -m catad.testing.drawn --functions --seed {self.seed} --program {self.number}
import copy
import math
import numpy as np
import catad as ct


{self.text}

args = ({", ".join([_literal(x) for x in self.arguments()])})
with ct.use_engine("{engine}"), np.errstate(all="ignore"):
{shown}
"""


_loaded = itertools.count()


def _plain(x: Any, dtype: str) -> int | float:
    return int(x) if dtype == "int64" else float(x)


def _literal(x: Any) -> str:
    if not isinstance(x, np.ndarray):
        return str(x)
    return f"np.array({np.array2string(x, separator=', ')}, np.{x.dtype})".replace("\n", "")


def draw_function(seed: int, number: int) -> DrawnFunction:
    """A function of a seed; the same one whenever it is drawn."""
    rng = np.random.default_rng([seed, number])

    def choose(options: Any) -> Any:
        return options[int(rng.integers(len(options)))]

    writer = Statements(choose)
    text = writer.module()
    return DrawnFunction(seed, number, text, choose(DTYPES), choose(UNROLL), choose([False, True]), frozenset(writer.said))


Law = Callable[[], None]


class _Examination:
    """One function at its point, by NumPy and by catad."""

    def __init__(self, drawn: DrawnFunction) -> None:
        self.drawn, self.fn = drawn, drawn.load()
        self.f = function(self.fn, unroll=drawn.unroll)
        self.count: Counter[str] = Counter()
        self.same = "equal"

    def numpys(self, moved: int = 0) -> Any:
        return self.fn(*self.drawn.arguments(moved))

    def laws(self) -> Iterator[tuple[str, Law]]:
        """What has to hold, by name."""
        args = self.drawn.arguments()
        try:
            self.expected = self.numpys()
        except Exception:
            self.same = "both raise"
            yield "value", partial(check_function, self.f, *args, only=["value"])
            return
        try:
            self.f.at(*args)
        except errors.TraceError as error:
            self.same = f"refused: {error.message.splitlines()[0]}"
            return
        for engine in ENGINES:
            yield f"value on {engine}", partial(self.value, engine)
        if self.drawn.dtype != "int64" and all(np.isfinite(np.asarray(y, np.float64)).all() for y in self.expected):
            yield from self.derivatives()
        for law in OTHER_LAWS:
            if law != "control flow" or self.drawn.dtype == "float64":  # dtypes of paths meet in loops, too
                yield law, partial(check_function, self.f, *args, only=[law])

    def value(self, engine: str) -> None:
        """The values are those of NumPy, as near as rounding explains, in its dtypes or one that holds all sides of a branch."""
        with ct.use_engine(engine):
            got = self.f(*self.drawn.arguments())
        for k, (a, b) in enumerate(zip(got, map(np.asarray, self.expected), strict=True)):
            if a.dtype != b.dtype and a.dtype.kind == "f":
                self.same = "equal, in a dtype that holds both sides of a branch"
            elif a.dtype != b.dtype:
                raise Disagreement(f"result {k} has dtype {a.dtype}, and NumPy's has {b.dtype}")
            if a.shape != b.shape:
                raise Disagreement(f"result {k} has shape {a.shape}, and NumPy's has {b.shape}")
            single = np.float32 in (a.dtype, b.dtype) or self.drawn.dtype == "float32"
            if not _near(a, b, 1e-5 if single else 1e-12) and not self.is_rounding(k, a, b):
                raise Disagreement(f"result {k} is {a!r}, and NumPy's {b!r}")

    def is_rounding(self, k: int, a: Any, b: Any) -> bool:
        """Whether NumPy's own result moves as far when the arguments do by some units in the last place."""
        moved = [np.asarray(self.numpys(move)[k], np.float64) for move in range(1, _MOVES + 1)]
        spread = np.max([np.abs(one - b) for one in moved], axis=0)
        return bool(np.all((np.abs(a - b) <= 1024 * spread) | (a == b) | np.isnan(spread) | (np.isnan(a) & np.isnan(b))))

    def derivatives(self) -> Iterator[tuple[str, Law]]:
        """Gradients are the slopes of differences, where these are known, and tangents have the inner products of gradients."""
        drawn = self.drawn
        rng = np.random.default_rng([drawn.seed, drawn.number, 2])
        with ct.use_engine("reference"):
            results = self.f(*drawn.arguments())
        weights, along = (tuple([direction(rng, ct.space_of(x)) for x in part]) for part in (results, drawn.arguments()))
        found = slopes(self.fn, drawn.arguments(), weights)
        self.count[SLOPES] += sum([known.size for known in found.known])
        self.count[COMPARED] += sum([int(known.sum()) for known in found.known])
        for engine in ENGINES:
            yield f"gradient on {engine}", partial(self.gradient, engine, weights, found)
            yield f"tangent on {engine}", partial(self.tangent, engine, along, weights, found)

    def gradient(self, engine: str, weights: Any, found: Any) -> None:
        with ct.use_engine(engine):
            pulled = ct.vjp(self.f, *self.drawn.arguments())[1](weights)
        scale = max([1.0, *[float(np.max(np.abs(v[k]), initial=0.0)) for v, k in zip(*found, strict=True)]])
        for got, value, known in zip(pulled, *found, strict=False):
            off = np.abs(got - value)
            if not np.all(~known | (off <= self.allowed * scale)) and not self.is_steep(weights, found):
                said = np.where(known, value, np.nan)
                raise Disagreement(f"the gradient is {got!r}, and differences of NumPy's results say {said!r}")

    @property
    def allowed(self) -> float:
        return 1e-5 if self.drawn.dtype == "float64" else 2e-3

    def is_steep(self, weights: Any, found: Any) -> bool:
        """Whether the slopes themselves move so far when the arguments do by some units in the last place."""
        moved = slopes(self.fn, self.drawn.arguments(1), weights)
        pairs = zip(moved.value, found.value, strict=True)
        return any(bool(np.any(np.abs(a - b) > self.allowed * np.maximum(1.0, np.abs(b)))) for a, b in pairs)

    def tangent(self, engine: str, along: Any, weights: Any, found: Any) -> None:
        """The inner product of the weights with the tangent is that of the direction with the slopes."""
        if not all(known.all() for known in found.known):
            return
        with ct.use_engine(engine):
            pushed = ct.jvp(self.f, self.drawn.arguments(), along)[1]
        terms = [v * g for v, g in zip(along, found.value, strict=False)]
        got = weighed(weights, pushed)
        expected = float(sum([np.sum(term) for term in terms]))
        size = max([1.0, *[float(np.max(np.abs(term), initial=0.0)) for term in terms]])
        if not abs(got - expected) <= 10 * self.allowed * size and not self.is_steep(weights, found):
            raise Disagreement(f"the weighed tangent is {got!r}, and differences of NumPy's results say {expected!r}")


def _near(a: Any, b: Any, tolerance: float) -> bool:
    """Numbers up to rounding of the largest one, or of 1, of which what is small may be left; NaN and infinities in the same
    places."""
    if b.dtype.kind != "f" and a.dtype.kind != "f":
        return bool(np.array_equal(a, b))
    largest = float(np.max(np.abs(b[np.isfinite(b)]), initial=1.0))
    return bool(np.allclose(a, b, rtol=tolerance, atol=tolerance * largest, equal_nan=True))


def examined(drawn: DrawnFunction, only: str | None = None, limit: float = LIMIT) -> tuple[list[Failure], Counter[str]]:
    """What is wrong with a function, and counts: of its outcome, and of its slopes. All is checked, or what `only` names."""
    found, wrong = _Examination(drawn), list[Failure]()
    try:
        with within(limit), np.errstate(all="ignore"):
            for failure in failures(drawn, found.laws(), only):
                wrong.append(failure)
    except TimeIsUp:
        wrong.append(Failure(drawn, "time", TimeoutError(f"the checks do not end in {limit:.0f} seconds")))
    except Exception as error:
        wrong.append(Failure(drawn, type(error).__name__, error))
    return wrong, found.count + Counter(["failed" if wrong else found.same])


def smaller(failure: Failure) -> Failure:
    """The same failure of a shorter text, as far as that is found in time."""
    found = failure

    def holds(text: str) -> bool:
        nonlocal found
        shorter = replace(failure.program, text=text)
        try:
            shorter.load()
        except (KeyError, SyntaxError):  # without `f`, or with a `break` outside of a loop
            return False
        again, _ = examined(shorter, failure.check, AGAIN)
        if again and again[0].check == failure.check and _kind(again[0]) == _kind(failure):
            found = again[0]
            return True
        return False

    try:
        with within(REDUCING):
            for _ in () if failure.check == "time" else shortened(failure.program.text, holds):
                pass
    except TimeIsUp:
        pass
    return replace(found, beside=failure.beside)


def _kind(failure: Failure) -> Any:
    """What kind of error it is: of a law that does not hold, whether by NaN."""
    return type(failure.error), "nan" in str(failure.error).split(", and")[0]


def run_functions(
    seed: int, programs: int | None = None, seconds: float | None = None, seen: Callable[[Tally], None] = lambda tally: None
) -> Tally:
    """Draw functions 0, 1, 2, ... of a seed and check each, up to a number of functions or of seconds.

    `seen` is called after each function. The words of the tally are the outcomes, and slopes.
    """

    def one(number: int, tally: Tally) -> None:
        wrong, count = examined(draw_function(seed, number))
        if wrong:
            tally.failures.append(replace(wrong[0], beside=tuple([other.check for other in wrong[1:]])))
            tally.failures[-1] = smaller(tally.failures[-1])
        tally.words.update(count)

    return repeated(one, programs, seconds, seen)


def shares(words: Counter[str]) -> str:
    """The outcomes with their numbers; refusals together, and what they say."""
    refused = {word: count for word, count in words.items() if word.startswith("refused")}
    rest = {word: count for word, count in words.items() if word not in refused}
    said = [f"{word} {count}" for word, count in sorted({**rest, "refused": sum(refused.values())}.items())]
    return ", ".join(said) + "".join([f"\n  {count} {word}" for word, count in Counter(refused).most_common()])

"""Drawn Python functions: what `ct.function` makes of each obeys all laws of `check_function`, or a `TraceError` refuses it."""

from __future__ import annotations

import ast
import itertools
import linecache
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from catad import errors
from catad.testing.drawn.running import Tally, TimeIsUp, repeated, within
from catad.testing.drawn.sources import draw_source
from catad.testing.functions import LAWS_OF_FUNCTIONS, check_function
from catad.traced.function import function

LIMIT = 120.0  # seconds that all checks of one function may take
REDUCING = 60.0  # seconds for making a failure short
UNROLL = (16, 16, 2, 0)  # options of ct.function
DTYPES = ("float64", "float64", "float64", "float32", "int64")
LARGE = 1e6  # results beyond are those of programs that diverge
STEADY = 1e-11  # by how much rounding may change results, relative to the largest entry
_NEAR = (0.0, 0.013, -0.029)  # where derivatives are compared: a function that is wrong at all of them is at no kink


@dataclass(frozen=True)
class DrawnFunction:
    """The text of a module with a function `f`, its arguments, and how it is traced; drawn again by the seed and the number."""

    seed: int
    number: int
    text: str
    dtype: str
    unroll: int

    def arguments(self, moved: float = 0.0) -> tuple[Any, ...]:
        """Two numbers, two vectors of 3 and a matrix of 3 x 3."""
        rng, ways = (np.random.default_rng([self.seed, self.number, k]) for k in (1, 2))
        numbers = [
            rng.normal(size=shape) * 0.6 + moved * ways.uniform(0.5, 1.5, size=shape) for shape in ((), (), 3, 3, (3, 3))
        ]  # not all by the same: two numbers that a kink compares do not stay as near
        if self.dtype == "int64":
            return tuple([np.rint(3 * x).astype(np.int64) if x.ndim else int(3 * x) for x in map(np.asarray, numbers)])
        return tuple([x.astype(self.dtype) if np.ndim(x) else float(x) for x in numbers])

    def load(self) -> Callable[..., Any]:
        """The function; its source is found as that of any other one."""
        name = f"<drawn {self.seed}, {self.number}, {next(_loaded)}>"
        text = f"import math\nimport numpy as np\n\n\n{self.text}"
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        scope: dict[str, Any] = {"__name__": "drawn"}
        exec(compile(text, name, "exec", dont_inherit=True), scope)
        made: Callable[..., Any] = scope["f"]
        return made

    def described(self) -> list[str]:
        """How to read it and how to run it again."""
        return [
            f"  at:    arrays of {self.dtype}, unroll={self.unroll}",
            *["  " + line for line in self.text.splitlines()],
            f"  again: python -m catad.testing.drawn --functions --seed {self.seed} --program {self.number}",
        ]


_loaded = itertools.count()


def draw_function(seed: int, number: int) -> DrawnFunction:
    """A function of a seed; the same one whenever it is drawn."""
    rng = np.random.default_rng([seed, number])

    def choose(options: Any) -> Any:
        return options[int(rng.integers(len(options)))]

    return DrawnFunction(seed, number, draw_source(choose), choose(DTYPES), choose(UNROLL))


@dataclass(frozen=True)
class FunctionFailure:
    """A function, the law that does not hold, and how."""

    program: DrawnFunction
    check: str
    error: Exception

    def report(self) -> str:
        p = self.program
        said = f"  {type(self.error).__name__}: {self.error}".replace("\n", "\n  ")
        return "\n".join([f"function {p.number} of seed {p.seed} fails: {self.check}", said, *p.described()])


def outcome(drawn: DrawnFunction, only: str | None = None) -> str:
    """Check a function: "equal" where all laws hold, or the one that `only` names, "refused: ..." with what a `TraceError` says,
    "both raise" where NumPy raises, too. Raises what is wrong."""
    fn, args = drawn.load(), drawn.arguments()
    f = function(fn, unroll=drawn.unroll)
    try:
        with np.errstate(all="ignore"):
            fn(*drawn.arguments())
    except Exception:
        check_function(f, *args, only=["value"])
        return "both raise"
    with np.errstate(all="ignore"):
        try:
            f.at(*args)
        except errors.TraceError as error:
            return f"refused: {error.message.splitlines()[0]}"
        laws = [only] if only in LAWS_OF_FUNCTIONS else LAWS_OF_FUNCTIONS
        same = "equal"
        if "value" in laws and _is_promoted(fn(*drawn.arguments()), f(*args)):
            same = "equal, in a dtype that holds both sides of a branch"
        left_out = {"derivatives"} | ({"value"} if same != "equal" else set())
        if drawn.dtype != "float64":
            left_out.add("control flow")  # dtypes of paths meet in loops, too
        check_function(f, *args, only=[law for law in laws if law not in left_out])
        results = fn(*drawn.arguments())
        if "derivatives" in laws and drawn.dtype == "float64" and _is_moderate(results) and _is_steady(drawn, fn, results):
            _check_derivatives(drawn, f)  # differences of steep functions of float32 say nothing
    return same


def _is_moderate(results: Any) -> bool:
    """True for finite numbers that are not very large, so that differences say something."""
    return all(np.all(np.abs(np.asarray(one, dtype=np.float64)) < LARGE) for one in results)


def _is_steady(drawn: DrawnFunction, fn: Callable[..., Any], results: Any) -> bool:
    """True where rounding hardly changes the results: in more digits they are nearly the same ones."""
    wide = [np.asarray(x, np.longdouble) if np.ndim(x) else x for x in drawn.arguments()]
    try:
        longer = fn(*wide)
    except Exception:  # another path
        return True
    return all(
        np.allclose(np.asarray(b, np.float64), a, rtol=0, atol=STEADY * max(1.0, float(np.max(np.abs(a), initial=0.0))))
        for a, b in zip(results, longer, strict=True)
        if np.shape(a) == np.shape(b)
    )


def _is_promoted(expected: Any, got: Any) -> bool:
    """True for equal arrays of which some have another dtype: where data choose, a result has the dtype of all paths, as in
    `np.where`."""
    pairs = [(np.asarray(a), np.asarray(b)) for a, b in zip(expected, got, strict=True)]
    if all(a.dtype == b.dtype for a, b in pairs) or any(a.shape != b.shape for a, b in pairs):
        return False
    eps = max(1e-12 if a.dtype == b.dtype == np.float64 else 1e-5 for a, b in pairs)
    return all(
        (a.dtype == b.dtype or b.dtype.kind == "f")
        and np.allclose(a, b, rtol=eps, atol=eps * float(np.max(np.abs(a), initial=0.0)), equal_nan=True)
        for a, b in pairs
    )


def _check_derivatives(drawn: DrawnFunction, f: Any) -> None:
    """Derivatives are those of differences, at one of some points near by: not all of them are at kinks."""
    for k, moved in enumerate(_NEAR):
        try:
            check_function(f, *drawn.arguments(moved), only=["derivatives"])
        except errors.LawError:
            if k == len(_NEAR) - 1:
                raise
        else:
            return


def examined(drawn: DrawnFunction, only: str | None = None) -> tuple[list[FunctionFailure], str]:
    """What is wrong with a function, and the outcome; of all laws or of one."""
    try:
        with within(LIMIT):
            return [], outcome(drawn, only)
    except TimeIsUp:
        late = TimeoutError(f"the checks do not end in {LIMIT:.0f} seconds")
        return [FunctionFailure(drawn, "time", late)], "failed"
    except Exception as error:  # whatever it is, it is a finding
        return [FunctionFailure(drawn, _law(error), error)], "failed"


def _law(error: Exception) -> str:
    if not isinstance(error, errors.LawError):
        return type(error).__name__
    name = str(error).split(" does not hold")[0].removeprefix("the law ")
    return "derivatives" if name.startswith("derivative") else name


def smaller(failure: FunctionFailure) -> FunctionFailure:
    """The same failure with fewer statements, as far as that is found in time."""
    found, changed = failure, failure.check != "time"
    try:
        with within(REDUCING):
            while changed:
                changed = False
                for text in _shorter(found.program.text):
                    again, _ = examined(replace(found.program, text=text), found.check)
                    if again and again[0].check == found.check:
                        found, changed = again[0], True
                        break
    except TimeIsUp:
        pass
    return found


def _shorter(text: str) -> Iterator[str]:
    """The text without one of its statements, or with the body of one in its place."""
    count = sum(isinstance(node, ast.stmt) for node in ast.walk(ast.parse(text)))
    for k in range(count):
        for unwrapped in (False, True):
            tree = ast.parse(text)
            cut = _Cut(k, unwrapped)
            cut.visit(tree)
            if cut.done and any(isinstance(node, ast.FunctionDef) and node.name == "f" for node in tree.body):
                yield ast.unparse(tree) + "\n"


class _Cut(ast.NodeTransformer):
    """Takes one statement away, or puts its body in its place."""

    def __init__(self, number: int, unwrapped: bool) -> None:
        self.left, self.unwrapped, self.done = number, unwrapped, False

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.stmt):
            if self.left == 0:
                self.left, body = -1, getattr(node, "body", None)
                if self.unwrapped and (body is None or isinstance(node, ast.FunctionDef)):
                    return node
                self.done = not isinstance(node, ast.Return)
                return (body if self.unwrapped else ast.Pass()) if self.done else node
            self.left -= 1
        return self.generic_visit(node)


def run_functions(
    seed: int, programs: int | None = None, seconds: float | None = None, seen: Callable[[Tally], None] = lambda tally: None
) -> Tally:
    """Draw functions 0, 1, 2, ... of a seed and check each, up to a number of functions or of seconds.

    `seen` is called after each function. The words of the tally are the outcomes.
    """

    def one(number: int, tally: Tally) -> None:
        failures, said = examined(draw_function(seed, number))
        for failure in failures:
            tally.failures.append(failure)
            tally.failures[-1] = smaller(failure)
        tally.words.update([said])

    return repeated(one, programs, seconds, seen)


def shares(words: Counter[str]) -> str:
    """The outcomes with their numbers; refusals together, and what they say."""
    refused = {word: count for word, count in words.items() if word.startswith("refused")}
    rest = {word: count for word, count in words.items() if word not in refused}
    said = [f"{word} {count}" for word, count in sorted({**rest, "refused": sum(refused.values())}.items())]
    return ", ".join(said) + "".join([f"\n  {count} {word}" for word, count in Counter(refused).most_common()])

"""Running the checks, a line each: `run()` does what `python -m catad.testing` does."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import NamedTuple

import catad as ct
from catad.engine.cpu.run import target
from catad.testing.installation import code, compositions, functions, values
from catad.testing.installation.case import Case, Wrong, check_case

LINES = 6  # of an error that is not expected


class Check(NamedTuple):
    """A check by its name; `run` raises where it does not hold."""

    name: str
    run: Callable[[], None]


class Outcome(NamedTuple):
    """What checks gave: their number, the seconds that they took, and a line for each that failed."""

    checks: int
    seconds: float
    failures: tuple[str, ...]

    def summary(self) -> str:
        """One line: how many checks passed, and in how much time."""
        passed = self.checks - len(self.failures)
        result = "all passed" if not self.failures else f"{passed} passed, {len(self.failures)} failed"
        return f"{self.checks} checks in {self.seconds:.1f} s: {result}"


def run(quick: bool = False, say: Callable[[str], object] = print) -> Outcome:
    """Run all checks, or the few of `quick`, and give a line of text for each to `say`.

    >>> from catad.testing.installation.run import run
    >>> run(quick=True, say=lambda line: None).failures
    ()
    """
    start, failures, count = time.perf_counter(), [], 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.CatadNotice)  # what a notice is about, a check fails for
        for name, check in checks(quick):
            began, count = time.perf_counter(), count + 1
            why = _failure(check)
            seconds = time.perf_counter() - began
            say(f"{'FAIL' if why else 'ok':4}  {seconds:5.2f} s  {name}" + (f": {why}" if why else ""))
            if why:
                failures.append(f"{name}: {why}")
    return Outcome(count, time.perf_counter() - start, tuple(failures))


def engines() -> tuple[str, ...]:
    """The engines that run programs on NumPy's arrays here."""
    return ("reference", "cpu", "auto") if target.missing() is None else ("reference",)


def checks(quick: bool) -> Iterator[Check]:
    """The checks in their order."""
    for case in (*functions.cases(), *compositions.cases()):
        if case.quick or not quick:
            yield Check(case.name, _on_engines(case))
    for table in (values.CHECKS, code.CHECKS, *([] if quick else [values.LONG, code.LONG])):
        for name, check in table.items():
            yield Check(name, check)
    if code.has_gpu():
        yield Check("a GPU", code.gpu)


def _on_engines(case: Case) -> Callable[[], None]:
    def check() -> None:
        for engine in engines()[:1] if case.long else engines():
            try:
                check_case(case, engine)
            except Wrong as wrong:
                raise Wrong(f"on the engine {engine}, {wrong}") from None

    return check


def _failure(check: Callable[[], None]) -> str | None:
    """Why a check does not hold, in words, or None."""
    try:
        check()
    except Wrong as wrong:
        return str(wrong)
    except Exception as error:  # an installation may be broken in any way, and the other checks run all the same
        said = f"{type(error).__name__}: {error}".splitlines()
        return "\n      ".join(said[:LINES])
    return None

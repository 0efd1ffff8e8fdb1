"""Running the checks on one drawn program after another, and cutting down those that fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from catad.testing.drawn.checks import CHECKS
from catad.testing.drawn.peers import check_peer, there
from catad.testing.drawn.points import SIZES, Point
from catad.testing.drawn.programs import Program, draw_program
from catad.testing.drawn.running import Failure, Tally, failures, repeated


def all_checks() -> dict[str, Callable[[Program], None]]:
    """The checks by name; that against JAX where it is installed."""
    return {**CHECKS, "JAX": check_peer} if there() else dict(CHECKS)


def failures_of(program: Program, only: str | None = None) -> Iterator[Failure]:
    """The checks that a program fails."""
    return failures(program, [(name, partial(check, program)) for name, check in all_checks().items()], only)


def smaller(failure: Failure) -> Failure:
    """The same failure with fewer steps and plainer arrays, as long as it fails in the same way."""
    found = failure
    changed = True
    while changed:
        changed = False
        for candidate in _smaller_than(found.program):
            again = next(failures_of(candidate, found.check), None)
            if again is not None and type(again.error) is type(failure.error):
                found, changed = again, True
                break
    return found


def _smaller_than(program: Program) -> Iterator[Program]:
    for k in range(len(program.placed)):
        fewer = program.without(k)
        if fewer is not None:
            yield fewer
    if any(layout != "plain" for layout in program.point.layouts):
        point = program.point
        yield replace(program, point=Point(point.ordinary, point.dtype, ("plain",) * len(point.layouts)))


def run(
    seed: int,
    programs: int | None = None,
    seconds: float | None = None,
    sizes: tuple[int, ...] = SIZES,
    seen: Callable[[Tally], None] = lambda tally: None,
) -> Tally:
    """Draw programs 0, 1, 2, ... of a seed and check each, up to a number of programs or of seconds.

    `seen` is called after each program.
    """

    def one(number: int, tally: Tally) -> None:
        program = draw_program(seed, number, sizes)
        for failure in failures_of(program):
            tally.failures.append(failure)
            tally.failures[-1] = smaller(failure)
        tally.words.update(program.words)

    return repeated(one, programs, seconds, seen)

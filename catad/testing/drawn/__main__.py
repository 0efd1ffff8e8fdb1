"""`python -m catad.testing.drawn`: check drawn programs for some time; exit status 1 where one fails."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from catad.support.progress import cleared
from catad.testing.drawn.functions import draw_function, examined, run_functions, shares
from catad.testing.drawn.programs import draw_program
from catad.testing.drawn.running import Failure, Tally
from catad.testing.drawn.runs import failures_of, run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m catad.testing.drawn", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="programs are numbered from 0 for each seed")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to draw programs (seconds)")
    parser.add_argument("--programs", type=int, help="stop after this many programs")
    parser.add_argument("--program", type=int, help="check this program of the seed alone")
    parser.add_argument("--functions", action="store_true", help="Python functions for ct.function instead of terms")
    given = parser.parse_args()
    if given.program is not None:
        return one(given.seed, given.program, given.functions)
    tally = (run_functions if given.functions else run)(given.seed, given.programs, given.seconds, seen=Reports())
    if given.functions:
        print(f"{tally.programs} functions of seed {given.seed}: {shares(tally.words)}")
    else:
        most = ", ".join(f"{word} {count}" for word, count in tally.words.most_common(8))
        failed = f"{len(tally.failures)} failed; {len(tally.words)} words"
        print(f"{tally.programs} programs of seed {given.seed}, {failed}, most: {most}")
    return bool(tally.failures)


def one(seed: int, number: int, is_function: bool) -> int:
    """Check one program or function, and print it."""
    failures: Sequence[Failure]
    if is_function:
        drawn = draw_function(seed, number)
        failures, count = examined(drawn)
        said, passed = drawn.script(), shares(count)
    else:
        program = draw_program(seed, number)
        failures, said, passed = list(failures_of(program)), str(program.term), "all checks pass"
    print(said)
    print("\n\n".join(failure.report() for failure in failures) or passed)
    return bool(failures)


class Reports:
    """A report as soon as a program fails."""

    def __init__(self) -> None:
        self.reported = 0

    def __call__(self, tally: Tally) -> None:
        for failure in tally.failures[self.reported :]:
            cleared()
            print(failure.report(), "\n", flush=True)
        self.reported = len(tally.failures)


if __name__ == "__main__":
    sys.exit(main())

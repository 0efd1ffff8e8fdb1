"""`python3 -m catad.planner FILE.json`: plan published problems and print one JSON object for each.

    python3 -m catad.planner FILE.json [--name PREFIX] [--budget SECONDS] [--memory M] [--cost operations] [--seed N] [--orders]

`catad.planner.problems.file` tells what files hold, `catad.planner.problems.solutions` what is printed. Exit code 2 and a message
tell of what cannot be read or planned.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence

from catad import errors
from catad.planner.problems.by_sizes import BUDGET
from catad.planner.problems.file import load
from catad.planner.problems.graph_plan import checked_budget
from catad.planner.problems.solutions import Options, solve
from catad.support.progress import cleared, watched


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python3 -m catad.planner", description="Plan published problems; one JSON object each."
    )
    parser.add_argument("file", metavar="FILE.json", help="problems, in the format that catad.planner.problems.file tells")
    parser.add_argument("--name", default="", metavar="PREFIX", help="only problems whose name starts with this")
    parser.add_argument("--budget", default=str(BUDGET), metavar="SECONDS", help="for a graph (default: %(default)s)")
    parser.add_argument("--memory", metavar="M", help="limit on the tape of an adjoint, in edges; 0 is none (the default)")
    parser.add_argument("--cost", default="operations", choices=["operations"], help="bare problems have no other")
    parser.add_argument(
        "--seed", default="0", metavar="N", help="of the search (default: 0); the same seed gives the same plan"
    )
    parser.add_argument("--orders", action="store_true", help="print the order of every plan, too")
    return parser.parse_args(given)


def _options(arguments: argparse.Namespace) -> Options:
    try:
        budget = float(arguments.budget)
    except ValueError:
        raise errors.PlanError(errors.bad_budget(arguments.budget)) from None
    try:
        seed = int(arguments.seed)
    except ValueError:
        raise errors.PlanError(errors.bad_seed(arguments.seed)) from None
    memory = None
    if arguments.memory is not None:
        if not arguments.memory.isdigit():
            raise errors.PlanError(errors.bad_tape(arguments.memory))
        memory = int(arguments.memory)
    return Options(checked_budget(budget), seed, memory, arguments.orders)


def main(given: Sequence[str] | None = None) -> int:
    """Run the tool; the exit code."""
    arguments = _arguments(given)
    try:
        options = _options(arguments)
        problems = load(arguments.file, arguments.name)
        done = 0
        with watched("planning", lambda: (done, len(problems)), "problems"):
            for name, problem in problems:
                answer = json.dumps(solve(name, problem, options))
                done += 1
                cleared()
                print(answer, flush=True)
    except errors.CatadError as error:
        print(f"catad.planner: {error.message}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())

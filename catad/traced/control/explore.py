"""Exploring: a function is run once for each path that its decisions on data take, and the paths are joined by `ct.choose`.

Runs of one function are equal up to the decision in which they differ, since they have the same answers until then. So the lines
before a decision stand once, and each side of it has the lines that follow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from catad import errors, traced
from catad.traced.recorder import Findings, Restart, Trace
from catad.values.trees import Tree

MOST_ATTEMPTS = 2000
MOST_PATHS = 64


class Path(NamedTuple):
    """One run: its trace, and the variables of its result with their tree."""

    trace: Trace
    result: Any
    tree: Tree


class Fork(NamedTuple):
    """A decision, by its number in the path on which it was met first: what follows either answer."""

    path: Path
    number: int
    yes: Any
    no: Any


def explored(run: Callable[[Findings], Path]) -> Path:
    """One trace for all paths of a function; the findings of one attempt are heeded by the next."""
    findings = Findings()
    for _ in range(MOST_ATTEMPTS):
        try:
            found = _paths(run, findings)
            return found if isinstance(found, Path) else traced.joined_paths(found)
        except Restart:
            continue
    raise errors.TraceError(errors.too_many_branches([]))


def _paths(run: Callable[[Findings], Path], findings: Findings) -> Path | Fork:
    """All paths, those that differ early first: so it shows soon where there are too many."""
    runs: dict[tuple[bool, ...], tuple[Path, tuple[bool, ...]]] = {}  # by the answers that were given before
    pending: list[tuple[bool, ...]] = [()]
    while pending:
        pending.sort(key=len, reverse=True)
        prefix = pending.pop()
        findings.answers, findings.paths = list(prefix), len(runs)
        path = run(findings)
        answers = tuple(findings.answers[: len(path.trace.decisions)])
        runs[prefix] = path, answers
        pending += [(*answers[:k], False) for k in range(len(prefix), len(answers))]
        if len(runs) + len(pending) > MOST_PATHS:
            places = [decision.place for decision in path.trace.decisions]
            raise errors.show_source(errors.TraceError(errors.too_many_branches(places)), places[-1])
    return _forks(runs, ())


def _forks(runs: dict[tuple[bool, ...], tuple[Path, tuple[bool, ...]]], prefix: tuple[bool, ...]) -> Path | Fork:
    """The paths with these first answers."""
    path, answers = runs[prefix]
    found: Path | Fork = path
    for k in reversed(range(len(prefix), len(answers))):
        found = Fork(path, k, found, _forks(runs, (*answers[:k], False)))
    return found

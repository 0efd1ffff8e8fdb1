"""Lines of a long program in groups: those of one call of a function of the user, or of one line of the source.

The calls of a trace either follow each other or lie within each other, and a line is recorded while its calls run. So the groups
of calls that do not lie within each other make no cycle, whatever the order in which the lines stand. Neighbours in an order in
which they can run make none either. Numbers that depend on nothing are part of each group that reads them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence, Set
from itertools import groupby
from typing import Any, NamedTuple

from catad.category.terms import D
from catad.errors.places import Place, shown
from catad.support.order import in_order

MOST = 40  # boxes; of more lines, some become groups
FEW = 4  # boxes that show too little: then groups are opened


class Step(NamedTuple):
    """One line with the numbers of wires in place of those of variables; `calls` from outside to inside, by name and number."""

    term: D
    ins: list[int]
    outs: list[int]
    place: Place | None
    calls: tuple[tuple[str, Any], ...]


class Group(NamedTuple):
    """Some lines that are one box: those of a call, by the name of the function, or neighbours."""

    steps: list[Step]
    name: str = ""
    inside: Collection[int] = ()  # wires that are in each group that reads them

    @property
    def ins(self) -> list[int]:
        known = {*[k for step in self.steps for k in step.outs], *self.inside}
        return [k for k in dict.fromkeys([k for step in self.steps for k in step.ins]) if k not in known]


def grouped(steps: Sequence[Step], opened: Collection[str], numbers: Set[int]) -> list[Group]:
    """The lines of a program in groups, as many as can be read, in an order in which they can run.

    `numbers` are the wires of constants without a name.
    """
    singles = [Group([step]) for step in steps]
    if len(steps) <= MOST:
        return singles
    found = singles
    for depth in range(1 + max([len(step.calls) for step in steps])):
        found = _in_order(_by_call(steps, _opened(steps, opened, depth), numbers))
        if len(found) >= FEW:
            break
    return _by_statement(found, opened) if len(found) > MOST else found


def _opened(steps: Sequence[Step], names: Collection[str], depth: int) -> set[Any]:
    """The calls that are shown line by line: the outer ones, those of some functions, and those around these."""
    found = set()
    for step in steps:
        for k, (name, _) in enumerate(step.calls):
            if k < depth or name in names:
                found.update([step.calls[: i + 1] for i in range(k + 1)])
    return found


def _by_call(steps: Sequence[Step], opened: set[Any], numbers: Set[int]) -> list[Group]:
    """The lines of each call that is not opened, and the other lines one by one."""
    groups: dict[Any, Group] = {}
    for n, step in enumerate(steps):
        calls = [step.calls[: k + 1] for k in range(len(step.calls))] if numbers.isdisjoint(step.outs) else ()
        closed = next((call for call in calls if call not in opened), None)
        made = Group([]) if closed is None else Group([], closed[-1][0], numbers)
        groups.setdefault(("line", n) if closed is None else closed, made).steps.append(step)
    read = {k for group in groups.values() for k in group.ins}
    needless = numbers - read
    return [group for group in groups.values() if needless.isdisjoint(group.steps[0].outs)]


def _in_order(groups: Sequence[Group]) -> list[Group]:
    """The groups in an order in which they can run, near to the one in which they stand."""
    writer = {k: n for n, group in enumerate(groups) for step in group.steps for k in step.outs}
    needs = {n: {writer[k] for k in group.ins if k in writer} for n, group in enumerate(groups)}
    return [groups[n] for n in in_order(needs)]


def _by_statement(groups: Sequence[Group], opened: Collection[str]) -> list[Group]:
    """Neighbours that come from one line of the source as one group, but for those of opened functions."""

    def key(group: Group) -> Any:
        step = group.steps[0]
        if group.name or step.place is None or any(name in opened for name, _ in step.calls):
            return id(group)
        return shown(step.place), step.calls

    return list(_joined(groupby(groups, key)))


def _joined(runs: Iterator[tuple[Any, Iterator[Group]]]) -> Iterator[Group]:
    for _, run in runs:
        first, *rest = run
        yield first if not rest else Group([step for group in (first, *rest) for step in group.steps])

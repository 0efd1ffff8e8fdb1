"""All ways of making one map beside each other: what they cost, and what their results cost to store and to use."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from catad import errors
from catad.linear.matrix.patterns import pattern_of
from catad.linear.structure import Structure
from catad.planner.chains import cache
from catad.planner.chains.basis import array_of, is_larger, use_of, written
from catad.planner.chains.execute import as_they_stand
from catad.planner.chains.factors import structure_of
from catad.planner.chains.pushes import is_compressed
from catad.planner.costs.cost import amount
from catad.planner.costs.cost_profile import CostProfile
from catad.planner.reports import colours
from catad.planner.request import Request
from catad.planner.strategy import Runnable
from catad.support.tables import aligned


class Compared(NamedTuple):
    """One way of making a map.

    `operations` and `bytes` (read and written) of making it; `value`, what was asked to be small: seconds by a profile; `use`,
    what one application of the result takes, in the same unit; `stored`, the numbers that it stores; `dense`, those of its dense
    form; `colours`, the vectors that a basis takes, 0 where none is pushed or pulled.
    """

    operations: int
    bytes: int
    value: float
    use: float
    stored: int
    dense: int
    colours: int = 0


class Comparison(dict[str, Compared]):
    """Ways of making a map by name; prints as a table."""

    def __init__(self, rows: dict[str, Compared], request: Request) -> None:
        super().__init__(rows)
        self.request = request

    def __repr__(self) -> str:
        model = self.request.model
        timed = isinstance(model, CostProfile)
        cells = [["", "operations", "bytes", *(["time"] if timed else []), "one use", "stored", ""]]
        for name, row in self.items():
            value = [amount(row.value, model)] if timed else []
            note = f"{row.colours:,} vectors" if row.colours else ""
            note = "more than dense" if row.stored > row.dense else note
            cells.append([name, f"{row.operations:,}", f"{row.bytes:,}", *value, amount(row.use, model), f"{row.stored:,}", note])
        return "\n".join(aligned(cells))


def comparison(own: Runnable, structure: Structure | None, request: Request) -> Comparison:
    """See `ct.Plan.compare`."""
    factors = own.chain
    whole = structure_of(as_they_stand(factors))[0]
    request = request.at(whole)
    free = replace(request, mode="auto")
    ways: dict[str, Callable[[], Runnable | None]] = {
        "forward": lambda: cache.of_factors(factors, replace(free, mode="forward")),
        "reverse": lambda: cache.of_factors(factors, replace(free, mode="reverse")),
        "basis": lambda: _basis(own, whole, free),
        "bracketing": lambda: cache.of_factors(factors, free),
        "elimination": lambda: cache.order_of(structure, factors, replace(free, mode="elimination")),
    }
    rows = {"planned": _row(own, request)}
    for name, way in ways.items():
        with suppress(errors.PlanError):  # it does not fit the memory, or is too large
            found = way()
            if found is not None:
                rows[name] = _row(found, request, _colours(found, whole) if name == "basis" else 0)
    return Comparison(rows, request)


def _basis(own: Runnable, whole: Structure, request: Request) -> Runnable | None:
    basis = written(whole, request.model)
    return None if basis is None else cache.through_basis(own.chain, request, basis.how)


def _colours(found: Runnable, whole: Structure) -> int:
    """The vectors that a basis through a whole map takes."""
    pattern = pattern_of(whole) if is_compressed(whole) else None
    if pattern is not None:
        return pattern.colours
    return whole.rows if found.choice[0] == "pull" else whole.columns


def _row(made: Runnable, request: Request, vectors: int = 0) -> Compared:
    cost, result = made.cost, made.execution.result
    use = use_of(result, request.model)
    return Compared(cost.operations, cost.bytes, cost.value, use, result.stored, result.rows * result.columns, vectors)


def notes(own: Runnable, request: Request) -> list[str]:
    """Lines of `explain` on the result: its colours, what an array of it takes, and whether it stores more than dense."""
    result = own.execution.result
    noted = []
    whole = structure_of(as_they_stand(own.chain))[0]
    request = request.at(whole)
    pattern = pattern_of(whole)
    if pattern is not None and is_compressed(whole) and (whole.is_lazy or len(own.chain.parts) > 1):
        noted += colours.lines(pattern)
    if request.result == "array" and (last := array_of(result, request.model)) is not None:
        noted.append(f"written out as an array at the end: {amount(last.value, request.model, 'operations')}")
    if is_larger(result):
        noted.append(f"the result stores {result.stored:,} numbers, its dense form {result.rows * result.columns:,}")
    return noted

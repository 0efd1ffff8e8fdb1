"""Joining the paths of a function by `ct.choose`; see `explore.py`."""

from __future__ import annotations

from typing import Any

from catad import errors
from catad.category.spaces import flatten, mapped
from catad.errors.places import Place, shown
from catad.traced.control.branch import SIDES, chosen
from catad.traced.control.explore import Fork, Path
from catad.traced.control.join_branches import converted, joined
from catad.traced.recorder import Findings, Region, Trace, Var
from catad.values.trees import Tree


def joined_paths(found: Fork) -> Path:
    """One trace for several paths."""
    trace = Trace(Findings(), found.path.trace.unroll, None)
    trace.open = False  # there are no stand-ins
    root = trace.root
    at: dict[int, Var] = {}
    for var in found.path.trace.root.inputs:
        made = root.input(var.space, var.weak, var.name)
        at[var.wire.number] = made
    result, tree = _joined(trace, root, found, at, 0)
    return Path(trace, result, tree)


def _joined(trace: Trace, region: Region, found: Path | Fork, at: dict[int, Var], start: int) -> tuple[Any, Tree]:
    """The lines from `start` on in a region; `at` has variables by the numbers of wires of the traces that were run."""
    if isinstance(found, Path):
        _copy(region, found.trace, at, start, len(found.trace.root.lines))
        return mapped(found.result, lambda var: _at(region, var, at)), found.tree
    decision = found.path.trace.decisions[found.number]
    _copy(region, found.path.trace, at, start, decision.lines)
    test = _at(region, decision.var, at)
    sides = []
    for side, title in zip((found.yes, found.no), SIDES, strict=True):
        inner = Region(trace, region, title)
        sides.append((inner, *_joined(trace, inner, side, dict(at), decision.lines)))
    (first, a, tree), (second, b, other) = sides
    if tree != other:
        tree, other = tree.of_arrays(), other.of_arrays()
    if tree != other or len(flatten(a)) != len(flatten(b)):
        _differ(tree, other, decision.place)
    pairs = [_united(first, x, second, y, decision.place) for x, y in zip(flatten(a), flatten(b), strict=True)]
    outs = iter(chosen(region, test, (first, second), pairs, None))
    return mapped(a, lambda _: next(outs)), tree


def _united(first: Region, x: Var, second: Region, y: Var, place: Any) -> tuple[Var, Var]:
    if x.space.shape != y.space.shape:
        _differ(x.space, y.space, place)
    dtype, _ = joined(x, y)
    return converted(first, first.own(x), dtype), converted(second, second.own(y), dtype)


def _differ(a: Any, b: Any, place: Place | None) -> None:
    raise errors.show_source(errors.TraceError(errors.paths_differ(a, b, shown(place))), place)


def _copy(region: Region, trace: Trace, at: dict[int, Var], start: int, stop: int) -> None:
    """Record lines of a trace again."""
    for term, args, outs, place, calls in trace.root.lines[start:stop]:
        region.trace.calls = calls
        made = region.record(term, mapped(args, lambda var: _at(region, var, at)), place)
        for old, new in zip(flatten(outs), flatten(made), strict=True):
            new.name = new.name or old.name
            at[old.wire.number] = new
    region.trace.calls = ()


def _at(region: Region, var: Var, at: dict[int, Var]) -> Var:
    found = at[var.wire.number]
    made = region.own(found)
    if var.weak is not None and made.weak is None:
        made = Var(region, made.wire, var.weak, var.constant)
    return made

"""A plan that is read from a text: what the text is for is planned again, as the text asks, and has the choice that it says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from catad import errors
from catad.category.spaces import Space
from catad.category.terms import D
from catad.linear.map import LinearMap
from catad.planner.costs.cost import short_of_memory
from catad.planner.graph import Graph
from catad.planner.memory.memory_limit import counted, is_limited
from catad.planner.memory.schedule import Runs
from catad.planner.plan import Plan, plan, plan_factors, plan_structure, planned, planned_gradient, source_of
from catad.planner.planned_program import subject_at
from catad.planner.problems.chain_plan import plan_chain
from catad.planner.problems.graph_plan import plan_graph
from catad.planner.reports.exchange import Written, chosen, read
from catad.planner.request import CostGiven, Request, Want, model_of
from catad.planner.strategy import Runnable
from catad.vector.loops.snapshots import Rooms


def plan_of(text: str, program: Any, primals_or_spaces: Sequence[Any], cost: CostGiven | None) -> Plan:
    """See `Plan.from_json`."""
    written = read(text)
    if isinstance(program, Plan):
        return chosen(written, _asked_again(program, written, cost))
    return chosen(written, _asked_anew(program, primals_or_spaces, written, cost))


def _as_written(source: D, dom: Space, want: Want, request: Request, runs: Runs, rooms: Rooms) -> Plan:
    """The plan with the runs and the rooms of a text; it must fit the memory."""
    if want != "jacobian" or not is_limited(source, dom, request):
        return planned(source, dom, want, request, runs, rooms)
    found = counted(source, dom, runs, rooms)
    if found.peak > (request.memory or 0):
        raise short_of_memory(request.memory, found.peak, False)
    return planned_gradient(source, dom, request, found)


def _asked_again(base: Plan, written: Written, cost: CostGiven | None) -> Plan:
    """A plan for what another plan is for, planned as a text asks; that plan itself where it was asked for so."""
    if not isinstance(base.strategy, Runnable):
        _check_sized(cost)
        return base
    request = written.request(cost, base.request)
    program = base.program
    if program is not None and written.want not in (None, program.want):
        raise errors.PlanError(errors.bad_field("request.want", written.want, f'"{program.want}", as of the plan given'))
    known: tuple[Runs, Rooms] = ((), ()) if program is None else (program.recomputed, program.rooms)
    again = written.again(program and program.source, program and program.dom, known)
    same_mode = written.mode in (base.mode, "by hand")
    if same_mode and base.request == replace(request, mode="auto") and again == known:
        return base
    if program is not None:
        return _as_written(program.source, program.dom, program.want, request, *again)
    return plan_factors(base.chain, request) if base.structure is None else plan_structure(base.structure, request)


def _asked_anew(subject: Any, primals_or_spaces: Sequence[Any], written: Written, cost: CostGiven | None) -> Plan:
    """A plan for what was planned, planned as a text asks."""
    if isinstance(subject, Graph) or (written.is_chain and not isinstance(subject, (D, LinearMap))):
        _check_sized(cost)
        if isinstance(subject, Graph):
            return plan_graph(subject)
        return plan_chain(subject, memory=written.asked.get("memory"))
    model = "time" if isinstance(subject, (D, LinearMap)) else "operations"
    request = written.request(cost, Request(model=model_of(model)))
    if isinstance(subject, D):
        want = written.want or "jacobian"
        term, dom = subject_at(subject, primals_or_spaces)
        source = source_of(term, dom, want, request)
        return _as_written(source, dom, want, request, *written.again(source, dom))
    written.again(None, None)
    given: CostGiven = "operations" if request.model is None else request.model
    asked = {name: getattr(request, name) for name in ("mode", "memory", "budget", "explicit", "result")}
    return plan(subject, *primals_or_spaces, cost=given, **asked)


def _check_sized(cost: CostGiven | None) -> None:
    if cost not in (None, "operations"):
        raise errors.PlanError(errors.no_cost_for_sizes(cost))

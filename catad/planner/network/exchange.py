"""Orders of elimination as JSON text, and back: an order that was edited by hand is checked against the program it is for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from catad import errors
from catad.planner.network.plan import EliminationPlan, checked_order
from catad.planner.plan import spaces_text
from catad.planner.request import name_of

if TYPE_CHECKING:
    from catad.planner.network.linear_graph import LinearGraph
    from catad.planner.plan import Plan


def to_json(plan: EliminationPlan) -> str:
    """See `EliminationPlan.to_json`."""
    cost = {"operations": plan.cost.operations, "bytes": plan.cost.bytes, "peak": plan.cost.peak}
    asked = {"cost": name_of(plan.request.model), "value": plan.cost.value, "explicit": plan.request.explicit}
    listed = ",\n    ".join([json.dumps(record) for record in _records(plan.graph)])
    return (
        f'{{\n  "plan": 1,\n  "mode": {json.dumps(plan.mode)},\n  "order": {json.dumps(plan.order)},\n'
        f'  "vertices": [\n    {listed}\n  ],\n  "cost": {json.dumps(cost)},\n  "request": {json.dumps(asked)}\n}}\n'
    )


def _records(graph: LinearGraph) -> list[dict[str, Any]]:
    """The vertices: what each is, its space, and from which vertices there are edges to it."""
    before: list[set[int]] = [set() for _ in graph.spaces]
    for edge in graph.edges:
        before[edge.target].add(edge.source)
    what = ["input"] * graph.inputs + ["inner"] * len(graph.inner) + ["output"] * graph.outputs
    return [
        {"vertex": v, "is": what[v], "space": spaces_text(leaves), "from": sorted(before[v])}
        for v, leaves in enumerate(graph.spaces)
    ]


def replayed(data: dict[str, Any], base: Plan) -> EliminationPlan:
    """The plan of the fields of a text, for what another plan is for."""
    made = base.as_elimination()
    _check_vertices(data, made.graph)
    order = checked_order(made.graph, data["order"])
    if data.get("mode") in ("auto", "elimination") and order == made.order:
        return made
    edited = made.edited(list(order))
    assert isinstance(edited, EliminationPlan)
    return edited


def _check_vertices(data: dict[str, Any], graph: LinearGraph) -> None:
    """The text lists its vertices: they must be those of the program."""
    if "vertices" not in data:
        raise errors.PlanError(errors.missing_field("vertices"))
    listed, expected = data["vertices"], _records(graph)
    if not isinstance(listed, list):
        raise errors.PlanError(errors.bad_field("vertices", listed, "a list of vertices"))
    if len(listed) != len(expected):
        raise errors.PlanError(errors.other_program(f"it has {len(expected)} vertices, the text lists {len(listed)}"))
    for k, (record, own) in enumerate(zip(listed, expected, strict=True)):
        if not isinstance(record, dict):
            raise errors.PlanError(errors.bad_field(f"vertices[{k}]", record, "an object with vertex, is, space and from"))
        for key, value in own.items():
            if record.get(key) != value:
                given = errors.abbreviated(record.get(key))
                raise errors.PlanError(
                    errors.other_program(f"vertices[{k}].{key} is {given} in the text, {value!r} in the program")
                )

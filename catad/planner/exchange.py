"""Plans as JSON text, and back: a plan that was edited by hand is checked against the program it is for."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from catad import errors
from catad.planner import brackets
from catad.planner.plan import Plan, spaces_text
from catad.planner.request import MODES, name_of

if TYPE_CHECKING:
    from catad.linear.structure import Structure

_BRACKETING = re.compile(r'"bracketing"\s*:\s*(?=[\[\d-])')


def to_json(plan: Plan) -> str:
    """See `Plan.to_json`."""
    cost = {"operations": plan.cost.operations, "bytes": plan.cost.bytes, "peak": plan.cost.peak}
    asked = {"cost": name_of(plan.request.model), "value": plan.cost.value, "explicit": plan.request.explicit}
    factors = [json.dumps(_record(k, structure)) for k, structure in enumerate(plan.factors)]
    listed = ",\n    ".join(factors)
    bracketing = brackets.text(len(factors), plan.tree)
    return (
        f'{{\n  "plan": 1,\n  "mode": {json.dumps(plan.mode)},\n  "bracketing": {bracketing},\n'
        f'  "factors": [\n    {listed}\n  ],\n  "cost": {json.dumps(cost)},\n  "request": {json.dumps(asked)}\n}}\n'
    )


def _record(k: int, structure: Structure) -> dict[str, Any]:
    kind = structure.kind
    kind = kind if len(kind) <= 80 else kind[:77] + "..."
    return {"factor": k, "kind": kind, "dom": spaces_text(structure.dom), "cod": spaces_text(structure.cod)}


def from_json(text: str, program: Any, *primals_or_spaces: Any) -> Plan:
    """See `Plan.from_json`."""
    base = _planned(program, *primals_or_spaces)
    if not isinstance(text, str):
        raise errors.PlanError(errors.no_plan_text(text))
    data, bracketing = _read(text)
    if "order" in data:
        from catad.planner.network.exchange import replayed

        return replayed(data, base)
    _check_factors(data, base)
    n = len(base.factors)
    tree = brackets.read(bracketing, n)
    mode = data.get("mode", "by hand")
    if mode not in (*MODES, "by hand"):
        raise errors.PlanError(errors.unknown_mode(mode))
    if mode != "by hand":
        known = base if base.mode == mode else base.edited(mode)
        if brackets.text(n, known.tree) == brackets.text(n, tree):
            return known
    return base.edited(brackets.nested(n, tree))


def _planned(program: Any, *primals_or_spaces: Any) -> Plan:
    if isinstance(program, Plan):
        return program
    from catad.planner.entry import plan

    return plan(program, *primals_or_spaces)


def _read(text: str) -> tuple[dict[str, Any], Any]:
    """The fields of the text; the bracketing is read on its own, since it may be nested as deep as the chain is long."""
    found = _BRACKETING.search(text)
    bracketing: Any = None
    rest = text
    if found is not None:
        bracketing, end = brackets.parse(text, found.end())
        cut = re.sub(r"[^\n]", " ", text[found.end() : end])
        rest = text[: found.end()] + "0" + cut[1:] + text[end:]  # positions in messages stay those in the text
    try:
        data = json.loads(rest)
    except json.JSONDecodeError as error:
        raise errors.PlanError(errors.malformed_plan(error.msg, error.lineno, error.colno)) from error
    except RecursionError as error:
        raise errors.PlanError(errors.malformed_plan("lists nested too deep outside the bracketing", 1, 1)) from error
    if not isinstance(data, dict):
        raise errors.PlanError(errors.malformed_plan("a plan is a JSON object", 1, 1))
    for key in () if "order" in data else ("bracketing", "factors"):
        if key not in data:
            raise errors.PlanError(errors.missing_field(key))
    return data, data.get("bracketing") if found is None else bracketing


def _check_factors(data: dict[str, Any], base: Plan) -> None:
    """The text lists its factors: they must be those of the program."""
    listed = data["factors"]
    if not isinstance(listed, list):
        raise errors.PlanError(errors.bad_field("factors", listed, "a list of factors"))
    if len(listed) != len(base.factors):
        raise errors.PlanError(errors.other_program(f"it has {len(base.factors)} factors, the text lists {len(listed)}"))
    for k, (record, structure) in enumerate(zip(listed, base.factors, strict=True)):
        if not isinstance(record, dict):
            raise errors.PlanError(errors.bad_field(f"factors[{k}]", record, "an object with factor, kind, dom and cod"))
        for key, expected in _record(k, structure).items():
            if record.get(key) != expected:
                given = errors.abbreviated(record.get(key))
                difference = f"factors[{k}].{key} is {given} in the text, {expected!r} in the program"
                raise errors.PlanError(errors.other_program(difference))

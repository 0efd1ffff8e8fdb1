"""Plans as JSON text, and back: a plan that was edited by hand is checked against the program it is for."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from catad import errors
from catad.planner import brackets
from catad.planner.request import MODES, name_of
from catad.planner.strategy import Strategy

if TYPE_CHECKING:
    from catad.planner.plan import Plan

_BRACKETING = re.compile(r'"bracketing"\s*:\s*(?=[\[\d-])')


def to_json(plan: Plan) -> str:
    """See `Plan.to_json`."""
    own, cost = plan.strategy, plan.cost
    amounts = {"operations": cost.operations, "bytes": cost.bytes, "peak": cost.peak}
    asked = {"cost": name_of(plan.request.model), "value": cost.value, "explicit": plan.request.explicit}
    name, parts = own.records()
    listed = ",\n    ".join([json.dumps(part) for part in parts])
    return (
        f'{{\n  "plan": 1,\n  "mode": {json.dumps(own.mode)},\n  "{own.kind}": {own.text},\n'
        f'  "{name}": [\n    {listed}\n  ],\n  "cost": {json.dumps(amounts)},\n  "request": {json.dumps(asked)}\n}}\n'
    )


def from_json(text: str, base: Plan) -> Plan:
    """The plan of a text for what another plan is for; raises `PlanError`, naming the place, where it is none or does not fit."""
    if not isinstance(text, str):
        raise errors.PlanError(errors.no_plan_text(text))
    data = _read(text)
    if "order" in data and base.kind == "bracketing":
        base = base.edited("elimination")
    own = base.strategy
    if own.kind not in data:
        raise errors.PlanError(errors.missing_field(own.kind))
    _check_parts(data, own)
    choice = own.read(data[own.kind])
    mode = data.get("mode", "by hand")
    if mode not in (*MODES, "by hand"):
        raise errors.PlanError(errors.unknown_mode(mode))
    edited = base.edited(choice)
    known = edited if mode == "by hand" else base if own.kind == "order" or base.mode == mode else base.edited(mode)
    return known if known.kind == edited.kind and known.strategy.text == edited.strategy.text else edited


def _read(text: str) -> dict[str, Any]:
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
    return data if found is None else data | {"bracketing": bracketing}


def _check_parts(data: dict[str, Any], own: Strategy) -> None:
    """The text lists what it is for: that must be what the program has."""
    name, expected = own.records()
    if name not in data:
        raise errors.PlanError(errors.missing_field(name))
    listed = data[name]
    if not isinstance(listed, list):
        raise errors.PlanError(errors.bad_field(name, listed, f"a list of {name}"))
    if len(listed) != len(expected):
        raise errors.PlanError(errors.other_program(f"it has {len(expected)} {name}, the text lists {len(listed)}"))
    for k, (record, part) in enumerate(zip(listed, expected, strict=True)):
        if not isinstance(record, dict):
            fields = " and ".join(", ".join(part).rsplit(", ", 1))
            raise errors.PlanError(errors.bad_field(f"{name}[{k}]", record, f"an object with {fields}"))
        for key, value in part.items():
            if record.get(key) != value:
                given = errors.abbreviated(record.get(key))
                raise errors.PlanError(
                    errors.other_program(f"{name}[{k}].{key} is {given} in the text, {value!r} in the program")
                )

"""Plans as JSON text, and back: a plan that was edited by hand is checked against the program it is for."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from catad import errors
from catad.planner.chains import brackets
from catad.planner.costs.cost import is_amount
from catad.planner.memory.loop_snapshots import loops_in, records
from catad.planner.memory.recompute import boxes, parts_of
from catad.planner.memory.schedule import Runs
from catad.planner.request import COSTS, MODES, RESULTS, UNWRITTEN, WANTS, CostGiven, Request, Want, model_of, name_of
from catad.planner.strategy import Runnable, Strategy
from catad.vector.loops.snapshots import Rooms

if TYPE_CHECKING:
    from catad.category.spaces import Space
    from catad.category.terms import D
    from catad.planner.plan import Plan

VERSION = 1  # of the text

_BRACKETING = re.compile(r'"bracketing"\s*:\s*(?=[\[\d-])')


class Written(NamedTuple):
    """The content of a text, its fields checked as far as no program is needed: see `Request`, and `PlannedMorphism` of plans.

    What `asked`, the field "request", lacks, the reader takes from the program at hand, or it is the default.
    """

    data: dict[str, Any]
    mode: str
    asked: dict[str, Any]

    @property
    def want(self) -> Want | None:
        """The derivative that was asked for."""
        return self.asked.get("want")

    @property
    def is_chain(self) -> bool:
        """True where it is a plan of `ct.plan_chain`."""
        return "steps" in self.data

    def request(self, cost: CostGiven | None, base: Request) -> Request:
        """The request of the text, by the given cost if there is one; `base` has what the text does not say."""
        name = self.asked.get("cost", name_of(base.model))
        if cost is not None:
            model = model_of(cost)
        elif name == name_of(base.model):
            model = base.model
        elif name in UNWRITTEN:
            raise errors.PlanError(errors.unwritten_cost(name))
        else:
            model = model_of(name)
        said = {key: self.asked.get(key, getattr(base, key)) for key in ("memory", "budget", "explicit", "result")}
        return Request(self.mode if self.mode in MODES else "auto", model, **said)

    def again(self, source: D | None, dom: Space | None, base: tuple[Runs, Rooms] = ((), ())) -> tuple[Runs, Rooms]:
        """The runs of boxes that the text recomputes, and the rooms of loops; only a program has some.

        `base` has what the text does not say.
        """
        loops: list[dict[str, int | None]] | None = self.asked.get("loops")
        runs: Runs = tuple([tuple(run) for run in self.asked.get("recomputed", base[0])])
        rooms: Rooms = base[1] if loops is None else tuple([record["states"] for record in loops])
        if source is None or dom is None:
            if runs or rooms:
                raise errors.PlanError(errors.text_recomputes())
            return (), ()
        if runs and max(end for _, end in runs) > boxes(source):
            raise errors.PlanError(errors.bad_field("request.recomputed", runs, f"boxes 0 to {boxes(source)}"))
        known = records(loops_in(parts_of(source), dom), rooms) if rooms else []
        if loops is not None and known != loops:
            raise errors.PlanError(errors.other_program(f"the loops are {known} in the program, {[*loops]} in the text"))
        for k, record in enumerate(known):
            whole = record["states"] is not None or record["steps"] is not None
            _check(f"request.loops[{k}].states", None, whole, "a number of states, since the steps of a while loop are not known")
        return runs, rooms


def to_json(plan: Plan) -> str:
    """See `Plan.to_json`."""
    own, cost, request, program = plan.strategy, plan.cost, plan.request, plan.program
    amounts = {"operations": cost.operations, "bytes": cost.bytes, "peak": cost.peak}
    asked = {
        "cost": name_of(request.model),
        "value": cost.value,
        "explicit": request.explicit,
        "result": request.result,
        "want": "jacobian" if program is None else program.want,
        "memory": _number(request.memory),
        "budget": _number(request.budget),
        "recomputed": [] if program is None else program.recomputed,
        "loops": [] if program is None else records(loops_in(parts_of(program.source), program.dom), program.rooms),
    }
    name, parts = own.records()
    listed = ",\n    ".join([json.dumps(part) for part in parts])
    return (
        f'{{\n  "plan": {VERSION},\n  "mode": {json.dumps(own.mode)},\n  "{own.kind}": {own.text},\n'
        f'  "{name}": [\n    {listed}\n  ],\n  "cost": {json.dumps(amounts)},\n  "request": {json.dumps(asked)}\n}}\n'
    )


def _number(limit: Any) -> Any:
    """A limit as a number that JSON knows."""
    return limit.item() if isinstance(limit, np.generic) else limit


def read(text: str) -> Written:
    """The content of a text; raises `PlanError`, naming the place, where it is no text of a plan."""
    if not isinstance(text, str):
        raise errors.PlanError(errors.no_plan_text(text))
    data = _fields(text)
    version, mode, asked = data.get("plan", VERSION), data.get("mode", "by hand"), data.get("request", {})
    _check("plan", version, type(version) is int and version == VERSION, f"{VERSION}, the version that this catad reads")
    if mode not in (*MODES, "by hand"):
        raise errors.PlanError(errors.unknown_mode(mode, "mode"))
    _check("cost", data.get("cost", {}), isinstance(data.get("cost", {}), dict), "an object")
    _check("request", asked, isinstance(asked, dict), "an object")
    for key in asked:
        _check("request", key, key in WRITTEN, f"the fields {', '.join(WRITTEN)}")
    for key, (fits, expected) in WRITTEN.items():
        if key in asked:
            _check(f"request.{key}", asked[key], fits(asked[key]), expected)
    _check_runs(asked.get("recomputed", []))
    _check_loops(asked.get("loops", []))
    return Written(data, mode, asked)


RUNS = "pairs of boxes [first, end] in order, first < end, after each other or within each other"
LOOPS = "loops with steps, bytes and states: a number of states at least 1, or null"


def _one_of(names: Sequence[str]) -> tuple[Callable[[Any], bool], str]:
    return lambda value: value in names, f"one of {', '.join(names)}"


# the fields of "request", and what each may be
WRITTEN: dict[str, tuple[Callable[[Any], bool], str]] = {
    "cost": _one_of((*COSTS, *UNWRITTEN)),
    "value": (lambda _: True, ""),
    "explicit": (lambda value: isinstance(value, bool), "true or false"),
    "result": _one_of(RESULTS),
    "want": _one_of(WANTS),
    "memory": (lambda value: value is None or is_amount(value), "null, or bytes, at least 0"),
    "budget": (lambda value: value is None or (is_amount(value) and value > 0), "null, or a number above 0"),
    "recomputed": (lambda value: isinstance(value, list), RUNS),
    "loops": (lambda value: isinstance(value, list), f"a list of {LOOPS}"),
}


def _check(key: str, value: Any, holds: bool, expected: str) -> None:
    if not holds:
        raise errors.PlanError(errors.bad_field(key, value, expected))


def _check_loops(loops: list[Any]) -> None:
    for k, record in enumerate(loops):
        whole = isinstance(record, dict) and record.keys() == {"steps", "bytes", "states"}
        _check(f"request.loops[{k}]", record, whole, LOOPS)
        states = record["states"]
        _check(f"request.loops[{k}].states", states, states is None or (type(states) is int and states > 0), LOOPS)


def _check_runs(runs: list[Any]) -> None:
    """Runs of boxes are in order, none empty; each stands before those within it."""
    around: list[list[int]] = []
    done = 0
    for k, run in enumerate(runs):
        whole = isinstance(run, list) and len(run) == 2 and all(type(n) is int for n in run)
        _check(f"request.recomputed[{k}]", run, whole and done <= run[0] < run[1], RUNS)
        while around and around[-1][1] <= run[0]:
            around.pop()
        _check(f"request.recomputed[{k}]", run, not around or (run[1] <= around[-1][1] and run != around[-1]), RUNS)
        around.append(run)
        done = run[0]


def chosen(written: Written, base: Plan) -> Plan:
    """The plan of a text for what another plan is for; raises `PlanError`, naming the place, where it does not fit."""
    data, mode = written.data, written.mode
    if "order" in data and base.kind == "bracketing":
        base = base.edited("elimination")
    elif "bracketing" in data and "order" not in data and isinstance(base.strategy, Runnable) and base.kind == "order":
        base = base.edited("auto")
    own = base.strategy
    if own.kind not in data:
        raise errors.PlanError(errors.missing_field(own.kind))
    if written.asked.get("loops") and base.runs_alone and _other_rooms(data, own):
        return base
    _check_parts(data, own)
    choice = own.read(data[own.kind])
    edited = base.edited(choice)
    same = mode != "by hand" or base.mode == mode
    return base if same and base.kind == edited.kind and own.text == edited.strategy.text else edited


def _other_rooms(data: dict[str, Any], own: Strategy) -> bool:
    """Whether a text lists other factors between the same spaces: its loops had other rooms, from which factors follow."""
    name, expected = own.records()
    listed = data.get(name)
    if listed == expected or not isinstance(listed, list) or not all(isinstance(part, dict) for part in listed):
        return False
    ends = [(parts[0].get("dom"), parts[-1].get("cod")) for parts in (listed, expected) if parts]
    return len(ends) == 2 and ends[0] == ends[1]


def _fields(text: str) -> dict[str, Any]:
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

"""The peer's published cases: expected numbers are read from the folder that CATAD_OUTSIDE_DATA names, and none is kept here.

Every case runs in every mode: what was asked of the peer's reverse mode is asked of forward mode and of the planner as well.
Everything is computed in float64, whatever the type in the record; only a conversion to float32 stays one.
"""

from __future__ import annotations

import functools
import json
import os
import re
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from .futhark_programs import NOT_COVERED, PREFIX, PROGRAMS
from .programs import Data, Program

FOLDER = os.environ.get("CATAD_OUTSIDE_DATA", "")
FILE = Path(FOLDER) / "peer-cases" / "futhark-ad.json"
EXACT = 1e-12

THERE = bool(FOLDER) and FILE.is_file()

pytestmark = pytest.mark.skipif(not THERE, reason="CATAD_OUTSIDE_DATA names no folder with peer-cases/futhark-ad.json")


@functools.cache
def records() -> dict[str, Any]:
    if not THERE:
        return {}
    with FILE.open(encoding="utf-8") as file:
        return {record["name"].removeprefix(PREFIX): record for record in json.load(file)["records"]}


LONG = {("stripmine0", "0.2"): ("reverse",)}
"""Cases of a million steps, half a minute each: only the last way to write them, in these modes, and only with --slow."""


def chosen(literal: bool) -> list[Any]:
    """Every case of one kind, in every way its program is written and every mode."""
    out = []
    for name, record in records().items():
        for case in record["cases"]:
            if (case["data"] == "literal") == literal:
                long = LONG.get((name, case["case"]))
                programs = list(enumerate(PROGRAMS.get(name, ())))
                for variant, program in programs[-1:] if long else programs:
                    key = f"{name}-{case['case']}-{variant}"
                    modes = long or program.modes if literal else ("",)
                    marks = [pytest.mark.slow] if long or name.endswith("benchtests") else []
                    out += [pytest.param(record, case, program, m, id=f"{key}-{m}".rstrip("-"), marks=marks) for m in modes]
    return out


def array(given: Any, program: Program) -> Any:
    found = np.array(given["value"])
    if given["name"] in program.whole.split() or given["dtype"] == "bool":
        return found
    return found.astype(np.float64)


def inputs(case: Any, program: Program) -> Data:
    return {given["name"]: array(given, program) for given in case["inputs"]}


def wanted(record: Any, case: Any) -> list[Any]:
    """The expected arrays; where the file says that its numbers are wrong, those that it gives instead."""
    erratum = record.get("peer_erratum")
    out = []
    for expected in case["expected"]:
        number = expected["value"]
        if erratum and erratum["case"] == case["case"]:
            number = erratum["corrected"][expected["name"]]
        out.append(np.array(number, dtype=np.float64))
    return out


def as_numbers(found: Any, like: Any) -> Any:
    """What was read, as an array; an integer or a boolean has the tangent `()`, which stands for zeros."""
    return np.zeros(like.shape) if isinstance(found, tuple) and not found else np.asarray(found, np.float64)


def check(found: Any, expected: Any, program: Program) -> None:
    got = as_numbers(found, expected)
    assert got.shape == expected.shape
    allowed = program.rounded or EXACT * np.maximum(1.0, np.abs(expected))
    assert np.all(np.abs(got - expected) <= allowed), (got, expected)


@pytest.mark.quick(240)
@pytest.mark.parametrize(("record", "case", "program", "mode"), chosen(True))
def test_published_numbers(record: Any, case: Any, program: Program, mode: str) -> None:
    data = inputs(case, program)
    found = program.reading(case["case"])(program.at(data, mode), data)
    expected = wanted(record, case)
    assert len(found) == len(expected)
    for got, want in zip(found, expected, strict=True):
        check(got, want, program)


def drawn(case: Any, program: Program, seed: int) -> Data:
    """Data of our own in the sizes that the record names."""
    spec = case["random_spec"].split()
    shapes = [tuple(map(int, re.findall(r"\[(\d+)\]", word))) for word in spec if word.startswith("[")]
    numbers = [float(re.sub(r"[fiu]\d+$", "", word)) for word in spec if not word.startswith("[")]
    assert program.random is not None
    data = program.random(shapes, numbers, np.random.default_rng(seed), case["case"])
    kept = program.whole.split()
    return {k: np.asarray(v) if k in kept else np.asarray(v, np.float64) for k, v in data.items()}


@pytest.mark.quick(2)
@pytest.mark.parametrize(("record", "case", "program", "mode"), chosen(False))
def test_all_modes_agree(record: Any, case: Any, program: Program, mode: str) -> None:
    """Cases that state no numbers: the property is that the modes give the same derivative."""
    data = drawn(case, program, zlib.crc32(f"{record['name']} {case['case']}".encode()))
    modes = program.random_modes or program.modes
    first, *others = [program.reading(case["case"])(program.at(data, m), data) for m in modes]
    assert any(np.any(part) for part in first)
    for parts in others:
        for got, want in zip(parts, first, strict=True):
            got, want = np.asarray(got), np.asarray(want)
            assert got.shape == want.shape
            assert np.all(np.abs(got - want) <= EXACT * max(1.0, np.abs(want).max()))


def test_every_record_is_in_the_table_or_named_as_not_covered() -> None:
    there = set(records())
    assert set(PROGRAMS).isdisjoint(NOT_COVERED)
    assert there == set(PROGRAMS) | set(NOT_COVERED)
    assert all(reason for reason in NOT_COVERED.values())
    assert len(chosen(True)) and len(chosen(False))


def test_the_published_numbers_that_are_said_to_be_wrong_differ_from_the_derivative() -> None:
    """So that nobody tunes a program to them."""
    found = [record for record in records().values() if "peer_erratum" in record]
    assert found
    for record in found:
        (case,) = [c for c in record["cases"] if c["case"] == record["peer_erratum"]["case"]]
        published = [np.array(expected["value"]) for expected in case["expected"]]
        assert any(not np.array_equal(a, b) for a, b in zip(published, wanted(record, case), strict=True))

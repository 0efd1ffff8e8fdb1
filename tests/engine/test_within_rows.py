"""Reads at a position in a row that is the reader's own are reads along that row: the same numbers, and known to stay there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.category.wiring import Wiring
from catad.engine.cpu.whole import parallel_units
from catad.engine.program import program_of
from catad.engine.stages.within_rows import within_rows
from catad.linear.families.gather import Gathered

from .cpu_support import assert_near, assert_same
from .whole_support import anew

RNG = np.random.default_rng(17)


@ct.kernel
def looked_up(x: Any, p: Any, o: Any) -> None:
    s = ct.simt.shared.array(8, x.dtype)
    i, t = ct.simt.grid(1), ct.simt.threadIdx.x
    s[t] = np.exp(x[i])
    ct.simt.syncthreads()
    if p[i] < 6:
        o[i] = s[p[i]] * x[i] + s[(p[t] + t) % 8]


@ct.kernel
def over_two(x: Any, p: Any, o: Any) -> None:
    s = ct.simt.shared.array(4, x.dtype)
    i, j, t = ct.simt.blockIdx.x, ct.simt.blockIdx.y, ct.simt.threadIdx.x
    s[t] = np.exp(x[i, j, t])
    ct.simt.syncthreads()
    o[i, j, t] = s[p[t]] - x[i, j, t]


@ct.kernel
def of_rows(m: Any, p: Any, o: Any) -> None:
    i, j = ct.simt.grid(2)
    o[i, j] = m[i, p[j]] * m[p[i], j]


@ct.kernel
def of_others(m: Any, p: Any, o: Any) -> None:
    i, j = ct.simt.grid(2)
    o[i, j] = m[p[j], j] + m[p[i], p[j]]


def floats(*shape: int) -> Any:
    return RNG.normal(size=shape)


def indices(n: int, *shape: int) -> Any:
    return RNG.integers(0, n, shape)


LAUNCHES: dict[str, tuple[ct.D, tuple[Any, ...], tuple[int, ...]]] = {
    "a block": (looked_up[5, 8].returning("o", like="x"), (floats(40), indices(8, 40)), (1, 1)),
    "blocks of two axes": (over_two[(3, 2), 4].returning("o", like="x"), (floats(3, 2, 4), indices(4, 4)), (2,)),
    "rows": (of_rows[(3, 2), (2, 4)].returning("o", like="m"), (floats(6, 8), indices(6, 8)), (0, 1)),
    "no rows": (of_others[(3, 2), (2, 4)].returning("o", like="m"), (floats(6, 8), indices(6, 8)), (0, 0)),
}


def wiring_of(f: ct.D, given: tuple[Any, ...]) -> Wiring:
    return program_of(f, ct.space_of(given))[0].wiring


def axes(wiring: Wiring) -> list[int]:
    """Along which axis each box reads."""
    return sorted([box.primitive.how.axis for box in wiring.boxes if isinstance(box.primitive, Gathered)])


@pytest.mark.parametrize("name", LAUNCHES)
def test_reads_along_rows_are_found_and_no_others(name: str) -> None:
    f, given, want = LAUNCHES[name]
    wiring = wiring_of(f, given)
    assert set(axes(wiring)) == {0}
    assert axes(within_rows(wiring)) == sorted(want)


@pytest.mark.parametrize("by_rows", [False, True])
@pytest.mark.parametrize("name", LAUNCHES)
def test_the_numbers_are_the_same(name: str, by_rows: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    f, given, _ = LAUNCHES[name]
    if by_rows:
        monkeypatch.setattr(parallel_units, "CACHE", 0)
    anew(monkeypatch)
    with ct.use_engine("reference"):
        want = np.asarray(f(*given))
    with ct.use_engine("cpu"):
        assert_near([np.asarray(f(*given))], [want], 16.0, name)


def test_the_array_code_of_what_is_written_reads_the_same() -> None:
    for f, given, _ in LAUNCHES.values():
        wiring = wiring_of(f, given)
        made = []
        for one in (wiring, within_rows(wiring)):
            there = dict(zip(one.inputs, given, strict=True))
            for box in one.boxes:
                out = box.primitive.kernel(one.spaces(box.ins))(np, *[there[k] for k in box.ins])
                there.update(zip(box.outs, out if len(box.outs) > 1 else (out,), strict=True))
            made.append(there[one.outputs[0]])
        assert_same([made[1]], [made[0]])


def test_what_a_block_reads_at_indices_shares_rows_with_what_it_wrote() -> None:
    x, p = floats(32 * 4096), indices(8, 32 * 4096)
    f = looked_up[4 * 4096, 8].returning("o", like="x")
    with ct.use_engine("cpu"):
        assert " / " in f.source("steps", ct.space_of((x, p)))

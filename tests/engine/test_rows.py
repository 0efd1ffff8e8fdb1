"""Stages that run a few rows at a time give the bits that they give one after the other, and NumPy's numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.engine.cpu import rows
from catad.engine.cpu.whole import parallel_units
from catad.engine.stages import row_blocks
from catad.engine.stages.access import Access

from .cpu_support import printed_anew
from .whole_support import anew

pytestmark = pytest.mark.full_code

RNG = np.random.default_rng(3)


def softmax(x: Any, v: Any) -> Any:
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True) * v


def norm(x: Any, v: Any) -> Any:
    m = np.mean(x, axis=1, keepdims=True)
    return (x - m) / np.sqrt(np.mean((x - m) ** 2, axis=1, keepdims=True) + 1e-5) * v


def of_columns(x: Any, v: Any) -> Any:
    return softmax(x.T, 1.0).T * v


def two_axes(x: Any, v: Any) -> Any:
    y = np.exp(x.reshape(23, 1, 41) * v)
    return y / np.sum(y, axis=(1, 2), keepdims=True)


def taken(x: Any, v: Any) -> Any:
    y = np.exp(x) * v
    at = np.argsort(v)
    return np.take(y, at, axis=1) / np.sum(y, axis=1, keepdims=True)


def edges(x: Any, v: Any) -> Any:
    """What depends on the row: the first ones are others."""
    y = np.exp(x) * v
    return y / np.sum(y, axis=1, keepdims=True) + np.pad(y[:4], ((0, x.shape[0] - 4), (0, 0)))


def scanned(x: Any, v: Any) -> Any:
    y = np.cumsum(np.exp(x) * v, axis=1)
    return y / y[:, -1:]


def several(x: Any, v: Any) -> Any:
    y = np.exp(x)
    s = np.sum(y, axis=1)
    z = y * (v / s[:, None])
    return z, np.max(z, axis=1), s


def numbered(x: Any, v: Any) -> Any:
    y = np.exp(x) * np.arange(x.shape[0])[:, None]
    return y - np.sum(y, axis=1, keepdims=True) * v


PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "softmax": softmax,
    "norm": norm,
    "columns": of_columns,
    "two axes": two_axes,
    "taken": taken,
    "edges": edges,
    "scanned": scanned,
    "several results": several,
    "numbered": numbered,
}
ARRAYS: dict[str, Callable[[Any], Any]] = {
    "in order": lambda x: x,
    "turned": lambda x: np.asfortranarray(x),
    "backwards": lambda x: x[::-1].copy()[::-1],
    "between others": lambda x: np.repeat(np.repeat(x, 2, axis=0), 3, axis=1)[::2, ::3],
}


@pytest.fixture
def by_rows(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Groups run by rows however small they are, two or three at a time; the groups that did."""
    found: list[Any] = []
    given = rows.by_rows

    def noted(*args: Any) -> Any:
        made = given(*args)
        found.extend([] if made is None else [made])
        return made

    monkeypatch.setattr(parallel_units, "CACHE", 0)
    monkeypatch.setattr(parallel_units, "by_rows", noted)
    monkeypatch.setattr(rows, "CACHE", 64)
    monkeypatch.setattr(rows, "MOST", 1 << 40)
    anew(monkeypatch)
    return found


def everything(engine: str, name: str, x: Any, v: Any) -> list[Any]:
    """Values, tangents and cotangents."""
    f = ct.function(lambda x, v: PROGRAMS[name](x, v))
    with ct.use_engine(engine):
        value, pullback = ct.vjp(f, x, v)
        values = value if isinstance(value, tuple) else (value,)
        bars = [np.cos(np.arange(y.size)).reshape(y.shape).astype(y.dtype) for y in values]
        back = pullback(tuple(bars) if isinstance(value, tuple) else bars[0])
        forward = ct.jvp(f, (x, v), (np.sin(x), np.cos(v)))[1]
    return [*values, *back, *(forward if isinstance(forward, tuple) else [forward])]


@pytest.mark.quick(14)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("lie", ARRAYS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_bits_are_those_of_stage_after_stage(
    name: str, lie: str, threads: int, by_rows: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    x, v = ARRAYS[lie](RNG.normal(size=(23, 41))), RNG.normal(size=41)
    monkeypatch.setattr(rows, "GRAIN", 1)
    with ct.num_threads(threads):
        made = everything("cpu", name, x, v)
    assert any(one.size < one.count and one.count % one.size for one in by_rows)  # the last turn is moved back
    monkeypatch.setattr(parallel_units, "CACHE", float("inf"))
    anew(monkeypatch)
    for got, want in zip(made, everything("cpu", name, x, v), strict=True):
        np.testing.assert_array_equal(got, want)
    want = PROGRAMS[name](x, v)
    for got, plain in zip(made, want if isinstance(want, tuple) else (want,), strict=False):
        np.testing.assert_allclose(got, plain, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("shape", [(2, 3), (1, 5), (3, 1), (2, 1)])
def test_few_rows_and_short_ones(shape: tuple[int, int], by_rows: list[Any]) -> None:
    x = RNG.normal(size=shape)
    with ct.use_engine("cpu"):
        np.testing.assert_allclose(ct.function(softmax)(x, 2.0), softmax(x, 2.0), rtol=1e-14)


def test_large_groups_run_by_rows_on_their_own() -> None:
    x = RNG.normal(size=(400, 300))
    f = ct.function(lambda x: softmax(x, 1.0))
    with ct.use_engine("cpu"):
        text = f.source("steps", ct.space_of(x))
        np.testing.assert_allclose(f(x), softmax(x, 1.0), rtol=1e-13)
    assert text.count("\n") == 0 and " / " in text


def test_what_depends_on_a_group_runs_behind_it() -> None:
    """A fold over all rows lies between stages that share rows."""
    x = RNG.normal(size=(64, 900))

    def f(x: Any) -> Any:
        e = np.exp(x)
        s = np.sum(e, axis=1, keepdims=True)
        return e / s + np.sum(s) * (e - s)

    with ct.use_engine("cpu"):
        np.testing.assert_allclose(ct.function(f)(x), f(x), rtol=1e-12)


def planted_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read stays where it is."""
    monkeypatch.setattr(row_blocks, "moved", lambda access, at: access)


def planted_guards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards that depend on the row are those of the first turn."""
    given = row_blocks.moved
    monkeypatch.setattr(row_blocks, "moved", lambda access, at: Access(given(access, at).axes, access.guards, access.fill))


PLANTED = [(planted_moves, "softmax"), (planted_guards, "edges")]


@pytest.mark.parametrize(("plant", "name"), PLANTED)
def test_planted_bugs_are_found(plant: Any, name: str, by_rows: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    printed_anew(monkeypatch)
    plant(monkeypatch)
    x, v = RNG.normal(size=(23, 41)), RNG.normal(size=41)
    with ct.use_engine("cpu"):
        assert not np.allclose(ct.function(lambda x, v: PROGRAMS[name](x, v))(x, v), PROGRAMS[name](x, v))
    assert by_rows
    monkeypatch.undo()
    anew(monkeypatch)

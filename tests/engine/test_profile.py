"""Profiles: what is recorded, when, and how it is shown."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest

import catad as ct
from catad.engine import profile as module
from catad.engine.cpu.run import target


@pytest.fixture
def copy_of_10(monkeypatch):
    """A machine that copies 10 GB/s: nothing is measured."""
    monkeypatch.setattr(module, "copy_bandwidth", lambda: 1e10)


def test_sums_by_name_and_counts_each_compilation_once(copy_of_10) -> None:
    with ct.profile() as p:
        for _ in range(3):
            module.record("map", [0.25], 0.5, 1_000_000_000)
        module.record("map", [0.5], 0.5, 1_000_000_000)  # the same stage on another layout: another kernel
        module.record("scan", [0.0], 0.0, 0)
    first, second = p.stages
    assert (first.name, first.calls, first.compile_seconds, first.run_seconds, first.bytes) == (
        "map",
        4,
        0.75,
        2.0,
        4 * 10**9,
    )
    assert first.bandwidth == 2e9
    assert (second.name, second.calls, second.bandwidth) == ("scan", 1, 0.0)


def test_nothing_is_recorded_outside() -> None:
    assert not module.active()
    module.record("before", [0.0], 1.0, 1)
    with ct.profile() as p:
        assert module.active()
    module.record("after", [0.0], 1.0, 1)
    assert not module.active() and p.stages == []


def test_closed_by_an_error_too() -> None:
    with pytest.raises(ZeroDivisionError), ct.profile():
        raise ZeroDivisionError
    assert not module.active()


def test_profiles_inside_each_other_both_record() -> None:
    with ct.profile() as outer:
        module.record("a", [0.0], 1.0, 1)
        with ct.profile() as inner:
            module.record("b", [0.0], 1.0, 1)
        module.record("a", [0.0], 1.0, 1)
    assert [(s.name, s.calls) for s in outer.stages] == [("a", 2), ("b", 1)]
    assert [(s.name, s.calls) for s in inner.stages] == [("b", 1)]


def test_one_profile_is_open_once() -> None:
    with ct.profile() as p, pytest.raises(ct.EngineError, match="recorded already"):
        p.__enter__()
    with p:  # opened again, it goes on
        module.record("a", [0.0], 1.0, 1)
    assert len(p.stages) == 1


def test_threads_lose_no_call() -> None:
    def work() -> None:
        for _ in range(500):
            module.record("a", [0.5], 1.0, 2)

    with ct.profile() as p:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    (stage,) = p.stages
    assert (stage.calls, stage.bytes, stage.run_seconds, stage.compile_seconds) == (2000, 4000, 2000.0, 0.5)


def test_shown_as_text_html_and_json(copy_of_10) -> None:
    with ct.profile() as p:
        module.record("map <lambda>", [0.125], 0.25, 1_250_000_000)
    head, row, copy = p.table().splitlines()
    assert head.split() == ["stage", "calls", "compile", "ms", "run", "ms", "MB", "GB/s", "of", "copy"]
    assert row.split() == ["map", "<lambda>", "1", "125.0", "250.000", "1250.000", "5.00", "50%"]
    assert copy.startswith("copy: 10.0 GB/s")
    assert '<td class="catad-words">map &lt;lambda&gt;</td><td>1</td>' in p._repr_html_()
    assert repr(p) == "<profile of 1 stage, 1 call: compile 125.0 ms, run 250.000 ms, 1250.0 MB>"
    assert json.loads(p.to_json()) == {
        "copy_gigabytes_per_second": 10.0,
        "stages": [
            {
                "stage": "map <lambda>",
                "calls": 1,
                "compile_ms": 125.0,
                "run_ms": 250.0,
                "megabytes": 1250.0,
                "gigabytes_per_second": 5.0,
                "of_copy": 0.5,
            }
        ],
    }


def test_an_empty_profile_shows_itself(copy_of_10) -> None:
    p = ct.profile()
    assert repr(p) == "<profile of 0 stages, 0 calls: compile 0.0 ms, run 0.000 ms, 0.0 MB>"
    assert len(p.table().splitlines()) == 2 and json.loads(p.to_json())["stages"] == []


def test_the_copy_is_measured_once(monkeypatch) -> None:
    monkeypatch.setattr(module, "COPIED", 2**20)
    module.copy_bandwidth.cache_clear()
    try:
        first = module.copy_bandwidth()
        assert 1e8 < first < 1e13 and module.copy_bandwidth() == first
        assert module.copy_bandwidth.cache_info().misses == 1
    finally:
        module.copy_bandwidth.cache_clear()


M = 64
X = np.ones(M)
INDEX = np.arange(M) % 5


@pytest.mark.skipif(not target.available(), reason="there is no LLVM here")
@pytest.mark.parametrize(
    ("f", "x", "name", "moved"),
    [
        (ct.sin, (X,), "Map", 16 * M),
        (ct.histogram(ct.add, 0.0, 5), (INDEX, X), "ScatterAdded", 16 * M + 8 * 5),
        (ct.histogram(ct.add, 0.0, 8 * M), (INDEX, X), "ScatterAdded", 16 * M + 8 * 8 * M),  # places are set to zero
        (ct.histogram(ct.add, 0.0, 100 * M), (INDEX, X), "ScatterAdded", 16 * M + 8 * 100 * M),
        (ct.histogram(ct.maximum, -np.inf, 5), (INDEX, X), "FoldByBin", 16 * M + 8 * 5),
    ],
    ids=["stage", "sums by bin", "sparse scatter", "very sparse scatter", "fold by bin"],
)
def test_all_compiled_code_is_seen(copy_of_10, f: ct.D, x: tuple[np.ndarray, ...], name: str, moved: int) -> None:
    with ct.use_engine("cpu"), ct.profile() as p:
        for _ in range(2):
            f(*x)
    (stage,) = p.stages
    assert (stage.name, stage.calls, stage.bytes) == (name, 2, 2 * moved)
    assert stage.compile_seconds > 0 and stage.run_seconds > 0


def test_a_machine_is_compared_with_its_own_copies(copy_of_10) -> None:
    with ct.profile() as p:
        module.record("on the machine", [0.0], 1.0, 10**9, lambda: 2e9)
        module.record("on NumPy", [0.0], 1.0, 10**9)
    assert [stage.as_dict()["of_copy"] for stage in p.stages] == [0.5, 0.1]


def test_the_time_of_a_run_is_without_compiling() -> None:
    """A call that compiles takes hundreds of times as long as its run: of that nothing is in the sum of runs."""
    index, x = np.arange(20_000) % 19, np.ones(20_000)
    op = ct.monoid(lambda a, b: a * b + 0.25 * a - 0.25 * a, 1.0)  # of no other test: it is compiled here
    with ct.use_engine("cpu"), ct.profile() as found:
        ct.histogram(op, bins=19)(index, x)
    (stage,) = found.stages
    assert stage.run_seconds < stage.compile_seconds
    assert repr(stage).startswith("<stage FoldByBin: 1 calls, compile ")

"""Engines written outside the package: chosen by name, shown, profiled, refused where something is missing. Public names only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.testing import check_laws

pytestmark = pytest.mark.numpy_only  # the engine is for NumPy
X = np.linspace(0.5, 1.5, 6)
f = ct.exp >> ct.scan(lambda a, b: a * b, 1.0) >> ct.sum()


class Noted(ct.engine.Engine):
    """Each box by its kernel; notes the name of the primitive and the shapes of the results."""

    name = "noted"

    def __init__(self) -> None:
        self.noted: list[tuple[str, list[tuple[int, ...]]]] = []

    def runs(self, xp: Any) -> bool:
        return xp is np

    def steps(self, wiring: ct.primitive.Wiring) -> list[Any]:
        return [(self._noting(box, wiring), box.ins, box.outs) for box in wiring.boxes if box.ins]

    def _noting(self, box: ct.primitive.Box, wiring: ct.primitive.Wiring) -> Callable[..., Any]:
        kernel = box.primitive.kernel(wiring.spaces(box.ins))

        def run(xp: Any, *arrays: Any) -> Any:
            made = kernel(xp, *arrays)
            several = made if len(box.outs) > 1 else (made,)
            self.noted.append((type(box.primitive).__name__, [np.shape(one) for one in several]))
            return made

        return run


@pytest.fixture
def noted() -> Noted:
    made = Noted()
    ct.engine.register(made)
    return made


def test_an_engine_runs_what_it_is_chosen_for_and_nothing_else(noted: Noted) -> None:
    want = ct.value_and_grad(f)(X)
    assert not noted.noted
    with ct.use_engine("noted"):
        got = ct.value_and_grad(f)(X)
    assert all(np.array_equal(a, b) for a, b in zip(got, want, strict=True))
    assert {"Map", "Scan", "Recurred"} <= {name for name, _ in noted.noted} and ("Scan", [(6,)]) in noted.noted
    count = len(noted.noted)
    ct.value_and_grad(f)(X)
    ct.value_and_grad(f)(np.ones(10_000))
    assert len(noted.noted) == count, "an engine that is not automatic runs by name only"


def test_the_laws_hold_and_loops_run_their_bodies_on_the_engine(noted: Noted) -> None:
    with ct.use_engine("noted"):
        check_laws(f, X)
        check_laws(ct.checkpoint(f), X)
        noted.noted.clear()
        ct.iterate(ct.sin, 3)(X)
    assert [name for name, _ in noted.noted].count("Map") >= 3


def test_an_automatic_engine_is_taken_for_its_arrays(noted: Noted) -> None:
    noted.automatic = True
    ct.engine.register(noted)
    try:
        ct.sin(np.ones(5))
        assert noted.noted == [("Map", [(5,)])]
    finally:
        ct.engine.register(Noted())


def test_where_an_engine_cannot_run_the_array_code_does(noted: Noted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noted, "available", lambda: False)
    with ct.use_engine("noted"):
        assert np.array_equal(ct.sin(X), np.sin(X))
    assert not noted.noted


def test_another_engine_of_the_same_name_takes_its_place(noted: Noted) -> None:
    with ct.use_engine("noted"):
        ct.sin(X)
        other = Noted()
        ct.engine.register(other)
        ct.sin(X)
    assert len(noted.noted) == len(other.noted) == 1


class Showing(Noted):
    """As above, with a text for each step."""

    name = "showing"
    language = "names"

    def _noting(self, box: ct.primitive.Box, wiring: ct.primitive.Wiring) -> Callable[..., Any]:
        return Shown(type(box.primitive).__name__, super()._noting(box, wiring))


class Shown:
    def __init__(self, name: str, run: Callable[..., Any]) -> None:
        self.name, self.run = name, run

    def __call__(self, xp: Any, *arrays: Any) -> Any:
        return self.run(xp, *arrays)

    def prepared(self) -> str:
        return f"run {self.name}"


def test_the_code_of_an_engine_is_shown_by_its_language() -> None:
    ct.engine.register(Showing())
    space = ct.f64[6]
    assert (ct.sin >> ct.flip()).source("names", space) == "; stage 0: Map\nrun Map\n; stage 1: StridedCopy\nrun StridedCopy"
    with ct.use_engine("showing"):
        assert (ct.sin >> ct.flip()).source("steps", space) == "0: Map, compiled\n1: StridedCopy, compiled"
    with pytest.raises(ct.ArgumentError, match="'names'"):
        ct.sin.source("names of boxes", space)


def test_steps_without_names_have_those_of_their_boxes() -> None:
    class Plain(ct.engine.Engine):
        name = "plain"

        def runs(self, xp: Any) -> bool:
            return xp is np

        def steps(self, wiring: ct.primitive.Wiring) -> list[Any]:
            return [(lambda xp, *a, p=p: p.evaluate(xp, *a), ins, outs) for p, ins, outs in wiring.boxes if ins]

    with pytest.raises(ct.EngineError, match="an object, not a class"):
        ct.engine.register(Plain)  # type: ignore[arg-type]
    ct.engine.register(Plain())
    with ct.use_engine("plain"):
        assert (ct.sin >> ct.flip()).source("steps", ct.f64[6]) == "0: Map, array code\n1: StridedCopy, array code"


def test_what_is_no_engine_is_refused() -> None:
    class Nameless(ct.engine.Engine):
        def runs(self, xp: Any) -> bool:
            return False

    with pytest.raises(ct.EngineError, match="name, steps"):
        ct.engine.register(Nameless())
    with pytest.raises(ct.EngineError, match="runs"):
        ct.engine.register("numpy")  # type: ignore[arg-type]
    for name in ("auto", "cpu", "reference", ""):
        with pytest.raises(ct.EngineError, match="cannot have this name"):
            ct.engine.register(type("Other", (Noted,), {"name": name})())
    with pytest.raises(ct.EngineError, match="'unheard of'"):
        ct.use_engine("unheard of")

"""The loop that runs steps on arrays: order, memory, several results, programs within programs, one loop alone."""

from __future__ import annotations

import ast
import gc
import tracemalloc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.category.wiring import wire
from catad.engine.program import Program
from catad.engine.run import Run
from catad.values import buffers

ENGINE = Path(ct.engine.__file__).parent


class Wide(np.ndarray):
    """An array that can be referred to weakly."""


def test_an_array_goes_when_its_last_reader_has_run() -> None:
    made: list[Any] = []

    def next_of(xp: Any, x: Any) -> Any:
        alive = sum(ref() is not None for ref in made)
        assert alive <= 1, "only what is read is alive"
        result = (x + 1).view(Wide)
        made.append(weakref.ref(result))
        return result

    run = Run((0,), (4,), [(next_of, (k,), (k + 1,)) for k in range(4)])
    assert np.array_equal(run(np, [np.zeros(2)])[0], [4, 4])
    assert sum(ref() is not None for ref in made) == 0


def test_several_results_and_the_number_of_them() -> None:
    steps = [(lambda xp, a, b: [b, a], (0, 1), (2, 3)), (lambda xp, a, b: a - b, (2, 3), (4,))]
    assert Run((0, 1), (4, 2), steps)(np, [1.0, 5.0]) == [4.0, 5.0]
    with pytest.raises(ValueError, match="zip"):
        Run((0,), (1, 2), [(lambda xp, a: [a], (0,), (1, 2))])(np, [1.0])


@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_steps_before_between_and_after_programs_within(engine: str) -> None:
    f = ct.sin >> ct.iterate(ct.cos, 2) >> ct.exp >> ct.checkpoint(ct.iterate(ct.sin >> ct.checkpoint(ct.exp), 3)) >> ct.square
    x = np.array([0.25, 0.5])
    y = np.exp(np.cos(np.cos(np.sin(x))))
    for _ in range(3):
        y = np.exp(np.sin(y))
    with ct.use_engine(engine):
        program = Program(wire(f, ct.f64[2]))
        assert program.ready(np, [x]).nesting == (engine == "reference")  # compiled, it is one step
        np.testing.assert_allclose(program(np, [x])[0], y**2, rtol=1e-14)


def test_checks_see_what_boxes_are_given_and_run_only_what_that_needs() -> None:
    seen: list[Any] = []

    class Checked(ct.primitive.Primitive):
        arity = 1

        def typed(self, ins: Any) -> Any:
            return ins

        def evaluate(self, xp: Any, x: Any) -> Any:
            seen.append("ran")
            return x

        def check(self, xp: Any, x: Any) -> None:
            seen.append(float(x))

    program = Program(wire(ct.exp >> ct.primitive.box(Checked)() >> ct.sin, ct.f64[()]))
    program(np, [np.array(0.0)])
    assert seen == [1.0, "ran"], "checked once on what it is given, without running it, then run"
    program(np, [np.array(1.0)])
    assert seen == [1.0, "ran", "ran"]


def test_one_loop_runs_boxes() -> None:
    """Calls `kernel(xp, *arrays)` inside a loop stand in one place of the engine."""
    found = []
    for path in ENGINE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.For, ast.While)):
                calls = [n for n in ast.walk(node) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
                found += [path.name for call in calls if call.func.id == "kernel"]  # type: ignore[attr-defined]
    assert found == ["run.py"]


def test_array_code_holds_no_state_that_nothing_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop's last state that is not read is gone when the steps behind the loop need memory."""
    monkeypatch.setattr(buffers, "LARGE", 1 << 60)  # all memory comes from NumPy, so that tracemalloc sees it

    def rest(x: Any, t: Any) -> Any:
        return np.sum(np.sort(np.concatenate([x, x, x, x]) * t))

    def with_a_loop(x: Any) -> Any:
        s, t = x, 0.0
        for _ in range(20):
            s = np.sin(s) * 0.5
            t = t + s[0]
        return rest(x, t)

    x, peaks = np.random.default_rng(0).random(50_000), list[float]()
    for f in (ct.function(with_a_loop), ct.function(lambda x: rest(x, x[0]))):
        with ct.use_engine("reference"):
            f(x)
            gc.collect()
            tracemalloc.start()
            try:
                f(x)
                peaks.append(tracemalloc.get_traced_memory()[1] / x.nbytes)
            finally:
                tracemalloc.stop()
    assert peaks[0] < peaks[1] + 0.5

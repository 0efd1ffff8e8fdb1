"""What first calls compile, and what later calls leave out: counted, never timed."""

from __future__ import annotations

import signal
import sys

import numpy as np
import pytest

import catad as ct
from catad import calling
from catad.engine.program import program_of
from catad.engine.stages.layout import FOLDS, LINE, Ready, layout, ready
from catad.engine.stages.partition import MOST_ARRAYS
from catad.engine.stages.stage import Stage

from .compiling import counts
from .cpu_support import items, on

__all__ = ["counts"]


def scaled(many: int) -> ct.D:
    """So many arrays, all times one number."""
    parts = [ct.fork(ct.proj(k), ct.proj(many)) >> ct.mul for k in range(many)]
    return ct.fork(*parts)


def test_many_maps_that_share_a_number_share_kernels_and_no_kernel_has_many_arrays(counts, tmp_path, monkeypatch):
    monkeypatch.setenv("CATAD_CACHE_DIR", str(tmp_path))
    many = 96
    f = scaled(many)
    dom = ct.Product((*[ct.f64[7]] * many, ct.f64[()]))
    for item in items(f, dom):
        assert isinstance(item, Stage) and len(item.inputs) <= MOST_ARRAYS + 16
    x = (*np.random.default_rng(0).standard_normal((many, 7)), np.float64(0.3))
    assert all(np.array_equal(a, b) for a, b in zip(on("cpu", f, x), on("reference", f, x), strict=True))
    assert counts["compiled"] + counts["reused"] <= 2  # one kernel for all full stages, one for the rest


def test_maps_beside_each_other_are_fused_in_groups_and_maps_after_each_other_all():
    dom = ct.Product((*[ct.f64[7]] * 40, ct.f64[()]))
    boxes = program_of(scaled(40), dom)[0].boxes
    assert sorted(len(box.outs) for box in boxes) == [8, 16, 16]
    chain = ct.compose(*[ct.map(lambda x: x * 0.5 + 1.0)] * 40)
    assert len(program_of(chain, ct.f64[7])[0].boxes) == 1


def kind(f: ct.D, dom: ct.Space) -> str:
    (stage,) = items(f, dom)
    wires = program_of(f, dom)[0].wiring.wires
    made: Ready = ready(stage, tuple(stage.folded), wires)
    spaces = [*[wires[p.wire] for p in made.reads], *[wires[k] for k in stage.folded]]
    steps = [np.empty(space.shape, space.dtype).strides for space in spaces]
    found = layout(made, steps)
    assert found is not None
    return found.kernel.kind


def test_short_lines_are_folded_one_after_the_other_and_long_ones_in_tiles():
    assert kind(ct.sum(axis=1), ct.f64[50, 32]) == LINE
    assert kind(ct.sum(axis=1), ct.f64[50, 33]) == FOLDS


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 34, 64, 65, 256, 300])
def test_lines_of_every_length_are_folded_as_the_array_code_folds_them(n, dtype):
    x = np.random.default_rng(n).integers(1, 4, (9, n)).astype(dtype) / (1 if dtype == "int64" else np.asarray(1.7, dtype))
    x = x.astype(dtype)
    x[3, n // 2] = 0
    for f in (ct.sum(axis=1), ct.max(axis=1), ct.sum(axis=0), ct.fork(ct.sum(axis=1), ct.square >> ct.sum(axis=1))):
        for engine in ("cpu", "whole"):
            for got, want in zip(on(engine, f, x), on("reference", f, x), strict=True):
                assert got.dtype == want.dtype
                np.testing.assert_allclose(got, want, rtol={"float32": 1e-5, "float64": 1e-12, "int64": 0}[dtype])


@pytest.mark.parametrize("n", [1, 5, 31, 32])
def test_sums_of_short_lines_have_the_bits_of_a_loop(n):
    x = np.random.default_rng(n).standard_normal((9, n))
    want = np.array([sum(row[1:].tolist(), row[0]) for row in x])
    for engine in ("cpu", "whole"):
        (got,) = on(engine, ct.sum(axis=1), x)
        assert np.array_equal(got, want), engine


def test_planted_a_line_that_begins_with_its_second_leaf_is_caught():
    x = np.arange(5 * 40.0).reshape(5, 40)
    assert np.array_equal(on("cpu", ct.sum(axis=1), x)[0], x.sum(axis=1))
    assert not np.array_equal(on("cpu", ct.sum(axis=1), x[:, :32])[0], x.sum(axis=1))


GROW = ct.while_loop(ct.function(lambda s: np.sum(s) < 1e3), ct.function(lambda s: s * 1.5 + 0.25))


def grown(x: np.ndarray) -> np.ndarray:
    while np.sum(x) < 1e3:
        x = x * 1.5 + 0.25
    return x


@pytest.mark.parametrize("engine", ["reference", "auto", "whole"])
def test_a_while_loop_that_was_called_before_is_found_at_once_for_every_number_of_steps(engine, monkeypatch):
    slow: list[int] = []
    before = calling._call
    monkeypatch.setattr(calling, "_call", lambda *args: slow.append(1) or before(*args))
    with ct.use_engine(engine):
        GROW(np.ones(4))
        slow.clear()
        for start in (1.0, 7.0, 200.0, 1e4, 0.01):
            x = np.full(4, start)
            assert np.array_equal(GROW(x), grown(x))
        assert not slow


@pytest.mark.parametrize("engine", ["reference", "auto", "whole"])
def test_values_between_gradients_of_a_while_loop_with_other_numbers_of_steps(engine):
    f = ct.function(lambda x: np.sum(GROW(x)))
    with ct.use_engine(engine):
        for start in (1.0, 200.0, 3.0, 0.01, 3.0):
            x = np.full(4, start)
            assert f(x) == np.sum(grown(x))
            steps, y = 0, x
            while np.sum(y) < 1e3:
                y, steps = y * 1.5 + 0.25, steps + 1
            np.testing.assert_allclose(ct.grad(f)(x), np.full(4, 1.5**steps), rtol=1e-14)
            assert f(x) == np.sum(grown(x))


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_the_handler_of_ctrl_c_is_what_it_was_after_calls_and_after_it_has_changed():
    x = np.ones(4)
    with ct.use_engine("whole"):
        GROW(x)
        GROW(x)
        for changed in (lambda: signal.siginterrupt(signal.SIGINT, False), lambda: signal.siginterrupt(signal.SIGINT, True)):
            changed()
            assert np.array_equal(GROW(x), grown(x))
            assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
        ignored = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            assert np.array_equal(GROW(x), grown(x))
            signal.raise_signal(signal.SIGINT)
        finally:
            signal.signal(signal.SIGINT, ignored)
        assert np.array_equal(GROW(x), grown(x))

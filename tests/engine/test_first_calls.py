"""What first calls compile, and what later calls leave out: counted, never timed."""

from __future__ import annotations

import re
import signal
import sys
from collections import Counter

import numpy as np
import pytest

import catad as ct
from catad.engine.cpu.whole.text import INLINED, Text
from catad.engine.program import program_of
from catad.engine.stages.layout import FOLDS, LINE, Ready, layout, ready
from catad.engine.stages.partition import MOST_ARRAYS
from catad.engine.stages.stage import Stage
from catad.front import calling

from .compiling import counts
from .cpu_support import items, on
from .whole_support import Ran, anew, ran

pytestmark = pytest.mark.full_code

__all__ = ["counts", "ran"]


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


@pytest.mark.quick(15)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 34, 64, 65, 256, 300])
def test_lines_of_every_length_are_folded_as_the_array_code_folds_them(n, dtype):
    x = np.random.default_rng(n).integers(1, 4, (9, n)).astype(dtype) / (1 if dtype == "int64" else np.asarray(1.7, dtype))
    x = x.astype(dtype)
    x[3, n // 2] = 0
    for f in (ct.sum(axis=1), ct.max(axis=1), ct.sum(axis=0), ct.fork(ct.sum(axis=1), ct.square >> ct.sum(axis=1))):
        for got, want in zip(on("cpu", f, x), on("reference", f, x), strict=True):
            assert got.dtype == want.dtype
            np.testing.assert_allclose(got, want, rtol={"float32": 1e-5, "float64": 1e-12, "int64": 0}[dtype])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [1, 5, 7, 8, 9, 15, 16, 31, 33, 127, 128, 129, 200, 248])
@pytest.mark.parametrize("rows", [9, 1000])
def test_sums_of_short_lines_have_the_bits_of_numpy(rows, n, dtype):
    x = np.random.default_rng(n).standard_normal((rows, n)).astype(dtype)
    (got,) = on("cpu", ct.sum(axis=1), x)
    assert np.array_equal(got, np.sum(x, axis=1))


def test_planted_a_line_that_begins_with_its_second_leaf_is_caught():
    x = np.arange(5 * 40.0).reshape(5, 40)
    assert np.array_equal(on("cpu", ct.sum(axis=1), x)[0], x.sum(axis=1))
    assert not np.array_equal(on("cpu", ct.sum(axis=1), x[:, :32])[0], x.sum(axis=1))


GROW = ct.while_loop(ct.function(lambda s: np.sum(s) < 1e3), ct.function(lambda s: s * 1.5 + 0.25))


def grown(x: np.ndarray) -> np.ndarray:
    while np.sum(x) < 1e3:
        x = x * 1.5 + 0.25
    return x


@pytest.mark.parametrize("engine", ["reference", "auto", "cpu"])
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


@pytest.mark.parametrize("engine", ["reference", "auto", "cpu"])
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
def test_the_handler_of_ctrl_c_is_what_it_was_after_calls_and_after_it_has_changed(interruptible):
    x = np.ones(4)
    with ct.use_engine("cpu"):
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


def repeated(many: int) -> ct.D:
    """So many equal steps of several boxes each."""
    step = ct.scan(ct.add, 0.0) >> ct.map(lambda x: np.sin(x) * 0.5) >> ct.roll(1, axis=0)
    return ct.compose(*[step] * many)


def functions_of(f: ct.D, x: np.ndarray, ran: Ran) -> int:
    """The functions that one program of stages has, besides its kernel; all of it is compiled as one."""
    with ct.use_engine("cpu"):
        got = f(x)
    with ct.use_engine("reference"):
        np.testing.assert_allclose(got, f(x), rtol=1e-12)
    assert ran.compiled == 1 and not ran.instead
    text: str = ran.programs[-1].printed
    return text.count("define internal void @stage") + text.count("define internal void @box")


def test_equal_steps_share_their_functions_so_text_and_compilation_do_not_grow(ran: Ran, monkeypatch: pytest.MonkeyPatch):
    x = np.random.default_rng(0).standard_normal(10)
    few = functions_of(repeated(20), x, ran)
    ran.compiled = 0
    assert functions_of(repeated(200), x, ran) == few


def test_what_is_called_often_is_not_inlined_and_what_is_called_rarely_is(ran: Ran):
    x = np.ones(10)
    for many, how in ((3, "alwaysinline"), (40, "noinline")):
        with ct.use_engine("cpu"):
            repeated(many)(x)
        groups = dict(re.findall(r"attributes #(\d+) = { (\w+) }", ran.programs[-1].printed))
        called = Counter(re.findall(r"call void @(?:stage|box)(\d+)\(", ran.programs[-1].printed))
        assert groups.keys() == called.keys()
        assert {groups[k] for k, times in called.items() if times >= many - 1} == {how}


def test_calls_that_are_inlined_make_the_text_little_longer(ran: Ran):
    """Twelve long steps: inlined, they would be compiled twelve times."""

    @ct.function
    def stepped(x):
        for _ in range(12):
            y = x.copy()
            x[1:-1] = 0.2 * (y[2:] + y[1:-1] + y[:-2]) / np.sqrt(1.0 + y[1:-1] ** 2) + 0.1 * np.sin(y[2:] * y[:-2])
            x[0] = 0.5 * (x[1] + y[-1])
        return x

    x = np.random.default_rng(0).standard_normal(300)
    with ct.use_engine("cpu"):
        got = ct.value_and_grad(stepped >> ct.sum())(x)
    with ct.use_engine("reference"):
        want = ct.value_and_grad(stepped >> ct.sum())(x)
    assert all(np.allclose(a, b, rtol=1e-12) for a, b in zip(got, want, strict=True)) and not ran.instead
    text = ran.programs[-1].printed
    bodies = re.findall(r"^define internal void @(?:stage|row|box)(\d+)\([^\n]*{\n(.*?)^}", text, re.MULTILINE | re.DOTALL)
    lines = {k: sum(body.count("\n") for number, body in bodies if number == k) for k, _ in bodies}
    calls = Counter(re.findall(r"call void @(?:stage|box)(\d+)\(", text))
    inlined = re.findall(r"attributes #(\d+) = { alwaysinline }", text)
    assert len(inlined) > 5 and max(calls.values()) >= 11
    assert sum((calls[k] - 1) * lines[k] for k in inlined) <= INLINED


def test_equal_moves_in_place_and_elsewhere_are_different_functions(ran: Ran):
    @ct.function
    def moved(x):
        y = x.copy()
        for _ in range(2):
            z = y
            y = np.roll(y, 1)
            y[1:3] = z[:2]
            x[1:3] = y[2:4]
        return x, y, z

    x = np.random.default_rng(0).standard_normal(7)
    for got, want in zip(on("cpu", moved, x.copy()), moved_by_hand(x.copy()), strict=True):
        assert np.array_equal(got, want)


def moved_by_hand(x: np.ndarray) -> tuple[np.ndarray, ...]:
    y = x.copy()
    for _ in range(2):
        z = y
        y = np.roll(y, 1)
        y[1:3] = z[:2]
        x[1:3] = y[2:4]
    return x, y, z


def test_planted_functions_shared_whatever_their_sizes_are_are_caught(ran: Ran, monkeypatch: pytest.MonkeyPatch):
    f = ct.fork(ct.proj(0) >> ct.scan(ct.add, 0.0), ct.proj(1) >> ct.scan(ct.add, 0.0))
    x = (np.arange(5.0), np.arange(9.0))
    assert all(np.array_equal(a, np.cumsum(b)) for a, b in zip(on("cpu", f, x), x, strict=True))
    anew(monkeypatch)
    original = Text.function
    monkeypatch.setattr(Text, "function", lambda self, key, write: original(self, "same", write))
    x = (-np.arange(5.0), 1.0 - np.arange(9.0))  # what lies in memory from before is not right by chance
    assert not all(np.array_equal(a, np.cumsum(b)) for a, b in zip(on("cpu", f, x), x, strict=True))

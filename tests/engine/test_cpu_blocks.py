"""Scans along one line in blocks: what they are for the reference, whatever the thread count, the tiles, and what overflows."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import catad as ct
from catad import scalar
from catad.engine.cpu import blocked
from catad.engine.cpu.nests import blocks as blocks_of_lines
from catad.engine.cpu.run import target
from catad.engine.cpu.whole import shared_kernels
from catad.engine.cpu.whole.callbacks import FromOutside
from catad.engine.cpu.whole.text import Text
from catad.engine.stages import scan_of_tiles

from .cpu_support import assert_near, assert_same, on, printed_anew, small_blocks, small_thresholds

pytestmark = [pytest.mark.skipif(not target.available(), reason="there is no LLVM here"), pytest.mark.full_code]

SIZES = (100, 127, 128, 129, 200, 383, 1237)  # about tiles of 64, and blocks of two tiles and more


def affine(a: Any, b: Any) -> Any:
    return a[0] * b[0], a[1] * b[0] + b[1]


def cleared(a: Any, b: Any) -> Any:
    """The sum since the last element that is marked."""
    return b if b[1] else (a[0] + b[0], a[1])


NEAR_ONE = ct.map(lambda x: 1.0 + 0.01 * x)
PROGRAMS: dict[str, ct.D] = {
    "+": ct.scan(ct.add, 0.0),
    "+, reversed and exclusive": ct.scan(ct.add, 0.0, reverse=True, exclusive=True),
    "*": NEAR_ONE >> ct.scan(ct.mul, 1.0),
    "* with its own exclusive": NEAR_ONE >> ct.fork(ct.scan(ct.mul, 1.0), ct.scan(ct.mul, 1.0, exclusive=True)),
    "max": ct.scan(ct.maximum, -np.inf),
    "min of a lambda": ct.scan(lambda a, b: a if a < b else b, np.inf),
    "affine": ct.fork(ct.map(lambda x: 0.5 * x), ct.id) >> ct.scan(affine, (1.0, 0.0)),
    "a + b + a b": ct.map(lambda x: 0.01 * x) >> ct.scan(lambda a, b: a + b + a * b, 0.0),
    "three at once": ct.fork(ct.scan(ct.add, 0.0), NEAR_ONE >> ct.scan(ct.mul, 1.0), ct.map(np.exp) >> ct.scan(ct.add, 0.0)),
    "recurrence": ct.fork(ct.map(lambda x: 0.9 * x), ct.id) >> ct.recurrence,
    "a shift before": ct.pad(1, -1, 0.25) >> ct.scan(ct.add, 0.0),
    "maps about it": ct.map(np.sin) >> ct.scan(ct.add, 0.0) >> ct.map(lambda x: x * x),
}


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    small_blocks(monkeypatch)
    small_thresholds(monkeypatch)


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """Whether the totals of each line that has run in blocks could be joined."""
    seen: list[bool] = []
    doubtful = shared_kernels.doubtful

    class Noted(FromOutside):
        function = ctypes.CFUNCTYPE(None, ctypes.c_bool)(lambda doubt: seen.append(not doubt))

    def noted(text: Text, place: str) -> str:
        found = doubtful(text, place)
        text.w.do(f"call void {text.outside(Noted())}(i1 zeroext {found})")
        return found

    monkeypatch.setattr(shared_kernels, "doubtful", noted)
    yield seen


def derivatives(f: ct.D, x: Any) -> list[tuple[ct.D, Any]]:
    y = f(x)
    w = tuple(np.cos(leaf) for leaf in y) if isinstance(y, tuple) else np.cos(y)
    back = ct.fork(ct.exl >> f, ct.reverse_differential(f))
    return [(f, x), (ct.tangent(f), (x, np.sin(7.0 * x))), (back, (x, w))]


def both_modes(f: ct.D, x: Any) -> list[tuple[ct.D, Any]]:
    """Value, tangent and pullback, at the point itself."""
    return [(f, x), (ct.tangent(f), (x, x)), (ct.fork(ct.exl >> f, ct.reverse_differential(f)), (x, x))]


@pytest.mark.quick(3)
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values_and_derivatives_are_those_of_the_reference(name: str, dtype: str, ran: list[bool]) -> None:
    rng = np.random.default_rng(0)
    for n in SIZES:
        x = rng.uniform(-1.0, 1.0, n).astype(dtype)
        with ct.use_engine("reference"):
            cases = derivatives(PROGRAMS[name], x)
        for g, at in cases:
            found = []
            for count in (1, 2, 5):
                with ct.num_threads(count):
                    found.append(on("cpu", g, at))
            assert_near(found[0], on("reference", g, at), eps=2048, note=(name, n))
            assert_same(found[1], found[0], (name, n))
            assert_same(found[2], found[0], (name, n))
    assert len(ran) >= 3 * len(SIZES) and all(ran), "lines have run in blocks"


def test_a_scan_of_gathered_numbers_reads_the_first_at_its_index(ran: list[bool]) -> None:
    """The total of the first block has it, too."""
    x = np.arange(1.0, 20_001.0)
    f = ct.gather >> ct.scan(ct.add, 0.0)
    with ct.use_engine("cpu"):
        got = f(x, np.arange(20_000)[::-1].copy())
    assert np.array_equal(got, np.cumsum(x[::-1])) and ran


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_few_lines_that_lie_in_any_way(axis: int, ran: list[bool]) -> None:
    shape = [2, 1, 3]
    shape[axis] = 300
    x = np.random.default_rng(1).integers(-9, 9, shape).astype(float)
    for y in (x, np.asfortranarray(x), x[::-1], np.repeat(x, 2, axis=axis)[(slice(None),) * axis + (slice(None, None, 2),)]):
        for f in (ct.scan(ct.add, 0.0, axis=axis), ct.scan(ct.add, 0.0, axis=axis, reverse=True)):
            assert_same(on("cpu", f, y), on("reference", f, y))
    assert ran or axis < 2


def test_numbers_of_all_kinds(ran: list[bool]) -> None:
    rng = np.random.default_rng(2)
    for dtype in ("int32", "int64"):
        x = rng.integers(-9, 9, 500).astype(dtype)
        for f in (ct.scan(ct.add, 0), ct.scan(ct.maximum, np.iinfo(dtype).min), ct.scan(lambda a, b: a * b, 1)):
            assert_same(on("cpu", f, x), on("reference", f, x))
    f = ct.scan(cleared, (0.0, False))
    x = rng.integers(-9, 9, 500).astype(float), rng.uniform(size=500) < 0.02
    assert_same(on("cpu", f, x), on("reference", f, x))
    assert ran


LARGE = {
    "zeros, then overflow": ([0.0], [1e20]),
    "overflow, then zeros": ([1e20], [0.0]),
    "what underflows in a tile but not from the beginning": ([1.0] * 100 + [1e30], [1e-3] * 18 + [1.0]),
    "nan": ([1.0], [np.nan, 2.0]),
    "infinities of both signs": ([np.inf, 1.0], [-np.inf]),
    "signed zeros": ([-0.0], [-0.0]),
}


@pytest.mark.quick(5)
@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("operator", ["+", "*", "max", "affine"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_is_not_finite_comes_out_as_from_the_beginning(
    name: str, operator: str, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, then = LARGE[name]
    x = np.ones(640)
    x[: len(first)] = first
    x[150 : 150 + len(then)] = then
    x[300:302] = 1e15 if name.startswith("what") else 1.0
    x = x.astype(dtype)
    pair = {"+": (ct.add, 0.0), "*": (ct.mul, 1.0), "max": (ct.maximum, -np.inf), "affine": (affine, (1.0, 0.0))}[operator]
    at = (x, x) if operator == "affine" else x
    got = [on("cpu", g, y) for g, y in both_modes(ct.scan(*pair), at)]
    monkeypatch.setattr(blocked, "LONG", 1 << 60)
    cases = both_modes(ct.scan(*pair), at)  # made anew: nothing of the above is remembered
    for have, (g, y) in zip(got, cases, strict=True):
        with np.errstate(all="ignore"):
            for a, b in zip(have, on("cpu", g, y), strict=True):
                assert np.array_equal(np.isnan(a), np.isnan(b)) and np.array_equal(np.isinf(a), np.isinf(b))
                finite = np.isfinite(a)
                np.testing.assert_allclose(a[finite], b[finite], rtol=1e-3 if dtype == "float32" else 1e-11)


def test_nothing_is_read_beyond_the_ends(monkeypatch: pytest.MonkeyPatch, ran: list[bool]) -> None:
    """The first link of a recurrence is nobody's: NaN stands where it would be read."""
    room = np.full(702, np.nan)
    x = room[1:-1]
    x[...] = np.random.default_rng(5).uniform(0.9, 1.1, 700)

    def read() -> list[bool]:
        ran.clear()
        for f in (ct.scan(ct.mul, 1.0), ct.scan(ct.mul, 1.0, reverse=True), ct.fork(ct.id, ct.id) >> ct.recurrence):
            for g, at in derivatives(ct.id >> f, x):
                assert_near(on("cpu", g, at), on("reference", g, at), eps=2048)
        return ran

    assert read() and all(ran)
    printed_anew(monkeypatch)
    monkeypatch.setattr(scan_of_tiles, "unread", lambda body: [])
    assert not all(read()), "a planted fault is seen"


def test_what_does_not_run_in_blocks(ran: list[bool]) -> None:
    """States that need other states, folds beside scans, matrices whose totals cost too much, many lines, and short ones."""
    x = np.linspace(0.1, 0.9, 500)
    scan = ct.scan(ct.add, 0.0)
    for f, at in (
        (scan >> scan, x),
        (ct.fork(scan, ct.sum()), x),
        (scan, x[:99]),
        (ct.scan(ct.add, 0.0, axis=1), np.ones((9, 200))),
    ):
        assert_near(on("cpu", f, at), on("reference", f, at))
    assert not ran


def test_at_the_real_thresholds(monkeypatch: pytest.MonkeyPatch, ran: list[bool]) -> None:
    monkeypatch.undo()
    x = np.random.default_rng(3).uniform(-1.0, 1.0, 300_007)
    for name in ("+", "*", "affine", "recurrence", "a shift before"):
        with ct.use_engine("reference"):
            cases = derivatives(PROGRAMS[name], x)
        for g, at in cases:
            found = []
            for count in (1, 2):
                with ct.num_threads(count):
                    found.append(on("cpu", g, at))
            assert_same(found[0], found[1])
            assert_near(found[0], on("reference", g, at), eps=1 << 14)


# -- the joins


@given(st.data())
def test_recurrences_are_joined_as_their_steps_compose(data: st.DataObject) -> None:
    copies, links, cut = data.draw(st.integers(1, 3)), data.draw(st.booleans()), data.draw(st.booleans())
    join = scalar.array_function(scan_of_tiles.affine(copies, links, cut))
    number = st.integers(-4, 4).map(float)

    def element() -> list[Any]:
        return [
            *([data.draw(st.booleans())] * cut),
            *([data.draw(number)] * links),
            *[data.draw(number) for _ in range(copies)],
        ]

    def step(states: list[float], x: list[Any]) -> list[float]:
        begins, slope = cut and x[0], x[cut] if links else 1.0
        return [b if begins else slope * s + b for s, b in zip(states, x[cut + links :], strict=True)]

    first, second, start = element(), element(), [data.draw(number) for _ in range(copies)]
    whole = [one[()] for one in map(np.asarray, join(np, *map(np.asarray, [*first, *second])))]
    assert step(start, whole) == step(step(start, first), second)


def test_planted_faults_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(4).uniform(0.9, 1.1, 500)

    def wrong(place: Any, name: str, value: Callable[..., Any]) -> bool:
        """Whether something is not as the reference says with a fault in place."""
        with monkeypatch.context() as patch:
            printed_anew(patch)
            patch.setattr(place, name, value)
            for f in (
                ct.scan(ct.mul, 1.0),
                ct.scan(ct.maximum, -np.inf),
                *[PROGRAMS[name] for name in ("affine", "recurrence")],
            ):
                for g, at in derivatives(ct.id >> f, x):  # made anew
                    try:
                        assert_near(on("cpu", g, at), on("reference", g, at), eps=2048)
                    except AssertionError:
                        return True
        return False

    affine_join, load = scan_of_tiles.affine, blocks_of_lines.Blocks._load_states
    dual = scan_of_tiles._dual

    def swapped(copies: int, links: bool, cut: bool) -> Any:
        made = affine_join(copies, links, cut)
        d = made.arity // 2
        turned = [*[scalar.param(d + k) for k in range(d)], *[scalar.param(k) for k in range(d)]]
        return scalar.Function.make(2 * d, scalar.substitute(made, turned))

    def late(self: Any, states: Any, tile: str) -> None:
        load(self, states, self.w.set(f"add i64 {tile}, 1"))

    assert not wrong(scan_of_tiles, "affine", affine_join)
    assert wrong(scan_of_tiles, "affine", swapped), "the later recurrence first"
    assert wrong(blocks_of_lines.Blocks, "_load_states", late), "a tile too far"
    assert wrong(scan_of_tiles, "_dual", lambda f: scalar.Function.make(4, [dual(f).outputs[0], scalar.param(1)])), (
        "half a product rule"
    )

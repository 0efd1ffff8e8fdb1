"""Numbers at few places of large arrays: pads that are mostly 0, choices of edges, values computed again behind guards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.engine.cpu.nests.nest import Nest
from catad.engine.stages import access, recompute

from .cpu_support import printed_anew
from .whole_support import anew

RNG = np.random.default_rng(11)
ROWS, COLUMNS = 5, 37


def at_column(v: Any, k: int) -> Any:
    return np.pad(v[:, None], ((0, 0), (k, COLUMNS - 1 - k)))


def shifted(x: Any, k: int) -> Any:
    return np.pad(x, ((0, 0), (k, 0)))[:, : x.shape[1]] if k > 0 else np.pad(x, ((0, 0), (0, -k)))[:, -k:]


PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "the first column": lambda x, v: x * 2.0 + at_column(v, 0),
    "the last column": lambda x, v: np.sin(x) + at_column(v, COLUMNS - 1),
    "both ends": lambda x, v: x + at_column(v, 0) * at_column(v * v, COLUMNS - 1) + at_column(v, COLUMNS - 1),
    "in the middle": lambda x, v: x - at_column(v, COLUMNS // 2),
    "one column in tiles": lambda x, v: np.concatenate([x[:, :9], v[:, None], x[:, 9:20], x[:, 21:]], axis=1) * 3.0,
    "one row": lambda x, v: x + np.pad(x[:1], ((2, 2), (0, 0))),
    "again, from the left": lambda x, v: shifted(np.where(x > 0, x * 2.0, 1.0), 1) - x,
    "again, from both sides": lambda x, v: shifted(x * x, 1) + shifted(x * x, -1) - 2.0 * x,
    "again, twice": lambda x, v: shifted(shifted(x + 1.0, 2) * 3.0, -1) + x,
    "again, of an index": lambda x, v: shifted(x * np.arange(float(COLUMNS)), 3) + x,
    "sums of rows": lambda x, v: np.sum(x + at_column(v, 3), axis=1),
    "sums of columns": lambda x, v: np.sum(x * at_column(v, 3) + shifted(x + 1.0, 4), axis=0),
    "a scan of rows": lambda x, v: np.cumsum(x + at_column(v, 7), axis=1),
    "every ninth": lambda x, v: (x + 0.0).reshape(-1)[: 9 * 20] + stuffed(x.reshape(-1)[:20], 9),
    "every ninth, in rows": lambda x, v: x[:, :36].reshape(-1, 9) + stuffed(x.reshape(-1)[:20], 9).reshape(-1, 9),
}


def stuffed(v: Any, step: int) -> Any:
    """Zeros between the numbers."""
    return np.pad(v[:, None], ((0, 0), (0, step - 1))).reshape(-1)


@np.errstate(invalid="ignore")
@pytest.mark.quick(8)
@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_derivatives(name: str, dtype: str) -> None:
    x, v = RNG.normal(size=(ROWS, COLUMNS)).astype(dtype), RNG.normal(size=ROWS).astype(dtype)
    x[0, :3] = np.inf, np.nan, -0.0
    fn = PROGRAMS[name]
    f = ct.function(fn)
    want = fn(x, v)
    bar, tangents = RNG.normal(size=want.shape).astype(want.dtype), (RNG.normal(size=x.shape), RNG.normal(size=v.shape))
    small = {"rtol": 1e-12, "atol": 1e-12} if dtype == "f8" else {"rtol": 2e-5, "atol": 2e-5}
    tangents = tangents[0].astype(dtype), tangents[1].astype(dtype)
    with ct.use_engine("reference"):
        (_, pullback), forward = ct.vjp(f, x, v), ct.jvp(f, (x, v), tangents)[1]
        back = pullback(bar)
    with ct.use_engine("cpu"):
        np.testing.assert_allclose(f(x, v), want, **small)
        np.testing.assert_allclose(ct.jvp(f, (x, v), tangents)[1], forward, **small)
        for got, expected in zip(ct.vjp(f, x, v)[1](bar), back, strict=True):
            np.testing.assert_allclose(got, expected, **small)


@pytest.mark.parametrize("name", ["again, from both sides", "again, of an index", "both ends", "every ninth, in rows"])
def test_it_is_one_pass(name: str) -> None:
    x, v = RNG.normal(size=(ROWS, COLUMNS)), RNG.normal(size=ROWS)
    with ct.use_engine("cpu"):
        f = ct.function(PROGRAMS[name])
        f(x, v)
        with ct.profile() as found:
            f(x, v)
    assert len([stage for stage in found.stages if stage.name != "StridedCopy"]) == 1  # what a reshape cannot view is copied


def planted_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    """A value that is computed again forgets the guards of its reader."""
    given = recompute.not_everywhere
    monkeypatch.setattr(recompute, "not_everywhere", lambda guards, loops: given(guards, loops)[1:])


def planted_digit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers between others are found one place too early."""
    given = access.guard

    def wrong(position: access.Affine, lo: int, hi: int) -> access.Guard:
        return given(position._replace(a=position.a + 1) if hi - lo == 1 else position, lo, hi)

    monkeypatch.setattr(access, "guard", wrong)


def planted_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A piece of a row ends behind the place where a guard changes."""
    given = Nest.intervals

    def later(self: Nest, positions: Any) -> Any:
        return [(lo, self.w.set(f"add i64 {hi}, 1")) for lo, hi in given(self, positions)]

    monkeypatch.setattr(Nest, "intervals", later)


PLANTED = [
    (planted_mask, "again, from both sides"),
    (planted_digit, "every ninth, in rows"),
    (planted_end, "the first column"),
]


@pytest.mark.parametrize(("plant", "name"), PLANTED)
def test_planted_bugs_are_found(plant: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    anew(monkeypatch)
    printed_anew(monkeypatch)
    plant(monkeypatch)
    around, v = RNG.normal(size=(ROWS + 2, COLUMNS)), RNG.normal(size=ROWS + 2)
    x = around[1:-1]
    f = ct.function(lambda around, v: PROGRAMS[name](around[1:-1], v[1:-1]))
    with ct.use_engine("cpu"):
        assert not np.allclose(f(around, v), PROGRAMS[name](x, v[1:-1]))
    monkeypatch.undo()
    anew(monkeypatch)

"""Writing at indices, clearing there and last writers on a GPU: equal to the array code bit for bit, in every order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.engine.cuda.boxes import kernels_of
from catad.engine.cuda.indexed_writes import Written
from catad.engine.cuda.intrinsics import Simt
from catad.errors import LawError
from catad.linear.families.clear import ClearedAt
from catad.linear.families.gather import Indexing
from catad.testing.emulator.device import EmulatedDevice
from catad.testing.emulator.words import Coroutines
from catad.vector.indexing.gather import LastWriter
from catad.vector.indexing.overwrite import LastOnly, OverwrittenAt

from ..engine.cpu_support import assert_same, on
from ..engine.test_whole_written import drawn
from .support import SEEDS, anew, emulated, on_gpu

__all__ = ["anew"]  # a fixture

RNG = np.random.default_rng(8)


def compiled(seed: int, box: Any, *arrays: Any) -> Any:
    device = EmulatedDevice(seed, most=1 + seed % 5)
    made = kernels_of(device, box, tuple([ct.space_of(a) for a in arrays]))
    assert made is not None
    found = made(np, *arrays)
    assert device.launched or not arrays[0].size
    return found


def same(seed: int, box: Any, *arrays: Any) -> bool:
    got, want = compiled(seed, box, *arrays), box.evaluate(np, *arrays)
    return got.shape == want.shape and got.dtype == want.dtype and got.tobytes() == want.tobytes()


@pytest.mark.parametrize("seed", range(24))
def test_writes_and_clears(seed: int) -> None:
    how, index, x, values = drawn(seed)
    if x.dtype.kind == "f":
        x.reshape(-1)[:1], values.reshape(-1)[:1] = np.nan, -0.0
    before = x.copy()
    assert same(seed, OverwrittenAt(how), index, x, values) and same(seed, ClearedAt(how), index, x)
    assert x.tobytes() == before.tobytes(), "the argument was changed"


@pytest.mark.parametrize("seed", range(6))
def test_numbers_of_a_row_have_indices_of_their_own(seed: int) -> None:
    """A new axis of the index array is one of the result."""
    how = Indexing((0, 1), 0, (2,), (2, 1), (9, 3, 4)).carried(True, 5)
    index = np.array([RNG.permutation(np.arange(-1, 10))[:4] for _ in range(5)])
    x, values = (RNG.normal(size=how.shape(k)).astype([np.float64, np.int16][seed % 2]) for k in (how.src, how.dst))
    assert same(seed, OverwrittenAt(how), index, x, values) and same(seed, ClearedAt(how), index, x)


def test_arrays_that_lie_anyhow() -> None:
    how = Indexing((0, 1), 0, (2,), (2, 1), (9, 3, 4))
    x, values = np.arange(54.0).reshape(9, 6)[:, ::-2], np.arange(24.0).reshape(3, 8)[:, ::2].T
    assert same(0, OverwrittenAt(how), np.array([7, 9, 1, 9, 100, 9, 0, 9])[::2], x, values)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_last_writers_in_every_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    axes, size = 1 + seed % 2, int(rng.integers(1, 30))
    index = rng.integers(0, size, [3, 14, 25][: axes + seed % 2])
    assert same(seed, LastOnly(axes, size), index)
    assert same(seed, LastWriter(size, seed % index.ndim), rng.integers(-2, size + 2, index.shape).astype(np.int32))


ROWS = RNG.normal(size=(400, 3))
PLACES = RNG.integers(0, 400, 900)


def put(x, v):
    y = x * 2.0
    y[PLACES] = v
    return y


def cleared(x):
    y = np.sin(x)
    y[PLACES[:50]] = 0.0
    return y * x


PROGRAMS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "writes": (ct.function(put), (ROWS, RNG.normal(size=(900, 3)))),
    "clears": (ct.function(cleared), (ROWS,)),
    "scatters": (ct.scatter, (RNG.normal(size=400), PLACES, RNG.normal(size=900))),
}  # fmt: skip


@pytest.mark.filterwarnings("error::catad.CatadNotice")
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_and_their_gradients(name: str) -> None:
    f, x = PROGRAMS[name]
    g = ct.grad(f >> ct.map(lambda y: y * y) >> ct.sum())
    for seed in range(3):
        device = emulated(seed).device
        for one in (f,) if name == "scatters" else (f, g):
            assert_same(on_gpu(one, *x), on("cpu", one, *x), note=(name, seed))
        assert Written in {code.printer for code in device.launched}


# -- planted bugs

INDEX = RNG.integers(0, 40, 600)


def wrong(seeds: int) -> bool:
    try:
        return not all(same(seed, LastOnly(1, 40), INDEX) for seed in range(seeds))
    except LawError:
        return True


def test_nothing_is_planted() -> None:
    assert not wrong(3)


def test_a_position_that_is_stored_and_not_the_greatest(anew: pytest.MonkeyPatch) -> None:
    """What the CPU does: it relies on the order of elements, and no launch has one."""

    def stored(self: Simt, what: str, pointer: str, kind: str, value: str) -> str:
        self.w.do(f"store {kind} {value}, ptr {pointer}")
        return "0"

    anew.setattr(Coroutines, "atomic", stored)
    assert wrong(SEEDS)


def test_the_least_position(anew: pytest.MonkeyPatch) -> None:
    real = Coroutines.atomic
    anew.setattr(Coroutines, "atomic", lambda self, what, *rest: real(self, "umin", *rest))
    assert wrong(1)


def test_a_missing_predicate(anew: pytest.MonkeyPatch) -> None:
    """An index out of range writes outside of the result."""
    from catad.scalar.printing.llvm_writer import Writer

    real = Writer.where
    anew.setattr(Writer, "where", lambda self, condition: real(self, "true"))
    how = Indexing((0,), 0, (1,), (1,), (9, 4))
    with pytest.raises(LawError, match="outside"):
        compiled(0, OverwrittenAt(how), np.array([1, 3, 10, 5]), np.zeros(9), np.ones(4))


def test_swapped_operands(anew: pytest.MonkeyPatch) -> None:
    """The number that is moved and the place that it goes to."""
    real = Written._move
    anew.setattr(Written, "_move", lambda self, u, to: real(self, to, u))
    how = Indexing((0,), 0, (1,), (1,), (9, 9))
    x = np.zeros(9), np.arange(1.0, 10.0)
    assert not same(0, OverwrittenAt(how), np.array([1, 2, 3, 4, 5, 6, 7, 8, 0]), *x)

"""Positions of index arrays on a GPU: those of the array code, from the one kernel that checks them, in every order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.engine.cuda.boxes import kernels_of
from catad.engine.cuda.checks import Checked
from catad.engine.cuda.flat_index import FlatIndexed, positions
from catad.errors import IndexRangeError
from catad.testing.emulator.device import EmulatedDevice
from catad.testing.emulator.words import Coroutines
from catad.vector.indexing.flat_index import FlatIndex
from catad.vector.indexing.keys import Along

from .support import SEEDS, anew

__all__ = ["anew"]  # a fixture

RNG = np.random.default_rng(17)


def by(size: int) -> Along:
    return Along(size, kind="argument")


def at(size: int, *shape: int, dtype: Any = np.int64) -> Any:
    return RNG.integers(-size, size, shape).astype(dtype)


CASES: dict[str, tuple[tuple[Along, ...], tuple[Any, ...]]] = {
    "one": ((by(7),), (at(7, 300),)),
    "one number": ((by(7),), (np.array(-3),)),
    "of 32 bits": ((by(200),), (at(200, 90, dtype=np.int32),)),
    "without a sign": ((by(200),), (np.arange(200).astype(np.uint8),)),
    "two that are stretched": ((by(7), by(5)), (at(7, 20, 1), at(5, 30))),
    "a row and a number": ((by(7), by(5)), (at(7, 20), np.array(4))),
    "slices between": ((by(7), Along(9, 1, 2, 4), by(5), Along(3, 2, 0, 0, "index")), (at(7, 20), at(5, 20))),
    "slices around": ((Along(4, 0, 1, 4), by(7), Along(6, 5, -1, 6)), (at(7, 3, 2),)),
    "as they lie": ((by(7), by(7)), (at(7, 8, 6)[::2, ::-2], at(7, 3, 4).T)),
}  # fmt: skip


def compiled(seed: int, box: FlatIndex, *arrays: Any) -> tuple[Any, list[Any]]:
    device = EmulatedDevice(seed, most=1 + seed % 5)
    made = kernels_of(device, box, tuple([ct.space_of(a) for a in arrays]))
    assert isinstance(made, FlatIndexed)
    return made(np, *arrays), [code.printer for code in device.launched]


def same(seed: int, box: FlatIndex, *arrays: Any) -> bool:
    got, want = compiled(seed, box, *arrays)[0], box.evaluate(np, *arrays)
    return got.shape == want.shape and got.dtype == want.dtype and np.array_equal(got, want)


@pytest.mark.parametrize("name", CASES)
def test_one_kernel_checks_and_writes(name: str) -> None:
    axes, arrays = CASES[name]
    box = FlatIndex(axes)
    assert compiled(0, box, *arrays)[1] == [Checked]
    assert all(same(seed, box, *arrays) for seed in range(3))


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("bad", [-8, 7, 2**40, -(2**40)])
def test_the_least_and_the_greatest_that_are_out_of_range(which: int, bad: int) -> None:
    axes, arrays = (by(7), Along(4, 0, 1, 4), by(7)), [at(7, 400), at(7, 400)]
    arrays[which][[3, 397]] = bad, 11
    for seed in range(SEEDS):
        with pytest.raises(IndexRangeError, match=rf"indices from {min(bad, 11)} to {max(bad, 11)}\n"):
            compiled(seed, FlatIndex(axes), *arrays)


def test_indices_of_which_nothing_is_read_are_checked_too() -> None:
    box = FlatIndex((by(7), Along(4, 0, 1, 0)))
    assert same(0, box, at(7, 20))
    assert same(0, FlatIndex((by(7),)), np.zeros((0, 3), int))
    with pytest.raises(IndexRangeError, match="9"):
        compiled(0, box, np.array([3, 9]))


def test_a_stage_is_a_map_of_the_arrays() -> None:
    axes, arrays = CASES["slices between"]
    found = positions(FlatIndex(axes), tuple([ct.space_of(a) for a in arrays]))
    assert found is not None and sorted(p.wire for p in found.reads if p.wire >= 0) == [0, 1]


# -- planted bugs


def wrong() -> bool:
    axes, arrays = CASES["slices between"]
    try:
        return not same(0, FlatIndex(axes), *arrays)
    except IndexRangeError:
        return True


def noticed() -> bool:
    """Whether an index out of range of the second array is told."""
    try:
        compiled(0, FlatIndex((by(9), by(7))), at(9, 50), np.arange(50) % 9)
    except IndexRangeError as error:
        return "8" in str(error)
    return False


def test_nothing_is_planted(anew: pytest.MonkeyPatch) -> None:
    assert not wrong() and noticed()


def test_a_range_of_another_array(anew: pytest.MonkeyPatch) -> None:
    real = Checked.entry
    anew.setattr(Checked, "entry", lambda self, at: real(self, at - 2 if at >= self.length + 2 else at))
    assert wrong() or not noticed()


def test_words_of_another_array(anew: pytest.MonkeyPatch) -> None:
    real = Checked._note
    anew.setattr(Checked, "_note", lambda self, k, number: real(self, 0, number))
    with pytest.raises(IndexRangeError, match="9"):  # it names the size of the wrong one
        compiled(0, FlatIndex((by(9), by(7))), at(9, 50), np.arange(50) % 9)


def test_a_note_that_is_stored(anew: pytest.MonkeyPatch) -> None:
    def stored(self: Any, what: str, pointer: str, kind: str, value: str) -> str:
        self.w.do(f"store {kind} {value}, ptr {pointer}")
        return "0"

    anew.setattr(Coroutines, "atomic", stored)
    arrays = np.arange(600) % 13
    with pytest.raises(IndexRangeError) as seen:
        for seed in range(SEEDS):
            compiled(seed, FlatIndex((by(7),)), arrays)
    assert "indices from 7 to 12" not in str(seen.value)

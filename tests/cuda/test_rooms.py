"""What stages exchange lies in rooms of the memory that a block shares: apart while in use, and used again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.engine.cuda import rows
from catad.engine.stages.group import Rows


@pytest.mark.parametrize("seed", range(40))
def test_rooms_that_are_in_use_at_the_same_time_lie_apart(seed: int) -> None:
    rng = np.random.default_rng(seed)
    stages, count = int(rng.integers(2, 9)), int(rng.integers(1, 9))
    begun = rng.integers(0, stages - 1, count)
    reads: list[list[int]] = [[] for _ in range(stages)]
    writes: list[list[int]] = [[] for _ in range(stages)]
    done = [int(rng.integers(g + 1, stages)) for g in begun]
    for k, (g, h) in enumerate(zip(begun, done, strict=True)):
        writes[g].append(3 + k)
        reads[h].append(3 + k)
    spaces = [ct.f64[4, int(rng.integers(1, 50))] for _ in range(count)]
    made: Any = [type("Stage", (), {"reads": own}) for own in reads]
    arrays = tuple([(*a, *b) for a, b in zip(reads, writes, strict=True)])
    offsets, end = rows.rooms_packed(Rows(tuple(made), arrays, tuple(spaces), ()), spaces, 3, 64)
    sizes = [4 * space.shape[1] * 8 for space in spaces]
    assert all(at >= 64 and at % 16 == 0 and at + n <= end for at, n in zip(offsets, sizes, strict=True))
    for a in range(count):
        for b in range(a):
            if begun[a] <= done[b] and begun[b] <= done[a]:
                assert offsets[a] + sizes[a] <= offsets[b] or offsets[b] + sizes[b] <= offsets[a]
    assert end <= 64 + sum(-(-n // 16) * 16 for n in sizes)


def test_rooms_are_used_again() -> None:
    spaces, made = [ct.f64[4, 100]] * 3, [type("Stage", (), {"reads": [0] * n}) for n in (1, 1, 1, 1)]
    arrays = ((0, 2), (2, 3), (3, 4), (4, 1))
    group = Rows(tuple(made), arrays, tuple(spaces), ())  # type: ignore[arg-type]
    assert rows.rooms_packed(group, spaces, 2, 0) == ([0, 3200, 0], 6400)

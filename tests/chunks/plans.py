"""Which plans programs on arrays in blocks have, while a test runs them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from catad.chunks.engine import InBlocks, Planned
from catad.chunks.here import BlockArray, blocked


@contextmanager
def plans() -> Iterator[list[Planned]]:
    """The plans of all programs that run on arrays in blocks meanwhile."""
    found: list[Planned] = []
    own = InBlocks.planned

    def noted(self: InBlocks, parts: Any) -> Planned:
        made = own(self, parts)
        found.append(made)
        return made

    with mock.patch.object(InBlocks, "planned", noted):
        yield found


def ran_whole(found: list[Planned]) -> set[str]:
    """The boxes that ran on whole arrays in some plans."""
    return {one.name for planned in found for one in planned.plan.whole}


def gathered(found: list[Planned]) -> set[str]:
    """The boxes of which tasks read whole axes in some plans."""
    return {one.name for planned in found for one in planned.plan.gathered}


def rows(array: Any, *sizes: int) -> BlockArray:
    """An array cut along axis 0 alone; by default into blocks of 3, 0, 1 and all other rows."""
    first = sizes or (3, 0, 1, len(array) - 4)
    return blocked(array, (first, *[(n,) for n in array.shape[1:]]))

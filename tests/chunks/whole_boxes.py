"""What ran on whole arrays: the boxes that the plans of programs say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from catad.chunks.engine import InBlocks, Planned


@contextmanager
def whole_boxes() -> Iterator[set[str]]:
    """The names of the boxes that run on whole arrays in the plans that are made inside."""
    names: set[str] = set()
    made = InBlocks._plan

    def planned(self: InBlocks, parts: Any) -> Planned:
        found = made(self, parts)
        names.update([one.name for one in found.plan.whole])
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(InBlocks, "_plan", planned)
        yield names

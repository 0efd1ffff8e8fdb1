"""Stages that run row by row on a machine that can do so, and one after the other where they cannot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from catad.engine.machine import Machine, Way
from catad.engine.run import Run
from catad.engine.runner import StageRunner
from catad.engine.stages.group import Rows
from catad.spaces import Tensor


class RowsRunner(StageRunner):
    """A group ready to run: one array for each wire that it reads, in these spaces, one result for each that others read."""

    def __init__(
        self, machine: Machine, rows: Rows, apart: Run, spaces: tuple[Sequence[Tensor], Sequence[Tensor]], name: str
    ) -> None:
        self.machine, self.rows, self.apart, self.name = machine, rows, apart, name
        self.empty, self.given = machine.empty, machine.prepared
        self.ins, outs = spaces
        self.nothing = False
        self.results = [(out.shape, out.dtype) for out in outs]
        self.ways = {}
        self.fallback = self._one_by_one

    def _one_by_one(self, xp: Any, *arrays: Any) -> Any:
        made = self.apart.straight(xp, arrays)
        return made[0] if len(made) == 1 else made

    def prepared(self) -> str | None:
        """Compile for contiguous arrays; the text, or None where the array code runs."""
        found = super().prepared()
        if found is not None:
            return found
        texts = [runner.prepared() for runner, *_ in self.apart.steps if isinstance(runner, StageRunner)]
        return None if None in texts else "\n".join([text for text in texts if text is not None])

    def _compiled(self, arrays: Sequence[Any], outs: Sequence[Any]) -> Way | None:
        return self.machine.by_rows(self.rows, arrays, outs)

"""Boxes that fold by bin, run in one pass over their elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from catad.engine.cpu.bins.by_bin import Pass
from catad.engine.machine import Compiled
from catad.engine.stages.bins import Member
from catad.spaces import Tensor


class MultiFold(Compiled):
    """Members on the arrays of all of them, one after the other: a result, or the results of all of them in their order."""

    def __init__(self, members: Sequence[Member], arity: Sequence[int]) -> None:
        self.members, self.arity = tuple(members), tuple(arity)
        self.run = Pass([member.fold for member in members])

    @property
    def seconds(self) -> tuple[float, ...]:
        """The time that compiling took."""
        return self.run.seconds

    def moved(self, arrays: Sequence[Any], outs: Sequence[Any]) -> int:
        """The bytes of what members read, each array once, and of the results."""
        return super().moved(arrays[: sum(self.arity)], outs)

    def prepared(self, ins: tuple[Tensor, ...]) -> str:
        """Compile; the LLVM text."""
        return self.run.prepared(self.members[0].shape[0], [math.prod(member.shape[1]) for member in self.members])

    def __call__(self, xp: Any, *arrays: Any) -> Any:
        given, at = [], 0
        for member, count in zip(self.members, self.arity, strict=True):
            given.append(member.given(*arrays[at : at + count]))
            at += count
        made: list[Any] = []
        for member, outs in zip(self.members, self.run(given), strict=True):
            result = member.result(outs)
            made += result if isinstance(result, list) else [result]
        return made[0] if len(made) == 1 else made

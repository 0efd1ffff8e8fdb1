"""Boxes that fold by bin, run in one pass over their elements: how each finds its arrays, and what becomes of its results."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from catad.engine.cpu.by_bin import Fold, Given, Pass
from catad.spaces import Tensor


class Member(NamedTuple):
    """A box as a fold by bin: `given` lays out its arrays, `result` is what it gives of the results (bins, *rest).

    `shape` are the number of elements, and the shape of each.
    """

    fold: Fold
    shape: tuple[int, tuple[int, ...]]
    given: Callable[..., Given]
    result: Callable[[list[Any]], Any]

    @property
    def held(self) -> int:
        """The bytes of its states, all bins of one piece."""
        return self.fold.bytes * self.fold.bins * math.prod(self.shape[1])


class Together:
    """Members on the arrays of all of them, one after the other: a result, or the results of all of them in their order."""

    def __init__(self, members: Sequence[Member], arity: Sequence[int], name: str) -> None:
        self.members, self.arity = tuple(members), tuple(arity)
        self.run = Pass([member.fold for member in members], name)

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

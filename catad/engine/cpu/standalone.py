"""Kernels for boxes that no stage takes in and that are worth code of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from catad.boxes import Primitive
from catad.engine import notices
from catad.engine.cpu.bins.multi_fold import MultiFold
from catad.engine.cpu.bins.rows import prefixes, winner
from catad.engine.cpu.bins.scatter import scatter
from catad.engine.stages.bins import Member
from catad.errors import CannotPrint
from catad.linear.gather import Put
from catad.spaces import Tensor
from catad.vector.by_bin import PrefixByBin, WinnerByBin

_MAKERS: dict[type, Callable[..., Callable[..., Any] | None]] = {
    Put: scatter,
    WinnerByBin: winner,
    PrefixByBin: prefixes,
}


def standalone(primitive: Primitive, ins: tuple[Tensor, ...]) -> Callable[..., Any]:
    """What runs a box by itself: compiled code where there is some, else its array code."""
    plain = primitive.kernel(ins)
    name, maker = type(primitive).__name__, _MAKERS.get(type(primitive))
    made = maker(primitive, ins) if maker is not None else None
    return plain if made is None else Standalone(name, made, plain, ins)


def multi_fold(members: Sequence[Member], arity: Sequence[int], plain: Callable[..., Any], name: str) -> Standalone:
    """Boxes that fold by bin in one pass; `plain` does the same by array code."""
    return Standalone(name, MultiFold(members, arity, name), plain, ())


class Standalone:
    """Compiled code, and the array code where it cannot be printed; one notice says so."""

    def __init__(
        self, name: str, made: Callable[..., Any] | None, plain: Callable[..., Any], ins: tuple[Tensor, ...]
    ) -> None:
        self.name, self.made, self.plain, self.ins = name, made, plain, ins

    def prepared(self) -> str | None:
        """Compile for arrays in its spaces; the LLVM text, or None where the array code runs or other programs do the work."""
        prepare = getattr(self.made, "prepared", None)
        try:
            return None if prepare is None else prepare(self.ins)
        except CannotPrint as error:
            self._cannot(error)
            return None

    def _cannot(self, error: CannotPrint) -> None:
        notices.notice(error.message, error.message)
        self.made = None

    def __call__(self, xp: Any, *arrays: Any) -> Any:
        if self.made is not None:
            try:
                return self.made(xp, *[a if type(a) is np.ndarray else np.asarray(a) for a in arrays])
            except CannotPrint as error:
                self._cannot(error)
        return self.plain(xp, *arrays)

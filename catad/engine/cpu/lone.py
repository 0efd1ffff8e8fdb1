"""Kernels for boxes that no stage takes in and that are worth code of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from catad.boxes import Primitive
from catad.engine import notices
from catad.engine.cpu.bin_boxes import fold, prefixes, winner
from catad.engine.cpu.bins import Before
from catad.engine.cpu.scatter import is_dense, scatter, summed
from catad.engine.cpu.together import Member, Together
from catad.errors import CannotPrint
from catad.linear.gather import Put
from catad.spaces import Tensor
from catad.vector.by_bin import PrefixByBin, WinnerByBin
from catad.vector.fold_by_bin import FoldByBin

_MAKERS: dict[type, Callable[..., Callable[..., Any] | None]] = {
    Put: scatter,
    WinnerByBin: winner,
    PrefixByBin: prefixes,
}


def lone(primitive: Primitive, ins: tuple[Tensor, ...]) -> Callable[..., Any]:
    """What runs a box by itself: compiled code where there is some, else its array code."""
    plain = primitive.kernel(ins)
    name, maker = type(primitive).__name__, _MAKERS.get(type(primitive))
    made = maker(primitive, ins) if maker is not None else None
    return plain if made is None else Lone(name, made, plain, ins)


def is_member(primitive: Primitive, ins: tuple[Tensor, ...]) -> bool:
    """Whether a box in these spaces may share a pass over the elements that it folds by bin."""
    return isinstance(primitive, FoldByBin) or (isinstance(primitive, Put) and is_dense(primitive, ins))


def member(primitive: Primitive, ins: tuple[Tensor, ...], before: Before | None = None) -> Member:
    """Such a box as a part of a pass."""
    if isinstance(primitive, FoldByBin):
        return fold(primitive, ins, before)
    assert isinstance(primitive, Put)
    return summed(primitive, ins, before)


def together(members: Sequence[Member], arity: Sequence[int], plain: Callable[..., Any], name: str) -> Lone:
    """Boxes that fold by bin in one pass; `plain` does the same by array code."""
    return Lone(name, Together(members, arity, name), plain, ())


class Lone:
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

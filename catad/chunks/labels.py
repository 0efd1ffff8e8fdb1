"""What a box from outside the package says of chunks: `chunks = "rows"`, "entries", or a label for each axis.

    "rows"          axis 0 of all arguments and results that have axes
    "entries"       every axis, as NumPy's rules line arguments and results up
    "ij,j->i"       a letter for each axis; along those that all results have, the box is local
    "...n->...n"    any number of axes before n, lined up as NumPy does

Along labels that a result lacks, and those of arguments alone, each chunk of the box reads whole axes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from catad import errors
from catad.category.chunk_labels import SAME
from catad.category.spaces import Tensor

if TYPE_CHECKING:
    from catad.chunks.plan import Labels

_OPERAND = re.compile(r"([A-Za-z]*)(\.\.\.)?([A-Za-z]*)")
Both: TypeAlias = "tuple[list[Labels], list[Labels]]"


def labels_of(said: str, box: Any, ins: Sequence[Tensor], outs: Sequence[Tensor]) -> Both:
    """The labels of arguments and results along which a box is local; raises `ExtensionError` where they do not fit."""
    given, made = _same(said, ins, outs) if said in SAME else _read(said, box, ins, outs)
    sizes: dict[Any, int] = {}
    for space, labels in zip((*ins, *outs), (*given, *made), strict=True):
        for n, label in zip(space.shape, labels, strict=True):
            if n != 1 and label is not None and sizes.setdefault(label, n) != n:
                raise errors.ExtensionError(errors.wrong_chunk_labels(box, said, ins, outs))
    common = set.intersection(*[set(labels) for labels in made], {label for labels in given for label in labels}) - {None}
    twice = any(labels.count(label) > 1 for labels in made for label in common)
    axes = [axis for space, labels in zip(outs, made, strict=True) for axis in zip(space.shape, labels, strict=True)]
    stretched = any(n != sizes.get(label, n) for n, label in axes)
    if twice or stretched or (said == "rows" and not common):
        raise errors.ExtensionError(errors.wrong_chunk_labels(box, said, ins, outs))
    number = {label: k for k, label in enumerate(sorted(common, key=str))}

    def kept(space: Tensor, labels: Sequence[Any]) -> Labels:
        return [number.get(label) if n == sizes.get(label, 1) else None for n, label in zip(space.shape, labels, strict=True)]

    return [kept(*one) for one in zip(ins, given, strict=True)], [kept(*one) for one in zip(outs, made, strict=True)]


def _same(said: str, ins: Sequence[Tensor], outs: Sequence[Tensor]) -> tuple[list[list[Any]], list[list[Any]]]:
    def labels(space: Tensor) -> list[Any]:
        return [*range(space.ndim - 1, -1, -1)] if said == "entries" else ["rows", *[None] * space.ndim][: space.ndim]

    return [labels(space) for space in ins], [labels(space) for space in outs]


def _read(said: str, box: Any, ins: Sequence[Tensor], outs: Sequence[Tensor]) -> tuple[list[list[Any]], list[list[Any]]]:
    sides = [side.split(",") for side in said.replace(" ", "").split("->")]
    if [len(side) for side in sides] != [len(ins), len(outs)]:
        raise errors.ExtensionError(errors.wrong_chunk_labels(box, said, ins, outs))
    found = []
    for side, spaces in zip(sides, (ins, outs), strict=True):
        labels = [_labels(one, space.ndim) for one, space in zip(side, spaces, strict=True)]
        if any(own is None for own in labels):
            raise errors.ExtensionError(errors.wrong_chunk_labels(box, said, ins, outs))
        found.append([own for own in labels if own is not None])
    return found[0], found[1]


def _labels(operand: str, ndim: int) -> list[Any] | None:
    """The labels of an operand; of axes that `...` stands for, how many of them follow. None where they do not fit."""
    read = _OPERAND.fullmatch(operand)
    if read is None:
        return None
    first, dots, last = read.groups()
    more = ndim - len(first) - len(last)
    if more < 0 or (more and not dots):
        return None
    return [*first, *range(more - 1, -1, -1), *last]

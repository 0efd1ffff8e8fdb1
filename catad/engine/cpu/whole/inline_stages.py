"""Stages within a whole program: the loop nests of `nests/` with all sizes and strides written into the text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from catad.category.spaces import Tensor
from catad.engine.cpu.nests.nest import Nest, with_few_states
from catad.engine.cpu.whole.shared_kernels import called
from catad.engine.cpu.whole.text import Buffer, Text
from catad.engine.stages.layout import FOLDS, LINE, SHORT, Layout, Ready, layout, strides_of
from catad.engine.stages.split_reduction import in_two
from catad.engine.stages.table import Table
from catad.engine.text.places import is_index


class FixedNest(Nest):
    """A kernel whose table is known; `shared` are arrays that lie where another one does."""

    hoists = False

    def __init__(self, text: Text, how: Layout, shared: frozenset[int], number: int) -> None:
        super().__init__(how.kernel)
        self.w = text.w.beside()
        self.w.hint = Nest(how.kernel).w.hint
        self.how, self.shared = how, shared
        self.values = Table(how, [-1 if is_index(array) else 0 for array in self.arrays[: len(self.body.sources)]]).values
        self.row, self.name, self.attributes = f"row{number}", f"stage{number}", f"#{number}"

    def entry(self, at: int) -> str:
        """A number of the table."""
        return str(self.values[at])

    def _apart(self, j: int) -> str:
        return "" if j in self.shared else "noalias"

    def functions(self) -> str:
        """The function of a row and that of all rows, which takes the addresses of the arrays."""
        row = self._row()
        self.w = self.w.beside()
        return row + self._rows()

    def _rows(self) -> str:
        w, how = self.w, self.how
        outer = how.loops[: self.kernel.outer]
        with w.nested([loop.size for loop in outer]) as index:
            given = ["ptr null", "i64 0", f"i64 {how.loops[-1].size}"]
            for j, array in enumerate(self.arrays):
                at = str(how.offsets[j])
                for i, loop in zip(index, outer, strict=True):
                    if i != "0" and loop.strides[j]:
                        step = w.set(f"mul nsw i64 {i}, {loop.strides[j]}")
                        at = step if at == "0" else w.set(f"add nsw i64 {at}, {step}")
                if is_index(array):
                    given.append(f"i64 {at}")
                else:
                    place = f"%p{j}" if at == "0" else w.set(f"getelementptr i8, ptr %p{j}, i64 {at}")
                    given.append(f"ptr {place}")
            given += [f"i64 {position}" for position in self.positions(index)]
            w.do(f"call void @{self.row}({', '.join(given)})")
        pointers = [f"ptr %p{j}" for j, array in enumerate(self.arrays) if not is_index(array)]
        return w.text(self.name, ", ".join(pointers), "internal", self.attributes)


FEW = 16  # lines beside each other, of which fewer are better folded one after the other, where they are short


def write_stage(
    text: Text,
    stage: Ready,
    read: Sequence[tuple[Buffer, Tensor] | None],
    made: Sequence[tuple[Buffer, Tensor]],
    same: Mapping[int, int],
) -> None:
    """Write a stage that reads these arrays, None for loop indices, and writes those; `same` says which lie in one place."""
    if 0 in stage.shape:
        return
    strides = [(1,) if one is None else strides_of(one[1]) for one in read]
    how = layout(stage, [*strides, *[strides_of(space) for _, space in made]])
    if how is None:
        _write_in_two(text, stage, read, made)
        return
    if not same and called(text, how, [None if one is None else one[0] for one in read], [one[0] for one in made]):
        return
    if how.kernel.kind == FOLDS:
        how = how._replace(kernel=how.kernel._replace(kind=LINE))
    how = with_few_states(how)
    laid, shared = how, frozenset([*same, *same.values()])
    number = text.function((laid, shared), lambda k: FixedNest(text, laid, shared, k).functions())
    pointers = [one[0].pointer for one in [*read, *made] if one is not None]
    text.w.do(f"call void @stage{number}({', '.join([f'ptr {pointer}' for pointer in pointers])})")


def _write_in_two(text: Text, stage: Ready, read: Sequence[Any], made: Sequence[tuple[Buffer, Tensor]]) -> None:
    """A stage that folds over axes along which arrays do not lie as along one."""
    lanes = math.prod([n for k, n in enumerate(stage.shape) if k not in stage.axis])
    apart = lanes < FEW and stage.shape[stage.axis[-1]] < SHORT
    strides = [(1,) if one is None else strides_of(one[1]) for one in read]
    found = in_two(stage, strides, [strides_of(space) for _, space in made], [0] if apart else [])
    between = [Tensor(shape, dtype) for shape, dtype in found.between]
    rooms = [(text.buffer(space), space) for space in between]
    first = [*[made[k] for k in found.outs], *rooms]
    write_stage(text, found.first, read, first, {})
    for one in found.rest:
        write_stage(text, one.stage, [first[k] for k in one.reads], [made[j] for j in one.outs], {})
    for room, _ in rooms:
        text.free(room)

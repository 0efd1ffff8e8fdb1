"""What a pullback keeps of its point: the arrays with the fewest bytes from which all coefficients of the derivative follow.

The slots of the linear map are such arrays, and often not the fewest. The program of value and coefficients is a graph of
wires, in which a minimum vertex cut is looked for between the slots and what a pullback cannot compute again (`min_cut.py`).
Pointwise boxes behind the cut run again, in the stages of the pullback that read what they make.

Source: the name is JAX's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from typing import Any

from catad.category.spaces import Product, Tensor
from catad.category.wiring import Box, Builder, Wire, Wiring
from catad.engine.program import Program, with_zeros
from catad.engine.rewrites.conditions import with_conditions
from catad.engine.rewrites.constant_rows import parted
from catad.engine.stages.work import is_view
from catad.jacobians.min_cut import UNIT, inlined, least, price_of
from catad.linear.restriction import between
from catad.linear.structure import Structure
from catad.values.arrays import Array
from catad.vector.derivative_carriers import erased


class Residuals:
    """A program from a point to the value and to what is kept, and one from what is kept and cotangents to cotangents.

    `whole` goes to `count` leaves of results, then to the slots; `structure` pulls back. `held` are the positions of the
    arguments that the pullback reads where they are, `kept` the wires of the arrays that the first program adds to its results.
    """

    def __init__(self, whole: Wiring, count: int, structure: Structure, held: Sequence[int], kept: Sequence[int]) -> None:
        self.whole, self.structure, self.held = whole, structure, tuple(held)
        self._slots = whole.outputs[count:]
        self._ins = (*kept, *[whole.inputs[i] for i in held])
        outputs = (*whole.outputs[:count], *kept)
        boxes = tuple(between(whole, whole.inputs, outputs))
        self.forward = Program(
            Wiring(whole.dom, Product(whole.spaces(outputs)), whole.wires, whole.inputs, boxes, outputs)
        )

    def _program(self, ends: Callable[[Builder, list[Wire], list[Wire]], Sequence[Wire]], spaces: Sequence[Tensor]) -> Program:
        """What is computed from the slots, which are computed from what is kept, and from more arguments."""
        b = Builder()
        starts = [b.wire(self.whole.wires[k]) for k in self._ins]
        more = [b.wire(space) for space in spaces]
        at = dict(zip(self._ins, starts, strict=True))
        for box in between(self.whole, at, self._slots):
            at.update(zip(box.outs, b.add(box.primitive, *[at[k] for k in box.ins]), strict=True))
        ins = (*starts, *more)
        return Program(b.finish(b.space(ins), ins, tuple(ends(b, [at[k] for k in self._slots], more))))

    @cached_property
    def backward(self) -> tuple[Program, tuple[bool, ...]]:
        """The program of the pullback, and which of its results there are; the others are zero by structure."""
        made: list[bool] = []

        def pulled(b: Builder, slots: list[Wire], cotangents: list[Wire]) -> list[Wire]:
            outs = self.structure.apply(b, slots, cotangents)
            made.extend([wire is not None for wire in outs])
            return [wire for wire in outs if wire is not None]

        return self._program(pulled, self.structure.dom), tuple(made)

    def pulled(self, xp: Any, arrays: Sequence[Array], cotangents: Sequence[Array]) -> list[Array]:
        """The cotangents of the arguments, from what is kept and the cotangents of the results."""
        program, there = self.backward
        return with_zeros(program(xp, [*arrays, *cotangents]), there, self.structure.cod, xp)

    @cached_property
    def _coefficients(self) -> Program:
        return self._program(lambda b, slots, _: slots, ())

    def slots(self, xp: Any, arrays: Sequence[Array]) -> list[Array]:
        """The slots of the linear map, from what is kept."""
        return self._coefficients(xp, arrays)


def residuals(whole: Wiring, count: int, structure: Structure, frozen: Sequence[bool]) -> Residuals | None:
    """The least that a pullback can keep, None where it is the slots. `frozen` are the arguments into which nobody can write.

    Such an argument is kept as it is. Of another one, and of a result, a copy is kept, since the caller may write into it.
    """
    whole, share = parted(with_conditions(erased(whole)), {*whole.outputs[count:]})
    slots = whole.outputs[count:]
    free = {k for k, flag in zip(whole.inputs, frozen, strict=True) if flag}
    fixed = {k for k, flag in zip(slots, inlined(structure), strict=True) if not flag}
    found = least_kept(whole, count, free, fixed, share)
    if found is None or (found == {*slots} and not found & free):
        return None
    held = [i for i, k in enumerate(whole.inputs) if k in found & free]
    return Residuals(whole, count, structure, held, sorted(found - free))


def least_kept(whole: Wiring, count: int, free: Collection[int], fixed: set[int], share: dict[int, float]) -> set[int] | None:
    """The wires with the fewest bytes from which the slots can be computed again; None where the search takes too long.

    `free` are arguments that are kept as they are, `fixed` the slots that what reads them cannot compute in passing: these would
    be written and read all the same. `share` is the part of the bytes of a wire that is moved, where that is not all.
    """
    results, maker = whole.outputs[:count], {k: box for box in whole.boxes for k in box.outs}
    return least(
        whole,
        whole.outputs[count:],
        lambda k: int(_capacity(whole, maker.get(k), k, results, free) * share.get(k, 1.0)),
        lambda box: price_of(whole, maker, box) if not box.ins or fixed.isdisjoint(box.outs) else None,
    )


def _capacity(whole: Wiring, box: Box | None, k: int, results: Collection[int], free: Collection[int]) -> int:
    """What keeping a wire moves: it is written and read again; what is somebody else's memory is read once more to copy it."""
    space = whole.wires[k]
    times = 1 if k in free else 3 if box is None or k in results or is_view(box) else 2
    return UNIT * times * space.size * space.dtype.itemsize

"""`Converged`: a box that raises an error, `ConvergenceError`, where an iteration ended without its goal.

An iteration is boxes like any other, so it ends with a flag in place of an error. What reads its results reads the box first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors
from catad.category.boxes import Primitive, box, of_fields
from catad.category.spaces import Tensor
from catad.category.terms import D
from catad.linear.families.gather import spread_beside, spread_over
from catad.values.stream_capture import check_not_captured
from catad.vector.loops.loop import After

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire, Wires


@box
class Converged(Primitive):
    """(flag, numbers...) to the number 0, which is there when the flag is true, in each lane of a batch.

    Flag and numbers have one shape, that of the lanes. `said` makes the message of the place of a lane and of its numbers.
    """

    said: Callable[..., str]
    error: type[errors.CatadError] = errors.ConvergenceError
    borrows = True

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (Tensor((), "int64"),)

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        check_not_captured(xp, "whether an iteration converged, which the host reads")
        flag, *numbers = arrays
        if not bool(flag.all()):
            lane = int(flag.ravel().argmin())
            place = errors.lane(lane, flag.shape)
            raise self.error(self.said(place, *[number.ravel()[lane].item() for number in numbers]))
        return xp.asarray(0, dtype=np.int64)

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> None:
        return None

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        return (spread_over(b, b.add(self, *spread_beside(b, ins, flags, size))[0], size),)


@of_fields
class WhereConverged(D):
    """`(flag, numbers, leaves)` to the leaves of what an iteration found, which are there where the flag holds."""

    said: Callable[..., str]
    error: type[errors.CatadError] = errors.ConvergenceError

    def lay_out(self, b: Builder, x: Wires) -> Any:
        flag, numbers, leaves = x
        return b.add(After(), *b.add(Converged(self.said, self.error), flag, *numbers), *leaves)

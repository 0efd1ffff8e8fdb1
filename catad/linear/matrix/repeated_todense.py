"""Whether the maps that calls of one kind give are written out as arrays: each of the last ones, or not.

`J(x).todense()`, again and again, would run two programs, one for the map and one for its array. Where each of the last maps was
written out before the next was made, a call makes the array of the next one, by one program, and `todense` hands it out. A map
that is not written out ends that: at most one array is made in vain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from catad.values.arrays import Array


class Habit:
    """What is noted of the maps of one kind of call."""

    __slots__ = ("in_turn", "open", "turns")

    def __init__(self, turns: int) -> None:
        self.turns = turns  # after so many in turn the next one is expected to be written out
        self.in_turn, self.open = 0, False  # maps that were written out in turn; whether the last one was not, so far

    def next(self) -> bool:
        """One more map is made: whether its array is expected with it."""
        if self.open:
            self.in_turn = 0
        self.open = True
        return self.in_turn >= self.turns


class Expected:
    """The array of one map, if it is there already, until somebody takes it, and the habit of such maps.

    Where the array was made first, a program and copies of its leaves make the arrays of the map.
    """

    __slots__ = ("arrays", "habit", "leaves", "program")

    def __init__(self, habit: Habit, arrays: list[Array], program: Any, leaves: Sequence[Array]) -> None:
        self.habit, self.arrays, self.program, self.leaves = habit, arrays, program, leaves

    def taken(self) -> Array | None:
        """The array, which is the taker's to write into; None the second time, and where it is not there."""
        habit = self.habit
        habit.in_turn, habit.open = habit.in_turn + 1, False
        try:
            return self.arrays.pop() if self.arrays else None
        except IndexError:  # another thread took it meanwhile
            return None

    def slots(self, count: int) -> Sequence[Array]:
        """The arrays of the map, which are the first so many results of the program."""
        made: Sequence[Array] = self.program(np, self.leaves)[:count]
        return made

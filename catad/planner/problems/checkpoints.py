"""The number of steps that are taken again when a chain of steps is reversed with a limited number of checkpoints."""

from __future__ import annotations

from math import comb

from catad import errors


def repeated_steps(steps: int, kept: int) -> int:
    """The least number of steps taken again to reverse `steps` steps with `kept` states in memory, the initial one counted.

    With r least such that C(kept + r, kept) >= steps it is r steps - C(kept + r, kept + 1) (A. Griewank and A. Walther, Revolve,
    2000). Raises `PlanError` where there is a step and no checkpoint: one would do.

    >>> repeated_steps(10, 3), repeated_steps(10, 1), repeated_steps(10, 10)
    (15, 45, 9)
    """
    for name, value in (("steps", steps), ("checkpoints", kept)):
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise errors.PlanError(errors.bad_count(name, value))
    if steps and not kept:
        raise errors.PlanError(errors.no_checkpoint(steps))
    if not steps:
        return 0
    if kept == 1:
        return steps * (steps - 1) // 2
    repeats = 0
    while comb(kept + repeats, kept) < steps:
        repeats += 1
    return repeats * steps - comb(kept + repeats, kept + 1)

"""The estimate of a plan beside what it takes: seconds by the profile, and the least of several runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from catad import errors
from catad.engine.program import Program
from catad.planner.chains.factors import work_of
from catad.planner.costs.calibrate import stored
from catad.planner.costs.cost_profile import CostProfile
from catad.values.arrays import common_module

SETTLED = 400  # calls before measuring, after which a small program has been compiled as one function, if it is to be
ENOUGH = 0.2  # seconds that these may take
ROUNDS = 30


class Measured(NamedTuple):
    """Seconds that were estimated and measured, and whether the program ran as one compiled function."""

    estimate: float
    seconds: float
    as_one_function: bool

    @property
    def ratio(self) -> float:
        """The estimate over the measurement (dimensionless)."""
        return self.estimate / self.seconds if self.seconds else 1.0

    def __repr__(self) -> str:
        how = "one compiled function" if self.as_one_function else "its boxes one by one"
        return f"estimated {self.estimate * 1e6:,.1f} us, measured {self.seconds * 1e6:,.1f} us, as {how}"


def estimate(program: Program, profile: CostProfile, as_one_function: bool) -> float:
    """The seconds of one run of a program by a profile."""
    wiring = program.wiring
    work = work_of([(primitive, wiring.spaces(ins), wiring.spaces(outs)) for primitive, ins, outs in program.boxes])
    return max(profile.call, profile.of_function(work) if as_one_function else profile.seconds(work))


def measured(program: Program, arrays: Sequence[Any], run: Callable[[], Any] | None = None) -> Measured:
    """The estimate for a program on some arrays, and the least seconds of several runs, or of `run`, which runs it.

    Raises `PlanError` for arrays that are not of NumPy: others are computed while the call returns.
    """
    xp = common_module(arrays)
    if xp is not np:
        raise errors.PlanError(errors.not_measured(xp.__name__))
    call = (lambda: program.inside(xp, arrays)) if run is None else run
    start = time.perf_counter()
    for _ in range(SETTLED):
        call()
        if time.perf_counter() - start > ENOUGH:
            break
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    whole = program.is_compiled(xp)
    return Measured(estimate(program, stored(xp), whole), best, whole)

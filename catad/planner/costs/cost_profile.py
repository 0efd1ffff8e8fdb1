"""The cost of an engine's kernels in seconds: a cost profile, measured once and kept in a file.

The time of a box is `launch + bytes * per_byte + operations * per_operation`, with three numbers for each kind of kernel. For
one profile the same program always gets the same plan. `CATAD_CACHE_DIR` names the folder of profiles, as of compiled code;
without it it is that of the user's caches; an empty one keeps none. A file is written under another name first and then
renamed: whoever reads it reads all.
"""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from catad import errors
from catad.support.lru import hashed_once


class Rates(NamedTuple):
    """Seconds for a launch, for a byte read or written, and for a scalar operation."""

    launch: float
    byte: float
    operation: float


FORMAT = 3  # of the file: 3 since programs that run as one function have rates
OTHERS = "others"  # the rates of kernels that were not measured
CALL, WITHIN = "call of a program", "matmul within a program"  # of programs that run as one compiled function


@hashed_once
@dataclass(frozen=True)
class CostProfile:
    """The cost of an engine's kernels in seconds: the rates of each kind, as `cost=` of `ct.plan` takes them.

    `rates` are pairs of a kind and its three rates: seconds for a launch, for a byte, for a scalar operation; "others" stands for
    kinds that are not named. The profile of the engine in force is measured once and kept in the user's cache folder; catad sets
    `measured` on it, so that the text of a plan says "time".

    >>> import catad as ct
    >>> profile = ct.CostProfile("example", (("others", (1e-6, 1e-9, 0.0)),))
    >>> round(profile.seconds([("Gathered", 2, 1000, 50)]), 9)
    3e-06
    """

    engine: str
    rates: tuple[tuple[str, Rates], ...]
    measured: bool = field(default=False, compare=False, repr=False)  # it is that of the engine in force, `cost="time"`

    def __post_init__(self) -> None:
        named = [kind for kind, _ in self.rates] if isinstance(self.rates, tuple) and all(map(_is_rate, self.rates)) else []
        if OTHERS not in named:
            raise errors.PlanError(errors.bad_rates(self.rates, OTHERS))

    @cached_property
    def _table(self) -> dict[str, Rates]:
        return {kind: Rates(*rates) for kind, rates in self.rates}  # whose rates may be plain tuples

    def seconds(self, work: Iterable[tuple[str, int, int, int]]) -> float:
        """The time of some boxes, given as (kernel, launches, bytes, operations)."""
        total = 0.0
        for kernel, launches, nbytes, operations in work:
            launch, byte, operation = self._table.get(kernel) or self._table[OTHERS]
            total += launches * launch + nbytes * byte + operations * operation
        return total

    @property
    def call(self) -> float:
        """The least time of a call of a program."""
        return self._table.get(CALL, self._table[OTHERS]).launch

    def of_function(self, work: Iterable[tuple[str, int, int, int]]) -> float:
        """The time of some boxes that run as one compiled function: one call, then bytes and operations, without launches."""
        return self.seconds(work) if self.within is self else self.call + self.within.seconds(work)

    @cached_property
    def within(self) -> CostProfile:
        """The profile of boxes within one compiled function, where nothing is launched; itself where such are not measured."""
        call, product = self._table.get(CALL), self._table.get(WITHIN)
        if call is None or product is None:
            return self
        inside = {"matmul": product._replace(launch=0.0), OTHERS: call._replace(launch=0.0), CALL: call, WITHIN: product}
        return CostProfile(self.engine, tuple(sorted(inside.items())), self.measured)

    def to_json(self) -> str:
        """The profile as the text of its file."""
        kernels = {name: rates._asdict() for name, rates in self.rates}
        return json.dumps({"catad profile": FORMAT, "engine": self.engine, "kernels": kernels}, indent=1)


def _is_rate(pair: Any) -> bool:
    """True for a kind with three finite numbers, at least 0."""
    if not isinstance(pair, tuple) or len(pair) != 2 or not isinstance(pair[1], tuple) or len(pair[1]) != len(Rates._fields):
        return False
    numbers = [isinstance(rate, (int, float)) and not isinstance(rate, bool) for rate in pair[1]]
    return isinstance(pair[0], str) and all(numbers) and all(math.isfinite(rate) and rate >= 0 for rate in pair[1])


def from_json(text: str, where: str) -> CostProfile:
    """A profile from the text of a file; raises `PlanError` naming the file and what is wrong with it."""
    try:
        data = json.loads(text)
        if data["catad profile"] != FORMAT:
            raise ValueError(f"format {data['catad profile']!r}, not {FORMAT}")
        kernels = {str(name): _rates(entry) for name, entry in data["kernels"].items()}
        kernels[OTHERS]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise errors.PlanError(errors.bad_profile(where, f"{type(error).__name__}: {error}")) from error
    return CostProfile(str(data.get("engine", "")), tuple(sorted(kernels.items())))


def _rates(entry: Mapping[str, Any]) -> Rates:
    rates = Rates(*[float(entry[field]) for field in Rates._fields])
    if any(not math.isfinite(rate) or rate < 0 for rate in rates):
        raise ValueError(f"rates are numbers at least 0: {tuple(rates)}")
    return rates


def store(profile: CostProfile, path: Path) -> None:
    """Write a profile to a file, all at once: whoever reads meanwhile sees the old file or the new one."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(profile.to_json())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise

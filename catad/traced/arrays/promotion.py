"""Arrays whose dtype depends on data: int64 on one path and float64 on the other.

What branches and loops leave in a name has the dtype that holds all of it. That makes no difference to the numbers until somebody
writes into the array: NumPy would truncate, or refuse, where the array is the narrower one. So the trace starts again in a way in
which the dtype is known, or it is an error.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from catad.category.spaces import flatten
from catad.category.terms import D
from catad.traced.arrays.aliases import GiveUp
from catad.traced.recorder import Region, Var
from catad.vector.pointwise.map import MapOf
from catad.vector.pointwise.operators import Leafwise


def note_widened(region: Region, var: Var, narrow: np.dtype[Any], give_up: GiveUp) -> None:
    """Note that a variable may be of a narrower dtype."""
    if var.constant is None and var.space.dtype != narrow:
        region.widened[var.wire.number] = narrow, give_up
        region.trace.has_widened = True


def is_uncertain(var: Var) -> bool:
    """True where the dtype of a variable depends on data, as far as is known."""
    return bool(var.region.trace.has_widened) and _narrower(var) is not None


def check_write(target: Any, value: Var) -> None:
    """A value is written into an array: give up, where the array may be of a dtype that does not hold the value."""
    trace = target.trace_
    if not trace.has_widened:
        return
    found = _narrower(target.var_)
    if found is not None and not np.can_cast(value.space.dtype, found[0], "same_kind" if value.weak else "safe"):
        found[1]()


def check_dtype(x: Any) -> None:
    """An array is made of the dtype of another one: give up, where that depends on data."""
    found = _narrower(x.var_) if x.trace_.has_widened else None
    if found is not None:
        found[1]()


def _narrower(var: Var) -> tuple[np.dtype[Any], GiveUp] | None:
    """The narrower dtype that a variable may have; None where its dtype is certain.

    What is computed entry by entry has the dtype that holds all operands: it is certain where one of them is.
    """
    stack, found, dtype = [var], dict[Any, Any](), var.space.dtype
    terms = dict[Region, dict[int, D]]()
    while stack:
        top = stack[-1]
        number, region = top.wire.number, top.region
        outer = region.outer.get(number)
        args = [outer] if outer is not None else [arg for arg in region.writer.get(number, ()) if arg.space.dtype == dtype]
        key = region, number
        if number in region.widened:
            found[key] = region.widened[number]
        elif top.constant is not None:
            found[key] = None
        elif key not in found:
            found[key] = None  # until the operands are known
            stack += [arg for arg in args if (arg.region, arg.wire.number) not in found]
            continue
        else:
            kinds = [found[arg.region, arg.wire.number] for arg in args if arg.constant is None or not arg.weak]
            if region not in terms:
                terms[region] = {out.wire.number: line[0] for line in region.lines for out in flatten(line[2])}
            holds_all = isinstance(terms[region].get(number), (Leafwise, MapOf))
            found[key] = None if holds_all and None in kinds else next(filter(None, kinds), None)
        stack.pop()
    made: tuple[np.dtype[Any], GiveUp] | None = found[var.region, var.wire.number]
    return made

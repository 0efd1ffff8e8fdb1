"""Boxes that give NaN where a system has no solution, in place of an error: for iterations, which look at what they get.

The places that raise ask `is_lenient`; of a stack, the matrices without a solution alone give numbers that are not finite.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from catad import errors
from catad.category.boxes import Primitive
from catad.category.spaces import Tensor
from catad.category.wiring import Box, Wiring

_lenient: ContextVar[bool] = ContextVar("lenient", default=False)


def is_lenient() -> bool:
    """Whether what cannot be solved gives NaN."""
    return _lenient.get()


def leniently(xp: Any, run: Callable[[], Any], outs: Sequence[Tensor]) -> Any:
    """What `run` gives; NaN in all results, which have the spaces `outs`, where it raises `SolveError` all the same."""
    token = _lenient.set(True)
    try:
        return run()
    except errors.SolveError:
        made = tuple([xp.full(out.shape, xp.nan if out.is_float else 0, dtype=out.dtype) for out in outs])
        return made[0] if len(made) == 1 else made
    finally:
        _lenient.reset(token)


def made_lenient(wiring: Wiring) -> Wiring:
    """A wiring whose boxes give NaN for what cannot be solved."""

    def changed(primitive: Primitive) -> Primitive:
        return replace(primitive, lenient=True) if hasattr(primitive, "lenient") else primitive  # type: ignore[type-var]

    boxes = tuple([Box(changed(box.primitive), box.ins, box.outs) for box in wiring.boxes])
    return Wiring(wiring.dom, wiring.cod, wiring.wires, wiring.inputs, boxes, wiring.outputs)

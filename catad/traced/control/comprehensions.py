"""List comprehensions over many items: the list is filled by a loop that is recorded once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from catad.traced.control.loop import ForLoop, Names
from catad.traced.control.loop_items import Once
from catad.traced.recorder import Restart

if TYPE_CHECKING:
    from catad.traced.trace import Driver


def comprehended(driver: Driver, items: Any, made: Callable[[Any], list[Any]], site: Any) -> list[Any]:
    """The list of a comprehension; `made` gives that of some items."""
    loop = ForLoop(driver, items, Names((), (), (), True), site, False)
    if loop.state == "python":
        return made(loop.items)
    out: list[Any] = []
    loop.outputs.lists.append(out)
    before = set(loop.trace.findings.unrolled)
    try:
        while loop.next():
            (value,) = made(loop.item())
            loop.outputs.append(out, value)
            loop.leave()
    except Restart:
        if loop.trace.findings.unrolled != before | {site}:
            raise
        loop.trace.region = loop.outer  # it cannot be recorded, and nothing has been done
        if isinstance(items, Once):
            items.rolled(None)
        return made(iter(items))
    return out

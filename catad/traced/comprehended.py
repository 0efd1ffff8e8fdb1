"""List comprehensions over many items: the list is filled by a loop that is recorded once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from catad.traced.loop import ForLoop, Names

if TYPE_CHECKING:
    from catad.traced.driver import Driver


def comprehended(driver: Driver, items: Any, made: Callable[[Any], list[Any]], site: Any) -> list[Any]:
    """The list of a comprehension; `made` gives that of some items."""
    loop = ForLoop(driver, items, Names((), (), (), True), site, False)
    if loop.state == "python":
        return made(loop.items)
    out: list[Any] = []
    loop.outputs.lists.append(out)
    while loop.next():
        (value,) = made(loop.item())
        loop.outputs.append(out, value)
        loop.leave()
    return out

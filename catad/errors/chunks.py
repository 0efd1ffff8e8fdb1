"""Messages about arrays in chunks."""

from __future__ import annotations

from typing import Any

import numpy as np

from catad.errors.base import abbreviated, text


def size_text(nbytes: int) -> str:
    """A number of bytes in words."""
    for unit, power in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if nbytes >= 1 << power:
            return f"{nbytes / (1 << power):.3g} {unit}"
    return f"{nbytes} bytes"


def runs_whole(name: str, because: str, nbytes: int, limit: int) -> str:
    return text(
        f"{name} would run on whole arrays in one task, since {because}",
        given=f"{size_text(nbytes)} that it reads and writes",
        expected=f"at most {size_text(limit)}",
        do=f"with ct.chunking(whole_limit={nbytes}): ..., where one worker has this memory; or write it by boxes that run in chunks",
    )


def gathers(name: str, nbytes: int, limit: int) -> str:
    return text(
        f"each task of {name} would read all blocks along axes that it needs whole",
        given=f"{size_text(nbytes)} in one task",
        expected=f"at most {size_text(limit)}",
        do=f"smaller chunks along the other axes; or with ct.chunking(whole_limit={nbytes}): ..., where workers have this memory",
    )


def not_a_whole_limit(limit: object) -> str:
    return text("a limit for whole arrays is a number of bytes", given=repr(limit), expected="an integer of at least 0")


def differs_in_chunks(what: str, leaf: int, found: Any, expected: Any) -> str:
    worst = ""
    if found.shape == expected.shape and found.size and found.dtype.kind == "f":
        with np.errstate(all="ignore"):
            worst = f"; the largest difference is {np.nanmax(np.abs(found - expected)):.3g}"
    return text(
        f"on arrays in chunks the {what} is another",
        given=f"leaf {leaf}: {found.dtype} {list(found.shape)} {abbreviated(found, 200)}{worst}",
        expected=f"{expected.dtype} {list(expected.shape)} {abbreviated(expected, 200)}",
    )

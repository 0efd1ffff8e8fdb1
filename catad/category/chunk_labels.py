"""The words in which a box says along which axes it is local on arrays in chunks; `catad.chunks.labels` reads them."""

from __future__ import annotations

from typing import Any

from catad import errors

SAME = ("rows", "entries")
"""Words for the same axes of all arguments and results: axis 0, or all axes. Else there is a letter for each axis, "ij,j->i"."""


def said_of_chunks(chunks: Any) -> str | None:
    """What is said of chunks; raises `ArgumentError` where it is no text of that form."""
    if chunks is not None and not (isinstance(chunks, str) and (chunks in SAME or chunks.count("->") == 1)):
        raise errors.ArgumentError(errors.nothing_said_of_chunks(chunks))
    return chunks


def transposed(said: str | None) -> str | None:
    """What is said of the transpose of a linear box."""
    return said if said is None or said in SAME else "->".join(reversed(said.split("->")))

"""A text that is written already, as compiled code wants it."""

from __future__ import annotations

from catad.engine.cpu.run.target import SHORT


class Printed:
    """The module of a function `kernel` with so many integers after its table."""

    entries = ("kernel",)
    level = SHORT

    def __init__(self, what: tuple[str, int]) -> None:
        self.what, self.bounds = what, what[1]

    def text(self) -> str:
        """The text."""
        return self.what[0]

"""Work is counted, not timed."""

from __future__ import annotations


class Work:
    """Work that is counted, so that a budget buys the same plan on every machine."""

    def __init__(self, units: float) -> None:
        self.left = units

    @property
    def spent(self) -> bool:
        return self.left <= 0

    def lend(self, units: float) -> Work:
        """Some of the work, for a step that may leave some of it."""
        lent = Work(min(units, self.left))
        self.left -= lent.left
        return lent

    def take_back(self, lent: Work) -> None:
        """What a step has left (or is behind)."""
        self.left += lent.left

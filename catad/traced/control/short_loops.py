"""Short `for` loops, which run in Python step by step. Where they are many steps together, or many lines, they are recorded
instead: the trace starts again, and finds them among its findings."""

from __future__ import annotations

import math
from typing import Any

from catad.traced.recorder import Restart, Trace

_NEST = 2  # times the steps of a short loop that short loops within each other take together
_LINES = 16  # times the steps of a short loop: the lines that steps after the first one may add


class ShortLoop:
    """A loop within others; it is short where `begin` is called."""

    def __init__(self, trace: Trace, site: Any) -> None:
        self.trace, self.site = trace, site
        self.depth, self.lines = len(trace.short), trace.recorded
        self.more = 0  # steps after the first one, until that has been taken

    def begin(self, n: int) -> None:
        """It takes so many steps."""
        self.more = n - 1
        self.trace.short.append((self.site, n))
        if math.prod([steps for _, steps in self.trace.short]) > _NEST * self.trace.unroll:
            self._record([site for site, _ in self.trace.short])

    def step(self, going: bool) -> None:
        """A step begins, or the loop ends where it is not going on."""
        del self.trace.short[self.depth + going :]  # loops within have ended
        lines = self.trace.recorded - self.lines
        if going and lines and self.more:
            if lines * self.more > _LINES * self.trace.unroll:
                self._record([self.site])
            self.more = 0

    def _record(self, sites: list[Any]) -> None:
        """Start again with loops recorded, unless that has been tried."""
        rolled = self.trace.findings.rolled
        if not rolled.issuperset(sites):
            rolled.update(sites)
            raise Restart

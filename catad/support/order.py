"""Orders in which things that need each other can be done."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from heapq import heapify, heappop, heappush


def in_order(needs: Mapping[int, Collection[int]]) -> list[int]:
    """Numbers, each behind those that it needs, the smallest first where there is a choice; none that waits for itself."""
    missing = {k: len(needed) for k, needed in needs.items()}
    waiting: dict[int, list[int]] = {k: [] for k in needs}
    for k, needed in needs.items():
        for other in needed:
            waiting[other].append(k)
    ready = [k for k, count in missing.items() if not count]
    heapify(ready)
    found = []
    while ready:
        found.append(heappop(ready))
        for k in waiting[found[-1]]:
            missing[k] -= 1
            if not missing[k]:
                heappush(ready, k)
    return found

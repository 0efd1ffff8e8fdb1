"""`explain`: what each site of a kernel becomes, forward and reverse, a line a site.

The words of a reverse are `view`, `fold`, `plain stores`, `gather` and `by bin`. "no atomics" stands where at most one thread
adds to a cell through the site, in all trips of the loops around it; sites are linear maps of their own, so two sites never
collide.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from catad.simt.affine import Form, Sizes
from catad.simt.lower import Found


def merged(found: Sequence[Found]) -> list[Found]:
    """One entry for each site, where trips of a loop were written out."""
    sites: dict[tuple[object, ...], list[Found]] = {}
    for one in [_as_stored(read, found) for read in found]:
        sites.setdefault((one.site.array.name, one.site.line, one.site.column, one.kind), []).append(one)
    return [_joined(several) for several in sites.values()]


def _as_stored(read: Found, found: Sequence[Found]) -> Found:
    """A read at the index of a store: since that has no race, no two threads come to one cell.

    Source: J. Hückelheim, L. Hascoët, Automatic differentiation of parallel loops with formal methods (FormAD), ICPP 2022.
    """
    if read.kind != "read" or read.free or read.place is None:
        return read
    index, path = read.place
    for one in found:
        if one.kind == "store" and one.place is not None and one.place[0] == index and one.place[1] <= path:
            name, said = f"{one.site.array.name}[{one.site.said}]", read.site.said
            reason = f"{name} is written without a race, so {said} has no duplicate where the path holds"
            return read._replace(free=True, reason=reason)
    return read


def _joined(several: Sequence[Found]) -> Found:
    first = several[0]
    if len(several) == 1:
        return first
    free = all(one.free for one in several)
    if free and first.kind == "read":
        pairs = list(combinations(several, 2))
        free = not any(one.sizes != other.sizes or meet(one.forms, other.forms, one.sizes) for one, other in pairs)
    worst = next((one for one in several if not one.free), first)
    reason = f"in {len(several)} trips"
    if free:
        reason += ", one thread a cell"
    elif worst.free:
        reason += ", several threads a cell"
    return worst._replace(free=free, reason=reason)


def meet(a: Sequence[Form] | None, b: Sequence[Form] | None, sizes: Sizes) -> bool:
    """Whether two different threads may come to one cell by two indices, each of which is free of that itself."""
    if a is None or b is None or [form.terms for form in a] != [form.terms for form in b]:
        return a is None or b is None or list(a) != list(b)
    steps = [other.c - one.c for one, other in zip(a, b, strict=True)]
    if not any(steps):
        return False
    return all(reachable(form.terms, step, sizes) for form, step in zip(a, steps, strict=True))


def reachable(terms: Sequence[tuple[int, int]], step: int, sizes: Sizes) -> bool:
    """Whether two values of a form without its constant can differ by a step; its terms are digits."""
    if not terms:
        return step == 0
    v, s = max(terms, key=lambda term: abs(term[1]))
    rest = [term for term in terms if term[0] != v]
    near = step // abs(s)
    return any(abs(k) < sizes[v] and reachable(rest, step - k * abs(s), sizes) for k in (near, near + 1))


def explained(found: Sequence[Found]) -> str:
    """The report on the sites of a launch."""
    lines = []
    for one in found:
        site = one.site
        free = ", no atomics" if one.free else ""
        reason = f" ({one.reason})" if one.reason else ""
        name = f"{site.array.name}[{site.said}]" if site.said else site.array.name
        lines.append(f"{name}  line {site.line}  {one.kind}  {one.forward}; reverse: {one.reverse}{free}{reason}")
    return "\n".join(lines)

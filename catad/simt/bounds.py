"""How many threads along each dimension a kernel can need: those beyond a guard such as `if i < n` do nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from catad.scalar import Node
from catad.simt.affine import Form, Forms, conjuncts
from catad.simt.arrays import LINEAR, Load, Repeat, Site, Step
from catad.simt.read import Dims

_AT_MOST = {"lt": (1, -1), "le": (1, 0), "gt": (-1, -1), "ge": (-1, 0)}  # sign of a - b, and of its bound
_OPPOSITE = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt"}


def needed(steps: Sequence[Step], dims: Dims) -> tuple[int, int, int]:
    """The numbers of threads in x, y and z behind which no thread writes, nor reads what others do not read."""
    threads = [math.prod(sizes) for sizes in zip(dims.grid, dims.block, strict=True)]
    forms = Forms([1 << 40] * 6 + threads)
    sites = list(_sites(steps))
    written = {site.array.name for site, reads in sites if not reads}
    made = []
    for d, n in enumerate(threads):
        # A read of what the kernel writes counts, since it may be in a race.
        found = [_bound(forms, site, d, n, reads and site.array.name not in written) for site, reads in sites]
        made.append(max(1, max(found, default=n)))
    x, y, z = made
    return x, y, z


def _sites(steps: Sequence[Step]) -> Iterator[tuple[Site, bool]]:
    """All sites, and whether they only read."""
    for step in steps:
        if isinstance(step, Repeat):
            yield from _sites(step.body)
        elif hasattr(step, "site"):
            yield step.site, isinstance(step, Load)


def _bound(forms: Forms, site: Site, d: int, n: int, reads: bool) -> int:
    """The number of threads along a dimension that may come to a site; 0 for a read that is the same for all of them."""
    if reads and all(_same(forms, node, size, d) for node, size in zip(site.index, site.array.shape, strict=True)):
        return 0
    least = n
    for part in conjuncts(site.path):
        least = min(least, _at_most(forms, part, LINEAR[d].value) + 1)
    return least


def _same(forms: Forms, node: Node, size: int, d: int) -> bool:
    """Whether an index is in range for all threads, or does not depend on their place in a dimension."""
    form = forms.form(node)
    if form is None:
        return False
    low, high = form.bounds(forms.sizes)
    return (low >= 0 and high < size) or LINEAR[d].value not in dict(form.terms)


def _at_most(forms: Forms, part: Node, v: int) -> int:
    """The largest value of a coordinate that a condition admits, as far as it says one."""
    op = part.op
    if op == "not" and part.args[0].op in _OPPOSITE:
        part, op = part.args[0], _OPPOSITE[part.args[0].op]
    if op not in _AT_MOST:
        return 1 << 40
    sign, more = _AT_MOST[op]
    a, b = [forms.form(arg) for arg in part.args]
    if a is None or b is None:
        return 1 << 40
    difference: Form = a.plus(b, -1).times(sign)  # at most `more`
    if difference.terms and difference.terms[0][0] == v and len(difference.terms) == 1 and difference.terms[0][1] > 0:
        return (more - difference.c) // difference.terms[0][1]
    return 1 << 40

"""How many threads along each dimension a kernel can need: those beyond a guard such as `if i < n` do nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence

from catad.scalar import Node
from catad.simt.affine import Forms, conjuncts, range_of
from catad.simt.arrays import LINEAR, Atomic, Load, Site, Step, Store, every
from catad.simt.read import Dims


def needed(steps: Sequence[Step], dims: Dims) -> tuple[int, int, int]:
    """The numbers of threads in x, y and z behind which no thread writes, nor reads what others do not read."""
    threads = [math.prod(sizes) for sizes in zip(dims.grid, dims.block, strict=True)]
    forms = Forms([1 << 40] * 6 + threads)
    sites = [(one.site, isinstance(one, Load)) for one in every(steps) if isinstance(one, Load | Store | Atomic)]
    written = {site.array.name for site, reads in sites if not reads}
    made = []
    for d, n in enumerate(threads):
        # A read of what the kernel writes counts, since it may be in a race.
        found = [_bound(forms, site, d, n, reads and site.array.name not in written) for site, reads in sites]
        made.append(max(1, max(found, default=n)))
    x, y, z = made
    return x, y, z


def _bound(forms: Forms, site: Site, d: int, n: int, reads: bool) -> int:
    """The number of threads along a dimension that may come to a site; 0 for a read that is the same for all of them."""
    if reads and all(_same(forms, node, size, d) for node, size in zip(site.index, site.array.shape, strict=True)):
        return 0
    least = n
    for part in conjuncts(site.path):
        found = range_of(forms, part)
        if found is not None and found[0] == LINEAR[d].value:
            least = min(least, found[2] + 1)
    return least


def _same(forms: Forms, node: Node, size: int, d: int) -> bool:
    """Whether an index is in range for all threads, or does not depend on their place in a dimension."""
    form = forms.form(node)
    if form is None:
        return False
    low, high = form.bounds(forms.sizes)
    return (low >= 0 and high < size) or LINEAR[d].value not in dict(form.terms)

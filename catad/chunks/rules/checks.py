"""Checks of integers: each task checks its block, and an error names the chunk. What they say of a number and of the size that it
must meet does not depend on the blocks."""

from __future__ import annotations

from collections.abc import Sequence

from catad.category.spaces import Tensor
from catad.chunks.plan import Plan
from catad.chunks.rules.table import WHOLE, rule
from catad.chunks.wires import Chunked
from catad.simt.one_writer import OneWriter
from catad.simt.phases import Apart
from catad.simt.races import Unraced
from catad.vector.indexing.gather import Within
from catad.vector.loops.converged import Converged

WHOLE[OneWriter] = WHOLE[Apart] = WHOLE[Unraced] = "each thread of a kernel is compared with all others"
WHOLE[Converged] = "an error names one lane of all"


@rule(Within, cut="along any axis: local")
def _within(plan: Plan, primitive: Within, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    labels = range(ins[0].ndim)
    return plan.labelled("check", [(ins[0], labels)], [(outs[0], labels)], lambda b, wires, sizes: b.add(primitive, *wires))[0]

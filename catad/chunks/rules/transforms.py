"""Transforms: local along the axes that they do not transform."""

from __future__ import annotations

from collections.abc import Sequence

from catad.category.spaces import Tensor
from catad.chunks.plan import Labels, Plan
from catad.chunks.rules.matrices import leading
from catad.chunks.rules.table import local, rule
from catad.chunks.wires import Chunked
from catad.fft.convolution import Resummed
from catad.linear.families.fourier import Transform


@rule(Transform, cut="along axes that are not transformed: local; along others: whole axes", exchanged="transformed axes")
def _transform(plan: Plan, primitive: Transform, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    labels: Labels = [None if k in primitive.how.axes else k for k in range(ins[0].ndim)]
    because = "each number of a transform depends on all along its axes"
    return local(plan, primitive, [(x, labels) for x in ins], [(space, labels) for space in outs], because)


@rule(Resummed, cut="along axes that count convolutions: local; along others: whole arrays", exchanged="convolved arrays")
def _resummed(plan: Plan, primitive: Resummed, ins: Sequence[Chunked], outs: Sequence[Tensor]) -> Sequence[Chunked]:
    k = ins[0].ndim - 1
    because = "whether a convolution is finite is asked of all of its numbers"
    return local(plan, primitive, [(x, leading(k, x.ndim)) for x in ins], [(outs[0], leading(k, k + 1))], because)

"""`Contract`: the one primitive for sums of products over labelled axes.

A generalised einsum of one or two arrays. Axes carry integer labels; equal labels are one index. Beyond einsum, a label of
the result that no operand has is broadcast along, and a label that stands twice in the result puts the values on a
diagonal. So transposing, summing, broadcasting, extracting and embedding diagonals, elementwise products, outer products
and matrix products are all `Contract`. It is linear in each operand, and its derivative is again a `Contract`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from catad.category.boxes import Primitive, box
from catad.category.constant import const
from catad.category.spaces import Tensor
from catad.linear.families.block import row
from catad.linear.matrix import pairwise_sum, zero_blocks
from catad.linear.structure import Rule, Structure, widest
from catad.support.lru import remembered

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire

Labels = tuple[int, ...]


@box
class Contract(Primitive):
    """`out[o...] = sum a[i...] * b[j...]` over the labels that are not in `out`; `sizes[label]` are their sizes."""

    drawn_as = "linear"
    operands: tuple[Labels, ...]
    out: Labels
    sizes: tuple[int, ...]

    @property
    def arity(self) -> int:
        return len(self.operands)

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (Tensor([self.sizes[label] for label in self.out], widest(*ins)),)

    def kernel(self, ins: tuple[Tensor, ...]) -> Callable[..., Any]:
        if len(self.operands) == 1:
            return place(self.operands[0], self.out, self.sizes)
        return _multiply(self.operands, self.out, self.sizes)

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        from catad.linear.families.delta import delta

        floats = [k for k, space in enumerate(ins) if space.is_float]
        parts: list[Structure] = []
        slot_labels: list[Labels | None] = []
        for k in floats:
            slot = None
            if len(ins) == 2:
                kept = set(self.out) | set(self.operands[k])
                slot = tuple(dict.fromkeys(label for label in self.operands[1 - k] if label in kept))
            slot_labels.append(slot)
            dtype = None if slot is None else ins[1 - k].dtype
            parts.append(delta(self.out, self.operands[k], slot, self.sizes, ins[k].dtype, outs[0].dtype, dtype))

        def coefficients(wires: tuple[Wire, ...], _: tuple[Wire, ...]) -> list[Wire]:
            out = []
            for k, slot in zip(floats, slot_labels, strict=True):
                if slot is not None:
                    other = wires[1 - k]
                    out.append(contract(other.builder, [self.operands[1 - k]], [other], slot, self.sizes))
            return out

        return Rule(row(parts), coefficients)

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        new = len(self.sizes)
        operands = [(new, *labels) if flag else labels for labels, flag in zip(self.operands, flags, strict=True)]
        return (contract(b, operands, ins, (new, *self.out), (*self.sizes, size)),)

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        labels = {label for operand in self.operands for label in operand}
        if len(self.operands) == 1:
            summed = labels - set(self.out)
            return math.prod(self.sizes[label] for label in labels) if summed else 0
        return math.prod(self.sizes[label] for label in labels)


def contract(b: Builder, operands: Sequence[Labels], wires: Sequence[Wire], out: Labels, sizes: Sequence[int]) -> Wire:
    """The wire of a contraction, by the simplest box that does it: none, a pointwise product, or a `Contract`."""
    if len(operands) == 1 and tuple(operands[0]) == out and len(set(out)) == len(out):
        return wires[0]
    if len(operands) == 2 and _is_pointwise(operands, out, sizes):
        return wires[0] * wires[1]
    names: dict[int, int] = {}
    for labels in (*operands, out):
        for label in labels:
            names.setdefault(label, len(names))
    renamed = tuple([tuple([names[label] for label in labels]) for labels in operands])
    box_ = Contract(renamed, tuple([names[label] for label in out]), tuple([sizes[label] for label in names]))
    return b.add(box_, *wires)[0]


def _is_pointwise(operands: Sequence[Labels], out: Labels, sizes: Sequence[int]) -> bool:
    """True where NumPy's own broadcasting lines the axes up."""
    if len(set(out)) != len(out) or set(out) != set(operands[0]) | set(operands[1]):
        return False
    return all(tuple(labels) == out[len(out) - len(labels) :] for labels in operands)


@remembered
def place(labels: Labels, out: Labels, sizes: tuple[int, ...]) -> Callable[..., Any]:
    """A kernel for one array: diagonals out, sums, transposition, broadcasting, diagonals in, in this order."""
    unique = tuple(dict.fromkeys(labels))
    wanted = tuple(dict.fromkeys(label for label in out if label in unique))
    final = tuple(dict.fromkeys(out))
    summed = tuple(unique.index(label) for label in unique if label not in wanted)
    left = [label for label in unique if label in wanted]
    order = tuple(left.index(label) for label in wanted)
    expand = tuple(slice(None) if label in wanted else None for label in final)
    shape = tuple(sizes[label] for label in final)
    embed = len(final) != len(out)
    terms = math.prod(sizes[unique[axis]] for axis in summed)
    many = terms > pairwise_sum.LEAF
    one = tuple([0 if axis in summed else slice(None) for axis in range(len(unique))])
    if labels == out and unique == out:  # all is as it should be
        return _same

    def kernel(xp: Any, x: Any) -> Any:
        if unique != labels:
            x = _diagonals(xp, x, labels)
        if summed and terms == 1:
            x = x[one]
        elif summed:
            x = pairwise_sum.total(xp, x, summed) if many else xp.sum(x, axis=summed, dtype=x.dtype)
        if order != tuple(range(len(order))):
            x = xp.transpose(x, order)
        if final != wanted:
            x = xp.broadcast_to(x[expand], shape)
        if embed:
            x = _embedded(xp, x, final, out, sizes)
        return x

    return kernel


def _same(xp: Any, x: Any) -> Any:
    return x


def _diagonals(xp: Any, x: Any, labels: Labels) -> Any:
    """Merge the axes that share a label, keeping the place of the first."""
    current = list(labels)
    while True:
        again = next((label for label in current if current.count(label) > 1), None)
        if again is None:
            return x
        i, j = [k for k, label in enumerate(current) if label == again][:2]
        x = xp.moveaxis(xp.diagonal(x, axis1=i, axis2=j), -1, i)
        del current[j]


def _embedded(xp: Any, x: Any, final: Labels, out: Labels, sizes: tuple[int, ...]) -> Any:
    """Writes the values on the diagonals of a new array of zeros."""
    result = xp.zeros([sizes[label] for label in out], dtype=x.dtype)
    index = []
    for label in out:
        shape = [1] * len(final)
        shape[final.index(label)] = sizes[label]
        index.append(xp.arange(sizes[label]).reshape(shape))
    result[tuple(index)] = x
    return result


def _multiply(operands: tuple[Labels, ...], out: Labels, sizes: tuple[int, ...]) -> Callable[..., Any]:
    """A kernel for two arrays: reduce each by itself, one batched matrix product, then place the result."""
    first, second = (tuple(dict.fromkeys(labels)) for labels in operands)
    keep = set(out)
    a = tuple(label for label in first if label in keep or label in second)
    b = tuple(label for label in second if label in keep or label in first)
    batch = tuple(label for label in a if label in b and label in keep)
    inner = tuple(label for label in a if label in b and label not in keep)
    left = tuple(label for label in a if label not in b)
    right = tuple(label for label in b if label not in a)
    size = {label: sizes[label] for label in (*a, *b)}
    prepare_a = place(operands[0], (*batch, *left, *inner), sizes)
    prepare_b = place(operands[1], (*batch, *inner, *right), sizes)
    if not inner:
        both = tuple(dict.fromkeys(label for label in out if label in size))
        spread_a, spread_b = _aligned(operands[0], both, sizes), _aligned(operands[1], both, sizes)
        finish = place(both, out, sizes)
        return lambda xp, x, y: finish(xp, spread_a(xp, x) * spread_b(xp, y))
    lengths = [math.prod(size[label] for label in group) for group in (batch, left, inner, right)]
    shape = tuple(size[label] for label in (*batch, *left, *right))
    finish = place((*batch, *left, *right), out, sizes)
    n, m, k, p = lengths
    multiply = pairwise_sum.matmul if k > pairwise_sum.inner(m, p) else _matmul
    if m * k * p >= zero_blocks.MANY:
        multiply = partial(zero_blocks.product, multiply)

    first_shape, second_shape = ((n, m, k), (n, k, p)) if batch else ((m, k), (k, p))
    plain = shape == (n, m, p)[not batch :] and len(left) == len(inner) == len(right) == 1
    if plain and prepare_a is prepare_b is finish is _same:
        return multiply

    def kernel(xp: Any, x: Any, y: Any) -> Any:
        product = multiply(xp, prepare_a(xp, x).reshape(first_shape), prepare_b(xp, y).reshape(second_shape))
        return finish(xp, product.reshape(shape))

    return kernel


def _matmul(xp: Any, x: Any, y: Any) -> Any:
    return xp.matmul(_in_rows(xp, x), _in_rows(xp, y))


def _in_rows(xp: Any, x: Any) -> Any:
    """A matrix whose rows or columns stand in one piece: NumPy multiplies others number by number, one after the other."""
    if xp is not np:
        return x
    down, along = x.strides[-2:]
    if (along == x.itemsize or down == x.itemsize) and along >= 0 <= down:
        return x
    return np.ascontiguousarray(x)


def _aligned(labels: Labels, both: Labels, sizes: tuple[int, ...]) -> Callable[..., Any]:
    """A kernel that lays the axes of one array along those of `both`, with size 1 where it has none."""
    own = tuple(label for label in both if label in labels)
    lay = place(labels, own, sizes)
    expand = tuple(slice(None) if label in own else None for label in both)
    return lambda xp, x: lay(xp, x)[expand]


def repeated(b: Builder, x: Wire, axes: Iterable[int], shape: Sequence[int]) -> Wire:
    """A wire whose axes are these of a shape, in their order, repeated along all others."""
    return contract(b, [tuple(axes)], [x], tuple(range(len(shape))), shape)


def zeros(b: Builder, space: Tensor) -> Wire:
    """A wire of zeros."""
    return repeated(b, b.apply(const(np.zeros((), space.dtype)), ()), (), space.shape)

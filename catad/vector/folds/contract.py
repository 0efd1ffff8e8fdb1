"""Contractions: `einsum` and `matmul`. The Jacobian by each operand is a `Delta` made of the other operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from catad import errors
from catad.category.cartesian import in_pattern
from catad.category.constructors import constructor
from catad.category.spaces import flatten
from catad.category.terms import D
from catad.linear.families.contract import Labels, contract
from catad.linear.families.reindex import reshaped
from catad.support.help import documented
from catad.vector.deferred import Named, Shaped, linear

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire, Wires


@linear
def _einsum(b: Builder, x: Wires, term: Any) -> Wire:
    spec, wires = term.parameters["spec"], flatten(x)
    operands, out = parsed(spec, wires, term)
    sizes: dict[int, int] = {}
    for labels, wire in zip(operands, wires, strict=True):
        for label, size in zip(labels, wire.shape, strict=True):
            if sizes.setdefault(label, size) != size:
                raise errors.SpaceError(errors.einsum_sizes(spec, [w.space for w in wires]))
    if any(label not in sizes for label in out):
        raise errors.SpaceError(errors.bad_einsum(spec, "a label of the result that no operand has"))
    table = [sizes.get(k, 1) for k in range(1 + max(sizes, default=-1))]
    return pairwise(b, operands, wires, out, table)


def pairwise(b: Builder, operands: Sequence[Labels], wires: Sequence[Wire], out: Labels, sizes: Sequence[int]) -> Wire:
    """Contract from left to right, two at a time, summing a label as soon as nothing later needs it."""
    labels, wire = operands[0], wires[0]
    if len(operands) == 1:
        return contract(b, [labels], [wire], out, sizes)
    for i in range(1, len(operands)):
        later = {label for rest in operands[i + 1 :] for label in rest} | set(out)
        both = dict.fromkeys((*labels, *operands[i]))
        kept = out if i == len(operands) - 1 else tuple([label for label in both if label in later])
        wire = contract(b, [labels, operands[i]], [wire, wires[i]], kept, sizes)
        labels = kept
    return wire


def parsed(spec: str, wires: Sequence[Wire], term: D) -> tuple[list[Labels], Labels]:
    """The labels of operands and result of a NumPy subscript string, with an ellipsis for leading broadcast-free axes."""
    left, arrow, right = spec.replace(" ", "").partition("->")
    parts = left.split(",")
    if len(parts) != len(wires):
        raise errors.SpaceError(errors.wrong_leaf_count(len(parts), ", ".join([str(w.space) for w in wires]), term))
    dots = max((w.ndim - len(p.replace("...", "")) for p, w in zip(parts, wires, strict=True) if "..." in p), default=0)
    names: dict[str, int] = {f".{k}": k for k in range(dots)}

    def labels(part: str, ndim: int | None) -> Labels:
        head, dot, tail = part.partition("...")
        if not all(c.isalpha() for c in head + tail):
            raise errors.SpaceError(errors.bad_einsum(spec, "subscripts are letters and '...'"))
        span = (dots if ndim is None else ndim - len(head) - len(tail)) if dot else 0
        keys = [*head, *[f".{dots - span + k}" for k in range(span)], *tail]
        if ndim is not None and len(keys) != ndim:
            raise errors.SpaceError(errors.bad_einsum(spec, f"{len(keys)} labels for an array with {ndim} axes"))
        return tuple([names.setdefault(key, len(names)) for key in keys])

    operands = [labels(part, w.ndim) for part, w in zip(parts, wires, strict=True)]
    if arrow:
        return operands, labels(right, None)
    counts = "".join(parts).replace(".", "")
    free = sorted({c for c in counts if counts.count(c) == 1})
    return operands, (*range(dots), *[names[c] for c in free])


@constructor()
def einsum(spec: str) -> D:
    """A sum of products by NumPy's subscripts, on one or more factors; contracted from left to right.

    Without `->` the result has the labels that occur once, in alphabetical order. Linear in each operand. Shapes: by the
    labels; a label that occurs twice in one factor is its diagonal. Dtype: the common one by NEP 50; integers stay integers.
    Raises `ArgumentError` for subscripts that cannot be read, `SpaceError` where sizes or the number of factors do not fit.

    >>> import catad as ct, numpy as np
    >>> ct.einsum("ij,j->i")(np.ones((2, 3)), np.ones(3))
    array([3., 3.])
    """
    if not isinstance(spec, str) or spec.count("->") > 1:
        raise errors.ArgumentError(errors.bad_einsum(spec, "it is a string such as 'ij,jk->ik'"))
    return Shaped(einsum, _einsum, spec=spec)


def _of_two(name: str, product: Callable[[Builder, Wire, Wire], Wire]) -> Named:
    """A product of a pair of arrays, by name."""

    def lay(b: Builder, x: Any, term: D) -> Wire:
        return product(b, *in_pattern(b, x, "(a, b)", 0, term))

    return Named(name, linear(lay))


def _matmul(b: Builder, first: Wire, second: Wire) -> Wire:
    """NumPy's matrix product, with leading axes broadcast."""
    if not first.ndim or not second.ndim:
        raise errors.SpaceError(errors.cannot_multiply(first.space, second.space))
    n = first.shape[-1]
    if second.shape[-2 if second.ndim > 1 else 0] != n:
        raise errors.SpaceError(errors.cannot_multiply(first.space, second.space))
    row, inner, column = 0, 1, 2
    sizes = [first.shape[-2] if first.ndim > 1 else 1, n, second.shape[-1] if second.ndim > 1 else 1]
    batch = max(first.ndim, second.ndim, 2) - 2
    out: list[int] = []
    heads: list[list[int]] = [[], []]
    for k in range(batch):  # leading axes line up from the right; size 1 stretches
        own = [w.shape[k - batch + w.ndim - 2] if k - batch + w.ndim - 2 >= 0 else None for w in (first, second)]
        full = max((size for size in own if size is not None and size != 1), default=1)
        sizes.append(0 if 0 in own else full)
        label = len(sizes) - 1
        out.append(label)
        for head, size in zip(heads, own, strict=True):
            if size is None:
                continue
            if size == sizes[label]:
                head.append(label)
            elif size == 1:
                sizes.append(1)
                head.append(len(sizes) - 1)
            else:
                raise errors.SpaceError(errors.cannot_multiply(first.space, second.space))
    a = (*heads[0], *((row,) if first.ndim > 1 else ()), inner)
    c = (*heads[1], inner, *((column,) if second.ndim > 1 else ()))
    ends = (*((row,) if first.ndim > 1 else ()), *((column,) if second.ndim > 1 else ()))
    return contract(b, [a, c], [first, second], (*out, *ends), sizes)


matmul = documented(
    _of_two("matmul", _matmul),
    """`ct.matmul(a, b)` is the matrix product of two arrays, as `numpy.matmul`.

Shapes: a (..., m, k) and b (..., k, n) to (..., m, n), leading axes broadcast; of an array with one axis, that is k.
Dtypes: the common dtype by NEP 50; integers stay integers and wrap around.
Derivative: `da @ b + a @ db`. At a point it keeps each factor that the other's tangent meets.
Errors: `SpaceError` for sizes that do not meet, arrays without axes, or another number of arguments.

>>> import catad as ct, numpy as np
>>> ct.matmul(np.array([[1.0, 2.0], [3.0, 4.0]]), np.ones(2))
array([3., 7.])
""",
)


def _dot(b: Builder, first: Wire, second: Wire) -> Wire:
    """NumPy's `dot`: it sums over the last axis of the first and the one before last of the second, and broadcasts nothing."""
    rank = first.ndim + second.ndim
    labels, others = tuple(range(first.ndim)), tuple(range(first.ndim, rank))
    sizes = [*first.shape, *second.shape]
    if not first.ndim or not second.ndim:
        return contract(b, [labels, others], [first, second], (*labels, *others), sizes)
    inner = others[-2] if second.ndim > 1 else others[0]
    if sizes[labels[-1]] != sizes[inner]:
        raise errors.SpaceError(errors.cannot_dot(first.space, second.space))
    out = (*labels[:-1], *[k for k in others if k != inner])
    met = (*labels[:-1], inner)
    return contract(b, [met, others], [first, second], out, sizes)


def _outer(b: Builder, first: Wire, second: Wire) -> Wire:
    """NumPy's `outer`: all products of an entry of one array and one of another, both flattened."""
    lines = [reshaped(b, w, (w.space.size,)) for w in (first, second)]
    return contract(b, [(0,), (1,)], lines, (0, 1), [w.shape[0] for w in lines])


dot = documented(
    _of_two("dot", _dot),
    """`ct.dot(a, b)` is the product of two arrays as `numpy.dot`: inner products of vectors, products of matrices, by a number.

It sums over the last axis of a and the one before last of b, or its only one; unlike `ct.matmul` it has the other axes of both.

Shapes: (..., k) and (..., k, n) to (..., ..., n); (k,) and (k,) to (); a number times an array is the multiple.
Dtypes: the common dtype by NEP 50; integers stay integers and wrap around.
Derivative: `da . b + a . db`. At a point it keeps each factor that the other's tangent meets.
Errors: `SpaceError` for sizes that do not meet, or another number of arguments.

>>> import catad as ct, numpy as np
>>> ct.dot(np.array([1.0, 2.0]), np.array([3.0, 4.0])), ct.dot(np.ones((2, 3, 4)), np.ones((5, 4, 6))).shape
(np.float64(11.0), (2, 3, 5, 6))
""",
)

outer = documented(
    _of_two("outer", _outer),
    """`ct.outer(a, b)` has the products of each entry of a with each entry of b, as `numpy.outer`.

Shapes: arrays of m and n entries, flattened in C order, to (m, n).
Dtypes: the common dtype by NEP 50; integers stay integers and wrap around.
Derivative: `da b' + a db'`. At a point it keeps both arrays.
Errors: `SpaceError` for another number of arguments.

>>> import catad as ct, numpy as np
>>> ct.outer(np.array([1.0, 2.0]), np.array([1.0, 10.0]))
array([[ 1., 10.],
       [ 2., 20.]])
""",
)

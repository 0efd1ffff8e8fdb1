"""Linear maps on flattened vectors: one vector, the columns of a matrix, blocks of a basis.

A flattened vector has the leaves of a space end to end, each in C order. Many arguments are carried along a leading axis: a map
is applied to all of a block at once, by a program that is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors, upward
from catad.category.spaces import Product, Space, Tensor
from catad.category.wiring import Builder, Wire
from catad.linear.apply import applying
from catad.linear.structure import Structure, widest
from catad.support.lru import remembered
from catad.values.arrays import Array, as_array, common_module

if TYPE_CHECKING:
    from catad.linear.map import LinearMap

BLOCK = 1 << 22  # numbers of an argument or a result that go through a map at once, by columns


def taken_apart(rows: Array, leaves: Sequence[Tensor]) -> list[Array]:
    """The leaves of the flattened vectors in the rows of a matrix, in the dtypes of the leaves; axis 0 counts the vectors."""
    out, start = [], 0
    for leaf in leaves:
        part = rows[:, start : start + leaf.size].reshape((len(rows), *leaf.shape))
        out.append(part.astype(leaf.dtype, copy=False))
        start += leaf.size
    return out


def put_together(xp: Any, arrays: Sequence[Array], leaves: Sequence[Tensor], count: int) -> Array:
    """The flattened vectors, as rows, of leaves whose axis 0 counts the vectors."""
    if not leaves:
        return xp.zeros((count, 0), dtype=np.float64)
    rows = [array.reshape((count, leaf.size)) for array, leaf in zip(arrays, leaves, strict=True)]
    return rows[0] if len(rows) == 1 else xp.concatenate(rows, axis=1)


def images(structure: Structure, xp: Any, slots: Sequence[Array], leaves: Sequence[Array], count: int) -> list[Array]:
    """The images of `count` arguments; leaves of arguments and results have a leading axis of that length."""
    if count == 1:
        made = upward.run_structure(structure, xp, slots, [leaf[0] for leaf in leaves])
        return [xp.asarray(leaf)[None] for leaf in made]
    size = block_size(structure)
    parts = [
        pushed(structure, xp, slots, [leaf[at : at + size] for leaf in leaves], min(size, count - at))
        for at in range(0, count, size)
    ]
    if len(parts) == 1:
        return parts[0]
    return [xp.concatenate(group) for group in zip(*parts, strict=True)] or [
        xp.zeros((0, *leaf.shape), dtype=leaf.dtype) for leaf in structure.cod
    ]


def block_size(structure: Structure) -> int:
    """The number of arguments that go through a map at once."""
    return max(1, BLOCK // max(1, structure.rows, structure.columns))


def pushed(structure: Structure, xp: Any, slots: Sequence[Array], leaves: Sequence[Array], count: int) -> list[Array]:
    """The same, all at once."""
    program, made = mapped(structure, count)
    found = iter(program(xp, [*slots, *leaves]))
    return [
        next(found) if there else xp.zeros((count, *leaf.shape), dtype=leaf.dtype)
        for there, leaf in zip(made, structure.cod, strict=True)
    ]


@remembered
def mapped(structure: Structure, count: int) -> tuple[Any, tuple[bool, ...]]:
    """The program that applies a structure to `count` arguments at once, and which results there are; kept."""
    from catad.linear.batch import batch  # which reads the families, and they read this

    wiring, made = applying(structure)
    b = Builder()
    n = len(structure.slots)
    spaces = wiring.spaces(wiring.inputs)
    ins = [b.wire(s if k < n else Tensor((count, *s.shape), s.dtype)) for k, s in enumerate(spaces)]
    outs = batch(b, wiring, ins, [k >= n for k in range(len(ins))], count)
    return upward.Program(b.finish(Product(tuple([w.space for w in ins])), tuple(ins), tuple(outs))), made


# -- products with plain arrays


def check_numbers(linear: LinearMap) -> None:
    """Refuse a map of wires. The error is a plain one, by which `ct.D` knows code that takes arrays only."""
    if any(isinstance(slot, Wire) for slot in linear.slots):
        raise TypeError("a linear map whose numbers are not there yet is no matrix")


def common_dtype(leaves: Sequence[Tensor]) -> np.dtype[Any]:
    """The dtype of flattened vectors of some leaves."""
    return widest(*leaves) if leaves else np.dtype(np.float64)


def _numbers(linear: LinearMap, array: Array, space: Space, shapes: tuple[object, ...]) -> tuple[Any, Array]:
    """The array library of a map and an array, and the array in a dtype that holds it; a space's flattened vectors are meant."""
    check_numbers(linear)
    array = as_array(array)
    xp = common_module([array, *linear.slots])
    Tensor((array.size,), array.dtype)  # refuses dtypes that no space has
    wanted = common_dtype(space.leaves)
    if array.shape not in shapes:
        raise errors.SpaceError(errors.wrong_columns(array.shape, space, linear))
    if np.result_type(array.dtype, wanted) != wanted:
        raise errors.SpaceError(errors.wider_than_the_map(array.dtype, wanted, linear))
    return xp, array


def matvec(linear: LinearMap, v: Array) -> Array:
    """See `LinearMap.matvec`."""
    n = linear.shape[1]
    xp, v = _numbers(linear, v, linear.dom, ((n,), (n, 1)))
    leaves = taken_apart(v.reshape(1, n), linear.dom.leaves)
    made = put_together(xp, images(linear.structure, xp, linear.slots, leaves, 1), linear.cod.leaves, 1)
    return made[0] if v.ndim == 1 else made.T


def matmat(linear: LinearMap, columns: Array) -> Array:
    """See `LinearMap.matmat`."""
    n, count = linear.shape[1], (getattr(columns, "shape", None) or (0,))[-1]
    xp, columns = _numbers(linear, columns, linear.dom, ((n, count),))
    if count == 0:
        return xp.zeros((linear.shape[0], 0), dtype=common_dtype(linear.cod.leaves))
    leaves = taken_apart(columns.T, linear.dom.leaves)
    return put_together(xp, images(linear.structure, xp, linear.slots, leaves, count), linear.cod.leaves, count).T


def flattened(linear: LinearMap, b: Array) -> list[Array]:
    """Flattened vectors of the codomain, one or the columns of a matrix, as leaves with a leading axis that counts them."""
    m = linear.shape[0]
    _, b = _numbers(linear, b, linear.cod, ((m,), (m, b.shape[-1])))
    return taken_apart(b[None] if b.ndim == 1 else b.T, linear.cod.leaves)


def is_value(space: Space, array: Any) -> bool:
    """True where what is multiplied with a map is meant as a value of a space, not as a flattened vector or as columns."""
    shape = getattr(array, "shape", None)
    if shape is None or isinstance(array, Wire) or len(shape) not in (1, 2):
        return True
    return isinstance(space, Tensor) and tuple(shape) == space.shape


def times(linear: LinearMap, x: Any) -> Any:
    """`L @ x`: see `LinearMap.__matmul__`."""
    if is_value(linear.dom, x):
        return linear(x)
    return matvec(linear, x) if x.ndim == 1 else matmat(linear, x)


def from_left(x: Any, linear: LinearMap) -> Any:
    """`x @ L`: see `LinearMap.__rmatmul__`."""
    if getattr(x, "ndim", None) != 2 or is_value(linear.cod, x):
        return times(linear.T, x)
    return matmat(linear.T, x.T).T

"""Python's numbers in a kernel: coordinates of threads, counters of trips, and what a loop makes of such numbers alone.

On a wire each is an int64 or a float64. In Python it takes the dtype of the number of NumPy that it meets: the index of a thread
times a float32 is a float32. `adapted` casts it there.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from catad import scalar
from catad.scalar import OPS, Node, Type, postorder
from catad.scalar.dtypes import default_real, result_of, work_type
from catad.scalar.simplify import rebuild

WIDE = (np.dtype(np.int64), np.dtype(np.float64), np.dtype(bool))
"""Dtypes beside which Python's numbers have the dtype that they have on a wire."""
_AS_THEY_ARE = ("test", "logic", "cast", "int", "float", "index", "image", "ldexp", "exponent")


def adapted(node: Node, dtypes: Sequence[np.dtype], weak: Collection[int]) -> tuple[Node, Type]:
    """An expression with casts where one of Python's numbers meets NumPy's, and its type.

    `weak` are the parameters that are Python's. Functions of Python's numbers, such as `sqrt`, give NumPy's.
    """
    types = [Type(dtype, dtype.kind == "b" or j in weak) for j, dtype in enumerate(dtypes)]
    found = list(postorder((node,)))
    if not weak or any(one.op in ("loop", "proj") for one in found) or not any(_narrow(one, dtypes) for one in found):
        return node, scalar.types_alone([node], types)[0]
    used = [types[one.value] for one in found if one.op == "param"]
    real = default_real([one.dtype for one in used if not one.weak])
    made: dict[Node, Node] = {}
    known: dict[Node, Type] = {}
    for one in found:
        made[one], known[one] = _adapted(one, made, known, types, real)
    return made[node], known[node]


def _narrow(node: Node, dtypes: Sequence[np.dtype]) -> bool:
    """Whether a parameter, a constant or a cast has another dtype than Python's numbers have on wires."""
    if node.op == "param":
        return dtypes[node.value] not in WIDE
    if node.op == "cast":
        return np.dtype(node.value) not in WIDE
    return node.op == "const" and isinstance(node.value, np.generic) and node.value.dtype not in WIDE


def _adapted(
    node: Node, made: dict[Node, Node], known: dict[Node, Type], types: Sequence[Type], real: np.dtype
) -> tuple[Node, Type]:
    if node.op == "param":
        return node, types[node.value]
    if node.op == "const":
        return node, scalar.types_alone([node], types)[0]
    typing = OPS[node.op].typing
    args, own = [made[arg] for arg in node.args], [known[arg] for arg in node.args]
    if typing not in _AS_THEY_ARE:
        work = work_type(node, own, real)
        if not work.weak:
            first = int(typing == "select")
            args[first:] = [_as(work, arg, one) for arg, one in zip(args[first:], own[first:], strict=True)]
    result = result_of(node, own, real)
    if typing == "real" and node.op != "div" and result.weak:
        result = Type(result.dtype, False)
    return rebuild(node, args), result


def _as(work: Type, node: Node, own: Type) -> Node:
    """A number of Python in the dtype of the operation; a constant adapts by itself, and a truth value does."""
    return scalar.cast(work.dtype, node) if own.weak and node.op != "const" and own.dtype.kind != "b" else node

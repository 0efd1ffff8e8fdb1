"""Expressions of one function, each taken by itself: the parameters on which it depends, and the dtype that it has alone.

Many expressions that share their parts, as the partials of a large function do, are gone through once for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from catad.scalar.dtypes import Type, default_real, node_types
from catad.scalar.ir import Function, Node, postorder


def parameters(nodes: Sequence[Node]) -> list[tuple[int, ...]]:
    """The numbers of the parameters on which each node depends, in order.

    >>> from catad.scalar.ir import param
    >>> from catad.scalar.simplify import apply
    >>> parameters([apply("mul", param(2), apply("sin", param(0))), param(1)])
    [(0, 2), (1,)]
    """
    masks: dict[Node, int] = {}  # bit k: depends on parameter k
    for node in postorder(nodes):
        mask = 1 << node.value if node.op == "param" else 0
        for arg in node.args:
            mask |= masks[arg]
        masks[node] = mask
    numbers: dict[int, tuple[int, ...]] = {}
    for node in nodes:
        mask = masks[node]
        if mask not in numbers:
            numbers[mask] = tuple([k for k in range(mask.bit_length()) if mask >> k & 1])
    return [numbers[masks[node]] for node in nodes]


def dtypes_alone(nodes: Sequence[Node], dtypes: Sequence[np.dtype]) -> list[np.dtype]:
    """The dtype of each node as the one output of a function of those parameters that it uses; `dtypes` are those of all.

    The other parameters have no say: Python floats alone are as wide as the widest float among the parameters in use.

    >>> from catad.scalar.ir import const, param
    >>> double, single = np.dtype("f8"), np.dtype("f4")
    >>> dtypes_alone([param(1), const(1.0)], [double, single]), dtypes_alone([const(1.0)], [single])
    ([dtype('float32'), dtype('float64')], [dtype('float32')])
    """
    return [one.dtype for one in types_alone(nodes, [Type(dtype, dtype.kind == "b") for dtype in dtypes])]


def types_alone(nodes: Sequence[Node], types: Sequence[Type]) -> list[Type]:
    """The type of each node as `dtypes_alone` has it, for parameters of which some may hold Python numbers.

    >>> from catad.scalar.ir import param
    >>> from catad.scalar.simplify import apply
    >>> single, weak = Type(np.dtype("f4"), False), Type(np.dtype("i8"), True)
    >>> types_alone([apply("mul", param(0), param(1))], [single, weak])
    [Type(dtype=dtype('float32'), weak=False)]
    """
    strong = [None if one.weak and one.dtype.kind == "f" else one.dtype for one in types]
    groups: dict[np.dtype, list[int]] = {}
    for i, used in enumerate(parameters(nodes)):
        dtypes = [dtype for dtype in ([strong[j] for j in used] or strong) if dtype is not None]
        groups.setdefault(default_real(dtypes), []).append(i)
    found: dict[int, Type] = {}
    for real, members in groups.items():
        function = Function.make(len(types), tuple([nodes[i] for i in members]))
        known = node_types(function, types, real)
        found.update({i: known[nodes[i]] for i in members})
    return [found[i] for i in range(len(nodes))]

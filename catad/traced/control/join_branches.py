"""Merging the values that two runs leave in one name: numbers and arrays, and trees of them.

`Pairs` collects the variables of which the merged value consists, makes their spaces equal, and puts the value together again
once there are variables for the results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from catad.category.spaces import Tensor
from catad.traced.arrays.aliases import Containers, exploring, link, possible
from catad.traced.arrays.operators import weakened
from catad.traced.arrays.promotion import note_widened
from catad.traced.arrays.ragged import Ragged
from catad.traced.arrays.stand_in import Buffer, Traced, fresh, var_of
from catad.traced.recorder import Region, Trace, Var, array_of
from catad.traced.rewriting.unbound_locals import UNBOUND, Undecided
from catad.values.complex_numbers import ComplexPair, is_complex
from catad.values.trees import entries_of, is_tree, kind_of, put_together, tree_leaves
from catad.vector.pointwise.operators import astype

Build = Callable[[Sequence[Var]], Any]


class CannotMerge(Exception):
    """Two values that are no numbers, or of different shapes."""


class Pairs:
    """Pairs of variables, of the first and of the second region."""

    def __init__(self, trace: Trace, first: Region, second: Region, site: Any) -> None:
        self.trace, self.first, self.second, self.site = trace, first, second, site
        self.as_conditions = False  # truth values may be numbers
        self.pairs: list[tuple[Var, Var]] = []
        self.weak: list[type | None] = []
        self.arrays: list[tuple[int, set[Buffer]]] = []  # with the memory that each may be
        self.made: dict[int, Traced] = {}
        self.containers = Containers(first, second)
        self.known: dict[tuple[Buffer | None, Buffer | None], Build] = {}

    def add(self, a: Any, b: Any) -> Build:
        """How the merged value is made of the results; raises `CannotMerge`."""
        if a is b:
            return lambda outs: a
        if is_numeric(a) and is_numeric(b):
            return self._number(a, b)
        if is_complex(a) != is_complex(b) and (is_numeric(a) or is_numeric(b)):
            a, b = self._complex(self.first, a), self._complex(self.second, b)
        entries = _node(a), _node(b)
        if entries[0] is None or entries[1] is None or entries[0][:2] != entries[1][:2]:
            if not is_numeric(a) and not is_numeric(b) and _equal(a, b):
                return lambda outs: a
            raise CannotMerge
        if (a, b) in self.containers:
            return self.containers[a, b]  # another name of a list
        kind, keys, parts = entries[0]
        if isinstance(a, dict) and list(a) != list(b):
            raise CannotMerge
        built = [self.add(one, other) for one, other in zip(parts, entries[1][2], strict=True)]
        if kind is ComplexPair:  # no container that the program could change
            return lambda outs: put_together(kind, keys, [build(outs) for build in built])
        return self.containers.add(a, b, lambda outs: put_together(kind, keys, [build(outs) for build in built]))

    def _complex(self, region: Region, x: Any) -> Any:
        with self.trace.inside(region):
            return as_complex(self.trace, x)

    def _number(self, a: Any, b: Any) -> Build:
        if not isinstance(a, Traced) and not isinstance(b, Traced) and type(a) is type(b) and _equal(a, b):
            return lambda outs: a
        arrays = a.buffer if isinstance(a, Traced) else None, b.buffer if isinstance(b, Traced) else None
        if arrays in self.known:
            return self.known[arrays]  # another name of an array
        with self.trace.inside(self.first):
            x = self.first.own(var_of(self.trace, a))
        with self.trace.inside(self.second):
            y = self.second.own(var_of(self.trace, b))
        if not x.space.ndim and any(isinstance(one, Traced) and one.is_mutable for one in (a, b)):
            raise CannotMerge  # it is written into, and a number is replaced
        if x.space.ndim:
            self.arrays.append((len(self.pairs), possible(a) | possible(b)))
        made = self.vars(x, y)
        if None not in arrays and x.space.ndim:
            self.known[arrays] = made
        return made

    def vars(self, x: Var, y: Var) -> Build:
        """Two variables, each in its region."""
        if x.space.shape != y.space.shape:
            raise CannotMerge
        dtype, weak = joined(x, y)
        truths = [one for one in (x, y) if one.space.dtype.kind == "b" and not (one.weak and not one.space.ndim)]
        if len(truths) == 1 and x.space.dtype != y.space.dtype and (x.space.ndim or not self.as_conditions):
            raise CannotMerge  # arithmetic of truth values is another one
        narrow = y.space.dtype if x.space.dtype == dtype else x.space.dtype
        with self.trace.inside(self.first):
            x = converted(self.first, x, dtype)
        with self.trace.inside(self.second):
            y = converted(self.second, y, dtype)
        k = len(self.pairs)
        self.pairs.append((x, y))
        self.weak.append(weak)

        def build(outs: Sequence[Var]) -> Traced:
            if k not in self.made:
                note_widened(self.trace.region, outs[k], narrow, exploring(self.trace, self.site))
                self.made[k] = fresh(self.trace, outs[k] if weak is None else weakened(self.trace, outs[k]))
            return self.made[k]

        return build

    def link(self) -> None:
        """Note which of the merged arrays, and of the merged lists, may be one."""
        self.containers.link(self.trace, exploring(self.trace, self.site))
        made = [(self.made[k], memory) for k, memory in self.arrays if k in self.made]
        link(self.trace.region, exploring(self.trace, self.site), made)


def joined(x: Var, y: Var) -> tuple[np.dtype[Any], type | None]:
    """The dtype that holds both, and the type of Python number that both are, if they are."""
    a, b = x.space.dtype, y.space.dtype
    if x.weak and y.weak:
        order = (bool, int, float)
        return np.result_type(a, b), order[max(order.index(x.weak), order.index(y.weak))]
    if x.weak or y.weak:
        weak, strong = (x, b) if x.weak else (y, a)
        assert weak.weak is not None
        return np.result_type(weak.weak(0), np.empty(0, strong)), None
    return np.result_type(a, b), None


def converted(region: Region, var: Var, dtype: np.dtype[Any]) -> Var:
    """The variable in a dtype."""
    if var.space.dtype == dtype:
        return var
    if var.constant is not None:
        return region.constant(array_of(var.constant).astype(dtype))
    made: Var = region.record(astype(dtype), var)
    return made


def is_numeric(value: Any) -> bool:
    """True for what a variable can stand for."""
    if isinstance(value, (Traced, bool, int, float, np.generic)):
        return not is_complex(value)
    return isinstance(value, np.ndarray) and value.dtype.kind in "biuf"


def numeric_leaves(value: Any) -> list[Any] | None:
    """The numbers and arrays of a tree; None where it has none or has other things."""
    try:
        leaves = tree_leaves(value)
    except TypeError:
        return None
    return leaves if leaves and all(is_numeric(leaf) for leaf in leaves) else None


def _node(value: Any) -> tuple[Any, ...] | None:
    """The class, the keys and the entries of a container."""
    if not (is_tree(value) or type(value) is tuple):
        return None
    found = entries_of(value)
    return None if found is None else (kind_of(value), *found)


def _equal(a: Any, b: Any) -> bool:
    if a is UNBOUND or type(a) is not type(b) or isinstance(a, (Ragged, Undecided)):
        return False
    try:
        return bool(np.all(a == b)) and not callable(a)
    except (TypeError, ValueError):
        return False


def zeros_like(region: Region, space: Tensor) -> Var:
    """Zeros, for a value that is never read."""
    return region.constant(np.zeros(space.shape, space.dtype))


def as_complex(trace: Any, value: Any) -> Any:
    """A number or an array as a complex one."""
    from catad.traced.pairs.stand_in import as_pair  # late: few functions have complex numbers

    return as_pair(trace, value)


def has_no_axes(leaf: Any) -> bool:
    """True for an array without axes, which is written into where a number would be replaced."""
    return isinstance(leaf, Traced) and not leaf.ndim and leaf.is_mutable


def roots_of(value: Any) -> list[Buffer]:
    """The memory of the arrays in a tree."""
    return [leaf.root for leaf in tree_leaves(value) if isinstance(leaf, Traced) and leaf.is_mutable]


def alike(a: Any, b: Any) -> bool:
    """True for trees of the same form."""
    if is_numeric(a) or is_numeric(b):
        return is_numeric(a) and is_numeric(b)
    leaves = tree_leaves(a), tree_leaves(b)
    return kind_of(a) is kind_of(b) and len(leaves[0]) == len(leaves[1])

"""Operators of `fold`, `scan` and `histogram`: read, typed at the elements, checked on values.

An operator is a scalar function of two elements, each a number or a nested tuple of numbers as the neutral element is.
That it is closed is known from its types; that the neutral element is neutral, and the operator associative, is checked on
values of the first call, within rounding: a wrong one is an error, never a silently wrong number.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from catad import errors, scalar
from catad.scalar import Function
from catad.spaces import flatten

_NEST = "return a number, or a tuple nested as the neutral element is"
_CONVERT = "make the result of the elements' dtype, or give elements of the dtype that the operator returns"
SAMPLES = 24  # elements of the first call on which laws are checked


@dataclass(frozen=True)
class Monoid:
    """An operator with its neutral element; `tree` is the nesting of an element (None: one number)."""

    op: Function
    neutral: tuple[float | int | bool, ...]
    tree: Any

    @property
    def width(self) -> int:
        """How many numbers an element has."""
        return len(self.neutral)

    def __hash__(self) -> int:
        return hash((self.op, tuple(map(repr, self.neutral))))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Monoid)
            and self.op == other.op
            and tuple(map(repr, self.neutral)) == tuple(map(repr, other.neutral))
        )

    @property
    def flipped(self) -> Monoid:
        """The operator with its operands exchanged."""
        d = self.width
        swapped = [scalar.param(i) for i in (*range(d, 2 * d), *range(d))]
        outputs = scalar.substitute(self.op, swapped)
        op = Function.make(2 * d, outputs, self.op.tree, self.op.param_trees, self.op.name)
        return Monoid(op, self.neutral, self.tree)

    def identity(self, leaf: int, dtype: np.dtype[Any]) -> Any:
        """One number of the neutral element as a NumPy scalar."""
        return dtype.type(self.neutral[leaf])


def monoid_of(op: Any, neutral: Any) -> Monoid:
    """Read an operator at the nesting of its neutral element."""
    leaves = flatten(neutral)
    for leaf in leaves:
        if not isinstance(leaf, (bool, int, float, np.number, np.bool_)):
            raise errors.MonoidError(errors.not_a_neutral(op, leaf))
    numbers = tuple([leaf.item() if isinstance(leaf, np.generic) else leaf for leaf in leaves])
    tree = _tree(neutral)
    function = scalar.read(op, (tree, tree))
    if function.tree != tree:
        raise errors.MonoidError(errors.not_closed(op, neutral, f"a result nested as {function.tree}", _NEST))
    return Monoid(function, numbers, tree)


def _tree(neutral: Any) -> Any:
    return tuple([_tree(part) for part in neutral]) if isinstance(neutral, tuple) else None


def check_types(monoid: Monoid, dtypes: Sequence[np.dtype[Any]]) -> None:
    """The operator gives an element of the same dtypes."""
    types = scalar.result_types(monoid.op, (*dtypes, *dtypes))
    if tuple(types) != tuple(dtypes):
        names = ", ".join(map(str, types))
        raise errors.MonoidError(errors.not_closed(monoid.op, ", ".join(map(str, dtypes)), f"dtypes {names}", _CONVERT))


def sampled(xp: Any, arrays: Sequence[Any], axis: int) -> list[Any]:
    """A few elements of some arrays, spread evenly, as NumPy arrays of one axis."""
    out = []
    for array in arrays:
        flat = array.reshape(-1)
        n = flat.shape[0]
        at = np.unique(np.linspace(0, n - 1, min(n, SAMPLES)).astype(np.int64)) if n else np.zeros(0, np.int64)
        taken = flat[xp.asarray(at)]
        out.append(np.asarray(taken.get() if hasattr(taken, "get") else taken.tolist(), dtype=array.dtype))
    del axis
    return out


def check_laws(monoid: Monoid, values: Sequence[Any]) -> None:
    """The neutral element is neutral and the operator associative on some elements, within rounding."""
    run = scalar.array_function(monoid.op)

    def op(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
        return [np.asarray(r, dtype=v.dtype) for r, v in zip(run(np, *a, *b), values, strict=True)]

    n = len(values[0]) if values else 0
    if n == 0:
        return
    e = [np.full(n, monoid.identity(k, v.dtype)) for k, v in enumerate(values)]
    with np.errstate(all="ignore"):
        for side, got in (("left", op(e, values)), ("right", op(values, e))):
            at = _differs(got, values, values)
            if at is not None:
                raise errors.MonoidError(
                    errors.wrong_neutral(monoid.op, _shown(monoid.neutral), _element(values, at), _element(got, at), side)
                )
        picks = [np.asarray(c) for c in zip(*itertools.islice(_triples(n), 64), strict=True)]
        a, b, c = ([v[at] for v in values] for at in picks)
        left, right = op(op(a, b), c), op(a, op(b, c))
        at = _differs(left, right, [_magnitude(x, y, z) for x, y, z in zip(a, b, c, strict=True)])
        if at is not None:
            shown = [_element(x, at) for x in (a, b, c, left, right)]
            raise errors.MonoidError(errors.not_associative(monoid.op, *shown))


def _triples(n: int) -> Any:
    """Triples of positions that mix near and far ones, the same on every run."""
    return (((i * 7) % n, (i * 5 + 1) % n, (i * 3 + 2) % n) for i in range(64))


def _magnitude(*arrays: Any) -> Any:
    return np.maximum.reduce([np.abs(np.nan_to_num(np.asarray(a, np.float64))) for a in arrays])


def _differs(got: Sequence[Any], want: Sequence[Any], scale: Sequence[Any]) -> int | None:
    """The first position where two elements differ by more than rounding can explain; NaN explains everything."""
    bad: Any = np.zeros(len(got[0]), dtype=bool)
    clean: Any = np.ones(len(got[0]), dtype=bool)
    size = np.maximum.reduce([_magnitude(s, w) for s, w in zip(scale, want, strict=True)])
    for g, w in zip(got, want, strict=True):
        if w.dtype.kind != "f":
            bad |= g != w
            continue
        clean &= np.isfinite(g) & np.isfinite(w)
        tolerance = 64 * np.finfo(w.dtype).eps * np.maximum(np.abs(w), np.maximum(size, size**2))
        bad |= ~(np.abs(g.astype(np.float64) - w.astype(np.float64)) <= tolerance)
    bad &= clean
    found = np.flatnonzero(bad)
    return int(found[0]) if found.size else None


def _element(leaves: Sequence[Any], at: int) -> Any:
    return _shown([leaf[at].item() for leaf in leaves])


def _shown(leaves: Sequence[Any]) -> Any:
    return leaves[0] if len(leaves) == 1 else tuple(leaves)


def elements(b: Any, x: Any, monoid: Monoid, term: Any) -> list[Any]:
    """The wires of an array of elements: arrays of one shape, nested as the neutral element is."""
    wires = flatten(x)
    if _tree(x) != monoid.tree or len({w.shape for w in wires}) != 1:
        raise errors.SpaceError(errors.wrong_elements(b.space(x), _shown(monoid.neutral), term))
    check_types(monoid, [w.dtype for w in wires])
    return wires

"""Operators of `fold`, `scan` and `histogram`: read, typed at the elements, checked on values.

An operator is a scalar function of two elements, each a number or a nested tuple of numbers as the neutral element is. Its
types say whether it is closed. catad checks on values of the first call, within rounding, that the neutral element is
neutral and the operator associative. A wrong operator is an error, never a silently wrong number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from catad import errors, scalar
from catad.category.cartesian import in_pattern
from catad.category.constructors import constructor
from catad.category.spaces import Elements, Value, as_leaves, flatten, mapped, space_of
from catad.category.text import called
from catad.scalar import Function
from catad.scalar.ir import Pair, of_reals
from catad.scalar.ir import leaves as leaves_of
from catad.support.lru import remembered
from catad.values.complex_numbers import is_complex
from catad.values.stream_capture import check_not_captured
from catad.vector.pointwise.map import function_code

_NEST = "return a number, or a tuple nested as the neutral element is"
_CONVERT = "make the result of the elements' dtype, or give elements of the dtype that the operator returns"
SAMPLES = 24  # elements of the first call on which laws are checked


@dataclass(frozen=True, eq=False)
class Monoid:
    """An operator with its neutral element, made by `ct.monoid`, which says its errors.

    `ct.fold`, `ct.scan`, `ct.histogram` and their like take it in place of the operator. Monoids are compared by their operators.
    `tree` is the nesting of an element (None: one number), `inverse` takes an element out of a total, `free` counts the
    numbers that the operator takes beside its two elements, `lifts` is the operator, on the last numbers of an element, whose
    laws are those of this one; so is `pairs`, where this is the operator on its elements with their tangents before them.

    >>> import catad as ct, numpy as np
    >>> times = ct.monoid(lambda a, b: a * b, 1.0)
    >>> isinstance(times, ct.Monoid), times.neutral, times.width
    (True, (1.0,), 1)
    >>> ct.fold(times)(np.array([2.0, 3.0]))
    np.float64(6.0)
    """

    op: Function
    neutral: tuple[float | int | bool, ...]
    tree: Any
    inverse: Function | None = None
    free: int = 0
    lifts: Monoid | None = None
    pairs: Monoid | None = None

    @property
    def width(self) -> int:
        """The number of numbers of an element."""
        return len(self.neutral)

    @property
    def _key(self) -> Any:
        return (self.op, tuple(map(repr, self.neutral)), self.inverse, self.free)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Monoid) and self._key == other._key

    @property
    def flipped(self) -> Monoid:
        """The operator with its operands exchanged."""
        d = self.width
        swapped = [scalar.param(i) for i in (*range(d, 2 * d), *range(d), *range(2 * d, 2 * d + self.free))]
        outputs = scalar.substitute(self.op, swapped)
        op = Function.make(2 * d + self.free, outputs, self.op.tree, self.op.param_trees, self.op.name)
        return Monoid(op, self.neutral, self.tree, None, self.free, self.lifts)

    def as_code(self, name: Callable[[Any, str], str]) -> str | None:
        """The call of `ct.monoid` that makes it; None for one that stands for another."""
        if self.lifts is not None or self.pairs is not None:
            return called(self, name)
        options = f", inverse={function_code(self.inverse, name)}" if self.inverse is not None else ""
        options += f", params={self.free}" if self.free else ""
        return f"ct.monoid({function_code(self.op, name)}, {name(self.element, 'neutral')}{options})"

    def is_lawful(self, dtypes: Sequence[np.dtype[Any]]) -> bool:
        """True where `check_laws` finds nothing on numbers of these dtypes: for sums, products and extrema with their neutral
        elements, and for operators with free numbers, which are not checked."""
        own, found = _underlying(self, dtypes)
        if own.free:
            return True
        if own.width != 1 or own.inverse is not None:
            return False
        limits = np.iinfo(found[0]) if found[0].kind in "iu" else None
        least, most = (limits.min, limits.max) if limits is not None else (-math.inf, math.inf)
        neutral = {"add": 0, "mul": 1, "max": least, "min": most, "logaddexp": -math.inf}
        return bool(neutral.get(scalar.recognise(own.op) or "") == own.neutral[0])

    @property
    def element(self) -> Any:
        """The neutral element, nested as all elements are."""
        if of_reals(self.op.tree) != self.tree:
            return scalar.unflatten(self.tree, self.neutral)
        return _as_numbers(scalar.unflatten(self.op.tree, self.neutral))

    def identity(self, leaf: int, dtype: np.dtype[Any]) -> Any:
        """One number of the neutral element as a NumPy scalar."""
        return dtype.type(self.neutral[leaf])


def _as_numbers(nested: Any) -> Any:
    """Complex numbers in the places of pairs."""
    if isinstance(nested, Pair):
        return complex(*nested)
    return tuple(map(_as_numbers, nested)) if isinstance(nested, tuple) else nested


def monoid_of(op: Any, neutral: Any = None, params: int = 0) -> Monoid:
    """Read an operator at the nesting of its neutral element; a `Monoid` is taken as it is."""
    if isinstance(op, Monoid):
        if neutral is not None or params:
            raise errors.MonoidError(errors.monoid_twice(op))
        return op
    for leaf in flatten(neutral):
        if not isinstance(leaf, (bool, int, float, complex, np.number, np.bool_)):
            raise errors.MonoidError(errors.not_a_neutral(op, leaf))
    nested = mapped(neutral, lambda leaf: Pair((leaf.real, leaf.imag)) if is_complex(leaf) else leaf)
    numbers = tuple([leaf.item() if isinstance(leaf, np.generic) else leaf for leaf in leaves_of(nested)])
    element = scalar.tree_of(nested)
    function = scalar.read(op, (element, element, *[None] * params))
    tree = of_reals(element)
    if function.tree != element and not (isinstance(op, Function) and of_reals(function.tree) == tree):
        raise errors.MonoidError(errors.not_closed(op, neutral, errors.nesting(function.tree), _NEST))
    made = Monoid(function, numbers, tree, None, params)
    if scalar.recognise(function) == "add" and numbers[0] != 0:
        raise errors.MonoidError(errors.wrong_neutral(op, neutral, 1.0, 1.0 + numbers[0], "left"))
    if scalar.recognise(function) == "logaddexp" and numbers[0] != -math.inf:
        raise errors.MonoidError(errors.wrong_neutral(op, neutral, 1.0, float(np.logaddexp(numbers[0], 1.0)), "left"))
    return made


@constructor("neutral domain", morphisms="op inverse")
def monoid(
    op: Callable[..., Any],
    neutral: Elements,
    inverse: Callable[..., Any] | None = None,
    params: int = 0,
    domain: Value = None,
) -> Monoid:
    """An associative operator with its neutral element, for `fold`, `scan`, `histogram` and their like.

    `op` takes two elements, real or complex numbers, or tuples nested as `neutral`, and then `params` free ones: they come as
    further factors of the domain, and derivatives with respect to them are right. `inverse(total, x)` takes x out of the total
    of a commutative operator; it saves the scans in the derivatives of folds and histograms. `domain` is an array of elements on
    which the laws are checked at once (otherwise they are on the values of the first call). Raises `MonoidError`.

    >>> import catad as ct, numpy as np
    >>> times = ct.monoid(lambda a, b: a * b, 1.0, inverse=lambda total, x: total / x)
    >>> ct.grad(ct.fold(times))(np.array([2.0, 3.0, 4.0]))
    array([12.,  8.,  6.])
    """
    made = monoid_of(op, neutral, params)
    if inverse is not None:
        undo = scalar.read(inverse, (made.tree, made.tree, *[None] * params))
        if undo.tree != made.tree:
            raise errors.MonoidError(errors.not_closed(inverse, neutral, errors.nesting(undo.tree), _NEST))
        made = replace(made, inverse=undo)
    if domain is not None:
        if params:
            raise errors.MonoidError(errors.domain_with_params(op))
        space_of(domain)
        values = [leaf.reshape(-1) for leaf in as_leaves(domain)]
        if scalar.tree_of(domain) != made.tree or len({len(v) for v in values}) != 1:
            raise errors.MonoidError(errors.not_closed(op, neutral, "a domain that is nested otherwise", _NEST))
        check_types(made, [v.dtype for v in values])
        check_laws(made, sampled(np, values))
    return made


@remembered
def parts(monoid: Monoid) -> tuple[tuple[tuple[int, ...], Monoid], ...]:
    """The independent operators of an operator on tuples: which numbers each has, and the operator.

    Two numbers belong together where a result depends on both; dtypes may differ between parts (Bruun and Larsen 2022, 7.4).
    """
    d = monoid.width
    if d == 1 or monoid.inverse is not None:
        return ((tuple(range(d)), monoid),)
    group = list(range(d))
    for k, node in enumerate(monoid.op.outputs):
        for i in parameters_of(node):
            if i < 2 * d and group[i % d] != group[k]:
                old, new = group[i % d], group[k]
                group = [new if g == old else g for g in group]
    members = [tuple([k for k in range(d) if group[k] == g]) for g in dict.fromkeys(group)]
    if len(members) == 1:
        return ((members[0], monoid),)
    return tuple([(own, _restricted(monoid, own)) for own in members])


def _restricted(monoid: Monoid, own: tuple[int, ...]) -> Monoid:
    """The operator on some of the numbers, on which the others have no influence."""
    d, w = monoid.width, len(own)
    at = {k: i for i, k in enumerate(own)}
    args = [scalar.param(at[k] + side * w if k in at else 0) for side in (0, 1) for k in range(d)]
    args += [scalar.param(2 * w + i) for i in range(monoid.free)]
    outputs = scalar.substitute(monoid.op, args)
    tree = None if w == 1 else (None,) * w
    nested = [outputs[k] for k in own]
    op = Function.make(2 * w + monoid.free, nested, tree, (tree, tree, *[None] * monoid.free), monoid.op.name)
    return Monoid(op, tuple([monoid.neutral[k] for k in own]), tree, None, monoid.free)


def parameters_of(node: scalar.Node) -> frozenset[int]:
    """The parameters on which an expression depends."""
    return frozenset(int(n.value) for n in scalar.postorder([node]) if n.op == "param")


@remembered
def with_position(monoid: Monoid) -> Monoid:
    """A minimum or maximum on (number, position): which position the result comes from, by the operator's own choice."""
    a, i, b, j = (scalar.param(k) for k in range(4))
    (value,) = scalar.substitute(monoid.op, [a, b])
    ((chosen,),) = scalar.partials(monoid.op, [0])
    assert chosen is not None
    (left,) = scalar.substitute(Function.make(2, [chosen]), [a, b])
    tree = (None, None)
    outputs = [value, scalar.apply("select", scalar.apply("eq", left, scalar.const(1.0)), i, j)]
    op = Function.make(4, outputs, tree, (tree, tree), f"{monoid.op.name or 'op'} with its position")
    return Monoid(op, (*monoid.neutral, -1), tree)


def chooses(monoid: Monoid) -> bool:
    """True where the operator is a minimum or maximum of numbers."""
    return monoid.width == 1 and not monoid.free and scalar.recognise(monoid.op) in ("min", "max")


def check_types(monoid: Monoid, dtypes: Sequence[np.dtype[Any]]) -> None:
    """The operator gives an element of the same dtypes."""
    free = [np.dtype(np.float32)] * monoid.free  # the narrowest: what they are is known only at the call
    types = scalar.result_types(monoid.op, (*dtypes, *dtypes, *free))
    if tuple(types) != tuple(dtypes):
        names = ", ".join(map(str, types))
        raise errors.MonoidError(errors.not_closed(monoid.op, ", ".join(map(str, dtypes)), f"dtypes {names}", _CONVERT))
    for dtype, number in zip(dtypes, monoid.neutral, strict=True):
        if dtype.kind in "iu":
            least, most = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
            if not math.isfinite(number) or number != int(number) or not least <= number <= most:
                raise errors.MonoidError(errors.neutral_of_other_dtype(monoid.op, number, dtype, least, most))


def sampled(xp: Any, arrays: Sequence[Any]) -> list[Any]:
    """A few elements of some arrays, spread evenly, as NumPy arrays of one axis."""
    check_not_captured(xp, "numbers for which a first call checks the laws of an operator")
    out = []
    for array in arrays:
        flat = array.reshape(-1)
        n = flat.shape[0]
        at = np.unique(np.linspace(0, n - 1, min(n, SAMPLES)).astype(np.int64)) if n else np.zeros(0, np.int64)
        taken = flat[xp.asarray(at)]
        out.append(np.asarray(taken.get() if hasattr(taken, "get") else taken.tolist(), dtype=array.dtype))
    return out


def _underlying(monoid: Monoid, numbers: Sequence[Any]) -> tuple[Monoid, Sequence[Any]]:
    """The operator whose laws are those of a monoid, and what belongs to the numbers of its elements."""
    while (under := monoid.lifts or monoid.pairs) is not None:
        numbers, monoid = numbers[-under.width :], under
    return monoid, numbers


def check_laws(monoid: Monoid, values: Sequence[Any]) -> None:
    """The neutral element is neutral and the operator associative on some elements, within rounding."""
    monoid, values = _underlying(monoid, values)
    run = scalar.array_function(monoid.op)

    def op(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
        return [np.asarray(r, dtype=v.dtype) for r, v in zip(run(np, *a, *b), values, strict=True)]

    known = ~np.any([np.isnan(v) for v in values if v.dtype.kind == "f"] or [False], axis=0)  # NaN explains everything
    values = [v[known] if known.ndim else v for v in values]
    n = len(values[0]) if values else 0
    if n == 0 or monoid.free:
        return
    e = [np.full(n, monoid.identity(k, v.dtype)) for k, v in enumerate(values)]
    with np.errstate(all="ignore"):
        a, b, c = ([v[at] for v in values] for at in _triples(n))
        left, right = op(op(a, b), c), op(a, op(b, c))
        at = _differs(left, right, [_magnitude(x, y, z) for x, y, z in zip(a, b, c, strict=True)])
        if at is not None:
            shown = [_element(x, at) for x in (a, b, c, left, right)]
            raise errors.MonoidError(errors.not_associative(monoid.op, *shown))
        for side, got in (("left", op(e, values)), ("right", op(values, e))):
            at = _differs(got, values, values)
            if at is not None:
                raise errors.MonoidError(
                    errors.wrong_neutral(monoid.op, _shown(monoid.neutral), _element(values, at), _element(got, at), side)
                )
        if monoid.inverse is not None:
            _check_inverse(monoid, op, a, b)


def _check_inverse(monoid: Monoid, op: Any, a: list[Any], b: list[Any]) -> None:
    """Taking b out of `a op b` leaves a, and the operator commutes."""
    assert monoid.inverse is not None
    undo = scalar.array_function(monoid.inverse)
    total = op(a, b)
    got = [np.asarray(r, dtype=v.dtype) for r, v in zip(undo(np, *total, *b), a, strict=True)]
    scale = [_magnitude(x, y, z) for x, y, z in zip(a, b, total, strict=True)]
    at = _differs(got, a, scale)
    if at is not None:
        raise errors.MonoidError(errors.wrong_inverse(monoid.inverse, *[_element(x, at) for x in (total, b, got, a)]))
    at = _differs(op(b, a), total, scale)
    if at is not None:
        raise errors.MonoidError(errors.not_commutative(monoid.op, *[_element(x, at) for x in (a, b, total, op(b, a))]))


def _triples(n: int) -> Any:
    """Triples of positions, the same on every run: all of a few elements, or 64 that mix near and far ones."""
    if n <= 4:
        return np.indices((n, n, n)).reshape(3, -1)
    return np.random.default_rng(0).integers(n, size=(3, 64))


def _magnitude(*arrays: Any) -> Any:
    return np.maximum.reduce([np.abs(np.nan_to_num(np.asarray(a, np.float64))) for a in arrays])


def _differs(got: Sequence[Any], want: Sequence[Any], scale: Sequence[Any]) -> int | None:
    """The first position where two elements differ by more than rounding can explain; NaN explains everything."""
    bad: Any = np.zeros(len(got[0]), dtype=bool)
    clean: Any = np.ones(len(got[0]), dtype=bool)
    size = np.maximum.reduce([_magnitude(s, w) for s, w in zip(scale, want, strict=True)])
    eps = max((float(np.finfo(w.dtype).eps) for w in want if w.dtype.kind == "f"), default=0.0)  # dtypes may be mixed
    for g, w in zip(got, want, strict=True):
        if w.dtype.kind != "f":
            bad |= g != w
            continue
        clean &= np.isfinite(g) & np.isfinite(w)
        tolerance = 64 * eps * np.maximum(np.abs(w), np.maximum(size, size**2))
        bad |= ~(np.abs(g.astype(np.float64) - w.astype(np.float64)) <= tolerance)
    bad &= clean
    found = np.flatnonzero(bad)
    return int(found[0]) if found.size else None


def _element(leaves: Sequence[Any], at: int) -> Any:
    return _shown([leaf[at].item() for leaf in leaves])


def _shown(leaves: Sequence[Any]) -> Any:
    return leaves[0] if len(leaves) == 1 else tuple(leaves)


def with_params(b: Any, x: Any, monoid: Monoid, term: Any) -> tuple[Any, list[Any]]:
    """The elements and the free numbers of an argument `(elements, p, q, ...)`; without free numbers it is the elements."""
    if not monoid.free:
        return x, []
    if not isinstance(x, tuple) or len(x) != 1 + monoid.free or any(isinstance(p, tuple) for p in x[1:]):
        raise errors.SpaceError(errors.wrong_params(monoid.free, b.space(x), term))
    return x[0], list(x[1:])


def factors(b: Any, x: Any, names: Sequence[str], monoid: Monoid, term: Any) -> tuple[tuple[Any, ...], list[Any]]:
    """The named factors of an argument, and the free numbers that follow them."""
    k = len(names)
    x = in_pattern(b, x, f"({', '.join([*names, *['p'] * monoid.free])})", k, term)
    return x[:k], list(x[k:])


def elements(b: Any, x: Any, monoid: Monoid, term: Any) -> list[Any]:
    """The wires of an array of elements: arrays of one shape, nested as the neutral element is."""
    wires = flatten(x)
    if scalar.tree_of(x) != monoid.tree or len({w.shape for w in wires}) != 1:
        raise errors.SpaceError(errors.wrong_elements(b.space(x), _shown(monoid.neutral), term))
    check_types(monoid, [w.dtype for w in wires])
    return wires

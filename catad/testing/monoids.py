"""`check_monoid`: the neutral element and associativity of an operator, on every triple of given values."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from catad import errors, scalar
from catad.category.spaces import Value, as_leaves, flatten, space_of
from catad.testing.values import broken, difference, largest, require
from catad.vector.folds.monoid import Monoid, monoid_of


def check_monoid(op: Any, neutral: Any, values: Sequence[Any], exact: bool = False) -> None:
    """Check that `neutral` is neutral for `op` on both sides and that `op` is associative, on all triples of `values`.

    `op` and `neutral` are as for `scan`; each value is one element, a number or a tuple nested as `neutral` is. Equality
    is within rounding of the largest number met, or bit for bit where `exact`. Raises `LawError` with the values that break
    a law, and `MonoidError` for an operator that is not closed on its element.

    >>> import catad as ct
    >>> from catad.testing import check_monoid
    >>> check_monoid(lambda a, b: a * b, 1.0, [0.5, -2.0, 3.0])
    >>> try:
    ...     check_monoid(lambda a, b: a - b, 0.0, [1.0, 2.0])
    ... except ct.LawError as error:
    ...     print(str(error).splitlines()[0])
    the law of the neutral element (left) does not hold: op(e, x) == x
    """
    if not len(values):
        raise errors.ArgumentError(errors.nothing_to_check("check_monoid"))
    monoid = monoid_of(op, neutral)
    given = [tuple(as_leaves(value)) for value in values]
    e = tuple([monoid.identity(k, leaf.dtype) for k, leaf in enumerate(given[0])])
    shown = op if callable(op) and not isinstance(op, scalar.Function) else monoid.op

    def times(a: Any, b: Any) -> tuple[Any, ...]:
        return _joined(monoid, a, b)

    for value, x in zip(values, given, strict=True):
        for law, equation, got in (
            ("of the neutral element (left)", "op(e, x) == x", times(e, x)),
            ("of the neutral element (right)", "op(x, e) == x", times(x, e)),
        ):
            if space_of(got) != space_of(x):
                raise broken("that an operator is closed", "op : A * A -> A", shown, value, space_of(got), space_of(x))
            require(law, equation, shown, value, got, x, exact)
    for a, b, c in itertools.product(given, repeat=3):
        left, right = times(times(a, b), c), times(a, times(b, c))
        size = largest(a, b, c, times(a, b), times(b, c)) ** 2
        if difference(left, right, exact, max(size, 1e-300)) is not None:
            require("of associativity", "op(op(a, b), c) == op(a, op(b, c))", shown, (a, b, c), left, right, exact, size)


def _joined(monoid: Monoid, a: Sequence[Value], b: Sequence[Value]) -> tuple[Any, ...]:
    with np.errstate(all="ignore"):
        return tuple([np.asarray(r) for r in flatten(tuple(scalar.array_function(monoid.op)(np, *a, *b)))])

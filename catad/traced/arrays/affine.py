"""Normal forms of whole numbers that a trace computes: `c + k1 a1 + k2 a2 + ...` of variables that it does not look into.

Two bounds of slices are equal where their forms are, whatever way the program computes them: `(i + 1) - 1` is `i`. Variables that
are known to lie between others, such as the index of a loop, give bounds of what is made of them. The bounds of a variable may
depend on variables that were there before it, as those of j in `for j in range(i, n)`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from catad.traced.recorder import Region, Var, array_of

Key = tuple[Region, int]  # a variable: its region, and the number of its wire there


class Affine:
    """A constant, and for each variable its factor."""

    __slots__ = ("constant", "terms", "vars")

    def __init__(self, constant: int, terms: Mapping[Key, int] | None = None, vars_: Mapping[Key, Var] | None = None) -> None:
        self.constant = constant
        self.terms = {key: factor for key, factor in (terms or {}).items() if factor}
        self.vars = dict(vars_ or {})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Affine) and (self.constant, self.terms) == (other.constant, other.terms)

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: Affine | int) -> Affine:
        if isinstance(other, int):
            return Affine(self.constant + other, self.terms, self.vars)
        terms = dict(self.terms)
        for key, factor in other.terms.items():
            terms[key] = terms.get(key, 0) + factor
        return Affine(self.constant + other.constant, terms, self.vars | other.vars)

    def __mul__(self, factor: int) -> Affine:
        return Affine(self.constant * factor, {key: k * factor for key, k in self.terms.items()}, self.vars)

    def __sub__(self, other: Affine | int) -> Affine:
        return self + (-other if isinstance(other, int) else other * -1)

    @property
    def number(self) -> int | None:
        """The number, where it depends on no variable."""
        return None if self.terms else self.constant


class Between(NamedTuple):
    """The bounds of a variable, which are included."""

    low: Affine
    high: Affine


def form_of(value: Any) -> Affine:
    """The normal form of a whole number of Python, or of a variable that stands for one."""
    if not isinstance(value, Var):
        return Affine(int(value))
    if value.constant is not None:
        return Affine(int(array_of(value.constant)))
    region, number = value.region, value.wire.number
    known = region.forms.get(number)
    if known is not None:
        return known  # type: ignore[no-any-return]
    outer = region.outer.get(number)
    return form_of(outer) if outer is not None else Affine(0, {(region, number): 1}, {(region, number): value})


def note(region: Region, ufunc: np.ufunc, args: Sequence[Any], made: Var) -> None:
    """Note the form of what a universal function gives: of variables without axes (int64), and numbers."""
    if ufunc.__name__ not in _SIGNS or made.constant is not None or made.wire.number in region.forms:
        return
    for arg in args:
        if isinstance(arg, Var) and (arg.space.shape or arg.space.dtype != np.int64):
            return
        if not isinstance(arg, Var) and type(arg) is not int:
            return
    forms = [form_of(arg) for arg in args]
    if ufunc.__name__ == "multiply":
        factors = [form.number for form in forms]
        if factors[0] is None and factors[1] is None:
            return
        found = forms[1] * factors[0] if factors[0] is not None else forms[0] * (factors[1] or 0)
    else:
        signs = _SIGNS[ufunc.__name__]
        found = forms[0] * signs[0] if len(forms) == 1 else forms[0] + forms[1] * signs[1]
    region.forms[made.wire.number] = found


_SIGNS = {"add": (1, 1), "subtract": (1, -1), "negative": (-1,), "positive": (1,), "multiply": ()}


def note_bounds(var: Var, low: Affine, high: Affine) -> None:
    """Note between which numbers a variable lies."""
    var.region.bounds[var.wire.number] = Between(low, high)


def most(form: Affine) -> float:
    """A number that the form does not exceed; infinity where none is known."""
    while form.terms:
        key = max(form.terms, key=_age)
        factor = form.terms[key]
        between = key[0].bounds.get(key[1])
        if between is None:
            return math.inf
        rest = Affine(form.constant, {k: n for k, n in form.terms.items() if k != key}, form.vars)
        form = rest + (between.high if factor > 0 else between.low) * factor
    return form.constant


def least(form: Affine) -> float:
    """A number below which the form does not go; minus infinity where none is known."""
    return -most(form * -1)


def _age(key: Key) -> tuple[int, int]:
    """Variables of inner regions, and those that were made later, depend on others."""
    region, number = key
    return len([*region.outward]), number

"""Comparisons, tests of numbers, logic, and the choice by a condition."""

from catad.vector.pointwise.ufunc_help import BOOLEAN, KEPT, NONE, ufunc

_NAN = "NaN is equal to nothing and in no order"

lt = ufunc(
    "lt", f"tells entry by entry whether x < y. {_NAN}", BOOLEAN, NONE,
    "ct.lt(np.array([1.0, 2.0]), 2.0)", "array([ True, False])",
)  # fmt: skip
le = ufunc(
    "le", f"tells entry by entry whether x <= y. {_NAN}", BOOLEAN, NONE,
    "ct.le(np.array([2.0, 3.0]), 2.0)", "array([ True, False])",
)  # fmt: skip
gt = ufunc(
    "gt", f"tells entry by entry whether x > y. {_NAN}", BOOLEAN, NONE,
    "ct.gt(np.array([3.0, 2.0]), 2.0)", "array([ True, False])",
)  # fmt: skip
ge = ufunc(
    "ge", f"tells entry by entry whether x >= y. {_NAN}", BOOLEAN, NONE,
    "ct.ge(np.array([2.0, 1.0]), 2.0)", "array([ True, False])",
)  # fmt: skip
eq = ufunc(
    "eq", f"tells entry by entry whether x == y. {_NAN}", BOOLEAN, NONE,
    "ct.eq(np.array([2.0, np.nan]), 2.0)", "array([ True, False])",
)  # fmt: skip
ne = ufunc(
    "ne", f"tells entry by entry whether x != y. {_NAN}", BOOLEAN, NONE,
    "ct.ne(np.array([np.nan, 2.0]), 2.0)", "array([ True, False])",
)  # fmt: skip

isnan = ufunc(
    "isnan", "tells which entries are NaN; integers never are", BOOLEAN, NONE,
    "ct.isnan(np.array([np.nan, 1.0]))", "array([ True, False])",
)  # fmt: skip
isinf = ufunc(
    "isinf", "tells which entries are infinite, of either sign", BOOLEAN, NONE,
    "ct.isinf(np.array([-np.inf, 1.0]))", "array([ True, False])",
)  # fmt: skip
isfinite = ufunc(
    "isfinite", "tells which entries are neither infinite nor NaN", BOOLEAN, NONE,
    "ct.isfinite(np.array([1.0, np.nan]))", "array([ True, False])",
)  # fmt: skip
signbit = ufunc(
    "signbit", "tells which entries have a sign, that of a negative zero included", BOOLEAN, NONE,
    "ct.signbit(np.array([-0.0, 0.0]))", "array([ True, False])",
)  # fmt: skip

logical_and = ufunc(
    "logical_and", "tells entry by entry whether x and y are both true; a number is true unless it is 0", BOOLEAN, NONE,
    "ct.logical_and(np.array([True, False]), True)", "array([ True, False])",
)  # fmt: skip
logical_or = ufunc(
    "logical_or", "tells entry by entry whether x or y or both are true; a number is true unless it is 0", BOOLEAN, NONE,
    "ct.logical_or(np.array([True, False]), False)", "array([ True, False])",
)  # fmt: skip
logical_not = ufunc(
    "logical_not", "tells which entries are false; a number is false if it is 0", BOOLEAN, NONE,
    "ct.logical_not(np.array([0.0, 2.0]))", "array([ True, False])",
)  # fmt: skip
where = ufunc(
    "where", "is the entry of x where c is true, else that of y; a number c is true unless it is 0", KEPT,
    "1 by the side that is taken, 0 by the other, even where that is infinite or NaN; c has no derivative",
    "ct.where(np.array([True, False]), 1.0, 2.0)", "array([1., 2.])", args="c x y",
)  # fmt: skip

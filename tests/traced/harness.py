"""Is what `ct.function` computes what NumPy computes? Values, dtypes, shapes, nesting, errors; and gradients."""

import copy
import warnings

import numpy as np

import catad as ct

_GENERAL = (Exception, BaseException, object)
KINDS = {"d": np.float64, "f": np.float32, "i": np.int64, "s": np.int32, "b": np.int8, "B": np.uint8, "?": np.bool_}


def run_by_numpy(fn, args):
    """The result, or the exception."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return fn(*copy.deepcopy(args)), None
        except Exception as error:
            return None, error


def check_case(case, *args):
    """A case of a table: "!" before its name allows an error of catad's, "~" says that there is no gradient to compare."""
    check(case[1], *args, refuses=case[0][0] == "!", grad=False if case[0][0] in "~!" else None)


def check(fn, *args, rtol=None, grad=None, refuses=False):
    """Run a function by NumPy and by ct.function: equal results, or both raise.

    With `refuses` an error of catad's is an answer too. Gradients are compared with central differences where
    all arguments are float64, unless `grad` is False.
    """
    expected, wrong = run_by_numpy(fn, args)
    given = copy.deepcopy(args)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            got = ct.function(fn)(*given)
    except Exception as error:
        if wrong is not None:
            kinds = tuple([kind for kind in type(wrong).__mro__ if kind.__module__ == "builtins" and kind not in _GENERAL])
            assert isinstance(error, (*kinds, ct.CatadError)), f"NumPy raises {wrong!r}, and this is {error!r}"
            return None
        if isinstance(error, ct.CatadError) and (refuses or "float16" in str(error)):
            return None
        raise
    assert wrong is None, f"NumPy raises {wrong!r}, and this gives {got!r}"
    same(got, expected, rtol)
    for mine, theirs in zip(leaves(given), leaves(args), strict=True):
        np.testing.assert_array_equal(mine, theirs, "the argument was changed")
    if grad is not False and is_smooth_at(args, expected):
        check_gradient(fn, args, expected, grad is True)
    return got


def leaves(value):
    """The arrays and numbers of nested lists, tuples and dicts."""
    if isinstance(value, dict):
        return [leaf for key in sorted(value) for leaf in leaves(value[key])]
    if isinstance(value, (list, tuple)):
        return [leaf for part in value for leaf in leaves(part)]
    return [value]


def same(got, expected, rtol=None):
    """Equal nesting, shapes, dtypes; values to a few units in the last place; integers exactly; NaN where there is NaN."""
    if isinstance(expected, (list, tuple)):
        assert isinstance(got, (list, tuple)) and len(got) == len(expected), f"{got!r} is not like {expected!r}"
        for one, other in zip(got, expected, strict=True):
            same(one, other, rtol)
        return
    mine, theirs = np.asarray(got), np.asarray(expected)
    assert mine.shape == theirs.shape, f"shape {mine.shape}, not {theirs.shape}: {mine!r}, {theirs!r}"
    assert mine.dtype == theirs.dtype, f"dtype {mine.dtype}, not {theirs.dtype}: {mine!r}, {theirs!r}"
    if theirs.dtype.kind == "f":
        size = np.max(np.abs(theirs[np.isfinite(theirs)]), initial=0.0)
        eps = (16 * np.finfo(theirs.dtype).eps) if rtol is None else rtol
        np.testing.assert_allclose(mine, theirs, rtol=eps, atol=eps * size, equal_nan=True)
    else:
        np.testing.assert_array_equal(mine, theirs)


def is_smooth_at(args, expected):
    """True where a gradient can be compared: finite float64 numbers, in and out."""
    given = [np.asarray(leaf) for leaf in leaves(args)]
    out = [np.asarray(leaf) for leaf in leaves(expected)]
    return (
        any(a.size for a in given)
        and all(a.dtype == np.float64 and np.all(np.isfinite(a)) for a in given)
        and any(y.dtype == np.float64 and y.size for y in out)
        and all(np.all(np.isfinite(y)) for y in out if y.dtype.kind == "f")
    )


def check_gradient(fn, args, expected, surely, h=1e-6):
    """The pullback along a random direction against central differences."""
    rng = np.random.default_rng(5)
    weights = [
        rng.standard_normal(np.shape(y)) if np.asarray(y).dtype == np.float64 else None for y in leaves(expected)
    ]

    def weighed(point):
        result, wrong = run_by_numpy(fn, point)
        assert wrong is None, wrong
        pairs = zip(weights, leaves(result), strict=True)
        return sum([float(np.sum(w * np.asarray(y))) for w, y in pairs if w is not None])

    direction = [rng.standard_normal(np.shape(a)) for a in args]
    up, down = ([np.asarray(a) + s * h * d for a, d in zip(args, direction, strict=True)] for s in (1, -1))
    slope = (weighed(up) - weighed(down)) / (2 * h)

    def total(*at):
        made = leaves(ct.function(fn)(*at))
        parts = [ct.sum()(w * y) if np.ndim(w) else w * y for w, y in zip(weights, made, strict=True) if w is not None]
        out = parts[0]
        for part in parts[1:]:
            out = out + part
        return out

    bars = ct.grad(ct.function(total), argnums=tuple(range(len(args))))(*copy.deepcopy(args))
    along = sum(float(np.sum(b * d)) for b, d in zip(bars, direction, strict=True))
    size = max(abs(slope), abs(along), 1e-3)
    assert abs(slope - along) < 2e-5 * size, f"slope {slope}, by gradient {along}"


def in_other_kinds(args, kinds="fisB?"):
    """The arguments in other dtypes, all of them or each alone where there are two."""
    for kind in kinds:
        dtype = KINDS[kind]
        yield kind, tuple([_as(arg, dtype) for arg in args])


def _as(arg, dtype):
    if isinstance(arg, (list, tuple)):
        return type(arg)([_as(one, dtype) for one in arg])
    array = np.asarray(arg)
    if array.dtype.kind != "f":
        return arg
    if dtype is np.bool_:
        return array > 0.3
    if np.dtype(dtype).kind in "iu":
        with np.errstate(all="ignore"):
            scaled = np.nan_to_num(array, nan=2, posinf=7, neginf=-7)
            return np.rint(np.abs(scaled) * 3 if np.dtype(dtype).kind == "u" else scaled * 3).astype(dtype)
    return array.astype(dtype)

"""Every scalar word on every dtype and every special value: the same on small arrays and on large ones, and NumPy's meaning.

Small arrays run as array code, large ones are compiled. What is exact agrees to the last bit, with the sign of zero; the rest to
a few units in the last place.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import warnings

import numpy as np
import pytest

import catad as ct
from catad.category.spaces import Tensor
from catad.errors import ScalarError
from catad.scalar import Function, param, partials, read, result_types
from catad.scalar.ops import OPS
from catad.scalar.simplify import apply, cast
from catad.scalar.vocabulary import vocabulary

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DTYPES = ["bool", *INTEGERS, "float32", "float64"]

PYTHON = {  # what is written in Python and is no word of its own
    1: (
        *(int, float, bool, abs, round, math.floor, math.ceil, math.trunc, math.modf, math.frexp),
        *(
            lambda x: round(x, 1),
            lambda x: ~int(x),
            lambda x: -x,
            lambda x: +x,
            lambda x: not x,
            lambda x: math.floor(x) + 0.5,
        ),
        *(lambda x: x**0, lambda x: x**1, lambda x: x**2, lambda x: x**3, lambda x: x**5, lambda x: x**-1, lambda x: x**-3),
        *(lambda x: x**0.5, lambda x: x**2.0, lambda x: x**-0.5, lambda x: 2**x, lambda x: max(x, 0), lambda x: min(0.0, x)),
        *(
            lambda x: np.maximum(x, -0.0),
            lambda x: np.minimum(-0.0, x),
            lambda x: np.minimum(x, 0),
            lambda x: np.fmax(0.0, x),
        ),
        *(
            lambda x: np.fmin(x, 1),
            lambda x: np.maximum(1.5, x),
            lambda x: math.ldexp(x, 2000),
            lambda x: math.ldexp(x, 10**30),
        ),
        *(lambda x: x // 3, lambda x: x % 3, lambda x: x // -3, lambda x: x % -3.5, lambda x: x // 0, lambda x: x % 0),
        *(lambda x: 1 / x, lambda x: x == 2**70, lambda x: x < -(2**70), lambda x: math.floor(x) == x),
    ),
    2: (min, max, divmod, lambda x, y: x if x > y else y, lambda x, y: x and y, lambda x, y: (x < y) + y),
    3: (),
}


def functions(arity: int) -> dict[str, Function]:
    """All words of an arity, one result each, by name."""
    found = {name: word.function for name, word in vocabulary.items() if word.arity == arity}
    for name, op in OPS.items():
        if op.arity == arity and name not in (*found, "index", "polygamma", "cast", "bits", "of_bits", "unread"):
            found[name] = Function.make(arity, [apply(name, *map(param, range(arity)))])
    if arity == 1:
        found |= {f"cast to {dtype}": Function.make(1, [cast(dtype, param(0))]) for dtype in DTYPES}
        found["polygamma of order 2"] = Function.make(1, [apply("polygamma", param(0), value=2)])
    for k, fn in enumerate(PYTHON[arity]):
        whole = read(fn, (None,) * arity)
        for j, output in enumerate(whole.outputs):
            found[f"{getattr(fn, '__name__', '')} {k}.{j}"] = Function.make(arity, [output])
    return found


def specials(dtype: str) -> np.ndarray:
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return np.array([False, True])
    if kind.kind in "iu":
        about = np.iinfo(kind)
        edges = {about.min, about.min + 1, about.max - 1, about.max, about.max // 2}
        some = {0, 1, 2, 3, 5, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 100, -1, -2, -3, -7, -8, -64}
        return np.array(sorted(x for x in edges | some if about.min <= x <= about.max), kind)
    about = np.finfo(kind)
    sizes = [0.0, 0.1, 0.5, 0.7, 1.0, 1.5, 2.0, 2.5, 3.0, 10.0, 88.0, 100.0, 127.5, 128.0, 255.5, 256.0, 1e4, 32768.7]
    sizes += [2.0**31 - 1, *[2.0**k for k in (31, 32, 53, 63, 64)], 1e30, float(about.max), float(about.eps), 1e-20]
    sizes += [float(about.tiny), float(about.tiny) / 4, float(about.smallest_subnormal), math.inf]
    with np.errstate(all="ignore"):
        return np.array([*sizes, *[-x for x in sizes], math.nan]).astype(kind)


def grid(dtypes: tuple[str, ...]) -> list[np.ndarray]:
    """All combinations of special values; of three operands, every third value."""
    step = 1 if len(dtypes) < 3 else 3
    return [a.ravel() for a in np.meshgrid(*[specials(dtype)[::step] for dtype in dtypes], indexing="ij")]


def tolerance(name: str, value: np.ndarray, given: list[np.ndarray]) -> np.ndarray:
    """How far two results may be apart: some units in the last place; of a sum of logarithms, in those of its operands."""
    exact = name in EXACT
    unit = np.spacing(np.abs(value))
    if name in ("logaddexp", "softplus"):
        unit = np.maximum(unit, np.spacing(np.max([np.abs(x.astype(value.dtype)) for x in given], axis=0)))
    return unit * (0 if exact else 16 if name.startswith(POLYGAMMA) else 4)


POLYGAMMA = ("trigamma", "polygamma", "digamma by")
"""Functions that lose a few digits more, for each order one unit that their argument may be off."""


EXACT = (
    *(
        "add",
        "sub",
        "mul",
        "div",
        "floordiv",
        "mod",
        "neg",
        "minimum",
        "maximum",
        "fmin",
        "fmax",
        "abs",
        "sign",
        "floor",
        "ceil",
    ),
    *(
        "trunc",
        "rint",
        "copysign",
        "fmod",
        "remainder",
        "ldexp",
        "fma",
        "sqrt",
        "square",
        "reciprocal",
        "relu",
        "clip",
        "select",
    ),
    *("where", "round", "subtract", "multiply", "divide", "negative", "absolute", "float", "pos", "fraction", "mantissa"),
)


def different(name: str, got: np.ndarray, want: np.ndarray, given: list[np.ndarray]) -> np.ndarray:
    """Where two results differ by more than the word allows."""
    if got.dtype.kind != "f":
        return got != want
    bad = (np.isnan(got) != np.isnan(want)) | (np.isinf(got) != np.isinf(want))
    bad |= ~np.isnan(got) & (np.signbit(got) != np.signbit(want))
    with np.errstate(all="ignore"):
        near = (got == want) | (np.abs(got - want) <= tolerance(name, want, given))
    return bad | (np.isfinite(got) & np.isfinite(want) & ~near)


def told(names: list[str], got: list[np.ndarray], want: list[np.ndarray], given: list[np.ndarray]) -> list[str]:
    """A line for each word whose results differ."""
    lines = []
    for name, a, b in zip(names, got, want, strict=True):
        if a.dtype != b.dtype:
            lines.append(f"{name}: {a.dtype} and {b.dtype}")
            continue
        at = np.flatnonzero(different(name, a, b, given))
        if len(at):
            shown = [f"{tuple(x[i].item() for x in given)}: {a[i]!r} and {b[i]!r}" for i in at[:3]]
            lines.append(f"{name}, {len(at)} of {a.size}: {'; '.join(shown)}")
    return lines


def typed(dtypes: tuple[str, ...]) -> dict[str, Function]:
    """The words that are defined on these dtypes and can be compiled."""
    found = {}
    for name, function in functions(len(dtypes)).items():
        with contextlib.suppress(ScalarError):
            result_types(function, dtypes)
            found[name] = function
    return found


def small(fn: ct.D, arrays: list[np.ndarray]) -> list[np.ndarray]:
    """The results of array code, some thousand numbers at once."""
    step = 4095
    with ct.use_engine("reference"):
        pieces = [fn(*[a[at : at + step] for a in arrays]) for at in range(0, arrays[0].size, step)]
    return [np.concatenate(parts) for parts in zip(*pieces, strict=True)]


def large(fn: ct.D, arrays: list[np.ndarray]) -> list[np.ndarray]:
    """The results on arrays repeated so often that long passes run; they repeat."""
    n = arrays[0].size
    times = -(-4097 // n)
    given = [np.tile(a, times) for a in arrays]
    space = [Tensor(a.shape, a.dtype) for a in given]
    assert fn.source("steps", space[0] if len(space) == 1 else ct.product(*space)).startswith("0: Map, compiled")
    with ct.use_engine("cpu"):
        rows = [np.asarray(a).reshape(times, n) for a in fn(*given)]
    for a in rows:
        assert all(np.array_equal(row, a[0], equal_nan=a.dtype.kind == "f") for row in (a[times // 2], a[-1]))
    return [a[0] for a in rows]


def sweep(words: dict[str, Function], dtypes: tuple[str, ...]) -> None:
    """All words in one program, on small and on large arrays."""
    arrays = grid(dtypes)
    fn = ct.map(Function.make(len(dtypes), [f.outputs[0] for f in words.values()], (None,) * len(words)))
    with ct.use_engine("auto"), warnings.catch_warnings():
        warnings.simplefilter("error")  # a notice would say that large arrays are not compiled for
        lines = told(list(words), large(fn, arrays), small(fn, arrays), arrays)
    assert not lines, "\n".join(lines)


MIXED = [
    ("bool", "int8"),
    ("bool", "float32"),
    ("int8", "uint8"),
    ("int64", "uint64"),
    ("uint64", "int64"),
    ("int64", "float32"),
]
MIXED += [("float32", "int32"), ("float32", "float64"), ("float64", "uint64"), ("float64", "bool"), ("int32", "float64")]
QUICK = [(one,) for one in DTYPES] + [(one, one) for one in DTYPES] + MIXED + [(one,) * 3 for one in DTYPES]
REST = [one for one in itertools.product(DTYPES, repeat=2) if one not in QUICK]
REST += [("bool", one, other) for one, other in itertools.product(DTYPES, repeat=2)]


@pytest.mark.quick(11)
@pytest.mark.parametrize("dtypes", QUICK, ids=",".join)
def test_words_are_the_same_on_small_and_large_arrays(dtypes):
    words = typed(dtypes)
    if set(dtypes) <= {"int16", "int32", "uint16", "uint32"}:  # other integers show what floats they become
        words = {name: f for name, f in words.items() if OPS[f.outputs[0].op].typing != "real"}
    sweep(words, dtypes)


@pytest.mark.slow
@pytest.mark.parametrize("dtypes", REST, ids=",".join)
def test_words_are_the_same_on_all_dtypes(dtypes):
    sweep(typed(dtypes), dtypes)


@pytest.mark.parametrize("dtypes", [(one,) * k for k in (1, 2, 3) for one in ("float32", "float64")], ids=",".join)
def test_derivatives_are_the_same_on_small_and_large_arrays(dtypes):
    words = {}
    for name, function in typed(dtypes).items():
        (row,) = partials(function, range(len(dtypes)), dtypes)
        for k, node in enumerate(row):
            if node is not None:
                words[f"{name} by {k}"] = Function.make(len(dtypes), [node])
    sweep(words, dtypes)


NUMPY = dict(  # words that NumPy has under another name
    {f"a{name}": f"arc{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{f"bit{name}": f"bitwise_{name}" for name in ("and", "or", "xor")},
    lshift="left_shift",
    rshift="right_shift",
    round="rint",
    pow="power",
    neg="negative",
    sub="subtract",
    mul="multiply",
    div="divide",
    floordiv="floor_divide",
    lt="less",
    le="less_equal",
    gt="greater",
    ge="greater_equal",
    eq="equal",
    ne="not_equal",
    atan2="arctan2",
)
OWN = ("reciprocal", "remainder", "gamma", "float", "int", "where", "select", "sinc")
"""Words that mean something else in NumPy: 1/x of an integer is no integer here, the remainder is that of IEEE 754."""


def numpy_says(name: str, arrays: list[np.ndarray], wanted: np.dtype) -> np.ndarray | None:
    """What NumPy computes in the dtype that the word computes in: truth values count, and functions of integers are float64."""
    ufunc = getattr(np, NUMPY.get(name, name), None)
    if ufunc is None or name in OWN:
        return None
    if any(a.dtype.kind == "b" for a in arrays) and wanted.kind in "iu":
        arrays = [a.astype(np.promote_types(a.dtype, wanted)) for a in arrays]
    kept = OPS[name].typing == "rounding" if name in OPS else name == "round"
    if kept and wanted.kind != "f":
        return arrays[0].astype(wanted)
    if wanted.kind == "f" and any(a.dtype.kind != "f" for a in arrays):
        last = arrays[-1:] if name == "ldexp" else []
        arrays = [a.astype(wanted) for a in arrays[: len(arrays) - len(last)]] + last
    with np.errstate(all="ignore"):
        try:
            return np.asarray(ufunc(*arrays))
        except TypeError:  # NumPy has no such loop
            return None


@pytest.mark.parametrize("dtypes", QUICK, ids=",".join)
def test_words_mean_what_numpy_says(dtypes):
    """But that -0.0 is less than 0.0, which NumPy leaves to the processor."""
    arrays = grid(dtypes)
    extrema = ("minimum", "maximum", "fmin", "fmax", "clip")
    compared, lines = 0, []
    for name, function in typed(dtypes).items():
        (wanted,) = result_types(function, dtypes)
        want = numpy_says(name, arrays, wanted)
        if want is None:
            continue
        with ct.use_engine("reference"):
            got = np.asarray(ct.map(function)(*arrays))
        if name in extrema and wanted.kind == "f":
            got, want = got + 0.0, want + 0.0
        compared += 1
        lines += told([name], [got], [want], arrays)
    assert compared >= (25, 20, 1)[len(dtypes) - 1] and not lines, "\n".join(lines)


ZEROS = np.array([0.0, -0.0])


@pytest.mark.parametrize("engine", ["reference", "cpu"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_minus_zero_is_less_than_zero(engine, dtype):
    a, b = (x.ravel().astype(dtype) for x in np.meshgrid(ZEROS, ZEROS))
    least, most = (
        a.view(a.dtype.str.replace("f", "i")) | b.view(a.dtype.str.replace("f", "i")),
        np.signbit(a) & np.signbit(b),
    )
    with ct.use_engine(engine):
        for word in (ct.minimum, ct.fmin):
            assert np.array_equal(np.signbit(word(a, b)), least != 0)
        for word in (ct.maximum, ct.fmax):
            assert np.array_equal(np.signbit(word(a, b)), most)
        assert (
            not np.signbit(ct.relu(a)).any()
            and not np.signbit(ct.maximum(a, 0)).any()
            and np.signbit(ct.minimum(a, -0.0)).all()
        )
        x = np.tile(ZEROS.astype(dtype), 3)
        for fold, neutral, first in ((ct.maximum, -np.inf, False), (ct.minimum, np.inf, True)):
            for one in (x, x[::-1].copy()):
                assert np.signbit(ct.fold(fold, neutral)(one)) == first
                assert np.array_equal(
                    np.signbit(ct.scan(fold, neutral)(one)), [np.signbit(one[0]) if k == 0 else first for k in range(6)]
                )
                assert np.array_equal(np.signbit(ct.histogram(fold, neutral, 2)(np.arange(6) // 3, one)), [first, first])
                assert np.sum(ct.grad(ct.fold(fold, neutral))(one)) == 1.0


@pytest.mark.parametrize("engine", ["reference", "cpu"])
@pytest.mark.parametrize("real", ["float32", "float64"])
@pytest.mark.parametrize("whole", INTEGERS)
def test_floats_become_the_nearest_integer_and_nan_the_least(engine, real, whole):
    about = np.iinfo(whole)
    x = specials(real)
    want = [
        about.min if v != v else max(about.min, min(about.max, math.trunc(v) if math.isfinite(v) else v)) for v in x.tolist()
    ]
    want = [about.max if v == math.inf else about.min if v == -math.inf else v for v in want]
    with ct.use_engine(engine):
        assert ct.astype(whole)(x).tolist() == want
        if whole == "int64":
            for fn in (lambda x: int(x), lambda x: int(np.rint(x)) if abs(x) > 1e9 or x != x else int(x)):
                assert ct.map(fn)(x).tolist() == want

"""The vectorised mathematical functions: at most 2 units in the last place off, over the whole range."""

import itertools
import re
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

pytest.importorskip("llvmlite")

from llvm_support import Compiled, op_function, optimised
from scalar_support import run, same

from catad.errors import CannotPrint, ScalarError
from catad.scalar import Function, llvm_function
from catad.scalar.ops import OPS
from catad.scalar.vector_math import composed as vector_math
from catad.scalar.vector_math.composed import composed, reach
from catad.values.formats import FORMATS

ULPS = 2.0
DIGITS = {"float32": (24, -149, 128), "float64": (53, -1074, 1024)}
LIMITS = {  # beyond, the value is 0, 1 or infinite, which the special values test
    "exp": (104, 750),
    "exp2": (150, 1080),
    "expm1": (104, 750),
    "sinh": (92, 720),
    "cosh": (92, 720),
    "sech": (104, 750),
    "sigmoid": (104, 750),
    "tanh": (20, 50),
    "erf": (6, 8),
    "erfc": (10.1, 27.3),
    "gamma": (43, 187),
}
SAME_NAME = "exp expm1 log log10 log1p sin cos tan asin acos atan sinh cosh tanh sech asinh acosh atanh erf erfc gamma"
EXACT = {
    **{name: getattr(mp, name) for name in [*SAME_NAME.split(), "atan2", "hypot"]},
    "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)),
    "exp2": lambda x: mp.mpf(2) ** x,
    "log2": lambda x: mp.log(x, 2),
    "sigmoid": lambda x: 1 / (1 + mp.exp(-x)),
    "pow": mp.power,
}
UNARY = [name for name in EXACT if name not in ("atan2", "hypot", "pow", "fmod", "remainder")]
BOTH = pytest.mark.parametrize("dtype", ["float32", "float64"])
SPECIAL = [
    0.0,
    -0.0,
    np.inf,
    -np.inf,
    np.nan,
    1,
    -1,
    2,
    -2,
    0.5,
    -0.5,
    3,
    -3,
    5e-324,
    -5e-324,
    1e-310,
    1e-45,
    1e300,
    -1e300,
    2.5,
]


@pytest.fixture(autouse=True)
def precise():
    with mp.workdps(60), np.errstate(all="ignore"):
        yield


def last_place(exact, dtype):
    """The unit in the last place of a number."""
    digits, least, _ = DIGITS[dtype]
    return mp.mpf(2) ** max(int(mp.floor(mp.log(abs(exact), 2))) - digits + 1, least)


def error(found, exact, dtype):
    """The distance in units of the last place of the exact value; infinite where a value is of another kind."""
    digits, _, most = DIGITS[dtype]
    exact = mp.mpf(exact)
    if np.isnan(found):
        return np.inf
    overflows = abs(exact) >= mp.mpf(2) ** most * (1 - mp.mpf(2) ** (-digits - 1))
    if np.isinf(found) or overflows:
        return 0.0 if overflows and np.isinf(found) and (found > 0) == (exact > 0) else np.inf
    if exact == 0:
        return 0.0 if found == 0 else np.inf
    return float(abs(mp.mpf(float(found)) - exact) / last_place(exact, dtype))


def bit_patterns(dtype, count, rng):
    whole = np.uint32 if dtype == "float32" else np.uint64
    return rng.integers(0, np.iinfo(whole).max, count, dtype=whole, endpoint=True).view(dtype)


def samples(op, dtype, count=70):
    """Numbers of all sizes, and more of them where functions bend, change their formula or lose digits."""
    rng = np.random.default_rng([ord(c) for c in op])
    digits = DIGITS[dtype][0]
    limit = LIMITS.get(op, (30, 30))[dtype == "float64"]
    u = rng.uniform(-1, 1, count)
    rows = [
        bit_patterns(dtype, count, rng),
        np.exp(rng.uniform(-20, 20, count)) * np.sign(u),
        u * limit,
        u,
        3 * u,
        1 + u / 2,
    ]
    rows += [1 + u * 2.0 ** -rng.uniform(1, digits, count), u * 2.0 ** -rng.uniform(1, digits, count)]
    rows += [
        np.exp(u * np.log(limit)),
        -np.exp(u * np.log(limit)),
        np.linspace(0.35, 0.7, count),
        -np.linspace(0.35, 1.1, count),
    ]
    x = np.concatenate([np.asarray(row, dtype) for row in rows])
    return x[np.isfinite(x) & ((abs(x) <= limit) if op in LIMITS else True)]


def worst(op, dtype, found, *arrays):
    """The largest error, and where."""
    most = (0.0, None)
    for value, *point in zip(found, *arrays, strict=True):
        try:
            exact = EXACT[op](*[mp.mpf(float(one)) for one in point])
        except (ValueError, ZeroDivisionError):
            exact = mp.nan
        if isinstance(exact, mp.mpc) or not mp.isfinite(exact):
            assert not np.isfinite(value), (op, point, value)
            continue
        most = max(most, (error(value, exact, dtype), (point, value)), key=lambda one: one[0])
    return most


@BOTH
@pytest.mark.parametrize("op", UNARY)
def test_functions_of_one_number(op, dtype):
    x = samples(op, dtype)
    most, where = worst(op, dtype, Compiled(op_function(op), [dtype])(x)[0], x)
    assert most <= ULPS, (most, where)


@BOTH
@pytest.mark.parametrize("op", ["sin", "cos", "tan"])
def test_turns_and_large_angles(op, dtype):
    """Next to multiples of pi/2, where all digits cancel; on both sides of the reach; at the largest numbers."""
    rng = np.random.default_rng(3)
    bound = reach(op, np.dtype(dtype))
    k = np.concatenate([np.arange(1, 60), rng.integers(1, int(bound / 1.6), 200)])
    near = np.array([float(n * mp.pi / 2) for n in k.tolist()], dtype)
    near = np.concatenate([near, np.nextafter(near, np.asarray(np.inf, dtype)), -near])
    known = np.array([6381956970095103.0 * 2.0**797, 16367173.0 * 2.0**72, 1e22, 3e38], np.float64).astype(dtype)
    edge = np.asarray(bound, dtype) * np.asarray([1 - 1e-6, 1, 1 + 1e-6, 2, 1e10], dtype)
    large = bit_patterns(dtype, 300, rng)
    x = np.concatenate([near, known, edge, large[abs(large) > bound]])
    x = x[np.isfinite(x)]
    with mp.workdps(400):
        most, where = worst(op, dtype, Compiled(op_function(op), [dtype])(x)[0], x)
    assert most <= ULPS, (most, where)


def pairs(op, dtype, count=700):
    rng = np.random.default_rng([ord(c) for c in op])
    u, v = rng.uniform(-1, 1, (2, count))
    rows = [
        (bit_patterns(dtype, count, rng), bit_patterns(dtype, count, rng)),
        (np.exp(20 * u), np.exp(20 * v)),
        (3 * u, 3 * v),
    ]
    if op == "pow":
        top, low = (88.0, 103.0) if dtype == "float32" else (709.0, 745.0)
        base = np.exp(top * u).astype(dtype).astype(float)
        rows = [(abs(a), b) for a, b in rows] + [(base, (top + low) / 2 * v / np.log(base)), (1 + u / 2, top * v)]
        rows += [(-np.exp(3 * u), np.rint(40 * v)), (1 + u * 2.0 ** (-20 * abs(v)), np.exp(10 * v) * 50)]
    x, y = (np.concatenate([np.asarray(row[i], dtype) for row in rows]) for i in (0, 1))
    kept = np.isfinite(x) & np.isfinite(y)
    if op == "pow":
        size = abs(y.astype(float) * np.log(np.maximum(abs(x.astype(float)), 1e-320)))
        kept &= (size < 2000) & ((x > 0) | ((x < 0) & (y == np.rint(y))))
    return x[kept], y[kept]


@BOTH
@pytest.mark.parametrize("op", ["pow", "atan2", "hypot"])
def test_functions_of_two_numbers(op, dtype):
    x, y = pairs(op, dtype)
    most, where = worst(op, dtype, Compiled(op_function(op), [dtype] * 2)(x, y)[0], x, y)
    assert most <= ULPS, (most, where)


@BOTH
@pytest.mark.parametrize("op", [*UNARY, "logaddexp", "pow", "atan2", "hypot"])
def test_special_values_are_those_of_numpy(op, dtype):
    """Zeros with their signs, infinities, NaN, the ends of the range; other numbers nearly."""
    f = op_function(op)
    points = np.array(list(itertools.product(SPECIAL, repeat=f.arity))).astype(dtype)
    arrays = [column.copy() for column in points.T]
    found, wanted = Compiled(f, [dtype] * len(arrays))(*arrays)[0], run(f, *arrays)[0]
    plain = np.isfinite(wanted) & (wanted != 0)
    assert same(found[~plain], wanted[~plain]), op
    assert (abs(found - wanted)[plain] <= 6 * np.spacing(abs(wanted[plain]))).all(), op


def single_precision_error(op, x):
    """The largest error in float32, against NumPy in double precision, and where."""
    exact = np.asarray(run(op_function(op), x.astype(np.float64))[0])
    found = Compiled(op_function(op), ["float32"])(x)[0]
    rounded = exact.astype(np.float32)
    plain = np.isfinite(rounded) & (exact != 0)
    assert same(found[~plain], rounded[~plain])
    unit = 2.0 ** np.maximum(np.floor(np.log2(abs(exact[plain]))) - 23, -149)
    off = abs(found[plain].astype(float) - exact[plain]) / unit
    return off.max(), x[plain][off.argmax()]


@pytest.mark.parametrize("op", [name for name in UNARY if name != "erf"])
def test_single_precision_over_all_bit_patterns(op):
    """Every 4099th of all float32 numbers."""
    x = np.arange(0, 2**32, 4099, dtype=np.uint64).astype(np.uint32).view(np.float32)
    most, where = single_precision_error(op, x)
    assert most <= ULPS, (most, where)


DENSE = {
    "acosh": (1, 1.5),
    "sinh": (0.05, 0.5),
    "asinh": (0.1, 0.6),
    "atanh": (0.05, 0.5),
    "tanh": (0.1, 1),
    "expm1": (0.2, 2),
}
DENSE |= {
    "tan": (1e5, 2.6e5),
    "sigmoid": (-90.0, -1.0),
    "cosh": (1, 60),
    "sech": (1, 80),
    "atan": (0.5, 3),
    "log1p": (0.2, 1),
}


@pytest.mark.parametrize("op", DENSE)
def test_single_precision_densely(op):
    """Every 23rd number where the errors are largest."""
    low, high = sorted(np.array(DENSE[op], np.float32).view(np.int32).tolist())
    most, where = single_precision_error(op, np.arange(low, high, 23, dtype=np.int32).view(np.float32))
    assert most <= ULPS, (most, where)


@BOTH
def test_whole_powers_and_logarithms_of_powers_are_exact(dtype):
    bases, exponents = (np.array(one, dtype) for one in zip(*itertools.product(range(-12, 13), range(6)), strict=True))
    assert same(Compiled(op_function("pow"), [dtype] * 2)(bases, exponents)[0], bases**exponents)
    squares = np.arange(1, 400, dtype=dtype) ** 2
    assert same(Compiled(op_function("pow"), [dtype] * 2)(squares, np.full_like(squares, 0.5))[0], np.sqrt(squares))
    k = np.arange(-120, 121).astype(dtype)
    assert same(Compiled(op_function("log2"), [dtype])(2**k)[0], k)
    assert same(Compiled(op_function("exp2"), [dtype])(k)[0], 2**k)
    tens = np.arange(11).astype(dtype)
    assert same(Compiled(op_function("log10"), [dtype])(10**tens)[0], tens)


WRITTEN = "exp expm1 log log1p sin tan tanh sigmoid erf erfc gamma atan asin pow cbrt hypot"
VECTORISED = "exp log1p tanh sigmoid sin pow erf atan2 erfc gamma lgamma digamma fmod remainder"


@BOTH
@pytest.mark.parametrize("op", [*WRITTEN.split()])
def test_the_same_text_runs_as_array_code(op, dtype):
    """The functions are scalar functions: NumPy runs them, with products and sums in the place of fused ones."""
    function = composed(op, np.dtype(dtype))
    assert isinstance(function, Function) and function.arity == (2 if op in ("pow", "hypot") else 1)
    rng = np.random.default_rng(0)
    arrays = [rng.uniform(0.01, 0.99 if op == "asin" else 20, 500).astype(dtype) for _ in range(function.arity)]
    most, where = worst(op, dtype, run(function, *arrays)[0], *arrays)
    assert most <= ULPS, (most, where)


@BOTH
@pytest.mark.parametrize("op", [*VECTORISED.split()])
def test_maps_are_vectorised_and_call_no_library(op, dtype):
    f = op_function(op)
    module, _ = optimised(llvm_function(f, [dtype] * f.arity, "f"))
    body = str(module).split("define void @run(")[1].split("\n}")[0]
    word = "float" if dtype == "float32" else "double"
    assert f" x {word}> @llvm.fma." in body
    assert f"@{op}(" not in body and f"@llvm.{op}." not in body  # beyond its reach sin calls a function of the module


def test_without_source_the_function_is_named(monkeypatch):
    monkeypatch.setattr(vector_math, "find_source", lambda function: None)
    with pytest.raises(CannotPrint, match="the function exp"):
        composed.__wrapped__("exp", np.dtype("float32"))


def test_formats():
    for real, f in FORMATS.items():
        name = real.__name__
        assert f.name == name and f.least == np.finfo(name).tiny and f.digits == np.finfo(name).nmant + 1
        assert f.image(np.inf) == f.infinity and f.whole.itemsize == f.dtype.itemsize and f.dtype == np.dtype(real)
        assert f.magic + 3 - f.magic == 3 and f.image(f.magic + 3) - f.magic_bits == 3
        assert f.parts(3 + Fraction("1e-20"), 2) == (3.0, float(np.dtype(name).type(1e-20)))
        high, low = f.short_parts(Fraction(2, 3))
        assert float(f.real(high * (2 * f.bias + 1))) == high * (2 * f.bias + 1) and 0 < low < 2.0 ** (10 - f.digits)


def condition(x, slope, dtype):
    """By how much half a unit in the last place of x changes a value."""
    return abs(x * slope) * mp.mpf(2) ** -DIGITS[dtype][0]


def about(zeros, count, rng):
    """Numbers at all distances from some, on both sides of them."""
    away = rng.normal(size=(count, len(zeros))) * 2.0 ** -rng.uniform(1, 50, (count, 1))
    return (np.array(zeros) + away).ravel()


GAMMAS = {  # the function, and its derivative
    "lgamma": (lambda x: mp.log(abs(mp.gamma(x))) if abs(x) < 1000 else mp.loggamma(x), mp.digamma),
    "digamma": (mp.digamma, lambda x: mp.polygamma(1, x)),
}
ZEROS = {"lgamma": [1.0, 2.0], "digamma": [1.4616321449683623]}
BELOW = [-0.5, -1.5, -2.457024738220801, -2.7476826467274127, -2.61, -3.1435808883499798, -0.504083008264455, -9.7026725400018]


@BOTH
@pytest.mark.parametrize("op", GAMMAS)
def test_gamma_functions_of_positive_numbers_also_about_their_zeros(op, dtype):
    rng = np.random.default_rng(4)
    size = np.exp(rng.uniform(-80, 80, 300))
    x = np.concatenate([about(ZEROS[op], 200, rng), rng.uniform(0, 3.5, 400), rng.uniform(0, 40, 200), size]).astype(dtype)
    x = x[x > 0]
    found = Compiled(op_function(op), [dtype])(x)[0]
    for one, value in zip(x.tolist(), found.tolist(), strict=True):
        exact = GAMMAS[op][0](mp.mpf(one))
        assert error(value, exact, dtype) <= ULPS if exact else abs(value) == 0, (op, one, value)


@BOTH
@pytest.mark.parametrize("op", GAMMAS)
def test_gamma_functions_of_negative_numbers_lose_less_than_half_a_unit_of_x_about_their_zeros(op, dtype):
    rng = np.random.default_rng(5)
    x = np.concatenate([about(BELOW, 60, rng), -rng.uniform(0, 5, 400), -rng.uniform(0, 60, 200)]).astype(dtype)
    x = x[(x < 0) & (x != np.rint(x))]
    function, slope = GAMMAS[op]
    for one, value in zip(x.tolist(), Compiled(op_function(op), [dtype])(x)[0].tolist(), strict=True):
        point = mp.mpf(one)
        exact = function(point)
        most = ULPS + float(condition(point, slope(point), dtype) / last_place(exact, dtype))
        assert error(value, exact, dtype) <= most, (op, one, value)


@pytest.mark.quick(5)
@BOTH
@pytest.mark.parametrize("order", [0, 1, 2, 3, 6])
def test_polygamma(order, dtype):
    """Two units in the last place, and what one unit of x changes; for the first derivative and positive x two."""
    rng = np.random.default_rng(order)
    x = np.concatenate([np.exp(rng.uniform(-6, 6, 200)), rng.uniform(0, 25, 100), -rng.uniform(0, 6, 100)]).astype(dtype)
    x = x[(x > 0) | (x != np.rint(x))]
    for one, value in zip(x.tolist(), Compiled(op_function("polygamma", order), [dtype])(x)[0].tolist(), strict=True):
        point = mp.mpf(one)
        exact = mp.polygamma(order, point)
        loss = 0.0 if order < 2 and one > 0 else 2 * float(
            condition(point, mp.polygamma(order + 1, point), dtype) / last_place(exact, dtype)
        )
        assert error(value, exact, dtype) <= ULPS + loss, (order, one, value)


@BOTH
@pytest.mark.parametrize("op", ["erfc", "gamma", "lgamma", "digamma", "polygamma 1", "polygamma 2"])
def test_poles_ends_and_zeros_of_the_gamma_functions(op, dtype):
    """As SciPy's functions have them; lgamma as Python's, infinite at both ends."""
    name, order = (*op.split(), None)[:2]
    x = np.array([0.0, -0.0, -1.0, -2.0, -1e30, np.inf, -np.inf, np.nan], dtype)
    inf, nan = np.inf, np.nan
    wanted = {
        "erfc": [1, 1, *Compiled(op_function("erfc"), [dtype])(x[2:4])[0], 2, 0, 2, nan],
        "gamma": [inf, -inf, nan, nan, nan, inf, nan, nan],
        "lgamma": [inf, inf, inf, inf, inf, inf, inf, nan],
        "digamma": [-inf, inf, nan, nan, nan, inf, nan, nan],
        "polygamma 1": [inf, inf, inf, inf, inf, 0, inf, nan],
        "polygamma 2": [-inf, inf, nan, nan, nan, 0, nan, nan],
    }[op]
    f = op_function(name, None if order is None else int(order))
    found, reference = Compiled(f, [dtype])(x)[0], run(f, x)[0]
    assert np.array_equal(found, np.array(wanted, dtype), equal_nan=True)
    assert np.allclose(found, reference, rtol=1e-6, atol=0, equal_nan=True)


@BOTH
@pytest.mark.parametrize("op", ["fmod", "remainder", "floordiv", "mod"])
def test_rests_are_exact_also_where_the_quotient_has_more_digits_than_a_number(op, dtype):
    rng = np.random.default_rng(6)
    special = np.array(list(itertools.product(SPECIAL, SPECIAL))).T
    with np.errstate(all="ignore"):
        x = np.concatenate([bit_patterns(dtype, 3000, rng), rng.normal(0, 10, 3000).astype(dtype), special[0].astype(dtype)])
        y = np.concatenate([bit_patterns(dtype, 3000, rng), rng.normal(0, 3, 3000).astype(dtype), special[1].astype(dtype)])
        found, wanted = Compiled(op_function(op), [dtype] * 2)(x, y)[0], run(op_function(op), x, y)[0]
    if op in ("fmod", "remainder"):
        assert same(found, wanted)
    else:  # of quotients beyond all digits NumPy keeps the last digits of another rest
        near = abs(x) < abs(y) * 2.0 ** DIGITS[dtype][0]
        assert same(found[near], wanted[near])


@BOTH
@pytest.mark.parametrize("whole", ["int8", "int32", "int64", "uint64"])
def test_products_with_powers_of_two_are_rounded_once(dtype, whole):
    rng = np.random.default_rng(7)
    x = np.concatenate([bit_patterns(dtype, 4000, rng), np.array(SPECIAL).astype(dtype)])
    about = np.iinfo(whole)
    n = rng.integers(max(about.min, -2300), min(about.max, 2300), len(x)).astype(whole)
    n[:2] = about.min, about.max
    assert same(Compiled(op_function("ldexp"), [dtype, whole])(x, n)[0], run(op_function("ldexp"), x, n)[0])


@pytest.mark.quick(30)
@pytest.mark.parametrize("op", OPS)
def test_no_function_calls_the_c_library(op):
    """The assembly calls nothing but what the module defines."""
    arity, value = OPS[op].arity, {"cast": "int16", "polygamma": 2}.get(op)
    for dtype in ("int32", "uint64", "float32", "float64"):
        try:
            module, machine = optimised(llvm_function(op_function(op, value), [dtype] * arity, "f"))
        except ScalarError:  # has no type: a bit operation on floats, say
            continue
        called = re.findall(r"\b(?:callq?|jmpq?|bl)[ \t]+([A-Za-z_][\w.]*)", machine.emit_assembly(module))
        assert all(name.startswith("catad.") for name in called), called

"""Derivative rules against high precision, up to the ends of the domains; conventions at kinks; poisoning."""

import math

import mpmath as mp
import numpy as np
import pytest
from scalar_support import run, run_partials

import catad as ct
from catad.scalar import (
    CHOICES,
    OPS,
    PARTIALS,
    Function,
    apply,
    const,
    constant,
    param,
    partials,
    read,
    value_and_partials,
    vocabulary,
)

X, Y = param(0), param(1)
rng = np.random.default_rng(0)


def spread(low, high, n=120):
    """Points of both signs over many orders of magnitude."""
    sizes = np.exp(rng.uniform(np.log(low), np.log(high), n))
    return np.concatenate([sizes, -sizes])


def positive(low, high, n=200):
    return np.exp(rng.uniform(np.log(low), np.log(high), n))


def near(ends, n=60):
    """Points between two ends, dense at both."""
    a, b = ends
    close = np.exp(rng.uniform(np.log(1e-15), np.log(0.5), n)) * (b - a)
    points = np.concatenate([a + close, b - close, rng.uniform(a, b, n)])
    return points[(points > a) & (points < b)]


UNARY = {
    "exp": (mp.exp, spread(1e-8, 700)),
    "exp2": (lambda x: mp.mpf(2) ** x, spread(1e-8, 1000)),
    "expm1": (mp.expm1, spread(1e-12, 700)),
    "log": (mp.log, positive(1e-300, 1e300)),
    "log2": (lambda x: mp.log(x, 2), positive(1e-300, 1e300)),
    "log10": (mp.log10, positive(1e-300, 1e300)),
    "log1p": (mp.log1p, np.concatenate([near((-1.0, 0.0)), positive(1e-15, 1e300)])),
    "sqrt": (mp.sqrt, positive(1e-300, 1e300)),
    "cbrt": (lambda x: mp.sign(x) * mp.cbrt(abs(x)), spread(1e-290, 1e290)),
    "sin": (mp.sin, spread(1e-10, 100)),
    "cos": (mp.cos, spread(1e-10, 100)),
    "tan": (mp.tan, spread(1e-10, 1.57)),
    "asin": (mp.asin, near((-1.0, 1.0))),
    "acos": (mp.acos, near((-1.0, 1.0))),
    "atan": (mp.atan, spread(1e-10, 1e150)),
    "sinh": (mp.sinh, spread(1e-10, 700)),
    "cosh": (mp.cosh, spread(1e-10, 700)),
    "tanh": (mp.tanh, spread(1e-10, 350)),
    "sech": (mp.sech, spread(1e-10, 350)),
    "asinh": (mp.asinh, spread(1e-10, 1e300)),
    "acosh": (mp.acosh, 1 + positive(1e-15, 1e300)),
    "atanh": (mp.atanh, near((-1.0, 1.0))),
    "erf": (mp.erf, spread(1e-10, 20)),
    "erfc": (mp.erfc, spread(1e-10, 20)),
    "gamma": (mp.gamma, positive(1e-3, 1.4)),
    "lgamma": (mp.loggamma, positive(1e-10, 1e10)),
    "digamma": (mp.digamma, positive(1e-3, 1e6)),
    "trigamma": (lambda x: mp.polygamma(1, x), positive(1e-3, 1e6)),
    "sigmoid": (lambda x: 1 / (1 + mp.exp(-x)), spread(1e-10, 700)),
    "softplus": (lambda x: mp.log(1 + mp.exp(x)), spread(1e-10, 700)),
    "square": (lambda x: x * x, spread(1e-100, 1e100)),
    "reciprocal": (lambda x: 1 / x, spread(1e-100, 1e100)),
    "degrees": (mp.degrees, spread(1e-10, 1e10)),
    "radians": (mp.radians, spread(1e-10, 1e10)),
    "neg": (lambda x: -x, spread(1e-10, 1e10)),
    "abs": (abs, spread(1e-10, 1e10)),
}

PRECISE = 1e-12


def reference(f, x, order=1):
    """A derivative in high precision: a central difference at a step far below every scale of the point."""
    with mp.workdps(450):
        point = mp.mpf(float(x))
        step = mp.mpf(10) ** -30 * min(abs(point), abs(1 - abs(point)) or 1)
        if order == 1:
            return (f(point + step) - f(point - step)) / (2 * step)
        return (f(point + step) - 2 * f(point) + f(point - step)) / step**2


def agree(found, expected, floor, tolerance):
    for a, b in zip(np.asarray(found), expected, strict=True):
        assert abs(mp.mpf(float(a)) - b) <= tolerance * abs(b) + floor, (float(a), b)


@pytest.mark.parametrize("name", sorted(UNARY))
def test_first_derivatives_to_the_ends_of_the_domain(name):
    f, points = UNARY[name]
    ((found,),) = run_partials(vocabulary[name].function, [0], points)
    found = np.broadcast_to(found, points.shape)
    floor = {"sin": 1e-15, "cos": 1e-15, "lgamma": 1e-15, "gamma": 1e-14}.get(name, mp.mpf(10) ** -306)
    agree(found, [reference(f, x) for x in points], floor, PRECISE)


SECOND = sorted(set(UNARY) - {"neg", "abs", "degrees", "radians", "square"})


@pytest.mark.parametrize("name", SECOND)
def test_derivatives_of_derivatives(name):
    f, points = UNARY[name]
    points = points[(abs(points) > 1e-3) & (abs(points) < 15)][:40] if name != "cbrt" else spread(0.1, 9.0, 20)
    first = Function.make(1, [partials(vocabulary[name].function, [0])[0][0]])
    ((found,),) = run_partials(first, [0], points)
    expected = [reference(f, x, 2) for x in points]
    scale = max(abs(e) for e in expected)
    agree(np.broadcast_to(found, points.shape), expected, 1e-14 * min(1, scale), 1e-10)


def test_saturated_functions_have_zero_second_derivatives_and_no_nan():
    far = np.array([-1e4, -800.0, 800.0, 1e4])
    for name in ("tanh", "sigmoid", "softplus", "erf", "atan", "asinh"):
        f = vocabulary[name].function
        for _ in range(3):
            f = Function.make(1, [partials(f, [0])[0][0]])
            assert np.isfinite(run(f, far)[0]).all(), name


BINARY = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "pow": lambda a, b: abs(a) ** b,
    "atan2": mp.atan2,
    "hypot": mp.hypot,
    "logaddexp": lambda a, b: mp.log(mp.exp(a) + mp.exp(b)),
}


@pytest.mark.parametrize("name", sorted(BINARY))
def test_both_partials_of_binary_functions(name):
    f = BINARY[name]
    a, b = rng.uniform(-5, 5, 200), rng.uniform(-5, 5, 200)
    a = abs(a) if name == "pow" else a
    ((da, db),) = run_partials(vocabulary[name].function, [0, 1], a, b)
    step = mp.mpf(10) ** -25
    with mp.workdps(60):
        for k, (x, y) in enumerate(zip(map(mp.mpf, a), map(mp.mpf, b), strict=True)):
            for found, h in ((da, (step, 0)), (db, (0, step))):
                expected = (f(x + h[0], y + h[1]) - f(x - h[0], y - h[1])) / (2 * step)
                got = np.broadcast_to(found, a.shape)[k]
                assert abs(mp.mpf(float(got)) - expected) <= 1e-13 * (abs(expected) + mp.mpf(10) ** -10)


def test_atan2_and_hypot_neither_overflow_nor_underflow():
    for size in (1e-200, 1e200):
        a, b = np.array([3 * size]), np.array([4 * size])
        ((dy, dx),) = run_partials(vocabulary["atan2"].function, [0, 1], a, b)
        assert np.allclose([dy[0] * size, dx[0] * size], [4 / 25, -3 / 25], rtol=1e-14)
        ((da, db),) = run_partials(vocabulary["hypot"].function, [0, 1], a, b)
        assert np.allclose([da[0], db[0]], [0.6, 0.8], rtol=1e-14)


def test_remainders_and_scaling():
    a, b = np.array([7.5, -7.5, 7.5, -7.5]), np.array([2.0, 2.0, -2.0, -2.0])
    for fn, whole in ((np.fmod, np.trunc), (np.remainder, np.floor), (math.remainder, np.rint)):
        ((da, db),) = run_partials(
            read(fn) if fn is not math.remainder else read(lambda x, y: math.remainder(x, y)), [0, 1], a, b
        )
        assert np.all(np.asarray(da) == 1)
        assert np.array_equal(db, -whole(a / b))
    ldexp = read(lambda x, n: math.ldexp(x, n))
    ((dx,),) = run_partials(ldexp, [0], np.array([1.5, 2.0]), np.array([3, -2]))
    assert np.array_equal(dx, [8.0, 0.25])
    ((dx, dy),) = run_partials(read(math.copysign), [0, 1], np.array([2.0, -2.0, 0.0]), np.array([-1.0, -1.0, -1.0]))
    assert np.array_equal(dx, [-1.0, 1.0, 0.0]) and dy is None
    ((whole,), (fraction,)) = run_partials(read(lambda x: math.modf(x)[::-1]), [0], a)
    assert whole is None and np.all(fraction == 1)
    ((mantissa,), (exponent,)) = run_partials(read(math.frexp), [0], a)
    assert np.array_equal(mantissa, np.full(4, 2.0**-3)) and exponent is None


def slope(fn, *at, wrt=0):
    (row,) = run_partials(read(fn), [wrt], *map(np.float64, at))
    return None if row[0] is None else float(row[0])


def test_kinks_follow_the_table():
    for low, high in ((np.minimum, np.maximum), (min, max), (np.fmin, np.fmax)):
        for fn in (low, high):
            assert slope(fn, 2.0, 2.0, wrt=0) == 1 and slope(fn, 2.0, 2.0, wrt=1) == 0
    assert slope(abs, 0.0) == 0 and slope(abs, -0.0) == 0
    assert slope(math.hypot, 0.0, 0.0) == 0 and slope(math.atan2, 0.0, 0.0) == 0
    for fn in (np.sign, np.floor, np.ceil, np.trunc, np.rint, math.floor, round, lambda x: x // 2.0):
        assert slope(fn, 2.0) is None
    assert slope(math.sqrt, 0.0) == math.inf and slope(math.cbrt, 0.0) == math.inf
    assert slope(lambda x: x**0, 0.0) is None
    assert slope(lambda x, y: x**y, 0.0, 0.0) == 0
    assert slope(lambda x, y: x**y, 0.0, 1.0) == 1 and slope(lambda x, y: x**y, 0.0, 2.0) == 0
    assert slope(lambda x, y: x**y, 0.0, 2.0, wrt=1) == 0 and slope(lambda x, y: x**y, 0.0, 0.5, wrt=1) == 0
    assert slope(lambda x, y: x**y, -2.0, 3.0) == 12 and slope(lambda x: x**3, -2.0) == 12
    assert slope(lambda x: x**5, -2.0) == 80 and slope(lambda x: x**-2, -2.0) == 0.25
    assert slope(lambda x: x**2, 0.0) == 0 and slope(lambda x: x**0.5, 0.0) == math.inf
    (row,) = partials(vocabulary["relu"].function, [0])
    assert np.array_equal(run(Function.make(1, row), np.array([-1.0, 0.0, 1.0]))[0], [0.0, 0.0, 1.0])


def test_a_branch_not_taken_poisons_nothing():
    x = np.array([-1.0, 0.0, 4.0, 1e300])
    for fn, expected in (
        (lambda x: math.sqrt(x) if x > 0 else 0.0, lambda x: 0.5 / math.sqrt(x) if x > 0 else 0.0),
        (lambda x: math.log(x) * 2 if x > 0 else x, lambda x: 2 / x if x > 0 else 1.0),
        (lambda x: math.exp(x * x) if x < 2 else 1 / x, lambda x: 2 * x * math.exp(x * x) if x < 2 else -1 / x**2),
        (lambda x: max(0.0, x) * (1 / x if x != 0 else 0.0), lambda x: 0.0),
    ):
        ((found,),) = run_partials(read(fn), [0], x)
        with np.errstate(over="ignore"):
            assert np.allclose(found, [expected(v) for v in x[:3].tolist()] + [expected(np.float64(1e300))], rtol=1e-12)


def newton(x):
    y = x if x > 1 else 1.0
    while abs(y * y - x) > 1e-14 * x:
        y = 0.5 * (y + x / y)
    return y


def power(x, n):
    r = 1.0
    i = 0
    while i < n:
        r = r * x
        i += 1
    return r


def test_derivatives_through_loops_are_exact():
    x = np.array([0.5, 1.1, 2.0, 400.0])
    ((found,),) = run_partials(read(newton), [0], x)
    assert np.allclose(found, 0.5 / np.sqrt(x), rtol=1e-12)
    ((dx, dn),) = run_partials(read(power), [0, 1], np.full(4, 2.0), np.array([5.0, 0.0, 1.0, 3.0]))
    assert np.array_equal(dx, [80.0, 0.0, 1.0, 12.0]) and dn is None


def test_values_and_partials_of_a_loop_share_it():
    f = read(newton)
    values, rows = value_and_partials(f, [0])
    both = Function.make(1, [*values, *rows[0]])
    loops = {
        node for node in __import__("catad.scalar", fromlist=["postorder"]).postorder(both.outputs) if node.op == "loop"
    }
    assert len(loops) == 1
    value, derivative = run(both, np.array([9.0]))
    assert np.allclose([value[0], derivative[0]], [3.0, 1 / 6])


def test_exact_ones_and_structural_zeros_are_recognisable():
    ((da, db, dc),) = partials(read(lambda a, b, c: a - b), [0, 1, 2])
    assert constant(da) == 1 and constant(db) == -1 and dc is None
    assert constant(partials(read(lambda a, b: a + b * 0.5), [1])[0][0]) == 0.5
    assert partials(read(lambda a: (a > 0, 3.0, math.floor(a))), [0]) == ((None,), (None,), (None,))


def test_integers_have_no_derivative():
    f = read(lambda x, n: (x * n, n * 2))
    rows = partials(f, [0, 1], ["float64", "int64"])
    assert rows[1] == (None, None) and rows[0][1] is None
    assert run(Function.make(2, [rows[0][0]]), np.array([1.0]), np.array([3]))[0].dtype == np.float64


def test_reverse_and_forward_agree():
    fn = lambda a, b, c, d: math.sin(a * b) * math.exp(c / d) + a * math.tanh(d) - b / c  # noqa: E731
    one = read(fn)
    four = Function.make(4, [one.outputs[0]] * 4)  # as many outputs as directions: forward
    points = [rng.uniform(0.5, 2, 20) for _ in range(4)]
    reverse, forward = run_partials(one, range(4), *points), run_partials(four, range(4), *points)
    for a, b in zip(reverse[0], forward[0], strict=True):
        assert np.allclose(a, b, rtol=1e-13)


def test_partials_of_partials_are_symmetric_and_right():
    f = read(lambda x, y: math.sin(x * y) * x**3 / (1 + y * y))
    rows = partials(f, [0, 1])
    gradient = Function.make(2, rows[0])
    x, y = rng.uniform(-1, 1, 20), rng.uniform(-1, 1, 20)
    second = run_partials(gradient, [0, 1], x, y)
    assert np.allclose(second[0][1], second[1][0], rtol=1e-12)
    g = lambda a, b: mp.sin(a * b) * a**3 / (1 + b * b)  # noqa: E731
    expected = [float(mp.diff(g, (a, b), (1, 1))) for a, b in zip(x, y, strict=True)]
    assert np.allclose(second[0][1], expected, rtol=1e-9, atol=1e-9)


def test_extremes_of_products_with_an_infinite_tangent_not_chosen():
    f = read(lambda x: np.maximum(1.0, np.sqrt(x)))
    ((found,),) = run_partials(f, [0], np.array([0.0, 0.25, 4.0]))
    assert np.array_equal(found, [0.0, 0.0, 0.25])


def test_deep_graphs():
    node = X
    for _ in range(20_000):
        node = apply("sin", node)
    ((derivative,),) = partials(Function.make(1, [node]), [0])
    assert derivative is not None and const(1.0) is not derivative


def test_the_slope_of_a_power_at_exponent_zero_has_a_derivative_by_the_exponent():
    """d/dn (n x**(n-1)) = 1/x at n = 0: the convention there may not cut it off."""
    for x in (1.5, 0.25, 1e300):
        hessian = ct.hessian(ct.pow)(x, 0.0).todense()
        np.testing.assert_allclose(hessian[0, 1], 1.0 / x, rtol=1e-15)
        assert hessian[0, 0] == 0.0
    for x in (0.0, np.nan, np.inf, 5e-324):
        assert ct.grad(ct.pow)(x, 0.0)[0] == 0.0


def test_every_operation_on_floats_has_a_derivative():
    none = {"compare", "test", "logic", "bits", "shift", "select"}  # of truth values and integers, or the reader's own
    found = {name: len(rules) for name, rules in PARTIALS.items()} | dict.fromkeys(CHOICES, 2)
    assert found == {op.name: op.arity for op in OPS.values() if op.typing not in none and op.name != "unread"}

"""Arithmetic, choices between numbers, and rounding."""

from catad.vector.pointwise import operators
from catad.vector.pointwise.ufunc_help import CONSTANT, FLOATING, KEPT, NUMBER, ufunc

_WRAPS = "Integers wrap around"

add = ufunc(
    "add", f"adds entry by entry; `f + g` is `ct.fork(f, g) >> ct.add`. {_WRAPS}", NUMBER, "1 by x, 1 by y",
    "ct.add(np.array([1.0, 2.0]), 3.0)", "array([4., 5.])", value=operators.add,
)  # fmt: skip
sub = ufunc(
    "sub subtract", f"takes y from x entry by entry, as `f - g` does. {_WRAPS}", NUMBER, "1 by x, -1 by y",
    "ct.sub(np.array([1.0, 2.0]), 3.0)", "array([-2., -1.])", value=operators.sub,
)  # fmt: skip
subtract = sub
mul = ufunc(
    "mul multiply", f"multiplies entry by entry. {_WRAPS}. Note that `f * g` of morphisms is `ct.cross(f, g)`",
    NUMBER, "y by x, x by y", "ct.grad(ct.mul)(2.0, 3.0)", "(np.float64(3.0), np.float64(2.0))",
)  # fmt: skip
multiply = mul
div = ufunc(
    "div divide", "divides x by y entry by entry, as `f / g` does. Division by zero gives an infinity or NaN, and no warning",
    FLOATING, "1 / y by x, -x / y**2 by y", "ct.div(7, 2), ct.div(1.0, 0.0)", "(np.float64(3.5), np.float64(inf))",
    value=operators.div,
)  # fmt: skip
divide = div
floordiv = ufunc(
    "floordiv", "is the greatest whole number not above x / y, as Python's `x // y`. An integer divided by 0 gives 0",
    NUMBER, CONSTANT, "ct.floordiv(-7, 2)", "np.int64(-4)",
)  # fmt: skip
mod = ufunc(
    "mod", "is `x - y * floor(x / y)`, which has the sign of y, as Python's `x % y`. An integer modulo 0 gives 0",
    NUMBER, "1 by x, -(x // y) by y", "ct.mod(-7.0, 2.0)", "np.float64(1.0)",
)  # fmt: skip
fmod = ufunc(
    "fmod", "is `x - y * trunc(x / y)`, which has the sign of x, as in C. An integer modulo 0 gives 0",
    NUMBER, "1 by x, -trunc(x / y) by y", "ct.fmod(-7.0, 2.0)", "np.float64(-1.0)",
)  # fmt: skip
remainder = ufunc(
    "remainder",
    "is `x - y * rint(x / y)`, as `math.remainder`; what NumPy calls `remainder` is `ct.mod`",
    FLOATING, "1 by x, -rint(x / y) by y", "ct.remainder(7.0, 2.0)", "np.float64(-1.0)", source="IEEE 754-2019, section 5.3.1",
)  # fmt: skip
neg = ufunc(
    "neg negative", f"changes the sign of each entry, as `-f` does. {_WRAPS}", NUMBER, "-1",
    "ct.neg(np.array([1.0, -2.0]))", "array([-1.,  2.])", value=operators.neg,
)  # fmt: skip
negative = neg
pow = ufunc(
    "pow power", "raises x to the power y entry by entry, as `f ** g` does and as C's `pow` at special numbers",
    NUMBER, "y x**(y - 1) by x, 0 where y is 0; x**y log(x) by y, 0 where x is 0 and y >= 0, NaN where x < 0",
    "ct.grad(ct.pow)(2.0, 3.0)", "(np.float64(12.0), np.float64(5.545177444479562))", value=operators.pow,
    errors="`ScalarError` where both are integers, since the dtype would depend on the sign: write `ct.map(lambda n: n**3)`",
)  # fmt: skip
power = pow
fma = ufunc(
    "fma", "is x * y + z with one rounding, a fused multiply-add", FLOATING, "y by x, x by y, 1 by z",
    "ct.fma(2.0, 3.0, 4.0)", "np.float64(10.0)", source="IEEE 754-2019, section 5.4.1",
)  # fmt: skip
square = ufunc("square", f"is x * x. {_WRAPS}", NUMBER, "2 x", "ct.square(np.array([1.0, -3.0]))", "array([1., 9.])")
reciprocal = ufunc(
    "reciprocal", "is 1 / x, also of integers; infinity at 0, with its sign", FLOATING, "-1 / x**2",
    "ct.reciprocal(np.array([2, 4]))", "array([0.5 , 0.25])",
)  # fmt: skip
sqrt = ufunc(
    "sqrt", "is the square root of each entry; NaN below 0", FLOATING, "1 / (2 sqrt(x)); infinity at 0",
    "ct.sqrt(np.array([4.0, 9.0]))", "array([2., 3.])",
)  # fmt: skip
cbrt = ufunc(
    "cbrt", "is the cube root of each entry, which is negative for a negative number", FLOATING,
    "1 / (3 cbrt(x)**2); infinity at 0", "ct.cbrt(np.array([8.0, -27.0]))", "array([ 2., -3.])",
)  # fmt: skip
hypot = ufunc(
    "hypot", "is sqrt(x**2 + y**2), without overflow on the way", FLOATING,
    "x / hypot(x, y) by x, y / hypot(x, y) by y; 0 at (0, 0)",
    "ct.hypot(3.0, 4.0)", "np.float64(5.0)",
)  # fmt: skip
abs = ufunc(
    "abs absolute", "is the absolute value of each entry. The least integer has none and stays", NUMBER,
    "sign(x), which is 0 at 0", "ct.abs(np.array([-1.5, 2.0]))", "array([1.5, 2. ])",
)  # fmt: skip
absolute = abs
sign = ufunc(
    "sign", "is -1, 0 or 1 as each entry is negative, zero or positive; NaN stays", NUMBER, CONSTANT,
    "ct.sign(np.array([-3.0, 0.0, 7.0]))", "array([-1.,  0.,  1.])",
)  # fmt: skip
copysign = ufunc(
    "copysign", "is abs(x) with the sign of y; a negative zero counts as negative", FLOATING, "sign(x) sign(y) by x, 0 by y",
    "ct.copysign(3.0, -0.0)", "np.float64(-3.0)", source="IEEE 754-2019, section 5.5.1",
)  # fmt: skip
minimum = ufunc(
    "minimum", "is the lesser of both entries; NaN where one is NaN; -0.0 is less than 0.0", KEPT,
    "1 by the lesser, 0 by the other; at a tie, 1 by x", "ct.minimum(np.array([1.0, 5.0]), 3.0)", "array([1., 3.])",
    source="IEEE 754-2019, section 9.6",
)  # fmt: skip
maximum = ufunc(
    "maximum", "is the greater of both entries; NaN where one is NaN; -0.0 is less than 0.0", KEPT,
    "1 by the greater, 0 by the other; at a tie, 1 by x", "ct.maximum(np.array([1.0, 5.0]), 3.0)", "array([3., 5.])",
    source="IEEE 754-2019, section 9.6",
)  # fmt: skip
fmin = ufunc(
    "fmin", "is the lesser of both entries, and the other one where one is NaN; -0.0 is less than 0.0", KEPT,
    "1 by the entry that is the result, 0 by the other; at a tie, 1 by x", "ct.fmin(np.nan, 3.0)", "np.float64(3.0)",
    source="IEEE 754-2019, section 9.6",
)  # fmt: skip
fmax = ufunc(
    "fmax", "is the greater of both entries, and the other one where one is NaN; -0.0 is less than 0.0", KEPT,
    "1 by the entry that is the result, 0 by the other; at a tie, 1 by x", "ct.fmax(np.nan, 3.0)", "np.float64(3.0)",
    source="IEEE 754-2019, section 9.6",
)  # fmt: skip
clip = ufunc(
    "clip", "is x between two bounds: `minimum(maximum(x, low), high)`", KEPT,
    "1 by x between the bounds and at them, 0 beyond; 1 by the bound that is the result, 0 by the other",
    "ct.clip(np.array([-2.0, 0.5, 2.0]), 0.0, 1.0)", "array([0. , 0.5, 1. ])", args="x low high",
)  # fmt: skip
floor = ufunc(
    "floor", "is the greatest whole number that is not above each entry; integers stay", NUMBER, CONSTANT,
    "ct.floor(np.array([1.5, -1.5]))", "array([ 1., -2.])",
)  # fmt: skip
ceil = ufunc(
    "ceil", "is the least whole number that is not below each entry; integers stay", NUMBER, CONSTANT,
    "ct.ceil(np.array([1.5, -1.5]))", "array([ 2., -1.])",
)  # fmt: skip
trunc = ufunc(
    "trunc", "cuts off what stands behind the point; integers stay", NUMBER, CONSTANT,
    "ct.trunc(np.array([1.5, -1.5]))", "array([ 1., -1.])",
)  # fmt: skip
rint = ufunc(
    "rint round", "is the nearest whole number, at a tie the even one; integers stay", NUMBER, CONSTANT,
    "ct.rint(np.array([0.5, 1.5, 2.6]))", "array([0., 2., 3.])", source="IEEE 754-2019, section 5.9",
)  # fmt: skip
round = rint
ldexp = ufunc(
    "ldexp", "is x * 2**y with integers y, exact unless it leaves the range; a number stays an integer as `np.int64(3)`",
    ("", "that of x if it is floating, else float64"), "2**y by x; y is an integer",
    "ct.ldexp(1.5, np.int64(3))", "np.float64(12.0)", errors="`NotAnInteger`, a `ScalarError`, where y is no integer",
)  # fmt: skip

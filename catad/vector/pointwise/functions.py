"""Functions of real numbers: exponentials, logarithms, angles, hyperbolic functions, special functions, activations."""

from catad.vector.pointwise.ufunc_help import FLOATING, NUMBER, ufunc

exp = ufunc("exp", "is e to the power of each entry", FLOATING, "exp(x)", "ct.exp(0.0)", "np.float64(1.0)")
exp2 = ufunc("exp2", "is 2 to the power of each entry", FLOATING, "log(2) 2**x", "ct.exp2(3.0)", "np.float64(8.0)")
expm1 = ufunc(
    "expm1", "is exp(x) - 1, precise near 0", FLOATING, "exp(x)", "ct.expm1(1e-20)", "np.float64(1e-20)",
)  # fmt: skip
log = ufunc(
    "log", "is the natural logarithm of each entry; minus infinity at 0, NaN below", FLOATING, "1 / x; infinity at 0",
    "ct.log(1.0), ct.grad(ct.log)(4.0)", "(np.float64(0.0), np.float64(0.25))",
)  # fmt: skip
log2 = ufunc(
    "log2", "is the logarithm to base 2 of each entry; minus infinity at 0, NaN below", FLOATING,
    "1 / (x log(2)); infinity at 0", "ct.log2(8.0)", "np.float64(3.0)",
)  # fmt: skip
log10 = ufunc(
    "log10", "is the logarithm to base 10 of each entry; minus infinity at 0, NaN below", FLOATING,
    "1 / (x log(10)); infinity at 0", "ct.log10(1000.0)", "np.float64(3.0)",
)  # fmt: skip
log1p = ufunc(
    "log1p", "is log(1 + x), precise near 0; minus infinity at -1, NaN below", FLOATING, "1 / (1 + x); infinity at -1",
    "ct.log1p(1e-20)", "np.float64(1e-20)",
)  # fmt: skip
logaddexp = ufunc(
    "logaddexp", "is log(exp(x) + exp(y)), without overflow on the way", FLOATING,
    "exp(x - logaddexp(x, y)) by x, exp(y - logaddexp(x, y)) by y",
    "ct.grad(ct.logaddexp)(1000.0, 1000.0)", "(np.float64(0.5), np.float64(0.5))",
)  # fmt: skip

sin = ufunc(
    "sin", "is the sine of each entry, an angle in radians", FLOATING, "cos(x)",
    "ct.sin(0.0)", "np.float64(0.0)",
)  # fmt: skip
cos = ufunc(
    "cos", "is the cosine of each entry, an angle in radians", FLOATING, "-sin(x)",
    "ct.cos(0.0)", "np.float64(1.0)",
)  # fmt: skip
tan = ufunc(
    "tan", "is the tangent of each entry, an angle in radians", FLOATING, "1 + tan(x)**2",
    "ct.tan(0.0)", "np.float64(0.0)",
)  # fmt: skip
asin = ufunc(
    "asin arcsin", "is the inverse sine, an angle from -pi/2 to pi/2 in radians; NaN where abs(x) > 1", FLOATING,
    "1 / sqrt(1 - x**2); infinity at -1 and 1", "ct.asin(1.0)", "np.float64(1.5707963267948966)",
)  # fmt: skip
arcsin = asin
acos = ufunc(
    "acos arccos", "is the inverse cosine, an angle from 0 to pi in radians; NaN where abs(x) > 1", FLOATING,
    "-1 / sqrt(1 - x**2); minus infinity at -1 and 1", "ct.acos(-1.0)", "np.float64(3.141592653589793)",
)  # fmt: skip
arccos = acos
atan = ufunc(
    "atan arctan", "is the inverse tangent, an angle from -pi/2 to pi/2 in radians", FLOATING, "1 / (1 + x**2)",
    "ct.atan(1.0)", "np.float64(0.7853981633974483)",
)  # fmt: skip
arctan = atan
atan2 = ufunc(
    "atan2 arctan2", "is the angle of the point (x, y), from -pi to pi in radians; the ordinate comes first", FLOATING,
    "x / (x**2 + y**2) by y, -y / (x**2 + y**2) by x; 0 at (0, 0)", "ct.atan2(1.0, -1.0)", "np.float64(2.356194490192345)",
    args="y x",
)  # fmt: skip
arctan2 = atan2
degrees = ufunc(
    "degrees", "turns angles in radians into degrees", FLOATING, "180 / pi", "ct.degrees(np.pi)", "np.float64(180.0)",
)  # fmt: skip
radians = ufunc(
    "radians", "turns angles in degrees into radians", FLOATING, "pi / 180", "ct.radians(180.0)", "np.float64(3.141592653589793)",
)  # fmt: skip

sinh = ufunc(
    "sinh", "is the hyperbolic sine, (exp(x) - exp(-x)) / 2", FLOATING, "cosh(x)", "ct.sinh(0.0)", "np.float64(0.0)"
)
cosh = ufunc(
    "cosh", "is the hyperbolic cosine, (exp(x) + exp(-x)) / 2", FLOATING, "sinh(x)", "ct.cosh(0.0)", "np.float64(1.0)"
)
tanh = ufunc(
    "tanh", "is the hyperbolic tangent, sinh(x) / cosh(x)", FLOATING, "1 - tanh(x)**2", "ct.tanh(0.0)", "np.float64(0.0)",
)  # fmt: skip
sech = ufunc(
    "sech", "is the hyperbolic secant, 1 / cosh(x)", FLOATING, "-sech(x) tanh(x)", "ct.sech(0.0)", "np.float64(1.0)",
)  # fmt: skip
asinh = ufunc(
    "asinh arcsinh", "is the inverse hyperbolic sine", FLOATING, "1 / sqrt(x**2 + 1)", "ct.asinh(0.0)", "np.float64(0.0)",
)  # fmt: skip
arcsinh = asinh
acosh = ufunc(
    "acosh arccosh", "is the inverse hyperbolic cosine, at least 0; NaN below 1", FLOATING,
    "1 / sqrt(x**2 - 1); infinity at 1", "ct.acosh(1.0)", "np.float64(0.0)",
)  # fmt: skip
arccosh = acosh
atanh = ufunc(
    "atanh arctanh", "is the inverse hyperbolic tangent; infinite at -1 and 1, NaN beyond", FLOATING,
    "1 / (1 - x**2)", "ct.atanh(1.0)", "np.float64(inf)",
)  # fmt: skip
arctanh = atanh

erf = ufunc(
    "erf", "is the error function, 2 / sqrt(pi) times the integral of exp(-t**2) from 0 to x", FLOATING,
    "2 / sqrt(pi) exp(-x**2)", "ct.erf(0.0)", "np.float64(0.0)", source="NIST Digital Library of Mathematical Functions, 7.2.1",
)  # fmt: skip
erfc = ufunc(
    "erfc", "is 1 - erf(x), precise for large x", FLOATING, "-2 / sqrt(pi) exp(-x**2)", "ct.erfc(0.0)", "np.float64(1.0)",
    source="NIST Digital Library of Mathematical Functions, 7.2.2",
)  # fmt: skip
gamma = ufunc(
    "gamma", "is the gamma function, (x - 1)! at positive whole numbers; infinity at 0, with its sign, and NaN at negative ones",
    FLOATING, "gamma(x) digamma(x)", "ct.gamma(5.0)", "np.float64(24.0)",
    source="NIST Digital Library of Mathematical Functions, 5.2.1",
)  # fmt: skip
lgamma = ufunc(
    "lgamma", "is the logarithm of abs(gamma(x)); infinity at 0 and at negative whole numbers", FLOATING, "digamma(x)",
    "ct.lgamma(2.0)", "np.float64(0.0)", source="NIST Digital Library of Mathematical Functions, 5.2.1",
)  # fmt: skip
digamma = ufunc(
    "digamma", "is the derivative of lgamma; minus infinity at 0.0, NaN at negative whole numbers", FLOATING, "trigamma(x)",
    "ct.digamma(1.0)", "np.float64(-0.5772156649015329)", source="NIST Digital Library of Mathematical Functions, 5.2.2",
)  # fmt: skip
trigamma = ufunc(
    "trigamma", "is the derivative of digamma; infinity at 0 and at negative whole numbers", FLOATING,
    "the polygamma function of order 2", "ct.trigamma(1.0)", "np.float64(1.6449340668482264)",
    source="NIST Digital Library of Mathematical Functions, 5.15",
)  # fmt: skip

sigmoid = ufunc(
    "sigmoid", "is the logistic function 1 / (1 + exp(-x)), without overflow on the way", FLOATING,
    "sigmoid(x) (1 - sigmoid(x))", "ct.sigmoid(0.0), ct.grad(ct.sigmoid)(0.0)", "(np.float64(0.5), np.float64(0.25))",
)  # fmt: skip
relu = ufunc(
    "relu", "is `maximum(0, x)`", NUMBER, "1 where x > 0, else 0, also at 0",
    "ct.relu(np.array([-1.0, 2.0]))", "array([0., 2.])",
)  # fmt: skip
softplus = ufunc(
    "softplus", "is log(1 + exp(x)), without overflow on the way", FLOATING, "sigmoid(x)",
    "ct.softplus(1000.0)", "np.float64(1000.0)",
)  # fmt: skip

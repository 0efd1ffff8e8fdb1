"""Calls of `math`, of scipy.special, and of the names of the array API: names, function, arguments."""

import math
from math import sin as sine

import numpy as np

X, Y, I = np.array(0.7), np.array(1.3), np.array(5)
A = np.array([[0.5, -1.25, 3.0, 0.75], [2.5, 0.125, -0.5, 1.5], [-2.0, 4.0, 1.0, -0.25]])
P = np.array([0.25, 0.5, 0.875])
Q = np.array([0.5, 1.75, 3.25])

CASES = [
    ("math", lambda x: (math.acos(x), math.asin(x), math.atan(x), math.asinh(x), math.acosh(x + 1), math.atanh(x), sine(x), math.cos(x), math.tan(x)), X),
    ("math", lambda x: (math.sinh(x), math.cosh(x), math.tanh(x), math.exp(x), math.exp2(x), math.expm1(x), math.sqrt(x), math.cbrt(x), math.log(x), math.log(x, 3.0)), X),
    ("math", lambda x: (math.log2(x), math.log10(x), math.log1p(x), math.erf(x), math.erfc(x), math.gamma(x), math.lgamma(x), math.degrees(x), math.radians(x), math.fabs(-x)), X),
    ("math", lambda x, y: (math.atan2(x, y), math.hypot(x, y), math.hypot(x, y, 2.0), math.pow(x, y), math.pow(x, 2), math.fmod(y, x), math.remainder(y, x), math.copysign(x, -y), math.dist([x, y], [y, 0.0])), X, Y),
    ("~math", lambda x: (math.floor(x), math.ceil(x), math.floor(x) + 0.5, math.modf(x), math.frexp(x), math.ldexp(x, 3)), Y),
    ("math", lambda x: (math.isfinite(x), math.isinf(x), math.isnan(x), math.isclose(x, 0.7), math.isclose(x, 0.8, abs_tol=0.2), math.fsum([x, x, 1.0]), math.prod([x, 2, x]), math.pi * x, math.tau + x, math.inf, x * math.e), X),
    ("math", lambda x: math.sqrt(x) * np.ones(3, np.float32), X), ("math", lambda x: math.sqrt(x), A), ("math", lambda x: (math.sqrt(x[0]) + math.sin(x[1]), math.floor(2.5) + x, math.sqrt(4)), P),
    ("!math", lambda x: math.factorial(x), I), ("!math", lambda x: math.gcd(x, 3), I), ("!math", lambda x: math.comb(x, 2), I), ("math", lambda x: math.comb(5, 2) * x, X),
]
SPECIAL = [
    ("expit", lambda sp, p, q: (sp.expit(q), sp.logit(p), sp.log_expit(-q), sp.erf(p), sp.erfc(q), sp.ndtr(-q)), P, Q),
    ("gammaln", lambda sp, p, q: (sp.gammaln(q), sp.loggamma(q), sp.gamma(q), sp.digamma(q), sp.psi(p), sp.polygamma(1, q), sp.polygamma(0, q), sp.betaln(p, q), sp.beta(p, q)), P, Q),
    ("xlogy", lambda sp, p, q: (sp.xlogy(p, q), sp.xlogy(0.0, q), sp.xlog1py(p, q), sp.xlogy(p, 2.0), sp.entr(p), sp.rel_entr(p, q), sp.exprel(q), sp.exp10(p), sp.expm1(p), sp.log1p(q), sp.cbrt(q), sp.exp2(q)), P, Q),
    ("logsumexp", lambda sp, p, q: (sp.logsumexp(q), sp.logsumexp(q[None] + p[:, None], axis=1), sp.logsumexp(q, b=p), sp.softmax(q), sp.softmax(q * p[:, None], axis=0), sp.log_softmax(q), sp.logsumexp(q, keepdims=True), sp.logsumexp(q * p[:, None], axis=(0, 1))), P, Q),
    ("edges", lambda sp, p, q: (sp.xlogy(p, q), sp.xlog1py(p, q), sp.entr(p), sp.logit(p), sp.expit(p), sp.gammaln(p), sp.loggamma(p), sp.erfc(p), sp.rel_entr(p, q)), np.array([0.0, 0.0, -1.0, np.nan, np.inf, 1.0]), np.array([0.0, np.nan, 1.0, 2.0, 3.0, -1.5])),
]
NAMESPACE = [
    ("acos", lambda xp, x: (xp.acos(x / 5), xp.asin(x / 5), xp.atan(x), xp.atan2(x, 2.0), xp.acosh(abs(x) + 1), xp.asinh(x), xp.atanh(x / 5), xp.pow(abs(x), 2), xp.abs(x)), A),
    ("concat", lambda xp, x: (xp.concat([x, x]), xp.permute_dims(x, (1, 0)), xp.matrix_transpose(x), xp.stack([x, x]), xp.expand_dims(x, axis=0), xp.unstack(x), xp.squeeze(x[None], axis=0), xp.astype(x, xp.float32), xp.vecdot(x, x), xp.tile(x, (2, 1))), A),
    ("zeros", lambda xp, x: (xp.zeros((2, 2)) + x[0, 0], xp.asarray([x[0, 0], 1.0]), xp.sum(x, axis=0), xp.max(x), xp.linalg.vector_norm(x), xp.where(x > 0, x, xp.zeros_like(x)), xp.result_type(x, xp.float32).itemsize * x, xp.isdtype(x.dtype, "real floating")), A),
    ("bitwise", lambda xp, x: (xp.bitwise_invert(x), xp.bitwise_left_shift(x, 1), xp.bitwise_right_shift(x, 1), xp.logical_not(x), x & 3, x | 1, x ^ 2, ~x, x << 1, x >> 1), np.array([1, 5, 2])),
]

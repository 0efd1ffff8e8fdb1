"""Derivatives of NumPy's functions where differences do not tell them: at zeros, ties, NaN, and of second order."""

import numpy as np
import pytest

import catad as ct

NAN = np.nan
CASES = {
    "norm at 0": (lambda x: np.linalg.norm(x), [0.0, 0.0], [0.0, 0.0]),
    "norms of rows at 0": (lambda x: np.linalg.norm(x, axis=1).sum(), [[0.0, 0.0], [3.0, 4.0]], [[0.0, 0.0], [0.6, 0.8]]),
    "std at 0": (lambda x: np.std(x), [2.0, 2.0], [0.0, 0.0]),
    "max of ties": (lambda x: np.max(x), [1.0, 3.0, 3.0], [0.0, 1.0, 0.0]),
    "min of ties": (lambda x: np.min(x, axis=0), [2.0, 2.0, 3.0], [1.0, 0.0, 0.0]),
    "sort of ties": (lambda x: np.sort(x)[0], [2.0, 2.0], [1.0, 0.0]),
    "prod with a zero": (lambda x: np.prod(x), [2.0, 0.0, 3.0], [0.0, 6.0, 0.0]),
    "prod with zeros": (lambda x: np.prod(x), [2.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
    "cumprod with a zero": (lambda x: np.cumprod(x)[-1], [2.0, 0.0, 3.0], [0.0, 6.0, 0.0]),
    "sinc at 0": (lambda x: np.sinc(x).sum(), [0.0], [0.0]),
    "nansum": (lambda x: np.nansum(x * x), [1.0, NAN, 3.0], [2.0, 0.0, 6.0]),
    "nanmean": (lambda x: np.nanmean(x), [1.0, NAN, 3.0], [0.5, 0.0, 0.5]),
    "nanmax": (lambda x: np.nanmax(x), [1.0, NAN, 3.0], [0.0, 0.0, 1.0]),
    "nanvar": (lambda x: np.nanvar(x), [1.0, NAN, 3.0], [-1.0, 0.0, 1.0]),
    "nanmedian": (lambda x: np.nanmedian(x), [1.0, NAN, 3.0], [0.5, 0.0, 0.5]),
    "nanquantile": (lambda x: np.nanquantile(x, 0.25), [1.0, NAN, 3.0], [0.75, 0.0, 0.25]),
    "median": (lambda x: np.median(x), [5.0, 1.0, 3.0, 2.0], [0.0, 0.0, 0.5, 0.5]),
    "where with log": (lambda x: np.where(x > 0, np.log(x), 0.0).sum(), [0.0, 2.0], [0.0, 0.5]),
    "mask with log": (lambda x: np.log(x[x > 0]).sum(), [0.0, 2.0], [0.0, 0.5]),
    "nan_to_num": (lambda x: np.nan_to_num(x).sum(), [NAN, 2.0, np.inf], [0.0, 1.0, 0.0]),
    "clip": (lambda x: np.clip(x, 0, 1).sum(), [-1.0, 0.5, 2.0], [0.0, 1.0, 0.0]),
    "interp at a knot": (lambda x: np.interp(x, [0.0, 1.0, 2.0], [0.0, 1.0, 3.0]).sum(), [0.5, 1.0, 1.5], [1.0, 2.0, 2.0]),
    "take twice": (lambda x: np.take(x, [0, 0, 1]).sum(), [1.0, 2.0, 3.0], [2.0, 1.0, 0.0]),
    "rounding": (lambda x: (np.round(x, 1) + np.floor(x)).sum(), [1.23, 2.5], [0.0, 0.0]),
    "positions": (lambda x: np.argmax(x) + np.searchsorted(x, 2.0) + 0.0, [1.0, 2.5], [0.0, 0.0]),
    "histogram": (lambda x: np.histogram([0.1, 0.2, 0.9], 2, (0.0, 1.0), weights=x)[0][0], [1.0, 2.0, 3.0], [1.0, 1.0, 0.0]),
    "powers at 0": (lambda x: (x**2 + x**1 + x**0).sum(), [0.0, 1.0], [1.0, 3.0]),
    "abs at 0": (lambda x: np.abs(x).sum(), [0.0, -2.0], [0.0, -1.0]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_gradients_at_special_points(name):
    fn, x, expected = CASES[name]
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(ct.grad(ct.function(fn))(np.array(x)), expected, rtol=1e-12, atol=1e-300)


SECOND = {
    "norm": lambda x: np.linalg.norm(x),
    "var": lambda x: np.var(x),
    "std": lambda x: np.std(x, ddof=1),
    "prod": lambda x: np.prod(x),
    "quantile": lambda x: np.quantile(x, 0.3) ** 2,
    "interp": lambda x: np.interp(1.2, [0, 1, 2], x) ** 3,
    "convolve": lambda x: np.convolve(x, x).sum(),
    "cov": lambda x: np.cov(x, x**2).sum(),
    "sinc": lambda x: np.sinc(x).sum(),
    "cumprod": lambda x: np.cumprod(x).sum(),
    "gradient": lambda x: (np.gradient(x) ** 2).sum(),
    "polyval": lambda x: np.polyval(x, x[0]),
    "average": lambda x: np.average(x, weights=x),
    "logaddexp": lambda x: np.logaddexp.reduce(x),
    "sort": lambda x: (np.sort(x) ** 3)[1],
}


@pytest.mark.parametrize("name", SECOND)
def test_second_derivatives(name):
    """The Hessian is the derivative of the gradient, by differences of gradients, and symmetric."""
    f, x, h = ct.function(SECOND[name]), np.array([0.5, 1.75, -0.875]), 1e-6
    hessian = np.asarray(ct.hessian(f)(x))
    slope = ct.grad(f)
    by_differences = np.stack([(slope(x + h * e) - slope(x - h * e)) / (2 * h) for e in np.eye(3)])
    np.testing.assert_allclose(hessian, by_differences, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(hessian, hessian.T, rtol=1e-9, atol=1e-12)

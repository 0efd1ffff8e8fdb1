"""`scipy.interpolate`: cubic splines and other piecewise polynomials, entered when the first of its names is called.

A spline is what SciPy's is: points x, and coefficients c of a polynomial in `t - x[i]` on each interval, the highest power first.
Its slopes are the solution of a tridiagonal system (C. de Boor, *A Practical Guide to Splines*, 1978, chapter 4), so all is of
linear cost and has derivatives by points, values and arguments. Points that do not increase are SciPy's error where they are
constants; where data decide, all results are NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from catad import errors
from catad import linalg as words
from catad.traced.names.shapes import as_traced
from catad.traced.names.sums import one_line, strong
from catad.traced.recorder import Trace
from catad.traced.table import INSTANCES, meaning_anywhere, of_package
from catad.values.complex_numbers import is_complex


class PiecewisePolynomial:
    """What SciPy's `PPoly` is, of stand-ins: `c` has axes for powers and intervals, then those of the values."""

    def __init__(self, trace: Trace, c: Any, x: Any, extrapolate: Any = True, axis: int = 0) -> None:
        self.trace, self.c, self.x, self.extrapolate, self.axis = trace, c, x, extrapolate, axis

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        if nu > 0:
            return self.derivative(nu)(x, 0, self.extrapolate if extrapolate is None else extrapolate)
        if nu < 0:
            raise ValueError("Order of derivative cannot be negative")
        at = strong(self.trace, x).astype(np.float64)
        made = self._at(at.reshape(-1), self.extrapolate if extrapolate is None else extrapolate)
        values = made.reshape((*at.shape, *self.c.shape[2:]))
        if not self.axis:
            return values
        places = list(range(values.ndim))
        own, rest = places[: at.ndim], places[at.ndim :]
        return np.transpose(values, [*rest[: self.axis], *own, *rest[self.axis :]])

    def _at(self, t: Any, extrapolate: Any) -> Any:
        """The values at arguments in one axis."""
        x, n = self.x, self.x.shape[0] - 1
        if extrapolate == "periodic":
            t = x[0] + (t - x[0]) % (x[-1] - x[0])
        k = np.clip(np.searchsorted(x, t, "right") - 1, 0, n - 1)
        s = (t - x[k]).reshape((-1, *(1,) * (self.c.ndim - 2)))
        made = self.c[0][k]
        for row in range(1, self.c.shape[0]):
            made = made * s + self.c[row][k]
        outside = np.isnan(t) if extrapolate else np.isnan(t) | (t < x[0]) | (t > x[-1])
        return np.where(outside.reshape(s.shape), np.nan, made)

    def derivative(self, nu: int = 1) -> PiecewisePolynomial:
        if nu < 0:
            return self.antiderivative(-nu)
        c = self.c
        for _ in range(nu):
            powers = np.arange(c.shape[0] - 1, 0, -1.0).reshape((-1, *(1,) * (c.ndim - 1)))
            c = c[:-1] * powers if c.shape[0] > 1 else np.zeros_like(c)
        return PiecewisePolynomial(self.trace, c, self.x, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> PiecewisePolynomial:
        """The one that is 0, with its derivatives below nu, at the first point."""
        if nu <= 0:
            return self.derivative(-nu)
        c, widths = self.c, np.diff(self.x).reshape((-1, *(1,) * (self.c.ndim - 2)))
        for _ in range(nu):
            powers = np.arange(c.shape[0], 0, -1.0).reshape((-1, *(1,) * (c.ndim - 1)))
            higher = c / powers
            whole = higher[0]
            for row in range(1, c.shape[0]):
                whole = whole * widths + higher[row]
            before = np.cumsum(whole * widths, axis=0)[:-1]
            first = np.concatenate([np.zeros((1, *c.shape[2:])), before])
            c = np.concatenate([higher, first[None]])
        extrapolate = False if self.extrapolate == "periodic" else self.extrapolate
        return PiecewisePolynomial(self.trace, c, self.x, extrapolate, self.axis)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        whole, x = self.antiderivative(), self.x
        ends = np.stack([strong(self.trace, end).astype(np.float64) for end in (a, b)])
        if extrapolate != "periodic":
            low, high = whole._at(ends, extrapolate)
            return high - low
        period = x[-1] - x[0]
        turns = np.floor((ends - x[0]) / period).reshape((-1, *(1,) * (self.c.ndim - 2)))
        made = whole._at(x[0] + (ends - x[0]) % period, True) + turns * whole._at(x[-1:], True)
        return made[1] - made[0]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise errors.TraceError(errors.no_such_part_of_spline(name))


# -- what SciPy's classes are made of


def _prepared(trace: Trace, name: str, x: Any, y: Any, axis: int) -> tuple[Any, Any, Any, int]:
    """Points, widths of the intervals in as many axes as the values, values with their axis in front; raises SciPy's errors."""
    if is_complex(x):
        raise ValueError("`x` must contain real values.")
    if is_complex(y):
        raise errors.TraceError(errors.complex_spline(name))
    at, values = (as_traced(trace, strong(trace, one).astype(np.float64)) for one in (x, y))
    if not values.ndim or at.ndim != 1:
        raise ValueError("`x` must be 1-dimensional.")
    axis = axis % values.ndim
    if at.shape[0] < 2:
        raise ValueError("`x` must contain at least 2 elements.")
    if at.shape[0] != values.shape[axis]:
        raise ValueError(f"The length of `y` along `axis`={axis} doesn't match the length of `x`")
    for key, one in (("x", at), ("y", values)):
        if one.constant is not None and not np.isfinite(one.constant).all():
            raise ValueError(f"`{key}` must contain only finite values.")
    if at.constant is not None and (np.diff(at.constant) <= 0).any():
        raise ValueError("`x` must be strictly increasing sequence.")
    widths = np.diff(at)
    widths = widths if at.constant is not None else np.where(np.all(widths > 0), widths, np.nan)
    return at, widths.reshape((-1, *(1,) * (values.ndim - 1))), np.moveaxis(values, axis, 0), axis


def _hermite(trace: Trace, x: Any, h: Any, y: Any, slopes: Any, extrapolate: Any, axis: int) -> PiecewisePolynomial:
    """The cubic polynomials of these values and slopes at the points."""
    rise = np.diff(y, axis=0) / h
    t = (slopes[:-1] + slopes[1:] - 2.0 * rise) / h
    c = np.stack([t / h, (rise - slopes[:-1]) / h - t, slopes[:-1], y[:-1]])
    return PiecewisePolynomial(trace, c, x, extrapolate, axis)


def cubic_spline(
    trace: Trace, x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None
) -> PiecewisePolynomial:
    """As `scipy.interpolate.CubicSpline`."""
    at, h, values, axis = _prepared(trace, "CubicSpline", x, y, axis)
    ends = _conditions(trace, bc_type, values, axis)
    periodic = ends[0] == "periodic"
    if extrapolate is None:
        extrapolate = "periodic" if periodic else True
    n = values.shape[0]
    rise = np.diff(values, axis=0) / h
    if n == 2:
        ends = [(1, rise[0]) if isinstance(end, str) else end for end in ends]
    if n == 3 and all(isinstance(end, str) and end == "not-a-knot" for end in ends):
        ends = ["parabola", "parabola"]
    slopes = _periodic_slopes(h, rise) if periodic and n > 2 else _slopes(h, rise, ends)
    return _hermite(trace, at, h, values, slopes, extrapolate, axis)


def _conditions(trace: Trace, bc_type: Any, y: Any, axis: int) -> list[Any]:
    """The conditions at both ends: a name, or the order of a derivative and its value; raises SciPy's errors."""
    if isinstance(bc_type, str):
        if bc_type == "periodic":
            known = as_traced(trace, y).constant
            if known is not None and not np.allclose(known[0], known[-1], rtol=1e-15, atol=1e-15):
                raise ValueError(
                    f"The first and last `y` point along axis {axis} must be identical (within machine precision) when "
                    "bc_type='periodic'."
                )
        given: list[Any] = [bc_type, bc_type]
    else:
        given = list(bc_type)
        if len(given) != 2:
            raise ValueError("`bc_type` must contain 2 elements to specify start and end conditions.")
        if any(isinstance(one, str) and one == "periodic" for one in given):
            raise ValueError(
                "'periodic' `bc_type` is defined for both curve ends and cannot be used with other boundary conditions."
            )
    return [_condition(trace, one, y.shape[1:]) for one in given]


_NAMED = {"clamped": 1, "natural": 2}


def _condition(trace: Trace, given: Any, shape: tuple[int, ...]) -> Any:
    if isinstance(given, str):
        if given in _NAMED:
            return _NAMED[given], np.zeros(shape)
        if given not in ("not-a-knot", "periodic"):
            raise ValueError(f"bc_type={given} is not allowed.")
        return given
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise ValueError("A specified derivative value must be given in the form (order, value).")
    order, value = given
    if order not in (1, 2):
        raise ValueError("The specified derivative order must be 1 or 2.")
    slope = strong(trace, value)
    if slope.shape != shape:
        raise ValueError(f"`deriv_value` shape {slope.shape} is not the expected one {shape}.")
    return order, slope.astype(np.float64)


def _slopes(h: Any, rise: Any, ends: list[Any]) -> Any:
    """The slopes of a spline at its points, from the widths and rises of its intervals."""
    w = h.reshape(-1)
    (own, beside, right), (own_end, beside_end, right_end) = [
        _end(end, w[::step], h[::step], rise[::step], sign) for end, step, sign in zip(ends, (1, -1), (1.0, -1.0), strict=True)
    ]
    inner = 3.0 * (h[1:] * rise[:-1] + h[:-1] * rise[1:])
    below = np.concatenate([w[1:], beside_end])
    above = np.concatenate([beside, w[:-1]])
    diagonal = np.concatenate([own, 2.0 * (w[:-1] + w[1:]), own_end])
    return _solved(below, diagonal, above, np.concatenate([right[None], inner, right_end[None]]))


def _end(condition: Any, w: Any, h: Any, rise: Any, sign: float) -> tuple[Any, Any, Any]:
    """The row of an end: its entries on the diagonal and beside it, and its right-hand side; intervals are counted from there."""
    if condition == "parabola":
        return np.ones(1), np.ones(1), 2.0 * rise[0]
    if condition == "not-a-knot":
        d = h[0] + h[1]
        return w[1:2], w[0:1] + w[1:2], ((h[0] + 2.0 * d) * h[1] * rise[0] + h[0] ** 2 * rise[1]) / d
    order, value = condition
    if order == 1:
        return np.ones(1), np.zeros(1), value + 0.0 * rise[0]
    return 2.0 * w[:1], w[:1], 3.0 * h[0] * rise[0] - 0.5 * sign * value * h[0] ** 2


def _periodic_slopes(h: Any, rise: Any) -> Any:
    """The cyclic system without its last unknown, with two right-hand sides; the last equation gives that unknown."""
    w, m = h.reshape(-1), h.shape[0]
    before, earlier, past = np.roll(w, 1), np.roll(h, 1, axis=0), np.roll(rise, 1, axis=0)
    right = 3.0 * (h * past + earlier * rise)
    diagonal = 2.0 * (before + w)
    last = np.concatenate([w[:1], np.zeros(m - 2)]) + np.concatenate([np.zeros(m - 2), before[m - 2 : m - 1]])
    sides = np.concatenate([right[:-1].reshape(m - 1, -1), last[:, None]], axis=1)
    both = _solved(w[1 : m - 1], diagonal[:-1], before[: m - 2], sides)
    s, v = both[:, :-1], both[:, -1]
    end = right[-1].reshape(-1)
    unknown = (end - before[m - 1] * s[0] - w[m - 1] * s[m - 2]) / (
        diagonal[m - 1] - before[m - 1] * v[0] - w[m - 1] * v[m - 2]
    )
    s = s - v[:, None] * unknown
    return np.concatenate([s, unknown[None], s[:1]]).reshape((m + 1, *rise.shape[1:]))


def _solved(below: Any, diagonal: Any, above: Any, right: Any) -> Any:
    """The solution of a tridiagonal system, along the first axis."""
    wide = right.reshape(right.shape[0], -1)
    if not wide.size:
        return right
    trace = wide.trace_
    parts = [as_traced(trace, one) for one in (below, diagonal, above, wide)]
    return one_line(trace, words.solve_tridiagonal, *parts).reshape(right.shape)


def pchip(trace: Trace, x: Any, y: Any, axis: int = 0, extrapolate: Any = None) -> PiecewisePolynomial:
    """As `scipy.interpolate.PchipInterpolator`: harmonic means of the rises, and 0 where these change their sign.

    F. Fritsch and J. Butland, A method for constructing local monotone piecewise cubic interpolants, 1984.
    """
    at, h, values, axis = _prepared(trace, "PchipInterpolator", x, y, axis)
    rise = np.diff(values, axis=0) / h
    if values.shape[0] == 2:
        slopes = np.concatenate([rise, rise])
    else:
        turns = (np.sign(rise[1:]) != np.sign(rise[:-1])) | (rise[1:] == 0) | (rise[:-1] == 0)
        one, two = [np.where(turns, 1.0, part) for part in (rise[:-1], rise[1:])]
        first, second = 2.0 * h[1:] + h[:-1], h[1:] + 2.0 * h[:-1]
        inner = np.where(turns, 0.0, 1.0 / ((first / one + second / two) / (first + second)))
        ends = [_one_sided(h[::step], rise[::step])[None] for step in (1, -1)]
        slopes = np.concatenate([ends[0], inner, ends[1]])
    return _hermite(trace, at, h, values, slopes, True if extrapolate is None else extrapolate, axis)


def _one_sided(h: Any, rise: Any) -> Any:
    """The slope at an end that keeps the shape."""
    made = ((2.0 * h[0] + h[1]) * rise[0] - h[0] * rise[1]) / (h[0] + h[1])
    turns = np.sign(made) != np.sign(rise[0])
    steep = (np.sign(rise[0]) != np.sign(rise[1])) & (np.abs(made) > 3.0 * np.abs(rise[0]))
    return np.where(turns, 0.0, np.where(steep, 3.0 * rise[0], made))


def akima(
    trace: Trace, x: Any, y: Any, axis: int = 0, *, method: str = "akima", extrapolate: Any = None
) -> PiecewisePolynomial:
    """As `scipy.interpolate.Akima1DInterpolator` (H. Akima, A new method of interpolation, 1970)."""
    if method not in ("akima", "makima"):
        raise NotImplementedError(f"`method`={method} is unsupported.")
    at, h, values, axis = _prepared(trace, "Akima1DInterpolator", x, y, axis)
    rise = np.diff(values, axis=0) / h
    if values.shape[0] == 2:
        slopes = np.concatenate([rise, rise])
    else:
        before, after = 2.0 * rise[0] - rise[1], 2.0 * rise[-1] - rise[-2]
        parts = [(2.0 * before - rise[0])[None], before[None], rise, after[None], (2.0 * after - rise[-1])[None]]
        m = np.concatenate(parts)
        change = np.abs(np.diff(m, axis=0))
        if method == "makima":
            change = change + 0.5 * np.abs(m[1:] + m[:-1])
        one, two = change[2:], change[:-2]
        both = one + two
        bent = both > 1e-9 * np.max(both) if both.size else both > 0
        share = np.where(bent, two, 0.0) / np.where(bent, both, 1.0)
        slopes = np.where(bent, m[1:-2] + share * (m[2:-1] - m[1:-2]), 0.5 * (m[3:] + m[:-3]))
    return _hermite(trace, at, h, values, slopes, False if extrapolate is None else extrapolate, axis)


def _captured(driver: Any, spline: Any, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
    """A spline of SciPy's that was made outside, at stand-ins."""
    if np.iscomplexobj(spline.c):
        raise errors.TraceError(errors.complex_spline(type(spline).__name__))
    c, at = [as_traced(driver.trace, np.ascontiguousarray(part)) for part in (spline.c, spline.x)]
    return PiecewisePolynomial(driver.trace, c, at, spline.extrapolate, spline.axis)(x, nu, extrapolate)


MADE: dict[str, Callable[..., PiecewisePolynomial]] = {
    "CubicSpline": cubic_spline, "PchipInterpolator": pchip, "Akima1DInterpolator": akima,
}  # fmt: skip


@of_package("scipy.interpolate")
def enter() -> None:
    """Enter the classes into the tables."""
    import scipy.interpolate

    for name, made in MADE.items():
        kind = getattr(scipy.interpolate, name)
        meaning_anywhere(kind)(made)
        INSTANCES[kind] = _captured
    INSTANCES[scipy.interpolate.PPoly] = _captured

"""Messages about functions that an equation gives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from catad.errors.base import abbreviated, text


def lane(k: int, shape: Sequence[int]) -> str:
    """The k-th lane of a batch; nothing where there is one alone."""
    return "" if not shape else f"lane {[int(i) for i in np.unravel_index(k, tuple(shape))]} of {tuple(shape)}"


def counted(n: float, what: str) -> str:
    """A number of things in words."""
    return f"{n:.0f} {what}{'s' * (round(n) != 1)}"


def start_not_floating(name: str, space: object) -> str:
    return text(f"ct.{name} looks for floating numbers", given=f"a start in {space}", expected="arrays of floats")


def not_as_many_equations(name: str, f: object, unknown: object, made: object) -> str:
    return text(
        f"ct.{name} needs as many equations as unknowns",
        given=f"unknowns in {unknown}, equations in {made}",
        expected="floating results with as many numbers as the first argument",
        where=abbreviated(f),
        do="for more equations than unknowns, ct.least_squares",
    )


def unknown_option(name: str, key: str, given: object, known: Sequence[str]) -> str:
    return text(f"ct.{name} has no such {key}", given=repr(given), expected="one of " + ", ".join([repr(one) for one in known]))


def not_a_tolerance(name: str, key: str, given: object) -> str:
    return text(f"{key} of ct.{name} bounds nothing", given=repr(given), expected="a finite number from 0 on, or None")


def root_not_found(place: str, residual: float, size: float, steps: float, largest: float) -> str:
    stood = f"a residual of {residual:.3g} after {counted(steps, 'step')}, at numbers of at most {largest:.6g}"
    if not np.isfinite(residual):
        why, do = "the residual is not finite at the start", "a start at which the function is finite"
    elif steps > 0 and not np.isfinite(size):
        why, do = f"the Jacobian has no inverse at step {steps:.0f}", "another start"
    else:
        why, do = "Newton's method did not converge", "another start, or a larger max_steps="
        stood += f"; the last correction is {size:.3g} times the tolerance"
    return text(why, given=stood, expected="a correction within the tolerance", where=place or None, do=do)


def not_in_space_of_start(name: str, f: object, unknown: object, made: object) -> str:
    return text(
        f"the function of ct.{name} gives what it does not take",
        given=f"a start in {unknown}, results in {made}",
        expected="results in the space of the start",
        where=abbreviated(f),
    )


def no_fixed_point(place: str, residual: float, size: float, steps: float) -> str:
    return text(
        "no fixed point was found",
        given=f"f(x) differs from x by {residual:.3g}, {size:.3g} times the tolerance, after {counted(steps, 'step')}",
        expected="a difference within the tolerance",
        where=place or None,
        do="another start, a larger max_steps=, or ct.root of f(x) - x, which also finds fixed points that repel",
    )


def residuals_not_floating(f: object, made: object) -> str:
    return text(
        "ct.least_squares needs residuals", given=f"results in {made}", expected="arrays of floats", where=abbreviated(f)
    )


def no_least_squares(place: str, norm: float, gradient: float, size: float, steps: float) -> str:
    stood = f"residuals of norm {norm:.6g} and a gradient of {gradient:.3g} after {counted(steps, 'step')}"
    if not np.isfinite(norm):
        return text(
            "residuals are not finite at the start",
            given=f"residuals of norm {norm:.6g}",
            expected="finite numbers",
            where=place or None,
            do="a start at which the function is finite",
        )
    return text(
        "the method of Levenberg and Marquardt did not converge",
        given=f"{stood}; the last step is {size:.3g} times the tolerance",
        expected="a step within the tolerance",
        where=place or None,
        do="another start, or a larger max_steps=",
    )


def loss_not_scalar(f: object, made: object) -> str:
    return text(
        "ct.minimize needs a loss", given=f"results in {made}", expected="one floating number without axes", where=abbreviated(f)
    )


def no_minimum(place: str, value: float, gradient: float, size: float, steps: float, saddle: float) -> str:
    stood = f"a loss of {value:.6g} with a gradient of {gradient:.3g} after {counted(steps, 'step')}"
    if not np.isfinite(value):
        why, do = "the loss is not finite", "a start at which it is finite, and a loss that is bounded below"
        stood = f"a loss of {value:.6g} after {counted(steps, 'step')}"
    elif saddle:
        why, do = "the gradient is zero where the loss has no minimum", "a start beside a saddle point or a maximum"
    else:
        why, do = "no minimum was found", "another start, another method=, or a larger max_steps="
        stood += f"; Newton's step is {size:.3g} times the tolerance"
    return text(why, given=stood, expected="a minimum", where=place or None, do=do)


def not_a_solution(place: str, residual: float, beside: float) -> str:
    return text(
        "what is given to ct.implicit is no solution of its equation",
        given=f"a residual of {residual:.3g}, {beside:.3g} times what a change of the solution by the tolerance makes of it",
        expected="a residual of rounding errors",
        where=place or None,
        do="the equation that the solution solves, a larger rtol= or atol=, or check=False",
    )


def bracket_and_method(method: str, bracket: object, bracketing: Sequence[str]) -> str:
    names = " and ".join([f'method="{name}"' for name in bracketing])
    return text(
        f"a bracket goes with {names} of ct.root",
        given=f"method={method!r}, bracket={bracket!r}",
        expected="bracket=(a, b) with these methods alone",
    )


def not_a_bracket(given: object) -> str:
    return text("the bracket of ct.root has no inside", given=repr(given), expected="two finite numbers (a, b) with a < b")


def bracket_of_many(method: str, unknown: object) -> str:
    return text(
        f'method="{method}" of ct.root looks for one number',
        given=f"a start in {unknown}",
        expected="one array of one number",
        do="ct.vmap for several roots, method='newton' for a system",
    )


def no_root_between(place: str, residual: float, width: float, steps: float, at: float) -> str:
    stood = f"a residual of {residual:.3g} at {at:.6g} after {counted(steps, 'step')}, in a bracket of width {width:.3g}"
    if steps == 0:
        why, do = "the function has no two signs at the ends of the bracket", "a bracket around a change of sign"
    else:
        why, do = "no root was found in the bracket", "a larger max_steps=, or a bracket without a pole or a jump"
    return text(why, given=stood, expected="a change of sign through zero", where=place or None, do=do)


def slopes_of_another_shape(f: object, unknown: object, made: object) -> str:
    return text(
        "ct.odeint needs a slope for each number of y",
        given=f"y in {unknown}, slopes in {made}",
        expected="results with the shapes of y",
        where=abbreviated(f),
        do="return the derivative of y by t from rhs(t, y, *args), as a tree like y",
    )


def time_comes_first(name: str) -> str:
    return text(
        "ct.odeint gives the time first, and the function takes (y, t)",
        given=f"the function {name}",
        expected="rhs(t, y, *args), the order of scipy.integrate.solve_ivp; scipy.integrate.odeint and JAX give (y, t, *args)",
        do="lambda t, y, *args: f(y, t, *args)",
    )


def not_times(given: object) -> str:
    return text(
        "ct.odeint takes the times at which results are wanted as an array of one axis",
        given=f"times in {given}",
        expected="at least one time; the first is where y0 is given",
        do="np.array([t0, t1])",
    )


def not_start_and_times(given: object) -> str:
    return text(
        "ct.odeint(rhs) takes y0, the times ts and the other arguments of rhs",
        given=f"an argument in {given}",
        expected="(y0, ts, *args)",
    )


def times_not_sorted(place: str, first: float, last: float) -> str:
    return text(
        "the times of ct.odeint do not grow or fall from the first to the last",
        given=f"times from {first:.6g} to {last:.6g}",
        expected="sorted numbers, in either direction",
        where=place or None,
        do="np.sort(ts); for results before and after t0, two calls",
    )


def integration_failed(place: str, t: float, size: float, error: float, steps: float, limit: float) -> str:
    ended = steps >= limit
    return text(
        "the steps of ct.odeint did not reach the last time",
        given=f"at t = {t:.6g} a step of size {size:.3g}, and an error of {error:.3g} times the tolerance,"
        f" after {counted(steps, 'step')}",
        expected=f"at most {counted(limit, 'step')}" if ended else "a step whose error is within the tolerance",
        where=place or None,
        do="a larger max_steps=, larger tolerances, or a method for stiff equations"
        if ended
        else "look for a pole or a NaN of rhs near this t",
    )


def no_such_method(name: object, known: Sequence[str]) -> str:
    return text("ct.odeint knows no such method", given=repr(name), expected=", ".join(known))


def fixed_steps_missing(name: str) -> str:
    return text(
        f"the method {name} has no estimate of its error, from which step sizes could follow",
        given="no steps=",
        expected="a number of steps between two times",
        do=f'ct.odeint(rhs, method="{name}", steps=100), or another method',
    )


def must_be_positive(name: str, given: object) -> str:
    return text(f"{name} of ct.odeint is a positive number", given=repr(given), expected="a number above 0")


def event_not_a_number(f: object, made: object) -> str:
    return text(
        "ct.odeint looks for a root of a function with one value",
        given=f"results in {made}",
        expected="a floating number",
        where=abbreviated(f),
        do="return one number from event(t, y, *args)",
    )


def event_with_fixed_steps(steps: int) -> str:
    return text(
        "ct.odeint finds events between steps whose sizes follow from error estimates",
        given=f"event= and steps={steps}",
        expected="one of both",
        do="leave steps= out",
    )


def no_direction(given: object) -> str:
    return text(
        "direction= of ct.odeint says which changes of sign of the event count",
        given=repr(given),
        expected="1 (from negative to positive), -1 (from positive to negative) or 0 (both)",
    )

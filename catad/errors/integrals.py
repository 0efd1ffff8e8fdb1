"""Messages about integrals, and splines through points."""

from __future__ import annotations

from collections.abc import Sequence

from catad.errors.base import abbreviated, text
from catad.errors.equations import counted


def integral_not_found(
    place: str, size: float, error: float, wanted: float, low: float, high: float, count: float, rounding: float, infinite: float
) -> str:
    stood = f"the estimate {size:.6g} and its error {error:.3g}"
    if infinite:
        said, do = "the integrand is infinite at a point", "points=[...] where it is, or another form of the integrand"
        stood = "an infinite value"
    elif rounding > wanted:
        said, do = "rounding alone exceeds the tolerance of an integral", "a larger epsabs= or epsrel="
    else:
        said, do = "an integral did not converge", "a larger limit=, or points=[...] where the integrand jumps or has a kink"
    return text(
        said,
        given=f"{stood}; of {counted(count, 'interval')} the worst is [{low:.6g}, {high:.6g}]",
        expected="finite values" if infinite else f"an error of at most {wanted:.3g}",
        where=place or None,
        do=do,
    )


def no_ends(space: object, term: object) -> str:
    return text(
        "an integral takes its two ends first, as numbers",
        given=space,
        expected="(a, b, *args)",
        where=abbreviated(term),
        do="for many integrals, ct.vmap",
    )


def nothing_to_integrate(f: object, space: object) -> str:
    return text("ct.quad integrates numbers or arrays of them", given=f"results in {space}", where=abbreviated(f))


def no_break_points(points: object) -> str:
    return text("points= are finite numbers where an integrand is cut", given=points)


def traced_break_points() -> str:
    return text(
        "the points of an integral are numbers, and one follows from data",
        do="split the integral there, one from a to the point and one from the point to b",
    )


def no_tolerance(name: str, value: object) -> str:
    return text(f"{name}= is a tolerance, a number of at least 0", given=value)


def complex_spline(name: str) -> str:
    return text(f"{name} takes real values", given="complex ones", do="a spline of the real parts and one of the imaginary parts")


def no_such_part_of_spline(name: str) -> str:
    return text(
        f"a spline of a traced function has no {name}",
        expected="s(t), s(t, nu), s.derivative(), s.antiderivative(), s.integrate(a, b), s.c, s.x",
        do="for points where a spline has a value, ct.root",
    )


def no_spline(said: str, space: object, term: object) -> str:
    return text(
        f"there is no spline through such points: {said}",
        given=space,
        expected="(x, y, t), with x in ct.f64[n] and y in ct.f64[n, ...], n of at least 2",
        where=abbreviated(term),
    )


def no_end_conditions(given: object, kinds: Sequence[str]) -> str:
    return text(
        "bc_type= says what holds at the ends of a spline",
        given=given,
        expected=f"one of {', '.join(map(repr, kinds))}, or two of the first three, (1, slope) or (2, second derivative)",
    )


def no_extrapolation(given: object) -> str:
    return text("extrapolate= is None, True, False or 'periodic'", given=given)


def no_such_part_of_solution(name: str) -> str:
    return text(
        f"what scipy.integrate.solve_ivp returns has no {name} in a traced function",
        expected="t, y, sol, t_events, y_events, status, success, message",
        do="solve_ivp outside of traced functions, which counts evaluations",
    )


def no_such_ivp_method(given: object, known: Sequence[str]) -> str:
    return text(
        "scipy.integrate.solve_ivp is not traced with this method",
        given=f"method={given!r}",
        expected=", ".join(known),
        do="ct.odeint, which has more methods",
    )


def not_one_tolerance(function: str, name: str) -> str:
    return text(
        f"scipy.integrate.{function} is traced with one number as {name}",
        given="an array, or a value that depends on data",
        expected="a Python number that holds for all of y",
        do="scale the unknowns, so that one tolerance fits all",
    )


def not_one_terminal_event(count: int) -> str:
    return text(
        "scipy.integrate.solve_ivp is traced with one event, which ends the integration",
        given=f"{count} event{'s' * (count != 1)}, or one that is not terminal",
        expected="a function with event.terminal = True",
        do="several terminal events: one function that is their product",
    )

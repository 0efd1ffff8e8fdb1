"""`scipy.integrate.solve_ivp` and `odeint`, entered when the first function of the package is called: both are `ct.odeint`.

The number of results of a program follows from shapes. So `solve_ivp` gives results at `t_eval`, or at both ends, never at each
step, and rows after a terminal event are NaN. Methods for stiff equations are Rosenbrock's, "rodas5p".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from catad import errors, upward
from catad.traced.names.sums import strong
from catad.traced.table import PYTHON, of_package

IS_TRACED = True  # programs call `slopes` and `root`, which call the user's functions

_METHODS = {"RK45": "dopri5", "RK23": "bosh3", "Radau": "rodas5p", "BDF": "rodas5p", "LSODA": "rodas5p"}


class Solved:
    """What `solve_ivp` returns: see `scipy.integrate.solve_ivp`."""

    def __init__(self, t: Any, y: Any, sol: Any, t_events: Any, y_events: Any, status: Any) -> None:
        self.t, self.y, self.sol, self.t_events, self.y_events, self.status = t, y, sol, t_events, y_events, status
        self.success = True
        end = "The solver successfully reached the end of the integration interval."
        self.message = end if t_events is None else "The end of the integration interval or the event was reached."

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise errors.TraceError(errors.no_such_part_of_solution(name))


def _refuse(function: str, **given: Any) -> None:
    """Raise `TraceError` for the first parameter that is given."""
    for parameter, value in given.items():
        if value is not None and value is not False and not (isinstance(value, (int, float)) and value == 0):
            raise errors.TraceError(errors.unknown_parameter(f"scipy.integrate.{function}", parameter))


def _number(function: str, name: str, value: Any) -> float:
    """A tolerance: the same for all numbers of y."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise errors.TraceError(errors.not_one_tolerance(function, name))
    return float(value)


def _floating(trace: Any, y0: Any) -> Any:
    """The start as an array of one axis, a copy."""
    start = strong(trace, y0)
    start = start if start.dtype.kind in "fc" else start.astype(np.float64)
    return start.reshape(-1) + 0.0


def solve_ivp(
    driver: Any, fun: Any, t_span: Any, y0: Any, method: Any = "RK45", t_eval: Any = None, dense_output: bool = False,
    events: Any = None, vectorized: bool = False, args: Any = None, *, rtol: Any = 1e-3, atol: Any = 1e-6,
    first_step: Any = None, max_step: Any = None, jac: Any = None, jac_sparsity: Any = None, lband: Any = None,
    uband: Any = None, min_step: Any = None,
) -> Any:  # fmt: skip
    """Jacobians are found, so those that are given are not asked."""
    _refuse("solve_ivp", min_step=min_step)
    if method not in _METHODS:
        raise errors.TraceError(errors.no_such_ivp_method(method, tuple(_METHODS)))
    trace = driver.trace
    given = args if isinstance(args, tuple) else () if args is None else (args,)
    first, end = [strong(trace, one) * np.float64(1.0) for one in t_span]
    options: dict[str, Any] = {
        "method": _METHODS[method],
        "rtol": _number("solve_ivp", "rtol", rtol),
        "atol": _number("solve_ivp", "atol", atol),
        "first_step": None if first_step is None else _number("solve_ivp", "first_step", first_step),
        "max_step": None if max_step is None or max_step == np.inf else _number("solve_ivp", "max_step", max_step),
    }
    event = _event(events)

    def slopes(t: Any, y: Any, *args: Any) -> Any:
        return np.reshape(np.asarray(fun(t, y, *args)), y.shape)

    def root(t: Any, y: Any, *args: Any) -> Any:
        return event(t, y, *args)

    start = _floating(trace, y0)

    def at(ts: Any, **more: Any) -> Any:
        """The solution at times, in order, and at both ends."""
        whole = np.concatenate([first[None], ts, end[None]])
        return upward.odeint(upward.function_term(slopes), **options, **more)(start, whole, *given)

    times = np.stack([first, end]) if t_eval is None else strong(trace, t_eval) * np.float64(1.0)
    t_events = y_events = None
    status: Any = 0
    if event is None:
        rows = at(times)[1:-1]
    else:
        direction = int(np.sign(getattr(event, "direction", 0)))
        rows, when, where = at(times, event=upward.function_term(root), direction=direction)
        rows, t_events, y_events = rows[1:-1], [when[None]], [where[None]]
        status = np.where(np.isnan(when), 0, 1)[()]
        times = np.where(np.isnan(when) | ((end - first) * (times - when) <= 0.0), times, np.nan)

    def sol(t: Any) -> Any:
        asked = strong(trace, t) * np.float64(1.0)
        line = asked.reshape(-1)
        order = np.argsort(line * np.sign(end - first))
        made = at(line[order])[1:-1][np.argsort(order)].T
        return made.reshape((*made.shape[:1], *asked.shape))

    return Solved(times, rows.T, sol if dense_output else None, t_events, y_events, status)


def _event(events: Any) -> Any:
    """The one terminal event, or None; raises `TraceError` for others."""
    if events is None:
        return None
    found = list(events) if isinstance(events, (list, tuple)) else [events]
    if len(found) != 1 or getattr(found[0], "terminal", False) not in (True, 1):
        raise errors.TraceError(errors.not_one_terminal_event(len(found)))
    return found[0]


def odeint(
    driver: Any, func: Any, y0: Any, t: Any, args: Any = (), Dfun: Any = None, col_deriv: Any = 0, full_output: Any = 0,
    ml: Any = None, mu: Any = None, rtol: Any = None, atol: Any = None, tcrit: Any = None, h0: Any = 0.0, hmax: Any = 0.0,
    hmin: Any = 0.0, ixpr: Any = 0, mxstep: Any = 0, mxhnil: Any = 0, mxordn: Any = 12, mxords: Any = 5, printmessg: Any = 0,
    tfirst: bool = False,
) -> Any:  # fmt: skip
    """`scipy.integrate.odeint`, by "tsit5"."""
    _refuse("odeint", full_output=full_output, tcrit=tcrit, hmin=hmin)
    trace = driver.trace
    given = args if isinstance(args, tuple) else (args,)

    def slopes(t: Any, y: Any, *args: Any) -> Any:
        return np.reshape(np.asarray(func(t, y, *args) if tfirst else func(y, t, *args)), y.shape)

    options: dict[str, Any] = {
        "rtol": 1.49012e-8 if rtol is None else _number("odeint", "rtol", rtol),
        "atol": 1.49012e-8 if atol is None else _number("odeint", "atol", atol),
        "first_step": _number("odeint", "h0", h0) or None,
        "max_step": _number("odeint", "hmax", hmax) or None,
    }
    start, times = _floating(trace, y0), strong(trace, t) * np.float64(1.0)
    return upward.odeint(upward.function_term(slopes), **options)(start, times, *given)


@of_package("scipy.integrate")
def enter() -> None:
    """Enter the functions into the tables."""
    import scipy.integrate

    for function in (solve_ivp, odeint):
        PYTHON[getattr(scipy.integrate, function.__name__)] = function

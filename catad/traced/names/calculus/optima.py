"""`scipy.optimize`: roots, fixed points, minima and fits, entered when the first of its functions is called.

They are `ct.root`, `ct.fixed_point`, `ct.minimize` and `ct.least_squares`: what does not converge is an error where SciPy warns,
or says so in its result. Derivatives that are given, such as `jac=` and `fprime=`, are not needed: those of catad are exact. The
name of a method chooses the one of catad that is most like it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from catad import errors, upward
from catad.traced.table import PYTHON, of_package

IS_TRACED = True  # functions that are made here
BETWEEN = ("bisect", "brentq", "brenth", "ridder", "toms748")
WITHOUT_MATRIX = ("krylov", "df-sane", "anderson", "broyden1", "broyden2", "linearmixing", "diagbroyden", "excitingmixing")
NEWTON = ("newton-cg", "trust-ncg", "trust-krylov", "trust-exact", "dogleg")
MINIMA = {"l-bfgs-b": "l-bfgs", "cg": "l-bfgs", **dict.fromkeys(NEWTON, "newton-cg")}


class Found:
    """The result of a search, which was successful: with SciPy's names of what is known of it."""

    success, status, message = True, 1, "The solution converged."
    converged, flag = True, "converged"

    def __init__(self, **known: Any) -> None:
        self.__dict__.update(known)

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise errors.TraceError(errors.not_of_a_result(name, [*self.__dict__, "success", "status", "message"]))


def _tuple(args: Any) -> tuple[Any, ...]:
    return args if isinstance(args, tuple) else (args,)


def _without(name: str, **given: Any) -> None:
    """Raise `TraceError` for the first parameter that is given."""
    for parameter, value in given.items():
        if value is not None and value is not False:
            raise errors.TraceError(errors.unknown_parameter(f"scipy.optimize.{name}", parameter))


def _first(fun: Any, jac: Any) -> Any:
    """The function; the first of its results where it gives its derivative as well."""

    def first(*args: Any) -> Any:
        return fun(*args)[0]

    return upward.function_term(first) if jac is True else fun


def _vector(driver: Any, x0: Any) -> Any:
    x = driver.call(np.ravel, driver.call(np.asarray, x0))
    return x if x.dtype.kind == "f" else x.astype(np.float64)


def _number(x: Any) -> float | None:
    """A number that does not depend on data; None of another one."""
    value = getattr(x, "constant", x)
    return None if value is None else float(value)


def _steps(options: Any, *names: str, otherwise: int) -> int:
    return next((int(options[name]) for name in names if name in (options or {})), otherwise)


def root(
    driver: Any, fun: Any, x0: Any, args: Any = (), method: str = "hybr", jac: Any = None, tol: float | None = None,
    callback: Any = None, options: Any = None,
) -> Any:  # fmt: skip
    _without("root", callback=callback)
    f, given = _first(fun, jac), _tuple(args)
    way = "krylov" if method.lower() in WITHOUT_MATRIX else "newton"
    solver = upward.root(f, method=way, rtol=tol, max_steps=_steps(options, "maxiter", "maxfev", otherwise=300))
    x = solver(_vector(driver, x0), *given)
    return Found(x=x, fun=driver.call(f, x, *given))


def fsolve(
    driver: Any, func: Any, x0: Any, args: Any = (), fprime: Any = None, full_output: Any = False, col_deriv: Any = 0,
    xtol: float = 1.49012e-08, maxfev: int = 0, **others: Any,
) -> Any:  # fmt: skip
    _without("fsolve", full_output=bool(full_output))
    return upward.root(func, rtol=min(xtol, 1e-10), max_steps=maxfev or 300)(_vector(driver, x0), *_tuple(args))


def newton(
    driver: Any, func: Any, x0: Any, fprime: Any = None, args: Any = (), tol: float = 1.48e-08, maxiter: int = 50,
    fprime2: Any = None, x1: Any = None, rtol: float = 0.0, full_output: bool = False, disp: bool = True,
) -> Any:  # fmt: skip
    _without("newton", full_output=full_output)
    return upward.root(func, max_steps=max(int(maxiter), 50))(x0, *_tuple(args))


def _between(method: str) -> Callable[..., Any]:
    def found(
        driver: Any, f: Any, a: Any, b: Any, args: Any = (), xtol: float | None = None, rtol: float | None = None,
        maxiter: int = 100, full_output: bool = False, disp: bool = True, **others: Any,
    ) -> Any:  # fmt: skip
        _without(method, full_output=full_output, **others)
        return _root_between(method, f, a, b, args, xtol, maxiter)

    found.__name__ = method
    return found


def _root_between(method: str, f: Any, a: Any, b: Any, args: Any, xtol: Any, maxiter: int) -> Any:
    """Ends that depend on data are those of the numbers 0 and 1."""
    way, given = "bisect" if method == "bisect" else "brent", _tuple(args)
    ends = _number(a), _number(b)
    if ends[0] is None or ends[1] is None:

        def moved(s: Any, low: Any, high: Any, *args: Any) -> Any:
            return f(low + (high - low) * s, *args)

        solver = upward.root(upward.function_term(moved), method=way, bracket=(0, 1), max_steps=max(maxiter, 300))
        s = solver(0.5, a, b, *given)
        return a + (b - a) * s
    low, high = sorted([ends[0], ends[1]])
    solver = upward.root(f, method=way, bracket=(low, high), atol=xtol, max_steps=max(maxiter, 300))
    return solver(0.5 * (low + high), *given)


def root_scalar(
    driver: Any, f: Any, args: Any = (), method: str | None = None, bracket: Any = None, fprime: Any = None,
    fprime2: Any = None, x0: Any = None, x1: Any = None, xtol: float | None = None, rtol: float | None = None,
    maxiter: int | None = None, options: Any = None,
) -> Any:  # fmt: skip
    own = _first(f, fprime)
    if bracket is not None:
        low, high = bracket
        return Found(root=_root_between(method or "brentq", own, low, high, args, xtol, maxiter or 300))
    if x0 is None:
        raise ValueError("Unable to select a solver as neither bracket nor starting point provided.")
    return Found(root=upward.root(own, max_steps=maxiter or 300)(x0, *_tuple(args)))


def fixed_point(
    driver: Any, func: Any, x0: Any, args: Any = (), xtol: float = 1e-08, maxiter: int = 500, method: str = "del2"
) -> Any:
    """To rounding, whatever `xtol` is."""
    way = "plain" if method == "iteration" else "anderson"
    return upward.fixed_point(func, method=way, max_steps=maxiter)(x0, *_tuple(args))


def minimize(
    driver: Any, fun: Any, x0: Any, args: Any = (), method: Any = None, jac: Any = None, hess: Any = None, hessp: Any = None,
    bounds: Any = None, constraints: Any = (), tol: float | None = None, callback: Any = None, options: Any = None,
) -> Any:  # fmt: skip
    """To rounding, whatever `tol` is."""
    _without("minimize", bounds=bounds, constraints=tuple(constraints) or None, callback=callback)
    f, given = _first(fun, jac), _tuple(args)
    way = MINIMA.get("bfgs" if method is None else str(method).lower(), "bfgs")
    x = upward.minimize(f, method=way, max_steps=_steps(options, "maxiter", otherwise=1000))(_vector(driver, x0), *given)
    return Found(x=x, fun=driver.call(f, x, *given), status=0)


def least_squares(
    driver: Any, fun: Any, x0: Any, jac: Any = "2-point", bounds: Any = None, method: str = "trf", ftol: Any = 1e-8,
    xtol: Any = 1e-8, gtol: Any = 1e-8, x_scale: Any = None, loss: Any = "linear", f_scale: float = 1.0,
    diff_step: Any = None, tr_solver: Any = None, tr_options: Any = None, jac_sparsity: Any = None,
    max_nfev: int | None = None, verbose: int = 0, args: Any = (), kwargs: Any = None, **others: Any,
) -> Any:  # fmt: skip
    """To rounding, whatever the tolerances are."""
    _without("least_squares", bounds=bounds, loss=None if loss == "linear" else loss, kwargs=kwargs or None, **others)
    given = _tuple(args)
    x = upward.least_squares(fun, max_steps=max_nfev or 200)(_vector(driver, x0), *given)
    residuals = driver.call(fun, x, *given)
    return Found(x=x, fun=residuals, cost=0.5 * np.sum(residuals**2))


@of_package("scipy.optimize")
def enter() -> None:
    """Enter the functions into the tables."""
    import scipy.optimize

    functions: tuple[Any, ...] = (root, fsolve, newton, root_scalar, fixed_point, minimize, least_squares)
    for function in (*functions, *map(_between, BETWEEN)):
        PYTHON[getattr(scipy.optimize, function.__name__)] = function

"""Functions given by an equation: roots, optima, integrals and differential equations beside diffrax, optimistix and SciPy.

The root of a Poisson equation, u'' = exp(u): doubling the points should double the time of value and gradient. Robertson's
reactions and a reaction-diffusion equation by "rodas5p" over diffrax's Kvaerno5; Lorenz's equations by "tsit5" over diffrax's;
roots, least squares and minima over optimistix and SciPy; a batch of roots by `vmap`; integrals over SciPy's `quad`. Peers are
jitted, in double precision, with gradients by their own adjoints; those that are not installed are left out with a line. All runs
of a row take turns, on one core, after each was run until it is compiled, and their results are compared. Prints ratios of
medians of processor time beside what they should be at most:

    python examples/experiments/equations.py [--small] [--no-peers] [--only WORD ...] [--rounds N] [--json FILE]
"""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import measuring  # noqa: E402  after the threads are set
import numpy as np  # noqa: E402
import scipy.integrate  # noqa: E402
import scipy.optimize  # noqa: E402

import catad as ct  # noqa: E402

Call = Callable[[], Any]
LONG = 20.0  # seconds of a call that is not repeated


class Row(NamedTuple):
    """What catad computes, and what it stands beside; `rtol` is how far results may be apart, None where they differ."""

    work: str
    against: str
    bound: float
    own: Call
    other: Call
    rtol: float | None = 1e-5


def gradient_of(f: Callable[..., Any], *args: Any, by: int | tuple[int, ...] = 0) -> Call:
    """The value and the gradient at arguments."""
    both = ct.value_and_grad(f, argnums=by)
    return lambda: both(*args)


def by_jax(f: Callable[..., Any], *args: Any, by: int | tuple[int, ...] = 0) -> Call:
    """The same by JAX, jitted, in double precision."""
    import jax

    given = [_jax().asarray(a) for a in args]
    both = jax.jit(jax.value_and_grad(f, argnums=by))
    return lambda: jax.block_until_ready(both(*given))


def _jax() -> Any:
    import jax

    jax.config.update("jax_enable_x64", True)
    return jax.numpy


# -- equations; `xp` is NumPy or jax.numpy


def poisson(xp: Any, u: Any, a: Any) -> Any:
    """u'' - a exp(u), with u = 0 at both ends of [0, 1]."""
    wide = xp.concatenate([xp.zeros(1), u, xp.zeros(1)])
    return (wide[2:] - 2.0 * wide[1:-1] + wide[:-2]) * (len(u) + 1.0) ** 2 - a * xp.exp(u)


def robertson(xp: Any, y: Any, k: Any) -> Any:
    first, second, third = k[0] * y[0], k[1] * y[1] ** 2, k[2] * y[1] * y[2]
    return xp.stack([third - first, first - second - third, second])


def brusselator(xp: Any, y: Any, p: Any) -> Any:
    """Two concentrations at points of a line."""
    u, v = y
    made = u * u * v

    def spread(w: Any, end: float) -> Any:
        wide = xp.concatenate([xp.full(1, end), w, xp.full(1, end)])
        return p[2] * (wide[2:] - 2.0 * wide[1:-1] + wide[:-2]) * (len(w) + 1.0) ** 2

    return p[0] - (p[1] + 1.0) * u + made + spread(u, 1.0), p[1] * u - made + spread(v, 3.0)


def lorenz(xp: Any, y: Any, p: Any) -> Any:
    return xp.stack([p[0] * (y[1] - y[0]), y[0] * (p[1] - y[2]) - y[1], y[0] * y[1] - p[2] * y[2]])


# -- rows: roots


def poisson_root(n: int) -> Callable[[Any], Any]:
    """The mean square of the root, by the coefficients a at n points."""
    solution = ct.root(lambda u, a: poisson(np, u, a))
    return lambda a: np.mean(solution(np.zeros(n), a) ** 2)


def growth(n: int) -> Iterator[Row]:
    """Value and gradient by n coefficients, over those at half as many points."""
    many, few = [gradient_of(poisson_root(m), np.full(m, 5.0)) for m in (n, n // 2)]
    yield Row(f"root of u'' = a exp(u), {n} points", f"{n // 2} points", 2.3, many, few, None)


def roots_over_optimistix(n: int, small: int) -> Iterator[Row]:
    """Roots over optimistix's Newton, which has a dense Jacobian; the gradient is by the implicit function theorem."""
    import optimistix as optx

    solver, jnp = optx.Newton(rtol=1e-10, atol=1e-10), _jax()

    def other(u: Any, a: Any) -> Any:
        return optx.root_find(lambda u, a: poisson(jnp, u, a), solver, u, a, max_steps=50).value

    a = np.full(n, 5.0)
    by_optimistix = by_jax(lambda a: jnp.mean(other(jnp.zeros(n), a) ** 2), a)
    yield Row(f"root of u'' = a exp(u), {n} points", "optimistix Newton", 0.1, gradient_of(poisson_root(n), a), by_optimistix)

    def circle(x: Any, a: Any) -> Any:
        return x[0] ** 2 + x[1] ** 2 - a[0], x[0] - a[1] * x[1]

    point, a = (1.0, 2.0), np.array([2.0, 0.5])
    root = ct.root(circle)
    theirs = by_jax(lambda a: sum(optx.root_find(circle, solver, tuple(map(jnp.asarray, point)), a).value), a)
    yield Row("root of two equations", "optimistix Newton", 1.0, gradient_of(lambda a: sum(root(point, a)), a), theirs)

    def kepler(x: Any, m: Any) -> Any:
        return x - 0.6 * np.sin(x) - m

    import jax

    ms = np.linspace(0.1, 3.0, small)
    anomaly = ct.root(kepler)
    batch = gradient_of(lambda ms: np.sum(ct.vmap(anomaly)(ms, ms) ** 2), ms)
    one = lambda m: optx.root_find(lambda x, m: x - 0.6 * jnp.sin(x) - m, solver, m, m).value  # noqa: E731
    yield Row(
        f"batch of {small} roots by vmap", "optimistix Newton", 1.0, batch, by_jax(lambda ms: jnp.sum(jax.vmap(one)(ms) ** 2), ms)
    )


# -- rows: optima


def decay(xp: Any, p: Any, times: Any, data: Any) -> Any:
    return p[0] * xp.exp(-p[1] * times) + p[2] - data


def smoothing(xp: Any, u: Any, data: Any) -> Any:
    """Residuals of a nonlinear smoothing of data."""
    return xp.concatenate([u - data, 3.0 * xp.tanh(u[1:] - u[:-1])])


def chained(xp: Any, x: Any, a: Any) -> Any:
    """Rosenbrock's function in many unknowns, with another place of the minimum."""
    return xp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (a - x[:-1]) ** 2)


def optima(n: int) -> Iterator[tuple[str, Callable[[Any, bool], Any], Any]]:
    """Work, function of (xp, whether catad) to the function of the argument by which is differentiated, and that argument."""
    rng = np.random.default_rng(0)
    times = np.linspace(0.0, 4.0, 40)
    data = 2.0 * np.exp(-1.3 * times) + 0.5 + 0.05 * rng.normal(size=40)
    noisy = np.sin(np.linspace(0.0, 6.0, n)) + 0.1 * rng.normal(size=n)
    yield "least squares, 3 unknowns", ("least_squares", lambda xp, p, d: decay(xp, p, times, d), np.ones(3)), data
    yield f"least squares, {n} unknowns, bands", ("least_squares", smoothing, noisy), noisy
    yield "minimum, 2 unknowns", ("minimize", chained, np.array([-1.2, 1.0])), np.array(0.9)
    yield "minimum, 20 unknowns", ("minimize", chained, np.full(20, 0.5)), np.array(0.9)


def optima_over_peers(n: int, peers: bool) -> Iterator[Row]:
    """Least squares and minima over optimistix, with gradients, and over SciPy, which has values alone."""
    for work, (kind, f, start), arg in optima(n):
        find = getattr(ct, kind)(lambda x, a, f=f: f(np, x, a))
        own = gradient_of(lambda a, find=find, start=start: np.sum(find(start, a) ** 2), arg)
        value = ct.function(lambda a, find=find, start=start: np.sum(find(start, a) ** 2))
        if peers and _installed("optimistix"):
            yield Row(work, "optimistix", 1.0, own, by_jax(_by_optimistix(kind, f, start), arg), 1e-4)
        yield Row(f"{work}, value", "SciPy", 1.0, lambda value=value, arg=arg: value(arg), _by_scipy(kind, f, start, arg), 1e-4)


def _by_optimistix(kind: str, f: Any, start: Any) -> Callable[[Any], Any]:
    import optimistix as optx

    jnp = _jax()
    if kind == "least_squares":
        solver, find = optx.LevenbergMarquardt(rtol=1e-9, atol=1e-9), optx.least_squares
    else:
        solver, find = optx.BFGS(rtol=1e-9, atol=1e-9), optx.minimise
    return lambda a: jnp.sum(find(lambda x, a: f(jnp, x, a), solver, jnp.asarray(start), a, max_steps=2000).value ** 2)


def _by_scipy(kind: str, f: Any, start: Any, arg: Any) -> Call:
    """SciPy's value; its derivatives are catad's, and a band is sparse."""
    if kind == "least_squares":
        by_x = ct.jacobian(lambda x: f(np, x, arg))
        slope = (lambda x: np.asarray(by_x(x))) if len(start) < 50 else (lambda x: by_x(x).tocsr())
        return lambda: np.sum(scipy.optimize.least_squares(lambda x: f(np, x, arg), start, jac=slope, xtol=1e-10).x ** 2)
    slope = ct.grad(lambda x: f(np, x, arg))
    return lambda: np.sum(scipy.optimize.minimize(lambda x: f(np, x, arg), start, jac=slope, method="BFGS", tol=1e-9).x ** 2)


# -- rows: differential equations and integrals


def ode(rhs: Any, method: str, rtol: float, atol: float, **more: Any) -> Callable[[Any, Any, Any], Any]:
    return ct.odeint(lambda t, y, p: rhs(np, y, p), method=method, rtol=rtol, atol=atol, **more)


def by_diffrax(
    rhs: Any, solver: str, end: float, rtol: float, atol: float, fixed: int = 0, adjoint: str = "RecursiveCheckpointAdjoint"
) -> Callable[[Any, Any], Any]:
    """(y0, p) to y at the end, by diffrax; its default adjoint goes back through the steps with checkpoints."""
    import diffrax

    jnp = _jax()
    term, method = diffrax.ODETerm(lambda t, y, p: rhs(jnp, y, p)), getattr(diffrax, solver)()
    sizes = diffrax.ConstantStepSize() if fixed else diffrax.PIDController(rtol=rtol, atol=atol)
    first = end / fixed if fixed else None

    def solve(y0: Any, p: Any) -> Any:
        return diffrax.diffeqsolve(
            term, method, 0.0, end, first, y0, p, stepsize_controller=sizes, max_steps=fixed + 1 if fixed else 4096,
            adjoint=getattr(diffrax, adjoint)(),
        ).ys  # fmt: skip

    return solve


def total(xp: Any, y: Any) -> Any:
    """A number of all leaves, at the last time."""
    return sum([xp.sum(leaf[-1] ** 2) for leaf in y]) if isinstance(y, tuple) else xp.sum(y[-1] ** 2)


def over_diffrax(points: int, steps: int) -> Iterator[Row]:
    """Values and gradients by parameters over diffrax; tolerances are the same, and Lorenz's steps fixed, equally many."""
    jnp = _jax()
    y0, k = np.array([1.0, 0.0, 0.0]), np.array([0.04, 3e7, 1e4])
    x = np.linspace(0.0, 1.0, points + 2)[1:-1]
    field, p = (1.0 + np.sin(2.0 * np.pi * x), 3.0 + 0.0 * x), np.array([1.0, 3.0, 0.02])
    rows = [
        ("Robertson to t = 10^5", robertson, y0, k, 1e5, 1e-6, 1e-10, 0.5),
        (f"reaction-diffusion of 2 x {points} to t = 0.1", brusselator, field, p, 0.1, 1e-5, 1e-7, 0.1),
    ]
    for work, rhs, start, given, end, rtol, atol, bound in rows:
        solve, times = ode(rhs, "rodas5p", rtol, atol), np.array([0.0, end])
        own = gradient_of(lambda p, solve=solve, start=start, times=times: total(np, solve(start, times, p)), given)
        theirs = by_diffrax(rhs, "Kvaerno5", end, rtol, atol)
        begin = tuple(map(jnp.asarray, start)) if isinstance(start, tuple) else jnp.asarray(start)
        other = by_jax(lambda p, theirs=theirs, begin=begin: total(jnp, theirs(begin, p)), given)
        yield Row(work, "diffrax Kvaerno5", bound, own, other, 1e-2)
    start, p, end = np.array([1.0, 1.0, 20.0]), np.array([10.0, 14.0, 8.0 / 3.0]), 0.001 * steps
    lengths = ode(lorenz, "tsit5", 1e-6, 1e-6, steps=steps)
    own = gradient_of(lambda p: total(np, lengths(start, np.array([0.0, end]), p)), p)
    for adjoint in ("RecursiveCheckpointAdjoint", "DirectAdjoint"):
        theirs = by_diffrax(lorenz, "Tsit5", end, 0.0, 0.0, steps, adjoint)
        other = by_jax(lambda p, theirs=theirs: total(jnp, theirs(jnp.asarray(start), p)), p)
        yield Row(f"Lorenz, {steps} steps", f"diffrax Tsit5, {adjoint}", 0.5, own, other)


def integrals() -> Iterator[Row]:
    """Values, and values with gradients, over SciPy's values."""

    def bell(x: Any, k: Any) -> Any:
        return np.exp(-k * x * x) * np.cos(3.0 * x)

    def root(x: Any, k: Any) -> Any:
        return np.sqrt(x) * np.log(x) * k

    for name, f, low, high in (("exp(-k x^2) cos 3x on the line", bell, -np.inf, np.inf), ("sqrt(x) log x", root, 0.0, 1.0)):
        integral = ct.quad(f, epsabs=1e-10, epsrel=1e-10)
        value = ct.function(lambda k, integral=integral, low=low, high=high: integral(low, high, k))
        other = lambda f=f, low=low, high=high: scipy.integrate.quad(f, low, high, (1.5,), epsabs=1e-10, epsrel=1e-10)[0]  # noqa: E731
        yield Row(f"quad of {name}", "SciPy", 1.0, lambda value=value: value(1.5), other)
        yield Row(f"quad of {name}, with gradient", "SciPy's value", 1.0, gradient_of(value, 1.5), other, None)


def _installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def rows(small: bool, peers: bool) -> Iterator[Row]:
    """The rows; those over other libraries if `peers` and they are there."""
    yield from growth(400 if small else 10**5)
    yield from integrals()
    yield from optima_over_peers(30 if small else 1000, peers)
    for name, more in (
        ("optimistix", lambda: roots_over_optimistix(20 if small else 500, 10 if small else 10_000)),
        ("diffrax", lambda: over_diffrax(10 if small else 2000, 100 if small else 10_000)),
    ):
        if peers and not _installed(name):
            print(f"{name} is not installed: its rows are left out")
        elif peers:
            yield from more()


def agree(row: Row) -> bool:
    """Whether both give the same value; gradients are compared where both have them."""
    if row.rtol is None:
        return True
    own, other = row.own(), row.other()
    parts = zip(own, other, strict=True) if isinstance(own, tuple) else [(own, other)]
    return all(np.allclose(a, b, rtol=row.rtol, atol=row.rtol * np.abs(b).max()) for a, b in parts)


def timed(row: Row, rounds: int) -> dict[str, float]:
    """Median seconds of both, after calls in which "auto" settles; what takes long is run once after its first call."""
    for _ in range(4):
        row.own()
    if measuring.first_call(row.other) < LONG:
        return measuring.side_by_side({"own": row.own, "other": row.other}, rounds, clock=time.process_time)
    start = time.process_time()
    row.other()
    other = time.process_time() - start
    return {**measuring.side_by_side({"own": row.own}, rounds, clock=time.process_time), "other": other}


def main() -> None:
    flag = {"action": "store_true"}
    found = measuring.options(__doc__, small=flag, no_peers=flag, only={"nargs": "+", "default": [""]})
    measuring.one_core()
    ct.set_default_num_threads(1)
    bounds, failed = list[measuring.Bound](), list[str]()
    for row in rows(found.small, not found.no_peers):
        if not any(word in f"{row.work}, {row.against}" for word in found.only):
            continue
        try:
            if not agree(row):
                failed.append(f"{row.work}, {row.against}: results differ")
            taken = timed(row, found.rounds)
        except (ct.CatadError, RuntimeError, ValueError) as error:  # the other rows run
            failed.append(f"{row.work}, {row.against}: {type(error).__name__}: {str(error).splitlines()[0]}")
            continue
        bounds.append(measuring.Bound(row.work, row.against, taken["own"] / max(taken["other"], 1e-9), row.bound))
        print(f"{row.work}: {1e3 * taken['own']:.3f} ms, {row.against} {1e3 * taken['other']:.3f} ms", flush=True)
    at = list(range(1, len(bounds) + 1))
    series = {"measured": (at, [one.measured for one in bounds]), "at most": (at, [one.bound for one in bounds])}
    measuring.chart(found.out, "equations", [measuring.Panel("functions given by an equation", "row", "ratio", series, True)])
    measuring.report(found, [], bounds)
    if failed:
        sys.exit("\n".join(failed))


if __name__ == "__main__":
    main()

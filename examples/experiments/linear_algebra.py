"""Linear algebra: values with their pullbacks beside LAPACK's own calls, and beside JAX where it is installed.

Decompositions of one large matrix over the call of LAPACK that computes the value; 10^5 small systems, the likelihood of a
Gaussian process and a Kalman filter that solves with a covariance in each step over jitted JAX; a tridiagonal system over
SciPy's solver; a convolution by Fourier transforms over NumPy's value. All runs of a row take turns, on one core. Prints ratios
of medians of processor time beside what they should be at most:

    python examples/experiments/linear_algebra.py [--small] [--no-peers] [--only WORD ...] [--rounds N] [--json FILE]
"""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import measuring  # noqa: E402  after the threads are set
import numpy as np  # noqa: E402
import scipy.linalg  # noqa: E402
from scipy.linalg import lapack  # noqa: E402

import catad as ct  # noqa: E402

Call = Callable[[], Any]


class Row(NamedTuple):
    """What catad computes, and what it stands beside."""

    work: str
    against: str
    bound: float
    own: Call
    other: Call


def gradient_of(f: Callable[..., Any], *args: Any, by: int | tuple[int, ...] = 0) -> Call:
    """The value and the gradient at arguments."""
    both = ct.value_and_grad(f, argnums=by)
    return lambda: both(*args)


def by_jax(f: Callable[..., Any], *args: Any, by: int | tuple[int, ...] = 0) -> Call:
    """The same by JAX, jitted, in double precision."""
    import jax

    jax.config.update("jax_enable_x64", True)
    both, given = jax.jit(jax.value_and_grad(f, argnums=by)), [jax.numpy.asarray(a) for a in args]
    return lambda: jax.block_until_ready(both(*given))


def decompositions(n: int, m: int) -> Iterator[Row]:
    """Values and pullbacks of decompositions over LAPACK's calls."""
    rng = np.random.default_rng(0)
    X, W, y = rng.normal(size=(n, n)), rng.normal(size=(n, n)), rng.normal(size=n)
    S, A = X @ X.T / n + np.eye(n), X + 30 * np.eye(n)
    M, V, v = rng.normal(size=(m, m)), rng.normal(size=(m, m)), rng.normal(size=m)
    H = M + M.T
    solve = gradient_of(lambda a, b: np.linalg.solve(a, b) @ y, A, y, by=(0, 1))
    yield Row(f"solve, n = {n}", "gesv", 3.0, solve, lambda: lapack.dgesv(A, y))
    cholesky = gradient_of(lambda a: np.sum(np.linalg.cholesky(a) * W), S)
    yield Row(f"cholesky, n = {n}", "potrf", 4.0, cholesky, lambda: lapack.dpotrf(S))
    slogdet = gradient_of(lambda a: np.linalg.slogdet(a)[1], A)
    yield Row(f"slogdet, n = {n}", "getrf", 3.0, slogdet, lambda: lapack.dgetrf(A))
    eigh = gradient_of(lambda a: np.sum(np.linalg.eigh(a)[1] * V), H)
    yield Row(f"eigh, n = {m}", "syevd", 3.0, eigh, lambda: lapack.dsyevd(H))
    svd = gradient_of(lambda a: np.linalg.svd(a)[1] @ v, M)
    yield Row(f"svd, n = {m}", "gesdd", 3.0, svd, lambda: lapack.dgesdd(M))
    qr = gradient_of(lambda a: np.sum(np.linalg.qr(a)[1] * V), M)
    yield Row(f"qr, n = {m}", "scipy.linalg.qr", 4.0, qr, lambda: scipy.linalg.qr(M, mode="economic"))


def small_systems(n: int) -> Iterator[Row]:
    """Many systems of three unknowns over JAX."""
    rng = np.random.default_rng(1)
    args = rng.normal(size=(n, 3, 3)) + 3 * np.eye(3), rng.normal(size=(n, 3, 1))

    def squares(xp: Any) -> Callable[[Any, Any], Any]:
        return lambda a, b: (xp.linalg.solve(a, b) ** 2).sum()

    other = by_jax(squares(_jax()), *args, by=(0, 1))
    yield Row(f"{n} systems 3 x 3", "JAX", 0.5, gradient_of(squares(np), *args, by=(0, 1)), other)


def gaussian_process(n: int) -> Iterator[Row]:
    """The likelihood with its gradient by three parameters of the kernel, over JAX."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(n, 3))
    apart, y = ((X[:, None] - X[None]) ** 2).sum(axis=2), np.sin(X[:, 0])

    def likelihood(xp: Any) -> Callable[..., Any]:
        def fn(scale: Any, height: Any, noise: Any) -> Any:
            K = height**2 * xp.exp(-0.5 * xp.asarray(apart) / scale**2) + noise**2 * xp.eye(n)
            return 0.5 * xp.asarray(y) @ xp.linalg.solve(K, xp.asarray(y)) + 0.5 * xp.linalg.slogdet(K)[1]

        return fn

    args, by = (1.3, 1.1, 0.3), (0, 1, 2)
    other = by_jax(likelihood(_jax()), *args, by=by)
    yield Row(f"Gaussian process, n = {n}", "JAX", 0.8, gradient_of(likelihood(np), *args, by=by), other)


def kalman_step(xp: Any, x: Any, P: Any, y: Any, A: Any, H: Any, Q: Any, R: Any) -> tuple[Any, Any, Any]:
    """A step of the filter: the state, its covariance, and what the observation adds to minus the log-likelihood."""
    x, P = A @ x, A @ P @ A.T + Q
    S, r = H @ P @ H.T + R, y - H @ x
    K = xp.linalg.solve(S, H @ P).T
    more = 0.5 * r @ xp.linalg.solve(S, r) + 0.5 * xp.linalg.slogdet(S)[1]
    return x + K @ r, P - K @ H @ P, more


def kalman(A: Any, H: Any, Q: Any, R: Any, ys: Any) -> Any:
    """Minus the log-likelihood of observations, by a loop."""
    x, P, total = np.zeros(A.shape[0]), np.eye(A.shape[0]), 0.0
    for t in range(len(ys)):
        x, P, more = kalman_step(np, x, P, ys[t], A, H, Q, R)
        total = total + more
    return total


def kalman_jax(A: Any, H: Any, Q: Any, R: Any, ys: Any) -> Any:
    """The same by `jax.lax.scan`."""
    import jax

    xp = jax.numpy

    def step(state: Any, y: Any) -> Any:
        x, P, more = kalman_step(xp, state[0], state[1], y, A, H, Q, R)
        return (x, P, state[2] + more), None

    return jax.lax.scan(step, (xp.zeros(len(A)), xp.eye(len(A)), 0.0), ys)[0][2]


def filters(steps: int) -> Iterator[Row]:
    """A Kalman filter with six unknowns and three observations a step, over JAX."""
    rng, n, m = np.random.default_rng(3), 6, 3
    A, H = 0.9 * np.linalg.qr(rng.normal(size=(n, n)))[0], rng.normal(size=(m, n))
    args, by = (A, H, 0.1 * np.eye(n), 0.5 * np.eye(m), rng.normal(size=(steps, m))), (0, 1, 2, 3)
    yield Row(f"Kalman filter, {steps} steps", "JAX", 0.3, gradient_of(kalman, *args, by=by), by_jax(kalman_jax, *args, by=by))


def tridiagonal(n: int) -> Iterator[Row]:
    """A tridiagonal system over SciPy's solver."""
    rng = np.random.default_rng(4)
    bands, b = rng.normal(size=(3, n)) + 5 * np.array([0.0, 1.0, 0.0])[:, None], rng.normal(size=n)
    own = gradient_of(lambda a, b: np.sum(scipy.linalg.solve_banded((1, 1), a, b) ** 2), bands, b, by=(0, 1))
    yield Row(f"tridiagonal, n = {n}", "solve_banded", 4.0, own, lambda: scipy.linalg.solve_banded((1, 1), bands, b))


def convolution(n: int) -> Iterator[Row]:
    """A circular convolution by Fourier transforms over NumPy's value."""
    rng = np.random.default_rng(5)
    a, v, w = rng.normal(size=(3, n))

    def circular(a: Any, v: Any) -> Any:
        return np.fft.irfft(np.fft.rfft(a) * np.fft.rfft(v), n)

    both = gradient_of(lambda a, v: circular(a, v) @ w, a, v, by=(0, 1))
    yield Row(f"convolution by rfft, n = {n}", "NumPy", 4.0, both, lambda: circular(a, v))


def _jax() -> Any:
    import jax.numpy

    return jax.numpy


def rows(small: bool, peers: bool) -> Iterator[Row]:
    """The rows; those over JAX if `peers`."""
    yield from decompositions(*((20, 12) if small else (500, 300)))
    yield from tridiagonal(200 if small else 10**6)
    yield from convolution(200 if small else 10**6)
    if peers and importlib.util.find_spec("jax") is not None:
        yield from small_systems(100 if small else 10**5)
        yield from gaussian_process(20 if small else 1000)
        yield from filters(20 if small else 500)


def main() -> None:
    flag = {"action": "store_true"}
    found = measuring.options(__doc__, small=flag, no_peers=flag, only={"nargs": "+", "default": [""]})
    measuring.one_core()
    ct.set_default_num_threads(1)
    bounds = list[measuring.Bound]()
    for row in rows(found.small, not found.no_peers):
        if any(word in row.work for word in found.only):
            taken = measuring.side_by_side({"own": row.own, "other": row.other}, found.rounds, clock=time.process_time)
            bounds.append(measuring.Bound(row.work, row.against, taken["own"] / taken["other"], row.bound))
            print(f"{row.work}: {1e3 * taken['own']:.2f} ms, {row.against} {1e3 * taken['other']:.2f} ms", flush=True)
    at = list(range(1, len(bounds) + 1))
    series = {"measured": (at, [one.measured for one in bounds]), "at most": (at, [one.bound for one in bounds])}
    measuring.chart(found.out, "linear_algebra", [measuring.Panel("value and pullback", "row", "ratio", series)])
    measuring.report(found, [], bounds)


if __name__ == "__main__":
    main()

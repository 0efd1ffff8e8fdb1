"""Programs with loops as a user writes them, and the same for JAX: what `loops.py` measures.

Each is plain NumPy. The versions for JAX are written as its users write them, with `lax.scan` and `lax.while_loop`; they are made
where JAX is installed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

UNITS = 14  # numbers of the state of a recurrent layer, and of its inputs


class Program(NamedTuple):
    """A program, its arguments, and the version for JAX. `kind` is "gradient", "jacobian" or "value"."""

    name: str
    numpy: Callable[..., Any]
    jax: str  # the name of a function of `with_jax`
    arguments: tuple[Any, ...]
    kind: str = "gradient"


def cell(z, c, n):
    i, f, o, g = z[:n], z[n : 2 * n], z[2 * n : 3 * n], z[3 * n :]
    c = c / (1 + np.exp(-f)) + np.tanh(g) / (1 + np.exp(-i))
    return np.tanh(c) / (1 + np.exp(-o)), c


def lstm(W1, U1, b1, W2, U2, b2, xs):
    """Two layers; the sum of all squares that the second one gives."""
    h1, c1, h2, c2 = np.zeros(UNITS), np.zeros(UNITS), np.zeros(UNITS), np.zeros(UNITS)
    total = 0.0
    for x in xs:
        h1, c1 = cell(x @ W1 + h1 @ U1 + b1, c1, UNITS)
        h2, c2 = cell(h1 @ W2 + h2 @ U2 + b2, c2, UNITS)
        total = total + np.sum(h2 * h2)
    return total


def kalman(A, Q, R, ys):
    """The log-likelihood of observations of the first of three hidden numbers."""
    x, P, likelihood = np.zeros(3), np.eye(3), 0.0
    for y in ys:
        x = A @ x
        P = A @ P @ A.T + Q
        s = P[0, 0] + R
        k = P[:, 0] / s
        v = y - x[0]
        x = x + k * v
        P = P - np.outer(k, P[0])
        likelihood = likelihood - 0.5 * (np.log(s) + v * v / s)
    return likelihood


def field(y):
    return np.sin(y) * 0.3 - 0.1 * y


def rk4(y):
    """100 steps of Runge and Kutta's method."""
    for _ in range(100):
        a = field(y)
        b = field(y + 0.005 * a)
        c = field(y + 0.005 * b)
        d = field(y + 0.01 * c)
        y = y + 0.01 / 6 * (a + 2 * b + 2 * c + d)
    return np.sum(y * y)


def force(x, m):
    d = x[None, :, :] - x[:, None, :]
    r2 = np.sum(d * d, axis=2) + 0.01
    return np.sum(d * (m[None, :] / (r2 * np.sqrt(r2)))[:, :, None], axis=1)


def bodies(x, v, m):
    """100 steps of bodies that attract each other."""
    for _ in range(100):
        v = v + 0.001 * force(x, m)
        x = x + 0.001 * v
    return np.sum(x * x)


def sir(p, s0, data):
    """The difference of an epidemic to data, in 400 steps."""
    beta, gamma = p[0], p[1]
    s, i = s0[0], s0[1]
    out = np.zeros(400)
    for t in range(400):
        new = 0.1 * beta * s * i
        recovered = 0.1 * gamma * i
        s = s - new
        i = i + new - recovered
        out[t] = i - data[t]
    return out


def newton(a, x):
    """The square root of a, by a loop that ends where the square is near."""
    while np.abs(x * x - a) > 1e-12 * a:
        x = 0.5 * (x + a / x)
    return x


def sweeps(A):
    """Gauss and Seidel's sweeps over a matrix, each element in place."""
    n = A.shape[0]
    for _ in range(2):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                A[i, j] = 0.2 * (A[i, j] + A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1])
    return A


SWEEPS = """
void sweeps(double *a, long n) {
    for (int t = 0; t < 2; t++)
        for (long i = 1; i < n - 1; i++)
            for (long j = 1; j < n - 1; j++) {
                double *p = a + i * n + j;
                *p = 0.2 * (p[0] + p[-n] + p[n] + p[-1] + p[1]);
            }
}
"""


def with_jax() -> dict[str, Any]:
    """The versions for JAX; raises ImportError where it is not installed."""
    import jax
    import jax.numpy as jnp

    def jcell(z, c, n):
        i, f, o, g = z[:n], z[n : 2 * n], z[2 * n : 3 * n], z[3 * n :]
        c = c / (1 + jnp.exp(-f)) + jnp.tanh(g) / (1 + jnp.exp(-i))
        return jnp.tanh(c) / (1 + jnp.exp(-o)), c

    def lstm(W1, U1, b1, W2, U2, b2, xs):
        def step(state, x):
            h1, c1, h2, c2, total = state
            h1, c1 = jcell(x @ W1 + h1 @ U1 + b1, c1, UNITS)
            h2, c2 = jcell(h1 @ W2 + h2 @ U2 + b2, c2, UNITS)
            return (h1, c1, h2, c2, total + jnp.sum(h2 * h2)), None

        z = jnp.zeros(UNITS)
        return jax.lax.scan(step, (z, z, z, z, 0.0), xs)[0][4]

    def kalman(A, Q, R, ys):
        def step(state, y):
            x, P, likelihood = state
            x = A @ x
            P = A @ P @ A.T + Q
            s = P[0, 0] + R
            k = P[:, 0] / s
            v = y - x[0]
            return (x + k * v, P - jnp.outer(k, P[0]), likelihood - 0.5 * (jnp.log(s) + v * v / s)), None

        return jax.lax.scan(step, (jnp.zeros(3), jnp.eye(3), 0.0), ys)[0][2]

    def jfield(y):
        return jnp.sin(y) * 0.3 - 0.1 * y

    def rk4(y):
        def step(y, _):
            a = jfield(y)
            b = jfield(y + 0.005 * a)
            c = jfield(y + 0.005 * b)
            d = jfield(y + 0.01 * c)
            return y + 0.01 / 6 * (a + 2 * b + 2 * c + d), None

        y = jax.lax.scan(step, y, None, length=100)[0]
        return jnp.sum(y * y)

    def jforce(x, m):
        d = x[None, :, :] - x[:, None, :]
        r2 = jnp.sum(d * d, axis=2) + 0.01
        return jnp.sum(d * (m[None, :] / (r2 * jnp.sqrt(r2)))[:, :, None], axis=1)

    def bodies(x, v, m):
        def step(state, _):
            x, v = state
            v = v + 0.001 * jforce(x, m)
            return (x + 0.001 * v, v), None

        x, _ = jax.lax.scan(step, (x, v), None, length=100)[0]
        return jnp.sum(x * x)

    def sir(p, s0, data):
        def step(state, d):
            s, i = state
            new, recovered = 0.1 * p[0] * s * i, 0.1 * p[1] * i
            s, i = s - new, i + new - recovered
            return (s, i), i - d

        return jax.lax.scan(step, (s0[0], s0[1]), data)[1]

    def newton(a, x):
        return jax.lax.while_loop(lambda x: jnp.abs(x * x - a) > 1e-12 * a, lambda x: 0.5 * (x + a / x), x)

    return {"lstm": lstm, "kalman": kalman, "rk4": rk4, "bodies": bodies, "sir": sir, "newton": newton}


def programs(small: bool) -> list[Program]:
    """The programs with their arguments, of the sizes of the table or of small ones."""
    rng = np.random.default_rng(0)

    def layer() -> list[Any]:
        return [
            rng.standard_normal((UNITS, 4 * UNITS)) / 9,
            rng.standard_normal((UNITS, 4 * UNITS)) / 9,
            np.zeros(4 * UNITS),
        ]

    def layers(steps: int) -> tuple[Any, ...]:
        return (*layer(), *layer(), rng.standard_normal((steps, UNITS)))

    long, many, states, number = (40, 20, 20, 3) if small else (1024, 1000, 200, 8)
    masses = rng.random(number) + 0.5
    model = (np.eye(3) * 0.9 + 0.05, np.eye(3) * 0.1, 0.3, rng.standard_normal(states))
    parameters = (np.array([0.5, 0.2]), np.array([0.9, 0.1]), rng.standard_normal(400))
    return [
        Program("LSTM, 32 steps", lstm, "lstm", layers(32)),
        Program(f"LSTM, {long} steps", lstm, "lstm", layers(long)),
        Program(f"Kalman, T = {states}, d = 3", kalman, "kalman", model),
        Program("RK4, 10 numbers", rk4, "rk4", (rng.standard_normal(10),)),
        Program(f"RK4, {many} numbers", rk4, "rk4", (rng.standard_normal(many),)),
        Program(f"N-body, {number} bodies", bodies, "bodies", (*rng.standard_normal((2, number, 3)), masses)),
        Program("SIR, residual and Jacobian", sir, "sir", parameters, "jacobian"),
        Program("while loop, value", newton, "newton", (2.0e6, 1.0), "value"),
    ]

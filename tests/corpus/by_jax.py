"""The programs of the corpus as they are written for JAX: with whole arrays, with `scan` for loops, and without writes in place.

Needs JAX. They share no code with the programs that they stand beside, except for those that are functions of whole arrays: these
are read again with `jax.numpy` in place of NumPy.
"""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import gammaln, logsumexp

from tests.corpus import models, simulations
from tests.corpus.points import PROGRAMS

jax.config.update("jax_enable_x64", True)


def _read_again(module: ModuleType) -> Any:
    made = ModuleType(module.__name__)
    exec(inspect.getsource(module).replace("import numpy as np", "import jax.numpy as np"), made.__dict__)
    return made


again, shared = _read_again(models), _read_again(simulations)


def gmm(alphas: Any, means: Any, icf: Any, x: Any, wishart: Any) -> Any:
    (n, d), k, (gamma, m) = x.shape, len(alphas), wishart
    logs, low = icf[:, :d], icf[:, d:]
    columns, rows = np.triu_indices(d, 1)  # the lower triangle, column by column
    factor = jnp.zeros((k, d, d)).at[:, rows, columns].set(low) + jax.vmap(jnp.diag)(jnp.exp(logs))
    turned = jnp.einsum("kij,nkj->nki", factor, x[:, None] - means)
    inside = logsumexp(alphas + logs.sum(1) - 0.5 * (turned**2).sum(2), axis=1).sum()
    p = d + m + 1
    gammas = 0.25 * d * (d - 1) * np.log(np.pi) + sum(gammaln(0.5 * (p + 1 - j)) for j in range(1, d + 1))
    prior = 0.5 * gamma**2 * (jnp.exp(2 * logs).sum() + (low**2).sum()) - m * logs.sum()
    prior -= k * (p * d * (jnp.log(gamma) - 0.5 * np.log(2)) - gammas)
    return -n * d * 0.5 * np.log(2 * np.pi) + inside - n * logsumexp(alphas) + prior


def lstm(main: Any, extra: Any, state: Any, sequence: Any) -> Any:
    def layer(x: Any, given: Any) -> Any:
        (weight, bias), (hidden, cell) = given
        forget, change = jax.nn.sigmoid(x * weight[0] + bias[0]), jnp.tanh(hidden * weight[3] + bias[3])
        cell = cell * forget + jax.nn.sigmoid(hidden * weight[1] + bias[1]) * change
        x = jax.nn.sigmoid(x * weight[2] + bias[2]) * jnp.tanh(cell)
        return x, jnp.stack([x, cell])

    def step(state: Any, given: Any) -> Any:
        x, after = lax.scan(layer, given[0] * extra[0], (main.reshape(-1, 2, *main.shape[1:]), state))
        guess = x * extra[1] + extra[2]
        return after, jnp.sum(given[1] * (guess - jnp.log(2 + jnp.sum(jnp.exp(guess)))))

    _, gains = lax.scan(step, state.reshape(-1, 2, state.shape[1]), (sequence[:-1], sequence[1:]))
    return -gains.sum() / sequence[1:].size


def hmm(log_start: Any, log_step: Any, log_emit: Any, seen: Any) -> Any:
    def step(alpha: Any, here: Any) -> Any:
        return logsumexp(alpha[:, None] + log_step, axis=0) + log_emit[:, here], None

    return logsumexp(lax.scan(step, log_start + log_emit[:, seen[0]], seen[1:])[0])


def kalman(x: Any, p: Any, observations: Any, f: Any, q: Any, h: Any, r: Any) -> Any:
    """The usual filter, which inverts the covariance of a whole observation."""

    def step(state: Any, z: Any) -> Any:
        x, p = state
        x, p = f @ x, f @ p @ f.T + q
        p = (p + p.T) / 2
        s, error = h @ p @ h.T + jnp.diag(r), z - h @ x
        gain = jnp.linalg.solve(s, h @ p.T).T
        gained = 0.5 * (jnp.linalg.slogdet(2 * np.pi * s)[1] + error @ jnp.linalg.solve(s, error))
        return (x + gain @ error, p - gain @ h @ p), gained

    state, gained = lax.scan(step, (x, p), observations)
    return {"loglik": -gained.sum(), "state": state}


def rk4(y0: Any, g: Any, friction: Any, dt: float = 0.05, steps: int = 40) -> Any:
    def slope(y: Any) -> Any:
        return jnp.stack([y[1], -g * jnp.sin(y[0]) - friction * y[1]])

    def step(y: Any, _: Any) -> Any:
        a = slope(y)
        b = slope(y + dt / 2 * a)
        c = slope(y + dt / 2 * b)
        d = slope(y + dt * c)
        y = y + dt / 6 * (a + 2 * b + 2 * c + d)
        return y, y[1] ** 2 / 2 - g * jnp.cos(y[0])

    y, energies = lax.scan(step, y0, None, steps)
    return y, energies.mean()


def sinkhorn(cost: Any, a: Any, b: Any, eps: Any) -> Any:
    """With as many sweeps as NumPy needs."""
    sweeps = simulations.sinkhorn(*PROGRAMS["sinkhorn"].args)[1]
    k = jnp.exp(-cost / eps)

    def step(v: Any, _: Any) -> Any:
        return b / (k.T @ (a / (k @ v))), None

    before, _ = lax.scan(step, jnp.ones(len(b)), None, sweeps - 1)
    u = a / (k @ before)
    return (u[:, None] * k * (b / (k.T @ u)) * cost).sum(), sweeps


def n_body(position: Any, velocity: Any, mass: Any, dt: float = 0.05, steps: int = 18, soft: float = 0.1) -> Any:
    def pull(position: Any) -> Any:
        d = position - position[:, None]
        return jnp.einsum("j,ijk->ik", mass, d / ((d**2).sum(2)[..., None] + soft**2) ** 1.5)

    def step(state: Any, _: Any) -> Any:
        position = state[0] + dt * state[1]
        return (position, state[1] + dt * pull(position)), None

    (position, velocity), _ = lax.scan(step, (position, velocity + dt / 2 * pull(position)), None, steps)
    return position, velocity, 0.5 * jnp.sum(mass * (velocity**2).sum(1))


def tridiagonal(lower: Any, diag: Any, upper: Any, rhs: Any) -> Any:
    return jnp.linalg.solve(jnp.diag(lower, -1) + jnp.diag(diag) + jnp.diag(upper, 1), rhs)


def mandelbrot(cr: Any, ci: Any) -> Any:
    """With as many steps as NumPy needs."""
    last = simulations.mandelbrot(*PROGRAMS["mandelbrot"].args)[1]

    def step(z: Any, _: Any) -> Any:
        return (z[0] * z[0] - z[1] * z[1] + cr, 2 * z[0] * z[1] + ci), None

    (zr, zi), _ = lax.scan(step, (0.0 * cr, 0.0 * ci), None, last + 1)
    return last + 1 - jnp.log(jnp.log(zr * zr + zi * zi)) / np.log(2), last


def lbfgs(x: Any, steps: int = 6, memory: int = 3) -> Any:
    """With a history of fixed length, in which what is not yet there is 0; a step that halves has no derivative."""
    slope = jax.grad(shared.rosenbrock)

    def step(state: Any, _: Any) -> Any:
        x, history = state
        g = slope(x)
        s, y = history[-1]
        scale = jnp.where(y @ y > 0, (s @ y) / _or_one(y @ y), 1e-3)
        q = _times_inverse(g, [history[k] for k in range(memory)], scale)
        new = x - lax.stop_gradient(_halved(*map(lax.stop_gradient, (x, q, g)))) * q
        pair = jnp.stack([new - x, slope(new) - g])
        return (new, jnp.concatenate([history[1:], pair[None]])), None

    (x, _), _ = lax.scan(step, (x, jnp.zeros((memory, 2, len(x)))), None, steps)
    return x, shared.rosenbrock(x)


def _or_one(x: Any) -> Any:
    return jnp.where(x == 0, 1.0, x)


def _times_inverse(q: Any, pairs: list[Any], scale: Any) -> Any:
    if not pairs:
        return scale * q
    s, y = pairs[-1]
    over = _or_one(y @ s)
    inner = _times_inverse(q - y * (s @ q) / over, pairs[:-1], scale)
    return inner + s * ((s @ q) - (y @ inner)) / over


def _halved(x: Any, q: Any, g: Any) -> Any:
    def too_far(step: Any) -> Any:
        allowed = shared.rosenbrock(x) - 1e-4 * step * (g @ q)
        return (shared.rosenbrock(x - step * q) > allowed) & (step > 1e-8)

    return lax.while_loop(too_far, lambda step: step / 2, 1.0)


def finite_volume(u: Any, dt_dx: Any, gamma: float = 1.4, steps: int = 4) -> Any:
    def step(inner: Any, _: Any) -> Any:
        density, momentum, energy = jnp.pad(inner, ((0, 0), (1, 1)), mode="edge")
        speed = momentum / density
        pressure = (gamma - 1) * (energy - 0.5 * momentum**2 / density)
        fastest = jnp.abs(speed) + jnp.sqrt(gamma * pressure / density)
        u = jnp.stack([density, momentum, energy])
        f = jnp.stack([momentum, momentum * speed + pressure, (energy + pressure) * speed])
        between = (f[:, 1:] + f[:, :-1] - jnp.maximum(fastest[1:], fastest[:-1]) * jnp.diff(u)) / 2
        return inner - dt_dx * jnp.diff(between), None

    return lax.scan(step, u[:, 1:-1], None, steps)[0]


def k_means_step(points: Any, centers: Any) -> Any:
    nearest = jnp.argmin(jnp.linalg.norm(points[:, None] - centers, axis=2), axis=1)
    ours = jax.nn.one_hot(nearest, len(centers), dtype=float)
    count = ours.sum(0)[:, None]
    return jnp.where(count > 0, ours.T @ points / jnp.maximum(count, 1), centers), nearest


def bundle_adjustment(camera: Any, point: Any, weight: Any, feature: Any) -> Any:
    """Rotation by a matrix, the exponential of that of the cross product."""
    r, moved = camera[:3], point - camera[3:6]
    theta, k = jnp.sqrt(r @ r), jnp.cross(r, jnp.eye(3)).T
    x, y, z = moved + jnp.sin(theta) / theta * k @ moved + (1 - jnp.cos(theta)) / theta**2 * k @ k @ moved
    flat = jnp.stack([x / z, y / z])
    r2 = flat @ flat
    scaled = flat * (1 + camera[9] * r2 + camera[10] * r2**2)
    return weight * (scaled * camera[6] + camera[7:9] - feature), 1 - weight**2


THEIRS = {
    "gmm": gmm,
    "gmm in place": gmm,
    "lse": again.lse,
    "llsq": again.llsq,
    "lstm": lstm,
    "hmm": hmm,
    "kalman": kalman,
    "transformer": again.transformer_block,
    "mlp": again.mlp,
    "rk4": rk4,
    "sinkhorn": sinkhorn,
    "n-body": n_body,
    "tridiagonal": tridiagonal,
    "mandelbrot": mandelbrot,
    "lbfgs": lbfgs,
    "finite volume": finite_volume,
    "k-means": k_means_step,
    "bundle adjustment": bundle_adjustment,
}

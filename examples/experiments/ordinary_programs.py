"""Ordinary NumPy programs of many kinds, each in several sizes: what `engines.py` races.

Each program is a plain function. Its first parameter is the module, `numpy` or `jax.numpy`, and its second holds what is
differentiated: an array, a tuple or a dict. Data follow. A function with `_jax` in its name is the same as a user of JAX writes
it, with `lax.scan` for a long loop or `.at` for a write.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

Program = Callable[..., Any]


# -- networks


def softmax(np: Any, z: Any) -> Any:
    e = np.exp(z - np.max(z, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def log_softmax(np: Any, z: Any) -> Any:
    z = z - np.max(z, axis=-1, keepdims=True)
    return z - np.log(np.sum(np.exp(z), axis=-1, keepdims=True))


def normed(np: Any, x: Any, scale: Any, shift: Any) -> Any:
    mean, var = np.mean(x, axis=-1, keepdims=True), np.var(x, axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(var + 1e-5) * scale + shift


def mlp(np: Any, p: Any, x: Any, y: Any) -> Any:
    for w, b in p[:-1]:
        x = np.tanh(x @ w + b)
    w, b = p[-1]
    return np.mean((x @ w + b - y) ** 2)


def classifier(np: Any, p: Any, x: Any, labels: Any) -> Any:
    h = np.maximum(x @ p["w1"] + p["b1"], 0.0)
    h = np.maximum(h @ p["w2"] + p["b2"], 0.0)
    chosen = log_softmax(np, h @ p["w3"] + p["b3"])[np.arange(len(labels)), labels]
    return 1e-4 * sum([np.sum(w * w) for w in p.values()]) - np.mean(chosen)


def attention(np: Any, x: Any, into: Any, out: Any, heads: int, causal: bool) -> Any:
    b, t, d = x.shape
    q, k, v = np.moveaxis((x @ into).reshape(b, t, 3, heads, d // heads), (2, 3), (0, 2))
    scores = q @ np.swapaxes(k, 2, 3) / math.sqrt(d // heads)
    if causal:
        scores = np.where(np.tri(t) > 0, scores, -1e9)
    return np.swapaxes(softmax(np, scores) @ v, 1, 2).reshape(b, t, d) @ out


def block(np: Any, p: Any, x: Any, heads: int, causal: bool = False) -> Any:
    x = x + attention(np, normed(np, x, *p["norm1"]), p["into"], p["out"], heads, causal)
    h = normed(np, x, *p["norm2"]) @ p["up"]
    return x + 0.5 * h * (1 + np.tanh(0.79788456 * (h + 0.044715 * h**3))) @ p["down"]


def transformer_block(np: Any, p: Any, x: Any, y: Any, heads: int = 4) -> Any:
    return np.mean((block(np, p, x, heads) - y) ** 2)


def language_model(np: Any, p: Any, tokens: Any, heads: int = 4) -> Any:
    now, following = tokens[:, :-1], tokens[:, 1:]
    x = p["words"][now] + p["places"]
    for layer in p["layers"]:
        x = block(np, layer, x, heads, causal=True)
    logs = log_softmax(np, normed(np, x, *p["norm"]) @ p["words"].T)
    return -np.mean(np.take_along_axis(logs, following[:, :, None], axis=2))


def sigmoid(np: Any, x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def rnn_cell(np: Any, p: Any, state: Any, x: Any) -> Any:
    (h,) = state
    return (np.tanh(x @ p["w"] + h @ p["u"] + p["b"]),)


def lstm_cell(np: Any, p: Any, state: Any, x: Any) -> Any:
    h, c = state
    i, f, o, g = np.split(x @ p["w"] + h @ p["u"] + p["b"], 4, axis=1)
    c = sigmoid(np, f) * c + sigmoid(np, i) * np.tanh(g)
    return sigmoid(np, o) * np.tanh(c), c


def gru_cell(np: Any, p: Any, state: Any, x: Any) -> Any:
    (h,) = state
    n = h.shape[1]
    a, b = x @ p["w"] + p["b"], h @ p["u"]
    r, z = sigmoid(np, a[:, :n] + b[:, :n]), sigmoid(np, a[:, n : 2 * n] + b[:, n : 2 * n])
    return ((1 - z) * np.tanh(a[:, 2 * n :] + r * b[:, 2 * n :]) + z * h,)


def recurrent(np: Any, p: Any, xs: Any, y: Any, cell: Program = rnn_cell, parts: int = 1) -> Any:
    state = tuple([np.zeros((xs.shape[1], len(p["u"]))) for _ in range(parts)])
    for x in xs:
        state = cell(np, p, state, x)
    return np.mean((state[0] @ p["last"] - y) ** 2)


def recurrent_jax(np: Any, p: Any, xs: Any, y: Any, cell: Program = rnn_cell, parts: int = 1) -> Any:
    import jax

    state = tuple([np.zeros((xs.shape[1], len(p["u"]))) for _ in range(parts)])
    state, _ = jax.lax.scan(lambda state, x: (cell(np, p, state, x), None), state, xs)
    return np.mean((state[0] @ p["last"] - y) ** 2)


def softmax_rows(np: Any, p: Any, y: Any) -> Any:
    return np.sum(softmax(np, p) * y)


def layer_norm(np: Any, p: Any, y: Any) -> Any:
    return np.mean(normed(np, *p) * y)


# -- statistics


def log_sum_exp(np: Any, x: Any, axis: int) -> Any:
    top = np.max(x, axis=axis)
    return top + np.log(np.sum(np.exp(x - np.expand_dims(top, axis)), axis=axis))


def gmm(np: Any, p: Any, x: Any) -> Any:
    weights, means, logs, lower = p
    centred = x[:, None, :] - means
    scaled = np.exp(logs) * centred + np.einsum("kij,nkj->nki", np.tril(lower, -1), centred)
    terms = weights + np.sum(logs, axis=1) - 0.5 * np.sum(scaled**2, axis=2)
    prior = 0.5 * (np.sum(np.exp(2 * logs)) + np.sum(np.tril(lower, -1) ** 2)) - np.sum(logs)
    return prior + len(x) * log_sum_exp(np, weights, 0) - np.sum(log_sum_exp(np, terms, 1))


def k_means(np: Any, p: Any, x: Any) -> Any:
    return np.sum(np.min(np.sum((x[:, None, :] - p) ** 2, axis=2), axis=1))


def huber(np: Any, p: Any, x: Any, y: Any) -> Any:
    r = x @ p["w"] + p["b"] - y
    return np.mean(np.where(np.abs(r) <= 1.0, 0.5 * r * r, np.abs(r) - 0.5))


def cauchy(np: Any, p: Any, x: Any, y: Any) -> Any:
    r = (x @ p["w"] + p["b"] - y) * np.exp(-p["log_scale"])
    return np.sum(np.log1p(r * r)) + len(x) * p["log_scale"]


def logistic(np: Any, p: Any, x: Any, y: Any) -> Any:
    w, b = p
    return np.mean(np.logaddexp(0.0, -y * (x @ w + b))) + 0.01 * np.sum(w * w)


def softmax_regression(np: Any, p: Any, x: Any, y: Any) -> Any:
    return -np.mean(np.sum(y * log_softmax(np, x @ p["w"] + p["b"]), axis=1)) + 0.01 * np.sum(p["w"] ** 2)


def factors(np: Any, p: Any, ratings: Any, known: Any) -> Any:
    u, v = p
    return np.sum((known * (u @ v.T - ratings)) ** 2) + 0.1 * (np.sum(u * u) + np.sum(v * v))


def sorted_loss(np: Any, p: Any, quantiles: Any) -> Any:
    off = np.sort(p) - quantiles
    return np.mean(np.maximum(0.9 * off, -0.1 * off))


def histogram(np: Any, p: Any, wanted: Any) -> Any:
    """Each number is divided among the two bins beside it."""
    at = np.clip((p + 5.0) * 0.1 * (len(wanted) - 1), 0.0, len(wanted) - 1.001)
    left, n = np.floor(at).astype(int), len(wanted)
    bins = np.bincount(left, 1.0 + left - at, n) + np.bincount(left + 1, at - left, n)
    return np.sum((bins / len(p) - wanted) ** 2)


def histogram_jax(np: Any, p: Any, wanted: Any) -> Any:
    at = np.clip((p + 5.0) * 0.1 * (len(wanted) - 1), 0.0, len(wanted) - 1.001)
    left = np.floor(at).astype(int)
    bins = np.zeros(len(wanted)).at[left].add(1.0 + left - at).at[left + 1].add(at - left)
    return np.sum((bins / len(p) - wanted) ** 2)


def ridge(np: Any, p: Any, x: Any, y: Any, x2: Any, y2: Any) -> Any:
    """The loss on other data, by the penalty of each weight; the weights by conjugate gradients."""
    penalty = np.exp(p)
    r = x.T @ y
    w, d = np.zeros_like(r), r
    for _ in range(10):
        product = x.T @ (x @ d) + penalty * d
        step = (r @ r) / (d @ product)
        w, new = w + step * d, r - step * product
        d, r = new + (new @ new) / (r @ r) * d, new
    return np.mean((x2 @ w - y2) ** 2)


def cosine(np: Any, p: Any, wanted: Any) -> Any:
    u, v = [a / np.sqrt(np.sum(a * a, axis=1, keepdims=True)) for a in p]
    return np.mean((u @ v.T - wanted) ** 2)


def kalman_step(np: Any, p: Any, state: Any, y: Any) -> Any:
    x, cov, likelihood = state
    x, cov = p["A"] @ x, p["A"] @ cov @ p["A"].T + np.diag(np.exp(p["q"]))
    s, v = cov[0, 0] + np.exp(p["r"]), y - x[0]
    k = cov[:, 0] / s
    return x + k * v, cov - np.outer(k, cov[0]), likelihood - 0.5 * (np.log(s) + v * v / s)


def kalman(np: Any, p: Any, ys: Any) -> Any:
    state = np.zeros(4), np.eye(4), 0.0
    for y in ys:
        state = kalman_step(np, p, state, y)
    return state[2]


def kalman_jax(np: Any, p: Any, ys: Any) -> Any:
    import jax

    start = np.zeros(4), np.eye(4), 0.0
    return jax.lax.scan(lambda state, y: (kalman_step(np, p, state, y), None), start, ys)[0][2]


def hmm(np: Any, p: Any, seen: Any) -> Any:
    moves, emits = log_softmax(np, p["moves"]), log_softmax(np, p["emits"])
    a = log_softmax(np, p["start"]) + emits[:, seen[0]]
    for s in seen[1:]:
        a = log_sum_exp(np, a[:, None] + moves, 0) + emits[:, s]
    return -log_sum_exp(np, a, 0)


def hmm_jax(np: Any, p: Any, seen: Any) -> Any:
    import jax

    moves, emits = log_softmax(np, p["moves"]), log_softmax(np, p["emits"])
    a = log_softmax(np, p["start"]) + emits[:, seen[0]]
    a, _ = jax.lax.scan(lambda a, s: (log_sum_exp(np, a[:, None] + moves, 0) + emits[:, s], None), a, seen[1:])
    return -log_sum_exp(np, a, 0)


# -- prices


def black_scholes(np: Any, p: Any, strike: Any, years: Any) -> Any:
    erf = importlib.import_module("scipy.special" if np.__name__ == "numpy" else "jax.scipy.special").erf
    spot, vol, rate = p
    spread = vol * np.sqrt(years)
    d = (np.log(spot / strike) + (rate + 0.5 * vol**2) * years) / spread
    n1, n2 = 0.5 * (1 + erf(d / math.sqrt(2))), 0.5 * (1 + erf((d - spread) / math.sqrt(2)))
    return np.sum(spot * n1 - strike * np.exp(-rate * years) * n2)


def binomial(np: Any, p: Any, strike: Any, steps: int = 64) -> Any:
    """An American put by a tree: each step back has one value less."""
    spot, vol, rate = p
    up = np.exp(vol / math.sqrt(steps))
    q, discount = (np.exp(rate / steps) - 1 / up) / (up - 1 / up), np.exp(-rate / steps)
    value = np.maximum(strike - spot * up ** (2.0 * np.arange(steps + 1) - steps), 0.0)
    for i in range(steps - 1, -1, -1):
        value = discount * (q * value[1:] + (1 - q) * value[:-1])
        value = np.maximum(value, strike - spot * up ** (2.0 * np.arange(i + 1) - i))
    return value[0]


def binomial_jax(np: Any, p: Any, strike: Any, steps: int = 64) -> Any:
    """Arrays keep their length in a scan: what stands behind the values of a step is not read."""
    import jax

    spot, vol, rate = p
    up = np.exp(vol / math.sqrt(steps))
    q, discount = (np.exp(rate / steps) - 1 / up) / (up - 1 / up), np.exp(-rate / steps)
    j = np.arange(steps + 1)

    def step(value: Any, i: Any) -> Any:
        value = discount * (q * np.roll(value, -1) + (1 - q) * value)
        return np.maximum(value, strike - spot * up ** (2.0 * j - i)), None

    value = np.maximum(strike - spot * up ** (2.0 * j - steps), 0.0)
    return jax.lax.scan(step, value, np.arange(steps - 1.0, -1.0, -1.0))[0][0]


def asian(np: Any, p: Any, z: Any) -> Any:
    spot, vol, rate = p
    dt = 1 / z.shape[1]
    paths = spot * np.exp(np.cumsum((rate - 0.5 * vol**2) * dt + vol * math.sqrt(dt) * z, axis=1))
    return np.exp(-rate) * np.mean(np.maximum(np.mean(paths, axis=1) - 100.0, 0.0))


def drawdown(np: Any, p: Any, returns: Any) -> Any:
    wealth = np.cumsum(np.log1p(returns @ p))
    return np.max(np.maximum.accumulate(wealth) - wealth)


def drawdown_jax(np: Any, p: Any, returns: Any) -> Any:
    import jax

    wealth = np.cumsum(np.log1p(returns @ p))
    return np.max(jax.lax.cummax(wealth) - wealth)


# -- physics and geometry


def heat(np: Any, p: Any, wanted: Any) -> Any:
    u, rate = p
    for _ in range(10):
        u = u + rate * (np.roll(u, 1) - 2 * u + np.roll(u, -1))
    return np.sum((u - wanted) ** 2)


def heat_2d(np: Any, p: Any, wanted: Any) -> Any:
    u = p
    for _ in range(10):
        e = np.pad(u, 1, mode="edge")
        u = u + 0.2 * (e[2:, 1:-1] + e[:-2, 1:-1] + e[1:-1, 2:] + e[1:-1, :-2] - 4 * u)
    return np.mean((u - wanted) ** 2)


def wave(np: Any, p: Any, wanted: Any, steps: int = 50) -> Any:
    """The ends are fixed, and each point has a speed of its own."""
    before, speed = p
    now = before
    for _ in range(steps):
        new = 2 * now - before
        new[1:-1] += speed[1:-1] * (now[2:] - 2 * now[1:-1] + now[:-2])
        before, now = now, new
    return np.sum((now - wanted) ** 2)


def wave_jax(np: Any, p: Any, wanted: Any, steps: int = 50) -> Any:
    import jax

    def step(state: Any, _: Any) -> Any:
        before, now = state
        new = (2 * now - before).at[1:-1].add(p[1][1:-1] * (now[2:] - 2 * now[1:-1] + now[:-2]))
        return (now, new), None

    return np.sum((jax.lax.scan(step, (p[0], p[0]), None, length=steps)[0][1] - wanted) ** 2)


def rotation(np: Any, a: Any) -> Any:
    (cx, cy, cz), (sx, sy, sz) = np.cos(a), np.sin(a)
    about_x = np.array([[1.0, 0.0, 0.0], [0.0, cx, -sx], [0.0, sx, cx]])
    about_y = np.array([[cy, 0.0, sy], [0.0, 1.0, 0.0], [-sy, 0.0, cy]])
    return np.array([[cz, -sz, 0.0], [sz, cz, 0.0], [0.0, 0.0, 1.0]]) @ about_y @ about_x


def hand(np: Any, p: Any, bones: Any, points: Any, shares: Any, wanted: Any) -> Any:
    """Five fingers of three joints each; each point follows the joints by its shares of them."""
    angles, place = p
    total = place
    for finger in range(5):
        turned, at = rotation(np, angles[0]), np.zeros(3)
        for joint in range(3):
            k = 3 * finger + joint
            at = at + turned @ bones[k]
            turned = turned @ rotation(np, angles[k + 1])
            total = total + shares[k][:, None] * (points @ turned.T + at)
    return np.sum((total - wanted) ** 2)


def prey_step(np: Any, p: Any, y: Any) -> Any:
    def change(y: Any) -> Any:
        return np.stack([y[0] * (p[0] - p[1] * y[1]), y[1] * (p[2] * y[0] - p[3])])

    a = change(y)
    b = change(y + 0.025 * a)
    c = change(y + 0.025 * b)
    return y + 0.05 / 6 * (a + 2 * b + 2 * c + change(y + 0.05 * c))


def prey(np: Any, p: Any, start: Any, wanted: Any) -> Any:
    """Lotka and Volterra's equations, by 200 steps of Runge and Kutta's method."""
    y = start
    for _ in range(200):
        y = prey_step(np, p, y)
    return np.sum((y - wanted) ** 2)


def prey_jax(np: Any, p: Any, start: Any, wanted: Any) -> Any:
    import jax

    y, _ = jax.lax.scan(lambda y, _: (prey_step(np, p, y), None), start, None, length=200)
    return np.sum((y - wanted) ** 2)


def bodies(np: Any, p: Any, masses: Any) -> Any:
    """The energy after two steps."""
    x, v = p
    for _ in range(2):
        d = x[None, :, :] - x[:, None, :]
        r2 = np.sum(d * d, axis=2) + 0.01
        v = v + 0.01 * np.sum(d * (masses / (r2 * np.sqrt(r2)))[:, :, None], axis=1)
        x = x + 0.01 * v
    near = np.sum((x[None, :, :] - x[:, None, :]) ** 2, axis=2) + 0.01
    return 0.5 * np.sum(masses * np.sum(v * v, axis=1)) - 0.5 * np.sum(np.outer(masses, masses) / np.sqrt(near))


def spins(np: Any, p: Any, field: Any) -> Any:
    """The energy of Ising's model with spins between -1 and 1."""
    s = np.tanh(p)
    return -np.sum(s * (np.roll(s, 1, axis=0) + np.roll(s, 1, axis=1))) - np.sum(field * s)


def rosenbrock(np: Any, p: Any) -> Any:
    return np.sum(100.0 * (p[1:] - p[:-1] ** 2) ** 2 + (1.0 - p[:-1]) ** 2)


# -- images


def convolution(np: Any, p: Any, wanted: Any) -> Any:
    kernel, image = p
    h, w = image.shape[0] - 2, image.shape[1] - 2
    out = np.zeros((h, w))
    for i in range(3):
        for j in range(3):
            out = out + kernel[i, j] * image[i : i + h, j : j + w]
    return np.mean((out - wanted) ** 2)


def edges(np: Any, p: Any, noisy: Any) -> Any:
    """Sobel's filter, total variation, and the distance to a noisy image."""
    across = p[:, 2:] - p[:, :-2]
    down = p[2:, :] - p[:-2, :]
    gx = across[:-2] + 2 * across[1:-1] + across[2:]
    gy = down[:, :-2] + 2 * down[:, 1:-1] + down[:, 2:]
    variation = np.sum(np.sqrt(np.diff(p, axis=0)[:, :-1] ** 2 + np.diff(p, axis=1)[:-1] ** 2 + 1e-6))
    return 0.01 * np.sum(np.sqrt(gx * gx + gy * gy + 1e-6)) + 0.1 * variation + np.sum((p - noisy) ** 2)


def layer(np: Any, x: Any, kernel: Any, bias: Any) -> Any:
    """A convolution of images with channels at the end, a rectifier, and the mean of squares of 2 x 2."""
    h, w = x.shape[1] - kernel.shape[0] + 1, x.shape[2] - kernel.shape[1] + 1
    out = bias
    for i in range(kernel.shape[0]):
        for j in range(kernel.shape[1]):
            out = out + x[:, i : i + h, j : j + w] @ kernel[i, j]
    return np.mean(np.maximum(out, 0.0).reshape(len(x), h // 2, 2, w // 2, 2, -1), axis=(2, 4))


def cnn(np: Any, p: Any, x: Any, y: Any) -> Any:
    x = layer(np, layer(np, x, *p["first"]), *p["second"])
    return -np.mean(np.sum(y * log_softmax(np, x.reshape(len(x), -1) @ p["w"] + p["b"]), axis=1))


def bilinear(np: Any, p: Any, wanted: Any) -> Any:
    """An image read at positions between its pixels; derivatives by both."""
    image, at = p
    corner = np.clip(np.floor(at).astype(int), 0, image.shape[0] - 2)
    (i, j), (a, b) = corner.T, (at - corner).T
    top = image[i, j] * (1 - b) + image[i, j + 1] * b
    low = image[i + 1, j] * (1 - b) + image[i + 1, j + 1] * b
    return np.mean((top * (1 - a) + low * a - wanted) ** 2)


# -- sparse products


def sparse(np: Any, p: Any, rows: Any, columns: Any, wanted: Any) -> Any:
    values, x = p
    out = np.zeros(len(x))
    np.add.at(out, rows, values * x[columns])
    return np.sum((out - wanted) ** 2)


def sparse_jax(np: Any, p: Any, rows: Any, columns: Any, wanted: Any) -> Any:
    values, x = p
    return np.sum((np.zeros(len(x)).at[rows].add(values * x[columns]) - wanted) ** 2)


def graph(np: Any, p: Any, x: Any, sources: Any, targets: Any, y: Any) -> Any:
    """Each node adds up what its neighbours send, in three rounds."""
    for own, sent in p["layers"]:
        total = np.zeros(x.shape)
        np.add.at(total, targets, np.maximum(x[sources] @ sent, 0.0))
        x = np.tanh(x @ own + total)
    return np.mean((x @ p["last"] - y) ** 2)


def graph_jax(np: Any, p: Any, x: Any, sources: Any, targets: Any, y: Any) -> Any:
    for own, sent in p["layers"]:
        x = np.tanh(x @ own + np.zeros(x.shape).at[targets].add(np.maximum(x[sources] @ sent, 0.0)))
    return np.mean((x @ p["last"] - y) ** 2)

"""Plain NumPy programs of machine learning and statistics, as their authors would write them. Nothing here knows of catad.

gmm, lse, llsq and lstm are those of the benchmarks ADBench (F. Srajer, Z. Kukelova, A. Fitzgibbon, A benchmark of selected
algorithmic differentiation tools, 2018) and GradBench.
"""

import math

import numpy as np


def logsumexp(x):
    m = np.max(x)
    return m + np.log(np.sum(np.exp(x - m)))


def log_gamma_distribution(a, p):
    out = 0.25 * p * (p - 1) * math.log(math.pi)
    for j in range(1, p + 1):
        out += math.lgamma(a + 0.5 * (1 - j))
    return out


def wishart_prior(p, gamma, m, sum_qs, qdiags, icf):
    n = p + m + 1
    k = icf.shape[0]
    frobenius = np.sum(qdiags**2) + np.sum(icf[:, p:] ** 2)
    c = n * p * (math.log(gamma) - 0.5 * math.log(2)) - log_gamma_distribution(0.5 * n, p)
    return 0.5 * gamma**2 * frobenius - m * np.sum(sum_qs) - k * c


def gmm(alphas, means, icf, x, wishart):
    """The log likelihood of a mixture of Gaussians, by the logarithms of a Cholesky factor."""
    n, d = x.shape
    k = alphas.shape[0]
    qdiags = np.exp(icf[:, :d])
    sum_qs = np.sum(icf[:, :d], axis=1)
    total = 0.0
    for i in range(n):
        terms = []
        for j in range(k):
            centered = x[i] - means[j]
            at, parts = d, [qdiags[j] * centered]
            for col in range(d - 1):
                below = icf[j, at : at + d - 1 - col] * centered[col]
                parts.append(np.concatenate([np.zeros(col + 1), below]))
                at += d - 1 - col
            terms.append(alphas[j] + sum_qs[j] - 0.5 * np.sum(sum(parts) ** 2))
        total = total + logsumexp(np.stack(terms))
    const = -n * d * 0.5 * math.log(2 * math.pi)
    return const + total - n * logsumexp(alphas) + wishart_prior(d, *wishart, sum_qs, qdiags, icf)


def gmm_in_place(alphas, means, icf, x, wishart):
    """The same with triangular matrices that are filled."""
    n, d = x.shape
    k = len(alphas)
    qdiags = np.exp(icf[:, :d])
    sum_qs = icf[:, :d].sum(axis=1)
    lower = np.zeros((k, d, d))
    at = d
    for col in range(d):
        size = d - 1 - col
        lower[:, col + 1 :, col] = icf[:, at : at + size]
        at += size
    slse = 0.0
    for i in range(n):
        centered = x[i] - means
        qx = qdiags * centered + np.einsum("kij,kj->ki", lower, centered)
        slse += logsumexp(alphas + sum_qs - 0.5 * (qx**2).sum(1))
    const = -n * d * 0.5 * math.log(2 * math.pi)
    return const + slse - n * logsumexp(alphas) + wishart_prior(d, *wishart, sum_qs, qdiags, icf)


def lse(x):
    top = x.max()
    return top + np.log(np.sum(np.exp(x - top)))


def llsq(x, n=24):
    """Least squares of a polynomial against a step."""
    s = 0.0
    for i in range(n):
        t = -1 + i * 2 / (n - 1)
        r = np.sign(t)
        power = 1.0
        for j in range(len(x)):
            r = r - x[j] * power
            power = power * t
        s = s + r * r
    return s / 2


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def lstm_cell(weight, bias, hidden, cell, given):
    forget = sigmoid(given * weight[0] + bias[0])
    ingate = sigmoid(hidden * weight[1] + bias[1])
    outgate = sigmoid(given * weight[2] + bias[2])
    change = np.tanh(hidden * weight[3] + bias[3])
    cell = cell * forget + ingate * change
    return outgate * np.tanh(cell), cell


def lstm_predict(main, extra, state, x):
    x = x * extra[0]
    after = []
    for k in range(0, len(main), 2):
        hidden, cell = lstm_cell(main[k], main[k + 1], state[k], state[k + 1], x)
        after += [hidden, cell]
        x = hidden
    return x * extra[1] + extra[2], np.stack(after)


def lstm(main, extra, state, sequence):
    total, count = 0.0, 0
    given = sequence[0]
    for t in range(len(sequence) - 1):
        guess, state = lstm_predict(main, extra, state, given)
        norm = guess - np.log(2.0 + np.sum(np.exp(guess)))
        total = total + np.sum(sequence[t + 1] * norm)
        count += sequence.shape[1]
        given = sequence[t + 1]
    return -total / count


def hmm_forward(log_start, log_step, log_emit, seen):
    """The log likelihood of observations under a hidden Markov model."""
    alpha = log_start + log_emit[:, seen[0]]
    for t in range(1, len(seen)):
        scores = alpha[:, None] + log_step
        top = scores.max(axis=0)
        alpha = top + np.log(np.exp(scores - top).sum(axis=0)) + log_emit[:, seen[t]]
    return logsumexp(alpha)


def kalman(x, p, observations, f, q, h, r):
    """A Kalman filter that takes the entries of an observation one after the other, so that it divides by numbers only."""
    loglik = 0.0
    for z in observations:
        x = f @ x
        p = f @ p @ f.T + q
        p = (p + p.T) / 2
        for j in range(len(r)):
            ph = p @ h[j]
            s = h[j] @ ph + r[j]
            gain = ph / s
            error = z[j] - h[j] @ x
            x = x + gain * error
            p = p - np.outer(gain, ph)
            loglik -= 0.5 * (np.log(2 * np.pi * s) + error**2 / s)
    return {"loglik": loglik, "state": (x, p)}


def layer_norm(x, scale, shift):
    mean = x.mean(axis=-1, keepdims=True)
    var = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(var + 1e-5) * scale + shift


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def transformer_block(params, x, heads=2):
    n, d = x.shape
    h = layer_norm(x, **params["norm1"])
    q, k, v = (
        (h @ params["attention"][name]).reshape(n, heads, d // heads).transpose(1, 0, 2) for name in ("wq", "wk", "wv")
    )
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(d // heads)
    causal = np.tril(np.ones((n, n), bool))
    attended = softmax(np.where(causal, scores, -1e30)) @ v
    x = x + attended.transpose(1, 0, 2).reshape(n, d) @ params["attention"]["wo"]
    h = layer_norm(x, **params["norm2"])
    up = h @ params["mlp"]["w1"] + params["mlp"]["b1"]
    gelu = 0.5 * up * (1 + np.tanh(np.sqrt(2 / np.pi) * (up + 0.044715 * up**3)))
    return x + gelu @ params["mlp"]["w2"] + params["mlp"]["b2"]


def mlp(layers, x, labels):
    """The cross entropy of a network that is a list of weights and biases."""
    *hidden, (w_last, b_last) = layers
    for w, b in hidden:
        x = np.maximum(x @ w + b, 0.0)
    logits = x @ w_last + b_last
    logp = logits - logits.max(axis=1, keepdims=True)
    logp = logp - np.log(np.exp(logp).sum(axis=1, keepdims=True))
    correct = logits.argmax(axis=1) == labels
    return -logp[np.arange(len(x)), labels].mean(), correct.mean()

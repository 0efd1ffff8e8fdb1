"""What drawn Python functions say: expressions, views, writes and conditions, as templates.

Each name has a kind: "s" a number, "k" an integer, "z" an array of no axes, "u" one of size 1, "v" a vector of 3, "m" a matrix
of 3 x 3, and "d" and "e" a number and a vector that no result needs. In a template `s0` and `s1` stand for names of numbers,
`{s}` for an expression that is a number, `{i}` and `{j}` for indices, `{n}` for a slice, `{c}` for a constant. All but "d" and
"e" stay of moderate size.
"""

from __future__ import annotations

EXPRESSIONS: dict[str, tuple[str, ...]] = {
    "s": (
        "s0 + 0.5", "np.sin(s0)", "s0 * 0.5", "v0[{i}]", "v0.sum() * 0.3", "m0[{i}, {j}]", "np.tanh(s0 - s1)",
        "v0 @ v1 * 0.2",
        "abs(s0)", "float({c})", "k0 * 0.25", "m0.sum() * 0.1", "s0 / (1.0 + s1 * s1)", "math.cos(s0)", "len(v0) * s0 * 0.3",
        "-s0", "s0 if s0 > s1 else s1 * 0.5", "h(s0, s1)", "max(s0, s1)", "np.max(v0) * 0.5", "power(s0, 3) * 0.5",
        "first(v0, s0)", "s0 and s1", "z0 * 0.5", "u0[0] - s0", "z0[()] + s0", "u0.sum()",
        "np.sqrt(s0) if s0 > 0.0 else s0 * 0.5",
        "np.linalg.norm(m0[{i}] + 2.0) * 0.2", "np.median(v0)", "np.mean(m0[:, {i}])", "v0[k0 % 3]",
        "v0[: k0 % 3 + 1].sum() * 0.3",
        "v0[v0 > {s}].sum() * 0.3", "np.prod(v0) * 0.2", "sum(v0) * 0.3", "m0[np.argmax(v0), {j}]",
        "np.float64(s0) * s1 * 0.5",
    ),
    "v": (
        "v0 + v1 * 0.5", "np.tanh(v0)", "v0 * s0 * 0.3", "m0[{i}] + 0.0", "m0[:, {i}] * 1.0", "v0[::-1] * 1",
        "m0 @ v0 * 0.3",
        "np.where(v0 > v1, v0, s0)", "np.zeros(3)", "np.array([s0, s1, {c}])", "v0.copy()", "m0.sum(axis=0) * 0.3",
        "v0[{i}] - v0", "np.arange(3.0)", "np.sin(v0 + s0)", "m0.T[{i}] + v0", "v0 - v0.sum() * 0.3", "g(v0, s0)",
        "np.cumsum(v0) * 0.3", "np.sort(v0)", "v0[[2, 0, 1]] * 0.9", "np.clip(v0, -0.5, s0)", "np.diagonal(m0) * 1.0",
        "np.roll(v0, 1)", "v0 if s0 > 0 else v1", "v0 + u0", "v0 * z0 * 0.3", "m0.max(axis=1) * 0.5", "np.mean(m0, axis=-1)",
        "np.where(v0 > 0.1, np.log(v0), v0 * 0.5)", "np.where(v0 < 0.0, 0.5 - v0, np.sqrt(v0 + 0.1))", "np.full(3, s0)",
        "np.concatenate([u0, v0[1:]])", "np.stack([s0, s1, s0 * s1]) * 0.5", "np.zeros_like(v0)", "np.ones(3) * k0 * 0.2",
        "np.maximum(v0, v1) * 0.8", "np.array([x * 0.5 for x in v0])", "np.einsum('ij,j->i', m0, v0) * 0.3", "np.abs(v0)",
        "v0[np.argsort(v1)]", "np.sum(m0 * v0, axis=1, keepdims=True)[:, 0] * 0.2", "np.prod(m0, axis=0) * 0.2",
        "np.cumprod(v0) * 0.5", "np.take(v0, [2, 2, k0 % 3])", "np.logaddexp(v0, s0) * 0.5",
    ),
    "m": (
        "np.outer(v0, v1) * 0.5", "m0 * 0.5 + m1 * 0.3", "m0.T * 0.9", "m0 @ m1 * 0.3", "np.tanh(m0)", "np.eye(3) * s0",
        "np.zeros((3, 3))", "m0[::-1] * 0.7", "np.stack([v0, v1, v0 * 0.5])", "m0.reshape(9)[::-1].reshape(3, 3) * 0.5",
        "m0 - v0", "m0 * v0[:, None] * 0.5", "np.vstack((v0, m0[1:])) * 0.8", "m0.copy()", "np.cumsum(m0, axis=1) * 0.3",
        "np.sort(m0, axis=0)", "m0 - m0.mean(axis=0, keepdims=True)", "np.where(m0 > s0, m0, m1) * 0.9", "np.tril(m0)",
        "np.exp(-m0 * m0)", "np.concatenate([m0[1:], m1[:1]])", "np.diag(v0) * 0.5 + m0 * 0.1", "m0[:, [0, 2, 1]]",
        "m0 / (1.0 + np.max(np.abs(m0)))",
    ),
    "k": (
        "k0 + 1", "k0 * 2 % 5", "len(v0)", "k0 + 1 if {s} > 0.2 else k0", "np.argmax(v0)", "np.sum(v0 > {s})", "-k0 % 3",
        "max(k0, k1)", "np.argmin(m0) // 3", "k0 // 2", "(k0 + k1) % 4", "np.argmax(m0, axis=1)[{i}]",
    ),
    "z": ("np.array(s0)", "np.array(s0 * 0.5)", "np.zeros(())", "np.full((), s0)", "z0.copy()"),
    "u": ("np.array([s0])", "v0[1:2] * 0.5", "np.zeros(1)", "u0 * s0 * 0.5", "v0.sum(keepdims=True) * 0.3", "u0.copy()",
         "m0[:1, 2] * 1"),
    "d": ("s0 * 1.0", "v0.sum() + 2.0", "s0 * s0 + 3.0"),
    "e": ("v0 * 2.0", "v0 + 3.0", "m0[{i}] * 4.0"),
}  # fmt: skip
VIEWS = {
    "v": ("m0[{i}]", "m0[:, {j}]", "m0.T[{i}]", "v0[::-1]", "v0", "m0.reshape(-1)[3:6]", "m0[::2].T[{j}][:1] * np.ones(3)",
          "np.asarray(v0)", "m0.ravel()[:3]", "v0[:]", "v0[::-1][::-1]", "m0.T.reshape(9)[:3]", "m0[:, ::-1].T[{i}]"),
    "m": ("m0.T", "m0[::-1]", "m0", "m0.reshape(3, 3)", "m0[:, ::-1]", "m0.T[::-1].T"),
    "z": ("z0", "v0[{i}, ...]", "u0.reshape(())", "m0[{i}, {j}, ...]"),
    "u": ("u0", "v0[{n}][:1]", "v0[1:2]", "m0[1:2, {j}]", "z0.reshape(1)", "z0[None]", "v0[k0 % 2 : k0 % 2 + 1]"),
}  # fmt: skip
WRITES = (
    "v0[{i}] = {s}", "v0 += {v}", "v0[:2] *= 0.5", "v0[1:] = v1[:2]", "m0[{i}] = {v}", "m0[:, {j}] += {v} * 0.3",
    "m0[{i}, {j}] -= {s}", "m0 *= 0.8", "v0[v0 > 0.5] = {s} * 0.1", "v0[...] = {v}", "m0[1:, 1:] = 0.25",
    "m0[{i}] = m1[{j}]",
    "v0[{i}], v0[{j}] = v0[{j}], v0[{i}]", "np.add(v0, {s}, out=v0)", "v0[v1 > 0] = v0[v1 > 0] * 0.5", "fill(v0, {s})",
    "v0.sort()", "np.add.at(v0, [0, 0, {i}], s0 * 0.2)", "v0.fill({s})", "m0[{i}][{j}] = {s}", "np.copyto(v0, v1)",
    "v0[-2:] = v0[:2]", "v0[{n}] += {s} * 0.3", "v0[{n}] = v1[{n}] * 0.7", "m0[{n}, {j}] *= 0.6", "m0[{n}][{n}] = {s} * 0.2",
    "np.tanh(v0, out=v1)", "np.sin(v0, out=v0, where=v1 > 0.0)", "np.maximum(m0, m1 * 0.5, out=m0)",
    "np.sum(m0 * 0.3, axis=0, out=v0)",
    "m0[m0 > s0] -= 0.5", "m0[{v} > 0.2] *= 0.7", "v0[[{i}, {j}]] = s0 * 0.5", "v0[[2, 0]] += v1[:2] * 0.5",
    "v0[k0 % 3] = {s}",
    "v0[k0 % 3] += {s} * 0.5", "m0[k0 % 3, 1:] = v0[:2]", "v0[: k0 % 3 + 1] *= 0.5", "m0[k0 % 3] = {v}", "z0[...] = {s}",
    "z0 += {s}",
    "z0[()] = s0 * z0", "u0[0] = {s}", "u0 += {s}", "u0[:] = v0[:1]", "v0[1:] = u0", "v0[:], v1[:] = v1, v0",
    "np.fill_diagonal(m0, {s})",
    "v0 -= v0[::-1] * 0.3", "m0 += m0.T * 0.2", "m0[:, 0], m0[:, 1] = m0[:, 1].copy(), m0[:, 0].copy()",
    "np.put(v0, [{i}], {s})",
)  # fmt: skip
KEYED = ('["b"] = {v}', '["b"] += {s}', '["a"] = {s}', '["b"][{i}] = {s}')
SWAPS = (
    "s0, s1 = s1, s0", "s0, s1 = s1 * 0.5, s0 + s1 * 0.5", "v0, v1 = v1, v0", "v0, v1 = v1, v0 * 0.5 + v1 * 0.5",
    "m0, m1 = m1.T, m0", "k0, k1 = k1, (k0 + k1) % 97", "(s0, v0), k0 = (v0[{i}], v0 * s0 * 0.3), k0 + 1",
)  # fmt: skip
CONDITIONS = (
    "{s} > 0.1", "{v}.sum() > 0.3", "v0[{i}] < v1[{j}]", "0 < {s} < 1", "not {s} > 0.2", "{s} > 0 and v0[{i}] > 0",
    "{s} > 0.3 or s0 < 0", "np.all(v0 > -9)", "s0 == s1", "True", "np.any(m0 > {s})", "k0 % 2 == 0", "k0 < 3", "z0 > 0.1",
    "u0[0] > {s}", "k0 > k1 or {s} > 0.0",
)  # fmt: skip
NEVER = ("s0 > 1e9", "np.sum(v0) < -1e9", "m0[{i}, {j}] > 1e9", "np.max(v0) > 1e9 or k0 > 999", "s0 != s0")
NOT_REACHED = (
    "s0 = np.sqrt(s0 - 1e9)", "v0 = np.log(v0 - 1e9)", "m0 = m0 * 1e200 * 1e200", "v0[{i}] = np.sqrt(s0 - 1e9)",
    "s0 = np.exp(s0 * s0 + 1e9)", "v0 *= np.inf", "m0[{i}] = np.divide(v0, v0 - v0)", "k0 = k0 * 7 % 50", "v0 = v0 + np.nan",
)  # fmt: skip
DEAD = (
    "d0 = d0 * d0 * 1e150", "e0 = e0 * e0 * 1e30", "e0 = np.exp(e0 * e0 + 300.0)", "e0 = np.log(e0 - e0 - 1.0)",
    "e0 *= 1e200",
    "e0[{i}] = d0 * 1e300", "e0 = e0 * v0 * 1e200", "d0 = np.sqrt(-1.0 - d0 * d0)", "e0, e1 = e1 * 1e160, e0 - v0",
    "d0 = d0 + s0",
    "e0[1:] = e0[:2] * 1e155", "d0 = np.divide(d0, d0 - d0)", "d0 = d0 * 1e155 if d0 > s0 else d0", "e0[e0 > d0] = np.inf",
)  # fmt: skip
HELPERS = """\
def h(a, b):
    if a > b:
        return a * 0.5
    return b - a * 0.1


def g(v, k):
    w = v * 1.0
    w[1] = k
    w += 0.25
    return w


def fill(v, k):
    v[0] = k
    v[1:] *= 0.5


def first(v, c):
    for x in v:
        if x > c:
            return x
    return c


def power(a, n):
    return a if n == 0 else 0.5 * a * power(a, n - 1)


"""
PLAIN = 11  # the first so many expressions stand inside others

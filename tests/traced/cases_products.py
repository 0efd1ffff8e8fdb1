"""Calls of NumPy's products, norms, choices, and reading and writing at positions: names, function, arguments."""

import numpy as np

A = np.array([[0.5, -1.25, 3.0, 0.75], [2.5, 0.125, -0.5, 1.5], [-2.0, 4.0, 1.0, -0.25]])
Q = np.array([[0.5, -1.25, 3.0], [2.5, 0.125, -0.5], [-2.0, 4.0, 1.0]])
V = np.array([0.5, -1.25, 3.0, 0.75, 2.25])
W = np.array([0.3, 1.0, -0.6])
B = np.arange(24.0).reshape(2, 3, 4) / 7 - 1.3
N = np.array([[0.5, np.nan, 3.0, 0.75], [np.nan, np.nan, -0.5, np.inf], [-2.0, 4.0, np.nan, -np.inf]])
S = np.array(1.5)
E0 = np.zeros((0, 3))
Z = np.zeros(3)
K = np.array([[2, 0, -1], [1, 1, 3]])


def at(x, w):
    y = x.copy()
    np.add.at(y, [0, 2, 0], w)
    np.subtract.at(y, 1, 2)
    np.multiply.at(y, np.array([3, 3]), 2)
    z = np.zeros(3)
    np.add.at(z, [0, 1, 1], w)
    m = np.zeros((2, 3))
    np.add.at(m, (slice(None), [0, 2]), 1.5)
    np.add.at(m, ([0, 1], [0, 2]), w[:2])
    np.maximum.at(z, [0, 0], w[:2])
    np.minimum.at(z, [2], w[0])
    return y, z, m


def put(x, w):
    y = x.copy()
    np.put(y, [0, 5], [7, 8])
    y.put([1, -1], w[0])
    np.put(y, [3, 4, 6, 7], w)
    np.put(y, [25], 1, mode="wrap")
    np.put(y, [25], 1, mode="clip")
    z = np.zeros((2, 3))
    np.put(z, 1, 3)
    np.put_along_axis(z, np.array([[1], [0]]), 5, axis=1)
    np.put_along_axis(y, np.argmax(y, axis=1)[:, None], w[:, None], axis=1)
    np.fill_diagonal(z, w[0])
    np.fill_diagonal(y, [1, 2, 3])
    np.copyto(z, 4, where=z > 2)
    np.putmask(y, y > 2, y * 3)
    np.putmask(z, z > 3, [1, 2])
    np.place(y, y < 0, 0)
    np.place(z, np.array([[True, False, True], [False, True, True]]), [7, 8])
    o = np.empty(3)
    np.add(w, 1, out=o)
    np.multiply(o, 2, o)
    np.exp(o, where=o > 2, out=o)
    f = np.zeros(3, dtype=np.float32)
    f[...] = w
    return y, z, o, f


def mesh_of_masks(x):
    y = x.copy()
    y[y > 1] = 0
    y[y < 0] *= 2
    y[[True, False, True]] += 1
    y[:, np.array([True, False, False, True])] = 9
    return y


CASES = [
    ("matmul", lambda x, y: (x @ y, np.matmul(x, y), x.dot(y), np.dot(x, y), y.T @ x.T), A, A.T),
    ("matmul", lambda x, y: x @ y, A, A),
    ("matmul", lambda x, w: (x @ w, w @ x.T, np.dot(w, w), x.dot(2.0)), Q, W),
    ("matmul", lambda x, y: (x @ y, np.matmul(x, y), np.matmul(x[0], y), x @ y[0]), B, np.swapaxes(B, 1, 2)),
    ("matmul", lambda x: x @ 2.0, A),
    ("matmul", lambda x: x @ np.zeros((4, 0)), A),
    ("matmul", lambda x: (x @ np.ones((3, 2)), x.T @ x), E0),
    ("dot", lambda x, y: (np.dot(x, y), np.inner(x, W), np.dot(x, 3), np.dot(2, x)), Q, B),
    ("dot", lambda x: np.dot(x, x), A),
    (
        "vdot",
        lambda x, y: (np.vdot(x, y), np.inner(x, y), np.outer(x, y), np.inner(x[0], y[0]), np.outer(x[0], 2)),
        A,
        A * 2,
    ),
    ("inner", lambda x, y: np.inner(x, y), B, A),
    ("outer", lambda x, y: (np.outer(x, y), np.linalg.outer(x, y)), V, W),
    (
        "tensordot",
        lambda x, y: (
            np.tensordot(x, y, axes=([1, 2], [0, 1])),
            np.tensordot(x, y, 2),
            np.tensordot(x, y[0], axes=(2, 0)),
            np.tensordot(y, y, 0),
        ),
        B,
        A,
    ),
    ("tensordot", lambda x: np.tensordot(x, x, 1), A),
    (
        "einsum",
        lambda x, y: (
            np.einsum("ij,kj->ik", x, y),
            np.einsum("ij->j", x),
            np.einsum("ij,ij", x, y),
            np.einsum("ij->ji", x),
            np.einsum("...j,j", x, y[0]),
            np.einsum(x, [0, 1], y, [2, 1], [0, 2]),
        ),
        A,
        A * 2,
    ),
    (
        "einsum",
        lambda x: (
            np.einsum("ii", x),
            np.einsum("ii->i", x),
            np.einsum("ij,jk,kl->il", x, x, x, optimize=True),
            np.einsum("i...->...", x),
        ),
        Q,
    ),
    ("einsum", lambda x: np.einsum("ij,jk", x, x), A),
    ("kron", lambda x, y: (np.kron(x, y), np.kron(y, x), np.kron(x, 2), np.kron(x[0], y)), A, W),
    (
        "cross",
        lambda x, y: (np.cross(x, y), np.cross(x[0], y[0]), np.cross(x, y, axis=0), np.linalg.cross(x, y)),
        Q,
        Q * 2 + 1,
    ),
    ("cross", lambda x, y: np.cross(x, y), V, V),
    ("vecdot", lambda x, y: (np.vecdot(x, y), np.linalg.vecdot(x, y, axis=0), np.vecdot(x, y[0])), A, A * 2),
    ("matvec", lambda x, w: (np.matvec(x, w), np.vecmat(w, x)), Q, W),
    ("multi_dot", lambda x: np.linalg.multi_dot([x, x, x]), Q),
    (
        "matrix_power",
        lambda x: (
            np.linalg.matrix_power(x, 3),
            np.linalg.matrix_power(x, 0),
            np.linalg.matrix_power(x, 1),
            np.linalg.matmul(x, x),
        ),
        Q,
    ),
    (
        "norm",
        lambda x: (
            np.linalg.norm(x),
            np.linalg.norm(x, axis=0),
            np.linalg.norm(x, axis=1, keepdims=True),
            np.linalg.norm(x, "fro"),
            np.linalg.norm(x, 1),
            np.linalg.norm(x, np.inf),
            np.linalg.norm(x, -1),
            np.linalg.norm(x, -np.inf),
        ),
        A,
    ),
    ("norm", lambda x: [np.linalg.norm(x, p) for p in (None, 1, 2, 3, 0.5, np.inf, -np.inf, -1, -2)], V),
    ("norm", lambda x: (np.linalg.norm(x, 0), np.linalg.norm(x, 2)), V),
    (
        "norm",
        lambda x: (
            np.linalg.norm(x, axis=(0, 2)),
            np.linalg.norm(x, 1, axis=(1, 2)),
            np.linalg.norm(x, 3, axis=1),
            np.linalg.norm(x),
        ),
        B,
    ),
    ("norm", lambda x: np.linalg.norm(x, 1), B),
    ("norm", lambda x: np.linalg.norm(x, "x"), A),
    ("norm", lambda x: np.linalg.norm(x, "fro"), V),
    ("norm", lambda x: np.linalg.norm(x, 2), A),
    ("norm", lambda x: np.linalg.norm(x, "nuc"), A),
    (
        "vector_norm",
        lambda x: (
            np.linalg.vector_norm(x),
            np.linalg.vector_norm(x, axis=0),
            np.linalg.vector_norm(x, axis=(0, 1), ord=1, keepdims=True),
            np.linalg.matrix_norm(x),
            np.linalg.matrix_norm(x, ord=1),
        ),
        A,
    ),
    (
        "~where",
        lambda x: (
            np.where(x > 0, x, 0),
            np.where(x > 0, 1, x),
            np.where(x[:, :1] > 0, x, x * 2),
            np.where(x > 0, 1, 0),
            np.where(x, x, 5.0),
            np.where([True, False, True, True], x, -x),
            np.where(x > 1, [1, 2, 3, 4], x),
        ),
        A,
    ),
    ("where", lambda x: np.where(x > 0, x, A), V),
    ("where", lambda x: (np.where(x > 1, np.log(x), 0.0), np.where(np.isnan(x), 0, x)), N),
    (
        "~clip",
        lambda x: (
            np.clip(x, -1, 1),
            x.clip(0, None),
            np.clip(x, None, 0.5),
            x.clip(min=1),
            np.clip(x, x[0], 2),
            np.clip(x, 2, 1),
        ),
        A,
    ),
    ("clip", lambda x: np.clip(x, -1, 1), N),
    ("clip", lambda x: np.clip(x, None, None), A),
    ("clip", lambda x: np.clip(x, -300, 300), V),
    ("nan_to_num", lambda x: (np.nan_to_num(x), np.nan_to_num(x, nan=-1.0, posinf=5, neginf=-5)), N),
    (
        "~select",
        lambda x: (
            np.select([x > 1, x > 0], [x, x * 2], 3),
            np.select([x > 1, x < 0], [1, x]),
            np.select([x > 1], [x]),
        ),
        A,
    ),
    ("select", lambda x: np.select([x], [x]), A),
    ("select", lambda x: np.select([x > 0], []), A),
    ("piecewise", lambda x: np.piecewise(x, x > 0, [lambda t: t * 2]), A),
    (
        "!piecewise",
        lambda x: (
            np.piecewise(x, [x < 0, x >= 1], [lambda t: -t, lambda t: t * t, 0.5]),
            np.piecewise(x, [x > 0], [1, 2]),
            np.piecewise(x[0], x[0] > 0, [lambda t: t * 2]),
        ),
        A,
    ),
    ("piecewise", lambda x: np.piecewise(x, [x > 0], [1, 2, 3]), A),
    ("piecewise", lambda x: np.piecewise(x, [x > 0], [lambda t: t + 1, 0]), S),
    (
        "choose",
        lambda x: (
            np.choose(K % 3, [x[:2, :3], x[1:, :3], 5.0]),
            np.choose([2, 0, 1, 0], x),
            np.choose(K, [x[0, 0], 1], mode="clip"),
            np.choose(K, [x[0, 0], 1], mode="wrap"),
            np.array([1, 0]).choose([x[0, :2], x[1, :2]]),
        ),
        A,
    ),
    ("choose", lambda x: np.choose([0, 3], [x, x]), V[:2]),
    ("choose", lambda x: np.choose([0, -1], [x, x]), V[:2]),
    (
        "isclose",
        lambda x: (
            np.isclose(x, x + 1e-9),
            np.isclose(x, 0.5),
            np.isclose(x, x, equal_nan=True),
            np.isclose(2.0, x, rtol=1),
        ),
        N,
    ),
    ("isclose", lambda x: (np.isclose(x, x * 1.0001), np.isclose(x, x, atol=1)), A),
    ("allclose", lambda x: (np.allclose(x, x), np.allclose(x, 0.5), np.allclose(x, x, equal_nan=True)), N),
    (
        "array_equal",
        lambda x: (
            np.array_equal(x, x),
            np.array_equal(x, x[:2]),
            np.array_equal(x, x, equal_nan=True),
            np.array_equiv(x, x[:1]),
            np.array_equiv(x, V),
        ),
        N,
    ),
    ("isin", lambda x: (np.isin(x, [0.5, 3.0]), np.isin(x, x[0], invert=True)), A),
    (
        "take",
        lambda x: (
            np.take(x, K),
            x.take([1, 0], axis=0),
            np.take(x, 2, axis=1),
            np.take(x, [5, -7], axis=1, mode="wrap"),
            np.take(x, [5, -7], axis=0, mode="clip"),
            np.take(x, []),
            x[K % 3],
            x[[0, 1], [1, 2]],
        ),
        A,
    ),
    ("take", lambda x: np.take(x, [7], axis=1), A),
    ("take", lambda x, i: (np.take(x, i), x[i], np.take(x, i, axis=0), x[i, i]), A, K % 3),
    ("take", lambda x, i: np.take(x, i), A, np.array([99])),
    (
        "~take_along_axis",
        lambda x: (
            np.take_along_axis(x, np.argsort(x, axis=1), axis=1),
            np.take_along_axis(x, np.argmax(x, axis=0)[None], 0),
            np.take_along_axis(x, np.array([3, 1]), None),
        ),
        A,
    ),
    ("take_along_axis", lambda x: np.take_along_axis(x, K, 1), A),
    ("take_along_axis", lambda x: np.take_along_axis(x, K[0], 1), A),
    ("!ufunc.at", at, V, W),
    ("put", put, A, W),
    ("~masks", mesh_of_masks, A),
    (
        "compress",
        lambda x: (
            np.compress([True, False, True], x, axis=0),
            x.compress([0, 1, 1, 0], axis=1),
            np.extract(A > 1, x),
            np.compress([1, 0, 1], x),
        ),
        A,
    ),
    ("!compress", lambda x: np.compress(x[0] > 0, x, axis=1), A),
    (
        "ravel_multi_index",
        lambda i: (
            np.ravel_multi_index((i, i), (4, 5)),
            np.ravel_multi_index((i, i), (2, 2), mode="clip"),
            np.unravel_index(i, (2, 2)),
            np.unravel_index(i, (2, 3), order="F"),
        ),
        np.array([1, 0, 3]),
    ),
    (
        "~ufunc",
        lambda x: (
            np.add(x, 1),
            np.divmod(x, 2),
            np.modf(x),
            np.frexp(x),
            np.heaviside(x, 0.5),
            np.float_power(x, 2),
            np.positive(x),
            np.fabs(x),
            np.logaddexp2(x, 1.0),
            np.fmod(x, 2),
            np.ldexp(x, 2),
        ),
        A,
    ),
    (
        "~ufunc",
        lambda x: (
            np.add(x, [1, 2, 3, 4]),
            np.exp(x, dtype=np.float32),
            np.add(x, x, casting="unsafe"),
            np.sqrt([x[0], x[1]]),
            np.maximum([1.0, 2.0, 3.0, 4.0], x),
        ),
        np.abs(A),
    ),
    (
        "~round",
        lambda x: (
            np.round(x),
            np.around(x, 1),
            x.round(-1),
            np.round(x, decimals=2),
            np.fix(x),
            np.rint(x),
            np.trunc(x),
            np.floor(x),
            np.ceil(x),
        ),
        A * 3.337,
    ),
    ("sinc", lambda x: (np.sinc(x), np.deg2rad(x), np.rad2deg(x)), A),
    (
        "~unwrap",
        lambda x: (np.angle(x), np.isposinf(x), np.isneginf(x), np.isreal(x), np.iscomplex(x), np.real_if_close(x)),
        A,
    ),
    ("sort_complex", lambda x: np.signbit(x), A),
]

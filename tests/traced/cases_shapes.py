"""Calls of NumPy's functions of shapes, of joining, moving and making arrays: names, function, arguments."""

import numpy as np

A = np.array([[0.5, -1.25, 3.0, 0.75], [2.5, 0.125, -0.5, 1.5], [-2.0, 4.0, 1.0, -0.25]])
V = np.array([0.5, -1.25, 3.0, 0.75, 2.25])
B = np.arange(24.0).reshape(2, 3, 4) / 7 - 1.3
S = np.array(1.5)
ONE = np.array([[2.5]])
E0 = np.zeros((0, 3))


def written(x):
    y = x.copy()
    y.T[0] = 1
    np.ravel(y)[1] = 2
    y.reshape(-1)[2] = 3
    np.squeeze(y)[-1] = 4
    y[:, None][0] = 5
    np.swapaxes(y, 0, 1)[1, 1] = 6
    np.flip(y)[0, 0] = 7
    np.rot90(y)[0, 1] = 8
    np.moveaxis(y, 0, 1)[2, 0] = 9
    y.flat[3] = 10
    for part in np.split(y, 3):
        part[0, 0] = 11
    y.T.flat[4] = 3
    y.mT[3, 2] = -1
    np.transpose(y)[3, 1] = -2
    np.atleast_3d(y)[1, 2, 0] = -3
    np.asarray(y)[2, 2] = -4
    np.array(y, copy=False)[2, 1] = -5 if x.dtype.kind != "B" else 5
    return y


def not_written(x):
    y = x.copy()
    for z in (
        y.flatten(),
        np.array(y),
        y.copy(),
        np.conj(y),
        y * 1,
        np.roll(y, 1),
        np.tile(y, 1),
        y.astype(y.dtype),
        np.sort(y),
        y.T.reshape(-1),
    ):
        z[...] = 0
    z = y.flat[1:3]
    z[0] = 5
    return y


def made(x):
    z = np.zeros(3)
    z[1] = x.sum()
    e = np.eye(3)
    e[0] += x[0, :3]
    f = np.full((2, 2), 7)
    f[0, 0] = 3.9
    o = np.ones_like(x)
    o[0] = x[0]
    i = np.arange(4)
    i *= 2
    g = np.empty_like(x)
    g.fill(2)
    return (
        g,
        z,
        e,
        f,
        o,
        i,
        np.empty((0, 2)),
        np.linspace(0, 1, 5) * x.max(),
        np.identity(2) * 2,
        np.full(3, x[0, 0]),
        np.zeros_like(x, shape=2),
    )


CASES = [
    (
        "reshape",
        lambda x: (
            x.reshape(4, 3),
            np.reshape(x, (2, -1)),
            x.reshape((-1,)),
            x.reshape(2, 2, 3, order="F"),
            x.reshape(12).reshape(3, 4),
        ),
        A,
    ),
    ("reshape", lambda x: x.reshape(5, 2), A),
    ("reshape", lambda x: x.reshape(-1, -1), A),
    ("reshape", lambda x: x.reshape(1), S),
    ("reshape", lambda x: (x.reshape(0), x.reshape(3, 0), np.ravel(x), x.T), E0),
    ("reshape", lambda x: x.reshape(-1, 0), E0),
    (
        "ravel",
        lambda x: (np.ravel(x), x.ravel(), x.T.ravel(), x.ravel("F"), x.flatten(), x.flatten("F"), np.ravel(x[:, ::2])),
        A,
    ),
    ("flatten", lambda x: x.flatten(), B),
    (
        "transpose",
        lambda x: (
            x.T,
            np.transpose(x, (1, 0, 2)),
            x.transpose(2, 0, 1),
            x.transpose((0, 2, 1)),
            np.transpose(x),
            x.mT,
            np.permute_dims(x, (2, 1, 0)),
        ),
        B,
    ),
    ("transpose", lambda x: np.transpose(x, (0, 1)), B),
    ("transpose", lambda x: np.transpose(x, (0, 1, 1)), B),
    (
        "swapaxes",
        lambda x: (np.swapaxes(x, 0, -1), x.swapaxes(1, 2), np.matrix_transpose(x), np.linalg.matrix_transpose(x)),
        B,
    ),
    (
        "moveaxis",
        lambda x: (np.moveaxis(x, 0, -1), np.moveaxis(x, [0, 1], [2, 0]), np.rollaxis(x, 2), np.rollaxis(x, 0, 2)),
        B,
    ),
    ("moveaxis", lambda x: np.moveaxis(x, 3, 0), B),
    ("squeeze", lambda x: (np.squeeze(x), x[None].squeeze(0), np.squeeze(x[:, None]), x[:1].squeeze()), A),
    ("squeeze", lambda x: np.squeeze(x, 0), A),
    ("squeeze", lambda x: (np.squeeze(x), x.squeeze(1)), ONE),
    (
        "expand_dims",
        lambda x: (np.expand_dims(x, 0), np.expand_dims(x, -1), np.expand_dims(x, (0, 2)), x[None, :, None]),
        A,
    ),
    ("atleast", lambda x, y: (np.atleast_1d(x), np.atleast_2d(y), np.atleast_3d(x), np.atleast_1d(x, y)), S, V),
    ("broadcast_to", lambda x: (np.broadcast_to(x, (2, 5)), np.broadcast_to(x[:, None], (5, 3))), V),
    ("broadcast_to", lambda x: np.broadcast_to(x, (2, 4)), V),
    ("broadcast_arrays", lambda x, y: np.broadcast_arrays(x, y[:, None]), V, V[:3]),
    (
        "concatenate",
        lambda x, y: (
            np.concatenate([x, y]),
            np.concatenate((x, y), axis=-1),
            np.concatenate([x, y], axis=None),
            np.concat([x, y], 1),
        ),
        A,
        A * 2,
    ),
    ("concatenate", lambda x, y: np.concatenate([x, y], 1), A, B[0, :2]),
    ("concatenate", lambda x: np.concatenate([x, x[0]]), A),
    ("concatenate", lambda x: np.concatenate([x, np.arange(3)]), V),
    ("concatenate", lambda x: (np.concatenate([x, E0]), np.concatenate([x, x > 1])), E0),
    ("stack", lambda x, y: (np.stack([x, y]), np.stack([x, y], axis=-1), np.stack((x, y), axis=1)), V, V * 3),
    ("stack", lambda x, y: np.stack([x, y]), V, V[:3]),
    (
        "vstack",
        lambda x, y: (np.vstack([x, y]), np.hstack([x, y]), np.dstack([x, y]), np.column_stack([x, y])),
        V,
        V * 3,
    ),
    (
        "hstack",
        lambda x, y: (np.vstack([x, y]), np.hstack([x, y]), np.dstack([x, y]), np.column_stack([x, y])),
        A,
        A * 3,
    ),
    ("vstack", lambda x: (np.hstack([x, 1.0]), np.vstack([x, 2]), np.column_stack([x, x])), S),
    ("dstack", lambda x: np.dstack([x, x]), B),
    ("column_stack", lambda x: np.column_stack([x, A]), V[:3]),
    (
        "append",
        lambda x: (np.append(x, 3.0), np.append(x, [1, 2]), np.append(x, x[:1], axis=0), np.append(x, x[:, :1], 1)),
        A,
    ),
    ("block", lambda x: (np.block([[x, x], [x, x * 2]]), np.block([x[0], 1.0]), np.block([x, np.ones((3, 1))])), A),
    (
        "insert",
        lambda x: (
            np.insert(x, 1, 5.0),
            np.insert(x, [0, 2], x[:2]),
            np.insert(x, -1, [7, 8]),
            np.insert(x, 5, x[0]),
            np.insert(x, slice(1, 3), 9),
        ),
        V,
    ),
    (
        "insert",
        lambda x: (np.insert(x, 1, 2, axis=0), np.insert(x, 2, x[:, 0], axis=1), np.insert(x, [1, 1], 0, axis=1)),
        A,
    ),
    ("delete", lambda x: (np.delete(x, 1), np.delete(x, [0, 2]), np.delete(x, slice(1, 3)), np.delete(x, -1)), V),
    ("delete", lambda x: (np.delete(x, 1, axis=0), np.delete(x, [0, -1], 1), np.delete(x, 3)), A),
    ("delete", lambda x: np.delete(x, 7), V),
    (
        "split",
        lambda x: (
            np.split(x, 2, axis=1),
            np.split(x, [1, 2]),
            np.array_split(x, 2),
            np.hsplit(x, 2),
            np.vsplit(x, [1]),
        ),
        A,
    ),
    ("split", lambda x: np.split(x, 3, 1), A),
    ("dsplit", lambda x: (np.dsplit(x, 2), np.array_split(x, 3, axis=2)), B),
    ("array_split", lambda x: (np.array_split(x, 3), np.array_split(x, [1, 9])), V),
    ("unstack", lambda x: (np.unstack(x), np.unstack(x, axis=1)), A),
    ("flip", lambda x: (np.flip(x), np.flip(x, 0), np.flip(x, (0, 1)), np.fliplr(x), np.flipud(x), x[::-1]), A),
    ("flip", lambda x: np.fliplr(x), V),
    (
        "roll",
        lambda x: (
            np.roll(x, 1),
            np.roll(x, -2, axis=1),
            np.roll(x, (1, 2), axis=(0, 1)),
            np.roll(x, 13),
            np.roll(x, 1, (0, 1)),
            np.roll(x, (1, 2), 0),
        ),
        A,
    ),
    ("roll", lambda x, n: np.roll(x, n), V, np.array(3)),
    ("roll", lambda x: np.roll(x, 1, axis=2), A),
    ("roll", lambda x: np.roll(x, 2, 0), E0),
    ("rot90", lambda x: (np.rot90(x), np.rot90(x, 2), np.rot90(x, -1), np.rot90(x, 4), np.rot90(x, 1, (1, 0))), A),
    ("rot90", lambda x: np.rot90(x), V),
    (
        "tile",
        lambda x: (np.tile(x, 2), np.tile(x, (2, 1)), np.tile(x, (2, 1, 2)), np.tile(x, 0), np.tile(x, (1, 1))),
        A,
    ),
    ("tile", lambda x: np.tile(x, 3), S),
    (
        "repeat",
        lambda x: (
            np.repeat(x, 2),
            x.repeat(2, axis=0),
            np.repeat(x, [1, 0, 2], axis=0),
            np.repeat(x, [2], 1),
            np.repeat(x, 0),
        ),
        A,
    ),
    ("repeat", lambda x: np.repeat(x, [1, 2], axis=0), A),
    ("repeat", lambda x: np.repeat(x, 3), S),
    ("repeat", lambda x: np.repeat(x, -1), V),
    ("resize", lambda x: (np.resize(x, (2, 5)), np.resize(x, 3), np.resize(x, (0, 2))), A),
    ("tril", lambda x: (np.tril(x), np.tril(x, 1), np.tril(x, -1), np.triu(x), np.triu(x, 1), np.triu(x, -2)), A),
    ("triu", lambda x: (np.triu(x, 1), np.tril(x)), B),
    ("tril", lambda x: (np.tril(x), np.triu(x)), V),
    (
        "pad",
        lambda x: (
            np.pad(x, 1),
            np.pad(x, (1, 2)),
            np.pad(x, ((0, 1), (2, 0))),
            np.pad(x, 2, constant_values=3),
            np.pad(x, 1, constant_values=((1, 2), (3, 4))),
        ),
        A,
    ),
    (
        "pad",
        lambda x: (
            np.pad(x, 2, mode="edge"),
            np.pad(x, 2, mode="reflect"),
            np.pad(x, 5, mode="symmetric"),
            np.pad(x, (1, 7), mode="wrap"),
            np.pad(x, ((0, 0), (3, 9)), "reflect"),
        ),
        A,
    ),
    (
        "pad",
        lambda x: (
            np.pad(x, 2, "maximum"),
            np.pad(x, 2, "minimum", stat_length=2),
            np.pad(x, 1, "mean"),
            np.pad(x, (1, 2), "mean", stat_length=(2, 3)),
        ),
        A,
    ),
    (
        "pad",
        lambda x: (
            np.pad(x, 2, "linear_ramp"),
            np.pad(x, (1, 3), "linear_ramp", end_values=(2, 9)),
            np.pad(x, 1, "median"),
        ),
        A,
    ),
    ("pad", lambda x: (np.pad(x, 0), np.pad(x, (2, 0)), np.pad(x, 1, constant_values=x[0])), V),
    ("!pad", lambda x: np.pad(x, 2, "reflect", reflect_type="odd"), V),
    ("pad", lambda x: np.pad(x, -1), V),
    ("pad", lambda x: np.pad(x, 1, "nonsense"), V),
    ("pad", lambda x: (np.pad(x, 1), np.pad(x, ((1, 1), (0, 0)), "edge")), E0),
    ("written", written, A),
    ("not_written", not_written, A),
    ("made", made, A),
    (
        "array",
        lambda x: (
            np.array([x[0, 0], x[1, 1]]),
            np.array([[x[0], x[1]], [x[2], x[0]]]),
            np.array([x[0, 0], 2, 3]),
            np.array([x[0], [1, 2, 3, 4]]),
        ),
        A,
    ),
    (
        "array",
        lambda x: (
            np.array(x, dtype=np.float32),
            np.asarray([x[0], x[1]], dtype=float),
            np.array(x[0, 0]),
            np.array(x, ndmin=3),
            np.array((x, x)),
        ),
        A,
    ),
    ("array", lambda x: np.array([x, x[0]]), A),
    (
        "asarray",
        lambda x: (np.asarray(x), np.asarray(x, dtype=np.int32), np.ascontiguousarray(x.T), np.asanyarray(2.0)),
        A,
    ),
    (
        "copy",
        lambda x: (np.copy(x), x.copy(), x.astype(np.float32), x.astype(int), x.astype(bool), np.astype(x, np.float64)),
        A,
    ),
    (
        "zeros",
        lambda x: (
            np.zeros(2) + x[0, 0],
            np.ones((2, 2)) * x[0, 1],
            np.full(3, x[0, 0]),
            np.full((2, 2), 1) + x[0, 0],
            np.full_like(x, 2.5),
            np.ones_like(x),
            np.full_like(x, x[0, 0]),
        ),
        A,
    ),
    (
        "arange",
        lambda x: (
            np.arange(4) * x[0],
            np.arange(1, 3, 0.5) + x[0],
            np.linspace(0.0, 1.0, 4) * x[0],
            np.eye(4)[1] * x,
            np.tri(3, 4) * x,
            np.logspace(0, 1, 4) * x,
            np.geomspace(1, 8, 4) + x,
        ),
        A,
    ),
    (
        "linspace",
        lambda x: (
            np.linspace(x[0], x[1], 5),
            np.linspace(0, x[2], 4, endpoint=False),
            np.linspace(x[0], 1.0, 1),
            np.linspace(x[:2], x[2:4], 3, axis=1),
        ),
        V,
    ),
    (
        "linspace",
        lambda x: (
            np.linspace(x[0], x[1], 4, retstep=True),
            np.linspace(x[0], 2, 3, dtype=np.float32),
            np.linspace(x[0], x[1], 0),
        ),
        V,
    ),
    (
        "meshgrid",
        lambda x, y: (
            np.meshgrid(x, y),
            np.meshgrid(x, y, indexing="ij"),
            np.meshgrid(x, y, sparse=True),
            np.meshgrid(x),
        ),
        V,
        V[:3],
    ),
    (
        "indices",
        lambda x: (
            np.indices((3, 4))[0] * x,
            x[np.ix_([0, 2], [1, 3])],
            x[np.diag_indices(3)],
            x[np.tril_indices(3)],
            x[np.triu_indices(3, 1)],
            x[:3, :3][np.diag_indices_from(x[:3, :3])],
            x[np.tril_indices_from(x)],
            x[np.triu_indices_from(x, k=1)],
        ),
        A,
    ),
    ("fromfunction", lambda x: np.fromfunction(lambda i, j: x * (i + 1.0) + j, (3, 4)), A),
    (
        "shape",
        lambda x: (
            np.zeros(np.shape(x))
            + np.ndim(x)
            + np.size(x)
            + np.size(x, 1)
            + len(x)
            + x.size
            + x.ndim
            + x.itemsize
            + x.nbytes
            + x.shape[0],
            np.real(x),
            np.imag(x),
            x.real,
            x.imag,
            x.conj(),
            np.isrealobj(x),
            np.iscomplexobj(x),
        ),
        A,
    ),
    (
        "diag",
        lambda x: (
            np.diag(x),
            np.diag(x, 1),
            np.diag(x[0]),
            np.diag(x[0], -1),
            np.diagonal(x),
            x.diagonal(1),
            np.diagflat(x[:2]),
            np.trace(x),
            x.trace(1),
            np.linalg.diagonal(x),
            np.linalg.trace(x),
        ),
        A,
    ),
    (
        "diag",
        lambda x: (
            np.diagonal(x, axis1=1, axis2=2),
            np.trace(x, axis1=0, axis2=2),
            np.diagonal(x, 1, 0, 2),
            np.linalg.trace(x),
            np.linalg.diagonal(x, offset=1),
        ),
        B,
    ),
    ("diag", lambda x: np.diag(x), B),
]

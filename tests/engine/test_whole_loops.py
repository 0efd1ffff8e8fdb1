"""Loops as compiled functions, beside the array code: values, and derivatives to second order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct

from .whole_support import Ran, compare, leaves, ran

__all__ = ["ran"]

RNG = np.random.default_rng(5)


def random(*shape: int) -> Any:
    return 0.5 * RNG.standard_normal(shape)


# -- programs of NumPy whose loops are recorded once: more steps than are unrolled

N = 19


def elements(x):
    """An update of one element at each step, from its neighbours."""
    y = x.copy()
    for i in range(1, len(y) - 1):
        y[i] = 0.3 * (y[i - 1] + y[i] * y[i + 1]) + 0.1
    return y


def elements_added(x, w):
    y = np.zeros(len(x))
    for i in range(len(x)):
        y[i] += x[i] * w
        y[(i * 7) % 5] -= 0.5 * y[i]
    return y


def rows(A):
    for i in range(1, len(A)):
        A[i] = np.sin(A[i]) + 0.5 * A[i - 1]
    return A


def seidel(A):
    for _ in range(3):
        for i in range(1, A.shape[0] - 1):
            for j in range(1, A.shape[1] - 1):
                A[i, j] = 0.25 * (A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1])
    return A


def stencil(A):
    for _ in range(N):
        B = A.copy()
        B[1:-1] = 0.25 * (A[:-2] + 2.0 * A[1:-1] + A[2:])
        A = B * B[0]
    return A


def swapped(a, b):
    for _ in range(N):
        a, b = b, a
    return a, b


def swapped_and_changed(a, b):
    for _ in range(N):
        a, b = b * 0.9 + 0.1, a
    return a, b


def rotated(a, b, c):
    for _ in range(N):
        a, b, c = b, np.tanh(c), a
    return a, b, c


def both_read(a, b):
    """Each of two states is changed in place, and read by the other's change."""
    for i in range(N):
        a[i] = b[i] + a[i - 1]
        b[i] = a[i] * 0.5 + b[i - 1]
        a, b = b, a
    return a, b


def before_and_after(a):
    """The array before an update is read after it."""
    total = np.zeros(len(a))
    for i in range(len(a)):
        old = a
        a = a.copy()
        a[i] = a[i] * 2.0 + a[i - 1]
        total = total + old * a
    return a, total


def kept(a):
    """Each state is a result of its step, too."""
    out = np.zeros((N, len(a)))
    for i in range(N):
        out[i] = a
        a = np.sin(a) + 0.1 * a[::-1]
    return a, out


def backwards(x):
    y = np.zeros(len(x))
    s = 0.0
    for i in range(len(x) - 1, -1, -1):
        s = 0.5 * s + x[i] * x[i]
        y[i] = s
    return y


def cell(z, c, n):
    i, f, o, g = z[:n], z[n : 2 * n], z[2 * n : 3 * n], z[3 * n :]
    c = c / (1 + np.exp(-f)) + np.tanh(g) / (1 + np.exp(-i))
    return np.tanh(c) / (1 + np.exp(-o)), c


def lstm(W, U, b, xs):
    h = np.zeros(3)
    c = np.zeros(3)
    out = 0.0
    for x in xs:
        h, c = cell(x @ W + h @ U + b, c, 3)
        out = out + np.sum(h * h)
    return out


def kalman(A, Q, ys):
    x, P, ll = np.zeros(3), np.eye(3), 0.0
    for y in ys:
        x = A @ x
        P = A @ P @ A.T + Q
        s = P[0, 0] + 0.3
        k = P[:, 0] / s
        v = y - x[0]
        x = x + k * v
        P = P - np.outer(k, P[0])
        ll = ll - 0.5 * (np.log(s) + v * v / s)
    return ll


def bodies(x, v):
    for _ in range(N):
        d = x[None, :, :] - x[:, None, :]
        r2 = np.sum(d * d, axis=2) + 0.1
        v = v + 0.01 * np.sum(d / (r2 * np.sqrt(r2))[:, :, None], axis=1)
        x = x + 0.01 * v
    return x, v


def triangular(L, b):
    x = np.zeros(len(b))
    for i in range(len(b)):
        x[i] = (b[i] - L[i] @ x) / (2.0 + L[i, i] * L[i, i])
    return x


def branching(x):
    s = 0.0
    for t in x:
        if t > 0:
            t = np.sin(t)
            s = s + t
        else:
            s = s * t
    return s


def nested(A, s):
    for row in A:
        t = s
        for a in row:
            t = np.tanh(t * a + 0.1)
        s = s + t
    return s


def looked_up(table, x):
    s = np.zeros(len(table))
    for i in range(len(x)):
        k = x[i] % len(table)
        s[k] = s[k] + table[k] * (i + 1)
    return s


def in_integers(k, x):
    for _ in range(N):
        k = (k * 5 + 3) % 7
        x = x * 0.9 + k
    return k, x


WRITTEN: dict[str, tuple[Any, Any]] = {
    "elements": (elements, (random(N + 4),)),
    "elements added": (elements_added, (random(N), 0.7)),
    "rows": (rows, (random(N, 4),)),
    "an in-place stencil": (seidel, (random(20, 21),)),
    "a stencil": (stencil, (1.0 + 0.1 * random(7),)),
    "two states swapped": (swapped, (random(3), random(3))),
    "two large states swapped": (swapped, (random(300), random(300))),
    "swapped and changed": (swapped_and_changed, (random(3), random(3))),
    "large, swapped and changed": (swapped_and_changed, (random(300), random(300))),
    "three states turn": (rotated, (random(3), random(3), random(3))),
    "three large states turn": (rotated, (random(300), random(300), random(300))),
    "numbers turn": (rotated, (0.3, 0.2, -0.5)),
    "each read by the other": (both_read, (random(N), random(N))),
    "large, each read by the other": (both_read, (random(200), random(200))),
    "before and after": (before_and_after, (random(N),)),
    "large, before and after": (before_and_after, (random(150),)),
    "states kept": (kept, (random(5),)),
    "large states kept": (kept, (random(200),)),
    "backwards": (backwards, (random(N),)),
    "a recurrent layer": (lstm, (random(4, 12), random(3, 12), random(12), random(N, 4))),
    "a filter": (kalman, (0.5 * np.eye(3) + 0.1, 0.1 * np.eye(3), random(N))),
    "bodies": (bodies, (random(4, 3), random(4, 3))),
    "a triangular system": (triangular, (random(N, N), random(N))),
    "branches": (branching, (random(N),)),
    "loops in loops": (nested, (random(N, N), 0.3)),
    "looked up": (looked_up, (random(5), np.arange(N) * 3 % 11)),
    "integers": (in_integers, (3, 0.5)),
}


@pytest.mark.quick(10)
@pytest.mark.parametrize("name", WRITTEN)
def test_loops_of_numpy(name: str, ran: Ran) -> None:
    fn, x = WRITTEN[name]
    x = tuple([np.asarray(part) for part in x])
    with np.errstate(all="ignore"):
        want = leaves(fn(*[part.copy() if part.ndim else part[()] for part in x]))
    f = ct.function(fn)
    for _ in range(2):
        with ct.use_engine("cpu"):
            got = leaves(f(*x))
        for a, b in zip(got, want, strict=True):
            assert a.shape == b.shape and np.allclose(a, b, rtol=1e-12, atol=1e-14)
    compare(f.at(ct.space_of(x[0] if len(x) == 1 else x)), x, ran)


# -- loops as terms

STEP = ct.map(lambda s: np.sin(s) * 1.1 + 0.2)
MUL = ct.fork(ct.proj(0), ct.proj(1)) >> ct.matmul
HALVE = ct.while_loop(ct.map(lambda x: x > 1.0), ct.map(lambda x: x / 2.0))
SIDE = ct.choose(ct.map(lambda s: s > 0.4), ct.sin, ct.map(lambda s: 0.7 - s * s))
TERMS: dict[str, tuple[ct.D, Any]] = {
    "one step": (ct.iterate(STEP, 1), (random(3),)),
    "the length in the text": (ct.iterate(STEP, 16), (random(3),)),
    "the length as data": (ct.iterate(STEP, 17), (random(3),)),
    "a number": (ct.iterate(STEP, 20), (np.float64(0.3),)),
    "no numbers": (ct.iterate(STEP, 20), (random(0),)),
    "no rows": (ct.iterate(STEP, 20), (random(0, 3),)),
    "size one": (ct.iterate(STEP, 20), (random(1, 1),)),
    "float32": (ct.iterate(STEP, 20), (random(3).astype(np.float32),)),
    "memory of one": (ct.iterate(STEP, 20, memory=1), (random(3),)),
    "memory of three": (ct.iterate(STEP, 20, memory=3), (random(3),)),
    "inputs": (ct.iterate(ct.map(lambda s, u: np.tanh(s * u + 0.1)), 20, inputs=True), (np.float64(0.5), random(20))),
    "no inputs": (ct.iterate(ct.map(lambda s, u: np.tanh(s * u + 0.1)), 0, inputs=True), (np.float64(0.5), random(0))),
    "weights": (
        ct.sweep(ct.fork(ct.fork(MUL, ct.proj(2)) >> ct.add >> ct.tanh, MUL >> ct.sum(axis=1)), 20),
        (random(2, 3), random(3, 3), random(20, 2, 3)),
    ),
    "weights, backwards": (
        ct.sweep(ct.fork(ct.fork(MUL, ct.proj(2)) >> ct.add >> ct.tanh, MUL >> ct.sum(axis=1)), 20, reverse=True),
        (random(2, 3), random(3, 3), random(20, 2, 3)),
    ),
    "linear": (
        ct.sweep(ct.fork(ct.fork(MUL, ct.proj(2)) >> ct.add, ct.proj(2)), 20),
        (random(2, 3), random(3, 3), random(20, 2, 3)),
    ),
    "a state that an input replaces": (ct.sweep(ct.fork(ct.proj(2), ct.proj(0)), 20), (random(3), (), random(20, 3))),
    "a state that is given": (ct.sweep(ct.fork(ct.proj(1), ct.proj(0)), 20), (random(3), random(3), ())),
    "one array as two states": (ct.dup >> ct.iterate(ct.map(lambda a, b: (b, np.sin(a + b))), 20), (random(3),)),
    "integers beside": (
        ct.iterate(ct.map(lambda a, b, k: (b, a + b * (k % 2 + 1) * 0.1, k + 1)), 20),
        ((1.0, 2.0, np.int64(0)),),
    ),
    "truth values": (
        ct.iterate(ct.map(lambda s, on: (s * 1.1 if on else s - 0.1, s < 1.0)), 20),
        ((random(5), np.array([True, False, True, False, True])),),
    ),
    "a while loop": (HALVE, (np.float64(77.0),)),
    "a while loop without steps": (HALVE, (np.float64(0.5),)),
    "while loops in lanes": (ct.map(HALVE), (np.array([0.3, 5.0, 1000.0, 1.0, 17.0]),)),
    "while loops in lanes of lanes": (ct.map(ct.map(HALVE)), (np.array([[0.3, 5.0], [1000.0, 1.0]]),)),
    "while loops in no lanes": (ct.map(HALVE), (random(0),)),
    "a while loop in a loop": (ct.iterate(HALVE >> ct.map(lambda x: x * x * 9.0), 20), (np.float64(0.9),)),
    "a loop in a while loop": (
        ct.while_loop(ct.map(lambda x: x > 0.1), ct.iterate(ct.map(lambda x: x * 0.99), 20)),
        (np.float64(3.0),),
    ),
    "choices in a loop": (ct.iterate(SIDE, 20), (np.float64(0.3),)),
    "choices in lanes of a loop": (ct.iterate(ct.map(SIDE), 20), (random(6),)),
    "a loop in a choice": (
        ct.choose(ct.map(lambda s: s > 0.4), ct.iterate(ct.sin, 20), ct.iterate(ct.cos, 17)),
        (np.float64(0.7),),
    ),
    "a scan in a loop": (ct.iterate(ct.scan(ct.add, 0.0) >> ct.map(lambda s: 0.1 * s), 20), (random(7),)),
    "folds in a loop": (ct.iterate(ct.fork(ct.id, ct.sum() >> ct.map(lambda s: 0.1 * s)) >> ct.mul, 20), (random(4, 5),)),
    "gathers": (
        ct.sweep(ct.fork(ct.fork(ct.proj(0), ct.fork(ct.proj(1), ct.proj(2)) >> ct.gather) >> ct.add >> ct.tanh, ct.it), 20),
        (random(2), random(5, 2), np.arange(20) % 5),
    ),
    "large products": (ct.iterate(ct.dup >> ct.matmul >> ct.map(lambda v: np.tanh(0.2 * v)), 17), (random(36, 36),)),
    "large products, float32": (
        ct.iterate(ct.fork(ct.transpose(), ct.id) >> ct.matmul >> ct.map(lambda v: np.tanh(0.2 * v)), 17),
        (random(36, 36).astype(np.float32),),
    ),
    "checkpointed steps": (ct.iterate(ct.checkpoint(STEP >> STEP), 20), (random(3),)),
}


@pytest.mark.quick(7)
@pytest.mark.parametrize("name", TERMS)
def test_loops_as_terms(name: str, ran: Ran) -> None:
    f, x = TERMS[name]
    compare(f, x, ran)


@pytest.mark.parametrize("counts", [(10.0, 3.0, 10.0, 1.5, 0.5, 40.0), (0.5, 10.0, 0.5)])
def test_a_while_loop_may_take_fewer_steps_than_before(counts: tuple[float, ...]) -> None:
    halve = ct.while_loop(ct.map(lambda x: x > 1.0), ct.map(lambda x: x / 2.0 + 0.01 * x * x))
    for x in counts:
        with ct.use_engine("cpu"):
            got = ct.value_and_grad(halve)(x)
        with ct.use_engine("reference"):
            want = ct.value_and_grad(halve)(x)
        assert np.allclose(got, want, rtol=1e-13)

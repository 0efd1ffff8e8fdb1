"""Arrays in lists that loops fill: aliases, later writes, numbers that are known, elements by data."""

# ruff: noqa: B905, B007

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct
from tests.traced.harness import check

PROGRAMS: dict[str, Callable[..., Any]] = {}
X = np.array([1.5137, 0.7071, -0.2236])
REFUSED = ["bools", "data_size", "out_i_data_write"]


def program(fn: Callable[..., Any]) -> Callable[..., Any]:
    PROGRAMS[fn.__name__] = fn
    return fn


@program
def counter_slice(x: Any) -> Any:
    k = 0
    s = 0.0
    for i in range(40):
        s = s * 0.5 + x[0]
        if i % 20 == 0:
            k += 1
    return s * x[:k]


@program
def counter_index(x: Any) -> Any:
    k = 0
    s = 0.0
    for i in range(40):
        s = s * 0.5 + x[0]
        k += 1
    return s * k, range(k)[3] * x


@program
def loopvar_size(x: Any) -> Any:
    s = 0.0
    for i in range(20):
        s = s * 0.5 + x[0]
    return np.zeros(i) + s


@program
def ks_slice(x: Any) -> Any:
    out = []
    ks = []
    s = x[0]
    for i in range(40):
        s = s * 0.5
        out.append(s)
        ks.append(i)
    return x[: ks[2]] * out[ks[3]]


@program
def mask(x: Any) -> Any:
    out = []
    m = []
    s = x[0]
    for i in range(40):
        s = s * 0.5
        out.append(s)
        m.append(i % 2 == 0)
    return np.array(out)[np.array(m)]


@program
def data_size(x: Any) -> Any:
    k = 0
    s = 0.0
    for i in range(400):
        s = s * 0.5 + x[0]
        k = k + (s > 1)
    return np.zeros(int(k))


@program
def out_i_data(x: Any) -> Any:
    out = []
    s = x
    for i in range(40):
        s = s * 0.5
        out.append(s)
    k = np.argmax(x)
    return out[k + 3]


@program
def out_i_data_write(x: Any) -> Any:
    out = []
    for i in range(40):
        out.append(x * i)
    k = np.argmax(x)
    e = out[k]
    out[0][0] = 50.0
    return e


@program
def out_i_rolled_write(x: Any) -> Any:
    out = []
    for i in range(40):
        out.append(x * i)
    for i in range(40):
        out[i][0] = i
    return np.stack(out)


@program
def iter_write(x: Any) -> Any:
    out = []
    for i in range(40):
        out.append(x * i)
    for o in out:
        o += 1
    return np.stack(out)


@program
def iter_write_other(x: Any) -> Any:
    out = []
    for i in range(40):
        out.append(x * i)
    s = 0.0
    for o in out:
        out[5][0] = out[5][0] + 1.0
        s = s + o.sum()
    return s


@program
def elem_write(x: Any) -> Any:
    out = []
    for i in range(40):
        out.append(x * i)
    out[3][1] = 99.0
    return np.stack(out)


@program
def elem_swap(x: Any) -> Any:
    out = []
    for i in range(40):
        out.append(x * i)
    out[3], out[4] = out[4], out[3]
    return np.stack(out)


@program
def start_written(x: Any) -> Any:
    y = x * 1
    out = []
    z = y
    for i in range(40):
        out.append(y)
        y = y * 0.9
    z[0] = 50.0
    return np.stack(out), y


@program
def delayed(x: Any) -> Any:
    a = x * 1
    b = x * 2
    c = x * 3
    out = []
    for i in range(40):
        out.append(c)
        a, b, c = b, c, a * 0.5 + b
    a[0] = 77.0
    return np.stack(out), a, b, c


@program
def delayed2(x: Any) -> Any:
    a = x * 1
    b = x * 2
    o1 = []
    o2 = []
    for i in range(40):
        o1.append(a)
        o2.append(b)
        a, b = b, a * 0.5 + b
    o1[5][0] = 77.0
    return np.stack(o1), np.stack(o2), a, b


@program
def same_twice(x: Any) -> Any:
    o1 = []
    o2 = []
    for i in range(40):
        y = x * i
        o1.append(y)
        o2.append(y)
    o1[5][0] = 77.0
    return np.stack(o1), np.stack(o2)


@program
def view_out(x: Any) -> Any:
    out = []
    for i in range(40):
        y = x * i
        out.append(y[1:])
        y[1] = 3.0
    return np.stack(out)


@program
def scalar_snapshot(x: Any) -> Any:
    out = []
    for i in range(40):
        y = x * i
        out.append(y[1])
        y[1] = 3.0
    return np.stack(out)


@program
def last_and_final(x: Any) -> Any:
    y = x * 1
    out = []
    for i in range(40):
        y = y * 0.9
        out.append(y)
    y[0] = 9.0
    return np.stack(out)


@program
def last_and_final2(x: Any) -> Any:
    y = x * 1
    out = []
    for i in range(40):
        y = y * 0.9
        out.append(y)
    y = y + 1
    return np.stack(out) * y


@program
def tuple_out(x: Any) -> Any:
    out = []
    s = 0.0
    for i in range(40):
        s = s * 0.9 + x[0]
        out.append((s, x * i, i))
    a = np.stack([t[1] for t in out])
    b = np.array([t[0] for t in out])
    c = [t[2] for t in out]
    return a, b, np.array(c), sum(c)


@program
def unzip(x: Any) -> Any:
    out = []
    s = 0.0
    for i in range(40):
        s = s * 0.9 + x[0]
        out.append((s, x * i))
    a, b = zip(*out)
    return np.array(a), np.stack(b)


@program
def dtype_f32(x: Any) -> Any:
    out = []
    s = np.float32(1.5)
    for i in range(40):
        s = s * np.float32(0.5)
        out.append(s)
    return np.array(out) * x[0]


@program
def bools(x: Any) -> Any:
    out = []
    for i in range(40):
        out.append(x[0] * i > 3)
    return np.array(out), np.array(out).sum(), any(out), all(out)


@pytest.mark.parametrize("name", PROGRAMS)
def test_lists_are_pythons(name: str) -> None:
    check(PROGRAMS[name], X, refuses=name in REFUSED, grad=False if name in REFUSED else None)


def test_a_size_that_data_decide_does_not_unroll_the_loop_first() -> None:
    def f(x):
        k = 0
        for _ in range(10**6):
            k = k + (x[0] > 1)
        return np.zeros(int(k))

    with pytest.raises(ct.TraceError, match="needs a number"):
        ct.function(f)(X)

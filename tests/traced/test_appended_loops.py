"""Lists that loops fill in programs: numbers and their types, loops inside loops, recurrences, branches in loops."""

# ruff: noqa: SIM108, B007

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.traced.harness import check

PROGRAMS: dict[str, Callable[..., Any]] = {}
X = np.array([1.5137, 0.7071, -0.2236])
C = np.array([1.0, 2.0, 3.0])
REFUSED = ["continue_inside"]


def program(fn: Callable[..., Any]) -> Callable[..., Any]:
    PROGRAMS[fn.__name__] = fn
    return fn


@program
def weak_types(x: Any) -> Any:
    out = []
    for i in range(40):
        out.append(i * 2)
    return (np.ones(3, np.float32) * out[3]), isinstance(out[3], int) * x, np.array(out)


@program
def weak_float(x: Any) -> Any:
    out = []
    s = 0.5
    for i in range(40):
        s = s * 0.5
        out.append(s)
    return np.ones(3, np.float32) * out[2]


@program
def nested3(x: Any) -> Any:
    res = []
    for i in range(18):
        row = []
        for j in range(18):
            cell = []
            for k in range(18):
                cell.append(x * i + j * k)
            row.append(np.stack(cell).sum(0))
        res.append(np.stack(row))
    return np.stack(res)


@program
def rnn(x: Any) -> Any:
    W = np.outer(x, x)
    h = np.zeros(3)
    hs = []
    xs = np.outer(np.linspace(0, 1, 50), x)
    for t in range(50):
        h = np.tanh(W @ h + xs[t])
        hs.append(h)
    return np.stack(hs)


@program
def rk4(x: Any) -> Any:
    y = x
    ys = [y]
    ts = [0.0]
    dt = 0.01
    for i in range(60):
        k1 = np.sin(y)
        k2 = np.sin(y + dt / 2 * k1)
        y = y + dt * k2
        ys.append(y)
        ts.append(ts[-1] + dt)
    return np.stack(ys), np.array(ts)


@program
def arrmix(x: Any) -> Any:
    out = [1.0, x[0]]
    s = x[1]
    for i in range(30):
        s = s * 0.9
        out.append(s)
    out.append(2)
    for i in range(30):
        s = s * 0.9
        out.append(s)
    return np.array(out)


@program
def rk4b(x: Any) -> Any:
    y = x
    ys = [y]
    dt = 0.01
    for i in range(60):
        k1 = np.sin(y)
        k2 = np.sin(y + dt / 2 * k1)
        y = y + dt * k2
        ys.append(y)
    return np.stack(ys)


@program
def in_loop_reset(x: Any) -> Any:
    tot = []
    for i in range(30):
        out = []
        for j in range(30):
            out.append(x[0] * j + i)
        tot.append(sum(out))
    return np.array(tot)


@program
def reuse_name(x: Any) -> Any:
    out = []
    for i in range(30):
        out.append(x * i)
    a = np.stack(out)
    out = []
    for i in range(30):
        out.append(x + i)
    return a, np.stack(out)


@program
def else_append(x: Any) -> Any:
    out = []
    for i in range(30):
        out.append(x * i)
    else:
        out.append(x)
    return np.stack(out)


@program
def append_in_target(x: Any) -> Any:
    out = []
    for i in range(30):
        y = out.append(x * i)
    return x if y is None else x * 2


@program
def empty_slice(x: Any) -> Any:
    out = []
    for i in range(30):
        out.append(x * i)
    return np.stack(out[::-1]), np.stack(out[5:25:3]), np.array(out[10:4:-2])


@program
def while_inside(x: Any) -> Any:
    out = []
    for i in range(30):
        y = np.abs(x) * i
        while y.sum() > 1:
            y = y * 0.5
        out.append(y)
    return np.stack(out)


@program
def branch_inside(x: Any) -> Any:
    out = []
    s = x[0]
    for i in range(30):
        if s > 0.5:
            s = s * 0.5
        else:
            s = s + 1
        out.append(s)
    return np.array(out)


@program
def continue_inside(x: Any) -> Any:
    out = []
    s = x[0]
    for i in range(30):
        s = s * 0.9
        if s > 0.5:
            continue
        out.append(s)
    return len(out) * x


@program
def append_then_continue(x: Any) -> Any:
    out = []
    s = x[0]
    for i in range(30):
        out.append(s)
        if s > 0.5:
            s = s * 0.5
            continue
        s = s + 1
    return np.array(out)


@program
def append_then_break(x: Any) -> Any:
    out = []
    s = np.abs(x[0])
    for i in range(30):
        out.append(s)
        s = s + 0.3
        if s > 5:
            break
    return np.array(out).sum()


@program
def enumerate_out(x: Any) -> Any:
    out = []
    for i in range(30):
        out.append(x * i)
    s = 0.0
    for k, o in enumerate(out):
        s = s * 0.5 + o.sum() * k
    return s


@program
def matrix_rows(x: Any) -> Any:
    a = np.outer(np.arange(30.0), x)
    out = []
    for r in a:
        out.append(r)
    out[3][0] = 5.0
    return np.stack(out), a


@program
def matrix_rows_computed(x: Any) -> Any:
    a = np.outer(np.arange(30.0), x)
    out = []
    for r in a:
        out.append(r / (1 + r @ r))
    return np.stack(out)


@program
def numpy_rows(x: Any) -> Any:
    out = []
    for r in np.arange(60.0).reshape(20, 3):
        out.append(r)
    return np.stack(out) * x


@program
def captured_appended(x: Any) -> Any:
    out = []
    for i in range(20):
        out.append(C)
    return np.stack(out) * x


C = np.array([1.0, 2.0, 3.0])


@pytest.mark.parametrize("name", PROGRAMS)
def test_lists_are_pythons(name: str) -> None:
    check(PROGRAMS[name], X, refuses=name in REFUSED, grad=False if name in REFUSED else None)

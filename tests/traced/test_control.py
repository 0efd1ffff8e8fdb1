"""Control flow on static and on traced values: the values of NumPy, in every path, and their derivatives."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.testing import check_grads
from tests.traced.programs import compare, module

PROGRAMS = {
    "if": """
        if x[0] > 0:
            y = x * 2
        else:
            y = x / 3
        return y
        """,
    "if without else": """
        y = x
        if x[0] > 0:
            y = y * n
        return y.sum()
        """,
    "elif": """
        s = x.sum()
        if s > 2:
            r = s
        elif s > 1:
            r = s * s
        elif s > -1:
            r = -s
        else:
            r = 0.0
        return r
        """,
    "early return": """
        if x[0] > 1:
            return x[0]
        if x[1] > 1:
            return x[1] * 2
        return x.sum()
        """,
    "return in both": """
        if x[0] > x[1]:
            return x[0] - x[1]
        else:
            return x[1] - x[0]
        """,
    "ternary": "return (x[0] if x[0] > x[1] else x[1] * 2) + n",
    "and or not": """
        a = x[0] > 0 and x[1] > 0
        b = x[0] < -1 or not a
        return (x[0] if a else x[1]) + (1.0 if b else 2.0)
        """,
    "or default": """
        z = x[0] * 0 or n
        return z + 1
        """,
    "chain": "return x.sum() if 0 < x[0] < 2 <= n + 1 else x.prod()",
    "nested if": """
        y = x
        if x[0] > 0:
            if x[1] > 0:
                y = y + 1
            else:
                z = y * 2
                y = z - 1
        return y
        """,
    "bound on one side": """
        if x[0] > -100:
            t = x * 2
        else:
            pass
        if x[0] > -100:
            return t
        return x
        """,
    "different things": """
        if x[0] > 0:
            kind = "sin"
        else:
            kind = "cos"
        return np.sin(x) if kind == "sin" else np.cos(x)
        """,
    "different shapes": """
        if x[0] > 0:
            y = x
        else:
            y = x.sum()
        return np.sum(y)
        """,
    "different functions": """
        g = np.sin if x[0] > 0 else np.cos
        return g(x)
        """,
    "lists in a branch": """
        out = []
        if x[0] > 0:
            out.append(x[0])
        else:
            out.append(x[1])
        return out[0]
        """,
    "dict in a branch": """
        d = {"a": x}
        if x[0] > 0:
            d["a"] = x * 2
        return d["a"]
        """,
    "helper with return": """
        def g(v):
            if v > 0:
                return v * 2
            return v
        return g(x[0]) + g(x[1])
        """,
    "while": """
        y = x
        while y.sum() > 1:
            y = y / 2
        return y
        """,
    "while with counter": """
        y, k = x, 0
        while np.abs(y).sum() > 0.5:
            y = y * 0.7
            k += 1
        return y, k
        """,
    "while true break": """
        y = x * 4
        while True:
            y = y / 2
            if np.abs(y).max() < 1:
                break
        return y
        """,
    "while break else": """
        k = 0
        while k < 5:
            k += 1
            if x[0] * k > 3:
                break
        else:
            k = k + 100
        return x * k
        """,
    "while continue": """
        k, s = 0, 0.0
        while k < 6:
            k += 1
            if x[0] * k > 2:
                continue
            s = s + k * x[1]
        return s
        """,
    "return in while": """
        k = 0
        while k < 50:
            k += 1
            if x[0] * k > 3:
                return x * k
        return x
        """,
    "for": """
        s = 0.0
        for i in range(5):
            s = s + x[i % 3] * i
        return s
        """,
    "for rolled": """
        s = 0.0
        for i in range(40):
            s = s * 0.9 + x[i % 3]
        return s
        """,
    "for rolled, if": """
        s = 0.0
        for i in range(40):
            if s > 2:
                s = s / 2
            else:
                s = s + x[1] + i * 0.01
        return s
        """,
    "for rolled, break": """
        s = 0.0
        for i in range(40):
            s = s + np.abs(x[1])
            if s > 7:
                break
        return s, i
        """,
    "for rolled, continue": """
        s = 0.0
        for i in range(40):
            if i % 3 == 0:
                continue
            s = s + x[0] * i
        return s
        """,
    "for rolled, return": """
        s = 0.0
        for i in range(40):
            s = s + np.abs(x[0])
            if s > 5:
                return s * 2, i
        return s, -1
        """,
    "for rolled, else": """
        s = 0.0
        for i in range(40):
            s = s + np.abs(x[0])
            if s > 50:
                break
        else:
            s = s + 1000
        return s
        """,
    "for rolled, list index": """
        w = [1.0, 2.0, 3.0]
        s = 0.0
        for i in range(30):
            s = s + w[i % 3] * x[0]
        return s
        """,
    "for rolled, append": """
        out = []
        s = x[0]
        for i in range(20):
            s = s * 0.5 + x[1]
            out.append(s)
        return np.array(out)
        """,
    "for rolled, slice by index": """
        s = 0.0
        y = np.zeros(20)
        for i in range(20):
            y[i] = x[0] * i
            s = s + y[:i].sum()
        return s, y
        """,
    "for rolled, nested": """
        a = np.zeros((18, 19))
        for i in range(18):
            for j in range(19):
                a[i, j] = x[0] * i + x[1] * j
        return a
        """,
    "for rolled, triangle": """
        s = 0.0
        for i in range(18):
            for j in range(i):
                s = s + x[0] * j
        return s
        """,
    "for rolled, weak state": """
        s, t, k = 0, 1, 0.5
        for i in range(20):
            s = s + x[0]
            t = t + 1
            k = k * 0.5
        return s, t, k
        """,
    "for rolled, exchange": """
        a, b = x[0], x[1]
        for i in range(21):
            a, b = b, a + b * 0.1
        return a, b
        """,
    "for rolled, alias": """
        a = x * 1
        b = a
        for i in range(20):
            a[0] = a[0] + 1
            b = b + 0
        return a, b
        """,
    "for rolled, previous": """
        y = x * 1
        old = y
        for i in range(20):
            old = y
            y = y * 0.9 + 0.1
        return y - old
        """,
    "for rolled, None first": """
        best = None
        for i in range(20):
            v = x[i % 3] * i
            if best is None:
                best = v
            else:
                best = max(best, v)
        return best
        """,
    "for over rows": """
        a = np.outer(x, np.ones(4))
        s = np.zeros(4)
        for row in a:
            s = s + row
        return s
        """,
    "for over many rows": """
        a = np.outer(np.arange(30.0), x)
        s = np.zeros(3)
        for k, row in enumerate(a):
            s = s * 0.5 + row * k
        return s
        """,
    "for over pairs": """
        a = np.outer(np.arange(30.0), x)
        s = 0.0
        for row, t in zip(a, np.linspace(0, 1, 30)):
            s = s + (row * t).sum()
        return s
        """,
    "for reversed": """
        s = 0.0
        for i in reversed(range(30)):
            s = s * 0.8 + x[0] * i
        return s
        """,
    "for over a list": """
        s = 0.0
        for v in [x[0], x[1], 3.0]:
            s = s + v
        return s
        """,
    "comprehension": "return sum([v * v for v in x]) + sum(x[i] for i in range(3))",
    "loop variable afterwards": """
        for i in range(25):
            y = x * i
        return y, i
        """,
    "temporaries in a loop": """
        s = 0.0
        for i in range(25):
            t = np.sin(x) * i
            u = t.sum()
            s += u
        return s, u
        """,
    "range of data": """
        s = 0.0
        for i in range(int(n)):
            s = s + x[0]
        return s
        """,
    "range of an integer": """
        s = 0.0
        for i in range(k):
            s = s * 0.9 + x[0] * i
        return s
        """,
    "range of an integer, break": """
        s = 0.0
        for i in range(1, k, 2):
            s = s * 0.9 + x[0] * i
            if s > 3:
                break
        return s
        """,
    "match": """
        match x.shape[0]:
            case 3:
                return x * 3
            case _:
                return x
        """,
    "assert": """
        assert x[0] > -1e9, "too small"
        return x * 2
        """,
    "max min": "return max(x[0], x[1], 0.3) + min(x[0], 0.1)",
    "try": """
        try:
            y = x[:2]
        finally:
            z = 1.0
        return y * z
        """,
    "with": """
        with np.errstate(all="ignore"):
            y = np.log(np.abs(x)) if x[0] > 0 else x
        return y
        """,
    "lambda": """
        g = lambda v: v * v if v > 0 else -v
        return g(x[0]) + g(x[1])
        """,
    "closure": """
        k = x[0]
        def g(v):
            return v * k
        k = x[1]
        return g(x[2])
        """,
    "nonlocal": """
        total = 0.0
        def add(v):
            nonlocal total
            total = total + v
        for i in range(3):
            add(x[i])
        return total
        """,
    "walrus": """
        if (s := x.sum()) > 0:
            return s * 2
        return s
        """,
    "not on one side": """
        y = x
        if not x[0] > 0:
            y = np.log(1 - x)
        return y
        """,
    "NaN in the side not taken": """
        if x[0] > 0:
            y = np.log(x[0])
        else:
            y = x[0] * 2
        return y
        """,
}
POINTS = [np.array([1.5, 0.7, 0.2]), np.array([-0.4, 0.3, 2.0]), np.array([0.3, -2.5, 1.25])]
SMOOTH = [np.array([1.5137, 0.7071, 0.2236]), np.array([-0.4142, 0.3419, 0.9437]), np.array([0.3091, -2.5117, 1.2533])]  # no kink
MAY_REFUSE = {"range of data"}


def program(name: str) -> Any:
    body = textwrap.indent(textwrap.dedent(PROGRAMS[name]).strip(), "    ")
    return module(f"def f(x, n, k=np.int64(7)):\n{body}\n").f


@pytest.mark.quick(30)
@pytest.mark.parametrize("name", PROGRAMS)
def test_control_flow_is_pythons(name: str) -> None:
    fn = program(name)
    for x in POINTS:
        found = compare(fn, x, 2.0, np.int64(7))
        assert found == "equal" or name in MAY_REFUSE, found


@pytest.mark.quick(12)
@pytest.mark.parametrize("name", sorted(PROGRAMS.keys() - MAY_REFUSE))
def test_derivatives_follow_the_path_that_is_taken(name: str) -> None:
    fn = program(name)
    f = ct.function(lambda x: fn(x, 2.0, np.int64(7)))
    for x in SMOOTH:
        check_grads(f, x, order=1)


def test_a_loop_that_asks_one_thing_of_data_without_end_is_refused() -> None:
    def f(s, t):
        while s > 1e9:
            t = t * 2.0

        def inner(a):
            nonlocal t
            t = t * 0.5 + a
            return t

        return inner(s)

    with pytest.raises(ct.TraceError, match="asks one thing of data without end"):
        ct.function(f)(1.0, 2.0)

"""Names of one array: what a branch or a loop leaves in them stays one array, or a write into it is refused."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest

import catad as ct
from tests.traced.programs import compare, module

PROGRAMS = {
    "row after": """
        def f(x, a):
            y = a * 1
            s = 0.0
            for r in y:
                s = s + r.sum()
            r += 1
            return y, s, r
        """,
    "row after base write": """
        def f(x, a):
            y = a * 1
            s = 0.0
            for r in y:
                s = s + r.sum()
            y[-1] = 0
            return y, s, r
        """,
    "view after": """
        def f(x, a):
            y = a * 1
            s = 0.0
            for i in range(20):
                r = y[1]
                s = s + r.sum()
            r += 1
            return y, s, r
        """,
    "view after base": """
        def f(x, a):
            y = a * 1
            s = 0.0
            for i in range(20):
                r = y[1]
                s = s + r.sum()
            y[1] = 5
            return y, s, r
        """,
    "alias of state": """
        def f(x, a):
            y = a * 1
            for i in range(20):
                y = y * 0.9
                z = y
            z += 1
            return y, z
        """,
    "alias of state 2": """
        def f(x, a):
            y = a * 1
            z = y
            for i in range(20):
                y = y * 0.9
                z = y
            y += 1
            return y, z
        """,
    "view of state": """
        def f(x, a):
            y = a * 1
            for i in range(20):
                y = y * 0.9
                z = y[0]
            z += 1
            return y, z
        """,
    "alias of outer": """
        def f(x, a):
            y = a * 1
            for i in range(20):
                z = y
                x = x + z[0]
            z += 1
            return y, z, x
        """,
    "alias of outer rebound": """
        def f(x, a):
            y = a * 1
            z = a * 2
            for i in range(20):
                z = y
                x = x + z[0]
            z += 1
            return y, z, x
        """,
    "alias by data in a loop": """
        def f(x, a):
            y = a * 1
            z = a * 2
            for i in range(20):
                if x[0] > 3:
                    z = y
                x = x + z[0]
            z += 1
            return y, z, x
        """,
    "tuple alias": """
        def f(x, a):
            y = a * 1
            t = (y, y)
            for i in range(20):
                t = (t[0]*.5, t[1])
            t[1][0] = 7
            return y, t
        """,
    "tuple alias both": """
        def f(x, a):
            y = a * 1
            t = (y, y)
            for i in range(20):
                u = t[0]*.5
                t = (u, u)
            t[1][0] = 7
            return y, t
        """,
    "while alias": """
        def f(x, a):
            y = a * 1
            z = y
            while y.sum() > 1:
                y = y * 0.5
                z = y
            z += 1
            return y, z
        """,
    "maybe not run": """
        def f(x, a):
            y = a * 1
            z = y
            while y.sum() > 100000:
                y = y * 0.5
            z += 1
            return y, z
        """,
    "alias by data, unchanged": """
        def f(x, a):
            y = a * 1
            z = y
            for i in range(20):
                if x[0] > 1e9:
                    y = y * 2
                x = x * 0.5
            z += 1
            return y, z, x
        """,
    "swap": """
        def f(x, a):
            y = a * 1
            z = a * 2
            for i in range(21):
                y, z = z, y
            z += 1
            return y, z, x
        """,
    "swap alias": """
        def f(x, a):
            y = a * 1
            z = a * 2
            o = y
            for i in range(21):
                y, z = z, y
            z += 1
            return y, z, o
        """,
    "helper returns its argument": """
        def g(q, k):
            return q
        def f(x, a):
            y = a * 1
            for i in range(20):
                z = g(y, i)
                x = x * 0.5 + z[0]
            z[1] = 3
            return y, z, x
        """,
    "branch alias": """
        def f(x, a):
            y = a * 1
            z = a * 2
            if x[0] > 0:
                z = y
            z += 1
            return y, z
        """,
    "branch view": """
        def f(x, a):
            y = a * 1
            z = x * 2
            if x[0] > 0:
                z = y[1]
            z += 1
            return y, z
        """,
    "branch fresh alias": """
        def f(x, a):
            y = a * 1
            if x[0] > 0:
                y = y * 2
                z = y
            else:
                y = y * 3
                z = y
            z += 1
            return y, z
        """,
    "branch fresh view": """
        def f(x, a):
            y = a * 1
            if x[0] > 0:
                y = y * 2
                z = y[0]
            else:
                z = y[1]
            z += 1
            return y, z
        """,
    "ternary alias": """
        def f(x, a):
            y = a * 1
            z = y if x[0] > 0 else a * 3
            z += 1
            return y, z
        """,
    "a truth value or an array": """
        def f(x, a):
            y = a * 1
            p = x[0] > 0
            z = (p and y)
            z += 1
            return y, z
        """,
    "while list alias": """
        def f(x, a):
            y = a * 1
            l = [y]
            while y.sum() > 1:
                y = y * 0.5
                l = [y]
            l[0] += 1
            return y, l[0]
        """,
    "dict state": """
        def f(x, a):
            y = a * 1
            d = {"a": y}
            for i in range(20):
                d = {"a": d["a"]}
                x = x * 0.9
            d["a"] += 1
            return y, d, x
        """,
    "steady copy": """
        def f(x, a):
            y = a * 1
            z = y
            for i in range(20):
                y = y.copy()
                x = x * 0.5 + y[0]
            y += 1
            return y, z, x
        """,
    "kept and bound": """
        def f(x, a):
            y = a * 1
            for i in range(20):
                y = y
                z = y
                x = x * 0.5 + y[0]
            z += 1
            return y, z, x
        """,
    "row kept": """
        def f(x, a):
            y = a * 1
            best = y[0]
            for r in y:
                if r.sum() > 2:
                    best = r
            y[:] = 0
            return y, best
        """,
    "rows written": """
        def f(x, a):
            y = a * 1
            for r in y:
                r *= 2
                x = x + r
            return y, x
        """,
    "rows written of an array with another name": """
        def f(x, a):
            m = a * 1
            for r in m:
                m = m[::-1]
                r[r > 0.5] = 0.1
                x = x + m[0]
            return m, x
        """,
    "rows of an array that changes": """
        def f(x, a):
            y = a * 1
            for r in y:
                y *= 0.9
                x = x + r
            return y, x
        """,
    "rows backwards of an array that changes": """
        def f(x, a):
            y = a * 1
            for k, (r, q) in enumerate(zip(reversed(y), y[::-1])):
                y[k % 3] += 0.1
                x = x + r - q * 0.5
            return y, x
        """,
    "previous rows": """
        def f(x, a):
            y = a * 1
            last = x
            for r in y:
                last, x = r, x + last
            last += 1
            return y, x, last
        """,
    "delayed": """
        def f(x, a):
            y, p, q = a * 1, a * 2, a * 3
            for i in range(20):
                q = p
                p = y
                y = y * 0.9
            q += 1
            y += 2
            return y, p, q
        """,
    "counted": """
        def f(x, a):
            y = a * 1
            n = (x > 0).sum()
            for i in range(n):
                z = y * 0.5
                y = z
            y += 1
            return y
        """,
    "while then write": """
        def f(x, a):
            while np.abs(x).sum() > 0.1:
                x = x * 0.5
            x[0] = 3.0
            return x
        """,
    "while in helper then write": """
        def g(q):
            while np.abs(q).sum() > 0.1:
                q = q * 0.5
            q[0] = 3.0
            return q
        def f(x, a):
            y = x * 2
            z = g(y)
            return z
        """,
    "while in helper then write and read": """
        def g(q):
            while np.abs(q).sum() > 100:
                q = q * 0.5
            q[0] = 3.0
            return q
        def f(x, a):
            y = x * 2
            z = g(y)
            return y, z
        """,
}
REFUSED = {"alias by data in a loop", "row kept", "maybe not run", "alias by data, unchanged", "a truth value or an array",
           "while in helper then write and read"}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_names_of_one_array_stay_so(name: str) -> None:
    made = module(textwrap.dedent(PROGRAMS[name]))
    x, a = np.array([0.5, -0.3, 0.2]), np.arange(60.0).reshape(20, 3) / 30
    assert compare(made.f, x, a) == ("refused" if name in REFUSED else "equal")


def test_what_is_read_by_a_mask_is_changed_in_place() -> None:
    def shared(x):
        a = x[x > 0]
        b = a
        a -= 0.5
        return b.sum()

    def written(x):
        x[x > 0] -= 0.5
        return x

    for dtype in (np.float64, np.float32):
        x = np.array([1.0, -1.0, 2.0], dtype)
        assert ct.function(shared)(x) == shared(x) == 2.0
        assert ct.function(written)(x).tolist() == [0.5, -1.0, 1.5]
    assert np.array_equal(ct.grad(shared)(np.array([1.0, -1.0, 2.0])), [1.0, 0.0, 1.0])
    with pytest.raises(ct.SpaceError, match="in place"):  # NumPy raises, too
        ct.function(written)(np.array([1, -1, 2]))

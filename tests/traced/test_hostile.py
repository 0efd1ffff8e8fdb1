"""Programs that are easy to get wrong: NumPy's value and derivative, or a `TraceError`; never something else.

Each program is a module with `f(x, a, n)`: a vector of 3, a matrix of 20 x 3, and an integer. "refused" stands where
catad has to refuse, with words of the message.
"""

from __future__ import annotations

import copy
import textwrap
from typing import Any

import numpy as np
import pytest

import catad as ct
from tests.traced.programs import compare, module, outcome

PROGRAMS: dict[str, str] = {
    "aliasing": """
        def f(x, a, n):
            y = z = x * 2
            z += 1
            y[0] = 5.0
            return y + z
        """,
    "views of views": """
        def f(x, a, n):
            b = a * 1
            v = b[2:].T[1:][0]
            v *= x[0]
            w = v[::2]
            w += 1
            return b, v.sum()
        """,
    "in place through a transpose": """
        def f(x, a, n):
            b = a[:3] * 1
            b.T[0] = x
            b.T[1] += x
            return b
        """,
    "overlapping views": """
        def f(x, a, n):
            b = a[:, 0] * x[0]
            b[1:] += b[:-1]
            b[:-1] = b[1:]
            return b
        """,
    "a closure that changes": """
        def f(x, a, n):
            k = 1.0
            def g(v):
                return v * k
            y = g(x)
            k = x[0]
            return y + g(x)
        """,
    "closures made in a loop": """
        def f(x, a, n):
            fs = []
            for i in range(3):
                fs.append(lambda v: v * x[i])
            return fs[0](x) + fs[1](x)
        """,
    "nonlocal in a loop": """
        def f(x, a, n):
            s = 0.0
            def add(v):
                nonlocal s
                s = s + v
            for i in range(20):
                add(a[i, 0] * x[1])
            return s
        """,
    "masked read": """
        def f(x, a, n):
            y = x * 1
            y[y > 0] = np.sqrt(y[y > 0])
            return y, y[y < 0].sum()
        """,
    "masked write of a masked read": """
        def f(x, a, n):
            y = x * 1
            m = y > 0
            y[m] += y[m] ** 2
            y[~m] = -y[~m]
            return y
        """,
    "int of data as a size": "def f(x, a, n):\n    return np.ones(int(x[1]) + 5).sum() * a\n",
    "a traced index": """
        def f(x, a, n):
            return a[n] * x, a[-n].sum(), a[n, n % 3]
        """,
    "while True": """
        def f(x, a, n):
            k = 0
            while True:
                x = x * 0.7
                k += 1
                if abs(x).sum() < 0.1:
                    break
                if k > 50:
                    return x * 0, -1
            return x, k
        """,
    "fft": "def f(x, a, n):\n    return np.fft.fft(x).real\n",
    "a captured array is written": "A = np.ones(3)\ndef f(x, a, n):\n    A[0] = x[0]\n    return A * x\n",
    "a captured array is written in place": "A = np.ones(3)\ndef f(x, a, n):\n    b = A[:2]\n    b += x[:2]\n    return A * x\n",
    "a captured list is changed": """
        KEPT = [1.0]
        def f(x, a, n):
            if len(KEPT) > 1:
                KEPT.pop()
            KEPT.append(x[0])
            return KEPT[0] * x + KEPT[-1]
        """,
    "a mutable default": """
        def g(v, seen=[]):
            seen.append(1)
            return v * 2
        def f(x, a, n):
            return g(x) + g(x)
        """,
    "a default array": """
        def f(x, a, n, scale=np.arange(3.0)):
            return x * scale
        """,
    "a default array is written": """
        def f(x, a, n, scale=np.arange(3.0)):
            scale += x
            return scale
        """,
    "a generator": """
        def rows(b):
            for r in b:
                yield r * 2
        def f(x, a, n):
            return sum(r @ x for r in rows(a)), [r[0] for r in rows(a[:2])]
        """,
    "a generator with a branch on data": """
        def positive(b):
            for v in b:
                if v > 0:
                    yield v
        def f(x, a, n):
            return sum(v * v for v in positive(x))
        """,
    "global state": """
        COUNT = 0
        def f(x, a, n):
            global COUNT
            COUNT = 3
            y = x * COUNT
            COUNT = 4
            return y + COUNT
        """,
    "list aliasing in branches": """
        def f(x, a, n):
            p, q = [x[0]], [x[1]]
            r = p if x[2] > 0 else q
            r.append(x[2])
            return sum(p) - 2 * sum(q)
        """,
    "array aliasing in branches": """
        def f(x, a, n):
            p, q = x * 2, x * 3
            r = p
            if x[2] > 0:
                r = q
            r[1] = 7.0
            return p, q
        """,
    "dict aliasing in branches": """
        def f(x, a, n):
            p, q = {"k": x[0]}, {"k": x[1]}
            r, t = p, {"k": x[2]}
            if x[2] > 0:
                r = q
                t = {"k": x[0]}
            t["k"] = t["k"] * 2
            u = r
            u["k"] = 4.0
            return p, q, t
        """,
    "list aliasing in a loop": """
        def f(x, a, n):
            p = [x[0]]
            for i in range(20):
                p = [p[0] * 0.9]
                q = p
            q.append(1.0)
            return p, q
        """,
    "list aliasing by a loop": """
        def f(x, a, n):
            p, q = [x[0]], [x[1]]
            for i in range(21):
                p, q = q, p
            r = p
            q[0] = 5.0
            return p, q, r
        """,
    "list aliasing by a while loop": """
        def f(x, a, n):
            p = q = [x[0]]
            while p[0] > 0.1:
                p = [p[0] * 0.5]
            p.append(1.0)
            return p, q
        """,
    "the order of a dict": """
        def f(x, a, n):
            d = {"b": x, "a": x * 2}
            if x[0] > 0:
                d = {"b": x * 3, "a": x}
            for i in range(20):
                d = {"b": d["b"] * 0.9, "a": d["a"]}
            return list(d.values())
        """,
    "global state in a helper": """
        COUNT = 0
        def bump(v):
            global COUNT
            COUNT += 1
            return v * 0.9
        def f(x, a, n):
            global COUNT
            COUNT = 0
            for i in range(20):
                x = bump(x)
            if x[0] > 5:
                x = bump(x)
            return x * COUNT
        """,
    "shadowed names": """
        def f(x, a, n):
            sum, len, range, abs = np.prod, 3.0, 2, (lambda v: v * len)
            def np_(v):
                return abs(v) + range
            return np_(x) * sum(x)
        """,
    "a shadowed module": """
        class math:
            sin = staticmethod(lambda v: v * 100)
        def f(x, a, n):
            return math.sin(x[0]) + np.sin(x[1])
        """,
    "del": """
        def f(x, a, n):
            y = x * 2
            z = y
            del y
            z[0] = 1.0
            d = {"a": z, "b": x}
            del d["b"]
            return d
        """,
    "del in a branch": """
        def f(x, a, n):
            y = x * 2
            if x[0] > 0:
                del y
                y = x * 3
            return y
        """,
    "try and except": """
        def f(x, a, n):
            try:
                y = x.reshape(2, 2)
            except ValueError:
                y = x * 2
            try:
                z = {"a": 1}["b"]
            except KeyError as error:
                z = x[0]
            finally:
                y = y + 1
            return y * z
        """,
    "a bare except around control flow": """
        def f(x, a, n):
            out = []
            for i in range(4):
                try:
                    if x[0] > i:
                        out.append(x[1] * i)
                    else:
                        out.append(x[2])
                except:
                    out.append(-1.0)
            return sum(out)
        """,
    "an except that would catch a TraceError": """
        def f(x, a, n):
            try:
                k = x[1].item()
            except TypeError:
                k = 100
            return x * k
        """,
    "an exception in one branch is caught": """
        def f(x, a, n):
            try:
                y = x[7] if x[0] > 100 else x[1]
            except IndexError:
                y = x[2] * 0
            try:
                if x[0] > 0:
                    raise KeyError
            except KeyError:
                y = y * 2
            return y
        """,
    "an exception ends a loop": """
        def f(x, a, n):
            y = x * 2
            try:
                for i in range(30):
                    y = y + a[i]
            except IndexError:
                y = y * 0.5
            return y
        """,
    "an exception in a loop on data": """
        def f(x, a, n):
            try:
                while x.sum() < 50:
                    x = x + 1
                    x[5] = 1
            except IndexError:
                x = x + 100
            return x
        """,
    "suppress": """
        from contextlib import suppress
        def f(x, a, n):
            y = x * 2
            with suppress(IndexError):
                if x[0] > 100:
                    y = x[8]
                else:
                    y = x * 3
            return y
        """,
    "augmented assignment to an argument": """
        def g(v):
            v += 1
            v[0] *= 2
            return v.sum()
        def f(x, a, n):
            s = g(x)
            t = g(a[0])
            return x, a[0], s * t
        """,
    "augmented assignment to a number": """
        def g(v):
            v += 1
            return v
        def f(x, a, n):
            s = x[0]
            t = g(s)
            n += 2
            return s, t, n
        """,
    "augmented assignment to an entry of a tuple": """
        def f(x, a, n):
            t = (x * 1, x * 2)
            try:
                t[0][0] += 5
                u = t[1]
                u *= 2
            except TypeError:
                pass
            return t
        """,
    "an early return in nested loops": """
        def f(x, a, n):
            for i in range(20):
                for j in range(3):
                    if a[i, j] * x[0] > 0.4:
                        return a[i, j] * x, i, j
            return x * 0, -1, -1
        """,
    "an early return of another shape": """
        def f(x, a, n):
            for i in range(3):
                if x[i] < 0:
                    return x[i] * 2
            return x
        """,
    "chained comparison of arrays": "def f(x, a, n):\n    return x if 0 < x < 1 else x * 2\n",
    "chained comparison of numbers": """
        def f(x, a, n):
            calls = []
            def once(v):
                calls.append(1)
                return v
            inside = 0 < once(x[0]) < 1
            return x * inside + len(calls)
        """,
    "x or y": """
        def f(x, a, n):
            return (x[0] or x[1]) + (0 * x[0] or x[2]) + (x[1] and x[2]) + ([] or 1.0) + (None or x[0])
        """,
    "x or y of arrays": "def f(x, a, n):\n    return x or x * 2\n",
    "not": """
        def f(x, a, n):
            return (not x[0]) * 1.0 + (not []) + (not x[0] > 5)
        """,
    "a dict changed in a loop": """
        def f(x, a, n):
            d = {}
            for i in range(3):
                d[i] = x[i]
                d["last"] = x[i] * 2
            for key in list(d):
                if key == 1:
                    del d[key]
                else:
                    d[key] = d[key] + 1
            return [d[k] for k in sorted(d, key=str)]
        """,
    "a dict of counters by data": """
        def f(x, a, n):
            d = {"pos": 0.0, "neg": 0.0}
            for i in range(5):
                d["pos" if a[i, 0] * x[0] > 0.2 else "neg"] += a[i, 1]
            return d
        """,
    "a dict changed while it is read": """
        def f(x, a, n):
            d = {"a": x[0]}
            for key in d:
                d[key + "b"] = x[1]
            return d
        """,
    "recursion": """
        def power(v, k):
            return v * 0 + 1.0 if k == 0 else v * power(v, k - 1)
        def f(x, a, n):
            return power(x, 5)
        """,
    "recursion on data": """
        def halve(v):
            if v.sum() < 0.1:
                return v
            return halve(v * 0.5)
        def f(x, a, n):
            return halve(x * x)
        """,
    "endless recursion on data": """
        def halve(v):
            return v if v.sum() < 1e-300 else halve(v * 0.5)
        def f(x, a, n):
            return halve(x * x)
        """,
    "is None": """
        def g(v, w=None):
            if w is None:
                w = v * 2
            return v + w
        def f(x, a, n):
            best = None
            for i in range(20):
                if best is None or a[i, 0] * x[0] > best:
                    best = a[i, 0] * x[0]
            return g(x), g(x, x * 3), best
        """,
    "is and identity": """
        def f(x, a, n):
            y = x
            z = x * 1
            return (y is x) + 2.0 * (z is x) + x.sum() * (x is not None)
        """,
    "star arguments": """
        def g(first, *rest, scale=1.0, **more):
            return first * scale + sum(rest) + more.get("shift", 0.0)
        def f(x, a, n):
            parts = (x, x * 2, x * 3)
            return g(*parts), g(*parts[:1], **{"scale": x[0], "shift": x[1]}), g(*x)
        """,
    "unpacking": """
        def f(x, a, n):
            p, *q = x
            (r, s), t = (x[:2], x[2])
            b, c = a[0], a[1] * 2
            b, c = c, b
            return p * q[1] + r * s - t, b - c
        """,
    "walrus": """
        def f(x, a, n):
            s = 0.0
            while (t := np.abs(x).sum()) > 0.13:
                x = x * 0.5
                s += t
            if (u := x[0]) > 0 and (w := u * 2) < 100:
                s += w
            return s, [v := x[1], v * 2]
        """,
    "match": """
        def f(x, a, n):
            out = 0.0
            for thing in (("scale", 2.0), [x[0], x[1]], {"k": x[2]}, None, 3):
                match thing:
                    case ("scale", k):
                        out = out + k * x[0]
                    case [p, q]:
                        out = out + p * q
                    case {"k": v}:
                        out = out - v
                    case None:
                        out = out * 2
                    case int(k) if k > 2:
                        out = out + k
            return out
        """,
    "match on data": """
        def f(x, a, n):
            match n:
                case 1:
                    return x * 2
                case 2 | 3:
                    return x * 3
                case _:
                    return x
        """,
    "an array that a helper keeps": """
        class Store:
            def __init__(self):
                self.items = []
            def put(self, v):
                self.items.append(v)
                return self
        def f(x, a, n):
            s = Store()
            y = x * 2
            s.put(y).put(y)
            s.items[0][0] = 9.0
            return s.items[1], y
        """,
    "an attribute in a branch": """
        class Box:
            pass
        def f(x, a, n):
            b = Box()
            b.v = x
            if x[0] > 0:
                b.v = b.v * 2
            c = b
            c.v = c.v + 1
            return b.v
        """,
    "a property and an operator of a class": """
        class Pair:
            def __init__(self, p, q):
                self.p, self.q = p, q
            @property
            def total(self):
                return self.p + self.q if self.p.sum() > 0 else self.p - self.q
            def __add__(self, other):
                return Pair(self.p + other.p, self.q * other.q)
        def f(x, a, n):
            return (Pair(x, x * 2) + Pair(x, x)).total
        """,
    "comprehensions with conditions on data": """
        def f(x, a, n):
            return sum([v * 2 for v in x if v > 0]) + sum(v for v in x if v < 0)
        """,
    "sorting by data": """
        def f(x, a, n):
            return np.stack(sorted([x, x * 2, x * 3], key=lambda v: v[0]))
        """,
    "in": "def f(x, a, n):\n    return x * (3 in [1, 2, 3]) + (x[0] in [5.0, 0.5])\n",
    "string formatting": """
        def f(x, a, n):
            name = f"{x.shape[0]}-{x.ndim:02d}"
            return x * len(name)
        """,
    "an integer that overflows": """
        def f(x, a, n):
            k = np.int8(100) + np.arange(3, dtype=np.int8)
            return x * (k * np.int8(2))
        """,
    "writes that lose precision": """
        def f(x, a, n):
            k = np.arange(3)
            k[1] = x[0] * 9
            return k * x
        """,
    "in place of another dtype": "def f(x, a, n):\n    k = np.arange(3)\n    k += x\n    return k\n",
    "swapping rows": """
        def f(x, a, n):
            b = a * 1
            b[0], b[1] = b[1], b[0]
            b[[2, 3]] = b[[3, 2]]
            return b * x
        """,
    "a row that is written after its array": """
        def f(x, a, n):
            b = a * 1
            for i in range(20):
                r = b[i]
                b = b * 0.9
                r[0] = x[0]
            return b, r
        """,
    "a matrix that is solved in place": """
        def f(x, a, n):
            m = np.eye(3) * 2 + np.outer(x, x)
            y = x * 1
            for k in range(3):
                for i in range(k + 1, 3):
                    factor = m[i, k] / m[k, k]
                    m[i, k:] -= factor * m[k, k:]
                    y[i] -= factor * y[k]
            for k in range(2, -1, -1):
                y[k] = (y[k] - m[k, k + 1 :] @ y[k + 1 :]) / m[k, k]
            return y
        """,
    "np.vectorize and apply_along_axis": """
        def f(x, a, n):
            return np.apply_along_axis(lambda r: r * r[0], 1, a[:2]) @ x
        """,
    "itertools and functools": """
        import functools, itertools, operator
        def f(x, a, n):
            total = functools.reduce(operator.add, [x, x * 2, x * 3])
            for p, q in itertools.product(range(2), x):
                total = total + p * q
            return total, list(itertools.accumulate(x))
        """,
    "zip of arrays that change": """
        def f(x, a, n):
            b = a * 1
            s = 0.0
            for k, (r, v) in enumerate(zip(b, x)):
                b[k + 1] += v
                s = s + r.sum()
            return s, b
        """,
    "the loop's name afterwards": """
        def f(x, a, n):
            for i in range(20):
                x = x * 0.9 + i
            for j in range(0):
                pass
            for r in a:
                r = r * 2
            return x * i, r
        """,
    "a loop over a list that grows": """
        def f(x, a, n):
            todo, done = [x[0]], []
            for v in todo:
                done.append(v)
                if len(todo) < 5:
                    todo.append(v * x[1])
            return done
        """,
    "random numbers": "def f(x, a, n):\n    return x + np.random.rand(3)\n",
    "eval": "def f(x, a, n):\n    return eval('x * 2')\n",
    "a lambda in a default": """
        def f(x, a, n, g=lambda v: v * 2 if v.sum() > 0 else -v):
            return g(x) + g(-x)
        """,
    "nan comes from the side not taken": """
        def f(x, a, n):
            y = np.where(x > 0, np.sqrt(np.where(x > 0, x, 1.0)), 0.0)
            return y + (np.log(x[1]) if x[1] > 0 else x[1])
        """,
}  # fmt: skip

REFUSED = {
    "int of data as a size": "needs a number",
    "a captured array is written": "from outside",
    "a captured array is written in place": "from outside",
    "a default array is written": "from outside",
    "an except that would catch a TraceError": "needs a number",
    "an exception in a loop on data": "a path that data choose|cannot repeat",
    "list aliasing by a while loop": "may be one",
    "recursion on data": "64 paths",
    "endless recursion on data": "RecursionError|64 paths",
    "an early return of another shape": "different spaces",
    "random numbers": "random",
}

POINT = (np.array([0.5, -0.3, 0.8]), np.sin(np.arange(60.0)).reshape(20, 3), np.int64(2))


def loaded(name: str) -> Any:
    return module(textwrap.dedent(PROGRAMS[name])).f


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_hostile_program_is_numpys_or_refused(name: str) -> None:
    if name in REFUSED:
        with pytest.raises(ct.TraceError, match=REFUSED[name]):
            ct.function(loaded(name))(*POINT)
    else:
        wanted = "both raise" if outcome(loaded(name), POINT)[0] == "error" else "equal"
        assert compare(loaded(name), *POINT) == wanted
        assert compare(loaded(name), *POINT, unroll=0) == wanted


@pytest.mark.quick(37)
@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in REFUSED])
def test_its_derivative_is_that_of_differences(name: str) -> None:
    fn, kept = loaded(name), copy.deepcopy(POINT)
    if outcome(fn, POINT)[0] == "error":
        return
    ct.testing.check_function(loaded(name), *POINT)
    for one, other in zip(POINT, kept, strict=True):
        assert np.array_equal(one, other), "an argument was changed"

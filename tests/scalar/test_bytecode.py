"""The same text from a file and from `exec`: the same numbers, or refused alike."""
# ruff: noqa: E501 (one program a line)

from __future__ import annotations

import math
import operator
import random
import types
from typing import Any

import numpy as np
import pytest
from scalar_support import define, define_without_source, run, same

import catad as ct
from catad.errors import ScalarError
from catad.scalar import read
from catad.scalar.reading.bytecode import MAX_PATHS

A = np.array([-2.5, -1.0, -0.0, 0.0, 0.3, 1.0, 2.0, 7.5, np.inf, np.nan])
B = np.array([1.0, -3.0, 2.0, 0.5, 0.3, -1.0, 5.0, 2.5, 0.1, 1.0])


class Settings:
    rate = 0.5
    kind = "fast"

    def step(self, x: Any) -> Any:
        return x * self.rate


class Counter:
    def __init__(self) -> None:
        self.n = 0

    def __call__(self, x: Any) -> Any:
        self.n += 1
        return x * self.n


def scope() -> dict[str, Any]:
    return {
        "np": np,
        "math": math,
        "random": random,
        "operator": operator,
        "settings": Settings(),
        "counter": Counter(),
        "K": 2.5,
        "N": 3,
        "TYPED": np.float32(1.5),
        "WEIGHTS": [0.5, 1.5],
        "TABLE": np.arange(3.0),
        "MAPPING": {"k": 1.0},
        "LOG": [],
        "numbers": iter(range(100)),
        "ct": ct,
    }


ACCEPTED = {
    "arithmetic": "return a + b * K - a / (b - 7.0), a // 2.0, a % 3.0, b ** 2, 2.0 ** b, -a, +b",
    "integers": "n = 7 if a > 0 else -3\n    return n // 2, n % 3, n & 3, n | 8, n ^ 5, n << 1, n >> 1, ~n, n * N",
    "comparisons": "return (a < b) + 0.0, a <= b < 5.0, a == b, a != b, not a > b, a in (1.0, 2.0), b not in (0.5, 1.0)",
    "and or": "return a and b, a or b, (a > 0 and b) or 3.0, not (a and b)",
    "branches": "if a > 1:\n        r = a\n    elif a > 0 and b > 0:\n        r = b\n    elif not a:\n        r = -1.0\n    else:\n        r = a * b\n    return r",
    "conditional": "return a if a > b else b if b > 0 else 0.0",
    "early return": "if a < 0:\n        return b\n    c = a + b\n    if c > 5:\n        return c\n    return c * 2",
    "for": "s = 0.0\n    for i in range(5):\n        s = s + a * i\n        if i == 3:\n            break\n    else:\n        s = -1.0\n    return s",
    "for with continue": "s = a\n    for i in range(1, 9, 3):\n        if i == 4:\n            continue\n        s += i * b\n    return s, i",
    "nested for": "s = 0.0\n    for i in range(3):\n        for w in (a, b, 0.5):\n            s += i * w\n    return s",
    "break on data": "s = a\n    for i in range(4):\n        if s > 2:\n            break\n        s = s + 1.0\n    return s",
    "while": "i, s = 0, a\n    while i < 4:\n        i += 1\n        s = s + i\n    return s",
    "else of while": "i = 0\n    while i < 3:\n        i += 1\n        if a > 2:\n            break\n    else:\n        i = 10\n    return i + b",
    "tuples": "p = (a, (b, a + b))\n    x, (y, z) = p\n    x, y = y, x\n    first, *rest = x, y, z\n    return (first, rest[0]), p[1][1], rest[-1], p[0:1], len(p)",
    "lists": "p = [a, b, *(1.0, 2.0)]\n    return p[0] + p[-1], sum(p), sum((*p, 1.0)), p[1:3], [1.0, 2.0, 3.0, 4.0][2]",
    "slices": "p = (a, b, 1.0, 2.0)\n    return p[::2], p[:-1], p[N - 1:]",
    "builtins": "return min(a, b, 1.0), max((a, b)), abs(a), divmod(b, 2.0)[1], sum((a, b)), pow(b, 2), float(b), bool(b) + 0, round(b, 1)",
    "zip and enumerate": "s = 0.0\n    for k, (u, v) in enumerate(zip((a, b), (1.0, 2.0))):\n        s += k * u * v\n    return s, any((a > 0, b > 0)), all((a > 0, b > 0))",
    "sum of a range": "return a * sum(range(4)), len(range(N)), tuple(range(3))",
    "math": "return math.sin(b), math.pi * a, math.inf if a > 0 else -math.inf, math.floor(b), math.copysign(a, b), math.fabs(a)",
    "numpy": "return np.where(a > b, a, b), np.maximum(a, b), np.minimum(a, 0.0), np.sign(b), np.float64(b), np.pi",
    "operator": "return operator.add(a, b), operator.truediv(a, K)",
    "catad": "return ct.sin(b) * ct.relu(a)",
    "typed constant": "return a * TYPED + TYPED",
    "a list from outside": "return a * WEIGHTS[0] + b * WEIGHTS[1], sum(WEIGHTS)",
    "attributes": "return a * settings.rate, settings.step(b)",
    "strings": "return a if settings.kind == 'fast' else b",
    "none": "c = None\n    if c is None:\n        c = b\n    return (a if c is not None else 0.0) + c",
    "imports": "import math as m\n    from math import floor, sin as sine\n    import os.path\n    return floor(b) + m.fabs(b) + sine(b)",
    "functions inside": "def square(x, n=2):\n        return x ** n\n    cube = lambda x: x * square(x)\n    return cube(a) + square(b, 3)",
    "a variable of the function around": "k = b\n    def times(x):\n        return x * k\n    k = k + 1.0\n    return times(a)",
    "a closure that changes with the branch": "k = 1.0\n    if a > 0:\n        k = 2.0\n    g = lambda x: x * k\n    return g(b)",
    "recursion": "def power(x, n):\n        return 1.0 if n == 0 else x * power(x, n - 1)\n    return power(b, 4)",
    "star calls": "def g(x, *rest):\n        return x + sum(rest)\n    return g(*(a, b)), g(a, *(b, 1.0), 2.0), max(*(a, b))",
    "keywords": "def g(x, y=1.0):\n        return x - y\n    return g(y=a, x=b), g(a, y=b)",
    "assert on constants": "assert N == 3, 'three'\n    assert math.pi > 3\n    return a",
    "walrus": "return (c := a + b) * c",
    "swap": "a, b = b, a\n    a, b, c = b, a, 1.0\n    return a - b * c",
    "dead branch": "if N < 0:\n        print(f'{a}')\n    return a",
    "raise that is not reached": "if N != 3:\n        raise ValueError(N)\n    return b",
    "annotated": "c: float = a + 1.0\n    return c",
    "many constants": "return " + " + ".join(f"a * {k}.5" for k in range(300)),
}

REFUSED = {
    "try": "try:\n        return math.sqrt(a)\n    except ValueError:\n        return 0.0",
    "try without a handler that would be needed": "try:\n        c = a\n    finally:\n        c = b\n    return c",
    "with": "with open('x') as f:\n        return a",
    "isinstance": "return a if isinstance(a, float) else b",
    "type": "return a if type(a) is float else b",
    "type compared": "return a if type(a) == type(b) else b",
    "f-string": "return a if f'{a}' == '1.0' else b",
    "percent": "return a if '%s' % a == '1.0' else b",
    "str": "return a if str(a) == '1.0' else b",
    "repr": "return a if repr(a) == '1.0' else b",
    "random": "return a * random.random()",
    "numpy's random": "return a * np.random.rand()",
    "next": "return a + next(numbers)",
    "global counter": "global N\n    N += 1\n    return a * N",
    "nonlocal": "n = 0\n    def g():\n        nonlocal n\n        n += 1\n        return n\n    return a * g() + n",
    "attribute that changes": "settings.rate += 1.0\n    return a * settings.rate",
    "counting object": "return counter(a)",
    "item that changes": "LOG[0] = a\n    return a",
    "append": "LOG.append(a)\n    return a",
    "print": "print(a)\n    return a",
    "identity": "return 1.0 if a is b else 2.0",
    "hash": "return hash(a)",
    "id": "return id(a) * 1.0",
    "attribute of a number": "return a.shape",
    "class of a number": "return 1.0 if a.__class__.__name__ == 'float' else 0.0",
    "hasattr": "return 1.0 if hasattr(a, 'real') else 0.0",
    "dictionary": "return {0: a}[0]",
    "dictionary from outside": "return a * MAPPING['k']",
    "set": "return a if a in {1.0, 2.0} else b",
    "array": "return a + TABLE[0]",
    "array as a whole": "return a * TABLE",
    "comprehension": "return sum([a for i in range(3)])",
    "generator expression": "return sum(a for i in range(3))",
    "dictionary comprehension": "return sum({i: a for i in range(3)})",
    "all of a generator": "return all(a > i for i in range(3))",
    "tuple of a generator": "return tuple(a * i for i in range(3))",
    "yield": "yield a",
    "raise": "if a < 0:\n        raise ValueError(a)\n    return a",
    "assert": "assert a > 0\n    return a",
    "assert with text": "assert a > 0, f'{a} is not positive'\n    return a",
    "false assert": "assert N > 3\n    return a",
    "del": "c = a\n    del c\n    return a",
    "class": "class C:\n        pass\n    return a",
    "index on data": "return (a, b)[int(a > 0)]",
    "matmul": "return a @ b",
    "undefined": "return a + nope",
    "complex": "return a * 2j < b",
    "one branch only": "if a > 0:\n        c = 1.0\n    return c",
    "nested differently": "return (a, b) if a > 0 else a",
    "no return": "if a > 0:\n        return b",
    "key": "return max(a, b, key=abs)",
    "default": "return max((a, b), default=1.0)",
    "star star": "def g(x, y):\n        return x\n    return g(**MAPPING)",
    "array function": "return np.sum(a) + np.mean(b)",
    "array constructor": "return np.array([a, b])[0]",
    "eval": "return eval('a + b')",
    "locals": "return locals()['a']",
    "globals": "return globals()['K'] * a",
    "getattr": "return getattr(settings, 'rate') * a",
    "method of a list": "c = [a]\n    c.append(b)\n    return c[0]",
    "method of a number": "return K.is_integer() + a",
    "match on a class": "match a:\n        case float():\n            return a\n        case _:\n            return b",
    "input": "return a * float(input())",
    "super": "return super().step(a)",
    "unpacking": "c, d = (a, b, a)\n    return c",
    "recursion without end": "def g(x):\n        return g(x) + 1\n    return g(a)",
}


def flat(value: Any) -> list[Any]:
    return [leaf for part in value for leaf in flat(part)] if isinstance(value, tuple) else [value]


def both(body: str, **more: Any) -> tuple[Any, Any]:
    text = f"def f(a, b):\n    {body}\n"
    return define(text, **scope(), **more), define_without_source(text, **scope(), **more)


@pytest.mark.parametrize("case", ACCEPTED)
def test_the_same_numbers(case: str) -> None:
    with_source, without = both(ACCEPTED[case])
    want, got = run(read(with_source), A, B), run(read(without), A, B)
    assert read(with_source).tree == read(without).tree
    for x, y in zip(want, got, strict=True):
        assert same(np.broadcast_to(x, A.shape), np.broadcast_to(y, A.shape))


@pytest.mark.parametrize("case", REFUSED)
def test_refused_alike(case: str) -> None:
    said = []
    for fn in both(REFUSED[case]):
        with pytest.raises(ScalarError) as caught:
            read(fn)
        said.append(str(caught.value))
    known, unknown = said
    assert "<test source" in known or case == "counting object", known  # that one stands in this file
    assert "where:    <string>:" in unknown or case == "counting object", unknown


@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_numbers_are_those_of_python(engine: str) -> None:
    x, y = np.array([-2.5, 0.3, 2.0]), np.array([1.0, -3.0, 0.5])
    for case in ("branches", "break on data", "functions inside", "and or", "tuples"):
        for fn in both(ACCEPTED[case]):
            with ct.use_engine(engine):
                found = ct.map(fn)(x, y)
            for k, pair in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
                want = fn(*pair)
                assert np.allclose([leaf[k] for leaf in flat(found)], flat(want), rtol=1e-15)


def test_errors_name_the_line() -> None:
    fn = define_without_source("def f(x):\n    y = x + 1\n    return y.shape\n")
    with pytest.raises(ScalarError, match=r"<string>:3, in f, which has no source"):
        read(fn)
    outer = define_without_source("def h(x):\n    return [x\n            ].pop()\nf = lambda x: h(x)\n")
    with pytest.raises(ScalarError, match=r"<string>:[23], in h"):
        read(outer)


def test_what_is_not_a_plain_function_is_named() -> None:
    for text, what in (
        ("async def f(x):\n    return x\n", "an async function"),
        ("def f(x):\n    yield x\n", "yield"),
        ("async def f(x):\n    yield x\n", "an async function"),
    ):
        for make in (define, define_without_source):
            with pytest.raises(ScalarError, match=what):
                ct.map(make(text))


def test_a_loop_without_end_is_refused() -> None:
    with pytest.raises(ScalarError, match="put the function into a file"):
        read(define_without_source("def f(x):\n    while True:\n        x = x + 0.0\n    return x\n"))
    text = "def f(x):\n" + "".join(f"    if x > {k}:\n        x = x * 1.5\n" for k in range(9)) + "    return x\n"
    with pytest.raises(ScalarError, match=f"more than {MAX_PATHS} paths"):
        read(define_without_source(text))


def test_an_unknown_instruction_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from catad.scalar.reading import bytecode, instructions

    fn = define_without_source("f = lambda x: x * 2.0")
    monkeypatch.delitem(instructions.DOERS, "BINARY_OP")
    with pytest.raises(ScalarError, match="BINARY_OP"):
        read(fn)
    monkeypatch.setattr(bytecode, "NEWEST", (3, 10))
    with pytest.raises(ScalarError, match="is not known"):
        read(fn)


def test_closures_and_defaults_without_source() -> None:
    made = define_without_source("def m(k):\n    def g(x, c=3.0, *, d=K):\n        return k * x + c + d\n    return g\nf = m(2.0)", K=10.0)
    assert float(run(read(made), np.float64(1.0))[0]) == 15.0
    bare = types.FunctionType(made.__code__, {}, "bare", None, made.__closure__)
    with pytest.raises(ScalarError, match="without the argument 'd'"):
        read(bare, (None, None))

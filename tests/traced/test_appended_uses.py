"""What programs do with a list that a loop has filled, and list comprehensions over many items."""

# ruff: noqa: B905, RUF005, B007

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct
from tests.traced.harness import check

PROGRAMS: dict[str, Callable[..., Any]] = {}
X = np.array([1.5137, 0.7071, -0.2236])
REFUSED = ["in_while", "sort_after"]


def program(fn: Callable[..., Any]) -> Callable[..., Any]:
    PROGRAMS[fn.__name__] = fn
    return fn


@program
def rebind_list(x: Any) -> Any:
    out = []
    for i in range(40):
        out = out + [x * i]
    return np.stack(out)


@program
def extend_list(x: Any) -> Any:
    out = []
    for i in range(40):
        out.extend([x * i, x])
    return np.stack(out)


@program
def reversed_after(x: Any) -> Any:
    out = []
    for i in range(40):
        out.append(x * i)
    s = 0.0
    for o in reversed(out):
        s = s * 0.5 + o.sum()
    return s


@program
def reverse_scan(x: Any) -> Any:
    out = []
    s = x
    for i in reversed(range(40)):
        s = s * 0.9 + i
        out.append(s)
    out.reverse()
    return np.stack(out)


@program
def sort_after(x: Any) -> Any:
    out = []
    for i in range(20):
        out.append(x[0] * i)
    out.sort()
    return np.array(out)


@program
def in_while(x: Any) -> Any:
    out = []
    y = np.abs(x)
    while y.sum() > 0.5:
        y = y * 0.5
        out.append(y)
    return np.stack(out)


@program
def list_truth(x: Any) -> Any:
    out = []
    for i in range(40):
        out.append(x * i)
    if out:
        return x * 2
    return x


@program
def list_eq(x: Any) -> Any:
    out = []
    for i in range(40):
        out.append(i)
    return x * (1 if out == list(range(40)) else 0)


@program
def isinst(x: Any) -> Any:
    out = []
    for i in range(40):
        out.append(x * i)
    return x * 2 if isinstance(out, list) and type(out) is list else x


@program
def concat(x: Any) -> Any:
    out = []
    for i in range(40):
        out.append(x * i)
    return np.concatenate(out), np.vstack(out), np.hstack(out), np.column_stack(out)


@program
def np_funcs(x: Any) -> Any:
    out = []
    for i in range(40):
        out.append(x[0] * i)
    return np.sum(out), np.mean(out), np.max(out), sum(out), max(out), min(out)


@program
def npmul(x: Any) -> Any:
    out = []
    for i in range(40):
        out.append(x[0] * i)
    return np.asarray(out) @ np.arange(40.0)


@program
def indexloop(x: Any) -> Any:
    out = []
    for i in range(40):
        out.append(x[0] * i)
    s = 0.0
    for i in range(40):
        s = s * 0.5 + out[i]
    return s


@program
def indexloop_back(x: Any) -> Any:
    out = []
    for i in range(40):
        out.append(x[0] * i)
    s = 0.0
    for i in range(1, 40):
        s = s * 0.5 + out[-i]
    return s


@program
def pop_after(x: Any) -> Any:
    out = []
    for i in range(40):
        out.append(x[0] * i)
    v = out.pop()
    return v + len(out)


@program
def two_loops(x: Any) -> Any:
    out = []
    for i in range(40):
        out.append(x[0] * i)
    for i in range(40):
        out.append(x[1] * i)
    return np.array(out)


@program
def in_branch(x: Any) -> Any:
    out = []
    if x[0] > 0:
        for i in range(40):
            out.append(x[0] * i)
    else:
        for i in range(40):
            out.append(x[1] * i)
    return np.array(out)


@program
def passed_to_helper(x: Any) -> Any:
    def total(items):
        return sum([v * v for v in items])

    out = []
    for i in range(40):
        out.append(x[0] * i)
    return total(out)


@program
def helper_returns_list(x: Any) -> Any:
    def run(v):
        o = []
        for i in range(40):
            v = v * 0.9 + 1
            o.append(v)
        return o

    return np.stack(run(x)) + np.stack(run(x * 2))


@program
def setitem_after(x: Any) -> Any:
    out = []
    for i in range(40):
        out.append(x * i)
    out[3] = x * 100
    return np.stack(out)


@program
def del_after(x: Any) -> Any:
    out = []
    for i in range(40):
        out.append(x * i)
    del out[0]
    return np.stack(out)


@program
def unpack_after(x: Any) -> Any:
    out = []
    for i in range(20):
        out.append(x * i)
    a, *b, c = out
    return a + c + len(b)


@program
def plus_after(x: Any) -> Any:
    out = []
    for i in range(20):
        out.append(x * i)
    return np.stack([x] + out + [x])


@program
def mul_after(x: Any) -> Any:
    out = []
    for i in range(20):
        out.append(x * i)
    return np.stack(out * 2)


@program
def contains(x: Any) -> Any:
    out = []
    for i in range(20):
        out.append(i)
    return x * (3 in out)


@program
def comp_range(x: Any) -> Any:
    return np.array([x[0] * i for i in range(100)])


@program
def comp_rows(x: Any) -> Any:
    a = np.outer(np.arange(50.0), x)
    return np.stack([np.sin(r) * r.sum() for r in a])


@program
def comp_if(x: Any) -> Any:
    return np.array([x[0] * i for i in range(100) if i % 3])


@program
def comp_walrus(x: Any) -> Any:
    return np.array([(t := x[0] * i) for i in range(40)]) + t


@program
def comp_nested(x: Any) -> Any:
    return np.array([[x[0] * i + j for j in range(20)] for i in range(20)])


@program
def comp_zip(x: Any) -> Any:
    a = np.outer(np.arange(50.0), x)
    return np.array([r.sum() * w for r, w in zip(a, np.linspace(0, 1, 50))])


@program
def comp_idx(x: Any) -> Any:
    w = [1.0, 2.0, 3.0]
    return np.array([x[0] * w[i % 3] for i in range(50)])


@program
def comp_strs(x: Any) -> Any:
    return x * len(["a" for i in range(50)])


@program
def comp_lambda(x: Any) -> Any:
    fs = [lambda v, i=i: v * i for i in range(20)]
    return sum(f(x) for f in fs)


@program
def gen_sum(x):
    return sum(x[0] * i for i in range(50))


@program
def gen_max(x):
    return max(x[0] * i for i in range(50))


@program
def dict_comp(x):
    d = {i: x * i for i in range(20)}
    return d[3] + d[19]


@program
def made_beside(x):
    s, out = x, []
    for i in range(40):
        s = s * 0.9 + i
        out.append(s)
    return np.stack(out)


@program
def made_twice(x):
    other = [x]
    out, out = [], other
    for i in range(40):
        out.append(x * i)
    return np.stack(other)


@program
def made_and_kept(x):
    out, kept = [], (out := [x])
    for i in range(40):
        out.append(x * i)
    return np.stack(out + kept)


@pytest.mark.parametrize("name", PROGRAMS)
def test_lists_are_pythons(name: str) -> None:
    check(PROGRAMS[name], X, refuses=name in REFUSED, grad=False if name in REFUSED else None)


ROLLED = {"comp_range": 3, "comp_rows": 5, "comp_zip": 6, "reversed_after": 6, "reverse_scan": 4, "indexloop": 6, "two_loops": 6,
          "helper_returns_list": 6, "mul_after": 4, "made_beside": 4}  # fmt: skip


@pytest.mark.parametrize("name", ROLLED)
def test_such_a_loop_is_one_line(name: str) -> None:
    assert len(ct.function(PROGRAMS[name]).at(X).lines) <= ROLLED[name]

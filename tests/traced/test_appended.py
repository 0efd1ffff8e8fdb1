"""Lists that a loop fills: an output of the recorded loop where nothing else in the loop uses them, and always Python's list."""

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
REFUSED = ["append_cond", "either_side_by_name"]


def program(fn: Callable[..., Any]) -> Callable[..., Any]:
    PROGRAMS[fn.__name__] = fn
    return fn


@program
def stack(x: Any) -> Any:
    out = []
    s = x[0]
    for i in range(40):
        s = s * 0.5 + x[1]
        out.append(s)
    return np.stack(out)


@program
def arr(x: Any) -> Any:
    out = []
    s = x[0]
    for i in range(40):
        s = s * 0.5 + x[1]
        out.append(s)
    return np.array(out)


@program
def arr_vec(x: Any) -> Any:
    out = []
    s = x
    for i in range(40):
        s = s * 0.5 + x[1]
        out.append(s)
    return np.array(out)


@program
def last(x: Any) -> Any:
    out = []
    s = x
    for i in range(40):
        s = s * 0.5 + x[1]
        out.append(s)
    return out[-1] + out[0] * out[3]


@program
def length(x: Any) -> Any:
    out = []
    for i in range(40):
        out.append(x * i)
    return x * len(out)


@program
def iterate(x: Any) -> Any:
    out = []
    for i in range(40):
        out.append(x * i)
    s = 0.0
    for o in out:
        s = s * 0.5 + o.sum()
    return s


@program
def iterate_zip(x: Any) -> Any:
    out = []
    o2 = []
    for i in range(40):
        out.append(x * i)
        o2.append(i)
    s = 0.0
    for o, k in zip(out, o2):
        s = s * 0.5 + o.sum() * k
    return s


@program
def listcomp_after(x: Any) -> Any:
    out = []
    for i in range(40):
        out.append(x * i)
    return sum([o.sum() for o in out])


@program
def slice_after(x: Any) -> Any:
    out = []
    for i in range(40):
        out.append(x * i)
    return np.stack(out[1::2]), len(out[3:]) * x


@program
def returned_list(x: Any) -> Any:
    out = []
    for i in range(40):
        out.append(x * i)
    return out


@program
def append_after(x: Any) -> Any:
    out = []
    for i in range(40):
        out.append(x * i)
    out.append(x)
    return np.stack(out)


@program
def append_before(x: Any) -> Any:
    out = [x]
    for i in range(40):
        out.append(x * i)
    return np.stack(out)


@program
def append_uses_last(x: Any) -> Any:
    out = [x]
    for i in range(40):
        out.append(out[-1] * 0.5 + 1)
    return np.stack(out)


@program
def append_uses_len(x: Any) -> Any:
    out = []
    for i in range(40):
        out.append(x * len(out))
    return np.stack(out)


@program
def two_appends(x: Any) -> Any:
    out = []
    for i in range(40):
        out.append(x * i)
        out.append(x + i)
    return np.stack(out)


@program
def two_lists(x: Any) -> Any:
    a = []
    b = []
    for i in range(40):
        a.append(x * i)
        b.append(x[0] + i)
    return np.stack(a).sum(0) + np.array(b).sum()


@program
def append_tuple(x: Any) -> Any:
    out = []
    for i in range(40):
        out.append((x * i, x[0]))
    return out[3][0] + out[5][1]


@program
def append_dict(x: Any) -> Any:
    out = []
    for i in range(40):
        out.append({"a": x * i, "b": i})
    return out[3]["a"] + out[5]["b"]


@program
def append_cond(x: Any) -> Any:
    out = []
    for i in range(40):
        if x[0] * i > 5:
            out.append(x * i)
    return x * len(out)


@program
def append_static_cond(x: Any) -> Any:
    out = []
    for i in range(40):
        if i % 2 == 0:
            out.append(x * i)
    return np.stack(out)


@program
def append_nested(x: Any) -> Any:
    out = []
    for i in range(20):
        for j in range(20):
            out.append(x * i + j)
    return np.stack(out)


@program
def append_nested_inner(x: Any) -> Any:
    out = []
    for i in range(20):
        row = []
        for j in range(20):
            row.append(x * i + j)
        out.append(np.stack(row))
    return np.stack(out)


@program
def append_nested_rows(x: Any) -> Any:
    out = []
    for i in range(20):
        row = []
        for j in range(20):
            row.append(x[0] * i + j)
        out.append(row)
    return np.array(out)


@program
def append_break(x: Any) -> Any:
    out = []
    s = 0.0
    for i in range(40):
        s = s + np.abs(x[0])
        out.append(s)
        if s > 5:
            break
    return x * len(out)


@program
def append_alias(x: Any) -> Any:
    out = []
    y = x * 1
    for i in range(40):
        y = y * 0.9
        out.append(y)
    out[-1][0] = 100.0
    return y, np.stack(out)


@program
def append_mutated(x: Any) -> Any:
    out = []
    y = x * 1
    for i in range(40):
        y *= 0.9
        out.append(y)
    return np.stack(out)


@program
def append_mutated_copy(x: Any) -> Any:
    out = []
    y = x * 1
    for i in range(40):
        y *= 0.9
        out.append(y.copy())
    return np.stack(out)


@program
def append_mutated_later(x: Any) -> Any:
    out = []
    for i in range(40):
        y = x * i
        out.append(y)
        y[0] = 5.0
    return np.stack(out)


@program
def append_view(x: Any) -> Any:
    out = []
    a = np.outer(np.arange(40.0), x)
    for i in range(40):
        out.append(a[i])
    a[3, 1] = 77.0
    return np.stack(out)


@program
def append_view_write(x: Any) -> Any:
    out = []
    a = np.outer(np.arange(40.0), x)
    for i in range(40):
        out.append(a[i])
    out[3][1] = 77.0
    return a


@program
def append_same_obj(x: Any) -> Any:
    out = []
    y = x * 1
    for i in range(40):
        out.append(y)
    y[0] = 9.0
    return np.stack(out)


@program
def append_int(x: Any) -> Any:
    out = []
    for i in range(40):
        out.append(i)
    return x * out[7]


@program
def append_int_arr(x: Any) -> Any:
    out = []
    for i in range(40):
        out.append(i)
    return np.array(out)


@program
def append_const(x: Any) -> Any:
    out = []
    for i in range(40):
        out.append(1.5)
    return np.array(out) * x[0]


@program
def append_str(x: Any) -> Any:
    out = []
    for i in range(40):
        out.append("a")
    return x * len(out)


@program
def append_none(x: Any) -> Any:
    out = []
    for i in range(40):
        out.append(None)
    return x * len(out)


@program
def append_mixed_dtype(x: Any) -> Any:
    out = []
    for i in range(40):
        out.append(x[0] * 0 + 1 if i > 3 else 2)
    return np.array(out)


@program
def list_global_alias(x: Any) -> Any:
    out = []
    o2 = out
    for i in range(40):
        out.append(x * i)
    return np.stack(o2)


@program
def list_in_obj(x: Any) -> Any:
    d = {"o": []}
    for i in range(40):
        d["o"].append(x * i)
    return np.stack(d["o"])


@program
def list_attr(x: Any) -> Any:
    class A:
        pass

    a = A()
    a.o = []
    for i in range(40):
        a.o.append(x * i)
    return np.stack(a.o)


@program
def bound_method(x: Any) -> Any:
    out = []
    ap = out.append
    for i in range(40):
        ap(x * i)
    return np.stack(out)


@program
def helper_append(x: Any) -> Any:
    out = []

    def add(v):
        out.append(v)

    for i in range(40):
        add(x * i)
    return np.stack(out)


@program
def aug_list(x: Any) -> Any:
    out = []
    for i in range(40):
        out += [x * i]
    return np.stack(out)


@program
def either_side(x: Any) -> Any:
    out = []
    s = x
    for i in range(40):
        s = np.sin(s)
        if s.sum() > 0.9:
            t = s * s
            out.append(t + 1.0)
        else:
            out.append(2.0 * s)
    return np.stack(out)


@program
def three_sides(x: Any) -> Any:
    out = []
    s = x
    for i in range(40):
        s = np.sin(s)
        if s.sum() > 1.2:
            out.append(s + 1.0)
        elif s.sum() > 0.9:
            out.append(s * s)
        else:
            out.append(2.0 * s)
    return np.stack(out)


@program
def either_side_by_name(x: Any) -> Any:
    out = []
    s = x.copy()
    for i in range(20):
        s = np.sin(s)
        if s.sum() > 0.9:
            out.append(s)
        else:
            out.append(x)
        s[0] = 0.9 * s[0]  # also in the list
    return np.stack(out)


@program
def sides_that_see_the_list(x: Any) -> Any:
    out = [x]
    for i in range(20):
        if i > 10 and out[-1].sum() > 0.0:
            out.append(x * len(out) + out[-1])
        else:
            out.append(out[-1] - 0.1)
    return np.stack(out)


@program
def other_things_behind(x: Any) -> Any:
    out, seen = [], []
    for i in range(20):
        if i % 3:
            out.append(x * i)
            seen.append(1)
        else:
            out.append(-x)
            out.append(x)
    return np.stack(out) * len(seen)


@program
def sides_of_two_lists(x: Any) -> Any:
    out, others = [x], [x]
    for i in range(20):
        if i % 3:
            out.append(x * i)
        else:
            others.append(-x)
    return np.stack(out).sum(axis=0), np.stack(others)


@program
def starred(x: Any) -> Any:
    out = []
    for i in range(20):
        if i % 3:
            out.append(*[x * i])
        else:
            out.append(*[-x])
    return np.stack(out)


@pytest.mark.parametrize("name", PROGRAMS)
def test_lists_are_pythons(name: str) -> None:
    check(PROGRAMS[name], X, refuses=name in REFUSED, grad=False if name in REFUSED else None)


ROLLED = {"stack": 3, "arr_vec": 3, "last": 8, "length": 1, "iterate": 5, "iterate_zip": 5, "slice_after": 5, "two_lists": 6,
          "append_before": 5, "append_after": 5, "append_nested_inner": 3, "either_side": 3, "three_sides": 3}  # fmt: skip
UNROLLED = ["append_static_cond", "bound_method", "helper_append", "aug_list", "sides_that_see_the_list"]


@pytest.mark.parametrize("name", ROLLED)
def test_such_a_loop_is_one_line(name: str) -> None:
    assert len(ct.function(PROGRAMS[name]).at(X).lines) <= ROLLED[name]


@pytest.mark.parametrize("name", UNROLLED)
def test_other_loops_are_unrolled(name: str) -> None:
    assert len(ct.function(PROGRAMS[name]).at(X).lines) >= 20

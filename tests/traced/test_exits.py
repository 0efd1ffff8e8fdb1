"""`return` in branches on data: one choice, in helpers, loops and comprehensions; what cannot be merged is explored."""

from __future__ import annotations

import numpy as np
import pytest

import catad as ct
from tests.traced.harness import check

X = np.array([-0.5, 0.3, 1.7, 0.2, 2.0, -1.2, 0.7, 0.1, 0.9])


def bent(v):
    if v < 0:
        return 0.1 * v
    if v > 1:
        slope = 0.1
        return 1 + slope * (v - 1)
    return v


def pairs(a, b):
    if a + b == 3:
        return 1
    return 0


def clear_first(x):
    if x.sum() <= 0:
        return
    x[0] = 3


def either_array(x, y):
    if x.sum() > 0:
        return y
    return x * 3


def many_calls(x):
    return np.array([bent(v) for v in x])


def in_a_rolled_loop(x):
    s = 0.5
    for v in np.concatenate([x, x]):
        s = 0.3 * s + bent(v) * bent(s)
    return s


def integers(x):
    n = 0
    for k in range(20):
        n += pairs(k % 4, k % 3)
    return n * x


def loop_behind(x):
    y = x * 2
    if x.sum() > 4:
        return y, 1
    y += 5
    for _ in range(20):
        y = np.sin(y)
    return y, 2


def trees(x):
    if x[0] > 0:
        return x, (x.sum(), 1.0)
    scale = 2.0
    return scale * x, (x.max(), 0.0)


def writes(x):
    y = x.copy()
    clear_first(y)
    return y


def aliases(x):
    y = x * 1.0
    z = either_array(x, y)
    z += 1
    return y, z


def lists(x):
    if x[0] > 5:
        return x
    out = []
    for v in x:
        out.append(v * 2)
    return np.stack(out)


def in_a_try(x):
    try:
        if x.sum() > 0:
            return x * 2
    finally:
        x = x + 1
    return x


def nested(x):
    if x[0] > 0:
        if x[1] > 0:
            return x
        x = -x
    elif x[2] > 0:
        return 2 * x
    else:
        x = 3 * x
    return x + 1


def sometimes(x):
    if x[0] > 0:
        if x[1] > 0:
            return x
        x = -x
    return x + 1


FUNCTIONS = [many_calls, in_a_rolled_loop, integers, loop_behind, trees, writes, aliases, lists, in_a_try, nested, sometimes]


@pytest.mark.parametrize("fn", FUNCTIONS, ids=lambda fn: fn.__name__)
def test_values_and_gradients(fn):
    for x in (X, -X, X[::-1].copy(), np.abs(X)):
        check(fn, x)


def test_a_helper_is_one_choice_for_each_decision_of_a_call():
    kinds = [line.term for line in ct.function(many_calls).at(X).lines]
    assert sum(isinstance(term, type(ct.choose(ct.exl, ct.sin, ct.cos))) or "choose" in repr(term) for term in kinds) == len(X)
    assert len(ct.function(in_a_rolled_loop).at(X).lines) < 8


def test_results_of_other_shapes_are_named():
    def shapes(x):
        if x.sum() > 0:
            return x
        return x[:1]

    with pytest.raises(ct.TraceError, match="different spaces"):
        ct.function(shapes)(X)


def halve(x):
    if x.sum() < 1:
        return x
    return halve(x / 2)


def test_a_function_that_calls_itself_until_data_say_otherwise_is_an_error():
    with pytest.raises(ct.TraceError, match="paths"):
        ct.function(halve)(X)

"""Traced functions on arrays of another library: results are arrays of that library, and equal NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct
from tests.strict_arrays import StrictArray, strict
from tests.traced.programs import module

PROGRAMS = {
    "arithmetic": "def f(x, m):\n    return np.tanh(m @ x) * 2 + x[::-1], m.T\n",
    "reductions": "def f(x, m):\n    return {'s': m.sum(axis=0), 'n': np.linalg.norm(x), 'k': np.argmax(x)}\n",
    "writes": "def f(x, m):\n    y = m * 1\n    y[0] = x\n    y[:, 1] += 1\n    np.add.at(y, (0, 1), 2.0)\n    return y\n",
    "a mask": "def f(x, m):\n    y = x * 1\n    y[y > 0] = np.sqrt(y[y > 0])\n    return y\n",
    "a branch": "def f(x, m):\n    return x * 2 if x[0] > 0 else m[0]\n",
    "a loop": "def f(x, m):\n    for i in range(30):\n        x = x * 0.9 + m[i % 3]\n    return x\n",
    "rows": "def f(x, m):\n    s = 0.0\n    for r in m:\n        s = s + r @ x\n    return s\n",
    "a while loop": "def f(x, m):\n    k = 0\n    while np.abs(x).sum() > 0.1:\n        x, k = x * 0.5, k + 1\n    return x, k\n",
    "sorting": "def f(x, m):\n    return np.sort(x), x[np.argsort(x)]\n",
    "joining": "def f(x, m):\n    return np.concatenate([x, m.ravel()]), np.stack([x, m[0]])\n",
    "a constant": "A = np.arange(3.0)\ndef f(x, m):\n    return x * A + np.linspace(0, 1, 3)\n",
}


def flat(value: Any) -> list[Any]:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else None
    return [value] if parts is None else [leaf for part in parts for leaf in flat(part)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_arrays_of_the_same_library(name: str) -> None:
    fn = module(PROGRAMS[name]).f
    x, m = np.array([0.5, -0.25, 2.0]), np.linspace(-1, 1, 9).reshape(3, 3) ** 3 + 0.1
    expected, got = fn(x.copy(), m.copy()), ct.function(fn)(strict.asarray(x), strict.asarray(m))
    assert all(isinstance(leaf, StrictArray) for leaf in flat(got)), got
    for one, other in zip(flat(expected), flat(got), strict=True):
        assert np.allclose(one, other.get(), rtol=1e-12, atol=1e-12) and np.shape(one) == other.shape
    bars = ct.vjp(ct.function(fn), strict.asarray(x), strict.asarray(m))[1]
    w = [strict.asarray(np.ones(np.shape(one))) for one in flat(expected) if np.asarray(one).dtype.kind == "f"]
    if not isinstance(expected, (tuple, dict)):
        assert all(isinstance(leaf, StrictArray) for leaf in flat(bars(w[0])))

"""Operators that have special rules are seen whatever way they are written."""

from __future__ import annotations

import operator

import numpy as np
import pytest

from catad.scalar import commutes, read, recognise


@pytest.mark.parametrize(
    ("kind", "fns"),
    {
        "add": [
            operator.add,
            lambda a, b: b + a,
            np.add,
            lambda a, b: a - (-b),
            lambda a, b: sum((a, b), 0.0 * 0) and a + b,
        ],
        "mul": [operator.mul, lambda a, b: b * a, np.multiply, lambda a, b: 1 * a * b],
        "max": [
            np.maximum,
            max,
            lambda a, b: a if a >= b else b,
            lambda a, b: b if b > a else a,
            lambda a, b: b if not a >= b else a,
            np.fmax,
        ],
        "min": [np.minimum, min, lambda a, b: a if a <= b else b, lambda a, b: b if b < a else a, np.fmin],
        None: [
            lambda a, b: a if a > b else b,
            lambda a, b: np.maximum(b, a),
            lambda a, b: max(b, a),
            lambda a, b: a + b + 0.0,
            lambda a, b: a - b,
            lambda a, b: a * a,
            lambda a, b: a + 2 * b,
            lambda a, b: (a, b),
            lambda a, b: a if a > 0 else b,
        ],
    }.items(),
)
def test_recognise(kind, fns):
    for fn in fns[: 4 if kind == "add" else None]:
        assert recognise(read(fn)) == kind, fn


def test_recognise_a_def_with_locals():
    def longest(a, b):
        best = a
        if b > best:
            best = b
        return best

    assert recognise(read(longest)) == "max"
    assert recognise(read(lambda s, t: s[0] + t[0], [(None,), (None,)])) is None


def test_commutes():
    affine = read(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), [(None, None)] * 2)
    dual = read(lambda a, b: (a[0] * b[0], a[1] * b[0] + a[0] * b[1]), [(None, None)] * 2)
    assert commutes(dual) and not commutes(affine)
    assert commutes(read(lambda a, b: np.exp(a + b) - a * b)) and not commutes(read(lambda a, b: a))
    assert not commutes(read(lambda a, b: a if a > b else b)), "of equal zeros it takes one"
    assert not commutes(read(lambda a, b, c: a + b + c))

"""A launch in a function whose result nobody reads gives a notice."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import catad as ct
from catad.errors import CatadNotice, notices


@ct.kernel
def doubled(x, y):
    i = ct.simt.grid(1)
    if i < len(x):
        y[i] = 2.0 * x[i]


def dropped(x):
    y = np.zeros_like(x)
    doubled.forall(5)(x, y)
    return y + x


def dropped_in_a_loop(x):
    y = np.zeros_like(x)
    for _ in range(3):
        doubled.forall(5)(x, y)
    return y + x


def read(x):
    y = doubled.forall(5)(x, np.zeros_like(x))
    return doubled.forall(5)(x, np.zeros_like(x)) + y


@pytest.mark.parametrize("fn", [dropped, dropped_in_a_loop])
def test_a_notice_says_which_launch_and_what_to_do(fn):
    notices.forget()
    with pytest.warns(CatadNotice, match=r"(?s)a launch of doubled returns.*test_dropped_launches.py:\d+.*y = "):
        np.testing.assert_array_equal(ct.function(fn)(np.arange(5.0)), np.arange(5.0))


def test_what_is_read_gives_none():
    notices.forget()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(ct.function(read)(np.arange(5.0)), 4.0 * np.arange(5.0))

"""Debugging: what a stand-in prints, which line makes a NaN, which line an error at run time comes from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct
from tests.traced.programs import module

X = np.array([0.5, -0.25, 2.0])


def test_a_stand_in_prints_its_name_and_its_space(capsys: pytest.CaptureFixture[str]) -> None:
    made = module("def f(x):\n    h = np.tanh(x)\n    print(h)\n    return h\n")
    ct.function(made.f)(X)
    assert capsys.readouterr().out == "<h: ct.f64[3]>\n"


def test_debug_print_prints_when_the_program_runs(capsys: pytest.CaptureFixture[str]) -> None:
    made = module("""
def f(x):
    y = x * 2
    ct.debug_print(y, "y")
    for i in range(20):
        y = y * 0.5
    return y
""")
    f = ct.function(made.f)
    f(X)
    f(X + 1)
    assert capsys.readouterr().out == f"y = {X * 2}\ny = {(X + 1) * 2}\n"
    assert np.allclose(ct.jvp(f, (X,), (np.ones(3),))[1], 2 * 0.5**20)


CASES = {
    "a plain line": ("y = x + 1\nz = np.log(x)\nreturn z.sum()", "np.log(x)"),
    "in a loop": ("s = x[1]\nfor i in range(30):\n    s = s * 0.5 + np.sqrt(x[1] + i)\nreturn s", "np.sqrt(x[1] + i)"),
    "in a branch": ("if x[0] > 0:\n    y = 1 / (x[0] - 0.5)\nelse:\n    y = np.log(x[0])\nreturn y", "1 / (x[0] - 0.5)"),
    "in a while": ("k, s = 0, x[1]\nwhile s < 3:\n    k += 1\n    s = s + 1 + np.arcsin(s + 5)\nreturn s", "np.arcsin(s + 5)"),
    "in a helper": ("return root(x).sum()", "np.sqrt(v)"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_debug_nans_names_the_line(name: str) -> None:
    body, line = CASES[name]
    made = module(
        "def root(v):\n    return np.sqrt(v)\n\ndef f(x):\n" + "".join(f"    {one}\n" for one in body.splitlines())
    )
    f = ct.function(made.f)
    with np.errstate(all="ignore"):
        f(X)
        with ct.debug_nans(), pytest.raises(ct.NonFiniteError, match="has made") as caught:
            f(X)
        assert line in str(caught.value), caught.value
        with ct.debug_nans():
            assert np.isfinite(ct.function(lambda x: np.log(x))(np.ones(2))).all()


def test_debug_nans_leaves_what_is_computed_of_nan_alone() -> None:
    with ct.debug_nans():
        assert np.isnan(ct.function(lambda x: np.sin(x) * 2)(np.array([np.nan]))).all()


def test_debug_nans_says_that_it_is_the_derivative() -> None:
    f = ct.function(lambda x: np.sqrt(x).sum())
    with np.errstate(all="ignore"), ct.debug_nans(), pytest.raises(ct.NonFiniteError, match="derivative"):
        ct.grad(f)(np.zeros(2))


@pytest.mark.parametrize("call", [lambda f, *xs: f(*xs), lambda f, *xs: ct.grad(f, argnums=0)(*xs)])
def test_an_error_at_run_time_shows_the_line(call: Any) -> None:
    made = module("""
def f(x, k):
    y = x * 2
    for i in range(30):
        y = y + 0.0
    return y[k] * 3
""")
    f = ct.function(made.f)
    call(f, X, np.int64(1))
    with pytest.raises(ct.IndexRangeError) as caught:
        call(f, X, np.int64(7))
    assert "y[k]" in str(caught.value) and "traced_program" in str(caught.value)

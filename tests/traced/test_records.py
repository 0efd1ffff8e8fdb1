"""Pickles: programs by value, functions by name; what has no name is an error that says what to pickle instead."""

from __future__ import annotations

import functools
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import catad as ct
from tests.traced.programs import module

X = np.array([1.0, 2.0, 3.0])


@ct.function
def decorated(x):
    return np.sin(x) * 2


def plain(x, n=3):
    return x * n


class Scaled:
    """A callable with state."""

    def __init__(self, by: float) -> None:
        self.by = by

    def __call__(self, x: Any) -> Any:
        return x * self.by

    def added(self, x: Any) -> Any:
        return x + self.by


@pytest.mark.parametrize(
    "f",
    [
        decorated,
        ct.function(plain),
        ct.function(plain, static="n"),
        ct.function(plain).bind(n=5),
        ct.grad(decorated >> ct.sum()),
        ct.fork(decorated, ct.function(plain, unroll=3)),
    ],
)
def test_a_function_is_pickled_by_its_name(f: Any) -> None:
    again = pickle.loads(pickle.dumps(f))
    assert again == f and hash(again) == hash(f)
    assert np.array_equal(again(X)[0], f(X)[0])


@pytest.mark.parametrize("fn", [Scaled(2.0), Scaled(3.0).added, functools.partial(plain, n=4)])
def test_what_a_function_is_made_of_is_pickled_with_it(fn: Any) -> None:
    f = ct.function(fn)
    assert np.array_equal(pickle.loads(pickle.dumps(f))(X), f(X))


def local() -> Any:
    return ct.function(lambda x: x * 2)


@pytest.mark.parametrize("f", [local(), ct.grad(local() >> ct.sum()), ct.function(functools.partial(lambda x, y: x, y=1))])
def test_a_function_without_a_name_says_what_to_pickle(f: Any) -> None:
    with pytest.raises((ct.ArgumentError, pickle.PicklingError, AttributeError), match=r"\.at\(|lambda"):
        pickle.dumps(f)
    p = ct.function(lambda x: x * 2).at(X)
    assert pickle.loads(pickle.dumps(p)) == p


def _doubled(x: Any) -> Any:
    return x * 2.0, ct.scale(2.0 + 0.0 * x)


@ct.D
def tripled(x: Any) -> Any:
    return x * 3.0, ct.scale(3.0 + 0.0 * x)


@pytest.mark.parametrize("f", [tripled, ct.D(_doubled), ct.function(lambda x: tripled(x) + 1).at(ct.f64[3]), tripled >> ct.sum()])
def test_a_derivative_by_hand_is_pickled_by_its_name(f: Any) -> None:
    again = pickle.loads(pickle.dumps(f))
    assert again == f and np.array_equal(again(np.ones(3)), f(np.ones(3)))


def test_a_derivative_by_hand_without_a_name_says_so() -> None:
    with pytest.raises(ct.ArgumentError, match="cloudpickle"):
        pickle.dumps(ct.D(lambda x: (x, ct.scale(1.0 + 0.0 * x))))


def test_weights_are_loaded_as_a_dict(tmp_path: Any) -> None:
    file = tmp_path / "weights.npz"
    np.savez(file, w=np.arange(3.0))
    total = ct.grad(lambda p: np.sum(p["w"] ** 2))
    with np.load(file) as weights:
        assert np.array_equal(total(dict(weights))["w"], [0.0, 2.0, 4.0])
        with pytest.raises(ct.SpaceError, match=r"dict\(x\)"):
            total(weights)


def test_a_name_that_means_another_function_by_now_is_an_error() -> None:
    made = module("def f(x):\n    return x\n")
    f = ct.function(made.f)
    assert pickle.loads(pickle.dumps(f)) == f
    made.f = abs
    with pytest.raises(ct.ArgumentError, match=r"\.at\("):
        pickle.dumps(f)


def test_a_program_needs_none_of_the_users_code() -> None:
    """A fresh process, without the module of the function, has the program."""
    made = module(
        "B = np.arange(30.0)\ndef f(x):\n    h = np.outer(x, x)\n    while h.sum() > 1:\n        h = h / 2\n"
        "    return {'h': h @ B[:3], 'B': B}\n"
    )
    p = ct.function(made.f).at(X)
    code = (
        "import pickle, sys, numpy as np, catad\n"
        "p = pickle.loads(sys.stdin.buffer.read())\n"
        "print(sorted(p(np.array([1.0, 2.0, 3.0]))), p.lines[0], p.title, 'B' in p.names)\n"
    )
    out = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(p), capture_output=True, timeout=120)
    assert out.returncode == 0, out.stderr.decode()
    assert out.stdout.decode().split("\n")[0].startswith("['B', 'h']") and out.stdout.decode().strip().endswith("f True")


def test_cloudpickle_takes_functions_by_value() -> None:
    cloudpickle = pytest.importorskip("cloudpickle")
    for f in (local(), decorated, ct.grad(local() >> ct.sum()), ct.function(Scaled(2.0))):
        assert np.array_equal(pickle.loads(cloudpickle.dumps(f))(X), f(X))
    p = local().at(X)
    assert pickle.loads(cloudpickle.dumps(p)) == p


def test_joblib_takes_functions_of_a_prompt_and_lambdas() -> None:
    """The first that it pickles, too: its pickler copies the table of cloudpickle before it begins."""
    pytest.importorskip("joblib")
    code = (
        "import joblib, numpy as np, catad as ct\n"
        "def total(x):\n    return np.sum(x**2)\n"
        "@ct.D\ndef doubled(x):\n    return 2.0 * x, ct.scale(2.0 + 0.0 * x)\n"
        "for f in (ct.grad(lambda x: np.sum(x**2)), ct.grad(total), doubled):\n"
        "    print(joblib.Parallel(2)(joblib.delayed(f)(np.full(2, k)) for k in (1.0, 2.0)))\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=120, text=True)
    assert out.returncode == 0, out.stderr
    assert out.stdout == "[array([2., 2.]), array([4., 4.])]\n" * 3

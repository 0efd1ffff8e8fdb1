"""What people do first, and get wrong first: each gets what was given, what was expected, a line with a caret, and what to do."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest

import catad as ct
from tests.traced.programs import module

X = np.ones(3)


class Pair(NamedTuple):
    a: Any
    b: Any


@dataclass(frozen=True)
class Config:
    w: Any
    steps: int = 3
    tag: str = "net"


def repeated(p: Any) -> Any:
    s = 0.0
    for _ in range(p.steps):
        s = s + np.sum(p.w)
    return s


GRADIENTS: dict[str, tuple[Callable[[], Any], Any]] = {
    "integers beside floats": (lambda: ct.grad(lambda p: np.sum(p["w"]) * p["n"])({"w": X, "n": 2}), {"n": (), "w": X * 2}),
    "truth values": (
        lambda: ct.grad(lambda p: np.sum(np.where(p["m"], p["x"], 0.0)))({"m": X > 2, "x": X}), {"m": (), "x": X * 0},
    ),
    "None": (lambda: ct.grad(lambda p: np.sum(p["w"]) if p["b"] is None else 0.0)({"w": X, "b": None}), {"b": None, "w": X}),
    "an empty list": (lambda: ct.grad(lambda p: np.sum(p["w"]) + len(p["l"]))({"w": X, "l": []}), {"l": [], "w": X}),
    "named tuples in named tuples": (
        lambda: ct.grad(lambda p: np.sum(p.a.a * p.b) + p.a.b)(Pair(Pair(X, 2.0), X)), Pair(Pair(X, 1.0), X),
    ),
    "a frozen dataclass": (lambda: ct.grad(lambda p: np.sum(p.w) * p.steps)(Config(X)), Config(X * 3, (), "net")),  # type: ignore[arg-type]
    "a loop by a number in a dataclass, at once": (lambda: ct.grad(repeated)(Config(X)), Config(X * 3, (), "net")),  # type: ignore[arg-type]
    "a list of numbers": (lambda: ct.grad(lambda x: np.sum(np.square(x)))([1.0, 2.0]), [2.0, 4.0]),
    "an argument of integers": (lambda: ct.grad(lambda x, y: np.sum(x * y))(X, np.arange(3)), np.arange(3.0)),
    "a constant": (lambda: ct.grad(lambda x: 3.0)(X), X * 0),
    "an argument by its name": (lambda: ct.grad(lambda x, *, k: np.sum(x * k))(X, k=2.0), X * 2),
}  # fmt: skip


def same(got: Any, want: Any) -> bool:
    if isinstance(want, np.ndarray):
        return bool(np.array_equal(got, want))
    if isinstance(want, dict):
        return got.keys() == want.keys() and all(same(got[k], want[k]) for k in want)
    if isinstance(want, Config):
        return same((got.w, got.steps, got.tag), (want.w, want.steps, want.tag))
    if isinstance(want, (tuple, list)):
        return type(got) is type(want) and len(got) == len(want) and all(map(same, got, want))
    return bool(got == want)


@pytest.mark.parametrize("name", list(GRADIENTS))
def test_gradients_of_what_people_write(name: str) -> None:
    call, want = GRADIENTS[name]
    assert same(call(), want), call()


def without_source(text: str) -> ModuleType:
    made = ModuleType("typed")
    exec(f"import numpy as np\n{text}", made.__dict__)
    return made


WHILE = "def f(x):\n    while x.sum() > 1e-3:\n        x = x / 2\n    return x.sum()\n"
WRONG: dict[str, tuple[Callable[[], Any], type[Exception], list[str]]] = {
    "no number": (lambda: ct.grad(lambda x: x * 2)(X), ct.DerivativeError, ["given:    ct.f64[3]", "sum the result"]),
    "a dict": (lambda: ct.grad(lambda x: {"loss": np.sum(x)})(X), ct.DerivativeError, ["in a dict", "has_aux=True"]),
    "a pair": (lambda: ct.grad(lambda x: (np.sum(x), x))(X), ct.DerivativeError, ["in a tuple", "has_aux=True"]),
    "no return": (lambda: ct.grad(lambda x: None)(X), ct.DerivativeError, ["returns None", "return the number"]),
    "a truth value": (lambda: ct.grad(lambda x: np.sum(x) > 0)(X), ct.DerivativeError, ["bool_", "return a floating number"]),
    "one entry": (lambda: ct.grad(lambda x: np.sum(x, keepdims=True))(X), ct.DerivativeError, ["ct.f64[1]", "y[0]"]),
    "integers": (lambda: ct.grad(lambda x: x * x)(3), ct.DerivativeError, ["ct.i64[()]", "astype"]),
    "no pair": (lambda: ct.grad(lambda x: np.sum(x), has_aux=True)(X), ct.SpaceError, ["returns a pair"]),
    "the result of a call": (lambda: ct.grad(np.sum(X)), ct.SpaceError, ["ct.grad(f)(x)"]),  # type: ignore[arg-type]
    "a class": (lambda: ct.grad(Config), ct.SpaceError, ["write a function that makes such an object"]),
    "an option of another library": (
        lambda: ct.grad(repeated, argnames="p"), ct.SpaceError, ["argnames", "call it as ct.grad(repeated)\n"],  # type: ignore[call-arg]
    ),
    "an argument too few": (lambda: ct.grad(lambda x, y: x @ y)(X), ct.ArgumentError, ["'y'", "expected: f(x, y)", "do: "]),
    "an object": (lambda: ct.grad(lambda c: np.sum(c.w))(object()), ct.SpaceError, ["of type object", "np.asarray(x)"]),
    "a set": (lambda: ct.function(lambda s: s)({1.0}), ct.SpaceError, ["of type set", "np.array(sorted(x))"]),
    "lanes of two sizes": (lambda: ct.vmap(lambda x, y: x * y)(X, X[:2]), ct.SpaceError, ["one size", "in_axes"]),
    "a loop at a prompt": (
        lambda: ct.grad(without_source(WHILE).f)(X), ct.TraceError, ["source is not at hand", "<string>:3", "ct.while_loop"],
    ),
    "SciPy at a prompt": (
        lambda: ct.grad(without_source("import scipy.linalg as sl\ndef f(x):\n    return sl.norm(x)\n").f)(X), ct.TraceError,
        ["source is not at hand", "in a file or in a cell of a notebook", "<string>:4"],
    ),
    "a text": (lambda: ct.function(lambda x, y: y @ x)("data.csv", X), ct.TraceError, ["a text", "y @ x", "^^^^^"]),
}  # fmt: skip


@pytest.mark.parametrize("name", list(WRONG))
def test_mistakes_have_five_parts(name: str) -> None:
    call, kind, words = WRONG[name]
    with pytest.raises(kind) as caught:
        call()
    message = str(caught.value)
    assert all(word in message for word in words), message
    assert ("^" in message and f"{__file__}:" in message) or "<string>" in message


NOTES: dict[str, tuple[Callable[[], Any], type[Exception], list[str]]] = {
    "a list is no array": (lambda: ct.grad(lambda x: x.sum())([1.0]), AttributeError, ["x: a list of numbers", "np.asarray"]),
    "a missing key": (lambda: ct.grad(lambda p: np.sum(p["w"]))({"v": X}), KeyError, ['p["w"]']),
    "a misspelt method": (lambda: ct.grad(lambda x: x.summ())(X), AttributeError, ["x.summ"]),
    "an axis too many": (lambda: ct.grad(lambda x: x.sum(axis=2))(X), ValueError, ["x.sum(axis=2)"]),
    "a write without source": (
        lambda: ct.grad(without_source("def f(x):\n    y = np.zeros(3)\n    y[0] = x[0]\n    return y.sum()\n").f)(X), ValueError,
        ["<string>:4", "source is not at hand"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(NOTES))
def test_errors_of_python_and_numpy_say_where(name: str) -> None:
    call, kind, words = NOTES[name]
    with pytest.raises(kind) as caught:
        call()
    notes = "\n".join(caught.value.__notes__)
    assert all(word in notes for word in ["where:", *words]), notes


DEEP = "def affine(x, w, b):\n    return x @ w + b\n"
MODEL = "from deep_of_catad import affine\n\n\ndef forward(p, x):\n    return np.tanh(affine(x, p['w'], p['b'])).sum()\n"


@pytest.mark.parametrize(("w", "b", "at"), [((4, 2), 2, "x @ w\n"), ((3, 2), 3, "x @ w + b\n")])
def test_a_shape_that_does_not_fit_two_files_away(w: tuple[int, int], b: int, at: str) -> None:
    deep = module(DEEP)
    sys.modules["deep_of_catad"] = deep
    try:
        forward = module(MODEL).forward
    finally:
        del sys.modules["deep_of_catad"]
    with pytest.raises(ct.SpaceError) as caught:
        ct.grad(lambda p, x: forward(p, x))({"w": np.ones(w), "b": np.ones(b)}, np.ones((5, 3)))
    message = str(caught.value)
    assert f"called:   {deep.__file__}:" in message, message
    assert "    return x @ w + b\n" in message and message.endswith(" " + "^" * (len(at) - 1)), message


@pytest.mark.numpy_only
def test_a_loop_that_does_not_end_has_its_line() -> None:
    def endless(x: Any) -> Any:
        while x > 0:
            x = x + 1.0
        return x

    f = ct.function(endless)
    with pytest.raises(ct.ArgumentError, match="has not ended") as caught, ct.use_engine("cpu"):  # the quickest to get there
        f(1.0)
    assert "    while x > 0:" in str(caught.value) and f"{__file__}:" in str(caught.value)


def test_a_shape_that_a_loop_changes_is_named() -> None:
    def grows(x: Any) -> Any:
        while x.sum() < 10:
            x = np.concatenate([x, x[:1]])
        return x

    with pytest.raises(ct.TraceError, match=r"x, of ct.f64\[3\] before a step and of ct.f64\[4\] after it"):
        ct.function(grows)(X)

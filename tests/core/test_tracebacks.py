"""Tracebacks of users' mistakes show the user's code alone, and those of catad's own errors show where they arose."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.errors.traceback_filtering import filter_traceback

pytestmark = pytest.mark.numpy_only  # the messages are about NumPy's arrays

PACKAGE = str(Path(ct.__file__).parent)
X = np.ones(3)


def unequal(x: Any) -> Any:
    return np.sum(x + np.ones(7))


def beyond(x: Any) -> Any:
    return x[3]


def not_square(x: Any) -> Any:
    return np.linalg.det(np.stack([x, x]))


def divided(x: Any) -> Any:
    return x / (1 // 0)


def nested(x: Any) -> Any:
    return ct.grad(unequal)(x)


singular = ct.linear.dense(np.ones((2, 2)))
of_two = ct.fork(ct.id, ct.id) >> ct.matmul

MISTAKES: dict[str, tuple[Callable[[], Any], int]] = {  # and how many frames of this file there are
    "sizes in a traced function": (lambda: ct.grad(unequal)(X), 2),
    "an index in a traced function": (lambda: ct.grad(beyond)(X), 2),
    "an error of NumPy's": (lambda: ct.hessian(not_square)(X), 2),
    "an error of the function": (lambda: ct.jacobian(divided)(X), 2),
    "a derivative in a traced function": (lambda: ct.function(nested)(X), 3),
    "a morphism": (lambda: of_two(np.ones((2, 3))), 1),
    "spaces of a morphism": (lambda: of_two.spaces(ct.f64[2, 3]), 1),
    "a constructor": (lambda: ct.replicate(-1), 1),
    "an argument of a constructor": (lambda: ct.iota(1, 2, 3), 1),
    "a call of a constructor on arrays": (lambda: ct.matmul(np.ones((2, 3)), np.ones(2)), 1),
    "linearize": (lambda: ct.linearize(unequal, X), 2),
    "jvp": (lambda: ct.jvp(ct.sin, (X,), (np.ones(4),)), 1),
    "vjp": (lambda: ct.vjp(unequal, X), 2),
    "a pullback": (lambda: ct.vjp(ct.sin, X)[1](np.ones(4)), 1),
    "hvp": (lambda: ct.hvp(unequal, (X,), (X,)), 2),
    "a plan": (lambda: ct.plan(unequal, X), 2),
    "a linear map": (lambda: singular.solve(np.ones(2)), 1),
    "a fold": (lambda: ct.fold(lambda a, b: a - b)(X), 1),
    "a solver": (lambda: ct.root(lambda y, x: y + x[:2], np.ones(3))(X), 1),
}


def raised(call: Callable[[], Any]) -> Exception:
    try:
        call()
    except Exception as error:
        return error
    raise AssertionError("no error")


def files(error: BaseException) -> list[str]:
    return [frame.filename for frame in traceback.extract_tb(error.__traceback__)][1:]  # without `raised`


@pytest.mark.parametrize("name", MISTAKES)
def test_only_the_users_frames_are_shown(name: str) -> None:
    call, count = MISTAKES[name]
    error = raised(call)
    assert [file for file in files(error) if file.startswith(PACKAGE)] == []
    assert files(error).count(__file__) >= count
    assert "During handling" not in "".join(traceback.format_exception(error))


@pytest.mark.parametrize("name", ["sizes in a traced function", "a constructor"])
def test_the_environment_switches_it_off(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATAD_TRACEBACK_FILTERING", "off")
    assert any(file.startswith(PACKAGE) for file in files(raised(MISTAKES[name][0])))


def test_an_error_inside_keeps_its_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("catad.front.calling.point")
    error = raised(lambda: ct.function(lambda x: x + 1)(X))
    assert isinstance(error, NameError)
    assert any(file.endswith("calling.py") for file in files(error))


def test_an_error_that_numpy_raises_in_catad_keeps_its_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("catad.front.calling.common_module", np.linalg.inv)
    error = raised(lambda: ct.function(lambda x: x + 1)(X))
    assert isinstance(error, np.linalg.LinAlgError)
    assert any(file.endswith("calling.py") for file in files(error))


def test_the_error_that_the_user_handles_is_shown() -> None:
    try:
        try:
            {}["key"]
        except KeyError:
            ct.replicate(-1)
    except ct.ArgumentError as error:
        shown = "".join(traceback.format_exception(error))
        assert "KeyError" in shown and "During handling" in shown and PACKAGE not in shown
    else:
        raise AssertionError("no error")


def test_the_cause_is_filtered_too() -> None:
    def wrapped() -> Any:
        try:
            return ct.grad(unequal)(X)
        except ct.SpaceError as error:
            raise RuntimeError("the model does not run") from error

    error = raised(wrapped)
    assert PACKAGE not in "".join(traceback.format_exception(error))


def test_frames_of_numpy_that_the_user_called_stay() -> None:
    error = raised(lambda: ct.D(lambda x: (np.linalg.inv(np.zeros((2, 2))), ct.scale(x)))(X))
    assert isinstance(error, np.linalg.LinAlgError)
    assert any("linalg" in file for file in files(error))
    assert [file for file in files(error) if file.startswith(PACKAGE)] == []


def test_notices_that_are_errors() -> None:
    def opaque(x: Any) -> Any:
        return next(float(v) for v in x), ct.scale(x)

    with warnings.catch_warnings():
        warnings.simplefilter("error", ct.CatadNotice)
        error = raised(lambda: ct.D(opaque)(X))
    assert isinstance(error, ct.CatadNotice)
    assert [file for file in files(error) if file.startswith(PACKAGE)] == []


def test_it_can_be_asked_for_twice() -> None:
    error = raised(MISTAKES["sizes in a traced function"][0])
    before = files(error)
    filter_traceback(error)
    assert files(error) == before

"""Tracebacks of users' mistakes show the user's code alone, and those of catad's own errors show where they arose."""

from __future__ import annotations

import json
import operator
import pickle
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.errors.traceback_filtering import boundary, filter_traceback

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


@pytest.mark.parametrize("line", [None, operator.attrgetter("no_such_name"), json.loads], ids=["type", "attribute", "library"])
def test_an_error_inside_keeps_its_frames_where_a_function_is_traced(line: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has a note that says where in the function it arose, as errors have that are words to users."""
    monkeypatch.setattr("catad.traced.arrays.operators._line", line)
    error = raised(lambda: ct.function(lambda x: np.sum(np.exp(x)) + 1)(X))
    assert any("where:" in note for note in error.__notes__)
    assert any(file.endswith("operators.py") for file in files(error))


def test_an_error_in_the_code_of_a_map_keeps_its_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "def scalar_function(xp, x0):\n    return (no_such_name, )\n"
    monkeypatch.setattr("catad.scalar.printing.array_code._printed", lambda *_: (code, {}))
    with ct.use_engine("reference"):
        error = raised(lambda: ct.map(lambda x: np.exp(x) + 0.12345)(X))
    assert isinstance(error, NameError)
    assert any(file.endswith("array_code.py") for file in files(error))


def endless(x: Any) -> Any:
    return endless(x * 1) + 1


def endless_gradient(x: Any) -> Any:
    return ct.grad(endless_gradient)(x).sum()


@pytest.mark.parametrize("f", [endless, endless_gradient])
def test_a_function_that_calls_itself_for_ever(f: Any) -> None:
    error = raised(lambda: ct.grad(f)(X))
    assert isinstance(error, RecursionError)
    assert files(error).count(__file__) == len(files(error)) > 10


def test_a_recursion_inside_keeps_its_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    scope: dict[str, Any] = {}
    exec(compile("def again(*args):\n    return again(*args)\n", f"{PACKAGE}/again.py", "exec"), scope)
    monkeypatch.setattr("catad.traced.arrays.operators._line", scope["again"])
    error = raised(lambda: ct.function(lambda x: np.sum(np.exp(x)) + 2)(X))
    assert isinstance(error, RecursionError)
    assert any(file.endswith("operators.py") for file in files(error))


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


def its_own_cause(x: Any) -> Any:
    try:
        return beyond(x)
    except IndexError as error:
        raise error from error


def a_ring_of_causes(x: Any) -> Any:
    first, second = IndexError("first"), KeyError("second")
    first.__cause__, second.__cause__ = second, first
    raise first


@pytest.mark.parametrize("f", [its_own_cause, a_ring_of_causes])
def test_a_ring_of_causes_ends(f: Any) -> None:
    error = raised(lambda: ct.grad(f)(X))
    assert isinstance(error, IndexError)
    assert PACKAGE not in "".join(traceback.format_exception(error))


def test_the_errors_of_a_group_are_filtered() -> None:
    def several(x: Any) -> Any:
        found = []
        for f in (beyond, unequal):
            try:
                f(x)
            except Exception as error:
                found.append(error)
        raise ExceptionGroup("several", found)

    error = raised(lambda: ct.grad(several)(X))
    assert isinstance(error, ExceptionGroup) and len(error.exceptions) == 2
    shown = "".join(traceback.format_exception(error))
    assert PACKAGE not in shown and "in beyond" in shown and "in unequal" in shown


class WithNotes(Exception):
    __notes__ = 5


class WithoutAttributes(Exception):
    def __setattr__(self, name: str, value: object) -> None:
        raise RuntimeError("no attributes")


@pytest.mark.parametrize("kind", [WithNotes, WithoutAttributes])
def test_an_error_of_an_odd_class_arrives(kind: Any) -> None:
    def f() -> Any:
        try:
            ct.scale(X)(np.ones(4))
        except ct.CatadError as error:
            raise kind("said") from error

    error = raised(boundary(f))
    assert isinstance(error, kind) and PACKAGE not in "".join(traceback.format_exception(error))


def test_an_error_that_is_raised_again_keeps_one_note() -> None:
    kept = ValueError("kept")

    def f(x: Any) -> Any:
        raise kept

    for _ in range(5):
        raised(lambda: ct.grad(f)(X))
    assert len(kept.__notes__) == 1


@pytest.mark.parametrize("name", MISTAKES)
def test_errors_pickle(name: str) -> None:
    error = raised(MISTAKES[name][0])
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error) and str(again) == str(error)


def test_it_can_be_asked_for_twice() -> None:
    error = raised(MISTAKES["sizes in a traced function"][0])
    before = files(error)
    filter_traceback(error)
    assert files(error) == before

"""Errors of tracing, which NumPy does not raise, pass whatever the function has around it to catch exceptions."""

# ruff: noqa: RET504
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import catad as ct
from tests.traced.programs import compare

X = np.ones(3)


def suppressed(x: Any) -> Any:
    with contextlib.suppress(TypeError):
        x = x + x.sum().item()
    return x


def suppressed_with_another(x: Any) -> Any:
    with contextlib.nullcontext(), suppress(Exception) as _:
        x = x + x.sum().item()
    return x


class Swallow:
    def __enter__(self) -> Swallow:
        return self

    def __exit__(self, *args: object) -> bool:
        return True


def swallowed(x: Any) -> Any:
    with Swallow() as s:
        assert isinstance(s, Swallow)
        x = x + x.sum().item()
    return x


def on_a_stack(x: Any) -> Any:
    with contextlib.ExitStack() as stack:
        stack.enter_context(suppress(TypeError))
        x = x + x.sum().item()
    return x


@contextlib.contextmanager
def own() -> Iterator[None]:
    with suppress(TypeError):
        yield


def by_a_generator(x: Any) -> Any:
    with own():
        x = x + x.sum().item()
    return x


def finally_returned(x: Any) -> Any:
    try:
        x = x + x.sum().item()
    finally:
        return x  # noqa: B012


def finally_left(x: Any) -> Any:
    for _ in range(2):
        try:
            x = x + x.sum().item()
        finally:
            break  # noqa: B012
    return x


def caught(x: Any) -> Any:
    try:
        return x + x.sum().item()
    except Exception:
        return x * 7


@pytest.mark.parametrize(
    "fn",
    [suppressed, suppressed_with_another, swallowed, on_a_stack, by_a_generator, finally_returned, finally_left, caught],
    ids=lambda fn: fn.__name__,
)
def test_nothing_swallows_an_error_of_tracing(fn: Callable[[Any], Any]) -> None:
    with pytest.raises(ct.TraceError, match=r"x.item\(\) needs a number") as error:
        ct.function(fn)(X)
    assert "x.sum().item()" in str(error.value)


def what_numpy_raises(x: Any) -> Any:
    with suppress(ValueError, KeyError):
        x = x + 1
        raise ValueError
    with suppress(IndexError):
        x = x[7]
    try:
        x = x * 2
        raise KeyError
    finally:
        return x  # noqa: B012


def a_branch_with_a_manager(x: Any) -> Any:
    for k in range(20):
        with contextlib.nullcontext(k) as value:
            x = x * 0.5 if x[0] > value else x + 0.1
    return x


@pytest.mark.parametrize("fn", [what_numpy_raises, a_branch_with_a_manager], ids=lambda fn: fn.__name__)
def test_what_python_raises_is_caught_as_in_python(fn: Callable[[Any], Any]) -> None:
    compare(fn, X)


def test_no_context_manager() -> None:
    def fn(x: Any) -> Any:
        with x:
            return x

    with pytest.raises(TypeError, match="context manager"):
        ct.function(fn)(X)

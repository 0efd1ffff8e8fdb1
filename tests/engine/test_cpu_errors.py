"""What bad input gets: a notice where nothing can be printed, a saved text where LLVM fails, nothing half-written."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import catad as ct
from catad.engine.cpu.whole.text import Text
from catad.engine.text import numbers
from catad.errors import CannotPrint, notices
from catad.values import buffers

from .cpu_support import assert_near, assert_same, on, printed_anew

X = np.linspace(0.0, 1.0, 50)


@pytest.fixture
def no_cosine(monkeypatch):
    """A printer that has no code for the cosine."""
    printed = numbers.llvm_function

    def refuse(function, *given):
        if "cos" in repr(function):
            raise CannotPrint("the function cos", "this printer was told so")
        return printed(function, *given)

    monkeypatch.setattr(numbers, "llvm_function", refuse)
    printed_anew(monkeypatch)
    notices.forget()
    yield
    notices.forget()


def test_what_cannot_be_printed_runs_on_the_reference_with_one_notice_that_names_it(no_cosine):
    f = ct.map(lambda x: np.cos(x) + 1.0) >> ct.scan(ct.add, 0.0) >> ct.fork(ct.id, ct.sum())
    with pytest.warns(ct.CatadNotice, match="the function cos") as seen:
        got = on("cpu", f, X)
        again = on("cpu", f, X[::-1])
        gradient = on("cpu", ct.grad(ct.map(lambda x: np.cos(x) * x) >> ct.sum()), X)
    assert len(seen) == 1
    assert_near(got, on("reference", f, X))
    assert_near(again, on("reference", f, X[::-1]))
    assert_near(gradient, [np.cos(X) - X * np.sin(X)])


def test_what_can_be_printed_gives_no_notice(no_cosine):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        on("cpu", ct.map(lambda x: np.sin(x) + 1.0) >> ct.sum(), X)


def test_a_notice_turned_into_an_error_leaves_the_program_usable(no_cosine):
    f = ct.map(lambda x: np.cos(x) - 2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ct.CatadNotice)
        with pytest.raises(ct.CatadNotice, match="the function cos"):
            on("cpu", f, X)
    assert_near(on("cpu", f, X), [np.cos(X) - 2.0])


def test_the_text_that_llvm_refuses_is_saved_and_named(monkeypatch):
    printed_anew(monkeypatch)
    text = Text.text
    monkeypatch.setattr(Text, "text", lambda self: text(self).replace("ret void", "ret i7 what"))
    f = ct.map(lambda x: x * 3.0 + 0.125)
    with pytest.raises(ct.EngineError, match="LLVM could not parse") as error:
        on("cpu", f, X)
    (saved,) = re.findall(r"the IR is in (\S+)", str(error.value))
    assert "ret i7 what" in Path(saved).read_text()
    Path(saved).unlink()
    monkeypatch.undo()
    assert_same(on("cpu", ct.map(lambda x: x * 3.0 + 0.125), X), [X * 3.0 + 0.125])


@pytest.mark.parametrize("call", [0, 1, 2])
def test_without_memory_nothing_is_half_written(monkeypatch, call):
    """Memory ends at the first, second or third result: the argument and earlier results stay, and the next call succeeds."""
    f = ct.map(lambda x: x + 1.0) >> ct.fork(ct.map(lambda x: (x * 2.0, x * 3.0)), ct.scan(ct.add, 0.0), ct.sum())
    x = np.linspace(0.0, 1.0, buffers.LARGE // 8)
    before = x.copy()
    want = on("cpu", f, x)
    kept = [a.copy() for a in want]
    raw, made = buffers._raw, []

    def short(size):
        made.append(size)
        if len(made) > call:
            raise MemoryError("no more")
        return raw(size)

    monkeypatch.setattr(buffers, "_raw", short)
    with pytest.raises(MemoryError):
        on("cpu", f, x)
    monkeypatch.undo()
    assert np.array_equal(x, before)
    assert_same(want, kept)
    assert_same(on("cpu", f, x), want)


def test_the_argument_of_a_wrong_shape_or_dtype_is_the_same_error_on_both_engines():
    f = ct.fork(ct.exl, ct.exr) >> ct.add
    for x in ((np.ones(3), np.ones(4)), (np.ones(3), np.ones(3, np.float16)), (np.ones(3), "x")):
        messages = []
        for engine in ("cpu", "reference"):
            with pytest.raises(ct.SpaceError) as error:
                on(engine, f, x)
            messages.append(str(error.value))
        assert messages[0] == messages[1]


def test_a_bad_index_is_the_same_error_on_both_engines():
    for engine in ("cpu", "reference"):
        with pytest.raises(ct.IndexRangeError):
            on(engine, ct.gather >> ct.map(lambda x: x + 1.0), (X, np.array([0, 50])))


def test_an_unknown_engine_is_refused_by_name():
    with pytest.raises(ct.EngineError, match="gpu"), ct.use_engine("gpu"):
        pass


def test_the_reference_makes_again_what_a_stage_would_have_made_again():
    """A product with zeros: its gradient reads an array that compiled code computes anew and nobody stores."""
    g = ct.tangent(ct.map(lambda x: x + 1.0) >> ct.fold(lambda a, b: a * b, 1.0, axis=-1) >> ct.map(lambda y: y * y))
    x = np.array([[-1.0, -2.0, 0.0], [-2.0, -2.0, 0.0]])
    assert_same(on("cpu", g, (x, x)), on("reference", g, (x, x)))

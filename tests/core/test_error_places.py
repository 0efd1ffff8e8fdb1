"""Errors name the lines of the user's program: where a box was composed, and the call that failed."""

from __future__ import annotations

import inspect
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct

pytestmark = pytest.mark.numpy_only  # arrays of the tests' own would put frames of theirs between catad and the call

A = np.ones((2, 3))


def line(word: str, of: Callable[..., Any]) -> int:
    """The line of this file, in a function's source, that has a word."""
    lines, first = inspect.getsourcelines(of)
    return first + next(k for k, text in enumerate(lines) if word in text and "line(" not in text)


def caught(call: Callable[[], Any]) -> ct.CatadError:
    with pytest.raises(ct.CatadError) as found:
        call()
    return found.value


def six_products() -> ct.D:
    w = ct.const(np.ones((3, 3)))
    return (
        ct.fork(ct.id, w)
        >> ct.matmul
        >> ct.fork(ct.tanh, w)
        >> ct.matmul
        >> ct.fork(ct.tanh, ct.const(np.ones((4, 3))))
        >> ct.matmul  # the third
        >> ct.fork(ct.tanh, w)
        >> ct.matmul
        >> ct.fork(ct.id, ct.id)
        >> ct.matmul
        >> ct.fork(ct.id, ct.id)
        >> ct.matmul
    )


def by_statements() -> ct.D:
    f = ct.fork(ct.id, ct.const(np.ones((3, 5)))) >> ct.matmul
    f = f >> ct.tanh
    f = f >> ct.fork(ct.id, ct.id)
    f = f >> ct.matmul  # the second
    return f >> ct.sum()


@pytest.mark.parametrize(("make", "word"), [(six_products, "# the third"), (by_statements, "# the second")])
@pytest.mark.parametrize("use", [ct.compose, lambda f: ct.grad(f >> ct.sum()), ct.jacobian, ct.checkpoint])
def test_the_line_where_it_was_composed(make: Callable[[], ct.D], word: str, use: Callable[[ct.D], Any]) -> None:
    f = use(make())
    error = caught(lambda: f(A))
    assert error.composed == f"{__file__}:{line(word, make)}", str(error)


def test_the_line_of_the_call() -> None:
    f = by_statements()
    calls: list[Callable[[], Any]] = [
        lambda: f(A),  # call
        lambda: ct.jvp(f, (A,), (A,)),  # jvp
        lambda: ct.vjp(f, A),  # vjp
        lambda: ct.gather(np.ones(3), np.array([7])),  # run
        lambda: ct.sin >> 3,  # operator
        lambda: ct.iterate(ct.sin, -1),  # constructor
        lambda: ct.f64[-1],  # space
    ]
    for call in calls:
        error = caught(call)
        assert error.called == f"{__file__}:{call.__code__.co_firstlineno}", str(error)
        assert f"\n  called:   {error.called}" in str(error)


def test_a_box_in_a_fork_a_product_or_a_list() -> None:
    f = ct.fork(ct.matmul, ct.add)
    assert caught(lambda: f(A, A)).composed == f"{__file__}:{line('f = ct.fork', test_a_box_in_a_fork_a_product_or_a_list)}"
    g = ct.id * ct.matmul
    assert caught(lambda: g(A, A)).composed == f"{__file__}:{line('g = ct.id', test_a_box_in_a_fork_a_product_or_a_list)}"
    h = ct.compose(ct.dup, ct.matmul)
    assert caught(lambda: h(A)).composed == f"{__file__}:{line('h = ct.comp', test_a_box_in_a_fork_a_product_or_a_list)}"
    k = ct.matmul + ct.matmul
    assert caught(lambda: k(A, A)).composed == f"{__file__}:{line('k = ct.mat', test_a_box_in_a_fork_a_product_or_a_list)}"


def test_places_are_no_part_of_a_term() -> None:
    f = ct.sin >> ct.exp
    g = ct.sin >> ct.exp
    assert f == g and hash(f) == hash(g) and repr(f) == repr(g)
    assert pickle.dumps(f) == pickle.dumps(g) and pickle.loads(pickle.dumps(f)) == f


def test_errors_pickle_with_their_places() -> None:
    error = caught(lambda: by_statements()(A))
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == str(error) and type(copy) is type(error) and copy.composed == error.composed


def test_a_notice_names_the_line_of_the_call() -> None:
    f = ct.D(lambda x: (np.array([float(each) for each in x]), ct.scale(np.ones(len(x)))))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        f(np.ones(3))  # of the notice
    (one,) = [each for each in seen if each.category is ct.CatadNotice]
    assert (one.filename, one.lineno) == (__file__, line("# of the notice", test_a_notice_names_the_line_of_the_call))


def test_the_boxes_that_meet_stand_before_the_way_out() -> None:
    error = caught(lambda: (ct.sin >> ct.add)(A))
    labels = [text.split(":")[0].strip() for text in str(error).splitlines()[1:5]]
    assert labels == ["given", "expected", "where", "do"]


def test_operators_of_plain_python_find_the_line() -> None:
    import functools
    import operator

    f = functools.reduce(operator.rshift, [ct.dup, ct.matmul])
    assert f"{__file__}:" in (caught(lambda: f(A)).composed or "")


def test_the_line_where_a_constructor_was_called() -> None:
    f = ct.reshape((7, 7))  # made here
    error = caught(lambda: f(A))
    assert error.made is not None
    assert error.made.endswith(f":{line('# made here', test_the_line_where_a_constructor_was_called)}")
    assert "  made:     " in str(error)
    chain = ct.sin >> f
    assert "  made:     " in str(caught(lambda: chain(A)))
    assert caught(lambda: ct.reshape((7, 7))(A)).made is None  # the line of the call is that line

"""Bad input of traced functions: the class of the error, the line in the user's source, and what to do."""

from __future__ import annotations

import pickle
import textwrap
import threading
from typing import Any

import numpy as np
import pytest

import catad as ct
from tests.traced.programs import module

X = np.array([1.5, 0.7, 0.2])

ROWS: dict[str, tuple[str, type[BaseException], str, tuple[str, ...]]] = {
    # name: (body of f(x, n), class, the text at the caret, words of the message)
    "truth of an array": ("if x > 0:\n    return x\nreturn -x", ValueError, "x > 0", ("ambiguous", "a.any()")),
    "a slice as a result": ("return x[: int(n)]", ct.TraceError, "", ("needs a number", 'static=("n",)')),
    "a number of numbers": ("return np.arange(int(n))", ct.TraceError, "np.arange(int(n))", ("needs a number", 'static=("n",)')),
    "a shape": ("return np.zeros(int(n))", ct.TraceError, "np.zeros(int(n))", ("needs a number", 'static=("n",)')),
    "index of a list": ("return [x, x][int(n)]", ct.TraceError, "[x, x][int(n)]", ("needs a number", "np.stack(xs)[k]")),
    "a key": ("return {1: x}[int(n)]", ct.TraceError, "{1: x}[int(n)]", ("needs a number",)),
    "an element of a set": ("return len({int(n)}) * x", ct.TraceError, "{int(n)}", ("needs a number", "set")),
    "a hash": ("return hash(int(n)) * x", ct.TraceError, "hash(int(n))", ("needs a number",)),
    "a repeated list": ("return np.array([0.0] * int(n))", ct.TraceError, "[0.0] * int(n)", ("needs a number",)),
    "a list times a position": ("return np.array(x.argmax() * [0.0])", ct.TraceError, "x.argmax() * [0.0]", ("needs a number",)),
    "a repeated text": ("return x * len('a' * int(n))", ct.TraceError, "'a' * int(n)", ("needs a number",)),
    "an axis": ("return x.sum(axis=int(n))", ct.TraceError, "axis=int(n)", ("needs a number",)),
    "an unsigned number": ("return int(x.astype(np.uint64)[0])", ct.TraceError, "int(x.astype", ("uint64", "astype(np.int64)")),
    "item": ("return x * n.item()", ct.TraceError, "n.item()", ("x.item()", "static=")),
    "range as a size": ("return np.zeros(len(list(range(int(n)))))", ct.TraceError, "range(int(n))", ("a number", "static=")),
    "list index": ("w = [1.0, 2.0]\nreturn w[(n > 0).astype(int)] * x", ct.TraceError, "w[(n > 0)", ("needs a number",)),
    "masked shape": ("return x[x > 0].shape[0] * x", ct.TraceError, "x[x > 0].shape", ("shape", "depend on data", "where")),
    "two masks": ("return (x[x > 0] * x[x > 1]).sum()", ct.TraceError, "x[x > 0] * x[x > 1]", ("another mask",)),
    "nonzero": ("return np.nonzero(x)[0]", ct.TraceError, "np.nonzero(x)", ("depend on data", "where")),
    "unique": ("return np.unique(x)", ct.TraceError, "np.unique(x)", ("depend on data",)),
    "captured array": ("A[0] = x[0]\nreturn A * x", ct.TraceError, "A[0] = x[0]", ("from outside", "A", "copy")),
    "captured array in place": ("B = A\nB += x\nreturn B", ct.TraceError, "B += x", ("from outside", "copy")),
    "read-only view": ("y = x * 1\nnp.diagonal(np.outer(y, y))[0] = 1\nreturn y", ct.TraceError, "np.diagonal(np.outer(y",
                       ("view", "copy()")),
    "after the trace": ("global KEPT\nif KEPT is None:\n    KEPT = x * 2\nreturn x + KEPT", ct.TraceError, "x + KEPT",
                        ("after its trace", "made at")),
    "branches of other shapes": ("if n > 0:\n    y = x\nelse:\n    y = x[:2]\nreturn y", ct.TraceError, "n > 0",
                                 ("f64[3]", "f64[2]")),
    "too many paths": ("for v in list(x) * 3:\n    y = x if v > n else x[:2]\n    n = n + y.sum()\nreturn n", ct.TraceError,
                       "x if v > n else x[:2]", ("64 paths",)),
    "shapes": ("y = x * 2\nreturn y @ np.ones((4, 2))", ct.SpaceError, "y @ np.ones((4, 2))", ("ct.f64[3]", "ct.f64[4, 2]")),
    "shapes of a sum": ("return x + np.ones(4)", ct.SpaceError, "x + np.ones(4)", ("broadcast", "ct.map(lambda x, y: x + y)")),
    "random": ("return x + np.random.rand(3)", ct.TraceError, "np.random.rand(3)", ("random", "argument")),
    "generator": ("return x + RNG.normal(size=3)", ct.TraceError, "RNG.normal(size=3)", ("random", "argument")),
    "complex": ("return np.cov(x * 1j)", ct.TraceError, "np.cov(x * 1j)", ("np.cov has no meaning for complex", "z.real")),
    "strings": ('return x + np.array(["a", "b", "c"])', ct.TraceError, 'x + np.array(["a", "b", "c"])', ("not supported",)),
    "raise": ("if n > 0:\n    raise ValueError('negative')\nreturn x", ct.TraceError, "n > 0", ("raises", "ValueError", "NaN")),
    "bound on one side": ("if n > 0:\n    pass\nelse:\n    t = x * 2\nreturn t", ct.TraceError, "n > 0", ("'t'", "both sides")),
    "no array": ("return x, object()", ct.TraceError, "", ("returns what is no array",)),
    "unknown function": ("return np.i0(np.outer(x, x))[1]", ct.TraceError, "np.i0(np.outer(x, x))", ("i0",)),
    "too many indices": ("return x[0, 1]", IndexError, "x[0, 1]", ("too many indices",)),
    "index beyond": ("return x[5]", IndexError, "x[5]", ("out of bounds",)),
    "a float as an index": ("return x[n]", IndexError, "x[n]", ("only integers",)),
}  # fmt: skip


def failing(body: str) -> Any:
    text = "A = np.ones(3)\nRNG = np.random.default_rng(1)\nKEPT = None\n\ndef f(x, n):\n"
    return module(text + textwrap.indent(body, "    ") + "\n").f


@pytest.mark.parametrize("name", ROWS)
def test_an_error_says_what_where_and_what_to_do(name: str) -> None:
    body, kind, at, words = ROWS[name]
    f = ct.function(failing(body))
    with pytest.raises(kind) as caught:
        f(X, 2.0)
        f(X.astype(np.float32), 2.0)  # for what the first trace has left behind
    error = caught.value
    shown = str(error) + "\n".join(getattr(error, "__notes__", []))
    for word in words:
        assert word in shown, shown
    if at:
        assert "traced_program" in shown, shown
        line = next(k for k, text in enumerate(body.splitlines()) if at.split("\n")[0] in text)
        assert f":{8 + line + 1}" in shown or f":{9 + line + 1}" in shown, (line, shown)
        assert at in shown, shown


def test_a_stand_in_is_not_used_after_its_loop() -> None:
    made = module("""
def f(x):
    s = 0.0
    for i in range(40):
        s = s + x[0] * i
        keep(s)
    return s + KEPT[0]

KEPT = [None]
exec("def keep(v): KEPT[0] = v")  # it has no source
""")
    with pytest.raises(ct.TraceError, match=r"made inside|after its trace"):
        ct.function(made.f)(X)


def test_what_is_no_function_is_refused_when_it_is_decorated() -> None:
    async def slow(x: Any) -> Any:
        return x

    def steps(x: Any) -> Any:
        yield x

    for wrong in (slow, steps, ct.sin, float, 3, "sin"):
        with pytest.raises(ct.ArgumentError):
            ct.function(wrong)
    for options in ({"static": "m"}, {"static": ("n", "m")}, {"free": ("NOT_THERE",)}):
        with pytest.raises(ct.ArgumentError, match=r"m|NOT_THERE"):
            ct.function(lambda x, n: x, **options)


def test_static_arguments_are_hashable() -> None:
    f = ct.function(lambda x, n: x * len(n), static="n")
    assert np.array_equal(f(X, (1, 2)), X * 2)
    with pytest.raises(ct.ArgumentError, match="hashable"):
        f(X, [1, 2])


def test_a_lambda_is_not_pickled_and_its_program_is() -> None:
    f = ct.function(lambda x: x * 2)
    with pytest.raises(ct.ArgumentError, match=r"\.at\("):
        pickle.dumps(f)
    p = f.at(X)
    assert pickle.loads(pickle.dumps(p)) == p


def test_a_loop_on_data_without_source_is_an_error() -> None:
    scope: dict[str, Any] = {}
    exec("def f(x):\n    while x[0] < 5:\n        x = x * 2\n    return x", scope)
    with pytest.raises(ct.TraceError, match="64 paths"):
        ct.function(scope["f"])(X)


def test_loops_nested_too_deep_are_an_error() -> None:
    lines = [f"{'    ' * (k + 1)}for i{k} in range(2):" for k in range(12)]
    made = module("def f(x):\n" + "\n".join(lines) + f"\n{'    ' * 13}x = x + 1\n    return x\n")
    with pytest.raises(ct.TraceError, match="function of their own"):
        ct.function(made.f)(X)


def test_a_stand_in_is_not_used_in_another_thread() -> None:
    def f(x: Any) -> Any:
        found: list[Any] = []

        def go() -> None:
            try:
                found.append(x + 1.0)
            except ct.TraceError as error:
                found.append(error)

        thread = threading.Thread(target=go)
        thread.start()
        thread.join(60.0)
        if isinstance(found[0], Exception):
            raise found[0]
        return found[0]

    with pytest.raises(ct.TraceError, match="in another thread"):
        ct.function(f)(X)


def test_trees_in_messages_have_their_keys() -> None:
    with pytest.raises(ct.SpaceError, match=r"a tree like \{'a': an array, 'b': \(an array, a number \(float\)\)\}"):
        ct.jvp(lambda p: p["a"] * p["b"][0], ({"a": X, "b": (X, 2.0)},), ({"a": X},))

"""Which source is believed: only what compiles to the function's own code."""

from __future__ import annotations

import ast
import functools
import importlib.util
import linecache
import os
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scalar_support import define, run

import catad as ct
from catad.scalar import read
from catad.scalar.reading.find_source import find_source

X = np.array([-2.0, 0.5, 3.0])


@pytest.fixture(autouse=True)
def _no_bytecode(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python takes a file that was written in the same second, of the same size, for the one that it has compiled."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)


def imported(path: Path, text: str, name: str = "f") -> Callable[..., Any]:
    """A function of a file, as an import gives it."""
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Callable[..., Any] = getattr(module, name)
    return found


def edited(path: Path, text: str) -> None:
    before = path.stat().st_mtime
    path.write_text(text)
    os.utime(path, (before + 10, before + 10))


EDITS = {
    "operator": ("def f(x):\n    return x + x\n", "def f(x):\n    return x - x\n"),
    "name": ("A, B = 2.0, 3.0\ndef f(x):\n    return x * A\n", "A, B = 2.0, 3.0\ndef f(x):\n    return x * B\n"),
    "constant": ("def f(x):\n    return x * 2.0\n", "def f(x):\n    return x * 3.0\n"),
    "sign of zero": (
        "import math\ndef f(x):\n    return math.copysign(x, 0.0)\n",
        "import math\ndef f(x):\n    return math.copysign(x, -.0)\n",
    ),
    "type of a constant": ("def f(x):\n    return (x > 0) + 1.0\n", "def f(x):\n    return (x > 0) + True\n"),
    "beside an assert": (
        "def f(x):\n    assert 2 > 1\n    return x + x\n",
        "def f(x):\n    assert 2 > 1\n    return x - x\n",
    ),
    "beside an assert, a number": (
        "def f(x):\n    assert 2 > 1\n    return x + 4.0\n",
        "def f(x):\n    assert 2 > 1\n    return x + 5.0\n",
    ),
    "function inside": (
        "def f(x):\n    def g(y):\n        return y * 2.0\n    return g(x)\n",
        "def f(x):\n    def g(y):\n        return y * 4.0\n    return g(x)\n",
    ),
    "else of the if or of the for": (
        "def f(x):\n  for i in range(3):\n    if i == 5:\n      x = x + 1\n    else:\n     x = x * 2\n  return x\n",
        "def f(x):\n  for i in range(3):\n    if i == 5:\n      x = x + 1\n  else:\n     x = x * 2\n  return x\n",
    ),
    "order": ("def f(x):\n    a, b = x, 2.0\n    return a\n", "def f(x):\n    b, a = x, 2.0\n    return a\n"),
    "local variable": ("def f(x):\n    y = x + 1\n    return y\n", "def f(x):\n    y = x + 1\n    return x\n"),
    "lines above": ("def f(x):\n    return x * 2.0\n", "\ndef f(x):\n    return x * 3.0\n"),
    "another function there": ("def f(x):\n    return x * 2.0\n", "def g(x):\n    return x * 2.0\n"),
    "no Python": ("def f(x):\n    return x * 2.0\n", "not Python at all (\n"),
}


@pytest.mark.parametrize("case", EDITS)
@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_a_file_that_was_edited_is_not_read(case: str, engine: str, tmp_path: Path) -> None:
    before, after = EDITS[case]
    fn = imported(tmp_path / "edited.py", before)
    want = [fn(float(x)) for x in X]
    assert find_source(fn) is not None  # type: ignore[arg-type]
    edited(tmp_path / "edited.py", after)
    with ct.use_engine(engine), np.errstate(all="ignore"):
        assert np.array_equal(ct.map(fn)(X), want)
    assert find_source(fn) is None  # type: ignore[arg-type]


def test_an_assert_that_the_test_runner_rewrote_does_not_hide_the_source() -> None:
    def limited(x: Any) -> Any:
        assert len((1, 2)) == 2, "never"
        total = x
        for i in range(50):
            total = total + (x if total < i else 0.5)
        return total

    assert find_source(limited) is not None  # type: ignore[arg-type]
    assert np.array_equal(ct.map(limited)(X), [limited(float(x)) for x in X])


def test_a_file_that_is_loaded_again(tmp_path: Path) -> None:
    old = imported(tmp_path / "again.py", "def f(x):\n    return x + 1.0\n")
    new = imported(tmp_path / "again.py", "def f(x):\n    return x + 2.0\n")
    edited(tmp_path / "again.py", "def f(x):\n    return x + 2.0\n")
    assert np.array_equal(ct.map(old)(X), X + 1) and np.array_equal(ct.map(new)(X), X + 2)


def test_code_that_was_put_in_place_of_another() -> None:
    fn = define("f = lambda x: x * 2.0\n")
    fn.__code__ = define("f = lambda x: x * 3.0\n").__code__.replace(co_filename=fn.__code__.co_filename)
    assert np.array_equal(run(read(fn), X)[0], X * 3)
    fn.__code__ = fn.__code__.replace(co_consts=(None, 7.0) if fn.__code__.co_consts[0] is None else (7.0,))
    assert np.array_equal(run(read(fn), X)[0], X * 7)


def test_lambdas_on_one_line_without_columns() -> None:
    text = "f = [lambda x: x + 1.0, lambda x: x * 3.0]\n"
    file = "<no columns>"
    linecache.cache[file] = (len(text), None, [text], file)
    scope: dict[str, Any] = {}
    exec(compile(text, file, "exec"), scope)
    for fn, want in zip(scope["f"], (X + 1, X * 3), strict=True):
        assert find_source(fn) is not None and np.array_equal(run(read(fn), X)[0], want)
        bare = types.FunctionType(fn.__code__.replace(co_linetable=b""), scope)
        assert np.array_equal(run(read(bare), X)[0], want)


def test_the_same_text_with_other_globals() -> None:
    text = "def f(x):\n    return x * K\n"
    assert [run(read(define(text, K=k)), X)[0][0] for k in (1.0, 2.0)] == [-2.0, -4.0]
    code = define(text, K=0.0).__code__
    both = [types.FunctionType(code, {"K": k}) for k in (3.0, 4.0)]
    assert [run(read(fn), X)[0][0] for fn in both] == [-6.0, -8.0]
    f, g = map(ct.map, both)
    assert f != g and f(1.0) == 3.0 and g(1.0) == 4.0


def test_defaults_are_those_of_the_time_of_reading() -> None:
    def scaled(x: Any, k: Any = 2.0) -> Any:
        return x * k

    before = ct.map(scaled)
    scaled.__defaults__ = (5.0,)
    assert before(1.0) == 2.0 and ct.map(scaled)(1.0) == 5.0


def test_what_wraps_a_function_is_read_itself() -> None:
    class Twice:
        def __init__(self, fn: Any) -> None:
            functools.update_wrapper(self, fn)
            self.fn = fn

        def __call__(self, x: Any) -> Any:
            return 2.0 * self.fn(x)

    def square(x: Any) -> Any:
        return x * x

    @functools.wraps(square)
    def shifted(x: Any) -> Any:
        return square(x) + 1.0

    twice = Twice(square)
    assert ct.map(twice)(3.0) == 18.0 and ct.map(lambda x: twice(x))(3.0) == 18.0
    assert ct.map(shifted)(3.0) == 10.0
    assert ct.map(functools.lru_cache(square))(3.0) == 9.0


def test_partials() -> None:
    def affine(x: Any, k: Any, c: Any = 1.0) -> Any:
        return k * x + c

    assert ct.map(functools.partial(affine, k=2.0))(3.0) == 7.0
    assert ct.map(functools.partial(affine, 2.0))(3.0) == 7.0
    assert ct.map(functools.partial(affine, k=2.0, c=5.0))(3.0) == 11.0
    assert ct.map(functools.partial(functools.partial(affine, c=0.0), 2.0))(3.0) == 6.0


def test_what_cloudpickle_brings_is_traced_or_read(tmp_path: Path) -> None:
    cloudpickle = pytest.importorskip("cloudpickle")
    fn = imported(tmp_path / "shipped.py", "K = 2.5\ndef f(x):\n    return K * x if x > 0 else -x\n")
    module = sys.modules.setdefault("shipped", types.ModuleType("shipped"))
    cloudpickle.register_pickle_by_value(module)
    try:
        sent = cloudpickle.dumps(fn)
    finally:
        cloudpickle.unregister_pickle_by_value(module)
        del sys.modules["shipped"]
    edited(tmp_path / "shipped.py", "K = 2.5\ndef f(x):\n    return K + x if x > 0 else -x\n")
    code = "import sys, pickle, catad as ct; print(float(ct.map(pickle.load(sys.stdin.buffer))(2.0)))"
    done = subprocess.run([sys.executable, "-c", code], input=sent, capture_output=True, timeout=120, check=True)
    assert done.stdout.decode().strip() == "5.0"


CELL = """import math
import numpy as np
@ct.function
def steps(x):
    while x.sum() < 10.0:
        x = np.exp(x) + math.sin(x[0])
    return x
slope = ct.grad(lambda x: math.sin(x))
one = lambda x: math.cos(x); two = lambda x: math.sqrt(x)
"""


def test_a_cell_that_imports_what_its_functions_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """IPython compiles each statement of a cell alone, and Python compiles `math.sin(x)` otherwise where it sees the import."""
    file, scope = "<a cell that imports>", {"ct": ct}
    monkeypatch.setitem(linecache.cache, file, (len(CELL), None, CELL.splitlines(True), file))
    for statement in ast.parse(CELL).body:
        exec(compile(ast.Module([statement], []), file, "exec"), scope)
    space: dict[str, Any] = scope
    x = np.zeros(2)
    assert np.allclose(space["steps"](x), space["steps"].__wrapped__(x))
    assert space["slope"](0.5) == np.cos(0.5)
    found = find_source(space["one"]), find_source(space["two"])
    assert [None if one is None else ast.unparse(one[0].body) for one in found] == ["math.cos(x)", "math.sqrt(x)"]

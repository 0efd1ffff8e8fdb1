"""The dtype of a number that a loop of a kernel carries, against the Python of the kernel, in which entries are NumPy's scalars.

A Python number takes the dtype of what it meets, so integers wrap around and single precision rounds as they do there.
Truth values count as 0 and 1 in arithmetic: their oracle has integers.
"""

from __future__ import annotations

import linecache
from itertools import product
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad import scalar
from catad.scalar import Type
from catad.simt import lower
from tests.simt.against_threads import ENGINES

STEPS = {"+": "s + v", "*": "s * v", "-": "s - v", "from": "v - s", "max": "max(s, v)", "maximum": "np.maximum(s, v)"}
STARTS = ("0", "0.0", "True")
DTYPES = ("bool", "int8", "int32", "int64", "uint8", "float32", "float64")
LOOPS = {
    "at once": ["for k in range(20):", "    v = x[k]", "    s = {step}"],
    "one by one": ["for k in range(20):", "    y[i, k % 3] = k", "    v = x[k] if y[i, k % 3] > 0 else x[0]", "    s = {step}"],
    "written out": ["for k in range(i + 2):", "    v = x[k]", "    s = {step}"],
    "bounds in data": ["for k in range(n[i]):", "    v = x[k]", "    s = {step}"],
    "while": ["k = 0", "while k < n[i]:", "    v = x[k]", "    k += 1", "    s = {step}"],
    "numbers only": ["v = x[i]", "for k in range(n[i]):", "    s = {step}"],
    "nested": ["for j in range(i + 12):", "    for k in range(j):", "        v = x[k]", "        s = {step}"],
}


def launched(start: str, loop: str, step: str, end: str = "s", among: dict[str, list[str]] = LOOPS) -> Any:
    """A kernel of a text, which linecache knows, at a launch of three threads."""
    body = [line.format(step=step) for line in among[loop]]
    lines = ["i = ct.simt.grid(1)", f"s = {start}", *body, "o[i] = s", f"p[i] = {end}"]
    text = "def body(x, n, y, o, p):\n" + "".join([f"    {line}\n" for line in lines])
    file = f"<a loop {start} {loop} {step} {end} {len(among)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope: dict[str, Any] = {"ct": ct, "np": np}
    exec(compile(text, file, "exec"), scope)
    return ct.kernel(scope["body"])[1, 3]


def entries(dtype: str) -> Any:
    rng = np.random.default_rng(5)
    if dtype == "bool":
        return rng.random(20) < 0.7
    if dtype.startswith("float"):
        return rng.uniform(0.6, 1.7, 20).astype(dtype)
    return rng.integers(max(-90, np.iinfo(dtype).min), 90, 20).astype(dtype) | np.dtype(dtype).type(1)


def arguments(x: Any) -> Any:
    return x, np.array([17, 11, 0]), np.zeros((3, 3)), np.zeros(3), np.zeros(3)


def compared(launch: Any, x: Any, engine: str) -> None:
    oracle = arguments(x.astype(np.int64) if x.dtype.kind == "b" else x)
    with ct.use_engine(engine):
        got = launch(*arguments(x))
    for ours, theirs in zip(got, ct.testing.threads(launch, *oracle), strict=True):
        single = x.dtype == np.float32
        np.testing.assert_allclose(ours, theirs, rtol=2e-6 if single else 1e-13, atol=1e-30)
        if single and np.array_equal(np.float32(theirs), theirs):
            assert np.array_equal(np.float32(ours), ours)  # a sum of doubles would not be one of singles


@pytest.mark.quick(110)
@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_have_the_dtype_that_python_gives_them(dtype, start, step, loop):
    with np.errstate(all="ignore"):
        compared(launched(start, loop, STEPS[step]), entries(dtype), "reference")


COMPILED = [(start, dtype, step) for (start, dtype), step in zip(product(STARTS, DTYPES), 4 * list(STEPS), strict=False)]


@pytest.mark.quick(21)
@pytest.mark.parametrize("engine", ENGINES[1:])
@pytest.mark.parametrize("loop", ["at once", "one by one", "bounds in data"])
@pytest.mark.parametrize(("start", "dtype", "step"), COMPILED)
def test_compiled_loops_have_these_dtypes(start, dtype, step, loop, engine):
    with np.errstate(all="ignore"):
        compared(launched(start, loop, STEPS[step]), entries(dtype), engine)


# fmt: off
COUNTS = {
    "at once": ["for k in range(20):", "    s = s + x[k] * k - (k + i) * x[3]"],
    "one by one": ["m = 0", "for k in range(20):", "    m = m + 1", "    if y[i, k % 3] > 0:", "        y[i, k % 3] = k",
                   "    s = x[k] * m - s * k"],
    "written out": ["for k in range(i + 2):", "    s = s * (k + 1) + x[k]"],
    "bounds in data": ["m = 3", "for k in range(n[i]):", "    m = m + k % 2", "    s = s + x[k] * k - x[k] * m"],
    "behind a loop": ["m = 2", "for k in range(n[i]):", "    if x[k] > 1:", "        m += k % 5", "s = s + x[5] * m"],
    "no loop": ["s = s + x[i] * i + (3 - i) * x[4] if i < 2 else x[i] * (2 * i)"],
    "quotients": ["for k in range(20):", "    s = s + x[k] * (k / 8) + (i + 0.5) * x[4]"],
    "tests": ["for k in range(20):", "    if x[k] > k // 3 or x[k] * k == i:", "        s = s + x[k]"],
}
# fmt: on


@pytest.mark.quick(10)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("loop", COUNTS)
def test_counters_and_coordinates_are_numbers_of_python(loop, engine):
    with np.errstate(all="ignore"):
        for start, dtype in product(("0", "0.0"), ("int8", "uint8", "int32", "float32", "float64")):
            compared(launched(start, loop, "", among=COUNTS), entries(dtype), engine)


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_what_is_made_of_them_behind_the_loop_has_their_dtype(loop, dtype):
    with np.errstate(all="ignore"):
        for start in STARTS:
            compared(launched(start, loop, "s + v", "s * x[3] + x[4]"), entries(dtype), "reference")


def test_a_truth_value_stays_one():
    for loop, step in product(LOOPS, ("s or v > 1.2", "s and v < 1.6", "not s", "v > 1.0")):
        for start in ("False", "True"):
            compared(launched(start, loop, step, "2.0 if s else 3.0"), entries("float64"), "reference")


def test_a_sum_that_begins_with_truth_is_no_truth_value():
    for loop in ("at once", "bounds in data"):
        launch, args = launched("True", loop, "s + v"), arguments(entries("float64"))
        value, pull = ct.vjp(launch, *args)
        sums = [1.0 + args[0][: 20 if loop == "at once" else n].sum() for n in args[1]]
        np.testing.assert_allclose(value[0], sums)
        np.testing.assert_allclose(pull((np.ones(3), np.zeros(3)))[0][:3], 3.0 if loop == "at once" else 2.0)


def test_the_loops_are_of_all_kinds():
    found = {}
    for loop in LOOPS:
        args = arguments(entries("float32"))
        wiring = ct.wire(launched("0", loop, "s - v"), ct.space_of(args))
        found[loop] = {type(box.primitive).__name__ for box in wiring.boxes} & {"Sweep", "Counted"}
    assert found["at once"] == found["written out"] == found["numbers only"] == found["nested"] == set()
    assert found["one by one"] == {"Sweep"} and found["bounds in data"] == found["while"] == {"Counted"}


def test_python_numbers_taken_for_those_of_numpy_are_seen(monkeypatch):
    """Planted: an int is an int64 and a float a float64 before it meets anything."""

    def strong(node, dtypes, weak):
        dtype = scalar.dtypes_alone([node], dtypes)[0]
        return node, Type(dtype, dtype.kind == "b")

    monkeypatch.setattr(lower, "adapted", strong)
    for start, loop, step, dtype in (("0", "one by one", "s + v", "int8"), ("0.0", "at once", "s + v", "float32")):
        planted = launched(start, loop, step, "s * 1")
        with pytest.raises(AssertionError):
            compared(planted, entries(dtype), "reference")
    with pytest.raises(AssertionError):
        compared(launched("0", "no loop", "", "s * 1", COUNTS), entries("float32"), "reference")

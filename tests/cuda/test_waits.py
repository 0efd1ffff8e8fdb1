"""Programs on a fake CuPy ask the host for nothing, once they have run, and so can be captured; those that must ask say so."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.category.spaces import flatten
from catad.engine.cuda.device import GPU
from catad.engine.cuda.flat_index import FlatIndexed
from catad.errors import notices
from catad.testing.drawn import draw_program

from ..core.test_derivatives import PROGRAMS
from ..engine.cpu_support import assert_same
from ..fake_cupy import FakeArray, fake
from .test_maps import GATHERED

pytestmark = pytest.mark.filterwarnings("ignore::catad.CatadNotice")
RNG = np.random.default_rng(4)
AT = np.array([4, 0, -1, 0])
ASK = {"while_loop", "choose"}  # words whose conditions the host reads


@pytest.fixture(autouse=True)
def _cupy(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setitem(sys.modules, "cupy", fake)
    fake.reset(2)
    notices.forget()
    yield
    GPU._looks.clear()
    fake.reset()
    notices.forget()


def there(x: Any) -> Any:
    return tuple(map(there, x)) if isinstance(x, tuple) else fake.asarray(np.asarray(x))


def ones(y: Any) -> Any:
    if isinstance(y, tuple):
        return tuple(map(ones, y))
    return fake.ones(y.shape, y.dtype) if y.dtype.kind == "f" else ()


def in_order(x: Any, k: Any) -> Any:
    """Reads, writes and sums at indices of a Python function."""
    y = x.copy()
    y[k] = x[k] * 2.0
    np.add.at(y, k, x[:4])
    return y.sum() + x[k[0]]


AT_INDICES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "index": (ct.index[ct.arg], (RNG.normal(size=6), AT)),
    "two indices": (ct.index[ct.arg, ct.arg], (RNG.normal(size=(6, 6)), AT, AT)),
    "one index": (ct.index[ct.arg], (RNG.normal(size=6), np.array(3))),
    "set": (ct.at[ct.arg].set, (RNG.normal(size=6), AT, RNG.normal(size=4))),
    "set one": (ct.at[ct.arg].set, (RNG.normal(size=6), np.array(3), np.array(1.0))),
    "add": (ct.at[ct.arg].add, (RNG.normal(size=6), AT, RNG.normal(size=4))),
    "add one": (ct.at[ct.arg].add, (RNG.normal(size=6), np.array(3), np.array(1.0))),
    "gather": (GATHERED, (np.array([0, 2, 2]), RNG.normal(size=5))),
    "a Python function": (ct.function(in_order), (RNG.normal(size=6), AT)),
    "flags": (ct.segmented_fold(ct.mul, 1.0, segments=2), (np.array([1, 0, 1, 0]), RNG.normal(size=4))),
    "lengths": (ct.segmented_scan(ct.add, 0.0, by="lengths"), (np.array([1, 0, 3]), RNG.normal(size=4))),
    "sort": (ct.sort(axis=0), (RNG.normal(size=(5, 3)),)),
}
CASES = {name: (f, (RNG.uniform(0.5, 1.5, 6),)) for name, f in PROGRAMS.items()} | AT_INDICES


def run(f: Any, given: Sequence[Any]) -> None:
    """The value, and the cotangents of ones."""
    f(*given)
    y, pullback = ct.vjp(f, *given)
    pullback(ones(y))


def reads(f: Any, given: Sequence[Any]) -> list[str]:
    """What made the host wait when it ran again, and whether it copied numbers to the device."""
    run(f, given)
    fake.reads.clear()
    fake.copied.clear()
    f(*given)
    copies = list(fake.copied)
    run(f, given)
    return [*fake.reads, *[f"a copy of {size} bytes" for size in copies]]


@pytest.mark.quick(19)
@pytest.mark.parametrize("name", CASES)
def test_nobody_waits(name: str) -> None:
    f, x = CASES[name]
    assert reads(f, there(x)) == []


@pytest.mark.quick(7)
@pytest.mark.parametrize("number", range(16))
def test_drawn_programs_wait_for_nothing_but_conditions(number: int) -> None:
    program = draw_program(1, 100 + number, sizes=(2, 7))
    found = reads(program.term, there(tuple(program.point.arrays)))
    assert not found or program.words & ASK, (program.term, found)


def test_a_read_of_the_host_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: code of a box that looks at its numbers."""
    monkeypatch.setattr(FlatIndexed, "__call__", lambda self, xp, *arrays: self.box.evaluate(xp, *arrays))
    assert "__int__" in reads(ct.index[ct.arg, 1], there((RNG.normal(size=(6, 2)), AT)))


def results(f: Any, given: Sequence[Any]) -> list[Any]:
    """The leaves of the value and of the cotangents of ones."""
    y, pullback = ct.vjp(f, *given)
    found = [leaf for leaf in (*flatten(f(*given)), *flatten(pullback(ones(y)))) if not isinstance(leaf, tuple)]
    assert all(type(leaf) is FakeArray for leaf in found)
    return found


def captured(f: Any, given: Sequence[Any]) -> None:
    """Captures values and cotangents, and compares what the graph makes of other numbers with what the program does."""
    results(f, given)
    with fake.cuda.Stream() as stream:
        stream.begin_capture()
        made = results(f, given)
        graph = stream.end_capture()
    for scale in (1.0, 0.75):
        for array in given:
            if array.dtype.kind == "f":
                array._data[...] *= array.dtype.type(scale)
        graph.launch()
        replayed = [leaf._data.copy() for leaf in made]
        assert_same(replayed, [leaf._data for leaf in results(f, given)], (f, scale))


@pytest.mark.parametrize("name", CASES)
def test_a_captured_program_runs_again(name: str) -> None:
    f, x = CASES[name]
    captured(f, there(x))


@pytest.mark.quick(4)
@pytest.mark.parametrize("number", range(8))
def test_drawn_programs_are_captured(number: int) -> None:
    program = draw_program(1, 200 + number, sizes=(2, 7))
    if not program.words & ASK:
        captured(program.term, there(tuple(np.array(a) for a in program.point.arrays)))


def test_a_result_that_a_graph_does_not_make_again_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: array code that runs when it is captured, and never again."""
    monkeypatch.setattr("tests.fake_cupy._into", lambda old, new: None)
    with pytest.raises(AssertionError):
        captured(CASES["matmul"][0], there(CASES["matmul"][1]))


def test_conditions_that_the_host_reads_are_not_captured() -> None:
    x = there(np.array([5.0, 3.0]))
    f = ct.choose(ct.map(lambda x: x > 1.0) >> ct.any(), ct.sort(), ct.flip())
    f(x)
    with fake.cuda.Stream() as stream:
        stream.begin_capture()
        with pytest.raises(ct.EngineError, match=r"the condition of ct\.choose, which the host reads"):
            f(x)
        stream.end_capture()
    assert f(x)._data.tolist() == [3.0, 5.0]

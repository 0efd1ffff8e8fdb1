"""Counted work of whole programs: what a loop allocates, copies, and compiles."""

from __future__ import annotations

import ctypes
import re
import tracemalloc
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.engine.cpu.whole import run
from catad.engine.cpu.whole.run import Whole
from catad.engine.cpu.whole.text import Text
from catad.engine.program import program_of

from .compiling import counts
from .test_whole_loops import HALVE, STEP, bodies, cell, elements, kalman, random
from .whole_support import Ran, anew, ran

pytestmark = pytest.mark.full_code

__all__ = ["counts", "ran"]

ENDS = re.compile(r"^  (br|ret|switch) ")
MOVED = re.compile(r"@llvm\.mem(?:cpy|set)\S*\(.* i64 (\d+), i1 false\)")


class Work:
    """Blocks of instructions that compiled code ran, and bytes that it copied and cleared."""

    def __init__(self) -> None:
        self.place = (ctypes.c_int64 * 2)()

    def of(self, f: ct.D, *x: Any) -> tuple[int, int]:
        """Those of one call."""
        with ct.use_engine("cpu"):
            f(*x)
            self.place[0] = self.place[1] = 0
            f(*x)
        return self.place[0], self.place[1]

    def counted(self, text: str) -> str:
        """The text, in which each block counts itself."""
        lines, many = list[str](), 0

        def add(which: int, more: str) -> None:
            nonlocal many
            many += 1
            at = f"inttoptr (i64 {ctypes.addressof(self.place) + 8 * which} to ptr)"
            lines.append(f"  %c_{many} = load i64, ptr {at}")
            lines.append(f"  %d_{many} = add i64 %c_{many}, {more}")
            lines.append(f"  store i64 %d_{many}, ptr {at}")

        for line in text.splitlines():
            if ENDS.match(line):
                add(0, "1")
            for nbytes in MOVED.findall(line):
                add(1, nbytes)
            lines.append(line)
        return "\n".join(lines) + "\n"


@pytest.fixture
def work(ran: Ran, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Counts what compiled code does; the code is made anew, and forgotten."""
    anew(monkeypatch)
    found, original = Work(), Text.text
    monkeypatch.setattr(Text, "text", lambda self: found.counted(original(self)))
    yield found
    anew(monkeypatch)


def whole(f: ct.D, *x: Any) -> Whole:
    """A term at a point as one compiled function."""

    def plain(*_: Any) -> Any:
        raise AssertionError("the array code runs instead")

    program, _ = program_of(f, ct.space_of(x[0] if len(x) == 1 else x))
    return Whole(program.wiring, plain)


def at(fn: Any, *x: Any) -> ct.D:
    return ct.function(fn).at(ct.space_of(x[0] if len(x) == 1 else x))


# -- an update of one element costs its own bytes


def added(x):
    y = np.zeros(len(x))
    for i in range(len(x)):
        y[i] = x[i] * x[i]
    return y


def running_sum(x):
    y = x.copy()
    for i in range(1, len(x)):
        y[i] = np.sin(y[i]) + y[i - 1]
    return y


def in_place(A):
    for i in range(1, A.shape[0] - 1):
        for j in range(1, A.shape[1] - 1):
            A[i, j] = 0.25 * (A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1])
    return A


def growth(work: Work, make: Any, shape: Any) -> tuple[float, float]:
    """How many times more blocks run, and bytes are copied, for four times as many numbers."""
    found = [work.of(*make(shape(n))) for n in (40, 160)]
    return found[1][0] / found[0][0], (found[1][1] + 1) / (found[0][1] + 1)


PULLED = {
    "value": lambda f, x: (f, x),
    "forward": lambda f, x: (ct.tangent(f), (x, np.ones_like(x))),
    "reverse": lambda f, x: (ct.reverse_differential(f), (x, np.ones_like(x))),
    "gradient": lambda f, x: (ct.value_and_grad(f >> ct.map(np.sin) >> ct.sum()), x),
}


@pytest.mark.parametrize("kind", PULLED)
@pytest.mark.parametrize("fn", [added, running_sum, elements])
def test_updates_of_elements_are_linear_work(fn: Any, kind: str, work: Work) -> None:
    def make(x: Any) -> tuple[ct.D, Any]:
        return PULLED[kind](at(fn, x), x)

    blocks, copied = growth(work, make, random)
    assert blocks < 5.0 and copied < 5.0  # 16 where each update is a copy


@pytest.mark.parametrize("kind", PULLED)
def test_an_in_place_sweep_is_linear_work(kind: str, work: Work) -> None:
    blocks, copied = growth(work, lambda x: PULLED[kind](at(in_place, x), x), lambda n: random(20, n))
    assert blocks < 5.5 and copied < 5.5


def parts_changed(x):
    for _ in range(40):
        x[1] = np.sin(x[0]) * x[2]
        x[0] = x[1] + np.sum(x[3:9:2])
    return x


@pytest.mark.parametrize("kind", PULLED)
def test_changes_of_parts_are_work_on_parts(kind: str, work: Work) -> None:
    """Values and derivatives change the entries that a step reads and writes, and no others."""
    found = [work.of(*PULLED[kind](at(parts_changed, x), x)) for x in (random(300), random(3000))]
    more = 2700  # numbers, through which each of the 40 steps would go
    assert found[1][0] - found[0][0] < 10 * more and found[1][1] - found[0][1] <= 12 * 8 * more


def test_the_measure_sees_copies(work: Work) -> None:
    """An array whose former states are results is copied at each step."""

    def kept(x):
        y, out = x.copy(), np.zeros((len(x), len(x)))
        for i in range(len(x)):
            y[i] = y[i] * 2.0 + y[i - 1]
            out[i] = y
        return out

    blocks, copied = growth(work, lambda x: (at(kept, x), x), random)
    assert max(blocks, copied) > 8.0


# -- nothing is allocated in a loop


LOOPS = {
    "an iteration": lambda n: (ct.iterate(STEP, n), random(200)),
    "large states": lambda n: (ct.iterate(ct.fork(ct.flip(), ct.id) >> ct.mul >> ct.sin, n), random(3000)),
    "products": lambda n: (ct.iterate(ct.dup >> ct.matmul >> ct.map(np.tanh), n), random(30, 30)),
    "a loop in a loop": lambda n: (ct.iterate(ct.iterate(STEP >> ct.scan(ct.add, 0.0), 20), n), random(300)),
}


@pytest.mark.parametrize("name", LOOPS)
def test_memory_does_not_depend_on_the_number_of_steps(name: str, ran: Ran) -> None:
    few, more = [whole(LOOPS[name](n)[0], *_leaves(LOOPS[name](n)[1])) for n in (20, 2000)]
    assert few.printed == more.printed and few.room == more.room
    assert few.first != more.first  # the length is data
    assert "alloca" not in _after_entry(few.printed) and "malloc" not in few.printed
    peaks = []
    for one, n in ((few, 20), (more, 2000)):
        x = _leaves(LOOPS[name](n)[1])
        with ct.use_engine("cpu"):  # compiled in full at once
            one(np, *x)
        tracemalloc.start()
        one(np, *x)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] <= peaks[0] + 2048


def _leaves(x: Any) -> tuple[Any, ...]:
    return x if isinstance(x, tuple) else (x,)


def _after_entry(text: str) -> str:
    """The text without the first block of each function."""
    found = [re.split(r"^\w[\w.]*:\s*$", body, maxsplit=2, flags=re.M) for body in text.split("define")[1:]]
    return "\n".join([blocks[2] for blocks in found if len(blocks) > 2])


def test_slots_are_all_that_a_derivative_keeps(ran: Ran) -> None:
    """Of n steps of a pointwise map, n slopes; the workspace of a linear loop does not grow with n at all."""
    m = 200
    for derivative in (ct.reverse_differential, ct.tangent):
        rooms = [whole(derivative(ct.iterate(STEP, n)), random(m), random(m)).room for n in (20, 40, 60)]
        assert rooms[2] - rooms[1] == rooms[1] - rooms[0] <= 20 * m * 8
    linear = ct.iterate(ct.fork(ct.flip(), ct.id) >> ct.map(lambda a, b: 0.3 * a + 0.5 * b), 1)

    def chain(n: int) -> ct.D:
        return ct.reverse_differential(ct.iterate(linear, n))

    assert whole(chain(20), random(m), random(m)).room == whole(chain(2000), random(m), random(m)).room


# -- what is compiled


def updates(n: int) -> ct.D:
    """The first n elements, one after the other."""

    def f(x):
        for i in range(1, n // 40 + 30):
            x[i] = x[i] * x[i - 1]
        return x

    return at(f, random(60))


def test_another_length_compiles_nothing(ran: Ran, counts: Any) -> None:
    cases = {
        "value": lambda n: (ct.iterate(STEP, n), (random(3),)),
        "inputs": lambda n: (ct.iterate(ct.map(lambda s, u: np.tanh(s * u)), n, inputs=True), (0.5, random(n))),
        "loops in loops": lambda n: (ct.iterate(ct.iterate(STEP, n), n), (random(3),)),
        "updates": lambda n: (updates(n), (random(60),)),
    }
    for name, case in cases.items():
        texts = {n: whole(case(n)[0], *case(n)[1]).printed for n in (20, 50, 200)}
        assert len(set(texts.values())) == 1, name
        with ct.use_engine("cpu"):
            f, x = case(20)
            f(*x)
            before = counts["compiled"] + counts["loaded"]
            for n in (50, 200):
                f, x = case(n)
                f(*x)
            assert counts["compiled"] + counts["loaded"] == before, name


def test_another_count_of_a_while_loop_compiles_nothing(ran: Ran, counts: Any) -> None:
    with ct.use_engine("cpu"):
        HALVE(77.0)
        before = counts["compiled"] + counts["loaded"]
        for x in (3.0, 1e6, 1e30, 0.1):
            HALVE(x)
        assert counts["compiled"] + counts["loaded"] == before


def test_one_program_is_one_function(ran: Ran, counts: Any) -> None:
    """Loops, branches and products: one module, compiled once."""

    def layer(W, U, b, xs):
        h, c = np.zeros(3), np.zeros(3)
        for x in xs:
            h, c = cell(x @ W + h @ U + b, c, 3)
        return np.sum(h * h)

    points: list[tuple[Any, Any]] = [
        (layer, (random(4, 12), random(3, 12), random(12), random(19, 4))),
        (kalman, (0.5 * np.eye(3), 0.1 * np.eye(3), random(19))),
        (bodies, (random(4, 3), random(4, 3))),
    ]
    for fn, x in points:
        f = at(fn, *x)
        for g, y in (
            (f, x),
            (ct.value_and_grad(f) if fn is not bodies else ct.tangent(f), x if fn is not bodies else (x, x)),
        ):
            before, start = counts["compiled"] + counts["loaded"], ran.compiled
            with ct.use_engine("cpu"):
                g(*y)
                g(*y)
            assert counts["compiled"] + counts["loaded"] <= before + 1
            assert ran.compiled - start == 2


@pytest.mark.numpy_only
@pytest.mark.filterwarnings("ignore::catad.CatadNotice")
def test_a_part_without_code_leaves_its_loops_compiled(ran: Ran) -> None:
    unknown = ct.D(lambda x: (np.asarray(x) * 0.9, ct.scale(np.full(5, 0.9))))
    f = ct.iterate(STEP, 20) >> unknown >> ct.iterate(STEP, 20)
    x = random(5)
    with ct.use_engine("reference"):
        want = f(x)
    with ct.use_engine("cpu"):
        assert np.allclose(f(x), want, rtol=1e-14)
    assert ran.compiled == 1  # it calls the part
    assert run.largest(f_sweep(f, x)) == 5


def f_sweep(f: ct.D, x: Any) -> Any:
    from catad.vector.loops.sweep_map import Sweep

    return next(box.primitive for box in ct.wire(f, ct.space_of(x)).boxes if isinstance(box.primitive, Sweep))


def test_another_thread_may_take_the_last_table(ran: Ran) -> None:
    class Taken(list[Any]):
        """A table was there when somebody asked, and is gone now."""

        def pop(self, *_: Any) -> Any:
            raise IndexError("pop from empty list")

    x = random(200)
    one = whole(ct.iterate(STEP, 20), x)
    want = one(np, x)
    one.frames = Taken(one.frames)
    assert one.frames and np.array_equal(one(np, x), want)

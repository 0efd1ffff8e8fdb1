"""Maps in kernels for GPUs give the bits of the CPU engine, in whichever order threads run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import catad as ct
from catad.engine.cuda.checks import Checked
from catad.engine.cuda.maps import Points
from catad.errors import LawError
from catad.testing import points as points_of
from catad.testing import terms

from ..engine.cpu_support import SPECIAL, assert_same, define, functions, on
from .support import SEEDS, EmulatedGpu, anew, emulated, gpu, on_gpu

__all__ = ["anew", "gpu"]  # fixtures

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(2, 37, 53)).astype(np.float32)
ROW, COLUMN = RNG.normal(size=53).astype(np.float32), RNG.normal(size=(37, 1)).astype(np.float32)
D = RNG.normal(size=(29, 31))
K = RNG.integers(-5, 5, (37, 53))


def cell(c, f, i, g):
    return ct.sigmoid(f) * c + ct.sigmoid(i) * np.tanh(g)


def chosen(z, x, y):
    return np.exp(x) if z > 0.0 else x * y


def collatz(x):
    n = 0.0
    while x > 1.5 and n < 50.0:
        x = x / 2.0 if x % 2.0 < 1.0 else 3.0 * x + 1.0
        n = n + 1.0
    return n


MAPS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "two results": (ct.map(lambda x, y: (np.exp(x) * y, np.log(x * x + y * y))), (A, B)),
    "doubles": (ct.map(lambda x: np.sin(x) + x**3), (D,)),
    "mixed dtypes": (ct.map(lambda x, k: (x * k, k + 1, x > k)), (A, K)),
    "truth values": (ct.map(lambda p, q: p and not q), (A > 0, B > 0)),
    "bytes": (ct.map(lambda a: a + a), (K.astype(np.int8),)),
    "a row and a column": (ct.map(lambda x, r, c: x * r + c), (A, ROW, COLUMN)),
    "what a row shares": (ct.map(chosen), (COLUMN, A, B)),
    "flips and steps": (ct.fork(ct.id, ct.flip() >> ct.flip(1)) >> ct.mul >> ct.slice(None, None, 2), (A,)),
    "transposed": (ct.fork(ct.id, ct.transpose()) >> ct.cross(ct.map(lambda x: x * x), ct.map(np.exp)), (A,)),
    "shifts and pads": (ct.slice(1, None) >> ct.pad(2, 1, 0.5) >> ct.map(np.exp) >> ct.pad(0, 3, axis=1), (A,)),
    "neighbours": (ct.stencil(lambda a, b, c: a * b + 0.5 * c, [-1, 0, 1], "reflect"), (D,)),
    "joined": (ct.fork(ct.map(np.exp), ct.flip()) >> ct.concatenate() >> ct.map(lambda x: x + 1.0), (A,)),
    "gathered": (ct.fork(ct.const(K[:, 0] % 37), ct.id) >> ct.swap >> ct.gather >> ct.map(np.exp), (A,)),
    "a loop": (ct.map(collatz), (np.arange(100.0),)),
    "far angles": (ct.map(lambda x: (np.sin(x), np.cos(x), np.tan(x))), (A * 1e12,)),
    "the cell": (ct.map(cell), (A, B, A * B, A + B)),
    "gradients of the cell": (ct.grad(ct.map(cell) >> ct.sum()), (A, B, A * B, A + B)),
    "many operations": (ct.map(lambda x: (ct.lgamma(x), ct.erf(x), x**1.5)), (np.abs(A),)),
    "no loop": (ct.map(lambda x: x * 2.0), (np.float64(3.0),)),
    "one number": (ct.map(lambda x: x * 2.0), (np.ones(1),)),
    "nothing": (ct.map(lambda x: x * 2.0), (np.ones((0, 3)),)),
}  # fmt: skip


@pytest.mark.parametrize("name", MAPS)
def test_the_bits_of_the_cpu_in_every_order(name: str) -> None:
    f, x = MAPS[name]
    want = on("cpu", f, *x)
    for seed in range(SEEDS):
        engine = emulated(seed, most=1 + seed % 7)
        assert_same(on_gpu(f, *x), want, (name, seed))
        assert engine.device.launched or name == "nothing"


def test_arrays_that_lie_anyhow(gpu: EmulatedGpu) -> None:
    f = ct.map(lambda x, y: x * y + 1.0)
    strided = [A, A[1:], A[:, 1:], A[::-1], A[:, ::-1], A[::2, ::3], A.T, np.broadcast_to(ROW, A.shape), A.astype(">f4")]
    odd = np.frombuffer(b"\0" + A.tobytes(), np.uint8)[1:].view(np.float32).reshape(A.shape)
    for x in [*strided, odd]:
        y = np.resize(B, x.shape).astype(np.float32)
        assert_same(on_gpu(f, x, y), on("cpu", f, x, y))


def test_a_thread_takes_16_bytes_where_arrays_are_aligned(gpu: EmulatedGpu) -> None:
    taken = []
    rows = np.ones((10, 101), np.float32)
    for x in (rows.ravel(), rows.ravel()[1:], rows[:, :100], rows[:, 1:], np.ones(9)):
        on_gpu(ct.map(lambda x: x + x), x)
        taken.append((gpu.device.launched[-1].what.width, gpu.device.launched[-1].what.pieces))
    whole, last = (True, True), (False, True)
    assert taken == [(4, whole), (1, (False, False)), (4, last), (4, last), (2, whole)]
    on_gpu(ct.map(lambda p: not p), np.ones(100, bool))
    assert gpu.device.launched[-1].what.width == 16


@pytest.mark.parametrize("length", [1, 3, 4, 5, 255, 257, 1023, 1025, 5000])
def test_lengths_about_pieces_and_blocks(gpu: EmulatedGpu, length: int) -> None:
    x = RNG.normal(size=length).astype(np.float32)
    f = ct.map(lambda x: x * x) >> ct.pad(1, 2, 0.25) >> ct.map(lambda x: x - 1.0)
    assert_same(on_gpu(f, x), on("cpu", f, x))


@given(functions(depth=6), st.integers(0, 1000))
def test_drawn_functions(source: str, seed: int) -> None:
    f = ct.map(define(source))
    for dtype in (np.float64, np.float32):
        with np.errstate(over="ignore"):
            p, q = (a.ravel().astype(dtype) for a in np.meshgrid(SPECIAL, SPECIAL))
        emulated(seed)
        assert_same(on_gpu(f, p, q), on("cpu", f, p, q), source)


@pytest.mark.filterwarnings("ignore::catad.CatadNotice")
@given(st.data())
def test_drawn_programs(data: Any) -> None:
    """What has no kernel runs on its array code, so polynomial programs have the bits of the reference."""
    dom = data.draw(st.sampled_from([ct.f64[3], ct.f64[2, 3], ct.f32[5], ct.f64[3] * ct.f64[3]]))
    f = data.draw(terms(dom, polynomial=True, boxes=5))
    x = data.draw(points_of(dom, small_integers=True))
    emulated(data.draw(st.integers(0, 1000)))
    assert_same([a + 0 for a in on_gpu(f, x)], [a + 0 for a in on("reference", f, x)], (f, x))


# -- planted bugs


def test_a_missing_predicate_is_found(anew: pytest.MonkeyPatch) -> None:
    whole = Points._piece

    def unguarded(self: Points, begin: str, n: str, bases: list[str], flags: list[str]) -> None:
        whole(self, begin, self.w.set(f"add i64 {n}, 64"), bases, flags)

    x = RNG.normal(size=1001).astype(np.float32)
    anew.setattr(Points, "_piece", unguarded)
    with pytest.raises(LawError, match="outside of its arrays"):
        on_gpu(ct.map(lambda x: x * 5.0), x)


def test_a_wrong_width_is_found_by_the_bits(anew: pytest.MonkeyPatch) -> None:
    x = RNG.normal(size=1000).astype(np.float32)
    anew.setattr(Points, "_at_once", lambda self, begin, element: element(begin, False).run(False))
    assert not np.array_equal(on_gpu(ct.map(lambda x: x * 6.0), x)[0], x * np.float32(6.0))


# -- indices


GATHERED = ct.fork(ct.exr, ct.exl >> ct.map(lambda k: k + 0)) >> ct.gather


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8, np.uint64])
def test_indices_are_checked_on_the_device(gpu: EmulatedGpu, dtype: Any) -> None:
    x, index = RNG.normal(size=10), RNG.integers(0, 10, (300, 3)).astype(dtype)
    assert_same(on_gpu(GATHERED, index, x), on("cpu", GATHERED, index, x))
    assert "Checked" in {code.printer.__name__ for code in gpu.device.launched}
    index[7, 1] = 10
    with pytest.raises(ct.IndexRangeError, match="index 10"):
        on_gpu(GATHERED, index, x)
    if index.dtype.kind == "i":
        index[200, 0], index[7, 1] = -3, 9
        with pytest.raises(ct.IndexRangeError, match="index -3"):
            on_gpu(GATHERED, index, x)
    assert_same(on_gpu(GATHERED, index * 0, x), on("cpu", GATHERED, index * 0, x))


def test_a_check_that_does_not_look_is_found(anew: pytest.MonkeyPatch) -> None:
    anew.setattr(Checked, "_note", lambda self, k, number: None)
    with pytest.raises(pytest.fail.Exception), pytest.raises(ct.IndexRangeError):
        on_gpu(ct.fork(ct.exr, ct.exl >> ct.map(lambda k: k + 1)) >> ct.gather, np.full(70, 12), np.ones(10))


def test_no_index(gpu: EmulatedGpu) -> None:
    assert_same(on_gpu(GATHERED, np.zeros(0, int), np.ones(3)), on("cpu", GATHERED, np.zeros(0, int), np.ones(3)))

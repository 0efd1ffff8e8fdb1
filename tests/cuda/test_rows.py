"""Stages that share rows in one kernel: NumPy's numbers, the bits of the CPU engine where nothing is folded, and the same bits in
every order of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.category.spaces import flatten
from catad.engine.cuda import rows
from catad.engine.cuda.folds import Folds
from catad.engine.cuda.intrinsics import Simt
from catad.engine.cuda.rows import FoldMember, LineMember, Member, Part, RowsKernel
from catad.engine.stages import row_blocks
from catad.errors import LawError
from catad.testing.emulator.words import Coroutines

from ..engine.cpu_support import assert_near, assert_same, on
from ..engine.test_rows import PROGRAMS as SHARED_ROWS
from ..engine.whole_support import anew as programs_anew
from .support import SEEDS, EmulatedGpu, anew, emulated, gpu, on_gpu

__all__ = ["anew", "gpu"]  # fixtures

RNG = np.random.default_rng(23)
pytestmark = pytest.mark.filterwarnings("ignore::catad.CatadNotice")


def norm(x: Any, a: Any, b: Any) -> Any:
    m = np.mean(x, axis=1, keepdims=True)
    return (x - m) / np.sqrt(np.mean((x - m) ** 2, axis=1, keepdims=True) + 1e-5) * a + b


def softmax(x: Any) -> Any:
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return e / np.sum(e, axis=1, keepdims=True)


def neighbours(x: Any) -> Any:
    """What is exchanged is read beside where it was written, and turned."""
    y = np.exp(x) / np.sum(x * x, axis=1, keepdims=True)
    return y + 0.5 * np.roll(y, 1, axis=1) - y[:, ::-1]


def affine(a: Any, b: Any) -> Any:
    return a[0] * b[0], a[1] * b[0] + b[1]


SOFTMAX = ct.softmax(axis=1)
NORM = ct.function(norm)
AFFINE = ct.fold(affine, (1.0, 0.0), axis=1, keepdims=True)  # does not commute
IN_ORDER = ct.fork(ct.id, ct.fork(ct.map(np.cos), ct.id) >> AFFINE) >> ct.map(lambda x, s: x * s[0] + s[1])
EXTREMA = ct.fork(ct.fold(ct.maximum, -np.inf, axis=1, keepdims=True), ct.id) >> ct.map(lambda m, x: (x - m, m))
COUNTS = ct.fork(ct.id, ct.sum(axis=1, keepdims=True)) >> ct.map(lambda x, s: x * s) >> ct.fork(ct.id, ct.max(axis=1))

GROUPS: dict[str, ct.D] = {
    "softmax": SOFTMAX,
    "gradient of softmax": ct.grad(SOFTMAX >> ct.square >> ct.sum()),
    "layer norm": ct.fork(ct.id, ct.index[0], ct.index[-1]) >> NORM,
    "gradients of a layer norm": ct.grad(ct.fork(ct.id, ct.index[0], ct.index[-1]) >> NORM >> ct.square >> ct.sum()),
    "neighbours": ct.function(neighbours),
    "in order": IN_ORDER,
    "extrema": EXTREMA,
}
ROWS = {
    "short": (37, 5),
    "shorter than a block": (9, 60),
    "not whole pieces": (6, 333),
    "longer than a block": (5, 1100),
    "many elements of a thread": (2, 5003),
}


def printers(gpu: EmulatedGpu) -> list[str]:
    return [code.printer.__name__ for code in gpu.device.launched]


@pytest.mark.quick(12)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", ROWS.values(), ids=list(ROWS))
@pytest.mark.parametrize("name", GROUPS)
def test_every_order_gives_the_same(name: str, shape: tuple[int, int], dtype: Any) -> None:
    f, x = GROUPS[name], RNG.normal(size=shape).astype(dtype)
    if name == "in order":
        x = (x * 0.1).astype(dtype)
    want, seen = on("reference", f, x), None
    for seed in range(3):
        made = emulated(seed, most=1 + 2 * seed)
        got = on_gpu(f, x)
        assert "RowsKernel" in printers(made), (name, printers(made))
        assert_near(got, want, 2048.0, (name, seed))
        if seen is not None:
            assert_same(got, seen, (name, seed))
        seen = got


@pytest.mark.parametrize("name", ["softmax", "gradient of softmax", "layer norm"])
def test_one_program_in_twenty_orders(name: str, gpu: EmulatedGpu) -> None:
    f, x = GROUPS[name], RNG.normal(size=(7, 700)).astype(np.float32)
    want = on_gpu(f, x)
    assert printers(gpu) == ["RowsKernel"]
    for seed in range(SEEDS):
        emulated(seed, most=1 + seed % 4)
        assert_same(on_gpu(f, x), want, (name, seed))


def everything(name: str, x: Any, v: Any, engine: str) -> list[Any]:
    """The values of a program of the CPU engine's tests, and its cotangents."""
    f = ct.function(lambda x, v: SHARED_ROWS[name](x, v))
    with ct.use_engine(engine):
        value, pullback = ct.vjp(f, x, v)
        bars = [np.cos(np.arange(y.size)).reshape(y.shape).astype(y.dtype) for y in flatten(value)]
        back = pullback(tuple(bars) if isinstance(value, tuple) else bars[0])
    return [np.asarray(leaf) for leaf in (*flatten(value), *flatten(back))]


@pytest.mark.quick(9)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("lie", ["in order", "turned", "backwards", "between others", "aside"])
@pytest.mark.parametrize("name", SHARED_ROWS)
def test_the_programs_of_the_cpu(name: str, lie: str, dtype: Any, gpu: EmulatedGpu) -> None:
    x, v = RNG.normal(size=(23, 41)).astype(dtype), RNG.normal(size=41).astype(dtype)
    given = {
        "in order": lambda: x,
        "turned": lambda: np.asfortranarray(x),
        "backwards": lambda: x[::-1].copy()[::-1],
        "between others": lambda: np.repeat(np.repeat(x, 2, axis=0), 3, axis=1)[::2, ::3],
        "aside": lambda: np.append(np.zeros(1, dtype), x)[1:].reshape(x.shape),
    }[lie]()
    got, want = everything(name, given, v, "emulated gpu"), everything(name, x, v, "reference")
    assert [a.dtype for a in got] == [a.dtype for a in want]
    assert_near([a.astype(dtype) for a in got], [a.astype(dtype) for a in want], 4096.0, (name, lie))  # rounded within, too


def test_maps_have_the_bits_of_the_cpu() -> None:
    """What is folded is exact, so that all numbers behind it are those of maps."""
    x = RNG.integers(1, 9, (11, 130)).astype(np.float32)
    f = ct.function(lambda x: (np.exp(x / np.sum(x, axis=1, keepdims=True)), np.sin(x) * np.max(x, axis=1, keepdims=True)))
    for seed in range(3):
        made = emulated(seed)
        got = on_gpu(f, x)
        assert printers(made) == ["RowsKernel"]
        assert_same(got, on("cpu", f, x), seed)


@pytest.mark.quick(9)
@pytest.mark.parametrize("name", GROUPS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -0.0])
def test_numbers_that_are_none(name: str, bad: float, gpu: EmulatedGpu) -> None:
    x = RNG.normal(size=(5, 300))
    x[1, 7] = x[3, 299] = bad
    with np.errstate(all="ignore"):
        assert_near(on_gpu(GROUPS[name], x), on("reference", GROUPS[name], x), 2048.0, name)


@pytest.mark.parametrize("shape", [(1, 7), (1, 600), (2, 1), (1, 1), (7, 2), (300, 1)])
def test_one_row_and_rows_of_one(shape: tuple[int, int], gpu: EmulatedGpu) -> None:
    x = RNG.normal(size=shape)
    for name in ("softmax", "gradient of softmax", "layer norm"):
        assert_near(on_gpu(GROUPS[name], x), on("reference", GROUPS[name], x), 2048.0, name)


@pytest.mark.parametrize("shape", [(0, 7), (4, 0), (0, 0)])
def test_no_rows(shape: tuple[int, int], gpu: EmulatedGpu) -> None:
    f, x = ct.fork(ct.id, ct.map(np.exp) >> ct.sum(axis=1, keepdims=True)) >> ct.map(lambda x, s: np.exp(x) / s), np.zeros(shape)
    assert_same(on_gpu(f, x), on("reference", f, x))


@pytest.mark.parametrize("shape", [(40, 100), (4000, 10), (33, 2, 40), (100, 40, 2)])
def test_sums_along_other_axes(shape: tuple[int, ...], gpu: EmulatedGpu) -> None:
    """Columns lie beside each other, and lines may be many in a row."""
    x = RNG.normal(size=shape).astype(np.float32)
    for axis in range(x.ndim):
        f = ct.fork(ct.id, ct.map(np.exp) >> ct.sum(axis=axis, keepdims=True)) >> ct.map(lambda x, s: np.exp(x) / s)
        assert_near(on_gpu(f, x), on("reference", f, x), 256.0, axis)


@pytest.mark.quick(3)
@pytest.mark.parametrize("shape", [(2, 3, 4, 333), (3, 2, 9, 130), (2, 2, 3, 1500), (2, 40, 50, 3)])
@pytest.mark.parametrize("lie", ["in order", "turned", "swapped"])
def test_rows_along_several_axes(shape: tuple[int, ...], lie: str) -> None:
    """A row of the first axis may be too long; then its own rows are taken."""
    x = RNG.normal(size=shape).astype(np.float32)
    x = {"in order": x, "turned": np.asfortranarray(x), "swapped": x.transpose(0, 2, 1, 3).copy().transpose(0, 2, 1, 3)}[lie]
    value = ct.softmax(axis=3) >> ct.map(lambda x: x * x)
    for f in (value, ct.grad(value >> ct.sum())):
        seen = None
        for seed in range(3):
            made = emulated(seed, most=1 + 3 * seed)
            got = on_gpu(f, x)
            assert printers(made) == ["RowsKernel"]
            assert_near(got, on("reference", f, x), 256.0)
            assert seen is None or all(np.array_equal(a, b) for a, b in zip(got, seen, strict=True))
            seen = got


def test_integers_and_truth_values(gpu: EmulatedGpu) -> None:
    x = RNG.integers(-9, 9, (12, 75))
    for f in (COUNTS, ct.function(lambda x: (x > np.min(x, axis=1, keepdims=True)) & (x < np.max(x, axis=1, keepdims=True)))):
        gpu.device.launched.clear()
        got = on_gpu(f, x)
        assert "RowsKernel" in printers(gpu)
        assert_same(got, on("reference", f, x))


# -- kernels with shared memory


@ct.kernel
def exchanged(x: Any, p: Any, o: Any) -> None:
    s = ct.simt.shared.array(32, x.dtype)
    i, t = ct.simt.grid(1), ct.simt.threadIdx.x
    s[t] = np.exp(x[i])
    ct.simt.syncthreads()
    o[i] = s[p[i]] * x[i] + s[t]


@ct.kernel
def scattered(x: Any, p: Any, o: Any) -> None:
    s = ct.simt.shared.array(32, x.dtype)
    i, t = ct.simt.grid(1), ct.simt.threadIdx.x
    s[p[i]] = np.exp(x[i])
    ct.simt.syncthreads()
    o[i] = s[31 - t] * x[i]


@ct.kernel
def summed(x: Any, o: Any) -> None:
    s = ct.simt.shared.array(32, x.dtype)
    i, t = ct.simt.grid(1), ct.simt.threadIdx.x
    s[t] = np.exp(x[i])
    ct.simt.syncthreads()
    half = 16
    while half > 0:
        if t < half:
            s[t] += s[t + half]
        ct.simt.syncthreads()
        half = half // 2
    o[i] = x[i] * s[0]


BLOCKS = 9
X = RNG.normal(size=32 * BLOCKS)
LAUNCHES: dict[str, tuple[ct.D, tuple[Any, ...]]] = {
    "exchanged": (exchanged[BLOCKS, 32].returning("o", like="x"), (X, RNG.integers(0, 32, X.size))),
    "scattered": (
        scattered[BLOCKS, 32].returning("o", like="x"),
        (X, np.concatenate([RNG.permutation(32) for _ in range(BLOCKS)])),
    ),
    "summed": (summed[BLOCKS, 32].returning("o", like="x"), (X,)),
}


@pytest.mark.parametrize("name", LAUNCHES)
def test_kernels_with_shared_memory(name: str) -> None:
    f, given = LAUNCHES[name]
    bar = np.cos(np.arange(X.size))
    for seed in range(4):
        made = emulated(seed)
        with ct.use_engine("emulated gpu"):
            value, pullback = ct.vjp(f, *given)
            got = [value, *[leaf for leaf in flatten(pullback(bar)) if np.size(leaf)]]
        with ct.use_engine("reference"):
            value, pullback = ct.vjp(f, *given)
            want = [value, *[leaf for leaf in flatten(pullback(bar)) if np.size(leaf)]]
        assert "RowsKernel" in printers(made)
        assert_near(got, want, 64.0, (name, seed))


# -- what runs apart


def test_rows_that_exchange_too_much_run_stage_after_stage(gpu: EmulatedGpu, anew: pytest.MonkeyPatch) -> None:
    x = RNG.normal(size=(3, 700))
    for least in (rows.SHARED, 5600 + 512):  # the exponentials of a row, and what a fold needs
        anew.setattr(rows, "SHARED", least)
        assert "RowsKernel" in _run(x)
    anew.setattr(rows, "SHARED", 5600)
    assert "RowsKernel" not in _run(x)
    anew.setattr(rows, "SHARED", 48 * 1024)
    assert "RowsKernel" not in _run(RNG.normal(size=(2, 6200)))


def _run(x: Any) -> list[str]:
    programs_anew(pytest.MonkeyPatch())
    made = emulated()
    assert_near(on_gpu(ct.softmax(axis=1), x), on("reference", ct.softmax(axis=1), x), 64.0)
    return printers(made)


def test_scans_and_long_rows_run_stage_after_stage(gpu: EmulatedGpu) -> None:
    x = RNG.normal(size=(3, 400))
    f = ct.function(lambda x: np.cumsum(np.exp(x), axis=1) / np.sum(np.exp(x), axis=1, keepdims=True))
    assert_near(on_gpu(f, x), on("reference", f, x), 64.0)
    f, x = ct.function(softmax), RNG.normal(size=(2, rows.LONGEST + 1)).astype(np.float32)
    assert_near(on_gpu(f, x), on("reference", f, x), 64.0)
    assert "RowsKernel" not in printers(gpu)


def test_sums_lose_few_digits(gpu: EmulatedGpu) -> None:
    x = np.full((2, 8192), 0.1, np.float32)
    f = ct.fork(ct.id, ct.sum(axis=1, keepdims=True)) >> ct.map(lambda x, s: np.exp(x) * 0.0 + s)
    got = on_gpu(f, x)[0]
    assert printers(gpu) == ["RowsKernel"]
    assert np.abs(got / 819.2 - 1.0).max() < 1e-6 < abs(float(np.cumsum(x[0])[-1]) / 819.2 - 1.0)


def test_what_is_exchanged_is_not_written_to_the_memory_of_the_device(gpu: EmulatedGpu) -> None:
    """A kernel is given the arguments and the results, and the bytes of the exponentials of a row beside what folds need."""
    given: list[Any] = []
    real = gpu.device.launch

    def launch(code: Any, blocks: int, numbers: Any, addresses: Any, shared: int = 0) -> None:
        given.append((len(addresses), shared))
        real(code, blocks, numbers, addresses, shared)

    gpu.device.launch = launch  # type: ignore[method-assign]
    on_gpu(SOFTMAX, RNG.normal(size=(5, 2000)))
    assert [count for count, _ in given] == [2]
    assert 16000 <= given[0][1] <= 16000 + 16 * 3 + 64 * 2


def test_shared_memory_is_read_and_written_in_pieces() -> None:
    text = SOFTMAX.source("ptx", ct.f32[50, 1024])
    assert ".extern .shared .align 16" in text
    assert "st.shared.v4.b32" in text and "ld.shared.v4.b32" in text and "ld.global.nc.v4.b32" in text


# -- planted bugs: each is found by the numbers, or by a rule of the emulator


def wrong(shape: tuple[int, ...] = (12, 700), f: ct.D = GROUPS["layer norm"], tries: int = 8) -> bool:
    """Whether a run goes wrong in one of some orders."""
    x = np.random.default_rng(3).normal(size=shape)
    want = on("reference", f, x)
    for seed in range(tries):
        programs_anew(pytest.MonkeyPatch())
        made = emulated(seed, most=1)
        try:
            got = on_gpu(f, x)
        except LawError:
            return True
        assert "RowsKernel" in printers(made)
        if not all(np.allclose(a, b, rtol=1e-9, atol=1e-9) for a, b in zip(got, want, strict=True)):
            return True
    return False


def test_nothing_is_planted(anew: pytest.MonkeyPatch) -> None:
    assert not wrong() and not wrong((70, 40)) and not wrong((33, 5))


# where the block folds a line, it meets within the first stage, too: then the last barrier of a turn makes no difference
@pytest.mark.parametrize(("shape", "which"), [*[((12, 700), k) for k in range(4)], *[((64, 120), k) for k in range(3)]])
def test_a_missing_barrier(anew: pytest.MonkeyPatch, shape: tuple[int, int], which: int) -> None:
    real, written = Coroutines.barrier, RowsKernel.text
    met: list[Any] = []

    def barrier(self: Simt) -> None:
        met.append(None)
        if len(met) - 1 != which:
            real(self)  # type: ignore[arg-type]

    def text(self: RowsKernel) -> str:
        met.clear()
        return written(self)

    anew.setattr(Coroutines, "barrier", barrier)
    anew.setattr(RowsKernel, "text", text)
    assert wrong(shape, tries=20)
    assert len(met) == (5 if shape[1] == 700 else 3)


def test_rows_that_stay_where_the_first_one_is(anew: pytest.MonkeyPatch) -> None:
    anew.setattr(Member, "entry", lambda self, at: super(Member, self).entry(self.first + at))
    assert wrong()


def test_a_wrong_stride_of_rows(anew: pytest.MonkeyPatch) -> None:
    real = RowsKernel._number
    anew.setattr(Member, "entry", lambda self, at: half(self, at))

    def half(self: Member, at: int) -> str:
        number = real(self.group, self.first + at)
        for moved, way, place in self.steps:
            if moved == at:
                step = self.w.set(f"sdiv i64 {real(self.group, place)}, 2")
                number = self.w.set(f"add i64 {number}, {self.w.set(f'mul i64 {step}, {self.group.row[way]}')}")
        return number

    assert wrong((12, 700), SOFTMAX)


def test_rooms_that_go_on_with_the_rows(anew: pytest.MonkeyPatch) -> None:
    real = row_blocks._at_rows
    anew.setattr(row_blocks, "_at_rows", lambda stage, sizes, at, fixed: real(stage, sizes, at, [False] * len(fixed)))
    assert wrong((4, 700), SOFTMAX)


def test_a_room_used_again_too_early(anew: pytest.MonkeyPatch) -> None:
    real = rows.rooms_packed
    anew.setattr(rows, "rooms_packed", lambda *given: ([64 + given[3]] * len(real(*given)[0]), real(*given)[1] + 4096))
    assert wrong() and wrong((70, 40))


def test_too_little_shared_memory(anew: pytest.MonkeyPatch) -> None:
    real = rows.rooms_packed
    anew.setattr(rows, "rooms_packed", lambda *given: (real(*given)[0], real(*given)[1] - 64))
    with pytest.raises(LawError, match="outside of the memory that its block shares"):
        programs_anew(pytest.MonkeyPatch())
        on_gpu(SOFTMAX, RNG.normal(size=(4, 700)))


def test_a_lost_last_turn(anew: pytest.MonkeyPatch) -> None:
    real = RowsKernel._number
    anew.setattr(RowsKernel, "_number", lambda self, at: "0" if at == 2 else real(self, at))
    assert wrong((70, 40))


def test_a_predicate_that_is_missing(anew: pytest.MonkeyPatch) -> None:
    real = Folds._join_warp
    anew.setattr(Folds, "_join_warp", lambda self, lanes, some: real(self, lanes, str(lanes)))
    assert wrong((4, 70), f=GROUPS["in order"])


def test_pieces_that_begin_at_the_wrong_place(anew: pytest.MonkeyPatch) -> None:
    real = FoldMember._begin
    anew.setattr(FoldMember, "_begin", lambda self, k, each: real(self, k, "1"))
    assert wrong((4, 700), f=GROUPS["in order"])


def test_results_that_a_later_stage_reads_may_be_written_by_others(gpu: EmulatedGpu) -> None:
    f = ct.function(lambda x: (y := np.exp(x), y / np.sum(y, axis=1, keepdims=True)))
    x = RNG.normal(size=(6, 500))
    assert_near(on_gpu(f, x), on("reference", f, x), 64.0)
    (code,) = gpu.device.launched
    kernel = RowsKernel(code.what)
    pointers = kernel._pointers()
    read = {k for part in kernel.what.parts for k in part.arrays[: len(part.kernel.body.sources)]}
    assert len(pointers) == 3 and {1, 2} & read
    assert ["noalias" in one for one in pointers] == [True, 1 not in read, 2 not in read]


@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_way_along_which_rows_stay(anew: pytest.MonkeyPatch, which: int) -> None:
    real = RowsKernel._rows

    def stay(self: RowsKernel, *given: Any) -> list[str]:
        return ["0" if way == which else row for way, row in enumerate(real(self, *given))]

    anew.setattr(RowsKernel, "_rows", stay)
    assert wrong((2, 3, 4, 400), ct.softmax(axis=3))


def test_each_kind_of_member_runs(anew: pytest.MonkeyPatch) -> None:
    seen = set()
    real = rows.member

    def member(part: Part, *rest: Any) -> Member:
        made = real(part, *rest)
        seen.add((type(made), part.team))
        return made

    anew.setattr(rows, "member", member)
    for shape in ((40, 5), (40, 60), (3, 900)):
        on_gpu(GROUPS["layer norm"], RNG.normal(size=shape))
    assert {(Member, 0), (LineMember, 1), (FoldMember, 32), (FoldMember, RowsKernel.threads)} <= seen

"""Lines in threads: scans, recurrences and folds that go along an axis, with the bits of the CPU engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.engine.cuda import launch
from catad.engine.cuda.lanes import Lanes
from catad.engine.cuda.rows import RowsKernel
from catad.engine.text.cascade import Cascade
from catad.errors import notices

from ..engine.cpu_support import assert_same, on
from .support import SEEDS, EmulatedGpu, anew, emulated, gpu, on_gpu

__all__ = ["anew", "gpu"]  # fixtures

RNG = np.random.default_rng(4)


def affine(a, b):
    return a[0] * b[0], a[1] * b[0] + b[1]


def product(a, b):
    return ((a[0][0] * b[0][0] + a[0][1] * b[1][0], a[0][0] * b[0][1] + a[0][1] * b[1][1]),
            (a[1][0] * b[0][0] + a[1][1] * b[1][0], a[1][0] * b[0][1] + a[1][1] * b[1][1]))  # fmt: skip


UNIT = (1.0, 0.0), (0.0, 1.0)
LINES: dict[str, Any] = {
    "scans": ct.fork(*[ct.scan(ct.add, 0.0, exclusive=e, reverse=r, axis=k) for e in (0, 1) for r in (0, 1) for k in (0, -1)]),
    "scan of products": ct.map(lambda x: 1.0 + 0.01 * x) >> ct.scan(lambda a, b: a * b, 1.0),
    "affine scan": ct.fork(ct.map(lambda x: 0.5 * x), ct.id) >> ct.scan(affine, (1.0, 0.0)) >> ct.add,
    "recurrence": ct.fork(ct.map(lambda x: 0.25 * x), ct.id) >> ct.recurrence,
    "gradient of a scan": ct.grad(ct.scan(lambda a, b: a * b, 1.0) >> ct.sum()),
    "sums of columns": ct.map(np.exp) >> ct.sum(axis=0),
    "short sums of rows": ct.slice(None, 7, axis=1) >> ct.sum(axis=1),
    "maxima": ct.fold(ct.maximum, -np.inf, axis=0),
    "a fold and a map": ct.fork(ct.sum(axis=0, keepdims=True), ct.id) >> ct.add,
    "products of matrices": ct.map(lambda x: ((x, x + 1.0), (0.5, x - 1.0))) >> ct.scan(product, UNIT, axis=0),
    "shifted": ct.scan(ct.add, 0.0) >> ct.pad(1, 0, 0.5) >> ct.map(lambda x: x * x) >> ct.scan(ct.maximum, -np.inf),
    "segments": ct.fork(ct.index[:, 0] >> ct.map(lambda x: x > 1.0), ct.id) >> ct.segmented_scan(ct.add, 0.0),
}  # fmt: skip


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("shape", [(70, 53), (3, 200), (1, 1), (300, 2)])
def test_the_bits_of_the_cpu(name: str, shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "short sums of rows" and shape[1] < 7:
        pytest.skip("shorter than what is taken")
    f, x = LINES[name], RNG.uniform(0.5, 1.5, shape)
    want = on("cpu", f, x)
    for seed in range(3 if shape != (70, 53) else SEEDS):
        emulated(seed, most=1 + seed % 4)
        assert_same(on_gpu(f, x), want, (name, seed))


@pytest.mark.filterwarnings("error::catad.CatadNotice")
@pytest.mark.parametrize("name", [name for name in LINES if name not in ("gradient of a scan",)])
def test_they_have_kernels(gpu: EmulatedGpu, name: str) -> None:
    on_gpu(LINES[name], RNG.uniform(0.5, 1.5, (41, 43)))
    assert {Lanes, RowsKernel} & {code.printer for code in gpu.device.launched}


def test_long_operators_along_one_long_line_are_left_to_the_array_code(anew: pytest.MonkeyPatch) -> None:
    anew.setattr(launch, "LONGEST", 10)
    assert launch.LONG < 5000 < launch.MANY * launch.LONG
    f = LINES["products of matrices"]
    x = RNG.integers(-1, 2, 5000).astype(float)
    notices.forget()
    with pytest.warns(ct.CatadNotice, match="along a long line, whose operator is long"):
        got = on_gpu(f, x)
    assert_same(got, on("reference", f, x))


def test_single_precision_sums_lose_few_digits(gpu: EmulatedGpu) -> None:
    x = np.full((4000, 3), 0.1, np.float32)
    got = on_gpu(ct.sum(axis=0), x)[0]
    assert np.abs(got / 400.0 - 1.0).max() < 1e-6 < abs(np.cumsum(x[:, 0])[-1] / 400.0 - 1.0)


# -- planted bugs


def test_a_lost_carry_is_found(anew: pytest.MonkeyPatch) -> None:
    anew.setattr(Cascade, "push", lambda self: None)
    x = RNG.normal(size=(100, 3))
    assert not np.allclose(on_gpu(ct.sum(axis=0), x)[0], x.sum(0))


def test_a_first_step_that_reads_states_is_found(anew: pytest.MonkeyPatch) -> None:
    whole = Lanes._along

    def along(self: Lanes, n: str, step: Any, cascade: Any) -> None:
        whole(self, n, lambda s, first=False, anew=False: step(s, False, anew), cascade)

    anew.setattr(Lanes, "_along", along)
    x = RNG.normal(size=(20, 3))
    assert not np.array_equal(on_gpu(ct.scan(ct.add, 0.0), x)[0], on("cpu", ct.scan(ct.add, 0.0), x)[0])

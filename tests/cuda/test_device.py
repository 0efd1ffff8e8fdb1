"""The device through CuPy, on a fake of it: calls of the driver, machine code on disk, what is refused, errors."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.engine import choice, notices
from catad.engine.cuda import device
from catad.engine.cuda.device import GPU

from ..fake_cupy import fake
from ..fake_cupy import fake as cupy_itself

LINES = ct.map(lambda x: x * 3.0 + 1.0)


@pytest.fixture(autouse=True)
def _cupy(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setitem(sys.modules, "cupy", fake)
    fake.reset()
    notices.forget()
    device._refused.cache_clear()
    yield
    GPU._looks.clear()
    fake.reset()
    notices.forget()
    device._refused.cache_clear()


def test_machine_code_is_made_once_and_then_read_from_disk() -> None:
    x = fake.asarray(np.arange(77.0))
    made = []
    for _ in range(2):
        f = ct.map(lambda x: x * 3.5 - 17.25)
        before = fake.linked
        assert f(x).get().tolist() == (np.arange(77.0) * 3.5 - 17.25).tolist()
        f(x)
        made.append(fake.linked - before)
        GPU._loaded.clear()
    assert made == [1, 0]
    fake.version = 12080  # another driver may make other code
    device._refused.cache_clear()
    before = fake.linked
    f(x)
    assert fake.linked == before + 1


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "no driver": (lambda: setattr(fake, "version", 0), "CuPy finds no driver"),
    "an old driver": (lambda: setattr(fake, "version", 11080), r"a driver for CUDA 11\.8"),
    "an old GPU": (lambda: setattr(fake, "current", 2), r"compute capability 6\.1"),
}


@pytest.mark.parametrize("what", REFUSED)
@pytest.mark.parametrize("engine", ["auto", "cuda"])
def test_where_kernels_cannot_run_the_array_code_does(what: str, engine: str) -> None:
    change, said = REFUSED[what]
    change()
    x = fake.asarray(np.arange(5.0))
    with ct.use_engine(engine), pytest.warns(ct.CatadNotice, match=said) as seen:
        assert LINES(x).get().tolist() == [1, 4, 7, 10, 13]
        LINES(x)
    assert len(seen) == 1 and not fake.launches


def test_a_cupy_that_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> int:
        raise OSError("libcuda.so is no library")

    monkeypatch.setattr(fake.cuda.runtime, "driverGetVersion", broken)
    with pytest.warns(ct.CatadNotice, match=r"OSError: libcuda\.so is no library"):
        assert choice.engine_of(cupy_itself, 10) is choice.REFERENCE


def test_without_cupy_nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "cupy")
    assert "CuPy is not imported" in str(device.why_not())
    with pytest.raises(ct.EngineError, match="CuPy is not imported"):
        GPU.empty((3,), np.float64)


def test_importing_catad_imports_no_cupy(tmp_path: Path) -> None:
    (tmp_path / "cupy.py").write_text("raise RuntimeError('a broken CuPy')")
    code = "import sys, catad as ct; print(float(ct.sin(0.0)), 'cupy' in sys.modules)"
    root = str(Path(ct.__file__).parents[1])
    made = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env={"PYTHONPATH": f"{tmp_path}:{root}"}
    )
    assert made.stdout.split() == ["0.0", "False"], made.stderr


def test_errors_of_the_driver() -> None:
    x = fake.asarray(np.arange(5.0))
    fake.broken = 218, "CUDA_ERROR_INVALID_PTX: a PTX JIT compilation failed"
    with pytest.raises(ct.EngineError, match="CUDA_ERROR_INVALID_PTX"):
        ct.map(lambda x: x - 41.5)(x)
    fake.broken = 2, "CUDA_ERROR_OUT_OF_MEMORY: out of memory"
    with pytest.raises(ct.OutOfMemoryError, match="CUDA_ERROR_OUT_OF_MEMORY"):
        ct.map(lambda x: x - 42.5)(x)
    fake.broken = None
    assert ct.map(lambda x: x - 42.5)(x).get()[0] == -42.5


def test_the_words_of_a_check_are_looked_at_when_they_have_come() -> None:
    seen = list[list[int]]()

    def look(words: Any) -> None:
        seen.append(list(words))

    for late in (False, True):
        fake.late = late
        words = GPU.words([5, -7])
        GPU.after(words, look)
        assert not seen
        LINES(fake.asarray(np.ones(3)))
        assert seen == ([] if late else [[5, -7]])
        if late:
            GPU.synchronize()
            assert seen == [[5, -7]] and fake.reads == ["synchronize", "event"]
        seen.clear()


def test_the_speed_of_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "COPIED", 1 << 10)
    GPU._bandwidth.clear()
    assert GPU.copy_bandwidth() == pytest.approx(2 * (1 << 10) / 1e-3)
    GPU._bandwidth.clear()

"""The device through CuPy, on a fake of it: calls of the driver, machine code on disk, what is refused, errors."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.engine import choice
from catad.engine.cuda import device
from catad.engine.cuda.device import GPU
from catad.errors import notices

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
    "an old GPU": (lambda: fake.cuda.runtime.setDevice(2), r"compute capability 6\.1"),
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
        assert choice.engine_of(cupy_itself) is choice.REFERENCE


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
    monkeypatch.setattr(fake.cuda, "get_elapsed_time", lambda a, b: 1.0)
    assert GPU.copy_bandwidth() == pytest.approx(2 * (1 << 10) / 1e-3)
    GPU._bandwidth.clear()


def test_a_profile_has_the_times_of_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    x, f = fake.asarray(np.ones(9)), ct.map(lambda x: x * 2.5 - 0.25)
    f(x)
    monkeypatch.setattr(fake.cuda, "get_elapsed_time", lambda a, b: 4.0)  # milliseconds
    for late in (False, True):
        fake.late = late
        with ct.profile() as p:
            f(x)
            f(x)
        (stage,) = p.stages
        assert (stage.calls, stage.run_seconds, stage.bytes) == (2, pytest.approx(8e-3), 288)
    fake.late = False
    fake.reads.clear()
    f(x)
    assert not fake.reads  # only an open profile waits


def test_an_open_profile_does_not_break_capture() -> None:
    x, f = fake.asarray(np.ones(9)), ct.map(lambda x: x * 2.5 - 0.125)
    f(x)
    with fake.cuda.Stream() as stream, ct.profile() as p:
        stream.begin_capture()
        y = f(x)
        graph = stream.end_capture()
    graph.launch()
    assert y._data.tolist() == [2.375] * 9 and [stage.run_seconds for stage in p.stages] == [0.0]


def test_a_cost_profile_of_the_device_is_measured_and_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from catad.planner.costs import calibrate

    for name, size in (("LARGE", 1 << 10), ("SIDE", 8), ("ROUNDS", 1)):
        monkeypatch.setattr(calibrate, name, size)
    monkeypatch.setattr(calibrate, "folder", lambda: str(tmp_path))
    calibrate._stored.cache_clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.CatadNotice)
        made = calibrate.stored(fake)
    assert made.engine == "cuda" and fake.launches and made.measured
    assert [path.name for path in tmp_path.iterdir()] == ["profile-cuda.json"]
    assert calibrate.stored(fake) is made
    calibrate._stored.cache_clear()
    assert calibrate.stored(fake).rates == made.rates  # read from the file
    calibrate._stored.cache_clear()


TOO_LARGE = "a pass over [0-9]+ arrays"


def test_a_stage_of_too_many_arrays_runs_as_array_code_and_is_named() -> None:
    f = ct.function(lambda *xs: sum(x * (k + 0.5) for k, x in enumerate(xs)))
    xs = [fake.asarray(np.full(4, float(k))) for k in range(600)]
    with pytest.warns(ct.CatadNotice, match=TOO_LARGE):
        y = f(*xs)
    assert y._data.tolist() == [sum(k * (k + 0.5) for k in range(600))] * 4


def test_the_driver_cannot_hold_a_kernel() -> None:
    """Too many registers or too much shared memory is told by the driver, when it makes the code or starts the kernel."""
    x, f = fake.asarray(np.arange(5.0)), ct.map(lambda x: x - 43.5)
    fake.broken = 701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: too many resources requested for launch"
    with pytest.warns(ct.CatadNotice, match="CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"):
        assert f(x)._data.tolist() == (np.arange(5.0) - 43.5).tolist()


class DynamicLibNotFoundError(RuntimeError):
    """As that of `cuda.pathfinder`, which CuPy 14 raises."""


LACKING: dict[str, Exception] = {  # as CuPy 14.0.1 raises them on a machine without these libraries
    "NVRTC": DynamicLibNotFoundError('Failure finding "libnvrtc.so.13 or libnvrtc.so.12"'),
    "cuBLAS": ImportError("libcublas.so.12: cannot open shared object file: No such file or directory"),
}


@pytest.mark.filterwarnings("ignore::catad.CatadNotice")
@pytest.mark.parametrize("name", LACKING)
def test_a_cupy_without_the_libraries_of_its_array_code(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def raises(*_: Any, **__: Any) -> None:
        raise LACKING[name]

    x = fake.asarray(np.eye(3) + 1.0)
    monkeypatch.setattr(fake, "matmul", raises, raising=False)
    with pytest.raises(ct.EngineError, match="lacks a library of CUDA") as caught:
        ct.matmul(x, x)
    assert str(LACKING[name]) in str(caught.value) and "cuda-toolkit[cudart,nvrtc,cublas]" in str(caught.value)
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "cupy", fake)
    assert ct.matmul(x, x)._data.tolist() == ((np.eye(3) + 1.0) @ (np.eye(3) + 1.0)).tolist()

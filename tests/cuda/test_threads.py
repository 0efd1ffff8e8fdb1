"""Kernels that several threads start, on two devices: each has a context, a current device and current streams of its own."""

from __future__ import annotations

import sys
import threading
from array import array
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import catad as ct
import catad.torch
from catad.engine import choice
from catad.engine.cuda.device import GPU
from catad.support import current_engine

from ..fake_cupy import fake
from ..fake_driver import CUDADriverError
from ..fake_torch import Tensor, torch_of

X = np.arange(77.0)
F = ct.map(lambda x: x * 3.25 + 1.0)
WANT = X * 3.25 + 1.0


@pytest.fixture(autouse=True)
def _cupy(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setitem(sys.modules, "cupy", fake)
    fake.reset()
    GPU._loaded.clear()  # what earlier tests have loaded
    yield
    GPU._looks.clear()
    GPU._loaded.clear()
    fake.reset()


def elsewhere(do: Callable[[], Any]) -> Any:
    """What a function returns or raises in a new thread."""
    found = list[Any]()

    def run() -> None:
        try:
            found.append(do())
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(timeout=60)
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0]


def on(number: int) -> Any:
    with fake.cuda.Device(number):
        return fake.asarray(X)


def test_the_fake_driver_refuses_a_thread_without_a_context() -> None:
    x = on(0)
    F(x)
    code, found = next(iter(GPU._loaded.items()))
    (loaded,) = found.values()
    args = fake.cuda.driver, (1, code.threads, 0), array("q", [0]), [x.data.ptr], 0
    for do in (fake.cuda.function.LinkState, lambda: fake.cuda.function.Module().load(b""), lambda: loaded.launch(*args)):
        with pytest.raises(CUDADriverError, match="CUDA_ERROR_INVALID_CONTEXT"):
            elsewhere(do)
    with pytest.raises(CUDADriverError, match="CUDA_ERROR_INVALID_HANDLE"), fake.cuda.Device(1):
        loaded.launch(*args)


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("number", [0, 1])
def test_a_thread_that_has_called_no_runtime(number: int, first: bool) -> None:
    x, before = on(number), len(fake.functions)
    with fake.cuda.Device(number):
        if first:
            F(x)

        def run() -> Any:
            with fake.cuda.Device(number):
                return F(x)

        y = elsewhere(run)
        F(x)
    assert y.device.id == number and y._data.tolist() == WANT.tolist()
    assert len(fake.functions) == before + 1  # loaded by one thread, started by both


def test_a_thread_whose_device_changes() -> None:
    xs, before = [on(0), on(1)], len(fake.functions)

    def run() -> list[int]:
        found = []
        for number in (0, 1, 0, 1):
            with fake.cuda.Device(number):
                y = F(xs[number])
            assert y._data.tolist() == WANT.tolist()
            found.append(y.device.id)
        return found

    assert elsewhere(run) == run() == [0, 1, 0, 1]
    assert [own for _, _, own in fake.functions[before:]] == [0, 1]  # loaded once in each context


def test_constants_lie_on_the_device_of_the_call() -> None:
    f = ct.function(lambda x: x * X + X[2])
    for number in (0, 1, 0):
        with fake.cuda.Device(number):
            y, pullback = ct.vjp(f, on(number))
            (back,) = pullback(on(number))
        assert y.device.id == back.device.id == number
        assert y._data.tolist() == (X * X + 2.0).tolist() and back._data.tolist() == (X * X).tolist()


def test_a_context_that_somebody_took_away_comes_back() -> None:
    x = on(0)

    def run() -> Any:
        F(x)
        fake.thread.context = None
        return F(x)

    assert elsewhere(run)._data.tolist() == WANT.tolist()


def test_each_thread_has_a_current_stream() -> None:
    x, stream, other = on(0), fake.cuda.Stream(), fake.cuda.Stream()

    def run() -> None:
        F(x)
        with other:
            F(x)

    with stream:
        F(x)
        elsewhere(run)
        F(x)
    assert [where for _, where in fake.launches] == [stream.ptr, 0, other.ptr, stream.ptr]


def test_what_a_thread_notes_is_told_to_whoever_waits() -> None:
    x, k = on(0), fake.asarray(np.array([1, 99]))
    fake.late = True
    elsewhere(lambda: ct.take()(x, k))
    with pytest.raises(ct.IndexRangeError, match="99"):
        ct.synchronize()


def test_a_thread_that_waits_returns_when_all_words_are_looked_at() -> None:
    """Also when another thread has taken them to look at, and still waits for its event."""
    said, goes_on, waits = list[str](), threading.Event(), threading.Event()

    def slow() -> None:
        waits.set()
        assert goes_on.wait(60)

    words = fake.zeros((1,), np.int64)
    event = SimpleNamespace(done=False, synchronize=slow)
    GPU._looks.append((event, (fake.cuda.alloc_pinned_memory(8), words), lambda _: said.append("looked")))
    threads = [threading.Thread(target=lambda: (GPU.synchronize(), said.append("returned"))) for _ in range(2)]
    threads[0].start()
    assert waits.wait(60)
    threads[1].start()
    threads[1].join(0.1)
    assert not said
    goes_on.set()
    for thread in threads:
        thread.join(timeout=60)
    assert said == ["looked", "returned", "returned"]


@pytest.mark.parametrize("number", [0, 1])
def test_pytorch_calls_the_pullback_in_a_thread_of_its_own(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = fake.cuda.Stream().ptr
    monkeypatch.setitem(sys.modules, "torch", torch_of(stream))
    x = Tensor(on(number), requires_grad=True)
    g = catad.torch.as_function(ct.map(lambda x: x * x + 0.5))
    with ct.use_engine("cuda", checks="now"):
        y = g(x)
    assert np.array_equal(y.array._data, X * X + 0.5)
    seen = list[Any]()
    monkeypatch.setattr(GPU, "launch", _noting(GPU.launch, seen))
    fake.launches.clear()
    y.backward(Tensor(on(number)))
    assert x.grad.device == ("cuda", number) and np.array_equal(x.grad.array._data, 2 * X * X)
    assert fake.launches and {where for _, where in fake.launches} == {stream}
    assert set(seen) == {("cuda", "now")} and fake.thread.device == 0
    with pytest.raises(ct.DeviceError, match="several devices"):
        g(Tensor(on(0)), Tensor(on(1)))


def _noting(launch: Callable[..., None], seen: list[Any]) -> Callable[..., None]:
    def noting(*args: Any) -> None:
        seen.append((choice.chosen(), current_engine.checks.get()))
        launch(*args)

    return noting

"""What kernels have noted is looked at later: of several errors the first is raised, and none is left for a right call."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

import pytest

from catad.engine.cuda.device import CupyDevice

STREAM = SimpleNamespace(is_capturing=lambda: False, synchronize=lambda: None)


class Copied:
    """The event behind a copy; `done` says whether it has arrived by itself."""

    def __init__(self, done: bool) -> None:
        self.done, self.waited = done, False

    def synchronize(self) -> None:
        self.waited = True


class Alone(CupyDevice):
    """A device that has no CuPy."""

    cupy = SimpleNamespace(__name__="cupy", cuda=SimpleNamespace(get_current_stream=lambda: STREAM))


def device(*notes: tuple[bool, Exception | None]) -> Any:
    made: Any = Alone()
    for done, error in notes:
        room = (ctypes.c_int64 * 1)(7)

        def look(words: Any, error: Exception | None = error) -> None:
            assert words == [7]
            if error:
                raise error

        words = SimpleNamespace(size=1, kept=room)
        made._looks.append((Copied(done), (SimpleNamespace(ptr=ctypes.addressof(room)), words), look))
    return made


@pytest.mark.parametrize("wait", [True, False])
def test_the_first_of_several_errors(wait: bool) -> None:
    first, second = IndexError("first"), IndexError("second")
    gpu = device((True, None), (True, first), (False, second), (False, None))
    with pytest.raises(IndexError, match="first"):
        gpu._look(wait)
    assert not gpu._looks
    gpu._look(True)


def test_what_has_not_arrived_is_looked_at_later() -> None:
    gpu = device((True, None), (False, IndexError("late")))
    gpu._look()
    assert len(gpu._looks) == 1
    with pytest.raises(IndexError, match="late"):
        gpu.synchronize()

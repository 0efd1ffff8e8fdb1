"""No device: kernels are compiled for it and shown, and none is started."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Any

from catad import errors
from catad.engine.cuda.kernel import Code, Device
from catad.engine.cuda.simt import Simt


class Nowhere(Device):
    """See the module. Everything but a look at the text raises `EngineError`."""

    dialect = Simt
    most = 1 << 16

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        raise errors.EngineError(errors.no_gpu())

    def prepared(self, arrays: Sequence[Any]) -> Sequence[Any]:
        raise errors.EngineError(errors.no_gpu())

    def address(self, array: Any) -> int:
        raise errors.EngineError(errors.no_gpu())

    def launch(self, code: Code, blocks: int, numbers: array[int], addresses: Sequence[int]) -> None:
        raise errors.EngineError(errors.no_gpu())

    def words(self, values: Sequence[int]) -> Any:
        raise errors.EngineError(errors.no_gpu())

    def zeros(self, count: int) -> Any:
        raise errors.EngineError(errors.no_gpu())

    def after(self, words: Any, look: Callable[[Sequence[int]], None]) -> None:
        raise errors.EngineError(errors.no_gpu())

    def copy_bandwidth(self) -> float:
        raise errors.EngineError(errors.no_gpu())

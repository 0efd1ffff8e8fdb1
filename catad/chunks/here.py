"""Arrays in blocks in the memory of this process, and tasks that run at once: the reference for all other ways to run plans."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from catad.chunks.parts import Parts, bounds, numblocks
from catad.chunks.tasks import Ref


class BlockArray:
    """An array of NumPy in blocks. Programs on it run block by block.

    >>> x = blocked(np.arange(5.0), ((2, 3),))
    >>> x.shape, len(x.blocks), x.numpy()
    ((5,), 2, array([0., 1., 2., 3., 4.]))
    """

    __slots__ = ("blocks", "dtype", "parts", "shape")
    in_blocks = True

    def __init__(self, blocks: Sequence[Any], parts: Parts, dtype: Any) -> None:
        self.blocks, self.parts, self.dtype = list(blocks), parts, np.dtype(dtype)
        self.shape = tuple([sum(sizes) for sizes in parts])

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def real(self) -> BlockArray:
        """The real parts of complex numbers."""
        return BlockArray([block.real for block in self.blocks], self.parts, self.blocks[0].real.dtype)

    @property
    def imag(self) -> BlockArray:
        """The imaginary parts of complex numbers."""
        return BlockArray([block.imag for block in self.blocks], self.parts, self.blocks[0].imag.dtype)

    def numpy(self) -> Any:
        """All blocks as one array."""
        counts = numblocks(self.parts)
        grid = np.empty(math.prod(counts), dtype=object)
        grid[:] = [np.asarray(block) for block in self.blocks]
        return np.block(grid.reshape(counts).tolist()) if counts else np.asarray(self.blocks[0])

    def __repr__(self) -> str:
        return f"<{self.dtype} {list(self.shape)} in {numblocks(self.parts)} blocks>"


def blocked(array: Any, parts: Parts) -> BlockArray:
    """An array of NumPy, cut into blocks."""
    ranges = [list(itertools.pairwise(bounds(sizes))) for sizes in parts]
    blocks = [array[tuple([slice(*r) for r in each])] for each in itertools.product(*ranges)]
    return BlockArray(blocks, parts, array.dtype)


class Here:
    """Runs each task when it is made."""

    def blocks(self, array: Any) -> Sequence[Ref]:
        return array.blocks  # type: ignore[no-any-return]

    def value(self, name: str, value: Any) -> Ref:
        return value

    def task(self, name: str, number: tuple[int, ...], run: Callable[..., Any], args: Sequence[Any]) -> Ref:
        return run(*args)

    def entry(self, ref: Ref, k: int) -> Ref:
        return ref[k]

    def blocks_again(self, array: Any) -> Sequence[Ref]:
        return array.blocks  # type: ignore[no-any-return]

    def array(self, blocks: Sequence[Ref | tuple[Ref, int]], parts: Parts, dtype: Any) -> Any:
        return BlockArray([block[0][block[1]] if isinstance(block, tuple) else block for block in blocks], parts, dtype)

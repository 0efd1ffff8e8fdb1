"""What runs in a task: a program on the blocks that the task has been given."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Sequence
from functools import cached_property
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from catad import errors
from catad.category.wiring import Wiring
from catad.chunks.sending import sent
from catad.engine.choice import engine_of, use_engine
from catad.engine.cpu.run.threads import num_threads
from catad.engine.program import Program
from catad.support.lru import Recent
from catad.values.arrays import common_module
from catad.version import __version__


class Gathered(NamedTuple):
    """How a leaf is put together: how many pieces lie along each axis, their slices there (None: whole blocks), and in which
    arguments the pieces are."""

    counts: tuple[int, ...]
    slices: tuple[tuple[tuple[int, int] | None, ...], ...]
    found: tuple[Any, ...]


class RegionProgram:
    """The program of a region for blocks of some sizes. It is pickled as its wiring, and a process makes each program once.

    `axes` are the dimensions of the region along which the axes of its first array are cut: so people number its tasks. The last
    results, as many as `together` says, are one tuple beside the others.
    """

    def __init__(self, wiring: Wiring, engine: str, name: str, axes: tuple[int | None, ...], together: int = 0) -> None:
        self.wiring, self.engine, self.name, self.axes, self.together = wiring, engine, name, axes, together
        self._program: Program | None = None

    def program(self, xp: Any) -> Program:
        """The program, compiled for arrays of a library: by one thread, for which the others wait."""
        if self._program is None:
            with _compiling:
                if self._program is None:
                    made = Program(self.wiring)
                    made.checked = True  # laws are checked in the task of the first block
                    made.on(engine_of(xp)).compile()
                    self._program = made
        return self._program

    @cached_property
    def payload(self) -> tuple[str, bytes]:
        """A digest, and the wiring as bytes."""
        return sent(self.wiring, self.engine, self.name, self.axes, self.together)

    def chunk(self, at: tuple[int, ...]) -> tuple[int, ...]:
        """The number of the chunk at a coordinate."""
        return tuple([0 if d is None else at[d] for d in self.axes])

    def __reduce__(self) -> Any:
        return _loaded, (__version__, *self.payload)


_compiling = Lock()
_programs: Recent[str, RegionProgram] = Recent(512)


def _loaded(version: str, digest: str, said: bytes) -> RegionProgram:
    if version != __version__:
        raise errors.EngineError(errors.other_version(version, __version__))
    found = _programs.get(digest)
    if found is None:
        found = _programs[digest] = RegionProgram(*pickle.loads(said))
    return found


def run_region(program: RegionProgram, spec: Sequence[Any] | None, at: tuple[int, ...], *args: Any) -> Any:
    """The results of a program on blocks: an array, or a tuple of several."""
    leaves: list[Any]
    if spec is None:
        leaves = list(args)
    else:
        used = 1 + max([k for leaf in spec for k in _used(leaf)], default=-1)
        leaves = [_leaf(leaf, args) for leaf in spec]
        leaves += args[used:]
    xp = common_module([leaf for leaf in leaves if not isinstance(leaf, int)])
    leaves = [np.int64(leaf) if isinstance(leaf, int) else leaf for leaf in leaves]
    _check_blocks(program, program.chunk(at), leaves)
    with use_engine(program.engine), num_threads(1):
        ready = program.program(xp)
        try:
            if not any(at):
                ready.check(xp, leaves)
            made = ready(xp, leaves)
        except errors.CatadError as error:
            if at:
                error.chunk = errors.chunk_of(program.chunk(at), program.name)
            raise
    if program.together:
        apart = len(made) - program.together
        return *made[:apart], tuple(made[apart:])
    return made[0] if len(made) == 1 else tuple(made)


def _check_blocks(program: RegionProgram, at: tuple[int, ...], leaves: Sequence[Any]) -> None:
    """Raise where a block is not what the array that it belongs to has said."""
    for k, space in zip(program.wiring.inputs, leaves, strict=True):
        expected = program.wiring.wires[k]
        if getattr(space, "dtype", None) != expected.dtype or getattr(space, "shape", None) != expected.shape:
            raise errors.SpaceError(errors.other_block(at, space, expected))


def _used(leaf: Any) -> Sequence[int]:
    if isinstance(leaf, Gathered):
        return [k for one in leaf.found for k in _used(one)]
    return [leaf if isinstance(leaf, int) else leaf[0]]


def _leaf(leaf: Any, args: Sequence[Any]) -> Any:
    if isinstance(leaf, int):
        return args[leaf]
    if not isinstance(leaf, Gathered):
        found, item = args[leaf[0]], leaf[1]
        return found[item] if isinstance(item, int) else found[item[0]][item[1]]
    each = []
    for one, slices in zip(leaf.found, itertools.product(*leaf.slices), strict=True):
        array = _leaf(one, args)
        at = tuple([slice(None) if s is None else slice(*s) for s in slices])
        each.append(array if all(s is None for s in slices) else array[at])
    return _joined(each, leaf.counts)


def _joined(each: list[Any], counts: tuple[int, ...]) -> Any:
    """Pieces in C order as one array."""
    for axis in reversed(range(len(counts))):
        n = counts[axis]
        if n > 1:
            xp = common_module(each[:1])
            each = [xp.concatenate(each[k : k + n], axis=axis) for k in range(0, len(each), n)]
    (one,) = each
    return one

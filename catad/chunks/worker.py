"""What runs in a task: a program on the blocks that the task has been given."""

from __future__ import annotations

import itertools
import pickle
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from catad import errors
from catad.category.spaces import Tensor
from catad.category.wiring import Wiring
from catad.chunks.sending import sent
from catad.engine.choice import engine_of, use_engine
from catad.engine.cpu.run.threads import num_threads
from catad.engine.program import Program
from catad.support.current_engine import AUTO
from catad.support.lru import Recent
from catad.values.arrays import array_module, as_array, asarray, common_module
from catad.version import __version__


class Assembled(NamedTuple):
    """How a leaf is put together: how many pieces lie along each axis, their slices there (None: whole blocks), in which
    arguments the pieces are, and in which spaces chunks of the user must lie before they are cut."""

    counts: tuple[int, ...]
    slices: tuple[tuple[tuple[int, int] | None, ...], ...]
    found: tuple[Any, ...]
    declared: tuple[Tensor | None, ...]


class RegionProgram:
    """The program of a region for blocks of some sizes. It is pickled as its wiring, and a process makes each program once.

    `axes` are the dimensions of the region along which the axes of its first array are cut: so people number its tasks. The last
    results, as many as `together` says, are one tuple beside the others.
    """

    def __init__(self, wiring: Wiring, engine: str, name: str, axes: tuple[int | None, ...], together: int = 0) -> None:
        self.wiring, self.engine, self.name, self.axes, self.together = wiring, engine, name, axes, together
        self._program: Program | None = None
        self.lawful = False

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

    def opened(self) -> RegionProgram:
        return self

    def __reduce__(self) -> Any:
        return SentProgram, (__version__, *self.payload)


_compiling = Lock()
_programs: Recent[str, RegionProgram] = Recent(512)


@dataclass(frozen=True, slots=True)
class SentProgram:
    """The program of a region as it is sent.

    A task opens it, so that what is wrong with it is an error of the task: one in the messages of a scheduler and its workers
    only ends their connection. Schedulers open none.
    """

    version: str
    digest: str
    said: bytes

    def opened(self) -> RegionProgram:
        """The program, which a process makes once; raises `EngineError` where another version of catad has sent it."""
        if self.version != __version__:
            raise errors.EngineError(errors.other_version(self.version, __version__))
        found = _programs.get(self.digest)
        if found is None:
            found = _programs[self.digest] = RegionProgram(*pickle.loads(self.said))
        return found


@dataclass(frozen=True, slots=True)
class InTask:
    """What a task calls.

    An error in a task sees the calls of the scheduler. So `called` and `calling`, as in errors, say where the user called the
    program.
    """

    called: str | None
    calling: str | None

    def say(self, error: errors.CatadError, chunk: tuple[int, ...], task: str) -> None:
        """Note in an error the call and the chunk."""
        if chunk:
            error.chunk = errors.chunk_of(chunk, task)
        if self.called is not None:
            error.called, error.calling = self.called, self.calling


@dataclass(frozen=True, slots=True)
class RunRegion(InTask):
    """Runs the program of a region; `checks` says that the laws of operators are checked on the blocks."""

    checks: bool = False

    def __call__(
        self, program: RegionProgram | SentProgram, spec: Sequence[Any] | None, at: tuple[int, ...], *args: Any
    ) -> Any:
        """The results of a program on blocks: an array, or a tuple of several."""
        opened: RegionProgram | None = None
        try:
            opened = program.opened()
            return self._made(opened, _leaves(spec, args))
        except errors.CatadError as error:
            self.say(error, *(((), "") if opened is None else (opened.chunk(at), opened.name)))
            raise

    def _made(self, program: RegionProgram, leaves: list[Any]) -> Any:
        xp: Any = np
        if any(type(leaf) is not np.ndarray for leaf in leaves):
            on_device = [leaf for leaf in leaves if not isinstance(leaf, int) and array_module(leaf) is not np]
            xp = common_module(on_device)  # constants and numbers beside them move there
            leaves = [np.int64(leaf) if isinstance(leaf, int) else leaf for leaf in leaves]
            if xp is not np:
                leaves = [asarray(xp, leaf) for leaf in leaves]
        _check_blocks(program, leaves)
        with use_engine("cpu" if program.engine == AUTO and xp is np else program.engine), num_threads(1):
            ready = program.program(xp)
            if self.checks and not program.lawful:
                ready.check(xp, leaves)
                program.lawful = True  # as a program on whole arrays, which checks laws on the first ones
            made = ready(xp, leaves)
        if program.together:
            apart = len(made) - program.together
            return *made[:apart], tuple(made[apart:])
        return made[0] if len(made) == 1 else tuple(made)


def _leaves(spec: Sequence[Any] | None, args: Sequence[Any]) -> list[Any]:
    """The arguments of a program, put together of those of a task."""
    if spec is None:
        return list(args)
    used = 1 + max([k for leaf in spec for k in _used(leaf)], default=-1)
    laid = _laid_out(spec, args)
    return [*[_leaf(leaf, laid) for leaf in spec], *args[used:]]


@dataclass(frozen=True, slots=True)
class CutEdges(InTask):
    """Copies parts of a block, or of an entry of a tuple."""

    def __call__(
        self,
        edges: Sequence[Sequence[tuple[int, int] | None]],
        entry: int | None,
        declared: Tensor | None,
        at: tuple[int, ...],
        block: Any,
    ) -> tuple[Any, ...]:
        array = block if entry is None else block[entry]
        try:
            _check(array, declared)
        except errors.SpaceError as error:
            self.say(error, at, "edges")
            raise
        return tuple([array[tuple([slice(None) if s is None else slice(*s) for s in edge])].copy() for edge in edges])


def _check_blocks(program: RegionProgram, leaves: Sequence[Any]) -> None:
    """Raise where a block is not what the array that it belongs to has said."""
    for k, block in zip(program.wiring.inputs, leaves, strict=True):
        _check(block, program.wiring.wires[k])


def _check(block: Any, space: Tensor | None) -> None:
    if space is not None and (getattr(block, "dtype", None) != space.dtype or getattr(block, "shape", None) != space.shape):
        raise errors.SpaceError(errors.other_block(block, space))
    if space is not None and isinstance(block, np.ndarray) and type(block) is not np.ndarray:
        as_array(block)  # masks are more than numbers


def _laid_out(spec: Sequence[Any], args: Sequence[Any]) -> Sequence[Any]:
    """The arguments, of which those that a program reads several times are copied if their rows do not follow each other."""
    again = [k for k, count in Counter([leaf for leaf in spec if isinstance(leaf, int)]).items() if count > 1]
    made = {k: np.ascontiguousarray(args[k]) for k in again if isinstance(args[k], np.ndarray) and args[k].ndim}
    return [made.get(k, array) for k, array in enumerate(args)] if made else args


def _used(leaf: Any) -> Sequence[int]:
    if isinstance(leaf, Assembled):
        return [k for one in leaf.found for k in _used(one)]
    return [leaf if isinstance(leaf, int) else leaf[0]]


def _leaf(leaf: Any, args: Sequence[Any]) -> Any:
    if isinstance(leaf, int):
        return args[leaf]
    if not isinstance(leaf, Assembled):
        found, item = args[leaf[0]], leaf[1]
        return found[item] if isinstance(item, int) else found[item[0]][item[1]]
    each = []
    for one, slices, declared in zip(leaf.found, itertools.product(*leaf.slices), leaf.declared, strict=True):
        array = _leaf(one, args)
        _check(array, declared)
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

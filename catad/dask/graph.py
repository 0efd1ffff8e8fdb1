"""The tasks of a program over chunks as a graph of dask: results are arrays of dask, and nothing runs before they are computed.

A layer of the graph has the tasks of one name, and reads layers that were begun before it, so that no layers read each other in
a circle. The key of a task has the words that progress bars show, then a digest of the program and all its arguments. It is the
same in every process, so dask runs equal tasks of several calls once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from itertools import product
from operator import getitem
from typing import Any, TypeAlias

import numpy as np
from dask._task_spec import Alias, DataNode, Task, TaskRef
from dask.array import Array
from dask.base import clone_key, tokenize
from dask.highlevelgraph import HighLevelGraph

from catad.chunks.parts import Parts
from catad.chunks.tasks import Tasks
from catad.dask.again import again

Block: TypeAlias = "TaskRef | tuple[TaskRef, int]"


class _Apart(Task):  # type: ignore[misc]
    """A task that dask does not fuse with others: fused, it would run again for each array that is optimised by itself."""

    __slots__ = ()
    block_fusion = True


class _Layer:
    """The tasks of one name, each at the place of its chunk; `reads` has the layers that they depend on."""

    __slots__ = ("begun", "name", "reads", "tasks", "words")

    def __init__(self, words: str, name: str, begun: int, reads: set[str]) -> None:
        self.words = words
        self.name = name
        self.begun = begun  # as which layer of the program
        self.reads = reads
        self.tasks: dict[Any, Any] = {}


class DaskGraph(Tasks):
    """The tasks of one call of a program on arrays of dask.

    `program` says what the program does, such as its digest, and `values` are what it takes beside the arrays. Calls with equal
    programs, arrays and values have equal keys.
    """

    def __init__(self, program: str, arrays: Sequence[Array], values: Sequence[Any] = ()) -> None:
        given = [array.name for array in arrays]
        self._token = _digest(program, given, tokenize(list(values)) if values else "")
        self._layers_of = {array.name: array.__dask_layers__() for array in arrays}
        graphs = list({array.name: array.__dask_graph__() for array in arrays}.values())
        self._outside = graphs[0] if len(graphs) == 1 else HighLevelGraph.merge(*graphs)
        self._like = arrays[0]._meta if arrays else np.empty(0)  # of the library that has the blocks
        self._layers: dict[str, _Layer] = {}
        self._called: dict[str, list[_Layer]] = {}  # by what their tasks are called
        self._entries: dict[tuple[Any, int], TaskRef] = {}

    def blocks(self, array: Array) -> list[TaskRef]:
        """The blocks of one of the arrays of the call, in C order."""
        return [TaskRef((array.name, *place)) for place in _places(array.chunks)]

    def blocks_again(self, array: Array) -> list[TaskRef] | None:
        """The blocks once more, made again of what is stored, so that they need not be held since they were read first.

        Blocks that lie in memory are given as they are; None says that to make one takes several others.
        """
        seed = _digest(self._token, "again", len(self._outside.layers))
        layers = again(array, seed)
        if layers is None:
            return None
        if not layers.layers:
            return self.blocks(array)
        self._outside, name = HighLevelGraph.merge(self._outside, layers), clone_key(array.name, seed)
        return [TaskRef((name, *place)) for place in _places(array.chunks)]

    def task(self, name: str, number: tuple[int, ...], run: Callable[..., Any], args: Sequence[Any]) -> TaskRef:
        """A task that calls `run`. Where all numbers are the places of the blocks of an array, its blocks are these tasks."""
        layer = self._layer(name, number, {arg.key[0] for arg in args if type(arg) is TaskRef})
        key = (layer.name, *number)
        layer.tasks[key] = _Apart(key, run, *args)
        return TaskRef(key)

    def value(self, name: str, value: Any) -> TaskRef:
        """A value in a node of its own, which the graph has once, however many tasks read it."""
        layer = self._begun(name, set())
        layer.tasks[(layer.name,)] = DataNode((layer.name,), value)
        return TaskRef((layer.name,))

    def entry(self, ref: TaskRef, k: int, number: tuple[int, ...] | None = None) -> TaskRef:
        """Entry number k of the tuple that a task gives, as a task of its own, so that the other entries are not held with it."""
        found = self._entries.get((ref.key, k))
        if found is None:
            name, *place = ref.key
            words = f"part {k} of {self._layers[name].words}"
            found = self._entries[ref.key, k] = self.task(words, tuple(place) if number is None else number, getitem, (ref, k))
        return found

    def array(self, blocks: Sequence[Block], parts: Parts, dtype: Any) -> Array:
        """An array of dask: its blocks are results of tasks, or entries of the tuples that tasks give."""
        places = _places(parts)
        refs = [
            self.entry(block[0], block[1], place) if isinstance(block, tuple) else block
            for block, place in zip(blocks, places, strict=True)
        ]
        name = self._made_by(refs, places) or self._handed_over(refs, places)
        meta = np.empty_like(self._like, shape=(0,) * len(parts), dtype=dtype, subok=False)
        return Array(self._graph(name), name, parts, meta=meta)

    def _layer(self, words: str, number: tuple[int, ...], reads: set[str]) -> _Layer:
        """The first layer of a name that has not the chunk yet, and was begun after all layers that are read; or a new one."""
        for layer in self._called.get(words, ())[-8:]:
            if (layer.name, *number) not in layer.tasks:
                if reads <= layer.reads:
                    return layer
                if all(name not in self._layers or self._layers[name].begun <= layer.begun for name in reads):
                    layer.reads |= reads
                    return layer
        return self._begun(words, reads)

    def _begun(self, words: str, reads: set[str]) -> _Layer:
        begun = len(self._layers)
        layer = _Layer(words, f"{words}-{_digest(self._token, begun)}", begun, reads)
        self._layers[layer.name] = layer
        self._called.setdefault(words, []).append(layer)
        return layer

    def _made_by(self, refs: Sequence[TaskRef], places: Sequence[tuple[int, ...]]) -> str | None:
        """The layer whose tasks are these blocks, each at its place, and no others."""
        name = refs[0].key[0]
        fits = name in self._layers and len(self._layers[name].tasks) == len(refs)
        return name if fits and [ref.key for ref in refs] == [(name, *place) for place in places] else None

    def _handed_over(self, refs: Sequence[TaskRef], places: Sequence[tuple[int, ...]]) -> str:
        """A new layer, whose tasks give the blocks that others have made."""
        name = refs[0].key[0]
        layer = self._begun(self._layers[name].words if name in self._layers else "argument", {ref.key[0] for ref in refs})
        for ref, place in zip(refs, places, strict=True):
            layer.tasks[layer.name, *place] = Alias((layer.name, *place), ref)
        return layer.name

    def _graph(self, name: str) -> HighLevelGraph:
        """The graph of an array: the layers that it depends on, and those of the arguments."""
        layers = dict(self._outside.layers)
        depends = dict(self._outside.dependencies)
        waiting = [self._layers[name]]
        while waiting:
            layer = waiting.pop()
            if layer.name in layers:
                continue
            layers[layer.name] = layer.tasks
            depends[layer.name] = {one for read in layer.reads - {layer.name} for one in self._layers_of.get(read, (read,))}
            waiting.extend([self._layers[read] for read in layer.reads if read in self._layers])
        return HighLevelGraph(layers, depends)


def _digest(*texts: Any) -> str:
    """A token for some texts and numbers, as Dask's tokens of 128 bits."""
    return hashlib.sha256(repr(texts).encode()).hexdigest()[:32]


def _places(parts: Parts) -> list[tuple[int, ...]]:
    """The places of the blocks, in C order."""
    return list(product(*[range(len(sizes)) for sizes in parts]))

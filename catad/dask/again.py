"""Arguments that are read twice: the part of a graph of dask that makes their blocks, a second time under other keys.

A key has one result, which dask holds until the last task that reads it is done. A program that passes over its arguments twice
would hold all of them in between; where they lie in a store, it rather reads each block twice.
"""

from __future__ import annotations

from typing import Any

from dask._task_spec import DataNode, GraphNode
from dask.array import Array
from dask.base import clone_key
from dask.blockwise import Blockwise
from dask.highlevelgraph import HighLevelGraph, Layer

LAYERS = 3  # that are computed again: loading, slicing, converting; nobody knows what more of them cost


def again(array: Array, seed: str) -> HighLevelGraph | None:
    """The layers of an array with keys of their own, beside the same data: its name is then `clone_key(array.name, seed)`.

    No layers where all blocks are in memory. None where a block is made of several others, as after `rechunk`, or where more is
    computed than loaded.
    """
    graph = array.__dask_graph__()
    if array.name not in graph.layers:
        return None
    computed = {name: layer for name, layer in graph.layers.items() if not _is_data(layer)}
    if len(computed) > LAYERS:
        return None
    keys = {key for layer in computed.values() for key in layer.get_output_keys()}
    if not all(_is_by_block(name, layer, keys) for name, layer in computed.items()):
        return None
    new = {name: clone_key(name, seed) for name in computed}
    layers = {new[name]: _renamed(layer, keys, new, seed) for name, layer in computed.items()}
    return HighLevelGraph(
        layers | {name: layer for name, layer in graph.layers.items() if layers and name not in computed},
        {new.get(name, name): {new.get(one, one) for one in graph.dependencies[name]} for name in graph.layers},
    )


def _renamed(layer: Layer, keys: set[Any], new: dict[str, str], seed: str) -> Any:
    """A layer with other keys, which reads other keys."""
    if isinstance(layer, Blockwise):
        return layer.clone(keys, seed)[0]
    made = {}
    for key, node in layer.items():
        ours = (new[key[0]], *key[1:])
        made[ours] = node.substitute({one: (new[one[0]], *one[1:]) for one in keys & node.dependencies}, key=ours)
    return made


def _is_data(layer: Layer) -> bool:
    """Whether nothing of a layer is computed."""
    if isinstance(layer, Blockwise):
        return False
    return all(isinstance(node, DataNode) or not isinstance(node, GraphNode | tuple) for node in layer.values())


def _is_by_block(name: str, layer: Layer, keys: set[Any]) -> bool:
    """Whether each block of a layer is made of one block of each array that it reads."""
    if isinstance(layer, Blockwise):
        return all(set(axes or ()) <= set(layer.output_indices) for _, axes in layer.indices)
    return all(
        key[0] == name and isinstance(node, GraphNode) and len(keys & node.dependencies) <= 1 for key, node in layer.items()
    )

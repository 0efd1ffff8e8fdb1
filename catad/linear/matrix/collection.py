"""Linear maps of which the coefficients are arrays of Dask, as collections of Dask: `dask.persist(L)` and `dask.compute(L)`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

Rebuild: TypeAlias = tuple[Callable[..., Any], tuple[Any, ...]]


class Collection:
    """The protocol of Dask's collections, by that of the coefficients. Maps of other coefficients say that they are none."""

    __slots__ = ()

    def __dask_graph__(self) -> Any:
        graphs = [array.__dask_graph__() for array in _lazy(self)]
        return graphs[0].merge(*graphs) if graphs else None

    def __dask_keys__(self) -> list[Any]:
        return [array.__dask_keys__() for array in _lazy(self)]

    def __dask_layers__(self) -> tuple[str, ...]:
        return tuple([name for array in _lazy(self) for name in array.__dask_layers__()])

    @property
    def __dask_optimize__(self) -> Any:
        return _lazy(self)[0].__dask_optimize__

    @property
    def __dask_scheduler__(self) -> Any:
        return _lazy(self)[0].__dask_scheduler__

    def __dask_postcompute__(self) -> Rebuild:
        return _of_results, (self, [array.__dask_postcompute__() for array in _lazy(self)])

    def __dask_postpersist__(self) -> Rebuild:
        return _of_graph, (self, [array.__dask_postpersist__() for array in _lazy(self)])


def _lazy(linear: Any) -> list[Any]:
    """The coefficients that are arrays of Dask."""
    return [slot for slot in linear.slots if hasattr(type(slot), "__dask_graph__")]


def _with(linear: Any, arrays: Sequence[Any]) -> Any:
    """The map with other arrays in the places of those of Dask."""
    found = iter(arrays)
    slots = [next(found) if hasattr(type(slot), "__dask_graph__") else slot for slot in linear.slots]
    return type(linear)(linear.dom, linear.cod, linear.structure, slots, linear.weak)


def _of_results(results: Sequence[Any], linear: Any, each: Sequence[Rebuild]) -> Any:
    """The map of computed coefficients."""
    return _with(linear, [finish(result, *args) for result, (finish, args) in zip(results, each, strict=True)])


def _of_graph(graph: Any, linear: Any, each: Sequence[Rebuild], *, rename: Any = None) -> Any:
    """The map of coefficients that lie in the memory of workers."""
    return _with(linear, [rebuild(graph, *args, rename=rename) for rebuild, args in each])

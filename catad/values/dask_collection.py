"""What Dask asks of a collection, for objects that hold arrays of Dask: `dask.persist(L)`, `dask.compute(L, y)`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any


class HoldsArrays:
    """Base of what holds arrays: a collection of Dask where some of them are."""

    __slots__ = ()

    def _held(self) -> Sequence[Any]:
        """The arrays."""
        raise NotImplementedError

    def _holding(self, arrays: Sequence[Any]) -> Any:
        """The same with other arrays."""
        raise NotImplementedError

    def _of_dask(self) -> list[Any]:
        return [array for array in self._held() if hasattr(type(array), "__dask_graph__")]

    def _with(self, arrays: Sequence[Any]) -> Any:
        """The same with others in the places of the arrays of Dask."""
        rest = iter(arrays)
        return self._holding([next(rest) if hasattr(type(array), "__dask_graph__") else array for array in self._held()])

    def __dask_graph__(self) -> Any:
        own = self._of_dask()
        if not own:
            return None  # no collection of Dask
        return sys.modules["dask.highlevelgraph"].HighLevelGraph.merge(*[array.__dask_graph__() for array in own])

    def __dask_keys__(self) -> list[Any]:
        return [array.__dask_keys__() for array in self._of_dask()]

    @property
    def __dask_optimize__(self) -> Any:
        return self._first("__dask_optimize__")

    @property
    def __dask_scheduler__(self) -> Any:
        return self._first("__dask_scheduler__")

    def _first(self, name: str) -> Any:
        own = self._of_dask()
        if not own:
            raise AttributeError(name)
        return getattr(own[0], name)

    def __dask_postcompute__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self._computed, ()

    def _computed(self, results: Sequence[Any]) -> Any:
        made = []
        for array, blocks in zip(self._of_dask(), results, strict=True):
            finish, args = array.__dask_postcompute__()
            made.append(finish(blocks, *args))
        return self._with(made)

    def __dask_postpersist__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self._persisted, ()

    def _persisted(self, graph: Mapping[Any, Any], *, rename: Mapping[str, str] | None = None) -> Any:
        made = []
        for array in self._of_dask():
            finish, args = array.__dask_postpersist__()
            name = (rename or {}).get(array.name, array.name)
            own = {key: value for key, value in graph.items() if isinstance(key, tuple) and key[0] == name}
            made.append(finish(own, *args, rename=rename))
        return self._with(made)

"""`linear`: a primitive that is linear in its arguments, by its transpose or by its structure.

    y = L x        dy = L dx        dx' = L^T dy'

The derivative is the map itself, so derivatives of every order are there at once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from catad import errors
from catad.category.cartesian import exr
from catad.category.chunk_labels import said_of_chunks, transposed
from catad.category.constructors import constructor
from catad.category.spaces import Space, Tensor, Unit
from catad.category.terms import D
from catad.linear.families.matrix_free import MatrixFree, space_of_leaves
from catad.linear.map import LinearMap
from catad.linear.structure import Rule
from catad.primitive.function import OfFunctions, spaces_of, taking


class Linear(OfFunctions):
    """A linear function, its transpose and the spaces of its results; `known` are these, where `spaces` does not say them."""

    __slots__ = ("_chunks", "_known", "_vectorized")
    drawn_as = "linear"

    def __init__(
        self,
        fn: Any,
        back: Any,
        spaces: Any,
        vectorized: bool,
        known: tuple[Tensor, ...] | None = None,
        chunks: str | None = None,
    ) -> None:
        super().__init__(fn, back, spaces)
        self._vectorized, self._known, self._chunks = vectorized, known, chunks

    @property
    def vectorized(self) -> bool:
        return self._vectorized

    @property
    def chunks(self) -> str | None:
        return self._chunks

    def data(self) -> Hashable:
        return (super().data(), self._vectorized, self._known, self._chunks)

    def recipe(self) -> tuple[Callable[..., D], tuple[Any, ...]]:
        return Linear, (*super().recipe()[1], self._vectorized, self._known, self._chunks)

    def of_chunk(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Linear:
        fn, back, spaces = self._functions
        return self if self._known is None else Linear(fn, back, spaces, self._vectorized, outs, self._chunks)

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return spaces_of(self.given(2), taking("spaces", self.ready(2), len(ins))(*ins)) if self._known is None else self._known

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        if not all(space.is_float for space in (*ins, *outs)):
            raise errors.ExtensionError(errors.linear_in_integers(self.given(0), (*ins, *outs)))
        fn, back, spaces = self._functions
        there = Linear(fn, back, spaces, self._vectorized, outs, self._chunks)
        again = Linear(back, fn, spaces, self._vectorized, ins, transposed(self._chunks))
        dom, cod = space_of_leaves(ins), space_of_leaves(outs)
        return Rule(MatrixFree(exr >> there, exr >> again, dom, cod, Unit))

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        if self._known is not None:
            return name(self, "linear")
        given = [*self.texts(name), *["vectorized=True"] * self._vectorized]
        given += [f"chunks={self._chunks!r}"] * (self._chunks is not None)
        return f"ct.primitive.linear({', '.join(given)})"


class LinearByStructure(OfFunctions):
    """A linear function and the linear map that it is, by the spaces of its arguments."""

    __slots__ = ("_chunks",)
    drawn_as = "linear"

    def __init__(self, fn: Any, structure: Any, chunks: str | None = None) -> None:
        super().__init__(fn, structure)
        self._chunks = chunks

    @property
    def chunks(self) -> str | None:
        return self._chunks

    def data(self) -> Hashable:
        return (super().data(), self._chunks)

    def recipe(self) -> tuple[Callable[..., D], tuple[Any, ...]]:
        return LinearByStructure, (*super().recipe()[1], self._chunks)

    def _map(self, ins: tuple[Tensor, ...]) -> LinearMap:
        found = self.ready(1)(*ins)
        if not isinstance(found, LinearMap) or found.structure.dom != ins:
            raise errors.ExtensionError(errors.wrong_structure(self.given(1), found, ins))
        return found

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return self._map(ins).structure.cod

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        found = self._map(ins)
        return Rule(found.structure, lambda wires, _: [wires[0].builder.wires(slot) for slot in found.slots])

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        fn, structure = self.texts(name)
        said = "" if self._chunks is None else f", chunks={self._chunks!r}"
        return f"ct.primitive.linear({fn}, structure={structure}{said})"


@constructor()
def linear(
    fn: Callable[..., Any],
    transpose: Callable[..., Any] | None = None,
    spaces: Callable[..., Space | tuple[Space, ...]] | None = None,
    *,
    structure: Callable[..., LinearMap] | None = None,
    vectorized: bool = False,
    chunks: str | None = None,
) -> D:
    """A primitive that is linear in its arguments, from array code: with its transpose, or with the linear map that it is.

    - `fn(*arrays)` gives an array, or a tuple of arrays, and writes into no argument. All arguments and results are floating.
    - `transpose(*arrays)` takes arrays like the results to arrays like the arguments, `<fn(x), w> == <x, transpose(w)>`, and
      `spaces(*spaces)` gives the spaces of the results. Such a map is matrix-free.
    - or `structure(*spaces)` gives the `ct.LinearMap` that `fn` applies, which says the spaces too: Jacobians are as structured.
    - `vectorized=True`, with `transpose`, says that both take further leading axes that all arguments have.
    - `chunks` says along which axes arrays in chunks may be given chunk by chunk, as in `ct.primitive.function`.

    Arrays that are not in these spaces are an `ExtensionError`; `ct.testing.check_laws` tells whether the transpose is one.
    Raises `ArgumentError` for an argument that is no function, and where neither or both of `transpose` and `structure` are
    given.

    >>> import catad as ct, numpy as np
    >>> running = ct.primitive.linear(np.cumsum, structure=ct.linear.cumulative_sum)
    >>> ct.grad(running >> ct.sum())(np.zeros(3))
    array([3., 2., 1.])
    >>> differences = ct.primitive.linear(np.diff, lambda w: -np.diff(w, prepend=0, append=0), lambda x: ct.f64[x.size - 1])
    >>> ct.grad(differences >> ct.square >> ct.sum())(np.array([1.0, 2.0, 4.0]))
    array([-2., -2.,  4.])
    """
    if structure is not None:
        if transpose is not None or spaces is not None:
            raise errors.ArgumentError(errors.transpose_and_structure())
        given: tuple[Any, ...] = (fn, structure)
    else:
        given = (fn, transpose, spaces)
    for each in given:
        if not callable(each):
            raise errors.ArgumentError(errors.not_a_function_of_arrays(each))
    said = said_of_chunks(chunks)
    return Linear(fn, transpose, spaces, vectorized, None, said) if structure is None else LinearByStructure(fn, structure, said)

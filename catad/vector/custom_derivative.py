"""`ct.D(fn)`: morphisms written by hand as `fn : x -> (y, linear map)`.

The function is traced: run on wires, its array operations become boxes, and the linear map that it returns has wires for
slots. A `Custom` box then passes `y` on and holds the derivative: its rule is the structure that was returned, its slots are
among its arguments. It computes nothing and is dropped before a wiring runs. Code that cannot be traced becomes one `Opaque`
box that gives the value and the slots, and has no derivative itself, so second derivatives are an error. A notice names the
operation that cannot be traced; spaces and structure are found by calling the function at the point for which it is laid
out, or are what the user says that they are (`spaces=`), without a call.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors, scalar
from catad.category.boxes import Primitive, box
from catad.category.pickling import Reference
from catad.category.spaces import Space, Tensor, as_leaves, flatten, rebuild, space_like, tangent_space
from catad.category.terms import D
from catad.category.wiring import share
from catad.errors.notices import notice
from catad.linear.families.block import assemble
from catad.linear.families.gather import spread_beside
from catad.linear.families.matrix_free import Batched
from catad.linear.map import LinearMap
from catad.linear.structure import Rule, Structure
from catad.values.arrays import array_module, asarray, common_module, in_blocks
from catad.values.frozen_functions import Frozen, sending
from catad.vector.derivative_carriers import PassedOn

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire, Wires


@box
class Custom(PassedOn):
    """(x leaves..., y leaves..., slots...) to the y leaves, with the given structure as derivative with respect to x."""

    drawn_as = "functor"
    structure: Structure
    xs: int
    ys: int

    @property
    def arity(self) -> int:
        return self.xs + self.ys + len(self.structure.slots)

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return ins[self.xs : self.xs + self.ys]

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        dom, first = [space for space in ins if space.is_float], self.xs + self.ys
        others = len(dom) - len(self.structure.dom)
        grid, columns, rows = self.structure.blocks
        cells = [[*line, *[None] * others] for line in grid]
        whole = assemble(cells, dom, self.structure.cod, self.structure.slots, ((*columns, *[1] * others), rows))
        return Rule(whole, lambda wires, _: wires[first:])

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        n = self.xs + self.ys
        carried = spread_beside(b, ins[:n], flags[:n], size)
        structure = Batched(self.structure, flags[n:], size)
        return b.add(Custom(structure, self.xs, self.ys), *carried, *ins[n:])


@box
class Opaque(Primitive):
    """A hand-written morphism whose code cannot be traced, at one space: x leaves to (y leaves..., slots...).

    `stated` are the spaces that the user says, which chunks ask for again.
    """

    drawn_as = "functor"
    fn: Any
    dom: Space
    cod: Space
    structure: Structure
    stated: Any = None
    chunks: str | None = None

    @property
    def lasting(self) -> bool:
        return False

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (*self.cod.leaves, *self.structure.slots)

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        # what the code writes into, and what it keeps, are copies
        y, linear = _called(self.fn, rebuild(self.dom, [a.copy() for a in arrays]), self.dom)
        leaves = [_beside(xp, arrays, leaf) for leaf in as_leaves(y)]
        spaces = tuple([Tensor(leaf.shape, leaf.dtype) for leaf in leaves])
        if spaces != self.cod.leaves or linear.structure != self.structure:
            first, now = (self.cod.leaves, self.structure), (spaces, linear.structure)
            raise errors.SpaceError(errors.opaque_changed(self.fn, first, now))
        outs = (*leaves, *[xp.asarray(slot) for slot in linear.slots])
        return outs[0] if len(outs) == 1 else outs

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        raise errors.DerivativeError(errors.opaque_derivative(self.fn))

    def of_chunk(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Opaque:
        dom = rebuild(self.dom, list(ins))
        cod, linear = _stated(self.stated, dom)
        return Opaque(self.fn, dom, cod, linear.structure, self.stated, self.chunks)

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return name(self, "opaque")


def _beside(xp: Any, arrays: Sequence[Any], leaf: Any) -> Any:
    """A copy of a result of opaque code; raises `DeviceError` where it is an array of another library than the arguments."""
    if xp is not np and not leaf.ndim and array_module(leaf) is np:  # a number
        return asarray(xp, leaf)
    common_module([*arrays, leaf])
    return leaf.copy()


def _called(fn: Any, x: Any, dom: Space) -> tuple[Any, LinearMap]:
    """The two results of a hand-written function, checked."""
    result = fn(x)
    if not isinstance(result, tuple) or len(result) != 2 or not isinstance(result[1], LinearMap):
        raise errors.SpaceError(errors.not_a_value_and_map(fn, result))
    return result


def _stated(stated: Frozen, dom: Space) -> tuple[Space, LinearMap]:
    """What the user says that a function returns at a space."""
    found = stated.ready()(dom)
    if not isinstance(found, tuple) or len(found) != 2 or not isinstance(found[0], Space):
        raise errors.SpaceError(errors.not_stated_spaces(stated.given, found))
    cod, linear = found
    if not isinstance(linear, LinearMap):
        raise errors.SpaceError(errors.not_stated_spaces(stated.given, found))
    return cod, linear


@share
class ByHand(D):
    """`ct.D(fn)`: see the module."""

    __slots__ = ("_chunks", "_opaque_at", "_stated", "frozen")
    drawn_as = "functor"

    def __init__(self, fn: Any, spaces: Any = None, chunks: str | None = None) -> None:
        self.frozen = Frozen(fn)  # it runs for the value and for each derivative, which shall see the same numbers
        self._stated = None if spaces is None else Frozen(spaces)  # what the user says of code that cannot be traced
        self._chunks = chunks
        self._opaque_at: dict[Space, Opaque] = {}  # the boxes of code that cannot be traced, by domain

    @property
    def fn(self) -> Any:
        """The function, as it was when the morphism was made."""
        return self.frozen.ready()

    @property
    def lasting(self) -> bool:
        return False

    def data(self) -> Hashable:
        return (self.frozen.key, None if self._stated is None else self._stated.key, self._chunks)

    def lay_out(self, b: Builder, x: Wires) -> Any:
        dom = b.space(x)
        xs = flatten(x)
        if dom in self._opaque_at:
            return self._custom(b, xs, *self._opaque(b, dom, xs))
        try:
            y, linear = _called(self.fn, x, dom)
            ys, slots = flatten(b.wires(y)), flatten(b.wires(tuple(linear.slots)))
        except Exception as error:  # whatever array code does with what is not an array
            if isinstance(error, errors.CatadError) and not (isinstance(error, errors.ScalarError) and error.unknown):
                raise
            if self._stated is None:
                notice(("opaque", self.data()), errors.untraced(self.frozen.given, error))
            return self._custom(b, xs, *self._opaque(b, dom, xs))
        cod = space_like(y, [w.space for w in ys])
        self._check(linear, dom, cod)
        return self._custom(b, xs, cod, ys, slots, linear.structure)

    def _custom(
        self, b: Builder, xs: list[Wire], cod: Space, ys: list[Wire], slots: list[Wire], structure: Structure
    ) -> Any:
        floats = [w for w in xs if w.space.is_float]
        return rebuild(cod, b.add(Custom(structure, len(floats), len(ys)), *floats, *ys, *slots))

    def _opaque(self, b: Builder, dom: Space, xs: list[Wire]) -> tuple[Space, list[Wire], list[Wire], Structure]:
        """One box, whose spaces are stated, or found by calling the function once at the point for which it is laid out."""
        box = self._opaque_at.get(dom)
        if box is None:
            cod, linear = self._at_a_point(b, dom, xs) if self._stated is None else _stated(self._stated, dom)
            self._check(linear, dom, cod)
            box = self._opaque_at[dom] = Opaque(self.fn, dom, cod, linear.structure, self._stated, self._chunks)
        outs = b.add(box, *xs)
        n = len(box.cod.leaves)
        return box.cod, list(outs[:n]), list(outs[n:]), box.structure

    def _at_a_point(self, b: Builder, dom: Space, xs: list[Wire]) -> tuple[Space, LinearMap]:
        point = b.values(xs)
        if point is None:
            raise errors.SpaceError(errors.no_point(self.fn))
        if in_blocks(point[0]):
            raise errors.SpaceError(errors.opaque_in_chunks(self.frozen.given))
        y, linear = _called(self.fn, rebuild(dom, point[1]), dom)
        return space_like(y, [Tensor(leaf.shape, leaf.dtype) for leaf in as_leaves(y)]), linear

    def recipe(self) -> tuple[Callable[..., D], tuple[Any, ...]]:
        return ByHand, (_recorded(self.frozen), None if self._stated is None else _recorded(self._stated), self._chunks)

    def _check(self, linear: LinearMap, dom: Space, cod: Space) -> None:
        want = (tangent_space(dom).leaves, tangent_space(cod).leaves)
        if (linear.structure.dom, linear.structure.cod) != want:
            raise errors.SpaceError(errors.wrong_hand_map(linear, dom, cod, self.fn))

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        given = [self.fn, *[s.given for s in (self._stated,) if s is not None]]
        texts = [name(f, getattr(f, "__name__", "fn")) for f in given]
        said = "" if self._chunks is None else f", chunks={self._chunks!r}"
        return f"ct.D({', spaces='.join(texts)}{said})"


def _recorded(frozen: Frozen) -> Any:
    """A function in a record: a plain one by its name, which may mean the morphism by now, as below `@ct.D`."""
    fn = frozen.pickled
    return Reference(fn, in_programs=True) if isinstance(fn, FunctionType) and not sending.get() else fn


def by_hand(fn: Any = None, spaces: Any = None, chunks: Any = None) -> D:
    """The constructor behind `ct.D(fn, spaces=..., chunks=...)`."""
    for each in (fn, *[s for s in (spaces,) if s is not None]):
        if not callable(each) or isinstance(each, D):
            raise errors.ArgumentError(errors.not_a_function(each, each is not fn))
    if isinstance(fn, FunctionType):
        scalar.refuse_kind(fn.__code__)
        count = scalar.arity_of(fn)
        if count is not None and count > 1:
            raise errors.ArgumentError(errors.hand_arity(fn, count))
    if chunks not in (None, "rows") or (chunks is not None and spaces is None):
        raise errors.ArgumentError(errors.rows_without_spaces(chunks))
    return ByHand(fn, spaces, chunks)

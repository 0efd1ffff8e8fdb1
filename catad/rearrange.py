"""Rearrangements of tuples: no box, only wires. `exl`, `dup`, `swap` and their like, and projections."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, ClassVar

from catad import errors
from catad.calls import constructor, integer
from catad.terms import D

if TYPE_CHECKING:
    from catad.wiring import Builder, Wires


class Structural(D):
    """A rearrangement of a tuple: no box, only wires. `name` is its public name, e.g. `exl`."""

    __slots__ = ("move", "name", "pattern")
    moves: ClassVar[dict[str, tuple[str, Callable[[Any], Any]]]] = {
        "exl": ("(a, b)", lambda x: x[0]),
        "exr": ("(a, b)", lambda x: x[1]),
        "dup": ("", lambda x: (x, x)),
        "swap": ("(a, b)", lambda x: (x[1], x[0])),
        "assoc_l": ("(a, (b, c))", lambda x: ((x[0], x[1][0]), x[1][1])),
        "assoc_r": ("((a, b), c)", lambda x: (x[0][0], (x[0][1], x[1]))),
        "it": ("", lambda x: ()),
    }

    def __init__(self, name: str) -> None:
        self.name = name
        self.pattern, self.move = self.moves[name]

    def recipe(self) -> tuple[Callable[..., D], tuple[Any, ...]]:
        return Structural, (self.name,)

    def data(self) -> Hashable:
        return self.name

    def wired(self, b: Builder, x: Wires) -> Wires:
        fits = not self.pattern or (isinstance(x, tuple) and len(x) == 2)
        if fits and self.name.startswith("assoc"):
            inner = x[1] if self.name == "assoc_l" else x[0]
            fits = isinstance(inner, tuple) and len(inner) == 2
        if not fits:
            raise errors.SpaceError(errors.not_a_pattern(self.pattern, b.space(x), self))
        return self.move(x)

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return f"ct.{self.name}"


class Proj(D):
    """The projection to factor `index` of a product of any length."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index

    def data(self) -> Hashable:
        return self.index

    def wired(self, b: Builder, x: Wires) -> Wires:
        if not isinstance(x, tuple) or not 0 <= self.index < len(x):
            raise errors.SpaceError(errors.no_such_factor(self.index, b.space(x), self))
        return x[self.index]

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return f"ct.proj({self.index})"


@constructor()
def proj(index: int) -> D:
    """The projection to a factor of a product of any length, counted from 0.

    >>> import catad as ct
    >>> ct.proj(2)(1.0, 2.0, 3.0)
    np.float64(3.0)
    """
    return Proj(integer(index, "a projection", 0))


exl, exr, dup, swap = Structural("exl"), Structural("exr"), Structural("dup"), Structural("swap")
assoc_l, assoc_r, it = Structural("assoc_l"), Structural("assoc_r"), Structural("it")

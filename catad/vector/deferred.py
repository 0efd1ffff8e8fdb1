"""`Shaped`: the call of a constructor as a term, laid out by smaller boxes once the spaces are known."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from catad.category.terms import D
from catad.category.text import call
from catad.category.wiring import share
from catad.vector.folds.monoid import Monoid
from catad.vector.pointwise.map import function_code

if TYPE_CHECKING:
    from catad.category.wiring import Builder

Lay = Callable[["Builder", Any, Any], Any]  # of the builder, the wires of the argument, and the term


def linear(lay: Lay) -> Lay:
    """Decorator: what lays a term out by linear boxes, as which it is drawn."""
    vars(lay)["drawn_as"] = "linear"
    return lay


class Shaped(D):
    """A term that a public constructor makes of its parameters; `lay(builder, wires, term)` adds boxes and returns the results.

    Terms of one constructor with equal parameters are equal, and print as its call.
    """

    __slots__ = ("lay", "make", "parameters")

    def __init__(self, make: Callable[..., D], lay: Lay, **parameters: Any) -> None:
        self.make, self.lay, self.parameters = make, lay, parameters

    def data(self) -> Hashable:
        return (self.make.__module__, self.make.__name__, tuple([(k, repr(v)) for k, v in self.parameters.items()]))

    def lay_out(self, b: Builder, x: Any) -> Any:
        return self.lay(b, x, self)

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return call(self.make, name, **self.parameters)

    def recipe(self) -> tuple[Callable[..., D], tuple[Any, ...]]:
        return _made, (self.make, (), tuple(self.parameters.items()))


@share
class Named(D):
    """A public morphism without parameters, laid out as a `Shaped`: it prints as its name, by which its module has it."""

    __slots__ = ("lay", "name")

    def __init__(self, name: str, lay: Lay) -> None:
        self.name, self.lay = name, lay

    def data(self) -> str:
        return self.name

    def lay_out(self, b: Builder, x: Any) -> Any:
        return self.lay(b, x, self)

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return f"ct.{self.name}"

    def recipe(self) -> tuple[Callable[..., D], tuple[Any, ...]]:
        return _of_module, (self.lay.__module__, self.name.rpartition(".")[2])


@share
class OfOperator(Shaped):
    """The term that a constructor makes of an operator with its neutral element, and of parameters."""

    __slots__ = ("monoid",)

    def __init__(self, make: Callable[..., D], lay: Lay, monoid: Monoid, **parameters: Any) -> None:
        super().__init__(make, lay, **parameters)
        self.monoid = monoid

    def data(self) -> Hashable:
        return (self.monoid, super().data())

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        monoid = self.monoid
        if monoid.inverse is not None:
            return call(self.make, name, name(monoid, "monoid"), **self.parameters)
        operator = f"{function_code(monoid.op, name)}, {name(monoid.element, 'neutral')}"
        return call(self.make, name, operator, **self.parameters, params=monoid.free)

    def recipe(self) -> tuple[Callable[..., D], tuple[Any, ...]]:
        return _made, (self.make, (self.monoid,), tuple(self.parameters.items()))


def _of_module(module: str, name: str) -> D:
    term: D = getattr(import_module(module), name)
    return term


def _made(make: Callable[..., D], given: tuple[Any, ...], parameters: tuple[tuple[str, Any], ...]) -> D:
    return make(*given, **dict(parameters))

"""Primitives: the named boxes from which every term is composed."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform

import numpy as np

from catad import errors
from catad.spaces import Tensor, flatten
from catad.terms import D, above

if TYPE_CHECKING:
    from catad.wiring import Builder, Wire, Wires


class Primitive(D):
    """A term that is one box of a wiring: the named things from which all else is composed.

    A primitive says the spaces of its results (`typed`), its meaning on arrays (`evaluate`), its derivative (`rule`) and how
    it carries one more axis (`batched`). Leaves go in and come out flat.
    """

    __slots__ = ()
    if TYPE_CHECKING:  # the number of argument leaves, where it is fixed: an attribute or a property

        @property
        def arity(self) -> int | None: ...
    else:
        arity = None

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """The spaces of the results; raises `SpaceError` where the arguments do not fit."""
        raise NotImplementedError

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        """The meaning, as array code: an array for one result, a tuple of arrays for several."""
        raise NotImplementedError

    def kernel(self, ins: tuple[Tensor, ...]) -> Callable[..., Any]:
        """`evaluate`, made ready for arguments in these spaces."""
        return self.evaluate

    def check(self, xp: Any, *arrays: Any) -> None:
        """What is checked on the values of the first call only."""

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Any:
        """The derivative, a `linear.Rule`; None where it is zero."""
        raise NotImplementedError

    def pushed(
        self, b: Builder, ins: tuple[Wire, ...], tangents: Sequence[Wire | None]
    ) -> tuple[tuple[Wire, ...], list[Wire | None]] | None:
        """Results and their tangents, where laying both out together is cheaper than the box and then its rule; else None.

        `tangents` are those of the floating arguments, and those of the floating results are returned; None is zero.
        """
        return None

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        """Lay out the box mapped over a new leading axis that the flagged arguments and all results have."""
        raise NotImplementedError

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        """The multiply-adds (or other scalar operations) of one evaluation, dimensionless."""
        return 0

    def wired(self, b: Builder, x: Wires) -> Any:
        leaves = flatten(x)
        if self.arity is not None and len(leaves) != self.arity:
            raise errors.SpaceError(errors.wrong_leaf_count(self.arity, b.space(x), self))
        outs = b.add(self, *leaves)
        return outs[0] if len(outs) == 1 else outs


Running = Generator[tuple[Any, Sequence[Any]], list[Any], Any]  # yields programs with their arguments, is sent their results


class Nesting(Primitive):
    """A primitive that runs programs of its own: says which (`running`), so that programs within programs need no stack."""

    __slots__ = ()

    def running(self, xp: Any, *arrays: Any) -> Running:
        """The meaning, as a generator: it yields (program, leaves) and is sent the leaves of the result."""
        raise NotImplementedError

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        return above().finished(self.running(xp, *arrays), xp)


P = TypeVar("P", bound=Primitive)


@dataclass_transform(eq_default=False)
def box(cls: type[P]) -> type[P]:
    """Class decorator: a primitive whose parameters are dataclass fields, compared exactly (0.0 is not -0.0, 1 not True)."""
    made: Any = dataclass(eq=False, repr=False)(cls)
    names = [f.name for f in fields(made)]

    def data(self: Any) -> Hashable:
        found: Hashable = self.__dict__.get("_data")  # asked for at each comparison
        if found is None:
            found = self.__dict__["_data"] = tuple([_exact(getattr(self, n)) for n in names])
        return found

    if "data" not in cls.__dict__:
        made.data = data
    return made  # type: ignore[no-any-return]


def _exact(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple([_exact(v) for v in value])
    if isinstance(value, (bool, int, float, np.generic)):
        return (type(value).__name__, str(value))  # tells signed zeros and NaN apart from what they compare as
    return value

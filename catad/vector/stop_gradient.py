"""`stop_gradient`: a value passed on, as a constant to derivatives."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

from catad.category.boxes import box
from catad.category.spaces import Tensor, flatten, rebuild
from catad.category.terms import D
from catad.support.help import documented
from catad.vector.derivative_carriers import PassedOn

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire, Wires


@box
class Stopped(PassedOn):
    """One array, passed on without derivative; left out before running."""

    xs = 0
    arity = 1

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return ins

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> None:
        return None

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        return b.add(self, *ins)


class StopGradient(D):
    """`ct.stop_gradient` as a term."""

    __slots__ = ()

    def lay_out(self, b: Builder, x: Wires) -> Any:
        return rebuild(b.space(x), [b.add(Stopped(), wire)[0] for wire in flatten(x)])

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return "ct.stop_gradient"


class StoppedAt(D):
    """`ct.stop_gradient` of the flagged leaves of a value."""

    __slots__ = ("flags",)

    def __init__(self, flags: tuple[bool, ...]) -> None:
        self.flags = flags

    def data(self) -> Hashable:
        return self.flags

    def lay_out(self, b: Builder, x: Wires) -> Any:
        leaves = zip(flatten(x), self.flags, strict=True)
        return rebuild(b.space(x), [b.add(Stopped(), wire)[0] if flag else wire for wire, flag in leaves])

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return f"{name(StoppedAt, 'StoppedAt')}({self.flags!r})"


stop_gradient = documented(
    StopGradient(),
    """`ct.stop_gradient` passes a value on, whose derivative is then zero: derivatives see a constant.

Spaces: A -> A, for any space; shapes and dtypes stay, and it computes nothing.
Derivative: zero, in every order. So it is no smooth function, and a check by differences does not hold for it.
Errors: `SpaceError` for an argument that is no array, number or tuple of values.

>>> import catad as ct
>>> ct.value_and_grad(ct.fork(ct.id, ct.stop_gradient) >> ct.mul)(3.0)
(np.float64(9.0), np.float64(3.0))
""",
)

"""`stop_gradient`: a value passed on, as a constant to derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from catad.category.boxes import box, of_fields
from catad.category.spaces import Tensor, flatten, rebuild
from catad.category.terms import D
from catad.support.help import documented
from catad.vector.deferred import Named
from catad.vector.derivative_carriers import PassedOn

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wires


@box
class Stopped(PassedOn):
    """One array, passed on without derivative; left out before running."""

    xs = 0
    arity = 1

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> None:
        return None

    def carried(self, size: int) -> Stopped:
        return self


@of_fields
class StoppedAt(D):
    """`ct.stop_gradient` of the flagged leaves of a value."""

    flags: tuple[bool, ...]

    def lay_out(self, b: Builder, x: Wires) -> Any:
        leaves = zip(flatten(x), self.flags, strict=True)
        return rebuild(b.space(x), [b.add(Stopped(), wire)[0] if flag else wire for wire, flag in leaves])


stop_gradient = documented(
    Named("stop_gradient", lambda b, x, term: b.apply(StoppedAt((True,) * len(flatten(x))), x)),
    """`ct.stop_gradient` passes a value on, whose derivative is then zero: derivatives see a constant.

Spaces: A -> A, for any space; shapes and dtypes stay, and it computes nothing.
Derivative: zero, in every order. So it is no smooth function, and a check by differences does not hold for it.
Errors: `SpaceError` for an argument that is no array, number or tuple of values.

>>> import catad as ct
>>> ct.value_and_grad(ct.fork(ct.id, ct.stop_gradient) >> ct.mul)(3.0)
(np.float64(9.0), np.float64(3.0))
""",
)

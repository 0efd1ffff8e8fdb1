"""Any box mapped over a leading axis, one index after the other: the default of a primitive without `batched`.

    y[i] = f(x[i])        dy[i] = J(x[i]) dx[i]

The derivative is the structure of one index, `Batched`, with its coefficients laid out for all indices at once. So it is right
for every primitive that has a rule, however often it is mapped or differentiated, and as slow as the loop that it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from catad import errors
from catad.category.boxes import Primitive, box
from catad.category.spaces import Product, Tensor
from catad.category.wiring import Builder
from catad.linear.batch import depending, partly
from catad.linear.families.gather import spread_beside
from catad.linear.families.matrix_free import Batched, carried
from catad.linear.structure import Rule

if TYPE_CHECKING:
    from catad.category.wiring import Wire


@box
class OneByOne(Primitive):
    """`one` for each index of a leading axis of length `size`, which all arguments and all results have."""

    one: Primitive
    size: int

    @property
    def lasting(self) -> bool:
        return self.one.lasting

    @property
    def vectorized(self) -> bool:
        return self.one.vectorized

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tuple([carried(space, self.size) for space in self.one.typed(_of_one(ins))])

    def of_chunk(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> OneByOne:
        return OneByOne(self.one.of_chunk(_of_one(ins), _of_one(outs)), ins[0].shape[0])

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        if self.vectorized:
            return self.one.evaluate(xp, *arrays)
        return self.kernel(tuple([Tensor(a.shape, a.dtype) for a in arrays]))(xp, *arrays)

    def kernel(self, ins: tuple[Tensor, ...]) -> Callable[..., Any]:
        outs = self.typed(ins)
        if self.vectorized:
            return lambda xp, *arrays: _checked(self.one, self.one.evaluate(xp, *arrays), outs)
        one = self.one.kernel(_of_one(ins))

        def kernel(xp: Any, *arrays: Any) -> Any:
            results = [xp.empty(space.shape, dtype=space.dtype) for space in outs]
            for i in range(self.size):
                made = one(xp, *[a[i] for a in arrays])
                for result, part in zip(results, made if len(outs) > 1 else (made,), strict=True):
                    result[i] = part
            return results[0] if len(outs) == 1 else tuple(results)

        return kernel

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        return rule_of_lanes(self.one, ins, outs, (True,) * (len(ins) + len(outs)), self.size)

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return self.size * self.one.cost(_of_one(ins), _of_one(outs))


def rule_of_lanes(
    one: Primitive, ins: Sequence[Tensor], outs: Sequence[Tensor], flags: tuple[bool, ...], size: int
) -> Rule | None:
    """The rule of a box in each of some lanes, a leading axis of the flagged arguments and results."""
    spaces = [Tensor(s.shape[1:], s.dtype) if flag else s for s, flag in zip((*ins, *outs), flags, strict=True)]
    rule: Rule | None = one.rule(tuple(spaces[: len(ins)]), tuple(spaces[len(ins) :]))
    if rule is None:
        return None
    b = Builder()
    wires = tuple([b.wire(space) for space in spaces])
    slots = tuple(rule.coefficients(wires[: len(ins)], wires[len(ins) :]))
    wiring = b.finish(Product(spaces), wires, slots)
    varying = depending(wiring, flags)

    def coefficients(args: tuple[Wire, ...], results: tuple[Wire, ...]) -> Sequence[Wire]:
        return partly(args[0].builder, wiring, (*args, *results), flags, size)

    return Rule(Batched(rule.structure, tuple([k in varying for k in wiring.outputs]), size), coefficients, rule.by, rule.of)


def _checked(one: Primitive, given: Any, outs: tuple[Tensor, ...]) -> Any:
    """The results of a vectorized primitive for a batch, checked against the spaces that they must have."""
    found = tuple([Tensor(a.shape, a.dtype) for a in (given if isinstance(given, tuple) else (given,))])
    if found != outs:
        raise errors.ExtensionError(errors.not_vectorized(one, found, outs))
    return given


def _of_one(spaces: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return tuple([Tensor(space.shape[1:], space.dtype) for space in spaces])


def one_by_one(
    primitive: Primitive, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int
) -> tuple[Wire, ...]:
    """Lay out a box mapped over a new leading axis; arguments without the axis are the same at each index."""
    return b.add(primitive.carried(size) or OneByOne(primitive, size), *spread_beside(b, ins, flags, size))

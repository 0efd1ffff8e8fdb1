"""Loops that show how far they are: `progress=True` of `iterate`, `sweep` and `while_loop`.

One array of the state goes through a box at the start, at each step and at the end. The box hands it on and counts; the bar is
drawn elsewhere (`support/progress.py`). Its derivative is the identity, so steps of derivatives are not counted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from catad.category.boxes import Primitive, box, of_fields
from catad.category.spaces import Space, Tensor, flatten, rebuild
from catad.category.terms import D
from catad.category.wiring import wire
from catad.linear.families.delta import identity
from catad.linear.structure import Rule
from catad.support.progress import Steps

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wires

LOOPS = 64  # whose counts are kept
WIDE = 40  # characters of the name of a loop

_counts: dict[tuple[str, int], Steps] = {}


@box
class Ticked(Primitive):
    """An array, handed on; counts a step of a loop of `total` steps (0 where nobody knows), or begins or ends the count."""

    stage: Literal["begin", "step", "end"]
    loop: str
    total: int
    arity = 1
    chunks = "entries"

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return ins

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        key = self.loop, self.total
        if key not in _counts:
            if len(_counts) >= LOOPS:
                _counts.clear()
            _counts[key] = Steps(*key)
        getattr(_counts[key], self.stage)()
        return arrays[0].copy()

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        return Rule(identity(ins[0])) if ins[0].is_float else None

    def carried(self, size: int) -> Ticked:
        return self


@of_fields
class Ticking(D):
    """A step of a loop, whose k-th leaf counts on its way out."""

    f: D
    k: int
    loop: str
    total: int

    def lay_out(self, b: Builder, x: Wires) -> Any:
        return _ticked(b, b.apply(self.f, x), self.k, Ticked("step", self.loop, self.total))


def counted(
    b: Builder, x: Wires, word: str, f: D, dom: Space, state: Space, total: int, loop: Callable[[D], D]
) -> Any:
    """A loop on x that counts its steps: `loop` makes it of a step. x begins with the state, and so does the result; f is the
    step, on `dom`. A loop whose steps change nothing does not count."""
    wiring, leaves = wire(f, dom), state.leaves
    changed = [k for k in range(len(leaves)) if wiring.inputs[k] != wiring.outputs[k]]
    if not changed:
        return b.apply(loop(f), x)
    k = min(changed, key=lambda k: (not leaves[k].is_float, leaves[k].nbytes))
    text = " ".join(repr(f).split())
    name = f"{word}({text if len(text) <= WIDE else text[: WIDE - 3] + '...'})"
    start = _ticked(b, x, k, Ticked("begin", name, total))
    return _ticked(b, b.apply(loop(Ticking(f, k, name, total)), start), k, Ticked("end", name, total))


def _ticked(b: Builder, x: Wires, k: int, tick: Ticked) -> Any:
    """The same wires, the k-th through a box that counts."""
    leaves = [b.add(tick, one)[0] if i == k else one for i, one in enumerate(flatten(x))]
    return rebuild(b.space(x), leaves)

"""The operator on pairs of tangent and value: forward mode of a scan as one scan, without Jacobians.

    T[op]((da, a), (db, b)) = ((d op / d left)(a, b) da + (d op / d right)(a, b) db, op(a, b))        T[scan op] = scan T[op]

T is a functor, so T[op] is associative where `op` is associative on a neighbourhood. At a kink the choice of a branch may
depend on the bracketing, so pairs serve only operators whose derivative is continuous. They give the same numbers as the
recurrence of the derivative rule. The cheaper of the two runs; `scan_work` and `linear_work` count both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from catad import scalar
from catad.category.spaces import Product, Tensor
from catad.category.wiring import Builder, Wiring
from catad.linear.families.recurrence import ZERO, Grid, Recurred
from catad.linear.families.reindex import StridedCopy
from catad.linear.structure import Rule
from catad.scalar import Function, Node
from catad.scalar.duals import Forward
from catad.support.lru import remembered
from catad.vector.folds.monoid import Monoid

_NAMES = (
    "add sub mul div neg pos float fma exp exp2 expm1 log log2 log10 log1p sqrt cbrt sin cos tan asin acos atan "
    "sinh cosh tanh sech asinh acosh atanh sigmoid erf erfc gamma lgamma digamma polygamma"
)
SMOOTH = frozenset(_NAMES.split())
"""Operations whose derivative is continuous wherever it is finite."""


class Pairs(NamedTuple):
    """T[op] on elements (tangents..., numbers...), and which numbers of an element have a tangent.

    Its free numbers are those of the operator, and then the tangents of those that have one. An operator lifted to segments
    keeps its flag first: (starts here, tangents..., numbers...); `first` counts what comes before the tangents.
    """

    monoid: Monoid
    live: tuple[int, ...]
    first: int = 0


@remembered
def pairs(monoid: Monoid, moved: tuple[int, ...]) -> Pairs | None:
    """T[op], where the arguments `moved` have a tangent: numbers of an element, counted on through the free numbers.

    A number of a prefix has one as soon as it depends on one that has. None where one stays zero all the same.
    """
    d = monoid.width
    if monoid.lifts is not None:
        from catad.vector.bins.sorted_bins import segmented

        found_ = pairs(monoid.lifts, tuple([k - 1 for k in moved]))
        return None if found_ is None else Pairs(segmented(found_.monoid), tuple([k + 1 for k in found_.live]), 1)
    live = tuple([k for k in moved if k < d])
    free = tuple([k - d for k in moved if k >= d])
    while True:
        values, tangents = _pushed(monoid, live, free)
        found = {k for k, t in enumerate(tangents) if t is not None}
        if found <= set(live):
            break
        live = tuple(sorted(found | set(live)))
    outputs = [t for k in live if (t := tangents[k]) is not None]
    if len(outputs) < len(live):
        return None
    tree = (None,) * (len(live) + d)
    count = monoid.free + len(free)
    trees = (tree, tree, *[None] * count)
    op = Function.make(2 * len(tree) + count, [*outputs, *values], tree, trees, f"tangent of {monoid.op.name or 'op'}")
    return Pairs(Monoid(op, (*[0.0] * len(live), *monoid.neutral), tree, None, count, None, monoid), live)


def _pushed(monoid: Monoid, live: Sequence[int], free: Sequence[int]) -> tuple[list[Node], list[Node | None]]:
    """The numbers of `op(a, b)` and their tangents, over elements (tangents..., numbers...) and free numbers."""
    d, m = monoid.width, len(live)
    w, param = m + d, scalar.param
    place = {param(side * d + k): param(side * w + m + k) for side in (0, 1) for k in range(d)}
    place |= {param(2 * d + j): param(2 * w + j) for j in range(monoid.free)}
    seeds: dict[Node, tuple[Node | None, ...]] = dict.fromkeys(place, (None,))
    seeds |= {param(side * d + k): (param(side * w + i),) for side in (0, 1) for i, k in enumerate(live)}
    seeds |= {param(2 * d + j): (param(2 * w + monoid.free + i),) for i, j in enumerate(free)}
    sweep = Forward(1, seeds, place)
    sweep.run(monoid.op.outputs)
    return [sweep.values[out] for out in monoid.op.outputs], [sweep.tangents[out][0] for out in monoid.op.outputs]


@remembered
def smooth(op: Function, floats: frozenset[int]) -> bool:
    """True where the derivative by the given parameters is continuous: no branch, kink or loop depends on one of them."""
    moving: dict[Node, bool] = {}
    for node in scalar.postorder(op.outputs):
        at = [moving[arg] for arg in node.args]
        moving[node] = any(at) or (node.op == "param" and node.value in floats)
        if not any(at) or node.op in SMOOTH:
            continue
        chosen = node.op == "select" and not at[0]
        power = node.op == "pow" and node.args[1].op == "const"
        if not chosen and not power:
            return False
    return True


def cheaper_pairs(
    monoid: Monoid, rule: Callable[..., Rule | None], ins: tuple[Tensor, ...], moved: tuple[int, ...]
) -> Pairs | None:
    """The pairs by which forward mode scans, where the arguments `moved` have a tangent; None where it does by the rule.

    `rule` is the derivative rule of the scan, `ins` are the spaces of its arguments.
    """
    d = monoid.width
    floats = [k for k, space in enumerate(ins) if space.is_float]
    numbers = [k for k in floats if k < d]
    if len(numbers) < 2 or not smooth(monoid.op, frozenset((*numbers, *[d + k for k in floats]))):
        return None
    found, by_rule = pairs(monoid, moved), rule(ins, ins[:d])
    if found is None or by_rule is None or not _closed(found, ins, moved):
        return None
    size = ins[0].size
    work = scan_work(monoid.op, size) + linear_work(by_rule, moved, ins, ins[:d])
    return found if scan_work(found.monoid.op, size) <= work else None


def _closed(found: Pairs, ins: tuple[Tensor, ...], moved: tuple[int, ...]) -> bool:
    """True where tangents come out in the dtypes of their numbers."""
    d = found.monoid.width - len(found.live)
    element = [space.dtype for space in (*ins[: found.first], *[ins[k] for k in found.live], *ins[found.first : d])]
    free = [ins[k].dtype for k in (*range(d, len(ins)), *[k for k in moved if k >= d])]
    return scalar.result_types(found.monoid.op, (*element, *element, *free)) == tuple(element)


def scan_work(op: Function, size: int) -> int:
    """The operations of a scan: joining neighbours applies the operator about twice for each element."""
    return 2 * scalar.operations(op) * size


def linear_work(rule: Rule, moved: Sequence[int], ins: Sequence[Tensor], outs: Sequence[Tensor]) -> int:
    """The operations of making a rule's coefficients and applying it where the arguments `moved` have a tangent.

    Moves count by what they write.
    """
    b = Builder()
    xs, ys = tuple([b.wire(s) for s in ins]), tuple([b.wire(s) for s in outs])
    tangents = [b.wire(s) if k in moved else None for k, s in enumerate(ins) if s.is_float]
    made = rule.structure.apply(b, rule.coefficients(xs, ys), tangents)
    results = tuple([y for y in made if y is not None])
    given = (*xs, *ys, *[t for t in tangents if t is not None])
    return _work(b.finish(Product(tuple([w.space for w in given])), given, results))


def _work(wiring: Wiring) -> int:
    total = 0
    for box in wiring.boxes:
        size = wiring.wires[box.outs[0]].size
        if isinstance(box.primitive, Recurred):
            laid = len(box.outs) if box.primitive.copies > 1 else 0  # copies are laid side by side first
            total += (joining(box.primitive.grid, box.primitive.copies) + laid) * size
        elif isinstance(box.primitive, StridedCopy):
            total += size
        else:
            total += box.primitive.cost(wiring.spaces(box.ins), wiring.spaces(box.outs))
    return total


def joining(grid: Grid, copies: int) -> int:
    """The operations of a recurrence for each step: composing two links once, and applying one to each copy twice.

    Where nothing is 0 or 1 by structure they are d^2 (2 d - 1), and 4 d^2 for each copy.
    """
    d = range(len(grid))
    composed = 0
    for r in d:
        for c in d:
            terms = [(grid[r][k], grid[k][c]) for k in d if grid[r][k] != ZERO and grid[k][c] != ZERO]
            composed += sum(a >= 0 and e >= 0 for a, e in terms) + max(len(terms) - 1, 0)
    applied = sum((entry != ZERO) + (entry >= 0) for row in grid for entry in row)
    return composed + 2 * copies * applied

"""A basis through the whole map: the rival of all plans that multiply its factors, priced before it is laid out.

Pushing the columns of the identity through a map as it stands, or pulling its rows back, takes as many applications as there
are columns (rows), or colours where the pattern of the entries is known; all at once, so each box is launched once. Its
result holds one entry for each place, no matter how many paths lead there. Products that keep their structure may have more
terms; the basis then replaces the plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from catad.linear.apply import applying
from catad.linear.matrix.as_matrix import DENSE_LIMIT
from catad.linear.matrix.patterns import pattern_of
from catad.linear.structure import Structure, widest
from catad.planner.chains.brackets import PULL, PUSH
from catad.planner.chains.execute import fresh_numbers
from catad.planner.chains.factors import Part, Work, leaf, work_of, write_out
from catad.planner.chains.pushes import is_compressed
from catad.planner.costs.cost import Model, identity_on, of_function
from catad.planner.costs.cost_profile import CostProfile
from catad.support.lru import remembered

BOTH = (PUSH, PULL)
MANY = 4  # times as many vectors: no cheaper


class Basis(NamedTuple):
    """The cheaper way to write a map out, and what it costs."""

    value: float
    how: int  # PUSH or PULL
    use: float  # what applying the result once costs
    stored: int  # numbers of the result
    compiled: float  # the value where the program runs as one function: without a launch for each box


def written(structure: Structure, model: Model, hows: Sequence[int] = BOTH) -> Basis | None:
    """The cheaper way to write a map out by a basis; None where its dense form would be too large for that."""
    if not structure.dom or not structure.cod:
        return None
    found = [(*values, how) for how in _short(structure, hows) if (values := _values(structure, how, model)) is not None]
    if not found:
        return None
    value, compiled, how = min(found)
    pattern = pattern_of(structure) if is_compressed(structure) else None
    stored = structure.rows * (structure.columns if pattern is None else pattern.colours)
    work = ("matmul", len(structure.dom) * len(structure.cod), stored * widest(*structure.cod).itemsize, stored)
    return Basis(value, how, _used((work,), model), stored, compiled)


def _short(structure: Structure, hows: Sequence[int]) -> Sequence[int]:
    """The ways that may be the cheaper one: not that of many more vectors, unless colours make them few."""
    for how, own, other in ((PUSH, structure.columns, structure.rows), (PULL, structure.rows, structure.columns)):
        if how in hows and MANY * own <= other and not is_compressed(structure):
            return (how,)
    return hows


def use_of(structure: Structure, model: Model) -> float:
    """The cost of applying a map once; nothing by a function that knows products only."""
    return _used(_work(structure, 0), model)


def _used(work: Sequence[Work], model: Model) -> float:
    return _amount(work, model) if model is None or isinstance(model, CostProfile) else 0.0


def array_of(structure: Structure, model: Model) -> Basis | None:
    """The cheaper way to write a result out as one array; None where it is one, or would be too large."""
    return None if structure.is_full else written(structure, model)


def is_larger(structure: Structure) -> bool:
    """True where a map stores more numbers than its dense form has."""
    return structure.stored > structure.rows * structure.columns


@remembered
def _values(structure: Structure, how: int, model: Model) -> tuple[float, float] | None:
    """What a basis costs, with a launch for each box and without; None where the dense form is too large."""
    if not is_compressed(structure) and structure.rows * structure.columns > DENSE_LIMIT:
        return None
    if model is not None and not isinstance(model, CostProfile):
        first, second = identity_on(structure.dom), structure
        said = of_function(model, structure, identity_on(structure.cod)) if how == PULL else of_function(model, first, second)
        return said, said
    work: Sequence[Work]
    if is_compressed(structure):  # reading the entries off takes boxes of its own
        state = leaf(Part(structure, tuple(range(len(structure.slots)))))
        actions = write_out(state, how == PULL, fresh_numbers()).actions
        work = [line for action in actions for line in action.found.work]
    else:
        work = _work(structure.T if how == PULL else structure, len(structure.dom))
    return _amount(work, model), _amount([(name, 0, nbytes, operations) for name, _, nbytes, operations in work], model)


def _amount(work: Sequence[Work], model: Model) -> float:
    if isinstance(model, CostProfile):
        return model.seconds(work)
    return sum([line[3] for line in work])


@remembered
def _work(structure: Structure, times: int) -> tuple[Work, ...]:
    """The work of applying a map: once, with 0 `times`; else to a basis that comes in so many arrays.

    Work that does not depend on the vectors is done once.
    """
    wiring, _ = applying(structure)
    count = structure.columns if times else 1
    moved = set(wiring.inputs[len(structure.slots) :])
    lines: list[Work] = []
    for primitive, ins, outs in wiring.boxes:
        if moved.isdisjoint(ins):
            lines += work_of([(primitive, wiring.spaces(ins), wiring.spaces(outs))]) if ins else ()
            continue
        moved.update(outs)
        fixed = sum([wiring.wires[k].nbytes for k in ins if k not in moved])
        for name, launches, nbytes, operations in work_of([(primitive, wiring.spaces(ins), wiring.spaces(outs))]):
            lines.append((name, launches * max(1, times), max(0, nbytes - fixed) * count + fixed, operations * count))
    return tuple(lines)

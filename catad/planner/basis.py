"""A basis through the whole map: the rival of all plans that multiply its factors, priced before it is laid out.

Pushing the columns of the identity through a map as it stands, or pulling its rows back, takes as many applications as there
are columns (rows), or colours where the pattern of the entries is known; all at once, so each box is launched once. Its
result holds one entry for each place, no matter how many paths lead there. Products that keep their structure may have more
terms; the basis then replaces the plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from catad.linear.apply import applying
from catad.linear.as_matrix import DENSE_LIMIT
from catad.linear.patterns import pattern_of
from catad.linear.structure import Structure, widest
from catad.planner.brackets import PULL, PUSH
from catad.planner.cost import Model, identity_on, of_function, value_of
from catad.planner.cost_profile import CostProfile
from catad.planner.execute import fresh_numbers
from catad.planner.factors import Part, Work, leaf, work_of, write_out
from catad.planner.pushes import is_compressed

BOTH = (PUSH, PULL)


class Basis(NamedTuple):
    """The cheaper way to write a map out, and what it costs."""

    value: float
    how: int  # PUSH or PULL
    use: float  # what applying the result once costs
    stored: int  # numbers of the result


def written(structure: Structure, model: Model, hows: Sequence[int] = BOTH) -> Basis | None:
    """The cheaper way to write a map out by a basis; None where its dense form would be too large for that."""
    if not structure.dom or not structure.cod:
        return None
    found = [(value, how) for how in hows if (value := _value(structure, how, model)) is not None]
    if not found:
        return None
    pattern = pattern_of(structure) if is_compressed(structure) else None
    stored = structure.rows * (structure.columns if pattern is None else pattern.colours)
    work = ("matmul", len(structure.dom) * len(structure.cod), stored * widest(*structure.cod).itemsize, stored)
    return Basis(*min(found), _used((work,), model), stored)


def use_of(structure: Structure, model: Model) -> float:
    """The cost of applying a map once; nothing by a function that knows products only."""
    return _used(_work(structure, 0), model)


def _used(work: Sequence[Work], model: Model) -> float:
    return _amount(work, model) if model is None or isinstance(model, CostProfile) else 0.0


def is_larger(structure: Structure) -> bool:
    """True where a map stores more numbers than its dense form has."""
    return structure.stored > structure.rows * structure.columns


@lru_cache(maxsize=4096)
def _value(structure: Structure, how: int, model: Model) -> float | None:
    if not is_compressed(structure) and structure.rows * structure.columns > DENSE_LIMIT:
        return None
    if model is not None and not isinstance(model, CostProfile):
        first, second = identity_on(structure.dom), structure
        return of_function(model, structure, identity_on(structure.cod)) if how == PULL else of_function(model, first, second)
    if is_compressed(structure):  # reading the entries off takes boxes of its own
        state = leaf(Part(structure, tuple(range(len(structure.slots)))))
        return value_of(write_out(state, how == PULL, fresh_numbers()).actions, model)
    return _amount(_work(structure.T if how == PULL else structure, len(structure.dom)), model)


def _amount(work: Sequence[Work], model: Model) -> float:
    if isinstance(model, CostProfile):
        return model.seconds(work)
    return sum([line[3] for line in work])


@lru_cache(maxsize=4096)
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

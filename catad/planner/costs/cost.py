"""The cost of a plan, and the check of sizes and costs that users give."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from catad import errors
from catad.category.spaces import Tensor
from catad.linear.families.block import grid
from catad.linear.families.delta import delta, identity
from catad.linear.structure import Structure
from catad.planner.chains.factors import Action
from catad.planner.costs.cost_profile import CostProfile

CostFunction = Callable[[Structure, Structure], float]
Model = CostFunction | CostProfile | None  # None: operations


class Cost(NamedTuple):
    """The cost of a plan.

    `operations`: scalar operations, a multiply-add counting as one (dimensionless); `bytes`: read and written by the
    products; `peak`: the most bytes of slots alive at a time, those of all factors included; `value`: what was made
    smallest, by the cost model: operations, seconds, or what the given function says.
    """

    operations: int
    bytes: int
    peak: int
    value: float


def preference(made: Any) -> tuple[float, int]:
    """By what the better of two plans is chosen, the smaller one: what the cost model says, and then the peak."""
    return made.value, made.peak


REMEMBERED = 4096  # costs that functions have said

_said: OrderedDict[tuple[CostFunction, Structure, Structure], float] = OrderedDict()


def counted(operations: int) -> Cost:
    """The cost of what is known by its operations only."""
    return Cost(operations, 0, 0, operations)


def value_of(actions: Iterable[Action], model: Model) -> float:
    """The cost of some products: their operations, their seconds by a cost profile, or what the user's function says.

    A map that is written out is for the function the product of a basis, the identity, and the map, on the side where it stands;
    sums cost nothing by it.
    """
    if model is None:
        return sum(action.found.operations for action in actions)
    if isinstance(model, CostProfile):
        return sum(model.seconds(action.found.work) for action in actions)
    total = 0.0
    for action in actions:
        if action.adds:
            continue
        first, second = action.left.structure, action.right.structure
        if not action.is_product:
            first, second = (first, identity_on(first.cod)) if action.backwards else (identity_on(first.dom), first)
        total += of_function(model, first, second)
    return total


def of_function(model: CostFunction, first: Structure, second: Structure) -> float:
    """What a user's function says of a product; raises `PlanError` where that is no cost, or another one than before."""
    try:
        value = model(first, second)
    except errors.CatadError:
        raise
    except Exception as error:
        raise errors.PlanError(errors.cost_raised(error, first, second)) from error
    if not is_amount(value):
        raise errors.PlanError(errors.bad_cost(value, first, second))
    key = model, first, second
    try:
        known = _said.setdefault(key, float(value))
    except TypeError:  # a function that has no hash
        return float(value)
    _said.move_to_end(key)
    while len(_said) > REMEMBERED:
        _said.popitem(last=False)
    if known != value:
        del _said[key]
        raise errors.PlanError(errors.cost_contradicts(known, value, first, second))
    return known


def amount(value: float, model: Model, unit: str = "") -> str:
    """A value of a cost model: operations with their unit, seconds in the one that suits them, given ones to six digits."""
    if model is None:
        return f"{value:,} {unit}".rstrip()
    if not isinstance(model, CostProfile):
        return f"{value:.6g} by the given cost"
    for size, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if value >= size:
            return f"{value / size:.3g} {name}"
    return f"{value / 1e-9:.3g} ns"


def identity_on(leaves: Sequence[Tensor]) -> Structure:
    """The identity, whose columns are the unit vectors."""
    parts = [identity(leaf) for leaf in leaves]
    return grid([[part if r == c else None for c, part in enumerate(parts)] for r in range(len(parts))], leaves, leaves)


def moved(actions: Iterable[Action]) -> int:
    """The bytes that some products read and write; one that only renames axes or passes arrays on moves none."""
    return sum(action.found.read + sum(action.found.computed) for action in actions if action.found.computed)


def is_amount(value: Any) -> bool:
    """True where a value is a number at least 0 (infinity is one: never do this)."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        return False
    return bool(value >= 0)  # not so for NaN


def short_of_memory(limit: Any, least: int, exact: bool) -> errors.PlanError:
    """The error that says that no plan fits, and the least that would do; `least_of` reads that again."""
    error = errors.PlanError(errors.too_little_memory(limit, least, exact))
    vars(error)["least"] = least
    return error


def least_of(error: errors.PlanError) -> int | None:
    """The least memory that would do, in bytes, where that is what an error is about."""
    found: int | None = vars(error).get("least")
    return found


def checked_limit(value: Any, name: str, positive: bool = False) -> Any:
    """A limit that a user gives: None, or a number at least 0, or above it."""
    if value is not None and not (is_amount(value) and (value > 0 or not positive)):
        raise errors.PlanError(errors.bad_limit(name, value, positive))
    return value


def matrix(size: Any, k: int) -> Structure:
    """The dense map of a matrix with `size` = (rows, columns), factor `k` of a chain."""
    if len(size) != 2:
        raise errors.PlanError(errors.bad_size(size, k))
    sizes: list[int] = []
    for n in size:
        if not is_amount(n) or math.isinf(n) or n != int(n):
            raise errors.PlanError(errors.bad_size(size, k))
        sizes.append(int(n))
    f64 = np.dtype(np.float64)
    return delta((0,), (1,), (0, 1), sizes, f64, f64, f64)

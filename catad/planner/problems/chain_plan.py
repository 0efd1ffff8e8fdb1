"""Jacobian chains known by their sizes alone: products of accumulated factors beside tangents and adjoints that need none.

Factor i is m_i x n_i, is applied before factor i + 1 (so n_{i+1} = m_i), and costs e_i operations for one tangent or adjoint,
which is also what an adjoint keeps on tape. With f(i, j) the least cost of the product of factors i to j,

    f(j, j) = e_j min(n_j, m_j)
    f(i, j) = min over k of  f(i, k) + f(k + 1, j) + m_j m_k n_i          multiply two accumulated parts,
                             f(i, k) + n_i (e_{k+1} + ... + e_j)          push the columns of the first through tangents,
                             f(k + 1, j) + m_j (e_i + ... + e_k)          pull the rows of the second through adjoints,

adjoints only where their tape fits. (U. Naumann, Optimization of generalized Jacobian chain products without memory
constraints, 2020; for plain matrices S. Godbole, 1973.)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from catad import errors
from catad.planner.costs.cost import Cost, checked_limit, counted
from catad.planner.plan import Plan
from catad.planner.request import Request
from catad.planner.strategy import REJECTED, Records, Strategy, times

Sizes = tuple[int, int, int]  # of a factor: rows, columns, and what one tangent or adjoint takes
MULTIPLY, TANGENT, ADJOINT = "multiply", "tangent", "adjoint"
HOW = (MULTIPLY, TANGENT, ADJOINT)


@dataclass(frozen=True)
class SweepStep:
    """One step: what is done, which factors it spans (first, last), and what it costs; a product also says where it splits."""

    how: str
    first: int
    last: int
    operations: int
    split: int | None = None

    @property
    def line(self) -> str:
        """`adjoint 0 to 1, split after 0, 4,500 operations`."""
        split = "" if self.split is None else f", split after {self.split}"
        return f"{self.how} {self.first} to {self.last}{split}, {self.operations:,} operations"


Chosen = tuple[str, int, int, int | None]  # how a part is done, its first and last factor, and after which it splits


@dataclass(frozen=True, kw_only=True)
class Sweeps(Strategy):
    """The way of each part of a chain that is known by its sizes: multiplied, or swept by tangents or adjoints.

    `beside` has the operations of the rivals: one tangent or adjoint sweep for each column or row of the whole ("forward" and
    "reverse"), and every factor accumulated and then multiplied ("products").
    """

    kind = "steps"
    columns = ()
    factors: tuple[Sizes, ...]
    memory: float | None
    chosen: tuple[Chosen, ...]
    beside: tuple[tuple[str, int], ...]

    @property
    def choice(self) -> tuple[Chosen, ...]:
        return self.chosen

    @cached_property
    def steps(self) -> tuple[SweepStep, ...]:
        return tuple([SweepStep(how, i, j, _spent(self.factors, how, i, j, k), k) for how, i, j, k in self.choice])

    @property
    def cost(self) -> Cost:
        return counted(sum([step.operations for step in self.steps]))

    @property
    def subject(self) -> str:
        return f"R^{self.factors[0][1]} -> R^{self.factors[-1][0]}, {times(len(self.factors), 'factor')}"

    def rivals(self) -> Mapping[str, Cost]:
        return {name: counted(value) for name, value in self.beside}

    def records(self) -> Records:
        return Records(
            "factors", [{"factor": k, "rows": m, "columns": n, "edges": e} for k, (m, n, e) in enumerate(self.factors)]
        )

    def read(self, choice: Any) -> tuple[Chosen, ...]:
        return checked_steps(choice, self.factors, self.memory)

    def edited(self, choice: Any, request: Request) -> Sweeps:
        made = replace(self, chosen=self.read(choice), mode="by hand")
        return replace(made, exact=made.cost.value == self.bound)

    def why(self, step: int, request: Request) -> str:
        """The least costs of a part, done in each way and split after each of its factors."""
        chosen = self.steps[step]
        i, j = chosen.first, chosen.last
        m, n, e = zip(*self.factors, strict=True)
        value, _, _ = _table(m, n, e, self.memory)
        found = []
        for how, k in product(HOW if i < j else HOW[1:], range(i, j) if i < j else [None]):
            if not _taped(self.factors, how, i, j, k) <= (math.inf if self.memory is None else self.memory):
                continue
            below = sum([int(value[part]) for part in _below(how, i, j, k)])
            mark = "chosen" if (how, k) == (chosen.how, chosen.split) else "rejected"
            split = "" if k is None else f", split after {k}"
            found.append((below + _spent(self.factors, how, i, j, k), f"{how}{split}: at best", mark))
        lines = [f"  {text} {spent:,} operations, {mark}" for spent, text, mark in sorted(found)[: REJECTED + 1]]
        return "\n".join([f"step {step}: factors {i} to {j}", *lines])


def _below(how: str, i: int, j: int, k: int | None) -> list[tuple[int, int]]:
    """The parts that are done before a part."""
    if k is None:
        return []
    return {MULTIPLY: [(i, k), (k + 1, j)], TANGENT: [(i, k)], ADJOINT: [(k + 1, j)]}[how]


def _swept(factors: Sequence[Sizes], how: str, i: int, j: int, k: int | None) -> int:
    """The work of one sweep of a part that is swept."""
    first, last = (i, j) if k is None else (k + 1, j) if how == TANGENT else (i, k)
    return sum([edges for _, _, edges in factors[first : last + 1]])


def _taped(factors: Sequence[Sizes], how: str, i: int, j: int, k: int | None) -> int:
    """The memory that a part keeps on tape."""
    return _swept(factors, how, i, j, k) if how == ADJOINT else 0


def _spent(factors: Sequence[Sizes], how: str, i: int, j: int, k: int | None) -> int:
    """The work of a part, where those below it are done."""
    rows, columns = factors[j][0], factors[i][1]
    if how == MULTIPLY:
        assert k is not None
        return rows * factors[k][0] * columns
    return (columns if how == TANGENT else rows) * _swept(factors, how, i, j, k)


def checked_steps(choice: Any, factors: Sequence[Sizes], memory: float | None) -> tuple[Chosen, ...]:
    """Steps of which each finds done what it needs, the last being the whole; raises `PlanError` naming the place."""
    if not isinstance(choice, (list, tuple)):
        raise errors.PlanError(errors.bad_field("steps", choice, "a list of [how, first, last, split]"))
    done: set[tuple[int, int]] = set()
    found: list[Chosen] = []
    for s, step in enumerate(choice):
        if not isinstance(step, (list, tuple)) or len(step) != 4 or step[0] not in HOW:
            raise errors.PlanError(errors.bad_field(f"steps[{s}]", step, f"[how, first, last, split], how being one of {HOW}"))
        how, i, j, k = step
        whole = [i, j, *([] if k is None else [k])]
        if not all(_is_size(n, 2) and n < len(factors) for n in whole) or not (i == j if k is None else i <= k < j):
            raise errors.PlanError(errors.bad_field(f"steps[{s}]", step, "first <= split < last, or one factor and no split"))
        if (k is None and how == MULTIPLY) or not done.issuperset(_below(how, i, j, k)):
            raise errors.PlanError(errors.bad_field(f"steps[{s}]", step, f"{_below(how, i, j, k)} done by the steps before"))
        if memory is not None and _taped(factors, how, i, j, k) > memory:
            raise errors.PlanError(errors.too_little_memory(memory, _taped(factors, how, i, j, k), False))
        done.add((i, j))
        found.append((how, i, j, k))
    if (0, len(factors) - 1) not in done:
        raise errors.PlanError(errors.bad_field("steps", choice, "a last step for all factors"))
    return tuple(found)


def plan_chain(chain: Sequence[Sequence[int]], memory: float | None = None) -> Plan:
    """The cheapest plan for a Jacobian chain known by its sizes: (rows, columns, edges), in the order of application.

    `edges` is what one tangent or one adjoint through the factor costs, in operations, and what an adjoint keeps.

    `memory` limits the tape of an adjoint, in edges; None is no limit. Some plan always fits: tangents keep nothing. Raises
    `PlanError` for an invalid factor, for neighbours that do not meet, and for a limit below 0.

    >>> import catad as ct
    >>> ct.plan_chain([(8, 4, 70), (2, 8, 90), (6, 2, 50)])
    <plan R^4 -> R^6, 3 factors: 468 operations (reverse 1,260, forward 840), optimal>
    """
    factors = checked_chain(chain)
    checked_limit(memory, "memory")
    m, n, e = zip(*factors, strict=True)
    value, how, split = _table(m, n, e, memory)
    products = sum([_alone(*factor, memory)[0] for factor in factors]) + matrix_chain([factor[:2] for factor in factors])
    beside = (("forward", n[0] * sum(e)), ("reverse", m[-1] * sum(e)), ("products", products))
    choice = _steps(factors, memory, how, split)
    made = Sweeps(factors=factors, memory=memory, chosen=choice, beside=beside, exact=True, bound=int(value[0, -1]))
    return Plan(made, Request(memory=memory))


def matrix_chain(sizes: Sequence[tuple[int, int]]) -> int:
    """The least number of multiplications for a product of matrices (rows, columns), the one applied first first.

    >>> matrix_chain([(20, 25), (10, 20), (5, 10), (15, 5), (35, 15), (30, 35)])
    15125
    """
    m, n = zip(*sizes, strict=True)
    value, _, _ = _table(m, n, [0] * len(m), None, products=True)
    return int(value[0, -1])


def checked_chain(chain: Sequence[Sequence[int]]) -> tuple[Sizes, ...]:
    """The factors of a chain, each checked, and that neighbours meet."""
    factors: list[Sizes] = []
    if not isinstance(chain, Iterable):
        raise errors.PlanError(errors.no_chain(chain))
    for k, factor in enumerate(chain):
        if (
            not isinstance(factor, Sequence)
            or len(factor) != 3
            or not all(_is_size(size, j) for j, size in enumerate(factor))
        ):
            raise errors.PlanError(errors.bad_bare_factor(factor, k))
        factors.append((int(factor[0]), int(factor[1]), int(factor[2])))
        if k and factors[k - 1][0] != factors[k][1]:
            given, taken = f"R^{factors[k - 1][0]}", f"R^{factors[k][1]}"
            raise errors.PlanError(errors.factors_do_not_meet(k - 1, given, k, taken))
    if not factors:
        raise errors.PlanError(errors.not_plannable(chain))
    return tuple(factors)


def _is_size(size: object, j: int) -> bool:
    return isinstance(size, (int, np.integer)) and not isinstance(size, bool) and bool(size >= (1 if j < 2 else 0))


def _alone(m: int, n: int, e: int, memory: float | None) -> tuple[int, str]:
    """The cost of accumulating one factor, and whether by tangents or adjoints."""
    tangent, adjoint = (e * n, TANGENT), (e * m, ADJOINT)
    return tangent if n <= m or (memory is not None and e > memory) else adjoint


def _table(
    m: Sequence[int], n: Sequence[int], e: Sequence[int], memory: float | None, products: bool = False
) -> tuple[Any, Any, Any]:
    """f, and for each pair (i, j) which of the three ways is best and after which k it splits; one diagonal at a time."""
    q = len(m)
    never = max(n) * sum(e) + max(m) * max(m) * max(n) * q + 1  # more than the best way to any part
    exact = np.int64 if 4 * (never + max(m) * sum(e)) < 1 << 62 else object  # Python's integers where 64 bits are too few
    rows, columns = np.array(m, exact), np.array(n, exact)
    tape = np.array([0, *np.cumsum(np.array(e, exact))], exact)
    value, how, split = np.zeros((q, q), exact), np.zeros((q, q), np.int8), np.zeros((q, q), np.int64)
    for factor in range(q):
        value[factor, factor] = _alone(m[factor], n[factor], e[factor], memory)[0]
    for width in range(1, q):
        i = np.arange(q - width)[:, None]
        j, k = i + width, i + np.arange(width)[None, :]
        first, second = value[i, k], value[k + 1, j]
        ways = [first + second + rows[j] * rows[k] * columns[i]]
        if not products:
            ways.append(first + columns[i] * (tape[j + 1] - tape[k + 1]))
            kept = tape[k + 1] - tape[i]
            pulled = second + rows[j] * kept
            ways.append(pulled if memory is None else np.where(kept <= memory, pulled, never))
        flat = np.stack(ways, axis=1).reshape(q - width, -1)
        best = (
            np.argmin(flat, axis=1) if exact is np.int64 else np.array([min(range(len(r)), key=r.__getitem__) for r in flat])
        )
        i, j = i[:, 0], j[:, 0]
        value[i, j], how[i, j], split[i, j] = flat[i, best], best // width, i + best % width
    return value, how, split


def _steps(factors: Sequence[Sizes], memory: float | None, how: Any, split: Any) -> tuple[Chosen, ...]:
    """The steps in an order in which they can be carried out."""
    found: list[Chosen] = []
    stack = [(0, len(factors) - 1)]
    while stack:
        i, j = stack.pop()
        if i == j:
            found.append((_alone(*factors[i], memory)[1], i, i, None))
            continue
        k, way = int(split[i, j]), HOW[how[i, j]]
        found.append((way, i, j, k))
        stack += _below(way, i, j, k)
    return tuple(reversed(found))

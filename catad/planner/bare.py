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

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from catad import errors

MULTIPLY, TANGENT, ADJOINT = "multiply", "tangent", "adjoint"
HOW = (MULTIPLY, TANGENT, ADJOINT)


@dataclass(frozen=True)
class ChainStep:
    """One step: what is done, which factors it spans (first, last), and what it costs; a product also says where it splits."""

    how: str
    first: int
    last: int
    cost: int
    split: int | None = None


@dataclass(frozen=True)
class ChainPlan:
    """The cheapest way to a Jacobian of a chain known by its sizes; made by `ct.plan` of triples (rows, columns, edges).

    Costs are operations. `tangent` and `adjoint` are those of one sweep for each column or row of the whole; `accumulated` that
    of accumulating every factor and then multiplying, of which `matrix_chain` is the products.
    """

    chain: tuple[tuple[int, int, int], ...]
    memory: int | None
    cost: int
    tangent: int
    adjoint: int
    accumulated: int
    matrix_chain: int
    steps: tuple[ChainStep, ...]

    def explain(self) -> str:
        """One line on the plan and its rivals."""
        n, m = self.chain[0][1], self.chain[-1][0]
        factors = "1 factor" if len(self.chain) == 1 else f"{len(self.chain)} factors"
        rivals = f"reverse {self.adjoint:,}, forward {self.tangent:,}"
        return f"R^{n} -> R^{m}, {factors}: {self.cost:,} operations ({rivals}), optimal"

    def table(self) -> str:
        """The plan beside its rivals, then one line for each step."""
        rows = [("planned", self.cost), ("forward", self.tangent), ("reverse", self.adjoint), ("products", self.accumulated)]
        lines = [f"{name:<10}{cost:>20,}" for name, cost in rows]
        for k, step in enumerate(self.steps):
            split = "" if step.split is None else f", split after {step.split}"
            lines.append(f"step {k}: {step.how} {step.first} to {step.last}{split}, {step.cost:,} operations")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<plan {self.explain()}>"


def plan_chain(chain: Sequence[Sequence[int]], memory: float | None = None) -> ChainPlan:
    """The cheapest plan for a Jacobian chain known by its sizes: (rows, columns, edges), the factor applied first first.

    `edges` is what one tangent or one adjoint through the factor costs, in operations, and what an adjoint keeps.

    `memory` limits the tape of an adjoint, in edges; None is no limit. Some plan always fits: tangents keep nothing. Raises
    `PlanError` for an invalid factor, for neighbours that do not meet, and for a limit below 0.

    >>> import catad as ct
    >>> ct.plan_chain([(8, 4, 70), (2, 8, 90), (6, 2, 50)])
    <plan R^4 -> R^6, 3 factors: 468 operations (reverse 1,260, forward 840), optimal>
    """
    factors = checked_chain(chain)
    if memory is not None and (isinstance(memory, bool) or not isinstance(memory, (int, float)) or not memory >= 0):
        raise errors.PlanError(errors.bad_limit("memory", memory))
    m, n, e = zip(*factors, strict=True)
    value, how, split = _table(m, n, e, memory)
    total, last = sum(e), len(factors) - 1
    products = matrix_chain([factor[:2] for factor in factors])
    first = sum([_alone(*factor, memory)[0] for factor in factors])
    steps = _steps(factors, memory, value, how, split)
    limit = None if memory is None else int(min(memory, total))
    return ChainPlan(
        factors,
        limit,
        int(value[0, last]),
        n[0] * total,
        m[-1] * total,
        first + products,
        products,
        steps,
    )


def matrix_chain(sizes: Sequence[tuple[int, int]]) -> int:
    """The least number of multiplications for a product of matrices (rows, columns), the one applied first first.

    >>> matrix_chain([(20, 25), (10, 20), (5, 10), (15, 5), (35, 15), (30, 35)])
    15125
    """
    m, n = zip(*sizes, strict=True)
    value, _, _ = _table(m, n, [0] * len(m), None, products=True)
    return int(value[0, -1])


def checked_chain(chain: Sequence[Sequence[int]]) -> tuple[tuple[int, int, int], ...]:
    """The factors of a chain, each checked, and that neighbours meet."""
    factors: list[tuple[int, int, int]] = []
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
    """What accumulating one factor costs, and by which of tangents and adjoints."""
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


def _steps(
    factors: Sequence[tuple[int, int, int]], memory: float | None, value: Any, how: Any, split: Any
) -> tuple[ChainStep, ...]:
    """The steps in an order in which they can be carried out."""
    found: list[ChainStep] = []
    stack = [(0, len(factors) - 1)]
    while stack:
        i, j = stack.pop()
        if i == j:
            cost, way = _alone(*factors[i], memory)
            found.append(ChainStep(way, i, i, cost))
            continue
        k, way = int(split[i, j]), HOW[how[i, j]]
        parts = {MULTIPLY: [(i, k), (k + 1, j)], TANGENT: [(i, k)], ADJOINT: [(k + 1, j)]}[way]
        found.append(ChainStep(way, i, j, int(value[i, j]) - sum([int(value[part]) for part in parts]), k))
        stack += parts
    return tuple(reversed(found))

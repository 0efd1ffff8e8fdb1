"""Bare chains, matrix-free vector graphs, typed edges and checkpoints against brute force."""

from __future__ import annotations

import random
from functools import cache

import pytest

import catad as ct
from catad.planner.heuristics import Work
from catad.planner.problems.chain_plan import matrix_chain
from catad.planner.problems.faces import Edge, Faces, matrix_free
from catad.planner.problems.typed import COPY, Scalar, Tables, TypedEdge, TypedGraph, plan_typed

from .graphs import eliminated, random_case

Factor = tuple[int, int, int]


def random_chain(seed: int, length: int) -> list[Factor]:
    rng = random.Random(seed)
    sizes = [rng.randint(1, 9) for _ in range(length + 1)]
    return [(sizes[k + 1], sizes[k], rng.randint(0, 60)) for k in range(length)]


def cheapest_chain(chain: list[Factor], limit: int | None) -> int:
    """The least cost of all ways, by carrying out every sequence of steps on the list of parts (rows, columns, tape or None)."""

    @cache
    def of(parts: tuple[tuple[int, int, int | None], ...]) -> int:
        if len(parts) == 1 and parts[0][2] is None:
            return 0
        ways = []
        for k, (m, n, e) in enumerate(parts):
            if e is not None:
                done = (*parts[:k], (m, n, None), *parts[k + 1 :])
                ways.append(e * n + of(done))
                if limit is None or e <= limit:
                    ways.append(e * m + of(done))
            if k + 1 == len(parts):
                break
            rows, columns, other = parts[k + 1]

            def joined(tape: int | None, k: int = k, rows: int = rows, n: int = n) -> int:
                return of((*parts[:k], (rows, n, tape), *parts[k + 2 :]))

            if e is None and other is None:
                ways.append(rows * columns * n + joined(None))
            elif e is None and other is not None:
                ways.append(n * other + joined(None))
            elif e is not None and other is None and (limit is None or e <= limit):
                ways.append(rows * e + joined(None))
            elif e is not None and other is not None:
                ways.append(joined(e + other))  # one program after the other
        return min(ways)

    return of(tuple(chain))


@pytest.mark.parametrize("seed", range(25))
def test_chains_against_every_sequence_of_steps(seed: int) -> None:
    chain = random_chain(seed, 1 + seed % 5)
    for limit in (None, 0, 15, 60):
        plan = ct.plan_chain(chain, limit)
        assert plan.cost.operations == cheapest_chain(chain, limit) == sum([step.operations for step in plan.steps])
        for step in plan.steps:
            tape = sum([chain[k][2] for k in range(step.first, (step.last if step.split is None else step.split) + 1)])
            assert step.how != "adjoint" or limit is None or tape <= limit


def test_chains_too_large_for_64_bits() -> None:
    chain = [(10**9, 10**9, 10**12), (10**9, 10**9, 10**12), (3, 10**9, 10**12)]
    assert ct.plan_chain(chain).cost.operations == cheapest_chain(chain, None) == 3 * 3 * 10**12


def test_matrix_chains() -> None:
    for seed in range(10):
        sizes = [factor[:2] for factor in random_chain(seed, 5)]
        assert matrix_chain(sizes) == ct.plan(sizes, cost="operations").cost.operations


def test_a_chain_tells_its_rivals() -> None:
    plan = ct.plan_chain([(2, 3, 10), (4, 2, 20)])
    rivals = [plan.rows[name].operations for name in ("forward", "reverse", "products")]
    assert rivals == [3 * 30, 4 * 30, 2 * 10 + 2 * 20 + 24]
    line = "R^3 -> R^4, 2 factors: 80 operations (reverse 120, forward 90), optimal"
    assert plan.explain().splitlines() == [line, *plan.table().splitlines()[5:]] and repr(plan) == f"<plan {line}>"
    assert plan.strategy.choice == (("adjoint", 0, 0, None), ("tangent", 0, 1, 0))
    assert "step 1: tangent 0 to 1, split after 0, 60 operations" in plan.table()


def test_a_chain_is_edited_and_read_again() -> None:
    plan = ct.plan_chain([(2, 3, 10), (4, 2, 20)], memory=15)
    products = plan.edited([("adjoint", 0, 0, None), ("tangent", 1, 1, None), ("multiply", 0, 1, 0)])
    assert (products.cost.operations, products.mode, products.exact) == (20 + 40 + 24, "by hand", False)
    for one in (plan, products):
        assert ct.Plan.from_json(one.to_json(), plan) == one
    why = products.why(2).splitlines()
    assert why[0] == "step 2: factors 0 to 1" and why[1:] == [
        "  adjoint, split after 0: at best 80 operations, rejected",
        "  tangent, split after 0: at best 80 operations, rejected",
        "  multiply, split after 0: at best 84 operations, chosen",
    ]
    with pytest.raises(ct.PlanError, match="this plan has no picture"):
        plan.draw()
    with pytest.raises(ct.PlanError, match="has no maps"):
        _ = plan.result
    with pytest.raises(ct.PlanError, match="of another kind"):
        _ = plan.order


@pytest.mark.parametrize(
    ("steps", "part"),
    [
        (3, "a list of"),
        ([("push", 0, 0, None)], "steps[0]"),
        ([("tangent", 0, 2, 0)], "first <= split < last"),
        ([("multiply", 0, 1, 0)], "done by the steps before"),
        ([("multiply", 0, 0, None)], "done by the steps before"),
        ([("adjoint", 1, 1, None)], "no plan fits into the memory"),
        ([("adjoint", 0, 0, None)], "a last step for all factors"),
    ],
)
def test_edits_of_a_chain_that_do_not_fit(steps: object, part: str) -> None:
    with pytest.raises(ct.PlanError) as caught:
        ct.plan_chain([(2, 3, 10), (4, 2, 20)], memory=15).edited(steps)
    assert part in str(caught.value)


@pytest.mark.parametrize(
    ("chain", "memory", "part"),
    [
        ([(2, 3, 1), (4, 5, 1)], None, "factor 0 gives R^2, factor 1 takes R^5"),
        ([(2, 3)], None, "factor 0"),
        ([(2, 0, 1)], None, "at least 1"),
        ([(2, 3, -1)], None, "factor 0"),
        ([], None, "this cannot be planned"),
        ([(2, 3, 1)], -1, "memory=-1"),
        ([(2, 3, 1)], float("nan"), "memory=nan"),
    ],
)
def test_bad_chains(chain: list[Factor], memory: float | None, part: str) -> None:
    with pytest.raises(ct.PlanError) as caught:
        ct.plan_chain(chain, memory)
    assert part in str(caught.value)


def by_faces(sizes: list[int], edges: list[Edge], ends: set[int]) -> int:
    """The least cost that face elimination finds."""
    faces = Faces(sizes, edges, sum([1 << v for v in ends]))
    return matrix_free(faces, Work(1e9), 1 << 60).cost


@pytest.mark.parametrize("seed", range(12))
def test_matrix_free_paths_are_matrix_free_chains(seed: int) -> None:
    """On a path the faces give what the chain gives."""
    chain = random_chain(seed, 1 + seed % 4)
    sizes = [chain[0][1], *[m for m, _, _ in chain]]
    edges = [Edge(k, k + 1, e, e) for k, (_, _, e) in enumerate(chain)]
    assert by_faces(sizes, edges, {0, len(chain)}) == ct.plan_chain(chain).cost.operations


def test_matrix_free_without_programs_is_elimination() -> None:
    """Where every edge has its Jacobian, faces cost at most what vertices do, and here the same."""
    for seed in range(8):
        case = random_case(seed, 3, ends=2, weighted=True)
        edges = [Edge(a, b, 0, 0, False) for a, b in sorted(case.edges) if a not in case.outputs]
        graph = ct.Graph([edge[:2] for edge in edges], case.inputs, case.outputs, case.sizes)
        case.edges = {edge[:2] for edge in edges}
        plan = ct.plan_graph(graph)
        assert plan.cost.operations == eliminated(case, plan.order)[0]
        assert by_faces(case.sizes, edges, case.stay) <= plan.cost.operations


def test_matrix_free_search_says_when_it_gave_up() -> None:
    rng = random.Random(0)
    sizes = [rng.randint(1, 9) for _ in range(7)]
    edges = [Edge(a, b, rng.randint(1, 50), rng.randint(1, 50)) for a in range(6) for b in range(a + 1, min(a + 3, 7))]
    given_up = matrix_free(Faces(sizes, edges, 0b1000001), Work(30), 10**6)
    assert not given_up.optimal and given_up.cost == 10**6
    further = matrix_free(Faces(sizes, edges, 0b1000001), Work(9000), 10**6)
    assert further.cost < 10**6 and not further.optimal


def typed(case_edges: set[tuple[int, int]], n: int, copies: set[tuple[int, int]]) -> TypedGraph:
    edges = {edge: TypedEdge(COPY if edge in copies else 1, (1, 1), (1, 1)) for edge in case_edges}
    return TypedGraph(n, edges, Scalar())


@pytest.mark.parametrize("seed", range(10))
def test_typed_edges_without_types_cost_as_scalar_ones(seed: int) -> None:
    case = random_case(seed, 8)
    graph = typed(case.edges, len(case.sizes), set())
    order = case.inner[:]
    random.Random(seed).shuffle(order)
    assert graph.costs(order) == eliminated(case, order)[0]
    plain = ct.plan_graph(case.graph)
    made = plan_typed(graph, [v for v in case.graph.topological() if v in case.inner], Work(8000), random.Random(0))
    assert (made.forward, made.reverse, made.markowitz) == tuple(
        [plain.rows[name].operations for name in ("forward", "reverse", "Markowitz")]
    )
    assert plain.cost.operations <= made.cost == graph.costs(made.order)
    assert sorted(made.order) == case.inner


def test_copies_are_free_until_they_meet_a_number() -> None:
    path = {(0, 1), (1, 2), (2, 3)}
    assert typed(path, 4, {(0, 1)}).costs([1, 2]) == 1
    assert typed(path, 4, {(0, 1), (1, 2)}).costs([1, 2]) == 0
    diamond = {(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)}
    assert typed(diamond, 5, {(0, 1), (1, 3)}).costs([1, 2, 3]) == 2
    assert typed(diamond, 5, {(0, 1), (1, 3)}).costs([3, 1, 2]) == 1 + 0 + 1


def test_tables_choose_the_sizes_that_count() -> None:
    """Two types: 0 is dense, 1 has one size of its own left out; absent sizes are negative."""
    dense, sparse = 0, 1
    every = ((1, 1), (1, 1))
    active = (every, every, every, every, every, ((1, 0), (0, 0)))
    tables = Tables(active, ((0, 1), (1, 1)), ((0, 0), (0, 1)), 0)
    first, second = TypedEdge(dense, (2, 3), (5, 7)), TypedEdge(dense, (11, 13), (2, 3))
    assert tables.product(first, second)[1] == TypedEdge(dense, (11, 13), (5, 7))
    graph = TypedGraph(3, {(0, 1): first, (1, 2): second._replace(kind=sparse)}, tables)
    assert graph.costs([1]) == 11 * 13 * 2 * 3 * 5
    assert tables.sum(first, second._replace(kind=sparse)).kind == dense

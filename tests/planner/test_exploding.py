"""Products that would have more terms than the dense matrix has entries: plans give way to a basis, and store no more than it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.planner.chains import search
from catad.planner.chains.basis import is_larger
from catad.planner.chains.factors import multiplied
from catad.planner.costs.cost_profile import CostProfile, Rates
from catad.planner.plan import forget

from ..experiments import experiment

programs = experiment("small_matrices")

CASES = {
    "2 rotations": programs.prefixes(2),
    "8 rotations": programs.prefixes(8),
    "12 rotations": programs.prefixes(12),
    "hand": programs.hand(20, fingers=2, joints=3),
}
SECONDS = CostProfile("example", (("others", Rates(1e-6, 1e-9, 1e-9)),))
MODES = ("auto", "forward", "reverse")


@pytest.fixture(autouse=True)
def planned_anew() -> None:
    forget()
    multiplied.cache_clear()


def by_columns(f: ct.D, x: Any) -> Any:
    """The Jacobian, a jvp for each column."""
    columns = [ct.jvp(f, (x,), (unit,))[1] for unit in np.eye(len(x))]
    return np.stack(columns, axis=-1)


@pytest.mark.quick(3)
@pytest.mark.parametrize(("name", "engine"), [*[(name, "reference") for name in CASES], ("2 rotations", "cpu")])
def test_the_jacobian_is_right_and_no_larger_than_dense(name: str, engine: str) -> None:
    f, x = CASES[name]
    with ct.use_engine(engine):
        expected = by_columns(f, x)
        for mode in MODES:
            L = ct.jacobian(f, mode)(x)
            assert L.stored <= L.shape[0] * L.shape[1]
            np.testing.assert_allclose(L.todense(), expected, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(L.tocsr().toarray(), expected.reshape(L.shape), rtol=1e-12, atol=1e-12)
        for L in (ct.linearize(f, x)[1], ct.jacobian(f, "elimination")(x)):
            np.testing.assert_allclose(L.todense(), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("cost", ["operations", SECONDS], ids=["operations", "seconds"])
def test_a_plan_costs_no_more_than_the_cheaper_basis(name: str, cost: Any) -> None:
    """By operations and by seconds; a basis is priced before it is laid out, within a twentieth of what it costs then."""
    f, x = CASES[name]
    plan = ct.plan(f, x, cost=cost)
    rivals = [plan.edited([way, "all"]) for way in ("push", "pull")]
    assert plan.cost.value <= 1.05 * min(rival.cost.value for rival in rivals)
    assert not is_larger(plan.result)


@pytest.mark.parametrize("name", CASES)
def test_little_is_looked_at_to_find_it(name: str) -> None:
    """Products of structures that were looked at: a few for each factor, not one for each path through the program."""
    f, x = CASES[name]
    before = multiplied.cache_info().misses
    plan = ct.plan(f, x)
    assert multiplied.cache_info().misses - before <= 30 * len(plan.factors) + 100


def test_slots_of_nested_products_are_laid_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Boxes that are asked for while all prefix products are multiplied from the left: they grow as the products do."""
    from catad.category.wiring import Builder

    asked = [0]
    plain = Builder.add

    def counted(self: Any, *args: Any) -> Any:
        asked[0] += 1
        return plain(self, *args)

    monkeypatch.setattr(Builder, "add", counted)
    monkeypatch.setattr(search, "TRACED", (10**9, 0))
    counts = []
    for n in (3, 6):
        f, x = programs.prefixes(n)
        _, L = ct.linearize(f, x)
        asked[0] = 0
        made = ct.plan(L, mode="forward", cost="operations")
        counts.append(asked[0])
        np.testing.assert_allclose(made.multiply(L).todense(), by_columns(f, x), rtol=1e-12, atol=1e-12)
    assert counts[1] <= 2**4 * counts[0]  # the terms of all products grow with the third power of n


def test_a_basis_through_all_factors_is_a_plan_like_others() -> None:
    f, x = CASES["8 rotations"]
    plan = ct.plan(f, x)
    assert plan.bracketing in (("push", "all"), ("pull", "all"))
    again = ct.Plan.from_json(plan.to_json(), f, x)
    assert again.bracketing == plan.bracketing and again.cost == plan.cost
    for way in ("push", "pull"):
        edited = plan.edited([way, "all"])
        assert edited.bracketing == (way, "all")
        np.testing.assert_allclose(edited.run(x).todense(), by_columns(f, x), rtol=1e-12, atol=1e-12)
    assert "written out" in plan.explain() and "<svg" in plan.draw() and "written out" in plan.why(0)
    with pytest.raises(ct.PlanError):
        plan.edited([["push", "all"], 1])


def test_what_is_sparse_stays_so() -> None:
    """A basis is no rival where the structure says more than it."""
    f = ct.iterate(ct.stencil(lambda a, b, c: b + 0.1 * (a - 2.0 * b + c) * b, (-1, 0, 1)), 3)
    x = np.linspace(0.0, 1.0, 3000)
    matrix = ct.linearize(f, x)[1].tocsr()
    assert matrix.nnz <= 7 * 3000
    L = ct.jacobian(ct.stencil(lambda a, b: a * b, (-1, 1)) >> ct.sin)(x)
    assert L.stored <= 4 * 3000


@pytest.mark.parametrize("name", ["8 rotations", "hand"])
def test_the_dense_form_keeps_its_program(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    f, x = CASES[name]
    from catad.category.wiring import Builder

    _, L = ct.linearize(f, x)
    first = L.todense(), L.tocsr()
    monkeypatch.setattr(Builder, "__init__", None)  # nothing is laid out again
    again = L.todense(), L.tocsr()
    np.testing.assert_array_equal(first[0], again[0])
    np.testing.assert_array_equal(first[1].toarray(), again[1].toarray())


def test_the_dense_form_is_multiplied_out_where_that_is_cheaper() -> None:
    """Three numbers between two wide layers: the product of two factors, not a basis of a thousand through both."""
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape) for shape in ((600, 600), (600, 600), (3, 600), (600, 3))]
    structures = [ct.linear.dense(array) for array in arrays]
    L = structures[0] >> structures[1] >> structures[2] >> structures[3]
    with ct.count() as counted:
        found = L.todense()
    expected = arrays[3] @ (arrays[2] @ arrays[1] @ arrays[0])
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert counted.operations <= 2 * (3 * 600 * 600) + 600 * 600 * 3 + 600 * 600


def test_the_experiment_prints_what_it_measures(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["small_matrices.py", "--sizes", "2", "--points", "4"])
    with ct.use_engine("reference"):
        programs.main()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 and all("stored" in line and "difference" in line for line in lines)

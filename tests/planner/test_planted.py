"""Bugs that would be silent, planted one by one: the check that stands for each of them fails, and without the bug it holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.category import cache
from catad.category.terms import D
from catad.linear.matrix import as_matrix
from catad.planner.chains import factors, pushes
from catad.planner.memory import memory_limit
from catad.planner.memory.liveness import peak_of
from catad.planner.memory.memory_limit import counted, stages_of
from catad.planner.memory.schedule import Stage, price
from catad.planner.plan import forget, plan
from catad.support import lru


@pytest.fixture(autouse=True)
def planned_anew() -> Any:
    """Nothing that a bug has made stays."""

    def clear() -> None:
        forget()
        lru.forget()
        cache.forget()

    clear()
    yield clear
    clear()


def holds(check: Callable[[], bool]) -> bool:
    """Whether a check holds; one that cannot be carried out does not."""
    try:
        return check()
    except (AssertionError, IndexError, KeyError, ValueError, ct.CatadError):
        return False


# -- a basis plan that forgets zero leaves


def a_basis_is_the_jacobian() -> bool:
    """A program whose first result does not depend on its first argument: some leaves of the columns are zero."""
    rotation = ct.fork(ct.sin, ct.cos) >> ct.mul
    f = ct.fork(ct.exr >> rotation, ct.mul, ct.exl >> ct.exp)
    x, y = np.array([0.1, 0.2]), np.array([1.0, 2.0])
    expected = [np.concatenate(ct.jvp(f, (x, y), (e[:2], e[2:]))[1]) for e in np.eye(4)]
    forget()
    planned = plan(ct.linearize(f, x, y)[1])
    found = [planned.edited([how, "all"]).multiply(ct.linearize(f, x, y)[1]).todense() for how in ("push", "pull")]
    return all(np.allclose(matrix, np.stack(expected, axis=-1), rtol=1e-12) for matrix in found)


def test_a_basis_that_forgets_zero_leaves(monkeypatch: pytest.MonkeyPatch, planned_anew: Any) -> None:
    assert holds(a_basis_is_the_jacobian)
    plain = pushes.applying

    def forgetful(structure: Any, flags: Any = None) -> Any:
        wiring, made = plain(structure, flags)
        return wiring, tuple([True] * len(made))

    monkeypatch.setattr(pushes, "applying", forgetful)
    planned_anew()
    assert not holds(a_basis_is_the_jacobian)


# -- a kept program of `todense` that is used for another dtype


def dense_forms_have_their_dtype() -> bool:
    """The same map of single and of double numbers, one after the other, in both orders."""
    f = ct.iterate(ct.fork(ct.tanh, ct.flip()) >> ct.add, 3) >> ct.pad(1, 2) >> ct.iterate(ct.sin, 2) >> ct.slice(0, 5)
    found = []
    for dtype in (np.float64, np.float32, np.float64):
        x = np.linspace(0.5, 1.5, 5, dtype=dtype)
        with ct.use_engine("cpu"):
            matrix = ct.linearize(f, x)[1].todense()
        columns_ = np.stack([np.asarray(ct.jvp(f, (x,), (e.astype(dtype),))[1]) for e in np.eye(5)], axis=-1)
        found.append(matrix.dtype == dtype and np.allclose(matrix, columns_, rtol=1e-6))
    return all(found)


def test_a_dense_form_kept_for_another_dtype(monkeypatch: pytest.MonkeyPatch) -> None:
    assert holds(dense_forms_have_their_dtype)
    kept: dict[Any, Any] = {}
    plain = as_matrix._written_out

    def by_shape(structure: Any, shape: Any) -> Any:
        return kept.setdefault((structure.kind, shape), plain(structure, shape))

    monkeypatch.setattr(as_matrix, "_written_out", by_shape)
    assert not holds(dense_forms_have_their_dtype)


# -- a formula and the boxes of one pair apart


def formulas_are_what_boxes_take() -> bool:
    """The operations that plans predict beside those that their programs carry out."""
    rng = np.random.default_rng(0)
    sizes = [(4, 3), (5, 4), (2, 5)]
    chain = [ct.linear.dense(rng.standard_normal(size)) for size in sizes]
    ends = [ct.scale(rng.standard_normal(3)), *chain]
    for maps in (chain, chain[:2], ends):
        planned = plan(maps)
        with ct.count() as spent:
            planned.multiply(maps)
        predicted = sum([action.found.operations for action in actions_of(planned)])
        if not spent.operations == planned.cost.operations == predicted:
            return False
    return True


def actions_of(planned: ct.Plan) -> list[Any]:
    """The products of a bracketing, as the search has priced them."""
    from catad.planner.chains.execute import trace

    traced = trace(planned.chain, planned.strategy.tree)  # type: ignore[attr-defined]
    return [action for joined in traced.joins for action in joined.actions]


def test_a_formula_that_is_not_what_boxes_take(monkeypatch: pytest.MonkeyPatch, planned_anew: Any) -> None:
    assert holds(formulas_are_what_boxes_take)
    plain = factors._of_dense

    def other(*given: Any) -> Any:
        made = plain(*given)
        return made._replace(operations=made.operations + given[1].columns)  # one row too many

    monkeypatch.setattr(factors, "_of_dense", other)
    planned_anew()
    assert not holds(formulas_are_what_boxes_take)


# -- a tape counted without its input


def stages_count_their_input() -> bool:
    """Six stages whose pullback reads their argument, `x -> x^2`: their peak is at least what the program is counted to need."""
    dom = ct.f64[1000]
    f = ct.compose(*[ct.square >> ct.scan(lambda a, b: a + b, 0.0) >> ct.map(lambda x: 0.001 * x)] * 6) >> ct.sum()
    found = stages_of(f, dom, None).stages
    taped = [stage.tape for stage in found if stage.tape]
    return taped == [8000] * 6 and price(found, ()).peak >= counted(f, dom, ()).peak == peak_of(ct.grad(f), dom)


def test_a_tape_that_is_counted_without_its_input(monkeypatch: pytest.MonkeyPatch, planned_anew: Any) -> None:
    assert holds(stages_count_their_input)
    plain = memory_limit._stage

    def short(f: D, dom: Any, cod: Any, profile: Any, first: bool) -> Stage:
        made = plain(f, dom, cod, profile, first)
        return made._replace(tape=made.tape - made.input, taped=made.taped - made.input)

    monkeypatch.setattr(memory_limit, "_stage", short)
    planned_anew()
    assert not holds(stages_count_their_input)

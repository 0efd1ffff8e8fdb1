"""One factorisation serves the value, the gradient and the products with the Hessian."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import catad as ct
from catad.category.wiring import wire

N, W = ct.f64[6], ct.f64[3, 6]
CASES = {
    "dense": (ct.linalg.solve(), ct.product(ct.f64[6, 6], N)),
    "pos": (ct.linalg.solve("pos"), ct.product(ct.f64[6, 6], N)),
    "three diagonals": (ct.linalg.solve_banded((1, 1)), ct.product(W, N)),
    "bands": (ct.linalg.solve_banded((2, 0)), ct.product(W, N)),
    "positive bands": (ct.linalg.solveh_banded(True), ct.product(W, N)),
    "a linear map": (ct.function(lambda d, b: ct.linear.dense(d).solve(b)), ct.product(ct.f64[6, 6], N)),
    "a map and its transpose": (
        ct.function(lambda d, b: ct.linear.inverse(ct.linear.dense(d)).T(ct.linear.inverse(ct.linear.dense(d))(b))),
        ct.product(ct.f64[6, 6], N),
    ),
}


def counted(term: Any, space: Any) -> Counter[str]:
    return Counter(type(box.primitive).__name__ for box in wire(term, space).boxes)


@pytest.mark.parametrize("name", CASES)
def test_one_factorisation(name: str) -> None:
    solve, space = CASES[name]
    f = solve >> ct.square >> ct.sum()
    everything = ct.fork(ct.exl >> ct.value_and_grad(f), ct.tangent(ct.grad(f)))
    found = counted(everything, ct.product(space, space))
    assert found["Factor"] == 1 and found["Solved"] >= 4


def test_a_vmapped_right_hand_side_shares_the_factors() -> None:
    solve = ct.linalg.solve_banded((1, 1))
    f = ct.function(lambda ab, many: ct.vmap(solve, in_axes=(None, 0))(ab, many))
    found = counted(f, ct.product(W, ct.f64[5, 6]))
    assert found["Factor"] == found["Solved"] == 1

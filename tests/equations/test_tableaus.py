"""The numbers of Runge-Kutta methods: order conditions, and measured orders."""

from __future__ import annotations

import numpy as np
import pytest

import catad as ct
from catad.equations.ode.tableaus import TABLEAUS, Tableau

NUMBER = {1: 1, 2: 2, 3: 4, 4: 8, 5: 17}  # of the conditions up to an order


def conditions(own: Tableau, b: np.ndarray) -> list[float]:
    """What must be zero up to order 5, a condition for each rooted tree; slope at the end of the step included."""
    n = len(own.b) + 1
    a = np.zeros((n, n))
    for i, row in enumerate([*own.a, own.b]):
        a[i + 1, : len(row)] = row
    c = np.array([*own.c, 1.0])
    assert np.allclose(a.sum(axis=1), c, atol=1e-14)
    return [
        b.sum() - 1, b @ c - 1 / 2, b @ c**2 - 1 / 3, b @ a @ c - 1 / 6,
        b @ c**3 - 1 / 4, (b * c) @ a @ c - 1 / 8, b @ a @ c**2 - 1 / 12, b @ a @ a @ c - 1 / 24,
        b @ c**4 - 1 / 5, (b * c**2) @ a @ c - 1 / 10, b @ (a @ c) ** 2 - 1 / 20, (b * c) @ a @ c**2 - 1 / 15,
        b @ a @ c**3 - 1 / 20, (b * c) @ a @ a @ c - 1 / 30, b @ a @ (c * (a @ c)) - 1 / 40, b @ a @ a @ c**2 - 1 / 60,
        b @ a @ a @ a @ c - 1 / 120,
    ]  # fmt: skip


@pytest.mark.parametrize("own", TABLEAUS.values(), ids=list(TABLEAUS))
def test_order_conditions(own: Tableau) -> None:
    b = np.array([*own.b, 0.0])
    assert np.abs(conditions(own, b)[: NUMBER[own.order]]).max() < 3e-15
    if own.order < 5:
        assert np.abs(conditions(own, b)[: NUMBER[own.order + 1]]).max() > 1e-3
    if own.e:
        less = b - np.array([*own.e, *[0.0] * (len(b) - len(own.e))])
        assert np.abs(conditions(own, less)[: NUMBER[own.error_order]]).max() < 3e-15
        assert np.abs(conditions(own, less)[: NUMBER[own.error_order + 1]]).max() > 1e-4


@pytest.mark.parametrize("name", TABLEAUS)
def test_measured_order(name: str) -> None:
    errors = []
    counts = (40, 80) if TABLEAUS[name].order > 1 else (160, 320)
    for n in counts:
        f = ct.odeint(lambda t, y: np.stack([y[1], -y[0]]), method=name, steps=n)
        made = f(np.array([0.0, 1.0]), np.array([0.0, 2.0]))
        errors.append(np.abs(made[-1] - [np.sin(2.0), np.cos(2.0)]).max())
    assert abs(np.log2(errors[0] / errors[1]) - TABLEAUS[name].order) < 0.15


@pytest.mark.parametrize("name", ["bosh3", "dopri5", "tsit5"])
def test_dense_output_has_the_order_of_the_solution(name: str) -> None:
    """One step of length h, and its values within: the error is of order 4 or 5."""
    found = []
    for h in (0.4, 0.2):
        ts = np.array([0.0, 0.3 * h, 0.7 * h, h])
        made = ct.odeint(lambda t, y: np.stack([y[1], -y[0]]), np.array([0.0, 1.0]), ts, method=name, first_step=h, rtol=1e3)
        found.append(np.abs(made[1:3] - np.stack([np.sin(ts), np.cos(ts)], axis=1)[1:3]).max())
    assert np.log2(found[0] / found[1]) > (3.8 if name == "bosh3" else 4.8)

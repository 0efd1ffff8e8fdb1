"""`square`, `exp` and `withDerivative` of the source, by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from example_support import example

import catad as ct

by_hand = example("by_hand")


@pytest.mark.parametrize("x", [-2.0, 0.0, 0.5, 3.0])
def test_values_and_derivatives(x: float) -> None:
    assert by_hand.withDerivative(by_hand.square, x) == (x * x, 2 * x)
    assert by_hand.withDerivative(by_hand.exp, x) == pytest.approx((math.exp(x), math.exp(x)), rel=1e-15)
    both = by_hand.withDerivative(by_hand.square >> by_hand.exp, x)
    assert both == pytest.approx((math.exp(x * x), 2 * x * math.exp(x * x)), rel=1e-14)


@pytest.mark.numpy_only
def test_the_exponential_is_computed_once_by_code_that_is_not_seen_into() -> None:
    f, calls = by_hand.counted(math.exp)
    by_hand.withDerivative(f, 1.0)
    calls.clear()
    y, dy = by_hand.withDerivative(f, 2.0)
    assert (float(y), float(dy)) == (math.exp(2.0), math.exp(2.0))
    assert calls == [2.0]


class CountsExp:
    """NumPy, with its exponentials counted."""

    def __init__(self) -> None:
        self.calls = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def exp(self, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        return np.exp(*args, **kwargs)


@pytest.mark.parametrize("f", [by_hand.exp, ct.exp], ids=["by hand", "built in"])
def test_the_exponential_is_computed_once_by_a_traced_program(f: ct.D, monkeypatch: pytest.MonkeyPatch) -> None:
    counting = CountsExp()
    monkeypatch.setattr("catad.jacobians.at_point.common_module", lambda arrays: counting)
    y, dy = by_hand.withDerivative(f >> ct.id, 2.0)
    assert (y, dy) == (math.exp(2.0), math.exp(2.0))
    assert counting.calls == 1


@pytest.mark.numpy_only
def test_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    by_hand.main()
    out = capsys.readouterr().out
    assert "exponentials computed: 1" in out
    by_catad, by_calculus = (np.fromstring(line.split("[")[1].rstrip("]"), sep=" ") for line in out.splitlines()[-2:])
    np.testing.assert_allclose(by_catad, by_calculus, rtol=1e-7)

"""What kind of thing a value is: arrays, numbers of NumPy and of Python, as `isinstance`, `type` and `np.isscalar` say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct

KINDS = (np.ndarray, np.generic, np.floating, np.float64, float, (np.ndarray, float), object)
VALUES = {
    "an array": lambda x, n: x,
    "a sum": lambda x, n: x.sum(),
    "an entry": lambda x, n: x[0],
    "an entry as a view": lambda x, n: x[0, ...],
    "an entry of a sum": lambda x, n: (x + 1)[1] * 2.0,
    "a product": lambda x, n: x @ x,
    "a number of Python": lambda x, n: n,
    "what is computed of it": lambda x, n: n * 2.0,
    "a number with an array": lambda x, n: n * x[1],
    "np.asarray": lambda x, n: np.asarray(x[0]),
    "np.array": lambda x, n: np.array(x.sum()),
    "np.copy": lambda x, n: np.copy(x.sum()),
    "copy": lambda x, n: x.sum().copy(),
    "np.where": lambda x, n: np.where(x[0] > 0, x[1], 2.0),
    "reshape": lambda x, n: x[:1].reshape(()),
    "np.squeeze": lambda x, n: np.squeeze(x[:1]),
    "computed of an array without axes": lambda x, n: np.asarray(x[0]) + 1.0,
    "a truth value": lambda x, n: x[0] > 0,
    "a list of both": lambda x, n: np.array([x[0], n]),
}


@pytest.mark.parametrize("name", VALUES)
def test_values_are_of_the_kind_that_numpy_gives(name: str) -> None:
    make = VALUES[name]
    found: list[list[Any]] = []

    def fn(x: Any, n: Any) -> Any:
        value = make(x, n)
        found.append([isinstance(value, kind) for kind in KINDS] + [np.isscalar(value), type(value)])
        return x

    fn(np.ones(3), 2.0)
    ct.function(fn)(np.ones(3), 2.0)
    assert found[1] == found[0]


def by_kind(x: Any) -> Any:
    s = x.sum()
    if isinstance(s, np.ndarray):
        return s * 2.0
    return s * 3.0


def test_a_branch_on_the_kind_is_numpys() -> None:
    x = np.ones(3)
    assert ct.function(by_kind)(x) == by_kind(x) == 9.0
    assert ct.grad(by_kind)(x).tolist() == [3.0] * 3


ASKS = {"isinstance": lambda x: isinstance(x, np.ndarray), "isscalar": lambda x: np.isscalar(x), "type": lambda x: type(x)}


@pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)
def test_an_argument_without_axes_may_be_both(ask: Any) -> None:
    def fn(x: Any) -> Any:
        return x * 2.0 if ask(x) else x * 3.0

    with pytest.raises(ct.TraceError, match="a number or an array of NumPy is not known"):
        ct.function(fn)(np.array(2.0))
    assert ct.function(lambda x: x * 2.0 if isinstance(x, (np.ndarray, np.generic)) else x)(np.array(2.0)) == 4.0

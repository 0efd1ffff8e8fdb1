"""States of which loops change columns lie with the columns as rows while they run; no result shows it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.engine.cpu.whole import nested, rewrite

from .whole_support import Ran, ran  # noqa: F401


@pytest.fixture
def turned(ran: Ran, monkeypatch: pytest.MonkeyPatch) -> list[int]:  # noqa: F811
    """How many states of each loop are laid out anew, whatever their size."""
    found, columns_as_rows = list[int](), rewrite.columns_as_rows

    def noted(wiring: Any, states: int, steps: int) -> Any:
        made = columns_as_rows(wiring, states, steps)
        found.append(len(made[1]))
        return made

    monkeypatch.setattr(nested, "columns_as_rows", noted)
    monkeypatch.setattr(rewrite, "FAR", 0)
    return found


def both(f: Any, *args: Any) -> Any:
    with ct.use_engine("cpu"):
        return ct.value_and_grad(f, argnums=tuple(range(len(args))))(*args)


def check(f: Any, *args: Any) -> None:
    """The value is NumPy's; gradients agree with central differences along random directions."""
    value, slopes = both(f, *[arg.copy() for arg in args])
    wide = [arg.astype(np.float64) for arg in args]
    with ct.use_engine("cpu"):
        alone = ct.function(f)(*[arg.copy() for arg in args])
    assert np.allclose([value, alone], f(*[arg.copy() for arg in wide]), rtol=1e-5 if args[0].dtype == np.float32 else 1e-12)
    rng = np.random.default_rng(3)
    for _ in range(3):
        along = [rng.standard_normal(arg.shape) for arg in args]
        up, down = (f(*[arg + h * d for arg, d in zip(wide, along, strict=True)]) for h in (1e-6, -1e-6))
        slope = sum(float(np.vdot(one, d)) for one, d in zip(slopes, along, strict=True))
        assert np.isclose(slope, (up - down) / 2e-6, rtol=1e-4 if args[0].dtype == np.float32 else 1e-6)


def recurrence(a: Any, x: Any) -> Any:
    for k in range(1, x.shape[-1]):
        x[..., k] = (x[..., k] - a[..., k] * x[..., k - 1]) / (2.0 + x[..., k - 1] ** 2)
    return np.sum(x * a)


def backwards(a: Any, x: Any) -> Any:
    for k in range(x.shape[-1] - 2, -1, -1):
        x[..., k] = (x[..., k] + a[..., k] * x[..., k + 1]) / (2.0 + x[..., k + 1] ** 2)
    return np.sum(x * a)


def two_states(a: Any, x: Any) -> Any:
    """The forward half of Thomas's method, whose states exchange columns."""
    for k in range(1, x.shape[-1]):
        divided = 1.0 / (3.0 - a[..., k] * a[..., k - 1])
        a[..., k] = a[..., k] * divided
        x[..., k] = (x[..., k] - x[..., k - 1] * a[..., k]) * divided
    return np.sum(x * x) + np.sum(a)


def kept(a: Any, x: Any) -> Any:
    """All states are kept."""
    out = np.zeros((x.shape[-1], *x.shape))
    for k in range(1, x.shape[-1]):
        x[..., k] = a[..., k] * x[..., k - 1] ** 2
        out[k] = x
    return np.sum(out**2)


@pytest.mark.parametrize("f", [recurrence, backwards, two_states])
@pytest.mark.parametrize("shape", [(17, 20), (20, 20), (3, 16, 19), (70, 40)])
def test_columns(turned: list[int], f: Any, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(sum(shape))
    check(f, rng.uniform(0.5, 1.0, shape), rng.uniform(0.5, 1.0, shape))
    assert any(turned)


def test_states_that_are_kept_as_they_are(turned: list[int]) -> None:
    rng = np.random.default_rng(5)
    check(kept, rng.uniform(0.5, 1.0, (20, 20)), rng.uniform(0.5, 1.0, (20, 20)))


def step(states: Any, given: Any, inputs: Any) -> Any:
    """Changes columns, and reads all of a state beside an array that is the same for all steps."""
    (x, total), (a,), (k,) = states, given, inputs
    for shift in (0, 0, 1):
        x[:, k - shift] = a[:, k] * x[:, k - 1] ** 2 + 0.1
        total[:, k - shift] = 1.0 - total[:, k] * x[:, k]
    return (x, total + np.sin(x) * a), ()


def test_a_state_beside_an_array_that_stays_as_it_is(turned: list[int]) -> None:
    a, x = (np.random.default_rng(seed).uniform(0.5, 1.0, (20, 20)) for seed in (1, 2))
    with ct.use_engine("cpu"):
        found, _ = ct.function(lambda a, x: ct.sweep(step, 19)((x, 0.0 * x), (a,), (np.arange(1, 20),)))(a, x)
    want: Any = (x.copy(), np.zeros_like(x))
    for k in range(1, 20):
        want, _ = step(want, (a,), (k,))
    assert turned == [0] and np.allclose(found[0], want[0]) and np.allclose(found[1], want[1])


def test_single_precision(turned: list[int]) -> None:
    rng = np.random.default_rng(6)
    check(recurrence, *[rng.uniform(0.5, 1.0, (24, 30)).astype(np.float32) for _ in range(2)])
    assert any(turned)


def test_more_rows_than_are_laid_out_at_once(turned: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nested, "ROWS", 8)
    rng = np.random.default_rng(7)
    check(two_states, rng.uniform(0.5, 1.0, (5, 21, 18)), rng.uniform(0.5, 1.0, (5, 21, 18)))
    assert any(turned)


def rows(a: Any, x: Any) -> Any:
    for k in range(1, len(x)):
        x[k] = (x[k] - a[k] * x[k - 1]) / (2.0 + x[k - 1] ** 2)
    return np.sum(x * a)


def few(a: Any, x: Any) -> Any:
    for k in range(1, 20):
        x[:, k] = (x[:, k] - a[:, k] * x[:, k - 1]) / (2.0 + x[:, k - 1] ** 2)
    return np.sum(x * a)


@pytest.mark.parametrize("f", [rows, few])
def test_what_is_in_order_or_changes_little_stays(turned: list[int], f: Any) -> None:
    rng = np.random.default_rng(8)
    check(f, rng.uniform(0.5, 1.0, (30, 90)), rng.uniform(0.5, 1.0, (30, 90)))
    assert turned and not any(turned)

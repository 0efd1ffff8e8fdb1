"""The loop of `ct.odeint`: steps that are rejected, memory, and programs for other numbers of steps."""

from __future__ import annotations

import numpy as np
import pytest

import catad as ct
from catad.engine.cpu.run import target

decay = ct.odeint(lambda t, y, k: -k * y)


def test_a_rejected_step_of_nan() -> None:
    roots = ct.odeint(lambda t, y, k: -k * np.sqrt(y), first_step=3.0)  # beyond the end of the domain
    assert np.isclose(roots(1.0, [0.0, 1.0], 0.7)[-1], 0.65**2, rtol=1e-6)
    last = ct.function(lambda k: roots(1.0, [0.0, 1.0], k)[-1])
    assert np.isclose(ct.grad(last)(0.7), -0.65, rtol=1e-5)
    assert np.isclose(ct.jvp(last, (0.7,), (1.0,))[1], -0.65, rtol=1e-5)
    assert np.isclose(ct.grad(ct.grad(last))(0.7), 0.5, rtol=1e-4)
    logs = ct.odeint(lambda t, y, k: -k * np.log(y), first_step=50.0)
    with np.errstate(invalid="ignore"):
        values = [logs(2.0, [0.0, 60.0, 100.0], 0.7), ct.grad(lambda k: logs(2.0, [0.0, 60.0], k)[0])(0.7)]
        slope = ct.jvp(lambda y: logs(y, [0.0, 60.0], 0.7)[-1], (2.0,), (1.0,))[1]
    assert np.allclose(values[0], [2.0, 1.0, 1.0], atol=1e-5) and values[1] == 0.0 and abs(slope) < 1e-3
    each = ct.vmap(lambda k: roots(1.0, [0.0, 1.0], k)[-1])
    assert np.allclose(ct.grad(lambda k: each(k).sum())(np.array([0.1, 0.7])), [-0.95, -0.65], rtol=1e-5)


@pytest.mark.parametrize("memory", [1, 7])
def test_memory(memory: int) -> None:
    def kept(memory: int | None) -> tuple[float, int]:
        f = ct.odeint(lambda t, y, k: np.stack([y[1], -k * y[0]]), memory=memory)
        _, pull = ct.vjp(lambda k: f(np.array([1.0, 0.0]), [0.0, 10.0], k)[-1].sum(), 0.7)
        return float(pull(1.0)[0]), sum([array.nbytes for array in pull.arrays])

    (whole, most), (own, least) = kept(None), kept(memory)
    assert np.isclose(own, whole, rtol=1e-12) and 5 * least < most


def test_other_numbers_of_steps_compile_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATAD_COMPILE", "now")
    last = ct.function(lambda k: decay(1.0, [0.0, 1.0], k)[-1])
    fit = ct.value_and_grad(last)

    def run(rates: np.ndarray) -> int:
        before = target.counts["compiled"] + target.counts["loaded"]
        for k in rates:
            value, slope = fit(k)
            assert np.isclose(value, np.exp(-k), rtol=1e-3) and np.isclose(slope, -np.exp(-k), rtol=1e-3)
        return target.counts["compiled"] + target.counts["loaded"] - before

    assert run(np.linspace(4.0, 8.0, 20)) + run(np.linspace(4.0, 8.0, 20)) > 0
    assert run(np.linspace(4.1, 7.9, 20)) == 0

"""A scan of an operator with a kink: its derivative is that of the steps from the prefixes that the engine has computed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct

N = 100_003


@pytest.mark.numpy_only
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_each_engine_decides_at_its_own_prefixes(dtype: Any) -> None:
    """Tenths, so that there are ties which rounding decides: `s = max(s + a, b)`, and a step at which b wins forgets the past."""
    rng = np.random.default_rng(1)
    a, b = [(rng.integers(-n, n + 1, N) * dtype(0.1)).astype(dtype) for n in (30, 3)]
    f = ct.scan(lambda f, g: (f[0] + g[0], max(f[1] + g[0], g[1])), (0.0, -np.inf))
    first = None
    for engine in ("reference", "cpu"):
        with ct.use_engine(engine):
            (_, s), pullback = ct.vjp(f, a, b)
            by_b = pullback((np.zeros(N, dtype), np.ones(N, dtype)))[1]
            pushed = ct.jvp(f, (a, b), (np.zeros(N, dtype), by_b))[1][1]
        before = np.concatenate([[dtype(-np.inf)], s[:-1]])
        resets = np.flatnonzero(~(before + a >= b))
        wanted = np.zeros(N, dtype)
        wanted[resets] = np.diff([*resets, N])
        np.testing.assert_array_equal(by_b, wanted)
        np.testing.assert_array_equal(pushed, np.repeat(wanted[resets], np.diff([*resets, N])))
        first = s if first is None else first
        assert abs(s - first).max() <= N * np.finfo(dtype).eps * abs(s).max()

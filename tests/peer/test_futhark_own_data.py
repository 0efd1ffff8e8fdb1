"""The programs of the peer's cases on data of our own: every mode against central differences."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from .derivatives import central_differences, cut, flat, leaves, leaves_at
from .futhark_programs import PROGRAMS
from .programs import Program

CASES = [
    pytest.param(name, program, mode, id=f"{name}-{variant}-{mode}")
    for name, programs in PROGRAMS.items()
    for variant, program in enumerate(programs)
    for mode in program.modes
]


@pytest.mark.quick(80)
@pytest.mark.parametrize(("name", "program", "mode"), CASES)
def test_derivatives_are_central_differences(name: str, program: Program, mode: str) -> None:
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    kept = program.whole.split()
    drawn = {k: np.asarray(v) for k, v in program.own(rng).items()}
    data = {k: v if k in kept or v.dtype == bool else v.astype(np.float64) for k, v in drawn.items()}
    m = program.at(data, mode)
    want = central_differences(m.f, m.primals, program.step)
    assert m.matrix.shape == want.shape
    assert all(np.array_equal(a, b) for a, b in zip(m.ys, leaves(m.f(m.x)), strict=True))
    scale = max(1.0, float(np.abs(want).max(initial=0.0)))
    assert np.all(np.abs(m.matrix - want) <= program.tolerance * scale)
    v, w = rng.standard_normal(want.shape[1]), rng.standard_normal(want.shape[0])
    pushed = flat(m.push(*leaves_at(cut(v, m.x), m.xs)), m.ys)
    pulled = flat(m.pull(*leaves_at(cut(w, m.y), m.ys)), m.xs)
    assert np.all(np.abs(pushed - want @ v) <= program.tolerance * scale * np.abs(v).sum())
    assert np.all(np.abs(pulled - w @ want) <= program.tolerance * scale * np.abs(w).sum())

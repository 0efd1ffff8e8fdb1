"""Linear maps as matrices: coefficients with axes that neither argument nor result has, which are summed over."""

from __future__ import annotations

import numpy as np
import pytest

import catad as ct
from catad.linear.delta import delta
from catad.testing import check_linear_map

F32 = np.dtype(np.float32)


@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize(
    ("out", "ins", "slot"),
    [((0,), (0,), (1,)), ((0,), (0,), (1, 0)), ((0,), (1,), (0, 2, 1)), ((), (0,), (1,)), ((0, 0), (0,), (1,))],
)
def test_axes_of_the_coefficients_alone_are_summed_over(out: tuple, ins: tuple, slot: tuple, n: int) -> None:
    sizes = [n if label not in (*out, *ins) else 2 for label in range(1 + max(*out, *ins, *slot))]
    structure = delta(out, ins, slot, sizes, F32, F32, F32)
    shape = [sizes[label] for label in slot]
    values = np.arange(1, 1 + np.prod(shape), dtype=F32).reshape(shape)
    linear = ct.LinearMap(structure.dom[0], structure.cod[0], structure, [values])
    check_linear_map(linear, exact=True)
    if len(set(out)) == len(out):
        x = np.arange(1.0, 3.0, dtype=F32)
        assert np.array_equal(linear(x), np.einsum(values, slot, x, ins, out))

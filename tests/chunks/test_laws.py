"""Programs on arrays in blocks are what they are on whole arrays: values, derivatives, linear maps."""

import numpy as np
import pytest

import catad as ct
from catad.testing import check_chunks

X = np.linspace(0.1, 2.0, 23)


def logistic(w, rows, labels):
    z = rows @ w
    return np.sum(np.logaddexp(0, z) - labels * z) + 0.1 * np.sum(w * w)


PROGRAMS = {
    "sum of squares": (ct.square >> ct.sum(), [X]),
    "product": (ct.fold(lambda a, b: a * b, 1.0), [X]),
    "differences": (lambda x: np.sin(x[1:] - x[:-1]), [X]),
    "logistic regression": (logistic, [np.arange(4.0), np.outer(X, np.arange(4.0)), (X > 1) * 1.0]),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name, seed):
    f, args = PROGRAMS[name]
    with ct.use_engine("reference"):
        check_chunks(f, *args, seed=seed)

"""`ct.D(fn, spaces=...)`: code that cannot be traced, whose spaces and structure the user says."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import catad as ct

X = np.array([0.5, 1.0, 2.0])
calls: list[Any] = []


def opaque(x: Any) -> Any:
    calls.append(x)
    return np.asarray([float(v) ** 2 for v in x]), ct.scale(2 * np.asarray(x))


def stated(x: Any) -> Any:
    return x, ct.scale(np.ones(x.shape))


@pytest.mark.numpy_only
def test_it_is_laid_out_without_a_point_and_without_a_call() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f = ct.D(opaque, spaces=stated)
        calls.clear()
        assert f.spaces(ct.f64[3]) == ct.f64[3]
        assert "2 factors" in str(ct.plan(f >> ct.flip(), ct.f64[3]))
        assert [type(c).__name__ for c in calls] == ["Wire"] * len(calls)  # tried on wires alone
        assert np.array_equal(f(X), X**2)
        assert np.array_equal(ct.jacobian(f)(X).todense(), np.diag(2 * X))
    assert eval(repr(f), {"ct": ct, **f.names}) == f
    assert f != ct.D(opaque)


def test_without_a_point_and_without_spaces_is_an_error_that_names_both_ways() -> None:
    with pytest.raises(ct.SpaceError, match="spaces="), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ct.D(opaque).spaces(ct.f64[3])


@pytest.mark.parametrize("wrong", [lambda x: x, lambda x: (x, 3.0), lambda x: (3, ct.scale(np.ones(3)))])
def test_what_spaces_must_return(wrong: Any) -> None:
    with pytest.raises(ct.SpaceError, match="without its numbers"):
        ct.D(opaque, spaces=wrong).spaces(ct.f64[3])


def test_a_map_that_does_not_fit_the_stated_spaces() -> None:
    with pytest.raises(ct.SpaceError, match="does not fit"):
        ct.D(opaque, spaces=lambda x: (ct.f64[4], ct.scale(np.ones(3)))).spaces(ct.f64[3])


@pytest.mark.numpy_only
def test_code_that_gives_another_structure_than_stated() -> None:
    f = ct.D(opaque, spaces=lambda x: (x, ct.linear.dense(np.eye(3))))
    with pytest.raises(ct.SpaceError, match="changed its result's space or its linear map's structure"):
        ct.linearize(f, X)

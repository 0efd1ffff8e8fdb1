"""The checkers and strategies as a user meets them: what they accept, raise and say."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import catad as ct
from catad.testing import LAWS, check_grads, check_laws, check_linear_map, check_monoid

WITHOUT_HYPOTHESIS = """
import sys
sys.modules["hypothesis"] = None
import catad as ct
from catad import testing
testing.check_laws(ct.sin, 1.0)
for strategy in (testing.spaces, testing.linear_maps):
    try:
        strategy()
    except ct.EngineError as error:
        assert "pip install hypothesis" in str(error), error
    else:
        raise SystemExit("no error")
for strategy in (testing.points, testing.terms, testing.chains):
    try:
        strategy(ct.f64[2])
    except ct.CatadError as error:
        assert "pip install hypothesis" in str(error) and strategy.__name__ in str(error), error
    else:
        raise SystemExit("no error")
"""


def test_without_hypothesis_the_checkers_work_and_the_strategies_say_what_to_install() -> None:
    subprocess.run([sys.executable, "-c", WITHOUT_HYPOTHESIS], check=True, timeout=600)


def test_importing_the_checkers_does_not_import_hypothesis() -> None:
    code = "import sys, catad.testing; sys.exit('hypothesis' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=600)


def test_a_broken_law_names_law_term_point_got_and_expected() -> None:
    wrong = ct.D(lambda x: (x * x, ct.scale(x)))
    with pytest.raises(ct.LawError) as caught:
        check_grads(wrong, 3.0, modes=("fwd",))
    message = str(caught.value)
    assert "the law derivative, forward does not hold: D[f](x, v)" in message
    assert "got np.float64(0.377" in message
    assert "expected: np.float64(0.754" in message
    assert "ct.D(fn)" in message
    assert "at:       (array(3.)" in message


@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_each_mode_of_check_grads_catches_a_wrong_derivative(mode: str) -> None:
    with pytest.raises(ct.LawError, match="reverse" if mode == "rev" else "forward"):
        check_grads(ct.D(lambda x: (x * x, ct.scale(x))), np.array([3.0, 1.0]), modes=(mode,))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("error", [1e-3, -1e-3])
def test_check_grads_sees_an_error_of_a_thousandth(dtype: type, error: float) -> None:
    x = np.array([0.5, 1.5], dtype)
    check_grads(ct.D(lambda x: (ct.exp(x), ct.scale(ct.exp(x)))), x)
    with pytest.raises(ct.LawError):
        check_grads(ct.D(lambda x: (ct.exp(x), ct.scale((1.0 + error) * ct.exp(x)))), x, order=1)


def test_check_grads_refuses_unknown_modes() -> None:
    with pytest.raises(ct.ArgumentError, match="mode"):
        check_grads(ct.sin, 1.0, modes=("sideways",))


def test_check_grads_to_third_order() -> None:
    check_grads(ct.map(lambda x: x * x * x * x), np.array([0.5, -1.5]), order=3)


def test_check_laws_runs_every_law_on_a_product_with_integers() -> None:
    point = (np.array([1.0, 2.0, 3.0]), (np.array([2, 0]), np.array([1.0, -1.0])))
    f = ct.fork(ct.cross(ct.id, ct.exl) >> ct.gather, ct.exr >> ct.exr >> ct.square) >> ct.mul
    check_laws(f, *point, exact=True)


def test_only_chooses_laws_by_name() -> None:
    wrong = ct.D(lambda x: (x * x, ct.scale(x)))
    check_laws(wrong, 3.0, only=["CD.5", "RD.5"])
    with pytest.raises(ct.LawError, match="derivative"):
        check_laws(wrong, 3.0, only=["derivative"])


def test_the_laws_of_the_design_are_there() -> None:
    wanted = {
        "category",
        "products",
        "left additivity",
        "adjointness",
        "T functor",
        "T projection",
        "T zero",
        "T lift",
        "T flip",
    }
    assert wanted | {f"CD.{k}" for k in range(1, 8)} | {f"RD.{k}" for k in range(1, 8)} <= set(LAWS)


def test_check_linear_map_refuses_what_is_not_one() -> None:
    with pytest.raises(ct.SpaceError, match="linear map"):
        check_linear_map(ct.sin)


def test_the_adjoint_bound_accepts_single_precision() -> None:
    rng = np.random.default_rng(0)
    for seed in range(20):
        check_linear_map(ct.linear.dense(rng.normal(size=(50, 50)).astype(np.float32)), seed=seed)


def test_check_monoid_accepts_tuples_and_refuses_nothing() -> None:
    check_monoid(lambda f, g: (f[0] * g[0], f[1] * g[0] + g[1]), (1.0, 0.0), [(2.0, 1.0), (-1.0, 3.0), (0.5, 0.0)])
    with pytest.raises(ct.ArgumentError, match="at least one value"):
        check_monoid(lambda a, b: a + b, 0.0, [])
    with pytest.raises(ct.MonoidError, match="closed"):
        check_monoid(lambda a, b: (a, b), 0.0, [1.0])


def test_differences_of_values_that_vanish_at_the_point_are_bounded_by_those_beside_it() -> None:
    for f in (ct.map(lambda x: (x + x * x) ** 2), ct.map(lambda x: x**3), ct.map(lambda x: x * x * x * (1.0 + x))):
        check_grads(f, np.zeros(3))
        check_laws(f, np.zeros(3))


def test_a_jump_at_the_point_has_no_slope() -> None:
    """The derivative of abs at 0 jumps from -1 to 1, by as much on both sides."""
    check_laws(ct.abs, np.zeros(2))
    check_laws(ct.exl >> ct.abs, (np.zeros(2), 0.0))

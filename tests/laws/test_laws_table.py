"""Every law on every primitive and combinator, and their derivatives against central differences."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from law_cases import CASES, Case

import catad as ct
from catad.testing import check_grads, check_laws
from tests.public import MORPHISMS, OF_EQUATIONS

# of a program, and a loop that cannot be mapped, which is one of the laws: tests/vector/test_loops.py has the others
EXCEPTIONS = {"compile", "while_loop", "jacfwd", "jacrev", "vmap"}


def seed_of(case: Case) -> int:
    return zlib.crc32(case.name.encode())


def with_dtypes(cases: list[Case], exact_once: bool = False) -> list[object]:
    """Cases and their dtypes; with `exact_once` those that hold bit for bit in double precision, which is checked, in single."""
    return [
        pytest.param(case, dtype, id=f"{case.name}-{dtype}", marks=own_numpy(case))
        for case in cases
        for dtype in case.dtypes
        if not (exact_once and case.exact and len(case.dtypes) > 1 and dtype == "float64")
    ]


def own_numpy(case: Case) -> tuple[pytest.MarkDecorator, ...]:
    """Opaque code calls NumPy itself, so it runs on NumPy's arrays only."""
    return (pytest.mark.numpy_only,) if "opaque" in case.name else ()


@pytest.mark.quick(48)
@pytest.mark.parametrize("case", [pytest.param(c, id=str(c), marks=own_numpy(c)) for c in CASES if c.exact])
def test_laws_hold_bit_for_bit_on_small_integers(case: Case) -> None:
    x = case.point(np.random.default_rng(seed_of(case)), "float64", True)
    check_laws(case.make(), x, exact=True, order=case.order)


@pytest.mark.quick(32)
@pytest.mark.parametrize(("case", "dtype"), with_dtypes(CASES, exact_once=True))
def test_laws_hold_within_rounding(case: Case, dtype: str) -> None:
    x = case.point(np.random.default_rng(seed_of(case)), dtype, False)
    check_laws(case.make(), x, order=1 if case.exact else case.order)  # the second order of exact ones is checked above


@pytest.mark.quick(180)
@pytest.mark.parametrize(("case", "dtype"), with_dtypes([c for c in CASES if c.smooth]))
def test_derivatives_agree_with_differences(case: Case, dtype: str) -> None:
    x = case.point(np.random.default_rng(seed_of(case)), dtype, False)
    check_grads(case.make(), x, order=case.order)


def test_the_table_names_every_public_morphism_and_combinator() -> None:
    covered = {name for case in CASES for name in case.covers}
    assert MORPHISMS - OF_EQUATIONS - covered == EXCEPTIONS
    assert covered - set(ct.__all__) - set(dir(ct.linear)) - {"sum", "chain"} == set()


def test_the_table_names_every_constructor_of_linear_maps() -> None:
    covered = {name for case in CASES for name in case.covers}
    extending = {"LinearMap", "Solver", "Structure", "family", "left", "product_rule", "right"}
    assert set(ct.linear.__all__) - extending - covered == set()

"""Every primitive of the table of laws, in the steps of a loop: the loop is one function that calls no array code."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad import upward
from catad.category.spaces import Product, Space, Tensor, tangent_space
from catad.engine.cpu.whole.run import Whole

sys.path.insert(0, str(Path(__file__).parents[1] / "laws"))

from law_cases import CASES

from ..simt.kernels import CASES as KERNELS
from .whole_support import Ran, compare, ran

__all__ = ["ran"]

DERIVATIVES: dict[str, Callable[[ct.D], ct.D]] = {
    "value": lambda f: f,
    "forward": ct.tangent,
    "reverse": ct.reverse_differential,
}
OUTSIDE = {"D of opaque code"}  # code that cannot be traced
"""The cases that have no code within a loop."""


def scaled(space: Space, value: ct.D) -> ct.D:
    """The floating parts of a value times the state, so that no step gives what another one gave."""
    if isinstance(space, Product):
        return ct.fork(*[scaled(part, value >> ct.proj(k)) for k, part in enumerate(space.factors)])
    assert isinstance(space, Tensor)
    return ct.fork(value, ct.exl) >> ct.map(lambda a, s: a * s) >> ct.astype(space.dtype) if space.is_float else value


def in_a_loop(f: ct.D, space: Space) -> ct.D:
    """A loop that runs `f` on what each step makes of an argument."""
    step = ct.fork(ct.exl >> ct.map(lambda s: 1.1 * s), scaled(space, ct.exr) >> f)
    return ct.sweep(ct.fork(ct.proj(0), ct.proj(1)) >> step, 18)


def calls(f: ct.D, x: Any, which: str) -> list[str]:
    """The boxes of which a loop calls the array code; raises CannotPrint where the loop has no code at all."""
    space = ct.space_of(x)
    loop = in_a_loop(f, space)
    dom = Product((Tensor((), "float64"), space, Product(())))
    if which != "value":
        other = dom if which == "forward" else loop.spaces(dom)
        dom = Product((dom, tangent_space(other)))
    wiring = upward.program_of(DERIVATIVES[which](loop), dom)[0].wiring
    return [str(one.spaces) for one in Whole(wiring, _never).outsiders]


def _never(*_: Any) -> Any:
    raise AssertionError("nothing runs here")


def points() -> list[Any]:
    rng = np.random.default_rng(0)
    table = [
        pytest.param(case.make, case.point(rng, "float64", False), id=case.name)
        for case in CASES
        if case.name not in OUTSIDE
    ]
    kernels = [pytest.param(lambda f=f: f, args, id=f"kernel {name}") for name, (f, args) in KERNELS.items()]
    return [*table, *kernels]


@pytest.mark.quick(177)
@pytest.mark.parametrize(("make", "x"), points())
def test_it_has_code_within_a_loop(make: Callable[[], ct.D], x: Any) -> None:
    assert {which: calls(make(), x, which) for which in DERIVATIVES} == {which: [] for which in DERIVATIVES}


@pytest.mark.quick(10)
@pytest.mark.parametrize("name", ["fold * of 0", "fold affine of 0", "kernel root", "kernel extremes", "kernel permuted"])
def test_it_gives_what_the_array_code_gives(name: str, ran: Ran) -> None:
    make, x = {point.id: point.values for point in points()}[name]
    compare(in_a_loop(make(), ct.space_of(x)), (np.asarray(1.0), x, ()), ran, second=False)

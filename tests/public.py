"""The public names of `catad`, sorted by what they make; tests that go over all of them read them here."""

from __future__ import annotations

import inspect

import catad as ct


def _makes_a_morphism(name: str) -> bool:
    value = getattr(ct, name)
    return isinstance(value, ct.D) or (inspect.isfunction(value) and inspect.signature(value).return_annotation == "D")


ERRORS = {name for name in ct.__all__ if inspect.isclass(thing := getattr(ct, name)) and issubclass(thing, Exception)}
MORPHISMS = {name for name in ct.__all__ if _makes_a_morphism(name)} | {"D", "compile"}  # and those that make one
AT_A_POINT = set(ct.__all__) - ERRORS - MORPHISMS  # derivatives at points, plans, linear maps, spaces, operators, settings
OF_EQUATIONS = {name for name in MORPHISMS if getattr(ct, name).__module__.startswith("catad.equations.")}
"""Those whose equations must have a solution at a point: tests/equations has points of their own."""

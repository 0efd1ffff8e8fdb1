"""The examples in the docstrings of every module."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import catad

MODULES = ["catad", *sorted(module.name for module in pkgutil.walk_packages(catad.__path__, "catad."))]


@pytest.mark.parametrize("name", MODULES)
def test_doctests(name: str) -> None:
    module = importlib.import_module(name)
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    for test in doctest.DocTestFinder(exclude_empty=True).find(module, name):
        runner.run(test, out=said.append)
    assert not runner.failures, "".join(said)


def test_the_public_functions_have_examples() -> None:
    """Each function that `catad` and `catad.linear` export shows itself at work."""
    functions = {
        f"{space.__name__}.{name}": value
        for space in (catad, catad.linear)
        for name, value in vars(space).items()
        if not name.startswith("_") and type(value).__name__ == "function"
    }
    assert len(functions) > 40
    missing = sorted(name for name, value in functions.items() if ">>>" not in (value.__doc__ or ""))
    assert not missing

"""The examples in the docstrings of every module; those of public names run as they stand in test_public_names.py."""

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

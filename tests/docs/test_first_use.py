"""A process loads what it uses: what `import catad` and small programs do not load, and that every name is there all the same."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

PROGRAMS = {
    "import": "",
}
UNUSED = {  # what they must not load
    "import": "numpy catad.terms catad.traced catad.vector catad.linear catad.scalar",
}
HEAVY = (
    r"catad\.(planner|drawing|testing|simt|engine\.(cuda|cpu\.(whole|nests)|stages|text)|scalar\.(llvm|vector_math))|llvmlite|scipy"
)


def loaded(program: str) -> list[str]:
    """The modules that a fresh process has loaded when it has run a program."""
    text = f"import sys, catad as ct\n{'import numpy as np' * bool(program)}\n{program}\nprint(*sys.modules)"
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_process_loads_what_it_uses(name: str) -> None:
    found = loaded(PROGRAMS[name])
    assert "catad" in found
    assert [module for module in found if re.match(HEAVY, module)] == []
    unused = tuple(UNUSED[name].split())
    assert [module for module in found if module in unused or module.startswith(tuple(f"{one}." for one in unused))] == []


def test_names_are_there_at_first_use_whatever_else_is_loaded() -> None:
    """A submodule that is loaded first does not hide the function of its name."""
    text = """
import catad.linear.block, catad.linear.gather, catad.primitive.linear, catad.scalar.read, types, catad as ct
for space in (ct, ct.linear, ct.primitive, ct.engine):
    for name in dir(space):
        assert getattr(space, name) is not None
own = [ct.linear.block, ct.linear.gather, ct.primitive.linear, ct.scalar.read]
assert all(isinstance(one, types.FunctionType) for one in own)
assert ct.grad.__module__ == "catad.gradients" and isinstance(ct.errors, types.ModuleType)
try:
    ct.nothing
except AttributeError as error:
    print(error)
from catad import *
print(grad is ct.grad)
"""
    ran = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert ran.stdout.split("\n")[:2] == ["module 'catad' has no attribute 'nothing'", "True"]

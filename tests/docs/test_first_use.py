"""A process loads what it uses: what `import catad` and small programs do not load, and that every name is there all the same."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

from catad.traced import table

PROGRAMS = {
    "import": "",
    "a gradient": "assert ct.grad(lambda x: np.sum(np.sin(x) * x))(np.zeros(10)).shape == (10,)",
    "a gradient of a morphism": "assert ct.grad(ct.sin >> ct.sum())(np.zeros(10)).shape == (10,)",
}
ALWAYS = """planner drawing testing simt front.vmap front.closure_conversion jacobians.jacobian primitive interop
    traced.programs.point_free traced.programs.text engine.stages engine.text engine.cuda.device engine.cpu.whole
    engine.cpu.nests engine.rewrites.merge scalar.printing.llvm scalar.reading.reader scalar.vector_math"""
UNUSED = {  # what they do not load
    "import": f"{ALWAYS} errors category traced vector linear scalar values jacobians front",
    "a gradient": f"""{ALWAYS} linear.families.table linear.map linear.families.recurrence linear.families.clear
        traced.control.loop traced.control.branch traced.arrays.indexing traced.names.python traced.names.making
        vector.loops.loop vector.scans.scan vector.folds.fold vector.custom_derivative jacobians""",
    "a gradient of a morphism": f"""{ALWAYS} traced.control.loop traced.control.branch traced.names vector.loops.loop
        vector.scans.scan vector.folds.fold jacobians""",
}


def loaded(program: str) -> list[str]:
    """The modules that a fresh process has loaded when it has run a program."""
    text = f"import sys, catad as ct\n{'import numpy as np' * bool(program)}\n{program}\nprint(*sys.modules)"
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True, timeout=120).stdout.split()


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_process_loads_what_it_uses(name: str) -> None:
    found = loaded(PROGRAMS[name])
    unused = [f"catad.{module}" for module in UNUSED[name].split()]
    assert "catad" in found and all(importlib.util.find_spec(module) for module in unused)
    assert [module for module in found if any(f"{module}.".startswith(f"{one}.") for one in unused)] == []
    assert "scipy" not in found and (name != "import" or not {"numpy", "llvmlite"} & {*found})


def test_names_are_there_at_first_use_whatever_else_is_loaded() -> None:
    """A submodule that is loaded first does not hide the function of its name."""
    text = """
import catad.linear.families.block, catad.linear.matrix, catad.primitive.linear, catad.scalar.reading.read, types, catad as ct
for space in (ct, ct.linear, ct.primitive, ct.engine):
    for name in dir(space):
        assert getattr(space, name) is not None
own = [ct.linear.block, ct.linear.gather, ct.primitive.linear, ct.scalar.read]
assert all(isinstance(one, types.FunctionType) for one in own)
assert ct.grad.__module__ == "catad.derivative.grad" and isinstance(ct.errors, types.ModuleType)
try:
    ct.nothing
except AttributeError as error:
    print(error)
from catad import *
print(grad is ct.grad)
"""
    ran = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True, timeout=120)
    assert ran.stdout.split("\n")[:2] == ["module 'catad' has no attribute 'nothing'", "True"]


ENTRIES = """
import sys
from catad.traced import table
table.load(*sys.argv[1:])
tables = [table.FUNCTIONS, table.PYTHON, table.METHODS, table.UFUNC_METHODS, table.INSTANCES, table.ITEMS]
for k, entries in enumerate(tables):
    for key in entries:
        print(k, key if isinstance(key, str) else table._name_of(key))
for package in table.PACKAGES:
    print("package", package)
"""


def test_every_meaning_is_found_by_its_name() -> None:
    """The names in `traced/table.py` are all that there are: looking for one loads a topic that has it."""
    filled: dict[str, set[str]] = {}
    for topics in (*table._TOPICS, " ".join(table._TOPICS)):
        command = [sys.executable, "-c", ENTRIES, *topics.split()]
        ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
        filled[topics] = set(ran.stdout.splitlines())
    everything = filled.popitem()[1]
    assert len(everything) > 350
    for entry in everything:
        name = entry.split()[1]
        assert any(entry in filled[topic] for topic, names in table._TOPICS.items() if name in names.split()), entry

"""A process loads what it uses: what `import catad` and small programs do not load, and that every name is there all the same."""

from __future__ import annotations

import importlib.util
import os
import py_compile
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

import catad as ct
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
for space in (ct, ct.linear, ct.primitive, ct.engine, ct.simt, ct.testing):
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


@pytest.mark.parametrize(
    ("package", "name", "meant"),
    [
        (ct, "gard", "catad.grad"),
        (ct, "gradient", "catad.grad"),
        (ct, "solve", "catad.linalg.solve"),
        (ct.linalg, "sovle", "catad.linalg.solve"),
    ],
)
def test_a_name_that_is_missing_names_what_is_near(package: Any, name: str, meant: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(package, name)
    said = f"module {package.__name__!r} has no attribute {name!r}; did you mean {meant}"
    assert str(caught.value).startswith(said) and caught.value.name == name


def test_names_are_found_where_there_is_no_source(tmp_path: Path) -> None:
    """As in a program that is packed as bytecode."""
    archive, own = tmp_path / "packed.zip", [name for name in loaded("") if name.partition(".")[0] == "catad"]
    with zipfile.ZipFile(archive, "w") as packed:
        for module in map(importlib.import_module, own):
            made = py_compile.compile(str(module.__file__), str(tmp_path / "one.pyc"), doraise=True)
            packed.write(str(made), Path(str(module.__file__)).relative_to(Path(ct.__file__).parents[1]).with_suffix(".pyc"))
    command = [sys.executable, "-c", "import catad; print(catad.__file__, *catad.__all__)"]
    environment = {**os.environ, "PYTHONPATH": str(archive)}
    ran = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path, env=environment, timeout=120)
    assert ran.stdout.split() == [f"{archive}/catad/__init__.pyc", *ct.__all__] and len(ct.__all__) > 200


ENTRIES = """
import sys
from catad.traced import table
table.load(*sys.argv[1:])
tables = [one for one in vars(table).values() if isinstance(one, table.Table)]
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
    assert len(everything) > 360
    for entry in everything:
        name = entry.split()[1]
        assert any(entry in filled[topic] for topic, names in table._TOPICS.items() if name in names.split()), entry


FORKS = """
import os, warnings
import numpy as np
import catad as ct

warnings.simplefilter("ignore")
ct.function(lambda x: x + 1)(np.ones(3))  # what every function needs is loaded
FLOATS = np.array([0.5, 1.0, -0.0, np.inf, np.nan, -3.5]), np.array([0.5, -1.0, 0.5, 0.0, 1.0, 2.0])
WHOLE = np.array([3, 0, -1, 7]), np.array([2, 1, 1, 3])


def parts(found):
    return [np.asarray(a) for a in (found if type(found) is tuple else (found,))]


def alike(a, b):
    near = np.allclose(a, b, rtol=1e-15, atol=0, equal_nan=True) if a.dtype.kind == "f" else np.array_equal(a, b)
    return a.dtype == b.dtype and near and (a.dtype.kind != "f" or np.array_equal(np.signbit(a[a == a]), np.signbit(b[b == b])))


def compared(ufunc, given):
    want = parts(ufunc(*given))
    try:
        got = parts(ct.function(lambda *x: ufunc(*x))(*given))
    except ct.CatadError as error:
        return f"{type(error).__name__}: {error}".splitlines()[0]
    return "same" if all(map(alike, got, want)) else f"{got} instead of {want}"


for name in sorted(dir(np)):
    ufunc = getattr(np, name)
    if isinstance(ufunc, np.ufunc) and not ufunc.signature:
        for given in FLOATS, WHOLE:
            try:
                ufunc(*given[: ufunc.nin])
            except TypeError:
                continue
            print(name, given[0].dtype, end=": ", flush=True)
            child = os.fork()
            if not child:
                with ct.use_engine("reference"):
                    print(compared(ufunc, given[: ufunc.nin]), flush=True)
                os._exit(0)
            if os.waitpid(child, 0)[1]:
                print("ended")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_a_universal_function_means_the_same_when_it_is_the_first_one() -> None:
    """Whatever else a process has traced: NumPy's dtypes, signs and numbers, or an error with a name."""
    ran = subprocess.run([sys.executable, "-c", FORKS], capture_output=True, text=True, check=True, timeout=300)
    found = dict(line.split(": ", 1) for line in ran.stdout.splitlines())
    refused = {name for name, said in found.items() if said.startswith("TraceError")}
    assert len(found) > 120 and len(refused) < 10
    assert {name: said for name, said in found.items() if said != "same" and name not in refused} == {}

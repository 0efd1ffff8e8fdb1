"""Kernels found on disk without being printed; what is computed otherwise, or printed by another printer, has another name."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import catad as ct
from catad import scalar
from catad.engine import cache_keys
from catad.engine.cpu import whole
from catad.engine.cpu.run import kernel as cpu_kernel
from catad.engine.cpu.run import target
from catad.engine.cuda import kernel as cuda_kernel

from .compiling import cache, script

__all__ = ["cache"]  # a fixture

pytestmark = [
    pytest.mark.skipif(not target.available(), reason="no llvmlite here"),
    pytest.mark.usefixtures("cache"),
    pytest.mark.full_code,
]

PROGRAM = """
import numpy as np
import catad as ct
from catad.engine.text import numbers
from catad.engine.cpu.run import target

printed = []
real = numbers.llvm_function
numbers.llvm_function = lambda *given: (printed.append(given), real(*given))[1]


def collatz(x):
    steps = 0.0
    while x > 1.5:
        x = x * 0.5 if x > 3.0 else x - 1.0
        steps = steps + 1.0
    return steps * x


f = ct.map(collatz) >> ct.fork(ct.scan(lambda a, b: a + b - a * b, 0.0), ct.id)
h = ct.histogram(lambda a, b: a + b - a * b, 0.0, 5)
x = np.linspace(0.0, 9.0, 40)
with ct.use_engine("cpu"):
    made = [*f(x), ct.grad(f >> ct.exl >> ct.sum())(x), h((np.arange(40) % 5, x))]
print(len(printed), target.counts["compiled"], target.counts["loaded"], [float(a.sum()).hex() for a in made])
"""


@pytest.fixture
def run(cache, tmp_path):
    """The program in a process of its own, after other lines: what it says that it did."""

    def run_after(lines: str = "") -> list[str]:
        file = tmp_path / "program.py"  # loops are read from a file
        file.write_text(f"{lines}\n{PROGRAM}")
        return script(cache, f"import runpy; runpy.run_path({str(file)!r})").split(maxsplit=3)

    return run_after


def test_a_second_process_compiles_nothing(run) -> None:
    printed, compiled, loaded, sums = run()
    assert int(printed) > 0 and int(compiled) > 0 and int(loaded) == 0
    _, compiled_again, loaded_again, sums_again = run()
    assert (compiled_again, loaded_again, sums_again) == ("0", compiled, sums)


@pytest.mark.parametrize("made_by", ["'another'", "None"])
def test_another_printer_compiles_anew(run, made_by: str) -> None:
    first = run()
    assert run(f"from catad.engine import cache_keys\ncache_keys.sources = lambda _: {made_by}") == first


def test_every_file_that_writes_machine_code_decides_about_its_key() -> None:
    """A file that uses the writer of LLVM text lies in a folder whose files are part of the keys."""
    package = Path(ct.__file__).parent
    places = (*cache_keys.SHARED, *cpu_kernel.FOLDERS, *cuda_kernel.FOLDERS, "testing")
    text = {path: path.read_text(encoding="utf-8") for path in package.rglob("*.py")}
    writing = [path for path in text if "llvm_writer" in text[path]] + [package / "values" / "formats.py"]
    assert len(writing) > 20 and all(any((package / place) in path.parents for place in places) for path in writing)


def test_a_key_is_another_when_a_file_within_a_folder_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in cache_keys.SHARED:
        (tmp_path / place / "within").mkdir(parents=True)
    file = tmp_path / "scalar" / "within" / "printer.py"
    file.write_text("1")
    monkeypatch.setattr(cache_keys.version, "__file__", str(tmp_path / "version.py"))
    first = cache_keys.sources.__wrapped__(())
    file.write_text("22")
    assert None not in (first, cache_keys.sources.__wrapped__(())) and first != cache_keys.sources.__wrapped__(())


FUNCTIONS = [
    lambda x: x * 2, lambda x: x * 2.0, lambda x: x * np.float64(2.0), lambda x: x * np.float32(2.0), lambda x: 2.0 + x,
    lambda x: x * 0.0, lambda x: x * -0.0, lambda x: x * np.nan, lambda x: x * 2 if x > 0 else x,
    lambda x: x * 2 if x >= 0 else x, lambda x: np.sin(x), lambda x: np.cos(x), lambda x: (x, x), lambda x: ((x,), x),
]  # fmt: skip


def test_a_text_for_each_function() -> None:
    read = [scalar.read(f) for f in FUNCTIONS]
    texts = [cache_keys.written(f) for f in read]
    assert len(set(texts)) == len(set(read)) == len(FUNCTIONS)
    assert [cache_keys.written(scalar.read(f)) for f in FUNCTIONS] == texts


@pytest.mark.parametrize("value", [object(), {}, np.ones(2), (1, [b""])])
def test_what_has_no_text_has_no_key(value: object) -> None:
    with pytest.raises(TypeError):
        cache_keys.written(value)
    assert cache_keys.key_of(type(value), (value,), ()) is None


def test_kernels_without_keys_run(monkeypatch) -> None:
    monkeypatch.setattr(cache_keys, "sources", lambda _: None)
    with ct.use_engine("cpu"):
        assert np.array_equal(ct.map(lambda x: x * 7.125)(np.ones(8)), np.full(8, 7.125))


def test_every_file_with_writers_is_loaded_with_the_driver() -> None:
    """A writer that nobody imports would not be missed: its boxes would run as array code."""
    folder = Path(whole.__file__).parent
    having = {file.stem for file in folder.glob("*.py") if re.search(r"^WRITERS\b.*=", file.read_text(encoding="utf-8"), re.M)}
    text = "import sys, catad.engine.cpu.whole.run\nprint(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True, timeout=120)
    assert len(having) >= 5 and {name for name in having if f"{whole.__name__}.{name}" not in ran.stdout.split()} == set()

"""LLVM text is written by one class, for scalar functions and kernels alike; dtypes without machine code are refused by both."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import catad
from catad import scalar
from catad.engine.text.numbers import called, load, memory_type
from catad.errors import CannotPrint
from catad.scalar.printing.llvm_writer import Writer, literal, llvm_type

ROOT = Path(catad.__file__).parent


def test_one_class_writes_llvm_text() -> None:
    found = [
        f"{path.relative_to(ROOT)}"
        for path in ROOT.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef) and node.name == "Writer"
    ]
    assert found == ["scalar/printing/llvm_writer.py"]


@pytest.mark.parametrize("dtype", [np.float16, np.longdouble])
def test_kernels_and_scalar_functions_refuse_the_same_dtypes(dtype: type) -> None:
    function = scalar.Function.make(1, [scalar.apply("neg", scalar.param(0))])
    for refused in (
        lambda: llvm_type(np.dtype(dtype)),
        lambda: memory_type(np.dtype(dtype)),
        lambda: load(Writer(), "%p", np.dtype(dtype)),
        lambda: scalar.llvm_function(function, [dtype], "f"),
    ):
        with pytest.raises(CannotPrint, match=np.dtype(dtype).name):
            refused()


def test_a_scalar_function_is_printed_once_for_all_functions_of_a_module() -> None:
    w, double = Writer(), np.dtype(np.float64)
    function = scalar.Function.make(1, [scalar.apply("add", scalar.param(0), scalar.const(1.0))])
    for writer in (w, w.beside()):
        (made,) = called(writer, function, [double], [literal(2.0, double)])
        assert made == "%v2" and writer.lines[0] == "  %v1 = call {double} @f0(double 0x4000000000000000)"
    assert w.module([]).count("define internal") == 1

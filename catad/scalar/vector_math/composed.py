"""The functions of this package by name and dtype."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import FunctionType
from typing import cast

import numpy as np

from catad.errors import CannotPrint
from catad.scalar.ir import Function
from catad.scalar.reading.find_source import find_source
from catad.scalar.reading.read import read
from catad.scalar.vector_math.argument_reduction import far_circular
from catad.scalar.vector_math.circular import circular, far, inverse_circular
from catad.scalar.vector_math.error_function import error_function
from catad.scalar.vector_math.exponential import exponentials
from catad.scalar.vector_math.formats import Format, ScalarFunction
from catad.scalar.vector_math.gamma import digammas, gammas
from catad.scalar.vector_math.logarithm import logarithms
from catad.scalar.vector_math.parts import parts
from catad.scalar.vector_math.polygamma import polygamma
from catad.scalar.vector_math.power import power
from catad.scalar.vector_math.remainders import far_fmod, longest_quotient, remainders
from catad.values.formats import FORMATS, format_of

FAMILIES = parts, remainders, exponentials, logarithms, circular, inverse_circular, power, error_function, gammas, digammas


@cache
def _functions(f: Format) -> Mapping[str, ScalarFunction]:
    found: dict[str, ScalarFunction] = {}
    for family in FAMILIES:
        found |= family(f)
    return found


@cache
def composed(op: str, dtype: np.dtype, value: object = None) -> Function | None:
    """The scalar function of one result that an operation on floats of this dtype is said as, or None.

    `value` is the order of `polygamma`.

    >>> from catad.scalar.printing.array_code import array_function
    >>> array_function(composed("exp", np.dtype("float32")))(np, np.array([0.0, 1.0], np.float32))
    (array([1.       , 2.7182817], dtype=float32),)
    """
    if dtype.type not in FORMATS:
        return None
    f = format_of(dtype)
    if op == "polygamma" and value != 0:
        return _read(polygamma(f, int(str(value))), op)
    found = _functions(f).get("digamma" if op == "polygamma" else op)
    return None if found is None else _read(found, op)


def _read(function: ScalarFunction, op: str) -> Function:
    if find_source(cast(FunctionType, function)) is None:
        raise CannotPrint(f"the function {op}", "catad is installed without the source of its own functions")
    return read(function).renamed(op)


def reach(op: str, dtype: np.dtype) -> float | None:
    """Up to which size of its number the function holds, for a function of two numbers of their quotient; None: everywhere."""
    f = format_of(dtype)
    return far(f) if op in ("sin", "cos", "tan") else longest_quotient(f) if op == "fmod" else None


@cache
def beyond_reach(op: str) -> Function:
    """The function for numbers beyond the reach, in float64: slower, and with branches that are hardly ever taken."""
    return _read(far_fmod if op == "fmod" else far_circular()[op], op)

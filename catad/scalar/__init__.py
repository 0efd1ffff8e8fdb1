"""The scalar language: reads plain Python functions of numbers, simplifies, types and differentiates them, and prints
them as array code and as LLVM IR.

>>> import numpy as np
>>> f = read(lambda x: x * x if x > 0 else 0.0)
>>> array_function(f)(np, np.array([-1.0, 3.0]))
(array([0., 9.]),)
>>> partials(f, [0])
((select(gt(x0, 0), add(x0, x0), 0.0),),)
"""

from __future__ import annotations

from ..errors import NeedsTree
from .alone import dtypes_alone, parameters, types_alone
from .array_code import array_function, array_source
from .bytecode import refuse_kind
from .dtypes import Type, promote, result_types, typed
from .duals import partials, value_and_partials
from .ir import Function, Loop, Node, Tree, const, constant, leaf_count, leaves, param, postorder, tree_of, unflatten
from .llvm import STOP_FLAG, llvm_function
from .llvm_writer import LlvmFunction
from .loops import pruned
from .ops import OPS
from .read import read
from .recognise import commutes, recognise
from .rules import CHOICES, PARTIALS
from .signatures import arity_of
from .simplify import apply, cast, substitute, truth
from .vocabulary import Word, operations, vocabulary

__all__ = [
    "CHOICES",
    "OPS",
    "PARTIALS",
    "STOP_FLAG",
    "Function",
    "LlvmFunction",
    "Loop",
    "NeedsTree",
    "Node",
    "Tree",
    "Type",
    "Word",
    "apply",
    "arity_of",
    "array_function",
    "array_source",
    "cast",
    "commutes",
    "const",
    "constant",
    "dtypes_alone",
    "leaf_count",
    "leaves",
    "llvm_function",
    "operations",
    "param",
    "parameters",
    "partials",
    "postorder",
    "promote",
    "pruned",
    "read",
    "recognise",
    "refuse_kind",
    "result_types",
    "substitute",
    "tree_of",
    "truth",
    "typed",
    "types_alone",
    "unflatten",
    "value_and_partials",
    "vocabulary",
]

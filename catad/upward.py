"""The functions of upper layers that lower layers call, imported when the first of them is called (`late.py`)."""

from catad.calling import call_term
from catad.derive import linearize
from catad.domains import at_domain, program_at
from catad.drawing.diagram import draw
from catad.drawing.pattern import cells_of, pattern
from catad.engine.ahead import source
from catad.engine.notices import notice
from catad.engine.program import Program, cost_of, program_of, run, run_product, run_structure
from catad.engine.run import finished
from catad.fronts import at_space, front_of, is_of_plain_function
from catad.functors import Differential as differential
from catad.functors import ReverseDifferential as reverse_differential
from catad.functors import Tangent as tangent
from catad.functors import linearised
from catad.kept import kept_of_step
from catad.linear.constructors import identity as identity_map
from catad.linear.constructors import join as joined
from catad.linear.constructors import scale as scaling
from catad.linear.constructors import sparse
from catad.linear.entries import diagonal as diagonal_of
from catad.linear.entries import of_array as entries_of_array
from catad.linear.one_by_one import one_by_one
from catad.linear.products import cost_of_wiring
from catad.linear.solving import general as general_solver
from catad.planner.plan import plan
from catad.planner.problems.chain_plan import plan_chain
from catad.planner.problems.graph_plan import plan_graph
from catad.point_free import point_free
from catad.program_text import bound_names, program_code, program_lines, program_text
from catad.rearrange import exl, exr
from catad.spaces import space_of
from catad.syntax import code_of, packed
from catad.terms import identity
from catad.traced.function import function_term
from catad.traced.names.making import from_nested as stand_in_array
from catad.vector.batching import Lanes as lanes
from catad.vector.by_hand import by_hand
from catad.vector.constant import Constant, const
from catad.vector.contract import matmul
from catad.vector.loop import after
from catad.vector.looped import looped
from catad.vector.map import map
from catad.vector.pointwise import add, astype, neg, sub, times, with_numbers
from catad.vector.shape import broadcast_to, concatenate, reshape, transpose
from catad.vector.ufuncs.logic import where
from catad.wiring import codomain, wire

__all__ = [
    "Constant",
    "Program",
    "add",
    "after",
    "astype",
    "at_domain",
    "at_space",
    "bound_names",
    "broadcast_to",
    "by_hand",
    "call_term",
    "cells_of",
    "code_of",
    "codomain",
    "concatenate",
    "const",
    "cost_of",
    "cost_of_wiring",
    "diagonal_of",
    "differential",
    "draw",
    "entries_of_array",
    "exl",
    "exr",
    "finished",
    "front_of",
    "function_term",
    "general_solver",
    "identity",
    "identity_map",
    "is_of_plain_function",
    "joined",
    "kept_of_step",
    "lanes",
    "linearised",
    "linearize",
    "looped",
    "map",
    "matmul",
    "neg",
    "notice",
    "one_by_one",
    "packed",
    "pattern",
    "plan",
    "plan_chain",
    "plan_graph",
    "point_free",
    "program_at",
    "program_code",
    "program_lines",
    "program_of",
    "program_text",
    "reshape",
    "reverse_differential",
    "run",
    "run_product",
    "run_structure",
    "scaling",
    "source",
    "space_of",
    "sparse",
    "stand_in_array",
    "sub",
    "tangent",
    "times",
    "transpose",
    "where",
    "wire",
    "with_numbers",
]

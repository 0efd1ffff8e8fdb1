"""The functions of upper layers that lower layers call, each imported when it is first called (`late.py`)."""

from typing import TYPE_CHECKING

from catad.first_use import first_use

if TYPE_CHECKING:
    from catad.calling import call_term as call_term
    from catad.derive import linearize as linearize
    from catad.domains import at_domain as at_domain
    from catad.domains import program_at as program_at
    from catad.drawing.diagram import draw as draw
    from catad.drawing.pattern import cells_of as cells_of
    from catad.drawing.pattern import pattern as pattern
    from catad.engine.ahead import source as source
    from catad.engine.notices import notice as notice
    from catad.engine.program import Program as Program
    from catad.engine.program import cost_of as cost_of
    from catad.engine.program import program_of as program_of
    from catad.engine.program import run as run
    from catad.engine.program import run_product as run_product
    from catad.engine.program import run_structure as run_structure
    from catad.engine.run import finished as finished
    from catad.fronts import at_space as at_space
    from catad.fronts import front_of as front_of
    from catad.fronts import is_of_plain_function as is_of_plain_function
    from catad.functors import Differential, ReverseDifferential, Tangent
    from catad.functors import linearised as linearised
    from catad.kept import kept_of_step as kept_of_step
    from catad.linear import constructors as _constructors
    from catad.linear.constructors import sparse as sparse
    from catad.linear.entries import diagonal, of_array
    from catad.linear.one_by_one import one_by_one as one_by_one
    from catad.linear.products import cost_of_wiring as cost_of_wiring
    from catad.linear.solving import general
    from catad.planner.plan import plan as plan
    from catad.planner.problems.chain_plan import plan_chain as plan_chain
    from catad.planner.problems.graph_plan import plan_graph as plan_graph
    from catad.point_free import point_free as point_free
    from catad.program_text import bound_names as bound_names
    from catad.program_text import program_code as program_code
    from catad.program_text import program_lines as program_lines
    from catad.program_text import program_text as program_text
    from catad.rearrange import exl as exl
    from catad.rearrange import exr as exr
    from catad.spaces import space_of as space_of
    from catad.syntax import code_of as code_of
    from catad.syntax import packed as packed
    from catad.terms import D as _D
    from catad.traced.function import function_term as function_term
    from catad.traced.names.making import from_nested
    from catad.vector.batching import Lanes
    from catad.vector.by_hand import by_hand as by_hand
    from catad.vector.constant import Constant as Constant
    from catad.vector.constant import const as const
    from catad.vector.contract import matmul as matmul
    from catad.vector.loop import after as after
    from catad.vector.looped import looped as looped
    from catad.vector.map import map as map
    from catad.vector.pointwise import add as add
    from catad.vector.pointwise import astype as astype
    from catad.vector.pointwise import neg as neg
    from catad.vector.pointwise import operated as operated
    from catad.vector.pointwise import sub as sub
    from catad.vector.pointwise import times as times
    from catad.vector.pointwise import with_numbers as with_numbers
    from catad.vector.shape import broadcast_to as broadcast_to
    from catad.vector.shape import concatenate as concatenate
    from catad.vector.shape import reshape as reshape
    from catad.vector.shape import transpose as transpose
    from catad.vector.ufuncs.logic import where as where
    from catad.wiring import codomain as codomain
    from catad.wiring import wire as wire

    differential = Differential
    reverse_differential = ReverseDifferential
    tangent = Tangent
    identity_map = _constructors.identity
    joined = _constructors.join
    scaling = _constructors.scale
    diagonal_of = diagonal
    entries_of_array = of_array
    general_solver = general
    stand_in_array = from_nested
    lanes = Lanes
    identity: _D

first_use(__name__, {
    "calling": "call_term",
    "derive": "linearize",
    "domains": "at_domain program_at",
    "drawing.diagram": "draw",
    "drawing.pattern": "cells_of pattern",
    "engine.ahead": "source",
    "engine.notices": "notice",
    "engine.program": "Program cost_of program_of run run_product run_structure",
    "engine.run": "finished",
    "fronts": "at_space front_of is_of_plain_function",
    "functors": "Differential:differential ReverseDifferential:reverse_differential Tangent:tangent linearised",
    "kept": "kept_of_step",
    "linear.constructors": "identity:identity_map join:joined scale:scaling sparse",
    "linear.entries": "diagonal:diagonal_of of_array:entries_of_array",
    "linear.one_by_one": "one_by_one",
    "linear.products": "cost_of_wiring",
    "linear.solving": "general:general_solver",
    "planner.plan": "plan",
    "planner.problems.chain_plan": "plan_chain",
    "planner.problems.graph_plan": "plan_graph",
    "point_free": "point_free",
    "program_text": "bound_names program_code program_lines program_text",
    "rearrange": "exl exr",
    "spaces": "space_of",
    "syntax": "code_of packed",
    "terms": "identity",
    "traced.function": "function_term",
    "traced.names.making": "from_nested:stand_in_array",
    "vector.batching": "Lanes:lanes",
    "vector.by_hand": "by_hand",
    "vector.constant": "Constant const",
    "vector.contract": "matmul",
    "vector.loop": "after",
    "vector.looped": "looped",
    "vector.map": "map",
    "vector.pointwise": "add astype neg operated sub times with_numbers",
    "vector.shape": "broadcast_to concatenate reshape transpose",
    "vector.ufuncs.logic": "where",
    "wiring": "codomain wire",
})  # fmt: skip

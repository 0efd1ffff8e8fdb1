"""The functions of upper layers that lower layers call, by one late import each (`terms.above`).

The methods of `D`, `Wire` and `LinearMap` run functors that live above them; everything else imports downwards only.
"""

from catad import syntax
from catad.derive import linearize
from catad.drawing.diagram import draw
from catad.drawing.pattern import cells_of, pattern
from catad.engine.ahead import source
from catad.engine.notices import notice
from catad.engine.program import Program, cost_of, program_of, run, run_product, run_structure
from catad.engine.run import finished
from catad.functors import differential, linearised, reverse_differential, tangent
from catad.linear import constructors, entries, solving
from catad.linear.one_by_one import one_by_one
from catad.linear.products import cost_of_wiring
from catad.planner.plan import plan
from catad.rearrange import exl, exr
from catad.spaces import space_of
from catad.terms import D, fork
from catad.vector.by_hand import by_hand
from catad.vector.constant import Constant, const
from catad.vector.contract import matmul
from catad.vector.map import map
from catad.vector.pointwise import add, astype, neg, scaled, sub, with_numbers
from catad.wiring import codomain, wire

__all__ = [
    "Constant",
    "D",
    "Program",
    "add",
    "astype",
    "by_hand",
    "cells_of",
    "codomain",
    "const",
    "constructors",
    "cost_of",
    "cost_of_wiring",
    "differential",
    "draw",
    "entries",
    "exl",
    "exr",
    "finished",
    "fork",
    "linearised",
    "linearize",
    "map",
    "matmul",
    "neg",
    "notice",
    "one_by_one",
    "pattern",
    "plan",
    "program_of",
    "reverse_differential",
    "run",
    "run_product",
    "run_structure",
    "scaled",
    "solving",
    "source",
    "space_of",
    "sub",
    "syntax",
    "tangent",
    "wire",
    "with_numbers",
]

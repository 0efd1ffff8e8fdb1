"""What the lower layers call of the upper ones, by one late import each (`terms.above`).

The methods of `D`, `Wire` and `LinearMap` run functors that live above them; everything else imports downwards only.
"""

from catad.drawing.diagram import draw
from catad.drawing.pattern import pattern
from catad.engine.program import run, run_product, run_structure, run_wiring
from catad.spaces import space_of
from catad.terms import D
from catad.vector.by_hand import by_hand
from catad.vector.constant import const
from catad.vector.pointwise import add, astype, neg, scaled, sub, with_numbers
from catad.wiring import wire

__all__ = [
    "D",
    "add",
    "astype",
    "by_hand",
    "const",
    "draw",
    "neg",
    "pattern",
    "run",
    "run_product",
    "run_structure",
    "run_wiring",
    "scaled",
    "space_of",
    "sub",
    "wire",
    "with_numbers",
]

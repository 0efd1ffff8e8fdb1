"""The functions of upper rooms that lower rooms call, each imported when it is first called (`support/late.py`)."""

from typing import TYPE_CHECKING

from catad.support.lazy_names import first_use

if TYPE_CHECKING:
    from catad.derivative.functors import Differential as Differential
    from catad.derivative.functors import ReverseDifferential as ReverseDifferential
    from catad.derivative.functors import Tangent as Tangent
    from catad.derivative.functors import linearised as linearised
    from catad.drawing.diagram import draw as draw
    from catad.drawing.pattern import pattern as pattern
    from catad.engine.aot import source as source
    from catad.engine.program import Program as Program
    from catad.engine.program import cost_of as cost_of
    from catad.engine.program import program_of as program_of
    from catad.engine.program import run as run
    from catad.engine.program import run_product as run_product
    from catad.engine.program import run_structure as run_structure
    from catad.engine.run import finished as finished
    from catad.front.domains import at_domain as at_domain
    from catad.front.domains import program_at as program_at
    from catad.front.specialise import at_space as at_space
    from catad.front.specialise import front_of as front_of
    from catad.front.specialise import is_of_plain_function as is_of_plain_function
    from catad.jacobians.at_point import linearize as linearize
    from catad.jacobians.min_cut import kept_of_step as kept_of_step
    from catad.linear.batch_by_loop import one_by_one as one_by_one
    from catad.planner.plan import plan as plan
    from catad.traced.function import function_term as function_term
    from catad.vector.custom_derivative import by_hand as by_hand
    from catad.vector.folds.contract import matmul as matmul
    from catad.vector.loops.loop import after as after
    from catad.vector.pointwise.logic import where as where
    from catad.vector.pointwise.map import map as map
    from catad.vector.pointwise.operators import astype as astype
    from catad.vector.pointwise.operators import neg as neg
    from catad.vector.pointwise.operators import operated as operated
    from catad.vector.pointwise.operators import times as times
    from catad.vector.pointwise.operators import with_numbers as with_numbers
    from catad.vector.shapes.shape import concatenate as concatenate
    from catad.vector.shapes.shape import reshape as reshape
    from catad.vector.shapes.shape import transpose as transpose

first_use(__name__)

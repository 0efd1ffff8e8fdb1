"""The functions of upper rooms that lower rooms call, each imported when it is first called.

Every other import goes downwards. A name stands here with the reason why its caller cannot stand above it.
"""

from typing import TYPE_CHECKING

from catad.support.lazy_names import first_use

if TYPE_CHECKING:
    # chunks: arrays in blocks choose their engine, and say what library they are of
    from catad.chunks.engine import IN_BLOCKS as IN_BLOCKS
    from catad.chunks.libraries import library_of as library_of  # an array of Dask
    from catad.chunks.report import plan_chunks as plan_chunks  # f.plan_chunks(x)

    # dask: the library of an array of Dask, which is imported by those who use it
    from catad.dask.library import DASK as DASK

    # derivative: the rule of a box with a morphism in it is the functor on that morphism
    from catad.derivative.functors import Differential as Differential
    from catad.derivative.functors import ReverseDifferential as ReverseDifferential
    from catad.derivative.functors import Tangent as Tangent
    from catad.derivative.functors import linearised as linearised

    # drawing: methods of morphisms, linear maps and profiles; notebooks show their pages
    from catad.drawing.diagram import draw as draw
    from catad.drawing.of_map import map_page as map_page
    from catad.drawing.of_profile import profile_page as profile_page
    from catad.drawing.of_profile import runs_over_time as runs_over_time
    from catad.drawing.of_term import term_page as term_page
    from catad.drawing.pattern import pattern as pattern

    # engine: calling a morphism, a linear map or a box that has programs in it runs them
    from catad.engine.aot import source as source  # f.source("llvm")
    from catad.engine.program import Program as Program  # L.todense(), and f at wires of numbers
    from catad.engine.program import cost_of as cost_of  # what a box with programs in it costs
    from catad.engine.program import program_of as program_of  # the step of a loop's box
    from catad.engine.program import run as run  # f(x)
    from catad.engine.program import run_product as run_product  # L >> M
    from catad.engine.program import run_structure as run_structure
    from catad.engine.run import finished as finished  # a box with programs in it, as array code

    # equations: the functions of scipy.integrate and scipy.optimize in traced functions
    from catad.equations.fixed_point import fixed_point as fixed_point
    from catad.equations.least_squares import least_squares as least_squares
    from catad.equations.minimize import minimize as minimize
    from catad.equations.ode.odeint import odeint as odeint
    from catad.equations.quad import quad as quad
    from catad.equations.root import root as root

    # traced and front: a term with a Python function in it is laid out at the trees of its arguments
    from catad.front.complex_arrays import speaking as speaking  # f(z) of complex arrays
    from catad.front.domains import at_domain as at_domain  # ct.wire(f, ...)
    from catad.front.domains import codomain_at as codomain_at  # f.spaces(...)
    from catad.front.domains import program_at as program_at  # f.at(...)
    from catad.front.specialise import argument_names as argument_names  # ct.grad(f, argnums="rate") asks
    from catad.front.specialise import at_space as at_space
    from catad.front.specialise import front_of as front_of  # f(x) of such a term
    from catad.front.specialise import is_of_plain_function as is_of_plain_function  # ct.grad(f) asks

    # jacobians: what a loop keeps of its steps is what a pullback keeps of a point; a plan linearises
    from catad.jacobians.at_point import linearize as linearize
    from catad.jacobians.min_cut import kept_of_step as kept_of_step

    # linear: the batched form of a box without a rule for it
    from catad.linear.batch_by_loop import one_by_one as one_by_one

    # planner: a chain of maps is written out in the order of a plan; a plan of chunks is shown as plans are
    from catad.planner.plan import plan as plan
    from catad.planner.reports.of_chunks import chunks_page as chunks_page
    from catad.planner.reports.of_chunks import stages as stages

    # traced: a linear map whose numbers are stand-ins
    from catad.traced.arrays.stand_in import apply_term as apply_term
    from catad.traced.function import function_term as function_term  # wherever a morphism is expected, a function may stand

    # vector: the operators of morphisms and wires are boxes of the vocabulary, and so is what makes an array of a linear map
    from catad.vector.custom_derivative import by_hand as by_hand  # D(fn), the constructor of a class of the category
    from catad.vector.folds.contract import matmul as matmul  # wire @ wire
    from catad.vector.loops.loop import after as after  # a wiring orders what must run by a loop's box
    from catad.vector.pointwise.logic import where as where
    from catad.vector.pointwise.map import map as map
    from catad.vector.pointwise.operators import astype as astype
    from catad.vector.pointwise.operators import neg as neg  # -f
    from catad.vector.pointwise.operators import operated as operated  # f + g and its like
    from catad.vector.pointwise.operators import times as times  # 2 * f
    from catad.vector.pointwise.operators import with_numbers as with_numbers  # wire + 2
    from catad.vector.shapes.shape import concatenate as concatenate
    from catad.vector.shapes.shape import reshape as reshape
    from catad.vector.shapes.shape import transpose as transpose

first_use(__name__)

"""catad: automatic differentiation by composing differentiable functions.

This module has the public names, and nothing else; each is loaded when it is first used. `catad.linear` has constructors of
linear maps, `catad.primitive` the tools for new primitives, `catad.testing` laws and checkers. `dir(catad)` lists it, and `help`
of each name says shapes, dtypes, derivative and errors.

>>> import catad as ct, numpy as np
>>> ct.value_and_grad(ct.square >> ct.sum())(np.array([1.0, 2.0]))
(np.float64(5.0), array([2., 4.]))
"""

import typing as _typing

from catad.engine.cpu.run import thread_limits as _thread_limits
from catad.support.lazy_names import first_use as _first_use
from catad.version import __version__ as __version__

if _typing.TYPE_CHECKING:  # the names of the table below, as type checkers read them, and two modules that are no public names
    from catad import engine as engine
    from catad import errors as errors
    from catad import linear as linear
    from catad import primitive as primitive
    from catad import scalar as scalar
    from catad import simt as simt
    from catad import testing as testing
    from catad.category.cartesian import assoc_l as assoc_l
    from catad.category.cartesian import assoc_r as assoc_r
    from catad.category.cartesian import compose as compose
    from catad.category.cartesian import cross as cross
    from catad.category.cartesian import dup as dup
    from catad.category.cartesian import exl as exl
    from catad.category.cartesian import exr as exr
    from catad.category.cartesian import fork as fork
    from catad.category.cartesian import it as it
    from catad.category.cartesian import proj as proj
    from catad.category.cartesian import swap as swap
    from catad.category.constant import const as const
    from catad.category.spaces import Product as Product
    from catad.category.spaces import Space as Space
    from catad.category.spaces import Tensor as Tensor
    from catad.category.spaces import Unit as Unit
    from catad.category.spaces import bool_ as bool_
    from catad.category.spaces import f32 as f32
    from catad.category.spaces import f64 as f64
    from catad.category.spaces import i8 as i8
    from catad.category.spaces import i16 as i16
    from catad.category.spaces import i32 as i32
    from catad.category.spaces import i64 as i64
    from catad.category.spaces import product as product
    from catad.category.spaces import space_of as space_of
    from catad.category.spaces import tangent_space as tangent_space
    from catad.category.spaces import u8 as u8
    from catad.category.spaces import u16 as u16
    from catad.category.spaces import u32 as u32
    from catad.category.spaces import u64 as u64
    from catad.category.terms import D as D
    from catad.category.wiring import wire as wire
    from catad.derivative.functors import differential as differential
    from catad.derivative.functors import reverse_differential as reverse_differential
    from catad.derivative.functors import tangent as tangent
    from catad.derivative.grad import grad as grad
    from catad.derivative.grad import value_and_grad as value_and_grad
    from catad.engine.aot import compile as compile
    from catad.engine.choice import use_engine as use_engine
    from catad.engine.counting import count as count
    from catad.engine.cpu.run.threads import get_num_threads as get_num_threads
    from catad.engine.cpu.run.threads import num_threads as num_threads
    from catad.engine.cpu.run.threads import set_default_num_threads as set_default_num_threads
    from catad.engine.cpu.run.threads import set_num_threads as set_num_threads
    from catad.engine.profile import profile as profile
    from catad.engine.synchronize import synchronize as synchronize
    from catad.errors import ArgumentError as ArgumentError
    from catad.errors import CatadError as CatadError
    from catad.errors import CatadNotice as CatadNotice
    from catad.errors import ConvergenceError as ConvergenceError
    from catad.errors import DenseLimitError as DenseLimitError
    from catad.errors import DepthError as DepthError
    from catad.errors import DerivativeError as DerivativeError
    from catad.errors import DeviceError as DeviceError
    from catad.errors import EngineError as EngineError
    from catad.errors import ExtensionError as ExtensionError
    from catad.errors import IndexRangeError as IndexRangeError
    from catad.errors import LawError as LawError
    from catad.errors import MonoidError as MonoidError
    from catad.errors import NonFiniteError as NonFiniteError
    from catad.errors import NumberRangeError as NumberRangeError
    from catad.errors import OutOfMemoryError as OutOfMemoryError
    from catad.errors import PlanError as PlanError
    from catad.errors import ScalarError as ScalarError
    from catad.errors import SolveError as SolveError
    from catad.errors import SpaceError as SpaceError
    from catad.errors import TraceError as TraceError
    from catad.front.vmap import vmap as vmap
    from catad.jacobians.at_point import hvp as hvp
    from catad.jacobians.at_point import jvp as jvp
    from catad.jacobians.at_point import linearize as linearize
    from catad.jacobians.at_point import vjp as vjp
    from catad.jacobians.jacobian import hessian as hessian
    from catad.jacobians.jacobian import jacfwd as jacfwd
    from catad.jacobians.jacobian import jacobian as jacobian
    from catad.jacobians.jacobian import jacrev as jacrev
    from catad.linear.constructors import compForward as compForward
    from catad.linear.constructors import compReverse as compReverse
    from catad.linear.constructors import inl as inl
    from catad.linear.constructors import inr as inr
    from catad.linear.constructors import jam as jam
    from catad.linear.constructors import scale as scale
    from catad.linear.map import LinearMap as LinearMap
    from catad.planner.costs.cost_profile import CostProfile as CostProfile
    from catad.planner.graph import Graph as Graph
    from catad.planner.plan import Plan as Plan
    from catad.planner.plan import plan as plan
    from catad.planner.problems.chain_plan import plan_chain as plan_chain
    from catad.planner.problems.graph_plan import plan_graph as plan_graph
    from catad.simt.kernel import kernel as kernel
    from catad.traced.control.unrolled import unrolled as unrolled
    from catad.traced.debug import debug_nans as debug_nans
    from catad.traced.debug import debug_print as debug_print
    from catad.traced.function import function as function
    from catad.vector.bins.histogram import histogram as histogram
    from catad.vector.bins.histogram import reduce_by_index as reduce_by_index
    from catad.vector.bins.searchsorted import searchsorted as searchsorted
    from catad.vector.bins.sort import argsort as argsort
    from catad.vector.bins.sort import sort as sort
    from catad.vector.folds.contract import dot as dot
    from catad.vector.folds.contract import einsum as einsum
    from catad.vector.folds.contract import matmul as matmul
    from catad.vector.folds.contract import outer as outer
    from catad.vector.folds.fold import fold as fold
    from catad.vector.folds.moments import mean as mean
    from catad.vector.folds.moments import std as std
    from catad.vector.folds.moments import var as var
    from catad.vector.folds.monoid import Monoid as Monoid
    from catad.vector.folds.monoid import monoid as monoid
    from catad.vector.folds.norm import norm as norm
    from catad.vector.folds.reduce import all as all
    from catad.vector.folds.reduce import any as any
    from catad.vector.folds.reduce import argmax as argmax
    from catad.vector.folds.reduce import argmin as argmin
    from catad.vector.folds.reduce import max as max
    from catad.vector.folds.reduce import min as min
    from catad.vector.folds.reduce import prod as prod
    from catad.vector.folds.softmax import logsumexp as logsumexp
    from catad.vector.folds.softmax import softmax as softmax
    from catad.vector.indexing.at import at as at
    from catad.vector.indexing.gather import gather as gather
    from catad.vector.indexing.gather import scatter as scatter
    from catad.vector.indexing.gather import scatter_add as scatter_add
    from catad.vector.indexing.keys import arg as arg
    from catad.vector.indexing.subscript import index as index
    from catad.vector.indexing.take import take as take
    from catad.vector.lift import lift as lift
    from catad.vector.loops.checkpoint import checkpoint as checkpoint
    from catad.vector.loops.choose import choose as choose
    from catad.vector.loops.loop import iterate as iterate
    from catad.vector.loops.loop import while_loop as while_loop
    from catad.vector.loops.sweep import sweep as sweep
    from catad.vector.pointwise.arithmetic import abs as abs
    from catad.vector.pointwise.arithmetic import absolute as absolute
    from catad.vector.pointwise.arithmetic import add as add
    from catad.vector.pointwise.arithmetic import cbrt as cbrt
    from catad.vector.pointwise.arithmetic import ceil as ceil
    from catad.vector.pointwise.arithmetic import clip as clip
    from catad.vector.pointwise.arithmetic import copysign as copysign
    from catad.vector.pointwise.arithmetic import div as div
    from catad.vector.pointwise.arithmetic import divide as divide
    from catad.vector.pointwise.arithmetic import floor as floor
    from catad.vector.pointwise.arithmetic import floordiv as floordiv
    from catad.vector.pointwise.arithmetic import fma as fma
    from catad.vector.pointwise.arithmetic import fmax as fmax
    from catad.vector.pointwise.arithmetic import fmin as fmin
    from catad.vector.pointwise.arithmetic import fmod as fmod
    from catad.vector.pointwise.arithmetic import hypot as hypot
    from catad.vector.pointwise.arithmetic import ldexp as ldexp
    from catad.vector.pointwise.arithmetic import maximum as maximum
    from catad.vector.pointwise.arithmetic import minimum as minimum
    from catad.vector.pointwise.arithmetic import mod as mod
    from catad.vector.pointwise.arithmetic import mul as mul
    from catad.vector.pointwise.arithmetic import multiply as multiply
    from catad.vector.pointwise.arithmetic import neg as neg
    from catad.vector.pointwise.arithmetic import negative as negative
    from catad.vector.pointwise.arithmetic import pow as pow
    from catad.vector.pointwise.arithmetic import power as power
    from catad.vector.pointwise.arithmetic import reciprocal as reciprocal
    from catad.vector.pointwise.arithmetic import remainder as remainder
    from catad.vector.pointwise.arithmetic import rint as rint
    from catad.vector.pointwise.arithmetic import round as round
    from catad.vector.pointwise.arithmetic import sign as sign
    from catad.vector.pointwise.arithmetic import sqrt as sqrt
    from catad.vector.pointwise.arithmetic import square as square
    from catad.vector.pointwise.arithmetic import sub as sub
    from catad.vector.pointwise.arithmetic import subtract as subtract
    from catad.vector.pointwise.arithmetic import trunc as trunc
    from catad.vector.pointwise.functions import acos as acos
    from catad.vector.pointwise.functions import acosh as acosh
    from catad.vector.pointwise.functions import arccos as arccos
    from catad.vector.pointwise.functions import arccosh as arccosh
    from catad.vector.pointwise.functions import arcsin as arcsin
    from catad.vector.pointwise.functions import arcsinh as arcsinh
    from catad.vector.pointwise.functions import arctan as arctan
    from catad.vector.pointwise.functions import arctan2 as arctan2
    from catad.vector.pointwise.functions import arctanh as arctanh
    from catad.vector.pointwise.functions import asin as asin
    from catad.vector.pointwise.functions import asinh as asinh
    from catad.vector.pointwise.functions import atan as atan
    from catad.vector.pointwise.functions import atan2 as atan2
    from catad.vector.pointwise.functions import atanh as atanh
    from catad.vector.pointwise.functions import cos as cos
    from catad.vector.pointwise.functions import cosh as cosh
    from catad.vector.pointwise.functions import degrees as degrees
    from catad.vector.pointwise.functions import digamma as digamma
    from catad.vector.pointwise.functions import erf as erf
    from catad.vector.pointwise.functions import erfc as erfc
    from catad.vector.pointwise.functions import exp as exp
    from catad.vector.pointwise.functions import exp2 as exp2
    from catad.vector.pointwise.functions import expm1 as expm1
    from catad.vector.pointwise.functions import gamma as gamma
    from catad.vector.pointwise.functions import lgamma as lgamma
    from catad.vector.pointwise.functions import log as log
    from catad.vector.pointwise.functions import log1p as log1p
    from catad.vector.pointwise.functions import log2 as log2
    from catad.vector.pointwise.functions import log10 as log10
    from catad.vector.pointwise.functions import logaddexp as logaddexp
    from catad.vector.pointwise.functions import radians as radians
    from catad.vector.pointwise.functions import relu as relu
    from catad.vector.pointwise.functions import sech as sech
    from catad.vector.pointwise.functions import sigmoid as sigmoid
    from catad.vector.pointwise.functions import sin as sin
    from catad.vector.pointwise.functions import sinh as sinh
    from catad.vector.pointwise.functions import softplus as softplus
    from catad.vector.pointwise.functions import tan as tan
    from catad.vector.pointwise.functions import tanh as tanh
    from catad.vector.pointwise.functions import trigamma as trigamma
    from catad.vector.pointwise.generate import generate as generate
    from catad.vector.pointwise.generate import iota as iota
    from catad.vector.pointwise.logic import eq as eq
    from catad.vector.pointwise.logic import ge as ge
    from catad.vector.pointwise.logic import gt as gt
    from catad.vector.pointwise.logic import isfinite as isfinite
    from catad.vector.pointwise.logic import isinf as isinf
    from catad.vector.pointwise.logic import isnan as isnan
    from catad.vector.pointwise.logic import le as le
    from catad.vector.pointwise.logic import logical_and as logical_and
    from catad.vector.pointwise.logic import logical_not as logical_not
    from catad.vector.pointwise.logic import logical_or as logical_or
    from catad.vector.pointwise.logic import lt as lt
    from catad.vector.pointwise.logic import ne as ne
    from catad.vector.pointwise.logic import signbit as signbit
    from catad.vector.pointwise.logic import where as where
    from catad.vector.pointwise.map import map as map
    from catad.vector.pointwise.operators import astype as astype
    from catad.vector.pointwise.operators import times as times
    from catad.vector.scans.cumulative import cumprod as cumprod
    from catad.vector.scans.cumulative import cumsum as cumsum
    from catad.vector.scans.scan import recurrence as recurrence
    from catad.vector.scans.scan import scan as scan
    from catad.vector.scans.segmented import segmented_fold as segmented_fold
    from catad.vector.scans.segmented import segmented_scan as segmented_scan
    from catad.vector.shapes.axes import expand_dims as expand_dims
    from catad.vector.shapes.axes import moveaxis as moveaxis
    from catad.vector.shapes.axes import squeeze as squeeze
    from catad.vector.shapes.repeats import repeat as repeat
    from catad.vector.shapes.repeats import tile as tile
    from catad.vector.shapes.shape import broadcast_to as broadcast_to
    from catad.vector.shapes.shape import concatenate as concatenate
    from catad.vector.shapes.shape import flip as flip
    from catad.vector.shapes.shape import pad as pad
    from catad.vector.shapes.shape import replicate as replicate
    from catad.vector.shapes.shape import reshape as reshape
    from catad.vector.shapes.shape import slice as slice
    from catad.vector.shapes.shape import stack as stack
    from catad.vector.shapes.shape import sum as sum
    from catad.vector.shapes.shape import transpose as transpose
    from catad.vector.shapes.split import diff as diff
    from catad.vector.shapes.split import roll as roll
    from catad.vector.shapes.split import split as split
    from catad.vector.shapes.split import unstack as unstack
    from catad.vector.shapes.stencil import stencil as stencil
    from catad.vector.stop_gradient import stop_gradient as stop_gradient

    id: D

_first_use(__name__, {
    "front.vmap": "vmap",
    "jacobians.at_point": "hvp jvp linearize vjp",
    "engine": "",
    "engine.aot": "compile",
    "engine.choice": "use_engine",
    "engine.counting": "count",
    "engine.cpu.run.threads": "get_num_threads num_threads set_default_num_threads set_num_threads",
    "engine.profile": "profile",
    "engine.synchronize": "synchronize",
    "errors": """
        ArgumentError CatadError CatadNotice ConvergenceError DenseLimitError DepthError DerivativeError DeviceError
        EngineError ExtensionError IndexRangeError LawError MonoidError NonFiniteError NumberRangeError OutOfMemoryError
        PlanError ScalarError SolveError SpaceError TraceError""",
    "derivative.functors": "differential reverse_differential tangent",
    "derivative.grad": "grad value_and_grad",
    "jacobians.jacobian": "hessian jacfwd jacobian jacrev",
    "vector.lift": "lift",
    "linear": "",
    "linear.constructors": "compForward compReverse inl inr jam scale",
    "linear.map": "LinearMap",
    "planner.costs.cost_profile": "CostProfile",
    "planner.graph": "Graph",
    "planner.plan": "Plan plan",
    "planner.problems.chain_plan": "plan_chain",
    "planner.problems.graph_plan": "plan_graph",
    "primitive": "",
    "category.cartesian": "assoc_l assoc_r compose cross dup exl exr fork id it proj swap",
    "simt": "",
    "simt.kernel": "kernel",
    "category.spaces": "Product Space Tensor Unit bool_ f32 f64 i16 i32 i64 i8 product space_of tangent_space u16 u32 u64 u8",
    "category.terms": "D",
    "testing": "",
    "traced.debug": "debug_nans debug_print",
    "traced.function": "function",
    "traced.control.unrolled": "unrolled",
    "vector.indexing.at": "at",
    "vector.shapes.axes": "expand_dims moveaxis squeeze",
    "vector.loops.checkpoint": "checkpoint",
    "vector.loops.choose": "choose",
    "category.constant": "const",
    "vector.folds.contract": "dot einsum matmul outer",
    "vector.scans.cumulative": "cumprod cumsum",
    "vector.folds.fold": "fold",
    "vector.pointwise.generate": "generate iota",
    "vector.bins.histogram": "histogram reduce_by_index",
    "vector.indexing.gather": "gather scatter scatter_add",
    "vector.indexing.keys": "arg",
    "vector.loops.loop": "iterate while_loop",
    "vector.pointwise.map": "map",
    "vector.folds.moments": "mean std var",
    "vector.folds.monoid": "Monoid monoid",
    "vector.folds.norm": "norm",
    "vector.shapes.split": "diff roll split unstack",
    "vector.pointwise.operators": "astype times",
    "vector.bins.searchsorted": "searchsorted",
    "vector.folds.reduce": "all any argmax argmin max min prod",
    "vector.shapes.repeats": "repeat tile",
    "vector.scans.scan": "recurrence scan",
    "vector.scans.segmented": "segmented_fold segmented_scan",
    "vector.shapes.shape": "broadcast_to concatenate flip pad replicate reshape slice stack sum transpose",
    "vector.folds.softmax": "logsumexp softmax",
    "vector.bins.sort": "argsort sort",
    "vector.shapes.stencil": "stencil",
    "vector.stop_gradient": "stop_gradient",
    "vector.indexing.subscript": "index",
    "vector.loops.sweep": "sweep",
    "vector.indexing.take": "take",
    "vector.pointwise.arithmetic": """
        abs absolute add cbrt ceil clip copysign div divide floor floordiv fma fmax fmin fmod hypot ldexp maximum minimum mod
        mul multiply neg negative pow power reciprocal remainder rint round sign sqrt square sub subtract trunc""",
    "vector.pointwise.functions": """
        acos acosh arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh atan atan2 atanh cos cosh degrees digamma
        erf erfc exp exp2 expm1 gamma lgamma log log10 log1p log2 logaddexp radians relu sech sigmoid sin sinh softplus tan
        tanh trigamma""",
    "vector.pointwise.logic": "eq ge gt isfinite isinf isnan le logical_and logical_not logical_or lt ne signbit where",
    "category.wiring": "wire",
}, beside=("testing", "__version__"))  # fmt: skip

_thread_limits.register()

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
from catad.first_use import first_use as _first_use
from catad.version import __version__ as __version__

if _typing.TYPE_CHECKING:  # the names of the table below, as type checkers read them, and two modules that are no public names
    from catad import engine as engine
    from catad import errors as errors
    from catad import linear as linear
    from catad import primitive as primitive
    from catad import scalar as scalar
    from catad import simt as simt
    from catad import testing as testing
    from catad.axes import vmap as vmap
    from catad.derive import hvp as hvp
    from catad.derive import jvp as jvp
    from catad.derive import linearize as linearize
    from catad.derive import vjp as vjp
    from catad.engine.ahead import compile as compile
    from catad.engine.choice import use_engine as use_engine
    from catad.engine.counting import count as count
    from catad.engine.cpu.run.threads import get_num_threads as get_num_threads
    from catad.engine.cpu.run.threads import num_threads as num_threads
    from catad.engine.cpu.run.threads import set_default_num_threads as set_default_num_threads
    from catad.engine.cpu.run.threads import set_num_threads as set_num_threads
    from catad.engine.profile import profile as profile
    from catad.engine.waiting import synchronize as synchronize
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
    from catad.functors import differential as differential
    from catad.functors import reverse_differential as reverse_differential
    from catad.functors import tangent as tangent
    from catad.gradients import grad as grad
    from catad.gradients import value_and_grad as value_and_grad
    from catad.jacobians import hessian as hessian
    from catad.jacobians import jacfwd as jacfwd
    from catad.jacobians import jacobian as jacobian
    from catad.jacobians import jacrev as jacrev
    from catad.lifted import lift as lift
    from catad.linear.constructors import compForward as compForward
    from catad.linear.constructors import compReverse as compReverse
    from catad.linear.constructors import inl as inl
    from catad.linear.constructors import inr as inr
    from catad.linear.constructors import jam as jam
    from catad.linear.constructors import scale as scale
    from catad.linear.map import LinearMap as LinearMap
    from catad.planner.cost_profile import CostProfile as CostProfile
    from catad.planner.graph import Graph as Graph
    from catad.planner.plan import Plan as Plan
    from catad.planner.plan import plan as plan
    from catad.planner.problems.chain_plan import plan_chain as plan_chain
    from catad.planner.problems.graph_plan import plan_graph as plan_graph
    from catad.rearrange import assoc_l as assoc_l
    from catad.rearrange import assoc_r as assoc_r
    from catad.rearrange import dup as dup
    from catad.rearrange import exl as exl
    from catad.rearrange import exr as exr
    from catad.rearrange import it as it
    from catad.rearrange import proj as proj
    from catad.rearrange import swap as swap
    from catad.simt.kernel import kernel as kernel
    from catad.spaces import Product as Product
    from catad.spaces import Space as Space
    from catad.spaces import Tensor as Tensor
    from catad.spaces import Unit as Unit
    from catad.spaces import bool_ as bool_
    from catad.spaces import f32 as f32
    from catad.spaces import f64 as f64
    from catad.spaces import i8 as i8
    from catad.spaces import i16 as i16
    from catad.spaces import i32 as i32
    from catad.spaces import i64 as i64
    from catad.spaces import product as product
    from catad.spaces import space_of as space_of
    from catad.spaces import tangent_space as tangent_space
    from catad.spaces import u8 as u8
    from catad.spaces import u16 as u16
    from catad.spaces import u32 as u32
    from catad.spaces import u64 as u64
    from catad.terms import D as D
    from catad.terms import compose as compose
    from catad.terms import cross as cross
    from catad.terms import fork as fork
    from catad.traced.debug import debug_nans as debug_nans
    from catad.traced.debug import debug_print as debug_print
    from catad.traced.function import function as function
    from catad.traced.unrolled import unrolled as unrolled
    from catad.vector.at import at as at
    from catad.vector.axes import expand_dims as expand_dims
    from catad.vector.axes import moveaxis as moveaxis
    from catad.vector.axes import squeeze as squeeze
    from catad.vector.checkpoint import checkpoint as checkpoint
    from catad.vector.choose import choose as choose
    from catad.vector.constant import const as const
    from catad.vector.contract import dot as dot
    from catad.vector.contract import einsum as einsum
    from catad.vector.contract import matmul as matmul
    from catad.vector.contract import outer as outer
    from catad.vector.cumulative import cumprod as cumprod
    from catad.vector.cumulative import cumsum as cumsum
    from catad.vector.fold import fold as fold
    from catad.vector.generate import generate as generate
    from catad.vector.generate import iota as iota
    from catad.vector.histogram import histogram as histogram
    from catad.vector.histogram import reduce_by_index as reduce_by_index
    from catad.vector.index import gather as gather
    from catad.vector.index import scatter as scatter
    from catad.vector.index import scatter_add as scatter_add
    from catad.vector.keys import arg as arg
    from catad.vector.loop import iterate as iterate
    from catad.vector.loop import while_loop as while_loop
    from catad.vector.map import map as map
    from catad.vector.moments import mean as mean
    from catad.vector.moments import std as std
    from catad.vector.moments import var as var
    from catad.vector.monoid import Monoid as Monoid
    from catad.vector.monoid import monoid as monoid
    from catad.vector.norm import norm as norm
    from catad.vector.pieces import diff as diff
    from catad.vector.pieces import roll as roll
    from catad.vector.pieces import split as split
    from catad.vector.pieces import unstack as unstack
    from catad.vector.pointwise import astype as astype
    from catad.vector.pointwise import times as times
    from catad.vector.positions import searchsorted as searchsorted
    from catad.vector.reduce import all as all
    from catad.vector.reduce import any as any
    from catad.vector.reduce import argmax as argmax
    from catad.vector.reduce import argmin as argmin
    from catad.vector.reduce import max as max
    from catad.vector.reduce import min as min
    from catad.vector.reduce import prod as prod
    from catad.vector.repeats import repeat as repeat
    from catad.vector.repeats import tile as tile
    from catad.vector.scan import recurrence as recurrence
    from catad.vector.scan import scan as scan
    from catad.vector.segmented import segmented_fold as segmented_fold
    from catad.vector.segmented import segmented_scan as segmented_scan
    from catad.vector.shape import broadcast_to as broadcast_to
    from catad.vector.shape import concatenate as concatenate
    from catad.vector.shape import flip as flip
    from catad.vector.shape import pad as pad
    from catad.vector.shape import replicate as replicate
    from catad.vector.shape import reshape as reshape
    from catad.vector.shape import slice as slice
    from catad.vector.shape import stack as stack
    from catad.vector.shape import sum as sum
    from catad.vector.shape import transpose as transpose
    from catad.vector.softmax import logsumexp as logsumexp
    from catad.vector.softmax import softmax as softmax
    from catad.vector.sort import argsort as argsort
    from catad.vector.sort import sort as sort
    from catad.vector.stencil import stencil as stencil
    from catad.vector.stop_gradient import stop_gradient as stop_gradient
    from catad.vector.subscript import index as index
    from catad.vector.sweep import sweep as sweep
    from catad.vector.take import take as take
    from catad.vector.ufuncs.arithmetic import abs as abs
    from catad.vector.ufuncs.arithmetic import absolute as absolute
    from catad.vector.ufuncs.arithmetic import add as add
    from catad.vector.ufuncs.arithmetic import cbrt as cbrt
    from catad.vector.ufuncs.arithmetic import ceil as ceil
    from catad.vector.ufuncs.arithmetic import clip as clip
    from catad.vector.ufuncs.arithmetic import copysign as copysign
    from catad.vector.ufuncs.arithmetic import div as div
    from catad.vector.ufuncs.arithmetic import divide as divide
    from catad.vector.ufuncs.arithmetic import floor as floor
    from catad.vector.ufuncs.arithmetic import floordiv as floordiv
    from catad.vector.ufuncs.arithmetic import fma as fma
    from catad.vector.ufuncs.arithmetic import fmax as fmax
    from catad.vector.ufuncs.arithmetic import fmin as fmin
    from catad.vector.ufuncs.arithmetic import fmod as fmod
    from catad.vector.ufuncs.arithmetic import hypot as hypot
    from catad.vector.ufuncs.arithmetic import ldexp as ldexp
    from catad.vector.ufuncs.arithmetic import maximum as maximum
    from catad.vector.ufuncs.arithmetic import minimum as minimum
    from catad.vector.ufuncs.arithmetic import mod as mod
    from catad.vector.ufuncs.arithmetic import mul as mul
    from catad.vector.ufuncs.arithmetic import multiply as multiply
    from catad.vector.ufuncs.arithmetic import neg as neg
    from catad.vector.ufuncs.arithmetic import negative as negative
    from catad.vector.ufuncs.arithmetic import pow as pow
    from catad.vector.ufuncs.arithmetic import power as power
    from catad.vector.ufuncs.arithmetic import reciprocal as reciprocal
    from catad.vector.ufuncs.arithmetic import remainder as remainder
    from catad.vector.ufuncs.arithmetic import rint as rint
    from catad.vector.ufuncs.arithmetic import round as round
    from catad.vector.ufuncs.arithmetic import sign as sign
    from catad.vector.ufuncs.arithmetic import sqrt as sqrt
    from catad.vector.ufuncs.arithmetic import square as square
    from catad.vector.ufuncs.arithmetic import sub as sub
    from catad.vector.ufuncs.arithmetic import subtract as subtract
    from catad.vector.ufuncs.arithmetic import trunc as trunc
    from catad.vector.ufuncs.functions import acos as acos
    from catad.vector.ufuncs.functions import acosh as acosh
    from catad.vector.ufuncs.functions import arccos as arccos
    from catad.vector.ufuncs.functions import arccosh as arccosh
    from catad.vector.ufuncs.functions import arcsin as arcsin
    from catad.vector.ufuncs.functions import arcsinh as arcsinh
    from catad.vector.ufuncs.functions import arctan as arctan
    from catad.vector.ufuncs.functions import arctan2 as arctan2
    from catad.vector.ufuncs.functions import arctanh as arctanh
    from catad.vector.ufuncs.functions import asin as asin
    from catad.vector.ufuncs.functions import asinh as asinh
    from catad.vector.ufuncs.functions import atan as atan
    from catad.vector.ufuncs.functions import atan2 as atan2
    from catad.vector.ufuncs.functions import atanh as atanh
    from catad.vector.ufuncs.functions import cos as cos
    from catad.vector.ufuncs.functions import cosh as cosh
    from catad.vector.ufuncs.functions import degrees as degrees
    from catad.vector.ufuncs.functions import digamma as digamma
    from catad.vector.ufuncs.functions import erf as erf
    from catad.vector.ufuncs.functions import erfc as erfc
    from catad.vector.ufuncs.functions import exp as exp
    from catad.vector.ufuncs.functions import exp2 as exp2
    from catad.vector.ufuncs.functions import expm1 as expm1
    from catad.vector.ufuncs.functions import gamma as gamma
    from catad.vector.ufuncs.functions import lgamma as lgamma
    from catad.vector.ufuncs.functions import log as log
    from catad.vector.ufuncs.functions import log1p as log1p
    from catad.vector.ufuncs.functions import log2 as log2
    from catad.vector.ufuncs.functions import log10 as log10
    from catad.vector.ufuncs.functions import logaddexp as logaddexp
    from catad.vector.ufuncs.functions import radians as radians
    from catad.vector.ufuncs.functions import relu as relu
    from catad.vector.ufuncs.functions import sech as sech
    from catad.vector.ufuncs.functions import sigmoid as sigmoid
    from catad.vector.ufuncs.functions import sin as sin
    from catad.vector.ufuncs.functions import sinh as sinh
    from catad.vector.ufuncs.functions import softplus as softplus
    from catad.vector.ufuncs.functions import tan as tan
    from catad.vector.ufuncs.functions import tanh as tanh
    from catad.vector.ufuncs.functions import trigamma as trigamma
    from catad.vector.ufuncs.logic import eq as eq
    from catad.vector.ufuncs.logic import ge as ge
    from catad.vector.ufuncs.logic import gt as gt
    from catad.vector.ufuncs.logic import isfinite as isfinite
    from catad.vector.ufuncs.logic import isinf as isinf
    from catad.vector.ufuncs.logic import isnan as isnan
    from catad.vector.ufuncs.logic import le as le
    from catad.vector.ufuncs.logic import logical_and as logical_and
    from catad.vector.ufuncs.logic import logical_not as logical_not
    from catad.vector.ufuncs.logic import logical_or as logical_or
    from catad.vector.ufuncs.logic import lt as lt
    from catad.vector.ufuncs.logic import ne as ne
    from catad.vector.ufuncs.logic import signbit as signbit
    from catad.vector.ufuncs.logic import where as where
    from catad.wiring import wire as wire

    id: D

_first_use(__name__, {
    "axes": "vmap",
    "derive": "hvp jvp linearize vjp",
    "engine": "",
    "engine.ahead": "compile",
    "engine.choice": "use_engine",
    "engine.counting": "count",
    "engine.cpu.run.threads": "get_num_threads num_threads set_default_num_threads set_num_threads",
    "engine.profile": "profile",
    "engine.waiting": "synchronize",
    "errors": """
        ArgumentError CatadError CatadNotice ConvergenceError DenseLimitError DepthError DerivativeError DeviceError
        EngineError ExtensionError IndexRangeError LawError MonoidError NonFiniteError NumberRangeError OutOfMemoryError
        PlanError ScalarError SolveError SpaceError TraceError""",
    "functors": "differential reverse_differential tangent",
    "gradients": "grad value_and_grad",
    "jacobians": "hessian jacfwd jacobian jacrev",
    "lifted": "lift",
    "linear": "",
    "linear.constructors": "compForward compReverse inl inr jam scale",
    "linear.map": "LinearMap",
    "planner.cost_profile": "CostProfile",
    "planner.graph": "Graph",
    "planner.plan": "Plan plan",
    "planner.problems.chain_plan": "plan_chain",
    "planner.problems.graph_plan": "plan_graph",
    "primitive": "",
    "rearrange": "assoc_l assoc_r dup exl exr identity:id it proj swap",
    "simt": "",
    "simt.kernel": "kernel",
    "spaces": "Product Space Tensor Unit bool_ f32 f64 i16 i32 i64 i8 product space_of tangent_space u16 u32 u64 u8",
    "terms": "D compose cross fork",
    "testing": "",
    "traced.debug": "debug_nans debug_print",
    "traced.function": "function",
    "traced.unrolled": "unrolled",
    "vector.at": "at",
    "vector.axes": "expand_dims moveaxis squeeze",
    "vector.checkpoint": "checkpoint",
    "vector.choose": "choose",
    "vector.constant": "const",
    "vector.contract": "dot einsum matmul outer",
    "vector.cumulative": "cumprod cumsum",
    "vector.fold": "fold",
    "vector.generate": "generate iota",
    "vector.histogram": "histogram reduce_by_index",
    "vector.index": "gather scatter scatter_add",
    "vector.keys": "arg",
    "vector.loop": "iterate while_loop",
    "vector.map": "map",
    "vector.moments": "mean std var",
    "vector.monoid": "Monoid monoid",
    "vector.norm": "norm",
    "vector.pieces": "diff roll split unstack",
    "vector.pointwise": "astype times",
    "vector.positions": "searchsorted",
    "vector.reduce": "all any argmax argmin max min prod",
    "vector.repeats": "repeat tile",
    "vector.scan": "recurrence scan",
    "vector.segmented": "segmented_fold segmented_scan",
    "vector.shape": "broadcast_to concatenate flip pad replicate reshape slice stack sum transpose",
    "vector.softmax": "logsumexp softmax",
    "vector.sort": "argsort sort",
    "vector.stencil": "stencil",
    "vector.stop_gradient": "stop_gradient",
    "vector.subscript": "index",
    "vector.sweep": "sweep",
    "vector.take": "take",
    "vector.ufuncs.arithmetic": """
        abs absolute add cbrt ceil clip copysign div divide floor floordiv fma fmax fmin fmod hypot ldexp maximum minimum mod
        mul multiply neg negative pow power reciprocal remainder rint round sign sqrt square sub subtract trunc""",
    "vector.ufuncs.functions": """
        acos acosh arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh atan atan2 atanh cos cosh degrees digamma
        erf erfc exp exp2 expm1 gamma lgamma log log10 log1p log2 logaddexp radians relu sech sigmoid sin sinh softplus tan
        tanh trigamma""",
    "vector.ufuncs.logic": "eq ge gt isfinite isinf isnan le logical_and logical_not logical_or lt ne signbit where",
    "wiring": "wire",
}, beside=("testing", "__version__"))  # fmt: skip

_thread_limits.register()

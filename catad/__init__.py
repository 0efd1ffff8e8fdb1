"""catad: automatic differentiation by composing differentiable functions.

This module has the public names, and nothing else. `catad.linear` has constructors of linear maps, `catad.primitive` the
tools for new primitives, `catad.testing` laws and checkers. `dir(catad)` lists it, and `help` of each name says shapes,
dtypes, derivative and errors.

>>> import catad as ct, numpy as np
>>> ct.value_and_grad(ct.square >> ct.sum())(np.array([1.0, 2.0]))
(np.float64(5.0), array([2., 4.]))
"""

import importlib as _importlib
import types as _types
import typing as _typing

from catad import engine, linear, primitive, simt
from catad.axes import vmap
from catad.derive import hvp, jvp, linearize, vjp
from catad.engine.ahead import compile
from catad.engine.choice import use_engine
from catad.engine.counting import count
from catad.engine.cpu.run import thread_limits as _thread_limits
from catad.engine.cpu.run.threads import get_num_threads, num_threads, set_default_num_threads, set_num_threads
from catad.engine.profile import profile
from catad.engine.waiting import synchronize
from catad.errors import (
    ArgumentError,
    CatadError,
    CatadNotice,
    ConvergenceError,
    DenseLimitError,
    DepthError,
    DerivativeError,
    DeviceError,
    EngineError,
    ExtensionError,
    IndexRangeError,
    LawError,
    MonoidError,
    NonFiniteError,
    NumberRangeError,
    OutOfMemoryError,
    PlanError,
    ScalarError,
    SolveError,
    SpaceError,
    TraceError,
)
from catad.functors import differential, reverse_differential, tangent
from catad.gradients import grad, value_and_grad
from catad.jacobians import hessian, jacfwd, jacobian, jacrev
from catad.lifted import lift
from catad.linear.constructors import compForward, compReverse, inl, inr, jam, scale
from catad.linear.map import LinearMap
from catad.planner.cost_profile import CostProfile
from catad.planner.graph import Graph
from catad.planner.plan import Plan, plan
from catad.planner.problems.chain_plan import plan_chain
from catad.planner.problems.graph_plan import plan_graph
from catad.rearrange import assoc_l, assoc_r, dup, exl, exr, it, proj, swap
from catad.rearrange import identity as id
from catad.simt.kernel import kernel
from catad.spaces import (
    Product,
    Space,
    Tensor,
    Unit,
    bool_,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    product,
    space_of,
    tangent_space,
    u8,
    u16,
    u32,
    u64,
)
from catad.terms import D, compose, cross, fork
from catad.traced.debug import debug_nans, debug_print
from catad.traced.function import function
from catad.traced.unrolled import unrolled
from catad.vector.at import at
from catad.vector.axes import expand_dims, moveaxis, squeeze
from catad.vector.checkpoint import checkpoint
from catad.vector.choose import choose
from catad.vector.constant import const
from catad.vector.contract import dot, einsum, matmul, outer
from catad.vector.cumulative import cumprod, cumsum
from catad.vector.fold import fold
from catad.vector.generate import generate, iota
from catad.vector.histogram import histogram, reduce_by_index
from catad.vector.index import gather, scatter, scatter_add
from catad.vector.keys import arg
from catad.vector.loop import iterate, while_loop
from catad.vector.map import map
from catad.vector.moments import mean, std, var
from catad.vector.monoid import Monoid, monoid
from catad.vector.norm import norm
from catad.vector.pieces import diff, roll, split, unstack
from catad.vector.pointwise import astype, times
from catad.vector.positions import searchsorted
from catad.vector.reduce import all, any, argmax, argmin, max, min, prod
from catad.vector.repeats import repeat, tile
from catad.vector.scan import recurrence, scan
from catad.vector.segmented import segmented_fold, segmented_scan
from catad.vector.shape import broadcast_to, concatenate, flip, pad, replicate, reshape, slice, stack, sum, transpose
from catad.vector.softmax import logsumexp, softmax
from catad.vector.sort import argsort, sort
from catad.vector.stencil import stencil
from catad.vector.stop_gradient import stop_gradient
from catad.vector.subscript import index
from catad.vector.sweep import sweep
from catad.vector.take import take
from catad.vector.ufuncs.arithmetic import (
    abs,
    absolute,
    add,
    cbrt,
    ceil,
    clip,
    copysign,
    div,
    divide,
    floor,
    floordiv,
    fma,
    fmax,
    fmin,
    fmod,
    hypot,
    ldexp,
    maximum,
    minimum,
    mod,
    mul,
    multiply,
    neg,
    negative,
    pow,
    power,
    reciprocal,
    remainder,
    rint,
    round,
    sign,
    sqrt,
    square,
    sub,
    subtract,
    trunc,
)
from catad.vector.ufuncs.functions import (
    acos,
    acosh,
    arccos,
    arccosh,
    arcsin,
    arcsinh,
    arctan,
    arctan2,
    arctanh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    cos,
    cosh,
    degrees,
    digamma,
    erf,
    erfc,
    exp,
    exp2,
    expm1,
    gamma,
    lgamma,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    radians,
    relu,
    sech,
    sigmoid,
    sin,
    sinh,
    softplus,
    tan,
    tanh,
    trigamma,
)
from catad.vector.ufuncs.logic import (
    eq,
    ge,
    gt,
    isfinite,
    isinf,
    isnan,
    le,
    logical_and,
    logical_not,
    logical_or,
    lt,
    ne,
    signbit,
    where,
)
from catad.version import __version__ as __version__
from catad.wiring import wire

_thread_limits.register()

if _typing.TYPE_CHECKING:
    from catad import testing as testing


def __getattr__(name: str) -> _types.ModuleType:
    """`ct.testing` is loaded when it is first used: programs that only run do not wait for it."""
    if name == "testing":
        return _importlib.import_module("catad.testing")
    raise AttributeError(f"module 'catad' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names, those above and `testing`: what a reader who presses the tab key sees."""
    return [*__all__, "testing", "__version__"]


# Type checkers read this list as it stands, so it is written out. The linter finds an import that is missing here, and a test
# finds a name that is not imported.
__all__ = [
    "ArgumentError",
    "CatadError",
    "CatadNotice",
    "ConvergenceError",
    "CostProfile",
    "D",
    "DenseLimitError",
    "DepthError",
    "DerivativeError",
    "DeviceError",
    "EngineError",
    "ExtensionError",
    "Graph",
    "IndexRangeError",
    "LawError",
    "LinearMap",
    "Monoid",
    "MonoidError",
    "NonFiniteError",
    "NumberRangeError",
    "OutOfMemoryError",
    "Plan",
    "PlanError",
    "Product",
    "ScalarError",
    "SolveError",
    "Space",
    "SpaceError",
    "Tensor",
    "TraceError",
    "Unit",
    "abs",
    "absolute",
    "acos",
    "acosh",
    "add",
    "all",
    "any",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "arg",
    "argmax",
    "argmin",
    "argsort",
    "asin",
    "asinh",
    "assoc_l",
    "assoc_r",
    "astype",
    "at",
    "atan",
    "atan2",
    "atanh",
    "bool_",
    "broadcast_to",
    "cbrt",
    "ceil",
    "checkpoint",
    "choose",
    "clip",
    "compForward",
    "compReverse",
    "compile",
    "compose",
    "concatenate",
    "const",
    "copysign",
    "cos",
    "cosh",
    "count",
    "cross",
    "cumprod",
    "cumsum",
    "debug_nans",
    "debug_print",
    "degrees",
    "diff",
    "differential",
    "digamma",
    "div",
    "divide",
    "dot",
    "dup",
    "einsum",
    "engine",
    "eq",
    "erf",
    "erfc",
    "exl",
    "exp",
    "exp2",
    "expand_dims",
    "expm1",
    "exr",
    "f32",
    "f64",
    "flip",
    "floor",
    "floordiv",
    "fma",
    "fmax",
    "fmin",
    "fmod",
    "fold",
    "fork",
    "function",
    "gamma",
    "gather",
    "ge",
    "generate",
    "get_num_threads",
    "grad",
    "gt",
    "hessian",
    "histogram",
    "hvp",
    "hypot",
    "i8",
    "i16",
    "i32",
    "i64",
    "id",
    "index",
    "inl",
    "inr",
    "iota",
    "isfinite",
    "isinf",
    "isnan",
    "it",
    "iterate",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jam",
    "jvp",
    "kernel",
    "ldexp",
    "le",
    "lgamma",
    "lift",
    "linear",
    "linearize",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logsumexp",
    "lt",
    "map",
    "matmul",
    "max",
    "maximum",
    "mean",
    "min",
    "minimum",
    "mod",
    "monoid",
    "moveaxis",
    "mul",
    "multiply",
    "ne",
    "neg",
    "negative",
    "norm",
    "num_threads",
    "outer",
    "pad",
    "plan",
    "plan_chain",
    "plan_graph",
    "pow",
    "power",
    "primitive",
    "prod",
    "product",
    "profile",
    "proj",
    "radians",
    "reciprocal",
    "recurrence",
    "reduce_by_index",
    "relu",
    "remainder",
    "repeat",
    "replicate",
    "reshape",
    "reverse_differential",
    "rint",
    "roll",
    "round",
    "scale",
    "scan",
    "scatter",
    "scatter_add",
    "searchsorted",
    "sech",
    "segmented_fold",
    "segmented_scan",
    "set_default_num_threads",
    "set_num_threads",
    "sigmoid",
    "sign",
    "signbit",
    "simt",
    "sin",
    "sinh",
    "slice",
    "softmax",
    "softplus",
    "sort",
    "space_of",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "std",
    "stencil",
    "stop_gradient",
    "sub",
    "subtract",
    "sum",
    "swap",
    "sweep",
    "synchronize",
    "take",
    "tan",
    "tangent",
    "tangent_space",
    "tanh",
    "tile",
    "times",
    "transpose",
    "trigamma",
    "trunc",
    "u8",
    "u16",
    "u32",
    "u64",
    "unrolled",
    "unstack",
    "use_engine",
    "value_and_grad",
    "var",
    "vjp",
    "vmap",
    "where",
    "while_loop",
    "wire",
]

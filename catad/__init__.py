"""catad: automatic differentiation by composing differentiable functions.

The public vocabulary, and nothing else. Linear maps by name are in `catad.linear`, laws and checkers in `catad.testing`.
"""

from catad import linear
from catad.derive import hessian, hvp, jacobian, jvp, linearize, vjp
from catad.engine.program import use_engine
from catad.errors import (
    ArgumentError,
    CatadError,
    DenseLimitError,
    DerivativeError,
    DeviceError,
    EngineError,
    IndexRangeError,
    LawError,
    MonoidError,
    PlanError,
    ScalarError,
    SpaceError,
)
from catad.functors import differential, grad, reverse_differential, tangent, value_and_grad
from catad.lifted import lift
from catad.linear.constructors import compForward, compReverse, inl, inr, jam, scale
from catad.linear.map import LinearMap
from catad.planner.entry import plan
from catad.planner.plan import Plan
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
from catad.terms import (
    D,
    assoc_l,
    assoc_r,
    compose,
    cross,
    dup,
    exl,
    exr,
    fork,
    it,
    proj,
    swap,
)
from catad.terms import identity as id
from catad.vector.constant import const
from catad.vector.contract import einsum, matmul
from catad.vector.fold import fold
from catad.vector.generate import generate, iota
from catad.vector.histogram import histogram, reduce_by_index
from catad.vector.index import gather, scatter, scatter_add
from catad.vector.map import map
from catad.vector.pointwise import WORDS as _WORDS
from catad.vector.pointwise import add, astype, neg, scaled, sub
from catad.vector.scan import recurrence, scan
from catad.vector.shape import (
    broadcast_to,
    concatenate,
    flip,
    pad,
    replicate,
    reshape,
    slice,
    stack,
    sum,
    transpose,
)
from catad.wiring import wire

for _name, _word in _WORDS.items():
    globals().setdefault(_name, _word)

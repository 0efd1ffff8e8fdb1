"""The one table of cases: every public primitive and combinator, as terms at points, for all laws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from law_points import Maker, both, given, real, whole
from scipy.sparse import csr_matrix

import catad as ct


@dataclass(frozen=True)
class Case:
    """A term that is made anew for each test, and points for it.
     `exact`: polynomial, so that laws hold bit for bit on small integers. `smooth`: no kinks at random points, so that
    differences converge. `covers`: the public names that stand in the term.
    """

    name: str
    make: Callable[[], Any]
    point: Maker
    covers: tuple[str, ...] = ()
    exact: bool = True
    smooth: bool = True
    order: int = 2
    dtypes: tuple[str, ...] = field(default=("float64", "float32"))

    def __str__(self) -> str:
        return self.name


# -- pointwise vocabulary: exceptions to (real in -2..2, not exact, smooth)

POSITIVE = {"low": 0.3, "high": 2.5}
INSIDE = {"low": -0.8, "high": 0.8}
DOMAINS: dict[str, tuple[Any, ...]] = {
    **{
        name: (real(3, **POSITIVE),)
        for name in ("log", "log2", "log10", "sqrt", "gamma", "lgamma", "digamma", "trigamma", "cbrt", "reciprocal")
    },
    **{name: (real(3, **INSIDE),) for name in ("asin", "acos", "atanh", "arcsin", "arccos", "arctanh", "log1p", "tan")},
    **{name: (real(3, low=1.3, high=3.0),) for name in ("acosh", "arccosh")},
    **{name: (real(2, 3), real(3, **POSITIVE)) for name in ("div", "divide", "atan2", "arctan2", "hypot", "copysign")},
    **{name: (real(3, **POSITIVE), real(2, 1)) for name in ("pow", "power")},
    **{name: (given([2.3, -5.6, 7.2]), given([1.0, 1.5, -2.0])) for name in ("fmod", "mod", "remainder", "floordiv")},
    "ldexp": (real(3), given([0, 2, -1])),
    "where": (given([True, False, True]), real(3), real(2, 3)),
    "fma": (real(3), real(2, 3), real(1)),
    "clip": (given([-1.5, 0.25, 3.0]), given(-1.0), given(1.0)),
    "round": (given([0.3, 1.7, -2.2]),),
    **{name: (given([True, False, True]), given([True, True, False])) for name in ("logical_and", "logical_or")},
    "logical_not": (given([True, False]),),
}
EXACT = {
    "add",
    "sub",
    "mul",
    "neg",
    "subtract",
    "multiply",
    "negative",
    "minimum",
    "maximum",
    "fmin",
    "fmax",
    "abs",
    "absolute",
    "sign",
    "relu",
    "square",
    "fma",
    "where",
    "clip",
    "floor",
    "ceil",
    "trunc",
    "rint",
    "lt",
    "le",
    "gt",
    "ge",
    "eq",
    "ne",
}
FIXED = {"fmod", "mod", "remainder", "floordiv", "clip", "round"}  # points given as float64


def pointwise_cases() -> list[Case]:
    out = []
    for name in sorted(ct.scalar.vocabulary):
        arity = ct.scalar.vocabulary[name].arity
        makers = DOMAINS.get(name, (real(2, 3), real(3), real(1))[:arity])
        point = makers[0] if arity == 1 else both(*makers)
        dtypes = ("float64",) if name in FIXED else ("float64", "float32")
        out.append(Case(name, lambda name=name: getattr(ct, name), point, (name,), name in EXACT, dtypes=dtypes))
    return out


# -- operators


def times(a, b):
    return a * b


def greater(a, b):
    return a if a >= b else b


def affine(f, g):
    return f[0] * g[0], f[1] * g[0] + g[1]


def matmul22(a, b):
    return (
        a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3],
        a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3],
    )  # fmt: skip


def logsum(a, b):
    return np.logaddexp(a, b)


UNIT22 = (1.0, 0.0, 0.0, 1.0)
FOUR = both(real(3), real(3), real(3), real(3))
OPERATORS: dict[str, tuple[Any, Any, Callable[..., Maker], bool]] = {
    "+": (ct.add, 0.0, lambda *s: real(*s), True),
    "*": (times, 1.0, lambda *s: real(*s), True),
    "max": (greater, -np.inf, lambda *s: real(*s), True),
    "affine": (affine, (1.0, 0.0), lambda *s: both(real(*s), real(*s)), True),
    "2x2": (matmul22, UNIT22, lambda *s: both(*[real(*s)] * 4), True),
    "logsumexp": (logsum, -np.inf, lambda *s: real(*s), False),
}
SCANS = {
    "": {}, " exclusive": {"exclusive": True}, " reverse": {"reverse": True},
    " exclusive reverse": {"exclusive": True, "reverse": True},
}  # fmt: skip


def operator_cases() -> list[Case]:
    out = []
    for name, (op, e, point, exact) in OPERATORS.items():
        order = 1 if name == "2x2" else 2
        out.append(Case(f"fold {name}", lambda op=op, e=e: ct.fold(op, e), point(4), ("fold",), exact, order=order))
        for mode, options in SCANS.items():
            if name == "logsumexp" and mode:
                continue  # differences of infinities at the exclusive end
            out.append(
                Case(
                    f"scan {name}{mode}",
                    lambda op=op, e=e, o=options: ct.scan(op, e, **o),
                    point(4),
                    ("scan",),
                    exact,
                    order=order,
                )
            )
    for name in ("*", "affine"):
        op, e, point, _ = OPERATORS[name]
        for size in (0, 1):
            out.append(Case(f"scan {name} of {size}", lambda op=op, e=e: ct.scan(op, e), point(size)))
            out.append(Case(f"fold {name} of {size}", lambda op=op, e=e: ct.fold(op, e), point(size)))
        out.append(Case(f"scan {name} axis", lambda op=op, e=e: ct.scan(op, e, axis=1, reverse=True), point(2, 3)))
        out.append(Case(f"fold {name} axis", lambda op=op, e=e: ct.fold(op, e, axis=-1), point(2, 3)))
        out.append(Case(f"scan {name} of 19", lambda op=op, e=e: ct.scan(op, e), point(19), exact=False, order=1))
        out.append(Case(f"fold {name} of 19", lambda op=op, e=e: ct.fold(op, e), point(19), exact=False, order=1))
    index = whole(5, low=-1, high=4)
    for name in ("+", "*", "max", "affine", "2x2"):
        op, e, point, _ = OPERATORS[name]
        order = 1 if name == "2x2" else 2
        out.append(
            Case(
                f"histogram {name}",
                lambda op=op, e=e: ct.histogram(op, e, 3),
                both(index, point(5)),
                ("histogram",),
                order=order,
                smooth=name != "max",
            )
        )
        out.append(
            Case(
                f"reduce_by_index {name}",
                lambda op=op, e=e: ct.reduce_by_index(op, e),
                both(point(3), index, point(5)),
                ("reduce_by_index",),
                order=order,
            )
        )
    out.append(Case("histogram * of rows", lambda: ct.histogram(times, 1.0, 3), both(index, real(5, 2))))
    out.append(Case("histogram + of a matrix", lambda: ct.histogram(ct.add, 0.0, 3), both(whole(2, 3, high=3), real(2, 3))))
    return out


# -- shapes, indices, contractions

MATRIX = real(2, 3)
SHAPES: dict[str, tuple[Callable[[], Any], Maker]] = {
    "reshape": (lambda: ct.reshape((3, -1)), MATRIX),
    "transpose": (lambda: ct.transpose(), MATRIX),
    "transpose of three": (lambda: ct.transpose((1, 2, 0)), real(2, 1, 3)),
    "sum": (lambda: ct.sum(), MATRIX),
    "sum axis": (lambda: ct.sum(axis=0), MATRIX),
    "sum keepdims": (lambda: ct.sum(axis=-1, keepdims=True), MATRIX),
    "broadcast_to": (lambda: ct.broadcast_to((2, 2, 3)), real(2, 1)),
    "replicate": (lambda: ct.replicate(2), real(3)),
    "flip": (lambda: ct.flip(), MATRIX),
    "flip axis": (lambda: ct.flip(axis=1), MATRIX),
    "slice": (lambda: ct.slice(1, None, 2), real(6)),
    "slice back": (lambda: ct.slice(-1, 0, -2, axis=1), real(2, 5)),
    "slice of nothing": (lambda: ct.slice(2, 2), real(3)),
    "pad": (lambda: ct.pad(1, 2, 3.0), real(2, 2)),
    "pad off": (lambda: ct.pad(-1, 2, axis=1), real(2, 3)),
    "concatenate": (lambda: ct.concatenate(axis=1), both(real(2, 1), real(2, 3), real(2, 2))),
    "stack": (lambda: ct.stack(axis=-1), both(real(2), real(2), real(2))),
    "gather": (lambda: ct.gather, both(real(3, 2), given([2, 0, 2]))),
    "gather by matrix": (lambda: ct.gather, both(real(3), given([[2, 0], [2, 1]]))),
    "index": (lambda: ct.index[1:, None, ::-2], real(3, 4)),
    "index arg": (lambda: ct.index[ct.arg, :, ct.arg], both(real(2, 3, 2), given([1, 0, -1, 1]), given([[0], [1]]))),
    "index at one": (lambda: ct.index[ct.arg, 1:], both(real(3, 2), given(-1))),
    "at": (lambda: ct.at[1:, ::2].set, both(real(3, 4), real(2, 1))),
    "at add": (lambda: ct.at[::-1, 0].add, both(real(3, 4), real(3))),
    "at mul": (lambda: ct.at[1:].mul, both(real(3), real(2))),
    "at arg": (lambda: ct.at[ct.arg].set, both(real(3, 2), given([2, 0, -1]), real(3, 2))),
    "at one": (lambda: ct.at[1:, ct.arg].set, both(real(3, 4), given(2), real(2))),
    "at arg add": (lambda: ct.at[ct.arg, ct.arg].add, both(real(3, 2), given([2, 0, -1]), given([1, 0, 1]), real(3))),
    "at arg mul": (lambda: ct.at[ct.arg].mul, both(real(3), given([2, 0, -1]), real(3))),
    "scatter": (lambda: ct.scatter, both(real(3, 2), given([2, 0, 2, -1]), real(4, 2))),
    "scatter_add": (lambda: ct.scatter_add, both(real(3), given([2, 0, 2, 3]), real(4))),
    "matmul": (lambda: ct.matmul, both(real(2, 3), real(3, 2))),
    "matmul vectors": (lambda: ct.matmul, both(real(3), real(3))),
    "matmul batched": (lambda: ct.matmul, both(real(2, 1, 2, 3), real(2, 3, 1))),
    "matmul vector matrix": (lambda: ct.matmul, both(real(3), real(2, 3, 2))),
    "einsum": (lambda: ct.einsum("ij,jk->ki"), both(real(2, 3), real(3, 2))),
    "einsum of one": (lambda: ct.einsum("iij->ji"), real(3, 3, 2)),
    "einsum trace": (lambda: ct.einsum("ii"), real(3, 3)),
    "einsum of three": (lambda: ct.einsum("i,ij,j"), both(real(2), real(2, 3), real(3))),
    "einsum outer": (lambda: ct.einsum("i,j->ij"), both(real(2), real(3))),
    "einsum elementwise": (lambda: ct.einsum("...i,...i->...i"), both(real(2, 3), real(2, 3))),
    "unstack": (lambda: ct.unstack(axis=1), real(2, 3)),
    "split": (lambda: ct.split((1, 3), axis=-1), real(2, 4)),
    "roll": (lambda: ct.roll(1), MATRIX),
    "roll axes": (lambda: ct.roll((1, -2), (0, 1)), real(3, 4)),
    "squeeze": (lambda: ct.squeeze(), real(1, 3)),
    "expand_dims": (lambda: ct.expand_dims((0, 2)), MATRIX),
    "moveaxis": (lambda: ct.moveaxis(0, -1), real(2, 1, 3)),
    "diff": (lambda: ct.diff(2), real(2, 4)),
    "tile": (lambda: ct.tile((2, 1, 2)), MATRIX),
    "repeat": (lambda: ct.repeat(2, axis=0), MATRIX),
    "repeat unequally": (lambda: ct.repeat((1, 0, 2), axis=1), MATRIX),
    "take": (lambda: ct.take(axis=1), both(MATRIX, given([[0, -1], [2, 0]]))),
    "take flat": (lambda: ct.take(), both(MATRIX, given([5, -6, 5]))),
    "dot": (lambda: ct.dot, both(real(2, 3), real(2, 3, 2))),
    "dot vectors": (lambda: ct.dot, both(real(3), real(3))),
    "outer": (lambda: ct.outer, both(real(2), real(3))),
    "recurrence": (lambda: ct.recurrence, both(real(4), real(4))),
    "recurrence of rows": (lambda: ct.recurrence, both(real(3, 2), real(3, 2))),
    "recurrence of matrices": (lambda: ct.recurrence, both(real(3, 2, 2), real(3, 2))),
}


def shape_cases() -> list[Case]:
    return [Case(name, make, point, (name.split()[0],)) for name, (make, point) in SHAPES.items()]


FLAGS, LENGTHS = given([False, False, True, True, False]), given([2, 0, 3])


REDUCTIONS: dict[str, tuple[Callable[[], Any], Maker, bool]] = {
    "max": (lambda: ct.max(axis=1), MATRIX, True),
    "max over several": (lambda: ct.max(axis=(0, 2), keepdims=True), real(2, 2, 3), True),
    "min": (lambda: ct.min(), MATRIX, True),
    "prod": (lambda: ct.prod(axis=(0, 1)), MATRIX, True),
    "mean": (lambda: ct.mean(axis=0), real(4, 3), True),
    "var": (lambda: ct.var(axis=1, ddof=1), MATRIX, False),
    "std": (lambda: ct.std(axis=0, keepdims=True), MATRIX, False),
    "norm": (lambda: ct.norm(axis=1), MATRIX, False),
    "norm of a matrix": (lambda: ct.norm("fro"), MATRIX, False),
    "norm of another order": (lambda: ct.norm(3), real(4), False),
    "logsumexp": (lambda: ct.logsumexp(axis=(0, 1)), MATRIX, False),
    "softmax": (lambda: ct.softmax(axis=0), MATRIX, False),
    "cumsum": (lambda: ct.cumsum(axis=1), MATRIX, True),
    "cumprod": (lambda: ct.cumprod(), MATRIX, True),
    "any": (lambda: ct.any(axis=0), given([[0.0, 1.0], [0.0, 2.0]]), True),
    "all": (lambda: ct.all(axis=0), given([[0.0, 1.0], [0.0, 2.0]]), True),
    "argmax": (lambda: ct.argmax(axis=1), MATRIX, True),
    "argmin": (lambda: ct.argmin(), MATRIX, True),
    "fold along several axes": (lambda: ct.fold(times, 1.0, axis=(0, 2), keepdims=True), real(2, 2, 2), True),
}


def reduction_cases() -> list[Case]:
    covers = {name: (name,) if hasattr(ct, name) else () for name in REDUCTIONS}
    return [Case(name, make, point, covers[name], exact) for name, (make, point, exact) in REDUCTIONS.items()]


def segment_cases() -> list[Case]:
    out = []
    for name in ("+", "*", "max", "affine"):
        op, e, point, exact = OPERATORS[name]
        smooth = name != "max"
        for mode, options in SCANS.items():
            make = lambda op=op, e=e, o=options: ct.segmented_scan(op, e, **o)  # noqa: E731
            out.append(Case(f"segmented_scan {name}{mode}", make, both(FLAGS, point(5)), ("segmented_scan",), exact, smooth))
        make = lambda op=op, e=e: ct.segmented_fold(op, e, segments=3)  # noqa: E731
        out.append(Case(f"segmented_fold {name}", make, both(FLAGS, point(5)), ("segmented_fold",), exact, smooth))
        make = lambda op=op, e=e: ct.segmented_fold(op, e, by="lengths")  # noqa: E731
        out.append(Case(f"segmented_fold {name} by lengths", make, both(LENGTHS, point(5)), (), exact, smooth))
    rows = both(LENGTHS, real(5, 2))
    out.append(Case("segmented_scan of rows", lambda: ct.segmented_scan(times, 1.0, by="lengths"), rows))
    return out


def neighbour_cases() -> list[Case]:
    out = [
        Case("sort", lambda: ct.sort(), real(5), ("sort",)),
        Case("sort axis", lambda: ct.sort(axis=0) >> ct.square, real(3, 2)),
        Case("argsort", lambda: ct.argsort(), real(5), ("argsort",)),
        Case("searchsorted", lambda: (ct.sort() * ct.id) >> ct.searchsorted(), both(real(5), real(3, 2)), ("searchsorted",)),
    ]
    for boundary in ("zero", "wrap", "reflect"):
        make = lambda b=boundary: ct.stencil(lambda x, y, z: x * y - 2.0 * z, (-1, 0, 2), boundary=b)  # noqa: E731
        out.append(Case(f"stencil {boundary}", make, real(4), ("stencil",)))
        make = lambda b=boundary: ct.stencil(times, [(0, 1), (-1, 0)], boundary=b)  # noqa: E731
        out.append(Case(f"stencil {boundary} of a matrix", make, real(2, 3)))
    return out


# -- structure, maps, derivatives as terms, hand-written morphisms, lifted maps


def square_by_hand():
    return ct.D(lambda x: (x * x, ct.scale(2 * x)))


def product_by_hand():
    return ct.D(lambda p: (p[0] * p[1], ct.scale(p[1]) | ct.scale(p[0])))


def opaque(x):
    return np.asarray(x) ** 2 + float(np.zeros(())), ct.scale(2 * np.asarray(x))


def three(x, y):
    return x * y, x + 2.0 * y, 3.0


def branch(x, y):
    return x * x * y if x > y else x - y * y


def poly(x):
    total = 0.0
    for k in range(1, 4):
        total = total * x + k
    return total


def cube(x):
    return x * x * x


PAIR = both(real(3), real(2, 1))
LARGE = ct.sum() >> ct.map(lambda s: s < 1e6)
STEP = ct.map(lambda s, k, u: (k * s + u, s * u))  # of a loop: a state, what every step reads, an input
OTHERS: list[Case] = [
    Case("id", lambda: ct.id, both(real(2), whole(2)), ("id",)),
    Case(
        "stop_gradient",
        lambda: ct.fork(ct.square, ct.neg >> ct.stop_gradient) >> ct.mul,
        MATRIX,
        ("stop_gradient",),
        smooth=False,
    ),
    Case("exl", lambda: ct.exl, PAIR, ("exl",)),
    Case("exr", lambda: ct.exr, PAIR, ("exr",)),
    Case("proj", lambda: ct.proj(2), both(real(2), real(1), real(3)), ("proj",)),
    Case("dup", lambda: ct.dup, PAIR, ("dup",)),
    Case("swap", lambda: ct.swap, PAIR, ("swap",)),
    Case("assoc_l", lambda: ct.assoc_l, both(real(2), (real(1), real(3))), ("assoc_l",)),
    Case("assoc_r", lambda: ct.assoc_r, both((real(2), real(1)), real(3)), ("assoc_r",)),
    Case("it", lambda: ct.it, PAIR, ("it",)),
    Case("fork", lambda: ct.fork(ct.square, ct.neg, ct.sum()), MATRIX, ("fork",)),
    Case("cross", lambda: ct.cross(ct.square, ct.neg), PAIR, ("cross",)),
    Case("compose", lambda: ct.compose(ct.square, ct.sum(), ct.square), MATRIX, ("compose",)),
    Case("const", lambda: ct.fork(ct.id, ct.const(2.0)) >> ct.mul, MATRIX, ("const",)),
    Case("iterate", lambda: ct.iterate(ct.square, 3), real(2), ("iterate",)),
    Case("iterate with inputs", lambda: ct.iterate(ct.mul, 3, inputs=True), both(real(2), real(3, 2))),
    Case("iterate in little memory", lambda: ct.iterate(ct.sin >> ct.square, 4, memory=2), real(2), exact=False),
    Case("sweep", lambda: ct.sweep(STEP, 3), both(real(2), real(2), real(3, 2)), ("sweep",)),
    Case("sweep backwards", lambda: ct.sweep(STEP, 3, reverse=True), both(real(2), real(2), real(3, 2))),
    Case("choose", lambda: ct.choose(LARGE, ct.square >> ct.sum(axis=0), ct.neg >> ct.sum(axis=0)), MATRIX, ("choose",)),
    Case("choose the other", lambda: ct.choose(LARGE >> ct.logical_not, ct.square, ct.neg), MATRIX),
    Case("checkpoint", lambda: ct.checkpoint(ct.square >> ct.sum(axis=0)), MATRIX, ("checkpoint",)),
    Case("const of a tuple", lambda: ct.const((np.ones(2), 3)), MATRIX),
    Case("sum of terms", lambda: ct.square + 2.0 * ct.id - ct.sum(), MATRIX, ("times",)),
    Case(
        "sum of products",
        lambda: ct.fork(ct.swap, ct.dup >> ct.exl) >> ct.cross(ct.id, ct.swap) >> ct.add,
        both(real(2), real(2)),
    ),
    Case("astype", lambda: ct.astype("float32") >> ct.square, MATRIX, ("astype",)),
    Case("astype of integers", lambda: ct.astype("float64") >> ct.square, whole(3), dtypes=("float64",)),
    Case("iota", lambda: ct.iota(3), MATRIX, ("iota",)),
    Case(
        "generate",
        lambda: ct.fork(ct.id, ct.generate((2, 3), lambda i, j: 2.0 * i + j)) >> ct.mul,
        MATRIX,
        ("generate",),
        dtypes=("float64",),
    ),
    Case("map of several", lambda: ct.map(three), both(real(2, 3), real(3)), ("map",)),
    Case("map broadcast", lambda: ct.map(three), both(real(2, 1), real(1, 3))),
    Case("map to a scalar argument", lambda: ct.map(branch), both(real(2, 3), real())),
    Case("map with a loop", lambda: ct.map(poly), MATRIX),
    Case("map of a term", lambda: ct.map(ct.fork(ct.sum(), ct.square)), MATRIX),
    Case("map of map", lambda: ct.map(ct.map(ct.fold(times, 1.0))), real(2, 2, 3)),
    Case("map of a scan", lambda: ct.map(ct.scan(affine, (1.0, 0.0))), both(real(2, 3), real(2, 3))),
    Case("map of gather", lambda: ct.map(ct.gather), both(real(2, 3), given([[0, 2], [1, 1]]))),
    Case("map of histogram", lambda: ct.map(ct.histogram(times, 1.0, 3)), both(given([[0, 2, 2], [1, 1, 4]]), real(2, 3))),
    Case("map of matmul", lambda: ct.map(ct.matmul), both(real(2, 2, 3), real(2, 3))),
    Case("map of a recurrence", lambda: ct.map(ct.recurrence), both(real(2, 3), real(2, 3))),
    Case("map by hand", lambda: ct.map(square_by_hand()), MATRIX),
    Case("fused maps", lambda: ct.sin >> ct.exp >> ct.map(cube), MATRIX, exact=False),
    Case("D by hand", square_by_hand, MATRIX, ("D",)),
    Case("D by hand of a pair", product_by_hand, both(real(3), real(3))),
    Case("D by hand, twice", lambda: square_by_hand() >> ct.sum() >> square_by_hand(), MATRIX),
    Case("D of opaque code", lambda: ct.D(opaque), real(3), order=1, dtypes=("float64",)),
    Case("grad", lambda: ct.grad(ct.map(cube) >> ct.sum()), MATRIX, ("grad",)),
    Case("grad of one factor", lambda: ct.grad(ct.map(branch) >> ct.sum(), argnums=1), both(real(2, 3), real(3))),
    Case("value_and_grad", lambda: ct.value_and_grad(ct.fold(times, 1.0)), real(3), ("value_and_grad",)),
    Case("differential", lambda: ct.differential(ct.map(cube)), both(real(3), real(3)), ("differential",)),
    Case(
        "reverse_differential",
        lambda: ct.reverse_differential(ct.scan(times, 1.0)),
        both(real(3), real(3)),
        ("reverse_differential",),
    ),
    Case("tangent", lambda: ct.tangent(ct.mul), both((real(2), real(2)), (real(2), real(2))), ("tangent",)),
]


def lift_cases() -> list[Case]:
    """`lift` of each constructor of `catad.linear`; the maps are float64."""
    a, m = np.array([2.0, -1.0, 3.0]), np.array([[1.0, 2.0, 0.0], [-1.0, 0.0, 3.0]])
    x = ct.f64[3]
    maps = {
        "scale": ct.scale(a), "identity": ct.linear.identity(x), "zero": ct.linear.zero(x, ct.f64[2]),
        "dense": ct.linear.dense(m), "einsum": ct.linear.einsum("ij,j->i", m, x),
        "outer": ct.linear.outer(np.array([1.0, -2.0]), a), "gather": ct.linear.gather(np.array([2, 0, 5]), x),
        "scatter_add": ct.linear.scatter_add(np.array([2, 0, 2]), x), "sparse": ct.linear.sparse(csr_matrix(m)),
        "recurrence": ct.linear.recurrence(a),
        "recurrence back": ct.linear.recurrence(a, reverse=True), "cumulative_sum": ct.linear.cumulative_sum(x),
        "matrix_free": ct.linear.matrix_free(ct.exr >> ct.neg, ct.exr >> ct.neg, x, x),
        "inverse": ct.linear.inverse(ct.linear.dense(np.array([[1.0, 2.0, 0.0], [0.0, -1.0, 1.0], [0.0, 0.0, 1.0]]))),
        "fork": ct.linear.fork(ct.scale(a), ct.linear.dense(m)), "sum": ct.scale(a) + 2.0 * ct.linear.identity(x),
        "chain": ct.linear.recurrence(a) >> ct.linear.recurrence(a), "inl": ct.inl(x, x), "inr": ct.inr(x, x),
    }  # fmt: skip
    pairs = {
        "join": ct.scale(a) | ct.linear.identity(x),
        "cross": ct.linear.cross(ct.scale(a), ct.linear.dense(m)),
        "jam": ct.jam(x),
    }
    pairs["block"] = ct.linear.block(
        [[ct.scale(a), ct.linear.zero(x, x)], [ct.linear.dense(m), ct.linear.dense(m)]], x * x, x * ct.f64[2]
    )
    out = [
        Case(f"lift {k}", lambda L=L: ct.lift(L), real(3), ("lift", k.split()[0]), dtypes=("float64",))
        for k, L in maps.items()
    ]
    return out + [
        Case(f"lift {k}", lambda L=L: ct.lift(L), both(real(3), real(3)), ("lift", k), dtypes=("float64",))
        for k, L in pairs.items()
    ]


CASES: list[Case] = [
    *pointwise_cases(),
    *operator_cases(),
    *shape_cases(),
    *reduction_cases(),
    *segment_cases(),
    *neighbour_cases(),
    *OTHERS,
    *lift_cases(),
]

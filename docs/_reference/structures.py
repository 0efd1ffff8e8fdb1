"""Derivatives as structures: for each name that is or makes a morphism, one call that shows what its Jacobian is.

The calls run when the site is built, and a test runs them as well. An entry is the text of a function and of the point; a
function without a derivative has one too, and shows the error.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

import numpy as np

import catad as ct

from .names import Name

X = "np.array([0.5, 1.0, 2.0, 3.0])"
UNIT = "np.array([0.2, 0.4, 0.6, 0.8])"
Y = "np.array([4.0, 5.0, 7.0, 8.0])"
GRID = "np.array([[1.0, 2.0], [3.0, 5.0]])"
SYMMETRIC = "np.array([[4.0, 1.0], [1.0, 3.0]])"
PICK = "np.array([3, 0, 0])"
BITS = "np.array([True, False, True])"


WIDTH = 70
"""The width of code that a page shows without scrolling, less a prompt."""


def arguments(text: str) -> list[str]:
    """The arguments of a call, as text."""
    return [ast.unparse(arg) for arg in ast.parse(f"f({text})", mode="eval").body.args]  # type: ignore[attr-defined]


@dataclass(frozen=True)
class Example:
    """A function and the point at which its Jacobian is shown; without a point the function itself is a linear map."""

    function: str
    point: str = ""
    options: str = ""
    """Further arguments of `ct.jacobian`."""

    @property
    def lines(self) -> tuple[str, ...]:
        """What the page shows: an expression, where it is long after assignments to its arguments."""
        if not self.point:
            return (self.function,)
        options = f", {self.options}" if self.options else ""
        code = f"ct.jacobian({self.function}{options})({self.point})"
        if len(code) <= WIDTH:
            return (code,)
        names = iter("xyzuvw")
        named = {arg: next(names) for arg in dict.fromkeys(arguments(self.point)) if "." in arg.lstrip("-0123456789.")}
        called = ", ".join(named.get(arg, arg) for arg in arguments(self.point))
        return (*(f"{name} = {arg}" for arg, name in named.items()), f"ct.jacobian({self.function}{options})({called})")


@dataclass(frozen=True)
class Shown:
    """What an example gives: the text that Python prints, and a picture (SVG), or ""."""

    lines: tuple[str, ...]
    text: str
    picture: str


def at(function: str, point: str = X, options: str = "") -> Example:
    return Example(function, point, options)


POINTS = {  # of functions entry by entry, where they are not smooth at the usual points, or not defined
    **dict.fromkeys(("asin", "arcsin", "acos", "arccos", "atanh", "arctanh"), UNIT),
    **dict.fromkeys(("acosh", "arccosh"), "np.array([1.5, 2.0, 3.0, 4.0])"),
    **dict.fromkeys(("ceil", "floor", "trunc", "rint", "round"), "np.array([0.2, 1.3, 2.4, 3.3])"),
    **dict.fromkeys(("floordiv", "mod", "remainder", "fmod"), "np.array([1.5, 4.0, 7.0]), np.array([2.0, 3.0, 4.0])"),
    **dict.fromkeys(("maximum", "minimum", "fmax", "fmin"), "np.array([1.0, 5.0, 2.0]), np.array([3.0, 4.0, 3.0])"),
    **dict.fromkeys(("relu", "abs", "absolute", "sign"), "np.array([-2.0, -1.0, 1.0, 2.0])"),
    "clip": "np.array([-1.0, 0.5, 2.0]), 0.0, 1.0",
    "fma": "np.array([1.0, 2.0]), np.array([3.0, 4.0]), 1.0",
    "where": "np.array([True, False]), np.array([1.0, 2.0]), np.array([3.0, 4.0])",
    "ldexp": f"{X}, np.array([1, 2, 3, 4])",
    "copysign": "np.array([1.0, 2.0]), np.array([3.0, -1.0])",
    "neg": X,
    "negative": X,
}
TABLE = {
    # derivatives
    "grad": at("ct.grad(ct.square >> ct.sum())"),
    "value_and_grad": at("ct.value_and_grad(ct.square >> ct.sum())", "np.array([1.0, 2.0])"),
    "jacobian": at("ct.cumsum()"),
    "hessian": Example(f"ct.hessian(ct.exp >> ct.sum())({X})"),
    "jacfwd": at("ct.jacfwd(ct.sin)", "np.array([0.0, 1.0])"),
    "jacrev": at("ct.jacrev(ct.sin)", "np.array([0.0, 1.0])"),
    "linearize": Example(f"ct.linearize(ct.exp >> ct.cumsum(), {X})[1]"),
    "stop_gradient": at("ct.stop_gradient"),
    "checkpoint": at("ct.checkpoint(ct.sin >> ct.exp)"),
    "differential": at("ct.differential(ct.sin)", "np.array([0.0, 1.0]), np.array([2.0, 3.0])"),
    "reverse_differential": at("ct.reverse_differential(ct.sin)", "np.array([0.0, 1.0]), np.array([2.0, 3.0])"),
    "tangent": at("ct.tangent(ct.sin)", "np.array([0.0, 1.0]), np.array([2.0, 3.0])"),
    # programs and composition
    "function": at("ct.function(lambda x: np.cumsum(np.exp(x)))"),
    "vmap": at("ct.vmap(lambda row: row.sum())", GRID),
    "map": at("ct.map(lambda x: x * x + 1.0)"),
    "D": at("ct.D(lambda x: (x * x, ct.scale(2.0 * x)))"),
    "compile": at("ct.compile(ct.sin >> ct.exp, ct.f64[4])"),
    "kernel": at("double[1, 4]", f"{X}, np.zeros(4)", "argnums=0"),
    "compose": at("ct.compose(ct.sin, ct.cumsum())"),
    "fork": at("ct.fork(ct.sin, ct.cumsum())", "np.array([1.0, 2.0])"),
    "cross": at("ct.cross(ct.sin, ct.cumsum())", "np.array([1.0, 2.0]), np.array([3.0, 4.0])"),
    "id": at("ct.id"),
    "dup": at("ct.dup", "np.array([1.0, 2.0])"),
    "exl": at("ct.exl", "1.0, 2.0"),
    "exr": at("ct.exr", "1.0, 2.0"),
    "proj": at("ct.proj(2)", "1.0, 2.0, 3.0"),
    "swap": at("ct.swap", "1.0, 2.0"),
    "assoc_l": at("ct.assoc_l", "1.0, (2.0, 3.0)"),
    "assoc_r": at("ct.assoc_r", "(1.0, 2.0), 3.0"),
    "it": at("ct.it", "1.0"),
    "const": at("ct.const(2.0)"),
    "lift": at("ct.lift(np.array([[1.0, 2.0], [0.0, 3.0]]))", "np.array([1.0, 2.0])"),
    "times": at("ct.times(2.0)"),
    "astype": at("ct.astype('float32')"),
    # reductions, folds and scans
    **{name: at(f"ct.{name}()") for name in ("sum", "prod", "mean", "var", "std", "max", "min", "norm", "logsumexp", "softmax")},
    **{name: at(f"ct.{name}()") for name in ("argmax", "argmin", "any", "all", "argsort")},
    "fold": at("ct.fold(lambda a, b: a * b, 1.0)"),
    "scan": at("ct.scan(lambda a, b: a * b, 1.0)"),
    "cumsum": at("ct.cumsum()"),
    "cumprod": at("ct.cumprod()"),
    "recurrence": at("ct.recurrence", "np.array([0.0, 2.0, 2.0]), np.ones(3)", "argnums=1"),
    "segmented_fold": at("ct.segmented_fold(ct.add, 0.0, segments=2)", f"{BITS}, np.array([1.0, 2.0, 3.0])", "argnums=1"),
    "segmented_scan": at("ct.segmented_scan(ct.add, 0.0)", f"{BITS}, np.array([1.0, 2.0, 3.0])", "argnums=1"),
    "histogram": at("ct.histogram(ct.add, 0.0, 4)", f"{PICK}, np.array([1.0, 2.0, 3.0])", "argnums=1"),
    "reduce_by_index": at("ct.reduce_by_index(ct.add, 0.0)", f"np.ones(4), {PICK}, np.array([1.0, 2.0, 3.0])", "argnums=2"),
    # products, shapes and indexing
    "matmul": at("ct.matmul", f"{GRID}, np.array([1.0, 2.0])"),
    "dot": at("ct.dot", "np.array([1.0, 2.0]), np.array([3.0, 4.0])"),
    "outer": at("ct.outer", "np.array([1.0, 2.0]), np.array([3.0, 4.0])"),
    "einsum": at('ct.einsum("ij,j->i")', f"{GRID}, np.array([1.0, 2.0])"),
    "reshape": at("ct.reshape((2, 2))"),
    "transpose": at("ct.transpose()", GRID),
    "moveaxis": at("ct.moveaxis(0, 1)", GRID),
    "expand_dims": at("ct.expand_dims(0)"),
    "squeeze": at("ct.squeeze()", "np.ones((1, 3))"),
    "broadcast_to": at("ct.broadcast_to((3, 2))", "np.array([1.0, 2.0])"),
    "replicate": at("ct.replicate(3)", "np.array([1.0, 2.0])"),
    "repeat": at("ct.repeat(2)", "np.array([1.0, 2.0])"),
    "tile": at("ct.tile(2)", "np.array([1.0, 2.0])"),
    "concatenate": at("ct.concatenate()", "np.array([1.0]), np.array([2.0, 3.0])"),
    "stack": at("ct.stack()", "1.0, 2.0"),
    "split": at("ct.split(2)"),
    "unstack": at("ct.unstack()", "np.array([1.0, 2.0])"),
    "flip": at("ct.flip()"),
    "roll": at("ct.roll(1)"),
    "pad": at("ct.pad(1, 1)", "np.array([1.0, 2.0])"),
    "diff": at("ct.diff()"),
    "stencil": at("ct.stencil(lambda a, b, c: a - 2.0 * b + c, (-1, 0, 1))", "np.zeros(6)"),
    "slice": at("ct.slice(1, 3)"),
    "take": at("ct.take()", f"{X}, {PICK}", "argnums=0"),
    "gather": at("ct.gather", f"{X}, {PICK}", "argnums=0"),
    "scatter": at("ct.scatter", f"{X}, {PICK}, np.ones(3)", "argnums=0"),
    "scatter_add": at("ct.scatter_add", f"{X}, {PICK}, np.ones(3)", "argnums=2"),
    "sort": at("ct.sort()", "np.array([3.0, 1.0, 2.0])"),
    "index": at("ct.index[1:3]"),
    "at": at("ct.at[1:3].set", f"{X}, np.ones(2)"),
    "searchsorted": at("ct.searchsorted()", f"{X}, np.array([1.5, 2.5])"),
    "iota": at("ct.iota(3)"),
    "generate": at("ct.generate(3, lambda i: 2.0 * i)"),
    # loops and equations
    "iterate": at("ct.iterate(ct.sin, 3)"),
    "sweep": at("ct.sweep(ct.map(lambda s, k, u: (k * s + u, s)), 3) >> ct.exl", "1.0, 0.5, np.ones(3)"),
    "while_loop": at("ct.while_loop(ct.max() >> ct.map(lambda x: x > 1.0), ct.times(0.5))"),
    "choose": at("ct.choose(ct.max() >> ct.map(lambda x: x > 1.0), ct.sin, ct.cos)"),
    "root": at("ct.root(lambda x, a: x * x - a)", f"np.ones(4), {X}", "argnums=1"),
    "fixed_point": at("ct.fixed_point(lambda x, a: np.cos(a * x))", f"np.ones(4), {UNIT}", "argnums=1"),
    "minimize": at("ct.minimize(lambda x, a: np.sum((x - a) ** 4 + x**2))", "np.zeros(2), np.array([1.0, 2.0])", "argnums=1"),
    "least_squares": at("ct.least_squares(lambda x, a: np.exp(x) - a)", f"np.zeros(4), {X}", "argnums=1"),
    "implicit": at("ct.implicit(lambda x, a: x * x - a)", "np.array([1.0, 2.0, 3.0]), np.array([1.0, 4.0, 9.0])", "argnums=1"),
    "odeint": at("ct.odeint(lambda t, y: -y * y)", "np.array([1.0, 2.0]), np.array([0.0, 1.0])", "argnums=0"),
    "quad": at("ct.quad(lambda x, k: np.exp(-k * x))", f"0.0, 1.0, {X}", "argnums=2"),
    "cubic_spline": at("ct.cubic_spline()", f"{X}, {Y}, np.array([0.7, 1.2, 2.5])", "argnums=1"),
    # linear maps
    "scale": Example(f"ct.scale({X})"),
    "inl": Example("ct.inl(ct.f64[2], ct.f64[3])"),
    "inr": Example("ct.inr(ct.f64[2], ct.f64[3])"),
    "jam": Example("ct.jam(ct.f64[3])"),
    "linear.identity": Example("ct.linear.identity(ct.f64[4])"),
    "linear.zero": Example("ct.linear.zero(ct.f64[4], ct.f64[2])"),
    "linear.scale": Example(f"ct.linear.scale({X})"),
    "linear.dense": Example("ct.linear.dense(np.arange(6.0).reshape(2, 3))"),
    "linear.sparse": Example("ct.linear.sparse(scipy.sparse.eye_array(4, k=1))"),
    "linear.outer": Example("ct.linear.outer(np.ones(3), np.arange(4.0))"),
    "linear.einsum": Example('ct.linear.einsum("j,ij->i", np.array([1.0, 2.0]), ct.f64[3, 2])'),
    "linear.gather": Example("ct.linear.gather(np.array([3, 0, 0]), ct.f64[4])"),
    "linear.scatter_add": Example("ct.linear.scatter_add(np.array([3, 0, 0]), ct.f64[4])"),
    "linear.recurrence": Example("ct.linear.recurrence(np.array([0.0, 2.0, 2.0]))"),
    "linear.cumulative_sum": Example("ct.linear.cumulative_sum(ct.f64[4])"),
    "linear.matrix_free": Example("ct.linear.matrix_free(ct.exr >> ct.neg, ct.exr >> ct.neg, ct.f64[3], ct.f64[3])"),
    "linear.fork": Example("ct.linear.fork(ct.linear.identity(ct.f64[3]), ct.linear.cumulative_sum(ct.f64[3]))"),
    "linear.join": Example("ct.linear.join(ct.linear.identity(ct.f64[3]), ct.linear.cumulative_sum(ct.f64[3]))"),
    "linear.cross": Example("ct.linear.cross(ct.linear.identity(ct.f64[3]), ct.linear.cumulative_sum(ct.f64[3]))"),
    "linear.block": Example(
        "ct.linear.block([[ct.linear.identity(ct.f64[3])] * 2], ct.f64[3] * ct.f64[3], ct.product(ct.f64[3]))"
    ),
    "linear.inverse": Example("ct.linear.inverse(ct.linear.cumulative_sum(ct.f64[4]))"),
    "LinearMap": Example("ct.scale(np.arange(1.0, 5.0)) + ct.linear.sparse(scipy.sparse.eye_array(4, k=1))"),
    # linear algebra
    **{
        f"linalg.{name}": at(f"ct.linalg.{name}", GRID)
        for name in ("inv", "det", "slogdet", "expm", "eigvals", "eig", "svdvals", "lu_factor")
    },
    **{f"linalg.{name}": at(f"ct.linalg.{name}()", GRID) for name in ("pinv", "matrix_rank", "norm", "cond", "qr", "lu", "svd")},
    **{f"linalg.{name}": at(f"ct.linalg.{name}()", SYMMETRIC) for name in ("cholesky", "eigh", "eigvalsh")},
    "linalg.solve": at("ct.linalg.solve()", f"{GRID}, np.array([1.0, 2.0])"),
    "linalg.lstsq": at("ct.linalg.lstsq()", "np.ones((4, 1)), np.array([1.0, 2.0, 3.0, 6.0])", "argnums=1"),
    "linalg.matrix_power": at("ct.linalg.matrix_power(2)", GRID),
    "linalg.lu_solve": at("ct.linalg.lu_solve()", f"ct.linalg.lu_factor({GRID}), np.array([1.0, 2.0])", "argnums=1"),
    "linalg.solve_tridiagonal": at(
        "ct.linalg.solve_tridiagonal", "np.ones(3), np.full(4, 4.0), np.ones(3), np.array([5.0, 6.0, 6.0, 5.0])", "argnums=3"
    ),
    "linalg.solve_banded": at(
        "ct.linalg.solve_banded((1, 1))", "np.array([[0.0, 1.0, 1.0], [4.0, 4.0, 4.0], [1.0, 1.0, 0.0]]), np.ones(3)", "argnums=1"
    ),
    "linalg.solveh_banded": at(
        "ct.linalg.solveh_banded(lower=True)", "np.array([[4.0, 4.0, 4.0], [1.0, 1.0, 0.0]]), np.ones(3)", "argnums=1"
    ),
    "linalg.solve_toeplitz": at("ct.linalg.solve_toeplitz", "np.array([4.0, 1.0, 0.5]), np.ones(3)", "argnums=1"),
    "linalg.solve_circulant": at("ct.linalg.solve_circulant()", "np.array([4.0, 1.0, 0.5]), np.ones(3)", "argnums=1"),
    # Fourier transforms
    **{f"fft.{name}": at(f"ct.fft.{name}()") for name in ("fft", "ifft", "rfft", "ihfft", "irfft", "hfft")},
    **{f"fft.{name}": at(f"ct.fft.{name}()") for name in ("dct", "idct", "dst", "idst", "fftshift", "ifftshift")},
    **{
        f"fft.{name}": at(f"ct.fft.{name}()", GRID)
        for kind in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
        for name in (f"{kind}2", f"{kind}n")
    },
    **{f"fft.{name}": at(f"ct.fft.{name}()", GRID) for name in ("dctn", "idctn", "dstn", "idstn")},
    "fft.fftconvolve": at("ct.fft.fftconvolve()", "np.array([1.0, 2.0, 3.0]), np.array([1.0, -1.0])", "argnums=0"),
    "fft.fftfreq": at("ct.fft.fftfreq(4)"),
    "fft.rfftfreq": at("ct.fft.rfftfreq(4)"),
    # primitives
    "primitive.function": at("ct.primitive.function(np.exp, lambda x: x, lambda x, y: ct.scale(y))"),
    "primitive.linear": at("ct.primitive.linear(np.cumsum, structure=ct.linear.cumulative_sum)"),
    "primitive.pointwise": at("ct.primitive.pointwise(lambda x: x**3, lambda x, y: 3.0 * x * x)"),
}


def double(x, y):  # type: ignore[no-untyped-def]
    """The kernel of an example, as in the docstring of `ct.kernel`."""
    i = ct.simt.grid(1)
    if i < len(x):
        y[i] = 2.0 * x[i]


def example(name: Name) -> Example | None:
    """The call that shows the derivative of a name; None where it neither is nor makes a morphism or a linear map."""
    if found := TABLE.get(name.key):
        return found
    if name.space == "catad" and isinstance(name.value, ct.D):
        arity = name.signature.count(",") + 1
        usual = X if arity == 1 else f"{X}, {Y}"
        return at(name.short, POINTS.get(name.last, usual))
    return None


def namespace() -> dict[str, Any]:
    """The names that examples use."""
    import scipy.sparse

    return {"ct": ct, "np": np, "scipy": scipy, "double": ct.kernel(double)}


def value(example: Example) -> Any:
    """What an example gives."""
    names = namespace()
    *first, last = example.lines
    for line in first:
        exec(line, names)
    with ct.use_engine("reference"):  # nothing is worth compiling
        return eval(last, names)


def shown(example: Example) -> Shown:
    """What a page shows of an example; of an error of catad, its class and the first line of its message."""
    try:
        result = value(example)
    except ct.CatadError as error:
        head = str(error.message).splitlines()[0]
        text = f"Traceback (most recent call last):\n    ...\ncatad.errors.{type(error).__name__}: {head}"
        return Shown(example.lines, text, "")
    picture = getattr(result, "_repr_svg_", None)
    return Shown(example.lines, repr(result), (picture() or "") if picture else "")

"""`ct.quad`: integrals of functions by adaptive quadrature.

The interval of the greatest error is cut in two until the errors of all together are within the tolerance: a loop of a traced
function, so every engine runs it. The derivative of what it finds is that of `integral.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors
from catad.category.boxes import of_fields
from catad.category.cartesian import Proj, compose, cross, exl, exr
from catad.category.constructors import constructor, integer
from catad.category.spaces import Product, Space, Tensor, flatten, rebuild
from catad.category.terms import D, Fork, Id, MorphismLike, morphism
from catad.category.text import call
from catad.category.wiring import share
from catad.equations.integral import Points, at_points, derived, signed
from catad.equations.kronrod import edges_of, lengths, measured, position, sampled
from catad.equations.own_arguments import with_first
from catad.front.closure_conversion import Given, closed, of_both
from catad.front.specialise import OwnArguments, at_space, specialised, tuple_tree
from catad.linear.structure import cast
from catad.support.options import truth_value
from catad.traced.function import Function
from catad.traced.function import function as make_function
from catad.traced.signature import Form
from catad.values.trees import LEAF, Tree
from catad.vector.loops.converged import WhereConverged
from catad.vector.pointwise.operators import astype
from catad.vector.stop_gradient import StoppedAt

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire, Wires


@dataclass(frozen=True)
class Tolerance:
    """What an integral is asked for: see `quad`."""

    epsabs: float | None
    epsrel: float | None
    limit: int
    points: Points
    error: bool

    def given(self, dtype: np.dtype[Any]) -> tuple[float, float]:
        """The tolerances; by default the square root of the unit of rounding."""
        root = math.sqrt(float(np.finfo(dtype).eps))
        return root if self.epsabs is None else self.epsabs, root if self.epsrel is None else self.epsrel


@share
@of_fields
class Integral(OwnArguments):
    """`ct.quad(f, ...)`, a morphism `(a, b, *args)`."""

    drawn_as = "functor"
    f: D
    asked: Tolerance

    def lay_out(self, b: Builder, x: Wires) -> Any:
        space = b.space(x)
        settled = at_space(self, space)
        if settled is not self:
            return (yield settled, x)
        low, high = _ends(b, x, self)
        ends, args = (low, high), tuple(x[2:])
        f = self._of_pair(b.space((low, args)))
        point = (ends, args)
        stopped = b.apply(StoppedAt((True,) * len(b.space(point).leaves)), point)
        cod = f.spaces(b.space((low, args)))
        made, error, cuts = yield _adaptive(f, self.asked, cod), stopped
        value = derived(b, f, self.asked.points, point, cuts, made)
        return (value, error) if self.asked.error else value

    def takes(self, function: Function) -> Function:
        """A function of two ends and of all arguments but the first."""
        found = self.__dict__.get("taking")
        if found is None:
            found = self.__dict__["taking"] = with_first(function, ("a", "b"), 1, "the integral of")
        return found

    def _of_pair(self, dom: Space) -> D:
        """The function as a morphism of (x, args), with floating results that are at least as wide as x."""
        x, args = dom.factors  # type: ignore[attr-defined]
        n = len(args.factors)
        f = compose(Fork((Proj(0), *[compose(Proj(1), Proj(k)) for k in range(n)])) if n else Proj(0), self.f)
        cod = f.spaces(dom)
        wide = [np.result_type(leaf.dtype, x.dtype) for leaf in cod.leaves]
        if not cod.leaves:
            raise errors.SpaceError(errors.nothing_to_integrate(self.f, cod))
        if [leaf.dtype for leaf in cod.leaves] == wide:
            return f
        casts = [Id() if leaf.dtype == dtype else astype(dtype) for leaf, dtype in zip(cod.leaves, wide, strict=True)]
        return compose(f, _leaf_by_leaf(cod, casts))

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        asked = self.asked
        options = {key: getattr(asked, key) for key in ("epsabs", "epsrel", "limit", "points", "error")}
        return call(quad, name, part(self.f), **options)


def _leaf_by_leaf(space: Space, parts: Sequence[D]) -> D:
    """A morphism for each leaf of a space."""

    made: D = rebuild(space, list(parts), lambda own: cross(*own))
    return made


def _ends(b: Builder, x: Any, term: D) -> tuple[Wire, Wire]:
    """The ends of the domain, as numbers of one floating dtype."""
    if not isinstance(x, tuple) or len(x) < 2 or any(not hasattr(end, "space") or end.shape for end in x[:2]):
        raise errors.SpaceError(errors.no_ends(b.space(x), term))
    kinds = [end.dtype if end.dtype.kind == "f" else np.dtype(np.float64) for end in x[:2]]
    dtype = np.result_type(*kinds)
    return cast(x[0], dtype), cast(x[1], dtype)


def _adaptive(f: D, asked: Tolerance, cod: Space) -> D:
    """`((a, b), args)` to the integral, the estimate of its error, and the intervals."""
    values, end = at_points(f), WhereConverged(errors.integral_not_found)
    first = len(asked.points) + 1
    room = max(asked.limit, first)

    def measures(edges: Any, intervals: Any, args: Any) -> tuple[Any, ...]:
        samples = sampled(values, edges, intervals, args)
        return *measured(samples), np.stack([np.any(np.isinf(leaf)) for leaf in samples]).any()

    def whole(parts: Any) -> Any:
        return lengths([np.sum(part, axis=0)[None] for part in parts])[0]

    def found(ends: Any, args: Any) -> Any:
        kind = ends[0].dtype.type
        edges = edges_of(ends, asked.points, ends[0].dtype)
        epsabs, epsrel = asked.given(ends[0].dtype)
        piece, left, width = np.zeros(room, np.int64), np.zeros(room, kind), np.zeros(room, kind)
        piece[:first], width[:first] = np.arange(first), 1.0
        made, bound, rough, infinite = measures(edges, (piece[:first], left[:first], width[:first]), args)
        parts = tuple([np.zeros((room, *leaf.shape[1:]), leaf.dtype) for leaf in made])
        for part, leaf in zip(parts, made, strict=True):
            part[:first] = leaf
        error, rounding = np.zeros(room, bound.dtype), np.zeros(room, bound.dtype)
        error[:first], rounding[:first] = bound, rough
        count = first
        total, size, lost = np.sum(error), whole(parts), np.sum(rounding)
        wanted = np.maximum(epsabs, epsrel * size)
        while (total > wanted) & (count < room) & (lost <= wanted) & ~infinite:
            k = np.argmax(error)
            half = width[k] / 2
            lefts = np.stack([left[k], left[k] + half])
            halves, bounds, losses, infinite = measures(edges, (np.stack([piece[k]] * 2), lefts, np.stack([half] * 2)), args)
            for rows, two in zip(parts, halves, strict=True):
                rows[k], rows[count] = two[0], two[1]
            piece[count], left[count], width[count], width[k] = piece[k], lefts[1], half, half
            error[k], error[count] = bounds[0], bounds[1]
            rounding[k], rounding[count] = losses[0], losses[1]
            count = count + 1
            total, size, lost = np.sum(error), whole(parts), np.sum(rounding)
            wanted = np.maximum(epsabs, epsrel * size)
        worst = np.argmax(error)
        low, high = edges[piece[worst]], edges[piece[worst] + 1]
        around = [position(low, high, u) for u in (left[worst], left[worst] + width[worst])]
        numbers = tuple([np.asarray(one, np.float64) for one in (size, total, wanted, *around, count, lost, infinite)])
        leaves = tuple([signed(ends, np.sum(part, axis=0)) for part in parts])
        done = end(~(total > wanted) & ~infinite, numbers, leaves)
        return rebuild(cod, list(flatten(done))), total, (piece, left, width, count)

    made: D = make_function(found)
    return made


@specialised.register
def _(term: Integral, form: Form, dom: Space) -> tuple[D, Tree | None]:
    factors = dom.factors if isinstance(dom, Product) else ()
    trees = [form.trees[k] for k in form.dynamic]
    if len(factors) < 2 or len(trees) != len(factors) or any(not isinstance(one, Tensor) or one.shape for one in factors[:2]):
        return term, None
    dtype = np.result_type(*[one.dtype if one.is_float else np.float64 for one in factors[:2]])  # type: ignore[attr-defined]
    x = Tensor((), dtype)
    own = Form((LEAF, *form.args[2:]), form.kwargs)
    inner, tree = specialised(term.f, own, x if len(factors) == 2 else Product((x, *factors[2:])))
    made = Integral(inner, term.asked)
    return made, tree if tree is None or not term.asked.error else tuple_tree([tree, LEAF])


@closed.register
def _(term: Integral, dom: Space, given: Given) -> D:
    """`(values, (a, b, *args))`: the values are one more argument."""
    factors = dom.factors  # type: ignore[attr-defined]
    n = len(factors) - 2
    own = Proj(0) if not n else Fork((Proj(0), *[Proj(k + 2) for k in range(n)]))
    inner = factors[0] if not n else Product((factors[0], *factors[2:]))
    f = compose(Fork((Proj(1), own)), of_both(term.f, inner, given))
    ends = [compose(exr, Proj(k)) for k in range(n + 2)]
    return compose(Fork((*ends[:2], exl, *ends[2:])), Integral(f, term.asked))


@constructor(morphisms="f")
def quad(
    f: MorphismLike, epsabs: float | None = None, epsrel: float | None = None, limit: int = 200,
    points: Sequence[float] = (), error: bool = False,
) -> D:  # fmt: skip
    """The integral of a function or morphism: `(a, b, *args)` to that of `f(x, *args)` for x from a to b.

    The rule of Gauss and Kronrod with 21 points is taken on intervals, of which that with the greatest error is cut in two, until
    the errors of all are at most `epsabs`, or `epsrel` times the integral (the square root of the unit of rounding where these
    are None). Values of f are numbers, arrays or trees of these, whose Euclidean norm counts. An end may be infinite, and a may
    be above b. Square roots and logarithms need few intervals at the ends, and at `points`, numbers at which the domain is cut
    first. With `error=True` the result is a pair of the integral and the estimate of its error, which has no derivative.

    f is called with a number x, for all points at once by `ct.vmap`. The ends are numbers; the result has the shapes of f's, in
    floating dtypes of at least the width of the ends. The derivative, of any order, is Leibniz's rule: by the ends, values of f
    there; by args, integrals over the same intervals. It holds where f is continuous in args: where a jump moves with args, split
    the integral there. In a batch each lane has its own intervals, and the work is that of the longest.

    Raises `ConvergenceError` where `limit` intervals do not suffice, rounding alone exceeds the tolerance, or f is infinite at a
    point; NaN gives NaN. Raises `SpaceError` for ends that are no numbers, `ArgumentError` for tolerances below 0. Sources: R.
    Piessens and others, QUADPACK, 1983; L. Shampine, Vectorized adaptive quadrature in MATLAB, 2008, for the transformations.

    >>> import catad as ct, numpy as np
    >>> bell = ct.quad(lambda x, k: np.exp(-k * x**2))
    >>> bell(-np.inf, np.inf, np.pi).round(6), ct.grad(bell, argnums=2)(-np.inf, np.inf, np.pi).round(6)
    (np.float64(1.0), np.float64(-0.159155))
    """
    term = morphism(f, "ct.quad")
    absolute, relative = _tolerance("epsabs", epsabs), _tolerance("epsrel", epsrel)
    try:
        cuts = tuple(sorted({float(p) for p in points}))
    except (TypeError, ValueError):
        raise errors.ArgumentError(errors.no_break_points(points)) from None
    if not all(map(math.isfinite, cuts)):
        raise errors.ArgumentError(errors.no_break_points(points))
    most, with_error = integer(limit, "the number of intervals", 1), truth_value(error, "error")
    return Integral(term, Tolerance(absolute, relative, most, cuts, with_error))


def _tolerance(name: str, value: Any) -> float | None:
    try:
        found = None if value is None else float(value)
    except (TypeError, ValueError):
        found = math.nan
    if found is not None and not found >= 0:
        raise errors.ArgumentError(errors.no_tolerance(name, value))
    return found

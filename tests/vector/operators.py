"""Associative operators for the tests of the vector combinators, with plain loops and differences to compare with.

An operator is kept as text, one expression for each number of an element, so that random tuples of operators in random orders
and nestings are plain Python functions: what catad reads, a loop on Python numbers runs as well.
"""

from __future__ import annotations

import linecache
import math
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

import catad as ct
from catad.category.wiring import Wiring, wire
from catad.derivative.functors import linearised
from catad.linear.apply import applying

# -- operators


class Atom(NamedTuple):
    """Expressions in `a0, a1, ...` and `b0, b1, ...`, the neutral element, and the dtypes of the numbers."""

    results: tuple[str, ...]
    neutral: tuple[Any, ...]
    integer: tuple[bool, ...] = ()
    smooth: bool = True

    def is_integer(self, k: int) -> bool:
        return bool(self.integer) and self.integer[k]


INF = math.inf
ATOMS: dict[str, Atom] = {
    "+": Atom(("a0 + b0",), (0.0,)),
    "*": Atom(("b0 * a0",), (1.0,)),
    "or": Atom(("a0 + b0 - a0 * b0",), (0.0,)),
    "max": Atom(("max(a0, b0)",), (-INF,), smooth=False),
    "min": Atom(("a0 if a0 <= b0 else b0",), (INF,), smooth=False),
    "saturating": Atom(("min(a0 + b0, 10.0)",), (0.0,), smooth=False),
    "affine": Atom(("a0 * b0", "a1 * b0 + b1"), (1.0, 0.0)),
    "affine, outer first": Atom(("a0 * b0", "a0 * b1 + a1"), (1.0, 0.0)),
    "jet": Atom(("a0 * b0", "a0 * b1 + a1 * b0", "a0 * b2 + a1 * b1 + a2 * b0"), (1.0, 0.0, 0.0)),
    "two shifts": Atom(("a0 + b0", "a1 + b1", "max(a2 + b0 + b1, b2)"), (0.0, 0.0, -INF), smooth=False),
    "complex": Atom(("a0 * b0 - a1 * b1", "a0 * b1 + a1 * b0"), (1.0, 0.0)),
    "max-plus": Atom(("a0 + b0", "max(a1 + b0, b1)"), (0.0, -INF), smooth=False),
    "triangular": Atom(("a0 * b0", "a0 * b1 + a1 * b2", "a2 * b2"), (1.0, 0.0, 1.0)),
    "matrix": Atom(
        ("a0 * b0 + a1 * b2", "a0 * b1 + a1 * b3", "a2 * b0 + a3 * b2", "a2 * b1 + a3 * b3"), (1.0, 0.0, 0.0, 1.0)
    ),
    "last": Atom(("max(a0, b0)", "b1 if b0 >= a0 else a1"), (-INF, 0.0), smooth=False),
    "argmax": Atom(("max(a0, b0)", "a1 if a0 >= b0 else b1"), (-INF, -1), (False, True), smooth=False),
    "string": Atom(("a0 * b1 + b0", "a1 * b1"), (0, 1), (True, True)),
}


class Operator(NamedTuple):
    """A Python function on elements nested as `neutral`; which numbers are integers, and whether it has kinks."""

    function: Callable[[Any, Any], Any]
    neutral: Any
    integer: tuple[bool, ...]
    smooth: bool
    text: str

    def __repr__(self) -> str:
        return f"{self.text}    # neutral {self.neutral}"

    @property
    def pair(self) -> tuple[Callable[[Any, Any], Any], Any]:
        return self.function, self.neutral


_numbers = count()


def operator(names: Sequence[str], order: Sequence[int] | None = None, tree: Any = None) -> Operator:
    """The operator on tuples whose parts are some atoms; `order[k]` says where number k of the parts stands in the tuple."""
    results, neutral, integer = [], [], []
    for name in names:
        atom, start = ATOMS[name], len(neutral)
        for text in atom.results:
            for k in reversed(range(len(atom.neutral))):
                text = text.replace(f"a{k}", f"x{start + k}_").replace(f"b{k}", f"y{start + k}_")
            results.append(text)
        neutral += atom.neutral
        integer += [atom.is_integer(k) for k in range(len(atom.neutral))]
    d = len(neutral)
    order = list(range(d)) if order is None else list(order)
    tree = tuple(range(d)) if tree is None and d > 1 else (0 if tree is None else tree)
    at = {place: k for k, place in enumerate(order)}  # which number of the parts stands at a place of the tuple

    def shown(what: Callable[[int], str], t: Any) -> str:
        return f"({''.join(shown(what, part) + ', ' for part in t)})" if isinstance(t, tuple) else what(at[t])

    def built(t: Any) -> Any:
        return tuple(built(part) for part in t) if isinstance(t, tuple) else neutral[at[t]]

    left, right = (shown(lambda k, s=side: f"{s}{k}_", tree) for side in "xy")
    text = f"def op(a, b):\n    {left} = a\n    {right} = b\n    return {shown(lambda k: results[k], tree)}\n"
    file = f"<operator {next(_numbers)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    scope: dict[str, Any] = {}
    exec(compile(text, file, "exec"), scope)
    smooth = all(ATOMS[name].smooth for name in names)
    return Operator(scope["op"], built(tree), tuple([integer[at[k]] for k in leaves(tree)]), smooth, text)


@st.composite
def operators(draw: st.DrawFn, smooth: bool = False, most: int = 3) -> Operator:
    """Random tuples of atoms, in random orders and nestings."""
    names = [name for name, atom in ATOMS.items() if not smooth or (atom.smooth and not any(atom.integer))]
    chosen = draw(st.lists(st.sampled_from(names), min_size=1, max_size=most))
    d = sum(len(ATOMS[name].neutral) for name in chosen)
    return operator(chosen, draw(st.permutations(range(d))), draw(trees(d)))


@st.composite
def trees(draw: st.DrawFn, d: int) -> Any:
    """A nesting of the numbers 0 .. d - 1, in this order."""
    parts: list[Any] = list(range(d))
    while len(parts) > 1:
        start = draw(st.integers(0, len(parts) - 2))
        stop = draw(st.integers(start + 2, len(parts)))
        parts[start:stop] = [tuple(parts[start:stop])]
    return parts[0]


def damped(a: Any, b: Any, p: Any) -> Any:
    """An operator with a free number: (prod (1 + p x_i) - 1) / p."""
    return a + b + p * a * b


# -- elements


def leaves(tree: Any) -> list[Any]:
    """The leaves of nested tuples."""
    return [leaf for part in tree for leaf in leaves(part)] if isinstance(tree, tuple) else [tree]


def nested(tree: Any, flat: Sequence[Any]) -> Any:
    """Leaves in the nesting of a tree."""
    it = iter(flat)

    def build(t: Any) -> Any:
        return tuple(build(part) for part in t) if isinstance(t, tuple) else next(it)

    return build(tree)


def small(rng: np.random.Generator, op: Operator, shape: tuple[int, ...]) -> Any:
    """Small integers, as floats or int64: ties and zeros are frequent, and sums and products exact."""
    flat = [rng.integers(0, 3, shape).astype(np.int64 if integer else float) for integer in op.integer]
    return nested(op.neutral, flat)


def spread(rng: np.random.Generator, op: Operator, shape: tuple[int, ...]) -> Any:
    """Numbers without ties, on which no product vanishes or explodes."""
    size = math.prod(shape)
    flat: list[Any] = []
    for integer in op.integer:
        if integer:
            flat.append(rng.integers(0, 3, shape))
        else:
            flat.append(rng.permutation(np.linspace(0.4, 1.7, size) + rng.uniform(0, 1e-2, size)).reshape(shape))
    return nested(op.neutral, flat)


# -- plain loops, on Python numbers


def item(x: Any, at: Any) -> Any:
    return nested(x, [leaf[at].item() for leaf in leaves(x)])


def loop_fold(op: Operator, rows: Sequence[Any]) -> Any:
    """The fold of elements one after the other, from the neutral element."""
    total = op.neutral
    for row in rows:
        total = op.function(total, row)
    return total


def loop_scan(op: Operator, rows: Sequence[Any], exclusive: bool, reverse: bool) -> list[Any]:
    """All prefixes or suffixes, each by a loop of its own."""
    n, skip = len(rows), int(exclusive)
    if reverse:
        return [loop_fold(op, rows[i + skip :]) for i in range(n)]
    return [loop_fold(op, rows[: i + 1 - skip]) for i in range(n)]


def along(op: Operator, x: Any, axis: int, each: Callable[[list[Any]], list[Any]], size: int) -> Any:
    """Apply `each`, from the rows along an axis to `size` rows, for every place of the other axes."""
    moved = [np.moveaxis(leaf, axis, 0) for leaf in leaves(x)]
    n, rest = moved[0].shape[0], moved[0].shape[1:]
    out = [np.zeros((size, *rest), leaf.dtype) for leaf in moved]
    for at in np.ndindex(*rest):
        rows = [nested(x, [leaf[(i, *at)].item() for leaf in moved]) for i in range(n)]
        for i, row in enumerate(each(rows)):
            for leaf, number in zip(out, leaves(row), strict=True):
                leaf[(i, *at)] = number
    return nested(x, [np.moveaxis(leaf, 0, axis) for leaf in out])


def folded(op: Operator, x: Any, axis: int = 0) -> Any:
    whole = along(op, x, axis, lambda rows: [loop_fold(op, rows)], 1)
    return nested(x, [np.squeeze(leaf, axis) for leaf in leaves(whole)])


def scanned(op: Operator, x: Any, axis: int, exclusive: bool, reverse: bool) -> Any:
    n = leaves(x)[0].shape[axis]
    return along(op, x, axis, lambda rows: loop_scan(op, rows, exclusive, reverse), n)


def binned(op: Operator, dst: Any, index: Any, x: Any, bins: int) -> Any:
    """`reduce_by_index` where there is a dst, else `histogram`."""

    def each(rows: list[Any]) -> list[Any]:
        values, onto = (rows[bins:], rows[:bins]) if dst is not None else (rows, [op.neutral] * bins)
        out = []
        for k in range(bins):
            total = onto[k]
            for i, value in enumerate(values):
                if index[i] == k:
                    total = op.function(total, value)
            out.append(total)
        return out

    if dst is not None:
        x = nested(x, [np.concatenate([d, v]) for d, v in zip(leaves(dst), leaves(x), strict=True)])
    return along(op, x, 0, each, bins)


def same(got: Any, want: Any) -> bool:
    """Equal bit for bit, shapes and dtypes too."""
    pairs = list(zip(leaves(got), leaves(want), strict=True))
    return all(np.array_equal(g, w) and np.shape(g) == np.shape(w) and g.dtype == w.dtype for g, w in pairs)


# -- derivatives


def floats(x: Any) -> list[Any]:
    return [np.asarray(leaf) for leaf in leaves(x) if np.asarray(leaf).dtype.kind == "f"]


def stacked(x: Any) -> Any:
    """All floating numbers of a value as one vector."""
    return np.concatenate([np.zeros(0), *[leaf.reshape(-1) for leaf in floats(x)]])


def moved(x: Any, v: Any, h: float) -> Any:
    """x + h v, where v is a vector for all floating numbers of x."""
    out, start = [], 0
    for leaf in leaves(x):
        leaf = np.asarray(leaf)
        if leaf.dtype.kind == "f":
            out.append(leaf + h * v[start : start + leaf.size].reshape(leaf.shape))
            start += leaf.size
        else:
            out.append(leaf)
    return nested(x, out)


def tangent(x: Any, v: Any) -> Any:
    """The tangent at x whose numbers are the vector v; `()` for integers."""
    out, start = [], 0
    for leaf in leaves(x):
        leaf = np.asarray(leaf)
        if leaf.dtype.kind == "f":
            out.append(v[start : start + leaf.size].reshape(leaf.shape).astype(leaf.dtype))
            start += leaf.size
        else:
            out.append(())
    return nested(x, out)


def central(f: Callable[[Any], Any], x: Any, v: Any) -> tuple[Any, Any]:
    """The derivative along v by differences of fourth order (B. Fornberg, 1988); and where it is one, not a kink between."""
    slopes = []
    for h in (4e-5, 1e-5):
        by = [stacked(f(moved(x, v, k * h))) for k in (-2, -1, 1, 2)]
        with np.errstate(invalid="ignore"):
            slope = (by[0] - 8 * by[1] + 8 * by[2] - by[3]) / (12 * h)
        slopes.append(np.where(by[0] == by[3], 0.0, slope))  # also infinities that do not change
    size = np.max(np.abs(by), axis=0)
    return slopes[0], np.abs(slopes[0] - slopes[1]) <= 1e-9 * (1 + np.where(np.isfinite(size), size, 0.0))


def rounding(*numbers: Any) -> float:
    """What some dozen operations on numbers of this size may differ by."""
    finite = [np.abs(a)[np.isfinite(a)] for a in numbers]
    return 1e-12 * (1.0 + max([0.0, *[float(np.max(a)) for a in finite if a.size]]))


def matrix(f: ct.D, x: Any, mode: str = "auto") -> Any:
    """The Jacobian as a matrix on flattened vectors."""
    linear = ct.jacobian(f, mode)(x)
    return np.asarray(linear.todense(force=True)).reshape(linear.shape)


def agree(f: ct.D, x: Any, plain: Callable[[Any], Any] | None = None, seed: int = 0) -> Any:
    """Forward, reverse and the three explicit Jacobians agree to rounding, and with differences of a plain function.

    Returns the Jacobian as a matrix on flattened vectors.
    """
    rng = np.random.default_rng(seed)
    y = f(x)
    v, w = rng.standard_normal(stacked(x).size), rng.standard_normal(stacked(y).size)
    forward = stacked(ct.jvp(f, (x,), (tangent(x, v),))[1])
    reverse = stacked(ct.vjp(f, x)[1](tangent(y, w))[0])
    _, linear = ct.linearize(f, x)
    dense = np.asarray(linear.todense(force=True)).reshape(linear.shape)
    bound = rounding(dense) * max(1, *dense.shape)
    for mode in ("auto", "forward", "reverse"):
        np.testing.assert_allclose(matrix(f, x, mode), dense, rtol=0, atol=bound, err_msg=mode)
    np.testing.assert_allclose(linear.tocsr().toarray(), dense, rtol=0, atol=bound)
    np.testing.assert_allclose(forward, dense @ v, rtol=0, atol=10 * bound)
    np.testing.assert_allclose(reverse, dense.T @ w, rtol=0, atol=10 * bound)
    slope, there = central(plain or f, x, v)
    np.testing.assert_allclose(forward[there], slope[there], rtol=0, atol=1e3 * (bound + rounding(stacked(y))))
    return dense


def agree_twice(f: ct.D, x: Any, seed: int = 0) -> Any:
    """Hessian of a curved function of the results: all modes agree, it is symmetric, and differences of the gradient meet it."""
    total = f >> squares(f(x))
    gradient = ct.grad(total)
    hessians = [matrix(gradient, x, mode) for mode in ("auto", "forward", "reverse")]
    v = np.random.default_rng(seed).standard_normal(stacked(x).size)
    bound = rounding(hessians[0]) * 10 * max(1, v.size)
    for hessian in hessians:
        np.testing.assert_allclose(hessian, hessians[0], rtol=0, atol=bound)
        np.testing.assert_allclose(hessian, hessian.T, rtol=0, atol=bound)
    np.testing.assert_allclose(stacked(ct.hvp(total, (x,), (tangent(x, v),))), hessians[0] @ v, rtol=0, atol=10 * bound)
    slope, there = central(gradient, x, v)
    got = (hessians[0] @ v)[there]
    np.testing.assert_allclose(got, slope[there], rtol=0, atol=1e3 * (bound + rounding(stacked(gradient(x)))))
    return hessians[0]


def squares(y: Any) -> ct.D:
    """The sum of y + y^2/2 over all floating numbers of a result; what is not finite counts for nothing."""
    parts = []
    for k, leaf in enumerate(leaves(y)):
        if np.asarray(leaf).dtype.kind == "f":
            parts.append(leaf_at(y, k) >> ct.map(lambda t: t + 0.5 * t * t if abs(t) < 1e100 else 0.0) >> ct.sum())
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def leaf_at(tree: Any, k: int) -> ct.D:
    """The projection to leaf k of a nested tuple."""
    path: ct.D = ct.id
    while isinstance(tree, tuple):
        for i, part in enumerate(tree):
            size = len(leaves(part))
            if k < size:
                path, tree = path >> ct.proj(i), part
                break
            k -= size
    return path


# -- what a derivative is made of


def primitives(wiring: Wiring) -> list[Any]:
    return [box.primitive for box in wiring.boxes]


def recurrences(f: ct.D, *, at: ct.Space) -> list[Any]:
    """The `Recurred` boxes of the Jacobian's application, most copies of states first."""
    boxes = primitives(applying(linearised(f, at)[1])[0])
    found = [p for p in boxes if type(p).__name__ == "Recurred"]
    return sorted(found, key=lambda p: (-p.copies, len(p.grid), p.links))


def kinds(f: ct.D, at: ct.Space) -> list[str]:
    """The names of the boxes of the reverse derivative."""
    return [type(p).__name__ for p in primitives(wire(ct.reverse_differential(f), at * ct.tangent_space(f.spaces(at))))]

"""The derivative of a program at a point, taken in every way that catad has, behind one interface.

A mode gives `push` (Jacobian times vector), `pull` (cotangent times Jacobian) and `matrix` (all of it). One of the three is what
the mode computes; the others are made of it by plain NumPy, so that a case asked in one way is a test of all modes.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

import catad as ct


def leaves(tree: Any) -> list[Any]:
    return [leaf for part in tree for leaf in leaves(part)] if isinstance(tree, tuple) else [tree]


def is_float(array: Any) -> bool:
    return np.asarray(array).dtype.kind == "f"


def flat(tree: Any, like: list[Any]) -> Any:
    """The floating leaves of a tangent as one vector; `like` are the leaves of the value that it is a tangent at."""
    parts = leaves_at(tree, like)
    wide = [np.asarray(p, np.float64).reshape(-1) for p, v in zip(parts, like, strict=True) if is_float(v)]
    return np.concatenate(wide) if wide else np.zeros(0)


def leaves_at(tree: Any, like: list[Any]) -> list[Any]:
    """The leaves of a tangent, where `()` stands for that of an integer."""
    out: list[Any] = []
    stack = [tree]
    while stack:
        top = stack.pop()
        if isinstance(top, tuple) and top:
            stack.extend(reversed(top))
        else:
            out.append(top)
    assert len(out) == len(like)
    return out


def cut(vector: Any, value: Any, rows: int | None = None) -> Any:
    """A vector as a tangent at a value, `()` for its integers; with `rows`, each row of a matrix as one."""
    at = 0

    def part(v: Any) -> Any:
        nonlocal at
        if isinstance(v, tuple):
            return tuple([part(w) for w in v])
        if not is_float(v):
            return ()
        v = np.asarray(v)
        piece = vector[..., at : at + v.size]
        at += v.size
        return piece.reshape(v.shape if rows is None else (rows, *v.shape)).astype(v.dtype)

    return part(value)


class Derivative:
    """The derivative of `f` at some primals in one mode."""

    def __init__(self, f: ct.D, primals: tuple[Any, ...]) -> None:
        self.f, self.primals = f, primals
        self.x: Any = primals if len(primals) > 1 else primals[0]
        self.y: Any = f(self.x)
        self.xs, self.ys = leaves(self.x), leaves(self.y)

    @cached_property
    def matrix(self) -> Any:
        """All partials: one row for each number of the result, one column for each of the point; integers have none."""
        raise NotImplementedError

    def push(self, *tangents: Any) -> Any:
        """The tangent of the result, with a tangent for each primal (None: zeros)."""
        vector = self._vector(tangents, self.xs)
        return cut(self.matrix @ vector, self.y)

    def pull(self, *cotangents: Any) -> tuple[Any, ...]:
        """The cotangents of the primals, with a cotangent for each leaf of the result (None: zeros)."""
        vector = self._vector(cotangents, self.ys)
        return self._all(cut(vector @ self.matrix, self.x))

    def push_flat(self, vector: Any) -> Any:
        """`push` between vectors of all floating numbers."""
        return flat(self.push(*leaves_at(cut(vector, self.x), self.xs)), self.ys)

    def pull_flat(self, vector: Any) -> Any:
        """`pull` between vectors of all floating numbers."""
        return flat(self.pull(*leaves_at(cut(vector, self.y), self.ys)), self.xs)

    def block(self, result: int = 0, primal: int = 0) -> Any:
        """The partials of one result by one primal, of shape result + primal."""
        rows = self._place(self.ys, result)
        columns = self._place(self.xs, primal)
        return self.matrix[rows, columns].reshape(*np.shape(self.ys[result]), *np.shape(self.xs[primal]))

    def _all(self, pulled: Any) -> tuple[Any, ...]:
        return pulled if len(self.primals) > 1 else (pulled,)

    def _vector(self, given: tuple[Any, ...], values: list[Any]) -> Any:
        assert len(given) == len(values)
        full = [
            np.broadcast_to(0.0 if g is None or (isinstance(g, tuple) and not g) else g, np.shape(v))
            for g, v in zip(given, values, strict=True)
        ]
        return flat(tuple(full), values)

    @staticmethod
    def _place(values: list[Any], index: int) -> slice:
        sizes = [np.size(v) if is_float(v) else 0 for v in values]
        return slice(sum(sizes[:index]), sum(sizes[: index + 1]))

    @cached_property
    def sizes(self) -> tuple[int, int]:
        """How many floating numbers the result and the point have."""
        return self._place(self.ys, len(self.ys)).start, self._place(self.xs, len(self.xs)).start


class Forward(Derivative):
    """One `jvp` for each tangent."""

    def _jvp(self, vector: Any) -> Any:
        tangents = cut(vector, self.x)
        y, dy = ct.jvp(self.f, self.primals, tangents if len(self.primals) > 1 else (tangents,))
        assert all(np.array_equal(a, b) for a, b in zip(leaves(y), self.ys, strict=True))
        return flat(dy, self.ys)

    @cached_property
    def matrix(self) -> Any:
        rows, columns = self.sizes
        return np.array([self._jvp(e) for e in np.eye(columns)]).reshape(columns, rows).T

    def push(self, *tangents: Any) -> Any:
        return cut(self._jvp(self._vector(tangents, self.xs)), self.y)


class Reverse(Derivative):
    """One `vjp` for each cotangent."""

    @cached_property
    def _pullback(self) -> Any:
        y, pullback = ct.vjp(self.f, *self.primals)
        assert all(np.array_equal(a, b) for a, b in zip(leaves(y), self.ys, strict=True))
        return pullback

    def _vjp(self, vector: Any) -> tuple[Any, ...]:
        return self._pullback(cut(vector, self.y))

    @cached_property
    def matrix(self) -> Any:
        rows, columns = self.sizes
        return np.array([flat(self._vjp(e), self.xs) for e in np.eye(rows)]).reshape(rows, columns)

    def pull(self, *cotangents: Any) -> tuple[Any, ...]:
        return self._vjp(self._vector(cotangents, self.ys))


class ForwardMany(Derivative):
    """All unit tangents at once, through the linear map mapped over a leading axis."""

    @cached_property
    def matrix(self) -> Any:
        rows, columns = self.sizes
        _, linear = ct.linearize(self.f, *self.primals)
        out = ct.map(ct.lift(linear))(cut(np.eye(columns), self.x, columns))
        parts = [p for p, v in zip(leaves_at(out, self.ys), self.ys, strict=True) if is_float(v)]
        return np.concatenate([np.asarray(p, np.float64).reshape(columns, -1) for p in parts], axis=1).T.reshape(rows, columns)


class ReverseMany(Derivative):
    """All unit cotangents at once, through the transposed linear map mapped over a leading axis."""

    @cached_property
    def matrix(self) -> Any:
        rows, columns = self.sizes
        _, linear = ct.linearize(self.f, *self.primals)
        out = ct.map(ct.lift(linear.T))(cut(np.eye(rows), self.y, rows))
        parts = [p for p, v in zip(leaves_at(out, self.xs), self.xs, strict=True) if is_float(v)]
        return np.concatenate([np.asarray(p, np.float64).reshape(rows, -1) for p in parts], axis=1).reshape(rows, columns)


class Planned(Derivative):
    """The Jacobian, multiplied out in the order that the planner chose."""

    @cached_property
    def _jacobian(self) -> Any:
        return ct.jacobian(self.f, "auto")(*self.primals)

    @cached_property
    def matrix(self) -> Any:
        return np.asarray(self._jacobian.todense(), np.float64).reshape(self.sizes)

    def push(self, *tangents: Any) -> Any:
        return self._jacobian(cut(self._vector(tangents, self.xs), self.x))

    def pull(self, *cotangents: Any) -> tuple[Any, ...]:
        return self._all(self._jacobian.T(cut(self._vector(cotangents, self.ys), self.y)))


MODES: dict[str, type[Derivative]] = {
    "forward": Forward,
    "reverse": Reverse,
    "forward-many": ForwardMany,
    "reverse-many": ReverseMany,
    "planned": Planned,
}


def central_differences(f: ct.D, primals: tuple[Any, ...], step: float) -> Any:
    """The matrix of partials by differences of steps h and h/2, extrapolated: an error of order h^4 and rounding over h."""
    xs = leaves(primals)
    vector = np.concatenate([np.asarray(v, np.float64).reshape(-1) for v in xs if is_float(v)])

    def value(at: Any) -> Any:
        moved = iter(leaves_at(cut(at, tuple(xs)), xs))
        point = [next(moved) if is_float(v) else (next(moved), v)[1] for v in xs]
        y = f(tuple(point) if len(point) > 1 else point[0])
        return flat(y, leaves(y))

    columns = []
    for e in np.eye(vector.size):
        coarse, fine = ((value(vector + h * e) - value(vector - h * e)) / (2 * h) for h in (step, step / 2))
        columns.append((4 * fine - coarse) / 3)
    return np.array(columns).T

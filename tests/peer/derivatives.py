"""The derivative of a program at a point, taken in every way that catad has, behind one interface.

A mode gives `push` (Jacobian times vector), `pull` (cotangent times Jacobian) and `matrix` (all of it). What the mode does not
compute itself is made of its matrix by plain NumPy, so that a case asked in one way is a test of all modes.
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


def cut(numbers: Any, value: Any, rows: int | None = None) -> Any:
    """A vector as a tangent at a value, `()` for its integers; with `rows`, each row of a matrix as one."""
    at = 0

    def part(v: Any) -> Any:
        nonlocal at
        if isinstance(v, tuple):
            return tuple([part(w) for w in v])
        if not is_float(v):
            return ()
        v = np.asarray(v)
        piece = numbers[..., at : at + v.size]
        at += v.size
        return piece.reshape(v.shape if rows is None else (rows, *v.shape)).astype(v.dtype)

    return part(value)


class Derivative:
    """The derivative of `f` at some primals in one mode.

    A mode computes how tangents are pushed (`_pushed`) or cotangents pulled (`_pulled`), one a row; `backward` says which.
    """

    backward = False

    def __init__(self, f: ct.D, primals: tuple[Any, ...]) -> None:
        self.f, self.primals = f, primals
        self.x: Any = primals if len(primals) > 1 else primals[0]
        self.xs = leaves(self.x)

    @cached_property
    def y(self) -> Any:
        """The value, from the mode's own program where that gives it."""
        return self.f(self.x)

    @cached_property
    def ys(self) -> list[Any]:
        return leaves(self.y)

    def _pushed(self, rows: Any) -> Any:
        return rows @ self.matrix.T

    def _pulled(self, rows: Any) -> Any:
        return rows @ self.matrix

    @cached_property
    def matrix(self) -> Any:
        """All partials: one row for each number of the result, one column for each of the point; integers have none."""
        rows, columns = self.sizes
        return self._pulled(np.eye(rows)) if self.backward else self._pushed(np.eye(columns)).T

    def push(self, *tangents: Any) -> Any:
        """The tangent of the result, with a tangent for each primal (None: zeros)."""
        return cut(self._pushed(vector(tangents, self.xs)[None])[0], self.y)

    def pull(self, *cotangents: Any) -> tuple[Any, ...]:
        """The cotangents of the primals, with a cotangent for each leaf of the result (None: zeros)."""
        return self._all(cut(self._pulled(vector(cotangents, self.ys)[None])[0], self.x))

    def block(self, result: int = 0, primal: int = 0) -> Any:
        """The partials of one result by one primal, of shape result + primal."""
        part = self.matrix[place(self.ys, result), place(self.xs, primal)]
        return part.reshape(*np.shape(self.ys[result]), *np.shape(self.xs[primal]))

    def row_block(self, result: int = 0, primal: int = 0) -> Any:
        """The same for a function that is elementwise in all axes but the first: [row of the result, row of the point, rest].

        The seeds are rows (or blocks) of ones, as many as there are rows, on the side that the mode starts from.
        """
        values, at = (self.ys, result) if self.backward else (self.xs, primal)
        seeds = []
        for e in np.eye(len(values[at])):
            one = e.reshape(-1, *(1,) * (values[at].ndim - 1))
            seeds.append(vector([one if k == at else None for k in range(len(values))], values))
        out = self._pulled(np.array(seeds)) if self.backward else self._pushed(np.array(seeds))
        others, other = (self.xs, primal) if self.backward else (self.ys, result)
        blocks = out[:, place(others, other)].reshape(len(seeds), *others[other].shape)
        return blocks if self.backward else np.moveaxis(blocks, 0, 1)

    def _all(self, pulled: Any) -> tuple[Any, ...]:
        return pulled if len(self.primals) > 1 else (pulled,)

    @property
    def sizes(self) -> tuple[int, int]:
        """How many floating numbers the result and the point have."""
        return place(self.ys, len(self.ys)).start, place(self.xs, len(self.xs)).start


def vector(given: Any, values: list[Any]) -> Any:
    """Tangents (None and `()`: zeros), stretched to the shapes of some values, as one vector."""
    assert len(given) == len(values)
    zero = [g is None or (isinstance(g, tuple) and not g) for g in given]
    full = [np.broadcast_to(0.0 if z else g, np.shape(v)) for z, g, v in zip(zero, given, values, strict=True)]
    return flat(tuple(full), values)


def place(values: list[Any], index: int) -> slice:
    """Where the numbers of one leaf stand in the vector of all."""
    sizes = [np.size(v) if is_float(v) else 0 for v in values]
    return slice(sum(sizes[:index]), sum(sizes[: index + 1]))


def joined(tree: Any, like: list[Any], rows: int) -> Any:
    """The leaves of a stack of tangents as the rows of a matrix."""
    parts = [p for p, v in zip(leaves_at(tree, like), like, strict=True) if is_float(v)]
    return np.concatenate([np.asarray(p, np.float64).reshape(rows, -1) for p in parts], axis=1)


class Forward(Derivative):
    """One `jvp` for each tangent."""

    def _pushed(self, rows: Any) -> Any:
        out = [self._jvp(row) for row in rows]
        return np.array(out).reshape(len(rows), self.sizes[0])

    def _jvp(self, row: Any) -> Any:
        tangents = cut(row, self.x)
        y, dy = ct.jvp(self.f, self.primals, tangents if len(self.primals) > 1 else (tangents,))
        self.__dict__.setdefault("y", y)
        assert all(np.array_equal(a, b) for a, b in zip(leaves(y), self.ys, strict=True))
        return flat(dy, self.ys)


class Reverse(Derivative):
    """One `vjp` for each cotangent."""

    backward = True

    @cached_property
    def _pair(self) -> Any:
        return ct.vjp(self.f, *self.primals)

    @cached_property
    def y(self) -> Any:
        return self._pair[0]

    def _pulled(self, rows: Any) -> Any:
        pullback = self._pair[1]
        out = [flat(pullback(cut(row, self.y)), self.xs) for row in rows]
        return np.array(out).reshape(len(rows), self.sizes[1])


class Linearized(Derivative):
    """The derivative as a linear map that is not multiplied out."""

    @cached_property
    def _pair(self) -> Any:
        return ct.linearize(self.f, *self.primals)

    @cached_property
    def y(self) -> Any:
        return self._pair[0]


class ForwardMany(Linearized):
    """All tangents at once, through the linear map mapped over a leading axis."""

    def _pushed(self, rows: Any) -> Any:
        linear = self._pair[1]
        return joined(ct.map(ct.lift(linear))(cut(rows, self.x, len(rows))), self.ys, len(rows))


class ReverseMany(Linearized):
    """All cotangents at once, through the transposed linear map mapped over a leading axis."""

    backward = True

    def _pulled(self, rows: Any) -> Any:
        linear = self._pair[1]
        return joined(ct.map(ct.lift(linear.T))(cut(rows, self.y, len(rows))), self.xs, len(rows))


class Planned(Derivative):
    """The Jacobian, multiplied out in the order that the planner chose, as a matrix and applied from both sides."""

    @cached_property
    def _jacobian(self) -> Any:
        return ct.jacobian(self.f, "auto")(*self.primals)

    @cached_property
    def matrix(self) -> Any:
        return np.asarray(self._jacobian.todense(), np.float64).reshape(self.sizes)

    def _pushed(self, rows: Any) -> Any:
        return np.array([flat(self._jacobian(cut(row, self.x)), self.ys) for row in rows])

    def _pulled(self, rows: Any) -> Any:
        return np.array([flat(self._jacobian.T(cut(row, self.y)), self.xs) for row in rows])


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
    centre = vector(xs, xs)

    def value(at: Any) -> Any:
        moved = iter(leaves_at(cut(at, tuple(xs)), xs))
        point = [next(moved) if is_float(v) else (next(moved), v)[1] for v in xs]
        y = f(tuple(point) if len(point) > 1 else point[0])
        return flat(y, leaves(y))

    columns = []
    for e in np.eye(centre.size):
        coarse, fine = ((value(centre + h * e) - value(centre - h * e)) / (2 * h) for h in (step, step / 2))
        columns.append((4 * fine - coarse) / 3)
    return np.array(columns).T

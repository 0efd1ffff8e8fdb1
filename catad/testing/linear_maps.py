"""`check_linear_map`: linearity, adjointness, and that every way to read a linear map as a matrix gives the same matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from catad import errors
from catad.category.spaces import Tensor, Value, flatten, rebuild, space_of
from catad.linear.map import LinearMap
from catad.testing.values import ROUNDING, broken, direction, flat, inner, require, unit_roundoff


def check_linear_map(linear: LinearMap, seed: int = 0, exact: bool = False) -> None:
    """Check the laws of a linear map on random arguments.

    They are linearity, adjointness (`|<L u, w> - <u, L.T w>| <= 8 eps || |L| |u| || ||w||`) and `L.T.T == L`, and `todense`,
    `tocsr`, `matvec`, `rmatvec`, `matmat`, `rmatmat`, `as_linear_operator`, `diagonal`, `trace`, `shape`, `stored` and `nnz`
    agree with the map. With `exact` the arguments are small integers and all equalities hold bit for bit: for maps whose
    numbers are small integers. Raises `LawError`. Raises `SpaceError` for an argument that is no linear map.

    >>> import catad as ct, numpy as np
    >>> from catad.testing import check_linear_map
    >>> check_linear_map(ct.linear.gather(np.array([2, 0, 2]), ct.f64[3]))
    """
    if not isinstance(linear, LinearMap):
        raise errors.SpaceError(errors.not_a_linear_map(linear))
    _Checks(linear, np.random.default_rng(seed), exact).all()


class _Checks:
    def __init__(self, linear: LinearMap, rng: np.random.Generator, exact: bool) -> None:
        self.L, self.exact = linear, exact
        self.u, self.u2 = direction(rng, linear.dom, exact), direction(rng, linear.dom, exact)
        self.w = direction(rng, linear.cod, exact)
        self.matrix = np.asarray(linear.todense(force=True)).reshape(linear.shape)
        self.size = _magnitude(linear)

    def all(self) -> None:
        for law in (self.spaces, self.linearity, self.adjointness, self.transposes, self.matrices, self.operators):
            try:
                law()
            except (errors.LawError, errors.EngineError):
                raise
            except (
                Exception
            ) as error:  # a map that cannot be applied or transposed breaks the law, whatever NumPy says about it
                equation = "the map and its transpose apply to values of their domains"
                raise errors.LawError(errors.law_raised(law.__name__, equation, self.L, self.u, error)) from error

    def require(self, law: str, equation: str, point: Value, got: Value, expected: Value, size: float = 0.0) -> None:
        narrowest = unit_roundoff(self.u, self.w)
        require(law, equation, self.L, point, got, expected, self.exact, size, ROUNDING * narrowest)

    def fail(self, law: str, equation: str, point: Value, got: object, expected: object, off: object = None) -> None:
        raise broken(law, equation, self.L, point, got, expected, off)

    def spaces(self) -> None:
        L = self.L
        if space_of(L(self.u)) != L.cod:
            self.fail("codomain", "L(u) lies in L.cod", self.u, space_of(L(self.u)), L.cod)
        if (L.structure.dom, L.structure.cod) != (L.dom.leaves, L.cod.leaves):
            self.fail("spaces", "the structure's leaves are the spaces'", (), L.structure, (L.dom, L.cod))
        slots = tuple([Tensor(s.shape, s.dtype) for s in L.slots])
        if slots != L.structure.slots:
            self.fail("slots", "the arrays lie in the slots' spaces", (), slots, L.structure.slots)
        if L.shape != (L.cod.size, L.dom.size):
            self.fail("shape", "L.shape == (L.cod.size, L.dom.size)", (), L.shape, (L.cod.size, L.dom.size))
        if L.stored != sum(s.size for s in L.slots) or L.T.stored != L.stored:
            self.fail("stored", "stored counts the numbers of the slots", (), L.stored, sum(s.size for s in L.slots))
        if L.nnz < np.count_nonzero(self.matrix):
            self.fail("nnz", "nnz bounds the entries that are not zero", (), L.nnz, np.count_nonzero(self.matrix))

    def linearity(self) -> None:
        L, u, v = self.L, self.u, self.u2
        size = self.pushed(u) + self.pushed(v)
        self.require("additivity", "L(u + v) == L(u) + L(v)", (u, v), L(_sum(u, v)), _sum(L(u), L(v)), size)
        self.require("homogeneity", "L(3 u) == 3 L(u)", u, L(_times(3.0, u)), _times(3.0, L(u)), 3 * size)
        self.require("zero", "L(0) == 0", (), L(_times(0.0, u)), _times(0.0, L(_times(0.0, u))))

    def adjointness(self) -> None:
        """The bound of the design: it grows with the terms that were added, not with their sum."""
        L, u, w = self.L, self.u, self.w
        left, right = inner(L(u), w), inner(u, L.T(w))
        size = float(np.linalg.norm(self.size @ np.abs(flat(u)))) * float(np.linalg.norm(flat(w)))
        bound = 0.0 if self.exact else 8 * unit_roundoff(u, w) * size + 1e-300
        if not abs(left - right) <= bound:
            self.fail("adjointness", "<L u, w> == <u, L.T w>", (u, w), left, right, abs(left - right))

    def transposes(self) -> None:
        L = self.L
        if (L.T.dom, L.T.cod) != (L.cod, L.dom):
            self.fail("transpose", "L.T : L.cod -> L.dom", (), (L.T.dom, L.T.cod), (L.cod, L.dom))
        if L.T.T.structure != L.structure or any(a is not b for a, b in zip(L.T.T.slots, L.slots, strict=True)):
            self.fail("transpose", "L.T.T == L", (), L.T.T.structure, L.structure)
        if any(a is not b for a, b in zip(L.T.slots, L.slots, strict=True)):
            self.fail("transpose", "L.T shares the arrays of L", (), L.T.slots, L.slots)
        transposed = np.asarray(L.T.todense(force=True)).reshape(L.shape[::-1])
        self.require("transpose", "L.T.todense() == transpose of L.todense()", (), transposed, self.matrix.T, self.entry)

    @property
    def entry(self) -> float:
        """The size of what was added up in an entry of the matrix."""
        return float(self.size.max()) if self.size.size else 0.0

    def pushed(self, u: Value) -> float:
        image = self.size @ np.abs(flat(u))
        return float(image.max()) if image.size else 0.0

    def matrices(self) -> None:
        L = self.L
        tensors = isinstance(L.dom, Tensor) and isinstance(L.cod, Tensor)
        shape = (*L.cod.leaves[0].shape, *L.dom.leaves[0].shape) if tensors else L.shape
        if L.todense(force=True).shape != shape:
            self.fail("todense", "todense has the shape cod + dom", (), L.todense(force=True).shape, shape)
        image = np.asarray(self.matrix @ flat(self.u))
        self.require(
            "todense", "todense @ flat(u) == flat(L u)", self.u, _wide(flat(L(self.u))), _wide(image), self.pushed(self.u)
        )
        self.require("diagonal", "diagonal() == that of todense", (), L.diagonal(), np.diagonal(self.matrix), self.entry)
        trace, of_entries = L.trace(), np.trace(self.matrix)
        self.require("trace", "trace() == that of todense", (), trace, of_entries, min(L.shape) * self.entry)
        sparse = np.asarray(L.tocsr().toarray())
        if sparse.shape != L.shape:
            self.fail("tocsr", "tocsr has the shape L.shape", (), sparse.shape, L.shape)
        self.require("tocsr", "tocsr == todense", (), _wide(sparse), _wide(self.matrix), self.entry)

    def operators(self) -> None:
        L, u, w = self.L, self.u, self.w
        forth, back = L.matvec(flat(u)), L.rmatvec(flat(w))
        self.require("matvec", "matvec(flat(u)) == flat(L u)", u, forth, flat(L(u)))
        self.require("rmatvec", "rmatvec(flat(w)) == flat(L.T w)", w, back, flat(L.T(w)))
        self.require("apply", "L @ u == L(u)", u, L @ u, L(u))
        columns, rows = np.stack([flat(u), flat(self.u2)], 1), flat(w)[None]
        many, first = L.matmat(columns), L.matvec(flat(self.u2))
        self.require("matmat", "the columns of matmat(B) are matvec of those of B", u, many.T.copy(), np.stack([forth, first]))
        self.require("rmatmat", "w @ matmat == rmatvec(w)", w, L.rmatmat(rows.T)[:, 0], back)
        operator = L.as_linear_operator()
        if tuple(operator.shape) != L.shape:
            self.fail("as_linear_operator", "its shape is L.shape", (), operator.shape, L.shape)
        got = np.asarray(operator.matvec(flat(u))), np.asarray(operator.rmatvec(flat(w)))
        self.require("as_linear_operator", "matvec and rmatvec are those of L", (u, w), got, (forth, back))


def _magnitude(linear: LinearMap) -> Any:
    """|L| as a matrix; for a product, whose entries may cancel, that of the absolute values of its factors."""
    positive = [np.abs(s) if s.dtype.kind == "f" else s for s in linear.slots]
    sizes = LinearMap(linear.dom, linear.cod, linear.structure, positive)
    return np.maximum(*[np.abs(np.asarray(m.todense(force=True))).reshape(linear.shape) for m in (linear, sizes)])


def _wide(array: Any) -> Any:
    return np.asarray(array).astype(np.float64)


def _sum(u: Value, v: Value) -> Value:
    return rebuild(space_of(u), [a + b for a, b in zip(flatten(u), flatten(v), strict=True)])


def _times(number: float, u: Value) -> Value:
    return rebuild(space_of(u), [a.dtype.type(number) * a for a in flatten(u)])

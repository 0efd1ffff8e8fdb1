"""What a program of the peer's tests is here: a term, its point, what to read from its derivative, and data of our own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import catad as ct

from .derivatives import MODES, Derivative

Data = dict[str, Any]
Rng = np.random.Generator
Reading = Callable[[Derivative, Data], list[Any]]


@dataclass(frozen=True)
class Program:
    """One way to write the program of a record.

    `term` may depend on the data where they set sizes, counts or constants. `point` names the inputs that are its primals, in
    order, or makes them from the data. `read` gives the expected arrays of a case, in the record's order, from a derivative, and
    may be keyed by the part of the case's number before the dot. Inputs in `whole` stay integers, all others become float64.
    `own` draws data of our own; `random` draws them in the sizes, with the numbers, of a case that states no inputs.
    """

    term: Callable[[Data], ct.D]
    point: str | Callable[[Data], tuple[Any, ...]]
    read: Reading | dict[str, Reading]
    own: Callable[[Rng], Data]
    whole: str = ""
    modes: tuple[str, ...] = tuple(MODES)
    rounded: float = 0.0  # half a unit of the last decimal, where the file rounded
    step: float = 1e-3
    tolerance: float = 1e-7
    random: Callable[[list[tuple[int, ...]], list[float], Rng, str], Data] | None = None
    random_modes: tuple[str, ...] = ()  # fewer than `modes` where the sizes ask for it

    def primals(self, data: Data) -> tuple[Any, ...]:
        if isinstance(self.point, str):
            return tuple([data[name] for name in self.point.split()])
        return self.point(data)

    def reading(self, case: str) -> Reading:
        return self.read if not isinstance(self.read, dict) else self.read[case.split(".")[0]]

    def at(self, data: Data, mode: str) -> Derivative:
        return MODES[mode](self.term(data), self.primals(data))


# -- data of our own


def normal(**shapes: tuple[int, ...]) -> Callable[[Rng], Data]:
    """Standard normal arrays by name."""
    return lambda rng: {name: rng.standard_normal(shape) for name, shape in shapes.items()}


def also(draw: Callable[[Rng], Data], **fixed: Any) -> Callable[[Rng], Data]:
    """The drawn data with some more: arrays and numbers as they are, functions of the generator called."""
    return lambda rng: {**draw(rng), **{k: v(rng) if callable(v) else np.asarray(v) for k, v in fixed.items()}}


# -- what is read


def gradient(m: Derivative, d: Data) -> list[Any]:
    """The cotangents of all primals, for the cotangent 1 (of every entry) of the result."""
    return list(m.pull(*[1.0] * len(m.ys)))


def tangent(m: Derivative, d: Data) -> list[Any]:
    """The tangent of the result, for the tangent 1 (of every entry) of each primal."""
    return [m.push(*[1.0] * len(m.xs))]


def value(m: Derivative, d: Data) -> list[Any]:
    return list(m.ys)


def block(primal: int = 0) -> Reading:
    """The Jacobian of the one result by one primal."""
    return lambda m, d: [m.block(0, primal)]


def transposed(m: Derivative, d: Data) -> list[Any]:
    """One row for each number of the one primal, a vector: that of the result's derivatives by it."""
    return [np.moveaxis(m.block(k), -1, 0) for k in range(len(m.ys))]


def by(primal: int) -> Reading:
    """The derivative by one primal, the tangents of the others zero."""
    return lambda m, d: [m.push(*[1.0 if k == primal else None for k in range(len(m.xs))])]


def pulled_unit(at: int, *primals: int) -> Reading:
    """The cotangents of some primals, for a unit cotangent of the one result, a vector."""

    def read(m: Derivative, d: Data) -> list[Any]:
        out = m.pull(unit(m.ys[0].shape[-1], at))
        return [out[k] for k in primals]

    return read


def pulled_ones(*primals: int) -> Reading:
    """The cotangents of some primals, for a cotangent of ones."""

    def read(m: Derivative, d: Data) -> list[Any]:
        out = m.pull(*[1.0] * len(m.ys))
        return [out[k] for k in primals]

    return read


def unit(n: int, at: int) -> Any:
    return np.eye(n)[at]


# -- terms


def entry(i: int) -> ct.D:
    """The number at one place of a vector."""
    return ct.slice(i, i + 1) >> ct.reshape(())


def column(i: int, axis: int = 1) -> ct.D:
    """One column of a matrix as a vector."""
    return ct.slice(i, i + 1, axis=axis) >> ct.reshape(-1)

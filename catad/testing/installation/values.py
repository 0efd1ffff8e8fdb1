"""Checks of linear maps, plans, texts and errors, which are the same on every engine."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

import catad as ct
from catad.testing.installation.case import Wrong, require

_rng = np.random.default_rng(11)


def diagonal_maps() -> None:
    """The Jacobian of elementwise functions stores its diagonal alone, and is solved by it."""
    x, b = _rng.normal(size=50), _rng.normal(size=50)
    jacobian = ct.jacobian(ct.exp >> ct.sinh)(x)
    if jacobian.stored != 50:
        raise Wrong(f"the diagonal Jacobian stores {jacobian.stored} numbers, expected 50")
    slopes = np.cosh(np.exp(x)) * np.exp(x)
    require("the diagonal Jacobian", jacobian.todense(), np.diag(slopes), 1e-12)
    require("its solution", jacobian.solve(b), b / slopes, 1e-12)


def products_of_maps() -> None:
    """A chain of linear maps is what the product of its matrices is, in every order."""
    a, b, d = _rng.normal(size=(3, 8)), _rng.normal(size=(8, 5)), _rng.normal(size=5)
    program = ct.lift(ct.scale(d)) >> ct.lift(b) >> ct.tanh >> ct.lift(a)
    x = _rng.normal(size=5)
    expected = a @ np.diag(1.0 - np.tanh(b @ (d * x)) ** 2) @ b @ np.diag(d)
    for mode in ("forward", "reverse", "auto"):
        require(f"the Jacobian in {mode} mode", ct.jacobian(program, mode=mode)(x).todense(), expected, 1e-12)


def transposes() -> None:
    """The transpose of a Jacobian is the transpose of its matrix."""
    jacobian = ct.jacobian(ct.cumsum() >> ct.sin)(_rng.normal(size=7))
    require("the transpose", jacobian.T.todense(), jacobian.todense().T, 0.0)


def hessians() -> None:
    """The Hessian of the logarithm of a sum of exponentials is that of its formula."""
    x = _rng.normal(size=6)
    p = np.exp(x) / np.sum(np.exp(x))
    require("the Hessian", ct.hessian(ct.logsumexp())(x).todense(), np.diag(p) - np.outer(p, p), 1e-12)


def batches() -> None:
    """`vmap` gives what a loop over the first axis gives."""
    x = _rng.normal(size=(4, 5))
    slopes = ct.vmap(ct.grad(ct.square >> ct.sum()))(x)
    require("the gradients of a batch", slopes, 2.0 * x, 1e-12)


def texts() -> None:
    """A program is what its text says, and what its pickle holds."""
    program = ct.fork(ct.sin, ct.exp >> ct.cumsum()) >> ct.mul
    if eval(repr(program), {"ct": ct}) != program:
        raise Wrong(f"the text of a program means another one: {program!r}")
    if pickle.loads(pickle.dumps(program)) != program:
        raise Wrong("a pickled program is another one")


def chunks() -> None:
    """A program on an array in chunks gives what it gives on the whole array."""
    x = _rng.normal(size=20)
    result: Any = (ct.cumsum() >> ct.square)(ct.testing.in_chunks(x, 6))
    require("the values in chunks", result.numpy(), np.cumsum(x) ** 2, 1e-12)


def wrong_calls() -> None:
    """What does not fit is an error that says so."""
    try:
        ct.add(np.ones(2), np.ones(3))
    except ct.SpaceError as error:
        if "ct.f64[2], ct.f64[3]" not in str(error):
            raise Wrong(f"the message does not say what was given: {error}") from None
    else:
        raise Wrong("arrays of 2 and of 3 numbers were added")


CHECKS = {
    "diagonal Jacobians": diagonal_maps,
    "products of linear maps": products_of_maps,
    "transposes": transposes,
    "Hessians": hessians,
    "batches": batches,
    "texts and pickles of programs": texts,
    "errors": wrong_calls,
}
LONG = {"arrays in chunks": chunks}

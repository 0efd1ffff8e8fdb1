"""The classes of errors, and how a message is laid out.

A message has up to five parts, always in this order: what went wrong, what was given, what was expected, where, and
what to do about it. Places in the user's program follow, each as file and line: where the box was composed, where it was
made, and the call that failed. The classes derive from the built-in exception that a NumPy user would expect to catch.
"""

from __future__ import annotations

import numpy as np

from catad.errors.places import called, shown


class CatadError(Exception):
    """Base of all errors of catad; `except ct.CatadError` catches every mistake the library reports."""

    located = False  # whether the message says already which boxes meet there
    hinted = False  # whether it has the note on precedence already

    composed: str | None = None  # file and line where the box was composed with its neighbours
    made: str | None = None  # file and line where the box was made, by a constructor

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        self.called = shown(called())  # file and line of the call, in the first frame outside this package

    @property
    def message(self) -> str:
        """The message without its places in the user's program."""
        return super().__str__()

    def __str__(self) -> str:
        places = [("composed", self.composed), ("made", self.made), ("called", self.called)]
        lines = [f"  {label + ':':<10}{where}" for label, where in places if where is not None]
        return "\n".join([self.message, *lines])


class SpaceError(CatadError, TypeError):
    """Spaces that do not meet, values that do not lie in the expected space, wrong numbers of arguments."""


class NotAnIndex(SpaceError):
    """What is used as an index lies on a floating wire, whose number in its wiring is `wire`."""

    def __init__(self, message: str, wire: int = -1) -> None:
        super().__init__(message)
        self.wire = wire


class ArgumentError(CatadError, ValueError):
    """A parameter outside its allowed values."""


class ScalarError(CatadError, TypeError):
    """A scalar function that cannot be read, or cannot be typed at the given dtypes."""


class MonoidError(CatadError, ValueError):
    """A wrong neutral element, or an operator that is not associative or not closed on its element."""


class DerivativeError(CatadError, TypeError):
    """A derivative that does not exist: of a non-scalar, with respect to integers, of opaque code."""


class IndexRangeError(CatadError, IndexError):
    """An index outside the array it indexes."""


class NumberRangeError(ScalarError, OverflowError):
    """A Python number that the dtype of the arrays beside it does not hold."""


class DenseLimitError(CatadError, ValueError):
    """A linear map too large to be written out as a dense array without being asked twice."""


class SolveError(CatadError, np.linalg.LinAlgError):
    """A linear system that is not square, is singular, or has numbers that are not finite."""


class ConvergenceError(SolveError):
    """An iteration that did not reach its tolerance; `residual` is `|L x - b| / |b|`."""

    residual = float("nan")


class PlanError(CatadError, ValueError):
    """A plan, a cost or a size that the planner cannot use."""


class DeviceError(CatadError, TypeError):
    """Arrays of different array libraries (NumPy and CuPy) met in one call."""


class DepthError(CatadError, RecursionError):
    """Morphisms, or linear maps, nested too deep in each other for Python's stack."""


class EngineError(CatadError, RuntimeError):
    """An engine that is not there, or failed."""


class ExtensionError(CatadError, TypeError):
    """A primitive, a family of linear maps or a product rule that lacks something, or contradicts another."""


class LawError(CatadError, AssertionError):
    """A law of the category, of derivatives or of linear maps that does not hold; raised by `catad.testing`."""


class CatadNotice(UserWarning):
    """What is worth knowing once and no error: an engine that takes over from another, say. Each is given once a process."""


def text(what: str, *, given: object = None, expected: object = None, where: object = None, do: object = None) -> str:
    """Lay out a message: one line for each part that is there."""
    lines = [what]
    for label, part in (("given", given), ("expected", expected), ("where", where), ("do", do)):
        if part is not None:
            lines.append(f"  {label + ':':<10}{part}")
    return "\n".join(lines)


def abbreviated(thing: object, width: int = 120) -> str:
    """The repr of a thing, cut in the middle when it is long: messages show boxes, not whole programs."""
    full = repr(thing)
    return full if len(full) <= width else f"{full[: width // 2]} ... {full[-width // 3 :]}"


def defined(fn: object) -> str:
    """A function by its name and where it stands, for messages; other things by their repr."""
    code = getattr(fn, "__code__", None)
    return abbreviated(fn) if code is None else f"{code.co_name} at {code.co_filename}:{code.co_firstlineno}"


class NeedsTree(ScalarError):
    """A scalar function takes a parameter apart: read it again with the nesting of its parameters (`param_trees`)."""


for _class in list(globals().values()):
    if isinstance(_class, type) and issubclass(_class, CatadError | CatadNotice):
        _class.__module__ = "catad.errors"  # where people find it, whatever file it stands in

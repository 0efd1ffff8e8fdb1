"""The classes of errors, and how a message is laid out.

A message has up to five parts, always in this order: what went wrong, what was given, what was expected, where, and
what to do about it. On arrays in chunks the chunk follows. Places in the user's program come last, each as file and line: where
the box was composed, where it was made, and the call that failed. The classes derive from the built-in exception that a NumPy
user would expect to catch.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from catad.errors.places import called, excerpt, of_user, shown


class CatadError(Exception):
    """Base of all errors of catad; `except ct.CatadError` catches every mistake the library reports.

    The message says what went wrong, what was given and expected, where, and what to do; then, as file and line, where the
    morphism was composed or made, and which call failed. `message` is the text without these places.

    >>> import catad as ct
    >>> try:
    ...     ct.iota(-1)
    ... except ct.CatadError as error:
    ...     print(error.message)
    the number of integers is an integer of at least 0
      given:    -1 of type int
    """

    located = False  # whether the message says already which boxes meet there
    hinted = False  # whether it has the note on precedence already

    composed: str | None = None  # file and line where the box was composed with its neighbours
    made: str | None = None  # file and line where the box was made, by a constructor
    chunk: str | None = None  # the chunk whose task raised it, of arrays in chunks
    excerpt: str | None = None  # the line of the source of a traced function, with a caret

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        place = of_user() or called()
        self.called = shown(place)  # file and line of the call in the user's code, or else in a library
        self.calling = excerpt(place) if place is not None and self.called is not None else None  # that line, with a caret

    @property
    def message(self) -> str:
        """The message without its places in the user's program."""
        return super().__str__()

    def __str__(self) -> str:
        places = [("chunk", self.chunk), ("composed", self.composed), ("made", self.made), ("called", self.called)]
        lines = [f"  {label + ':':<10}{where}" for label, where in places if where is not None]
        line = self.excerpt or self.calling
        return "\n".join([self.message, *lines, *([] if line is None else [line])])


class SpaceError(CatadError, TypeError):
    """Spaces that do not meet, values that do not lie in the expected space, wrong numbers of arguments; a `TypeError`.

    >>> import catad as ct, numpy as np
    >>> ct.matmul(np.ones((2, 3)), np.ones(2))
    Traceback (most recent call last):
        ...
    catad.errors.SpaceError: matrix sizes do not meet
      given:    ct.f64[2, 3] @ ct.f64[2]
      ...
    """


class NotAnIndex(SpaceError):
    """An index lies on a floating wire, whose number in its wiring is `wire`."""

    def __init__(self, message: str, wire: int = -1) -> None:
        super().__init__(message)
        self.wire = wire


class ArgumentError(CatadError, ValueError):
    """A parameter outside its allowed values, such as a negative number of steps or an unknown mode; a `ValueError`.

    >>> import catad as ct
    >>> ct.replicate(-1)
    Traceback (most recent call last):
        ...
    catad.errors.ArgumentError: a number of copies is an integer of at least 0
      ...
    """


class EndlessLoop(ArgumentError):
    """A while loop, which is `loop`, takes more steps than it may."""

    def __init__(self, message: str, loop: Any = None) -> None:
        super().__init__(message)
        self.loop = loop


class ScalarError(CatadError, TypeError):
    """A scalar function that cannot be read, or cannot be typed at the given dtypes; a `TypeError`.

    The message has file, line and column of the expression.

    >>> import catad as ct
    >>> ct.map(lambda x: open(x))
    Traceback (most recent call last):
        ...
    catad.errors.ScalarError: not a function that the scalar language knows
      ...
    """

    unknown = False  # whether it says that a function is none of those that the scalar language knows


class MonoidError(CatadError, ValueError):
    """A wrong neutral element, or an operator that is not associative or not closed on its element; a `ValueError`.

    The laws are checked on a few values of the first call, or on the `domain` of `ct.monoid`.

    >>> import catad as ct, numpy as np
    >>> ct.fold(lambda a, b: a * b, 0.0)(np.ones(2))
    Traceback (most recent call last):
        ...
    catad.errors.MonoidError: the neutral element is wrong
      given:    op(0.0, x) = 0.0 at x = 1.0
      ...
    """


class DerivativeError(CatadError, TypeError):
    """A derivative that does not exist: of a non-scalar, with respect to integers, of opaque code; a `TypeError`.

    >>> import catad as ct
    >>> ct.grad(ct.exp)(1)
    Traceback (most recent call last):
        ...
    catad.errors.DerivativeError: there is nothing to differentiate: all numbers are integers or booleans
      ...
    """


class IndexRangeError(CatadError, IndexError):
    """An index outside the array it indexes; an `IndexError`.

    A negative index counts from the end for `ct.index`, `ct.at` and traced functions, as in NumPy; for `gather` it is outside.

    >>> import catad as ct, numpy as np
    >>> ct.gather(np.ones(3), np.array([-1]))
    Traceback (most recent call last):
        ...
    catad.errors.IndexRangeError: an index is out of range
      ...
    """


class NumberRangeError(ScalarError, OverflowError):
    """A Python number that the dtype of the arrays beside it does not hold; a `ScalarError` and an `OverflowError`.

    >>> import catad as ct, numpy as np
    >>> ct.add(np.ones(2, np.int8), 300)
    Traceback (most recent call last):
        ...
    catad.errors.NumberRangeError: a number does not fit the dtype that it takes here, int8
      ...
    """


class DenseLimitError(CatadError, ValueError):
    """A linear map too large to be written out as a dense array without being asked twice; a `ValueError`.

    The limit is 10,000,000 numbers; `L.todense(force=True)` passes it.

    >>> import catad as ct
    >>> ct.linear.identity(ct.f64[10**6]).todense()
    Traceback (most recent call last):
        ...
    catad.errors.DenseLimitError: the dense matrix has 1,000,000 x 1,000,000 = 1,000,000,000,000 numbers, 7450.58 GiB
      ...
    """


class SolveError(CatadError, np.linalg.LinAlgError):
    """A linear system that is not square, is singular, or has numbers that are not finite; a `numpy.linalg.LinAlgError`.

    >>> import catad as ct, numpy as np
    >>> ct.linear.dense(np.ones((2, 2))).solve(np.ones(2))
    Traceback (most recent call last):
        ...
    catad.errors.SolveError: a linear map is singular
      ...
    """


class ConvergenceError(SolveError):
    """An iteration that did not reach its tolerance; `residual` is `|L x - b| / |b|` (dimensionless). It is a `SolveError`.

    >>> import catad as ct, numpy as np
    >>> zero = ct.exr >> ct.times(0.0)
    >>> try:
    ...     ct.linear.matrix_free(zero, zero, ct.f64[300], ct.f64[300]).solve(np.ones(300))
    ... except ct.ConvergenceError as error:
    ...     print(error.residual)
    1.0
    """

    residual = float("nan")


class PlanError(CatadError, ValueError):
    """A plan, a cost or a size that the planner cannot use; a `ValueError`.

    >>> import catad as ct
    >>> ct.plan([(2, 3), (4, 5)])
    Traceback (most recent call last):
        ...
    catad.errors.PlanError: neighbouring factors do not meet
      ...
    """


class DeviceError(CatadError, TypeError):
    """Arrays of different array libraries (NumPy and CuPy) met in one call; a `TypeError`. Nothing is moved by itself.

    >>> import catad as ct
    >>> issubclass(ct.DeviceError, (ct.CatadError, TypeError))
    True
    """


class DepthError(CatadError, RecursionError):
    """Morphisms, or linear maps, nested too deep in each other for Python's stack; a `RecursionError`.

    Chains, checkpoints and loops of checkpoints may be nested to any depth.

    >>> import catad as ct
    >>> issubclass(ct.DepthError, (ct.CatadError, RecursionError))
    True
    """


class EngineError(CatadError, RuntimeError):
    """An engine that is not there, or failed; a `RuntimeError`.

    >>> import catad as ct
    >>> ct.use_engine("abacus")
    Traceback (most recent call last):
        ...
    catad.errors.EngineError: there is no such engine
      ...
    """


class OutOfMemoryError(CatadError, MemoryError):
    """Arrays that do not fit into memory: results, or what derivatives keep; a `MemoryError`.

    >>> import catad as ct, numpy as np
    >>> ct.vjp(ct.iterate(ct.sin, 10**12), np.ones(10_000))
    Traceback (most recent call last):
        ...
    catad.errors.OutOfMemoryError: an array does not fit into memory
      ...
    """


class ExtensionError(CatadError, TypeError):
    """A primitive, a family of linear maps or a product rule that lacks something, or contradicts another; a `TypeError`.

    >>> import catad as ct
    >>> @ct.linear.family
    ... class Empty(ct.linear.Structure):
    ...     pass
    Traceback (most recent call last):
        ...
    catad.errors.ExtensionError: the family Empty leaves out `dom`, `cod`, `slots`, `T`, `apply`, `kind`, `nnz`
      ...
    """


class LawError(CatadError, AssertionError):
    """A law of the category, of derivatives or of linear maps that does not hold; an `AssertionError`.

    The functions of `ct.testing` raise it, with the law, the term, the point, and what was got and expected.

    >>> import catad as ct
    >>> ct.testing.check_monoid(lambda a, b: a - b, 0.0, [1.0, 2.0])
    Traceback (most recent call last):
        ...
    catad.errors.LawError: the law of the neutral element (left) does not hold: op(e, x) == x
      ...
    """


class CatadNotice(UserWarning):
    """A warning that is no error, such as another engine that takes over. Each is given once in a process.

    It is a `UserWarning`, which Python's filters silence or turn into an error.

    >>> import catad as ct, warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", ct.CatadNotice)
    ...     ct.sin(0.0)
    np.float64(0.0)
    """


def text(what: str, *, given: object = None, expected: object = None, where: object = None, do: object = None) -> str:
    """Lay out a message: one line for each part that is there."""
    lines = [what]
    for label, part in (("given", given), ("expected", expected), ("where", where), ("do", do)):
        if part is not None:
            lines.append(f"  {label + ':':<10}{part}")
    return "\n".join(lines)


def abbreviated(thing: object, width: int = 120) -> str:
    """The repr of a thing on one line, cut in the middle when it is long: messages show boxes, not whole programs."""
    full = repr(thing)
    full = " ".join(full.split()) if "\n" in full else full
    return full if len(full) <= width else f"{full[: width // 2]} ... {full[-width // 3 :]}"


def defined(fn: object, width: int = 120) -> str:
    """A function by its name and where it stands, for messages; other things by their repr."""
    code = getattr(fn, "__code__", None)
    return abbreviated(fn, width) if code is None else f"{code.co_name} at {code.co_filename}:{code.co_firstlineno}"


def about(
    thing: object, what: str, given: object = None, *, expected: object = None, do: object = None, width: int = 120
) -> str:
    """A message whose place is a term or a function."""
    return text(what, given=given, expected=expected, where=defined(thing, width), do=do)


def raised(error: BaseException) -> str:
    """An exception by its class and the first line of its text, for messages about another error."""
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def no_such(what: str, given: object, known: Iterable[object]) -> str:
    """A name that is none of those that there are."""
    return text(f"there is no such {what}", given=abbreviated(given), expected="one of " + ", ".join(map(repr, known)))


class NotAnInteger(ScalarError):
    """A float where a scalar function takes integers only, such as in `range` and in bit operations."""


class NeedsTree(ScalarError):
    """A scalar function takes a parameter apart: read it again with the nesting of its parameters (`param_trees`)."""


for _class in list(globals().values()):
    if isinstance(_class, type) and issubclass(_class, CatadError | CatadNotice):
        _class.__module__ = "catad.errors"  # where people find it, whatever file it stands in

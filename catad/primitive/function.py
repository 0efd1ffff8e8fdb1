"""`function`: a primitive from array code, the spaces of its results and its derivative as a linear map.

    y = f(x)        dy = J(x, y) dx        with J a `LinearMap` whose numbers are boxes on the wires of x and y

The array code is opaque; J is traced, so that derivatives of every order are there as soon as J says the first in terms of
morphisms, the primitive itself among them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors
from catad.category.boxes import Primitive
from catad.category.chunk_labels import said_of_chunks
from catad.category.constructors import constructor
from catad.category.spaces import Space, Tensor
from catad.category.terms import D
from catad.primitive.rules import rule_from
from catad.values.arrays import array_module, asarray, common_module
from catad.values.frozen_functions import Frozen

if TYPE_CHECKING:
    from catad.linear.map import LinearMap
    from catad.linear.structure import Rule


class OfFunctions(Primitive):
    """A primitive whose methods are functions that a user has given, array code first; None stands for one that is not there.

    Each is kept with what it reads, so that all of them see the same numbers, whenever they run.
    """

    __slots__ = ("_functions",)

    def __init__(self, *functions: Any) -> None:
        self._functions = tuple([f if f is None or isinstance(f, Frozen) else Frozen(f, D) for f in functions])

    def ready(self, k: int) -> Any:
        """The k-th function, ready to be called."""
        found = self._functions[k]
        return None if found is None else found.ready()

    def given(self, k: int) -> Any:
        """The k-th function as it was given."""
        found = self._functions[k]
        return None if found is None else found.given

    @property
    def lasting(self) -> bool:
        return False

    def data(self) -> Hashable:
        return tuple([None if f is None else f.key for f in self._functions])

    def recipe(self) -> tuple[Callable[..., D], tuple[Any, ...]]:
        return type(self), tuple([None if f is None else f.pickled for f in self._functions])

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        return self.ready(0)(*arrays)

    def kernel(self, ins: tuple[Tensor, ...]) -> Callable[..., Any]:
        return checked(self.ready(0), self.typed(ins))

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return sum(space.size for space in (*ins, *outs))

    def texts(self, name: Callable[[Any, str], str]) -> list[str]:
        """The functions as Python, by name."""
        given = [self.given(k) for k in range(len(self._functions))]
        return ["None" if f is None else name(f, str(getattr(f, "__name__", "fn"))) for f in given]


class Given(OfFunctions):
    """See `function`: the functions are `fn`, `spaces`, `derivative` and `operations`."""

    __slots__ = ("_chunks", "_vectorized")

    def __init__(
        self,
        fn: Any,
        spaces: Any,
        derivative: Any = None,
        operations: Any = None,
        vectorized: bool = False,
        chunks: str | None = None,
    ) -> None:
        super().__init__(fn, spaces, derivative, operations)
        self._vectorized, self._chunks = vectorized, chunks

    @property
    def vectorized(self) -> bool:
        return self._vectorized

    @property
    def chunks(self) -> str | None:
        return self._chunks

    @property
    def arity(self) -> int | None:
        return argument_count(self.given(0))

    def data(self) -> Hashable:
        return (super().data(), self._vectorized, self._chunks)

    def recipe(self) -> tuple[Callable[..., D], tuple[Any, ...]]:
        return Given, (*super().recipe()[1], self._vectorized, self._chunks)

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return spaces_of(self.given(1), taking("spaces", self.ready(1), len(ins))(*ins))

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        derivative = self.ready(2)
        if derivative is None:
            raise errors.DerivativeError(errors.no_derivative_given(self.given(0)))
        return rule_from(taking("derivative", derivative, len(ins) + len(outs)), ins, outs, self.given(2))

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        operations = self.ready(3)
        return super().cost(ins, outs) if operations is None else int(operations(*ins))

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        fn, spaces, derivative, operations = self.texts(name)
        given = [fn, spaces, *[derivative] * (derivative != "None"), *["vectorized=True"] * self._vectorized]
        given += [f"operations={operations}"] * (operations != "None")
        given += [f"chunks={self._chunks!r}"] * (self._chunks is not None)
        return f"ct.primitive.function({', '.join(given)})"


def spaces_of(fn: Any, given: Any) -> tuple[Tensor, ...]:
    """The spaces of results that a function returns, as a tuple."""
    spaces = given if isinstance(given, tuple) else (given,)
    if not spaces or not all(isinstance(space, Tensor) for space in spaces):
        raise errors.ExtensionError(errors.not_spaces_of_results(fn, given))
    return spaces


def checked(fn: Callable[..., Any], outs: tuple[Tensor, ...]) -> Callable[..., Any]:
    """A kernel that calls a function on arrays and looks at the spaces of what it returns."""

    def kernel(xp: Any, *arrays: Any) -> Any:
        given = fn(*arrays)
        made = [_as_array(xp, a) for a in (given if isinstance(given, tuple) else (given,))]
        common_module([*arrays, *made])
        found = tuple([Tensor(a.shape, a.dtype) for a in made])
        if found != outs:
            raise errors.ExtensionError(errors.wrong_result_spaces(fn, found, outs))
        return made[0] if len(made) == 1 else tuple(made)

    return kernel


def _as_array(xp: Any, leaf: Any) -> Any:
    """A result as an array: a number becomes one of the library of the arguments."""
    is_number = not hasattr(leaf, "dtype") or (xp is not np and not leaf.ndim and array_module(leaf) is np)
    return asarray(xp, leaf) if is_number else leaf


@constructor()
def function(
    fn: Callable[..., Any],
    spaces: Callable[..., Space | tuple[Space, ...]],
    derivative: Callable[..., LinearMap] | None = None,
    *,
    vectorized: bool = False,
    operations: Callable[..., int] | None = None,
    chunks: str | None = None,
) -> D:
    """A primitive from array code, with its derivative as a linear map.

    - `fn(*arrays)` gives an array, or a tuple of arrays, of its own or of the arguments, and writes into no argument.
    - `spaces(*spaces)` gives the spaces of the results from those of the arguments, and may raise where these do not fit.
    - `derivative(*arguments, *results)` gives a `ct.LinearMap` from the tangents of the floating arguments to those of the
      floating results. It is given wires: arithmetic, morphisms and the constructors of `ct.linear` work on them; their spaces
      are `wire.space`. It may name the primitive itself. Without it, asking for a derivative is a `DerivativeError`.
    - `vectorized=True` says that `fn` takes arguments that all have further leading axes, and gives results that have them
      too; else a batch is computed one index after the other.
    - `operations(*spaces)` counts the scalar operations of a call (dimensionless), for the planner; without it, one an entry.
    - `chunks` says along which axes arrays in chunks may be given chunk by chunk: "rows" is axis 0 of all arguments and results,
      "ij,j->i" names the axes, and a letter that all results have is such an axis. Without it, `fn` sees whole arrays.

    Arrays that are not in the stated spaces are an `ExtensionError`. The functions keep the values that they read when the
    primitive was made; only morphisms that they name are looked up at the first use. Source: the helpers of C. Elliott's
    concat. Raises `ArgumentError` for an argument that is no function, and other `chunks`.

    >>> import catad as ct, numpy as np
    >>> def derivative(x, y):
    ...     return ct.scale(y)
    >>> exp = ct.primitive.function(np.exp, lambda x: x, derivative)
    >>> ct.grad(ct.grad(exp))(0.0)
    np.float64(1.0)
    """
    for each in (fn, spaces, *[f for f in (derivative, operations) if f is not None]):
        if not callable(each):
            raise errors.ArgumentError(errors.not_a_function_of_arrays(each))
    return Given(fn, spaces, derivative, operations, vectorized, said_of_chunks(chunks))


def taking(word: str, fn: Callable[..., Any], count: int) -> Callable[..., Any]:
    """The function that stands for `word` of a primitive, which is to take so many arguments."""
    taken = argument_count(fn)
    if taken not in (None, count):
        raise errors.ExtensionError(errors.takes_other_arguments(word, fn, taken, count))
    return fn


def argument_count(fn: Any) -> int | None:
    """The number of arguments that a function takes, where it says so."""
    code = getattr(fn, "__code__", None)
    if code is None or code.co_flags & 0x0C or getattr(fn, "__defaults__", None) or hasattr(fn, "__self__"):
        return getattr(fn, "nin", None)
    return int(code.co_argcount)

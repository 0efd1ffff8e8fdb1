"""Looking into traced programs: which line first made a NaN, which line an error comes from, and what a value is when it runs.

For the first two questions the program is run once more, line by line, on the same arrays: loops step by step, and of branches
the side that is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from catad import errors
from catad.boxes import Primitive, box
from catad.errors.places import Place
from catad.late import late
from catad.linear.delta import identity
from catad.linear.gather import spread_over
from catad.linear.structure import Rule
from catad.program import Program, substituted
from catad.spaces import Tensor, flatten
from catad.syntax import ordered
from catad.terms import Compose, D, Fork
from catad.traced.stand_in import Traced, computed
from catad.vector.choose import Chosen
from catad.vector.loop import WhileLoop
from catad.vector.sweep import Swept
from catad.wiring import Builder, Wire

_watching: ContextVar[bool] = ContextVar("catad_debug_nans", default=False)
Watch = Callable[[D, Any, Any, "Place | None"], None]  # of a term, its argument, its result, and the place of its line


@contextmanager
def debug_nans() -> Iterator[None]:
    """`with ct.debug_nans():` raises `NonFiniteError` where a traced function first makes a NaN or an infinity.

    The error names the file, the line and the operation. Arguments that are NaN or infinite themselves are left alone, and so is
    what is computed from them. Each call runs its program once more, line by line, where its result is not finite; other calls
    take as long as without it. It holds in this thread.

    >>> import catad as ct, numpy as np
    >>> @ct.function
    ... def f(x):
    ...     y = np.log(x)
    ...     return y.sum()
    >>> with ct.debug_nans():
    ...     f(np.ones(2))
    np.float64(0.0)
    >>> with ct.debug_nans():
    ...     f(np.zeros(2))
    Traceback (most recent call last):
        ...
    catad.errors.NonFiniteError: a traced function has made infinity of finite numbers
    ...
    """
    token = _watching.set(True)
    try:
        yield
    finally:
        _watching.reset(token)


def watches() -> bool:
    """True inside `ct.debug_nans()`."""
    return _watching.get()


@box
class Printed(Primitive):
    """An array, passed on; it is printed when the program runs."""

    label: str
    arity = 1

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return ins

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        (x,) = arrays
        print(f"{self.label} = {x}" if self.label else x)
        return x.copy()

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        return Rule(identity(ins[0])) if ins[0].is_float else None

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        return b.add(self, *[w if flag else spread_over(b, w, size) for w, flag in zip(ins, flags, strict=True)])


def debug_print(x: Any, label: str = "") -> Any:
    """Print an array when the program runs, not while the function is traced; returns the array.

    Inside a traced function the array itself is printed wherever it is used afterwards, so the result need not be kept; an array
    that nothing reads is not printed. Outside it prints at once. `label` stands before the numbers.

    >>> import catad as ct, numpy as np
    >>> @ct.function
    ... def f(x):
    ...     y = x * 2
    ...     ct.debug_print(y, "y")
    ...     return y + 1
    >>> f(np.ones(2))
    y = [2. 2.]
    array([3., 3.])
    """
    if not isinstance(x, Traced):
        print(f"{label} = {x}" if label else x)
        return x
    printed = computed(x.trace_.region, Printed(label), x.var_)
    printed.name, printed.weak = x.var_.name, x.var_.weak
    x.buffer.write(x.trace_.region, printed) if x.buffer is not None else x.write(printed)
    return x


# -- line by line


def run_watched(term: D, value: Any, watch: Watch, place: Place | None = None) -> Any:
    """The result of a term on arrays, with programs in it run line by line."""
    if isinstance(term, Program):
        return _lines(term, value, watch)
    if isinstance(term, Compose):
        for factor in term.factors:
            value = run_watched(factor, value, watch, place)
        return value
    if isinstance(term, Fork):
        return tuple([run_watched(part, value, watch, place) for part in term.children])
    if isinstance(term, Chosen):
        test, first, second = term.children
        return run_watched(first if bool(test(value)) else second, value, watch, place)
    if isinstance(term, WhileLoop):
        while bool(run_watched(term.children[0], value, watch, place)):
            value = run_watched(term.children[1], value, watch, place)
        return value
    if isinstance(term, Swept):
        return _steps(term, value, watch, place)
    try:
        made = term(value) if not isinstance(value, tuple) or value else late().run(term, ())
    except errors.CatadError as error:
        errors.show_source(error, place)
        raise
    watch(term, value, made, place)
    return made


def _lines(program: Program, value: Any, watch: Watch) -> Any:
    at = dict(enumerate(flatten(value)))
    for k, line in enumerate(program.lines):
        place = program.notes.places[k] if k < len(program.notes.places) else None
        made = run_watched(line.term, substituted(line.args, at), watch, place)
        at.update(zip(flatten(line.outs), flatten(made), strict=True))
    return substituted(program.result, at)


def _steps(term: Swept, value: Any, watch: Watch, place: Place | None) -> Any:
    """A loop, for its final state; its outputs are computed by the loop itself."""
    state, given, inputs = value
    for i in reversed(range(term.n)) if term.reverse else range(term.n):
        one = _entry(inputs, i)
        state = run_watched(term.children[0], (state, given, one), watch, place)[0]
    return state, term(value)[1]


def _entry(nested: Any, i: int) -> Any:
    return tuple([_entry(part, i) for part in nested]) if isinstance(nested, tuple) else nested[i]


def find_nans(program: D, value: Any) -> None:
    """Raise `NonFiniteError` at the first line that makes a NaN or an infinity of finite numbers."""

    def watch(term: D, argument: Any, result: Any, place: Place | None) -> None:
        given = flatten(argument)
        if given and all(map(_finite, given)) and not all(map(_finite, flatten(result))):
            what = (
                "NaN"
                if any(bool(np.isnan(leaf).any()) for leaf in flatten(result) if leaf.dtype.kind == "f")
                else "infinity"
            )
            error = errors.NonFiniteError(errors.made_not_finite(what, term))
            errors.show_source(error, place)
            raise error

    run_watched(program, value, watch)


def _finite(leaf: Any) -> bool:
    return leaf.dtype.kind != "f" or bool(np.isfinite(leaf).all())


def locate(error: errors.CatadError, program: D, value: Any) -> None:
    """Show in an error that a running program has raised the line of the user's source that it comes from."""
    try:
        run_watched(program, value, lambda *_: None)
    except errors.CatadError as found:
        if type(found) is type(error) and found.excerpt is not None:
            error.excerpt, error.called = found.excerpt, found.called


def place_of(program: Program, part: D) -> Place | None:
    """Where the line of a program, or of a program in it, stands in the user's source whose term has a part."""
    found: Place | None = None
    for line, place in zip(program.children, program.notes.places, strict=False):
        parts = ordered(line)
        if part in parts:
            inner = [place_of(one, part) for one in parts if isinstance(one, Program)]
            found = next(filter(None, inner), place)
    return found

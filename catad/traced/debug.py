"""Looking into traced programs: `ct.debug_nans` has `by_line.py` find the line that first made a NaN, and `ct.debug_print` shows
what a value is when it runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from catad.category.boxes import Primitive, box
from catad.category.spaces import Tensor
from catad.linear.families.delta import identity
from catad.linear.structure import Rule
from catad.traced.arrays.stand_in import Traced, computed

_watching: ContextVar[bool] = ContextVar("catad_debug_nans", default=False)


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
    chunks = "entries"

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return ins

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        (x,) = arrays
        print(f"{self.label} = {x}" if self.label else x)
        return x.copy()

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        return Rule(identity(ins[0])) if ins[0].is_float else None

    def carried(self, size: int) -> Printed:
        return self


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

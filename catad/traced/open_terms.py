"""Programs of functions that read values of the traced function around them.

A function that is defined inside a traced one may read its variables, and be given to `ct.grad`, `ct.vmap` or `ct.iterate`. It is
traced on its own, and each variable from outside is one more input of its program: closure conversion, as for branches and
loops. `Open` is such a program where a term has it in place of the function; `catad.front.closure_conversion` passes the values
when the term is applied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors
from catad.category.constant import const
from catad.category.spaces import Space
from catad.category.terms import Compose, D
from catad.traced.programs.program import Program
from catad.traced.recorder import Trace, Var
from catad.values.trees import Tree

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wires

_numbers = count()
_measuring: ContextVar[bool] = ContextVar("catad_measuring", default=False)


@contextmanager
def measuring(spaces: bool = True) -> Iterator[None]:
    """Terms are laid out to find spaces alone; or no longer, where a function is traced meanwhile."""
    token = _measuring.set(spaces)
    try:
        yield
    finally:
        _measuring.reset(token)


class Open(D):
    """A program `(values, x) -> y` as the morphism `x -> y`: the values are variables of the trace around."""

    __slots__ = ("children", "number", "trace", "tree", "values")
    children: tuple[Program, ...]

    def __init__(self, program: Program, values: tuple[Var, ...], trace: Trace, tree: Tree) -> None:
        self.children, self.values, self.trace, self.tree = (program,), values, trace, tree
        self.number = next(_numbers)

    def data(self) -> int:
        return self.number

    @property
    def lasting(self) -> bool:
        return False

    @property
    def known_dom(self) -> Space:
        dom: Space = self.children[0].dom.factors[1]  # type: ignore[attr-defined]
        return dom

    def lay_out(self, b: Builder, x: Wires) -> Any:
        if not _measuring.get():
            raise errors.TraceError(errors.reads_outside(self.children[0]))
        zeros = [b.apply(const(np.zeros(var.space.shape, var.space.dtype)), ()) for var in self.values]
        return (yield self.children[0], (tuple(zeros), x))

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return part(self.children[0])


def open_parts(term: D) -> list[Open]:
    """The programs in a term that read values of the trace around."""
    found: list[Open] = []
    stack, seen = [term], set()
    while stack:
        top = stack.pop()
        if id(top) in seen or isinstance(top, Program):
            continue
        seen.add(id(top))
        if isinstance(top, Open):
            found.append(top)
        else:
            stack.extend(reversed(top.factors if isinstance(top, Compose) else top.children))
    return found

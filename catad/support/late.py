"""The functions of upper rooms that lower rooms call, with their types: `late()` imports them at its first call.

Every other import goes downwards. What is called so is a member of `Late`, with the reason why its caller cannot stand above it;
`upward.py` names the function, and the type checker compares the two.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from catad.category.boxes import Primitive, Running
    from catad.category.spaces import Result, Space, Value
    from catad.category.terms import D, Operand
    from catad.category.wiring import Builder, Wire, Wiring
    from catad.engine.program import Program as ProgramType
    from catad.linear.map import LinearMap
    from catad.linear.products import MapProduct
    from catad.linear.structure import Structure
    from catad.planner.plan import Plan


Chosen = tuple[int, ...] | None  # leaves of a space, by their positions; None is all of them


class Late(Protocol):
    """The functions, by the room in which they stand."""

    # vector: the operators of morphisms and wires are boxes of the vocabulary
    @property
    def matmul(self) -> D: ...  # wire @ wire
    @property
    def neg(self) -> D: ...  # -f
    def times(self, number: Operand, /) -> D: ...  # 2 * f
    def operated(self, word: str, f: Any, g: Any, where: Any, /) -> D: ...  # f + g and its like
    def with_numbers(self, op: Any, args: Sequence[Any], /) -> tuple[D, list[Any]]: ...  # wire + 2
    def by_hand(self, fn: Any, /) -> D: ...  # D(fn), the constructor of a class of the category, makes a box of vector
    def after(self, b: Builder, ran: Wire, leaf: Wire, /) -> Wire: ...  # a wiring orders what must run by a loop's box

    # vector: a linear map becomes an array by boxes
    def astype(self, dtype: Any, /) -> D: ...
    def map(self, f: D | Callable[..., Any], /) -> D: ...
    def concatenate(self, axis: int = 0, /) -> D: ...
    def transpose(self, axes: Sequence[int] | None = None, /) -> D: ...
    def reshape(self, shape: int | Sequence[int], /) -> D: ...
    @property
    def where(self) -> D: ...

    # linear: the batched form of a box without a rule for it
    def one_by_one(
        self, primitive: Primitive, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int, /
    ) -> tuple[Wire, ...]: ...

    # engine: calling a morphism, a linear map or a box that has programs in it runs them
    def run(self, term: D, x: Value, /) -> Any: ...  # f(x)
    def run_structure(self, structure: Structure, xp: Any, slots: Sequence[Any], leaves: Sequence[Any], /) -> list[Any]: ...
    def run_product(self, product: MapProduct, first: Any, second: Any, /) -> list[Any]: ...  # L >> M
    def Program(self, wiring: Wiring, /) -> ProgramType: ...  # L.todense(), and f at wires of numbers
    def program_of(self, term: D, dom: Space, /) -> tuple[ProgramType, Space]: ...  # the step of a loop's box
    def cost_of(self, term: D, dom: Space, /) -> int: ...  # what a box with programs in it costs
    def finished(self, running: Running, xp: Any, /) -> Any: ...  # a box with programs in it, as array code
    def source(self, term: D, language: str, /, *at: Any, **named: Any) -> str: ...  # f.source("llvm")

    # derivative: the rule of a box with a morphism in it is the functor on that morphism
    def Tangent(self, f: D, by: Chosen = None, of: Chosen = None, /) -> D: ...
    def Differential(self, f: D, by: Chosen = None, of: Chosen = None, /) -> D: ...
    def ReverseDifferential(self, f: D, by: Chosen = None, of: Chosen = None, /) -> D: ...
    def linearised(self, f: D, dom: Space, by: Chosen = None, of: Chosen = None, /) -> tuple[D, Structure]: ...

    # traced and front: a term with a Python function in it is laid out at the trees of its arguments
    def function_term(self, fn: Any, /) -> D: ...  # wherever a morphism is expected, a function may stand
    def front_of(self, term: D, /) -> Any: ...  # f(x) of such a term
    def is_of_plain_function(self, term: D, /) -> bool: ...  # ct.grad(f) asks
    def at_space(self, term: D, dom: Space, /) -> D: ...
    def at_domain(self, term: D, args: Sequence[Any], kwargs: dict[str, Any], /) -> tuple[D, Space]: ...  # f.spaces(...)
    def program_at(self, f: Any, args: Sequence[Any], kwargs: dict[str, Any], /) -> Any: ...  # f.at(...)

    # drawing: methods of morphisms and linear maps
    def draw(self, term: D, at: Sequence[Any], named: dict[str, Any], opened: bool | str | Collection[str], /) -> str: ...
    def pattern(self, source: LinearMap | Structure, /, *, caption: bool = False) -> str: ...

    # planner: a chain of maps is written out in the order of a plan
    def plan(self, subject: Any, /, *, cost: Literal["operations"], explicit: bool) -> Plan: ...

    # jacobians: what a loop keeps of its steps is what a pullback keeps of a point; a plan linearises
    def kept_of_step(
        self, wiring: Wiring, structure: Structure, n: int, states: int, given: int, /
    ) -> tuple[int, ...]: ...
    def linearize(self, f: D, /, *primals: Value) -> tuple[Result, LinearMap]: ...


@cache
def late() -> Late:
    """The functions of upper rooms."""
    from catad import upward

    return upward

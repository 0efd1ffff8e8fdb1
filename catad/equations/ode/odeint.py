"""`ct.odeint`: the solution of `y' = f(t, y)` at given times, as a term `(y0, ts, *args) -> ys`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors
from catad.category.boxes import of_fields
from catad.category.cache import cached
from catad.category.cartesian import compose, cross, exl, exr, proj
from catad.category.constructors import integer
from catad.category.spaces import Product, Space, Tensor, flatten, rebuild
from catad.category.terms import D, Fork, Id, MorphismLike, morphism
from catad.category.text import call
from catad.category.wiring import at_point, share
from catad.equations.ode.adaptive import Adaptive, adaptive
from catad.equations.ode.events import Event
from catad.equations.ode.explicit import Explicit
from catad.equations.ode.fixed import fixed
from catad.equations.ode.method import Method, Slopes, checked
from catad.equations.ode.rosenbrock import Rosenbrock
from catad.equations.ode.rosenbrock_tableaus import ROSENBROCK
from catad.equations.ode.tableaus import TABLEAUS
from catad.equations.own_arguments import with_first
from catad.errors.places import here
from catad.front.closure_conversion import Given, closed, of_both
from catad.front.specialise import OwnArguments, at_space, form_at, function_of, specialised, tuple_tree
from catad.traced.function import Function, function_term
from catad.traced.signature import Form
from catad.values.trees import LEAF, Tree
from catad.vector.loops.converged import WhereConverged
from catad.vector.loops.snapshots import Roomed, loops_of
from catad.vector.pointwise.operators import astype

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wires

METHODS: dict[str, Method] = {
    **{name: Explicit(tableau) for name, tableau in TABLEAUS.items()},
    **{name: Rosenbrock(tableau) for name, tableau in ROSENBROCK.items()},
}


@dataclass(frozen=True)
class Options:
    """The options of `ct.odeint`, as they are given."""

    method: str
    rtol: float | None
    atol: float | None
    steps: int | None
    max_steps: int
    first_step: float | None
    max_step: float | None
    memory: int | None
    direction: int

    def integrator(self, slopes: Slopes, m: int, event: Event | None) -> D:
        """The morphism from `(y0, ts, args)` to the leaves of y at m times, and what an event adds."""
        method = METHODS[self.method]
        if self.steps is not None:
            return fixed(method, slopes, self.steps, m)
        eps = max([float(np.finfo(leaf.dtype).eps) for leaf in slopes.unknown.leaves])
        rtol = max(1e-6, 100.0 * eps) if self.rtol is None else self.rtol
        atol = 1e-3 * rtol if self.atol is None else self.atol
        most = np.inf if self.max_step is None else self.max_step
        return adaptive(method, slopes, Adaptive(rtol, atol, self.max_steps, self.first_step, most), m, event)


@of_fields
class Times(D):
    """The times, which are there where they are sorted."""

    def lay_out(self, b: Builder, ts: Wires) -> Any:
        return (yield function_term(_sorted), ts)


def _sorted(ts: Any) -> Any:
    up = np.all(ts[1:] >= ts[:-1]) | np.all(ts[1:] <= ts[:-1])
    return WhereConverged(errors.times_not_sorted, errors.ArgumentError)(up, (ts[0], ts[-1]), (ts,))[0]


@share
@of_fields
class OdeInt(OwnArguments):
    """The solution of `y' = f(t, y, *args)` from y0 at the first of the times, at all of them."""

    drawn_as = "functor"
    f: D
    event: D  # the identity where there is none
    options: Options

    def lay_out(self, b: Builder, x: Wires) -> Any:
        dom = b.space(x)
        settled = at_space(self, dom)
        if settled is not self:
            return (yield settled, x)
        if not isinstance(dom, Product) or len(dom.factors) < 2:
            raise errors.SpaceError(errors.not_start_and_times(dom))
        y0, ts, *args = x
        unknown, times = b.space(y0), b.space(ts)
        if not isinstance(times, Tensor) or times.ndim != 1 or not times.is_float or not times.size:
            raise errors.SpaceError(errors.not_times(times))
        if not unknown.leaves or not all(leaf.is_float for leaf in unknown.leaves):
            raise errors.SpaceError(errors.start_not_floating("odeint", unknown))
        given = Product([b.space(arg) for arg in args])
        place = Product((Tensor((), times.dtype), unknown, given))
        parts = Fork((proj(0), proj(1), *[compose(proj(2), proj(k)) for k in range(len(args))]))
        f, g = compose(parts, self.f), compose(parts, self.event)
        with at_point(place, lambda: _at_start(b.values(flatten(x)), len(unknown.leaves))):
            checked(self.f, unknown, f.spaces(place))
            if self.has_event and not is_number(g.spaces(place)):
                raise errors.SpaceError(errors.event_not_a_number(self.event, g.spaces(place)))
        m = times.size
        whole = rebuild(unknown, [Tensor((m, *leaf.shape), leaf.dtype) for leaf in unknown.leaves], Product)
        start = tuple(flatten(y0))
        if self.has_event:
            whole = Product((whole, Tensor((), times.dtype), unknown))
        if m == 1:
            term = _as_rows_alone if self.has_event else _as_rows
            return rebuild(whole, flatten((yield function_term(term), (start, ts) if self.has_event else start)))
        ts = yield Times(), ts
        at = b.space((start, ts, tuple(args)))

        def made() -> D:
            event = Event(g, self.options.direction, unknown) if self.has_event else None
            return self.options.integrator(Slopes(f, place), m, event)

        integrator = cached(self, ("integrator", at), made)
        if self.options.memory is not None:
            rooms = [self.options.memory if loop.depth == 0 else None for loop in loops_of(integrator, at)]
            integrator = Roomed(integrator, tuple(rooms))
        found = yield integrator, (start, ts, tuple(args))
        return rebuild(whole, flatten(found))

    def takes(self, function: Function) -> Function:
        """A function of the start, of the times, and of all arguments but the first two."""
        found = self.__dict__.get("taking")
        if found is None:
            found = self.__dict__["taking"] = with_first(function, ("y0", "ts"), 2, "the solution of")
        return found

    @property
    def has_event(self) -> bool:
        """Whether the integration ends at a root of a function."""
        return not isinstance(self.event, Id)

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        own = self.options
        named = {one.name: getattr(own, one.name) for one in fields(own)}
        made = call(odeint, name, part(self.f), **named)
        return f"{made[:-1]}, event={part(self.event)})" if self.has_event else made


def _at_start(found: tuple[Any, Sequence[Any]] | None, n: int) -> tuple[Any, Sequence[Any]] | None:
    """The values of (t, y, args) at the start from those of (y0, ts, args), where they are known; y has n leaves."""
    return None if found is None else (found[0], [found[1][n][0], *found[1][:n], *found[1][n + 1 :]])


def is_number(space: Space) -> bool:
    """Whether a space is that of one floating number."""
    return isinstance(space, Tensor) and not space.shape and space.is_float


def _as_rows_alone(given: Any) -> Any:
    """One row, and no event."""
    leaves, ts = given
    return _as_rows(leaves), np.nan * ts[0], tuple([np.nan * leaf for leaf in leaves])


def _as_rows(leaves: Any) -> Any:
    return tuple([leaf[None] for leaf in leaves])


def _stacked(times: Any) -> Any:
    return np.stack(times)


def _place(dom: Product) -> Product:
    """The space of (t, y, *args) from that of (y0, ts, *args)."""
    return Product((Tensor((), dom.factors[1].leaves[0].dtype), dom.factors[0], *dom.factors[2:]))


@specialised.register
def _(term: OdeInt, form: Form, dom: Space) -> tuple[D, Tree | None]:
    given = form.args
    if not isinstance(dom, Product) or len(dom.factors) < 2 or form.dynamic[:2] != [0, 1]:
        return term, None
    times = dom.factors[1]
    if isinstance(times, Product) and times.leaves and not any(leaf.shape for leaf in times.leaves):  # a list of numbers
        dtype = np.result_type(*[leaf.dtype for leaf in times.leaves])
        one = Product((dom.factors[0], Tensor((len(times.leaves),), dtype), *dom.factors[2:]))
        made, tree = specialised(term, Form((given[0], LEAF, *given[2:]), form.kwargs), one)
        return compose(cross(Id(), function_term(_stacked), *[Id() for _ in dom.factors[2:]]), made), tree
    whole = [rebuild(part, [_floating(leaf) for leaf in part.leaves], Product) for part in dom.factors[:2]]
    own = Product((*whole, *dom.factors[2:]))
    if own != dom:
        casts = [rebuild(part, list(map(_cast, part.leaves)), lambda parts: cross(*parts)) for part in dom.factors[:2]]
        made, tree = specialised(term, form, own)
        return compose(cross(*casts, *[Id() for _ in dom.factors[2:]]), made), tree
    place, start = _place(dom), given[0].of_arrays()
    inner = Form((LEAF, start, *given[2:]), form.kwargs)
    if function_of(term.f) is None:
        inner = form_at(term.f, place, None)
    made, slopes = specialised(term.f, inner, place)
    if slopes is not None and slopes.of_arrays() != start:
        raise errors.SpaceError(errors.trees_differ(f"y and its slopes by {errors.abbreviated(term.f)}", start, slopes))
    tree = start
    event = term.event
    if term.has_event:
        inner = form_at(event, place, None) if function_of(event) is None else Form((LEAF, start, *given[2:]), form.kwargs)
        event, tree = specialised(event, inner, place)[0], tuple_tree([start, LEAF, start])
    return OdeInt(made, event, term.options), tree


def _floating(leaf: Tensor) -> Tensor:
    return leaf if leaf.is_float else Tensor(leaf.shape, np.float64)


def _cast(leaf: Tensor) -> D:
    return Id() if leaf.is_float else astype(np.float64)


@closed.register
def _(term: OdeInt, dom: Space, given: Given) -> D:
    """`(values, (y0, ts, *args))`: the values are one more argument."""
    assert isinstance(dom, Product)
    n = len(dom.factors)
    own = Fork((proj(0), proj(1), *[proj(k) for k in range(3, n + 1)]))
    f, event = [compose(Fork((proj(2), own)), of_both(part, _place(dom), given)) for part in (term.f, term.event)]
    start = [compose(exr, proj(k)) for k in range(n)]
    return compose(Fork((*start[:2], exl, *start[2:])), OdeInt(f, event if term.has_event else term.event, term.options))


def odeint(
    rhs: MorphismLike,
    *given: Any,
    method: str = "tsit5",
    rtol: float | None = None,
    atol: float | None = None,
    steps: int | None = None,
    max_steps: int = 100_000,
    first_step: float | None = None,
    max_step: float | None = None,
    memory: int | None = None,
    event: MorphismLike | None = None,
    direction: int = 0,
    **named: Any,
) -> Any:
    """The solution of `y' = rhs(t, y, *args)` at given times: a morphism `(y0, ts, *args) -> ys`, or its value at these.

    y0 is an array of any shape or a tree of arrays, real or complex, at the time `ts[0]`; rhs returns a tree like it. `ts` are
    sorted times of shape (m,), in either direction, or a list of numbers, in the units of t. Each leaf of the result has a new
    first axis of length m and the dtype of the leaf of y0; integers become float64. Results lie on the dense output of the steps.

    Methods with step sizes from error estimates: "tsit5", "dopri5", "bosh3", "heun", "midpoint"; "rodas5p" and "rosenbrock23" for
    stiff equations. The error of a step is within `atol + rtol abs(y)` in the root of the mean square over all numbers of y. By
    default rtol is 1e-6, or 100 eps of the dtype where that is more, and atol, in the units of y, is a thousandth of rtol.
    `first_step` and `max_step` bound the sizes of steps, in the units of t. With `steps=n` each method, also "rk4" and "euler",
    takes n equal steps from each time to the next.

    Derivatives of any order by y0, ts and args are those of the computed numbers, in which the sizes of steps are constants.
    With `memory=k` reverse mode keeps at most k states of the loop and takes steps again. Under `ct.vmap` each lane has its own
    steps.

    `event(t, y, *args)` gives a number. The integration ends where its sign first changes over a step, from negative to positive
    (`direction=1`), back (-1) or both (0); a root at the start is none. The result is then `(ys, t, y)`: rows of ys after the
    event are NaN, and t and y are time and state of the event, with the derivative of the implicit function theorem. They are NaN
    without an event.

    Raises `ConvergenceError` with time, step size and error where steps become too small or `max_steps` do not suffice;
    `ArgumentError` for times that are not sorted, for a function whose parameters are named y and t in this order, and for other
    options; `SpaceError` where slopes have other shapes than y.
    Sources: E. Hairer, S. P. Norsett and G. Wanner, Solving Ordinary Differential Equations I, 1993, sections II.4 to II.6; C.
    Tsitouras, Runge-Kutta pairs of order 5(4) satisfying only the first column simplifying assumption, 2011.

    >>> import catad as ct, numpy as np
    >>> decay = ct.odeint(lambda t, y, k: -k * y)
    >>> decay(1.0, [0.0, 1.0, 2.0], 0.5).round(5)
    array([1.     , 0.60653, 0.36788])
    >>> ct.grad(lambda k: decay(1.0, [0.0, 2.0], k)[-1])(0.5).round(5)
    np.float64(-0.73576)
    """
    if method not in METHODS:
        raise errors.ArgumentError(errors.no_such_method(method, tuple(METHODS)))
    if steps is None and not METHODS[method].error_order:
        raise errors.ArgumentError(errors.fixed_steps_missing(method))
    if event is not None and steps is not None:
        raise errors.ArgumentError(errors.event_with_fixed_steps(steps))
    if direction not in (-1, 0, 1):
        raise errors.ArgumentError(errors.no_direction(direction))
    for one in (rhs, event):
        code = getattr(getattr(one, "fn", one), "__code__", None)
        if code is not None and code.co_argcount >= 2 and code.co_varnames[:2] == ("y", "t"):
            raise errors.ArgumentError(errors.time_comes_first(code.co_name))
    options = Options(
        method,
        _positive("rtol", rtol),
        _positive("atol", atol),
        None if steps is None else integer(steps, "a number of steps", 1),
        integer(max_steps, "a number of steps", 1),
        _positive("first_step", first_step),
        _positive("max_step", max_step),
        None if memory is None else integer(memory, "memory, the number of states to keep,", 1),
        int(direction),
    )
    term = OdeInt(morphism(rhs, "ct.odeint"), Id() if event is None else morphism(event, "ct.odeint"), options)
    term._place = here()
    return term(*given, **named) if given else term


def _positive(name: str, value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)) or not value > 0:
        raise errors.ArgumentError(errors.must_be_positive(name, value))
    return float(value)

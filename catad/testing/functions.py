"""`check_function`: what a plain Python function and the programs that are traced of it owe to each other."""

from __future__ import annotations

import copy
import pickle
import sys
from collections.abc import Iterable, Iterator
from dataclasses import fields
from types import FunctionType
from typing import Any

import numpy as np

from catad import errors
from catad.category.boxes import Nesting, Primitive
from catad.category.spaces import Space, Value, flatten, mapped, rebuild, space_of
from catad.category.trip_counts import as_first_met
from catad.category.wiring import Wiring, wire
from catad.derivative.functors import reverse_differential
from catad.engine.choice import use_engine
from catad.testing.grads import check_grads
from catad.testing.laws import Law, into
from catad.testing.values import broken, direction, largest, require, stacked
from catad.traced.captured import Captured, content, plain_function, same_content
from catad.traced.function import Function, function
from catad.traced.programs.program import Line, Program
from catad.traced.recorder import TRACES, current_trace
from catad.traced.signature import Form
from catad.values.trees import plain
from catad.vector.loops.batching import BatchedMap
from catad.vector.loops.either import Choose

_LAWS: dict[str, Law] = {}
_law = into(_LAWS)
_STEPS = 10**9  # more than any loop has: every loop is taken in Python


def check_function(
    fn: Any,
    *args: Any,
    order: int = 2,
    lanes: int = 3,
    spread: float = 0.3,
    seed: int = 0,
    tolerance: float | None = None,
    only: Iterable[str] | None = None,
) -> None:
    """Check a plain Python function on arrays, with the morphism that `ct.function` makes of it, at some arguments.

    These laws are checked; `only` selects some by name:

    - "value": the result is that of NumPy, in tree, shape, dtype and numbers; where NumPy raises, the morphism does.
    - "untouched": arguments, globals and closures hold what they held.
    - "text": `repr` and `str` of the program trace to the program. "record": so does its pickle.
    - "trace": a second trace gives an equal program with an equal hash.
    - "point-free": the form without variables has the same boxes, and bit for bit the same numbers on the reference engine.
    - "control flow": loops that are unrolled, loops that are recorded, and a function without source, whose branches are
      explored, have one value and one gradient. Any of these may be refused.
    - "lanes": mapped over points near the arguments, it gives what single calls of NumPy give. There are `lanes` points, whose
      floats differ by a relative `spread`.
    - "derivatives": they agree with central differences up to `order`, both forward and in reverse.
    - "stand-ins": none is left that could still be used.

    Equality of numbers is within rounding of the largest one, unless `tolerance` gives another relative size. Of a function that
    `ct.function` has decorated, the Python function is checked. It has to be a function of its arguments: one that draws random
    numbers or counts its calls has no laws. Raises `LawError` with the law that does not hold, `ArgumentError` for what is no
    plain function or names no law, and what the trace raises.

    >>> import catad as ct, numpy as np
    >>> def newton(a, x):
    ...     while abs(x * x - a) > 1e-9:
    ...         x = (x + a / x) / 2
    ...     return {"root": x}
    >>> ct.testing.check_function(newton, np.array(2.0), 1.0, order=1)
    >>> seen = [0.0]
    >>> def counts(x):
    ...     seen[0] = seen[0] + 1
    ...     return x * seen[0]
    >>> try:
    ...     ct.testing.check_function(counts, np.ones(2))
    ... except ct.LawError as error:
    ...     print(str(error).splitlines()[0])
    the law value does not hold: ct.function(fn)(x) == fn(x)
    """
    unknown = [name for name in only or () if name not in _LAWS]
    if unknown:
        raise errors.ArgumentError(errors.unknown_law("check_function", unknown, _LAWS))
    case = _Case(fn, args, order, lanes, spread, seed, tolerance)
    for name in _LAWS if only is None else only:
        if name == "value" or not case.raises:
            case.law = _LAWS[name]
            case.law.check(case)


class _Case:
    """A function at a point."""

    law: Law  # that is checked

    def __init__(
        self, fn: Any, args: tuple[Any, ...], order: int, lanes: int, spread: float, seed: int, tolerance: float | None
    ) -> None:
        made = fn if isinstance(fn, Function) else function(fn)
        self.fn, self.static, self.unroll = made.fn, made.static, made.unroll
        self.args, self.order, self.lanes, self.spread, self.tolerance = args, order, lanes, spread, tolerance
        self.rng = np.random.default_rng(seed)
        self.raises: Exception | None = None
        try:
            self.expected = self.by_numpy(args)
        except Exception as error:
            self.raises = error
        plain_fn = plain_function(self.fn)
        self.around = Captured()
        self.around.add(self.fn, () if plain_fn is None else (plain_fn,))
        self.given = content(args)
        self.f = self.function(self.unroll)
        if self.raises is None:
            self.form, values = self.f.form_of(args, {})
            self.p = self.program(self.f)
            leaves = zip(flatten(tuple(values)), self.p.dom.leaves, strict=True)
            self.x: Value = rebuild(self.p.dom, [np.asarray(leaf, space.dtype) for leaf, space in leaves])
            self.y: Value = self.p(self.x)

    def function(self, unroll: int, fn: Any = None) -> Function:
        made: Function = function(self.fn if fn is None else fn, static=self.static, unroll=unroll)
        return made

    def program(self, f: Function) -> Program:
        """The program at the arguments; its values are plain, as those of any term."""
        made = f.at(*self.args)
        return Program(
            made.dom,
            list(map(Line, made.children, made.args, made.outs)),
            made.result,
            made.notes._replace(form=None, result_tree=None),
        )

    def by_numpy(self, args: tuple[Any, ...]) -> Any:
        """The result of the Python function, which gets arguments of its own."""
        with np.errstate(all="ignore"):
            return self.fn(*copy.deepcopy(args))

    def fail(self, got: Any, expected: Any, off: Any = None) -> None:
        raise broken(self.law.name, self.law.equation, self.fn, self.args, got, expected, off)

    def equal(self, got: Value, expected: Value, exact: bool = False) -> None:
        size = largest(self.x, got, expected)
        require(self.law.name, self.law.equation, self.fn, self.args, got, expected, exact, size, self.tolerance)


@_law("value", "ct.function(fn)(x) == fn(x)")
def _(c: _Case) -> None:
    try:
        got, tree = plain(c.f(*c.args))
    except Exception as error:
        if c.raises is None:
            raise
        if not isinstance(error, (errors.CatadError, type(c.raises))) and not isinstance(c.raises, type(error)):
            c.fail(repr(error), repr(c.raises))
        return
    if c.raises is not None:
        c.fail(got, repr(c.raises))
    expected, form = plain(c.expected)
    if tree.of_arrays() != form.of_arrays():
        c.fail(tree, form)
    c.equal(mapped(got, np.asarray), mapped(expected, np.asarray))


@_law("untouched", "arguments, globals and closures hold what they held")
def _(c: _Case) -> None:
    c.f(*c.args)
    if not same_content(c.given, c.args):
        c.fail(c.args, "the arguments as they were given")
    changed = [entry.name for entry in c.around.entries if entry.has_changed]
    if changed:
        c.fail(f"other values of {', '.join(changed)}", "those of before")


@_law("text", 'eval(repr(p), {"ct": ct, **p.names}) == p, and exec(str(p)) defines a function that traces to p')
def _(c: _Case) -> None:
    scope: dict[str, Any] = {"ct": sys.modules["catad"], **c.p.names}
    again = eval(repr(c.p), dict(scope))
    if again != c.p or hash(again) != hash(c.p):
        c.fail(repr(again), repr(c.p))
    exec(str(c.p), scope)
    again = function(scope[c.p.title]).program(c.p.dom)
    if again != c.p:
        c.fail(str(again), str(c.p))


@_law("record", "pickle.loads(pickle.dumps(p)) == p")
def _(c: _Case) -> None:
    again = pickle.loads(pickle.dumps(c.p))
    if again != c.p or hash(again) != hash(c.p) or str(again) != str(c.p):
        c.fail(again, c.p)


@_law("trace", "ct.function(fn).at(x) == p, with an equal hash, in a second trace")
def _(c: _Case) -> None:
    again = c.program(c.function(c.unroll))
    if again != c.p or hash(again) != hash(c.p):
        c.fail(again, c.p)


@_law("point-free", "p.point_free() has the boxes and the values of p")
def _(c: _Case) -> None:
    free = c.p.point_free()
    with as_first_met():
        first, second = wire(free, c.p.dom), wire(c.p, c.p.dom)
        same = same_boxes(first, second)
    if not same:
        c.fail(f"{len(first.boxes)} boxes", f"the {len(second.boxes)} boxes of the program")
    with use_engine("reference"):
        c.equal(free(c.x), c.p(c.x), exact=True)


@_law("control flow", "unrolled, recorded and explored: one value and one gradient")
def _(c: _Case) -> None:
    w = direction(c.rng, space_of(c.y))
    pulled = reverse_differential(c.p)(c.x, w)
    for program in _variants(c):
        if program != c.p:
            c.equal(program(c.x), c.y)
            c.equal(reverse_differential(program)(c.x, w), pulled)


def _variants(c: _Case) -> Iterator[Program]:
    """The function traced in other ways."""
    for unroll in (_STEPS, 0):
        try:
            yield c.program(c.function(unroll))
        except errors.TraceError:  # a loop that can be recorded, but not unrolled, or the other way round
            continue
    hidden = without_source(c.fn)
    if hidden is not None:
        try:
            yield c.program(c.function(c.unroll, hidden))
        except errors.TraceError:  # a loop on data
            return
        except (TypeError, ValueError) as error:  # an array of NumPy's that is written into
            if not isinstance(error.__cause__, errors.TraceError):
                raise


def without_source(fn: Any) -> FunctionType | None:
    """The function with its source out of reach; None for what is no plain function."""
    if not isinstance(fn, FunctionType):
        return None
    code = fn.__code__.replace(co_filename="<no source>")
    made = FunctionType(code, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__)
    made.__kwdefaults__ = fn.__kwdefaults__
    return made


@_law("lanes", "ct.map(p)(xs) == stack([fn(x) for x in xs])")
def _(c: _Case) -> None:
    points, results = [], []
    for _ in range(c.lanes):
        x = _near(c.rng, c.x, c.spread)
        try:
            result, _ = plain(c.by_numpy(tuple(_restored(c.form, x))))
        except Exception:  # NumPy has no value there
            continue
        points.append(x)
        results.append(mapped(result, np.asarray))
    spaces = {space_of(result) for result in results}
    if not points or not flatten(c.x) or spaces != {space_of(c.y)}:
        return
    c.equal(BatchedMap(c.p)(stacked(points)), stacked(results))


def _near(rng: np.random.Generator, x: Value, spread: float) -> Value:
    """The point with floats that differ by a relative spread."""
    noise = [1 + spread * rng.uniform(-1, 1, leaf.shape) if leaf.dtype.kind == "f" else 1 for leaf in flatten(x)]
    return rebuild(space_of(x), [(leaf * one).astype(leaf.dtype) for leaf, one in zip(flatten(x), noise, strict=True)])


def _restored(form: Form, x: Value) -> list[Any]:
    """The arguments at a point; Python numbers are Python numbers."""
    made = form.tree.restore(x, lambda value, kind: kind(value))
    where, trees = form.dynamic, form.trees
    parts = dict(zip(where, (made,) if len(where) == 1 else made, strict=True))
    return [parts[k] if k in parts else tree.restore(()) for k, tree in enumerate(trees)]


@_law("derivatives", "derivatives are those of differences")
def _(c: _Case) -> None:
    if c.order and any(leaf.is_float for leaf in space_of(c.x).leaves):
        check_grads(c.p, c.x, order=c.order, tolerance=c.tolerance)


@_law("stand-ins", "no stand-in can be used after its trace")
def _(c: _Case) -> None:
    running = set()
    trace = current_trace()
    while trace is not None:
        running.add(id(trace))
        trace = trace.outer
    left = [trace for trace in list(TRACES) if trace.open and id(trace) not in running]
    if left:
        c.fail([trace.root.inputs for trace in left], "none")


LAWS_OF_FUNCTIONS = tuple(_LAWS)


def same_boxes(first: Wiring, second: Wiring) -> bool:
    """True for wirings with the same boxes on the same wires, in whichever order."""
    numbers: dict[Any, int] = {}
    return _boxes(first, numbers) == _boxes(second, numbers)


def _boxes(wiring: Wiring, numbers: dict[Any, int]) -> tuple[list[int], list[Any]]:
    """The boxes, each as one number for the box and all that it depends on, and the results."""
    at: dict[Any, Any] = {k: ("input", i) for i, k in enumerate(wiring.inputs)}
    found = []
    for box in wiring.boxes:
        number = numbers.setdefault((_kind(box.primitive, numbers), *[at[k] for k in box.ins]), len(numbers))
        found.append(number)
        at.update({k: (number, i) for i, k in enumerate(box.outs)})
    return sorted(found), [at[k] for k in wiring.outputs]


def _kind(primitive: Primitive, numbers: dict[Any, int]) -> Any:
    """What a box is: of one that runs programs, the boxes of these."""
    if not isinstance(primitive, Nesting):
        return primitive
    if isinstance(primitive, Choose):
        programs = [(side, primitive.dom) for side in (primitive.f, primitive.g)]
    else:
        programs = [(term, dom) for _, term, dom in primitive.programs()]
    rest = [getattr(primitive, f.name) for f in fields(primitive)]  # type: ignore[arg-type]  # a dataclass, as boxes are
    own = [one for one in rest if isinstance(one, (int, str, Space))]
    return type(primitive), repr(own), repr([_boxes(wire(term, dom), numbers) for term, dom in programs])

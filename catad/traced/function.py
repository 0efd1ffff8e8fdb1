"""`ct.function`: an ordinary Python function on arrays as a morphism.

The function is run on stand-ins, once for each space and each form of its arguments, and becomes a `Program`. Its parameters are
the factors of the domain; one parameter alone is the domain.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Hashable, Sequence
from itertools import count
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

from catad import errors, upward
from catad.category.pickling import Reference
from catad.category.spaces import Product, Space, of_parts, rebuild
from catad.category.terms import D
from catad.category.wiring import share
from catad.support.lru import Recent
from catad.traced.arrays.layout import in_c_order
from catad.traced.arrays.naming import captured
from catad.traced.arrays.stand_in import Traced, fresh, var_of
from catad.traced.captured import Captured, bytes_around, outside, reads
from catad.traced.control.decisions import give_up_merging, on_a_path
from catad.traced.control.explore import Path, explored
from catad.traced.open_terms import Open, measuring
from catad.traced.programs.program import Notes, Program
from catad.traced.recorder import Findings, Restart, Trace, Var, the_trace, tracing
from catad.traced.rewriting.rewrite import rewritten
from catad.traced.rewriting.unbound_locals import settled
from catad.traced.signature import Form, form_of_factors, name_of, takes_the_whole, tree_of_space, visible_signature
from catad.traced.trace import Driver
from catad.values.trees import Static, Tree, plain
from catad.vector.pointwise.map import map as ct_map

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wires

class Key:
    """A Python function for comparisons: the same function object with the same static values."""

    __slots__ = ("fn",)

    def __init__(self, fn: Any) -> None:
        self.fn = fn

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and (self.fn is other.fn or (isinstance(self.fn, MethodType) and self.fn == other.fn))

    def __hash__(self) -> int:
        return hash(getattr(self.fn, "__func__", self.fn)) if getattr(self.fn, "__hash__", None) else id(self.fn)

    def __repr__(self) -> str:
        return str(getattr(self.fn, "__qualname__", self.fn))


Named = list[tuple[str, Any]]  # values with the names of parameters


@share
class Function(D):
    """A Python function of arrays as a morphism: each space of its arguments has a program.

    `signature` is that of calls: names from outside come first (`free`), parameters with fixed values are left out (`bound`).
    """

    __slots__ = (
        "__dict__", "bound", "captured", "fn", "free", "is_plain", "programs", "signature", "static", "unroll",
    )  # fmt: skip

    def __init__(
        self,
        fn: Any,
        static: tuple[str, ...],
        free: tuple[str, ...],
        unroll: int,
        bound: tuple[tuple[str, Static], ...] = (),
    ) -> None:
        self.fn, self.static, self.free, self.unroll, self.bound = fn, static, free, unroll, bound
        self.is_plain = False  # it was not made by the user: a plain function stood where a morphism is expected
        self.signature = visible_signature(fn, dict(bound), free)
        self.programs: Recent[tuple[Form, Space, Any], Program] = Recent(PROGRAMS)
        self.captured = Captured()
        functools.update_wrapper(self, fn, updated=())

    def data(self) -> Hashable:
        return (Key(self.fn), self.static, self.free, self.unroll, self.bound, self.captured.version)

    @property
    def held_bytes(self) -> int:
        """The bytes of the arrays around the function."""
        return bytes_around(self.fn)

    @property
    def takes_the_whole(self) -> bool:
        """True where the one parameter is the domain; else the parameters are its factors."""
        return takes_the_whole(self.signature, self.static)

    # -- arguments

    def sorted_arguments(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Named, Named]:
        """Arguments by position and by name, each with the name of its parameter."""
        try:
            found = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise errors.ArgumentError(errors.does_not_bind(error, self.fn, self.signature)) from None
        return [(name_of(self.signature, k), value) for k, value in enumerate(found.args)], list(found.kwargs.items())

    def form_of(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Form, list[Any]]:
        """The form of a call, and the plain values of its dynamic arguments."""
        positional, named = self.sorted_arguments(args, kwargs)
        trees, values = [], []
        for name, value in (*positional, *named):
            if name in self.static:
                _check_hashable(name, value)
                tree = Tree("static", Static(value))
            else:
                one, tree = plain(value)
                if not tree.is_static:
                    values.append(one)
            trees.append(tree)
        n = len(positional)
        return Form(tuple(trees[:n]), tuple([(name, tree) for (name, _), tree in zip(named, trees[n:], strict=True)])), values

    def form_at(self, dom: Space, tree: Tree | None = None) -> Form:
        """The form of a call with a value of a space: one parameter takes it as it is, several take its factors."""
        tree = tree_of_space(dom) if tree is None else tree
        if self.takes_the_whole:
            found = form_of_factors(self.signature, self.static, (tree,))
        else:
            parts = tree.parts if tree.kind is tuple else (tree,)
            found = form_of_factors(self.signature, self.static, parts)
        if found is None:
            raise errors.SpaceError(errors.wrong_factor_count(self.signature, self.static, dom, self.fn))
        return found

    def completed(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Sequence[Any], dict[str, Any], dict[str, Any]]:
        """The arguments of the Python function: with the fixed values, and without the names from outside, which come last."""
        if not self.bound and not self.free:
            return args, kwargs, {}
        found = self.signature.bind(*args, **kwargs).arguments
        free = {name: found.pop(name) for name in self.free}
        given = {**found, **{name: value.value for name, value in self.bound}}
        own = inspect.signature(self.fn)
        whole = inspect.BoundArguments(own, {name: given[name] for name in own.parameters if name in given})
        return whole.args, whole.kwargs, free

    def bind(self, **values: Any) -> Function:
        """The function with parameters fixed to static values."""
        known = {*self.signature.parameters, *dict(self.bound)} - {*self.free}
        unknown = [name for name in values if name not in known]
        if unknown:
            raise errors.ArgumentError(errors.unknown_static(unknown, self.fn, "bind", sorted(known)))
        for name, value in values.items():
            _check_hashable(name, value)
        bound = {**dict(self.bound), **{name: Static(value) for name, value in values.items()}}
        static = tuple([name for name in self.static if name not in bound])
        made = Function(self.fn, static, self.free, self.unroll, tuple(sorted(bound.items())))
        made.captured, made.is_plain = self.captured, self.is_plain
        return made

    # -- programs

    def at(self, *args: Any, **kwargs: Any) -> Program:
        """The program at a space, at the spaces of the arguments, or at those of example values."""
        if len(args) == 1 and not kwargs and isinstance(args[0], Space):
            return self.program(args[0])
        made: Program = upward.program_at(self, args, kwargs)
        return made

    def program(self, dom: Space, form: Form | None = None) -> Program:
        """The program at a domain, for a form of the arguments; it is traced once."""
        made = self.traced(dom, form)
        if isinstance(made, Open):
            raise errors.TraceError(errors.reads_outside(self))
        return made

    def traced(self, dom: Space, form: Form | None = None) -> Program | Open:
        """The program, or what stands for it where it reads values of the traced function around."""
        form = self.form_at(dom) if form is None else form
        dom = of_parts(dom)
        key = form, dom, tuple([tree.orders for tree in form.trees])
        found = self.programs.get(key)
        if found is None:
            made = traced(self, dom, form)
            if isinstance(made, Open):
                return made
            found = self.programs[key] = made
        return found

    def constants(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """The arrays that the function reads from outside, by name, as they are in its programs; arguments as of `at`.

        >>> import catad as ct, numpy as np
        >>> A = np.array([1.0, 2.0])
        >>> ct.function(lambda x: A * x).constants(ct.f64[2])
        {'A': array([1., 2.])}
        """
        self.at(*args, **kwargs)
        return self.captured.arrays

    def lay_out(self, b: Builder, x: Wires) -> Any:
        return (yield self.traced(b.space(x)), x)

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        options = "".join([f", {key}={getattr(self, key)!r}" for key in ("static", "free") if getattr(self, key)])
        options += f", unroll={self.unroll}" if self.unroll != UNROLL else ""
        bound = ", ".join([f"{key}={name(value.value, key)}" for key, value in self.bound])
        wish = str(getattr(self.fn, "__name__", "fn"))
        made = f"ct.function({name(self.fn, wish)}{options})"
        return f"{made}.bind({bound})" if bound else made

    def recipe(self) -> tuple[Callable[..., D], tuple[Any, ...]]:
        return _remade, (Reference(self.fn), self.static, self.free, self.unroll, self.bound)


PROGRAMS = 256  # that a function keeps, one for each space and form of its arguments
UNROLL = 16  # trips of a loop that are taken in Python


def _check_hashable(name: str, value: Any) -> None:
    try:
        hash(value)
    except TypeError:
        raise errors.ArgumentError(errors.unhashable_static(name, value)) from None


def traced(function: Function, dom: Space, form: Form) -> Program | Open:
    """Run a function on stand-ins for the arrays of its arguments, as often as its control flow needs it."""
    where = form.dynamic
    names = [name for name, _ in _named(function, form)]

    def run(findings: Findings) -> Path:
        with measuring(False), tracing(findings, function.unroll) as trace:
            trace.captured, trace.wanted, trace.followed, trace.inner = captured(function.fn), wanted, followed, inner
            factors = [dom] if len(where) == 1 else list(dom.factors)  # type: ignore[attr-defined]
            inputs = []
            for k, factor in zip(where, factors, strict=True):
                tree = form.trees[k]
                leaves = [
                    _argument(trace, trace.root.input(space, leaf.said if leaf.kind == "number" else None, names[k] + path))
                    for space, leaf, path in zip(factor.leaves, _deep(tree, factor), _paths(tree, factor), strict=True)
                ]
                inputs.append(rebuild(factor, leaves))
            known = len(wanted)
            trace.outside = {var: trace.root.input(var.space, var.weak, var.name) for var in wanted}
            args, kwargs, free = function.completed(*form.values(inputs[0] if len(where) == 1 else tuple(inputs)))
            driver = Driver(_package(function.fn), outside(function.fn, free), followed)
            try:
                result = _run(function.fn, driver, args, kwargs)
            except Exception as error:
                _left_early(trace, error)
                if isinstance(error, errors.TraceError) or not on_a_path(trace):
                    raise
                if isinstance(error, AssertionError) and not errors.raised_by_user(error):
                    raise
                _raised_on_a_path(trace, error)
            if trace.region is not trace.root:
                raise errors.TraceError(errors.raised_on_a_path(None, []))  # somebody has caught it
            value, tree = plain(settled(result))
            outside_read.append(trace.reads_outside)
            if len(wanted) > known and (trace.decisions or findings.paths):
                raise Restart()  # all paths have the same inputs, in one order
            return Path(trace, _variables(trace, value, tree), tree)

    followed: set[FunctionType] = set()
    inner: set[Captured] = set()
    wanted: list[Var] = []
    outside_read: list[bool] = []
    function.captured.check()
    path = _explored(run, _named(function, form))
    root = path.trace.root
    title = getattr(function.fn, "__name__", "function")
    with path.trace.inside(root):
        if any(outside_read):
            if (outer := path.trace.outer) is not None:  # whose program has these lines, too
                outer.followed |= followed
                outer.inner |= inner
            return _opened(path, dom, wanted, Notes(arguments=("given", "x"), title=title))
        function.captured.add(function.fn, followed, function.free, inner)
        _hold(function.captured.nbytes)
        notes = Notes(arguments=tuple([names[k] for k in where]), result_tree=path.tree, title=title, form=form)
        made: Program = root.close(path.result, list(root.inputs), dom, notes)
    return made


def _argument(trace: Trace, var: Var) -> Traced:
    """The stand-in of an array that is given: a program is of values, and counts them as arrays in C order."""
    return fresh(trace, var, in_c_order(var.space.ndim))


def _opened(path: Path, dom: Space, wanted: Sequence[Var], notes: Notes) -> Open:
    """The program of a function that reads values from outside, with these as its first factor."""
    root, n = path.trace.root, len(dom.leaves)
    whole = Product((Product(tuple([var.space for var in wanted])), dom))
    program = root.close(path.result, [*root.inputs[n:], *root.inputs[:n]], whole, notes)
    return Open(program, tuple(wanted), the_trace(), path.tree)


def _explored(run: Callable[[Findings], Path], arguments: list[tuple[str, Tree]]) -> Any:
    """All paths; an error shows the line of the user's source, and which arguments are tuples or lists of numbers."""
    try:
        return explored(run)
    except errors.CatadError as error:
        if error.excerpt is None:
            errors.show_source(error)
        raise
    except Exception as error:
        errors.show_source(error)
        errors.hint_no_source(error)
        if isinstance(error, (TypeError, AttributeError)):
            tuples = [name for name, tree in arguments if tree.kind is tuple and not tree.is_static]
            lists = [name for name, tree in arguments if tree.kind is list and tree.leaves == tree.numbers]
            if tuples or lists:
                errors.add_note(error, errors.are_containers(tuples, lists))
        raise


def _raised_on_a_path(trace: Any, error: Exception) -> None:
    """An exception on a path that data choose."""
    places = [decision.place for decision in trace.decisions] or [errors.places.innermost(error)]
    made = errors.TraceError(errors.raised_on_a_path(error, [errors.places.shown(place) for place in places]))
    raise errors.show_source(made, places[-1]) from error


def _left_early(trace: Any, error: Exception) -> None:
    """An exception in a branch that is merged, or in a loop that is rolled: start again without, so that it is raised where it
    is raised in Python. A name may be bound, or a list long enough, in each step of Python's."""
    if trace.region is trace.root or isinstance(error, errors.TraceError):
        return
    with contextlib.suppress(errors.CatadError):
        give_up_merging(trace.region)


def _variables(trace: Any, value: Any, tree: Tree) -> Any:
    """The variables of a result."""
    if tree.kind == "static":
        return ()
    if tree.kind in ("leaf", "number"):
        if not hasattr(value, "dtype") and not isinstance(value, (bool, int, float)):
            raise errors.TraceError(errors.not_a_result(value))
        try:
            return var_of(trace, value)
        except (TypeError, ValueError) as error:
            if isinstance(error, errors.CatadError):
                raise
            raise errors.TraceError(errors.not_a_result(value)) from None
    return tuple([_variables(trace, part, one) for part, one in zip(value, tree.parts, strict=True)])


def _named(function: Function, form: Form) -> list[tuple[str, Tree]]:
    """The names of the arguments, with their trees."""
    out: dict[str, Tree] = {}
    for k, tree in enumerate(form.args):
        name = own = name_of(function.signature, k)
        extra = 1
        while name in out:  # of any number of arguments
            name, extra = f"{own}_{extra}", extra + 1
        out[name] = tree
    return [*out.items(), *form.kwargs]


def _deep(tree: Tree, space: Space) -> list[Tree]:
    """A tree for each leaf of a space; a leaf of the tree may stand for a product."""
    return [tree] * len(space.leaves) if tree.kind in ("leaf", "number") else tree.leaves


def _paths(tree: Tree, space: Space) -> list[str]:
    if tree.kind in ("leaf", "number"):
        return [""] if not isinstance(space, Product) else [f"[{k}]" for k in range(len(space.leaves))]
    return tree.paths


def _run(fn: Any, driver: Driver, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Call the rewritten function."""
    if isinstance(fn, functools.partial):
        return _run(fn.func, driver, [*fn.args, *args], {**fn.keywords, **kwargs})
    if isinstance(fn, MethodType):
        return _run(fn.__func__, driver, [fn.__self__, *args], kwargs)
    if not isinstance(fn, FunctionType):
        method = getattr(type(fn), "__call__", None)  # noqa: B004
        if isinstance(method, FunctionType):
            return _run(method, driver, [fn, *args], kwargs)
        return driver.call(fn, *args, **kwargs)
    copy = rewritten(fn, driver)
    return (fn if copy is None else copy)(*args, **kwargs)


def _package(fn: Any) -> str:
    fn = getattr(fn, "func", fn)
    scope = getattr(getattr(fn, "__func__", fn), "__globals__", {})
    return str(scope.get("__name__", "")).partition(".")[0]


def function(
    fn: Any = None, *, static: str | Sequence[str] = (), free: str | Sequence[str] = (), unroll: int = UNROLL
) -> Any:
    """The morphism that a plain Python function on arrays computes; also a decorator, with or without options.

    The function is run on stand-ins for arrays, once for the shapes, dtypes and trees of its arguments, and becomes a program of
    morphisms. Arguments and results are arrays, numbers, and dicts, dataclasses, lists and tuples of them; None, texts, types
    and functions in them are static. A call binds as Python does, and gives what the function returns. As a morphism it has a
    factor for each parameter; one parameter is the whole domain. Python numbers among the arguments are float64 or int64 arrays
    of their own, and weak inside, as in NumPy.

    `static` names parameters that stay what they are, hashable Python values: another value is another program. `free` names what
    the function reads from outside and what becomes its first parameters instead: so it can be differentiated by them. Other
    arrays from outside are constants (`f.constants`). A loop of more than `unroll` trips is one loop of the program.

    Raises `ArgumentError` for what is no function, and for names that it does not have. A call raises `TraceError` where the
    function does what has no meaning for arrays that are not known yet, and where an array from outside has changed.

    >>> import catad as ct, numpy as np
    >>> @ct.function(static="power")
    ... def loss(p, x, power=2):
    ...     return np.sum((p["w"] * x - p["b"]) ** power)
    >>> p = {"w": np.array([1.0, 2.0]), "b": 1.0}
    >>> loss(p, np.array([1.0, 3.0])), loss(p, x=np.array([1.0, 3.0]), power=3)
    (np.float64(25.0), np.float64(125.0))
    >>> ct.grad(loss, argnums=0)(p, np.array([1.0, 3.0]))
    {'w': array([ 0., 30.]), 'b': np.float64(-10.0)}
    """
    if fn is None:
        return lambda fn: function(fn, static=static, free=free, unroll=unroll)
    if isinstance(fn, (D, type)) or not callable(fn):
        raise errors.ArgumentError(errors.not_a_plain_function(fn))
    inner = fn.func if isinstance(fn, functools.partial) else fn
    if any(test(inner) for test in (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)):
        raise errors.ArgumentError(errors.is_async(inner))
    names = (static,) if isinstance(static, str) else tuple(static)
    frees = (free,) if isinstance(free, str) else tuple(free)
    try:
        parameters = inspect.signature(fn).parameters
    except ValueError:
        raise errors.ArgumentError(errors.unknown_arity(fn)) from None
    unknown = [name for name in names if name not in parameters]
    if unknown:
        raise errors.ArgumentError(errors.unknown_static(unknown, fn, "static=", list(parameters)))
    unknown = [name for name in frees if not reads(fn, name)]
    if unknown:
        raise errors.ArgumentError(errors.unknown_static(unknown, fn, "free=", ()))
    made = Function(fn, names, frees, unroll)
    return _dated(made)


_dates: Recent[tuple[Key, tuple[str, ...]], Captured] = Recent(256)
_alive: WeakValueDictionary[tuple[Key, tuple[str, ...]], Captured] = WeakValueDictionary()  # those of functions that somebody has
_later = count(1)


def _remade(*parts: Any) -> Function:
    """A function from its record."""
    return _dated(Function(*parts))


def _dated(made: Function) -> Function:
    """The function, told from one made earlier of the same code where something that it reads has changed since."""
    key = (Key(made.fn), made.free)
    known = _dates.get(key) or _alive.get(key)
    if known is None or known.changed is not None:  # one that was forgotten gets a number of its own, too
        known = _alive[key] = made.captured
        known.version = next(_later)
        _hold(made.held_bytes)
    _dates[key] = made.captured = known
    return made


def function_term(fn: Any) -> D:
    """The morphism of a Python function that stands where a morphism is expected."""
    if isinstance(fn, np.ufunc):
        return ct_map(fn)
    found = _plain.get(Key(fn))
    if found is None or found.captured.changed is not None:
        found = _plain[Key(fn)] = function(fn)
        found.is_plain = True
    return found


_plain: Recent[Key, Function] = Recent(256)


def _hold(nbytes: int) -> None:
    """Note the arrays around a function, or the copies of those that it reads: functions that nobody has may not hold many."""
    _dates.hold(nbytes)
    _plain.hold(nbytes)

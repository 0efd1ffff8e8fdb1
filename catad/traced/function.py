"""`ct.function`: an ordinary Python function on arrays as a morphism.

The function is run on stand-ins, once for each space and each form of its arguments, and becomes a `Program`. Its parameters are
the factors of the domain; one parameter alone is the domain.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Hashable, Sequence
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, NamedTuple

from catad import errors
from catad.program import Notes, Program
from catad.spaces import Product, Space, rebuild
from catad.terms import D
from catad.traced.driver import Driver
from catad.traced.explore import Path, explored, join
from catad.traced.names import load
from catad.traced.naming import captured
from catad.traced.recorder import Findings, tracing
from catad.traced.rewrite import rewritten
from catad.traced.stand_in import fresh, var_of
from catad.traced.unbound import settled
from catad.trees import LEAF, Static, Tree, plain
from catad.wiring import share

if TYPE_CHECKING:
    from catad.wiring import Builder, Wires

load()


class Form(NamedTuple):
    """How a call gives the arguments: the trees of those by position, and of those by name."""

    args: tuple[Tree, ...]
    kwargs: tuple[tuple[str, Tree], ...] = ()

    @property
    def trees(self) -> tuple[Tree, ...]:
        return (*self.args, *[tree for _, tree in self.kwargs])

    @property
    def dynamic(self) -> list[int]:
        """Which arguments have arrays or numbers: they are the factors of the domain."""
        return [k for k, tree in enumerate(self.trees) if tree.is_dynamic]

    def values(self, x: Any) -> tuple[list[Any], dict[str, Any]]:
        """The arguments as the function takes them, from a value of the domain."""
        where = self.dynamic
        parts = dict(zip(where, (x,) if len(where) == 1 else x, strict=True))
        made = [tree.restore(parts.get(k, ())) for k, tree in enumerate(self.trees)]
        n = len(self.args)
        return made[:n], {name: made[n + k] for k, (name, _) in enumerate(self.kwargs)}


class Key:
    """A Python function for comparisons: the same function object with the same static values."""

    __slots__ = ("fn",)

    def __init__(self, fn: Any) -> None:
        self.fn = fn

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and (self.fn is other.fn or _same(self.fn, other.fn))

    def __hash__(self) -> int:
        return hash(getattr(self.fn, "__func__", self.fn)) if getattr(self.fn, "__hash__", None) else id(self.fn)

    def __repr__(self) -> str:
        return str(getattr(self.fn, "__qualname__", self.fn))


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, MethodType) and isinstance(b, MethodType):
        return a.__func__ is b.__func__ and a.__self__ is b.__self__
    return False


@share
class Function(D):
    """`ct.function(fn)`: see the module."""

    __slots__ = ("__dict__", "bound", "fn", "form", "free", "signature", "static", "unroll")

    def __init__(
        self,
        fn: Any,
        static: tuple[str, ...],
        free: tuple[str, ...],
        unroll: int,
        bound: tuple[tuple[str, Static], ...] = (),
        form: Form | None = None,
    ) -> None:
        self.fn, self.static, self.free, self.unroll, self.bound, self.form = fn, static, free, unroll, bound, form
        self.signature = inspect.signature(fn)
        functools.update_wrapper(self, fn, updated=())

    def data(self) -> Hashable:
        return (Key(self.fn), self.static, self.free, self.unroll, self.bound, self.form)

    # -- arguments

    def form_of(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Form, list[Any]]:
        """The form of a call, and the plain values of its dynamic arguments."""
        given = {name: value.value for name, value in self.bound}
        try:
            found = self.signature.bind(*args, **{**given, **kwargs})
        except TypeError as error:
            raise errors.ArgumentError(errors.does_not_bind(error, self.fn)) from None
        positional = [(self._name_of(k), value) for k, value in enumerate(found.args)]
        named = list(found.kwargs.items())
        trees, values = [], []
        for name, value in (*positional, *named):
            if name in self.static or name in given:
                _check_hashable(name, value)
                tree = Tree("static", Static(value))
            else:
                one, tree = plain(value)
                if tree.is_dynamic:
                    values.append(one)
            trees.append(tree)
        n = len(positional)
        return Form(tuple(trees[:n]), tuple([(name, tree) for (name, _), tree in zip(named, trees[n:], strict=True)])), values

    def _name_of(self, k: int) -> str:
        names = list(self.signature.parameters)
        return names[min(k, len(names) - 1)]

    def specialised(self, form: Form) -> Function:
        """The function for one form of its arguments."""
        return Function(self.fn, self.static, self.free, self.unroll, self.bound, form)

    def bind(self, **values: Any) -> Function:
        """The function with parameters fixed to static values."""
        unknown = [name for name in values if name not in self.signature.parameters]
        if unknown:
            raise errors.ArgumentError(errors.unknown_static(unknown, self.fn, "bind"))
        for name, value in values.items():
            _check_hashable(name, value)
        bound = {**dict(self.bound), **{name: Static(value) for name, value in values.items()}}
        return Function(self.fn, self.static, self.free, self.unroll, tuple(sorted(bound.items())), None)

    # -- programs

    def at(self, *args: Any, **kwargs: Any) -> Program:
        """The program at a space, or at the spaces of some values."""
        if len(args) == 1 and not kwargs and isinstance(args[0], Space):
            return self.program(args[0])
        form, values = self.form_of(args, kwargs)
        made = self.specialised(form)
        return made.program(_space_of_values(values))

    def program(self, dom: Space) -> Program:
        """The program at a domain; it is traced once."""
        kept: dict[Any, Program] = self.__dict__.setdefault("_programs", {})
        found = kept.get(dom)
        if found is None:
            found = kept[dom] = traced(self, dom, self.form or self._plain_form(dom))
        return found

    def _plain_form(self, dom: Space) -> Form:
        """The form of arguments that are arrays, or tuples of arrays: one parameter takes the domain as it is."""
        fixed = {name for name, _ in self.bound}
        parameters = [p for p in self.signature.parameters.values() if p.name not in fixed and p.name not in self.static]
        variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        if len(parameters) == 1 and not variadic:
            factors: tuple[Space, ...] = (dom,)
        else:
            factors = dom.factors if isinstance(dom, Product) else (dom,)
        required = [p for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        if len(factors) < len(required) or (len(factors) > len(parameters) and not variadic):
            raise errors.SpaceError(errors.wrong_factor_count(len(required), dom, self.fn))
        trees = iter([tree_of_space(factor) for factor in factors])
        args: list[Tree] = []
        kwargs = []
        bound = dict(self.bound)
        for p in self.signature.parameters.values():
            if p.name in bound:
                kwargs.append((p.name, Tree("static", bound[p.name])))
            elif p.kind is p.VAR_POSITIONAL:
                args += list(trees)
            elif (tree := next(trees, None)) is not None:
                if kwargs:
                    kwargs.append((p.name, tree))
                else:
                    args.append(tree)
        return Form(tuple(args), tuple(kwargs))

    def lay_out(self, b: Builder, x: Wires) -> Any:
        return (yield self.program(b.space(x)), x)

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        options = "".join([f", {key}={getattr(self, key)!r}" for key in ("static", "free") if getattr(self, key)])
        options += f", unroll={self.unroll}" if self.unroll != UNROLL else ""
        bound = ", ".join([f"{key}={name(value.value, key)}" for key, value in self.bound])
        wish = str(getattr(self.fn, "__name__", "fn"))
        made = f"ct.function({name(self.fn, wish)}{options})"
        return f"{made}.bind({bound})" if bound else made

    def recipe(self) -> tuple[Callable[..., D], tuple[Any, ...]]:
        fn = self.fn
        module, qualname = getattr(fn, "__module__", None), getattr(fn, "__qualname__", "")
        if module is None or "<" in qualname:
            raise errors.ArgumentError(errors.function_without_name(fn))
        return _by_reference, (module, qualname, self.static, self.free, self.unroll, self.bound, self.form)


UNROLL = 16  # trips of a loop that are taken in Python


def tree_of_space(space: Space) -> Tree:
    """The form of a value of a space: arrays in tuples."""
    if isinstance(space, Product):
        parts = tuple([tree_of_space(factor) for factor in space.factors])
        return Tree(tuple, tuple(range(len(parts))), parts)
    return LEAF


def _space_of_values(values: Sequence[Any]) -> Space:
    from catad.late import late

    return late().space_of(values[0] if len(values) == 1 else tuple(values))


def _check_hashable(name: str, value: Any) -> None:
    try:
        hash(value)
    except TypeError:
        raise errors.ArgumentError(errors.unhashable_static(name, value)) from None


def traced(function: Function, dom: Space, form: Form) -> Program:
    """Run a function on stand-ins for the arrays of its arguments, as often as its control flow needs it."""
    where = form.dynamic
    names = [name for name, _ in _named(function, form)]

    def run(findings: Findings) -> Path:
        with tracing(findings, function.unroll) as trace:
            trace.captured = captured(function.fn)
            factors = [dom] if len(where) == 1 else list(dom.factors)  # type: ignore[attr-defined]
            inputs = []
            for k, factor in zip(where, factors, strict=True):
                tree = form.trees[k]
                leaves = [
                    fresh(trace, trace.root.input(space, leaf.said if leaf.kind == "number" else None, names[k] + path))
                    for space, leaf, path in zip(factor.leaves, _deep(tree, factor), _paths(tree, factor), strict=True)
                ]
                inputs.append(rebuild(factor, leaves))
            args, kwargs = form.values(inputs[0] if len(where) == 1 else tuple(inputs))
            try:
                result = _run(function.fn, Driver(_package(function.fn)), args, kwargs)
            except Exception as error:
                if not trace.decisions or isinstance(error, errors.CatadError) or not errors.raised_by_user(error):
                    raise
                _raised_on_a_path(trace, error)
            value, tree = plain(settled(result))
            return Path(trace, _variables(trace, value, tree), tree)

    path = _explored(run)
    root = path.trace.root
    with path.trace.inside(root):
        title = getattr(function.fn, "__name__", "function")
        notes = Notes(arguments=tuple([names[k] for k in where]), result_tree=path.tree, title=title)
        made: Program = root.close(path.result, list(root.inputs), dom, notes)
    return made


def _explored(run: Callable[[Findings], Path]) -> Any:
    """All paths; an error shows the line of the user's source."""
    try:
        return join(explored(run))
    except errors.CatadError as error:
        if error.excerpt is None:
            errors.show_source(error)
        raise
    except Exception as error:
        errors.show_source(error)
        raise


def _raised_on_a_path(trace: Any, error: Exception) -> None:
    """An exception of the user on a path that data choose."""
    places = [decision.place for decision in trace.decisions]
    made = errors.TraceError(errors.raised_on_a_path(error, [errors.places.shown(place) for place in places]))
    errors.show_source(made, places[-1])
    raise made from error


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
    parameters = list(function.signature.parameters.values())
    out = []
    for k, tree in enumerate(form.args):
        p = parameters[min(k, len(parameters) - 1)]
        extra = k - len(parameters) + 1
        out.append((f"{p.name}_{extra}" if p.kind is p.VAR_POSITIONAL and extra > 0 else p.name, tree))
    return [*out, *form.kwargs]


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
        return _run(type(fn).__call__, driver, [fn, *args], kwargs)
    copy = rewritten(fn, driver)
    return (fn if copy is None else copy)(*args, **kwargs)


def _package(fn: Any) -> str:
    fn = getattr(fn, "func", fn)
    scope = getattr(getattr(fn, "__func__", fn), "__globals__", {})
    return str(scope.get("__name__", "")).partition(".")[0]


def _by_reference(module: str, qualname: str, *options: Any) -> Function:
    """The function that is found under a name, which may stand for its decorated form by now."""
    import importlib

    found: Any = importlib.import_module(module)
    for part in qualname.split("."):
        found = getattr(found, part)
    return Function(found.fn if isinstance(found, Function) else found, *options)


def function(
    fn: Any = None, *, static: str | Sequence[str] = (), free: str | Sequence[str] = (), unroll: int = UNROLL
) -> Any:
    """The morphism that a plain Python function on arrays computes; also a decorator, with or without options."""
    if fn is None:
        return lambda fn: function(fn, static=static, free=free, unroll=unroll)
    if isinstance(fn, (D, type)) or not callable(fn):
        raise errors.ArgumentError(errors.not_a_plain_function(fn))
    inner = fn.func if isinstance(fn, functools.partial) else fn
    if any(test(inner) for test in (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)):
        raise errors.ArgumentError(errors.is_async(inner))
    names = (static,) if isinstance(static, str) else tuple(static)
    frees = (free,) if isinstance(free, str) else tuple(free)
    unknown = [name for name in names if name not in inspect.signature(fn).parameters]
    if unknown:
        raise errors.ArgumentError(errors.unknown_static(unknown, fn, "static="))
    return Function(fn, names, frees, unroll)




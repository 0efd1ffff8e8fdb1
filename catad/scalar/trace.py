"""Tracing a function that has no source: it is run on stand-ins that record what is done to them.

A condition on a stand-in is decided by trying both answers: the function runs once for every path through its branches,
and the results are joined by selects. Modules and known functions that it reads from its globals or closure are
replaced, in a copy of the function, by proxies that understand stand-ins; functions that do have source are read.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Mapping
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

from .. import errors
from ..errors import NeedsTree, ScalarError, text
from .callables import handler_of, select_values
from .frames import lifted
from .ir import Function, Node
from .simplify import TRUE, apply, truth

MAX_PATHS, MAX_DECISIONS = 256, 64
"""How many paths are tried, and how many decisions one path may have, before the function is refused."""

NATIVE = frozenset(("len", "tuple", "list", "reversed", "zip", "enumerate", "any", "all"))
"""Builtins that work on stand-ins as they are."""


class Session:
    """One function being traced: the decisions of the current path."""

    def __init__(self, name: str, open_params: Iterable[Node], path: Node) -> None:
        self.name, self.open_params, self.outer_path = name, set(open_params), path
        self.paths = 0
        self.begin([])

    def begin(self, prefix: list[bool]) -> None:
        self.paths += 1
        if self.paths > MAX_PATHS:
            raise ScalarError(errors.too_many_paths(self.name, MAX_PATHS))
        self.prefix, self.taken = prefix, list[tuple[Node, bool]]()
        self.known: dict[Node, bool] = {}

    def decide(self, condition: Node) -> bool:
        """The answer to a condition on this path; a new one is first tried as true."""
        if condition.op == "const":
            return bool(condition.value)
        negated = condition.op == "not"
        if negated:
            condition = condition.args[0]
        if condition not in self.known:
            if len(self.taken) >= MAX_DECISIONS:
                raise ScalarError(errors.too_many_paths(self.name, MAX_DECISIONS))
            answer = self.prefix[len(self.taken)] if len(self.taken) < len(self.prefix) else True
            self.known[condition] = answer
            self.taken.append((condition, answer))
        return self.known[condition] != negated

    def path(self) -> Node:
        """The condition under which the current path is taken."""
        reached = self.outer_path
        for condition, answer in self.taken:
            reached = apply("and", reached, condition if answer else apply("not", condition))
        return reached


class Tracer:
    """A stand-in for a number."""

    __slots__ = ("node", "session")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, node: Node, session: Session) -> None:
        self.node, self.session = node, session

    def __bool__(self) -> bool:
        return self.session.decide(truth(self.node))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__" or kwargs:
            raise ScalarError(text(f"numpy.{ufunc.__name__} with options on a number that is being traced"))
        return call(self.session, ufunc, inputs, {})

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return call(self.session, function, args, kwargs)

    def _refused(self, what: str) -> ScalarError:
        where = f"in {self.session.name}, which has no source and is traced"
        return ScalarError(text(what, where=where, do="put the function into a file so that it can be read"))

    def __iter__(self) -> Any:
        return self[0]

    def __getitem__(self, index: object) -> Any:
        if self.node in self.session.open_params:
            raise NeedsTree(errors.needs_tree(self.session.name))
        raise self._refused("a number has no parts")

    def __float__(self) -> float:
        raise self._refused("a number that depends on the arguments cannot leave the scalar language")

    __int__ = __index__ = __complex__ = __float__

    def __floor__(self) -> Tracer:
        return self._of(apply("int", apply("floor", self.node)))

    def __ceil__(self) -> Tracer:
        return self._of(apply("int", apply("ceil", self.node)))

    def __trunc__(self) -> Tracer:
        return self._of(apply("int", apply("trunc", self.node)))

    def __round__(self, digits: int | None = None) -> Any:
        return call(self.session, round, (self,) if digits is None else (self, digits), {})

    def __divmod__(self, other: Any) -> Any:
        return call(self.session, divmod, (self, other), {})

    def __rdivmod__(self, other: Any) -> Any:
        return call(self.session, divmod, (other, self), {})

    def _of(self, node: Node) -> Tracer:
        return Tracer(node, self.session)


def _unary(op: str) -> Callable[[Tracer], Any]:
    return lambda self: wrapped(apply(op, self.node), self.session)


def _binary(op: str, swapped: bool = False) -> Callable[[Tracer, Any], Any]:
    def method(self: Tracer, other: Any) -> Any:
        one = unwrapped(other)
        if not isinstance(one, Node):
            return NotImplemented
        a, b = (one, self.node) if swapped else (self.node, one)
        return wrapped(apply(op, a, b), self.session)

    return method


def _add_operators() -> None:
    names = {"and": "bitand", "or": "bitor", "xor": "bitxor", "truediv": "div"}
    for name in ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift"]:
        op = names.get(name, name)
        setattr(Tracer, f"__{name}__", _binary(op))
        setattr(Tracer, f"__r{name}__", _binary(op, swapped=True))
    for name in ["lt", "le", "gt", "ge", "eq", "ne"]:
        setattr(Tracer, f"__{name}__", _binary(name))
    for name in ["neg", "pos", "abs", "invert"]:
        setattr(Tracer, f"__{name}__", _unary(name))


_add_operators()


# -- between values and stand-ins


def wrapped(value: Any, session: Session) -> Any:
    """A value as the traced function sees it: constants are Python numbers."""
    if isinstance(value, Node):
        return value.value if value.op == "const" else Tracer(value, session)
    if isinstance(value, tuple):
        return tuple([wrapped(part, session) for part in value])
    return value


def unwrapped(thing: Any) -> Any:
    """What the traced function computed, as a value."""
    if isinstance(thing, Tracer):
        return thing.node
    if isinstance(thing, CallProxy):
        return thing.thing
    if isinstance(thing, tuple | list):
        return tuple([unwrapped(part) for part in thing])
    return lifted(thing)


def _traced(thing: Any) -> bool:
    return isinstance(thing, Tracer) or (isinstance(thing, tuple | list) and any(map(_traced, thing)))


def call(session: Session, thing: Any, args: Iterable[Any], kwargs: Mapping[str, Any]) -> Any:
    """Call something known, or something with source, on stand-ins."""
    from .read import Reader

    reader = Reader(session.open_params)
    reader.path = session.path()
    given = {name: unwrapped(arg) for name, arg in kwargs.items()}
    return wrapped(reader.call_value(thing, [unwrapped(arg) for arg in args], given), session)


class CallProxy:
    """Stands for a known callable inside a traced function."""

    def __init__(self, thing: Any, session: Session) -> None:
        self.thing, self.session = thing, session

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not _traced(args) and not any(map(_traced, kwargs.values())):
            return self.thing(*args, **kwargs)
        return call(self.session, self.thing, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        return proxied(getattr(self.thing, name), self.session)


class ModuleProxy:
    """Stands for a module inside a traced function."""

    def __init__(self, module: ModuleType, session: Session) -> None:
        self._module, self._session = module, session

    def __getattr__(self, name: str) -> Any:
        return proxied(getattr(self._module, name), self._session)


def proxied(thing: Any, session: Session) -> Any:
    """The object, or what stands for it inside a traced function."""
    if isinstance(thing, ModuleType):
        return ModuleProxy(thing, session)
    known = isinstance(thing, Function | FunctionType) or isinstance(getattr(thing, "__scalar_function__", None), Function)
    return CallProxy(thing, session) if known or handler_of(thing) is not None else thing


def _names(code: CodeType) -> set[str]:
    inner = [part for part in code.co_consts if isinstance(part, CodeType)]
    return set(code.co_names).union(*[_names(part) for part in inner])


def _copy(function: FunctionType, session: Session) -> FunctionType:
    """The function with proxies in its globals, builtins and closure."""
    scope = dict(function.__globals__)
    builtin = vars(builtins) | getattr(function, "__builtins__", {})
    for name in _names(function.__code__):
        if name in scope:
            scope[name] = proxied(scope[name], session)
        elif name in builtin and name not in NATIVE:
            scope[name] = proxied(builtin[name], session)
    cells = tuple([_cell(cell, session) for cell in function.__closure__ or ()])
    made = FunctionType(function.__code__, scope, function.__name__, function.__defaults__, cells)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _cell(cell: CellType, session: Session) -> CellType:
    try:
        return CellType(proxied(cell.cell_contents, session))
    except ValueError:
        return cell


# -- the paths


def trace_values(
    function: FunctionType,
    args: Iterable[Any],
    kwargs: Mapping[str, Any],
    open_params: Iterable[Node] = (),
    path: Node = TRUE,
) -> Any:
    """The value of a function on values, from running it on stand-ins along every path.

    Raises ScalarError where there are too many paths: a loop whose end depends on the arguments needs source.
    """
    session = Session(function.__name__, open_params, path)
    copy = _copy(function, session)
    given = [wrapped(arg, session) for arg in args]
    named = {name: wrapped(arg, session) for name, arg in kwargs.items()}

    def explore(prefix: list[bool]) -> Any:
        session.begin(prefix)
        value = _run(copy, given, named)
        taken = list(session.taken)
        answers = [answer for _, answer in taken]
        for k in range(len(taken) - 1, len(prefix) - 1, -1):
            value = select_values(taken[k][0], value, explore([*answers[:k], False]))
        return value

    return explore([])


def _run(function: FunctionType, args: list[Any], kwargs: dict[str, Any]) -> Any:
    try:
        return unwrapped(function(*args, **kwargs))
    except ScalarError:
        raise
    except Exception as error:
        what = f"{function.__name__} has no source, and running it on stand-ins failed"
        given = f"{type(error).__name__}: {error}"
        raise ScalarError(text(what, given=given, do="put the function into a file so that it can be read")) from error

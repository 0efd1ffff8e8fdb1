"""A Python function with all that it reads, as it was when a morphism was made of it.

A morphism may read or run its function later, and more than once: for another nesting, for the value, for the derivative.
All of them have to see the same numbers. So the function is copied together with the variables around it, the globals that
it names, and what these hold: numbers, arrays, containers, the user's own functions, modules and objects. Objects of Python
or of an installed library are not copied, and neither are names that the function itself assigns or stores into.
"""

from __future__ import annotations

import builtins
import dis
import functools
import hashlib
import os
import sys
import sysconfig
from collections.abc import Hashable, Iterator, Mapping
from contextvars import ContextVar
from functools import lru_cache
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from catad import version
from catad.support.lru import remembered
from catad.values.arrays import array_module, refuse_blocks

_INSTALLED = tuple(
    {os.path.join(sysconfig.get_paths()[kind], "") for kind in ("stdlib", "platstdlib", "purelib", "platlib")}
    | {os.path.join(os.path.dirname(os.path.abspath(version.__file__)), "")}
)


@lru_cache(4096)
def _installed(name: str, file: str | None) -> bool:
    """True where a module belongs to Python or to an installed library."""
    if file is None:
        return name.partition(".")[0] in sys.stdlib_module_names and name != "__main__"
    return file.startswith(_INSTALLED) or "site-packages" in file


def written_by_user(scope: Mapping[str, Any]) -> bool:
    """True where the user wrote the module with these globals."""
    name, file = scope.get("__name__"), scope.get("__file__")
    return not _installed(name if isinstance(name, str) else "", file if isinstance(file, str) else None)


def users_class(kind: type) -> bool:
    """True where a class is the user's own, down to `object`, and keeps its attributes in a dictionary."""
    return all(
        one is object or (one.__flags__ & 1 << 9 and written_by_user(vars(sys.modules.get(one.__module__, builtins))))
        for one in kind.__mro__
    )


NOTHING = object()
"""What an empty cell holds."""


def content_of(cell: CellType) -> Any:
    """What a cell holds; `NOTHING` where the function around has not assigned the variable yet."""
    try:
        return cell.cell_contents
    except ValueError:
        return NOTHING


def codes_of(code: CodeType) -> Iterator[CodeType]:
    """A code object and those inside it."""
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from codes_of(part)


_MODULE = ("__name__", "__file__", "__builtins__", "__loader__", "__spec__", "__package__")
_STORES = ("STORE_SUBSCR", "STORE_SLICE", "STORE_ATTR", "DELETE_SUBSCR", "DELETE_ATTR")
_CHANGES = frozenset(
    ("append", "extend", "insert", "add", "update", "setdefault", "pop", "popitem", "remove", "discard", "clear", "sort")
)


_GLOBALS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS", "STORE_GLOBAL", "DELETE_GLOBAL")


class Names(NamedTuple):
    """The names in a piece of code: `log` of np.log is no global, whatever the module calls so."""

    outer: frozenset[str]  # globals
    asked: frozenset[str]  # globals and attributes
    written: frozenset[str]  # variables that it assigns or stores into
    bare: frozenset[str]  # variables and attributes that it does not only ask for attributes


@remembered
def names_of(code: CodeType) -> Names:
    """The names in a piece of code and in those inside it."""
    outer: set[str] = set()
    asked: set[str] = set()
    written: set[str] = set()
    bare: set[str] = set()
    for one in codes_of(code):
        asked.update(one.co_names)
        loads: list[tuple[str, Any]] = []
        places = set()  # where expressions begin that are stored into
        steps = list(dis.get_instructions(one))
        for step, after in zip(steps, [*steps[1:], None], strict=True):
            if step.opname.startswith("LOAD_") and step.arg is not None:
                named = step.argval if isinstance(step.argval, tuple) else (step.argval,)
                is_asked = after is not None and after.opname.endswith(("_ATTR", "LOAD_METHOD"))
                bare.update([name for name in (named[:-1] if is_asked else named) if isinstance(name, str)])
            at = step.positions and (step.positions.lineno, step.positions.col_offset)
            if step.opname in _GLOBALS:
                outer.add(step.argval)
            if step.opname == "STORE_GLOBAL" or (step.opname == "STORE_DEREF" and step.argval in one.co_freevars):
                written.add(step.argval)
            elif step.opname in _STORES or (step.opname in ("LOAD_METHOD", "LOAD_ATTR") and step.argval in _CHANGES):
                places.add(at)
            elif step.opname.startswith(("LOAD_GLOBAL", "LOAD_DEREF", "LOAD_FAST")):
                loads += [(name, at) for name in (step.argval if isinstance(step.argval, tuple) else (step.argval,))]
        written.update(name for name, at in loads if at in places - {None})
    return Names(frozenset(outer), frozenset(asked), frozenset(written), frozenset(bare))


@remembered
def _assigns_globals(code: CodeType) -> bool:
    """True where a function has `global`; then it works on the globals themselves."""
    return any(step.opname == "STORE_GLOBAL" for one in codes_of(code) for step in dis.get_instructions(one))


def changes_itself(function: Any) -> bool:
    """True where a method stores into its object."""
    code = getattr(function, "__code__", None)
    return code is not None and code.co_varnames[:1] != () and code.co_varnames[0] in names_of(code).written


sending: ContextVar[bool] = ContextVar("sending", default=False)
"""Whether a program is pickled for other processes, which are sent functions with what they read."""


class Frozen:
    """`fn` is the copy of a function `given`; `key` is equal for copies that read equal values.

    Globals of the type `late` are looked up at the first use instead: so a rule may name the morphism that it belongs to.
    """

    __slots__ = ("_late", "_walk", "fn", "given", "key")

    def __init__(self, given: Any, late: type | tuple[()] = ()) -> None:
        self._walk = _Walk(late)
        self.given, self.fn = given, self._walk.value(given)
        self.key: Hashable = tuple(self._walk.key)

    def ready(self) -> Any:
        """The copy, after names that had no value when it was made have been looked up again."""
        for scope, name, source in list(self._walk.missing):
            if name in source:
                self._walk.missing.remove((scope, name, source))
                scope[name] = self._walk.value(source[name])
        return self.fn

    @property
    def pickled(self) -> Any:
        """What stands for it in a pickle: what was given, which Python finds by name, or for another process the copy."""
        return self.ready() if sending.get() else self.given


class _Walk:
    """Copies things; each once, so that what is shared stays shared."""

    def __init__(self, late: type | tuple[()] = ()) -> None:
        self.late = late
        self.made: dict[int, Any] = {}
        self.number: dict[int, int] = {}
        self.kept: list[Any] = []  # what was copied, so that its identity is not taken by another thing
        self.key: list[Hashable] = []
        self.missing: list[tuple[dict[str, Any], str, Mapping[str, Any]]] = []
        self.names: frozenset[str] = frozenset()

    def value(self, thing: Any) -> Any:
        """The copy of a thing, or the thing itself where it cannot change or is not the user's."""
        if thing is None or isinstance(thing, (bool, int, float, complex, str, bytes)):
            self.key.append((type(thing), repr(thing)))
            return thing
        if id(thing) in self.made:
            self.key.append(("again", self.number[id(thing)]))
            return self.made[id(thing)]
        copy = self._maker(thing)
        if copy is None:
            self.key.append(("as it is", id(thing)))
            self.kept.append(thing)
            return thing
        return copy(thing)

    def _maker(self, thing: Any) -> Any:
        """The function that copies a thing; None for what stays as it is."""
        kind = type(thing)
        if isinstance(thing, np.generic) or array_module(thing) is not None:
            return self._array
        if kind in (list, dict, set):
            return getattr(self, f"_{kind.__name__}")
        if isinstance(thing, tuple) and (kind is tuple or hasattr(kind, "_make")):
            return self._tuple
        if kind is FunctionType:
            return self._function if written_by_user(thing.__globals__) else None
        if kind is MethodType:
            return self._method
        if kind is functools.partial:
            return self._partial
        if kind is ModuleType:
            return self._module if written_by_user(vars(thing)) else None
        plain = hasattr(thing, "__dict__") and not isinstance(thing, type)
        return self._object if plain and users_class(kind) and not self._counts(thing) else None

    @staticmethod
    def _counts(thing: Any) -> bool:
        """True where calling an object changes it."""
        return callable(thing) and changes_itself(type(thing).__call__)

    def keep(self, thing: Any, copy: Any, *key: Hashable) -> Any:
        """Remember a copy, before what is in it is copied."""
        self.made[id(thing)] = copy
        self.number[id(thing)] = len(self.number)
        self.kept.append(thing)
        self.key.append((type(thing), *key))
        return copy

    def _array(self, thing: Any) -> Any:
        copy = refuse_blocks(thing).copy()
        if not isinstance(thing, (np.ndarray, np.generic)) or copy.dtype.hasobject:
            return self.keep(thing, copy, id(copy))
        return self.keep(thing, copy, copy.shape, copy.dtype.str, hashlib.blake2b(copy.tobytes()).digest())

    def _list(self, thing: list[Any]) -> Any:
        copy: list[Any] = self.keep(thing, [], len(thing))
        copy.extend([self.value(part) for part in thing])
        return copy

    def _dict(self, thing: dict[Any, Any]) -> Any:
        copy: dict[Any, Any] = self.keep(thing, {}, *[(type(name), repr(name)) for name in thing])
        copy.update({name: self.value(part) for name, part in thing.items()})
        return copy

    def _set(self, thing: set[Any]) -> Any:
        return self.keep(thing, set(thing), frozenset(thing))

    def _tuple(self, thing: tuple[Any, ...]) -> Any:
        place = len(self.key)
        self.key.append(type(thing))
        parts = [self.value(part) for part in thing]
        self.key[place] = (type(thing), len(parts))
        return tuple(parts) if type(thing) is tuple else type(thing)._make(parts)  # type: ignore[attr-defined]

    def _function(self, thing: FunctionType) -> Any:
        read, asked, written, _ = names_of(thing.__code__)
        source = thing.__globals__
        if not (read or thing.__closure__ or thing.__defaults__ or thing.__kwdefaults__):  # it reads nothing
            return self.keep(thing, thing, thing.__code__)
        assigns = bool(written & read & source.keys()) and _assigns_globals(thing.__code__)
        scope = source if assigns else {name: source[name] for name in _MODULE if name in source}
        free, around = thing.__code__.co_freevars, thing.__closure__ or ()
        cells = tuple([cell if name in written else CellType() for name, cell in zip(free, around, strict=True)])
        copy = FunctionType(thing.__code__, scope, thing.__name__, None, cells)
        self.keep(thing, copy, thing.__code__)
        copy.__qualname__, copy.__module__, copy.__doc__ = thing.__qualname__, thing.__module__, thing.__doc__
        vars(copy).update(vars(thing))
        outer, self.names = self.names, asked
        copy.__defaults__, copy.__kwdefaults__ = self.value(thing.__defaults__), self.value(thing.__kwdefaults__)
        for name, old, new in zip(free, around, cells, strict=True):
            if old is not new:
                cell_ = _Cell(old)
                if name in cell_ and not isinstance(old.cell_contents, self.late):
                    new.cell_contents = self.value(old.cell_contents)
                else:  # the function around has not assigned it yet, or it is one that is looked up late
                    self._later(_Cell(new), name, cell_, old)
        for name in () if assigns else sorted(read):
            if name in source and not isinstance(source[name], self.late):
                scope[name] = source[name] if name in written else self.value(source[name])
            elif name in source or name not in vars(builtins):
                self._later(scope, name, source, source)
        self.names = outer
        return copy

    def _later(self, scope: dict[str, Any], name: str, source: Mapping[str, Any], owner: object) -> None:
        """Look a name up at the first use."""
        self.missing.append((scope, name, source))
        if self.late:
            self.kept.append(owner)
            self.key.append(("looked up", name, id(owner)))

    def _method(self, thing: MethodType) -> Any:
        self.key.append(MethodType)
        code = getattr(thing.__func__, "__code__", None)
        outer, self.names = self.names, self.names | (names_of(code).asked if code is not None else frozenset())
        owner = thing.__self__ if changes_itself(thing.__func__) else self.value(thing.__self__)
        made = MethodType(self.value(thing.__func__), owner)
        self.names = outer
        return made

    def _partial(self, thing: Any) -> Any:
        self.key.append((functools.partial, len(thing.args), tuple(thing.keywords)))
        args = [self.value(part) for part in thing.args]
        keywords = {name: self.value(part) for name, part in thing.keywords.items()}
        return functools.partial(self.value(thing.func), *args, **keywords)

    def _module(self, thing: ModuleType) -> Any:
        """A module of the user, with those of its attributes copied that the code around may ask for."""
        copy = self.keep(thing, ModuleType(thing.__name__, thing.__doc__), thing.__name__)
        vars(copy).update(vars(thing))
        for name in sorted(self.names & vars(thing).keys()):
            setattr(copy, name, self.value(vars(thing)[name]))
        return copy

    def _object(self, thing: Any) -> Any:
        """An object of the user, with those of its attributes copied that the code around or its methods may ask for."""
        kind = type(thing)
        copy = self.keep(thing, object.__new__(kind))
        vars(copy).update(vars(thing))
        functions = [f for one in kind.__mro__ for f in vars(one).values() if isinstance(f, FunctionType)]
        outer, self.names = self.names, self.names.union(*[names_of(f.__code__).asked for f in functions])
        for name in sorted(self.names & vars(thing).keys()):
            vars(copy)[name] = self.value(vars(thing)[name])
        self.names = outer
        return copy


class _Cell(dict[str, Any]):
    """A cell as a scope of one name."""

    def __init__(self, cell: CellType) -> None:
        self.cell = cell

    def __contains__(self, name: object) -> bool:
        return content_of(self.cell) is not NOTHING

    def __getitem__(self, name: str) -> Any:
        return self.cell.cell_contents

    def __setitem__(self, name: str, value: Any) -> None:
        self.cell.cell_contents = value

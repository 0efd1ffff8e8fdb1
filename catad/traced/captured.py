"""What a traced function reads from outside: globals, closures, and the attributes of objects in them.

The values are constants of its programs. So they are kept, and compared when the function is traced again: another array under a
name would make two programs of one function disagree.
"""

from __future__ import annotations

import builtins
import inspect
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import CellType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from catad import errors
from catad.category.terms import D
from catad.traced.mutation_checks import Watch, is_closed
from catad.traced.rewriting.rewrite import has_source
from catad.traced.rewriting.unbound_locals import Undecided
from catad.values.arrays import array_module, is_stand_in
from catad.values.buffers import same_bits
from catad.values.frozen_functions import NOTHING, changes_itself, content_of, names_of, written_by_user
from catad.values.trees import entries_of

_FEW = 1 << 16  # bytes of an array that are compared as one text
_WATCHES = 4  # times that a quick look at one value is prepared
_DEEPEST = 6  # containers and objects within each other that are looked into


class Entry:
    """One value: where it is looked up, under which name, and what it was."""

    __slots__ = ("bits", "content", "frozen", "key", "name", "owner", "value", "watch", "watches")

    def __init__(self, owner: Any, key: str, name: str, value: Any) -> None:
        self.owner, self.key, self.name, self.value = owner, key, name, value
        self.content, self.frozen = content(value), is_closed(value)
        self.bits = value.tobytes() if type(value) is np.ndarray and value.nbytes <= _FEW else None
        self.watch: Watch | None = None
        self.watches = 0

    @property
    def now(self) -> Any:
        """The value that stands there now."""
        return _found(self.owner, self.key)

    @property
    def is_same(self) -> bool:
        """True where the same object stands there and holds what it held: a quick look, at each call."""
        now = self.value
        if self.now is not now:
            return False
        if self.watch is not None and self.watch.same(now):
            return True
        if self.bits is not None:
            return bool(now.tobytes() == self.bits and now.shape == self.content.shape and now.dtype == self.content.dtype)
        if self.frozen and is_closed(now):
            return True
        same = same_content(self.content, now)
        if same and self.watches < _WATCHES:
            self.watches, self.watch = self.watches + 1, _watch(self.content, now)
        return same

    @property
    def has_changed(self) -> bool:
        """True where another value stands there; an equal one is noted."""
        now = self.now
        if now is self.value and (_is_immutable(now) or now is NOTHING):
            return False
        if now is NOTHING or not same_content(self.content, now):
            return True
        if now is not self.value:
            self.value, self.frozen = now, is_closed(now)
            self.bits = now.tobytes() if type(now) is np.ndarray and now.nbytes <= _FEW else None
        return False


class _Quick(NamedTuple):
    """Values that nobody can change, by where they are looked up, and the entries of all others."""

    names: list[tuple[Mapping[str, Any], str, Any]]
    cells: list[tuple[CellType, Any]]
    codes: list[tuple[FunctionType, Any]]
    others: list[Entry]
    time: int  # of the last change of what is compared


def _quick(entries: Sequence[Entry]) -> _Quick:
    found = _Quick([], [], [], [], _time)
    for entry in entries:
        if not (_is_immutable(entry.value) or entry.content is entry.value):
            found.others.append(entry)
        elif isinstance(entry.owner, CellType):
            found.cells.append((entry.owner, entry.value))
        elif isinstance(entry.owner, (dict, type)):
            found.names.append((entry.owner if isinstance(entry.owner, dict) else vars(entry.owner), entry.key, entry.value))
        elif entry.key == "__code__" and isinstance(entry.owner, FunctionType):
            found.codes.append((entry.owner, entry.value))
        else:
            found.others.append(entry)
    return found


_time = 0  # counts what is noted, of all functions


class Captured:
    """The values that functions read from outside."""

    def __init__(self) -> None:
        self.version = 0  # tells functions of the same code apart between which something that they read has changed
        self.entries: list[Entry] = []
        self.seen: set[tuple[int, str]] = set()
        self.kept: list[Any] = []
        self.bare: frozenset[str] = frozenset()  # names of what is not only asked for attributes
        self.inner: set[Captured] = set()  # those of functions that are differentiated, or called as morphisms, inside
        self.held: dict[str, Any] = {}  # what the callable holds, if it is no plain function
        self._quick: _Quick | None = None

    def add(
        self, fn: Any, functions: Iterable[FunctionType], parameters: Sequence[str] = (), inner: Iterable[Captured] = ()
    ) -> None:
        """Note what a callable holds, and what the functions read that it runs; the names of parameters are left out."""
        global _time
        _time += 1
        self.inner.update(inner)
        functions = _with_helpers(functions)
        found = [names_of(function.__code__) for function in functions]
        asked = frozenset().union(*[names.asked for names in found])
        self.bare = self.bare.union(*[names.bare for names in found], _bare_owner(fn))
        if not isinstance(fn, FunctionType) and not any(changes_itself(function) for function in functions):
            held = {"args": getattr(fn, "args", ()), "keywords": getattr(fn, "keywords", {}), "self": getattr(fn, "__self__", fn)}
            self.held = self.held or held
            for name, value in self.held.items():
                self._note(self.held, name, name, value, asked)
        for function, (own, _, written, _) in zip(functions, found, strict=True):
            scope, read = function.__globals__, asked
            self._note(function, "__code__", function.__qualname__, function.__code__, read)
            written = written.union(parameters)
            for name in sorted((own & scope.keys()) - written):
                self._note(scope, name, name, scope[name], read)
            for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
                value = _content_of(cell)
                if name not in written and value is not NOTHING:
                    self._note(cell, name, name, value, read)
            if written.isdisjoint(function.__code__.co_varnames[: function.__code__.co_argcount]):
                self._note(function, "__defaults__", f"{function.__name__}.__defaults__", function.__defaults__, read)
            for name, value in (function.__kwdefaults__ or {}).items():
                if name not in written:
                    self._note(function.__kwdefaults__, name, name, value, read)

    def _note(self, owner: Any, key: str, name: str, value: Any, read: frozenset[str], depth: int = 0) -> None:
        if (id(owner), key) in self.seen or depth > _DEEPEST or is_stand_in(value):
            return
        self.seen.add((id(owner), key))
        self.kept.append(owner)  # so that no other object takes its identity
        self.entries.append(Entry(owner, key, name, value))
        self._note_inside(value, key, name, read, depth)

    def _note_inside(self, value: Any, key: str, name: str, read: frozenset[str], depth: int) -> None:
        """Note the attributes of an object, and of the objects in a container, for which the code may ask."""
        if isinstance(value, (FunctionType, D)) or _is_immutable(value) or value is NOTHING or array_module(value) is not None:
            return
        parts = _parts(value) if _is_data(value) and depth <= _DEEPEST else None
        for at, part in () if parts is None else zip(parts[0], parts[1], strict=False):
            if not _is_immutable(part):
                self._note_inside(part, key, f"{name}[{at!r}]", read, depth + 1)
        if isinstance(value, MethodType):
            value = value.__self__
        if parts is not None or (isinstance(value, ModuleType) and not written_by_user(vars(value))):
            return
        kinds = [kind for kind in (value if isinstance(value, type) else type(value)).__mro__ if _is_of_user(kind)]
        read = _with_implicit(read, kinds, key in self.bare)
        for owner, part in _attributes(value, kinds, read):
            self._note(owner, part, f"{name}.{part}", _found(owner, part), read, depth + 1)

    @property
    def changed(self) -> str | None:
        """The name of a value that has become another one; None where all are what they were."""
        self._quick = None
        return next((entry.name for one in self._all() for entry in one.entries if entry.has_changed), None)

    def _all(self) -> list[Captured]:
        """This one and those of the functions inside, each once."""
        if not self.inner:
            return [self]
        found = {self: None}
        waiting = [self]
        while waiting:
            more = [one for one in waiting.pop().inner if one not in found]
            found.update(dict.fromkeys(more))
            waiting += more
        return list(found)

    def check(self) -> None:
        """Raise `TraceError` where a value has become another one."""
        name = self.changed
        if name is not None:
            raise errors.TraceError(errors.captured_changed(name))

    @property
    def is_same(self) -> bool:
        """True where every name still has the same object, and that holds what it held: a quick look, at each call."""
        quick = self._quick
        if quick is None or quick.time != _time:
            quick = self._quick = _quick([entry for one in self._all() for entry in one.entries])
        for owner, key, value in quick.names:
            if owner.get(key, NOTHING) is not value:
                return False
        try:
            for cell, value in quick.cells:
                if cell.cell_contents is not value:
                    return False
        except ValueError:  # it is empty now
            return False
        for function, code in quick.codes:
            if function.__code__ is not code:
                return False
        for entry in quick.others:  # noqa: SIM110 (`all` takes longer)
            if not entry.is_same:
                return False
        return True

    @property
    def nbytes(self) -> int:
        """The bytes of the copies of arrays."""
        return sum([array.nbytes for array in self.arrays.values()])

    @property
    def arrays(self) -> dict[str, Any]:
        """The arrays, by the names under which the functions find them."""
        return {name: array for entry in self.entries for name, array in _arrays(entry.name, entry.content)}


def _found(owner: Any, key: str) -> Any:
    """What stands in a scope, a cell, a class or an object under a name; `NOTHING` where there is none."""
    if isinstance(owner, CellType):
        return _content_of(owner)
    scope = vars(owner) if isinstance(owner, type) else owner
    return scope.get(key, NOTHING) if isinstance(scope, Mapping) else getattr(owner, key, NOTHING)


def _is_of_user(kind: type) -> bool:
    return written_by_user(vars(sys.modules.get(kind.__module__, builtins)))


def _attributes(value: Any, kinds: Sequence[type], read: frozenset[str]) -> Iterator[tuple[Any, str]]:
    """Where the attributes of a module, a class or an object stand for which code may ask: in its own names, its slots, its
    classes. An object may later get a name of its own that its class has now."""
    own = {} if isinstance(value, type) else getattr(value, "__dict__", {})
    of_classes = frozenset().union(*[vars(kind).keys() for kind in kinds])
    if isinstance(own, dict):
        instance = not isinstance(value, (type, ModuleType)) and hasattr(value, "__dict__")
        yield from ((own, part) for part in sorted(read & (own.keys() | of_classes if instance else own.keys())))
    for kind in kinds:
        for part in sorted(read & vars(kind).keys()):
            is_slot = isinstance(vars(kind)[part], MemberDescriptorType)
            if not is_slot or not isinstance(value, type):
                yield (value if is_slot else kind), part


_EXPLICIT = frozenset(
    f"__{word}__" for word in ("init", "new", "repr", "str", "del", "call", "setattr", "delattr", "setitem", "enter", "exit")
)


def _bare_owner(fn: Any) -> frozenset[str]:
    """The word for the object of a method, where the method does not only ask it for attributes."""
    plain = plain_function(fn)
    first = set() if plain is None else {*plain.__code__.co_varnames[:1]}
    return frozenset({"self"} if plain is not None and first & names_of(plain.__code__).bare else ())


def _with_implicit(read: frozenset[str], kinds: Sequence[type], operators: bool) -> frozenset[str]:
    """The names for which code may ask, with those in the properties among them, and in the operators of classes if asked."""
    before: frozenset[str] | None = None
    while before != read:
        before = read
        for kind in kinds:
            for name, part in vars(kind).items():
                function = getattr(part, "fget", None) or getattr(part, "func", None) or part
                implicit = operators and name.startswith("__") and name.endswith("__") and name not in _EXPLICIT
                asked = implicit if function is part else name in read
                if asked and isinstance(function, FunctionType) and not changes_itself(function):
                    read |= names_of(function.__code__).asked
    return read


def _with_helpers(functions: Iterable[FunctionType]) -> list[FunctionType]:
    """Functions, and of those without source, which run as they are, the helpers that they name."""
    found = dict.fromkeys(functions)
    stack = list(found)
    while stack:
        function = stack.pop()
        if has_source(function):
            continue
        for name in names_of(function.__code__).outer & function.__globals__.keys():
            helper = function.__globals__[name]
            if isinstance(helper, FunctionType) and helper not in found and written_by_user(helper.__globals__):
                found[helper] = None
                stack.append(helper)
    return list(found)


def _content_of(cell: CellType) -> Any:
    """What a cell holds; nothing where a trace has left open what that is, and looking at it would end the trace."""
    found = content_of(cell)
    return NOTHING if isinstance(found, Undecided) else found


def _is_immutable(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, complex, str, bytes, FunctionType, D, np.generic))


def _is_data(value: Any) -> bool:
    """True for what a program depends on: numbers, texts, arrays, containers of them, functions of the user."""
    if isinstance(value, FunctionType):
        return written_by_user(value.__globals__)
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes, D)) or array_module(value) is not None:
        return True
    if isinstance(value, (list, tuple, dict, set, frozenset, deque)):
        return True
    kind = type(value)
    return hasattr(kind, "__dataclass_fields__") or (isinstance(value, Mapping) and not _is_of_user(kind))


def content(value: Any, depth: int = 0) -> Any:
    """What a value holds, with copies of its arrays."""
    if array_module(value) is not None:
        copy = value.copy()
        if isinstance(copy, np.ndarray):
            copy.flags.writeable = False
        return copy
    parts = _parts(value) if depth < _DEEPEST else None
    if parts is None:
        return value
    frozen = [part if is_closed(part) else NOTHING for part in parts[1]]
    return _Parts(type(value), parts[0], frozen, [content(part, depth + 1) for part in parts[1]])


class _Parts:
    """The content of a container, and those of its arrays to which nobody could write."""

    __slots__ = ("frozen", "keys", "kind", "parts")

    def __init__(self, kind: type, keys: Any, frozen: list[Any], parts: list[Any]) -> None:
        self.kind, self.keys, self.frozen, self.parts = kind, keys, frozen, parts


def _parts(value: Any) -> tuple[Any, list[Any]] | None:
    if isinstance(value, dict):
        return tuple(value), list(value.values())
    if isinstance(value, (set, frozenset)):
        return frozenset(value), []
    if isinstance(value, deque):
        return tuple(range(len(value))), list(value)
    try:
        return entries_of(value)
    except errors.CatadError:
        return None


def _parts_as(known: _Parts, now: Any) -> Any:
    """The parts of a container that has the keys of a known one; None where it has others."""
    if isinstance(now, dict):
        return now.values() if tuple(now) == known.keys else None
    if type(now) is list or type(now) is tuple:
        return now if len(now) == len(known.parts) else None
    parts = _parts(now)
    return None if parts is None or parts[0] != known.keys else parts[1]


def same_content(known: Any, now: Any) -> bool:
    """Whether a value holds now what it held."""
    if known is now:  # no array and no container: of these the content is a copy
        return True
    if isinstance(known, _Parts):
        found = None if type(now) is not known.kind else _parts_as(known, now)
        return found is not None and all(map(_same_part, known.parts, known.frozen, found))
    if type(known) is np.ndarray or array_module(known) is not None:
        same_kind = type(known) is type(now) and known.shape == now.shape and known.dtype == now.dtype
        return bool(same_kind and _same_numbers(known, now))
    if isinstance(known, FunctionType):  # defined again with the same text
        return isinstance(now, FunctionType) and now.__code__ == known.__code__ and not (now.__closure__ or known.__closure__)
    if isinstance(known, (float, complex)) and type(known) is type(now):
        return repr(known) == repr(now)  # which tells zeros apart by their signs
    if _is_of_user(type(known)) and not _is_data(known):
        return False
    try:
        return type(known) is type(now) and bool(known == now)
    except (TypeError, ValueError):
        return False


def _watch(known: Any, now: Any) -> Watch | None:
    """A quick look at a value that has a known content; None for one with parts at which none can be taken."""
    containers: list[tuple[Any, tuple[Any, ...]]] = []
    arrays: list[tuple[Any, Any]] = []
    closed: list[Any] = []
    stack = [(known, NOTHING, now)]
    while stack:
        was, frozen, part = stack.pop()
        if isinstance(was, _Parts) and type(part) in (list, tuple, dict):
            views: list[Any] = [part.keys(), part.values()] if type(part) is dict else [part]
            containers += [(view, tuple(view)) for view in views if type(part) is not tuple]  # whose parts nobody can replace
            stack += zip(was.parts, was.frozen, tuple(views[-1]), strict=True)
        elif part is frozen and is_closed(part):
            closed.append(part)
        elif type(part) is np.ndarray and part.flags.c_contiguous and part.dtype.kind in "fiub":
            arrays.append((part, was))
        elif not _is_immutable(part):
            return None
    return Watch(now, containers, arrays, closed)


def _same_part(known: Any, frozen: Any, now: Any) -> bool:
    """Whether a part of a container holds now what it held; an array to which nobody could write, nor can, does."""
    return (now is frozen and is_closed(now)) or same_content(known, now)


def _same_numbers(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) and a.flags.c_contiguous and b.flags.c_contiguous and a.dtype.kind in "fiub":
        return same_bits(a, b)
    return bool(((a == b) | ((a != a) & (b != b))).all())


def _arrays(name: str, known: Any) -> Iterator[tuple[str, Any]]:
    if array_module(known) is not None:
        yield name, known
    elif isinstance(known, _Parts):
        for key, part in zip(known.keys, known.parts, strict=False):  # a set has keys alone
            yield from _arrays(f"{name}[{key!r}]" if known.kind in (dict, list, tuple, deque) else f"{name}.{key}", part)


# -- names that are parameters


def plain_function(fn: Any) -> FunctionType | None:
    """The function in Python's own code that a callable runs."""
    while not isinstance(fn, FunctionType):
        inner = getattr(fn, "func", None) or getattr(fn, "__func__", None) or getattr(fn, "__wrapped__", None)
        if inner is None:
            inner = getattr(type(fn), "__call__", None)  # noqa: B004
            if not isinstance(inner, FunctionType):
                return None
        fn = inner
    return fn


def reads(fn: Any, name: str) -> bool:
    """Whether a function reads a name from outside."""
    plain = plain_function(fn)
    if plain is None or name in inspect.signature(plain).parameters:
        return False
    return name in names_of(plain.__code__).outer or name in plain.__code__.co_freevars or name in plain.__globals__


def outside(fn: Any, values: dict[str, Any]) -> dict[int, Any]:
    """What stands in place of cells and of globals, by their identity, so that functions read these values under their names."""
    plain = plain_function(fn)
    if plain is None or not values:
        return {}
    cells = dict(zip(plain.__code__.co_freevars, plain.__closure__ or (), strict=True))
    made: dict[int, Any] = {id(cells[name]): CellType(value) for name, value in values.items() if name in cells}
    own = {name: value for name, value in values.items() if name not in cells}
    if own:
        made[id(plain.__globals__)] = {**plain.__globals__, **own}
    return made


def bytes_around(fn: Any) -> int:
    """The bytes of the arrays that the closure, the defaults and the object of a function hold."""
    plain = plain_function(fn)
    around = [_content_of(cell) for cell in (() if plain is None else plain.__closure__ or ())]
    around += [*(() if plain is None else plain.__defaults__ or ()), *getattr(fn, "args", ())]
    owner = getattr(fn, "__self__", None)
    around += list(getattr(owner, "__dict__", {}).values())
    return sum([int(getattr(value, "nbytes", 0)) for value in around if array_module(value) is not None])

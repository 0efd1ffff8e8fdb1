"""Terms as text and as records: `repr` as Python that rebuilds the term, and pickling.

Both walk the term without recursion and visit a shared part once, so that they grow with the number of distinct boxes. In
the text a part that occurs again is named where it first stands, `(t1 := ...)`. One function, the `name` that `code` is
given, writes the values in a term: numbers, small arrays and tuples as they are, scalar functions by `as_code`, classes of
the package as `ct.primitive.<class>` with their fields. A value without a text gets a name, which `D.names` explains.
"""

from __future__ import annotations

import importlib
import inspect
import math
import pkgutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import lru_cache
from keyword import iskeyword
from typing import Any

import numpy as np

from catad.category.constructors import public_name
from catad.category.spaces import Space
from catad.category.terms import Compose, D, chain


def ordered(term: D, parts_of: Callable[[D], Sequence[D]] = lambda part: part.children) -> list[D]:
    """The distinct parts of a term, by identity, each after its own parts."""
    out: list[D] = []
    state: dict[int, bool] = {}
    stack: list[tuple[D, bool]] = [(term, False)]
    while stack:
        top, ready = stack.pop()
        if ready:
            out.append(top)
        elif id(top) not in state:
            state[id(top)] = True
            stack.append((top, True))
            stack.extend((child, False) for child in reversed(parts_of(top)) if id(child) not in state)
    return out


def code_of(term: D) -> tuple[str, dict[str, Any]]:
    """Python that rebuilds the term, and what its names stand for."""
    writer = TermWriter(term)
    return writer.text(), writer.names.values


def is_scope(part: D) -> bool:
    """True for a program, whose text is a scope of its own."""
    return hasattr(type(part), "bound_names")


class Parts:
    """The parts of a term, each once and after its own parts.

    Of a chain they are its factors, but a beginning that it shares with another chain is one part. A term whose text is a scope
    of its own has no parts where they are `closed`.
    """

    def __init__(self, term: D, closed: bool) -> None:
        self.closed = closed
        self.shared: set[int] = set()
        met: set[int] = set()
        for part in ordered(term, self._beginnings):
            for child in self._beginnings(part):
                if isinstance(child, Compose):
                    (self.shared if id(child) in met else met).add(id(child))
        self.order = ordered(term, self.of)

    def of(self, part: D) -> Sequence[D]:
        """The parts of a part."""
        if not isinstance(part, Compose):
            return () if self.closed and is_scope(part) else part.children
        at: D = part
        rest: list[D] = []
        while isinstance(at, Compose) and (at is part or id(at) not in self.shared):
            rest += reversed(at.right.factors)
            at = at.left
        return (at, *reversed(rest))

    def _beginnings(self, part: D) -> Sequence[D]:
        if isinstance(part, Compose):
            return (part.left, *part.right.factors)
        return () if self.closed and is_scope(part) else part.children


class Names:
    """The names in a text: those of values, which `D.names` has, and those that the text itself binds."""

    def __init__(self, term: D) -> None:
        self.values: dict[str, Any] = {}
        self.given: dict[Any, str] = {}
        self.bound: set[str] = set()
        self.title = {str(getattr(term, "title", ""))}  # which no value has
        for part in ordered(term):
            if is_scope(part):
                self.bound |= part.bound_names()  # type: ignore[attr-defined]

    def of(self, value: Any, wish: str, key: Any = None) -> str:
        """A name for a value, the same each time: for the same object, or for equal keys."""
        key = id(value) if key is None else key
        if key not in self.given:
            found = self.given[key] = self._free(wish, self.title)
            self.values[found] = value
        return self.given[key]

    def fresh(self, wish: str) -> str:
        """A name that the text binds."""
        found = self._free(wish, set())
        self.bound.add(found)
        return found

    def _free(self, wish: str, more: set[str]) -> str:
        found, k = wish, 1
        while found in self.values or found in self.bound or found in more or found in ("ct", "np") or iskeyword(found):
            k += 1
            found = f"{wish}_{k}"
        return found


_DEEPEST = 40  # brackets within brackets: Python reads no more than 200


class TermWriter:
    """The text of a term: templates of its parts, in which what stands for a part is a hole.

    It is the `name` that `D.code` is given. A part whose text is a scope of its own writes itself with a writer for each of its
    parts; `scope` writes such a part where it does not stand in the text itself.
    """

    def __init__(self, term: D, names: Names | None = None, scope: Callable[[D], str] | None = None) -> None:
        self.term = term
        self.names = Names(term) if names is None else names
        self.scope = scope
        self.holes: list[D] = []
        self.top = term  # the part that is being written
        self.parts = Parts(term, closed=True)
        uses: dict[int, int] = {}
        depth: dict[int, int] = {}
        self.first: list[D] = []  # parts that stand before the text, since it would be nested too deep
        for part in self.parts.order:
            below = self.parts.of(part)
            for child in below:
                uses[id(child)] = uses.get(id(child), 0) + 1
            depth[id(part)] = 1 + max([depth[id(child)] for child in below], default=0)
            if depth[id(part)] > _DEEPEST and part is not term:
                self.first.append(part)
                depth[id(part)] = 0
        cut = {id(part) for part in self.first}
        labelled = [part for part in self.parts.order if (uses.get(id(part), 0) > 1 and part.children) or id(part) in cut]
        self.label = {id(part): self.names.fresh(f"t{k + 1}") for k, part in enumerate(labelled)}
        self.seen: set[int] = set()

    def text(self) -> str:
        """The text of the term; of a labelled part only the first occurrence is written out."""
        before = [f"{self.label[id(part)]} := {self.part(part)}" for part in self.first]
        own = self.part(self.term)
        return f"({', '.join([*before, own])})[-1]" if before else own

    def part(self, term: D) -> str:
        """The text of a part, without its label."""
        pieces: list[str] = []
        stack: list[Any] = [(term, False)]
        while stack:
            top = stack.pop()
            if isinstance(top, str):
                pieces.append(top)
                continue
            part, inside = top
            label = self.label.get(id(part)) if part is not term else None
            if label is not None and id(part) in self.seen:
                pieces.append(label)
                continue
            self.seen.add(id(part))
            self.top = part
            if is_scope(part) and self.scope is not None:
                template = self.scope(part)
            else:
                template = self.chain(part) if isinstance(part, Compose) else part.code(self.hole, self)
            before, after = ("", "") if label is None else (f"({label} := ", ")")
            if label is None and isinstance(part, Compose) and inside and not template.startswith("ct.compose"):
                before, after = "(", ")"
            bits = template.split("\0")
            inner = [(self.holes[int(bit)], isinstance(part, Compose)) if i % 2 else bit for i, bit in enumerate(bits)]
            stack.extend(reversed([before, *inner, after]))
        return "".join(pieces)

    def chain(self, part: Compose) -> str:
        texts = [self.hole(one) for one in self.parts.of(part)]
        return " >> ".join(texts) if len(texts) <= 4 else f"ct.compose({', '.join(texts)})"

    def hole(self, child: D) -> str:
        self.holes.append(child)
        return f"\0{len(self.holes) - 1}\0"

    def __call__(self, value: Any, wish: str) -> str:
        """Python for a value: its text where it has one, else a name."""
        if id(value) in self.names.given:
            return self.names.given[id(value)]
        if value is np:
            self.names.values["np"] = np
            return "np"
        if value is sys.modules.get("catad"):
            return "ct"
        if isinstance(value, D):
            return self.named(value, wish) if value is self.top else self.hole(value)
        text = self.written(value)
        return self.named(value, wish) if text is None else text

    def named(self, value: Any, wish: str) -> str:
        """A name for a value, the same each time."""
        other = "fn" if callable(value) or hasattr(type(value), "as_field") else "value"
        return self.names.of(value, wish if wish.isidentifier() and wish not in ("ct", "np") else other)

    def written(self, value: Any) -> str | None:
        """The text of a value; None where it has none, or a long one."""
        if value is None or isinstance(value, (bool, int, str, Space)):
            return repr(value)
        if type(value) is complex:
            return f"complex({value.real!r}, {value.imag!r})" if np.isfinite(value) else None
        if isinstance(value, (float, np.generic, np.ndarray, np.dtype)):
            text = _data(value)
            if text is not None and "np." in text:
                self.names.values["np"] = np
            return text
        if type(value) in (tuple, list):
            parts = [self(part, "value") for part in value]
            inside = ", ".join(parts) + "," * (len(parts) == 1)
            return f"({inside})" if type(value) is tuple else f"[{', '.join(parts)}]"
        if isinstance(value, type):
            return f"ct.primitive.{value.__name__}" if is_internal(value) else None
        own = getattr(type(value), "as_code", None)
        if own is not None:
            made: str | None = own(value, self)
            return made
        if is_internal(type(value)) and (is_dataclass(value) or hasattr(value, "_fields")):
            return called(value, self)
        return None


def called(value: Any, name: Callable[[Any, str], str]) -> str:
    """A dataclass or named tuple as its class and its fields, without those at the end that are their defaults."""
    cls = type(value)
    if is_dataclass(value):
        given = [(f.name, f.default) for f in fields(value) if f.init]
    else:
        given = [(key, cls._field_defaults.get(key, MISSING)) for key in cls._fields]
    while given and given[-1][1] is not MISSING and same_number(getattr(value, given[-1][0]), given[-1][1]):
        given.pop()
    texts = []
    for key, _ in given:
        part = getattr(value, key)
        text = name(part, str(getattr(part, "name", key)))
        as_field = getattr(type(part), "as_field", None)  # a function that is read, not one to be read
        texts.append(text if as_field is None else as_field(part, text))
    return f"{name(cls, cls.__name__)}({', '.join(texts)})"


def call(constructor: Callable[..., Any], name: Callable[[Any, str], str], *texts: str, **options: Any) -> str:
    """A call of a public constructor: arguments that are texts already, then parameters, but for those at their defaults."""
    known = _parameters(constructor)
    said = list(texts)
    for key, value in options.items():
        default = known[key]
        if default is MISSING:
            said.append(name(value, key))
        elif not same_number(value, default):
            said.append(f"{key}={name(value, key)}")
    return f"{public_name(constructor)}({', '.join(said)})"


@lru_cache(256)
def _parameters(constructor: Callable[..., Any]) -> dict[str, Any]:
    """The defaults of a constructor's parameters."""
    found = inspect.signature(constructor).parameters.values()
    return {p.name: MISSING if p.default is p.empty else p.default for p in found}


def same_number(value: Any, default: Any) -> bool:
    """Whether a parameter is what it is by default; 0.0 is not -0.0, 1 is not True."""
    return type(value) is type(default) and repr(value) == repr(default)


_ENTRIES = 16  # of an array that is written out


def _data(value: Any) -> str | None:
    """A number, array or dtype as Python; None for large arrays, and for types of number that have no short text."""
    if isinstance(value, np.dtype):
        return f"np.dtype({value.str!r})"
    if isinstance(value, float) and not isinstance(value, np.generic):
        return repr(value) if math.isfinite(value) else _nonfinite(value)
    if value.dtype.kind not in "biuf":
        return None
    found = pattern(value)
    if found is not None or value.size > _ENTRIES:
        return found
    if isinstance(value, np.generic):
        number = str(value) if value.dtype.kind != "f" or np.isfinite(value) else _nonfinite(float(value))
        return f"np.{value.dtype.name}({number})" if value.dtype.kind != "b" else f"np.bool_({number})"
    if not value.size:
        return f"np.zeros({value.shape!r}, {value.dtype.name!r})"

    def nested(part: Any) -> str:
        if part.ndim:
            return f"[{', '.join([nested(one) for one in part])}]"
        return str(part[()]) if part.dtype.kind != "f" or np.isfinite(part) else _nonfinite(float(part))

    plain = value.dtype in (np.dtype(np.float64), np.dtype(np.int64), np.dtype(bool))
    return f"np.array({nested(value)}{'' if plain else f', {value.dtype.name!r}'})"


_TINY = 4  # entries of an array that is written out though it follows a pattern


def pattern(array: Any) -> str | None:
    """`np.arange`, `np.zeros`, `np.ones` or `np.full`, where one of them makes the array; None for other arrays."""
    if not array.ndim or array.size <= _TINY:
        return None
    flat = array.ravel()
    if np.full(flat.shape, flat[0]).tobytes() == flat.tobytes():
        return repeated(flat[0], array.shape)
    if array.ndim > 1 or array.dtype != np.dtype(np.int64):
        return None
    start, step = int(flat[0]), int(flat[1]) - int(flat[0])
    found = range(start, start + step * flat.size, step or 1)
    if len(found) != flat.size or not np.array_equal(flat, found):
        return None
    ends = [found.stop] if (start, step) == (0, 1) else [start, found.stop] if step == 1 else [start, found.stop, step]
    return f"np.arange({', '.join(map(str, ends))})"


def repeated(number: Any, shape: tuple[int, ...]) -> str:
    """The text of an array of one number."""
    said = repr(shape[0] if len(shape) == 1 else shape)
    usual = number.dtype in (np.dtype(np.float64), np.dtype(np.int64), np.dtype(bool))
    dtype = "" if usual else f", {number.dtype.name!r}"
    if number.dtype.kind == "f" and number.tobytes() in (number.dtype.type(0).tobytes(), number.dtype.type(1).tobytes()):
        return f"np.{'ones' if number else 'zeros'}({said}{dtype})"
    return f"np.full({said}, {number.item() if np.isfinite(number) else _nonfinite(float(number))}{dtype})"


def _nonfinite(number: float) -> str:
    return "np.nan" if number != number else "np.inf" if number > 0 else "-np.inf"


# -- the package's own classes, which have no public name: `ct.primitive.<class>`

_HOMES = ("catad.linear", "catad.vector")  # and constants and the functors


def is_internal(cls: type) -> bool:
    """Whether a class is the package's own, found by its name."""
    return cls.__module__.startswith("catad.") and internal_classes().get(cls.__name__) is cls


@lru_cache(1)
def internal_classes() -> dict[str, type]:
    """The classes of boxes, families and what they are told, by name."""
    found: dict[str, type] = {}
    paths = [(f"{home}.", importlib.import_module(home).__path__) for home in _HOMES]
    names = [info.name for start, path in paths for info in pkgutil.walk_packages(path, start)]
    for name in (*names, "catad.category.constant", "catad.derivative.functors"):
        own = {
            key: v for key, v in vars(importlib.import_module(name)).items() if isinstance(v, type) and v.__module__ == name
        }
        found |= {key: v for key, v in own.items() if key not in found}
    return found


# -- pickling

_CACHES = {"_data", "_hash", "_cache", "_front", "_place", "__weakref__", "children", "_factors", "_length", "_shift"}


def packed(term: D) -> tuple[Any, ...]:
    """The records for pickle: one flat record for each distinct part."""
    parts = Parts(term, closed=False)
    number = {id(part): k for k, part in enumerate(parts.order)}
    return unpacked, (tuple([_record(part, [number[id(c)] for c in parts.of(part)]) for part in parts.order]),)


def _record(part: D, children: list[int]) -> tuple[Any, ...]:
    own = part.recipe()
    if own is not None:
        return "call", *own
    if isinstance(part, Compose):
        return "state", Compose, {}, tuple(children)
    return "state", type(part), _state(part), tuple(children)


def _state(part: D) -> dict[str, Any]:
    """The fields of a part, without its children and what is computed from them."""
    state = {}
    for cls in type(part).__mro__:
        for slot in cls.__dict__.get("__slots__", ()):
            if slot not in _CACHES and hasattr(part, slot):
                state[slot] = getattr(part, slot)
    state.update({k: v for k, v in getattr(part, "__dict__", {}).items() if k not in _CACHES and k not in part.child_fields})
    return state


def unpacked(records: tuple[Any, ...]) -> D:
    """Rebuild a term from its records."""
    parts: list[D] = []
    for kind, cls, *rest in records:
        if kind == "call":
            parts.append(cls(*rest[0]))
            continue
        state, children = rest
        below = tuple([parts[k] for k in children])
        if cls is Compose:
            parts.append(chain(below))
        else:
            parts.append(_made(cls, state, below, None))  # it was composed in another process
    return parts[-1]


def _made(cls: type[D], state: dict[str, Any], children: tuple[D, ...], place: Any) -> D:
    """A part of its fields and its children."""
    part = object.__new__(cls)
    part._place = place
    for key, value in (*state.items(), *zip(cls.child_fields, children, strict=False)):
        setattr(part, key, value)
    if any("children" in base.__dict__.get("__slots__", ()) for base in cls.__mro__):
        part.children = children  # type: ignore[misc]
    return part


# -- other parts in a term


def with_scopes(term: D, replaced: Callable[[D], D]) -> D:
    """The term with others in place of the programs in it; a program itself is replaced as a whole."""
    parts = Parts(term, closed=True)
    made: dict[int, D] = {}
    for part in parts.order:
        own = parts.of(part)
        below = tuple([made[id(child)] for child in own])
        if is_scope(part):
            made[id(part)] = replaced(part)
        elif all(one is child for one, child in zip(below, own, strict=True)):
            made[id(part)] = part
        elif isinstance(part, Compose):
            made[id(part)] = chain(below)
        else:
            made[id(part)] = _made(type(part), _state(part), below, getattr(part, "_place", None))
    return made[id(term)]

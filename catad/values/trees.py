"""Trees: values as programs write them, dicts, dataclasses, lists and tuples of arrays, and how they become values of a space.

A complex array is a container of two real ones, `complex_numbers.py`.

`plain` takes a tree apart into a nested tuple, which is a value of a product, and a `Tree`, which puts values of such a product
together again. `None`, texts, enumerations, functions and types are static: they are a part of the `Tree`, and `()` stands in
their place in the nested tuple.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from types import EllipsisType
from typing import Any, NamedTuple

import numpy as np

from catad import errors
from catad.values.arrays import is_weak
from catad.values.complex_numbers import KEYS, ComplexPair, is_complex, paired, parts_of


class Tree(NamedTuple):
    """The form of a value.

    `kind` is "leaf" for an array, "number" for a Python number, "static", or the class of a container; `said` is the type of a
    number, the static value, or the keys of a container; `parts` are the forms of the entries.
    """

    kind: Any
    said: Any = None
    parts: tuple[Tree, ...] = ()

    @property
    def has_complex(self) -> bool:
        """True where a complex array is in the tree."""
        return self.kind is ComplexPair or any(part.has_complex for part in self.parts)

    @property
    def is_of_arrays(self) -> bool:
        """True for arrays, real and complex ones, in tuples."""
        return self.kind in ("leaf", ComplexPair) or (self.kind is tuple and all(part.is_of_arrays for part in self.parts))

    def restore(self, value: Any, number: Callable[[Any, type], Any] | None = None) -> Any:
        """The tree whose plain form is a value; that of a leaf may itself be nested. `number` says what becomes of numbers."""
        if self.kind == "leaf" or (self.kind == "number" and number is None):
            return value
        if self.kind == "number":
            return number(value, self.said)  # type: ignore[misc]
        if self.kind == "static":
            return self.said.value
        parts = [part.restore(one, number) for part, one in zip(self.parts, value, strict=True)]
        return put_together(self.kind, self.said, parts)

    def strip(self, value: Any) -> Any:
        """The plain form of another value of this form, such as a tangent: where the form has a static value, anything may stand.

        Raises `NotOfThisForm` where it has other entries.
        """
        if self.kind in ("leaf", "number"):
            return value
        if self.kind == "static":
            return ()
        entries = entries_of(value)
        if entries is None and self.kind is ComplexPair and (is_weak(value) or hasattr(value, "dtype")):
            entries = KEYS, [value, 0.0 if is_weak(value) else np.zeros_like(value)]
        if entries is None or entries[0] != self.said:
            raise NotOfThisForm(value)
        return tuple([part.strip(one) for part, one in zip(self.parts, entries[1], strict=True)])

    def maker(self) -> Callable[[list[Any]], Any]:
        """A function from the list of the leaves to the tree, for trees that are made again and again."""
        names: dict[str, Any] = {}
        made: Callable[[list[Any]], Any] = eval(f"lambda v: {_maker(self, names, iter(range(len(self.leaves))))}", names)
        return made

    def of_arrays(self) -> Tree:
        """The same form with arrays in the places of numbers."""
        if self.kind == "number":
            return LEAF
        return Tree(self.kind, self.said, tuple([part.of_arrays() for part in self.parts]))

    def __str__(self) -> str:
        if self.kind in ("leaf", "number"):
            return "an array" if self.kind == "leaf" else f"a number ({self.said.__name__})"
        if self.kind == "static":
            return repr(self.said)
        if self.kind is ComplexPair:
            return "a complex array" if self.parts[0].kind == "leaf" else "a number (complex)"
        inner = list(map(str, self.parts))
        if self.kind is tuple:
            return f"({', '.join(inner)}{',' * (len(inner) == 1)})"
        if self.kind is list:
            return f"[{', '.join(inner)}]"
        if self.kind is dict:
            return "{" + ", ".join([f"{key!r}: {part}" for key, part in zip(self.said, inner, strict=True)]) + "}"
        names = self.said if isinstance(self.said, tuple) and len(self.said) == len(inner) else ()
        fields = [f"{name}={part}" for name, part in zip(names, inner, strict=True)] if names else inner
        return f"{self.kind.__name__}({', '.join(fields)})"

    @property
    def orders(self) -> tuple[Any, ...]:
        """The orders of the keys of dicts in it."""
        own = (self.said.order,) if isinstance(self.said, Keys) else ()
        return (*own, *[order for part in self.parts for order in part.orders])

    @property
    def is_plain(self) -> bool:
        """True where the tree is its own plain form: arrays in tuples."""
        return self.kind == "leaf" or (self.kind is tuple and all(part.is_plain for part in self.parts))

    @property
    def is_static(self) -> bool:
        """True for a static value, and for a container of such values alone: there is nothing in it that is traced."""
        return self.kind == "static" or (bool(self.parts) and all(part.is_static for part in self.parts))

    @property
    def leaves(self) -> list[Tree]:
        """The leaves and numbers, in the order of the plain form."""
        if self.kind in ("leaf", "number"):
            return [self]
        return [leaf for part in self.parts for leaf in part.leaves]

    @property
    def numbers(self) -> list[Tree]:
        """The Python numbers among the leaves."""
        return [leaf for leaf in self.leaves if leaf.kind == "number"]

    @property
    def paths(self) -> list[str]:
        """Python that gets each leaf from the tree, in the order of the plain form: `["w"]`, `.bias`, `[0]`."""
        if self.kind in ("leaf", "number"):
            return [""]
        if self.kind == "static":
            return []
        named = self.kind not in (tuple, list) and not issubclass(self.kind, Mapping) if self.parts else False
        steps = [f".{key}" if named else f"[{key!r}]" for key in self.said or ()]
        return [step + path for step, part in zip(steps, self.parts, strict=True) for path in part.paths]


LEAF = Tree("leaf")
PAIR = Tree(ComplexPair, KEYS, (LEAF, LEAF))
"""The tree of a complex array."""
_STATIC = (str, bytes, Enum, type, np.dtype, slice, range, EllipsisType, type(None))


def plain(value: Any, static: bool = False) -> tuple[Any, Tree]:
    """The nested tuple of a tree and its form. With `static` the whole value is static, whatever it is."""
    if static or value is None or isinstance(value, _STATIC):
        return (), Tree("static", Static(value))
    if is_weak(value):
        return value, Tree("number", type(value))
    entries = entries_of(value)
    if entries is not None:
        said, parts = entries
        made = [plain(part) for part in parts]
        return tuple([one for one, _ in made]), Tree(kind_of(value), said, tuple([tree for _, tree in made]))
    if not hasattr(value, "dtype") and callable(value):
        return (), Tree("static", Static(value))
    number = getattr(value, "python_type", None)  # of a stand-in for a Python number
    return value, LEAF if number is None else Tree("number", number)


class NotOfThisForm(Exception):
    """A value has other entries than the tree that it should be like."""

    def __init__(self, value: Any) -> None:
        super().__init__(value)
        self.value = value


def _maker(tree: Tree, names: dict[str, Any], numbers: Iterator[int]) -> str:
    """Python that makes a tree from the list `v` of its leaves."""
    if tree.kind in ("leaf", "number"):
        return f"v[{next(numbers)}]"
    if tree.kind == "static":
        name = f"s{len(names)}"
        names[name] = tree.said.value
        return name
    parts = [_maker(part, names, numbers) for part in tree.parts]
    inside = ", ".join(parts)
    if tree.kind is tuple:
        return f"({inside}{',' * (len(parts) == 1)})"
    if tree.kind is list:
        return f"[{inside}]"
    if tree.kind is dict:
        found = dict(zip(tree.said, parts, strict=True))
        return "{" + ", ".join([f"{key!r}: {found[key]}" for key in getattr(tree.said, "order", tree.said)]) + "}"
    name, keys = f"k{len(names)}", f"k{len(names) + 1}"
    names[name], names[keys], names["put_together"] = tree.kind, tree.said, put_together
    return f"put_together({name}, {keys}, [{inside}])"


def tree_map(fn: Callable[[Any], Any], value: Any) -> Any:
    """The tree with a function applied to each leaf and number."""
    entries = entries_of(value)
    if entries is None:
        return value if value is None or isinstance(value, _STATIC) else fn(value)
    return put_together(kind_of(value), entries[0], [tree_map(fn, part) for part in entries[1]])


def tree_leaves(value: Any) -> list[Any]:
    """The leaves, numbers and static values of a tree from left to right."""
    entries = entries_of(value)
    return [value] if entries is None else [leaf for part in entries[1] for leaf in tree_leaves(part)]


def is_tree(value: Any) -> bool:
    """True for containers that are no values of a space by themselves: all but tuples."""
    return type(value) in (dict, list) or (type(value) is not tuple and entries_of(value) is not None)


def _exact(value: Any) -> Any:
    """A key that tells apart what Python calls equal, but computes with otherwise: 1, 1.0 and True, and zeros by their signs."""
    kind = type(value)
    if kind in (str, int, bool) or value is None:
        return value
    if isinstance(value, (float, complex)):
        return kind, repr(value)
    if isinstance(value, np.generic):
        return kind, value.dtype, value.tobytes()
    if isinstance(value, slice):  # no slice is hashable before Python 3.12
        return kind, _exact((value.start, value.stop, value.step))
    if isinstance(value, tuple):
        return kind, tuple([(type(part), _exact(part)) for part in value])
    if isinstance(value, frozenset):
        return kind, frozenset([(type(part), _exact(part)) for part in value])
    if is_dataclass(value) and not isinstance(value, type):
        return value, _exact(tuple([getattr(value, field.name) for field in fields(value)]))
    return value


class Static:
    """A static value in a form: equal by value and type, also of its parts, where it is hashable, by identity where not."""

    __slots__ = ("key", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.key = _exact(value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Static) or type(self.value) is not type(other.value):
            return False
        if self.value is other.value:
            return True
        try:
            return hash(self.key) == hash(other.key) and bool(self.key == other.key)
        except (TypeError, ValueError):
            return False

    def __hash__(self) -> int:
        try:
            return hash((type(self.value), self.key))
        except TypeError:
            return id(self.value)

    def __repr__(self) -> str:
        return repr(self.value)


class Keys(tuple[str, ...]):
    """The keys of a dict, sorted; `order` is the order in which the dict has them, and takes no part in comparisons."""

    order: tuple[str, ...]

    def __new__(cls, keys: Iterable[str]) -> Keys:
        order = tuple(keys)
        made = super().__new__(cls, sorted(order))
        made.order = order
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return Keys, (self.order,)


def entries_of(value: Any) -> tuple[tuple[Any, ...], list[Any]] | None:
    """The keys and entries of a container; None for all else."""
    if isinstance(value, tuple):
        names = getattr(type(value), "_fields", None)
        return (tuple(range(len(value))) if names is None else tuple(names)), list(value)
    if isinstance(value, list):
        return tuple(range(len(value))), list(value)
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise errors.SpaceError(errors.key_is_no_text(value))
        keys = Keys(value)
        return keys, [value[key] for key in keys]
    if is_dataclass(value) and not isinstance(value, type):
        names = tuple([f.name for f in fields(value)])
        return names, [getattr(value, name) for name in names]
    return (KEYS, parts_of(value)) if is_complex(value) else None


def kind_of(value: Any) -> Any:
    """The class of a container, as trees have it."""
    return ComplexPair if is_complex(value) else type(value)


def put_together(kind: type, keys: tuple[Any, ...], parts: list[Any]) -> Any:
    if kind is ComplexPair:
        return paired(*parts)
    if issubclass(kind, tuple):
        return kind(*parts) if hasattr(kind, "_fields") else tuple(parts)
    if issubclass(kind, list):
        return parts
    if issubclass(kind, Mapping):
        found = dict(zip(keys, parts, strict=True))
        made = {key: found[key] for key in getattr(keys, "order", keys)}
        if kind is dict:
            return made
        try:
            return kind(None, made) if issubclass(kind, defaultdict) else kind(made)  # type: ignore[call-arg]
        except TypeError as error:
            raise errors.SpaceError(errors.mapping_of_no_dict(kind, error)) from None
    made_ = object.__new__(kind)
    for key, part in zip(keys, parts, strict=True):
        object.__setattr__(made_, key, part)
    return made_

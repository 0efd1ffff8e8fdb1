"""Trees in the texts of programs: `{'y': h, 'parts': [x, None]}`.

Dicts, lists and tuples are written as literals. Other containers and static values have names, which `names` of the program
explains; a container whose class does not simply take its entries has a function under its name that puts them together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import is_dataclass
from types import EllipsisType
from typing import Any

from catad.category.terms import D
from catad.traced.programs.program import identifier
from catad.values.trees import Tree, entries_of, put_together

Name = Callable[[Any, str, Any], str]  # of a value, by a wish, the same for equal keys


def tree_text(tree: Tree, value: Any, leaves: Callable[[Any], str], name: Name) -> str:
    """The text of a value in a form; `value` is nested as its plain form, and `leaves` writes it where the form is plain."""
    if tree.kind == "static":
        return _static(tree.said.value, name)
    if tree.of_arrays().is_plain:
        return leaves(value)
    parts = [tree_text(part, one, leaves, name) for part, one in zip(tree.parts, value, strict=True)]
    inside = ", ".join(parts)
    if issubclass(tree.kind, tuple) and not hasattr(tree.kind, "_fields"):
        return f"({inside}{',' * (len(parts) == 1)})"
    if issubclass(tree.kind, list):
        return f"[{inside}]"
    pairs = "{" + ", ".join([f"{key!r}: {part}" for key, part in zip(tree.said, parts, strict=True)]) + "}"
    if tree.kind is dict:
        return pairs
    called, by_pairs = _maker(tree.kind, tree.said)
    said = name(called, identifier(tree.kind.__name__), (tree.kind, tree.said))
    if not by_pairs:
        return f"{said}({inside})"
    return f"{said}(None, {pairs})" if issubclass(tree.kind, defaultdict) else f"{said}({pairs})"


def written_parts(tree: Tree, value: Any) -> Iterator[Any]:
    """What `leaves` is asked for in the text of a value."""
    if tree.of_arrays().is_plain:
        yield value
    elif tree.kind != "static":
        for part, one in zip(tree.parts, value, strict=True):
            yield from written_parts(part, one)


def _static(value: Any, name: Name) -> str:
    if value is None or type(value) in (str, bytes, slice, range, EllipsisType):
        return repr(value)
    own = getattr(value, "__name__", None) or getattr(value, "name", type(value).__name__)
    return name(value, "morphism" if isinstance(value, D) else identifier(str(own)), None)


def _maker(kind: type, keys: tuple[Any, ...]) -> tuple[Any, bool]:
    """What makes a container of its entries, or of a dict of them: its class, where that takes them as they are."""
    if issubclass(kind, Mapping):
        return kind, True
    entries = [object() for _ in keys]
    plain = hasattr(kind, "_fields") or (is_dataclass(kind) and not hasattr(kind, "__post_init__"))
    try:
        found = entries_of(kind(*entries)) if plain else None
    except Exception:  # the class asks for something else
        found = None
    if found is not None and found[0] == keys and all(a is b for a, b in zip(found[1], entries, strict=True)):
        return kind, False
    return Maker(kind, keys), False


class Maker:
    """A container of a class from its entries, without a call of the class."""

    def __init__(self, kind: type, keys: tuple[Any, ...]) -> None:
        self.kind, self.keys = kind, keys

    def __call__(self, *parts: Any) -> Any:
        return put_together(self.kind, self.keys, list(parts))

    def __repr__(self) -> str:
        return f"<{self.kind.__name__} of {', '.join(map(str, self.keys))}>"

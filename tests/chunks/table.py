"""The table of all boxes in docs/distributed.md, made of their rules: `python -m tests.chunks.table` writes it again."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import catad
from catad.category.boxes import Primitive
from catad.chunks.rules.table import RULES, WHOLE
from catad.primitive.function import OfFunctions
from catad.vector.custom_derivative import Opaque

PAGE = Path(__file__).parents[2] / "docs" / "distributed.md"
BEGIN = "<!-- The table of boxes: python -m tests.chunks.table -->\n"
END = "<!-- The end of the table of boxes -->\n"
ABSENT = ("cupy", "torch", "jax")  # libraries that are not always there

ABSTRACT = {
    "AlongAxis", "CarriedByBin", "Decomposed", "Decomposition", "Nesting", "Numbered", "OfComplexFactors", "OfFactors",
    "OfFunctions", "OfSquare", "PassedOn", "Shortcut", "Waiting", "Within", "_AlongAxes", "_At",
}  # fmt: skip
"""Classes of which there are no boxes, but boxes of classes that inherit from them."""


class Row(NamedTuple):
    """What the table says of a box: its class, and what happens where its own axes are cut, and what is exchanged."""

    box: type[Primitive]
    meaning: str
    cut: str
    exchanged: str


@cache
def boxes() -> tuple[type[Primitive], ...]:
    """All classes of boxes of the package, the abstract ones, too."""
    for module in pkgutil.walk_packages(catad.__path__, "catad."):
        if not module.name.endswith("__main__"):
            try:
                importlib.import_module(module.name)
            except ImportError as error:
                if (error.name or "").partition(".")[0] not in ABSENT:
                    raise
    found = dict.fromkeys(_below(Primitive))
    own = [cls for cls in found if cls.__module__.startswith("catad.")]
    return tuple(sorted(own, key=lambda cls: (cls.__name__.lower(), cls.__module__)))


def _below(cls: type[Any]) -> Iterator[type[Any]]:
    for one in cls.__subclasses__():
        yield one
        yield from _below(one)


def row(cls: type[Primitive]) -> Row | None:
    """What the rules say of a class; None where they say nothing.

    The rule of all boxes is that of boxes from outside the package: those of functions have it, and no others of the package.
    """
    for base in cls.__mro__:
        if base in WHOLE:
            return Row(cls, meaning(cls), f"whole arrays, because {WHOLE[base]}", "all of them")
        if vars(base).get("chunks") is not None and base is not Primitive:
            return Row(cls, meaning(cls), RULES[Primitive].cut, RULES[Primitive].exchanged)
        if base in RULES and (base is not Primitive or issubclass(cls, (OfFunctions, Opaque))):
            return Row(cls, meaning(cls), RULES[base].cut, RULES[base].exchanged)
    return None


def meaning(cls: type[Primitive]) -> str:
    """The first sentence of a docstring."""
    text = " ".join((cls.__doc__ or "").split("\n\n")[0].split())
    return text.partition(". ")[0].rstrip(".:")


def table() -> str:
    """The table as it stands in the page, without the boxes that plans alone have."""
    lines = ["| box | what it is | where its axes are cut | what is exchanged |", "|---|---|---|---|"]
    for cls in boxes():
        found = row(cls)
        if found is not None and cls.__name__ not in ABSTRACT and not cls.__module__.startswith("catad.chunks."):
            said = [text.replace("|", "\\|") for text in found[1:]]
            lines.append(f"| `{cls.__name__}` | {said[0]} | {said[1]} | {said[2]} |")
    return "\n".join(lines) + "\n"


def written(page: str) -> str:
    """A page with the table as it is now."""
    before, rest = page.split(BEGIN)
    return before + BEGIN + table() + END + rest.split(END)[1]


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")

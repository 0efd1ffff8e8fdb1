"""The public names of catad: what each is, where its source is, and how it is called."""

from __future__ import annotations

import enum
import inspect
import re
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import catad as ct
from catad.vector.custom_derivative import by_hand

ROOT = Path(ct.__file__).parents[1]
BESIDE = {"catad": ("info", "testing"), "catad.torch": ("as_function",), "catad.jax": ("as_function",)}
"""Public names that no `__all__` has."""
SPACES = (
    *("catad", "catad.linear", "catad.linalg", "catad.fft", "catad.primitive", "catad.engine", "catad.simt", "catad.testing"),
    *("catad.info", "catad.torch", "catad.jax"),
)


class Kind(enum.Enum):
    """What a name stands for, as the domain of Python in Sphinx calls it."""

    FUNCTION = "function"
    VALUE = "data"
    CLASS = "class"
    ERROR = "exception"
    MODULE = "module"


@dataclass(frozen=True)
class Name:
    """A public name, such as `catad.linalg.svd`."""

    path: str

    @cached_property
    def space(self) -> str:
        """The module whose public name it is."""
        return self.path.rpartition(".")[0]

    @cached_property
    def last(self) -> str:
        return self.path.rpartition(".")[2]

    @cached_property
    def key(self) -> str:
        """The name in the tables of these pages: without the package."""
        return self.path.removeprefix("catad.")

    @cached_property
    def short(self) -> str:
        """The name as users write it: `ct.linalg.svd`, but `catad.torch.as_function`, which has to be imported."""
        return self.path if self.space in ("catad.torch", "catad.jax") else f"ct.{self.key}"

    @cached_property
    def value(self) -> Any:
        return getattr(import_module(self.space), self.last)

    @cached_property
    def kind(self) -> Kind:
        if isinstance(self.value, ModuleType):
            return Kind.MODULE
        if isinstance(self.value, type):
            return Kind.ERROR if issubclass(self.value, BaseException) else Kind.CLASS
        return Kind.FUNCTION if inspect.isfunction(self.value) else Kind.VALUE

    @cached_property
    def text(self) -> str:
        """The docstring, or what stands under the assignment of a value whose class has a docstring of its own."""
        if type(self.value) in (int, float, str):
            return _text_below(*self._assignment)
        return inspect.getdoc(self.value) or ""

    @cached_property
    def same_as(self) -> Name | None:
        """The first public name of the same thing, where this is another one in another module, such as `catad.linear.scale`."""
        for other in public():
            if other.path == self.path:
                return None
            if other.last == self.last and other.value is self.value:
                return other
        return None

    @cached_property
    def page(self) -> str:
        """The file name of its page; `Plan` and `plan` differ in more than capitals, for disks that do not tell these apart."""
        twins = [other for other in public() if other.path.lower() == self.path.lower()]
        if len(twins) == 1 or self.path == min((twin.path for twin in twins), key=lambda path: path.swapcase()):
            return self.path
        return f"{self.path}-{self.kind.value}"

    @cached_property
    def signature(self) -> str:
        """The parameters with their types, in parentheses, and the type of the result; "" for what is not called."""
        if self.kind in (Kind.VALUE, Kind.MODULE):
            name, arguments = called(self.text)
            known = named().get(f"catad.{name}")
            return arguments if known and known.value is self.value else ""
        if self.value is ct.D:  # whose calls go on to a function
            return signature(by_hand).partition(" -> ")[0]
        uncalled = self.kind is Kind.ERROR or getattr(self.value, "_is_protocol", False)
        return "" if uncalled else signature(self.value)

    @cached_property
    def makes(self) -> str:
        """What it is or gives: "D", "LinearMap", "Jacobian", or "" for anything else."""
        if isinstance(self.value, ct.D):
            return "D"
        found = str(inspect.signature(self.value).return_annotation) if self.kind is Kind.FUNCTION else ""
        return found if found in ("D", "LinearMap", "Jacobian") else ""

    @cached_property
    def _assignment(self) -> tuple[Path, int]:
        """The file in which a value is made, and the line, or 0 where no line begins with its name."""
        places = getattr(import_module(self.space), "_places", {})
        file = Path(str(inspect.getsourcefile(import_module(places[self.last][0]))))
        last = places[self.last][1]
        begins = re.compile(rf"^(?:[\w, ]+[,=] *)?{last}\b[^\n=(]*= ")
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            if begins.match(line):
                return file, number
        return file, 0

    @cached_property
    def _class_statement(self) -> tuple[Path, int]:
        """Where a class is written, in the package of its module; else as a value."""
        module = Path(str(inspect.getsourcefile(self.value)))
        begins = re.compile(rf"^class {self.last}\b", re.MULTILINE)
        for file in sorted(module.parent.glob("*.py")):
            text = file.read_text(encoding="utf-8")
            if found := begins.search(text):
                return file, text.count("\n", 0, found.start()) + 1
        return self._assignment

    @cached_property
    def source(self) -> tuple[str, int]:
        """The file, relative to the checkout, and the line (0: none is known) in which it is defined."""
        if self.kind is Kind.MODULE:
            file, line = Path(str(inspect.getsourcefile(self.value))), 1
        elif self.kind is Kind.VALUE:
            file, line = self._assignment
        else:
            plain = inspect.unwrap(self.value)
            try:
                file, line = Path(str(inspect.getsourcefile(plain))), inspect.getsourcelines(plain)[1]
            except OSError:  # a class that says another module than the one in which it is written
                file, line = self._class_statement
        return file.resolve().relative_to(ROOT.resolve()).as_posix(), line


@cache
def public() -> tuple[Name, ...]:
    """All public names, in the order of their modules."""
    return tuple(
        Name(f"{space}.{name}")
        for space in SPACES
        for name in sorted({*getattr(import_module(space), "__all__", ()), *BESIDE.get(space, ())})
    )


@cache
def named() -> dict[str, Name]:
    """All public names by their paths."""
    return {name.path: name for name in public()}


def _text_below(file: Path, line: int) -> str:
    """The text in quotation marks that follows an assignment."""
    rest = file.read_text(encoding="utf-8").splitlines()[line:]
    found = re.match(r'"""(.*?)"""', "\n".join(rest), re.DOTALL)
    return inspect.cleandoc(found[1]) if found else ""


def called(text: str) -> tuple[str, str]:
    """The name and the arguments with which the text of a value begins, such as "add" and "(x, y)"; else two empty texts."""
    found = re.match(r"`ct\.([\w.]+)(\((?!\))[^`]*\))`", text)
    return (found[1], found[2]) if found else ("", "")


def signature(thing: Any) -> str:
    """A signature as text, whose annotations are as in the source."""
    try:
        found = inspect.signature(thing)
    except ValueError:
        return "()"
    parameters = [p.replace(annotation=_plain(p.annotation), default=_short(p.default)) for p in found.parameters.values()]
    if isinstance(thing, type):
        return str(found.replace(parameters=parameters, return_annotation=inspect.Signature.empty)).replace("'", "")
    return str(found.replace(parameters=parameters, return_annotation=_plain(found.return_annotation)))


class _Verbatim:
    """What `inspect.signature` shows as it stands."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _plain(annotation: Any) -> Any:
    """An annotation without quotation marks."""
    if annotation is inspect.Parameter.empty:
        return annotation
    if isinstance(annotation, type):
        return _Verbatim(annotation.__name__)
    return _Verbatim(annotation if isinstance(annotation, str) else getattr(annotation, "__forward_arg__", str(annotation)))


def _short(default: Any) -> Any:
    """A default value, where its `repr` can be read."""
    if default is inspect.Parameter.empty:
        return default
    if inspect.isfunction(default):
        return _Verbatim("...")
    return _Verbatim(f"numpy.{default.__name__}") if isinstance(default, type) else default

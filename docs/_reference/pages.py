"""The pages of the reference, as reStructuredText: one a name, one a group, and the page that lists the groups."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import catad as ct

from .aliases import ALIASES
from .groups import GROUPS, Group
from .names import Kind, Name, named, public, signature
from .results import OF_TERMS, RESULTS
from .structures import Shown, example, shown
from .text import PARTS, Block, Doc, items, left_to, parse, rst

DOCS = Path(__file__).parents[1]
NEAREST = 6
"""How many names of its group a page lists."""
GUIDES = 6
"""How many guides, and how many entries of the gallery, a page lists."""
INSIDE = ("conventions", "design", "extending", "glossary")
"""Guides on how catad works inside, which come after the others."""


class Guide(NamedTuple):
    """A page of the guides: its place for Sphinx and its text."""

    place: str
    text: str


def write(folder: Path, source: str = "") -> None:
    """Write all pages; a file that would not change is left alone, so that Sphinx does not read it again.

    `source` is the address of a file of the source, with `{path}` and `{line}`; without one, pages name the file.
    """
    pages = {f"{name.page}.rst": page(name, source) for name in public()}
    pages |= {f"group-{group.slug}.rst": group_page(group) for group in GROUPS}
    pages["index.rst"] = index_page()
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.glob("*.rst"):
        if file.name not in pages:
            file.unlink()
    for file_name, text in pages.items():
        file = folder / file_name
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")


# -- a page of a name


def page(name: Name, source: str = "") -> str:
    """The page of a name."""
    doc = parse(name.text)
    description = " ".join(doc.summary.replace("`", "").split())
    lines = [f":origin: {name.source[0]}", "", ".. meta::", f"   :description: {description}", "", *_heading(name.short, "=")]
    lines += _directive(name, doc)
    if name.same_as:
        lines += ["", f"It is :py:obj:`{name.same_as.short} <{name.same_as.path}>`, under another name."]
    if found := example(name):
        lines += _derivative(shown(found), found.point != "")
    if doc.examples:
        lines += ["", *_heading("Examples" if len(doc.examples) > 1 else "Example", "-"), *_examples(doc)]
    lines += _members(name)
    lines += _see_also(name, source)
    return "\n".join(lines) + "\n"


def _heading(text: str, line: str) -> list[str]:
    shown = text.replace("_", "\\_")
    return [shown, line * len(shown), ""]


def _directive(name: Name, doc: Doc) -> list[str]:
    """The directive of Sphinx's domain for Python, with the text of the docstring."""
    body = _body(doc, name, name.space, name.value)
    if name.kind is Kind.MODULE:
        return [f".. py:module:: {name.path}", "", *body, "", *_table([n for n in public() if n.space == name.path])]
    head = f".. py:{name.kind.value}:: {name.path}{name.signature}"
    if name.kind is Kind.VALUE and name.signature:
        head = f".. py:function:: {name.path}{name.signature}"
    twin = next((other for other in public() if other.same_as is name), None)
    options = ["   :no-index:"] if name.same_as else [f"   :canonical: {twin.path}"] if twin else []
    lines = [head, *options, "", *_indented(body)]
    if name.kind is Kind.ERROR:
        bases = [base for base in name.value.__mro__[1:] if base not in (object, BaseException)]
        lines += ["", "   :Also a: " + ", ".join(_class(base) for base in bases)]
    return lines


def _class(cls: type) -> str:
    known = next((n for n in public() if n.value is cls), None)
    return f":py:obj:`{cls.__name__} <{known.path}>`" if known else f"``{cls.__name__}``"


def _indented(lines: list[str], by: str = "   ") -> list[str]:
    return [f"{by}{line}" if line else line for line in "\n".join(lines).split("\n")]


def _body(doc: Doc, name: Name, space: str, thing: Any) -> list[str]:
    """Summary, paragraphs and parts of a docstring."""
    linked = linker(space, thing)
    lines = [rst(doc.summary, linked), ""]
    for block in doc.blocks:
        lines += _block(block, linked)
    fields = _fields(doc, name, thing, linked)
    return [*lines, *[f":{part}: {text}" for part, text in fields.items()]] if fields else lines[:-1]


def _block(block: Block, linked: Callable[[str], str | None]) -> list[str]:
    if block.kind == "list":
        return [line for item in items(block.lines) for line in (f"- {rst(item, linked)}",)] + [""]
    return [rst(block.lines[0], linked), ""]


def _fields(doc: Doc, name: Name, thing: Any, linked: Callable[[str], str | None]) -> dict[str, str]:
    """What the docstring says of shapes, dtypes, the derivative, errors and sources; what it leaves to another name is quoted."""
    text = inspect.getdoc(thing) or ""
    left = left_to(text) if thing is name.value else {}
    fields: dict[str, str] = {}
    for part in PARTS:
        said = [rst(doc.parts[part], linked)] if part in doc.parts else []
        other = named().get(f"catad.{left[part]}") if part in left else None
        if other and part in (there := parts_of(other)):
            said.append(f":py:obj:`{other.short} <{other.path}>`: {rst(there[part], linker(other.space, other.value))}")
        if part == "Errors" and thing is name.value and (more := _other_errors(name, " ".join(said))):
            said.append(more)
        if said:
            fields[part] = " ".join(said)
    return fields


@cache
def parts_of(name: Name) -> dict[str, str]:
    """The parts of a name's docstring, with those that it leaves to other names."""
    found = {}
    for part, other in left_to(name.text).items():
        there = named().get(f"catad.{other}")
        if there and there is not name and part in parts_of(there):
            found[part] = parts_of(there)[part]
    return {**found, **parse(name.text).parts}


def _other_errors(name: Name, said: str) -> str:
    """The errors of names to which a docstring refers, where neither it nor what the page quotes names them."""
    text = said + name.text.split(">>>")[0]
    more = sorted(error for error in all_errors(name) if error not in text and f"catad.{error}" in named())
    return "It may also raise " + ", ".join(f":py:obj:`{error} <catad.{error}>`" for error in more) + "." if more else ""


@cache
def all_errors(name: Name) -> frozenset[str]:
    """The errors in a docstring and in those to which it refers for more."""
    text = " ".join(name.text.split(">>>")[0].split())
    found = set(re.findall(r"`(\w*Error)`", text))
    others = re.findall(r"[Ee]rrors (?:of the operator )?(?:as|of) `(?:ct\.)?([\w.]+)`", text)
    for other in [*others, *left_to(text).values()]:
        there = named().get(f"catad.{other}")
        if there and there is not name and (other in others or left_to(text).get("Errors") == other):
            found |= all_errors(there)
    return frozenset(found)


# -- members of classes


def members(cls: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties with a docstring, of a class and of its bases in catad, in the order of the source."""
    seen = set()
    for base in cls.__mro__:
        if not base.__module__.startswith("catad"):
            continue
        for name, thing in vars(base).items():
            plain = thing.__func__ if isinstance(thing, (classmethod, staticmethod)) else thing
            hidden = name.startswith("_") or name in seen or (base is ct.D and name in OF_TERMS)
            if hidden or not (callable(plain) or hasattr(plain, "fget") or _cached(plain)):
                continue
            seen.add(name)
            if not isinstance(plain, type) and inspect.getdoc(plain):
                yield name, thing


def _cached(thing: Any) -> bool:
    return type(thing).__name__ == "cached_property"


def _members(name: Name) -> list[str]:
    """The methods and properties of a class, those with an example first; or of what a function gives."""
    lines: list[str] = []
    if name.kind in (Kind.CLASS, Kind.ERROR) and not name.same_as:
        found = sorted(members(name.value), key=lambda member: ">>>" not in (inspect.getdoc(member[1]) or ""))
        lines = [line for member, thing in found for line in ("", *_member(name.space, name.last, member, thing))]
        lines = [*_heading("Methods and properties", "-"), f".. py:currentmodule:: {name.space}", *lines] if lines else []
    for given in RESULTS.get(name.key, ()):
        module, _, last = given.path.rpartition(".")
        cls = getattr(import_module(module), last)
        there = dict(members(cls))
        doc = parse(inspect.getdoc(cls) or "")
        lines += [*_heading(f"What it gives: {last}", "-"), f".. py:currentmodule:: {module}", "", f".. py:class:: {last}", ""]
        lines += ["   " + rst(doc.summary, linker(module, cls))]
        lines += [line for member in given.members for line in ("", *_member(module, last, member, there[member]))] + [""]
    return ["", *lines]


def _member(space: str, owner: str, member: str, thing: Any) -> list[str]:
    plain = thing.__func__ if isinstance(thing, (classmethod, staticmethod)) else thing
    property_ = hasattr(plain, "fget") or _cached(plain)
    text = inspect.getdoc(plain) or ""
    doc = parse(text)
    if property_:
        head = [f".. py:property:: {owner}.{member}"]
    else:
        bound = r"^\(" if isinstance(thing, staticmethod) else r"^\((self|cls)(: [^,)]+)?(, )?"
        head = [f".. py:method:: {owner}.{member}{re.sub(bound, '(', signature(plain))}"]
        if isinstance(thing, (classmethod, staticmethod)):
            head.append(f"   :{type(thing).__name__}:")
    linked = linker(space, plain)
    body = [rst(doc.summary, linked), ""]
    for block in doc.blocks:
        body += _block(block, linked)
    body += [f":{part}: {rst(doc.parts[part], linked)}" for part in PARTS if part in doc.parts]
    for code in doc.examples:
        body += ["", *_code(code)]
    return [*head, "", *_indented(body)]


# -- examples and derivatives


def _code(text: str) -> list[str]:
    clean = re.sub(r"\s*# doctest: .*$", "", text, flags=re.MULTILINE)
    return [".. code-block:: pycon", "", *_indented(clean.splitlines())]


def _examples(doc: Doc) -> list[str]:
    return [line for code in doc.examples for line in (*_code(code), "")]


def _derivative(found: Shown, differentiated: bool) -> list[str]:
    title = "Derivative as a structure" if differentiated else "Structure"
    lines = ["", *_heading(title, "-"), *_code("\n".join([*(f">>> {line}" for line in found.lines), found.text]))]
    if found.picture:
        lines += ["", ".. raw:: html", "", *_indented([f'<div class="structure">{found.picture}</div>'])]
    return lines


# -- see also


def linker(space: str, thing: Any) -> Callable[[str], str | None]:
    """To which public name a piece of code in a docstring refers: `ct.scan`, `SpaceError`, or `ifft` in `catad.fft`."""
    try:
        parameters = set(inspect.signature(thing).parameters)
    except (TypeError, ValueError):
        parameters = set()

    def linked(code: str) -> str | None:
        path = refers(code)
        if path is None and code not in parameters and re.fullmatch(r"\w+", code):
            if space != "catad" and f"{space}.{code}" in named():
                path = f"{space}.{code}"
            elif code[:1].isupper() and len(code) > 1 and f"catad.{code}" in named():
                path = f"catad.{code}"
        return None if path is None or named()[path].value is thing else path

    return linked


def refers(code: str) -> str | None:
    """The public name of `ct.scan`, `catad.scan` or `ct.scan(ct.add, 0.0)`; None of any other code."""
    found = re.fullmatch(r"(?:ct|catad)\.([A-Za-z_][\w.]*)(\(.*\))?", code)
    if not found or (found[2] and not _one_call(found[2])):
        return None
    path = f"catad.{found[1]}"
    return path if path in named() else None


def _one_call(text: str) -> bool:
    """Whether the first parenthesis is closed by the last."""
    depth = 0
    for i, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return i == len(text) - 1
    return False


def group_of(name: Name) -> Group:
    return next(group for group in GROUPS if name.key in group.names)


def mentioned(name: Name) -> list[Name]:
    """The public names that a docstring mentions, in the order in which it does."""
    linked = linker(name.space, name.value)
    paths = [linked(code) for code in re.findall(r"`([^`]*)`", name.text.split(">>>")[0])]
    paths += [path for path in map(refers, re.findall(r"ct(?:\.[A-Za-z_]\w*)+", name.text)) if path]
    found = [named()[path] for path in dict.fromkeys(paths) if path and path != name.path]
    return [other for other in found if other.kind is not Kind.ERROR or name.kind is Kind.ERROR]


def nearest(name: Name) -> list[Name]:
    """The names of its group that stand nearest to a name, in their order."""
    names = group_of(name).names
    at = names.index(name.key)
    near = sorted((i for i in range(len(names)) if i != at), key=lambda i: (abs(i - at), i))[:NEAREST]
    return [named()[f"catad.{names[i]}"] for i in sorted(near)]


@cache
def guides() -> tuple[Guide, ...]:
    """The guides, the how-to pages, the pages on messages and the entries of the gallery, as texts."""
    files = [file for place in ("*.md", "how-to/*.md", "errors/*.md", "gallery/*.py") for file in sorted(DOCS.glob(place))]
    return tuple(
        Guide(
            f"/{'_generated/' if file.suffix == '.py' else ''}{file.relative_to(DOCS).with_suffix('').as_posix()}",
            file.read_text(encoding="utf-8"),
        )
        for file in files
        if file.stem != "index"
    )


def guides_on(name: Name) -> list[Guide]:
    """The guides that mention a name, those that do it most often first; only errors have pages on messages."""
    words = rf"{re.escape(name.short)}|{name.last}" if name.kind is Kind.ERROR else re.escape(name.short)
    mention = re.compile(rf"(?<![\w.])(?:{words})(?![\w]|\.[A-Za-z_])")
    counts = {guide: len(mention.findall(guide.text)) for guide in guides()}
    if name.kind is not Kind.ERROR:
        counts = {guide: count for guide, count in counts.items() if not guide.place.startswith("/errors/")}
    found = [guide for guide, count in counts.items() if count]
    return sorted(found, key=lambda guide: (guide.place.removeprefix("/") in INSIDE, -counts[guide]))


def _see_also(name: Name, source: str) -> list[str]:
    said = mentioned(name)
    near = [other for other in nearest(name) if other not in said]
    group = group_of(name)
    lines = ["", *_heading("See also", "-")]
    if said:
        lines += [f"- Mentioned above: {_names(said)}"]
    if near:
        lines += [f"- In :doc:`{group.title} <group-{group.slug}>`: {_names(near)}"]
    found = guides_on(name)
    for title, here in (("Guides", False), ("Gallery", True)):
        places = [guide.place for guide in found if guide.place.startswith("/_generated/") is here][:GUIDES]
        if places:
            lines += [f"- {title}: " + ", ".join(f":doc:`{place}`" for place in places)]
    path, line = name.source
    where = f"``{path}``" + (f", line {line}" if line else "")
    address = source.format(path=path, line=line or 1) if source else ""
    return [*lines, f"- Source: `{path} <{address}>`__" if address else f"- Source: {where}"]


def _names(names: list[Name]) -> str:
    return ", ".join(f":py:obj:`{other.short} <{other.path}>`" for other in names)


# -- groups


def _table(names: list[Name]) -> list[str]:
    """A table of names with the first sentence of each."""
    lines = [".. list-table::", "   :class: names", "   :widths: 30 70", ""]
    for name in names:
        summary = parse(name.text).summary
        lines += [f"   * - :py:obj:`{name.short} <{name.path}>`", f"     - {rst(summary, linker(name.space, name.value))}"]
    return lines


def group_page(group: Group) -> str:
    """The page of a group: its names, with what each is."""
    names = [named()[f"catad.{key}"] for key in group.names]
    lines = [*_heading(group.title, "="), rst(group.about, refers), "", *_table(names), "", ".. toctree::", "   :hidden:", ""]
    return "\n".join([*lines, *[f"   {name.short} <{name.page}>" for name in names]]) + "\n"


def index_page() -> str:
    """The page that lists the groups, and explains the types that signatures name."""
    lines = [
        *_heading("Public names", "="),
        f"The public names of catad {ct.__version__}, by topic. Code writes ``import catad as ct``. In a terminal,",
        "``help(ct.scan)`` shows the text of a page. :ref:`genindex` lists all names by the alphabet.",
        "",
        *[".. list-table::", "   :class: names", "   :widths: 30 70", ""],
    ]
    for group in GROUPS:
        lines += [f"   * - :doc:`group-{group.slug}`", f"     - {rst(group.about, refers)}"]
    lines += ["", ".. toctree::", "   :hidden:", "   :maxdepth: 1", "", *[f"   group-{group.slug}" for group in GROUPS]]
    lines += ["", *_heading("Types in signatures", "-"), "Signatures name these types, beside the classes of the reference:", ""]
    lines += [".. list-table::", "   :widths: 30 70", ""]
    for alias, meaning in ALIASES.items():
        lines += [f"   * - ``{alias}``", f"     - {rst(meaning, refers)}"]
    return "\n".join(lines) + "\n"

"""Pages for files outside docs/, and links that work on a code host and in the site alike.

`README.md`, `CONTRIBUTING.md` and the other pages of the root become pages in `docs/_generated/project/`, and every program of
`examples/` one in `docs/_generated/examples/`. A link to such a file becomes a link to its page, whose links and pictures
are relative to the file. Other generated pages may name the file that a reader would edit as `origin` in their metadata.

The address of the repository is `Repository` in `[project.urls]` of pyproject.toml, and nowhere else. The links "edit this page"
need it, and are left out without it. Links to files without a page lead there too, and without it they download the file.
"""

from __future__ import annotations

import ast
import os
import posixpath
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

PROJECT, EXAMPLES = "_generated/project", "_generated/examples"
EDIT = {"gitlab.com": "-/edit/main", "codeberg.org": "_edit/branch/main"}
BLOB = {"gitlab.com": "-/blob/main", "codeberg.org": "src/branch/main"}
PLACES = {  # of the pages of files, by how the path of a file begins
    "catad/index": "_generated/reference/index",
    "docs/gallery/": "_generated/gallery/",
    "docs/": "",
    "examples/": f"{EXAMPLES}/",
    "": f"{PROJECT}/",
}


def addresses(root: Path) -> dict[str, str]:
    """The addresses of the project, as pyproject.toml names them; it may name none."""
    file = root / "pyproject.toml"
    found: dict[str, str] = tomllib.loads(file.read_text(encoding="utf-8"))["project"].get("urls", {}) if file.exists() else {}
    return found


def address(app: Sphinx, path: str, *, edit: bool = False) -> str:
    """The address of a file of the repository on its code host, or nothing where the repository has none."""
    base = app.config.catad_repository.rstrip("/")
    places, usual = (EDIT, "edit/main") if edit else (BLOB, "blob/main")
    return f"{base}/{places.get(urlsplit(base).netloc, usual)}/{path}" if base else ""


def file_of(app: Sphinx, docname: str) -> str:
    """The file from which a page is made, relative to the root of the repository, or nothing where its name does not say."""
    for start, place in sorted(PLACES.items(), key=lambda item: -len(item[1])):
        for suffix in (".md", ".py"):
            path = start + docname.removeprefix(place) + suffix
            if docname.startswith(place) and (app.srcdir.parent / path).is_file():
                return path
    return ""


def page_of(app: Sphinx, path: str) -> str | None:
    """The page that shows a file or folder of the repository; that of the package is the reference of its public names."""
    name = path.removesuffix(".md").removesuffix(".py") + ("/index" if (app.srcdir.parent / path).is_dir() else "")
    start = next(start for start in PLACES if name.startswith(start))
    page = PLACES[start] + name.removeprefix(start)
    return page if page in app.env.found_docs else None


class Outside(SphinxTransform):
    """Links and pictures of a page, relative to the file from which it was made."""

    default_priority = 5

    def apply(self, **kwargs: Any) -> None:
        docname = self.env.docname
        here = posixpath.dirname(f"docs/{docname}")
        file = file_of(self.app, docname)
        folder = posixpath.dirname(file) if file else here
        for image in list(self.document.findall(nodes.image)):
            if "://" not in image["uri"] and folder != here:
                image["uri"] = posixpath.relpath(posixpath.join(folder, image["uri"]), here)
        for kind in (addnodes.pending_xref, addnodes.download_reference):
            for node in list(self.document.findall(kind)):
                if node.get("reftype") == "myst":
                    self.lead(node, docname, folder)

    def lead(self, node: nodes.Element, docname: str, folder: str) -> None:
        """Let a link lead to the page of a file, else to the file on the code host; a download stays where both are missing."""
        root = self.app.srcdir.parent
        if node.get("refdomain") == "doc":
            if node["reftarget"] in self.env.found_docs:
                return
            path, anchor = os.path.relpath(node["reftarget"], root) + ".md", node["reftargetid"]
        else:
            path, _, anchor = node["reftarget"].partition("#")
            path = posixpath.normpath(posixpath.join(folder, path))
        if not (root / path).exists():
            return
        new: nodes.Element
        if page := page_of(self.app, path):
            new = addnodes.pending_xref(refdomain="doc", reftype="myst", refexplicit=True, refdoc=docname)
            new["reftarget"], new["reftargetid"] = page, anchor or None
        elif url := address(self.app, path):
            new = nodes.reference(refuri=url)
        else:
            return
        new.source, new.line = node.source, node.line
        new += node.children
        node.replace_self(new)


def write(path: Path, text: str) -> Path:
    """Write a page if it says something new."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return path


def says(file: Path) -> str:
    """The first paragraph of the docstring of a program."""
    said = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return " ".join(said.split("\n\n")[0].split())


def example(file: Path, root: Path) -> str:
    """The page of a program: what its docstring says first, its picture if it has one, and its text."""
    path = file.relative_to(root).as_posix()
    here = posixpath.dirname(f"docs/_generated/{path}")
    place = posixpath.relpath(path, here)
    picture = f"docs/pictures/{file.stem}.svg"
    shown = ""
    if file.parent == root / "examples" and (root / picture).is_file():
        shown = f"![what {file.name} draws]({posixpath.relpath(picture, posixpath.dirname(path))})\n\n"
    return (
        f"# {file.name}\n\n{says(file)}\n\n{{download}}`{path} <{place}>`\n\n"
        f"{shown}```{{literalinclude}} {place}\n:language: python\n```\n"
    )


def listed(title: str, text: str, folder: Path, *entries: str) -> str:
    """A page that lists the programs of a folder, and other pages."""
    files = sorted(folder.glob("*.py"))
    lines = "\n".join(f"- [{file.name}]({file.stem}.md): {says(file)}" for file in files)
    names = "\n".join([*(file.stem for file in files), *entries])
    return f"# {title}\n\n{text}\n\n{lines}\n\n```{{toctree}}\n:hidden:\n\n{names}\n```\n"


def generate(app: Sphinx) -> None:
    """Write the pages of the files outside docs/, and remove those of files that are gone."""
    root, out = app.srcdir.parent, app.srcdir
    written = {write(out / PROJECT / file.name, file.read_text(encoding="utf-8")) for file in root.glob("*.md")}
    programs = root / "examples"
    for file in programs.rglob("*.py"):
        place = (out / EXAMPLES / file.relative_to(programs)).with_suffix(".md")
        written.add(write(place, example(file, root)))
    text = "Each program runs by itself: `python examples/NAME.py`. Those in [experiments](experiments/index.md) measure catad."
    races = listed("Experiments", "These programs measure catad, some of them beside other libraries.", programs / "experiments")
    written.add(write(out / EXAMPLES / "index.md", listed("Examples", text, programs, "experiments/index")))
    written.add(write(out / EXAMPLES / "experiments" / "index.md", races))
    for folder in (PROJECT, EXAMPLES):
        for page in set((out / folder).rglob("*.md")) - written:
            page.unlink()


def page_links(app: Sphinx, pagename: str, _template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Give a page the address of the repository, and that where its own file is edited."""
    path = file_of(app, pagename) or str(app.env.metadata[pagename].get("origin", "")) if doctree is not None else ""
    context["repository"] = app.config.catad_repository
    context["edit_url"] = address(app, path, edit=True) if path and not path.startswith("docs/_generated/") else ""


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_config_value("catad_repository", addresses(app.srcdir.parent).get("Repository", ""), "html", str)
    app.connect("builder-inited", generate, priority=400)
    app.connect("html-page-context", page_links, priority=100)
    app.add_transform(Outside)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

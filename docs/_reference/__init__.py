"""The reference of the public names, written from their docstrings: an extension of Sphinx.

`pages` writes one page a name and one a group to `docs/_generated/reference/` before Sphinx looks for files, and `links` makes
names in code, such as `ct.scan`, links to their pages. `python -m docs._reference` lists what docstrings lack.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the pages and the links with Sphinx."""
    from .links import PlainText, add_links, link_alias, outside

    app.add_transform(PlainText)
    app.connect("builder-inited", _write)
    app.connect("doctree-read", add_links)
    app.connect("missing-reference", link_alias)
    app.connect("warn-missing-reference", outside)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _write(app: Sphinx) -> None:
    from pathlib import Path

    from .links import FOLDER
    from .pages import write

    write(Path(app.srcdir) / FOLDER, _source(app))


def _source(app: Sphinx) -> str:
    """The address of a file of the source, with `{path}` and `{line}`; "" where the repository has none."""
    try:
        file = str(import_module("_links").address(app, "{path}"))
    except ModuleNotFoundError:
        return ""
    return f"{file}#L{{line}}" if file else ""

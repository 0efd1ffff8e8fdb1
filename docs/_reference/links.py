"""Public names in code, in any page, and types in signatures, as links into the reference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from docutils import nodes  # type: ignore[import-untyped]
from sphinx.transforms import SphinxTransform

from .aliases import ALIASES
from .names import named
from .pages import refers

if TYPE_CHECKING:
    from sphinx.addnodes import pending_xref
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

FOLDER = "_generated/reference"
"""Where the pages of the reference are, for Sphinx."""
ERRORS = {path.removeprefix("catad."): path for path, name in named().items() if path.endswith("Error")}


def add_links(app: Sphinx, tree: nodes.document) -> None:
    """Make `ct.scan`, `ct.sum()` and `SpaceError` in code links; not in titles, links and signatures."""
    from sphinx import addnodes

    own = app.env.docname.rpartition("/")[2] if app.env.docname.startswith(f"{FOLDER}/") else ""
    elsewhere = (nodes.title, nodes.reference, addnodes.pending_xref, addnodes.desc_signature)
    for literal in list(tree.findall(nodes.literal)):
        code = literal.astext()
        path = refers(code) or ERRORS.get(code)
        if path is None or named()[path].page == own or _within(literal, elsewhere):
            continue
        target = addnodes.pending_xref(
            "", refdomain="py", reftype="obj", reftarget=path, refdoc=app.env.docname, refspecific=False, refexplicit=True
        )
        literal.replace_self(target)
        target += literal


class PlainText(SphinxTransform):
    """Quotation marks and dots of docstrings stay as they are written: `J' J` is no apostrophe."""

    default_priority = 740  # before Sphinx makes typographic ones

    def apply(self, **kwargs: Any) -> None:
        if self.env.docname.startswith(f"{FOLDER}/"):
            self.document["support_smartquotes"] = False


def link_alias(app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.Element) -> nodes.Element | None:
    """A type that a signature names and that is no public name, as a link to the table that explains it."""
    if node.get("refdomain") != "py" or node.get("reftarget") not in ALIASES:
        return None
    from sphinx.util.nodes import make_refnode

    return make_refnode(app.builder, node["refdoc"], f"{FOLDER}/index", "types-in-signatures", content)


def outside(app: Sphinx, domain: object, node: pending_xref) -> bool | None:
    """Whether a name that leads nowhere is a type of Python in a signature, of which nothing is told."""
    return True if node.get("refdomain") == "py" and node.get("reftype") in ("class", "exc") else None


def _within(node: nodes.Node, kinds: tuple[type, ...]) -> bool:
    return node is not None and (isinstance(node, kinds) or _within(node.parent, kinds))

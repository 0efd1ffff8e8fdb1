"""String diagrams as SVG text.

Time runs from left to right. `compose` is side by side, `fork` splits a wire at a dot, `cross` is above each other, and a
rearrangement of tuples is drawn as wires alone (P. Selinger, A survey of graphical languages for monoidal categories, 2011).
A wire that nothing reads ends in a small ring.
"""

from __future__ import annotations

from collections.abc import Collection

from catad import errors
from catad.category.spaces import Space
from catad.category.terms import D
from catad.category.wiring import wire
from catad.drawing.graph import of_wiring
from catad.drawing.labels import space_label
from catad.drawing.of_program import of_program
from catad.drawing.render import render
from catad.drawing.untyped import of_term
from catad.traced.programs.program import Program


def draw(term: D, dom: Space | None = None, opened: bool | str | Collection[str] = False) -> str:
    """A string diagram as SVG text; with a domain, of the wiring there, with the spaces on the wires.

    Without a domain each part of the term is drawn where it stands; with one, shared work is drawn once. Long chains and
    wide layers keep their ends and say how much is left out. The same term always gives the same text. Raises `SpaceError`
    where the term cannot take the domain. Lengths are in pixels.

    >>> import catad as ct
    >>> ct.fork(ct.sin, ct.cos).draw(ct.f64[3]).count("<rect")
    2
    """
    program = getattr(term, "program", None)
    if dom is not None and program is not None:  # a traced function
        term = program(dom)
    if isinstance(term, Program):
        if dom is not None and dom != term.dom:
            raise errors.SpaceError(errors.not_in_domain(dom, term.dom, term))
        return render(of_program(term, opened), f"{term.title}: {space_label(term.dom)} -> {space_label(term.spaces(term.dom))}")
    if dom is None:
        return render(of_term(term), "string diagram")
    wiring = wire(term, dom)
    return render(of_wiring(wiring), f"string diagram: {space_label(dom)} -> {space_label(wiring.cod)}")

"""Which line of a traced program first made a NaN, and which line an error comes from.

The program is run once more, line by line, on the same arrays: loops step by step, and of branches the side that is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

import numpy as np

from catad import errors
from catad.category.spaces import flatten, mapped
from catad.category.terms import Compose, D, Fork
from catad.category.text import ordered
from catad.engine.program import run
from catad.errors.places import Place
from catad.traced.programs.program import Program, substituted
from catad.vector.loops.choose import Chosen
from catad.vector.loops.loop import WhileLoop
from catad.vector.loops.sweep import Swept

Watch = Callable[[D, Any, Any, "Place | None"], None]  # of a term, its argument, its result, and the place of its line


def run_watched(term: D, value: Any, watch: Watch, place: Place | None = None) -> Any:
    """The result of a term on arrays, with programs in it run line by line."""
    if isinstance(term, Program):
        return _lines(term, value, watch)
    if isinstance(term, Compose):
        for factor in term.factors:
            value = run_watched(factor, value, watch, place)
        return value
    if isinstance(term, Fork):
        return tuple([run_watched(part, value, watch, place) for part in term.children])
    if isinstance(term, Chosen):
        test, first, second = term.children
        return run_watched(first if bool(test(value)) else second, value, watch, place)
    if isinstance(term, WhileLoop):
        while bool(run_watched(term.children[0], value, watch, place)):
            value = run_watched(term.children[1], value, watch, place)
        return value
    if isinstance(term, Swept):
        return _steps(term, value, watch, place)
    try:
        made = term(value) if not isinstance(value, tuple) or value else run(term, ())
    except errors.CatadError as error:
        errors.show_source(error, place)
        raise
    watch(term, value, made, place)
    return made


def _lines(program: Program, value: Any, watch: Watch) -> Any:
    at = dict(enumerate(flatten(value)))
    for k, line in enumerate(program.lines):
        place = program.notes.places[k] if k < len(program.notes.places) else None
        made = run_watched(line.term, substituted(line.args, at), watch, place)
        at.update(zip(flatten(line.outs), flatten(made), strict=True))
    return substituted(program.result, at)


def _steps(term: Swept, value: Any, watch: Watch, place: Place | None) -> Any:
    """A loop, for its final state; its outputs are computed by the loop itself."""
    state, given, inputs = value
    for i in reversed(range(term.n)) if term.reverse else range(term.n):
        one = mapped(inputs, itemgetter(i))
        state = run_watched(term.children[0], (state, given, one), watch, place)[0]
    return state, term(value)[1]


def find_nans(program: D, value: Any) -> None:
    """Raise `NonFiniteError` at the first line that makes a NaN or an infinity of finite numbers."""

    def watch(term: D, argument: Any, result: Any, place: Place | None) -> None:
        given = flatten(argument)
        if given and all(map(_finite, given)) and not all(map(_finite, flatten(result))):
            what = (
                "NaN"
                if any(bool(np.isnan(leaf).any()) for leaf in flatten(result) if leaf.dtype.kind == "f")
                else "infinity"
            )
            raise errors.show_source(errors.NonFiniteError(errors.made_not_finite(what, term)), place)

    run_watched(program, value, watch)


def _finite(leaf: Any) -> bool:
    return leaf.dtype.kind != "f" or bool(np.isfinite(leaf).all())


def locate(error: errors.CatadError, program: D, value: Any) -> None:
    """Show in an error that a running program has raised the line of the user's source that it comes from."""
    try:
        run_watched(program, value, lambda *_: None)
    except errors.CatadError as found:
        if type(found) is type(error) and found.excerpt is not None:
            error.excerpt, error.called = found.excerpt, found.called


def place_of(program: Program, part: D) -> Place | None:
    """Where the line of a program, or of a program in it, stands in the user's source whose term has a part."""
    found: Place | None = None
    for line, place in zip(program.children, program.notes.places, strict=False):
        parts = ordered(line)
        if part in parts:
            inner = [place_of(one, part) for one in parts if isinstance(one, Program)]
            found = next(filter(None, inner), place)
    return found

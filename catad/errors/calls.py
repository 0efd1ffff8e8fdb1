"""Messages about calls of constructors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from inspect import Parameter

from catad.errors.base import abbreviated, text
from catad.errors.category import described


def wrong_call(
    name: str,
    parameters: Iterable[Parameter],
    call: str,
    arrays: int,
    terms: Sequence[object],
    misplaced: tuple[str, object] | None,
    said: str,
) -> str:
    """A constructor called with what does not belong there; `call` has only what does."""
    signature = ", ".join([p.name if p.default is p.empty else f"{p.name}={p.default!r}" for p in parameters])
    values = ", ".join("xyzuvw"[:arrays]) if arrays <= 6 else "x, ..."
    if arrays:
        do = f"write {call}({values})"
    elif terms:
        first = (
            abbreviated(terms[0], 40) if len(terms) == 1 else f"ct.fork({', '.join([abbreviated(t, 30) for t in terms])})"
        )
        do = f"to compose write {first} >> {call}"
    else:
        do = f"call it as {call}"
    at = said if misplaced is None else f"{_shown(misplaced[1])} for {misplaced[0]}"
    return text(
        f"{name} takes options and makes a morphism, and the arrays are given to that",
        given=at,
        expected=f"{name}({signature})",
        do=do,
    )


def _shown(thing: object) -> str:
    if isinstance(thing, (list, tuple)):
        return f"a {type(thing).__name__} of {len(thing)}: " + ", ".join([described(part) for part in thing[:2]])
    return described(thing)


def not_an_integer(what: str, value: object, least: int | None) -> str:
    if what == "an axis" and isinstance(value, (list, tuple)):
        return several_axes(value)
    return text(
        f"{what} is one integer" if least is None else f"{what} is an integer of at least {least}", given=described(value)
    )


def not_a_truth_value(what: str, value: object) -> str:
    return text(f"{what} is a truth value", given=f"{what}={abbreviated(value)}", expected="True or False")


def several_axes(axes: object) -> str:
    return text(
        "an axis is one integer",
        given=f"{abbreviated(axes)} of type {type(axes).__name__}",
        do="scan one axis after the other, or reshape them into one; folds and sums take several: ct.fold(op, e, axis=(0, 1))",
    )


def no_domain(term: object) -> str:
    return text(
        "the space of the argument is needed, or an example value",
        given="nothing",
        where=abbreviated(term, 80),
        do="name it: ct.wire(f, ct.f64[1000]), or with a value ct.wire(f, x)",
    )

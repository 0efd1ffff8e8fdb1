"""Messages of `catad.testing`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from catad.errors.base import abbreviated, defined, raised, text


def law_broken(law: str, equation: str, term: object, point: object, got: object, expected: object, off: object) -> str:
    return text(
        f"the law {law} does not hold: {equation}",
        given=f"got {abbreviated(got, 400)}{'' if off is None else f', off by {off}'}",
        expected=abbreviated(expected, 400),
        where=f"{defined(term, 200)}\n  at:       {abbreviated(point, 400)}",
    )


def law_raised(law: str, equation: str, term: object, point: object, error: BaseException) -> str:
    return text(
        f"the law {law} could not be evaluated: {equation}",
        given=raised(error),
        where=f"{defined(term, 200)}\n  at:       {abbreviated(point, 400)}",
    )


def needs_hypothesis(what: str) -> str:
    return text(f"catad.testing.{what} draws with Hypothesis, which is not installed", do="pip install hypothesis")


def unknown_check_mode(modes: object) -> str:
    return text("check_grads knows no such mode", given=abbreviated(modes), expected='"fwd" and "rev"')


def unknown_law(check: str, names: Sequence[str], known: Iterable[str]) -> str:
    return text(f"{check} knows no such law", given=", ".join(map(repr, names)), expected=", ".join(map(repr, known)))


def nothing_to_check(what: str) -> str:
    return text(f"{what} needs at least one value", given="none")

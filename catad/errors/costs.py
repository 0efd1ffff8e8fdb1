"""Messages about cost functions of plans, and about profiles of what kernels cost."""

from __future__ import annotations

from typing import Any

from catad.errors.base import abbreviated, raised, text


def bad_cost(value: object, first: object, second: object) -> str:
    return text(
        "a cost function returned no valid cost",
        given=abbreviated(value),
        expected="a number, at least 0 (infinity forbids a product)",
        where=_product(first, second),
    )


def cost_raised(error: Exception, first: object, second: object) -> str:
    return text(
        "a cost function raised an error",
        given=raised(error),
        expected="a number, at least 0 (infinity forbids a product)",
        where=_product(first, second),
    )


def cost_contradicts(before: object, now: object, first: object, second: object) -> str:
    return text(
        "a cost function contradicts itself",
        given=f"{now}, and {before} before",
        expected="the same number for the same two structures",
        where=_product(first, second),
    )


def _product(first: Any, second: Any) -> str:
    kinds = [f"{one.kind} ({one.rows} x {one.columns})" for one in (first, second)]
    return f"for the product {kinds[0]} >> {kinds[1]}"


def bad_profile(where: str, what: str) -> str:
    return text("a profile cannot be read", given=what, where=where, do="delete the file: it is measured again")

"""Messages about what a primitive or a family of linear maps that is written outside the package says, or leaves out."""

from __future__ import annotations

import inspect
from typing import Any

from catad.errors.base import abbreviated, defined, text

PAGE = "docs/extending.md"


def written_at(cls: type) -> str:
    """A class by its name and where it stands."""
    try:
        return f"{cls.__qualname__} at {inspect.getsourcefile(cls)}:{inspect.getsourcelines(cls)[1]}"
    except (OSError, TypeError):
        return f"{cls.__qualname__} of module {cls.__module__}"


def missing_method(kind: str, owner: object, name: str) -> str:
    """`owner` inherits a method, or a property, from its base that each class writes for itself."""
    cls = type(owner)
    base = next(c for c in cls.__mro__ if name in vars(c))
    found = vars(base)[name]
    method: Any = found.fget if isinstance(found, property) else found
    parameters = inspect.signature(method).parameters.values()
    signature = ", ".join([f"{'*' * (p.kind is p.VAR_POSITIONAL)}{p.name}" for p in parameters])
    meaning = (inspect.getdoc(method) or "").partition("\n")[0]
    return text(
        f"the {kind} {cls.__name__} has no method `{name}`",
        given=written_at(cls),
        expected=f"{name}({signature}): {meaning}",
        do=f"write the method; {PAGE} says what each one is for, and help(catad.primitive.{base.__name__}.{name}) what it returns"
        if kind == "primitive"
        else f"write the method; {PAGE} says what each one is for",
    )


def wrong_result_spaces(fn: object, given: object, expected: object) -> str:
    return text(
        "a function returned arrays that do not lie in the spaces that were stated for it",
        given=given,
        expected=expected,
        where=defined(fn),
        do="return arrays of that shape and dtype, or mend `spaces`",
    )


def not_spaces_of_results(fn: object, given: object) -> str:
    return text(
        "`spaces` says in which spaces the results lie, from those of the arguments",
        given=f"{abbreviated(given)} of type {type(given).__name__}",
        expected="a space (ct.f64[3]), or a tuple of spaces for several results",
        where=defined(fn),
    )


def takes_other_arguments(word: str, fn: object, taken: int | None, count: int) -> str:
    each = f"one for each argument{' and each result' if word == 'derivative' else ''} of the function"
    return text(
        f"`{word}` of a primitive takes other arguments than those of the function",
        given=f"a function of {taken} arguments",
        expected=f"{count}, {each}",
        where=defined(fn),
        do=f"write {word}(*arguments{', *results' if word == 'derivative' else ''})",
    )


def wrong_derivative(fn: object, given: object, dom: object, cod: object) -> str:
    return text(
        "the linear map that `derivative` returned does not fit the function",
        given=abbreviated(given),
        expected=f"a ct.LinearMap from the tangents of the arguments, {dom}, to those of the results, {cod}",
        where=defined(fn),
        do="floating arguments and results have tangents, in their order; integers have none",
    )


def wrong_partial_count(fn: object, given: int, expected: int) -> str:
    return text(
        "a pointwise function has one partial for each argument",
        given=f"{given} partials",
        expected=f"{expected}, one for each argument; None where it is zero",
        where=defined(fn),
    )


def ambiguous_products(first: type, second: type, rules: object) -> str:
    return text(
        f"ambiguous product rules for {first.__name__} and {second.__name__}: two fit equally well",
        given=rules,
        expected="one rule that is at least as special in both places as each other that fits",
        do=f"write the rule for the pair itself: @ct.linear.product_rule({first.__name__}, {second.__name__})",
    )


def two_product_rules(first: type, second: type) -> str:
    return text(f"there are two product rules for {first.__name__} >> {second.__name__}", do="keep one of them")


def product_rule_too_late(first: type, second: type, met: object) -> str:
    return text(
        "a product rule comes too late",
        given=f"a rule for {first.__name__} >> {second.__name__}",
        expected=f"rules before the first product: {met} have been multiplied already, and the result is kept",
        do="write product rules where the family is defined",
    )


def no_derivative_given(fn: object) -> str:
    return text(
        "a primitive from a function was given no derivative",
        given=defined(fn),
        do="give it: ct.primitive.function(fn, spaces, derivative), with derivative(*arguments, *results) a ct.LinearMap",
    )


def not_a_function_of_arrays(thing: object) -> str:
    return text(
        "a primitive is made of functions",
        given=f"{abbreviated(thing)} of type {type(thing).__name__}",
        expected="functions; help(ct.primitive) says which",
    )


def transpose_and_structure() -> str:
    return text(
        "a linear primitive is given by its transpose or by its structure, and both were given",
        do="ct.primitive.linear(fn, transpose, spaces) or ct.primitive.linear(fn, structure=...)",
    )


def linear_in_integers(fn: object, spaces: object) -> str:
    return text(
        "a function is linear between floating spaces",
        given=spaces,
        where=defined(fn),
        do="ct.primitive.function takes integers, too: its derivative is by the floating arguments",
    )


def not_vectorized(primitive: object, given: object, expected: object) -> str:
    return text(
        "a primitive that is said to be vectorized gives other results where all arguments have further leading axes",
        given=given,
        expected=f"{expected}: the same leading axes, then those of one result",
        where=abbreviated(primitive),
        do="leave out vectorized=True; a batch is then computed one index after the other",
    )


def wrong_structure(fn: object, given: object, ins: object) -> str:
    return text(
        "`structure` gives the linear map that the function applies",
        given=abbreviated(given),
        expected=f"a ct.LinearMap from {ins}",
        where=defined(fn),
    )


def wrong_source_count(structure: Any, given: int) -> str:
    return text(
        "a product or a sum says where each slot of its structure comes from",
        given=f"{given} source{'' if given == 1 else 's'}",
        expected=f"{len(structure.slots)}, one for each slot of a map of kind {structure.kind!r}",
        do="ct.linear.left(i), ct.linear.right(j), or a function (builder, slots of the first, slots of the second) -> wire",
    )


def incomplete_family(cls: type, missing: list[str]) -> str:
    return text(
        f"the family {cls.__name__} leaves out {', '.join(f'`{name}`' for name in missing)}",
        given=written_at(cls),
        expected="dom, cod and slots (tuples of spaces), apply(b, slots, xs), T, kind and nnz",
        do=f"write what is missing; {PAGE} says what each one is for",
    )

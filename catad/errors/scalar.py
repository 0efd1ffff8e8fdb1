"""Messages of the scalar language."""

from __future__ import annotations

from catad.errors.base import ScalarError, abbreviated, text


def integer_power() -> str:
    return text(
        "an integer to the power of an integer that is no constant",
        given="integer ** integer, whose value is no integer where the exponent is negative",
        do="write float(x) ** n, or a constant exponent",
    )


def bits_of_floats(op: str) -> str:
    return text(
        f"a bit operation on a float: {op}",
        expected="integers or truth values",
        do="write int(x), or and/or/not for conditions",
    )


def float_range(dtype: object) -> str:
    return text(
        "range() of a number that is no integer",
        given=f"a value of dtype {dtype}",
        expected="an integer",
        do="write range(int(n)), or pass n with an integer dtype",
    )


def unreadable(what: str, do: str | None, file: str, line: int, column: int, source: str) -> str:
    """`column` counts from 0, as Python's syntax trees do; messages count from 1, as editors do."""
    stripped = source.strip()
    caret = " " * (column - (len(source) - len(source.lstrip()))) + "^"
    pointed = f"{file}:{line}:{column + 1}\n            {stripped}\n            {caret}"
    return text(what, where=pointed, do=do)


def needs_tree(name: str) -> str:
    return text(
        f"{name} takes a parameter apart, but was read as a function of scalars",
        expected="one number a parameter",
        do="give a neutral element or arguments with the same nesting, so that the nesting is known",
    )


def not_a_scalar_function(thing: object) -> str:
    return text(
        "not a function that the scalar language knows",
        given=f"{abbreviated(thing)} of type {type(thing).__name__}",
        expected="a plain Python function, a function of math, operator, numpy or catad, or a scalar Function",
        do="write lambda x: ... around it, in terms of such functions",
    )


def unknown_arity(name: str) -> str:
    return text(
        f"{name} does not say how many arguments it takes",
        expected="a function whose parameters are named",
        do="write a lambda around it with the parameters written out, lambda x, y: ...",
    )


def captured_array(shape: object) -> str:
    return text(
        "an array inside a scalar function",
        given=f"an array of shape {shape}",
        expected="numbers",
        do="pass the array as an argument of the map, so that it is read element by element",
    )


def too_many_paths(name: str, cap: int) -> str:
    return text(
        f"{name} has no source, and tracing it found more than {cap} paths through its branches",
        do="put the function into a file so that its loop can be read",
    )


class CannotPrint(ScalarError):
    """A construct of the scalar language that one of its printers has no code for; `construct` names it."""

    __module__ = "catad.errors"

    def __init__(self, construct: str, why: str) -> None:
        super().__init__(text(f"no machine code for {construct}", given=why, do="run it on the reference engine"))
        self.construct, self.why = construct, why

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        return CannotPrint, (self.construct, self.why)

"""Messages of the scalar language."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

import numpy as np

from catad.errors.base import ScalarError, abbreviated, defined, text

_INSTEAD = {
    "comprehension": ("a comprehension", "write a for loop over range"),
    "generator expression": ("a generator expression", "write a for loop over range"),
    "set": ("a set", "use conditions on numbers"),
    "dictionary": ("a dictionary", "use if and else"),
    "await": ("await", "write a plain function"),
    "async function": ("an async function", "write a plain function"),
    "yield": ("yield", "write a plain function that returns a tuple"),
    "formatted string": ("a formatted string", "compute with numbers only"),
    "try": ("try", "test the arguments with if"),
    "with": ("with", "write plain statements"),
    "raise": ("raise", "return math.nan where the function has no value"),
    "global": ("global", "pass the value as a parameter and return the new one"),
    "nonlocal": ("nonlocal", "return the new value"),
    "class": ("a class", "use tuples"),
    "match": ("match", "use if and elif"),
    "del": ("del", "leave it out"),
}


def construct(what: str, kind: str = "statement") -> str:
    """A construct outside the scalar language: a name of the table, or else of Python's syntax or bytecode."""
    said, do = _INSTEAD.get(what, (f"this {kind} ({what})", "use assignments, if, loops, numbers and tuples"))
    return text(f"{said} cannot be read in a scalar function", do=do)


def changed_in_place() -> str:
    return text("only variables can be assigned", do="build a new tuple instead")


def double_star() -> str:
    return text("** in a call cannot be read", do="write the keywords out")


def decorated_inside() -> str:
    return text("a decorated function inside a scalar function", do="leave the decorator out")


def loop_without_end() -> str:
    return text("this loop has no end", do="give it a condition or a break")


def not_carried(name: str, reason: str) -> str:
    what = f"{name!r} cannot be carried through this loop: {reason}"
    return text(what, do="give it a number, or a tuple of one form, before the loop and in every step")


def nested_too_deeply() -> str:
    return text("nested too deeply to be read", do="use local variables, or a loop")


def relative_import() -> str:
    return text("a relative import inside a scalar function", do="import at the top of the file")


def returns_nothing(name: str, always: bool = True) -> str:
    what = "returns nothing" if always else "returns nothing on some path"
    return text(f"{name} {what}", do="end it with a return that every path reaches")


def assertion_on_data() -> str:
    return text(
        "an assert on numbers that are known only with the arrays",
        expected="an assert on constants: one on arrays cannot stop an array program at one element",
        do="leave it out and test the arrays before the call, or return math.nan where it would fail",
    )


def without_source(file: str, line: int | None, name: str) -> str:
    """The place of something in a function of which only the bytecode is known."""
    return f"{file}{'' if line is None else f':{line}'}, in {name}, which has no source"


def integer_power() -> str:
    return text(
        "an integer to the power of an integer that is not a constant",
        given="integer ** integer, whose value is not an integer where the exponent is negative",
        do="write float(x) ** n, or a constant exponent",
    )


_SYMBOLS = {"bitand": "&", "bitor": "|", "bitxor": "^", "invert": "~", "lshift": "<<", "rshift": ">>"}


def bits_of_floats(op: str) -> str:
    return text(
        f"a bit operation on a float: {_SYMBOLS.get(op, op)}",
        expected="integers or truth values",
        do="write int(x), or and/or/not for conditions",
    )


def bits_without_a_dtype(op: str, dtypes: Sequence[object]) -> str:
    return text(
        f"a bit operation on integers that no dtype has room for: {_SYMBOLS.get(op, op)}",
        given=" and ".join(map(str, dtypes)),
        do="convert one of them, e.g. np.int64(x)",
    )


def constant_out_of_range(value: object, dtype: object) -> str:
    return text(f"a constant that does not fit {dtype}", given=repr(value), do="convert the array, e.g. np.int64(x)")


def float_exponent(dtype: object) -> str:
    return text("ldexp with an exponent that is not an integer", given=dtype, do="write int(n)")


def float_range(dtype: object) -> str:
    return text(
        "range() of a number that is not an integer",
        given=f"a value of dtype {dtype}",
        expected="an integer",
        do="write range(int(n)), or pass n with an integer dtype",
    )


def range_of_data() -> str:
    return text(
        "a range whose length is known only with the arrays",
        expected="constant ends, or a for loop over it in a function that has source",
        do="put the function into a file, with a for loop over the range",
    )


def unreadable(what: str, do: str | None, file: str, line: int, column: int, source: str) -> str:
    """`column` counts from 0, as Python's syntax trees do; messages count from 1, as editors do."""
    stripped = source.strip()
    caret = " " * (column - (len(source) - len(source.lstrip()))) + "^"
    pointed = f"{file}:{line}:{column + 1}\n            {stripped}\n            {caret}"
    return text(what, where=pointed, do=do)


def needs_tree(name: str) -> str:
    return text(
        f"{name} unpacks a parameter, but was read as a function of scalars",
        expected="one number for each parameter",
        do="give a neutral element or arguments with the same nesting, so that the nesting is known",
    )


def not_a_scalar_function(thing: object) -> str:
    return text(
        "not a function that the scalar language knows",
        given=f"{abbreviated(thing)} of type {type(thing).__name__}",
        expected="a plain Python function, a function of math, operator, numpy or catad, or a scalar Function",
        do="write lambda x: ... around it, in terms of such functions",
    )


def unknown_arity(fn: object) -> str:
    return text(
        "a function that does not say how many arguments it takes",
        given=defined(fn),
        expected="a function whose parameters are named",
        do="write a lambda around it with the parameters written out, lambda x, y: ...",
    )


def no_parameters(fn: object) -> str:
    return text(
        "a scalar function without parameters",
        given=defined(fn),
        expected="one parameter for each array that it is mapped over",
        do="for a constant write ct.const(value)",
    )


def wrong_arity(fn: object, takes: str, given: int) -> str:
    return text(
        f"a function of {takes} where one of {given} is needed",
        given=defined(fn),
        expected=f"a function that can be called with {given} argument{'' if given == 1 else 's'}",
        do="write " + "lambda " + ", ".join((["a", "b", "c", "d", "e", "f", "g", "h"] * given)[:given]) + ": ... around it",
    )


def no_such_option(name: str, given: dict[str, object]) -> str:
    options = ", ".join(given)
    do = {"key": "compare with if and else, a if abs(a) > abs(b) else b", "dtype": "convert the result, np.float32(...)"}
    return text(
        f"{name}() with the argument {options}, which a scalar function cannot read",
        expected="its operands only",
        do=next((do[option] for option in given if option in do), "write what is meant with if, else and arithmetic"),
    )


def wrong_operand_count(name: str, given: int) -> str:
    return text(f"{name}() cannot be called with {given} argument{'' if given == 1 else 's'} here")


OF_ARRAYS = "a function of whole arrays is ct.function(fn), mapped over an axis ct.vmap(fn)"  # not the scalar function of ct.map


def array_function(name: str) -> str:
    return text(
        f"{name} works on arrays, and a scalar function sees one number at a time",
        do=f"{OF_ARRAYS}; or apply {name} outside the map, and pass its result as an argument",
    )


def attribute_of_number(name: str) -> str:
    of_arrays = name in dir(np.ndarray) and name not in dir(float)
    do = f"{OF_ARRAYS}; or do what needs the whole array outside the map" if of_arrays else "use a function"
    return text(f"numbers have no attribute {name!r} in a scalar function", do=do)


def complex_scalar(name: str = "") -> str:
    return text(
        f"{name or 'this'} takes real numbers",
        given="a complex number",
        do="take z.real, z.imag or abs(z); NumPy's functions and those of cmath take complex numbers",
    )


def complex_store(name: str) -> str:
    return text(
        f"a complex number is stored into {name}, a real array",
        do=f"store a part of it, z.real or z.imag, or pass a complex array for {name}",
    )


def complex_order(symbol: str) -> str:
    return text(f"complex numbers have no order: {symbol} between them", do="compare z.real, or abs(z)")


def changed_list() -> str:
    return text(
        "+= on a list changes it in place, under all its names",
        expected="values that do not change",
        do="write items = items + [x]",
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
        f"{name} has no source, and its bytecode has more than {cap} paths through its branches",
        do="put the function into a file so that its loop can be read",
    )


def needs_an_integer(value: object) -> str:
    return text("an integer is needed here", given=repr(value), do="write int(...)")


def constants_not_computed(op: str, values: Sequence[object], error: Exception) -> str:
    what = f"{_SYMBOLS.get(op, op)} of constants cannot be computed: {error}"
    return text(what, given=", ".join(map(repr, values)))


def wrong_scalar_count(name: str, given: int, expected: int) -> str:
    return text(f"{name} called with the wrong number of scalars", given=given, expected=expected)


def needs_a_scalar(what: str, instead: str | None = None) -> str:
    return text("a number is needed here", given=what, do=instead or "take the parts of tuples one by one")


def product_of_matrices() -> str:
    return text("@ is for arrays; a scalar function computes with numbers", do=f"write out the sum; {OF_ARRAYS}")


def is_of_numbers() -> str:
    return text("`is` compares objects, not numbers", do="write ==")


def in_no_tuple() -> str:
    return text("`in` needs a tuple of numbers", do="write comparisons joined by or")


def compared_tuples() -> str:
    return text("tuples cannot be compared", do="compare their parts one by one")


def no_attribute(owner: object, name: str) -> str:
    what = f"the module {owner.__name__}" if isinstance(owner, ModuleType) else abbreviated(owner)
    return text(f"{what} has no attribute {name!r}")


def index_on_data() -> str:
    return text("an index must be a constant integer", do="choose with if, or pass the element as an argument")


def no_such_part(index: int, count: int) -> str:
    return text(f"no part {index} of a tuple of {count}", expected=f"an index from {-count} to {count - 1}" if count else None)


def unequal_names(values: int, names: int, least: str = "") -> str:
    return text(f"{values} value{'' if values == 1 else 's'} for {least}{names} name{'' if names == 1 else 's'}")


def no_parts(what: str) -> str:
    return text(f"{what} has no parts", do="only tuples can be indexed and unpacked")


def unknown_bytecode(name: str, version: str) -> str:
    return text(
        f"{name} has no source, and the bytecode of Python {version} is not known",
        do="put the function into a file so that it can be read",
    )


def other_arguments(name: str, given: object, expected: object) -> str:
    return text(f"{name} is called with other arguments", given=given, expected=expected)


def range_arguments(given: int) -> str:
    return text("range takes one to three arguments", given=given)


def range_step() -> str:
    return text("the step of a range must be a constant other than 0")


def takes_keywords(name: str) -> str:
    return text(f"{name} takes ** keywords, which cannot be read", do="name its parameters")


def too_many_arguments(name: str, given: int, expected: int) -> str:
    return text(f"{name} is called with too many arguments", given=given, expected=expected)


def no_such_keyword(name: str, key: str) -> str:
    return text(f"{name} cannot take the argument {key!r}", expected="each parameter once, by its name or its place")


def missing_argument(name: str, missing: str, given: int) -> str:
    return text(f"{name} is called without the argument {missing!r}", given=f"{given} argument{'' if given == 1 else 's'}")


def digits_on_data() -> str:
    return text("round(x, digits) with digits that are no constant", do="write round(x * s) / s with s a power of ten")


def least_of_nothing() -> str:
    return text("min() or max() of nothing", expected="at least one number")


def modular_power() -> str:
    return text("pow with three arguments", do="write (x ** y) % m")


def unequal_branches(a: object, b: object) -> str:
    return text(
        "the two sides of a branch are nested differently",
        given=f"{abbreviated(a)} and {abbreviated(b)}",
        do="return a number on both sides, or tuples of one length",
    )


def no_such_bits(op: str, dtype: object, expected: str) -> str:
    return text(f"{op} of a number without such bits", given=f"dtype {dtype}", expected=expected)


def dtype_count(name: str, given: int, expected: int) -> str:
    return text(f"{name} needs one dtype for each parameter", given=given, expected=f"{expected} dtypes")


def no_real_dtype(dtype: object) -> str:
    return text("scalar functions are on real numbers", given=f"dtype {dtype}", expected="integers, floats or truth values")


def immutable(what: str, name: str) -> str:
    return text(f"{what} are immutable", given=f"an assignment to {name}")


def no_real_constant(value: object) -> str:
    return text("a constant that is no real number", given=abbreviated(value), expected="a Python or NumPy number")


def no_tree_of(what: str, have: object, tree: object) -> str:
    return text(f"a tree that does not fit the {what}", given=f"{have} {what}", expected=f"tree {tree!r}")


def false_assertion() -> str:
    return text("this assertion is false")


def undefined_name(name: str) -> str:
    return text(f"the name {name!r} is not defined", do="define it before the function is read, or pass it as an argument")


def not_yet_defined(name: str) -> str:
    return text(f"the enclosing function has not defined {name!r} yet", do="define it before the function is read")


def unfit_call(error: Exception) -> str:
    return text(f"this call does not fit: {error}")


def may_be_unbound(name: str, reason: str) -> str:
    return text(f"{name!r} may have no value here: {reason}", do="give it a value on every path")


def nested_calls(most: int, name: str) -> str:
    return text(f"calls nested more than {most} deep at {name}", do="write recursion as a loop")


def no_such_operation(op: str, given: int, arity: int | None) -> str:
    """`arity` is None where there is no operation of this name."""
    return text(
        f"no such operation: {op}" if arity is None else f"{op} with the wrong number of operands",
        given=f"{given} operand{'' if given == 1 else 's'}",
        expected="an operation of catad.scalar.ops.OPS" if arity is None else f"{arity}",
    )


class CannotPrint(ScalarError):
    """A construct of the scalar language that one of its printers has no code for; `construct` names it."""

    __module__ = "catad.errors"

    def __init__(self, construct: str, why: str) -> None:
        super().__init__(text(f"no machine code for {construct}", given=why, do="run it on the reference engine"))
        self.construct, self.why = construct, why

    def __reduce__(self) -> tuple[type, tuple[str, str], dict[str, object]]:
        return CannotPrint, (self.construct, self.why), self.__dict__

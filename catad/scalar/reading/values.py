"""The operations on the values of the reader, which reads syntax trees or bytecode.

A value is a node, a tuple of values, or any other Python object (a module, a function, a string), which can only be
called, asked for attributes or compared with constants.
"""

from __future__ import annotations

import operator
from collections.abc import Container
from typing import Any

from catad import errors
from catad.errors import NeedsTree, ScalarError
from catad.scalar.ir import Node, Pair, const
from catad.scalar.operators import OF_SYMBOL
from catad.scalar.pairs import callables as pairs
from catad.scalar.reading.callables import Listed, scalar
from catad.scalar.reading.frames import lifted
from catad.scalar.simplify import FALSE, apply, truth

_REFUSED = {  # what is no part of the language, as `errors.construct` has it: kinds of nodes, and instructions
    "comprehension": "ListComp LOAD_FAST_AND_CLEAR",
    "generator expression": "GeneratorExp",
    "set": "SetComp Set BUILD_SET SET_UPDATE SET_ADD",
    "dictionary": "DictComp Dict BUILD_MAP BUILD_CONST_KEY_MAP DICT_UPDATE MAP_ADD",
    "await": "Await AsyncFor AsyncWith GET_AWAITABLE GET_AITER GET_ANEXT BEFORE_ASYNC_WITH",
    "async function": "AsyncFunctionDef",
    "yield": "Yield YieldFrom YIELD_VALUE RETURN_GENERATOR GET_YIELD_FROM_ITER",
    "formatted string": """
        JoinedStr FORMAT_VALUE FORMAT_SIMPLE FORMAT_WITH_SPEC CONVERT_VALUE BUILD_STRING BUILD_TEMPLATE""",
    "try": "Try TryStar PUSH_EXC_INFO CHECK_EXC_MATCH RERAISE POP_EXCEPT",
    "with": "With BEFORE_WITH LOAD_SPECIAL",
    "raise": "Raise RAISE_VARARGS",
    "global": "Global STORE_GLOBAL DELETE_GLOBAL",
    "nonlocal": "Nonlocal DELETE_DEREF",
    "class": "ClassDef LOAD_BUILD_CLASS",
    "match": "Match MATCH_CLASS MATCH_MAPPING MATCH_SEQUENCE MATCH_KEYS GET_LEN",
    "del": "Delete DELETE_FAST DELETE_SUBSCR DELETE_ATTR",
}
_CONSTRUCT_OF = {name: what for what, names in _REFUSED.items() for name in names.split()}


def refused(name: str, kind: str) -> str:
    """The message for a node or an instruction that is no part of the language."""
    return errors.construct(_CONSTRUCT_OF.get(name, name), kind)


def is_scalar_like(value: Any) -> bool:
    """A number or a tuple: something computed with, unlike modules, functions and strings."""
    return isinstance(value, Node | tuple)


def number(value: Any) -> Node:
    """A value that must be a number."""
    if not isinstance(value, Node):
        raise ScalarError(errors.needs_a_scalar("a tuple" if isinstance(value, tuple) else repr(value)))
    return value


def unary(op: str, value: Any) -> Any:
    """`-a` and its like."""
    return pairs.operation(op, value) if isinstance(value, Pair) else apply(op, number(value))


def condition(value: Any) -> Node:
    """A value as a condition; what is no number is true or false while it is read."""
    if isinstance(value, Pair):
        return pairs.is_true(value)
    return truth(value) if isinstance(value, Node) else const(bool(value))


def arithmetic(symbol: str, a: Any, b: Any) -> Any:
    """`a + b`, `a += b` and their like; `+` joins tuples."""
    if symbol == "+=" and isinstance(a, Listed):
        raise ScalarError(errors.changed_list())
    op = OF_SYMBOL[symbol.removesuffix("=")].op
    if not op:
        raise ScalarError(errors.product_of_matrices())
    if isinstance(a, Pair) or isinstance(b, Pair):
        return pairs.operation(op, a, b)
    if isinstance(a, tuple) and isinstance(b, tuple) and op == "add":
        return Listed(a + b) if isinstance(a, Listed) else a + b
    return apply(op, scalar(a), scalar(b))


def compared(symbol: str, a: Any, b: Any) -> Node:
    """`a < b` and its like, `is`, `in` and their negations."""
    if symbol in ("is", "is not"):
        if isinstance(a, Node) and isinstance(b, Node):
            raise ScalarError(errors.is_of_numbers())
        return const((a is b) == (symbol == "is"))
    if symbol in ("in", "not in"):
        if not isinstance(b, tuple) or isinstance(b, Pair):
            raise ScalarError(errors.in_no_tuple())
        found = FALSE
        for one in b:
            found = apply("or", found, compared("==", a, one))
        return found if symbol == "in" else apply("not", found)
    op = OF_SYMBOL[symbol].op
    if not is_scalar_like(a) and not is_scalar_like(b):
        return const(bool(getattr(operator, op)(a, b)))
    if isinstance(a, Pair) or isinstance(b, Pair):
        if op not in ("eq", "ne"):
            raise ScalarError(errors.complex_order(symbol))
        equal: Node = pairs.operation(op, a, b)
        return equal
    if isinstance(a, tuple) or isinstance(b, tuple):
        raise ScalarError(errors.compared_tuples())
    return apply(op, scalar(a), scalar(b))


def attribute(owner: Any, name: str) -> Any:
    """`owner.name` of a module or another object."""
    if isinstance(owner, Node | Pair) and name in pairs.ATTRIBUTES:
        return pairs.ATTRIBUTES[name](owner)
    if is_scalar_like(owner):
        raise ScalarError(errors.attribute_of_number(name))
    try:
        found = getattr(owner, name)
    except AttributeError:
        raise ScalarError(errors.no_attribute(owner, name)) from None
    return lifted(found)


def whole(value: Any) -> int:
    """An index that must be known while reading."""
    if isinstance(value, Node) and value.op == "const" and value.kind in "ib":
        return int(value.value)
    raise ScalarError(errors.index_on_data())


def part(owner: tuple[Any, ...], index: int) -> Any:
    """`owner[index]`."""
    if not -len(owner) <= index < len(owner):
        raise ScalarError(errors.no_such_part(index, len(owner)))
    return owner[index]


def unpacked(parts: tuple[Any, ...], count: int, star: int | None) -> tuple[Any, ...]:
    """What so many names get of the parts of a tuple; the one at `star` gets all that the others leave."""
    if star is not None:
        if len(parts) < count - 1:
            raise ScalarError(errors.unequal_names(len(parts), count - 1, "at least "))
        cut = len(parts) - (count - star - 1)
        parts = (*parts[:star], tuple(parts[star:cut]), *parts[cut:])
    if len(parts) != count:
        raise ScalarError(errors.unequal_names(len(parts), count))
    return parts


def parts(value: Any, name: str, open_params: Container[Node]) -> tuple[Any, ...]:
    """The parts of a value that must be a tuple; asks for trees where it is a parameter of the function `name`."""
    if isinstance(value, tuple) and not isinstance(value, Pair):
        return value
    if isinstance(value, Node) and value in open_params:
        raise NeedsTree(errors.needs_tree(name))
    what = "a number" if isinstance(value, Node | Pair) else repr(value)
    raise ScalarError(errors.no_parts(what))

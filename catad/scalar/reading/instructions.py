"""The effects of the instructions of Python 3.11 to 3.14 on the machine of `bytecode.py`, one function for each kind.

A function returns None to go on, `(value,)` to return from the call, or a `Fork`. The machine rejects other instructions by
name.
"""

from __future__ import annotations

import dis
import importlib
import sys
from collections.abc import Callable
from dataclasses import replace
from types import CodeType
from typing import Any

from catad import errors
from catad.errors import ScalarError
from catad.scalar.reading import values
from catad.scalar.reading.bytecode import NULL, Fork, Iterator, Machine, iterated, refuse_kind
from catad.scalar.reading.callables import Listed
from catad.scalar.reading.frames import LocalFunction, lifted, look_up_outside
from catad.scalar.simplify import apply

SKIPPED = frozenset(
    [
        "NOP",
        "CACHE",
        "EXTENDED_ARG",
        "RESUME",
        "PRECALL",
        "MAKE_CELL",
        "COPY_FREE_VARS",
        "NOT_TAKEN",
        "END_FOR",
    ]
)
"""Instructions that do nothing to the values. (END_FOR: the iterator that it removes is removed when it is through.)"""

Doer = Callable[[Machine, dis.Instruction], Any]
DOERS: dict[str, Doer] = {}


def does(*names: str) -> Callable[[Doer], Doer]:
    def register(fn: Doer) -> Doer:
        DOERS.update(dict.fromkeys(names, fn))
        return fn

    return register


def do(m: Machine, one: dis.Instruction) -> Any:
    """Execute one instruction."""
    doer = DOERS.get(one.opname)
    if doer is None:
        raise ScalarError(values.refused(one.opname, "instruction"))
    return doer(m, one)


def _arg(one: dis.Instruction) -> int:
    assert one.arg is not None
    return one.arg


def _taken(m: Machine, n: int) -> list[Any]:
    """The topmost n values, in the order in which they were pushed."""
    taken = m.stack[len(m.stack) - n :]
    del m.stack[len(m.stack) - n :]
    return taken


def _parts(m: Machine, value: Any) -> tuple[Any, ...]:
    return values.parts(value, m.frame.name, m.reader.open_params)


# -- instructions that take some values and give one


def _subscript(m: Machine, one: dis.Instruction, owner: Any, index: Any) -> Any:
    parts = _parts(m, owner)
    if isinstance(index, slice):
        ends = (index.start, index.stop, index.step)
        cut = parts[slice(*[None if end is None else values.whole(lifted(end)) for end in ends])]
        return Listed(cut) if isinstance(parts, Listed) else cut
    return values.part(parts, values.whole(index))


def _binary(m: Machine, one: dis.Instruction, a: Any, b: Any) -> Any:
    return _subscript(m, one, a, b) if one.argrepr == "[]" else values.arithmetic(one.argrepr, a, b)


def _intrinsic(m: Machine, one: dis.Instruction, a: Any) -> Any:
    if one.argrepr.endswith("UNARY_POSITIVE") or one.arg == 5:
        return values.unary("pos", a)
    if one.argrepr.endswith("LIST_TO_TUPLE") or one.arg == 6:
        return tuple(a)
    raise ScalarError(errors.construct(one.argrepr or one.opname, "instruction"))


def _gives(n: int, names: str, value: Callable[..., Any]) -> None:
    """Instructions that take the n topmost values: `value` makes one of the machine, the instruction and these."""

    def doer(m: Machine, one: dis.Instruction) -> None:
        taken = _taken(m, n)
        m.stack.append(value(m, one, *taken))

    DOERS.update(dict.fromkeys(names.split(), doer))


_gives(0, "LOAD_CONST LOAD_SMALL_INT", lambda m, one: one.argval if isinstance(one.argval, CodeType) else lifted(one.argval))
_gives(0, "LOAD_CLOSURE PUSH_NULL", lambda m, one: NULL)
_gives(0, "LOAD_DEREF", lambda m, one: m.reader.meaning(one.argval))
_gives(0, "IMPORT_FROM", lambda m, one: values.attribute(m.stack[-1], one.argval))
_gives(0, "COPY", lambda m, one: m.stack[-_arg(one)])
_gives(0, "BUILD_TUPLE", lambda m, one: tuple(_taken(m, _arg(one))))
_gives(0, "BUILD_LIST", lambda m, one: Listed(_taken(m, _arg(one))))
_gives(0, "BUILD_SLICE", lambda m, one: slice(*_taken(m, _arg(one))))
_gives(1, "UNARY_NEGATIVE", lambda m, one, a: values.unary("neg", a))
_gives(1, "UNARY_POSITIVE", lambda m, one, a: values.unary("pos", a))
_gives(1, "UNARY_INVERT", lambda m, one, a: values.unary("invert", a))
_gives(1, "UNARY_NOT", lambda m, one, a: apply("not", values.condition(a)))
_gives(1, "TO_BOOL", lambda m, one, a: values.condition(a))
_gives(1, "LIST_TO_TUPLE", lambda m, one, a: tuple(a))
_gives(1, "CALL_INTRINSIC_1", _intrinsic)
_gives(1, "GET_ITER", lambda m, one, a: iterated(a, m))
_gives(2, "BINARY_OP", _binary)
_gives(2, "BINARY_SUBSCR", _subscript)
_gives(3, "BINARY_SLICE", lambda m, one, a, b, c: _subscript(m, one, a, slice(b, c)))
_gives(2, "COMPARE_OP", lambda m, one, a, b: values.compared(one.argval, a, b))
_gives(2, "IS_OP", lambda m, one, a, b: values.compared("is not" if one.arg else "is", a, b))
_gives(2, "CONTAINS_OP", lambda m, one, a, b: values.compared("not in" if one.arg else "in", a, b))
_gives(2, "SET_FUNCTION_ATTRIBUTE", lambda m, one, value, fn: replace(fn, defaults=value) if one.arg == 1 else fn)


# -- names


@does("RETURN_CONST")
def _(m: Machine, one: dis.Instruction) -> Any:
    return (lifted(one.argval),)


@does("LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW", "LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW_LOAD_FAST_BORROW")
def _(m: Machine, one: dis.Instruction) -> None:
    for name in one.argval if isinstance(one.argval, tuple) else (one.argval,):
        cell = name in m.code.co_cellvars or name in m.code.co_freevars
        m.stack.append(NULL if cell else m.reader.meaning(name))  # a cell is loaded for a function inside, which finds it by name


@does("STORE_FAST", "STORE_FAST_STORE_FAST")
def _(m: Machine, one: dis.Instruction) -> None:
    for name in one.argval if isinstance(one.argval, tuple) else (one.argval,):
        m.frame.env[name] = m.stack.pop()


@does("STORE_FAST_LOAD_FAST")
def _(m: Machine, one: dis.Instruction) -> None:
    stored, loaded = one.argval
    m.frame.env[stored] = m.stack.pop()
    m.stack.append(m.reader.meaning(loaded))


@does("STORE_DEREF")
def _(m: Machine, one: dis.Instruction) -> None:
    if one.argval not in m.code.co_cellvars:
        raise ScalarError(errors.construct("nonlocal"))
    m.frame.env[one.argval] = m.stack.pop()


@does("LOAD_GLOBAL")
def _(m: Machine, one: dis.Instruction) -> None:
    found, beside = m.reader.meaning(one.argval, look_up_outside), [NULL] * (_arg(one) & 1)
    m.stack.extend([found, *beside] if sys.version_info >= (3, 13) else [*beside, found])


@does("LOAD_ATTR", "LOAD_METHOD")
def _(m: Machine, one: dis.Instruction) -> None:
    found = values.attribute(m.stack.pop(), one.argval)
    method = one.opname == "LOAD_METHOD" or (sys.version_info >= (3, 12) and bool(_arg(one) & 1))
    beside = [NULL] * method
    m.stack.extend([found, *beside] if sys.version_info >= (3, 13) else [*beside, found])


@does("IMPORT_NAME")
def _(m: Machine, one: dis.Instruction) -> None:
    level, names = _taken(m, 2)
    if values.whole(level):
        raise ScalarError(errors.relative_import())
    module = importlib.import_module(one.argval)
    m.stack.append(module if names is not None else importlib.import_module(one.argval.partition(".")[0]))


@does("STORE_ATTR", "STORE_SUBSCR", "STORE_SLICE")
def _(m: Machine, one: dis.Instruction) -> None:
    raise ScalarError(errors.changed_in_place())


# -- the stack


@does("POP_TOP", "POP_ITER")
def _(m: Machine, one: dis.Instruction) -> None:
    m.stack.pop()


@does("SWAP")
def _(m: Machine, one: dis.Instruction) -> None:
    k = -_arg(one)
    m.stack[k], m.stack[-1] = m.stack[-1], m.stack[k]


# -- tuples


@does("LIST_EXTEND", "LIST_APPEND")
def _(m: Machine, one: dis.Instruction) -> None:
    if one.arg != 1:
        raise ScalarError(errors.construct("comprehension"))
    value = m.stack.pop()
    m.stack.append(Listed(m.stack.pop() + (_parts(m, value) if one.opname == "LIST_EXTEND" else (value,))))


@does("UNPACK_SEQUENCE")
def _(m: Machine, one: dis.Instruction) -> None:
    m.stack.extend(reversed(values.unpacked(_parts(m, m.stack.pop()), _arg(one), None)))


@does("UNPACK_EX")
def _(m: Machine, one: dis.Instruction) -> None:
    before, after = _arg(one) & 0xFF, _arg(one) >> 8
    m.stack.extend(reversed(values.unpacked(_parts(m, m.stack.pop()), before + 1 + after, before)))


# -- calls


@does("KW_NAMES")
def _(m: Machine, one: dis.Instruction) -> None:
    m.keywords = m.code.co_consts[_arg(one)]


@does("CALL", "CALL_KW")
def _(m: Machine, one: dis.Instruction) -> None:
    keywords = m.stack.pop() if one.opname == "CALL_KW" else m.keywords
    m.keywords = ()
    args = _taken(m, _arg(one))
    split = len(args) - len(keywords)
    _call(m, args[:split], dict(zip(keywords, args[split:], strict=True)))


@does("CALL_FUNCTION_EX")
def _(m: Machine, one: dis.Instruction) -> None:
    double = m.stack.pop() is not NULL if sys.version_info >= (3, 14) else bool(_arg(one) & 1)
    if double:
        raise ScalarError(errors.double_star())
    _call(m, list(_parts(m, m.stack.pop())), {})


def _call(m: Machine, args: list[Any], kwargs: dict[str, Any]) -> None:
    first, second = _taken(m, 2)
    if first is NULL:
        first = second
    elif second is not NULL:
        args = [second, *args]
    m.stack.append(m.reader.called(first, args, kwargs))


@does("MAKE_FUNCTION")
def _(m: Machine, one: dis.Instruction) -> None:
    code = m.stack.pop()
    flags = one.arg or 0
    given = {flag: m.stack.pop() for flag in (8, 4, 2, 1) if flags & flag}
    refuse_kind(code)
    m.stack.append(LocalFunction(code, m.frame, given.get(1, ()), {}))


# -- where to go on


@does("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT")
def _(m: Machine, one: dis.Instruction) -> None:
    m.at = m.place(one.argval)


_DIRECTIONS = ("", "FORWARD_", "BACKWARD_")


@does(*[f"POP_JUMP_{way}IF_{answer}" for way in _DIRECTIONS for answer in ("TRUE", "FALSE")])
def _(m: Machine, one: dis.Instruction) -> Fork | None:
    value = m.stack.pop()
    there, here = (list(m.stack), m.place(one.argval)), (list(m.stack), m.at)
    return m.branch(value, there, here) if one.opname.endswith("TRUE") else m.branch(value, here, there)


@does(*[f"POP_JUMP_{way}IF_{answer}" for way in _DIRECTIONS for answer in ("NONE", "NOT_NONE")])
def _(m: Machine, one: dis.Instruction) -> None:
    if (m.stack.pop() is None) != one.opname.endswith("NOT_NONE"):
        m.at = m.place(one.argval)


@does("JUMP_IF_TRUE_OR_POP", "JUMP_IF_FALSE_OR_POP")
def _(m: Machine, one: dis.Instruction) -> Fork | None:
    there, here = (list(m.stack), m.place(one.argval)), (m.stack[:-1], m.at)
    value = m.stack[-1]
    return m.branch(value, there, here) if one.opname == "JUMP_IF_TRUE_OR_POP" else m.branch(value, here, there)


@does("FOR_ITER")
def _(m: Machine, one: dis.Instruction) -> None:
    rest: Iterator = m.stack.pop()
    if rest.done < len(rest.items):
        m.stack.extend([Iterator(rest.items, rest.done + 1), rest.items[rest.done]])
        return
    m.at = m.place(one.argval)
    while m.listed[m.at].opname in ("END_FOR", "CACHE"):
        m.at += 1
    after = m.listed[m.at].opname
    if after == "POP_ITER" or (after == "POP_TOP" and sys.version_info[:2] == (3, 13)):
        m.at += 1  # it removes the iterator


@does("RETURN_VALUE")
def _(m: Machine, one: dis.Instruction) -> Any:
    return (m.stack.pop(),)


@does("LOAD_ASSERTION_ERROR", "LOAD_COMMON_CONSTANT")
def _(m: Machine, one: dis.Instruction) -> None:
    if one.opname == "LOAD_COMMON_CONSTANT" and one.arg != 0:
        raise ScalarError(errors.construct("generator expression"))
    m.stack.append(AssertionError)
    raise ScalarError(errors.false_assertion() if not m.known else errors.assertion_on_data())

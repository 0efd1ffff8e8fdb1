"""Reading expressions: from the syntax tree of a Python expression to nodes.

A value is a node, a tuple of values, or any other Python object (a module, a function, a string), which can only be
called, asked for attributes or compared with constants. Every error names the place in the user's file.
"""

from __future__ import annotations

import ast
import dis
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, TracebackType
from typing import Any

from catad import errors
from catad.errors import ScalarError, text
from catad.scalar.ir import Node
from catad.scalar.operators import OF_KIND
from catad.scalar.reading import values
from catad.scalar.reading.callables import Listed, select_values
from catad.scalar.reading.frames import Frame, LocalFunction, Unbound, lifted, look_up
from catad.scalar.reading.values import is_scalar_like
from catad.scalar.simplify import FALSE, TRUE, apply

UNARY: dict[type[ast.unaryop], str] = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert"}
OF_OBJECTS: dict[type[ast.AST], str] = {ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in"}


Piece = ast.AST | dis.Instruction | CodeType
"""A piece of a function, or a whole one without source."""


class _At:
    """The context of `Expressions.at`: entered for most pieces of a text, so it is no generator."""

    __slots__ = ("node", "reader")

    def __init__(self, reader: Expressions, node: Piece) -> None:
        self.reader, self.node = reader, node

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is not None:
            self.reader.place(self.node, error)


class Expressions:
    """Evaluates expressions in the current frame; `path` is the condition under which the code is reached."""

    frame: Frame
    path: Node
    open_params: set[Node]
    call: ast.Call | None = None  # the call that is made, once its arguments are read

    def call_value(self, thing: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        raise NotImplementedError

    def either(self, condition: Node, x: Any, y: Any, name: str) -> Any:
        raise NotImplementedError

    # -- errors

    def error(self, node: Piece, message: str, kind: type[ScalarError] = ScalarError) -> ScalarError:
        """An error whose message has the place of a piece of a function, before what to do."""
        what, _, rest = message.partition("\n  do:")
        frame, do = self.frame, rest.strip() or None
        if not isinstance(node, ast.AST):
            place = getattr(node, "positions", None)
            where = errors.without_source(frame.file, place and place.lineno, frame.name)
            made = kind(text(what, where=where, do=do))
        else:
            line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
            source = frame.lines[line - 1].rstrip("\n") if line <= len(frame.lines) else ""
            # columns of syntax trees count bytes
            column = len(source.encode()[:column].decode(errors="ignore"))
            made = kind(errors.unreadable(what, do, frame.file, line, column, source))
        made.located = True
        return made

    def refused(self, node: ast.AST, kind: str) -> ScalarError:
        """The error for syntax that is no part of the language."""
        return self.error(node, values.refused(type(node).__name__, kind))

    def at(self, node: Piece) -> _At:
        """Errors of what happens inside are given this place, unless they have one."""
        return _At(self, node)

    def place(self, node: Piece, error: BaseException) -> None:
        """Raise an error with a place instead of one that has none."""
        if isinstance(error, ScalarError) and not error.located:
            raise self.error(node, error.message, type(error)) from error
        if isinstance(error, RecursionError):
            raise self.error(node, errors.nested_too_deeply()) from error

    @contextmanager
    def under(self, condition: Node) -> Iterator[None]:
        """Inside, the code is reached only where the condition holds too."""
        before = self.path
        self.path = apply("and", before, condition)
        try:
            yield
        finally:
            self.path = before

    @contextmanager
    def operand(self, condition: Node) -> Iterator[None]:
        """The same for a part of an expression: a name that it binds keeps its value where the condition does not hold."""
        before, path = self.frame.env, self.path
        self.path = apply("and", path, condition)
        try:
            yield
        finally:
            self.path = path
        after = self.frame.env
        if after is not before:
            both = {name: old for name, old in before.items() if after[name] is not old and not isinstance(old, Unbound)}
            self.frame.env = {**after, **{name: self.either(condition, after[name], old, name) for name, old in both.items()}}

    # -- values

    def value(self, node: ast.expr) -> Any:
        """The value of an expression."""
        method: Callable[[Any], Any] | None = getattr(self, f"read_{type(node).__name__}", None)
        if method is None:
            raise self.refused(node, "expression")
        return method(node)

    def number(self, node: ast.expr) -> Node:
        """The value of an expression that must be a number."""
        value = self.value(node)
        with self.at(node):
            return values.number(value)

    def condition(self, node: ast.expr) -> Node:
        """An expression as a condition; `and` and `or` are then logic on truth values."""
        if isinstance(node, ast.BoolOp):
            both = isinstance(node.op, ast.And)
            result = self.condition(node.values[0])
            for part in node.values[1:]:
                if result is (FALSE if both else TRUE):
                    return result
                with self.operand(result if both else apply("not", result)):
                    result = apply("and" if both else "or", result, self.condition(part))
            return result
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return apply("not", self.condition(node.operand))
        return values.condition(self.value(node))

    def choice(self, node: ast.expr, condition: Node, a: Any, b: Any) -> Any:
        """`a if condition else b` on values."""
        if not is_scalar_like(a) and not is_scalar_like(b) and (a is b or a == b):
            return a
        with self.at(node):
            return select_values(condition, a, b)

    # -- one method a kind of expression

    def read_Constant(self, node: ast.Constant) -> Any:
        return lifted(node.value)

    def read_Name(self, node: ast.Name) -> Any:
        with self.at(node):
            return self.meaning(node.id)

    def meaning(self, name: str, find: Callable[[Frame, str], Any] = look_up) -> Any:
        """The value of a name."""
        try:
            value = find(self.frame, name)
        except KeyError:
            raise ScalarError(errors.undefined_name(name)) from None
        except ValueError:
            raise ScalarError(errors.not_yet_defined(name)) from None
        if isinstance(value, Unbound):
            raise ScalarError(errors.may_be_unbound(name, value.reason))
        return value

    def read_Tuple(self, node: ast.Tuple | ast.List) -> tuple[Any, ...]:
        parts: list[Any] = []
        for element in node.elts:
            if isinstance(element, ast.Starred):
                parts.extend(self.items(element.value))
            else:
                parts.append(self.value(element))
        return tuple(parts)

    def read_List(self, node: ast.List) -> tuple[Any, ...]:
        return Listed(self.read_Tuple(node))

    def read_BinOp(self, node: ast.BinOp) -> Any:
        """A long sum leans to the left; its spine is walked without recursion."""
        spine = [node]
        while isinstance(spine[-1].left, ast.BinOp):
            spine.append(spine[-1].left)
        value = self.value(spine[-1].left)
        for one in reversed(spine):
            value = self.binary(one, value, self.value(one.right))
        return value

    def binary(self, node: ast.BinOp, a: Any, b: Any) -> Any:
        """One arithmetic operation on values; `+` joins tuples."""
        with self.at(node):
            return values.arithmetic(OF_KIND[type(node.op)].symbol, a, b)

    def read_UnaryOp(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.Not):
            return self.condition(node)
        value = self.value(node.operand)
        with self.at(node):
            return values.unary(UNARY[type(node.op)], value)

    def read_BoolOp(self, node: ast.BoolOp) -> Any:
        """`a and b` is `b if a else a`: on truth values logic, on numbers Python's value."""
        both = isinstance(node.op, ast.And)
        result = self.value(node.values[0])
        for part in node.values[1:]:
            test = values.condition(result)
            if test.op == "const":
                result = self.value(part) if test.value == both else result
                continue
            with self.operand(test if both else apply("not", test)):
                other = self.value(part)
            result = self.choice(node, test, other, result) if both else self.choice(node, test, result, other)
        return result

    def read_Compare(self, node: ast.Compare) -> Any:
        left, result = self.value(node.left), TRUE
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            with self.operand(result):
                right = self.value(comparator)
            with self.at(node):
                symbol = OF_OBJECTS.get(type(op)) or OF_KIND[type(op)].symbol
                result = apply("and", result, values.compared(symbol, left, right))
            left = right
        return result

    def read_IfExp(self, node: ast.IfExp) -> Any:
        test = self.condition(node.test)
        if test.op == "const":
            return self.value(node.body if test.value else node.orelse)
        with self.operand(test):
            a = self.value(node.body)
        with self.operand(apply("not", test)):
            b = self.value(node.orelse)
        return self.choice(node, test, a, b)

    def read_NamedExpr(self, node: ast.NamedExpr) -> Any:
        value = self.value(node.value)
        self.frame.env = {**self.frame.env, node.target.id: value}  # another one, so that `operand` sees it
        return value

    def read_Lambda(self, node: ast.Lambda) -> LocalFunction:
        return self.local_function(node)

    def local_function(self, node: ast.Lambda | ast.FunctionDef) -> LocalFunction:
        """A nested function; its defaults are evaluated now, as in Python."""
        defaults = tuple([self.value(default) for default in node.args.defaults])
        pairs = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        keywords = {arg.arg: self.value(default) for arg, default in pairs if default is not None}
        return LocalFunction(node, self.frame, defaults, keywords)

    def read_Attribute(self, node: ast.Attribute) -> Any:
        owner = self.value(node.value)
        with self.at(node):
            return values.attribute(owner, node.attr)

    def read_Subscript(self, node: ast.Subscript) -> Any:
        return self.subscript(node, self.value(node.value))

    def subscript(self, node: ast.Subscript, value: Any) -> Any:
        """The part of a value that a subscript names."""
        owner = self.parts(node.value, value)
        if isinstance(node.slice, ast.Slice):
            ends = (node.slice.lower, node.slice.upper, node.slice.step)
            cut = owner[slice(*[None if end is None else self.whole(end) for end in ends])]
            return Listed(cut) if isinstance(owner, Listed) else cut
        index = self.whole(node.slice)
        with self.at(node):
            return values.part(owner, index)

    def whole(self, node: ast.expr) -> int:
        """An index that must be known while reading."""
        value = self.value(node)
        with self.at(node):
            return values.whole(value)

    def items(self, node: ast.expr) -> tuple[Any, ...]:
        """The parts of a value that must be a tuple."""
        return self.parts(node, self.value(node))

    def parts(self, node: ast.AST, value: Any) -> tuple[Any, ...]:
        """The parts of a value that must be a tuple; asks for trees where it is a parameter."""
        with self.at(node):
            return values.parts(value, self.frame.name, self.open_params)

    def read_Call(self, node: ast.Call) -> Any:
        thing = self.value(node.func)
        args: list[Any] = []
        for arg in node.args:
            if isinstance(arg, ast.Starred):
                args.extend(self.items(arg.value))
            else:
                args.append(self.value(arg))
        kwargs = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                with self.at(keyword.value):
                    raise ScalarError(errors.double_star())
            kwargs[keyword.arg] = self.value(keyword.value)
        with self.at(node):
            self.call = node
            return self.called(thing, args, kwargs)

    def called(self, thing: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """The value of a call."""
        try:
            return self.call_value(thing, args, kwargs)
        except (TypeError, ValueError, ArithmeticError) as error:  # of a function that is called while this one is read
            if isinstance(error, errors.CatadError):
                raise
            raise ScalarError(errors.unfit_call(error)) from error

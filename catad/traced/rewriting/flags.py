"""`break`, `continue` and `return` in loops as flags, so that every loop and every branch has one entry and one exit.

    for x in xs:                        stop = False
        if c: break           becomes   for x in xs:
        A                                   if not stop:
                                                if c: stop = True
                                                if not stop: A

What stands behind a jump runs where no flag is set. A `while` loop tests its flag; a `for` loop over Python things ends where a
flag is known to be set. A `return` in a loop is a flag, a value, and a `return` behind the outermost loop; behind `while True`
without `break` nothing else can follow.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from catad.scalar.reading.syntax_trees import assigned, at, with_test_inside
from catad.traced.rewriting.nodes import load

Fresh = Callable[[str], str]


class _Loop(NamedTuple):
    """The flags of a loop."""

    stop: str
    skip: str


def without_jumps(statements: Sequence[ast.stmt], fresh: Fresh) -> list[ast.stmt]:
    """The statements of a function, whose loops have no jumps any more."""
    return _Writer(fresh, _gives_values(statements)).block(list(statements), [])[0]


def _gives_values(statements: Sequence[ast.stmt]) -> bool:
    """True where a `return` has a value other than None."""
    stack: list[ast.AST] = list(statements)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Return) and _value(node) is not None:
            return True
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            stack.extend(ast.iter_child_nodes(node))
    return False


def _value(node: ast.Return) -> ast.expr | None:
    none = node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None)
    return None if none else node.value


class _Writer:
    def __init__(self, fresh: Fresh, values: bool) -> None:
        self.fresh, self.values = fresh, values
        self.returned, self.result = fresh("flag"), fresh("result")

    def block(self, statements: list[ast.stmt], loops: list[_Loop]) -> tuple[list[ast.stmt], set[str]]:
        """Some statements, and the flags that they may set."""
        out: list[ast.stmt] = []
        for k, statement in enumerate(statements):
            made, flags = self.statement(statement, loops)
            out += made
            if flags:
                rest, more = self.block(statements[k + 1 :], loops)
                jumps = isinstance(statement, (ast.Break, ast.Continue, ast.Return))
                if rest and not jumps:
                    out.append(at(ast.If(_none_of(sorted(flags)), rest, []), statements[k + 1]))
                return out, flags | more
        return out, set()

    def statement(self, node: ast.stmt, loops: list[_Loop]) -> tuple[list[ast.stmt], set[str]]:
        """One statement; jumps are those of the innermost loop."""
        if loops and isinstance(node, ast.Break):
            return [at(assigned(loops[-1].stop, True), node)], {loops[-1].stop}
        if loops and isinstance(node, ast.Continue):
            return [at(assigned(loops[-1].skip, True), node)], {loops[-1].skip}
        if loops and isinstance(node, ast.Return):
            value = node.value or ast.Constant(None)
            stored = [at(assigned(self.result, value), node)] if self.values else []
            return [*stored, at(assigned(self.returned, True), node)], {self.returned}
        if isinstance(node, (ast.For, ast.While)):
            return self.loop(node, loops)
        flags: set[str] = set()
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            for field in ("body", "orelse", "finalbody"):
                if isinstance(getattr(node, field, None), list):
                    made, more = self.block(getattr(node, field), loops)
                    setattr(node, field, made)
                    flags |= more
            for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
                part.body, more = self.block(part.body, loops)
                flags |= more
        return [node], flags

    def loop(self, node: ast.For | ast.While, loops: list[_Loop]) -> tuple[list[ast.stmt], set[str]]:
        """A loop whose jumps, and those of loops inside it, are flags."""
        if isinstance(node, ast.While):
            first, *rest = with_test_inside(node, self.fresh)
            if rest:
                return self.block([first, *rest], loops)
            assert isinstance(first, ast.While)
            node = first
        own = _Loop(self.fresh("flag"), self.fresh("flag"))
        always = isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and bool(node.test.value)
        body, flags = self.block(node.body, [*loops, own])
        orelse, further = self.block(node.orelse, loops)
        node.body, node.orelse = body, orelse
        if not flags:
            return [node], further
        stops = [name for name in (own.stop, self.returned) if name in flags]
        before = [assigned(name, False) for name in stops if name != self.returned or not loops]
        if own.skip in flags:
            node.body = [at(assigned(own.skip, False), node), *node.body]
        if stops and isinstance(node, ast.While):
            node.test = at(ast.BoolOp(ast.And(), [_none_of(stops), node.test]), node.test)
        elif stops:
            assert isinstance(node, ast.For)
            item = self.fresh("item")
            bound = at(ast.Assign([node.target], load(item)), node.target)
            guard: Any = at(ast.If(_none_of(stops), [bound, *node.body], []), node)
            guard.filled = [n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)]  # bound in the first step
            node.target = at(ast.Name(item, ast.Store()), node.target)
            node.body = [guard]
            node.stops = stops  # type: ignore[attr-defined]
        after: list[ast.stmt] = []
        up = {self.returned} & flags
        if up and not loops:
            made = ast.Return(load(self.result) if self.values else ast.Constant(None))
            endless = isinstance(node, ast.While) and always and own.stop not in flags
            after.append(made if endless else ast.If(load(self.returned), [made], []))
            up = set()
        if orelse and stops:
            node.orelse = []
            own_stops = stops if loops else [name for name in stops if name != self.returned]
            after += [ast.If(_none_of(own_stops), orelse, [])] if own_stops else orelse
        return [*[at(one, node) for one in before], node, *[at(one, node) for one in after]], up | further


def _none_of(names: Sequence[str]) -> ast.expr:
    """No flag is set."""
    parts: list[ast.expr] = [ast.UnaryOp(ast.Not(), load(name)) for name in names]
    return parts[0] if len(parts) == 1 else ast.BoolOp(ast.And(), parts)

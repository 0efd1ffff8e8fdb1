"""Rewriting a function so that its calls, its indexing and its control flow ask a driver.

The statements of the function keep their places, and run as Python. Only these change, where `__catad__` is the driver
(`traced/trace.py`):

    f(x)                        __catad__.call(f, x)
    a[k], a[k] = v, a[k] += v   __catad__.getitem, setitem, aug_item
    x += v                      x = __catad__.aug("add", x, v)
    a and b, a or b, not a      __catad__.and_, or_, not_ of functions without arguments
    a if c else b, a < b < c    __catad__.either, chain
    if, while, for              a loop that asks the driver how often, and with which values of the names that it binds

`break`, `continue` and `return` in loops become flags first (`flags.py`), so that what remains has one entry and one exit.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from types import CellType, CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from catad import errors
from catad.scalar.operators import OF_KIND
from catad.scalar.reading.find_source import find_source, imports_of
from catad.scalar.reading.syntax_trees import assigned, contains, names_bound
from catad.support.lru import Recent
from catad.traced.control.list_appends import FreshLists, appends_behind
from catad.traced.rewriting.exits import with_one_exit
from catad.traced.rewriting.flags import without_jumps
from catad.traced.rewriting.nodes import (
    DRIVER,
    asked,
    attribute,
    augmented_only,
    caught,
    changing,
    done,
    key_of,
    later,
    load,
    method,
    new,
    reads_of,
    texts,
    used_up,
    with_names,
)  # fmt: skip

if TYPE_CHECKING:
    from catad.traced.trace import Driver

_SEES_ITS_CALLER = ("super", "locals", "globals", "vars", "eval", "exec", DRIVER)  # they are called where they stand
_UNMERGED = (ast.Return, ast.Break, ast.Continue, ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal,
             ast.Import, ast.ImportFrom, ast.ClassDef, ast.AsyncFor, ast.AsyncWith, ast.AsyncFunctionDef)  # fmt: skip


_NO_TYPES: Any = {"type_params": []} if "type_params" in ast.FunctionDef._fields else {}  # since Python 3.12


def rewritten(function: FunctionType, driver: Driver) -> FunctionType | None:
    """The function with a driver in it; None where there is no source."""
    driver.followed.add(function)
    made = _rewritten_code(function)
    if made is None:
        if not driver.outside:
            return None
        made = function.__code__
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    cells = {name: driver.outside.get(id(cell), cell) for name, cell in cells.items()}
    scope = driver.outside.get(id(function.__globals__), function.__globals__)
    closure = tuple([CellType(driver) if name == DRIVER else cells[name] for name in made.co_freevars])
    copy = FunctionType(made, scope, function.__name__, function.__defaults__, closure)
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__qualname__ = function.__qualname__
    return copy


def has_source(function: FunctionType) -> bool:
    """True for a function that can be rewritten."""
    return _rewritten_code(function) is not None


_codes: Recent[tuple[CodeType, str], tuple[CodeType | None]] = Recent(1024)  # equal code may stand in several files


def _rewritten_code(function: FunctionType) -> CodeType | None:
    key = function.__code__, function.__code__.co_filename
    made = _codes.get(key)
    if made is None:
        made = _codes[key] = (_make(function),)
    return made[0]


def _make(function: FunctionType) -> CodeType | None:
    found = find_source(function)
    if found is None:
        return None
    definition = _copy(found[0])
    code = function.__code__
    if isinstance(definition, ast.Lambda):
        body: list[ast.stmt] = [ast.copy_location(ast.Return(definition.body), definition.body)]
        definition = ast.copy_location(
            ast.FunctionDef(name="<lambda>", args=definition.args, body=body, decorator_list=[], **_NO_TYPES), definition
        )
    definition.name = "__catad_rewritten"  # so that a function that calls itself finds itself where it found itself before
    definition.decorator_list = []
    definition.returns = None
    _without_defaults(definition.args)
    definition.body = Rewriter().function_body(definition)
    names = [*code.co_freevars, DRIVER]
    outer = ast.FunctionDef(
        name="_outer",
        args=ast.arguments(
            posonlyargs=[], args=[ast.arg(name) for name in names], kwonlyargs=[], kw_defaults=[], defaults=[]
        ),
        body=[definition, ast.Return(ast.Name(definition.name, ast.Load()))],
        decorator_list=[],
        **_NO_TYPES,
    )
    module = ast.Module([*_copy(imports_of(function)), outer], [])  # not run: so functions inside are compiled to what they are
    ast.fix_missing_locations(module)
    try:
        compiled = compile(module, code.co_filename, "exec", code.co_flags & 0x1000000, dont_inherit=True)
    except SyntaxError as error:  # Python nests twenty blocks at most, and a loop here is two
        raise errors.TraceError(errors.nested_too_deep(function, error)) from None
    (outer_code,) = [one for one in compiled.co_consts if isinstance(one, CodeType) and one.co_name == "_outer"]
    (made,) = [one for one in outer_code.co_consts if isinstance(one, CodeType) and one.co_name == definition.name]
    return made.replace(co_name=code.co_name, co_qualname=code.co_qualname)


def _copy(node: Any) -> Any:
    """A copy of a syntax tree that may be changed."""
    if isinstance(node, list):
        return [_copy(one) for one in node]
    if not isinstance(node, ast.AST):
        return node
    made = type(node)(**{name: _copy(value) for name, value in ast.iter_fields(node)})
    return ast.copy_location(made, node)


def _without_defaults(args: ast.arguments) -> None:
    """Defaults are on the function, and need not be computed again."""
    args.defaults = [ast.Constant(None) for _ in args.defaults]
    args.kw_defaults = [None if one is None else ast.Constant(None) for one in args.kw_defaults]
    for arg in ast.walk(args):
        if isinstance(arg, ast.arg):
            arg.annotation = None


class Rewriter(ast.NodeTransformer):
    """See the module."""

    def __init__(self) -> None:
        self.count = 0
        self.whole: ast.AST = ast.Module([], [])  # the function around
        self.reads: list[tuple[ast.AST, str]] = []  # where it reads which names
        self.declared: set[str] = set()
        self.guarded = False  # an exception is caught around

    def function_body(self, node: ast.FunctionDef) -> list[ast.stmt]:
        """The statements of a function, rewritten."""
        outer, self.declared = (
            self.declared,
            {name for n in ast.walk(node) if isinstance(n, (ast.Global, ast.Nonlocal)) for name in n.names},
        )
        before, self.whole, self.guarded = (self.whole, self.reads, self.guarded), node, False
        changes = contains(node.body, (ast.Global, ast.Nonlocal))
        body = with_one_exit(without_jumps(appends_behind(node.body, self.fresh), self.fresh), self.fresh)
        self.reads = reads_of(body)
        made = self.block(body)
        self.declared, (self.whole, self.reads, self.guarded) = outer, before
        return [changing(node), *made] if changes else made

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Some statements, rewritten."""
        out: list[ast.stmt] = []
        lists = FreshLists(self.whole, self.declared)
        for statement in statements:
            filled = lists.before(statement)
            lists.after(statement)
            if filled:
                statement.filled_lists = filled  # type: ignore[attr-defined]
            made = self.visit(statement)
            out += made if isinstance(made, list) else [made]
        return out

    def fresh(self, what: str) -> str:
        """A name that no user has."""
        self.count += 1
        return f"__catad_{what}{self.count}"

    # -- expressions

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in _SEES_ITS_CALLER:
            return node
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name) and node.func.value.id == DRIVER:
            return node
        return ast.copy_location(ast.Call(attribute(DRIVER, "call"), [node.func, *node.args], node.keywords), node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            return node
        return asked(node, "getitem", node.value, key_of(node.slice))

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        if contains(node.values, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)):
            self.generic_visit(node)
            return node
        self.generic_visit(node)
        return asked(node, "and_" if isinstance(node.op, ast.And) else "or_", *[later(value) for value in node.values])

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        return asked(node, "not_", node.operand) if isinstance(node.op, ast.Not) else node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        plain = contains([node], (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom))
        self.generic_visit(node)
        return node if plain else asked(node, "either", node.test, later(node.body), later(node.orelse))

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        plain = contains([node], (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom))
        self.generic_visit(node)
        if len(node.ops) == 1 or plain or not all(type(op) in OF_KIND for op in node.ops):
            return node
        pairs: list[ast.expr] = []
        for op, right in zip(node.ops, node.comparators, strict=True):
            pairs += [ast.Constant(OF_KIND[type(op)].function), later(right)]
        return asked(node, "chain", node.left, *pairs)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:
        node.value = with_names(node.target, self.visit(node.value))
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        self.defaults(node.args)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        node.decorator_list = [self.visit(one) for one in node.decorator_list]
        self.defaults(node.args)
        return node

    def defaults(self, args: ast.arguments) -> None:
        """The defaults of a function that is made here. Its body stays: it is rewritten when it is called
        (`traced/inlining.py`)."""
        args.defaults = [self.visit(one) for one in args.defaults]
        args.kw_defaults = [one and self.visit(one) for one in args.kw_defaults]

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef | ast.ClassDef) -> ast.stmt:
        return node

    visit_ClassDef = visit_AsyncFunctionDef

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.expr:
        self.generic_visit(node)
        return asked(node, "iterator", node)

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:
        first = node.generators[0]
        plain = len(node.generators) > 1 or first.ifs or first.is_async or contains([node], (*_UNMERGED, ast.NamedExpr))
        self.generic_visit(node)
        if plain:
            return new(node)
        items, first.iter = first.iter, load("__catad_items")
        made = later(node)
        made.args.args = [ast.arg("__catad_items")]
        return asked(node, "comprehended", items, made)

    def visit_List(self, node: ast.List) -> ast.expr:
        return self.made(node) if isinstance(node.ctx, ast.Load) else node

    def made(self, node: Any) -> ast.expr:
        """A list, a dict or a set: what is made here may be changed here."""
        self.generic_visit(node)
        return new(node)

    visit_Dict = visit_Set = visit_DictComp = visit_SetComp = made

    def visit_comprehension(self, node: ast.comprehension) -> ast.comprehension:
        self.generic_visit(node)
        node.iter = used_up(node.iter)
        return node

    def visit_Starred(self, node: ast.Starred) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            node.value = used_up(node.value)
        return node

    # -- statements that store

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | list[ast.stmt]:
        node.value = self.visit(node.value)
        node.value = with_names(node.targets[0], node.value)
        if all(isinstance(target, ast.Name) for target in node.targets):
            return node
        if len(node.targets) == 1 and isinstance(node.targets[0], (ast.Subscript, ast.Attribute)):
            return self.store(node.targets[0], node.value, node)
        if any(isinstance(target, (ast.Tuple, ast.List)) for target in node.targets):
            node.value = used_up(node.value)
        name = self.fresh("value")
        first = ast.copy_location(assigned(name, node.value), node)
        return [first, *[part for target in node.targets for part in self.unpack(target, load(name), node)]]

    def unpack(self, target: ast.expr, value: ast.expr, node: ast.stmt) -> list[ast.stmt]:
        """`target = value`, with stores into items and attributes inside it through the driver."""
        if isinstance(target, (ast.Subscript, ast.Attribute)):
            made = self.store(target, value, node)
            return made if isinstance(made, list) else [made]
        if isinstance(target, (ast.Tuple, ast.List)) and contains([target], (ast.Subscript, ast.Attribute)):
            names, later = [], []
            for part in target.elts:
                inner = part.value if isinstance(part, ast.Starred) else part
                if isinstance(inner, ast.Name):
                    names.append(part)
                    continue
                name = self.fresh("part")
                stored: ast.expr = ast.Name(name, ast.Store())
                names.append(ast.Starred(stored, ast.Store()) if isinstance(part, ast.Starred) else stored)
                later += self.unpack(inner, load(name), node)
            first: ast.stmt = ast.copy_location(ast.Assign([ast.Tuple(names, ast.Store())], value), node)
            return [first, *later]
        return [ast.copy_location(ast.Assign([target], with_names(target, value)), node)]

    def store(self, target: ast.expr, value: ast.expr, node: ast.stmt) -> ast.stmt | list[ast.stmt]:
        """`target = value` for an item or an attribute."""
        if isinstance(target, ast.Subscript):
            return done(node, "setitem", self.visit(target.value), key_of(self.visit(target.slice)), value)
        assert isinstance(target, ast.Attribute)
        return done(node, "setattr_", self.visit(target.value), ast.Constant(target.attr), value)

    def visit_Delete(self, node: ast.Delete) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        return node if all(isinstance(target, ast.Name) for target in node.targets) else [changing(node), node]

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        op, value = ast.Constant(OF_KIND[type(node.op)].function), self.visit(node.value)
        target = node.target
        if isinstance(target, ast.Name):
            made = with_names(target, asked(node, "aug", op, load(target.id), value))
            return ast.copy_location(ast.Assign([target], made), node)
        if isinstance(target, ast.Subscript):
            return done(node, "aug_item", op, self.visit(target.value), key_of(self.visit(target.slice)), value)
        return done(node, "aug_attr", op, self.visit(target.value), ast.Constant(target.attr), value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt | list[ast.stmt]:
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return self.visit_Assign(ast.copy_location(ast.Assign([node.target], node.value), node))

    # -- control flow

    def visit_Try(self, node: ast.Try | ast.TryStar) -> list[ast.stmt]:
        leaves = any(isinstance(one, (ast.Return, ast.Break, ast.Continue)) for last in node.finalbody for one in ast.walk(last))
        self.generic_blocks(node)
        if not node.handlers and not leaves:
            return [node]
        region = self.fresh("region")
        if leaves:  # no exception passes
            node.finalbody = [caught(region, node.finalbody[0]), *node.finalbody]
        for handler in node.handlers:
            handler.body = [caught(region, handler), *handler.body]
        return [ast.copy_location(assigned(region, method(DRIVER, "region")), node), node]

    visit_TryStar = visit_Try

    def visit_With(self, node: ast.With) -> list[ast.stmt]:
        node.items = [self.visit(item) for item in node.items]
        for item in node.items:
            item.context_expr = asked(item.context_expr, "managed", item.context_expr)
        node.body = self.block(node.body)
        region = self.fresh("region")
        return [ast.copy_location(assigned(region, method(DRIVER, "region")), node), node, caught(region, node)]

    def generic_blocks(self, node: ast.Try | ast.TryStar) -> None:
        """Rewrite the blocks of a statement."""
        outer, self.guarded = self.guarded, self.guarded or bool(node.handlers)
        node.body, self.guarded = self.block(node.body), outer
        node.orelse, node.finalbody = self.block(node.orelse), self.block(node.finalbody)
        for handler in node.handlers:
            handler.type = handler.type and self.visit(handler.type)
            handler.body = self.block(handler.body)

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        self.generic_visit(node)
        node.test = asked(node.test, "checked", later(node.test))
        return node

    def visit_If(self, node: ast.If) -> ast.stmt | list[ast.stmt]:
        sides = [*node.body, *node.orelse]
        names = names_bound(sides)
        if contains(sides, _UNMERGED) or not self.declared.isdisjoint(names):
            node.test = self.visit(node.test)
            node.body, node.orelse = self.block(node.body), self.block(node.orelse)
            return node
        branch = self.fresh("branch")
        filled = [name for name in names if name in getattr(node, "filled", ()) or name.startswith("__catad_result")]
        kept = [name for name in names if name in getattr(node, "kept", names)]
        said = texts(names), texts(kept), texts(filled)
        start = assigned(branch, asked(node.test, "branch", self.visit(node.test), *said))
        again = ast.If(attribute(branch, "again"), self.restored(branch, "before", names), []) if names else ast.Pass()
        body = ast.If(attribute(branch, "taken"), self.block(node.body), self.block(node.orelse))
        leave = ast.Expr(method(branch, "leave"))
        loop = ast.While(method(branch, "side"), [again, body, leave], [])
        after = [ast.If(attribute(branch, "merged"), self.restored(branch, "after", kept), [])] if kept else []
        return [ast.copy_location(one, node) for one in (start, loop, *after)]

    def restored(self, driver: str, which: str, names: Sequence[str]) -> list[ast.stmt]:
        """`name = driver.method(name)` for each name; the name is unbound where there is no value."""
        out: list[ast.stmt] = []
        for name in names:
            out.append(assigned(name, method(driver, which, ast.Constant(name))))
            missing = ast.Compare(load(name), [ast.Is()], [attribute(DRIVER, "unbound")])
            out.append(ast.If(missing, [ast.Delete([ast.Name(name, ast.Del())])], []))
        return out

    def visit_For(self, node: ast.For) -> ast.stmt | list[ast.stmt]:
        names = names_bound([*node.body, node.target])
        simple = self.declared.isdisjoint(names) and not contains(node.body, _UNMERGED) and not self.guarded
        live = sorted(self.read_elsewhere(node) & set(names))
        driver = self.fresh("loop")
        same = augmented_only([*node.body, node.target])
        kept = not isinstance(node.iter, (ast.Call, ast.GeneratorExp)) and hasattr(node, "stops")
        said = (texts(names), texts(live), texts(same), ast.Constant(simple), texts(getattr(node, "filled_lists", ())))
        start = assigned(driver, asked(node.iter, "for_", self.visit(node.iter), ast.Constant(kept), *said))
        item = self.fresh("item")
        target = self.unpack(node.target, load(item), node)
        once = ast.For(ast.Name(item, ast.Store()), method(driver, "item"), [*target, *self.block(node.body)],
                       [], None)  # fmt: skip
        return self.loop(node, driver, start, once, names, simple)

    def visit_While(self, node: ast.While) -> ast.stmt | list[ast.stmt]:
        names = names_bound([*node.body, node.test])
        simple = self.declared.isdisjoint(names) and not contains(node.body, _UNMERGED)
        live = sorted(self.read_elsewhere(node) & set(names))
        driver = self.fresh("loop")
        said = (texts(names), texts(live), texts(augmented_only(node.body)), ast.Constant(simple))
        start = assigned(driver, asked(node.test, "while_", *said))
        test = ast.copy_location(method(driver, "test", self.visit(node.test)), node.test)
        once = ast.For(ast.Name(self.fresh("item"), ast.Store()), test, self.block(node.body),
                       [], None)  # fmt: skip
        return self.loop(node, driver, start, once, names, simple)

    def loop(
        self, node: ast.For | ast.While, driver: str, start: ast.stmt, once: ast.stmt, names: list[str], simple: bool
    ) -> list[ast.stmt]:
        """A loop that asks its driver for each step."""
        before: list[ast.stmt] = []
        after: list[ast.stmt] = []
        if simple:
            rolled = attribute(driver, "rolled")
            before = [ast.If(rolled, [*self.restored(driver, "before", names), ast.Pass()], [])]
            after = [ast.If(rolled, [ast.Expr(method(driver, "leave"))], [])]
        stops = [load(name) for name in getattr(node, "stops", ())]
        steps = ast.While(method(driver, "next", *stops), [*before, once, *after], [])
        out: list[ast.stmt] = [start, steps]
        if simple and names:
            out.append(ast.If(attribute(driver, "merged"), self.restored(driver, "after", names), []))
        if node.orelse:
            out.append(ast.If(attribute(driver, "exhausted"), self.block(node.orelse), []))
        return [ast.copy_location(one, node) for one in out]

    def read_elsewhere(self, node: ast.AST) -> set[str]:
        """The names that the function reads outside a loop; what an enclosing loop reads in its next step counts, too."""
        fields = [part if isinstance(part, list) else [part] for name, part in ast.iter_fields(node) if name != "orelse"]
        inside = {id(n) for part in fields for one in part if isinstance(one, ast.AST) for n in ast.walk(one)}
        return {name for n, name in self.reads if id(n) not in inside}

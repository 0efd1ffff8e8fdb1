"""The texts of programs: the expression that rebuilds one, and readable definitions.

    repr(p)     ct.function(lambda w, x: (h := ct.tanh(x @ w), h * h)[-1]).at(ct.product(...))
    str(p)      def f(w, x): ...

Tracing the text gives the same program, and so prints the same text: a line is written with an operator or brackets where that
traces to its term (`traced/programs/spelling.py`), else as a call of the term. Values that are used once and have no name of
their own stand where they are used. The result has its tree (`tree_text.py`); programs inside give tuples.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from typing import Any

import numpy as np

from catad.category.constant import Const
from catad.category.spaces import Product, Space, flatten, mapped, rebuild
from catad.category.terms import Compose, D
from catad.category.text import Names, Parts, TermWriter, is_scope, pattern, repeated
from catad.errors.places import shown
from catad.traced.programs.program import Line, Program, identifier
from catad.traced.programs.spelling import CALL, LOWEST, UNARY, Operand, filled, spelled
from catad.traced.programs.tree_text import tree_text, written_parts

DEEPEST = 10  # brackets within brackets in a statement, from which on a part gets a statement of its own
LONGEST = 100  # characters of a statement, from which on its parts get statements of their own


def program_code(program: Program, name: Callable[[Any, str], str]) -> str:
    """The expression that rebuilds a program; its title where a label is asked for."""
    return _Expression(program, name.names, True).text() if isinstance(name, TermWriter) else program.title


def program_text(program: Program) -> str:
    """Definitions that trace to the program, the last one under its title."""
    writer = TermWriter(program)
    writer.text()
    names = Names(program)
    names.values, names.given = writer.names.values, writer.names.given
    names.bound.add(program.title)
    return _Definitions(program, names, [], True).text()


def program_lines(program: Program) -> tuple[Line, ...]:
    """The lines of a program with their names."""
    return _Lines(program, Names(program)).lines()


def bound_names(program: Program) -> set[str]:
    """The names that the text of a program binds in any case."""
    return Naming(program, False).taken | Naming(program, True).taken


class Naming:
    """The names in the text of a program: its parameters, each with the variables in it, and variables.

    Variables have names where the user's program has one for them; those in parameters that are tuples, where these are unpacked.
    """

    def __init__(self, program: Program, unpacked: bool) -> None:
        self.taken: set[str] = set()
        self.counts: dict[str, int] = {}
        dom, notes = program.dom, program.notes
        structure = rebuild(dom, list(range(program.inputs)))
        alone = len(notes.arguments) == 1 or not isinstance(dom, Product) or len(dom.factors) == 1
        parts = [structure] if alone else list(structure)
        given = notes.arguments
        if len(given) != len(parts):
            given = tuple(["s" if isinstance(one, tuple) else notes.names.get(one, "x") for one in parts])
        self.parameters = [(self.free(identifier(name)), one) for name, one in zip(given, parts, strict=True)]
        read = {v for nested in (*program.args, program.result) for v in flatten(nested)}
        held = [v for part in parts if isinstance(part, tuple) for v in flatten(part) if v in read] if unpacked else []
        lines = [outs for args, outs in zip(program.args, program.outs, strict=True) if args != ()]
        made = [v for outs in lines if unpacked or not isinstance(outs, tuple) for v in flatten(outs) if v in notes.names]
        ordered = sorted((*held, *made), key=lambda v: v not in notes.names)  # those without a name take what is left
        self.variables = {v: self.free(identifier(notes.names.get(v, "v"))) for v in ordered}

    def free(self, wish: str) -> str:
        """A name that is not taken yet; a second value of a name gets `h_2`."""
        found = wish
        while found in self.taken:
            self.counts[wish] = self.counts.get(wish, 1) + 1
            found = f"{wish}_{self.counts[wish]}"
        self.taken.add(found)
        return found


class _Text:
    """What both texts of a program share: its lines in order, each as a statement, or written where it is used."""

    unpacked = False

    def __init__(self, program: Program, names: Names, gives_tree: bool) -> None:
        self.program, self.names = program, names
        self.tree = program.notes.result_tree if gives_tree else None
        self.naming = Naming(program, self.unpacked)
        self.spaces = program.spaces_of_variables()
        self.statements: list[str] = []
        self.known: dict[Any, tuple[str, int]] = {}  # by variable, or tuple of them: its text, and how closely that binds
        self.in_place: set[int] = set()  # the variables that have no name, and are written where they are used
        self.constants: dict[int, D] = {}
        self.reads: dict[int, int] = {}  # how often a variable is read
        for v in (v for nested in (*program.args, program.result) for v in flatten(nested)):
            self.reads[v] = self.reads.get(v, 0) + 1
        self.scopes: dict[int, str] = {}
        self.count = 0

    def bind(self, target: str, text: str) -> None:
        """A statement that binds a name."""
        raise NotImplementedError

    def several(self, outs: Any, text: str) -> None:
        """A line with several results."""
        raise NotImplementedError

    def scope(self, part: D) -> str:
        """The text for a program inside a term."""
        raise NotImplementedError

    # -- lines

    def result(self) -> str:
        """Write all lines; the text of the result."""
        program, returned = self.program, set(flatten(self.program.result))
        for term, args, outs in zip(program.children, program.args, program.outs, strict=True):
            if args == () and not isinstance(outs, tuple):
                self.constants[outs] = term
                continue
            text, rank = self.fitting(args, partial(self.applied, term, args))
            if isinstance(outs, tuple):
                self.several(outs, text)
                continue
            self.known[outs] = text, rank
            self.in_place.add(outs)
            if self.reads[outs] > 1 or (outs in self.naming.variables and outs not in returned):
                self.name(outs)
        return self.fitting(program.result, lambda: (self.returned(), LOWEST))[0]

    def returned(self) -> str:
        """The result; of the program that is called from outside in its tree."""
        value = self.program.result
        return self.value(value) if self.tree is None else tree_text(self.tree, value, self.value, self.names.of)

    def fitting(self, nested: Any, write: Callable[[], tuple[str, int]]) -> tuple[str, int]:
        """A text; where it is too long, the longest values in it get statements of their own."""
        while True:
            text, rank = write()
            inside = [v for v in flatten(nested) if v in self.in_place and len(self.known[v][0]) > _SHORT]
            if len(text) <= LONGEST or not inside:
                return text, rank
            self.name(max(inside, key=lambda v: len(self.known[v][0])))

    def name(self, v: int) -> None:
        """A statement for a value that stood where it is used."""
        name = self.naming.variables.get(v) or self.counted()
        self.bind(name, self.known[v][0])
        self.known[v] = name, CALL
        self.in_place.discard(v)

    def counted(self) -> str:
        """The next of the names v1, v2, ..."""
        self.count += 1
        while f"v{self.count}" in self.names.bound or f"v{self.count}" in self.names.values:
            self.count += 1
        return self.names.fresh(f"v{self.count}")

    # -- terms and values

    def applied(self, term: D, args: Any) -> tuple[str, int]:
        """A term applied to variables, and how closely the text binds."""
        flat = flatten(args)
        operands = [Operand(self.spaces[v], v in self.constants) for v in flat]
        number = count()
        found = spelled(term, operands, mapped(args, lambda _: next(number)))
        if found is not None:
            return filled(found, [self.operand(v) for v in flat]), found.rank
        text = TermWriter(term, self.names, self.scope).text()
        called = f"({text})" if isinstance(term, Compose) and not text.startswith("ct.compose") else text
        given = self.value(args)
        pairs = isinstance(args, tuple) and len(args) > 1 and args not in self.known
        return f"{called}{given}" if pairs else f"{called}({given})", CALL

    def operand(self, v: int) -> tuple[str, int]:
        """A variable between operators."""
        if v not in self.constants:
            return self.known[v]
        text = self.constant(v, strong=True)
        return text, UNARY if text.startswith("-") else CALL

    def value(self, nested: Any) -> str:
        """A nested tuple of variables."""
        if nested != () and nested in self.known:
            return self.known[nested][0]
        if not isinstance(nested, tuple):
            return self.constant(nested, strong=False)
        return f"({', '.join([self.value(part) for part in nested])}{',' * (len(nested) == 1)})"

    def constant(self, v: int, strong: bool) -> str:
        """A value that depends on no argument; `strong` where a Python number would take another dtype."""
        term, name = self.constants[v], self.program.notes.names.get(v)
        writer = TermWriter(term, self.names)
        if not isinstance(term, Const):  # an array of one number
            number = term.factors[0].children[0].array[()]  # type: ignore[attr-defined]
            writer(np, "np")
            return repeated(number, self.spaces[v].shape)
        array = term.children[0].array
        if array.ndim:
            own = name is not None and array.size > _TINY and pattern(array) is None
            text = None if own else writer.written(array)
            return self.names.of(array, "array" if name is None else identifier(name), term) if text is None else text
        return (None if strong else _plain(array[()])) or writer(array[()], "number")


_SHORT = 12  # characters of a value that is never taken out of a text
_TINY = 4  # entries of an array that is written out though it has a name


def _plain(number: Any) -> str | None:
    """The number as Python's own, where that has the same dtype."""
    if number.dtype not in (np.dtype(np.float64), np.dtype(np.int64), np.dtype(bool)) or not math.isfinite(number):
        return None
    return repr(number.item())


def space_text(dom: Space) -> str:
    """A domain, its factors as arguments."""
    if isinstance(dom, Product) and len(dom.factors) > 1:
        return f"ct.product({', '.join([repr(factor) for factor in dom.factors])})"
    return repr(dom)


class _Expression(_Text):
    """`ct.function(lambda ...).at(dom)`: statements are `name := value` in a tuple; tuples are read by indices."""

    def __init__(self, program: Program, names: Names, gives_tree: bool) -> None:
        super().__init__(program, names, gives_tree)
        inside = [part for term in program.children for part in Parts(term, closed=True).order]
        self.scope_uses = Counter([id(part) for part in inside if is_scope(part)])
        self.in_chains = {id(factor) for part in inside if isinstance(part, Compose) for factor in part.factors}

    def text(self) -> str:
        for name, part in self.naming.parameters:
            self.index(name, part)
        result = self.result()
        head = ", ".join([name for name, _ in self.naming.parameters])
        body = "".join([f"{indented(line)},\n" for line in (*self.statements, result)])
        body = f"(\n{body})[-1]" if self.statements else result
        return f"ct.function(lambda{' ' * bool(head)}{head}: {body}).at({space_text(self.program.dom)})"

    def index(self, text: str, part: Any) -> None:
        """The texts of the variables in a tuple."""
        self.known[part] = text, CALL
        if isinstance(part, tuple):
            for k, one in enumerate(part):
                self.index(f"{text}[{k}]", one)

    def bind(self, target: str, text: str) -> None:
        self.statements.append(f"{target} := {text}")

    def several(self, outs: Any, text: str) -> None:
        parts, result = set(parts_of(outs)), self.program.result
        results = [result] if self.tree is None else written_parts(self.tree, result)
        read = sum(self.read_in(nested, parts) for nested in (*self.program.args, *results))
        if read > 1 or depth_of(text) > DEEPEST:
            notes = self.program.notes
            said = dict.fromkeys([identifier(notes.names[v]) for v in flatten(outs) if v in notes.names and v in self.reads])
            name = self.names.fresh("_".join(said)) if 0 < len(said) <= 3 else self.counted()
            self.bind(name, text)
            text = name
        self.index(text, outs)

    def read_in(self, nested: Any, parts: set[Any]) -> int:
        """How often a nested tuple has one of some values, where it is as large as can be."""
        if nested in parts and nested != ():
            return 1
        return sum(self.read_in(part, parts) for part in nested) if isinstance(nested, tuple) else 0

    def scope(self, part: D) -> str:
        assert isinstance(part, Program)
        if id(part) not in self.scopes:
            text = _Expression(part, self.names, False).text()
            if "\n" in text or len(text) > LONGEST or self.scope_uses[id(part)] > 1 or id(part) in self.in_chains:
                name = self.names.fresh(part.title)
                self.bind(name, text)
                text = name
            self.scopes[id(part)] = text
        return self.scopes[id(part)]


class _Definitions(_Text):
    """`def name(...): ...`, after the definitions of the programs inside; tuples are unpacked."""

    unpacked = True

    def __init__(self, program: Program, names: Names, before: list[str], gives_tree: bool) -> None:
        super().__init__(program, names, gives_tree)
        self.before = before

    def text(self) -> str:
        own = self.definition(self.program.title)
        return "\n\n\n".join([*self.before, own]) + "\n"

    def definition(self, name: str) -> str:
        """The definition of the program under a name; those of programs inside are added to `before`."""
        for parameter, part in self.naming.parameters:
            if isinstance(part, tuple):
                target = self.target(part)
                if target != "_":
                    self.bind(target, parameter)
            else:
                self.known[part] = parameter, CALL
        result = self.result()
        head = ", ".join([parameter for parameter, _ in self.naming.parameters])
        lines = [*self.statements, f"return {without_brackets(result)}"]
        return "\n".join([f"def {name}({head}):", *map(indented, lines)])

    def target(self, part: Any) -> str:
        """A tuple of variables as the target of an assignment."""
        if not any(v in self.reads for v in flatten(part)):
            return "_"
        if isinstance(part, tuple):
            return f"({', '.join([self.target(one) for one in part])}{',' * (len(part) == 1)})"
        name = self.naming.variables.get(part) or self.counted()
        self.known[part] = name, CALL
        return name

    def bind(self, target: str, text: str) -> None:
        self.statements.append(f"{without_brackets(target)} = {text}")

    def several(self, outs: Any, text: str) -> None:
        self.bind(self.target(outs), text)

    def scope(self, part: D) -> str:
        assert isinstance(part, Program)
        if id(part) not in self.scopes:
            name = self.scopes[id(part)] = self.names.fresh(part.title)
            own = _Definitions(part, self.names, self.before, False).definition(name)
            self.before.append(f"{own}\n\n\n{name} = ct.function({name}).at({space_text(part.dom)})")
        return self.scopes[id(part)]


class _Lines(_Definitions):
    """Each line by itself, all results named."""

    def __init__(self, program: Program, names: Names) -> None:
        super().__init__(program, names, [], False)

    def lines(self) -> tuple[Line, ...]:
        program, places = self.program, self.program.notes.places
        for parameter, part in self.naming.parameters:
            self.index(parameter, part)
        made = []
        for k, (term, args, outs) in enumerate(zip(program.children, program.args, program.outs, strict=True)):
            if args == () and not isinstance(outs, tuple):
                self.constants[outs] = term
                text = self.constant(outs, strong=False)
                name = "" if outs not in program.notes.names else identifier(program.notes.names[outs])
                text = f"constant {repr(self.spaces[outs])[3:]}" if text.isidentifier() else text
            else:
                text, _ = self.applied(term, args)
                name = without_brackets(self.target(outs))
            made.append(Line(term, args, outs, name, text, shown(places[k]) if k < len(places) else None))
        return tuple(made)

    def index(self, text: str, part: Any) -> None:
        """The names of the variables in a parameter."""
        if not isinstance(part, tuple):
            self.known[part] = self.naming.variables.get(part, text), CALL
        for one in part if isinstance(part, tuple) else ():
            self.index(text, one)

    def scope(self, part: D) -> str:
        assert isinstance(part, Program)
        return part.title


def parts_of(nested: Any) -> Iterator[Any]:
    """A nested tuple and its parts."""
    yield nested
    if isinstance(nested, tuple):
        for part in nested:
            yield from parts_of(part)


def depth_of(text: str) -> int:
    """How many brackets are open at once."""
    depth = most = 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        most = max(most, depth)
    return most


def without_brackets(text: str) -> str:
    """A tuple as a statement has it."""
    depth = 0
    for k, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if depth == 0:
            return text[1:-1] if k == len(text) - 1 and text[0] == "(" and k > 1 else text
    return text


def indented(text: str) -> str:
    """The lines of a text, one level deeper."""
    return "\n".join([f"    {line}" for line in text.split("\n")])

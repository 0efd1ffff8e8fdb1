"""Random Python functions on arrays, as text: assignments, views, writes, closures, branches, loops, lists, dicts, early returns.

`phrases` has the words. All loops end; no result needs a name of the kinds "d" and "e", which may overflow.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from catad.testing.drawn.phrases import (
    CONDITIONS,
    DEAD,
    EXPRESSIONS,
    HELPERS,
    KEYED,
    NEVER,
    NOT_REACHED,
    PLAIN,
    SWAPS,
    VIEWS,
    WRITES,
)

Choose = Callable[[Sequence[Any]], Any]
Names = dict[str, list[str]]
NAME = re.compile(r"\b([skzuvmde])([01])\b")
HOLE = re.compile(r"\b([skzuvmde])([01])\b|\{([svijcn])\}")
RARE = re.compile(r"\b[zu][01]\b")
SLICES = ("1:", ":2", "::-1", "::2", "-1:", "1:1")
DEEPEST = 3  # statements inside statements
MOST_TRIPS = 60  # of a body, in all loops around it, up to which one more loop is long
SIMPLE = ("assign", "write", "view", "augment", "swap", "spare", "number")
NESTED = ("if", "never", "for", "loop", "while", "rows", "pairs", "list", "stack", "dict", "closure", "none")


def _indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


class Statements:
    """Writes a function `f(s, t, v, w, m, k)`; `choose` takes one of a sequence.

    `level` is how deep a statement stands, `trips` how often it runs, and `ended` how many loops around it data end. `said` is
    what the text is made of.
    """

    def __init__(self, choose: Choose) -> None:
        self.choose, self.count, self.level, self.trips, self.ended = choose, 1, 0, 1, 0
        self.said: set[str] = set()

    def module(self) -> str:
        names: Names = {kind: [] for kind in "zude"} | {"s": ["s", "t"], "v": ["v", "w"], "m": ["m"], "k": ["k"]}
        body = [f"{self.new('z', names)} = np.array(s)", f"{self.new('u', names)} = v[1:2]"] if self.choose([False, True]) else []
        body += self.block(names, self.choose(range(2, 6)), None)
        lines = ["def f(s, t, v, w, m, k):", *_indented([*body, self.returned(names)])]
        return HELPERS + "\n".join(lines) + "\n"

    def fill(self, templates: Sequence[str], names: Names, index: str | None = None) -> str:
        """One of some templates whose names there are, with names, indices and inner expressions."""
        there = [one for one in templates if all(names[kind] for kind, _ in NAME.findall(one))]
        rare = [one for one in there if RARE.search(one)]
        template = self.choose(rare if rare and self.choose([False, False, True]) else there)
        self.said.add(template)
        chosen: dict[str, str] = {}

        def filled(hole: re.Match[str]) -> str:
            kind, inner = hole[1], hole[3]
            if kind:
                others = [name for name in names[kind] if name not in chosen.values()]
                return chosen.setdefault(hole[0], chosen.get(hole[0]) or self.choose(others or names[kind]))
            if inner in "sv":
                return f"({self.fill(EXPRESSIONS[inner][:PLAIN], names, index)})"
            if inner == "n":
                return chosen.setdefault(inner, self.choose(SLICES))
            indices = ["0", "1", "2", "-1", *([f"{index} % 3"] if index else [])]
            return str(self.choose(indices if inner in "ij" else ["0.5", "-0.25", "1", "2"]))

        return HOLE.sub(filled, template)

    def fresh(self, letter: str) -> str:
        """A name that stands nowhere yet."""
        self.count += 1
        return f"{letter}{self.count}"

    def new(self, kind: str, names: Names) -> str:
        """A name that stands nowhere yet, and that what is drawn next may use."""
        names[kind] = [*names[kind], self.fresh(kind)]
        return names[kind][-1]

    def returned(self, names: Names) -> str:
        return "return " + ", ".join([self.choose(names[kind]) for kind in "svmk"])

    def block(self, names: Names, length: int, index: str | None) -> list[str]:
        """Some statements; names that they bind are added."""
        return [line for _ in range(length) for line in self.statement(names, index)]

    def statement(self, names: Names, index: str | None) -> list[str]:
        kinds = [*SIMPLE, "assign", "write", "write"] * (1 + self.level)
        nested = [kind for kind in NESTED if self.level < DEEPEST and not (kind == "dict" and self.ended)]
        kind = self.choose([*kinds, *nested, *(["jump"] * 3 if self.trips > 1 else ())])
        self.said.add(kind)
        self.level += 1
        lines: list[str] = getattr(self, f"_{kind}")(names, index)
        self.level -= 1
        return lines

    def bound(self, kind: str, value: str, names: Names) -> list[str]:
        """A name bound, a new one or another."""
        new = not names[kind] or not self.choose([True, False])
        return [f"{self.new(kind, names) if new else self.choose(names[kind])} = {value}"]

    def _assign(self, names: Names, index: str | None) -> list[str]:
        kind = self.choose("svm")
        return self.bound(kind, self.fill(EXPRESSIONS[kind], names, index), names)

    def _spare(self, names: Names, index: str | None) -> list[str]:
        """An array of no axes, or of size 1."""
        kind = self.choose("zu")
        return self.bound(kind, self.fill(EXPRESSIONS[kind], names, index), names)

    def _number(self, names: Names, index: str | None) -> list[str]:
        """An integer beside the floats."""
        return self.bound("k", self.fill(EXPRESSIONS["k"], names, index), names)

    def _view(self, names: Names, index: str | None) -> list[str]:
        """Another name of an array or of a part of it, of which a part may have a name; a write through it may follow."""
        kind = self.choose("vmzu")
        value = self.fill(VIEWS[kind], names, index)
        name = self.new(kind, names)
        lines = [f"{name} = {value}"]
        if self.choose([True, False]) and kind != "z":
            self.said.add("write through a view")
            lines += [self.choose([f"{name}[{self.choose([':', '1:', '::-1'])}] += 0.25", f"{name} *= 0.75"])]
        return lines

    def _augment(self, names: Names, index: str | None) -> list[str]:
        kind = self.choose("svmk")
        if kind == "k":
            return [f"{self.choose(names[kind])} {self.choose(['+=', '-='])} {self.choose([1, 2])}"]
        operator = self.choose(["+=", "-=", "*="])
        return [f"{self.choose(names[kind])} {operator} {self.fill(EXPRESSIONS[kind], names, index)}"]

    def _write(self, names: Names, index: str | None) -> list[str]:
        return [self.fill(WRITES, names, index)]

    def _swap(self, names: Names, index: str | None) -> list[str]:
        return [self.fill(SWAPS, names, index)]

    def _jump(self, names: Names, index: str | None) -> list[str]:
        jump = self.choose(["break", "continue", "return"])
        self.said.add(jump)
        jump = self.returned(names) if jump == "return" else jump
        return [f"if {self.fill(CONDITIONS, names, index)}:", f"    {jump}"]

    def _list(self, names: Names, index: str | None) -> list[str]:
        """A list of numbers that a loop fills."""
        name, step, value = self.fresh("l"), self.fresh("i"), self.fill(EXPRESSIONS["s"], names, index)
        trips = self.choose([3, 20] if self.trips == 1 else [3])
        total = self.new("s", names)
        loop = [f"for {step} in range({trips}):", f"    {name}.append({value} * {step} * 0.1)"]
        return [f"{name} = []", *loop, f"{total} = sum({name})"]

    def _stack(self, names: Names, index: str | None) -> list[str]:
        """A list of vectors that a loop fills, whose first three are a matrix."""
        name, trips = self.fresh("l"), self.choose([3, 20] if self.trips == 1 else [3])
        lines = [f"{name} = []", f"for _ in range({trips}):", f"    {self.fill(WRITES, names, index)}"]
        lines += [f"    {name}.append({self.fill(EXPRESSIONS['v'], names, index)})"]
        return [*lines, f"{self.new('m', names)} = np.stack({name}[:3])"]

    def _dict(self, names: Names, index: str | None) -> list[str]:
        """A dict that is changed, by condition or always."""
        name = self.fresh("c")
        number, vector = (self.fill(EXPRESSIONS[kind], names, index) for kind in "sv")
        lines = [f'{name} = {{"a": {number}, "b": {vector}}}']
        write = [name + self.fill(KEYED, names, index)]
        if self.choose([True, False]):
            write = [f"if {self.fill(CONDITIONS, names, index)}:", *_indented(write)]
        return [*lines, *write, f'{self.new("v", names)} = {name}["b"] * {name}["a"]']

    def _closure(self, names: Names, index: str | None) -> list[str]:
        """A function that reads names around it, which may be bound again before it is called, or binds one."""
        name, bound = self.fresh("q"), self.choose(names["s"])
        body = [f"return a * {self.fill(EXPRESSIONS['s'], names, index)}"]
        if self.choose([True, True, False]):
            body = [f"b = a - {self.choose(names['s'])}", "if b > 0.1:", "    return b * 0.5", *body]
        elif self.trips == 1:
            body = [f"nonlocal {bound}", f"{bound} = {bound} * 0.5 + a * 0.1", *body]
        lines = [f"def {name}(a):", *_indented(body), *self.block(names, 1, index)]
        value = self.fill(EXPRESSIONS["s"][:PLAIN], names, index)
        return [*lines, f"{self.new('s', names)} = {name}({value})"]

    def _if(self, names: Names, index: str | None) -> list[str]:
        """A branch. Names that it alone binds are not used afterwards."""
        lines = [f"if {self.fill(CONDITIONS, names, index)}:", *self.inner(names, self.choose([1, 2]), index)]
        if self.choose([False, True]):
            lines += [f"elif {self.fill(CONDITIONS, names, index)}:", *self.inner(names, 1, index)]
        if self.choose([True, False]):
            lines += ["else:", *self.inner(names, self.choose([1, 2]), index)]
        return lines

    def _never(self, names: Names, index: str | None) -> list[str]:
        """A branch that data do not take, and that makes infinities or NaN."""
        body = [self.fill(NOT_REACHED, names, index) for _ in range(self.choose([1, 2]))]
        return [f"if {self.fill(NEVER, names, index)}:", *_indented(body)]

    def inner(self, names: Names, length: int, index: str | None) -> list[str]:
        return _indented(self.block(dict(names), length, index))

    def _for(self, names: Names, index: str | None) -> list[str]:
        step = self.fresh("i")
        return self.loop(f"for {step} in range({self.choose([2, 3])}):", 3, names, names, step)

    def _loop(self, names: Names, index: str | None) -> list[str]:
        """A loop long enough to be recorded."""
        step, trips = self.fresh("i"), self.choose([18, 20] if self.trips * 20 <= MOST_TRIPS else [3])
        return self.loop(f"for {step} in range({trips}):", trips, names, names, step)

    def _none(self, names: Names, index: str | None) -> list[str]:
        """A loop of no steps."""
        step = self.fresh("i")
        items = self.choose(["range(0)", "range(len(v), 3)", "enumerate(m[:0])", None])
        if items is None:
            return self.turns(step, self.fill(NEVER, names, index), names)
        return self.loop(f"for {step} in {items}:", 1, names, names, index if items[0] == "e" else step)

    def _while(self, names: Names, index: str | None) -> list[str]:
        return self.turns(self.fresh("i"), self.fill(CONDITIONS, names, index), names)

    def turns(self, step: str, condition: str, names: Names) -> list[str]:
        """A loop that data may end."""
        trips = self.choose([3, 6])
        self.ended += 1
        lines = self.loop(f"while {step} < {trips} and ({condition}):", trips, names, names, step, [f"{step} += 1"])
        self.ended -= 1
        return [f"{step} = 0", *lines]

    def _rows(self, names: Names, index: str | None) -> list[str]:
        own, rows = dict(names), self.choose(names["m"])
        return self.loop(f"for {self.new('v', own)} in {rows}:", 3, names, own, index)

    def _pairs(self, names: Names, index: str | None) -> list[str]:
        own, step = dict(names), self.fresh("i")
        pair = f"({self.new('s', own)}, {self.new('s', own)})"
        head = f"for {step}, {pair} in enumerate(zip({self.choose(names['v'])}, {self.choose(names['v'])})):"
        return self.loop(head, 3, names, own, step)

    def loop(self, head: str, trips: int, names: Names, own: Names, index: str | None, first: Sequence[str] = ()) -> list[str]:
        """A loop, with states that no result needs and an `else` perhaps. Names that it alone binds are not used afterwards."""
        before, own, dead = [], dict(own), []
        self.trips *= trips
        if self.choose([False, True]):
            self.said.add("dead states")
            before = [f"{self.new(kind, own)} = {self.fill(EXPRESSIONS[kind], names, index=None)}" for kind in "dee"]
            dead = [self.fill(DEAD, own, index) for _ in range(self.choose([1, 2, 3]))]
        body = [self.block(own, 1, index) for _ in range(self.choose([1, 2, 2, 3]))]
        body.insert(self.choose(range(len(body) + 1)), dead)
        self.trips //= trips
        lines = [*before, head, *_indented([*first, *(line for part in body for line in part)])]
        if self.choose([True, True, False]):
            return lines
        self.said.add("else of a loop")
        return [*lines, "else:", *self.inner(names, 1, None)]

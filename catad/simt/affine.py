"""Index expressions as affine forms `c + sum s_j v_j` of the coordinates of a thread, each of which runs over `0 .. n_j - 1`.

Divisions and remainders by constants take digits of a form, where its terms fall apart into multiples of the constant and a rest
below it. Comparisons of forms are decided by the bounds of their difference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from catad.scalar import Node, apply, const, postorder
from catad.scalar.simplify import FALSE, TRUE, rebuild

Sizes = Sequence[int] | Mapping[int, int]


class Form(NamedTuple):
    """`c + sum s v` with the terms (v, s), in the order of v, none of them zero."""

    c: int
    terms: tuple[tuple[int, int], ...] = ()

    def plus(self, other: Form, factor: int = 1) -> Form:
        """The sum with a multiple of another form."""
        found = dict(self.terms)
        for v, s in other.terms:
            found[v] = found.get(v, 0) + factor * s
        return Form(self.c + factor * other.c, _terms(found))

    def times(self, k: int) -> Form:
        """A multiple."""
        return Form(self.c * k, _terms({v: s * k for v, s in self.terms}))

    def bounds(self, sizes: Sizes) -> tuple[int, int]:
        """The least and the largest value."""
        low = self.c + sum([min(0, s * (sizes[v] - 1)) for v, s in self.terms])
        return low, self.c + sum([max(0, s * (sizes[v] - 1)) for v, s in self.terms])

    @property
    def slope(self) -> int:
        """The sum of the steps."""
        return sum([s for _, s in self.terms])


def _terms(found: Mapping[int, int]) -> tuple[tuple[int, int], ...]:
    return tuple(sorted([(v, s) for v, s in found.items() if s]))


class Forms:
    """Finds the forms of nodes whose first `len(sizes)` parameters are the coordinates, and decides comparisons of them.

    `counters` are further parameters that count, with the number of their values.
    """

    def __init__(self, sizes: Sequence[int], counters: Mapping[int, int] | None = None) -> None:
        self.lanes = len(sizes)
        self.sizes: Mapping[int, int] = {**dict(enumerate(sizes)), **(counters or {})}
        self.known: dict[Node, Form | None] = {}

    def form(self, node: Node) -> Form | None:
        """The affine form of a node, None where it has none."""
        for one in postorder((node,)):
            if one not in self.known:
                self.known[one] = self._form(one)
        return self.known[node]

    def _form(self, node: Node) -> Form | None:
        if node.op == "const":
            return Form(int(node.value)) if node.kind == "i" else None
        if node.op == "param":
            return Form(0, ((node.value, 1),)) if node.value in self.sizes else None
        args = [self.known.get(arg) for arg in node.args]
        rule = _RULES.get(node.op)
        if rule is None or None in args or (node.op == "cast" and not str(node.value).startswith("int")):
            return None
        return rule(self, [arg for arg in args if arg is not None])

    def product(self, a: Form, b: Form) -> Form | None:
        """The product, where one of the forms is a constant."""
        return a.times(b.c) if not b.terms else b.times(a.c) if not a.terms else None

    def digits(self, a: Form, b: Form) -> tuple[Form, Form] | None:
        """Quotient and remainder by a positive constant, where the form falls apart."""
        k = b.c
        if b.terms or k <= 0:
            return None
        high, low = [[(v, s) for v, s in a.terms if (s % k == 0) == flag] for flag in (True, False)]
        rest = Form(a.c % k, tuple(low))
        least, most = rest.bounds(self.sizes)
        if least < 0 or most >= k:
            return None
        return Form(a.c // k, tuple([(v, s // k) for v, s in high])), rest

    def decided(self, node: Node) -> Node:
        """The node with every comparison replaced whose outcome is the same for all threads."""
        done: dict[Node, Node] = {}
        for one in postorder((node,)):
            made = rebuild(one, [done[arg] for arg in one.args]) if one.args else one
            done[one] = self._comparison(made) if made.op in _OUTCOMES else made
        return done[node]

    def _comparison(self, node: Node) -> Node:
        a, b = [self.form(arg) for arg in node.args]
        if a is None or b is None:
            return node
        low, high = a.plus(b, -1).bounds(self.sizes)
        return _OUTCOMES[node.op](low, high) or node


def _outcome(surely: bool, never: bool) -> Node | None:
    return TRUE if surely else FALSE if never else None


_OUTCOMES: Mapping[str, Callable[[int, int], Node | None]] = {
    "lt": lambda low, high: _outcome(high < 0, low >= 0),
    "le": lambda low, high: _outcome(high <= 0, low > 0),
    "gt": lambda low, high: _outcome(low > 0, high <= 0),
    "ge": lambda low, high: _outcome(low >= 0, high < 0),
    "eq": lambda low, high: _outcome(low == high == 0, low > 0 or high < 0),
    "ne": lambda low, high: _outcome(low > 0 or high < 0, low == high == 0),
}


def _digit(which: int) -> Callable[[Forms, list[Form]], Form | None]:
    def rule(forms: Forms, args: list[Form]) -> Form | None:
        found = forms.digits(*args)
        return None if found is None else found[which]

    return rule


_RULES: Mapping[str, Callable[[Forms, list[Form]], Form | None]] = {
    "add": lambda forms, args: args[0].plus(args[1]),
    "sub": lambda forms, args: args[0].plus(args[1], -1),
    "neg": lambda forms, args: args[0].times(-1),
    "mul": lambda forms, args: forms.product(*args),
    "lshift": lambda forms, args: None if args[1].terms or args[1].c < 0 else args[0].times(1 << args[1].c),
    "floordiv": _digit(0),
    "mod": _digit(1),
    "index": lambda forms, args: args[0],
    "int": lambda forms, args: args[0],
    "pos": lambda forms, args: args[0],
    "cast": lambda forms, args: args[0],
}


def conjuncts(path: Node) -> list[Node]:
    """The conditions that all hold where a path holds."""
    if path.op == "and":
        return [part for arg in path.args for part in conjuncts(arg)]
    return [] if path is TRUE else [path]


class Box(NamedTuple):
    """Consecutive threads along each axis: the first one, and how many."""

    starts: tuple[int, ...]
    sizes: tuple[int, ...]

    def form(self, form: Form) -> Form:
        """A form over the threads of the box, counted from the first; coordinates that they share are numbers."""
        own = range(len(self.sizes))
        c = form.c + sum([s * self.starts[v] for v, s in form.terms if v in own])
        return Form(c, tuple([(v, s) for v, s in form.terms if v not in own or self.sizes[v] > 1]))


def boxed(forms: Forms, path: Node, sizes: Sequence[int]) -> tuple[Box, list[Node]]:
    """The threads that the bounds in a path leave, and its other conditions."""
    low, high = [0] * len(sizes), list(sizes)
    rest: list[Node] = []
    for part in conjuncts(path):
        found = range_of(forms, part)
        if found is None:
            rest.append(part)
            continue
        v, first, last = found
        low[v] = max(low[v], first)
        high[v] = min(high[v], last + 1)
    return Box(tuple(low), tuple([max(b - a, 0) for a, b in zip(low, high, strict=True)])), rest


def range_of(forms: Forms, part: Node) -> tuple[int, int, int] | None:
    """The coordinate of which a condition says the first and the last place where it holds, and these."""
    negated = part.op == "not" and part.args[0].op in _OPPOSITE
    op, args = (_OPPOSITE[part.args[0].op], part.args[0].args) if negated else (part.op, part.args)
    if op not in _ENDS:
        return None
    a, b = [forms.form(arg) for arg in args]
    difference = None if a is None or b is None else a.plus(b, -1)
    if difference is None or len(difference.terms) != 1 or difference.terms[0][0] >= forms.lanes:
        return None
    v, s = difference.terms[0]
    low, high = [None if end is None else end - difference.c for end in _ENDS[op]]  # of s v
    if s < 0:
        low, high, s = (None if high is None else -high), (None if low is None else -low), -s
    return v, 0 if low is None else -(-low // s), forms.sizes[v] - 1 if high is None else high // s


_ENDS: Mapping[str, tuple[int | None, int | None]] = {
    "lt": (None, -1), "le": (None, 0), "gt": (1, None), "ge": (0, None), "eq": (0, 0)
}  # fmt: skip
_OPPOSITE = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "ne": "eq"}


def injective(found: Sequence[Form], sizes: Sizes, labels: Sequence[int]) -> bool:
    """Whether different threads surely have different cells: each coordinate is a digit of an index of its own."""
    seen: set[int] = set()
    for form in found:
        if seen & {v for v, _ in form.terms}:
            return False
        seen.update(v for v, _ in form.terms)
        reach = 0
        for v, s in sorted(form.terms, key=lambda term: abs(term[1])):
            if abs(s) <= reach:
                return False
            reach += abs(s) * (sizes[v] - 1)
    return all(v in seen for v in labels if sizes[v] > 1)


def both(nodes: Sequence[Node]) -> Node:
    """The conjunction."""
    found: Node = const(True)
    for node in nodes:
        found = apply("and", found, node)
    return found

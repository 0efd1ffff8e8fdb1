"""Random Python functions on arrays, as text: assignments, views, writes, helpers, branches, loops, lists, dicts, early returns.

Each name has a kind: "s" a number, "v" a vector of 3, "m" a matrix of 3 x 3. In a template `s0` and `s1` stand for names of
numbers, `{s}` for an expression that is a number, `{i}` and `{j}` for indices, `{c}` for a constant. All values stay of moderate
size, and every loop ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Choose = Callable[[Sequence[Any]], Any]
Names = dict[str, list[str]]

SCALARS = (
    "s0 + 0.5", "np.sin(s0)", "s0 * 0.5", "v0[{i}]", "v0.sum() * 0.3", "m0[{i}, {j}]", "np.tanh(s0 - s1)", "v0 @ v1 * 0.2",
    "abs(s0)", "float({c})", "m0.sum() * 0.1", "s0 / (1.0 + s1 * s1)", "math.cos(s0)", "len(v0) * s0 * 0.3", "-s0",
    "s0 if s0 > s1 else s1 * 0.5", "h(s0, s1)", "max(s0, s1)", "np.max(v0) * 0.5", "np.linalg.norm(m0[{i}]) * 0.2",
    "s0 and s1",
)  # fmt: skip
VECTORS = (
    "v0 + v1 * 0.5", "np.tanh(v0)", "v0 * s0 * 0.3", "m0[{i}] + 0.0", "m0[:, {i}] * 1.0", "v0[::-1] * 1", "m0 @ v0 * 0.3",
    "np.where(v0 > v1, v0, s0)", "np.zeros(3)", "np.array([s0, s1, {c}])", "v0.copy()", "m0.sum(axis=0) * 0.3", "v0[{i}] - v0",
    "np.arange(3.0)", "np.sin(v0 + s0)", "m0.T[{i}] + v0", "v0 - v0.sum() * 0.3", "g(v0, s0)", "np.cumsum(v0) * 0.3",
    "np.sort(v0)", "v0[[2, 0, 1]] * 0.9", "np.clip(v0, -0.5, s0)", "np.diagonal(m0) * 1.0", "np.roll(v0, 1)",
    "v0 if s0 > 0 else v1",
)  # fmt: skip
MATRICES = (
    "np.outer(v0, v1) * 0.5", "m0 * 0.5 + m1 * 0.3", "m0.T * 0.9", "m0 @ m1 * 0.3", "np.tanh(m0)", "np.eye(3) * s0",
    "np.zeros((3, 3))", "m0[::-1] * 0.7", "np.stack([v0, v1, v0 * 0.5])", "m0.reshape(9)[::-1].reshape(3, 3) * 0.5",
    "m0 - v0", "m0 * v0[:, None] * 0.5", "np.vstack((v0, m0[1:])) * 0.8", "m0.copy()",
)  # fmt: skip
VIEWS = {
    "v": ("m0[{i}]", "m0[:, {j}]", "m0.T[{i}]", "v0[::-1]", "v0", "m0.reshape(-1)[3:6]", "m0[::2].T[{j}][:1] * np.ones(3)",
          "np.asarray(v0)", "m0.ravel()[:3]"),
    "m": ("m0.T", "m0[::-1]", "m0", "m0.reshape(3, 3)", "m0[:, ::-1]"),
}  # fmt: skip
WRITES = (
    "v0[{i}] = {s}", "v0 += {v}", "v0[:2] *= 0.5", "v0[1:] = v1[:2]", "m0[{i}] = {v}", "m0[:, {j}] += {v} * 0.3",
    "m0[{i}, {j}] -= {s}", "m0 *= 0.8", "v0[v0 > 0.5] = {s} * 0.1", "v0[...] = {v}", "m0[1:, 1:] = 0.25", "m0[{i}] = m1[{j}]",
    "v0[{i}], v0[{j}] = v0[{j}], v0[{i}]", "np.add(v0, {s}, out=v0)", "v0[v1 > 0] = v0[v1 > 0] * 0.5", "fill(v0, {s})",
    "v0.sort()", "np.add.at(v0, [0, 0, {i}], s0 * 0.2)", "v0.fill({s})", "m0[{i}][{j}] = {s}", "np.copyto(v0, v1)",
    "v0[-2:] = v0[:2]",
)  # fmt: skip
CONDITIONS = (
    "{s} > 0.1", "{v}.sum() > 0.3", "v0[{i}] < v1[{j}]", "0 < {s} < 1", "not {s} > 0.2", "{s} > 0 and v0[{i}] > 0",
    "{s} > 0.3 or s0 < 0", "np.all(v0 > -9)", "s0 == s1", "True", "np.any(m0 > {s})",
)  # fmt: skip
HELPERS = """\
def h(a, b):
    if a > b:
        return a * 0.5
    return b - a * 0.1


def g(v, k):
    w = v * 1.0
    w[1] = k
    w += 0.25
    return w


def fill(v, k):
    v[0] = k
    v[1:] *= 0.5


"""
PLAIN = 10  # the first so many expressions stand inside others
DEEPEST = 3  # statements inside statements
MOST_TRIPS = 60  # of a body, in all loops around it, up to which one more loop is long


def draw_source(choose: Choose) -> str:
    """The text of a module with a function `f(s, t, v, w, m)`; `choose` takes one of a sequence, whose first is the plainest."""
    writer = _Writer(choose)
    names = {"s": ["s", "t"], "v": ["v", "w"], "m": ["m"]}
    body = writer.block(names, choose(range(2, 6)), None)
    return f"{HELPERS}def f(s, t, v, w, m):\n{_indented(body)}\n    {writer.returned(names)}\n"


def _indented(lines: list[str]) -> str:
    return "\n".join(["    " + line for line in lines])


class _Writer:
    """Writes statements; `level` is how deep they stand, and `trips` how often they run."""

    def __init__(self, choose: Choose) -> None:
        self.choose, self.count, self.level, self.trips = choose, 0, 0, 1

    def fill(self, templates: Sequence[str], names: Names, index: str | None = None) -> str:
        """One of some templates, with names, indices and inner expressions."""
        out: str = self.choose(templates)
        for inner, kinds in (("{s}", SCALARS), ("{v}", VECTORS)):
            while inner in out:
                out = out.replace(inner, "(" + self.fill(kinds[:PLAIN], names, index) + ")", 1)
        for kind in "svm":
            for k in "01":
                if f"{kind}{k}" in out:
                    out = out.replace(f"{kind}{k}", self.choose(names[kind]))
        for place in ("{i}", "{j}"):
            if place in out:
                out = out.replace(place, self.choose(["0", "1", "2", "-1", *([f"{index} % 3"] if index else [])]))
        return out.replace("{c}", self.choose(["0.5", "-0.25", "1", "2"])) if "{c}" in out else out

    def new(self, kind: str) -> str:
        """A name that stands nowhere yet, and is part of no other."""
        self.count += 1
        return f"{kind}x{self.count}"

    def returned(self, names: Names) -> str:
        return "return " + ", ".join([self.choose(names[kind]) for kind in "svm"])

    def block(self, names: Names, length: int, index: str | None) -> list[str]:
        """Some statements; names that they bind are added."""
        return [line for _ in range(length) for line in self.statement(names, index)]

    def statement(self, names: Names, index: str | None) -> list[str]:
        kinds = ["assign", "assign", "write", "write", "view", "augment"] * (1 + self.level)
        if self.level < DEEPEST:
            kinds += ["if", "for", "loop", "while", "rows", "pairs", "list", "dict"]
        if self.trips > 1:
            kinds += ["break", "continue", "return"]
        kind = self.choose(kinds)
        if kind in ("assign", "view", "augment"):
            return self.binding(kind, names, index)
        if kind == "write":
            return [self.fill(WRITES, names, index)]
        if kind in ("break", "continue", "return"):
            jump = self.returned(names) if kind == "return" else kind
            return [f"if {self.fill(CONDITIONS, names, index)}:", f"    {jump}"]
        if kind in ("list", "dict"):
            return self.listed(names, index) if kind == "list" else self.keyed(names, index)
        self.level += 1
        lines = self.branch(names, index) if kind == "if" else self.loop(kind, names, index)
        self.level -= 1
        return lines

    def binding(self, kind: str, names: Names, index: str | None) -> list[str]:
        """A name bound to an expression or a view, or changed in place."""
        sort = self.choose("svm" if kind != "view" else "vm")
        options = VIEWS[sort] if kind == "view" else {"s": SCALARS, "v": VECTORS, "m": MATRICES}[sort]
        value = self.fill(options, names, index)
        if kind == "augment":
            return [f"{self.choose(names[sort])} {self.choose(['+=', '-=', '*='])} {value}"]
        name = self.choose(names[sort]) if self.choose([True, False]) else self.new(sort)
        if name not in names[sort]:
            names[sort] = [*names[sort], name]
        return [f"{name} = {value}"]

    def listed(self, names: Names, index: str | None) -> list[str]:
        """A list that a loop fills."""
        name, step, total = self.new("l"), self.new("q"), self.new("s")
        value = self.fill(SCALARS, names, index)
        names["s"] = [*names["s"], total]
        trips = self.choose([3, 20] if self.trips == 1 else [3])
        return [
            f"{name} = []",
            f"for {step} in range({trips}):",
            f"    {name}.append({value} * {step} * 0.1)",
            f"{total} = sum({name})",
        ]

    def keyed(self, names: Names, index: str | None) -> list[str]:
        """A dict that is changed, by condition or always."""
        name, vector = self.new("d"), self.new("v")
        lines = [f'{name} = {{"a": {self.fill(SCALARS, names, index)}, "b": {self.fill(VECTORS, names, index)}}}']
        writes = (f'{name}["b"] = {{v}}', f'{name}["b"] += {{s}}', f'{name}["a"] = {{s}}', f'{name}["b"][{{i}}] = {{s}}')
        write = self.fill(writes, names, index)
        if self.choose([True, False]):
            lines += [f"if {self.fill(CONDITIONS, names, index)}:", f"    {write}"]
        else:
            lines.append(write)
        names["v"] = [*names["v"], vector]
        return [*lines, f'{vector} = {name}["b"] * {name}["a"]']

    def branch(self, names: Names, index: str | None) -> list[str]:
        """A branch. Names that it alone binds are not used afterwards."""
        lines = [f"if {self.fill(CONDITIONS, names, index)}:"]
        lines += self.inner(names, self.choose(range(1, 3)), index)
        if self.choose([True, False]):
            lines += ["else:", *self.inner(names, self.choose(range(1, 3)), index)]
        return lines

    def inner(self, names: Names, length: int, index: str | None) -> list[str]:
        own = {key: list(value) for key, value in names.items()}
        return ["    " + line for line in self.block(own, length, index)]

    def loop(self, kind: str, names: Names, index: str | None) -> list[str]:
        """A loop. Names that it alone binds are not used afterwards."""
        k = self.new("i")
        before, step, own, trips = [], "", dict(names), 3
        if kind == "while":
            before, step, trips = [f"{k} = 0"], f"    {k} += 1", self.choose([3, 6])
            head = f"while {k} < {trips} and ({self.fill(CONDITIONS, names, index)}):"
        elif kind == "rows":
            row = self.new("v")
            head, own["v"] = f"for {row} in {self.choose(names['m'])}:", [*names["v"], row]
        elif kind == "pairs":
            a, b = self.new("s"), self.new("s")
            head = f"for {k}, ({a}, {b}) in enumerate(zip({self.choose(names['v'])}, {self.choose(names['v'])})):"
            own["s"] = [*names["s"], a, b]
        else:
            trips = self.choose([2, 3] if kind == "for" or self.trips * 20 > MOST_TRIPS else [18, 20])
            head = f"for {k} in range({trips}):"
        self.trips *= trips
        body = self.inner(own, self.choose((1, 2, 2, 3)), index if kind == "rows" else k)
        self.trips //= trips
        return [*before, head, *([step] if step else []), *body]

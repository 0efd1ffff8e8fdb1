"""Random Python programs on arrays: assignments, views, writes, helpers, branches, loops, lists; drawn by Hypothesis, which makes
the source of a failure short.

Each name has a kind: "s" a number, "v" a vector of 3, "m" a matrix of 3 x 3. All values stay of moderate size.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

SCALARS = ["s0 + 0.5", "np.sin(s0)", "s0 * 0.5", "v0[{i}]", "v0.sum() * 0.3", "m0[{i}, {j}]", "np.tanh(s0 - s1)",
           "v0 @ v1 * 0.2",
           "abs(s0)", "float({c})", "m0.sum() * 0.1", "s0 / (1.0 + s1 * s1)", "math.cos(s0)", "len(v0) * s0 * 0.3", "-s0",
           "s0 if s0 > s1 else s1 * 0.5", "h(s0, s1)"]  # fmt: skip
VECTORS = ["v0 + v1 * 0.5", "np.tanh(v0)", "v0 * s0 * 0.3", "m0[{i}] + 0.0", "m0[:, {i}] * 1.0", "v0[::-1] * 1", "m0 @ v0 * 0.3",
           "np.where(v0 > v1, v0, s0)", "np.zeros(3)", "np.array([s0, s1, {c}])", "v0.copy()",
           "m0.sum(axis=0) * 0.3", "v0[{i}] - v0",
           "np.arange(3.0)", "np.sin(v0 + s0)", "m0.T[{i}] + v0", "v0 - v0.sum() * 0.3", "g(v0, s0)"]  # fmt: skip
MATRICES = ["np.outer(v0, v1) * 0.5", "m0 * 0.5 + m1 * 0.3", "m0.T * 0.9", "m0 @ m1 * 0.3", "np.tanh(m0)", "np.eye(3) * s0",
            "np.zeros((3, 3))", "m0[::-1] * 0.7", "np.stack([v0, v1, v0 * 0.5])", "m0.reshape(9)[::-1].reshape(3, 3) * 0.5",
            "m0 - v0", "m0 * v0[:, None] * 0.5"]  # fmt: skip
VIEWS = {"v": ["m0[{i}]", "m0[:, {j}]", "m0.T[{i}]", "v0[::-1]", "v0", "m0.reshape(-1)[{i}:{i}+3]",
           "m0[::2].T[{j}][:1] * np.ones(3)"],
         "m": ["m0.T", "m0[::-1]", "m0", "m0.reshape(3, 3)", "m0[:, ::-1]"]}  # fmt: skip
WRITES = ["v0[{i}] = {s}", "v0 += {v}", "v0[:2] *= 0.5", "v0[1:] = v1[:2]", "m0[{i}] = {v}",
           "m0[:, {j}] += {v} * 0.3", "m0[{i}, {j}] -= {s}",
          "m0 *= 0.8", "v0[v0 > 0.5] = {s} * 0.1", "v0[...] = {v}", "m0[1:, 1:] = 0.25", "m0[{i}] = m1[{j}]",
           "v0[{i}], v0[{j}] = v0[{j}], v0[{i}]",
          "np.add(v0, {s}, out=v0)", "v0[v1 > 0] = v0[v1 > 0] * 0.5", "fill(v0, {s})"]  # fmt: skip
CONDITIONS = ["{s} > 0.1", "{v}.sum() > 0.3", "v0[{i}] < v1[{j}]", "0 < {s} < 1", "not {s} > 0.2",
           "{s} > 0 and v0[{i}] > 0", "{s} > 0.3 or s0 < 0",
              "np.all(v0 > -9)", "s0 == s1", "True"]  # fmt: skip
HELPERS = """
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


@st.composite
def programs(draw: Any) -> str:
    """The text of a module with `f(s, t, v, w, m)`."""
    writer = _Writer(draw)
    body = writer.block({"s": ["s", "t"], "v": ["v", "w"], "m": ["m"]}, 1, draw(st.integers(2, 5)), False)
    results = [draw(st.sampled_from(writer.left[kind])) for kind in ("s", "v", "m") if writer.left[kind]]
    lines = ["def f(s, t, v, w, m):", *body, f"    return {', '.join(results)}"]
    return HELPERS + "\n" + "\n".join(lines) + "\n"


class _Writer:
    def __init__(self, draw: Any) -> None:
        self.draw, self.count, self.level = draw, 0, 0
        self.left: dict[str, list[str]] = {}

    def pick(self, options: list[str]) -> str:
        made: str = self.draw(st.sampled_from(options))
        return made

    def fill(self, template: str, names: dict[str, list[str]], index: str | None = None) -> str:
        """A template with names, indices and inner expressions."""
        out = template
        for inner, kinds in (("{s}", SCALARS), ("{v}", VECTORS)):
            while inner in out:
                out = out.replace(inner, "(" + self.fill(self.pick(kinds[:10]), names, index) + ")", 1)
        for kind in "svm":
            for k in "01":
                if f"{kind}{k}" in out:
                    out = _replaced(out, f"{kind}{k}", self.pick(names[kind]))
        for place in ("{i}", "{j}"):
            if place in out:
                options = ["0", "1", "2", "-1", *([f"{index} % 3"] if index else [])]
                chosen = self.pick(options)
                out = out.replace("{i}:{i}+3", "3:6") if "{i}:{i}+3" in out else out.replace(place, chosen)
        return out.replace("{c}", self.pick(["0.5", "-0.25", "1", "2"]))

    def block(
        self, names: dict[str, list[str]], depth: int, length: int, in_loop: bool, index: str | None = None
    ) -> list[str]:
        """Some statements; names that they bind are added."""
        pad = "    " * depth
        lines: list[str] = []
        for _ in range(length):
            lines += [pad + line for line in self.statement(names, depth, in_loop, index)]
        self.left = names
        return lines

    def statement(self, names: dict[str, list[str]], depth: int, in_loop: bool, index: str | None) -> list[str]:
        kinds = ["assign", "assign", "write", "write", "view", "augment"]
        if self.level < 3:
            kinds += ["if", "for", "loop", "while", "list"]
        if in_loop:
            kinds += ["break", "continue"]
        kind = self.pick(kinds)
        if kind in ("assign", "view", "augment"):
            return self.binding(kind, names, index)
        if kind == "write":
            return [self.fill(self.pick(WRITES), names, index)]
        if kind in ("break", "continue"):
            return [f"if {self.fill(self.pick(CONDITIONS), names, index)}:", f"    {kind}"]
        if kind == "list":
            return self.listed(names, index)
        self.level += 1
        lines = self.nested(kind, names, depth, index)
        self.level -= 1
        return lines

    def binding(self, kind: str, names: dict[str, list[str]], index: str | None) -> list[str]:
        sort = self.pick(["s", "v", "m"]) if kind != "view" else self.pick(["v", "m"])
        options = VIEWS[sort] if kind == "view" else {"s": SCALARS, "v": VECTORS, "m": MATRICES}[sort]
        value = self.fill(self.pick(options), names, index)
        if kind == "augment":
            return [f"{self.pick(names[sort])} {self.pick(['+=', '-=', '*='])} {value}"]
        old = self.draw(st.booleans())
        name = self.pick(names[sort]) if old else self.new(sort)
        if not old:
            names[sort] = [*names[sort], name]
        return [f"{name} = {value}"]

    def new(self, kind: str) -> str:
        self.count += 1
        return f"{kind}x{self.count}"

    def listed(self, names: dict[str, list[str]], index: str | None) -> list[str]:
        self.count += 1
        name, total = f"l{self.count}", self.new("s")
        value = self.fill(self.pick(SCALARS), names, index)
        lines = [
            f"{name} = []",
            f"for q{self.count} in range(3):",
            f"    {name}.append({value} * q{self.count})",
            f"{total} = sum({name})",
        ]
        names["s"] = [*names["s"], total]
        return lines

    def nested(self, kind: str, names: dict[str, list[str]], depth: int, index: str | None) -> list[str]:
        """A branch or a loop. Names that it alone binds are not used afterwards."""
        inner = {key: list(value) for key, value in names.items()}
        length = self.draw(st.integers(1, 3))
        if kind == "if":
            lines = [f"if {self.fill(self.pick(CONDITIONS), names, index)}:"]
            lines += self.block(inner, 1, length, False, index)
            if self.draw(st.booleans()):
                other = {key: list(value) for key, value in names.items()}
                lines += ["else:", *self.block(other, 1, self.draw(st.integers(1, 2)), False, index)]
            return lines
        self.count += 1
        k = f"i{self.count}"
        if kind == "while":
            test = self.fill(self.pick(CONDITIONS), names, index)
            body = self.block(inner, 1, length, True, k)
            return [f"{k} = 0", f"while {k} < 6 and ({test}):", f"    {k} += 1", *body]
        trips = self.pick(["2", "3"] if kind == "for" else ["18", "20"])
        return [f"for {k} in range({trips}):", *self.block(inner, 1, length, True, k)]


def _replaced(text: str, name: str, by: str) -> str:
    """The first occurrence of a placeholder."""
    return text.replace(name, by + " " if by[0].isdigit() else by)

"""Bracketings: binary trees over the factors of a chain, kept flat.

A `Tree` lists its steps in the order in which they are carried out: factor k is node k, and step s is node n + s. A step is a
product, a pair of nodes, or it writes a node out by applying it to a basis: (node, PUSH), or (node, PULL) backwards. The only
step may be that of ALL, the factors as they stand. People and JSON see nested pairs of factor numbers, `[[0, 1], 2]`,
`["push", 1]` for factor 1 written out, and `["push", "all"]`. Nothing here recurses over the length of a chain, so that a tree
as deep as the chain is long is no trouble.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from catad import errors

Tree = tuple[tuple[int, int], ...]
Nested = Any  # a factor number, a pair of such, or a pair of "push" or "pull" and such
PUSH, PULL = -1, -2
ALL = -1  # as a node: all factors, none multiplied
WORDS = {"push": PUSH, "pull": PULL}
NAMES = {number: word for word, number in WORDS.items()}


def forward(n: int) -> Tree:
    """The tree from the input end: ((0 1) 2) ..."""
    return tuple([(0 if k == 1 else n + k - 2, k) for k in range(1, n)])


def reverse(n: int) -> Tree:
    """The tree from the output end: ... (n-3 (n-2 n-1))."""
    return tuple([(n - 1 - s, n - 1 if s == 1 else n + s - 2) for s in range(1, n)])


def balanced(n: int) -> Tree:
    """Neighbours in pairs, again and again."""
    level = list(range(n))
    made: list[tuple[int, int]] = []
    while len(level) > 1:
        following = []
        for left, right in zip(level[::2], level[1::2], strict=False):
            following.append(n + len(made))
            made.append((left, right))
        level = following + level[2 * len(following) :]
    return tuple(made)


def ranges(n: int, tree: Tree) -> list[tuple[int, int]]:
    """The first and the last factor of every node."""
    out = [(k, k) for k in range(n)]
    for left, right in tree:
        both = (0, n - 1) if left == ALL else out[left] if right < 0 else (out[left][0], out[right][1])
        out.append(both)
    return out


def nested(n: int, tree: Tree) -> Nested:
    """The bracketing as nested pairs of factor numbers."""
    nodes: list[Nested] = list(range(n))
    for left, right in tree:
        half = "all" if left == ALL else nodes[left]
        nodes.append((NAMES[right], half) if right < 0 else (half, nodes[right]))
    return nodes[-1]


def text(n: int, tree: Tree, between: str = ", ") -> str:
    """The bracketing as `[[0, 1], 2]`."""
    out: list[str] = []
    stack: list[int | str] = [n + len(tree) - 1]
    while stack:
        top = stack.pop()
        if isinstance(top, str):
            out.append(top)
        elif top < n:
            out.append('"all"' if top == ALL else str(top))
        else:
            left, right = tree[top - n]
            out.append("[")
            stack += ["]", left, f'"{NAMES[right]}"{between}'] if right < 0 else ["]", right, between, left]
    return "".join(out)


_DONE = object()
_WRITTEN = {word: object() for word in WORDS}


def read(value: Nested, n: int) -> Tree:
    """The tree of nested pairs (tuples or lists) of the numbers 0 to n - 1 in order, some perhaps written out.

    Raises `PlanError` naming the place: a factor that is skipped, repeated, out of order or unknown, and a node that is no
    pair.
    """
    made: list[tuple[int, int]] = []
    done: list[int] = []
    expected = 0
    stack: list[tuple[Nested, str]] = [(value, "")]
    while stack:
        top, place = stack.pop()
        if top is _DONE:  # both halves are done
            right, left = done.pop(), done.pop()
            done.append(n + len(made))
            made.append((left, right))
        elif any(top is mark for mark in _WRITTEN.values()):
            word = next(word for word, mark in _WRITTEN.items() if top is mark)
            made.append((done.pop(), WORDS[word]))
            done.append(n + len(made) - 1)
        elif isinstance(top, (list, tuple)):
            if len(top) != 2:
                raise errors.PlanError(errors.no_pair(top, place))
            if isinstance(top[0], str) and top[0] in WORDS:
                if isinstance(top[1], str) and top[1] == "all" and not place:
                    return ((ALL, WORDS[top[0]]),)
                stack += [(_WRITTEN[top[0]], place), (top[1], _below(place, 1))]
                continue
            stack += [(_DONE, place), (top[1], _below(place, 1)), (top[0], _below(place, 0))]
        else:
            expected = _factor(top, n, expected, place)
            done.append(top)
    if expected != n:
        raise errors.PlanError(errors.skipped_factor(expected, n, "at the end"))
    return tuple(made)


def _below(place: str, half: int) -> str:
    """The place of a half in a message; the first levels of a deep one."""
    return f"{place}[{half}]" if len(place) < 60 else place if place.endswith("...") else place + "..."


def _factor(k: Any, n: int, expected: int, place: str) -> int:
    where = f"bracketing{place}"
    if isinstance(k, bool) or not isinstance(k, int):
        raise errors.PlanError(errors.no_factor_number(k, where))
    if not 0 <= k < n:
        raise errors.PlanError(errors.unknown_factor(k, n, where))
    if k < expected:
        raise errors.PlanError(errors.repeated_factor(k, expected, where))
    if k > expected:
        raise errors.PlanError(errors.skipped_factor(expected, n, where))
    return expected + 1


def parse(source: str, start: int) -> tuple[Nested, int]:
    """The nested lists that begin at `start` in a JSON text, and where they end; as deep as one likes."""
    stack: list[list[Nested]] = [[]]
    at, comma = start, False
    while True:
        found = _TOKEN.match(source, at)
        if found is None:
            raise errors.PlanError(errors.malformed_plan("a bracket or a factor number is missing", *where(source, at)))
        token, here, at = found[1], found.start(1), found.end()
        needs_comma = bool(stack[-1])
        if token == ",":
            if comma or not needs_comma or len(stack) == 1:
                raise errors.PlanError(errors.malformed_plan("a comma too many", *where(source, here)))
            comma = True
            continue
        if token == "]":
            if comma or len(stack) == 1:
                raise errors.PlanError(errors.malformed_plan("a bracket closes here that is not open", *where(source, here)))
            done = stack.pop()
            stack[-1].append(done)
        else:
            if needs_comma != comma:
                raise errors.PlanError(errors.malformed_plan("a comma is missing", *where(source, here)))
            comma = False
            if token == "[":
                stack.append([])
                continue
            stack[-1].append(_number(token))
        if len(stack) == 1:
            return stack[0][0], at


_TOKEN = re.compile(r'\s*(\[|\]|,|"[^"\n]*"|[-+.\w]+)')


def _number(token: str) -> Any:
    try:
        return int(token)
    except ValueError:
        return token.strip('"')


def where(source: str, at: int) -> tuple[int, int]:
    """Line and column, from 1, of a position in a text."""
    return source.count("\n", 0, at) + 1, at - source.rfind("\n", 0, at)


def every(n: int) -> Iterator[Tree]:
    """All bracketings of a chain; there are Catalan(n - 1)."""
    below: dict[tuple[int, int], list[Nested]] = {(i, i): [i] for i in range(n)}
    for width in range(2, n + 1):
        for i in range(n - width + 1):
            j = i + width - 1
            below[i, j] = [(a, c) for k in range(i, j) for a in below[i, k] for c in below[k + 1, j]]
    for whole in below[0, n - 1]:
        yield read(whole, n)


def is_plain(n: int, tree: Sequence[tuple[int, int]]) -> bool:
    """True where each step has at most one operand that is itself a step: there is then only one order of execution."""
    return all(left < n or right < n for left, right in tree)

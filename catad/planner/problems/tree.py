"""Elimination trees: an order of elimination without what is arbitrary in it.

The last vertex of a part is the root; what is left falls into parts, whose roots are its children. Any order in which children
come before their parents costs the same. Below a vertex stands everything that is gone when it is eliminated and that it is
connected to, so what it costs depends on its subtree only. (For factorisations: J. Liu, The role of elimination trees, 1990.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from catad.planner.heuristics import Work
from catad.planner.problems.orders import costs
from catad.planner.problems.parts import Part, reach


class Tree:
    """The elimination tree of an order of a connected part; `below[v]` is the set of the subtree of v, with v."""

    def __init__(self, part: Part, order: Sequence[int]) -> None:
        self.part, self.total = part, part.measure
        self.parent = [-1] * part.m
        self.children: list[list[int]] = [[] for _ in range(part.m)]
        self.below = [0] * part.m
        priced = costs(part.preds, part.succs, part.sizes, order)
        self.cost = [priced[v] for v in range(part.m)]
        self.value = sum(self.cost)
        self._place_all(order)

    def _place_all(self, order: Sequence[int]) -> None:
        """Places each vertex of an order above the subtrees to which it is connected."""
        jump = list(range(self.part.m))  # towards the root of a subtree, by shortened paths
        gone = 0
        for v in order:
            near = (self.part.preds[v] | self.part.succs[v]) & gone
            below = 1 << v
            while near:
                root = (near & -near).bit_length() - 1
                while jump[root] != root:
                    jump[root] = jump[jump[root]]
                    root = jump[root]
                jump[root] = v
                self._attach(root, v)
                below |= self.below[root]
                near &= ~below
            self.below[v] = below
            gone |= below

    def _attach(self, child: int, parent: int) -> None:
        self.parent[child] = parent
        self.children[parent].append(child)

    def copy(self) -> Tree:
        made: Tree = object.__new__(Tree)
        made.part, made.total, made.value = self.part, self.total, self.value
        made.parent, made.below, made.cost = self.parent[:], self.below[:], self.cost[:]
        made.children = [children[:] for children in self.children]
        return made

    def order(self) -> list[int]:
        """The vertices, children before parents."""
        order: list[int] = []
        stack = [v for v in range(self.part.m) if self.parent[v] < 0]
        while stack:
            v = stack.pop()
            order.append(v)
            stack += self.children[v]
        return order[::-1]

    def reduced(self, window: Sequence[int], top: int, work: Work) -> tuple[dict[int, int], dict[int, int]]:
        """The neighbours of the vertices of a window once everything below it is gone."""
        gone = self.below[top]
        for v in window:
            gone ^= 1 << v
        preds, succs = self.part.preds, self.part.succs
        return {v: reach(preds, v, gone, work) for v in window}, {v: reach(succs, v, gone, work) for v in window}

    def reorder(self, window: Sequence[int], top: int, order: Iterable[int], price: dict[int, int]) -> None:
        """Brings the vertices of a window, connected in the tree and with `top` above, into another order, at new costs."""
        inside = 0
        for v in window:
            inside |= 1 << v
        under = [c for v in window for c in self.children[v] if not inside >> c & 1]
        above = self.parent[top]
        for v in window:
            self.parent[v] = -1
            self.children[v] = []
            self.value += price[v] - self.cost[v]
            self.cost[v] = price[v]
        for c in under:
            self.parent[c] = -1
        preds, succs = self.part.preds, self.part.succs
        gone = 0
        for c in under:
            gone |= self.below[c]
        last = top
        for v in order:
            self._place_within(v, (preds[v] | succs[v]) & gone, under)
            gone |= self.below[v]
            under.append(v)
            last = v
        self.parent[last] = above
        if above >= 0:
            self.children[above] = [last if c == top else c for c in self.children[above]]

    def _place_within(self, v: int, near: int, roots: list[int]) -> None:
        below = 1 << v
        kept = []
        for root in roots:
            if self.below[root] & near:
                self._attach(root, v)
                below |= self.below[root]
            else:
                kept.append(root)
        roots[:] = kept
        self.below[v] = below

def subtree_window(tree: Tree, start: int, size: int, draw: Sequence[float]) -> tuple[list[int], int]:
    """A connected piece of the tree around a vertex, grown by random numbers, and its topmost vertex."""
    window, top = [start], start
    inside = 1 << start
    front = tree.children[start] + ([tree.parent[start]] if tree.parent[start] >= 0 else [])
    for number in draw[: size - 1]:
        if not front:
            break
        k = int(number * len(front))
        v = front[k]
        front[k] = front[-1]
        front.pop()
        window.append(v)
        inside |= 1 << v
        if v == tree.parent[top]:
            top = v
            if tree.parent[v] >= 0:
                front.append(tree.parent[v])
        front += [c for c in tree.children[v] if not inside >> c & 1]
    return window, top

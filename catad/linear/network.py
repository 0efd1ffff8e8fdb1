"""`Network`: the derivative of a program that shares work, as a graph whose boxes are linear maps.

It is what linearising gives: nothing is multiplied yet. Pushing tangents through it in order is forward mode, pulling
cotangents back against the order is reverse mode; a straight line of maps is a `Chain`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from catad.category.spaces import Tensor
from catad.linear.families.block import Chain, assemble, chain, placed, total
from catad.linear.families.delta import identity
from catad.linear.matrix.entries import Entries
from catad.linear.matrix.patterns import Grid, grid_of
from catad.linear.solving.solver import Solver, solver_of
from catad.linear.structure import Placed, Structure, accumulate, family, local, of_part, renumbered

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire


class Node(NamedTuple):
    """A placed linear map with the numbers of the tangent wires that it reads and writes."""

    part: Placed
    ins: tuple[int, ...]
    outs: tuple[int, ...]


@family
class Network(Structure):
    """See the module. `wires` are the spaces of the tangent wires; `backward` says that it is read against its direction."""

    wires: tuple[Tensor, ...]
    inputs: tuple[int, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[int, ...]  # -1 for a result that does not depend on the inputs
    ends: tuple[Tensor, ...]
    slots: tuple[Tensor, ...]
    backward: bool = False

    @cached_property
    def _starts(self) -> tuple[Tensor, ...]:
        return tuple([self.wires[k] for k in self.inputs])

    @property
    def dom(self) -> tuple[Tensor, ...]:
        return self.ends if self.backward else self._starts

    @property
    def cod(self) -> tuple[Tensor, ...]:
        return self._starts if self.backward else self.ends

    @cached_property
    def T(self) -> Network:
        return Network(self.wires, self.inputs, self.nodes, self.outputs, self.ends, self.slots, not self.backward)

    def apply(self, b: Builder, slots: Sequence[Wire], xs: Sequence[Wire | None]) -> list[Wire | None]:
        return self._pull(b, slots, xs) if self.backward else self._push(b, slots, xs)

    def _push(self, b: Builder, slots: Sequence[Wire], xs: Sequence[Wire | None]) -> list[Wire | None]:
        at: dict[int, Wire | None] = dict(zip(self.inputs, xs, strict=True))
        for part, ins, outs in self.nodes:
            tangents = [at.get(k) for k in ins]
            if any(t is not None for t in tangents):
                at.update(zip(outs, part[0].apply(b, of_part(slots, part), tangents), strict=True))
        return [at.get(k) for k in self.outputs]

    def _pull(self, b: Builder, slots: Sequence[Wire], ys: Sequence[Wire | None]) -> list[Wire | None]:
        at: dict[int, Wire | None] = {}
        for k, y in zip(self.outputs, ys, strict=True):
            if k >= 0:
                at[k] = accumulate(at.get(k), y)
        for part, ins, outs in reversed(self.nodes):
            cotangents = [at.get(k) for k in outs]
            if any(t is not None for t in cotangents):
                for k, term in zip(ins, part[0].T.apply(b, of_part(slots, part), cotangents), strict=True):
                    at[k] = accumulate(at.get(k), term)
        return [at.get(k) for k in self.inputs]

    @property
    def kind(self) -> str:
        return f"network of {len(self.nodes)} maps"

    @cached_property
    def nnz(self) -> int:
        """An upper bound: nothing is multiplied yet."""
        return self.rows * self.columns

    @property
    def graph(self) -> Network:
        return self

    is_composite = True
    is_lazy = True

    def patterns(self) -> Grid:
        return grid_of(self.stages)

    @property
    def bandwidths(self) -> tuple[int, int]:
        return self.stages.bandwidths

    @property
    def entry_count(self) -> int | None:
        return self.stages.entry_count

    def entries(self, xp: Any, slots: Sequence[Any]) -> Entries:
        """The entries of the stages, multiplied, if there are no more than the array has numbers; else those of the array."""
        count = self.entry_count
        if count is None or count > self.rows * self.columns:
            return super().entries(xp, slots)
        return self.stages.entries(xp, slots)

    def diagonal(self, xp: Any, slots: Sequence[Any], k: int = 0) -> Any:
        return self.stages.diagonal(xp, slots, k)

    def solver(self, xp: Any, slots: Sequence[Any], rtol: float | None = None) -> Solver:
        return solver_of(self.stages, xp, slots, rtol)

    @cached_property
    def stages(self) -> Structure:
        """The same map as a chain: one block for each rank of nodes, from all live wires to all live wires."""
        if self.backward:
            return self.T.stages.T
        rank: dict[int, int] = dict.fromkeys(self.inputs, 0)
        levels: dict[int, list[Node]] = {}
        for node in self.nodes:
            level = 1 + max(rank.get(k, 0) for k in node.ins)  # a wire that no input reaches has no rank: it is zero
            rank.update(dict.fromkeys(node.outs, level))
            levels.setdefault(level, []).append(node)
        top = max(levels, default=0)
        last = dict.fromkeys(self.inputs, 0)  # the last rank that reads a wire
        for level, nodes in levels.items():
            for node in nodes:
                for k in node.ins:
                    last[k] = max(last.get(k, 0), level)
        for k in self.outputs:
            last[k] = top + 1
        live = list(self.inputs)
        parts: list[Placed] = []
        for level in range(1, top + 1):
            nodes = levels[level]
            plain = [node for node in nodes if _is_plain(node)]
            coupled = [node for node in nodes if not _is_plain(node)]
            stay = [k for k in live if last.get(k, 0) > level]
            stay += [k for node in plain for k in node.outs if last.get(k, 0) > level]
            parts.append(self._grid(live, plain, stay + [k for node in coupled for k in node.ins]))
            if coupled:
                parts.append(self._side_by_side(stay, coupled))
            live = stay + [k for node in coupled for k in node.outs]
        parts.append(self._grid(live, [], list(self.outputs), self.ends))
        product, numbers = placed(chain, parts)
        if numbers == tuple(range(len(self.slots))):
            return product
        return Chain(((product, numbers),), self.slots)  # some slot is not needed

    def _grid(self, live: list[int], nodes: list[Node], after: list[int], cod: Sequence[Tensor] = ()) -> Placed:
        """One block from the live wires before to those after; wires that no node makes are passed on."""
        dom = tuple([self.wires[k] for k in live])
        cod = tuple(cod) or tuple([self.wires[k] for k in after])
        column = {k: c for c, k in enumerate(live)}
        rows: list[list[Placed | None]] = [[None] * len(live) for _ in after]
        for r, k in enumerate(after):
            if k in column:
                rows[r][column[k]] = (identity(self.wires[k]), ())
        for node in nodes:
            for r, out in enumerate(node.outs):
                for c, part in enumerate(_lines(node.part)[r]):
                    at = column.get(node.ins[c])
                    if at is None:
                        continue
                    for place in [i for i, k in enumerate(after) if k == out]:
                        rows[place][at] = _plus(rows[place][at], part)
        parts, numbers = local([part for line in rows for part in line if part is not None])
        there = iter(parts)
        cells = [[part and next(there) for part in line] for line in rows]
        return assemble(cells, dom, cod, [self.slots[k] for k in numbers]), numbers

    def _side_by_side(self, stay: list[int], coupled: list[Node]) -> Placed:
        """Maps of several leaves next to each other, after the wires that are passed on."""
        parts, numbers = local([*[(identity(self.wires[k]), ()) for k in stay], *[node.part for node in coupled]])
        lines = [[part if r == c else None for c in range(len(parts))] for r, part in enumerate(parts)]
        dom = tuple([leaf for s, _ in parts for leaf in s.dom])
        cod = tuple([leaf for s, _ in parts for leaf in s.cod])
        if len(parts) == 1:
            return parts[0][0], coupled[0].part[1]
        widths = (tuple([len(s.dom) for s, _ in parts]), tuple([len(s.cod) for s, _ in parts]))
        return assemble(lines, dom, cod, [self.slots[k] for k in numbers], widths), numbers


def _is_plain(node: Node) -> bool:
    """True where the map consists of maps between single leaves."""
    return node.part[0].leafwise is not None


def _lines(part: Placed) -> list[list[Placed | None]]:
    structure, numbers = part
    cells = structure.leafwise
    assert cells is not None
    return [[part and renumbered(part, numbers) for part in line] for line in cells]


def _plus(a: Placed | None, b: Placed | None) -> Placed | None:
    """The sum of two placed parts that keep their slot numbers."""
    if a is None or b is None:
        return b if a is None else a
    return placed(total, (a, b))

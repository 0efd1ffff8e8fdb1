"""The axes of the threads of a launch: a coordinate and its block are one axis where the kernel asks for nothing else.

The linear order of threads is that of CUDA: block after block, in each of them z, y, x, of which x is the fastest. Where axes are
joined, `in_order` lays the threads out in this order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from catad.category.constant import Constant
from catad.linear.families.gather import rows_of
from catad.linear.families.reindex import reshaped
from catad.scalar import Node, apply, const, param, postorder
from catad.scalar.simplify import replace
from catad.simt.affine import Form
from catad.simt.arrays import LINEAR, Array, B, T
from catad.simt.read import Dims
from catad.vector.folds.merge_axes import transposed
from catad.vector.indexing.static_indices import gathered

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire

Atom = tuple[str, int]  # "block", "thread" or "joined", and 0, 1, 2 for x, y, z


class Trips(NamedTuple):
    """An axis of the trips of a loop. One with `of` has that axis of `step` threads in it: its place is thread + step * trip."""

    size: int
    of: Atom | None = None
    step: int = 1


@dataclass(frozen=True)
class Lanes:
    """The axes of a launch, the outermost first; all are larger than 1. `threads` are the numbers of threads in x, y and z.

    In the body of a loop whose trips are done at once, axes of trips are in front of those of the threads.
    """

    dims: Dims
    atoms: tuple[Atom, ...]
    asked: frozenset[int]
    threads: tuple[int, int, int]
    trips: tuple[Trips, ...] = ()

    def size(self, atom: Atom) -> int:
        """The size of an axis."""
        kind, d = atom
        grid, block = self.dims.grid[d], self.dims.block[d]
        return min(self.threads[d], grid if kind == "block" else block if kind == "thread" else grid * block)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of the axes."""
        return (*[one.size for one in self.trips], *[self.size(atom) for atom in self.atoms])

    @property
    def of_threads(self) -> list[int]:
        """The axes whose places are different threads."""
        first = len(self.trips)
        return [*[k for k, one in enumerate(self.trips) if one.of], *range(first, first + len(self.atoms))]

    @property
    def of_block(self) -> frozenset[int]:
        """The axes along which whole blocks lie."""
        atoms = enumerate(self.atoms, len(self.trips))
        return frozenset([k for k, (kind, d) in atoms if kind == "block" or self.dims.block[d] == 1])

    @property
    def coordinates(self) -> Mapping[Node, Node]:
        """The coordinates of a thread as expressions over the axes."""
        found: dict[Node, Node] = {}
        for d in range(3):
            at = {kind: param(k) for k, (kind, e) in enumerate(self.atoms, len(self.trips)) if e == d}
            if "joined" in at:
                found[LINEAR[d]] = at["joined"]
                found[T[d]], found[B[d]] = at["joined"], at["joined"]
                continue
            t, b = at.get("thread", const(0)), at.get("block", const(0))
            both = apply("add", apply("mul", b, self.dims.block[d]), t) if len(at) == 2 else t if "thread" in at else b
            found |= {T[d]: t, B[d]: b, LINEAR[d]: both}
        return found | {node: found[linear] for node, linear in joined(self.dims).items()}

    def prefix(self, array: Array) -> list[int]:
        """The axes of the threads that an array has in front of its own: those of the block, or of the thread."""
        if array.place == "global":
            return []
        own = self.of_block if array.place != "local" else range(len(self.trips), len(self.sizes))
        return sorted(own)

    def whole(self, array: Array) -> tuple[int, ...]:
        """The shape of an array with the axes in front of its own."""
        return (*[self.sizes[k] for k in self.prefix(array)], *array.shape)

    @property
    def _whole(self) -> bool:
        """Whether all threads of the launch are there, or at most one axis is: then splitting the axes finds their order."""
        return len(self.atoms) <= 1 or all(
            m * n == k for m, n, k in zip(self.dims.grid, self.dims.block, self.threads, strict=True)
        )

    def _apart(self) -> tuple[list[int], list[int]]:
        """The sizes of all blocks' and threads' axes in the order of the axes, and the order that makes them linear."""
        # size, -1 for trips, 0 for blocks and 1 for threads, dimension
        pieces: list[tuple[int, int, int]] = [(one.size, -1, -k) for k, one in enumerate(self.trips)]
        for kind, d in self.atoms:
            if kind == "joined" and len(self.atoms) > 1:
                pieces += [(self.dims.grid[d], 0, d), (self.dims.block[d], 1, d)]
            else:
                pieces.append((self.size((kind, d)), int(kind == "thread"), d))
        order = sorted(range(len(pieces)), key=lambda k: (pieces[k][1], -pieces[k][2]))
        return [n for n, _, _ in pieces], order

    def _order(self) -> np.ndarray:
        """The places on the axes, as if these were one, of the threads in linear order."""
        indices = np.indices(self.sizes).reshape(len(self.sizes), -1)
        places = dict(zip(self.atoms, indices[len(self.trips) :], strict=True))
        keys = []  # the fastest first
        for kind in ("thread", "block"):
            for d in range(3):
                if (kind, d) in places:
                    keys.append(places[kind, d])
                elif ("joined", d) in places:
                    keys.append(np.divmod(places["joined", d], self.dims.block[d])[kind == "thread"])
        return np.lexsort([*keys, *indices[: len(self.trips)][::-1]])

    def in_order(self, b: Builder, wire: Wire) -> Wire:
        """The numbers of all threads on one axis, in linear order, trip after trip."""
        if not self._whole:
            return permuted(b, reshaped(b, wire, (math.prod(self.sizes),)), self._order())
        sizes, order = self._apart()
        return reshaped(b, transposed(b, reshaped(b, wire, sizes), order), (math.prod(sizes),))

    def place(self, position: int) -> tuple[int, ...]:
        """The places on the axes of the thread at a position in linear order, trip after trip."""
        numbers = np.arange(math.prod(self.sizes))
        order = self.linear(numbers) if self._whole else numbers[self._order()]
        return tuple([int(k) for k in np.unravel_index(order[position], self.sizes)]) if self.sizes else ()

    def linear(self, numbers: np.ndarray) -> np.ndarray:
        """The numbers of all threads in linear order, of an array of NumPy."""
        sizes, order = self._apart()
        return numbers.reshape(sizes).transpose(order).reshape(-1)

    def out_of_order(self, b: Builder, line: Wire) -> Wire:
        """The numbers of all threads on their axes again."""
        if not self._whole:
            return reshaped(b, permuted(b, line, np.argsort(self._order())), self.sizes)
        sizes, order = self._apart()
        wire = reshaped(b, line, [sizes[k] for k in order])
        return reshaped(b, transposed(b, wire, [order.index(k) for k in range(len(order))]), self.sizes)

    def said(self, form: Form) -> str:
        """An index, in the names of the coordinates."""
        parts = []
        for v, s in form.terms:
            name = self._name(v) if s == 1 or " " not in self._name(v) else f"({self._name(v)})"
            parts.append(name if s == 1 else f"{s}*{name}")
        text = " + ".join(parts) + (f" {'-' if form.c < 0 else '+'} {abs(form.c)}" if form.c and parts else "")
        return text or str(form.c)

    def _name(self, v: int) -> str:
        """The name of an axis."""
        if v < len(self.trips):
            trip, of = f"trip{v + 1}" if len(self.trips) > 1 else "trip", self.trips[v]
            return trip if of.of is None else f"{_name(of.of)} + {of.step}*{trip}"
        return _name(self.atoms[v - len(self.trips)])

    def named(self, at: tuple[int, ...]) -> str:
        """A thread, for messages: its block and its place in it, and the trip where there is one."""
        block, thread = [0, 0, 0], [0, 0, 0]
        found = list(zip(self.atoms, at[len(self.trips) :], strict=True))
        trips = list[int]()
        for one, k in zip(self.trips, at, strict=False):
            trip, place = divmod(k, one.step) if one.of else (k, 0)
            found += [(one.of, place)] if one.of else []
            trips.append(trip)
        for (kind, d), k in found:
            if kind == "joined":
                block[d], thread[d] = divmod(k, self.dims.block[d])
            else:
                (block if kind == "block" else thread)[d] = k
        return f"{tuple(thread)} of block {tuple(block)}" + "".join([f" in trip {k}" for k in trips])


def _name(atom: Atom) -> str:
    kind, d = atom
    return "ijk"[d] if kind == "joined" else f"{'blockIdx' if kind == 'block' else 'threadIdx'}.{'xyz'[d]}"


def places(sizes: Sequence[int]) -> list[np.ndarray]:
    """The places along each axis, with size 1 along all others."""
    return [np.arange(n).reshape([-1 if j == k else 1 for j in range(len(sizes))]) for k, n in enumerate(sizes)]


def permuted(b: Builder, line: Wire, order: np.ndarray) -> Wire:
    """The entries of a line in another order."""
    (at,) = b.add(Constant(order))
    return gathered(b, rows_of(line.shape, at.shape), at, line)


def joined(dims: Dims) -> dict[Node, Node]:
    """What users write for the linear position, `blockIdx.x * blockDim.x + threadIdx.x` in any order, as `LINEAR`."""
    found: dict[Node, Node] = {}
    for d in range(3):
        if dims.grid[d] > 1 and dims.block[d] > 1:
            for product in (apply("mul", B[d], dims.block[d]), apply("mul", dims.block[d], B[d])):
                found |= {apply("add", product, T[d]): LINEAR[d], apply("add", T[d], product): LINEAR[d]}
    return found


def lanes_of(dims: Dims, nodes: Iterable[Node], shared: bool, threads: tuple[int, int, int]) -> Lanes:
    """The axes for a kernel with these expressions; `shared` where it has arrays of the block, or barriers.

    Without these, and where only the position in the launch is asked for, an axis has as many threads as are needed.
    """
    nodes = list(nodes)
    seen = set(postorder(replace(nodes, joined(dims))))
    asked = frozenset([node.value for node in postorder(nodes) if node.op == "param"])
    outer, inner = list[Atom](), list[Atom]()
    counts = list[int]()
    for d in (2, 1, 0):
        grid, block = dims.grid[d], dims.block[d]
        apart = grid > 1 and block > 1 and (T[d] in seen or B[d] in seen)
        counts.insert(0, grid * block if shared or apart else threads[d])
        if apart or (shared and grid > 1 and block > 1):
            outer.append(("block", d))
            inner.append(("thread", d))
        elif counts[0] == 1:
            continue
        elif grid > 1 and block > 1:
            outer.append(("joined", d))
        elif grid > 1:
            outer.append(("block", d))
        elif block > 1:
            inner.append(("thread", d))
    x, y, z = counts
    return Lanes(dims, (*outer, *inner), asked, (x, y, z))

"""Arrays in blocks, and the boxes that make them block by block: what a plan consists of.

A `Local` box stands at each coordinate of a grid. It reads windows of arrays and writes one block of each of its results. What
passes between tasks is what windows show of blocks that other coordinates have written: halos, totals, whole arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from catad.category.spaces import Tensor
from catad.chunks.parts import Parts, Ranges, Sizes, Window, ranges_of

if TYPE_CHECKING:
    from catad.category.wiring import Builder
    from catad.category.wiring import Wire as LocalWire

Again = Callable[[tuple["Ranges | None", ...]], "Chunked | None"]
"""What makes ranges of an array again (None: a whole axis) as the blocks of one; None where it cannot."""


FREE, STORED, MOVED, COMPUTED, ANY = range(5)
"""What ranges of an array that are not its blocks are made of: of nothing that is cut, of blocks that are stored, of such moved
elsewhere, or by computing again from these."""


class Chunked:
    """An array of a plan: its space, its parts, and what makes it: a `Local` box, an `Argument`, or `Joined` arrays.

    `again` makes ranges for one of several readers, `recut` for the only one, which an array is made for if it is `sole`. Of
    what these are made says `reach`.
    """

    __slots__ = ("again", "parts", "place", "reach", "recut", "sole", "source", "space")

    def __init__(self, space: Tensor, parts: Parts, source: Local | Argument | Joined, place: int = 0, again: Any = None) -> None:
        self.space, self.parts, self.source, self.place = space, parts, source, place
        self.again: Again | None = again
        self.recut: Again | None = again
        self.sole = False
        self.reach = STORED
        if again is not None:
            read = [one.array.reach for one in source.reads if one.array.is_cut] if isinstance(source, Local) else [STORED]
            self.reach = max(MOVED, *read) if max(read, default=FREE) > FREE else FREE

    @property
    def shape(self) -> tuple[int, ...]:
        return self.space.shape

    @property
    def ndim(self) -> int:
        return self.space.ndim

    @property
    def nbytes(self) -> int:
        return self.space.size * self.space.dtype.itemsize

    @property
    def is_cut(self) -> bool:
        return any(len(sizes) > 1 for sizes in self.parts)

    def __repr__(self) -> str:
        return f"<{self.space} in parts {self.parts}>"


class Argument(NamedTuple):
    """An argument of the program, by its number; of a constant, the array."""

    number: int
    constant: Any = None


class Joined(NamedTuple):
    """Arrays after each other along an axis, of which every block is a block of one of them."""

    axis: int
    arrays: tuple[Chunked, ...]


class Read(NamedTuple):
    """What a box reads of an array: a window along each axis, None for all of the axis."""

    array: Chunked
    windows: tuple[Window | None, ...]

    def shape(self, at: Sequence[int]) -> tuple[int, ...]:
        """The shape of what is read at a coordinate."""
        return tuple([
            n if window is None else window.at(at)[1] - window.at(at)[0]
            for n, window in zip(self.array.shape, self.windows, strict=True)
        ])  # fmt: skip

    def through(self, dims: Sequence[int]) -> Read:
        """The same, of a box whose dimensions are these of another grid."""
        windows = [w if w is None or w.dim is None else Window(dims[w.dim], w.ranges) for w in self.windows]
        return Read(self.array, tuple(windows))


class At(NamedTuple):
    """Where a box is laid out: the local sizes and the notes along each dimension of its grid, and the wires of its offsets."""

    sizes: tuple[int, ...]
    notes: tuple[Hashable, ...]
    offsets: tuple[Any, ...]


Lay = Callable[["Builder", "list[LocalWire]", At], "Sequence[LocalWire]"]


class Local:
    """A box at each coordinate of a grid.

    `grid[d]` are sizes along dimension d, which `lay` may ask for; `notes[d]` are facts for each coordinate along it, on which
    the layout depends, too. `offsets` are (dimension, an integer for each coordinate along it): arguments, so that no layout
    depends on them. `light` says that computing a result again costs no more than reading it, `moves` that nothing is computed,
    `stored` that only one task computes a block of it, however small it is.
    """

    __slots__ = ("grid", "lay", "light", "moves", "name", "notes", "offsets", "reads", "salt", "spaces", "stored", "writes")

    def __init__(
        self,
        name: str,
        grid: tuple[Sizes, ...],
        reads: Sequence[Read],
        lay: Lay,
        notes: Sequence[Sequence[Hashable] | None] | None = None,
        offsets: Sequence[tuple[int, tuple[int, ...]]] = (),
        light: bool = False,
        salt: int = 0,
        stored: bool = False,
        moves: bool = False,
    ) -> None:
        self.name, self.grid, self.reads, self.lay, self.light, self.salt = name, grid, tuple(reads), lay, light, salt
        self.stored, self.moves = stored, moves
        self.notes = (None,) * len(grid) if notes is None else tuple([None if own is None else tuple(own) for own in notes])
        self.offsets = tuple(offsets)
        self.writes: list[tuple[int | None, ...]] = []  # for each result the dimension along which each axis is cut
        self.spaces: list[Tensor] = []

    def again(self, reads: Sequence[Read], lay: Lay, stored: bool = False) -> Local:
        """The same box on other arrays, as yet without results."""
        stored = stored or self.stored
        return Local(self.name, self.grid, reads, lay, self.notes, self.offsets, self.light, self.salt, stored, self.moves)

    def result(
        self, space: Tensor, dims: Sequence[int | None], sizes: Parts | None = None, again: Again | None = None
    ) -> Chunked:
        """The next result, cut along its axes as some dimensions are; `sizes` are its parts where they differ from the grid's."""
        parts = sizes or tuple([(n,) if d is None else self.grid[d] for n, d in zip(space.shape, dims, strict=True)])
        self.writes.append(tuple(dims))
        self.spaces.append(space)
        return Chunked(space, parts, self, len(self.writes) - 1, again)


def seen_from(read: Read) -> tuple[int, ...] | None:
    """Where a read shows at each coordinate one block of a `Local` box: which dimensions of the reader are those of the box."""
    source = read.array.source
    if not isinstance(source, Local):
        return None
    dims: dict[int, int] = {}
    for d, sizes, window in zip(source.writes[read.array.place], read.array.parts, read.windows, strict=True):
        if d is None:
            if window is not None:
                return None
            continue
        if window is None or window.dim is None or window.ranges != ranges_of(sizes):
            return None
        if dims.setdefault(d, window.dim) != window.dim:
            return None
    return tuple([dims[d] for d in range(len(source.grid))])

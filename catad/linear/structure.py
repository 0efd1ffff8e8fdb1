"""The structure of a linear map: all that is known of it without its numbers.

A `Structure` describes a Jacobian without data: the spaces of its argument and result leaves (`dom`, `cod`: the floating
leaves only, since integers have no tangents), the spaces of the coefficient arrays that fill it (`slots`), how to apply it
and how to transpose it. It is hashable, so that programs and plans are cached by it. Applying adds boxes to a builder, so
the result can be fused, batched and differentiated again. Transposing never touches the slots.

Applying is linear in the argument and in each slot, so a derivative rule is a structure and a way to compute its slots
(`Rule`); forward mode applies the structure, reverse mode its transpose, and an explicit Jacobian multiplies it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import accumulate as accumulated
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, dataclass_transform

import numpy as np

from catad import errors, upward
from catad.category.spaces import Tensor
from catad.linear.matrix.patterns import UNKNOWN, Grid
from catad.support.fields import frozen
from catad.support.lru import hashed_once

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire
    from catad.linear.families.block import Chain
    from catad.linear.families.delta import Delta
    from catad.linear.families.reindex import Reindex
    from catad.linear.matrix.entries import Entries
    from catad.linear.network import Network
    from catad.linear.products import Combined
    from catad.linear.solving.solver import Solver

S = TypeVar("S", bound="Structure")
T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def family(cls: type[S]) -> type[S]:
    """Class decorator for families of linear maps: frozen dataclasses, compared by their fields, hashed once, pickled by them.

    A family defines `dom`, `cod` and `slots`, as fields or properties, and the methods without a default; else it is an
    `ExtensionError`.

    >>> import catad as ct
    >>> @ct.linear.family
    ... class Reversal(ct.linear.Structure):
    ...     space: ct.Tensor
    ...     dom = cod = property(lambda self: (self.space,))
    ...     slots = ()
    ...     kind, nnz = "reversal", property(lambda self: self.space.size)
    ...     T = property(lambda self: self)
    ...
    ...     def apply(self, b, slots, xs):
    ...         return [None if x is None else b.apply(ct.flip(), x) for x in xs]
    >>> ct.LinearMap(ct.f64[3], ct.f64[3], Reversal(ct.f64[3]), ())
    reversal f64[3] -> f64[3], stored 0, dense 9
    """
    made: Any = hashed_once(frozen(cls))
    names = [field.name for field in fields(made)]
    missing = [name for name in ("dom", "cod", "slots") if name not in names and not hasattr(cls, name)]
    missing += sorted(getattr(cls, "__abstractmethods__", ()))
    if missing and not cls.__name__.startswith("_"):
        raise errors.ExtensionError(errors.incomplete_family(cls, missing))

    if isinstance(cls.__dict__.get("T"), property):
        made.T = _made_once(cls.__dict__["T"])
    return made  # type: ignore[no-any-return]


def _made_once(transpose: property) -> property:
    """The transpose as a property that is computed at its first use: each pullback asks for it."""
    compute: Any = transpose.fget

    def kept(self: Structure) -> Structure:
        found: Structure | None = self.__dict__.get("_transpose")
        if found is None:
            found = compute(self)
            if found is not self:
                self.__dict__["_transpose"] = found
        return found

    return property(kept, doc=transpose.__doc__)


class Structure(ABC):
    """A linear map without its coefficients: the base of every family.

    A family defines its spaces (`dom`, `cod`, `slots`: fields or properties), its application, its transpose, its name and
    its number of entries. All other methods have a default that is right for every map: applying the map to a basis gives
    its matrix, its products stay chains and its sums stay sums. Decorate a family with `family`; register its products with
    `product_rule`. See docs/extending.md. A family without one of these is an `ExtensionError`.

    >>> import catad as ct
    >>> structure = ct.linear.identity(ct.f64[3]).structure
    >>> isinstance(structure, ct.linear.Structure), structure.dom, structure.kind, structure.nnz, structure.stored
    (True, (ct.f64[3],), 'identity', 3, 0)
    """

    if TYPE_CHECKING:  # attributes, fields or properties of the families

        @property
        def dom(self) -> tuple[Tensor, ...]: ...
        @property
        def cod(self) -> tuple[Tensor, ...]: ...
        @property
        def slots(self) -> tuple[Tensor, ...]: ...

    @abstractmethod
    def apply(self, b: Builder, slots: Sequence[Wire], xs: Sequence[Wire | None]) -> list[Wire | None]:
        """The wires of the result; None stands for a zero, in `xs` and in the result."""

    @property
    @abstractmethod
    def T(self) -> Structure:
        """The transpose, over the same slots."""

    @property
    @abstractmethod
    def kind(self) -> str:
        """The name by which people know it: "diagonal", "dense", "gather", ..."""

    @property
    @abstractmethod
    def nnz(self) -> int:
        """The number of entries of the matrix that are not zero by structure (dimensionless)."""

    @cached_property
    def stored(self) -> int:
        """The number of numbers in the slots (dimensionless)."""
        return sum(slot.size for slot in self.slots)

    @cached_property
    def rows(self) -> int:
        """The size of the result (dimensionless)."""
        return sum(leaf.size for leaf in self.cod)

    @cached_property
    def columns(self) -> int:
        """The size of the argument (dimensionless)."""
        return sum(leaf.size for leaf in self.dom)

    @property
    def is_identity(self) -> bool:
        """Whether it is the identity of its spaces, whatever fills the slots."""
        return False

    @property
    def is_zero(self) -> bool:
        """Whether it sends everything to zero, whatever fills the slots."""
        return False

    @property
    def is_monomial(self) -> bool:
        """True where no row and no column has more than one entry that can differ from zero."""
        return False

    @property
    def is_diagonal(self) -> bool:
        """True where the map only multiplies each entry by a number."""
        return False

    @property
    def is_full(self) -> bool:
        """True where the map is one dense array with every axis of its argument and of its result, which has at least one."""
        return False

    # -- how its entries are known

    @property
    def is_lazy(self) -> bool:
        """True where the entries are known only by applying the map to a basis; then products push columns through it."""
        return self.entry_count is None

    @property
    def has_factors(self) -> bool:
        """True where applying the map solves with factors that are among its slots."""
        return False

    @property
    def holds_matrix(self) -> bool:
        """True where `dense` reads the matrix off the slots."""
        return False

    def dense(self, xp: Any, slots: Sequence[Any]) -> Any:
        """The array of shape `cod + dom`, where `holds_matrix`."""
        raise errors.ExtensionError(errors.missing_method("family", self, "dense"))

    def dense_on(self, b: Builder, slots: Sequence[Wire]) -> Wire | None:
        """The wire of the array of shape `cod + dom`; None where it takes a basis."""
        return None

    @property
    def holds_columns(self) -> bool:
        """True where `columns` reads the columns off the slots."""
        return False

    def columns_on(self, b: Builder, slots: Sequence[Wire]) -> Wire:
        """A wire of shape `(size of the argument, *shape of the result)`, where `holds_columns`."""
        raise errors.ExtensionError(errors.missing_method("family", self, "columns_on"))

    def patterns(self) -> Grid:
        """The pattern of the entries for each leaf of the result (rows) and of the argument; see `linear/matrix/patterns.py`."""
        return tuple([(UNKNOWN,) * len(self.dom)] * len(self.cod))

    # -- its parts

    @cached_property
    def whole(self) -> Placed:
        """The map as a part that has all slots."""
        return self, tuple(range(len(self.slots)))

    @property
    def series(self) -> tuple[Placed, ...]:
        """The factors of a product, the first applied first; a map that is no product is its own only factor."""
        return (self.whole,)

    @property
    def terms(self) -> tuple[Placed, ...]:
        """The terms of a sum; a map that is no sum is its own only term."""
        return (self.whole,)

    @cached_property
    def blocks(self) -> Blocks:
        """The map as a grid of maps between groups of leaves; one that is no grid is the only one in it."""
        return Blocks(((None if self.is_zero else self.whole,),), (len(self.dom),), (len(self.cod),))

    @property
    def is_grid(self) -> bool:
        """True where the map is given as a grid, so that its sum with another of the same widths is taken place by place."""
        return False

    @property
    def summands(self) -> tuple[Structure, ...]:
        """The maps whose sum the map is given as; none where it is no sum."""
        return ()

    @property
    def solved(self) -> tuple[Structure, str] | None:
        """Where the map is an inverse: the map whose equations it solves, and its kind of factors, empty without factors."""
        return None

    @property
    def leafwise(self) -> Cells | None:
        """The map as a grid of maps between single leaves; None where it has no such parts."""
        return ((self.whole,),) if len(self.dom) == 1 and len(self.cod) == 1 else None

    @property
    def graph(self) -> Network | None:
        """The map as a graph of maps, where it is one."""
        return None

    @property
    def stages(self) -> Structure:
        """The same map as a product of blocks, where it is a graph; else the map."""
        return self

    @property
    def pieces(self) -> tuple[Structure, ...] | None:
        """The factors, terms or blocks of a composite; None of one that is none."""
        return None

    @property
    def is_composite(self) -> bool:
        """True where it may be cheaper to multiply its parts out than to apply them one after the other."""
        return self.pieces is not None

    # -- products and sums

    @property
    def only_moves(self) -> bool:
        """True where the map only moves entries, the same ones for all numbers."""
        return False

    @property
    def is_light(self) -> bool:
        """True where a product with it that has no rule may be a term of a sum: applying it costs little beside the sum."""
        return False

    @property
    def weighted_move(self) -> WeightedMove | None:
        """The map as a `Reindex` or none and then a `Delta`, where it is that; sums of such maps have fewer terms."""
        return None

    def plus(self, other: Structure) -> Combined | None:
        """The sum with a map between the same spaces, where that is one map with one set of slots; None where it stays a sum.

        The result is that of a product rule: a structure, and a source for each of its slots, `left` being this map's.
        """
        return None

    # -- the matrix on flattened vectors, with numbers in the slots; right for any family, better where one says more

    @property
    def bandwidths(self) -> tuple[int, int]:
        """Bounds of `row - column` and of `column - row` of the entries that are not zero by structure; (0, 0) is a diagonal."""
        return max(0, self.rows - 1), max(0, self.columns - 1)

    @property
    def entry_count(self) -> int | None:
        """About how many `entries` writes (dimensionless); None where the family finds them from the dense array only."""
        return None

    def entries(self, xp: Any, slots: Sequence[Any]) -> Entries:
        """Rows, columns and values, `slots` being arrays of the library `xp`; values of one position add up."""
        from catad.linear.matrix.entries import of_array

        return of_array(self, xp, slots)

    def diagonal(self, xp: Any, slots: Sequence[Any], k: int = 0) -> Any:
        """The entries `[i, i + k]`, `slots` being arrays of the library `xp`."""
        from catad.linear.matrix.entries import diagonal

        return diagonal(self, xp, slots, k)

    def solver(self, xp: Any, slots: Sequence[Any], rtol: float | None = None) -> Solver:
        """The solver of the map, which is square and not empty; `slots` are arrays of the library `xp`.

        `rtol` bounds the residual of an iteration, if it takes one.
        """
        from catad.linear.solving.general import general

        return general(self, xp, slots, rtol)

    def solver_of_chain(self, chain: Chain, xp: Any, slots: Sequence[Any]) -> Solver | None:
        """The solver of a product that starts with this map and has no invertible factors, where the family knows one."""
        return None


Placed = tuple[Structure, tuple[int, ...]]  # a part, and the slots of the composite that are its slots
Cells = tuple[tuple["Placed | None", ...], ...]  # a row for each leaf, or group of leaves, of the result; None is zero


def of_part(slots: Sequence[T], part: Placed) -> list[T]:
    """The slots of a part, of those of the composite."""
    return [slots[k] for k in part[1]]


def renumbered(part: Placed, numbers: Sequence[int]) -> Placed:
    """A part of a composite as a part of what the composite is placed in, with these numbers."""
    return part[0], tuple([numbers[k] for k in part[1]])


def local(parts: Sequence[Placed]) -> tuple[list[Placed], tuple[int, ...]]:
    """Placed parts with the slots that they use numbered from 0, and the numbers that these have in the composite."""
    used = tuple(sorted({k for _, own in parts for k in own}))
    at = {k: i for i, k in enumerate(used)}
    return [(part, tuple([at[k] for k in own])) for part, own in parts], used


def apart(*parts: Structure) -> list[Placed]:
    """Maps with slots of their own, those of one after those of the other."""
    ends = list(accumulated([len(part.slots) for part in parts]))
    return [(part, tuple(range(end - len(part.slots), end))) for part, end in zip(parts, ends, strict=True)]


class Blocks(NamedTuple):
    """A grid of placed parts, and how many leaves each of its columns and rows takes."""

    grid: Cells
    columns: tuple[int, ...]
    rows: tuple[int, ...]


class WeightedMove(NamedTuple):
    """A move (or none), then a `Delta`, and which slot of the map is that of the `Delta`, if it has one."""

    move: Reindex | None
    weight: Delta
    slot: int | None


@dataclass(frozen=True)
class Rule:
    """The derivative of a box: a structure, and how its slots follow from the wires of arguments and results.

    `structure` goes from the tangents of the floating arguments to those of the floating results, or only of those that `by` and
    `of` flag: the others are zero, or nobody asks for them. `coefficients(ins, outs)` adds boxes and returns the slots' wires, in
    their spaces; there are none where the map is constant.

    >>> import catad as ct
    >>> rule = ct.primitive.Rule(ct.linear.identity(ct.f64[3]).structure)
    >>> rule.structure.kind, rule.coefficients((), ())
    ('identity', ())
    """

    structure: Structure
    coefficients: Callable[[tuple[Wire, ...], tuple[Wire, ...]], Sequence[Wire]] = lambda ins, outs: ()
    by: tuple[bool, ...] | None = None
    of: tuple[bool, ...] | None = None


def widest(*spaces: Tensor) -> np.dtype[Any]:
    """The dtype in which numbers of these spaces are combined."""
    return np.result_type(*[space.dtype for space in spaces])


def accumulate(total: Wire | None, term: Wire | None) -> Wire | None:
    """The sum of two tangents, either of which may be a symbolic zero."""
    if total is None or term is None:
        return term if total is None else total
    return total + term


def cast(wire: Wire, dtype: np.dtype[Any]) -> Wire:
    """The wire converted to a dtype: what leaves a linear map has the dtype of its space."""
    if wire.dtype == dtype:
        return wire
    converted: Wire = wire.builder.apply(upward.astype(dtype), wire)
    return converted


def scale_by(wire: Wire, factor: float) -> Wire:
    """The wire times a number; nothing is added for 1."""
    if factor == 1.0:
        return wire
    return -wire if factor == -1.0 else factor * wire

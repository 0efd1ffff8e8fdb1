"""Products of structures: a table with exactly one rule for each pair of families.

The table of the package's families (`linear/families/table.py`) is checked when it is imported, for the first product; families
from outside extend it by the same law when two first meet, and two rules that fit equally well are an error then.

`multiply(first, second)` is the structure of `first >> second` together with how its slots follow from those of the two
factors, or None where the product has no better form than a `Chain`. Rules are registered for pairs of families; `Structure`
stands for any family, and the more specific rule wins. A rule never makes what is larger than both its factors unless a
dense factor forces it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from catad import errors
from catad.category.wiring import Builder, Wiring
from catad.linear.families.block import Zero
from catad.linear.structure import Structure
from catad.support.lru import remembered

if TYPE_CHECKING:
    from catad.category.wiring import Wire

Shared = frozenset[tuple[int, int]]  # slots (i of the first, j of the second) that hold the same array
Compute = Callable[["Builder", Sequence["Wire"], Sequence["Wire"]], "Wire"]


@dataclass(frozen=True)
class Source:
    """The source of a slot of a product: slot `index` of a factor as it is, or computed from the slots of both."""

    side: str  # "left", "right" or "computed"
    index: int = -1
    compute: Compute | None = None

    def wire(self, b: Builder, left: Sequence[Wire], right: Sequence[Wire]) -> Wire:
        if self.side == "left":
            return left[self.index]
        if self.side == "right":
            return right[self.index]
        assert self.compute is not None
        return self.compute(b, left, right)

    def swapped(self) -> Source:
        """The same with the factors exchanged."""
        compute = self.compute
        if compute is None:
            return Source("right" if self.side == "left" else "left", self.index)
        return Source("computed", -1, lambda b, left, right: compute(b, right, left))


class View(Sequence["Wire"]):
    """The slots of a part, made from those of two factors one by one, each when it is first read."""

    __slots__ = ("_b", "_left", "_made", "_right", "_sources")

    def __init__(self, b: Builder, sources: Sequence[Source], left: Sequence[Wire], right: Sequence[Wire]) -> None:
        self._b, self._sources, self._left, self._right = b, sources, left, right
        self._made: list[Wire | None] = [None] * len(sources)

    def __len__(self) -> int:
        return len(self._made)

    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, slice):
            return [self[i] for i in range(*k.indices(len(self)))]
        wire = self._made[k]
        if wire is None:
            wire = self._made[k] = self._sources[k].wire(self._b, self._left, self._right)
        return wire


def left(i: int) -> Source:
    """Slot i of the first factor as it is, among the sources of a product rule; see `product_rule`.

    >>> import catad as ct
    >>> ct.linear.left(0).side
    'left'
    """
    return Source("left", i)


def right(i: int) -> Source:
    """Slot i of the second factor as it is, among the sources of a product rule; see `product_rule`.

    >>> import catad as ct
    >>> ct.linear.right(0).side
    'right'
    """
    return Source("right", i)


def computed(compute: Compute) -> Source:
    """A slot made by boxes from the slots of both factors."""
    return Source("computed", -1, compute)


@dataclass(frozen=True)
class MapProduct:
    """The structure of a product and the sources of its slots."""

    structure: Structure
    sources: tuple[Source, ...]

    def combine(self, b: Builder, left: Sequence[Wire], right: Sequence[Wire]) -> list[Wire]:
        """The wires of the product's slots."""
        return [source.wire(b, left, right) for source in self.sources]


def moved(product: MapProduct, ls: Sequence[Source], rs: Sequence[Source]) -> MapProduct:
    """A product of parts as one of two wholes, from whose slots `ls` and `rs` make those of the parts.

    However many of its slots are read, and however deep products are nested, the slots of the parts are laid out once.
    """
    if not any(source.side == "computed" for source in product.sources):
        return MapProduct(product.structure, tuple([(ls if s.side == "left" else rs)[s.index] for s in product.sources]))
    own = object()  # stands for this product among the views of a builder

    def views(b: Builder, left: Sequence[Wire], right: Sequence[Wire]) -> tuple[View, View]:
        key = own, id(left), id(right)
        found = b.views.get(key)
        if found is None:  # the operands are kept, so that their ids stay theirs
            found = b.views[key] = (View(b, ls, left, right), View(b, rs, left, right), left, right)
        first, second, *_ = found
        return first, second

    def move(source: Source) -> Source:
        if source.side != "computed":
            return (ls if source.side == "left" else rs)[source.index]
        return computed(lambda b, left, right: source.wire(b, *views(b, left, right)))

    return MapProduct(product.structure, tuple([move(source) for source in product.sources]))


Multiply = Callable[[Any, Any, Shared], "MapProduct | None"]
Combined = tuple[Structure, Sequence[Source | Compute]]  # what a rule from outside returns
Rule = Callable[[Any, Any], "Combined | None"]
Pair = tuple[type[Any], type[Any]]
RULES: dict[Pair, Multiply] = {}
MET: dict[Pair, Multiply] = {}  # the rules of pairs with a family from outside, as they meet


def rule(first: type[Any], second: type[Any]) -> Callable[[Multiply], Multiply]:
    """Register the product rule for a pair of families; `Structure` means any."""

    def register(function: Multiply) -> Multiply:
        if (first, second) in RULES:
            raise errors.ExtensionError(errors.two_product_rules(first, second))
        RULES[first, second] = function
        return function

    return register


def product_rule(first: type[Any], second: type[Any]) -> Callable[[Rule], Rule]:
    """Decorator: the product rule of a family from outside with another, or with `Structure`, which stands for any.

    The rule is given the two structures, as in `first >> second`, and returns the structure of the product with a sequence of the
    sources of its slots, or None where the product stays a chain. A source is `left(i)` or `right(j)`, a slot of a factor as it
    is, or a function `(builder, slots of the first, slots of the second) -> wire`. The product is never larger than both factors,
    unless one of them is dense. Rules stand where the family is defined: one that comes after the two have met, or a second one
    for a pair, is an `ExtensionError`, and so are two rules that fit a pair equally well, when it first meets.

    >>> import catad as ct
    >>> @ct.linear.product_rule(ct.linear.Structure, ct.linear.Structure)
    ... def nothing(first, second):
    ...     return None
    Traceback (most recent call last):
        ...
    catad.errors.ExtensionError: there are two product rules for Structure >> Structure
      do:       keep one of them
      called:   ...
    """

    def register(function: Rule) -> Rule:
        pairs = [(a, b) for a, b in (*MET, *own_products()) if issubclass(a, first) and issubclass(b, second)]
        met = [f"{a.__name__} >> {b.__name__}" for a, b in pairs]
        rule(first, second)(lambda a, b, shared: product_of(function(a, b)))
        if met:
            del RULES[first, second]
            raise errors.ExtensionError(errors.product_rule_too_late(first, second, ", ".join(met[:3])))
        return function

    return register


def product_of(found: Combined | None) -> Any:
    """The `MapProduct` of the result of a rule from outside."""
    if found is None:
        return None
    structure, sources = found
    made = MapProduct(structure, tuple([s if isinstance(s, Source) else computed(s) for s in sources]))
    if len(made.sources) != len(structure.slots):
        raise errors.ExtensionError(errors.wrong_source_count(structure, len(made.sources)))
    return made


def _fitting(a: type[Any], b: type[Any], rules: Mapping[Pair, Multiply]) -> Multiply:
    """The rule for a pair of families: of those that fit, the one that is at least as special in both places as each other.

    A rule fits by its classes or those that they derive from, up to `Structure`; the nearer is the more special one.
    """
    places = [(i, j, found) for i, x in enumerate(a.__mro__) for j, y in enumerate(b.__mro__) if (found := rules.get((x, y)))]
    assert places, "the rule of any two families fits"
    least = [(i, j, found) for i, j, found in places if all(i <= k and j <= m for k, m, _ in places)]
    if not least:
        nearest = [(i, j) for i, j, _ in places if not any(k <= i and m <= j and (k, m) != (i, j) for k, m, _ in places)]
        named = [f"({a.__mro__[i].__name__}, {b.__mro__[j].__name__})" for i, j in nearest]
        raise errors.ExtensionError(errors.ambiguous_products(a, b, " and ".join(named)))
    return least[0][2]


def table(
    families: Iterable[type[Any]], rules: Mapping[Pair, Multiply]
) -> dict[Pair, Multiply]:
    """One rule for each pair: the one for the pair, else the one with one `Structure`, else that for any two.

    Raises `ExtensionError` where two rules fit a pair equally well, or none does.
    """
    families = tuple(families)
    return {(a, b): _fitting(a, b, rules) for a in families for b in families}


@cache
def own_products() -> Mapping[Pair, Multiply]:
    """The table of the package's own families."""
    from catad.linear.families.table import TABLE

    return TABLE


@remembered
def multiply(first: Structure, second: Structure, shared: Shared = frozenset()) -> MapProduct | None:
    """The product `first >> second`, or None where it stays a `Chain`."""
    assert first.cod == second.dom
    if first.is_zero or second.is_zero:
        return MapProduct(Zero(first.dom, second.cod), ())
    if first.is_identity:
        return MapProduct(second, tuple([right(j) for j in range(len(second.slots))]))
    if second.is_identity:
        return MapProduct(first, tuple([left(i) for i in range(len(first.slots))]))
    pair = type(first), type(second)
    product = own_products().get(pair) or MET.get(pair)
    if product is None:
        product = MET[pair] = _fitting(*pair, RULES)
    found = product(first, second, shared)
    if found is not None and found.structure.is_zero:  # e.g. disjoint slices that meet inside a chain
        return MapProduct(Zero(first.dom, second.cod), ())
    return found


def flipped(function: Multiply) -> Multiply:
    """The rule for the transposed pair: (first >> second).T = second.T >> first.T."""

    def transposed(first: Structure, second: Structure, shared: Shared) -> MapProduct | None:
        found = function(second.T, first.T, frozenset((j, i) for i, j in shared))
        return None if found is None else MapProduct(found.structure.T, tuple([s.swapped() for s in found.sources]))

    return transposed


@remembered
def operations(first: Structure, second: Structure, shared: Shared = frozenset()) -> int | None:
    """The multiply-adds that the product costs, dimensionless; None where there is no rule."""
    product = multiply(first, second, shared)
    if product is None:
        return None
    b = Builder()
    ls, rs = [b.wire(space) for space in first.slots], [b.wire(space) for space in second.slots]
    product.combine(b, ls, rs)
    return cost_of(b)


def cost_of_wiring(wiring: Wiring) -> int:
    """The operations of all boxes of a wiring, dimensionless."""
    return sum(box.primitive.cost(wiring.spaces(box.ins), wiring.spaces(box.outs)) for box in wiring.boxes)


def cost_of(b: Builder) -> int:
    """The operations of all boxes of a builder, dimensionless."""
    total = 0
    for primitive, ins, outs in b.boxes:
        total += primitive.cost(tuple([b.spaces[k] for k in ins]), tuple([b.spaces[k] for k in outs]))
    return total

"""`ct.at[key].set`, `.add`, `.mul`, `.min`, `.max`: one array with another written into a part of it; functional updates.

`set` overwrites a copy. `add` adds the values, padded with minus zero, which changes no number; `mul`, `min` and `max` pad with
their neutral elements, so the Jacobian with respect to the array is the identity or a diagonal. With indices that come as
arguments, `set` and `add` are boxes, and the others are `reduce_by_index` on flattened arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from catad import errors
from catad.category.boxes import of_fields
from catad.category.terms import D
from catad.errors.places import here
from catad.linear.families.contract import contract
from catad.linear.families.gather import Gathered
from catad.linear.families.reindex import moved, reshaped
from catad.linear.structure import cast
from catad.support.help import documented
from catad.vector.bins.histogram import reduce_by_index
from catad.vector.folds.reduce import extremum
from catad.vector.indexing.keys import NEW, Key, Selection, key_of, selection
from catad.vector.indexing.overwrite import AddedAt, LastOnly, Overwritten, OverwrittenAt
from catad.vector.indexing.static_indices import overwritten_where_known
from catad.vector.indexing.subscript import arguments, cut, flat_index, reading, span
from catad.vector.pointwise.map import broadcast
from catad.vector.pointwise.operators import WORDS
from catad.vector.pointwise.operators import add as plus
from catad.vector.shapes.shape import broadcast_to

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire, Wires

_OPERATORS: dict[str, D] = {"add": plus, "mul": WORDS["mul"], "min": WORDS["minimum"], "max": WORDS["maximum"]}


def _neutral(word: str, dtype: np.dtype[Any]) -> float:
    """The number beside which an operation leaves every number as it is, in a dtype."""
    if word in ("add", "mul"):
        return 1 if word == "mul" else -0.0 if dtype.kind == "f" else 0
    return int(word == "min") if dtype.kind == "b" else extremum(f"{word}imum", dtype).neutral[0]


@of_fields
class Update(D):
    """`ct.at[key].set` and its like."""

    key: Key
    word: str

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return f"ct.at[{self.key!r}].{self.word}"

    def lay_out(self, b: Builder, x: Wires) -> Any:
        x, indices, values = arguments(b, x, self.key, True, self)
        assert values is not None
        chosen = selection(self.key, x.space, [wire.ndim > 0 for wire in indices], self)
        shape = broadcast([wire.space for wire in indices])
        own = x.dtype
        if self.word == "set":
            values = cast(values, own)
        else:
            wide = np.result_type(own, values.dtype)
            if not np.can_cast(wide, own, "same_kind"):
                raise errors.SpaceError(errors.values_of_other_kind(values.space, x.space, self))
            x, values = cast(x, wide), cast(values, wide)
        values = self._fitted(b, values, chosen, shape)
        if 0 not in values.shape:
            x = self._at(b, x, indices, values, chosen, shape) if indices else self._over(b, x, values, chosen)
        return cast(x, own)

    def _fitted(self, b: Builder, values: Wire, chosen: Selection, shape: tuple[int, ...]) -> Wire:
        """The values in the shape of what they are written to, without its new axes."""
        whole = chosen.shape(shape)
        extra = values.ndim - len(whole)
        if extra > 0 and whole and all(n == 1 for n in values.shape[:extra]):
            values = reshaped(b, values, values.shape[extra:])
        own = whole[max(0, len(whole) - values.ndim) :]
        if values.ndim > len(whole) or any(n not in (1, m) for n, m in zip(values.shape, own, strict=True)):
            raise errors.SpaceError(errors.values_do_not_fit(values.space, whole, self))
        if values.shape != whole:
            values = b.apply(broadcast_to(whole), values)
        return reshaped(b, values, chosen._replace(result=tuple([k for k in chosen.result if k != NEW])).shape(shape))

    def _over(self, b: Builder, x: Wire, values: Wire, chosen: Selection) -> Wire:
        """A key without arguments."""
        values = reshaped(b, values, [axis.length for axis in chosen.along])
        axes = tuple([cut(axis).T for axis in chosen.along])
        if self.word == "set":
            into_all = all(axis.m == axis.n_out for axis in axes)
            return moved(b, values, axes) if into_all else b.add(Overwritten(axes), x, values)[0]
        return self._combined(b, x, moved(b, values, axes, _neutral(self.word, x.dtype)))

    def _combined(self, b: Builder, x: Wire, values: Wire) -> Wire:
        return cast(b.apply(_OPERATORS[self.word], (x, values)), x.dtype)

    def _at(
        self, b: Builder, x: Wire, indices: Sequence[Wire], values: Wire, chosen: Selection, shape: tuple[int, ...]
    ) -> Wire:
        """A key with arguments: the axes of the array from the first to the last that is not whole are one."""
        along, before = chosen.along, x.shape
        many = math.prod(shape) > 1
        if many and self.word not in ("set", "add"):
            return self._folded(b, x, indices, values, chosen, shape)
        inner = span(along, lambda axis: not axis.is_whole)
        how, index = reading(chosen, inner, shape), flat_index(b, along[inner], indices)
        x = reshaped(b, x, how.shape(how.src))
        if self.word == "add":
            return reshaped(b, b.add(AddedAt(how), index, x, values)[0], before)
        if self.word != "set":
            values = self._combined(b, b.add(Gathered(how), index, x)[0], values)
        elif many:
            known = overwritten_where_known(b, how, index, x, values)
            if known is not None:
                return reshaped(b, known, before)
            (index,) = b.add(LastOnly(index.ndim, how.bins), index)
        return reshaped(b, b.add(OverwrittenAt(how), index, x, values)[0], before)

    def _folded(
        self, b: Builder, x: Wire, indices: Sequence[Wire], values: Wire, chosen: Selection, shape: tuple[int, ...]
    ) -> Wire:
        """The values of equal indices combined with what stands there, in flattened arrays."""
        every = slice(0, len(chosen.along))
        how, index = reading(chosen, every, shape), flat_index(b, chosen.along, indices)
        values = contract(b, [how.dst], [values], how.by, how.sizes)
        wide = np.dtype(np.int8) if x.dtype.kind == "b" else x.dtype
        fold = reduce_by_index(_OPERATORS[self.word], _neutral(self.word, wide))
        flat = [reshaped(b, cast(wire, wide), (wire.space.size,)) for wire in (x, values)]
        return cast(reshaped(b, b.apply(fold, (flat[0], reshaped(b, index, (index.space.size,)), flat[1])), x.shape), x.dtype)


class Part:
    """`ct.at[key]`, of which an attribute makes the morphism."""

    __slots__ = ("key",)

    def __init__(self, key: Key) -> None:
        self.key = key

    def __repr__(self) -> str:
        return f"ct.at[{self.key!r}]"

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise errors.SpaceError(errors.part_was_called(self))

    def _made(self, word: str) -> D:
        term = Update(self.key, word)
        term._place = here()
        return term

    @property
    def set(self) -> D:
        """`(x, indices..., v)` to x with v written at the key; of equal indices the last wins."""
        return self._made("set")

    @property
    def add(self) -> D:
        """`(x, indices..., v)` to x with v added at the key, all values of equal indices."""
        return self._made("add")

    @property
    def mul(self) -> D:
        """`(x, indices..., v)` to x multiplied by v at the key, by all values of equal indices."""
        return self._made("mul")

    @property
    def min(self) -> D:
        """`(x, indices..., v)` to x with the lesser of both at the key."""
        return self._made("min")

    @property
    def max(self) -> D:
        """`(x, indices..., v)` to x with the greater of both at the key."""
        return self._made("max")


class At:
    """The class of `ct.at`."""

    def __getitem__(self, key: Any) -> Part:
        return Part(key_of(key))

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise errors.SpaceError(errors.key_was_called("ct.at"))

    def __repr__(self) -> str:
        return "ct.at"


at = documented(
    At(),
    """`ct.at[key].set` writes into a part of an array: `(x, v)` to x with v at the key, where x itself stays.

The key is that of `ct.index`. For each `ct.arg` in it an array of integers follows x, and v comes last:
`ct.at[ct.arg, :2].set` is `(x, i, v) -> x`. `add`, `mul`, `min` and `max` combine v with what stands there, as `numpy.add.at`
and its like: where indices are equal, all values count; `set` takes the last of them, in C order. Negative indices count from
the end.

Shapes: v broadcasts to the shape of `x[key]`, as in NumPy's assignment; the result has the shape of x.
Dtypes: the result has that of x. `set` converts v to it, floats to integers by cutting them. The others compute in the common
  dtype, which has to be of the kind of x: integers do not take floats.
Derivative: of `set` by x a projection, which makes the part zero, and by v a move into the part; of `add` the identity and
  that move. No derivative by the indices.
Errors: those of `ct.index`; `SpaceError` also for values that do not broadcast to the part, or whose kind is above that of x.

>>> import catad as ct, numpy as np
>>> x = np.zeros(4)
>>> ct.at[1:3].set(x, 5.0), ct.at[::2].add(x, np.array([1.0, 2.0]))
(array([0., 5., 5., 0.]), array([1., 0., 2., 0.]))
>>> ct.at[ct.arg].add(x, np.array([0, -1, 0]), np.array([1.0, 2.0, 4.0]))
array([5., 0., 0., 2.])
>>> ct.grad(ct.at[1:3].set >> ct.sum())(x, np.ones(2))
(array([1., 0., 0., 1.]), array([1., 1.]))
""",
)

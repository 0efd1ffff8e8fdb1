"""Complex matrices: pairs of real ones, (re, im), of which rules have the real form.

    z = re + i im    has the real form    [[re, -im],
                                           [im,  re]]

Sums, products and inverses of real forms are those of sums, products and inverses of complex matrices, and transposes are real
forms of conjugate transposes. So a rule that is a chain of these is right for both, and derivatives are real-linear maps on
pairs. `OnPairs` runs a decomposition on complex arrays, and has its rule between the map to the real form and the one back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

from catad import errors
from catad.category.boxes import box
from catad.category.spaces import Tensor, flatten
from catad.linalg.parts import Decomposition
from catad.linear.families.block import assemble, chain, total
from catad.linear.families.contract import zeros
from catad.linear.families.delta import pointwise
from catad.linear.families.reindex import Axis, Reindex, axis, whole
from catad.linear.structure import Placed, Rule, Structure, apart, widest
from catad.linear.structure import cast as in_dtype
from catad.values.complex_numbers import complex_of
from catad.vector.folds.moments import floating
from catad.vector.shapes.shape import concatenate
from catad.vector.shapes.split import piece

if TYPE_CHECKING:
    from catad.category.terms import D
    from catad.category.wiring import Builder, Wire


class Pair(NamedTuple):
    """The wires of a complex array."""

    re: Wire
    im: Wire

    @property
    def space(self) -> Tensor:
        return self.re.space

    @property
    def shape(self) -> tuple[int, ...]:
        return self.re.shape

    @property
    def ndim(self) -> int:
        return self.re.ndim

    @property
    def dtype(self) -> Any:
        return self.re.dtype


Array: TypeAlias = Any  # a wire, or a `Pair`


def as_pair(b: Builder, x: Any, term: D | None) -> Pair:
    """An argument as a complex array of floats: a real one, or the pair of both parts; raises `SpaceError`."""
    if isinstance(x, Pair):
        return x
    if not isinstance(x, tuple):
        re = floating(x)
        return Pair(re, zeros(b, re.space))
    if len(x) != 2 or any(isinstance(part, tuple) for part in x) or x[0].shape != x[1].shape:
        raise errors.SpaceError(errors.no_complex_array(b.space(x), term))
    re, im = floating(x[0]), floating(x[1])
    dtype = widest(re.space, im.space)
    return Pair(in_dtype(re, dtype), in_dtype(im, dtype))


def on_parts(made: Callable[[Wire], Wire], x: Array) -> Array:
    """A linear function of arrays, of both parts of a complex one."""
    return Pair(made(x.re), made(x.im)) if isinstance(x, Pair) else made(x)


def joined(b: Builder, at: int, x: Array, y: Array) -> Array:
    """Two arrays beside each other along an axis, of which the first may be complex."""
    beside = concatenate(at)
    if not isinstance(x, Pair):
        return b.apply(beside, (x, y))
    return Pair(*[b.apply(beside, both) for both in zip(x, as_pair(b, y, None), strict=True)])


def conjugate(x: Array) -> Array:
    return Pair(x.re, -x.im) if isinstance(x, Pair) else x


# -- real forms, as wires


def real_form(b: Builder, z: Pair) -> Wire:
    """The real form of a stack of complex matrices."""
    down, along = z.ndim - 2, z.ndim - 1
    left = b.apply(concatenate(down), (z.re, z.im))
    made: Wire = b.apply(concatenate(along), (left, b.apply(concatenate(down), (-z.im, z.re))))
    return made


def of_real_form(b: Builder, a: Wire) -> Pair:
    return of_columns(b, piece(b, a, a.ndim - 1, 0, a.shape[-1] // 2), a.ndim - 2)


def nearest_real_form(b: Builder, a: Wire) -> Wire:
    """The mean of both places of each part: the orthogonal projection onto real forms."""
    n, down, along = a.shape[-1] // 2, a.ndim - 2, a.ndim - 1
    left, right = [piece(b, a, along, k * n, (k + 1) * n) for k in (0, 1)]
    (re, im), (less, same) = [[piece(b, half, down, k * n, (k + 1) * n) for k in (0, 1)] for half in (left, right)]
    return real_form(b, Pair(0.5 * (re + same), 0.5 * (im - less)))


def columns(b: Builder, z: Pair, at: int) -> Wire:
    """The real parts, then the imaginary parts along an axis: what real forms are multiplied with."""
    made: Wire = b.apply(concatenate(at), (z.re, z.im))
    return made


def of_columns(b: Builder, x: Wire, at: int) -> Pair:
    n = x.shape[at]
    return Pair(piece(b, x, at, 0, n // 2), piece(b, x, at, n // 2, n))


# -- real forms, as linear maps


def _block(a: Tensor, row: int, column: int) -> Reindex:
    """A matrix to that block of a real form."""
    places: list[Axis] = [whole(n) for n in a.shape[:-2]]
    places += [axis(n, 2 * n, 0, 1, n * at, 1, n) for n, at in zip(a.shape[-2:], (row, column), strict=True)]
    return Reindex(tuple(places), a.dtype)


def _doubled(space: Tensor, how: str) -> Tensor:
    """The space of the real form of an argument or a result."""
    twice = {"m": 2, "r": 1, "x": 0}[how]
    k = space.ndim - twice
    return Tensor((*space.shape[:k], *[2 * n for n in space.shape[k:]]), space.dtype)


def to_real_form(a: Tensor) -> list[Placed]:
    """The maps of the real parts and of the imaginary parts."""
    minus: Structure = pointwise(a, a, None, -1.0)
    upper = chain([(minus, ()), (_block(a, 0, 1), ())])
    return [(total(apart(_block(a, 0, 0), _block(a, 1, 1))), ()), (total(apart(_block(a, 1, 0), upper)), ())]


def from_real_form(space: Tensor, how: str = "m") -> list[Placed]:
    """The maps to the results: two of matrices."""
    if how == "m":
        return [(_block(space, 0, 0).T, ()), (_block(space, 1, 0).T, ())]
    n = space.shape[-1]
    first = Reindex((*[whole(k) for k in space.shape[:-1]], axis(2 * n, n, 0, 1, 0, 1, n)), space.dtype)
    return [(first, ())]


# -- decompositions


def _split(items: Sequence[Any], how: str) -> list[Any]:
    """Items one after the other, two of each matrix, as pairs where they are two."""
    it = iter(items)
    return [(next(it), next(it)) if one == "m" else next(it) for one in how]


def _firsts(items: Sequence[Any], how: str) -> tuple[Any, ...]:
    return tuple([one[0] if isinstance(one, tuple) else one for one in _split(items, how)])


@box
class OnPairs(Decomposition):
    """A decomposition on complex arrays: of each array of matrices the real parts, then the imaginary parts."""

    of: Decomposition
    arity = None

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        outs = zip(self.of.gives, self.of.typed(_firsts(ins, self.of.takes)), strict=True)
        return tuple([space for how, space in outs for _ in range(1 + (how == "m"))])

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        given = [complex_of(xp, *one) if isinstance(one, tuple) else one for one in _split(arrays, self.of.takes)]
        made = self.of.evaluate(xp, *given)
        outs = zip(self.of.gives, made if isinstance(made, tuple) else (made,), strict=True)
        parts = [part for how, x in outs for part in ((x.real.copy(), x.imag.copy()) if how == "m" else (x,))]
        return parts[0] if len(parts) == 1 else tuple(parts)

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Rule | None:
        takes, gives = self.of.takes, self.of.gives
        given, found = _firsts(ins, takes), _firsts(outs, gives)
        inner = self.of.rule(tuple(map(_doubled, given, takes)), tuple(map(_doubled, found, gives)))
        if inner is None:
            return None
        both = ((given, takes), (found, gives))
        floats = [[(space, how) for space, how in zip(*pair, strict=True) if space.is_float] for pair in both]
        by, of = [flags or (True,) * len(own) for flags, own in zip((inner.by, inner.of), floats, strict=True)]
        into = [to_real_form(space) if how == "m" else [] for (space, how), used in zip(floats[0], by, strict=True) if used]
        back = [from_real_form(space, how) for (space, how), used in zip(floats[1], of, strict=True) if used]
        structure = chain(apart(_side_by_side(into, True), inner.structure, _side_by_side(back, False)))

        def forms(wires: tuple[Wire, ...], how: str) -> tuple[Wire, ...]:
            return tuple([_form(wires[0].builder, *one) for one in zip(_split(wires, how), how, strict=True)])

        def coefficients(wires: tuple[Wire, ...], results: tuple[Wire, ...]) -> Sequence[Wire]:
            return list(inner.coefficients(forms(wires, takes), forms(results, gives)))

        return Rule(structure, coefficients, _flags(by, floats[0]), _flags(of, floats[1]))

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return 4 * self.of.cost(_firsts(ins, self.of.takes), _firsts(outs, self.of.gives))


def _flags(used: Sequence[bool], floats: Sequence[tuple[Tensor, str]]) -> tuple[bool, ...]:
    return tuple([flag for flag, (_, how) in zip(used, floats, strict=True) for _ in range(1 + (how == "m"))])


def _form(b: Builder, wires: Any, how: str) -> Wire:
    if how == "m":
        return real_form(b, Pair(*wires))
    made: Wire = b.apply(concatenate(wires.ndim - 1), (wires, wires)) if how == "r" else wires
    return made


def _side_by_side(groups: Sequence[Sequence[Placed]], across: bool) -> Structure:
    """The maps of each group beside each other, or below each other; groups are independent."""
    cells = [(k, part) for k, group in enumerate(groups) for part in group]
    if across:
        rows = [[part if k == own else None for own, part in cells] for k in range(len(groups))]
        return assemble(rows, [part[0].dom[0] for _, part in cells], [group[0][0].cod[0] for group in groups], ())
    rows = [[part if k == own else None for k in range(len(groups))] for own, part in cells]
    return assemble(rows, [group[0][0].dom[0] for group in groups], [part[0].cod[0] for _, part in cells], ())


def decomposed(b: Builder, of: Decomposition, *xs: Any) -> list[Any]:
    """The results of a decomposition of real or complex arrays: wires, and pairs of them where an argument is a pair."""
    if not any(isinstance(x, Pair) for x in xs):
        return list(b.add(of, *xs))
    pair = replace(cast(Any, of), pair=True)
    wires = flatten(tuple([x if how == "x" else tuple(as_pair(b, x, None)) for x, how in zip(xs, pair.takes, strict=True)]))
    made = _split(b.add(OnPairs(pair), *wires), pair.gives)
    return [Pair(*one) if isinstance(one, tuple) else one for one in made]


def decomposed_forms(b: Builder, of: Decomposition, *forms: Wire) -> list[Wire]:
    """The same of complex matrices in real form, all of whose results have it, where the decomposition is of such."""
    if not cast(Any, of).pair:
        return list(b.add(of, *forms))
    takes, gives = of.takes, of.gives
    wires = [of_real_form(b, form) if how == "m" else form for form, how in zip(forms, takes, strict=True)]
    made = _split(b.add(OnPairs(of), *flatten(tuple(wires))), gives)
    return [_form(b, one, how) for one, how in zip(made, gives, strict=True)]

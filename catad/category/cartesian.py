"""The words of a cartesian category, which have no box, only wires.

`compose`, `fork` and `cross` put terms together, `exl`, `dup`, `swap` and their like rearrange tuples, as do projections.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, ClassVar

from catad import errors
from catad.category.boxes import of_fields
from catad.category.constructors import constructor, integer
from catad.category.spaces import flatten
from catad.category.terms import Cross, D, Fork, MorphismLike, chain, identity, morphism
from catad.errors.places import here
from catad.support.help import documented

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wires


def compose(*terms: MorphismLike) -> D:
    """The composition of terms, the first applied first; without terms, the identity.

    Spaces: the result of each term is the argument of the next. Derivative: the chain rule, so the Jacobian is the product of
    those of the terms. Raises `SpaceError` where spaces are known not to meet, and for an argument that is no morphism.

    >>> import catad as ct
    >>> ct.compose(ct.sin, ct.exp) == ct.sin >> ct.exp
    True
    """
    return chain((morphism(term, "ct.compose") for term in terms), here())


def fork(*terms: MorphismLike) -> D:
    """Maps `x` to `(f x, g x, ...)`; one term gives a 1-tuple, no term `()`.

    Work that the terms share is done once.

    Spaces: A to B * C * ..., with A the domain of each term. Derivative: the Jacobians of the terms above each other. Raises
    `SpaceError` for an argument that is no morphism, and for an argument that one of them does not take.

    >>> import catad as ct
    >>> ct.fork(ct.sin, ct.cos)(0.0)
    (np.float64(0.0), np.float64(1.0))
    """
    return Fork(tuple([morphism(term, "ct.fork") for term in terms]), here())


def cross(*terms: MorphismLike) -> D:
    """Maps `(x, y, ...)` to `(f x, g y, ...)`.

    Spaces: A * B * ... to A' * B' * ..., shapes and dtypes as of the terms. Derivative: the Jacobians of the terms as blocks
    on the diagonal. Raises `SpaceError` for an argument that is no morphism, and for an argument with another number of factors.

    >>> import catad as ct
    >>> ct.cross(ct.sin, ct.cos)(0.0, 0.0)
    (np.float64(0.0), np.float64(1.0))
    """
    return Cross(tuple([morphism(term, "ct.cross") for term in terms]), here())


def in_pattern(b: Builder, x: Any, pattern: str, nested: int, term: D) -> tuple[Any, ...]:
    """The factors of an argument of a pattern such as "(a, b)"; only the first `nested` may be products."""
    if not isinstance(x, tuple) or len(x) != 1 + pattern.count(",") or any(isinstance(part, tuple) for part in x[nested:]):
        raise errors.SpaceError(errors.not_a_pattern(pattern, b.space(x), term))
    return x


class Structural(D):
    """A rearrangement of a tuple: no box, only wires. `name` is its public name, e.g. `exl`."""

    __slots__ = ("move", "name", "pattern")
    moves: ClassVar[dict[str, tuple[str, Callable[[Any], Any]]]] = {
        "exl": ("(a, b)", lambda x: x[0]),
        "exr": ("(a, b)", lambda x: x[1]),
        "dup": ("", lambda x: (x, x)),
        "swap": ("(a, b)", lambda x: (x[1], x[0])),
        "assoc_l": ("(a, (b, c))", lambda x: ((x[0], x[1][0]), x[1][1])),
        "assoc_r": ("((a, b), c)", lambda x: (x[0][0], (x[0][1], x[1]))),
        "it": ("", lambda x: ()),
    }

    def __init__(self, name: str) -> None:
        self.name = name
        self.pattern, self.move = self.moves[name]

    def recipe(self) -> tuple[Callable[..., D], tuple[Any, ...]]:
        return Structural, (self.name,)

    def data(self) -> Hashable:
        return self.name

    def lay_out(self, b: Builder, x: Wires) -> Wires:
        fits = not self.pattern or (isinstance(x, tuple) and len(x) == 2)
        if fits and self.name.startswith("assoc"):
            inner = x[1] if self.name == "assoc_l" else x[0]
            fits = isinstance(inner, tuple) and len(inner) == 2
        if not fits:
            raise errors.SpaceError(errors.not_a_pattern(self.pattern, b.space(x), self))
        return self.move(x)

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return f"ct.{self.name}"


@of_fields
class Flagged(D):
    """The flagged leaves of a value, as a flat tuple."""

    flags: tuple[bool, ...]

    def lay_out(self, b: Builder, x: Wires) -> Any:
        return tuple([w for w, flag in zip(flatten(x), self.flags, strict=True) if flag])


@of_fields
class Proj(D):
    """The projection to factor `index` of a product of any length."""

    index: int

    def lay_out(self, b: Builder, x: Wires) -> Wires:
        if not isinstance(x, tuple) or not 0 <= self.index < len(x):
            raise errors.SpaceError(errors.no_such_factor(self.index, b.space(x), self))
        return x[self.index]

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return f"ct.proj({self.index})"


@constructor()
def proj(index: int) -> D:
    """The projection to a factor of a product of any length, counted from 0.

    Shapes and dtypes stay; the transpose puts zeros in the other factors' places. Raises `SpaceError` for an argument
    without such a factor, `ArgumentError` for an index that is no integer of at least 0.

    >>> import catad as ct
    >>> ct.proj(2)(1.0, 2.0, 3.0)
    np.float64(3.0)
    """
    return Proj(integer(index, "a projection", 0))


_NO_VALUE = "`SpaceError` for an argument that is no array, number or tuple of values"


def _structural(name: str, does: str, spaces: str, transpose: str, example: str, result: str) -> Structural:
    """A rearrangement with its help."""
    f = Structural(name)
    wrong = f"`SpaceError` for a value that is not nested as `{f.pattern}`" if f.pattern else _NO_VALUE
    lines = [
        f"`ct.{name}` {does}.",
        "",
        f"Spaces: {spaces}, for any spaces; it computes nothing, shapes and dtypes stay.",
        f"Derivative: linear, it rearranges the tangents alike; transposed, {transpose}.",
        f"Errors: {wrong}.",
        "Source: C. Elliott, The Simple Essence of Automatic Differentiation, 2018, section 4.",
        "",
        ">>> import catad as ct",
        f">>> {example}",
        result,
    ]
    return documented(f, "\n".join(lines))


def _numbers(*values: str) -> str:
    return f"({', '.join([f'np.float64({value})' for value in values])})"


exl = _structural(
    "exl", "is the first factor of a pair, `(x, y) -> x`", "A * B -> A", "the other factor is zero",
    "ct.exl(1.0, 2.0)", "np.float64(1.0)",
)  # fmt: skip
exr = _structural(
    "exr", "is the second factor of a pair, `(x, y) -> y`", "A * B -> B", "the other factor is zero",
    "ct.exr(1.0, 2.0)", "np.float64(2.0)",
)  # fmt: skip
dup = _structural(
    "dup", "copies a value, `x -> (x, x)`", "A -> A * A", "it adds both",
    "(ct.dup >> ct.mul)(3.0)", "np.float64(9.0)",
)  # fmt: skip
swap = _structural(
    "swap", "exchanges the factors of a pair, `(x, y) -> (y, x)`", "A * B -> B * A", "it exchanges them again",
    "ct.swap(1.0, 2.0)", _numbers("2.0", "1.0"),
)  # fmt: skip
assoc_l = _structural(
    "assoc_l", "nests three factors to the left, `(x, (y, z)) -> ((x, y), z)`", "A * (B * C) -> A * B * C",
    "it is `ct.assoc_r`", "ct.assoc_l(1.0, (2.0, 3.0))", f"({_numbers('1.0', '2.0')}, np.float64(3.0))",
)  # fmt: skip
assoc_r = _structural(
    "assoc_r", "nests three factors to the right, `((x, y), z) -> (x, (y, z))`", "A * B * C -> A * (B * C)",
    "it is `ct.assoc_l`", "ct.assoc_r((1.0, 2.0), 3.0)", f"(np.float64(1.0), {_numbers('2.0', '3.0')})",
)  # fmt: skip
it = _structural(
    "it", "forgets its argument, `x -> ()`: the one morphism to `ct.Unit`", "A -> ct.Unit", "it is zero",
    "ct.it(1.0)", "()",
)  # fmt: skip

id: D = documented(
    identity,
    """`ct.id` is the identity, `x -> x`, the unit of `>>`: `ct.id >> f == f == f >> ct.id`.

Spaces: A -> A, for any space; shapes and dtypes stay. A result never shares the memory of its argument.
Derivative: the identity.
Errors: `SpaceError` for an argument that is no array, number or tuple of values.

>>> import catad as ct
>>> ct.id >> ct.sin == ct.sin, (ct.id & ct.sin)(0.0)
(True, (np.float64(0.0), np.float64(0.0)))
""",
)

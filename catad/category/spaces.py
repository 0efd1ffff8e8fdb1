"""Spaces: the objects of the category.

A space is a `Tensor(shape, dtype)`, a `Product` of spaces, or `Unit`, the empty product. Values of a product are Python
tuples nested as the space is. Spaces are immutable, hashable, and print as Python that rebuilds them. The device is not
part of a space: it follows the arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, TypeAlias
from weakref import WeakValueDictionary

import numpy as np

from catad import errors
from catad.support.help import documented
from catad.values.arrays import as_array, as_number, common_module, is_weak, weak_dtypes
from catad.values.complex_numbers import complex_dtype, is_complex, real_dtype
from catad.values.formats import DOUBLE, KNOWN, SINGLE, Format

Value = Any  # an array, a number, or a tuple of values
Result = np.ndarray[Any, np.dtype[Any]]  # the type of results: arrays of all libraries have NumPy's methods; a tuple is unpacked
Elements: TypeAlias = "float | np.generic | tuple[Elements, ...]"  # numbers, nested as the elements of a fold are

MOST_AXES = 64  # of an array of NumPy


def as_dtype(named: Any) -> np.dtype[Any]:
    """A dtype that spaces can have, from its name."""
    try:
        dtype: np.dtype[Any] = np.dtype(named)
    except TypeError:
        raise errors.SpaceError(errors.unknown_dtype(named)) from None
    if dtype not in KNOWN:
        raise errors.SpaceError(errors.unknown_dtype(dtype))
    return dtype


class Space:
    """The type of a value: a `Tensor`, arrays of one shape and dtype, or a `Product` of spaces.

    `A * B` is the product of two spaces, nested to the left. Spaces are immutable and hashable.
    Raises `TypeError` for `A * B` where B is no space.

    >>> import catad as ct
    >>> space = ct.f64[3] * ct.f32[2, 2]
    >>> isinstance(space, ct.Space), space.leaves, space.size
    (True, (ct.f64[3], ct.f32[2, 2]), 7)
    """

    __slots__ = ("__weakref__", "_leaves")
    _leaves: tuple[Tensor, ...] | None
    has_complex: bool = False

    def __mul__(self, other: object) -> Product:
        if not isinstance(other, Space):
            return NotImplemented
        return Product((self, other))

    @property
    def leaves(self) -> tuple[Tensor, ...]:
        """The tensors of the space from left to right."""
        if self._leaves is None:
            object.__setattr__(self, "_leaves", tuple(_walk(self)))
        assert self._leaves is not None
        return self._leaves

    @property
    def size(self) -> int:
        """The number of numbers in a value of the space (dimensionless)."""
        return sum(leaf.size for leaf in self.leaves)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a space is immutable: {name} cannot be set")


class Tensor(Space):
    """The space of arrays of one shape and dtype; written `ct.f64[3, 4]`, a scalar `ct.f64[()]`.

    Equal tensors are one object, so comparing spaces is comparing identities. Dtypes are float32, float64, bool, and the integers
    of 8 to 64 bits. Raises `SpaceError` for another dtype, a negative size, or more axes or bytes than an array can have.

    >>> import catad as ct
    >>> ct.Tensor((3, 4), "float64")
    ct.f64[3, 4]
    """

    __slots__ = ("dtype", "shape", "size_")
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    size_: int
    _made: ClassVar[WeakValueDictionary[tuple[tuple[int, ...], np.dtype[Any]], Tensor]] = WeakValueDictionary()

    def __new__(cls, shape: Sequence[int], dtype: Any) -> Tensor:
        key = (tuple(int(n) for n in shape), dtype if isinstance(dtype, np.dtype) else as_dtype(dtype))
        found = cls._made.get(key)
        if found is not None:
            return found
        as_dtype(key[1])
        if len(key[0]) > MOST_AXES:
            raise errors.SpaceError(errors.too_many_axes(len(key[0]), MOST_AXES))
        if any(n < 0 for n in key[0]):
            raise errors.SpaceError(errors.negative_size(key[0]))
        if math.prod([max(n, 1) for n in key[0]]) * key[1].itemsize >= 1 << 63:
            raise errors.SpaceError(errors.too_many_numbers(key[0]))
        self = object.__new__(cls)
        object.__setattr__(self, "shape", key[0])
        object.__setattr__(self, "dtype", key[1])
        object.__setattr__(self, "size_", math.prod(key[0]))
        object.__setattr__(self, "_leaves", (self,))
        return cls._made.setdefault(key, self)

    @property
    def ndim(self) -> int:
        """The number of axes (dimensionless)."""
        return len(self.shape)

    @property
    def size(self) -> int:
        return self.size_

    @property
    def nbytes(self) -> int:
        """The size of a value in bytes."""
        return self.size_ * self.dtype.itemsize

    @property
    def is_float(self) -> bool:
        """True where values of the space can be differentiated."""
        return self.dtype.kind == "f"

    def __reduce__(self) -> tuple[Any, ...]:
        return Tensor, (self.shape, self.dtype.str)

    def __repr__(self) -> str:
        inside = ", ".join(map(str, self.shape)) if self.shape else "()"
        return f"ct.{KNOWN[self.dtype]}[{inside}]"


class Product(Space):
    """A product of spaces; its values are tuples with one element per factor.

    `factors` are the spaces in their order. Raises `SpaceError` for a factor that is no space.

    >>> import catad as ct
    >>> ct.f64[3] * ct.i64[()]
    ct.f64[3] * ct.i64[()]
    """

    __slots__ = ("_hash", "factors", "has_complex")
    factors: tuple[Space, ...]
    has_complex: bool  # whether one of the factors is of complex arrays, or has such a factor
    _hash: int

    def __init__(self, factors: Iterable[Space]) -> None:
        factors = tuple(factors)
        for factor in factors:
            if not isinstance(factor, Space):
                raise errors.SpaceError(errors.not_a_space(factor))
        object.__setattr__(self, "factors", factors)
        object.__setattr__(self, "_hash", hash(("Product", factors)))
        object.__setattr__(self, "_leaves", None)
        object.__setattr__(self, "has_complex", any(factor.has_complex for factor in factors))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Product) or self._hash != other._hash:
            return False
        stack: list[tuple[Space, Space]] = [(self, other)]
        while stack:
            a, b = stack.pop()
            if a is b:
                continue
            if type(a) is not type(b) or not isinstance(a, Product) or not isinstance(b, Product):
                return False
            if len(a.factors) != len(b.factors):
                return False
            stack.extend(zip(a.factors, b.factors, strict=True))
        return True

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return Product, (self.factors,)

    def __repr__(self) -> str:
        if len(self.factors) == 0:
            return "ct.Unit"
        if len(self.factors) == 2:
            left, right = map(repr, self.factors)
            wraps = type(self.factors[1]) is Product and len(self.factors[1].factors) == 2
            return f"{left} * ({right})" if wraps else f"{left} * {right}"
        return f"ct.product({', '.join(map(repr, self.factors))})"


class ComplexTensor(Product):
    """The space of complex arrays of one shape and dtype; written `ct.c128[3, 4]`, a scalar `ct.c128[()]`.

    Its factors are the spaces of the real and of the imaginary part: catad computes with these. It is not equal to their product,
    since a morphism means something else on complex arrays than on pairs of real ones.
    Raises `SpaceError` as `Tensor` does.
    """

    __slots__ = ()

    def __init__(self, shape: Sequence[int], dtype: Any) -> None:
        try:
            real = real_dtype(dtype)
        except (KeyError, TypeError):
            raise errors.SpaceError(errors.unknown_dtype(dtype)) from None
        part = Tensor(shape, real)
        super().__init__((part, part))
        object.__setattr__(self, "has_complex", True)

    __eq__, __hash__ = Product.__eq__, Product.__hash__

    @property
    def shape(self) -> tuple[int, ...]:
        return self.leaves[0].shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return complex_dtype(self.leaves[0].dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        return ComplexTensor, (self.shape, self.dtype.str)

    def __repr__(self) -> str:
        inside = ", ".join(map(str, self.shape)) if self.shape else "()"
        return f"ct.c{8 * self.dtype.itemsize}[{inside}]"


Unit = documented(
    Product(()),
    """`ct.Unit` is the space with one value, `()`: the empty product, and the space of tangents of integers and booleans.

>>> import catad as ct
>>> ct.Unit.size, ct.space_of(()) == ct.Unit, ct.tangent_space(ct.i64[3])
(0, True, ct.Unit)
""",
)


def product(*factors: Space) -> Product:
    """The flat product of any number of spaces; `A * B * C` nests to the left instead.

    Its values are tuples with one element for each factor; of no spaces it is `ct.Unit`. Raises `SpaceError` where one is
    no space.

    >>> import catad as ct
    >>> ct.product(ct.f64[2], ct.f64[3], ct.f64[4])
    ct.product(ct.f64[2], ct.f64[3], ct.f64[4])
    """
    return Product(factors)


class Dtype:
    """A dtype that makes tensors by indexing: `ct.f64[3, 4]` is `Tensor((3, 4), float64)`, `ct.f64[()]` a scalar."""

    def __init__(self, dtype: str) -> None:
        self.dtype = np.dtype(dtype)

    def __getitem__(self, shape: int | tuple[int, ...]) -> Tensor:
        return Tensor(shape if isinstance(shape, tuple) else (shape,), self.dtype)

    def __repr__(self) -> str:
        return f"ct.{KNOWN[self.dtype]}"


class ComplexDtype:
    """A dtype of complex numbers that makes spaces by indexing: `ct.c128[3, 4]`."""

    def __init__(self, dtype: str) -> None:
        self.dtype = np.dtype(dtype)

    def __getitem__(self, shape: int | tuple[int, ...]) -> ComplexTensor:
        return ComplexTensor(shape if isinstance(shape, tuple) else (shape,), self.dtype)

    def __repr__(self) -> str:
        return f"ct.c{8 * self.dtype.itemsize}"


def _complex(long: str, part: str) -> ComplexDtype:
    """A dtype of complex numbers with its help."""
    made = ComplexDtype(long)
    name = f"c{8 * made.dtype.itemsize}"
    lines = [
        f"`ct.{name}` is the dtype {long}, complex numbers of two {part}; it makes spaces.",
        "",
        f"`ct.{name}[3, 4]` is the space of complex arrays of shape (3, 4), `ct.{name}[()]` that of numbers.",
        "catad computes with their parts, so it has the leaves of a pair of real arrays; tangents are complex arrays, too.",
        "`docs/complex-numbers.md` says what morphisms mean on it.",
        "Errors: `SpaceError` for a negative size, or more axes or bytes than an array can have.",
        "",
        ">>> import catad as ct, numpy as np",
        f">>> ct.{name}[3, 4].shape, ct.space_of(np.zeros(2, {long!r})) == ct.{name}[2], ct.exp.spaces(ct.{name}[2])",
        f"((3, 4), True, ct.{name}[2])",
    ]
    return documented(made, "\n".join(lines))


def _real(f: Format) -> Dtype:
    """A dtype of floats with its help."""
    return _dtype(f.name, f"{f.said} ({f.digits} significant bits)", tangent=True)


def _dtype(long: str, what: str, tangent: bool = False) -> Dtype:
    """A dtype with its help."""
    made = Dtype(long)
    name = KNOWN[made.dtype]
    differentiable = "Its numbers can be differentiated" if tangent else "It has no tangents: its derivatives are `()`"
    size = f"{8 * made.dtype.itemsize} bits"
    lines = [
        f"`ct.{name}` is the dtype {long}, {what}; it makes spaces.",
        "",
        f"`ct.{name}[3, 4]` is the space of arrays of shape (3, 4), `ct.{name}[()]` that of scalars, of {size} each.",
        f"{differentiable}.",
        "Errors: `SpaceError` for a negative size, or more axes or bytes than an array can have.",
        "",
        ">>> import catad as ct, numpy as np",
        f">>> ct.{name}[3, 4].shape, ct.space_of(np.zeros(2, {long!r})) == ct.{name}[2]",
        "((3, 4), True)",
    ]
    return documented(made, "\n".join(lines))


f32, f64 = _real(SINGLE), _real(DOUBLE)
c64, c128 = _complex("complex64", "float32"), _complex("complex128", "float64")
i8 = _dtype("int8", "integers from -2**7 to 2**7 - 1")
i16 = _dtype("int16", "integers from -2**15 to 2**15 - 1")
i32 = _dtype("int32", "integers from -2**31 to 2**31 - 1")
i64 = _dtype("int64", "integers from -2**63 to 2**63 - 1")
u8 = _dtype("uint8", "integers from 0 to 2**8 - 1")
u16 = _dtype("uint16", "integers from 0 to 2**16 - 1")
u32 = _dtype("uint32", "integers from 0 to 2**32 - 1")
u64 = _dtype("uint64", "integers from 0 to 2**64 - 1")
bool_ = _dtype("bool", "the truth values")


def _walk(space: Space) -> Iterator[Tensor]:
    stack = [space]
    while stack:
        top = stack.pop()
        if isinstance(top, Tensor):
            yield top
        else:
            assert isinstance(top, Product)
            stack.extend(reversed(top.factors))


def tangent_space(space: Space) -> Space:
    """The space of tangents (and of cotangents): the same, with `Unit` in place of integers and booleans.

    Tangents of a tensor have its shape and dtype. Raises `SpaceError` for an argument that is no space.

    >>> import catad as ct
    >>> ct.tangent_space(ct.f64[3] * ct.i64[3])
    ct.f64[3] * ct.Unit
    """
    if not isinstance(space, Space):
        raise errors.SpaceError(errors.not_a_space(space))
    if all(leaf.is_float for leaf in space.leaves):
        return space
    tangents: Space = rebuild(space, [leaf if leaf.is_float else Unit for leaf in space.leaves], Product)
    return tangents


def of_parts(space: Space) -> Space:
    """The space with pairs of real arrays in the places of complex ones."""
    found: Space = rebuild(space, space.leaves, Product) if space.has_complex else space
    return found


def some_tangents(space: Space, leaves: tuple[int, ...] | None) -> Space:
    """The tangent space, or the product of the leaves at these positions, which are floating ones."""
    return tangent_space(space) if leaves is None else Product(tuple([space.leaves[i] for i in leaves]))


def rebuild(space: Space, leaves: Sequence[Any], node: Callable[[tuple[Any, ...]], Any] = tuple) -> Any:
    """Builds a value from its leaves, one for each tensor of a space: a nested tuple, or what `node` makes of the parts."""
    if isinstance(space, Tensor):
        return leaves[0]
    it = iter(leaves)
    stack: list[tuple[Iterator[Space], list[Any]]] = [(iter((space,)), [])]
    while True:
        rest, done = stack[-1]
        below = next(rest, None)
        if isinstance(below, Product):
            stack.append((iter(below.factors), []))
        elif below is not None:
            done.append(next(it))
        elif len(stack) == 1:
            return done[0]
        else:
            stack.pop()
            stack[-1][1].append(node(tuple(done)))


def flatten(value: Value) -> list[Any]:
    """The leaves of a nested tuple from left to right."""
    if not isinstance(value, tuple):
        return [value]
    out: list[Any] = []
    stack = list(reversed(value))
    while stack:
        top = stack.pop()
        if isinstance(top, tuple):
            stack.extend(reversed(top))
        else:
            out.append(top)
    return out


def mapped(nested: Any, fn: Callable[[Any], Any]) -> Any:
    """A nested tuple with what a function makes of each leaf."""
    return tuple([mapped(part, fn) for part in nested]) if isinstance(nested, tuple) else fn(nested)


def space_like(value: Value, leaves: Sequence[Space]) -> Space:
    """The space whose nesting is that of a tuple and whose leaves are given."""
    if not isinstance(value, tuple):
        return leaves[0]
    it = iter(leaves)
    stack: list[tuple[Iterator[Any], list[Space]]] = [(iter(value), [])]
    while True:
        rest, done = stack[-1]
        for below in rest:
            if isinstance(below, tuple):
                stack.append((iter(below), []))
                break
            done.append(next(it))
        else:
            stack.pop()
            made = Product(tuple(done))
            if not stack:
                return made
            stack[-1][1].append(made)


def as_leaves(value: Value) -> list[Any]:
    """The leaves of a value as arrays; Python numbers are weak: they take the dtype of the arrays beside them (NEP 50)."""
    leaves = flatten(value)
    weak = [leaf for leaf in leaves if is_weak(leaf)]
    if not weak:
        return [as_array(leaf) for leaf in leaves]
    strong = [as_array(leaf) for leaf in leaves if not is_weak(leaf)]
    xp, dtypes, it = common_module(strong), iter(weak_dtypes(weak, [leaf.dtype for leaf in strong])), iter(strong)
    return [as_number(xp, leaf, next(dtypes)) if is_weak(leaf) else next(it) for leaf in leaves]


def space_of(value: Value) -> Space:
    """The space in which a value lies.

    A value is an array, a number, or a tuple of values. Python numbers take the dtype of the arrays beside them; without
    arrays, they are float64, int64 or bool. Raises `SpaceError` for anything else, and for arrays of other dtypes.

    >>> import catad as ct, numpy as np
    >>> ct.space_of((np.zeros(3, np.float32), 2.0)), ct.space_of(1j)
    (ct.f32[3] * ct.f32[()], ct.c128[()])
    """
    leaves = as_leaves(tuple([np.complex128(leaf) if type(leaf) is complex else leaf for leaf in flatten(value)]))
    return space_like(value, [space_of_array(leaf) for leaf in leaves])


def space_of_array(array: Any) -> Space:
    """The space of a real or complex array."""
    return (ComplexTensor if is_complex(array) else Tensor)(array.shape, array.dtype)

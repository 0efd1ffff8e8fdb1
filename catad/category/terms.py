"""Terms: morphisms of the free cartesian category over named primitives.

`f >> g`, `fork(f, g)` and `cross(f, g)` only build a term; its meaning is given by functors elsewhere (values, spaces,
derivatives, costs, pictures). A term knows its parts, how to compare and hash itself, and how to lay itself out as a wiring
(`lay_out`). Chains are trees of `Compose`, so that composing is O(1). The hash of a chain is a homomorphism of monoids from
the word of its factors, so it does not depend on the bracketing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from catad import errors, upward
from catad.category.same_terms import same
from catad.category.spaces import Result, Space, Value, flatten
from catad.errors.places import Place, here
from catad.errors.traceback_filtering import boundary, filter_traceback
from catad.values.complex_numbers import is_complex

if TYPE_CHECKING:
    from catad.category.cache import TermCache
    from catad.category.wiring import Builder, Wires

_MODULUS = (1 << 61) - 1  # a Mersenne prime: hashes of chains are polynomials over this field
_BASE = 1_000_003_193_817
Operand: TypeAlias = "float | np.integer[Any] | np.floating[Any]"
MorphismLike: TypeAlias = "D | Callable[..., Any]"  # a morphism, or a Python function on arrays

_Operator: TypeAlias = "Callable[[D, MorphismLike | Operand], D]"


def _pointwise(word: str) -> tuple[_Operator, _Operator]:
    """An operator with a morphism or a number on its right, and on its left."""
    return lambda f, g: upward.operated(word, f, g, here()), lambda f, g: upward.operated(word, g, f, here())


class D:
    """A differentiable function, as a term.

    `ct.D(fn)` makes one by hand from `fn : x -> (y, linear map)`: the value together with its derivative at `x`, so that
    they share their work (C. Elliott, The Simple Essence of Automatic Differentiation, 2018, section 4.1). catad traces the
    function into boxes where it can, and then the morphism has derivatives of every order. Opaque code has first
    derivatives, and is called at the point to find its spaces, unless `spaces(space of x)` says them, as (space of y, map of
    the same structure). On arrays in chunks it runs whole, unless `chunks="rows"` says that rows of x give rows of y and of the
    numbers of the map. Raises `ArgumentError` for an argument that is no function, `SpaceError` where the map does not go from
    the space of x to that of y.

    >>> import catad as ct
    >>> square = ct.D(lambda x: (x * x, ct.scale(2 * x)))
    >>> ct.jvp(square >> square, (3.0,), (1.0,))
    (np.float64(81.0), np.float64(108.0))
    """

    __slots__ = ("__weakref__", "_cache", "_front", "_hash", "_place")
    _hash: int
    __array_ufunc__ = None  # NumPy leaves operators with a morphism to the morphism
    if TYPE_CHECKING:  # an attribute or a property of the classes

        @property
        def children(self) -> tuple[D, ...]: ...
    else:
        children = ()
    _place: Place | None  # where a composite was composed, or a constructor called: for messages
    _cache: TermCache  # what was made of the term
    child_fields: tuple[str, ...] = ()  # the fields that the children are, of a class made by `catad.category.boxes.of_fields`
    drawn_as = "combinator"  # or "pointwise", "linear", "constant", "functor" (made of other terms): the colour of its box
    takes_numbers = False  # whether Python's numbers reach it as they are
    _front: Any  # how the term takes dicts and other trees, where a Python function in it does (`catad.front.specialise`)

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return upward.by_hand(*args, **kwargs) if cls is D else object.__new__(cls)

    # -- what a term is

    def data(self) -> Hashable:
        """The data by which this term differs from others of its class with the same children."""
        return ()

    @property
    def lasting(self) -> bool:
        """Whether `data` says all that it says for ever; not where it names things by their identity."""
        return True

    @property
    def held_bytes(self) -> int:
        """The bytes of arrays that the term itself holds."""
        return 0

    @property
    def known_dom(self) -> Space | None:
        """The domain, where the term has just one."""
        return None

    @property
    def known_cod(self) -> Space | None:
        """The codomain, where it does not depend on the domain."""
        return None

    def lay_out(self, b: Builder, x: Wires) -> Any:
        """Lay the term out on wires: return the result's wires, or a generator that asks for parts `(term, wires)`."""
        raise NotImplementedError

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        """Python that rebuilds the term; `part` gives that of a child, `name` that of a value: a literal, or a name."""
        raise NotImplementedError

    # -- equality: syntactic, up to associativity of >> and its unit

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            pass
        stack = [self]
        while stack:  # the parts first: terms may be nested deeper than Python's stack
            top = stack[-1]
            missing = [part for part in top.children if not hasattr(part, "_hash")]
            if missing:
                stack += missing
            else:
                top._hash = hash((type(top).__name__, top.data(), tuple([part._hash for part in top.children]))) % _MODULUS
                stack.pop()
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, D) and hash(self) == hash(other) and same(self, other)

    def __repr__(self) -> str:
        from catad.category.text import code_of

        return code_of(self)[0]

    def recipe(self) -> tuple[Callable[..., D], tuple[Any, ...]] | None:
        """A function and its arguments that rebuild the term, where pickling its fields would not do."""
        return None

    def __reduce__(self) -> tuple[Any, ...]:
        from catad.category.text import packed

        return packed(self)

    @property
    def names(self) -> dict[str, Any]:
        """The values of the names in `repr(f)`: `eval(repr(f), {"ct": catad, **f.names}) == f`."""
        from catad.category.text import code_of

        return code_of(self)[1]

    # -- composition

    def __rshift__(self, other: MorphismLike) -> D:
        return then(self, morphism(other, ">>"), here())

    def __rrshift__(self, other: MorphismLike) -> D:
        return then(morphism(other, ">>"), self, here())

    def __lshift__(self, other: MorphismLike) -> D:
        return then(morphism(other, "<<"), self, here())

    def __rlshift__(self, other: MorphismLike) -> D:
        return then(self, morphism(other, "<<"), here())

    def __and__(self, other: MorphismLike) -> D:
        return Fork((self, morphism(other, "&")), here(), by_and=True)

    def __rand__(self, other: MorphismLike) -> D:
        return Fork((morphism(other, "&"), self), here(), by_and=True)

    def __mul__(self, other: MorphismLike) -> D:
        if not isinstance(other, D) and not is_function(other):
            raise errors.SpaceError(errors.scaled_on_the_right(other))
        return Cross((self, morphism(other, "*")), here())

    def __rmul__(self, number: Operand) -> D:
        if isinstance(number, np.ndarray):
            raise errors.SpaceError(errors.not_a_factor(number))
        return then(self, upward.times(number), here())

    __add__, __radd__ = _pointwise("add")
    __sub__, __rsub__ = _pointwise("sub")
    __truediv__, __rtruediv__ = _pointwise("div")
    __pow__, __rpow__ = _pointwise("pow")

    def __neg__(self) -> D:
        return then(self, upward.neg, here())

    def __matmul__(self, other: object) -> D:
        raise errors.SpaceError(errors.matmul_of_morphisms(self, other))

    __rmatmul__ = __matmul__

    # -- functors

    def __call__(self, *args: Value, **kwargs: Value) -> Result:
        """The value at a point; `f(x, y)` is `f((x, y))`. Python functions in it take arguments as they are written."""
        try:
            front = self._front
        except AttributeError:
            front = upward.front_of(self)
        try:
            called: Result = self._called(args, kwargs) if front is None else front.call(self, args, kwargs)
            return called
        except Exception as error:
            filter_traceback(error)
            raise

    def _called(self, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Result:
        if kwargs or not args:
            raise errors.SpaceError(errors.no_keywords(self, kwargs) if kwargs else errors.no_arguments(self))
        x = args[0] if len(args) == 1 else args
        try:
            if type(x) is not np.ndarray:
                for leaf in flatten(x):
                    if hasattr(type(leaf), "builder"):  # a wire
                        if any(map(is_complex, flatten(x))):
                            return upward.speaking(self, args)(*args)
                        return cast(Result, leaf.builder.apply(self, leaf.builder.wires(x)))
            result: Result = upward.run(self, x)
            return result
        except errors.CatadError as error:
            if isinstance(error, errors.SpaceError):
                if any(isinstance(leaf, D) for leaf in flatten(x)):
                    raise errors.SpaceError(errors.applied_to_morphisms(self, args)) from None
                if (speaking := upward.speaking(self, args)) is not self:
                    return speaking(*args)
            errors.made_at(error, self)
            raise

    @boundary
    def spaces(self, *at: Any, **named: Any) -> Space:
        """The codomain at a domain, without data: at a space, at the spaces of the arguments, or at example values.

        Of values only the spaces are used; Python functions take them as in a call. Raises `SpaceError` where the morphism does
        not take them.

        >>> import catad as ct, numpy as np
        >>> (ct.dup >> ct.mul).spaces(ct.f32[5])
        ct.f32[5]
        >>> ct.function(lambda p, x: p["w"] @ x).spaces({"w": np.zeros((2, 3))}, ct.f64[3])
        ct.f64[2]
        """
        from catad.category.wiring import codomain

        if len(at) == 1 and not named and hasattr(at[0], "leaves") and not at[0].has_complex:
            return codomain(self, at[0])
        return upward.codomain_at(self, at, named)

    def draw(self, *at: Any, open: bool | str | Collection[str] = False, **named: Any) -> str:
        """A string diagram as SVG text; with a space or example values, of the wiring there, with spaces on the wires.

        Of a Python function that is its program: `open` is as for the `draw` of programs.
        """
        if not named and (not at or (len(at) == 1 and at[0] is None)):
            return upward.draw(self, None, open)
        return upward.draw(*upward.at_domain(self, at, named), open)

    def _repr_html_(self) -> str:
        return upward.term_page(self)

    def _repr_svg_(self) -> str:
        return self.draw()

    def source(self, language: str, *at: Any, **named: Any) -> str:
        """The code that is compiled at a space, or at example values: "llvm", the LLVM IR of each stage on the CPU; "ptx", that
        for GPUs; "steps", one line a stage.

        >>> import catad as ct
        >>> print((ct.sin >> ct.sum()).source("steps", ct.f64[10_000]))
        0: Map Contract, compiled
        """
        return upward.source(self, language, *at, **named)

    def plan_chunks(self, *args: Any, **named: Any) -> Any:
        """What a call on arrays in chunks, such as those of Dask, would do: stages, tasks, and the bytes that chunks exchange.

        Nothing runs. The plan prints as a table and is a picture in notebooks. Raises `SpaceError` where no argument is in
        chunks.

        >>> import catad as ct, numpy as np
        >>> from catad.testing import in_chunks
        >>> (ct.square >> ct.sum()).plan_chunks(in_chunks(np.arange(6.0), 2))
        <chunk plan: 2 stages, 4 tasks, 24 bytes exchanged>
        """
        return upward.plan_chunks(self, args, named)

    # -- chains

    def __len__(self) -> int:
        return 1

    def __bool__(self) -> bool:
        return True

    if TYPE_CHECKING:  # Python iterates by `__getitem__`; pandas takes a function that has `__iter__` for a list of functions
        def __iter__(self) -> Iterator[D]: ...

    def __getitem__(self, index: int | slice) -> D:
        found = self.factors[index]
        return chain(found, here()) if isinstance(found, tuple) else found

    @property
    def factors(self) -> tuple[D, ...]:
        """The boxes of a chain from first to last; of `ct.id` none."""
        return (self,)


class Id(D):
    """The identity, the unit of `>>`."""

    __slots__ = ()

    def __init__(self) -> None:
        self._hash = 0

    def recipe(self) -> tuple[Callable[..., D], tuple[Any, ...]]:
        return Id, ()

    def lay_out(self, b: Builder, x: Wires) -> Wires:
        return x

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return "ct.id"

    def __len__(self) -> int:
        return 0

    @property
    def factors(self) -> tuple[D, ...]:
        return ()


class Compose(D):
    """A chain: first `left`, then `right`. Made by `then`, never empty."""

    __slots__ = ("_factors", "_length", "_shift", "left", "right")

    def __init__(self, left: D, right: D, where: Place | None = None) -> None:
        self.left, self.right = left, right
        self._factors: tuple[D, ...] | None = None
        self._length = len(left) + len(right)
        shift = right._shift if isinstance(right, Compose) else _BASE
        own = left._shift if isinstance(left, Compose) else _BASE
        self._shift: int = own * shift % _MODULUS
        self._hash = (hash(left) * shift + hash(right)) % _MODULUS
        self._place = where

    @property
    def known_dom(self) -> Space | None:
        return self.factors[0].known_dom

    @property
    def known_cod(self) -> Space | None:
        return self.right.known_cod if not isinstance(self.right, Compose) else self.right.factors[-1].known_cod

    def __len__(self) -> int:
        return self._length

    @property
    def factors(self) -> tuple[D, ...]:
        if self._factors is None:
            out: list[D] = []
            stack: list[D] = [self]
            while stack:
                top = stack.pop()
                if isinstance(top, Compose) and top._factors is None:
                    stack += (top.right, top.left)
                else:
                    out.extend(top.factors)
            self._factors = tuple(out)
        return self._factors

    @property
    def children(self) -> tuple[D, ...]:
        return self.factors

    def lay_out(self, b: Builder, x: Wires) -> Any:
        done, x = b.begun(self, x)
        for k, factor in enumerate(self.factors[done:], done):
            try:
                x = yield factor, x
            except errors.CatadError as error:
                errors.locate(error, factor, self.factors[k - 1] if k else None, *self._joint(k))
                raise
        return x

    def _joint(self, k: int) -> tuple[Place | None, bool]:
        """Where the k-th factor was composed with its neighbour, and whether it is the right one there."""
        at: D = self
        while isinstance(at, Compose):
            joint, right = at._place, k >= len(at.left)
            at, k = (at.right, k - len(at.left)) if right else (at.left, k)
        return joint, right

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        parts = [part(f) for f in self.factors]
        return " >> ".join(parts) if len(parts) <= 4 else f"ct.compose({', '.join(parts)})"


class Fork(D):
    """`x` to `(f x, g x, ...)`."""

    __slots__ = ("by_and", "children")
    children: tuple[D, ...]

    def __init__(self, terms: tuple[D, ...], where: Place | None = None, by_and: bool = False) -> None:
        self.children = terms
        self.by_and = by_and
        self._place = where

    def lay_out(self, b: Builder, x: Wires) -> Any:
        out = []
        for term in self.children:
            try:
                out.append((yield term, x))
            except errors.CatadError as error:
                if self.by_and and term is self.children[-1] and isinstance(error, errors.SpaceError):
                    errors.hint_precedence(error)
                errors.locate(error, term, None, self._place)
                raise
        return tuple(out)

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return f"ct.fork({', '.join(map(part, self.children))})"


class Cross(D):
    """`(x, y, ...)` to `(f x, g y, ...)`."""

    __slots__ = ("children",)
    children: tuple[D, ...]

    def __init__(self, terms: tuple[D, ...], where: Place | None = None) -> None:
        self.children = terms
        self._place = where

    def lay_out(self, b: Builder, x: Wires) -> Any:
        if not isinstance(x, tuple) or len(x) != len(self.children):
            raise errors.SpaceError(errors.not_a_product_of(len(self.children), b.space(x), self))
        out = []
        for term, part in zip(self.children, x, strict=True):
            try:
                out.append((yield term, part))
            except errors.CatadError as error:
                errors.locate(error, term, None, self._place)
                raise
        return tuple(out)

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        return f"ct.cross({', '.join(map(part, self.children))})"


def morphism(thing: object, who: str) -> D:
    """The argument of an operator or a function that takes morphisms; of a Python function, the morphism that it computes.

    An error says what to write for another thing.
    """
    if isinstance(thing, D):
        return thing
    if is_function(thing):
        return upward.function_term(thing)
    raise errors.SpaceError(errors.not_a_morphism(who, thing))


def is_function(thing: object) -> bool:
    """True for a function of the user or of NumPy, a method, a partial, or an object with `__call__`."""
    if isinstance(thing, type) or not callable(thing) or isinstance(thing, D):
        return False
    if isinstance(thing, FunctionType):
        return errors.public_name(thing) is None
    return str(type(thing).__module__).partition(".")[0] != "catad"


def then(f: D, g: D, where: Place | None = None) -> D:
    """`f >> g` in O(1); spaces that are known already must meet."""
    if isinstance(f, Id):
        return g
    if isinstance(g, Id):
        return f
    cod = (f.right if isinstance(f, Compose) else f).known_cod
    dom = None if isinstance(g, Compose) else g.known_dom
    if cod is not None and dom is not None and cod != dom:
        raise errors.SpaceError(errors.spaces_do_not_meet(cod, dom, f[-1], g[0]))
    return Compose(f, g, where)


def chain(terms: Iterable[D], where: Place | None = None) -> D:
    """Terms after each other, the first applied first; of none, the identity."""
    out: D = identity
    for term in terms:
        out = then(out, term, where)
    return out


identity = Id()  # public as `ct.id`

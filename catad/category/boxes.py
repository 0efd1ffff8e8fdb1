"""Primitives: the named boxes from which every term is composed. Public as `catad.primitive`."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform

import numpy as np

from catad import errors, upward
from catad.category.spaces import Space, Tensor, flatten
from catad.category.terms import D
from catad.category.text import called
from catad.support import fields as classes

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire, Wires


class Primitive(D):
    """A term that is one box of a wiring: the named things from which all else is composed.

    A subclass says the spaces of its results (`typed`), its meaning on arrays (`evaluate`) and its derivative (`rule`); the
    other methods have defaults. Arguments and results are flat: one array or several, never nested. Parameters are fields,
    see `box`; equal parameters on equal wires are one box. A call of a missing method is an `ExtensionError`. For most
    functions `catad.primitive.function`, `linear` and `pointwise` are shorter. Source: the `GD` of C. Elliott, The Simple
    Essence of Automatic Differentiation, 2018, with the linear map as data.

    >>> import catad as ct, numpy as np
    >>> @ct.primitive.box
    ... class Cubed(ct.primitive.Primitive):
    ...     arity = 1
    ...
    ...     def typed(self, ins):
    ...         return ins
    ...
    ...     def evaluate(self, xp, x):
    ...         return x * x * x
    ...
    ...     def rule(self, ins, outs):
    ...         return ct.primitive.rule_from(lambda x, y: ct.scale(3.0 * x * x), ins, outs)
    >>> ct.grad(ct.grad(Cubed()))(2.0)
    np.float64(12.0)
    """

    __slots__ = ()
    merges = False  # whether a program looks for others of its kind that run the same (`engine/rewrites/merge.py`)
    borrows = False  # whether `evaluate` neither writes into its arguments nor keeps one of them when it has returned
    of_matrices = False  # whether it factorises matrices, or solves by factors: an engine loads the code for it when it meets one
    if TYPE_CHECKING:  # the number of argument leaves, where it is fixed: an attribute or a property

        @property
        def arity(self) -> int | None: ...
        @property
        def vectorized(self) -> bool: ...
        @property
        def chunks(self) -> str | None: ...
    else:
        arity = None
        chunks = None  # of a box from outside: along which axes it is local on arrays in chunks, see `catad.chunks.labels`
        vectorized = False  # whether `evaluate` takes arguments that all have further leading axes, and gives results with them

    def typed(self, ins: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """The spaces of the results, from those of the arguments; raises `SpaceError` where the arguments do not fit."""
        raise errors.ExtensionError(errors.missing_method("primitive", self, "typed"))

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        """The meaning, as code of the array library `xp`: one array, or a tuple of several; it writes into no argument."""
        if type(self).kernel is Primitive.kernel:
            raise errors.ExtensionError(errors.missing_method("primitive", self, "evaluate"))
        return self.kernel(tuple([Tensor(a.shape, a.dtype) for a in arrays]))(xp, *arrays)

    def kernel(self, ins: tuple[Tensor, ...]) -> Callable[..., Any]:
        """`evaluate`, made ready for arguments in these spaces: a function of `xp` and the arrays."""
        return self.evaluate

    @property
    def must_run(self) -> bool:
        """True for a box that runs though nobody reads its results, such as a loop whose steps have not been counted yet."""
        return False

    def needs(self, read: Sequence[bool]) -> Sequence[bool] | None:
        """Which arguments the flagged results depend on, of a box that can do without the other results; else None."""
        return None

    def narrowed(self, b: Builder, ins: Sequence[Wire], read: Sequence[bool]) -> Sequence[Wire | None]:
        """Lay out what gives the flagged results, from the arguments that `needs` flags; None stands for the others of each."""
        raise errors.ExtensionError(errors.missing_method("primitive", self, "narrowed"))

    def check(self, xp: Any, *arrays: Any) -> None:
        """Check the values of the first call; later calls skip this."""

    def checks(self, ins: tuple[Tensor, ...]) -> bool:
        """Whether `check` looks at values in these spaces: a first call computes them only for that."""
        return type(self).check is not Primitive.check

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Any:
        """The derivative between these spaces, some of each side floating: a `Rule`; None where it is zero."""
        raise errors.ExtensionError(errors.missing_method("primitive", self, "rule"))

    def rule_within(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...], by: tuple[bool, ...], of: tuple[bool, ...]) -> Any:
        """The rule where only the flagged floating arguments have tangents, and only the flagged floating results need them."""
        return self.rule(ins, outs)

    def pushed(
        self, b: Builder, ins: tuple[Wire, ...], tangents: Sequence[Wire | None]
    ) -> tuple[tuple[Wire, ...], list[Wire | None]] | None:
        """Results and their tangents, where laying both out together is cheaper than the box and then its rule; else None.

        `tangents` are those of the floating arguments, and those of the floating results are returned; None is zero.
        """
        return None

    def batched(self, b: Builder, ins: tuple[Wire, ...], flags: tuple[bool, ...], size: int) -> tuple[Wire, ...]:
        """Lay out the box mapped over a new leading axis of length `size` that the flagged arguments and all results have.

        The default gives all arguments the axis, for the box that `carried` says. Without one it computes one index of the axis
        after the other, which is right for every primitive, and slow; where `vectorized` is True it calls `evaluate` on all of it
        at once.
        """
        return upward.one_by_one(self, b, ins, flags, size)

    def of_chunk(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Primitive:
        """The box on a chunk, whose arguments and results have these spaces, where `chunks` says along which axes."""
        return self

    def carried(self, size: int) -> Primitive | None:
        """The box for arguments that all have a new leading axis of length `size`, where there is one."""
        return None

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        """The multiply-adds (or other scalar operations) of one evaluation, dimensionless; 0, the default, only moves entries."""
        return 0

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        """Python that rebuilds the box: its class and its parameters, which `name` gives Python for."""
        if not is_dataclass(self):
            return name(self, type(self).__name__.lower())
        return called(self, name)

    def lay_out(self, b: Builder, x: Wires) -> Any:
        leaves = flatten(x)
        if self.arity is not None and len(leaves) != self.arity:
            raise errors.SpaceError(errors.wrong_leaf_count(self.arity, b.space(x), self))
        outs = b.add(self, *leaves)
        return outs[0] if len(outs) == 1 else outs


class AlongAxis(Primitive):
    """A primitive whose parameter `axis`, counted from the front, says along which axis of its arguments it works."""

    __slots__ = ()

    def carried(self, size: int) -> Primitive:
        moved: Primitive = replace(self, axis=self.axis + 1)  # type: ignore[type-var, attr-defined]
        return moved


Running = Generator[tuple[Any, Sequence[Any]], list[Any], Any]  # yields programs with their arguments, is sent their results


class Nesting(Primitive):
    """A primitive that runs other programs; `running` asks for them, so that programs within programs need no stack."""

    __slots__ = ()

    def running(self, xp: Any, *arrays: Any) -> Running:
        """The meaning, as a generator: it yields (program, leaves) and is sent the leaves of the result."""
        raise errors.ExtensionError(errors.missing_method("primitive", self, "running"))

    def programs(self) -> Sequence[tuple[int, D, Space]]:
        """The programs that it runs, as terms at spaces, and how often each; of two of which one runs, the costlier one."""
        raise errors.ExtensionError(errors.missing_method("primitive", self, "programs"))

    def held(self) -> int:
        """The bytes that it holds itself while programs run, beside its arguments: results that it fills meanwhile, too."""
        return 0

    def rule(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> Any:
        return self.rule_within(ins, outs, *[(True,) * sum([s.is_float for s in own]) for own in (ins, outs)])

    @property
    def must_run(self) -> bool:
        from catad.category.wiring import wire

        return any(wire(term, dom).must_run for _, term, dom in self.programs())

    def evaluate(self, xp: Any, *arrays: Any) -> Any:
        return upward.finished(self.running(xp, *arrays), xp)

    def cost(self, ins: tuple[Tensor, ...], outs: tuple[Tensor, ...]) -> int:
        return sum([times * upward.cost_of(term, dom) for times, term, dom in self.programs()])


P = TypeVar("P", bound=Primitive)


@dataclass_transform(eq_default=False)
def box(cls: type[P]) -> type[P]:
    """Class decorator: a primitive whose parameters are dataclass fields, compared exactly (0.0 is not -0.0, 1 not True).

    Parameters are hashable: numbers, texts, tuples, spaces, morphisms, functions (by identity). A call of a missing method
    is an `ExtensionError`. See `Primitive` for an example with a derivative.

    >>> import catad as ct
    >>> @ct.primitive.box
    ... class Scaled(ct.primitive.Primitive):
    ...     factor: float
    ...     arity = 1
    ...
    ...     def typed(self, ins):
    ...         return ins
    ...
    ...     def evaluate(self, xp, x):
    ...         return self.factor * x
    >>> Scaled(2.0)(3.0), Scaled(2.0) == Scaled(2.0), Scaled(0.0) == Scaled(-0.0)
    (np.float64(6.0), True, False)
    """
    made = classes.of_fields(cls)
    names = [f.name for f in fields(made)]

    def data(self: Any) -> Hashable:
        found: Hashable = self.__dict__.get("_data")  # asked for at each comparison
        if found is None:
            found = self.__dict__["_data"] = tuple([_exact(getattr(self, n)) for n in names])
        return found

    if "data" not in cls.__dict__:
        made.data = data
    return made  # type: ignore[no-any-return]


T = TypeVar("T", bound=D)


@dataclass_transform(eq_default=False)
def of_fields(cls: type[T]) -> type[T]:
    """Class decorator: a term of dataclass fields. Those that are annotated as `D` are its children, the others its data.

    It prints as its class and its fields, unless it has a `code` of its own.
    """
    made = classes.of_fields(cls)
    parts = tuple([f.name for f in fields(made) if f.type == "D"])
    names = [f.name for f in fields(made) if f.type != "D"]
    made.child_fields = parts
    if parts:
        made.children = property(lambda self: tuple([getattr(self, n) for n in parts]))
    if "data" not in cls.__dict__:
        made.data = lambda self: tuple([getattr(self, n) for n in names])
    if cls.code is D.code:
        made.code = lambda self, part, name: called(self, name)
    return made  # type: ignore[no-any-return]


_INTEGERS = {int}


def _exact(value: Any) -> Any:
    if isinstance(value, tuple):
        if {*map(type, value)} == _INTEGERS:
            return ("ints", value)  # the usual case
        return tuple([_exact(v) for v in value])
    if isinstance(value, (bool, int, float, np.generic)):
        return (type(value).__name__, str(value))  # tells signed zeros and NaN apart from what they compare as
    return value

"""`Traced`: the stand-in for an array while a function is traced.

A stand-in refers to a *buffer*, the memory of an array, whose value is a variable of the program. Writing into an array gives
its buffer another variable, so all names of the array see it. A *view* is a stand-in that reads its base through a term, and
writes into it through another one; it reads again where the base has changed. Numbers (arrays without axes) are immutable, as
NumPy's are. Arithmetic and indexing are in `operators.py`, functions of NumPy in `names/`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from catad import errors
from catad.category.spaces import Tensor, flatten, mapped
from catad.category.terms import D, Id
from catad.errors.places import Place
from catad.traced.control.decisions import decide, unroll_for
from catad.traced.recorder import Region, Trace, Uniform, Var, array_of, current_trace
from catad.values.arrays import refuse_blocks
from catad.values.complex_numbers import is_complex
from catad.values.formats import is_known

if TYPE_CHECKING:
    from catad.traced.arrays.aliases import Aliases


Axes = tuple[int, ...]


def has_one_order(shape: tuple[int, ...]) -> bool:
    """True where all orders of axes are one: at most one axis has several entries."""
    return len(shape) < 2 or sum([n != 1 for n in shape]) < 2


class Buffer:
    """The memory of an array: the variable that it holds in the region where it was made, and in those inside it."""

    __slots__ = ("aliases", "axes", "name", "origin", "place", "region", "var", "was_written")

    def __init__(self, region: Region, var: Var, origin: str | None = None, axes: Axes | None = None) -> None:
        self.region, self.var, self.origin = region, var, origin
        self.axes = axes  # in NumPy's memory, the slowest first; None where that is not known
        if axes is None and has_one_order(var.space.shape):
            self.axes = tuple(range(var.space.ndim))
        self.name: str | None = None
        self.aliases: tuple[Aliases, ...] = ()  # with what it may be one array
        self.was_written = False

    def holds(self, region: Region) -> Var:
        """What the buffer holds in a region: a variable of this region or of an outer one."""
        at: Region | None = region
        while at is not None and at is not self.region:
            if self in at.holds:
                return at.holds[self]
            at = at.around
        if at is None:
            raise errors.TraceError(errors.out_of_reach(self))
        return self.var

    def read(self, region: Region) -> Var:
        """What the buffer holds in a region, as a variable of this region."""
        for aliases in self.aliases:
            aliases.check(self, region)
        return region.own(self.holds(region))

    def has_changed(self, var: Var, region: Region) -> bool:
        """True where it holds another variable than this one; for one that is out of reach, where somebody wrote into it."""
        for at in region.outward:
            if at is self.region or self in at.holds:
                return (self.var if at is self.region else at.holds[self]) is not var
        return self.was_written and not self.region.is_dropped

    def write(self, region: Region, var: Var) -> None:
        """Let the buffer hold a variable in a region."""
        for aliases in self.aliases:
            if aliases.at_once:
                aliases.give_up()
        self.was_written = True
        region.written.add(self)
        var.name = self.name or self.var.name
        if region is self.region:
            self.var = var
        else:
            region.holds[self] = var


class View(NamedTuple):
    """How a stand-in reads its base, and writes into it: terms `base -> view` and `(base, view) -> base`, of the base and
    further variables. `like` makes the same view of an array that has the strides of the base."""

    base: Traced
    read: D
    write: D | None
    like: Callable[[Any], Any] | None
    keeps_axes: bool  # where they are in C order in the base, they are so in the view
    further: tuple[Var, ...] = ()
    why: str = ""  # it cannot be written through


class Traced:
    """A stand-in for an array of NumPy while a function is traced: it has the array's shape and dtype, and no numbers.

    Raises `TraceError` where its numbers would be needed, and where it is used after the trace.
    """

    __slots__ = ("__weakref__", "_name", "_seen", "_view", "buffer", "is_array", "owner_")
    __array_priority__ = 1000.0

    def __init__(self, trace: Trace, buffer: Buffer | None, view: View | None = None) -> None:
        self.owner_, self._view = trace, view  # the trace in which it was made
        self.buffer = buffer
        self.is_array: bool | None = False  # though it has no axes: no number of NumPy; None where it may be either
        self._name: str | None = None  # of a view, until it is read
        self._seen: tuple[Var, Var] | None = None  # of a view: the variable of the base, and what was read from it

    def __getitem__(self, key: Any) -> Any:
        from catad.traced.arrays.indexing import getitem  # late: many functions take no index

        return getitem(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        from catad.traced.arrays.indexing import setitem  # late, as above

        setitem(self, key, value)

    if TYPE_CHECKING:  # `operators.py` and `protocols.py` set these

        def __getattr__(self, name: str) -> Any: ...
        def __add__(self, other: Any) -> Any: ...
        def __radd__(self, other: Any) -> Any: ...
        def __sub__(self, other: Any) -> Any: ...
        def __rsub__(self, other: Any) -> Any: ...
        def __mul__(self, other: Any) -> Any: ...
        def __rmul__(self, other: Any) -> Any: ...
        def __truediv__(self, other: Any) -> Any: ...
        def __rtruediv__(self, other: Any) -> Any: ...
        def __floordiv__(self, other: Any) -> Any: ...
        def __mod__(self, other: Any) -> Any: ...
        def __pow__(self, other: Any) -> Any: ...
        def __and__(self, other: Any) -> Any: ...
        def __or__(self, other: Any) -> Any: ...
        def __lt__(self, other: Any) -> Any: ...
        def __le__(self, other: Any) -> Any: ...
        def __gt__(self, other: Any) -> Any: ...
        def __ge__(self, other: Any) -> Any: ...
        def __neg__(self) -> Any: ...
        def __abs__(self) -> Any: ...
        def __invert__(self) -> Any: ...
        def __matmul__(self, other: Any) -> Any: ...

    # -- values

    @property
    def var_(self) -> Var:
        """The variable that the array holds now, in the region that is being recorded."""
        trace = self.trace_
        if self._view is None:
            assert self.buffer is not None
            return self.buffer.read(trace.region)
        view = self._view
        base = view.base.var_
        if self._seen is None or self._seen[0] is not base or self._seen[1].region is not trace.region:
            self._seen = base, read_through(trace.region, view.read, base, view.further)
            self._seen[1].name = self._name
        return self._seen[1]

    def write(self, var: Var) -> None:
        """Let the array hold a variable of its own space."""
        if self._view is None:
            assert self.buffer is not None
            if self.buffer.origin is not None:
                raise errors.TraceError(errors.write_to_captured(self.buffer.origin))
            if self.trace_ is not self.owner_:
                raise errors.TraceError(errors.write_to_captured("an array of the traced function around this one"))
            self.buffer.write(self.trace_.region, var)
            return
        view = self._view
        if view.write is None:
            raise errors.TraceError(errors.write_through_view(view.why))
        region = self.trace_.region
        further = tuple([region.own(one) for one in view.further])
        view.base.write(computed(region, view.write, (view.base.var_, *further, var)))

    def named_(self, name: str) -> None:
        """Note the name that the user's program has for the array."""
        if name.startswith("__catad"):
            return  # a flag of a loop
        if self.buffer is None:
            self._name = self._name or name
            if self._seen is not None:
                self._seen[1].name = name
            return
        if self.trace_ is not self.owner_:
            return
        self.buffer.name = self.buffer.name or name
        for at in self.trace_.region.outward:
            if at is self.buffer.region or self.buffer in at.holds:
                at.holds.get(self.buffer, self.buffer.var).name = name
                return

    @property
    def root(self) -> Buffer:
        """The memory that the array shows."""
        at = self
        while at._view is not None:
            at = at._view.base
        assert at.buffer is not None
        return at.buffer

    def is_new(self, axes: Axes | None) -> None:
        """Note that NumPy's array is one of its own, and in which order its axes lie in memory."""
        if self._view is not None:
            self.buffer, self._view = Buffer(self.trace_.region, self.var_), None
        assert self.buffer is not None
        self.buffer.axes = axes

    @property
    def is_view(self) -> bool:
        """True for an array that shows a part of another one, or another order of its entries."""
        return self._view is not None

    @property
    def is_mutable(self) -> bool:
        """False for a number, which `x += y` gives to the name anew; arrays without axes are written into."""
        return self._view is not None or self.is_array is True or self.ndim > 0

    # -- what is known without numbers

    @property
    def space(self) -> Tensor:
        """The space, which stays: asking for it reads nothing."""
        self.trace_  # noqa: B018
        known = self._seen[1] if self._seen is not None else self.var_ if self.buffer is None else self.buffer.var
        return known.space

    @property
    def trace_(self) -> Trace:
        """The trace that runs: that of the stand-in, or one of a function inside it, which reads it from outside."""
        own, running = self.owner_, current_trace()
        if own.open and running is not None:
            if running is own:
                return own
            if running.is_inside(own):
                return running
        raise errors.TraceError(errors.used_elsewhere(self.root.var))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.space.shape

    @shape.setter
    def shape(self, value: Any) -> None:
        raise errors.TraceError(errors.attribute_is_set("shape"))

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.space.dtype

    @dtype.setter
    def dtype(self, value: Any) -> None:
        raise errors.TraceError(errors.attribute_is_set("dtype"))

    @property
    def ndim(self) -> int:
        return self.space.ndim

    @property
    def size(self) -> int:
        return self.space.size

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.space.nbytes

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    @property
    def constant(self) -> Any:
        """The array, where it depends on no argument; else None."""
        constant = self.var_.constant
        return None if constant is None else array_of(constant)

    @property
    def python_type(self) -> type | None:
        """The type of the Python number that this stands for; None for arrays and numbers of NumPy."""
        return self.var_.weak

    @property
    def builder(self) -> Adapter:
        """What morphisms ask when they are called on stand-ins (`D.__call__`)."""
        return Adapter(self.trace_)

    @staticmethod
    def paired_(re: Any, im: Any) -> Any:
        """The complex stand-in of two parts."""
        from catad.traced.pairs.stand_in import pair  # late: few functions have complex numbers

        return pair(re, im)

    def __repr__(self) -> str:
        if not self.owner_.open:
            return "<stand-in of a trace that is over>"
        var = self.var_
        name = f"{var.name}: " if var.name else ""
        return f"<{name}{var.space}>" if var.constant is None else f"<{name}{var.space}, constant {array_of(var.constant)}>"

    def __format__(self, spec: str) -> str:
        constant = None if not self.owner_.open else self.constant
        return repr(self) if constant is None or constant.ndim else format(constant[()], spec)

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[k] for k in range(self.shape[0]))

    # -- where numbers would be needed

    def _number(self, what: str) -> Any:
        """The one number of a constant; where it depends on the steps of loops, these are unrolled; else an error."""
        constant = self.constant
        if constant is not None:
            return constant
        unroll_for(self.trace_, self.var_)
        raise errors.TraceError(errors.needs_a_number(self, what))

    def __hash__(self) -> int:
        if self.shape:
            raise TypeError("unhashable type: 'numpy.ndarray'")
        return hash(self._number("a key of a dictionary or an element of a set").item())

    def __int__(self) -> int:
        return int(self._number("int(x)"))

    def __index__(self) -> int:
        number = self._number("an index or a size")
        if number.dtype.kind not in "iu":
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        return int(number.__index__())

    def __float__(self) -> float:
        return float(self._number("float(x)"))

    def __complex__(self) -> complex:
        return complex(self._number("complex(x)"))

    def item(self, *args: Any) -> Any:
        return self._number("x.item()").item(*args)

    def tolist(self) -> Any:
        return self._number("x.tolist()").tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self._number("a NumPy array"), dtype=dtype)

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError(
                "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()"
                if self.size
                else "The truth value of an empty array is ambiguous. Use `array.size > 0` to check that an array is not empty."
            )
        return decide(self.trace_, self.var_)

    def __reduce__(self) -> Any:
        raise errors.TraceError(errors.needs_a_number(self, "pickle"))


class Adapter:
    """What `D.__call__` asks of the leaf of an argument that stands for an array: apply a term to a value of stand-ins."""

    __slots__ = ("trace",)

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    def wires(self, value: Any) -> Any:
        return value

    def apply(self, term: D, value: Any) -> Any:
        return apply_term(self.trace, term, value)


# -- making stand-ins


def read_through(region: Region, term: D, base: Var, further: tuple[Var, ...]) -> Var:
    """The variable that a view reads; of a constant at once."""
    made: Var = computed(region, term, (base, *further) if further else base)
    return made


def is_condition(value: Any) -> bool:
    """True for a number that depends on data, on which a program branches."""
    return isinstance(value, Traced) and value.size == 1 and value.var_.constant is None


def computed(region: Region, term: D, args: Any, place: Place | None = None) -> Any:
    """The variables of a term's result. What depends on no argument is computed at once, and is a constant.

    It is computed by the term itself, so it is the same number that the program would compute. The identity is no line. The line
    stands where the statement stands that runs, or at `place`.
    """
    if isinstance(term, Id):
        return mapped(args, region.own)
    leaves = flatten(args)
    if leaves and all(var.constant is not None for var in leaves):
        it = iter(leaves)
        values = mapped(args, lambda _: array_of(next(it).constant))
        with_no_trace = term(*values) if isinstance(values, tuple) else term(values)
        return mapped(with_no_trace, lambda array: region.constant(np.asarray(array)))
    return region.record(term, args, place)


def fresh(trace: Trace, var: Var, axes: Axes | None = None) -> Traced:
    """An array of its own that holds a variable, with its axes in the order in which NumPy has them in memory."""
    return Traced(trace, Buffer(trace.region, var, None, axes))


def constant(trace: Trace, value: Any, weak: type | None = None, origin: str | None = None) -> Traced:
    """A stand-in for an array or a number that depends on no argument."""
    made = value if isinstance(value, Uniform) else np.asarray(refuse_blocks(value))
    axes: Sequence[int] = range(len(made.shape))
    if not isinstance(made, Uniform) and not made.flags.c_contiguous:
        axes = sorted(axes, key=lambda axis: -abs(made.strides[axis]))
    return Traced(trace, Buffer(trace.region, trace.region.constant(made, weak), origin, tuple(axes)))


def stand_in_of(trace: Trace, array: Any, origin: str | None = "a captured array") -> Any:
    """The stand-in for an array of real or complex numbers that depends on no argument."""
    if not is_complex(array):
        return constant(trace, array, origin=origin)
    from catad.traced.pairs.stand_in import pair_of_array  # late, as above

    return pair_of_array(trace, array, origin)


def apply_term(trace: Trace, term: D, value: Any) -> Any:
    """A morphism on stand-ins, arrays and numbers: a line of the program."""
    args = mapped(value, lambda leaf: var_of(trace, leaf))
    return mapped(computed(trace.region, term, args), lambda var: fresh(trace, var, tuple(range(var.space.ndim))))


def var_of(trace: Trace, value: Any) -> Var:
    """The variable of a stand-in, an array or a number."""
    if isinstance(value, Traced):
        return value.var_
    if isinstance(value, (bool, int, float)) and not isinstance(value, np.generic):
        return trace.region.constant(np.asarray(value), type(value))
    if is_complex(value):
        raise errors.TraceError(errors.complex_in_real_place(value))
    return trace.region.constant(checked_array(value))


def checked_array(value: Any) -> Any:
    """An array or a NumPy scalar as a plain array of a dtype that spaces have."""
    array = np.asarray(refuse_blocks(value))
    if not is_known(array.dtype):
        raise errors.TraceError(errors.unsupported_dtype(array.dtype))
    return array

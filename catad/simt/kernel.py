"""`ct.kernel`: a Python function that every thread of a launch runs; `k[blocks, threads]` is a morphism."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Hashable, Sequence
from inspect import Parameter
from types import FunctionType
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from catad import errors, upward
from catad.category.boxes import of_fields
from catad.category.cache import cached
from catad.category.constructors import integer
from catad.category.spaces import Space, Tensor, as_leaves, flatten
from catad.category.terms import D
from catad.category.wiring import Builder, share
from catad.errors.notices import notice
from catad.linear.families.contract import zeros
from catad.scalar.reading.find_source import find_source
from catad.simt.arrays import Barrier, Body, Declare, Step, every, nodes_of
from catad.simt.bounds import needed
from catad.simt.explain import explained, merged
from catad.simt.loops import repeated
from catad.simt.lower import Found, Lowering
from catad.simt.races import count_of, guarded
from catad.simt.read import Dims, read_kernel, whole_name
from catad.simt.thread_axes import Lanes, lanes_of
from catad.values.complex_numbers import KEYS, is_complex, parts_of
from catad.values.frozen_functions import Frozen

if TYPE_CHECKING:
    from catad.category.wiring import Wire

MOST_THREADS = 1024
MOST_ACCESSES = 1 << 18
"""Accesses that are compared while a launch is laid out; `ct.testing.check_races` compares any number."""


class Kernel:
    """What `ct.kernel` makes of a function: `k[blocks, threads]` is the morphism of a launch."""

    def __init__(self, fn: FunctionType, max_steps: int) -> None:
        self.fn, self.frozen, self.max_steps = fn, Frozen(fn), max_steps
        self.given = self  # the kernel as it was written, of which this one is a form with complex parameters
        parameters = inspect.signature(fn).parameters
        self.names = tuple(parameters)
        self.numbers = {name for name, one in parameters.items() if isinstance(one.default, int | float | np.number)}
        self.__name__, self.__doc__, self.__module__ = fn.__name__, fn.__doc__, fn.__module__

    def __reduce__(self) -> Any:
        """Pickled as a function is, by its name."""
        pairs = tuple(dict.fromkeys([whole_name(name) for name in self.names if "." in name]))
        return (with_pairs, (self.given, pairs)) if pairs else self.fn.__qualname__

    def __getitem__(self, launch: Any) -> Launch:
        parts = launch if isinstance(launch, tuple) else (launch,)
        if not 2 <= len(parts) <= 4:
            raise errors.ArgumentError(errors.bad_launch(self.__name__, launch))
        grid, block = [self._sizes(part, launch) for part in parts[:2]]
        if math.prod(block) > MOST_THREADS:
            raise errors.ArgumentError(errors.too_many_threads(self.__name__, math.prod(block)))
        if len(parts) > 2 and parts[2] is not None and parts[2] != 0:
            notice(("stream", self.__name__), errors.ignored_stream(self.__name__))
        return Launch(self, grid, block, ())

    def _sizes(self, given: Any, launch: Any) -> tuple[int, int, int]:
        sizes = given if isinstance(given, tuple | list) else (given,)
        whole = all(isinstance(n, int | np.integer) and not isinstance(n, bool) and n > 0 for n in sizes)
        if not whole or not 1 <= len(sizes) <= 3:
            raise errors.ArgumentError(errors.bad_launch(self.__name__, launch))
        x, y, z = [*map(int, sizes), 1, 1][:3]
        return x, y, z

    def forall(self, n: int, block: int = 256) -> Launch:
        """The launch with at least n threads, in blocks of the given size."""
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 0:
            raise errors.ArgumentError(errors.bad_launch(self.__name__, n))
        return self[max(1, -(-int(n) // block)), block]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise errors.ArgumentError(errors.without_launch(self.__name__))

    def __repr__(self) -> str:
        name = self.__name__
        return f"<kernel {name}({', '.join(self.names)}), whose launches {name}[blocks, threads] are morphisms>"


@share
@of_fields
class Launch(D):
    """A kernel at a launch: from all its parameters in order to the arrays that it writes, in order."""

    takes_numbers = True
    kernel: Kernel
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    made: tuple[tuple[str, str], ...]
    weak: tuple[str, ...] = ()

    def data(self) -> Hashable:
        return (self.kernel.frozen.key, self.kernel.names, self.kernel.max_steps, self.grid, self.block, self.made, self.weak)

    def recipe(self) -> tuple[Callable[..., D], tuple[Any, ...]]:
        return Launch, (self.kernel, self.grid, self.block, self.made, self.weak)

    def code(self, part: Callable[[D], str], name: Callable[[Any, str], str]) -> str:
        more = "".join([f".returning({n!r}, like={like!r})" for n, like in self.made])
        more += f".with_numbers({', '.join(map(repr, self.weak))})" if self.weak else ""
        return f"{name(self.kernel, self.kernel.__name__)}[{_short(self.grid)}, {_short(self.block)}]{more}"

    def returning(self, name: str, like: str) -> Launch:
        """The launch without the parameter `name`, whose array is zeros of the shape and dtype of `like`: it is overwritten."""
        for one in (name, like):
            if one not in self.kernel.names:
                raise errors.ArgumentError(errors.no_such_parameter(self.kernel.__name__, one, self.kernel.names))
        return Launch(self.kernel, self.grid, self.block, (*self.made, (name, like)), self.weak)

    def with_numbers(self, *names: str) -> Launch:
        """The launch whose named parameters are Python's numbers, which take the dtype of what they meet in the kernel."""
        return Launch(self.kernel, self.grid, self.block, self.made, names)

    def with_pairs(self, *names: str) -> Launch:
        """The launch whose named parameters, and the arrays that are made like them, are complex: two real ones each."""
        pairs = [*names, *[name for name, like in self.made if like in names]]
        made = [
            one
            for name, like in self.made
            for one in ([(f"{name}.{part}", f"{like}.{part}") for part in KEYS] if like in names else [(name, like)])
        ]
        return Launch(with_pairs(self.kernel, tuple(pairs)), self.grid, self.block, tuple(made), self.weak)

    def results(self, spaces: Sequence[Tensor]) -> tuple[str, ...]:
        """The names of the arrays that are written, for arguments of these spaces."""
        given = dict(zip(self.passed, spaces, strict=False))
        given |= {name: given[like] for name, like in self.made}
        return self.body([given[name] for name in self.parameters(len(spaces))]).written

    def when_unread(self, where: str | None) -> str:
        """What a function of which nobody reads this launch is told."""
        return errors.dropped_launch(self.kernel.__name__, where)

    @property
    def passed(self) -> tuple[str, ...]:
        """The names of the parameters that are passed."""
        made = dict(self.made)
        return tuple([name for name in self.kernel.names if name not in made])

    def parameters(self, count: int, space: Space | None = None) -> tuple[str, ...]:
        """The parameters for so many arguments: the last ones may be left out where their defaults are numbers."""
        out = set(self.passed[count:])
        names = self.kernel.names[: len(self.kernel.names) - len(out)]
        if count > len(self.passed) or not out <= self.kernel.numbers or not out.isdisjoint(names):
            error = errors.ArgumentError if space is None else errors.SpaceError
            raise error(errors.wrong_arguments(self.kernel.__name__, self.passed, space or f"{count} arguments"))
        return names

    def filled(self, args: Sequence[Any]) -> list[Any]:
        """The arguments of the kernel, those that the launch makes included, and none whose default is taken."""
        names = self.parameters(len(args))
        given = dict(zip(self.passed, args, strict=False))
        for name, like in self.made:
            given[name] = np.zeros_like(np.asarray(given[like]))
        return [given[name] for name in names]

    def body(self, spaces: Sequence[Tensor]) -> Body:
        """The statements for arguments of these spaces."""
        at = tuple(spaces)
        body, notes = cached(self, ("statements", at), lambda: self._read(at))
        for said in notes:
            notice(("kernel", said), said)
        return body

    def _read(self, spaces: tuple[Tensor, ...]) -> tuple[Body, list[str]]:
        kernel, dims = self.kernel, Dims(self.grid, self.block)
        return read_kernel(kernel.frozen.ready(), dims, kernel.names[: len(spaces)], spaces, kernel.max_steps)

    def written(self, *args: Any) -> tuple[str, ...]:
        """The names of the parameters that are written for such arguments, one for each parameter."""
        launch, leaves = self.on_parts(args)
        body = launch.body([leaf if isinstance(leaf, Tensor) else _space(leaf) for leaf in leaves])
        return tuple(dict.fromkeys(map(whole_name, body.written)))

    def on_parts(self, args: Sequence[Any]) -> tuple[Launch, list[Any]]:
        """The launch on real arrays that stands for this one on arguments for all parameters, and the arrays."""
        pairs = [name for name, arg in zip(self.kernel.names, args, strict=False) if is_complex(arg)]
        leaves = [leaf for arg in args for leaf in (parts_of(arg) if is_complex(arg) else [arg])]
        return Launch(with_pairs(self.kernel, tuple(pairs)), self.grid, self.block, (), self.weak), leaves

    def lay_out(self, b: Builder, x: Any) -> Any:
        leaves = flatten(x)
        names = self.parameters(len(leaves), b.space(x))
        wires = dict(zip(self.passed, leaves, strict=False))
        for name, like in self.made:
            wires[name] = zeros(b, wires[like].space)
        return self._laid_out(b, [wires[name] for name in names], None)

    def _laid_out(self, b: Builder, wires: Sequence[Wire], found: list[Found] | None) -> Any:
        body = self.body([wire.space for wire in wires])
        if not body.written:
            raise errors.ScalarError(errors.writes_nothing(self.kernel.__name__))
        at = dict(zip(self.kernel.names, wires, strict=False))

        def run(at: dict[str, Wire]) -> list[Wire]:
            return self._run(b, body, at, found)

        small = math.prod(self.grid) * math.prod(self.block) * count_of(body.steps) <= MOST_ACCESSES
        made = guarded(b, Dims(self.grid, self.block), body, at, run) if small else run(at)
        results = _grouped(body.written, made)
        return results[0] if len(results) == 1 else tuple(results)

    def _run(self, b: Builder, body: Body, at: dict[str, Wire], found: list[Found] | None) -> list[Wire]:
        low = Lowering(b, self.lanes(body), repeated, found)
        for name, k in body.numbers:
            own = low.bind(k, at[name])
            low.weak.update([own] if name in self.weak else [])
        arrays = {array.name: array for array in body.arrays}
        low.versions.update({array: at[name] for name, array in arrays.items()})
        low.run(body.steps)
        low.phase.end()
        return [low.versions[arrays[name]] for name in body.written]

    def lanes(self, body: Body) -> Lanes:
        """The axes of the threads."""
        nodes = [node for step in body.steps for node in nodes_of(step)]
        dims = Dims(self.grid, self.block)
        return lanes_of(dims, nodes, _of_blocks(body.steps), needed(body.steps, dims))

    def explain(self, *args: Any) -> str:
        """What each site becomes, forward and reverse, and why: a line a site, for a space of arguments, or for arguments.

        >>> import catad as ct, numpy as np
        >>> @ct.kernel
        ... def scaled(x, w, y):
        ...     i = ct.simt.grid(1)
        ...     if i > 0:
        ...         y[i] = w[0] * x[i - 1]
        >>> print(scaled[2, 4].explain(np.zeros(8), np.zeros(1), np.zeros(8)))
        w[0]  line 5  read  broadcast; reverse: fold
        x[i - 1]  line 5  read  shifted view; reverse: view, no atomics (index i - 1, one thread a cell)
        y[i]  line 5  store  plain stores; reverse: view, no atomics (index i, one thread a cell)
        """
        term, space = upward.at_domain(self, args, {})
        assert isinstance(term, Launch)
        return explained(term.sites(space))

    def sites(self, spaces: Space) -> list[Found]:
        """What became of each site at a space of arguments."""
        b, found = Builder(), list[Found]()
        given = flatten(b.inputs(spaces))
        names = self.parameters(len(given), spaces)
        leaves = dict(zip(self.passed, given, strict=False))
        for name, like in self.made:
            leaves[name] = b.wire(leaves[like].space)
        self._laid_out(b, [leaves[name] for name in names], found)
        return merged(found)


def _grouped(names: Sequence[str], made: Sequence[Wire]) -> list[Any]:
    """Results, each complex one as a pair."""
    groups: dict[str, list[Wire]] = {}
    for name, wire in zip(names, made, strict=True):
        groups.setdefault(whole_name(name), []).append(wire)
    return [group[0] if len(group) == 1 else tuple(group) for group in groups.values()]


def with_pairs(kernel: Kernel, names: tuple[str, ...]) -> Kernel:
    """The kernel of which these parameters are complex: each is two, its parts."""
    made = object.__new__(Kernel)
    vars(made).update(vars(kernel))
    made.names = tuple([one for name in kernel.names for one in ([f"{name}.{k}" for k in KEYS] if name in names else [name])])
    return made


def _of_blocks(steps: Sequence[Step]) -> bool:
    """Whether blocks matter: there are barriers, or arrays of blocks."""
    return any(isinstance(one, Barrier) or (isinstance(one, Declare) and one.array.place != "local") for one in every(steps))


def _space(value: Any) -> Tensor:
    (leaf,) = as_leaves(value)
    return Tensor(leaf.shape, leaf.dtype)


def _short(sizes: tuple[int, int, int]) -> str:
    x, y, z = sizes
    return str(x) if y == z == 1 else f"({x}, {y})" if z == 1 else f"({x}, {y}, {z})"


@overload
def kernel(fn: Callable[..., Any]) -> Kernel: ...
@overload
def kernel(*, max_steps: int = ...) -> Callable[[Callable[..., Any]], Kernel]: ...
def kernel(fn: Any = None, *, max_steps: int = 1_000_000) -> Any:
    """A Python function that every thread of a launch runs, in the words of `ct.simt`; `k[blocks, threads]` is a morphism.

    Its domain is the product of all parameters in order, arrays and numbers; its codomain are the arrays that it writes, in the
    order of their parameters (one array, or a product). Arguments are never changed. Blocks and threads are positive integers or
    tuples of up to three; `k.forall(n)` has at least n threads. The language is that of `ct.map`, with arrays, shared and local
    memory, barriers, atomics and shuffles. Statements are in lockstep: all threads do a statement, then the next one; of several
    threads that store into one cell the last one wins. Last arguments whose defaults are numbers may be left out: these are known
    while reading, so that they may be sizes. Shapes and dtypes are those of the arrays. Differentiates to any order, in
    both modes. `@ct.kernel(max_steps=n)` lets a loop whose trips data decide make n trips at most.
    Raises `ScalarError` with file, line and column for what cannot be read, and for races; `ArgumentError` for a bad launch, and
    for a loop that makes too many trips; `IndexRangeError` for an index that is out of range; negative ones do not wrap.

    >>> import catad as ct, numpy as np
    >>> @ct.kernel
    ... def double(x, y):
    ...     i = ct.simt.grid(1)
    ...     if i < len(x):
    ...         y[i] = 2.0 * x[i]
    >>> double[2, 4](np.arange(5.0), np.zeros(5))
    array([0., 2., 4., 6., 8.])
    >>> ct.grad(double[2, 4] >> ct.square >> ct.sum())(np.arange(5.0), np.zeros(5))[0]
    array([ 0.,  8., 16., 24., 32.])
    """
    if fn is None:
        return lambda body: kernel(body, max_steps=max_steps)  # type: ignore[call-overload]
    plain = isinstance(fn, FunctionType) and find_source(fn) is not None
    kinds = [one.kind for one in inspect.signature(fn).parameters.values()] if plain else []
    if not kinds or any(kind not in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD) for kind in kinds):
        raise errors.ArgumentError(errors.not_a_kernel(fn))
    return Kernel(fn, integer(max_steps, "a number of steps", 1))

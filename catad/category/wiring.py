"""Wirings: terms laid out at given spaces as graphs of primitive boxes.

`fork`, `exl`, `dup`, `swap` and their like become mere wires. Equal boxes on equal wires are one box, and a term that is met
twice on the same wires is laid out once, so that shared work stays shared. Laying out uses an explicit stack, so Python's
stack does not bound the depth of a term.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import compress
from threading import local
from types import GeneratorType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from catad import errors, upward
from catad.category.boxes import Primitive
from catad.category.cache import cached
from catad.category.constant import Constant, const
from catad.category.nesting import surroundings
from catad.category.spaces import Space, Tensor, flatten, rebuild, space_like
from catad.category.terms import Compose, Cross, D, Fork, MorphismLike, morphism
from catad.category.trip_counts import reading
from catad.values.arrays import as_array, as_number, is_weak, weak_dtypes

Wires = Any  # a Wire, or a tuple of Wires
Values = Callable[[], "tuple[Any, Sequence[Any]] | None"]  # the module of some arrays and these, where they are known
_laid_out = local()


class Wire:
    """One array of a program that is not computed yet: `space` is its space, `builder` the builder that it belongs to.

    Arithmetic, comparisons and morphisms on wires add boxes to the builder; other operands are wires of the same builder, arrays
    or numbers. Raises `SpaceError` where shapes or dtypes do not fit.

    >>> import catad as ct
    >>> b = ct.primitive.Builder()
    >>> x = b.inputs(ct.f64[3])
    >>> y = ct.sin(2.0 * x)
    >>> isinstance(y, ct.primitive.Wire), y.space, len(b.boxes)
    (True, ct.f64[3], 2)
    """

    __slots__ = ("builder", "number", "space")

    if TYPE_CHECKING:  # arithmetic; set below the class, one function for each operator

        def __add__(self, other: Any) -> Wire: ...
        def __radd__(self, other: Any) -> Wire: ...
        def __sub__(self, other: Any) -> Wire: ...
        def __rsub__(self, other: Any) -> Wire: ...
        def __mul__(self, other: Any) -> Wire: ...
        def __rmul__(self, other: Any) -> Wire: ...
        def __truediv__(self, other: Any) -> Wire: ...
        def __rtruediv__(self, other: Any) -> Wire: ...
        def __neg__(self) -> Wire: ...

    __hash__ = object.__hash__  # by identity, though == compares numbers

    def __init__(self, builder: Builder, number: int, space: Tensor) -> None:
        self.builder, self.number, self.space = builder, number, space

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.space.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the array."""
        return self.space.dtype

    @property
    def ndim(self) -> int:
        """The number of axes of the array."""
        return self.space.ndim

    def __repr__(self) -> str:
        return f"<wire {self.number}: {self.space}>"

    def __bool__(self) -> bool:
        raise errors.ScalarError(errors.wire_has_no_truth(self))

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("a value that is not there yet is no NumPy array")  # so opaque code is known as such

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        if method != "__call__" or kwargs:
            return NotImplemented
        return _matmul(*args) if ufunc is np.matmul else _pointwise(self, ufunc, *args)

    def __matmul__(self, other: Any) -> Any:
        return _matmul(self, other) if isinstance(other, Wire) or hasattr(other, "shape") else NotImplemented

    def __rmatmul__(self, other: Any) -> Any:
        return _matmul(other, self) if hasattr(other, "shape") else NotImplemented


def _pointwise(wire: Wire, op: Any, *args: Any) -> Any:
    """Apply a pointwise function to wires and numbers; numbers stay weak. On truth values it means what it does in NumPy."""
    if all(isinstance(arg, bool) or (isinstance(arg, (Wire, np.ndarray, np.bool_)) and arg.dtype.kind == "b") for arg in args):
        name = op if isinstance(op, str) else op.__name__
        if name in _REFUSED_ON_TRUTH:
            raise errors.ScalarError(errors.no_such_operation_on_truth(name, wire))
        op = _ON_TRUTH.get(name, op)
    term, wires = upward.with_numbers(op, args)
    return wire.builder.apply(term, wire.builder.wires(wires))


def _matmul(a: Any, c: Any) -> Any:
    """The matrix product of wires and arrays."""
    b: Builder = next(x for x in (a, c) if isinstance(x, Wire)).builder
    return b.apply(upward.matmul, b.wires((a, c)))


_ON_TRUTH = {"add": "or", "mul": "and", "multiply": "and", "abs": "truth", "absolute": "truth"}
_REFUSED_ON_TRUTH = ("sub", "subtract", "neg", "negative")


def _operator(name: str, swapped: bool = False) -> Callable[[Wire, Any], Any]:
    def method(self: Wire, other: Any) -> Any:
        return _pointwise(self, name, other, self) if swapped else _pointwise(self, name, self, other)

    return method


for _python, _name in [("add", "add"), ("sub", "sub"), ("mul", "mul"), ("truediv", "div"), ("pow", "pow"),
                       ("lt", "lt"), ("le", "le"), ("gt", "gt"), ("ge", "ge"), ("eq", "eq"), ("ne", "ne")]:  # fmt: skip
    setattr(Wire, f"__{_python}__", _operator(_name))
    if _python in ("add", "sub", "mul", "truediv", "pow"):
        setattr(Wire, f"__r{_python}__", _operator(_name, swapped=True))
setattr(Wire, "__neg__", lambda self: _pointwise(self, "neg", self))  # noqa: B010
setattr(Wire, "__abs__", lambda self: _pointwise(self, "abs", self))  # noqa: B010


class Box(NamedTuple):
    """A primitive with the numbers of the wires that it reads and writes, in a `Wiring`.

    >>> import catad as ct
    >>> (box,) = ct.wire(ct.sin, ct.f64[3]).boxes
    >>> isinstance(box.primitive, ct.primitive.Primitive), box.ins, box.outs
    (True, (0,), (1,))
    """

    primitive: Primitive
    ins: tuple[int, ...]
    outs: tuple[int, ...]


class Wiring:
    """A graph of boxes in the order in which they can run, made by `ct.wire` and by a `Builder`.

    `wires[k]` is the space of wire k; `inputs` and `outputs` are the wires of the leaves of `dom` and `cod`.

    >>> import catad as ct
    >>> wiring = ct.wire(ct.dup >> ct.mul, ct.f64[3])
    >>> wiring.dom, wiring.cod, wiring.inputs, wiring.outputs
    (ct.f64[3], ct.f64[3], (0,), (1,))
    """

    __slots__ = ("__dict__", "__weakref__", "boxes", "cod", "dom", "inputs", "outputs", "wires")
    must_run = False  # whether a box in it must run though nobody reads its results

    def __init__(
        self,
        dom: Space,
        cod: Space,
        wires: tuple[Tensor, ...],
        inputs: tuple[int, ...],
        boxes: tuple[Box, ...],
        outputs: tuple[int, ...],
    ) -> None:
        self.dom, self.cod, self.wires, self.inputs, self.boxes, self.outputs = dom, cod, wires, inputs, boxes, outputs

    def spaces(self, numbers: Sequence[int]) -> tuple[Tensor, ...]:
        """The spaces of some wires."""
        return tuple([self.wires[k] for k in numbers])

    def __repr__(self) -> str:
        return f"<wiring {self.dom} -> {self.cod}: {len(self.boxes)} boxes>"


def replaced(wiring: Wiring, makers: Mapping[type, Callable[[list[Tensor], Box, Any], list[Box]]]) -> Wiring:
    """The wiring with other boxes in the places of those of some classes.

    A maker is given the spaces of the wires, which it may add to, a box and its primitive, and returns the boxes that write what
    that box writes.
    """
    kinds = tuple(makers)
    wires, boxes, same = list(wiring.wires), list[Box](), True
    for box in wiring.boxes:
        if not isinstance(box.primitive, kinds):
            boxes.append(box)
            continue
        make = next(makers[kind] for kind in kinds if isinstance(box.primitive, kind))
        made = make(wires, box, box.primitive)
        same = same and len(made) == 1 and made[0] is box
        boxes += made
    return wiring if same else Wiring(wiring.dom, wiring.cod, tuple(wires), wiring.inputs, tuple(boxes), wiring.outputs)


class Builder:
    """Collects the boxes of a wiring. `b.add(primitive, *wires)` adds one box, `b.apply(term, wires)` a whole term.

    `b.add` gives a tuple of wires, one for each result; equal boxes on equal wires are one. `b.apply` gives the wires of the
    result, nested as its space is. Raises `SpaceError` where wires do not lie in the space that the box or the term takes.

    >>> import catad as ct
    >>> b = ct.primitive.Builder()
    >>> x = b.inputs(ct.f64[3] * ct.f64[3])
    >>> b.apply(ct.mul >> ct.sum(), x).space, b.apply(ct.mul, x).space, len(b.boxes)
    (ct.f64[()], ct.f64[3], 2)
    """

    def __init__(self, point: Values | None = None) -> None:
        self.point = point
        self.spaces: list[Tensor] = []
        self.boxes: list[Box] = []
        self._made: dict[Any, tuple[Wire, ...]] = {}
        self._applied: dict[Any, tuple[D, Wires]] = {}
        self.views: dict[Any, Any] = {}  # slots of parts of products, see `catad.linear.products.moved`

    def wire(self, space: Tensor) -> Wire:
        """A new wire that no box writes: an input."""
        self.spaces.append(space)
        return Wire(self, len(self.spaces) - 1, space)

    def inputs(self, dom: Space) -> Wires:
        """New wires for a whole space, nested as the space is."""
        return rebuild(dom, [self.wire(leaf) for leaf in dom.leaves])

    def space(self, wires: Wires) -> Space:
        """The space in which the value on some wires lies."""
        return space_like(wires, [wire.space for wire in flatten(wires)])

    def wires(self, value: Any) -> Wires:
        """A value whose leaves are wires, numbers or arrays, with boxes for the constants among them."""
        leaves = flatten(value)
        if all(isinstance(leaf, Wire) for leaf in leaves):
            return value
        leaves = [leaf if isinstance(leaf, Wire) or is_weak(leaf) else as_array(leaf) for leaf in leaves]
        numbers = [leaf for leaf in leaves if is_weak(leaf)]
        dtypes = iter(weak_dtypes(numbers, [leaf.dtype for leaf in leaves if not is_weak(leaf)]))
        made = []
        for leaf in leaves:
            if is_weak(leaf):
                made.append(self.add(Constant(as_number(np, leaf, next(dtypes)), leaf))[0])
            else:
                made.append(leaf if isinstance(leaf, Wire) else self.apply(const(leaf), ()))
        return rebuild(space_like(value, [w.space for w in made]), made)

    def add(self, primitive: Primitive, *ins: Wire) -> tuple[Wire, ...]:
        """The results of one box; an equal box on the same wires is not added twice."""
        key = (primitive, tuple([wire.number for wire in ins]))
        outs = self._made.get(key)
        if outs is None:
            spaces = primitive.typed(tuple([wire.space for wire in ins]))
            outs = tuple([self.wire(space) for space in spaces])
            self.boxes.append(Box(primitive, key[1], tuple([wire.number for wire in outs])))
            self._made[key] = outs
        return outs

    def apply(self, term: D, x: Wires) -> Wires:
        """The wires of a term's result, all its boxes added."""
        stack: list[tuple[Any, Any, D]] = []
        result, failed = None, None
        request: tuple[D, Wires] | None = (term, x)
        while True:
            if request is not None:
                part, wires = request
                request, key = None, (part.__class__ in _SHARED and (id(part), _numbers(wires))) or None
                known = self._applied.get(key) if key else None
                if known is not None:
                    result = known[1]
                else:
                    try:
                        result = part.lay_out(self, wires)
                    except errors.CatadError as error:
                        failed = error
                    else:
                        if isinstance(result, GeneratorType):
                            stack.append((result, key, part))
                            result = None
                        elif key:
                            self._applied[key] = (part, result)
            if not stack:
                if failed is not None:
                    raise failed
                return result
            generator, key, part = stack[-1]
            try:
                if failed is not None:
                    thrown, failed = failed, None
                    request = generator.throw(thrown)
                else:
                    request = generator.send(result)
                result = None
            except StopIteration as stop:
                stack.pop()
                result = stop.value
                if key:
                    self._applied[key] = (part, result)
            except errors.CatadError as error:
                stack.pop()
                failed = error

    def begun(self, chain: Compose, x: Wires) -> tuple[int, Wires]:
        """How many factors of a chain are laid out already, as a chain of their own that it begins with, and their result."""
        numbers = _numbers(x)
        at = chain.left
        while isinstance(at, Compose):
            known = self._applied.get((id(at), numbers))
            if known is not None:
                return len(at), known[1]
            at = at.left
        return 0, x

    def values(self, wires: Sequence[Wire]) -> tuple[Any, Sequence[Any]] | None:
        """The values of some wires at the point for which this is laid out; None where there is none."""
        point = None if self.point is None else self.point()
        if point is None:
            return None
        inputs = tuple([Wire(self, k, self.spaces[k]) for k in range(len(point[1]))])
        return point[0], upward.Program(self.finish(self.space(inputs), inputs, tuple(wires)))(*point)

    def at(self, x: Wires) -> AbstractContextManager[None]:
        """Inside, terms are laid out for the values of these wires."""
        return at_point(self.space(x), lambda: self.values(flatten(x)))

    def finish(self, dom: Space, inputs: Wires, outputs: Wires) -> Wiring:
        """The wiring from inputs to outputs, without boxes and results that no output needs, but for those that must run."""
        needed, kept, needless = self._needed(flatten(outputs))
        unread = [box for box in needless if box.primitive.must_run]
        must_run = bool(unread) or any(box.primitive.must_run for box in kept)
        if unread and flatten(outputs):
            first, *rest = flatten(outputs)
            for box in unread:
                first = upward.after(self, Wire(self, box.outs[-1], self.spaces[box.outs[-1]]), first)
            outputs = rebuild(self.space(outputs), [first, *rest])
            needed, kept, _ = self._needed(flatten(outputs))
        if any(_reads(box, needed) is not None for box in kept):
            return self._narrowed(dom, flatten(inputs), outputs, kept, needed)
        ends = [wire.number for wire in flatten(outputs)]
        starts = tuple([wire.number for wire in flatten(inputs)])
        made = Wiring(dom, self.space(outputs), tuple(self.spaces), starts, tuple(kept), tuple(ends))
        if must_run:
            made.must_run = True
        return made

    def _needed(self, ends: Sequence[Wire]) -> tuple[set[int], list[Box], list[Box]]:
        """The wires and the boxes on which some wires depend, and the other boxes."""
        needed = needed_for(self.boxes, [wire.number for wire in ends])
        kept, needless = list[Box](), list[Box]()
        for box in self.boxes:
            (needless if needed.isdisjoint(box.outs) else kept).append(box)
        return needed, kept, needless

    def _narrowed(self, dom: Space, inputs: Sequence[Wire], outputs: Wires, boxes: list[Box], needed: set[int]) -> Wiring:
        """The wiring of boxes that give only what is needed."""
        b = Builder(self.point)
        at: dict[int, Wire | None] = {wire.number: b.wire(wire.space) for wire in inputs}
        starts = tuple(at.values())
        b.add_needed(boxes, at, needed)
        return b.finish(dom, starts, rebuild(self.space(outputs), [at[wire.number] for wire in flatten(outputs)]))

    def add_needed(self, boxes: Iterable[Box], at: dict[int, Wire | None], needed: set[int]) -> None:
        """Add boxes, of each only what is needed, to the wires that there are by their numbers."""
        for box in boxes:
            if needed.isdisjoint(box.outs):
                continue
            ins: list[Any] = [at.get(k) for k in box.ins]
            narrow = _reads(box, needed) is not None
            outs = box.primitive.narrowed(self, ins, [k in needed for k in box.outs]) if narrow else self.add(box.primitive, *ins)
            at.update(zip(box.outs, outs, strict=True))

    def inline(self, wiring: Wiring, ins: Sequence[Wire]) -> list[Wire]:
        """The wires of a wiring's outputs when its inputs are the given wires."""
        at: dict[int, Wire] = dict(zip(wiring.inputs, ins, strict=True))
        for box in wiring.boxes:
            at.update(zip(box.outs, self.add(box.primitive, *[at[k] for k in box.ins]), strict=True))
        return [at[k] for k in wiring.outputs]


def needed_for(boxes: Sequence[Box], ends: Iterable[int]) -> set[int]:
    """The wires on which some wires depend, these among them."""
    needed = set(ends)
    for box in reversed(boxes):
        if not needed.isdisjoint(box.outs):
            flags = _reads(box, needed)
            needed.update(box.ins if flags is None else compress(box.ins, flags))
    return needed


def _reads(box: Box, needed: set[int]) -> Sequence[bool] | None:
    """What a box reads for the results that are needed; None where it gives the others, too."""
    return None if needed.issuperset(box.outs) else box.primitive.needs(tuple([k in needed for k in box.outs]))


def _numbers(wires: Wires) -> Hashable:
    """The key of values on wires: the numbers of the wires, and how these are nested (-1 and -2 are brackets)."""
    if isinstance(wires, Wire):
        return wires.number
    out: list[int] = []
    stack: list[Any] = [wires]
    while stack:
        top = stack.pop()
        if isinstance(top, tuple):
            out.append(-1)
            stack += [-2, *reversed(top)]
        else:
            out.append(top.number if isinstance(top, Wire) else top)
    return tuple(out)


_SHARED = {Compose, Fork, Cross}  # layouts of these are remembered; lazily expanded functors add themselves


@contextmanager
def at_point(dom: Space, values: Values) -> Iterator[None]:
    """Inside, terms are laid out for this point, at which functions that cannot be traced are called."""
    before = getattr(_laid_out, "point", None)
    _laid_out.point = (dom, values)
    try:
        yield
    finally:
        _laid_out.point = before


def _this_point() -> Callable[[], AbstractContextManager[None]]:
    point: tuple[Space, Values] | None = getattr(_laid_out, "point", None)
    return nullcontext if point is None else lambda: at_point(*point)


surroundings.append(_this_point)  # what is put off is laid out for the same point


def _point_in(dom: Space) -> Values | None:
    point: tuple[Space, Values] | None = getattr(_laid_out, "point", None)
    return point[1] if point is not None and point[0] == dom else None


def share(cls: type[D]) -> type[D]:
    """Class decorator: a term of this class that is met twice on the same wires is laid out once."""
    _SHARED.add(cls)
    return cls


def wire(term: MorphismLike, *at: Any, **named: Any) -> Wiring:
    """Lay a term out at a space, at the spaces of its arguments, or at example values. The wiring is kept with the term.

    Raises `SpaceError` for an argument that is no morphism, for what is no space and no value, and where the term does not take a
    value of the space.

    >>> import catad as ct
    >>> h = ct.sin >> ct.exp
    >>> len(ct.wire(ct.fork(h, h), ct.f64[3]).boxes)
    2
    """
    term = morphism(term, "ct.wire")
    if len(at) == 1 and not named and isinstance(at[0], Space) and not at[0].has_complex:
        (dom,) = at
    else:
        term, dom = upward.at_domain(term, at, named)

    def laid_out() -> Wiring:
        b = Builder(_point_in(dom))
        x = b.inputs(dom)
        return b.finish(dom, x, b.apply(term, x))

    return cached(term, ("wiring", dom), laid_out)


def codomain(term: D, dom: Space) -> Space:
    """The codomain of a term at a domain. It does not depend on the numbers of steps of loops."""
    with reading():
        return wire(term, dom).cod

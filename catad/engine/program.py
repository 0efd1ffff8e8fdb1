"""Programs: wirings made ready to run on arrays, and the places where they are kept.

The `reference` engine runs each box by the array code of its primitive, on NumPy, CuPy or any library with that API; it is
what every primitive means. A program knows when a wire is read for the last time, so that its memory is free again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from catad import errors
from catad.engine.fuse import fuse
from catad.linear.apply import applying
from catad.linear.products import Product as ProductOf
from catad.linear.structure import Structure
from catad.primitive import Primitive
from catad.spaces import Array, Product, Space, Tensor, Value, as_leaves, common_module, rebuild, space_like
from catad.terms import D
from catad.vector.by_hand import erased
from catad.wiring import Builder, Wiring, kept_as, recounted, wire

Step = tuple[Callable[..., Any], tuple[int, ...], tuple[int, ...], tuple[int, ...]]


class Program:
    """A wiring ready to run. `program(xp, leaves)` gives the leaves of the result."""

    __slots__ = ("_constants", "boxes", "checked", "count", "inputs", "outputs", "steps", "wiring")

    def __init__(self, wiring: Wiring) -> None:
        wiring = fuse(erased(wiring), horizontal=True)
        self.wiring = wiring
        names: dict[int, int] = {}
        self.inputs = tuple([names.setdefault(k, len(names)) for k in wiring.inputs])
        live = [box for box in wiring.boxes if box.ins]
        fixed = [box for box in wiring.boxes if not box.ins]
        for box in wiring.boxes:
            for k in box.outs:
                names.setdefault(k, len(names))
        self.outputs = tuple([names[k] for k in wiring.outputs])
        self.count = len(names)
        self._constants: dict[Any, list[Any]] = {}
        self.boxes = tuple(live)
        self.checked = False
        last: dict[int, int] = {}
        for i, box in enumerate(live):
            for k in (*box.ins, *box.outs):
                last[k] = i
        kept = {*wiring.outputs, *[k for box in fixed for k in box.outs]}
        steps: list[Step] = []
        for i, box in enumerate(live):
            dead = tuple([names[k] for k in dict.fromkeys((*box.ins, *box.outs)) if last[k] == i and k not in kept])
            kernel = box.primitive.kernel(wiring.spaces(box.ins))
            steps.append((kernel, tuple([names[k] for k in box.ins]), tuple([names[k] for k in box.outs]), dead))
        self.steps = tuple(steps)
        self._constants[None] = [(names[box.outs[0]], box.primitive) for box in fixed]

    def _registers(self, xp: Any) -> list[Any]:
        """Registers with the constants in their places, moved to the device once."""
        found = self._constants.get(xp)
        if found is None:
            found = [None] * self.count
            for at, primitive in self._constants[None]:
                found[at] = primitive.evaluate(xp)
            self._constants[xp] = found
        return found.copy()

    def __call__(self, xp: Any, leaves: Sequence[Array]) -> list[Array]:
        if not self.checked:
            self._check(xp, leaves)
        at = self._registers(xp)
        for k, leaf in zip(self.inputs, leaves, strict=True):
            at[k] = leaf
        with np.errstate(all="ignore"):
            for kernel, ins, outs, dead in self.steps:
                result = kernel(xp, *[at[k] for k in ins])
                if len(outs) == 1:
                    at[outs[0]] = result
                else:
                    for k, part in zip(outs, result, strict=True):
                        at[k] = part
                for k in dead:
                    at[k] = None
        return [_own(at[k]) for k in self.outputs]

    def _check(self, xp: Any, leaves: Sequence[Array]) -> None:
        """What primitives check on the values of the first call: neutral elements, associativity."""
        if any(type(box.primitive).check is not Primitive.check for box in self.boxes):
            at = self._registers(xp)
            for k, leaf in zip(self.inputs, leaves, strict=True):
                at[k] = leaf
            with np.errstate(all="ignore"):
                for box, (kernel, ins, outs, _) in zip(self.boxes, self.steps, strict=True):
                    arrays = [at[k] for k in ins]
                    box.primitive.check(xp, *arrays)
                    result = kernel(xp, *arrays)
                    for k, part in zip(outs, result if len(outs) > 1 else (result,), strict=True):
                        at[k] = part
        self.checked = True


def _own(array: Any) -> Any:
    """A result as callers get it: what repeats memory (a broadcast view) is copied, so that they may write into it.

    An array of NumPy without axes becomes a NumPy scalar, as the results of ufuncs are.
    """
    if type(array) is np.ndarray and array.ndim == 0:
        return array[()]
    if type(array) is np.ndarray and array.size > 1 and 0 in array.strides:
        return array.copy()
    return array


def program_of(term: D, dom: Space) -> tuple[Program, Space]:
    """The program of a term at a space, kept with the term."""
    try:
        known = term._programs
    except AttributeError:
        known = term._programs = {}
    key = kept_as(dom)
    found: tuple[Program, Space] | None = known.get(key)
    if found is None:
        wiring = wire(term, dom)
        found = known[key] = (Program(wiring), wiring.cod)
    return found


def run(term: D, x: Value) -> Value:
    """The value of a term at a point."""
    leaves = as_leaves(x)
    dom = space_like(x, [Tensor(leaf.shape, leaf.dtype) for leaf in leaves])
    xp = common_module(leaves)

    def call() -> tuple[list[Array], Space]:
        program, cod = program_of(term, dom)
        return program(xp, leaves), cod

    out, cod = recounted(call)
    return out[0] if isinstance(cod, Tensor) else rebuild(cod, out)


@lru_cache(maxsize=4096)
def _program_of_structure(structure: Structure) -> tuple[Program, tuple[bool, ...]]:
    wiring, made = applying(structure)
    return Program(wiring), made


def run_structure(structure: Structure, xp: Any, slots: Sequence[Array], leaves: Sequence[Array]) -> list[Array]:
    """Apply a structure with the given slots to the leaves of an argument."""
    program, made = _program_of_structure(structure)
    out = iter(program(xp, [*slots, *leaves]))
    return [
        next(out) if there else _own(xp.zeros(space.shape, dtype=space.dtype))
        for there, space in zip(made, structure.cod, strict=True)
    ]


def run_wiring(wiring: Wiring, xp: Any, leaves: Sequence[Array]) -> list[Array]:
    """Run a wiring once."""
    return Program(wiring)(xp, leaves)


@lru_cache(maxsize=4096)
def _program_of_product(product: ProductOf, first: Structure, second: Structure) -> Program:
    b = Builder()
    ls, rs = [b.wire(s) for s in first.slots], [b.wire(s) for s in second.slots]
    outs = product.combine(b, ls, rs)
    dom = Product((*first.slots, *second.slots))
    return Program(b.finish(dom, (*ls, *rs), tuple(outs)))


def run_product(product: ProductOf, first: Any, second: Any) -> list[Array]:
    """The slots of the product of two linear maps."""
    program = _program_of_product(product, first.structure, second.structure)
    return program(common_module([*first.slots, *second.slots]), [*first.slots, *second.slots])


class use_engine:
    """`with ct.use_engine("reference"):` runs what is inside on the named engine.

    >>> import catad as ct
    >>> with ct.use_engine("reference"):
    ...     ct.sin(0.0)
    np.float64(0.0)
    """

    def __init__(self, name: str) -> None:
        if name != "reference":
            raise errors.EngineError(errors.no_such_engine(name, ("reference",)))
        self.name = name

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None

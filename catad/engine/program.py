"""Programs: wirings made ready to run on arrays, and the places where they are kept.

The `reference` engine runs each box by the array code of its primitive, on NumPy, CuPy or any library with that API; it is
what every primitive means. A program knows when a wire is read for the last time, so that its memory is free again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from catad.arrays import Array, apart, common_module, read_only
from catad.boxes import Nesting, Primitive, Running
from catad.engine.choice import SMALL, chosen
from catad.engine.counting import counting, not_counting
from catad.engine.cpu.run import target
from catad.engine.fuse import fuse
from catad.kept import keep, kept_of
from catad.linear.apply import applying
from catad.linear.products import Product as ProductOf
from catad.linear.products import cost_of_wiring
from catad.linear.structure import Structure
from catad.loop_counts import Recount, recounted
from catad.spaces import Product, Space, Tensor, Value, flatten, rebuild
from catad.terms import D
from catad.vector.by_hand import erased
from catad.wiring import Builder, Wiring, at_point, point_of, wire

Step = tuple[Callable[..., Any], tuple[int, ...], tuple[int, ...]]


class _Run:
    """Steps over numbered registers, and the constants among these."""

    __slots__ = ("_constants", "count", "inputs", "nesting", "outputs", "steps")

    def __init__(self, wiring: Wiring, steps: Sequence[Step]) -> None:
        names: dict[int, int] = {}
        self.inputs = tuple([names.setdefault(k, len(names)) for k in wiring.inputs])
        last: dict[int, int] = {}
        for i, (_, ins, outs) in enumerate(steps):
            for k in (*ins, *outs):
                last[k] = i
                names.setdefault(k, len(names))
        used = {*last, *wiring.outputs}
        fixed = [box for box in wiring.boxes if not box.ins and not used.isdisjoint(box.outs)]
        kept = {*wiring.outputs, *[k for box in fixed for k in box.outs]}
        for k in kept:
            names.setdefault(k, len(names))
        self.outputs = tuple([names[k] for k in wiring.outputs])
        self.count = len(names)
        self.steps = tuple(
            [
                (
                    kernel,
                    tuple([names[k] for k in ins]),
                    tuple([names[k] for k in outs]),
                    tuple([names[k] for k in dict.fromkeys((*ins, *outs)) if last[k] == i and k not in kept]),
                )
                for i, (kernel, ins, outs) in enumerate(steps)
            ]
        )
        self.nesting = any(_nested(kernel) is not None for kernel, _, _ in steps)
        self._constants: dict[Any, list[Any]] = {None: [(names[box.outs[0]], box.primitive) for box in fixed]}

    def registers(self, xp: Any, leaves: Sequence[Array]) -> list[Any]:
        """Registers with the arguments and the constants in their places, the latter moved to the device once."""
        found = self._constants.get(xp)
        if found is None:
            found = [None] * self.count
            for at, primitive in self._constants[None]:
                found[at] = read_only(primitive.evaluate(xp))
            self._constants[xp] = found
        at = found.copy()
        for k, leaf in zip(self.inputs, leaves, strict=True):
            at[k] = leaf
        return at

    def constants(self, xp: Any) -> list[Array]:
        """The constants, once the program has run."""
        return [self._constants[xp][at] for at, _ in self._constants[None]]

    def __call__(self, xp: Any, leaves: Sequence[Array]) -> list[Array]:
        made: list[Array]
        with np.errstate(all="ignore"):
            made = finished(self.running(xp, leaves), xp) if self.nesting else self.straight(xp, leaves)
        return made

    def straight(self, xp: Any, leaves: Sequence[Array]) -> list[Array]:
        """The steps one after the other, where none runs programs."""
        at = self.registers(xp, leaves)
        for kernel, ins, outs, dead in self.steps:
            result = kernel(xp, *[at[k] for k in ins])
            if len(outs) == 1:
                at[outs[0]] = result
            else:
                for k, part in zip(outs, result, strict=True):
                    at[k] = part
            for k in dead:
                at[k] = None
        return self._results(xp, at)

    def running(self, xp: Any, leaves: Sequence[Array]) -> Running:
        """The same, asking for each program that runs within."""
        at = self.registers(xp, leaves)
        for kernel, ins, outs, dead in self.steps:
            primitive = _nested(kernel)
            if primitive is None:
                result = kernel(xp, *[at[k] for k in ins])
            else:
                result = yield from primitive.running(xp, *[at[k] for k in ins])
            for k, part in zip(outs, result if len(outs) > 1 else (result,), strict=True):
                at[k] = part
            for k in dead:
                at[k] = None
        return self._results(xp, at)

    def _results(self, xp: Any, at: list[Any]) -> list[Array]:
        results = [at[k] for k in self.outputs]
        return results if xp is np else apart(results, self.constants(xp))  # those of NumPy are known later, by being read-only


def _nested(kernel: Any) -> Nesting | None:
    """The primitive whose evaluation a kernel is, where that runs programs."""
    owner = getattr(kernel, "__self__", None)
    return owner if isinstance(owner, Nesting) else None


def finished(running: Running, xp: Any) -> Any:
    """What a generator returns that asks for programs to be run. These may ask for others: they wait on a stack of their own."""
    stack, sent = [running], None
    while True:
        try:
            program, leaves = stack[-1].send(sent)  # type: ignore[arg-type]  # None starts a generator
        except StopIteration as stop:
            stack.pop()
            sent = stop.value
            if not stack:
                return sent
            continue
        run = program.ready(xp, leaves)
        if run.nesting:
            stack.append(run.running(xp, leaves))
            sent = None
        else:
            sent = run.straight(xp, leaves)
        del leaves  # the arrays are free when their last reader has run


class Program:
    """A wiring ready to run. `program(xp, leaves)` gives the leaves of the result, which callers may keep and write into.

    `program.inside(xp, leaves)` is for a kernel of another program: its results may be views of arguments and constants.
    """

    __slots__ = ("_cpu", "_reference", "_split", "_steps", "boxes", "checked", "large", "wiring")

    def __init__(self, wiring: Wiring) -> None:
        wiring = fuse(erased(wiring), horizontal=True)
        self.wiring = wiring
        self.boxes = tuple([box for box in wiring.boxes if box.ins])
        self.checked = False
        self._reference: _Run | None = None
        self._cpu: _Run | None = None
        self._steps: list[Step] | None = None
        self._split: Wiring | None = None
        used = {*wiring.inputs, *wiring.outputs, *[k for box in self.boxes for k in (*box.ins, *box.outs)]}
        self.large = max([wiring.wires[k].size for k in used], default=0) >= SMALL

    @property
    def reference(self) -> _Run:
        """The boxes one after the other, by their array code."""
        if self._reference is None:
            made = [(box.primitive.kernel(self.wiring.spaces(box.ins)), box.ins, box.outs) for box in self.boxes]
            self._reference = _Run(self.wiring, made)
        return self._reference

    @property
    def cpu(self) -> _Run:
        """Stages compiled with LLVM, and the boxes that no stage takes in."""
        if self._cpu is None:
            self._cpu = _Run(self.cpu_wiring, self.cpu_steps)
        return self._cpu

    @property
    def cpu_steps(self) -> list[Step]:
        """What the CPU engine runs: callables on arrays, the wires that they read, those that they write."""
        if self._steps is None:
            from catad.engine.cpu.steps import steps

            self._steps = steps(self.cpu_wiring)
        return self._steps

    @property
    def cpu_wiring(self) -> Wiring:
        """The wiring that the CPU engine runs: long maps are cut."""
        if self._split is None:
            from catad.engine.stages.split import split

            self._split = split(self.wiring)
        return self._split

    @property
    def operations(self) -> int:
        """The scalar operations of one run, dimensionless."""
        return cost_of_wiring(self.wiring)

    def __call__(self, xp: Any, leaves: Sequence[Array]) -> list[Array]:
        return apart(self.inside(xp, leaves), leaves)

    def inside(self, xp: Any, leaves: Sequence[Array]) -> list[Array]:
        """The same, without copies where views will do."""
        tally = counting()
        if tally is not None:
            tally.add(self.operations)
            with not_counting():
                return self.inside(xp, leaves)
        return self.ready(xp, leaves)(xp, leaves)

    def ready(self, xp: Any, leaves: Sequence[Array]) -> _Run:
        """What runs on these arrays."""
        if not self.checked:
            self._check(xp, leaves)
        if xp is np:
            engine = chosen()
            if (engine == "cpu" or (engine == "auto" and self.large)) and target.available():
                return self.cpu
        return self.reference

    def _check(self, xp: Any, leaves: Sequence[Array]) -> None:
        """What primitives check on the values of the first call: neutral elements, associativity.

        Only what they are given is computed for it.
        """
        checks = [type(box.primitive).check is not Primitive.check for box in self.boxes]
        needed: set[int] = set()
        runs = [False] * len(self.boxes)
        for i in reversed(range(len(self.boxes))):
            box = self.boxes[i]
            runs[i] = not needed.isdisjoint(box.outs)
            if runs[i] or checks[i]:
                needed.update(box.ins)
        if any(checks):
            at = self.reference.registers(xp, leaves)
            with np.errstate(all="ignore"):
                for i, (kernel, ins, outs, _) in enumerate(self.reference.steps):
                    arrays = [at[k] for k in ins] if runs[i] or checks[i] else []
                    if checks[i]:
                        self.boxes[i].primitive.check(xp, *arrays)
                    if runs[i]:
                        result = kernel(xp, *arrays)
                        for k, part in zip(outs, result if len(outs) > 1 else (result,), strict=True):
                            at[k] = part
        self.checked = True


def program_of(term: D, dom: Space) -> tuple[Program, Space]:
    """The program of a term at a space, kept with the term."""

    def made() -> tuple[Program, Space]:
        wiring = wire(term, dom)
        return Program(wiring), wiring.cod

    return keep(term, ("program", dom), made)


def cost_of(term: D, dom: Space) -> int:
    """The scalar operations of a term at a space, dimensionless; kept with the term."""
    return keep(term, ("cost", dom), lambda: cost_of_wiring(wire(term, dom)))


def run(term: D, x: Value) -> Value:
    """The value of a term at a point."""
    key: Any = None
    if type(x) is np.ndarray:
        leaves, key = [x], (x.shape, x.dtype)
    elif type(x) is tuple:
        leaves = list(x)
        key = tuple([(a.shape, a.dtype) if type(a) is np.ndarray else None for a in leaves])
        if None in key:
            key = None
    found: Recount | None = None
    if key is not None:  # plain arrays: the way to their program is short
        entry = kept_of(term).get(key)
        if entry is not None:
            program, cod = entry.value
            try:
                out = program(np, leaves)
            except Recount as error:
                found = error
            else:
                return out[0] if len(out) == 1 and isinstance(cod, Tensor) else rebuild(cod, out)
    return _run(term, x, key, found)


def _run(term: D, x: Value, key: Any, found: Recount | None) -> Value:
    """The value of a term at a point; where `key` is given, its program is found again by that."""
    leaves, dom = point_of(term, x)
    xp = common_module(leaves)
    if key is not None and any(a is not b for a, b in zip(leaves, flatten(x), strict=True)):
        key = None  # arrays are converted first

    def call() -> tuple[list[Array], Space]:
        with at_point(dom, lambda: (xp, leaves)):
            program, cod = program_of(term, dom) if key is None else keep(term, key, lambda: program_of(term, dom))
        return program(xp, leaves), cod

    out, cod = recounted(call, found)
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
        next(out) if there else _zeros(xp, space)
        for there, space in zip(made, structure.cod, strict=True)
    ]


def _zeros(xp: Any, space: Tensor) -> Any:
    made = xp.zeros(space.shape, dtype=space.dtype)
    return made if space.shape or xp is not np else made[()]


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
    return program.inside(common_module([*first.slots, *second.slots]), [*first.slots, *second.slots])

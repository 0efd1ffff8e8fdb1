"""Reading a kernel: the scalar reader, with arrays among the values, and statements that are recorded in their order."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from catad import errors
from catad.category.spaces import Tensor
from catad.errors import ScalarError
from catad.scalar import Node, apply, const, param, truth
from catad.scalar.ir import Pair
from catad.scalar.operators import OF_KIND
from catad.scalar.reading.callables import as_pair, scalar
from catad.scalar.reading.frames import RESULT, RETURNED
from catad.scalar.reading.values import arithmetic, attribute, unary
from catad.scalar.simplify import FALSE, TRUE
from catad.simt import intrinsics
from catad.simt.arrays import LINEAR, Array, Atomic, B, Barrier, Body, Declare, Load, Site, Store, T, touched
from catad.simt.handles import ComplexHandle, Handle, behind, whole_of
from catad.simt.intrinsics import WARP, Coordinates, Group, Lane, Word
from catad.simt.read_loops import LoopReader
from catad.simt.unused import without_unused
from catad.values.complex_numbers import KEYS, real_dtype


@dataclass(frozen=True)
class Dims:
    """The sizes of a launch, x first."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]


class KernelReader(LoopReader):
    """Reads one kernel at one launch, for arrays of known shapes."""

    def __init__(self, dims: Dims, max_steps: int) -> None:
        super().__init__(max_steps)
        self.dims = dims
        self.names: dict[str, int] = {}
        self.notices: list[str] = []
        self.here: ast.AST | None = None

    # -- what the scalar reader asks

    def condition(self, node: ast.expr) -> Node:
        with self.at(node):
            return super().condition(node)

    def statement(self, node: ast.stmt) -> None:
        self.here = node
        super().statement(node)

    def returned(self, definition: ast.FunctionDef) -> Any:
        env = self.frame.env
        if self.depth == 1:
            if env.get(RESULT) is not None:
                with self.at(definition):
                    raise ScalarError(errors.returns_value(self.frame.name))
            return None
        if env[RETURNED] is FALSE or (RESULT in env and env[RESULT] is None):
            return None
        return super().returned(definition)

    def do_Return(self, node: ast.Return) -> None:
        if self.depth == 1 and node.value is not None and not _is_none(node.value):
            with self.at(node):
                raise ScalarError(errors.returns_value(self.frame.name))
        value = None if node.value is None else self.value(node.value)
        self.frame.env[RESULT], self.frame.env[RETURNED] = value, TRUE

    def read_Name(self, node: ast.Name) -> Any:
        return self.meant(super().read_Name(node))

    def read_Attribute(self, node: ast.Attribute) -> Any:
        owner = self.value(node.value)
        if isinstance(owner, Coordinates) and node.attr in ("x", "y", "z"):
            return self.coordinate(owner.name, "xyz".index(node.attr))
        if isinstance(owner, ComplexHandle) and node.attr in ("real", "imag"):
            return getattr(owner, node.attr)
        if isinstance(owner, Handle | ComplexHandle):
            return self.fact(node, owner)
        self._supported(node, owner)
        with self.at(node):
            return self.meant(attribute(owner, node.attr))

    def _supported(self, node: ast.Attribute, owner: Any) -> None:
        ours = isinstance(owner, Group) or getattr(owner, "__name__", "") == "catad.simt"
        if ours and not hasattr(owner, node.attr):
            with self.at(node):
                raise ScalarError(errors.no_such_word(node.attr, instead_of(node.attr)))

    def meant(self, value: Any) -> Any:
        """A value that is asked of the thread, such as `laneid`."""
        return apply("mod", self.linear_thread(), WARP) if isinstance(value, Lane) else value

    def fact(self, node: ast.Attribute, handle: Handle | ComplexHandle) -> Any:
        """`x.shape`, `x.ndim`, `x.size`, `x.dtype` of an array."""
        facts: dict[str, Any] = {
            "shape": tuple(map(const, handle.shape)),
            "ndim": const(len(handle.shape)),
            "size": const(int(np.prod(handle.shape, dtype=np.int64))),
            "dtype": handle.dtype,
        }
        if node.attr not in facts:
            raise self.error(node, errors.no_array_attribute(node.attr, facts))
        return facts[node.attr]

    def store_into(self, target: ast.expr, value: Any) -> None:
        if not isinstance(target, ast.Subscript):
            super().store_into(target, value)
            return
        self.store(target, self.stored(target), self.index(target), value)

    def store(self, target: ast.Subscript, owner: Handle | ComplexHandle, index: Sequence[Any], value: Any) -> None:
        """Store a number into a cell; a complex one into those of its parts."""
        if isinstance(owner, ComplexHandle):
            with self.at(target):
                both = as_pair(value)
            for part, one in zip((owner.real, owner.imag), both, strict=True):
                self.store(target, part, index, one)
            return
        site = self.site(target, owner, index)
        with self.at(target):
            if isinstance(value, Pair):
                raise ScalarError(errors.complex_store(owner.name))
            self.steps.append(Store(site, self.entry(value)))

    def change(self, node: ast.AugAssign) -> None:
        target = node.target
        if not isinstance(target, ast.Subscript):
            super().change(node)
            return
        owner, index = self.stored(target), self.index(target)
        old = self.load(target, owner, index)
        with self.at(node):
            given = self.value(node.value)
            given = given if isinstance(given, Pair) else self.entry(given)
            made = arithmetic(f"{OF_KIND[type(node.op)].symbol}=", old, given)
        self.store(target, owner, index, made)

    def stored(self, target: ast.Subscript) -> Handle | ComplexHandle:
        """The array into which a subscript stores."""
        owner = self.value(target.value)
        if not isinstance(owner, Handle | ComplexHandle):
            with self.at(target):
                raise ScalarError(errors.store_to_number(ast.unparse(target.value)))
        return owner

    def entry(self, value: Any) -> Node:
        """A value that must be a number."""
        if isinstance(value, Handle | ComplexHandle):
            raise ScalarError(errors.array_as_number(value.name))
        return scalar(value)

    def subscript(self, node: ast.Subscript, value: Any) -> Any:
        if not isinstance(value, Handle | ComplexHandle):
            return super().subscript(node, value)
        index = self.index(node)
        if len(index) < len(value.shape) or any(isinstance(one, slice) for one in index):
            if isinstance(value, ComplexHandle):
                return ComplexHandle(self.part(node, value.real, index), self.part(node, value.imag, index))
            return self.part(node, value, index)
        return self.load(node, value, index)

    def index(self, node: ast.Subscript) -> list[Any]:
        """The indices of a subscript: numbers, and slices with known ends."""
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        found: list[Any] = []
        for part in parts:
            if isinstance(part, ast.Slice):
                found.append(slice(*[None if end is None else self.value(end) for end in (part.lower, part.upper, part.step)]))
                continue
            value = self.value(part)
            found += list(value) if isinstance(value, tuple) else [value]
        return found

    def part(self, node: ast.AST, handle: Handle, index: Sequence[Any]) -> Handle:
        """A row or a slice of an array."""
        given, axes = iter(index), list[Any]()
        for one in handle.axes:
            if not isinstance(one, tuple):
                axes.append(one)
                continue
            chosen = next(given, slice(None))
            if not isinstance(chosen, slice):
                axes.append(behind(one[0], self.entry(chosen)))
                continue
            if chosen.step is not None:
                raise self.error(node, errors.slice_with_step())
            start = const(0) if chosen.start is None else self.entry(chosen.start)
            length = apply("sub", const(one[1]) if chosen.stop is None else self.entry(chosen.stop), start)
            if length.op != "const":
                with self.at(node):
                    raise ScalarError(errors.unknown_size("a slice"))
            axes.append((behind(one[0], start), int(length.value)))
        return Handle(handle.array, tuple(axes))

    def site(self, node: ast.AST, handle: Handle, index: Sequence[Any]) -> Site:
        """The cell that an index names, where the reader stands."""
        if len(index) != len(handle.shape) or any(isinstance(one, slice) for one in index):
            with self.at(node):
                raise ScalarError(errors.wrong_rank(handle.array.name, index, len(handle.shape)))
        given = iter(index)
        with self.at(node):
            full = [behind(one[0], self.entry(next(given))) if isinstance(one, tuple) else one for one in handle.axes]
        line, column = getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
        return Site(handle.array, tuple(full), self.path, line, column, _said(node), self.where(node))

    def where(self, node: ast.AST | None) -> str:
        """The place of a piece of syntax, for messages."""
        line, column = getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
        text = self.frame.lines[line - 1].strip() if 0 < line <= len(self.frame.lines) else ""
        return f"{self.frame.file}:{line}:{column + 1}: {text}"

    def load(self, node: ast.AST, handle: Handle | ComplexHandle, index: Sequence[Any]) -> Any:
        """The number in a cell."""
        if isinstance(handle, ComplexHandle):
            return Pair((self.load(node, handle.real, index), self.load(node, handle.imag, index)))
        out = self.new()
        self.steps.append(Load(self.site(node, handle, index), out))
        return truth(param(out)) if handle.array.dtype.kind == "b" else param(out)

    # -- words

    def call_value(self, thing: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if isinstance(thing, Word):
            word = getattr(self, "word_" + thing.__name__.replace(".", "_"))
            try:
                return word(*args, **kwargs)
            except TypeError as error:
                if isinstance(error, errors.CatadError):
                    raise
                said = errors.wrong_word_call(thing.__name__, [*args, *kwargs], [*inspect.signature(word).parameters])
                raise ScalarError(said) from error
        if thing is print:
            where = f"{self.frame.file}:{getattr(self.here, 'lineno', 0)}"
            self.notices.append(errors.skipped_print(where))
            return None
        if thing is len and len(args) == 1 and isinstance(args[0], Handle | ComplexHandle):
            return const(args[0].shape[0])
        if isinstance(thing, Tensor):
            raise ScalarError(errors.array_as_number(repr(thing)))
        return super().call_value(thing, args, kwargs)

    def coordinate(self, name: str, d: int) -> Node:
        grid, block = self.dims.grid[d], self.dims.block[d]
        if name == "threadIdx":
            return const(0) if block == 1 else LINEAR[d] if grid == 1 else T[d]
        if name == "blockIdx":
            return const(0) if grid == 1 else LINEAR[d] if block == 1 else B[d]
        return const(block if name == "blockDim" else grid)

    def linear_thread(self) -> Node:
        """The number of the thread in its block."""
        x, y, z = [self.coordinate("threadIdx", d) for d in range(3)]
        m, n, _ = self.dims.block
        return apply("add", apply("mul", apply("add", apply("mul", z, n), y), m), x)

    def word_grid(self, n: Any) -> Any:
        at = tuple([LINEAR[d] if self.dims.grid[d] * self.dims.block[d] > 1 else const(0) for d in range(_dims(n))])
        return at[0] if len(at) == 1 else at

    def word_gridsize(self, n: Any) -> Any:
        sizes = tuple([const(self.dims.grid[d] * self.dims.block[d]) for d in range(_dims(n))])
        return sizes[0] if len(sizes) == 1 else sizes

    def word_syncthreads(self) -> None:
        self.barrier(False)

    def word_syncwarp(self, mask: Any = None) -> None:
        self.barrier(True)

    def barrier(self, warp: bool) -> None:
        """All threads of a block, or of a warp, must come here."""
        self.steps.append(Barrier(self.path, warp, self.where(self.call)))

    def declared(self, place: str, shape: Any, dtype: Any) -> Handle | ComplexHandle:
        sizes = [scalar(one) for one in (shape if isinstance(shape, tuple) else (shape,))]
        if any(one.op != "const" or one.kind != "i" or one.value < 0 for one in sizes):
            raise ScalarError(errors.unknown_size(f"an array in {place} memory"))
        lengths, kind, name = tuple([int(one.value) for one in sizes]), dtype_of(dtype), self.name_of(place)
        if kind.kind == "c":
            arrays = [Array(f"{name}.{part}", lengths, real_dtype(kind), place) for part in KEYS]
            self.steps += map(Declare, arrays)
            return ComplexHandle(*map(whole_of, arrays))
        array = Array(name, lengths, kind, place)
        self.steps.append(Declare(array))
        return whole_of(array)

    def name_of(self, place: str) -> str:
        """The name of a new array: that of the variable to which it is assigned, and a number where there is another one."""
        here = self.here
        named = isinstance(here, ast.Assign) and here.value is self.call and isinstance(here.targets[0], ast.Name)
        name = here.targets[0].id if named else f"{place} array"  # type: ignore[union-attr]
        count = self.names[name] = self.names.get(name, 0) + 1
        return name if count == 1 and named else f"{name} {count}"

    def word_shared_array(self, shape: Any, dtype: Any) -> Handle | ComplexHandle:
        return self.declared("shared", shape, dtype)

    def word_local_array(self, shape: Any, dtype: Any) -> Handle | ComplexHandle:
        return self.declared("local", shape, dtype)

    def updated(self, op: str, array: Any, index: Any, value: Any) -> Any:
        if isinstance(array, ComplexHandle):
            if op != "add":
                raise ScalarError(errors.complex_scalar(f"atomic.{op}"))
            parts = zip((array.real, array.imag), as_pair(value), strict=True)
            return Pair([self.updated(op, part, index, one) for part, one in parts])
        if not isinstance(array, Handle):
            raise ScalarError(errors.store_to_number(ast.unparse(self.call.args[0]) if self.call and self.call.args else "this"))
        at = list(index) if isinstance(index, tuple) else [index]
        out = self.new()
        assert self.call is not None
        self.steps.append(Atomic(self.site(self.call, array, at), op, self.entry(value), out))
        return param(out)

    def word_atomic_add(self, array: Any, index: Any, value: Any) -> Any:
        return self.updated("add", array, index, value)

    def word_atomic_sub(self, array: Any, index: Any, value: Any) -> Any:
        return self.updated("add", array, index, unary("neg", value if isinstance(value, Pair) else self.entry(value)))

    def word_atomic_min(self, array: Any, index: Any, value: Any) -> Any:
        return self.updated("min", array, index, value)

    def word_atomic_max(self, array: Any, index: Any, value: Any) -> Any:
        return self.updated("max", array, index, value)

    def exchanged(self, value: Any, source: Callable[[Node], Node]) -> Any:
        """The value of another lane of the warp, through an array of the block."""
        if isinstance(value, Pair):
            return Pair([self.exchanged(part, source) for part in value])
        assert self.here is not None
        self.barrier(True)
        number, threads = self.linear_thread(), int(np.prod(self.dims.block))
        array = Array(f"shuffle {self.count}", (threads,), np.dtype(np.float64), "shuffle")
        self.steps.append(Declare(array))
        whole, value = whole_of(array), self.entry(value)
        self.steps.append(Store(self.site(self.here, whole, [number]), value))
        lane = apply("mod", number, WARP)
        other = source(lane)
        first = apply("sub", number, lane)
        there = apply("add", first, other)
        inside = apply("and", apply("ge", other, 0), apply("lt", other, WARP))
        inside = apply("and", inside, apply("lt", there, threads))
        read = self.load(self.here, whole, [apply("select", inside, there, number)])
        return apply("select", inside, read, value)

    def word_shfl_sync(self, mask: Any, value: Any, lane: Any) -> Any:
        return self.exchanged(value, lambda own: apply("mod", self.entry(lane), WARP))

    def word_shfl_up_sync(self, mask: Any, value: Any, delta: Any) -> Any:
        return self.exchanged(value, lambda own: apply("sub", own, self.entry(delta)))

    def word_shfl_down_sync(self, mask: Any, value: Any, delta: Any) -> Any:
        return self.exchanged(value, lambda own: apply("add", own, self.entry(delta)))

    def word_shfl_xor_sync(self, mask: Any, value: Any, bits: Any) -> Any:
        return self.exchanged(value, lambda own: apply("bitxor", own, self.entry(bits)))


UNSUPPORTED = {
    "threadfence": "statements are in order already: leave it out",
    "threadfence_block": "statements are in order already: leave it out",
    "threadfence_system": "statements are in order already: leave it out",
    "cas": "use atomic.add, atomic.min or atomic.max, or split the kernel in two launches",
    "compare_and_swap": "use atomic.add, atomic.min or atomic.max, or split the kernel in two launches",
    "cg": "use syncthreads, or two launches for a barrier of all blocks",
    "const": "pass the array as an argument",
    "fma": "write a * b + c",
    "nanmax": "guard atomic.max by if value == value",
    "nanmin": "guard atomic.min by if value == value",
    "inc": "use atomic.add",
    "dec": "use atomic.sub",
    "exch": "store the value, where one thread writes the cell",
    "syncthreads_count": "add to a cell of shared memory by atomic.add, with barriers around it",
    "syncthreads_and": "use atomic.min on a cell of shared memory, with barriers around it",
    "syncthreads_or": "use atomic.max on a cell of shared memory, with barriers around it",
    "ballot_sync": "pass the conditions on by shfl_sync, or through shared memory",
    "any_sync": "pass the conditions on by shfl_xor_sync",
    "all_sync": "pass the conditions on by shfl_xor_sync",
}


def instead_of(word: str) -> str:
    """What to write instead of a word that is not there."""
    return UNSUPPORTED.get(word, f"the words of ct.simt are {', '.join(simt_words())}")


def simt_words() -> list[str]:
    """All words of kernels."""
    found = []
    for name, thing in vars(intrinsics).items():
        if isinstance(thing, Word | Coordinates | Lane):
            found.append(name)
        elif isinstance(thing, Group):
            found += [word.__name__ for word in vars(thing).values() if isinstance(word, Word)]
    return found


def _said(node: ast.AST) -> str:
    """The index of a subscript, or of an atomic, as it is written."""
    if isinstance(node, ast.Call) and len(node.args) > 1:
        return ast.unparse(node.args[1])
    index = node.slice if isinstance(node, ast.Subscript) else None
    parts = index.elts if isinstance(index, ast.Tuple) else [] if index is None else [index]
    return ", ".join(map(ast.unparse, parts))


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _dims(n: Any) -> int:
    if not (isinstance(n, Node) and n.op == "const" and n.value in (1, 2, 3)):
        raise ScalarError(errors.wrong_axes_of_launch())
    return int(n.value)


def dtype_of(dtype: Any) -> np.dtype[Any]:
    """The dtype that `np.float64`, `ct.f64` or `x.dtype` names."""
    if isinstance(dtype, np.dtype):
        return dtype
    own = getattr(dtype, "dtype", None)
    return own if isinstance(own, np.dtype) else np.dtype(dtype)


def stored_names(definition: ast.AST | None) -> set[str]:
    """The names into which a definition stores by a subscript, whether or not a launch comes there."""
    found = set[str]()
    for node in ast.walk(definition) if definition is not None else ():
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            target: ast.expr = node.value
            while isinstance(target, ast.Subscript):
                target = target.value
            if isinstance(target, ast.Name):
                found.add(target.id)
    return found


def read_kernel(
    fn: Any, dims: Dims, names: Sequence[str], spaces: Sequence[Tensor], max_steps: int
) -> tuple[Body, list[str]]:
    """The body of a kernel for arguments of these spaces, and what the user should know.

    A complex argument `z` is two, with the names `z.real` and `z.imag`.
    """
    reader = KernelReader(dims, max_steps)
    reader.names.update(dict.fromkeys(names, 1))
    args: dict[str, Any] = {}
    arrays, numbers = [], []
    for name, space in zip(names, spaces, strict=True):
        if space.ndim:
            arrays.append(Array(name, space.shape, space.dtype))
            args[name] = whole_of(arrays[-1])
            continue
        numbers.append((name, reader.new()))
        args[name] = truth(param(numbers[-1][1])) if space.dtype.kind == "b" else param(numbers[-1][1])
    reader.call_value(fn, list(_joined(args).values()), {})
    steps = without_unused(reader.steps)
    stored = stored_names(reader.definition)
    written = {array.name for array in touched(steps, True) if array.place == "global"}
    written = {whole_name(name) for name in written} | stored
    known = [array.name for array in arrays if whole_name(array.name) in written]
    body = Body(steps, tuple(arrays), tuple(numbers), tuple(known))
    return body, reader.notices


def whole_name(name: str) -> str:
    """The name of the parameter to which a part of a complex array belongs."""
    return name.partition(".")[0]


def _joined(args: dict[str, Any]) -> dict[str, Any]:
    """Complex arrays and numbers in the places of their parts."""
    made: dict[str, Any] = {}
    for name, value in args.items():
        own, _, part = name.partition(".")
        if part == KEYS[0]:
            other = args[f"{own}.{KEYS[1]}"]
            made[own] = ComplexHandle(value, other) if isinstance(value, Handle) else Pair((value, other))
        elif not part:
            made[own] = value
    return made

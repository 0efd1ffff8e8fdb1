"""The array printer: a scalar function becomes straight-line Python over whole arrays.

Both sides of a branch are computed and `where` chooses, so a NaN or an overflow on the side not taken goes nowhere. Loops
run under a mask: a state changes only in the elements whose condition holds, and the loop ends when no element is left. A
loop whose trips do not depend on data runs without masks. The results of a loop have the broadcast shape of all its inputs,
whatever its body reads. The code is printed once for each function and combination of dtypes, uses only functions that NumPy
and CuPy share, and keeps no intermediate array longer than needed. Arithmetic warnings are the caller's business
(`numpy.errstate`): branches not taken may well overflow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from catad import errors
from catad.errors import ScalarError
from catad.scalar import special
from catad.scalar.dtypes import Type, as_real, loop_param_types, node_types, sources, typed, work_type
from catad.scalar.ir import Function, Loop, Node, depends, param, postorder
from catad.scalar.ops import OPS
from catad.support.lru import remembered
from catad.values.arrays import asarray

ArrayFunction = Callable[..., tuple[Any, ...]]

NESTING = 6
"""Expressions used once are written where they are used, up to this depth."""


@dataclass(slots=True)
class Text:
    """A piece of an expression, the variables it reads, and how deep it is."""

    code: str
    reads: tuple[str, ...] = ()
    depth: int = 0


@dataclass(slots=True)
class Printer:
    """The lines written so far, the names they need, and which variables are free to be used again."""

    real: np.dtype
    lines: list[str] = field(default_factory=list)
    names: dict[str, Any] = field(default_factory=dict)
    bound: dict[Any, str] = field(default_factory=dict)
    free: list[str] = field(default_factory=list)
    left: dict[str, int] = field(default_factory=dict)
    made: int = 0
    indent: int = 1

    def line(self, code: str) -> None:
        self.lines.append("    " * self.indent + code)

    def bind(self, value: Any, prefix: str) -> str:
        """A global name for a value that has no literal."""
        key = (prefix, str(getattr(value, "dtype", "")), repr(value))
        if key not in self.bound:
            self.bound[key] = f"{prefix}{len(self.bound)}"
            self.names[self.bound[key]] = value
        return self.bound[key]

    def variable(self, uses: int) -> str:
        """A variable that will be read `uses` times."""
        if self.free:
            name = self.free.pop()
        else:
            name, self.made = f"t{self.made}", self.made + 1
        self.left[name] = uses
        return name

    def release(self, reads: Sequence[str]) -> None:
        """Notes that these variables have been read once more."""
        for name in reads:
            if name in self.left:
                self.left[name] -= 1
                if self.left[name] == 0:
                    del self.left[name]
                    self.free.append(name)

    def assign(self, piece: Text, uses: int) -> Text:
        """Store an expression in a variable."""
        self.release(piece.reads)
        name = self.variable(uses)
        self.line(f"{name} = {piece.code}")
        return Text(name, (name,))


class Block:
    """Prints one function, or one part of a loop's body, at the current place of a printer."""

    def __init__(
        self, out: Printer, function: Function, params: Sequence[Text], types: Sequence[Type], mask: str | None
    ) -> None:
        self.out, self.function, self.mask = out, function, mask
        self.types = node_types(function, types, out.real)
        self.texts: dict[Node, Text] = {param(i): one for i, one in enumerate(params)}
        self.order, self.uses = self._needed()

    def run(self) -> list[Text]:
        """Write all lines; the expressions of the outputs."""
        for node in self.order:
            if node.op == "loop":
                print_loop(self, node)
            elif node.op not in ("const", "param", "proj"):
                piece, uses = self.expression(node), self.uses[node]
                self.texts[node] = piece if uses == 1 and piece.depth < NESTING else self.out.assign(piece, uses)
        return [self.output(node) for node in self.function.outputs]

    def output(self, node: Node) -> Text:
        return self.typed_scalar(node, self.types[node].dtype) if node.op == "const" else self.texts[node]

    def _needed(self) -> tuple[list[Node], dict[Node, int]]:
        """The nodes to print, and how often each is read."""
        order = postorder(self.function.outputs)
        uses = dict.fromkeys(order, 0)
        for output in self.function.outputs:
            uses[output] += 1
        for node in reversed(order):
            if uses[node]:
                for source in sources(node, self.types, self.out.real):
                    uses[source] += 1
        return [node for node in order if uses[node]], uses

    # -- operands

    def typed_scalar(self, node: Node, dtype: np.dtype) -> Text:
        """A constant as a NumPy scalar of this dtype."""
        with np.errstate(all="ignore"):
            return Text(self.out.bind(dtype.type(node.value), "k"))

    def literal(self, node: Node, dtype: np.dtype) -> Text:
        """A constant as a weak number where it is one, else as a NumPy scalar."""
        value = node.value
        if isinstance(value, np.generic) or dtype.kind == "b":
            return self.typed_scalar(node, np.asarray(value).dtype if isinstance(value, np.generic) else dtype)
        number = float(value) if dtype.kind == "f" else int(value)
        if number != number or number in (float("inf"), float("-inf")):
            return Text(self.out.bind(number, "c"))
        return Text(repr(number) if str(number)[0] != "-" else f"({number!r})")

    def converted(self, node: Node, dtype: np.dtype) -> Text:
        """A node as an array of this dtype."""
        if node.op == "const":
            return self.typed_scalar(node, dtype)
        piece = self.texts[node]
        old = self.types[node].dtype
        if old == dtype:
            return piece
        name = self.out.bind(dtype, "d")
        if old.kind == "f" and dtype.kind in "iu":
            return Text(f"_integer(xp, {piece.code}, {name})", piece.reads, piece.depth + 1)
        return Text(f"{piece.code}.astype({name})", piece.reads, piece.depth + 1)

    def operands(self, node: Node) -> list[Text]:
        """The operands as they must be written for NumPy to compute in the dtype that the typing rules say."""
        args = sources(node, self.types, self.out.real)
        types = [self.types[arg] for arg in args]
        work = work_type(node, types, self.out.real).dtype
        if node.op == "select":
            return [self.converted(args[0], np.dtype(bool)), *(self.converted(arg, work) for arg in args[1:])]
        if OPS[node.op].typing == "test" and node.op != "truth":
            work = as_real(Type(work, False), self.out.real).dtype
        if node.op == "ldexp":
            whole = np.dtype(np.int64) if types[1].dtype.kind == "b" else types[1].dtype
            second = self.literal(args[1], whole) if args[1].op == "const" else self.converted(args[1], whole)
            return [self.converted(args[0], work), second]
        stored = [one.dtype for arg, one in zip(args, types, strict=True) if arg.op != "const"]
        if not stored:
            return [self.typed_scalar(arg, work) for arg in args]
        cast = np.result_type(*stored) != work or OPS[node.op].typing == "order"
        return [
            self.literal(arg, work)
            if arg.op == "const"
            else self.converted(arg, work)
            if cast
            else self.texts[arg]
            if arg is old
            else Text(f"({self.texts[arg].code} + 0.0)", self.texts[arg].reads, self.texts[arg].depth)  # no -0.0
            for arg, old in zip(args, node.args, strict=True)
        ]

    def expression(self, node: Node) -> Text:
        """The expression of one operation."""
        info = OPS[node.op]
        if node.op == "truth" and self.types[node.args[0]].dtype.kind == "b":
            return self.converted(node.args[0], np.dtype(bool))
        if info.code == "{0}" or (info.typing == "rounding" and self.types[node].dtype.kind != "f"):
            return self.converted(node.args[0], self.types[node].dtype)
        pieces = self.operands(node)
        code = info.code.format(*[piece.code for piece in pieces], value=node.value)
        reads = tuple([name for piece in pieces for name in piece.reads])
        return Text(code, reads, 1 + max(piece.depth for piece in pieces))


# -- loops


def _uniform(loop: Loop, inits: Sequence[Node]) -> bool:
    """True where the condition of a loop depends on constants only, so that all elements make the same trips."""
    uniform = {i for i in range(loop.states) if inits[i].op == "const"}
    size = loop.step.arity
    while True:
        varying = [param(i) for i in range(size) if i not in uniform]
        moved = depends(loop.step.outputs, varying)
        kept = {i for i in uniform if loop.step.outputs[i] not in moved}
        if kept == uniform:
            return loop.condition.outputs[0] not in depends(loop.condition.outputs, varying)
        uniform = kept


def print_loop(block: Block, node: Node) -> None:
    """Write a loop and make its final states known to the block."""
    out, loop = block.out, node.value
    inits, rest = node.args[: loop.states], node.args[loop.states :]
    types = loop_param_types(loop, [block.types[arg] for arg in node.args], out.real)
    pieces = [block.converted(init, one.dtype) for init, one in zip(inits, types, strict=False)]
    given = [block.converted(arg, block.types[arg].dtype) for arg in rest]
    held = [out.assign(piece, 1) if piece.depth else piece for piece in given]
    states = [f"s{out.made + i}" for i in range(loop.states)]
    out.made += loop.states + 1
    active = None if _uniform(loop, inits) else f"m{out.made}"
    out.line(f"{', '.join(states)}, = {', '.join(piece.code for piece in pieces)},")
    for piece in pieces:
        out.release(piece.reads)
    shape = f"h{out.made}"
    out.line(f"{shape} = _joint({', '.join([*states, *(piece.code for piece in held)])})")
    params = [Text(name) for name in states] + [Text(piece.code) for piece in held]
    _print_trips(block, loop, params, types, active)
    for piece in held:
        out.release(piece.reads)
    for proj, uses in block.uses.items():
        if proj.op == "proj" and proj.args[0] is node and uses:
            name = states[proj.value]
            out.line(f"{name} = _spread(xp, {name}, {shape})")
            block.texts[proj] = Text(name)


def _print_trips(block: Block, loop: Loop, params: list[Text], types: list[Type], active: str | None) -> None:
    out = block.out
    states = [piece.code for piece in params[: loop.states]]
    if active is not None:
        out.line(f"{active} = {block.mask or 'True'}")
    out.line("while True:")
    out.indent += 1
    (going,) = Block(out, loop.condition, params, types, active or block.mask).run()
    if active is None:
        out.line(f"if not {going.code}:")
    else:
        out.line(f"{active} = {going.code} & {active}")
        out.line(f"if not {active}.any():")
    out.line("    break")
    out.release(going.reads)
    body = Block(out, loop.step, params, types, active or block.mask)
    body.run()
    steps = [body.converted(node, one.dtype) for node, one in zip(loop.step.outputs, types, strict=False)]
    codes = [
        piece.code if active is None else f"xp.where({active}, {piece.code}, {state})"
        for piece, state in zip(steps, states, strict=True)
    ]
    out.line(f"{', '.join(states)}, = {', '.join(codes)},")
    for piece in steps:
        out.release(piece.reads)
    out.indent -= 1


def _joint(*arrays: Any) -> tuple[int, ...]:
    """The shape to which arrays broadcast."""
    shapes = {array.shape for array in arrays}
    return shapes.pop() if len(shapes) == 1 else np.broadcast_shapes(*shapes)


def _spread(xp: Any, array: Any, shape: tuple[int, ...]) -> Any:
    """An array of the library in this shape; numbers of NumPy, which stay on the host, are arrays to NumPy alone."""
    if array.shape == shape and (xp is np or not isinstance(array, np.generic)):
        return array
    return xp.broadcast_to(asarray(xp, array), shape)


HELPERS = {"_joint": _joint, "_spread": _spread}


# -- whole functions


@remembered
def _printed(function: Function, dtypes: tuple[np.dtype, ...]) -> tuple[str, dict[str, Any]]:
    _, real = typed(function, dtypes)
    out = Printer(real)
    params = [Text(f"x{i}") for i in range(function.arity)]
    types = [Type(dtype, dtype.kind == "b") for dtype in dtypes]
    results = Block(out, function, params, types, None).run()
    head = f"def scalar_function({', '.join(['xp', *(piece.code for piece in params)])}):"
    last = f"    return ({''.join(piece.code + ', ' for piece in results)})"
    return "\n".join([head, *out.lines, last]), out.names


def _dtypes(function: Function, dtypes: Sequence[object] | None) -> tuple[np.dtype, ...]:
    given = [np.float64] * function.arity if dtypes is None else dtypes
    return tuple([np.dtype(dtype) for dtype in given])  # type: ignore[call-overload]


def array_source(function: Function, dtypes: Sequence[object] | None = None) -> str:
    """The Python that computes a scalar function on arrays of these dtypes (float64 by default).

    >>> from catad.scalar.simplify import apply
    >>> x, y = param(0), param(1)
    >>> print(array_source(Function.make(2, [apply("select", apply("gt", x, y), apply("exp", x), 1.0)])))
    def scalar_function(xp, x0, x1):
        return (xp.where((x0 > x1), xp.exp(x0), k0), )
    """
    return _printed(function, _dtypes(function, dtypes))[0]


@remembered
def _compiled(function: Function, dtypes: tuple[np.dtype, ...]) -> ArrayFunction:
    source, names = _printed(function, dtypes)
    names = names | HELPERS | {name: getattr(special, name[1:]) for name in special.ARRAY_NAMES}
    names["__name__"] = __name__
    exec(compile(source, f"<array code of {function.name}>", "exec"), names)
    made: ArrayFunction = names["scalar_function"]
    return made


@remembered
def _dispatching(function: Function) -> ArrayFunction:
    """Choose the code by the dtypes of the arrays (by their numbers, which are quicker to look up than dtypes)."""
    table: dict[tuple[int, ...], ArrayFunction] = {}

    def unknown(xp: Any, *arrays: Any) -> tuple[Any, ...]:
        if len(arrays) != function.arity:
            raise ScalarError(errors.wrong_scalar_count(function.name, len(arrays), function.arity))
        typed_arrays = [array if hasattr(array, "dtype") else np.asarray(array)[()] for array in arrays]
        dtypes = tuple([np.dtype(array.dtype) for array in typed_arrays])
        found = table[tuple([dtype.num for dtype in dtypes])] = _compiled(function, dtypes)
        return found(xp, *typed_arrays)

    names = [f"x{i}" for i in range(function.arity)]
    key = "".join(f"{name}.dtype.num, " for name in names)
    source = f"""def dispatch(xp, *arrays):
    try:
        {"".join(name + ", " for name in names) or "()"} = arrays
        found = find(({key}))
    except (AttributeError, ValueError):
        found = None
    return unknown(xp, *arrays) if found is None else found(xp, *arrays)
"""
    scope: dict[str, Any] = {"__name__": __name__, "find": table.get, "unknown": unknown}
    exec(source, scope)
    made: ArrayFunction = scope["dispatch"]
    return made


def array_function(function: Function, dtypes: Sequence[object] | None = None) -> ArrayFunction:
    """A callable `(xp, *arrays) -> tuple of arrays` that computes a scalar function elementwise, broadcasting.

    `xp` is `numpy` or `cupy`. With `dtypes` it is the printed code itself, for arrays of exactly those dtypes; without,
    the code is chosen by the dtypes of the arrays. A constant result comes as one NumPy scalar. Results have the
    dtypes that `result_types` says.

    >>> from catad.scalar.simplify import apply
    >>> f = array_function(Function.make(2, [apply("add", apply("mul", param(0), 2.0), param(1))]))
    >>> f(np, np.array([1.0, 2.0]), np.float64(0.5))
    (array([2.5, 4.5]),)
    """
    return _dispatching(function) if dtypes is None else _compiled(function, _dtypes(function, dtypes))

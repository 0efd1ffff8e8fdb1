"""The LLVM printer: a scalar function becomes the text of one LLVM function, which kernels call and LLVM inlines.

Both sides of a branch are computed and `select` chooses, so that a loop around the function can be vectorised; only a loop on
the side not taken is jumped over. A `loop` node becomes a loop, its states phi nodes. Types are those of `scalar/dtypes.py`,
results those of the array printer, number for number. Nothing here needs LLVM itself: what is made is text.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from catad.errors import CannotPrint
from catad.scalar.dtypes import Type, as_real, loop_param_types, node_types, sources, typed, work_type
from catad.scalar.ir import Function, Node, param
from catad.scalar.lazy_branches import schedule
from catad.scalar.ops import OPS
from catad.scalar.printing.llvm_fallback import beyond
from catad.scalar.printing.llvm_ops import EMIT, Kind, comparison, convert, exponent, whole_power
from catad.scalar.printing.llvm_writer import LlvmFunction, Writer, literal, llvm_type
from catad.scalar.reading.loops import STOP_FLAG, constant_trips
from catad.scalar.simplify import TRUE
from catad.scalar.vector_math.composed import beyond_reach, composed, reach
from catad.support.lru import remembered

_HANDLER = f"""@{STOP_FLAG} = dso_local global i32 0
@catad_before = dso_local global ptr null
define dso_local void @catad_interrupt(i32 %signal, ptr %info, ptr %context) nounwind {{
  store volatile i32 1, ptr @{STOP_FLAG}
  %before = load volatile ptr, ptr @catad_before
  call void %before(i32 %signal, ptr %info, ptr %context)
  ret void
}}"""
"""The flag, and a signal handler that sets it and calls the one before it."""

_FLAG = f"@{STOP_FLAG} = externally_initialized global i32 0"
"""The flag on a GPU, where the host sets it."""

LONG = 1 << 16
"""A loop of more trips looks at the flag."""

BOOL, INT, FLOAT = np.dtype(bool), np.dtype(np.int64), np.dtype(np.float64)


class Region:
    """Prints one function, or one part of a loop's body, at the current place of a writer."""

    def __init__(self, w: Writer, function: Function, params: Sequence[str], types: Sequence[Type], real: np.dtype) -> None:
        self.w, self.function, self.real = w, function, real
        self.order, self.guards = schedule(function.outputs)
        everything = Function.make(function.arity, [*function.outputs, *self.guards.values()])
        self.types = node_types(everything, types, real)
        self.refs: dict[Node, str] = {param(i): one for i, one in enumerate(params)}
        self.finals: dict[Node, list[str]] = {}

    def run(self) -> list[str]:
        """Write all instructions; the registers of the outputs."""
        for node in self.order:
            if node.op == "loop":
                self.finals[node] = print_loop(self, node)
            elif node.op == "proj":
                self.refs[node] = self.finals[node.args[0]][node.value]
            elif node.op not in ("const", "param"):
                self.refs[node] = self.expression(node)
        return [self.converted(node, self.types[node].dtype) for node in self.function.outputs]

    def converted(self, node: Node, dtype: np.dtype) -> str:
        """A node as a number of this dtype."""
        if node.op == "const":
            return literal(node.value, dtype)
        return convert(self.w, self.refs[node], self.types[node].dtype, dtype)

    def expression(self, node: Node) -> str:
        """The register with the result of one operation."""
        info, result = OPS[node.op], self.types[node].dtype
        if node.op == "unread":
            return "undef"
        if info.code == "{0}" or (info.typing == "rounding" and result.kind != "f"):
            return self.converted(node.args[0], result)
        args = sources(node, self.types, self.real)
        types = [self.types[arg] for arg in args]
        work = work_type(node, types, self.real)
        if info.typing == "test" and node.op != "truth":
            work = as_real(work, self.real)
        if info.typing == "compare":
            return self.compare(node, args, work.dtype)
        if node.op == "ldexp":
            whole = INT if types[1].dtype.kind == "b" else types[1].dtype
            width = Kind(work.dtype).image
            power = exponent(self.w, self.converted(args[1], whole), whole, width)
            return operation(self.w, node, work.dtype, [self.converted(args[0], work.dtype), power], [work.dtype, width])
        if node.op == "select":
            operands = [self.converted(args[0], BOOL), *(self.converted(arg, work.dtype) for arg in args[1:])]
            return EMIT["select"](self.w, Kind(work.dtype), *operands)
        if node.op == "pow" and work.dtype.kind != "f":
            return whole_power(self.w, Kind(work.dtype), self.converted(args[0], work.dtype), int(args[1].value))
        refs = [self.operand(a, b, work.dtype) for a, b in zip(args, node.args, strict=True)]
        return operation(self.w, node, work.dtype, refs)

    def operand(self, node: Node, old: Node, dtype: np.dtype) -> str:
        """A node in a dtype; `floor(x)` in the place of the integer `int(floor(x))` is never -0.0."""
        ref = self.converted(node, dtype)
        return ref if node is old else EMIT["add"](self.w, Kind(dtype), ref, literal(0.0, dtype))

    def compare(self, node: Node, args: Sequence[Node], work: np.dtype) -> str:
        """A comparison; integers are compared as integers, even where no dtype has room for both."""
        kinds = [self.types[arg].dtype.kind for arg in args]
        whole = all(kind in "iub" for kind in kinds)
        emit = comparison(node.op)
        if not whole or (work.kind == "b"):
            refs = [self.operand(a, b, work) for a, b in zip(args, node.args, strict=True)]
            return emit(self.w, Kind(work), *refs)
        fits = work.kind != "f" and all(
            arg.op != "const" or np.iinfo(work).min <= arg.value <= np.iinfo(work).max for arg in args
        )
        if fits:
            return emit(self.w, Kind(work), *(self.converted(arg, work) for arg in args))
        wide = [self.widest(arg) for arg in args]
        order = node.op if node.op in ("eq", "ne") else f"s{node.op}"
        return self.w.set(f"icmp {order} i256 {wide[0]}, {wide[1]}")

    def widest(self, node: Node) -> str:
        """An integer in a type that holds every constant and every dtype."""
        if node.op == "const":
            bound = 1 << 254
            return str(max(-bound, min(bound, int(node.value))))
        kind = Kind(self.types[node].dtype)
        return self.w.set(f"{'sext' if kind.signed else 'zext'} {kind.ty} {self.refs[node]} to i256")


def operation(w: Writer, node: Node, work: np.dtype, refs: Sequence[str], dtypes: Sequence[np.dtype] | None = None) -> str:
    """One operation on registers of its dtype, or of these dtypes: instructions, or a function said in simpler operations."""
    kind = Kind(work)
    dtypes = [work] * len(refs) if dtypes is None else dtypes
    simpler = composed(node.op, work, node.value)
    if simpler is not None:
        order = "" if node.value is None else f"_{node.value}"
        near = call(w, simpler, f"catad_{node.op}{order}_{work.name}", dtypes, refs)
        bound = reach(node.op, work)
        if bound is None:
            return near
        function, name = beyond_reach(node.op), f"catad_far_{node.op}"
        asked = refs[0] if len(refs) == 1 else EMIT["div"](w, kind, *refs)
        return beyond(w, node.op, kind, asked, refs, near, bound, lambda w, x: call(w, function, name, [FLOAT] * len(x), x))
    if node.op in EMIT:
        return EMIT[node.op](w, kind, *refs)
    raise CannotPrint(f"the function {node.op} of numbers of dtype {work}", "no instructions are known for it")


def call(w: Writer, function: Function, name: str, dtypes: Sequence[np.dtype], refs: Sequence[str]) -> str:
    """A call of a scalar function of one result on numbers of these dtypes, printed once a module."""
    printed = llvm_function(function, dtypes, name, w.gpu)
    w.support.update(printed.support)
    w.support[name] = printed.text
    args = ", ".join([f"{ty} {ref}" for ty, ref in zip(printed.parameters, refs, strict=True)])
    result = f"{{ {printed.results[0]} }}"
    return w.set(f"extractvalue {result} {w.set(f'call {result} @{name}({args})')}, 0")


def print_loop(region: Region, node: Node) -> list[str]:
    """Write a loop; the registers of its final states, which are its initial ones where nobody needs it."""
    w, loop, real = region.w, node.value, region.real
    inits, rest = node.args[: loop.states], node.args[loop.states :]
    types = loop_param_types(loop, [region.types[arg] for arg in node.args], real)
    started = [region.converted(init, one.dtype) for init, one in zip(inits, types, strict=False)]
    given = [region.converted(arg, region.types[arg].dtype) for arg in rest]
    guard = region.guards.get(node, TRUE)
    needed = None if guard is TRUE else region.converted(guard, BOOL)
    n = w.fresh()
    before = w.block
    w.do(f"br label %head{n}" if needed is None else f"br i1 {needed}, label %head{n}, label %exit{n}")
    w.label(f"head{n}")
    phis = len(w.lines)
    tys = [llvm_type(one.dtype) for one in types[: loop.states]]
    states = [f"%s{n}.{k}" for k in range(loop.states)]
    (going,) = Region(w, loop.condition, [*states, *given], types, real).run()
    left = [w.block]
    if 0 <= constant_trips(loop, inits) <= LONG:
        w.do(f"br i1 {going}, label %body{n}, label %exit{n}")
    else:
        w.do(f"br i1 {going}, label %asked{n}, label %exit{n}")
        w.label(f"asked{n}")
        w.do(f"br i1 {stopped(w)}, label %exit{n}, label %body{n}")
        left.append(w.block)
    w.label(f"body{n}")
    body = Region(w, loop.step, [*states, *given], types, real)
    body.run()
    steps = [body.converted(out, one.dtype) for out, one in zip(loop.step.outputs, types, strict=False)]
    w.do(f"br label %head{n}")
    w.lines[phis:phis] = [
        f"  {state} = phi {ty} [ {start}, %{before} ], [ {step}, %{w.block} ]"
        for state, ty, start, step in zip(states, tys, started, steps, strict=True)
    ]
    w.label(f"exit{n}")
    if needed is None:
        return states
    return [
        w.set(f"phi {ty} [ {start}, %{before} ], {', '.join([f'[ {state}, %{block} ]' for block in left])}")
        for ty, start, state in zip(tys, started, states, strict=True)
    ]


def stopped(w: Writer) -> str:
    """True where somebody wants the loops of the module to end."""
    w.support[STOP_FLAG] = _FLAG if w.gpu else _HANDLER
    flag = w.set(f"load volatile i32, ptr @{STOP_FLAG}")
    return w.set(f"icmp ne i32 {flag}, 0")


def llvm_function(function: Function, dtypes: Sequence[object], name: str, gpu: bool = False) -> LlvmFunction:
    """The text of a scalar function for params of these dtypes, as the LLVM function `@name`.

    It has no side effects and no undefined behaviour, and is inlined into its caller. A loop that may run for ever ends when the
    module's variable `catad_stop` is set, with some result. What is printed for a GPU has no vectors. Raises CannotPrint, naming
    the construct, for what has no machine code; ScalarError for what cannot be typed.

    >>> from catad.scalar.simplify import apply
    >>> twice = Function.make(1, [apply("add", param(0), param(0))])
    >>> print(llvm_function(twice, ["float32"], "twice").text)
    define internal { float } @twice(float %x0) alwaysinline nounwind memory(none) {
    entry:
      %v1 = fadd float %x0, %x0
      %v2 = insertvalue { float } poison, float %v1, 0
      ret { float } %v2
    }
    """
    return _printed(function, tuple([np.dtype(dtype) for dtype in dtypes]), name, gpu)  # type: ignore[call-overload]


@remembered
def _printed(function: Function, dtypes: tuple[np.dtype, ...], name: str, gpu: bool) -> LlvmFunction:
    _, real = typed(function, dtypes)
    w = Writer(gpu)
    w.label("entry")
    params = [f"%x{i}" for i in range(function.arity)]
    region = Region(w, function, params, [Type(dtype, dtype.kind == "b") for dtype in dtypes], real)
    refs = region.run()
    parameters = tuple([llvm_type(dtype) for dtype in dtypes])
    results = tuple([llvm_type(region.types[output].dtype) for output in function.outputs])
    struct, whole = f"{{ {', '.join(results)} }}", "poison"
    for i, (ty, ref) in enumerate(zip(results, refs, strict=True)):
        whole = w.set(f"insertvalue {struct} {whole}, {ty} {ref}, {i}")
    w.do(f"ret {struct} {whole}")
    given = ", ".join([f"{ty} {one}" for ty, one in zip(parameters, params, strict=True)])
    effects = "nounwind" if STOP_FLAG in w.support else "nounwind memory(none)"
    head = f"define internal {struct} @{name}({given}) alwaysinline {effects} {{"
    return LlvmFunction(name, parameters, results, "\n".join([head, *w.lines, "}"]), tuple(w.support.items()))

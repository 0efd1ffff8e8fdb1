"""Runs printed LLVM functions on arrays: a loop around the function, compiled by llvmlite."""

import ctypes

import llvmlite.binding as llvm
import numpy as np

from catad.scalar import Function, llvm_function, param, result_types
from catad.scalar.ops import OPS
from catad.scalar.simplify import apply

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()


def in_memory(ty):
    return "i8" if ty == "i1" else ty


def loop_around(printed):
    """A module with `run(inputs..., outputs..., n)`, which maps the function over contiguous arrays."""
    ins, outs = printed.parameters, printed.results
    pointers = [f"ptr noalias %in{k}" for k in range(len(ins))] + [f"ptr noalias %out{k}" for k in range(len(outs))]
    lines = [
        *(text for _, text in printed.support),
        printed.text,
        f"define void @run({', '.join([*pointers, 'i64 %n'])}) {{",
    ]
    lines += ["entry:", "  %any = icmp sgt i64 %n, 0", "  br i1 %any, label %loop, label %done"]
    lines += ["loop:", "  %i = phi i64 [ 0, %entry ], [ %next, %loop ]"]
    args = []
    for k, ty in enumerate(ins):
        lines.append(f"  %p{k} = getelementptr inbounds {in_memory(ty)}, ptr %in{k}, i64 %i")
        lines.append(f"  %a{k} = load {in_memory(ty)}, ptr %p{k}")
        lines += [f"  %b{k} = trunc i8 %a{k} to i1"] if ty == "i1" else []
        args.append(f"{ty} %{'b' if ty == 'i1' else 'a'}{k}")
    struct = f"{{ {', '.join(outs)} }}"
    lines.append(f"  %all = call {struct} @{printed.name}({', '.join(args)})")
    for k, ty in enumerate(outs):
        lines.append(f"  %r{k} = extractvalue {struct} %all, {k}")
        lines += [f"  %z{k} = zext i1 %r{k} to i8"] if ty == "i1" else []
        lines.append(f"  %q{k} = getelementptr inbounds {in_memory(ty)}, ptr %out{k}, i64 %i")
        lines.append(f"  store {in_memory(ty)} %{'z' if ty == 'i1' else 'r'}{k}, ptr %q{k}")
    lines += [
        "  %next = add nuw nsw i64 %i, 1",
        "  %more = icmp slt i64 %next, %n",
        "  br i1 %more, label %loop, label %done",
    ]
    return "\n".join([*lines, "done:", "  ret void", "}"])


def optimised(printed, level=3):
    """The module after LLVM's passes, and the machine it is for."""
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=level
    )
    module = llvm.parse_assembly(loop_around(printed))
    module.verify()
    module.triple, module.data_layout = llvm.get_default_triple(), str(machine.target_data)
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    options.loop_vectorization = level > 1
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return module, machine


class Compiled:
    """A scalar function as machine code: called with arrays of its dtypes, it gives one array a result."""

    def __init__(self, function, dtypes, level=3):
        self.dtypes = [np.dtype(dtype) for dtype in dtypes]
        self.results = result_types(function, dtypes)
        module, machine = optimised(llvm_function(function, dtypes, "f"), level)
        self.engine = llvm.create_mcjit_compiler(module, machine)
        self.engine.finalize_object()
        pointers = [ctypes.c_void_p] * (len(dtypes) + len(self.results))
        self.run = ctypes.CFUNCTYPE(None, *pointers, ctypes.c_int64)(self.engine.get_function_address("run"))

    def __call__(self, *arrays):
        given = [np.ascontiguousarray(array, dtype) for array, dtype in zip(arrays, self.dtypes, strict=True)]
        size = given[0].size if given else 1
        out = [np.empty(size, dtype) for dtype in self.results]
        self.run(*[array.ctypes.data for array in (*given, *out)], size)
        return out


def op_function(op, value=None):
    """The function that is one operation."""
    arity = OPS[op].arity
    return Function.make(arity, [apply(op, *map(param, range(arity)), value=value)], name=op)

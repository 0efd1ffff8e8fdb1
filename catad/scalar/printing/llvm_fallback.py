"""Arguments beyond the reach of a vectorised function: handed to a slower one, without losing the vectorised loop.

A branch for each element keeps LLVM from vectorising the loop around it. So the choice is a call of a function that is not
inlined and that has vector variants, which the loop vectoriser knows by the attribute `vector-function-abi-variant` (LLVM
Language Reference Manual, "Call Site Attributes"; the mangling is that of the vector function ABI, with the ISA `_LLVM_`). A
variant looks once whether any of its numbers is out of reach. On a GPU the choice is a branch, and there are no variants.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from catad.scalar.printing.llvm_ops import Kind, convert
from catad.scalar.printing.llvm_writer import Writer

DOUBLE = np.dtype(np.float64)

RARE = "noinline optnone cold nounwind willreturn memory(none)"
"""Attributes of code that hardly ever runs: optimising it would take longer than all the rest of a kernel."""

RARE_ON_GPU = "noinline cold nounwind willreturn memory(none)"
"""On a GPU, code that is not optimised keeps its numbers in memory, and the kernel reserves that for every thread."""

CHOICE = "weak_odr hidden", "noinline"
"""Linkage and inlining of the choice: weak, so that LLVM drops none of its arguments, which the variants have, too."""

Slow = Callable[[Writer, Sequence[str]], str]
"""(writer, float64 registers of the arguments) -> the register of the value."""

WIDTHS = (2, 4, 8, 16)
"""The numbers of lanes for which there is a variant."""


def beyond(
    w: Writer, op: str, kind: Kind, asked: str, args: Sequence[str], near: str, bound: float, slow: Slow
) -> str:
    """`near`, or what the slow function says of the arguments where |asked| is beyond the bound."""
    name = f"catad_far_{op}_{kind.dtype.name}"
    names = ["%x"] if list(args) == [asked] else [f"%x{k}" for k in range(len(args))]
    if name not in w.support:
        inner = Writer(w.gpu)
        wide = [convert(inner, one, kind.dtype, DOUBLE) for one in names]
        result = convert(inner, slow(inner, wide), DOUBLE, kind.dtype)
        w.support |= inner.support
        rare = RARE_ON_GPU if w.gpu else RARE
        head = f"define internal {kind.ty} @{name}_one({_listed(kind.ty, names)}) {rare} {{"
        w.support[f"{name}_one"] = "\n".join([head, *inner.lines, f"  ret {kind.ty} {result}", "}"])
        fabs = f"llvm.fabs.{kind.suffix}"
        w.support[fabs] = f"declare {kind.ty} @{fabs}({kind.ty})"
        w.support[name] = _one(name, kind, bound, names, *(("internal", "alwaysinline") if w.gpu else CHOICE))
        for n in () if w.gpu else WIDTHS:
            w.support |= _several(name, kind, bound, n, names)
    more = [] if names == ["%x"] else args
    letters = "v" * (2 + len(more))
    variants = ",".join([f"_ZGV_LLVM_N{n}{letters}_{name}({name}_v{n})" for n in WIDTHS])
    given = _listed(kind.ty, [asked, near, *more])
    if w.gpu:
        return w.set(f"call {kind.ty} @{name}({given})")
    return w.set(f'call {kind.ty} @{name}({given}) "vector-function-abi-variant"="{variants}"')


def _listed(ty: str, refs: Sequence[str]) -> str:
    return ", ".join([f"{ty} {ref}" for ref in refs])


def _one(name: str, kind: Kind, bound: float, names: Sequence[str], linkage: str, inlined: str) -> str:
    """The choice for one number."""
    ty = kind.ty
    taken = _listed(ty, ["%x", "%near", *[one for one in names if one != "%x"]])
    return f"""define {linkage} {ty} @{name}({taken}) {inlined} nounwind willreturn memory(none) {{
  %size = call {ty} @llvm.fabs.{kind.suffix}({ty} %x)
  %out = fcmp ogt {ty} %size, {kind.number(bound)}
  br i1 %out, label %far, label %done
far:
  %value = call {ty} @{name}_one({_listed(ty, names)})
  ret {ty} %value
done:
  ret {ty} %near
}}"""


def _several(name: str, kind: Kind, bound: float, n: int, names: Sequence[str]) -> dict[str, str]:
    """The variant for n numbers; weak, so that it is kept although only an attribute names it."""
    ty, many, suffix = kind.ty, f"<{n} x {kind.ty}>", f"v{n}{kind.suffix}"
    taken = _listed(many, ["%x", "%near", *[one for one in names if one != "%x"]])
    lanes = [f"%one{k}" if k else "%one" for k in range(len(names))]
    extracted = "\n".join([f"  {lane} = extractelement {many} {one}, i32 %k" for lane, one in zip(lanes, names, strict=True)])
    head = f"define weak_odr hidden {many} @{name}_v{n}({taken})"
    body = f"""{head} noinline minsize nounwind willreturn memory(none) {{
entry:
  %size = call {many} @llvm.fabs.{suffix}({many} %x)
  %out = fcmp ogt {many} %size, splat ({ty} {kind.number(bound)})
  %any = call i1 @llvm.vector.reduce.or.v{n}i1(<{n} x i1> %out)
  br i1 %any, label %lane, label %done
lane:
  %k = phi i32 [ 0, %entry ], [ %next, %after ]
  %sofar = phi {many} [ %near, %entry ], [ %now, %after ]
  %wanted = extractelement <{n} x i1> %out, i32 %k
  br i1 %wanted, label %far, label %after
far:
{extracted}
  %value = call {ty} @{name}_one({_listed(ty, lanes)})
  %put = insertelement {many} %sofar, {ty} %value, i32 %k
  br label %after
after:
  %now = phi {many} [ %sofar, %lane ], [ %put, %far ]
  %next = add i32 %k, 1
  %more = icmp ult i32 %next, {n}
  br i1 %more, label %lane, label %done
done:
  %result = phi {many} [ %near, %entry ], [ %now, %after ]
  ret {many} %result
}}"""
    return {
        f"llvm.fabs.{suffix}": f"declare {many} @llvm.fabs.{suffix}({many})",
        f"llvm.vector.reduce.or.v{n}i1": f"declare i1 @llvm.vector.reduce.or.v{n}i1(<{n} x i1>)",
        f"{name}_v{n}": body,
    }

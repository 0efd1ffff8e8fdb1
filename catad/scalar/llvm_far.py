"""Arguments beyond the reach of a vectorised function: handed to a slower one, without losing the vectorised loop.

A branch for each element keeps LLVM from vectorising the loop around it. So the choice is a call of a function that is not
inlined and that has vector variants, which the loop vectoriser knows by the attribute `vector-function-abi-variant` (LLVM
Language Reference Manual, "Call Site Attributes"; the mangling is that of the vector function ABI, with the ISA `_LLVM_`). A
variant looks once whether any of its numbers is out of reach.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .llvm_ops import Kind, convert
from .llvm_writer import Writer

DOUBLE = np.dtype(np.float64)

RARE = "noinline optnone cold nounwind willreturn memory(none)"
"""What is hardly ever run is not optimised: that would take longer than all the rest of a kernel."""

Slow = Callable[[Writer, str], str]
"""(writer, a float64 register) -> the register of the value."""

WIDTHS = (2, 4, 8, 16)
"""For how many numbers at once there is a variant."""


def beyond(w: Writer, op: str, kind: Kind, x: str, near: str, bound: float, slow: Slow) -> str:
    """`near`, or what the slow function says where |x| is beyond the bound."""
    name = f"catad.far.{op}.{kind.dtype.name}"
    if name not in w.support:
        inner = Writer()
        wide = convert(inner, "%x", kind.dtype, DOUBLE)
        result = convert(inner, slow(inner, wide), DOUBLE, kind.dtype)
        w.support |= inner.support
        head = f"define internal {kind.ty} @{name}.one({kind.ty} %x) {RARE} {{"
        w.support[f"{name}.one"] = "\n".join([head, *inner.lines, f"  ret {kind.ty} {result}", "}"])
        fabs = f"llvm.fabs.{kind.suffix}"
        w.support[fabs] = f"declare {kind.ty} @{fabs}({kind.ty})"
        w.support[name] = _one(name, kind, bound)
        for n in WIDTHS:
            w.support |= _several(name, kind, bound, n)
    variants = ",".join([f"_ZGV_LLVM_N{n}vv_{name}({name}.v{n})" for n in WIDTHS])
    given = f"{kind.ty} {x}, {kind.ty} {near}"
    return w.set(f'call {kind.ty} @{name}({given}) "vector-function-abi-variant"="{variants}"')


def _one(name: str, kind: Kind, bound: float) -> str:
    ty = kind.ty
    return f"""define internal {ty} @{name}({ty} %x, {ty} %near) noinline nounwind willreturn memory(none) {{
  %size = call {ty} @llvm.fabs.{kind.suffix}({ty} %x)
  %out = fcmp ogt {ty} %size, {kind.number(bound)}
  br i1 %out, label %far, label %done
far:
  %value = call {ty} @{name}.one({ty} %x)
  ret {ty} %value
done:
  ret {ty} %near
}}"""


def _several(name: str, kind: Kind, bound: float, n: int) -> dict[str, str]:
    """The variant for n numbers; weak, so that it is kept although only an attribute names it."""
    ty, many, suffix = kind.ty, f"<{n} x {kind.ty}>", f"v{n}{kind.suffix}"
    head = f"define weak_odr hidden {many} @{name}.v{n}({many} %x, {many} %near)"
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
  %one = extractelement {many} %x, i32 %k
  %value = call {ty} @{name}.one({ty} %one)
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
        f"{name}.v{n}": body,
    }

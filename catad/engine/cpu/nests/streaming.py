"""LLVM text of streaming stores, which write to memory and bypass the caches.

A store that goes through the caches first reads the line that it overwrites, which is a third of what a pass over memory moves.
LLVM does not vectorise loops with such stores. So results are computed into a buffer that a cache holds, and then
written from there in whole aligned vectors; what stands before the first and after the last of these goes through the caches.
"""

from __future__ import annotations

from catad.scalar.printing.llvm_writer import Writer

BLOCK = 128  # indices whose results are held in a cache before they are written: work on the next block hides short bursts only
VECTOR = 64  # bytes of one streaming store
_PAST = f"""
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i64 @llvm.umin.i64(i64, i64)
define internal void @past(ptr noalias %to, ptr noalias %from, i64 %size) noinline {{
entry:
  %address = ptrtoint ptr %to to i64
  %negative = sub i64 0, %address
  %gap = and i64 %negative, {VECTOR - 1}
  %before = call i64 @llvm.umin.i64(i64 %gap, i64 %size)
  %ragged = icmp ne i64 %before, 0
  br i1 %ragged, label %first, label %begin
first:
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %before, i1 false)
  br label %begin
begin:
  %left = sub i64 %size, %before
  %whole = and i64 %left, {-VECTOR}
  %to0 = getelementptr i8, ptr %to, i64 %before
  %from0 = getelementptr i8, ptr %from, i64 %before
  br label %head
head:
  %i = phi i64 [ 0, %begin ], [ %next, %body ]
  %more = icmp slt i64 %i, %whole
  br i1 %more, label %body, label %rest
body:
  %f = getelementptr i8, ptr %from0, i64 %i
  %v = load <{VECTOR // 4} x i32>, ptr %f, align 1
  %t = getelementptr i8, ptr %to0, i64 %i
  store <{VECTOR // 4} x i32> %v, ptr %t, align {VECTOR}, !nontemporal !1
  %next = add nsw i64 %i, {VECTOR}
  br label %head
rest:
  %after = sub i64 %left, %whole
  %ends = icmp ne i64 %after, 0
  br i1 %ends, label %last, label %done
last:
  %to1 = getelementptr i8, ptr %to0, i64 %whole
  %from1 = getelementptr i8, ptr %from0, i64 %whole
  call void @llvm.memcpy.p0.p0.i64(ptr %to1, ptr %from1, i64 %after, i1 false)
  br label %done
done:
  ret void
}}
"""


def stream(w: Writer, to: str, buffer: str, size: str) -> None:
    """Write so many bytes of a buffer; the module must end with `nest.METADATA`, the function with `settle`."""
    w.support["past"] = _PAST
    w.do(f"call void @past(ptr {to}, ptr {buffer}, i64 {size})")


def settle(w: Writer) -> None:
    """Make streaming stores visible to other threads."""
    w.do("fence seq_cst")

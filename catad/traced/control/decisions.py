"""Where a program would need a number that only data give: unrolling, exploring, or an error.

A number that depends on the steps of loops alone is there once these loops are unrolled. The truth of a number that depends on
data is explored: the function is run once with each answer. Both make the trace start again (`Restart`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from catad import errors
from catad.errors.places import Place, called
from catad.traced.recorder import Region, Restart, Trace, Var, array_of

MOST_DECISIONS = 64  # of one path: a loop on data that cannot be recorded would decide without end
MOST_ASKED = 10_000  # times that one path may ask for answers it has: such a loop may ask without end


class Decision(NamedTuple):
    """A truth value on which the path of a trace depends: the variable, the lines before it, and where it was asked."""

    var: Var
    lines: int
    place: Place | None


def loops_behind(var: Var) -> set[Any] | None:
    """The loops that must be unrolled for a number to be known; None where it depends on more than their steps."""
    found: set[Any] = set()
    stack, seen = [var], set()
    while stack:
        top = stack.pop()
        if id(top) in seen or top.constant is not None:
            continue
        seen.add(id(top))
        region = top.region
        if top.wire.number in region.known:
            found.add(region.known[top.wire.number])
            continue
        args = region.writer.get(top.wire.number)
        if args is not None:
            stack.extend(args)
        elif (outer := region.outer.get(top.wire.number)) is not None:
            stack.append(outer)
        elif region.loop is not None and (region.loop.can_unroll or region.loop.limits):
            found.add(region.loop.site)
            stack.extend(region.loop.limits)
            start = region.loop.starts.get(top.wire.number)
            if start is not None:
                stack.append(start)
        else:
            return None
    return found


def unroll_for(trace: Trace, var: Var) -> None:
    """Start again with the loops unrolled on whose steps a number depends; return where that does not help."""
    loops = loops_behind(var)
    if loops:
        trace.findings.unrolled |= loops
        raise Restart()


def give_up_merging(region: Region, reason: str = "") -> None:
    """Start again without the innermost merged branch or rolled loop around; an error where there is no other way."""
    trace = region.trace
    for at in region.outward:
        if at.loop is not None and at.loop.can_unroll:
            trace.findings.unrolled.add(at.loop.site)
            raise Restart()
        if at.branch is not None:
            trace.findings.explored.add(at.branch)
            raise Restart()
        for var in () if at.loop is None else at.loop.limits:
            trace.findings.unrolled.add(at.loop.site)
            unroll_for(trace, var)
        if at.loop is not None:
            raise errors.TraceError(errors.loop_cannot_be_unrolled(at.loop.what, reason))


def on_a_path(trace: Trace) -> bool:
    """True where data have chosen what is run now."""
    around = trace.region.outward
    chosen = any(at.branch is not None or (at.loop is not None and at.loop.may_not_run) for at in around)
    return chosen or bool(trace.decisions)


def decided(trace: Trace, var: Var) -> bool | None:
    """The answer, where it has been given on the path that is being traced."""
    if trace.region is trace.root:
        for known, answer in zip(trace.decisions, trace.findings.answers, strict=False):
            if known.var.wire is var.wire:
                return bool(answer)
    return None


def decide(trace: Trace, var: Var) -> bool:
    """The answer to a truth value on the path that is being traced."""
    if var.constant is not None:
        return bool(array_of(var.constant))
    if trace.region is not trace.root:
        unroll_for(trace, var)
        give_up_merging(trace.region)
    known = decided(trace, var)
    if known is not None:
        trace.asked += 1
        if trace.asked == MOST_ASKED:
            raise errors.TraceError(errors.asked_without_end(called(), MOST_ASKED))
        return known
    k = len(trace.decisions)
    answers = trace.findings.answers
    if k == MOST_DECISIONS:
        raise errors.TraceError(errors.too_many_branches([one.place for one in trace.decisions]))
    if k == len(answers):
        answers.append(True)
    trace.decisions.append(Decision(var, len(trace.root.lines), called()))
    return answers[k]

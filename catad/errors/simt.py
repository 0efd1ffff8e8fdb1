"""Messages of kernels: launches, the words of `ct.simt`, and what a kernel may not do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from catad.errors.base import text


def word_outside(name: str) -> str:
    """A word of `ct.simt` that is used where no thread runs."""
    return text(
        f"ct.simt.{name} has a meaning only in a kernel",
        do="decorate the function with @ct.kernel, and call it with a launch: k[blocks, threads](...)",
    )


def not_a_kernel(fn: object) -> str:
    return text("not a kernel", given=repr(fn), expected="a function of Python with source and parameters, without * and **")


def without_launch(name: str) -> str:
    return text(
        f"the kernel {name} is called without a launch",
        do=f"say how many blocks and threads: {name}[blocks, threads](...), or {name}.forall(n)(...)",
    )


def bad_launch(name: str, given: object) -> str:
    return text(
        f"no launch of the kernel {name}",
        given=repr(given),
        expected="(blocks, threads), each a positive integer or a tuple of one to three of them",
    )


def too_many_threads(name: str, threads: int) -> str:
    return text(f"a launch of {name} with too many threads a block", given=threads, expected="at most 1024")


def wrong_arguments(name: str, names: Sequence[str], given: object) -> str:
    expected = f"{len(names)} argument{'s' * (len(names) != 1)}: {', '.join(names)}"
    return text(f"the kernel {name} is called with other arguments", given=given, expected=expected)


def no_such_parameter(name: str, what: str, names: Sequence[str]) -> str:
    return text(f"the kernel {name} has no such parameter", given=what, expected=", ".join(names))


def returns_value(name: str) -> str:
    return text(f"the kernel {name} returns a value", do="store it into an array that is a parameter")


def writes_nothing(name: str) -> str:
    return text(f"the kernel {name} writes into no array", do="store results into an array that is a parameter")


def store_to_number(name: str) -> str:
    return text(f"{name} is a number, and nothing can be stored into it", do="pass an array of shape (1,)")


def wrong_rank(name: str, index: Sequence[object], expected: int) -> str:
    if any(isinstance(one, slice) for one in index):
        return text(f"a slice of {name} is no number", expected="one entry", do="write a loop over the entries")
    return text(f"{name} has a wrong number of indices", given=len(index), expected=expected)


def float_index(name: str, dtype: object, where: str) -> str:
    return text(f"an index of {name} that is no integer", given=f"dtype {dtype}", where=where, do="convert it by int(...)")


def index_of_thread(name: str, index: Sequence[int], shape: Sequence[int], thread: str, where: str) -> str:
    return text(
        f"an index of {name} is out of range",
        given=f"{tuple(index)} in thread {thread}",
        expected=f"indices within shape {tuple(shape)}; negative ones do not wrap",
        where=where,
        do="guard the statement by if",
    )


def unknown_size(what: str) -> str:
    return text(f"{what} of a size that is not known while the kernel is read", do="give integers, not negative, or x.shape")


def divergent_barrier(where: str) -> str:
    return text(
        "a barrier that not all threads of a block reach",
        where=where,
        do="put the barrier outside the condition, and guard the statements around it instead of returning early",
    )


def divergent_warp(where: str) -> str:
    return text(
        "a shuffle, or a barrier of a warp, that not all threads of the warp reach",
        where=where,
        do="let all threads of the warp do it, and guard the statements around it",
    )


def no_array_attribute(name: str, known: Iterable[str]) -> str:
    return text(f"an array of a kernel has no {name}", do=f"use {', '.join(known)} and entries")


def slice_with_step() -> str:
    return text("a slice with a step", do="write indices with the step")


def wrong_word_call(name: str, given: Sequence[object], names: Sequence[str]) -> str:
    count = f"{len(given)} argument{'s' * (len(given) != 1)}"
    return text(f"ct.simt.{name} is called with other arguments", given=count, expected=f"{name}({', '.join(names)})")


def wrong_axes_of_launch() -> str:
    return text("grid and gridsize take a number of axes", expected="1, 2 or 3, a constant")


def no_such_word(name: str, do: str) -> str:
    return text(f"{name} is not supported in kernels", do=do)


def array_as_number(name: str) -> str:
    return text(f"the array {name} is used as a number", do=f"read one entry of it: {name}[i]")


def while_without_end(steps: int, where: str) -> str:
    return text(
        f"a loop of a kernel that has not ended after {steps} trips",
        where=where,
        do="look at its condition; a loop that is right needs @ct.kernel(max_steps=...)",
    )


def dropped_launch(name: str, where: str | None) -> str:
    return text(
        f"nobody reads what a launch of {name} returns: it returns the arrays that it writes, and changes no argument",
        where=where,
        do=f"use its result, as in y = {name}[blocks, threads](x, y)",
    )


def stuck_threads(waiting: Sequence[str]) -> str:
    return text(
        "threads wait at barriers that not all threads of their block or warp reach",
        given="; ".join(waiting),
        do="put the barrier where all threads come by",
    )


def skipped_print(where: str) -> str:
    return text("print in a kernel is skipped", where=where, do="run the kernel by ct.testing.threads, which prints")


def ignored_stream(name: str) -> str:
    return text(f"the stream of a launch of {name} is ignored", do="leave it out: a launch is a function of its arguments")


def race(name: str, cell: Sequence[int], accesses: Sequence[str], phase: int | None, curable: bool) -> str:
    """Two accesses to one cell that no barrier orders."""
    cure = "put syncthreads() between the two statements" if curable else "let each cell be written by one thread, or use atomics"
    here = "" if phase is None else f" (here after barrier {phase})"
    return text(
        f"a race at cell {tuple(cell)} of {name}",
        given="; ".join(accesses),
        expected=f"no thread touches a cell that another one writes between two barriers{here}",
        do=cure,
    )


def read_of_nothing(name: str, cell: Sequence[int], thread: str, where: str) -> str:
    return text(
        f"cell {tuple(cell)} of {name} is read before any thread has written it",
        given=f"a read by thread {thread}",
        where=where,
        do="write the cell before, with a barrier between",
    )


def not_a_launch(who: str, given: object) -> str:
    return text(f"{who} takes the launch of a kernel", given=repr(given), expected="k[blocks, threads] of a ct.kernel")

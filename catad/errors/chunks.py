"""Messages about arrays in chunks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from catad.errors.base import abbreviated, defined, text

if TYPE_CHECKING:
    from catad.category.spaces import Tensor


def size_text(nbytes: int) -> str:
    """A number of bytes in words."""
    for unit, power in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if nbytes >= 1 << power:
            return f"{nbytes / (1 << power):.3g} {unit}"
    return f"{nbytes} bytes"


def runs_whole(name: str, because: str, nbytes: int, limit: int) -> str:
    return text(
        f"the box {name} would run on whole arrays in one task, since {because}",
        given=f"{size_text(nbytes)} that it reads and writes",
        expected=f"at most {size_text(limit)}",
        do=f"with ct.chunking(whole_limit={nbytes}): ..., where a worker has this memory; or use boxes that run in chunks",
    )


def would_wait() -> str:
    return text(
        "this call must compute the number of steps of a while loop before it returns, and waiting is forbidden",
        given="a call within ct.no_waiting()",
        do="call it outside; or ct.iterate with a known number of steps",
    )


def too_many_steps(steps: int, boxes: int, limit: int) -> str:
    return text(
        "the steps of this loop exchange blocks, so each is laid out by itself, and these are too many",
        given=f"{steps} steps of {boxes} boxes",
        expected=f"at most {limit} boxes",
        do="fewer steps in a call, or arrays cut along axes along which steps exchange nothing",
    )


def gathers(name: str, nbytes: int, limit: int) -> str:
    return text(
        f"each task of {name} would read all blocks along axes that it needs whole",
        given=f"{size_text(nbytes)} in one task",
        expected=f"at most {size_text(limit)}",
        do=f"smaller chunks along the other axes; or with ct.chunking(whole_limit={nbytes}): ..., where workers have this memory",
    )


_CHUNKS = '"rows" (axis 0 of all arguments and results), "entries" (every axis), or labels as "ij,j->i"'


def nothing_said_of_chunks(chunks: object) -> str:
    return text("`chunks` says along which axes a function is local", given=repr(chunks), expected=f"{_CHUNKS}; None of no axis")


def wrong_chunk_labels(box: object, said: str, ins: object, outs: object) -> str:
    return text(
        "what a box says of chunks does not fit its arguments and results",
        given=f"chunks={said!r} of {abbreviated(box)}, from {abbreviated(ins)} to {abbreviated(outs)}",
        expected=f"{_CHUNKS}, with a letter for each axis, equal letters for equal sizes, and each once in a result",
    )


def other_spaces_of_chunk(box: object, found: object, expected: object) -> str:
    return text(
        "a box that says `chunks` gives other spaces on a chunk",
        given=f"{abbreviated(found)} by {abbreviated(box)}",
        expected=f"{expected}: along the axes that it says, results have as many entries as the arguments of a chunk",
        do="say only axes along which it is local, or write `of_chunk(ins, outs)`, which gives the box of a chunk",
    )


def opaque_on_whole(fn: object) -> str:
    return text(
        "a function given to ct.D that cannot be traced runs on whole arrays, in one task",
        given=defined(fn),
        do='ct.D(fn, spaces=..., chunks="rows") where rows of the argument give rows of the results and of the map\'s numbers; '
        "warnings.filterwarnings('ignore', category=ct.CatadNotice) if whole arrays are meant",
    )


def opaque_in_chunks(fn: object) -> str:
    return text(
        "a function given to ct.D cannot be traced, and arrays in chunks are not computed to find what it returns",
        given=defined(fn),
        do="say what it returns, ct.D(fn, spaces=...), or write it with operations of catad, so that it can be traced",
    )


def rows_without_spaces(chunks: object) -> str:
    return text(
        "`chunks` of ct.D says that rows of the argument give rows of the results, whose spaces are to be stated",
        given=f"chunks={chunks!r}",
        expected='ct.D(fn, spaces=..., chunks="rows")',
    )


def large_constant(nbytes: int, limit: int) -> str:
    return text(
        "a program on arrays in chunks holds a large constant, which each worker would be sent",
        given=f"{size_text(nbytes)}",
        expected=f"at most {size_text(limit)}",
        do="give it as an argument, in chunks: da.from_array(x, chunks=...); where it is part of a Jacobian that is written "
        "out, as by ct.jacfwd, take products with it: y, L = ct.linearize(f, x), then L(dx) and L.T(w)",
    )


def captured_chunks(array: Any) -> str:
    return text(
        "a function reads an array in chunks from outside",
        given=f"an array of {array.dtype} {list(array.shape)} in chunks, in a variable that is no argument of the function",
        expected="arrays in chunks as arguments: they choose how a program runs, and it is differentiated by them",
        do="give it as an argument",
    )


def does_not_pickle(box: object, error: BaseException) -> str:
    return text(
        "code in a program on arrays in chunks cannot be sent to workers",
        given=f"{abbreviated(box)}: {type(error).__name__}: {error}",
        expected="functions and boxes that cloudpickle can pickle",
        do="leave open files, locks and connections out of what the function reads, or open them inside it",
    )


def not_of_chunks(what: str) -> str:
    return text(
        "this needs the numbers of arrays in chunks at once",
        given=f"{what}, with arrays in chunks",
        expected="arrays of NumPy or CuPy",
        do="L.compute() has the coefficients of a linear map in memory; L(x) and L.T(w) take arrays in chunks",
    )


def not_a_whole_limit(limit: object) -> str:
    return text("a limit for whole arrays is a number of bytes", given=repr(limit), expected="an integer of at least 0")


def other_version(theirs: str, own: str) -> str:
    return text(
        "a worker has another version of catad than the process that made its tasks",
        given=f"tasks of catad {theirs}, on a worker with catad {own}",
        expected="one version everywhere: results are the same on every machine",
        do="install the same version on all workers",
    )


def chunk_of(at: tuple[int, ...], task: str) -> str:
    """The chunk in which an error was found, and what its task does."""
    return f'{at[0] if len(at) == 1 else at}, in the task "{task}"'


def other_block(block: Any, expected: Tensor) -> str:
    found = f"an array of {block.dtype} {list(block.shape)}" if hasattr(block, "dtype") else f"a {type(block).__name__}"
    return text(
        "a chunk is not what its array says",
        given=found,
        expected=f"{expected}",
        do="make the function that loads the chunks return arrays of the dtype and the chunk sizes that the array was given",
    )


def unknown_chunks(axis: int, ndim: int) -> str:
    return text(
        "the sizes of the chunks of a Dask array are not known",
        given=f"an array with {ndim} {'axis' if ndim == 1 else 'axes'}, whose chunks have unknown sizes along axis {axis}",
        expected="chunks of known sizes: spaces, derivatives and plans are made before numbers are computed",
        do="call compute_chunk_sizes() on the array first",
    )


def large_beside_chunks(array: Any, limit: int) -> str:
    return text(
        "an array of NumPy beside arrays in chunks goes to every worker, and this one is large",
        given=f"{array.dtype} {list(array.shape)}, {array.nbytes} bytes",
        expected=f"at most {limit} bytes ({size_text(limit)})",
        do="da.from_array(x, chunks=...), in chunks as the arrays beside it",
    )


def mixed_chunks(first: str, i: int, second: str, j: int) -> str:
    return text(
        "the chunks of one call are arrays of two libraries",
        given=f"chunks of {first} in leaf {i}, and of {second} in leaf {j}",
        expected="chunks of one library, and beside chunks on a GPU numbers alone",
        do="x.map_blocks(cupy.asarray), of an array in one chunk, too, where it stands beside others on a GPU",
    )


def not_in_chunks() -> str:
    return text(
        "a plan for chunks is made for arrays in chunks",
        given="arguments of which none is in chunks",
        expected="an array of Dask among them",
        do="dask.array.from_array(x, chunks=...) makes one",
    )


def old_dask(version: str, oldest: str) -> str:
    return text(
        "this version of Dask is too old for catad",
        given=f"Dask {version}",
        expected=f"Dask {oldest} or newer",
        do="pip install -U 'catad[dask]'",
    )


def in_chunks_already(array: object) -> str:
    return text("in_chunks cuts a whole array", given=abbreviated(array), expected="an array of NumPy")


def wrong_chunks(chunks: Sequence[object], shape: Sequence[int]) -> str:
    return text(
        "the chunks do not fit the array",
        given=f"chunks {abbreviated(tuple(chunks))} of an array of shape {tuple(shape)}",
        expected="for each axis, or for the first ones, the size of a chunk, above 0, or the sizes of all, whose sum is the axis",
    )


def not_a_seed(seed: object) -> str:
    return text("a seed chooses where arrays are cut", given=abbreviated(seed), expected="an integer of at least 0")


def differs_in_chunks(what: str, leaf: int, found: Any, expected: Any) -> str:
    worst = ""
    if found.shape == expected.shape and found.size and found.dtype.kind == "f":
        with np.errstate(all="ignore"):
            worst = f"; the largest difference is {np.nanmax(np.abs(found - expected)):.3g}"
    return text(
        f"on arrays in chunks the {what} is another",
        given=f"leaf {leaf}: {found.dtype} {list(found.shape)} {abbreviated(found, 200)}{worst}",
        expected=f"{expected.dtype} {list(expected.shape)} {abbreviated(expected, 200)}",
    )

"""Messages of tracing: ordinary Python functions that become programs."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dis import opname
from typing import Any, TypeVar

import numpy as np

from catad.errors.base import CatadError, abbreviated, defined, text
from catad.errors.places import Place, column, excerpt, innermost, of_user, shown, source_line

Shown = TypeVar("Shown", bound=BaseException)


class TraceError(CatadError, TypeError):
    """A Python function does something that has no meaning for arrays whose numbers are not known yet; a `TypeError`.

    The message names the operation, the file, the line and the column, and says what to write instead.

    >>> import catad as ct, numpy as np
    >>> @ct.function
    ... def f(x):
    ...     return np.zeros(int(x.sum()))
    >>> try:
    ...     f(np.ones(3))
    ... except ct.TraceError as error:
    ...     print(error.message.splitlines()[0])
    an index or a size needs a number, and this value is not known while the function is traced
    """


def at_line(error: CatadError, place: Place | None) -> None:
    """Say in an error where the line stands in the source of a traced function."""
    error.composed = shown(place)
    error.excerpt = None if place is None else excerpt(place)


def key_is_no_text(value: Any) -> str:
    return text(
        "a dictionary among the arguments has a key that is no text",
        given=abbreviated(list(value)),
        expected="texts as keys",
        do="use names as keys, or a list",
    )


def no_trace_runs() -> str:
    return text("this needs a function that is being traced", do="call it inside a function that ct.function traces")


def reads_outside(term: Any) -> str:
    return text(
        "a function reads an array of the traced function around it, where only its arguments can be passed",
        given=abbreviated(term, 80),
        do="pass the array as an argument",
    )


def out_of_reach(buffer: Any) -> str:
    return text(
        "an array that was made inside a branch or a loop is used outside of it",
        given=f"an array of {buffer.var.space}" + (f", made at {shown(buffer.var.place)}" if shown(buffer.var.place) else ""),
        expected="values that come out of a branch or a loop by the names that it binds",
        do="bind the array to a name before the branch or the loop",
    )


def used_elsewhere(var: Any) -> str:
    return text(
        "a stand-in for an array is used after its trace, or in another thread or trace",
        given=f"a stand-in of {var.space}" + (f", made at {shown(var.place)}" if shown(var.place) else ""),
        expected="the results that the function returns",
        do="return the value from the traced function; do not keep it in a global, a closure or an object",
    )


def write_to_captured(name: str) -> str:
    return text(
        "the function writes into an array from outside",
        given=name,
        expected="arrays that are made inside the function, or arguments",
        do="make the array inside (x.copy()), or pass it as an argument and return it",
    )


def write_through_view(why: str) -> str:
    return text(
        "the function writes through a view that cannot be written through",
        given=why,
        do="write into the array itself, or make the view an array of its own with .copy()",
    )


def array_or_number(x: Any) -> str:
    return text(
        "x op= y writes into an array without axes, or gives a new number to x, and which of them depends on data",
        given=f"{x!r}, an array before a loop that may take no step, and a number after a step",
        do="write x = x op y, or begin with a number, x = 0.0 in place of np.zeros(())",
    )


def view_or_copy(x: Any, what: str) -> str:
    return text(
        f"{what} gives a view or a copy, and one of the two arrays is read after the other one was written into",
        given=f"an array of shape {x.shape}; NumPy decides by the order of its entries in memory, which is not known here",
        do="make the two arrays independent, y = x.reshape(...).copy(), or let x be in C order before, x = x.copy()",
    )


def needs_a_number(stand_in: Any, what: str) -> str:
    var = stand_in.var_
    made = shown(var.place)
    named = f"{var.name}, " if var.name else ""
    static = 'make it a static parameter, ct.function(static=("n",)), or write it with array code (ct.index, np.where)'
    library = (
        "take the numbers out of an object of another library first, df.to_numpy(); give a function of one its derivative, ct.D"
    )
    as_it_is = f"leave the call out: a traced array is computed with as it is, and float(x) is a traced number; or {static}"
    if what == "an index or a size":
        static = (
            'make it a static parameter, ct.function(static=("n",)); or write x[k] of an array, np.stack(xs)[k] instead of the '
            "list xs[k], for i in range(k), np.where(np.arange(n) < k, x, 0)"
        )
    do = library if what == "a NumPy array" else as_it_is if what in ("x.item()", "x.tolist()") else static
    place = of_user()
    if place is not None and not source_line(place):
        do = (
            "define the function in a file or in a cell of a notebook: its source is not at hand, so float, math.sin, np.array "
            "and scipy.linalg in it are those of Python, NumPy and SciPy"
        )
    needed, value = ("numbers", "these are") if what == "a NumPy array" else ("a number", "this value is")
    return text(
        f"{what} needs {needed}, and {value} not known while the function is traced",
        given=f"{named}a value of {var.space}" + (f", made at {made}" if made else ""),
        expected=f"{needed} that {'do' if needed == 'numbers' else 'does'} not depend on the arrays",
        do=do,
    )


def unsigned_number() -> str:
    return text(
        "an unsigned integer of 64 bits as a number of Python, which a traced program computes as int64",
        given="int(x) of a value of uint64, which may be greater than all numbers of int64",
        do="convert it, x.astype(np.int64), if it is less than 2**63; or compute with it as it is",
    )


def attribute_is_set(name: str) -> str:
    return text(f"the attribute {name} of an array is set", do=f"make a new array (reshape, astype) instead of setting .{name}")


def unsupported_dtype(dtype: Any) -> str:
    kind = np.dtype(dtype)
    if kind.kind in "SU":
        return text(
            "arrays of texts are not supported",
            given=f"a text, or an array of {kind}",
            expected="arrays and numbers; a text in an argument is static, and is what it is in the function",
            do="give the numbers that are meant",
        )
    return text(
        "arrays of this dtype are not supported",
        given=kind,
        expected="float32, float64, complex64, complex128, bool, and integers of 8 to 64 bits",
        do=f"convert the array, x.astype(np.{'complex128' if kind.kind == 'c' else 'float64'})",
    )


def not_for_complex(name: str, instead: str = "compute with z.real and z.imag, or with abs(z) and np.angle(z)") -> str:
    return text(
        f"{name} has no meaning for complex numbers that are traced",
        given="a complex array, or a complex dtype",
        expected="arithmetic, elementary functions, sums, products, and functions that move entries",
        do=instead,
    )


def complex_in_real_place(value: Any) -> str:
    return text(
        "a complex number stands where a real one must stand",
        given=f"{getattr(value, 'dtype', type(value).__name__)}, of shape {getattr(value, 'shape', ())}",
        expected="a real number or array",
        do="take a part of it, z.real or z.imag, or make the array that it goes into with dtype=complex",
    )


def unknown_function(name: str, nearest: str = "") -> str:
    return text(
        f"{name} has no meaning for arrays that are traced",
        do=nearest or "write it with other functions of NumPy (docs/functions.md lists them), or as ct.D with its derivative",
    )


def unknown_parameter(name: str, parameter: str) -> str:
    return text(f"{name} is not traced with the parameter {parameter}", do=f"leave {parameter} out, or write it in other words")


def not_of_a_result(name: str, known: Sequence[str]) -> str:
    return text(f"the result of a traced search has no {name}", expected=", ".join(known))


def lu_of_no_square(shape: tuple[int, ...]) -> str:
    return text(
        "scipy.linalg.lu_factor is traced for square matrices alone",
        given=f"an array of shape {shape}",
        do="take p, l, u = scipy.linalg.lu(a), which has the factors as matrices",
    )


def order_of_memory(order: str) -> str:
    return text(
        "the order of entries in memory is not known while the function is traced",
        given=f"order={order!r} for an array of several axes",
        do="order='C' for the last axis first, order='F' for the first axis first",
    )


def whole_power() -> str:
    return text(
        "an integer to the power of integers that may be negative",
        given="signed exponents that depend on data, for which NumPy raises ValueError where one is negative",
        do="convert an operand, x.astype(np.float64) ** n, or let the exponents be unsigned, n.astype(np.uint64)",
    )


def directive_of_arrays(given: str) -> str:
    return text(
        "np.r_ and np.c_ make matrices here, or the directive is unknown",
        given=f"{given!r} before the arrays",
        expected='arrays alone, or one to three numbers: the axis, the least rank, where new axes stand, "0,2,1"',
        do="join arrays by np.concatenate or np.stack",
    )


def shape_depends_on_data(what: str) -> str:
    return text(
        "the shape of a result would depend on data",
        given=what,
        expected="operations whose shapes follow from the shapes of the arguments",
        do="use np.where(mask, ..., ...), compute under one mask (x[m] = g(x[m])), or ct.at[...]",
    )


def length_of_bincount() -> str:
    return text(
        "the length of np.bincount is the greatest number, which is data",
        expected="minlength=n, the length of the result; a number from n on raises IndexRangeError when the program runs",
        do="np.bincount(x, minlength=n)",
    )


def numpy_refuses(ufunc: Any, error: Exception) -> str:
    return text(f"np.{ufunc.__name__} does not take these", given=str(error).splitlines()[0])


def matmul_of_numbers(a: Any, b: Any) -> str:
    return text("matmul needs arrays with axes", given=f"{a} @ {b}", do="multiply a number with *")


def cannot_cast(given: Any, into: Any, casting: str) -> str:
    return text(
        "an array cannot take values of this dtype in place",
        given=f"values of {given} for an array of {into}, casting {casting!r}",
        do=f"convert the values, .astype(np.{into}), or make the array of {given}",
    )


def dtype_on_data(what: str) -> str:
    return text(
        f"an array has another dtype before a {what} on data than after a step of it, and is written into",
        do="make it of the wider dtype from the start, for example x.astype(float)",
    )


def rounds_each_time(ufunc: np.ufunc, given: Any, into: Any) -> str:
    name = f"np.{ufunc.__name__}.at"
    return text(
        f"{name} would round to a whole number each time that an index occurs",
        given=f"values of {given} for an array of {into}",
        do=f"make the array of {given}, x.astype(np.{given}), or convert the values, .astype(np.{into})",
    )


def number_or_array(value: Any) -> str:
    return text(
        "whether an argument without axes is a number or an array of NumPy is not known while the function is traced",
        given=f"a value of {value.space}",
        do="ask np.ndim(x) == 0, or give a Python number, or make it an array: np.asarray(x)",
    )


def random_numbers() -> str:
    return text(
        "random numbers would be drawn once, while the function is traced, and stay the same for ever",
        expected="random numbers as an argument",
        do="draw them outside, and pass them to the function",
    )


def loop_cannot_be_unrolled(what: str, reason: str) -> str:
    return text(
        f"the body of a {what} on data does something that a program cannot repeat",
        given=reason or "a change of a Python object, or a value that must be a number",
        expected="names that hold arrays of the same shapes after each step",
        do="make arrays of their full size before the loop and write into them; keep lists out of it",
    )


def may_be_one_array(what: str, names: Sequence[str]) -> str:
    return text(
        f"two names may be one array after a {what} on data, and one is read after a write into the other",
        given=f"the loop leaves {', '.join(names)}",
        do="copy() the array: before the loop, in it, or before writing into it",
    )


def too_many_branches(places: Sequence[Place | str | None]) -> str:
    """`places` are those of decisions, or texts that say where these are."""
    hidden = any(isinstance(place, tuple) and not source_line(place) for place in places)
    said = [place if isinstance(place, str) else shown(place) or "?" for place in places]
    given = "decisions at " + ", ".join(dict.fromkeys(said))
    if hidden:
        return text(
            "the function has more than 64 paths that data choose, or a loop on data, and its source is not at hand",
            given=given,
            expected="source from which loops and branches are recorded: of a file, or of a cell of a notebook",
            do="define the function in a file, or write the loop as ct.while_loop or ct.iterate and the branch as np.where",
        )
    return text(
        "the function has more than 64 paths that data choose",
        given=given,
        expected="branches that can be recorded side by side",
        do="use np.where, or let both sides of an if bind the same names, or both return",
    )


def asked_without_end(place: Place | None, times: int) -> str:
    return text(
        "a loop that cannot be recorded asks one thing of data without end",
        given=f"the truth of one value, {times} times on one path",
        expected="a condition that changes with the steps of the loop",
        where=shown(place),
        do="keep nonlocal, global and changes of Python objects out of functions with a while on data",
    )


def nested_too_deep(fn: Any, error: SyntaxError) -> str:
    return text(
        "the function nests its loops and branches too deep to be traced",
        given=str(error.msg),
        where=defined(fn),
        do="move the inner ones into a function of their own",
    )


def paths_differ(a: Any, b: Any, place: str | None) -> str:
    return text(
        "the function returns values of different spaces on two paths that data choose",
        given=f"{a} and {b}",
        where=place,
        do="return arrays of one shape on both paths",
    )


def raised_on_a_path(error: BaseException | None, places: Sequence[str | None]) -> str:
    unbound = isinstance(error, UnboundLocalError)
    return text(
        "the function raises an exception on a path that data choose",
        given="one that the program catches" if error is None else f"{type(error).__name__}: {error}",
        where=", ".join(dict.fromkeys([place or "?" for place in places])),
        do="bind the variable on both sides of the branch" if unbound else "test before the call, or return NaN on that path",
    )


def captured_changed(name: str) -> str:
    return text(
        "an array that the function reads from outside has changed since it was traced",
        given=name,
        do=f'pass it as an argument, or name it: ct.function(free=("{name}",))',
    )


def function_without_name(fn: Any, in_programs: bool) -> str:
    program = "pickle the program instead: f.at(*arguments) has no Python function in it"
    by_name = "define it with `def` at the top level of a module"
    return text(
        "a function that has no name in its module cannot be pickled",
        given=defined(fn),
        do=f"{by_name}, or use cloudpickle" if in_programs else program,
    )


def show_source(error: Shown, place: Place | None = None) -> Shown:
    """The error, in which the line of the user's source is shown that it comes from, with a caret."""
    place = innermost(error) if place is None else place
    if place is not None and isinstance(error, CatadError):
        error.excerpt = excerpt(place)
        error.called, error.calling = column(place), None
    elif place is not None:
        add_note(error, f"  where:    {column(place)}\n{excerpt(place) or ''}".rstrip())
    return error


def add_note(error: BaseException, note: str) -> None:
    """Add a note to an error of the user's code, once, unless its class refuses that, such as a frozen dataclass."""
    with contextlib.suppress(Exception):
        if note not in getattr(error, "__notes__", ()):
            error.add_note(note)


def hint_no_source(error: BaseException) -> None:
    """Say in an error of the user's code that this has no source, where arrays of NumPy were given what is traced."""
    place = innermost(error)
    if place is not None and not source_line(place) and isinstance(error, (TypeError, ValueError)):
        add_note(
            error,
            "  given:    a function whose source is not at hand, so that np.zeros and float in it are NumPy's and Python's\n"
            "  do:       define it in a file or in a cell of a notebook, or make arrays with np.stack and ct.at",
        )


def are_containers(tuples: Sequence[str], lists: Sequence[str]) -> str:
    """What is added to an error of the user's code where arguments are tuples or lists."""
    lines = []
    if tuples:
        lines += [
            f"  given:    {', '.join(tuples)}: {'a tuple' if len(tuples) == 1 else 'tuples'}, which stays one in the function",
            "  do:       take it apart, a, b = p, or give an array, np.asarray(x); a space that is a product stands for tuples, "
            "so give dicts as example values, f.at(*arguments)",
        ]
    if lists:
        lines += [
            f"  given:    {', '.join(lists)}: {'a list' if len(lists) == 1 else 'lists'} of numbers",
            "  do:       give an array, np.asarray(x); lists are trees, and stay lists in the function",
        ]
    return "\n".join(lines)


def raised_by_user(error: BaseException) -> bool:
    """True for an exception that a `raise` of the user raises."""
    place = innermost(error)
    return place is not None and opname[place[0].co_code[place[1]]] in ("RAISE_VARARGS", "RERAISE")


class NonFiniteError(CatadError, FloatingPointError):
    """A traced function has made a NaN or an infinity, inside `ct.debug_nans()`; a `FloatingPointError`.

    The message names the operation, the file and the line.

    >>> import catad as ct, numpy as np
    >>> try:
    ...     with ct.debug_nans():
    ...         ct.function(lambda x: np.sqrt(x))(np.array([-1.0]))
    ... except ct.NonFiniteError as error:
    ...     print(error.message.splitlines()[0])
    a traced function has made NaN of finite numbers
    """


def made_not_finite(what: str, term: Any) -> str:
    return text(
        f"a traced function has made {what} of finite numbers",
        given=abbreviated(term, 60),
        do="look at its arguments with ct.debug_print, or choose another value there by an if",
    )


def derivative_not_finite() -> str:
    return text(
        "a derivative is not finite, though all values are",
        expected="functions that are smooth at the point",
        do="look for roots, logarithms and norms at 0; an if keeps what is not taken out of the derivative",
    )


for _class in (TraceError, NonFiniteError):
    _class.__module__ = "catad.errors"  # where people find it


def points_fall() -> str:
    return text(
        "np.interp needs points xp in increasing order",
        given="points of which one is below the one before it, or NaN",
        do="sort them, with fp in the same order: i = np.argsort(xp)",
    )

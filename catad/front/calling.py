"""Calls of terms in which Python functions take the arguments: dicts, dataclasses, lists and keywords in, trees out.

`Point` is a call taken apart: the term with programs in place of its functions, and the plain value of its domain. A call of
plain arrays, or of a tree that was met before, finds its program by the shapes and dtypes in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from catad import errors
from catad.category.cache import cache_of, cached
from catad.category.cartesian import Proj, Structural
from catad.category.spaces import Space, Tensor, flatten, rebuild, space_like
from catad.category.terms import Compose, Cross, D, Fork, Id
from catad.category.trip_counts import TripCountChanged, with_trip_counts
from catad.category.wiring import at_point
from catad.derivative.functors import Differential, ReverseDifferential, Tangent
from catad.engine.program import Program, program_of, run_assuming
from catad.front.specialise import OF_PAIRS, Front, front_of, function_of, specialised
from catad.traced.arrays.operators import weakened
from catad.traced.arrays.stand_in import Traced, fresh
from catad.traced.debug import watches
from catad.traced.open_terms import measuring, open_parts
from catad.traced.programs.program import Program as Written
from catad.traced.signature import Form
from catad.values.arrays import as_array, as_number, common_module, is_weak, weak_dtype
from catad.values.complex_numbers import is_complex
from catad.values.trees import NotOfThisForm, Static, Tree, entries_of, plain, tree_leaves


class Point(NamedTuple):
    """A call taken apart.

    `leaves` are the arrays of the domain, or what stands for them in a trace; `tree` is that of the result, None where it is
    arrays in tuples.
    """

    term: D
    form: Form
    leaves: list[Any]
    dom: Space
    tree: Tree | None
    speaks: bool = True  # trees; else they are arrays in tuples

    @property
    def value(self) -> Any:
        """The value of the domain, arrays in tuples."""
        return rebuild(self.dom, self.leaves)

    @property
    def is_symbolic(self) -> bool:
        """True where stand-ins or wires are among the leaves, or functions in the term read stand-ins."""
        return any(hasattr(type(leaf), "builder") for leaf in self.leaves) or bool(open_parts(self.term))


def point(term: D, args: Sequence[Any], kwargs: dict[str, Any]) -> Point:
    """A call of a term that speaks trees, taken apart; what is the same for all calls of a kind is kept with the term."""
    front: Front = term._front
    front.check()
    read: list[Any] = []
    key = _key(front, args, kwargs, read)
    entry = None if key is None else cache_of(term).get(("point", key))
    if entry is not None:
        kind: _Kind = entry.value
        return Point(kind.term, kind.form, read if kind.order is None else [read[k] for k in kind.order], kind.dom, kind.tree)
    form, value = taken(term, args, kwargs)
    leaves, dom = leaves_of(value)
    with measuring():
        made, tree = specialised(term, form, dom)
    found = Point(made, form, leaves, dom, tree)
    order = _order(front, args, kwargs) if kwargs and key is not None else None
    if key is not None and not found.is_symbolic and are_read(read, leaves, order):
        cached(term, ("point", key), lambda: _Kind(made, form, dom, tree, order))
    return found


class _Kind(NamedTuple):
    """What calls of one kind have in common; `order` as in `Called`."""

    term: D
    form: Form
    dom: Space
    tree: Tree | None
    order: list[int] | None


def are_read(read: Sequence[Any], leaves: Sequence[Any], order: Sequence[int] | None = None) -> bool:
    """True where the arrays that were read are the leaves, and none has been converted first."""
    if len(read) != len(leaves):
        return False
    ordered = read if order is None else [read[k] for k in order]
    other = [(a, b) for a, b in zip(ordered, leaves, strict=True) if a is not b and isinstance(a, np.ndarray)]
    return all(_is_same_view(a, b) for a, b in other)


def _is_same_view(a: Any, b: Any) -> bool:
    """True for two views of the same part of complex numbers."""
    return is_complex(a.base) and isinstance(b, np.ndarray) and a.__array_interface__ == b.__array_interface__


def leaves_of(value: Any) -> tuple[list[Any], Space]:
    """The leaves of a value and its space. Python numbers are arrays of their own, float64, int64 or bool."""
    leaves = [leaf if is_weak(leaf) or hasattr(type(leaf), "builder") else as_array(leaf) for leaf in flatten(value)]
    xp = common_module([leaf for leaf in leaves if not is_weak(leaf) and not hasattr(type(leaf), "builder")])
    made = []
    for leaf in leaves:
        if is_weak(leaf):
            leaf = as_number(xp, leaf, weak_dtype(leaf, ()))
            leaf = leaf[()] if xp is np else leaf  # a number into which nobody writes, as later calls read it
        made.append(leaf)
    spaces = [leaf.space if hasattr(type(leaf), "builder") else Tensor(leaf.shape, leaf.dtype) for leaf in made]
    return made, space_like(value, spaces)


# -- taking a call apart


@singledispatch
def taken(term: D, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Form, Any]:
    """The form of a call, and the value of the domain."""
    front = front_of(term)
    if front is not None and front.program is not None:
        return _by_program(term, front.program, args, kwargs)
    if front is None or front.function is None:
        return _by_position(term, args, kwargs, [plain(arg) if _passes_trees(term) else _own(arg) for arg in args])
    function = front.function
    try:
        form, values = function.form_of(args, kwargs)
    except errors.ArgumentError:
        if kwargs or len(args) != 1 or type(args[0]) is not tuple or function.takes_the_whole:
            raise
        form, values = function.form_of(args[0], {})  # f((x, y)) is f(x, y)
    return form, values[0] if len(values) == 1 else tuple(values)


def _passes_trees(term: D) -> bool:
    """True for rearrangements of tuples, which leave trees as they are."""
    first = term.factors[0] if isinstance(term, Compose) else term
    if isinstance(first, Fork):
        return any(map(_passes_trees, first.children))
    return isinstance(first, (Structural, Proj, Id, Cross))


def _own(arg: Any) -> tuple[Any, Tree]:
    """An argument of a morphism that takes no trees: arrays in tuples."""
    value, tree = plain(arg)
    if not tree.of_arrays().is_of_arrays:
        raise errors.SpaceError(errors.not_a_value(arg))
    return value, tree


def _by_position(term: D, args: Sequence[Any], kwargs: dict[str, Any], found: Sequence[tuple[Any, Tree]]) -> tuple[Form, Any]:
    if kwargs:
        raise errors.SpaceError(errors.no_keywords(term, kwargs))
    if not args:
        raise errors.SpaceError(errors.no_arguments(term))
    if len(found) == 1:
        return Form((found[0][1],)), found[0][0]
    return Form(tuple([tree for _, tree in found])), tuple([value for value, _ in found])


def _by_program(term: D, program: Written, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Form, Any]:
    """A program takes the trees for which it was made, or arrays in tuples."""
    own = program.notes.form
    found = [plain(arg) for arg in args]
    trees = [own.trees[k] for k in own.dynamic]
    if not kwargs and [tree.of_arrays() for _, tree in found] == [tree.of_arrays() for tree in trees]:
        values = [value for value, _ in found]
        return Form(tuple(trees)), values[0] if len(values) == 1 else tuple(values)
    return _by_position(term, args, kwargs, [_own(arg) for arg in args])


@taken.register
def _(term: Cross, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Form, Any]:
    args = args[0] if len(args) == 1 and type(args[0]) is tuple else args
    return _by_position(term, args, kwargs, [plain(arg) for arg in args])


@taken.register
def _(
    term: Tangent | Differential | ReverseDifferential, args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[Form, Any]:
    """A point, and a tangent or cotangent there."""
    args = args[0] if len(args) == 1 and type(args[0]) is tuple else args
    if kwargs or len(args) != 2:
        raise errors.SpaceError(errors.no_keywords(term, kwargs) if kwargs else errors.not_a_pair_of(term, args))
    f = term.children[0]
    inner, x = taken(f, primals_of(f, args[0]), {})
    tree: Tree | None = inner.tree
    if isinstance(term, ReverseDifferential):
        _, dom = leaves_of(x)
        tree = specialised(f, inner, dom)[1]
    v = args[1] if tree is None else stripped(tree, args[1], "cotangent" if isinstance(term, ReverseDifferential) else "tangent")
    return Form((inner.tree, plain(v)[1]), (), inner), (x, v)


def primals_of(f: D, x: Any) -> Sequence[Any]:
    """A value of the domain as the arguments of a call."""
    function = function_of(f)
    whole = function is None or function.takes_the_whole or type(x) is not tuple
    if isinstance(f, OF_PAIRS) and type(x) is tuple:
        return x
    return (x,) if whole else x


def stripped(tree: Tree, value: Any, what: str) -> Any:
    """The plain form of a tangent or cotangent of values of a form."""
    try:
        return tree.strip(value)
    except NotOfThisForm as error:
        raise errors.SpaceError(errors.other_tree(what, tree, error.value)) from None


def restored(tree: Tree | None, value: Any) -> Any:
    """A result in its tree; numbers of a trace are numbers again."""
    if tree is None:
        return value
    return tree.restore(value, _number_again)


def _number_again(leaf: Any, _: type) -> Any:
    return fresh(leaf.trace_, weakened(leaf.trace_, leaf.var_)) if isinstance(leaf, Traced) else leaf


# -- calls


def applied(term: D, value: Any) -> Any:
    """The result of a term on wires or on stand-ins of a trace, which stands for it."""
    opens = open_parts(term)
    if opens:
        from catad.front.closure_conversion import apply_closed  # late: few functions read stand-ins from outside

        return apply_closed(term, value, leaves_of(value)[1], opens)
    builder = next(leaf.builder for leaf in flatten(value) if hasattr(type(leaf), "builder"))
    return builder.apply(term, builder.wires(value))


class _Unknown(Exception):
    """A call that must be taken apart before its program can be found."""


_NUMBERS = {float: np.float64, int: np.int64, bool: np.bool_}


def _read(value: Any, leaves: list[Any]) -> Any:
    """Put the leaves of an argument into a list; what is returned is equal for arguments of equal spaces and trees."""
    kind = type(value)
    if kind is np.ndarray:
        return _read_array(value, leaves)
    if kind is dict:
        keys = sorted(value)
        return (dict, *value, *[_read(value[key], leaves) for key in keys])
    if kind is tuple or kind is list:
        return (kind, *_parts(value, leaves))
    if kind in _NUMBERS:
        leaves.append(_NUMBERS[kind](value))
        return kind
    if isinstance(value, np.generic):
        leaves += [value.real, value.imag] if is_complex(value) else [value]
        return kind, None
    if kind is complex:
        leaves += [np.float64(value.real), np.float64(value.imag)]
        return kind
    if hasattr(value, "dtype"):
        raise _Unknown
    entries = entries_of(value)
    if entries is None:
        return Static(value)
    return (kind, *getattr(entries[0], "order", entries[0]), *[_read(part, leaves) for part in entries[1]])


def _read_array(value: Any, leaves: list[Any]) -> Any:
    dtype = value.dtype
    if dtype.kind == "c":
        leaves += [value.real, value.imag]
    else:
        leaves.append(value)
    return value.shape, dtype


def _parts(values: Sequence[Any], leaves: list[Any]) -> list[Any]:
    """`_read` for each of some values; most are arrays."""
    found: list[Any] = []
    for value in values:
        if type(value) is np.ndarray:
            found.append(_read_array(value, leaves))
        else:
            found.append(_read(value, leaves))
    return found


def _key(front: Front, args: Sequence[Any], kwargs: dict[str, Any], leaves: list[Any]) -> Any:
    """What is equal for calls that run one program; None where that is not known."""
    try:
        if not front.places:
            parts = _parts(args, leaves)
        else:
            parts = [Static(arg) if k in front.places else _read(arg, leaves) for k, arg in enumerate(args)]
        parts.append(front.trees)
        if kwargs:
            parts += [(name, Static(arg) if name in front.names else _read(arg, leaves)) for name, arg in kwargs.items()]
        return tuple(parts)
    except (_Unknown, TypeError, OverflowError, errors.CatadError):
        return None


def call_key(term: D, args: Sequence[Any]) -> tuple[Any, list[Any]]:
    """What is equal for calls of a term that run one program, None where that is not known; and the leaves of the arguments."""
    leaves: list[Any] = []
    front = front_of(term)
    if front is not None:
        return _key(front, args, {}, leaves), leaves
    try:
        return tuple([_read_arrays(arg, leaves) for arg in args]), leaves
    except _Unknown:
        return None, leaves


def _read_arrays(value: Any, leaves: list[Any]) -> Any:
    """The same as `_read` for arrays in tuples; anything else is converted first."""
    if type(value) is np.ndarray:
        leaves.append(value)
        return value.shape, value.dtype
    if type(value) is tuple:
        return (tuple, *[_read_arrays(part, leaves) for part in value])
    raise _Unknown


class Called(NamedTuple):
    """A program for calls of one key: `order` are the positions of its arguments among the leaves that were read, where they
    stand in another order."""

    program: Program
    order: list[int] | None
    finish: Callable[[list[Any]], Any]


def call_term(term: D, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The value of a term that speaks trees."""
    if watches():
        return _watched(term, args, kwargs)
    front: Front = term._front
    leaves: list[Any] = []
    found: TripCountChanged | None = None
    key = _key(front, args, kwargs, leaves)
    try:
        entry = None if key is None else cache_of(term).for_call(key)
        if entry is not None:
            front.check()
            called: Called = entry.value
            if called.order is not None:
                leaves = [leaves[k] for k in called.order]
            try:
                return called.finish(run_assuming(entry.loops, called.program, leaves))
            except TripCountChanged as error:
                found = error
        return _call(term, args, kwargs, key, leaves, found)
    except errors.CatadError as error:
        errors.made_at(error, term)
        if error.excerpt is None:
            explained(error, term, args, kwargs)
        raise


def explained(error: errors.CatadError, term: D, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """Show where in the source of a traced function an error of the running program comes from."""
    if isinstance(error, (errors.TraceError, errors.SpaceError)):
        return
    if isinstance(error, errors.ArgumentError) and not isinstance(error, errors.EndlessLoop):
        return
    from catad.traced.by_line import locate, place_of  # late: only where something is wrong

    at = point(term, args, kwargs)
    written = _program_of(at.term)
    if isinstance(error, errors.EndlessLoop):
        errors.show_source(error, None if written is None else place_of(written, error.loop))
        return
    if written is not None and not at.is_symbolic:
        locate(error, written, at.value)


def _program_of(term: D) -> Written | None:
    """The program of the function whose arguments are those of the term."""
    while not isinstance(term, Written):
        if not term.children or isinstance(term, OF_PAIRS):
            return None
        term = term.children[0]
    return term


def _watched(term: D, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The value of a term, inside `ct.debug_nans()`."""
    at = point(term, args, kwargs)
    made = _call(term, args, kwargs, None, [], None)
    written = _program_of(at.term)
    leaves = [np.asarray(leaf) for leaf in tree_leaves(made) if hasattr(leaf, "dtype")]
    if at.is_symbolic or written is None or all(np.isfinite(leaf).all() for leaf in leaves if leaf.dtype.kind == "f"):
        return made
    from catad.traced.by_line import find_nans  # late, as above

    find_nans(written, at.value)
    if at.term is not written and all(np.isfinite(leaf).all() for leaf in at.leaves if leaf.dtype.kind == "f"):
        raise errors.NonFiniteError(errors.derivative_not_finite())
    return made


def _call(term: D, args: Sequence[Any], kwargs: dict[str, Any], key: Any, read: list[Any], found: TripCountChanged | None) -> Any:
    at = point(term, args, kwargs)
    if at.is_symbolic:
        return restored(at.tree, applied(at.term, at.value))
    order = _order(term._front, args, kwargs) if kwargs and key is not None else None
    if key is not None and not are_read(read, at.leaves, order):
        key = None
    xp = common_module(at.leaves)

    def made() -> Called:
        program, cod = program_of(at.term, at.dom)
        return Called(program, order, _finish(cod, at.tree))

    def call() -> Any:
        with at_point(at.dom, lambda: (xp, at.leaves)):
            called = made() if key is None else cached(term, key, made)
        return called.finish(called.program(xp, at.leaves))

    return with_trip_counts(call, found)


def _finish(cod: Space, tree: Tree | None) -> Callable[[list[Any]], Any]:
    """What makes the result of its leaves."""
    if tree is not None and len(tree.leaves) == len(cod.leaves):
        return _first if isinstance(cod, Tensor) and tree.kind in ("leaf", "number") else tree.maker()
    return _first if isinstance(cod, Tensor) else lambda out: rebuild(cod, out)


def _first(out: list[Any]) -> Any:
    return out[0]


def _order(front: Front, args: Sequence[Any], kwargs: dict[str, Any]) -> list[int] | None:
    """Where the leaves of the domain stand among those of the arguments as they are written."""
    if front.function is None:
        return None
    ranges = []
    start = 0
    for k, (name, arg) in enumerate([*[("", arg) for arg in args], *kwargs.items()]):
        static = name in front.names if name else k in front.places
        leaves: list[Any] = []
        if not static:
            _read(arg, leaves)
        ranges.append(range(start, start + len(leaves)))
        start += len(leaves)
    n = len(args)
    positional, named = front.function.sorted_arguments(ranges[:n], dict(zip(kwargs, ranges[n:], strict=True)))
    return [k for _, own in (*positional, *named) for k in own]

"""Messages of calls of functions: what a function may be, its arguments, trees and axes."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from inspect import Signature, unwrap
from typing import Any

from catad.errors.base import abbreviated, about, defined, text


def not_a_plain_function(given: Any) -> str:
    return text(
        "ct.function takes a plain Python function",
        given=abbreviated(given),
        expected="a function, a method, a partial, or an object with __call__",
        do="a morphism (ct.sin, f >> g) is one already; of a class pass a function that calls it",
    )


def is_async(fn: Any) -> str:
    return text("an async function or a generator cannot be traced", given=defined(fn), do="return the values instead")


def unknown_static(names: Sequence[str], fn: Any, which: str, known: Sequence[str]) -> str:
    what = "variables that the function does not read from outside" if which == "free=" else "parameters that it does not have"
    expected = None if which == "free=" else f"names among {', '.join(known)}" if known else "a function with parameters"
    return about(fn, f"{which} of a function names {what}", ", ".join(map(repr, names)), expected=expected)


def unhashable_static(name: str, value: Any) -> str:
    return text(
        f"the static argument {name} is not hashable",
        given=abbreviated(value),
        do="pass a tuple instead of a list, or let it be traced",
    )


def static_elsewhere(name: str, fn: Any) -> str:
    return text(
        f"the parameter {name} is static in one function and takes arrays in another one at the same place",
        where=defined(fn),
        do="make it static in both, or fix it with f.bind",
    )


def no_keywords(term: Any, kwargs: Any) -> str:
    return text(
        "a morphism takes its arguments by position",
        given=", ".join([f"{name}=..." for name in kwargs]),
        where=abbreviated(term, 80),
        do="leave the names out; functions of ct.function take names",
    )


def not_a_pair_of(term: Any, args: Sequence[Any]) -> str:
    return text(
        "a tangent functor takes a point and a tangent or cotangent",
        given=f"{len(args)} arguments",
        where=abbreviated(term, 80),
        do="give the point as one argument, a tuple where it has several factors",
    )


def other_tree(what: str, tree: Any, value: Any) -> str:
    return text(
        f"the {what} has another form than the value that it belongs to",
        given=abbreviated(value),
        expected=f"a tree like {tree}",
        do="give a tree with the same keys; None or () stands for the tangents of integers",
    )


def trees_differ(where: str, first: Any, second: Any) -> str:
    return text("values of one form are needed", given=f"{first} and {second}", where=where, do="return the same tree in both")


def no_such_argument(argnum: int, args: Sequence[Any], term: Any) -> str:
    return text(
        "there is no argument with this number",
        given=f"argnums {argnum}",
        expected=f"-{len(args)} to {len(args) - 1}, the arguments by position",
        where=abbreviated(term, 80),
    )


def no_such_argument_name(name: str, names: Sequence[str], term: Any) -> str:
    near = difflib.get_close_matches(name, names, n=1)
    return about(
        term,
        f"there is no argument with the name {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""),
        f"argnums {name!r}",
        expected=f"one of {', '.join(map(repr, names))}" if names else "a number: no argument by position has a name",
        width=80,
    )


def not_axes(what: str, given: Any) -> str:
    return text(
        f"{what} says which axes are mapped over",
        given=abbreviated(given),
        expected="an integer, None, or a tuple, list or dict of these",
    )


def axes_do_not_fit(what: str, axes: Any, tree: Any) -> str:
    shown_ = ", ".join(map(str, tree)) if type(tree) is tuple else str(tree)
    return text(
        f"{what} does not fit the {'arguments' if what == 'in_axes' else 'result'}",
        given=abbreviated(axes),
        expected=f"one axis, or axes like {shown_}",
        do="give one axis for all, or a tuple with one for each argument, with dicts and lists as in the argument",
    )


def no_axis_to_map(axis: int, space: Any, term: Any) -> str:
    return about(
        term, f"there is no axis {axis} to map over", space, do="give None for an argument that is not mapped", width=80
    )


def no_common_size(sizes: Sequence[int], space: Any, term: Any) -> str:
    return text(
        "mapping needs axes of one size" if sizes else "mapping needs an argument that is mapped",
        given=f"{space}, sizes {', '.join(map(str, sizes)) or 'none'}",
        where=abbreviated(term, 80),
        do="give the axis of at least one argument in in_axes; all of them have the same size",
    )


def result_is_mapped(space: Any, term: Any) -> str:
    return text(
        "out_axes is None for a result that differs from entry to entry",
        given=space,
        where=abbreviated(term, 80),
        do="give the axis at which the entries stand",
    )


def argument_twice(argnums: Any) -> str:
    return text("argnums names an argument twice", given=argnums, do="name each argument once")


def no_linear_map(what: str, instead: str) -> str:
    return text(
        f"{what} gives a linear map with its numbers, which are not known while a function is traced",
        do=f"inside a traced function use {instead}",
    )


def static_argument(argnum: int, tree: Any, term: Any) -> str:
    return text(
        "there is nothing to differentiate in this argument: it is static",
        given=f"argnums {argnum}, {tree}",
        where=abbreviated(term, 80),
        do="name an argument with floating arrays in argnums",
    )


def does_not_bind(error: Exception, fn: Any, signature: Signature) -> str:
    name = getattr(fn, "__name__", type(fn).__name__)
    parameters = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    signature = signature.replace(parameters=parameters, return_annotation=Signature.empty)
    return text(
        "the arguments do not fit the function",
        given=str(error),
        expected=f"{name.replace('<lambda>', 'f')}{signature}",
        where=defined(unwrap(fn)),
        do="give them by position or by name, as in a call of the Python function",
    )


def wrong_factor_count(signature: Signature, static: Sequence[str], space: Any, fn: Any) -> str:
    parameters = signature.parameters.values()
    fixed = [p.name for p in parameters if p.name in static and p.default is p.empty]
    if fixed:
        return text(
            "a static parameter has no value",
            given=", ".join(fixed),
            where=defined(fn),
            do=f"fix it first: f.bind({', '.join([f'{name}=...' for name in fixed])})",
        )
    names = [p.name for p in parameters if p.name not in static]
    return text(
        f"the function takes the arguments {', '.join(names)}" if names else "the function takes no arguments",
        given=f"a value of {space}",
        expected="a product with a factor for each of them",
        where=defined(fn),
    )


def not_a_result(value: Any) -> str:
    return text(
        "the function returns what is no array",
        given=abbreviated(value),
        expected="arrays and numbers, or tuples, lists, dicts and dataclasses of them",
    )

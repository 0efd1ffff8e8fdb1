"""Helpers of the tests of the scalar language."""

import itertools
import linecache

import numpy as np

from catad.scalar import Function, array_function, partials

_files = itertools.count()


def run(function, *arrays):
    """The outputs of a scalar function on arrays, arithmetic warnings off."""
    with np.errstate(all="ignore"):
        return array_function(function)(np, *arrays)


def run_partials(function, wrt, *arrays):
    """Rows of partials on arrays, structural zeros as None."""
    rows = partials(function, wrt)
    flat = [node for row in rows for node in row if node is not None]
    values = iter(run(Function.make(function.arity, flat, (None,) * len(flat)), *arrays)) if flat else iter(())
    return [[None if node is None else next(values) for node in row] for row in rows]


def define(source, name="f", **scope):
    """A function from source text that the reader can find, as in a notebook."""
    file = f"<test source {next(_files)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    scope = {"np": np, **scope}
    exec(compile(source, file, "exec"), scope)
    return scope[name]


def define_without_source(source, name="f", **scope):
    """A function that has no source, as typed at a prompt."""
    exec(compile(source, "<string>", "exec"), scope)
    return scope[name]


def same(a, b):
    """Bit for bit the same numbers, NaN equal to NaN, zeros with their sign."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    return np.array_equal(a, b, equal_nan=True) and np.array_equal(np.signbit(a) | np.isnan(a), np.signbit(b) | np.isnan(b))

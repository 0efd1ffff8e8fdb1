"""Reading a Python function into the scalar language."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

from catad import errors
from catad.errors import ScalarError
from catad.scalar.ir import COMPLEX, Function, Tree, as_tree, leaf_count, leaves, param, tree_of, unflatten
from catad.scalar.reading.signatures import arity_of, most_of, said_arity, takes


def read(fn: Any, param_trees: Sequence[Tree] | None = None) -> Function:
    """Read a Python function of scalars (or of tuples of scalars) into the scalar language.

    `param_trees` has the nesting of each argument: `None` for a number, `complex` for a complex number, which is two real ones,
    a tuple of trees for a tuple. Without it every parameter is a number, and a function that takes one apart raises
    `NeedsTree`. Parameters with defaults that are not supplied take them.

    Raises ScalarError, with file, line and column, for what the language does not have.

    >>> import math
    >>> read(lambda x, y: math.sin(x) * y if y > 0 else 0.0)
    <<lambda>/2: select(gt(x1, 0), mul(sin(x0), x1), 0.0)>
    >>> read(lambda a, b: (a[0] * b[0], a[1] + b[1]), [(None, None), (None, None)]).outputs
    (mul(x0, x2), add(x1, x3))
    """
    if isinstance(fn, Function):
        return fn if param_trees is None else _at_complex(fn, tuple(map(as_tree, param_trees)))
    param_trees = None if param_trees is None else tuple(map(as_tree, param_trees))
    ready = getattr(fn, "__scalar_function__", None)
    if isinstance(ready, Function) and (param_trees is None or param_trees == ready.param_trees):
        return ready
    from catad.scalar.reading.reader import called  # late: words and ufuncs are there without

    if not callable(fn) or isinstance(fn, ModuleType):
        raise ScalarError(errors.not_a_scalar_function(fn))
    trees = param_trees if param_trees is not None else (None,) * _count(fn)
    arity = sum(leaf_count(tree) for tree in trees)
    flat = [param(i) for i in range(arity)]
    args = unflatten(trees, flat)
    if not takes(fn, len(trees)):
        raise ScalarError(errors.wrong_arity(fn, said_arity(fn), len(trees)))
    value, outputs, source = called(fn, args, flat if param_trees is None else ())
    return Function.make(arity, outputs, tree_of(value), trees, _name(fn)).read_from(source)


def _at_complex(fn: Function, trees: tuple[Tree, ...]) -> Function:
    """A function of real numbers at numbers of which some are complex; any other one is what it is."""
    if COMPLEX not in trees or any(tree is not None for tree in fn.param_trees):
        return fn
    from catad.scalar.pairs.callables import lift  # late: few functions are read again

    arity = sum(leaf_count(tree) for tree in trees)
    value = lift(fn, unflatten(trees, [param(i) for i in range(arity)]))
    return Function.make(arity, leaves(value), tree_of(value), trees, fn.name)


def _count(fn: Any) -> int:
    count = arity_of(fn)
    if count is None:
        raise ScalarError(errors.unknown_arity(fn))
    if count == 0 and most_of(fn) == 0:
        raise ScalarError(errors.no_parameters(fn))
    return count


def _name(fn: Any) -> str:
    return str(getattr(fn, "__name__", None) or getattr(getattr(fn, "func", None), "__name__", None) or type(fn).__name__)

"""Hypothesis strategies: spaces, points, terms that compose, chains and linear maps.

Hypothesis is imported when a strategy is made, so that the checkers work without it. The drawn programs are small, since a
law that fails, fails on small spaces: arrays of up to three axes of up to four entries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors
from catad.category.cartesian import compose
from catad.category.spaces import Product, Space, Tensor, Value, rebuild
from catad.category.terms import D

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from catad.linear.map import LinearMap
else:
    SearchStrategy = Any

Draw = Any  # Hypothesis's function that draws from a strategy


def hypothesis(what: str) -> Any:
    """The module `hypothesis.strategies`; raises `EngineError` with what to install where it is missing."""
    try:
        from hypothesis import strategies
    except ImportError as error:
        raise errors.EngineError(errors.needs_hypothesis(what)) from error
    return strategies


def spaces(max_leaves: int = 3, dtype: Any = np.float64, integers: bool = False) -> SearchStrategy[Space]:
    """Tensors and nested products of up to `max_leaves` tensors, of one floating dtype.

    With `integers`, int64 leaves are among them. Raises `EngineError` where Hypothesis is not installed, as all strategies do.

    >>> from hypothesis import find
    >>> from catad.testing import spaces
    >>> find(spaces(), lambda space: space.size > 1).size
    2
    """
    st = hypothesis("spaces")
    kinds = st.sampled_from([np.dtype(dtype), np.dtype(np.int64)] if integers else [np.dtype(dtype)])
    shape = st.lists(st.integers(1, 4), max_size=2).map(tuple)
    leaf = st.builds(Tensor, shape, kinds)

    def products(inner: Any) -> Any:
        return st.lists(inner, min_size=2, max_size=3).map(lambda parts: Product(tuple(parts)))

    return st.recursive(leaf, products, max_leaves=max_leaves)  # type: ignore[no-any-return]


def points(space: Space, small_integers: bool = False) -> SearchStrategy[Value]:
    """Values of a space.

    Floats are eighths between -2 and 2, so that nothing is lost to rounding or overflow by themselves; with
    `small_integers` they are whole numbers between -2 and 2, on which polynomial terms are exact.
    Integer leaves are 0 or 1. Raises the errors of `ct.testing.spaces`.

    >>> import catad as ct
    >>> from catad.testing import points
    >>> from hypothesis import find
    >>> find(points(ct.f64[2], small_integers=True), lambda x: x[0] > 1)
    array([2., 0.])
    """
    hypothesis("points")
    return composite(lambda draw: point(draw, space, small_integers))  # type: ignore[no-any-return]


def point(draw: Draw, space: Space, small_integers: bool) -> Value:
    """One value of a space."""
    return rebuild(space, [array(draw, leaf.shape, leaf.dtype, small_integers) for leaf in space.leaves])


def array(draw: Draw, shape: tuple[int, ...], dtype: Any, small_integers: bool) -> Any:
    """One array of small numbers."""
    st = hypothesis("points")
    dtype = np.dtype(dtype)
    low, high, unit = (0, 1, 1) if dtype.kind != "f" else (-2, 2, 1) if small_integers else (-16, 16, 8)
    size = int(np.prod(shape))
    numbers = draw(st.lists(st.integers(low, high), min_size=size, max_size=size))
    return (np.array(numbers, dtype=np.float64) / unit).reshape(shape).astype(dtype)


def terms(dom: Space, polynomial: bool = False, smooth: bool = False, boxes: int = 4) -> SearchStrategy[D]:
    """Terms that take values of `dom`: chains of up to `boxes` steps.

    Each may fork, cross, project, permute, reshape, index, scan, fold, contract or map. With `polynomial`
    only vocabulary whose value and derivatives are exact on small integers; with `smooth` none with
    kinks (minimum, abs). Terms of products and of floating tensors of either dtype; integer leaves are carried along or
    dropped. Raises the errors of `ct.testing.spaces`.

    >>> import catad as ct
    >>> from catad.testing import terms
    >>> from hypothesis import find
    >>> find(terms(ct.f64[2], smooth=True), lambda f: f.spaces(ct.f64[2]) == ct.f64[()])
    ct.sum()
    """
    hypothesis("terms")
    from catad.testing.vocabulary import Style, term

    return composite(lambda draw: term(draw, dom, Style(polynomial, smooth), boxes))  # type: ignore[no-any-return]


def chains(dom: Space, polynomial: bool = False, smooth: bool = False, length: int = 3) -> SearchStrategy[tuple[D, ...]]:
    """Tuples of `length` terms that compose: the first takes values of `dom`, each next one those of the one before.

    `polynomial` and `smooth` are as for `ct.testing.terms`. Raises the errors of `ct.testing.spaces`.

    >>> import catad as ct
    >>> from catad.testing import chains
    >>> from hypothesis import find
    >>> parts = find(chains(ct.f64[2], smooth=True, length=2), lambda parts: ct.compose(*parts).spaces(ct.f64[2]) == ct.f64[()])
    >>> len(parts), ct.compose(*parts).spaces(ct.f64[2])
    (2, ct.f64[()])
    """
    hypothesis("chains")
    from catad.testing.vocabulary import Style, term

    def draw_chain(draw: Draw) -> tuple[D, ...]:
        parts: list[D] = []
        space, style = dom, Style(polynomial, smooth)
        for _ in range(length):
            parts.append(term(draw, space, style, 2))
            space = compose(*parts).spaces(dom)
        return tuple(parts)

    return composite(draw_chain)  # type: ignore[no-any-return]


def linear_maps(dom: Space | None = None, small_integers: bool = False, depth: int = 2) -> SearchStrategy[LinearMap]:
    """Linear maps of every family and their combinations: sums, chains, blocks, forks, joins, crosses, transposes.

    Without `dom` on a drawn space. With `small_integers` all numbers in them are small integers.
    Raises the errors of `ct.testing.spaces`.

    >>> import catad as ct
    >>> from catad.testing import linear_maps
    >>> from hypothesis import find
    >>> find(linear_maps(ct.f64[3]), lambda L: L.kind == "diagonal")
    diagonal f64[3] -> f64[3], stored 3, dense 9
    """
    hypothesis("linear_maps")
    from catad.testing.linear_strategies import any_linear_map, linear_map

    def draw_map(draw: Draw) -> LinearMap:
        if dom is None:
            return any_linear_map(draw, draw(spaces(2)), small_integers, depth)
        return linear_map(draw, dom, small_integers, depth)

    return composite(draw_map)  # type: ignore[no-any-return]


def composite(function: Any) -> Any:
    """A strategy from a function of `draw`."""
    st = hypothesis("points")
    return st.composite(lambda draw: function(draw))()

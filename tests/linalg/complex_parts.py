"""Complex arguments and results as pairs of real ones, for checks that draw real directions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import catad as ct


def drawn(*shape: int) -> Any:
    rng = np.random.default_rng(len(shape) + sum(shape))
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


def cut(x: Any) -> tuple[Any, ...]:
    """Both parts of a complex array; a real one as it is."""
    return (x.real.copy(), x.imag.copy()) if np.iscomplexobj(x) else (x,)


def _parts(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return tuple(map(_parts, value))
    return (value.real, value.imag) if value.dtype.kind == "c" else value


def of_parts(f: Callable[..., Any], *like: Any) -> Any:
    """A function of the parts of its arguments, which are `like` these (one complex array), with the parts of its results."""
    places, n = [], 0
    for one in like or (1j,):
        places.append((n, n + 1) if np.iscomplexobj(one) else (n,))
        n = places[-1][-1] + 1

    @ct.function
    def g(*given: Any) -> Any:
        leaves = given[0] if isinstance(given[0], tuple) else given  # a point of a morphism is one tuple
        return _parts(f(*[leaves[at[0]] + 1j * leaves[at[1]] if len(at) > 1 else leaves[at[0]] for at in places]))

    return g

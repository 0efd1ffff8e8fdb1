"""The tables of functions that mean something for stand-ins, by the function itself. `names/` fills them, a topic at a time.

`FUNCTIONS` has those that NumPy hands to stand-ins (`__array_function__`): `meaning(trace, *args, **kwargs)`. `PYTHON` has those
that ask nobody, such as `np.zeros`, `math.sin`, `len` and `range`: `meaning(driver, *args, **kwargs)`. `HINTS` says of functions
without a meaning what to write instead. `SPECIAL` has universal functions that are several lines. Functions of packages that need
not be there are entered when the first of them is called.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from catad.values.formats import KNOWN

_TOPICS = {  # what each module of `names/` has entries for: NumPy's names and methods, others behind a dot, packages
    "along_axis": ".map apply_along_axis vectorize",
    "array_api": "cupy cupyx",
    "linear.banded": "scipy.linalg",
    "calculus.equations": "scipy.integrate",
    "calculus.integrals": "scipy.integrate",
    "calculus.optima": "scipy.optimize",
    "calculus.splines": "scipy.interpolate",
    "choosing": "allclose array_equal array_equiv clip isclose nan_to_num piecewise select where",
    "complex_numbers": """.complex complex64 complex128 .exp .log .log10 .sqrt .sin .cos .tan .sinh .cosh .tanh .isnan .isinf
        .isfinite .phase .polar .rect""",
    "concatenators": "CClass RClass",
    "counting": "bincount histogram histogram_bin_edges interp",
    "differences": """
        convolve corrcoef correlate cov cumprod cumsum cumulative_prod cumulative_sum diff ediff1d gradient nancumprod
        nancumsum polyval trapezoid unwrap vander""",
    "linear.fft": """
        fft fft2 fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn rfft rfft2 rfftn scipy.fft""",
    "joining": """
        append array_split block column_stack concat concatenate delete dsplit dstack hsplit hstack insert split stack
        unstack vsplit vstack""",
    "linear.linalg": "cholesky det inv slogdet solve",
    "linear.decompositions": "cond eig eigh eigvals eigvalsh lstsq matrix_rank pinv qr svd svdvals tensorinv tensorsolve",
    "linear.scipy_linalg": "scipy.linalg",
    "linear.scipy_matrices": "scipy.linalg",
    "linear.signal": "scipy.signal",
    "making": f"""
        arange array asanyarray asarray ascontiguousarray asfortranarray astype can_cast common_type copy copyto empty
        empty_like fill fromfunction full full_like geomspace linspace logspace
        meshgrid min_scalar_type ndarray ndenumerate ones ones_like result_type zeros zeros_like {' '.join(map(str, KNOWN))}""",
    "mathematics": " ".join([f".{name}" for name, function in vars(math).items() if callable(function)]),
    "moving": "flip fliplr flipud pad repeat resize roll rollaxis rot90 sliding_window_view tile tril triu",
    "ordering": """
        argpartition argsort digitize lexsort median nanmedian nanpercentile nanquantile partition percentile quantile
        searchsorted sort""",
    "picking": """
        argwhere choose compress diag_indices_from extract fill_diagonal flatnonzero intersect1d isin nonzero place
        put put_along_axis putmask ravel_multi_index setdiff1d setxor1d take take_along_axis tril_indices_from
        trim_zeros triu_indices_from union1d unique unique_all unique_counts unique_inverse unique_values
        unravel_index""",
    "products": """
        cross diag diagflat diagonal dot einsum inner kron matmul matrix_norm matrix_power matvec multi_dot norm outer
        tensordot trace vdot vecdot vecmat vector_norm""",
    "python": """
        .__delattr__ .__setattr__ .abs .bool .cmp_to_key .delattr .delitem .enumerate .filter .float .hash .heapify .heappop
        .heappush .heappushpop .heapreplace .index .insort_left .insort_right .int .isinstance .len .map .max .min .range
        .reduce .reversed .round .setattr .setitem .sorted .sum .type .zip isscalar""",
    "reductions": """
        all amax amin any argmax argmin average count_nonzero max mean min nanargmax nanargmin nanmax nanmean nanmin nanprod
        nanstd nansum nanvar prod ptp std var""",
    "rounding": "angle around fix iscomplex isneginf isposinf isreal real_if_close round sinc",
    "shapes": """
        T atleast_1d atleast_2d atleast_3d base broadcast_arrays broadcast_to conj conjugate device expand_dims flat flatten
        imag iscomplexobj isrealobj mT matrix_transpose moveaxis ndim permute_dims ravel real reshape shape size squeeze
        swapaxes to_device transpose""",
    "special": "scipy",
    "sums": "sum",
    "universal": "accumulate at conjugate divmod frexp heaviside logaddexp2 modf outer power reciprocal reduce reduceat",
}  # fmt: skip
_WHERE: dict[str, list[str]] = {}
for _topic, _names in _TOPICS.items():
    for _name in _names.split():
        _WHERE.setdefault(_name, []).append(_topic)


def load(*topics: str) -> None:
    """Fill in the entries of some topics, where that is not done."""
    for topic in topics:
        import_module(f"catad.traced.names.{topic}")


def _loaded(key: Any) -> bool:
    """Load the topics that have a name; whether there were some. Only then is it known that they have no entry for the key."""
    name = key if isinstance(key, str) else _name_of(key)
    topics = _WHERE.get(name, ())
    load(*topics)
    return bool(topics) and _WHERE.pop(name, None) is not None


def _name_of(function: Any) -> str:
    own = isinstance(function, np.ufunc) or str(getattr(function, "__module__", "")).startswith("numpy")
    return f"{'' if own else '.'}{getattr(function, '__name__', type(function).__name__)}"


class Table(dict[Any, Callable[..., Any]]):
    """Meanings, each loaded with its topic when it is first looked for."""

    def __missing__(self, key: Any) -> Callable[..., Any]:
        if not _loaded(key):
            raise KeyError(key)
        return self[key]

    def get(self, key: Any, default: Any = None) -> Any:
        try:
            return self[key]
        except KeyError:
            return default

    def __contains__(self, key: Any) -> bool:
        return super().__contains__(key) or (_loaded(key) and super().__contains__(key))


FUNCTIONS, PYTHON, METHODS, UFUNC_METHODS, INSTANCES, ITEMS, SPECIAL = (Table() for _ in range(7))
MASKED_METHODS: frozenset[str] = frozenset(("sum", "mean", "any", "all", "astype", "copy", "round", "clip"))
SHARING: set[Any] = set()
SCATTERED: set[Callable[..., Any]] = set()  # meanings of functions that give arrays in another order than C, also of such
COMPLEX_TOO: set[Callable[..., Any]] = set()  # meanings that take complex stand-ins as they are
OWN_ORDER: set[Callable[..., Any]] = set()  # meanings that say themselves how their results lie in memory


def meaning(*functions: Any, shares: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: what functions of NumPy mean on stand-ins. Those that share memory with an argument, or write into one, have
    this meaning also where all arguments are constants; all others are computed by NumPy then."""

    def decorated(fn: Callable[..., Any]) -> Callable[..., Any]:
        for function in functions:
            if function is None:  # it came with a later NumPy
                continue
            FUNCTIONS[function] = fn
            if shares:
                SHARING.add(function)
                OWN_ORDER.add(fn)
        return fn

    return decorated


def scattered(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: the function gives arrays in another order than C, also of arrays in C order."""
    SCATTERED.add(fn)
    return fn


def own_order(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: the meaning says itself how its results lie in memory."""
    OWN_ORDER.add(fn)
    return fn


Entering = Callable[..., Callable[[Callable[..., Any]], Callable[..., Any]]]


def entering(table: dict[Any, Callable[..., Any]]) -> Entering:
    """A decorator that enters a function into a table, under keys."""

    def under(*keys: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def decorated(fn: Callable[..., Any]) -> Callable[..., Any]:
            table.update(dict.fromkeys(keys, fn))
            return fn

        return decorated

    return under


python_meaning = entering(PYTHON)  # by functions that do not ask their arguments
method = entering(METHODS)  # by the names that arrays have for a method
item_meaning = entering(ITEMS)  # by classes: `thing[key]` where stand-ins are in the key, `meaning(trace, key)`
ufunc_method = entering(UFUNC_METHODS)  # by the name of a method of universal functions


def meaning_anywhere(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: what functions mean whether or not they ask their arguments."""

    def decorated(fn: Callable[..., Any]) -> Callable[..., Any]:
        for function in functions:
            FUNCTIONS[function] = fn
            PYTHON[function] = lambda driver, /, *args, **kwargs: fn(driver.trace, *args, **kwargs)
        return fn

    return decorated


def attribute(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: an attribute of stand-ins, computed when it is asked for."""

    def decorated(fn: Callable[..., Any]) -> Callable[..., Any]:
        fn.is_property = True  # type: ignore[attr-defined]
        return method(*names)(fn)

    return decorated


RAGGED: dict[Callable[..., Any], Callable[..., Any]] = {}  # by a meaning: the one that it has on slices of traced length
HINTS: dict[str, str] = {}
PACKAGES: dict[str, list[Callable[[], None]]] = {}


def of_package(*names: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Decorator: what enters the functions of packages, or of their modules, into the tables."""

    def decorated(fn: Callable[[], None]) -> Callable[[], None]:
        for name in names:
            PACKAGES.setdefault(name, []).append(fn)
        return fn

    return decorated


def enter_package(function: Any) -> bool:
    """Enter the functions of the package of a function, if that is not done; whether something was entered."""
    module = getattr(function, "__module__", None) or type(function).__module__
    parts = str(module).split(".")
    if parts[0] == "numpy":  # a universal function of another package
        parts = ["scipy"]
    found = []
    for name in dict.fromkeys((parts[0], ".".join(parts[:2]))):
        _loaded(name)
        found += PACKAGES.pop(name, []) if name in sys.modules else []
    for fill in found:
        fill()
    return bool(found)


def has_hint(name: str) -> bool:
    """Whether it is known what to write instead of this very function."""
    load("hints")
    return name in HINTS


def hint(name: str) -> str:
    """What to write instead of a function of NumPy: by its whole name, or by that of its module."""
    load("hints")
    while name:
        if name in HINTS:
            return HINTS[name]
        name = name.rpartition(".")[0]
    return ""

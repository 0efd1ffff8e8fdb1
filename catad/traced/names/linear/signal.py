"""The convolutions of `scipy.signal`, entered when the first of them is called.

Floats of one axis are convolved by `np.convolve` and `ct.fft.fftconvolve`. Arrays of several axes, and complex ones, are
convolved as SciPy says: by sums over windows, or by products of spectra.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from catad import fft as words
from catad.fft.convolution import good_size
from catad.traced.names.linear.fft import is_complex, plain
from catad.traced.names.sums import one_line, strong
from catad.traced.pairs.stand_in import as_pair
from catad.traced.recorder import Trace
from catad.traced.table import meaning_anywhere, of_package

_MODES = ("full", "same", "valid")


def _arrays(trace: Trace, *given: Any) -> list[Any]:
    """Arguments as stand-ins of one number of axes; raises SciPy's error."""
    x, y = [as_pair(trace, one) if is_complex(one) else strong(trace, one) for one in given]
    if x.ndim != y.ndim:
        raise ValueError("in1 and in2 should have the same dimensionality")
    return [x, y]


def _require(mode: Any, first: tuple[int, ...], second: tuple[int, ...], axes: Any, method: str = "auto") -> None:
    """Raise SciPy's error for what is no mode, or no method, or fits no mode."""
    more = [first[k] - second[k] for k in axes]
    if mode == "valid" and min(more, default=0) < 0 < max(more, default=0):
        raise ValueError("For 'valid' mode, one must be at least as large as the other in every dimension")
    if mode not in _MODES:
        raise ValueError("acceptable mode flags are 'valid', 'same', or 'full'")
    if method not in ("auto", "direct", "fft"):
        raise ValueError("Acceptable method flags are 'auto', 'direct', or 'fft'.")


def convolve(trace: Trace, in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """Where the method is "auto", it is SciPy's of floats of these shapes; whole numbers are added."""
    x, y = _arrays(trace, in1, in2)
    return _convolved(trace, x, y, mode, method)


def correlate(trace: Trace, in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    x, y = _arrays(trace, in1, in2)
    return _convolved(trace, x, np.conj(y[(slice(None, None, -1),) * y.ndim]), mode, method)


def _convolved(trace: Trace, x: Any, y: Any, mode: Any, method: str) -> Any:
    _require(mode, x.shape, y.shape, range(x.ndim), method)
    kind = np.result_type(x.dtype, y.dtype)
    if not x.ndim:
        return x * y
    if not x.size or not y.size:
        return np.zeros(0, kind)
    if method == "auto" and x.ndim > 1:
        method = _method(x, y, mode)
    if method == "fft":
        made = fftconvolve(trace, x, y, mode)
        return (np.round(made) if kind.kind in "iu" else made).astype(kind, copy=False)
    if x.ndim == 1 and mode != "same":
        return np.convolve(x, y, mode)
    full = np.convolve(x, y) if x.ndim == 1 else _summed(x, y)
    return _cut(full, x.shape, y.shape, mode, range(x.ndim))


def _method(x: Any, y: Any, mode: str) -> str:
    from scipy.signal import choose_conv_method

    if np.result_type(x.dtype, y.dtype).kind not in "fc":
        return "direct"
    return str(choose_conv_method(*[np.zeros(one.shape, one.dtype) for one in (x, y)], mode=mode))


def _summed(x: Any, y: Any) -> Any:
    """The full convolution by sums over windows of the array with more entries."""
    if y.size > x.size:
        x, y = y, x
    padded = np.pad(x, [(n - 1, n - 1) for n in y.shape])
    windows = np.lib.stride_tricks.sliding_window_view(padded, y.shape)
    return np.tensordot(windows, y[(slice(None, None, -1),) * y.ndim], y.ndim)


def _cut(full: Any, first: tuple[int, ...], second: tuple[int, ...], mode: str, axes: Any) -> Any:
    """What a mode keeps of a full convolution along axes."""
    if mode == "full":
        return full
    shape = list(first)
    if mode == "valid":
        shape = [abs(n - m) + 1 if k in axes else full.shape[k] for k, (n, m) in enumerate(zip(first, second, strict=True))]
    starts = [(n - m) // 2 for n, m in zip(full.shape, shape, strict=True)]
    return full[tuple([slice(k, k + m) for k, m in zip(starts, shape, strict=True)])]


def fftconvolve(trace: Trace, in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    x, y = _arrays(trace, in1, in2)
    if not x.ndim:
        return x * y
    if not x.size or not y.size:
        return np.zeros(0)
    if axes is not None and not np.size(axes):
        raise ValueError("when provided, axes cannot be empty")
    named = range(x.ndim) if axes is None else normalize_axis_tuple(plain(axes), x.ndim)
    if x.ndim == 1 and mode in _MODES and not is_complex(x) and not is_complex(y):
        return one_line(trace, words.fftconvolve(mode), x, y)
    along = [k for k in named if x.shape[k] != 1 and y.shape[k] != 1]
    if any(x.shape[k] != y.shape[k] and 1 not in (x.shape[k], y.shape[k]) for k in range(x.ndim) if k not in along):
        raise ValueError(f"incompatible shapes for in1 and in2: {x.shape} and {y.shape}")
    _require(mode, x.shape, y.shape, along)
    sizes = [x.shape[k] + y.shape[k] - 1 for k in along]
    return _cut(_by_spectra(x, y, along, sizes), x.shape, y.shape, mode, along)


def _by_spectra(x: Any, y: Any, axes: list[int], sizes: list[int]) -> Any:
    """The full convolution along axes, which have so many points then."""
    if not axes:
        return x * y
    forth, back = (np.fft.fftn, np.fft.ifftn) if is_complex(x) or is_complex(y) else (np.fft.rfftn, np.fft.irfftn)
    points = [good_size(n) for n in sizes]
    made: Any = back(forth(x, points, axes) * forth(y, points, axes), points, axes)
    for k, n in zip(axes, sizes, strict=True):
        made = made[(slice(None),) * k + (slice(n),)]
    return made


def oaconvolve(trace: Trace, in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    """At once: overlapping pieces change the numbers by rounding alone."""
    return fftconvolve(trace, in1, in2, mode, axes)


@of_package("scipy.signal")
def enter() -> None:
    """Enter the functions into the tables."""
    import scipy.signal

    for made in (convolve, correlate, fftconvolve, oaconvolve):
        meaning_anywhere(getattr(scipy.signal, made.__name__))(made)

"""Every function and method of the coverage table has a meaning and a case in the tests."""

import inspect
import re

import numpy as np

from . import (
    cases_mathematics,
    cases_orders,
    cases_products,
    cases_reductions,
    cases_shapes,
    test_names_functions,
    test_names_options,
    test_names_universal,
)


def words(text):
    return text.split()


FUNCTIONS = words("""
    abs add subtract multiply divide true_divide power pow floor_divide remainder mod negative positive absolute fabs float_power
    less less_equal greater greater_equal equal not_equal bitwise_and bitwise_or bitwise_xor invert left_shift right_shift
    exp log sqrt sin cos tan tanh sinh cosh arcsin arccos arctan arcsinh arccosh arctanh expm1 log1p log2 log10 exp2 cbrt square
    reciprocal sign floor ceil trunc rint hypot arctan2 maximum minimum fmax fmin copysign logaddexp logaddexp2 isnan isinf
    isfinite signbit logical_and logical_or logical_not logical_xor degrees radians deg2rad rad2deg fmod ldexp frexp modf divmod
    heaviside conj conjugate
    acos acosh asin asinh atan atan2 atanh bitwise_invert bitwise_left_shift bitwise_right_shift concat permute_dims
    matrix_transpose vecdot unstack astype cumulative_sum cumulative_prod
    matmul dot vdot inner outer einsum tensordot kron trace diagonal diag diagflat cross linalg.norm linalg.vector_norm
    linalg.matrix_norm linalg.multi_dot linalg.matrix_power linalg.outer linalg.cross linalg.matmul linalg.trace
    linalg.diagonal linalg.vecdot linalg.tensordot linalg.matrix_transpose
    sum mean max min amax amin prod any all count_nonzero var std ptp average argmax argmin
    nansum nanprod nanmax nanmin nanmean nanvar nanstd nanargmax nanargmin nanmedian nanquantile nanpercentile nancumsum
    nancumprod
    reshape ravel transpose swapaxes moveaxis rollaxis squeeze expand_dims atleast_1d atleast_2d atleast_3d broadcast_to
    broadcast_arrays flip fliplr flipud roll rot90 tile repeat resize pad tril triu
    take take_along_axis choose put put_along_axis putmask place copyto fill_diagonal compress extract isin
    ravel_multi_index unravel_index diag_indices_from tril_indices_from triu_indices_from
    where clip select piecewise nan_to_num isclose allclose array_equal array_equiv
    concatenate stack vstack hstack dstack column_stack append block insert delete split array_split hsplit vsplit dsplit
    zeros ones full empty eye identity arange linspace zeros_like ones_like empty_like full_like array asarray asanyarray
    ascontiguousarray copy meshgrid tri indices logspace geomspace fromfunction
    partition argpartition lib.stride_tricks.sliding_window_view
    cumsum cumprod sort argsort lexsort diff ediff1d gradient trapezoid median quantile percentile
    searchsorted digitize interp bincount histogram histogram_bin_edges cov corrcoef convolve correlate polyval vander
    round around fix sinc angle isposinf isneginf isreal iscomplex isrealobj iscomplexobj real imag real_if_close
    vectorize apply_along_axis shape ndim size result_type
""")

METHODS = words("""
    all any argmax argmin argsort astype choose clip compress conj copy cumprod cumsum diagonal dot fill flatten max mean min
    prod put ravel repeat reshape round searchsorted sort squeeze std sum swapaxes take trace transpose var
    T mT real imag flat shape ndim size dtype itemsize nbytes
""")

SPECIAL = words("""
    expit logit log_expit erf erfc ndtr gammaln loggamma gamma digamma psi polygamma betaln beta xlogy xlog1py entr rel_entr
    exprel exp10 logsumexp softmax log_softmax
""")

MATH = words("""
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh degrees dist erf erfc exp exp2 expm1 fabs floor fmod frexp
    fsum gamma hypot isclose isfinite isinf isnan ldexp lgamma log log10 log1p log2 modf pow prod radians remainder sin sinh sqrt
    tan tanh comb factorial gcd
""")

_MODULES = (
    cases_mathematics, cases_orders, cases_products, cases_reductions, cases_shapes, test_names_functions, test_names_options,
    test_names_universal,
)  # fmt: skip
_TEXT = "\n".join(inspect.getsource(module) for module in _MODULES)


THERE = [name for name in FUNCTIONS if "." in name or hasattr(np, name)]  # some came with NumPy 2.1


def test_functions_have_a_meaning():
    from catad.traced.arrays.operators import supported
    from catad.traced.table import FUNCTIONS as BY_PROTOCOL
    from catad.traced.table import INSTANCES, PYTHON

    def has_one(name):
        at = np
        for part in name.split("."):
            at = getattr(at, part)
        makes_constants = name in ("eye", "identity", "arange", "tri", "indices", "logspace", "geomspace")
        known = at in BY_PROTOCOL or at in PYTHON or at in INSTANCES or makes_constants
        return known or (isinstance(at, np.ufunc) and (supported(at) or at is np.matmul))

    assert [name for name in THERE if not has_one(name)] == []


def without_a_case(names, pattern, text=_TEXT):
    return [name for name in names if not re.search(pattern.format(name.rpartition(".")[2]), text)]


def test_functions_have_a_case():
    universal = [name for name in FUNCTIONS if isinstance(at := getattr(np, name, None), np.ufunc) and at.signature is None]
    others = set(FUNCTIONS) - set(universal)  # test_names_universal has all of those
    assert without_a_case(others, r"\b(np\.|xp\.|linalg\.|np\.linalg\.|stride_tricks\.){}\b") == []


def test_methods_have_a_case():
    text = _TEXT.replace("np.", "").replace("xp.", "").replace("math.", "")
    assert without_a_case(METHODS, r"[\w\])]\.{}\b", text) == []


def test_special_functions_have_a_case():
    assert without_a_case(SPECIAL, r"\bsp\.{}\b") == []


def test_functions_of_math_have_a_case():
    assert without_a_case(set(MATH) - {"sin"}, r"\bmath\.{}\b") == []

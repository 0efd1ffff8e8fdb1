"""Functions of one array on numbers, empty arrays and axes of size 1, in all dtypes, with NaN and infinities."""

import numpy as np
import pytest

import catad as ct

from .harness import check

SHAPES = [(), (0,), (1,), (4,), (0, 3), (2, 3), (2, 1, 3)]
REDUCTIONS = (
    "sum prod max min mean var std any all ptp argmax argmin median nansum nanprod nanmax nanmin nanmean nanvar nanstd "
    "nanmedian count_nonzero average nanargmax"
)
AXES = [{}, {"axis": 0}, {"axis": -1}, {"keepdims": True}, {"axis": 1}, {"axis": 0, "keepdims": True}]
OTHERS = {
    "cumsum": AXES[:3], "cumprod": AXES[:3], "sort": [*AXES[:2], {"axis": None}], "diff": [*AXES[:2], {"n": 2}],
    "flip": AXES[:3],
    "argsort": [{"kind": "stable"}, {"kind": "stable", "axis": 0}], "roll": [{"shift": 1}, {"shift": 5, "axis": -1}],
    "ravel": [{}],
    "squeeze": AXES[:2], "transpose": [{}], "tile": [{"reps": 2}, {"reps": (2, 1)}, {"reps": 0}], "expand_dims": AXES[1:3],
    "repeat": [{"repeats": 2}, {"repeats": 0}, {"repeats": 2, "axis": 0}], "atleast_1d": [{}], "atleast_2d": [{}],
    "atleast_3d": [{}], "nan_to_num": [{}], "tril": [{}, {"k": 1}], "triu": [{}], "diag": [{}], "diagonal": [{}],
    "trace": [{}],
    "ediff1d": [{}], "gradient": [{}], "trapezoid": [{}], "round": [{}, {"decimals": 1}], "fix": [{}], "sinc": [{}],
    "pad": [{"pad_width": 1}, {"pad_width": 2, "mode": "wrap"}, {"pad_width": (0, 2), "mode": "symmetric"}], "cov": [{}],
    "quantile": [{"q": 0.3}, {"q": [0.0, 0.5, 1.0], "axis": 0}, {"q": 0.9, "axis": -1, "keepdims": True}], "rot90": [{}],
    "percentile": [{"q": 40}], "nanquantile": [{"q": 0.5, "axis": 0}], "unstack": [{}], "resize": [{"new_shape": (2, 2)}],
    "take": [{"indices": 0}, {"indices": [0], "axis": 0}, {"indices": [1], "mode": "clip"}], "nancumsum": [{}], "copy": [{}],
    "linalg.norm": [{}, {"axis": -1, "ord": 1}, {"ord": np.inf, "axis": 0}, {"ord": 0, "axis": -1}],
    "swapaxes": [{"axis1": 0, "axis2": -1}],
    "histogram": [{"bins": [-1, 0, 1.0]}, {"bins": 3, "range": (-1, 1)}, {"bins": 4}], "searchsorted": [{"v": 0.5}],
    "vander": [{}],
    "split": [{"indices_or_sections": 1}], "array_split": [{"indices_or_sections": 2}], "corrcoef": [{}], "angle": [{}],
    "clip": [{"a_min": -1, "a_max": 1}, {"a_min": 0, "a_max": None}], "delete": [{"obj": 0}, {"obj": [0], "axis": 0}],
    "insert": [{"obj": 0, "values": 1}, {"obj": 0, "values": 1, "axis": 0}], "append": [{"values": 1}], "real": [{}],
    "imag": [{}],
    "logaddexp.reduce": [{}], "maximum.reduce": [{}, {"axis": None}], "maximum.accumulate": [{}],
    "convolve": [{"v": [1.0, 2.0]}],
    "add.reduce": [{}, {"axis": -1, "keepdims": True}, {"axis": None, "initial": 2}], "digitize": [{"bins": [0.0, 1.0]}],
    "moveaxis": [{"source": 0, "destination": -1}], "reshape": [{"shape": -1}, {"shape": (1, -1)}], "isclose": [{"b": 0.0}],
    "array_equal": [{"a2": 1.0}], "interp": [{"xp": [0.0, 1.0, 2.0], "fp": [1.0, 3.0, 2.0]}], "fliplr": [{}], "flipud": [{}],
    "outer": [{"b": [1.0, 2.0]}], "dot": [{"b": 2.0}], "kron": [{"b": [1.0, 2.0]}], "zeros_like": [{}],
    "full_like": [{"fill_value": 2.5}], "broadcast_to": [{"shape": (2, 3)}, {"shape": (3,)}],
}  # fmt: skip
OF_LISTS = {"concatenate": [{}, {"axis": None}], "stack": [{}], "vstack": [{}], "hstack": [{}], "dstack": [{}],
            "column_stack": [{}], "block": [{}], "meshgrid": [{}]}  # fmt: skip


def array(shape, kind, rng):
    x = rng.standard_normal(shape) * 2
    if kind == "n":
        return np.where(rng.random(shape) < 0.25, np.nan, np.where(rng.random(shape) < 0.15, np.inf, x))
    if kind == "?":
        return x > 0
    return np.abs(np.rint(x * 3)).astype(kind) if kind == "B" else np.rint(x).astype(kind) if kind == "i" else x.astype(kind)


def compare(function, x, desc):
    try:
        check(function, x, grad=False)
    except ct.TraceError as error:
        assert "depend on data" in str(error) or "truth values" in str(error), desc
    except Exception as error:
        raise AssertionError(desc) from error


def function_of(name):
    at = np
    for part in name.split("."):
        at = getattr(at, part)
    return at


TABLE = [(name, [*AXES, {"axis": (0, 1)}] if "arg" not in name else AXES) for name in REDUCTIONS.split()] + list(OTHERS.items())


@pytest.mark.parametrize(("name", "options"), TABLE, ids=[name for name, _ in TABLE])
def test_edges(name, options):
    function, rng = function_of(name), np.random.default_rng(len(name))
    for shape in SHAPES:
        for kind in "dfni?":
            x = array(shape, kind, rng)
            for option in options:
                compare(lambda x, option=option: function(x, **option), x, (name, shape, kind, option))


@pytest.mark.parametrize("name", OF_LISTS)
def test_edges_of_lists(name):
    function, rng = function_of(name), np.random.default_rng(1)
    for shape in SHAPES:
        for kind in "dfi?":
            x = array(shape, kind, rng)
            for option in OF_LISTS[name]:
                compare(lambda x, option=option: function([x, x], **option), x, (name, shape, kind, option))

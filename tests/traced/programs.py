"""Programs as text for the tests of tracing: written to a file, imported, run by NumPy and by catad, and compared."""

from __future__ import annotations

import atexit
import importlib.util
import itertools
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import catad as ct

_count = itertools.count()
_folder = Path(tempfile.mkdtemp(prefix="catad_traced_"))
atexit.register(shutil.rmtree, _folder, True)


def module(text: str) -> Any:
    """A module with this text, in a file of its own, so that its functions have source."""
    name = f"traced_program_{next(_count)}"
    path = _folder / f"{name}.py"
    path.write_text("import math\nimport numpy as np\nimport catad as ct\n\n" + text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made
    spec.loader.exec_module(made)
    return made


def leaves(value: Any) -> list[Any]:
    """The arrays of a result."""
    if isinstance(value, (tuple, list)):
        return [leaf for part in value for leaf in leaves(part)]
    if isinstance(value, dict):
        return [leaf for key in sorted(value) for leaf in leaves(value[key])]
    return [np.asarray(value)]


def copied(value: Any) -> Any:
    """Arguments of their own."""
    if isinstance(value, (tuple, list)):
        return type(value)(copied(part) for part in value)
    if isinstance(value, dict):
        return {key: copied(part) for key, part in value.items()}
    return value.copy() if isinstance(value, np.ndarray) else value


def outcome(fn: Callable[..., Any], args: Any) -> tuple[str, Any]:
    """What a function gives, or the error that it raises."""
    try:
        with np.errstate(all="ignore"):
            return "value", fn(*copied(args))
    except Exception as error:
        return "error", error


def compare(fn: Callable[..., Any], *args: Any, **options: Any) -> str:
    """Run a function by NumPy and by catad. Returns "equal", "both raise" or "refused"; anything else is a failure."""
    kind, expected = outcome(fn, args)
    found, got = outcome(ct.function(fn, **options), args)
    if found == "error":
        if kind == "error":
            return "both raise"
        assert isinstance(got, ct.CatadError), f"NumPy gives a value, catad raises {type(got).__name__}: {got}"
        return "refused"
    assert kind == "value", f"NumPy raises {expected!r}, catad gives {got!r}"
    one, other = leaves(expected), leaves(got)
    assert len(one) == len(other), (expected, got)
    for e, g in zip(one, other, strict=True):
        assert e.shape == g.shape, f"shapes {e.shape} and {g.shape}: {expected!r}, {got!r}"
        assert e.dtype == g.dtype or e.dtype.kind not in "biuf", f"dtypes {e.dtype} and {g.dtype}"
        scale = float(np.max(np.abs(e), initial=0.0, where=np.isfinite(e.astype(float)))) if e.size else 0.0
        tolerance = 1e-12 if e.dtype != np.float32 else 1e-5
        assert np.allclose(g, e, rtol=tolerance, atol=tolerance * max(scale, 1e-300), equal_nan=True), (
            f"{expected!r} and {got!r}"
        )
    return "equal"

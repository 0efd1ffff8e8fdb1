"""The table: the name of a record to the ways that its program is written here; and the records that are not covered."""

from __future__ import annotations

from . import futhark_arrays, futhark_bins, futhark_folds, futhark_loops, futhark_nested, futhark_scalars
from .programs import Program

PREFIX = "futhark-ad/"

NOT_COVERED = {
    "conv1": "the peer gives a cast to an integer the derivative 1; here an integer has no tangents, so that it is zero",
    "imul": "wrapping arithmetic of 32-bit integers: an integer has no tangents here, and in float64 nothing wraps",
}


def _table() -> dict[str, tuple[Program, ...]]:
    out: dict[str, tuple[Program, ...]] = {}
    modules = (futhark_scalars, futhark_loops, futhark_arrays, futhark_folds, futhark_bins, futhark_nested)
    for module in modules:
        for name, given in module.PROGRAMS.items():
            assert name not in out
            out[name] = given if isinstance(given, tuple) else (given,)
    return out


PROGRAMS = _table()

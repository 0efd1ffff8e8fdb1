"""What stands for the value of a name that has none, and for one that is not settled yet."""

from __future__ import annotations

from typing import Any

from catad.traced.control.decisions import give_up_merging
from catad.traced.recorder import Restart, Trace


class Unbound:
    """No value; there is one such object."""

    def __repr__(self) -> str:
        return "<unbound>"


UNBOUND: Any = Unbound()


class Undecided:
    """What a name holds after a branch whose sides leave things in it that cannot be merged.

    Any use of it makes the trace start again, with the branch explored: each path has its own thing then.
    """

    __slots__ = ("_site", "_trace")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, trace: Trace, site: Any) -> None:
        self._trace, self._site = trace, site

    def __getattr__(self, name: str) -> Any:
        raise _used(self)


def _used(thing: Undecided) -> BaseException:
    trace, site = object.__getattribute__(thing, "_trace"), object.__getattribute__(thing, "_site")
    if trace.region is not trace.root:
        give_up_merging(trace.region)
    trace.findings.explored.add(site)
    return Restart()


def _use(self: Undecided, *args: Any, **kwargs: Any) -> Any:
    raise _used(self)


_OPERATORS = (
    "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow matmul rmatmul and rand or ror xor rxor "
    "lt le gt ge eq ne neg pos abs invert bool int float index len iter getitem setitem contains call enter exit str format "
    "iadd isub imul itruediv array array_ufunc array_function round"
)
for _name in _OPERATORS.split():
    setattr(Undecided, f"__{_name}__", _use)


def settled(value: Any) -> Any:
    """The value, which is used here."""
    if isinstance(value, Undecided):
        raise _used(value)
    return value

"""Lists that a rolled loop fills: what its body appends is an output of `ct.sweep`, one array with an axis for the steps.

After the loop the list has an element for each step, a row of that array. `whole` finds the array again where all its rows, or
every so many of them, stand side by side, as in `np.stack(xs)`: then no row is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from catad import errors
from catad.traced.arrays.aliases import Aliases, GiveUp
from catad.traced.arrays.operators import weakened
from catad.traced.arrays.stand_in import Buffer, Traced, computed, fresh, var_of
from catad.traced.control.decisions import give_up_merging
from catad.traced.control.join_branches import is_numeric
from catad.traced.recorder import Region, Row, Trace, Var
from catad.values.complex_numbers import ComplexPair, Parts, paired
from catad.vector.indexing.subscript import index

if TYPE_CHECKING:
    from catad.traced.control.loop import ForLoop


class _Leaf(NamedTuple):
    """A number or an array that is appended: its variable, or the array, whose variable is that at the end of the step."""

    var: Var | None
    array: Traced | None


class Outputs:
    """What the body of a loop appends to lists that nothing else in it uses."""

    def __init__(self, loop: ForLoop) -> None:
        self.loop = loop
        self.lists: list[list[Any]] = []
        self.values: list[tuple[list[Any], Any]] = []  # of a step: the list, and the value with leaves in it
        self.leaves: list[_Leaf] = []

    def open(self) -> None:
        """A step is recorded."""
        self.values, self.leaves = [], []

    def append(self, owner: Any, value: Any) -> bool:
        """Whether a list is filled by the loop, which has noted the value then."""
        if not any(owner is one for one in self.lists):
            return False
        self.values.append((owner, self._noted(value)))
        return True

    def _noted(self, value: Any) -> Any:
        """The value with numbers of leaves in it."""
        if type(value) is tuple:
            return tuple([self._noted(part) for part in value])
        trace = self.loop.trace
        if isinstance(value, ComplexPair):
            return Parts(self._noted(value.re), self._noted(value.im))
        if isinstance(value, Traced) and value.ndim:
            self.leaves.append(_Leaf(None, value))
        elif is_numeric(value) and not getattr(value, "ndim", 0):
            self.leaves.append(_Leaf(trace.region.own(var_of(trace, value)), None))
        else:
            give_up_merging(trace.region)
        return len(self.leaves) - 1

    def variables(self, region: Region) -> tuple[Var, ...]:
        """The outputs of a step. An array must be one that the step has made, once."""
        seen: set[int] = set()
        out = []
        for var, array in self.leaves:
            if array is not None:
                root = array.root
                shared = root.region is not region or root.origin is not None or root.aliases or id(root) in seen
                if shared:
                    give_up_merging(region)
                seen.add(id(root))
                var = region.own(array.var_)
            assert var is not None
            out.append(var)
        return tuple(out)

    @property
    def roots(self) -> list[Buffer]:
        """The memory of the arrays."""
        return [leaf.array.root for leaf in self.leaves if leaf.array is not None]

    def fill(self, outs: Sequence[Var], weak: Sequence[type | None], aliases: Aliases | None) -> None:
        """Let the lists have their elements. Where arrays are a state, too, a write into an element is not recorded."""
        trace, region = self.loop.trace, self.loop.outer
        for k in range(self.loop.length if self.values else 0):
            rows = [_row(trace, region, out, k, kind) for out, kind in zip(outs, weak, strict=True)]
            for row in rows:
                if aliases is not None and row.ndim:
                    row.root.aliases = (aliases,)
            for owner, value in self.values:
                owner.append(_restored(value, rows))


def _row(trace: Trace, region: Region, out: Var, k: int, weak: type | None) -> Traced:
    var = computed(region, index[k], out)
    region.rows[var.wire.number] = Row(out, k, weak)
    return fresh(trace, var if weak is None else weakened(trace, var))


def _restored(value: Any, rows: Sequence[Traced]) -> Any:
    if isinstance(value, Parts):
        return paired(rows[value.real], rows[value.imag])
    return tuple([_restored(part, rows) for part in value]) if type(value) is tuple else rows[value]


class Whole(NamedTuple):
    """An array, and the type of Python number that its rows are."""

    array: Traced
    weak: type | None


def whole(trace: Trace, parts: Sequence[Any]) -> Whole | None:
    """The array of which some things are the rows, in steps of one size; None where they are not."""
    runs = _runs(trace, parts)
    return _cut(trace, runs[0]) if len(runs) == 1 and runs[0][0] is not None and len(parts) > 1 else None


def pieces(trace: Trace, parts: Sequence[Any]) -> list[Any] | None:
    """Things side by side as arrays that have some of them as rows, and lists of the others; None where all are others."""
    runs = _runs(trace, parts)
    if all(rows is None or len(rows) < _FEW for rows, _ in runs):
        return None
    out: list[Any] = []
    for rows, things in runs:
        if rows is not None and len(rows) >= _FEW:
            out.append(_cut(trace, (rows, things)).array)
        elif out and isinstance(out[-1], list):
            out[-1] += things
        else:
            out.append(list(things))
    return out


_FEW = 8  # rows that are read one by one
_Run = tuple["list[Row] | None", "list[Any]"]  # rows of one array in steps of one size, or None; and the things


def _runs(trace: Trace, parts: Sequence[Any]) -> list[_Run]:
    """Things in a row: rows of one array, each so many behind the one before it, or others."""
    out: list[_Run] = []
    for part in parts:
        row = _row_of(trace, part.buffer) if type(part) is Traced and part.buffer is not None else None
        rows, things = out[-1] if out else (None, [])
        if out and (_follows(rows, row) if rows is not None else row is None):
            things.append(part)
            if rows is not None and row is not None:
                rows.append(row)
        else:
            out.append((None if row is None else [row], [part]))
    return out


def _follows(rows: list[Row], row: Row | None) -> bool:
    step = rows[1].k - rows[0].k if len(rows) > 1 else None
    return row is not None and row.of is rows[0].of and row.k != rows[-1].k and step in (None, row.k - rows[-1].k)


def _cut(trace: Trace, run: _Run) -> Whole:
    rows = run[0]
    assert rows is not None
    array = fresh(trace, trace.region.own(rows[0].of))
    step = rows[1].k - rows[0].k if len(rows) > 1 else 1
    stop = rows[-1].k + step
    all_of_it = step == 1 and len(rows) == len(array)
    return Whole(array if all_of_it else array[rows[0].k : None if stop < 0 else stop : step], rows[0].weak)


def _row_of(trace: Trace, buffer: Buffer) -> Row | None:
    for aliases in buffer.aliases:
        aliases.check(buffer, trace.region)
    var: Var | None = buffer.holds(trace.region)
    while var is not None:
        found = var.region.rows.get(var.wire.number)
        if found is not None:
            return found
        var = var.region.outer.get(var.wire.number)
    return None


def item(trace: Trace, found: Whole, key: Traced, parts: Sequence[Traced]) -> Traced:
    """An element by an index that data give."""
    return element(trace, found.array[key].var_, found, parts)


def _chosen(trace: Trace) -> GiveUp:
    """One of the arrays in a list is written into: it has to be known which."""

    def give_up() -> NoReturn:
        give_up_merging(trace.region)
        raise errors.TraceError(errors.write_to_captured("one of the arrays in a list, which data choose"))

    return give_up


def element(trace: Trace, var: Var, found: Whole, parts: Sequence[Traced]) -> Traced:
    """One of the elements, of which it is not known which: none of them may be written into."""
    made = fresh(trace, var if found.weak is None else weakened(trace, var))
    if made.ndim and made.buffer is not None:
        made.buffer.aliases = (Aliases(_chosen(trace), [part.root for part in parts], trace.region, True),)
    return made

"""Cells of arrays that a loop updates, as numbers that the loop carries: `y[i] += e` is a sum, as `s += e` is.

A cell is read once before the loop and stored once behind it. This is so where all that the loop does to the array is at one
index that no trip changes, and where each thread has a cell of its own. What a trip reads twice, with no store between, is read
once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from catad import scalar
from catad.scalar import Node, Type, apply, param
from catad.scalar.simplify import replace as replaced
from catad.simt.affine import both, conjuncts, injective
from catad.simt.arrays import Array, Load, Repeat, Site, State, Step, Store, made_in, rewritten, touched

if TYPE_CHECKING:
    from catad.simt.lower import Lowering


class Carried(NamedTuple):
    """A loop that carries cells: what reads them before, and what stores them behind, in the order of the last states."""

    before: list[Load]
    step: Repeat
    behind: list[Store]

    def fits(self, types: Mapping[int, Type]) -> bool:
        """Whether the numbers have the dtypes of the arrays, to which each store converts."""
        states = self.step.states[len(self.step.states) - len(self.behind) :]
        pairs = zip(states, self.behind, strict=True)
        return all(types[state.inside].dtype == store.site.array.dtype for state, store in pairs)


def carried(low: Lowering, step: Repeat) -> Carried:
    """The loop, with the cells that it updates as numbers."""
    step = _read_once(step)
    made = made_in((step,))
    sites = {array: site for array in touched((step,), True) if (site := _own_cell(low, step, array, made)) is not None}
    first = 1 + max(made)
    places = {array: range(first + 3 * k, first + 3 * k + 3) for k, array in enumerate(sites)}  # before, inside, after
    now = {array: param(inside) for array, (_, inside, _) in places.items()}
    mapping, body = dict[Node, Node](), list[Step]()
    for one in step.body:
        one = rewritten(one, mapping)
        if isinstance(one, Load) and one.site.array in now:
            mapping[param(one.out)] = now[one.site.array]
        elif isinstance(one, Store) and one.site.array in now:
            value = one.value
            for part in reversed(conjuncts(one.site.path)):  # one after the other, so that a comparison stands alone
                value = apply("select", part, value, now[one.site.array])
            now[one.site.array] = value
        else:
            body.append(one)
    cells = [State(inside, param(before), now[array], after) for array, (before, inside, after) in places.items()]
    loads = [Load(site, places[array][0]) for array, site in sites.items()]
    stores = [Store(site, param(places[array][2])) for array, site in sites.items()]
    return Carried(loads, _with(step, body, mapping, cells), stores)


def _with(step: Repeat, body: Sequence[Step], mapping: Mapping[Node, Node], cells: Sequence[State] = ()) -> Repeat:
    states = [replace(state, step=replaced([state.step], mapping)[0]) for state in step.states]
    return replace(step, body=tuple(body), states=(*states, *cells))


def _read_once(step: Repeat) -> Repeat:
    """The loop without reads of what a trip has read already, on a path that holds wherever the later one does."""
    mapping, body = dict[Node, Node](), list[Step]()
    known = dict[Array, list[Load]]()
    for one in step.body:
        one = rewritten(one, mapping)
        if isinstance(one, Load):
            paths = {*conjuncts(one.site.path)}
            before = known.setdefault(one.site.array, [])
            same = [old for old in before if old.site.index == one.site.index and {*conjuncts(old.site.path)} <= paths]
            if same:
                mapping[param(one.out)] = param(same[0].out)
                continue
            before.append(one)
        for array in touched((one,), True):
            known.pop(array, None)
        body.append(one)
    return _with(step, body, mapping)


def _own_cell(low: Lowering, step: Repeat, array: Array, made: set[int]) -> Site | None:
    """The cell that a loop updates, on the part of its path that no trip decides; None where threads or trips may share cells."""
    found = [one for one in step.body if array in touched((one,), False)]
    if not all(isinstance(one, Load | Store) and one.site.index == found[0].site.index for one in found):
        return None
    site: Site = found[0].site
    sure = {*conjuncts(site.path)}.intersection(*[conjuncts(one.site.path) for one in found])
    path = both([part for part in conjuncts(site.path) if part in sure and made.isdisjoint(scalar.parameters([part])[0])])
    if not made.isdisjoint([k for node in site.index for k in scalar.parameters([node])[0]]):
        return None
    own = replace(site, path=path)
    index, holds = low.place(own)
    forms = [form for node in index if (form := low.forms.form(node)) is not None]
    if len(forms) < len(index) or not injective(forms, low.sizes, range(len(low.sizes))):
        return None
    return own if low.out_of_range(forms, low.lanes.whole(array), low.conditions(holds)[0]) is None else None

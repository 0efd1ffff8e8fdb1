"""Values of one stage computed again in another, where that is cheaper than to write them and to read them back.

To write a number and read it back moves it three times (a write reads first); so two others may be read instead, and a few
operations hide behind that (J. Revels et al. 2018, section 2.2.3: keep partials or recompute them).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from catad import scalar
from catad.engine.stages import split
from catad.engine.stages.access import FIXED, Access, Affine, affine, joined, moved, not_everywhere, nowhere
from catad.engine.stages.stage import INDEX, Coordinates, Load, Stage
from catad.scalar import Function, Node, param, postorder
from catad.scalar.printing.llvm_ops import EMIT
from catad.scalar.simplify import replace
from catad.scalar.vocabulary import FREE

CHEAP = 8  # operations that hide behind the reading that they save
_ALWAYS = Affine(1)  # an index that is 1 wherever its guards hold
_INT = np.dtype(np.int64)


class Again(NamedTuple):
    """A value as a function of what is read for it."""

    function: Function
    loads: tuple[Load, ...]


def again(
    stage: Stage, value: int, own: Coordinates, access: Access, loops: Sequence[int], dtype: Any, arrays: Mapping[int, Load]
) -> Again | None:
    """A value that a stage makes at its own coordinates, computed where an access over these loops reads it.

    It is computed of what the stage reads, and of other values that are written as arrays. None where that takes many
    operations, or where the value does not depend on arrays alone.
    """
    found = _of_arrays(stage, value, arrays) if all(len(at.terms) == 1 for at in own) else None
    moving = {coordinate.one[0] for coordinate in own} if found is not None else set()
    if found is None or any(n != 1 and k not in moving for k, n in enumerate(stage.shape)):
        return None
    at = [FIXED] * len(stage.shape)
    for coordinate, (b, terms) in zip(own, access.axes, strict=True):
        label, s = coordinate.one
        at[label] = affine((b - coordinate.a) * s, [(new, t * s) for new, t in terms])
    made = _guarded(found, at, access, loops, dtype)
    kinds = tuple([load.dtype for load in made.loads])
    return made if scalar.result_types(made.function, kinds) == (dtype,) else None


def _guarded(found: Again, at: Sequence[Affine], access: Access, loops: Sequence[int], dtype: Any) -> Again:
    """The value at other indices, and what is read instead where the guards of an access do not hold."""
    outer = not_everywhere(access.guards, loops)
    loads = []
    for load in found.loads:
        own = moved(load.access, at)
        guards = joined([*not_everywhere(own.guards, loops), *outer]) if load.wire >= 0 or own.guards else ()
        fill = (own.fill if own.guards else 0.0) if guards else None
        loads.append(load._replace(access=Access(own.axes, tuple(guards), fill)))
    function = found.function
    if outer:
        holds = scalar.apply("ge", param(len(loads)), scalar.const(1))
        fill = dtype.type(access.fill).item()
        loads.append(Load(INDEX, Access((_ALWAYS,), tuple(outer), 0.0), _INT))
        node = scalar.apply("select", holds, function.outputs[0], scalar.const(fill))
        function = Function.make(len(loads), [node])
    return _with_known(function, loads, loops)


def _with_known(function: Function, loads: Sequence[Load], loops: Sequence[int]) -> Again:
    """The same without loads of which a guard holds nowhere, and of what is the same number everywhere."""
    places: dict[Node, Node] = {}
    kept: list[Load] = []
    for k, load in enumerate(loads):
        number: Any = None
        if any(nowhere(one, loops) for one in load.access.guards):
            number = load.dtype.type(load.access.fill)
        elif load.wire == INDEX and not load.access.guards and not load.access.axes[0].terms:
            number = np.int64(load.access.axes[0].a)
        places[param(k)] = param(len(kept)) if number is None else scalar.const(number)
        kept += [load] if number is None else []
    return Again(Function.make(len(kept), replace(function.outputs, places)), tuple(kept))


def _of_arrays(stage: Stage, value: int, arrays: Mapping[int, Load]) -> Again | None:
    """A value of a stage as a function of arrays and indices that are read; None where that takes many operations."""
    reads, producer = {**dict(stage.inputs), **arrays}, stage.producer
    places: dict[int, int] = {}

    def node_of(value: int) -> Node | None:
        load = reads.get(value)
        if load is not None:
            return param(places.setdefault(value, len(places))) if load.by < 0 else None
        op = producer.get(value)
        if op is None or op.kind != "map":
            return None
        output, others = op.data.outputs[value - op.first], [k for k in arrays if 0 <= k - op.first < op.results]
        made = {op.data.outputs[k - op.first]: param(len(op.args) + i) for i, k in enumerate(others)}
        (output,) = replace([output], {node: place for node, place in made.items() if node.op != "param"})
        args, nodes = [*op.args, *others], {}
        for place in [node for node in postorder([output]) if node.op == "param"]:
            arg = node_of(args[place.value])
            if arg is None:
                return None
            nodes[place] = arg
        (node,) = replace([output], nodes)
        plain = all(one.op in EMIT or one.op in FREE for one in postorder([node]))
        return node if plain and split.length(Function.make(len(places), [node])) <= CHEAP else None

    node = node_of(value)
    if node is None or not places:
        return None
    return Again(Function.make(len(places), [node]), tuple([reads[k] for k in places]))

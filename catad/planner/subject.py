"""The subjects of plans: programs, linear maps and lists of factors, as the planner sees them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from catad import errors
from catad.domains import at_domain
from catad.functors import as_chain, fused, linear_graph
from catad.linear.map import LinearMap
from catad.linear.network import Network
from catad.linear.structure import Placed, Structure
from catad.planner.cost import matrix
from catad.planner.factors import Factors, Part, spaces_text
from catad.spaces import Space, Tensor
from catad.terms import D
from catad.wiring import Builder


def subject_at(term: D, primals_or_spaces: Sequence[Any]) -> tuple[D, Space]:
    """A term and the space of the point; for dicts and other trees, with programs in place of the functions that take them."""
    if not primals_or_spaces:
        raise errors.PlanError(errors.plan_without_point(term))
    return at_domain(term, primals_or_spaces, {})


def tangent_network(term: D, dom: Space) -> Network:
    """The derivative of a program at a space as a graph of structured maps."""
    b = Builder()
    _, network, _ = linear_graph(b, fused(term, dom), [b.wire(space) for space in dom.leaves])
    return network


def derivative(term: D, dom: Space) -> Structure:
    """The structure of the derivative at a space, as `linearize` makes it."""
    network = tangent_network(term, dom)
    if not network.dom or not network.cod:
        raise errors.DerivativeError(errors.integers_alone(dom, term))
    return as_chain(network)


def factors_of_list(chain: Any) -> Factors:
    """A list of factors of any of the kinds that `plan` takes."""
    if not isinstance(chain, Sequence) or isinstance(chain, (str, bytes)) or not chain:
        raise errors.PlanError(errors.not_plannable(chain))
    if type(chain[0]) is tuple:
        try:
            return _of_sizes(tuple(chain))  # of which equal ones are known
        except TypeError:  # not hashable
            return _of_any(chain)
    if all(isinstance(part, LinearMap) for part in chain):
        return factors_of_maps(chain)[0]
    return _of_any(chain)


@lru_cache(maxsize=1024)
def _of_sizes(chain: tuple[Any, ...]) -> Factors:
    return _of_any(chain)


def _of_any(chain: Sequence[Any]) -> Factors:
    placed: list[Placed] = []
    start = 0
    for k, part in enumerate(chain):
        if isinstance(part, LinearMap):
            part = part.structure
        elif isinstance(part, Sequence) and not isinstance(part, (str, bytes)):
            part = matrix(part, k)
        elif not isinstance(part, Structure):
            raise errors.PlanError(errors.bad_factor(part, k))
        placed.append((part, tuple(range(start, start + len(part.slots)))))
        start += len(part.slots)
    return chained(placed)


def chained(placed: Sequence[Placed]) -> Factors:
    """Placed maps as factors; neighbours must meet."""
    spaces: dict[int, Tensor] = {}
    for k, (structure, numbers) in enumerate(placed):
        if k and placed[k - 1][0].cod != structure.dom:
            left, right = spaces_text(placed[k - 1][0].cod), spaces_text(structure.dom)
            raise errors.PlanError(errors.factors_do_not_meet(k - 1, left, k, right))
        spaces.update(zip(numbers, structure.slots, strict=True))
    return Factors(tuple([Part(s, own) for s, own in placed]), tuple([spaces[k] for k in range(len(spaces))]))


def factors_of_maps(maps: Sequence[LinearMap]) -> tuple[Factors, list[Any]]:
    """A list of linear maps as factors, the first applied first, and the arrays of their slots, equal ones once."""
    arrays: list[Any] = []
    number: dict[int, int] = {}
    placed = []
    for linear in maps:
        ids = []
        for slot in linear.slots:
            if id(slot) not in number:
                number[id(slot)] = len(arrays)
                arrays.append(slot)
            ids.append(number[id(slot)])
        placed.append((linear.structure, tuple(ids)))
    return chained(placed), arrays

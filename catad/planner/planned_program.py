"""The subjects of plans: programs, linear maps and lists of factors, as the planner sees them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from catad import errors
from catad.category.spaces import Space, Tensor, rebuild, space_like
from catad.category.terms import D
from catad.derivative.functors import as_chain, network_at
from catad.derivative.grad import grad
from catad.front.calling import taken
from catad.front.complex_arrays import speaking
from catad.front.domains import at_domain
from catad.front.specialise import front_of, specialised
from catad.linear.map import LinearMap
from catad.linear.structure import Placed, Structure
from catad.planner.chains.factors import Factors, Part, spaces_text
from catad.planner.costs.cost import matrix
from catad.support.lru import remembered
from catad.traced.signature import Form


def subject_at(term: D, primals_or_spaces: Sequence[Any]) -> tuple[D, Space]:
    """A term and the space of the point; for dicts and other trees, with programs in place of the functions that take them."""
    if not primals_or_spaces:
        raise errors.PlanError(errors.plan_without_point(term))
    return at_domain(term, primals_or_spaces, {})


class Origin(NamedTuple):
    """What was given to plan: the morphism before its functions were read, the form of its arguments, and its domain."""

    given: D
    form: Form | None  # None for spaces, and where no function has to be read
    dom: Space
    hessian: bool

    def at(self, lengths: Sequence[int]) -> Structure:
        """The derivative where all axes of the arguments have other lengths."""
        left = iter(lengths)
        leaves = [Tensor([next(left) for _ in leaf.shape], leaf.dtype) for leaf in self.dom.leaves]
        dom = space_like(rebuild(self.dom, leaves), leaves)
        term = self.given if self.form is None else specialised(self.given, self.form, dom)[0]
        return derivative(grad(term) if self.hessian else term, dom)


def origin_of(given: D, primals_or_spaces: Sequence[Any], dom: Space, hessian: bool) -> Origin:
    """What a plan is made for, so that it can be looked at for other sizes."""
    spaces = all(isinstance(arg, Space) for arg in primals_or_spaces)
    given = given if spaces else speaking(given, primals_or_spaces)
    form = None if spaces or front_of(given) is None else taken(given, primals_or_spaces, {})[0]
    return Origin(given, form, dom, hessian)


def lengths_of(factors: Factors) -> list[int] | None:
    """The sizes of the spaces between dense matrices that were given by their sizes; None for any other list of factors."""
    structures = [part.structure for part in factors.parts]
    sizes = [(s.rows, s.columns) for s in structures]
    return [sizes[0][1], *[rows for rows, _ in sizes]] if factors == factors_of_list(sizes) else None


def derivative(term: D, dom: Space) -> Structure:
    """The structure of the derivative at a space, as `linearize` makes it."""
    network = network_at(term, dom)
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


@remembered
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
    if not isinstance(maps, Sequence) or not all(isinstance(linear, LinearMap) for linear in maps):
        raise errors.PlanError(errors.not_multiplied(maps))
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

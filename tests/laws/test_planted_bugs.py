"""Bugs planted in the rules, each of which some checker must see: a law that still holds with the bug guards nothing."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from law_cases import UNIT22, affine, matmul22, times

import catad as ct
from catad.category import cache
from catad.category.cartesian import Proj, Structural
from catad.derivative.functors import Tangent
from catad.linear.families.block import Block, Chain, Sum
from catad.linear.families.contract import Contract
from catad.linear.families.delta import Delta
from catad.linear.families.gather import Gathered, ScatterAdded
from catad.linear.families.recurrence import Recurred, Recurrence
from catad.linear.families.reindex import Axis, axis
from catad.linear.map import LinearMap
from catad.linear.network import Network
from catad.linear.structure import Rule
from catad.testing import check_grads, check_laws, check_linear_map, check_monoid

Patch = pytest.MonkeyPatch


def forget() -> None:
    """Empty every cache of wirings, programs and products, so that a planted bug is seen and does not outlive its test."""
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] == "catad":
            for thing in list(vars(module).values()):
                for part in (thing, *(vars(thing).values() if isinstance(thing, type) else ())):
                    cached = getattr(part, "__func__", part)
                    if isinstance(cached, functools._lru_cache_wrapper):
                        cached.cache_clear()
    cache.forget()


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    forget()
    yield
    forget()


A = np.array([2.0, -1.0, 3.0])
B = np.array([1.0, 4.0, -2.0])
M = np.array([[1.0, 2.0, 0.0], [-1.0, 0.0, 3.0], [2.0, 5.0, 1.0]])


# -- the bugs


def swapped_projection(patch: Patch) -> None:
    original = Structural.lay_out

    def lay_out(self: Any, b: Any, x: Any) -> Any:
        return original(ct.exr if self == ct.exl else ct.exl if self == ct.exr else self, b, x)

    patch.setattr(Structural, "lay_out", lay_out)


def last_projection(patch: Patch) -> None:
    patch.setattr(Proj, "lay_out", lambda self, b, x: x[-1])


def swap_that_does_not(patch: Patch) -> None:
    original = Structural.lay_out
    patch.setattr(Structural, "lay_out", lambda self, b, x: x if self.name == "swap" else original(self, b, x))


def recurrence_keeps_its_direction(patch: Patch) -> None:
    patch.setattr(Recurrence, "T", property(lambda s: Recurrence(s.grid, s.axis, s.reverse, s.states, s.links)))


def recurrence_keeps_its_grid(patch: Patch) -> None:
    patch.setattr(Recurrence, "T", property(lambda s: Recurrence(s.grid, s.axis, not s.reverse, s.states, s.links)))


def recurrence_without_links(patch: Patch) -> None:
    """The rule without the derivative with respect to the links."""
    original = Recurred.rule

    def rule(self: Any, ins: Any, outs: Any) -> Any:
        made = original(self, ins, outs)
        return Rule(made.structure, lambda w, r: [0.0 * s if k == 0 else s for k, s in enumerate(made.coefficients(w, r))])

    patch.setattr(Recurred, "rule", rule)


def delta_is_its_own_transpose(patch: Patch) -> None:
    original = Delta.T.fget  # type: ignore[attr-defined]
    patch.setattr(Delta, "T", property(lambda self: self if self.dom == self.cod else original(self)))


def delta_forgets_its_factor(patch: Patch) -> None:
    original = Delta.T.fget  # type: ignore[attr-defined]

    def transposed(self: Delta) -> Delta:
        from dataclasses import replace

        return replace(original(self), factor=1.0)

    patch.setattr(Delta, "T", property(transposed))


def pull_overwrites(patch: Patch) -> None:
    """Cotangents that meet at a fork are not added."""
    from catad.linear import network

    def overwrite(total: Any, term: Any) -> Any:
        return total if term is None else term

    original = Network._pull

    def pull(self: Any, b: Any, slots: Any, ys: Any) -> Any:
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(network, "accumulate", overwrite)
            return original(self, b, slots, ys)

    patch.setattr(Network, "_pull", pull)


def dropped_partial(patch: Patch) -> None:
    from catad.vector.pointwise import map as module

    original = module.scalar.partials

    def partials(function: Any, columns: Any) -> Any:
        return tuple([(*row[:-1], None) if len(row) > 1 else row for row in original(function, columns)])

    patch.setattr(module.scalar, "partials", partials)


def frozen_partial(patch: Patch) -> None:
    """Coefficients that equal the derivative at the point only, as constants: second derivatives are wrong."""
    from catad.vector.pointwise import map as module

    original = module.Map.rule

    def rule(self: Any, ins: Any, outs: Any) -> Any:
        made = original(self, ins, outs)
        if made is None:
            return None
        stop = ct.D(lambda x: (x, ct.scale(0.0 * x)))
        return Rule(made.structure, lambda w, r: [s.builder.apply(stop, s) for s in made.coefficients(w, r)])

    patch.setattr(module.Map, "rule", rule)


def scatter_overwrites(patch: Patch) -> None:
    def evaluate(self: Any, xp: Any, *arrays: Any) -> Any:
        index, v = arrays
        out = np.zeros(self.how.shape(self.how.src), v.dtype)
        if self.how.axis or index.ndim != 1:
            return out
        for at, value in zip(index, v, strict=True):
            if 0 <= at < len(out):
                out[at] = value
        return out

    patch.setattr(ScatterAdded, "evaluate", evaluate)


def gather_wraps(patch: Patch) -> None:
    original = Gathered.evaluate
    patch.setattr(Gathered, "evaluate", lambda self, xp, index, x: original(self, xp, index % max(1, self.how.bins), x))


def move_back_to_the_wrong_place(patch: Patch) -> None:
    patch.setattr(Axis, "T", property(lambda s: axis(s.n_out, s.n_in, s.c, s.t, max(0, s.a - 1), s.s, s.m)))


def scan_without_shift(patch: Patch) -> None:
    from catad.vector.scans import scan as module

    patch.setattr(module, "shifted", lambda b, s, axis, fill: s)


def fold_with_sides_exchanged(patch: Patch) -> None:
    from catad.vector.folds import fold as module

    original = module.scanned
    patch.setattr(module, "scanned", lambda b, m, x, at, exclusive, reverse: original(b, m, x, at, exclusive, not reverse))


def concatenate_with_a_wrong_offset(patch: Patch) -> None:
    from catad.vector.shapes import shape as module

    def shifted(n_in: int, n_out: int, a: int, s: int, c: int, t: int, m: int) -> Any:
        return axis(n_in, n_out, a, s, max(0, c - 1), t, m)

    original = module.Concatenate.rule

    def rule(self: Any, ins: Any, outs: Any) -> Any:
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(module, "axis", shifted)
            return original(self, ins, outs)

    patch.setattr(module.Concatenate, "rule", rule)


def tangent_with_parts_swapped(patch: Patch) -> None:
    original = Tangent.lay_out
    patch.setattr(Tangent, "lay_out", lambda self, b, x: original(self, b, x)[::-1])


def contraction_with_operands_exchanged(patch: Patch) -> None:
    original = Contract.rule

    def rule(self: Any, ins: Any, outs: Any) -> Any:
        made = original(self, ins, outs)
        return Rule(made.structure, lambda wires, results: made.coefficients(wires[::-1], results))

    patch.setattr(Contract, "rule", rule)


def chain_transposed_in_order(patch: Patch) -> None:
    patch.setattr(Chain, "T", property(lambda self: Chain(tuple((s.T, own) for s, own in self.parts), self.slots)))


def block_keeps_its_places(patch: Patch) -> None:
    def transposed(self: Any) -> Any:
        flipped = tuple(tuple(p and (p[0].T, p[1]) for p in row) for row in self.grid)
        return Block(flipped, self.cod, self.dom, self.slots, self.widths)

    patch.setattr(Block, "T", property(transposed))


def sum_loses_a_term(patch: Patch) -> None:
    patch.setattr(
        Sum, "apply", lambda self, b, slots, xs: self.parts[0][0].apply(b, [slots[k] for k in self.parts[0][1]], xs)
    )


def batch_along_the_wrong_axis(patch: Patch) -> None:
    def batched(self: Any, b: Any, ins: Any, flags: Any, size: int) -> Any:
        return b.add(Recurred(self.grid, self.axis, self.reverse), *ins)

    patch.setattr(Recurred, "batched", batched)


def wrong_product_of_diagonals(patch: Patch) -> None:
    """An explicit product that loses the factor."""
    from catad.linear.families import plain_rules
    from catad.linear.families.table import TABLE
    from catad.linear.products import MapProduct

    original = TABLE[Delta, Delta]

    def product(first: Any, second: Any, shared: Any) -> Any:
        from dataclasses import replace

        made = original(first, second, shared)
        return made and MapProduct(
            replace(made.structure, factor=1.0) if isinstance(made.structure, Delta) else made.structure, made.sources
        )

    assert plain_rules is not None
    patch.setitem(TABLE, (Delta, Delta), product)


def wrong_sign_of_cosine(patch: Patch) -> None:
    from catad.vector.pointwise import map as module

    original = module.scalar.partials

    def partials(function: Any, columns: Any) -> Any:
        made = original(function, columns)
        if function != ct.scalar.vocabulary["cos"].function:
            return made
        return tuple(tuple(module.scalar.apply("neg", node) for node in row) for row in made)

    patch.setattr(module.scalar, "partials", partials)


def transposed_dense(patch: Patch) -> None:
    original = LinearMap.todense
    patch.setattr(LinearMap, "todense", lambda self, force=False: original(self, force).T)


def matvec_backwards(patch: Patch) -> None:
    original = LinearMap.matvec
    patch.setattr(LinearMap, "matvec", lambda self, v: original(self, v)[::-1])


# -- what must see them


@dataclass(frozen=True)
class Bug:
    plant: Callable[[Patch], None]
    check: Callable[[], None]


def laws(make: Callable[[], Any], *point: Any, only: Any = None) -> Callable[[], None]:
    return lambda: check_laws(make(), *point, exact=True, only=only)


def square_matmul() -> Any:
    return ct.fork(ct.id, ct.transpose() >> ct.square) >> ct.matmul


X2 = np.array([[1.0, 2.0], [3.0, -1.0]])
BUGS: dict[str, Bug] = {
    "swapped projection": Bug(swapped_projection, laws(lambda: ct.square, A)),
    "projections always last": Bug(last_projection, laws(lambda: ct.square, A)),
    "swap that does not swap": Bug(swap_that_does_not, laws(lambda: ct.square, A)),
    "recurrence keeps its direction": Bug(recurrence_keeps_its_direction, lambda: check_linear_map(ct.linear.recurrence(A))),
    "recurrence keeps its direction (laws)": Bug(recurrence_keeps_its_direction, laws(lambda: ct.scan(times, 1.0), A)),
    "recurrence keeps its grid": Bug(recurrence_keeps_its_grid, laws(lambda: ct.scan(matmul22, UNIT22), A, B, A, B)),
    "recurrence without links": Bug(recurrence_without_links, laws(lambda: ct.fork(ct.id, ct.id) >> ct.recurrence, A)),
    "recurrence without links (grads)": Bug(
        recurrence_without_links, lambda: check_grads(ct.recurrence >> ct.id, A, B, order=1)
    ),
    "delta is its own transpose": Bug(delta_is_its_own_transpose, lambda: check_linear_map(ct.linear.dense(M))),
    "delta is its own transpose (laws)": Bug(
        delta_is_its_own_transpose, laws(lambda: ct.lift(ct.linear.dense(M)) >> ct.square, A)
    ),
    "delta forgets its factor": Bug(delta_forgets_its_factor, laws(lambda: ct.map(lambda x: 3.0 * x), A)),
    "pull overwrites": Bug(pull_overwrites, laws(lambda: ct.fork(ct.square, ct.sum()) >> ct.mul >> ct.sum(), A)),
    "dropped partial": Bug(dropped_partial, lambda: check_laws(ct.id >> ct.mul, A, B)),
    "dropped partial (grads)": Bug(dropped_partial, lambda: check_grads(ct.id >> ct.mul, A, B)),
    "frozen partial": Bug(frozen_partial, laws(lambda: ct.map(lambda x: x * x * x), A)),
    "frozen partial (grads)": Bug(frozen_partial, lambda: check_grads(ct.map(lambda x: x * x * x), A, order=2)),
    "scatter overwrites": Bug(
        scatter_overwrites, lambda: check_linear_map(ct.linear.gather(np.array([2, 0, 2]), ct.f64[3]))
    ),
    "scatter overwrites (laws)": Bug(
        scatter_overwrites, laws(lambda: ct.fork(ct.id, ct.const(np.array([2, 0, 2]))) >> ct.gather, A)
    ),
    "gather wraps": Bug(gather_wraps, lambda: check_linear_map(ct.linear.gather(np.array([2, -1, 3]), ct.f64[3]))),
    "move back to the wrong place": Bug(move_back_to_the_wrong_place, laws(lambda: ct.slice(1, 3), A)),
    "scan without shift": Bug(scan_without_shift, laws(lambda: ct.scan(times, 1.0), A)),
    "scan without shift (grads)": Bug(scan_without_shift, lambda: check_grads(ct.scan(times, 1.0), A)),
    "fold with sides exchanged": Bug(fold_with_sides_exchanged, laws(lambda: ct.fold(affine, (1.0, 0.0)), A, B)),
    "concatenate with a wrong offset": Bug(
        concatenate_with_a_wrong_offset, laws(lambda: ct.fork(ct.square, ct.neg) >> ct.concatenate(), A)
    ),
    "tangent with parts swapped": Bug(tangent_with_parts_swapped, laws(lambda: ct.map(lambda x: x * x * x), A)),
    "contraction with operands exchanged": Bug(contraction_with_operands_exchanged, laws(square_matmul, X2)),
    "chain transposed in order": Bug(
        chain_transposed_in_order, lambda: check_linear_map(ct.linear.recurrence(A) >> ct.linear.recurrence(B, reverse=True))
    ),
    "block keeps its places": Bug(
        block_keeps_its_places,
        lambda: check_linear_map(ct.linear.fork(ct.scale(A), ct.scale(B)) >> ct.linear.join(ct.scale(B), ct.scale(A))),
    ),
    "sum loses a term": Bug(sum_loses_a_term, lambda: check_linear_map(ct.scale(A) + ct.linear.recurrence(A))),
    "batch along the wrong axis": Bug(batch_along_the_wrong_axis, laws(lambda: ct.scan(ct.add, 0.0), A)),
    "wrong product of diagonals": Bug(
        wrong_product_of_diagonals, laws(lambda: ct.map(lambda x: 3.0 * x) >> ct.sum() >> ct.map(lambda y: -2.0 * y), A)
    ),
    "wrong sign of cosine": Bug(wrong_sign_of_cosine, lambda: check_grads(ct.id >> ct.cos, A)),
    "wrong sign of cosine (laws)": Bug(wrong_sign_of_cosine, lambda: check_laws(ct.map(ct.cos), A)),
    "transposed todense": Bug(transposed_dense, lambda: check_linear_map(ct.linear.dense(M))),
    "matvec backwards": Bug(matvec_backwards, lambda: check_linear_map(ct.scale(A))),
}


@pytest.mark.quick(17)
@pytest.mark.parametrize("name", list(BUGS))
def test_the_checks_pass_without_the_bug(name: str) -> None:
    BUGS[name].check()


@pytest.mark.parametrize("name", list(BUGS))
def test_a_planted_bug_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch, ct.use_engine("reference"):  # bugs are planted in the array code
        BUGS[name].plant(patch)
        with pytest.raises(ct.LawError) as caught:
            BUGS[name].check()
    assert "does not hold" in str(caught.value) or "could not be evaluated" in str(caught.value)


WRONG_BY_HAND = {
    "half the derivative": lambda x: (x * x, ct.scale(x)),
    "no derivative": lambda x: (x * x, ct.scale(0.0 * x)),
    "wrong sign": lambda x: (x * x, ct.scale(-2.0 * x)),
}


@pytest.mark.parametrize("name", list(WRONG_BY_HAND))
@pytest.mark.parametrize("check", [check_laws, check_grads])
def test_a_wrong_morphism_by_hand_is_caught(name: str, check: Any) -> None:
    with pytest.raises(ct.LawError, match="derivative"):
        check(ct.D(WRONG_BY_HAND[name]), 3.0)


def test_a_wrong_adjoint_is_caught() -> None:
    wrong = ct.linear.matrix_free(ct.exr >> 2.0 * ct.id, ct.exr >> 3.0 * ct.id, ct.f64[3], ct.f64[3])
    with pytest.raises(ct.LawError, match="adjointness"):
        check_linear_map(wrong)


def test_a_map_that_is_not_linear_is_caught() -> None:
    wrong = ct.linear.matrix_free(ct.exr >> ct.square, ct.exr >> ct.id, ct.f64[3], ct.f64[3])
    with pytest.raises(ct.LawError, match="additivity"):
        check_linear_map(wrong)


@pytest.mark.parametrize(
    ("op", "neutral", "law"),
    [
        (lambda a, b: a - b, 0.0, "neutral"),
        (lambda a, b: a * b, 2.0, "neutral"),
        (lambda a, b: a + b + a * a * b, 0.0, "associativity"),
        (affine, (0.0, 0.0), "neutral"),
    ],
)
def test_a_wrong_monoid_is_caught(op: Any, neutral: Any, law: str) -> None:
    values = [1.0, 2.0, -3.0] if not isinstance(neutral, tuple) else [(1.0, 2.0), (3.0, -1.0)]
    with pytest.raises(ct.LawError, match=law):
        check_monoid(op, neutral, values)

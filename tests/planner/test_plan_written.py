"""Maps known by their application: patterns, colours, and chains planned by pushes, pulls and products."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.category.wiring import Builder
from catad.linear.apply import applying
from catad.linear.batch import batch
from catad.linear.families.matrix_free import carried
from catad.linear.matrix.patterns import Pattern, pattern_of
from catad.linear.products import cost_of_wiring
from catad.linear.structure import Structure
from catad.planner import Plan, plan


def linear(f: ct.D, shape: tuple[int, ...], seed: int = 0) -> ct.LinearMap:
    found: ct.LinearMap = ct.linearize(f, np.random.default_rng(seed).standard_normal(shape) / 4)[1]
    return found


def loop(offsets: Any, n: int) -> ct.D:
    names = ("lambda a: a * a", "lambda a, b: a * b + a", "lambda a, b, c: a * b - c", "lambda a, b, c, d: a * b - c * d")
    return ct.iterate(ct.stencil(eval(names[len(offsets) - 1]), offsets), n)


small = ct.iterate(ct.fork(ct.square, ct.flip()) >> ct.mul, 2)
CASES: dict[str, tuple[ct.LinearMap, int | None]] = {  # and the number of colours
    "diagonal": (linear(ct.iterate(ct.tanh, 3), (12,)), 1),
    "band, once": (linear(loop((-1, 0, 1), 1), (12,)), 3),
    "band, three times": (linear(loop((-1, 0, 1), 3), (12,)), 7),
    "band to one side": (linear(loop((0, 2), 2), (12,)), 5),
    "band wider than the array": (linear(loop((-3, 0, 3), 3), (9,)), 9),
    "band and diagonal": (linear(loop((-1, 0), 2) >> ct.sin >> loop((0, 1), 1), (12,)), 4),
    "planes": (linear(loop([(0, 0), (0, 1), (1, 0), (-1, 0)], 2), (6, 7)), 5 * 3),
    "blocks": (linear(ct.map(small), (7, 3)), 3),
    "blocks of planes": (linear(ct.map(ct.map(small)), (2, 4, 3)), 3),
    "scan beside others": (linear(ct.scan(lambda a, b: a * b, 1.0), (6, 4)), 6),
    "shifted": (linear(ct.slice(2, 9) >> ct.iterate(ct.tanh, 2) >> ct.pad(3, 1), (12,)), 1),
    "nothing known": (linear(ct.checkpoint(ct.square), (5,)), None),
    "a loop too long to follow": (linear(loop((0, 1), 70), (5,)), None),
}


@pytest.mark.parametrize("name", CASES)
def test_entries_lie_in_the_pattern(name: str) -> None:
    map_, colours = CASES[name]
    pattern = pattern_of(map_.structure)
    if colours is None:
        assert pattern is None
        return
    assert pattern is not None and pattern.colours == colours
    dense = np.asarray(map_.todense())
    rank = len(map_.structure.cod[0].shape)
    for place in zip(*np.nonzero(dense), strict=True):
        for axis, r, c in zip(pattern.axes, place[:rank], place[rank:], strict=True):
            assert axis.low <= r - c <= axis.high or axis.is_full
    assert pattern.T.T == pattern == pattern_of(map_.structure.T).T  # type: ignore[union-attr]


def for_one_more(structure: Structure) -> int:
    """What one more application costs beside another one: a step of a loop computes its coefficients once for all."""
    wiring, _ = applying(structure)
    slots = len(structure.slots)
    costs = []
    for size in (2, 3):
        b = Builder()
        ins = [b.wire(s if k < slots else carried(s, size)) for k, s in enumerate(wiring.spaces(wiring.inputs))]
        outs = batch(b, wiring, ins, [k >= slots for k in range(len(ins))], size)
        costs.append(cost_of_wiring(b.finish(b.space(tuple(ins)), tuple(ins), tuple(outs))))
    return costs[1] - costs[0]


@pytest.mark.parametrize("how", ["push", "pull"])
@pytest.mark.parametrize("name", CASES)
def test_written_out_by_as_many_applications_as_colours(name: str, how: str) -> None:
    map_, _ = CASES[name]
    planned = plan_whole(map_, how)
    with ct.count() as c:
        found = planned.multiply(map_)
    np.testing.assert_allclose(found.todense(), map_.todense(), rtol=1e-9, atol=1e-12)
    assert c.operations == planned.cost.operations
    structure = map_.structure if how == "push" else map_.structure.T
    pattern = pattern_of(structure)
    count = structure.columns if pattern is None else pattern.colours
    first, more = cost_of_wiring(applying(structure)[0]), for_one_more(structure)
    read_off = (
        0
        if pattern is None or pattern.is_full
        else planned.result.stored + 2 * count * structure.columns * len(pattern.axes)
    )
    assert first + (count - 1) * more <= c.operations <= count * (first + read_off)
    if pattern is not None and isinstance(pattern, Pattern):
        assert planned.result.stored <= count * max(structure.rows, structure.columns)


def plan_whole(map_: ct.LinearMap, how: str) -> Plan:
    """All factors left as they are, and the whole written out at the end."""
    n = len(plan(map_).factors)
    tree: Any = 0
    for k in range(1, n):
        tree = [tree, k]
    return plan(map_, mode=[how, tree], cost="operations")


def test_a_band_of_any_size_takes_as_many_applications() -> None:
    """2 l + 1 pushes for a band, whatever n; n for a map of which nothing is known."""
    costs = {}
    for n in (100, 1000):
        f = loop((-1, 0, 1), 2)
        planned = plan(f, ct.f64[n], explicit=True, cost="operations")
        assert planned.result.kind == "sum of 5 maps" and planned.result.stored == 5 * n
        costs[n] = planned.cost.operations
    assert costs[1000] <= 10 * costs[100]


# -- chains of maps known by their application: tangents, adjoints and products


def hidden(rng: np.random.Generator, m: int, n: int, width: int) -> ct.LinearMap:
    """A map from R^n to R^m whose application takes width (m + n) operations; nothing else is known of it."""
    forward = ct.fork(ct.exl >> ct.exr, ct.fork(ct.exl >> ct.exl, ct.exr) >> ct.einsum("wn,n->w")) >> ct.einsum("mw,w->m")
    backward = ct.fork(ct.exl >> ct.exl, ct.fork(ct.exl >> ct.exr, ct.exr) >> ct.einsum("mw,m->w")) >> ct.einsum("wn,w->n")
    weights = rng.integers(-2, 3, (width, n)).astype(float), rng.integers(-2, 3, (m, width)).astype(float)
    made: ct.LinearMap = ct.linear.matrix_free(forward, backward, ct.f64[n], ct.f64[m], weights)
    return made


def optimum(sizes: list[int], edges: list[int]) -> int:
    """Dynamic programming by the rule of Jacobian chain products, in which what is not accumulated has no state.

    Factor j is sizes[j+1] x sizes[j]. Accumulate it by tangents (edges n) or adjoints (edges m); multiply two accumulated parts;
    push the columns of one through factors that are not accumulated; pull the rows of one back through such.
    """
    count = len(edges)
    best: dict[tuple[int, int], int] = {}
    for j in range(count):
        best[j, j] = edges[j] * min(sizes[j], sizes[j + 1])
    for width in range(2, count + 1):
        for i in range(count - width + 1):
            j = i + width - 1
            ways = []
            for k in range(i, j):
                ways.append(best[i, k] + best[k + 1, j] + sizes[j + 1] * sizes[k + 1] * sizes[i])
                ways.append(best[i, k] + sizes[i] * sum(edges[k + 1 : j + 1]))
                ways.append(best[k + 1, j] + sizes[j + 1] * sum(edges[i : k + 1]))
            best[i, j] = min(ways)
    return best[0, count - 1]


@pytest.mark.parametrize("seed", range(25))
def test_chains_of_applications_are_planned_as_the_rule_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 6))
    sizes = [int(n) for n in rng.integers(2, 9, count + 1)]
    widths = [int(w) for w in rng.integers(1, 12, count)]
    maps = [hidden(rng, sizes[k + 1], sizes[k], widths[k]) for k in range(count)]
    edges = [widths[k] * (sizes[k] + sizes[k + 1]) for k in range(count)]
    best = plan(maps, explicit=True)
    assert best.exact and best.cost.operations == optimum(sizes, edges)
    assert plan(maps, explicit=True, mode="forward").cost.operations == sizes[0] * sum(edges)
    assert plan(maps, explicit=True, mode="reverse").cost.operations == sizes[-1] * sum(edges)
    expected = np.eye(sizes[0])
    for map_ in maps:
        expected = np.asarray(map_.slots[1]) @ np.asarray(map_.slots[0]) @ expected
    for mode in ("auto", "forward", "reverse"):
        planned = plan(maps, explicit=True, mode=mode)
        with ct.count() as c:
            found = planned.multiply(maps)
        assert c.operations == planned.cost.operations
        np.testing.assert_array_equal(found.todense(), expected)
    assert "tangent" not in best.explain() and plan(maps).cost.operations == 0  # unmultiplied, unless asked


def test_what_meets_a_dense_map_is_not_left_unmultiplied() -> None:
    rng = np.random.default_rng(0)
    tall, free, wide = (
        ct.linear.dense(rng.standard_normal((5, 2))),
        hidden(rng, 5, 5, 3),
        ct.linear.dense(rng.standard_normal((3, 5))),
    )
    for maps in ([tall, free], [free, wide], [tall, free, wide]):
        planned = plan(maps)
        assert planned.result.kind == "dense"
        expected = maps[0].todense()
        for map_ in maps[1:]:
            expected = map_.todense() @ expected
        np.testing.assert_allclose(planned.multiply(maps).todense(), expected, rtol=1e-12)
    assert plan([tall, free]).cost.operations == 2 * 30 and plan([free, wide]).cost.operations == 3 * 30


def test_a_small_map_between_wide_ones_is_accumulated_first() -> None:
    rng = np.random.default_rng(0)
    maps = [
        ct.linear.dense(rng.standard_normal((3, 40))),
        hidden(rng, 3, 3, 200),
        ct.linear.dense(rng.standard_normal((40, 3))),
    ]
    planned = plan(maps)
    assert planned.bracketing in (((0, ("push", 1)), 2), (0, (("push", 1), 2)), ((0, ("pull", 1)), 2), (0, (("pull", 1), 2)))
    assert planned.cost.operations == 3 * 1200 + 9 * 40 + 40 * 3 * 40
    again = Plan.from_json(planned.to_json(), maps)
    assert again.strategy.tree == planned.strategy.tree
    assert "written out" in planned.explain() and "rejected" in planned.why(0)
    assert "left as it is" in planned.why(0)
    picture = planned.draw()
    assert picture.count("<rect") >= 6 and picture.endswith("</svg>")


def test_edits_write_out_what_is_asked() -> None:
    maps = [CASES["band, once"][0], CASES["diagonal"][0]]
    planned = plan(maps)
    assert planned.result.kind.startswith("chain")
    for mode in ([["push", 0], ["pull", 1]], ["push", [0, 1]], ["pull", [["push", 0], 1]]):
        edited = planned.edited(mode)
        np.testing.assert_allclose(edited.multiply(maps).todense(), planned.multiply(maps).todense(), rtol=1e-12, atol=1e-14)
        assert edited.cost.operations > 0
        assert plan(maps, mode=edited.bracketing).strategy.tree == edited.strategy.tree
    with pytest.raises(ct.PlanError, match="named by its number"):
        planned.edited([["shove", 0], 1])
    with pytest.raises(ct.PlanError, match="leaves out a factor"):
        planned.edited(["push", 0])


@pytest.mark.parametrize("explicit", [False, True])
def test_programs_written_out(explicit: bool) -> None:
    """Checkpoints, loops and scans among dense layers: the same numbers, with and without what is unmultiplied."""
    rng = np.random.default_rng(1)

    def matrix(m: int, n: int) -> ct.D:
        return ct.fork(ct.const(rng.standard_normal((m, n)) / 3), ct.id) >> ct.einsum("ij,j->i")

    programs = [
        ct.checkpoint(matrix(4, 6) >> ct.tanh) >> matrix(3, 4),
        ct.scan(lambda a, b: a * b, 1.0) >> ct.checkpoint(ct.sin) >> ct.scan(lambda a, b: a + b, 0.0),
        ct.fork(ct.checkpoint(ct.square), ct.iterate(ct.cos, 2)) >> ct.mul >> matrix(2, 6),
        ct.fork(ct.checkpoint(ct.fork(ct.sin, ct.cos >> ct.sum())), ct.exp) >> ct.exl,
    ]
    for f in programs:
        x = rng.standard_normal(6)
        expected = ct.linearize(f, x)[1].todense()
        for mode in ("auto", "forward", "reverse"):
            planned = plan(f, x, explicit=explicit, mode=mode)
            np.testing.assert_allclose(planned.run(x).todense(), expected, rtol=1e-12, atol=1e-14)

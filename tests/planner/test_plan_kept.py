"""Cost models and profiles; plans that are kept, and what of them is used for other shapes; many cotangents."""

from __future__ import annotations

import itertools
import json
import multiprocessing
import timeit
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.planner import CostProfile, Plan, plan, plan_structure
from catad.planner.chains import cache as kept
from catad.planner.chains.bound import bound
from catad.planner.costs import calibrate, cost_profile
from catad.planner.costs.cost_profile import Rates
from catad.planner.plan import forget
from catad.planner.planned_program import factors_of_list
from catad.planner.request import Request

SIZES = [(80, 100), (50, 80), (3, 50), (10, 3), (2, 10)]
TEXT = json.dumps({"catad profile": 3, "engine": "a", "kernels": {"others": {"launch": 1, "byte": 0, "operation": 0}}})


def rates(launch: float, byte: float, operation: float) -> CostProfile:
    return CostProfile("given", (("others", Rates(launch, byte, operation)),))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CATAD_CACHE_DIR", str(tmp_path / "profiles"))
    return tmp_path / "profiles"


# -- cost models


def test_a_profile_says_what_a_launch_a_byte_and_an_operation_take() -> None:
    by_operations = plan(SIZES, cost=rates(0, 0, 1.0))
    assert by_operations.cost.value == by_operations.cost.operations == 24_360
    by_bytes = plan(SIZES, cost=rates(0, 1.0, 0))
    assert by_bytes.cost.value == by_bytes.cost.bytes == min(c.bytes for _, c in plan(SIZES).alternatives())
    assert plan(SIZES, cost=rates(2.0, 0, 0)).cost.value == 2.0 * 4


def test_launches_decide_where_arrays_are_small() -> None:
    """Four diagonals and a matrix: with dear launches the cheapest is what multiplies least often, not least."""
    rng = np.random.default_rng(0)
    chain = [ct.linear.dense(rng.standard_normal((4, 3))), *[ct.scale(rng.standard_normal(4)) for _ in range(3)]]
    for model in (rates(1.0, 0, 0), rates(0, 0, 1.0), rates(1e-6, 1e-9, 1e-10)):
        costs = [plan(chain, mode=b, cost=model).cost.value for b, _ in plan(chain).alternatives()]
        assert plan(chain, cost=model).cost.value == pytest.approx(min(costs), rel=1e-12)


def test_loops_take_as_many_launches_as_steps() -> None:
    f = ct.iterate(ct.tanh, 20)
    one = plan([ct.linear.dense(np.ones((3, 2))), ct.linearize(f, np.ones(3))[1]], cost=rates(1.0, 0, 0))
    assert one.cost.value >= 20


def test_time_is_the_default_for_what_runs(cache: Path) -> None:
    f = ct.sin >> ct.cos >> ct.sum()
    assert isinstance(plan(f, ct.f64[3]).request.model, CostProfile) and plan(SIZES).request.model is None
    assert isinstance(plan(ct.linearize(f, np.ones(3))[1]).request.model, CostProfile)
    assert plan(f, ct.f64[3], cost="operations").request.model is None
    assert "s, " in repr(plan(f, ct.f64[3]))
    assert "time" in plan(f, ct.f64[3]).table() and "time" not in plan(SIZES).table()
    with pytest.raises(ct.PlanError, match="no such cost"):
        plan(f, ct.f64[3], cost="love")
    with pytest.raises(ct.PlanError, match="no such cost"):
        plan(f, ct.f64[3], cost=3)  # type: ignore[arg-type]


# -- profiles in files


def test_a_profile_is_measured_once_and_kept(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = []
    real = calibrate.calibrate
    monkeypatch.setattr(calibrate, "calibrate", lambda xp, engine: measured.append(engine) or real(xp, engine))
    with ct.use_engine("reference"):
        first = plan(SIZES, cost="time")
    assert measured == ["reference"] and [file.name for file in cache.glob("profile*")] == ["profile-reference.json"]
    made = first.request.model
    assert isinstance(made, CostProfile) and {name for name, _ in made.rates} >= {"matmul", "Map", "Gathered", "others"}
    assert all(rate.launch > 0 and rate.byte >= 0 and rate.operation >= 0 for _, rate in made.rates)
    calibrate._stored.cache_clear()  # as in another process
    with ct.use_engine("reference"):
        again = plan(SIZES, cost="time")
    assert measured == ["reference"]
    assert again.request.model == made and again.strategy.tree == first.strategy.tree and again.cost == first.cost


def test_for_one_profile_the_plan_is_the_same(cache: Path) -> None:
    cache.mkdir()
    (cache / "profile-reference.json").write_text(TEXT)
    f = ct.fork(ct.sin, ct.cos) >> ct.mul >> ct.exp >> ct.sum()
    texts = set()
    for _ in range(3):
        calibrate._stored.cache_clear()
        forget()
        with ct.use_engine("reference"):
            texts.add(plan(ct.compose(f, ct.id), np.ones(4)).to_json())
    assert len(texts) == 1
    assert (cache / "profile-reference.json").read_text() == TEXT


NO_PROFILES = [
    "", "{", "[]", "null", TEXT.replace("profile", "file"), TEXT.replace(": 3,", ": 1,", 1), TEXT.replace("others", "some"),
    TEXT.replace('"byte": 0', '"byte": -1'), TEXT.replace('"byte": 0', '"byte": NaN'), TEXT.replace('"byte": 0', '"byte": "x"'),
]  # fmt: skip


@pytest.mark.parametrize("text", NO_PROFILES)
def test_a_file_that_is_no_profile_is_measured_again(text: str, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ct.PlanError, match=r"profile cannot be read(.|\n)*somewhere"):
        cost_profile.from_json(text, "somewhere")
    cache.mkdir()
    file = cache / "profile-reference.json"
    file.write_text(text)
    made = cost_profile.from_json(TEXT, "here")
    monkeypatch.setattr(calibrate, "calibrate", lambda xp, engine: made)
    with ct.use_engine("reference"):
        assert calibrate.stored(np) == made
    assert cost_profile.from_json(file.read_text(), "there").rates == made.rates


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CATAD_CACHE_DIR", str(tmp_path / "file" / "below"))
    with ct.use_engine("reference"):
        assert plan(SIZES, cost="time").cost.operations > 0


def _store(path: str, k: int) -> None:
    made = CostProfile("many", (("others", Rates(float(k), 0.0, 0.0)), ("padding" * 2000, Rates(1.0, 1.0, 1.0))))
    for _ in range(50):
        cost_profile.store(made, Path(path))


def test_whoever_reads_while_others_write_reads_all(tmp_path: Path) -> None:
    path = tmp_path / "profile-many.json"
    _store(str(path), 0)
    writers = [multiprocessing.get_context("spawn").Process(target=_store, args=(str(path), k)) for k in (1, 2)]
    for writer in writers:
        writer.start()
    read = 0
    while any(writer.is_alive() for writer in writers) or not read:
        assert cost_profile.from_json(path.read_text(), "it").engine == "many"
        read += 1
    for writer in writers:
        writer.join(60)
        assert writer.exitcode == 0
    assert [file.name for file in tmp_path.iterdir()] == ["profile-many.json"]


# -- what is kept


def test_a_plan_is_found_again_by_all_that_it_depends_on() -> None:
    f = ct.sin >> ct.sum()
    base = plan(f, ct.f64[3])
    assert plan(f, np.ones(3)) is base is plan(f, ct.f64[3])
    others = [
        plan(f, ct.f64[4]), plan(f, ct.f32[3]), plan(f, ct.f64[3], memory=10**6), plan(f, ct.f64[3], cost="operations"),
        plan(f, ct.f64[3], want="hessian"), plan(f, ct.f64[3], explicit=True), plan(f, ct.f64[3], mode="forward"),
    ]  # fmt: skip
    assert all(other is not base for other in others)
    assert plan(SIZES) is plan(list(SIZES)) is not plan(SIZES[1:])


def test_looking_a_plan_up_is_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is searched, traced or laid out: a look-up takes no more than a few calls (about 6 microseconds)."""
    f = ct.sin >> ct.cos >> ct.sum()
    structure = ct.linearize(f, np.ones(3))[1].structure
    looks = [lambda: plan(f, ct.f64[3]), lambda: plan_structure(structure, Request()), lambda: plan(SIZES)]
    for look in looks:
        look()

    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError("planned again")

    for name in ("best", "trace", "execute", "bound"):
        monkeypatch.setattr(kept, name, never)
    for look in looks:
        look()
        assert timeit.timeit(look, number=100) / 100 < 2e-3  # a hundred times what is asked for: machines are noisy


def test_a_bracketing_for_other_shapes_is_costed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    forget()
    searched = []
    real = kept.best
    monkeypatch.setattr(kept, "best", lambda *a, **k: searched.append(a) or real(*a, **k))
    first = plan(chain_of([9, 8, 7, 6, 5, 4, 3]))
    assert len(searched) == 1
    near = plan(chain_of([90, 80, 70, 60, 50, 40, 30]))  # the same, ten times as large
    assert len(searched) == 1 and near.strategy.tree == first.strategy.tree
    assert near.cost.operations <= 1.15 * bound(near.chain, None)
    far = plan(chain_of([5, 60, 40, 30, 200, 300, 400]))  # the other way round
    assert len(searched) == 2 and far.strategy.tree != first.strategy.tree
    assert far.exact and far.cost.operations == min(c.operations for _, c in far.alternatives())
    assert plan(chain_of([90, 80, 70, 60, 50, 40, 30]), cost=lambda a, c: 1.0).cost.value == 5
    assert len(searched) == 3  # another model: nothing is known of it


def chain_of(sizes: list[int]) -> list[tuple[int, int]]:
    return [(out, in_) for in_, out in itertools.pairwise(sizes)]


def least_operations(sizes: list[int]) -> int:
    """The least number of products for a chain of dense matrices, by the textbook's table."""
    n = len(sizes) - 1
    least = np.zeros((n, n), int)
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            ways = [least[i, k] + least[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j)]
            least[i, j] = min(ways)
    return int(least[0, -1])


def test_a_plan_that_takes_over_an_order_says_so_and_costs_no_more_than_the_usual_modes() -> None:
    """Chains of near sizes, one after the other: short ones are the best, long ones are proven or say what they are."""
    rng, taken = np.random.default_rng(0), 0
    for n in [*range(2, 6), *[6, 7, 8] * 8]:
        base = rng.integers(8, 60, n + 1)
        for _ in range(4):
            sizes = (base + rng.integers(-6, 7, n + 1)).tolist()
            found, least = plan(chain_of(sizes)), least_operations(sizes)
            assert found.cost.operations == least or (n > kept.SHORT and not found.exact and kept.TAKEN in repr(found))
            assert found.cost.operations <= min(found.rows[mode].operations for mode in ("forward", "reverse"))
            taken += not found.exact
    assert taken > 3


@pytest.mark.quick(14)
@pytest.mark.parametrize("seed", range(40))
def test_no_bracketing_is_below_the_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = [int(n) for n in rng.integers(1, 9, int(rng.integers(3, 7)))]
    chain: list[Any] = [ct.linear.dense(rng.standard_normal((m, n))) for n, m in itertools.pairwise(sizes)]
    if seed % 2:
        at = int(rng.integers(len(chain)))
        chain.insert(at, ct.scale(rng.standard_normal(sizes[at])))
    for model in (None, rates(1e-6, 1e-9, 1e-10)):
        least = bound(factors_of_list(chain), model)
        costs = [plan(chain, mode=b, cost=model or "operations").cost.value for b, _ in plan(chain).alternatives()]
        assert least <= min(costs) * (1 + 1e-12)
        best = plan(chain, cost=model or "operations")
        assert best.cost.value <= 1.15 * min(costs)
        if best.exact:
            assert best.cost.value == pytest.approx(min(costs), rel=1e-12)


# -- many cotangents


def layers(*sizes: int) -> ct.D:
    rng = np.random.default_rng(3)
    made = []
    for n, m in itertools.pairwise(sizes):
        made += [ct.fork(ct.const(rng.standard_normal((m, n))), ct.id) >> ct.einsum("ij,j->i"), ct.tanh]
    return ct.compose(*made)


PROGRAMS: dict[str, tuple[ct.D, Any]] = {
    "layers": (layers(6, 4, 3), np.linspace(-1, 1, 6)),
    "two results": (ct.fork(ct.mul, ct.exl >> ct.sum()), (np.arange(4.0), np.ones(4))),
    "a part": (ct.slice(0, 2), np.arange(9.0)),
    "scans": (ct.scan(lambda a, b: a * b, 1.0) >> ct.square >> ct.scan(lambda a, b: a + b, 0.0), np.linspace(0.5, 1.5, 9)),
    "planes, float32": (ct.fork(ct.square >> ct.reshape((3, 3)), ct.sum()), np.arange(9.0, dtype=np.float32)),
    "indices": (ct.gather, (np.arange(5.0), np.array([1, 3, 3]))),
    "checkpoint": (ct.checkpoint(ct.sin >> ct.cos), np.arange(3.0)),
}


@pytest.mark.parametrize("count", [0, 1, 7])
@pytest.mark.parametrize("name", PROGRAMS)
def test_many_cotangents_are_pulled_back_at_once(name: str, count: int) -> None:
    f, x = PROGRAMS[name]
    x = x if isinstance(x, tuple) else (x,)
    y, pullback = ct.vjp(f, *x)
    rng = np.random.default_rng(count)
    whole = isinstance(y, tuple)
    leaves = [rng.standard_normal((count, *np.shape(part))).astype(part.dtype) for part in (y if whole else (y,))]
    found = pullback.many(tuple(leaves) if whole else leaves[0])
    for k in range(count):
        row = tuple([leaf[k][()] for leaf in leaves])
        for all_, one in zip(found, pullback(row if whole else row[0]), strict=True):
            if isinstance(one, tuple):
                assert all_ == ()
                continue
            assert all_.dtype == one.dtype and all_.shape == (count, *np.shape(one))
            np.testing.assert_allclose(all_[k], one, rtol=1e-5 if one.dtype == np.float32 else 1e-12, atol=1e-6)


def test_many_cotangents_run_a_plan() -> None:
    """One cotangent is pulled through; for many it pays to multiply the factors between first."""
    from catad.planner.many_cotangents import plan_rows
    from catad.planner.request import Request

    structure = ct.linearize(layers(30, 3, 30), np.zeros(30))[1].structure
    one, many = (plan_rows(structure, count, Request()) for count in (1, 1000))
    assert one.strategy.tree == plan(list(one.factors), mode="reverse").strategy.tree
    assert many.cost.operations < plan(list(many.factors), mode="forward").cost.operations
    assert isinstance(one, Plan) and one.result.rows == 1 and many.result.rows == 1000
    with pytest.raises(ct.SpaceError, match="cotangents"):
        ct.vjp(layers(6, 4), np.zeros(6))[1].many(np.ones((2, 5)))

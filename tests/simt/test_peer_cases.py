"""Published kernels of others: expected numbers are read from the folder that CATAD_OUTSIDE_DATA names, and none is kept here.

Each case is a function from the initial values of all arrays to their final values; the cotangents that are expected are those of
the initial values. Without the folder the cases are skipped.
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.simt.kernel import Launch
from catad.testing.emulator import EmulatedGpu
from tests.simt.peer_hosts import HOSTS
from tests.simt.peer_kernels import assigned, squared

ct.engine.register(EmulatedGpu())
FOLDER = Path(os.environ.get("CATAD_OUTSIDE_DATA", "")) / "peer-cases"
FILES = ("clad-cuda.json", "warp-grad.json", "spmd-extra.json")
OTHERS = {
    "clad/misuse_execute_on_kernel",
    "clad/restore_tracker_on_device",
    "warp/custom_gradient_two_outputs",
    "warp/write_after_read_detector",
}
"""Cases without arrays: they have tests of their own below."""


@cache
def cases() -> dict[str, Any]:
    if not os.environ.get("CATAD_OUTSIDE_DATA") or not FOLDER.is_dir():
        pytest.skip("CATAD_OUTSIDE_DATA names no folder with peer-cases")
    return {case["name"]: case for file in FILES for case in json.loads((FOLDER / file).read_text())["cases"]}


def array(value: Any) -> Any:
    return np.asarray(value, dtype=None if isinstance(value, int) else np.float64)


def program(name: str, case: Any) -> tuple[Any, list[str], list[Any]]:
    """The morphism from all arrays to their final values, the names of the arrays and their initial values."""
    names = list(case["inputs"])
    constants = {f"_{k}": np.asarray(v) for k, v in case.get("constants", {}).items()}
    host = HOSTS[name]
    renamed = {"in": "given"}

    def run(*arrays: Any) -> Any:
        given = {renamed.get(k, k): v for k, v in zip(names, arrays, strict=True)}
        made = host(**given, **{k: v for k, v in constants.items() if k in host.__code__.co_varnames})
        return tuple([made.get(k, v) for k, v in zip(names, arrays, strict=True)])

    return run, names, [array(case["inputs"][k]) for k in names]


@pytest.mark.quick(40)
@pytest.mark.parametrize("engine", ["reference", "cpu", "emulated gpu"])
@pytest.mark.parametrize("name", HOSTS)
def test_outputs_and_gradients_are_those_of_the_case(name, engine):
    case = cases()[name]
    run, names, args = program(name, case)
    whole = [k for k, arg in enumerate(args) if arg.dtype.kind != "f"]
    fixed = {k: int(args[k]) for k in whole}
    moving = [k for k in range(len(args)) if k not in fixed]

    def outputs(*arrays: Any) -> Any:
        given = iter(arrays)
        made = run(*[fixed[k] if k in fixed else next(given) for k in range(len(args))])
        return tuple([made[k] for k in moving])

    f, given = ct.function(outputs), [args[k] for k in moving]
    back = tuple([np.broadcast_to(case["cotangents_in"].get(names[k], 0.0), args[k].shape) * 1.0 for k in moving])
    results = []
    with ct.use_engine(engine):
        for _ in range(2):
            value, pull = ct.vjp(f, *given)
            gradients = pull(back)
            results.append((value, gradients if isinstance(gradients, tuple) else (gradients,)))
    (value, gradients), (again, twice) = results
    assert [np.asarray(v).tobytes() for v in (*value, *gradients)] == [np.asarray(v).tobytes() for v in (*again, *twice)]
    for k, v in zip(moving, value, strict=True):
        if names[k] in case["expected_outputs"]:
            np.testing.assert_allclose(v, case["expected_outputs"][names[k]], rtol=5e-12, atol=1e-12)  # they have 12 digits
    for k, g in zip(moving, gradients, strict=True):
        if names[k] in case["expected_gradients"]:
            np.testing.assert_allclose(g, case["expected_gradients"][names[k]], rtol=1e-9, atol=1e-9)


CALLED = {"given": "in", "total": "l"}


@pytest.mark.parametrize("name", HOSTS)
def test_no_atomics_are_promised_only_where_no_threads_meet_and_wherever_an_affine_site_has_none(name, monkeypatch):
    case = cases()[name]
    seen: list[Any] = []
    lay_out = Launch.lay_out

    def noted(self: Any, b: Any, x: Any) -> Any:
        seen.append((self, b.space(x)))
        return lay_out(self, b, x)

    monkeypatch.setattr(Launch, "lay_out", noted)
    run, _, args = program(name, case)
    whole = {k: int(arg) for k, arg in enumerate(args) if arg.dtype.kind != "f"}

    def outputs(*arrays: Any) -> Any:
        given = iter(arrays)
        return run(*[whole.get(k) if k in whole else next(given) for k in range(len(args))])

    ct.wire(ct.function(lambda *a: tuple([v for k, v in enumerate(outputs(*a)) if k not in whole])),
            ct.space_of(tuple([a for k, a in enumerate(args) if k not in whole])))  # fmt: skip
    for launch, space in dict(seen).items():
        reads: dict[str, list[Any]] = {}
        for site in launch.sites(space):
            if site.kind == "read" and site.site.array.place == "global":
                reads.setdefault(CALLED.get(site.site.array.name, site.site.array.name), []).append(site)
        for array_, sites in reads.items():
            collisions = case.get("read_collisions", {}).get(array_)
            if collisions is None or len(case.get("grid", case.get("launch_dim", ()))) == 0:
                continue
            if collisions > 1 and len(sites) == 1:
                assert not sites[0].free, sites
            if collisions == 1:
                assert all(site.free for site in sites if site.forward != "gather"), sites


def test_every_case_has_a_test():
    assert set(cases()) == {*HOSTS, *OTHERS} and len(cases()) == 82


def test_a_kernel_without_a_launch_says_how_to_launch_it():
    cases()

    @ct.kernel
    def twice(x):
        x[0] += x[0]

    with pytest.raises(ct.ArgumentError, match=r"twice\[blocks, threads\]"):
        twice(np.ones(1))
    with pytest.raises(ct.SpaceError, match=r"twice\[blocks, threads\]"):
        ct.grad(twice)(np.ones(1))


def test_a_local_number_is_restored():
    case = cases()["clad/restore_tracker_on_device"]

    @ct.kernel
    def restored(o, v):
        kept = ct.simt.local.array(1, np.float64)
        kept[0] = v
        before = kept[0]
        kept[0] = 0.0
        kept[0] = before
        o[0] = kept[0]

    assert restored[1, 1](np.zeros(1), 3.14)[0] == case["expected"]
    assert ct.grad(restored[1, 1] >> ct.sum())(np.zeros(1), 3.14)[1] == 1.0


def test_a_rule_by_hand_beside_kernels():
    case = cases()["warp/custom_gradient_two_outputs"]
    x, y = np.array([1.0, 2.0, 3.0]), np.array([10.0, 11.0, 12.0])

    @ct.kernel
    def both(x, y, p, q):
        i = ct.simt.grid(1)
        p[i] = 3.0 * x[i] + y[i] / 3.0
        q[i] = y[i] ** 2.5

    zero = np.zeros(3)
    np.testing.assert_allclose(both[1, 3](x, y, zero, zero)[0], 3 * x + y / 3, rtol=1e-14)
    c = np.ones(3)
    f = ct.D(lambda v: (both[1, 3](*v, zero, zero), _rule(*v)))
    got = ct.vjp(f, x, y)[1]((c, c))
    np.testing.assert_allclose(got[0], case["expected"]["x"])
    np.testing.assert_allclose(got[1], case["expected"]["y"])


def _rule(x: Any, y: Any) -> Any:
    first = ct.linear.join(ct.scale(42.0 * x), ct.scale(0.0 * y))
    return ct.linear.fork(first, ct.linear.join(ct.scale(10.0 * y), ct.scale(3.0 * y)))


def test_writing_after_reading_loses_nothing():
    cases()

    def host(a, b, c):
        b = squared[1, 3](a, b)
        return b, assigned[1, 3](c, a)

    a, c = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])
    _, pull = ct.vjp(ct.function(host), a, np.zeros(3), c)
    da, _, dc = pull((np.ones(3), np.ones(3)))
    np.testing.assert_array_equal(da, 2 * a)
    np.testing.assert_array_equal(dc, np.ones(3))

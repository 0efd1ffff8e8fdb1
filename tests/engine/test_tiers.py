"""Kernels are compiled quickly at first, and in full once that pays: what is compiled when, and both codes give equal bits."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.category import cache as term_cache
from catad.category.spaces import flatten
from catad.engine.cpu.nests.nest import Nest
from catad.engine.cpu.run import kernel, target, tiers

from .compiling import cache, counts, script, unload
from .cpu_support import assert_same, on
from .whole_support import anew, at_once

__all__ = ["cache", "counts"]

pytestmark = [
    pytest.mark.skipif(not target.available(), reason="no llvmlite here"),
    pytest.mark.usefixtures("cache"),
    pytest.mark.full_code,
]
F64 = ct.f64[5000]


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is compiled yet."""
    anew(monkeypatch)
    at_once(monkeypatch)
    monkeypatch.setattr(target, "_modules", type(target._modules)())  # what others hold is not found, either
    unload()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch, fresh: None) -> None:
    """Named engines compile quickly, too, and nothing is compiled in full but what has to be."""
    monkeypatch.setattr(tiers, "is_wanted", lambda: True)
    monkeypatch.setattr(tiers, "RUNS", 1 << 40)
    monkeypatch.setattr(tiers, "RATE", 1 << 40)


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


# -- when a kernel is compiled, and how


def test_the_first_runs_of_a_kernel_are_quick_code_and_the_third_is_full_code(counts, fresh) -> None:
    f, x = ct.map(lambda a: a * a + 1.0), random(5000)
    for quick, full in ((2, 0), (2, 0), (2, 2), (2, 2)):
        assert np.array_equal(f(x), x * x + 1.0)
        assert (counts["quick"], counts["compiled"]) == (quick, full)


def test_each_stage_that_shares_a_kernel_runs_it_twice_before_it_is_compiled_in_full(counts, fresh) -> None:
    step = ct.map(lambda a: a * 1.5 + 1.0)
    f, x, y = ct.cross(step, step), random(5000), random(6000)
    for full in (0, 0, 1, 1, 2):
        f(x, y)
        assert counts["quick"] == 2 and counts["compiled"] == full  # one kernel, and the function that calls it


def test_large_arrays_are_worth_full_code_at_once_and_runs_add_up(counts, fresh, monkeypatch) -> None:
    f = ct.map(lambda a: a * a - 2.0)
    g = ct.map(lambda a: a * a - 3.0)
    f.source("llvm", F64)
    (text,) = [one.text for (printer, _), one in kernel._codes.items() if printer is Nest]
    anew(monkeypatch)
    unload()
    counts.clear()
    indices = tiers.allowance(text)
    monkeypatch.setattr(tiers, "RATE", tiers.RATE * 5000 // indices + 1)  # what one call may run, and little more
    monkeypatch.setenv("CATAD_CACHE_DIR", "")
    f(random(6000))
    assert (counts["quick"], counts["compiled"]) == (1, 1)  # the function that calls the kernel is short
    g(random(4500))
    assert (counts["quick"], counts["compiled"]) == (3, 1)
    g(random(4600))  # another space, and the same kernel
    assert (counts["quick"], counts["compiled"]) == (4, 2)


def test_what_is_named_compiled_ahead_or_profiled_is_compiled_in_full(counts, fresh) -> None:
    x = random(5000)
    makers: list[Callable[[ct.D], Any]] = [
        lambda f: on("cpu", f, x),
        lambda f: on("cpu", f, x),
        lambda f: ct.compile(f, F64)(x),
    ]
    for k, make in enumerate(makers):
        make(ct.map(lambda a, k=float(k): a * a + k))
    with ct.profile():
        ct.map(lambda a: a * a * a)(x)
    assert (counts["quick"], counts["compiled"]) == (0, 6)  # four kernels, the function that calls one, and one that is timed


def test_quick_code_is_compiled_in_full_where_the_engine_is_named_or_a_profile_is_opened(counts, fresh) -> None:
    x = random(5000)
    f, g = ct.map(lambda a: a - 7.0), ct.map(lambda a: a - a * 7.0)
    f(x), g(x)
    assert (counts["quick"], counts["compiled"]) == (3, 0)  # two kernels, and the function that calls one
    with ct.use_engine("cpu"):
        f(x)
    assert (counts["quick"], counts["compiled"]) == (3, 2)
    with ct.profile():
        g(x)
    assert (counts["quick"], counts["compiled"]) == (3, 4)


def test_what_may_not_have_other_bits_and_what_may_never_end_is_compiled_in_full(counts, fresh) -> None:
    product = ct.iterate(ct.dup >> ct.matmul >> ct.map(np.tanh), 4000)  # sums in any order
    product(random(8, 8))

    def grown(a: float) -> float:
        while a < 100.0:
            a = a * 1.5 + 1.0
        return a

    ct.map(grown)(np.abs(random(5000)))
    assert counts["quick"] == 0 and counts["compiled"] >= 2


@pytest.mark.parametrize("flag", ["reassoc", "contract", "fast", "nsz", "arcp", "afn"])
def test_a_text_that_lets_llvm_choose_among_results_has_no_allowance(flag: str) -> None:
    text = "define double @f(double %x, double %y) {{ %z = fadd {} double %x, %y ret double %z }}\n"
    assert tiers.allowance(text.format("")) > 0 == tiers.allowance(text.format(flag))


def test_calls_that_give_many_numbers_have_no_quick_code() -> None:
    text = "define internal {{ {} }} @f(double %x) {}nounwind {{\nret void\n}}\n"
    assert tiers.allowance(text.format("double, double", "")) > 0
    assert tiers.allowance(text.format("double, double, double", "alwaysinline ")) > 0
    assert tiers.allowance(text.format("double, double, double", "")) == 0


def test_a_second_process_takes_both_codes_from_disk(cache) -> None:
    program = """
    import numpy as np, catad as ct, sys
    from catad.engine import program
    from catad.engine.cpu.run import target
    program.COMPILED = program.EACH = 0.0
    f, x = ct.map(lambda a: a * a + 1.0) >> ct.sum(), np.arange(5000.0)
    found = []
    for k in range({calls}):
        assert f(x) == (x * x + 1.0).sum()
        found.append((target.counts["quick"], target.counts["compiled"], target.counts["loaded"]))
    print(found, "llvmlite.binding" in sys.modules)
    """
    assert script(cache, program.format(calls=1)).strip() == "[(2, 0, 0)] True"
    assert script(cache, program.format(calls=1)).strip() == "[(0, 0, 2)] False"
    assert script(cache, program.format(calls=3)).strip() == "[(0, 0, 2), (0, 0, 2), (0, 2, 2)] True"
    assert (
        script(cache, program.format(calls=2)).strip() == "[(0, 0, 2), (0, 0, 2)] False"
    )  # full code from the first call on


def test_code_that_others_run_stays_while_it_is_compiled_in_full(fresh) -> None:
    f, x = ct.map(lambda a: a * 0.5), random(5000)
    f(x)
    (code,) = [one for (printer, _), one in kernel._codes.items() if one.left and printer is Nest]
    old = code.calls["kernel"]
    code.complete()
    assert code.left == 0 and len(code.modules) == 2 and code.calls["kernel"] is not old
    code.complete()
    assert len(code.modules) == 2


def test_later_calls_with_python_numbers_make_no_program_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    f = ct.function(lambda a, x: np.sum(a * x * x))
    made: list[int] = []
    begin = kernel.Code.__init__
    monkeypatch.setattr(kernel.Code, "__init__", lambda self, *args: made.append(1) or begin(self, *args))
    x = random(5000)
    ct.vjp(f, 0.5, x)[1](1.0)
    before = sum(code.users for code in kernel._codes.values())
    ct.vjp(f, 0.5, x)[1](1.0)
    assert sum(code.users for code in kernel._codes.values()) == before


# -- both codes give the same bits


@ct.function
def filtered(x: Any, a: Any) -> Any:
    y = np.zeros(len(x))
    for i in range(1, len(x)):
        y[i] = x[i] * a + y[i - 1] * (1.0 - a)
    return y


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "maps": (ct.map(lambda a: (a * 3.0 - 1.0) / (a * a + 0.5)), (random(4099),)),
    "functions": (
        ct.fork(ct.sin >> ct.exp, ct.cos >> ct.tanh, ct.abs >> ct.log, ct.abs >> ct.sqrt),
        (np.concatenate([random(999) * 50, [1e300, -1e19, 1e22, np.inf, np.nan, -0.0, 5e-324]]),),
    ),
    "sums": (ct.fork(ct.sum(), ct.square >> ct.sum(), ct.max(), ct.fold(lambda a, b: a * b, 1.0)), (random(20_001),)),
    "sums of rows": (ct.sum(axis=1), (random(40, 777),)),
    "sums of columns": (ct.sum(axis=0), (random(777, 40),)),
    "a scan": (ct.scan(lambda a, b: a * b, 1.0), (1.0 + 0.01 * random(5003),)),
    "an affine scan": (filtered, (random(400), 0.3)),
    "windows": (ct.function(lambda x: x[2:] * 2.0 + x[:-2] - x[1:-1]), (random(3001),)),
    "choices": (ct.function(lambda x: np.where(x > 0.0, x / (1.0 + x), x * x)), (random(5000),)),
    "integers": (ct.map(lambda a, b: (a // b, a % b, a * b)), (np.arange(-50, 50), np.arange(100) % 7 - 3)),
    "casts": (ct.map(lambda a: int(a * 100.0)), (np.array([1.5, -2.7, 1e300, -np.inf, np.nan, 0.0]),)),
    "floats of 32 bits": (ct.sin >> ct.scan(ct.add, 0.0), (random(3000).astype(np.float32),)),
    "bins": (ct.histogram(ct.add, 0.0, 7), (np.arange(999) % 9 - 1, random(999))),
    "a gather": (ct.function(lambda x, k: x[k] * 2.0), (random(50), np.arange(200) % 50)),
    "a walk": (ct.function(lambda x: np.cumsum(np.sin(x)) * np.exp(-x * x)), (random(600),)),
}


@pytest.mark.quick(15)
@pytest.mark.parametrize("name", PROGRAMS)
def test_quick_code_and_full_code_give_the_same_bits(name: str, counts, quick, monkeypatch) -> None:
    f, x = PROGRAMS[name]
    floats = all(np.asarray(a).dtype.kind == "f" for a in x)

    def all_of() -> list[Any]:
        found = on("cpu", f, *x)
        if floats and name != "casts":
            with ct.use_engine("cpu"):
                y, pullback = ct.vjp(f, *x)
                found += [np.asarray(a) for a in flatten(pullback(_ones(y)))]
        return found

    got = all_of()
    assert counts["quick"] > 0
    monkeypatch.setattr(tiers, "is_wanted", lambda: False)
    term_cache.forget()
    anew(monkeypatch)
    before = counts["compiled"]
    want = all_of()
    assert counts["compiled"] > before
    assert_same(got, want, name)


def _ones(y: Any) -> Any:
    return tuple([_ones(part) for part in y]) if isinstance(y, tuple) else np.ones_like(y)


def test_planted_quick_code_that_contracts_is_caught(quick, monkeypatch) -> None:
    """A product rounded together with its sum differs in its last digit somewhere: the comparison above would see it."""
    compiled = target.compiled
    product, fused = r" *(%\w+) = fmul (double %\w+), (%\w+)\n", "call double @llvm.fma.f64"

    def contracting(text: Any, *args: Any) -> Any:
        if isinstance(text, str) and args[-1] == target.QUICK:
            text = re.sub(rf"{product}( *%\w+ = )fadd double \1, (.*)\n", rf"\4{fused}(\2, double \3, double \5)\n", text)
            text = "declare double @llvm.fma.f64(double, double, double)\n" + text
        return compiled(text, *args)

    f, x = ct.map(lambda a, b: a * b + 0.1), (random(5000), random(5000, seed=1))
    want = on("reference", f, *x)
    assert_same(on("cpu", f, *x), want)
    monkeypatch.setattr(target, "compiled", contracting)
    term_cache.forget()
    anew(monkeypatch)
    unload()
    monkeypatch.setenv("CATAD_CACHE_DIR", "")
    made = on("cpu", f, *x)
    if "fma" in target.host().features:
        assert not np.array_equal(made[0], want[0])

"""Choices in compiled loops: what a side does not change stays where it is, and a side that adds nothing adds no zeros."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.engine.cpu.whole import conditional_writes, nested
from catad.engine.cpu.whole.program import _Program

from .test_whole_counted import PULLED, Work, at, growth, work
from .test_whole_loops import random
from .whole_support import Ran, anew, compare, leaves, ran

__all__ = ["ran", "work"]

N = 21


def guarded(x):
    y = np.zeros(len(x) + 5)
    for i in range(len(x) + 5):
        if i < len(x):
            y[i] = x[i] * x[i]
    return y


def edges(x):
    y = np.zeros(len(x))
    for i in range(len(x)):
        left = x[i - 1] if i > 0 else 0.0
        right = x[i + 1] if i < len(x) - 1 else 0.5
        y[i] = left * x[i] + right
    return y


def by_value(x):
    y = np.cos(x)
    for i in range(len(x)):
        if x[i] > 0.2:
            y[i] = y[i - 1] * x[i]
        elif x[i] > -0.4:
            y[0] = y[0] + x[i]
    return y


def several(x):
    s = 0.0
    for i in range(len(x)):
        if i > 2:
            s = s * 0.5 + x[i - 1]
        if x[i] > 0.1:
            s = s + x[i] * x[0]
        s = s + x[i]
    return s


def one_for_both(x):
    a, b = np.sin(x), np.cos(x)
    for i in range(len(x)):
        if x[i] > 0.0:
            a = b.copy()
            b[i] = 3.0 * b[i] * x[i]
    return a, b


def read_after(x):
    y = x.copy()
    s = 0.0
    for i in range(len(x)):
        z = y.copy()
        if x[i] > 0.0:
            y[i] = y[i] * 0.5
        s = s + z[i] * y[i - 1]
    return s, y


def of_two(x):
    a, b = np.sin(x), np.cos(x)
    for i in range(len(x)):
        if x[i] > 0.0:
            a[i] = 2.0 * x[i]
        else:
            b[i] = a[i - 1] * x[i]
        a[0] = a[0] + b[i]
    return a, b


def from_a_part(x):
    a, b = x.copy(), x[:3].copy()
    for i in range(len(x)):
        if x[i] > 0.0:
            b = a[1:4].copy()
            a = np.sin(a) * 1.1
        else:
            a[i] = b[0] + x[i]
    return a, b


LOOPS = {
    f.__name__: f
    for f in (guarded, edges, by_value, several, one_for_both, read_after, of_two, from_a_part)
}


@pytest.mark.quick(10)
@pytest.mark.parametrize("size", [N, 120])
@pytest.mark.parametrize("name", LOOPS)
def test_loops_with_choices(name: str, size: int, ran: Ran) -> None:
    fn, x = LOOPS[name], random(size)
    want = leaves(fn(x.copy()))
    f = at(fn, x)
    for _ in range(2):
        with ct.use_engine("cpu"):
            got = leaves(f(x))
        for a, b in zip(got, want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)
    compare(f, (x,), ran, second=size == N)


@pytest.mark.parametrize("name", ["several", "by_value", "edges"])
def test_gradients_by_differences(name: str) -> None:
    fn, x, h = LOOPS[name], random(N), 1e-6
    direction = np.random.default_rng(5).standard_normal(N)
    ahead, back = fn(x + h * direction), fn(x - h * direction)
    w = np.cos(np.arange(np.size(ahead))).reshape(np.shape(ahead))
    with ct.use_engine("cpu"):
        (pulled,) = ct.vjp(ct.function(fn), x)[1](w)
    np.testing.assert_allclose(np.vdot(pulled, direction), np.vdot(w, ahead - back) / (2 * h), rtol=1e-6)


@pytest.mark.quick(8)
@pytest.mark.parametrize("kind", PULLED)
@pytest.mark.parametrize("name", ["guarded", "edges", "by_value", "several"])
def test_changes_under_conditions_are_linear_work(name: str, kind: str, work: Work) -> None:
    def make(x: Any) -> tuple[ct.D, Any]:
        f = at(LOOPS[name], x)
        if name == "several":
            f = f >> ct.reshape((1,))
        return PULLED[kind](f, x) if kind in ("value", "gradient") else _pulled(kind, f, x)

    blocks, copied = growth(work, make, random)
    assert blocks < 5.5 and copied < 5.5  # 16 where each step goes through all of the array


def _pulled(kind: str, f: ct.D, x: Any) -> tuple[ct.D, Any]:
    term, (_, tangent) = PULLED[kind](f, x)
    if kind == "reverse":
        tangent = np.ones(f.spaces(ct.space_of(x)).shape)
    return term, (x, tangent)


# -- states of which one is a part of another


def _step(swapped: bool) -> ct.D:
    @ct.function
    def step(s, g, u):
        p, q = s[::-1] if swapped else s
        made = 0.5 * np.sin(p) + 0.1 * np.sum(q), p[1:3]
        return made[::-1] if swapped else made, ()

    return step


@pytest.mark.parametrize("size", [4, 400])
@pytest.mark.parametrize("swapped", [False, True])
def test_a_state_that_is_a_part_of_another(swapped: bool, size: int, ran: Ran) -> None:
    states = random(size), random(2)
    x = (states[::-1] if swapped else states, (), ())
    compare(ct.sweep(_step(swapped), 20), x, ran, second=False)


POSITIVE = ct.exl >> ct.sum() >> ct.map(lambda s: s > 0.0)


def _at(k: int) -> ct.D:
    return ct.fork(ct.id, ct.sum() >> ct.tanh) >> ct.at[k].set


SWAPPED = {
    "swapped": ct.choose(POSITIVE, ct.swap, ct.fork(ct.exr >> ct.sin, ct.exl >> ct.neg)),
    "one swapped": ct.choose(POSITIVE, ct.swap, ct.cross(ct.neg, ct.sin)),
    "one twice": ct.choose(POSITIVE, ct.exl >> ct.neg >> ct.dup, ct.exr >> ct.sin >> ct.dup),
    "one of both": ct.choose(POSITIVE, ct.exr >> ct.dup, ct.cross(ct.neg, ct.sin)),
    "one in the place of another": ct.choose(POSITIVE, ct.exr >> ct.fork(ct.sin, _at(0)), ct.cross(ct.cos, _at(1))),
    "one after the other": ct.choose(POSITIVE, ct.exl >> _at(0) >> ct.fork(_at(1), ct.id), ct.cross(_at(1), _at(2))),
    "the other way": ct.choose(POSITIVE, ct.exl >> ct.fork(_at(0), ct.sin), ct.cross(_at(1), ct.cos)),
}


@pytest.mark.quick(7)
@pytest.mark.parametrize("size", [3, 300])
@pytest.mark.parametrize("name", SWAPPED)
def test_sides_that_exchange_states(name: str, size: int, ran: Ran) -> None:
    compare(ct.iterate(SWAPPED[name], 20), (random(size), random(size)), ran, second=False)


# -- bugs that the comparison must find


def what_stays_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a side makes beside its place is not moved there."""
    original = nested._Sides.__init__

    def begin(self: Any, text: Any, box: Any, given: Any, made: Any) -> None:
        original(self, text, box, given, made)
        self.made = [(self.beside.get(r, goal), space) for r, (goal, space) in enumerate(made)]

    monkeypatch.setattr(nested._Sides, "__init__", begin)


def written_while_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Program, "_readers", lambda self: defaultdict(list))


def parts_of_states_are_left_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Program, "_is_all", lambda self, wire: True)


def every_side_adds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conditional_writes, "is_nothing", lambda wiring, k: True)


def the_wrong_result_is_added_to(monkeypatch: pytest.MonkeyPatch) -> None:
    adding = conditional_writes.Adding
    original = adding.__init__
    monkeypatch.setattr(adding, "__init__", lambda self, side, dom, which: original(self, side, dom, which - 1))


def fixed(*size: int) -> Any:
    """The same numbers in every order of tests."""
    return np.random.default_rng(3).normal(size=size)


BUGS: dict[str, tuple[Any, Any]] = {
    "not moved": (what_stays_is_lost, lambda: (ct.iterate(SWAPPED["one after the other"], 20), (fixed(3), fixed(2, 3)[1]))),
    "written while read": (written_while_it_is_read, lambda: (at(read_after, fixed(N)), (fixed(N),))),
    "parts left": (parts_of_states_are_left_there, lambda: (ct.sweep(_step(False), 20), ((fixed(4), fixed(2)), (), ()))),
    "nothing added": (every_side_adds_nothing, lambda: (at(edges, fixed(N)), (fixed(N),))),
    "another result": (the_wrong_result_is_added_to, lambda: (at(of_two, fixed(N)), (fixed(N),))),
}


@pytest.mark.parametrize("name", BUGS)
def test_planted_bugs_are_found(name: str, ran: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    plant, make = BUGS[name]
    f, x = make()
    anew(monkeypatch)
    plant(monkeypatch)
    with pytest.raises(AssertionError) as found:
        compare(f, x, ran, second=False)
    assert "nothing ran compiled" not in str(found.value)
    monkeypatch.undo()
    anew(monkeypatch)

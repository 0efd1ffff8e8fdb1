"""What a function reads from outside by way of objects, classes, defaults and containers: a change of it is named, too."""

from __future__ import annotations

import argparse
import dataclasses
from abc import ABC, abstractmethod
from collections import ChainMap, deque, namedtuple
from functools import cached_property, partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import catad as ct

X = np.array([0.5, -1.2, 2.0])


class Base(ABC):
    scale = 2.0

    @abstractmethod
    def value(self, x: Any) -> Any: ...


class Model(Base):
    def __init__(self, weight: float = 3.0) -> None:
        self.weight = weight
        self.parts = {"shift": 1.0}

    @property
    def twice(self) -> float:
        return self.once * 2

    @property
    def once(self) -> float:
        return self.weight

    @cached_property
    def kept(self) -> float:
        return 3.0 * self.weight

    def value(self, x: Any) -> Any:
        return x * self.weight

    def by_property(self, x: Any) -> Any:
        return x * self.twice

    def by_class(self, x: Any) -> Any:
        return x * self.scale

    def by_item(self, x: Any) -> Any:
        return x * self["shift"]

    def __getitem__(self, name: str) -> float:
        return self.parts[name]

    def __mul__(self, other: Any) -> Any:
        return self.weight * other

    def __len__(self) -> int:
        return int(self.weight)

    @staticmethod
    def of_static(x: Any) -> Any:
        return x * Model.scale

    @classmethod
    def of_class(cls, x: Any) -> Any:
        return x * cls.scale


class Slots:
    __slots__ = ("weight",)

    def __init__(self) -> None:
        self.weight = 3.0


def with_default(x: Any, parts: Any = (1.0, [2.0])) -> Any:
    return x * parts[1][0]


def with_named_default(x: Any, *, weight: Any = np.ones(3)) -> Any:  # noqa: B008
    return x * weight


def cases() -> dict[str, tuple[Any, Any]]:
    """The function, and what changes something that it reads; new objects for each test."""
    model, slots, name = Model(), Slots(), SimpleNamespace(w=1.0, deep=SimpleNamespace(w=2.0))
    models = [1.0, {"m": model}]
    options = argparse.Namespace(rate=0.5)
    chosen, queue, chain, zero = {1, 2}, deque([1.0, 2.0]), ChainMap({"a": 1.0}), 0.0
    copied = type("Copied", (Model,), {"__module__": __name__, "scale": 5.0})()
    default, named = partial(with_default), partial(with_named_default)

    def other_zero() -> None:
        nonlocal zero
        zero = -0.0

    def first(function: Any) -> Any:
        return function.__defaults__[0][1]

    return {
        "a property of a property": (model.by_property, lambda: setattr(model, "weight", 5.0)),
        "a property": (lambda x: x * model.twice, lambda: setattr(model, "weight", 5.0)),
        "a class": (lambda x: x * type(copied).scale, lambda: setattr(type(copied), "scale", 7.0)),
        "the class of an object": (copied.by_class, lambda: setattr(type(copied), "scale", 7.0)),
        "an object that hides its class": (model.by_class, lambda: setattr(model, "scale", 7.0)),
        "a class method": (type(copied).of_class, lambda: setattr(type(copied), "scale", 7.0)),
        "an item": (model.by_item, lambda: model.parts.update(shift=7.0)),
        "an operator": (lambda x: model * x, lambda: setattr(model, "weight", 7.0)),
        "a length": (lambda x: x * len(model), lambda: setattr(model, "weight", 7.0)),
        "a class with a base of Python's": (model.value, lambda: setattr(model, "weight", 7.0)),
        "an object in a list": (lambda x: x * models[1]["m"].weight, lambda: setattr(model, "weight", 7.0)),
        "slots": (lambda x: x * slots.weight, lambda: setattr(slots, "weight", 7.0)),
        "a namespace": (lambda x: x * name.deep.w, lambda: setattr(name.deep, "w", 7.0)),
        "options": (lambda x: x * options.rate, lambda: setattr(options, "rate", 7.0)),
        "a set": (lambda x: x * len(chosen), lambda: chosen.add(7)),
        "a deque": (lambda x: x * queue[-1], lambda: queue.append(7.0)),
        "a mapping": (lambda x: x * chain["a"], lambda: chain.update(a=7.0)),
        "the sign of a zero": (lambda x: np.copysign(x, zero), other_zero),
        "a default": (default, lambda: first(with_default).__setitem__(0, first(with_default)[0] + 1)),
        "a default by name": (named, lambda: with_named_default.__kwdefaults__["weight"].__iadd__(1.0)),
    }


@pytest.mark.parametrize("name", cases())
@pytest.mark.parametrize("use", [ct.function, lambda fn: ct.grad(lambda x: np.sum(fn(x)))], ids=["value", "gradient"])
def test_a_change_is_named_at_the_next_call(name: str, use: Any) -> None:
    fn, change = cases()[name]
    f = use(fn)
    before = f(X)
    np.testing.assert_array_equal(f(X), before)  # without a change there is no error
    plain = fn(X)
    change()
    assert not np.array_equal(fn(X), plain), "the change does not matter"
    with pytest.raises(ct.TraceError, match="has changed since it was traced"):
        f(X)
    np.testing.assert_allclose(ct.function(fn)(X), fn(X), rtol=1e-15)  # a new morphism sees it


class First:
    def __init__(self, weight: float) -> None:
        self.weight = weight

    def of(self, x: Any) -> Any:
        return x * self.weight


class Second(First):
    def of(self, x: Any) -> Any:
        return x * self.weight + 1.0


def doubled(x: Any) -> Any:
    return x * 2.0


def tripled(x: Any) -> Any:
    return x * 3.0


Weighted, act, chosen, kind, model, factor = First, np.tanh, slice(0, 2), np.float32, First(2.0), 2.0
acts = {"first": [np.sin]}


def with_factor(x: Any) -> Any:
    return np.sum(x * x * factor)


slope = ct.grad(lambda x: np.sum(x * x * factor))
NAMES: dict[str, tuple[Any, str, Any]] = {  # the function, a name that stands for something else afterwards, and what
    "an object": (lambda x: x * model.weight, "model", First(5.0)),
    "an object whose method is called": (lambda x: model.of(x), "model", First(5.0)),
    "a class": (lambda x: Weighted(2.0).of(x), "Weighted", Second),
    "a universal function": (lambda x: act(x), "act", np.sin),
    "a universal function in a list": (lambda x: acts["first"][0](x), "acts", {"first": [np.cos]}),
    "a slice": (lambda x: x[chosen] * 1.0, "chosen", slice(1, 3)),
    "a dtype": (lambda x: x.astype(kind) * 1.0, "kind", np.float64),
    "a number in a gradient from outside": (lambda x: slope(x), "factor", 3.0),
    "a number in a function that is differentiated inside": (lambda x: ct.grad(with_factor)(x), "factor", 3.0),
    "a number in a function that is mapped inside": (lambda x: ct.vmap(with_factor)(x), "factor", 3.0),
    "a number in the gradient of a gradient": (
        lambda x: ct.grad(lambda y: np.sum(ct.grad(with_factor)(y)))(x), "factor", 3.0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_another_thing_under_a_name_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fn, key, value = NAMES[name]
    f = ct.function(fn)
    before = f(X)
    np.testing.assert_array_equal(f(X), before)
    monkeypatch.setitem(globals(), key, value)
    with pytest.raises(ct.TraceError, match="has changed since it was traced"):
        f(X)
    if name == "a number in a gradient from outside":
        return  # which is made anew, too
    after = ct.function(fn)(X)
    assert after.dtype != before.dtype or not np.array_equal(after, before)


def test_another_code_in_a_function_is_named() -> None:
    """As it is put there where a module is loaded again in a notebook."""

    def inner(x: Any) -> Any:
        return x * 2.0

    def outer(x: Any) -> Any:
        return inner(x) + 1.0

    f, g = ct.function(inner), ct.function(outer)
    f(X), g(X)
    inner.__code__ = tripled.__code__
    for one in (f, g):
        with pytest.raises(ct.TraceError, match=r"inner"):
            one(X)
    np.testing.assert_array_equal(ct.function(inner)(X), 3.0 * X)
    np.testing.assert_array_equal(ct.function(outer)(X), 3.0 * X + 1.0)


def test_functions_that_name_each_other() -> None:
    calls: dict[str, Any] = {}
    calls["down"] = ct.function(lambda x, n: calls["up"](x, n - 1) * factor if n else x, static="n")
    calls["up"] = ct.function(lambda x, n: calls["down"](x, n - 1) + factor if n else x, static="n")
    for _ in range(3):
        np.testing.assert_array_equal(calls["down"](X, n=2), (X + 2.0) * 2.0)


def test_what_no_function_reads_may_change() -> None:
    model = Model()
    f = ct.function(model.by_property)
    f(X)
    model.parts["shift"] = 9.0  # which operators of the object read, and the function does not use
    model.unread = [1.0]  # type: ignore[attr-defined]
    Model.unread = 2.0  # type: ignore[attr-defined]
    np.testing.assert_array_equal(f(X), 6.0 * X)


def test_a_default_that_the_function_fills_is_a_log() -> None:
    def fn(x: Any, seen: Any = []) -> Any:  # noqa: B006
        seen.append(len(x))
        return x * 2.0

    f = ct.function(fn)
    for n in (1, 2, 1, 3):
        f(np.ones(n))


Pair = namedtuple("Pair", "a b")


@dataclasses.dataclass(frozen=True)
class Setting:
    a: Any
    b: Any


@pytest.mark.parametrize("kind", [lambda a, b: (a, b), Pair, Setting, lambda a, b: ((a, b), 1)])
def test_static_values_that_python_calls_equal_are_told_apart(kind: Any) -> None:
    def f(x: Any, n: Any) -> Any:
        a, b = (n.a, n.b) if isinstance(n, Setting) else n[0] if isinstance(n[0], tuple) else n
        return np.arange(3) * a, np.copysign(x, b)

    g = ct.function(f, static="n")
    for a, b in [(1, 0.0), (1.0, -0.0), (True, 0.0), (1, -0.0), (np.float32(1), 0.0), (1, np.float64(-0.0))]:
        for found, wanted in zip(g(X, n=kind(a, b)), f(X, kind(a, b)), strict=True):
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("zero", [0.0, -0.0, np.float32(-0.0), complex(0.0, -0.0).imag])
def test_static_zeros_have_a_sign(zero: Any) -> None:
    f = ct.function(lambda x, n: np.copysign(x, n), static="n")
    for n in (0.0, -0.0, zero):
        np.testing.assert_array_equal(f(X, n=n), np.copysign(X, n))

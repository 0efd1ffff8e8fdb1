"""Morphisms at example values: where a space can be given, a value of it can be, trees included."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct
from tests.traced.trees import Layer

P = {"w": np.ones((3, 2)), "b": np.ones(2)}
X = np.ones((4, 3))
P_SPACE = ct.product(ct.f64[2], ct.f64[3, 2])  # keys are sorted
DOM = ct.product(P_SPACE, ct.f64[4, 3])


def loss(p: Any, x: Any) -> Any:
    h = np.tanh(x @ p["w"] + p["b"])
    return np.sum(h * h)


def layered(layers: Any, x: Any, act: str = "tanh") -> Any:
    for layer in layers:
        x = np.tanh(x @ layer.w + layer.b) if act == "tanh" else x @ layer.w
    return {"y": x, "none": None}


TERMS: dict[str, tuple[Any, ct.Space]] = {
    "function": (ct.function(loss), ct.f64[()]),
    "gradient": (ct.grad(ct.function(loss), argnums=None), DOM),
    "chain": (ct.function(loss) >> ct.exp, ct.f64[()]),
    "fork": (ct.fork(loss, ct.function(loss) >> ct.sin), ct.f64[()] * ct.f64[()]),
    "plain function": (loss, ct.f64[()]),
    "program": (ct.function(loss).at(P, X), ct.f64[()]),
}
ARGUMENTS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "values": ((P, X), {}),
    "a space among values": ((P, ct.f64[4, 3]), {}),
    "trees of spaces": (({"w": ct.f64[3, 2], "b": ct.f64[2]}, ct.f64[4, 3]), {}),
}


@pytest.mark.parametrize("given", list(ARGUMENTS))
@pytest.mark.parametrize("name", list(TERMS))
def test_values_stand_for_their_spaces(name: str, given: str) -> None:
    term, cod = TERMS[name]
    args, kwargs = ARGUMENTS[given]
    wiring = ct.wire(term, *args, **kwargs)
    assert (wiring.dom, wiring.cod) == (DOM, cod)
    made = ct.compile(term, *args, **kwargs)
    if isinstance(term, ct.D):
        assert made is term and term.spaces(*args, **kwargs) == cod
        assert term.draw(*args, **kwargs).startswith("<svg")
        assert ": " in term.source("steps", *args, **kwargs)
    assert "operations" in ct.plan(term, *args, **kwargs).explain()


@pytest.mark.parametrize("term", [ct.function(loss), ct.grad(loss), ct.function(loss) >> ct.exp])
def test_values_by_name(term: Any) -> None:
    assert term.spaces(P, x=X) == term.spaces(x=X, p=P) == term.spaces(P, X)
    assert ct.wire(term, x=X, p=P).dom == DOM and term.draw(P, x=ct.f64[4, 3]).startswith("<svg")
    assert ct.compile(term, x=X, p=P) is term


def test_a_linear_map_at_values_by_name() -> None:
    y, L = ct.linearize(loss, P, x=X)
    assert np.isclose(y, loss(P, X)) and L.dom == DOM and L.cod == ct.f64[()]


def test_static_parameters_and_trees_of_results() -> None:
    f = ct.function(layered, static="act")
    layers = [Layer(np.ones((3, 2)), np.ones(2)), Layer(ct.f64[2, 5], ct.f64[5])]
    for args, kwargs in (((layers, X), {}), ((layers, X, "id"), {}), ((layers, X), {"act": "id"})):
        assert f.spaces(*args, **kwargs) == ct.product(ct.Unit, ct.f64[4, 5])
        assert ct.wire(f, *args, **kwargs).cod.leaves == (ct.f64[4, 5],)
    assert len(f.at(layers, X, act="id").lines) < len(f.at(layers, X).lines)
    assert "names" not in f.draw(layers, X) and "x: f64[4, 3]" in f.draw(layers, X, open=True)


def test_spaces_are_arguments_too() -> None:
    f = ct.function(lambda x, y: x @ y)
    for args in ((ct.f64[3] * ct.f64[3],), (ct.f64[3], ct.f64[3]), (np.zeros(3), ct.f64[3]), (ct.f64[3], np.zeros(3))):
        assert f.spaces(*args) == ct.f64[()] and f.at(*args) == f.at(ct.f64[3] * ct.f64[3])
        assert ct.wire(ct.matmul, *args).cod == ct.f64[()]


def test_numbers_take_the_dtypes_of_a_call() -> None:
    x = np.ones(3, np.float32)
    assert ct.add.spaces(x, x) == ct.mul.spaces(ct.f32[3], ct.f32[3]) == ct.f32[3]
    assert ct.wire(ct.add, x, 2.0).dom == ct.f32[3] * ct.f32[()] and ct.add(x, 2.0).dtype == np.float32
    assert ct.wire(ct.add, ct.i8[3], 2).dom == ct.i8[3] * ct.i8[()]
    assert ct.function(lambda a, b: a + b).spaces(x, 2.0) == ct.f32[3]
    assert ct.sin.spaces(2.0) == ct.f64[()] and ct.sin.spaces(2) == ct.f64[()]


F = ct.function(loss)
WRONG: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "nothing": (lambda: ct.wire(ct.sin), ct.SpaceError, "or with a value"),
    "nothing to a function": (lambda: F.spaces(), ct.ArgumentError, "expected: loss(p, x)"),
    "too few": (lambda: ct.compile(F, P), ct.ArgumentError, "missing a required argument: 'x'"),
    "too many": (lambda: F.draw(P, X, X), ct.ArgumentError, "too many positional"),
    "an unknown name": (lambda: ct.wire(F, P, y=X), ct.ArgumentError, "'x'"),
    "a name to a morphism": (lambda: ct.sin.spaces(x=X), ct.SpaceError, "by position"),
    "a text": (lambda: ct.compile(ct.sin, "x"), ct.SpaceError, "given:    'x' of type str"),
    "a list": (lambda: ct.sin.spaces([1.0, 2.0]), ct.SpaceError, "np.asarray(x) for one array"),
    "a dict": (lambda: ct.wire(ct.sin, P), ct.SpaceError, "of type dict"),
    "a space of another shape": (lambda: F.spaces(P, ct.f64[4, 5]), ct.SpaceError, "x @ p"),
    "a space for a point": (lambda: ct.linearize(ct.sin, ct.f64[3]), ct.SpaceError, "give an array of that space"),
    "too few factors": (lambda: F.at(ct.f64[3]), ct.SpaceError, "takes the arguments p, x"),
    "another domain of a program": (lambda: F.at(P, X).draw(ct.f64[3]), ct.SpaceError, "f64[3]"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(WRONG))
def test_wrong_arguments(name: str) -> None:
    call, kind, words = WRONG[name]
    with pytest.raises(kind) as caught:
        call()
    assert words in str(caught.value) and f"called:   {__file__}:" in str(caught.value), str(caught.value)


def test_a_space_knows_no_names() -> None:
    with pytest.raises(TypeError) as caught:
        F.spaces(DOM)
    notes = "\n".join(caught.value.__notes__)
    line = inspect.getsourcelines(loss)[1] + 1
    assert f"{__file__}:{line}:" in notes and "^^^^" in notes
    assert "p: a tuple, which stays one" in notes and "a space that is a product" in notes and "example values" in notes

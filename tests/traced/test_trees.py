"""Dicts, dataclasses, named tuples, lists and keywords as arguments and results of traced functions."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
import pytest

import catad as ct
from tests.traced.texts import check_texts
from tests.traced.trees import Layer, Pair, alike, direction, slope

RNG = np.random.default_rng(3)
W, B, X = RNG.normal(size=(3, 2)), RNG.normal(size=2), RNG.normal(size=(4, 3))
PARAMS = {"w": W, "b": B}


def affine(p: Any, x: Any) -> Any:
    return {"y": np.tanh(x @ p["w"] + p["b"]), "parts": [p["b"] * 2.0, (p["w"], None)]}


def of_layer(layer: Any, x: Any) -> Any:
    return Pair(x @ layer.w + layer.b, Layer(layer.w * 2.0, layer.b, layer.name + "!"))


def with_keywords(x: Any, /, scale: Any = 2.0, *rest: Any, shift: Any, **more: Any) -> Any:
    total = x * scale + shift
    for one in rest:
        total = total - one
    for name in sorted(more):
        total = total * more[name]
    return total


def of_list(layers: Any, x: Any) -> Any:
    for layer in layers:
        x = np.tanh(x @ layer.w + layer.b)
    return x


def static_inside(config: Any, x: Any) -> Any:
    return np.sin(x) * config["k"] if config["act"] == "sin" else x * config["k"]


CASES: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]] = {
    "dict": (affine, (PARAMS, X), {}),
    "dict, by name": (affine, (), {"x": X, "p": PARAMS}),
    "dataclass": (of_layer, (Layer(W, B), X), {}),
    "list of dataclasses": (of_list, ([Layer(W, B), Layer(RNG.normal(size=(2, 5)), np.zeros(5), "last")], X), {}),
    "named tuple": (lambda p: p.first * p.second["a"], (Pair(B, {"a": 2.0}),), {}),
    "nested tuples": (lambda p: ((p[0], p[1][0]), [p[1][1]]), ((B, (X, W)),), {}),
    "keywords": (with_keywords, (B,), {"shift": 1.0}),
    "keywords, all": (with_keywords, (B, 3.0, B, B * 2), {"shift": B, "z": 2.0, "a": B}),
    "positional default": (with_keywords, (B, 5.0), {"shift": np.ones(2)}),
    "static in a dict": (static_inside, ({"act": "sin", "k": 2.0, "f": np.sin, "none": None}, B), {}),
    "static in a dict, other": (static_inside, ({"act": "id", "k": 2.0, "f": np.cos, "none": None}, B), {}),
    "integers": (lambda p: p["x"][p["k"]] * 2, ({"x": B, "k": np.array([1, 0, 1])},), {}),
    "ordered dict": (lambda p: OrderedDict(z=p["z"], a=p["a"]), (OrderedDict(z=B, a=W),), {}),
    "default dict": (lambda p: p["z"] + p["a"], (defaultdict(list, z=B, a=2.0),), {}),
    "nothing": (lambda: np.arange(3.0), (), {}),
    "empty containers": (lambda p, q: (p["x"], [], {}, q), ({"x": B, "none": []}, ()), {}),
    "static result": (lambda x: {"x": x, "name": "net", "n": None, "fn": np.sin}, (B,), {}),
    "a result twice": (lambda x: (x, x, [x * 2]), (B,), {}),
    "numbers": (lambda a, b: {"sum": a + b, "product": a * b}, (2.0, 3), {}),
    "numbers beside float32": (lambda p, s: p["x"] * s + p["k"], ({"x": np.ones(2, np.float32), "k": 1}, 0.5), {}),
    "numbers beside int8": (lambda x, s: x * s, (np.arange(3, dtype=np.int8), 3), {}),
}  # fmt: skip


@pytest.mark.parametrize("engine", ["reference", "cpu"])
@pytest.mark.parametrize("name", CASES)
def test_trees_in_and_trees_out(name: str, engine: str) -> None:
    fn, args, kwargs = CASES[name]
    want = fn(*args, **kwargs)
    with ct.use_engine(engine):
        f = ct.function(fn)
        for _ in range(3):  # the first call, and those that find its program
            got = f(*args, **kwargs)
            assert alike(got, want), (got, want)
    if hasattr(want, "dtype"):
        assert got.dtype == want.dtype


def test_arguments_in_another_order_are_the_same_call() -> None:
    f = ct.function(lambda a, b, c=1.0, *, d=0.0: {"a": a, "b": b, "c": c, "d": d})
    for call in (lambda: f(1.0, 2.0, 3.0, d=4.0), lambda: f(c=3.0, d=4.0, b=2.0, a=1.0), lambda: f(1.0, d=4.0, c=3.0, b=2.0)):
        for _ in range(2):
            assert call() == {"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0}
    assert f(b=2.0, a=1.0) == {"a": 1.0, "b": 2.0, "c": 1.0, "d": 0.0} == f(1.0, 2.0)


def test_equal_spaces_and_other_trees_are_other_programs() -> None:
    f = ct.function(lambda p: p["a"] - p["b"] if isinstance(p, dict) else p[1] - p[0])
    assert f({"a": 3.0, "b": 1.0}) == 2.0 and f((3.0, 1.0)) == -2.0 and f([3.0, 1.0]) == -2.0
    g = ct.grad(f)
    assert g({"a": 3.0, "b": 1.0}) == {"a": 1.0, "b": -1.0} and g((3.0, 1.0)) == (-1.0, 1.0) and g([3.0, 1.0]) == [-1.0, 1.0]


def test_a_python_number_is_an_array_of_its_own_and_weak() -> None:
    f = ct.function(lambda x, s: x * s)
    x = np.ones(2, np.float32)
    assert f.at(x, 2.0).dom == ct.f32[2] * ct.f64[()] and f(x, 2.0).dtype == np.float32
    assert f(x, np.float64(2.0)).dtype == np.float64 and f(2, 3).dtype == np.int64 and f(2, True).dtype == np.int64
    outer = ct.function(lambda x, k: f(x, f(k, 2.0)))  # the number of a number is one
    assert outer(x, 3.0).dtype == np.float32 and np.array_equal(outer(x, 3.0), [6.0, 6.0])
    assert ct.grad(lambda x, s: np.sum(x * s), argnums=1)(x, 2.0) == 2.0


def test_a_gradient_has_the_tree_of_its_argument() -> None:
    def loss(p: Any, x: Any) -> Any:
        return np.sum(np.tanh(x @ p["layer"].w + p["layer"].b) ** 2) * p["scale"][0] + p["k"]

    p = {"layer": Layer(W, B), "scale": [2.0, None], "k": np.int64(3), "act": "tanh"}
    got = ct.grad(loss)(p, X)
    assert got["k"] == () and got["act"] == "tanh" and got["layer"].name == "dense" and got["scale"][1] is None
    v = direction((p, X), 1)
    moved = sum(np.sum(g * t) for g, t in ((got["layer"].w, v[0]["layer"].w), (got["layer"].b, v[0]["layer"].b)))
    moved += got["scale"][0] * v[0]["scale"][0]
    assert np.isclose(moved, slope(loss, (p, X), (v[0], np.zeros_like(X))), rtol=1e-7)
    assert isinstance(ct.grad(loss, argnums=(1, 0))(p, X), tuple)


def test_a_morphism_of_several_factors_takes_one_tuple_too() -> None:
    f = ct.function(lambda x, y: x - y)
    assert f((3.0, 1.0)) == 2.0 == f(3.0, 1.0) == (ct.fork(ct.id, ct.const(1.0)) >> f)(3.0)
    g = ct.function(lambda pair: pair[0] - pair[1])  # one parameter is the whole domain
    assert g((3.0, 1.0)) == 2.0 == (ct.fork(ct.id, ct.const(1.0)) >> g)(3.0) and g.spaces(ct.f64[()] * ct.f64[()]) == ct.f64[()]


def test_a_program_takes_and_gives_the_trees_for_which_it_was_made() -> None:
    f = ct.function(affine)
    p = f.at(PARAMS, X)
    assert alike(p(PARAMS, X), affine(PARAMS, X)) and alike(p(PARAMS, X), f(PARAMS, X))
    plain = p((B, W), X)
    assert isinstance(plain, tuple) and np.array_equal(plain[1], f(PARAMS, X)["y"])
    total = ct.function(lambda p, x: np.sum(p["w"]) * np.sum(x)).at(PARAMS, X)
    assert alike(ct.grad(total)(PARAMS, X)[0], {"b": np.zeros(2), "w": np.full((3, 2), X.sum())})
    one, other = (ct.function(fn).at(x, B) for fn, x in ((lambda p, x: (p[0] * x,), (B,)), (lambda p, x: [p["a"] * x], {"a": B})))
    assert one == other and isinstance(one((B,), B), tuple) and isinstance(other({"a": B}, B), list)


class Color(Enum):
    RED = 1


@dataclass(frozen=True)
class Counted:
    w: Any
    n: Any = field(init=False, default=None)

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", "counted")


INNER = ct.function(lambda x, y: {"k": x * y, "j": [y]})
RESULTS: dict[str, tuple[Any, str, set[str]]] = {
    "dict": (lambda x, y: {"s": x * y, "d": [x, None, (y,)]}, "{'d': [x, None, (y,)], 's': x * y}", set()),
    "dataclass": (lambda x, y: Layer(x, {"b": y}, "out"), "Layer(x, {'b': y}, 'out')", {"Layer"}),
    "a class that does more": (lambda x, y: Counted(x * 2), "Counted(x * 2, 'counted')", {"Counted"}),
    "named tuples": (lambda x, y: Pair((x, y), Pair(x, 2.0)), "Pair((x, y), Pair(x, 2.0))", {"Pair"}),
    "ordered dict": (lambda x, y: OrderedDict(b=x, a=y), "OrderedDict({'a': y, 'b': x})", {"OrderedDict"}),
    "default dict": (lambda x, y: defaultdict(list, b=x), "defaultdict(None, {'b': x})", {"defaultdict"}),
    "static": (
        lambda x, y: [x, "it's", Color.RED, np.sin, ct.sin, slice(1), ...],
        '[x, "it\'s", RED, sin, morphism, slice(None, 1, None), Ellipsis]', {"RED", "sin", "morphism"},
    ),
    "empty": (lambda x, y: {"e": [], "t": (), "d": {}, "n": None}, "{'d': {}, 'e': [], 'n': None, 't': ()}", set()),
    "one in a list": (lambda x, y: [x], "[x]", set()),
    "nothing": (lambda x, y: None, "None", set()),
    "of a function inside": (lambda x, y: {"r": INNER(x, y)["k"], "i": INNER(x, y)}, "", set()),
    "parts of one line": (lambda x, y: INNER(x, y), "", set()),
    "names that are taken": (lambda Layer_, x: (lambda h: [Layer(h, h, None), h])(np.sin(x)), "", {"Layer"}),
}  # fmt: skip


@pytest.mark.parametrize("name", RESULTS)
def test_a_text_gives_the_tree_of_the_result(name: str) -> None:
    fn, text, names = RESULTS[name]
    p = ct.function(fn).at(B, B)
    assert text in repr(p) and text.removeprefix("(").removesuffix(")") in str(p)
    assert p.names.keys() == names
    check_texts(p)
    assert alike(eval(repr(p), {"ct": ct, **p.names})(B, B), fn(B, B)) and alike(p(B, B), fn(B, B))


def test_a_function_in_a_function_is_one_line() -> None:
    inner = ct.function(affine)

    @ct.function
    def outer(p: Any, x: Any) -> Any:
        made = inner(p, x=x)
        return np.sum(made["y"]) + np.sum(made["parts"][0])

    program = outer.at(PARAMS, X)
    assert sum(type(line.term).__name__ == "Program" for line in program.lines) == 1
    want = affine(PARAMS, X)
    assert np.isclose(outer(PARAMS, X), np.sum(want["y"]) + np.sum(want["parts"][0]))


WRONG: dict[str, tuple[Any, type[Exception], str]] = {
    "too many": (lambda: ct.function(lambda x: x)(1.0, 2.0), ct.ArgumentError, "too many positional"),
    "missing": (lambda: ct.function(lambda x, y: x)(1.0), ct.ArgumentError, "missing a required argument"),
    "unknown name": (lambda: ct.function(lambda x: x)(1.0, y=2.0), ct.ArgumentError, "unexpected keyword"),
    "keys that are no texts": (lambda: ct.function(lambda p: p[0])({0: B}), ct.SpaceError, "key that is no text"),
    "names for a morphism": (lambda: ct.sin(x=1.0), ct.SpaceError, "by position"),
    "a dict for a morphism": (lambda: (ct.sin >> (lambda x: x))({"a": 1.0}), ct.SpaceError, "a value is an array"),
    "a tangent of another tree": (
        lambda: ct.jvp(affine, (PARAMS, X), ({"w": W}, X)), ct.SpaceError, "the tangent has another form",
    ),
    "a cotangent of another tree": (lambda: ct.vjp(affine, PARAMS, X)[1]((B, B)), ct.SpaceError, "cotangent has another form"),
    "a step that changes the tree": (
        lambda: ct.iterate(lambda s: (s["a"], s["b"]), 3)({"a": 1.0, "b": 2.0}), ct.SpaceError, "values of one form",
    ),
    "sides of two trees": (
        lambda: ct.choose(lambda x: x > 0, lambda x: {"a": x}, lambda x: [x])(1.0), ct.SpaceError, "values of one form",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_trees(name: str) -> None:
    call, kind, words = WRONG[name]
    with pytest.raises(kind, match=words) as caught:
        call()
    assert f"called:   {__file__}:" in str(caught.value)

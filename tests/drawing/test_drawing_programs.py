"""Pictures of programs: the user's names on the wires, programs and helpers as groups, as much as can be read."""

from __future__ import annotations

import pickle
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import catad as ct
from tests.drawing.test_drawing_diagrams import group, labels, parsed, spaces

SVG = "{http://www.w3.org/2000/svg}"
F3 = ct.f64[3]


def titles(text: str, kind: str) -> list[str]:
    """The tooltips of the boxes of a kind."""
    boxes = [box for box in group(parsed(text), "boxes") if box.get("class") == f"catad-box catad-{kind}"]
    return [box.find(SVG + "title").text or "" for box in boxes]


@ct.function
def scaled(x, w):
    h = np.tanh(x * w)
    return h - h.mean()


@ct.function
def twice(params, x):
    first = scaled(x, params["w"])
    second = scaled(first, params["w"])
    return first * second + params["b"]


def test_wires_have_the_names_of_variables() -> None:
    text = scaled.at(F3 * F3).draw()
    assert labels(text) == ["mul", "tanh", "mean()", "sub"]
    assert spaces(text) == ["x: f64[3]", "w: f64[3]", "f64[3]", "h: f64[3]", "f64", "f64[3]"]
    assert scaled.draw(F3 * F3) == text


def test_a_function_inside_is_a_group_that_can_be_opened() -> None:
    p = twice.at({"w": np.ones(3), "b": np.ones(3)}, np.ones(3))
    closed, opened = p.draw(), p.draw(open=True)
    assert labels(closed) == ["scaled", "scaled", "mul", "add"]
    assert "params['w']: f64[3]" in spaces(closed) and "first: f64[3]" in spaces(closed)
    assert titles(closed, "group")[0].startswith("def scaled(x, w):\n    h = ct.tanh(x * w)")
    assert labels(opened).count("tanh") == 2 and "scaled" not in labels(opened) and "h: f64[3]" in spaces(opened)
    assert p.draw(open="scaled") == opened and p.draw(open="another") == closed


def block(x, w):
    def layer(x, k):
        h = np.tanh(x @ w[k])
        n = h - h.mean(axis=-1, keepdims=True)
        return n / np.sqrt((n * n).mean(axis=-1, keepdims=True) + 1e-5)

    for k in range(20):
        x = x + layer(x, k)
    return x.sum()


def test_helpers_of_a_long_program_are_groups() -> None:
    p = ct.function(block, unroll=100).at(np.ones((4, 4)), np.ones((20, 4, 4)))
    assert len(p.children) > 200
    text = p.draw()
    found = labels(text)
    assert set(found) >= {"layer", "add", "sum()"} and "tanh" not in found and len(found) <= 50
    assert any(label.endswith("more ...") for label in found)
    assert "layer" not in labels(p.draw(open=True)) and "tanh" in labels(p.draw(open="layer"))
    assert "of_program" not in text and ElementTree.fromstring(text) is not None


def test_lines_of_a_long_function_are_groups_by_statement() -> None:
    def long(x):
        a = np.sin(x) * np.cos(x)
        b = np.exp(-a * a) + np.tanh(a)
        c = b / (1 + b * b) - np.sqrt(abs(b))
        d = np.log(c * c + 1) * a + b * c
        e = d - d.mean() + (a * b - c * d) / 2
        g = e * e + a * d - b * c + np.arctan(e)
        h = np.where(g > 0, g * a, -g * b) + e
        return h / (1 + abs(h)) + a * b * c * d * e * g * h

    p = ct.function(long).at(F3)
    text = p.draw()
    assert labels(text)[:7] == ["a", "b", "c", "d", "e", "g", "h"]
    assert {f"{name}: f64[3]" for name in "xabcdegh"} <= set(spaces(text))
    assert any("b = np.exp(-a * a) + np.tanh(a)" in title for title in titles(text, "group"))


def test_names_and_texts_are_xml_whatever_they_are() -> None:
    p = ct.function(lambda x, k: {"<&>": x["a&b<"] * 2 < k}["<&>"]).at({"a&b<": np.ones(3)}, np.ones(3))
    assert any("a&b<" in label for label in spaces(p.draw()))


def test_another_domain_is_an_error() -> None:
    with pytest.raises(ct.SpaceError):
        scaled.at(F3 * F3).draw(F3)


def test_a_picture_of_a_constant_has_its_name() -> None:
    table = np.arange(40.0).reshape(8, 5)
    text: Any = ct.function(lambda x: table @ x).draw(ct.f64[5])
    assert "table" in labels(text)


def normed(x, p):
    m = x - x.mean(axis=1, keepdims=True)
    return m / np.sqrt((m * m).mean(axis=1, keepdims=True) + 1e-5) * p["gain"] + p["bias"]


class Dense:
    def __init__(self, act):
        self.act = act

    def __call__(self, x, p):
        return self.act(x @ p["w"] + p["b"])


def residual(x, p):
    h = Dense(np.tanh)(normed(x, p["norm"]), p["dense"])
    return x + h


def network(params, x):
    for p in params["blocks"]:
        x = residual(x, p)
    out = x @ params["out"]
    return np.sum(out * out)


def blocks(n: int) -> Any:
    one = {"norm": {"gain": np.ones(3), "bias": np.zeros(3)}, "dense": {"w": np.ones((3, 3)), "b": np.zeros(3)}}
    return {"blocks": [one] * n, "out": np.ones((3, 2))}


ARGUMENTS = (blocks(7), np.ones((4, 3)))


def test_a_call_of_a_helper_is_a_group_with_all_that_it_calls() -> None:
    f = ct.function(network)
    text = f.draw(*ARGUMENTS)
    assert len(f.at(*ARGUMENTS).lines) > 90
    assert labels(text) == ["residual"] * 7 + ["matmul", "mul", "sum()"]
    assert spaces(text)[:7] == [f"params['blocks'][{k}]: 4 arrays" for k in range(7)]
    assert "x: f64[4, 3]" in spaces(text) and "out: f64[4, 2]" in spaces(text)
    assert titles(text, "group")[0].startswith(f"13 lines, {__file__}:")
    assert f.draw(*ARGUMENTS) == text == f.at(*ARGUMENTS).draw()


def test_groups_are_opened_by_name() -> None:
    p = ct.function(network).at(*ARGUMENTS)
    once = labels(p.draw(open="residual"))
    assert once[:3] == ["normed", "Dense", "add"] and "residual" not in once
    inner = labels(p.draw(open="Dense"))
    assert "normed" in inner and {"matmul", "tanh"} <= set(inner) and "Dense" not in inner and "residual" not in inner
    both = labels(p.draw(open=["Dense", "normed"]))
    assert not {"normed", "Dense", "residual"} & set(both)
    assert labels(p.draw(open="nothing")) == labels(p.draw())


def test_a_function_that_only_calls_another_shows_what_that_calls() -> None:
    def wrapper(params, x):
        return network(params, x)

    assert labels(ct.function(wrapper).draw(*ARGUMENTS)) == labels(ct.function(network).draw(*ARGUMENTS))


def test_groups_are_kept_in_records_and_across_paths() -> None:
    def chosen(params, x):
        if x[0, 0] > 0:
            return network(params, x)
        return network(params, -x)

    p = ct.function(network).at(*ARGUMENTS)
    assert labels(pickle.loads(pickle.dumps(p)).draw()) == labels(p.draw())
    q = ct.function(chosen).at(*ARGUMENTS)
    (choice,) = [line.term for line in q.lines if "choose" in repr(line.term)]
    side = choice.children[1].factors[-1]
    assert labels(side.draw()).count("residual") == 7

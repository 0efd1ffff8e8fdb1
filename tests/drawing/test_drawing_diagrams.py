"""Diagrams as text: what is drawn, how much is left out, and that wires end on boxes. No pixels are compared."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

import catad as ct
from catad.drawing.graph import BOXES, depths, of_wiring
from catad.drawing.labels import kind_of, label_of, space_label
from catad.drawing.layout import laid_out
from catad.drawing.style import escaped
from catad.drawing.untyped import of_term

SVG = "{http://www.w3.org/2000/svg}"
F = ct.f64[3]


def parsed(text: str) -> ElementTree.Element:
    root = ElementTree.fromstring(text)
    assert root.tag == SVG + "svg"
    return root


def group(root: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    (found,) = [g for g in root.iter(SVG + "g") if f"catad-{name}" in (g.get("class") or "").split()]
    return list(found)


def labels(text: str) -> list[str]:
    """The texts on the boxes."""
    return [box.find(SVG + "text").text or "" for box in group(parsed(text), "boxes")]


def spaces(text: str) -> list[str]:
    return [label.text or "" for label in group(parsed(text), "spaces")]


def dots(text: str, kind: str) -> int:
    return sum(dot.get("class") == f"catad-{kind}" for dot in group(parsed(text), "dots"))


def paths(text: str) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """Where each wire begins and ends."""
    found = []
    for path in group(parsed(text), "wires"):
        d = path.get("d") or ""
        x, y = map(float, re.match(r"M(\S+) (\S+?)(?=[HC]|$)", d).groups())
        start = (x, y)
        for op, numbers in re.findall(r"([HC])([^HC]*)", d):
            values = [float(v) for v in numbers.split()]
            x, y = (values[0], y) if op == "H" else (values[-2], values[-1])
        found.append((start, (x, y)))
    return found


def rectangles(text: str) -> list[tuple[float, float, float, float]]:
    """Left, top, right and bottom edges of the boxes."""
    out = []
    for box in group(parsed(text), "boxes"):
        x, y, w, h = (float(box.find(SVG + "rect").get(k)) for k in ("x", "y", "width", "height"))
        out.append((x, y, x + w, y + h))
    return out


EXAMPLES = {
    "pair": (ct.fork(ct.sin >> ct.exp, ct.cos) >> ct.mul, F),
    "identity": (ct.id, F),
    "nothing": (ct.it, F),
    "constant": (ct.const(2.0), ct.Unit),
    "square": (ct.dup >> ct.mul, F),
    "swap": (ct.swap >> ct.cross(ct.sin, ct.exp), F * F),
    "matmul": (ct.matmul >> ct.tanh >> ct.sum(axis=0), ct.f64[3, 4] * ct.f64[4, 5]),
    "gradient": (ct.grad(ct.matmul >> ct.tanh >> ct.sum()), ct.f64[3, 4] * ct.f64[4, 5]),
    "scan": (ct.grad(ct.scan(lambda a, b: a * b, 1.0) >> ct.sum()), ct.f64[7]),
    "histogram": (ct.grad(ct.histogram(lambda a, b: a if a < b else b, 9.0, 5) >> ct.sum()), ct.i64[9] * ct.f64[9]),
    "long": (ct.compose(*[ct.sin] * 100), F),
    "wide": (ct.fork(*[float(i) * ct.sin for i in range(60)]), F),
}


@pytest.fixture(params=[(name, typed) for name in EXAMPLES for typed in (True, False)], ids=str)
def text(request: pytest.FixtureRequest) -> str:
    term, dom = EXAMPLES[request.param[0]]
    return term.draw(dom if request.param[1] else None)


# -- any picture


def test_every_wire_begins_and_ends_on_a_box_or_an_edge_or_a_ring(text: str) -> None:
    width = float(parsed(text).get("width"))
    boxes = rectangles(text)
    rings = [(float(d.get("cx")), float(d.get("cy"))) for d in group(parsed(text), "dots") if d.get("class") == "catad-unread"]

    def touches(x: float, y: float, edge: int) -> bool:
        return any(abs(box[edge] - x) < 0.2 and box[1] <= y <= box[3] for box in boxes)

    for (x0, y0), (x1, y1) in paths(text):
        assert x0 == 4 or touches(x0, y0, 2), (x0, y0)
        assert abs(x1 - (width - 4)) < 0.2 or touches(x1, y1, 0) or (x1, y1) in rings, (x1, y1)


def test_boxes_do_not_overlap_and_lie_inside(text: str) -> None:
    width, height = (float(parsed(text).get(k)) for k in ("width", "height"))
    boxes = rectangles(text)
    for i, (x0, y0, x1, y1) in enumerate(boxes):
        assert x0 >= 0 and y0 >= 0 and x1 <= width and y1 <= height
        for u0, v0, u1, v1 in boxes[:i]:
            assert x1 <= u0 or u1 <= x0 or y1 <= v0 or v1 <= y0


def test_labels_fit_their_boxes_and_do_not_meet(text: str) -> None:
    for box, label in zip(rectangles(text), labels(text), strict=True):
        assert 7.3 * len(label) <= box[2] - box[0]
    written = [(float(t.get("x")), float(t.get("y")), 6 * len(t.text)) for t in group(parsed(text), "spaces")]
    boxes = rectangles(text)
    for i, (x, y, length) in enumerate(written):
        assert not any(abs(y - v) < 10 and x < u + n and u < x + length for u, v, n in written[:i])
        assert not any(x + length > left and x < right and top < y - 4 < bottom for left, top, right, bottom in boxes)


def test_each_example_draws_the_same_text_again() -> None:
    for term, dom in EXAMPLES.values():
        assert term.draw() == term.draw()
        assert term.draw(dom) == term.draw(dom)
    again = ct.fork(ct.sin >> ct.exp, ct.cos) >> ct.mul  # an equal term made anew
    assert again.draw(F) == EXAMPLES["pair"][0].draw(F)


# -- what is drawn


def test_boxes_labels_and_spaces_of_a_wiring() -> None:
    picture = (ct.fork(ct.sin >> ct.exp, ct.cos) >> ct.mul).draw(ct.f64[3, 4])
    assert sorted(labels(picture)) == ["cos", "exp", "mul", "sin"]
    assert spaces(picture) == ["f64[3, 4]"] * 5
    assert dots(picture, "split") == 1


def test_shared_work_is_drawn_once_at_a_space_and_as_written_without_one() -> None:
    h = ct.sin >> ct.exp
    both = ct.fork(h, h)
    assert sorted(labels(both.draw(F))) == ["exp", "sin"]
    assert sorted(labels(both.draw())) == ["exp", "exp", "sin", "sin"]


def test_structure_is_mere_wires() -> None:
    term = ct.assoc_r >> ct.cross(ct.id, ct.swap) >> ct.exr >> ct.dup
    for picture in (term.draw(), term.draw(F * F * F)):
        assert labels(picture) == []
        assert len(paths(picture)) == 5  # three inputs, two of which split in two; the first is not read
        assert (dots(picture, "split"), dots(picture, "unread")) == (2, 1)


def test_swap_crosses_and_cross_does_not() -> None:
    assert [y0 < y1 for (_, y0), (_, y1) in paths(ct.swap.draw(F * F))] == [True, False]
    assert all(y0 == y1 for (_, y0), (_, y1) in paths(ct.cross(ct.id, ct.id).draw(F * F)))


def test_an_untyped_wire_becomes_a_pair_where_something_needs_one() -> None:
    picture = (ct.matmul >> ct.fork(ct.exr, ct.exl >> ct.sin)).draw()
    assert sorted(labels(picture)) == ["matmul", "sin"]
    assert len(paths(picture)) == 4  # the input, two results of the box, the output of sin


def test_an_ill_typed_term_is_drawn_all_the_same_without_a_domain() -> None:
    term = ct.fork(ct.sin, ct.cos, ct.exp) >> ct.swap
    assert "swap" in labels(term.draw())
    with pytest.raises(ct.SpaceError):
        term.draw(F)


def test_wires_are_not_crossed_needlessly() -> None:
    order = [5, 2, 7, 0, 3, 6, 1, 4]
    there = ct.fork(*[ct.proj(k) >> ct.times(float(k + 2)) >> ct.sin for k in order])
    back = ct.fork(*[ct.proj(order.index(k)) for k in range(8)])
    layout = laid_out(of_wiring(ct.wire(there >> back, ct.product(*[F] * 8))))
    for layer, labels_ in zip(layout.layers[1:3], ([f"{k + 2}*x" for k in range(8)], ["sin"] * 8), strict=True):
        assert [item.node.label for item in layer] == labels_
        assert [item.y for item in layer] == sorted(item.y for item in layer)
    assert all(n.start.port(1, n.start_port) == n.end.port(0, n.end_port) for links in layout.links for n in links)


def test_wires_go_to_later_layers_and_constants_stand_before_their_reader() -> None:
    graph = of_wiring(ct.wire(ct.fork(ct.compose(*[ct.sin] * 5), ct.const(2.0)) >> ct.mul, ct.f64[()]))
    rank = depths(graph)
    at = {k: r for node, r in zip(graph.nodes, rank, strict=True) for k in node.outs}
    for node, r in zip(graph.nodes, rank, strict=True):
        assert all(at.get(k, 0) < r for k in node.ins)
    (constant,) = [r for node, r in zip(graph.nodes, rank, strict=True) if node.kind == "constant"]
    assert constant == 5


# -- how much


@pytest.mark.parametrize("dom", [None, F])
def test_a_long_chain_keeps_its_ends(dom: ct.Space | None) -> None:
    picture = ct.compose(*[ct.sin] * 9_990, *[ct.cos] * 10).draw(dom)
    assert labels(picture) == ["sin"] * 10 + ["... 9,980 more ..."] + ["cos"] * 10
    assert len(picture) < 10_000


def test_a_chain_that_is_not_long_is_whole() -> None:
    assert labels(ct.compose(*[ct.sin] * 20).draw(F)) == ["sin"] * 20


@pytest.mark.parametrize("dom", [None, ct.product(*[F] * 500)])
def test_a_wide_product_keeps_its_ends(dom: ct.Space | None) -> None:
    picture = ct.cross(*[ct.sin] * 500).draw(dom)
    found = labels(picture)
    assert found.count("sin") == 20 and found.count("... 480 more ...") == 1
    assert "... 480 more ..." in spaces(picture)


def test_shared_terms_do_not_unfold_into_a_tree() -> None:
    term = ct.sin
    for _ in range(60):
        term = ct.fork(term, term) >> ct.mul
    graph = of_term(term)
    assert len(graph.nodes) <= BOXES + 1
    assert any("more" in node.label for node in graph.nodes)
    assert sum("more" in label for label in labels(term.draw(F))) == 1


def test_what_is_merged_is_counted() -> None:
    term = ct.grad(ct.compose(*[ct.sin, ct.scan(lambda a, b: a + b, 0.0)] * 200) >> ct.sum())
    wiring = ct.wire(term, ct.f64[5])
    graph = of_wiring(wiring)
    assert sum(node.stands_for for node in graph.nodes) == len(wiring.boxes)
    assert len(graph.nodes) < 60


def test_terms_deeper_than_the_stack() -> None:
    term = ct.sin
    for _ in range(5_000):
        term = ct.fork(term) >> ct.proj(0)
    parsed(term.draw())


# -- labels


def test_labels() -> None:
    def clever(x: float) -> float:
        return x * x * 0.5

    assert label_of(ct.sin) == "sin"
    assert label_of(ct.matmul) == "matmul"
    assert label_of(ct.sum(axis=0)) == "sum(axis=0)"
    assert label_of(ct.map(clever)) == "clever"
    assert label_of(ct.map(lambda x, y: (x + y) * x - 1.0)) == "(x + y)*x - 1"
    assert label_of(ct.map(lambda x: x if x > 0 else 0.0)) == "x if x > 0 else 0"
    assert label_of(ct.const(2.0)) == "2.0"
    assert label_of(ct.const(np.ones(3))) == "f64[3]"
    assert label_of(ct.grad(ct.sin >> ct.sum())) == "grad(sin >> sum())"
    assert label_of(ct.scan(lambda a, b: a * b, 1.0)) == "scan(mul, 1.0)"
    assert space_label(ct.f64[()] * ct.i64[2, 3]) == "f64 * i64[2, 3]"


def test_a_label_that_is_too_long_is_cut_and_whole_in_the_tooltip() -> None:
    def a_very_long_name_for_a_scalar_function(x: float) -> float:
        return x * x + 3.0

    (box,) = group(parsed(ct.map(a_very_long_name_for_a_scalar_function).draw(F)), "boxes")
    assert box.find(SVG + "text").text == "a_very_long_name_for_a_sc…"
    assert box.find(SVG + "title").text == "a_very_long_name_for_a_scalar_function"


def test_text_is_escaped() -> None:
    picture = ct.map(lambda x: x if x < 3.0 else 0.0).draw()
    assert labels(picture) == ["x if x < 3 else 0"]
    assert "x &lt; 3" in picture
    assert escaped("a<b>&\x00\x1b") == "a&lt;b&gt;&amp;��"


def test_a_picture_needs_nothing_from_outside() -> None:
    picture = EXAMPLES["gradient"][0].draw(EXAMPLES["gradient"][1])
    for word in ("<script", "href", "url(", "@import", " id="):
        assert word not in picture


def test_the_text_does_not_depend_on_the_hash_seed() -> None:
    code = (
        "import catad as ct; f = ct.grad(ct.matmul >> ct.tanh >> ct.sum());"
        "print(f.draw(ct.f64[3, 4] * ct.f64[4, 5]), ct.cross(*[ct.fork(ct.sin, ct.cos)] * 40).draw())"
    )
    texts = {
        subprocess.check_output(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, text=True, timeout=600
        )
        for seed in ("1", "2")
    }
    assert len(texts) == 1 and "<svg" in texts.pop()


@pytest.mark.parametrize(
    "kind, terms",
    [
        ("pointwise", [ct.sin, ct.mul, ct.times(2.0), ct.map(lambda x: x * x)]),
        ("constant", [ct.const(1.0), ct.iota(3), ct.generate((2,), lambda i: i)]),
        ("linear", [ct.matmul, ct.einsum("ij->ji"), ct.transpose(), ct.gather, ct.scatter_add, ct.stack(), ct.fold(ct.add, 0.0)]),
        ("linear", [ct.lift(np.eye(2)), ct.concatenate(), ct.reshape((2,))]),
        ("functor", [make(ct.sin) for make in (ct.grad, ct.tangent, ct.differential, ct.reverse_differential)]),
        ("functor", [make(ct.sin) for make in (ct.jacfwd, ct.jacrev, ct.checkpoint, ct.vmap)]),
        ("functor", [ct.vmap(ct.sin, in_axes=1), ct.D(lambda x: (x, ct.scale(1.0)))]),
        ("combinator", [ct.fold(ct.mul, 1.0), ct.scan(ct.mul, 1.0), ct.iterate(ct.sin, 2), ct.recurrence]),
    ],
)
def test_the_class_of_a_box_says_its_kind(kind: str, terms: list[ct.D]) -> None:
    assert {repr(term): kind_of(term) for term in terms} == {repr(term): kind for term in terms}

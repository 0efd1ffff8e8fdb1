"""The laws of texts, records and forms without variables, for any program."""

from __future__ import annotations

import pickle
from typing import Any
from xml.etree import ElementTree

import catad as ct
from catad.boxes import Nesting
from catad.linear.either import Choose
from catad.syntax import is_scope, ordered


def traced_again(text: str, p: Any) -> Any:
    """The program to which definitions trace."""
    scope = {"ct": ct, **p.names}
    exec(text, scope)
    return ct.function(scope[p.title]).at(p.dom)


def boxes(wiring: Any, numbers: dict[Any, int]) -> tuple[list[int], list[Any]]:
    """The boxes of a wiring, each as one number for the box and all that it depends on, and the results."""
    at: dict[int, Any] = {k: ("input", i) for i, k in enumerate(wiring.inputs)}
    found = []
    for box in wiring.boxes:
        number = numbers.setdefault((kind(box.primitive, numbers), *[at[k] for k in box.ins]), len(numbers))
        found.append(number)
        at.update({k: (number, i) for i, k in enumerate(box.outs)})
    return sorted(found), [at[k] for k in wiring.outputs]


def kind(primitive: Any, numbers: dict[Any, int]) -> Any:
    """What a box is: of one that runs programs, the boxes of these."""
    if not isinstance(primitive, Nesting):
        return primitive
    if isinstance(primitive, Choose):
        programs = [(1, side, primitive.dom) for side in (primitive.f, primitive.g)]
    else:
        programs = [*primitive.programs()]
    inside = [boxes(ct.wire(term, dom), numbers) for _, term, dom in programs]
    return type(primitive), repr([times for times, _, _ in programs]), repr(inside)


def same_boxes(first: Any, second: Any) -> bool:
    numbers: dict[Any, int] = {}
    return boxes(first, numbers) == boxes(second, numbers)


def check_texts(p: Any) -> None:
    """Tracing the texts of a program gives the program."""
    text = repr(p)
    again = eval(text, {"ct": ct, **p.names})
    assert again == p and hash(again) == hash(p), text
    defined = traced_again(str(p), p)
    assert defined == p, str(p)
    tree = p.notes.result_tree
    assert tree is None or all(q.notes.result_tree.of_arrays() == tree.of_arrays() for q in (again, defined)), text
    assert p.title not in p.names
    assert len(p.lines) == len(p.children)


def check_record(p: Any) -> None:
    """A program is pickled by value, with the names of its variables."""
    again = pickle.loads(pickle.dumps(p))
    assert again == p and hash(again) == hash(p)
    assert (repr(again), str(again)) == (repr(p), str(p))


def check_point_free(p: Any) -> None:
    """The form without variables has the boxes of the program, and a text of its own."""
    f = p.point_free()
    assert not any(map(is_scope, ordered(f))), repr(f)
    assert same_boxes(ct.wire(p, p.dom), ct.wire(f, p.dom)), repr(f)
    assert eval(repr(f), {"ct": ct, **f.names}) == f, repr(f)


def check_pictures(p: Any) -> None:
    for text in (p.draw(), p.draw(open=True), p.point_free().draw()):
        assert ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"


def check_program(p: Any) -> None:
    """All of them."""
    check_texts(p)
    check_record(p)
    check_point_free(p)
    check_pictures(p)

"""The laws of texts, records and forms without variables, for any program."""

from __future__ import annotations

import pickle
from typing import Any
from xml.etree import ElementTree

import catad as ct
from catad.category.text import is_scope, ordered
from catad.category.trip_counts import as_first_met
from catad.testing.functions import same_boxes


def traced_again(text: str, p: Any) -> Any:
    """The program to which definitions trace."""
    scope = {"ct": ct, **p.names}
    exec(text, scope)
    return ct.function(scope[p.title]).at(p.dom)


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
    with as_first_met():
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

"""Each box of the package has a rule for arrays in chunks, or a reason why it runs on whole ones, and the page says which."""

import pytest

from catad.category.boxes import Primitive
from catad.chunks.rules.table import RULES, WHOLE, because, rule_of
from tests.chunks.table import ABSTRACT, BEGIN, END, PAGE, boxes, meaning, row, table, written


def is_abstract(cls: type[Primitive]) -> bool:
    """Whether boxes are of classes below a class alone: one that is no box by its fields, and has others below it."""
    return "__dataclass_fields__" not in vars(cls) and bool([one for one in cls.__subclasses__() if one in boxes()])


def test_there_are_many_boxes():
    assert len(boxes()) > 100 and {"Map", "Fold", "Svd", "Sweep", "Opaque"} <= {cls.__name__ for cls in boxes()}


def test_abstract_classes_are_listed():
    assert {cls.__name__ for cls in boxes() if is_abstract(cls)} == ABSTRACT


@pytest.mark.parametrize("cls", boxes(), ids=lambda cls: cls.__name__)
def test_each_box_has_a_rule_or_a_reason(cls):
    if cls.__name__ in ABSTRACT:
        return
    found = row(cls)
    assert found is not None, f"{cls.__name__} of {cls.__module__} has no rule and no reason in catad/chunks/rules/"
    assert meaning(cls) and found.cut and found.exchanged


def test_no_box_has_both():
    assert not RULES.keys() & WHOLE.keys()
    assert all(cls in boxes() or cls is Primitive for cls in (*RULES, *WHOLE)), "a rule of a class that is no box"


def test_a_class_without_a_rule_is_found():
    class New(Primitive):
        """A box that nobody has thought of."""

    assert row(New) is None and "chunks" in because(New()) and rule_of(New()) is RULES[Primitive].apply


def test_the_page_has_the_table():
    page = PAGE.read_text(encoding="utf-8")
    assert BEGIN in page and END in page
    assert written(page) == page, "write it again: python -m tests.chunks.table"
    assert table().count("\n") > 100

"""The picture of the rooms shows the imports as they are, and the house stays as simple as it shows."""

from __future__ import annotations

import sys

from catad.values.frozen_functions import written_by_user
from tests.docs.rooms import PICTURE, arrows, floors, picture, without_detours


def test_the_picture_is_drawn_from_the_imports() -> None:
    assert PICTURE.read_text(encoding="utf-8") == picture(), "draw it again: python -m tests.docs.rooms"


def test_rooms_and_arrows_are_few() -> None:
    needs = arrows()
    assert len(needs) <= 25 and sum(map(len, needs.values())) <= 6 * len(needs)


def test_a_detour_is_left_out_and_a_floor_lies_above_all_that_it_needs() -> None:
    """The reduction, on the rooms themselves: what it keeps reaches all that the arrows reach."""
    needs = arrows()
    kept, level = without_detours(needs), floors(needs)
    assert all(level[other] < level[name] for name, others in needs.items() for other in others)
    for name, others in needs.items():
        reached, waiting = set[str](), [*kept[name]]
        while waiting:
            one = waiting.pop()
            reached.add(one)
            waiting += kept[one]
        assert others <= reached and kept[name] <= others


def test_no_file_of_the_package_is_taken_for_one_of_the_user() -> None:
    """What a function reads of modules of the package is not frozen, wherever in the package these lie."""
    loaded = [vars(module) for name, module in [*sys.modules.items()] if name.partition(".")[0] == "catad"]
    assert len(loaded) > 50 and not any(written_by_user(scope) for scope in loaded)
    assert written_by_user(globals())

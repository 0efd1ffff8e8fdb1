"""What is deprecated works, and warns at the line of the user, with the category that fits the version."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from catad.support import deprecation, lazy_names
from catad.version import __version__

OFTEN: dict[str, Any] = {"since": "0.1", "removed_in": "99.0"}


@deprecation.deprecated("ct.twice", use="2 * x", **OFTEN)
def twice(x: float) -> float:
    """Two times x."""
    return 2 * x


@deprecation.renamed_argument("n", "count", **OFTEN)
def stars(size: int, count: int = 1) -> str:
    return size * count * "*"


def line() -> int:
    """The line of the caller."""
    return sys._getframe(1).f_lineno


def test_a_function_warns_at_the_line_of_the_call() -> None:
    with pytest.warns(DeprecationWarning, match=r"ct.twice is deprecated since catad 0.1, .* catad 99.0 .*: use 2 \* x") as seen:
        assert (twice(3.0), here := line())[0] == 6.0
    assert [(one.filename, one.lineno) for one in seen] == [(__file__, here)]
    assert twice.__name__ == "twice" and twice.__doc__ == "Two times x."


def test_a_renamed_argument_warns_where_the_old_name_is_used_alone() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert stars(2, 3) == stars(2, count=3) == "******"
    with pytest.warns(DeprecationWarning, match="the argument n of stars .* use count") as seen:
        assert (stars(2, n=3), here := line())[0] == "******"
    assert [(one.filename, one.lineno) for one in seen] == [(__file__, here)]
    with pytest.raises(TypeError, match="both 'count' and its former name 'n'"):
        stars(2, count=1, n=3)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A package with names that load at first use; one of them had another name."""
    monkeypatch.syspath_prepend(str(tmp_path))
    text = """
from typing import TYPE_CHECKING
from catad.support.deprecation import former_names
from catad.support.lazy_names import first_use
if TYPE_CHECKING:
    from math import hypot as distance
first_use(__name__, others=former_names(__name__, {"length": "distance"}, since="0.1", removed_in="99.0"))
"""
    (tmp_path / "package_of_old_names.py").write_text(text)
    import package_of_old_names  # type: ignore[import-not-found]

    yield package_of_old_names
    del sys.modules["package_of_old_names"]


def test_a_former_name_of_a_package_warns_at_each_use(package: ModuleType) -> None:
    assert isinstance(package, lazy_names.Package) and dir(package) == ["distance"]
    with pytest.warns(DeprecationWarning, match=r"package_of_old_names.length .* use package_of_old_names.distance") as seen:
        assert (package.length(3.0, 4.0), first := line())[0] == 5.0
        assert (package.length is package.distance, second := line())[0]
    assert [(one.filename, one.lineno) for one in seen] == [(__file__, first), (__file__, second)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert package.distance(3.0, 4.0) == 5.0
    with pytest.raises(AttributeError, match="has no attribute 'breadth'"):
        package.breadth  # noqa: B018


def test_an_import_of_a_former_name_warns_at_its_line(package: ModuleType) -> None:
    with pytest.warns(DeprecationWarning) as seen:
        from package_of_old_names import length  # type: ignore[import-not-found]
    here = test_an_import_of_a_former_name_warns_at_its_line.__code__.co_firstlineno + 2
    assert {(one.filename, one.lineno) for one in seen} == {(__file__, here)} and length(3.0, 4.0) == 5.0


def test_the_last_minor_version_warns_everybody() -> None:
    kinds = [deprecation.category("0.4", version) for version in ("0.2.7", "0.3.0", "0.4.0", "1.0.0")]
    assert kinds == [DeprecationWarning, FutureWarning, FutureWarning, FutureWarning]
    assert deprecation.category("2.0", "1.11.3") is DeprecationWarning and deprecation.category("1.10", "1.9.0") is FutureWarning


def test_nothing_is_left_that_this_version_should_not_have() -> None:
    """What was to be removed in this version, or before, is removed."""
    now = tuple(map(int, __version__.split(".")[:2]))
    for file in (Path(deprecation.__file__).parents[1]).rglob("*.py"):
        if file != Path(deprecation.__file__):
            for text in file.read_text(encoding="utf-8").split('removed_in="')[1:]:
                assert tuple(map(int, text.split('"')[0].split(".")[:2])) > now, f"{file} has what this version removes"

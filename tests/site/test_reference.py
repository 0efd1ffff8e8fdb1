"""The reference: every public name has one page, in one group, with its whole docstring, and a derivative that is right."""

from __future__ import annotations

import ast
import doctest
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catad as ct
from tests.docs.test_public_names import PUBLIC

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))
try:
    from _reference import aliases, groups, lacking, names, pages, results, structures, text
finally:
    sys.path.remove(str(ROOT / "docs"))

NAMES = names.public()
PATHS = [name.path for name in NAMES]
WITH_STRUCTURE = [name.path for name in NAMES if structures.example(name)]
STATED = {"Shape", "Shapes", "Space", "Spaces", "Dtype", "Dtypes", "Derivative", "Derivatives", "Errors", "Source", "Sources"}


def named(path: str) -> names.Name:
    return names.named()[path]


def test_the_names_are_the_public_ones() -> None:
    assert set(PUBLIC) <= set(PATHS) and len(PATHS) == len(set(PATHS))
    beside = {"catad.info", "catad.testing", "catad.torch.as_function", "catad.jax.as_function"}
    assert set(PATHS) - set(PUBLIC) == beside | {f"catad.simt.{name}" for name in ct.simt.__all__}


def test_every_name_is_in_one_group() -> None:
    counts = Counter(key for group in groups.GROUPS for key in group.names)
    assert {key for key, count in counts.items() if count > 1} == set()
    unlike = set(counts) ^ {path.removeprefix("catad.") for path in PATHS}
    assert unlike == set(), "a public name has one group in docs/_reference/groups.py"
    assert len({group.slug for group in groups.GROUPS}) == len(groups.GROUPS)


def test_pages_have_names_that_differ_in_more_than_capitals() -> None:
    files = [name.page.lower() for name in NAMES] + [f"group-{group.slug}" for group in groups.GROUPS]
    assert len(files) == len(set(files))
    assert named("catad.plan").page == "catad.plan" and named("catad.Plan").page == "catad.Plan-class"


def plain(page: str) -> Counter[str]:
    """The words of a page without its markup."""
    return Counter(re.findall(r"\w+", re.sub(r"\\(.)", r"\1", re.sub(r":(?:py:obj|doc):", "", page))))


@pytest.mark.parametrize("path", PATHS)
def test_a_page_has_the_whole_docstring(path: str) -> None:
    name = named(path)
    page, words = pages.page(name), Counter(re.findall(r"\w+", re.sub(r"# doctest: .*", "", name.text)))
    lost = words - plain(page)
    assert set(lost) <= STATED | {"of", "the", "parts", "example", "docs", "md"}, lost  # labels are titles of parts
    assert page.count("\n===") == 1 and f":: {path}" in page and "See also\n--------" in page
    for example in doctest.DocTestParser().get_examples(name.text):
        first = re.sub(r"\s*# doctest: .*", "", example.source.splitlines()[0])
        assert f"   >>> {first}" in page


def test_parts_of_a_text_are_told_apart() -> None:
    doc = text.parse(
        "The sum of a, as in C. of b.\n\nShapes: (n,) to (). Dtype: that of a. Its transpose stretches. It is linear. "
        "More text.\nRaises `SpaceError` for no array. Source: A. B. Author, 1999.\n\n- one\n  item\n- two\n\n>>> 1\n1"
    )
    assert doc.summary == "The sum of a, as in C. of b." and doc.examples == [">>> 1\n1"]
    assert [block.lines for block in doc.blocks] == [["More text."], ["- one", "  item", "- two"]]
    assert doc.parts == {
        "Shapes": "(n,) to ().",
        "Dtypes": "that of a.",
        "Derivative": "Its transpose stretches. It is linear.",
        "Errors": "Raises `SpaceError` for no array.",
        "Source": "A. B. Author, 1999.",
    }
    assert text.items(["- one", "  item", "- two"]) == ["one item", "two"]


def test_parts_that_a_text_leaves_to_another_name_are_quoted() -> None:
    assert text.left_to("Shapes, dtypes and errors as `ct.cumsum`.") == dict.fromkeys(("Shapes", "Dtypes", "Errors"), "cumsum")
    for path in PATHS:
        for part, other in text.left_to(named(path).text).items():
            said = pages.parts_of(named(f"catad.{other}"))
            both = part == "Dtypes" and "dtypes" in said.get("Shapes", "")  # in one sentence
            assert part in said or both, f"{path} leaves {part} to {other}, which says nothing of it"
    assert ":Shapes: :py:obj:`ct.cumsum <catad.cumsum>`: The shape stays" in pages.page(named("catad.cumprod"))


def test_markup_shows_text_as_it_stands() -> None:
    assert text.rst("a * b ** c_d | `x * y`s <z>") == "a \\* b \\*\\* c\\_d \\| ``x * y``\\ s \\<z\\>"
    assert text.rst("C. Elliott") == "\\ C. Elliott" and text.rst("- x") == "\\ - x" and text.rst("`f` x") == "``f`` x"
    assert text.rst("`f`, *a book*, docs/engine.md.", lambda code: "catad.f") == (
        ":py:obj:`f <catad.f>`\\ , \\ *a book*\\ , :doc:`/engine`\\ ."
    )


@pytest.mark.parametrize(
    ("code", "path"),
    [
        ("ct.scan", "catad.scan"),
        ("catad.linalg.svd", "catad.linalg.svd"),
        ("ct.sum()", "catad.sum"),
        ("ct.scan(ct.add, (0.0, 1.0))", "catad.scan"),
        ("ct.sum() >> ct.exp()", None),
        ("ct.nothing", None),
        ("scan", None),
        ("ct.sin >> ct.exp", None),
        ("ct.sum()(x)", None),
    ],
)
def test_code_that_names_one_thing_refers_to_it(code: str, path: str | None) -> None:
    assert pages.refers(code) == path


@pytest.mark.parametrize("path", PATHS)
def test_the_source_of_a_name_is_where_it_says(path: str) -> None:
    name = named(path)
    file, line = name.source
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    if name.kind is not names.Kind.MODULE:
        near = "\n".join(lines[line - 1 : line + 6]) if line else "\n".join(lines)  # decorators stand above
        assert re.search(rf"\b{name.last}\b", near), (file, line)


def test_types_in_signatures_are_explained() -> None:
    known = {name.last for name in NAMES} | {"Any", "None", "Callable", "Sequence", "Iterable", "Iterator", "Literal"}
    known |= {"True", "False", "UPLO"}
    used = {word for name in NAMES for word in re.findall(r"\b[A-Z]\w+", re.sub(r"'[^']*'", "", name.signature))}
    assert used - known - set(aliases.ALIASES) == set()
    assert set(aliases.ALIASES) <= used


def test_every_morphism_and_linear_map_has_its_structure() -> None:
    without = [path for path in PATHS if named(path).makes and path not in WITH_STRUCTURE]
    assert without == [], "a call that shows the derivative is missing in docs/_reference/structures.py"
    assert set(structures.TABLE) | set(structures.POINTS) <= {name.key for name in NAMES}
    assert len(WITH_STRUCTURE) > 200


def floats(value: Any) -> Iterator[np.ndarray]:
    """The floating arrays of a value, in its order."""
    if isinstance(value, (tuple, list)):
        for part in value:
            yield from floats(part)
    elif np.asarray(value).dtype.kind == "f":
        yield np.atleast_1d(np.asarray(value, np.float64)).ravel()


def flat(value: Any) -> np.ndarray:
    return np.concatenate([np.zeros(0), *floats(value)])


def moved(value: Any, by: Iterator[float]) -> Any:
    """A value whose floats are moved, in their order."""
    if isinstance(value, (tuple, list)):
        return tuple(moved(part, by) for part in value)
    array = np.asarray(value)
    if array.dtype.kind != "f":
        return value
    return (array.ravel() + [next(by) for _ in range(array.size)]).reshape(array.shape)


def differences(f: Any, point: tuple[Any, ...], only: int | None) -> np.ndarray:
    """The Jacobian by central differences, of all floats of the arguments or of one argument."""
    at = (point[only],) if only is not None else point
    size, step = flat(at).size, 1e-5

    def along(i: int, h: float) -> np.ndarray:
        there = moved(at, iter(np.where(np.arange(size) == i, h, 0.0)))
        args = (*point[:only], *there, *point[only + 1 :]) if only is not None else there
        return flat(f(*args))

    columns = [(along(i, step) - along(i, -step)) / (2.0 * step) for i in range(size)]
    return np.stack(columns, axis=1)


UNLIKE = {
    "stop_gradient": "its derivative is zero by definition",
    "implicit": "its value is the solution that is given, whatever the other arguments are",
    "astype": "its result has fewer digits than differences need",
    "linalg.cholesky": "by symmetric matrices alone",
    "linalg.eigh": "by symmetric matrices alone",
    "linalg.eigvalsh": "by symmetric matrices alone",
}
"""Names whose derivative is not that of differences of their numbers."""


@pytest.mark.parametrize("path", WITH_STRUCTURE)
def test_the_structure_that_is_shown_is_the_derivative(path: str) -> None:
    """Its numbers are those of central differences; an error is shown only where no result is floating."""
    example = structures.example(named(path))
    assert example is not None
    space = structures.namespace()
    shown = structures.shown(example)
    if not example.point:
        found = structures.value(example)
        assert isinstance(found, ct.LinearMap) and shown.text == repr(found) and "<svg" in shown.picture
        return
    f = eval(example.function, space)
    point = tuple(eval(arg, space) for arg in structures.arguments(example.point))
    if shown.text.startswith("Traceback"):
        assert "DerivativeError" in shown.text and flat(f(*point)).size == 0
        return
    found = structures.value(example)
    assert repr(found) == shown.text and "<svg" in shown.picture
    if named(path).key in UNLIKE:
        return
    only = ast.literal_eval(example.options.removeprefix("argnums=")) if example.options else None
    basis = np.eye(flat(point if only is None else point[only]).size)
    dense = np.stack([flat(found(*[filled(found.dom, iter(column))])) for column in basis], axis=1)
    np.testing.assert_allclose(dense, differences(f, point, only), rtol=1e-5, atol=2e-5)


def test_the_structure_of_a_given_solution_is_that_of_the_equation() -> None:
    example = structures.example(named("catad.implicit"))  # of x * x - a at x = 1, 2, 3
    assert example is not None
    np.testing.assert_allclose(structures.value(example).todense(), np.diag([1 / 2, 1 / 4, 1 / 6]))


def test_what_functions_give_has_its_members_on_their_pages() -> None:
    for key, found in results.RESULTS.items():
        page = pages.page(named(f"catad.{key}"))
        for given in found:
            last = given.path.rpartition(".")[2]
            assert f".. py:class:: {last}\n" in page
            assert all(re.search(rf"py:(method|property):: {last}\.{member}\b", page) for member in given.members)


def test_nothing_is_lacking() -> None:
    assert {name.path: found for name in NAMES if (found := lacking.lacking(name))} == {}
    assert list(lacking.members_without_text()) == []


def filled(space: Any, numbers: Iterator[float]) -> Any:
    """A value of a space with these numbers, in its order."""
    if isinstance(space, ct.Product):
        return tuple(filled(factor, numbers) for factor in space.factors)
    return np.array([next(numbers) for _ in range(space.size)]).reshape(space.shape)


def test_examples_of_structures_are_short() -> None:
    for path in WITH_STRUCTURE:
        example = structures.example(named(path))
        assert example is not None and all(len(line) <= 110 for line in example.lines), path


CONF = """
import sys
sys.path[:0] = [{docs!r}, {root!r}]
extensions = ["myst_parser"]
nitpicky = True
def setup(app):
    from _reference.links import add_links, link_alias, outside
    app.connect("doctree-read", add_links)
    app.connect("missing-reference", link_alias)
    app.connect("warn-missing-reference", outside)
"""


def test_pages_are_indexed_and_linked_by_sphinx(tmp_path: Path) -> None:
    """A site of a few pages has no warnings; its inventory has their names, and code in a guide is a link."""
    pytest.importorskip("sphinx", reason="pip install '.[docs]': no site is built")
    pytest.importorskip("myst_parser", reason="pip install '.[docs]': no site is built")
    folder = tmp_path / "_generated" / "reference"
    folder.mkdir(parents=True)
    chosen = ["catad.scan", "catad.cumsum", "catad.SpaceError", "catad.LinearMap", "catad.dup", "catad.fft.fft"]
    for path in chosen:
        see_also = pages.page(named(path)).partition("See also\n---")[0]  # which links to pages that are not here
        (folder / f"{path}.rst").write_text(see_also, encoding="utf-8")
    others = "\n".join(f".. py:data:: {path}\n" for path in PATHS if path not in (*chosen, "catad.linear.LinearMap"))
    (folder / "others.rst").write_text(f"Others\n======\n\n{others}", encoding="utf-8")
    (folder / "index.rst").write_text("Reference\n=========\n\nTypes in signatures\n-------------------\n", encoding="utf-8")
    (tmp_path / "conf.py").write_text(CONF.format(docs=str(ROOT / "docs"), root=str(ROOT)), encoding="utf-8")
    toctree = "```{toctree}\n:glob:\n_generated/reference/*\n```"
    guide = f"# A guide\n\n`ct.scan`, `ct.scan(ct.add, 0.0)`, `SpaceError`, `ct.nothing`\n\n{toctree}\n"
    (tmp_path / "index.md").write_text(guide, encoding="utf-8")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", str(tmp_path), str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    guide = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    for path, code in (("catad.scan", "ct.scan"), ("catad.scan", "ct.scan(ct.add,"), ("catad.SpaceError", "SpaceError")):
        href = re.escape(f'href="_generated/reference/{path}.html#{path}"')
        assert re.search(rf"<a [^>]*{href}[^>]*>.*?{re.escape(code.split('(')[0])}", guide), code
    assert "nothing</span></code></a>" not in guide
    scan = (tmp_path / "out" / "_generated" / "reference" / "catad.scan.html").read_text(encoding="utf-8")
    assert 'href="catad.LinearMap.html#catad.LinearMap"' not in scan and "index.html#types-in-signatures" in scan
    dup = (tmp_path / "out" / "_generated" / "reference" / "catad.dup.html").read_text(encoding="utf-8")
    assert "<p>C. Elliott, The Simple Essence" in dup  # no list that begins with the letter C
    assert inventory(tmp_path / "out" / "objects.inv") >= {*chosen, "catad.LinearMap.solve"}


def inventory(file: Path) -> set[str]:
    from sphinx.util.inventory import InventoryFile

    with file.open("rb") as stream:
        loaded = InventoryFile.load(stream, "", lambda base, path: path)
    return {name for kind, found in loaded.items() if kind.startswith("py:") for name in found}

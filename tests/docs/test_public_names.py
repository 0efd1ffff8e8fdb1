"""Help: every public name has a text of its own that `help` shows, which is true where it can be checked."""

from __future__ import annotations

import doctest
import inspect
import pydoc
import re
from typing import Any

import numpy as np
import pytest

import catad as ct
import catad.testing
from catad.vector.pointwise.operators import WORDS

UFUNCS = {name: getattr(ct, name) for name in WORDS}
SPACES = (ct, ct.fft, ct.linalg, ct.linear, ct.primitive, ct.engine, ct.testing, ct.info)
PUBLIC = {f"{space.__name__}.{name}": getattr(space, name) for space in SPACES for name in space.__all__}
VALUES = {name: v for name, v in PUBLIC.items() if not (inspect.isroutine(v) or inspect.isclass(v) or inspect.ismodule(v))}
FUNCTIONS = [name for name, thing in PUBLIC.items() if inspect.isfunction(thing)]
DTYPES = (np.float32, np.float64, np.int8, np.int64, np.uint32, np.bool_)

UNCHECKED = {  # a class to decorate or a sequence: Python says what is wrong with another thing
    "catad.linear.block",
    *("catad.linear.family", "catad.primitive.box", "catad.primitive.rule_from"),
    *("catad.testing.check_monoid", "catad.testing.spaces"),
}


def run(name: str, text: str) -> int:
    """Run the examples of a text as a user would who has read no more than it; how many there are."""
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    runner.run(test, out=said.append)
    assert not runner.failures, "".join(said)
    return len(test.examples)


def sentence(text: str, head: str) -> str:
    """What a text says under a head, e.g. `Dtype:`."""
    found = re.search(rf"^{head}: (.*?)\.$(?=\n\S|\n\n)", text, re.M | re.S)
    assert found is not None, f"no {head}: in {text}"
    return " ".join(found[1].split())


def result_dtype(f: Any, arity: int, *dtypes: Any) -> np.dtype[Any] | str:
    leaves = [ct.Tensor((2,), dtypes[i % len(dtypes)]) for i in range(arity)]
    try:
        space = f.spaces(leaves[0] if arity == 1 else ct.product(*leaves))
    except ct.CatadError as error:
        return type(error).__name__
    assert isinstance(space, ct.Tensor) and space.shape == (2,)
    return space.dtype


@pytest.mark.parametrize("name", UFUNCS)
def test_the_dtype_that_the_help_of_a_ufunc_states_is_the_one_it_has(name: str) -> None:
    f, arity = UFUNCS[name], WORDS[name].function.arity
    said, errors = sentence(f.__doc__, "Dtype"), sentence(f.__doc__, "Errors")
    for dtype in map(np.dtype, DTYPES):
        got = result_dtype(f, arity, dtype)
        if isinstance(got, str):
            assert f"`{got}`" in errors
        elif said == "bool":
            assert got == np.bool_
        elif dtype.kind == "f":
            assert got == dtype
        elif "float64" in said:
            assert got == np.float64
        else:
            assert got == (np.int64 if dtype == np.bool_ and "booleans" in said else dtype)
    if arity == 2 and said != "bool" and name != "ldexp":
        assert result_dtype(f, 2, np.float32, np.float64) == np.float64
        assert result_dtype(f, 2, np.float32, np.int64) == np.float64


@pytest.mark.parametrize("name", UFUNCS)
def test_the_help_of_a_ufunc_names_it_and_its_errors(name: str) -> None:
    f, arity = UFUNCS[name], WORDS[name].function.arity
    text = inspect.getdoc(f)
    assert text is not None and f"`ct.{name}" in text.split("\n\n")[0]
    assert sentence(text, "Shape") and sentence(text, "Derivative")
    x = np.ones(2)
    for wrong in [("no array",) * arity, *([(x,) * (arity + 1), (x, np.ones(3), x)[:arity]] if arity > 1 else [])]:
        with pytest.raises(ct.CatadError) as caught:
            f(*wrong)
        assert f"`{type(caught.value).__name__}`" in sentence(text, "Errors")


def test_two_names_of_one_function_are_one_morphism() -> None:
    seen: dict[Any, str] = {}
    for name, f in UFUNCS.items():
        assert f is UFUNCS[seen.setdefault(f, name)], f"ct.{name} and ct.{seen[f]} are equal, but two"


def test_help_on_a_value_shows_its_own_text() -> None:
    shown = pydoc.plain(pydoc.render_doc(ct.sin))
    assert "ct.sin" in shown and "is the sine of each entry" in shown and "Compose" not in shown


def text_of(name: str) -> str:
    return inspect.getdoc(PUBLIC[name]) or ""


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_has_examples_that_run_as_they_stand(name: str) -> None:
    assert run(name, text_of(name)) >= 2


def test_a_morphism_without_options_is_a_value_and_one_with_options_has_a_constructor() -> None:
    """The rule of the README: no constructor is without parameters; one that is misused says what to write."""
    made = [name for name in FUNCTIONS if inspect.signature(PUBLIC[name]).return_annotation == "D"]
    assert len(made) > 40 and all(inspect.signature(PUBLIC[name]).parameters for name in made)
    with pytest.raises(ct.CatadError, match=r"write ct.sum\(\)\(x\)"):
        ct.sum(np.ones(2))  # type: ignore[arg-type]
    with pytest.raises(ct.CatadError, match=r"call it: ct.sum\(\)"):
        ct.exp >> ct.sum  # type: ignore[operator]


def test_every_public_name_has_a_text_of_its_own() -> None:
    seen: dict[str, Any] = {}
    for name, thing in PUBLIC.items():
        text = text_of(name)
        assert text and seen.setdefault(text, thing) is thing, f"{name} has the text of {seen[text]}"
        if inspect.isclass(thing):
            assert "__doc__" in vars(thing) and not text.startswith(f"{thing.__name__}("), f"{name} has no text of its own"
        elif name in VALUES:
            assert text != inspect.getdoc(type(thing)), f"{name} has the text of its class"


@pytest.mark.parametrize("name", VALUES)
def test_the_text_of_a_value_names_it_and_help_shows_it(name: str) -> None:
    text, short = text_of(name), name.replace("catad", "ct", 1)
    assert f"`{short}" in text.split("\n\n")[0]
    shown = " ".join(pydoc.plain(pydoc.render_doc(PUBLIC[name])).split())
    assert " ".join(text.split()) in shown


@pytest.mark.parametrize("name", [name for name, v in VALUES.items() if isinstance(v, ct.D)])
def test_the_text_of_a_morphism_states_its_derivative_and_errors(name: str) -> None:
    text = text_of(name)
    assert sentence(text, "Derivative") and re.search(r"^(Shapes?|Spaces): ", text, re.M)
    said = sentence(text, "Errors")
    for wrong in ("no value", np.ones((2, 3)), (np.ones(2), np.ones(3)), (1.0, np.array([9]), 1.0, 1.0), np.ma.ones(2)):
        try:
            PUBLIC[name](wrong)
        except ct.CatadError as error:
            known = [cls.__name__ for cls in type(error).__mro__]
            assert any(f"`{cls}`" in said for cls in known), (wrong, error)


def named_errors(name: str) -> set[str]:
    """The errors in the text of a function, and in those of functions to which it refers for more."""
    found: set[str] = set()
    names, seen = [name], {""}
    while names:
        name = names.pop()
        if name in seen:
            continue
        seen.add(name)
        text = text_of(name)
        found |= set(re.findall(r"`(\w*Error)`", text))
        names += [f"catad.{other}" for other in re.findall(r"[Ee]rrors (?:of the operator )?(?:as|of) `(?:ct\.)?([\w.]+)`", text)]
    return found


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_text_of_a_function_states_shapes_and_dtypes(name: str) -> None:
    result = str(inspect.signature(PUBLIC[name]).return_annotation)
    if result in ("D", "LinearMap") or "Value" in result:
        text = text_of(name).split(">>>")[0]
        assert re.search(r"[Ss]hape|[Ss]pace|\(n,", text), "nothing on shapes"
        assert re.search(r"dtype|[Ss]pace|floating|int64", text), "nothing on dtypes"


class Odd:
    """What no function takes."""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_text_of_a_function_names_the_error_of_a_wrong_argument(name: str) -> None:
    parameters = [p for p in inspect.signature(PUBLIC[name]).parameters.values() if p.kind is not p.KEYWORD_ONLY]
    needed = [p for p in parameters if p.default is p.empty]
    for count in {len(needed), len(parameters)}:
        try:
            PUBLIC[name](*[Odd()] * count)
        except ct.CatadError as error:
            known = {cls.__name__ for cls in type(error).__mro__}
            assert known & named_errors(name), f"the text does not name {type(error).__name__}: {error.message}"
        except (TypeError, AttributeError):
            assert name in UNCHECKED, "a wrong argument surfaces as a Python error"


@pytest.mark.parametrize("space", SPACES, ids=lambda space: space.__name__)
def test_dir_shows_the_public_names_alone(space: Any) -> None:
    beside = {"info", "testing", "__version__"} if space is ct else set()
    assert set(dir(space)) == {*space.__all__, *beside}
    assert len(space.__all__) == len(set(space.__all__))
    for name in dir(space):
        assert getattr(space, name) is not None

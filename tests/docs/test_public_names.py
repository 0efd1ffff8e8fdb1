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
from catad.vector.pointwise import WORDS

UFUNCS = {name: getattr(ct, name) for name in WORDS}
DTYPES = (np.float32, np.float64, np.int8, np.int64, np.uint32, np.bool_)


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


@pytest.mark.parametrize("name", UFUNCS)
def test_the_examples_run(name: str) -> None:
    assert run(name, inspect.getdoc(UFUNCS[name]) or "") >= 2

"""`repr` is Python: evaluating it gives the term or the box again, for every public morphism and every box that they lay out."""

from __future__ import annotations

import math
import pickle
import sys
import types
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import catad as ct

sys.path.insert(0, str(Path(__file__).parents[1] / "laws"))
from law_cases import CASES, Case

RATE = 0.25


def halved(x: float) -> float:
    return x / 2.0


def rebuilt(x: ct.D) -> ct.D:
    """The term that the text makes, with names for what goes by one."""
    return eval(repr(x), {"ct": ct, "np": np, **x.names})


def boxes(case: Case) -> Iterator[ct.D]:
    """The term, its derivatives, and the boxes of their wirings."""
    f = case.make()
    dom = ct.space_of(case.point(np.random.default_rng(zlib.crc32(case.name.encode())), "float64", False))
    yield f
    if "opaque" in case.name:  # its spaces are not known without data
        return
    tangent, to = ct.tangent(f), dom * ct.tangent_space(dom)
    laid = [(f, dom), (tangent, to), (ct.reverse_differential(f), dom * ct.tangent_space(f.spaces(dom)))]
    if case.order > 1:
        laid.append((ct.reverse_differential(tangent), to * ct.tangent_space(tangent.spaces(to))))
    for term, space in laid:
        yield term
        yield from [box.primitive for box in ct.wire(term, space).boxes]


def test_terms_and_boxes_are_what_their_text_makes() -> None:
    seen: set[ct.D] = set()
    kinds: set[str] = set()
    by_name: set[str] = set()
    for case in CASES:
        for x in boxes(case):
            if x in seen:
                continue
            seen.add(x)
            assert rebuilt(x) == x, f"{case}: {x!r}"
            kinds.add(getattr(x, "make", type(x)).__name__)  # the constructor, where a term says which
            by_name |= {type(v).__name__ for v in x.names.values() if not isinstance(v, types.ModuleType)}
    assert len(kinds) > 60, "the table lays out all kinds of boxes"
    assert by_name <= {"function", "Function", "LinearMap"}  # all else is text


def test_defaults_are_not_printed() -> None:
    for text in (
        "ct.sum()", "ct.sum(axis=0)", "ct.sum(axis=-1, keepdims=True)", "ct.flip()", "ct.transpose()", "ct.sort()",
        "ct.argsort(axis=1)", "ct.slice(stop=3)", "ct.pad(1, 2)", "ct.pad(1, 2, value=-0.0)", "ct.concatenate()",
        "ct.stack(axis=-1)", "ct.grad(ct.sum())", "ct.grad(ct.mul, argnums=1)", "ct.fold(ct.mul, 1.0, axis=1)",
        "ct.scan(ct.mul, 1.0, reverse=True)", "ct.histogram(ct.mul, 1.0, bins=3)", "ct.iterate(ct.sin, 3)",
        "ct.iterate(ct.sin, 3, memory=2)", "ct.while_loop(ct.const(True), ct.sin)", "ct.stencil(ct.mul, (0, 1))",
        "ct.segmented_scan(ct.mul, 1.0, by='lengths')", "ct.segmented_fold(ct.mul, 1.0, segments=3)",
        "ct.reshape((3, -1))", "ct.const(2.0)", "ct.checkpoint(ct.sin)", "ct.segmented_fold(ct.mul, 1.0, by='lengths')",
        "ct.scan(ct.maximum, -np.inf)", "ct.fold(ct.monoid(ct.mul, 1.0, inverse=ct.div))", "ct.const(np.array([1.0, np.nan]))",
    ):  # fmt: skip
        assert repr(eval(text, {"ct": ct, "np": np})) == text


def test_a_lambda_prints_as_its_text_with_the_numbers_around_it() -> None:
    rate = -2.5
    third = lambda x: x / 3.0  # noqa: E731
    written = {
        ct.map(lambda a, b: a + b): "ct.map(lambda a, b: a + b)",
        ct.map(lambda x: x**rate if x > 1 else RATE): "ct.map(lambda x: x ** (-2.5) if x > 1 else 0.25)",
        ct.map(lambda x: math.sin(x) * 2): "ct.map(lambda x: math.sin(x) * 2)",
        ct.map(lambda x: halved(third(x))): "ct.map(lambda x: halved(third(x)))",
        ct.map(lambda x, k=3: x * k + rate): "ct.map(lambda x, k=3: x * k + -2.5)",
        ct.fold(lambda f, g: (f[0] * g[0], f[1] * g[0] + g[1]), (1.0, 0.0)):
            "ct.fold(lambda f, g: (f[0] * g[0], f[1] * g[0] + g[1]), (1.0, 0.0))",
        ct.map(halved): "ct.map(halved)",
        ct.map(lambda x: np.sin(x)): "ct.sin",
    }  # fmt: skip
    for f, text in written.items():
        assert repr(f) == text and rebuilt(f) == f and pickle.loads(pickle.dumps(f)) == f
    assert ct.map(lambda a, b: a + b) != ct.add  # which also adds products leaf by leaf
    assert rebuilt(ct.add) == ct.add


def test_a_lambda_may_name_the_package() -> None:
    f = ct.map(lambda x: ct.hypot(x, 1.0) + 2.0)
    assert repr(f) == "ct.map(lambda x: ct.hypot(x, 1.0) + 2.0)" and eval(repr(f), {"ct": ct}) == f


def test_what_has_no_short_text_goes_by_a_name() -> None:
    large = ct.const(np.arange(100.0))
    assert repr(large) == "ct.const(value)" and list(large.names) == ["value"] and rebuilt(large) == large
    longer = ct.map(eval(f"lambda x: {' + '.join(['x * 1.5'] * 100)}"))
    assert repr(longer) == "ct.map(fn)" and rebuilt(longer) == longer
    by_hand = ct.D(lambda x: (x * x, ct.scale(2 * x)))  # known by its code, not by what it computes
    assert repr(by_hand) == "ct.D(fn)" and rebuilt(by_hand) == by_hand
    assert "Gathered" not in dir(ct.primitive) and not hasattr(ct.primitive, "NoSuchBox")

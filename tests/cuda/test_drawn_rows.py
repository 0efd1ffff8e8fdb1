"""Programs that are drawn, of folds along axes and of what is made of them: groups of stages in kernels beside the array code."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.category.spaces import flatten

from .support import emulated

SIZES, LONG = [1, 2, 3, 5, 8, 17, 33], [1, 3, 7, 32, 33, 64, 100, 257, 300]
LINES = [
    "np.exp(0.3 * {a}) / (1.0 + np.abs({b}))",
    "{a} - np.mean({b}, axis={k}, keepdims=True)",
    "{a} / (1.0 + np.sum({b} * {b}, axis={k}, keepdims=True))",
    "np.tanh({a}) * np.sum(np.exp(0.1 * {b}), axis={k}, keepdims=True)",
    "np.roll({a}, 1, axis={k}) - {b}",
    "np.flip({a}, axis={k}) * 0.5 + {b}",
    "np.sin({a}) * v",
    "np.where({a} > 0.1, {b}, 0.5 * {a})",
    "{a} - 0.1 * np.max({b}, axis={k}, keepdims=True)",
    "np.sin({a} * np.arange({n}).reshape({column})) + {b}",
    "np.take({a}, P{k}, axis={k}) + 0.2 * {b}",
    "np.sqrt(1.0 + {a} ** 2) * np.prod(1.0 + 0.01 * np.tanh({b}), axis={k}, keepdims=True)",
]


def program(rng: np.random.Generator, shape: tuple[int, ...]) -> str:
    """The text of a function `f(x, v)` of an array and of what its last axis has."""
    lines, names = ["def f(x, v):"], ["x"]
    for n in range(int(rng.integers(2, 7))):
        k = int(rng.integers(len(shape)))
        a, b = (names[int(rng.integers(len(names)))] for _ in range(2))
        column = tuple([size if j == k else 1 for j, size in enumerate(shape)])
        line = LINES[int(rng.integers(len(LINES)))].format(a=a, b=b, k=k, n=shape[k], column=column)
        lines.append(f"    y{n} = {line}")
        names.append(f"y{n}")
    results = [names[-1], *[name for name in names[1:-1] if rng.random() < 0.25]]
    return "\n".join([*lines, f"    return {', '.join(results)}"])


def drawn(seed: int) -> tuple[Any, Any, Any]:
    """A function of NumPy and its arguments, which may lie oddly."""
    rng = np.random.default_rng(seed)
    axes = int(rng.choice([2, 2, 2, 3, 3, 4]))
    shape = tuple([int(rng.choice(SIZES)) for _ in range(axes - 1)] + [int(rng.choice(LONG))])
    while np.prod(shape) > 6000:
        shape = (*[max(n // 2, 1) for n in shape[:-1]], shape[-1])
    if rng.random() < 0.3:
        shape = tuple([shape[k] for k in rng.permutation(axes)])
    text, name = program(rng, shape), f"<drawn rows {seed}>"
    linecache.cache[name] = (len(text), None, [line + "\n" for line in text.split("\n")], name)
    given: dict[str, Any] = {"np": np} | {f"P{k}": rng.integers(0, n, n) for k, n in enumerate(shape)}
    exec(compile(text, name, "exec"), given)
    dtype = rng.choice([np.float64, np.float32])
    x, v = rng.normal(size=shape).astype(dtype), rng.normal(size=shape[-1]).astype(dtype)
    lies = [lambda: x, lambda: np.asfortranarray(x), lambda: np.repeat(x, 2, axis=-1)[..., ::2], lambda: x[::-1].copy()[::-1]]
    return given["f"], lies[int(rng.integers(4))](), v


@pytest.mark.filterwarnings("ignore::catad.CatadNotice")
@pytest.mark.quick(5)
@pytest.mark.parametrize("seed", range(200))
def test_values_and_cotangents(seed: int) -> None:
    fn, x, v = drawn(seed)
    f = ct.function(fn)

    def everything(engine: str) -> list[Any]:
        with ct.use_engine(engine), np.errstate(all="ignore"):
            value, pullback = ct.vjp(f, x, v)
            bars = [np.cos(np.arange(y.size)).reshape(y.shape).astype(y.dtype) for y in flatten(value)]
            back = pullback(tuple(bars) if isinstance(value, tuple) else bars[0])
        return [np.asarray(leaf) for leaf in (*flatten(value), *flatten(back))]

    want = everything("reference")
    emulated(seed, most=1 + seed % 4)
    got, near = everything("emulated gpu"), 4096.0 * np.finfo(x.dtype).eps  # of single precision are doubles made, too
    for a, b in zip(got, want, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=0.0, atol=near * max(1.0, np.max(np.abs(b))), err_msg=str(seed))
    plain = fn(x, v)
    for a, b in zip(got, plain if isinstance(plain, tuple) else (plain,), strict=False):
        np.testing.assert_allclose(a, b, rtol=0.0, atol=near * max(1.0, np.max(np.abs(b))), err_msg=str(seed))


def test_groups_are_among_them() -> None:
    found = 0
    for seed in range(12):
        fn, x, v = drawn(seed)
        made = emulated(seed)
        with ct.use_engine("emulated gpu"):
            ct.function(fn)(x, v)
        found += any(code.printer.__name__ == "RowsKernel" for code in made.device.launched)
    assert found >= 4

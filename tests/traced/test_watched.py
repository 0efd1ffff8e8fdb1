"""Large arrays that a function reads from outside are looked at quickly at each call; whatever changes in them is noticed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.engine.cpu.run import unchanged_arrays as looks
from catad.traced import mutation_checks
from catad.traced.captured import Captured

RNG = np.random.default_rng(0)
needs_tags = pytest.mark.skipif(not looks.can_tag(), reason="this processor has no such instructions")


MANY, FEW = 20_001, 1_062  # numbers of an array: four have more than `watched.LARGE` bytes in all, or less


def weights(size: int = MANY) -> dict[str, Any]:
    """Containers within each other."""
    made = [RNG.standard_normal(size) for _ in range(4)]
    return {"pair": (made[0], made[1]), "list": [made[2], 3.0, "name"], "alone": made[3].reshape(59, -1)}


def bits_of(array: Any) -> Any:
    return array.reshape(-1).view(np.uint8)


def flip(place: int) -> Callable[[dict[str, Any]], None]:
    def change(w: dict[str, Any]) -> None:
        bits = bits_of(w["pair"][1])
        bits[place % len(bits)] ^= 1

    return change


def in_dict(w: dict[str, Any]) -> None:
    w["alone"] = w["alone"] + 1.0


def in_list(w: dict[str, Any]) -> None:
    w["list"][0] = w["list"][0] * 2.0


def a_number(w: dict[str, Any]) -> None:
    w["list"][1] = 4.0


def longer(w: dict[str, Any]) -> None:
    w["list"].append(1.0)


def another_key(w: dict[str, Any]) -> None:
    w["other"] = w.pop("alone")


def shape(w: dict[str, Any]) -> None:
    w["alone"].shape = (3, 59, -1)


def flat(w: dict[str, Any]) -> None:
    w["alone"].shape = (-1,)


def dtype(w: dict[str, Any]) -> None:
    w["alone"].dtype = np.int64


def narrow(w: dict[str, Any]) -> None:
    w["alone"].dtype = np.float32


def zeros(w: dict[str, Any]) -> None:
    w["pair"][0][100:200] = 0.0


def swapped(w: dict[str, Any]) -> None:
    a = w["pair"][0]
    a[:512], a[512:1024] = a[512:1024].copy(), a[:512].copy()  # two blocks with one tag each


def turned(w: dict[str, Any]) -> None:
    a = w["list"][0]
    a[0], a[1] = a[1], a[0]


CHANGES = {
    "first bit": flip(0), "last bit": flip(-1), "a bit": flip(70_001), "at the edge of a block": flip(4096), "in a dict": in_dict,
    "in a list": in_list, "flat": flat, "narrow": narrow, "a number": a_number, "a longer list": longer,
    "another key": another_key, "shape": shape, "dtype": dtype, "zeros": zeros, "blocks swapped": swapped,
    "words swapped": turned,
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:Setting the:DeprecationWarning")
@pytest.mark.parametrize("looks", [2, mutation_checks.OFTEN + 5])
@pytest.mark.parametrize("size", [MANY, FEW])
@pytest.mark.parametrize("name", CHANGES)
def test_every_change_is_noticed(name: str, size: int, looks: int) -> None:
    w = weights(size)

    def f(x: Any) -> Any:
        return w["pair"][0][:3] * x

    found = Captured()
    found.add(f, [f])
    assert all(found.is_same for _ in range(looks))
    CHANGES[name](w)
    assert not found.is_same and not found.is_same
    assert found.changed == "w"


@pytest.mark.parametrize("looks", [2, mutation_checks.OFTEN + 5])
@pytest.mark.parametrize("size", [MANY, FEW])
def test_a_change_that_is_taken_back_is_none(size: int, looks: int) -> None:
    w = weights(size)

    def f(x: Any) -> Any:
        return w["pair"][0][:3] * x

    found = Captured()
    found.add(f, [f])
    assert all(found.is_same for _ in range(looks))
    before = w["pair"][0].copy()
    w["pair"][0][7] = np.nan
    assert not found.is_same
    w["pair"][0][:] = before
    assert found.is_same
    w["list"][0] = w["list"][0].copy()  # another array with the same numbers
    assert found.is_same and found.changed is None and found.is_same
    w["list"][0][5] += 1.0
    assert not found.is_same


def test_a_name_that_gets_another_value_with_the_same_numbers() -> None:
    w = [RNG.standard_normal(50_000)]

    def f(x: Any) -> Any:
        return w[0][:3] * x

    found = Captured()
    found.add(f, [f])
    assert all(found.is_same for _ in range(mutation_checks.OFTEN + 5))
    w = [w[0].copy()]
    assert not found.is_same and found.changed is None and found.is_same  # equal: noted
    w[0][1] = 0.5
    assert not found.is_same


@pytest.mark.parametrize("looks", [2, mutation_checks.OFTEN + 5])
def test_calls_raise_where_weights_changed(looks: int) -> None:
    w = [RNG.standard_normal((200, 200)) for _ in range(2)]
    x = RNG.standard_normal(200)
    jacobian = ct.jacobian(ct.function(lambda x: (w[1] @ np.tanh(w[0] @ x))[:3]), result="array")
    for _ in range(looks):
        found = jacobian(x)
    np.testing.assert_allclose(found, (w[1] * (1 - np.tanh(w[0] @ x) ** 2) @ w[0])[:3], rtol=1e-10)
    w[1][150, 150] = -w[1][150, 150]
    with pytest.raises(ct.TraceError, match="w"):
        jacobian(x)


@needs_tags
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8, np.bool_])
@pytest.mark.parametrize("size", [0, 1, 1023, 4096, 4097, 30_000])
def test_tags_are_those_of_the_bits(size: int, dtype: Any) -> None:
    array = RNG.integers(0, 2, size).astype(dtype)
    found = looks.Looks([array, array[1:]], [array.copy(), array[1:].copy()], tagged=True)
    assert found.same()
    bits = bits_of(array)
    for place in RNG.integers(0, max(1, bits.size), 50 if size else 0):
        bits[place] ^= 1
        assert not found.same()
        bits[place] ^= 1
    assert found.same()


def words_that_are_missed() -> list[int]:
    """The words of two blocks whose change leaves the tags as they are."""
    array = RNG.integers(0, 1 << 62, 1024)
    found, missed = looks.Looks([array], [array.copy()], tagged=True), []
    for place in range(array.size):
        array[place] ^= 1 << (place % 62)
        if found.same():
            missed.append(place)
        array[place] ^= 1 << (place % 62)
    assert found.same()
    return missed


@needs_tags
def test_a_tag_that_leaves_words_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: the sum of a block leaves out one product of sixteen."""
    assert words_that_are_missed() == []
    product = re.compile(r"(%\w+) = call <8 x i64> @llvm\.x86\.pclmulqdq")
    names = ["apart", "fill", "differ"]
    plain = looks._text(names)
    for last in [found[1] for found in product.finditer(plain)][15::16]:
        plain = re.sub(rf"(xor <8 x i64> %\w+), {last}\n", r"\1, zeroinitializer\n", plain)
    monkeypatch.setattr(looks, "_text", lambda names: plain)
    looks._functions.cache_clear()
    try:
        assert words_that_are_missed() == [place for place in range(1024) if place % 128 >= 120]
    finally:
        looks._functions.cache_clear()

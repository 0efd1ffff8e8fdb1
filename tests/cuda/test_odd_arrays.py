"""Arrays on a fake CuPy that lie oddly, are empty, or too large for 32 bits; arrays of two places; scarce memory."""

from __future__ import annotations

import gc
import re
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.category.spaces import flatten
from catad.engine import cache_keys
from catad.engine.cuda import kernel
from catad.engine.cuda.device import GPU
from catad.errors import notices

from ..fake_cupy import FakeArray, fake

pytestmark = pytest.mark.filterwarnings("ignore::catad.CatadNotice")
RNG = np.random.default_rng(6)
X = RNG.uniform(0.5, 1.5, (7, 33, 4))


@pytest.fixture(autouse=True)
def _cupy(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setitem(sys.modules, "cupy", fake)
    fake.reset(3)
    notices.forget()
    yield
    GPU._looks.clear()
    fake.reset()
    notices.forget()


def there(x: Any) -> Any:
    """The arrays as they lie."""
    return tuple(map(there, x)) if isinstance(x, tuple) else FakeArray(np.asarray(x))


def affine(a: Any, b: Any) -> Any:
    return a * b + 0.5 * (a - b) * 0.0


PROGRAMS: dict[str, ct.D] = {
    "a map": ct.map(lambda x: np.sin(x) * x + 1.0),
    "a sum": ct.square >> ct.sum(),
    "sums of an axis": ct.exp >> ct.sum(axis=-1),
    "a maximum": ct.max(axis=0),
    "a scan": ct.scan(lambda a, b: a * b, 1.0),
    "a scan backwards": ct.sin >> ct.scan(lambda a, b: a + b, 0.0, reverse=True),
    "a sort": ct.sort(axis=0),
    "positions": ct.argmax(axis=0),
    "a stencil": ct.stencil(lambda a, b: a * b, (0, 1), boundary="wrap"),
    "a flip": ct.flip() >> ct.fork(ct.id, ct.exp) >> ct.mul,
}
FLAT: dict[str, ct.D] = {
    "a histogram": ct.fork(ct.map(lambda x: x * 3.0) >> ct.astype(np.int64), ct.id) >> ct.histogram(ct.add, 0.0, 5),
    "of any operator": ct.fork(ct.astype(np.int64), ct.id) >> ct.histogram(lambda a, b: a + b + a * b, 0.0, 2),
    "a gather": ct.fork(ct.id, ct.astype(np.int32)) >> ct.gather,
}
LIE: dict[str, Callable[[Any], Any]] = {
    "backwards": lambda a: a[::-1],
    "backwards along all axes": lambda a: a[::-1, ::-1, ::-1] if a.ndim == 3 else a[::-1],
    "with steps": lambda a: a[1::2],
    "transposed": lambda a: a.T,
    "repeated": lambda a: np.broadcast_to(a[:1], a.shape),
    "unaligned": lambda a: np.ndarray(a.shape, a.dtype, np.concatenate([np.zeros(3, np.uint8), a.ravel().view(np.uint8)]), 3),
    "empty": lambda a: a[:0],
    "of size 1": lambda a: a[2:3],
}


def compared(f: ct.D, x: Any) -> None:
    """Values and cotangents on the fake are those of the reference engine, or both refuse."""
    with ct.use_engine("reference"):
        try:
            y, pullback = ct.vjp(f, x)
        except ct.CatadError as error:
            with pytest.raises(type(error)):
                f(there(x))
            return
        back = pullback(np.ones_like(y)) if y.dtype.kind == "f" else ()
    got, pulled = ct.vjp(f, there(x))
    found = [got, *flatten(pulled(there(np.ones_like(y))) if y.dtype.kind == "f" else ())]
    want = [y, *flatten(back)]
    for a, b in zip(found, want, strict=True):
        assert type(a) is FakeArray and (a.shape, a.dtype) == (b.shape, b.dtype)
        assert np.allclose(a._data, b, rtol=1e-9, atol=1e-12)


@pytest.mark.quick(44)
@pytest.mark.parametrize("lie", LIE)
@pytest.mark.parametrize("name", [*PROGRAMS, *FLAT])
def test_arrays_that_lie_oddly(name: str, lie: str) -> None:
    x = X if name in PROGRAMS else X[:, :, 0].ravel()
    compared({**PROGRAMS, **FLAT}[name], LIE[lie](x))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8, np.uint64, np.bool_])
def test_arrays_without_axes(dtype: Any) -> None:
    f = ct.map(lambda x: x * 2 + 1) >> ct.fork(ct.id, ct.sum())
    got = f(there(np.ones((), dtype)))
    with ct.use_engine("reference"):
        want = f(np.ones((), dtype))
    for a, b in zip(got, want, strict=True):
        assert type(a) is FakeArray and (a.shape, a.dtype) == ((), np.asarray(b).dtype) and a._data == b


def test_arrays_of_more_numbers_than_32_bits_count() -> None:
    """2 GB of zeros, of which the operating system gives only what is touched."""
    size = 2**31 + 100
    x = FakeArray(np.zeros(size, np.int8))
    places = [0, 2**31 - 1, 2**31, size - 1]
    x._data[places] = [1, 2, 3, 4]
    index = there(np.array(places))
    assert ct.gather(x, index)._data.tolist() == [1, 2, 3, 4]
    assert ct.index[ct.arg](x, there(np.array([-1, -100, 2**31])))._data.tolist() == [4, 3, 3]
    plus = ct.map(lambda x: x + 1)
    behind = x[2**31 - 3 :]
    assert np.array_equal(plus(behind)._data, behind._data + 1)
    apart = x[:: 2**28]
    x._data[:: 2**28] = np.arange(9)
    assert plus(apart)._data.tolist() == list(range(1, 10))
    assert int(ct.sum()(apart).get()) == 36
    assert plus(x[:: -(2**28)])._data.tolist() == [5] + [1] * 8
    with pytest.raises(ct.IndexRangeError, match=str(size)):
        ct.gather(x, there(np.array([size])))
        ct.synchronize()


MANY = 2**33
LARGE: dict[str, tuple[ct.D, ct.Space]] = {
    "a map": (ct.map(lambda x: x * 2.0), ct.f32[MANY]),
    "a transposed map": (ct.transpose() >> ct.map(lambda x: x * 2.0), ct.f32[2**17, 2**16]),
    "a sum": (ct.sum(), ct.f32[MANY]),
    "sums of rows": (ct.sum(axis=1), ct.f32[2**17, 2**16]),
    "a scan": (ct.scan(lambda a, b: a + b, 0.0), ct.f32[MANY]),
    "scans of columns": (ct.scan(lambda a, b: a + b, 0.0, axis=0), ct.f32[2**17, 2**16]),
    "a histogram": (ct.histogram(ct.add, 0.0, 100), ct.i64[MANY] * ct.f32[MANY]),
    "a gather": (ct.fork(ct.exr, ct.exl) >> ct.gather, ct.i64[MANY] * ct.f32[MANY]),
    "a write": (ct.at[ct.arg].set, ct.Product((ct.f32[MANY], ct.i64[MANY], ct.f32[MANY]))),
}


@pytest.mark.parametrize("name", LARGE)
def test_no_number_of_a_place_has_32_bits(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads and blocks are numbers of 32 bits, which are made wide before anything is computed of them."""
    monkeypatch.setattr(cache_keys, "sources", lambda _: None)
    monkeypatch.setattr(kernel, "_codes", {})
    f, space = LARGE[name]
    ptx = f.source("ptx", space)
    codes = [code.llvm for code in kernel._codes.values()]
    assert codes and ".visible .entry" in ptx
    for text in [function for whole in codes for function in whole.split("\n}\n")]:  # each has names of its own
        assert not re.search(r"getelementptr [^\n]*, i32 %", text)
        assert not re.search(r"= (mul|shl|[su]div|[su]rem)[a-z ]* i32 ", text)
        for register in re.findall(r"(%\S+) = (?:tail )?call i32 @llvm\.nvvm\.read\.ptx\.sreg", text):
            uses = re.findall(rf"^.*{re.escape(register)}\b.*$", text, re.M)
            assert len(uses) == 2 and "zext i32" in uses[1]
    assert not re.search(r"\b(mul\.lo|mad\.lo|mul\.wide|mad\.wide)\.s32|\bshl\.b32", ptx)


def test_a_number_of_32_bits_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: the number of a thread among all is computed before it is made wide."""

    def narrow(self: Any) -> str:
        own = self.w.set(f"trunc i64 {plain(self)} to i32")
        return str(self.w.set(f"sext i32 {self.w.set(f'mul i32 {own}, 1')} to i64"))

    plain = kernel.Simt.block
    monkeypatch.setattr(kernel.Simt, "block", narrow)
    with pytest.raises(AssertionError):
        test_no_number_of_a_place_has_32_bits("a map", monkeypatch)


def test_constants_of_a_program_are_made_for_each_device() -> None:
    weights = RNG.normal(size=5)
    f = ct.fork(ct.const(weights), ct.id) >> ct.mul >> ct.sort()
    x = there(np.ones(5))
    for _ in range(2):
        assert np.array_equal(f(x)._data, np.sort(weights))
        with fake.cuda.Device(1):
            y = f(there(np.ones(5)))
            assert y.device.id == 1 and np.array_equal(y._data, np.sort(weights))


MIXED: dict[str, Callable[[Any, Any], Any]] = {
    "arguments": lambda x, plain: ct.add(x, plain),
    "a cotangent": lambda x, plain: ct.vjp(ct.sin, x)[1](plain),
    "a tangent": lambda x, plain: ct.jvp(ct.sin, (x,), (plain,)),
    "an index": lambda x, plain: ct.gather(x, np.array([0, 1])),
    "a vector": lambda x, plain: ct.jacobian(ct.sin)(x) @ plain,
    "a product of maps": lambda x, plain: (ct.jacobian(ct.sin)(x) @ ct.jacobian(ct.sin)(plain)) @ x,
    "a Python function": lambda x, plain: ct.function(lambda a, b: a * b)(x, plain),
    "a start of a loop": lambda x, plain: ct.iterate(ct.mul >> ct.fork(ct.id, ct.id), 2)((x, plain)),
}


@pytest.mark.parametrize("how", MIXED)
@pytest.mark.parametrize("other", ["NumPy", "another device"])
def test_arrays_of_two_places(how: str, other: str) -> None:
    x, plain = there(np.linspace(1.0, 2.0, 4)), np.ones(4)
    if other == "NumPy":
        with pytest.raises(ct.DeviceError, match="arrays of two array libraries"):
            MIXED[how](x, plain)
    elif how != "an index":
        with fake.cuda.Device(1):
            far = there(plain)
        with pytest.raises(ct.DeviceError, match="device 1"):
            MIXED[how](x, far)
    assert np.array_equal(ct.square(x)._data, x._data**2)


SCARCE: dict[str, ct.D] = {
    "a scan in tiles": ct.reshape((20_000,)) >> ct.scan(lambda a, b: a + b, 0.0) >> ct.sort(),
    "a fold in tiles": ct.reshape((20_000,)) >> ct.exp >> ct.fork(ct.sum(), ct.sort()),
    "a histogram": ct.reshape((20_000,)) >> ct.fork(ct.astype(np.int64), ct.sin) >> ct.histogram(ct.add, 0.0, 7),
}


@pytest.mark.parametrize("name", SCARCE)
def test_no_memory_for_a_derivative_leaks_nothing(name: str) -> None:
    f, x = SCARCE[name], there(np.tile(X.ravel(), 30)[:20_000].reshape(200, 100))
    want = [leaf._data.copy() for leaf in flatten(ct.vjp(f, x)[0])]
    gc.collect()
    before = fake.used
    for room in (0, 1000, x.nbytes + 100):
        fake.limit = before + room
        with pytest.raises(ct.OutOfMemoryError, match="Out of memory allocating"):
            y, pullback = ct.vjp(f, x)
            pullback(y)
        y = pullback = None
        gc.collect()
        assert fake.used == before
    fake.limit = np.inf
    for a, b in zip(flatten(f(x)), want, strict=True):
        assert np.array_equal(a._data, b)

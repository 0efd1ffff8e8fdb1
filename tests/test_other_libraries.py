"""Morphisms as functions of JAX and PyTorch, and arrays of other libraries on a GPU, which a fake CuPy shows."""

from __future__ import annotations

import importlib
import sys
import threading
from typing import Any

import numpy as np
import pytest

import catad as ct
import catad.jax
import catad.torch
from catad.values import device_views

from .fake_cupy import FakeArray, fake

X = np.array([0.5, -1.5, 2.0], np.float32)


def model(p: Any, x: Any, scale: Any = 2.0) -> Any:
    """Trees in, trees out, an integer result beside floats; written so that NumPy, JAX and PyTorch run it, too."""
    y = p["w"] @ x + p["b"]
    return {"loss": (y * y).sum() * scale, "y": y}


def parameters() -> Any:
    rng = np.random.default_rng(3)
    return {"w": rng.normal(size=(2, 3)).astype(np.float32), "b": rng.normal(size=2).astype(np.float32)}


def picked(x: Any, k: Any) -> Any:
    return x[k] * x[k], k + 1


class TestJax:
    @pytest.fixture(autouse=True)
    def _there(self) -> None:
        self.jax = pytest.importorskip("jax")

    def test_values_and_gradients_of_trees_are_those_of_jax(self) -> None:
        jax, p = self.jax, parameters()
        f = catad.jax.as_function(model)
        for run in (f, jax.jit(f)):
            got, want = run(p, X), model(p, X)
            assert set(got) == {"loss", "y"}
            for name in want:
                assert isinstance(got[name], jax.Array) and got[name].dtype == np.float32
                assert np.allclose(got[name], want[name], rtol=1e-6)
        got = jax.jit(jax.grad(lambda p, x: f(p, x, 3.0)["loss"], argnums=(0, 1)))(p, X)
        want = jax.grad(lambda p, x: model(p, x, 3.0)["loss"], argnums=(0, 1))(jax.tree.map(jax.numpy.asarray, p), X)
        assert jax.tree.structure(got) == jax.tree.structure(want)
        for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
            assert np.allclose(a, b, rtol=1e-5)

    def test_integers_have_no_gradient(self) -> None:
        jax = self.jax
        f = catad.jax.as_function(picked)
        (y, k), pullback = jax.vjp(f, jax.numpy.asarray(X), jax.numpy.asarray(1, np.int32))
        assert (float(y), int(k)) == (2.25, 2)
        of_x, of_k = pullback((np.float32(1.0), np.zeros((), jax.dtypes.float0)))
        assert of_x.tolist() == [0.0, -3.0, 0.0] and of_k.dtype == jax.dtypes.float0

    def test_a_batch_is_one_call_for_each_element(self) -> None:
        jax = self.jax
        f = catad.jax.as_function(ct.square >> ct.sum())
        many = np.arange(12, dtype=np.float32).reshape(4, 3)
        assert np.array_equal(jax.vmap(jax.grad(f))(many), 2 * many)

    def test_complex_results_are_refused(self) -> None:
        with pytest.raises(ct.SpaceError, match=r"y\.real"):
            catad.jax.as_function(lambda x: np.exp(1j * x))(X)

    def test_sixty_four_bits_are_refused_where_jax_has_none(self) -> None:
        if self.jax.config.jax_enable_x64:
            pytest.skip("JAX has 64 bits here")
        with pytest.raises(ct.SpaceError, match="JAX is set to 32"):
            catad.jax.as_function(ct.astype(np.float64))(X)

    def test_dtypes_and_shapes(self) -> None:
        jax = self.jax
        twice = catad.jax.as_function(ct.map(lambda x: x * 2))
        for dtype in ("int8", "uint16", "int32", "float32"):
            for shape in ((), (0, 3), (2, 3)):
                y = twice(jax.numpy.ones(shape, dtype))
                assert (y.dtype, y.shape) == (dtype, shape) and bool((y == 2).all())
        for dtype in ("float16", "bfloat16", "complex64"):
            with pytest.raises(ct.SpaceError, match=f"given:    {dtype}"):
                twice(jax.numpy.ones(3, dtype))
        with pytest.raises(ct.SpaceError, match="no plain array"):
            twice(jax.random.key(0))

    def test_second_derivatives_are_refused_and_gradients_are_functions(self) -> None:
        jax = self.jax
        cubes = ct.map(lambda x: x * x * x) >> ct.sum()
        with pytest.raises((TypeError, ValueError)):
            jax.grad(lambda x: jax.grad(catad.jax.as_function(cubes))(x).sum())(X)
        slope = catad.jax.as_function(ct.grad(cubes))
        assert np.allclose(jax.grad(lambda x: slope(x).sum())(X), 6 * X, rtol=1e-6)

    def test_what_jax_keeps_is_not_written(self) -> None:
        x = self.jax.numpy.asarray(X)
        y = catad.jax.as_function(ct.at[0].set)(x, np.float32(7.0))
        assert float(y[0]) == 7.0 and float(x[0]) == X[0]

    def test_errors_of_catad_come_out(self) -> None:
        with pytest.raises(ct.SpaceError):
            catad.jax.as_function(ct.matmul)(X, np.ones((2, 2), np.float32))
        with pytest.raises(ct.SpaceError, match=r"catad\.jax\.as_function"):
            catad.jax.as_function(3)  # type: ignore[arg-type]


class TestTorch:
    @pytest.fixture(autouse=True)
    def _there(self) -> None:
        self.torch = pytest.importorskip("torch")

    def test_values_and_gradients_of_trees_are_those_of_pytorch(self) -> None:
        torch = self.torch

        def at() -> Any:
            made = {name: torch.from_numpy(a).requires_grad_() for name, a in parameters().items()}
            return made, torch.from_numpy(X.copy()).requires_grad_()

        (p, x), (q, z) = at(), at()
        got, want = catad.torch.as_function(model)(p, x, 3.0), model(q, z, 3.0)
        assert torch.allclose(got["y"], want["y"]) and torch.allclose(got["loss"], want["loss"])
        (got["loss"] + got["y"].sum()).backward()
        (want["loss"] + want["y"].sum()).backward()
        for a, b in zip([p["w"], p["b"], x], [q["w"], q["b"], z], strict=True):
            assert a.grad.dtype == torch.float32 and torch.allclose(a.grad, b.grad, rtol=1e-5)

    def test_memory_is_shared(self) -> None:
        torch = self.torch
        x = torch.arange(3.0)
        assert catad.interop.torch._array(torch, x).ctypes.data == x.data_ptr()
        y = np.arange(3.0)
        assert catad.interop.torch._tensor(torch, y).data_ptr() == y.ctypes.data

    def test_tensors_of_results_have_their_own_memory_where_pytorch_needs_it(self) -> None:
        torch = self.torch
        for f in (np.cumsum, lambda x: x[::-1], lambda x: np.broadcast_to(x[0], (3,)), lambda x: np.ones(2) + 0.0 * x[0]):
            x = torch.linspace(0.0, 1.0, 3, dtype=torch.float64, requires_grad=True)
            for _ in range(2):  # adds to x.grad in place
                catad.torch.as_function(f)(x).sum().backward()
            (want,) = ct.vjp(f, np.linspace(0.0, 1.0, 3))[1](np.ones(len(f(np.zeros(3)))))
            assert np.array_equal(x.grad.numpy(), 2 * want)

    def test_integers_have_no_gradient_and_views_are_read(self) -> None:
        torch = self.torch
        x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        y, k = catad.torch.as_function(picked)(x.T[0], torch.tensor(1))
        y.backward()
        assert float(y.detach()) == 9.0 and int(k) == 2 and not k.requires_grad
        assert x.grad.tolist() == [[0.0, 0.0], [6.0, 0.0]]

    def test_gradients_in_double_precision_are_differences(self) -> None:
        torch = self.torch
        f = catad.torch.as_function(ct.map(lambda x: np.sin(x) * x) >> ct.fork(ct.sum(), ct.cumsum()))
        assert torch.autograd.gradcheck(f, (torch.linspace(0.1, 2.0, 5, dtype=torch.float64, requires_grad=True),))

    def test_dtypes_strides_and_layouts(self) -> None:
        torch = self.torch
        f = ct.map(lambda x: x * 2)
        twice = catad.torch.as_function(f)
        for dtype in (torch.int8, torch.uint8, torch.int32, torch.float32, torch.float64):
            whole = torch.arange(24).to(dtype).reshape(2, 3, 4)
            views = (whole, whole.mT, whole[:, ::2], whole[0, 0, 1], whole[:, :0], whole[:1].expand(5, 3, 4), whole.flip(2))
            for x in views:
                y = twice(x)
                assert y.dtype == dtype and y.shape == x.shape and torch.equal(y, x * 2)
        assert twice(torch._neg_view(torch.ones(3))).tolist() == [-2.0] * 3
        for refused in (torch.ones(3, dtype=torch.bfloat16), torch.eye(3).to_sparse(), torch.ones(3, device="meta")):
            with pytest.raises(ct.SpaceError, match="no plain array"):
                twice(refused)
        with pytest.raises(ct.SpaceError, match="a space holds"):
            twice(torch.ones(3, dtype=torch.float16))
        with pytest.raises(ct.SpaceError, match="complex numbers"):
            twice(torch.ones(3, dtype=torch.complex64).conj())
        with pytest.raises(ct.SpaceError, match=r"y\.real"):
            catad.torch.as_function(lambda x: np.exp(1j * x))(torch.ones(3))

    def test_gradients_of_views_that_repeat(self) -> None:
        torch = self.torch
        f = catad.torch.as_function(ct.square >> ct.sum())
        x = torch.tensor([2.0], requires_grad=True)
        assert torch.autograd.grad(f(x.expand(5)), x)[0].tolist() == [20.0]

    def test_second_derivatives_are_refused_and_gradients_are_functions(self) -> None:
        """Without the error PyTorch takes the first derivative for a constant."""
        torch = self.torch
        cubes = ct.map(lambda x: x * x * x) >> ct.sum()
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        with pytest.raises(ct.DerivativeError, match="second derivatives are not recorded"):
            torch.autograd.grad(catad.torch.as_function(cubes)(x), x, create_graph=True)
        slope = catad.torch.as_function(ct.grad(cubes))
        assert torch.autograd.grad(slope(x).sum(), x)[0].tolist() == [6.0, 12.0]

    def test_memory_that_is_written_later(self) -> None:
        torch = self.torch
        constants = catad.torch.as_function(ct.const(np.arange(3.0)))
        read_only = np.arange(3.0)
        read_only.flags.writeable = False
        x = torch.ones(3)
        constants(x).add_(1.0)
        assert constants(x).tolist() == [0.0, 1.0, 2.0]
        catad.torch.as_function(ct.id)(x).add_(1.0)
        assert x.tolist() == [1.0] * 3
        y = catad.torch.as_function(ct.const(read_only))(x)
        y.add_(1.0)
        assert read_only.tolist() == [0.0, 1.0, 2.0]
        a = torch.tensor([1.0, 2.0], requires_grad=True)
        b = a * 1
        loss = catad.torch.as_function(ct.map(np.sin) >> ct.sum())(b)
        with torch.no_grad():
            b.mul_(100.0)
        loss.backward()
        assert torch.allclose(a.grad, torch.cos(a.detach()))

    def test_gradients_in_another_thread(self) -> None:
        x = self.torch.tensor([1.0, 2.0], requires_grad=True)
        with ct.use_engine("reference"):
            y = catad.torch.as_function(ct.map(lambda x: x * x) >> ct.sum())(x)
        thread = threading.Thread(target=y.backward)
        thread.start()
        thread.join(timeout=60)
        assert x.grad.tolist() == [2.0, 4.0]

    def test_without_a_tape_nothing_is_kept(self) -> None:
        torch = self.torch
        with torch.no_grad():
            y = catad.torch.as_function(ct.square)(torch.ones(3, requires_grad=True))
        assert not y.requires_grad and y.tolist() == [1.0, 1.0, 1.0]

    def test_errors_of_catad_come_out(self) -> None:
        with pytest.raises(ct.SpaceError, match=r"catad\.torch\.as_function"):
            catad.torch.as_function(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["jax", "torch"])
def test_a_missing_library_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)  # importing it raises
    with pytest.raises(ct.EngineError, match=f"pip install {name}"):
        importlib.import_module(f"catad.{name}").as_function(ct.sin)


def test_pandas_takes_morphisms_as_functions() -> None:
    pd = pytest.importorskip("pandas")
    rows = pd.Series([1.0, 2.0, 3.0], index=list("abc"), name="x")
    frame = pd.DataFrame({"one": rows, "two": 2 * rows})
    same, series = pd.testing.assert_frame_equal, pd.testing.assert_series_equal
    for f, wanted in (
        (ct.grad(lambda x: np.sin(x) * x), lambda x: np.cos(x) * x + np.sin(x)),
        (ct.sin >> ct.exp, lambda x: np.exp(np.sin(x))),
        (ct.id, lambda x: x),
    ):
        for method in ("apply", "map", "transform"):
            series(getattr(rows, method)(f), wanted(rows))
        same(frame.map(f), wanted(frame))
    same(frame.apply(ct.grad(ct.square >> ct.sum()), raw=True), 2 * frame)
    assert rows.rolling(2).apply(ct.sum(), raw=True).tolist()[1:] == [3.0, 5.0]


# -- arrays on a GPU


class Capsule:
    """An array of another library, on a GPU, that speaks DLPack alone."""

    def __init__(self, array: Any, refuses: bool = False) -> None:
        self.array, self.refuses = array, refuses
        self.shape, self.dtype = array.shape, array.dtype

    def __dlpack_device__(self) -> tuple[int, int]:
        kind, number = self.array.__dlpack_device__()
        return int(kind), int(number)

    def __dlpack__(self, **options: Any) -> Any:
        if self.refuses:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        return self.array.__dlpack__(**options)


class Interface:
    """One that has `__cuda_array_interface__` alone."""

    def __init__(self, array: Any) -> None:
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    @property
    def __cuda_array_interface__(self) -> Any:
        return self.array.__cuda_array_interface__


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setitem(sys.modules, "cupy", fake)
    fake.reset()
    yield fake
    fake.reset()


@pytest.mark.parametrize("kind", [Capsule, Interface])
def test_arrays_on_a_gpu_come_in_without_a_copy_and_go_out_as_cupy(kind: Any, cupy: Any) -> None:
    x = cupy.asarray(np.arange(6.0).reshape(2, 3))
    for there in (x, x.T):
        found = device_views.shown(kind(there))
        assert type(found) is FakeArray and found.data.ptr == there.data.ptr and found.strides == there.strides
        y = ct.map(lambda x: x * x + 1.0)(kind(there))
        assert type(y) is FakeArray and np.array_equal(y._data, there._data**2 + 1.0)
        (g,) = ct.vjp(ct.square >> ct.sum(), kind(there))[1](cupy.asarray(np.float64(1.0)))
        assert type(g) is FakeArray and np.array_equal(g._data, 2 * there._data)
        z = ct.function(lambda a, b: a * b)(kind(there), there)
        assert type(z) is FakeArray and np.array_equal(z._data, there._data**2)
    with pytest.raises(ct.DeviceError, match="two array libraries"):
        ct.add(kind(x), np.ones((2, 3)))


def test_results_go_to_other_libraries_by_both_protocols(cupy: Any) -> None:
    x = cupy.asarray(np.arange(6.0).reshape(2, 3))
    for f in (ct.square, ct.transpose(), ct.sum(), ct.flip()):
        y = f(x)
        back = cupy.from_dlpack(Capsule(y))
        assert y.__dlpack_device__() == (2, 0) and back.data.ptr == y.data.ptr and np.array_equal(back._data, y._data)
        again = cupy.asarray(Interface(y))
        assert again.data.ptr == y.data.ptr and np.array_equal(again._data, y._data)


@pytest.mark.numpy_only
@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.float32, np.bool_])
@pytest.mark.parametrize("kind", [Capsule, Interface])
def test_odd_arrays_of_other_libraries(kind: Any, dtype: Any, cupy: Any) -> None:
    whole = np.arange(24).reshape(2, 3, 4).astype(dtype)
    f = ct.map(lambda x: x * 2)
    for a in (whole.T, whole[:, ::-2], whole[1, 1, 1:2], whole[:, :0], np.array(1, dtype)):
        y, want = f(kind(FakeArray(a))), f(a)
        assert type(y) is FakeArray and (y.shape, y.dtype) == (a.shape, want.dtype) and np.array_equal(y._data, want)


def test_strange_dtypes_on_a_gpu_are_refused(cupy: Any) -> None:
    for dtype in (np.float16, np.complex64):
        with pytest.raises(ct.SpaceError, match=str(np.dtype(dtype))):
            ct.sin(Capsule(FakeArray(np.ones(3, dtype))))


def test_what_refuses_to_be_shown_and_what_lies_on_no_gpu_is_no_value(cupy: Any) -> None:
    x = cupy.asarray(X)
    with pytest.raises(ct.SpaceError, match="a plain array of NumPy or CuPy"):
        ct.sin(Capsule(x, refuses=True))
    with pytest.raises(ct.SpaceError, match="a plain array of NumPy or CuPy"):
        ct.sin(Capsule(X))


@pytest.mark.parametrize("error", [ImportError("no libcuda"), AttributeError("half of it is missing")])
def test_arrays_on_a_gpu_without_cupy(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    x = Capsule(fake.asarray(X))
    monkeypatch.delitem(sys.modules, "cupy", raising=False)

    def broken(name: str) -> Any:
        raise error

    monkeypatch.setattr(importlib, "import_module", broken)
    with pytest.raises(ct.EngineError, match="needs CuPy") as caught:
        ct.sin(x)
    assert str(error) in str(caught.value) and "catad[cuda12]" in str(caught.value)

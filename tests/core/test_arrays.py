"""What is taken as an array: one rule for every place where a caller gives one."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catad as ct

from ..strict_arrays import StrictArray, strict

X = np.array([1.0, 2.0, 3.0])
I3 = ct.linear.identity(ct.f64[3])
opaque = ct.D(lambda x: (np.asarray([float(v) for v in x]), ct.scale(np.ones(3))))

ENTRIES: dict[str, Callable[[Any], Any]] = {
    "a call": ct.square,
    "a call beside an array": lambda t: ct.mul(t, X),
    "a product": lambda t: (ct.sin * ct.cos)((X, t)),
    "fusable maps": ct.sin >> ct.exp >> ct.sum(),
    "linearize": lambda t: ct.linearize(ct.square, t),
    "vjp": lambda t: ct.vjp(ct.square, t),
    "jvp": lambda t: ct.jvp(ct.square, (t,), (X,)),
    "a tangent": lambda t: ct.jvp(ct.square, (X,), (t,)),
    "a cotangent": lambda t: ct.vjp(ct.square, X)[1](t),
    "cotangents": lambda t: ct.vjp(ct.square, X)[1].many(t),
    "grad": ct.grad(ct.square >> ct.sum()),
    "hvp": lambda t: ct.hvp(ct.square >> ct.sum(), (X,), (t,)),
    "jacobian": ct.jacobian(ct.square),
    "plan": lambda t: ct.plan(ct.square, t),
    "a linear map": I3,
    "L @ v": lambda t: I3 @ t,
    "matvec": I3.matvec,
    "rmatvec": I3.rmatvec,
    "const": ct.const,
    "space_of": ct.space_of,
    "scale": ct.scale,
    "dense": ct.linear.dense,
    "outer, left": lambda t: ct.linear.outer(t, X),
    "outer, right": lambda t: ct.linear.outer(X, t),
    "recurrence": ct.linear.recurrence,
    "an index": lambda t: ct.linear.gather(t, ct.f64[5]),
    "scatter_add": lambda t: ct.linear.scatter_add(t, ct.f64[5]),
    "matrix_free": lambda t: ct.linear.matrix_free(ct.exr, ct.exr, ct.f64[3], ct.f64[3], t),
    "compForward": ct.compForward,
    "a neutral element": lambda t: ct.fold(ct.matmul, t),
    "a domain": lambda t: ct.monoid(ct.add, 0.0, domain=t),
    "an array in ct.D": lambda t: ct.D(lambda x: (x * t, ct.scale(t)))(X),
    "a result of opaque code": lambda t: ct.D(lambda x: (float(x[0]) and t, ct.scale(X)))(X),
}


class Sub(np.ndarray):
    """A subclass whose operators could mean anything."""


def named(module: str, name: str) -> Any:
    """An array look-alike by the name of its class: has a dtype, a shape, the operators, and gives an array when asked."""

    def array(self: Any, *args: Any, **kwargs: Any) -> Any:
        return X

    same = {f"__{op}__": lambda self, *other: self for op in ("add", "mul", "rmul", "radd", "neg")}
    cls = type(name, (), {"__module__": module, "dtype": X.dtype, "shape": X.shape, "ndim": 1, "__array__": array, **same})
    return cls()


REFUSED: dict[str, tuple[Any, str]] = {
    "matrix": (X.reshape(1, 3).view(np.matrix), "ct.matmul"),
    "masked": (np.ma.array(X, mask=[False, True, False]), "x.filled(value)"),
    "masked, nothing masked": (np.ma.array(X), "x.filled(value)"),
    "subclass": (X.view(Sub), "np.asarray(x)"),
    "recarray": (np.rec.array(np.zeros(3, [("a", float)])), "np.asarray(x)"),
    "pandas": (named("pandas.core.series", "Series"), "x.to_numpy()"),
    "xarray": (named("xarray.core.dataarray", "DataArray"), "x.data"),
    "torch": (named("torch", "Tensor"), "x.numpy(force=True)"),
    "jax": (named("jaxlib._jax", "ArrayImpl"), "np.asarray(x)"),
    "dask": (named("dask.dataframe.core", "DataFrame"), "x.compute()"),
    "list": ([1.0, 2.0, 3.0], "np.asarray(x)"),
    "nested list": ([[1.0], [2.0, 3.0]], "np.asarray(x)"),
    "range": (range(3), "np.asarray(x)"),
    "text": ("abc", "np.asarray(x)"),
    "fraction": (Fraction(1, 2), "np.asarray(x)"),
    "a linear map": (ct.scale(X), "f(x)"),
    "a morphism": (ct.sin, "f(x)"),
    "object": (np.array([1.0, None, 2.0], object), "convert the array"),
    "structured": (np.zeros(3, [("a", float)]), "convert the array"),
    "dates": (np.array(["2020-01-01"] * 3, "M8[D]"), "convert the array"),
    "strings": (np.array(["a", "b", "c"]), "convert the array"),
    "half": (X.astype(np.float16), "convert the array"),
    "longdouble": (X.astype(np.longdouble), "convert the array"),
}
LATER = {"object", "structured", "dates", "strings", "half", "longdouble"}
MEANT = {("a linear map", "L @ v"), ("a linear map", "compForward"), ("a morphism", "L @ v")}  # products, and an error of its own


@pytest.mark.parametrize("entry", ENTRIES)
def test_look_alikes_are_refused_everywhere(entry: str) -> None:
    for name, (thing, advice) in REFUSED.items():
        if (name, entry) in MEANT:
            continue
        with pytest.raises(ct.CatadError) as caught:
            ENTRIES[entry](thing)
            pytest.fail(f"{name} was taken")
        if name not in LATER and name != "a morphism" and entry != "compForward":  # these have errors of their own
            assert advice in str(caught.value), name


@pytest.mark.slow
@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("library", ["pandas", "xarray", "torch", "jax.numpy", "scipy.sparse"])
def test_the_arrays_of_other_libraries_are_refused_everywhere(library: str, entry: str) -> None:
    lib = pytest.importorskip(library)
    made = {
        "pandas": lambda: [
            lib.Series(X, index=[2, 1, 0]),
            lib.DataFrame({"dtype": X}),
            lib.Index(X),
            lib.Series([1, None], dtype="Int64"),
        ],
        "xarray": lambda: [lib.DataArray(X, dims="x", coords={"x": [2, 1, 0]}), lib.DataArray(2.0)],
        "torch": lambda: [lib.tensor(X), lib.tensor(X, requires_grad=True), lib.nn.Parameter(lib.tensor(X)), lib.tensor(2.0)],
        "jax.numpy": lambda: [lib.array(X), lib.array(X, dtype=lib.bfloat16), lib.arange(3)],
        "scipy.sparse": lambda: [lib.csr_matrix(np.eye(3)), lib.csr_array(np.eye(3))],
    }[library]()
    for thing in made:
        with pytest.raises(ct.CatadError):
            ENTRIES[entry](thing)


def variants(folder: Path, n: int) -> dict[str, Any]:
    """The same numbers as arrays that are taken."""
    x = np.linspace(0.5, 1.5, n)
    file = np.memmap(folder / f"numbers{n}", dtype=np.float64, mode="w+", shape=(n,))
    file[:] = x
    readonly = x.copy()
    readonly.flags.writeable = False
    return {
        "plain": x,
        "memmap": file,
        "other byte order": x.astype(x.dtype.newbyteorder(">")),
        "read-only": readonly,
        "strided": np.repeat(x, 2)[::2],
        "reversed": x[::-1].copy()[::-1],
        "unaligned": np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(np.float64),
    }


@pytest.mark.numpy_only
@pytest.mark.parametrize("engine", ["reference", "cpu"])
def test_plain_arrays_of_any_kind_are_taken(engine: Any, tmp_path: Path) -> None:
    f = ct.sin >> ct.square
    with ct.use_engine(engine):
        for n in (3, 5000):
            for name, x in variants(tmp_path, n).items():
                plain = np.array(x, np.float64)
                w = np.cos(plain)
                y, pullback = ct.vjp(f, x)
                got = [f(x), f(x), y, pullback(x)[0], ct.jvp(f, (plain,), (x,))[1], ct.scale(x)(x), I(n)(x), I(n).matvec(x)]
                slope = 2 * np.sin(plain) * w
                want = [*[np.sin(plain) ** 2] * 3, slope * plain, slope * plain, plain**2, plain, plain]
                for a, b in zip(got, want, strict=True):
                    assert type(a) is np.ndarray and a.dtype == np.float64 and a.dtype.isnative, name
                    assert np.allclose(a, b, rtol=1e-14), name


def I(n: int) -> ct.LinearMap:  # noqa: E743
    return ct.linear.identity(ct.f64[n])


@pytest.mark.numpy_only
def test_integers_of_every_name_and_order_are_taken() -> None:
    for code in ("b", "B", "h", "H", "i", "I", "l", "L", "q", "Q", ">i2", ">u8", "<i4"):
        x = np.arange(3).astype(code)
        for engine in ("reference", "cpu"):
            with ct.use_engine(engine):  # type: ignore[arg-type]
                y = ct.square(x)
        assert y.dtype == x.dtype.newbyteorder("=") and y.tolist() == [0, 1, 4], code
        assert ct.gather(X, x).tolist() == X.tolist()


def test_an_array_of_another_order_is_not_met_by_the_program_of_its_first_call() -> None:
    f = ct.sin >> ct.cos
    x = X.astype(">f8")
    assert np.array_equal(f(x), f(X)) and np.array_equal(f(x), f(x))


def test_arrays_that_offer_what_cupy_does_are_taken() -> None:
    there = strict.asarray(X)
    assert type(ct.square(there)) is StrictArray
    assert type(ct.vjp(ct.square, there)[1](there)[0]) is StrictArray
    assert type(ct.scale(there)(there)) is StrictArray
    assert type(ct.mul(there, 2.0)) is StrictArray


def test_other_libraries_are_not_imported() -> None:
    root = Path(importlib.import_module("catad").__file__ or "").parent
    for path in set(root.rglob("*.py")) - set((root / "chunks").glob("dask_*.py")):  # which are imported for arrays of Dask
        for library in ("pandas", "xarray", "torch", "jax", "dask", "polars", "tensorflow"):
            assert f"import {library}" not in path.read_text(), path

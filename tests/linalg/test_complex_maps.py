"""Scalar functions of complex numbers in ct.map, folds, scans and point-free programs: Python's and NumPy's numbers."""

from __future__ import annotations

import cmath
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.scalar.reading.read import read
from catad.testing import check_grads, check_laws

RNG = np.random.default_rng(3)


def drawn(*shape: int) -> Any:
    return RNG.normal(size=shape) + 1j * RNG.normal(size=shape)


Z, W, X = drawn(7), drawn(7), RNG.normal(size=7)
GAIN = 0.5 - 1j


def escape(c: Any) -> Any:
    z, k = 0, 0
    while abs(z) < 2.0 and k < 40:
        z = z * z + c
        k += 1
    return z, k


def newton(z: Any) -> Any:
    for _ in range(30):
        z = z - (z**3 - 1) / (3 * z**2)
    return z


def horner(z: Any) -> Any:
    y = 0
    for k in range(3):
        y = y * z + (k + 1j)
    return y


def sides(z: Any) -> Any:
    if z.imag > 0:
        return z * 1j
    return abs(z) if z.real > 0 else z.conjugate()


def truth(z: Any) -> Any:
    w = z - z
    return (1 if w or not z else 2) + (z == z) + (z != 2j) + (z in (1j, z))


FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "arithmetic": lambda z: (z * z + 1j) / (2 - z) - 3 * z + (-z) - +z,
    "powers": lambda z: z**2 + z**-3 + z**0.5 + 2.0**z + z**z + pow(z, 2) + z**0,
    "parts": lambda z: abs(z) * z.real - z.imag * z.conjugate() + complex(z.imag, z.real) + complex(1, 2),
    "cmath": lambda z: (
        cmath.exp(z) + cmath.log(z) + cmath.sqrt(z) + cmath.sin(z) * cmath.cosh(z) + cmath.log(z, 3) + cmath.log10(z)
        + cmath.atan(z) + cmath.phase(z) + cmath.rect(abs(z), z.real) + cmath.polar(z)[1]
    ),
    "numpy": lambda z: (
        np.exp(z) + np.arcsin(z) * np.conj(z) + np.real(z) + np.imag(z) + np.angle(z) + np.square(z) + np.abs(z)
        + np.where(np.real(z) > 0, z, 1.0) + np.float64(2) * z + np.complex64(1j) * z
    ),
    "captured": lambda z: GAIN * z + np.complex128(1j),
    "sums": lambda z: sum((z, 1j, 2.0)) + len((z, z)),
    "sides": sides,
    "truth": truth,
    "newton": newton,
    "horner": horner,
}  # fmt: skip


def same(got: Any, want: Any) -> None:
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("engine", ["reference", "cpu"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_numbers_are_those_of_python(name: str, engine: Any) -> None:
    f = FUNCTIONS[name]
    with ct.use_engine(engine):
        got = ct.map(f)(Z)
    same(got, np.array([f(one) for one in Z]))


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in ("truth", "newton")])
def test_derivatives_are_those_of_differences(name: str) -> None:
    check_grads(ct.map(FUNCTIONS[name]), Z, order=2)


def test_loops_that_data_end() -> None:
    c = 1.5 * drawn(9)
    z, k = ct.map(escape)(c)
    want = [escape(one) for one in c]
    same(z, np.array([complex(one) for one, _ in want]))
    assert np.array_equal(k, [n for _, n in want])


def test_functions_without_source_are_read_alike() -> None:
    scope: dict[str, Any] = {"cmath": cmath, "np": np}
    exec("def f(z):\n    w = -z.conjugate() * 2j\n    return cmath.exp(w) + abs(w) if w != z else np.sin(z)", scope)
    same(ct.map(scope["f"])(Z), np.array([scope["f"](one) for one in Z]))


def test_real_and_complex_arguments() -> None:
    same(ct.map(lambda x, z: x * z + 1)(X, Z), X * Z + 1)
    same(ct.map(lambda z, x: np.exp(z * x))(Z[:, None], X), np.exp(Z[:, None] * X))
    same(ct.map(lambda x: cmath.exp(1j * x))(X), np.exp(1j * X))
    same(ct.map(lambda x: 1j * x)(np.arange(3)), 1j * np.arange(3))
    same(ct.map(lambda z: (z * 2, abs(z)))(Z)[1], abs(Z))
    assert ct.map(lambda z: z * z)(2j) == -4 and isinstance(ct.map(lambda z: z * z)(2j), np.complex128)
    same(ct.map(lambda p: p[0] * p[1])((Z, W)), Z * W)


def test_single_precision_stays() -> None:
    z = Z.astype(np.complex64)
    for f in (lambda z: z * 2j + 1, lambda z: complex(z.real, 1.0), lambda z: abs(z) + 1j, lambda z: 1j):
        assert ct.map(f)(z).dtype in (np.complex64, np.complex128)
    assert ct.map(lambda z: z * 2j + 1)(z).dtype == np.complex64
    assert ct.map(lambda z: complex(z.real, 1.0))(z).dtype == np.complex64
    assert ct.map(lambda z: np.complex128(1j) * z)(z).dtype == np.complex128
    assert ct.map(lambda z: complex(z.real, np.float64(1.0)))(z).dtype == np.complex128
    assert ct.map(lambda n: complex(n, 1))(np.arange(3)).dtype == np.complex128


@pytest.mark.parametrize(
    ("f", "said"),
    [
        (lambda z: z % 2, "the operation mod takes real numbers"),
        (lambda z: z // 2, "the operation floordiv"),
        (lambda z: z < 1, "complex numbers have no order"),
        (lambda z: max(z, 1), "max takes real numbers"),
        (lambda z: float(z), "float takes real numbers"),
        (lambda z: z[0], "a number has no parts"),
        (lambda z: len(z), "len takes real numbers"),
        (lambda z: ct.sigmoid(z), "sigmoid takes real numbers"),
        (lambda z: np.arctan2(z, z), "arctan2 takes real numbers"),
    ],
)
def test_what_has_no_meaning_is_named(f: Callable[..., Any], said: str) -> None:
    with pytest.raises(ct.ScalarError, match=said):
        ct.map(f)(Z)


def test_pythons_numbers_are_weak() -> None:
    z = Z.astype(np.complex64)
    words = [(ct.add, np.add), (ct.mul, np.multiply), (ct.div, np.divide)]
    for f, plain in (*words, (ct.map(lambda a, b: a * b + 1), lambda a, b: a * b + 1)):
        for number in (2, 2.0, 2j, True):
            for args in ((z, number), (number, z), (Z, number), (z, np.float64(2.0))):
                got, want = f(*args), plain(*args)
                assert got.dtype == want.dtype, args
                np.testing.assert_allclose(got, want, rtol=1e-6)
    x = X.astype(np.float32)
    assert ct.mul(x, 2j).dtype == np.complex64 == (ct.fork(ct.id, ct.const(2j)) >> ct.mul)(x).dtype


# -- point-free programs


@pytest.mark.parametrize("word", ["sin", "exp", "log", "sqrt", "arctanh", "square", "reciprocal", "neg", "abs", "tanh"])
def test_words_are_numpys_functions(word: str) -> None:
    numpy = {"neg": np.negative}.get(word) or getattr(np, word)
    same(getattr(ct, word)(Z), numpy(Z))
    check_laws(getattr(ct, word), Z, order=1)


PROGRAMS: dict[str, tuple[Any, Callable[..., Any], tuple[Any, ...]]] = {
    "chain": (ct.sin >> ct.exp >> ct.sum(), lambda z: np.exp(np.sin(z)).sum(), (Z,)),
    "fork": (ct.fork(ct.id, ct.sin) >> ct.mul, lambda z: z * np.sin(z), (Z,)),
    "operators": (2.0 * ct.sin - ct.id / 2.0 + 1.0, lambda z: 2 * np.sin(z) - z / 2 + 1, (Z,)),
    "two": (ct.mul, np.multiply, (Z, W)),
    "real beside": (ct.add, np.add, (Z, X)),
    "a number beside": (ct.add, lambda z: z + 2.0, (Z,)),
    "shapes": (ct.reshape((7, 1)) >> ct.transpose() >> ct.flip() >> ct.sum(axis=0), lambda z: z[::-1], (Z,)),
    "numpy": (ct.prod(), np.prod, (Z,)),
    "prefixes": (ct.cumsum() >> ct.cumprod(), lambda z: np.cumprod(np.cumsum(z)), (Z,)),
    "order": (ct.sort() >> ct.max(), lambda z: np.sort(z).max(), (Z,)),
    "matmul": (ct.matmul, np.matmul, (np.outer(Z, W), W)),
    "matmul of a real": (ct.matmul, np.matmul, (np.outer(X, X), W)),
    "einsum": (ct.einsum("i,j->ij"), lambda z, w: np.einsum("i,j->ij", z, w), (Z, W)),
    "joined": (ct.concatenate(), lambda z, x: np.concatenate([z, x]), (Z, X)),
    "fold": (ct.fold(lambda a, b: a * b, 1 + 0j), np.prod, (Z,)),
    "a sum": (ct.fold(lambda a, b: a + b, 0j), np.sum, (Z,)),
    "scan": (ct.scan(lambda a, b: a * b, 1 + 0j), np.cumprod, (Z,)),
    "fold of a word": (ct.fold(ct.mul, 1 + 0j), np.prod, (Z,)),
    "fourier": (ct.fft.fft(), np.fft.fft, (Z,)),
    "and back": (ct.fft.fft() >> ct.fft.ifft(), lambda z: z, (Z,)),
    "batched": (ct.map(ct.sin >> ct.sum()), lambda z: np.sin(z).sum(axis=1), (np.outer(Z, W),)),
    "vmap": (ct.vmap(ct.fork(ct.id, ct.exp) >> ct.mul), lambda z: z * np.exp(z), (np.outer(Z, W),)),
    "repeated": (ct.iterate(ct.map(lambda z: z * z * 0.3 + 0.1j), 5), lambda z: repeated(z), (Z,)),
    "chosen": (ct.choose(ct.map(lambda z: z.real > 9) >> ct.all(), ct.sin, ct.cos), np.cos, (Z,)),
    "checkpoint": (ct.checkpoint(ct.sin >> ct.exp), lambda z: np.exp(np.sin(z)), (Z,)),
}  # fmt: skip


def test_a_stopped_gradient() -> None:
    f = ct.fork(ct.id, ct.stop_gradient) >> ct.mul
    same(f(Z), Z * Z)
    same(ct.jvp(f, (Z,), (W,))[1], Z * W)


def repeated(z: Any) -> Any:
    for _ in range(5):
        z = z * z * 0.3 + 0.1j
    return z


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    f, plain, args = PROGRAMS[name]
    given = (*args, 2.0) if name == "a number beside" else args
    want = np.asarray(plain(*args))
    same(np.asarray(f(*given)), want)
    same(np.asarray(ct.function(lambda *xs: f(*xs))(*given)), want)
    check_grads(f, *given, order=2)
    spaces = [ct.space_of(one) for one in args]
    if name != "a number beside":
        assert f.spaces(*spaces) == ct.space_of(want) == f.spaces(*args)


@pytest.mark.parametrize("name", ["chain", "fork", "operators", "fold", "fourier", "repeated"])
def test_derivatives_agree(name: str) -> None:
    """jvp, vjp, gradient and Jacobian of one program; the pullback is the transposed of the tangent map on pairs."""
    f, _, args = PROGRAMS[name]
    z = args[0]
    v = drawn(*z.shape)
    y, dy = ct.jvp(f, (z,), (v,))
    w = drawn(*np.shape(y))
    (back,) = ct.vjp(f, z)[1](w)
    assert np.isclose(np.sum((np.conj(w) * dy).real), np.sum((np.conj(back) * v).real))
    entries = ct.jacobian(f)(z).todense() @ np.concatenate([v.real, v.imag])
    np.testing.assert_allclose(entries, np.concatenate([np.ravel(dy.real), np.ravel(dy.imag)]), rtol=1e-11, atol=1e-12)
    loss = f >> ct.map(lambda z: abs(z) ** 2) >> ct.sum()
    np.testing.assert_allclose(ct.grad(loss)(z), ct.vjp(f, z)[1](2 * y)[0], rtol=1e-11)


def test_a_morphism_of_arrays_alone_refuses_by_name() -> None:
    for f in (ct.softmax(), ct.logsumexp(), ct.gather):
        with pytest.raises(ct.SpaceError, match="takes real arrays"):
            f(*((Z, 0) if f is ct.gather else (Z,)))
    with pytest.raises(ct.SpaceError, match=r"takes real arrays"):
        (ct.id**2.5 >> ct.fork(ct.id, ct.id) >> ct.id + 1.0)(Z)


# -- spaces


def test_spaces_of_complex_arrays() -> None:
    space = ct.c128[3, 4]
    assert [repr(one) for one in (space, ct.c64[()])] == ["ct.c128[3, 4]", "ct.c64[()]"]
    assert repr(ct.c128[2] * ct.f64[3]) == "ct.c128[2] * ct.f64[3]"
    assert space == ct.c128[3, 4] != ct.f64[3, 4] * ct.f64[3, 4] and ct.f64[3, 4] * ct.f64[3, 4] != space
    assert hash(space) == hash(ct.c128[3, 4]) and space.leaves == (ct.f64[3, 4],) * 2 and space.size == 24
    assert space.shape == (3, 4) and space.dtype == complex and eval(repr(space)) == space
    assert pickle.loads(pickle.dumps(space * ct.f64[1])) == space * ct.f64[1]
    assert ct.tangent_space(space) == space and ct.space_of((Z, 1.0)) == ct.c128[7] * ct.f64[()]
    with pytest.raises(ct.SpaceError, match="at least 0"):
        ct.c128[-1]


def test_programs_at_spaces() -> None:
    f = ct.function(lambda z, x: {"product": z * x, "length": abs(z)})
    assert str(f.at(ct.c128[3], ct.f64[3])) == str(f.at(np.zeros(3, complex), np.zeros(3)))
    assert f.spaces(ct.c128[3], ct.f64[3]).leaves == (ct.f64[3],) * 3
    assert ct.sin.source("steps", ct.c128[10]) == ct.sin.source("steps", np.zeros(10, complex))
    assert ct.compile(ct.sin, ct.c128[3]) == ct.sin and ct.sin.draw(ct.c128[3])
    assert len(ct.wire(ct.sin >> ct.exp, ct.c64[3]).boxes) == 2
    assert ct.plan(ct.sin >> ct.map(abs) >> ct.sum(), ct.c128[3])
    assert ct.fork(ct.id, ct.exp).spaces(ct.c128[3]) == ct.c128[3] * ct.c128[3]
    assert ct.map(abs).spaces(ct.c64[3]) == ct.f32[3]
    assert ct.grad(ct.map(abs) >> ct.sum()).spaces(ct.c128[3]) == ct.c128[3]


def test_functions_that_are_read_print_and_come_back() -> None:
    f = ct.fold(lambda a, b: a * b, 1 + 0j)
    assert repr(f) == "ct.fold(lambda a, b: a * b, complex(1.0, 0.0))" and eval(repr(f)) == f
    assert pickle.loads(pickle.dumps(f)) == f
    assert read(lambda z: z, [complex]).tree == read(lambda z: z * 1.0, [complex]).tree != (None, None)
    program = ct.function(lambda z: ct.map(lambda a: a * a + 1j)(z)).at(Z)
    assert pickle.loads(pickle.dumps(program)) == program

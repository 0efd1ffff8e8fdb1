"""Fourier, cosine and sine transforms: values of SciPy, transposes of matrices, products, solutions, derivatives."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.linalg

import catad as ct
from catad.category.spaces import Tensor
from catad.linear.families.cosines import of_type_1_or_4
from catad.linear.families.fourier import Fourier, How, Transform
from catad.linear.products import multiply
from catad.testing import check_grads, check_laws, check_linear_map

RNG = np.random.default_rng(7)
SIZES = [*range(1, 10), 11, 13, 17, 30]
NORMS = [None, "backward", "ortho", "forward"]
SCALES = ["backward", "ortho", "forward"]


def near(got: Any, want: Any) -> None:
    """Equal to rounding, in shape and dtype; a pair is compared with complex numbers."""
    got = got[0] + 1j * got[1] if isinstance(got, tuple) else got
    assert got.shape == want.shape and got.dtype == want.dtype
    eps = np.finfo(want.dtype).eps
    np.testing.assert_allclose(got, want, rtol=0, atol=50 * eps * max(1.0, np.abs(want).max(initial=0.0)))


def parts(z: Any) -> tuple[Any, Any]:
    return z.real.copy(), z.imag.copy()


def complex_(*shape: int) -> Any:
    return RNG.normal(size=shape) + 1j * RNG.normal(size=shape)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("norm", NORMS)
def test_values_of_one_axis(n: int, norm: Any) -> None:
    x, z = RNG.normal(size=n), complex_(n)
    for name in ("fft", "ifft"):
        near(getattr(ct.fft, name)(norm=norm)(*parts(z)), getattr(np.fft, name)(z, norm=norm))
        near(getattr(ct.fft, name)(norm=norm)(x), getattr(np.fft, name)(x, norm=norm))
    for name in ("rfft", "ihfft"):
        near(getattr(ct.fft, name)(norm=norm)(x), getattr(np.fft, name)(x, norm=norm))
    for name in ("irfft", "hfft"):
        for m in (n, n + 1, 2 * n, 2 * n + 1, 2 * n - 1):
            near(getattr(ct.fft, name)(m, norm=norm)(*parts(z)), getattr(np.fft, name)(z, m, norm=norm))
        if n > 1:
            near(getattr(ct.fft, name)(norm=norm)(*parts(z)), getattr(np.fft, name)(z, norm=norm))


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("norm", NORMS)
def test_values_of_cosines_and_sines(n: int, norm: Any) -> None:
    x = RNG.normal(size=n)
    for name, type in itertools.product(("dct", "idct", "dst", "idst"), range(1, 5)):
        if n == 1 and "c" in name and type == 1:
            with pytest.raises(ct.SpaceError, match="too few points"):
                getattr(ct.fft, name)(type, norm=norm)(x)
            continue
        near(getattr(ct.fft, name)(type, norm=norm)(x), getattr(scipy.fft, name)(x, type, norm=norm))


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
@pytest.mark.parametrize("n", [None, 2, 4, 5, 9])
def test_values_along_an_axis_cut_and_padded(axis: int, n: int | None) -> None:
    x, z = RNG.normal(size=(4, 5, 6)), complex_(4, 5, 6)
    for name in ("fft", "ifft", "irfft", "hfft"):
        near(getattr(ct.fft, name)(n, axis)(*parts(z)), getattr(np.fft, name)(z, n, axis))
    for name in ("rfft", "ihfft"):
        near(getattr(ct.fft, name)(n, axis)(x), getattr(np.fft, name)(x, n, axis))
    for name in ("dct", "idct", "dst", "idst"):
        near(getattr(ct.fft, name)(3, n, axis)(x), getattr(scipy.fft, name)(x, 3, n, axis))


AXES = [(None, None), ((3, 8), None), (None, (0, 2)), ((5, 2), (2, 0)), ((-1, 7), (1, 0)), (None, (1,))]


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize("name", ["dct", "dst"])
def test_types_1_and_4_where_a_library_lacks_them(name: str, norm: str) -> None:
    for type, n, dtype in itertools.product((1, 4), (2, 3, 4, 9), ("float64", "float32")):
        x = RNG.normal(size=(3, n, 2)).astype(dtype)
        for axes in ((1,), (0, 1)):
            found = of_type_1_or_4(np, name, type, x, axes, norm)
            assert found.dtype == x.dtype
            near(found, getattr(scipy.fft, f"{name}n")(x, type, axes=axes, norm=norm))


@pytest.mark.parametrize(("s", "axes"), AXES)
@pytest.mark.parametrize("norm", NORMS)
def test_values_along_several_axes(s: Any, axes: Any, norm: Any) -> None:
    x, z = RNG.normal(size=(4, 5, 6)), complex_(4, 5, 6)
    for name in ("fftn", "ifftn", "irfftn"):
        near(getattr(ct.fft, name)(s, axes, norm)(*parts(z)), getattr(scipy.fft, name)(z, s, axes, norm))
    near(ct.fft.rfftn(s, axes, norm)(x), scipy.fft.rfftn(x, s, axes, norm))
    for name, type in itertools.product(("dctn", "idctn", "dstn", "idstn"), range(1, 5)):
        near(getattr(ct.fft, name)(type, s, axes, norm)(x), getattr(scipy.fft, name)(x, type, s, axes, norm))


def test_values_along_two_axes() -> None:
    x, z = RNG.normal(size=(3, 4, 5)), complex_(3, 4, 5)
    for name in ("fft2", "ifft2", "irfft2"):
        near(getattr(ct.fft, name)()(*parts(z)), getattr(np.fft, name)(z))
        near(getattr(ct.fft, name)((4, 4), (0, 2), "ortho")(*parts(z)), getattr(scipy.fft, name)(z, (4, 4), (0, 2), "ortho"))
    near(ct.fft.rfft2()(x), np.fft.rfft2(x))


def test_dtypes_orders_and_empty_batches() -> None:
    x = RNG.normal(size=(6, 4))
    near(ct.fft.rfft()(x.astype(np.float32)), scipy.fft.rfft(x.astype(np.float32)))
    near(ct.fft.dct()(x.astype(np.float32)), scipy.fft.dct(x.astype(np.float32)))
    near(ct.fft.rfft()(np.arange(6)), np.fft.rfft(np.arange(6)))
    near(ct.fft.fft()(np.arange(6) > 2), np.fft.fft(np.arange(6) > 2))
    near(ct.fft.fft()(x.T[::-1, ::2], x.T[:, 1::2]), np.fft.fft(x.T[::-1, ::2] + 1j * x.T[:, 1::2]))
    near(ct.fft.fft()(np.ones(3, np.float32), np.ones(3)), np.fft.fft(np.ones(3) * (1 + 1j)))
    near(ct.fft.rfft()(np.zeros((0, 4))), np.fft.rfft(np.zeros((0, 4))))
    near(ct.fft.fft(axis=0)(np.zeros((4, 0))), np.fft.fft(np.zeros((4, 0)), axis=0))
    near(ct.fft.rfft(5)(np.zeros(0)), np.fft.rfft(np.zeros(0), 5))
    given = x[0].copy(), x[1].copy()
    ct.fft.irfft()(*given), ct.fft.fft()(*given), ct.fft.dct(3)(given[0])
    assert (given[0] == x[0]).all() and (given[1] == x[1]).all()
    bad = np.array([[1.0, np.nan, 2.0], [1.0, np.inf, 2.0], [1.0, 2.0, 3.0]])
    assert np.isfinite(ct.fft.rfft()(bad)[0]).tolist() == np.isfinite(np.fft.rfft(bad).real).tolist()


def transforms(n: int) -> list[Any]:
    """Each transform with its argument."""
    x, z = RNG.normal(size=n), parts(complex_(n))
    made: list[Any] = []
    for norm in SCALES:
        made += [(f(norm=norm), z) for f in (ct.fft.fft, ct.fft.ifft)]
        made += [(f(norm=norm), (x,)) for f in (ct.fft.rfft, ct.fft.ihfft)]
        made += [(ct.fft.irfft(m, norm=norm), z) for m in (2 * n - 1, 2 * n)] + [(ct.fft.hfft(2 * n, norm=norm), z)]
        for type in range(1, 5):
            if n > 1 or type > 1:
                made += [(ct.fft.dct(type, norm=norm), (x,)), (ct.fft.idct(type, norm=norm), (x,))]
            made += [(ct.fft.dst(type, norm=norm), (x,)), (ct.fft.idst(type, norm=norm), (x,))]
    return made


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8])
def test_transposes_are_those_of_the_matrix(n: int) -> None:
    for f, given in transforms(n):
        L = ct.linearize(f, given if len(given) > 1 else given[0])[1]
        dense, back = np.asarray(L.todense()).reshape(L.shape), np.asarray(L.T.todense()).reshape(L.T.shape)
        np.testing.assert_allclose(back, dense.T, atol=1e-13 * max(1.0, np.abs(dense).max()), err_msg=repr(f))
        again = np.asarray(L.T.T.todense()).reshape(L.shape)
        np.testing.assert_allclose(again, dense, atol=1e-13 * max(1.0, np.abs(dense).max()))


def hows(n: int, axes: tuple[int, ...] = (0,)) -> list[tuple[How, Tensor]]:
    """Families without padding and cutting, and the space of a leaf of the argument."""
    half = n // 2 + 1
    shape = [n] * len(axes)
    made = []
    for norm in SCALES:
        for inverse in (False, True):
            made.append((How("c2c", axes, norm, inverse), shape))
        for kind, turned in itertools.product(("r2c", "c2r"), (False, True)):
            how = How(kind, axes, norm, n=n, turned=turned)
            made.append((how, shape if how.halves else [half if k == axes[-1] else n for k in range(len(axes))]))
        for kind, type in itertools.product(("dct", "dst"), range(1, 5)):
            if n > 1 or (kind, type) != ("dct", 1):
                made += [(How(kind, axes, norm, type=type), shape), (How(kind, axes, norm, type=type).T, shape)]
    return [(how, Tensor(shape, np.float64)) for how, shape in made]


def dense_of(S: Fourier) -> Any:
    space = lambda leaves: leaves[0] if len(leaves) == 1 else ct.product(*leaves)  # noqa: E731
    L = ct.LinearMap(space(S.dom), space(S.cod), S, ())
    return np.asarray(L.todense()).reshape(L.shape)


@pytest.mark.parametrize(("n", "axes"), [(1, (0,)), (2, (0,)), (5, (0,)), (6, (0,)), (3, (0, 1)), (4, (1, 0))])
def test_families_their_transposes_and_products(n: int, axes: tuple[int, ...]) -> None:
    every = [Fourier(how, space) for how, space in hows(n, axes)]
    arrays = [dense_of(S) for S in every]
    multiplied = 0
    for S, A in zip(every, arrays, strict=True):
        np.testing.assert_allclose(dense_of(S.T), A.T, atol=1e-13 * np.abs(A).max())
        assert S.T.T == S and S.nnz == A.size and S.is_lazy
    for (S, A), (R, B) in itertools.product(zip(every, arrays, strict=True), repeat=2):
        if S.cod != R.dom:
            continue
        found = multiply(S, R)
        if found is not None:
            multiplied += 1
            np.testing.assert_allclose(dense_of(found.structure), B @ A, atol=1e-12 * max(1.0, np.abs(B @ A).max()))
            assert found.structure.stored == 0
    assert multiplied > 60


def test_a_transform_and_its_inverse_are_the_identity() -> None:
    x = RNG.normal(size=8)
    sines = ct.fft.dst(1, norm="ortho") >> ct.fft.idst(1, norm="ortho")
    for f in (ct.fft.rfft() >> ct.fft.irfft(8), ct.fft.dct() >> ct.fft.idct(), sines):
        L = ct.jacobian(f)(x)
        assert L.kind == "identity" and np.array_equal(L.todense(), np.eye(8))
    twice = ct.jacobian(ct.fft.dct(4) >> ct.fft.dct(4))(x)
    assert twice.kind == "scale" and np.array_equal(twice.todense(), 16 * np.eye(8))
    L = ct.linearize(ct.fft.rfft(), x)[1]
    dense = np.asarray(L.todense()).reshape(10, 8)
    near(np.asarray((L.T @ L).todense()), dense.T @ dense)


@pytest.mark.parametrize("n", [1, 2, 5, 8, 600])
def test_solutions_are_the_transform_back(n: int) -> None:
    real: list[Any] = [ct.fft.dct(2), ct.fft.dct(3, norm="forward"), ct.fft.dst(1)]
    for f, given in [(ct.fft.fft(norm="ortho"), 2), (ct.fft.ifft(), 2), *[(one, 1) for one in real]]:
        x = tuple([RNG.normal(size=n) for _ in range(given)])
        L = ct.linearize(f, x if given > 1 else x[0])[1]
        for M in (L, L.T):
            assert M.solver.method == "fourier" and M.solver.order == "O(n log n)"
            y = M(x if given > 1 else x[0])
            back = M.solve(y)
            for got, want in zip(back if given > 1 else (back,), x, strict=True):
                near(got, want)


@pytest.mark.parametrize("n", [1, 2, 5, 6])
def test_derivatives(n: int) -> None:
    x, z = RNG.normal(size=n), parts(complex_(n))
    two = ct.cross(ct.square, ct.sin) >> ct.add
    check_grads(ct.fft.fft(n + 1) >> two, *z, order=2)
    check_grads(ct.fft.rfft(norm="ortho") >> two, x, order=2)
    check_grads(ct.fft.irfft(n) >> ct.sin, *z, order=2)
    check_grads(ct.fft.dct(3, norm="forward") >> ct.sin, x, order=2)
    check_grads(ct.fft.dst(2) >> ct.sin, x, order=2)
    check_laws(ct.fft.rfft(), x)
    check_laws(ct.fft.hfft(n + 1), *z)


def test_linear_maps_of_several_axes() -> None:
    x, z = RNG.normal(size=(3, 4)), parts(complex_(3, 4))
    of_pairs, real = (ct.fft.irfftn((5, 3)), ct.fft.fftn(axes=(0,))), (ct.fft.rfft2(), ct.fft.dctn(1), ct.fft.fftshift())
    for f, given in [*[(one, z) for one in of_pairs], *[(one, x) for one in real]]:
        check_linear_map(ct.linearize(f, given)[1])


def test_batches_are_one_transform() -> None:
    x, z = RNG.normal(size=(4, 6)), complex_(4, 6)
    for f, given, want in [
        (ct.fft.rfft(), (x,), np.fft.rfft(x)),
        (ct.fft.irfft(), parts(z), np.fft.irfft(z)),
        (ct.fft.dct(), (x,), scipy.fft.dct(x)),
    ]:
        near(ct.vmap(f)(*given), want)
        boxes = ct.wire(ct.map(f), ct.space_of(given if len(given) > 1 else given[0])).boxes
        assert sum(isinstance(box.primitive, Transform) for box in boxes) == 1


def test_a_circulant_stays_a_chain_and_is_solved_by_its_spectrum() -> None:
    n = 700
    spectrum = 2.0 + parts(complex_(n))[0], parts(complex_(n))[1]

    def multiplied(re: Any, im: Any) -> Any:
        return re * spectrum[0] - im * spectrum[1], re * spectrum[1] + im * spectrum[0]

    f = ct.fft.fft() >> ct.function(multiplied) >> ct.fft.ifft()
    z = parts(complex_(n))
    L = ct.jacobian(f)(*z)
    assert L.kind == "chain of fourier >> block 2x2 >> inverse fourier" and L.stored == 3 * n
    back = L.solve(L(z))
    for got, want in zip(back, z, strict=True):
        np.testing.assert_allclose(got, want, atol=1e-9)


@pytest.mark.parametrize("n", [1, 2, 5, 8, 701])
@pytest.mark.parametrize("norms", [(None, None), ("ortho", "forward")])
def test_a_real_circulant_is_solved_by_its_spectrum(n: int, norms: Any) -> None:
    turns = RNG.uniform(2.0, 4.0, n // 2 + 1) * np.exp(1j * RNG.uniform(0.0, 6.0, n // 2 + 1))
    spectrum = turns.real + (np.arange(n // 2 + 1) == 0) * 3.0, turns.imag.copy()
    if n % 2 == 0:
        spectrum[0][-1] = -2.0

    def multiplied(re: Any, im: Any) -> Any:
        return re * spectrum[0] - im * spectrum[1], re * spectrum[1] + im * spectrum[0]

    steps = ct.fft.rfft(norm=norms[0]), ct.function(multiplied), ct.fft.irfft(n, norm=norms[1])
    x, maps, at = RNG.normal(size=n), [], None
    at = x
    for step in steps:
        at, one = ct.linearize(step, at)
        maps.append(one)
    L = maps[0] >> maps[1] >> maps[2]
    for M in (L, L.T):
        assert M.solver.method == "spectrum" and M.solver.order == "O(n log n)"
        np.testing.assert_allclose(M.solve(M(x)), x, rtol=0, atol=1e-11 * np.abs(x).max())
        np.testing.assert_allclose(M(M.solve(x)), x, rtol=0, atol=1e-11 * np.abs(x).max())
    f = steps[0] >> steps[1] >> steps[2]
    if n > 500:
        assert ct.jacobian(f)(x).kind == "chain of fourier >> block 2x2 >> inverse fourier"
    H = ct.hessian(f >> ct.square >> ct.sum())(x)
    np.testing.assert_allclose(H.solve(H(x)), x, rtol=0, atol=1e-9)
    real = spectrum[0] * (np.arange(n // 2 + 1) > 0)  # the imaginary part of the first frequency is not read
    zero = ct.linearize(ct.function(lambda re, im: (re * real + im, im * real - re)), steps[0](x))[1]
    with pytest.raises(ct.SolveError, match="singular"):
        (maps[0] >> zero >> maps[2]).solve(x)


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_systems_of_circulants(n: int) -> None:
    c, b, wide, many = RNG.normal(size=n), RNG.normal(size=n), RNG.normal(size=(n, 3)), RNG.normal(size=(3, n))
    c[0] += 2.0 * n + 2.0
    many[:, 0] += 2.0 * n + 2.0
    solve = ct.linalg.solve_circulant()
    for column, right in [(c, b), (c, wide), (many, b), (many, wide), (c.astype(np.float32), b.astype(np.float32))]:
        near(solve(column, right), scipy.linalg.solve_circulant(column, right))
    near(solve(np.array([3, 1, 0]), np.array([1, 2, 3])), scipy.linalg.solve_circulant([3, 1, 0], [1, 2, 3]))
    check_grads(solve >> ct.sin, c, b, order=2)
    assert ct.jacobian(lambda right: solve(c, right))(b).stored <= 4 * n
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        solve(np.ones(n) if n > 1 else np.zeros(1), b)
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        ct.linalg.solve_circulant(1e3)(c, b)
    assert np.isnan(solve(np.full(n, np.nan), b)).all()
    for bad in ((c, b[1:]), (np.float64(1.0), b), (np.zeros(0), np.zeros(0))):
        with pytest.raises(ct.SpaceError):
            solve(*bad)
    with pytest.raises(ct.ArgumentError):
        ct.linalg.solve_circulant(-1.0)


def test_large_and_small_circulants_do_not_overflow() -> None:
    c = np.array([4.0, 1.0, 0.5])
    for scale in (1e200, 1e-200):
        want = scipy.linalg.solve_circulant(c, c)
        near(ct.linalg.solve_circulant()(scale * c, scale * c), want)


@pytest.mark.parametrize("n", [1, 2, 5, 6])
def test_order_and_frequencies(n: int) -> None:
    x = RNG.normal(size=(n, 4))
    for name in ("fftshift", "ifftshift"):
        for axes in (None, 0, -1, (0, 1)):
            assert np.array_equal(getattr(ct.fft, name)(axes)(x), getattr(np.fft, name)(x, axes))
        assert np.array_equal(getattr(ct.fft, name)()(x, -x)[1], getattr(np.fft, name)(-x))
    for name in ("fftfreq", "rfftfreq"):
        assert np.array_equal(getattr(ct.fft, name)(n, 0.3)(x), getattr(np.fft, name)(n, 0.3))
    check_grads(ct.fft.fftshift() >> ct.sin, x, order=1)


def test_errors_say_what_was_given() -> None:
    x = np.ones(4)
    wrong: list[Any] = [(ct.fft.fft, (None, -1, "best")), (ct.fft.fft, (0,)), (ct.fft.dct, (5,)), (ct.fft.dct, (True,))]
    for make, parameters in [*wrong, (ct.fft.fftfreq, (0,)), (ct.fft.fftfreq, (3, 0.0)), (ct.fft.fftconvolve, ("half",))]:
        with pytest.raises(ct.ArgumentError):
            make(*parameters)
    for f, given in [
        (ct.fft.rfft(), (x, x)), (ct.fft.fft(), (x, x[1:])), (ct.fft.fft(axis=1), (x,)), (ct.fft.fftn(axes=(0, 0)), (x,)),
        (ct.fft.fftn((3, 3), (0,)), (x,)), (ct.fft.fft(), (x[:0],)), (ct.fft.rfft(), (x[:0],)), (ct.fft.irfft(), (x[:1],)),
        (ct.fft.dct(1), (x[:1],)), (ct.fft.rfft(), (np.float64(1.0),)), (ct.fft.rfftn(axes=()), (x,)), (ct.fft.fft(), (x, x, x)),
    ]:  # fmt: skip
        with pytest.raises(ct.SpaceError):
            f(*given)


@pytest.mark.parametrize("name", [name for name in ct.fft.__all__ if "freq" not in name])
def test_terms_print_as_they_are_written(name: str) -> None:
    f = getattr(ct.fft, name)()
    assert repr(f) in (f"ct.fft.{name}()", f"ct.fft.{name}(axes=(-2, -1))") and eval(repr(f), {"ct": ct}) == f


# -- convolutions


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 4), (4, 1), (7, 3), (3, 7), (6, 6), (50, 9)])
def test_convolutions(n: int, m: int, mode: str) -> None:
    import scipy.signal

    a, v = RNG.normal(size=n), RNG.normal(size=m)
    near(ct.fft.fftconvolve(mode)(a, v), scipy.signal.fftconvolve(a, v, mode))
    short = a.astype(np.float32), v.astype(np.float32)
    near(ct.fft.fftconvolve(mode)(*short), scipy.signal.fftconvolve(*short, mode))
    if n < 10:
        check_grads(ct.fft.fftconvolve(mode) >> ct.sin, a, v, order=2)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize(("n", "m"), [(64, 64), (100, 70), (70, 100), (300, 64), (64, 63)])
def test_long_convolutions_of_numpy(n: int, m: int, mode: str) -> None:
    a, v = RNG.normal(size=n), RNG.normal(size=m)
    bad = a.copy()
    bad[3], bad[40] = np.nan, np.inf

    def convolved(a: Any, v: Any) -> Any:
        return np.convolve(a, v, mode)

    def correlated(a: Any, v: Any) -> Any:
        return np.correlate(a, v, mode)

    for fn in (convolved, correlated):
        f = ct.function(fn)
        near(f(a, v), fn(a, v))
        near(f(a.astype(np.float32), v.astype(np.float32)), fn(a.astype(np.float32), v.astype(np.float32)))
        np.testing.assert_allclose(f(bad, v), fn(bad, v), atol=1e-12)  # NaN and infinity at the same places
        np.testing.assert_allclose(ct.vmap(f)(np.stack([a, bad]), np.stack([v, -v])), [fn(a, v), fn(bad, -v)], atol=1e-12)
        whole = np.arange(n), np.arange(m)
        assert f(*whole).dtype == fn(*whole).dtype and np.array_equal(f(*whole), fn(*whole))
        met = [type(box.primitive).__name__ for box in ct.wire(f, ct.space_of((a, v))).boxes]
        assert ("Transform" in met) == (min(n, m) >= 64)
    if n == m:
        check_grads(ct.function(convolved) >> ct.sin, a, v, order=2)


def test_a_long_convolution_has_a_short_jacobian() -> None:
    a, v = RNG.normal(size=4000), RNG.normal(size=500)
    L = ct.linearize(ct.function(lambda a: np.convolve(a, v)), a)[1]
    assert L.stored < 10 * 4500
    w = RNG.normal(size=4499)
    near(L.T(w), np.correlate(w, v, "valid"))

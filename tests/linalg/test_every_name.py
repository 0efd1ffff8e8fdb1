"""Every name of linear algebra and Fourier transforms of NumPy and SciPy: its results and derivatives, or what to write."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
import scipy.fft as sf
import scipy.linalg as sl
import scipy.signal as ss
from numpy import linalg as la

import catad as ct
from catad.testing import check_grads

rng = np.random.default_rng(5)
A = rng.normal(size=(3, 3)) + 3 * np.eye(3)
X, v = rng.normal(size=(3, 4)), rng.normal(size=3)
B = np.stack([np.r_[0.0, 0.4, 0.3], [4.0, 5.0, 6.0], np.r_[0.2, 0.5, 0.0]])


def spd(a: Any) -> Any:
    return a @ a.T + np.eye(3)


def both(z: Any) -> Any:
    return np.stack([z.real, z.imag])


def rebuilt(w: Any, v: Any) -> Any:
    return ((v * w**2) @ la.inv(v)).real


def each(place: Any, names: str, called: Any) -> dict[str, Any]:
    return {name: lambda a, name=name: called(getattr(place, name), a) for name in names.split()}


def cosines(f: Any, a: Any) -> Any:
    return [f(a, kind, norm=norm) for kind in (1, 2, 3, 4) for norm in (None, "ortho")]


# name of a module: name of a function: what is called, and the argument; A if there is none
CASES: dict[str, dict[str, Any]] = {
    "numpy.linalg": {
        "matrix_power": lambda a: (la.matrix_power(a, 3), la.matrix_power(a, -2), la.matrix_power(a, 0), la.matrix_power(a, 37)),
        "solve": lambda a: (la.solve(a, v), la.solve(a, a.T)),
        "tensorsolve": lambda a: la.tensorsolve(a, v),
        "tensorinv": lambda a: la.tensorinv(a, 1),
        "inv": lambda a: la.inv(a),
        "cholesky": lambda a: (la.cholesky(spd(a)), la.cholesky(spd(a), upper=True)),
        "eigvalsh": lambda a: (la.eigvalsh(a + a.T), la.eigvalsh(a + a.T, UPLO="U")),
        "pinv": lambda a: (la.pinv(a[:, :2]), la.pinv(a + a.T, hermitian=True), la.pinv(a, rtol=1e-9)),
        "slogdet": lambda a: tuple(la.slogdet(a)),
        "det": lambda a: la.det(a),
        "svd": lambda a: la.svd(a[:2]).S,
        "svdvals": lambda a: la.svdvals(a),
        "eig": lambda a: rebuilt(*la.eig(a)),
        "eigvals": lambda a: np.sum(la.eigvals(a) ** 3).real,
        "eigh": lambda a: (la.eigh(a + a.T).eigenvalues, la.eigh(a + a.T).eigenvectors ** 2),
        "lstsq": lambda a: la.lstsq(a[:, :2], v)[:2],
        "norm": lambda a: [la.norm(a, p) for p in (None, "fro", "nuc", 2, -2, 1, -1, np.inf, -np.inf)]
        + [la.norm(a, p, axis=0, keepdims=True) for p in (None, 1, 2, 3, -1, -2, 0.5, np.inf, -np.inf)],
        "qr": lambda a: [abs(la.qr(a, mode).R) for mode in ("reduced", "complete")] + [abs(la.qr(a, "r"))],
        "cond": lambda a: [la.cond(a, p) for p in (None, 1, -2, "fro", np.inf)],
        "matrix_rank": lambda a: (la.matrix_rank(a), la.matrix_rank(a, tol=3.0), la.matrix_rank(a + a.T, hermitian=True)),
        "multi_dot": lambda a: (la.multi_dot([v, a, a[:, :2], a[:2]]), la.multi_dot([a, v]), la.multi_dot((v, a, v))),
        "trace": lambda a: la.trace(a, offset=1),
        "diagonal": lambda a: la.diagonal(a, offset=-1),
        "cross": lambda a: (la.cross(a, a[::-1]), la.cross(a, v[:, None], axis=0)),
        "outer": lambda a: la.outer(a[0], a[1]),
        "tensordot": lambda a: (la.tensordot(a, X, axes=1), la.tensordot(a, a, axes=([0, 1], [1, 0]))),
        "matmul": lambda a: la.matmul(a, X),
        "matrix_transpose": lambda a: la.matrix_transpose(a) * X[:, :3],
        "matrix_norm": lambda a: [la.matrix_norm(a, ord=p, keepdims=True) for p in ("fro", "nuc", 2, 1, -np.inf)],
        "vector_norm": lambda a: [la.vector_norm(a, ord=p, axis=(0, 1)) for p in (2, 1, 3, np.inf, -np.inf)],
        "vecdot": lambda a: la.vecdot(a, a[::-1], axis=0),
    },
    "numpy.fft": {
        **each(np.fft, "fft ifft rfft ihfft fftn ifftn rfftn fft2 ifft2 rfft2", lambda f, a: both(f(a))),
        **each(np.fft, "irfft hfft irfftn irfft2", lambda f, a: f(a + 1j * a.T)),
        **each(np.fft, "fftshift ifftshift", lambda f, a: f(a, axes=0) * X[:, :3]),
        **each(np.fft, "fftfreq rfftfreq", lambda f, a: f(a.shape[0], 0.5)[:2] * a[:, :2]),
    },
    "scipy.fft": {
        **each(sf, "fft ifft rfft ihfft fftn ifftn rfftn fft2 ifft2 rfft2 ihfft2 ihfftn", lambda f, a: both(f(a))),
        **each(sf, "irfft hfft irfftn irfft2 hfft2 hfftn", lambda f, a: f(a + 1j * a.T)),
        **each(sf, "dct idct dst idst dctn idctn dstn idstn", cosines),
        **each(sf, "fftshift ifftshift", lambda f, a: f(a, axes=0) * X[:, :3]),
        **each(sf, "fftfreq rfftfreq", lambda f, a: f(a.shape[0], 0.5)[:2] * a[:, :2]),
        **each(sf, "next_fast_len prev_fast_len", lambda f, a: f(len(a) + 8) * a),
    },
    "scipy.signal": {
        "convolve": lambda a: [ss.convolve(a, X, mode) for mode in ("full", "same")] + [ss.convolve(a[0], v, "valid")],
        "correlate": lambda a: [ss.correlate(a, X, mode) for mode in ("full", "same")] + [ss.correlate(a[0], v, "valid")],
        "fftconvolve": lambda a: [ss.fftconvolve(a, X, mode) for mode in ("full", "same")] + [ss.fftconvolve(a[0], v, "valid")],
        "oaconvolve": lambda a: [ss.oaconvolve(a, X, mode) for mode in ("full", "same")] + [ss.oaconvolve(a[0], v, "valid")],
    },
    "scipy.linalg": {
        "block_diag": lambda a: sl.block_diag(a, v, 2.0),
        "cho_factor": lambda a: [np.triu(sl.cho_factor(spd(a))[0]), np.tril(sl.cho_factor(spd(a), True)[0])],
        "cho_solve": lambda a: [sl.cho_solve(sl.cho_factor(spd(a), low), X) for low in (False, True)],
        "cholesky": lambda a: [sl.cholesky(spd(a), low) for low in (False, True)],
        "circulant": lambda a: sl.circulant(a[0]),
        "companion": lambda a: (sl.companion(a[0]), sl.companion(a)),
        "convolution_matrix": lambda a: [sl.convolution_matrix(a[0], n, m) for n in (2, 3, 5) for m in ("full", "same", "valid")],
        "coshm": lambda a: sl.coshm(a),
        "cosm": lambda a: sl.cosm(a),
        "det": lambda a: sl.det(a),
        "diagsvd": lambda a: (sl.diagsvd(a[0], 3, 5), sl.diagsvd(a[0], 4, 3)),
        "eig": lambda a: rebuilt(*sl.eig(a)),
        "eigvals": lambda a: np.sum(sl.eigvals(a) ** 3).real,
        "eigh": lambda a: (sl.eigh(a + a.T, eigvals_only=True), sl.eigh(a + a.T, spd(a))[1] ** 2),
        "eigvalsh": lambda a: (sl.eigvalsh(a + a.T, subset_by_index=[1, 2]), sl.eigvalsh(a + a.T, spd(a))),
        "expm": lambda a: sl.expm(a),
        "expm_frechet": lambda a: (sl.expm_frechet(a, a.T), sl.expm_frechet(a, X[:, :3], compute_expm=False)),
        "fiedler": lambda a: sl.fiedler(a[0]),
        "fractional_matrix_power": lambda a: (sl.fractional_matrix_power(a, 3), sl.fractional_matrix_power(a, -2.0)),
        "hankel": lambda a: (sl.hankel(a[0]), sl.hankel(a[0], X[0])),
        "inv": lambda a: (sl.inv(a), sl.inv(spd(a))),
        "ishermitian": lambda a: (sl.ishermitian(a), sl.ishermitian(a + a.T), sl.ishermitian(a, atol=9.0, rtol=0.0)),
        "issymmetric": lambda a: (sl.issymmetric(a), sl.issymmetric(a + a.T, rtol=1e-9), sl.issymmetric(a, atol=9.0)),
        "khatri_rao": lambda a: sl.khatri_rao(a, X[:, :3]),
        "leslie": lambda a: sl.leslie(a[0], a[1, :2]),
        "lstsq": lambda a: sl.lstsq(a[:, :2], v)[:2],
        "lu": lambda a: (sl.lu(a), sl.lu(a[:, :2]), sl.lu(a[:2]), sl.lu(a, permute_l=True), sl.lu(a, p_indices=True)),
        "lu_factor": lambda a: sl.lu_factor(a),
        "lu_solve": lambda a: [sl.lu_solve(sl.lu_factor(a), X, trans) for trans in (0, 1)],
        "matmul_toeplitz": lambda a: (sl.matmul_toeplitz(a[0], a), sl.matmul_toeplitz((a[0, :2], a[1]), a[2])),
        "norm": lambda a: [sl.norm(a, p) for p in (None, "fro", "nuc", 2, -2, 1, -1, np.inf, -np.inf)],
        "pinv": lambda a: (sl.pinv(a[:, :2]), sl.pinv(a, rtol=1e-9, return_rank=True)),
        "pinvh": lambda a: (sl.pinvh(a + a.T), sl.pinvh(a + a.T, lower=False, return_rank=True)),
        "qr": lambda a: [abs(sl.qr(a, mode=m, pivoting=p)[-1 - p]) for m in ("full", "r", "economic") for p in (False, True)],
        "sinhm": lambda a: sl.sinhm(a),
        "sinm": lambda a: sl.sinm(a),
        "solve": lambda a: (sl.solve(a, v), sl.solve(spd(a), X, assume_a="pos"), sl.solve(a, X, transposed=True)),
        "solve_banded": (lambda a: sl.solve_banded((1, 1), a, v), B),
        "solve_circulant": lambda a: sl.solve_circulant(a[0], X),
        "solve_toeplitz": lambda a: (sl.solve_toeplitz(a[0], v), sl.solve_toeplitz((a[0], a[0, 0] * v), X)),
        "solve_triangular": lambda a: [sl.solve_triangular(a, X, t, low, one) for t in "NT" for low in (0, 1) for one in (0, 1)],
        "solveh_banded": (lambda a: (sl.solveh_banded(a[:2], v), sl.solveh_banded(a[1:], v, lower=True)), B),
        "svd": lambda a: sl.svd(a[:2])[1],
        "svdvals": lambda a: sl.svdvals(a),
        "tanhm": lambda a: sl.tanhm(a),
        "tanm": lambda a: sl.tanm(a / 9),
        "toeplitz": lambda a: (sl.toeplitz(a[0]), sl.toeplitz(a[0], X[0])),
    },
}  # fmt: skip

OF_NUMBERS = "dft hadamard helmert hilbert invhilbert invpascal pascal"  # they take sizes
OUTSIDE = {  # errors, modules, and what says how others run
    "numpy.linalg": "LinAlgError",
    "scipy.linalg": "LinAlgError LinAlgWarning find_best_blas_type get_blas_funcs get_lapack_funcs",
    "scipy.fft": "set_backend skip_backend set_global_backend register_backend get_workers set_workers fht ifht fhtoffset",
}
_REFUSED: dict[str, tuple[Any, ...]] = {  # arguments beside A
    """null_space orth polar hessenberg ldl rq cossin bandwidth matrix_balance expm_cond eig_banded eigvals_banded
    cholesky_banded fiedler_companion sqrtm logm schur signm""": (),
    """solve_lyapunov solve_continuous_lyapunov solve_discrete_lyapunov qz qr_multiply subspace_angles cdf2rdf rsf2csf
    orthogonal_procrustes""": (A,),
    "solve_sylvester ordqz": (A, A),
    "solve_continuous_are solve_discrete_are": (A, A, A),
    "eigh_tridiagonal eigvalsh_tridiagonal": (v,),
    "cho_solve_banded": (True, v),
    "clarkson_woodruff_transform": (2,),
    "funm": (np.sin,),
    "qr_delete": (A, 0),
    "qr_insert": (A, v, 0),
    "qr_update": (A, v, v),
}
REFUSED = {name: args for names, args in _REFUSED.items() for name in names.split()}
CONSTANT_RESULTS = {"matrix_rank", "ishermitian", "issymmetric"}
ALL = [(module, name) for module, cases in CASES.items() for name in cases]
MODULES = {"numpy.linalg": la, "numpy.fft": np.fft, "scipy.fft": sf, "scipy.linalg": sl}


def flat(value: Any) -> list[Any]:
    return [leaf for part in value for leaf in flat(part)] if isinstance(value, (tuple, list)) else [np.asarray(value)]


def case(module: str, name: str) -> tuple[Any, Any]:
    made = CASES[module][name]
    return made if isinstance(made, tuple) else (made, A)


@pytest.mark.parametrize("module", MODULES)
def test_no_name_is_left_out(module: str) -> None:
    place = MODULES[module]
    names = {name for name in place.__all__ if not inspect.ismodule(getattr(place, name))}
    known = {*CASES[module], *OUTSIDE.get(module, "").split()}
    if place is sl:
        known |= {*OF_NUMBERS.split(), *REFUSED}
        known = {name for name in known if hasattr(sl, name)}  # some came with a later SciPy
    assert names <= known, f"nobody knows {sorted(names - known)}"


@pytest.mark.parametrize(("module", "name"), ALL)
def test_results_are_those_of_the_library(module: str, name: str) -> None:
    f, x = case(module, name)
    for given in (x, x.astype(np.float32)):
        found, expected = flat(ct.function(f)(given)), flat(f(given))
        for one, own in zip(found, expected, strict=True):
            assert one.dtype == own.dtype and one.shape == own.shape
            tolerance = 1e-9 if given.dtype == np.float64 else 1e-3
            np.testing.assert_allclose(one, own, rtol=tolerance, atol=tolerance * max(1.0, np.abs(own).max(initial=0)))


@pytest.mark.parametrize(("module", "name"), ALL)
def test_derivatives_are_those_of_differences(module: str, name: str) -> None:
    f, x = case(module, name)
    if name not in CONSTANT_RESULTS:
        check_grads(ct.function(lambda a: tuple([y for y in leaves(f(a)) if y.dtype.kind == "f"])), x, order=1)


def leaves(value: Any) -> list[Any]:
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, (tuple, list)) else [value]


@pytest.mark.parametrize("name", OF_NUMBERS.split())
def test_matrices_of_sizes_are_constants(name: str) -> None:
    f = ct.function(lambda x: x * np.abs(getattr(sl, name)(4)))
    np.testing.assert_allclose(f(2.0), 2.0 * np.abs(getattr(sl, name)(4)))


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_traced_is_named_with_what_to_write(name: str) -> None:
    function, (first, *more) = getattr(sl, name), (*REFUSED[name], None)

    def called(a: Any) -> Any:
        if name == "cho_solve_banded":
            return function((a, True), v)
        return function(a) if first is None else function(a, first, *more[:-1])

    with pytest.raises(ct.TraceError) as caught:
        ct.function(called)(A)
    said = str(caught.value)
    assert said.startswith("scipy.linalg.") and "has no meaning" in said and "functions of NumPy" not in said
    constant = A.copy()
    others = ("cho_solve_banded", "cdf2rdf", "fiedler_companion", "clarkson_woodruff_transform")
    if name not in others:  # what depends on no argument, SciPy computes
        try:
            own = function(constant, *REFUSED[name])
        except (ValueError, TypeError, np.linalg.LinAlgError):
            return
        found = ct.function(lambda x: x * flat(function(np.asarray(constant), *REFUSED[name]))[0].real)(1.0)
        np.testing.assert_allclose(found, flat(own)[0].real)

"""Linear systems and decompositions, `ct.linalg`. Names and options are those of NumPy and SciPy.

Leading axes count matrices of a stack. Floats keep their dtype, integers become float64. A complex array is the pair of its real
and imaginary parts, (re, im), as an argument and as a result; singular values and eigenvalues of Hermitian matrices are real.
Derivatives are real-linear maps on pairs, and transposes in formulas are conjugate. See docs/linear-algebra.md.

>>> import catad as ct, numpy as np
>>> a = np.array([[2.0, 1.0], [1.0, 3.0]])
>>> x = ct.linalg.solve()(a, np.array([3.0, 4.0]))
>>> x.round(12), ct.grad(ct.linalg.det)(a).round(12)
(array([1., 1.]), array([[ 3., -1.],
       [-1.,  2.]]))
"""

from typing import TYPE_CHECKING

from catad.support.lazy_names import first_use

if TYPE_CHECKING:
    from catad.linalg.banded import solve_banded as solve_banded
    from catad.linalg.banded import solve_toeplitz as solve_toeplitz
    from catad.linalg.banded import solve_tridiagonal as solve_tridiagonal
    from catad.linalg.banded import solveh_banded as solveh_banded
    from catad.linalg.cholesky import cholesky as cholesky
    from catad.linalg.circulant import solve_circulant as solve_circulant
    from catad.linalg.determinant import det as det
    from catad.linalg.determinant import slogdet as slogdet
    from catad.linalg.eig import eig as eig
    from catad.linalg.eig import eigvals as eigvals
    from catad.linalg.eigh import eigh as eigh
    from catad.linalg.eigh import eigvalsh as eigvalsh
    from catad.linalg.expm import expm as expm
    from catad.linalg.lstsq import lstsq as lstsq
    from catad.linalg.lstsq import pinv as pinv
    from catad.linalg.lu import lu as lu
    from catad.linalg.lu import lu_factor as lu_factor
    from catad.linalg.lu import lu_solve as lu_solve
    from catad.linalg.qr import qr as qr
    from catad.linalg.solve import inv as inv
    from catad.linalg.solve import solve as solve
    from catad.linalg.spectral import cond as cond
    from catad.linalg.spectral import matrix_power as matrix_power
    from catad.linalg.spectral import matrix_rank as matrix_rank
    from catad.linalg.spectral import norm as norm
    from catad.linalg.svd import svd as svd
    from catad.linalg.svd import svdvals as svdvals

first_use(__name__)

"""Messages about Fourier transforms."""

from __future__ import annotations

from collections.abc import Sequence

from catad.errors.base import abbreviated, text


def not_complex(space: object, term: object) -> str:
    return text(
        "a transform of complex numbers takes one array, or the pair of their real and imaginary parts",
        given=space,
        expected="an array, or (re, im) of one shape",
        where=abbreviated(term),
        do="write ct.fft.fft()(z.real, z.imag) for an array z of complex numbers",
    )


def not_real(space: object, term: object) -> str:
    return text(
        "a transform of real numbers takes one array",
        given=space,
        expected="an array",
        where=abbreviated(term),
        do="write ct.fft.fft() for complex numbers",
    )


def too_few_points(least: int, given: int, axis: int, term: object) -> str:
    return text(
        "a transform has too few points",
        given=f"{given} along axis {axis}",
        expected=f"at least {least}",
        where=abbreviated(term),
        do="give the number of points: n= pads with zeros",
    )


def lengths_and_axes(lengths: object, axes: object, space: object, term: object) -> str:
    return text(
        "numbers of points do not fit the axes of a transform",
        given=f"s = {lengths}, axes = {axes} of {space}",
        expected="a number for each axis",
        where=abbreviated(term),
    )


def no_such_choice(what: str, given: object, known: Sequence[object]) -> str:
    return text(f"there is no {what} of this name", given=abbreviated(given), expected=", ".join([repr(k) for k in known]))


def two_arrays_of_one_axis(given: object, term: object) -> str:
    return text(
        "a convolution takes two arrays of one axis with entries",
        given=given,
        expected="(a, v), each (n,) with n > 0",
        where=abbreviated(term),
    )


def singular_circulant(n: int, least: float, bound: float) -> str:
    return text(
        "a circulant matrix is singular",
        given=f"a matrix of {n} rows, one of its eigenvalues has the absolute value {least:.3g}",
        expected=f"more than {bound:.3g}",
        do="add a multiple of the identity, that is a number to the first entry of the column",
    )


def circulant_and_right_hand_side(column: object, right: object, term: object) -> str:
    return text(
        "a circulant matrix and a right-hand side do not fit",
        given=f"{column} and {right}",
        expected="a first column c (..., n) and b (n, ...) with n > 0, whose other axes broadcast",
        where=abbreviated(term),
    )


def no_bound(name: str, given: object, least: float) -> str:
    expected = "a number, not negative" if least == 0 else "a number"
    return text(f"{name} bounds what counts as zero", given=abbreviated(given), expected=expected)

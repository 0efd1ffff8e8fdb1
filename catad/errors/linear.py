"""Messages about linear maps, derivatives and engines."""

from __future__ import annotations

from typing import Any

from catad.errors.base import abbreviated, about, text


def not_in_domain(space: object, dom: object, linear: object) -> str:
    return text("the argument does not lie in the domain of a linear map", given=space, expected=dom, where=linear)


def sum_of_unequal_spaces(a: object, b: object) -> str:
    return text("linear maps between different spaces cannot be combined", given=f"{a}\n            {b}")


def sum_of_map_and_array(linear: object, array: Any) -> str:
    return text(
        "a linear map cannot be added to an array",
        given=f"{linear}, and numbers of shape {array.shape}",
        expected="two linear maps, or two arrays",
        do="np.asarray(L) + A is an array; L + ct.linear.dense(A), or L + c * ct.linear.identity(L.dom), keeps the structure",
    )


def entries_of_a_map(linear: object) -> str:
    return text(
        "a linear map has no index",
        given=linear,
        do="np.asarray(L)[i, j] reads the matrix; L.diagonal() and L.blocks() are parts, L @ v and L.T @ v columns and rows",
    )


def too_large(rows: int, columns: int, itemsize: int, limit: int) -> str:
    size = rows * columns * itemsize
    return text(
        f"the dense matrix has {rows:,} x {columns:,} = {rows * columns:,} numbers, {size / 2**30:.2f} GiB",
        expected=f"at most {limit:,} numbers",
        do="use the map as it is (L @ v, L.tocsr(), L.as_linear_operator()), or L.todense(force=True)",
    )


def not_a_vector_space(leaf: object) -> str:
    return text("linear maps go between floating spaces", given=leaf, expected="float32 or float64")


def not_a_matrix(shape: object, dom: object) -> str:
    return text("an array of shape cod + dom is expected", given=f"shape {shape}, domain {dom}")


def no_view_of_a_map(linear: object) -> str:
    return text(
        "the dense array of a linear map is computed, not viewed",
        given=f"copy=False, {abbreviated(linear)}",
        do="leave copy out: np.asarray(L)",
    )


def no_steps(space: object) -> str:
    return text(
        "a recurrence goes along axis 0 of an array",
        given=space,
        expected="a floating tensor with at least one axis",
        do="write e.g. ct.linear.cumulative_sum(ct.f64[3])",
    )


def not_sparse(thing: object) -> str:
    return text(
        "a sparse matrix is expected",
        given=f"{abbreviated(thing)} of type {type(thing).__name__}",
        expected="a matrix or an array with two axes of scipy.sparse or cupyx.scipy.sparse",
        do="write ct.linear.dense(array) for an array",
    )


def not_a_linear_map(thing: object) -> str:
    return text(
        "a linear map is expected",
        given=f"{abbreviated(thing)} of type {type(thing).__name__}",
        expected="a ct.LinearMap, a 2-D floating array or a sparse matrix",
        do="convert an array of integers: A.astype(float)" if getattr(thing, "ndim", 0) == 2 else "write ct.linear.dense(A)",
    )


def not_a_train(thing: object) -> str:
    return text(
        "compForward and compReverse extend a train: a function from linear maps to linear maps",
        given=f"{abbreviated(thing)} of type {type(thing).__name__}",
        do="start a train with ct.id, e.g. ct.compForward(J)(ct.id)(M)",
    )


def wrong_columns(shape: object, space: Any, linear: object) -> str:
    return text(
        "an array does not fit a linear map",
        given=f"shape {shape}",
        expected=f"a value of {space!r}, a flattened vector of shape ({space.size},), or columns of shape ({space.size}, k)",
        where=linear,
    )


def wider_than_the_map(dtype: object, expected: object, linear: object) -> str:
    return text(
        "an array has a dtype that the numbers of a linear map do not hold",
        given=dtype,
        expected=expected,
        where=linear,
        do=f"convert the array: x.astype({str(expected)!r})",
    )


def no_reciprocal(number: object, linear: object) -> str:
    return text(
        "a linear map is divided by a number without a finite reciprocal",
        given=abbreviated(number),
        where=linear,
        do="divide by a larger number, or multiply: number * L",
    )


def power_of_other_spaces(linear: object) -> str:
    return text("a power needs a map from a space to itself", given=linear)


def negative_power(count: object) -> str:
    return text(
        "a power counts how often a linear map is applied",
        given=count,
        expected="an integer that is not negative",
        do="to invert the map, use L.solve(b)",
    )


def wrong_tangent(what: str, expected: object, given: object, term: object | None) -> str:
    return text(
        f"the {what} does not lie in the tangent space",
        given=given,
        expected=expected,
        where=None if term is None else abbreviated(term),
        do="match shape and dtype of the primal; for integers and booleans give (), None or zeros",
    )


def grad_of_non_scalar(cod: Any, f: Any) -> str:
    tree = getattr(getattr(f, "notes", None), "result_tree", None)
    do = "sum the result, f >> ct.sum(), or use ct.jacobian or ct.vjp"
    given = f"{cod}"
    if tree is not None and not tree.leaves:
        given, do = f"a function that returns {tree}", "return the number that is differentiated"
    elif tree is not None and getattr(tree.kind, "__name__", "") == "ComplexPair":
        shape = ", ".join(map(str, cod.leaves[0].shape)) or "()"
        given = f"a complex result, ct.c{16 * cod.leaves[0].dtype.itemsize}[{shape}]"
        do = "return a real number, e.g. z.real or abs(z)**2, or use ct.jacobian, whose blocks are those of both parts"
    elif tree is not None and tree.kind != "leaf":
        given = f"{cod}, in a {tree.kind.__name__}" if isinstance(tree.kind, type) else given
        do = "return the number alone, or with other results as a pair (number, others) for ct.grad(f, has_aux=True)"
    elif len(cod.leaves) == 1 and not cod.leaves[0].is_float:
        do = "integers and truth values have no derivative: return a floating number"
    elif len(cod.leaves) == 1 and cod.leaves[0].size == 1:
        do = "take the one entry, y[0] or y.sum()"
    return about(f, "grad needs a function with a floating scalar result", given, expected="ct.f64[()] or ct.f32[()]", do=do)


def integers_alone(dom: object, f: object) -> str:
    return text(
        "there is nothing to differentiate: all numbers are integers or booleans",
        given=dom,
        where=abbreviated(f),
        do="give floating arrays, e.g. x.astype(np.float64)",
    )


def no_such_argnum(i: object, dom: object, f: object) -> str:
    return about(f, f"argnums names factor {i}, which is not in the domain", dom)


def bad_linear_einsum(spec: object) -> str:
    return text(
        "a linear map by subscripts has two operands, the coefficients and the argument",
        given=repr(spec),
        expected="letters, as in 'j,ij->i'; each label of the result is one of an operand",
        do="ct.einsum contracts several arrays: it is a morphism, linear in each",
    )


def no_basis(n: int, place: str) -> str:
    return text(
        "the eigenvectors of a matrix are dependent, so its eigenvalues have no derivative",
        given=place or None,
        expected=f"{n} independent eigenvectors",
    )


def no_complex_array(space: object, term: object) -> str:
    return text(
        "a complex array is the pair of its real and imaginary parts",
        given=space,
        expected="(re, im) of one shape",
        where=abbreviated(term),
        do="write ct.linalg.inv(z.real, z.imag) for an array z of complex numbers",
    )


def no_matrices(space: object, term: object) -> str:
    return text("matrices are expected", given=space, expected="an array (..., m, n)", where=abbreviated(term))


def not_square_matrices(space: object, term: object) -> str:
    return text("square matrices are expected", given=space, expected="an array (..., n, n)", where=abbreviated(term))


def right_hand_side(matrices: object, right: object, term: object) -> str:
    return text(
        "matrices and right-hand sides do not fit",
        given=f"{matrices} and {right}",
        expected="a (..., n, n), b (n,) or (..., n, k) whose leading axes broadcast with those of a",
        where=abbreviated(term),
    )


def no_such_kind(given: object, known: list[str]) -> str:
    return text("no kind of matrices has this name", given=abbreviated(given), expected=", ".join(known))


def no_decomposition(shape: object, why: str) -> str:
    return text(
        "a decomposition did not converge",
        given=f"matrices of shape {shape}: {why}",
        expected="finite numbers, far from overflow",
        do="divide the matrices by their greatest entry",
    )


def no_such_degenerate(given: object) -> str:
    return text(
        "derivatives by equal eigenvalues are infinite (None) or dropped", given=abbreviated(given), expected='None or "zero"'
    )


def no_such_half(given: object) -> str:
    return text("a half of a matrix is named by a letter", given=abbreviated(given), expected='"L" (lower) or "U" (upper)')


def no_such_mode(given: object, modes: tuple[str, ...]) -> str:
    return text("no mode of a QR decomposition has this name", given=abbreviated(given), expected=", ".join(modes))


def least_squares_sides(matrix: object, right: object, term: object) -> str:
    return text(
        "a matrix and the right-hand side of its least squares problem do not fit",
        given=f"{matrix} and {right}",
        expected="a (m, n), b (m,) or (m, k)",
        where=abbreviated(term),
    )


def wrong_diagonals(space: object, lower: int, upper: int, term: object) -> str:
    return text(
        "the number of diagonals does not fit",
        given=space,
        expected=f"an array (..., {lower + upper + 1}, n): {lower} of them below the main one, {upper} above",
        where=abbreviated(term),
    )


def no_two_widths(given: object) -> str:
    return text(
        "l_and_u are the numbers of diagonals below and above the main one", given=abbreviated(given), expected="e.g. (1, 1)"
    )


def three_diagonals(given: list[object], term: object) -> str:
    return text(
        "the diagonals do not fit",
        given=", ".join(map(str, given)),
        expected="(..., n - 1) below, (..., n) on and (..., n - 1) above the main one",
        where=abbreviated(term),
    )


def no_least_singular_value(space: object, term: object) -> str:
    expected, where = "a matrix with entries", abbreviated(term)
    return text("an empty matrix has no least singular value", given=space, expected=expected, where=where)


def no_condition(space: object, term: object) -> str:
    return text("cond is not defined on empty arrays", given=space, expected="matrices with entries", where=abbreviated(term))


def no_such_driver(given: object) -> str:
    return text("no driver of eigh has this name", given=abbreviated(given), expected='None, "ev", "evd", "evr" or "evx"')


def no_toeplitz(space: object, term: object) -> str:
    return text(
        "the first column and the first row of a Toeplitz matrix are expected",
        given=space,
        expected="((c, r), b) or (c, b), c and r (..., n)",
        where=abbreviated(term),
    )

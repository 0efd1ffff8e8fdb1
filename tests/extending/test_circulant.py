"""A family of linear maps written outside the package: circulant matrices, with public names only.

    y[i] = sum_j c[(i - j) mod n] x[j]

It composes, multiplies, is planned, added, converted, transposed, mapped, drawn, printed and pickled as the package's own.
"""

from __future__ import annotations

import itertools
import pickle
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.testing import check_grads, check_laws, check_linear_map

ENGINES = pytest.mark.parametrize("engine", ["reference", "cpu"])

# -- the family


def rotations(space: Any, transposed: bool) -> ct.D:
    """c to the matrix with `M[i, j] = c[(i - j) mod n]`, or to its transpose."""
    i, j = np.indices((space.size, space.size))
    index = ((j - i if transposed else i - j) % space.size).ravel()
    return ct.fork(ct.id, ct.const(index)) >> ct.gather >> ct.reshape((space.size, space.size))


@ct.linear.family
class Circulant(ct.linear.Structure):
    """One slot, the first column; `transposed` says that it is the first row."""

    space: Any
    transposed: bool = False

    @property
    def dom(self) -> Any:
        return (self.space,)

    cod = slots = dom

    @property
    def T(self) -> Circulant:
        return Circulant(self.space, not self.transposed)

    @property
    def kind(self) -> str:
        return "circulant"

    @property
    def nnz(self) -> int:
        return int(self.space.size**2)

    def apply(self, b: Any, slots: Any, xs: Any) -> Any:
        if xs[0] is None:
            return [None]
        matrix = b.apply(rotations(self.space, self.transposed), slots[0])
        return [b.apply(ct.matmul, (matrix, xs[0]))]

    holds_matrix = True

    def dense(self, xp: Any, slots: Any) -> Any:
        i, j = xp.indices((self.space.size, self.space.size))
        return slots[0][(j - i if self.transposed else i - j) % self.space.size]

    def plus(self, other: Any) -> Any:
        if other != self:
            return None
        return self, [lambda b, left, right: left[0] + right[0]]


@ct.linear.product_rule(Circulant, Circulant)
def multiplied(first: Circulant, second: Circulant) -> Any:
    """The product of two is the one of the convolution of their columns; a row is a column read backwards."""
    n, backwards = first.space.size, ct.const(-np.arange(first.space.size) % first.space.size)
    turned = ct.fork(ct.id, backwards) >> ct.gather if first.transposed != second.transposed else ct.id

    def convolved(b: Any, left: Any, right: Any) -> Any:
        matrix = b.apply(rotations(first.space, False), left[0])
        return b.apply(ct.matmul, (matrix, b.apply(turned, right[0])))

    assert n == second.space.size
    return first, [convolved]


def circulant(c: Any) -> ct.LinearMap:
    space = c.space if hasattr(c, "space") else ct.space_of(c)
    return ct.LinearMap(space, space, Circulant(space), [c])


def filtered(p: Any) -> Any:
    """(c, x) to the circular convolution, by hand: linear in each."""
    c, x = p
    y = circulant(c)(x)
    return y, circulant(x) | circulant(c)


filter_by = ct.D(filtered)

# -- what it does

N = 5
rng = np.random.default_rng(0)
C, X = rng.integers(-3, 4, N).astype(float), rng.integers(-3, 4, N).astype(float)
L, M = circulant(C), circulant(X)


def matrix(c: Any) -> Any:
    return np.stack([np.roll(c, k) for k in range(len(c))], axis=1)


def others() -> dict[str, ct.LinearMap]:
    space, index = ct.f64[N], np.array([3, 0, 0, 7, 1])
    return {
        "identity": ct.linear.identity(space),
        "zero": ct.linear.zero(space, space),
        "diagonal": ct.scale(X),
        "dense": ct.linear.dense(rng.integers(-3, 4, (N, N)).astype(float)),
        "outer": ct.linear.outer(C, X),
        "flip": ct.linearize(ct.flip(), X)[1],
        "reshape": ct.linearize(ct.reshape((N, 1)), X)[1] >> ct.linearize(ct.reshape((N,)), X[:, None])[1],
        "gather": ct.linear.gather(index, space),
        "scatter_add": ct.linear.scatter_add(index, space),
        "recurrence": ct.linear.recurrence(X),
        "matrix-free": ct.linear.matrix_free(ct.exr >> ct.neg, ct.exr >> ct.neg, space, space),
        "sum": ct.scale(X) + ct.linearize(ct.flip(), X)[1],
        "chain": ct.linear.recurrence(X) >> ct.linear.gather(index, space),
        "circulant": M,
        "transposed": M.T,
    }


def test_the_laws_of_a_linear_map() -> None:
    for map_ in (L, L.T, circulant(C.astype(np.float32)), circulant(np.ones(1)), L + M, L >> ct.scale(X), 2.0 * L):
        check_linear_map(map_)


@ENGINES
def test_values_and_conversions(engine: Any) -> None:
    with ct.use_engine(engine):
        assert np.array_equal(L.todense(), matrix(C)) and np.array_equal(L.T.todense(), matrix(C).T)
        assert np.array_equal(L.tocsr().toarray(), matrix(C))
        assert np.array_equal(L(X), matrix(C) @ X) and np.array_equal(L.T(X), matrix(C).T @ X)
        assert np.array_equal(L.as_linear_operator() @ X, matrix(C) @ X)
    assert repr(L) == "circulant f64[5] -> f64[5], stored 5, dense 25"
    assert pickle.loads(pickle.dumps(L)).structure == L.structure
    assert "<svg" in L._repr_svg_()


@pytest.mark.parametrize("name", list(others()))
def test_products_with_every_family_from_both_sides(name: str) -> None:
    other = others()[name]
    wide = np.asarray(other.todense())
    for one, two in ((L, other), (other, L), (L.T, other), (other, L.T)):
        left, right = (wide if m is other else np.asarray(m.todense()) for m in (one, two))
        for product in (one >> two, two.multiply(one)):
            np.testing.assert_array_equal(product.todense(), right @ left)
            np.testing.assert_array_equal(product.T.todense(), (right @ left).T)
            np.testing.assert_array_equal(product.tocsr().toarray(), right @ left)


def test_a_product_of_two_is_one_and_with_a_diagonal_it_stays_a_chain() -> None:
    for a, b in itertools.product((L, L.T), (M, M.T)):
        product = a.multiply(b)
        assert (product.kind, product.stored) == ("circulant", N)
        np.testing.assert_array_equal(product.todense(), a.todense() @ b.todense())
    assert (L >> ct.scale(X)).kind == L.multiply(ct.scale(X)).kind.replace("diagonal >> circulant", "circulant >> diagonal")
    assert ct.scale(X).multiply(L).kind == "chain of circulant >> diagonal"


def test_blocks_of_it() -> None:
    space = ct.f64[N]
    grid = ct.linear.block([[L, ct.linear.zero(space, space)], [M, L.T]], space * space, space * space)
    expected = np.block([[matrix(C), np.zeros((N, N))], [matrix(X), matrix(C).T]])
    np.testing.assert_array_equal(grid.todense(), expected)
    squared = grid.multiply(grid)
    np.testing.assert_array_equal(squared.todense(), expected @ expected)
    assert squared.stored == 3 * N  # sums of circulants are circulants


def test_sums_have_one_term_where_they_are_multiplied_out() -> None:
    two = ct.plan((L + M) >> L)
    assert two.result.kind == "circulant"
    np.testing.assert_array_equal(two.multiply((L + M) >> L).todense(), matrix(C) @ matrix(C + X))


@ENGINES
@pytest.mark.parametrize("mode", ["auto", "forward", "reverse", "elimination"])
def test_a_program_with_it_is_planned(mode: Any, engine: Any) -> None:
    f = ct.fork(ct.const(C), ct.id) >> filter_by >> ct.fork(ct.const(X), ct.id) >> filter_by >> ct.square
    with ct.use_engine(engine):
        J = ct.jacobian(f, mode)(X)
        both = matrix(X) @ matrix(C)
        np.testing.assert_array_equal(J.todense(), np.diag(2 * both @ X) @ both)
        if mode == "auto":
            assert (J.kind, J.stored) == ("chain of circulant >> diagonal", 2 * N)  # the two circulants are one
            assert "circulant >> diagonal = chain of 2" in ct.plan(f, X).explain()


def test_a_fork_is_eliminated_and_its_branches_add_up() -> None:
    twice = ct.fork(ct.fork(ct.const(C), ct.id) >> filter_by, ct.fork(ct.const(X), ct.id) >> filter_by) >> ct.add
    J = ct.jacobian(twice, "elimination")(X)
    np.testing.assert_array_equal(J.todense(), matrix(C + X))
    assert (J.kind, J.stored) == ("circulant", N)


@ENGINES
def test_laws_of_a_morphism_with_it(engine: Any) -> None:
    with ct.use_engine(engine):
        check_laws(filter_by, C, X, order=2 if engine == "reference" else 1)
        check_grads(filter_by >> ct.square >> ct.sum(), C, X)
        check_laws(ct.lift(L), X, order=1)


def test_batches() -> None:
    cs, xs = np.stack([C, X, C + X]), np.stack([X, X, C])
    f = ct.map(filter_by)
    np.testing.assert_array_equal(f(cs, xs), [matrix(c) @ x for c, x in zip(cs, xs, strict=True)])
    check_laws(f, cs, xs, order=1)
    J = ct.jacobian(ct.map(ct.fork(ct.const(C), ct.id) >> filter_by))(xs)
    np.testing.assert_array_equal(np.asarray(J.todense()).reshape(3 * N, 3 * N), np.kron(np.eye(3), matrix(C)))


def test_drawing() -> None:
    assert "<svg" in filter_by.draw(ct.f64[N] * ct.f64[N])
    assert "<svg" in (L >> ct.scale(X) >> M)._repr_svg_()


# -- what is refused


def family(name: str, base: Any = ct.linear.Structure) -> Any:
    """A family that does nothing: what a rule needs to be registered, and to be met."""
    body = {"dom": (ct.f64[2],), "cod": (ct.f64[2],), "slots": (), "kind": name, "nnz": 4, "T": None, "apply": None}
    return type(name, (base,), body)


def nothing(first: Any, second: Any) -> None:
    return None


def joined(first: Any, second: Any) -> Any:
    space = ct.f64[2]
    return ct.LinearMap(space, space, second(), ()).multiply(ct.LinearMap(space, space, first(), ()))


def test_rules_that_fit_equally_well_are_an_error_when_families_meet() -> None:
    A, B = family("A"), family("B")
    ct.linear.product_rule(A, ct.linear.Structure)(nothing)
    ct.linear.product_rule(ct.linear.Structure, B)(nothing)
    said = r"(?s)ambiguous product rules for A and B.*\(A, Structure\) and \(Structure, B\)"
    with pytest.raises(ct.ExtensionError, match=said):
        joined(A, B)
    assert joined(B, A).kind == "chain of B >> A"


def test_the_nearer_class_decides() -> None:
    Base = family("Base")
    A = family("A", Base)
    ct.linear.product_rule(Base, Base)(lambda a, b: (a, []))
    assert joined(A, A).kind == "A"
    B = family("B", Base)
    ct.linear.product_rule(B, B)(nothing)
    assert joined(B, B).kind == "chain of B >> B" and joined(A, B).kind == "A"


def test_a_second_rule_and_a_late_one_are_refused() -> None:
    A = family("A")
    assert joined(A, A).kind == "chain of A >> A"
    with pytest.raises(ct.ExtensionError, match=r"(?s)too late.*A >> A"):
        ct.linear.product_rule(A, A)(nothing)
    with pytest.raises(ct.ExtensionError, match="two product rules"):
        ct.linear.product_rule(Circulant, Circulant)(nothing)


def test_a_rule_that_forgets_a_slot() -> None:
    A = family("A")
    ct.linear.product_rule(A, A)(lambda a, b: (Circulant(ct.f64[2]), []))
    with pytest.raises(ct.ExtensionError, match="where each slot"):
        joined(A, A)


def test_a_family_that_leaves_something_out_is_an_error_where_it_is_defined() -> None:
    class Odd(ct.linear.Structure):
        dom = cod = (ct.f64[2],)
        kind, nnz = "odd", 4

    with pytest.raises(ct.ExtensionError, match="the family Odd leaves out `slots`, `T`, `apply`"):
        ct.linear.family(Odd)


def test_a_method_that_a_family_promises_is_named() -> None:
    A = family("A")
    A.holds_matrix = True
    with pytest.raises(ct.ExtensionError, match="the family A has no method `dense`"):
        ct.LinearMap(ct.f64[2], ct.f64[2], A(), ()).todense()

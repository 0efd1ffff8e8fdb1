"""Boxes from outside the package on arrays in chunks, and code that cannot be sent."""

from __future__ import annotations

import pickle
import threading

import cloudpickle
import numpy as np
import pytest
from scipy import special

import catad as ct
from catad.chunks.here import blocked
from catad.chunks.labels import labels_of
from catad.chunks.worker import RegionProgram
from catad.testing import check_chunks, check_laws, in_chunks
from tests.chunks.plans import plans, ran_whole, rows

RNG = np.random.default_rng(2)
X = RNG.normal(size=(7, 3))
W = RNG.normal(size=3)

ndtr = ct.primitive.pointwise(special.ndtr, lambda x, y: 0.3989422804014327 * ct.exp(-0.5 * x * x))
hypot = ct.primitive.pointwise(np.hypot, lambda x, y, r: x / r, lambda x, y, r: y / r)


def halved(x):
    return 0.5 * x


halves = ct.primitive.linear(halved, halved, lambda x: x, chunks="ij->ij")
running = ct.primitive.linear(
    lambda x: np.cumsum(x, 1), lambda w: np.cumsum(w[:, ::-1], 1)[:, ::-1], lambda x: x, chunks="ij->ik"
)


def margins(x, w):
    return np.tanh(x @ w)


def of_margins(x, w, y):
    slope = 1 - y * y
    by_x = ct.linear.einsum("j,ij->i", w, x.space) >> ct.scale(slope)
    by_w = ct.linear.einsum("ij,j->i", x, w.space) >> ct.scale(slope)
    return by_x | by_w


scores = ct.primitive.function(margins, lambda x, w: ct.f64[x.shape[0]], of_margins, chunks="ij,j->i")


def ranked(x):
    return np.sort(x, axis=1)


sorted_rows = ct.primitive.function(ranked, lambda x: x, chunks="rows")
sorted_whole = ct.primitive.function(ranked, lambda x: x)


def by_hand(x):
    values = np.asarray([[float(v) ** 2 for v in row] for row in x]).reshape(x.shape)  # no wire goes through this
    return values, ct.scale(2 * x)


def of_rows(x):
    return x, ct.scale(np.ones(x.shape))


squares = ct.D(by_hand, spaces=of_rows, chunks="rows")
squares_whole = ct.D(by_hand, spaces=of_rows)


@ct.primitive.box
class Scaled(ct.primitive.Primitive):
    """x times n, along any axes."""

    n: float
    arity = 1
    vectorized = True
    chunks = "...->..."

    def typed(self, ins):
        return ins

    def evaluate(self, xp, x):
        return x * self.n

    def rule(self, ins, outs):
        return ct.primitive.rule_from(lambda x, y: self.n * ct.linear.identity(x.space), ins, outs)


@ct.primitive.box
class Padded(ct.primitive.Primitive):
    """Rows with zeros behind them; the number of rows is a parameter."""

    count: int
    arity = 1
    chunks = "rows"

    def typed(self, ins):
        assert ins[0].shape[0] == self.count
        return (ct.f64[self.count, ins[0].shape[1] + 1],)

    def of_chunk(self, ins, outs):
        return Padded(ins[0].shape[0])

    def evaluate(self, xp, x):
        return xp.concatenate([x, xp.zeros((self.count, 1))], axis=1)


BOXES = {
    "pointwise": (ct.cross(ndtr, ct.id) >> hypot, [X, W], True),
    "a number beside": (ct.cross(ndtr, ct.id) >> hypot, [X, 0.5], True),
    "linear along both axes": (halves >> ct.square, [X], True),
    "linear along rows": (running >> ct.square, [X], True),
    "a function of rows and weights": (scores >> ct.square >> ct.sum(), [X, W], True),
    "a class": (Scaled(3.0) >> ct.sin, [X], True),
    "code by hand, of first order": (squares >> ct.square, [X], True),
    "code by hand, on whole arrays": (squares_whole >> ct.square, [X], False),
    "rows of each of a batch": (ct.map(scores), [RNG.normal(size=(4, 7, 3)), RNG.normal(size=(4, 3))], True),
}


@pytest.mark.filterwarnings("ignore::catad.CatadNotice")
@pytest.mark.parametrize("name", BOXES)
def test_boxes_from_outside(name):
    f, args, is_local = BOXES[name]
    with ct.use_engine("reference"):
        for seed in range(3):
            check_chunks(f, *args, seed=seed)
        with plans() as found:
            cut = [rows(x) if np.ndim(x) == np.ndim(args[0]) else x for x in args]
            ct.vjp(f, *cut)
    assert found and bool(ran_whole(found)) != is_local


def test_boxes_without_derivatives():
    for f, whole in ((sorted_rows, set()), (sorted_whole, {"Given"}), (Padded(7), set())):
        with plans() as found:
            y = f(rows(X))
        assert np.array_equal(y.numpy(), f(X)) and ran_whole(found) == whole
    with plans() as found:  # rows are whole in each task
        y = sorted_rows(blocked(X, ((3, 4), (1, 2))))
    assert np.array_equal(y.numpy(), np.sort(X, axis=1)) and not ran_whole(found) and found[0].plan.gathered


def test_opaque_code_on_whole_arrays_is_told():
    def fn(x):
        return np.asarray([float(v) for v in x]), ct.scale(np.ones(x.shape))

    f = ct.D(fn, spaces=of_rows)
    with pytest.warns(ct.CatadNotice, match='chunks="rows"'):
        y = f(in_chunks(X[:, 0], 3))
    assert np.array_equal(y.numpy(), X[:, 0])


def test_opaque_code_says_its_spaces():
    with pytest.warns(ct.CatadNotice), pytest.raises(ct.SpaceError, match=r"are not computed to find"):
        ct.D(by_hand)(rows(X))
    with pytest.raises(ct.ArgumentError, match="spaces"):
        ct.D(by_hand, chunks="rows")
    with pytest.raises(ct.ArgumentError):
        ct.D(by_hand, spaces=of_rows, chunks="ij->ij")


def test_labels():
    x, w, number = ct.f64[7, 3], ct.f64[3], ct.f64[()]
    assert labels_of("rows", None, [x, number], [ct.f64[7]]) == ([[0, None], []], [[0]])
    assert labels_of("ij,j->i", None, [x, w], [ct.f64[7]]) == ([[0, None], [None]], [[0]])
    assert labels_of("entries", None, [x, w], [x]) == ([[1, 0], [0]], [[1, 0]])
    assert labels_of("...n,...n->...", None, [x, w], [ct.f64[7]])[1] == [[0]]
    assert labels_of("i...->i...", None, [x], [ct.f64[7, 3]])[1] == [[1, 0]]


@pytest.mark.parametrize("said", ["ij->i", "ij,j->ij", "ij,i->i", "i,j->i", "ij,j->ii", "ij,k l->i", "ij;j->i"])
def test_labels_that_do_not_fit(said):
    f = ct.primitive.function(margins, lambda x, w: ct.f64[x.shape[0]], chunks=said)
    f(X, W)
    with pytest.raises(ct.ExtensionError, match="does not fit"):
        f(rows(X), W)


def test_what_says_nothing():
    for said in ("columns", 3, "a->b->c"):
        with pytest.raises(ct.ArgumentError, match="chunks"):
            ct.primitive.function(margins, lambda x, w: ct.f64[x.shape[0]], chunks=said)


def test_a_box_that_is_not_local_where_it_says_so():
    fold = ct.primitive.function(lambda x: x[:1] + 0 * x, lambda x: ct.f64[7, 3], chunks="rows")
    with pytest.raises(ct.ExtensionError, match="other spaces on a chunk"):
        fold(rows(X))


def test_what_is_said_is_kept():
    for f in (scores, halves, running, squares, sorted_rows):
        again = eval(repr(f), {"ct": ct, **f.names})
        assert again == f and pickle.loads(cloudpickle.dumps(f)) is not None
    assert scores != ct.primitive.function(margins, lambda x, w: ct.f64[x.shape[0]], of_margins)
    check_laws(scores, X, W)


# -- code in other processes


def test_functions_are_sent_with_what_they_read():
    number = [2.0]
    f = ct.primitive.function(lambda x: x * number[0], lambda x: x, chunks="rows")
    with plans() as found:
        f(rows(X))
    number[0] = 5.0
    program = next(iter(found[0].programs.values()))
    copy = pickle.loads(pickle.dumps(program)).opened()
    assert isinstance(copy, RegionProgram)
    made = copy.program(np)(np, [X[:3]])
    assert np.array_equal(made[0], 2.0 * X[:3])


def test_code_that_does_not_pickle():
    lock = threading.Lock()

    def fn(x):
        with lock:
            return x + 1

    f = ct.primitive.function(fn, lambda x: x, chunks="rows")
    assert np.array_equal(f(X), X + 1)
    with pytest.raises(ct.EngineError, match=r"cannot be sent to workers[\s\S]*fn"):
        f(rows(X))


def test_large_constants():
    big = ct.const(np.zeros((2**21 + 1, 4)))
    with pytest.raises(ct.EngineError, match="give it as an argument"):
        (ct.fork(ct.id, big) >> ct.cross(ct.sum(), ct.sum()) >> ct.add)(in_chunks(X, 3))


CAPTURED = {
    "a product": lambda c: lambda w: np.sum(c * w),
    "joined": lambda c: lambda w: np.concatenate([w, c]),
    "a position": lambda c: lambda w: w[c],
    "complex": lambda c: lambda w: np.abs((w + 1j) * c),
}


@pytest.mark.parametrize("name", CAPTURED)
def test_arrays_in_chunks_from_outside(name):
    for captured in (in_chunks(np.arange(3), 2), __import__("dask.array").array.arange(3, chunks=2)):
        for w in (W, in_chunks(W, 2)):
            with pytest.raises(ct.EngineError, match="give it as an argument"):
                ct.function(CAPTURED[name](captured))(w)


def test_arrays_in_chunks_in_terms():
    captured = in_chunks(W, 2)
    for make in (lambda: ct.const(captured), lambda: ct.map(lambda w: w * captured), lambda: ct.D(lambda w: (w, captured))):
        with pytest.raises(ct.EngineError, match="give it as an argument"):
            make()


def test_complex_numbers_inside_functions():
    def f(x):
        z = np.exp(1j * x) / (2.0 + 1j * x)
        return np.sum(np.abs(z) ** 2 + z.real, axis=1)

    def spectrum(x):
        return np.sum(np.abs(np.fft.fft(x * (1 + 2j), axis=1)))

    for g in (f, spectrum):
        with ct.use_engine("reference"):
            check_chunks(g, X, seed=4)
    np.testing.assert_allclose(ct.function(f)(rows(X)).numpy(), f(X), rtol=1e-12)

"""Every box of catad on arrays of a fake CuPy: it has a kernel, needs none, or gives one notice that names it and the call.

None makes the host wait when it runs again, but for those that must; in a captured stream these are refused by name.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
import warnings
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.category.boxes import Primitive
from catad.category.spaces import flatten
from catad.chunks.rules.bins import BlockTotalByBin, WithoutEachByBin
from catad.chunks.rules.sequences.segments import RightLengths, RightNumber
from catad.chunks.rules.sequences.wide import OrLonger
from catad.chunks.rules.sequences.winners import BlockTotal, WithoutEach
from catad.engine.cuda.boxes import MAKERS, why_enough
from catad.engine.cuda.device import GPU
from catad.equations.ode.trial import WithDerivative
from catad.errors import equations, notices
from catad.linear.families.clear import Cleared, ClearedAt, ClearedWhere, Run
from catad.linear.families.dot_within import DotWithin
from catad.linear.families.gather import Gathered, Indexing, ScatterAdded
from catad.linear.families.inverse import Solved, SolvedForMany
from catad.linear.families.inverses import Reciprocals
from catad.linear.families.patterned import Bands, PatternProduct
from catad.linear.families.previous_state import Origin, PreviousState
from catad.linear.families.recurrence import Recurred
from catad.linear.families.reindex import Reshaped, StridedCopy, axis, whole
from catad.linear.families.windows import Progression, Windowed
from catad.traced.debug import Printed
from catad.vector.bins.fold_by_bin import FoldByBin
from catad.vector.bins.prefixes_by_bin import PrefixByBin
from catad.vector.bins.searchsorted import SortedPositions
from catad.vector.bins.sort import StableOrder
from catad.vector.bins.sorted_bins import SortByBin
from catad.vector.folds.arg_extremum import ArgExtremum, ArgExtremumByBin
from catad.vector.folds.entry_sum import EntrySum
from catad.vector.folds.fold import Fold
from catad.vector.folds.leave_one_out import LeaveOneOutProduct, LeaveOneOutProductByBin
from catad.vector.indexing.gather import InRange, LastWriter
from catad.vector.indexing.overwrite import Added, AddedAt, LastOnly, Overwritten, OverwrittenAt
from catad.vector.loops.converged import Converged
from catad.vector.loops.loop import After, Ran
from catad.vector.loops.progress import Ticked
from catad.vector.scans.scan import Scan
from catad.vector.scans.segmented import NumberedByFlags, NumberedByLengths
from catad.vector.shapes.shape import Concatenate

from ..engine.cpu_support import assert_near, on
from ..fake_cupy import FakeArray, fake

RNG = np.random.default_rng(31)
X, Y, LINE = RNG.normal(size=(6, 5)), RNG.normal(size=(6, 5)), RNG.normal(size=6)
INDEX = RNG.integers(0, 4, 6)
SUM, MOST, TIMES = ct.monoid(ct.add, 0.0), ct.monoid(ct.maximum, -np.inf), ct.monoid(lambda a, b: a * b, 1.0)
CHOICE = ct.monoid(lambda a, b: a if a >= b else b, -np.inf)
ROWS = Indexing((0, 1), 0, (2,), (2, 1), (6, 5, 6))
AXES = (axis(3, 6, 0, 1, 1, 2, 3), whole(5))  # of an array of 3 rows that go to the rows 1, 3, 5 of one of 6
SINE, HALF = ct.map(lambda x: np.sin(x)), ct.map(lambda s: s + 0.1 * np.sin(3.0 * s))
BOUNDED = ct.iterate(HALF, 7, memory=2)
ORDERED = np.sort(LINE)
LARGEST = np.array([LINE[k == INDEX].max(initial=-np.inf) for k in range(4)])
PRODUCTS = np.array([LINE[k == INDEX].prod() for k in range(4)])


@ct.kernel
def permuted(x, at, y):
    i = ct.simt.grid(1)
    if i < len(x):
        y[at[i]] = x[i]


@ct.kernel
def swapped(x, at, y):
    i = ct.simt.grid(1)
    if i < len(x):
        before = y[i]
        y[at[i]] = x[i] + before


@ct.kernel(max_steps=30)
def halved(x, y):
    i = ct.simt.grid(1)
    if i < len(x):
        p = x[i]
        for _ in range(3):
            while p > 1.0:
                p = p * 0.5
        y[i] = p


def length(a: Any, b: Any) -> Any:
    return (a * a + b * b) ** 0.5


def running(x: Any) -> Any:
    return (fake if isinstance(x, FakeArray) else np).cumsum(x)


def opaque(x: Any) -> Any:
    """Squares by numbers that the host reads."""
    host = x.get() if isinstance(x, FakeArray) else np.array([float(v) for v in x])
    return fake.asarray(host**2) if isinstance(x, FakeArray) else host**2, ct.scale(2 * x)


POSITIVE = np.eye(3) + np.ones((3, 3))
BOXES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "Added": (Added(AXES), (X, X[:3])),
    "AddedAt": (AddedAt(ROWS), (INDEX, X, Y)),
    "After": (After(), (np.array(0), LINE)),
    "Apart": (swapped.forall(6), (LINE, np.arange(6), np.zeros(6))),
    "ArgExtremum": (ArgExtremum(MOST), (X, np.broadcast_to(np.arange(6)[:, None], X.shape).copy(), X.max(axis=0))),
    "ArgExtremumByBin": (ArgExtremumByBin(MOST, 4), (INDEX, LINE, LARGEST)),
    "BoundedLoop": (BOUNDED, (LINE,)),
    "BoundedPullback": (ct.reverse_differential(BOUNDED), (LINE, LINE)),
    "Call": (ct.checkpoint(SINE), (LINE,)),
    "Choose": (ct.choose(ct.any(), ct.sort(), ct.flip()), (LINE > 0,)),
    "Cholesky": (ct.linalg.cholesky(), (POSITIVE,)),
    "CholeskyPulled": (ct.grad(ct.linalg.cholesky() >> ct.sum()), (POSITIVE,)),
    "Cleared": (Cleared((Run(6, 1, 2, 2), Run(5, 0, 1, 5))), (X,)),
    "ClearedAt": (ClearedAt(ROWS), (INDEX, X)),
    "ClearedWhere": (ClearedWhere(), (X > 0, Y)),
    "Complement": (ct.linalg.svd(), (X,)),
    "ComplexCofactors": (ct.grad(ct.linalg.det >> ct.exl), (POSITIVE, 0.1 * POSITIVE)),
    "ComplexDet": (ct.linalg.det, (POSITIVE, 0.1 * POSITIVE)),
    "ComplexLogDet": (ct.linalg.slogdet, (POSITIVE, 0.1 * POSITIVE)),
    "Concatenate": (Concatenate(0, 2), (X, Y)),
    "Constant": (ct.fork(ct.id, ct.const(X)), (LINE,)),
    "Converged": (Converged(equations.not_a_solution), (np.ones(3, bool), LINE[:3], LINE[:3])),
    "ColumnPivots": (ct.linalg.qr(pivoting=True), (X,)),
    "Cofactors": (ct.grad(ct.linalg.det), (POSITIVE,)),
    "Contract": (ct.matmul, (X, Y.T.copy())),
    "Counted": (ct.while_loop(ct.sum() >> ct.map(lambda s: s * s > 1.0), 0.5 * ct.id), (LINE,)),
    "Custom": (ct.D(lambda x: (x * x, ct.scale(2 * x))), (LINE,)),
    "Det": (ct.linalg.det, (POSITIVE,)),
    "DotWithin": (DotWithin(6), (np.array(1), np.array(4), LINE * [0, 1, 1, 1, 0, 0], ORDERED * [0, 1, 1, 1, 0, 0])),
    "Eig": (ct.linalg.eig, (POSITIVE + np.diag(LINE[:3]),)),
    "Eigh": (ct.linalg.eigh(), (POSITIVE,)),
    "Eigvals": (ct.linalg.eigvals, (POSITIVE + np.diag(LINE[:3]), POSITIVE)),
    "Eigvalsh": (ct.linalg.eigvalsh(), (POSITIVE,)),
    "Ended": (halved.forall(6), (np.abs(LINE) * 5, np.zeros(6))),
    "Expm": (0.1 * ct.id >> ct.linalg.expm, (POSITIVE,)),
    "Factor": (ct.linalg.inv, (POSITIVE,)),
    "FlatIndex": (ct.index[ct.arg], (LINE, INDEX)),
    "Fold": (Fold(MOST), (X,)),
    "FoldByBin": (FoldByBin(MOST, 4), (INDEX, LINE)),
    "Gathered": (Gathered(ROWS), (INDEX, X)),
    "Given": (ct.primitive.function(length, lambda a, b: a), (LINE, ORDERED)),
    "Fits": (ct.astype("int8", casting="same_value"), (INDEX,)),
    "Tried": (WithDerivative(ct.sin), (LINE, LINE)),
    "Integrated": (ct.quad(lambda t, a: a * t), (np.array(0.0), np.array(1.0), np.array(2.0))),
    "Implicit": (ct.implicit(lambda x, a: x - a, check=False), (LINE, LINE)),
    "InRange": (InRange(4), (INDEX,)),
    "Inverted": (ct.linalg.inv, (np.eye(9) + np.ones((9, 9)),)),
    "Iota": (ct.fork(ct.id, ct.iota(6)) >> ct.map(lambda x, k: x * k), (LINE,)),
    "LastOnly": (LastOnly(1, 4), (INDEX,)),
    "LastWriter": (LastWriter(4), (INDEX,)),
    "Lawful": (ct.scan(ct.matmul, np.eye(2)), (RNG.normal(size=(5, 2, 2)),)),
    "LeaveOneOutProduct": (LeaveOneOutProduct(), (X, X.prod(axis=0))),
    "BlockTotal": (BlockTotal(1), (np.ones((4, 5)), np.ones(5))),  # other products are other pairs with the same meaning
    "WithoutEach": (WithoutEach(), (X, np.zeros(X.shape[1], int), X.prod(axis=0), X.prod(axis=0))),
    "OrLonger": (OrLonger(ct.sum(), 1), (LINE, LINE.sum(), np.zeros(()))),
    "RightNumber": (RightNumber(4), (np.array([1, 0, 3]),)),
    "RightLengths": (RightLengths(6), (np.array([2, 0, 4]),)),
    "BlockTotalByBin": (BlockTotalByBin(4, 1), (INDEX, LINE, PRODUCTS)),
    "WithoutEachByBin": (WithoutEachByBin(4), (INDEX, LINE, np.zeros(4, int), PRODUCTS, PRODUCTS)),
    "LeaveOneOutProductByBin": (LeaveOneOutProductByBin(4), (INDEX, LINE, PRODUCTS)),
    "Linear": (ct.primitive.linear(lambda x: x[::-1], lambda w: w[::-1], lambda x: x), (LINE,)),
    "LinearByStructure": (ct.primitive.linear(running, structure=ct.linear.cumulative_sum), (LINE,)),
    "LogDet": (ct.linalg.slogdet, (POSITIVE,)),
    "Lstsq": (ct.linalg.lstsq(), (X, LINE)),
    "LuFactor": (ct.linalg.lu_factor, (POSITIVE,)),
    "LogSumExp": (ct.logsumexp(), (LINE,)),
    "Map": (SINE, (X,)),
    "Normalised": (ct.softmax(), (X,)),
    "NumberedByFlags": (NumberedByFlags(), (INDEX > 1,)),
    "NumberedByLengths": (NumberedByLengths(6), (np.array([2, 0, 4]),)),
    "OneByOne": (ct.map(ct.primitive.function(lambda x: -x, lambda x: x)), (X,)),
    "OneWriter": (permuted.forall(6), (LINE, np.array([3, 1, 0, 2, 5, 4]), np.zeros(6))),
    "Opaque": (ct.D(opaque, spaces=lambda x: (x, ct.scale(np.ones(x.shape)))), (LINE,)),
    "Origin": (Origin(0, 1), (LINE > 0,)),
    "Overwritten": (Overwritten(AXES), (X, X[:3])),
    "OverwrittenAt": (OverwrittenAt(ROWS), (np.arange(6)[::-1].copy(), X, Y)),
    "Pointwise": (ct.primitive.pointwise(length, None, None), (LINE, ORDERED)),
    "PatternProduct": (PatternProduct(Bands(1, 1), "v"), (X[:3], Y[:5])),
    "PrefixByBin": (PrefixByBin(TIMES, 4), (INDEX, LINE)),
    "PreviousState": (PreviousState(0, 1), (LINE > 0, LINE)),
    "Printed": (Printed("x"), (LINE,)),
    "Ran": (Ran(), (LINE,)),
    "RealComponent": (ct.grad(ct.linalg.eig >> ct.exr >> ct.exl >> ct.sum()), (POSITIVE + np.diag(LINE[:3]),)),
    "Reciprocals": (Reciprocals(ct.scale(LINE).structure), (LINE,)),
    "Recurred": (Recurred(((0,),)), (LINE, ORDERED)),
    "Regular": (ct.linalg.solve_circulant(), (np.array([9.0, 1.0, 2.0]), LINE[:3])),
    "Reshaped": (Reshaped((30,)), (X,)),
    "Resummed": (ct.fft.fftconvolve(local=True), (LINE, ORDERED)),
    "Row": (ct.norm(), (LINE,)),
    "OfBasis": (ct.grad(ct.linalg.eigvals >> ct.exl >> ct.sum()), (POSITIVE + np.diag(LINE[:3]),)),
    "OnPairs": (ct.linalg.qr(), (X, Y)),
    "OfFullRank": (ct.linalg.lstsq(), (X, LINE)),
    "Permuted": (ct.fork(ct.linalg.lu_factor, ct.const(LINE[:3])) >> ct.linalg.lu_solve(), (POSITIVE,)),
    "Pinv": (ct.linalg.pinv(), (X,)),
    "Qr": (ct.linalg.qr(), (X,)),
    "Scan": (Scan(SUM), (X,)),
    "ScatterAdded": (ScatterAdded(ROWS), (INDEX, X)),
    "Softmax": (ct.grad(ct.logsumexp()), (LINE,)),
    "Solved": (ct.linalg.solve(), (POSITIVE, LINE[:3])),
    "SolvedForMany": (SolvedForMany(Solved(ct.scale(LINE[:5]).structure), 6), (LINE[:5], X)),
    "SortByBin": (SortByBin(4), (INDEX,)),
    "SortedPositions": (SortedPositions(True), (ORDERED, LINE)),
    "StableOrder": (StableOrder(0), (X,)),
    "Stopped": (ct.stop_gradient, (LINE,)),
    "StridedCopy": (StridedCopy(AXES), (X[:3],)),
    "Summed": (EntrySum(ct.function(lambda k, x: x * k)), (np.array(3), LINE)),
    "Sweep": (ct.iterate(SINE, 4), (LINE,)),
    "Svd": (ct.linalg.svd(False), (X,)),
    "SvdVals": (ct.linalg.svdvals, (X,)),
    "Symmetric": (ct.linalg.pinv(hermitian=True), (POSITIVE,)),
    "Ticked": (Ticked("step", "loop", 4), (LINE,)),
    "Transform": (ct.fft.rfft(), (LINE,)),
    "Unraced": (permuted.forall(6), (LINE, np.array([3, 1, 0, 2, 5, 4]), np.zeros(6))),
    "Windowed": (Windowed((Progression(0, ((0, 1), (1, 1))),), (3, 4)), (LINE,)),
}  # fmt: skip
FINITE = (
    "Complement", "Eig", "Eigh", "Eigvals", "Eigvalsh", "Expm", "Lstsq", "OfFullRank", "Pinv", "Svd", "SvdVals", "Symmetric",
)  # fmt: skip
WAITS = {"Choose", "Counted", "Opaque", "Printed", "Summed", "Cholesky", "Cofactors", "Factor", "Permuted", "Solved", *FINITE}
WAITS |= {"CholeskyPulled", "Inverted", "Regular", "Resummed", "Reciprocals", "SolvedForMany", "ComplexCofactors"}
WAITS |= {"Converged", "Integrated", "OfBasis", "RealComponent", "RightLengths", "RightNumber"}
NOTICED = {"OneByOne", "PatternProduct", "Reciprocals", "SolvedForMany"}  # without a kernel
REFUSED = {
    **dict.fromkeys(FINITE, "matrices are finite"),
    "Permuted": "singular",
    "ComplexCofactors": "singular",
    **dict.fromkeys(("OfBasis", "RealComponent"), "matrices are finite"),
    "RightLengths": "RightLengths",
    "RightNumber": "RightNumber",
    "Reciprocals": "Reciprocals",
    "SolvedForMany": "SolvedForMany",
    "Choose": r"condition of ct\.choose",
    "Cholesky": "positive definite",
    "CholeskyPulled": "positive definite",
    "Cofactors": "singular",
    "Counted": "condition of a while loop",
    "Integrated": "condition of a while loop",
    "Factor": "singular",
    "Inverted": "singular",
    "Solved": "singular",
    "Opaque": "Opaque",
    "Printed": "Printed",
    "Summed": "number of terms of a sum",
    "Regular": "singular",
    "Resummed": "are finite",
    "Converged": "an iteration converged",
    "Ended": "trips of a loop of a kernel",
}


@pytest.fixture(autouse=True)
def _cupy(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setitem(sys.modules, "cupy", fake)
    fake.reset(3)
    notices.forget()
    yield
    GPU._looks.clear()
    fake.reset()
    notices.forget()


def there(arrays: Any) -> list[Any]:
    return [fake.asarray(np.asarray(a)) for a in arrays]


def met(term: Any, dom: Any, depth: int = 3) -> dict[str, Primitive]:
    """The boxes of a program, and of those that its boxes run, by name."""
    found = {type(box.primitive).__name__: box.primitive for box in ct.wire(term, dom).boxes}
    for one in list(found.values()):
        inner = one.programs() if hasattr(one, "programs") and depth else ()
        found = {name: box for _, part, space in inner for name, box in met(part, space, depth - 1).items()} | found
    return found


def kinds() -> dict[str, type[Primitive]]:
    """All boxes of the package."""
    for module in pkgutil.walk_packages(ct.__path__, "catad."):
        if "__main__" not in module.name:
            importlib.import_module(module.name)
    found, left = dict[str, type[Primitive]](), [Primitive]
    while left:
        kind = left.pop()
        left += kind.__subclasses__()
        if kind.__module__.startswith("catad."):
            found[kind.__name__] = kind
    return found


def test_the_table_has_every_box() -> None:
    bases = {kind.__name__ for own in kinds().values() for kind in own.__mro__[1:]}
    assert set(kinds()) - set(BOXES) - bases == set()
    assert set(BOXES) <= set(kinds())


def told(call: Any) -> tuple[Any, list[str]]:
    """What a call makes, and the notices that it gives."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", ct.CatadNotice)
        made = call()
    return made, [str(one.message) for one in seen if one.category is ct.CatadNotice]


def space_of(arrays: Any) -> Any:
    return ct.space_of(arrays if len(arrays) > 1 else arrays[0])


@pytest.mark.parametrize("name", BOXES)
def test_a_kernel_or_a_notice(name: str) -> None:
    term, arrays = BOXES[name]
    primitive, given = met(term, space_of(arrays))[name], there(arrays)
    _, said = told(lambda: term(*given))
    fake.reads.clear()
    made, again = told(lambda: term(*given))
    assert not again
    assert bool(fake.reads) == (name in WAITS), fake.reads
    assert all("in the place of" not in one and f"{__file__}:" in one for one in said)
    if name in NOTICED:
        assert any(f"the boxes {name}" in one for one in said) and why_enough(primitive) is None
    else:
        assert not said, said
        assert fake.launches or why_enough(primitive) or name == "Constant"
    want = on("reference", term, *arrays) if name != "Opaque" else [arrays[0] ** 2]
    got = [np.asarray(leaf.get() if isinstance(leaf, FakeArray) else leaf) for leaf in flatten(made)]
    assert_near(got, want, eps=64, note=name)


@pytest.mark.parametrize("name", BOXES)
def test_what_waits_is_not_captured(name: str) -> None:
    """A box that makes the host wait is refused by name; the others are captured."""
    term, arrays = BOXES[name]
    given = there(arrays)
    told(lambda: term(*given))
    with fake.cuda.Stream() as stream:
        stream.begin_capture()
        if name in REFUSED:
            with pytest.raises(ct.EngineError, match=rf"(?s)while a stream is captured.*{REFUSED[name]}"):
                told(lambda: term(*given))
        else:
            told(lambda: term(*given))
        stream.end_capture()


def test_first_calls_that_check_are_not_captured() -> None:
    scan = ct.scan(lambda a, b: a + b + a * b, 0.0), (LINE,)  # those of sums are known
    checked = ((BOXES["Lawful"], "laws of an operator"), (BOXES["Unraced"], "indices of a kernel"), (scan, "laws of an operator"))
    for (term, arrays), said in checked:
        given = there(arrays)
        fresh = term >> ct.map(lambda x: x * 1.25)
        with fake.cuda.Stream() as stream:
            stream.begin_capture()
            with pytest.raises(ct.EngineError, match=said):
                fresh(*given)
            stream.end_capture()


def test_loops_of_kernels_that_do_not_end_are_told_late_or_in_place() -> None:
    bad = there((np.array([0.5, 3.0, np.inf, 2.0, 1.0, 9.0]), np.zeros(6)))
    f = halved.forall(6)
    f(*there(BOXES["Ended"][1]))
    ct.synchronize()
    fake.late = True
    f(*bad)
    with pytest.raises(ct.ArgumentError, match=r"(?s)after 30 trips.*test_boxes.py:\d+"):
        ct.synchronize()
    with ct.use_engine("cuda", checks="now"), pytest.raises(ct.ArgumentError, match="after 30 trips"):
        f(*bad)


@pytest.mark.parametrize(
    ("name", "index", "said"),
    [
        ("OneWriter", [3, 1, 1, 2, 5, 4], r"cell \(1,\) of y(?s:.*)store by thread \(1, 0, 0\)"),
        ("Apart", [0, 1, 2, 3, 5, 4], r"cell \(4,\) of y(?s:.*)read by thread \(4, 0, 0\)"),
    ],
)
def test_threads_that_meet_in_a_cell_are_told_late_or_in_place(name: str, index: list[int], said: str) -> None:
    f, (x, good, y) = BOXES[name]
    f(*there((x, good, y)))
    bad = there((x, np.array(index), y))
    ct.synchronize()
    fake.late = True
    f(*bad)
    with pytest.raises(ct.ScalarError, match=said):
        ct.synchronize()
    with ct.use_engine("cuda", checks="now"), pytest.raises(ct.ScalarError, match="a race at cell"):
        f(*bad)
    for word in ("first", "off"):
        with ct.use_engine("cuda", checks=word):
            f(*bad)
            assert not GPU._looks
    fake.late = False


def test_integers_that_a_dtype_does_not_hold_are_told() -> None:
    f = ct.astype("int8", casting="same_value")
    with ct.use_engine("cuda", checks="now"):
        assert f(*there((np.array([127, -128]),))).tolist() == [127, -128]
        with pytest.raises(ct.errors.NumberRangeError, match="-129"):
            f(*there((np.array([3, -129]),)))


def test_code_that_waits_is_refused_on_the_array_code_too() -> None:
    """Where no kernel can run, boxes ask the host themselves."""
    for name, shown in (("InRange", "InRange"), ("NumberedByFlags", "NumberedByFlags"), ("Ended", "Map")):
        term, arrays = BOXES[name]
        given = there(arrays)
        with ct.use_engine("reference"):
            term(*given)
            with fake.cuda.Stream() as stream:
                stream.begin_capture()
                with pytest.raises(ct.EngineError, match=rf"while a stream is captured(?s:.*){shown}"):
                    term(*given)
                stream.end_capture()


def test_a_box_that_lost_its_kernel_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: nobody makes the kernels of a box any more."""
    monkeypatch.delitem(MAKERS, LastOnly)
    box = LastOnly(1, 5)
    _, said = told(lambda: box(*there((INDEX,))))
    assert len(said) == 1 and "the boxes LastOnly" in said[0]


def test_a_users_box_is_not_told() -> None:
    @ct.primitive.box
    class Doubled(Primitive):
        arity = 1

        def typed(self, ins: Any) -> Any:
            return ins

        def evaluate(self, xp: Any, *arrays: Any) -> Any:
            return arrays[0] * 2

    made, said = told(lambda: Doubled()(*there((LINE,))))
    assert not said and made.get().tolist() == (LINE * 2).tolist()

"""Printed LLVM functions compute what plain Python computes on each element, number for number, and nothing traps."""

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("llvmlite")

from llvm_support import Compiled, op_function, optimised
from scalar_support import define, run, same
from test_scalar_random import CHECKS, SPECIAL, blocks, expressions, programs, python

from catad.errors import CannotPrint, ScalarError
from catad.scalar import OPS, Function, apply, cast, llvm_function, param, read, result_types, substitute, value_and_partials
from catad.scalar.lazy_branches import demands, schedule
from catad.scalar.simplify import TRUE
from catad.scalar.vector_math.composed import composed

DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]
F8 = np.dtype("float64")

# -- random programs


@st.composite
def deep_programs(draw):
    """Twelve dependent steps, each of which may use any earlier one, then branches and loops nested three deep."""
    names, lines = ["x", "y"], []
    for k in range(12):
        newest = names[-1]
        one, other = draw(expressions(names, 1)), draw(st.sampled_from(names))
        shape = draw(st.sampled_from(["{n} + {e}", "{n} * {e}", "{e} - {n}", "{n} if {n} < {e} else {o}", "min({n}, {e})"]))
        lines.append(f"    t{k} = {shape.format(n=newest, e=one, o=other)}")
        names.append(f"t{k}")
    lines += ["    z = t11", *("    " + line for line in draw(blocks([*names, "z"], 3, False, True)))]
    return "\n".join(["def f(x, y):", *lines, f"    return {draw(expressions(names))}, z"]) + "\n"


POINTS = st.lists(st.tuples(st.sampled_from(SPECIAL), st.sampled_from(SPECIAL)), min_size=8, max_size=8)


def agrees_with_python(source, points):
    fn = define(source)
    xs, ys = map(np.array, zip(*points, strict=True))
    expected = np.array(python(fn, xs, ys)).T
    for found, wanted in zip(Compiled(read(fn), ["float64"] * 2, level=1)(xs, ys), expected, strict=True):
        assert same(found, wanted), (source, points)


@CHECKS
@given(programs(), POINTS)
def test_machine_code_is_python_on_each_element(source, points):
    agrees_with_python(source, points)


@CHECKS
@given(deep_programs(), POINTS)
def test_deep_programs(source, points):
    agrees_with_python(source, points)


@CHECKS
@given(programs(), POINTS)
def test_values_and_partials_are_those_of_array_code(source, points):
    function = read(define(source))
    values, rows = value_and_partials(function, [0, 1])
    both = Function.make(2, [*values, *(node for row in rows for node in row if node is not None)])
    xs, ys = map(np.array, zip(*points, strict=True))
    for dtype in ("float64", "float32"):
        with np.errstate(all="ignore"):
            arrays = xs.astype(dtype), ys.astype(dtype)
        found = Compiled(both, [dtype] * 2, level=1)(*arrays)
        for one, wanted in zip(found, run(both, *arrays), strict=True):
            assert same(one, np.broadcast_to(wanted, one.shape)), (source, points)


@CHECKS
@given(
    st.lists(st.sampled_from(DTYPES), min_size=2, max_size=2),
    st.sampled_from(["+", "-", "*", "//", "%", "<", "<=", "==", "!=", ">", ">=", "max", "where", "/"]),
    st.sampled_from(["a", "b", "3", "2.5", "(a > b)"]),
)
def test_dtypes_meet_as_in_array_code(dtypes, op, other):
    lines = {"max": f"max(a, {other})", "where": f"np.where(a > b, a, {other})"}
    f = read(define(f"def f(a, b):\n    return {lines.get(op, f'a {op} {other}')}, b\n"))
    arrays = [np.arange(12).reshape(3, 4).T.ravel().astype(dtypes[0]), np.arange(12)[::-1].astype(dtypes[1])]
    found, wanted = Compiled(f, dtypes, level=1)(*arrays), run(f, *arrays)
    for one, two in zip(found, wanted, strict=True):
        assert one.dtype == np.asarray(two).dtype and same(one, np.broadcast_to(two, one.shape))


# -- operations, one by one

ARITHMETIC = "add sub mul floordiv mod div neg pos abs sign fmod floor ceil trunc rint sqrt copysign remainder float"
COMPARISONS = "lt le gt ge eq ne minimum maximum fmin fmax isnan isinf isfinite signbit truth and or not select"
BITS = "bitand bitor bitxor lshift rshift invert fraction mantissa exponent ldexp"
EXACT = f"{ARITHMETIC} {COMPARISONS} {BITS}".split()

NUMBERS = [
    0.0,
    -0.0,
    1,
    -1,
    0.5,
    -0.5,
    2,
    -2.5,
    3,
    1e10,
    -1e10,
    1e300,
    np.inf,
    -np.inf,
    np.nan,
    5e-324,
    -1e-310,
    7.25,
    123456.7,
]
WHOLE = [0, 1, -1, 2, -2, 3, -3, 7, -7, 31, 33, 63, 64, 65, 100]


def grid(dtype):
    """Numbers of a dtype, with those at its ends."""
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        with np.errstate(all="ignore"):
            return np.array(NUMBERS).astype(dtype)
    if dtype.kind == "b":
        return np.array([False, True])
    ends = np.iinfo(dtype)
    inside = [n for n in WHOLE if ends.min <= n <= ends.max]
    return np.array([*inside, ends.min, ends.max, ends.min + 1, ends.max - 1], dtype)


def equal_numbers(a, b):
    """Equal, NaN to NaN."""
    return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


PAIRS = [["float32", "int16"], ["uint8", "int32"], ["int64", "uint64"], ["bool", "float64"]]
LDEXP = [[real, whole] for real in ("float32", "float64", "int8") for whole in ("bool", "int8", "uint16", "int32", "int64")]


def combinations(op):
    """The dtypes to try an operation on."""
    if op == "ldexp":  # NumPy takes no exponents of dtype uint64
        return LDEXP
    return [[dtype] * OPS[op].arity for dtype in DTYPES] + (PAIRS if OPS[op].arity == 2 else [])


@pytest.mark.quick(14)
@pytest.mark.parametrize("op", EXACT)
def test_operations_are_those_of_numpy(op):
    f, seen = op_function(op), 0
    for dtypes in combinations(op):
        arrays = [axis.ravel() for axis in np.meshgrid(*[grid(dtype) for dtype in dtypes], indexing="ij")]
        try:
            found = Compiled(f, dtypes, level=1)(*arrays)[0]
        except ScalarError:
            continue
        wanted = np.broadcast_to(run(f, *arrays)[0], found.shape)
        assert found.dtype == wanted.dtype and equal_numbers(found, wanted), (op, dtypes)
        assert same(found, wanted), (op, dtypes)
        seen += 1
    assert seen >= 1


def test_which_operations_print_for_which_dtypes():
    refused = set()
    for op, info in OPS.items():
        for dtype in DTYPES:
            f = op_function(op, {"cast": "int16", "polygamma": 1}.get(op))
            try:
                llvm_function(f, [dtype] * info.arity, "f")
            except CannotPrint:
                refused.add(op)
            except ScalarError:  # has no type: a bit operation on floats, say
                pass
    assert refused == set()


@pytest.mark.parametrize("target", DTYPES)
def test_casts(target):
    f = Function.make(1, [cast(target, param(0))])
    for dtype in DTYPES:
        numbers = grid(dtype)
        if dtype.startswith("float") and target != "bool" and not target.startswith("float"):
            ends = np.iinfo(target)
            low, high = max(ends.min, -(2.0**62)), min(ends.max, 2.0**62)
            numbers = np.array([x for x in numbers if low <= x <= high])
        with np.errstate(all="ignore"):
            assert same(Compiled(f, [dtype], level=1)(numbers)[0], numbers.astype(target)), dtype


def test_floats_beyond_the_integers_saturate():
    f = Function.make(1, [cast("int8", param(0)), cast("uint16", param(0)), apply("int", param(0))])
    low, wide, whole = Compiled(f, ["float64"])(np.array([1e300, -1e300, np.nan, 200.5]))
    assert low.tolist() == [127, -128, -128, 127] and wide.tolist() == [65535, 0, 0, 200]
    assert whole.tolist() == [2**63 - 1, -(2**63), -(2**63), 200]


def test_whole_powers():
    x = np.array([-3, -1, 0, 2, 7, 11], np.int64)
    for n in (0, 1, 2, 5, 12, 31):
        f = Function.make(1, [apply("pow", param(0), np.int64(n))])
        with np.errstate(all="ignore"):
            assert same(Compiled(f, ["int64"])(x)[0], x**n)


def test_constants_that_no_dtype_of_the_array_holds():
    x = np.array([-128, 0, 127], np.int8)
    for fn in (lambda x: x < 1000, lambda x: x >= -(2**70), lambda x: x == 2**63, lambda x: x < 2**40):
        assert Compiled(read(fn), ["int8"])(x)[0].tolist() == [bool(fn(int(v))) for v in x]
    with pytest.raises(ScalarError, match="does not fit"):
        llvm_function(read(lambda x: x + 1000), ["int8"], "f")


def test_integers_of_64_bits_are_compared_exactly():
    a, b = np.array([2**63 - 1, -1]), np.array([2**63, 2**64 - 1], np.uint64)
    f = read(lambda a, b: (a < b, a == b))
    assert [one.tolist() for one in Compiled(f, ["int64", "uint64"])(a, b)] == [[True, True], [False, False]]


def test_truth_values_in_and_out():
    f = read(lambda a, b: (a and not b, a or b, a + b, True))
    a, b = np.array([False, True, True]), np.array([True, True, False])
    printed = llvm_function(f, ["bool"] * 2, "f")
    assert printed.parameters == ("i1", "i1") and printed.results == ("i1", "i1", "i64", "i1")
    found = Compiled(f, ["bool"] * 2)(a, b)
    assert [one.tolist() for one in found] == [[False, False, True], [True, True, True], [1, 2, 1], [True] * 3]


def test_bits():
    for real, whole in (("float32", "int32"), ("float64", "int64")):
        with np.errstate(all="ignore"):
            x = np.array(NUMBERS, real)
        there = op_function("bits")
        assert result_types(there, [real]) == (np.dtype(whole),)
        images = Compiled(there, [real])(x)[0]
        assert np.array_equal(images, x.view(whole)) and np.array_equal(run(there, x)[0], images)
        assert same(Compiled(op_function("of_bits"), [whole])(images)[0], x)
    x, one = param(0), Function.make(1, [apply("of_bits", apply("add", apply("bits", apply("add", param(0), 0.5)), 1))])
    assert value_and_partials(one, [0])[1] == ((None,),)
    both = Function.make(2, [apply("mul", one.outputs[0], param(1))])
    assert value_and_partials(both, [0, 1])[1] == ((None, one.outputs[0]),)
    assert result_types(Function.make(1, [apply("bits", 1.0), x]), ["float32"])[0] == np.dtype("int32")
    for op, dtype in (("bits", "int64"), ("of_bits", "int16"), ("of_bits", "float64")):
        with pytest.raises(ScalarError, match=op):
            result_types(op_function(op), [dtype])


# -- loops


def test_loops_with_states_of_several_dtypes():
    def f(x, n):
        total, count, odd = x, 0, False
        for i in range(n):
            for j in range(i):
                total = total + 0.5 * j
                odd = not odd
            count += 1
        return total, count, odd

    x, n = np.linspace(0, 1, 5, dtype=np.float32), np.array([0, 1, 2, 5, 9], np.int32)
    dtypes = ["float32", "int32"]
    found = Compiled(read(f), dtypes)(x, n)
    assert [one.dtype for one in found] == list(result_types(read(f), dtypes))
    for one, two in zip(found, run(read(f), x, n), strict=True):
        assert same(one, two)


def doubled(x):
    while x < 10:
        x = x * 2
    return x


def endless(x):
    while x != 0:
        x = x * 1
    return x


def test_a_loop_on_the_side_not_taken_is_not_run():
    (loop,) = read(endless).outputs
    x = param(0)
    taken = apply("gt", x, 5)
    for outputs in (
        [apply("select", taken, 1.0, loop)],
        [apply("select", apply("not", taken), apply("add", loop, 1), x)],
        [apply("or", taken, apply("gt", loop, 3))],
        [apply("and", apply("not", taken), apply("gt", loop, 3))],
        [apply("select", taken, x, apply("select", apply("lt", x, 3), loop, x)), apply("select", taken, x, loop)],
    ):
        found = Compiled(Function.make(1, outputs), ["float64"])(np.array([6.0, 0.0, 7.0]))
        assert len(found) == len(outputs)


def test_a_loop_within_a_loop_that_is_not_reached():
    inner = read(endless)

    def f(x, n):
        for _ in range(n):
            x = np.where(x > 5, x - 1, inner(x))
        return x

    found = Compiled(read(f), ["float64", "int64"])(np.array([9.0, 20.0, 0.0]), np.array([3, 10, 2]))
    assert found[0].tolist() == [6.0, 10.0, 0.0]


def test_demands():
    (first,), (second,) = read(doubled).outputs, substitute(read(doubled), [param(1)])
    one, two = first.args[0], second.args[0]
    c, d = apply("gt", param(2), 0), apply("lt", param(2), 9)
    assert demands([first]) == {one: TRUE}
    assert demands([apply("select", c, first, 0.0)]) == {one: c}
    both = demands([apply("select", c, first, 0.0), apply("select", d, first, 0.0)])[one]
    assert both.op == "or" and set(both.args) == {c, d}
    assert demands([apply("select", c, first, 0.0), first]) == {one: TRUE}
    own = apply("select", apply("gt", first, 3), first, apply("select", c, second, 0.0))
    assert demands([own])[one] is TRUE  # the condition needs the loop itself
    assert demands([own])[two] is apply("and", apply("not", apply("gt", first, 3)), c)


def test_demands_that_need_each_other():
    (first,), (second,) = read(doubled).outputs, substitute(read(doubled), [param(1)])
    outer, other = apply("gt", param(2), 0), apply("gt", param(2), 1)
    left = apply("select", outer, apply("select", apply("gt", second, 0), first, 0.0), 0.0)
    right = apply("select", other, apply("select", apply("gt", first, 0), second, 0.0), 0.0)
    order, guards = schedule([left, right])
    assert {node for node in order if node.op == "loop"} == set(guards)
    seen = set()
    for node in order:
        assert {*node.args, *([guards[node]] if node in guards and guards[node] is not TRUE else [])} <= seen
        seen.add(node)
    f = Function.make(3, [left, right])
    x, y, z = (np.array(one) for one in zip(*itertools.product([-0.0, 3.0], [1.0, 20.0], [0.5, 2.0]), strict=True))
    x = x + 1
    for one, two in zip(Compiled(f, [F8] * 3)(x, y, z), run(f, x, y, z), strict=True):
        assert same(one, two)


# -- the text


def test_long_chains_need_no_recursion():
    x = param(0)
    for _ in range(10_000):
        x = apply("add", apply("mul", x, 0.5), param(1))
    printed = llvm_function(Function.make(2, [x]), ["float64"] * 2, "f")
    assert printed.text.count("fmul") == printed.text.count("fadd") == 10_000


def test_no_fast_math_and_no_contraction():
    f = read(lambda x, y: x * y + y - x / y)
    printed = llvm_function(f, ["float32"] * 2, "f")
    assert printed.support == ()
    for flag in ("fast", "nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc"):
        assert f" {flag} " not in printed.text
    x, y = np.random.default_rng(0).normal(size=(2, 1000)).astype(np.float32)
    assert same(Compiled(f, ["float32"] * 2)(x, y)[0], x * y + y - x / y)


def test_the_interface():
    f = read(lambda x, n: (np.exp(x) * n, np.exp(x) > 1))
    printed = llvm_function(f, [np.float32, np.int64], "work")
    assert printed.name == "work" and printed.parameters == ("float", "i64") and printed.results == ("double", "i1")
    assert printed.text.startswith("define internal { double, i1 } @work(float %x0, i64 %x1) alwaysinline")
    names = [name for name, _ in printed.support]
    assert len(names) == len(set(names)) and "catad_exp_float32" in names
    for name, text in printed.support:
        assert f"@{name}(" in text
    again = llvm_function(read(lambda x, n: (np.exp(x) * n, np.exp(x) > 1)), ["float32", "int64"], "work")
    assert again == printed
    assert llvm_function(Function.make(1, []), ["float64"], "none").results == ()


def test_a_map_is_vectorised():
    f = read(lambda x, y: np.tanh(x) * np.sin(y) if x > y else np.log1p(np.exp(x)) + np.arctan2(x, y) ** y)
    module, _ = optimised(llvm_function(f, ["float32"] * 2, "f"))
    body = str(module).split("define void @run(")[1].split("\n}")[0]
    assert " x float> @llvm.fma." in body


def test_what_cannot_be_printed_is_named():
    for f, dtypes, word in (
        (op_function("polygamma", 60), ["float32"], "polygamma of order 60"),
        (read(lambda x: x), ["float16"], "float16"),
        (read(lambda x: np.float16(x)), ["float64"], "float16"),
        (read(lambda x: x), [np.longdouble], str(np.dtype(np.longdouble))),
    ):
        with pytest.raises(CannotPrint, match=word) as caught:
            llvm_function(f, dtypes, "f")
        assert word in caught.value.construct
        copy = pickle.loads(pickle.dumps(caught.value))
        assert str(copy) == str(caught.value) and copy.construct == caught.value.construct


def test_what_has_no_type_is_named():
    cases = [("bitand", "&", ["int64", "uint64"]), ("lshift", "<<", ["uint64", "int8"])]
    cases.append(("ldexp", "ldexp", ["float64", "float64"]))
    for op, said, dtypes in cases:
        with pytest.raises(ScalarError, match=said):
            result_types(op_function(op), dtypes)
    with pytest.raises(ScalarError, match=r"does not fit uint8\n.*-3"):
        result_types(read(lambda x: x % -3), ["uint8"])


def test_operations_said_in_others_are_for_floats_only():
    assert composed("mod", np.dtype("int64")) is None and composed("mod", F8) is composed("mod", F8)
    assert composed("add", F8) is None

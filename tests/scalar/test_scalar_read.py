"""Reading Python functions: every construct against Python itself, errors at the right place, no source."""

import functools
import math
import operator
from math import sin as sine

import numpy as np
import pytest
from scalar_support import define, define_without_source, run, same

from catad.errors import NeedsTree, ScalarError
from catad.scalar import Function, read, vocabulary

A = np.array([-2.5, -1.0, -0.0, 0.0, 0.3, 1.0, 2.0, 7.5, 20.0])
B = np.array([1.0, -3.0, 2.0, 0.5, 0.3, -1.0, 5.0, 2.5, 0.1])
RATE, TYPED = 0.25, np.float64(1.5)


def flat(value):
    return [leaf for part in value for leaf in flat(part)] if isinstance(value, tuple) else [value]


def agrees(fn, *arrays, python=None):
    """The array code of a function gives what Python gives for each element."""
    arrays = arrays or (A, B)
    found = run(read(fn), *arrays)
    with np.errstate(all="ignore"):
        rows = [flat((python or fn)(*element)) for element in zip(*arrays, strict=True)]
    for k, column in enumerate(found):
        expected = np.array([float(row[k]) for row in rows])
        assert same(np.broadcast_to(column, expected.shape), expected), (fn, k)


def helper(x, scale=2.0, *, shift=0.0):
    return x * scale + shift


def if_chain(a, b):
    """A docstring."""
    if a > 1:
        r = a
    elif a > 0 and b > 0:
        r = b
    elif not a:
        r = -1.0
    else:
        r = a * b
        if b < 0:
            r += 1
    return r


def early_returns(a, b):
    if a < 0:
        return b
    c = a + b
    if c > 5:
        return c
    return c * 2


def nested_loops(a, b):
    total = 0.0
    for i in range(4):
        for j in range(i, 20, 5):
            if j == 11:
                continue
            if total > 30:
                break
            total += a * j + b
        else:
            total -= 1
    return total, i, j


def while_loop(a, b):
    n = 0
    x = abs(a) + 1
    while x < 100:
        x = x * 2 + abs(b)
        n += 1
        if n > 5:
            break
    else:
        n = -n
    return x, n


def while_that_binds(a, b):
    n = 0
    while (a := a - 1.5) > 0 and (b := b + 0.5) < 4:
        n += 1
        if n > 9:
            break
    else:
        n += 100
    return a, b, n


def while_that_binds_and_leaves(a, b):
    n = 0
    for i in range(12):
        while (a := a - 0.5) > 2.0:
            n += 1
            if n > 9:
                break
        else:
            if b < 0:
                continue
            if a < -1:
                break
            a = a + i
        n += 10
    return a, n


def bound_where_it_is_reached(a, b):
    if a > 0 and (b := b + 1) > 2:
        return b, a, b * 10, 1.0
    c = (b := b * 2) if a > 1 else (b := b - 1) if b > 0 else b
    t = 0 < a < (b := b + 5) < 8
    s = a > 1 or (b := b - 2.5)
    return b, c, t * 1.0, s * 1.0


def while_true_return(a, b):
    x = a
    k = 0
    while True:
        x = x + 1.5
        k += 1
        if x > 3 or k == 40:
            return x, k
        last = x
        if last > b + 10:
            return last, -k


def continue_loop(a, b):
    s = 0.0
    for k in range(30):
        if k % 3 == 0:
            continue
        if k * abs(a) > 12:
            break
        s += k + b
    return s, k


def tuples(a, b):
    p = (a, (b, a + b))
    x, (y, z) = p
    x, y = y, x
    first, *rest = x, y, z
    return (first, rest[0]), p[1][1], rest[-1]


def chained(a, b):
    return (0 <= a < b != 3) * 1.0, a < b < 5 < 7


def nested_functions(a, b):
    def square(x):
        return x * x

    cube = lambda x: x * square(x)  # noqa: E731
    return cube(a) + square(b)


def walrus_and_builtins(a, b):
    if (c := a + b) > 0:
        c = -c
    return (
        min(a, b, c),
        max(a, b),
        abs(c),
        divmod(a, 2.0)[1],
        sum((a, b)),
        pow(b, 2),
        float(a),
        int(a),
        round(a),
        bool(b) + 0,
    )


def values_of_and_or(a, b):
    return a and b, a or b, (a > 0 and b) or 3.0


def for_tuple(a, b):
    s = 0.0
    for k, w in enumerate((a, b, 0.5)):
        s += k * w
    for u, v in zip((a, b), (1.0, 2.0), strict=False):
        s -= u * v
    for c in (0.5, 1.5):
        if a > c:
            s += c
    return s


def loop_over_tuple_state(a, b):
    state = (a, (b, 1.0))
    for k in range(40):
        state = (state[1][0], (state[0] * 0.5, state[1][1] + k))
    return state


def locals_import(a, b):
    import math as m
    from math import floor

    assert m.pi > 3
    return floor(a) + m.fabs(b)


def loop_in_branch(a, b):
    if a > 0:
        n = 0
        while a > 1e-3:  # would never end for what comes not here
            a = a / 2
            n += 1
        return n
    while b < -1:
        b = b + 1
    return b


def uniform_sum(a, b):
    s = a
    for k in range(1, 50):
        s = s + b / k
    return s


def default_used(a, b, c=3.0, *, d=RATE):
    return a * c + b * d


def in_operator(a, b):
    return 1.0 if a in (1.0, 2.0) else 2.0 if b not in (0.0, 5.0) else 3.0


def int_arithmetic(a, b):
    n = int(a) // 2 + int(b) % 3
    return n * 2, n - 1, -n, n / 4, n & 3, n << 1, ~n


EXAMPLES = [
    if_chain,
    early_returns,
    nested_loops,
    while_loop,
    while_that_binds,
    while_that_binds_and_leaves,
    bound_where_it_is_reached,
    while_true_return,
    continue_loop,
    tuples,
    chained,
    nested_functions,
    walrus_and_builtins,
    values_of_and_or,
    for_tuple,
    loop_over_tuple_state,
    locals_import,
    loop_in_branch,
    uniform_sum,
    default_used,
    in_operator,
    int_arithmetic,
    lambda a, b: a if a > b else b,
    lambda a, b: helper(a) + helper(b, 3.0) + helper(a, shift=b, scale=1.0),
    lambda a, b: (a + RATE * b) * TYPED,
    lambda a, b: (a % 3.0, a // 2.0, -a % 2.5, b**2, b**5),
    lambda a, b: np.where(a > b, a, b * 2),
    lambda a, b: np.maximum(a, 0.0) + np.clip(b, -1.0, 1.0),
    lambda a, b: np.copysign(a, b) + np.sign(b) + np.floor(a) + np.square(b),
    lambda a, b: math.inf if a > 2 else -np.inf if b > 1 else math.pi,
    lambda a, b: (math.floor(a) - math.ceil(b), math.trunc(a), a - math.floor(a)),
    functools.partial(helper, scale=3.0),
    lambda a, b: functools.partial(helper, shift=b)(a),
]


@pytest.mark.parametrize("fn", EXAMPLES, ids=lambda fn: getattr(fn, "__name__", "partial"))
def test_agrees_with_python(fn):
    agrees(fn, *((A,) if isinstance(fn, functools.partial) else (A, B)))


NAMES = "sin cos tan asin acos atan sinh cosh tanh asinh exp exp2 expm1 log2 log10 log1p sqrt cbrt erf erfc"


def test_functions_of_math_numpy_and_operator():
    positive = np.abs(A) / 25 + 0.01
    for name in NAMES.split():
        fn = getattr(math, name)
        assert np.allclose(run(read(fn), positive)[0], [fn(x) for x in positive], rtol=1e-14)
    for name in ["gamma", "lgamma", "degrees", "radians", "fabs", "atanh"]:
        fn = getattr(math, name)
        assert np.allclose(run(read(fn), positive)[0], [fn(x) for x in positive], rtol=1e-14)
    for fn in (operator.add, operator.mul, operator.sub, operator.truediv, np.hypot, np.arctan2, math.atan2, math.pow):
        assert np.allclose(run(read(fn), positive, B)[0], [fn(x, y) for x, y in zip(positive, B, strict=True)], rtol=1e-14)
    assert np.allclose(
        run(read(lambda x: sine(x) + math.log(x, 3)), positive)[0], np.sin(positive) + np.log(positive) / np.log(3)
    )
    assert run(read(lambda x: math.hypot(x, 2.0, 3.0)), np.float64(6.0))[0] == 7.0


def test_outside_the_domain_it_is_what_numpy_gives():
    x = np.array([-1.0, 0.0])
    assert same(run(read(lambda x: math.sqrt(x)), x)[0], [np.nan, 0.0])
    assert same(run(read(lambda x: math.log(x)), x)[0], [np.nan, -np.inf])
    assert same(run(read(lambda x: 1 / x), np.array([0.0, -0.0]))[0], [np.inf, -np.inf])


def test_several_lambdas_on_one_line():
    both = [read(f) for f in (lambda x: x + 1, lambda x: x * 3, (lambda x: (lambda x: x - 5)(x) * 2), lambda x: x)]
    assert [float(run(f, np.float64(10.0))[0]) for f in both] == [11.0, 30.0, 10.0, 10.0]
    outer = lambda x: lambda x: x - 1  # noqa: E731
    assert float(run(read(outer(0)), np.float64(3.0))[0]) == 2.0
    pair = lambda x: 2.0, lambda x: 3.0
    assert [float(run(read(f), np.float64(1.0))[0]) for f in pair] == [2.0, 3.0]


def test_truth_values_count_as_integers():
    fn = lambda a, b: ((+(a > 0)) + (b > 0) + True, -(a > b), (a > 0) * (b > 0) * 0.5, abs(a > 0) / 2)  # noqa: E731
    for column, expected in zip(run(read(fn), A, B), zip(*map(fn, A.tolist(), B.tolist()), strict=True), strict=True):
        assert np.array_equal(column, expected)


def test_nan_in_min_and_max():
    nan = np.array([np.nan, 1.0]), np.array([1.0, np.nan])
    assert same(run(read(lambda a, b: max(a, b)), *nan)[0], [np.nan, 1.0])  # as Python compares
    assert same(run(read(np.maximum), *nan)[0], [np.nan, np.nan])
    assert same(run(read(np.fmax), *nan)[0], [1.0, 1.0])


def test_trees():
    f = read(lambda s, t: ((s[0] * t[0], s[0] * t[1] + s[1]), t[0]), [(None, None), (None, None)])
    assert f.arity == 4 and f.tree == ((None, None), None) and f.param_trees == ((None, None), (None, None))

    def unpacks(s, x):
        a, (b, c) = s
        return a + b * c, (x, x)

    g = read(unpacks, [(None, (None, None)), None])
    assert [float(v) for v in run(g, *map(np.float64, (1, 2, 3, 4)))] == [7.0, 4.0, 4.0]
    for fn in (
        unpacks,
        lambda s: s[0],
        lambda s: sum(s),
        define_without_source("def f(s):\n    a, b = s\n    return a\n"),
    ):
        with pytest.raises(NeedsTree):
            read(fn)
    assert read(lambda *s: s[0] + s[1], [None, None]).arity == 2
    assert read(lambda x, k=2: x * k, [None, None]).arity == 2 and read(lambda x, k=2: x * k).arity == 1


def test_functions_with_a_scalar_function():
    class Sine:
        __scalar_function__ = vocabulary["sin"].function

        def __call__(self, x):
            raise AssertionError

    sine_object = Sine()
    assert read(sine_object) is vocabulary["sin"].function
    assert read(lambda x: sine_object(x) * 2) == read(lambda x: math.sin(x) * 2)
    f = read(lambda x: x + 1)
    assert read(f) is f and read(lambda x: f(f(x))) == read(lambda x: (x + 1) + 1)
    traced = define_without_source("f = lambda x: s(x) * 2 + g(x)", s=sine_object, g=f)
    assert read(traced) == read(lambda x: math.sin(x) * 2 + (x + 1))


class Model:
    rate = 0.5

    def step(self, x):
        return x * self.rate

    def __call__(self, x):
        return self.step(x) + 1


def test_methods_attributes_and_callable_objects():
    model = Model()
    assert read(model.step) == read(lambda x: x * 0.5)
    assert read(model) == read(lambda x: x * 0.5 + 1)
    assert read(lambda x: x * model.rate) == read(lambda x: x * 0.5)


# -- without source

WITHOUT = """
def f(a, b):
    c = math.sin(a) if a > 0 else np.cos(b)
    if a > b and b > 0 or c == 0:
        c = c * 2
    for k in range(3):
        c = c + k * b
    return c, min(a, b), abs(b), max(a, 0.0), float(a > b), math.floor(a), g(b)
"""


def test_without_source_it_is_traced():
    fn = define_without_source(WITHOUT, math=math, np=np, g=define_without_source("f = lambda x: x if x > 0 else -x"))
    agrees(fn)
    agrees(define_without_source("f = lambda a, b: (a + b, b ** 2, 2.0 / a, -a, a % 2.0, helper(a))", helper=helper))
    agrees(
        define_without_source(
            "def f(a, b):\n    def g(x):\n        return math.exp(x) if x < 1 else x\n    return g(a) + g(b)\n",
            math=math,
        )
    )
    closed = define_without_source("def m(k, fn):\n    return lambda a, b: k * fn(a) + b\nf = m(2.5, math.tanh)", math=math)
    assert np.allclose(run(read(closed), A, B)[0], 2.5 * np.tanh(A) + B)
    assert np.allclose(
        run(read(define_without_source("f = lambda x: np.where(x > 0, np.sin(x), np.float64(2) * x)", np=np)), A)[0],
        np.where(A > 0, np.sin(A), 2 * A),
    )


def test_a_helper_with_a_loop_is_read_even_from_a_traced_function():
    agrees(define_without_source("f = lambda a, b: a + loop(a, b) if a > 0 else b", loop=uniform_sum))


def test_loops_on_data_need_source():
    for source in (
        "def f(x):\n    while x < 100:\n        x = x * 2\n    return x\n",
        "def f(x):\n    s = 0\n    for i in range(50):\n        s = s + (1 if x > i else x)\n    return s\n",
    ):
        with pytest.raises(ScalarError, match="put the function into a file so that its loop can be read"):
            read(define_without_source(source))
    with pytest.raises(ScalarError, match="put the function into a file"):
        read(define_without_source("def f(n):\n    return sum(range(n))\n"))


# -- errors

WRONG = {
    "comprehension": ("def f(x):\n    return sum([x for i in range(3)])\n", 2, 16, "for loop"),
    "undefined": ("def f(x):\n    y = x + 1\n    return y + zz\n", 3, 16, "zz"),
    "one branch": ("def f(x):\n    if x > 0:\n        y = x\n    return y\n", 4, 12, "only one branch"),
    "before value": ("def f(x):\n    z = y\n    y = x\n    return y\n", 2, 9, "no value yet"),
    "no return": ("def f(x):\n    if x > 0:\n        return x\n", 1, 1, "some path"),
    "try": ("def f(x):\n    try:\n        return x\n    except ValueError:\n        return 0.0\n", 2, 5, "if"),
    "raise": ("def f(x):\n    if x < 0:\n        raise ValueError(x)\n    return x\n", 3, 9, "nan"),
    "print": ("def f(x):\n    print(x)\n    return x\n", 2, 5, "print"),
    "index": ("def f(x):\n    t = (x, 2.0)\n    return t[int(x)]\n", 3, 14, "constant integer"),
    "dictionary": ("def f(x):\n    return {0: x}[0]\n", 2, 12, "if and else"),
    "array": ("def f(x):\n    return x + table[0]\n", 2, 16, "pass the array as an argument"),
    "endless": ("def f(x):\n    while True:\n        x = x + 1\n    return x\n", 2, 5, "no end"),
    "loop value": ("def f(x):\n    while x < 3:\n        x = x + 1\n        y = x\n    return y\n", 5, 12, "no trip"),
    "unpack": ("def f(x):\n    a, b = (x, x, x)\n    return a\n", 2, 5, "3 values for 2 names"),
    "keyword": ("def f(x):\n    return max(x, 1.0, key=abs)\n", 2, 12, "key"),
    "nesting": ("def f(x):\n    return (x, x) if x > 0 else x\n", 2, 12, "nested differently"),
    "attribute": ("def f(x):\n    return x.shape\n", 2, 12, "shape"),
    "matmul": ("def f(x):\n    return x @ x\n", 2, 12, "arrays"),
    "complex": ("def f(x):\n    return x * 2j < x\n", 2, 12, "complex"),
    "recursion": ("def f(x):\n    return f(x - 1) if x > 0 else 0.0\n", 2, 12, "loop"),
    "wide": ("def f(x):\n    ü = 'ö', x + nope\n    return x\n", 2, 18, "nope"),
    "state": (
        "def f(x):\n    t = x\n    while x > 0:\n        t = (t, x)\n        x = x - 1\n    return x\n",
        3,
        5,
        "nesting",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_errors_name_file_line_and_column(case):
    source, line, column, hint = WRONG[case]
    fn = define(source, table=np.arange(3.0))
    with pytest.raises(ScalarError) as caught:
        read(fn)
    message = str(caught.value)
    assert f"{fn.__code__.co_filename}:{line}:{column}\n" in message, message
    assert source.splitlines()[line - 1].strip() in message and hint in message


def test_the_caret_stands_under_the_place():
    with pytest.raises(ScalarError) as caught:
        read(define("def f(x):\n    return x + zz\n"))
    lines = str(caught.value).splitlines()
    at = next(k for k, text in enumerate(lines) if "return x + zz" in text)
    assert lines[at + 1].index("^") == lines[at].index("zz")


def test_what_is_no_function_of_scalars():
    for thing in (3, "sin", np, np.sum, print, [1], dict):
        with pytest.raises(ScalarError):
            read(thing)


def test_a_file_that_changed_is_not_trusted():
    import linecache

    fn = define("f = lambda x: x * 2.0\n")
    file = fn.__code__.co_filename
    linecache.cache[file] = (1, None, ["f = lambda x: x * 3.0\n"], file)
    assert run(read(fn), np.float64(1.0))[0] == 2.0


def test_equal_functions_are_equal():
    f, g = read(lambda x, y: x * y + 1), read(lambda u, v: (u * v) + 1)
    assert f == g and hash(f) == hash(g) and f != read(lambda x, y: x * y + 1.0)
    assert isinstance(f, Function) and f.name == "<lambda>"


def test_long_functions():
    body = "".join(f"    if x < {k}:\n        return x * {k}.5\n" for k in range(300))
    fn = define(f"def f(x):\n{body}    return {' + '.join(['x'] * 900)}\n")
    x = np.array([-1.0, 3.5, 299.5, 1e3])
    assert run(read(fn), x)[0].tolist() == [fn(v) for v in x.tolist()]


def test_recursion_on_a_constant_ends():
    def power(x, n):
        return 1.0 if n == 0 else x * power(x, n - 1)

    assert run(read(lambda x: power(x, 5)), np.float64(2.0))[0] == 32.0

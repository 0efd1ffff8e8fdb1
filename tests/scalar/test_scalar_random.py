"""Random programs: array code against plain Python on each element, derivatives against dual numbers in Python."""

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scalar_support import define, define_without_source, run, run_partials, same

from catad.scalar import read

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.0, -2.5, 1e10, 1e200, -1e200, 1e-200, np.inf, -np.inf, np.nan]
PLAIN = [0.5, -0.75, 1.25, 2.0, -3.0, 4.5]


@st.composite
def expressions(draw, names, depth=3):
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return draw(st.sampled_from([*names, *names, "1.0", "0.5", "2.0", "-3.0", "0.0"]))
    a, b = draw(expressions(names, depth - 1)), draw(expressions(names, depth - 1))
    shapes = ["({a} + {b})", "({a} - {b})", "({a} * {b})", "(-({a}))", "abs({a})", "min({a}, {b})", "max({a}, {b})"]
    shape = draw(st.sampled_from([*shapes, "({a} + 0.0)", "({a} * 1)", "({a} - 0.0)", "({a} if {c} else {b})"]))
    return shape.format(a=a, b=b, c=draw(conditions(names, 0)))


@st.composite
def conditions(draw, names, depth=1):
    a, b = draw(expressions(names, depth)), draw(expressions(names, depth))
    one = f"{a} {draw(st.sampled_from(['<', '<=', '>', '>=', '==', '!=']))} {b}"
    if depth and draw(st.booleans()):
        joined = f" {draw(st.sampled_from(['and', 'or']))} "
        return f"({one}){joined}{'not ' if draw(st.booleans()) else ''}({draw(conditions(names, 0))})"
    return one


def indented(lines):
    return ["    " + line for line in lines]


@st.composite
def blocks(draw, names, depth, in_loop, loops):
    lines = []
    for _ in range(draw(st.integers(1, 3))):
        kinds = ["assign", "assign", "augment", "swap"]
        kinds += ["if", "return"] if depth else []
        kinds += ["for", "while"] if depth and loops else []
        kinds += ["break", "continue"] if in_loop and depth else []
        kind = draw(st.sampled_from(kinds))
        if kind == "assign":
            lines.append(f"{draw(st.sampled_from(names))} = {draw(expressions(names))}")
        elif kind == "augment":
            op = draw(st.sampled_from(["+", "-", "*"]))
            lines.append(f"{draw(st.sampled_from(names))} {op}= {draw(expressions(names, 1))}")
        elif kind == "swap":
            lines.append("x, y = y, x")
        elif kind == "if":
            body = draw(blocks(names, depth - 1, in_loop, loops))
            lines += [f"if {draw(conditions(names))}:", *indented(body)]
            if draw(st.booleans()):
                lines += ["else:", *indented(draw(blocks(names, depth - 1, in_loop, loops)))]
        elif kind in ("break", "continue", "return"):
            leave = f"return {draw(expressions(names, 1))}, z" if kind == "return" else kind
            lines += [f"if {draw(conditions(names))}:", f"    {leave}"]
        else:
            lines += draw(loop_lines(names, depth, kind))
    return lines


@st.composite
def loop_lines(draw, names, depth, kind):
    counter = f"k{depth}"
    if kind == "for":
        trips = draw(st.sampled_from(["3", "2, 20", "5, 0, -2", "17"]))
        head, tail = [f"for {counter} in range({trips}):", f"    c = float({counter})"], []
        body = draw(blocks([*names, "c"] if draw(st.booleans()) else names, depth - 1, True, False))
    else:
        head = [f"n{depth} = 0", f"while {draw(conditions(names))}:"]
        body = [f"n{depth} += 1", f"if n{depth} > 6:", "    break", *draw(blocks(names, depth - 1, True, False))]
        tail = []
    if draw(st.integers(0, 3)) == 0:
        tail = ["else:", "    z = z + 1.5"]
    return [*head, *indented(body), *tail]


@st.composite
def programs(draw, loops=True):
    body = draw(blocks(["x", "y", "z"], 2, False, loops))
    lines = ["def f(x, y):", "    z = x * 0.5", *indented(body), f"    return {draw(expressions(['x', 'y', 'z']))}, z"]
    return "\n".join(lines) + "\n"


def python(fn, xs, ys, kind=float):
    with np.errstate(all="ignore"):
        return [[float(v) for v in fn(np.float64(x), np.float64(y))] for x, y in zip(xs, ys, strict=True)]


CHECKS = settings(deadline=None, suppress_health_check=list(HealthCheck))


@CHECKS
@given(programs(), st.lists(st.tuples(st.sampled_from(SPECIAL), st.sampled_from(SPECIAL)), min_size=8, max_size=8))
def test_array_code_is_python_on_each_element(source, points):
    fn = define(source)
    xs, ys = map(np.array, zip(*points, strict=True))
    expected = np.array(python(fn, xs, ys)).T
    found = run(read(fn), xs, ys)
    for column, wanted in zip(found, expected, strict=True):
        column = np.broadcast_to(column, wanted.shape)
        assert same(column, wanted), (source, points)


@CHECKS
@given(programs(loops=False))
def test_traced_is_read(source):
    xs, ys = map(np.array, zip(*[(a, b) for a in SPECIAL for b in SPECIAL], strict=True))
    for one, two in zip(run(read(define(source)), xs, ys), run(read(define_without_source(source)), xs, ys), strict=True):
        assert same(np.broadcast_to(one, xs.shape), np.broadcast_to(two, xs.shape)), source


class Dual:
    """A number and its derivative, for Python to run the same program on."""

    def __init__(self, value, slope=0.0):
        self.value, self.slope = np.float64(value), np.float64(slope)

    def __add__(self, other):
        other = dual(other)
        return Dual(self.value + other.value, self.slope + other.slope)

    def __mul__(self, other):
        other = dual(other)
        return Dual(self.value * other.value, self.value * other.slope + self.slope * other.value)

    def __neg__(self):
        return Dual(-self.value, -self.slope)

    def __sub__(self, other):
        return self + -dual(other)

    def __rsub__(self, other):
        return dual(other) + -self

    def __abs__(self):
        return Dual(abs(self.value), self.slope * np.sign(self.value))

    __radd__, __rmul__ = __add__, __mul__


def dual(x):
    return x if isinstance(x, Dual) else Dual(x)


for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    _ufunc = {
        "lt": np.less,
        "le": np.less_equal,
        "gt": np.greater,
        "ge": np.greater_equal,
        "eq": np.equal,
        "ne": np.not_equal,
    }[_name]
    setattr(Dual, f"__{_name}__", lambda self, other, u=_ufunc: bool(u(self.value, dual(other).value)))


@CHECKS
@given(programs(), st.lists(st.tuples(st.sampled_from(PLAIN), st.sampled_from(PLAIN)), min_size=6, max_size=6))
def test_partials_are_those_of_dual_numbers(source, points):
    fn = define(source)
    xs, ys = map(np.array, zip(*points, strict=True))
    rows = run_partials(read(fn), [0, 1], xs, ys)
    with np.errstate(all="ignore"):
        for d in (0, 1):
            results = [fn(Dual(x, d == 0), Dual(y, d == 1)) for x, y in points]
            for k in range(2):
                expected = np.array([dual(result[k]).slope for result in results])
                found = np.zeros(len(xs)) if rows[k][d] is None else np.broadcast_to(rows[k][d], xs.shape)
                sure = np.isfinite(expected) & (abs(expected) < 1e100)
                assert np.allclose(found[sure], expected[sure], rtol=1e-9, atol=1e-9), (source, points)

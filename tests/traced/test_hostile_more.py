"""Programs of many kinds of Python and of NumPy: what NumPy gives, number by number, on all engines, or a named error."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import numpy as np
import pytest

import catad as ct
from tests.traced.programs import module

TEXT = """
import collections
import dataclasses
import functools
import itertools
import operator

P = []


def prog(*args, grad=True):
    def deco(f):
        P.append((f, args, grad))
        return f

    return deco


x3 = np.array([0.5, -1.2, 2.0])
m = np.arange(12.0).reshape(3, 4) / 7 - 0.5
i3 = np.array([3, -1, 2])
b3 = np.array([True, False, True])


@dataclasses.dataclass
class DC:
    w: object
    b: object
    name: str = "n"

    def __post_init__(self):
        self.t = 2.0


@dataclasses.dataclass(frozen=True)
class FZ:
    w: object
    k: int = 3

    @property
    def dbl(self):
        return self.w * 2


class NT(collections.namedtuple("NT", "a b")):
    def tot(self):
        return self.a + self.b


@prog(x3)
def p1(x):
    d = DC(x, x.sum())
    d.w = d.w * d.t
    d2 = dataclasses.replace(d, b=d.b + 1)
    return d2.w * d2.b + d.b


@prog(FZ(x3))
def p2(p):
    return p.dbl * p.k


@prog(NT(x3, x3 * 2))
def p3(p):
    return p.tot(), p._replace(a=p.b).a


@prog(x3)
def p4(x):
    def gen(n):
        for i in range(n):
            yield x * i

    return sum(gen(4)), [*gen(2)][1]


@prog(x3)
def p5(x):
    d = {k: v * 2 for k, v in zip("abc", x)}
    d |= {"z": x[0]}
    return d.pop("a") + sum(d.values())


@prog(x3)
def p6(x):
    if (n := x.sum()) > 0:
        return n * 2
    return (m2 := n * 3) + m2


@prog(x3)
def p7(x):
    match x.shape:
        case (n,) if n > 2:
            y = x * n
        case _:
            y = x
    match {"k": y, "n": 1}:
        case {"k": z, **rest}:
            return z + rest["n"]


@prog(x3)
def p8(x):
    r = []
    for i in range(3):
        try:
            if i == 1:
                continue
            r.append(x[i] * 2)
        finally:
            r.append(x[i])
    return np.array(r)


@prog(x3)
def p9(x):
    def f(*a, **k):
        return a[0] * k["s"] + sum(a[1:])

    return f(*x, **{"s": 2.0}), f(*[x, x], s=3)


@prog(x3)
def p10(x):
    fs = [lambda q, i=i: q * i for i in range(3)]
    gs = [lambda q: q * j for j in range(3)]
    return sum(f(x) for f in fs) + sum(g(x) for g in gs)


@prog(x3)
def p11(x):
    return np.vectorize(lambda a: a * a if a > 0 else -a)(x)


@prog(m)
def p12(a):
    return (
        np.einsum("ij,kj->ik", a, a),
        np.einsum("ii->i", a[:, :3]),
        np.einsum("ij->", a),
        np.einsum("ij,j", a, a[0]),
        np.einsum("...j,...j->...", a, a),
    )


@prog(m)
def p13(a):
    v = a[::2]
    u = v[:, 1:3]
    u *= 3
    w = u.T
    w += 1
    return a, u


@prog(m)
def p14(a):
    r = a.reshape(2, 6)
    r[0] = 5
    f = a.ravel()
    f[-1] = 7
    t = a.T[1:]
    t[0, 0] = 9
    return a


@prog(x3, i3)
def p15(x, i):
    return x * i, x // i, i // 2, i % 3, x + i[::-1], i**2, i / 2, -i, abs(i), ~i, i >> 1, i & 3


@prog(x3, b3)
def p16(x, b):
    return x * b, b + b, b * 2, b | (x > 0), np.where(b, x, -x), ~b, b.sum(), b.mean(), -x * b, b ^ True


@prog(np.zeros(0))
def p17(x):
    return x.sum(), x * 2, np.concatenate([x, np.ones(2)]), x.prod(), np.cumsum(x), x[:3], x.reshape(0, 5).sum(0)


@prog(np.array(2.0))
def p18(x):
    return x * x, x + 1, np.sum(x), x.reshape(1), np.atleast_1d(x), x[()], x.T, np.stack([x, x])


@prog(m)
def p19(a):
    return a[::-1, ::-2], a[-1:0:-1], np.flip(a[:, ::-1], 0), a[::-1].T[::-1].cumsum(0)


@prog(np.array([0.0, -0.0, np.nan, np.inf, -np.inf]), grad=False)
def p20(x):
    return (
        np.sign(x),
        1 / x,
        np.maximum(x, 0),
        np.abs(x),
        x * 0,
        np.sqrt(x),
        np.fmax(x, 1),
        np.sort(x),
        np.nan_to_num(x),
        np.copysign(1, x),
        x == x,
        np.minimum(0.0, x),
        np.arctan2(x, -1),
        np.nansum(x),
        np.max(x),
        np.argmax(x),
        np.argmin(x),
        np.clip(x, 0, 1) + 0.0,
        -x,
        x - x,
    )


@prog(x3)
def p21(x):
    global G
    G = x.sum() * 0 + 3
    return x * 2


@prog(x3)
def p22(x):
    k = 1.0

    def inner(y):
        nonlocal k
        k = k * 2
        return y * k

    return inner(x) + inner(x)


@prog(x3)
def p23(x):
    s = 0.0
    it = iter(x)
    a = next(it)
    for v in it:
        s = s + v * a
    return s


@prog(x3)
def p24(x):
    return (
        functools.reduce(operator.mul, x),
        list(itertools.accumulate(x))[-1],
        math.prod(x),
        max(x),
        min(x, key=abs),
        sorted(x)[1],
        sum(map(abs, x)),
    )


@prog(x3)
def p25(x):
    a, *b = x
    (c, d), e = (x[0], x[1]), x
    return a + sum(b) * c - d * e


@prog(x3)
def p26(x):
    y = np.empty((2, 3))
    y[0], y[1] = x, x * 2
    y[:, [0, 2]] = y[:, [2, 0]]
    y[1] -= y[0]
    return y


@prog(x3)
def p27(x):
    y = x.copy()
    y[[0, 0, 1]] += 1
    y[y > 0] *= 2
    y[np.array([True, False, True])] -= 3
    return y


@prog(m)
def p28(a):
    b = a
    b += 1
    c = a[1]
    a[1, 0] = 100 * a[1, 1]
    return b, c, a.sum()


@prog(x3)
def p29(x):
    y = x
    y = y + 1
    y += 1
    z = y
    z *= 2
    return x, y, z


@prog(x3)
def p30(x):
    i = 0
    out = np.zeros(3)
    while True:
        if i >= 3:
            break
        j = 0
        while j <= i:
            out[i] += x[j]
            j += 1
        i += 1
    else:
        out *= 100
    return out


@prog(x3)
def p31(x):
    return (
        np.apply_along_axis(lambda r: r * r.sum(), 0, x),
        np.piecewise(x, [x < 0, x >= 0], [lambda v: -v, lambda v: v * v]),
        np.select([x > 1, x > 0], [x, 2 * x], -1),
    )


@prog(m)
def p32(a):
    return (
        np.tensordot(a, a, axes=([0], [0])),
        np.kron(a[:2, :2], a[:1]),
        np.outer(a[0], a[:, 1]),
        np.inner(a, a),
        np.trace(a, 1),
        np.diag(a),
        np.diag(a[0]),
        np.tril(a),
        np.triu(a, 1),
    )


@prog(x3)
def p33(x):
    s = f"{x.shape} {x.dtype}"
    return x * len(s)


@prog(x3)
def p34(x):
    return (
        x.__getitem__(1) * 2,
        x.__add__(1),
        getattr(x, "sum")(),
        operator.itemgetter(2)(x),
        operator.attrgetter("T")(x),
    )


@prog(x3)
def p35(x):
    q = collections.deque(maxlen=2)
    for v in x:
        q.append(v)
    c = collections.defaultdict(float)
    c["a"] += x[0]
    c["a"] += x[1]
    return q[0] * q[1] + c["a"]


@prog(x3)
def p36(x):
    y = np.zeros(3, dtype=np.float32)
    y[:] = x
    z = np.zeros(3, dtype=int)
    z[:] = x * 3
    return y, z


@prog(x3)
def p37(x):
    return (
        np.add.reduce(x),
        np.multiply.accumulate(x),
        np.subtract.outer(x, x),
        np.maximum.reduce(x),
        np.add(x, 1, where=x > 0, out=x * 1.0),
        np.logaddexp.reduce(x),
    )


@prog(x3)
def p38(x):
    with np.errstate(all="ignore"):
        y = np.log(x)
    return np.where(np.isnan(y), 0, y)


@prog(m)
def p39(a):
    return (
        np.split(a, 2, axis=1)[1],
        np.array_split(a, 2)[0],
        np.hstack([a, a[:, :1]]),
        np.r_[a[0], 1.0],
        np.c_[a[0], a[1]],
        np.pad(a, 1),
        np.roll(a, 1, 0),
        np.tile(a[0], 2),
        np.repeat(a[0], 2),
    )


@prog(x3)
def p40(x):
    return (
        x.argsort(),
        np.take(x, [2, 0]),
        np.choose([0, 1, 0], [x, x * 2]),
        np.searchsorted(np.sort(x), 0.1),
        np.digitize(x, [0, 1]),
        np.diff(x),
        np.gradient(x),
        np.interp(0.3, [0, 1], [x[0], x[1]]),
        np.cross(x, x[::-1]),
        np.ptp(x),
        np.median(x),
        np.percentile(x, 30),
        np.var(x, ddof=1),
    )


@prog(x3, 2)
def p41(x, n):
    y = x
    for _ in range(3):
        y = y * n
    return y, n * 2, n / 3, x**n, n**x, n // 2, divmod(n, 2)[1]


@prog({"a": x3, "b": [x3, 2.0]})
def p42(p):
    p = {**p, "c": p["a"] * 2}
    p["b"][1] *= 3
    return p["c"] * p["b"][1] + p["b"][0], p


@prog(x3)
def p43(x):
    l = [x, x * 2]
    l[0] = l[0] + 1
    l += [x * 3]
    l.insert(0, x * 4)
    l.reverse()
    del l[1]
    a, b, c = l
    return a - b * c, l.index(a) if False else len(l)


@prog(x3)
def p44(x):
    class C:
        def __init__(s, v):
            s.v = v

        def __mul__(s, o):
            return C(s.v * o)

        __rmul__ = __mul__

        def __call__(s):
            return s.v

    return (2 * C(x) * 3)()


@prog(x3)
def p45(x):
    y = x.copy()
    v = y[1:]
    y = y * 2
    v[0] = 50
    return y, v


@prog(m)
def p46(a):
    for r in a:
        r[0] = r.sum()
    for i, r in enumerate(a):
        a[i] = r / 2
    for c in a.T:
        c -= c.mean()
    return a


@prog(m)
def p47(a):
    a[0], a[1] = a[1], a[0]
    a[[0, 1]] = a[[1, 0]]
    x, y = a[0, 0], a[0]
    a[0, 0] = 99
    return a, x, y


@prog(x3)
def p48(x):
    return (
        x[None] @ x[:, None],
        x @ x,
        np.dot(x, 2),
        np.vdot(x, x),
        x[:, None] * x,
        np.matmul(np.eye(3), x),
        np.linalg.norm(x),
        np.linalg.norm(x, 1),
        np.linalg.norm(x, np.inf),
    )


@prog(x3)
def p49(x):
    try:
        y = x.reshape(2, 2)
    except ValueError:
        y = x * 3
    try:
        z = x[5]
    except IndexError as e:
        z = x[0] * len(str(e)[:3])
    return y, z


@prog(x3)
def p50(x):
    return (
        np.array([[x[0], 1], [2, x[1]]]),
        np.array([x, x]).sum(),
        np.stack((x,) * 3, -1),
        np.asarray(list(x)),
        np.fromiter((v for v in [1.0, 2.0]), float) + x[0],
    )


@prog(x3)
def p51(x):
    y = x * 1
    y.sort()
    z = x[::-1].copy()
    z.fill(2)
    x.itemset if False else 0
    y[...] = y * 2
    y[:] += z
    return y


@prog(x3)
def p52(x):
    o = np.zeros(3)
    np.multiply(x, 2, out=o)
    np.add(o, 1, o)
    np.exp(o[1:], out=o[1:])
    return o


@prog(m)
def p53(a):
    return (
        a[a[:, 0].argsort()],
        a[np.arange(3), [0, 1, 2]],
        a[np.ix_([0, 2], [1, 3])],
        a[:, None, 1:3],
        a[..., -1],
        a[(0, 2), :],
        a[1][2],
        a[np.newaxis, 0],
    )


@prog(x3)
def p54(x):
    t = 0.0
    for a, b in itertools.combinations(range(3), 2):
        t += x[a] * x[b]
    for a, b in itertools.product(x, x):
        t += a * b
    for a, b in zip(x, x[1:]):
        t -= a / b
    for k, v in enumerate(x, 1):
        t += k * v
    return t


@prog(x3)
def p55(x):
    return 1 if x[0] > 5 else x.sum() if x[1] < 0 else 2.0, x[0] > 0 and x[1] or x[2], not x[0] > 0, 0 < x[0] < 1 < 2


@prog(np.float32([1, 2, 3]), x3)
def p56(a, b):
    return (
        a * 2,
        a * b,
        a + 1,
        a / 3,
        np.float64(2) * a,
        a.mean(),
        a @ a,
        np.sin(a),
        a**2,
        a.astype(float) * b,
        np.sqrt(a).dtype == np.float32,
    )


@prog(np.int8([100, 100, -100]), grad=False)
def p57(a):
    return (
        a + a,
        a * 2,
        a.sum(),
        np.abs(a),
        a / 2,
        -a,
        a // 3,
        a % 7,
        a.mean(),
        a.cumsum(),
        np.left_shift(a, 1),
        a.astype(np.uint8),
        a > 50,
    )


@prog(np.uint8([1, 2, 3]), grad=False)
def p58(a):
    return a - 2 * a, -a, a - 5, a.sum(), a * 200, np.diff(a), a**3, ~a, a.prod(), a.max() - a


@prog(x3)
def p59(x):
    memo = {}

    def fib(n):
        if n < 2:
            return x * n
        if n not in memo:
            memo[n] = fib(n - 1) + fib(n - 2)
        return memo[n]

    return fib(10)


@prog(x3)
def p60(x):
    s = slice(1, None)
    e = ...
    y = x[s]
    y = y[e]
    z = np.s_[::2]
    return x[z], y, x[slice(None, None, -1)]


@prog(m)
def p61(a):
    b = a[:2]
    c = b.T
    d = c[1:]
    d[0] += 10
    e = np.asarray(b)
    e[1, 2] = -1
    f = np.array(b, copy=True)
    f *= 0
    g = b.view()
    g[0, 0] = 77
    return a


@prog(m)
def p62(a):
    s = np.zeros(4)
    for i in range(a.shape[0]):
        row = a[i]
        s += row
        row = row * 2
        a[i] = row
        s -= a[i - 1]
    return s, a


@prog(m)
def p63(a):
    s = np.zeros(4)
    for i in range(40):
        r = a[i % 3]
        r *= 0.9
        s += r
        r = s
        r[0] += 1
    return s, a


@prog(x3)
def p64(x):
    h = [x]
    for i in range(40):
        h.append(h[-1] * 0.5 + h[0])
        if len(h) > 3:
            h.pop(0)
    return h


@prog(x3)
def p65(x):
    a = x
    b = x * 2
    for i in range(40):
        a, b = b, a + b * 0.1
    return a, b


@prog(x3)
def p66(x):
    best = None
    for i in range(3):
        if best is None or x[i] > best:
            best = x[i]
    return best


@prog(x3)
def p67(x):
    best = -np.inf
    arg = -1
    for i in range(30):
        v = x[i % 3] * i
        if v > best:
            best, arg = v, i
    return best, arg


@prog(x3)
def p68(x):
    n = 0
    while np.abs(x).max() > 0.1:
        x = x * 0.7
        n += 1
        if n > 50:
            raise RuntimeError
    return x, n
"""

MADE = module(TEXT)
REFUSED = {"p61": "x.view has no meaning", "p68": "cannot repeat"}


def flat(value: Any) -> list[Any]:
    """The leaves of a result."""
    if isinstance(value, dict):
        return [leaf for key in sorted(value) for leaf in flat(value[key])]
    if isinstance(value, (tuple, list)):
        return [leaf for part in value for leaf in flat(part)]
    if dataclasses.is_dataclass(value):
        return [leaf for field in dataclasses.fields(value) for leaf in flat(getattr(value, field.name))]
    return [] if value is None else [np.asarray(value)]


@pytest.mark.parametrize("engine", ["reference", "auto", "cpu"])
@pytest.mark.parametrize("number", range(len(MADE.P)), ids=lambda k: MADE.P[k][0].__name__)
def test_a_program_gives_what_numpy_gives(number: int, engine: Any) -> None:
    fn, args, _ = MADE.P[number]
    with np.errstate(all="ignore"), ct.use_engine(engine):
        if fn.__name__ in REFUSED:
            with pytest.raises(ct.TraceError, match=REFUSED[fn.__name__]) as caught:
                ct.function(fn)(*copy.deepcopy(args))
            assert ".py:" in str(caught.value)
            return
        expected, got = flat(fn(*copy.deepcopy(args))), flat(ct.function(fn)(*copy.deepcopy(args)))
    assert len(expected) == len(got)
    for one, other in zip(expected, got, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_allclose(other, one, rtol=1e-12, atol=1e-13)
        if one.dtype.kind == "f":
            zeros = (one == 0) & (other == 0)
            np.testing.assert_array_equal(np.signbit(other[zeros]), np.signbit(one[zeros]))


SMOOTH = [
    "p1", "p2", "p3", "p4", "p5", "p6", "p8", "p9", "p10", "p11", "p12", "p13", "p14", "p22", "p25", "p26", "p28", "p42", "p46",
    "p47", "p52", "p54", "p62", "p63", "p65",
]  # fmt: skip


@pytest.mark.quick(5)
@pytest.mark.parametrize("name", SMOOTH)
def test_a_smooth_program_obeys_the_laws(name: str) -> None:
    fn, args, _ = next(one for one in MADE.P if one[0].__name__ == name)
    ct.testing.check_function(fn, *copy.deepcopy(args), order=1, only=["value", "text", "control flow", "derivatives"])

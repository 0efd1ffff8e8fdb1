"""Texts of programs: letter by letter where the design prints them, and by their laws: tracing a text gives the program."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catad as ct
from tests.traced.cases_texts import PROGRAMS
from tests.traced.programs import module
from tests.traced.texts import check_point_free, check_program, check_record, check_texts, traced_again

F3 = ct.f64[3]
A = np.arange(40.0).reshape(8, 5) / 7


@ct.function
def loss(w, b, x, y):
    h = np.tanh(x @ w + b)
    z = h - h.max(axis=1, keepdims=True)
    return -np.sum(y * (z - np.log(np.exp(z).sum(axis=1, keepdims=True)))) / len(x)


@ct.function
def halved(x):
    n = 0
    while np.sum(x) > 1.0:
        x = x / 2
        n = n + 1
    return x, n


@ct.function
def branch(x, y):
    if x[0] > y[0]:
        z = x * 2
        k = 1
    else:
        z = np.exp(y)
        k = 2
    return z + k


@ct.function
def leap(x, v, dt):
    for _ in range(40):
        v = v - dt * np.sin(x)
        x = x + dt * v
    return x, v


@ct.function
def writes(x, k):
    z = np.zeros(5)
    z[1:4] = x
    z[k] += 1.0
    z *= 2.0
    return z


LOSS_DOM = ct.product(ct.f64[5, 3], F3, ct.f64[4, 5], ct.f64[4, 3])

# -- the prints of the design


def test_a_function_prints_its_name() -> None:
    assert repr(loss) == "ct.function(loss)"


def test_the_loss_prints_as_a_lambda() -> None:
    assert repr(loss.at(LOSS_DOM)) == textwrap.dedent(
        """\
        ct.function(lambda w, b, x, y: (
            h := ct.tanh(x @ w + b),
            z := h - ct.max(axis=1, keepdims=True)(h),
            -ct.sum()(y * (z - ct.log(ct.sum(axis=1, keepdims=True)(ct.exp(z))))) / 4,
        )[-1]).at(ct.product(ct.f64[5, 3], ct.f64[3], ct.f64[4, 5], ct.f64[4, 3]))"""
    )


def test_the_loss_prints_as_a_definition() -> None:
    assert str(loss.at(LOSS_DOM)) == textwrap.dedent(
        """\
        def loss(w, b, x, y):
            h = ct.tanh(x @ w + b)
            z = h - ct.max(axis=1, keepdims=True)(h)
            return -ct.sum()(y * (z - ct.log(ct.sum(axis=1, keepdims=True)(ct.exp(z))))) / 4
        """
    )


def test_the_loss_prints_without_variables() -> None:
    """The design's first print shared `t1 >> ct.add >> ct.tanh`; here `fork(a >> f, a >> g)` is `a >> fork(f, g)`."""
    assert repr(loss.at(LOSS_DOM).point_free()) == (
        "ct.compose(ct.fork(ct.proj(3), ct.compose(ct.fork(ct.fork(ct.proj(2), ct.proj(0)) >> ct.matmul, ct.proj(1)), ct.add, "
        "ct.tanh, ct.fork(ct.id, ct.max(axis=1, keepdims=True)), ct.sub, "
        "ct.fork(ct.id, ct.exp >> ct.sum(axis=1, keepdims=True) >> ct.log), ct.sub)), ct.mul, ct.sum(), ct.neg, (ct.id / 4))"
    )


def test_a_while_loop_prints_its_bodies_in_place() -> None:
    p = halved.at(F3)
    dom = "ct.product(ct.f64[3] * ct.i64[()], ct.Unit)"
    loop = (
        f"ct.while_loop(ct.function(lambda s, f: ct.sum()(s[0]) > 1.0).at({dom}), "
        f"ct.function(lambda s, f: ((s[0] / 2, s[1] + 1), ())).at({dom}))((x, 0), ())"
    )
    assert repr(p) == f"ct.function(lambda x: {loop}[0]).at(ct.f64[3])"


def test_a_while_loop_prints_as_definitions() -> None:
    assert str(halved.at(F3)) == textwrap.dedent(
        """\
        def holds(s, f):
            x, _ = s
            return ct.sum()(x) > 1.0


        holds = ct.function(holds).at(ct.product(ct.f64[3] * ct.i64[()], ct.Unit))


        def step(s, f):
            x, n = s
            return (x / 2, n + 1), ()


        step = ct.function(step).at(ct.product(ct.f64[3] * ct.i64[()], ct.Unit))


        def halved(x):
            (x_2, n), _ = ct.while_loop(holds, step)((x, 0), ())
            return x_2, n
        """
    )


def test_a_while_loop_prints_without_variables() -> None:
    assert repr(halved.at(F3).point_free()) == (
        "ct.fork(ct.fork(ct.id, ct.const(np.int64(0))), ct.it) >> ct.while_loop("
        "ct.exl >> ct.exl >> ct.sum() >> ct.map(lambda x: x > 1.0), "
        "ct.exl >> ct.fork(ct.fork(ct.exl >> (ct.id / 2), ct.exr >> (ct.id + 1)), ct.it)) >> ct.exl"
    )


def test_the_sides_of_an_if_are_bound_first() -> None:
    p = branch.at(F3 * F3)
    assert repr(p) == textwrap.dedent(
        """\
        ct.function(lambda x, y: (
            if_true := ct.function(lambda x, y: (x * 2, 1)).at(ct.product(ct.f64[3], ct.f64[3])),
            if_false := ct.function(lambda x, y: (ct.exp(y), 2)).at(ct.product(ct.f64[3], ct.f64[3])),
            z_k := ct.choose(ct.exl, ct.exr >> if_true, ct.exr >> if_false)(x[0] > y[0], (x, y)),
            z_k[0] + ct.astype('float64')(z_k[1]),
        )[-1]).at(ct.product(ct.f64[3], ct.f64[3]))"""
    )
    assert str(p) == textwrap.dedent(
        """\
        def if_true(x, y):
            return x * 2, 1


        if_true = ct.function(if_true).at(ct.product(ct.f64[3], ct.f64[3]))


        def if_false(x, y):
            return ct.exp(y), 2


        if_false = ct.function(if_false).at(ct.product(ct.f64[3], ct.f64[3]))


        def branch(x, y):
            z, k = ct.choose(ct.exl, ct.exr >> if_true, ct.exr >> if_false)(x[0] > y[0], (x, y))
            return z + ct.astype('float64')(k)
        """
    )
    assert repr(p.point_free()) == (
        "ct.fork(ct.fork(ct.exl >> ct.index[0], ct.exr >> ct.index[0]) >> ct.gt, ct.id) >> ct.choose(ct.exl, "
        "ct.exr >> ct.exl >> ct.times(2) >> ct.fork(ct.id, ct.const(np.int64(1))), "
        "ct.exr >> ct.exr >> ct.exp >> ct.fork(ct.id, ct.const(np.int64(2)))) "
        ">> ct.fork(ct.exl, ct.exr >> ct.astype('float64')) >> ct.add"
    )


def test_the_body_of_a_loop_is_bound_first_and_its_state_unpacked() -> None:
    p = leap.at(ct.product(F3, F3, ct.f64[()]))
    dom = "ct.product(ct.f64[3] * ct.f64[3], ct.product(ct.f64[()]), ct.product(ct.i64[()]))"
    assert repr(p) == textwrap.dedent(
        f"""\
        ct.function(lambda x, v, dt: (
            step := ct.function(lambda s, f, u: (
                v := s[0] - f[0] * ct.sin(s[1]),
                ((v, s[1] + f[0] * v), ()),
            )[-1]).at({dom}),
            v_x := ct.sweep(step, 40)((v, x), (dt,), (np.arange(40),)),
            (v_x[0][1], v_x[0][0]),
        )[-1]).at(ct.product(ct.f64[3], ct.f64[3], ct.f64[()]))"""
    )
    assert str(p) == textwrap.dedent(
        f"""\
        def step(s, f, u):
            v, x = s
            dt, = f
            v_2 = v - dt * ct.sin(x)
            return (v_2, x + dt * v_2), ()


        step = ct.function(step).at({dom})


        def leap(x, v, dt):
            (v_2, x_2), _ = ct.sweep(step, 40)((v, x), (dt,), (np.arange(40),))
            return x_2, v_2
        """
    )
    assert repr(p.point_free()) == (
        "ct.fork(ct.fork(ct.proj(1), ct.proj(0)), ct.fork(ct.proj(2)), ct.fork(ct.const(np.arange(40)))) >> ct.sweep("
        "ct.fork(ct.fork((t3 := ct.fork(ct.proj(0) >> ct.exl, ct.fork((t1 := ct.proj(1) >> ct.proj(0)), "
        "(t2 := ct.proj(0) >> ct.exr) >> ct.sin) >> ct.mul) >> ct.sub), "
        "ct.fork(t2, ct.fork(t1, t3) >> ct.mul) >> ct.add), ct.it), 40) >> ct.exl >> ct.swap"
    )


def test_writes_print_as_new_values() -> None:
    p = writes.at(F3 * ct.i64[()])
    assert repr(p) == textwrap.dedent(
        """\
        ct.function(lambda x, k: (
            z := ct.at[1:4].set(np.zeros(5), x),
            z_2 := ct.at[ct.arg].set(z, k, z[k] + 1.0),
            z_2 * 2.0,
        )[-1]).at(ct.product(ct.f64[3], ct.i64[()]))"""
    )
    assert str(p) == textwrap.dedent(
        """\
        def writes(x, k):
            z = ct.at[1:4].set(np.zeros(5), x)
            z_2 = ct.at[ct.arg].set(z, k, z[k] + 1.0)
            return z_2 * 2.0
        """
    )
    assert repr(p.point_free()) == (
        "ct.fork((t1 := ct.exl >> ct.fork(ct.const(np.zeros(5)), ct.id) >> ct.at[1:4].set), ct.exr, "
        "ct.fork(t1, ct.exr) >> ct.index[ct.arg] >> (ct.id + 1.0)) >> ct.at[ct.arg].set >> ct.times(2.0)"
    )


PATTERNS = {
    "np.zeros(5)": np.zeros(5),
    "np.ones((3, 4), 'float32')": np.ones((3, 4), np.float32),
    "np.full(5, 7)": np.full(5, 7),
    "np.full((2, 3), -0.0)": np.full((2, 3), -0.0),
    "np.full(9, np.nan)": np.full(9, np.nan),
    "np.full(6, True)": np.full(6, True),
    "np.arange(7)": np.arange(7),
    "np.arange(3, 23, 4)": np.arange(3, 23, 4),
    "np.arange(5, -2, -1)": np.arange(5, -2, -1),
    "np.array([0.0, 0.0])": np.zeros(2),
    "np.array([0.0, 0.0, 0.0, 0.0, -0.0])": np.array([0.0, 0, 0, 0, -0.0]),
    "value": np.arange(20.0),
}


@pytest.mark.parametrize("text", PATTERNS)
def test_arrays_of_a_pattern_have_short_texts(text: str) -> None:
    f = ct.const(PATTERNS[text])
    assert repr(f) == f"ct.const({text})"
    assert eval(repr(f), {"ct": ct, **f.names}) == f


# -- the laws, for many programs


CAPTURED = """\
A = np.arange(40.0).reshape(8, 5) / 7
INDEX = np.array([2, 0, 1, 1])
MASK = np.array([True, False, True])
"""




def program(name: str) -> Any:
    body = textwrap.indent(PROGRAMS[name], "    ")
    made = module(f"{CAPTURED}\ndef f(x, y, a, k):\n{body}\n")
    return ct.function(made.f).at(np.ones(3), np.ones(3), np.ones((4, 5)), np.int64(2))


@pytest.mark.parametrize("name", PROGRAMS)
def test_texts_records_and_pictures_keep_the_program(name: str) -> None:
    check_program(program(name))


def test_a_text_in_a_file_traces_to_the_program() -> None:
    """There the text has source, and is rewritten before it runs."""
    for name in ("a rolled loop", "early returns", "a while with break", "an if with writes", "a long expression"):
        p = program(name)
        assert p.names.keys() <= {"np"}
        made = module(f"{p}\nprogram = {p!r}\n")
        assert made.program == p and ct.function(made.f).at(p.dom) == p


# -- names, lines


def test_a_captured_array_has_its_own_name() -> None:
    p = ct.function(lambda x: A @ x + A[0, 0]).at(ct.f64[5])
    assert repr(p) == "ct.function(lambda x: A @ x + np.float64(0.0)).at(ct.f64[5])"
    assert np.array_equal(p.names["A"], A)
    assert repr(p.lines[0]).startswith("A = constant f64[8, 5]")


def test_names_of_values_and_of_variables_differ() -> None:
    def f(x):
        array = x * 2
        step = array + B
        ct_, np_ = step * array, step - array
        return ct_ * np_ + B + ct_

    B = A[0].copy()
    p = ct.function(f).at(ct.f64[5])
    assert p.names.keys() == {"B"}
    check_texts(p)
    assert "array := x * 2" in repr(p) and "step := array + B" in repr(p)


def test_lines_say_names_terms_and_places() -> None:
    lines = loss.at(LOSS_DOM).lines
    assert [str(line).partition("  #")[0] for line in lines][:5] == [
        "v1 = x @ w", "v2 = v1 + b", "h = ct.tanh(v2)", "v3 = ct.max(axis=1, keepdims=True)(h)", "z = h - v3"
    ]  # fmt: skip
    assert lines[0].term == ct.matmul and lines[0].args == (2, 0) and lines[2].name == "h"
    file, number = (lines[2].source or "").rsplit(":", 1)
    assert file == __file__ and "np.tanh" in Path(file).read_text().splitlines()[int(number) - 1]


def test_the_order_of_writing_is_no_part_of_a_program() -> None:
    def first(x, y):
        a = np.sin(x)
        b = np.cos(y)
        return a * b

    def second(u, v):
        c = np.cos(v)
        np.exp(c)  # nobody reads it
        return np.sin(u) * c

    p, q = ct.function(first).at(F3 * F3), ct.function(second).at(F3 * F3)
    assert p == q and hash(p) == hash(q) and repr(p) != repr(q)
    assert p != ct.function(lambda u, v: np.cos(v) * np.sin(u)).at(F3 * F3)


def test_a_local_name_may_be_that_of_the_function() -> None:
    @ct.function
    def total(x):
        total = x * 2
        return total * total

    p = total.at(F3)
    assert str(p) == "def total(x):\n    total = x * 2\n    return total * total\n"
    assert traced_again(str(p), p) == p


def test_loops_after_loops_are_not_nested_without_end() -> None:
    """Python reads no more than 200 brackets within brackets."""

    def f(x):
        for _ in range(150):
            for _ in range(20):
                x = x * 0.5
        return x

    p = ct.function(f, unroll=19).at(F3)
    nested = ct.function(lambda x: [x := ct.iterate(lambda s: (s[0] * 0.5, s[1]), 3)((x, x))[0] for _ in range(300)][-1]).at(F3)
    for program in (p, nested):
        check_texts(program)


def test_a_text_is_as_long_as_the_program() -> None:
    def steps(n: int) -> Any:
        def f(x, w):
            for _ in range(n):
                x = np.tanh(x * w) + x
            return x

        return ct.function(f, unroll=10**9).at(F3 * F3)

    short, long = steps(100), steps(400)
    assert len(repr(long)) < 5 * len(repr(short)) and len(str(long)) < 5 * len(str(short))
    check_texts(long)
    assert len(repr(long.point_free())) < 6 * len(repr(short.point_free()))
    check_point_free(long)
    check_record(long)

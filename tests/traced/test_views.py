"""Writes through views: NumPy's result or a named error, in straight code, in helpers, in branches, in loops."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest

from tests.traced.programs import compare, module

VIEWS = {
    "slice": "y[1:3]",
    "step": "y[::2]",
    "backwards": "y[::-1]",
    "row": "y[1]",
    "last row": "y[-1]",
    "column": "y[:, 1]",
    "block": "y[1:-1, 1:]",
    "new axis": "y[None]",
    "ellipsis": "y[..., 0]",
    "transpose": "y.T",
    "reshape": "y.reshape(2, 6)",
    "ravel": "y.ravel()",
    "reshape of transpose": "y.T.reshape(-1)",
    "squeeze": "y[1:2].squeeze()",
    "swapaxes": "y.swapaxes(0, 1)",
    "moveaxis": "np.moveaxis(y, 0, 1)",
    "diagonal": "np.diagonal(y)",
    "broadcast": "np.broadcast_to(y, (2, 4, 3))",
    "asarray": "np.asarray(y)",
    "split": "np.split(y, 2)[1]",
    "view of view": "y[1:][1:]",
    "view of transpose": "y.T[1:]",
    "indices": "y[[0, 2]]",
    "flatten": "y.flatten()",
    "expand": "np.expand_dims(y, 1)",
    "alias": "y",
    "data index": "y[k]",
    "data indices": "y[1:, k]",
}
WRITES = {
    "add": "r += 1",
    "item": "r[0] = 5.0",
    "all": "r[...] = x.sum()",
    "scaled": "r *= x[0]",
    "out": "np.add(r, 2.0, out=r)",
    "item in place": "r[0] -= x[1]",
    "fill": "r.fill(3.0)",
    "base": "y[1] = 7.0; s = s + r.sum()",
    "base in place": "y *= 2.0; s = s + r.sum()",
    "rebound": "r = r + 1; r[0] = 4.0",
}
CONTEXTS = {
    "straight": """
        def f(x, a, k):
            y = a * 2
            s = 0.0
            r = {view}
            {write}
            return y, r, s
        """,
    "argument": """
        def f(x, y, k):
            s = 0.0
            r = {view}
            {write}
            return y, r, s
        """,
    "helper": """
        def g(r, y, x, s):
            {write}
            return r, s
        def f(x, a, k):
            y = a + 0
            r, s = g({view}, y, x, 0.0)
            return y, r, s
        """,
    "branch": """
        def f(x, a, k):
            y = a + 1
            s = 0.0
            r = {view}
            if x[0] > 0:
                {write}
            else:
                y[0] = 3.0
            return y, r, s
        """,
    "inside a branch": """
        def f(x, a, k):
            y = a + 1
            s = 0.0
            if x[0] > 0:
                r = {view}
                {write}
            return y, s
        """,
    "unrolled": """
        def f(x, a, k):
            y = a - 1
            s = 0.0
            for i in range(3):
                r = {view}
                {write}
            return y, s
        """,
    "rolled": """
        def f(x, a, k):
            y = a - 1
            s = 0.0
            for i in range(20):
                r = {view}
                {write}
                y = y * 0.5
            return y, s
        """,
    "rolled, in place": """
        def f(x, a, k):
            y = a - 1
            s = 0.0
            r = {view}
            for i in range(20):
                {write}
                x = x * 0.5
            return y, s, r
        """,
    "by the loop's index": """
        def f(x, a, k):
            y = a - 1
            s = 0.0
            for i in range(20):
                k = i % 3
                r = {view}
                {write}
            return y, s
        """,
}


def text(view: str, write: str, context: str) -> str:
    lines = textwrap.dedent(CONTEXTS[context])
    return lines.replace("{view}", VIEWS[view]).replace("{write}", WRITES[write])


def run(view: str, write: str, context: str) -> str:
    made = module(text(view, write, context))
    x = np.array([1.5, -0.5, 2.0])
    a = np.arange(12.0).reshape(4, 3) / 7
    return compare(made.f, x, a, np.int64(1))


@pytest.mark.quick(36)
@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("view", VIEWS)
def test_a_write_through_a_view_is_numpys_or_an_error(view: str, context: str) -> None:
    for write in WRITES:
        try:
            run(view, write, context)
        except AssertionError as error:
            raise AssertionError(f"{view}, {write}, {context}: {error}\n{text(view, write, context)}") from None

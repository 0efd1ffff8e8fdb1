"""The drawn Python functions of `catad.testing.drawn`, drawn by Hypothesis, which makes the source of a failure short."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from catad.testing.drawn.sources import draw_source


@st.composite
def programs(draw: Any) -> str:
    """The text of a module with `f(s, t, v, w, m)`."""
    return draw_source(lambda options: draw(st.sampled_from(list(options))))

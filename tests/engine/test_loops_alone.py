"""A program that is nothing but a pointwise loop over large arrays takes blocks of lanes, forward and in reverse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.engine.cpu.whole import lanes


def limited(x: Any) -> Any:
    y = x * 1.0
    for _ in range(30):
        y = np.where(y > 0.5, y * 0.9, y + 0.1)
    return y


def test_both_directions_of_a_pointwise_loop_take_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    made = list[str]()
    begin = lanes.LanesSweep.__init__

    def noted(self: Any, *args: Any) -> None:
        begin(self, *args)
        made.append("lanes")

    monkeypatch.setattr(lanes.LanesSweep, "__init__", noted)
    x = np.random.default_rng(1).random(70_000)
    with ct.use_engine("cpu"):
        y, pullback = ct.vjp(ct.function(limited), x)
        assert made == ["lanes"]
        bar = pullback(np.ones_like(y))[0]
    assert made == ["lanes", "lanes"], "the pullback is a program of one loop"
    with ct.use_engine("reference"):
        z, plain = ct.vjp(ct.function(limited), x)
        np.testing.assert_array_equal(y, z)
        np.testing.assert_array_equal(bar, plain(np.ones_like(y))[0])

"""The quickstart: what it claims about the network, its derivative and its accuracy."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from example_support import example

import catad as ct

quickstart = example("quickstart")


def test_the_network_is_what_numpy_says() -> None:
    rng = np.random.default_rng(3)
    (images, labels), _ = quickstart.digits(rng)
    images, labels = images[:30], labels[:30]
    parameters = quickstart.initial(rng)
    (W1, b1), (W2, b2) = parameters
    scores = np.tanh(images @ W1 + b1) @ W2 + b2
    np.testing.assert_allclose(quickstart.network(parameters, images), scores, rtol=1e-12, atol=1e-12)
    softmax = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    expected = -np.log(softmax[np.arange(30), labels])
    np.testing.assert_allclose(quickstart.losses(parameters, (images, labels)), expected, rtol=1e-12)
    np.testing.assert_allclose(quickstart.mean_loss(30)(parameters, (images, labels)), expected.mean(), rtol=1e-12)
    _, slope = ct.grad(quickstart.mean_loss(30), argnums=0)(parameters, (images, labels))
    one_hot = np.eye(10)[labels]
    np.testing.assert_allclose(slope[1], (softmax - one_hot).mean(axis=0), rtol=1e-11, atol=1e-14)


def test_the_data_are_the_real_digits() -> None:
    (images, labels), (held_out, more) = quickstart.digits(np.random.default_rng(0))
    assert images.shape == (1437, 64) and held_out.shape == (360, 64) and len(labels) + len(more) == 1797
    assert images.min() == 0.0 and images.max() == 1.0 and set(labels) == set(range(10))


def test_one_step_is_gradient_descent_with_momentum() -> None:
    rng = np.random.default_rng(4)
    (images, labels), _ = quickstart.digits(rng)
    parameters, velocity, data = quickstart.initial(rng), quickstart.initial(rng), (images[:8], labels[:8])
    slope = ct.grad(quickstart.mean_loss(8), argnums=0)(parameters, data)
    (moved, faster), loss = quickstart.training_step(8)((parameters, velocity), data)
    assert loss == pytest.approx(quickstart.mean_loss(8)(parameters, data), rel=1e-13)
    flat = [[part for layer in tree for part in layer] for tree in (parameters, velocity, slope, moved, faster)]
    for p, v, g, p1, v1 in zip(*flat, strict=True):
        np.testing.assert_allclose(v1, 0.9 * v - 0.05 * g, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(p1, p + v1, rtol=1e-12, atol=1e-15)


def test_it_learns_the_digits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    score = quickstart.main(["--out", str(tmp_path / "pictures")])
    out = capsys.readouterr().out
    assert score >= 0.95
    error = re.search(r"central differences: relative error (\S+)", out)
    assert error is not None and float(error[1]) < 1e-6
    for expected in ("ct.matmul", "block-diagonal f64[20, 64] -> f64[20, 10]", "planned", "forward", "reverse", "step 0"):
        assert expected in out
    assert (tmp_path / "pictures" / "loss.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "pictures" / "network.svg").read_text().startswith("<svg")

"""A neural network, point-free: real handwritten digits, a two-layer softmax classifier, its gradient, its training.

    python examples/quickstart.py [--out DIR] [--epochs N]

Nothing here is a layer class or a tape. The network is a chain of morphisms, its parameters are a nested tuple of arrays,
and the training step is one more morphism, in which `ct.value_and_grad` stands like any other box.
"""

from __future__ import annotations

import argparse
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from sklearn.datasets import load_digits
from tqdm import tqdm

import catad as ct

matplotlib.use("Agg")  # pictures go to files
import matplotlib.pyplot as plt

HIDDEN, BATCH, RATE, MOMENTUM = 48, 64, 0.05, 0.9

# -- the model, without naming an argument anywhere

affine = ct.fork(ct.fork(ct.exr, ct.exl >> ct.exl) >> ct.matmul, ct.exl >> ct.exr) >> ct.add
"""((weights, bias), x) to x @ weights + bias."""

hidden = ct.fork(ct.exl >> ct.exl, ct.exr) >> affine >> ct.tanh
network = ct.fork(ct.exl >> ct.exr, hidden) >> affine
"""((first layer, second layer), images) to scores, one row for each image."""

log_total = ct.fold(ct.logaddexp, -np.inf, axis=1)
entropy = ct.fork(ct.exl >> log_total, ct.map(ct.gather)) >> ct.sub
"""(scores, labels) to -log softmax(scores)[label], one number for each image."""

losses = ct.fork(ct.fork(ct.exl, ct.exr >> ct.exl) >> network, ct.exr >> ct.exr) >> entropy
"""(parameters, (images, labels)) to the loss of each image."""


def mean_loss(count: int) -> ct.D:
    """(parameters, (images, labels)) to the mean loss over `count` images."""
    return (1.0 / count) * (losses >> ct.sum())


def training_step(count: int) -> ct.D:
    """((parameters, velocity), data) to ((parameters, velocity), loss): gradient descent with momentum (Polyak 1964)."""
    loss_and_slope = ct.fork(ct.exl >> ct.exl, ct.exr) >> ct.value_and_grad(mean_loss(count), argnums=0)
    slope = ct.exr >> ct.exr
    velocity = MOMENTUM * (ct.exl >> ct.exl >> ct.exr) - RATE * slope
    moved = ct.fork(ct.fork(ct.exl >> ct.exl >> ct.exl, velocity) >> ct.add, velocity)
    return ct.fork(ct.id, loss_and_slope) >> ct.fork(moved, ct.exr >> ct.exl)


# -- data and parameters

Parameters = Any  # ((weights, bias), (weights, bias))
Data = tuple[np.ndarray, np.ndarray]


def digits(rng: np.random.Generator) -> tuple[Data, Data]:
    """1,437 images to learn from and 360 held out, pixels between 0 and 1."""
    images, labels = load_digits(return_X_y=True)
    order = rng.permutation(len(images))
    images, labels = images[order] / 16.0, labels[order]
    cut = len(images) * 4 // 5
    return (images[:cut], labels[:cut]), (images[cut:], labels[cut:])


def initial(rng: np.random.Generator, sizes: tuple[int, ...] = (64, HIDDEN, 10)) -> Parameters:
    """Weights that keep the size of what passes through them, biases 0."""
    return tuple((rng.normal(size=(m, n)) / np.sqrt(m), np.zeros(n)) for m, n in pairwise(sizes))


def accuracy(parameters: Parameters, data: Data) -> float:
    """The share of images whose best score stands at their label."""
    images, labels = data
    return float(np.mean(network(parameters, images).argmax(axis=1) == labels))


# -- what there is to look at


def show_structure(parameters: Parameters, images: np.ndarray, out: Path) -> None:
    """Print the morphism, and for a few images the structure of its Jacobians and the plan by which one was multiplied."""
    by_parameters = ct.fork(ct.id, ct.const(images)) >> network  # a constant is no argument, so it has no column
    by_images = ct.fork(ct.const(parameters), ct.id) >> network
    _, unmultiplied = ct.linearize(by_images, images)
    print(f"the network:\n  {network}\n")
    print(f"at {len(images)} images: {ct.space_of(parameters)} -> {by_parameters.spaces(ct.space_of(parameters))}\n")
    print(f"Jacobian by parameters:\n  {ct.jacobian(by_parameters)(parameters)}")
    print(f"derivative by images, not multiplied yet:\n  {unmultiplied}")
    print(f"Jacobian by images (no image knows of another):\n  {ct.jacobian(by_images)(images)}\n")
    print(f"how it was multiplied:\n{ct.plan(by_images, images).table()}\n")
    picture = out / "network.svg"
    picture.write_text(network.draw(), encoding="utf-8")
    print(f"string diagram of the network: {picture}")


def check_gradient(parameters: Parameters, data: Data, rng: np.random.Generator) -> float:
    """Compare the gradient with central differences along random directions; the largest relative error."""
    f = mean_loss(len(data[0]))
    step, worst = 1e-5, 0.0
    slope = ct.grad(f, argnums=0)(parameters, data)
    for _ in range(5):
        v = tuple(tuple(rng.normal(size=part.shape) for part in layer) for layer in parameters)
        ahead, behind = (ct.add(parameters, (h * ct.id)(v)) for h in (step, -step))
        expected = (f(ahead, data) - f(behind, data)) / (2 * step)
        got = sum(np.vdot(g, d) for gs, ds in zip(slope, v, strict=True) for g, d in zip(gs, ds, strict=True))
        worst = max(worst, abs(got - expected) / abs(expected))
    return worst


def train(parameters: Parameters, data: Data, epochs: int, rng: np.random.Generator) -> tuple[Parameters, list[float]]:
    """The parameters after some passes over the data, and the loss of every step."""
    step = training_step(BATCH)
    state = parameters, (0.0 * ct.id)(parameters)
    curve = []
    with tqdm(range(epochs), desc="training", unit="epoch") as bar:
        for _ in bar:
            order = rng.permutation(len(data[0]))
            for k in range(0, len(order) - BATCH + 1, BATCH):
                chosen = order[k : k + BATCH]
                state, loss = step(state, (data[0][chosen], data[1][chosen]))
                curve.append(float(loss))
            bar.set_postfix(loss=f"{np.mean(curve[-(len(order) // BATCH) :]):.4f}")
    return state[0], curve


def draw_curve(curve: list[float], path: Path) -> None:
    """The loss of every step, and its mean over 20 steps, on a logarithmic scale."""
    figure, axes = plt.subplots(figsize=(7, 4))
    axes.semilogy(curve, color="0.8", label="one batch")
    if len(curve) > 20:
        smooth = np.convolve(curve, np.full(20, 1 / 20), mode="valid")
        axes.semilogy(np.arange(19, len(curve)), smooth, color="C0", label="mean of 20")
    axes.set(xlabel="step", ylabel="cross-entropy (nats)", title="two-layer softmax classifier on 8x8 digits")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> float:
    """Run it all; returns the accuracy on the held-out images."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "out", help="where the pictures go")
    parser.add_argument("--epochs", type=int, default=60, help="passes over the training images")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)

    rng = np.random.default_rng(0)
    known, held_out = digits(rng)
    parameters = initial(rng)
    show_structure(parameters, known[0][:20], options.out)
    print(f"gradient against central differences: relative error {check_gradient(parameters, known, rng):.1e}\n")
    parameters, curve = train(parameters, known, options.epochs, rng)
    picture = options.out / "loss.png"
    draw_curve(curve, picture)
    score = accuracy(parameters, held_out)
    print(f"\naccuracy on {len(held_out[0])} held-out images: {score:.1%} (on the others {accuracy(parameters, known):.1%})")
    print(f"loss curve: {picture}")
    return score


if __name__ == "__main__":
    main()

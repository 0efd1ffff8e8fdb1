"""The programs of the corpus with arguments, and what is known of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tests.corpus import algorithms, grids, models, simulations


class Program(NamedTuple):
    """`tolerance` is how far differences may be off where a program bends too much for them, relative to the largest number.

    `order` is that of the highest derivative that differences at the point can check; `forms` says that it can be traced without
    its loops, in no more paths than are followed, and in a few seconds.
    """

    fn: Callable[..., Any]
    args: tuple[Any, ...]
    tolerance: float | None = None
    order: int = 2
    forms: bool = True


def _programs() -> dict[str, Program]:
    rng = np.random.default_rng(7)
    draw = rng.standard_normal

    def spread(*shape: int) -> Any:
        return rng.uniform(0.5, 1.5, shape)

    n, d, k = 3, 3, 2
    mixture = draw(k), draw((k, d)), draw((k, d * (d + 1) // 2)) * 0.5, draw((n, d)), (1.3, 2)
    normed = np.log(spread(3, 3) / 3)
    attention = {name: draw((4, 4)) * 0.4 for name in ("wq", "wk", "wv", "wo")}
    norm = {"scale": spread(4), "shift": draw(4) * 0.1}
    block = {
        "attention": attention,
        "norm1": norm,
        "norm2": {"scale": spread(4), "shift": draw(4) * 0.1},
        "mlp": {"w1": draw((4, 6)) * 0.5, "b1": draw(6) * 0.1, "w2": draw((6, 4)) * 0.5, "b2": draw(4) * 0.1},
    }
    layers = [(draw((3, 4)), draw(4)), (draw((4, 4)), draw(4)), (draw((4, 3)), draw(3))]
    fall = np.linspace(1.0, 0.4, 8)  # what limits the step falls from cell to cell: no two are equal
    tube = np.stack([1.2 * fall + 0.5, 0.8 * fall, 3.5 * fall**2 + 0.5]) + draw((3, 8)) * 0.01
    camera = np.concatenate([draw(3) * 0.2, draw(3) * 0.1, [1.5, 0.1, 0.2, 0.05, 0.01]])
    return {
        "gmm": Program(models.gmm, mixture),
        "gmm in place": Program(models.gmm_in_place, mixture),
        "lse": Program(models.lse, (draw(9),)),
        "llsq": Program(models.llsq, (draw(4),)),
        "lstm": Program(models.lstm, (draw((4, 4, 3)) * 0.5, draw((3, 3)), draw((4, 3)), draw((4, 3)))),
        "hmm": Program(models.hmm_forward, (normed[0], normed, draw((3, 4)), np.array([0, 3, 1, 1, 2] * 4))),
        "kalman": Program(
            models.kalman,
            (draw(2), np.eye(2), draw((3, 2)), np.array([[1.0, 0.1], [0.0, 1.0]]), np.eye(2) * 0.05, draw((2, 2)), spread(2)),
        ),
        "transformer": Program(models.transformer_block, (block, draw((3, 4)))),
        "mlp": Program(models.mlp, (layers, draw((5, 3)), np.array([0, 2, 1, 1, 0]))),
        "rk4": Program(simulations.rk4, (np.array([0.8, -0.3]), np.float64(9.81), 0.15)),
        "sinkhorn": Program(
            simulations.sinkhorn, (spread(3, 4), np.array([0.2, 0.5, 0.3]), np.full(4, 0.25), np.float64(0.4))
        ),
        "n-body": Program(simulations.n_body, (draw((3, 2)), draw((3, 2)) * 0.2, spread(3))),
        "tridiagonal": Program(simulations.tridiagonal, (draw(5) * 0.3, 2 + spread(6), draw(5) * 0.3, draw(6))),
        "mandelbrot": Program(simulations.mandelbrot, (np.float64(0.5), np.float64(0.5))),
        "lbfgs": Program(simulations.lbfgs, (np.array([-0.8, 0.9, 0.4]),), tolerance=1e-6),
        "finite volume": Program(simulations.finite_volume, (tube, 0.1)),
        "k-means": Program(simulations.k_means_step, (draw((7, 2)), draw((3, 2)))),
        "bundle adjustment": Program(
            simulations.bundle_adjustment, (camera, draw(3) + np.array([0, 0, 4.0]), np.float64(0.7), draw(2))
        ),
    }


def _algorithms() -> dict[str, Program]:
    rng = np.random.default_rng(11)
    draw = rng.standard_normal

    def plain(fn: Callable[..., Any], *args: Any, order: int = 2, forms: bool = True) -> Program:
        return Program(fn, args, None, order, forms)

    weights = np.array([3, 2, 5, 4, 2])
    return {
        "elimination": plain(algorithms.eliminate, draw((4, 4)) + np.eye(4), draw(4)),
        "insertion sort": plain(algorithms.insertion_sort, draw(18)),
        "time warp": plain(algorithms.time_warp, draw(18), draw(5)),
        "viterbi": plain(algorithms.viterbi, draw(3), draw((3, 3)), draw((3, 4)), np.array([0, 3, 1, 1, 2] * 4)),
        "knapsack": plain(_knapsack, 1 + rng.random(len(weights))),
        "nearest first": plain(algorithms.nearest_first, rng.uniform(1, 5, (5, 5))),
        "isotonic": plain(algorithms.isotonic, draw(18), order=0),
        "golden section": plain(algorithms.golden_section, 0.5, 2.5, 1.7, order=1),
        "fourier": plain(algorithms.fourier, draw(8), draw(8)),
        "nelder-mead": plain(algorithms.nelder_mead, np.array([-0.5, 0.8]), 1.0, forms=False),
        "cavity": plain(grids.cavity, draw((6, 6)) * 0.1, draw((6, 6)) * 0.1, np.zeros((6, 6)), order=1, forms=False),
        "reaction": plain(grids.reaction, rng.random((5, 5)), rng.random((5, 5))),
        "multigrid": plain(grids.multigrid, draw(9)),
        "plasma": plain(grids.plasma, rng.uniform(0, 6, 8), draw(8)),
        "pendulum on a cart": plain(grids.pendulum_on_cart, draw(4) * 0.1, np.array([1.0, 1.5, 20.0, 3.0])),
        "ray march": plain(grids.march, draw((3, 3)), draw((3, 3)), 1.1),
        "sparse product": plain(grids.sparse_product, draw(12), draw(5)),
        "median filter": plain(grids.median_filter, draw((4, 5)), order=0),
    }


def _knapsack(values: Any) -> Any:
    return algorithms.knapsack(np.array([3, 2, 5, 4, 2]), values)


PROGRAMS = {**_programs(), **_algorithms()}

"""Forward, reverse and mixed mode by hand: trains of `compForward` and `compReverse`, counted and timed.

    python examples/trains.py

The chain rule says which matrices to multiply, not in which order, and the order is all that "forward" and "reverse" mode
are. The first chain and its trains are those of "automatic differentiation for accelerate" (Google Summer of Code 2018).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

import catad as ct

Train = Callable[[ct.LinearMap], ct.LinearMap]

CHAINS = {  # sizes of f, g, h, ... in the Jacobian of f . g . h . ..., so the last is applied first
    "few results": [(2, 10), (10, 3), (3, 50), (50, 80), (80, 100)],
    "narrow in the middle": [(50, 40), (40, 2), (2, 30), (30, 60)],
    "few arguments": [(100, 80), (80, 50), (50, 3), (3, 10), (10, 2)],
}
SOURCE = CHAINS["few results"]


class Counted(ct.LinearMap):
    """A linear map that counts the multiply-adds of the products it takes part in."""

    __slots__ = ()
    total = 0

    def multiply(self, other: ct.LinearMap) -> Counted:
        Counted.total += ct.plan([other, self]).cost.operations
        out = super().multiply(other)
        return Counted(out.dom, out.cod, out.structure, out.slots)


def matrices(sizes: Sequence[tuple[int, int]], scale: int = 1) -> list[Counted]:
    """Random dense maps of the given sizes, or of multiples of them."""
    rng = np.random.default_rng(0)
    maps = [ct.linear.dense(rng.normal(size=(scale * m, scale * n)) / np.sqrt(scale * n)) for m, n in sizes]
    return [Counted(m.dom, m.cod, m.structure, m.slots) for m in maps]


def forward(*maps: ct.LinearMap) -> Train:
    """`compForward f . compForward g . ... $ id`: m to f (g (... m))."""
    train = ct.id
    for J in reversed(maps):
        train = ct.compForward(J)(train)
    return train


def reverse(*maps: ct.LinearMap) -> Train:
    """`compReverse f . compReverse g . ... $ id`: m to ((m f) g) ..."""
    train = ct.id
    for J in reversed(maps):
        train = ct.compReverse(J)(train)
    return train


def mixed(f: ct.LinearMap, g: ct.LinearMap, *rest: ct.LinearMap) -> ct.LinearMap:
    """A train that switches mode: to switch, end one train and start another.

    Of five matrices, (forward f . forward g) (reverse j . reverse k) h; of four, (f g) and (h j) first, each by a train.
    """
    h, *others = rest
    after = (f, g) if len(others) == 2 else (reverse(g)(f),)
    return forward(*after)(reverse(*others)(h))


def trains(maps: Sequence[ct.LinearMap]) -> dict[str, Callable[[], ct.LinearMap]]:
    """The Jacobian of the chain in three ways."""
    return {
        "all forward": lambda: forward(*maps[:-1])(maps[-1]),
        "all reverse": lambda: reverse(*maps[1:])(maps[0]),
        "mixed": lambda: mixed(*maps),
    }


def counted(run: Callable[[], ct.LinearMap]) -> tuple[ct.LinearMap, int]:
    """A Jacobian and the multiply-adds that it took."""
    before = Counted.total
    return run(), Counted.total - before


def timed(runs: dict[str, Callable[[], ct.LinearMap]], rounds: int) -> dict[str, float]:
    """The shortest time of each in milliseconds, taken in turns."""
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(rounds):
        for how, run in runs.items():
            start = time.perf_counter()
            run()
            best[how] = min(best[how], 1e3 * (time.perf_counter() - start))
    return best


def show(name: str, sizes: Sequence[tuple[int, int]], rounds: int) -> None:
    """Counts of the trains, times on matrices ten times as large in both directions, and what the planner finds."""
    print(f"{name}: {', '.join(f'{m}x{n}' for m, n in sizes)}")
    times = timed(trains([ct.linear.dense(J.slots[0]) for J in matrices(sizes, 10)]), rounds)
    jacobians = []
    for how, run in trains(matrices(sizes)).items():
        jacobian, count = counted(run)
        jacobians.append(jacobian.todense())
        print(f"  {how:<12} {count:>9,} multiply-adds   ten times the sizes: {times[how]:7.2f} ms")
    assert all(np.allclose(jacobians[0], J, rtol=1e-12, atol=1e-12) for J in jacobians)
    ranked = ct.plan(sizes[::-1]).alternatives()
    (bracketing, cost), (_, second) = ranked[:2]
    shape = "x".join(map(str, jacobians[0].shape))
    print(f"  all give the same {shape} Jacobian; the best of the {len(ranked)} bracketings takes {cost.operations:,}, by")
    print(f"  {bracketing} with factor 0 applied first; the next best takes {second.operations:,}\n")


def main(rounds: int = 15) -> None:
    """The three chains, and the plan of the first; times are the shortest of some rounds."""
    for name, sizes in CHAINS.items():
        show(name, sizes, rounds)
    print(f"the plan of the first chain, factor 0 applied first:\n{ct.plan(SOURCE[::-1]).table()}")


if __name__ == "__main__":
    main()

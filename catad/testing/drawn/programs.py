"""Drawing a program: steps chosen one after another, each on arrays of the state, with values that stay ordinary.

The meaning is evaluated while the program is drawn. A step is left out where its result would not be finite, or large, or would
take much memory; so a program that was drawn has a value at its point, and rounding explains differences.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

import catad as ct
from catad import errors
from catad.testing.drawn import combinators, steps, structure, words
from catad.testing.drawn.meaning import Leaves
from catad.testing.drawn.points import Point, draw_point
from catad.testing.drawn.steps import Generator, Maker, Step

ONE: list[Maker] = [*steps.ONE, *structure.ONE, *combinators.ONE, *words.ONE]
TWO: list[Maker] = [*steps.TWO, *structure.TWO, *combinators.TWO, *words.TWO]
KINDS = (steps, structure, combinators, words)  # each as likely as the others
LARGEST = 64.0  # magnitude of the numbers in a program
MOST = 3  # arrays in a state


@dataclass(frozen=True)
class Placed:
    """A step on some arrays of the state; its results stand in front of the others."""

    step: Step
    at: tuple[int, ...]
    width: int  # arrays in the state before it
    crossed: bool  # written with `cross` instead of `fork`
    keep: bool  # whether the arrays that it reads stay in the state

    def rest(self) -> list[int]:
        """The arrays that pass by."""
        return [k for k in range(self.width) if self.keep or k not in self.at]

    @property
    def after(self) -> int:
        return self.step.outputs + len(self.rest())

    def term(self) -> ct.D:
        """The step as a term on the whole state."""
        term = self.step.term
        if self.width == 1:
            taken = term if len(self.at) == 1 else ct.dup >> term
            return taken if not self.keep else _flat(taken, self.step.outputs, [ct.id])
        if self.crossed and len(self.at) == 1 and not self.keep and self.at == (0,) and self.step.outputs == 1:
            return ct.cross(term, *[ct.id] * (self.width - 1))
        read = ct.proj(self.at[0]) if len(self.at) == 1 else ct.fork(*map(ct.proj, self.at))
        return _flat(read >> term, self.step.outputs, [ct.proj(k) for k in self.rest()])

    def meaning(self, xp: Any, xs: Leaves) -> Leaves:
        """The same on a tuple of arrays."""
        return (*self.step.meaning(xp, tuple(xs[k] for k in self.at)), *[xs[k] for k in self.rest()])


def _flat(taken: ct.D, outputs: int, others: list[ct.D]) -> ct.D:
    """The results of a step and other arrays, as one flat product."""
    if outputs == 1:
        return ct.fork(taken, *others) if others else taken
    parts = [taken >> ct.proj(k) for k in range(outputs)]
    return ct.fork(*parts, *others)


@dataclass(frozen=True)
class Program:
    """A drawn program at a point, with its name: the seed and the number that draw it again."""

    kind: ClassVar[str] = "program"
    seed: int
    number: int
    point: Point
    placed: tuple[Placed, ...]
    grouped: int = 0  # where the chain is bracketed

    @property
    def term(self) -> ct.D:
        """The term, composed in one of the ways to bracket it."""
        terms = [p.term() for p in self.placed]
        cut = self.grouped % (len(terms) + 1)
        return ct.compose(*terms[:cut]) >> ct.compose(*terms[cut:])

    def meaning(self, xp: Any, xs: Leaves) -> Leaves:
        """The meaning, on arrays of a library."""
        for placed in self.placed:
            xs = placed.meaning(xp, xs)
        return xs

    @property
    def smooth(self) -> bool:
        return all(p.step.smooth for p in self.placed)

    @property
    def traced(self) -> bool:
        return all(p.step.traced for p in self.placed)

    @property
    def single(self) -> bool:
        return self.point.dtype == np.float32 or any(p.step.single for p in self.placed)

    @property
    def words(self) -> set[str]:
        """The public names in it."""
        return {word for p in self.placed for word in p.step.words}

    def shown(self, check: str) -> list[str]:
        """The lines that say what the program is, and how to check it again."""
        pairs = zip(self.point.ordinary, self.point.layouts, strict=True)
        at = ", ".join([f"{x.dtype}{list(x.shape)} {how}" for x, how in pairs])
        again = f"python -m catad.testing.drawn --seed {self.seed} --program {self.number}"
        return [f"at:    {at}", f"term:  {self.term}", f"again: {again}"]

    def without(self, k: int) -> Program | None:
        """The program without its step k, where that step leaves the number of arrays as it is."""
        gone = self.placed[k]
        if gone.after != gone.width:
            return None
        return replace(self, placed=(*self.placed[:k], *self.placed[k + 1 :]))


def draw_program(seed: int, number: int, sizes: tuple[int, ...] | None = None, length: int = 5) -> Program:
    """The program of a seed and a number; `sizes` are those that its arrays may have along axis 0, `length` its most steps."""
    rng = np.random.default_rng([seed, number, zlib.crc32(b"catad")])
    point = draw_point(rng, sizes)
    state: Leaves = tuple(np.asarray(x, np.float64) for x in point.ordinary)
    space = ct.space_of(point.arrays[0] if len(point.arrays) == 1 else point.arrays)
    placed: list[Placed] = []
    most = max(4000, 3 * sum(x.size for x in state))
    for _ in range(40):
        if len(placed) == length:
            break
        one = _placed(rng, state)
        if one is None or len(state) - len(set(one.at)) + one.step.outputs > MOST:
            continue
        try:
            cod = one.term().spaces(space)
        except (errors.MonoidError, errors.SpaceError):  # arrays of two precisions where one is asked for
            continue
        with np.errstate(all="ignore"):
            after = one.meaning(np, state)
        if all(_ordinary(y) for y in after) and sum(y.size for y in after) <= most:
            placed.append(one)
            space = cod
            state = tuple(np.asarray(y, np.float64) for y in after)
    return Program(seed, number, point, tuple(placed), int(rng.integers(8)))


def _ordinary(y: Any) -> bool:
    return y.size == 0 or bool(np.isfinite(y).all() and np.abs(y).max() <= LARGEST)


def _placed(rng: Generator, state: Leaves) -> Placed | None:
    """A step on arrays of the state, or None where the one that was drawn does not suit them."""
    width = len(state)
    two = bool(rng.integers(2))
    kind = KINDS[int(rng.integers(len(KINDS)))]
    makers: list[Maker] = kind.TWO if two else kind.ONE
    maker = makers[int(rng.integers(len(makers)))]
    at = tuple(int(k) for k in rng.integers(0, width, 2 if two else 1))
    if two and width == 1:
        at = (0, 0)
    step = maker(rng, *[state[k] for k in at])
    if step is None:
        return None
    keep = width + step.outputs <= MOST and bool(rng.integers(3) == 0)
    return Placed(step, at, width, bool(rng.integers(2)), keep)

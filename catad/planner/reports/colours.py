"""The colours of a map for people: where its entries can be, and the columns or rows that are pushed or pulled together.

The text has the fields that asdex prints: the size of the matrix, its entries, how sparse it is, the number of colours, what that
saves, and a picture of the pattern beside the pattern of the compressed matrix, in which columns of one colour are one column.
(A. Hill, asdex, automatic sparse differentiation in JAX, 2026.)
"""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

import numpy as np

from catad.linear.matrix.patterns import Pattern, Range

DRAWN = 1 << 20  # places in the largest matrix that is drawn
WIDE, HIGH = 52, 52  # dots of a picture, two across and four down for a character
BLANK = 0x2800  # the character of Braille without dots
DOTS = np.array([[0, 3], [1, 4], [2, 5], [6, 7]])  # the bit of each dot in a character


def lines(pattern: Pattern) -> list[str]:
    """The lines of `explain` on the colours of a pattern."""
    rows, columns = math.prod([axis.n_out for axis in pattern.axes]), math.prod([axis.n_in for axis in pattern.axes])
    entries = math.prod([_entries(axis) for axis in pattern.axes])
    pull = pattern.T.colours < pattern.colours
    colours = pattern.T.colours if pull else pattern.colours
    sparsity = 1 - entries / max(1, rows * columns)
    many = "1 vector" if colours == 1 else f"{colours:,} vectors"
    head = f"coloured pattern: {rows:,}x{columns:,}, {entries:,} entries, {sparsity:.1%} zero, {colours:,} "
    head += "colour" if colours == 1 else "colours"
    saved = f"  {many} instead of {rows:,} rows pulled or {columns:,} columns pushed"
    return [head, saved, *([f"  {line}" for line in picture(pattern, pull)] if rows * columns <= DRAWN else [])]


def _entries(axis: Range) -> int:
    """The entries of a range: for each column the rows between its bounds."""
    at = np.arange(axis.n_in)
    return int(np.maximum(0, np.minimum(axis.n_out - 1, at + axis.high) - np.maximum(0, at + axis.low) + 1).sum())


def occupied(pattern: Pattern) -> Any:
    """The places where entries can be, (rows, columns)."""

    def of(axis: Range) -> Any:
        apart = np.arange(axis.n_out)[:, None] - np.arange(axis.n_in)
        return (axis.low <= apart) & (apart <= axis.high)

    return reduce(np.kron, [of(axis) for axis in pattern.axes], np.ones((1, 1), bool))


def colours_of(pattern: Pattern) -> Any:
    """The colour of each column: one for each remainder of its position on each axis."""
    found = np.zeros(1, int)
    for axis in pattern.axes:
        found = (found[:, None] * axis.colours + np.arange(axis.n_in) % max(1, axis.colours)).ravel()
    return found


def picture(pattern: Pattern, pull: bool = False) -> list[str]:
    """The pattern, and beside it the compressed one, in dots: a dot stands where some entry of its part of the matrix can be."""
    whole = occupied(pattern)
    own = occupied(pattern.T) if pull else whole
    colours = colours_of(pattern.T if pull else pattern)
    small = np.zeros((own.shape[0], int(colours.max(initial=-1)) + 1), bool)
    for k, column in zip(colours, own.T, strict=True):
        small[:, k] |= column
    left, right = braille(whole), braille(small.T if pull else small)
    blank = " " * len(right[0]) if right else ""
    right += [blank] * (len(left) - len(right))
    return [f"{one} {'->' if k == 0 else '  '} {two}".rstrip() for k, (one, two) in enumerate(zip(left, right, strict=False))]


def braille(matrix: Any) -> list[str]:
    """A matrix of truth values in characters of Braille, at most `WIDE` by `HIGH` dots."""
    if not matrix.size:
        return []
    dots = _reduced(_reduced(matrix, HIGH).T, WIDE).T
    rows, columns = -(-dots.shape[0] // 4), -(-dots.shape[1] // 2)
    padded = np.zeros((4 * rows, 2 * columns), bool)
    padded[: dots.shape[0], : dots.shape[1]] = dots
    codes = (padded.reshape(rows, 4, columns, 2) * (1 << DOTS)[:, None, :]).sum(axis=(1, 3))
    return ["".join([chr(BLANK + int(code)) for code in line]) for line in codes]


def _reduced(matrix: Any, most: int) -> Any:
    """The rows of a matrix, neighbours joined until there are at most so many."""
    n = len(matrix)
    if n <= most:
        return matrix
    return np.logical_or.reduceat(matrix, np.arange(most) * n // most, axis=0)

"""What a kernel's own Python, run by real threads, says of its values and its gradients; asked once for all engines."""

from __future__ import annotations

from typing import Any

import numpy as np

import catad as ct
from catad.category.spaces import flatten
from catad.simt.kernel import Launch
from catad.testing.emulator import EmulatedGpu

ENGINES = ("reference", "cpu", "emulated gpu")
DIRECTIONS = 3
ct.engine.register(EmulatedGpu())


def floats(args: tuple[Any, ...]) -> list[int]:
    """The positions of the arguments that have tangents."""
    return [k for k, arg in enumerate(args) if np.asarray(arg).dtype.kind == "f"]


def cotangents(out: Any, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    made = [rng.normal(size=np.shape(leaf)) if np.asarray(leaf).dtype.kind == "f" else () for leaf in flatten(out)]
    return tuple(made) if isinstance(out, tuple) else made[0]


def slopes(launch: Launch, args: tuple[Any, ...], back: Any, h: float = 1e-5) -> list[tuple[list[Any], float]]:
    """Directions in all arguments, and the central difference along each of the pairing with a cotangent."""
    rng = np.random.default_rng(1)
    ends = flatten(back) if isinstance(back, tuple) else [back]
    found = []
    for _ in range(DIRECTIONS):
        v = [rng.normal(size=np.shape(args[k])) for k in floats(args)]
        paired = []
        for sign in (1, -1):
            moved = list(args)
            for k, along in zip(floats(args), v, strict=True):
                moved[k] = np.asarray(args[k], dtype=float) + sign * h * along
            out = flatten(ct.testing.threads(launch, *moved))
            paired.append(sum([np.vdot(np.asarray(o), c) for o, c in zip(out, ends, strict=True)]))
        found.append((v, float(paired[0] - paired[1]) / (2 * h)))
    return found


def assert_values(launch: Launch, args: tuple[Any, ...], twice: bool = False, rtol: float = 1e-12) -> None:
    """On every engine the values are those of threads, where asked with equal bits in a second call."""
    theirs = flatten(ct.testing.threads(launch, *args))
    before = [np.array(arg) for arg in args]
    for engine in ENGINES:
        with ct.use_engine(engine):
            first = flatten(launch(*args))
            second = flatten(launch(*args)) if twice else first
        for ours, again, want in zip(first, second, theirs, strict=True):
            np.testing.assert_allclose(ours, want, rtol=rtol, atol=1e-13, err_msg=engine)
            assert np.asarray(ours).tobytes() == np.asarray(again).tobytes(), engine
    assert all(np.array_equal(a, b) for a, b in zip(before, args, strict=True))


def assert_gradients(launch: Launch, args: tuple[Any, ...], back: Any = None, tolerance: float = 1e-6) -> None:
    """On every engine the pullbacks pair with directions as differences of threads do."""
    wanted = None
    for engine in ENGINES:
        with ct.use_engine(engine):
            out, pull = ct.vjp(launch, *args)
            back = cotangents(out) if back is None else back
            made = pull(back)
        got = flatten(made) if isinstance(made, tuple) else [made]
        ours = [got[k] for k in floats(args)] if len(got) == len(args) else got
        wanted = slopes(launch, args, back) if wanted is None else wanted
        for v, slope in wanted:
            along = sum(float(np.vdot(mine, one)) for mine, one in zip(ours, v, strict=True))
            np.testing.assert_allclose(along, slope, rtol=tolerance, atol=tolerance, err_msg=engine)

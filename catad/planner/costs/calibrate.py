"""The small benchmark behind a profile: each kind of kernel at a few sizes, in about a tenth of a second.

A kernel is a program of one box. Its time at one number is the launch; the rest, at a size beyond the caches' first levels, is
put down to bytes. Matrix products have both rates: a thin product, of few operations for each number that it writes, gives that
of bytes, and a square one that of operations. Each time is the least of several.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from catad import errors
from catad.category.boxes import Primitive
from catad.category.spaces import Product, Tensor
from catad.category.wiring import Builder, wire
from catad.engine.choice import running, use_engine
from catad.engine.cpu.run import target
from catad.engine.disk_cache import folder
from catad.engine.program import Program
from catad.linear.families.contract import Contract
from catad.linear.families.gather import Gathered, ScatterAdded, rows_of
from catad.linear.families.recurrence import Recurred
from catad.linear.families.reindex import StridedCopy, axis
from catad.planner.costs.cost_profile import CALL, OTHERS, WITHIN, CostProfile, Rates, from_json, store
from catad.vector.pointwise.map import map

LARGE = 200_000  # numbers
SIDE = 256  # of the square matrices that are multiplied
THIN = (400, 3)  # the sides of the thin ones
WITHIN_CACHE, FEW_ROWS = 20_000, (10, 128, 128)  # numbers, and the sides of a product, within programs that run as one function
ROUNDS = 7

Made = Callable[[int], tuple[Primitive, list[Any]]]


def _kernels() -> dict[str, Made]:
    """Kernel to the box and its arguments by size, where bytes take its time."""
    times = next(box.primitive for box in wire(map(lambda a, b: a * b), _pair(8)).boxes)
    return {
        "Map": lambda n: (times, [np.ones(n), np.ones(n)]),
        "Contract": _scaled_rows,
        "StridedCopy": lambda n: (StridedCopy((axis(n, n + 1, 0, 1, 1, 1, n),)), [np.ones(n)]),
        "Gathered": lambda n: (Gathered(rows_of((n,), (n,))), [np.arange(n)[::-1].copy(), np.ones(n)]),
        "ScatterAdded": lambda n: (ScatterAdded(rows_of((n,), (n,))), [np.arange(n)[::-1].copy(), np.ones(n)]),
        "Recurred": lambda n: (Recurred(((0,),)), [np.full(n, 0.5), np.ones(n)]),
    }


def _split(n: int) -> int:
    return max(1, n // 8)


def _pair(n: int) -> Product:
    return Product((Tensor((n,), np.dtype(np.float64)), Tensor((n,), np.dtype(np.float64))))


def _scaled_rows(n: int) -> tuple[Primitive, list[Any]]:
    rows = _split(n)
    return Contract(((0, 1), (0,)), (0, 1), (rows, 8)), [np.ones((rows, 8)), np.ones(rows)]


def _matmul(rows: int, inner: int, columns: int) -> tuple[Primitive, list[Any]]:
    arrays = [np.ones((rows, inner)), np.ones((inner, columns))]
    return Contract(((0, 1), (1, 2)), (0, 2), (rows, inner, columns)), arrays


def _of_products(xp: Any, sides: tuple[int, int, int]) -> Rates:
    """The rates of matrix products: the launch, then bytes and operations from the times of a thin one and of another."""
    shapes = ((1, 1, 1), (*THIN, THIN[0]), sides)
    (launch, *_), thin, square = [_measured(xp, *_matmul(*shape)) for shape in shapes]
    rest = [[nbytes, operations, max(0.0, seconds - launch)] for seconds, nbytes, operations in (thin, square)]
    byte = operation = 0.0
    for _ in range(4):  # each from what the other leaves; they differ enough for this to settle
        byte = max(0.0, rest[0][2] - rest[0][1] * operation) / rest[0][0]
        operation = max(0.0, rest[1][2] - rest[1][0] * byte) / rest[1][1]
    return Rates(launch, byte, operation)


def calibrate(xp: Any, engine: str) -> CostProfile:
    """Measure the kernels on arrays of a library as they run now, by the engine of that name."""
    rates: dict[str, Rates] = {}
    for name, make in _kernels().items():
        (small, *_), (large, nbytes, _) = _measured(xp, *make(1)), _measured(xp, *make(LARGE))
        rates[name] = Rates(small, max(0.0, large - small) / nbytes, 0.0)
    rates["matmul"] = _of_products(xp, (SIDE, SIDE, SIDE))
    launches, per_byte = [r.launch for r in rates.values()], [r.byte for n, r in rates.items() if r.byte and n != "matmul"]
    rates[OTHERS] = Rates(median(launches), median(per_byte), 0.0)
    rates["Reshaped"] = Rates(min(launches), 0.0, 0.0)
    rates.update(_of_functions(xp))
    return CostProfile(engine, tuple(sorted(rates.items())))


def _of_functions(xp: Any) -> dict[str, Rates]:
    """The rates of programs that run as one compiled function; none where they cannot."""
    if xp is not np or not target.available():
        return {}
    make = _kernels()["Map"]
    with use_engine("cpu"):
        (call, *_), (large, nbytes, _) = _measured(xp, *make(1)), _measured(xp, *make(WITHIN_CACHE))
        products = _of_products(xp, FEW_ROWS)
    return {CALL: Rates(call, max(0.0, large - call) / nbytes, 0.0), WITHIN: products}


def _measured(xp: Any, primitive: Primitive, arguments: list[Any]) -> tuple[float, int, int]:
    """Seconds of one box, the bytes it reads and writes, and its operations."""
    b = Builder()
    spaces = tuple([Tensor(a.shape, a.dtype) for a in arguments])
    wires = tuple([b.wire(space) for space in spaces])
    outs = b.add(primitive, *wires)
    program = Program(b.finish(Product(spaces), wires, outs))
    arrays = [xp.asarray(a) for a in arguments]
    program(xp, arrays)
    seconds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        made = program(xp, arrays)
        if xp is not np:
            made[0].ravel()[:1].tolist()  # waits for the device
        seconds.append(time.perf_counter() - start)
    ends = tuple([w.space for w in outs])
    return min(seconds), sum(space.nbytes for space in (*spaces, *ends)), primitive.cost(spaces, ends)


def stored(xp: Any) -> CostProfile:
    """The profile of what runs arrays of a library now: from its file, or measured and stored there if that can be written.

    A file that cannot be read as a profile is measured again and replaced.
    """
    return _stored(xp, running(xp), folder())


@lru_cache(maxsize=64)
def _stored(xp: Any, engine: str, place: str | None) -> CostProfile:
    if place is None:
        return replace(calibrate(xp, engine), measured=True)
    path = Path(place) / f"profile-{engine}.json"
    with suppress(OSError, errors.PlanError):
        return replace(from_json(path.read_text(encoding="utf-8"), str(path)), measured=True)
    made = replace(calibrate(xp, engine), measured=True)
    with suppress(OSError):  # then it is measured again by the next process
        store(made, path)
    return made

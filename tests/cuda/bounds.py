"""What compiling for a GPU costs beside compiling for the CPU, measured without a GPU; registers, where the assembler is.

For each program: how long its stages' text takes to print, and how long LLVM takes from the text to PTX, relative to the text and
the machine code of the CPU for the same stages. Processor time of one thread, the least of several runs, both machines in turn:

    python -m tests.cuda.bounds
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import catad as ct
from catad.engine.cpu.blocked import Blocked, blocked
from catad.engine.cpu.call import Call
from catad.engine.cpu.rows import by_rows as cpu_by_rows
from catad.engine.cuda import steps, target
from catad.engine.cuda.intrinsics import Simt
from catad.engine.cuda.kernel import Code
from catad.engine.llvm import with_module
from catad.engine.stages.layout import layout, strides_of
from catad.scalar.printing import llvm
from catad.testing.emulator import EmulatedGpu

from ..engine.compiling import assembly
from .test_ptxas import ARCHITECTURES, PTXAS, assembled

RUNS = 7
RNG = np.random.default_rng(0)


def cell(z: Any, zb: Any, c: Any, f: Any, i: Any, g: Any) -> Any:
    if z == 1:
        return ct.sigmoid(i) * ct.tanh(g)
    elif zb == 0:  # noqa: RET505 (the three branches as the paper has them)
        return c
    else:
        return ct.sigmoid(f) * c + ct.sigmoid(i) * ct.tanh(g)


def _floats(*shape: int) -> Any:
    return RNG.normal(size=shape).astype(np.float32)


GATES = [RNG.integers(0, 2, (40, 1)).astype(np.float32) for _ in range(2)]
CELL = (*GATES, *[_floats(40, 60) for _ in range(4)])
WANTED = ct.fork(ct.proj(2), ct.proj(3), ct.proj(4), ct.proj(5))
PROGRAMS: dict[str, tuple[ct.D, Any]] = {
    "HM-LSTM, value and cotangents": (
        ct.fork(ct.exl >> ct.map(cell), ct.reverse_differential(ct.map(cell)) >> WANTED),
        (CELL, _floats(40, 60)),
    ),
    "exp and log": (ct.map(lambda x, y: (np.exp(x) * y, np.log(x * x + y * y))), (_floats(40, 60), _floats(40, 60))),
    "a sum": (ct.map(np.exp) >> ct.sum(), (_floats(9000),)),
    "scans of rows": (ct.scan(ct.add, 0.0, axis=-1), (_floats(60, 40),)),
    "a long scan": (ct.scan(ct.add, 0.0), (_floats(9000),)),
    "softmax of rows": (ct.softmax(axis=1), (_floats(60, 400),)),
    "softmax of rows, gradient": (ct.grad(ct.softmax(axis=1) >> ct.square >> ct.sum()), (_floats(60, 400),)),
}  # fmt: skip


class Bound(NamedTuple):
    """GPU over CPU: printing the stages with their scalar functions, as a process does once; without these; compiling."""

    printed: float
    again: float
    compiled: float


def kernels(name: str) -> tuple[list[Callable[[], str]], list[Callable[[], str]]]:
    """What prints the text of the stages of a program: for a GPU, and for the CPU."""
    f, x = PROGRAMS[name]
    met: list[tuple[Any, ...]] = []
    groups: list[tuple[Any, ...]] = []
    engine, real, real_rows = EmulatedGpu(), steps.way_of, steps.united

    def way_of(device: Any, *stage: Any) -> Any:
        met.append(stage)
        return real(device, *stage)

    def united(partition: Any, *group: Any) -> Any:
        found = real_rows(partition, *group)
        if found is not None:
            spaces = partition.wiring.spaces((*found.ins, *found.outs))
            groups.append((found.rows, sum([space.nbytes for space in spaces]), [*map(strides_of, spaces)]))
        return found

    steps.way_of, steps.united = way_of, united
    try:
        ct.engine.register(engine)
        with ct.use_engine(engine.name):
            f(*x)
    finally:
        steps.way_of, steps.united = real, real_rows
    gpu = [_printer(code) for code in dict.fromkeys(engine.device.launched)]
    cpu: list[Callable[[], str]] = []
    for stage in met:
        way = _on_cpu(*stage)
        cpu += [lambda code=part.code: code.text for part in _calls(way)]
    for group in groups:
        rows = cpu_by_rows(*group)
        cpu += [] if rows is None else [lambda code=one.call.code: code.text for one in rows.members]
    return gpu, cpu


def _on_cpu(stage: Any, place: Sequence[int], strides: Sequence[Any], results: Sequence[Any]) -> Any:
    how = layout(stage, [*[strides[at] if at >= 0 else (1,) for at in place], *results])
    assert how is not None
    return Blocked(how, place, False) if blocked(how) else Call(how, place)


def _calls(way: Any) -> list[Any]:
    """The laid-out kernels of a way to run a stage."""
    if hasattr(way, "code"):
        return [way]
    parts = [getattr(way, name) for name in getattr(type(way), "__slots__", ()) or vars(way) if hasattr(way, name)]
    return [*{part.code: part for part in parts if hasattr(part, "code")}.values()]


def _printer(code: Code) -> Callable[[], str]:
    return lambda: code.printer(code.what, Simt).text()


def bound(name: str) -> Bound:
    """The bounds of a program."""
    gpu, cpu = kernels(name)
    texts = [one() for one in gpu], [one() for one in cpu]
    printed = _ratio(lambda: _anew(gpu), lambda: _anew(cpu))
    again = _ratio(lambda: [one() for one in gpu], lambda: [one() for one in cpu])
    compiled = _ratio(lambda: [ptx(text) for text in texts[0]], lambda: [assembly(text) for text in texts[1]])
    return Bound(printed, again, compiled)


def _anew(printers: Sequence[Callable[[], str]]) -> None:
    llvm._printed.cache_clear()
    for one in printers:
        one()


def ptx(text: str, architecture: str = target.DEFAULT) -> str:
    """PTX, made anew."""
    made: str = with_module(
        text, lambda: target._target(architecture), lambda back, module: back.machine.emit_assembly(module), target.LEVEL
    )
    return made


def _ratio(one: Callable[[], Any], other: Callable[[], Any]) -> float:
    """The least processor time of one over that of the other, in turn."""
    least = [float("inf")] * 2
    for _ in range(RUNS):
        for k, run in enumerate((one, other)):
            begun = time.thread_time()
            run()
            least[k] = min(least[k], time.thread_time() - begun)
    return least[0] / least[1]


def registers(name: str) -> dict[str, Sequence[tuple[int, int]]]:
    """For each architecture the registers and the spilled bytes of each kernel."""
    gpu, _ = kernels(name)
    with tempfile.TemporaryDirectory() as folder:
        return {to: [assembled(ptx(one()), to, Path(folder)) for one in gpu] for to in ARCHITECTURES}


def report() -> None:
    """Prints all of it."""
    for name in PROGRAMS:
        found = bound(name)
        text = f"text {found.printed:.2f} times ({found.again:.2f} without scalar functions)"
        print(f"{name}: {text}, PTX {found.compiled:.2f} times the CPU's")
        for to, used in registers(name).items() if PTXAS is not None else ():
            print(f"    {to}: {', '.join([f'{n} registers, {spilled} bytes spilled' for n, spilled in used])}")


if __name__ == "__main__":
    report()

"""The half that compiles stages asks a machine for nothing but what `Machine` says: an emulated GPU behind a narrow door."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.engine.backend import Step
from catad.engine.cpu.run import target
from catad.engine.cuda.machine import GpuMachine
from catad.engine.machine import Machine
from catad.engine.steps import steps
from catad.testing.emulator.device import EmulatedDevice
from catad.wiring import Wiring

from .cpu_support import assert_near, on

pytestmark = [pytest.mark.skipif(not target.available(), reason="there is no LLVM here"), pytest.mark.full_code]

ASKED = {name for name in (*dir(Machine), *Machine.__annotations__) if not name.startswith("_")}
M = 48
RNG = np.random.default_rng(0)
INDEX, X = RNG.integers(0, 5, M), RNG.uniform(0.5, 1.5, M)


class Door:
    """A machine; what is asked of it is noted, and anything but what a machine has is refused."""

    def __init__(self) -> None:
        self.asked: set[str] = set()
        self.machine = GpuMachine(EmulatedDevice(1))

    def __getattr__(self, name: str) -> Any:
        if name not in ASKED:
            raise AttributeError(f"no machine has {name}")
        self.asked.add(name)
        return getattr(self.machine, name)


class Behind(ct.engine.Engine):
    """The engine of a machine."""

    name, language = "door", "ptx"

    def __init__(self, machine: Any) -> None:
        self.machine = machine

    def runs(self, xp: Any) -> bool:
        return xp is np

    def steps(self, wiring: Wiring) -> list[Step]:
        return steps(wiring, self.machine)


@pytest.fixture
def door() -> Door:
    made = Door()
    ct.engine.register(Behind(made))
    return made


PROGRAMS = {
    "stages": (ct.fork(ct.exp >> ct.scan(lambda a, b: a * b, 1.0), ct.sum()), (X,)),
    "a product that needs normal numbers": (ct.grad(ct.fold(lambda a, b: a * b, 1.0)), (X,)),
    "a product of numbers that are not": (ct.grad(ct.fold(lambda a, b: a * b, 1.0)), (np.where(X < 1, 0.0, X),)),
    "folds by bin": (ct.fork(ct.histogram(ct.add, 0.0, 5), ct.histogram(ct.maximum, -np.inf, 5)), (INDEX, X)),
    "a sparse scatter": (ct.histogram(ct.add, 0.0, 100 * M), (INDEX, X)),
    "a gradient by bin": (ct.grad(ct.exr >> ct.fork(ct.const(INDEX), ct.id) >> ct.histogram(ct.maximum, -np.inf, 5) >> ct.sum()),
                          (INDEX * 1.0, X)),
    "rows": (ct.softmax(axis=1), (RNG.normal(size=(30, 40)),)),
    "sums over axes that do not lie as one": (ct.transpose() >> ct.sum(axis=1), (X.reshape(4, 12).T,)),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_machine_gives_the_numbers_of_the_array_code(door: Door, name: str) -> None:
    f, x = PROGRAMS[name]
    with ct.use_engine("door"), ct.profile() as p:
        got = on("door", f, *x)
    assert_near(got, on("reference", f, *x))
    assert {"empty", "prepared"} & door.asked and p.stages


def test_all_that_a_machine_has_is_asked_for(door: Door) -> None:
    with ct.profile() as p:
        for f, x in PROGRAMS.values():
            on("door", f, *x)
    p.to_json()
    assert door.asked == ASKED


def test_its_text_is_shown(door: Door) -> None:
    with ct.use_engine("door"):
        assert ".visible .entry kernel(" in ct.sin.source("ptx", ct.f64[8])
        assert ct.compile(ct.sin, ct.f64[8]) is ct.sin

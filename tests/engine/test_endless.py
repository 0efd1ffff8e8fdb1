"""An endless loop in a mapped function: Ctrl-C ends it, on all threads, and the library works on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import catad as ct
from catad.engine.cpu.run.target import compiled
from catad.scalar import STOP_FLAG, llvm_function, read

PROGRAM = """
import faulthandler, os, signal, sys, threading, time
import numpy as np, catad as ct
faulthandler.dump_traceback_later(90, exit=True)  # a loop that nobody ends would keep its process for ever
signal.signal(signal.SIGINT, {handler})

def search(x):
    while x != 7.0:
        x = 0.5 * (x + abs(x))
    return x

ct.set_num_threads(2)
f = {program}
x = np.full(200_000, 7.0)
with ct.use_engine("cpu"):
    want = f(x)
    y = x.copy()
    y[::50_000] = 1.0
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        f(y)
    except {error}:
        print("ended")
    print(np.array_equal(f(x), want), threading.active_count() < 10)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize(
    ("handler", "program", "error"),
    [
        ("signal.default_int_handler", "ct.map(search)", "KeyboardInterrupt"),
        ("signal.default_int_handler", "ct.map(search) >> ct.sum()", "KeyboardInterrupt"),
        ("lambda *_: (_ for _ in ()).throw(TimeoutError)", "ct.map(search)", "TimeoutError"),
    ],
)
def test_ctrl_c_ends_an_endless_loop(tmp_path, handler, program, error):
    file = tmp_path / "endless.py"
    file.write_text(PROGRAM.format(handler=handler, program=program, error=error))
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=120, env=_with_catad())
    assert done.stdout.split() == ["ended", "True", "True"], done.stdout + done.stderr


LANES = """
import faulthandler, os, signal, threading
import numpy as np, catad as ct
faulthandler.dump_traceback_later(90, exit=True)
signal.signal(signal.SIGINT, signal.default_int_handler)  # also where the tests run with Ctrl-C ignored

@ct.function
def logistic(r, x):
    for _ in range(1_000_000):
        x = r * x * (1.0 - x)
    return x

with ct.use_engine("cpu"):
    ct.compile(logistic, ct.f64[70_000], ct.f64[70_000])
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        logistic(np.full(70_000, 3.1), np.full(70_000, 0.3))
    except KeyboardInterrupt:
        print("ended")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_ends_a_long_loop_over_lanes(tmp_path):
    """Its kernel has a flag of its own."""
    file = tmp_path / "lanes.py"
    file.write_text(LANES)
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=120, env=_with_catad())
    assert done.stdout.split() == ["ended"], done.stdout + done.stderr


def _with_catad() -> dict[str, str]:
    root = os.path.dirname(os.path.dirname(ct.__file__))
    return {**os.environ, "PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])}


def flagged(fn) -> bool:
    return STOP_FLAG in dict(llvm_function(read(fn), ["float64"], "f").support)


def test_only_loops_that_may_run_for_long_look_at_the_flag():
    def counted(x):
        for _ in range(1000):
            x = 0.5 * x
        return x

    def long(x):
        for _ in range(10**9):
            x = 0.5 * x + 1.0
        return x

    def until(x):
        while x > 1.0:
            x = 0.5 * x
        return x

    def leaves(x):
        for _ in range(1000):
            x = 0.5 * x
            if x < 1.0:
                break
        return x

    assert [flagged(fn) for fn in (counted, long, until, leaves, lambda x: np.sin(x) ** 3)] == [
        False,
        True,
        True,
        True,
        False,
    ]


def test_a_handler_that_does_not_raise_ends_nothing():
    """Programs that finish their work first after Ctrl-C get it finished."""
    heard = []
    before = signal.signal(signal.SIGINT, lambda *_: heard.append(1))
    try:
        with ct.use_engine("cpu"):
            f = ct.map(_slowly)
            x = np.full(2000, 2000.0)
            want = f(x)
            deadline = time.monotonic() + 60
            while not heard and time.monotonic() < deadline:
                os.kill(os.getpid(), signal.SIGINT)
                assert np.array_equal(f(x), want)
        assert heard
    finally:
        signal.signal(signal.SIGINT, before)


def _slowly(x):
    n = 0.0
    while x > 0.0:
        x, n = x - 1.0, n + 0.5
    return n


def test_a_module_without_such_loops_has_no_flag():
    module = compiled("define double @half(double %x) { %y = fmul double %x, 0.5 ret double %y }", ["half"])
    assert module.data(STOP_FLAG) is None

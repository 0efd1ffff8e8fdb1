"""What the tests of compiling share: a small program, the cache of a test, counts, and programs in other processes."""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
import textwrap

import pytest

from catad.engine.cpu.run import target
from catad.engine.llvm import with_module

F64 = ctypes.c_double


def half(scale: float = 0.5) -> str:
    return f"define double @half(double %x) {{ %y = fmul double %x, {scale!r} ret double %y }}"


def call(module: target.Module, name: str, *xs: float) -> float:
    return ctypes.CFUNCTYPE(F64, *[F64] * len(xs))(module.address(name))(*xs)


def assembly(text: str) -> str:
    """The machine code that a text becomes, as assembly text."""
    made: str = with_module(text, target._llvm, lambda llvm, module: llvm.machine.emit_assembly(module), target.SPEED)
    return made


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty folder as the cache, and programs that are not in memory."""
    monkeypatch.setenv("CATAD_CACHE_DIR", str(tmp_path / "cache"))
    host = target.host  # as it is now: a test may put another in its place
    host.cache_clear()
    yield tmp_path / "cache"
    host.cache_clear()


@pytest.fixture
def counts(monkeypatch):
    """What was compiled, loaded and found again since the test began."""
    fresh = type(target.counts)()
    monkeypatch.setattr(target, "counts", fresh)
    return fresh


def unload() -> None:
    target.forget()
    gc.collect()


def script(cache, text: str) -> str:
    env = {**os.environ, "CATAD_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text)], env=env, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout

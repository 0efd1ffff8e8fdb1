"""The choice of the engine, by the library of the arrays or as the user says, and the engines that there are."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from catad import errors, upward
from catad.engine.backend import Engine
from catad.engine.cpu.engine import CPU
from catad.engine.cuda.engine import CUDA
from catad.engine.reference import REFERENCE
from catad.support.current_engine import AUTO, CHECKS
from catad.support.current_engine import checks as _checks
from catad.support.current_engine import chosen as _chosen
from catad.values.arrays import in_blocks

_engines: dict[str, Engine] = {engine.name: engine for engine in (CPU, CUDA, REFERENCE)}
OWN = tuple(_engines)  # the names of what catad comes with


def names() -> tuple[str, ...]:
    """The names that `use_engine` takes."""
    return AUTO, *_engines


def register(engine: Engine) -> None:
    """Make an engine known by its name, for `ct.use_engine`; another one of the same name is replaced.

    Raises `EngineError` where the engine lacks what a `ct.engine.Engine` needs, or has the name of one that catad comes with.

    >>> import catad as ct
    >>> class Slow(ct.engine.Engine):
    ...     name = "slow"
    >>> ct.engine.register(Slow())
    Traceback (most recent call last):
        ...
    catad.errors.EngineError: this is not an engine
    ...
    """
    if isinstance(engine, type):
        raise errors.EngineError(errors.engine_is_a_class(engine))
    asked = [what for what in dir(Engine) if not what.startswith("_")] + ["name"]
    missing = [what for what in asked if not hasattr(engine, what)]
    missing += [what for what in ("runs", "steps") if getattr(type(engine), what, None) is getattr(Engine, what)]
    if missing:
        raise errors.EngineError(errors.no_engine(engine, missing))
    if not isinstance(engine.name, str) or engine.name in (AUTO, "", *OWN):
        raise errors.EngineError(errors.reserved_engine(engine.name))
    _engines[engine.name] = engine


def chosen() -> str:
    """The name of the engine in force; the environment variable CATAD_ENGINE names it where no program does."""
    found = _chosen.get()
    if found is None:
        found = os.environ.get("CATAD_ENGINE", AUTO)
        use_engine(found)
        _chosen.set(found)
    return found


def engine_of(xp: Any) -> Engine:
    """The engine for arrays of a library."""
    if in_blocks(xp):
        return upward.IN_BLOCKS
    name = _chosen.get() or chosen()
    if name != AUTO:
        engine = _engines[name]
        return engine if engine.runs(xp) and engine.available() else REFERENCE
    for engine in reversed(_engines.values()):  # those from outside first
        if engine.automatic and engine.runs(xp) and engine.available():
            return engine
    return REFERENCE


def running(xp: Any) -> str:
    """A name for what runs arrays of a library now: of those of NumPy the engine in force, where it runs them; of others the
    engine that runs them, or the library where their array code does."""
    name, engine = _chosen.get() or chosen(), engine_of(xp)
    if xp is np:
        return name if name == AUTO else engine.name
    return str(xp.__name__) if engine is REFERENCE else engine.name


def compiling(language: str | None, name: str | None = None) -> Engine:
    """The engine whose steps are compiled ahead or shown: that named, that in force, or the first one that shows code in this
    language. Raises `EngineError` for a name that no engine has."""
    if name is not None and name not in names():
        raise errors.EngineError(errors.no_such("engine", name, names()))
    engine = _engines.get(name or chosen(), REFERENCE)
    if engine is not REFERENCE and language in (None, engine.language):
        return engine
    return next(one for one in _engines.values() if one.language is not None and language in (None, one.language))


def languages() -> tuple[str, ...]:
    """The names of languages that `D.source` takes."""
    return *dict.fromkeys([one.language for one in _engines.values() if one.language is not None]), "steps"


def in_force() -> tuple[str, str]:
    """What `use_engine` takes to make another thread run as this one."""
    return chosen(), _checks.get()


class use_engine:
    """`with ct.use_engine("reference"):` runs what is inside on the named engine.

    "reference" is the array code that says what everything means. "cpu" compiles a program on arrays of NumPy with LLVM, at its
    first call. "cuda" compiles programs on arrays of CuPy for NVIDIA's GPUs. "auto", the default, takes "cuda" for arrays of
    CuPy and "cpu" for those of NumPy; the array code runs until a program that is called again is compiled, which a thread does
    in the background. The environment variable CATAD_COMPILE sets this: "background", "now" (the caller waits), or "never".
    Arrays that the engine does not run, such as those of CuPy on the CPU, run on the array code. `ct.engine.register` adds names.
    On a GPU, indices out of range are told when the host next looks: at a later call, or in `ct.synchronize`. With
    `checks="now"` each check waits for the GPU and raises in place; "late" is the default, and None leaves it as it is. With
    "first" calls of kernels after the first one do not look for races that data make, and with "off" no call does.
    The choice holds in this thread. Raises `EngineError` for another name or another word.

    >>> import catad as ct
    >>> with ct.use_engine("reference"):
    ...     ct.sin(0.0)
    np.float64(0.0)
    """

    def __init__(self, name: str, checks: str | None = None) -> None:
        if name not in names():
            raise errors.EngineError(errors.no_such("engine", name, names()))
        if checks not in (None, *CHECKS):
            raise errors.EngineError(errors.no_such("time for checks of indices", checks, (*CHECKS, None)))
        self.name, self.checks = name, checks

    def __enter__(self) -> None:
        self._token, self._late = _chosen.set(self.name), _checks.set(self.checks or _checks.get())

    def __exit__(self, *_: object) -> None:
        _chosen.reset(self._token)
        _checks.reset(self._late)

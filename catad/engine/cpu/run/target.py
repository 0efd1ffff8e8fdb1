"""The processor that programs are compiled for, and LLVM, which compiles them. Nothing else of the CPU imports llvmlite.

    text of LLVM IR --parse, verify--> module --pipeline--> module --code generator--> object code --load--> addresses

Object code is kept on disk (`store`) under a key of the text, the versions, the processor and the options; loaded code is
kept in the process for as long as somebody holds it, and the most recent programs a while longer. A process that finds all its
programs on disk loads them without LLVM (`objects`): the import alone would take longer than everything else.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import platform
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import Any, NamedTuple, Protocol
from weakref import WeakValueDictionary

from catad import errors
from catad.engine import disk_cache
from catad.engine.cpu.run import objects
from catad.engine.llvm import lock, saved, with_module
from catad.errors.notices import notice
from catad.scalar import STOP_FLAG
from catad.support.lru import Recent
from catad.version import __version__

KEPT = 256  # programs, and at most twice as many, that are kept loaded though nobody holds them
SPEED = 3  # the level of LLVM's pipeline and of its code generator
SHORT = 2  # that for long functions that run as fast with it, and compile in two thirds of the time
QUICK = 0  # what translates a text as it stands, in a tenth to a twentieth of the time (`tiers.py`)
COROUTINES = 1  # the same with the passes that coroutines need, for the emulator of GPUs
UNROLLED = (SHORT,)  # levels that unroll loops: kernels over arrays run as fast without, and compile in half the time
OPTIONS = f"O{SPEED} vectorize unroll {UNROLLED} interleave pic small no gather"  # part of the key: change it with `_LLVM`
PASSES: dict[int, tuple[str, ...]] = {QUICK: ("always_inliner", "sroa", "simplify_cfg")}
ALLOWANCE = "catad_indices"  # a variable of quick code (`tiers.py`)

counts: Counter[str] = Counter()
"""What tests count: modules "compiled" by LLVM, and those "quick"ly, "loaded" from disk, "reused" in the process."""


class _Loaded(Protocol):
    def address(self, name: str) -> int: ...

    def data(self, name: str) -> int | None: ...


class Host(NamedTuple):
    """The processor for which code is made, and the LLVM that makes it: all of it is part of the key of the cache."""

    llvm: str
    triple: str
    cpu: str
    features: str


class Module:
    """Compiled code. It stays in memory for as long as this object is referred to: keep it beside every address.

    `seconds` is what it cost to get it here, `origin` where it came from: "compiled" or "disk".
    """

    __slots__ = ("__weakref__", "_code", "names", "origin", "seconds")

    def __init__(self, code: _Loaded, names: tuple[str, ...], origin: str, seconds: float) -> None:
        self._code = code
        self.names = names
        self.origin = origin
        self.seconds = seconds

    def address(self, name: str) -> int:
        """The address of a function that the IR defines, as `ctypes` takes it."""
        return self._code.address(name)

    def data(self, name: str) -> int | None:
        """The address of a global variable, None where the IR defines none of this name."""
        return self._code.data(name)

    def __repr__(self) -> str:
        return f"<compiled code of {', '.join(self.names)}: {self.origin}, {1e3 * self.seconds:.1f} ms>"


if hasattr(os, "register_at_fork"):  # no child starts from a half-way state
    os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)

_modules: WeakValueDictionary[bytes, Module] = WeakValueDictionary()  # for as long as somebody holds it
_recent: Recent[bytes, Module] = Recent(KEPT)


def available() -> bool:
    """True where programs can be compiled here. Where they cannot, a notice says so and why, once.

    >>> available()
    True
    """
    why = missing()
    if why is not None:
        notice("no llvm", errors.no_llvm(why))
    return why is None


@cache
def missing() -> str | None:
    """The reason why programs cannot be compiled here, or None."""
    if objects.placeable() and not objects.executable_memory():
        return "this system lets no process execute code that it wrote"
    try:
        host()
    except Exception as error:  # llvmlite raises OSError, RuntimeError, ImportError, AttributeError on broken installations
        return f"{type(error).__name__}: {error}"
    return None


def compiled(text: str | Callable[[], str], names: Sequence[str], key: str | None = None, level: int = SPEED) -> Module:
    """The functions `names` that the LLVM IR `text` defines, compiled for this machine, optimised, ready to be called.

    `text` is a module without target triple and data layout; or, with a key that only the same text has, what prints it
    where no code is found under that key. `level` is that of LLVM's pipeline. The same gives the same `Module` again while that
    is in use. Raises `EngineError` where LLVM refuses the text (it is saved to a file that the message names), where a name is
    not defined in it, and where it calls what this process does not have.

    >>> import ctypes
    >>> module = compiled("define double @half(double %x) { %y = fmul double %x, 0.5 ret double %y }", ["half"])
    >>> ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(module.address("half"))(3.0)
    1.5
    """
    if key is None:
        text = key = text if isinstance(text, str) else text()
    module = _module(text, tuple(names), key, level)
    assert module is not None
    return module


def found(names: Sequence[str], key: str, level: int) -> Module | None:
    """What `compiled` gives for this key without compiling: loaded already, or on disk; else None."""
    return _module(None, tuple(names), key, level)


def _module(text: str | Callable[[], str] | None, names: tuple[str, ...], key: str, level: int) -> Module | None:
    known = hashlib.sha256("\0".join((key, str(level), *names)).encode()).digest()
    module = _found(known)
    if module is None:
        with lock:
            module = _found(known) or _made(text, names, key, level)  # somebody else may have compiled it meanwhile
            if module is not None:
                _modules[known] = _recent[known] = module
    return module


def _found(key: bytes) -> Module | None:
    module = _modules.get(key)
    if module is not None:
        counts["reused"] += 1
        if _recent.get(key) is None:
            _recent[key] = module
    return module


def forget() -> None:
    """Let go of all programs that nobody holds; those on disk stay there."""
    _recent.clear()


def _made(text: str | Callable[[], str] | None, names: tuple[str, ...], key: str, level: int) -> Module | None:
    start = time.perf_counter()
    about = (key, __version__, OPTIONS, str(level), *PASSES.get(level, ()), *host())
    name = hashlib.sha256("\0".join(about).encode()).hexdigest() + ".o"
    code = disk_cache.read(name)
    if code is not None:
        with contextlib.suppress(errors.EngineError):  # intact, but not the code of this name: compiled again
            module = Module(_loaded(code, names, text or ""), names, "disk", time.perf_counter() - start)
            counts["loaded"] += 1
            return module
    if text is None:
        return None
    text = text if isinstance(text, str) else text()
    code = _object(text, level)
    module = Module(_loaded(code, names, text), names, "compiled", time.perf_counter() - start)
    counts["quick" if level == QUICK else "compiled"] += 1
    disk_cache.write(name, code)
    return module


# ---- the host ------------------------------------------------------------------------------------------------------------


@cache
def host() -> Host:
    """The processor and LLVM, from the disk where this very llvmlite was asked on this very processor before."""
    mark = _mark()
    known = disk_cache.read(mark) if mark is not None else None
    parts = known.decode().split("\n") if known is not None else []
    if len(parts) == len(Host._fields):
        return Host(*parts)
    found = _llvm().host
    if mark is not None:
        disk_cache.write(mark, "\n".join(found).encode())
    return found


def _mark() -> str | None:
    """A name for this processor and this file of llvmlite, found without loading LLVM; None where that cannot be told."""
    import llvmlite  # the package alone: its version

    about = (
        "vendor_id",
        "cpu family",
        "model",
        "stepping",
        "flags",
        "Features",
        "CPU implementer",
        "CPU part",
        "CPU variant",
    )
    try:
        with open("/proc/cpuinfo") as file:
            lines = file.read(16384).split("\n\n")[0].splitlines()  # of the first processor
        place = os.path.join(os.path.dirname(llvmlite.__file__), "binding")
        libraries = sorted(name for name in os.listdir(place) if "llvmlite" in name)
        sizes = [(name, os.stat(os.path.join(place, name)).st_size) for name in libraries]
        times = [os.stat(os.path.join(place, name)).st_mtime_ns for name in libraries]
    except OSError:
        return None
    processor = [line for line in lines if line.partition(":")[0].strip().startswith(about)]
    if not processor or not libraries:
        return None
    known = repr((llvmlite.__version__, place, sizes, times, processor, platform.machine(), sys.maxsize, __version__))
    return hashlib.sha256(known.encode()).hexdigest() + ".host"


# ---- LLVM ----------------------------------------------------------------------------------------------------------------


class _LLVM:
    """llvmlite's binding, loaded and set up: the target machine and the options of the pipeline."""

    def __init__(self) -> None:
        import llvmlite
        from llvmlite import binding

        self.binding: Any = binding
        self.passes = PASSES
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        binding.check_jit_execution()
        self.target = binding.Target.from_triple(binding.get_process_triple())
        version = f"{llvmlite.__version__} LLVM {'.'.join(map(str, binding.llvm_version_info))}"
        features = binding.get_host_cpu_features().flatten()
        self.host = Host(version, self.target.triple, binding.get_host_cpu_name(), features)
        self.triple = self.host.triple
        self.machine = self.new_machine(SPEED)
        self.layout = str(self.machine.target_data)
        self.tunings = {level: self._tuning(level) for level in (QUICK, SHORT, SPEED)} | {COROUTINES: self._tuning(QUICK)}

    def _tuning(self, level: int) -> Any:
        tuning = self.binding.create_pipeline_tuning_options(speed_level=level)
        tuning.loop_vectorization = True
        tuning.slp_vectorization = False  # it gathers what independent chains read, which takes longer than to read it
        tuning.loop_unrolling = level in UNROLLED
        tuning.loop_interleaving = True
        return tuning

    @cached_property
    def linker(self) -> Any:
        return self.binding.create_lljit_compiler(self.new_machine(SPEED))  # which says on stderr what symbol is missing

    @cached_property
    def _quick(self) -> Any:
        return self.new_machine(QUICK)

    def generator(self, level: int) -> Any:
        """The code generator for a level of the pipeline."""
        return self._quick if level in (QUICK, COROUTINES) else self.machine

    def new_machine(self, level: int) -> Any:
        """Vectors are as wide as LLVM's tables for this processor say. With 512 bits a polynomial took 0.7 of its time with
        256 (Zen 4); loops bound by memory took 1.0 to 1.1. Vectors are filled by single loads, not by x86's gather instructions,
        which the remedy for Gather Data Sampling (CVE-2022-40982) slows down: reads at an index took 1.3 to 2.4 times as long
        with them (Cascade Lake)."""
        x86 = self.host.triple.startswith(("x86", "i386", "i686"))
        features = self.host.features + ",+prefer-no-gather" * x86
        return self.target.create_target_machine(
            cpu=self.host.cpu, features=features, opt=level, reloc="pic", codemodel="small", jit=True
        )


@cache
def _llvm() -> _LLVM:
    with lock:
        return _LLVM()


def _object(text: str, level: int = SPEED) -> bytes:
    code: bytes = with_module(text, _llvm, lambda llvm, module: llvm.generator(level).emit_object(module), level)
    return code


# ---- loading -------------------------------------------------------------------------------------------------------------


def _loaded(code: bytes, names: tuple[str, ...], text: str | Callable[[], str]) -> _Loaded:
    try:
        placed = objects.place(code) if objects.placeable() else None
    except objects.Unplaceable:
        placed = None
    except objects.MissingSymbols as error:
        raise errors.EngineError(errors.unknown_symbol(error.names, saved(text))) from error
    if placed is None:
        return _linked(code, names, text)
    undefined = [name for name in names if name not in placed.names]
    if undefined:
        raise errors.EngineError(errors.undefined_functions(undefined, placed.names))
    return placed


class _Linked:
    """Code that LLVM's own loader (ORC) holds; it is unloaded with this object."""

    __slots__ = ("_names", "_tracker")

    def __init__(self, tracker: Any, names: Sequence[str]) -> None:
        self._tracker, self._names = tracker, names

    def address(self, name: str) -> int:
        return int(self._tracker[name])

    def data(self, name: str) -> int | None:
        return int(self._tracker[name]) if name in self._names else None


def _linked(code: bytes, names: tuple[str, ...], text: str | Callable[[], str]) -> _Linked:
    """Load through LLVM: every platform that it knows, at the price of importing it."""
    with lock:
        llvm = _llvm()
        library = llvm.binding.JITLibraryBuilder().add_object_img(code).add_current_process()
        if STOP_FLAG.encode() in code:
            names = (*names, STOP_FLAG, "catad_before", "catad_interrupt")
        if ALLOWANCE.encode() in code:
            names = (*names, ALLOWANCE)
        for name in names:
            library.export_symbol(name)
        try:
            return _Linked(library.link(llvm.linker, f"catad{next(_libraries)}"), names)
        except RuntimeError as error:
            raise errors.EngineError(errors.llvm_failed("load", str(error), saved(text))) from error


_libraries = itertools.count()

"""What is installed, and whether it works, as plain text for a bug report: `python -m catad.info`.

The text has versions, the processor, the engine in force, the cache of compiled code, threads and devices, and the result of a
self-test of about 2 seconds. What is missing or broken is said, and the rest is told all the same. Paths in the home folder begin
with `~`, and the name of the user stands nowhere.

>>> import catad as ct
>>> ct.info.report(self_test=False).splitlines()[0].split()[0]
'catad:'
"""

from __future__ import annotations

import argparse
import getpass
import importlib
import os
import platform
import re
import sys
from collections.abc import Callable, Iterator
from importlib import metadata

from catad.version import __version__

__all__ = ["report", "show"]

NEEDED = {"NumPy": "numpy", "SciPy": "scipy", "llvmlite": "llvmlite", "typing_extensions": "typing_extensions"}
OPTIONAL = ("dask", "distributed", "cloudpickle", "jax", "jaxlib", "torch", "threadpoolctl", "tqdm", "matplotlib")
CUPY = ("cupy", "cupy-cuda12x", "cupy-cuda13x", "cupy-cuda11x")  # names under which CuPy is installed
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OPENBLAS_CORETYPE", "MKL_NUM_THREADS")
VARIABLES = (*THREADS, "CUDA_VISIBLE_DEVICES", "PYTHON_GIL")  # beside those of catad
FEATURES = re.compile(r"avx\S*|amx\S*|fma|f16c|sse4\.2|neon|sve\S*|dotprod|fullfp16")
WIDTH = 20  # of the names

Line = tuple[str, str]


def __dir__() -> list[str]:
    """The public names alone."""
    return __all__


def report(self_test: bool = True) -> str:
    """The text about this installation, of about 20 lines; with `self_test`, which takes about 2 seconds, its result as well.

    It raises nothing: where a library is missing or broken, its line says so. Nothing is written but compiled code to the cache.

    >>> import catad as ct
    >>> [line for line in ct.info.report(self_test=False).splitlines() if line.startswith("self-test")]
    []
    """
    lines: list[Line] = []
    for section in (_catad, _needed, _blas, _optional, _processor, _engine, _cache, _threads, _devices, _environment):
        lines += _lines(section)
    if self_test:
        lines += _lines(_self_test)
    return _private("\n".join(f"{name + ':':{WIDTH}}{text}".rstrip() for name, text in lines))


def show(self_test: bool = True) -> None:
    """Print `report(self_test)`.

    >>> import catad as ct
    >>> ct.info.show(self_test=False)
    catad: ...
    """
    print(report(self_test))


def _lines(section: Callable[[], Iterator[Line]]) -> list[Line]:
    """The lines of a section, or one that says why there are none."""
    found: list[Line] = []
    try:
        for line in section():
            found.append(line)
    except Exception as error:  # a library may be broken in any way
        found.append((section.__name__.strip("_").replace("_", "-"), f"cannot be told, {_said(error)}"))
    return found


def _said(error: Exception) -> str:
    """An error in one line."""
    first = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {first}"


def _version(name: str) -> str | None:
    """The version of an installed distribution."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


# ---- versions ------------------------------------------------------------------------------------------------------------


def _catad() -> Iterator[Line]:
    yield "catad", f"{__version__}, in {os.path.dirname(os.path.abspath(__file__))}"
    threading = "" if getattr(sys, "_is_gil_enabled", lambda: True)() else ", without the global interpreter lock"
    yield "Python", f"{platform.python_version()}, {platform.python_implementation()}{threading}"
    yield "platform", f"{platform.platform()}, {platform.machine()}"


def _needed() -> Iterator[Line]:
    for name, module in NEEDED.items():
        version = _version(module)
        try:
            importlib.import_module(module)
        except Exception as error:  # a library may be broken in any way
            yield name, f"{version or 'not installed'}, and cannot be imported, {_said(error)}"
        else:
            yield name, version or "of an unknown version"


def _optional() -> Iterator[Line]:
    found = {name: _version(name) for name in OPTIONAL}
    yield "optional", ", ".join([f"{name} {version}" for name, version in found.items() if version]) or "nothing"
    missing = [name for name, version in found.items() if not version]
    if missing:
        yield "not installed", ", ".join(missing)


def _blas() -> Iterator[Line]:
    """The library of linear algebra that NumPy was built with, and that which SciPy was."""
    for name in ("NumPy", "SciPy"):
        built = importlib.import_module(NEEDED[name]).show_config(mode="dicts")["Build Dependencies"]["blas"]
        yield f"BLAS of {name}", f"{built.get('name')} {built.get('version')}"


# ---- the machine ---------------------------------------------------------------------------------------------------------


def _processor() -> Iterator[Line]:
    yield "processor", f"{_model()}, {os.cpu_count()} logical processors"
    from catad.engine.cpu.run import target

    host = target.host()
    features = [name[1:] for name in host.features.split(",") if name[:1] == "+" and FEATURES.fullmatch(name[1:])]
    yield "compiled for", f"{host.cpu} ({' '.join(features)})"
    yield "LLVM", f"{host.llvm.rpartition(' ')[2]}, {host.triple}"


def _model() -> str:
    """The name of the processor."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            found = re.search(r"^model name\s*:\s*(.*)$", file.read(16384), re.MULTILINE)
    except OSError:
        found = None
    return found[1] if found else platform.processor() or "unknown"


def _devices() -> Iterator[Line]:
    version = next((found for found in map(_version, CUPY) if found), None)
    if version is None:
        yield "GPU", "not used, CuPy is not installed"
        return
    yield "CuPy", version
    try:
        runtime = importlib.import_module("cupy").cuda.runtime
        count, driver = runtime.getDeviceCount(), runtime.driverGetVersion()
    except Exception as error:  # no driver, no device, or a broken installation
        yield "GPU", f"not used, {_said(error)}"
        return
    for number in range(count):
        about = runtime.getDeviceProperties(number)
        memory, capability = about["totalGlobalMem"] / 2**30, f"{about['major']}.{about['minor']}"
        name = about["name"].decode() if isinstance(about["name"], bytes) else about["name"]
        yield f"GPU {number}", f"{name}, {memory:.0f} GiB, compute capability {capability}, driver for CUDA {driver}"


# ---- settings ------------------------------------------------------------------------------------------------------------


def _engine() -> Iterator[Line]:
    from catad.engine import background, choice
    from catad.engine.cpu.run import target

    why = target.missing()
    yield "engine", f"{choice.chosen()} of {', '.join(choice.names())}; compiling: {background.mode()}"
    if why is not None:
        yield "", f"no programs are compiled, {why}"


def _cache() -> Iterator[Line]:
    from catad.engine import disk_cache

    place = disk_cache.folder()
    if place is None:
        yield "cache", "off, compiled code is not kept on disk"
        return
    if not os.path.isdir(place):
        yield "cache", f"{place}, not there yet"
        return
    with os.scandir(place) as entries:
        sizes = [entry.stat().st_size for entry in entries if entry.is_file()]
    writable = "" if os.access(place, os.W_OK) else ", cannot be written"
    limit = disk_cache.LIMIT / 2**20
    yield "cache", f"{place}, {len(sizes)} files, {sum(sizes) / 2**20:.1f} of at most {limit:.0f} MiB{writable}"


def _threads() -> Iterator[Line]:
    from catad.engine.cpu.run import threads

    yield "threads", f"at most {threads.get_num_threads()} for a call of a compiled program"


def _environment() -> Iterator[Line]:
    names = sorted(name for name in os.environ if name.startswith("CATAD_") or name in VARIABLES)
    yield "environment", " ".join([f"{name}={os.environ[name]}" for name in names]) or "nothing that catad reads"


def _self_test() -> Iterator[Line]:
    from catad.testing.installation.run import run

    outcome = run(quick=True, say=lambda line: None)
    yield "self-test", outcome.summary()
    for failure in outcome.failures:
        yield "failed", failure


# ---- what nobody else should read ----------------------------------------------------------------------------------------


def _private(text: str) -> str:
    """The text with `~` for the home folder, and with `USER` for folders that have the name of the user."""
    for home in {os.path.expanduser("~"), _home()} - {"", "~", "/"}:
        text = text.replace(home, "~")
    try:
        user = getpass.getuser()
    except Exception:  # a user without a name: OSError, KeyError or ImportError, as the version of Python has it
        return text
    return re.sub(rf"(?<=[/\\]){re.escape(user)}(?![\w.-])", "USER", text)


def _home() -> str:
    """The home folder of the user, whatever the environment says."""
    try:
        return str(importlib.import_module("pwd").getpwuid(os.getuid()).pw_dir)
    except Exception:  # a system or a user without one
        return ""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m catad.info", description="Say what is installed, for a bug report.")
    parser.add_argument("--no-self-test", action="store_true", help="leave out the self-test, which takes about 2 seconds")
    show(self_test=not parser.parse_args().no_self_test)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

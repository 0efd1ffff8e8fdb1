"""What holds for all tests: a cache of compiled code for this session alone, and the profiles of Hypothesis.

A test draws 15 examples where it says no other number. The profile "ci" draws the same ones on every run; it is loaded where CI
or HYPOTHESIS_PROFILE=ci is set. With --slow a test draws 250 fresh ones, the tests marked `slow` run as well, and so do all cases
of the tables marked `quick(n)`, of which n run without it: that is for a night.

Compiled code is kept in a temporary folder, which the processes of one session share, so that no test finds what an earlier
one, or the user, has compiled; where CATAD_TESTS_CACHE names a folder, sessions share that. A profile of what kernels cost lies
there too, so that plans by time are the same on every machine, however busy it is.
"""

import atexit
import gc
import json
import os
import random
import shutil
import signal
import sys
import tempfile

import pytest

from . import left_behind

_owner = None
if "CATAD_TESTS_CACHE" not in os.environ:  # the first process of the session
    os.environ["CATAD_TESTS_CACHE"], _owner = tempfile.mkdtemp(prefix="catad-tests-"), os.getpid()
os.environ["CATAD_CACHE_DIR"] = _cache = os.environ["CATAD_TESTS_CACHE"]  # before catad is imported
os.environ.setdefault("CATAD_COMPILE", "now")  # deterministic: programs compile where they are called


RATES = {  # rounded, as measured on a machine of two cores: seconds for a launch, a byte and an operation
    "Contract": (1.3e-5, 6e-11, 0.0), "Map": (1e-5, 8e-11, 0.0), "StridedCopy": (1e-5, 8e-11, 0.0),
    "ScatterAdded": (4.6e-5, 1e-10, 0.0), "Recurred": (4.8e-5, 8e-11, 0.0), "Reshaped": (1e-5, 0.0, 0.0),
    "Gathered": (2.5e-5, 5e-11, 0.0), "matmul": (2.2e-5, 0.0, 3.4e-11),
    "others": (2.2e-5, 8e-11, 0.0),
}  # fmt: skip
FUNCTIONS = {"call of a program": (1.2e-5, 4e-11, 0.0), "matmul within a program": (1e-5, 4e-11, 1e-11)}  # on NumPy's arrays
for engine in ("reference", "cpu", "auto", "cuda", "cupy"):
    _profile = os.path.join(_cache, f"profile-{engine}.json")
    if os.path.exists(_profile):
        continue
    known = RATES | ({} if engine in ("cuda", "cupy") else FUNCTIONS)
    kernels = {name: dict(zip(("launch", "byte", "operation"), rates, strict=True)) for name, rates in known.items()}
    with open(_profile, "w", encoding="utf-8") as file:
        json.dump({"catad profile": 3, "engine": engine, "kernels": kernels}, file)


@atexit.register
def _remove_cache():
    if os.getpid() == _owner:  # not in a forked child
        shutil.rmtree(_cache, ignore_errors=True)


try:
    from hypothesis import HealthCheck, settings
except ImportError:  # the tests that draw say so themselves
    pass
else:
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    settings.register_profile("default", max_examples=15, deadline=None, suppress_health_check=slow)
    settings.register_profile("ci", max_examples=15, derandomize=True, deadline=None, suppress_health_check=slow)
    settings.register_profile("slow", max_examples=250, deadline=None, suppress_health_check=slow)
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "default"))


def pytest_addoption(parser):
    parser.addoption(
        "--arrays",
        choices=("numpy", "strict", "fake-cupy", "cupy"),
        default="numpy",
        help="run all programs on arrays of this library: strict offers only what CuPy documents, fake-cupy runs kernels",
    )
    parser.addoption("--slow", action="store_true", help="run the tests marked `slow`, which take minutes, as well")
    parser.addoption("--files", default="sorted", help="the order of files: sorted, reversed, or a seed to shuffle by")


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes minutes, and runs with --slow only")
    config.addinivalue_line("markers", "full_code: is about code as it is after all optimisations")
    config.addinivalue_line("markers", "quick(n): a table of cases; n of them run without --slow, spread evenly over it")
    if config.getoption("--slow") and "hypothesis" in sys.modules:
        settings.load_profile("slow")
    chosen = config.getoption("--arrays")
    if chosen == "numpy":
        return
    from catad.engine.program import Program

    from .strict_arrays import on_arrays_of, strict, with_checked_results

    Program._run = with_checked_results(Program._run)
    if chosen in ("cupy", "fake-cupy"):
        from catad.engine.cuda.device import GPU

        if chosen == "fake-cupy":
            from .fake_cupy import fake

            sys.modules["cupy"] = fake
        import cupy

        Program.__call__ = on_arrays_of(cupy, Program.__call__, GPU.synchronize)  # which raises what kernels have noted
    else:
        Program.__call__ = on_arrays_of(strict, Program.__call__)


GOLDEN = 0.6180339887498949  # whose multiples fall evenly between whole numbers, in steps of any length


def _thin(config, items):
    """Of a table of cases marked `quick(n)`, n that are spread evenly over it and over each of its parameters."""
    tables = {}
    for item in items:
        if item.get_closest_marker("quick"):
            tables.setdefault((item.path, item.cls, item.originalname), []).append(item)
    left = set()
    for table in tables.values():
        n = table[0].get_closest_marker("quick").args[0]
        kept = set(sorted(range(len(table)), key=lambda k: k * GOLDEN % 1)[:n])
        left.update(item for k, item in enumerate(table) if k not in kept)
    if left:
        config.hook.pytest_deselected(items=[item for item in items if item in left])
        items[:] = [item for item in items if item not in left]


def pytest_collection_finish(session):
    """Collecting garbage looks at the objects of the run, not at the tests themselves."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(autouse=True)
def _engines_of_one_test():
    """An engine that a test registers, an example in a docstring too, is known to that test alone."""
    choice = sys.modules.get("catad.engine.choice")
    if choice is None:
        yield
        return
    engines = dict(choice._engines)
    yield
    choice._engines.clear()
    choice._engines.update(engines)


@pytest.fixture(autouse=True)
def _left_as_found():
    """A test that leaves something behind fails itself, and not another one later."""
    before = left_behind.state()
    yield
    left = left_behind.changed(before, left_behind.state())
    assert not left, "the test left something behind: " + "; ".join(left)


FULL = ("scalar", "drawn", "docs", "examples")  # what is about compiled code, or shows what users meet


@pytest.fixture(autouse=True)
def _large_arrays_compile():
    """Programs on some thousand numbers, or with loops of as many steps, compile at their first call, as if numbers were slow."""
    program = sys.modules.get("catad.engine.program")
    if program is not None:
        program.NUMBER = 1.5e-6
    yield


@pytest.fixture(autouse=True)
def _quick_code(request):
    """Outside of `FULL` folders, and of files marked `full_code`, named engines compile quick code; not with --slow."""
    tiers = sys.modules.get("catad.engine.cpu.run.tiers")
    is_full = request.path.parent.name in FULL or request.node.get_closest_marker("full_code")
    if tiers is None or request.config.option.slow or "CATAD_ENGINE" in os.environ or is_full:
        yield
        return
    before = tiers.is_wanted, tiers.RUNS
    tiers.is_wanted, tiers.RUNS = (lambda: not tiers.profile.active()), sys.maxsize
    yield
    tiers.is_wanted, tiers.RUNS = before


@pytest.fixture
def process_settings():
    """What a script sets for a process of its own, such as the environment and the number of threads, is put back."""
    before = left_behind.state()
    yield
    left_behind.put_back(before)


@pytest.fixture
def interruptible():
    """Ctrl-C interrupts, also where the shell has told its children to ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module", autouse=True)
def _programs_of_one_file():
    """No file finds the programs of another; what is left of one does not slow down collecting garbage in the next."""
    global _files
    yield
    if "catad.category.cache" in sys.modules:
        sys.modules["catad.category.cache"].forget()
    _files += 1
    if _files % 8 == 0:  # each time takes some tenths of a second
        gc.collect()
        gc.freeze()


_files = 0


def _ordered(order, items):
    """Files in another order; the tests of a file stay together, in theirs."""
    files = list(dict.fromkeys([item.path for item in items]))
    if order == "reversed":
        files.reverse()
    elif order != "sorted":
        random.Random(int(order)).shuffle(files)
    place = {path: k for k, path in enumerate(files)}
    items.sort(key=lambda item: place[item.path])


def pytest_collection_modifyitems(config, items):
    """Tests marked `slow` run with --slow, `gpu` where CuPy finds a GPU; `numpy_only` ones, which call NumPy, on its arrays."""
    _ordered(config.getoption("--files"), items)
    if not config.getoption("--slow"):
        for item in items:
            if "slow" in item.keywords:
                item.add_marker(pytest.mark.skip(reason="takes minutes: run with --slow"))
        _thin(config, items)
    if config.getoption("--arrays") != "numpy":
        for item in items:
            if "numpy_only" in item.keywords or item.path.parent.name == "engine":  # other arrays are not compiled for
                item.add_marker(pytest.mark.skip(reason="calls NumPy itself"))
    try:
        import cupy

        there = not hasattr(cupy, "reads") and cupy.is_available()  # the fake one counts reads, and is no GPU
    except ImportError:
        there = False
    if not there:
        for item in items:
            if "gpu" in item.keywords:
                item.add_marker(pytest.mark.skip(reason="CuPy finds no GPU here"))

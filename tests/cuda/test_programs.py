"""The programs of the tests of the CPU engine, and those of the corpus, through the emulator from end to end.

`python -m tests.cuda.test_programs` runs all of them and lists what has no kernel.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catad as ct
from catad.category.spaces import flatten
from catad.engine.cuda import steps
from catad.errors import notices

from ..corpus import points as corpus
from ..engine.cpu_support import assert_near
from ..engine.test_cpu_programs import PROGRAMS, arrays
from ..engine.test_whole_bins import LOOPS as BIN_LOOPS
from ..engine.test_whole_loops import TERMS, WRITTEN
from .support import emulated

MOST = 10_000  # numbers of an argument


def _cases() -> dict[str, tuple[Any, tuple[Any, ...]]]:
    found: dict[str, tuple[Any, tuple[Any, ...]]] = {}
    for name, f in PROGRAMS.items():
        for k, x in enumerate(arrays(67)):
            found[f"{name}, {k}"] = (f, (x,))
    for name, (term, given) in TERMS.items():
        found[f"loop: {name}"] = (term, given)
    for name, (fn, given) in {**WRITTEN, **BIN_LOOPS}.items():
        found[f"written: {name}"] = (ct.function(fn), given)
    for name, program in corpus.PROGRAMS.items():
        found[f"corpus: {name}"] = (ct.function(program.fn), program.args)
    return {name: case for name, case in found.items() if sum(np.size(leaf) for leaf in _leaves(case[1])) <= MOST}


def _leaves(x: Any) -> list[Any]:
    if isinstance(x, dict):
        x = tuple(x.values())
    return [leaf for part in x for leaf in _leaves(part)] if isinstance(x, (tuple, list)) else [x]


CASES = _cases()


def compare(name: str, seed: int = 0) -> int:
    """Runs a program on the array code and on the emulator; how many kernels ran."""
    f, x = CASES[name]
    copies = [_copied(x) for _ in range(2)]
    with np.errstate(all="ignore"), ct.use_engine("reference"):
        try:
            want = _result(f, copies[0])
        except ct.CatadError as error:
            want = error
    engine = emulated(seed)
    with np.errstate(all="ignore"), ct.use_engine("emulated gpu"):
        if isinstance(want, ct.CatadError):
            with pytest.raises(type(want)):
                _result(f, copies[1])
        else:
            got = _result(f, copies[1])
            assert_near(got, want, eps=4096, note=(name, seed))
    return len(engine.device.launched)


def _copied(x: Any) -> Any:
    if isinstance(x, dict):
        return {key: _copied(part) for key, part in x.items()}
    if isinstance(x, (tuple, list)):
        return type(x)([_copied(part) for part in x])
    return np.array(x) if isinstance(x, np.ndarray) else x


def _result(f: Callable[..., Any], x: Any) -> list[Any]:
    made = f(*x)
    return [np.asarray(leaf) for leaf in _leaves(flatten(made) if isinstance(made, tuple) else made)]


@pytest.mark.filterwarnings("ignore::catad.CatadNotice")
@pytest.mark.quick(16)
@pytest.mark.parametrize("name", CASES)
def test_a_program_of_the_cpu_engine(name: str) -> None:
    compare(name)


def report() -> None:
    """Prints what has no kernel, boxes whose array code runs, and programs that differ."""
    kernels, missing, plain, failed = 0, Counter[str](), Counter[str](), list[str]()
    real = steps.kernels_of

    def noted(device: Any, primitive: Any, *rest: Any) -> Any:
        made = real(device, primitive, *rest)
        if made is None:
            plain[type(primitive).__name__] += 1
        return made

    steps.kernels_of = noted
    for name in CASES:
        notices.forget()
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            try:
                kernels += compare(name)
            except Exception as error:  # the list goes on
                failed.append(f"{name}: {type(error).__name__}: {str(error).strip().splitlines()[0]}")
        for one in seen:
            if one.category is ct.CatadNotice:
                missing[str(one.message).splitlines()[0]] += 1
    print(f"{len(CASES)} programs, {kernels} kernels run")
    for what, count in missing.most_common():
        print(f"no kernel, in {count} programs: {what}")
    print("boxes whose array code ran:", ", ".join([f"{what} ({count})" for what, count in plain.most_common()]))
    for one in failed:
        print("differs:", one)


if __name__ == "__main__":
    report()

"""Other names for NumPy's functions: the namespace of stand-ins by the array API standard, and CuPy's functions."""

from __future__ import annotations

import sys
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from catad.traced.inlining import call
from catad.traced.names.special import MEANINGS
from catad.traced.recorder import Trace, the_trace
from catad.traced.table import PYTHON, of_package


class Namespace:
    """NumPy's functions, with their meaning for stand-ins also where they ask nobody, as `zeros`."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        self.__name__ = module.__name__

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        if isinstance(found, ModuleType):
            return Namespace(found)
        if isinstance(found, type) or not callable(found):
            return found

        def function(*args: Any, **kwargs: Any) -> Any:
            return _caller.call(found, *args, **kwargs)

        function.__name__ = name
        return function

    def __dir__(self) -> list[str]:
        return dir(self._module)


class Caller:
    """A driver for code that is not rewritten: it knows the functions of the tables, and follows no others."""

    package = ""

    @property
    def trace(self) -> Trace:
        """The trace that runs."""
        return the_trace()

    def call(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        """Call a function by its meaning."""
        if isinstance(function, FunctionType) and not hasattr(function, "__wrapped__"):
            known = PYTHON.get(function)
            return function(*args, **kwargs) if known is None else known(self, *args, **kwargs)
        return call(self, function, args, kwargs)  # type: ignore[arg-type]


_caller = Caller()


def enter_namespace(module: Any, numpy: Any = np) -> None:
    """Let the functions of a library that has NumPy's names mean what NumPy's mean."""
    for name in dir(numpy):
        if name.startswith("_"):
            continue
        found, own = getattr(numpy, name), getattr(module, name, None)
        if own is None or own is found or isinstance(found, (type, ModuleType)) or not callable(found):
            continue
        PYTHON[own] = lambda driver, *args, _found=found, **kwargs: driver.call(_found, *args, **kwargs)


@of_package("cupy")
def enter_cupy() -> None:
    """CuPy's functions, entered when the first of them is called."""
    cupy: Any = sys.modules["cupy"]
    enter_namespace(cupy)
    enter_namespace(cupy.linalg, np.linalg)
    PYTHON[cupy.get_array_module] = lambda driver, *args: cupy
    PYTHON[cupy.asnumpy] = lambda driver, a, *args, **kwargs: driver.call(np.asarray, a)


@of_package("cupyx")
def enter_cupyx() -> None:
    """What `cupyx.scipy.special` has of SciPy's functions."""
    special: Any = sys.modules.get("cupyx.scipy.special")
    for name, made in MEANINGS.items():
        function = getattr(special, name, None)
        if function is not None:
            PYTHON[function] = lambda driver, *args, _made=made, **kwargs: _made(driver.trace, *args, **kwargs)

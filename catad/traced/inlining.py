"""Calls of a traced function.

Functions of NumPy, of `math` and of Python have a meaning for stand-ins. Plain functions of the user are followed: they are
rewritten as the traced function itself is. Everything else is called as it is.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import BuiltinMethodType, FunctionType, MethodDescriptorType, MethodType, WrapperDescriptorType
from typing import TYPE_CHECKING, Any

import numpy as np

from catad import errors
from catad.category.terms import D
from catad.traced.arrays import layout
from catad.traced.arrays.masked import Masked
from catad.traced.arrays.naming import captured
from catad.traced.arrays.operators import direct
from catad.traced.arrays.protocols import called, universal, unknown
from catad.traced.arrays.ragged import Ragged
from catad.traced.arrays.stand_in import Traced, stand_in_of
from catad.traced.rewriting.rewrite import rewritten
from catad.traced.rewriting.unbound_locals import settled
from catad.traced.table import FUNCTIONS, INSTANCES, PYTHON, SHARING, enter_package, has_hint
from catad.values.complex_numbers import ComplexPair, is_complex
from catad.values.formats import is_known
from catad.values.frozen_functions import written_by_user

if TYPE_CHECKING:
    from catad.traced.trace import Driver

_METHODS = """append extend insert pop remove clear sort reverse update setdefault add discard popitem __setitem__ __delitem__
    appendleft popleft extendleft rotate subtract move_to_end"""
_CHANGING = frozenset(_METHODS.split())  # of lists, dictionaries, sets and queues
_KEEP_FUNCTIONS = frozenset(
    ("catad", "builtins", "functools", "inspect", "contextlib", "typing", "dataclasses", "types", "copy", "abc", "enum",
     "weakref")
)


def call(driver: Driver, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`function(*args, **kwargs)`."""
    if type(function) is np.ufunc:
        made = None if kwargs else direct(driver.trace, function, args)
        if made is not None:
            return made
        if any_traced((args, kwargs)):
            return universal(driver.trace, function, "__call__", args, kwargs)
        return _plain(driver, function, args, kwargs)
    function = settled(function)
    if isinstance(function, functools.partial):
        return call(driver, function.func, (*function.args, *args), {**function.keywords, **kwargs})
    known = _known(function)
    if known is not None:
        return known(driver, *args, **kwargs)
    if isinstance(function, MethodType):
        owner = function.__self__
        if isinstance(owner, (Traced, Masked, Ragged, ComplexPair, D)):
            return function(*args, **kwargs)
        if isinstance(function.__func__, FunctionType) and follows(function.__func__, driver.package):
            return _follow(driver, function.__func__, (owner, *args), kwargs)
    elif isinstance(function, BuiltinMethodType):
        return _builtin_method(driver, function, args, kwargs)
    elif isinstance(function, FunctionType):
        if follows(function, driver.package):
            return _follow(driver, function, args, kwargs)
    elif isinstance(function, type):
        return _constructed(driver, function, args, kwargs)
    elif isinstance(function, (MethodDescriptorType, WrapperDescriptorType)) and function.__name__ in _CHANGING:
        driver.changes_python()
    elif type(function) in INSTANCES:
        return INSTANCES[type(function)](driver, function, *args, **kwargs)
    elif hasattr(function, "__wrapped__") and isinstance(function, functools._lru_cache_wrapper):
        return call(driver, function.__wrapped__, args, kwargs)
    elif not isinstance(function, D):
        method = vars(type(function)).get("__call__")
        if isinstance(method, FunctionType) and follows(method, driver.package):
            return _follow(driver, method, (function, *args), kwargs)
    return _plain(driver, function, args, kwargs)


def _known(function: Any) -> Callable[..., Any] | None:
    """The meaning of a builtin, or of a function that does not ask its arguments."""
    try:
        found: Callable[..., Any] | None = PYTHON.get(function)
        if found is None and enter_package(function):
            found = PYTHON.get(function)
    except TypeError:
        return None
    return found


def follows(function: FunctionType, package: str) -> bool:
    """True for functions of the user, of the package of the function that is traced, and of modules of catad with `IS_TRACED`."""
    name = str(function.__globals__.get("__name__", "")).partition(".")[0]
    if name == "catad":
        return bool(function.__globals__.get("IS_TRACED", False))
    if function.__code__.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        return False
    return name == package or written_by_user(function.__globals__)


def _follow(driver: Driver, function: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    driver.trace.captured.update(captured(function))
    copy = rewritten(function, driver)
    with driver.trace.calling(function.__qualname__.rpartition("<locals>.")[2].removesuffix(".__call__")):
        return (function if copy is None else copy)(*args, **kwargs)


def followed(driver: Driver, function: Any) -> Any:
    """A function that is given to code that is not followed, and called there: rewritten, if it would be followed."""
    if not isinstance(function, FunctionType) or not follows(function, driver.package):
        return function
    driver.trace.captured.update(captured(function))
    copy = rewritten(function, driver)
    return function if copy is None else copy


def _constructed(driver: Driver, kind: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """An object of a class; an `__init__` that the user wrote is followed."""
    init = kind.__init__
    plain: Any = object.__new__
    if kind.__new__ is plain and type(kind) is type and isinstance(init, FunctionType) and follows(init, driver.package):
        made = driver.new(plain(kind))
        _follow(driver, init, (made, *args), kwargs)
        return made
    made = _plain(driver, kind, args, kwargs)
    return driver.new(made) if kind in (list, dict, set) or (kind.__new__ is plain and type(made) is kind) else made


def _builtin_method(driver: Driver, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    owner = function.__self__
    if function.__name__ in _CHANGING:
        outputs = getattr(driver.trace.region.loop, "outputs", None)
        if outputs is not None and function.__name__ == "append" and len(args) == 1 and outputs.append(owner, args[0]):
            return None
        driver.changes_python(owner)
    if hasattr(type(owner), "__next__"):
        driver.used(owner)
    if isinstance(owner, list) and "key" in kwargs:
        kwargs = {**kwargs, "key": followed(driver, kwargs["key"])}
    if isinstance(owner, (np.random.Generator, np.random.RandomState)):
        raise errors.TraceError(errors.random_numbers())
    if isinstance(owner, np.ufunc) and any_traced((args, kwargs)):
        return universal(driver.trace, owner, function.__name__, args, kwargs)
    if isinstance(owner, np.ndarray) and any_traced((args, kwargs)):
        return getattr(stand_in_of(driver.trace, owner), function.__name__)(*args, **kwargs)
    return _plain(driver, function, args, kwargs)


def _plain(driver: Driver, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The call as it is. An array that comes out is a constant, which can be written into if it is new."""
    module = getattr(function, "__module__", None) or getattr(getattr(function, "__self__", None), "__module__", "") or ""
    if str(module).partition(".")[0] in ("random",) or str(module).startswith("numpy.random"):
        raise errors.TraceError(errors.random_numbers())
    is_known = True
    if str(module).partition(".")[0] == "numpy" and any_traced((args, kwargs)):
        known = FUNCTIONS.get(function)
        if known is not None and (function in SHARING or "out" in kwargs or not _all_constant((args, kwargs))):
            return called(known, driver.trace, function.__name__, args, kwargs)
        is_known = all(map(layout.is_known, layout.arrays_in((args, kwargs))))
        args = tuple([array_of_constant(arg) for arg in args])
        kwargs = {key: array_of_constant(arg) for key, arg in kwargs.items()}
    if str(module).partition(".")[0] not in _KEEP_FUNCTIONS and (type(function) is not type or module == "itertools"):
        args = tuple([followed(driver, arg) for arg in args])
        kwargs = {key: followed(driver, arg) for key, arg in kwargs.items()}
    if str(module).startswith("scipy.") and any_traced((args, kwargs)):
        made = _of_scipy(function, str(module), args, kwargs)
    else:
        made = function(*args, **kwargs)
    made = wrapped(driver, made, (*args, *kwargs.values()), getattr(function, "__name__", "a call"))
    for one in () if is_known else layout.arrays_in(made):
        layout.forget(one)
    return made


def _of_scipy(function: Any, module: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function of SciPy without a meaning: some are functions of NumPy alone, others are an error that names them."""
    name = ".".join([*module.split(".")[:2], getattr(function, "__name__", "")])
    if has_hint(name) and not _all_constant((args, kwargs)):
        raise unknown(name)
    try:
        return function(*args, **kwargs)
    except errors.TraceError as error:
        raise unknown(name) from error


def wrapped(driver: Driver, made: Any, args: tuple[Any, ...], what: str) -> Any:
    """An array that a call gave, as a stand-in; one that shows memory from outside cannot be written into."""
    if type(made) is tuple and any(type(part) is np.ndarray for part in made):
        return tuple([wrapped(driver, part, args, what) for part in made])
    if type(made) is list and made and all(type(part) is np.ndarray for part in made):
        return [wrapped(driver, part, args, what) for part in made]
    if type(made) is not np.ndarray or not (is_known(made.dtype) or is_complex(made)):
        return made
    new = made.base is None and not any(made is arg for arg in args)
    shows = any(isinstance(arg, np.ndarray) and np.may_share_memory(arg, made) for arg in args)
    origin = None if new and not shows else f"an array that {what} gave"
    return stand_in_of(driver.trace, made, origin)


def array_of_constant(arg: Any) -> Any:
    """A constant that nobody outside can reach is computed with at once."""
    if isinstance(arg, ComplexPair):
        return _complex_constant(arg)
    if isinstance(arg, Traced) and arg.owner_.open:
        constant_ = arg.constant
        if constant_ is None:
            return arg
        return constant_.item() if arg.var_.weak else layout.laid_out(constant_, arg)
    if type(arg) in (list, tuple) and any_traced(arg):
        return type(arg)([array_of_constant(part) for part in arg])
    return arg


def _complex_constant(z: Any) -> Any:
    found = z.constant if z.owner_.open else None
    return z if found is None else found.item() if z.python_type else found if z.ndim else found[()]


def any_traced(value: Any) -> bool:
    """True for a stand-in, and for what has one in it."""
    if isinstance(value, (list, tuple)):
        return any(any_traced(part) for part in value)
    if isinstance(value, dict):
        return any(any_traced(part) for part in value.values())
    return isinstance(value, (Traced, Masked, Ragged, ComplexPair))


def _all_constant(value: Any) -> bool:
    stand_ins = [part for part in layout.parts_in(value) if isinstance(part, (Traced, Masked, Ragged, ComplexPair))]
    return all(isinstance(part, (Traced, ComplexPair)) and part.constant is not None for part in stand_ins)

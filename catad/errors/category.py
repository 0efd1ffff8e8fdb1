"""Messages about spaces, values, terms, wirings and morphisms by hand."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from types import FunctionType
from typing import Any

from catad.errors.base import CatadError, SpaceError, abbreviated, about, defined, text
from catad.errors.places import Place, is_ours, raised_in, shown, written


def unknown_dtype(dtype: object) -> str:
    kind = getattr(dtype, "kind", "")
    return text(
        "a space holds float32, float64, bool or integers",
        given=dtype,
        do="give the real and the imaginary part as two arrays, x.real and x.imag"
        if kind == "c"
        else "convert the array, e.g. x.astype(np.float64)",
    )


def too_many_axes(given: int, most: int) -> str:
    return text(
        f"an array cannot have {given} axes",
        given=f"{given} axes; each batch (`ct.map`), and each loop whose coefficients are kept, adds one",
        expected=f"at most {most}, as NumPy's arrays have",
        do="nest fewer batches and loops in each other; a loop within `ct.checkpoint` keeps no coefficients",
    )


def negative_size(shape: object) -> str:
    return text("the sizes of a tensor are at least 0", given=f"shape {shape}")


def not_a_space(thing: object) -> str:
    return text(
        "a space is a Tensor, a product of spaces or ct.Unit",
        given=abbreviated(thing),
        do="write e.g. ct.f64[3], or ct.space_of(value)",
    )


_CONVERSIONS = {  # by the package and the name of a class, or by the package only
    "numpy.MaskedArray": "a mask has no meaning here: x.filled(value), or x.compressed()",
    "numpy.matrix": "np.asarray(x); its `*` is then elementwise, and the product of matrices is ct.matmul",
    "numpy.ndarray": "np.asarray(x), if only its numbers are meant",
    "pandas": "x.to_numpy(); labels are then not aligned",
    "polars": "x.to_numpy()",
    "xarray": 'x.data; coordinates are then not aligned. xr.apply_ufunc(f, x, dask="allowed") keeps them',
    "xarray.Dataset": "one of its arrays, x[name].data",
    "torch": "x.numpy(force=True); PyTorch then records no gradient",
    "tensorflow": "x.numpy()",
    "jax": "np.asarray(x), outside of what JAX traces",
    "jaxlib": "np.asarray(x)",
    "dask": "x.compute()",
    "scipy": "x.toarray()",
    "cupyx": "x.toarray()",
    "catad.Tensor": "give an array of that space, e.g. np.zeros(shape)",
    "catad.Product": "give a tuple of arrays of these spaces, e.g. np.zeros(shape)",
    "catad": "apply it to a value first, f(x)",
    "builtins.set": "np.array(sorted(x)), or a list of arrays",
    "builtins.generator": "a list of what it yields, list(x)",
    "builtins.list": "np.asarray(x) for one array, tuple(x) for a product of several",
    "catad.Complex": "give z.real and z.imag to a morphism of two arrays, or write it with NumPy's functions",
    "builtins.complex": "give the real and the imaginary part as two numbers, or write a Python function for ct.function",
}


def complex_for_reals(term: object) -> str:
    return text(
        f"{abbreviated(term)} takes real arrays",
        given="a complex array",
        do="give its parts, which z.real and z.imag are, or write a Python function for ct.function with NumPy's functions",
    )


_CONVERT = "convert it, e.g. np.asarray(x) (the parts of a product form a tuple)"
_OBJECT = "a function takes objects with arrays in them as dataclasses and named tuples, and others as ct.function(static=...)"


def not_a_value(thing: object) -> str:
    kind = type(thing)
    names = [(each.__module__.partition(".")[0], each.__name__) for each in kind.__mro__]
    known = [_CONVERSIONS.get(f"{package}.{name}") or _CONVERSIONS.get(package) for package, name in names]
    shown = " ".join(abbreviated(thing).split())
    return text(
        "a value is an array, a number or a tuple of values",
        given=f"{shown} of type {kind.__name__}",
        expected="a plain array of NumPy or CuPy",
        do=next(filter(None, known), _CONVERT if kind.__module__ == "builtins" else f"{_CONVERT}; {_OBJECT}"),
    )


def no_such_operation_on_truth(name: str, wire: Any) -> str:
    return text(
        f"{name} is not defined on truth values, as in NumPy",
        given=f"a value of {wire.space}",
        do="compare them (a != b), or convert them first, ct.astype(np.int64)(x)",
    )


def no_such_casting(casting: object) -> str:
    return text(
        "there is no such way of casting",
        given=f"ct.astype(dtype, casting={casting!r})",
        expected="'unsafe', which converts every number, or 'same_value', which refuses integers that the dtype does not hold",
    )


def not_integers_to_integers(own: object, dtype: object) -> str:
    return text(
        "casting='same_value' converts integers to integers",
        given=f"{own} to {dtype}",
        expected="an integer or bool dtype, and an integer dtype",
        do="write ct.astype(dtype), or round first",
        where="ct.astype",
    )


def number_out_of_range(number: object, dtype: object) -> str:
    return text(
        f"a number does not fit the dtype that it takes here, {dtype}",
        given=abbreviated(number, 60),
        expected="a number of that dtype; a Python number takes the dtype of the arrays beside it, else int64 or float64",
        do="give a wider dtype to it, e.g. np.int64(x), or to the arrays beside it, or write a Python number as float(x)",
    )


def mixed_devices(first: str, i: int, second: str, j: int) -> str:
    move = "move one of them, e.g. cupy.asarray(x) or cupy.asnumpy(x)"
    chunks = "da.from_array(x, chunks=...) of what is not in chunks; the chunks of one call are arrays of one library"
    return text(
        "arrays of two array libraries met in one call",
        given=f"leaf {i} is a {first} array, leaf {j} a {second} array",
        expected="all arrays from one library",
        do=chunks if "dask.array" in (first, second) else move,
    )


def two_devices(first: object, i: int, second: object, j: int) -> str:
    return text(
        "arrays of two GPUs met in one call",
        given=f"leaf {i} is on device {first}, leaf {j} on device {second}",
        expected="all arrays on one device",
        do="copy one of them, `with cupy.cuda.Device(n): y = cupy.array(x)`",
    )


def too_deep(what: str) -> str:
    return text(
        f"Python's recursion limit was reached while a morphism was {what}",
        given="morphisms that are nested too deep in each other, or a function of yours that calls itself too often",
        expected="at most a few hundred loops or batches within each other; checkpoints and chains may be nested to any depth",
        do="nest fewer loops, or write them as one; the error above this one shows the calls",
    )


def not_a_morphism(who: str, thing: object) -> str:
    return text(
        f"{who} takes morphisms",
        given=described(thing),
        expected="a function, or a morphism such as ct.sin or ct.map(fn)",
        do=_as_a_morphism(thing),
    )


def described(thing: object) -> str:
    """A thing that is in the wrong place, and its type."""
    if isinstance(thing, FunctionType):
        public = public_name(thing)
        return f"the function {public or thing.__qualname__}" + ("" if public else f" of {thing.__module__}")
    if type(thing).__module__ == "catad.category.spaces":
        return f"the space {abbreviated(thing)}"
    shape = getattr(thing, "shape", None)
    if isinstance(shape, tuple) and hasattr(thing, "dtype") and not callable(thing):
        return f"an array of shape {shape} and dtype {thing.dtype}"
    return f"{abbreviated(thing)} of type {type(thing).__name__}"


def public_name(thing: object) -> str | None:
    """`ct.sum` for that function of this library; None for what is no public function of it."""
    if not isinstance(thing, FunctionType) or not str(thing.__module__).startswith("catad.") or thing.__name__.startswith("_"):
        return None
    if not is_ours(thing.__code__.co_filename):
        return None  # it was typed at a prompt that has the name of a module of this library
    inside = ".linear" if thing.__module__ == "catad.linear.constructors" else ""
    return f"ct{inside}.{thing.__name__}"


def _as_a_morphism(thing: object) -> str:
    """Advice: the text to write for a thing where a morphism is expected."""
    public = public_name(thing)
    if public is not None:
        parameters = inspect.signature(thing).parameters.values()  # type: ignore[arg-type]
        needed = [p.name for p in parameters if p.default is p.empty]
        return f"call it: {public}({', '.join(needed)})"
    if hasattr(thing, "structure") and hasattr(thing, "slots"):
        return "a linear map L is the morphism ct.lift(L)"
    if isinstance(thing, type):
        return "write a function that makes such an object and returns arrays"
    if hasattr(thing, "dtype") or isinstance(thing, (bool, int, float, tuple)):
        return "give the function itself, and its arguments in the call after it: ct.grad(f)(x); a constant is ct.const(v)"
    return "wrap a scalar function in ct.map(fn), a constant in ct.const(v), a linear map in ct.lift(L)"


def applied_to_morphisms(f: object, args: object) -> str:
    parts = args if isinstance(args, tuple) else (args,)
    shown_ = ", ".join([abbreviated(part, 40) for part in parts])
    composed = ", ".join([abbreviated(part, 40) if callable(part) else f"ct.const({abbreviated(part, 30)})" for part in parts])
    left = composed if len(parts) == 1 else f"ct.fork({composed})"
    return text(
        "a morphism is applied to values, and composed with morphisms",
        given=f"{abbreviated(f, 60)}({shown_})",
        expected="arrays, numbers, or tuples of them",
        do=f"to compose write {left} >> {abbreviated(f, 60)}",
    )


def not_an_operand(symbol: str, thing: object) -> str:
    return text(
        f"{symbol} takes morphisms and real numbers",
        given=described(thing),
        expected=f"e.g. ct.sin {symbol} ct.cos, or ct.sin {symbol} 2.0",
        do=f"for an array a write ct.fork(f, ct.const(a)) >> ct.{_WORDS[symbol]}"
        if hasattr(thing, "dtype") and not callable(thing)
        else _as_a_morphism(thing),
    )


_WORDS = {"+": "add", "-": "sub", "/": "div", "**": "pow"}


def scaled_on_the_right(thing: object) -> str:
    return text(
        "f * g is the product of two morphisms, (x, y) to (f(x), g(y))",
        given=f"{described(thing)} on the right",
        do="to scale the result write the number on the left, 2.0 * f; to multiply results ct.fork(f, g) >> ct.mul",
    )


def not_a_factor(number: object) -> str:
    return text(
        "a morphism is scaled by a real number on the left",
        given=f"{abbreviated(number)} of type {type(number).__name__}",
        do="for an array write ct.fork(f, ct.const(a)) >> ct.mul",
    )


def matmul_of_morphisms(f: object, g: object) -> str:
    return text(
        "@ multiplies linear maps and is not defined on morphisms: it could be read in two ways",
        given=f"{abbreviated(f, 60)} @ {abbreviated(g, 60)}",
        do="write f << g or g >> f to compose (first g, then f), or ct.fork(f, g) >> ct.matmul for the product of the results",
    )


def no_arguments(f: object) -> str:
    return about(f, "a morphism is applied to a point", "no argument", do="f(x); a morphism from ct.Unit takes f(())")


def spaces_do_not_meet(cod: object, dom: object, first: object, second: object) -> str:
    return text(
        "spaces do not meet",
        given=f"{abbreviated(first, 80)} gives {cod}",
        expected=f"{abbreviated(second, 80)} takes {dom}",
        do="put a morphism between the two, or replace one of them",
    )


def locate(error: CatadError, box: object, before: object | None, composed: Place | None, right: bool = False) -> None:
    """Name the two boxes that meet where an error arose, and the line that made them meet; the innermost place is kept."""
    if error.composed is None:
        error.composed = shown(composed, right)
        made_at(error, box)
    if error.located or not error.args or not isinstance(error, SpaceError):
        return
    error.located = True
    place = abbreviated(box, 80) if before is None else f"{abbreviated(before, 60)} >> {abbreviated(box, 60)}"
    lines = [line for line in str(error.args[0]).split("\n") if line != f"  where:    {abbreviated(box)}"]
    last = next((k for k, line in enumerate(lines) if line.startswith(("  do:  ", "  note:  "))), len(lines))
    error.args = ("\n".join([*lines[:last], f"  where:    {place}", *lines[last:]]), *error.args[1:])


def made_at(error: CatadError, box: object) -> None:
    """Note where a constructor made the box in which an error arose, where that is another line; the innermost place is kept."""
    made = None if getattr(box, "children", ()) else shown(getattr(box, "_place", None))
    if error.made is None and made not in (error.composed, error.called):
        error.made = made


def hint_precedence(error: CatadError) -> None:
    """Add that `&` binds looser than `>>`, once."""
    if error.hinted or not error.args:
        return
    error.hinted = True
    hint = "`&` binds looser than `>>`: `f & g >> h` means `f & (g >> h)`; write (f & g) >> h or ct.fork(f, g) >> h"
    error.args = (f"{error.args[0]}\n  note:     {hint}", *error.args[1:])


def not_a_product_of(count: int, space: object, term: object) -> str:
    return text(
        f"the argument is not a product of {count} factors",
        given=space,
        expected=f"a product of {count} factors",
        where=abbreviated(term),
        do="ct.fork(...) makes a product; f(x, y) is f((x, y))",
    )


def not_a_pattern(pattern: str, space: object, term: object) -> str:
    return about(term, "the argument does not have the right nesting", space, expected=f"a value {pattern}")


def no_such_factor(index: int, space: object, term: object) -> str:
    return about(term, f"there is no factor {index}", space, do="factors are counted from 0")


def wrong_leaf_count(count: int, space: object, term: object) -> str:
    return about(term, f"wrong number of arguments: {count} expected", space, expected=f"{count} arrays")


def wrong_parameter_count(count: int, given: int, space: object, fn: object) -> str:
    return text(
        f"the function takes {count} parameter{'' if count == 1 else 's'}",
        given=f"{given} factors" if space is None else space,
        expected="one array" if count == 1 else f"a product of {count} factors",
        where=defined(fn),
        do="give one factor for each parameter: ct.fork(f, g) >> ct.map(fn)",
    )


def wrong_index_count(count: int, axes: int, fn: object) -> str:
    return text(
        "the function of ct.generate takes one index for each axis of the shape",
        given=f"{count} parameter{'' if count == 1 else 's'}, for a shape of {axes} ax{'i' if axes == 1 else 'e'}s",
        where=defined(fn),
    )


def unequal_spaces(spaces: object, term: object) -> str:
    return about(term, "only values of one space can be combined leaf by leaf", spaces)


def cannot_broadcast(spaces: object, term: object) -> str:
    return about(term, "arrays do not broadcast together", spaces, expected="sizes that are equal or 1")


def wire_has_no_truth(wire: Any) -> str:
    return text(
        "an array has no truth value while its numbers are not computed yet",
        given=f"a value of {wire.space}",
        where="inside a function that ct.D traces",
        do="put the branch into a scalar function: ct.map(lambda x: a if x > 0 else b)",
    )


def no_common_axis(space: object, term: object) -> str:
    return text(
        "mapping a morphism needs one leading axis that all leaves have",
        given=space,
        expected="arrays of one size along their first axis",
        where=abbreviated(term, 80),
        do="give each array that axis; ct.vmap(f, in_axes=(0, None)) maps over some arguments and not over others",
    )


def not_a_function(thing: object, spaces: bool) -> str:
    return text(
        "`spaces` of ct.D is a function" if spaces else "ct.D takes a function from x to (y, linear map)",
        given=described(thing),
        do="e.g. ct.D(fn, spaces=lambda x: (x, ct.scale(np.ones(x.shape))))"
        if spaces
        else "e.g. ct.D(lambda x: (x * x, ct.scale(2 * x)))",
    )


def hand_arity(fn: object, count: int) -> str:
    return text(
        f"ct.D takes a function of one argument, and this one has {count}",
        given=defined(fn),
        expected="one parameter, which is a tuple where the domain is a product",
        do="write lambda p: ... and unpack p, x, y = p",
    )


def not_a_value_and_map(fn: object, result: object) -> str:
    space = getattr(result, "space", None)
    return text(
        "a morphism by hand returns a pair (y, linear map)",
        given=described(result) if space is None else f"an array alone, of {space}",
        where=defined(fn),
        do="return (y, ct.scale(...)) or another ct.LinearMap",
    )


def wrong_hand_map(linear: object, dom: object, cod: object, fn: object) -> str:
    return text(
        "the linear map of a morphism by hand does not fit its value",
        given=linear,
        expected=f"a map from the tangents of {dom} to those of {cod}",
        where=defined(fn),
    )


def opaque_changed(fn: object, first: tuple[Iterable[object], Any], now: tuple[Iterable[object], Any]) -> str:
    """`first` and `now` are the spaces of the value and the structure of the linear map, in two calls."""
    said, expected = (
        f"{', '.join(map(str, spaces))}; {map_.kind} from {', '.join(map(str, map_.dom))} to {', '.join(map(str, map_.cod))}"
        for spaces, map_ in (now, first)
    )
    return text(
        "an opaque morphism by hand changed its result's space or its linear map's structure between calls",
        given=said,
        expected=expected,
        where=defined(fn),
        do="return maps of one structure at every point; only their numbers may change",
    )


def untraced(fn: object, error: BaseException) -> str:
    file = getattr(getattr(fn, "__code__", None), "co_filename", "")
    where = raised_in(error, file)
    operation = None if where is None else written(where)
    return text(
        "a function given to ct.D cannot be traced, and is called as it is: it has first derivatives only, and is not fused",
        given=f"{defined(fn)}, in which {operation or 'an operation'} takes arrays only",
        where=shown(where),
        do="write it with operations of catad (x * x, ct.exp(x), ct.matmul(a, b)), so that it can be traced; "
        "warnings.filterwarnings('ignore', category=ct.CatadNotice) if that is meant",
    )


def no_point(fn: object) -> str:
    return text(
        "a function given to ct.D cannot be traced, and its result is not known before it is called",
        given=defined(fn),
        expected="a call at a point, which finds the space of its value and the structure of its linear map",
        do="call the morphism at a point first, f(x), say what it returns, ct.D(fn, spaces=...), or write the function with "
        "operations of catad, so that it can be traced",
    )


def not_stated_spaces(fn: object, given: object) -> str:
    return text(
        "`spaces` says what a function given to ct.D returns, without its numbers: (space of y, linear map)",
        given=abbreviated(given),
        expected="a pair of a space and a ct.LinearMap of the structure that the function returns",
        where=defined(fn),
        do="e.g. ct.D(fn, spaces=lambda x: (x, ct.scale(np.ones(x.shape))))",
    )


def opaque_derivative(fn: object) -> str:
    return text(
        "a morphism by hand whose code could not be traced has no second derivative",
        given=defined(fn),
        do="write it with operations of catad (x * x, ct.exp(x)), so that it can be traced",
    )


def mapping_of_no_dict(kind: type, error: Exception) -> str:
    return text(
        "a mapping among the arguments cannot be made of a dict, as its gradient would have to be",
        given=f"a {kind.__name__}: {kind.__name__}(dict) raises {type(error).__name__}, {error}",
        expected="a dict, or a class that takes one",
        do="give dict(x); that of np.load(file) holds the arrays of the file",
    )

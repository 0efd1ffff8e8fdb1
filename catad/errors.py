"""Every error catad raises, and the wording of every message, in one place.

A message has up to five parts, always in this order: what went wrong, what was given, what was expected, where, and
what to do about it. The classes derive from the built-in exception that a NumPy user would expect to catch.
"""

from __future__ import annotations


class CatadError(Exception):
    """Base of all errors of catad; `except ct.CatadError` catches every mistake the library reports."""

    located = False  # whether the message says already which boxes meet there
    hinted = False  # whether it has the note on precedence already


class SpaceError(CatadError, TypeError):
    """Spaces that do not meet, values that do not lie in the expected space, wrong numbers of arguments."""


class ArgumentError(CatadError, ValueError):
    """A parameter outside its allowed values."""


class ScalarError(CatadError, TypeError):
    """A scalar function that cannot be read, or cannot be typed at the given dtypes."""


class MonoidError(CatadError, ValueError):
    """A wrong neutral element, or an operator that is not associative or not closed on its element."""


class DerivativeError(CatadError, TypeError):
    """A derivative that does not exist: of a non-scalar, with respect to integers, of opaque code."""


class IndexRangeError(CatadError, IndexError):
    """An index outside the array it indexes."""


class DenseLimitError(CatadError, ValueError):
    """A linear map too large to be written out as a dense array without being asked twice."""


class PlanError(CatadError, ValueError):
    """A plan, a cost or a size that the planner cannot use."""


class DeviceError(CatadError, TypeError):
    """Arrays of different array libraries (NumPy and CuPy) met in one call."""


class EngineError(CatadError, RuntimeError):
    """An engine that is not there, or failed."""


class LawError(CatadError, AssertionError):
    """A law of the category, of derivatives or of linear maps that does not hold; raised by `catad.testing`."""


def text(
    what: str, *, given: object = None, expected: object = None, where: object = None, do: object = None
) -> str:
    """Lay out a message: one line for each part that is there."""
    lines = [what]
    for label, part in (("given", given), ("expected", expected), ("where", where), ("do", do)):
        if part is not None:
            lines.append(f"  {label + ':':<10}{part}")
    return "\n".join(lines)


def abbreviated(thing: object, width: int = 120) -> str:
    """The repr of a thing, cut in the middle when it is long: messages show boxes, not whole programs."""
    full = repr(thing)
    return full if len(full) <= width else f"{full[: width // 2]} ... {full[-width // 3 :]}"


# -- spaces and values


def unknown_dtype(dtype: object) -> str:
    return text(
        "a space holds float32, float64, bool or integers", given=dtype, do="convert the array, e.g. x.astype(np.float64)"
    )


def negative_size(shape: object) -> str:
    return text("the sizes of a tensor are at least 0", given=f"shape {shape}")


def not_a_space(thing: object) -> str:
    return text(
        "a space is a Tensor, a product of spaces or ct.Unit",
        given=abbreviated(thing),
        do="write e.g. ct.f64[3], or ct.space_of(value)",
    )


def not_a_value(thing: object) -> str:
    return text(
        "a value is an array, a number or a tuple of values",
        given=f"{abbreviated(thing)} of type {type(thing).__name__}",
        do="convert it, e.g. np.asarray(x) (lists are not arrays, and the parts of a product form a tuple)",
    )


def mixed_devices(first: str, i: int, second: str, j: int) -> str:
    return text(
        "arrays of two array libraries met in one call",
        given=f"leaf {i} is a {first} array, leaf {j} a {second} array",
        expected="all arrays from one library",
        do="move one of them, e.g. cupy.asarray(x) or cupy.asnumpy(x)",
    )


# -- terms and wirings


def not_a_morphism(operator: str, thing: object) -> str:
    return text(
        f"{operator} takes morphisms",
        given=f"{abbreviated(thing)} of type {type(thing).__name__}",
        expected="a morphism such as ct.sin or ct.map(fn)",
        do="wrap a scalar function in ct.map(fn), a constant in ct.const(v), a linear map in ct.lift(L)",
    )


def scaled_on_the_right(thing: object) -> str:
    return text(
        "f * g crosses two morphisms",
        given=f"{abbreviated(thing)} of type {type(thing).__name__} on the right",
        do="to scale the result write the number on the left, 2.0 * f",
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
    return text(
        "a morphism is applied to a point",
        given="no argument",
        where=abbreviated(f),
        do="f(x); a morphism from ct.Unit takes f(())",
    )


def spaces_do_not_meet(cod: object, dom: object, first: object, second: object) -> str:
    return text(
        "spaces do not meet",
        given=f"{abbreviated(first, 80)} gives {cod}",
        expected=f"{abbreviated(second, 80)} takes {dom}",
        do="put a map between the two, or exchange one of them",
    )


def locate(error: Exception, box: object, before: object | None) -> None:
    """Name the two boxes that meet where an error arose; the innermost place is kept."""
    if not isinstance(error, CatadError) or error.located or not error.args:
        return
    error.located = True
    place = abbreviated(box, 80) if before is None else f"{abbreviated(before, 60)} >> {abbreviated(box, 60)}"
    error.args = (f"{error.args[0]}\n  where:    {place}", *error.args[1:])


def hint_precedence(error: Exception) -> None:
    """Add that `&` binds looser than `>>`, once."""
    if not isinstance(error, CatadError) or error.hinted or not error.args:
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
    return text(
        "the argument has not the right nesting", given=space, expected=f"a value {pattern}", where=abbreviated(term)
    )


def no_such_factor(index: int, space: object, term: object) -> str:
    return text(f"there is no factor {index}", given=space, where=abbreviated(term), do="factors count from 0")


def bad_projection(index: object) -> str:
    return text("a projection is by a number from 0 on", given=abbreviated(index))


def wrong_leaf_count(count: int, space: object, term: object) -> str:
    return text(
        f"wrong number of arguments: {count} expected", given=space, expected=f"{count} arrays", where=abbreviated(term)
    )


def wrong_parameter_count(count: int, given: int, space: object, term: object) -> str:
    return text(
        f"the function takes {count} parameters",
        given=f"{given} factors" if space is None else space,
        expected=f"a product of {count} factors",
        where=abbreviated(term),
        do="give one factor for each parameter: ct.fork(f, g) >> ct.map(fn)",
    )


def unequal_spaces(spaces: object, term: object) -> str:
    return text("values of one space are combined leaf by leaf", given=spaces, where=abbreviated(term))


def cannot_broadcast(spaces: object, term: object) -> str:
    return text(
        "arrays do not broadcast together", given=spaces, expected="sizes that are equal or 1", where=abbreviated(term)
    )


def wire_has_no_truth(wire: object) -> str:
    return text(
        "a value that is not there yet has no truth value",
        given=wire,
        where="inside a function that ct.D traces",
        do="put the branch into a scalar function: ct.map(lambda x: a if x > 0 else b)",
    )


def no_common_axis(space: object, term: object) -> str:
    return text(
        "mapping a morphism needs one leading axis that all leaves have", given=space, where=abbreviated(term)
    )


# -- morphisms by hand


def not_a_function(thing: object) -> str:
    return text(
        "ct.D takes a function from x to (y, linear map)",
        given=abbreviated(thing),
        do="e.g. ct.D(lambda x: (x * x, ct.scale(2 * x)))",
    )


def not_a_value_and_map(fn: object, result: object) -> str:
    return text(
        "a morphism by hand returns a pair (y, linear map)",
        given=f"{abbreviated(result)} of type {type(result).__name__}",
        where=abbreviated(fn),
        do="return (y, ct.scale(...)) or another ct.LinearMap",
    )


def wrong_hand_map(linear: object, dom: object, cod: object, fn: object) -> str:
    return text(
        "the linear map of a morphism by hand does not fit its value",
        given=linear,
        expected=f"a map from the tangents of {dom} to those of {cod}",
        where=abbreviated(fn),
    )


def opaque_changed(fn: object, first: object, now: object) -> str:
    return text(
        "an opaque morphism by hand changed its result's space or its linear map's structure between calls",
        given=abbreviated(now),
        expected=abbreviated(first),
        where=abbreviated(fn),
        do="return maps of one structure at every point; only their numbers may change",
    )


def opaque_derivative(fn: object) -> str:
    return text(
        "a morphism by hand whose code could not be traced has no second derivative",
        given=abbreviated(fn),
        do="write it with operations of catad (x * x, ct.exp(x)), so that it can be traced",
    )


# -- vector combinators


def not_a_tensor(space: object, term: object) -> str:
    return text("one array is expected, not a product", given=space, where=abbreviated(term))


def bad_axis(axis: object, space: object, term: object) -> str:
    return text(f"there is no such axis: {axis}", given=space, where=abbreviated(term))


def bad_shape(shape: object) -> str:
    return text("sizes are at least 0, and at most one of them is -1", given=shape)


def cannot_reshape(space: object, shape: object, term: object) -> str:
    return text(f"cannot reshape to {shape}", given=space, expected="the same number of entries", where=abbreviated(term))


def cannot_broadcast_to(space: object, shape: object, term: object) -> str:
    return text(f"cannot broadcast to {shape}", given=space, where=abbreviated(term))


def zero_step() -> str:
    return text("a slice has a step other than 0", given="step 0")


def negative_pad(before: int, after: int, space: object, term: object) -> str:
    return text(
        "padding cuts off more than there is", given=f"{before} before and {after} after {space}", where=abbreviated(term)
    )


def cannot_concatenate(spaces: object, axis: int, term: object) -> str:
    return text(
        f"arrays are joined along axis {axis} where all other sizes are equal", given=spaces, where=abbreviated(term)
    )


def nothing_to_join(term: object) -> str:
    return text("at least one array is needed", given="ct.Unit", where=abbreviated(term))


def einsum_sizes(spec: str, spaces: object) -> str:
    return text(f"one label with two sizes in {spec!r}", given=spaces)


def bad_einsum(spec: object, why: str) -> str:
    return text(f"cannot read the subscripts {spec!r}", given=why)


def cannot_multiply(a: object, b: object) -> str:
    return text(
        "matrix sizes do not meet", given=f"{a} @ {b}", expected="the last size of the first = the one before last of the second"
    )


def not_an_index(dtype: object) -> str:
    return text("indices are integers", given=dtype, do="convert them, e.g. indices.astype(np.int64)")


def index_out_of_range(low: object, high: object, size: int) -> str:
    return text(
        "an index is out of range",
        given=f"indices from {low} to {high}",
        expected=f"0 <= index < {size} (negative indices do not wrap)",
        where="ct.gather",
    )


def wrong_index_shape(indices: object, values: object, term: object) -> str:
    return text(
        "there is one index for each value along axis 0", given=f"indices {indices}, values {values}", where=abbreviated(term)
    )


def unequal_rows(dst: object, values: object, term: object) -> str:
    return text(
        "destination and values differ in dtype or in axes after the first", given=f"{dst} and {values}", where=abbreviated(term)
    )


def bad_bins(bins: object) -> str:
    return text("the number of bins is an integer of at least 0", given=abbreviated(bins))


def wrong_elements(space: object, neutral: object, term: object) -> str:
    return text(
        "the elements are not nested as the neutral element is",
        given=space,
        expected=f"arrays of one shape, nested as {neutral}",
        where=abbreviated(term),
    )


def not_closed(op: object, element: object, result: object, do: str) -> str:
    return text(
        "the operator is not closed on its element",
        given=f"{abbreviated(op)} gives {result}",
        expected=f"an element {element}",
        do=do,
    )


def not_a_neutral(op: object, leaf: object) -> str:
    return text(
        "the neutral element is a number or a nested tuple of numbers",
        given=f"{abbreviated(leaf)} of type {type(leaf).__name__}",
        where=abbreviated(op),
    )


def wrong_neutral(op: object, neutral: object, x: object, got: object, side: str) -> str:
    return text(
        "the neutral element is wrong",
        given=f"op({neutral}, x) = {got} at x = {x}" if side == "left" else f"op(x, {neutral}) = {got} at x = {x}",
        expected="x",
        where=abbreviated(op),
        do="give the element e with op(e, x) = x = op(x, e)",
    )


def not_associative(op: object, a: object, b: object, c: object, left: object, right: object) -> str:
    return text(
        "the operator is not associative",
        given=f"a = {a}, b = {b}, c = {c}",
        expected=f"op(op(a, b), c) = {left} equal to op(a, op(b, c)) = {right}",
        where=abbreviated(op),
    )


def wrong_recurrence(a: object, b: object) -> str:
    return text(
        "links and inputs of a recurrence do not fit",
        given=f"A: {a}, b: {b}",
        expected="A of b's shape (elementwise), or b of shape (n, d) and A of shape (n, d, d)",
    )


# -- linear maps


def not_in_domain(space: object, dom: object, linear: object) -> str:
    return text("the argument does not lie in the domain of a linear map", given=space, expected=dom, where=linear)


def sum_of_unequal_spaces(a: object, b: object) -> str:
    return text("linear maps between different spaces are put together", given=f"{a}\n            {b}")


def too_large(rows: int, columns: int, itemsize: int, limit: int) -> str:
    size = rows * columns * itemsize
    return text(
        f"the dense matrix has {rows:,} x {columns:,} = {rows * columns:,} numbers, {size / 2**30:.2f} GiB",
        expected=f"at most {limit:,} numbers",
        do="use the map as it is (L @ v, L.tocsr(), L.as_linear_operator()), or L.todense(force=True)",
    )


def not_a_vector_space(leaf: object) -> str:
    return text("linear maps go between floating spaces", given=leaf, expected="float32 or float64")


def not_a_matrix(shape: object, dom: object) -> str:
    return text("an array of shape cod + dom is expected", given=f"shape {shape}, domain {dom}")


def not_a_linear_map(thing: object) -> str:
    return text(
        "a linear map or a 2-D array is expected", given=f"{abbreviated(thing)} of type {type(thing).__name__}"
    )


def wrong_vector(size: int, expected: int, linear: object) -> str:
    return text("a flattened vector has the wrong size", given=size, expected=expected, where=linear)


def needs_scipy(what: str) -> str:
    return text(f"{what} needs SciPy (CuPy has its own on the GPU)", do="pip install scipy")


# -- derivatives


def wrong_tangent(what: str, expected: object, given: object, term: object | None) -> str:
    return text(
        f"the {what} does not lie in the tangent space",
        given=given,
        expected=expected,
        where=None if term is None else abbreviated(term),
        do="match shape and dtype of the primal; () stands for integers",
    )


def grad_of_non_scalar(cod: object, f: object) -> str:
    return text(
        "grad is of functions with a floating scalar result",
        given=cod,
        expected="ct.f64[()] or ct.f32[()]",
        where=abbreviated(f),
        do="sum the result, f >> ct.sum(), or use ct.jacobian or ct.vjp",
    )


def integers_alone(dom: object, f: object) -> str:
    return text(
        "there is nothing to differentiate: all numbers are integers or booleans",
        given=dom,
        where=abbreviated(f),
        do="give floating arrays, e.g. x.astype(np.float64)",
    )


def no_such_argnum(i: int, dom: object, f: object) -> str:
    return text(f"argnums names factor {i}, which the domain has not", given=dom, where=abbreviated(f))


# -- engines


def no_such_engine(name: object, known: object) -> str:
    return text("there is no such engine here", given=abbreviated(name), expected=f"one of {known}")


# -- the scalar language


class NeedsTree(ScalarError):
    """A scalar function takes a parameter apart: read it again with the nesting of its parameters (`param_trees`)."""


def integer_power() -> str:
    return text(
        "an integer to the power of an integer that is no constant",
        given="integer ** integer, whose value is no integer where the exponent is negative",
        do="write float(x) ** n, or a constant exponent",
    )


def bits_of_floats(op: str) -> str:
    return text(
        f"a bit operation on a float: {op}",
        expected="integers or truth values",
        do="write int(x), or and/or/not for conditions",
    )


def float_range(dtype: object) -> str:
    return text(
        "range() of a number that is no integer",
        given=f"a value of dtype {dtype}",
        expected="an integer",
        do="write range(int(n)), or pass n with an integer dtype",
    )


def unreadable(what: str, do: str | None, file: str, line: int, column: int, source: str) -> str:
    """`column` counts from 0, as Python's syntax trees do; messages count from 1, as editors do."""
    stripped = source.strip()
    caret = " " * (column - (len(source) - len(source.lstrip()))) + "^"
    pointed = f"{file}:{line}:{column + 1}\n            {stripped}\n            {caret}"
    return text(what, where=pointed, do=do)


def needs_tree(name: str) -> str:
    return text(
        f"{name} takes a parameter apart, but was read as a function of scalars",
        expected="one number a parameter",
        do="give a neutral element or arguments with the same nesting, so that the nesting is known",
    )


def not_a_scalar_function(thing: object) -> str:
    return text(
        "not a function that the scalar language knows",
        given=f"{abbreviated(thing)} of type {type(thing).__name__}",
        expected="a plain Python function, a function of math, operator, numpy or catad, or a scalar Function",
        do="write lambda x: ... around it, in terms of such functions",
    )


def captured_array(shape: object) -> str:
    return text(
        "an array inside a scalar function",
        given=f"an array of shape {shape}",
        expected="numbers",
        do="pass the array as an argument of the map, so that it is read element by element",
    )


def too_many_paths(name: str, cap: int) -> str:
    return text(
        f"{name} has no source, and tracing it found more than {cap} paths through its branches",
        do="put the function into a file so that its loop can be read",
    )


# -- the planner


def unknown_mode(mode: object) -> str:
    return text(
        "no such mode of multiplying",
        given=abbreviated(mode),
        expected='"auto", "forward", "reverse", a bracketing such as [[0, 1], 2], or a plan',
    )


def unknown_want(want: object) -> str:
    return text("the planner plans derivatives only", given=f"want={want!r}", expected='"jacobian" or "hessian"')


def unknown_cost(cost: object) -> str:
    return text(
        "no such cost",
        given=f"cost={abbreviated(cost)}",
        expected='"operations", or a function from two structures to a number',
    )


def bad_cost(value: object, first: object, second: object) -> str:
    return text(
        "a cost function gave what is no cost",
        given=abbreviated(value),
        expected="a number, at least 0 (infinity forbids a product)",
        where=f"for the product of {abbreviated(first)} and {abbreviated(second)}",
    )


def bad_limit(name: str, value: object) -> str:
    return text("a limit that is none", given=f"{name}={abbreviated(value)}", expected="None, or a number, at least 0")


def bad_size(size: object, k: int) -> str:
    return text(
        "a matrix whose size is none",
        given=abbreviated(size),
        expected="(rows, columns), whole numbers, at least 0",
        where=f"factor {k}",
    )


def bad_factor(factor: object, k: int) -> str:
    return text(
        "not a factor of a chain",
        given=f"{abbreviated(factor)} of type {type(factor).__name__}",
        expected="a linear map, a structure, or a size (rows, columns)",
        where=f"factor {k}",
    )


def not_plannable(thing: object) -> str:
    return text(
        "nothing that can be planned",
        given=f"{abbreviated(thing)} of type {type(thing).__name__}",
        expected="a morphism, a linear map, or a list of factors, the first applied first",
    )


def not_for_a_chain(thing: object) -> str:
    return text(
        "points and want= go with a morphism only",
        given=abbreviated(thing),
        do="plan a list of factors, or a linear map, by itself",
    )


def plan_without_point(term: object) -> str:
    return text(
        "a plan for a morphism needs its domain",
        given=abbreviated(term),
        do="add the space of its argument, e.g. ct.plan(f, ct.f64[3]), or a value",
    )


def plan_without_morphism() -> str:
    return text("the plan was not made for a morphism", do="use plan.multiply(linear map or list of factors)")


def factors_do_not_meet(i: int, cod: str, k: int, dom: str) -> str:
    return text(
        "neighbouring factors do not meet",
        given=f"factor {i} gives {cod}, factor {k} takes {dom}",
        where=f"between factor {i} and factor {k}",
        do="list the factor that is applied first first: a matrix product A @ B @ C is [C, B, A]",
    )


def too_little_memory(limit: object, least: int, exact: bool) -> str:
    known = "would do" if exact else "is the least among the plans that were tried"
    return text(
        "no plan fits into the memory", given=f"memory={limit} bytes", expected=f"at least {least}: that {known}"
    )


def no_such_step(step: object, count: int) -> str:
    return text("no such step of the plan", given=abbreviated(step), expected=f"0 to {count - 1}")


def too_many_bracketings(n: int, most: int) -> str:
    return text(
        "too many bracketings to list", given=f"{n} factors", expected=f"at most {most}", do="use plan.why(step)"
    )


def no_pair(value: object, place: str) -> str:
    return text(
        "a bracketing is made of pairs",
        given=abbreviated(value),
        expected="two factors, each a number or a pair again",
        where=f"bracketing{place}",
    )


def no_factor_number(value: object, where: str) -> str:
    return text("a factor is named by its number", given=abbreviated(value), expected="a whole number", where=where)


def unknown_factor(k: int, n: int, where: str) -> str:
    return text("a plan names a factor that is not there", given=f"factor {k}", expected=f"0 to {n - 1}", where=where)


def repeated_factor(k: int, expected: int, where: str) -> str:
    return text(
        "a plan uses a factor twice, or out of order",
        given=f"factor {k}",
        expected=f"factor {expected} next",
        where=where,
        do="name each factor once, in order: only the brackets may move",
    )


def skipped_factor(expected: int, n: int, where: str) -> str:
    return text(
        "a plan leaves out a factor",
        expected=f"factor {expected} here, as all of 0 to {n - 1} in order",
        where=where if where.startswith("bracketing") else f"bracketing, {where}",
    )


def malformed_plan(what: str, line: int, column: int) -> str:
    return text(
        "a plan that is no JSON", given=what, where=f"line {line}, column {column}", do="edit only the bracketing"
    )


def no_plan_text(thing: object) -> str:
    return text(
        "a plan is read from JSON text", given=f"{abbreviated(thing)} of type {type(thing).__name__}", expected="a string"
    )


def missing_field(key: str) -> str:
    return text("a plan without a field that it needs", given=f'no "{key}"', expected="the text that to_json() gave")


def bad_field(key: str, value: object, expected: str) -> str:
    return text("a field of a plan that cannot be read", given=abbreviated(value), expected=expected, where=key)


def other_program(difference: str) -> str:
    return text(
        "the plan is for another program", given=difference, do="plan this one: ct.plan(f, x), and edit that plan"
    )


# -- testing


def law_broken(law: str, equation: str, term: object, point: object, got: object, expected: object, off: object) -> str:
    return text(
        f"the law {law} does not hold: {equation}",
        given=f"got {abbreviated(got, 400)}{'' if off is None else f', off by {off}'}",
        expected=abbreviated(expected, 400),
        where=f"{abbreviated(term, 200)}\n  at:       {abbreviated(point, 400)}",
    )


def law_raised(law: str, equation: str, term: object, point: object, error: object) -> str:
    return text(
        f"the law {law} could not be evaluated: {equation}",
        given=f"{type(error).__name__}: {error}",
        where=f"{abbreviated(term, 200)}\n  at:       {abbreviated(point, 400)}",
    )


def needs_hypothesis(what: str) -> str:
    return text(f"catad.testing.{what} is a Hypothesis strategy, and Hypothesis is not installed", do="pip install hypothesis")


def unknown_check_mode(modes: object) -> str:
    return text("check_grads knows no such mode", given=abbreviated(modes), expected='"fwd" and "rev"')


def nothing_to_check(what: str) -> str:
    return text(f"{what} needs at least one value", given="none")


def differs_from_differences() -> str:
    return "the derivative differs from central differences"

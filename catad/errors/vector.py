"""Messages of the vector combinators."""

from __future__ import annotations

from catad.errors.base import abbreviated, about, defined, text
from catad.errors.category import described


def not_a_tensor(space: object, term: object) -> str:
    return about(term, "one array is expected, not a product", space)


def bad_axis(axis: object, space: object, term: object) -> str:
    return about(term, f"there is no such axis: {axis}", space)


def bad_shape(shape: object) -> str:
    return text("sizes are at least 0, and at most one of them is -1", given=shape)


def cannot_reshape(space: object, shape: object, term: object) -> str:
    return about(term, f"cannot reshape to {shape}", space, expected="the same number of entries")


def cannot_broadcast_to(space: object, shape: object, term: object) -> str:
    return about(term, f"cannot broadcast to {shape}", space)


def zero_step() -> str:
    return text("the step of a slice cannot be 0", given="step 0")


def bad_fill(value: object) -> str:
    return text("the fill value is one real number", given=f"{abbreviated(value)} of type {type(value).__name__}")


def fill_does_not_fit(value: object, space: object, term: object) -> str:
    return text(
        "the array cannot hold the fill value",
        given=f"{abbreviated(value)} beside {space}",
        expected="a value that its dtype holds: the dtype stays",
        where=abbreviated(term),
        do="convert the array first, ct.astype(np.float64)",
    )


def too_many_numbers(shape: object) -> str:
    return text("a tensor has fewer than 2**63 bytes", given=f"shape {shape}")


def negative_pad(before: int, after: int, space: object, term: object) -> str:
    return about(term, "padding removes more entries than there are", f"{before} before and {after} after {space}")


def cannot_concatenate(spaces: object, axis: int, term: object) -> str:
    return about(term, f"arrays are joined along axis {axis} where all other sizes are equal", spaces)


def nothing_to_join(term: object) -> str:
    return about(term, "at least one array is needed", "ct.Unit")


def einsum_sizes(spec: str, spaces: object) -> str:
    return text(f"one label with two sizes in {spec!r}", given=spaces)


def bad_einsum(spec: object, why: str) -> str:
    return text(f"cannot read the subscripts {spec!r}", given=why)


def cannot_multiply(a: object, b: object) -> str:
    return text(
        "matrix sizes do not meet",
        given=f"{a} @ {b}",
        expected="the last size of the first = the one before last of the second",
    )


def not_an_index(dtype: object) -> str:
    return text("indices are integers", given=dtype, do="convert them, e.g. indices.astype(np.int64)")


def index_out_of_range(low: object, high: object, size: int) -> str:
    return text(
        "an index is out of range",
        given=f"index {low}" if low == high else f"indices from {low} to {high}",
        expected=f"0 <= index < {size} (negative indices do not wrap)",
        where="ct.gather",
    )


def wrong_index_shape(indices: object, values: object, term: object) -> str:
    return about(term, "there is one index for each value along axis 0", f"indices {indices}, values {values}")


def unequal_rows(dst: object, values: object, term: object) -> str:
    return about(term, "destination and values differ in dtype or in axes after the first", f"{dst} and {values}")


def wrong_elements(space: object, neutral: object, term: object) -> str:
    return text(
        "the elements are not nested as the neutral element is",
        given=space,
        expected=f"arrays of one shape, nested as {neutral}",
        where=abbreviated(term),
    )


def operator(op: object) -> str:
    """An operator as Python, where it has a text, or by its name and place."""

    def name(value: object, said: str) -> str:
        return repr(value) if isinstance(value, (int, float, tuple)) else said

    as_code = getattr(op, "as_code", None)
    code = None if as_code is None else as_code(name)
    return defined(op) if code is None or len(code) > 120 else code


def nesting(tree: object) -> str:
    """The nesting of an element in words."""
    if tree is None:
        return "a number"
    return repr(tree) if not isinstance(tree, tuple) or repr(tree) == "complex" else f"({', '.join(map(nesting, tree))})"


def not_closed(op: object, element: object, result: object, do: str) -> str:
    return text(
        "the operator is not closed on its element",
        given=f"{operator(op)} gives {result}",
        expected=f"an element {element}",
        do=do,
    )


def not_a_neutral(op: object, leaf: object) -> str:
    array = getattr(leaf, "ndim", 0) > 0
    return text(
        "the neutral element is a number or a nested tuple of numbers",
        given=described(leaf),
        where=operator(op),
        do="give one number, e.g. 0.0: elements are folded along one axis, and the other axes are carried along"
        if array
        else None,
    )


def neutral_of_other_dtype(op: object, neutral: object, dtype: object, least: object, most: object) -> str:
    return text(
        "the neutral element does not fit the dtype of the elements",
        given=f"{neutral} for elements of {dtype}",
        expected=f"a number from {least} to {most}",
        where=operator(op),
        do=f"e.g. {least} for a maximum, {most} for a minimum; or give floating elements, x.astype(float)",
    )


def wrong_neutral(op: object, neutral: object, x: object, got: object, side: str) -> str:
    """`x` is the number of which the law does not hold, None for arrays."""
    called = f"op({neutral}, x)" if side == "left" else f"op(x, {neutral})"
    return text(
        "the neutral element is wrong",
        given=f"{called} is not x" if x is None else f"{called} = {got} at x = {x}",
        expected=None if x is None else "x",
        where=operator(op),
        do="give the element e with op(e, x) = x = op(x, e)",
    )


_STEPS = "a step from one state to the next, s -> f(s, x), is ct.iterate(f, n, inputs=True), which needs no such law"


def not_associative(op: object, *numbers: object) -> str:
    """`numbers` are a, b, c and what both sides give; none for arrays."""
    given, expected = "op(op(a, b), c) and op(a, op(b, c)) differ on the first three elements", None
    if numbers:
        a, b, c, left, right = numbers
        given, expected = f"a = {a}, b = {b}, c = {c}", f"op(op(a, b), c) = {left} equal to op(a, op(b, c)) = {right}"
    return text("the operator is not associative", given=given, expected=expected, where=operator(op), do=_STEPS)


def wrong_recurrence(a: object, b: object) -> str:
    return text(
        "links and inputs of a recurrence do not fit",
        given=f"A: {a}, b: {b}",
        expected="A of b's shape (elementwise), or b of shape (n, d) and A of shape (n, d, d)",
    )


def loop_changes_space(space: object, made: object, f: object) -> str:
    return about(f, "a loop keeps the space of its state", f"{space} becomes {made}")


def step_gives_no_pair(made: object, f: object) -> str:
    return text(
        "a step of a loop gives a pair",
        given=made,
        expected="(state, output)",
        where=abbreviated(f),
        do="write ct.fork(step, ct.it) where there is no output",
    )


def inputs_per_step(n: int, space: object, term: object) -> str:
    return about(term, f"inputs have one leading axis of length {n}, one entry for each step", space)


def not_a_condition(space: object, condition: object) -> str:
    return about(condition, "a condition gives one boolean", space, expected="ct.bool_[()]")


def sides_differ(first: object, second: object, f: object, g: object) -> str:
    return text(
        "both sides of a choice give values of one space",
        given=f"{first} by {abbreviated(f)}, {second} by {abbreviated(g)}",
        do="convert one of them, e.g. by ct.astype or ct.broadcast_to",
    )


def endless_loop(steps: int, loop: object) -> str:
    return text(
        f"a while loop has not ended after {steps} steps",
        where=abbreviated(loop),
        do="look at its condition; give a loop that is right a greater max_steps=",
    )


def monoid_twice(op: object) -> str:
    return text("a monoid already has its neutral element and its free numbers", given=operator(op), do="give only the monoid")


def domain_with_params(op: object) -> str:
    return about(op, "laws of an operator with free numbers (params) cannot be checked on a domain")


def wrong_inverse(inverse: object, total: object, x: object, got: object, want: object) -> str:
    return text(
        "the declared inverse is not one",
        given=f"inverse({total}, {x}) = {got}",
        expected=f"{want}, since op({want}, {x}) = {total}",
        where=operator(inverse),
    )


def not_commutative(op: object, a: object, b: object, one: object, other: object) -> str:
    return text(
        "an operator with a declared inverse commutes",
        given=f"op({a}, {b}) = {one}, op({b}, {a}) = {other}",
        where=operator(op),
        do="leave the inverse out: the general rule keeps the order of operands",
    )


def wrong_params(count: int, space: object, term: object) -> str:
    return text(
        f"the operator has {count} free number{'s' * (count != 1)}, which follow{'s' * (count == 1)} the elements",
        given=space,
        expected=f"(elements, {', '.join(['p'] * count)})",
        where=abbreviated(term),
    )


def params_along_the_steps(space: object, axis: int, term: object) -> str:
    return text(
        "a free number is the same at every step",
        given=space,
        expected=f"size 1 along axis {axis}, or fewer axes",
        where=abbreviated(term),
        do="make it a part of the elements if it changes from step to step",
    )


def array_operator_axis(axis: int, op: object) -> str:
    return text(
        "elements of an operator on arrays lie along axis 0",
        given=f"axis={axis}",
        where=abbreviated(op),
        do="bring the axis to the front first, with ct.transpose",
    )


def uneven_split(count: int, space: object, axis: int, term: object) -> str:
    return text(
        f"the array is not divisible into {count} pieces of equal size along axis {axis}",
        given=space,
        where=abbreviated(term),
        do="give the positions before which it is cut, e.g. ct.split((2, 5))",
    )


def unequal_counts(first: str, one: object, second: str, other: object) -> str:
    return text(f"there are equally many {first} and {second}", given=f"{one} and {other}")


def cannot_squeeze(axis: object, space: object, term: object) -> str:
    return about(term, f"only axes of size 1 can be left out, not {axis}", space)


def wrong_repeats(count: int, size: int, space: object, term: object) -> str:
    return about(
        term, "there is one number of repeats, or one for each entry", f"{count} numbers for {size} entries of {space}"
    )


def cannot_dot(a: object, b: object) -> str:
    return text(
        "sizes do not meet",
        given=f"{a} and {b}",
        expected="the last size of the first = the one before last of the second, or its only one",
        where="ct.dot",
    )


def nothing_to_choose(space: object, term: object) -> str:
    return text(
        "the greatest or least of no entry is not there",
        given=space,
        expected="at least one entry along the axes",
        where=abbreviated(term),
        do="for a value where there is none, fold with a neutral element: ct.fold(ct.maximum, -np.inf, axis=...)",
    )


def not_degrees_of_freedom(given: str) -> str:
    return text("ddof is a number, which is taken from the count", given=given, expected="e.g. 0 or 1")


def no_such_order(order: object) -> str:
    return text(
        "there is no norm of this order", given=described(order), expected='None, a number, inf, -inf, or "fro" for matrices'
    )


def no_such_norm(order: object, axes: int, space: object, term: object) -> str:
    known = "a number, inf or -inf" if axes == 1 else '"fro", 1, -1, inf or -inf; others need singular values'
    return about(
        term, f"there is no norm of order {order!r} of {'vectors' if axes == 1 else 'matrices'} here", space, expected=known
    )


def no_axes_of_a_norm(count: int, space: object, term: object) -> str:
    return text(
        "a norm is that of vectors, along one axis, or of matrices, along two",
        given=f"{count} axes of {space}",
        where=abbreviated(term),
        do="give axis=, or ord=None and axis=None for the square root of the sum of all squares",
    )


def array_operator_keepdims(op: object) -> str:
    return text(
        "the fold of an operator on arrays has the axes of one element",
        given="keepdims=True",
        where=abbreviated(op),
        do="give the result another axis with ct.expand_dims",
    )


def bad_offsets(offsets: object) -> str:
    return text(
        "offsets are integers, or tuples of integers of one length",
        given=abbreviated(offsets),
        expected="at least one, such as (-1, 0, 1), or [(0, -1), (0, 1)] along two axes",
    )


def wrong_neighbour_count(count: int, offsets: int, fn: object) -> str:
    return text(
        f"the function of a stencil takes {count} parameters",
        given=f"{offsets} offsets",
        expected="one parameter for each offset",
        where=defined(fn),
    )


def offsets_without_axes(count: int, axis: int, space: object, term: object) -> str:
    return text(
        f"offsets of {count} integers are along {count} axes from axis {axis} on",
        given=space,
        where=abbreviated(term),
        do="give shorter offsets, or another axis=",
    )


def offset_beyond_reflection(offset: int, axis: int, space: object, term: object) -> str:
    return text(
        f"offset {offset} reaches beyond the reflection along axis {axis}",
        given=space,
        expected="an offset less than the size: the outermost entry is not repeated",
        where=abbreviated(term),
        do='take boundary="wrap" or "zero", which allow any offset',
    )


def bad_segments_by(by: object) -> str:
    return text(
        "segments are given by flags or by lengths", given=f"by={abbreviated(by)}", expected='by="flags" or by="lengths"'
    )


def bad_segment_count(segments: object) -> str:
    return text(
        "a fold by flags needs the number of segments, which is data and not seen in the spaces",
        given=f"segments={abbreviated(segments)}",
        expected="an integer of at least 0",
        do='give segments=, or the lengths: by="lengths"',
    )


def segments_and_lengths(segments: object) -> str:
    return text(
        "lengths say by themselves how many segments there are",
        given=f'by="lengths" and segments={abbreviated(segments)}',
        do="leave segments= out",
    )


def not_flags(space: object) -> str:
    return text(
        "flags are one array of booleans, or of the integers 0 and 1, with one axis",
        given=space,
        do="make them from a condition, e.g. flags = keys[1:] != keys[:-1]",
    )


def not_lengths(space: object) -> str:
    return text("lengths are one array of integers with one axis", given=space)


def wrong_flag_count(flags: object, values: object, term: object) -> str:
    return about(term, "there is one flag for each element along axis 0", f"flags {flags}, values {values}")


def flag_out_of_range(low: int, high: int) -> str:
    return text(
        "flags are booleans, or the integers 0 and 1",
        given=f"integers from {low} to {high}",
        where="segments by flags",
        do='flag the first element of each segment; for lengths write by="lengths"',
    )


def wrong_segment_count(found: int, expected: int) -> str:
    return text(
        f"the flags start {found} segments",
        given=f"segments={expected}",
        expected="the number of segments; the first element starts one, flagged or not",
        where="segments by flags",
    )


def negative_length(length: int) -> str:
    return text("a segment has a length of at least 0", given=f"length {length}", where="segments by lengths")


def wrong_length_sum(total: int, n: int) -> str:
    return text(
        "the lengths do not add up to the number of elements",
        given=f"lengths with the sum {total}",
        expected=f"the sum {n}",
        where="segments by lengths",
    )


def no_such_side(side: object) -> str:
    return text("searchsorted counts from one of two sides", given=abbreviated(side), expected='"left" or "right"')


def not_sorted_and_numbers(space: object, term: object) -> str:
    return about(term, "a sorted array and numbers are expected", space, expected="a product of two arrays")


def not_one_axis(space: object, term: object) -> str:
    do = "for several arrays, ct.vmap(ct.searchsorted(), in_axes=(0, None))"
    return about(term, "the sorted array has one axis", space, do=do)

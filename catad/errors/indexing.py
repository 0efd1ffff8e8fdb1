"""Messages about keys: `ct.index[...]` and `ct.at[...]`."""

from __future__ import annotations

from catad.errors.base import abbreviated, about, text
from catad.errors.category import described

_PARTS = "integers, slices of integers, None, ... (once) and ct.arg"


def not_a_part_of_a_key(part: object) -> str:
    array = hasattr(part, "dtype") and hasattr(part, "shape")
    mask = isinstance(part, bool) or str(getattr(part, "dtype", "")) == "bool"
    if mask:
        do = "the shape would depend on data; choose entries with ct.where, which keeps the shape"
    elif array or isinstance(part, (list, tuple)):
        do = "an array of indices is an argument, for which ct.arg stands: ct.index[ct.arg](x, i)"
    else:
        do = "write e.g. ct.index[1:, 0, None, ::2]; for an index that is computed write ct.arg: ct.index[ct.arg](x, i)"
    return text("a key has parts that are known without data", given=described(part), expected=_PARTS, do=do)


def two_ellipses(key: object) -> str:
    return text("a key has one ellipsis at most", given=key)


def computed_bound(bound: object) -> str:
    return text(
        "the bounds of a slice are known without data, since they are a shape",
        given=f"{bound} in a slice",
        expected="integers or None",
        do="read a range of fixed length by its positions: ct.index[ct.arg](x, start + positions)",
    )


def too_many_indices(needed: int, space: object, term: object) -> str:
    return about(
        term, f"the key has {needed} indices, more than the array has axes", space, expected=f"at least {needed} axes"
    )


def fixed_index_out_of_range(index: int, axis: int, space: object, term: object) -> str:
    return about(term, f"index {index} is out of range for axis {axis}", space)


def read_index_out_of_range(low: int, high: int, size: int) -> str:
    return text(
        "an index is out of range",
        given=f"index {low}" if low == high else f"indices from {low} to {high}",
        expected=f"-{size} <= index < {size}; negative ones count from the end" if size else "no index: the axis is empty",
        where="ct.index or ct.at",
    )


def indices_do_not_broadcast(spaces: object, term: object) -> str:
    return about(term, "the index arrays of one key do not broadcast together", spaces)


def wrong_key_arguments(count: int, written: bool, space: object, term: object) -> str:
    names = ["x", *[f"i{k}" if count > 1 else "i" for k in range(count)], *(["v"] if written else [])]
    return text(
        "an array for each ct.arg of the key follows the first one" + (", and the values come last" if written else ""),
        given=space,
        expected=names[0] if len(names) == 1 else f"({', '.join(names)}), all arrays",
        where=abbreviated(term),
    )


def values_do_not_fit(values: object, shape: object, term: object) -> str:
    return about(term, f"the values do not broadcast to the shape of what they are written to, {shape}", values)


def values_of_other_kind(values: object, space: object, term: object) -> str:
    return text(
        "the array cannot take the result of the operation, as in NumPy",
        given=f"{values} into {space}",
        expected="values whose kind is not above that of the array: integers do not take floats",
        where=abbreviated(term),
        do="convert the array first, ct.astype(np.float64), or the values, which cuts them to integers",
    )


def key_was_called(name: str) -> str:
    example = f"{name}[1:](x)" if name == "ct.index" else f"{name}[1:].set(x, v)"
    return text(f"{name} takes a key in brackets", given="a call", expected=f"{name}[key]", do=f"write {example}")


def part_was_called(part: object) -> str:
    return text(
        "a part of an array is no morphism by itself",
        given=f"{part} was called",
        expected=f"{part}.set, .add, .mul, .min or .max",
        do=f"write {part}.set(x, v); to read the part, ct.index",
    )

"""The table of operations: for each its arity, how it is typed, and how it prints as array code.

Typing (the rules are in `dtypes.py`):

    arith    as NumPy promotes; truth values count as integers, as in Python
    real     arithmetic on floats: integers become float64 first
    order    as arith, but truth values stay truth values
    rounding a float stays in its dtype, an integer is left alone
    compare  operands meet as in arith, the result is a truth value
    test     one number to a truth value
    logic    truth values to a truth value
    bits     integers or truth values
    shift    as bits, but truth values count as integers
    image    the bits of a float as an integer of its width, and back

An array template is Python over `xp` (numpy or cupy) with `{0}`, `{1}`, ... for the operands; names that start with
an underscore are functions of `special.py`, which take `xp` first. `unread` is its operand as array code, and any number
elsewhere: nobody reads it, so that it need not be written.
"""

from __future__ import annotations

from dataclasses import dataclass

from catad.scalar.operators import OF_OP


@dataclass(frozen=True, slots=True)
class Op:
    """One operation of the IR."""

    name: str
    arity: int
    typing: str
    code: str


def _ops() -> dict[str, Op]:
    rows: list[Op] = []

    def infix(typing: str, names: str) -> None:
        rows.extend(Op(name, 2, typing, f"({{0}} {OF_OP[name].symbol} {{1}})") for name in names.split())

    def call(typing: str, arity: int, names: str, prefix: str = "xp.", **renamed: str) -> None:
        pairs = {name: name for name in names.split()} | renamed
        args = ", ".join(f"{{{i}}}" for i in range(arity))
        first = "xp, " if prefix == "_" else ""
        rows.extend(Op(name, arity, typing, f"{prefix}{array}({first}{args})") for name, array in pairs.items())

    infix("arith", "add sub mul floordiv mod")
    infix("real", "div")
    infix("compare", "lt le gt ge eq ne")
    infix("bits", "bitand bitor bitxor")
    infix("shift", "lshift rshift")
    rows.append(Op("and", 2, "logic", "({0} & {1})"))
    rows.append(Op("or", 2, "logic", "({0} | {1})"))
    rows.append(Op("not", 1, "logic", "(~{0})"))
    rows.append(Op("invert", 1, "bits", "(~{0})"))
    rows.append(Op("pow", 2, "pow", "_power(xp, {0}, {1})"))
    rows.append(Op("neg", 1, "arith", "(-{0})"))
    rows.append(Op("pos", 1, "arith", "{0}"))
    call("arith", 1, "abs sign")
    call("arith", 2, "fmod")
    call("order", 2, "minimum maximum fmin fmax", prefix="_")
    call("rounding", 1, "floor ceil trunc rint")
    call("test", 1, "isnan isinf isfinite signbit")
    rows.append(Op("truth", 1, "test", "({0} != 0)"))
    call("real", 1, "exp exp2 expm1 log log2 log10 log1p sqrt cbrt sin cos tan sinh cosh tanh")
    call("real", 1, "", asin="arcsin", acos="arccos", atan="arctan", asinh="arcsinh", acosh="arccosh", atanh="arctanh")
    call("real", 2, "hypot logaddexp copysign", atan2="arctan2")
    call("real", 1, "erf erfc gamma lgamma digamma sigmoid sech", prefix="_")
    call("real", 2, "remainder", prefix="_")
    call("real", 3, "fma", prefix="_")
    rows.append(Op("polygamma", 1, "real", "_polygamma(xp, {value}, {0})"))
    rows.append(Op("fraction", 1, "real", "xp.modf({0})[0]"))
    rows.append(Op("mantissa", 1, "real", "xp.frexp({0})[0]"))
    rows.append(Op("exponent", 1, "exponent", "xp.frexp({0})[1].astype('int64')"))
    rows.append(Op("ldexp", 2, "ldexp", "_ldexp(xp, {0}, {1})"))
    rows.append(Op("bits", 1, "image", "_bits(xp, {0})"))
    rows.append(Op("of_bits", 1, "image", "_of_bits(xp, {0})"))
    rows.append(Op("select", 3, "select", "xp.where({0}, {1}, {2})"))
    rows.append(Op("unread", 1, "order", "{0}"))
    rows.append(Op("int", 1, "int", "{0}"))
    rows.append(Op("float", 1, "float", "{0}"))
    rows.append(Op("index", 1, "index", "{0}"))
    rows.append(Op("cast", 1, "cast", "{0}"))
    return {row.name: row for row in rows}


OPS = _ops()
"""Operation by name; `param`, `const`, `loop` and `proj` are not operations and not in here."""


def join_kinds(kinds: tuple[str, ...]) -> str:
    """The kind of a value that is one of several."""
    if "f" in kinds:
        return "f"
    if len(set(kinds)) == 1:
        return kinds[0]
    if "?" in kinds:
        return "?"
    return "i" if set(kinds) <= {"b", "i"} else "n"


def arith_kind(kinds: tuple[str, ...]) -> str:
    """The kind of a sum of these: a truth value counts as an integer."""
    joined = join_kinds(kinds)
    return {"b": "i", "?": "n"}.get(joined, joined)


def result_kind(op: str, kinds: tuple[str, ...], value: object) -> str:
    """The kind of the result of an operation, where it does not depend on dtypes."""
    typing = OPS[op].typing
    if typing in ("compare", "test", "logic"):
        return "b"
    if typing in ("real", "ldexp", "float"):
        return "f"
    if typing in ("int", "index", "exponent"):
        return "i"
    if typing == "image":
        return "i" if op == "bits" else "f"
    if typing == "cast":
        name = str(value)
        return "f" if name.startswith("float") else "b" if name == "bool" else "i"
    if typing == "select":
        return join_kinds(kinds[1:])
    if typing == "order":
        return join_kinds(kinds)
    if typing == "bits":
        return "b" if set(kinds) == {"b"} else "i" if "i" in kinds else "?"
    if typing == "shift":
        return "i"
    if typing == "pow":
        return "f" if "f" in kinds else "n"
    return arith_kind(kinds)

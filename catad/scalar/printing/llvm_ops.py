"""The LLVM IR of each operation of the table in `scalar/ops.py`, and of conversions of numbers.

Nothing here has undefined behaviour, whatever the operands: integer division by zero gives 0 and the most negative integer
by -1 gives itself, as in NumPy; shifts by more than the width give what is left of the number; conversions of floats to
integers saturate, and NaN becomes the least integer; -0.0 is less than 0.0 in minima and maxima. No fast-math flag is used, not
even `contract`: every `+ - * /` and `sqrt` is rounded once, so that the result is that of the same Python on each element. Only
`fma` fuses.

Source: LLVM Language Reference Manual, section "Instruction Reference".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from catad.scalar.printing.llvm_writer import Writer, literal, llvm_type
from catad.values.formats import format_of


@dataclass(frozen=True, slots=True)
class Kind:
    """The dtype an operation is carried out in, as LLVM sees it."""

    dtype: np.dtype

    @property
    def ty(self) -> str:
        return llvm_type(self.dtype)

    @property
    def real(self) -> bool:
        return self.dtype.kind == "f"

    @property
    def signed(self) -> bool:
        return self.dtype.kind == "i"

    @property
    def bits(self) -> int:
        return 1 if self.dtype.kind == "b" else 8 * self.dtype.itemsize

    @property
    def suffix(self) -> str:
        """The name of the type in intrinsics."""
        return f"{'f' if self.real else 'i'}{self.bits}"

    @property
    def integer(self) -> str:
        """The integer type of the same width."""
        return f"i{self.bits}"

    @property
    def image(self) -> np.dtype:
        """The signed integer dtype of the same width."""
        return np.dtype(f"int{self.bits}")

    def number(self, value: float) -> str:
        return literal(value, self.dtype)


Emit = Callable[..., str]
"""(writer, kind, operands...) -> the register with the result."""


# -- conversions


def convert(w: Writer, ref: str, old: np.dtype, new: np.dtype) -> str:
    """A number converted; a float beyond the integers becomes the nearest of them, NaN the least."""
    if old == new:
        return ref
    a, b = Kind(old), Kind(new)
    if b.bits == 1:
        return w.set(f"fcmp une {a.ty} {ref}, {a.number(0)}" if a.real else f"icmp ne {a.ty} {ref}, 0")
    if a.real and b.real:
        return w.set(f"{'fpext' if b.bits > a.bits else 'fptrunc'} {a.ty} {ref} to {b.ty}")
    if a.real:
        name = f"llvm.fpto{'s' if b.signed else 'u'}i.sat.{b.suffix}.{a.suffix}"
        whole = w.intrinsic(name, b.ty, f"{a.ty} {ref}")  # 0 for NaN
        if not b.signed:
            return whole
        return w.set(f"select i1 {_isnan(w, a, ref)}, {b.ty} {-(1 << b.bits - 1)}, {b.ty} {whole}")
    if b.real:
        return w.set(f"{'sitofp' if a.signed else 'uitofp'} {a.ty} {ref} to {b.ty}")
    if a.bits == b.bits:
        return ref
    return w.set(f"{'trunc' if b.bits < a.bits else 'sext' if a.signed else 'zext'} {a.ty} {ref} to {b.ty}")


# -- arithmetic


def _binary(real: str, whole: str) -> Emit:
    def emit(w: Writer, k: Kind, a: str, b: str) -> str:
        return w.set(f"{real if k.real else whole} {k.ty} {a}, {b}")

    return emit


def _neg(w: Writer, k: Kind, a: str) -> str:
    return w.set(f"fneg {k.ty} {a}" if k.real else f"sub {k.ty} 0, {a}")


def _intrinsic(name: str) -> Emit:
    def emit(w: Writer, k: Kind, *args: str) -> str:
        return w.intrinsic(f"llvm.{name}.{k.suffix}", k.ty, *(f"{k.ty} {arg}" for arg in args))

    return emit


def _abs(w: Writer, k: Kind, a: str) -> str:
    if k.real:
        return _intrinsic("fabs")(w, k, a)
    return w.intrinsic(f"llvm.abs.{k.suffix}", k.ty, f"{k.ty} {a}", "i1 false") if k.signed else a


def _sign(w: Writer, k: Kind, a: str) -> str:
    """-1, 0 or 1; NaN stays NaN."""
    zero, one = k.number(0), k.number(1)
    above = w.set(f"{'fcmp ogt' if k.real else 'icmp sgt' if k.signed else 'icmp ugt'} {k.ty} {a}, {zero}")
    if not (k.real or k.signed):
        return w.set(f"zext i1 {above} to {k.ty}")
    below = w.set(f"{'fcmp olt' if k.real else 'icmp slt'} {k.ty} {a}, {zero}")
    rest = w.set(f"select i1 {w.set(f'fcmp uno {k.ty} {a}, {a}')}, {k.ty} {a}, {k.ty} {zero}") if k.real else zero
    low = w.set(f"select i1 {below}, {k.ty} {k.number(-1)}, {k.ty} {rest}")
    return w.set(f"select i1 {above}, {k.ty} {one}, {k.ty} {low}")


def _divided(w: Writer, k: Kind, a: str, b: str) -> tuple[str, str, str]:
    """Quotient and rest towards zero of integers, and whether the divisor is 0; nothing traps."""
    zero = w.set(f"icmp eq {k.ty} {b}, 0")
    unsafe = zero
    if k.signed:
        least = w.set(f"icmp eq {k.ty} {a}, {-(1 << k.bits - 1)}")
        over = w.set(f"and i1 {least}, {w.set(f'icmp eq {k.ty} {b}, -1')}")
        unsafe = w.set(f"or i1 {zero}, {over}")
    by = w.set(f"select i1 {unsafe}, {k.ty} 1, {k.ty} {b}")
    sign = "s" if k.signed else "u"
    return w.set(f"{sign}div {k.ty} {a}, {by}"), w.set(f"{sign}rem {k.ty} {a}, {by}"), zero


def _unlike(w: Writer, k: Kind, rest: str, b: str) -> str:
    """The condition that there is a rest whose sign is not that of the divisor."""
    some = w.set(f"icmp ne {k.ty} {rest}, 0")
    mixed = w.set(f"icmp slt {k.ty} {w.set(f'xor {k.ty} {rest}, {b}')}, 0")
    return w.set(f"and i1 {some}, {mixed}")


def _floordiv(w: Writer, k: Kind, a: str, b: str) -> str:
    quotient, rest, zero = _divided(w, k, a, b)
    if k.signed:
        down = w.set(f"sext i1 {_unlike(w, k, rest, b)} to {k.ty}")
        quotient = w.set(f"add {k.ty} {quotient}, {down}")
    return w.set(f"select i1 {zero}, {k.ty} 0, {k.ty} {quotient}")


def _rest(downwards: bool) -> Emit:
    """What a division leaves, of one that rounds down or towards zero; 0 where the divisor is."""

    def emit(w: Writer, k: Kind, a: str, b: str) -> str:
        _, rest, zero = _divided(w, k, a, b)
        if downwards and k.signed:
            up = w.set(f"select i1 {_unlike(w, k, rest, b)}, {k.ty} {b}, {k.ty} 0")
            rest = w.set(f"add {k.ty} {rest}, {up}")
        return w.set(f"select i1 {zero}, {k.ty} 0, {k.ty} {rest}")

    return emit


def whole_power(w: Writer, k: Kind, a: str, exponent: int) -> str:
    """An integer to a constant power, by squaring; it wraps around as NumPy's does."""
    total = None
    while exponent:
        if exponent & 1:
            total = a if total is None else w.set(f"mul {k.ty} {total}, {a}")
        exponent >>= 1
        a = w.set(f"mul {k.ty} {a}, {a}") if exponent else a
    return k.number(1) if total is None else total


# -- comparisons, choices, bits


def comparison(op: str) -> Emit:
    def emit(w: Writer, k: Kind, a: str, b: str) -> str:
        if k.real:
            return w.set(f"fcmp {'une' if op == 'ne' else 'o' + op} {k.ty} {a}, {b}")
        order = op if op in ("eq", "ne") else ("s" if k.signed else "u") + op
        return w.set(f"icmp {order} {k.ty} {a}, {b}")

    return emit


def _extremum(order: str, propagates: bool) -> Emit:
    """A minimum or maximum, -0.0 less than 0.0; NaN propagates or is ignored.

    The right operand wins ties if it is the better zero: then the left one is compared with the float next to it. That is known
    before the left operand is, which in a scan is the state that all wait for.
    """
    larger = order == "oge"

    def emit(w: Writer, k: Kind, a: str, b: str) -> str:
        if not k.real:
            left = comparison("ge" if larger else "le")(w, k, a, b)
            return _select(w, k, left, a, b)
        if not a.startswith("%"):
            a, b = b, a
        image = _bits(w, k, b)
        size = image if larger else w.set(f"xor {k.integer} {image}, {-(1 << k.bits - 1)}")
        wins = w.set(f"icmp ult {k.integer} {size}, {format_of(k.dtype).infinity}")  # and is finite
        past = w.set(f"add {k.integer} {image}, {w.set(f'zext i1 {wins} to {k.integer}')}")
        left = w.set(f"fcmp {order} {k.ty} {a}, {w.set(f'bitcast {k.integer} {past} to {k.ty}')}")
        left = w.set(f"or i1 {left}, {_isnan(w, k, a if propagates else b)}")
        return _select(w, k, left, a, b)

    return emit


def _rounded(name: str) -> Emit:
    def emit(w: Writer, k: Kind, a: str) -> str:
        return _intrinsic(name)(w, k, a) if k.real else a

    return emit


def _isnan(w: Writer, k: Kind, a: str) -> str:
    return w.set(f"fcmp uno {k.ty} {a}, {a}")


def _against_infinity(order: str) -> Emit:
    def emit(w: Writer, k: Kind, a: str) -> str:
        return w.set(f"fcmp {order} {k.ty} {_abs(w, k, a)}, {k.number(float('inf'))}")

    return emit


def _signbit(w: Writer, k: Kind, a: str) -> str:
    return w.set(f"icmp slt {k.integer} {w.set(f'bitcast {k.ty} {a} to {k.integer}')}, 0")


def _invert(w: Writer, k: Kind, a: str) -> str:
    return w.set(f"xor {k.ty} {a}, {'true' if k.bits == 1 else '-1'}")


def _shift(instruction: str) -> Emit:
    def emit(w: Writer, k: Kind, a: str, b: str) -> str:
        inside = w.set(f"icmp ult {k.ty} {b}, {k.bits}")
        by = w.set(f"and {k.ty} {b}, {k.bits - 1}")
        name = instruction if instruction == "shl" else "ashr" if k.signed else "lshr"
        shifted = w.set(f"{name} {k.ty} {a}, {by}")
        gone = w.set(f"ashr {k.ty} {a}, {k.bits - 1}") if name == "ashr" else "0"
        return w.set(f"select i1 {inside}, {k.ty} {shifted}, {k.ty} {gone}")

    return emit


def _select(w: Writer, k: Kind, c: str, a: str, b: str) -> str:
    return w.set(f"select i1 {c}, {k.ty} {a}, {k.ty} {b}")


def _bits(w: Writer, k: Kind, a: str) -> str:
    return w.set(f"bitcast {k.ty} {a} to {k.integer}")


def _of_bits(w: Writer, k: Kind, a: str) -> str:
    return w.set(f"bitcast {k.ty} {a} to {llvm_type(np.dtype(f'f{k.bits // 8}'))}")


def exponent(w: Writer, ref: str, dtype: np.dtype, width: np.dtype) -> str:
    """An integer of any dtype as an exponent of this dtype; one beyond all floats is brought back first."""
    e = Kind(dtype)
    if e.bits > 16:
        low, high = (("smax", "-100000"), ("smin", "100000")) if e.signed else (("umax", "0"), ("umin", "100000"))
        for name, bound in (low, high):
            ref = w.intrinsic(f"llvm.{name}.{e.suffix}", e.ty, f"{e.ty} {ref}", f"{e.ty} {bound}")
    return convert(w, ref, dtype, width)


EMIT: Mapping[str, Emit] = {
    "add": _binary("fadd", "add"),
    "sub": _binary("fsub", "sub"),
    "mul": _binary("fmul", "mul"),
    "div": _binary("fdiv", ""),
    "neg": _neg,
    "abs": _abs,
    "sign": _sign,
    "floordiv": _floordiv,
    "mod": _rest(downwards=True),
    "fmod": _rest(downwards=False),
    **{name: comparison(name) for name in ("lt", "le", "gt", "ge", "eq", "ne")},
    "minimum": _extremum("ole", True),
    "maximum": _extremum("oge", True),
    "fmin": _extremum("ole", False),
    "fmax": _extremum("oge", False),
    **{name: _rounded(name) for name in ("floor", "ceil", "trunc", "rint")},
    "sqrt": _intrinsic("sqrt"),
    "fma": _intrinsic("fma"),
    "copysign": _intrinsic("copysign"),
    "isnan": _isnan,
    "isinf": _against_infinity("oeq"),
    "isfinite": _against_infinity("olt"),
    "signbit": _signbit,
    "truth": lambda w, k, a: convert(w, a, k.dtype, np.dtype(bool)),
    "bitand": _binary("", "and"),
    "bitor": _binary("", "or"),
    "bitxor": _binary("", "xor"),
    "and": _binary("", "and"),
    "or": _binary("", "or"),
    "not": _invert,
    "invert": _invert,
    "lshift": _shift("shl"),
    "rshift": _shift("shr"),
    "select": _select,
    "bits": _bits,
    "of_bits": _of_bits,
}
"""Operations that are a few instructions."""

"""Folds by bin on a GPU by atomics whose order does not matter: the same bits in every order of threads.

Each place (a number of a bin) has words of 64 bits that are 0 at first. Threads change them by operations that commute: sums of
integers, maxima of unsigned integers, bits that are set. What all of them together make is decoded at the end (`Finish`).

    integers     the sum, modulo 2^64
    extrema      the greatest key, whose order is that of the numbers; and whether any number is there
    positions    the greatest of m - i of the elements i that are looked for: that of the first one of the m elements
    floats       the sum as an integer of 128 bits, in units of 2^-T of the last digit of the greatest number of the place, whose
                 exponent an earlier launch has found. With n numbers no digit above 2^(log n - T) is lost, so that sums are more
                 exact than those of floats in any order. A place with NaN or an infinity notes which of them are there instead.

A sum of integers in this form is order-independent, as in J. Demmel and H. D. Nguyen, Fast reproducible floating-point summation
(2013), whose bins are floats. Where the words of all places fit, each block has its own in shared memory, and adds them to those
of the device at its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from catad.engine.cuda.intrinsics import Simt
from catad.engine.stages.bins import Bins
from catad.engine.text import binned
from catad.engine.text.numbers import add, cast, load, store
from catad.scalar.printing.llvm_writer import Writer, llvm_type

THREADS = 256
ROOM = 48 * 1024 // 8  # words of shared memory
ROOM_BITS = 73  # 126 bits of a sum but for the 53 of a number
STRANGE = 2047  # the exponent of NaN and infinities
FIELDS = ("work", "rest", "bins", "places", "bits")  # the table: numbers, those of an element, bins, places, log2 of elements
NAN, ABOVE, BELOW = 1, 2, 4  # what a place of strange numbers holds
WORDS = {"sum": 1, "max": 2, "min": 2, "first": 1, "peak": 1, "exact": 2}
_INT, _UINT, _FLOAT = np.dtype(np.int64), np.dtype(np.uint64), np.dtype(np.float64)
_SIGN = str(-(1 << 63))


class Folded(NamedTuple):
    """A fold by bin, the kind of its words (of `WORDS`), and the places that a block has in shared memory, 0 for none."""

    what: Bins
    kind: str
    places: int

    @property
    def dtype(self) -> np.dtype:
        """The dtype of what a place holds."""
        return np.dtype(self.what.states[0])


class _Places:
    """What the kernels share: the table, and words of places. `kernel(table, pointers)`."""

    threads = THREADS

    def __init__(self, folded: Folded, words: type[Simt] = Simt) -> None:
        self.folded, self.what, self.dtype = folded, folded.what, folded.dtype
        self.w = Writer(gpu=True)
        self.simt = words(self.w, self.threads)

    def field(self, name: str) -> str:
        return self.w.set(f"load i64, ptr {self.w.set(f'getelementptr i64, ptr %t, i64 {FIELDS.index(name)}')}")

    def _count(self) -> str:
        """The number of elements."""
        return self.w.set(f"udiv i64 {self.field('work')}, {self.field('rest')}")

    def word(self, base: str, k: int, place: str, places: str) -> str:
        """The address of word k of a place."""
        at = place if not k else self.w.set(f"add i64 {place}, {self.w.set(f'mul i64 {places}, {k}')}")
        return self.w.set(f"getelementptr i64, ptr {base}, i64 {at}")

    def read(self, pointer: str) -> str:
        return self.w.set(f"load i64, ptr {pointer}")


class Accumulate(_Places):
    """Folds all numbers into the words of their places: of the device at %words, or first of the block."""

    def text(self) -> str:
        """The module. Pointers: indices, what is read, the exponents of places, words."""
        w, simt, count = self.w, self.simt, WORDS[self.folded.kind]
        places = self.field("places")
        mine, together = simt.everywhere()
        own = self.folded.places
        base, far = "%words", places
        if own:
            base, far = simt.shared("i64", count * own), str(own)
            thread = simt.thread()
            w.loop(thread, str(count * own), lambda k: w.do(f"store i64 0, ptr {self.word(base, 0, k, far)}"), self.threads)
            simt.barrier()
        w.loop(mine, self.field("work"), lambda j: self._number(j, base, far), together)
        if own:
            simt.barrier()
            w.loop(simt.thread(), places, lambda p: self._give(p, base, far, places), self.threads)
        reads = [f"ptr noalias readonly %read{k}" for k, name in enumerate(self.what.reads) if name]
        return self.simt.module(len(FIELDS), ["ptr noalias readonly %index", *reads, "ptr noalias readonly %peaks", "ptr %words"])

    def _number(self, j: str, base: str, far: str) -> None:
        """Number j into its place, if it has one."""
        w, rest = self.w, self.field("rest")
        i, c = w.set(f"udiv i64 {j}, {rest}"), w.set(f"urem i64 {j}, {rest}")
        by = np.dtype(self.what.by)
        index = load(w, binned.nth(w, "%index", by, j if self.what.own else i), by)
        bin_ = cast(w, index, by, _INT)
        place = w.set(f"add i64 {w.set(f'mul i64 {bin_}, {rest}')}, {c}")
        arrays = [f"%read{k}" if name else "" for k, name in enumerate(self.what.reads)]

        w.when(self._inside(bin_), lambda: self._join(self._element(i, j, place, arrays), place, base, far))

    def _inside(self, bin_: str) -> str:
        """True where there is such a bin."""
        return self.w.set(f"icmp ult i64 {bin_}, {self.field('bins')}")

    def _give(self, place: str, base: str, far: str, places: str) -> None:
        """What the block has of a place, to the place of the device."""
        words = [self.read(self.word(base, k, place, far)) for k in range(WORDS[self.folded.kind])]
        self._join(words, place, "%words", places)

    # -- a number as words

    def _element(self, i: str, j: str, place: str, arrays: Sequence[str]) -> list[str]:
        """The words of number j, which is of element i, for its place."""
        (value,) = binned.values(self.w, self.what, i, j, arrays)
        return self._words(value, place)

    def _words(self, value: str, place: str) -> list[str]:
        w, kind = self.w, self.folded.kind
        if kind == "sum":
            return [cast(w, value, self.dtype, _UINT)]
        if kind in ("max", "min"):
            return self._key(value)
        bits = w.set(f"bitcast double {cast(w, value, self.dtype, _FLOAT)} to i64")
        exponent = self._exponent(bits)
        return [exponent] if kind == "peak" else self._fixed(bits, exponent, self._peak(place))

    def _exponent(self, bits: str) -> str:
        """The biased exponent of a number, 1 for those below."""
        w = self.w
        return w.most(w.set(f"and i64 {w.set(f'lshr i64 {bits}, 52')}, 2047"), "1")

    def _peak(self, place: str) -> str:
        return self.read(self.word("%peaks", 0, place, ""))

    def _fixed(self, bits: str, exponent: str, peak: str) -> list[str]:
        """The number in the units of its place, low word and high word; what it is, where the place has strange numbers."""
        w = self.w
        fraction = w.set(f"and i64 {bits}, {(1 << 52) - 1}")
        field = w.set(f"and i64 {w.set(f'lshr i64 {bits}, 52')}, 2047")
        one = w.set(f"select i1 {w.set(f'icmp ne i64 {field}, 0')}, i64 {1 << 52}, i64 0")
        digits = w.set(f"zext i64 {w.set(f'or i64 {fraction}, {one}')} to i128")
        up = w.set(f"sub i64 {self._shift()}, {w.set(f'sub i64 {peak}, {exponent}')}")  # to the left
        down = w.least(w.set(f"sub i64 0, {up}"), "100")
        raised = w.set(f"shl i128 {digits}, {self._wide(w.most(up, '0'))}")
        below = w.most(down, "1")
        half = w.set(f"shl i128 1, {self._wide(w.set(f'sub i64 {below}, 1'))}")
        rounded = w.set(f"lshr i128 {w.set(f'add i128 {digits}, {half}')}, {self._wide(below)}")
        size = w.set(f"select i1 {w.set(f'icmp sge i64 {up}, 0')}, i128 {raised}, i128 {rounded}")
        negative = w.set(f"icmp slt i64 {bits}, 0")
        whole = w.set(f"select i1 {negative}, i128 {w.set(f'sub i128 0, {size}')}, i128 {size}")
        low = w.set(f"trunc i128 {whole} to i64")
        high = w.set(f"trunc i128 {w.set(f'lshr i128 {whole}, 64')} to i64")
        infinity = w.set(f"select i1 {negative}, i64 {BELOW}, i64 {ABOVE}")
        strange = w.set(f"select i1 {w.set(f'icmp ne i64 {fraction}, 0')}, i64 {NAN}, i64 {infinity}")
        strange = w.set(f"select i1 {w.set(f'icmp eq i64 {field}, {STRANGE}')}, i64 {strange}, i64 0")
        usual = w.set(f"icmp ne i64 {peak}, {STRANGE}")
        return [w.set(f"select i1 {usual}, i64 {low}, i64 {strange}"), w.set(f"select i1 {usual}, i64 {high}, i64 0")]

    def _shift(self) -> str:
        """T: by how many bits the last digit of the greatest number is raised."""
        return self.w.set(f"sub i64 {ROOM_BITS}, {self.field('bits')}")

    def _wide(self, n: str) -> str:
        return self.w.set(f"zext i64 {n} to i128")

    def _key(self, value: str) -> list[str]:
        """The key of a number, and 1: it is there. NaN has the greatest key, -0.0 stands before 0.0."""
        w = self.w
        if self.dtype.kind != "f":
            key = cast(w, value, self.dtype, _UINT if self.dtype.kind in "ub" else _INT)
            key = key if self.dtype.kind in "ub" else w.set(f"xor i64 {key}, {_SIGN}")
            return [key if self.folded.kind == "max" else w.set(f"xor i64 {key}, -1"), "1"]
        wide = cast(w, value, self.dtype, _FLOAT)
        bits = w.set(f"bitcast double {wide} to i64")
        turned = w.set(f"or i64 {w.set(f'ashr i64 {bits}, 63')}, {_SIGN}")
        key = w.set(f"xor i64 {bits}, {turned}")
        key = key if self.folded.kind == "max" else w.set(f"xor i64 {key}, -1")
        return [w.set(f"select i1 {w.set(f'fcmp uno double {wide}, 0.0')}, i64 -1, i64 {key}"), "1"]

    # -- words into words

    def _join(self, words: Sequence[str], place: str, base: str, far: str) -> None:
        w, kind = self.w, self.folded.kind
        at = [self.word(base, k, place, far) for k in range(len(words))]
        if kind != "exact":
            what = "add" if kind == "sum" else "umax"
            w.when(w.set(f"icmp ne i64 {words[-1]}, 0"), lambda: self._change(what, at, words))
            return
        strange = w.set(f"icmp eq i64 {self._peak(place)}, {STRANGE}")
        w.either(strange, lambda: self._change("or", at[:1], words[:1]), lambda: self._add(words, at))

    def _add(self, words: Sequence[str], at: Sequence[str]) -> None:
        """A number of two words to two words: the low one tells whether it carries."""
        w = self.w
        low, high = words
        before = self.simt.atomic("add", at[0], "i64", low)
        carry = self._carry(before, w.set(f"add i64 {before}, {low}"))
        more = w.set(f"add i64 {high}, {carry}")
        w.when(w.set(f"icmp ne i64 {more}, 0"), lambda: self._change("add", at[1:], [more]))

    def _change(self, what: str, at: Sequence[str], words: Sequence[str]) -> None:
        for one, word in zip(at, words, strict=True):
            self.simt.atomic(what, one, "i64", word)

    def _carry(self, before: str, after: str) -> str:
        return self.w.set(f"zext i1 {self.w.set(f'icmp ult i64 {after}, {before}')} to i64")


class Finish(_Places):
    """What the words of each place mean, as numbers of the result."""

    pointers: tuple[str, ...] = ("ptr noalias readonly %peaks", "ptr noalias readonly %words", "ptr noalias %result")

    def text(self) -> str:
        """The module. Pointers: the exponents of places, words, the result."""
        w, places = self.w, self.field("places")
        mine, together = self.simt.everywhere()
        out = np.dtype(self.what.outs[0])

        with w.each(mine, places, together) as p:
            words = [self.read(self.word("%words", k, p, places)) for k in range(WORDS[self.folded.kind])]
            store(w, self._result(words, p, out), binned.nth(w, "%result", out, p), out)
        return self.simt.module(len(FIELDS), self.pointers)

    def _result(self, words: Sequence[str], place: str, dtype: np.dtype) -> str:
        """The number of a place in the dtype of the result."""
        return cast(self.w, self._value(words, place), self.dtype, dtype)

    def _value(self, words: Sequence[str], place: str) -> str:
        w, kind = self.w, self.folded.kind
        if kind == "sum":
            return cast(w, words[0], _UINT, self.dtype)
        if kind == "exact":
            return cast(w, self._total(words, self.read(self.word("%peaks", 0, place, ""))), _FLOAT, self.dtype)
        value, number = self._extreme(words[0]), llvm_type(self.dtype)
        some = w.set(f"icmp ne i64 {words[1]}, 0")
        return w.set(f"select i1 {some}, {number} {value}, {number} {self.what.starts[0]}")

    def _extreme(self, found: str) -> str:
        w, kind = self.w, self.dtype.kind
        key = found if self.folded.kind == "max" else w.set(f"xor i64 {found}, -1")
        if kind in "ub":
            return cast(w, key, _UINT, self.dtype)
        if kind == "i":
            return cast(w, w.set(f"xor i64 {key}, {_SIGN}"), _INT, self.dtype)
        below = w.set(f"xor i64 {w.set(f'ashr i64 {key}, 63')}, -1")
        bits = w.set(f"xor i64 {key}, {w.set(f'or i64 {below}, {_SIGN}')}")
        bits = w.set(f"select i1 {w.set(f'icmp eq i64 {found}, -1')}, i64 {0x7FF8 << 48}, i64 {bits}")
        return cast(w, w.set(f"bitcast i64 {bits} to double"), _FLOAT, self.dtype)

    def _total(self, words: Sequence[str], peak: str) -> str:
        """The float nearest to a sum of two words."""
        w = self.w
        low, high = [w.set(f"zext i64 {word} to i128") for word in words]
        whole = w.set(f"or i128 {low}, {w.set(f'shl i128 {high}, 64')}")
        negative = w.set(f"icmp slt i64 {words[1]}, 0")
        size = w.set(f"select i1 {negative}, i128 {w.set(f'sub i128 0, {whole}')}, i128 {whole}")
        zeros = w.intrinsic("llvm.ctlz.i128", "i128", f"i128 {size}", "i1 false")
        zeros = w.set(f"and i128 {zeros}, 127")
        norm = w.set(f"shl i128 {size}, {zeros}")
        rest = w.set(f"icmp ne i64 {w.set(f'trunc i128 {norm} to i64')}, 0")
        top = w.set(f"trunc i128 {w.set(f'lshr i128 {norm}, 64')} to i64")
        top = w.set(f"or i64 {top}, {w.set(f'zext i1 {rest} to i64')}")  # so that halves are told from more than halves
        number = w.set(f"uitofp i64 {top} to double")
        power = w.set(f"sub i64 {w.set(f'add i64 {peak}, {64 - 1075 - ROOM_BITS}')}, {w.set(f'trunc i128 {zeros} to i64')}")
        power = w.set(f"add i64 {power}, {self.field('bits')}")
        half = w.set(f"ashr i64 {power}, 1")
        for part in (half, w.set(f"sub i64 {power}, {half}")):
            bits = w.set(f"shl i64 {w.set(f'add i64 {part}, 1023')}, 52")
            number = w.set(f"fmul double {number}, {w.set(f'bitcast i64 {bits} to double')}")
        number = w.set(f"select i1 {negative}, double {w.set(f'fneg double {number}')}, double {number}")
        strange = self._strange(words[0])
        return w.set(f"select i1 {w.set(f'icmp eq i64 {peak}, {STRANGE}')}, double {strange}, double {number}")

    def _strange(self, met: str) -> str:
        """The sum of NaN and infinities."""
        w = self.w
        below = w.set(f"icmp eq i64 {met}, {BELOW}")
        infinity = w.set(f"select i1 {below}, double 0xFFF0000000000000, double 0x7FF0000000000000")
        clear = w.set(f"or i1 {below}, {w.set(f'icmp eq i64 {met}, {ABOVE}')}")
        return w.set(f"select i1 {clear}, double {infinity}, double 0x7FF8000000000000")


class Onto(Finish):
    """The sums of the places added to the numbers at %x; where nothing is added these stay as they are, a negative zero too."""

    pointers = (*Finish.pointers, "ptr noalias readonly %x")

    def _result(self, words: Sequence[str], place: str, dtype: np.dtype) -> str:
        w, own, kind = self.w, self.dtype, llvm_type(dtype)
        x = load(w, binned.nth(w, "%x", dtype, place), dtype)
        total = cast(w, add(w, own, cast(w, x, dtype, own), self._value(words, place)), own, dtype)
        if self.folded.kind != "exact":
            return total
        some = w.set(f"icmp ne i64 {self.read(self.word('%peaks', 0, place, ''))}, 0")  # every number has an exponent
        return w.set(f"select i1 {some}, {kind} {total}, {kind} {x}")


def room(places: int, kind: str) -> int:
    """The places that a block has in shared memory: a power of two, so that kernels are few; 0 where they do not fit."""
    most = ROOM // WORDS[kind]
    return min(1 << max(places - 1, 0).bit_length(), most) if places <= most else 0



"""LLVM text of folds by bin: one pass over the elements in their order, with a state for each bin.

The elements are cut into pieces of fixed number, each with bins of its own; `kernel` folds the pieces of some groups, `merge0`
joins the pieces in their order. So what comes out does not depend on the number of threads. The pieces of a group are consecutive
and advance together: an element that meets the bin of its neighbour does not wait for it. Several folds of the same elements
share the loop over them.

    state[bin] = op(state[bin], x)      (the first element of a bin is its state, without the neutral element)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from catad.engine.cpu.run.target import SPEED
from catad.engine.stages.bins import Bins
from catad.engine.stages.unswitch import usual
from catad.engine.text import binned
from catad.engine.text.cascade import neighbours
from catad.engine.text.numbers import called, cast, load, memory_type, store
from catad.scalar.llvm_writer import Writer, llvm_type

FIELDS = ("count", "rest", "bins", "length", "pieces", "stride", "index", "flags")  # the table; addresses of arrays follow


class BinsText:
    """The text of what the kernels of a `Bins` do.

    Its part of the table begins at `first`: the fields, then the addresses of what is read, of the states, and of the results.
    """

    backwards = False  # whether the elements of a piece come last first

    def __init__(self, what: Bins, first: int = 0) -> None:
        self.what, self.first = what, first
        self.states = [np.dtype(s) for s in what.states]
        self.usual = None if what.flagged else usual(what.op)
        self.w = Writer()

    def printers(self) -> Sequence[BinsText]:
        """The printer itself, where it writes a module of its own."""
        return (self,)

    # -- the table

    @property
    def length(self) -> int:
        """The entries of its part of the table."""
        return len(FIELDS) + len(self.what.reads) + len(self.states) + len(self.what.outs)

    def _entry(self, at: int) -> str:
        return self.w.set(f"load i64, ptr {self.w.set(f'getelementptr i64, ptr %t, i64 {self.first + at}')}")

    def field(self, name: str) -> str:
        return self._entry(FIELDS.index(name))

    def _pointer(self, name: str) -> str:
        return self._array(FIELDS.index(name))

    def _array(self, at: int) -> str:
        return self.w.set(f"inttoptr i64 {self._entry(at)} to ptr")

    def _value_array(self, k: int) -> str:
        return self._array(len(FIELDS) + k)

    def _state_array(self, k: int) -> str:
        return self._array(len(FIELDS) + len(self.what.reads) + k)

    def _out_array(self, k: int) -> str:
        return self._array(len(FIELDS) + len(self.what.reads) + len(self.states) + k)

    # -- folding

    def opened(self, group: str) -> Callable[[str, int], None]:
        """Begin the bins of a group; returns a function that folds an element into one of its pieces."""
        w, what, stride = self.w, self.what, self.field("stride")
        arrays = [self._value_array(k) if dtype else "" for k, dtype in enumerate(what.reads)]
        whole = [self._state_array(k) for k in range(len(self.states))]
        flags, index = self._pointer("flags"), self._pointer("index")
        own = w.set(f"mul i64 {w.set(f'mul i64 {group}, {what.lanes}')}, {stride}")
        self._begin(whole, flags, own, w.set(f"mul i64 {stride}, {what.lanes}"))
        lanes = []
        for k in range(what.lanes):
            base = w.set(f"add i64 {own}, {w.set(f'mul i64 {stride}, {k}')}")
            states = [binned.nth(self.w, s, dtype, base) for s, dtype in zip(whole, self.states, strict=True)]
            lanes.append((states, w.set(f"getelementptr i8, ptr {flags}, i64 {base}")))
        return lambda i, lane: self._element(i, index, arrays, *lanes[lane])

    def _size(self) -> str:
        return self.w.set(f"mul i64 {self.field('bins')}, {self.field('rest')}")

    def _begin(self, states: Sequence[str], flags: str, first: str, count: str) -> None:
        """Neutral elements in the bins of a group."""
        w = self.w
        end = w.set(f"add i64 {first}, {count}")
        for base, dtype, start in zip(states, self.states, self.what.starts, strict=True):
            if not start:
                continue
            w.loop(first, end, lambda j, a=base, d=dtype, e=start: store(w, e, binned.nth(self.w, a, d, j), d))  # type: ignore[misc]
        if self.what.flagged:
            w.loop(first, end, lambda j: w.do(f"store i8 0, ptr {w.set(f'getelementptr i8, ptr {flags}, i64 {j}')}"))

    def _element(self, i: str, index: str, arrays: Sequence[str], states: Sequence[str], flags: str) -> None:
        """Element i into its bin, if it has one."""
        w = self.w
        if self.what.own:
            rest = self.field("rest")
            source = w.set(f"mul i64 {i}, {rest}")
            w.loop("0", rest, lambda c: self._own(i, w.set(f"add i64 {source}, {c}"), c, index, arrays, states, flags))
            return
        bin_ = self._bin(index, i)
        inside = self._inside(bin_)

        def put() -> None:
            if not self.what.rows:
                self._numbers(lambda each: each(i, bin_), i, arrays, states, flags)
                return
            rest = self.field("rest")
            source, target = w.set(f"mul i64 {i}, {rest}"), w.set(f"mul i64 {bin_}, {rest}")

            def row(each: Callable[[str, str], None]) -> None:
                w.loop("0", rest, lambda c: each(w.set(f"add i64 {source}, {c}"), w.set(f"add i64 {target}, {c}")))

            self._numbers(row, i, arrays, states, flags)

        w.when(inside, put)
        if type(self)._outside is not BinsText._outside:
            w.when(w.set(f"xor i1 {inside}, true"), lambda: self._outside(i))

    def _own(
        self, i: str, source: str, c: str, index: str, arrays: Sequence[str], states: Sequence[str], flags: str
    ) -> None:
        """Number c of element i, which lies at `source`, into its own bin, if it has one."""
        w, bin_, rest = self.w, self._bin(index, source), self.field("rest")

        def put() -> None:
            target = w.set(f"add i64 {w.set(f'mul i64 {bin_}, {rest}')}, {c}")
            self._number(i, source, target, arrays, states, flags)

        w.when(self._inside(bin_), put)

    def _bin(self, index: str, i: str) -> str:
        """The index at a place."""
        dtype = np.dtype(self.what.by)
        return cast(self.w, load(self.w, binned.nth(self.w, index, dtype, i), dtype), dtype, np.dtype(np.int64))

    def _inside(self, bin_: str) -> str:
        """True where there is such a bin."""
        return self.w.set(f"icmp ult i64 {bin_}, {self.field('bins')}")

    def _outside(self, i: str) -> None:
        """Element i, whose index is out of range: nothing."""

    def _numbers(
        self,
        each: Callable[[Callable[[str, str], None]], None],
        i: str,
        arrays: Sequence[str],
        states: Sequence[str],
        flags: str,
    ) -> None:
        """The numbers of element i, in one loop; in one that does less where all of them are usual."""
        w, found = self.w, self.usual
        if found is None:
            each(lambda source, target: self._number(i, source, target, arrays, states, flags))
            return
        strange = w.slot("i8")
        w.do(f"store i8 0, ptr {strange}")

        def look(source: str, target: str) -> None:
            _, old, x = self._operands(i, source, target, arrays, states)
            (holds,) = called(w, found.condition, [*self.states, *self.states], [*old, *x])
            other = w.set(f"zext i1 {w.set(f'xor i1 {holds}, true')} to i8")
            so_far = w.set(f"load i8, ptr {strange}")
            w.do(f"store i8 {w.set(f'or i8 {so_far}, {other}')}, ptr {strange}")

        def less(source: str, target: str) -> None:
            places, old, x = self._operands(i, source, target, arrays, states)
            self._store(binned.joined(w, self.what._replace(op=found.op), old, x), places)

        each(look)
        any_ = w.set(f"icmp ne i8 {w.set(f'load i8, ptr {strange}')}, 0")
        w.when(any_, lambda: each(lambda source, target: self._number(i, source, target, arrays, states, flags)))
        w.when(w.set(f"xor i1 {any_}, true"), lambda: each(less))

    def _number(self, i: str, source: str, target: str, arrays: Sequence[str], states: Sequence[str], flags: str) -> None:
        """`state[target] = op(state[target], x[source])`."""
        places, old, x = self._operands(i, source, target, arrays, states)
        self._store(self._after(old, x, flags, target), places)

    def _operands(
        self, i: str, source: str, target: str, arrays: Sequence[str], states: Sequence[str]
    ) -> tuple[list[str], list[str], list[str]]:
        """Where `state[target]` is, `state[target]` and `x[source]`."""
        x = binned.values(self.w, self.what, i, source, arrays)
        places = [binned.nth(self.w, s, dtype, target) for s, dtype in zip(states, self.states, strict=True)]
        return places, [load(self.w, p, dtype) for p, dtype in zip(places, self.states, strict=True)], x

    def _store(self, made: Sequence[str], places: Sequence[str]) -> None:
        for value, place, dtype in zip(made, places, self.states, strict=True):
            store(self.w, value, place, dtype)

    def _after(self, old: Sequence[str], x: Sequence[str], flags: str, target: str) -> list[str]:
        """The state of a bin after an element."""
        w = self.w
        made = binned.joined(self.w, self.what, old, x)
        if self.what.flagged:
            flag = w.set(f"getelementptr i8, ptr {flags}, i64 {target}")
            there = w.set(f"icmp ne i8 {w.set(f'load i8, ptr {flag}')}, 0")
            made = binned.chosen(self.w, self.what, there, made, x)
            w.do(f"store i8 1, ptr {flag}")
        return made

    # -- merging

    def merge(self) -> None:
        """The pieces joined into the first, neighbours first, and that written as the result, for the numbers from the first
        to the last."""
        w, what = self.w, self.what
        stride, pieces = self.field("stride"), self.field("pieces")
        states = [self._state_array(k) for k in range(len(self.states))]
        flags = self._pointer("flags")

        def piece(p: str, q: str) -> None:
            own, other = (w.set(f"mul i64 {one}, {stride}") for one in (p, q))

            def number(at: str) -> None:
                j, k = (w.set(f"add i64 {base}, {at}") for base in (own, other))
                into = [binned.nth(self.w, s, d, j) for s, d in zip(states, self.states, strict=True)]
                a = [load(self.w, place, d) for place, d in zip(into, self.states, strict=True)]
                b = [load(self.w, binned.nth(self.w, s, d, k), d) for s, d in zip(states, self.states, strict=True)]
                made = self._merged(a, b, flags, j, k)
                for value, place, dtype in zip(made, into, self.states, strict=True):
                    store(w, value, place, dtype)

            w.loop("%first", "%last", number)

        neighbours(w, pieces, piece)
        for k, (name, base, dtype) in enumerate(zip(what.outs, states, self.states, strict=True)):
            if name:
                self._write(base, dtype, self._out_array(k), np.dtype(name))

    def _merged(self, a: Sequence[str], b: Sequence[str], flags: str, j: str, k: str) -> list[str]:
        """The states of two pieces joined, which stand at two places."""
        w = self.w
        made = binned.joined(self.w, self.what, a, b)
        if self.what.flagged:
            left = w.set(f"getelementptr i8, ptr {flags}, i64 {j}")
            right = w.set(f"getelementptr i8, ptr {flags}, i64 {k}")
            x, y = (w.set(f"load i8, ptr {flag}") for flag in (left, right))
            made = binned.chosen(self.w, self.what, w.set(f"icmp ne i8 {x}, 0"), made, b)
            made = binned.chosen(self.w, self.what, w.set(f"icmp ne i8 {y}, 0"), made, a)
            w.do(f"store i8 {w.set(f'or i8 {x}, {y}')}, ptr {left}")
        return made

    def _write(self, base: str, dtype: np.dtype, out: str, wanted: np.dtype) -> None:
        w = self.w

        def number(j: str) -> None:
            value = cast(w, load(self.w, binned.nth(self.w, base, dtype, j), dtype), dtype, wanted)
            store(w, value, binned.nth(self.w, out, wanted, j), wanted)

        w.loop("%first", "%last", number)


class Module:
    """A module of functions (table, first, last), which the printers of some `Bins` write; of one, the printer itself."""

    bounds = 2  # the first and the last group, number or bin
    level = SPEED

    def printers(self) -> Sequence[BinsText]:
        """The printers that write the functions."""
        raise NotImplementedError

    @property
    def bodies(self) -> dict[str, Callable[[], None]]:
        """The bodies of the functions of the module."""
        raise NotImplementedError

    @property
    def entries(self) -> tuple[str, ...]:
        """The functions of the module."""
        return tuple(self.bodies)

    def text(self) -> str:
        """The whole module."""
        w, parts = Writer(), []
        for name, body in self.bodies.items():
            w = w.beside()
            for printer in self.printers():
                printer.w = w
            body()
            parts.append(w.text(name, "ptr noalias readonly %t, i64 %first, i64 %last"))
        return w.module(parts)


class PassText(Module):
    """The text of folds by bin of the same elements, in one pass.

    `kernel` folds the pieces of the groups from the first to the last, `merge0`, `merge1`, ... join those of each fold.
    """

    member = BinsText

    def __init__(self, whats: Sequence[Bins]) -> None:
        self.members: list[BinsText] = []
        for what in whats:
            self.members.append(self.member(what, sum(member.length for member in self.members)))

    def printers(self) -> Sequence[BinsText]:
        """A printer for each fold."""
        return self.members

    @property
    def bodies(self) -> dict[str, Callable[[], None]]:
        """The bodies of the functions of the module."""
        return {"kernel": self._groups, **{f"merge{k}": member.merge for k, member in enumerate(self.members)}}

    def _groups(self) -> None:
        lead = self.members[0]
        w, lanes = lead.w, lead.what.lanes
        count, length = lead.field("count"), lead.field("length")

        def group(g: str) -> None:
            begin = w.set(f"mul i64 {g}, {length}")
            end = w.least(w.set(f"add i64 {begin}, {length}"), count)
            elements = [member.opened(g) for member in self.members]
            piece = w.set(f"sdiv i64 {w.set(f'sub i64 {end}, {begin}')}, {lanes}")
            starts = [w.set(f"add i64 {begin}, {w.set(f'mul i64 {piece}, {k}')}") for k in range(lanes)]
            last = w.set(f"add i64 {starts[-1]}, {piece}")
            left = w.set(f"sub i64 {end}, {last}")

            def one(start: str, step: str, size: str, lane: int) -> None:
                i = self._walked(start, step, size)
                for element in elements:
                    element(i, lane)

            def rest() -> None:
                w.loop("0", left, lambda s: one(last, s, left, lanes - 1))

            def step(s: str) -> None:
                for lane, start in enumerate(starts):
                    one(start, s, piece, lane)

            def steps() -> None:
                w.loop("0", piece, step)

            for part in (rest, steps) if self.member.backwards else (steps, rest):
                part()

        w.loop("%first", "%last", group)

    def _walked(self, start: str, step: str, count: str) -> str:
        """The element of a step of so many."""
        w = self.members[0].w
        if not self.member.backwards:
            return w.set(f"add i64 {start}, {step}")
        end = w.set(f"add i64 {start}, {w.set(f'sub i64 {count}, 1')}")
        return w.set(f"sub i64 {end}, {step}")


class PositionsText(BinsText):
    """The position of a minimum or maximum: the first element of each bin that is the result of the bin, the second value.

    The last one written is the first, since elements come last first. Which are equal cannot be foreseen: so there is no branch,
    and what does not count is written beside.
    """

    backwards = True

    def _number(self, i: str, source: str, target: str, arrays: Sequence[str], states: Sequence[str], flags: str) -> None:
        w, dtype, (own,) = self.w, np.dtype(self.what.values[0]), self.states
        x, total = (
            load(self.w, binned.nth(self.w, arrays[0], dtype, source), dtype),
            load(self.w, binned.nth(self.w, arrays[1], dtype, target), dtype),
        )
        compare = "fcmp oeq" if dtype.kind == "f" else "icmp eq"
        equal = w.set(f"{compare} {llvm_type(dtype)} {x}, {total}")
        beside = w.slot(memory_type(own))
        place = w.set(f"select i1 {equal}, ptr {binned.nth(self.w, states[0], own, target)}, ptr {beside}")
        store(w, cast(w, i, np.dtype(np.int64), own), place, own)


class PositionsPass(PassText):
    """One pass that finds positions of extrema."""

    member = PositionsText


class ChoicesText(BinsText):
    """A fold of (number, position): a bin without a position, -1, is empty, and the number of its state is not set."""

    def _after(self, old: Sequence[str], x: Sequence[str], flags: str, target: str) -> list[str]:
        return binned.chosen(self.w, self.what, self._filled(old), binned.joined(self.w, self.what, old, x), x)

    def _merged(self, a: Sequence[str], b: Sequence[str], flags: str, j: str, k: str) -> list[str]:
        either = binned.chosen(self.w, self.what, self._filled(b), binned.joined(self.w, self.what, a, b), a)
        return binned.chosen(self.w, self.what, self._filled(a), either, b)

    def _filled(self, state: Sequence[str]) -> str:
        return self.w.set(f"icmp sge {llvm_type(self.states[-1])} {state[-1]}, 0")


class ChoicesPass(PassText):
    """One pass that finds the positions that a minimum or maximum itself chooses."""

    member = ChoicesText

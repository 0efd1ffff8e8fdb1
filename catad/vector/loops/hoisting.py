"""Loops are laid out here: what is the same at each step, or can be done for all steps at once, is not done step by step.

    (s', a, o) = f(s, g, u)          n steps from (state, given, inputs) to (state, sums, outputs)

- A part of the state that no step changes is given.
- A box that reads nothing but what is given runs once, before the loop. Pointwise boxes stay beside those that read them, since
  one pass computes them together, and selects between them.
- What is read of an array that is given, at places that follow from the inputs, is read for all steps before the loop, where that
  is not much more than the array. The derivative adds to the array once, after the loop, and not at each step.
- A product of a matrix that is given with what follows from the inputs is taken for all steps before the loop, and one that only
  outputs need is taken after it, if the matrix is much larger than the numbers of a step: one product of matrices instead of many
  of a matrix and a vector, each of which reads the matrix (J. Appleyard, T. Kocisky and P. Blunsom 2016, section 3).
- An output that is an input is not copied, and one that is given is spread over the steps.
- A sum of products of what the loop gives at each step is one contraction after the loop: with x_i and w_i stacked, the sum
  of all x_i w_i^T is one product of matrices. So are the products of each step that no step needs. Other sums are added up
  in place.
- A loop whose steps do not depend on each other runs all of them at once, as `ct.map` does. Steps that only write into an array,
  each at other indices, do not (`loop_writes.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from catad import scalar
from catad.category.boxes import Nesting, Primitive
from catad.category.spaces import Product, Tensor
from catad.category.terms import D
from catad.category.wiring import Box, wire
from catad.linear.families.clear import ClearedWhere
from catad.linear.families.contract import Contract, contract, zeros
from catad.linear.families.gather import Gathered, lanes_of, spread_over
from catad.linear.families.reindex import Reshaped, StridedCopy
from catad.linear.restriction import between, cut
from catad.linear.structure import widest
from catad.vector.indexing.static_indices import gathered
from catad.vector.indexing.static_numbers import known_numbers
from catad.vector.loops.either import Choose
from catad.vector.loops.loop_writes import Write, are_apart, writes_of, written
from catad.vector.loops.sweep_map import Sweep
from catad.vector.pointwise.map import Map

if TYPE_CHECKING:
    from catad.category.wiring import Builder, Wire

Leaves = tuple[Sequence["Wire"], Sequence["Wire"], Sequence["Wire"]]  # of state, given and inputs; of state, sums and outputs
Later = Callable[[], "Wire"]  # what is laid out after the loop
_MOVES = (StridedCopy, Reshaped)
_AFTER = (*_MOVES, Contract, Map, ClearedWhere, Choose)
_ADD, _MUL = [scalar.apply(op, scalar.param(0), scalar.param(1)) for op in ("add", "mul")]
AT_ONCE = 1 << 20  # numbers of an array between that always fit
SEVERAL = 4  # times an array: what may be read of it at once
HUGE = 16  # times as many numbers of a product that is added up at once
DEEP = 64  # boxes after each other through which a sum is followed


def looped(b: Builder, body: D, n: int, wires: Leaves, reverse: bool, dom: Product | None = None) -> Leaves:
    """Lay out n steps of `body : (state, given, input) -> (state, sums, output)`; its argument is of flat products, or `dom`."""
    if dom is None:
        each = [Tensor(w.shape[1:], w.dtype) for w in wires[2]]
        dom = Product([Product([w.space for w in wires[0]]), Product([w.space for w in wires[1]]), Product(each)])
    if n:
        return _Loop(b, body, dom, wires, n, reverse).laid_out()
    cod = wire(body, dom).cod
    assert isinstance(cod, Product)
    sums, output = [space.leaves for space in cod.factors[1:]]
    return wires[0], [zeros(b, s) for s in sums], [zeros(b, Tensor((0, *s.shape), s.dtype)) for s in output]


class _Loop:
    """One loop that is being laid out: the wires of its step are numbers, those around it wires."""

    def __init__(self, b: Builder, body: D, dom: Product, wires: Leaves, n: int, reverse: bool) -> None:
        self.b, self.body, self.dom, self.n, self.reverse = b, body, dom, n, reverse
        self.wiring = wire(body, dom)
        cod = self.wiring.cod
        assert isinstance(cod, Product)
        starts, ends = self.wiring.inputs, self.wiring.outputs
        k, g, m = len(wires[0]), len(wires[0]) + len(wires[1]), len(wires[0]) + len(cod.factors[1].leaves)
        self.state = dict(zip(starts[:k], wires[0], strict=True))
        self.next = dict(zip(starts[:k], ends[:k], strict=True))
        self.given = dict(zip(starts[k:g], wires[1], strict=True))
        self.inputs = dict(zip(starts[g:], wires[2], strict=True))
        self.plain = starts[k:g], starts[g:], ends[k:m], ends[m:]
        self.given |= {start: self.state[start] for start, end in self.next.items() if start == end}
        self.moving = [start for start in self.state if start not in self.given]
        self.maker = {k: box for box in self.wiring.boxes for k in box.outs}
        self.constants = {k for box in self.wiring.boxes if not box.ins for k in box.outs}
        self.added: list[int] = []  # what is added up in place
        self.stacked: list[int] = []  # what the loop gives at each step
        self.totals: dict[int, Wire] = {}  # once the loop is laid out, what is added up
        self.made: dict[int, Wire] = {}  # and what it gives at each step, or what follows from that
        self.inside: set[int] = set()  # what the steps themselves need
        self.writes: dict[int, Write] = {}  # parts of the state that steps only write into
        self.apart = not self.moving and self.fits_at_once()
        if self.moving:
            self.write_after()

    def laid_out(self) -> Leaves:
        self.before()
        self.read_before()
        self.multiply_before()
        _, _, sums, outputs = self.plain
        order = sorted(range(len(sums)), key=lambda i: -self.size(sums[i]))
        later = {i: self.sum_of(sums[i]) for i in order}
        self.choose_outputs(outputs)
        after = self.run()
        after |= {start: self.written(start) for start in self.writes}
        state = [after[start] if start in after else self.given[start] for start in self.state]
        return state, [later[i]() for i in range(len(sums))], [self.spread(k) for k in outputs]

    def fits_at_once(self, writes: Mapping[int, Write] = MappingProxyType({})) -> bool:
        """Whether steps that do not depend on each other may run at once: no array between is much larger than those around.

        What is added up at once is no array, as far as it is not huge.
        """
        if any(isinstance(box.primitive, Nesting) for box in self.wiring.boxes):
            return False
        ways = {k for write in writes.values() for k in write.made}
        summed = self.summed_at_once()
        sizes = [self.size(k) // (HUGE if k in summed else 1) for box in self.wiring.boxes for k in box.outs if k not in ways]
        around = (*self.inputs, *self.plain[3], *[write.values for write in writes.values()])
        return self.n * max(sizes, default=0) <= max(AT_ONCE, 4 * self.n * sum(map(self.size, around)))

    def summed_at_once(self) -> set[int]:
        """Products that only a sum reads: one pass computes both."""
        read = Counter([*self.wiring.outputs, *[k for box in self.wiring.boxes for k in box.ins]])
        sums = {box.ins[0] for box in self.wiring.boxes if isinstance(box.primitive, Contract) and len(box.ins) == 1}
        return {k for k in sums if read[k] == 1 and k in self.maker and _is(self.maker[k].primitive, _MUL)}

    def write_after(self) -> None:
        """Where all that moves are arrays that steps only write into, at other indices each, they are written after the loop."""
        writes = writes_of(self.wiring, [(start, self.next[start]) for start in self.moving])
        if writes is None or not self.fits_at_once(writes):
            return
        before, moving = dict(self.given), self.moving
        self.given.update({start: self.state[start] for start in moving})
        self.moving, self.apart = [], True
        if all(self.is_known(w.at) and are_apart(self.wiring, w.at, self.numbers) for w in writes.values()):
            self.writes = writes
        else:
            self.given, self.moving, self.apart, self.made = before, moving, False, {}

    def numbers(self, k: int) -> Any:
        """The integers of a wire at all steps, where they vary and are known."""
        return None if self.same(k) or not self.is_known(k) else known_numbers(self.b, self.stack(k))

    def written(self, start: int) -> Wire:
        """An array into which all steps have written."""
        write = self.writes[start]
        index, values = self.spread(write.at), self.spread(write.values)
        return written(self.b, write, self.state[start], index, values, self.n)

    def size(self, k: int) -> int:
        """How many numbers a wire of the step carries."""
        return self.wiring.wires[k].size

    def same(self, k: int) -> bool:
        """Whether a wire of the step is the same at each step, and there before the loop."""
        return k in self.given or k in self.constants

    def outer(self, k: int) -> Wire:
        """Such a wire, around the loop."""
        return self.given[k] if k in self.given else self.b.add(self.maker[k].primitive)[0]

    def before(self) -> None:
        """Lay out the boxes that are the same at each step; not those that only fill arrays."""
        for box in self.wiring.boxes:
            if not box.ins or isinstance(box.primitive, Map) or not all(map(self.same, box.ins)):
                continue
            ins, outs = self.wiring.spaces(box.ins), self.wiring.spaces(box.outs)
            if box.primitive.cost(ins, outs) or sum([s.size for s in outs]) <= sum([s.size for s in ins]):
                self.given.update(zip(box.outs, self.b.add(box.primitive, *map(self.outer, box.ins)), strict=True))

    def read_before(self) -> None:
        """Read parts of what is given for all steps at once."""
        for box in [] if self.apart else self.wiring.boxes:
            if isinstance(box.primitive, Gathered) and self.same(box.ins[1]) and not self.same(box.ins[0]):
                (out,) = box.outs
                if self.n * self.size(out) <= SEVERAL * self.size(box.ins[1]) and self.is_known(box.ins[0]):
                    read = self.stack(out)
                    if not self.same(out):  # its places may be the same at each step
                        self.inputs[out] = read

    def is_known(self, k: int) -> bool:
        """Whether a wire follows from what is given and from inputs, by boxes that run no loops."""
        boxes = self.between([k])
        read = {k, *[i for box in boxes for i in box.ins]}
        return read.isdisjoint(self.moving) and not any(_loops(box.primitive) for box in boxes)

    def multiply_before(self) -> None:
        """Multiply by matrices that are given for all steps at once."""
        for box in [] if self.apart else self.wiring.boxes:
            factor = self.factor(box)
            if factor is not None and self.is_known(factor) and self.fit([box.outs[0], *self.made_for(factor)]):
                self.inputs[box.outs[0]] = self.stack(box.outs[0])

    def factor(self, box: Box) -> int | None:
        """The factor of a product that varies, where the other one is the same at each step, and much larger."""
        if not isinstance(box.primitive, Contract) or len(box.ins) != 2 or self.same(box.ins[0]) == self.same(box.ins[1]):
            return None
        same, other = sorted(box.ins, key=self.same, reverse=True)
        return other if self.size(same) >= SEVERAL * (self.size(other) + self.size(box.outs[0])) else None

    def made_for(self, k: int) -> list[int]:
        """What varies of what is made for a wire."""
        return [out for box in self.between([k]) for out in box.outs if not all(map(self.same, box.ins))]

    def fit(self, wires: Sequence[int]) -> bool:
        """Whether there is room for the numbers of some wires at all steps."""
        around = [w.space.size for there in (self.given, self.inputs) for w in there.values()]
        return self.n * sum(map(self.size, wires)) <= max(AT_ONCE, SEVERAL * sum(around))

    # -- sums

    def sum_of(self, k: int, depth: int = 0) -> Later:
        """The sum of a wire over all steps, laid out after the loop."""
        box = self.maker.get(k)
        if self.free(k):
            axes = tuple(range(1, 1 + len(self.wiring.wires[k].shape)))
            return lambda: contract(self.b, [(0, *axes)], [self.spread(k)], axes, (self.n, *self.wiring.wires[k].shape))
        if box is None or self.same(k) or depth == DEEP:
            return self.added_up(k)
        if _is(box.primitive, _ADD) and all(self.wiring.wires[i] == self.wiring.wires[k] for i in box.ins):
            first, second = [self.sum_of(i, depth + 1) for i in box.ins]
            return lambda: first() + second()
        moves = isinstance(box.primitive, _MOVES) and not getattr(box.primitive, "fill", 0.0)
        if moves and self.size(box.ins[0]) <= self.size(k):
            part = self.sum_of(box.ins[0], depth + 1)
            return lambda: self.b.add(box.primitive, part())[0]
        found = self.product(box)
        return self.added_up(k) if found is None else self.sum_of_product(k, box.ins, found, depth)

    def sum_of_product(self, k: int, ins: tuple[int, ...], found: Contract, depth: int) -> Later:
        """One contraction of what varies, for all steps; where one factor does, and is not stacked yet, that of its sum."""
        varying = [i for i in dict.fromkeys(ins) if not self.same(i)]
        new = [i for i in varying if not self.free(i)]
        if len(varying) == 1 and new and self.size(varying[0]) <= self.size(k):
            part = self.sum_of(varying[0], depth + 1)
            return lambda: self.contracted(found, [self.outer(i) if self.same(i) else part() for i in ins])
        if not varying or sum(map(self.size, new)) > (self.size(k) if len(varying) > 1 else 0):
            return self.added_up(k)
        self.stacked += new
        step = len(found.sizes)
        operands = [labels if self.same(i) else (step, *labels) for labels, i in zip(found.operands, ins, strict=True)]
        summed = Contract(tuple(operands), found.out, (*found.sizes, self.n))
        return lambda: self.contracted(summed, [self.outer(i) if self.same(i) else self.stack(i) for i in ins])

    def free(self, k: int) -> bool:
        """Whether a wire that varies is there for all steps, so far as is known."""
        return not self.same(k) and (self.apart or k in self.inputs or k in self.stacked)

    def added_up(self, k: int) -> Later:
        """The sum of a wire, added up step by step."""
        if k not in self.added:
            self.added.append(k)
        return lambda: self.totals[k]

    def product(self, box: Box) -> Contract | None:
        """A box that is linear in each of its arguments, as a contraction."""
        ins, outs = self.wiring.spaces(box.ins), self.wiring.spaces(box.outs)
        if widest(*ins) != outs[0].dtype:
            return None
        if isinstance(box.primitive, Contract):
            return box.primitive
        shapes = [space.shape for space in (*ins, *outs)]
        if not _is(box.primitive, _MUL) or any(shape != shapes[-1][len(shapes[-1]) - len(shape) :] for shape in shapes):
            return None
        axes = tuple(range(len(shapes[-1])))
        return Contract(tuple([axes[len(axes) - len(shape) :] for shape in shapes[:-1]]), axes, shapes[-1])

    def contracted(self, how: Contract, wires: Sequence[Wire]) -> Wire:
        return contract(self.b, how.operands, wires, how.out, how.sizes)

    # -- outputs

    def choose_outputs(self, outputs: Sequence[int]) -> None:
        """Stack the outputs, except for those that follow from what is stacked, when the loop has run."""
        if self.apart:
            return
        plain = [k for k in outputs if not self.same(k) and k not in self.inputs]
        self.inside = self.needed()
        known: dict[int, list[int] | None] = {}
        for k in plain:
            sources = self.sources(k, known)
            if sources is not None:
                self.stacked += [i for i in dict.fromkeys(sources) if i not in self.stacked]
                plain = [i for i in plain if i != k or k in sources]
        made = [k for k in plain if k in self.maker and isinstance(self.maker[k].primitive, (Contract, *_MOVES))]
        self.stacked += [k for k in dict.fromkeys(plain) if k not in made and k not in self.stacked]
        self.inside = self.needed()
        follows: dict[int, bool] = {}
        self.stacked += [k for k in dict.fromkeys(made) if k not in self.stacked and not self.follows(k, follows)]

    def needed(self) -> set[int]:
        """What the steps themselves make, for the state, the sums, and what is stacked so far."""
        ends = [*[self.next[k] for k in self.moving], *self.added, *self.stacked]
        return {k for box in self.between(ends) for k in box.outs}

    def sources(self, k: int, known: dict[int, list[int] | None], depth: int = 0) -> list[int] | None:
        """What to stack instead of an output that follows from it by a product with a large matrix; None where none does.

        `known` has what was asked before, since many boxes may read one.
        """
        if k not in known:
            known[k] = self._sources(k, known, depth)
        return known[k]

    def _sources(self, k: int, known: dict[int, list[int] | None], depth: int) -> list[int] | None:
        box = self.maker.get(k)
        if box is None or self.free(k) or k in self.inside or depth == DEEP or not isinstance(box.primitive, _AFTER):
            return None
        factor = self.factor(box)
        if factor is not None:
            return self.sources(factor, known, depth + 1) or ([] if self.free(factor) else [factor])
        varying = [i for i in dict.fromkeys(box.ins) if not self.same(i)]
        found = {i: self.sources(i, known, depth + 1) for i in varying}
        if all(one is None for one in found.values()):
            return None
        return list(dict.fromkeys([j for i, one in found.items() for j in ([] if self.free(i) else [i] if one is None else one)]))

    def follows(self, k: int, known: dict[int, bool], depth: int = 0) -> bool:
        """Whether a wire for all steps follows from what the loop gives, by contractions and moves that no step needs."""
        if k not in known:
            known[k] = self._follows(k, known, depth)
        return known[k]

    def _follows(self, k: int, known: dict[int, bool], depth: int) -> bool:
        if self.same(k) or k in self.inputs or k in self.stacked:
            return True
        box = self.maker.get(k)
        if box is None or k in self.inside or depth == DEEP or not isinstance(box.primitive, (Contract, *_MOVES)):
            return False
        return all(self.follows(i, known, depth + 1) for i in box.ins)

    # -- the loop, and what comes after it

    def run(self) -> dict[int, Wire]:
        """Lay out the loop: the state after it. Its sums and stacks are known from there on."""
        ends = tuple([self.next[k] for k in self.moving]), tuple(self.added), tuple(self.stacked)
        flat = [k for group in ends for k in group]
        if not flat:
            return {}
        read = {*flat, *[k for box in self.between(flat) for k in box.ins]}
        given, inputs = (tuple([k for k in there if k in read]) for there in (self.given, self.inputs))
        starts = tuple(self.moving), given, inputs
        body, dom, cod = self.body, self.dom, self.wiring.cod
        if (*starts, *ends) != (tuple(self.state), self.plain[0], self.plain[1], tuple(self.next.values()), *self.plain[2:]):
            body = cut(body, dom, [k for group in starts for k in group], ends)
            dom, cod = (Product([Product(self.wiring.spaces(group)) for group in side]) for side in (starts, ends))
        assert isinstance(cod, Product)
        state, held, input_ = dom.factors
        sweep = Sweep(body, self.n, state, input_, cod.factors[2], self.reverse, held, cod.factors[1])
        wires = [*map(self.state.get, starts[0]), *map(self.given.get, given), *map(self.inputs.get, inputs)]
        outs = self.b.add(sweep, *[w for w in wires if w is not None])
        sums, outputs = sweep.results(outs)
        self.totals, self.made = dict(zip(self.added, sums, strict=True)), dict(zip(self.stacked, outputs, strict=True))
        return dict(zip(self.moving, outs, strict=False))

    def stack(self, k: int) -> Wire:
        """A wire of the step with an axis for the steps, where it varies."""
        for box in between(self.wiring, {*self.given, *self.inputs, *self.made}, [k]):
            if box.ins:
                flags = tuple([not self.same(i) for i in box.ins])
                ins = tuple([self.known(i) for i in box.ins])
                outs = self.at_once(box.primitive, ins, flags) if any(flags) else self.b.add(box.primitive, *ins)
                (self.made if any(flags) else self.given).update(zip(box.outs, outs, strict=True))
        return self.known(k)

    def at_once(self, primitive: Primitive, ins: tuple[Wire, ...], flags: tuple[bool, ...]) -> tuple[Wire, ...]:
        """A box for all steps; what it reads at indices that the counters give, in windows."""
        if isinstance(primitive, Gathered) and flags[0] and flags != (True, True):
            return (gathered(self.b, lanes_of(primitive.how, flags, self.n), *ins),)
        return primitive.batched(self.b, ins, flags, self.n)

    def known(self, k: int) -> Wire:
        """A wire of the step that is the same at each step, or is there for all of them."""
        return self.outer(k) if self.same(k) else self.inputs[k] if k in self.inputs else self.made[k]

    def spread(self, k: int) -> Wire:
        """A wire of the step with an axis for the steps."""
        found = self.stack(k)
        return spread_over(self.b, found, self.n) if self.same(k) else found

    def between(self, ends: Sequence[int]) -> list[Box]:
        """The boxes of a step that make some wires of what is there."""
        return between(self.wiring, {*self.state, *self.given, *self.inputs}, ends)


def _loops(primitive: Primitive) -> bool:
    """Whether a box runs programs, other than one side of a choice."""
    return isinstance(primitive, Nesting) and not isinstance(primitive, Choose)


def _is(primitive: Primitive, node: Any) -> bool:
    """Whether a box is pointwise, of one operation on two numbers."""
    return isinstance(primitive, Map) and primitive.function.outputs == (node,)

"""`for` and `while`: loops whose body is recorded once, as the body of `ct.sweep` or `ct.while_loop`.

The state of a loop are the names that its body binds and the arrays of outer regions that it writes into. The body is recorded
until this is settled: the state takes the dtype that its values need, and arrays are found by writing into them. Loops over
Python things, short loops, and loops whose steps must be known as numbers run in Python, step by step.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from catad import errors
from catad.category.spaces import Product, Tensor
from catad.category.terms import D
from catad.errors.places import called
from catad.traced.arrays.aliases import Aliases, refusing, show_state, unrolling
from catad.traced.arrays.operators import weakened
from catad.traced.arrays.promotion import is_uncertain, note_widened
from catad.traced.arrays.stand_in import Buffer, Traced, computed, fresh, is_condition, var_of
from catad.traced.control import join_branches
from catad.traced.control.branch import condition, names_of
from catad.traced.control.decisions import give_up_merging
from catad.traced.control.join_branches import alike, as_complex, converted, has_no_axes, is_numeric, joined, roots_of
from catad.traced.control.loop_items import Once, steps_of
from catad.traced.control.loop_outputs import Outputs
from catad.traced.control.loop_results import Leaving
from catad.traced.control.short_loops import ShortLoop
from catad.traced.control.static_values import is_of, known_after
from catad.traced.programs.program import Notes
from catad.traced.recorder import Region, Var
from catad.traced.rewriting.unbound_locals import UNBOUND
from catad.values.complex_numbers import ComplexPair, is_complex
from catad.values.trees import tree_leaves, tree_map
from catad.vector.loops.choose import choose
from catad.vector.loops.loop import while_loop
from catad.vector.loops.sweep import sweep

if TYPE_CHECKING:
    from catad.traced.trace import Driver

_PASSES = 8  # recordings of a body until its state is settled


class Names(NamedTuple):
    """The names that a loop binds: all, those that are read outside it, and those whose array stays the same array. `simple` says
    that the loop has nothing in it that keeps it from being recorded; `lists` are names of lists to which it appends, and that
    nothing else in it can read."""

    bound: tuple[str, ...]
    live: tuple[str, ...]
    same: tuple[str, ...]
    simple: bool
    lists: tuple[str, ...] = ()


class Slot:
    """One array of the state: where it starts (a variable of the outer region), and the input that stands for it in the body."""

    __slots__ = ("input", "is_array", "narrow", "start", "value", "weak")

    def __init__(self, start: Var, weak: type | None, is_array: bool = False) -> None:
        self.start, self.weak, self.is_array = start, weak, is_array  # though it may have no axes
        self.narrow = start.space.dtype  # which it has before the first step
        self.input: Var | None = None
        self.value: Var | None = None  # what the body leaves in it


class Given(NamedTuple):
    """What goes into the body of a loop: the slots that it changes and those that it does not; the inputs that stand for the
    first, and for the others and outer variables, in two groups; and what these get at the start."""

    changed: list[Slot]
    steady: list[Slot]
    groups: list[list[Var]]
    args: tuple[Any, ...]


class Loop:
    """What loops share: the state, and the passes over the body."""

    what = "loop"
    can_unroll = True
    may_not_run = True  # for all that is known
    limits: tuple[Var, ...] = ()  # that say how many steps there are
    state = "roll"  # what `next` is to do
    going = True  # in Python

    def __init__(self, driver: Driver, names: Names, site: Any) -> None:
        self.trace, self.names, self.live, self.simple, self.site = driver.trace, names.bound, names.live, names.simple, site
        self.same, self.lists = names.same, names.lists
        self.place = called()
        self.rolled = self.merged = False
        self.exhausted = True
        self.passes = 0
        refused = refusing(errors.may_be_one_array(self.what, self.live))
        self.alias = unrolling(self.trace, site) if self.can_unroll else refused  # where arrays may be one
        self.widens = unrolling(self.trace, site) if self.can_unroll else refusing(errors.dtype_on_data(self.what))
        self.region: Any = None  # of the body
        self.slots: dict[str, list[Slot]] = {}
        self.buffers: dict[Buffer, Slot] = {}
        self.starts: dict[int, Var] = {}
        self.values: dict[str, Any] = {}

    # -- what the program asks

    def next(self, *stops: Any) -> bool:
        """Whether another step is to run, or to be recorded."""
        if self.state == "python":
            return self.next_in_python(stops)
        if self.state == "roll":
            self.rolled = True
            self.begin(sys._getframe(1))
        elif self.state == "again":
            self.open()
        else:
            return False
        self.state = "rolling"
        return True

    def next_in_python(self, stops: Sequence[Any]) -> bool:
        """Whether another step is to run."""
        return self.going

    def leave(self) -> None:
        """A step has been recorded."""
        settled = self.close(sys._getframe(1))
        self.state = "done" if settled else "again"
        if settled:
            self.lay_out()

    # -- the state

    def begin(self, frame: Any) -> None:
        """Note the names before the loop, and start the first pass."""
        self.outer = self.trace.region
        self.start = names_of(frame, self.names)
        for name, value in self.start.items():
            if name in self.same and isinstance(value, (Traced, ComplexPair)) and value.is_mutable:
                continue  # it is written into, and found as an array
            leaves = join_branches.numeric_leaves(value)
            if leaves is not None:
                self.slots[name] = [Slot(var := var_of(self.trace, leaf), var.weak, has_no_axes(leaf)) for leaf in leaves]
        self.open()

    def open(self) -> None:
        """A pass: the body is recorded in a region of its own."""
        self.passes += 1
        if self.passes > _PASSES:
            self.give_up()
        if self.region is not None:
            self.region.dropped = True
        self.region = region = Region(self.trace, self.outer, self.what)
        region.loop = self
        self.starts = {}
        self.trace.region = region
        self.replaced: set[Buffer] = set()  # that stand for arrays of before the loop, which other names may have, too
        self.inside: dict[str, Any] = {}
        for name, slots in self.slots.items():
            made = iter([self.stand_in(slot, name if len(slots) == 1 else None) for slot in slots])
            template = self.start[name] if self.start[name] is not UNBOUND else self.left_before[name]
            self.inside[name] = tree_map(lambda _, made=made: next(made), template)  # type: ignore[misc]
        for buffer, slot in self.buffers.items():
            self.stand_in(slot, buffer.name)
            assert slot.input is not None
            region.holds[buffer] = slot.input

    def stand_in(self, slot: Slot, name: str | None = None) -> Traced:
        slot.input = self.region.input(slot.start.space, slot.weak, name or slot.start.name)
        self.starts[slot.input.wire.number] = slot.start
        note_widened(self.region, slot.input, slot.narrow, self.widens)
        made = fresh(self.trace, slot.input)
        made.is_array = slot.is_array
        if made.is_mutable:
            self.replaced.add(made.root)
        return made

    def before(self, name: str) -> Any:
        """What a name holds at the start of a step."""
        return self.inside.get(name, self.start[name])

    def after(self, name: str) -> Any:
        """What a name holds after the loop."""
        return self.values[name]

    def give_up(self, reason: str = "") -> None:
        """Unroll the loop, or the one around it."""
        give_up_merging(self.region, reason)

    # -- the end of a pass

    def close(self, frame: Any) -> bool:
        """The body has been recorded. True where the state is settled."""
        left = names_of(frame, self.names)
        self.left_before = left
        settled = True
        for name in self.names:
            value = left[name]
            if name in self.slots and is_complex(value) and is_numeric(self.inside[name]):
                settled = self.widen(name, value)
            elif name in self.slots:
                if is_complex(self.inside[name]) and is_numeric(value):
                    value = left[name] = as_complex(self.trace, value)
                settled = self.compare(name, value) and settled
            elif value is not self.start[name] and value is not UNBOUND:
                settled = self.appears(name, value) and settled
        for buffer in self.region.holds:
            if buffer not in self.buffers:
                self.buffers[buffer] = Slot(buffer.read(self.outer), None)
                settled = False
            else:
                self.buffers[buffer].value = self.region.holds[buffer]
        self.check_aliases(left)
        self.trace.region = self.outer
        return settled

    def compare(self, name: str, value: Any) -> bool:
        """Does the body leave the state in its space? If not, the state starts in a wider dtype."""
        slots = self.slots[name]
        leaves = join_branches.numeric_leaves(value)
        if leaves is None or len(leaves) != len(slots) or not alike(self.inside[name], value):
            self.give_up(f"{name}, which holds other things after a step than before it")
        assert leaves is not None
        same = True
        for slot, leaf in zip(slots, leaves, strict=True):
            if has_no_axes(leaf):
                self.give_up(f"{name}, an array without axes that a step makes or writes into")
            var = self.region.own(var_of(self.trace, leaf))
            assert slot.input is not None
            if var.space.shape != slot.input.space.shape:
                self.give_up(f"{name}, of {slot.input.space} before a step and of {var.space} after it")
            dtype, weak = joined(slot.input, var)
            if var.space.ndim and dtype != slot.narrow and "b" in (var.space.dtype.kind, slot.narrow.kind):
                self.give_up(f"{name}, of {slot.input.space} before a step and of {var.space} after it")
            if dtype != slot.input.space.dtype or weak != slot.weak:
                slot.start, slot.weak, same = self.converted(slot.start, dtype), weak, False
            slot.value = converted(self.region, var, dtype)
        return same

    def widen(self, name: str, value: Any) -> bool:
        """A name holds a real number before a step and a complex one after it: its state is complex."""
        if self.start[name] is not UNBOUND:
            with self.trace.inside(self.outer):
                self.start[name] = as_complex(self.trace, self.start[name])
                leaves = tree_leaves(self.start[name])
                self.slots[name] = [Slot(var := var_of(self.trace, leaf), var.weak, has_no_axes(leaf)) for leaf in leaves]
        else:
            del self.slots[name]
            self.appears(name, value)
        return False

    def converted(self, var: Var, dtype: np.dtype[Any]) -> Var:
        with self.trace.inside(self.outer):
            return converted(self.outer, self.outer.own(var), dtype)

    def appears(self, name: str, value: Any) -> bool:
        """A name that the loop binds first. It is state where it is read afterwards."""
        if self.start[name] is not UNBOUND:
            self.give_up()  # None before, a number after
        if name not in self.live and not name.startswith("__catad_result"):
            return True
        leaves = join_branches.numeric_leaves(value)
        if leaves is None:
            if not is_numeric(value):
                self.give_up()
            return True
        made = []
        for leaf in leaves:
            var = self.region.own(var_of(self.trace, leaf))
            with self.trace.inside(self.outer):
                made.append(Slot(self.outer.constant(np.zeros(var.space.shape, var.space.dtype), var.weak), var.weak))
        self.slots[name] = made
        return False

    def check_aliases(self, left: dict[str, Any]) -> None:
        """Names that share an array, which the body writes into, are not two parts of a state."""
        if not self.replaced.isdisjoint(self.region.written):
            self.give_up()
        seen: set[int] = {id(buffer) for buffer in self.region.holds}
        if any(id(root) in seen for name in self.slots for root in roots_of(self.start[name])):
            self.give_up()
        for name in self.slots:
            for root in roots_of(left[name]):
                if id(root) in seen and root in self.region.written:
                    self.give_up()
                seen.add(id(root))

    # -- laying out

    def all_slots(self) -> list[Slot]:
        return [*[slot for slots in self.slots.values() for slot in slots], *self.buffers.values()]

    def lay_out(self) -> None:
        """The loop as a line, and what it leaves."""
        raise NotImplementedError

    def given(self) -> Given:
        """What goes into the body."""
        slots, region = self.all_slots(), self.region
        changed = [slot for slot in slots if slot.value is not None and slot.value.wire is not _input(slot).wire]
        steady = [slot for slot in slots if slot not in changed]
        lifted = [var for var in region.inputs if var.wire.number in region.outer]
        rest = [*[_input(slot) for slot in steady], *lifted]
        outer = [*[slot.start for slot in steady], *[region.outer[var.wire.number] for var in lifted]]
        args = tuple([slot.start for slot in changed]), tuple(outer)
        return Given(changed, steady, [[_input(slot) for slot in changed], rest], args)

    def closed(self, title: str, results: Any, groups: Sequence[Sequence[Var]]) -> D:
        """The recorded body as a program of groups of its inputs: state, what stays, and what a step has of its own."""
        dom = Product(tuple([Product(tuple([var.space for var in group])) for group in groups]))
        notes = Notes(title=title, arguments=("s", "f", "u")[: len(groups)])
        found: D = self.region.close(results, [var for group in groups for var in group], dom, notes)
        return found

    def finish(self, changed: list[Slot], steady: list[Slot], finals: list[Var]) -> None:
        """Give names and arrays what the loop leaves in them."""
        at = {id(slot): var for slot, var in zip(changed, finals, strict=True)}
        at |= {id(slot): slot.start for slot in steady}

        def made(slot: Slot) -> Traced:
            var = self.outer.own(at[id(slot)])
            if self.may_not_run or (slot.value is not None and is_uncertain(slot.value)):
                note_widened(self.outer, var, slot.narrow, self.widens)
            left = fresh(self.trace, var if slot.weak is None else weakened(self.trace, var))
            left.is_array = None if slot.is_array and self.may_not_run else False
            return left

        leaving = Leaving(self, made, steady)
        for name in self.names:
            self.values[name] = leaving.value(name) if name in self.slots else self.start[name]
        for buffer, slot in self.buffers.items():
            if slot in changed:
                buffer.write(self.outer, at[id(slot)])
        leaving.link()
        self.merged = True


class DataLoop(Loop):
    """A loop whose number of steps depends on data: it goes on while `holds`."""

    can_unroll = False
    holds: Var

    def lay_out(self) -> None:
        changed, steady, groups, args = self.given()
        most, rest = self.most_steps(), tuple(groups[1])
        if most is not None:
            groups, args, rest = [*groups, []], (*args, ()), ()
        holds = self.closed("holds", self.holds, groups)
        body = self.closed("step", (tuple([_value(slot) for slot in changed]), rest), groups)
        if most is None:
            made = computed(self.outer, while_loop(holds, body), args, self.place)
        else:
            same = self.closed("same", (tuple(groups[0]), rest), groups)
            made = computed(self.outer, sweep(choose(holds, body, same), most), args, self.place)
        self.finish(changed, steady, list(made[0]))

    def most_steps(self) -> int | None:
        """A number of steps that the loop does not exceed, where one is known."""
        return None


class ForLoop(Loop):
    """A `for` statement. Of a `kept` iterator it takes as many items as Python does, since the rest may be used."""

    what = "for loop"
    may_not_run = False

    def __init__(self, driver: Driver, items: Any, names: Names, site: Any, kept: bool) -> None:
        super().__init__(driver, names, site)
        self.kept = kept
        self.outputs = Outputs(self)
        steps = steps_of(self.trace, items) if self.simple and not kept else None
        can_roll = self.simple and site not in self.trace.findings.unrolled
        self.steps = steps if steps is not None and can_roll and self.is_long(steps.n) else None
        self.short = ShortLoop(self.trace, site)
        if steps is not None and can_roll and self.steps is None and self.names:
            self.short.begin(steps.n)
        if self.steps is not None and isinstance(items, Once):
            items.rolled(site)
        self.items: Iterator[Any] = iter(items)
        self.state = "roll" if self.steps is not None else "python"

    def is_long(self, n: int) -> bool:
        """Whether a loop of so many steps is recorded once."""
        return n > self.trace.unroll or (n > 1 and self.site in self.trace.findings.rolled)

    def next_in_python(self, stops: Sequence[Any]) -> bool:
        """Whether there is another item. Flags end the loop where they are known to be set."""
        if any((self.kept or not isinstance(stop, Traced)) and stop for stop in stops):
            self.exhausted = going = False
        else:
            self.current = next(self.items, UNBOUND)
            going = self.current is not UNBOUND
        self.short.step(going)
        return going

    def begin(self, frame: Any) -> None:
        assert self.steps is not None
        self.length = self.steps.n
        self.outputs.lists += [one for one in names_of(frame, self.lists).values() if type(one) is list]
        super().begin(frame)

    def open(self) -> None:
        """A pass, with the item of a step: entries of arrays with an axis for the steps."""
        super().open()
        assert self.steps is not None
        self.outputs.open()
        with self.trace.inside(self.outer):
            self.arrays = [self.outer.own(var) for var in self.steps.arrays(self.trace)]
        self.entries = [self.region.input(Tensor(var.space.shape[1:], var.space.dtype), None, None) for var in self.arrays]
        self.current = self.steps.item(self.trace, iter(self.entries), self.alias)
        state = [(self.start[name], self.inside[name]) for name in self.slots if self.start[name] is not UNBOUND]
        show_state(join_branches.numeric_leaves(self.current) or (), state, self.region)

    def item(self) -> Iterator[Any]:
        yield self.current

    def close(self, frame: Any) -> bool:
        assert self.steps is not None
        if not self.region.written.isdisjoint(self.steps.memory):
            self.give_up()  # the rows of later steps change
        with self.trace.inside(self.region):
            self.appended = self.outputs.variables(self.region)
        return super().close(frame)

    def lay_out(self) -> None:
        assert self.steps is not None
        outputs = self.appended
        changed, steady, groups, args = self.given()
        finals: list[Var] = []
        outs: tuple[Var, ...] = ()
        if changed or outputs:
            after = tuple([_value(slot) for slot in changed]), outputs
            body = self.closed("step", after, [*groups, self.entries])
            made = computed(self.outer, sweep(body, self.steps.n), (*args, tuple(self.arrays)), self.place)
            finals, outs = list(made[0]), made[1]
            self.note_known(changed, steady, [*finals, *outs], [*after[0], *outputs])
        self.finish(changed, steady, finals)
        self.outputs.fill(outs, [var.weak for var in outputs], self.note_outputs())

    def note_known(self, changed: list[Slot], steady: list[Slot], made: Sequence[Var], values: Sequence[Var]) -> None:
        """What the loop makes of known numbers alone."""
        known = [one for one, array in zip(self.entries, self.arrays, strict=True) if array.constant is not None]
        known += [_input(slot) for slot in steady if slot.start.constant is not None]
        state = {_input(slot): _value(slot) for slot in changed if slot.start.constant is not None}
        wires = known_after(self.region, known, state)
        for slot, var, value in zip([*changed, *[None] * len(made)], made, values, strict=False):
            if is_of(self.region, value, wires) and (slot is None or _input(slot).wire.number in wires):
                self.outer.known[var.wire.number] = self.site

    def note_outputs(self) -> Aliases | None:
        """Arrays that are in lists and in the state: a write into one of them, later, is not recorded."""
        arrays = self.outputs.roots
        left = [leaf for name in self.slots for leaf in tree_leaves(self.left_before[name])]
        state = {id(buffer) for buffer in (*self.replaced, *roots_of(left))}
        if not any(id(root) in state for root in arrays):
            return None
        starts = [root for name in self.slots for root in roots_of(self.start[name])]
        for root in [root for name in self.slots for root in roots_of(self.values[name])]:
            if root not in starts:
                root.aliases = (*root.aliases, Aliases(self.alias, [], self.outer, True))
        return Aliases(self.alias, starts, self.outer, True)


class WhileLoop(DataLoop):
    """A `while` statement. It runs in Python as long as its condition is known."""

    what = "while loop"

    def __init__(self, driver: Driver, names: Names, site: Any) -> None:
        super().__init__(driver, names, site)
        self.state = "python"

    def test(self, value: Any) -> Iterator[Any]:
        """One step where the condition holds; the first condition on data starts the recording."""
        if self.state == "rolling":
            self.holds = condition(self.trace.region, var_of(self.trace, value))
            yield None
        elif is_condition(value) and self.simple:
            self.state = "roll"
        elif value:
            yield None
        else:
            self.going = False


def _input(slot: Slot) -> Var:
    assert slot.input is not None
    return slot.input


def _value(slot: Slot) -> Var:
    assert slot.value is not None
    return slot.value

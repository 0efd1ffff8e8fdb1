"""Reading the loops of a kernel: those of numbers only are loops of the scalar language, the others are `Repeat` statements."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from catad.errors import ScalarError
from catad.scalar import Node, apply, const, param, truth
from catad.scalar.ir import Pair, leaves, tree_of, unflatten
from catad.scalar.reading.callables import as_pair, scalar
from catad.scalar.reading.frames import BROKEN, CONTINUED, RETURNED, Range
from catad.scalar.reading.reader import Reader
from catad.scalar.reading.statements import UNROLL_TRIPS, Find, Limit, numeric
from catad.scalar.simplify import FALSE, TRUE
from catad.simt.arrays import FIRST, Bounded, Repeat, State, Step


class LoopReader(Reader):
    """The part of the reader of kernels that reads loops; `steps` are the statements so far."""

    def __init__(self, max_steps: int) -> None:
        super().__init__()
        self.max_steps = max_steps
        self.steps: list[Step] = []
        self.count = FIRST
        self.limits: list[Limit] = []  # of the loops of numbers that are being read, the innermost last
        self.bounded: list[Bounded] = []  # what is checked behind them

    def new(self) -> int:
        """The number of a new parameter."""
        self.count += 1
        return self.count - 1

    def attempt(self, run: Callable[[], None]) -> bool:
        """Read a loop as one of numbers only; False, and nothing has happened, where it touches memory."""
        steps, env, path = len(self.steps), dict(self.frame.env), self.path
        frame, depth, failed, limits = self.frame, self.depth, None, len(self.limits)
        try:
            run()
        except ScalarError as error:
            failed = error
        bounded, self.bounded = self.bounded, []
        if len(self.steps) == steps:
            if failed is not None:
                raise failed
            self.steps += bounded
            return True
        del self.steps[steps:], self.limits[limits:]
        self.frame, self.depth, self.path = frame, depth, path
        self.frame.env = env
        return False

    def limit(self, node: ast.For | ast.While) -> Limit | None:
        if self.limits and self.limits[-1].node is node:  # it is read once more
            self.limits.pop()
        self.limits.append(Limit(node, self.max_steps))
        return self.limits[-1]

    def ended(self, limit: Limit, finals: Sequence[Node], place: int) -> Sequence[Node]:
        """What reads a state after the loop asks for its count, which a statement checks."""
        self.limits.pop()
        if not limit.counts:
            return finals
        count = finals[place]
        if self.limits:
            self.limits[-1].inner.append(count)
            return finals
        out = self.new()
        where = f"{self.frame.file}:{limit.node.lineno}"
        self.bounded.append(Bounded(count, self.path, limit.most, out, where))
        right = apply("le", param(out), const(limit.most))
        return [apply("select", right, one, FALSE if one.kind == "b" else const(0)) for one in finals]

    def counted(self, node: ast.For, items: Range, constant: bool) -> None:
        if not self.attempt(lambda: super(LoopReader, self).counted(node, items, constant)):
            self.repeat(node, items)

    def do_While(self, node: ast.While) -> None:
        if isinstance(node.test, ast.Constant) or not self.unrolled_while(node):
            super().do_While(node)

    def do_plain_while(self, node: Any) -> None:
        if not self.attempt(lambda: super(LoopReader, self).do_plain_while(node)):
            self.repeat(node, None)

    def unrolled_while(self, node: ast.While) -> bool:
        """Unroll a loop whose condition is known at each trip; False, and nothing has happened, where it is not."""
        steps, env = len(self.steps), dict(self.frame.env)
        left = UNROLL_TRIPS

        def trip() -> None:
            nonlocal left
            test = self.condition(node.test)
            if test is FALSE:
                return
            if test is not TRUE or left == 0:
                raise _NotKnownError
            left -= 1
            self.block(node.body)
            self.frame.env[CONTINUED] = FALSE
            self.block([_nothing, trip])

        frame, path, depth = self.frame, self.path, self.depth
        try:
            trip()
        except _NotKnownError:
            del self.steps[steps:]
            self.frame, self.path, self.depth = frame, path, depth
            frame.env = env
            return False
        self.after_loop(node.orelse)
        return True

    def repeat(self, node: ast.For | ast.While, items: Range | None, numbers: frozenset[str] = frozenset()) -> None:
        """Read a loop with memory, with parameters for the numbers that it carries.

        What is a truth value before the loop is one inside, unless it is among `numbers`: where the body makes a number of it,
        the loop is read once more; so it is where the body makes a complex number of a real one.
        """
        frame, before, outer_path, outer_steps = self.frame, self.frame.env, self.path, self.steps
        states = _Carried(self)
        broken, returned = states.add(FALSE), states.add(FALSE)
        alive = states.add(outer_path) if items is None else None
        names, carried, inside = self.opened(node, lambda name, old: states.stand_in(old, name in numbers))
        counter = self.new()
        go = outer_path if alive is None else states.value_of(alive)
        go = apply("and", go, apply("and", apply("not", states.value_of(broken)), apply("not", states.value_of(returned))))
        self.steps, frame.env, self.path = [], inside, go
        item = None
        if items is None:
            assert isinstance(node, ast.While)
            test = self.condition(node.test)
        else:
            item = apply("add", items.start, apply("mul", param(counter), items.step))
            test = apply("lt" if items.step > 0 else "gt", item, items.stop)
        self.path = go = apply("and", go, test)
        if item is not None:
            assert isinstance(node, ast.For)
            self.assign(node.target, item)
        self.block(node.body)
        body, after = tuple(self.steps), frame.env
        self.steps, self.path = outer_steps, outer_path
        wide = {name: as_pair(before[name]) for name in carried if _widens(before[name], after.get(name))}
        if wide:
            frame.env = {**before, **wide}
            self.repeat(node, items, numbers)
            return
        found = {name for name in carried if name not in numbers and becomes(before[name], after.get(name))}
        if found:
            frame.env = before
            self.repeat(node, items, numbers | found)
            return
        states.go = go
        states.close(broken, after[BROKEN])
        states.close(returned, after[RETURNED])
        if alive is not None:
            states.step(alive, apply("and", go, apply("not", apply("or", after[BROKEN], after[RETURNED]))))
        sure = items is not None and items.start.op == items.stop.op == "const"
        bound = self.carry(node, states.old, states.new, names, carried, before, after, sure)
        env = {**before, **{name: find(()) for name, find in bound.items()}}
        trips = None if items is None else _trips(items)
        where = f"{frame.file}:{node.lineno}"
        going = None if alive is None else states.number(alive)
        self.steps.append(Repeat(body, states.made(), counter, trips, going, self.max_steps, item, where))
        env[BROKEN], env[RETURNED] = states.after(broken), states.after(returned)
        frame.env = env
        self.after_loop(node.orelse)


def becomes(old: Any, new: Any) -> bool:
    """Whether a truth value among the numbers of a value becomes another number."""
    pairs = zip(leaves(old), leaves(new), strict=False)
    return numeric(new) and any(scalar(one).kind == "b" and scalar(other).kind != "b" for one, other in pairs)


def _widens(old: Any, new: Any) -> bool:
    return isinstance(old, Node) and isinstance(new, Pair)


class _NotKnownError(Exception):
    """A condition that is not known while reading."""


class _Carried:
    """The numbers that a loop carries, while they are collected."""

    def __init__(self, reader: LoopReader) -> None:
        self.reader = reader
        self.rows: list[list[Any]] = []  # parameter inside, first value, next value, parameter after the loop
        self.truths: set[int] = set()  # rows of truth values
        self.go = TRUE  # whether a trip is made

    def add(self, init: Node, is_truth: bool = True) -> int:
        self.rows.append([self.reader.new(), init, None, self.reader.new()])
        k = len(self.rows) - 1
        self.truths.update([k] if is_truth else [])
        return k

    def value_of(self, k: int, place: int = 0) -> Node:
        """The parameter of a row inside (0) or after the loop (3), a truth value where the row is one."""
        node = param(self.rows[k][place])
        return truth(node) if k in self.truths else node

    def after(self, k: int) -> Node:
        return self.value_of(k, 3) if self.rows[k][2] is not FALSE else FALSE

    def number(self, k: int) -> int:
        return int(self.rows[k][0])

    def step(self, k: int, node: Node) -> None:
        self.rows[k][2] = node

    def close(self, k: int, value: Node) -> None:
        """The next value of a flag, which stays where the trip is not made."""
        self.step(k, FALSE if value is FALSE else apply("select", self.go, value, self.value_of(k)))

    def stand_in(self, value: Any, number: bool) -> Any:
        """Parameters for the numbers of a value; it is finished by `old`, in the same order."""
        nodes = [scalar(leaf) for leaf in leaves(value)]
        ks = [self.add(node, node.kind == "b" and not number) for node in nodes]
        return unflatten(tree_of(value), [self.value_of(k) for k in ks])

    def old(self, stand_in: Any, init: Any, step: Any) -> Find:
        """What `stand_in` began: the first value that is not finished yet."""
        ks = [k for k, row in enumerate(self.rows) if row[2] is None][: len(leaves(step))]
        return self.found(ks, step, tree_of(init))

    def new(self, step: Any) -> Find:
        """A variable that the body gives its first value."""
        truths = [scalar(leaf).kind == "b" for leaf in leaves(step)]
        ks = [self.add(FALSE if is_truth else const(0), is_truth) for is_truth in truths]
        return self.found(ks, step, tree_of(step))

    def found(self, ks: Sequence[int], step: Any, tree: Any) -> Find:
        """The values of rows after the loop, whose next values are known now."""
        for k, leaf in zip(ks, leaves(step), strict=True):
            self.step(k, apply("select", self.go, scalar(leaf), self.value_of(k)))
        made = unflatten(tree, [self.value_of(k, 3) for k in ks])
        return lambda finals: made

    def made(self) -> tuple[State, ...]:
        return tuple([State(*row) for row in self.rows])


def _nothing() -> None:
    """No statement."""


def _trips(items: Range) -> Node:
    """The number of trips of a range."""
    size = abs(items.step)
    span = apply("sub", items.stop, items.start) if items.step > 0 else apply("sub", items.start, items.stop)
    return apply("floordiv", apply("add", span, size - 1), size)
